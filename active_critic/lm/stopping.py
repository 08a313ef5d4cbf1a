"""Threads that work at once: when that ends before its time, none begins another call, and calls under way are kept."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from typing import Any

WAKE = 0.05
"""Seconds after which a thread that waits for others looks whether Ctrl-C was pressed."""
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
        _AT_WORK.add(pool)
        try:
            yield pool
        except BaseException:
            pool.stop()
            raise
        finally:
            _AT_WORK.discard(pool)


def stop_all() -> None:
    """Stop all threads of :func:`threads`, and wait for their calls under way.

    For the end of a run after Ctrl-C: where that came to whoever takes the results, and not to whoever began the work,
    the threads would go on with what was given to them.
    """
    for pool in list(_AT_WORK):
        pool.stop()


class _Threads(ThreadPoolExecutor):
    def __init__(self, number: int, stopped: threading.Event) -> None:
        super().__init__(number)
        self._under_way: set[Future[None]] = set()
        self._stopped = stopped

    def stop(self) -> None:
        """Leave what has not begun, and wait for what is under way."""
        self._stopped.set()
        self.shutdown(wait=False, cancel_futures=True)
        until_done(list(self._under_way))

    def submit(self, job: Any, /, *args: Any, **named: Any) -> Future[Any]:
        context = copy_context()
        context.run(_STOPPED.set, self._stopped)

        def run() -> Any:
            ended: Future[None] = Future()  # kept here: Ctrl-C may come before whoever gives the job has its future
            self._under_way.add(ended)
            try:
                return context.run(job, *args, **named)
            finally:
                ended.set_result(None)
                self._under_way.discard(ended)

        return super().submit(run)


_AT_WORK: set[_Threads] = set()


def until_done(work: Iterable[Future[Any]]) -> None:
    """Wait for the end of some work, and for Ctrl-C: one that comes just as a thread begins to wait wakes it not."""
    left = list(work)
    while left := [future for future in left if not future.done()]:
        wait(left, WAKE)


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
