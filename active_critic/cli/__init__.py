"""The command line, ``active-critic``: one file a verb. Ctrl-C is watched for before anything large is imported."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

from active_critic.cli._interrupts import INTERRUPTED, watching
from active_critic.cli._streams import standing


def main(argv: Sequence[str] | None = None, *, opener: Callable[..., Any] | None = None) -> int:
    """Run the command line.

    Args:
        argv: Arguments; default: those of the process.
        opener: What opens the language model, called like :func:`active_critic.lm.open_lm`; for tests.

    Returns:
        The exit code (see ``_app.EXIT_CODES``).
    """
    with standing(), watching() as interrupts:
        try:
            from active_critic.cli._app import run

            return run(argv, opener, interrupts)
        except (Exception, KeyboardInterrupt) as problem:  # outside the verbs: while modules or arguments are read
            if not (interrupts.noticed or isinstance(problem, KeyboardInterrupt)):
                raise
            sys.stderr.write("interrupted\n")
            return INTERRUPTED
