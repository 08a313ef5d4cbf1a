"""Locks: on files, which the system takes back when a process ends, however it ends; and between threads."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from weakref import WeakSet


class OneAtATime:
    """Lets the threads of this process have a thing one after the other, by its name; other things do not wait.

    In a process that was forked nobody has anything: the threads that had it have stayed with the parent.
    """

    def __init__(self) -> None:
        self._begin()
        _ALL.add(self)

    def _begin(self) -> None:
        self._lock = threading.Lock()
        self._turns: dict[Hashable, tuple[threading.Lock, int]] = {}  # with how many have or want it

    @contextmanager
    def __call__(self, name: Hashable) -> Iterator[None]:
        """Have the thing of this name for the length of a ``with`` block."""
        with self._lock:
            turn, wanted = self._turns.get(name, (threading.Lock(), 0))
            self._turns[name] = turn, wanted + 1
        try:
            with turn:
                yield
        finally:
            with self._lock:
                turn, wanted = self._turns.pop(name, (turn, 0))
                if wanted > 1:
                    self._turns[name] = turn, wanted - 1


_ALL: WeakSet[OneAtATime] = WeakSet()


def _begin_all() -> None:
    for one in list(_ALL):
        one._begin()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_all)


if sys.platform == "win32":

    def try_lock(descriptor: int) -> bool:
        """Lock an open file for this process alone; False where another has it."""
        import msvcrt

        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

else:

    def try_lock(descriptor: int) -> bool:
        """Lock an open file for this process alone; False where another has it."""
        import fcntl

        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError:
            # A file system without locks: as if there were no other process.
            return True
        return True
