"""What ``active-critic probe`` found, for a page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from rich.console import Group, RenderableType
from rich.text import Text

from active_critic.cli._compare_view import interval_words, number_words, table_of
from active_critic.report import plain

if TYPE_CHECKING:
    from rich.table import Table

_OUTCOMES = {
    "falls": "falls, as it should",
    "faint": "falls faintly",
    "still": "stays",
    "rises": "rises",
    "moves": "moves",
    "unclear": "not decided",
}


class Found(Protocol):
    """What either probe finds."""

    @property
    def words(self) -> list[str]: ...

    def rows(self) -> list[dict[str, Any]]: ...


def attacks_account(found: Found) -> RenderableType:
    """A trial of attacks: what it says, and a table of the families."""
    table = table_of("family", "kind", "lift", "interval", "% of the scale", "success", "scored", "failed")
    for row in found.rows():
        table.add_row(
            row["family"] + (" (replaces the text)" if row["replaces"] else ""),
            row["kind"],
            Text(number_words(row["lift"], "+z.2f"), style=_colour(row)),
            _between(row["lift_low"], row["lift_high"]),
            number_words(row["lift_percent"], "+z.0f"),
            number_words(row["success"], ".0%"),
            str(row["n"]),
            str(row["failures"]),
        )
    words = found.words
    return _account(words[words.index("") + 1 :], table)  # before the blank line stands a table for a terminal


def behaviour_account(found: Found) -> RenderableType:
    """An examination under perturbations: what it says, and the matrix of changes, row by row."""
    table = table_of("perturbation", "what is scored", "mean change", "interval", "should", "does", "texts")
    for row in found.rows():
        outcome = row["outcome"]
        bad = outcome in ("rises", "moves") or (outcome == "still" and row["expected"] == "falls")
        table.add_row(
            row["perturbation"],
            Text(plain(f"{row['name']} ({row['kind']})")),
            number_words(row["change"], "+z.2f"),
            _between(row["low"], row["high"]),
            {"falls": "fall", "still": "stay"}.get(row["expected"] or "", ""),
            Text(_OUTCOMES.get(outcome or "", ""), style="red" if bad else ""),
            str(row["n"]),
        )
    return _account(found.words, table)


def _account(words: Sequence[str], table: Table) -> RenderableType:
    return Group(*(Text(plain(line, lines=True)) for line in words), Text(""), table)


def _between(low: float | None, high: float | None) -> str:
    return "" if low is None or high is None else interval_words((low, high), "+z.2f")


def _colour(row: Mapping[str, Any]) -> str:
    """Red where the lift is certain."""
    return "red" if row["lift_low"] is not None and row["lift_low"] > 0 else ""
