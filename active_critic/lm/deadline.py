"""How long a piece of work is waited for: no longer than a limit, or to its end though Ctrl-C was pressed."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, wait
from contextvars import ContextVar, copy_context
from queue import SimpleQueue
from typing import ClassVar, TypeVar

from active_critic.lm.stopping import stoppable, until_done

Result = TypeVar("Result")
_GIVEN_UP: ContextVar[threading.Event | None] = ContextVar("given_up", default=None)


class _Worker(threading.Thread):
    """A thread that does one piece of work after another, and does not keep the process alive."""

    idle: ClassVar[list[_Worker]] = []
    """Those without work. To start a thread for every call was a fifteenth of what a call is for this machine."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self._given: SimpleQueue[Callable[[], object]] = SimpleQueue()

    @classmethod
    def do(cls, work: Callable[[], object]) -> None:
        """Begin a piece of work, which raises nothing."""
        try:
            worker = cls.idle.pop()
        except IndexError:
            worker = cls()
            worker.start()
        worker._given.put(work)

    def run(self) -> None:
        while True:
            self._given.get()()
            self.idle.append(self)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_Worker.idle.clear)  # threads stay with the parent


def within(seconds: float, work: Callable[[], Result]) -> Result:
    """What the work comes to, if it does so in time.

    A client whose limit is the wait for the next byte hangs for ever at a server that sends one now and then. Work
    that takes too long is left behind in a thread that does not keep the process alive; it may ask :func:`given_up`.
    Whatever went wrong after that time counts as too long: a client whose own limit is as long as this one is told the
    same, whichever of the two came first.

    Args:
        seconds: How long to wait.
        work: What to do.

    Raises:
        TimeoutError: It took longer.
    """
    over = threading.Event()
    before = _GIVEN_UP.set(over)
    try:
        done, begin = _prepared(work)
    finally:
        _GIVEN_UP.reset(before)
    started = time.monotonic()  # before the client begins to wait, so that its limit is reached after this one
    begin()
    wait([done], seconds)
    in_time = time.monotonic() - started < seconds
    if done.done() and (in_time or done.exception() is None):
        return done.result()
    over.set()
    raise TimeoutError(f"no whole reply within {seconds:g} seconds")


def given_up() -> bool:
    """Whether the work that this is called in was left behind."""
    over = _GIVEN_UP.get()
    return over is not None and over.is_set()


def finished(work: Callable[[], Result]) -> Result:
    """What the work comes to, which Ctrl-C does not cut short: it is waited for, and then stops what comes after.

    It begins no further call itself, nor waits for one (see ``stopping``).
    Only the main thread is interrupted, so only there is the work done in another. A second Ctrl-C leaves it behind.
    """
    if threading.current_thread() is not threading.main_thread():
        return work()
    with stoppable() as stopped:
        done, begin = _prepared(work)
    try:
        begin()
        until_done([done])
        return done.result()
    except KeyboardInterrupt:
        stopped.set()
        if not done.cancel():  # it was begun
            until_done([done])
        raise


def _prepared(work: Callable[[], Result]) -> tuple[Future[Result], Callable[[], None]]:
    """What the work will have come to, and what begins it in another thread."""
    done: Future[Result] = Future()
    context = copy_context()

    def run() -> None:
        if not done.set_running_or_notify_cancel():
            return
        try:
            done.set_result(work())
        except BaseException as problem:  # whatever it is, it belongs to whoever waits
            done.set_exception(problem)

    return done, lambda: _Worker.do(lambda: context.run(run))
