"""Records out of files: CSV, TSV, JSON, JSON Lines (each also gzipped), Parquet, workbooks. Into files: ``writing``.

A record is one row as it stands in the file, a mapping from column to value. What the columns mean, ``fields`` knows.
"""

from __future__ import annotations

import gzip
import io
import itertools
import json
import shlex
import zlib
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE, BOM_UTF32_BE, BOM_UTF32_LE
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO, cast

from active_critic.data.delimited import DELIMITERS, Found, delimited_rows, rows_under
from active_critic.data.labels import labels_in_schema, labels_note, name_codes
from active_critic.data.lines import LongLine, lines_of
from active_critic.data.rows import BadRow, Row, Unreadable, as_utf8, check_columns, undecodable
from active_critic.data.workbooks import WORKBOOKS, sheet_cells
from active_critic.errors import DataError, MissingExtra
from active_critic.figures_in_words import how_many
from active_critic.paths import as_pasted

STDIN = frozenset({"-", "/dev/stdin"})
"""What stands for standard input, which is read once, as JSON Lines."""
READABLE = (".csv", ".tsv", ".json", ".jsonl", ".ndjson", ".parquet", *WORKBOOKS)
TABLES = frozenset({*DELIMITERS, ".parquet", *WORKBOOKS})
"""Formats in which all rows have the same columns."""
_OTHER_SHEETS = frozenset({".xls", ".xlsb", ".ods", ".numbers"})
_WORKBOOKS = (
    (b"PK\x03\x04", "a zip file; if it is a workbook of Excel, let its name end in .xlsx"),
    (b"\xd0\xcf\x11\xe0", "a file of old Office programs; if it is a workbook, save it as .xlsx"),
)
"""How the files of spreadsheets begin, and what to do about them."""
DEEPEST = 100
"""Lists and objects in one another; what is nested deeper cannot be relied on to be written again."""
DEEP = f"holds lists or objects that are nested more than {DEEPEST} deep; flatten or remove them"
LARGEST_JSON = 256 * 2**20
"""Characters of a ``.json`` file, which is read whole."""
_WRAPPERS = ("data", "examples", "items")
"""Where the rows of a JSON object are, if there is such a list in it."""
_SHOWN = 12
"""Lists that an error names at most."""


def file_kind(path: Path, known: tuple[str, ...]) -> tuple[str, bool]:
    """The format a file's name stands for, and whether it is gzipped.

    Raises:
        DataError: The suffix is none of ``known`` (those of text also with ``.gz``).
    """
    suffixes = [suffix.lower() for suffix in path.suffixes]
    gzipped = suffixes[-1:] == [".gz"]
    kind = suffixes[-2 if gzipped else -1 :][:1]
    if not kind or kind[0] not in known or (gzipped and kind[0] in TABLES - DELIMITERS.keys()):
        listed = ", ".join(known)
        if known == READABLE and not _OTHER_SHEETS.isdisjoint(kind):
            raise DataError(f"{kind[0]} is not read; export the sheet as .xlsx or .csv, and name that", path=str(path))
        reason = f"the format of a file is told by its name, which must end in {listed} (text formats also with .gz)"
        raise DataError(reason, path=str(path))
    return kind[0], gzipped


class Records(Iterator[Row | BadRow]):
    """The rows of a file, one at a time.

    Attributes:
        kind: The format, by its suffix.
        bom: Whether the file began with a byte order mark, by which Excel knows UTF-8, or UTF-16, or is a workbook;
            known from the first row on.
    """

    def __init__(self, path: Path, kind: str, gzipped: bool) -> None:
        self.kind = kind
        self.bom = False
        self._found = Found()
        self._ended = False
        self._rows = self._guarded(path, kind, gzipped)

    def __next__(self) -> Row | BadRow:
        return next(self._rows)

    @property
    def decimal_comma(self) -> bool:
        """Whether ``3,5`` is a number; known from the first row on."""
        return self._found.decimal_comma

    @property
    def notes(self) -> tuple[str, ...]:
        """What the user should know of the file, as far as it was read."""
        said = list(self._found.said)
        if self._found.empty is not None:
            first, count = self._found.empty
            rows = how_many(count, "empty row is left out:", "empty rows are left out; the first is")
            said.append(f"{rows if self._ended else 'empty rows are left out; the first is'} row {first}")
        if self._found.short is not None:
            first, cells, count = self._found.short
            some = how_many(count, "row has", "rows have")
            said.append(
                f"{some if self._ended else 'some rows have'} fewer cells than the header, and what is missing counts "
                f"as blank; the first is row {first}, of {how_many(cells, 'cell')}: was the file cut off?"
            )
        return tuple(said)

    def _guarded(self, path: Path, kind: str, gzipped: bool) -> Iterator[Row | BadRow]:
        rows = 0
        try:
            for item in self._rows_of(path, kind, gzipped):
                rows += 1
                yield item
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            remedy = "fetch or make it anew; if it is no gzip data at all, let its name not end in .gz"
            reason = f"damaged or cut-off gzip data after {rows} rows ({error}); {remedy}"
            raise DataError(reason, path=str(path)) from error
        except OSError as error:
            raise DataError(f"cannot be read: {error.strerror or error}", path=str(path)) from error
        except UnicodeDecodeError as error:
            reason = f"damaged or cut-off UTF-16 text after {rows} rows ({error.reason}); save it anew, as UTF-8"
            raise DataError(reason, path=str(path)) from error
        self._ended = True
        if not rows:
            raise DataError("the file holds no rows", path=str(path))

    def _rows_of(self, path: Path, kind: str, gzipped: bool) -> Iterator[Row | BadRow]:
        if kind == ".parquet":
            return _parquet(path, self._found.said)
        return self._sheet(path) if kind in WORKBOOKS else self._text_rows(path, kind, gzipped)

    def _sheet(self, path: Path) -> Iterator[Row | BadRow]:
        header, *rows = sheet_cells(path, self._found.said)
        self.bom = True
        # A row ends with its last cell that holds anything, however wide the sheet is: none is cut off.
        width = max(map(len, (header, *rows)))
        whole = (cells + [""] * (width - len(cells)) if cells else cells for cells in (header, *rows))
        yield from rows_under(next(whole), whole, path, self._found, guessed=True)

    def _text_rows(self, path: Path, kind: str, gzipped: bool) -> Iterator[Row | BadRow]:
        with _opened(path, gzipped=gzipped) as raw:
            start = cast("io.BufferedReader", raw).peek(4)[:4]
            if start in (BOM_UTF32_LE, BOM_UTF32_BE):
                raise DataError(f"this is UTF-32 text; {as_utf8('UTF-32')}", path=str(path))
            wide = start.startswith((BOM_UTF16_LE, BOM_UTF16_BE))
            if wide:
                self._found.said.append("the file is UTF-16 text and read as that; what is written of it is UTF-8")
            for beginning, what in _WORKBOOKS:
                if start == beginning:
                    raise DataError(f"this is {what}", path=str(path))
            if start[:2] == b"\x1f\x8b":
                raise DataError("this is gzip data; let its name end in .gz", path=str(path))
            if not wide and b"\0" in start:
                encoding = "UTF-16BE" if start[:1] == b"\0" else "UTF-16LE"
                reason = f"there is a NUL byte in it; is the file UTF-16? If so, {as_utf8(encoding)}"
                raise DataError(reason, path=str(path))
            self.bom = wide or start.startswith(BOM_UTF8)
            # Undecodable bytes pass through as surrogates, so that they are reported with the row they are in.
            how = ("utf-16", "strict") if wide else ("utf-8-sig", "surrogateescape")
            newline = "" if kind in DELIMITERS else "\n"
            with io.TextIOWrapper(cast(BinaryIO, raw), how[0], errors=how[1], newline=newline) as text:
                if kind in DELIMITERS:
                    yield from delimited_rows(text, path, DELIMITERS[kind], self._found)
                elif kind == ".json":
                    yield from _json_array(text.read(LARGEST_JSON + 1), path, self._found.said)
                else:
                    yield from _json_lines(lines_of(text))


def _opened(path: Path, *, gzipped: bool) -> Any:
    if str(path) in STDIN:
        return open(0, "rb", closefd=False)
    return gzip.open(path, "rb") if gzipped else path.open("rb")


def iter_records(path: str | Path) -> Records:
    """The rows of a file, one at a time; ``.json`` and workbooks are read whole. ``-`` is standard input.

    A row that cannot be read comes as a ``BadRow`` in its place. In CSV and TSV, blank lines are no rows, and there and
    in workbooks rows in which all cells are blank are left out and counted.

    Raises:
        DataError: At once when there is no such file, it is a folder or has an unknown suffix; while reading, when the
            file is empty, is no text or no such format, has no usable header, or is cut off, or when a quote that does
            not close swallows more than its line.
        MissingExtra: A Parquet file or a workbook, and what reads it is not installed.
    """
    path = Path(path)
    if path.is_dir():
        raise DataError("this is a folder; name a file in it", path=str(path))
    if str(path) in STDIN:
        return Records(path, ".jsonl", gzipped=False)
    if not path.exists() and (meant := as_pasted(path)) is not None:
        raise DataError(f"there is no such file, but there is {meant}; name that", path=repr(str(path)))
    if not path.exists():
        raise DataError("there is no such file", path=str(path))
    kind, gzipped = file_kind(path, READABLE)
    return Records(path, kind, gzipped)


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
    problem = undecodable(text)
    if problem:
        return None, problem
    try:
        return json.loads(text, object_pairs_hook=no_repeats), None
    except json.JSONDecodeError as error:
        line = f"line {error.lineno}, " if error.lineno > 1 else ""
        return None, f"{error.msg} ({line}character {error.colno})"
    except (ValueError, RecursionError) as error:
        return None, str(error)


def too_deep(record: Mapping[str, Any]) -> bool:
    """Whether it holds lists or objects that are nested more than ``DEEPEST`` deep."""
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
        if number == 1 and problem and line.strip() == "{":
            problem = "a record is on one line, and this one goes on (in a shell: jq -c . FILE > NEW)"
        if number == 1 and problem and line.lstrip()[0] not in "[{":
            problem += "; JSON Lines are expected, an object a line"
        if problem:
            yield BadRow(number, f"line {number} is broken JSON: {problem}; correct or remove the line")
        elif isinstance(value, dict):
            # As many brackets as it takes are seldom there, and quickly counted.
            deep = line.count("[") + line.count("{") > DEEPEST and too_deep(value)
            yield BadRow(number, f"line {number} {DEEP}") if deep else (number, value)
        else:
            yield BadRow(number, f"line {number} is not a JSON object with named fields")


def _json_array(text: str, path: Path, notes: list[str]) -> Iterator[Row | BadRow]:
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
        value = _rows_in(value, path, notes)
    if not isinstance(value, list):
        raise DataError("expected an array of objects, or an object that holds one", path=str(path))
    for row, item in enumerate(value, 1):
        if isinstance(item, dict):
            yield BadRow(row, f"entry {row} {DEEP}") if too_deep(item) else (row, item)
        else:
            yield BadRow(row, f"entry {row} is not a JSON object with named fields")


def _rows_in(document: Mapping[str, Any], path: Path, notes: list[str]) -> list[Any]:
    """The list of rows in an object: that of a usual name, else the only one of objects, at any depth.

    Raises:
        DataError: There is none, there are several, or this is a program.
    """
    for name in _WRAPPERS:
        if isinstance(usual := document.get(name), list):
            return usual
    if "format_version" in document:
        raise DataError("this is a program, and holds no rows; name the file with the texts", path=str(path))
    found = dict(_lists_of_objects(document, ()))
    if not found:
        raise DataError("expected an array of objects, or an object that holds one", path=str(path))
    if len(found) > 1:
        named = (f"{'.'.join(way)[:40]!r} ({len(rows)})" for way, rows in itertools.islice(found.items(), _SHOWN))
        longest = max(found, key=lambda way: len(found[way]))
        wanted = "".join(f".{name if name.isidentifier() else json.dumps(name)}" for name in longest)
        remedy = f"keep the one with the rows, and no more (in a shell: jq {shlex.quote(wanted)} FILE > NEW)"
        raise DataError(f"several lists of objects are in it: {', '.join(named)}; {remedy}", path=str(path))
    ((way, rows),) = found.items()
    notes.append(f"the rows are those of the list {'.'.join(way)[:40]!r}")
    return rows


def _lists_of_objects(parts: Mapping[str, Any], way: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], list[Any]]]:
    """The lists of objects, not of messages, in an object and the objects in it, with the names that lead there."""
    for name, part in parts.items() if len(way) < DEEPEST else ():
        if isinstance(part, Mapping):
            yield from _lists_of_objects(part, (*way, name))
        elif isinstance(part, list) and part and all(isinstance(one, Mapping) and "role" not in one for one in part):
            yield (*way, name), part


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
