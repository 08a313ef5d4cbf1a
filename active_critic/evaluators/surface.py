"""The surface floor: how well length, overlap with the source and reference, and repetition reproduce people's scores.

A ridge regression on twenty figures that need no understanding. An evaluator that does not beat it has not shown that
it judges anything else; so it is made as strong as such figures allow from few examples, and ``benchmarks/surface.py``
says how strong that is.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal, Self

import numpy as np
from pydantic import model_validator

from active_critic.data.examples import Examples
from active_critic.errors import DataError, FitError, ProtocolError
from active_critic.evaluators import ridge
from active_critic.evaluators._surface_features import FEATURES, Floats, beyond_most, copied_shares, figures_of
from active_critic.evaluators.base import Evaluator, JournalPath, Progress, scale_of
from active_critic.evaluators.judging import OVERALL, Judge
from active_critic.lm import LanguageModel
from active_critic.protocols import Protocol
from active_critic.records import Example, Scale, Spread, Usage, Verdict, check_spread
from active_critic.standardising import WITHIN, Standard
from active_critic.weighing import Figures

__all__ = [
    "ALPHA_PER_FIGURE",
    "FEATURES",
    "WITHIN",
    "Surface",
    "SurfaceFloor",
    "SurfaceProtocol",
    "beyond_most",
    "copied_shares",
    "figures_of",
    "out_of_fold",
]

ALPHA_PER_FIGURE = 4.0
"""The default ridge strength for each figure that varies.

(1 - R²) / R² for R² = 1/5: the ridge that is right when figures of equal weight together explain a fifth of people's
scores. A strength chosen by leaving documents out is worse on unseen documents than this guess, by more the fewer
examples there are (``benchmarks/results/surface.md``)."""

WEIGHTIEST = 3
"""Figures that an explanation names."""

_COLUMNS = ("coefficients", "means", "spreads", "lows", "highs")


class SurfaceFloor:
    """Ridge regression of human scores on the figures of ``figures_of``.

    Each figure is first drawn in to within two standard deviations of its mean over the training examples, then
    standardised. A figure that does not vary there says nothing anywhere; one that an example lacks (no source, no
    reference) counts as its mean.

    Args:
        alpha: Ridge strength, in units of one standardised figure; None for ``ALPHA_PER_FIGURE`` times the number of
            figures that vary.

    Attributes:
        alpha_: The strength used.
        coefficients_: Change of the score, on the user's scale, for one standard deviation of each figure.
        intercept_: The mean score.
        means_, spreads_: Mean and standard deviation of each figure, after drawing in; 0 spread for one that says
            nothing.
        lows_, highs_: What each figure is drawn in to.
        clip_: The lowest and the highest score that is predicted.
        scale_: The scale predictions are clipped to, or None when it is the range of the training scores.
    """

    def __init__(self, alpha: float | None = None) -> None:
        self.alpha = alpha

    def fit(
        self, examples: Sequence[Example], scale: Scale | None = None, *, figures: Floats | None = None
    ) -> SurfaceFloor:
        """Fit on scored examples; a second fit forgets the first.

        Args:
            examples: At least two, all with a score.
            scale: Where predictions are clipped; the scale of ``examples``, else the range of their scores, otherwise.
            figures: ``figures_of(examples)``, when they are already there.

        Raises:
            FitError: Fewer than two examples, or one without a score.
        """
        scores = [example.score for example in examples if example.score is not None]
        if len(scores) < max(2, len(examples)):
            found = f"{len(scores)} of {len(examples)} have one"
            raise FitError(f"the surface floor needs two or more examples, all with a score; {found}")
        own = examples.scale if isinstance(examples, Examples) else None
        self.scale_ = scale or own
        self.clip_ = (self.scale_.low, self.scale_.high) if self.scale_ else (min(scores), max(scores))
        found_figures = figures_of(examples) if figures is None else figures
        standard = Standard.of(found_figures)
        x, y = standard.apply(found_figures), np.array(scores, dtype=np.float64)
        alpha = standard.alpha(ALPHA_PER_FIGURE) if self.alpha is None else self.alpha
        self._found(standard, ridge.weights_of(x, y, alpha), float(y.mean()), alpha)
        return self

    def predict(self, examples: Sequence[Example], *, figures: Floats | None = None) -> list[float]:
        """A score on the user's scale for each example; ``figures`` as for ``fit``."""
        found = figures_of(examples) if figures is None else figures
        low, high = self.clip_
        z = self._standard.apply(found)
        # Summed exactly, row by row: the same whatever other examples there are, and what the contributions add up to.
        return [min(high, max(low, math.fsum((self.intercept_, *row)))) for row in (z * self.coefficients_).tolist()]

    def contributions(self, example: Example, *, figures: Floats | None = None) -> dict[str, float]:
        """What each figure adds to the mean score, in points of the user's scale.

        Together with ``intercept_`` they sum to the prediction before it is clipped to the scale. ``figures`` are
        ``figures_of([example])``, when they are already there.
        """
        found = figures_of([example]) if figures is None else figures
        row = (self._standard.apply(found) * self.coefficients_)[0]
        return dict(zip(FEATURES, row.tolist(), strict=True))

    def far(self, beyond: float, figures: Floats) -> list[int]:
        """How many figures of each example lie more than so many standard deviations from their mean.

        Those that do not vary over the training examples, or that the example lacks, do not count.
        """
        found: list[int] = self._standard.far(figures, beyond).sum(axis=1).tolist()
        return found

    @classmethod
    def beside(cls, found: Figures, intercept: float, scale: Scale) -> SurfaceFloor:
        """Figures that were fitted together with other readings: it predicts the mean score and what they add to it.

        That is a part of a score, so it is not clipped to the scale: other parts may take away what it adds too much.

        Args:
            found: The figures as they stand in the combination.
            intercept: The mean score.
            scale: The user's scale.
        """
        floor, standard = cls(), found.standard
        floor._found(standard, found.coefficients, intercept, found.alpha)
        ends = np.abs(standard.apply(np.array([standard.lows, standard.highs]))).max(axis=0)
        reach = float(np.abs(found.coefficients) @ ends)
        floor.scale_, floor.clip_ = scale, (intercept - reach, intercept + reach)
        return floor

    def _found(self, standard: Standard, coefficients: Floats, intercept: float, alpha: float) -> None:
        self.means_, self.spreads_ = standard.means, standard.spreads
        self.lows_, self.highs_ = standard.lows, standard.highs
        self.alpha_, self.intercept_, self.coefficients_ = alpha, intercept, coefficients

    @property
    def _standard(self) -> Standard:
        return Standard(self.means_, self.spreads_, self.lows_, self.highs_)

    def to_dict(self) -> dict[str, Any]:
        """Everything that was fitted, as plain JSON values; ``from_dict`` makes the same floor of it."""
        return {
            "alpha": self.alpha,
            "alpha_used": self.alpha_,
            "intercept": self.intercept_,
            "clip": list(self.clip_),
            "scale": [self.scale_.low, self.scale_.high] if self.scale_ else None,
            "features": list(FEATURES),
            **{name: getattr(self, f"{name}_").tolist() for name in _COLUMNS},
        }

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> SurfaceFloor:
        """The floor that ``to_dict`` described: the same predictions, to the last digit.

        Raises:
            ProtocolError: Something is missing, is not a number, or was fitted on other figures than these.
        """
        try:
            names = list(document["features"])
            if names != list(FEATURES):
                other = ", ".join(sorted(set(map(str, names)) ^ set(FEATURES)))[:200] or "their order"
                raise ProtocolError(f"this surface floor was fitted on other figures ({other}); fit it again")
            alpha, scale = document["alpha"], document["scale"]
            floor = cls(None if alpha is None else _number(alpha))
            floor.alpha_, floor.intercept_ = _number(document["alpha_used"]), _number(document["intercept"])
            low, high = map(_number, document["clip"])
            floor.clip_ = (low, high)
            floor.scale_ = Scale(low=scale[0], high=scale[1]) if scale is not None else None
            for name in _COLUMNS:
                values = np.array([_number(value) for value in document[name]])
                if values.shape != (len(FEATURES),):
                    raise ValueError(f"{name} has {len(values)} numbers, not {len(FEATURES)}")
                setattr(floor, f"{name}_", values)
            for spread in document["spreads"]:
                check_spread(spread)
        except (DataError, KeyError, TypeError, ValueError, IndexError, OverflowError) as error:
            what = f"{error.args[0]} is missing" if isinstance(error, KeyError) else str(error)
            raise ProtocolError(f"the saved surface floor is damaged: {what[:200]}; fit it again") from error
        return floor


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError(f"{value!r:.40} is not a number")
    return float(value)


def out_of_fold(
    examples: Sequence[Example],
    folds: Sequence[Sequence[int]],
    scale: Scale | None = None,
    alpha: float | None = None,
    *,
    figures: Floats | None = None,
) -> list[float]:
    """Predictions for every example by a floor fitted on the other folds only; see :func:`ridge.held_out`.

    Args:
        examples: Scored examples.
        folds: As for :func:`ridge.held_out`.
        scale: As for ``SurfaceFloor.fit``.
        alpha: As for ``SurfaceFloor``.
        figures: ``figures_of(examples)``, when they are already there.

    Raises:
        FitError: The folds are no such partition, or leave fewer than two examples to fit on.
    """
    own = examples.scale if isinstance(examples, Examples) else None
    known = figures_of(examples) if figures is None else figures

    def predict(rest: list[int], part: list[int]) -> list[float]:
        floor = SurfaceFloor(alpha).fit([examples[index] for index in rest], scale or own, figures=known[rest])
        return floor.predict([examples[index] for index in part], figures=known[part])

    scores = np.array([example.score for example in examples], dtype=np.float64)
    predicted: list[float] = ridge.held_out(predict, scores, folds).tolist()
    return predicted


class SurfaceProtocol(Protocol):
    """The program of the surface floor: every number of its regression.

    Attributes:
        alpha: The ridge strength that was asked for, or None.
        alpha_used: The one used, in units of one standardised figure.
        intercept: The mean score.
        clip: The lowest and the highest score that is predicted.
        features: Names of the figures.
        coefficients: Change of the score for one standard deviation of each figure.
        means, spreads, lows, highs: How each figure is drawn in and standardised (see ``SurfaceFloor``).
    """

    evaluator: Literal["surface"] = "surface"
    alpha: float | None
    alpha_used: float
    intercept: float
    clip: tuple[float, float]
    features: tuple[str, ...]
    coefficients: tuple[float, ...]
    means: tuple[float, ...]
    spreads: tuple[Spread, ...]
    lows: tuple[float, ...]
    highs: tuple[float, ...]

    @model_validator(mode="after")
    def _a_number_a_figure(self) -> Self:
        for name in _COLUMNS:
            if (count := len(getattr(self, name))) != len(self.features):
                raise ValueError(f"{name} has {count} numbers for {len(self.features)} figures")
        return self

    @property
    def traits(self) -> tuple[str, ...]:
        """The number of figures and the strength."""
        return (f"figures:{len(self.features)}", f"alpha:{self.alpha_used:g}")

    def account(self) -> Sequence[tuple[str, Sequence[str]]]:
        """What each figure does."""
        pairs = sorted(zip(self.coefficients, self.features, strict=True), key=lambda pair: -abs(pair[0]))
        lines = [f"{weight:+z.3f} points for one standard deviation of {name}" for weight, name in pairs if weight]
        return [(f"The surface floor: {self.intercept:.3g} on average, and", lines)]

    def floor(self) -> SurfaceFloor:
        """The regression.

        Raises:
            ProtocolError: It was fitted on other figures than this version computes.
        """
        values = self.model_dump(include=set(SurfaceProtocol.model_fields) - set(Protocol.model_fields))
        return SurfaceFloor.from_dict({**values, "scale": (self.scale.low, self.scale.high)})


class SurfaceJudge(Judge):
    """Scores by the regression; no model is asked."""

    def __init__(self, protocol: SurfaceProtocol) -> None:
        self._floor = protocol.floor()
        self._scale = protocol.scale

    def answer(self, question: str, example: Example, *, explain: bool) -> Verdict:
        """The verdict."""
        del question
        figures = figures_of([example])
        (score,) = self._floor.predict([example], figures=figures)
        explanation = None
        if explain:
            added = self._floor.contributions(example, figures=figures)
            told = sorted(added.items(), key=lambda pair: -abs(pair[1]))[:WEIGHTIEST]
            weighty = ", ".join(f"{name} {points:+.2f}" for name, points in told if round(points, 2))
            explanation = f"Computed from the surface alone, in points: {weighty or '0'}."
        return Verdict(score=self._scale.rounded(score), explanation=explanation, read_from="surface")

    def verdict(self, example: Example, answers: Mapping[str, Any]) -> Verdict:
        """The same."""
        del example
        verdict: Verdict = answers[OVERALL]
        return verdict


class Surface(Evaluator):
    """The surface floor as an evaluator: fitted, saved and compared like any other, without a language model.

    Args:
        lm: Not used; there so that evaluators can be made alike.
        alpha: See :class:`SurfaceFloor`.
        journal: Not used.
    """

    kind = "surface"
    document = SurfaceProtocol

    def __init__(self, lm: Any = None, *, alpha: float | None = None, journal: JournalPath = None) -> None:
        super().__init__(lm, journal=journal)
        self.alpha = alpha

    @property
    def model(self) -> LanguageModel:
        """There is none.

        Raises:
            FitError: Always.
        """
        raise FitError("the surface floor has no language model")

    @property
    def usage(self) -> Usage:
        """Nothing."""
        return Usage()

    def check(self) -> None:
        """Whether the strength is one. See :meth:`Evaluator.check`."""
        usable = isinstance(self.alpha, int | float) and math.isfinite(self.alpha) and self.alpha > 0
        if self.alpha is not None and not usable:
            raise FitError(f"alpha must be a number above 0, not {self.alpha!r}; leave it out for the default")

    def learn(self, data: Examples, notes: list[str], progress: Progress | None) -> SurfaceProtocol:
        """Fit the regression. See :meth:`Evaluator.learn`."""
        del progress
        values = SurfaceFloor(self.alpha).fit(data, scale_of(data)).to_dict()
        values.pop("scale")
        provenance = self.provenance(data, notes, model=False)
        return SurfaceProtocol(scale=scale_of(data), provenance=provenance, **values)

    def judge(self) -> Judge:
        """What scores by the program; see :class:`Evaluator`."""
        return SurfaceJudge(self.fitted)
