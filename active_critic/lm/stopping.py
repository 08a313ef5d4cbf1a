"""Threads that work at once: when that ends before its time, none begins another call, and calls under way are kept."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from typing import Any

_STOPPED: ContextVar[threading.Event | None] = ContextVar("stopped", default=None)


@contextmanager
def threads(number: int) -> Iterator[ThreadPoolExecutor]:
    """So many threads for the length of a ``with`` block; what ends it, such as Ctrl-C, stops them.

    Jobs that have not begun are left. One that is under way goes on until its call is answered: the next that it would
    make raises (see :func:`check`). A model that such threads have asked can be asked again.
    A job has the context variables of whoever gives it.
    """
    stopped = threading.Event()
    with _Threads(number, stopped) as pool:
        try:
            yield pool
        except BaseException:
            stopped.set()
            pool.shutdown(wait=False, cancel_futures=True)
            raise


class _Threads(ThreadPoolExecutor):
    def __init__(self, number: int, stopped: threading.Event) -> None:
        super().__init__(number)
        self._stopped = stopped

    def submit(self, job: Any, /, *args: Any, **named: Any) -> Future[Any]:
        context = copy_context()
        context.run(_STOPPED.set, self._stopped)
        return super().submit(context.run, job, *args, **named)


@contextmanager
def stoppable() -> Iterator[threading.Event]:
    """For the length of a ``with`` block, this thread and what takes over its context are stopped by this event."""
    stopped = threading.Event()
    before = _STOPPED.set(stopped)
    try:
        yield stopped
    finally:
        _STOPPED.reset(before)


def check() -> None:
    """To be called before a call is made.

    Raises:
        CancelledError: The work that this thread belongs to has ended.
    """
    stopped = _STOPPED.get()
    if stopped is not None and stopped.is_set():
        raise CancelledError("the work that this call belongs to has ended")


def pause(seconds: float) -> None:
    """Wait so many seconds, or until the work that this thread belongs to has ended."""
    stopped = _STOPPED.get()
    if stopped is None:
        time.sleep(seconds)
    else:
        stopped.wait(seconds)
