"""What a score may be read from beside the model's rating, and how one example is read."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from active_critic.approval import Approval, approval
from active_critic.asking import PER_ITEM
from active_critic.calibration import Calibration, Combined
from active_critic.errors import BudgetSpent, ModelError, RequestRefused
from active_critic.evaluators._contrast import Contrasted
from active_critic.evaluators._fitting import in_parallel
from active_critic.evaluators._weighed import WEIGHED, weighed_part, weighing_turns
from active_critic.evaluators.base import Progress
from active_critic.evaluators.surface import SurfaceFloor, copied_shares, figures_of
from active_critic.lm import LanguageModel
from active_critic.lm.likelihood import Likelihood, refusal
from active_critic.lm.marks import FOREIGN
from active_critic.records import Criterion, Example, Scale, Verdict
from active_critic.standardising import Floats
from active_critic.token_figures import TokenWeights
from active_critic.weighing import CRITERION

FURTHER = ("approval", "likelihood", "contrast")
"""What the model is asked for beside its rating."""
READINGS = ("rating", *FURTHER, "surface")
"""What a score can be read from, beside the ratings of single criteria (``CRITERION``)."""
ANYHOW = "approval under a foreign source"
"""What the model is asked, too, and no part of a score: what it calls good anyhow is not paid for (``_anyhow``)."""
TOKENS = "tokens"
"""The part of a score that comes with the likelihood: how that is spread over the tokens."""
WEIGHING = frozenset({"likelihood", "contrast"})
"""The readings that take the likelihood of a text."""
LIKELY = frozenset({"likelihood", TOKENS})
"""The parts of a score that are read from how likely the model finds a text."""
OF_FIGURES = frozenset({TOKENS, "surface"})
"""The parts of a score that are learnt from figures of the examples: a response unlike these is not paid for them."""
OF_NO_COPY = LIKELY | OF_FIGURES
"""The parts of a score that a copy of the source is not paid for: no example showed what they are worth there."""
Read = Approval | Likelihood | Contrasted
"""What the model said beside its rating."""
Use = Literal["auto", "never", "always"]
"""Whether a reading counts: ``"auto"``: where it can be had and has a share in the weights that is worth its price."""


def readings_for(lm: LanguageModel, uses: Mapping[str, Use]) -> tuple[tuple[str, ...], list[str]]:
    """The readings that a fit is to try, the rating first, and what the user should know of them.

    Those of single criteria come with the rating, and stand in :meth:`Combiner.rated_by`.

    Args:
        lm: The language model.
        uses: Whether to use each of the others.

    Raises:
        RequestRefused: One is always to be used, and the model does not give it.
    """
    names = ["rating"]
    missing: dict[str, list[str]] = {}
    for name in READINGS[1:]:
        if uses[name] == "never":
            continue
        why_not = None
        if name in WEIGHING:
            why_not = _no_likelihood(lm)
        if name == "approval" and not lm.capabilities.probabilities:
            why_not = f"{lm.name}: the endpoint gives no token probabilities, from which the approval is read"
        if why_not is None:
            names.append(name)
        elif uses[name] == "always":
            raise RequestRefused(why_not)
        else:
            missing.setdefault(why_not, []).append(name)
    said = [f"the score is read without the {' and the '.join(without)}: {why}" for why, without in missing.items()]
    return tuple(names), said


def _no_likelihood(lm: LanguageModel) -> str | None:
    """Why the likelihood cannot be had, or None where it can."""
    _ = lm.capabilities  # chat works, else this says why not
    try:
        return None if lm.gives_likelihood else refusal(lm.name)
    except BudgetSpent:
        raise
    except ModelError as problem:  # a gateway may let only chat through, and answer anything else with 401 or 429
        return f"{lm.name} failed when it was asked for the likelihood of a text: {problem}"


def further_reading(
    name: str, lm: LanguageModel, criteria: Sequence[Criterion], example: Example, *, weighed: int | None = WEIGHED
) -> Read:
    """Ask the model for a reading beside its rating.

    Args:
        name: ``"approval"``, ``ANYHOW`` or ``"likelihood"``.
        lm: The language model.
        criteria: The program's; the likelihood is weighed without them.
        example: What to read.
        weighed: See ``Calibration.weighed``.

    Raises:
        ModelError: There is none; see ``asking.PER_ITEM``.
    """
    if name == "approval":
        return approval(lm, criteria, example.source, example.response)
    if name == ANYHOW:
        return approval(lm, criteria, FOREIGN, example.response)
    return lm.likelihood(weighing_turns(example), weighed_part(example.response, weighed))


def take(
    name: str, lm: LanguageModel, criteria: Sequence[Criterion], examples: Sequence[Example], progress: Progress | None
) -> list[Read | None]:
    """Ask the model for a reading of every example; None where it cannot be had.

    Raises:
        BudgetSpent: Not all of them could be paid for.
    """
    order = sorted(range(len(examples)), key=lambda i: (examples[i].source, i))

    def one(index: int) -> Read | None:
        if not examples[index].response.strip():
            return None  # as it has no rating either
        try:
            return further_reading(name, lm, criteria, examples[index])
        except PER_ITEM:
            return None

    doing = f"reading the {name}"
    values = dict(zip(order, in_parallel(lm, one, order, doing=doing, progress=progress), strict=True))
    return [values[i] for i in range(len(examples))]


def value_of(read: Read) -> float:
    """A further reading as the number that is combined, beside the figures of its tokens."""
    if isinstance(read, Approval):
        return read.log_odds
    return read.value if isinstance(read, Contrasted) else read.weakest


def ratings_in(verdict: Verdict) -> dict[str, float]:
    """The ratings of a verdict as readings by name, on the user's scale: of the whole, and of every criterion."""
    rated = {"rating": verdict.score, **{CRITERION + one.name: one.score for one in verdict.criteria}}
    return {name: score for name, score in rated.items() if score is not None}


def is_copy(calibration: Calibration, example: Example) -> bool:
    """Whether a response copies its source as no example did that the combination was fitted on."""
    looked_at = (calibration.copied, calibration.holds) != (None, None)  # else the texts need not be compared
    return looked_at and calibration.is_copy(copied_shares(example))


@dataclass(frozen=True, slots=True)
class Combination:
    """How a score is combined, as it stands in a program.

    Attributes:
        calibration: How readings are weighed.
        floor: What figures of the surface add, where they are a part.
        tokens: What figures of the tokens add, where they are a part.
    """

    calibration: Calibration
    floor: SurfaceFloor | None = None
    tokens: TokenWeights | None = None

    def figures(self, example: Example) -> Floats | None:
        """The figures of the surface of an example, shape ``(1, figures)``; None where they are no part."""
        return None if self.floor is None else figures_of([example])

    def is_unlike(self, of_surface: Floats | None) -> bool:
        """Whether a response with these figures is unlike the examples; see ``Calibration.unlike``."""
        beyond = self.calibration.far
        if self.floor is None or of_surface is None or beyond is None:
            return False
        return self.calibration.is_unlike(self.floor.far(beyond, of_surface)[0])

    def apply(
        self,
        asked: Mapping[str, float],
        example: Example,
        scale: Scale,
        *,
        of_tokens: Sequence[float] | None,
        bounded: Collection[str] = (),
        of_surface: Floats | None = None,
    ) -> Combined:
        """The score of one example.

        Args:
            asked: What was read by asking the model, by reading.
            example: The example.
            scale: The user's scale.
            of_tokens: The figures of its tokens (``token_figures``), or None where it has no likelihood.
            bounded: The parts that count as no more than the average, as those that a copy is not paid for. Where a
                response is unlike the examples, ``OF_FIGURES`` are, too.
            of_surface: ``figures_of([example])``, when they are already there.
        """
        values = dict(asked)
        if self.floor is not None:
            of_surface = self.figures(example) if of_surface is None else of_surface
            values["surface"] = self.floor.predict([example], figures=of_surface)[0]
        if self.tokens is not None and of_tokens is not None:
            values[TOKENS] = self.calibration.intercept + self.tokens.adds(of_tokens)
        if self.is_unlike(of_surface):
            bounded = {*bounded, *OF_FIGURES}
        averages = {part.name: part.mean for part in self.calibration.parts if part.name in bounded}
        values |= {name: min(average, values[name]) for name, average in averages.items()}
        return self.calibration.apply(values, scale)
