"""Workbooks: the first sheet that is shown and holds anything, its cells as those of a CSV file."""

from __future__ import annotations

import sys
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import pytest

from active_critic.data import iter_examples, read_examples
from active_critic.data.columns import Table
from active_critic.data.files import iter_records
from active_critic.data.rows import BadRow
from active_critic.errors import DataError, MissingExtra

calamine = pytest.importorskip("python_calamine")

MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006"
Cells = Sequence[Sequence[Any]]


def cell(place: str, value: Any) -> str:
    """A cell as Excel writes it; a tuple is a formula and the value that was saved with it."""
    if value is None:
        return ""
    if isinstance(value, tuple):
        formula, saved = value
        kind = ' t="e"' if str(saved).startswith("#") else ""
        return f'<c r="{place}"{kind}><f>{formula}</f><v>{saved}</v></c>'
    if isinstance(value, bool):
        return f'<c r="{place}" t="b"><v>{int(value)}</v></c>'
    if isinstance(value, int | float):
        return f'<c r="{place}"><v>{value}</v></c>'
    return f'<c r="{place}" t="inlineStr"><is><t xml:space="preserve">{escape(value)}</t></is></c>'


def workbook(path: Path, sheets: dict[str, Cells], hidden: Sequence[str] = ()) -> Path:
    """A workbook with these sheets, which holds no more than it must."""
    listed = "".join(
        f'<sheet name="{name}" sheetId="{n}" r:id="r{n}" state="{"hidden" if name in hidden else "visible"}"/>'
        for n, name in enumerate(sheets, 1)
    )
    related = "".join(
        f'<Relationship Id="r{n}" Type="{OFFICE}/worksheet" Target="worksheets/sheet{n}.xml"/>'
        for n in range(1, len(sheets) + 1)
    )
    with zipfile.ZipFile(path, "w") as book:
        book.writestr("[Content_Types].xml", f'<Types xmlns="{PACKAGE}/content-types"/>')
        first = f'<Relationship Id="r1" Type="{OFFICE}/officeDocument" Target="xl/workbook.xml"/>'
        book.writestr("_rels/.rels", f'<Relationships xmlns="{PACKAGE}/relationships">{first}</Relationships>')
        book.writestr(
            "xl/workbook.xml", f'<workbook xmlns="{MAIN}" xmlns:r="{OFFICE}"><sheets>{listed}</sheets></workbook>'
        )
        book.writestr(
            "xl/_rels/workbook.xml.rels",
            f'<Relationships xmlns="{PACKAGE}/relationships">{related}</Relationships>',
        )
        for n, rows in enumerate(sheets.values(), 1):
            lines = "".join(
                f'<row r="{r}">{"".join(cell(f"{chr(64 + c)}{r}", value) for c, value in enumerate(row, 1))}</row>'
                for r, row in enumerate(rows, 1)
            )
            book.writestr(
                f"xl/worksheets/sheet{n}.xml", f'<worksheet xmlns="{MAIN}"><sheetData>{lines}</sheetData></worksheet>'
            )
    return path


HEADER = ("Question", "Answer", "Score", "Checked", None)
ROWS = [
    [],
    HEADER,
    ("q1", "two\nlines", 4, True, None),
    ("q2", "=x & <y>", 4.5, False, None),
    (None, " ", None, None, None),
    ("q3", "c", ("1+1", 2), None, None),
    ("q3", "d", ("1/0", "#DIV/0!"), None, None),
    ("q4", "e", "3", None, None),
    ("q5", "'- f", 1, None, None),
]


def test_rows_are_read_as_those_of_a_csv_file(tmp_path: Path) -> None:
    found = iter_records(workbook(tmp_path / "x.xlsx", {"Labels": ROWS}))
    records = dict(item for item in found if not isinstance(item, BadRow))
    assert [*records] == [1, 2, 4, 5, 6, 7]
    assert records[1] == {"Question": "q1", "Answer": "two\nlines", "Score": "4", "Checked": "TRUE"}
    assert [record["Score"] for record in records.values()] == ["4", "4.5", "2", "", "3", "1"]
    assert found.notes == ("1 empty row is left out: row 3",)
    assert found.bom  # a CSV that is written of it is to be opened in Excel, too


def test_examples_of_a_workbook_are_those_of_the_same_csv(tmp_path: Path) -> None:
    path = workbook(tmp_path / "x.xlsx", {"Labels": ROWS})
    examples = read_examples(path)
    assert [(e.source, e.response, e.score) for e in examples] == [
        ("q1", "two\nlines", 4),
        ("q2", "=x & <y>", 4.5),
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


def test_sheets_of_open_document_are_read(tmp_path: Path) -> None:
    urn = "urn:oasis:names:tc:opendocument:xmlns"
    spaces = " ".join(f'xmlns:{name}="{urn}:{name}:1.0"' for name in ("office", "table", "text"))
    text = '<table:table-cell office:value-type="string"><text:p>{}</text:p></table:table-cell>'
    number = '<table:table-cell office:value-type="float" office:value="{}"/>'
    rows = [text.format("answer") + text.format("score"), *(text.format("a") + number.format(n) for n in range(1, 6))]
    table = "".join(f"<table:table-row>{row}</table:table-row>" for row in rows)
    with zipfile.ZipFile(tmp_path / "x.ods", "w") as book:
        book.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        book.writestr("META-INF/manifest.xml", f'<manifest:manifest xmlns:manifest="{urn}:manifest:1.0"/>')
        book.writestr(
            "content.xml",
            f"<office:document-content {spaces}><office:body><office:spreadsheet>"
            f'<table:table table:name="S">{table}</table:table>'
            "</office:spreadsheet></office:body></office:document-content>",
        )
    assert [example.score for example in read_examples(tmp_path / "x.ods")] == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("name", ["x.xlsx", "x.xls", "x.xlsb", "x.ods"])
@pytest.mark.parametrize("content", [b"", b"a,b\n1,2\n", b"PK\x03\x04 and no more", b"\xd0\xcf\x11\xe0" * 300])
def test_a_damaged_workbook_is_named(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DataError, match=rf"{name}: this is no workbook, or it is damaged \(.*\); save it anew"):
        next(iter_records(tmp_path / name))


def test_a_workbook_with_a_password_is_refused_with_the_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Locked:
        @staticmethod
        def from_path(path: str) -> None:
            raise calamine.PasswordError(path)

    monkeypatch.setattr(calamine, "CalamineWorkbook", Locked)
    with pytest.raises(DataError, match=r"x\.xlsx: the workbook is locked by a password; save it without one"):
        next(iter_records(workbook(tmp_path / "x.xlsx", {"Labels": ROWS})))


def test_without_its_reader_a_workbook_is_refused_with_the_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "python_calamine", None)
    path = workbook(tmp_path / "x.xlsx", {"Labels": ROWS})
    with pytest.raises(
        MissingExtra, match=r"reading workbooks needs python-calamine: pip install 'active-critic\[sheets\]'"
    ):
        next(iter_records(path))
