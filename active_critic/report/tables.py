"""The tables, headings and lists that accounts are made of."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType
from rich.table import Table
from rich.text import Text

from active_critic.report.texts import plain

LONGEST_NAME = 24
"""Characters of a column's name that stand on one line of its heading."""


def table_of(*columns: str, right: Sequence[str] = (), header: bool = True, gap: int = 2) -> Table:
    """A table without lines, of columns with these heads, so many blanks apart; those in ``right`` are of numbers."""
    table = Table(box=None, pad_edge=False, padding=(0, gap, 0, 0), show_header=header, header_style="bold")
    for column in columns:
        table.add_column(column, justify="right" if column in right else "left", overflow="fold")
    return table


@dataclass(frozen=True)
class Columns:
    """A table with as many columns side by side as there is room for, and the others below; no cell is cut.

    Attributes:
        names: Names of the columns.
        rows: The cells of every row, by its name.
        bold: The row that counts most.
    """

    names: Sequence[str]
    rows: Mapping[str, Sequence[str]]
    bold: str = ""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        first = max(map(cell_len, self.rows))
        widths = [
            max(*(cell_len(cells[i]) for cells in self.rows.values()), min(cell_len(name), LONGEST_NAME))
            for i, name in enumerate(self.names)
        ]
        room, beside = options.max_width - first - 2, 0
        chunks: list[list[int]] = []
        for place, width in enumerate(widths):
            if not chunks or beside + width > room:
                chunks.append([])
                beside = 0
            chunks[-1].append(place)
            beside += width + 2
        for number, chunk in enumerate(chunks):
            if number:
                yield Text("")
            table = self.table(chunk)
            for column, width in zip(table.columns, [first, *(widths[i] for i in chunk)], strict=True):
                column.width = min(width, options.max_width)
            yield table

    def table(self, places: Sequence[int]) -> Table:
        """The columns at these places as one table."""
        table = table_of("", *(self.names[i] for i in places))
        for name, cells in self.rows.items():
            style = "bold" if name == self.bold else ""
            table.add_row(name, *(Text(cells[i]) for i in places), style=style)
        return table


@dataclass(frozen=True)
class Listed:
    """Lines as a list.

    Attributes:
        lines: Without what could drive a terminal.
    """

    lines: Sequence[str]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        table = table_of("", "", header=False)
        for line in self.lines:
            table.add_row("-", Text(line))
        yield table


def heading(text: str) -> Text:
    """What stands over a part of an account."""
    return Text(plain(text), style="bold")


def list_under(title: str, lines: Sequence[str]) -> list[RenderableType]:
    """Lines as a list with a heading; nothing where there are none."""
    return [heading(title), listed(lines)] if lines else []


def listed(lines: Iterable[str]) -> Listed:
    """Lines as a list."""
    return Listed(tuple(map(plain, lines)))
