"""Quoting: text under evaluation as it may stand in a prompt."""

from __future__ import annotations

import re

_INVISIBLE = r"[\s\u00ad\u200b-\u200f\u2060-\u2064\ufeff]*"
_NAMES = (
    "source",
    "response",
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
_HIDDEN_NAMES = "|".join(_INVISIBLE.join(name) for name in _NAMES)
_MARKS = re.compile(
    rf"<(?={_INVISIBLE}/?{_INVISIBLE}(?:{_HIDDEN_NAMES})\b|{_INVISIBLE}[|\uff5c]|<{_INVISIBLE}/?{_INVISIBLE}SYS)"
    rf"|\[(?={_INVISIBLE}/?{_INVISIBLE}(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_RESULTS)\b|\[{_INVISIBLE}##)",
    re.IGNORECASE,
)


def quote(text: str) -> str:
    """Untrusted text, harmless: it cannot close its own marks, open a turn of the conversation or pose as a field.

    A space is put behind the bracket of everything that looks like one of our marks, a chat template's special token
    or a field header of DSPy's; nothing else is changed.
    """
    return _MARKS.sub(lambda mark: mark.group() + " ", text)
