"""What holds for one piece of work: in the thread that does it and those that help it, while others go on as before."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Generic, TypeVar
from weakref import WeakSet

Value = TypeVar("Value")

_HERE: ContextVar[Mapping[Any, Any] | None] = ContextVar("here", default=None)
_BLOCKS: ContextVar[tuple[_Block, ...]] = ContextVar("blocks", default=())


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


class _Block:
    """A ``with`` block, which is open until it ends, in whatever thread it does."""

    __slots__ = ("open",)

    def __init__(self) -> None:
        self.open = True


class Blocks(Generic[Value]):
    """Values of an object, each for a ``with`` block; blocks of several threads may begin and end in any order.

    There is no lock: an abandoned stream ends its block whenever garbage is collected, maybe in a thread that holds it.
    """

    def __init__(self) -> None:
        self._open: dict[_Block, Value] = {}  # the oldest first
        _EVERY.add(self)

    @property
    def own(self) -> Sequence[Value]:
        """The values of the blocks that this work is in, the outermost first."""
        if not self._open:
            return ()
        now = self._open.copy()
        return [now[block] for block in _BLOCKS.get() if block in now]

    @property
    def here(self) -> Sequence[Value]:
        """The same; for work that is in none, those of all blocks that are open.

        A thread that took over no context may have been begun in any of them.
        """
        return self.own or list(self._open.copy().values())

    @contextmanager
    def having(self, value: Value) -> Iterator[None]:
        """For the length of a ``with`` block, this is one of them."""
        block = _Block()
        try:
            self._open[block] = value
            _BLOCKS.set((*(other for other in _BLOCKS.get() if other.open), block))
            yield
        finally:
            block.open = False
            self._open.pop(block, None)
            _BLOCKS.set(tuple(other for other in _BLOCKS.get() if other.open))

    def _forked(self) -> None:
        """Go on, in a child, with the blocks of the thread that forked: no other came with it."""
        self._open = {block: value for block, value in self._open.items() if block in _BLOCKS.get()}


_EVERY: WeakSet[Blocks[Any]] = WeakSet()


def _all_forked() -> None:
    for blocks in list(_EVERY):
        blocks._forked()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_all_forked)
