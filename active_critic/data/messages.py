"""Messages as chat APIs and ShareGPT write them, in the place of texts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from active_critic.data.ways import decoded

_SHARED = {"human": "user", "user": "user", "gpt": "assistant", "assistant": "assistant", "chatgpt": "assistant"}
_SHARED |= {"system": "system", "tool": "tool", "function_call": "assistant", "observation": "tool"}
"""Roles of ShareGPT's messages, which have ``from`` and ``value`` in the place of ``role`` and ``content``."""


def message_in(cell: Any) -> Any:
    """A message as chat APIs have it, also where it has ShareGPT's ``from`` and ``value``; any other cell as it is."""
    if isinstance(cell, Mapping) and {"from", "value"} <= cell.keys() and not cell.keys() & {"role", "content"}:
        role = _SHARED.get(str(cell["from"]).strip().casefold())
        return cell if role is None else {"role": role, "content": cell["value"]}
    return cell


def conversation(cell: Any) -> str | None:
    """The text of a list of messages, as chat APIs or ShareGPT write them, or of one message; None where it is none.

    A text that holds them as JSON, as a CSV file has them, is such a list, too, if every one of them has a role. Turns
    without a text, such as calls of tools, are left out.
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
        content = message.get("content") if isinstance(message, Mapping) else None
        if content is None and isinstance(message, Mapping) and message.keys() & {"content", "tool_calls"}:
            content = message.get("refusal")
            if content is None:
                continue
        if isinstance(content, list):  # in parts, of which pictures and the like say nothing here
            parts = [{"text": part} if isinstance(part, str) else part for part in content]
            content = "\n".join(str(part["text"]) for part in parts if isinstance(part, Mapping) and "text" in part)
        if not isinstance(content, str):
            return None
        said.append((str(message.get("role") or "").strip(), content))
    if len(cell) == 1:
        return said[0][1] if said else ""
    return "\n\n".join(f"{role}: {content}" if role else content for role, content in said)


def are_messages(cell: Any) -> bool:
    """Whether this is, or was meant to be, one message or a list of them."""
    if not isinstance(cell, Mapping | list):
        return False
    said = [message_in(one) for one in ([cell] if isinstance(cell, Mapping) else cell)]
    return all(isinstance(one, Mapping) and "role" in one for one in said) and any("content" in one for one in said)


def unread_in(cell: Any) -> set[str]:
    """What a conversation holds besides texts, in words; nothing for what is no conversation."""
    if conversation(cell) is None:
        return set()
    cell = message_in(decoded(cell))
    messages = [message_in(one) for one in (cell if isinstance(cell, list) else [cell])]
    parts = [part for message in messages if isinstance(said := message.get("content"), list) for part in said]
    calls = any(message.get("tool_calls") for message in messages)
    other = any(not isinstance(part, str) and not (isinstance(part, Mapping) and "text" in part) for part in parts)
    return {*["calls of tools"] * calls, *["parts without a text, such as pictures,"] * other}
