"""What people look at in a browser: what ``report`` shows in a terminal, as one self-contained HTML file."""

from __future__ import annotations

import html
from datetime import UTC, datetime

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from active_critic import __version__
from active_critic.report.accounts import Account
from active_critic.report.markup import SORTED, table_html, text_html
from active_critic.report.sorting import SCRIPT, SOURCE
from active_critic.report.style import CSS
from active_critic.report.tables import Columns, Listed
from active_critic.report.texts import plain


def page(title: str, *parts: RenderableType, picture: str = "") -> str:
    """One HTML file with nothing to be fetched; what comes from data or a model cannot become markup.

    It runs no script but that which sorts tables of texts by their numbers, where there are some. It ends with the
    version that made it, and when.

    Args:
        title: The heading.
        parts: What ``report`` and the views of the verbs make: texts, tables and groups of them.
        picture: SVG of our own, shown after the heading.
    """
    named = html.escape(plain(title))
    by = f"active-critic {__version__}"
    shown = f'<figure class="wide" tabindex="0">{picture}</figure>\n' if picture else ""
    body = "".join(map(_Body(title).block, parts))
    sorts = SORTED in body
    script = f"<script>{SCRIPT}</script>" if sorts else ""
    policy = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
    policy += f"; script-src {SOURCE}" if sorts else ""
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{named}</title>\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="format-detection" content="telephone=no">\n'  # else some phones make links of figures
        f'<meta name="generator" content="{by}"><style>{CSS}</style></head>\n'
        f"<body><main><h1>{named}</h1>\n{shown}{body}</main>\n"
        f"<footer>Made by {by}, {datetime.now(UTC):%Y-%m-%d %H:%M} UTC.</footer>{script}</body></html>\n"
    )


class _Body:
    """What stands below the title. Tables have the name of the heading above them, for who does not see it."""

    def __init__(self, title: str) -> None:
        self._above = title

    def block(self, part: object) -> str:
        """A renderable as a block of HTML.

        Raises:
            TypeError: It is none of those that the views are made of.
        """
        if isinstance(part, Group):
            return "".join(map(self.block, part.renderables))
        if isinstance(part, Account):
            return "".join(map(self.block, (*part.words, *part.basis, *part.beside)))
        if isinstance(part, Columns):
            return self.block(part.table(range(len(part.names))))
        if isinstance(part, Listed):
            lines = "".join(f"<li>{text_html(Text(line))}</li>\n" for line in part.lines)
            return f"<ul>\n{lines}</ul>\n"
        if isinstance(part, Table):
            return table_html(part, self._above)
        if isinstance(part, str | Text):
            text = part if isinstance(part, Text) else Text(part)
            if not text.plain.strip():
                return ""
            if text.style == "bold":
                self._above = text.plain
                return f"<h2>{text_html(Text(text.plain))}</h2>\n"
            return f"<p>{text_html(text)}</p>\n"
        raise TypeError(f"{type(part).__name__} cannot be shown on a page")
