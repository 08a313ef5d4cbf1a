"""The progress display: what is being done, how far it is, and what it has cost; in a log, a line a minute."""

from __future__ import annotations

import sys
from collections import deque
from threading import Lock
from time import monotonic
from typing import TYPE_CHECKING, Any, Self

import typer

from active_critic.cli._common import console, say, usage_of
from active_critic.cli._interrupts import INTERRUPTED

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from active_critic.evaluators.judging import Judge
    from active_critic.lm import LanguageModel
    from active_critic.lm.catalogue import Model

WIDE = 100
"""Columns from which there is room for a bar."""
EVERY = 60
"""Seconds from one line to the next where no bar can be drawn; work that is done before the first has none."""

RECENT, FEWEST = 300, 10
"""How fast work goes is told by the latest so many seconds, or items if these were fewer: before that, replies may have
come from the journal."""


def part_of(judge: Judge, *, explain: bool) -> int:
    """So many texts, one after the other, take as long as as many others: see :class:`Pace`.

    A run asks one question about all texts that it has read ahead before it asks the next one.
    """
    from active_critic.evaluators.rounds import WINDOW

    return 1 if len(judge.asked(explain=explain)) == 1 else WINDOW


class Pace:
    """How long work still takes, by how fast the latest of it went.

    Args:
        part: Only whole parts of so many items tell how fast it goes. In each, what takes long comes first (as where
            all its texts are explained before another question is asked of any), so that a piece of one says no more
            than what its rest takes at most.
    """

    def __init__(self, part: int = 1) -> None:
        self._part = part
        self._marks: deque[tuple[int, float]] = deque()

    def __len__(self) -> int:
        return len(self._marks)

    def begin(self) -> None:
        """Forget what was before: the work is another one."""
        self._marks.clear()

    def words(self, done: int, total: int, now: float) -> str:
        """How long the rest takes, or nothing where that cannot be said; to be called whenever more is done."""
        from active_critic.report import duration

        left = self.left(done, total, now)
        if left is None:
            return ""
        return f"{'at most' if self._in_one(total) else 'about'} {duration(left)} left"

    def left(self, done: int, total: int, now: float) -> float | None:
        """The same in seconds, or None."""
        marks = self._marks
        if marks and done < marks[-1][0]:
            self.begin()
        if not marks or self._is_mark(done, now, 1 if self._in_one(total) else self._part):
            marks.append((done, now))
        last, until = marks[-1]
        while len(marks) > 2 and last - marks[1][0] >= FEWEST and until - marks[1][1] >= RECENT:
            marks.popleft()
        first, since = marks[0]
        if first == last or done >= total:
            return None
        return max(0.0, (until - since) / (last - first) * (total - last) - (now - until))

    def _in_one(self, total: int) -> bool:
        """Whether there is only one part, of more than one item."""
        return 1 < total <= self._part

    def _is_mark(self, done: int, now: float, part: int) -> bool:
        """Whether a part ends here; of single items one a second is kept, however fast they come."""
        last, until = self._marks[-1]
        return done > last and done % part == 0 and (part > 1 or now - until >= 1)


class Lines:
    """Progress in a log: a line a minute on standard error, so that a long run is known to be alive.

    Call it as :class:`Display`.

    Args:
        spent: Says what the work has cost so far; empty where there is nothing to say.
        part: As for :class:`Pace`.
    """

    def __init__(self, spent: Callable[[], str] = str, *, part: int = 1) -> None:
        self._spent = spent
        self._began = self._last = monotonic()
        self._stage, self._pace = "", Pace(part)
        self._lock = Lock()

    def __call__(self, what: str, done: int, total: int) -> None:
        from active_critic.report import duration

        with self._lock:
            now = monotonic()
            if what != self._stage:
                self._stage = what
                self._pace.begin()
            left = self._pace.words(done, total, now)
            if now - self._last < EVERY:
                return
            self._last = now
            amount = f": {done:,} of {total:,}" if total else ""
            how_far = ", ".join(filter(None, (f"{what}{amount}", f"{duration(now - self._began)} so far", left)))
            say("; ".join(filter(None, (how_far, self._spent()))))


class Waits:
    """Says, where it is drawn, that a model waits at this moment to ask its endpoint again."""

    def __init__(self, model: LanguageModel | None) -> None:
        self._model = model

    def __rich__(self) -> str:
        return "waiting for the endpoint" if self._model is not None and self._model.waiting.now else ""


class Display:
    """Progress on standard error while work goes on; where that is no terminal, as :class:`Lines`. A context manager.

    Call it with what is being done, how much is done and how much there is at most (0: not known).

    Args:
        model: The model that works, whose cost is shown.
        quiet: Show nothing.
        total: How much there is, where the work itself does not know.
        part: As for :class:`Pace`.
    """

    def __init__(self, model: LanguageModel | None, *, quiet: bool = False, total: int = 0, part: int = 1) -> None:
        from rich.progress import BarColumn, Progress, RenderableColumn, TextColumn, TimeElapsedColumn

        from active_critic.report import usage_words

        out = console(stderr=True)
        wide = out.width >= WIDE
        drawn = sys.stderr.isatty() and not out.is_dumb_terminal
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
            TextColumn("{task.fields[spent]}", markup=False),
            RenderableColumn(Waits(model)),
            console=out,
            transient=True,
            disable=quiet or not drawn,
        )
        self._lines = None if quiet or drawn else Lines(self._spent, part=part)
        self._pace = Pace(part)

    def __enter__(self) -> Self:
        self._bar.start()
        self("opening the model", 0, 0)
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def __call__(self, what: str, done: int, total: int) -> None:
        total = total or (self._total if done else 0)
        if self._lines is not None:
            self._lines(what, done, total)
        if self._bar.disable:
            return
        stage = what if total else None
        if self._task is None or stage != self._doing:
            if self._task is not None:
                self._bar.remove_task(self._task)
            self._task = self._bar.add_task(what, total=None, amount="", left="", spent="")
            self._doing = stage
            self._pace.begin()
        left = self._pace.words(done, total, monotonic()) if total else ""
        self._bar.update(
            self._task,
            description=what,
            completed=done,
            total=total or None,
            amount=f"{done:,}/{total:,}" if total else "",
            left=left,
            spent=self._words(usage_of(self._model), short=True),
        )

    def _spent(self) -> str:
        return self._words(usage_of(self._model)) if self._model is not None else ""


def pull_with_progress(model: Model, *, quiet: bool = False) -> Path:
    """Fetch a model with a progress bar on standard error; where that is no terminal, with a line a minute.

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
            lines = None if quiet or console.is_terminal else Lines()

            def show(done: int, total: int) -> None:
                bar.update(task, completed=done, total=total)
                if lines is not None:
                    lines(f"fetching {model.name} (MB)", done // 10**6, total // 10**6)

            return fetch(model, progress=show)
    except KeyboardInterrupt:
        typer.echo(f"Interrupted. What was fetched is kept; go on with: active-critic lm pull {model.name}", err=True)
        raise typer.Exit(INTERRUPTED) from None
