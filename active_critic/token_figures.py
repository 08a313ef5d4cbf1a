"""How the likelihood of a text is spread over its tokens: figures of it, and what they add to a score. Pure.

A text may be as likely as another and read quite differently: likely throughout, or with a few words that no one would
have written there. The log-probabilities of its tokens, which the likelihood is read from, show that for nothing more
(``benchmarks/results/tokens.md``).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Self

import numpy as np
from pydantic import field_validator, model_validator

from active_critic.records import LEAST_SPREAD, Record, Spread
from active_critic.standardising import Floats, Standard

TOKEN_FIGURES = (
    "mean",
    "spread",
    "skewness",
    "correlation_of_neighbours",
    "lowest_tenth",
    "median",
    "share_of_certain",
    "beginning",
    "end",
    "last_three",
)
"""Names of the figures, in the order of :func:`token_figures`."""
CERTAIN = -0.1
"""A token with a higher log-probability is what the model would have written for certain (with 9 in 10)."""
LAST = 3
"""How many tokens the very end of a text is."""


def token_figures(logprobs: Sequence[float]) -> list[float]:
    """The figures of one text, those of ``TOKEN_FIGURES``.

    - ``mean``, ``spread`` and ``skewness`` of the log-probabilities, and their ``median``; ``lowest_tenth``: the value
      that a tenth of them lie below; ``share_of_certain``: the part above ``CERTAIN``.
    - ``correlation_of_neighbours``: of each with the next (autocorrelation): unlikely tokens that stand together.
    - ``beginning``, ``end``: the mean of the first and of the last quarter; ``last_three``: of the last ``LAST``.

    Args:
        logprobs: Natural logarithms of the probability of each token, one or more, at most 0.
    """
    values = np.array(logprobs, dtype=np.float64)
    quarter = max(1, len(values) // 4)
    apart = values - values.mean()
    variance = float((apart**2).mean())
    varies = variance > LEAST_SPREAD
    return [
        float(values.mean()),
        math.sqrt(variance),
        float((apart**3).mean()) / variance**1.5 if varies else 0.0,
        float(apart[1:] @ apart[:-1]) / (variance * len(values)) if varies else 0.0,
        float(np.quantile(values, 0.1)),
        float(np.median(values)),
        float((values > CERTAIN).mean()),
        float(values[:quarter].mean()),
        float(values[-quarter:].mean()),
        float(values[-LAST:].mean()),
    ]


class TokenWeights(Record):
    """What the figures of a text's tokens add to its score.

    Attributes:
        figures: Their names, those of ``TOKEN_FIGURES``.
        coefficients: Change of the score, in points of the user's scale, for one standard deviation of each.
        means, spreads, lows, highs: How each is drawn in and standardised (see ``standardising.Standard``).
    """

    figures: tuple[str, ...] = TOKEN_FIGURES
    coefficients: tuple[float, ...]
    means: tuple[float, ...]
    spreads: tuple[Spread, ...]
    lows: tuple[float, ...]
    highs: tuple[float, ...]

    @field_validator("figures")
    @classmethod
    def _known(cls, figures: tuple[str, ...]) -> tuple[str, ...]:
        if figures != TOKEN_FIGURES:
            other = ", ".join(sorted({*figures} ^ {*TOKEN_FIGURES}))[:200] or "their order"
            raise ValueError(f"it was fitted on other figures of tokens than this version reads ({other})")
        return figures

    @model_validator(mode="after")
    def _one_each(self) -> Self:
        for name in ("coefficients", "means", "spreads", "lows", "highs"):
            if (count := len(getattr(self, name))) != len(self.figures):
                raise ValueError(f"{name} has {count} numbers for {len(self.figures)} figures of tokens")
        return self

    @classmethod
    def of(cls, standard: Standard, coefficients: Floats) -> TokenWeights:
        """From what a regression found."""
        columns = {
            "coefficients": coefficients,
            "means": standard.means,
            "spreads": standard.spreads,
            "lows": standard.lows,
            "highs": standard.highs,
        }
        return cls(**{name: tuple(column.tolist()) for name, column in columns.items()})

    def adds(self, figures: Sequence[float]) -> float:
        """What the figures of one text add to the mean score, in points of the user's scale."""
        columns = (self.means, self.spreads, self.lows, self.highs)
        standard = Standard(*(np.array(column) for column in columns))
        return math.fsum((standard.apply(np.array(figures)) * np.array(self.coefficients)).tolist())
