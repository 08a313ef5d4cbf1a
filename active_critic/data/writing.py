"""Records into files: CSV, TSV, JSON, JSON Lines, each also gzipped. Out of files: ``files``."""

from __future__ import annotations

import contextlib
import csv
import gzip
import io
import itertools
import json
import math
import os
import re
import stat
import sys
from collections.abc import Collection, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO

from active_critic.data.delimited import DELIMITERS, SEPARATORS
from active_critic.data.files import file_kind
from active_critic.data.rows import NUMBER
from active_critic.errors import DataError, OutputError
from active_critic.locks import try_lock
from active_critic.paths import behind_links, end_of, make_folder
from active_critic.records import CRITERION_COLUMNS, VERDICT_COLUMNS

WRITABLE = (".csv", ".tsv", ".json", ".jsonl", ".ndjson")

INPUT, EARLIER = "input_", "earlier_"
"""What the names of columns begin with that a verdict has displaced: those of the input, and of an earlier verdict."""
_ADDED = re.compile(rf"(?:{INPUT}|{EARLIER})+(.+?)(?:_\d+)?", re.DOTALL)
_FURTHER = {"repeat_sd"}
"""Columns of a verdict that not every one has, beside those of single criteria."""
UNSAFE = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""What may drive a terminal: control characters, and those that change the direction of what follows."""
_FORMULA = frozenset("=+-@\t\r＝＋－＠")
"""What a text that a spreadsheet runs begins with; in some languages the full-width signs do, too."""
_HEAD = re.compile(f"'*[{re.escape(''.join(sorted(_FORMULA)))}]")
_LATER = r'(?<=[{}])(?="*[=+\-@＝＋－＠])|(?<=[\r\n])(?="*(?:[=@＝＠]|[+\-＋－](?! )))'
"""Where a spreadsheet that takes these for the separators would begin a cell that runs. Excel separates by what its
language says, and then quotes inside a line count for nothing. The bullets of a list are left as they are."""


def merge_record(record: Mapping[str, Any], verdict: Mapping[str, Any]) -> dict[str, Any]:
    """An output record: the input's own columns, then the verdict's.

    An input column that is named like one of the verdict's is kept as ``input_<name>``, and what is of an earlier
    verdict as ``earlier_<name>``: ``input_score`` is what people gave. A number tells apart what would have one name.
    """
    judged = record.keys() >= VERDICT_COLUMNS
    merged: dict[str, Any] = {}
    for name, value in record.items():
        kept = name
        if judged and (name == "score" or name in verdict or name in _FURTHER or _of_criterion(name, record)):
            kept = f"{EARLIER}{name}"
        elif name in verdict:
            kept = f"{INPUT}{name}"
        others = (f"{kept}_{number}" for number in itertools.count(2))
        while kept in verdict or kept in merged or (kept != name and kept in record):
            kept = next(others)
        merged[kept] = value
    return {**merged, **verdict}


def name_before(column: str) -> str:
    """A column's name without what each scoring of a file adds to those that verdicts have, too."""
    found = _ADDED.fullmatch(column)
    return found[1] if found else column


def _of_criterion(name: str, record: Mapping[str, Any]) -> bool:
    """Whether a column of a record with a verdict is what that says of a criterion."""
    score, words = CRITERION_COLUMNS
    return name.startswith(score) or (name.startswith(words) and score + name.removeprefix(words) in record)


def unguarded(text: str) -> str:
    """A text out of CSV or TSV without the apostrophe that a :class:`RecordWriter` puts before a formula."""
    return text[1:] if text[:1] == "'" and _HEAD.match(text) else text


class RecordWriter:
    """Writes records to ``.jsonl``, ``.json``, ``.csv`` or ``.tsv``, each also ``.gz``, one at a time.

    A context manager. Rows go to ``PATH.partial``, which takes the place of ``PATH`` when the block ends well. When it
    does not, the partial file is kept and the error names it. A folder that is missing is made. A second writer of the
    same file is refused. In CSV and TSV the first record fixes the columns, nested values are JSON text, and where a
    spreadsheet would run a text as a formula it gets an apostrophe: at its beginning, and behind what other
    spreadsheets take for a separator.

    Args:
        path: Where the finished file shall be.
        guarded: The only columns in which texts are kept from running as formulas wherever they may; None: all. What
            is in other columns, and their names, is written as it is, so that it can be read back.
        heads: Whether a formula that begins a text in those other columns, or their names, gets an apostrophe too,
            which :func:`unguarded` takes off again.
        decimal_comma: Whether numbers of the user's have commas: then so have those of CSV and TSV, and semicolons
            separate the cells of a CSV. Numbers inside of JSON text keep their points.
        bom: Whether CSV and TSV begin with a byte order mark, by which Excel knows UTF-8.

    Raises:
        OutputError: It is a folder, the suffix is not one of the above, the file cannot be written, another run is
            writing it, or a record has a column that the header lacks.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        guarded: Collection[str] | None = None,
        heads: bool = False,
        decimal_comma: bool = False,
        bom: bool = False,
    ) -> None:
        self.path = Path(path)
        self.guarded = guarded
        self.heads = heads
        self.decimal_comma, self.bom = decimal_comma, bom
        self._end = behind_links(self.path)
        if self._end.is_dir():
            raise OutputError(f"{self.path} is a folder; name a file in it")
        self.partial = self._end.with_name(self._end.name + ".partial")
        try:
            self.kind, self._gzipped = file_kind(self.path, WRITABLE)
        except DataError as error:
            raise OutputError(str(error)) from None
        self.count = 0
        self._columns: list[str] = []

    def __enter__(self) -> RecordWriter:
        try:
            make_folder(end_of(self.path))
            self._file = self._own_partial()
        except OSError as error:
            raise OutputError(f"cannot write {self.path}: {error.strerror or error}") from error
        # No name and no time in the header: the same records give the same bytes.
        self._out = gzip.GzipFile("", "wb", fileobj=self._file, mtime=0) if self._gzipped else None
        return self

    def _own_partial(self) -> BinaryIO:
        """The partial file, empty and locked: two runs never write to one."""
        while True:
            file = self.partial.open("ab")
            found = os.fstat(file.fileno())
            if not stat.S_ISREG(found.st_mode):
                return file
            if not try_lock(file.fileno()):
                file.close()
                raise OutputError(f"another run is writing {self.path}; wait until it is done, or name another file")
            with contextlib.suppress(FileNotFoundError):
                if os.path.samestat(found, self.partial.stat()):
                    if self._end.exists():  # as private as that is
                        self.partial.chmod(stat.S_IMODE(self._end.stat().st_mode) | stat.S_IRUSR | stat.S_IWUSR)
                    file.truncate(0)
                    return file
            file.close()  # the run that had it was done just now, and gave it its final name

    def write(self, record: Mapping[str, Any]) -> None:
        """Append one record."""
        if self.kind in DELIMITERS:
            self._put(self._delimited(record))
        elif self.kind == ".json":
            self._put(f"{',' if self.count else '['}\n{json_text(dict(record))}")
        else:
            self._put(json_text(dict(record)) + "\n")
        self.count += 1

    def _delimited(self, record: Mapping[str, Any]) -> str:
        lines = io.StringIO()
        # A carriage return in a cell is quoted only where it is part of the line end.
        delimiter = self._delimiter
        writer = csv.writer(lines, delimiter=delimiter, lineterminator="\r\n")
        if not self.count:
            self._columns = list(record)
            lines.write("\ufeff" * self.bom)
            # A comma or the like in a name would pass for what separates the names.
            odd = delimiter == ";" and bool(SEPARATORS & set("".join(self._columns)))
            names = csv.writer(
                lines,
                delimiter=delimiter,
                lineterminator="\r\n",
                quoting=csv.QUOTE_ALL if odd else csv.QUOTE_MINIMAL,
            )
            names.writerow([self._cell(column, column) for column in self._columns])
        for column in record.keys() - self._columns:
            raise OutputError(
                f"record {self.count + 1} has a column {column!r} that the first record does not have, "
                f"and the header of {self.path} is fixed by then; write .jsonl instead"
            )
        writer.writerow([self._cell(column, record.get(column)) for column in self._columns])
        return lines.getvalue()

    def _cell(self, column: str, value: Any) -> str:
        text = _cell(value)
        if isinstance(value, float) and self.decimal_comma:
            return text.replace(".", ",")
        if isinstance(value, bool | int | float):
            return text
        number = NUMBER.fullmatch(text)
        if self.guarded is not None and column not in self.guarded:
            return f"'{text}" if self.heads and _HEAD.match(text) and not number else text
        runs = text[:1] in _FORMULA and not number
        others = "".join(sorted(SEPARATORS - {self._delimiter}))
        return re.sub(_LATER.format(others), "'", f"'{text}" if runs else text)

    @property
    def _delimiter(self) -> str:
        return ";" if self.decimal_comma and self.kind == ".csv" else DELIMITERS[self.kind]

    def _put(self, text: str) -> None:
        try:
            data = text.encode("utf-8", "backslashreplace")
            if self._out is None:
                self._file.write(data)
                self._file.flush()
            else:
                self._out.write(data)
        except OSError as error:
            raise self._failed(error) from error

    def _failed(self, error: OSError) -> OutputError:
        done = f"{self.count} records were written to {self.partial}" if self.count else "no record was written"
        return OutputError(f"cannot write {self.path}: {error.strerror or error}; {done} before that")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            if self.count:
                error.add_note(f"What was written before that is in {self.partial} ({self.count} records).")
            elif sys.platform != "win32":  # which removes no open file; as long as it is open, no other run has it
                with contextlib.suppress(OSError):
                    self.partial.unlink()
            with contextlib.suppress(OSError):
                self._close()
            return
        if self.kind == ".json":
            self._put("\n]\n" if self.count else "[]\n")
        try:
            self._close(finished=True)
        except OSError as failure:
            raise self._failed(failure) from failure

    def _close(self, *, finished: bool = False) -> None:
        with self._file as file:
            if self._out is not None:
                self._out.close()
            file.flush()
            os.fsync(file.fileno())
            if sys.platform == "win32":  # which renames no open file
                file.close()
            if finished:
                self.partial.replace(self._end)


def json_text(value: Any) -> str:
    """A record as one line of JSON; numbers that are not finite become null."""
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, default=str)
    except ValueError:
        return json.dumps(_finite(value), ensure_ascii=False, allow_nan=False, default=str)


def json_line(value: Any) -> bytes:
    """A record as one line of JSON, in UTF-8, that cannot drive a terminal: what could is written as an escape."""
    return UNSAFE.sub(lambda found: f"\\u{ord(found.group()):04x}", json_text(value)).encode() + b"\n"


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(name): _finite(part) for name, part in value.items()}
    return [_finite(part) for part in value] if isinstance(value, list | tuple) else value


def _cell(value: Any) -> str:
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return ""
    return json_text(value) if isinstance(value, Mapping | list | tuple | bool | int | float) else str(value)
