"""Coefficients over some measures, with their intervals: what the agreement with people and that among them share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from operator import index
from typing import Any

import numpy as np

from active_critic.stats.correlation import COEFFICIENTS, Floats
from active_critic.stats.levels import Level, Measure, averaged, documents_of
from active_critic.stats.resampling import Interval, bootstrap, drawing, over_documents, percentile_interval


@dataclass(frozen=True, slots=True)
class Figures:
    """Coefficients and their intervals; whose they are is said by what is made of them.

    Attributes:
        pearson, spearman, kendall: The coefficients, -1 to 1, or None where not defined.
        mean: The mean of the three.
        pearson_interval, spearman_interval, kendall_interval, mean_interval: Percentile bootstrap intervals over
            documents, or None.
    """

    pearson: float | None
    spearman: float | None
    kendall: float | None
    mean: float | None
    pearson_interval: Interval | None
    spearman_interval: Interval | None
    kendall_interval: Interval | None
    mean_interval: Interval | None

    def to_dict(self) -> dict[str, Any]:
        """The same as plain JSON values."""
        return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}


def figures_of(
    measures: Sequence[Measure],
    n_groups: int,
    n: int,
    *,
    level: Level,
    resamples: int,
    seed: int,
    confidence: float,
    spread: float = 1.0,
) -> dict[str, Any]:
    """The coefficients, averaged over the measures, with bootstrap intervals over documents.

    Args:
        measures: Of the same documents.
        n_groups: Documents.
        n: Examples: memory is limited accordingly.
        level: That of the measures.
        resamples: Bootstrap resamples of whole documents; 0 for no intervals.
        seed: Seed of the resampling.
        confidence: Coverage that the intervals aim at.
        spread: See ``resampling.percentile_interval``.

    Returns:
        What makes ``Figures``, and ``level``, ``groups``, ``resamples``, ``seed`` and ``confidence``: how they were
        made, as it stands in ``stats.Agreement``.

    Raises:
        ValueError: A confidence that is no part of 1, a seed below 0, or fewer than no resamples.
    """
    measure = averaged(measures)
    points = [None if np.isnan(value) else float(value) for value in measure(np.ones((1, n_groups)))[0]]
    drawn = bootstrap(measure, n_groups, resamples, drawing(seed), n)
    counting = documents_of(measures)
    intervals = [
        None if points[i] is None else percentile_interval(drawn[:, i], confidence, len(counting), spread)
        for i in range(4)
    ]
    if level == "document":
        for i in range(4):
            one = partial(_column, measure, i)
            intervals[i] = over_documents(one, n_groups, counting, points[i] or 0.0, intervals[i], confidence, spread)
    return {
        **dict(zip(COEFFICIENTS, points, strict=True)),
        **{f"{name}_interval": interval for name, interval in zip(COEFFICIENTS, intervals, strict=True)},
        "level": level,
        "groups": n_groups,
        "resamples": index(resamples),  # NumPy's numbers are no JSON
        "seed": index(seed),
        "confidence": float(confidence),
    }


def _column(measure: Callable[[Floats], Floats], i: int, weights: Floats) -> Floats:
    """One of the coefficients of a measure."""
    return np.asarray(measure(weights)[:, i])
