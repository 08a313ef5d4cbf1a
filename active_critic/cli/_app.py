"""The verbs put together, and how each of them ends. Only typer is imported before a verb runs."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Sequence
from functools import cache
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from active_critic.cli import (
    agreement,
    compare,
    curve,
    datasets,
    fit,
    lm,
    means,
    probe,
    quickstart,
    score,
    show,
    suggest,
)
from active_critic.cli._common import Session
from active_critic.cli._interrupts import Interrupts
from active_critic.cli._verb import Verb

EXIT_CODES = """\b
Exit codes:
  0    all right
  1    unexpected; please report it
  2    usage, or an optional package is not installed
  3    the data cannot be used
  4    the model or its endpoint cannot be used
  5    a program, journal or output file cannot be read or written
  6    a fit is impossible with these examples and settings
  7    scored, but some items are left unscored
  8    all items are scored, and their mean is below --fail-under
  130  interrupted
  141  the reader of the output went away
  143  ended by SIGTERM; the same command goes on"""


class _Group(TyperGroup):
    """Turns every error raised on purpose into one message and an exit code."""

    def make_context(self, *args: Any, **kwargs: Any) -> Any:
        try:
            return super().make_context(*args, **kwargs)
        except Exception as problem:
            _quote(problem)
            raise

    def invoke(self, ctx: Any) -> Any:
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
            return result
        except BrokenPipeError:
            # What is still buffered has no reader; without this the interpreter complains about it at exit.
            with contextlib.suppress(OSError, ValueError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(141) from None
        except (Exception, KeyboardInterrupt) as problem:
            if isinstance(problem, typer.Exit | typer.Abort) or hasattr(problem, "format_message"):
                _quote(problem)
                raise
            from active_critic.cli._failures import explain

            raise typer.Exit(explain(problem, ctx.obj)) from None


def _quote(problem: BaseException) -> None:
    """Keep what a usage error quotes, such as a file's name, from driving the terminal."""
    said = getattr(problem, "message", "")
    if hasattr(problem, "format_message") and not all(map(str.isprintable, said.split("\n"))):
        from active_critic.report import plain  # half a second of imports

        problem.message = plain(said, lines=True)  # type: ignore[attr-defined]


app = typer.Typer(
    cls=_Group,
    name="active-critic",
    help="Learns to judge generated text the way your own people do, from a few outputs they scored.",
    epilog=EXIT_CODES,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("quickstart", cls=Verb)(quickstart.quickstart)
app.command("fit", cls=Verb)(fit.fit)
app.command("score", cls=Verb)(score.score)
app.command("show", cls=Verb)(show.show)
app.command("agreement", cls=Verb)(agreement.agreement)
app.command("means", cls=Verb)(means.means)
app.command("compare", cls=Verb)(compare.compare)
app.command("curve", cls=Verb)(curve.curve)
app.command("probe", cls=Verb, epilog=probe.NAMES, context_settings={"allow_extra_args": True})(
    probe.probe
)  # which refuses them
app.command("suggest", cls=Verb)(suggest.suggest)
app.add_typer(lm.app)
app.add_typer(datasets.app)


def _version(asked: bool) -> None:
    if asked:
        from active_critic import __version__

        typer.echo(f"active-critic {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    del version


@cache
def _command() -> Any:
    """The commands, which take long to put together: once, where the command line is run several times."""
    return typer.main.get_command(app)


def run(argv: Sequence[str] | None, opener: Callable[..., Any] | None, interrupts: Interrupts) -> int:
    """Run the command line; ``interrupts`` knows whether Ctrl-C was pressed, else see ``active_critic.cli.main``."""
    reconfigure = getattr(sys.stdout, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="backslashreplace")  # a terminal that lacks a character must not end the run
    session = Session(opener, interrupts=interrupts)
    try:
        _command()(args=None if argv is None else list(argv), obj=session, prog_name="active-critic")
    except SystemExit as end:
        if type(sys.stdout).__name__ == "PacifyFlushWrapper":  # how typer marks that the reader went away, with code 1
            return 141
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except OSError as problem:  # outside the verbs: the help cannot be written
        from active_critic.cli._failures import explain

        return explain(problem, session)
    return 0
