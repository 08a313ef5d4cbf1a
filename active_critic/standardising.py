"""Figures of texts brought to one measure, as a ridge regression on them needs. Pure numpy."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from active_critic.records import LEAST_SPREAD

WITHIN = 2.0
"""Figures count as at most this many standard deviations from their mean, so that one odd text moves nothing much."""

Floats = NDArray[np.float64]
Booleans = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Standard:
    """How figures are drawn in to near their mean, and standardised.

    Attributes:
        means, spreads: Mean and standard deviation of each figure, after drawing in; 0 spread for one that says
            nothing.
        lows, highs: What each figure is drawn in to.
    """

    means: Floats
    spreads: Floats
    lows: Floats
    highs: Floats

    @classmethod
    def of(cls, figures: Floats) -> Standard:
        """That of these figures, shape ``(n, figures)``; not finite where an example lacks one."""
        mean, spread = _mean_and_spread(figures)
        lows, highs = mean - WITHIN * spread, mean + WITHIN * spread
        return cls(*_mean_and_spread(np.clip(figures, lows, highs)), lows, highs)

    def alpha(self, per_figure: float) -> float:
        """The strength of a ridge on them, from that for each figure that varies."""
        return per_figure * max(1, int(np.count_nonzero(self.spreads)))

    def apply(self, figures: Floats) -> Floats:
        """Figures by this measure, around 0; shape as given."""
        varies = self.spreads > 0
        z = (np.clip(figures, self.lows, self.highs) - self.means) / np.where(varies, self.spreads, 1.0)
        # A figure that does not vary in training says nothing elsewhere either; a missing one is at its mean.
        return np.asarray(np.where(varies & np.isfinite(z), z, 0.0))

    def far(self, figures: Floats, beyond: float) -> Booleans:
        """Which figures of each example lie more than so many standard deviations from their mean; shape as given.

        Both are those from before drawing in. A figure that does not vary in training is never far, nor one that the
        example lacks.
        """
        middle, reach = (self.lows + self.highs) / 2, (self.highs - self.lows) / 2 * (beyond / WITHIN)
        return np.asarray((self.spreads > 0) & (np.abs(figures - middle) > reach))


def _mean_and_spread(figures: Floats) -> tuple[Floats, Floats]:
    """Mean and standard deviation of each figure over the examples that have it; both 0 where none has."""
    there = np.isfinite(figures)
    count, known = np.maximum(1, there.sum(axis=0)), np.where(there, figures, 0.0)
    mean = known.sum(axis=0) / count
    spread = np.sqrt((np.where(there, known - mean, 0.0) ** 2).sum(axis=0) / count)
    return mean, np.where(spread > LEAST_SPREAD, spread, 0.0)
