"""CSV and TSV as spreadsheets write them: semicolons, decimal commas, Excel's hint, titles and empty rows."""

from __future__ import annotations

import csv
import gzip
from pathlib import Path

import pandas
import pytest

from active_critic.data import BadRow, Examples, RecordWriter, iter_examples, read_examples, unread_score
from active_critic.data.columns import Table
from active_critic.data.files import iter_records
from active_critic.errors import DataError
from active_critic.records import Example

SEMICOLONS = "cells are separated by semicolons in this file; a score of 3,5 is read as 3.5"
TITLE = "row [12]: has '{}' in column {}, which has no name; give it one in the header, or remove a title above it"
GERMAN = "Antwort;score;aspect_tone\r\nGut, danke.;3,5;2,5\r\nAch;4;1\r\nNaja;1.5;\r\n"


def write(path: Path, text: str) -> Path:
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path


def read(path: Path) -> Examples:
    return read_examples(path, fields={"response": "Antwort"}, scale="1..5")


@pytest.mark.parametrize("name", ["x.csv", "x.csv.gz"])
@pytest.mark.parametrize("start", ["", "\ufeff", "\r\n\r\n", "sep=;\r\n", '\ufeff"sep=;"\n', "SEP=;\n"])
def test_a_file_with_semicolons_is_read_with_its_decimal_commas(tmp_path: Path, name: str, start: str) -> None:
    path = write(tmp_path / name, start + GERMAN)
    examples = read(path)
    assert [(e.row, e.response, e.score) for e in examples] == [
        (1, "Gut, danke.", 3.5),
        (2, "Ach", 4),
        (3, "Naja", 1.5),
    ]
    assert [dict(e.aspects) for e in examples] == [{"tone": 2.5}, {"tone": 1}, {}]
    assert SEMICOLONS in examples.notes
    assert examples[0].record["score"] == "3,5"  # the user's own cell, as it was
    items = iter_examples(path, fields={"response": "Antwort"})
    assert SEMICOLONS in items.notes
    assert [item.score for item in items if not isinstance(item, BadRow)] == [3.5, 4, 1.5]


def test_quoted_names_with_commas_are_no_commas_of_the_header(tmp_path: Path) -> None:
    path = write(tmp_path / "x.csv", '"Antwort";"score";"why, then"\n"a;b";"2,5";"x"\n')
    (example,) = read(path)
    assert (example.response, example.score, example.record["why, then"]) == ("a;b", 2.5, "x")


@pytest.mark.parametrize(
    "header",
    [
        "Antwort;score;note, if any",
        'Antwort;"score\n(1, 5)";note',
        '"Antwort\r\n(text)";score;x',
        "Antwort;score;a, b, c",
    ],
)
def test_of_comma_and_semicolon_the_one_that_parts_all_rows_alike_separates_them(tmp_path: Path, header: str) -> None:
    rows = 'Gut, danke;3,5;"a, b"\n"Ach,\nnein; doch";4;\nNaja;1,5;x\n'
    names = next(csv.reader(header.splitlines(keepends=True), delimiter=";"))
    (first, record), *more = iter_records(write(tmp_path / "x.csv", f"\ufeff{header}\n{rows}"))
    assert (first, record) == (1, dict(zip(names, ["Gut, danke", "3,5", "a, b"], strict=True)))
    assert [item[1][names[0]] for item in more] == ["Ach,\nnein; doch", "Naja"]


@pytest.mark.parametrize("rows", ["a,3;4,x\nb,2;1,y\n", "a,3;4;,x\n", ""])
def test_semicolons_in_a_header_with_commas_are_no_separators(tmp_path: Path, rows: str) -> None:
    path = write(tmp_path / "x.csv", f"response,score;of two,z\n{rows}a,3,x\n")
    assert [set(record) for _, record in iter_records(path)] == [{"response", "score;of two", "z"}] * (
        rows.count("a") + rows.count("b") + 1
    )


def test_a_file_of_one_column_may_have_either_in_its_texts(tmp_path: Path) -> None:
    path = write(tmp_path / "x.csv", "text\nGood; fine.\nBad; very bad.\nSo so; well; what.\n")
    assert [record["text"] for _, record in iter_records(path)][2] == "So so; well; what."


def test_a_header_with_a_comma_is_separated_by_it(tmp_path: Path) -> None:
    path = write(tmp_path / "x.csv", 'Antwort,score,"a;b",c;d\nGut,3,1,2\n')
    examples = read(path)
    assert dict(examples[0].record) == {"Antwort": "Gut", "score": "3", "a;b": "1", "c;d": "2"}
    assert SEMICOLONS not in examples.notes


@pytest.mark.parametrize(("separator", "name"), [(",", "x.csv"), (";", "x.tsv"), ("|", "x.csv"), ("\t", "x.csv")])
def test_the_first_line_may_tell_excel_the_separator_and_is_no_row(tmp_path: Path, separator: str, name: str) -> None:
    text = 'sep=;\nAntwort;score;more\nGut;3;"a\nb"\n\nAch;2;"broken" or so\n'.replace(";", separator)
    good, broken = iter_records(write(tmp_path / name, text))
    assert good == (1, {"Antwort": "Gut", "score": "3", "more": "a\nb"})
    assert isinstance(broken, BadRow)
    assert (broken.row, "before line 7 of the file" in broken.reason) == (2, True)


def test_a_number_may_have_blanks_around_it_that_nobody_sees(tmp_path: Path) -> None:
    path = write(tmp_path / "x.csv", "response;score;other\nGut;\u00a02,5;1\u2009\nAch;3\u00a0;2,5\u00a0\nNa;1;3\n")
    assert [example.score for example in read_examples(path)] == [2.5, 3.0, 1.0]
    table = Table(path, ["score", "other"])
    assert table.human("score") == (2.5, 3.0, 1.0)
    assert table.predictions("other").values == (1.0, 2.5, 3.0)


def test_all_rows_that_say_there_is_no_score_are_named_at_once() -> None:
    rows = [{"response": "a", "score": said} for said in (1, "n/a", "", None, "None", 2)]
    with pytest.raises(DataError, match="only 2 of 6 rows have a score, which is missing in rows 2, 3, 4 and 5"):
        read_examples(rows)


@pytest.mark.parametrize("cell", ["3,5,1", "1.000,5", "x", ","])
def test_what_is_no_number_with_a_comma_either_is_named(tmp_path: Path, cell: str) -> None:
    path = write(tmp_path / "x.csv", f"Antwort;score\nGut;2,5\nAch;{cell}\n")
    with pytest.raises(DataError, match=rf"row 2, column 'score': the score '{cell}' is not a number"):
        read(path)
    unscored = read_examples(path, fields={"response": "Antwort"}, scored=False)
    assert [example.score for example in unscored] == [2.5, None]
    problem = unread_score(unscored)
    assert problem is not None
    assert problem.row == 2


def test_decimal_commas_are_numbers_in_columns_of_such_files_only(tmp_path: Path) -> None:
    table = Table(write(tmp_path / "x.csv", "a;b\n1,5;2\n2;x\n"), ["a", "b"])
    assert (table.human("a"), table.predictions("b").values) == ((1.5, 2.0), (2.0, None))
    assert table.notes == (SEMICOLONS,)
    table = Table(write(tmp_path / "y.csv", 'a,b\n"1,5",2\n'), ["a"])
    assert (table.predictions("a").values, table.notes) == ((None,), ())
    with pytest.raises(
        DataError, match=r"'1,5' is not a finite number; every row needs one: write it with a point, 1\.5"
    ):
        table.human("a")


@pytest.mark.parametrize(("name", "separator", "start"), [("x.tsv", "\t", ""), ("x.csv", "|", "sep=|\n")])
def test_decimal_commas_are_read_wherever_commas_separate_nothing(
    tmp_path: Path, name: str, separator: str, start: str
) -> None:
    examples = read(write(tmp_path / name, start + GERMAN.replace(";", separator)))
    assert [example.score for example in examples] == [3.5, 4, 1.5]
    assert examples.decimal_comma
    assert "numbers have decimal commas in this file; a score of 3,5 is read as 3.5" in examples.notes


@pytest.mark.parametrize("cells", [("1,000", "2,500"), ("3", "2"), ("3,5", "2.5"), ("3.5", "2.5"), ("a,5", "1,2,3")])
def test_commas_that_may_be_others_are_no_decimal_commas(tmp_path: Path, cells: tuple[str, str]) -> None:
    path = write(tmp_path / "x.tsv", "response\tscore\na\t{}\nb\t{}\n".format(*cells))
    examples = read_examples(path, scored=False)
    assert not examples.decimal_comma
    assert not any("decimal" in note for note in examples.notes)


def test_what_is_written_is_separated_by_commas_and_keeps_the_cells(tmp_path: Path) -> None:
    with RecordWriter(tmp_path / "out.csv") as writer:
        for example in read(write(tmp_path / "x.csv", GERMAN)):
            writer.write(example.record)
    assert (tmp_path / "out.csv").read_bytes().startswith(b'Antwort,score,aspect_tone\r\n"Gut, danke.","3,5","2,5"\r\n')


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("Spring,,\nresponse,score,more\na,3,x\n", TITLE.format("score", 2)),
        ("Spring;;\nresponse;score;more\na;3;x\n", TITLE.format("score", 2)),
        ("Spring;;\n;;\nresponse;score;more\na;3;x\n", TITLE.format("score", 2)),
        (";;Spring;May\nresponse;score;more;x\na;3;x;\n", TITLE.format("response", 1)),
        ("Spring\nresponse;score;more\na, b;3;x\n", "row 1: has 3 cells where the header has 1; remove a title above"),
        (
            "Spring\nresponse,score\na,3\n",
            "has 2 cells where the header has 1; remove a title above the header, or quote",
        ),
    ],
)
def test_a_title_above_the_header_is_told_from_other_faults(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(DataError, match=says):
        read_examples(write(tmp_path / "x.csv", text))


@pytest.mark.parametrize("title", ["Spring;;", "Spring"])
def test_a_stream_is_refused_at_once_where_a_title_is_above_the_header(tmp_path: Path, title: str) -> None:
    with pytest.raises(DataError, match=r"row 1: .*remove a title above"):
        iter_examples(write(tmp_path / "x.csv", f"{title}\nresponse;score;more\na;3;x\n"))


@pytest.mark.parametrize(("separator", "name"), [(",", "x.csv"), (";", "x.csv"), ("\t", "x.tsv")])
@pytest.mark.parametrize("header", ["response;score;;;", "response;score; ;;", "response;;score;;", "response;score"])
def test_empty_columns_without_a_name_are_no_columns(tmp_path: Path, separator: str, name: str, header: str) -> None:
    rows = ["Gut;;4;;", "Ach;;2; ;"] if ";;score" in header else ["Gut;4;;;", "Ach;2; ;;"]
    path = write(tmp_path / name, "\r\n".join([header, *rows, ""]).replace(";", separator))
    examples = read_examples(path, scale="1..5")
    assert [dict(example.record) for example in examples] == [
        {"response": "Gut", "score": "4"},
        {"response": "Ach", "score": "2"},
    ]


def test_a_cell_in_a_column_without_a_name_is_named_with_its_row(tmp_path: Path) -> None:
    path = write(tmp_path / "x.csv", "response;score;;\nGut;4;;\nAch;2;;why?\n")
    with pytest.raises(
        DataError, match=r"row 2: has 'why\?' in column 4, which has no name; give it one in the header$"
    ):
        read_examples(path)
    assert [type(item) for item in iter_examples(path)] == [Example, BadRow]


def test_an_index_without_a_name_is_a_column(tmp_path: Path) -> None:
    pandas.DataFrame({"response": ["a", "b"], "score": [1, 2]}).to_csv(tmp_path / "x.csv")
    assert [example.record[""] for example in read_examples(tmp_path / "x.csv")] == ["0", "1"]


def test_names_that_are_repeated_are_no_sign_of_a_title(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"own name$"):
        read_examples(write(tmp_path / "x.csv", "a,a\n1,2\n"))


@pytest.mark.parametrize(("separator", "name"), [(",", "x.csv"), (";", "x.csv"), ("\t", "x.tsv")])
def test_empty_rows_are_left_out_and_counted(tmp_path: Path, separator: str, name: str) -> None:
    text = ";;\nresponse;score;x\na;3;\n;;\n\nb;2;\n  ; ;;;\n   \n".replace(";", separator)
    examples = read_examples(write(tmp_path / name, text), scale="1..5")
    assert [(example.row, example.response) for example in examples] == [(1, "a"), (3, "b")]
    assert "3 empty rows are left out; the first is row 2" in examples.notes
    with pytest.raises(DataError, match="row 3, column 'score': the score 'x' is not a number"):
        read_examples(write(tmp_path / name, text.replace("2", "x")))


def test_one_empty_row_is_counted_and_blank_lines_are_not(tmp_path: Path) -> None:
    path = write(tmp_path / "x.csv", "response,score\na,3\n\n,\nb,1\n\n\n")
    assert "1 empty row is left out: row 2" in read_examples(path, scale="1..5").notes


def test_a_stream_counts_its_empty_rows_when_it_is_through(tmp_path: Path) -> None:
    path = write(tmp_path / "x.csv", "response,score\na,3\n,\n" + "b,2\n,\n" * 200)
    items = iter_examples(path)
    assert "empty rows are left out; the first is row 2" in items.notes
    assert len(list(items)) == 201
    assert "201 empty rows are left out; the first is row 2" in items.notes


def test_a_file_of_empty_rows_holds_none(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="the file holds no rows"):
        read_examples(write(tmp_path / "x.csv", "response,score\n,\n,\n"))


def test_all_rows_with_an_empty_response_are_named(tmp_path: Path) -> None:
    text = "response,score\n" + "".join(f"{'' if row % 2 else 'r'},{row}\n" for row in range(1, 10))
    with pytest.raises(DataError, match=r"column 'response': rows 1, 3, 5, 7 and 9: the text to be judged is empty"):
        read_examples(write(tmp_path / "x.csv", text))
    with pytest.raises(DataError, match=r"rows 1, 2, 3, 4, 5 and 7 more: .*empty; fill them in or drop these rows"):
        read_examples([{"response": " ", "score": 1}] * 12)


YES_OR_NO = "write 1 for yes (true, pass) and 0 for no (false, fail), or the same two words in every row"


@pytest.mark.parametrize(
    ("score", "remedy"),
    [
        *((yes, YES_OR_NO) for yes in ("TRUE", "No", " pass ", "failed")),
        (True, YES_OR_NO),
        *((four, "write the number alone, 4") for four in ("4 out of 5", "4 stars", "4★", "4 (good)")),
        ("80%", "write the numbers of the column alone, on one scale, or all of them out of the same number"),
        ("80% good", "write the number alone, 80"),
        ("4,5 stars", "write the number alone, 4.5"),
        ("4,5", "write it with a point, 4.5"),
        ("good", "write a number in place of every such name (1 for the lowest, 2 for the next, ...)"),
        ("?", "correct it or drop the row"),
        ("=A1+1", "write what the formula comes to: in a spreadsheet, copy the cells and paste their values alone"),
        ({"anna": 4, "ben": 5}, "name a part of it (COLUMN.NAME), or COLUMN.* for the mean of all"),
        ("[4, 5]", "name a part of it (COLUMN.NAME), or COLUMN.* for the mean of all"),
        ("2024-01-05", "correct it or drop the row"),
    ],
)
def test_a_score_in_another_form_is_refused_with_the_remedy(score: object, remedy: str) -> None:
    with pytest.raises(DataError) as refused:
        read_examples([{"response": "a", "score": 1}, {"response": "b", "score": score}])
    assert str(refused.value).startswith("row 2, column 'score': the score ")
    assert str(refused.value).endswith(f" is not a number; {remedy}")


def test_a_column_that_is_asked_for_and_not_there_is_refused_however_many_rows_there_are(tmp_path: Path) -> None:
    text = "output,article\n" + "".join(f"answer {i},text {i}\n" for i in range(150))
    path = write(tmp_path / "x.csv", text)
    for given in (path, pandas.read_csv(path)):
        with pytest.raises(DataError, match=r"no column 'artcle' to take the source from.*did you mean 'article'"):
            iter_examples(given, fields={"source": "artcle"})
    later = [{"response": f"answer {i}", "about": {}} for i in range(150)] + [{"response": "a", "about": {"x": "here"}}]
    assert [*iter_examples(pandas.DataFrame(later), fields={"source": "about.x"})][-1].source == "here"  # type: ignore[union-attr]


def test_of_json_lines_it_is_said_at_the_end_that_no_row_had_the_column() -> None:
    rows = [{"response": f"answer {i}"} for i in range(150)]
    items = iter_examples(iter(rows), fields={"source": "article"})
    assert len([*items]) == 150
    assert items.notes[-1] == "no row has a column 'article' to take the source from"
    found = iter_examples(iter([*rows, {"response": "a", "article": "here"}]), fields={"source": "article"})
    assert [*found][-1].source == "here"  # type: ignore[union-attr]
    assert not any("no row" in note for note in found.notes)


@pytest.mark.parametrize("nothing", ["n/a", "NA", "NaN", " none", "null", "", None, float("nan")])
def test_what_says_that_there_is_no_score_is_none_where_none_is_needed(nothing: object) -> None:
    rows = [{"response": "a", "score": 3}, {"response": "b", "score": nothing}]
    examples = read_examples(rows, scored=False)
    assert [example.score for example in examples] == [3, None]
    assert unread_score(examples) is None
    items = iter_examples(rows)
    assert [item.score for item in items if not isinstance(item, BadRow)] == [3, None]
    assert not any("not read" in note for note in items.notes)
    with pytest.raises(DataError, match=r"row 2"):
        read_examples(rows)


def test_scores_that_are_passed_over_are_counted() -> None:
    rows = [{"response": f"answer {i}", "score": score} for i, score in enumerate(["3", "4/5", "", None, "2 stars"])]
    items = iter_examples(rows)
    assert [item.score for item in items if not isinstance(item, BadRow)] == [3, None, None, None, None]
    assert items.notes[-1].startswith("2 rows have a score that is not read and counts as none; the first: row 2, ")
    assert "4/5" in items.notes[-1]


def test_rows_with_decimal_commas_are_written_as_they_are_read(tmp_path: Path) -> None:
    examples = read(write(tmp_path / "x.csv", GERMAN))
    assert examples.take([0, 1]).decimal_comma
    assert read_examples(examples).decimal_comma
    with RecordWriter(tmp_path / "y.csv", guarded=(), decimal_comma=True) as writer:
        for example in examples:
            writer.write(example.record)
    assert (tmp_path / "y.csv").read_bytes().decode() == GERMAN


def test_a_name_with_a_comma_is_read_back_from_a_file_with_semicolons(tmp_path: Path) -> None:
    record = {"Antwort": "a;b", "score": "2,5", "why, then": "x"}
    with RecordWriter(tmp_path / "x.csv", guarded=(), decimal_comma=True) as writer:
        writer.write(record)
    (example,) = read(tmp_path / "x.csv")
    assert (dict(example.record), example.score) == (record, 2.5)


@pytest.mark.parametrize("name", ["x.csv", "x.jsonl"])
def test_sources_that_only_some_rows_have_are_said(tmp_path: Path, name: str) -> None:
    rows = [{"question": f"q{i}" if i % 2 else "", "answer": f"a{i}", "score": 1 + i % 5} for i in range(1, 251)]
    with RecordWriter(tmp_path / name) as writer:
        for row in rows:
            writer.write(row)
    said = (
        "no source in rows 2, 4, 6, 8, 10 and 120 more, where other rows have one; merged cells in a spreadsheet hold "
        "it in their first row only: fill it in if that is the reason"
    )
    assert said in read_examples(tmp_path / name).notes
    assert said in read_examples(tmp_path / name, scored=False).notes
    items = iter_examples(tmp_path / name)
    assert not any("no source" in note for note in items.notes)
    assert len(list(items)) == 250
    assert said in items.notes
    one = read_examples([{**rows[0], "question": "q"}, rows[1], {**rows[2], "question": "q"}])
    assert any(note.startswith("no source in row 2, where") for note in one.notes)


def test_a_first_part_of_a_stream_says_what_it_lacks() -> None:
    rows = [{"question": "", "answer": "a", "score": "x"}, {"question": "q", "answer": "b"}] * 200
    items = iter_examples(rows)
    assert [next(items).row for _ in range(5)] == [1, 2, 3, 4, 5]
    assert any(note.startswith("no source in rows 1, 3 and 5, where") for note in items.notes)
    assert any(note.startswith("3 rows have a score that is not read") for note in items.notes)


@pytest.mark.parametrize("source", ["", "q"])
def test_sources_that_all_rows_have_or_lack_are_not_said(source: str) -> None:
    rows = [{"question": source, "answer": f"a{i}", "score": 1 + i} for i in range(5)]
    assert not any("no source" in note for note in read_examples(rows).notes)


@pytest.mark.parametrize(("name", "separator"), [("x.csv", ";"), ("x.tsv", "\t"), ("x.csv.gz", ";")])
def test_numbers_are_written_as_the_user_writes_them_but_for_those_in_json(
    tmp_path: Path, name: str, separator: str
) -> None:
    record = {
        "score": 2.5,
        "more": -0.125,
        "tiny": 1.5e-7,
        "count": 3,
        "sure": True,
        "interval": [1.5, 2.5],
        "note": "v1.2",
    }
    with RecordWriter(tmp_path / name, decimal_comma=True, bom=True) as writer:
        writer.write(record)
        writer.write({**record, "score": None})
    data = (tmp_path / name).read_bytes()
    head, *lines = (gzip.decompress(data) if name.endswith("gz") else data).decode().splitlines()
    assert head == "\ufeff" + separator.join(record)
    rest = ["-0,125", "1,5e-07", "3", "true", "[1.5, 2.5]", "v1.2"]
    assert lines == [separator.join(["2,5", *rest]), separator.join(["", *rest])]
    table = Table(tmp_path / name, ["score", "more", "tiny", "interval"])
    assert (table.human("more"), table.human("tiny")) == ((-0.125,) * 2, (1.5e-7,) * 2)


@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_whether_a_file_began_with_a_byte_order_mark_is_known(tmp_path: Path, mark: str) -> None:
    path = write(tmp_path / "x.csv", mark + GERMAN)
    examples = read(path)
    assert examples.bom == read_examples(examples).bom == examples[:1].bom == bool(mark)
    assert iter_examples(path, fields={"response": "Antwort"}).bom == bool(mark)
    with RecordWriter(tmp_path / "y.jsonl", bom=True) as writer:
        writer.write({"a": 1})
    assert (tmp_path / "y.jsonl").read_text() == '{"a": 1}\n'


def test_rows_with_fewer_cells_than_the_header_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("id,source,response,score,,\n1,s,whole,3\n2,s,short\n3,s,cut off in the mid\n")
    items = iter_examples(path)
    assert [item.response for item in items if isinstance(item, Example)] == ["whole", "short", "cut off in the mid"]
    (said,) = [note for note in items.notes if "fewer cells" in note]
    assert said.startswith("2 rows have fewer cells than the header")
    assert "the first is row 2, of 3 cells: was the file cut off?" in said
    path.write_text("id,response\n1,whole\n2,whole\n")
    assert not any("fewer cells" in note for note in read_examples(path, scored=False).notes)


def test_cells_that_there_are_too_many_of_are_not_lost(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("response,score\na,3,more,and more\n")
    (bad,) = iter_examples(path)
    assert isinstance(bad, BadRow)
    assert "Too many: 'more | and more'" in bad.reason
