"""The cells of a sheet in a workbook, as spreadsheets save it, as text."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from active_critic.data.notes import listed
from active_critic.errors import DataError, MissingExtra
from active_critic.figures_in_words import how_many

WORKBOOKS = (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods")


def is_workbook(path: str | None) -> bool:
    """Whether a file is a workbook, by its name."""
    return path is not None and path.lower().endswith(WORKBOOKS)


def sheet_cells(path: Path, notes: list[str]) -> Iterator[list[str]]:
    """The rows of the first sheet that is shown and holds anything, each as wide as the widest.

    A formula is the value that was saved with it; one without any, or with an error, is blank.

    Args:
        path: The workbook.
        notes: Takes the name of the sheet where there are others, which are not read.

    Raises:
        DataError: This is no workbook, it is damaged or locked by a password, or holds nothing.
        MissingExtra: python-calamine is not installed.
    """
    try:
        import python_calamine as calamine
    except ImportError as error:
        raise MissingExtra("reading workbooks needs python-calamine: pip install 'active-critic[sheets]'") from error
    try:
        with calamine.CalamineWorkbook.from_path(str(path)) as book:
            shown = [
                book.get_sheet_by_name(sheet.name)
                for sheet in book.sheets_metadata
                if sheet.visible == calamine.SheetVisibleEnum.Visible and sheet.typ == calamine.SheetTypeEnum.WorkSheet
            ]
            filled = [sheet for sheet in shown if sheet.height]
            if not filled:
                raise DataError("no sheet that is shown holds anything", path=str(path))
            if others := [sheet.name for sheet in filled[1:]]:
                more = how_many(len(others), "other is", "others are")
                notes.append(f"the rows are those of the sheet {filled[0].name!r}; {more} not read: {listed(others)}")
            for cells in filled[0].to_python():
                yield list(map(_text, cells))
    except calamine.PasswordError as error:
        raise DataError("the workbook is locked by a password; save it without one", path=str(path)) from error
    except calamine.CalamineError as error:
        raise DataError(f"this is no workbook, or it is damaged ({error}); save it anew", path=str(path)) from error


def _text(cell: Any) -> str:
    """A cell as it would be in a CSV file, with a decimal point."""
    if isinstance(cell, bool):
        return str(cell).upper()
    return str(int(cell)) if isinstance(cell, float) and cell.is_integer() else str(cell)
