"""The cells of a sheet in a workbook of Excel, as text."""

from __future__ import annotations

import itertools
import warnings
import zipfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

from active_critic.data.notes import listed
from active_critic.errors import DataError, MissingExtra
from active_critic.figures_in_words import how_many

WORKBOOKS = (".xlsx", ".xlsm")
LARGEST = 2**30
"""Bytes of a workbook when it is unpacked."""


def is_workbook(path: str | None) -> bool:
    """Whether a file is a workbook that is read, by its name."""
    return path is not None and path.lower().endswith(WORKBOOKS)


def sheet_cells(path: Path, notes: list[str]) -> list[list[str]]:
    """The rows of the first sheet that is shown and holds anything, from the first that does.

    Each goes up to its last cell that holds anything. A formula is the value that was saved with it; one without any is
    blank.

    Args:
        path: The workbook.
        notes: Takes the name of the sheet where there are others, which are not read.

    Raises:
        DataError: This is no workbook, it is damaged, locked by a password or too large, or holds nothing.
        MissingExtra: openpyxl is not installed.
        OSError: The file cannot be read.
    """
    try:
        import openpyxl.utils.escape
    except ImportError as error:
        raise MissingExtra("reading workbooks needs openpyxl: pip install 'active-critic[sheets]'") from error
    with path.open("rb") as file:
        try:
            return _cells(path, file, openpyxl, notes)
        except (DataError, MemoryError):
            raise
        except Exception as error:  # whatever its parser comes upon in a damaged file
            remedy = "save it anew as .xlsx, without a password"
            reason = f"no workbook, or damaged, or locked by a password ({error}); {remedy}"
            raise DataError(reason, path=str(path)) from error


def _cells(path: Path, file: BinaryIO, openpyxl: Any, notes: list[str]) -> list[list[str]]:
    as_text = partial(_texts, openpyxl.utils.escape.unescape)
    with zipfile.ZipFile(file) as parts:
        unpacked = sum(part.file_size for part in parts.infolist())
    if unpacked > LARGEST:
        raise DataError(f"larger than {LARGEST:,} bytes when unpacked; write .csv or .jsonl", path=str(path))
    with warnings.catch_warnings(action="ignore"):  # of what it does not read: styles, rules, extensions
        book = openpyxl.load_workbook(file, read_only=True, data_only=True)
        shown = [sheet for sheet in book.worksheets if sheet.sheet_state == "visible"]
        filled = [sheet for sheet in shown if any(map(as_text, _rows(sheet)))]
        if not filled:
            raise DataError("no sheet that is shown holds anything", path=str(path))
        if others := [sheet.title for sheet in filled[1:]]:
            more = how_many(len(others), "other is", "others are")
            notes.append(f"the rows are those of the sheet {filled[0].title!r}; {more} not read: {listed(others)}")
        return [*itertools.dropwhile(lambda cells: not cells, map(as_text, _rows(filled[0])))]


def _rows(sheet: Any) -> Iterator[tuple[Any, ...]]:
    sheet.reset_dimensions()  # as some programs write them they are too small
    yield from sheet.iter_rows(values_only=True)


def _texts(unescape: Callable[[str], str], cells: tuple[Any, ...]) -> list[str]:
    """The cells of a row as text, up to the last that holds anything."""
    # What XML cannot hold, and a carriage return, Excel writes as _x000D_, which openpyxl leaves so.
    texts = [unescape(cell) if isinstance(cell, str) else _text(cell) for cell in cells]
    end = next((place for place in range(len(texts), 0, -1) if texts[place - 1].strip()), 0)
    return texts[:end]


def _text(cell: Any) -> str:
    """A number, a date and the like as it would be in a CSV file, with a decimal point."""
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return str(cell).upper()
    return str(int(cell)) if isinstance(cell, float) and cell.is_integer() else str(cell)
