"""From several readings of a text to one score on the user's scale, with an interval. Pure.

The weights come from ``weighing``. Here is what a program keeps of them, and the interval that the errors on documents
that were left out give.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from pydantic import Field, field_validator

from active_critic.errors import FitError
from active_critic.records import LEAST_SPREAD, Record, Scale, Spread
from active_critic.standardising import Floats
from active_critic.weighing import EXPECTED, PRIOR, UNBOUNDED, Figures, Regression

TURNS = 200
"""In how many turns documents are left out for the errors on them: one by one up to so many, else several at a time."""
COVERAGES = (0.5, 0.8, 0.9, 0.95)
"""Coverages for which the half-widths of intervals are kept."""
SHOWN = 0.9
"""The coverage of the interval that stands in a verdict."""

STEPS = (1.0, 0.5, 0.25)
"""Distances of levels that people are known to score on."""


class Part(Record):
    """One reading's part in the score.

    Attributes:
        name: ``"rating"``, ``"approval"``, ``"likelihood"``, ``"contrast"``, ``"criterion NAME"``, or what figures add:
            ``"tokens"``, ``"surface"``.
        mean, spread: Of the reading over the training examples, out of fold, none above ``high``.
        weight: Change of the score, on the user's scale, for one standard deviation of the reading; never below 0.
        high: The most that the reading counts as (see ``weighing.WITHIN``); None where it counts as it is.
    """

    name: str
    mean: float
    spread: Spread
    weight: float = Field(ge=0)
    high: float | None = None

    def adds(self, value: float) -> float:
        """What a value of the reading adds to the mean score, in points of the user's scale."""
        counted = value if self.high is None else min(self.high, value)
        return self.weight * (counted - self.mean) / self.spread if self.spread else 0.0


class Calibration(Record):
    """A linear combination of readings, and how far off it was on documents that were left out.

    Attributes:
        parts: The readings.
        intercept: The score where every reading is at its mean.
        half_widths: Half the width of an interval, by its coverage in percent, in points of the user's scale; without
            those coverages for which there are too few documents.
        step: The distance of the levels that people scored on (1, 0.5 or 0.25), or None where there are no such levels.
            An interval ends at a level, for no score of theirs lies between.
        n: Training examples that it rests on.
        least_tokens: How many of a text's least likely tokens its likelihood is that of; None where it is no part.
        copied: A response of whose runs of three words its source has a larger share than this is a copy: nothing is
            likelier to a model, and its likelihood and surface count as no more than the mean. None: nothing is a copy.
        holds: A response that has a larger share than this of its source's runs of three words is a copy, too: the
            source stands in it, whatever else does. None, as in older programs: that is not looked at.
        far: Beyond how many standard deviations from the examples' mean a figure of the surface is far from theirs.
        unlike: A response with so many far figures is unlike the examples, and its surface and its tokens count as no
            more than the mean (see ``weighing.UNLIKE``). None: there is no surface, or, as in older programs, that is
            not looked at.
        foreign: A response that the model calls good under a source that it was not made from (``lm.marks.FOREIGN``),
            surer than this (log-odds of yes), is no better for what the model says of it: nothing in its score counts
            as more than the mean. None: that is not asked, as in older programs.
        weighed: Of how much of the beginning of a response, in characters, the likelihood is that of; None: of all.
    """

    parts: tuple[Part, ...] = Field(min_length=1)
    intercept: float
    half_widths: dict[str, Annotated[float, Field(ge=0)]] = Field(default_factory=dict)
    step: float | None = Field(default=None, gt=0)
    n: int
    least_tokens: int | None = None
    copied: float | None = Field(default=None, ge=0, le=1)
    holds: float | None = Field(default=None, ge=0, le=1)
    far: float | None = Field(default=None, gt=0)
    unlike: int | None = Field(default=None, ge=1)
    foreign: float | None = None
    weighed: int | None = Field(default=None, ge=1)

    @field_validator("step")
    @classmethod
    def _known(cls, step: float | None) -> float | None:
        if step is not None and step not in STEPS:
            raise ValueError(
                f"levels are {', '.join(f'{one:g}' for one in STEPS)} apart or none are known, not {step:g}"
            )
        return step

    def apply(self, readings: Mapping[str, float], scale: Scale) -> Combined:
        """The score of one text from its readings.

        Args:
            readings: A value for every part.
            scale: The user's scale, which score and interval are clipped to.
        """
        added = {part.name: part.adds(readings[part.name]) for part in self.parts}
        score = min(scale.high, max(scale.low, math.fsum([self.intercept, *added.values()])))
        return Combined(score, self.interval(score, scale), added)

    def is_copy(self, shares: tuple[float, float]) -> bool:
        """Whether a response with these shares (``copied_shares``) copies its source as no example did."""
        most = (self.copied, self.holds)
        return any(least is not None and share > least for share, least in zip(shares, most, strict=True))

    def is_good_anyhow(self, log_odds: float | None) -> bool:
        """Whether the model calls a response good under a foreign source as it did hardly any example."""
        return self.foreign is not None and log_odds is not None and log_odds > self.foreign

    def is_unlike(self, far: int) -> bool:
        """Whether a response with so many figures of its surface that are far from the examples' is unlike these."""
        return self.unlike is not None and far >= self.unlike

    def interval(self, score: float, scale: Scale, coverage: float = SHOWN) -> tuple[float, float] | None:
        """Where people's score lies with this coverage, or None where there were too few documents to say.

        Args:
            score: What :meth:`apply` gave.
            scale: The user's scale, which the interval is clipped to.
            coverage: One of ``COVERAGES``.
        """
        half = self.half_widths.get(percent(coverage))
        if half is None:
            return None
        low, high = score - half, score + half
        if self.step is not None:
            lowest, highest = math.ceil(low / self.step - 1e-9), math.floor(high / self.step + 1e-9)
            if lowest <= highest:  # else no level lies within, and it says so by ending between two
                low, high = min(score, lowest * self.step), max(score, highest * self.step)
        return scale.rounded(low), scale.rounded(high)

    def widened(self, missed: Sequence[tuple[str, float]]) -> Calibration:
        """The same with intervals no narrower than other errors ask for, such as those of a search made anew.

        A coverage that these errors are of too few documents for is left out.

        Args:
            missed: Documents that were left out, with the error of the score of each of their examples.
        """
        size = Counter(document for document, _ in missed)
        found = _half_widths(sorted((abs(error), 1 / size[document]) for document, error in missed))
        wider = {name: max(half, found[name]) for name, half in self.half_widths.items() if name in found}
        return self.model_copy(update={"half_widths": wider})

    @property
    def shares(self) -> dict[str, float]:
        """The part of the weights that each reading has, 0 to 1."""
        total = sum(part.weight for part in self.parts)
        return {part.name: part.weight / total if total else 0.0 for part in self.parts}


@dataclass(frozen=True, slots=True)
class Combined:
    """A combined score.

    Attributes:
        score: On the user's scale.
        interval: Within which people's score lies with the coverage ``SHOWN``, or None.
        added: What each reading adds to the mean score, in points of the user's scale.
    """

    score: float
    interval: tuple[float, float] | None
    added: dict[str, float]


def calibrate(
    readings: Mapping[str, Sequence[float]],
    human: Sequence[float],
    groups: Sequence[str],
    *,
    prior: float = PRIOR,
    expected: Mapping[str, float] = EXPECTED,
) -> Calibration:
    """Fit the combination.

    The interval is that of conformal prediction from the absolute residuals of documents left out (jackknife). It is
    documents that are exchangeable, not the examples of one: each residual counts as its part of its document, and with
    coverage c and g documents the half-width is the smallest residual up to which (g + 1) c documents' worth lie; none
    where that is more than g. So 90 % takes nine documents. Where each example is a document of its own, this is the
    ceil((n + 1) c)-th smallest of n residuals.

    Args:
        readings: For each reading its values, one an example, out of fold: none may come from something that was
            fitted on the example itself.
        human: Human scores.
        groups: The document of each example.
        prior: See ``weighing.PRIOR``.
        expected: See ``weighing.EXPECTED``.

    Raises:
        FitError: Fewer than two examples, or a value that is not finite.
    """
    return calibrate_with({}, readings, human, groups, prior=prior, expected=expected)[0]


def calibrate_with(
    figures: Mapping[str, Floats],
    readings: Mapping[str, Sequence[float]],
    human: Sequence[float],
    groups: Sequence[str],
    *,
    prior: float = PRIOR,
    expected: Mapping[str, float] = EXPECTED,
) -> tuple[Calibration, dict[str, Figures]]:
    """Fit the combination of readings and of figures, of the surface and of the tokens, in one regression.

    So the figures correct what the readings owe to them: that long texts are likely ones, say. Figures that are
    standardised and weighted first, and combined after that as one reading more, agree less with people, and less than
    the figures alone where these are the best there is (``benchmarks/results/beside.md``).

    Args:
        figures: By kind (``"surface"``, ``"tokens"``), figures of each example, shape ``(n, figures)``; not finite
            where an example lacks one.
        readings: As for :func:`calibrate`, and so are the others.
        human: Human scores.
        groups: The document of each example.
        prior: See ``weighing.PRIOR``.
        expected: See ``weighing.EXPECTED``.

    Returns:
        The combination, with a part for each kind of figures, whose reading is the mean score and what they add to it;
        and the figures as they stand in it, by kind.

    Raises:
        FitError: Fewer than two examples, or a reading or score that is not finite.
    """
    names = list(readings)
    x = np.array([readings[name] for name in names], dtype=np.float64).reshape(len(names), len(human)).T
    y = np.array(human, dtype=np.float64)
    if len(y) < 2 or not names or not (np.isfinite(x).all() and np.isfinite(y).all()):
        raise FitError(f"a combination needs two or more examples with finite readings; there are {len(y)}")
    # By value: the last digit of a sum depends on the order of rows.
    order = np.lexsort((*(column for kind in figures for column in figures[kind].T), y, *x.T))
    x, y, figures = x[order], y[order], {kind: values[order] for kind, values in figures.items()}
    number = {name: i for i, name in enumerate(sorted(set(groups)))}
    where = np.array([number[groups[i]] for i in order])
    whole = Regression.of(x, figures, y, names, prior, expected)
    residuals: list[tuple[float, float]] = []
    size = np.bincount(where)
    turns = min(len(number), TURNS)
    for turn in range(turns if turns > 1 else 0):
        out = where % turns == turn
        kept, left = ({kind: values[rows] for kind, values in figures.items()} for rows in (~out, out))
        missed = np.abs(Regression.of(x[~out], kept, y[~out], names, prior, expected).predict(x[out], left) - y[out])
        residuals += zip(missed.tolist(), (1 / size[where[out]]).tolist(), strict=True)
    parts = [
        Part(
            name=name,
            mean=float(mean),
            spread=float(spread),
            weight=float(weight),
            high=float(high) if name in UNBOUNDED else None,
        )
        for name, mean, spread, weight, high in zip(
            names, whole.means, whole.spreads, whole.weights, whole.most, strict=True
        )
    ]
    for kind, of_kind in whole.figures.items():
        told = float(of_kind.add(figures[kind]).std())
        told = told if told > LEAST_SPREAD else 0.0
        parts.append(Part(name=kind, mean=float(y.mean()), spread=told, weight=told))
    found = Calibration(
        parts=tuple(parts),
        intercept=float(y.mean()),
        half_widths=_half_widths(sorted(residuals)),
        step=next((step for step in STEPS if np.allclose(y / step, np.round(y / step), rtol=0, atol=1e-9)), None),
        n=len(y),
    )
    if surface := whole.figures.get("surface"):
        found = found.model_copy(update={"far": surface.far, "unlike": surface.unlike})
    return found, whole.figures


def _half_widths(residuals: Sequence[tuple[float, float]]) -> dict[str, float]:
    """By coverage in percent; from residuals, the smallest first, each with its part of its document."""
    lying = np.cumsum([part for _, part in residuals])  # documents' worth of residuals up to each
    documents = round(lying[-1]) if residuals else 0
    needed = {coverage: (documents + 1) * coverage - 1e-9 for coverage in COVERAGES}
    return {
        percent(coverage): residuals[int(np.searchsorted(lying, least))][0]
        for coverage, least in needed.items()
        if documents and least <= lying[-1]
    }


def percent(coverage: float) -> str:
    """A coverage as it stands in ``half_widths``."""
    return f"{100 * coverage:g}"
