"""Rows that nobody has scored, in a file of which people scored a part: left out where there is something to learn."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection

from active_critic.data.cells import is_missing, number_in, rated, there
from active_critic.data.examples import MIN_EXAMPLES, describe_rows
from active_critic.data.fields import COLUMNS, Given, folded
from active_critic.data.notes import Unscored, listed
from active_critic.errors import DataError
from active_critic.figures_in_words import how_many
from active_critic.records import Example

Rows = list[tuple[int, Given]]


def is_unscored(given: Given, column: str) -> bool:
    """Whether nothing stands where people's score of a row would; what stands there and is no number is something.

    Args:
        given: The row.
        column: Where scores are, or a name with a star for several columns.
    """
    if isinstance(given, Example):
        return is_missing(there(given.score))
    return all(map(is_missing, rated(given, column).values()))


def scored_rows(
    rows: Rows, column: str, taken: Collection[str], *, decimal_comma: bool, path: str | None
) -> tuple[Rows, list[str]]:
    """The rows that have a score, and a note on the others, if there are any.

    Args:
        rows: All of them.
        column: Where scores are, or a name with a star for several columns.
        taken: All columns that are read.
        decimal_comma: Whether ``3,5`` is a number.
        path: The file, for messages.

    Raises:
        DataError: Some have none, and fewer than a fit needs have one.
    """
    scored, unscored = [], []
    for row, given in rows:
        if is_unscored(given, column):
            unscored.append(row)
        else:
            scored.append((row, given))
    if not unscored:
        return rows, []
    where, every = describe_rows(unscored), how_many(len(rows), "row")
    counts = _numbers(rows, taken, decimal_comma=decimal_comma)
    fuller = [name for name, count in counts.items() if count > len(scored)]
    if len(scored) < MIN_EXAMPLES:
        there_are = f"none of {every} has a score"
        if scored:
            there_are = f"only {len(scored)} of {every} have a score, which is missing in {where}"
        remedy = "score more rows, or name the column of people's scores with --fields score=NAME"
        others = f"; more rows hold a number in {listed(fuller)}" if fuller else ""
        reason = f"{there_are}, and at least {MIN_EXAMPLES} are needed; {remedy}{others}"
        raise DataError(reason, path=path, column=column)
    said = f"no score in {len(unscored):,} of {every} (column {column!r}, {where}): left out, and only the others count"
    said += f" ({len(scored):,})"
    usual = [name for name in fuller if folded(name) in COLUMNS["score"]]
    more = f"; more rows hold one in {listed(usual)}: --fields score={usual[0]} if people's are there" if usual else ""
    return scored, [Unscored(f"{said}{more}")]


def _numbers(rows: Rows, taken: Collection[str], *, decimal_comma: bool) -> Counter[str]:
    """How many rows hold a number, by column: of those that hold nothing else and are not taken."""
    counts, others = Counter[str](), {*taken}
    for _, given in rows:
        for name, cell in given.items() if isinstance(given, dict) else ():
            if name not in others:
                try:
                    counts[name] += number_in(cell, decimal_comma=decimal_comma) is not None
                except ValueError:
                    others.add(name)
    for name in others:
        del counts[name]
    return counts
