"""G-Eval: evaluation steps written by the model once, a form filled in per criterion, a probability-weighted score.

Liu et al., "G-Eval: NLG Evaluation using GPT-4 with Better Human Alignment", EMNLP 2023 (section 2, Eq. 1).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Self

from pydantic import Field, model_validator

from active_critic.asking import (
    CUT,
    MATERIAL,
    Filled,
    ask,
    compact,
    levels_words,
    rating_sheet,
    reading_notes,
    shown_texts,
    spent_on,
    text_or_none,
    way_of,
)
from active_critic.data.examples import Examples
from active_critic.errors import ModelError, UnreadableReply
from active_critic.evaluators._g_eval_steps import Steps, all_steps
from active_critic.evaluators.base import Evaluator, JournalPath, Progress, default_reading, scale_of
from active_critic.evaluators.judging import Judge
from active_critic.evaluators.parameters import check_flag, check_task, check_whole, given_criteria
from active_critic.inference import MAX_BATCHES, infer
from active_critic.lm import LanguageModel
from active_critic.lm.client import Turn
from active_critic.protocols import Protocol, Reading, check_names
from active_critic.quoting import quote
from active_critic.reading import Rating
from active_critic.records import Criterion, CriterionVerdict, Example, ScoredBy, Usage, Verdict

SAMPLES = 20
"""Replies drawn for a rating where the model gives no token probabilities, as in the paper (section 3.1)."""
MOST_SAMPLES = 100
"""Of such replies: each is paid for, for every criterion of every item, and the program may be a stranger's."""
REASON_CHARS = 160
"""Longest reason, in characters, where the endpoint enforces a schema."""


class GEvalProtocol(Protocol):
    """The program of G-Eval.

    Attributes:
        task_description: The task introduction: what is evaluated, and how a response relates to its source.
        criteria: The aspects, each rated on its own.
        steps: Evaluation steps by name of the criterion, as the model wrote them; a criterion that has none (all of
            them with ``cot=False``) is not in it.
        reading: How ratings are asked for and read; levels 1-5.
        samples: Replies drawn for a rating where there are no token probabilities, 2 to 100.
        weighted: Whether a rating is an expectation (of probabilities or of samples) or the plain number.
    """

    evaluator: Literal["g-eval"] = "g-eval"
    task_description: str
    criteria: tuple[Criterion, ...] = Field(min_length=1)
    steps: dict[str, Steps]
    reading: Reading
    samples: int = Field(default=SAMPLES, ge=2, le=MOST_SAMPLES)
    weighted: bool = True

    @model_validator(mode="after")
    def _names(self) -> Self:
        check_names(self.criteria)
        for name in sorted(self.steps.keys() - {criterion.name for criterion in self.criteria}):
            raise ValueError(f"there are steps for {name[:40]!r}, which is no criterion")
        return self

    @property
    def rated(self) -> tuple[str, ...]:
        """All criteria."""
        return tuple(criterion.name for criterion in self.criteria)

    @property
    def traits(self) -> tuple[str, ...]:
        """Number of criteria, steps or not, and how a rating comes about."""
        rated = f"samples:{self.samples}" if self.reading.source == "text" else "weighted"
        return (
            f"criteria:{len(self.criteria)}",
            "cot" if self.steps else "no-cot",
            rated if self.weighted else "plain",
            self.reading.words,
        )

    def account(self) -> Sequence[tuple[str, Sequence[str]]]:
        """The task, every criterion with its steps, and how scores are read."""
        told: list[tuple[str, Sequence[str]]] = [("Task introduction", [self.task_description])]
        for criterion in self.criteria:
            steps = [f"{n}. {step}" for n, step in enumerate(self.steps.get(criterion.name, ()), 1)]
            told.append((f"Criterion: {criterion.name}", [criterion.definition, *(steps or ["(no evaluation steps)"])]))
        drawn = f"the mean of {self.samples} samples at temperature 1"
        how = "the number in the reply, at temperature 0"
        if self.weighted:
            expected = f"the expectation over the probabilities of the rating tokens ({drawn} where there are none)"
            how = drawn if self.reading.source == "text" else expected
        levels = f"{self.reading.low} to {self.reading.high}"
        said = f"Each criterion is rated from {levels}: {how}. The overall is the mean, on your scale {self.scale}."
        return [*told, ("How scores are read", [said])]


# --- scoring ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Rated:
    """One criterion as it was rated.

    Attributes:
        rating: On the rating levels.
        reason: Why, or None.
        usage: What it cost.
        notes: What the reader should know about how the rating came about.
        sampled: Whether the rating is the mean of several replies.
    """

    rating: Rating
    reason: str | None
    usage: Usage
    notes: tuple[str, ...] = ()
    sampled: bool = False

    @property
    def read_from(self) -> ScoredBy:
        """What the rating was read from, as a verdict says it."""
        return "samples" if self.sampled else self.rating.read_from


class GEvalJudge(Judge):
    """One question a criterion: task introduction, this criterion with its steps, the form; then the texts."""

    def __init__(self, protocol: GEvalProtocol, lm: LanguageModel) -> None:
        self.protocol = protocol
        self.lm = lm
        self.questions = tuple(criterion.name for criterion in protocol.criteria)
        self._criteria = {criterion.name: criterion for criterion in protocol.criteria}
        self._full = rating_sheet(protocol.reading, explain=True, longest=REASON_CHARS)
        # The form is shown the same either way, so that a rating does not depend on whether its reason is wanted.
        self._short = replace(rating_sheet(protocol.reading), skeleton=self._full.skeleton)

    def turns(self, question: str, example: Example) -> list[Turn]:
        """The prompt of one criterion; nothing in it but the texts changes from item to item."""
        protocol, criterion = self.protocol, self._criteria[question]
        name = quote(criterion.name)
        parts = [
            f"You rate texts for one quality: {name}.",
            f"The task. {quote(protocol.task_description)}",
            f"What {name} means: {quote(criterion.definition)}",
        ]
        steps = protocol.steps.get(criterion.name)
        if steps:
            parts.append("Evaluation steps:\n" + "\n".join(f"{n}. {quote(step)}" for n, step in enumerate(steps, 1)))
        parts += [
            levels_words(protocol.reading),
            MATERIAL,
            f"Fill in this form, on one line: {compact(self._full.skeleton)}",
        ]
        texts = shown_texts(example.source, example.response)
        return [("system", "\n\n".join(parts)), ("user", f"{texts}\n\nRate the response for {name}.")]

    def answer(self, question: str, example: Example, *, explain: bool) -> Rated:
        """The rating of one criterion.

        Where it is to be weighted and the model gives no token probabilities, the mean of samples at temperature 1;
        else one reply at temperature 0.
        """
        turns, can, protocol = self.turns(question, example), self.lm.capabilities, self.protocol
        probabilities = protocol.reading.source == "probabilities" and can.probabilities
        notes: list[str] = []
        if protocol.weighted and not probabilities:
            if can.temperature:
                return self._sampled(question, turns, explain=explain)
            notes.append(f"the model takes no temperature: a single reply instead of {protocol.samples} samples")
        elif not probabilities and not can.temperature:
            notes.append("the model takes no temperature: a single reply at its own")
        filled = ask(self.lm, turns, self._full if explain else self._short, protocol.reading)
        reason, cut = _reason(filled) if explain else (None, [])
        return Rated(filled.ratings["rating"], reason, filled.usage, (*notes, *filled.notes, *cut))

    def _sampled(self, question: str, turns: Sequence[Turn], *, explain: bool) -> Rated:
        samples = self.protocol.samples
        reading = self.protocol.reading.model_copy(update={"source": "text"})
        usage, reason, values = Usage(), None, list[float]()
        last: UnreadableReply | None = None
        notes = [f"mean of {samples} samples at temperature 1"]
        for sample in range(samples):
            # The first one always comes with its reason, wanted or not: the ratings are then those of the same draws.
            sheet = self._full if sample == 0 else self._short
            try:
                filled = ask(self.lm, turns, sheet, reading, temperature=1.0, sample=sample)
            except ModelError as problem:
                usage = usage + spent_on(problem)
                if not isinstance(problem, UnreadableReply):
                    problem.usage = usage
                    raise
                last = problem
                continue
            usage = usage + filled.usage
            notes += [note for note in filled.notes if note not in notes]
            values.append(filled.ratings["rating"].value)
            if sample == 0 and explain:
                reason, cut = _reason(filled)
                notes += cut
        if last is not None and not values:
            failure = UnreadableReply(f"none of {samples} samples; the last one: {last}", reply=last.reply)
            failure.usage = usage
            raise failure
        if len(values) < samples:
            notes.append(f"{question}: {samples - len(values)} of {samples} samples could not be read and do not count")
        return Rated(Rating(sum(values) / len(values), "text"), reason, usage, tuple(notes), sampled=True)

    def verdict(self, example: Example, answers: Mapping[str, Any]) -> Verdict:
        """The mean of the criteria."""
        del example
        reading, scale = self.protocol.reading, self.protocol.scale
        rated: dict[str, Rated] = {name: answers[name] for name in self.questions}
        percent = {name: reading.to_percent(one.rating.value) for name, one in rated.items()}
        notes = [note for one in rated.values() for note in one.notes]
        notes += reading_notes(reading, {name: one.rating for name, one in rated.items()})
        return Verdict(
            score=scale.at_percent(sum(percent.values()) / len(percent)),
            criteria=tuple(
                CriterionVerdict(name, scale.at_percent(percent[name]), one.reason) for name, one in rated.items()
            ),
            read_from=way_of(one.read_from for one in rated.values()),
            notes=tuple(dict.fromkeys(notes)),
            usage=sum((one.usage for one in rated.values()), Usage()),
        )


def _reason(filled: Filled) -> tuple[str | None, list[str]]:
    return text_or_none(filled.form.values.get("reason")), [] if filled.form.complete else [CUT]


# --- the evaluator ------------------------------------------------------------------------------------------------


class GEval(Evaluator):
    """G-Eval on the task and the criteria that are given, or inferred as :class:`ActiveCritic` infers them.

    Human scores serve the inference and the scale only. Where the task, the criteria and the scale are given, examples
    need no scores.

    Args:
        lm: The language model, or whatever :func:`active_critic.lm.open_lm` takes.
        task_description: The task introduction; None: inferred.
        criteria: The aspects; None: inferred.
        max_batches: Mini-batches of five examples read at most for the inference, of the task and the criteria each.
        cot: Whether the model writes evaluation steps for every criterion; False is the paper's ablation.
        weighted: Whether a rating is an expectation: over token probabilities where the model gives them, else the mean
            of samples. False, the paper's ablation, reads the plain number.
        samples: Replies drawn for a rating where there are no token probabilities, 2 to 100.
        seed: Of the batches.
        journal: Where replies are kept; see ``Evaluator``.
    """

    kind = "g-eval"
    document = GEvalProtocol

    def __init__(
        self,
        lm: LanguageModel | str | Any = "local",
        *,
        task_description: str | None = None,
        criteria: Sequence[Criterion] | Mapping[str, str] | None = None,
        max_batches: int = MAX_BATCHES,
        cot: bool = True,
        weighted: bool = True,
        samples: int = SAMPLES,
        seed: int = 0,
        journal: JournalPath = "default",
    ) -> None:
        super().__init__(lm, journal=journal)
        self.task_description = task_description
        self.criteria = criteria
        self.max_batches = max_batches
        self.cot = cot
        self.weighted = weighted
        self.samples = samples
        self.seed = seed

    def learn(self, data: Examples, notes: list[str], progress: Progress | None) -> GEvalProtocol:
        """Infer what is not given, and have the evaluation steps written. See :meth:`Evaluator.learn`."""
        criteria = given_criteria(self.criteria)
        user_scale = scale_of(data)
        model = self.model
        inferred = infer(
            data,
            model,
            scale=user_scale,
            seed=self.seed,
            task_description=self.task_description,
            criteria=criteria,
            max_batches=self.max_batches,
            progress=progress,
        )
        notes += inferred.remarks
        source = default_reading(model).source if self.weighted else "text"
        reading = Reading(low=1, high=5, source=source, order="rating_first")
        steps: dict[str, Steps] = {}
        if self.cot:
            steps, failed = all_steps(model, inferred.task_description, inferred.criteria, reading, progress)
            notes += failed
        return GEvalProtocol(
            task_description=inferred.task_description,
            criteria=inferred.criteria,
            steps=steps,
            reading=reading,
            samples=self.samples,
            weighted=self.weighted,
            scale=user_scale,
            provenance=self.provenance(data, notes),
        )

    def judge(self) -> Judge:
        """What rates by the program; see :class:`Evaluator`."""
        return GEvalJudge(self.fitted, self.model)

    @property
    def learns_from_examples(self) -> bool:
        """Not where task and criteria are given."""
        return self.task_description is None or self.criteria is None

    def check(self) -> None:
        """Parameters that cannot be right. See :meth:`Evaluator.check`."""
        check_task(self.task_description)
        check_flag("cot", self.cot)
        check_flag("weighted", self.weighted)
        check_whole("max_batches", self.max_batches, 1)
        check_whole("samples", self.samples, 2, MOST_SAMPLES)
        given_criteria(self.criteria)
