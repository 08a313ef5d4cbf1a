"""How a model fills in forms: how long its texts and its lists are, and how often it says that a thing is so."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import orjson

if TYPE_CHECKING:
    from active_critic.lm.client import LanguageModel

LENGTHS = {
    "name": 15.0,
    "definition": 65.0,
    "observations": 240.0,
    "task_type": 16.0,
    "evaluated": 50.0,
    "relation": 70.0,
}
"""Characters that embedded models were found to write in fields of these names, which may end in a number."""
REST, SHARE = 100, 0.85
"""Characters in any other field: this many, or this share of its bound where that is less."""
ENTRIES = {"criteria": 4.0}
"""How many entries of a list embedded models give; else half-way between the bounds."""
TRUE = 0.85
"""How often they say that a thing is so; that all is said they also say by saying the same again."""
OTHER = ""
"""What stands for all fields that these do not name."""
BELIEVED = 2
"""How many replies these count for beside those of the journal."""


@dataclass(frozen=True, slots=True)
class Habits:
    """What a model's replies are like, by the name of a field; see :func:`kind`.

    Attributes:
        lengths: Characters of a text, mean.
        entries: Entries of a list, mean.
        true: How often a truth value is true, 0 to 1.
        replies: Replies in the journal that this rests on.
    """

    lengths: Mapping[str, float] = field(default_factory=lambda: LENGTHS)
    entries: Mapping[str, float] = field(default_factory=lambda: ENTRIES)
    true: Mapping[str, float] = field(default_factory=dict)
    replies: int = 0

    def length(self, name: str, bound: int) -> int:
        """Characters of a text in a field of this name, of ``bound`` at most."""
        known = self.lengths.get(kind(name), self.lengths.get(OTHER, min(REST, SHARE * bound)))
        return min(bound, round(known))


def habits_of(lm: LanguageModel, kept: Iterable[tuple[str, str]]) -> Habits:
    """A model's habits, from its replies in the journal; what these do not show is as with the embedded models.

    Args:
        lm: The model.
        kept: Requests and replies as the journal keeps them; those of other models are passed over.
    """
    texts: dict[str, list[float]] = defaultdict(list)
    lists: dict[str, list[float]] = defaultdict(list)
    truths: dict[str, list[float]] = defaultdict(list)

    said: set[str] = set()

    def note(value: Any, name: str) -> None:
        if isinstance(value, dict):
            if value.get("complete") is False and str(value.get("observations")) in said:
                value = {**value, "complete": True}
            said.add(str(value.get("observations", "")))
            for inner, one in value.items():
                note(one, inner)
        elif isinstance(value, list):
            lists[kind(name)].append(len(value))
            for one in value:
                note(one, OTHER)
        elif isinstance(value, bool):
            truths[kind(name)].append(value)
        elif isinstance(value, str):
            texts[kind(name)].append(len(value))
            if kind(name) not in LENGTHS and name:
                texts[OTHER].append(len(value))

    replies = 0
    for request, reply in kept:
        if (filled := _form(request, reply, lm.identity)) is not None:
            replies += 1
            note(filled, OTHER)
    believed = dict.fromkeys(truths, TRUE)
    return Habits(_means(texts, LENGTHS), _means(lists, ENTRIES), _means(truths, believed), replies)


def kind(name: str) -> str:
    """What fields are alike by: their name without a number behind it."""
    return name.rstrip("_0123456789")


def _form(request: str, reply: str, identity: object) -> dict[str, Any] | None:
    """The form that a reply of this model fills in, or None where it is of another, or no form."""
    try:
        if orjson.loads(request)["model"] != identity:
            return None
        text = orjson.loads(reply)["text"]
        found, _ = json.JSONDecoder().raw_decode(text, text.index("{"))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _means(seen: Mapping[str, list[float]], believed: Mapping[str, float]) -> dict[str, float]:
    """The mean of what was seen under every name and of ``BELIEVED`` values as believed, where anything is."""
    means = dict(believed)
    for name, values in seen.items():
        weight = BELIEVED if name in believed else 0
        means[name] = (sum(values) + weight * believed.get(name, 0.0)) / (len(values) + weight)
    return means
