"""How near predictions are to people, and how often they order two texts as people do, ties included.

Correlations say nothing of distances, and treat a tie as half a mistake or as none: these are the figures for the rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from active_critic.stats.correlation import TOLERANCE, Floats, Indices, Numbers, Scores, aligned, numbered, tied
from active_critic.stats.resampling import drawing

MOST_PAIRS = 2_000_000
"""Pairs that pairwise accuracy is computed from at most; of documents with more, so many in all are drawn at random."""


def mae(pred: Scores, human: Numbers) -> float | None:
    """Mean absolute error of the examples that have a prediction, on the human scale; None where none has one.

    Raises:
        ValueError: Lists of different lengths, or human scores that are missing (None, NaN) or infinite.
    """
    distance = _distances(pred, human)
    return float(np.abs(distance).mean()) if len(distance) else None


def rmse(pred: Scores, human: Numbers) -> float | None:
    """Root of the mean squared error of the examples that have a prediction, on the human scale; else as ``mae``."""
    distance = _distances(pred, human)
    return float(np.sqrt((distance**2).mean())) if len(distance) else None


def _distances(pred: Scores, human: Numbers) -> Floats:
    x, y = aligned(pred, human)
    kept = np.isfinite(x)
    return np.asarray(x[kept] - y[kept])


@dataclass(frozen=True, slots=True)
class PairwiseAccuracy:
    """How often predictions order two texts as people do (Deutsch, Foster and Freitag, 2023).

    Attributes:
        accuracy: The part of the pairs that are ordered as people order them, or tied where people tie them, 0 to 1,
            with predictions no further apart than ``tie`` counted as tied; None without any pair.
        uncalibrated: The same where only equal predictions are tied.
        tie: The distance, in units of the prediction, that makes ``accuracy`` highest on these very pairs.
        pairs: Pairs that were compared.
        human_ties: The part of them that people tied.
        sampled: Whether there were more than ``MOST_PAIRS``, so that those of large documents were drawn at random.
        groups: Documents with a pair, when pairs are taken within documents.
    """

    accuracy: float | None
    uncalibrated: float | None
    tie: float | None
    pairs: int
    human_ties: float | None
    sampled: bool = False
    groups: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """The same as plain JSON values."""
        return asdict(self)


def pairwise_accuracy(
    pred: Scores,
    human: Numbers,
    groups: Sequence[str] | None = None,
    *,
    most_pairs: int = MOST_PAIRS,
    seed: int = 0,
) -> PairwiseAccuracy:
    """Pairwise accuracy with tie calibration; the examples without a prediction do not count.

    Args:
        pred: Predictions on any scale where more is better; None, NaN or an infinity where there is none.
        human: Human scores; none may be missing. What people tied counts too: see ``PairwiseAccuracy``.
        groups: The document of each example: only pairs within a document are compared, and the accuracy is the mean
            over the documents that have a pair. Without them, all pairs are compared.
        most_pairs: Of more pairs than this, so many are drawn at random: with documents, from the largest ones only.
        seed: Of that draw.

    Raises:
        DataError: Some examples have a group and some have none.
        ValueError: Lists of different lengths, what is no list, human scores that are missing or infinite, or a seed
            below 0.
    """
    x, y = aligned(pred, human)
    rng = drawing(seed)
    kept = np.flatnonzero(np.isfinite(x))
    code = np.zeros(len(kept), dtype=np.intp) if groups is None else numbered(groups, kept, len(human))
    size = np.bincount(code)
    rows = kept[np.argsort(code, kind="stable")]
    start = np.cumsum(size) - size
    total = int((size * (size - 1) // 2).sum())
    n_groups = None if groups is None else int((size > 1).sum())
    if not total:
        return PairwiseAccuracy(None, None, None, 0, None, groups=n_groups)
    sampled = total > most_pairs
    if sampled:
        first, second, group = _drawn_pairs(size, start, most_pairs, rng)
    else:
        first, second, group = _all_pairs(size, start)
    # Every document with a pair counts the same, however many pairs it has.
    weight = 1 / np.bincount(group)[group]
    weight /= weight.sum()
    # What differs only by rounding is tied, and so are distances: 0.3 and 0.2 are as far apart as 0.2 and 0.1.
    x[kept], y = tied(x[kept]), tied(y)
    i, j = rows[first], rows[second]
    apart, order, alike = np.abs(x[i] - x[j]), np.sign(x[i] - x[j]) * np.sign(y[i] - y[j]), y[i] == y[j]
    rounding = TOLERANCE * float(np.abs(x[kept]).max())
    by_distance = np.argsort(apart, kind="stable")
    apart = apart[by_distance]
    right = np.where(order > 0, weight, 0.0)[by_distance]
    tie = np.where(alike, weight, 0.0)[by_distance]
    # With the first k pairs tied: what people tied among them, and what is ordered rightly among the others.
    accuracy = np.concatenate([[0.0], np.cumsum(tie - right)]) + right.sum()
    ends = np.flatnonzero(np.concatenate([np.diff(apart) > rounding, [True]])) + 1
    ends = ends if apart[0] == 0 else np.concatenate([[0], ends])
    best = int(np.argmax(np.round(accuracy[ends], 12)))  # the smallest distance, where several do as well
    return PairwiseAccuracy(
        accuracy=min(1.0, float(accuracy[ends[best]])),
        uncalibrated=min(1.0, float(accuracy[ends[0]])),
        tie=float(apart[ends[best] - 1]) if ends[best] else 0.0,
        pairs=len(i),
        human_ties=float(tie.sum()),
        sampled=sampled,
        groups=n_groups,
    )


def _all_pairs(size: Indices, start: Indices) -> tuple[Indices, Indices, Indices]:
    firsts, seconds, groups = [], [], []
    for n in np.unique(size[size > 1]):
        one, other = np.triu_indices(n, 1)
        alike = np.flatnonzero(size == n)
        firsts.append((start[alike][:, None] + one).ravel())
        seconds.append((start[alike][:, None] + other).ravel())
        groups.append(np.repeat(alike, len(one)))
    return np.concatenate(firsts), np.concatenate(seconds), np.concatenate(groups)


def _drawn_pairs(
    size: Indices, start: Indices, count: int, rng: np.random.Generator
) -> tuple[Indices, Indices, Indices]:
    """All pairs of small documents, and as many of each large one as bring the sum to ``count``: at least one."""
    pairs = size * (size - 1) // 2
    ordered = np.sort(pairs)
    # What is left for each of the larger documents once the smaller ones have all of theirs.
    left = (count - (np.cumsum(ordered) - ordered)) / np.arange(len(ordered), 0, -1)
    most = max(1, int(left[np.argmax(ordered > left)]))
    group = np.repeat(np.flatnonzero(pairs > most), most)
    n = size[group]
    first, second = rng.integers(0, n), rng.integers(0, n - 1)
    second += second >= first
    drawn = (start[group] + first, start[group] + second, group)
    small = np.where(pairs > most, 0, size)
    if not (small > 1).any():
        return drawn
    one, other, where = (np.concatenate(both) for both in zip(_all_pairs(small, start), drawn, strict=True))
    return one, other, where
