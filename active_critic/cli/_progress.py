"""The progress display: what is being done, how far it is, and what it has cost."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from active_critic.records import Usage

WIDE = 100
"""Columns from which there is room for a bar."""


class Display:
    """Progress on standard error while work goes on; silent when that is no terminal. A context manager.

    Call it with what is being done, how much is done and how much there is at most (0: not known).

    Args:
        usage: What the model has cost so far.
        quiet: Show nothing.
        total: How much there is, where the work itself does not know.
    """

    def __init__(self, usage: Callable[[], Usage], *, quiet: bool = False, total: int = 0) -> None:
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

        from active_critic.cli._common import console
        from active_critic.report import usage_words

        out = console(stderr=True)
        wide = out.width >= WIDE
        self._usage = usage
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
            spent=self._words(self._usage(), short=True),
        )
