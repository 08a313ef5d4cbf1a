"""Columns of numbers: nested names are found, what is no number is counted, and messages name row and column."""

from __future__ import annotations

import json

import pytest

from active_critic.data.columns import Table, to_number
from active_critic.data.fields import folded
from active_critic.errors import DataError

RECORDS = [
    {"a": 1, "scores": {"x": 2, "y": 3.5}, "preds": {"v1.2": {"x": 5}, "p:y": 1}, "text": "long", "odd.name": 7},
    {"a": "2.5", "scores": {"x": None}, "preds": {"v1.2": {"x": "6"}}, "text": "long", "odd.name": 8},
    {"a": "good", "scores": {"x": "NaN", "y": True}, "preds": {}, "text": "long", "odd.name": float("nan")},
]


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "t.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in RECORDS))
    return path


def test_a_dotted_name_leads_into_objects_and_the_longest_name_comes_first(path) -> None:
    table = Table(path, ["scores.y", "preds.v1.2.x", "odd.name", "a"])
    assert table.predictions("preds.v1.2.x").values == (5.0, 6.0, None)
    assert table.predictions("odd.name").values == (7.0, 8.0, None)
    assert "scores.y" in table
    assert "scores.z" not in table
    assert table.columns.keys() == RECORDS[0].keys()


def test_missing_and_not_numeric_are_told_apart(path) -> None:
    table = Table(path, ["a", "scores.x", "scores.y"])
    a, x, y = (table.predictions(name) for name in ("a", "scores.x", "scores.y"))
    assert (a.values, a.missing, a.not_numeric, a.odd) == ((1.0, 2.5, None), 0, 1, "'good' (row 3)")
    assert (x.values, x.missing, x.not_numeric, x.odd) == ((2.0, None, None), 2, 0, None)
    assert (y.missing, y.not_numeric) == (1, 1)  # a truth value is no number


def test_the_human_column_must_hold_numbers(path) -> None:
    table = Table(path, ["a", "scores.x"])
    with pytest.raises(DataError, match="row 3, column 'a': 'good' is not a finite number; every row needs one") as bad:
        table.human("a")
    assert (bad.value.row, bad.value.column, bad.value.path) == (3, "a", str(path))
    with pytest.raises(DataError, match=r"row 2, column 'scores.x': the human score is missing"):
        table.human("scores.x")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("scores.yy", "no column 'scores.yy'; did you mean 'scores.y'?"),
        ("scoress.x", "did you mean 'scores'?"),
        ("txt", "did you mean 'text'?"),
        ("a.b", "no column 'a.b'"),
        ("qqq", "; the columns are 'a', 'scores'"),
    ],
)
def test_an_absent_column_names_a_near_one(path, name, said) -> None:
    with pytest.raises(DataError) as absent:
        Table(path, [name]).predictions(name)
    assert said in str(absent.value)


def test_a_star_stands_for_every_name_at_its_place(path) -> None:
    table = Table(path, ["scores.*", "preds.p:*"])
    assert table.matching("scores.*") == ("x", "y")
    assert table.matching("preds.p:*") == ("y",)
    with pytest.raises(DataError, match=r"no column is like .scores\.z"):
        table.matching("scores.z*")
    with pytest.raises(DataError, match="more than one star"):
        table.matching("*.*")


def test_objects_in_the_cells_of_a_csv_are_read(tmp_path) -> None:
    path = tmp_path / "t.csv"
    path.write_text('doc,scores,n\n1,"{""x"": 2}",1\n1,"{""x"": 3}",\n2.0,"{broken",nan\n')
    table = Table(path, ["scores.x", "n", "doc"])
    assert table.predictions("scores.x").values == (2.0, 3.0, None)
    assert table.predictions("n").missing == 2
    assert table.names("doc") == ("1", "1", "2.0")
    assert table.matching("scores.*") == ("x",)


def test_a_list_has_its_places_as_names(tmp_path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text('{"r": [4, 5]}\n{"r": [3, null, "2"]}\n{"r": "[1, 2]"}\n{"r": {"a": [7]}}\n{"r": "[broken"}\n')
    table = Table(path, ["r.*"])
    assert table.matching("r.*") == ("0", "1", "2", "a", "a.0")
    assert table.predictions("r.0").values == (4.0, 3.0, 1.0, None, None)
    assert table.predictions("r.1").values == (5.0, None, 2.0, None, None)
    assert table.predictions("r.2").values == (None, 2.0, None, None, None)
    with pytest.raises(DataError, match=r"no column 'r\.3'"):
        table.predictions("r.3")


def test_names_and_digests(path, tmp_path) -> None:
    table = Table(path, ["text", "scores"])
    assert len(set(table.digests("text"))) == 1
    assert table.digests("text")[0] != "long"
    with pytest.raises(DataError, match="is no name"):
        table.names("scores")
    other = tmp_path / "o.jsonl"
    other.write_text('{"g": 3.0}\n{"g": 3}\n{"g": " "}\n{"g": NaN}\n')
    assert Table(other, ["g"]).names("g") == ("3", "3", None, None)


def test_a_broken_row_is_an_error(tmp_path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text('{"a": 1}\n{"a": \n')
    with pytest.raises(DataError, match="row 2"):
        Table(path, ["a"])


@pytest.mark.parametrize("cell", [True, "", None, "one", "1e999", 10**400, float("inf"), [1], "0x10", "1_000", "١"])
def test_what_is_no_number(cell) -> None:
    assert to_number(cell) is None


def test_a_name_that_cannot_be_read_is_none_and_a_number_neither(tmp_path) -> None:
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    broken = pa.array([b"x", b"\xff"], pa.binary()).view(pa.string())
    pq.write_table(pa.table({"doc": broken, "a": [1, 2]}), tmp_path / "t.parquet")
    table = Table(tmp_path / "t.parquet", ["doc", "a"])
    assert table.human("a") == (1.0, 2.0)
    assert (table.predictions("doc").missing, table.predictions("doc").not_numeric) == (0, 2)
    with pytest.raises(DataError, match="row 2, column 'doc': a value of type string cannot be read"):
        table.names("doc")


def test_the_last_place_of_a_list_is_that_of_each_row(tmp_path) -> None:
    path = tmp_path / "x.csv"
    path.write_text('ratings\n"[1, 2]"\n"[3, 4, 5]"\n[]\n')
    table = Table(path, ["ratings.-1", "ratings.*"])
    assert table.predictions("ratings.-1").values == (2.0, 5.0, None)
    assert table.matching("ratings.*") == ("0", "1", "2")


def test_what_a_column_is_wanted_for_is_decided_once(tmp_path, monkeypatch) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text('{"a": 1, "Doc ID": "x", "text": "-"}\n' * 50 + '{"doc-id": "y", "a": 2}\n')
    asked: list[str] = []
    monkeypatch.setattr("active_critic.data.columns.folded", lambda column: asked.append(column) or folded(column))
    table = Table(path, ["a"], ["doc_id"])
    assert asked == ["a", "Doc ID", "text", "doc-id"]
    assert (len(table), table.human("a")[-1]) == (51, 2.0)
    assert (table.names("Doc ID")[0], table.names("doc-id")[-1], "text" in table) == ("x", "y", False)


def test_blanks_that_nobody_sees_make_no_other_name(tmp_path) -> None:
    path = tmp_path / "names.csv"
    path.write_text("doc\nd1\nd1 \n d1\n d  2\nd 2\n NaN \n", encoding="utf-8")
    assert Table(path, ["doc"]).names("doc") == ("d1", "d1", "d1", "d 2", "d 2", None)


def test_a_dotted_name_is_found_in_every_row_as_examples_find_it(tmp_path) -> None:
    path = tmp_path / "n.jsonl"
    path.write_text('{"s.f": 3.2}\n{"s": {"f": 3.4}}\n{"t": 1}\n')
    assert Table(path, ["s.f"]).predictions("s.f").values == (3.2, 3.4, None)


@pytest.mark.parametrize(
    "rows", ["3;987\n4;1.266\n", "3;987\n4;1,266\n", "3;150\n4;12.345.678\n4;2.000\n"], ids=["point", "comma", "both"]
)
def test_what_may_separate_thousands_is_not_read_as_a_decimal(tmp_path, rows) -> None:
    (tmp_path / "t.csv").write_text(f"human;length\n{rows}")
    table = Table(tmp_path / "t.csv", ["human", "length"])
    with pytest.raises(DataError, match=r"row 2, column 'length'.*could be (1266|12345678) as well"):
        table.predictions("length")
    with pytest.raises(DataError, match="separates thousands"):
        table.human("length")


def test_a_whole_number_of_thousands_of_digits_is_no_number_like_any_other(tmp_path) -> None:
    (tmp_path / "t.csv").write_text(f"human,length\n3,4\n4,{'9' * 5000}\n")
    table = Table(tmp_path / "t.csv", ["human", "length"])
    assert table.predictions("length").values == (4.0, None)
    with pytest.raises(DataError, match=r"row 2, column 'length'.*is not a finite number"):
        table.human("length")


@pytest.mark.parametrize("cells", [["4", "3,667", "5"], ["987", "1,266", "3,5"], ["987", "0,266"], ["1,266", "1,5"]])
def test_decimals_that_can_be_nothing_else_are_read(tmp_path, cells) -> None:
    (tmp_path / "t.csv").write_text("human;length\n" + "".join(f"3;{cell}\n" for cell in cells))
    found = Table(tmp_path / "t.csv", ["human", "length"]).predictions("length")
    assert found.values == tuple(float(cell.replace(",", ".")) for cell in cells)


@pytest.mark.parametrize("cell", ["n.a.", "-", "–", "#N/A"])
def test_the_usual_words_for_nothing_are_missing(tmp_path, cell) -> None:
    (tmp_path / "t.csv").write_text(f"human,length\n3,4\n4,{cell}\n", encoding="utf-8")
    found = Table(tmp_path / "t.csv", ["human", "length"]).predictions("length")
    assert (found.values, found.missing, found.not_numeric) == ((4.0, None), 1, 0)
