"""G-Eval's evaluation steps: what a rater does to rate one criterion, written by the model itself (auto CoT).

Liu et al., "G-Eval: NLG Evaluation using GPT-4 with Better Human Alignment", EMNLP 2023 (section 2).
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Annotated

from pydantic import StringConstraints

from active_critic.asking import PER_ITEM, compact, object_schema, string_schema, twice
from active_critic.errors import UnreadableReply
from active_critic.evaluators._fitting import in_parallel
from active_critic.evaluators.base import Progress
from active_critic.lm import LanguageModel
from active_critic.lm.client import Reply, Turn
from active_critic.protocols import Reading
from active_critic.quoting import quote
from active_critic.records import Criterion

FEWEST_STEPS, MOST_STEPS = 3, 6
STEP_CHARS = 200
"""Longest evaluation step, in characters."""

Steps = tuple[Annotated[str, StringConstraints(min_length=1, max_length=STEP_CHARS)], ...]


def write_steps(lm: LanguageModel, task_description: str, criterion: Criterion, reading: Reading) -> Steps:
    """Have the evaluation steps of a criterion written from task introduction and criterion alone (auto CoT).

    Asked once at temperature 0, and once more in stricter words if the reply cannot be used. No example is shown.

    Returns:
        3 to 6 different steps of at most ``STEP_CHARS`` characters.

    Raises:
        UnreadableReply: Neither reply could be used.
        ModelError: The endpoint could not be used.
    """
    steps = {
        "type": "array",
        "items": string_schema(STEP_CHARS),
        "minItems": FEWEST_STEPS,
        "maxItems": MOST_STEPS,
    }
    form = compact({"steps": ["..."] * FEWEST_STEPS})
    name = quote(criterion.name)
    question = (
        f"The task. {quote(task_description)}\n\n"
        f"What is to be rated: {name}. {quote(criterion.definition)}\n\n"
        f"Write {FEWEST_STEPS} to {MOST_STEPS} evaluation steps that a rater follows, in this order, to rate any "
        f"response of this task for {name} and for nothing else: what to read, what to look for, what to compare, what "
        f"lowers the rating, and as the last step giving a rating from {reading.low} to {reading.high}. One short "
        f"sentence a step, in this form, on one line: {form}"
    )
    turns: list[Turn] = [("system", "You write evaluation steps for people who rate texts."), ("user", question)]

    def demand(problem: UnreadableReply) -> str:
        return (
            f"That could not be used: {quote(str(problem))}. Answer with nothing but a JSON object of this form, with "
            f"{FEWEST_STEPS} to {MOST_STEPS} different short sentences: {form}"
        )

    return twice(lm, turns, object_schema({"steps": steps}), _steps, demand, max_tokens=600)


def _steps(reply: Reply) -> Steps:
    """The steps in a reply, each on one line and without a number of its own.

    Raises:
        UnreadableReply: There is no list of texts, or too few or too many different ones in it.
    """
    *_, start = [-1, *(found.start() for found in re.finditer(r'\{\s*"steps"', reply.text))]
    try:
        given = json.JSONDecoder(strict=False).raw_decode(reply.text, start)[0]["steps"] if start >= 0 else None
    except (ValueError, RecursionError):
        given = None
    if not isinstance(given, list) or not all(isinstance(step, str) for step in given):
        raise UnreadableReply('there is no JSON object {"steps": [...]} with a list of texts', reply=reply.text)
    different: dict[str, str] = {}
    for text in given:
        # Half a surrogate pair could not be saved.
        tidy = " ".join(text.encode(errors="replace").decode().split())
        step = re.sub(r"^(?:step\s*)?\d+\s*[.:)]\s*", "", tidy, flags=re.IGNORECASE)
        if len(step) >= STEP_CHARS:  # it ran into the bound
            step = step[: STEP_CHARS - 1].rsplit(" ", 1)[0].rstrip(" ,;:") + "…"
        if any(map(str.isalpha, step)):
            different.setdefault(step.casefold(), step)
    if not FEWEST_STEPS <= len(different) <= MOST_STEPS:
        raise UnreadableReply(f"there are {len(different)} different steps in it", reply=reply.text)
    return tuple(different.values())


def all_steps(
    lm: LanguageModel, task_description: str, criteria: Sequence[Criterion], reading: Reading, progress: Progress | None
) -> tuple[dict[str, Steps], list[str]]:
    """The steps of every criterion that the model could write some for, and a note on each of the others."""

    def one(criterion: Criterion) -> Steps | str:
        try:
            return write_steps(lm, task_description, criterion, reading)
        except PER_ITEM as problem:
            return f"{criterion.name} is rated without evaluation steps: {lm.name} could not write them ({problem})"

    written = in_parallel(lm, one, criteria, doing="writing evaluation steps", progress=progress)
    steps = {c.name: found for c, found in zip(criteria, written, strict=True) if not isinstance(found, str)}
    return steps, [found for found in written if isinstance(found, str)]
