"""Records in and out of files: every format round-trips, damage is named with its row, nothing written is lost."""

import csv
import gzip
import json
import math
import os
import re
import sys
import tempfile
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from active_critic.data.files import iter_records
from active_critic.data.rows import BadRow, Unreadable
from active_critic.data.writing import RecordWriter, merge_record
from active_critic.errors import DataError, OutputError
from active_critic.locks import try_lock

TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=40) | st.sampled_from(
    [
        'a "quoted" cell',
        "two\nlines",
        "a\r\nb",
        "a\rb",
        "tab\tbed",
        "comma, comma",
        "",
        "  ",
        "naïve – ünïcode 漢字 🙂",
        "\u2028x",
    ]
)
SAFE = TEXTS.filter(lambda text: not re.search('(^|[;,|\t\r\n])"*[=+\\-@＝＋－＠]|^[\t\r]', text))
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63) | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)


def rows(path: Path) -> list[dict[str, object]]:
    items = list(iter_records(path))
    assert not [item for item in items if isinstance(item, BadRow)]
    return [record for _, record in items]


def bad(path: Path) -> list[BadRow]:
    return [item for item in iter_records(path) if isinstance(item, BadRow)]


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".csv.gz", ".tsv.gz"])
@given(records=st.lists(st.tuples(SAFE, SAFE).filter(lambda cells: any(map(str.strip, cells))), min_size=1, max_size=5))
@settings(max_examples=60)
def test_delimited_files_round_trip(suffix: str, records: list[tuple[str, str]]) -> None:
    expected = [{"response": response, "note, odd": note} for response, note in records]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"x{suffix}"
        with RecordWriter(path) as writer:
            for record in expected:
                writer.write(record)
        assert rows(path) == expected


@given(text=TEXTS)
@settings(max_examples=60)
def test_columns_that_are_not_guarded_are_written_as_they_are(text: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.csv"
        with RecordWriter(path, guarded={"ours"}) as writer:
            writer.write({"theirs": text, "ours": "=1"})
        assert rows(path) == [{"theirs": text, "ours": "'=1"}]


@pytest.mark.parametrize("suffix", [".jsonl", ".ndjson", ".json", ".jsonl.gz", ".json.gz"])
@given(records=st.lists(st.dictionaries(TEXTS, VALUES, max_size=4), min_size=1, max_size=4))
@settings(max_examples=60)
def test_json_files_round_trip(suffix: str, records: list[dict[str, object]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"x{suffix}"
        with RecordWriter(path) as writer:
            for record in records:
                writer.write(record)
        assert rows(path) == records


@given(records=st.lists(st.tuples(TEXTS, st.floats(0, 5)), min_size=1, max_size=5))
@settings(max_examples=30)
def test_parquet_is_read_as_it_was_written(records: list[tuple[str, float]]) -> None:
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    expected = [{"response": response, "score": score} for response, score in records]
    with tempfile.TemporaryDirectory() as folder:
        pq.write_table(pa.Table.from_pylist(expected), Path(folder) / "x.parquet")
        assert rows(Path(folder) / "x.parquet") == expected


def test_a_cell_longer_than_the_csv_library_allows_by_default_is_read(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text(f"response,score\n{'word ' * 40_000},3\n")
    assert len(str(rows(path)[0]["response"])) == 200_000


def test_a_byte_order_mark_is_not_part_of_the_first_column(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_bytes(b"\xef\xbb\xbfresponse\nyes\n")
    (tmp_path / "x.jsonl").write_bytes(b'\xef\xbb\xbf{"response": "yes"}\n')
    assert rows(tmp_path / "x.csv") == rows(tmp_path / "x.jsonl") == [{"response": "yes"}]


@pytest.mark.parametrize("name", ["data", "examples"])
def test_a_json_file_may_wrap_its_array(tmp_path: Path, name: str) -> None:
    path = tmp_path / "x.json"
    path.write_text(json.dumps({"version": 1, name: [{"a": 1}]}))
    assert rows(path) == [{"a": 1}]


def written(path: Path, document: Any) -> Path:
    path.write_text(json.dumps(document))
    return path


def test_the_only_list_of_objects_in_a_json_file_holds_its_rows(tmp_path: Path) -> None:
    rows = [{"response": f"text {n}", "score": n, "tags": ["a"], "parts": [{"x": 1}]} for n in range(3)]
    document = {"id": "run", "results": {"version": 3, "rows": rows, "models": ["a", "b"], "none": []}, "stats": {}}
    found = iter_records(written(tmp_path / "x.json", document))
    assert [*found] == [*enumerate(rows, 1)]
    assert found.notes == ("the rows are those of the list 'results.rows'",)
    assert not iter_records(written(tmp_path / "y.json", {"data": rows})).notes


@pytest.mark.parametrize(
    "document",
    [
        {"response": "a", "score": 3, "tags": ["a", "b"]},
        {"response": "a", "messages": [{"role": "user", "content": "x"}]},
        {"rows": [[1, 2], [3, 4]]},
        {"rows": [{"a": 1}, "b"]},
        {},
    ],
)
def test_a_json_object_without_a_list_of_objects_is_refused(tmp_path: Path, document: dict[str, Any]) -> None:
    with pytest.raises(DataError, match="expected an array of objects, or an object that holds one"):
        [*iter_records(written(tmp_path / "x.json", document))]


def test_a_program_in_the_place_of_a_file_of_rows_is_named() -> None:
    program = Path(__file__).parents[2] / "programs" / "quickstart.json"
    with pytest.raises(DataError, match="this is a program, and holds no rows"):
        [*iter_records(program)]


def test_of_several_lists_of_objects_in_a_json_file_none_is_taken(tmp_path: Path) -> None:
    document = {"prompts": [{"raw": "a"}], "my runs": {"results": [{"a": 1}, {"a": 2}]}}
    with pytest.raises(DataError) as refused:
        [*iter_records(written(tmp_path / "x.json", document))]
    assert str(refused.value).endswith(
        "several lists of objects are in it: 'prompts' (1), 'my runs.results' (2); keep the one with the rows, and no "
        "more (in a shell: jq '.\"my runs\".results' FILE > NEW)"
    )
    deep: Any = [{"a": 1}]
    for _ in range(150):
        deep = {"x": deep}
    with pytest.raises(DataError, match="expected an array of objects"):
        [*iter_records(written(tmp_path / "x.json", deep))]


def test_short_rows_are_filled_up_and_blank_lines_are_no_rows(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("\na,b\n\n1\n\n2,3\n")
    assert list(iter_records(path)) == [(1, {"a": "1", "b": ""}), (2, {"a": "2", "b": "3"})]


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("x.csv", b"", "holds no rows"),
        ("x.csv", b"a,b\n", "holds no rows"),
        ("x.jsonl", b"\n\n", "holds no rows"),
        ("x.json", b" ", "empty"),
        ("x.json", b"[]", "holds no rows"),
        ("x.json", b'{"a": 1}\n{"a": 2}\n', r"Extra data \(line 2.*\.jsonl"),
        ("x.json", b'{"rows": 3}', "array of objects"),
        ("x.json", b'[{"a": 1}, {"a": ]', "broken JSON.*character"),
        ("x.csv", "a,b\n1,2\n".encode("utf-16")[:-1], "damaged or cut-off UTF-16 text after [01] rows.*save it anew"),
        (
            "x.jsonl",
            b"\xff\xfe" + '{"a": "x"}\n'.encode("utf-16-le") + b"\0\xd8\0a",
            "cut-off UTF-16 text after",
        ),
        ("x.csv", "a,b\n1,2\n".encode("utf-32"), r"UTF-32 text; save the file as UTF-8 .*iconv -f UTF-32 -t UTF-8"),
        ("x.csv", "a,b\n1,2\n".encode("utf-16-le"), "UTF-16.*in Excel: CSV UTF-8; in a shell: iconv -f UTF-16LE -t"),
        ("x.tsv", "a\tb\n1\t2\n".encode("utf-16-be"), "is the file UTF-16.*iconv -f UTF-16BE -t UTF-8 FILE > NEW"),
        ("x.csv", b"abcde,f\0\n1,2\n", "header cannot be used: there is a NUL byte"),
        (
            "x.csv",
            b"PK\x03\x04\x14\x00\x06\x00",
            r"a zip file; if it is a workbook of Excel, let its name end in \.xlsx",
        ),
        ("x.csv", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", r"old Office programs; if it is a workbook, save it as \.xlsx"),
        ("x.jsonl", '{"a": 1}\n'.encode("utf-16-le"), "is the file UTF-16"),
        ("x.ndjson.gz", gzip.compress('{"a": 1}\n'.encode("utf-16-be"), mtime=0), "is the file UTF-16"),
        ("x.json", '[{"a": 1}]'.encode("utf-16-le"), "is the file UTF-16"),
        ("x.csv", "réponse\n1\n".encode("latin-1"), "header.*0xE9"),
        ("x.csv", b"a,score,a,score\n1,2,3,4\n", "'a', 'score' more than once"),
        ("x.csv", b'"a,b\n1,2\n', "header is broken"),
        ("x.csv", gzip.compress(b"a\n1\n", mtime=0), r"end in \.gz"),
        ("x.csv.gz", b"a\n1\n", r"if it is no gzip data at all, let its name not end in \.gz"),
        (
            "x.csv.gz",
            gzip.compress(b"a\n" + b"1\n" * 9, mtime=0)[:-9],
            "cut-off gzip data after .*; fetch or make it anew",
        ),
        ("x.parquet", b"PAR1 but not really", "not a Parquet file"),
    ],
)
def test_a_file_that_cannot_be_used_is_named_with_the_reason(
    tmp_path: Path, name: str, content: bytes, says: str
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(DataError, match=says) as caught:
        list(iter_records(path))
    assert caught.value.path == str(path)


@pytest.mark.parametrize("codec", ["utf-16-le", "utf-16-be"])
def test_utf_16_that_says_so_is_read(tmp_path: Path, codec: str) -> None:
    begun = ("\ufeff" + "{}").format
    texts = {
        "x.csv": 'a,b\r\n"né\nü",😀\r\n',
        "x.tsv": 'a\tb\r\n"né\nü"\t😀\r\n',
        "x.jsonl": '{"a": "né\\nü", "b": "😀"}\n',
        "x.json": '[{"a": "né\\nü", "b": "😀"}]',
    }
    for name, text in texts.items():
        for path, content in (
            (name, begun(text).encode(codec)),
            (f"{name}.gz", gzip.compress(begun(text).encode(codec))),
        ):
            (tmp_path / path).write_bytes(content)
            records = iter_records(tmp_path / path)
            assert list(records) == [(1, {"a": "né\nü", "b": "😀"})]
            assert records.bom
            assert "the file is UTF-16 text and read as that; what is written of it is UTF-8" in records.notes


def test_a_byte_of_another_encoding_is_named_with_what_it_may_have_been(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_bytes("a,b\n1,2\n1,café\n".encode("cp1252"))
    (tmp_path / "x.jsonl").write_bytes('{"a": "caf\x81"}\n'.encode("latin-1"))
    remedy = "is not UTF-8; save the file as UTF-8 (in Excel: CSV UTF-8; in a shell: iconv -f {} -t UTF-8 FILE > NEW)"
    windows = remedy.format("WINDOWS-1252")
    _, bad = iter_records(tmp_path / "x.csv")
    assert isinstance(bad, BadRow)
    assert (bad.row, bad.column, bad.reason) == (2, "b", f"byte 0xE9 (character 4, 'é' in Windows-1252) {windows}")
    (bad,) = iter_records(tmp_path / "x.jsonl")
    assert isinstance(bad, BadRow)
    assert f"line 1 is broken JSON: byte 0x81 (character 11) {remedy.format('ENCODING')}" in bad.reason


def test_repeated_parquet_columns_are_refused(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    pq.write_table(pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"]), tmp_path / "x.parquet")
    with pytest.raises(DataError, match="'a' more than once"):
        list(iter_records(tmp_path / "x.parquet"))


def test_values_of_parquet_that_cannot_be_read_are_marked_where_they_stand(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    twice = pa.StructArray.from_arrays([pa.array([1, 2]), pa.array([1, 2])], names=["a", "a"])
    columns = {
        "text": pa.array([b"good", b"\xff"], pa.binary()).view(pa.string()),
        "time": pa.array([0, 2**62], pa.timestamp("us")),
        "day": pa.array([2**31 - 1, 0], pa.date32()),
        "took": pa.array([2**62, 0], pa.duration("s")),
        "twice": twice,
        "n": pa.array([1, 2]),
    }
    pq.write_table(pa.table(columns), tmp_path / "x.parquet")
    first, second = rows(tmp_path / "x.parquet")
    unread = [{name for name, cell in row.items() if isinstance(cell, Unreadable)} for row in (first, second)]
    assert unread == [{"day", "took", "twice"}, {"text", "time", "twice"}]
    assert (first["text"], first["time"], first["n"]) == ("good", datetime(1970, 1, 1), 1)
    reason = "a value of type string cannot be read ('utf-8' codec can't decode byte 0xff"
    assert str(second["text"]).startswith(reason)


@pytest.mark.parametrize("name", ["x", "x.txt", "x.gz", "x.parquet.gz"])
def test_an_unknown_suffix_lists_the_known_ones(tmp_path: Path, name: str) -> None:
    (tmp_path / name).touch()
    with pytest.raises(DataError, match=r"\.csv, \.tsv, \.json, \.jsonl, \.ndjson, \.parquet"):
        iter_records(tmp_path / name)


def test_a_spreadsheet_that_is_not_read_is_told_how_to_be_saved(tmp_path: Path) -> None:
    for end in (".numbers", ".XLS", ".ods"):
        (tmp_path / f"x{end}").touch()
        with pytest.raises(
            DataError, match=rf"\{end.lower()} is not read; export the sheet as \.xlsx or \.csv, and name"
        ):
            iter_records(tmp_path / f"x{end}")
    (tmp_path / "x.xlsm.gz").touch()
    with pytest.raises(DataError, match=r"must end in .*\.xlsx.* \(text formats also with \.gz\)"):
        iter_records(tmp_path / "x.xlsm.gz")
    with pytest.raises(OutputError) as written:
        RecordWriter(tmp_path / "x.xlsx")
    assert "xlsx" not in str(written.value).partition("must end in")[2]


def test_missing_files_and_folders_are_told_at_once(tmp_path: Path) -> None:
    for name in ("absent.csv", "absent", "absent.txt"):
        with pytest.raises(DataError, match=f"{name}: there is no such file"):
            iter_records(tmp_path / name)
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(DataError, match=r"folder\.csv: this is a folder"):
        iter_records(tmp_path / "folder.csv")


def test_what_was_pasted_around_a_path_is_told_and_standard_input_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "a b.csv"
    path.write_text("response\na\n")
    for pasted in (f"'{path}'", f'"{path}" ', f"file://{path}", f" {path}"):
        with pytest.raises(DataError, match=r"there is no such file, but there is .*a b\.csv; name that"):
            iter_records(pasted)
    with pytest.raises(DataError, match=r"there is no such file$"):
        iter_records(f"file://{tmp_path}/absent.csv")
    with pytest.raises(DataError, match="this is a folder"):
        iter_records(tmp_path)


@pytest.mark.parametrize(
    ("name", "second", "says", "column"),
    [
        ("x.csv", b"1,2,3", "3 cells where the header has 2", None),
        ("x.csv", b"1,caf\xe9", "byte 0xE9", "b"),
        ("x.csv", b"1\x00,2", "NUL", "a"),
        ("x.csv", b'"1" or so,2', "quote", None),
        ("x.jsonl", b'{"a": 1', "line 2 is broken JSON.*character", None),
        ("x.jsonl", b'{"a": "caf\xe9"}', "line 2 is broken JSON: byte 0xE9", None),
        ("x.jsonl", b"[1, 2]", "line 2 is not a JSON object", None),
        ("x.jsonl", b'{"a": 1, "a": 2}', "'a' is there twice", None),
        ("x.jsonl", b"[" * 100_000, "line 2 is broken JSON", None),
        (
            "x.jsonl",
            b'{"a": [NaN, ' + b"[" * 900 + b"]" * 901 + b"}",
            "line 2 holds .* nested more than 100 deep",
            None,
        ),
        ("x.jsonl", b'{"a": ' + b"9" * 5000 + b"}", "line 2 is broken JSON", None),
    ],
)
def test_a_damaged_row_comes_in_its_place_and_the_rest_follows(
    tmp_path: Path, name: str, second: bytes, says: str, column: str | None
) -> None:
    path = tmp_path / name
    header, good = (b"a,b\n", b"1,2\n") if name == "x.csv" else (b"", b'{"a": 1}\n')
    path.write_bytes(header + good + second + b"\n" + good)
    first, broken, last = iter_records(path)
    assert not isinstance(first, BadRow)
    assert not isinstance(last, BadRow)
    assert isinstance(broken, BadRow)
    assert (first[0], broken.row, last[0]) == (1, 2, 3)
    with pytest.raises(DataError, match=says) as caught:
        raise broken.error(str(path))
    assert (caught.value.row, caught.value.column) == (2, column)


def test_a_quote_that_is_never_closed_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text('a,b\n1,2\n"3,4\n')
    assert [item.row for item in bad(path)] == [2]


@pytest.mark.parametrize(
    ("content", "lines"),
    [
        ('a,b\n1,"2\n3,4\n5,6\n7,8\n', "row 1: .* begins at line 2 swallows all up to line 5 of the file, 4 lines"),
        ('\na,b\n1,"2\n2"\n3,"4\n5,6\n', "row 2: .* begins at line 5 swallows all up to line 6 of the file, 2 lines"),
        ('sep=;\na;b\n1;"2\n3;"4"\n5;6\n', "row 1: .* begins at line 3 swallows all up to line 4 of the file, 2 lines"),
    ],
)
def test_rows_that_an_unclosed_quote_swallows_do_not_pass_for_one(tmp_path: Path, content: str, lines: str) -> None:
    path = tmp_path / "x.csv"
    path.write_text(content)
    with pytest.raises(DataError, match=rf"x\.csv, {lines} .*must close with one, and quotes inside it are doubled"):
        list(iter_records(path))


def test_a_record_of_json_lines_that_goes_on_in_other_lines_is_refused_with_the_remedy(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text('{\n  "a": 1\n}\n')
    assert "line 1 is broken JSON: a record is on one line, and this one goes on" in bad(path)[0].reason


def test_a_json_entry_that_is_no_object_is_named(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text('[{"a": 1}, 7]')
    assert bad(path) == [BadRow(2, "entry 2 is not a JSON object with named fields")]


def test_what_is_nested_as_deep_as_may_be_is_written_again_and_an_entry_that_is_deeper_is_named(tmp_path: Path) -> None:
    deepest = '{"a": [NaN, ' + "[" * 98 + "]" * 98 + "]}"
    (tmp_path / "x.json").write_text(f'[{deepest}, {{"a": [{deepest}]}}]')
    first, deeper = iter_records(tmp_path / "x.json")
    assert isinstance(deeper, BadRow)
    assert deeper.reason.startswith("entry 2 holds lists or objects that are nested more than 100 deep")
    with RecordWriter(tmp_path / "y.jsonl") as writer:
        writer.write(first[1])
    assert (tmp_path / "y.jsonl").read_text() == deepest.replace("NaN", "null") + "\n"


def test_large_files_are_read_in_constant_memory(tmp_path: Path) -> None:
    import tracemalloc

    path = tmp_path / "x.jsonl.gz"
    with RecordWriter(path) as writer:
        for number in range(20_000):
            writer.write({"id": number, "response": "the same words again " * 20})
    tracemalloc.start()
    try:
        count = sum(1 for _ in iter_records(path))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert count == 20_000
    assert peak < 1_000_000


def test_merging_keeps_every_column_of_the_input() -> None:
    record = {"id": 1, "score": 4, "input_score": 3, "criteria": "old"}
    kept = {"id": 1, "input_score_2": 4, "input_score": 3, "input_criteria": "old"}
    assert merge_record(record, {"score": 2.5, "criteria": []}) == {**kept, "score": 2.5, "criteria": []}


def test_a_programs_score_never_becomes_what_people_gave_however_often_a_file_is_scored() -> None:
    verdict = {"score": 2.5, "unscored": None, "read_from": "text"}
    labelled = merge_record(merge_record({"response": "a", "score": 4}, verdict), {**verdict, "score": 3.5})
    plain = merge_record(merge_record({"response": "b"}, verdict), {**verdict, "score": 3.5})
    assert (labelled["input_score"], labelled["earlier_score"], labelled["score"]) == (4, 2.5, 3.5)
    assert "input_score" not in plain
    assert (plain["earlier_score"], plain["score"]) == (2.5, 3.5)
    thrice = merge_record(labelled, {**verdict, "score": 4.5})
    scores = {"input_score": 4, "earlier_score": 2.5, "earlier_score_2": 3.5, "score": 4.5}
    assert {name: value for name, value in thrice.items() if "score" in name and "un" not in name} == scores
    assert {"earlier_unscored", "earlier_unscored_2", "earlier_read_from", "earlier_read_from_2"} <= thrice.keys()


def test_all_of_an_earlier_verdict_is_kept_as_that() -> None:
    earlier = {"criterion Tone": 3, "explanation Tone": "kind", "repeat_sd": 0.1, "unscored": None, "read_from": "text"}
    verdict = {"score": 2.5, "unscored": None, "read_from": "text"}
    merged = merge_record({"response": "a", "explanation mine": "why", "score": 4, **earlier}, verdict)
    assert {f"earlier_{name}" for name in earlier} <= merged.keys()
    assert merged["earlier_score"] == 4
    assert not {"criterion Tone", "explanation Tone", "repeat_sd"} & merged.keys()
    assert merged["explanation mine"] == "why"
    own = {"response": "a", "criterion Tone": "mine", "repeat_sd": 2}
    assert merge_record(own, verdict) == {**own, **verdict}


@given(
    st.dictionaries(st.sampled_from(["a", "input_a", "input_a_2", "input_a_3", "input_input_a", "b"]), st.integers()),
    st.dictionaries(st.sampled_from(["a", "input_a", "b"]), st.none()),
)
def test_merging_never_loses_a_value(record: dict[str, int], verdict: dict[str, None]) -> None:
    merged = merge_record(record, verdict)
    assert sorted(value for value in merged.values() if value is not None) == sorted(record.values())
    assert verdict.items() <= merged.items()


def test_cells_that_a_spreadsheet_would_run_are_disarmed(tmp_path: Path) -> None:
    cells = [
        "=1+1",
        "+cmd|' /C calc'!A0",
        "-x",
        "@SUM(A1)",
        "\tx",
        "\rx",
        "-5",
        "+1.5e3",
        -5,
        -0.5,
        "fine = fine",
        "=x",
    ]
    with RecordWriter(tmp_path / "x.csv") as writer:
        for cell in cells:
            writer.write({"=a": cell})
    with (tmp_path / "x.csv").open(newline="", encoding="utf-8") as file:
        written = [row[0] for row in csv.reader(file)]
    expected = ["'=1+1", "'+cmd|' /C calc'!A0", "'-x", "'@SUM(A1)", "'\tx", "'\rx", "-5", "+1.5e3", "-5", "-0.5"]
    assert written == ["'=a", *expected, "fine = fine", "'=x"]


def test_nested_and_missing_values_have_a_form_in_csv_and_json(tmp_path: Path) -> None:
    record = {"score": None, "criteria": [{"name": "é", "score": 1.5}], "ok": True, "odd": math.nan}
    for name in ("x.csv", "x.jsonl"):
        with RecordWriter(tmp_path / name) as writer:
            writer.write(record)
    assert rows(tmp_path / "x.csv") == [
        {"score": "", "criteria": '[{"name": "é", "score": 1.5}]', "ok": "true", "odd": ""}
    ]
    assert rows(tmp_path / "x.jsonl") == [{**record, "odd": None}]


def test_half_a_surrogate_pair_does_not_stop_the_output(tmp_path: Path) -> None:
    for name in ("x.csv", "x.jsonl"):
        with RecordWriter(tmp_path / name) as writer:
            writer.write({"a": "x\ud83d"})
    assert rows(tmp_path / "x.jsonl") == [{"a": "x\ud83d"}]
    assert rows(tmp_path / "x.csv") == [{"a": "x\\ud83d"}]


def test_the_first_record_fixes_the_columns_of_a_csv(tmp_path: Path) -> None:
    def write() -> None:
        with RecordWriter(tmp_path / "x.csv") as writer:
            for record in ({"a": 1, "b": 2}, {"b": 3}, {"a": 1, "c": 2}):
                writer.write(record)

    with pytest.raises(OutputError, match=r"record 3 has a column 'c'.*\.jsonl"):
        write()
    assert (tmp_path / "x.csv.partial").read_text() == "a,b\n1,2\n,3\n"


def test_the_file_appears_only_when_it_is_complete(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text("old\n")
    with RecordWriter(path) as writer:
        writer.write({"a": 1})
        assert path.read_text() == "old\n"
        assert writer.partial.read_text() == '{"a": 1}\n'
    assert path.read_text() == '{"a": 1}\n'
    assert [entry.name for entry in tmp_path.iterdir()] == ["x.jsonl"]


def test_a_link_is_followed_and_stays(tmp_path: Path) -> None:
    there, link = tmp_path / "there.jsonl", tmp_path / "link.jsonl"
    there.write_text("old")
    link.symlink_to(there)
    with RecordWriter(link) as out:
        out.write({"a": 1})
    assert link.is_symlink()
    assert there.read_text() == '{"a": 1}\n'


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such modes")
def test_what_is_written_again_is_as_private_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text("old")
    path.chmod(0o600)
    with RecordWriter(path) as out:
        out.write({"a": 1})
        assert out.partial.stat().st_mode & 0o777 == 0o600
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.read_text() == '{"a": 1}\n'


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes")
def test_a_pipe_is_not_replaced_by_a_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "x.jsonl")
    with pytest.raises(OutputError, match=r"x\.jsonl: it is a device, a pipe"), RecordWriter(tmp_path / "x.jsonl"):
        pass
    assert (tmp_path / "x.jsonl").is_fifo()
    assert [entry.name for entry in tmp_path.iterdir()] == ["x.jsonl"]


def test_what_was_written_before_an_interruption_is_kept_and_named(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl.gz"
    writer = RecordWriter(path)

    def write() -> None:
        with writer:
            writer.write({"a": 1})
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as caught:
        write()
    assert str(writer.partial) in caught.value.__notes__[0]
    assert gzip.decompress(writer.partial.read_bytes()) == b'{"a": 1}\n'
    assert not path.exists()


@pytest.mark.parametrize("name", ["x.jsonl", "x.csv", "x.json", "x.jsonl.gz"])
def test_two_runs_do_not_write_to_one_file(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    with RecordWriter(path) as writer:
        writer.write({"a": 1})
        with pytest.raises(OutputError, match=rf"another run is writing .*{name}; wait until it is done"):
            RecordWriter(path).__enter__()
        writer.write({"a": 2})
    with RecordWriter(path) as later:  # and is free again
        assert len(rows(path)) == 2
        later.write({"a": 3})
    assert len(rows(path)) == 1


def test_what_a_killed_run_left_is_overwritten(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl.partial").write_text('{"a": "left over from a run that was killed"}\n')
    with RecordWriter(tmp_path / "x.jsonl") as writer:
        writer.write({"a": 1})
    assert rows(tmp_path / "x.jsonl") == [{"a": 1}]


def test_a_partial_file_that_was_just_finished_is_not_touched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, locks = RecordWriter(tmp_path / "x.jsonl"), []

    def first_is_done_meanwhile(descriptor: int) -> bool:
        if not locks:
            locks.append(descriptor)
            first.__exit__(None, None, None)
        return try_lock(descriptor)

    first.__enter__()
    first.write({"a": 1})
    monkeypatch.setattr("active_critic.data.writing.try_lock", first_is_done_meanwhile)
    with RecordWriter(tmp_path / "x.jsonl") as second:
        assert rows(tmp_path / "x.jsonl") == [{"a": 1}]
        second.write({"a": 2})
    assert rows(tmp_path / "x.jsonl") == [{"a": 2}]


def test_a_failure_before_the_first_record_leaves_nothing_behind(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="early"), RecordWriter(tmp_path / "x.csv"):
        raise ValueError("early")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full, a disk that is always full")
@pytest.mark.parametrize("name", ["x.jsonl", "x.csv", "x.json", "x.jsonl.gz"])
def test_a_full_disk_is_an_error_that_names_the_file(tmp_path: Path, name: str) -> None:
    (tmp_path / f"{name}.partial").symlink_to("/dev/full")
    with pytest.raises(OutputError, match=rf"cannot write .*{name}: No space left") as failed:  # noqa: SIM117
        with RecordWriter(tmp_path / name) as writer:
            writer.write({"a": "x" * 100_000})
    kept = bool(list(tmp_path.iterdir()))
    assert ("no record was written before that" in str(failed.value)) != kept
    assert (".partial" in str(failed.value)) == kept


def test_places_that_cannot_be_written_are_told_before_any_work(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for path in (tmp_path / "file" / "x.csv", tmp_path / "file" / "a" / "b" / "x.csv"):
        with pytest.raises(OutputError, match=r"cannot write .*x\.csv: .*/file is no folder"), RecordWriter(path):
            pass
    (tmp_path / "x.csv").mkdir()
    for folder in (tmp_path / "x.csv", tmp_path, Path(tmp_path.anchor), Path()):
        with pytest.raises(OutputError, match="is a folder; name a file in it"):
            RecordWriter(folder)
    with pytest.raises(OutputError, match=r"must end in \.csv, \.tsv, \.json, \.jsonl, \.ndjson \("):
        RecordWriter(tmp_path / "x.parquet")


def test_a_folder_that_is_missing_is_made_also_behind_a_link(tmp_path: Path) -> None:
    (tmp_path / "link.csv").symlink_to(tmp_path / "far" / "away" / "y.csv")
    for name, end in (("a/b/x.csv", "a/b/x.csv"), ("link.csv", "far/away/y.csv")):
        with RecordWriter(tmp_path / name) as writer:
            writer.write({"a": 1})
        assert [item for _, item in iter_records(tmp_path / end)] == [{"a": "1"}]


def test_equal_records_give_equal_gzip_bytes(tmp_path: Path) -> None:
    for name in ("a.jsonl.gz", "b.jsonl.gz"):
        with RecordWriter(tmp_path / name) as writer:
            writer.write({"a": 1})
    assert (tmp_path / "a.jsonl.gz").read_bytes() == (tmp_path / "b.jsonl.gz").read_bytes()


def test_parquet_without_pyarrow_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from active_critic.errors import MissingExtra

    (tmp_path / "x.parquet").write_bytes(b"PAR1")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtra, match=r"active-critic\[data\]"):
        list(iter_records(tmp_path / "x.parquet"))
