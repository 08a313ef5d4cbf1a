"""What each part of some work would take, for people."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from active_critic.figures_in_words import NONE, dollars
from active_critic.report.tables import table_of
from active_critic.report.texts import count, duration, plain

if TYPE_CHECKING:
    from active_critic.lm.costing import Estimate

GAP = 1
"""Blanks between the columns of this table, which would not fit 80 columns with more."""
UNRANGED = "completion_tokens"
"""What is told without its range, for the same reason; what is read, and the cost, tell how far the work may go."""


def _money(cost: float) -> str:
    return dollars(float(f"{cost:.3g}")) if cost < 100 else dollars(round(cost))


SHOWN: Mapping[str, tuple[str, Callable[[float], str]]] = {
    "calls": ("calls", "{:,}".format),
    "replayed": ("in the journal", "{:,}".format),
    "prompt_tokens": ("read", count),
    "completion_tokens": ("written", count),
    "seconds": ("time", duration),
    "cost": ("cost", _money),
}
"""Heads of the columns by figure, and how a figure is said."""


def parts_table(found: Estimate, names: Mapping[str, str]) -> Table:
    """A line for every part that is named, and the last one for all; the range of a figure stands below it.

    Columns of figures that are not known, or 0 everywhere, are left out.

    Args:
        found: What it would take, with its parts.
        names: What is said of the parts, by their names.
    """
    lines = {said: found.parts[part] for part, said in names.items()} | {"all": found}
    columns = [name for name in SHOWN if name == "calls" or any(one.usual(name) for one in lines.values())]
    heads = [SHOWN[name][0] for name in columns]
    table = table_of("", *heads, right=heads, gap=GAP)
    table.columns[0].no_wrap = True
    for said, one in lines.items():
        style = "bold" if one is found else ""
        table.add_row(Text(plain(said), style=style), *(Text(_cell(one, name), style=style) for name in columns))
    return table


def _cell(found: Estimate, name: str) -> str:
    value, words = found.usual(name), SHOWN[name][1]
    if value is None:
        return NONE
    low, high = (words(end) for end in (found.ranges.get(name) if name != UNRANGED else None) or (value, value))
    return words(value) if low == high else f"{words(value)}\n{low} to {high}"
