"""Agreement with people: correlations, the search objective Q, bootstrap intervals over documents, paired comparison.

A coefficient that is not defined (fewer than two pairs, or a side that does not vary) is None, never 0; only the search
objective ``q`` counts it as 0. Everything random is drawn from the seed that stands in the result.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import stats as scipy_stats

from active_critic.errors import DataError

Level = Literal["dataset", "document", "system"]
Interval = tuple[float, float]
Floats = NDArray[np.float64]
Numbers = Sequence[float] | Floats

_CELLS = 4_000_000
_TOLERANCE = 1e-12


def pearson(x: Numbers, y: Numbers) -> float | None:
    """Pearson's correlation, or None where it is not defined."""
    return _point(x, y, lambda a, b: float(_normed(a) @ _normed(b)))


def spearman(x: Numbers, y: Numbers) -> float | None:
    """Spearman's rank correlation (mean ranks for ties), or None where it is not defined."""
    return _point(x, y, lambda a, b: float(_normed(scipy_stats.rankdata(a)) @ _normed(scipy_stats.rankdata(b))))


def kendall(x: Numbers, y: Numbers) -> float | None:
    """Kendall's tau-b, or None where it is not defined."""
    return _point(x, y, lambda a, b: float(scipy_stats.kendalltau(a, b).statistic))


def q(pred: Sequence[float | None], human: Sequence[float]) -> float:
    """Q = Pearson + Spearman + Kendall, -3 to 3 (Active-Critic, Eq. 4), of the pairs that have a prediction.

    A coefficient that is not defined counts as 0: a constant prediction agrees with nobody.
    """
    x, y, _ = _pairs(pred, human)
    return sum((coefficient(x, y) or 0.0 for coefficient in (pearson, spearman, kendall)), 0.0)


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
    return bool(np.ptp(values) <= _TOLERANCE * np.abs(values).max())


def _normed(values: Floats) -> Floats:
    scaled = values / np.abs(values).max()
    centred = scaled - scaled.mean()
    centred /= np.abs(centred).max()
    return np.asarray(centred / np.linalg.norm(centred))


def _pairs(pred: Sequence[float | None], human: Sequence[float]) -> tuple[Floats, Floats, NDArray[np.intp]]:
    if len(pred) != len(human):
        raise ValueError(f"{len(pred)} predictions for {len(human)} human scores")
    x = np.array([np.nan if value is None else value for value in pred], dtype=np.float64)
    y = np.asarray(human, dtype=np.float64)
    if not np.isfinite(y).all():
        raise ValueError("human scores must be finite numbers")
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
    unit = _Unit(level, group, _system_codes(level, systems, kept))
    values = unit.coefficients(x, y, np.ones((1, n_groups)))[0]
    rng = np.random.default_rng(seed)
    drawn = unit.coefficients(x, y, _draws(rng, n_groups, resamples)) if n_groups > 1 else np.empty((0, 4))
    points = [None if np.isnan(value) else float(value) for value in values]
    intervals = [None if points[i] is None else _interval(drawn[:, i], confidence) for i in range(4)]
    return Agreement(
        *(points[0], points[1], points[2], points[3]),
        *(intervals[0], intervals[1], intervals[2], intervals[3]),
        n=len(x),
        total=len(human),
        level=level,
        units=unit.count(x, y),
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
    unit = _Unit(level, group, _system_codes(level, systems, kept))

    def difference(weights: Floats) -> Floats:
        return np.asarray(unit.coefficients(a, y, weights)[:, 3] - unit.coefficients(b, y, weights)[:, 3])

    delta = float(difference(np.ones((1, n_groups)))[0])
    interval, p = None, None
    if not np.isnan(delta) and n_groups > 1 and resamples:
        rng = np.random.default_rng(seed)
        interval = _interval(difference(_draws(rng, n_groups, resamples)), confidence)
        # Both predictions of every example, one of them weighted 0: a swap is a change of weights.
        both = _Unit(level, np.concatenate([group, group + n_groups]), np.tile(unit.system, 2))
        x2, y2 = np.concatenate([_standard(a), _standard(b)]), np.tile(y, 2)
        swap = rng.integers(0, 2, (resamples, n_groups)).astype(np.float64)
        first = both.coefficients(x2, y2, np.hstack([1 - swap, swap]))[:, 3]
        second = both.coefficients(x2, y2, np.hstack([swap, 1 - swap]))[:, 3]
        swapped = np.nan_to_num(np.abs(first - second), nan=np.inf)
        p = float((1 + np.sum(swapped >= abs(delta) - _TOLERANCE)) / (1 + resamples))
    return Difference(
        None if np.isnan(delta) else delta, interval, p, len(kept), n_groups, level, resamples, seed, confidence
    )


def _standard(values: Floats) -> Floats:
    return np.asarray((values - values.mean()) / values.std())


def _codes(groups: Sequence[str] | None, kept: NDArray[np.intp]) -> NDArray[np.intp]:
    if groups is None:
        return np.arange(len(kept))
    # Numbered by name, so that the order of rows does not change what is drawn for which document.
    names = [groups[i] for i in kept]
    number = {name: i for i, name in enumerate(sorted(set(names)))}
    return np.array([number[name] for name in names], dtype=np.intp)


def _system_codes(level: Level, systems: Sequence[str | None] | None, kept: NDArray[np.intp]) -> NDArray[np.intp]:
    if level != "system":
        return np.zeros(len(kept), dtype=np.intp)
    if systems is None or any(systems[i] is None for i in kept):
        raise DataError("agreement at system level needs the system of every example; name its column (system=NAME)")
    return _codes([str(system) for system in systems], kept)


def _draws(rng: np.random.Generator, n_groups: int, resamples: int) -> Floats:
    """How often each document is drawn, shape (resamples, documents)."""
    return rng.multinomial(n_groups, np.full(n_groups, 1 / n_groups), resamples).astype(np.float64)


def _interval(values: Floats, confidence: float) -> Interval | None:
    defined = values[~np.isnan(values)]
    if 2 * len(defined) <= len(values):
        return None
    low, high = np.quantile(defined, [(1 - confidence) / 2, (1 + confidence) / 2])
    return float(low), float(high)


@dataclass(frozen=True, slots=True)
class _Unit:
    """What is correlated at a level, and how it changes when documents are weighted.

    ``group`` and ``system`` number the document and the system of every example.
    """

    level: Level
    group: NDArray[np.intp]
    system: NDArray[np.intp]

    def coefficients(self, x: Floats, y: Floats, weights: Floats) -> Floats:
        """Pearson, Spearman, Kendall and their mean, shape (draws, 4), for weights of shape (draws, documents)."""
        if len(x) < 2 or not len(weights):
            return np.full((len(weights), 4), np.nan)
        if self.level == "document":
            within = self._within(x, y)
            defined = ~np.isnan(within[:, 3])
            total = weights @ defined
            with np.errstate(invalid="ignore"):
                return np.asarray((weights @ np.nan_to_num(within)) / np.where(total > 0, total, np.nan)[:, None])
        step = max(1, _CELLS // len(x))
        parts = [self._pooled(x, y, weights[i : i + step][:, self.group]) for i in range(0, len(weights), step)]
        return np.concatenate(parts)

    def _pooled(self, x: Floats, y: Floats, weights: Floats) -> Floats:
        if self.level == "system":
            members = (self.system[:, None] == np.arange(self.system.max() + 1)).astype(np.float64)
            total = weights @ members
            with np.errstate(invalid="ignore"):
                x_mean, y_mean = ((weights * values) @ members / total for values in (x, y))
            present = total > 0
            return np.array([_row(a[p], b[p]) for a, b, p in zip(x_mean, y_mean, present, strict=True)])
        return weighted_coefficients(x, y, weights)

    def _within(self, x: Floats, y: Floats) -> Floats:
        order = np.argsort(self.group, kind="stable")
        parts = np.split(order, np.flatnonzero(np.diff(self.group[order])) + 1)
        return np.array([_row(x[part], y[part]) for part in parts])

    def count(self, x: Floats, y: Floats) -> int:
        """How many units the coefficients are over."""
        if self.level == "document":
            return int(np.sum(~np.isnan(self._within(x, y)[:, 3]))) if len(x) else 0
        return len(set(self.system.tolist())) if self.level == "system" and len(x) else len(x)


def weighted_coefficients(x: Floats, y: Floats, weights: Floats) -> Floats:
    """Pearson, Spearman, Kendall's tau-b and their mean of resamples of the same pairs, shape (resamples, 4).

    Each equals the coefficient of the pairs written out as often as their weight says; NaN where it is not defined.

    Args:
        x: One side of the pairs, shape (n,).
        y: The other side, shape (n,).
        weights: How often each pair occurs, whole numbers, shape (resamples, n).
    """
    (x_code, x_ranks, x_ties), (y_code, y_ranks, y_ties) = (_weighted_ranks(values, weights) for values in (x, y))
    concordant = np.zeros(len(weights))
    single = weights.astype(np.float32)  # exact: sums of whole numbers below 2**24
    step = max(1, _CELLS // len(x))
    for start in range(0, len(x), step):
        part = slice(start, start + step)
        signs = np.sign(x_code[:, None] - x_code[part]) * np.sign(y_code[:, None] - y_code[part])
        concordant += np.einsum("ri,ri->r", single @ signs.astype(np.float32), weights[:, part]) / 2
    total = weights.sum(axis=1)
    pairs = total * (total - 1) / 2
    x_scaled, y_scaled = (np.broadcast_to(v / max(np.abs(v).max(), 1e-300), weights.shape) for v in (x, y))
    with np.errstate(invalid="ignore", divide="ignore"):
        linear = _weighted_pearson(x_scaled, y_scaled, weights)
        ranked = _weighted_pearson(x_ranks, y_ranks, weights)
        ordered = concordant / np.sqrt(pairs - x_ties) / np.sqrt(pairs - y_ties)
    three = np.column_stack([linear, ranked, ordered])
    three = np.clip(three, -1.0, 1.0)
    three[_constant_rows(x, weights) | _constant_rows(y, weights)] = np.nan
    return np.column_stack([three, three.mean(axis=1)])


def _weighted_ranks(values: Floats, weights: Floats) -> tuple[NDArray[np.intp], Floats, Floats]:
    """The order of the values as whole numbers; their mean ranks, and the number of tied pairs, in each resample."""
    unique, code = np.unique(values, return_inverse=True)
    order = np.argsort(code, kind="stable")
    starts = np.searchsorted(code[order], np.arange(len(unique)))
    occupied = np.add.reduceat(weights[:, order], starts, axis=1)
    ranks = np.cumsum(occupied, axis=1) - occupied / 2
    return code, ranks[:, code], np.sum(occupied * (occupied - 1) / 2, axis=1)


def _weighted_pearson(x: Floats, y: Floats, weights: Floats) -> Floats:
    total = weights.sum(axis=1)
    x, y = (v - (np.einsum("ri,ri->r", weights, v) / total)[:, None] for v in (x, y))
    across, x_square, y_square = (np.einsum("ri,ri,ri->r", weights, a, b) for a, b in ((x, y), (x, x), (y, y)))
    return np.asarray(across / np.sqrt(x_square) / np.sqrt(y_square))


def _constant_rows(values: Floats, weights: Floats) -> NDArray[np.bool_]:
    present = weights > 0
    high, low = np.where(present, values, -np.inf).max(axis=1), np.where(present, values, np.inf).min(axis=1)
    return np.asarray(~(high - low > _TOLERANCE * np.maximum(np.abs(high), np.abs(low))))


def _row(x: Floats, y: Floats) -> list[float]:
    three = [coefficient(x, y) for coefficient in (pearson, spearman, kendall)]
    defined = [value for value in three if value is not None]
    return [*defined, sum(defined) / 3] if len(defined) == 3 else [np.nan] * 4
