"""A limit for a piece of work that has none of its own."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextvars import copy_context
from typing import TypeVar

Result = TypeVar("Result")


def within(seconds: float, work: Callable[[], Result]) -> Result:
    """What the work comes to, if it does so in time.

    A client whose limit is the wait for the next byte hangs for ever at a server that sends one now and then. Work
    that takes too long is left behind in a thread that does not keep the process alive.

    Args:
        seconds: How long to wait.
        work: What to do.

    Raises:
        TimeoutError: It took longer.
    """
    done: Future[Result] = Future()

    def run() -> None:
        try:
            done.set_result(work())
        except BaseException as problem:  # whatever it is, it belongs to whoever waits
            done.set_exception(problem)

    threading.Thread(target=copy_context().run, args=(run,), daemon=True).start()
    try:
        return done.result(seconds)
    except TimeoutError:
        if done.done():
            raise
        raise TimeoutError(f"no whole reply within {seconds:g} seconds") from None
