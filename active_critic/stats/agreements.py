"""Agreement with people: correlations, the search objective Q, bootstrap intervals over documents, paired comparison.

A coefficient that is not defined (fewer than two pairs, or a side that does not vary) is None, never 0; only the search
objective ``q`` counts it as 0. Everything random is drawn from the seed that stands in the result.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from operator import index
from typing import Any

import numpy as np
from numpy.typing import NDArray

from active_critic.data.cells import is_absent
from active_critic.stats.correlation import (
    TOLERANCE,
    Floats,
    Indices,
    Numbers,
    Resampled,
    Scores,
    aligned,
    count_of,
    in_order,
    kendall,
    normed,
    numbered,
    pearson,
    spearman,
)
from active_critic.stats.intervals import Figures, figures_of
from active_critic.stats.levels import Level, Measure, averaged, document_codes, system_codes
from active_critic.stats.resampling import (
    FOLDED,
    Interval,
    bootstrap,
    check_resamples,
    drawing,
    in_blocks,
    over_documents,
    percentile_interval,
    resamples_for,
)


def q(pred: Scores, human: Numbers) -> float:
    """Q = Pearson + Spearman + Kendall, -3 to 3 (Active-Critic, Eq. 4), of the pairs that have a prediction.

    A coefficient that is not defined counts as 0: a constant prediction agrees with nobody.

    Raises:
        ValueError: Lists of different lengths, or human scores that are missing (None, NaN) or infinite.
    """
    x, y, _ = _pairs(pred, human)
    return sum((coefficient(x, y) or 0.0 for coefficient in (pearson, spearman, kendall)), 0.0)


def _pairs(pred: Scores, human: Numbers) -> tuple[Floats, Floats, Indices]:
    x, y = aligned(pred, human)
    kept = np.flatnonzero(np.isfinite(x))
    return x[kept], y[kept], kept


@dataclass(frozen=True, slots=True)
class Agreement(Figures):
    """Agreement between predictions and people.

    Attributes:
        pearson, spearman, kendall: The coefficients, -1 to 1, or None where not defined.
        mean: The mean of the three.
        pearson_interval, spearman_interval, kendall_interval, mean_interval: Percentile bootstrap intervals over
            documents, widened for few of them, or None with fewer than five (see ``resampling.percentile_interval``) or
            where most resamples leave nothing to correlate; at document level also where all documents have the same
            figure (see ``resampling.over_documents``).
        n: Examples with a prediction; only they count. One that is in several parts counts in each.
        total: All examples, likewise.
        level: ``"dataset"``: over all examples; ``"document"``: within each document, averaged over the documents where
            both sides vary; ``"system"``: over the systems' mean scores.
        units: What the coefficients are over: examples, such documents, or systems; with parts, of all of them.
        units_total: The same, and documents in which all predictions are the same though people's scores are not.
        groups: Documents among the ``n`` examples.
        resamples, seed, confidence: How the intervals were made.
        parts: Parts in which the coefficients are defined: the figures are the means over them. Without parts, all
            examples are one.
        parts_total: All parts.
        spread: How many times more than its resamples a figure is taken to vary (over folds ``resampling.FOLDED``).
    """

    n: int
    total: int
    level: Level
    units: int
    groups: int
    resamples: int
    seed: int
    confidence: float
    parts: int = 1
    parts_total: int = 1
    units_total: int = 0
    spread: float = 1.0

    @property
    def coverage(self) -> float:
        """The part of the examples that have a prediction, 0 to 1."""
        return self.n / self.total if self.total else 0.0

    def to_dict(self) -> dict[str, Any]:
        """The same as plain JSON values."""
        return {**Figures.to_dict(self), "coverage": self.coverage}


@dataclass(frozen=True, slots=True)
class Difference:
    """How much better ``a`` agrees with people than ``b``, on the examples for which both have a prediction.

    At document level only documents in which both are defined count: one that gives all texts of a document the same
    score is not spared the document, nor is the other one alone held to it.

    Attributes:
        delta: Mean of the three coefficients of ``a`` minus that of ``b``; None where either is not defined. With
            parts, the mean over those in which both are.
        interval: Percentile bootstrap interval of ``delta`` over documents, or None, as in ``Agreement``.
        p: Two-sided p of the paired permutation test over documents (whole documents swap ``a`` and ``b``, both put
            on a common scale first), or None. With parts, a document swaps in all of them or in none.
        n, groups: Examples and documents that count; with parts, of those in which it is defined.
        level, resamples, seed, confidence: As in ``Agreement``; ``resamples`` is also the number of permutations.
        parts, parts_total: As in ``Agreement``; a part counts where both are defined.
        spread: As in ``Agreement``; ``p`` reckons with it, too.
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
    parts: int = 1
    parts_total: int = 1
    spread: float = 1.0

    def to_dict(self) -> dict[str, Any]:
        """The same as plain JSON values."""
        return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}


def agreement(
    pred: Scores,
    human: Numbers,
    groups: Sequence[str] | None = None,
    *,
    level: Level = "dataset",
    systems: Sequence[str | None] | None = None,
    parts: Sequence[int] | NDArray[np.integer[Any]] | None = None,
    folded: bool = False,
    resamples: int | None = None,
    seed: int = 0,
    confidence: float = 0.95,
) -> Agreement:
    """Agreement between predictions and human scores, with bootstrap intervals over documents.

    Args:
        pred: Predictions on any scale; None, NaN or an infinity where there is none, which is left out and counted.
        human: Human scores; none may be missing: leave out the examples that nobody scored, in every list alike.
        groups: The document of each example; without them every example is a document of its own.
        level: See ``Agreement``.
        systems: The system of each example, needed at system level.
        parts: The fold or repeat that each prediction is from. Predictions of different fits are never pooled: every
            coefficient is computed within each part and averaged over the parts where it is defined. A document is
            drawn, or not, in all parts together. Name the ``groups``: else the same example in two parts is two.
        folded: Whether each prediction is of a fit on examples that other predictions are of, as over pooled folds and
            wherever there are several parts: the interval is then wider (``resampling.FOLDED``), and p larger.
        resamples: Bootstrap resamples of whole documents; default: 1,000 to 10,000, as many as draw a million examples.
        seed: Seed of the resampling.
        confidence: Coverage that the intervals aim at.

    Raises:
        DataError: Document level without groups, system level without systems, or groups that some examples lack.
        ValueError: Lists of different lengths, what is no list, human scores that are missing or infinite, no such
            level, a confidence that is no part of 1, a seed below 0, or fewer than no resamples.
    """
    x, y, kept = _pairs(pred, human)
    resamples = resamples_for(len(human), resamples)
    group = document_codes(level, groups, kept, len(human))
    n_groups = count_of(group)
    system = system_codes(level, systems, kept, len(human))
    of_parts = _rows_of_parts(parts, len(human), kept)
    measures = [Measure(level, x[rows], y[rows], group[rows], system[rows], n_groups) for rows in of_parts]
    spread, whole = _spread(of_parts, folded=folded), np.ones((1, n_groups))
    return Agreement(
        **figures_of(
            measures,
            n_groups,
            len(x),
            level=level,
            resamples=resamples,
            seed=seed,
            confidence=confidence,
            spread=spread,
        ),
        n=len(x),
        total=len(human),
        units=sum(part.units for part in measures),
        parts=sum(not np.isnan(part(whole)[0, 3]) for part in measures),
        parts_total=len(measures),
        units_total=sum(part.units_total for part in measures),
        spread=spread,
    )


def paired_difference(
    pred_a: Scores,
    pred_b: Scores,
    human: Numbers,
    groups: Sequence[str] | None = None,
    *,
    level: Level = "dataset",
    systems: Sequence[str | None] | None = None,
    parts: Sequence[int] | NDArray[np.integer[Any]] | None = None,
    folded: bool = False,
    resamples: int | None = None,
    seed: int = 0,
    confidence: float = 0.95,
) -> Difference:
    """Whether ``a`` agrees with people better than ``b``; arguments as for ``agreement``.

    Raises:
        DataError: Document level without groups, system level without systems, or groups that some examples lack.
        ValueError: Lists of different lengths, what is no list, human scores that are missing or infinite, no such
            level, a confidence that is no part of 1, a seed below 0, or fewer than no resamples.
    """
    resamples, rng = resamples_for(len(human), resamples), drawing(seed)
    all_a, all_y = aligned(pred_a, human)
    all_b, _ = aligned(pred_b, human)
    kept = np.flatnonzero(np.isfinite(all_a) & np.isfinite(all_b))
    a, b, y = all_a[kept], all_b[kept], all_y[kept]
    group = document_codes(level, groups, kept, len(human))
    n_groups = count_of(group)
    system = system_codes(level, systems, kept, len(human))
    of_parts = _rows_of_parts(parts, len(human), kept)
    every = [_Pair(level, a[rows], b[rows], y[rows], group[rows], system[rows], n_groups) for rows in of_parts]
    defined = [pair for pair in every if not np.isnan(pair.delta)]
    delta, interval, p = None, None, None
    rows = np.concatenate([pair.group for pair in defined or every])
    counting, spread = np.unique(rows), _spread(of_parts, folded=folded)
    if defined:
        difference = averaged([pair.difference for pair in defined])
        delta = float(difference(np.ones((1, n_groups)))[0])
        if n_groups > 1 and resamples:
            drawn = bootstrap(difference, n_groups, resamples, rng, len(kept))
            interval = percentile_interval(drawn, confidence, len(counting), spread)
            if level == "document":
                interval = over_documents(difference, n_groups, counting, delta, interval, confidence, spread, most=2.0)
            swapped = averaged([pair.swapped for pair in defined])

            def chance(count: int) -> Floats:
                swap = rng.integers(0, 2, (count, n_groups)).astype(np.float64)
                return np.nan_to_num(spread * np.abs(swapped(swap)), nan=np.inf)

            extreme = in_blocks(chance, resamples, 2 * len(kept)) >= abs(delta) - TOLERANCE
            p = float((1 + np.sum(extreme)) / (1 + resamples))
    return Difference(
        delta=delta,
        interval=interval,
        p=p,
        n=len(rows),
        groups=len(counting),
        level=level,
        resamples=index(resamples),
        seed=index(seed),
        confidence=float(confidence),
        parts=len(defined),
        parts_total=len(every),
        spread=spread,
    )


class _Pair:
    """Two predictions of the same examples of one part.

    Attributes:
        group: The documents of the examples that count; at document level those where both sides are defined.
        delta: The difference of the means of three, NaN where one of them is not defined.
    """

    def __init__(
        self, level: Level, a: Floats, b: Floats, y: Floats, group: Indices, system: Indices, n_groups: int
    ) -> None:
        self._a, self._b = (Measure(level, x, y, group, system, n_groups) for x in (a, b))
        self.group = group
        if level == "document":
            both = (self._a.defined & self._b.defined)[group]
            if not both.all():  # else the one that is constant in the hardest documents would be let off them
                a, b, y, group, system = a[both], b[both], y[both], group[both], system[both]
                self._a, self._b = (Measure(level, x, y, group, system, n_groups) for x in (a, b))
                self.group = group
        self.delta = float(self.difference(np.ones((1, n_groups)))[0])
        if np.isnan(self.delta):
            return
        # Both predictions of every example, one of them weighted 0: a swap is a change of weights.
        x2, y2 = np.concatenate([normed(a), normed(b)]), np.tile(y, 2)
        twice = np.concatenate([group, group + n_groups])
        self._both = Measure(level, x2, y2, twice, np.tile(system, 2), 2 * n_groups)

    def difference(self, weights: Floats) -> Floats:
        """How much better ``a`` is in each draw, from how often each document is drawn."""
        return np.asarray(self._a(weights)[:, 3] - self._b(weights)[:, 3])

    def swapped(self, swap: Floats) -> Floats:
        """The same where the documents that are 1 have ``a`` and ``b`` swapped, and those that are 0 have not."""
        first, second = (self._both(np.hstack(sides))[:, 3] for sides in ((1 - swap, swap), (swap, 1 - swap)))
        return np.asarray(first - second)


def _rows_of_parts(parts: Sequence[int] | NDArray[np.integer[Any]] | None, total: int, kept: Indices) -> list[Indices]:
    """Where in ``kept`` the examples of each part are; parts that have none are there too."""
    if parts is None:
        return [np.arange(len(kept))]
    by_place = in_order(parts, "parts")
    if len(by_place) != total:
        raise ValueError(f"{len(by_place)} parts for {total} examples")
    if any(map(is_absent, by_place)):
        raise ValueError("some examples have a part and some have none; name that of each, or of none")
    part = np.asarray(by_place)
    return [np.flatnonzero(part[kept] == one) for one in np.unique(part)] or [np.arange(0)]


def _spread(parts: Sequence[Indices], *, folded: bool) -> float:
    """How many times wider than its resamples a figure over these parts varies."""
    return FOLDED if folded or len(parts) > 1 else 1.0


def chance_ahead(
    pred_a: Scores,
    pred_b: Scores,
    human: Numbers,
    groups: Sequence[str],
    *,
    resamples: int = 200,
    seed: int = 0,
) -> float:
    """In what part of the resamples of whole documents ``a`` has the higher Q, ties counting half (paired bootstrap).

    Only examples that both have scored count; of fewer than two documents nothing can be said, and it is 0.5. A
    coefficient that is not defined counts as 0, as in :func:`q`.

    Raises:
        DataError: Some examples have a document and some have none.
        ValueError: Lists of different lengths, what is no list, human scores that are missing (None, NaN) or infinite,
            a seed below 0, or no resamples.
    """
    check_resamples(resamples, least=1)
    rng = drawing(seed)
    all_a, all_y = aligned(pred_a, human)
    all_b, _ = aligned(pred_b, human)
    kept = np.flatnonzero(np.isfinite(all_a) & np.isfinite(all_b))
    group = numbered(groups, kept, len(human))
    n = count_of(group)
    if n < 2:
        return 0.5
    drawn = rng.multinomial(n, np.full(n, 1 / n), resamples).astype(np.float64)
    weights = np.ascontiguousarray(drawn.T)[group]
    a, b, y = all_a[kept], all_b[kept], all_y[kept]
    ahead = sum(sign * np.nan_to_num(Resampled(x, y)(weights)[:, :3]).sum(axis=1) for x, sign in ((a, 1), (b, -1)))
    return float(np.mean(np.where(np.abs(ahead) <= TOLERANCE, 0.5, ahead > 0)))


def holm(ps: Sequence[float | None]) -> list[float | None]:
    """P-values corrected for their number (Holm, 1979), in the same order; None (or NaN) is None and does not count.

    Each is what it would have to be below for all differences found at that level to be right with that certainty:
    the i-th smallest of m is multiplied by m - i + 1, and never falls below the one before it.

    Raises:
        ValueError: One does not lie between 0 and 1.
    """
    known = sorted((float(p), i) for i, p in enumerate(ps) if p is not None and not is_absent(p))
    if odd := [p for p, _ in known if not 0 <= p <= 1]:
        raise ValueError(f"a p-value lies between 0 and 1, not at {odd[0]:g}")
    corrected: list[float | None] = [None] * len(ps)
    highest = 0.0
    for rank, (p, i) in enumerate(known):
        highest = max(highest, min(1.0, p * (len(known) - rank)))
        corrected[i] = highest
    return corrected
