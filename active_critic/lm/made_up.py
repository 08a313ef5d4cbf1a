"""Replies that are made up in a model's place: by a rehearsal, and by the scripted models of tests."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from active_critic.lm.reply import Turn, text_of
from active_critic.records import Usage

if TYPE_CHECKING:
    from dspy.lm15 import Request, TokenLogprob


def turns_of(request: Request) -> list[Turn]:
    """The conversation of a request."""
    turns: list[Turn] = [("system", text_of(request.system))] if request.system else []
    return turns + [("user" if m.role == "user" else "assistant", text_of(m)) for m in request.messages]


def tokens_used(turns: Sequence[Turn], text: str) -> Usage:
    """What a reply took, at four characters a token."""
    read = sum(len(said) for _, said in turns)
    return Usage(prompt_tokens=read // 4, completion_tokens=len(text) // 4 if text else 1)


def one_word(yes: float) -> tuple[str, tuple[TokenLogprob, ...]]:
    """A reply of "yes" or "no", and the probabilities of both.

    Args:
        yes: The probability of "yes", 0 to 1; drawn in a little from both ends.
    """
    from dspy.lm15 import TokenLogprob, TopLogprob

    yes = min(0.999, max(0.001, yes))
    top = tuple(TopLogprob(token=word, logprob=math.log(p)) for word, p in (("yes", yes), ("no", 1 - yes)))
    word = max(top, key=lambda alternative: alternative.logprob)
    return word.token, (TokenLogprob(word.token, word.logprob, top=top),)


def letters(text: str, value: float) -> tuple[TokenLogprob, ...]:
    """A reply letter by letter, every digit with the probabilities of the two levels around a value from 1 to 5."""
    from dspy.lm15 import TokenLogprob, TopLogprob

    low = min(4, int(value))
    levels = {str(low): 1 - (value - low), str(low + 1): value - low}
    top = tuple(TopLogprob(token=level, logprob=math.log(p)) for level, p in levels.items() if p > 0)
    return tuple(
        TokenLogprob(piece, math.log(levels.get(piece) or 1.0), top=top if piece.isdigit() else ()) for piece in text
    )


class Filler:
    """Fills in a JSON schema.

    Args:
        whole: The schema, with its definitions.
        value: From 1 to 5: how high numbers are within their bounds.
        saying: What every text begins with.
    """

    def __init__(self, whole: Mapping[str, Any], value: float, saying: str) -> None:
        self.saying = saying
        self.definitions = whole.get("$defs", {})
        self.value = value
        self.count = itertools.count(1)

    def fill(self, part: Mapping[str, Any], name: str = "") -> Any:
        """What stands in this part of the form, which has this name."""
        if "$ref" in part:
            return self.fill(self.definitions[part["$ref"].rsplit("/", 1)[-1]], name)
        if "anyOf" in part:
            return self.fill(part["anyOf"][0], name)
        kind = part.get("type")
        if kind == "object":
            return {inner: self.fill(schema, inner) for inner, schema in part.get("properties", {}).items()}
        if kind == "array":
            return [self.fill(part.get("items", {})) for _ in range(self.items(name, part))]
        if kind == "boolean":
            return self.truth(name)
        if kind in ("integer", "number"):
            return self._number(part)
        if "enum" in part:
            return part["enum"][0]
        return self.text(name, part)

    def _number(self, part: Mapping[str, Any]) -> int:
        levels = part.get("enum") or range(int(part.get("minimum", 1)), int(part.get("maximum", 5)) + 1)
        low, high = min(levels), max(levels)
        return round(low + (high - low) * (self.value - 1) / 4)

    def items(self, name: str, part: Mapping[str, Any]) -> int:
        """How many entries a list has."""
        del name
        return max(1, int(part.get("minItems", 2)))

    def truth(self, name: str) -> bool:
        """Whether a thing is so."""
        del name
        return True

    def text(self, name: str, part: Mapping[str, Any]) -> str:
        """A text, other than those before it."""
        del name
        number = next(self.count)
        longest = part.get("maxLength", 200)
        text = f"{self.saying}Quality {number} of the text, however long or short it may be."
        return text[:longest].rstrip(" .,")
