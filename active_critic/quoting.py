"""Quoting: text under evaluation as it may stand in a prompt."""

from __future__ import annotations

import re

_UNSEEN = (
    r"\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164"
    r"\ufe00-\ufe0f\ufeff\uffa0\U000e0000-\U000e0fff"
)
_GAP = rf"[\s{_UNSEEN}]*+"  # possessive: a text of blanks costs no more than any other
_NOTHING = rf"[{_UNSEEN}]*+"
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
    "start_of_turn",
    "end_of_turn",
)
_BRACKETED_NAMES = ("INST", "SYSTEM_PROMPT", "AVAILABLE_TOOLS", "TOOL_RESULTS")
_HIDDEN_NAMES = "|".join(_GAP.join(name) for name in _NAMES)
_HIDDEN_BRACKETED_NAMES = "|".join(_NOTHING.join(name) for name in _BRACKETED_NAMES)
_MARKS = re.compile(
    rf"<(?={_GAP}/?{_GAP}(?:{_HIDDEN_NAMES})\b|{_GAP}[|\uff5c]|{_NOTHING}<{_GAP}/?{_GAP}{_NOTHING.join('SYS')})"
    rf"|\[(?={_GAP}/?{_GAP}(?:{_HIDDEN_BRACKETED_NAMES})\b|{_NOTHING}\[{_GAP}#{_NOTHING}#)",
    re.IGNORECASE,
)


def quote(text: str) -> str:
    """Untrusted text, harmless: it cannot close its own marks, open a turn of the conversation or pose as a field.

    A space is put behind the bracket of everything that looks like one of our marks, a chat template's special token
    or a field header of DSPy's; nothing else is changed.
    """
    return _MARKS.sub(lambda mark: mark.group() + " ", text)
