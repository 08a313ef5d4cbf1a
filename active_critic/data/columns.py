"""Columns of numbers from any file that the loaders read, nested ones included; what is no number is counted."""

from __future__ import annotations

import difflib
import hashlib
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from active_critic.data.cells import as_number, check_thousands, is_missing, tidy_name
from active_critic.data.fields import folded
from active_critic.data.files import iter_records
from active_critic.data.notes import listed
from active_critic.data.raters import Score, by_output, check_named, said_of_raters
from active_critic.data.rows import NUMBER, BadRow, Unreadable
from active_critic.data.score_forms import Form, form_of
from active_critic.data.ways import cell_at, fits, inside, keys_to, ways
from active_critic.errors import DataError

_SHOWN = 12


@dataclass(frozen=True, slots=True)
class Predictions:
    """A column of predictions, each a finite number or None.

    Attributes:
        name: The column, as it was asked for.
        values: In the order of the rows.
        missing: Rows that say nothing: no such cell, blank, null or not a number by their own account (NaN).
        not_numeric: Rows that hold something else than a finite number.
        odd: The first of these, for people: ``'good' (row 3)``; None without any.
    """

    name: str
    values: tuple[float | None, ...]
    missing: int
    not_numeric: int
    odd: str | None


class Table:
    """Some columns of a file.

    Args:
        path: The file.
        wanted: Names of columns. A dotted name leads into JSON objects (``scores.fluency``) and lists (``ratings.0``
            is the first place, ``ratings.-1`` the last), also where a CSV cell holds one; a column whose own name has
            the dots comes first. One star stands for every name at its place (see ``matching``).
        usual: Further columns that are kept where they are there, also under a name that only looks alike.

    Raises:
        DataError: The file or one of its rows cannot be read.
        MissingExtra: A Parquet file or a workbook, and what reads it is not installed.
    """

    def __init__(self, path: str | Path, wanted: Iterable[str], usual: Iterable[str] = ()) -> None:
        self.path = str(path)
        heads, names = tuple(wanted), set(usual)
        self.rows: list[int] = []
        """The place of each record in the file, as error messages give it."""
        self.columns: dict[str, None] = {}
        self._records: list[dict[str, Any]] = []
        found, known = iter_records(path), set[str]()
        for item in found:
            if isinstance(item, BadRow):
                raise item.error(self.path)
            row, record = item
            for column in record:
                if column not in self.columns:
                    self.columns[column] = None
                    if folded(column) in names or any(head == column or _under(head, column) for head in heads):
                        known.add(column)
            self.rows.append(row)
            # Texts that nobody asks for are not kept: what matters is a few numbers a row.
            self._records.append({column: cell for column, cell in record.items() if column in known})
        self.notes = found.notes
        """What the user should know of the file."""
        self._decimal_comma = found.decimal_comma
        self._forms: dict[Form, dict[str, None]] = {}

    def __len__(self) -> int:
        return len(self.rows)

    def __contains__(self, name: str) -> bool:
        return self._keys(name) is not None

    def leave_out_blank(self, *names: str) -> list[int]:
        """Leave out the rows in which none of these columns says anything, unless all are; their places in the file.

        Raises:
            DataError: There is no such column.
        """
        blank = [all(map(is_missing, cells)) for cells in zip(*map(self._cells, names), strict=True)]
        if all(blank):
            return []
        kept = [place for place, says_nothing in enumerate(blank) if not says_nothing]
        left = [row for row, says_nothing in zip(self.rows, blank, strict=True) if says_nothing]
        self.rows = [self.rows[place] for place in kept]
        self._records = [self._records[place] for place in kept]
        return left

    def by_rater(self, rater: str, score: str, outputs: Sequence[str], same: Sequence[str]) -> str:
        """Make one row of all in which raters scored one output: the first of them, and in the place of the column
        that names the rater an object with what each gave.

        Args:
            rater: Where raters are named.
            score: Where what they gave is.
            outputs: The columns in which rows of one output are the same.
            same: Further columns that cannot differ within an output.

        Returns:
            What was made of the rows, for a note.

        Raises:
            DataError: There is no such column, a row holds no number or names no rater, a rater gave an output
                different numbers, no output has two raters, or ``same`` differ within one.
        """
        numbers = self.human(score)
        names = check_named(self.names(rater), self.rows, rater, self.path)
        keys = zip(*map(self.digests, outputs), strict=True)
        scores = [Score(*of) for of in zip(keys, names, numbers, self.rows, strict=True)]
        found = by_output(scores, "--id COLUMN", path=self.path, column=rater)
        if max(map(len, found)) == 1:
            alike = ", ".join(map(repr, outputs))
            reason = f"no output has two raters; rows are of one output where {alike} are the same"
            raise DataError(f"{reason}: --id COLUMN names what tells outputs apart", path=self.path, column=rater)
        for column in same:
            cells = [None if is_missing(cell) else cell for cell in self._cells(column)]
            for first, *others in map(list, map(dict.values, found)):
                if odd := next((place for place in others if cells[place] != cells[first]), None):
                    both = f"rows {self.rows[first]} and {self.rows[odd]} are of one output"
                    unlike = f"hold {_short(cells[first])} and {_short(cells[odd])}"
                    remedy = "--id COLUMN tells apart what are two outputs"
                    raise DataError(f"{both}, and {unlike}; {remedy}", path=self.path, column=column)
        given = self._cells(score)
        firsts = [next(iter(of.values())) for of in found]
        self._records = [
            {**self._records[first], rater: {name: given[place] for name, place in of.items()}}
            for first, of in zip(firsts, found, strict=True)
        ]
        self.rows = [self.rows[first] for first in firsts]
        self.columns[rater] = None
        return said_of_raters(found, names, rater)

    def human(self, name: str) -> tuple[float, ...]:
        """A column in which every row must hold a number.

        Raises:
            DataError: There is no such column, or a row holds no finite number, or one that may have separators of
                thousands; naming both.
        """
        numbers = []
        cells = self._cells(name)
        if cells and all(map(is_missing, cells)):
            remedy = "name another column with --human"
            raise DataError(f"no row holds a human score; {remedy}", path=self.path, column=name)
        check_thousands(name, zip(self.rows, cells, strict=True), self.path)
        for row, cell, number in zip(self.rows, cells, self._numbers(name, cells), strict=True):
            if number is None:
                wrong, remedy = "the human score is missing", "fill it in, or leave out the row"
                if not is_missing(cell):
                    wrong, remedy = f"{_short(cell)} is not a finite number", as_number(str(cell))
                raise DataError(f"{wrong}; every row needs one: {remedy}", path=self.path, row=row, column=name)
            numbers.append(number)
        return tuple(numbers)

    def predictions(self, name: str) -> Predictions:
        """A column in which rows may hold no number: they are counted, and are never 0.

        Raises:
            DataError: There is no such column, or numbers in it may have separators of thousands.
        """
        cells = self._cells(name)
        check_thousands(name, zip(self.rows, cells, strict=True), self.path)
        values = self._numbers(name, cells)
        blank = sum(map(is_missing, cells))
        odd = next(
            (i for i, (v, c) in enumerate(zip(values, cells, strict=True)) if v is None and not is_missing(c)), None
        )
        said = None if odd is None else f"{_short(cells[odd])} (row {self.rows[odd]})"
        return Predictions(name, values, blank, values.count(None) - blank, said)

    def form(self, *names: str) -> Form | None:
        """How all numbers of these columns are written, where not as plain ones (``4/5``, pass and fail); else None.

        Raises:
            DataError: There is no such column.
        """
        return form_of(cell for name in names for cell in self._cells(name) if not is_missing(cell))

    @property
    def forms_said(self) -> list[str]:
        """What the user should know of columns whose numbers were read, and are not written as plain ones."""
        return [f"{form.note} (in {listed(names)})" for form, names in self._forms.items()]

    def _numbers(self, name: str, cells: Sequence[Any]) -> tuple[float | None, ...]:
        form = self.form(name)
        if form is not None:
            self._forms.setdefault(form, {})[name] = None
            cells = [*map(form.bare, cells)]
        return tuple(to_number(cell, decimal_comma=self._decimal_comma) for cell in cells)

    def names(self, name: str) -> tuple[str | None, ...]:
        """A column of names, by their words; None where the cell is blank or says that there is none (NaN, null).

        Raises:
            DataError: There is no such column, or a cell holds a list or an object, or cannot be read.
        """
        return tuple(map(tidy_name, self._texts(name)))

    def texts(self, name: str) -> tuple[str, ...]:
        """A column as text, whatever its cells hold; empty where there is none."""
        return tuple("" if cell is None else str(cell) for cell in self._cells(name))

    def _texts(self, name: str) -> list[str | None]:
        found: list[str | None] = []
        for row, cell in zip(self.rows, self._cells(name), strict=True):
            if isinstance(cell, Mapping | list | tuple):
                raise DataError(f"{_short(cell)} is no name", path=self.path, row=row, column=name)
            if isinstance(cell, Unreadable):
                raise DataError(cell.reason, path=self.path, row=row, column=name)
            blank = cell is None or cell != cell or not str(cell).strip()
            whole = isinstance(cell, float) and cell.is_integer()
            found.append(None if blank else str(int(cell) if whole else cell))
        return found

    def digests(self, name: str) -> tuple[str | None, ...]:
        """As ``names``, for long texts: a short digest that is equal where the words are."""
        return tuple(
            None
            if text is None
            else hashlib.sha256(" ".join(text.split()).encode("utf-8", "surrogatepass")).hexdigest()[:16]
            for text in self._texts(name)
        )

    def matching(self, pattern: str) -> tuple[str, ...]:
        """What the star in a pattern stands for, in the order in which it first occurs.

        Raises:
            DataError: Nothing, or there is more than one star.
        """
        before, _, after = pattern.partition("*")
        if "*" in after:
            raise DataError(f"{pattern!r} has more than one star; use one", path=self.path)
        found = {name[len(before) : len(name) - len(after)]: None for name in self._all() if fits(name, pattern)}
        if not found:
            raise DataError(f"no column is like {pattern!r}; {self._there(pattern)}", path=self.path)
        return tuple(found)

    def _all(self) -> dict[str, None]:
        """Every column, and every name inside of objects, with the way there."""
        names = dict.fromkeys(self.columns)
        for record in self._records:
            for column, cell in record.items():
                names.update((name, None) for name, _ in ways(inside(cell) or {}, column))
        return names

    def _cells(self, name: str) -> list[Any]:
        if self._keys(name) is None:
            raise DataError(f"there is no column {name!r}; {self._there(name)}", path=self.path)
        return [cell_at(record, name) for record in self._records]

    def _keys(self, name: str) -> tuple[str, ...] | None:
        return next((keys for record in self._records if (keys := keys_to(record, name)) is not None), None)

    def _there(self, name: str) -> str:
        names = [*self._all()]
        head = name.partition(".")[0]
        near = difflib.get_close_matches(name, names, n=1) or difflib.get_close_matches(head, self.columns, n=1)
        within = [other for other in names if other not in self.columns and other.startswith(f"{head}.")]
        others = within or [*self.columns]
        shown = ", ".join(repr(other[:60]) for other in others[:_SHOWN]) + (" and more" if len(others) > _SHOWN else "")
        there = f"{f'in {head!r} there are' if within else 'the columns are'} {shown}"
        return f"did you mean {near[0]!r}? {there[0].upper()}{there[1:]}" if near else there


def to_number(cell: Any, *, decimal_comma: bool = False) -> float | None:
    """A finite number, or None for anything else; with ``decimal_comma``, ``3,5`` is one, too."""
    if isinstance(cell, str):
        cell = cell.strip().replace(",", ".") if decimal_comma else cell.strip()
    if isinstance(cell, bool) or not (
        isinstance(cell, int | float | Decimal) or (isinstance(cell, str) and NUMBER.fullmatch(cell))
    ):
        return None
    try:
        number = float(cell)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def _under(name: str, column: str) -> bool:
    return name.startswith(f"{column}.") or ("*" in name and column.startswith(name.partition("*")[0]))


def _short(cell: Any) -> str:
    return repr(cell if isinstance(cell, int | float) else str(cell)[:40])
