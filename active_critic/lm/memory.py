"""What is asked of which model, as canonical JSON: what is kept in the journal is found again by its hash."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import fields
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import orjson

from active_critic import errors

if TYPE_CHECKING:
    from dspy.lm15 import Request

Kept = TypeVar("Kept")


class Memory(Protocol):
    """Where replies that were paid for are kept (``journal.Journal`` is one)."""

    def recall(self, key: str) -> str | None:
        """What was kept under this key, or None."""

    def keep(self, key: str, request: str, reply: str) -> None:
        """Keep a reply, durably, before it is used."""


class Impossible(ValueError):
    """What is kept is whole, but no reply can be so: it is asked for anew, and kept under another key."""


def lasts(memory: Memory | None) -> bool:
    """Whether what is kept is still there when the process has ended; a memory of which that is not so says it."""
    return memory is not None and bool(getattr(memory, "lasts", True))


def alone(memory: Memory, key: str) -> AbstractContextManager[None]:
    """Keeps other processes from asking the same now, where the memory is one that can (``journal.Journal.asking``)."""
    asking: Callable[[str], AbstractContextManager[None]] | None = getattr(memory, "asking", None)
    return nullcontext() if asking is None else asking(key)


def chat(identity: Mapping[str, str], request: Request, sample: int) -> dict[str, Any]:
    """What a chat request asks of which model. Its form may not change: old journals are read by it."""
    config = {f.name: getattr(request.config, f.name) for f in fields(request.config)}
    asked: dict[str, Any] = {
        "model": identity,
        "system": request.system,
        "messages": [[message.role, _plain(message.parts)] for message in request.messages],
        "config": {name: value for name, value in config.items() if value is not None and value != ()},
        "sample": sample,
    }
    if request.tools:
        asked["tools"] = request.tools
    return asked


def weighing(
    identity: Mapping[str, str], turns: Sequence[tuple[str, str]], text: str, extensions: Mapping[str, Any]
) -> dict[str, Any]:
    """What a request for the likelihood of a text asks of which model. Its form may not change, either."""
    return {
        "model": identity,
        "likelihood": text,
        "of": "each token",  # older journals hold only the sum, under a key without this
        "messages": [list(turn) for turn in turns],
        "config": extensions,
    }


def canonical(asked: Mapping[str, Any], name: str) -> str:
    """What is asked as canonical JSON.

    Raises:
        RequestRefused: It holds something that has no such form (half a surrogate pair, for example).
    """
    try:
        return orjson.dumps(asked, default=_plain, option=orjson.OPT_SORT_KEYS).decode()
    except TypeError as problem:
        raise errors.RequestRefused(
            f"{name}: the request holds something that cannot be sent ({problem}); repair the text first"
        ) from None


def key_of(document: str) -> str:
    """The journal's key for what is asked: sha256 of the canonical JSON, as 64 hexadecimal digits."""
    return hashlib.sha256(document.encode()).hexdigest()


def read_kept(text: str, key: str, read: Callable[[str], Kept]) -> Kept:
    """What the journal kept, read back.

    Raises:
        Impossible: See there.
        JournalError: It is damaged.
    """
    try:
        return read(text)
    except Impossible:
        raise
    except (ValueError, KeyError, TypeError, AttributeError) as problem:
        raise errors.JournalError(
            f"a reply in the journal is damaged ({type(problem).__name__}, key {key}); delete that row, or move the "
            "journal away"
        ) from None


def _plain(value: object) -> Any:
    """What the journal's key is made from: one text part as its text, anything else with all that it holds."""
    if isinstance(value, tuple):
        only: Any = value[0] if len(value) == 1 else None
        return only.text if getattr(only, "type", None) == "text" else list(value)
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, (bytes, bytearray)):
        return {"sha256": hashlib.sha256(value).hexdigest()}
    raise TypeError(f"a {type(value).__name__}")
