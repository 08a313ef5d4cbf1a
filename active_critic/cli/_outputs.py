"""Files that verbs write: what may be written over, what can be written, and the journal beside them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from active_critic.errors import ActiveCriticError, DataError, OutputError

if TYPE_CHECKING:
    from active_critic.data.examples import Examples
    from active_critic.data.writing import RecordWriter


def as_read(data: Examples) -> dict[str, Any]:
    """How tables are to be written for whoever wrote the examples, as arguments of ``RecordWriter``."""
    from active_critic.data.delimited import is_delimited

    return {"decimal_comma": data.decimal_comma, "bom": data.bom, "heads": not is_delimited(data.path)}


def journal_file(journal: str | None) -> Path | None:
    """The file that ``--journal`` names, or that is the default without it; None where nothing is kept."""
    from active_critic.paths import default_journal

    if not journal:
        return default_journal()
    return None if journal.strip().lower() == "none" else at_home(Path(journal))


def at_home(path: Path | None) -> Path | None:
    """A path with the user's folder in place of ``~``, which shells leave as it is in ``--out=~/judge.json``."""
    from active_critic.paths import at_home as expanded

    return None if path is None else expanded(path)


def table_path(path: Path | None) -> Path | None:
    """As :func:`at_home`, for a file of records, whose name tells the format.

    Raises:
        typer.BadParameter: It does not.
    """
    from active_critic.data.files import file_kind
    from active_critic.data.writing import WRITABLE

    if path is not None and str(path) != "-" and not path.is_dir():  # the verb says of a folder that it is one
        try:
            file_kind(path, WRITABLE)
        except DataError as problem:
            raise typer.BadParameter(str(problem)) from None
    return at_home(path)


def refuse_same(output: Path | None, *others: Path | None) -> None:
    """Refuse to write over what is read, or over another output.

    Raises:
        typer.BadParameter: Two paths are the same file.
    """
    from active_critic.paths import behind_links

    for other in others:
        there = at_home(other)  # as it is read
        if output is not None and there is not None and behind_links(output) == behind_links(there):
            raise typer.BadParameter(f"{output} would be written over; name another file for the output")


def refuse_program(*outputs: Path | None) -> None:
    """Refuse to write something else over a program, which may have cost a night.

    Raises:
        OutputError: One of these files is a program.
    """
    for output in outputs:
        if output is not None and output.is_file() and _is_program(output):
            raise OutputError(f"{output} is a program and would be lost; name another file for the output")


def refuse_other_rows(output: Path | None, column: str) -> bool:
    """Refuse to write rows over other rows, which may be people's scores; whether such rows are there already.

    Args:
        output: Where rows go.
        column: A column that all such rows have.

    Raises:
        OutputError: A file is there that cannot be read, or whose first row lacks the column.
    """
    if output is None or not output.is_file() or not output.stat().st_size:
        return False
    if column not in _first_record(output):
        raise _foreign(output, f"column {column!r}")
    return True


def refuse_other_result(output: Path | None, *, column: str, key: str) -> None:
    """Refuse to write a result, as :func:`result_file` does, over what is no such result and may be people's scores.

    Args:
        output: Where the result goes.
        column: A column that its rows have.
        key: A key that it has where it is one document.

    Raises:
        OutputError: A file is there that cannot be read, or that lacks the column or key.
    """
    from active_critic.data.files import LARGEST_JSON

    if output is None or not is_whole(output):
        refuse_other_rows(output, column)
    elif output.is_file() and output.stat().st_size and key not in _document(output, LARGEST_JSON):
        raise _foreign(output, f"key {key!r}")


def _foreign(output: Path, lacking: str) -> OutputError:
    reason = f"is there and is not an output of this command (it has no {lacking})"
    return OutputError(f"{output} {reason}; name another file, or remove it")


def _first_record(path: Path) -> Mapping[str, Any]:
    """The first row of a file; empty where there is none or it cannot be read."""
    from active_critic.data import BadRow
    from active_critic.data.files import iter_records

    try:
        first = next(iter_records(path))
    except (ActiveCriticError, StopIteration):
        return {}
    return first.record if isinstance(first, BadRow) else first[1]


def _document(path: Path, most: int) -> Mapping[str, Any]:
    """The JSON object that is all of a file, which may be gzipped; empty where it is something else.

    Args:
        path: The file.
        most: Bytes, unpacked; what is larger is something else.

    Raises:
        OSError: It cannot be read.
    """
    import gzip
    import json
    import zlib

    try:
        with gzip.open(path) if path.suffix.lower() == ".gz" else path.open("rb") as file:
            read = file.read(most + 1)
        document = json.loads(read) if len(read) <= most else None
    except (gzip.BadGzipFile, zlib.error, EOFError, ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}


def refuse_clashes(
    *, outputs: Iterable[Path | None], inputs: Iterable[Path | None] = (), journal: str | None = None
) -> None:
    """Refuse outputs that would be written over what is read, over the journal, over each other or over a program.

    Args:
        outputs: Files to write, programs aside; None for one that is not asked for.
        inputs: Files that are read, and programs that are written.
        journal: The ``--journal``.

    Raises:
        typer.BadParameter: One of the outputs would be written over what else is named.
        OutputError: One of them is a program.
    """
    written, read = [*outputs], [*inputs, journal_file(journal)]
    for place, output in enumerate(written):
        refuse_same(output, *read, *written[place + 1 :])
    refuse_program(*written)


def _is_program(path: Path) -> bool:
    """Whether a file is a program, of this format version or another.

    Raises:
        OSError: It cannot be read.
    """
    from active_critic.store import LARGEST

    return path.stat().st_size <= LARGEST and "format_version" in _document(path, LARGEST)


def check_writable(out: Path, *, make: bool = True) -> bool:
    """Make sure that the program can be written before anything is paid for; whether one is there already.

    Args:
        out: Where it is to be.
        make: Make its folder where that is missing, and try it.

    Raises:
        OutputError: The folder cannot be written, or the file is there and no program.
    """
    if out.is_dir():
        raise OutputError(f"{out} is a folder; name a file in it")
    try:
        if make:
            _try_folder(out)
        if not out.exists() or not out.stat().st_size:
            return False
        there = _is_program(out)
    except OSError as problem:
        raise OutputError(f"{out}: the program cannot be written there ({problem.strerror or problem})") from None
    if not there:
        raise OutputError(f"{out} is there and is not a program; name another file, or remove it")
    return True


def _try_folder(path: Path) -> None:
    """Make sure that a file can be written where a path leads, and make the folder where it is missing.

    Raises:
        OSError: It cannot.
    """
    import tempfile

    from active_critic.paths import end_of, make_folder

    make_folder(end := end_of(path))
    with tempfile.TemporaryFile(dir=end.parent):
        pass


@contextmanager
def text_file(path: Path) -> Iterator[list[str]]:
    """A list whose texts are in this file when the block ends well; that they can be is found when it begins.

    A folder that is missing is made.

    Raises:
        OutputError: The file cannot be written.
    """
    from active_critic.paths import write_whole

    with _writing(path):
        _try_folder(path)
    texts: list[str] = []
    yield texts
    with _writing(path):
        write_whole(path, "".join(texts).encode())


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as problem:
        raise OutputError(f"cannot write {path}: {problem.strerror or problem}") from problem


def result_file(path: Path, **how: Any) -> RecordWriter:
    """What writes a result: everything as one document to ``.json``, else its rows as told; a context manager."""
    from active_critic.data.writing import RecordWriter

    writer = RecordWriter(path, **how)
    if is_whole(path):
        writer.kind = ".jsonl"  # a single record on a line of its own is one document, and not a list of one
    return writer


def is_whole(path: Path) -> bool:
    """Whether the file takes everything as one document, and not a row a method."""
    return path.name.lower().removesuffix(".gz").endswith(".json")
