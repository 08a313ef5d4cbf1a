"""What holds for one piece of work: in the thread that does it and those that help it, while others go on as before."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Generic, TypeVar

Value = TypeVar("Value")

_HERE: ContextVar[Mapping[Any, Any] | None] = ContextVar("here", default=None)


class Scoped(Generic[Value]):
    """A value of an object that a piece of work may have otherwise.

    Threads that are begun within the work have it too where they take over its context: those of ``stopping.threads``
    and of ``deadline`` do.

    Args:
        usual: What it is outside of any such work.
    """

    def __init__(self, usual: Value) -> None:
        self._usual = usual

    @property
    def now(self) -> Value:
        """What it is here."""
        found: Value = (_HERE.get() or {}).get(self, self._usual)
        return found

    @contextmanager
    def being(self, value: Value) -> Iterator[None]:
        """For the length of a ``with`` block, in which no generator may hand out anything, it is this."""
        before = _HERE.set({**(_HERE.get() or {}), self: value})
        try:
            yield
        finally:
            _HERE.reset(before)
