"""Records out of files: CSV, TSV, JSON, JSON Lines (each also gzipped), and Parquet. Into files: ``writing``.

A record is one row as it stands in the file, a mapping from column to value. What the columns mean, ``data`` knows.
"""

from __future__ import annotations

import contextlib
import csv
import gzip
import io
import itertools
import json
import re
import zlib
from codecs import BOM_UTF8
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, cast

from active_critic.errors import DataError, MissingExtra
from active_critic.labels import labels_in_schema, labels_note, name_codes
from active_critic.lines import LONGEST, LongLine, first, lines_of, whole
from active_critic.paths import as_pasted

READABLE = (".csv", ".tsv", ".json", ".jsonl", ".ndjson", ".parquet")
NUMBER = re.compile(r"\s*+[+-]?(\d++\.?\d*+|\.\d++)([eE][+-]?\d++)?\s*+", re.ASCII)

_HINT = re.compile(r'"?sep=([,;\t|])"?\s*', re.IGNORECASE)
"""A first line that tells Excel the separator."""
_COMMA = re.compile(r"\s*[+-]?\d+,(\d{1,2}|\d{4,})\s*", re.ASCII)
_POINT = re.compile(r"\s*[+-]?\d*\.\d+\s*", re.ASCII)
SEPARATORS = {",", ";", "\t", "|"}
"""What cells are separated by in files that pass for CSV."""
DELIMITERS = {".csv": ",", ".tsv": "\t"}
_SHEETS = frozenset({".xlsx", ".xls", ".xlsm", ".ods"})
_SHOWN = 5
"""Repeated columns that an error names at most."""
DEEPEST = 100
"""Lists and objects in one another; what is nested deeper cannot be relied on to be written again."""
_DEEP = f"holds lists or objects that are nested more than {DEEPEST} deep; flatten or remove them"
_QUOTE = "quote cells that contain the separator"
_PEEK = 200
"""Lines that tell the separator and decimal commas."""
LARGEST_JSON = 256 * 2**20
"""Characters of a ``.json`` file, which is read whole."""
_WRAPPERS = ("data", "examples", "items")


Row = tuple[int, dict[str, Any]]
"""A position (as in ``BadRow``) and the record there."""


@dataclass(frozen=True, slots=True)
class BadRow:
    """A row that cannot be used, kept so that it can be reported in its place.

    Attributes:
        row: 1-based position: the line for JSON Lines, the record (header not counted) otherwise.
        reason: What is wrong and what to do about it.
        record: Whatever could be read of it.
        column: The column concerned, or None.
    """

    row: int
    reason: str
    record: Mapping[str, Any] = field(default_factory=dict)
    column: str | None = None

    def error(self, path: str | None) -> DataError:
        """The same complaint as an error, for when one bad row must stop the work."""
        return DataError(self.reason, path=path, row=self.row, column=self.column)


@dataclass(frozen=True, slots=True)
class Unreadable:
    """Stands in a record for a value of the file that cannot be read; where nobody needs it, the row can be used.

    Attributes:
        reason: What is wrong and what to do about it.
    """

    reason: str

    def __str__(self) -> str:
        return self.reason


def file_kind(path: Path, known: tuple[str, ...]) -> tuple[str, bool]:
    """The format a file's name stands for, and whether it is gzipped.

    Raises:
        DataError: The suffix is none of ``known`` (each but ``.parquet`` also with ``.gz``).
    """
    suffixes = [suffix.lower() for suffix in path.suffixes]
    gzipped = suffixes[-1:] == [".gz"]
    kind = suffixes[-2 if gzipped else -1 :][:1]
    if not kind or kind[0] not in known or (gzipped and kind[0] == ".parquet"):
        listed = ", ".join(known)
        sheet = known == READABLE and not _SHEETS.isdisjoint(kind)
        remedy = "; save a sheet as one of these (in Excel: Save As, CSV UTF-8)" if sheet else ""
        reason = f"the format of a file is told by its name, which must end in {listed} (text formats also with .gz)"
        raise DataError(f"{reason}{remedy}", path=str(path))
    return kind[0], gzipped


def is_delimited(path: str | None) -> bool:
    """Whether a file is CSV or TSV, by its name."""
    return path is not None and path.lower().removesuffix(".gz").endswith(tuple(DELIMITERS))


class Records(Iterator[Row | BadRow]):
    """The rows of a file, one at a time.

    Attributes:
        kind: The format, by its suffix.
        decimal_comma: Whether ``3,5`` is a number, as where semicolons separate cells, or where neither commas do and
            the first rows have more such numbers than with a point; known from the first row on.
        bom: Whether the file began with a byte order mark, by which Excel knows UTF-8; known from the first row on.
        empty: The first row that was left out because all its cells are blank, and how many were; or None.
    """

    def __init__(self, path: Path, kind: str, gzipped: bool) -> None:
        self.kind = kind
        self.decimal_comma = False
        self.bom = False
        self.empty: tuple[int, int] | None = None
        self._said: list[str] = []
        self._ended = False
        self._rows = self._guarded(path, kind, gzipped)

    def __next__(self) -> Row | BadRow:
        return next(self._rows)

    @property
    def notes(self) -> tuple[str, ...]:
        """What the user should know of the file, as far as it was read."""
        if self.empty is None:
            return tuple(self._said)
        first, count = self.empty
        if not self._ended:
            return *self._said, f"empty rows are left out; the first is row {first}"
        rows = f"{count} empty rows are left out; the first is" if count > 1 else "1 empty row is left out:"
        return *self._said, f"{rows} row {first}"

    def leave_out(self, row: int) -> None:
        """Count a row in which all cells are blank."""
        self.empty = (row, 1) if self.empty is None else (self.empty[0], self.empty[1] + 1)

    def decimal_commas(self, separator: str) -> None:
        """Read them, and say so."""
        self.decimal_comma = True
        why = "cells are separated by semicolons" if separator == ";" else "numbers have decimal commas"
        self._said.append(f"{why} in this file; a score of 3,5 is read as 3.5")

    def _guarded(self, path: Path, kind: str, gzipped: bool) -> Iterator[Row | BadRow]:
        rows = 0
        try:
            for item in _parquet(path, self._said) if kind == ".parquet" else self._text_rows(path, kind, gzipped):
                rows += 1
                yield item
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise DataError(f"damaged or cut-off gzip data after {rows} rows ({error})", path=str(path)) from error
        except OSError as error:
            raise DataError(f"cannot be read: {error.strerror or error}", path=str(path)) from error
        self._ended = True
        if not rows:
            raise DataError("the file holds no rows", path=str(path))

    def _text_rows(self, path: Path, kind: str, gzipped: bool) -> Iterator[Row | BadRow]:
        with gzip.open(path, "rb") if gzipped else path.open("rb") as raw:
            start = cast("io.BufferedReader", raw).peek(4)[:4]
            if start[:2] in (b"\xff\xfe", b"\xfe\xff"):
                raise DataError("this is UTF-16 text; save it as UTF-8", path=str(path))
            if start[:2] == b"\x1f\x8b":
                raise DataError("this is gzip data; let its name end in .gz", path=str(path))
            if kind not in DELIMITERS and b"\0" in start:
                raise DataError("there is a NUL byte in it; is the file UTF-16? Save it as UTF-8", path=str(path))
            self.bom = start.startswith(BOM_UTF8)
            # Undecodable bytes pass through as surrogates, so that they are reported with the row they are in.
            newline = "" if kind in DELIMITERS else "\n"
            with io.TextIOWrapper(cast(BinaryIO, raw), "utf-8-sig", errors="surrogateescape", newline=newline) as text:
                if kind in DELIMITERS:
                    yield from _delimited(text, path, DELIMITERS[kind], self)
                elif kind == ".json":
                    yield from _json_array(text.read(LARGEST_JSON + 1), path)
                else:
                    yield from _json_lines(lines_of(text))


def iter_records(path: str | Path) -> Records:
    """The rows of a file, one at a time; ``.json`` is the only format that is read whole.

    A row that cannot be read comes as a ``BadRow`` in its place. In CSV and TSV, blank lines are no rows, and rows in
    which all cells are blank are left out and counted.

    Raises:
        DataError: At once when there is no such file, it is a folder or has an unknown suffix; while reading, when the
            file is empty, is no text or no such format, has no usable header, or is cut off, or when a quote that does
            not close swallows more than its line.
        MissingExtra: A Parquet file, and pyarrow is not installed.
    """
    path = Path(path)
    if path.is_dir():
        raise DataError("this is a folder; name a file in it", path=str(path))
    if str(path) in {"-", "/dev/stdin"}:
        raise DataError("standard input is not read; write it into a file, and name that", path=str(path))
    if not path.exists() and (meant := as_pasted(path)) is not None:
        raise DataError(f"there is no such file, but there is {meant}; name that", path=repr(str(path)))
    kind, gzipped = file_kind(path, READABLE)
    if not path.exists():
        raise DataError("there is no such file", path=str(path))
    return Records(path, kind, gzipped)


def _undecodable(text: str) -> str | None:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        return f"byte 0x{ord(text[error.start]) - 0xDC00:02X} (character {error.start + 1}) is not UTF-8; save as UTF-8"
    return None


def check_columns(columns: Iterable[str], path: str | None) -> None:
    """Refuse a header in which a name occurs twice.

    Raises:
        DataError: Naming the columns that are repeated.
    """
    repeated = sorted(name for name, times in Counter(columns).items() if times > 1)
    if repeated:
        listed = ", ".join(repr(name[:40]) for name in repeated[:_SHOWN]) + " and more" * (len(repeated) > _SHOWN)
        raise DataError(f"the header names {listed} more than once; give every column its own name", path=path)


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


def _delimited(text: io.TextIOWrapper, path: Path, delimiter: str, found: Records) -> Iterator[Row | BadRow]:
    csv.field_size_limit(max(csv.field_size_limit(), LONGEST))  # the library refuses cells over 128 kB otherwise
    lines, delimiter, before, comma = _opened(text, delimiter)
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    try:
        header = next((cells for cells in reader if any(map(str.strip, cells))), [])
    except csv.Error as error:
        raise DataError(f"the header is broken ({error})", path=str(path)) from error
    if comma:
        found.decimal_commas(delimiter)
    for name in header:
        problem = "there is a NUL byte in it; is the file UTF-16?" if "\0" in name else _undecodable(name)
        if problem:
            raise DataError(f"the header cannot be used: {problem}", path=str(path))
    columns = _named(header)
    check_columns((name for name in columns if name is not None), str(path))
    if len(header) == 1 and (other := max(SEPARATORS - {delimiter}, key=header[0].count)) in header[0]:
        shown, expected = (repr(one) if one != "\t" else "a tab" for one in (other, delimiter))
        other_way = "name it .tsv" if other == "\t" else f"write sep={other} in a line above it"
        remedy = f"{other_way}, or save it with {expected} as the separator"
        raise DataError(f"the header is one cell, {header[0]!r}, with {shown} in it; {remedy}", path=str(path))
    titled = _titled(columns) and (None in columns or delimiter == ";")
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
        if not cells:
            continue
        row += 1
        if any(map(str.strip, cells)):
            item = _cells(row, columns, cells)
            if titled and isinstance(item, BadRow):
                raise item.error(str(path))
            titled = False
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
        problem = f"has {len(cells)} cells where the header has {len(header)}; {title}{_QUOTE}"
    elif "\0" in whole or _undecodable(whole):
        column, bad = next((name, cell) for name, cell in record.items() if "\0" in cell or _undecodable(cell))
        problem = _undecodable(bad) or "contains a NUL byte; the file may be damaged"
    if problem is None:
        return row, record
    shown = {name: cell.encode("utf-8", "surrogateescape").decode("utf-8", "replace") for name, cell in record.items()}
    return BadRow(row, problem, shown, column)


def folded(column: str) -> str:
    """A column's name as usual names are compared: case, blanks and hyphens do not matter."""
    return column.strip().casefold().replace(" ", "_").replace("-", "_")


def no_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object from its fields, each of which stands there once; for ``json.loads``.

    Raises:
        ValueError: One is there twice.
    """
    record = dict(pairs)
    if len(record) < len(pairs):
        name = next(name for name, times in Counter(name for name, _ in pairs).items() if times > 1)
        raise ValueError(f"the field {name[:40]!r} is there twice")
    return record


def _parsed(text: str) -> tuple[Any, str | None]:
    problem = _undecodable(text)
    if problem:
        return None, problem
    try:
        return json.loads(text, object_pairs_hook=no_repeats), None
    except json.JSONDecodeError as error:
        line = f"line {error.lineno}, " if error.lineno > 1 else ""
        return None, f"{error.msg} ({line}character {error.colno})"
    except (ValueError, RecursionError) as error:
        return None, str(error)


def _too_deep(record: dict[str, Any]) -> bool:
    level: list[Any] = [record]
    for _ in range(DEEPEST):
        inner = (one.values() if isinstance(one, dict) else one for one in level)
        level = [part for parts in inner for part in parts if isinstance(part, dict | list)]
        if not level:
            return False
    return True


def _json_lines(lines: Iterable[str | None]) -> Iterator[Row | BadRow]:
    for number, line in enumerate(lines, 1):
        if line is None:
            yield BadRow(number, f"line {number} is {LongLine()}")
            continue
        if line.isspace():
            continue
        value, problem = _parsed(line.rstrip("\r\n"))
        if number == 1 and (isinstance(value, list) or (problem and line.strip() == "[")):
            problem = "this is the beginning of an array; let the file's name end in .json if it is one"
        if problem:
            yield BadRow(number, f"line {number} is broken JSON: {problem}; correct or remove the line")
        elif isinstance(value, dict):
            # As many brackets as it takes are seldom there, and quickly counted.
            deep = line.count("[") + line.count("{") > DEEPEST and _too_deep(value)
            yield BadRow(number, f"line {number} {_DEEP}") if deep else (number, value)
        else:
            yield BadRow(number, f"line {number} is not a JSON object with named fields")


def _json_array(text: str, path: Path) -> Iterator[Row | BadRow]:
    if not text.strip():
        raise DataError("the file is empty", path=str(path))
    if len(text) > LARGEST_JSON:
        reason = f"longer than {LARGEST_JSON:,} characters, and read whole; write .jsonl, which is read line by line"
        raise DataError(reason, path=str(path))
    value, problem = _parsed(text)
    if problem:
        hint = "; if every line is a record of its own, let its name end in .jsonl" if "Extra data" in problem else ""
        raise DataError(f"broken JSON: {problem}{hint}", path=str(path))
    if isinstance(value, dict):
        value = next((value[name] for name in _WRAPPERS if isinstance(value.get(name), list)), None)
    if not isinstance(value, list):
        raise DataError('expected an array of objects, or {"data": [...]}', path=str(path))
    for row, item in enumerate(value, 1):
        if isinstance(item, dict):
            yield BadRow(row, f"entry {row} {_DEEP}") if _too_deep(item) else (row, item)
        else:
            yield BadRow(row, f"entry {row} is not a JSON object with named fields")


def _parquet(path: Path, notes: list[str]) -> Iterator[Row | BadRow]:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        raise MissingExtra("reading Parquet needs pyarrow: pip install 'active-critic[data]'") from error
    try:
        with pq.ParquetFile(path) as file:
            check_columns(file.schema_arrow.names, str(path))
            labels = labels_in_schema(file.schema_arrow.metadata)
            if labels:
                notes.append(labels_note(labels))
            row = 0
            for batch in file.iter_batches(batch_size=1024):
                for record in _read_batch(batch):
                    row += 1
                    wrong = name_codes(record, labels)
                    yield (row, record) if wrong is None else BadRow(row, wrong[1], record, wrong[0])
    except pa.ArrowException as error:
        raise DataError(f"not a Parquet file, or damaged ({error})", path=str(path)) from error


def _read_batch(batch: Any) -> list[dict[str, Any]]:
    """The records of a batch of Arrow's; values that Python cannot hold, such as a date in the year 30000, are marked.

    Texts that are not UTF-8, times out of range and objects with a field twice are such values.
    """
    try:
        records: list[dict[str, Any]] = batch.to_pylist()
        return records
    except (ValueError, OverflowError):
        columns = [[_read_cell(cell) for cell in column] for column in batch.columns]
        return [dict(zip(batch.schema.names, cells, strict=True)) for cells in zip(*columns, strict=True)]


def _read_cell(cell: Any) -> Any:
    try:
        return cell.as_py()
    except (ValueError, OverflowError) as problem:
        return Unreadable(f"a value of type {cell.type} cannot be read ({problem}); correct it or drop the row")
