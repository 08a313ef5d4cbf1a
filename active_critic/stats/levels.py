"""The three coefficients at a level, as a function of how often each document is drawn, and what each level needs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from active_critic.data.cells import is_absent
from active_critic.errors import DataError
from active_critic.stats.correlation import (
    TOLERANCE,
    Floats,
    Indices,
    Resampled,
    coefficients,
    count_of,
    in_order,
    numbered,
    rowwise_coefficients,
    tied,
)

Level = Literal["dataset", "document", "system"]

_CELLS = 500_000  # a few megabytes at a time: what fits a processor's cache is quick
_LONG = 500


class Measure:
    """Pearson, Spearman, Kendall and their mean at a level, as a function of how often each document is drawn.

    Called with weights of shape (draws, documents), it returns shape (draws, 4); NaN where they are not defined.

    Args:
        level: See ``Agreement``.
        x, y: The two sides, finite, shape (n,).
        group, system: The numbers of the document and of the system of every example, from 0, shape (n,).
        documents: How many there are, when the last may have no example.

    Attributes:
        units: What the coefficients are over: see ``Agreement``.
        units_total: What they could be over, if the predictions were never all the same: see ``Agreement``.
        defined: At document level, in which documents they are, shape (documents,).
    """

    defined: NDArray[np.bool_]

    def __init__(self, level: Level, x: Floats, y: Floats, group: Indices, system: Indices, documents: int = 0) -> None:
        if level not in get_args(Level):
            raise ValueError(f"{level!r} is no level; they are {', '.join(get_args(Level))}")
        self._level, self._x, self._y, self._group, self._system = level, x, y, group, system
        self._documents = documents or count_of(group)
        if level == "document":
            self._within = _within(x, y, group, documents)
            self.defined = ~np.isnan(self._within[:, 3])
            self.units = int(np.sum(self.defined))
        elif level == "system":
            self.units = len(np.unique(system))
        else:
            self._resampled = Resampled(x, y)
            self.units = len(x)
        self.units_total = int(_varying(y, group, self._documents).sum()) if level == "document" else self.units

    @property
    def counting(self) -> NDArray[np.bool_]:
        """The documents that the coefficients rest on, shape (documents,): none where they are not defined."""
        if self._level == "document":
            return self.defined
        if np.isnan(self(np.ones((1, self._documents)))[0, 3]):
            return np.zeros(self._documents, dtype=np.bool_)
        return np.asarray(np.bincount(self._group, minlength=self._documents) > 0)

    def __call__(self, weights: Floats) -> Floats:
        """The coefficients of every draw, shape (draws, 4)."""
        if len(self._x) < 2 or not len(weights):
            return np.full((len(weights), 4), np.nan)
        if self._level == "document":
            total = weights @ self.defined
            with np.errstate(invalid="ignore"):
                return np.asarray((weights @ np.nan_to_num(self._within)) / np.where(total > 0, total, np.nan)[:, None])
        if self._level == "system":
            return self._over_systems(weights)
        return self._resampled(np.ascontiguousarray(weights.T)[self._group])

    def _over_systems(self, weights: Floats) -> Floats:
        order = np.argsort(self._system, kind="stable")
        starts = np.flatnonzero(np.diff(self._system[order], prepend=-1))
        drawn = weights[:, self._group[order]]  # how often each example, system by system
        n = np.add.reduceat(drawn, starts, axis=1)
        present = n > 0
        sums = (np.add.reduceat(drawn * side[order], starts, axis=1) for side in (self._x, self._y))
        x, y = (np.divide(sum_, n, out=np.zeros_like(n), where=present) for sum_ in sums)
        # Means that differ only by the rounding of their sums are equal.
        if len(starts) > _LONG:
            rows = zip(x, y, present, strict=True)
            return np.array([coefficients(tied(of_x[there]), tied(of_y[there])) for of_x, of_y, there in rows])
        step = max(1, 8 * _CELLS // len(starts) ** 2)
        parts = [slice(start, start + step) for start in range(0, len(x), step)]
        return np.concatenate([rowwise_coefficients(x[p], y[p], present[p], close=TOLERANCE) for p in parts])


def _within(x: Floats, y: Floats, group: Indices, documents: int) -> Floats:
    """The coefficients within each document, shape (documents, 4)."""
    size = np.bincount(group, minlength=documents)
    order = np.argsort(group, kind="stable")
    start = np.cumsum(size) - size
    found = np.full((len(size), 4), np.nan)
    for document in np.flatnonzero(size > _LONG):
        part = order[start[document] : start[document] + size[document]]
        found[document] = coefficients(x[part], y[part])
    short = np.flatnonzero((size > 1) & (size <= _LONG))
    short = short[np.argsort(size[short], kind="stable")]
    while len(short):
        # Documents of similar size together, as many as memory allows for the longest among them.
        count = len(short)
        while count > 1 and (
            count * size[short[count - 1]] ** 2 > _CELLS or size[short[count - 1]] > 2 * size[short[0]]
        ):
            count = (count + 1) // 2
        part, short = short[:count], short[count:]
        place = np.arange(np.max(size[part]))
        present = place < size[part][:, None]
        index = order[np.minimum(start[part][:, None] + place, len(order) - 1)]
        found[part] = rowwise_coefficients(x[index], y[index], present)
    return found


def _varying(y: Floats, group: Indices, documents: int) -> NDArray[np.bool_]:
    """In which documents not all values are the same, shape (documents,)."""
    low, high = np.full(documents, np.inf), np.full(documents, -np.inf)
    np.minimum.at(low, group, y)
    np.maximum.at(high, group, y)
    return np.asarray(high - low > TOLERANCE * np.maximum(np.abs(low), np.abs(high)))


def document_codes(level: Level, groups: Sequence[str] | None, kept: Indices, total: int) -> Indices:
    """The number of the document of each example that counts; without names every example is a document of its own.

    Args:
        level: The level that is asked for.
        groups: The document of each example.
        kept: The examples that count.
        total: How many examples there are.

    Raises:
        DataError: Document level without groups, or an example that counts has none.
        ValueError: There are more or fewer names than examples.
    """
    if groups is None:
        if level == "document":
            raise DataError(
                "agreement within documents needs the document of every example; name its column (group=NAME)"
            )
        return np.arange(len(kept))
    return numbered(groups, kept, total)


def system_codes(level: Level, systems: Sequence[str | None] | None, kept: Indices, total: int) -> Indices:
    """The number of the system of each example that counts; at other levels than that of systems all are one.

    Args:
        level: The level that is asked for.
        systems: The system of each example.
        kept: The examples that count.
        total: How many examples there are.

    Raises:
        DataError: System level, and an example that counts has no system.
        ValueError: System level, and there are more or fewer names than examples.
    """
    if level != "system":
        return np.zeros(len(kept), dtype=np.intp)
    by_place = [] if systems is None else in_order(systems, "systems")
    if systems is None or any(is_absent(by_place[i]) for i in kept if i < len(by_place)):
        raise DataError("agreement at system level needs the system of every example; name its column (system=NAME)")
    return numbered(by_place, kept, total)


def documents_of(measures: Sequence[Measure]) -> Indices:
    """The documents that figures over these measures rest on: those on which any of them does."""
    return np.flatnonzero(np.any([measure.counting for measure in measures], axis=0))


def averaged(measures: Sequence[Callable[[Floats], Floats]]) -> Callable[[Floats], Floats]:
    """The mean of measures of the same drawn documents, each time over those that are defined; NaN where none is."""

    def average(weights: Floats) -> Floats:
        found = np.stack([measure(weights) for measure in measures])
        defined = (~np.isnan(found)).sum(axis=0)
        with np.errstate(invalid="ignore"):
            return np.asarray(np.nansum(found, axis=0) / np.where(defined > 0, defined, np.nan))

    return average
