"""Messages as chat APIs and ShareGPT write them, in the place of texts."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from active_critic.data.ways import decoded, names_in

_SHARED = {"human": "user", "user": "user", "gpt": "assistant", "assistant": "assistant", "chatgpt": "assistant"}
_SHARED |= {"system": "system", "tool": "tool", "function_call": "assistant", "observation": "tool"}
"""Roles of ShareGPT's messages, which have ``from`` and ``value`` in the place of ``role`` and ``content``."""


def message_in(cell: Any) -> Any:
    """A message as chat APIs have it, also where ShareGPT or OpenAI's Responses write it; any other cell as it is."""
    if not isinstance(cell, Mapping) or cell.keys() & {"role", "content"}:
        return cell
    if {"from", "value"} <= cell.keys():
        role = _SHARED.get(str(cell["from"]).strip().casefold())
        return cell if role is None else {"role": role, "content": cell["value"]}
    if cell.get("type") == "function_call_output":
        return {"role": "tool", "content": cell.get("output")}
    return {"role": "assistant", "content": [cell]} if cell.get("type") in ("function_call", "reasoning") else cell


def conversation(cell: Any) -> str | None:
    """The text of a list of messages, as chat APIs or ShareGPT write them, or of one message; None where it is none.

    A text that holds them as JSON, as a CSV file has them, is such a list, too, if every one of them has a role. Calls
    of tools stand in it as ``[calls NAME(ARGUMENTS)]``; turns without any text are left out.
    """
    given, cell = cell, message_in(decoded(cell))
    if isinstance(cell, dict) and {"role", "content"} <= cell.keys():
        cell = [cell]
    if not isinstance(cell, list) or not cell:
        return None
    cell = [message_in(one) for one in cell]
    if isinstance(given, str) and not all(isinstance(one, Mapping) and "role" in one for one in cell):
        return None
    said = []
    for message in cell:
        if not isinstance(message, Mapping) or not message.keys() & {"content", "tool_calls"}:
            return None
        if not isinstance(message.get("content"), str | list | None):
            return None
        texts = [text for part in _parts(message) if (text := _text_of(part)) is not None]
        if texts:
            said.append((str(message.get("role") or "").strip(), "\n".join(filter(None, texts))))
    if len(cell) == 1:
        return said[0][1] if said else ""
    return "\n\n".join(f"{role}: {content}" if role else content for role, content in said)


def are_messages(cell: Any) -> bool:
    """Whether this is, or was meant to be, one message or a list of them."""
    if not isinstance(cell, Mapping | list):
        return False
    said = [message_in(one) for one in ([cell] if isinstance(cell, Mapping) else cell)]
    return all(isinstance(one, Mapping) and "role" in one for one in said) and any("content" in one for one in said)


def has_more_than_texts(cell: Any) -> bool:
    """Whether this is a conversation that also holds what is no text, such as pictures."""
    if conversation(cell) is None:
        return False
    cell = message_in(decoded(cell))
    parts = (part for one in (cell if isinstance(cell, list) else [cell]) for part in _parts(message_in(one)))
    return any(part is not None and _text_of(part) is None for part in parts)


def ways_to_texts(way: str, cell: Any) -> list[str]:
    """The ways to what can be read, in a cell that ``way`` leads to: to a conversation as a whole, as to any text.

    Objects in a list go by what they are called; where they are not called anything, a way is named for the first that
    has it.
    """
    cell = decoded(cell)
    if not cell or not isinstance(cell, Mapping | list) or conversation(cell) is not None:
        return [way]
    if isinstance(cell, Mapping):
        return [name for part, said in cell.items() for name in ways_to_texts(f"{way}.{part}", said)]
    if not all(isinstance(entry, Mapping) for entry in cell):
        return [way]
    if called := names_in(cell):
        entries = zip(called, cell, strict=True)
        return [end for name, entry in entries for end in ways_to_texts(f"{way}.{name}", entry)]
    first = dict[str, int]()
    for place, entry in enumerate(cell):
        first |= {end: place for end in ways_to_texts("", entry) if end not in first}
    return [f"{way}.{place}{end}" for end, place in first.items()]


def _parts(message: Mapping[str, Any]) -> list[Any]:
    """What a message is made of: its content, or the refusal in the place of it, and its calls of tools."""
    content, calls = message.get("content"), message.get("tool_calls")
    content = message.get("refusal") if content is None else content
    return [*(content if isinstance(content, list) else [content]), *(calls if isinstance(calls, list) else [])]


def _text_of(part: Any) -> str | None:
    """A part of a message as text; None for what is none, such as a picture."""
    if isinstance(part, list):
        texts = [text for one in part if (text := _text_of(one)) is not None]
        return "\n".join(texts) if texts else None
    if not isinstance(part, Mapping):
        return part if isinstance(part, str) else None
    for name in ("text", "refusal"):
        if isinstance(part.get(name), str):
            return str(part[name])
    if part.get("type") == "tool_result":
        return _text_of(part.get("content"))
    call = part["function"] if isinstance(part.get("function"), Mapping) else part
    given = [call[name] for name in ("arguments", "input", "args") if name in call]  # as providers and libraries say it
    if not isinstance(call.get("name"), str) or (call is part and not given):
        return None
    said = given[0] if given else ""
    said = said if isinstance(said, str) else json.dumps(said, ensure_ascii=False, default=str)
    return f"[calls {call['name']}({said})]"
