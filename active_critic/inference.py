"""Stage 1: what is judged here, and by which criteria, inferred from scored examples in mini-batches.

Active-Critic, section 4.1, Algorithm 1 (Eq. 6-8), Tables 14-15 and Appendix D.2.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from active_critic.batches import DEFAULT_CONTEXT, SHORTENED, Shortener, batches
from active_critic.errors import RequestRefused, UnreadableReply
from active_critic.inference_forms import (
    BY_COMMENTS,
    PARAGRAPH,
    USUAL,
    CriteriaSet,
    DescribeExamples,
    FirstCriteria,
    FirstNotes,
    NameCriteria,
    NamedCriterion,
    Notes,
    ObserveScores,
    ObserveTask,
    ProposeCriteria,
    RefineCriteria,
    SummariseTask,
    TaskSummary,
)
from active_critic.lm.client import LanguageModel
from active_critic.lm.lengths import length_of
from active_critic.records import Criterion, Example, Scale, same_name
from active_critic.typed_asking import Asker

MAX_BATCHES = 25
STOP_AFTER = 5
"""The model is asked until it says "complete" this many times in a row (section 4.1)."""
GLANCE = 800
"""Characters of an example that the task is told from, by ``length_of``: of longer ones small models name topics."""
AT_FAULT = 2
"""Batches that nothing comes of before any other, after which the model is at fault, and not the examples in them."""
LOST = "{} of {} batches said nothing of the {}: {} refused them, or did not answer in the form asked for"
NO_QUALITIES = (
    "half of the criteria or more are named after what the examples are about, or defined as another one is: look at "
    "them, and give your own with --criteria if they are not what people scored by"
)
GIVE = (
    "What it cannot infer can be given: the task with --task TEXT or @FILE, the criteria with --criteria FILE; in "
    "Python task_description= and criteria=. Or leave out the examples that it refuses, or try another model."
)


_Notes = TypeVar("_Notes", bound=FirstNotes)


@dataclass(frozen=True, slots=True)
class Inferred:
    """What stage 1 found.

    Attributes:
        task_description: What is judged and how a response relates to its source.
        criteria: 4 to 10 criteria (or those that were given).
        remarks: What the user should be told: texts shortened, batches passed over, steps that the model could not do
            when asked again.
    """

    task_description: str
    criteria: tuple[Criterion, ...]
    remarks: tuple[str, ...] = ()


def infer(
    examples: Sequence[Example],
    lm: LanguageModel,
    *,
    scale: Scale,
    seed: int = 0,
    task_description: str | None = None,
    criteria: Sequence[Criterion] | None = None,
    max_batches: int = MAX_BATCHES,
    progress: Callable[[str, int, int], None] | None = None,
) -> Inferred:
    """Infer the task description and the criteria; what is given is kept and only the rest inferred.

    A batch that the model refuses, or whose answer cannot be read, is passed over: a single example may be at fault.

    Args:
        examples: Scored examples.
        lm: The language model.
        scale: The scale of their scores; the model is shown them as 0-100.
        seed: Decides which examples share a batch.
        task_description: The user's own, or None to infer it.
        criteria: The user's own, or None to infer them.
        max_batches: At most this many mini-batches are read for each of the two.
        progress: Called with a line about each step and two zeros: how many there will be is not known.

    Raises:
        UnreadableReply: The model did not answer in the form asked for, nor when asked again; shows its reply.
        RequestRefused: The endpoint, or its content filter, refuses all that it is asked; a note names the remedy.
        ModelError: The endpoint cannot be used.
    """
    reader = _Reader(examples, lm, scale=scale, seed=seed, most=max_batches, progress=progress)
    try:
        if task_description is None:
            task_description = reader.task()
        if criteria is None:
            criteria = reader.criteria(task_description)
    except RequestRefused as refused:
        refused.add_note(GIVE)
        raise
    reader.tell_lost()
    if reader.texts.shortened:
        reader.remarks.append(f"{reader.texts.shortened} texts were shortened for task inference {SHORTENED}")
    return Inferred(task_description, tuple(criteria), tuple(reader.remarks))


class _Reader:
    """Reads the examples in mini-batches, for the task and then for the criteria.

    Attributes:
        texts: Shortens what would not fit, and counts it.
        remarks: What the user should be told.
    """

    def __init__(
        self,
        examples: Sequence[Example],
        lm: LanguageModel,
        *,
        scale: Scale,
        seed: int,
        most: int,
        progress: Callable[[str, int, int], None] | None,
    ) -> None:
        context = lm.context or DEFAULT_CONTEXT
        self.texts, self._glances = Shortener(context), Shortener(context, most=GLANCE)
        self.remarks: list[str] = []
        self._model = lm.name
        self._ask = Asker(lm)
        self._scale = scale
        self._batches = batches(examples, seed)[:most]
        self._lost: dict[str, int] = {}
        self._progress = progress

    def _notes(self, number: int, what: str, signature: Any, kind: type[_Notes], **inputs: str) -> _Notes | None:
        """What the model notes of a batch; None where nothing comes of it.

        Raises:
            UnreadableReply, RequestRefused: Nothing came of any batch so far, and this is not the first one, or the
                only one.
        """
        self._tell(number, what)
        try:
            return self._ask(signature, "notes", kind, **inputs)
        except (UnreadableReply, RequestRefused):
            self._lost[what] = lost = self._lost.get(what, 0) + 1
            if lost == number + 1 == min(AT_FAULT, len(self._batches)):
                raise
            return None

    def _tell(self, number: int, what: str) -> None:
        if self._progress is not None:
            self._progress(f"reading batch {number + 1} of {len(self._batches)} for the {what}", 0, 0)

    def tell_lost(self) -> None:
        """Add to the remarks how many batches were passed over."""
        for what, lost in self._lost.items():
            self.remarks.append(LOST.format(lost, len(self._batches), what, self._model))

    def task(self) -> str:
        """The task description."""
        observations: list[str] = []
        streak = 0
        for number, batch in enumerate(self._batches):
            examples = self._glances.best(batch)
            notes: FirstNotes | None
            if observations:
                earlier = _latest(observations)
                notes = self._notes(number, "task", ObserveTask, Notes, examples=examples, earlier_observations=earlier)
            else:
                notes = self._notes(number, "task", DescribeExamples, FirstNotes, examples=examples)
            if notes is None:
                continue
            if _says_more(notes, observations):
                observations.append(notes.observations)
                streak = 0
            elif (streak := streak + 1) == STOP_AFTER:
                break
        if not observations:
            self.remarks.append(
                f"{self._model} noted nothing about the examples: the task description is its guess; see it"
            )
        while sum(map(length_of, observations)) > self.texts.room:
            del observations[len(observations) // 2]
        return self._ask(SummariseTask, "summary", TaskSummary, observations=_joined(observations)).text()

    def criteria(self, task: str) -> list[Criterion]:
        """The criteria for a task."""
        found, observations = self._first_criteria(task)
        streak = 0
        for number, batch in enumerate(self._batches[1:], 1):
            notes = self._notes(
                number,
                "criteria",
                ObserveScores,
                Notes,
                also=_by_comments(batch),
                examples=self.texts.batch(batch, self._scale),
                task=task,
                criteria=_listed(found),
                earlier_observations=_latest(observations),
            )
            if notes is None:
                continue
            if not _says_more(notes, observations):
                streak += 1
                if streak == STOP_AFTER:
                    break
                continue  # nothing new was seen, so there is nothing to refine by
            streak = 0
            observations.append(notes.observations)
            try:
                found = self._ask(
                    RefineCriteria,
                    "refined",
                    CriteriaSet,
                    task=task,
                    criteria=_listed(found),
                    new_observations=notes.observations,
                ).criteria
            except (UnreadableReply, RequestRefused):
                self.remarks.append(
                    f"{self._model} could not refine the criteria after batch {number + 1}; they were kept"
                )
        if not _are_qualities(found, self._batches[0]):
            self.remarks.append(NO_QUALITIES)
        return [criterion.record() for criterion in found]

    def _first_criteria(self, task: str) -> tuple[list[NamedCriterion], list[str]]:
        """Criteria from the first batch, and what was observed there."""
        self._tell(0, "criteria")
        examples = self.texts.batch(self._batches[0], self._scale)
        try:
            also = _by_comments(self._batches[0])
            first = self._ask(ProposeCriteria, "proposal", FirstCriteria, also=also, task=task, examples=examples)
            return first.criteria, [first.observations]
        except (UnreadableReply, RequestRefused):
            # A very small model is led astray by what the examples are about, even in its own description of the task;
            # the kind of task, which comes first there, it can still manage.
            self.remarks.append(
                f"{self._model} could not infer criteria from the first examples; it began from the task description "
                "alone"
            )
            return self._ask(NameCriteria, "named", CriteriaSet, task=task.split(". ")[0]).criteria, []


def _are_qualities(criteria: Sequence[NamedCriterion], examples: Sequence[Example]) -> bool:
    """Whether more than half of the criteria seem to be qualities of responses, each another one.

    A small model also names topics ("Price range") and defines several criteria alike. A criterion counts as a topic
    where all words of its name are words of these examples, endings aside, and none is a usual quality. That may be
    meant, where a response is to give the price range: so the user is told, and the model is not asked again.
    """
    of_texts = set(_words(" ".join(f"{example.source} {example.response}" for example in examples)))

    def in_texts(word: str) -> bool:
        stem = word[: max(4, math.ceil(0.7 * len(word)))]
        return any(one.startswith(stem) for one in of_texts)

    definitions: set[str] = set()
    qualities = 0
    for criterion in criteria:
        name, definition = _words(criterion.name), same_name(criterion.definition)
        topic = all(map(in_texts, name)) or in_texts("".join(name))
        qualities += definition not in definitions and not (topic and set(USUAL).isdisjoint(name))
        definitions.add(definition)
    return 2 * qualities > len(criteria)


def _words(text: str) -> list[str]:
    """The words of a text, case aside."""
    return re.findall(r"[^\W\d_]+", text.casefold())


def _says_more(notes: FirstNotes, earlier: Sequence[str]) -> bool:
    """Whether a batch shows more than those before; a small model repeats itself, and does not say complete."""
    said = notes.observations
    return bool(said) and not (isinstance(notes, Notes) and notes.complete) and not any(said in old for old in earlier)


def _by_comments(batch: Sequence[Example]) -> str:
    """What a question about scored examples says besides, where people said something of them."""
    return BY_COMMENTS if any(example.comment for example in batch) else ""


def _joined(observations: Sequence[str]) -> str:
    return "\n".join(f"- {text}" for text in observations) or "(none yet)"


def _latest(observations: Sequence[str]) -> str:
    latest = [text for text in observations if text][-STOP_AFTER:]
    while sum(map(length_of, latest)) > STOP_AFTER * PARAGRAPH:  # of which English has room for all
        del latest[0]
    return _joined(latest)


def _listed(criteria: Sequence[NamedCriterion]) -> str:
    return "\n".join(f"- {c.name}: {c.definition}" for c in criteria)
