"""Decomposition: the model names the qualities that the task, or one criterion, consists of."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

from active_critic.asking import compact, object_schema, string_schema, twice
from active_critic.errors import UnreadableReply
from active_critic.inference_forms import DEFINITION_CHARS, NAME_CHARS
from active_critic.lm.client import LanguageModel, Reply, Turn
from active_critic.quoting import quote
from active_critic.reading import read_form
from active_critic.records import Criterion, same_name

SUCH_AS = "names spelt as in the source"
"""Example of a thing to check. Small models copy it; a copy is dropped."""

_ODD = re.compile(r"[^\w\s&'(),./-]+")
_ROOT_NAMES = {"overall", "overall quality", "quality"}


@dataclass(frozen=True, slots=True)
class Decomposed:
    """What a criterion was decomposed into.

    Attributes:
        criteria: Its parts, with names that were not in the tree yet.
        repeated: Names that were, and were dropped.
    """

    criteria: tuple[Criterion, ...]
    repeated: tuple[str, ...]


def decompose(
    lm: LanguageModel, task: str, parent: Criterion | None, *, at_most: int, taken: Collection[str], at_least: int = 1
) -> Decomposed:
    """Ask for the parts of a criterion; once more, in stricter words, if the first reply cannot be used.

    Args:
        lm: The language model.
        task: The task description.
        parent: The criterion; None for the overall quality of the task.
        at_most: How many parts there may be.
        taken: Names of the whole tree so far.
        at_least: With fewer parts left, the reply cannot be used.

    Raises:
        UnreadableReply: Neither reply could be used.
        ModelError: The endpoint could not be used.
    """
    fields = [(f"name_{i}", f"definition_{i}") for i in range(1, at_most + 1)]
    skeleton = compact({field: "..." for pair in fields for field in pair})
    lengths = {name: NAME_CHARS for name, _ in fields} | {definition: DEFINITION_CHARS for _, definition in fields}
    schema = object_schema({field: string_schema(lengths[field]) for pair in fields for field in pair})
    hint = (
        "Qualities are such as accuracy, relevance, clarity or completeness, never topics of the texts, and no two "
        "have the same name."
        if parent is None
        else f"Each thing to check is smaller than {quote(parent.name)} and has a name of its own."
    )

    def read(reply: Reply) -> Decomposed:
        return _read(reply, fields, taken, at_least)

    def demand(problem: UnreadableReply) -> str:
        return (
            f"That could not be used: {quote(str(problem))}. {hint} Answer with nothing but this JSON object, filled "
            f"in: {skeleton}"
        )

    return twice(lm, _turns(task, parent, at_most, skeleton), schema, read, demand, max_tokens=60 + 110 * at_most)


def _turns(task: str, parent: Criterion | None, at_most: int, skeleton: str) -> list[Turn]:
    system = (
        "You plan how texts are evaluated. A quality is something that every response of the task has more or less of, "
        f"and that can be rated by itself.\n\nThe task: {quote(task)}"
    )
    if parent is None:
        question = (
            f"Which main qualities make up the overall quality of a response? Name up to {at_most}. Give each a short "
            "name and one sentence that says what a response rated high on it is like, all different from each other."
        )
    else:
        # The names that are there already are not listed: small models repeat what they are told not to.
        name = quote(parent.name)
        question = (
            f"{name}: {quote(parent.definition)}\n\nTo rate the {name} of a response, one checks up to {at_most} "
            "smaller things one by one. Which? Give each thing to check a name of two to four words, such as "
            f'"{SUCH_AS}", and one sentence that says what a response that passes the check is like.'
        )
    return [("system", system), ("user", f"{question} Answer with this JSON object, filled in: {skeleton}")]


def _read(reply: Reply, fields: list[tuple[str, str]], taken: Collection[str], at_least: int) -> Decomposed:
    form = read_form(reply, first=fields[0][0])
    known = {*map(same_name, (*taken, SUCH_AS)), *_ROOT_NAMES}
    found: list[Criterion] = []
    repeated: list[str] = []
    for name_field, definition_field in fields:
        name = _tidied(form.values.get(name_field), NAME_CHARS, name=True)
        definition = _tidied(form.values.get(definition_field), DEFINITION_CHARS)
        if not name or not definition:
            continue
        if same_name(name) in known:
            repeated.append(name)
            continue
        known.add(same_name(name))
        found.append(Criterion(name=name, definition=definition))
    if len(found) < at_least:
        what = f"it names {len(found)} new qualities with a definition, and at least {at_least} are needed"
        raise UnreadableReply(what, reply=reply.text)
    return Decomposed(tuple(found), tuple(repeated))


def _tidied(value: object, longest: int, *, name: bool = False) -> str:
    """A text of the model's, short enough and without what could pose as a mark or as JSON; empty when it is none."""
    if not isinstance(value, str):
        return ""
    text = " ".join((_ODD.sub(" ", value) if name else value).split())
    if len(text) > longest:
        text = text[:longest].rsplit(" ", 1)[0]
    return text if any(character.isalnum() for character in text) else ""
