"""What people would score on average: from the few outputs that they scored, and a judge's scores of all of them.

The mean of a judge's scores is no mean of people's: a judge may be too mild, or milder with some systems than with
others. Prediction-powered inference takes people's own mean and moves it by as much as the judge finds the outputs that
nobody scored better or worse than those that people did (Angelopoulos et al., "Prediction-Powered Inference", 2023),
weighed by how well the judge follows people (Angelopoulos, Duchi and Zrnic, "PPI++", 2023; for automatic judges of
systems Boyeau et al., "AutoEval Done Right", 2024). Whatever the judge is worth, the mean is people's; a judge that is
worth something makes the interval narrower. Pure.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any

import numpy as np

from active_critic.stats.agreements import holm
from active_critic.stats.correlation import Floats, Indices, Scores, in_order, numbered
from active_critic.stats.resampling import FEWEST, Interval, check_confidence

ODD = 0.01
"""With a smaller p, the judge's scores of what people scored and of the rest are said to differ."""
_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True)
class PeopleMean:
    """What people would score the outputs of a system on average.

    Attributes:
        system: Its name; None where systems are not told apart.
        mean: The estimate, on the scale of people's scores; None where nobody scored any of its outputs.
        interval: Where the mean over all outputs like these lies; None with labels of fewer than five documents, or
            where all of these have the same mean.
        people: The mean of people's scores alone.
        people_interval: Its interval.
        judge: The mean of the judge's scores of all its outputs, on the judge's scale.
        labelled: Outputs that people scored.
        outputs: All that the judge scored.
        documents_labelled, documents_unlabelled, documents: Documents of the outputs that people scored, of the others,
            and of all.
        worth: How many labels would make the interval of people's scores alone as narrow; None where there is none.
        odd: The p of the judge's scores differing as much between outputs that people scored and the others, if people
            had drawn theirs at random; None where it cannot be told.
    """

    system: str | None
    mean: float | None
    interval: Interval | None
    people: float | None
    people_interval: Interval | None
    judge: float
    labelled: int
    outputs: int
    documents_labelled: int
    documents_unlabelled: int
    documents: int
    worth: float | None
    odd: float | None


@dataclass(frozen=True, slots=True)
class MeansApart:
    """How far people's means of two systems are apart.

    Attributes:
        system, other: Their names.
        difference: The mean of ``system`` less that of ``other``.
        interval: Its interval; None where either mean has none, or the difference does not vary.
        p: Two-sided, by Student's t; None where there is no interval.
        p_holm: The same, corrected for the number of pairs (``holm``).
    """

    system: str
    other: str
    difference: float
    interval: Interval | None
    p: float | None
    p_holm: float | None


@dataclass(frozen=True, slots=True)
class PeopleMeans:
    """People's means of systems, and how far they are apart.

    Attributes:
        weight: How far people's score moves with one point of the judge's; 0 where the judge is not used.
        means: One a system, by name; one alone where systems are not told apart.
        apart: Every pair of systems that both have a mean, by name.
        confidence: Coverage that intervals aim at.
    """

    weight: float
    means: tuple[PeopleMean, ...]
    apart: tuple[MeansApart, ...]
    confidence: float

    def to_dict(self) -> dict[str, Any]:
        """The same as plain JSON values."""
        return asdict(self)


def people_means(
    judge: Scores,
    people: Scores,
    documents: Sequence[str | None] | None = None,
    systems: Sequence[str | None] | None = None,
    *,
    confidence: float = 0.95,
) -> PeopleMeans:
    """Estimate people's mean score of every system.

    With L the outputs that people scored and U the others, the estimate is ``mean(y over L) + w (mean(f over U) -
    mean(f over L))`` for people's scores y and the judge's f. The weight w, one for all systems, is the one for which
    the estimated variances add up to the least; it is never below 0. A document's part in the estimate varies as one
    (linearised, as in ``DocumentMean``), and intervals are Student's with the labelled documents less 2 degrees of
    freedom (less 1 where the judge is not used). The judge is not used for a system of which it scored outputs of
    fewer than five documents that people did not.

    It holds if the outputs that people scored are a random draw of all outputs of their system, and if the judge was
    not fitted on them.

    Args:
        judge: The judge's score of every output, on any scale; None or NaN: it has none, and does not count.
        people: People's scores, None or NaN where nobody scored the output.
        documents: The document of every output; None: each is one of its own.
        systems: The system of every output; None: systems are not told apart.
        confidence: Coverage that the intervals aim at, 0 to 1.

    Raises:
        ValueError: Lists of different lengths, no output that both scored, or a confidence that is none.
        DataError: Some outputs have a document, or a system, and others have none.
    """
    check_confidence(confidence)
    f, y = _column(judge), _column(people)
    if len(f) != len(y):
        raise ValueError(f"{len(f)} scores of the judge for {len(y)} of people's")
    kept = np.flatnonzero(~np.isnan(f))
    if not (~np.isnan(y[kept])).any():
        raise ValueError("no output has a score of the judge and one of people's")
    unit = float(np.abs(f[kept]).max()) or 1.0  # squares of the largest numbers would be infinite
    f = f / unit
    document = np.arange(len(f)) if documents is None else numbered(documents, total=len(f))
    names: list[str | None] = [None]
    system = np.zeros(len(f), dtype=np.intp)
    if systems is not None:
        system = numbered(systems, total=len(f))  # by name
        names = [*sorted(set(map(str, systems)))]
    own = [kept[system[kept] == number] for number in range(len(names))]
    found = [
        _System(name, f[places], y[places], document[places])
        for name, places in zip(names, own, strict=True)
        if len(places)
    ]
    over = math.fsum(-float(one.a @ one.b) for one in found)
    under = math.fsum(float(one.b @ one.b) for one in found)
    weight = max(0.0, over / under) if under > 0 else 0.0
    apart = [
        _apart(one, other, weight, confidence) for one, other in combinations([one for one in found if one.labelled], 2)
    ]
    corrected = holm([p for *_, p in apart])
    return PeopleMeans(
        weight / unit,
        tuple(one.told(weight, unit, confidence) for one in found),
        tuple(MeansApart(*pair, p_holm) for pair, p_holm in zip(apart, corrected, strict=True)),
        confidence,
    )


class _System:
    """One system: its means, and what each document adds to how far they are off."""

    def __init__(self, name: str | None, f: Floats, y: Floats, document: Indices) -> None:
        scored = ~np.isnan(y)
        rest = ~scored
        self.name = name
        self.outputs, self.labelled = len(f), int(scored.sum())
        self.judge = float(f.mean())
        self.at, own = np.unique(document, return_inverse=True)
        self.documents = len(self.at)
        self.documents_labelled = len(np.unique(own[scored]))
        self.documents_unlabelled = len(np.unique(own[rest]))
        self.people = float(y[scored].mean()) if self.labelled else math.nan
        self.a = self.b = np.zeros(self.documents)
        self.moved = 0.0
        self.used = self.labelled > 0 and self.documents_unlabelled >= FEWEST
        if self.labelled:
            self.a = _parts(y[scored], own[scored], self.documents)
        if self.used:
            self.b = _parts(f[rest], own[rest], self.documents) - _parts(f[scored], own[scored], self.documents)
            self.moved = float(f[rest].mean() - f[scored].mean())

    def mean(self, weight: float) -> float:
        return self.people + weight * self.moved

    def parts(self, weight: float) -> Floats:
        """What each of its documents adds to how far off the mean is."""
        return np.asarray(self.a + weight * self.b)

    def off(self, weight: float) -> _Off:
        """How far off the mean may be. One degree of freedom goes with the mean, one with the weight."""
        parts, lost = self.parts(weight), 2 if self.used and weight else 1
        return _Off(float(parts @ parts), self.documents_labelled, self.documents_labelled - lost)

    def told(self, weight: float, unit: float, confidence: float) -> PeopleMean:
        mean = people = people_interval = interval = worth = None
        if self.labelled:
            mean, people = self.mean(weight), self.people
            people_interval = self.off(0.0).interval(people, confidence)
            interval = self.off(weight).interval(mean, confidence)
        if interval is not None and people_interval is not None:
            worth = self.labelled * ((people_interval[1] - people_interval[0]) / (interval[1] - interval[0])) ** 2
        moved = _Off(float(self.b @ self.b), self.documents_labelled, self.documents_labelled - 1)
        return PeopleMean(
            system=self.name,
            mean=mean,
            interval=interval,
            people=people,
            people_interval=people_interval,
            judge=self.judge * unit,
            labelled=self.labelled,
            outputs=self.outputs,
            documents_labelled=self.documents_labelled,
            documents_unlabelled=self.documents_unlabelled,
            documents=self.documents,
            worth=worth,
            odd=moved.p(self.moved) if self.used else None,
        )


@dataclass(frozen=True, slots=True)
class _Off:
    """How far an estimate is off: the squares of what documents add, how many are labelled, degrees of freedom."""

    squares: float
    labelled: int
    freedom: int

    def error(self, value: float) -> float | None:
        """The standard error; None with too few documents, and where all are alike, which makes nothing certain."""
        if self.labelled < FEWEST:
            return None
        error = math.sqrt(self.labelled / self.freedom * self.squares)
        return error if error > _ROUNDING * max(1.0, abs(value)) else None

    def interval(self, value: float, confidence: float) -> Interval | None:
        from scipy.special import stdtrit

        if (error := self.error(value)) is None:
            return None
        half = float(stdtrit(self.freedom, (1 + confidence) / 2)) * error
        return value - half, value + half

    def p(self, value: float) -> float | None:
        """Two-sided, of a value that would be 0 on average."""
        from scipy.special import stdtr

        return None if (error := self.error(value)) is None else float(2 * stdtr(self.freedom, -abs(value) / error))


def _apart(
    one: _System, other: _System, weight: float, confidence: float
) -> tuple[str, str, float, Interval | None, float | None]:
    difference, offs = one.mean(weight) - other.mean(weight), (one.off(weight), other.off(weight))
    _, here, there = np.intersect1d(one.at, other.at, assume_unique=True, return_indices=True)
    parts, others = one.parts(weight), other.parts(weight)
    apart = np.concatenate([parts[here] - others[there], np.delete(parts, here), np.delete(others, there)])
    fewer = min(offs, key=lambda off: off.freedom)
    off = _Off(float(apart @ apart), fewer.labelled, fewer.freedom)
    return str(one.name), str(other.name), difference, off.interval(difference, confidence), off.p(difference)


def _parts(values: Floats, document: Indices, documents: int) -> Floats:
    """What every document adds to how far the mean of these values is off."""
    return np.bincount(document, values - values.mean(), documents) / len(values)


def _column(scores: Scores) -> Floats:
    values = np.array([math.nan if v is None else float(v) for v in in_order(scores, "scores")], dtype=np.float64)
    return np.where(np.isfinite(values), values, math.nan)
