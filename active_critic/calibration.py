"""From several readings of a text to one score on the user's scale, with an interval. Pure.

What a model's rating, the likelihood of the text and its surface show are different things, and no one of them is the
best on every kind of text (``benchmarks/results/compare_*``): their plain mean is a safe choice, and weights learnt
freely from a few dozen labels are not. So the weights are a ridge regression that is drawn towards *equal* weights,
as if these had been seen to be right on ``PRIOR`` examples: few labels leave them nearly equal, many let them go
where they belong.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from active_critic.errors import FitError
from active_critic.records import Record, Scale

PRIOR = 50.0
"""How many examples the prior belief in equal weights counts for."""
LEAST_SLOPE = 0.1
"""The combined reading rises at least by this part of the ratio of the spreads, so that it is never turned round."""
COVERAGES = (0.5, 0.8, 0.9, 0.95)
"""Coverages for which the half-widths of intervals are kept."""
SHOWN = 0.9
"""The coverage of the interval that stands in a verdict."""

Floats = NDArray[np.float64]


class Part(Record):
    """One reading's part in the score.

    Attributes:
        name: ``"rating"``, ``"likelihood"`` or ``"surface"``.
        mean, spread: Of the reading over the training examples, out of fold.
        weight: Change of the score, on the user's scale, for one standard deviation of the reading; never below 0.
    """

    name: str
    mean: float
    spread: float = Field(ge=0)
    weight: float = Field(ge=0)


class Calibration(Record):
    """A linear combination of readings, and how far off it was on documents that were left out.

    Attributes:
        parts: The readings.
        intercept: The score where every reading is at its mean.
        half_widths: Half the width of an interval, by its coverage in percent, in points of the user's scale. None
            of them where there are too few examples for that coverage.
        n: Training examples that it rests on.
    """

    parts: tuple[Part, ...] = Field(min_length=1)
    intercept: float
    half_widths: dict[str, float] = Field(default_factory=dict)
    n: int

    def apply(self, readings: Mapping[str, float], scale: Scale) -> Combined:
        """The score of one text from its readings.

        Args:
            readings: A value for every part.
            scale: The user's scale, which score and interval are clipped to.
        """
        added = {p.name: p.weight * (readings[p.name] - p.mean) / p.spread if p.spread else 0.0 for p in self.parts}
        score = min(scale.high, max(scale.low, math.fsum([self.intercept, *added.values()])))
        half = self.half_widths.get(_percent(SHOWN))
        interval = None
        if half is not None:
            interval = (round(max(scale.low, score - half), 4), round(min(scale.high, score + half), 4))
        return Combined(score, interval, added)

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
    readings: Mapping[str, Sequence[float]], human: Sequence[float], groups: Sequence[str], *, prior: float = PRIOR
) -> Calibration:
    """Fit the combination.

    The interval is that of conformal prediction from the residuals of documents left out (jackknife): with coverage c
    the ceil((n + 1) c)-th smallest of n absolute residuals, none where that is beyond n.

    Args:
        readings: For each reading its values, one an example, out of fold: none may come from something that was
            fitted on the example itself.
        human: Human scores.
        groups: The document of each example.
        prior: See ``PRIOR``.

    Raises:
        FitError: Fewer than two examples, or a value that is not finite.
    """
    names = list(readings)
    x = np.array([readings[name] for name in names], dtype=np.float64).reshape(len(names), len(human)).T
    y = np.array(human, dtype=np.float64)
    if len(y) < 2 or not names or not (np.isfinite(x).all() and np.isfinite(y).all()):
        raise FitError(f"a combination needs two or more examples with finite readings; there are {len(y)}")
    # By value: the last digit of a sum depends on the order of rows.
    order = np.lexsort((y, *x.T))
    x, y, where = x[order], y[order], [groups[i] for i in order]
    means, spreads, weights = _fit(x, y, prior)
    residuals = []
    for group in sorted(set(where)):
        out = np.array([name == group for name in where])
        if out.all():
            continue
        m, s, w = _fit(x[~out], y[~out], prior)
        residuals += np.abs(y[~out].mean() + _standard(x[out], m, s) @ w - y[out]).tolist()
    return Calibration(
        parts=tuple(
            Part(name=name, mean=float(m), spread=float(s), weight=float(w))
            for name, m, s, w in zip(names, means, spreads, weights, strict=True)
        ),
        intercept=float(y.mean()),
        half_widths=_half_widths(sorted(residuals)),
        n=len(y),
    )


def _fit(x: Floats, y: Floats, prior: float) -> tuple[Floats, Floats, Floats]:
    """Means and spreads of the readings, and their weights: ridge around equal ones, none below 0."""
    means, spreads = x.mean(axis=0), x.std(axis=0)
    spreads = np.where(spreads > 1e-9, spreads, 0.0)
    z, centred = _standard(x, means, spreads), y - y.mean()
    varies = (spreads > 0).astype(np.float64)
    together = z @ varies
    spread = float(together.std())
    if spread <= 1e-9:
        return means, spreads, np.zeros(len(means))
    least = LEAST_SLOPE * float(y.std()) / spread
    equal = max(float(together @ centred) / float(together @ together), least) * varies
    penalty = prior * max(1.0, float(varies.sum())) * np.eye(len(means))
    weights = np.maximum((equal + np.linalg.solve(z.T @ z + penalty, z.T @ (centred - z @ equal))) * varies, 0.0)
    # Where no reading goes with people's scores, a score that is the same for every text would say nothing at all.
    short = max(0.0, least - float(weights.sum()) / float(varies.sum()))
    return means, spreads, weights + short * varies


def _standard(x: Floats, means: Floats, spreads: Floats) -> Floats:
    return np.asarray(np.where(spreads > 0, (x - means) / np.where(spreads > 0, spreads, 1.0), 0.0))


def _half_widths(residuals: Sequence[float]) -> dict[str, float]:
    n = len(residuals)
    ranks = {coverage: math.ceil((n + 1) * coverage) for coverage in COVERAGES}
    return {_percent(coverage): residuals[rank - 1] for coverage, rank in ranks.items() if rank <= n}


def _percent(coverage: float) -> str:
    return f"{100 * coverage:g}"
