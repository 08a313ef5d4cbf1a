"""Scores that say what they are out of: ``4/5``."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

_SHARE = re.compile(r"\s*([+-]?[0-9]+(?:[.,][0-9]+)?)\s*/\s*([0-9]+(?:[.,][0-9]+)?)\s*", re.ASCII)


def share_in(cell: Any) -> tuple[str, float] | None:
    """The number in a text such as ``4/5``, as it stands there, and what it is out of; None for anything else."""
    found = _SHARE.fullmatch(cell) if isinstance(cell, str) else None
    return None if found is None else (found[1], float(found[2].replace(",", ".")))


def all_out_of(cells: Iterable[Any]) -> float | None:
    """What every score is out of, where all of them say so and say the same; else None.

    Args:
        cells: Those that hold anything.
    """
    ends = {None if (share := share_in(cell)) is None else share[1] for cell in cells}
    return ends.pop() if len(ends) == 1 else None


def said_of(end: float) -> str:
    """What the user should know where scores are read that are out of something."""
    return f"scores such as '{end:g}/{end:g}' are read as the number before the stroke, on a scale that ends at {end:g}"
