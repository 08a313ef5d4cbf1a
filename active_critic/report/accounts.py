"""What was found: sentences, and what they rest on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, RenderableType
from rich.text import Text


@dataclass(frozen=True)
class Account:
    """Sentences that say what was found, and the tables that they rest on.

    On a terminal the sentences come last, where they are in sight at the end; a page begins with them.

    Attributes:
        words: The sentences.
        basis: The tables, with their headings and what explains them.
        beside: What the page has besides, which a terminal has shown in other ways.
    """

    words: Sequence[Text]
    basis: Sequence[RenderableType]
    beside: Sequence[RenderableType] = ()

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        yield from self.basis
        if self.words:
            yield Text("")
        yield from self.words
