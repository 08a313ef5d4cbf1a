"""AutoCalibrate's program, and what scores by it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

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
    text_or_none,
    way_of,
)
from active_critic.evaluators.judging import OVERALL, Judge
from active_critic.lm import LanguageModel
from active_critic.lm.client import Turn
from active_critic.protocols import Protocol, Reading
from active_critic.quoting import quote
from active_critic.records import CriterionVerdict, Example, Record, Usage, Verdict

_LISTED = 10


class CriteriaCandidate(Record):
    """A text of criteria that was tried, and how well the scores by it agreed with people's.

    Attributes:
        question: The aspect that it is for, or ``"overall"``.
        number: Counts the candidates of a question in the order in which they were written.
        text: The criteria.
        origin: Whether it was drafted from scored examples or refined from another on misaligned ones.
        shots: Examples that the model was shown.
        trial: Which draw of that many examples it was, from 1.
        sample: Which reply to that prompt it was, from 1.
        parent: Number of the candidate that it refines; None for a draft.
        correlation: Q = Pearson + Spearman + Kendall over the training examples, -3 to 3; None where the scores do
            not vary, or more than a tenth of the examples could not be scored.
        scored: Training examples that could be scored by it.
    """

    question: str
    number: int
    text: str
    origin: Literal["draft", "refined"]
    shots: int
    trial: int
    sample: int
    parent: int | None = None
    correlation: float | None = Field(default=None, ge=-3, le=3)
    scored: int = 0

    @property
    def words(self) -> str:
        """Where it is from and how it did, in a line."""
        came = "draft" if self.parent is None else f"refined from {self.parent}"
        how = "not defined" if self.correlation is None else f"{self.correlation:.3f}"
        drawn = f"{self.shots} examples, trial {self.trial}, sample {self.sample}"
        return f"Q {how} ({self.scored} scored): candidate {self.number}, {came}, {drawn}"


class AutoCalibrateProtocol(Protocol):
    """The program of AutoCalibrate: for every question a text of criteria, and what else was tried.

    Attributes:
        task_description: What is evaluated, and how a response relates to its source.
        aspects: The aspects that are rated; empty: the whole is rated at once.
        criteria: The calibrated criteria by aspect (or under ``"overall"``).
        reading: How ratings are asked for and read.
        candidates: Every text that was tried, by question, best first.
    """

    evaluator: Literal["auto-calibrate"] = "auto-calibrate"
    task_description: str
    aspects: tuple[str, ...] = ()
    criteria: dict[str, str]
    reading: Reading = Reading()
    candidates: tuple[CriteriaCandidate, ...] = ()

    @model_validator(mode="after")
    def _answers_its_questions(self) -> AutoCalibrateProtocol:
        if set(self.criteria) != set(self.questions):
            raise ValueError(f"criteria are needed for exactly: {', '.join(self.questions)}")
        return self

    @property
    def questions(self) -> tuple[str, ...]:
        """What an example is asked: the aspects, or the one question about the whole."""
        return self.aspects or (OVERALL,)

    @property
    def rated(self) -> tuple[str, ...]:
        """The aspects."""
        return self.aspects

    @property
    def traits(self) -> tuple[str, ...]:
        """Questions, candidates and reading."""
        return ("+".join(self.questions), f"candidates:{len(self.candidates)}", self.reading.words)

    def account(self) -> list[tuple[str, Sequence[str]]]:
        """Task, criteria, and the best candidates with their correlation."""
        parts: list[tuple[str, Sequence[str]]] = [("Task", [self.task_description])]
        parts += [(f"Calibrated criteria ({name})", self.criteria[name].splitlines()) for name in self.questions]
        for question in self.questions:
            tried = [one.words for one in self.candidates if one.question == question]
            more = [f"and {len(tried) - _LISTED} more"] if len(tried) > _LISTED else []
            heading = f"Candidates ({question}), by Q over the training examples they were chosen by"
            parts.append((heading, [*tried[:_LISTED], *more]))
        return parts


def rating_turns(task: str, aspect: str | None, criteria: str, reading: Reading, example: Example) -> list[Turn]:
    """The prompt that has one example rated by a text of criteria (Eq. 1, Figure 2 and Appendix D.2).

    Args:
        task: The task description.
        aspect: What is rated; None for the whole.
        criteria: The text of criteria.
        reading: The rating levels.
        example: What is rated; people's score is not shown.
    """
    aspect = None if aspect is None else quote(aspect)
    what = "how good the response is overall" if aspect is None else f"one aspect of the response only: {aspect}"
    form = compact(rating_sheet(reading, explain=True).skeleton)
    system = [
        "You rate texts exactly as a particular group of people rates them.",
        f"The task. {quote(task)}",
        f"Rate {what}.",
        f"The criteria for that, worked out from scores that these people gave:\n{quote(criteria)}",
        levels_words(reading),
        MATERIAL,
        f"Follow the criteria closely and answer in this form, on one line: {form}",
    ]
    asked = "How good is the response?" if aspect is None else f"Rate the response ({aspect})."
    texts = shown_texts(example.source, example.response)
    return [("system", "\n\n".join(system)), ("user", f"{texts}\n\n{asked}")]


def rate(lm: LanguageModel, turns: Sequence[Turn], reading: Reading, *, explain: bool) -> Filled:
    """Ask for the rating; the rating is the same with and without a reason after it.

    Raises:
        ModelError: See :func:`active_critic.asking.ask`.
    """
    reasoned = explain or reading.order == "reason_first"
    return ask(lm, turns, rating_sheet(reading, explain=reasoned), reading)


class AutoCalibrateJudge(Judge):
    """Rates every aspect (or the whole) by its calibrated criteria; the score is the mean of the aspects."""

    def __init__(self, protocol: AutoCalibrateProtocol, lm: LanguageModel) -> None:
        self.protocol = protocol
        self.lm = lm
        self.questions = protocol.questions

    def turns(self, question: str, example: Example) -> list[Turn]:
        """See :func:`rating_turns`."""
        program = self.protocol
        aspect = question if program.aspects else None
        return rating_turns(program.task_description, aspect, program.criteria[question], program.reading, example)

    def answer(self, question: str, example: Example, *, explain: bool) -> Filled:
        """The form as it was filled in."""
        return rate(self.lm, self.turns(question, example), self.protocol.reading, explain=explain)

    def verdict(self, example: Example, answers: Mapping[str, Any]) -> Verdict:
        """The mean over the questions, with a verdict per aspect where there are aspects."""
        del example
        program, scale = self.protocol, self.protocol.scale
        filled: dict[str, Filled] = {question: answers[question] for question in self.questions}
        ratings = {question: one.ratings["rating"] for question, one in filled.items()}
        percents = {question: program.reading.to_percent(rating.value) for question, rating in ratings.items()}
        reasons = {question: text_or_none(one.form.values.get("reason")) for question, one in filled.items()}
        said = [f"{q}: {reason}" if program.aspects else reason for q, reason in reasons.items() if reason]
        notes = [note for one in filled.values() for note in one.notes] + reading_notes(program.reading, ratings)
        notes += [CUT for question, one in filled.items() if reasons[question] and not one.form.complete]
        return Verdict(
            score=scale.at_percent(sum(percents.values()) / len(percents)),
            explanation="\n".join(said) or None,
            criteria=tuple(CriterionVerdict(q, scale.at_percent(percents[q]), reasons[q]) for q in program.aspects),
            read_from=way_of(rating.read_from for rating in ratings.values()),
            notes=tuple(dict.fromkeys(notes)),
            usage=sum((one.usage for one in filled.values()), Usage()),
        )
