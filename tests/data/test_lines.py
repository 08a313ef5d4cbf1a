"""Lines and files that are larger than any record: told in their place, never held, and the other rows are read."""

import csv
import gzip
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest

from active_critic.data.files import iter_records
from active_critic.data.rows import BadRow
from active_critic.errors import DataError

LONGEST = 100_000
LONG = b"a" * (20 * 2**20)
SAID = "longer than 100,000 characters, as no record is; cut or remove it"


@pytest.fixture(autouse=True)
def bounded(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Small bounds; the library's own on cells is one for the whole process."""
    monkeypatch.setattr("active_critic.data.lines.LONGEST", LONGEST)
    monkeypatch.setattr("active_critic.data.delimited.LONGEST", LONGEST)
    monkeypatch.setattr("active_critic.data.files.LARGEST_JSON", LONGEST)
    before = csv.field_size_limit(LONGEST)
    yield
    csv.field_size_limit(before)


@pytest.mark.parametrize(
    ("name", "head", "row", "says"),
    [
        ("x.jsonl.gz", b"", b'{"a": "1"}\n', f"line 2 is {SAID}"),
        ("x.csv.gz", b"a\n", b"1\n", f"line 3 of the file is {SAID}"),
        ("x.tsv.gz", b"a\r\n", b"1\r\n", f"line 3 of the file is {SAID}"),
    ],
)
@pytest.mark.parametrize("after", [0, 300], ids=["among the first", "later"])
def test_a_line_without_end_is_told_in_its_place_and_not_held(
    tmp_path: Path, name: str, head: bytes, row: bytes, says: str, after: int
) -> None:
    path = tmp_path / name
    content = head + row * (after + 1) + LONG + b"\n" + row
    path.write_bytes(gzip.compress(content, 1))
    tracemalloc.start()
    try:
        *_, before, long, last = iter_records(path)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert (before, last) == ((after + 1, {"a": "1"}), (after + 3, {"a": "1"}))
    assert isinstance(long, BadRow)
    assert (long.row, long.reason) == (
        after + 2,
        says.replace("2 is", f"{after + 2} is").replace("3 of", f"{after + 3} of"),
    )
    assert peak < 10 * LONGEST


@pytest.mark.parametrize("size", [LONGEST - 10, LONGEST - 9])
def test_a_line_may_have_as_many_characters_as_said(tmp_path: Path, size: int) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text('{"a": "' + "b" * size + '"}\n')
    (found,) = iter_records(path)
    assert isinstance(found, BadRow) == (size + 10 > LONGEST)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"a" * (LONGEST + 1) + b"\n1\n", "the header is broken .longer than 100,000 characters"),
        (b'a\n"1\n' + LONG + b'\n"\n2\n', r"row 1: a quote in the row that begins at line 2 .*\(longer than 100,000"),
        (b'a\n"' + b"12345678\n" * 20_000 + b'"\n2\n', r"begins at line 2 swallows .*\(field larger than field limit"),
    ],
    ids=["header", "a line within a cell", "a cell of many lines"],
)
def test_a_csv_file_whose_rows_cannot_be_told_is_refused(tmp_path: Path, content: bytes, says: str) -> None:
    (tmp_path / "x.csv").write_bytes(content)
    with pytest.raises(DataError, match=says):
        list(iter_records(tmp_path / "x.csv"))


def test_a_json_file_that_is_too_large_to_be_read_whole_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.json.gz"
    path.write_bytes(gzip.compress(b'[{"a": "' + LONG + b'"}]', 1))
    tracemalloc.start()
    try:
        with pytest.raises(DataError, match=r"longer than 100,000 characters.* write \.jsonl, which is read line by"):
            list(iter_records(path))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 10 * LONGEST
