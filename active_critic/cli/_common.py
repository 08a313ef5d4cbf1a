"""What the verbs share: the run that they belong to, and talking on standard error and standard output."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from active_critic.cli._interrupts import Interrupts
from active_critic.cli._streams import let_go_of_stderr

if TYPE_CHECKING:
    from rich.console import Console

    from active_critic.lm import LanguageModel
    from active_critic.protocols import Provenance
    from active_critic.records import Usage


UNSCORED = 7
"""The exit code where some items have no score."""
BELOW = 8
"""The exit code where all items have one, and their mean is below what ``--fail-under`` asks for."""
LOG_WIDE = 120
"""Columns of what is no terminal, such as a file or a pipe, unless ``COLUMNS`` says otherwise."""


@dataclass
class Session:
    """One run of the command line.

    Attributes:
        opener: What opens the language model; None: ``active_critic.lm.open_lm``, after the weights were fetched.
        opened: Whether the journal was opened, so that calls may have been paid for.
        journal: The journal's path, or None without one.
        added: Replies that this run has put into the journal; known when that is closed.
        model: The language model, once it is opened.
        interrupts: Whether Ctrl-C was pressed.
    """

    opener: Callable[..., Any] | None = None
    opened: bool = False
    journal: Path | None = None
    added: int = 0
    model: LanguageModel | None = None
    interrupts: Interrupts = field(default_factory=Interrupts)

    @property
    def answered(self) -> bool:
        """Whether the model, or the journal in its place, has answered anything; a request that failed did not."""
        from active_critic.records import Usage

        return replace(usage_of(self.model), calls=0) != Usage()


def usage_of(model: LanguageModel | None) -> Usage:
    """What a model has cost so far: nothing where there is none."""
    from active_critic.records import Usage

    return model.usage if model else Usage()


def name_of(model: LanguageModel | None) -> str:
    """What a result says of the model that made it."""
    from active_critic.evaluators.origins import NO_MODEL

    return model.name if model else NO_MODEL


def console(*, stderr: bool) -> Console:
    """A console that prints texts as they are: no markup, no highlighting, no emoji codes.

    What is no terminal is as wide wherever the command is run, so that a log or a file does not depend on that.
    """
    from rich.console import Console

    class Plain(Console):
        def on_broken_pipe(self) -> None:
            raise BrokenPipeError  # rich would end with exit code 1

        def print(self, *what: Any, **how: Any) -> None:
            try:
                super().print(*what, **how)
            except BrokenPipeError:
                raise
            except OSError:  # such as a full disk: what is said beside the results must not cost these
                if not stderr:
                    raise
                let_go_of_stderr()

    fixed = not (sys.stderr if stderr else sys.stdout).isatty() and not os.environ.get("COLUMNS", "").isdigit()
    return Plain(stderr=stderr, markup=False, highlight=False, emoji=False, width=LOG_WIDE if fixed else None)


def say(message: str, *, style: str = "", wrap: bool = True, quiet: bool = False) -> None:
    """Print a message on standard error, with ``wrap`` wrapped on a terminal; nothing in it can drive the terminal."""
    if quiet:
        return
    from rich.text import Text

    from active_critic.report import plain

    out = console(stderr=True)
    out.print(Text(plain(message, lines=True), style=style), soft_wrap=not (wrap and out.is_terminal))


def print_whole(text: str) -> None:
    """Print lines on standard output that are not broken where the terminal ends: commands are copied from there."""
    from rich.text import Text

    from active_critic.report import plain

    console(stderr=False).print(Text(plain(text, lines=True)), soft_wrap=True)


def show_notes(notes: Iterable[str], *, quiet: bool) -> None:
    """Print notes on standard error, each once."""
    for note in dict.fromkeys(notes):
        say(f"note: {note}", quiet=quiet)


def source_note(program: Provenance, fields: Mapping[str, str]) -> list[str]:
    """What to say where texts have a source and the examples of a fit had none, or the reverse."""
    said = program.unlike_source(bool(column := fields.get("source")))
    remedy = "--fields source=NAME says where it is"
    if column:
        remedy = f"fit again on examples with their sources, or leave it out with --fields source= (column {column!r})"
    return [f"texts are {said}; {remedy}"] if said else []


def print_json(document: Any) -> None:
    """Print one JSON document on standard output, in UTF-8 whatever the terminal's encoding."""
    from active_critic.data.writing import json_line

    sys.stdout.flush()
    sys.stdout.buffer.write(json_line(document))
    sys.stdout.buffer.flush()
