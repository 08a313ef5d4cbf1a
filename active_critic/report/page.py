"""What people look at in a browser: what ``report`` shows in a terminal, as one self-contained HTML file."""

from __future__ import annotations

import html
from collections.abc import Iterator
from io import StringIO

from rich.cells import cell_len
from rich.console import Console, Group, RenderableType
from rich.style import Style
from rich.table import Table
from rich.text import Text

from active_critic.report.tables import Columns
from active_critic.report.texts import plain

CSS = """
:root { color-scheme: light dark; font: 15px/1.5 system-ui, sans-serif; }
body { max-width: 75rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.1rem; margin: 2rem 0 .5rem; }
p, td > div { white-space: pre-wrap; overflow-wrap: anywhere; } p { margin: .3rem 0; max-width: 60rem; }
table { border-collapse: separate; border-spacing: 0; margin: .5rem 0; font-variant-numeric: tabular-nums; }
th, td { text-align: left; vertical-align: top; padding: .3rem .8rem .3rem 0; border-bottom: 1px solid #8884; }
td > div { min-width: 9rem; } td:last-child > div { min-width: 18rem; }
td > div.short, td:last-child > div.short { min-width: 0; white-space: pre; }
.wide { overflow-x: auto; } .wide tr > :first-child { position: sticky; left: 0; background: Canvas; }
td > div { max-height: 20rem; overflow-y: auto; } td:last-child, th:last-child { padding-right: 0; }
.right { text-align: right; } .bold { font-weight: 600; }
.dim { color: GrayText; } .red { color: #b22; } .green { color: #176b43; } .yellow { color: #8a5a00; }
@media (prefers-color-scheme: dark) { .red { color: #f77; } .green { color: #4c9; } .yellow { color: #da4; } }
svg { max-width: 100%; height: auto; background: #fff; }
@media print { td > div { max-height: none; } .wide { overflow-x: visible; } }
"""

SHORT = 24
"""Characters of a line that is never broken."""


def page(title: str, *parts: RenderableType, picture: str = "") -> str:
    """One HTML file with no script and nothing to be fetched; what comes from data or a model cannot become markup.

    Args:
        title: The heading.
        parts: What ``report`` and the views of the verbs make: texts, tables and groups of them.
        picture: SVG of our own, shown after the heading.
    """
    named = html.escape(plain(title))
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{named}</title>\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><style>{CSS}</style></head>\n'
        f"<body><h1>{named}</h1>\n{picture}{''.join(map(_block, parts))}</body></html>\n"
    )


def _block(part: object) -> str:
    """A renderable as a block of HTML.

    Raises:
        TypeError: It is none of those that the views are made of.
    """
    if isinstance(part, Group):
        return "".join(map(_block, part.renderables))
    if isinstance(part, Columns):
        return _block(part.table(range(len(part.names))))
    if isinstance(part, Table):
        return _table(part)
    if isinstance(part, str | Text):
        text = part if isinstance(part, Text) else Text(part)
        if not text.plain.strip():
            return ""
        if text.style == "bold":
            return f"<h2>{_inline(Text(text.plain))}</h2>\n"
        return f"<p>{_inline(text)}</p>\n"
    raise TypeError(f"{type(part).__name__} cannot be shown on a page")


def _table(table: Table) -> str:
    sides = [' class="right"' if column.justify == "right" else "" for column in table.columns]
    heads = [_inline(column.header) for column in table.columns]
    rows = zip(*(column.cells for column in table.columns), strict=True)
    lines = ['<div class="wide"><table>']
    if table.show_header and any(heads):
        cells = (f"<th{side}>{head}</th>" for side, head in zip(sides, heads, strict=True))
        lines.append(f"<thead><tr>{''.join(cells)}</tr></thead>")
    for row, look in zip(rows, table.rows, strict=True):
        texts = [_inline(cell) for cell in row]
        if any(texts):  # rows that only make room have none
            bold = ' class="bold"' if look.style == "bold" else ""
            cells = (
                f"<td{side}><div{_width(cell)}>{text}</div></td>"
                for side, cell, text in zip(sides, row, texts, strict=True)
            )
            lines.append(f"<tr{bold}>{''.join(cells)}</tr>")
    return "\n".join([*lines, "</table></div>\n"])


def _width(cell: object) -> str:
    """Whether the lines of a cell are too short to be broken, such as a figure with its interval."""
    return ' class="short"' if all(cell_len(line) <= SHORT for line in str(cell).split("\n")) else ""


def _inline(text: object) -> str:
    """A text with its styles, escaped.

    Raises:
        TypeError: It is no text.
    """
    if not isinstance(text, str | Text):
        raise TypeError(f"{type(text).__name__} cannot stand in a cell")
    styled = text.copy() if isinstance(text, Text) else Text(text)
    styled.stylize_before(styled.style)
    found = []
    for piece in styled.render(Console(file=StringIO())):
        said = html.escape(plain(piece.text, lines=True))
        names = " ".join(_classes(piece.style))
        found.append(f'<span class="{names}">{said}</span>' if names and said else said)
    return "".join(found)


def _classes(style: Style | None) -> Iterator[str]:
    if style is not None:
        if style.bold:
            yield "bold"
        if style.dim:
            yield "dim"
        if style.color is not None:
            yield style.color.name
