"""Rows out of whatever the user gives: a path, a table, a Hugging Face dataset, mappings or examples.

Tables and records of other packages (pandas, polars, pyarrow, DSPy) are known by their methods; none is imported.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from active_critic.data.cells import is_absent, plain_cell
from active_critic.data.examples import Examples
from active_critic.data.fields import Given
from active_critic.data.files import DEEP, TABLES, Records, iter_records, too_deep
from active_critic.data.labels import Labels, labels_note, labels_of, name_codes
from active_critic.data.notes import listed
from active_critic.data.rows import BadRow, check_columns
from active_critic.errors import DataError
from active_critic.paths import at_home
from active_critic.records import Example

Item = tuple[int, Given] | BadRow


class Source(Iterator[Item]):
    """The rows that the user gives, one at a time.

    Attributes:
        path: The file that they come from, or None.
        fixed: Whether all rows have the same columns.

    Raises:
        DataError: This is nothing that rows come from.
    """

    def __init__(self, given: Any) -> None:
        self.path: str | None = None
        self.fixed = is_table(given)
        self._said: list[str] = []
        self._file: Records | None = None
        self._rows = self._open(given)

    def __next__(self) -> Item:
        return next(self._rows)

    @property
    def decimal_comma(self) -> bool:
        """Whether ``3,5`` is a number there; known from the first row on."""
        return self._file is not None and self._file.decimal_comma

    @property
    def bom(self) -> bool:
        """Whether the rows come from a file that began with a byte order mark; known from the first row on."""
        return self._file is not None and self._file.bom

    @property
    def notes(self) -> tuple[str, ...]:
        """What the user should know of the rows, as far as they were read."""
        return (*self._said, *(self._file.notes if self._file is not None else ()))

    def _open(self, given: Any) -> Iterator[Item]:
        if isinstance(given, str | Path):
            path = at_home(given)
            self.path = str(path)
            self._file = iter_records(path)
            self.fixed = self._file.kind in TABLES
            return self._file
        if isinstance(given, Mapping):
            raise DataError(f"a mapping is not a list of examples; pick one of its parts: {listed(given)}")
        if is_table(given):
            return _tabled(given)
        if not isinstance(given, Iterable):
            kind = kind_of(given)
            raise DataError(f"examples come from a path, a DataFrame, a Dataset or a list of mappings, not from {kind}")
        if isinstance(given, Examples):
            self.path = given.path
        features = getattr(given, "features", None)  # of a Hugging Face dataset
        self.fixed = isinstance(features, Mapping)
        labels = labels_of(features) if isinstance(features, Mapping) else None
        if not isinstance(labels, dict):
            return (_item(row, item, {}) for row, item in enumerate(given, 1))
        self._said.append(labels_note(labels))
        return (_item(row, item, labels) for row, item in enumerate(given, 1))


def is_table(given: Any) -> bool:
    """Whether this is a DataFrame of pandas, one of polars (also a lazy one), or a table of pyarrow."""
    framed = any(hasattr(given, name) for name in ("itertuples", "iter_rows", "collect_schema"))
    return framed or (hasattr(given, "to_pylist") and hasattr(given, "column_names"))


def kind_of(value: Any) -> str:
    """What a value is, for a message; with its package, where that is neither Python nor this one."""
    kind = type(value)
    package = kind.__module__.partition(".")[0]
    return kind.__name__ if package in {"builtins", __name__.partition(".")[0]} else f"{package}.{kind.__name__}"


def mapping_of(item: Any) -> Any:
    """The mapping that an example or a prediction of DSPy holds; anything else as it is."""
    return item.toDict() if hasattr(item, "toDict") and not isinstance(item, Mapping) else item


def _tabled(table: Any) -> Iterator[Item]:
    if hasattr(table, "itertuples"):
        return _framed(table)
    if hasattr(table, "collect_schema") and not hasattr(table, "iter_rows"):
        table = table.collect()
    check_columns(getattr(table, "column_names", ()), None)
    rows = table.iter_rows(named=True) if hasattr(table, "iter_rows") else table.to_pylist()
    return (_item(row, item, {}) for row, item in enumerate(rows, 1))


def _framed(frame: Any) -> Iterator[Item]:
    # By place, for names may be repeated. pandas makes a RangeIndex of any column that counts: a name is what tells.
    places = {name: place for place, name in enumerate(frame.index.names)}
    levels = [place for name, place in places.items() if name not in {None, *frame.columns}]
    if levels:
        frame = frame.reset_index(level=levels)
    columns = [str(column) for column in frame.columns]
    check_columns(columns, None)
    for row, cells in enumerate(frame.itertuples(index=False, name=None), 1):
        record = dict(zip(columns, cells, strict=True))
        if too_deep(record):
            yield BadRow(row, DEEP)
        else:
            plain = {column: plain_cell(cell) for column, cell in record.items()}
            yield row, {column: None if is_absent(cell) else cell for column, cell in plain.items()}


def _item(row: int, item: Any, labels: Mapping[str, Labels]) -> Item:
    if isinstance(item, Example):
        return item.row or row, item
    item = mapping_of(item)
    if not isinstance(item, Mapping):
        return BadRow(row, f"an example is a mapping or an Example, not {kind_of(item)}")
    if too_deep(item):
        return BadRow(row, DEEP)
    record = {str(name): plain_cell(value) for name, value in item.items()}
    wrong = name_codes(record, labels)
    return (row, record) if wrong is None else BadRow(row, wrong[1], record, wrong[0])
