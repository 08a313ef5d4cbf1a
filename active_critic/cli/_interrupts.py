"""Ctrl-C, noticed whatever becomes of the exception that it raises."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

INTERRUPTED = 130
"""The exit code after Ctrl-C."""


class Interrupts:
    """Handles Ctrl-C as Python does, and takes note of it.

    A ``KeyboardInterrupt`` that comes while a module is imported or a schema is built may arrive as another exception,
    which holds no trace of it: so it is the note that tells.

    Attributes:
        noticed: Whether there was a Ctrl-C.
    """

    def __init__(self) -> None:
        self.noticed = False

    def __call__(self, *_: object) -> None:
        """Handle the signal."""
        self.noticed = True
        raise KeyboardInterrupt


@contextmanager
def watching() -> Iterator[Interrupts]:
    """Take note of every Ctrl-C in a ``with`` block; not where it is ignored, or handled by somebody else."""
    interrupts = Interrupts()
    ours = (
        threading.current_thread() is threading.main_thread()
        and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    )
    if ours:
        signal.signal(signal.SIGINT, interrupts)
    try:
        yield interrupts
    finally:
        if ours:
            signal.signal(signal.SIGINT, signal.default_int_handler)
