"""GPTScore: how likely the model finds the response, given the source and an instruction, or on its own.

Fu et al., "GPTScore: Evaluate as You Desire", NAACL 2024: the mean log-probability of a token of the response (Eq. 1,
with equal weights), in the direction from source to response.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from active_critic.asking import PER_ITEM
from active_critic.data.examples import MIN_EXAMPLES, Examples, human_score
from active_critic.errors import FitError, RequestRefused
from active_critic.evaluators._fitting import in_parallel
from active_critic.evaluators._weighed import weighing_turns
from active_critic.evaluators.base import Evaluator, JournalPath, Progress, scale_of
from active_critic.evaluators.judging import OVERALL, Judge
from active_critic.evaluators.parameters import check_task, given_criteria
from active_critic.lm import LanguageModel
from active_critic.lm.client import Turn
from active_critic.lm.likelihood import Likelihood, refusal
from active_critic.protocols import Protocol, check_names
from active_critic.records import Criterion, CriterionVerdict, Example, Record, Usage, Verdict

LEAST_SLOPE = 0.1
"""The line from log-likelihoods to scores rises at least by this part of the ratio of their spreads."""

Given = Literal["source", "nothing"]


class Line(Record):
    """From a mean log-likelihood (natural logarithm, a token) to a score on the user's scale: ``at + slope * x``.

    Attributes:
        at: The score at log-likelihood 0.
        slope: Above 0, so that the order is that of the likelihoods.
    """

    at: float
    slope: float = Field(gt=0)


class GPTScoreProtocol(Protocol):
    """The program of GPTScore.

    Attributes:
        given: What the response is likely given: ``"source"`` with the instruction, or ``"nothing"``.
        task_description: The instruction's account of the task; may be empty.
        criteria: One likelihood each, asked for in the instruction; none for a single one.
        line: From the (mean) log-likelihood to the user's scale.
    """

    evaluator: Literal["gpt-score"] = "gpt-score"
    given: Given
    task_description: str = ""
    criteria: tuple[Criterion, ...] = ()
    line: Line

    @model_validator(mode="after")
    def _names(self) -> Self:
        check_names(self.criteria)
        return self

    @property
    def rated(self) -> tuple[str, ...]:
        """All criteria."""
        return tuple(criterion.name for criterion in self.criteria)

    @property
    def traits(self) -> tuple[str, ...]:
        """What it is given, and the number of criteria."""
        return (f"given:{self.given}", f"criteria:{len(self.criteria)}")

    def account(self) -> Sequence[tuple[str, Sequence[str]]]:
        """What is measured, and the line to the user's scale."""
        source = "given the source and an instruction" if self.given == "source" else "on its own"
        lines = [
            f"The mean log-probability of a token of the response, {source}.",
            f"score = {self.line.at:.3g} + {self.line.slope:.3g} * mean log-probability, within {self.scale}",
        ]
        return [("How scores are read", [*lines, *(f"{c.name}: {c.definition}" for c in self.criteria)])]


class GPTScoreJudge(Judge):
    """One likelihood a criterion, or a single one."""

    def __init__(self, protocol: GPTScoreProtocol, lm: LanguageModel) -> None:
        self.protocol = protocol
        self.lm = lm
        self._criteria = {criterion.name: criterion for criterion in protocol.criteria}
        self.questions = tuple(self._criteria) or (OVERALL,)

    def turns(self, question: str, example: Example) -> list[Turn]:
        """The instruction to which the response is weighed as the reply."""
        criterion = self._criteria.get(question)
        if self.protocol.given == "nothing":
            return [("user", "Write a text.")]
        return weighing_turns(example, self.protocol.task_description, criterion)

    def answer(self, question: str, example: Example, *, explain: bool) -> Likelihood:
        """The likelihood of the response; nothing is explained."""
        del explain
        return self.lm.likelihood(self.turns(question, example), example.response)

    def verdict(self, example: Example, answers: Mapping[str, Any]) -> Verdict:
        """The mean over the criteria, on the user's scale."""
        del example
        weighed: dict[str, Likelihood] = {name: answers[name] for name in self.questions}
        mean = sum(one.mean for one in weighed.values()) / len(weighed)
        criteria = tuple(CriterionVerdict(name, self._score(weighed[name].mean)) for name in self._criteria)
        line, scale = self.protocol.line, self.protocol.scale
        notes = [f"mean log-probability of a token {mean:.3f}"]
        reached = line.at + line.slope * mean
        if not scale.low <= reached <= scale.high:
            notes.append(f"the line leads to {reached:.3f}, outside the scale {scale}; clipped")
        return Verdict(
            score=self._score(mean),
            criteria=criteria,
            read_from="likelihood",
            notes=tuple(notes),
            usage=sum((one.usage for one in weighed.values()), Usage()),
        )

    def _score(self, mean: float) -> float:
        line, scale = self.protocol.line, self.protocol.scale
        return scale.rounded(line.at + line.slope * mean)


class GPTScore(Evaluator):
    """The likelihood of the response as its score.

    Needs a model that gives the probabilities of a text that it did not write: the embedded one, or an endpoint whose
    ``/v1/completions`` echoes the prompt. Labels are used for nothing but the line that leads to the user's scale,
    which always rises: they never decide what is better.

    Args:
        lm: The language model, or whatever :func:`active_critic.lm.open_lm` takes.
        given: ``"source"``: the response is weighed as the reply to an instruction that shows the source;
            ``"nothing"``: as the reply to an instruction that says nothing (its fluency, as it were).
        task_description: What the instruction says of the task; None: nothing.
        criteria: One likelihood each, with its definition in the instruction; None: a single likelihood.
        journal: Where replies are kept; see ``Evaluator``.
    """

    kind = "gpt-score"
    document = GPTScoreProtocol

    def __init__(
        self,
        lm: LanguageModel | str | Any = "local",
        *,
        given: Given = "source",
        task_description: str | None = None,
        criteria: Sequence[Criterion] | Mapping[str, str] | None = None,
        journal: JournalPath = "default",
    ) -> None:
        super().__init__(lm, journal=journal)
        self.given: Given = given
        self.task_description = task_description
        self.criteria = criteria

    def check(self) -> None:
        """Parameters that cannot be right. See :meth:`Evaluator.check`."""
        check_task(self.task_description)
        if self.given not in ("source", "nothing"):
            raise FitError(f"given must be source or nothing, not {self.given!r}")
        criteria = given_criteria(self.criteria)
        if self.given == "nothing" and (criteria or self.task_description):
            raise FitError("with given='nothing' the instruction holds neither criteria nor a task; leave them out")

    def learn(self, data: Examples, notes: list[str], progress: Progress | None) -> GPTScoreProtocol:
        """Weigh the examples, for the line that leads to their scale. See :meth:`Evaluator.learn`.

        Raises:
            RequestRefused: The model gives no likelihood of a given text.
        """
        user_scale = scale_of(data)
        if not self.model.gives_likelihood:
            raise RequestRefused(refusal(self.model.name))
        protocol = GPTScoreProtocol(
            given=self.given,
            task_description=self.task_description or "",
            criteria=tuple(given_criteria(self.criteria) or ()),
            scale=user_scale,
            line=Line(at=user_scale.low, slope=1.0),
            provenance=self.provenance(data, notes),
        )
        judge = GPTScoreJudge(protocol, self.model)

        def weigh(example: Example) -> float | str:
            try:
                return float(np.mean([judge.answer(q, example, explain=False).mean for q in judge.questions]))
            except PER_ITEM as problem:
                return str(problem)

        ordered = sorted(data, key=lambda example: example.source)
        found = in_parallel(self.model, weigh, ordered, doing="weighing examples", progress=progress)
        pairs = [(x, human_score(e)) for e, x in zip(ordered, found, strict=True) if not isinstance(x, str)]
        if len(pairs) < len(data):
            if len(pairs) < MIN_EXAMPLES:
                why = next(reason for reason in found if isinstance(reason, str))
                raise FitError(
                    f"only {len(pairs)} of {len(data)} examples could be weighed, and {MIN_EXAMPLES} are needed; the "
                    f"first reason: {why}"
                )
            # Without a reason: that may quote the text, and no text of an example is to stand in a program.
            notes.append(f"{len(data) - len(pairs)} of {len(data)} examples could not be weighed and do not count")
        return protocol.model_copy(update={"line": rising_line(pairs), "provenance": self.provenance(data, notes)})

    def judge(self) -> Judge:
        """What weighs by the program; see :class:`Evaluator`."""
        return GPTScoreJudge(self.fitted, self.model)


def rising_line(pairs: Sequence[tuple[float, float]]) -> Line:
    """The least-squares line through (log-likelihood, score), made to rise where it does not.

    A small sample may well say that likelier is worse; GPTScore never does. The slope is at least ``LEAST_SLOPE`` times
    the ratio of the two spreads; where one side does not vary it is 1 a nat.
    """
    # Sorted, because the last digit of a sum depends on the order.
    x, y = np.array(sorted(pairs)).T
    spread = float(x.std())
    slope = 1.0
    if spread > 1e-9 and y.std() > 0:
        correlation = float(np.corrcoef(x, y)[0, 1])
        slope = max(correlation, LEAST_SLOPE) * float(y.std()) / spread
    return Line(at=float(y.mean() - slope * x.mean()), slope=slope)
