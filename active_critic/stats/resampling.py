"""Resampling of whole documents, and intervals from it that hold for few of them, too. Pure."""

from __future__ import annotations

import math
from collections.abc import Callable
from numbers import Real

import numpy as np

from active_critic.bounds import RESAMPLES, WHOLE
from active_critic.data.cells import plain_value
from active_critic.figures_in_words import as_given, how_many
from active_critic.stats.correlation import Floats, Indices

Interval = tuple[float, float]

FEWEST = 5
"""With fewer documents there is no interval: resamples of so few say nothing of others."""
FEW = 10
"""With fewer documents intervals are wide, and mean little."""
FEWEST_RESAMPLES = 100
"""With fewer resamples the percentiles that intervals end at are not among them."""
LEAST_RESAMPLES, MOST_RESAMPLES = 1_000, 10_000
"""Where no number is asked for, resamples lie between these."""
DRAWN = 1_000_000
"""Examples that so many resamples draw in all, which takes a tenth of a second for each figure."""
FOLDED = 1.3
"""How many times wider figures over folds vary than resampling their predictions shows, for what is held out of one
fold was fitted on in the others. Found by simulation (``benchmarks/coverage.py``); it is 1.5 with five folds by Nadeau
and Bengio, "Inference for the Generalization Error" (2003).
"""
MANY = 200
"""With more documents percentiles need no help."""
ALIKE = 1e-9
"""Ends of an interval that are no farther apart are those of values that are all alike."""
ALPHA = 0.05
"""A corrected p below this is taken for a difference."""
_CELLS = 500_000  # a few megabytes at a time: what fits a processor's cache is quick


def resamples_for(n: int, asked: int | None = None) -> int:
    """How many resamples of so many examples: those asked for, else as many as draw ``DRAWN`` examples.

    Intervals over few documents end far out (see :func:`percentile_interval`), where few of a thousand resamples lie:
    such an end moves with the seed, three times as much as with ten thousand. Many examples need fewer.

    Raises:
        ValueError: See :func:`check_resamples`.
    """
    if asked is not None:
        return check_resamples(asked)
    return min(MOST_RESAMPLES, max(LEAST_RESAMPLES, DRAWN // max(1, n)))


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
    return in_blocks(lambda count: measure(rng.multinomial(n_groups, even, count).astype(np.float64)), resamples, n)


def drawing(seed: int) -> np.random.Generator:
    """What draws by this seed, the same each time.

    Raises:
        ValueError: It is no whole number from 0 on, or larger than a result could hold.
    """
    number = plain_value(seed)
    if type(number) is not int or not 0 <= number <= WHOLE:
        raise ValueError(f"a seed is a whole number from 0 to 2**63 - 1, not {as_given(seed)}")
    return np.random.default_rng(number)


def check_resamples(count: int, least: int = 0) -> int:
    """How many resamples, or permutations.

    Raises:
        ValueError: No whole number, too few, or more than ``RESAMPLES``.
    """
    number = plain_value(count)
    if type(number) is not int or not least <= number <= RESAMPLES:
        none = "" if least else " (no intervals)"
        raise ValueError(f"the number of resamples is from {least}{none} to {RESAMPLES:,}, not {as_given(count)}")
    return number


def in_blocks(of: Callable[[int], Floats], count: int, n: int) -> Floats:
    """So many draws of a statistic of ``n`` examples, as many at a time as memory allows.

    Raises:
        ValueError: See :func:`check_resamples`.
    """
    check_resamples(count)
    step = max(16, _CELLS // max(n, 1))
    return np.concatenate([of(min(step, count - start)) for start in range(0, count, step)] or [of(0)])


def check_confidence(confidence: float) -> None:
    """Whether an interval can aim at this coverage.

    Raises:
        ValueError: It is no number between 0 and 1.
    """
    if not isinstance(confidence, Real) or not 0 < confidence < 1:  # nor NaN
        raise ValueError(f"the confidence of an interval lies between 0 and 1, such as 0.95, not {confidence!r}")


def percentile_interval(
    values: Floats, confidence: float, documents: int | None = None, spread: float = 1.0
) -> Interval | None:
    """The middle part of the values that are defined; None where most are not, or with fewer than five documents.

    Percentiles of a bootstrap of few documents lie too close together: at 95 % they hold 86 % of the time with four
    documents and 91 % with six (``benchmarks/coverage.py``). So they are taken farther out, where a t distribution has
    them (the expanded percentile interval; Hesterberg, "What Teachers Should Know About the Bootstrap", 2015).

    Args:
        values: Of the resamples, shape (resamples,).
        confidence: Coverage that the interval aims at, 0 to 1.
        documents: How many were resampled; None for values that are no bootstrap's.
        spread: How many times wider than the resamples the figure varies.

    Raises:
        ValueError: The confidence is no such number.
    """
    check_confidence(confidence)
    defined = values[~np.isnan(values)]
    if 2 * len(defined) <= len(values) or (documents is not None and documents < FEWEST):
        return None
    tail = (1 - float(confidence)) / 2
    if documents is not None:
        from scipy.special import ndtr, stdtrit

        tail = float(ndtr(spread * math.sqrt(documents / (documents - 1)) * stdtrit(documents - 1, tail)))
    low, high = np.quantile(defined, [tail, 1 - tail])
    return float(low), float(high)


def over_documents(
    measure: Callable[[Floats], Floats],
    n_groups: int,
    counting: Indices,
    value: float,
    interval: Interval | None,
    confidence: float,
    spread: float = 1.0,
    most: float = 1.0,
) -> Interval | None:
    """The interval of a mean of figures of single documents, which may be few and far apart, such as -1 and 1.

    Percentiles alone hold too seldom then: with five documents 86 to 91 % of the time, where 95 % are meant
    (``benchmarks/coverage.py``). So it ends no nearer than Student's t interval of the documents' own figures; and
    there is none where these are all alike, which does not make it certain that others are.

    Args:
        measure: The mean, from how often each document is drawn, shape (draws, documents) to (draws,).
        n_groups: Documents.
        counting: The numbers of those that have a figure of their own.
        value: The mean.
        interval: By :func:`percentile_interval`.
        confidence: Coverage that it aims at.
        spread: See :func:`percentile_interval`.
        most: No mean is farther from 0.
    """
    if interval is None or interval[1] - interval[0] <= ALIKE:
        return None
    if len(counting) > MANY:
        return interval
    from scipy.special import stdtrit

    each = np.concatenate(
        [measure((np.arange(n_groups) == document)[None].astype(np.float64)) for document in counting]
    )
    half = spread * float(stdtrit(len(each) - 1, (1 + confidence) / 2)) * float(each.std(ddof=1)) / math.sqrt(len(each))
    return max(-most, min(interval[0], value - half)), min(most, max(interval[1], value + half))


def of_one_value(value: float, documents: int, lowest: float, highest: float, confidence: float = 0.95) -> Interval:
    """The interval of a mean that came out the same in all of some documents, so that all resamples are alike.

    As many others as are just possible (Clopper and Pearson, 1934) may be anything that they can be. Only where all of
    these lie on one side of 0, the others are not taken to lie on the other: at the least, they are 0.

    Args:
        value: The mean.
        documents: How many there are.
        lowest: What any other may be at the least, 0 or less.
        highest: And at the most, 0 or more.
        confidence: Coverage that it aims at.
    """
    others = 1 - ((1 - confidence) / 2) ** (1 / documents)
    least = 0.0 if value > ALIKE else min(lowest, value)
    most = 0.0 if value < -ALIKE else max(highest, value)
    return value + others * (least - value), value + others * (most - value)


def cautions(documents: int, ps: int, resamples: int) -> list[str]:
    """What should be said of figures over few documents, and of p-values that could never have been small.

    Args:
        documents: How many are tested on.
        ps: P-values of the permutation test that are corrected together (Holm).
        resamples: Permutations.
    """
    said = []
    if documents < FEWEST:
        said.append(
            f"the texts are of {how_many(documents, 'document')}: with fewer than {FEWEST} there are no intervals"
        )
    elif documents < FEW:
        said.append(f"the texts are of {documents} documents: intervals over so few say little of others")
    if documents >= FEWEST and 0 < resamples < FEWEST_RESAMPLES:
        said.append(f"intervals of {resamples} resamples are too narrow, and move with the seed; raise --resamples")
    by_chance = 2.0 ** (1 - documents)  # all documents are swapped, or none
    least = ps * max(1 / (1 + resamples), by_chance)
    if resamples and documents > 1 and least > ALPHA:
        remedy = "test on more documents" if ps * by_chance > ALPHA else "raise --resamples"
        said.append(
            f"no corrected p can fall below {min(1.0, least):.2g} (p-values: {ps}, documents: {documents}, "
            f"permutations: {resamples:,}), so nothing can be told apart for certain; {remedy}, or compare less"
        )
    return said
