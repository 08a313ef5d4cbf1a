"""Standard output and standard error where there are none, as in a service that was started with them closed."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path


@contextmanager
def standing() -> Iterator[None]:
    """In a ``with`` block, what is written to a stream that is closed goes nowhere, as with ``print``."""
    with ExitStack() as stack:
        for name in ("stdout", "stderr"):
            if getattr(sys, name) is None:
                setattr(sys, name, stack.enter_context(Path(os.devnull).open("w", encoding="utf-8")))
                stack.callback(setattr, sys, name, None)
        yield


def let_go_of_stderr() -> None:
    """Have what is still to be written to standard error go nowhere, as it cannot be written where it should."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, sys.stderr.fileno())
    os.close(null)
