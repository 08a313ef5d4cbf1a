"""The lines of a text file. None is held that is longer than any record: a small gzipped file may unpack to such."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator

LONGEST = 64 * 2**20
"""Characters of a line; also of a cell of several lines."""


class LongLine(csv.Error):
    """A line that is passed over: an error like others where the cells of a line are read."""

    def __init__(self) -> None:
        super().__init__(f"longer than {LONGEST:,} characters, as no record is; cut or remove it")


def lines_of(text: io.TextIOWrapper) -> Iterator[str | None]:
    """The lines with their ends; None for one that is longer than ``LONGEST``."""
    while line := text.readline(LONGEST + 1):
        whole = len(line) <= LONGEST
        yield line if whole else None
        while len(line) > LONGEST and not line.endswith("\n"):
            line = text.readline(LONGEST + 1)


def first(lines: Iterator[str | None], most: int) -> list[str | None]:
    """The first lines, no more than ``most``, and no more of them than one may be long, the last aside."""
    found: list[str | None] = []
    size = 0
    while len(found) < most and size <= LONGEST:
        try:
            found.append(next(lines))
        except StopIteration:
            break
        size += len(found[-1] or "")
    return found


def whole(line: str | None) -> str:
    """The line.

    Raises:
        LongLine: It is longer than ``LONGEST``.
    """
    if line is None:
        raise LongLine
    return line
