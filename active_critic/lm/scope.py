"""What holds for one piece of work: in the thread that does it and those that help it, while others go on as before."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Generic, TypeVar

Value = TypeVar("Value")

_HERE: ContextVar[Mapping[Any, Any] | None] = ContextVar("here", default=None)
_BLOCKS: ContextVar[tuple[object, ...]] = ContextVar("blocks", default=())


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


class Blocks(Generic[Value]):
    """Values of an object, each for a ``with`` block; blocks of several threads may begin and end in any order."""

    def __init__(self) -> None:
        self._open: dict[object, Value] = {}  # by block, the oldest first
        self._lock = threading.Lock()

    @property
    def own(self) -> Sequence[Value]:
        """The values of the blocks that this work is in, the outermost first."""
        if not self._open:
            return ()
        with self._lock:
            return [self._open[block] for block in _BLOCKS.get() if block in self._open]

    @property
    def here(self) -> Sequence[Value]:
        """The same; for work that is in none, those of all blocks that are open.

        A thread that took over no context may have been begun in any of them.
        """
        if own := self.own:
            return own
        with self._lock:
            return list(self._open.values())

    @contextmanager
    def having(self, value: Value) -> Iterator[None]:
        """For the length of a ``with`` block, this is one of them."""
        block = object()
        with self._lock:
            self._open[block] = value
        _BLOCKS.set((*_BLOCKS.get(), block))
        try:
            yield
        finally:
            with self._lock:
                del self._open[block]
            _BLOCKS.set(tuple(other for other in _BLOCKS.get() if other is not block))
