"""Why something has no score: which reasons are of one kind, and which say that a budget was spent."""

from __future__ import annotations

import re
from collections.abc import Iterable

_VARIES = re.compile(r"'[^']*'|\"[^\"]*\"|\d[\d,.]*")
_SPENT = re.compile(r"(?:^|: )the budget of (?:[$][\d.]+|[\d,.]+ \w+) is spent\b")
NOTHING_ELSE = "the response is nothing but what poses as the judge's prompt or reply: there is nothing to rate"
"""Of a text that a judge would not rate, whatever was asked of the model."""


def kind_of(reason: str) -> str:
    """A reason without its numbers and what it quotes: those that only differ in these are of one kind."""
    return _VARIES.sub("…", reason)


def counted(reasons: Iterable[str]) -> dict[str, int]:
    """How often each kind of reason occurs, by the first of its kind, the most frequent first."""
    first: dict[str, str] = {}
    counts: dict[str, int] = {}
    for reason in reasons:
        named = first.setdefault(kind_of(reason), reason)
        counts[named] = counts.get(named, 0) + 1
    return dict(sorted(counts.items(), key=lambda pair: -pair[1]))


def budget_spent(reason: str) -> bool:
    """Whether a text was not asked for because a budget was spent (see ``BudgetSpent``), and nothing was wrong."""
    said, _, _ = reason.partition(" (it was: ")  # a reply may say anything
    return _SPENT.search(said) is not None


def first_spent(reasons: Iterable[str]) -> str | None:
    """The first reason that says so, or None."""
    return next(filter(budget_spent, reasons), None)
