"""Numbers for people: figures with their intervals, p-values, money, and how many there are of something."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

NONE = "–"
"""What stands in a table where there is no figure."""


def number_words(value: float | None, form: str = "z.2f", none: str = NONE) -> str:
    """A number in this format, or what is said where there is none."""
    return none if value is None else f"{value:{form}}"


def interval_words(ends: Sequence[float] | None, form: str = "z.2f") -> str:
    """An interval in brackets, ``[0.31, 0.77]``; empty where there is none."""
    return "" if ends is None else f"[{ends[0]:{form}}, {ends[1]:{form}}]"


def interval_below(ends: Sequence[float] | None, form: str = "z.2f") -> str:
    """An interval on a line below its figure; with a comma, such tables would not fit 80 columns."""
    return "" if ends is None else f"\n[{ends[0]:{form}} {ends[1]:{form}}]"


def figure_words(value: float | None, ends: Sequence[float] | None, form: str = "z.2f") -> str:
    """A number with its interval, if it has one: ``0.52 [0.31, 0.77]``."""
    return f"{number_words(value, form)} {interval_words(ends, form)}".rstrip()


def p_words(p: float | None) -> str:
    """A p-value to four places, or its first digit where these would say 0, which no p is; a dash for none."""
    if p is None:
        return NONE
    return f"{p:.4f}" if f"{p:.4f}" != "0.0000" else f"{p:.0e}"


def dollars(cost: float | None) -> str:
    """Money in US dollars, to the cent; below a dollar, where that is not all of it, to four digits that count."""
    if cost is None:
        return "unknown"
    return f"${cost:,.2f}" if cost >= 1 or cost == round(cost, 2) else f"${Decimal(f'{cost:.4g}'):f}"


def as_given(value: object) -> str:
    """A value that was refused, as Python writes it; it writes no number of more than some thousand digits."""
    try:
        return repr(value)
    except ValueError:
        return "one of thousands of digits"


def how_many(number: int, one: str, several: str = "") -> str:
    """How many there are: ``1 row has``, ``1,200 rows have``.

    Args:
        number: How many.
        one: What stands behind 1.
        several: What stands behind any other number; else ``one`` with an s.
    """
    return f"{number:,} {one if number == 1 else several or f'{one}s'}"


def count_words(counts: Sequence[int]) -> str:
    """How many there are; from the fewest to the most, where that differs."""
    few, most = min(counts), max(counts)
    return f"{few:,}" if few == most else f"{few:,} to {most:,}"


def sentence(note: str) -> str:
    """A note as a sentence: with a capital letter and a full stop."""
    return f"{note[0].upper()}{note[1:]}."
