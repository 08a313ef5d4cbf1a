"""Agreement at numbers of labels, with intervals over the tests and over the labels that happened to be drawn."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np
from scipy.special import stdtr, stdtrit

from active_critic.stats.correlation import Floats
from active_critic.stats.levels import Measure
from active_critic.stats.resampling import Interval, bootstrap, percentile_interval


@dataclass(frozen=True, slots=True)
class Estimate:
    """A weighted sum of means of the three coefficients: one of them, a difference, or a slope.

    Attributes:
        value: Its mean over the repeats in which it is defined, or None.
        interval: With one repeat the percentile bootstrap interval over the test documents; with more, Student's t
            interval, whose variance is that of the resamples plus that of the mean of the repeats, and whose degrees of
            freedom are Satterthwaite's: so it covers which texts were tested, and which labels were learnt from. None
            with fewer than five documents, or where most resamples are not defined.
        p: Two-sided p of a value of 0, by a t test with the same variance and degrees of freedom, or None.
        p_holm: The same, corrected for all that are tested together (Holm), or None.
        by_repeat: The value in every repeat, None where not defined.
        n, groups: Tests that count, those with every prediction that it takes where it is defined, and their documents.
        resamples, seed, confidence: How the interval was made.
    """

    value: float | None
    interval: Interval | None
    p: float | None
    by_repeat: tuple[float | None, ...]
    n: int
    groups: int
    resamples: int
    seed: int
    confidence: float
    p_holm: float | None = None

    @property
    def repeats(self) -> int:
        """The repeats in which it is defined."""
        return sum(one is not None for one in self.by_repeat)

    def to_dict(self) -> dict[str, object]:
        """The same as plain JSON values."""
        return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}


def estimate(
    pred: Sequence[Sequence[float | None]],
    weights: Sequence[float],
    human: Sequence[float],
    groups: Sequence[str],
    *,
    parts: Sequence[int],
    resamples: int = 1000,
    seed: int = 0,
    confidence: float = 0.95,
) -> Estimate:
    """The sum of the weights times the means of the three coefficients of these predictions with people.

    Args:
        pred: Predictions of the same tests, once for each weight; None where there is none.
        weights: ``[1]``: the mean of one; ``[1, -1]``: a difference.
        human: Human scores of the tests.
        groups: Their documents.
        parts: The repeat that each test is from, from 0.
        resamples: Bootstrap resamples.
        seed: Of the resampling.
        confidence: Coverage that the interval aims at.
    """
    values = np.array([[np.nan if score is None else score for score in scores] for scores in pred], dtype=np.float64)
    kept = np.flatnonzero(np.isfinite(values).all(axis=0))
    names, group = np.unique(np.array(groups, dtype=object)[kept], return_inverse=True)
    part, y = np.array(parts, dtype=np.intp)[kept], np.array(human, dtype=np.float64)[kept]
    measures = []
    for one in range(max(parts, default=-1) + 1):
        rows = np.flatnonzero(part == one)
        own = [(scores[kept][rows], y[rows], group[rows], np.zeros(len(rows), dtype=np.intp)) for scores in values]
        measures.append([Measure("dataset", *sides, len(names)) for sides in own])

    def sums(drawn: Floats) -> Floats:
        """In every draw of documents and every repeat, shape (draws, repeats)."""
        found = [np.stack([one(drawn)[:, 3] for one in own], axis=1) @ np.array(weights) for own in measures]
        return np.stack(found, axis=1)

    by_repeat = sums(np.ones((1, len(names))))[0]
    there = by_repeat[~np.isnan(by_repeat)]
    counting = np.isin(part, np.flatnonzero(~np.isnan(by_repeat)) if len(there) else part)
    documents = len(np.unique(group[counting]))
    value, interval, p = None, None, None
    if len(there):
        value = float(there.mean())
        rng = np.random.default_rng(seed)
        found = bootstrap(lambda drawn: sums(drawn)[:, ~np.isnan(by_repeat)], len(names), resamples, rng, values.size)
        drawn = np.asarray(found.mean(axis=1))
        interval = percentile_interval(drawn, confidence, documents)
        if interval is not None:
            most = float(np.abs(weights).sum())  # a coefficient is between -1 and 1
            variance, freedom = _variance(drawn[~np.isnan(drawn)], there, documents)
            p = _two_sided_p(value, variance, freedom, resamples)
            if len(there) > 1:
                half = float(stdtrit(freedom, (1 + confidence) / 2)) * math.sqrt(variance)
                interval = max(-most, value - half), min(most, value + half)
    each = tuple(None if np.isnan(one) else float(one) for one in by_repeat)
    return Estimate(value, interval, p, each, int(counting.sum()), documents, resamples, seed, confidence)


def _variance(drawn: Floats, by_repeat: Floats, documents: int) -> tuple[float, float]:
    """The variance of a mean over repeats, and its degrees of freedom (Satterthwaite, 1946).

    How repeats differ counts in full, although part of it is the tests again.

    Args:
        drawn: The mean in bootstrap resamples of the documents.
        by_repeat: The value in every repeat.
        documents: How many were resampled.
    """
    # A bootstrap varies by (n - 1) / n of the variance.
    over_tests = documents / (documents - 1) * float(drawn.var(ddof=1)) if len(drawn) > 1 else 0.0
    repeats = len(by_repeat)
    over_labels = float(by_repeat.var(ddof=1)) / repeats if repeats > 1 else 0.0
    total = over_tests + over_labels
    parts = over_tests**2 / (documents - 1) + over_labels**2 / max(1, repeats - 1)
    return total, total**2 / parts if parts else documents - 1.0


def _two_sided_p(value: float, variance: float, freedom: float, resamples: int) -> float:
    """The p of a true value of 0, by Student's t test; without any variance as small as these resamples can tell."""
    if variance == 0:
        return 1 / (1 + resamples) if value else 1.0
    return 2 * float(stdtr(freedom, -abs(value) / math.sqrt(variance)))


def slope(at: Sequence[float]) -> list[float]:
    """Weights of the slope of the line of least squares through values at these places.

    Raises:
        ValueError: There are not two different places.
    """
    places = np.array(at, dtype=np.float64)
    if len(set(at)) < 2:
        raise ValueError("a slope needs two different places")
    centred = places - places.mean()
    return [float(weight) for weight in centred / (centred @ centred)]
