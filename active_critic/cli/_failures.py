"""How a command ends when something goes wrong: one readable message, and an exit code."""

from __future__ import annotations

import traceback
from typing import TYPE_CHECKING

from active_critic import errors
from active_critic.cli._interrupts import INTERRUPTED

if TYPE_CHECKING:
    from active_critic.cli._common import Session

UNEXPECTED = 1
CODES: tuple[tuple[type[Exception], int], ...] = (
    (errors.MissingExtra, 2),
    (errors.DataError, 3),
    (errors.ModelError, 4),
    (errors.ProtocolError, 5),
    (errors.JournalError, 5),
    (errors.OutputError, 5),
    (OSError, 5),
    (errors.FitError, 6),
)
"""Exit code by error; the first that fits counts."""
_PASSING = (
    errors.AuthenticationFailed,
    errors.BillingStopped,
    errors.EndpointDown,
    errors.RateLimited,
    errors.OutputError,
    MemoryError,
)
"""What may be put right from outside, so that the same command goes on."""


def explain(problem: BaseException, session: Session | None) -> int:
    """Say on standard error what went wrong, and return the exit code; whatever comes after Ctrl-C is due to it."""
    from active_critic.cli._common import say

    if isinstance(problem, KeyboardInterrupt) or (session is not None and session.interrupts.noticed):
        say(_interrupted(session))
        code = INTERRUPTED
    elif isinstance(problem, errors.ActiveCriticError | OSError):
        code = next((code for kind, code in CODES if isinstance(problem, kind)), UNEXPECTED)
        say(f"error: {_said(problem)}", style="red")
    elif isinstance(problem, MemoryError):
        code = UNEXPECTED
        remedy = "split the file, or leave out rows"
        if session is not None and session.opened:
            remedy = "use fewer --workers, or split or shorten the items"
        say(f"error: there is not enough memory; {remedy}", style="red")
    else:
        code = UNEXPECTED
        say("".join(traceback.format_exception(problem)).rstrip())
        say("error: this should not have happened; please report it, with the lines above", style="red")
    for note in getattr(problem, "__notes__", ()):
        say(note)
    passing = isinstance(problem, _PASSING) and code != INTERRUPTED
    if passing and session is not None and session.journal is not None and session.answered:
        say(f"everything paid for {_in_the_journal(session)}; run the same command again to go on")
    return code


def _said(problem: BaseException) -> str:
    if isinstance(problem, OSError):
        where = f"{problem.filename}: " if problem.filename else ""
        return f"{where}{problem.strerror or problem}"
    return str(problem) or type(problem).__name__


def _interrupted(session: Session | None) -> str:
    if session is None or not session.opened:
        return "interrupted"
    return f"interrupted; {_next(session, 'everything paid for')}"


def stopped(session: Session) -> str:
    """What to say where a second Ctrl-C ends a run at once, whatever is in flight."""
    return f"stopped; the calls in flight are not kept, {_next(session, 'everything answered before')}"


def _next(session: Session, kept: str) -> str:
    if session.journal is None:
        return "no journal was kept, so the same command begins anew"
    return f"{kept} {_in_the_journal(session)}, run the same command again to go on"


def _in_the_journal(session: Session) -> str:
    """That it is there, and how many replies that are, where it is known."""
    from active_critic.cli._common import usage_of
    from active_critic.figures_in_words import how_many

    taken = usage_of(session.model).replayed
    parts = [f"{how_many(session.added, 'reply', 'replies')} added in this run"] * (session.added > 0)
    parts += [f"{taken:,} taken from it"] * (taken > 0)
    number = f" ({', '.join(parts)})" if parts else ""
    return f"is in the journal{number}"
