"""The rows of delimited text, CSV and TSV: what separates the cells, where the header is, which rows cannot be used."""

from __future__ import annotations

import contextlib
import csv
import io
import itertools
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from active_critic.data.lines import LONGEST, LongLine, first, lines_of, whole
from active_critic.data.rows import BadRow, Row, check_columns, undecodable
from active_critic.errors import DataError

_HINT = re.compile(r'"?sep=([,;\t|])"?\s*', re.IGNORECASE)
"""A first line that tells Excel the separator."""
_COMMA = re.compile(r"\s*[+-]?\d+,(\d{1,2}|\d{4,})\s*", re.ASCII)
_POINT = re.compile(r"\s*[+-]?\d*\.\d+\s*", re.ASCII)
SEPARATORS = {",", ";", "\t", "|"}
"""What cells are separated by in files that pass for CSV."""
DELIMITERS = {".csv": ",", ".tsv": "\t"}
LONGEST_SHOWN = 200
"""Characters shown of cells that there are too many of."""
_QUOTE = "quote cells that contain the separator"
_PEEK = 200
"""Lines that tell the separator and decimal commas."""


def is_delimited(path: str | None) -> bool:
    """Whether a file is CSV or TSV, by its name."""
    return path is not None and path.lower().removesuffix(".gz").endswith(tuple(DELIMITERS))


@dataclass(slots=True)
class Found:
    """What is found in delimited text while it is read.

    Attributes:
        decimal_comma: Whether ``3,5`` is a number, as where semicolons separate cells, or where neither commas do and
            the first rows have more such numbers than with a point; known from the first row on.
        empty: The first row that was left out because all its cells are blank, and how many were; or None.
        short: The first row with fewer cells than the header, how many it has, and how many such rows there are.
        said: What the user should know.
    """

    decimal_comma: bool = False
    empty: tuple[int, int] | None = None
    short: tuple[int, int, int] | None = None
    said: list[str] = field(default_factory=list)

    def leave_out(self, row: int) -> None:
        """Count a row in which all cells are blank."""
        self.empty = (row, 1) if self.empty is None else (self.empty[0], self.empty[1] + 1)

    def too_short(self, row: int, cells: int) -> None:
        """Count a row with fewer cells than the header."""
        self.short = (row, cells, 1) if self.short is None else (*self.short[:2], self.short[2] + 1)

    def decimal_commas(self, separator: str) -> None:
        """Read them, and say so."""
        self.decimal_comma = True
        why = "cells are separated by semicolons" if separator == ";" else "numbers have decimal commas"
        self.said.append(f"{why} in this file; a score of 3,5 is read as 3.5")


def _opened(text: io.TextIOWrapper, delimiter: str) -> tuple[Iterator[str], str, int, bool]:
    """The lines, what separates the cells, how many lines were read before, and whether numbers have decimal commas."""
    every = lines_of(text)
    head = first(every, _PEEK)
    hint = _HINT.fullmatch(head[0]) if head and head[0] else None
    before, kept = (1, head[1:]) if hint else (0, head)
    lines = [line for line in kept if line is not None]
    separator = hint[1] if hint else _separator(lines) if delimiter == "," else delimiter
    comma = separator == ";" or (separator != "," and _has_decimal_commas(lines, separator))
    return map(whole, itertools.chain(kept, every)), separator, before, comma


def _separator(lines: list[str]) -> str:
    """Comma or semicolon, as Excel has it where the system's language writes decimals with a comma.

    It is the one that gives the header several cells, and most of the first rows as many; of equals the one that gives
    more. Where neither parts the header, it is the comma, or the semicolon that parts all rows below a title alike.
    """
    found = {}
    for separator in ",;":
        header, *rows = list(map(len, _records(lines, separator))) or [0]
        alike = rows.count(header)
        titled = separator == ";" and header == 1 and len(rows) > 1 and min(rows) == max(rows) > 2
        found[separator] = (header > 1, alike if header > 1 else titled, header)
    return max(found, key=lambda separator: found[separator])


def _has_decimal_commas(lines: list[str], separator: str) -> bool:
    """Whether more cells are numbers with a decimal comma than with a point; ``1,000`` may be either, and is none."""
    cells = [cell for cells in _records(lines, separator) for cell in cells]
    return sum(map(bool, map(_COMMA.fullmatch, cells))) > sum(map(bool, map(_POINT.fullmatch, cells)))


def _records(lines: list[str], separator: str) -> Iterator[list[str]]:
    """The records that are not blank, as far as they can be read."""
    with contextlib.suppress(csv.Error):
        yield from (
            cells for cells in csv.reader(lines, delimiter=separator, strict=True) if any(map(str.strip, cells))
        )


def delimited_rows(text: io.TextIOWrapper, path: Path, delimiter: str, found: Found) -> Iterator[Row | BadRow]:
    """The rows, one at a time; in a file that passes for CSV, other separators are recognised.

    Args:
        text: Opened with ``newline=""``, undecodable bytes as surrogates.
        path: For errors.
        delimiter: What the file's name says that separates the cells.
        found: Takes what is found besides.

    Raises:
        DataError: There is no usable header, or a quote that does not close swallows more than its line.
    """
    csv.field_size_limit(max(csv.field_size_limit(), LONGEST))  # the library refuses cells over 128 kB otherwise
    lines, delimiter, before, comma = _opened(text, delimiter)
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    try:
        header = next((cells for cells in reader if any(map(str.strip, cells))), [])
    except csv.Error as error:
        raise DataError(f"the header is broken ({error})", path=str(path)) from error
    if comma:
        found.decimal_commas(delimiter)
    if len(header) == 1 and (other := max(SEPARATORS - {delimiter}, key=header[0].count)) in header[0]:
        shown, expected = (repr(one) if one != "\t" else "a tab" for one in (other, delimiter))
        other_way = "name it .tsv" if other == "\t" else f"write sep={other} in a line above it"
        remedy = f"{other_way}, or save it with {expected} as the separator"
        raise DataError(f"the header is one cell, {header[0]!r}, with {shown} in it; {remedy}", path=str(path))
    yield from rows_under(header, _cells_of(reader, before, path), path, found, guessed=delimiter == ";")


def _cells_of(reader: Any, before: int, path: Path) -> Iterator[list[str] | BadRow]:
    """The cells of every row below the header; ``before``: lines of the file that the reader has not seen.

    Raises:
        DataError: A quote that does not close swallows more than its line.
    """
    row = 0
    while True:
        begins = before + reader.line_num + 1
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            row += 1
            remedy = "a cell that opens with a quote must close with one, and quotes inside it are doubled"
            before += isinstance(error, LongLine)  # which the library does not count
            ends = before + reader.line_num
            if ends > begins:  # who knows how many rows are in there
                swallowed = (
                    f"a quote in the row that begins at line {begins} swallows all up to line {ends} of the file"
                )
                reason = f"{swallowed}, {ends - begins + 1:,} lines ({error}); {remedy}"
                raise DataError(reason, path=str(path), row=row) from error
            if isinstance(error, LongLine):
                yield BadRow(row, f"line {ends} of the file is {error}")
                continue
            yield BadRow(row, f"broken before line {before + reader.line_num + 1} of the file ({error}); {remedy}")
            continue
        if cells:
            row += 1
            yield cells


def rows_under(
    header: list[str], rows: Iterable[list[str] | BadRow], path: Path, found: Found, *, guessed: bool
) -> Iterator[Row | BadRow]:
    """The rows of a table by the names of its columns, without those in which all cells are blank.

    Args:
        header: The names; of several blank ones none is a column.
        rows: The cells of each row below.
        path: For errors.
        found: Takes what is found besides.
        guessed: Whether it is not certain that the header is one: a title may stand above it.

    Raises:
        DataError: A name cannot be used, two columns have the same, or the header seems to be a title.
    """
    for name in header:
        problem = "there is a NUL byte in it; the file may be damaged" if "\0" in name else undecodable(name)
        if problem:
            raise DataError(f"the header cannot be used: {problem}", path=str(path))
    columns = _named(header)
    check_columns((name for name in columns if name is not None), str(path))
    width = max((place for place, name in enumerate(columns, 1) if name is not None), default=0)
    titled = _titled(columns) and (None in columns or guessed)
    for row, cells in enumerate(rows, 1):
        if isinstance(cells, BadRow):
            yield cells
        elif any(map(str.strip, cells)):
            item = _cells(row, columns, cells)
            if titled and isinstance(item, BadRow):
                raise item.error(str(path))
            titled = False
            if len(cells) < width:
                found.too_short(row, len(cells))
            yield item
        else:
            found.leave_out(row)


def _named(header: list[str]) -> list[str | None]:
    """The names of the columns; None for those without one, where it is not a single one, as that of an index."""
    nameless = sum(not name.strip() for name in header)
    return [name if nameless < 2 or name.strip() else None for name in header]


def _titled(header: list[str | None]) -> bool:
    """Whether this may be a title that stands above the header: its first column has no name, or only one has."""
    return header[:1] == [None] or len(header) - header.count(None) == 1


def _cells(row: int, header: list[str | None], cells: list[str]) -> Row | BadRow:
    filled = zip(header, cells + [""] * (len(header) - len(cells)), strict=False)
    record = {name: cell for name, cell in filled if name is not None}
    places = enumerate(itertools.zip_longest(header, cells))
    stray = next((place for place, (name, cell) in places if name is None and cell and cell.strip()), None)
    whole = "".join(cells)
    problem, column = None, None
    if stray is not None and stray < len(header):
        title = ", or remove a title above it" if _titled(header) else ""
        problem = (
            f"has {cells[stray][:40]!r} in column {stray + 1}, which has no name; give it one in the header{title}"
        )
    elif stray is not None:
        title = "remove a title above the header, or " if len(header) == 1 else ""
        over = " | ".join(cells[len(header) :])
        there = f"{over[:LONGEST_SHOWN]!r}{' ...' if len(over) > LONGEST_SHOWN else ''}"
        problem = f"has {len(cells)} cells where the header has {len(header)}; {title}{_QUOTE}. Too many: {there}"
    elif "\0" in whole or undecodable(whole):
        column, bad = next((name, cell) for name, cell in record.items() if "\0" in cell or undecodable(cell))
        problem = undecodable(bad) or "contains a NUL byte; the file may be damaged"
    if problem is None:
        return row, record
    shown = {name: cell.encode("utf-8", "surrogateescape").decode("utf-8", "replace") for name, cell in record.items()}
    return BadRow(row, problem, shown, column)
