"""Reading a structured reply: strict about what it says, and where each number stands among the tokens."""

from __future__ import annotations

import json
import math
import re
import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from active_critic.errors import UnreadableReply
from active_critic.lm.client import Reply, Token
from active_critic.protocols import Reading
from active_critic.records import ReadFrom

LOW_MASS = 0.5
"""Below this share of probability on the rating levels, an expectation is reported as doubtful."""

NEAR = 8
"""Signs, such as quotes, a colon and escapes, up to which a number behind a field's name is one for that field."""

_QUOTED = re.compile(r"<(source|response|reference)>\n(.*?)\n</\1>", re.DOTALL)
_SPACE = re.compile(r"\s*")
_NUMBER = re.compile(r"-?[0-9]+(?:\.\d+)?(?:[eE][+-]?\d+)?")
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_HALF_ESCAPE = re.compile(r"(?<!\\)((?:\\\\)*)\\(?:u[0-9a-fA-F]{0,3})?$")
_THOUGHT = re.compile(r"\s*<think>.*?</think>", re.DOTALL)
_THOUGHT_END = "</think>"
_OBJECT = re.compile(r'\{\s*"')
_FENCE = re.compile(r"\s*+(?:```)?(?:json)?\s*+", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Rating:
    """A rating as it was read.

    Attributes:
        value: On the rating levels; the expectation when read from probabilities.
        read_from: Where it was read.
        mass: Share of probability on the levels, or None when read from the text.
    """

    value: float
    read_from: ReadFrom
    mass: float | None = None


@dataclass(frozen=True, slots=True)
class Form:
    """A reply taken apart.

    Attributes:
        values: The JSON object: strings, numbers and one level of nested objects; a null is left out.
        spans: Offsets of every number among the joined tokens, by its path (``("scores", "Fluency")``); empty where
            there are no tokens, or where they say something else than the text.
        complete: Whether the object was closed; a reply that was cut off is not.
    """

    values: dict[str, Any]
    spans: dict[tuple[str, ...], tuple[int, int]]
    complete: bool


class _Scanner:
    """A JSON object reader that knows positions, keeps what is whole in a cut-off text, and refuses repeated keys."""

    def __init__(self, text: str, start: int) -> None:
        self.text = text
        self.start = self.at = start
        self.alone = False  # whether nothing but the object stands in the text, a thought and a code fence aside
        self.behind = False  # whether words stand before it, a thought aside
        self.spans: dict[tuple[str, ...], tuple[int, int]] = {}
        self.numbers: dict[tuple[str, ...], float] = {}
        self.cut = False

    def _skip(self) -> str:
        space = _SPACE.match(self.text, self.at)
        self.at = space.end() if space else self.at
        return self.text[self.at : self.at + 1]

    def object(self, path: tuple[str, ...] = ()) -> dict[str, Any]:
        values: dict[str, Any] = {}
        seen: set[str] = set()
        self.at += 1  # the brace
        if self._skip() == "}":
            self.at += 1
            return values
        while True:
            if self._skip() == "":
                self.cut = True
                return values
            key = self._string()
            if key is None:
                return values
            if key in seen:
                raise ValueError(f"the field {key!r} is given twice")
            seen.add(key)
            if self._skip() == "":
                self.cut = True
                return values
            if self.text[self.at] != ":":
                raise ValueError(f"no colon after the field {key!r}")
            self.at += 1
            value = self._value((*path, key))
            if value is not None:
                values[key] = value
            if self.cut:
                return values
            mark = self._skip()
            if mark == "":
                self.cut = True
                return values
            self.at += 1
            if mark == "}":
                return values
            if mark != ",":
                raise ValueError(f"{mark!r} where a comma or a closing brace belongs")

    def _string(self) -> str | None:
        found = _STRING.match(self.text, self.at)
        if found is None:
            if self.text[self.at] == '"':
                self.cut = True
                return None
            raise ValueError(f"{self.text[self.at]!r} where a field name or a text belongs")
        self.at = found.end()
        return _decoded(found.group())

    def _value(self, path: tuple[str, ...]) -> Any:
        mark = self._skip()
        if mark == "":
            self.cut = True
            return None
        if mark == '"':
            start = self.at
            text = self._string()
            if text is None:  # cut off inside a text: keep what there is of it
                return _decoded(_HALF_ESCAPE.sub(r"\1", self.text[start:]) + '…"')
            return text
        if mark == "{":
            if len(path) > 1:
                raise ValueError(f"the field {path[-1]!r} holds an object, not a number or a text")
            return self.object(path)
        if "null".startswith(self.text[self.at : self.at + 4]):
            self.cut = self.at + 4 > len(self.text)
            self.at += 4
            return None
        number = _NUMBER.match(self.text, self.at)
        if number is None:
            raise ValueError(f"the field {path[-1]!r} holds neither a number nor a text")
        if number.end() == len(self.text):  # more digits might have followed
            self.cut = True
            return None
        self.at = number.end()
        self.spans[path] = number.span()
        value = float(number.group())
        if not math.isfinite(value):
            raise ValueError(f"the field {path[-1]!r} is not a finite number")
        self.numbers[path] = value
        return value


def _decoded(literal: str) -> str:
    """The text that a JSON string stands for; half a surrogate pair, which no file could hold, becomes a ``?``."""
    text: str = json.loads(literal, strict=False)
    return text.encode(errors="replace").decode()


def read_form(reply: Reply, *, first: str, shown: str = "") -> Form:
    """Take a reply apart.

    Text around the object (a code fence, a remark) is passed over; the object is the one that begins with the expected
    field, and nothing inside its texts is ever taken for a field. What is whole in a reply that was cut off is kept; a
    number at the very end of such a reply is not, since more digits might have followed. Nor is an object behind other
    words, in a reply that was cut off: it may be a draft in a thought that a chat template opened.

    Args:
        reply: What the model answered.
        first: The field that the object begins with. Where the reply is nothing but the object, a thought before it and
            a code fence aside, it may stand anywhere in it: some endpoints that enforce a schema sort its fields.
        shown: The material that the model was shown. An object that stands among other words is a quotation where it
            stands in there too, and may be one where a text that is to be rated gives one of its fields a number: the
            model's own may never have come. So may be an end of a thought that stands in there.

    Raises:
        UnreadableReply: There is no such object, or two that differ, or it is malformed or a quotation, or a field is
            repeated.
    """
    planted = _THOUGHT_END in reply.text and _THOUGHT_END in _visible(shown)

    def only_object(text: str) -> tuple[_Scanner, dict[str, Any]]:
        return _only_object(text, first, planted=planted)

    try:
        scanner, values = only_object(reply.text)
        if shown and not scanner.alone and _visible(reply.text[scanner.start : scanner.at]) in _visible(shown):
            raise ValueError(f"the JSON object that begins with {first!r} is quoted from what is to be rated")
        if shown and not scanner.alone and (name := _suggested(scanner, shown)):
            said = f"words stand around the JSON object, and what is to be rated tells a number for {name!r}"
            raise ValueError(f"{said}: it may be quoted")
        if reply.finish_reason == "length" and scanner.behind:
            raise ValueError(f"the words around the JSON object that begins with {first!r} were cut off")
    except ValueError as problem:
        raise UnreadableReply(str(problem), reply=reply.text) from None
    return Form(values, _spans_among_tokens(reply.tokens, only_object, scanner), not scanner.cut)


def thought_end(text: str) -> int:
    """Where a reply goes on behind the ``<think>`` draft that it begins with; 0 where it begins with none.

    Raises:
        ValueError: The draft was not ended, so that nothing stands behind it.
    """
    thought = _THOUGHT.match(text)
    if thought is None and text.lstrip().startswith("<think>"):
        raise ValueError("the reply is a thought that was not ended")
    return thought.end() if thought else 0


def _answer_begin(text: str, *, planted: bool) -> int:
    """Where a reply goes on behind a thought, which a chat template may have opened so that only its end is seen.

    Args:
        text: The reply.
        planted: Whether the material holds an end of a thought: one that the reply did not open may be quoted.

    Raises:
        ValueError: The thought was not ended.
    """
    begin = thought_end(text)
    if begin or planted:
        return begin
    at, end = 0, text.find(_THOUGHT_END)
    while end >= 0:
        opened = _OBJECT.search(text, at, end)
        if opened is None:
            begin = at = end + len(_THOUGHT_END)
        else:
            scanner = _Scanner(text, opened.start())
            try:
                scanner.object()
                # Where it stands in a text of an object, it ends none; nor in one of an answer that was cut off there.
                answer = scanner.cut and _FENCE.fullmatch(text, begin, opened.start())
                at = len(text) if answer else scanner.at
            except ValueError:
                at = min(max(scanner.at, opened.end()), end)
        if at > end:
            end = text.find(_THOUGHT_END, at)
    return begin


def _lone_object(text: str, begin: int, first: str) -> tuple[_Scanner, dict[str, Any]] | None:
    """The object that all of the text from there on is, a code fence aside; None where it is something else.

    Nor is it the form where it is whole and lacks the field that comes ``first`` in that.
    """
    fence = _FENCE.match(text, begin)
    start = fence.end() if fence else begin
    if text[start : start + 1] != "{":
        return None
    scanner = _Scanner(text, start)
    with suppress(ValueError):
        values = scanner.object()
        scanner.alone = scanner.cut or bool(_FENCE.fullmatch(text, scanner.at))
        return (scanner, values) if scanner.alone and (scanner.cut or first in values) else None
    return None


def _only_object(text: str, first: str, *, planted: bool = False) -> tuple[_Scanner, dict[str, Any]]:
    """The object that the reply is nothing but, or else the one that begins with the expected field.

    Raises:
        ValueError: There is none, it is malformed, or a later one has other numbers: then one of them is a quotation.
    """
    begin = _answer_begin(text, planted=planted)
    if alone := _lone_object(text, begin, first):
        return alone
    opening = re.compile(r'\{\s*"' + re.escape(first) + '"')
    found = opening.search(text, begin)
    if found is None:
        raise ValueError(f"the reply holds no JSON object that begins with {first!r}")
    scanner = _Scanner(text, found.start())
    values = scanner.object()
    at = scanner.at
    around = (text[begin : found.start()], "" if scanner.cut else text[at:])
    scanner.alone = all(map(_FENCE.fullmatch, around))
    scanner.behind = not _FENCE.fullmatch(around[0])
    while other := opening.search(text, at):
        rival = _Scanner(text, other.start())
        with suppress(ValueError):
            rival.object()
        lacks = not rival.cut and not rival.numbers.keys() >= scanner.numbers.keys()
        if lacks or any(scanner.numbers.get(path) != number for path, number in rival.numbers.items()):
            raise ValueError(f"the reply holds two JSON objects that begin with {first!r} and differ")
        at = max(rival.at, other.end())
    if not scanner.alone:
        _refuse_others(scanner, begin)
    return scanner, values


def _refuse_others(read: _Scanner, begin: int) -> None:
    """See that no other object in a reply, in whatever order its fields are, gives one of the same fields a number.

    Raises:
        ValueError: One does, and another number: then one of the two is a draft or a quotation.
    """
    for at, end in ((begin, read.start), (read.at, len(read.text))):
        while other := _OBJECT.search(read.text, at, end):
            rival = _Scanner(read.text, other.start())
            with suppress(ValueError):
                rival.object()
            for path, number in rival.numbers.items():
                if read.numbers.get(path, number) != number:
                    raise ValueError(f"the reply holds two JSON objects that differ in {path[-1]!r}")
            at = max(rival.at, other.end())


def _suggested(read: _Scanner, shown: str) -> str | None:
    """The first rated field of an object that a text of the item, which comes last, gives a number in whatever form."""
    texts = _visible(" ".join(dict(_QUOTED.findall(shown)).values()))
    for name in dict.fromkeys(key for path in read.numbers for key in path):
        named = re.escape(_visible(name))
        if named and re.search(rf"{named}[^a-z\d]{{0,{NEAR}}}\d", texts):
            return name
    return None


def _visible(text: str) -> str:
    """A text without blanks and what cannot be seen, lookalikes and capitals evened out: few quotations are exact."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return "".join(c for c in folded if not c.isspace() and unicodedata.category(c) not in ("Cf", "Mn"))


def _spans_among_tokens(
    tokens: Sequence[Token], only_object: Callable[[str], tuple[_Scanner, Any]], read: _Scanner
) -> dict[tuple[str, ...], tuple[int, int]]:
    """Where the numbers that were read stand among the joined tokens, which may hold a code fence the text lacks.

    The last tokens may be lacking: one that begins with what the reply is to be stopped at is in none of its tokens.
    """
    stream = "".join(token.text for token in tokens)
    if read.text.startswith(stream):
        return {path: (start, end) for path, (start, end) in read.spans.items() if end <= len(stream)}
    try:
        scanner, _ = only_object(stream)
    except ValueError:
        return {}
    return scanner.spans if scanner.numbers == read.numbers else {}


def read_rating(reply: Reply, form: Form, path: tuple[str, ...], reading: Reading) -> Rating:
    """Read one rating: the expectation over the level tokens where that is asked for and possible, else the number.

    With probabilities p over the levels r, the rating is sum(p * r) / sum(p), as in G-Eval's Eq. 1.

    Raises:
        UnreadableReply: The field is missing, not a number, or off the levels.
    """
    value: Any = form.values
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    if not isinstance(value, float):
        raise UnreadableReply(f"no number for {path[-1]!r}", reply=reply.text)
    if not reading.low <= value <= reading.high:
        raise UnreadableReply(
            f"{value:g} for {path[-1]!r} is not between {reading.low} and {reading.high}", reply=reply.text
        )
    if reading.source == "probabilities":
        token = _token_at(reply.tokens, form.spans.get(path))
        weights = {} if token is None else level_weights(token, reading.levels)
        mass = sum(weights.values())
        if mass > 0:
            expectation = sum(level * p for level, p in weights.items()) / mass
            return Rating(expectation, "probabilities", min(mass, 1.0))
    return Rating(value, "text")


def level_weights(token: Token, levels: range) -> dict[int, float]:
    """Probability of each rating level at a token; tokens that differ only in white space count together.

    Where a form is enforced, the token that was written need not be among the likeliest: it counts beside levels that
    are, unless one of its level and its probability is among them, with a space or without. What is listed twice counts
    once. Empty when no level is listed, or when levels of two digits are possible but none is seen: a model that writes
    numbers digit by digit has put the probability of 10 on "1".
    """
    listed = [(level, p) for text, p in dict.fromkeys(token.top) if (level := _level(text, levels)) is not None]
    written = _level(token.text, levels)
    if listed and written is not None and (written, token.logprob) not in listed and token.text not in dict(token.top):
        listed.append((written, token.logprob))
    weights: dict[int, float] = {}
    for level, logprob in listed:
        weights[level] = weights.get(level, 0.0) + math.exp(logprob)
    return weights if levels[-1] < 10 or any(level >= 10 for level in weights) else {}


def _level(text: str, levels: range) -> int | None:
    """The rating level that a token is, white space aside."""
    digits = text.strip()
    short = len(digits) < 10  # Python reads no number of some thousand digits
    return int(digits) if short and digits.isascii() and digits.isdigit() and int(digits) in levels else None


def _token_at(tokens: Sequence[Token], span: tuple[int, int] | None) -> Token | None:
    """The token that holds exactly the number at this span (white space aside), if there is one."""
    if span is None:
        return None
    ends = list(accumulate(len(token.text) for token in tokens))
    index = bisect_right(ends, span[0])
    start = ends[index] - len(tokens[index].text)
    before, number = tokens[index].text[: span[0] - start], tokens[index].text[span[0] - start :]
    if before.strip() or len(number.rstrip()) != span[1] - span[0]:
        return None
    return tokens[index]
