"""Forgeries: parts of a text that pose as the judge's prompt or as its reply. Pure.

Such a part cannot be read as the reply (see ``reading``), nor leave its place in the prompt (see ``quoting``). But a
model that has read a filled-in form tends to repeat it, so a text should be judged without it, too.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from itertools import accumulate

from active_critic.quoting import LOOKALIKES, UNSEEN

_CYRILLIC = "\u0430\u0435\u043e\u0440\u0441\u0443\u0456\u0455\u0410\u0415\u041e\u0420\u0421\u0423\u0406\u0405"
_ALIKE = LOOKALIKES | str.maketrans(f"{_CYRILLIC}\u201c\u201d\u2018\u2019", "aeopcyisAEOPCYIS\"\"''")
_HIDDEN = re.compile(f"[{UNSEEN}]+")
_ROLE = r"(?:system|user|assistant|model|human)"
_ENDS = re.compile(
    r"<\s*+/\s*+response\s*+>"  # our own mark
    rf"|<\s*+[|\uff5c][^<>|\uff5c\n]{{1,40}}+[|\uff5c]\s*+>(?:\s*+{_ROLE}\b)?"  # those of chat templates
    rf"|<\s*+(?:start|end)_of_turn\s*+>(?:\s*+{_ROLE}\b)?"
    r"|</s>\s*+<s>|<s>\s*+(?=\[INST\])|\[/?(?:INST|SYSTEM_PROMPT)\]|<</?SYS>>"
    rf"|\[\|(?:{_ROLE}|endofturn)\|\]"
    rf"|^\#{{1,6}}+[ \t]*+{_ROLE}[ \t]*+:[ \t]*+$"
    r"|\[\[\s*+\#\#[^\[\]\n#]{1,60}+\#\#\s*+\]\]",  # headers of fields
    re.IGNORECASE | re.MULTILINE,
)
"""What says that the text is over; not what HTML and thoughts have, too (<s>, <think>)."""
_FIELD = re.compile(r"""["'](?:overall|ratings?|scores?)["']\s*+:\s*+["']?[\d{+-]""", re.IGNORECASE)
"""A rating in one of the forms that are asked for."""
_LINE = r"^(?:[^\w\n]|_)*+(?:(?:the|my|final|overall|json)[ _]++(?!:))*+"
_CALLED = r"(?:overall|rating|score|verdict|evaluation|assessment|judge?ment)s?"
_STATED = re.compile(
    rf"{_LINE}{_CALLED}(?:[ _]++{_CALLED})?[ \t*_]*+:[ \t*_]*+\d[\d.,]*+(?:[ \t]*+(?:/|out of|of)[ \t]*+\d++)?+"
    r"(?:[^\w\n]|_)*+$"
    r"|<(overall|ratings?|scores?)>\s*+\d[^<>\n]{0,20}+</\1>",
    re.IGNORECASE | re.MULTILINE,
)
"""A line that is nothing but a rating, or a tag with one."""
_BRACE = re.compile(r"[{}]|\n[ \t]*+\n")
_JUNK = " \t\\\"'}],;"
_WRAPPING = re.compile(
    rf"^```\w*+\s*+```[ \t]*+$|</?think>|{_LINE}{_CALLED}(?:[^\w\n]|_)*+$", re.IGNORECASE | re.MULTILINE
)
"""What is left around a form that was taken out."""


def without_forgeries(text: str) -> str | None:
    """A text without the parts that pose as the judge's prompt or reply; None where it has none.

    What closes the text (a mark of the prompt, of a chat template or of a field) ends it: where anything stands before
    the first of these marks, what stands behind it is left out, for by its own word it is no part of the text. A mark
    in quotation marks is only spoken of. Forms filled in as the reply is, and lines that are nothing but a rating, are
    taken out.

    Args:
        text: A text under evaluation.

    Returns:
        What is left, without blanks around it; empty where it is nothing else.
    """
    folded, place = _folded(text)
    marks = [0, *(at for mark in _ENDS.finditer(folded) if not _quoted(mark) for at in mark.span()), len(folded)]
    found = len(marks) > 2
    rest = ""
    for start, end in zip(marks[::2], marks[1::2], strict=True):
        spans = [(start + low, start + high) for low, high in _forms(folded[start:end])]
        found = found or bool(spans)
        edges = [start, *(at for span in spans for at in span), end]
        kept = (text[place(low) : place(high)] for low, high in zip(edges[::2], edges[1::2], strict=True))
        rest = "".join(kept).strip()
        rest = _WRAPPING.sub("", rest).strip() if spans else rest
        if rest:
            break
    return rest if found else None


def _quoted(mark: re.Match[str]) -> bool:
    """Whether a mark is only spoken of: it stands in quotation marks."""
    around = mark.string[max(0, mark.start() - 1) : mark.end() + 1]
    return around[0] == around[-1] and around[0] in "\"'`"


def _forms(text: str) -> Iterator[tuple[int, int]]:
    """Where ratings stand that are filled in as the judge fills them in, each from where to where, in order."""
    objects = _Objects(text)
    found = sorted((*_FIELD.finditer(text), *_STATED.finditer(text)), key=lambda match: match.start())
    done = 0
    for match in found:
        if match.start() >= done:
            low, high = match.span() if match.re is _STATED else objects.around(match.start(), done)
            yield low, high
            done = high


class _Objects:
    """Where braces open and close in a text; none is open across an empty line."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.places: list[int] = []  # of braces and empty lines
        self.inside: list[int | None] = []  # behind each of them, the innermost brace that is open
        self.closed: dict[int, int] = {}
        opened: list[int] = []
        for found in _BRACE.finditer(text):
            if found[0] == "{":
                opened.append(found.start())
            elif found[0] != "}":
                opened.clear()
            elif opened:
                self.closed[opened.pop()] = found.end()
            self.places.append(found.start())
            self.inside.append(opened[-1] if opened else None)

    def around(self, at: int, since: int) -> tuple[int, int]:
        """The object that a field stands in; else, or if it is not closed, from what leads up to it to the line's end.

        Args:
            at: Where the field stands.
            since: What stands before this is not looked at.
        """
        before = bisect_left(self.places, at) - 1
        low = self.inside[before] if before >= 0 else None
        if low is not None and low >= since and low in self.closed:
            return low, self.closed[low]
        line = self.text.find("\n", at)
        begun = self.text.rfind("\n", since, at) + 1
        if low is None or low < max(begun, since):
            low = since + len(self.text[since:at].rstrip(_JUNK))
        return low, len(self.text) if line < 0 else line


def _folded(text: str) -> tuple[str, Callable[[int], int]]:
    """A text in plain letters, without what cannot be seen; and where in the text a place of that is."""
    plain = text if text.isascii() else text.translate(_ALIKE)
    hidden = [run.span() for run in _HIDDEN.finditer(plain)]
    gone = [0, *accumulate(high - low for low, high in hidden)]
    seen = [low - before for (low, _), before in zip(hidden, gone, strict=False)]  # in the folded text

    def place(at: int) -> int:
        return at + gone[bisect_right(seen, at)]

    return _HIDDEN.sub("", plain), place
