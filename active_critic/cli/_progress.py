"""The progress display: what is being done, how far it is, and what it has cost."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Self

import typer

from active_critic.cli._common import console, usage_of
from active_critic.cli._interrupts import INTERRUPTED

if TYPE_CHECKING:
    from pathlib import Path

    from active_critic.lm import LanguageModel
    from active_critic.lm.catalogue import Model

WIDE = 100
"""Columns from which there is room for a bar."""


class Display:
    """Progress on standard error while work goes on; silent when that is no terminal. A context manager.

    Call it with what is being done, how much is done and how much there is at most (0: not known).

    Args:
        model: The model that works, whose cost is shown.
        quiet: Show nothing.
        total: How much there is, where the work itself does not know.
    """

    def __init__(self, model: LanguageModel | None, *, quiet: bool = False, total: int = 0) -> None:
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

        from active_critic.report import usage_words

        out = console(stderr=True)
        wide = out.width >= WIDE
        self._model = model
        self._words = usage_words
        self._total = total
        self._doing: str | None = None
        self._task: Any = None
        self._bar = Progress(
            TextColumn("{task.description}", markup=False),
            *((BarColumn(bar_width=20),) if wide else ()),
            TextColumn("{task.fields[amount]}", markup=False),
            TimeElapsedColumn(),
            TextColumn("{task.fields[left]}", markup=False),
            TimeRemainingColumn(),
            TextColumn("{task.fields[spent]}", markup=False),
            console=out,
            transient=True,
            disable=quiet or not sys.stderr.isatty() or out.is_dumb_terminal,
        )

    def __enter__(self) -> Self:
        self._bar.start()
        self("opening the model", 0, 0)
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def __call__(self, what: str, done: int, total: int) -> None:
        if self._bar.disable:
            return
        total = total or (self._total if done else 0)
        stage = what if total else None
        if self._task is None or stage != self._doing:
            if self._task is not None:
                self._bar.remove_task(self._task)
            self._task = self._bar.add_task(what, total=None, amount="", left="", spent="")
            self._doing = stage
        self._bar.update(
            self._task,
            description=what,
            completed=done,
            total=total or None,
            amount=f"{done:,}/{total:,}" if total else "",
            left="left" if total else "",
            spent=self._words(usage_of(self._model), short=True),
        )


def pull_with_progress(model: Model, *, quiet: bool = False) -> Path:
    """Fetch a model with a progress bar on standard error; nothing is shown when that is not a terminal.

    Args:
        model: What to fetch.
        quiet: Show nothing there either.

    Returns:
        The path of the verified file.

    Raises:
        DownloadFailed: No source delivered it.
        typer.Exit: Ctrl-C, after saying that the next pull goes on.
    """
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    from active_critic.lm.weights import is_pulled, local_path
    from active_critic.lm.weights import pull as fetch

    if is_pulled(model):
        return local_path(model)
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    try:
        with Progress(*columns, console=console, disable=quiet or not console.is_terminal) as bar:
            task = bar.add_task(model.name, total=model.bytes)
            return fetch(model, progress=lambda done, total: bar.update(task, completed=done, total=total))
    except KeyboardInterrupt:
        typer.echo(f"Interrupted. What was fetched is kept; go on with: active-critic lm pull {model.name}", err=True)
        raise typer.Exit(INTERRUPTED) from None
