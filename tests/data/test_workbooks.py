"""Workbooks: the first sheet that is shown and holds anything, its cells as those of a CSV file."""

from __future__ import annotations

import re
import sys
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from active_critic.data import iter_examples, read_examples, workbooks
from active_critic.data.columns import Table
from active_critic.data.files import iter_records
from active_critic.data.rows import BadRow
from active_critic.errors import DataError, MissingExtra

openpyxl = pytest.importorskip("openpyxl")

Cells = Sequence[Sequence[Any]]


def workbook(path: Path, sheets: dict[str, Cells], hidden: Sequence[str] = ()) -> Path:
    """A workbook with these sheets."""
    book = openpyxl.Workbook()
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        sheet.sheet_state = "hidden" if name in hidden else "visible"
        for row in rows:
            sheet.append(row)
    del book["Sheet"]
    book.save(path)
    return path


def saved_with(path: Path, formula: str, value: str) -> Path:
    """The same with the value of a formula, as Excel saves it."""
    with zipfile.ZipFile(path) as book:
        parts = {name: book.read(name).decode() for name in book.namelist()}
    with zipfile.ZipFile(path, "w") as book:
        for name, part in parts.items():
            book.writestr(name, re.sub(rf"<f>{re.escape(formula)}</f><v ?/>", f"<f>{formula}</f><v>{value}</v>", part))
    return path


HEADER = ("Question", "Answer", "Score", "Checked", None)
ROWS = [
    [],
    HEADER,
    ("q1", "two\nlines", 4, True, None),
    ("q2", "- x & <y>", 4.5, False, None),
    (None, " ", None, None, None),
    ("q3", "c", "=1+1", None, None),
    ("q3", "d", "=2+2", None, None),
    ("q4", "e", "3", None, None),
    ("q5", "'- f", 1, None, None),
]


def test_rows_are_read_as_those_of_a_csv_file(tmp_path: Path) -> None:
    found = iter_records(saved_with(workbook(tmp_path / "x.xlsx", {"Labels": ROWS}), "1+1", "2"))
    records = dict(item for item in found if not isinstance(item, BadRow))
    assert [*records] == [1, 2, 4, 5, 6, 7]
    assert records[1] == {"Question": "q1", "Answer": "two\nlines", "Score": "4", "Checked": "TRUE"}
    assert [record["Score"] for record in records.values()] == ["4", "4.5", "2", "", "3", "1"]
    assert found.notes == ("1 empty row is left out: row 3",)
    assert found.bom  # a CSV that is written of it is to be opened in Excel, too


def test_examples_of_a_workbook_are_those_of_the_same_csv(tmp_path: Path) -> None:
    path = saved_with(workbook(tmp_path / "x.xlsx", {"Labels": ROWS}), "1+1", "2")
    examples = read_examples(path)
    assert [(e.source, e.response, e.score) for e in examples] == [
        ("q1", "two\nlines", 4),
        ("q2", "- x & <y>", 4.5),
        ("q3", "c", 2),
        ("q4", "e", 3),
        ("q5", "- f", 1),
    ]
    assert any("no score in 1 of 6 rows (column 'Score', row 5)" in note for note in examples.notes)
    assert [item.response for item in iter_examples(path)][-1] == "- f"  # type: ignore[union-attr]
    assert Table(path, ["Score"]).predictions("Score").missing == 1
    checked = read_examples(path, fields={"score": "Checked"}, scored=False)
    assert [example.score for example in checked] == [1, 0, None, None, None, None]


def test_the_first_sheet_that_is_shown_and_holds_anything_is_read_and_others_are_named(tmp_path: Path) -> None:
    other = [("a", "b"), (1, 2)]
    sheets = {"Empty": [], "Old": other, "Labels": ROWS, "Notes": other, "More": other}
    found = iter_records(workbook(tmp_path / "x.xlsx", sheets, hidden=["Old"]))
    assert "Answer" in next(found)[1]  # type: ignore[index]
    assert found.notes[0] == "the rows are those of the sheet 'Labels'; 2 others are not read: 'Notes', 'More'"
    for sheets in ({"Empty": []}, {"Empty": [], "Old": other}):
        with pytest.raises(DataError, match=r"x\.xlsx: no sheet that is shown holds anything"):
            next(iter_records(workbook(tmp_path / "x.xlsx", sheets, hidden=["Old"])))


def test_characters_that_excel_escapes_are_read_as_what_they_are(tmp_path: Path) -> None:
    path = workbook(tmp_path / "x.xlsx", {"Labels": [("answer",), ("one_x000D_\ntwo _x005F_x000D_",)]})
    assert [*iter_records(path)] == [(1, {"answer": "one\r\ntwo _x000D_"})]
    path = workbook(tmp_path / "y.xlsx", {"Labels": [("answer", "score"), ("a_x0000_b", 1)]})
    with pytest.raises(DataError, match="row 1, column 'answer': contains a NUL byte"):
        read_examples(path)
    path = workbook(tmp_path / "z.xlsx", {"Labels": [("ans_x0000_wer", "score"), ("a", 1)]})
    with pytest.raises(DataError, match="the header cannot be used: there is a NUL byte"):
        read_examples(path)


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        ([("My labels", None, None), ("Answer", "Score", "By"), ("a", 1, "x")], "or remove a title above it"),
        ([("Answer", "Score", None, None), ("a", 1, "x", "y")], "row 1.* has 'x' in column 3, which has no name"),
        ([("Answer", "Answer"), ("a", 1)], "'Answer'"),
        ([("Answer", "Score")], "the file holds no rows"),
    ],
)
def test_what_cannot_be_a_table_is_refused_as_in_a_csv_file(tmp_path: Path, rows: Cells, says: str) -> None:
    with pytest.raises(DataError, match=says):
        read_examples(workbook(tmp_path / "x.xlsx", {"Labels": rows}))


@pytest.mark.parametrize("name", ["x.xlsx", "x.XLSM"])
@pytest.mark.parametrize("content", [b"", b"a,b\n1,2\n", b"PK\x03\x04 and no more", b"\xd0\xcf\x11\xe0" * 300])
def test_a_damaged_workbook_is_named(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(
        DataError, match=rf"{name}: no workbook, or damaged, or locked by a password \(.*\); save it anew"
    ):
        next(iter_records(tmp_path / name))


def test_a_workbook_that_unpacks_to_too_much_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workbooks, "LARGEST", 2_000)
    with pytest.raises(DataError, match=r"larger than 2,000 bytes when unpacked; write \.csv or \.jsonl"):
        next(iter_records(workbook(tmp_path / "x.xlsx", {"Labels": ROWS * 9})))


def test_a_stray_cell_far_away_is_named_and_takes_no_memory(tmp_path: Path) -> None:
    path = workbook(tmp_path / "x.xlsx", {"Labels": [("answer", "score"), ("a", 1)]})
    book = openpyxl.load_workbook(path)
    book["Labels"]["XFD1048576"] = 7
    book.save(path)
    with pytest.raises(DataError, match="row 1048575: has '7' in column 16384, which has no name"):
        read_examples(path)


def test_without_its_reader_a_workbook_is_refused_with_the_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = workbook(tmp_path / "x.xlsx", {"Labels": ROWS})
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(MissingExtra, match=r"reading workbooks needs openpyxl: pip install 'active-critic\[sheets\]'"):
        next(iter_records(path))
