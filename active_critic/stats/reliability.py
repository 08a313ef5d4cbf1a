"""How far people agree among themselves, the ceiling that this sets, and how far an evaluator agrees with itself."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from active_critic.data.cells import is_absent
from active_critic.stats.correlation import Array, Floats, count_of, tied
from active_critic.stats.intervals import Figures, figures_of
from active_critic.stats.levels import Level, Measure, document_codes, system_codes
from active_critic.stats.resampling import resamples_for

Measurement = Literal["nominal", "ordinal", "interval", "ratio"]
Ratings = Sequence[Sequence[float | None]] | Array

_CELLS = 1_000_000


def krippendorff_alpha(ratings: Ratings, level: Measurement = "interval") -> float | None:
    """Krippendorff's alpha: 1 is perfect agreement, 0 what chance would give, below 0 systematic disagreement.

    Alpha = 1 - observed / expected disagreement over pairs of ratings (Krippendorff, "Computing Krippendorff's
    Alpha-Reliability", 2011). Items with fewer than two ratings do not count.

    Args:
        ratings: One row an annotator, one column an item, shape (annotators, items); None or NaN where there is none.
            A DataFrame is refused, for its annotators may be its rows as well as its columns: give ``frame.to_numpy()``
            where they are its rows, ``frame.to_numpy().T`` where they are its columns.
        level: What a distance between two ratings is: ``"nominal"``, whether they differ; ``"ordinal"``, how many
            ratings lie between them; ``"interval"``, their difference; ``"ratio"``, their difference over their sum.

    Returns:
        Alpha, or None where it is not defined: no item with two ratings, or all ratings equal.

    Raises:
        ValueError: A DataFrame, rows that are no lists of numbers or of different lengths, an unknown level, an
            infinite rating, or one below 0 at the ratio level.
    """
    table = _table(ratings)
    if level not in {"nominal", "ordinal", "interval", "ratio"}:
        raise ValueError(f"{level!r} is no level of measurement; they are nominal, ordinal, interval and ratio")
    table = table[:, (~np.isnan(table)).sum(axis=0) > 1]
    there = ~np.isnan(table)
    values = table[there]
    if not len(values):
        return None
    unique, count = np.unique(values, return_counts=True)
    if len(unique) == 1:
        return None
    if level == "ordinal":
        # Ordinal distances are interval distances of mean ranks.
        ranks = np.cumsum(count) - count / 2
        table[there] = ranks[np.searchsorted(unique, values)]
        unique = ranks
    elif level == "ratio" and unique[0] < 0:
        raise ValueError(f"the ratio level has no ratings below 0, and there is {unique[0]:g}")
    raters = there.sum(axis=0)
    if level in {"ordinal", "interval"}:
        largest = float(np.abs(unique).max())  # alpha is the same in any unit; squares of huge numbers are not numbers
        table, unique = table / largest, unique / largest
        middle = float(np.average(unique, weights=count))
        shifted = np.where(there, table - middle, 0.0)
        within = raters * (shifted**2).sum(axis=0) - shifted.sum(axis=0) ** 2
        n = len(values)
        total = n * float(count @ (unique - middle) ** 2) - float(count @ (unique - middle)) ** 2
    else:
        within = np.zeros(len(raters))
        for one in range(len(table)):
            for other in range(one):
                both = there[one] & there[other]
                within[both] += _distance(table[one, both], table[other, both], level)
        n, step = len(values), max(1, _CELLS // len(unique))
        total = 0.0
        for start in range(0, len(unique), step):
            part = slice(start, start + step)
            total += float(count[part] @ _distance(unique[part, None], unique, level) @ count) / 2
    observed, expected = float((within / (raters - 1)).sum()) / n, total / (n * (n - 1))
    return 1.0 - observed / expected


def _distance(one: Floats, other: Floats, level: Measurement) -> Floats:
    if level == "nominal":
        return np.asarray(one != other, dtype=np.float64)
    both = one + other
    return np.asarray(np.divide(one - other, both, out=np.zeros_like(both), where=both > 0) ** 2)


def _table(ratings: Ratings) -> Floats:
    if hasattr(ratings, "columns"):
        raise ValueError(
            f"a {type(ratings).__name__} does not say whether its annotators are its rows or its columns; give "
            "frame.to_numpy() where they are its rows, frame.to_numpy().T where they are its columns"
        )
    if isinstance(ratings, Mapping):
        raise ValueError("ratings are one list of numbers for each annotator; of a mapping give list(ratings.values())")
    for row in ratings:
        if isinstance(row, str | bytes | Mapping) or not isinstance(row, Iterable):
            raise ValueError(f"the ratings of an annotator are a list of numbers, one for each item, not {row!r:.40}")
    rows = [[np.nan if is_absent(value) else value for value in row] for row in ratings]
    lengths = {len(row) for row in rows}
    if len(lengths) > 1:
        raise ValueError(f"every annotator needs as many places as there are items, not {sorted(lengths)}")
    table = np.array(rows, dtype=np.float64).reshape(len(rows), max(lengths, default=0))
    if np.isinf(table).any():
        raise ValueError("ratings must be finite numbers")
    return table


@dataclass(frozen=True, slots=True)
class Ceiling(Figures):
    """How well one annotator agrees with the mean of the others, on average over the annotators.

    A lower bound of what one more person would reach against the mean of *all*, which has less noise than that of the
    others: an evaluator that is below it agrees less than a person does; one that reaches it need not agree as much.

    Attributes:
        pearson, spearman, kendall: Means over the annotators for whom they are defined, -1 to 1; None for none.
        mean: The mean of the three.
        pearson_interval, spearman_interval, kendall_interval, mean_interval: Percentile bootstrap intervals over
            documents, the same documents for every annotator; None as in ``Agreement``.
        each: The mean of the three of each annotator, or None.
        n: Ratings that have another one of the same item beside them.
        items: Items with at least two ratings.
        level, groups, resamples, seed, confidence: As in ``Agreement``.
    """

    each: tuple[float | None, ...]
    n: int
    items: int
    level: Level
    groups: int
    resamples: int
    seed: int
    confidence: float


def human_ceiling(
    ratings: Ratings,
    groups: Sequence[str] | None = None,
    *,
    level: Level = "dataset",
    systems: Sequence[str | None] | None = None,
    resamples: int | None = None,
    seed: int = 0,
    confidence: float = 0.95,
) -> Ceiling:
    """Each annotator against the mean of the rest.

    Args:
        ratings: As for :func:`krippendorff_alpha`: one row an annotator, one column an item.
        groups: The document of each item; without them every item is a document of its own.
        level: As for ``stats.agreement``.
        systems: The system of each item, needed at system level of those with two ratings or more.
        resamples: As for ``stats.agreement``.
        seed: As for ``stats.agreement``.
        confidence: As for ``stats.agreement``.

    Raises:
        DataError: Document level without groups, system level without systems, or groups that some items lack.
        ValueError: Fewer than two annotators, a DataFrame, rows that are no lists of numbers or of different lengths,
            an infinite rating, no such level, a confidence that is no part of 1, a seed below 0, or fewer than no
            resamples.
    """
    table = _table(ratings)
    if len(table) < 2:
        raise ValueError(f"a ceiling needs at least two annotators, not {len(table)}")
    there = ~np.isnan(table)
    used = np.flatnonzero(there.sum(axis=0) > 1)
    items = table.shape[1]
    resamples = resamples_for(items, resamples)
    table, there = table[:, used], there[:, used]
    group = document_codes(level, groups, used, items)
    system = system_codes(level, systems, used, items)
    n_groups = count_of(group)
    others = np.where(there, table, 0.0)
    measures = []
    for own, rated in zip(table, there, strict=True):
        rest = (others.sum(axis=0) - np.where(rated, own, 0.0)) / np.maximum(there.sum(axis=0) - rated, 1)
        rest = tied(rest[rated])
        measures.append(Measure(level, own[rated], rest, group[rated], system[rated], documents=n_groups))
    whole, n = np.ones((1, n_groups)), int(there.sum())
    each = [float(measure(whole)[0, 3]) for measure in measures]
    return Ceiling(
        **figures_of(measures, n_groups, n, level=level, resamples=resamples, seed=seed, confidence=confidence),
        each=tuple(None if np.isnan(value) else value for value in each),
        n=n,
        items=len(used),
    )


@dataclass(slots=True)
class Movement:
    """How much scores move when an evaluator is asked again; items are added one at a time, and not kept.

    Attributes:
        items: Items that were scored at least twice.
        moved: Those of them whose scores were not all the same.
        partly: Items that were scored some times, and other times not.
        difference: Sum over the items of the mean absolute difference between two of their scores.
        deviation: Sum over the items of the standard deviation of their scores (n - 1 in the denominator).
    """

    items: int = 0
    moved: int = 0
    partly: int = 0
    difference: float = 0.0
    deviation: float = 0.0

    def add(self, scores: Sequence[float | None]) -> float | None:
        """Count one item.

        Args:
            scores: Its scores on any scale, None where it was left unscored.

        Returns:
            Their standard deviation, or None where there are fewer than two.
        """
        given = [score for score in scores if score is not None]
        self.partly += 0 < len(given) < len(scores)
        if len(given) < 2:
            return None
        pairs = [abs(one - other) for one, other in itertools.combinations(given, 2)]
        deviation = statistics.stdev(given)
        self.items += 1
        self.moved += max(pairs) > 0
        self.difference += statistics.fmean(pairs)
        self.deviation += deviation
        return deviation

    def to_dict(self) -> dict[str, Any]:
        """The figures as plain JSON values, in points of the scale; means are over the items, None without any."""
        n = self.items
        difference, deviation = (self.difference / n, self.deviation / n) if n else (None, None)
        words = ["No item was scored twice: nothing can be said of how much scores move."]
        if difference is not None and deviation is not None:
            apart = f"{difference:.3g} apart on average (standard deviation {deviation:.3g})"
            moved = f"{self.moved:,} of {n:,} items ({self.moved / n:.0%}) got another score"
            words = [f"Asked again, {moved}; two scores of an item are {apart}."]
        if self.partly:
            words.append(f"{self.partly:,} items were scored some times and left unscored other times.")
        return {
            "items": n,
            "moved": self.moved,
            "share_moved": self.moved / n if n else None,
            "mean_absolute_difference": difference,
            "mean_sd": deviation,
            "partly_scored": self.partly,
            "words": words,
        }
