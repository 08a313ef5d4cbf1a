"""Agreement with people: correlations, the search objective Q, bootstrap intervals over documents, paired comparison.

A coefficient that is not defined (fewer than two pairs, or a side that does not vary) is None, never 0; only the search
objective ``q`` counts it as 0. Everything random is drawn from the seed that stands in the result.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

from active_critic.correlation import (
    TOLERANCE,
    Floats,
    Indices,
    Resampled,
    aligned,
    coefficients,
    kendall,
    pearson,
    rowwise_coefficients,
    spearman,
    weighted_coefficients,
)
from active_critic.errors import DataError

__all__ = [
    "Agreement",
    "Difference",
    "Interval",
    "Level",
    "agreement",
    "bootstrap",
    "holm",
    "kendall",
    "paired_difference",
    "pearson",
    "percentile_interval",
    "q",
    "spearman",
    "weighted_coefficients",
]

Level = Literal["dataset", "document", "system"]
Interval = tuple[float, float]

_CELLS = 500_000  # a few megabytes at a time: what fits a processor's cache is quick
_LONG = 500


def q(pred: Sequence[float | None], human: Sequence[float]) -> float:
    """Q = Pearson + Spearman + Kendall, -3 to 3 (Active-Critic, Eq. 4), of the pairs that have a prediction.

    A coefficient that is not defined counts as 0: a constant prediction agrees with nobody.
    """
    x, y, _ = _pairs(pred, human)
    return sum((coefficient(x, y) or 0.0 for coefficient in (pearson, spearman, kendall)), 0.0)


def _pairs(pred: Sequence[float | None], human: Sequence[float]) -> tuple[Floats, Floats, Indices]:
    x, y = aligned(pred, human)
    kept = np.flatnonzero(np.isfinite(x))
    return x[kept], y[kept], kept


@dataclass(frozen=True, slots=True)
class Agreement:
    """Agreement between predictions and people.

    Attributes:
        pearson, spearman, kendall: The coefficients, -1 to 1, or None where not defined.
        mean: The mean of the three.
        pearson_interval, spearman_interval, kendall_interval, mean_interval: Percentile bootstrap intervals over
            documents, or None with fewer than two documents or where most resamples leave nothing to correlate.
        n: Examples with a prediction; only they count.
        total: All examples.
        level: ``"dataset"``: over all examples; ``"document"``: within each document, averaged over the documents where
            both sides vary; ``"system"``: over the systems' mean scores.
        units: What the coefficients are over: examples, such documents, or systems.
        groups: Documents among the ``n`` examples.
        resamples, seed, confidence: How the intervals were made.
    """

    pearson: float | None
    spearman: float | None
    kendall: float | None
    mean: float | None
    pearson_interval: Interval | None
    spearman_interval: Interval | None
    kendall_interval: Interval | None
    mean_interval: Interval | None
    n: int
    total: int
    level: Level
    units: int
    groups: int
    resamples: int
    seed: int
    confidence: float

    @property
    def coverage(self) -> float:
        """The part of the examples that have a prediction, 0 to 1."""
        return self.n / self.total if self.total else 0.0

    def to_dict(self) -> dict[str, Any]:
        """The same as plain JSON values."""
        values = {**asdict(self), "coverage": self.coverage}
        return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}


@dataclass(frozen=True, slots=True)
class Difference:
    """How much better ``a`` agrees with people than ``b``, on the examples for which both have a prediction.

    Attributes:
        delta: Mean of the three coefficients of ``a`` minus that of ``b``; None where either is not defined.
        interval: Percentile bootstrap interval of ``delta`` over documents, or None.
        p: Two-sided p of the paired permutation test over documents (whole documents swap ``a`` and ``b``, both put
            on a common scale first), or None.
        n, groups: Examples and documents that count.
        level, resamples, seed, confidence: As in ``Agreement``; ``resamples`` is also the number of permutations.
    """

    delta: float | None
    interval: Interval | None
    p: float | None
    n: int
    groups: int
    level: Level
    resamples: int
    seed: int
    confidence: float

    def to_dict(self) -> dict[str, Any]:
        """The same as plain JSON values."""
        return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}


def agreement(
    pred: Sequence[float | None],
    human: Sequence[float],
    groups: Sequence[str] | None = None,
    *,
    level: Level = "dataset",
    systems: Sequence[str | None] | None = None,
    resamples: int = 1000,
    seed: int = 0,
    confidence: float = 0.95,
) -> Agreement:
    """Agreement between predictions and human scores, with bootstrap intervals over documents.

    Args:
        pred: Predictions on any scale; None (or NaN) where there is none.
        human: Human scores.
        groups: The document of each example; without them every example is a document of its own.
        level: See ``Agreement``.
        systems: The system of each example, needed at system level.
        resamples: Bootstrap resamples of whole documents.
        seed: Seed of the resampling.
        confidence: Coverage that the intervals aim at.

    Raises:
        DataError: System level without systems.
        ValueError: Lists of different lengths, or human scores that are not finite.
    """
    x, y, kept = _pairs(pred, human)
    group = _codes(groups, kept)
    n_groups = int(group.max(initial=-1)) + 1
    measure = Measure(level, x, y, group, _system_codes(level, systems, kept))
    values = measure(np.ones((1, n_groups)))[0]
    drawn = bootstrap(measure, n_groups, resamples, np.random.default_rng(seed), len(x))
    points = [None if np.isnan(value) else float(value) for value in values]
    intervals = [None if points[i] is None else percentile_interval(drawn[:, i], confidence) for i in range(4)]
    return Agreement(
        *(points[0], points[1], points[2], points[3]),
        *(intervals[0], intervals[1], intervals[2], intervals[3]),
        n=len(x),
        total=len(human),
        level=level,
        units=measure.units,
        groups=n_groups,
        resamples=resamples,
        seed=seed,
        confidence=confidence,
    )


def paired_difference(
    pred_a: Sequence[float | None],
    pred_b: Sequence[float | None],
    human: Sequence[float],
    groups: Sequence[str] | None = None,
    *,
    level: Level = "dataset",
    systems: Sequence[str | None] | None = None,
    resamples: int = 1000,
    seed: int = 0,
    confidence: float = 0.95,
) -> Difference:
    """Whether ``a`` agrees with people better than ``b``; arguments as for ``agreement``.

    Raises:
        DataError: System level without systems.
        ValueError: Lists of different lengths, or human scores that are not finite.
    """
    _, _, in_a = _pairs(pred_a, human)
    _, _, in_b = _pairs(pred_b, human)
    kept = np.intersect1d(in_a, in_b)
    a, b, y = (np.array([values[i] for i in kept], dtype=np.float64) for values in (pred_a, pred_b, human))
    group = _codes(groups, kept)
    n_groups = int(group.max(initial=-1)) + 1
    system = _system_codes(level, systems, kept)
    of_a, of_b = (Measure(level, x, y, group, system) for x in (a, b))

    def difference(weights: Floats) -> Floats:
        return np.asarray(of_a(weights)[:, 3] - of_b(weights)[:, 3])

    delta = float(difference(np.ones((1, n_groups)))[0])
    interval, p = None, None
    if not np.isnan(delta) and n_groups > 1 and resamples:
        rng = np.random.default_rng(seed)
        interval = percentile_interval(bootstrap(difference, n_groups, resamples, rng, len(kept)), confidence)
        # Both predictions of every example, one of them weighted 0: a swap is a change of weights.
        x2, y2 = np.concatenate([_standard(a), _standard(b)]), np.tile(y, 2)
        both = Measure(level, x2, y2, np.concatenate([group, group + n_groups]), np.tile(system, 2))

        def swapped(count: int) -> Floats:
            swap = rng.integers(0, 2, (count, n_groups)).astype(np.float64)
            first, second = (both(np.hstack(sides))[:, 3] for sides in ((1 - swap, swap), (swap, 1 - swap)))
            return np.nan_to_num(np.abs(first - second), nan=np.inf)

        extreme = _in_parts(swapped, resamples, 2 * len(kept)) >= abs(delta) - TOLERANCE
        p = float((1 + np.sum(extreme)) / (1 + resamples))
    return Difference(
        None if np.isnan(delta) else delta, interval, p, len(kept), n_groups, level, resamples, seed, confidence
    )


def _standard(values: Floats) -> Floats:
    return np.asarray((values - values.mean()) / values.std())


def _codes(groups: Sequence[str] | None, kept: Indices) -> Indices:
    if groups is None:
        return np.arange(len(kept))
    # Numbered by name, so that the order of rows does not change what is drawn for which document.
    names = [groups[i] for i in kept]
    number = {name: i for i, name in enumerate(sorted(set(names)))}
    return np.array([number[name] for name in names], dtype=np.intp)


def _system_codes(level: Level, systems: Sequence[str | None] | None, kept: Indices) -> Indices:
    if level != "system":
        return np.zeros(len(kept), dtype=np.intp)
    if systems is None or any(systems[i] is None for i in kept):
        raise DataError("agreement at system level needs the system of every example; name its column (system=NAME)")
    return _codes([str(system) for system in systems], kept)


def bootstrap(
    measure: Callable[[Floats], Floats], n_groups: int, resamples: int, rng: np.random.Generator, n: int
) -> Floats:
    """A statistic of resamples of whole documents, shape (resamples, ...); empty with fewer than two documents.

    Args:
        measure: The statistic, from how often each document is drawn, shape (draws, documents).
        n_groups: Documents.
        resamples: How many.
        rng: What draws.
        n: Examples: memory is limited accordingly.
    """
    if n_groups < 2:
        return measure(np.ones((1, n_groups)))[:0]
    even = np.full(n_groups, 1 / n_groups)
    return _in_parts(lambda count: measure(rng.multinomial(n_groups, even, count).astype(np.float64)), resamples, n)


def _in_parts(of: Callable[[int], Floats], count: int, n: int) -> Floats:
    step = max(16, _CELLS // max(n, 1))
    return np.concatenate([of(min(step, count - start)) for start in range(0, count, step)] or [of(0)])


def percentile_interval(values: Floats, confidence: float) -> Interval | None:
    """The middle part of the values that are defined; None where most are not."""
    defined = values[~np.isnan(values)]
    if 2 * len(defined) <= len(values):
        return None
    low, high = np.quantile(defined, [(1 - confidence) / 2, (1 + confidence) / 2])
    return float(low), float(high)


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
    """

    def __init__(self, level: Level, x: Floats, y: Floats, group: Indices, system: Indices, documents: int = 0) -> None:
        self._level, self._x, self._y, self._group, self._system = level, x, y, group, system
        if level == "document":
            self._within = _within(x, y, group, documents)
            self.units = int(np.sum(~np.isnan(self._within[:, 3])))
        elif level == "system":
            self.units = len(np.unique(system))
        else:
            self._resampled = Resampled(x, y)
            self.units = len(x)

    def __call__(self, weights: Floats) -> Floats:
        if len(self._x) < 2 or not len(weights):
            return np.full((len(weights), 4), np.nan)
        if self._level == "document":
            total = weights @ ~np.isnan(self._within[:, 3])
            with np.errstate(invalid="ignore"):
                return np.asarray((weights @ np.nan_to_num(self._within)) / np.where(total > 0, total, np.nan)[:, None])
        if self._level == "system":
            return self._over_systems(weights)
        return self._resampled(np.ascontiguousarray(weights.T)[self._group])

    def _over_systems(self, weights: Floats) -> Floats:
        # Documents by systems: sums of both sides, and how many examples there are.
        cell = self._group * (int(self._system.max()) + 1) + self._system
        shape = (weights.shape[1], int(self._system.max()) + 1)
        sums = (np.bincount(cell, v, shape[0] * shape[1]).reshape(shape) for v in (self._x, self._y, None))
        x, y, n = (weights @ sum_ for sum_ in sums)
        present = n > 0
        x, y = (np.divide(v, n, out=np.zeros_like(v), where=present) for v in (x, y))
        step = max(1, 8 * _CELLS // x.shape[1] ** 2)
        parts = [slice(start, start + step) for start in range(0, len(x), step)]
        # Means that differ only by the rounding of their sums are equal.
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
        place = np.arange(size[part].max())
        present = place < size[part][:, None]
        index = order[np.minimum(start[part][:, None] + place, len(order) - 1)]
        found[part] = rowwise_coefficients(x[index], y[index], present)
    return found


def holm(ps: Sequence[float | None]) -> list[float | None]:
    """P-values corrected for their number (Holm, 1979), in the same order; None stays None and does not count.

    Each is what it would have to be below for all differences found at that level to be right with that certainty:
    the i-th smallest of m is multiplied by m - i + 1, and never falls below the one before it.
    """
    known = sorted((p, i) for i, p in enumerate(ps) if p is not None)
    corrected: list[float | None] = [None] * len(ps)
    highest = 0.0
    for rank, (p, i) in enumerate(known):
        highest = max(highest, min(1.0, p * (len(known) - rank)))
        corrected[i] = highest
    return corrected
