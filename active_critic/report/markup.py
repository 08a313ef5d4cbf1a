"""Texts and tables of rich as HTML; what is in them cannot become markup."""

from __future__ import annotations

import html
import unicodedata
from collections.abc import Iterator, Sequence
from io import StringIO

from rich.cells import cell_len
from rich.console import Console
from rich.style import Style
from rich.table import Column as RichColumn
from rich.table import Table
from rich.text import Text

from active_critic.report.texts import plain

SHORT, NARROW = 24, 10
"""Characters of a line in a cell, and of a heading over cells, that is never broken."""
LONG, MANY = 1500, 20
"""Characters (those of Chinese and the like count twice) and lines of a text in a cell; a longer one scrolls."""
CROWD = 100
"""Rows of a table of texts from which only those near the window are laid out."""
SORTED = "<th data-sort"
"""What the heading of a column begins with by which a table can be sorted."""
_FROM_RIGHT = frozenset({"R", "AL"})
"""The classes of letters, in Unicode, that are written from right to left."""


def text_html(text: Text) -> str:
    """A text with its styles, escaped."""
    styled = text.copy()
    styled.stylize_before(styled.style)
    found = []
    for piece in styled.render(Console(file=StringIO())):
        said = html.escape(plain(piece.text, lines=True))
        names = " ".join(_styles(piece.style))
        # What is written from right to left keeps its order behind a word of ours.
        aside = ' dir="auto"' if names and _from_right(said) else ""
        found.append(f'<span class="{names}"{aside}>{said}</span>' if names and said else said)
    return "".join(found)


def table_html(table: Table, name: str) -> str:
    """A table; one with columns of texts is made to be read, any other one scrolls where it is too wide.

    Rows of the first sort can be sorted by columns of numbers, where the page has ``sorting.SCRIPT``.

    Args:
        table: Its cells are texts.
        name: What it shows, for who does not see what it stands under.

    Raises:
        TypeError: A cell is no text.
    """
    label = f'aria-label="{html.escape(plain(name))}"'
    columns = [_Column(column, first=not place) for place, column in enumerate(table.columns)]
    heads = table.show_header and any(column.name for column in columns)
    rows = zip(zip(*(column.cells for column in columns), strict=True), table.rows, strict=True)
    shown = [(row, look) for row, look in rows if any(row)]  # those that only make room have nothing
    prose = any(column.prose for column in columns)
    cards = prose and len(columns) > 2
    if prose:
        shares = "".join(column.share(columns) for column in columns)
        kind = " ".join(["texts"] + ["cards"] * cards + ["many"] * (len(shown) >= CROWD))
        lines, end = [f'<table class="{kind}" {label}><colgroup>{shares}</colgroup>'], "</tbody></table>\n"
    else:  # what scrolls can be reached with the keyboard
        lines = [f'<div class="wide" role="group" tabindex="0" {label}><table>']
        end = "</tbody></table></div>\n"
    if heads:
        lines.append(
            f"<thead><tr>{''.join(column.head(sorts=cards and len(shown) > 1) for column in columns)}</tr></thead>"
        )
    lines.append("<tbody>")
    for row, look in shown:
        bold = ' class="bold"' if look.style == "bold" else ""
        cells = (column.cell(cell, named=heads and cards) for column, cell in zip(columns, row, strict=True))
        lines.append(f"<tr{bold}>{''.join(cells)}</tr>")
    return "\n".join([*lines, end])


class _Column:
    """A column of a table.

    Attributes:
        name: What stands over it.
        cells: What stands in it.
        prose: Whether that is texts to be read, whose lines are broken; never in the first column, of names.
    """

    def __init__(self, column: RichColumn, *, first: bool) -> None:
        self.name = _text(column.header)
        self.cells = [_text(cell) for cell in column.cells]
        self.prose = not first and not all(map(_is_short, self.cells))
        self._right = column.justify == "right"
        self._leads = first and not self._right

    def share(self, columns: Sequence[_Column]) -> str:
        """Its width among these: columns of texts have the same, the others what they need."""
        return f'<col style="width:{100 // sum(one.prose for one in columns)}%">' if self.prose else "<col>"

    def head(self, *, sorts: bool) -> str:
        if not self.name:
            return "<td></td>"
        begin = SORTED if sorts and self._right else "<th"
        narrow = cell_len(self.name.plain) <= NARROW
        return f'{begin} scope="col"{self._classes(short=narrow)}>{text_html(self.name)}</th>'

    def cell(self, cell: Text, *, named: bool) -> str:
        """One cell; in the first column it says what its row is about, unless it is a number.

        Args:
            cell: What stands in it.
            named: Have it keep the name of its column, for where that does not stand above it.
        """
        tag, scope = ("th", ' scope="row"') if self._leads else ("td", "")
        head = f' data-head="{html.escape(plain(self.name.plain))}"' if named and self.name else ""
        long = cell_len(cell.plain) > LONG or cell.plain.count("\n") >= MANY
        size = ' class="long" tabindex="0"' if long else ' class="short"' if _is_short(cell) else ""
        return f"<{tag}{scope}{self._classes()}{head}><div{size}>{text_html(cell)}</div></{tag}>"

    def _classes(self, *, short: bool = False) -> str:
        names = ["right"] * self._right + ["prose"] * self.prose + ["short"] * short
        return f' class="{" ".join(names)}"' if names else ""


def _from_right(text: str) -> bool:
    return not text.isascii() and any(unicodedata.bidirectional(letter) in _FROM_RIGHT for letter in text)


def _text(cell: object) -> Text:
    if not isinstance(cell, str | Text):
        raise TypeError(f"{type(cell).__name__} cannot stand in a cell")
    return cell if isinstance(cell, Text) else Text(cell)


def _is_short(cell: Text) -> bool:
    """Whether the lines of a cell are too short to be broken, such as a figure with its interval."""
    return all(cell_len(line) <= SHORT for line in cell.plain.split("\n"))


def _styles(style: Style | None) -> Iterator[str]:
    if style is not None:
        if style.bold:
            yield "bold"
        if style.dim:
            yield "dim"
        if style.color is not None:
            yield style.color.name
