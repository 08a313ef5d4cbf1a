"""Pearson, Spearman and Kendall's tau-b: of pairs, of many resamples of the same pairs, of many short lists at once.

A coefficient that is not defined (fewer than two pairs, or a side that does not vary) is None, or NaN in an array;
never 0. What differs only by rounding does not vary.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from typing import Any

import numpy as np
from numpy.typing import NDArray

from active_critic.data.cells import is_absent
from active_critic.errors import DataError
from active_critic.records import TOLERANCE as TOLERANCE

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]
Array = NDArray[np.floating[Any] | np.integer[Any]]
Numbers = Sequence[float] | Array
Scores = Sequence[float | None] | Array
"""Numbers of which some may be missing: None or NaN; an infinity counts as missing, too."""

COEFFICIENTS = ("pearson", "spearman", "kendall", "mean")
"""Names of the coefficients and of their mean, in the order in which they are computed and shown."""
_CANCELLED = 0.1


def numbered(names: Sequence[str | None], kept: Iterable[int] | None = None, total: int | None = None) -> Indices:
    """The number of each document (or system), by name: the order of rows does not change what is drawn for which.

    Args:
        names: The name of each example's.
        kept: The examples that count; None: all.
        total: How many examples there are.

    Raises:
        ValueError: There are more or fewer names than examples, or they are in no list.
        DataError: An example that counts has none.
    """
    by_place = in_order(names, "documents or systems")
    if total is not None and len(by_place) != total:
        raise ValueError(f"{len(by_place)} documents or systems are named for {total} examples")
    own = by_place if kept is None else [by_place[i] for i in kept]
    there = [str(name) for name in own if not is_absent(name)]
    if len(there) < len(own):
        raise DataError("some examples have a document, or a system, and some have none; name that of each, or of none")
    number = {name: i for i, name in enumerate(sorted(set(there)))}
    return np.array([number[name] for name in there], dtype=np.intp)


def count_of(codes: Indices) -> int:
    """How many documents (or systems) are numbered so; see :func:`numbered`."""
    return int(np.max(codes, initial=-1)) + 1


def in_order(given: Any, what: str) -> list[Any]:
    """A list, an array or a Series as a list by place (a Series is asked by its labels).

    Raises:
        ValueError: It is none: a text would be read letter by letter, a set in no order, a mapping by its keys.
    """
    if isinstance(given, str | bytes | Mapping | Set) or not isinstance(given, Iterable):
        raise ValueError(f"{what} stand in a list, one for each example, not in {type(given).__name__} {given!r:.40}")
    return list(given)


def pearson(x: Numbers, y: Numbers) -> float | None:
    """Pearson's correlation, or None where it is not defined.

    Raises:
        ValueError: Lists of different lengths, or a number that is missing (None, NaN) or infinite: leave out its pair.
    """
    return _point(x, y, lambda a, b: float(normed(a) @ normed(b)))


def spearman(x: Numbers, y: Numbers) -> float | None:
    """Spearman's rank correlation (mean ranks for ties), or None where it is not defined.

    Raises:
        ValueError: Lists of different lengths, or a number that is missing (None, NaN) or infinite: leave out its pair.
    """
    from scipy.stats import rankdata  # most of a second of imports that scoring does not need

    return _point(x, y, lambda a, b: float(normed(rankdata(a)) @ normed(rankdata(b))))


def kendall(x: Numbers, y: Numbers) -> float | None:
    """Kendall's tau-b, which takes ties on either side into account, or None where it is not defined.

    Raises:
        ValueError: Lists of different lengths, or a number that is missing (None, NaN) or infinite: leave out its pair.
    """
    from scipy.stats import kendalltau

    return _point(x, y, lambda a, b: float(kendalltau(a, b).statistic))


def _point(x: Numbers, y: Numbers, of: Callable[[Floats, Floats], float]) -> float | None:
    a, b = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if a.shape != b.shape or a.ndim != 1:
        raise ValueError(f"two lists of equal length are needed, not shapes {a.shape} and {b.shape}")
    if not (np.isfinite(a).all() and np.isfinite(b).all()):
        raise ValueError("a coefficient is computed from finite numbers; leave out what is missing")
    if len(a) < 2 or _constant(a) or _constant(b):
        return None
    return min(1.0, max(-1.0, of(a, b)))


def _constant(values: Floats) -> bool:
    # What differs only by rounding does not differ: its correlation would be noise.
    return bool(np.ptp(values) <= TOLERANCE * np.abs(values).max())


def tied(values: Floats) -> Floats:
    """Values that differ only by the rounding of the sums that they come from, made equal: they are tied."""
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    apart = np.diff(ordered, prepend=-np.inf) > TOLERANCE * np.abs(values).max(initial=0)
    made = np.empty_like(values)
    made[order] = ordered[np.flatnonzero(apart)][np.cumsum(apart) - 1]
    return made


def normed(values: Floats) -> Floats:
    """Values less their mean, with squares that sum to 1. They must vary, however large or small."""
    scaled = values / np.abs(values).max()
    centred = scaled - scaled.mean()
    centred /= np.abs(centred).max()
    return np.asarray(centred / np.linalg.norm(centred))


def coefficients(x: Floats, y: Floats) -> list[float]:
    """Those of ``COEFFICIENTS``; all NaN where they are not defined."""
    three = [of(x, y) for of in (pearson, spearman, kendall)]
    defined = [value for value in three if value is not None]
    return [*defined, sum(defined) / 3] if len(defined) == 3 else [np.nan] * 4


def weighted_coefficients(x: Numbers, y: Numbers, weights: Sequence[Numbers] | Floats) -> Floats:
    """Pearson, Spearman, Kendall's tau-b and their mean of resamples of the same pairs, shape (resamples, 4).

    Each equals the coefficient of the pairs written out as often as their weight says; NaN where it is not defined.

    Args:
        x: One side of the pairs, shape (n,), finite.
        y: The other side, shape (n,), finite.
        weights: How often each pair occurs, whole numbers from 0 on, shape (resamples, n).
    """
    return Resampled(np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64))(
        np.ascontiguousarray(np.asarray(weights, dtype=np.float64).T)
    )


class Resampled:
    """The coefficients of any number of resamples of the same pairs.

    The pairs are put in order once. A resample then takes time in proportion to n log m, where m is the number of
    different values on the side that has fewer; memory is a few times that of the weights.

    Args:
        x: One side of the pairs, shape (n,), finite.
        y: The other side, shape (n,), finite.
    """

    def __init__(self, x: Floats, y: Floats) -> None:
        if len(np.unique(x)) < len(np.unique(y)):
            x, y = y, x  # all three are symmetric, and Kendall's work grows with the values of the second
        order = np.lexsort((y, x))
        x, y = x[order], y[order]
        first = np.flatnonzero(np.concatenate([[True], (np.diff(x) != 0) | (np.diff(y) != 0)])) if len(x) else order
        self._order, self._first = order, first
        self._x, self._y = _Side(x[first]), _Side(y[first])
        self._steps = _steps(self._x.code, self._y.code)

    def __call__(self, weights: Floats) -> Floats:
        """Pearson, Spearman, Kendall and their mean, shape (resamples, 4); NaN where they are not defined.

        Args:
            weights: How often each pair occurs, whole numbers, shape (n, resamples).
        """
        if not len(self._order):
            return np.full((weights.shape[1], 4), np.nan)
        ordered = weights[self._order]
        w = ordered if len(self._first) == len(ordered) else np.add.reduceat(ordered, self._first, axis=0)
        x, y = self._x, self._y
        total = w.sum(axis=0)
        x_count, y_count = x.occupied(w), y.occupied(w)
        with np.errstate(invalid="ignore", divide="ignore"):
            three = np.column_stack(
                [
                    self._pearson(w, total),
                    self._spearman(w, total, x_count, y_count),
                    self._kendall(w, total, x_count, y_count),
                ]
            )
        three = np.clip(three, -1.0, 1.0)
        three[x.constant(x_count) | y.constant(y_count)] = np.nan
        return np.column_stack([three, three.mean(axis=1)])

    def _pearson(self, w: Floats, total: Floats) -> Floats:
        a, b = (side.scaled - side.scaled.mean() for side in (self._x, self._y))
        # Not a matrix product: threads of a linear algebra library cost more here than they do.
        sums = [np.einsum("i,ir->r", v, w) for v in (a, b, a * a, b * b, a * b)]
        a_square, b_square = (np.asarray(sums[2 + i] - sums[i] ** 2 / total) for i in (0, 1))
        across = sums[4] - sums[0] * sums[1] / total
        # Where a resample lies far from the mean of all, those differences have cancelled: centred on its own mean.
        poor = np.flatnonzero(~((a_square > _CANCELLED * sums[2]) & (b_square > _CANCELLED * sums[3])))
        step = max(1, 200_000 // len(a))
        for start in range(0, len(poor), step):
            part = poor[start : start + step]
            own = w[:, part]
            a_own, b_own = (
                v[:, None] - np.einsum("i,ir->r", v, own) / total[part] for v in (self._x.scaled, self._y.scaled)
            )
            for target, one, other in ((across, a_own, b_own), (a_square, a_own, a_own), (b_square, b_own, b_own)):
                target[part] = np.einsum("ir,ir,ir->r", own, one, other)
        return np.asarray(across / np.sqrt(a_square) / np.sqrt(b_square))

    def _spearman(self, w: Floats, total: Floats, x_count: Floats, y_count: Floats) -> Floats:
        a, b = (np.cumsum(count, axis=0) - count / 2 - total / 2 for count in (x_count, y_count))
        across = a[self._x.code]
        across *= b[self._y.code]
        across *= w
        squares = (np.einsum("ur,ur,ur->r", count, v, v) for count, v in ((x_count, a), (y_count, b)))
        return np.asarray(across.sum(axis=0) / np.sqrt(next(squares)) / np.sqrt(next(squares)))

    def _kendall(self, w: Floats, total: Floats, x_count: Floats, y_count: Floats) -> Floats:
        ordered = np.zeros(len(total))  # concordant minus discordant pairs; whole numbers, so the sums are exact
        for step in self._steps:
            ordered += step(w)
        pairs = total * (total - 1) / 2
        x_ties, y_ties = (np.einsum("ur,ur->r", count, count - 1) / 2 for count in (x_count, y_count))
        return np.asarray(ordered / np.sqrt(pairs - x_ties) / np.sqrt(pairs - y_ties))


class _Side:
    """One side of the pairs: its different values, and which of them each pair has."""

    def __init__(self, values: Floats) -> None:
        self.unique, self.code = np.unique(values, return_inverse=True)
        self._order = np.argsort(self.code, kind="stable")
        self._starts = np.searchsorted(self.code[self._order], np.arange(len(self.unique)))
        self.scaled = values / max(np.abs(values).max(initial=0), 1e-300)

    def occupied(self, w: Floats) -> Floats:
        """How often each of the different values occurs, shape (values, resamples)."""
        ordered = w[self._order]
        if len(self._starts) == len(ordered):
            return ordered
        return np.asarray(np.add.reduceat(ordered, self._starts, axis=0))

    def constant(self, occupied: Floats) -> NDArray[np.bool_]:
        """In which resamples this side does not vary."""
        there = occupied > 0
        low, high = self.unique[there.argmax(axis=0)], self.unique[len(there) - 1 - there[::-1].argmax(axis=0)]
        varies = high - low > TOLERANCE * np.maximum(np.abs(high), np.abs(low))
        return np.asarray(~(varies & there.any(axis=0)))


class _Step:
    """Concordant minus discordant among the pairs of points whose y first differ in one binary digit.

    Points with that digit 0 stand below those with 1 and the same digits before it; sums over the former in the order
    of x say how many of them each of the latter has to its left and to its right.
    """

    def __init__(self, x: Indices, y: Indices, digit: int) -> None:
        block, one = y >> (digit + 1), (y >> digit & 1).astype(bool)
        width = int(np.max(x)) + 1
        key = block * width + x
        order = np.argsort(key, kind="stable")
        self._below, self._above = order[~one[order]], order[one[order]]
        below, above = key[self._below], key[self._above]
        self._left = np.searchsorted(below, above, "left")
        self._not_right = np.searchsorted(below, above, "right")
        self._same = bool((self._left == self._not_right).all())
        blocks, self._starts = np.unique(block[self._above], return_index=True)
        self._from = np.searchsorted(below, blocks * width, "left")
        self._to = np.searchsorted(below, (blocks + 1) * width, "left")

    def __call__(self, w: Floats) -> Floats:
        if not len(self._above) or not len(self._below):
            return np.zeros(w.shape[1])
        before = np.empty((len(self._below) + 1, w.shape[1]))
        before[0] = 0
        np.cumsum(w[self._below], axis=0, out=before[1:])
        above = w[self._above]
        sides = before[self._left]
        sides += sides if self._same else before[self._not_right]
        inside = np.add.reduceat(above, self._starts, axis=0)
        around = before[self._from] + before[self._to]
        return np.asarray(np.einsum("ir,ir->r", above, sides) - np.einsum("ir,ir->r", inside, around))


def _steps(x: Indices, y: Indices) -> list[_Step]:
    return [_Step(x, y, digit) for digit in range(int(np.max(y, initial=0)).bit_length())]


def rowwise_coefficients(x: Floats, y: Floats, present: NDArray[np.bool_], *, close: float = 0.0) -> Floats:
    """Pearson, Spearman, Kendall and their mean of every row, shape (rows, 4); NaN where they are not defined.

    For many short rows: memory grows with rows times the square of their length.

    Args:
        x: One side, shape (rows, n).
        y: The other side, shape (rows, n).
        present: What counts, shape (rows, n); the rest may hold anything.
        close: Values no further apart than this part of the largest of their row have the same rank.
    """
    both = present[:, :, None] & present[:, None, :]
    n = present.sum(axis=1)
    sides, centred, signs, varies = (x, y), [], [], np.ones(len(n), dtype=bool)
    for side in sides:
        filled = np.where(present, side, 0.0)
        peak = np.maximum(np.abs(filled).max(axis=1, initial=0), 1e-300)
        high = np.where(present, side, -np.inf).max(axis=1, initial=-np.inf)
        low = np.where(present, side, np.inf).min(axis=1, initial=np.inf)
        varies &= (n > 1) & (high - low > TOLERANCE * peak)
        scaled = filled / peak[:, None]
        centred.append(np.where(present, scaled - (scaled.sum(axis=1) / np.maximum(n, 1))[:, None], 0.0))
        apart = scaled[:, :, None] - scaled[:, None, :]
        signs.append(np.where(both & (np.abs(apart) > close), np.sign(apart), 0.0))
    ranks = [sign.sum(axis=2) for sign in signs]  # twice the centred mean rank
    flat = [sign.reshape(len(n), -1) for sign in signs]
    with np.errstate(invalid="ignore", divide="ignore"):
        three = np.column_stack([_cosine(*pair) for pair in (centred, ranks, flat)])
    three = np.clip(three, -1.0, 1.0)
    three[~varies] = np.nan
    return np.column_stack([three, three.mean(axis=1)])


def _cosine(a: Floats, b: Floats) -> Floats:
    across, a_square, b_square = (np.einsum("ri,ri->r", one, other) for one, other in ((a, b), (a, a), (b, b)))
    return np.asarray(across / np.sqrt(a_square) / np.sqrt(b_square))


def aligned(pred: Scores, human: Numbers) -> tuple[Floats, Floats]:
    """Predictions and human scores as arrays of one length; a missing prediction is NaN, an infinite one stays.

    Raises:
        ValueError: Lists of different lengths, a mapping, or human scores that are not finite.
    """
    if isinstance(pred, Mapping) or isinstance(human, Mapping):  # its keys would be read
        raise ValueError("predictions and human scores are lists in the same order, not mappings; list their values")
    if len(pred) != len(human):
        raise ValueError(f"{len(pred)} predictions for {len(human)} human scores")
    x, y = (np.array([np.nan if is_absent(v) else v for v in side], dtype=np.float64) for side in (pred, human))
    if not np.isfinite(y).all():
        raise ValueError("human scores must be finite numbers")
    return x, y
