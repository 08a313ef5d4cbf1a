"""Quoting: text under evaluation as it may stand in a prompt."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import cache
from itertools import pairwise

UNSEEN = (
    r"\x00-\x08\x0e-\x1f\x7f-\x9f\u2800\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164"
    r"\ufe00-\ufe0f\ufeff\uffa0\U000e0000-\U000e0fff"
)
"""Characters that cannot be seen, as they stand in a class of a pattern."""
_GAP = rf"[\s{UNSEEN}]*+"  # possessive: a text of blanks costs no more than any other
_NOTHING = rf"[{UNSEEN}]*+"
_NAMES = (
    "source",
    "response",
    "reference",
    "system",
    "user",
    "assistant",
    "think",
    "s",
    "eos",
    "bos",
    "pad",
    "unk",
    "sop",
    "eop",
    "eoh",
    "eoa",
    "start_of_turn",
    "end_of_turn",
    "beginning_of_sentence",
    "end_of_sentence",
    "tool_call",
    "tool_calls",
    "tool_response",
    "seed:",
    "extra_id_#",
    "reserved_#",
    "special_#",
    "unused#",
)
_BRACKETED_NAMES = (
    "INST",
    "SYSTEM_PROMPT",
    "AVAILABLE_TOOLS",
    "TOOL_CALLS",
    "TOOL_RESULTS",
    "THINK",
    "gMASK",
    "UNUSED_TOKEN_#",
)
_BARRED_NAMES = ("system", "user", "assistant", "endofturn")


def _hidden(names: Iterable[str], between: str) -> str:
    """Any of the names with this between its letters; a # is a number, and what ends with a colon goes on."""
    spelt = (between.join("[0-9]" if letter == "#" else letter for letter in name) for name in names)
    return "|".join(name if name.endswith(":") else rf"{name}(?:\b|(?<=[0-9]))" for name in spelt)


@cache
def _marks() -> re.Pattern[str]:
    """What opens a mark; made when it is first needed, since that takes longer than most imports."""
    return re.compile(
        rf"<(?={_GAP}/?{_GAP}(?:{_hidden(_NAMES, _GAP)})|{_GAP}[|\uff5c]"
        rf"|{_GAP}[\w{UNSEEN}]{{1,40}}+[|\uff5c]{_NOTHING}>"
        rf"|{_NOTHING}<{_GAP}/?{_GAP}{_NOTHING.join('SYS')})"
        rf"|\[(?={_GAP}/?{_GAP}(?:{_hidden(_BRACKETED_NAMES, _NOTHING)})|{_NOTHING}\[{_GAP}#{_NOTHING}#"
        rf"|{_NOTHING}\|{_GAP}(?:{_hidden(_BARRED_NAMES, _NOTHING)})|{_NOTHING}e{_NOTHING}~{_NOTHING}\[)"
        rf"|\](?={_NOTHING}~{_NOTHING}(?:b|!b){_NOTHING}[\[\]])",
        re.IGNORECASE,
    )


LOOKALIKES = {
    code: plain
    for block in ((0x2100, 0x2150), (0x2460, 0x2500), (0xFE50, 0xFE70), (0xFF01, 0xFF5F), (0x1D400, 0x1D800))
    for code in range(*block)
    if len(plain := unicodedata.normalize("NFKC", chr(code))) == 1 and plain.isascii()
}
"""Wide, circled and mathematical forms of plain characters: some tokenisers read them as these."""


def quote(text: str) -> str:
    """Untrusted text, harmless: it cannot close its own marks, open a turn of the conversation or pose as a field.

    A space is put behind the bracket of everything that looks like one of our marks, a chat template's special token
    or a field header of DSPy's; nothing else is changed.
    """
    seen = text if text.isascii() else text.translate(LOOKALIKES)
    ends = [0, *(mark.end() for mark in _marks().finditer(seen)), len(text)]
    return " ".join(text[start:end] for start, end in pairwise(ends))


def marked(name: str, quoted: str) -> str:
    """A quoted text between its marks."""
    return f"<{name}>\n{quoted}\n</{name}>"
