"""Reading examples: columns and scales are recognised and said, and what cannot be used is named."""

import gzip
import itertools
import json
import tempfile
import time
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from active_critic.data import COLUMNS, BadRow, Examples, RecordWriter, for_aspect, iter_examples, read_examples
from active_critic.data.writing import unguarded
from active_critic.errors import DataError
from active_critic.records import Example, Scale

SHARED = Path(__file__).parents[3] / "shared" / "datasets"
GOOD = [{"source": f"s{i}", "response": f"r{i}", "score": i} for i in range(1, 6)]


def jsonl(folder: Path, records: list[Any], name: str = "x.jsonl") -> Path:
    path = folder / name
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=30).filter(str.strip)
ROWS = st.lists(
    st.fixed_dictionaries({"source": TEXT, "response": TEXT, "score": st.floats(0, 1), "extra": TEXT}),
    min_size=1,
    max_size=5,
)


@pytest.mark.parametrize(
    "name", ["x.csv", "x.tsv.gz", "x.json", "x.jsonl", "x.ndjson.gz", "x.parquet", "frame", "dicts"]
)
@given(rows=ROWS)
@example(rows=[{"source": "'-", "response": "'=1+1", "score": 0.5, "extra": "'="}])
@settings(max_examples=25)
def test_examples_come_back_as_they_were_written(name: str, rows: list[dict[str, Any]]) -> None:
    """But for an apostrophe before a formula, in a file that spreadsheets open: it is taken off, and that is said."""
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(rows)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        if ".csv" in name or ".tsv" in name:
            frame.to_csv(path, index=False, sep="\t" if ".tsv" in name else ",", lineterminator="\r\n")
        elif name == "x.parquet":
            frame.to_parquet(path)
        elif name == "x.json":
            path.write_text(json.dumps(rows), encoding="utf-8")
        elif name not in {"frame", "dicts"}:
            data = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()
            path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
        source = {"frame": frame, "dicts": rows}.get(name, path)
        examples = read_examples(source, scale="0..1")
    texts = [(r["source"], r["response"]) for r in rows]
    plain = [tuple(map(unguarded, both)) for both in texts] if ".csv" in name or ".tsv" in name else texts
    assert [(e.source, e.response) for e in examples] == plain
    assert [e.score for e in examples] == [r["score"] for r in rows]
    assert ("without the apostrophe" in " ".join(examples.notes)) == (plain != texts)
    assert [e.record["extra"] for e in examples] == [r["extra"] for r in rows]
    assert [e.row for e in examples] == list(range(1, len(rows) + 1))


@pytest.mark.parametrize(("field", "column"), [(field, column) for field in COLUMNS for column in COLUMNS[field]])
def test_every_listed_column_name_is_recognised(field: str, column: str) -> None:
    record = {"response": "r", "score": 3}
    record.pop(field, None)
    record[column.upper().replace("_", " ")] = "a text" if field in {"reference", "comment"} else 3
    example = read_examples([record], scale="1..5")[0]
    assert getattr(example, field) == {"score": 3.0, "reference": "a text", "comment": "a text"}.get(field, "3")


def test_fields_win_over_recognition_and_say_so(tmp_path: Path) -> None:
    records = [{"response": "no", "better": f"r{i}", "score": 9, "overall": i, "doc": 7} for i in range(1, 6)]
    examples = read_examples(
        jsonl(tmp_path, records), fields={"response": "better", "score": "overall", "group": "doc"}
    )
    assert examples[0].response == "r1"
    assert examples[0].score == 1.0
    assert examples[0].group == "7"
    assert examples.fields == {"response": "better", "score": "overall", "group": "doc"}
    assert examples.notes[0] == "columns used: response=better, score=overall, group=doc"


def test_of_two_candidates_the_earlier_listed_is_taken_and_the_other_named() -> None:
    examples = read_examples([{"text": "t", "output": "o", "rating": 2, "Score": 4}], scale="1..5")
    assert (examples[0].response, examples[0].score) == ("o", 4.0)
    assert any("'output'" in note and "'text'" in note for note in examples.notes)
    assert any("'Score'" in note and "'rating'" in note for note in examples.notes)


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"respons": "output"}, "'respons' is not a field.*did you mean 'response'"),
        ({"score": "overal"}, "no column 'overal'.*'overall'.*did you mean 'overall'"),
        ({"score": "Overall"}, "did you mean 'overall'"),
    ],
)
def test_a_wrong_mapping_lists_what_there_is(fields: dict[str, str], says: str) -> None:
    with pytest.raises(DataError, match=says):
        read_examples([{"response": "r", "overall": 1}], fields=fields)


def test_unrecognised_columns_are_listed_with_the_remedy(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"--fields response=NAME.*'words', 'score'"):
        read_examples([{"words": "w", "score": 3}])
    with pytest.raises(DataError, match=r"--fields score=NAME"):
        read_examples([{"response": "r"}])


@pytest.mark.parametrize(
    ("separator", "says"), [("\t", "a tab in it; name it .tsv"), ("|", r"'\|' in it; write sep=\|")]
)
def test_another_separator_is_named(tmp_path: Path, separator: str, says: str) -> None:
    path = tmp_path / "x.csv"
    path.write_text("id;response;score\n1;r, and more;3\n".replace(";", separator))
    with pytest.raises(DataError, match=says):
        read_examples(path)
    commas = tmp_path / "x.tsv"
    commas.write_text("id,response,score\n1,r,3\n")
    with pytest.raises(DataError, match="write sep=, in a line above it, or save it with a tab as the separator"):
        read_examples(commas)


def test_what_is_written_of_a_text_is_the_response_and_the_text_its_source() -> None:
    data = read_examples(
        [{"text": "an article", "summary": "in short", "score": 3}, {"text": "b", "summary": "c", "score": 1}]
    )
    assert (data[0].source, data[0].response) == ("an article", "in short")
    assert "columns used: response=summary, source=text, score=score" in data.notes
    assert read_examples([{"text": "alone", "score": 3}, {"text": "b", "score": 1}])[0].response == "alone"


def test_text_that_may_be_the_source_and_is_not_read_is_named() -> None:
    row = {"instruction": "Be brief.", "input": "What is it?", "output": "A thing.", "score": 3}
    (found,) = [note for note in read_examples([row]).notes if note.startswith("the source")]
    assert found == (
        "the source is read from 'input'; --fields source=NAME for 'instruction', or source=input+instruction for both"
    )
    talk = {"messages": [{"role": "user", "content": "hello"}], "response": "hi there", "quality": 3, "clarity": 2}
    (found,) = [note for note in read_examples([talk]).notes if "source" in note and "columns used" not in note]
    assert found == "no column is recognised as the source; --fields source=NAME for 'messages'"
    assert not any("source" in note for note in read_examples([{"response": "a b c d", "score": 3, "x": 2}]).notes)


def test_aspects_and_everything_else_survive() -> None:
    record = {"response": "r", "score": 3, "scores": {"fluency": 2, "odd": "x"}, "aspect_tone": "4.5", "more": [1]}
    example = read_examples([record], scale="1..5")[0]
    assert example.aspects == {"fluency": 2.0, "tone": 4.5}
    assert example.record == record
    text = {**record, "scores": '{"fluency": 2}'}
    assert read_examples([text], scale="1..5")[0].aspects == {"fluency": 2.0, "tone": 4.5}


def test_the_mean_of_several_raters_does_not_depend_on_their_order() -> None:
    orders = itertools.permutations((0.1, 0.2, 0.3))
    rows = [{"response": f"r{i}", **{f"rater_{j}": s for j, s in enumerate(o)}} for i, o in enumerate(orders)]
    examples = read_examples(rows, fields={"score": "rater_*"})
    assert len({example.score for example in examples}) == 1


def test_identifiers_are_text_and_blank_ones_are_none() -> None:
    examples = read_examples(
        [{"response": 42, "score": 3, "id": 7.0, "group": "", "system": None, "reference": " "}], scale="1..5"
    )
    assert examples[0] == Example("42", "", 3.0, "7", record=examples[0].record, row=1)


@pytest.mark.parametrize(
    ("scores", "scale"),
    [
        ([0, 1], "0..1"),
        ([0.2, 0.9], "0..1"),
        ([1, 2, 3], "1..3"),
        ([1, 3.5], "1..4"),
        ([2, 5], "1..5"),
        ([1, 6], "1..6"),
        ([7, 1], "1..7"),
        ([0, 5], "0..5"),
        ([3, 10], "1..10"),
        ([0, 10], "0..10"),
        ([0, 55], "0..100"),
        ([-0.5, 1], "-1..1"),
    ],
)
def test_the_narrowest_usual_scale_that_holds_all_scores_is_inferred_and_said(scores: list[float], scale: str) -> None:
    examples = read_examples([{"response": f"r{i}", "score": s} for i, s in enumerate(scores)])
    assert str(examples.scale) == scale
    assert examples.scale_inferred
    assert any(f"scale {scale} inferred" in note and "--scale" in note for note in examples.notes)


def test_scores_that_fit_no_usual_scale_need_one() -> None:
    with pytest.raises(DataError, match=r"from -3 to 250; pass --scale"):
        read_examples([{"response": "a", "score": -3}, {"response": "b", "score": 250}])


def test_a_given_scale_is_used_and_held_to() -> None:
    examples = read_examples(GOOD, scale=Scale(low=0, high=20))
    assert (str(examples.scale), examples.scale_inferred) == ("0..20", False)
    with pytest.raises(DataError, match=r"row 5, column 'score': 5 lies outside the scale 1\.\.4"):
        read_examples(GOOD, scale="1..4")
    with pytest.raises(DataError, match="not a scale"):
        read_examples(GOOD, scale="four")
    for ends in ((0, 20), [0, 20], [0.0, "20"]):
        assert read_examples(GOOD, scale=ends).scale == Scale(low=0, high=20)
    for wrong in ([1], [1, 2, 20], [None, 20], {"low": 1, "high": 20}, 20, range(1, 20)):
        with pytest.raises(DataError, match=r"is not a scale; write LOW\.\.HIGH"):
            read_examples(GOOD, scale=wrong)


def test_a_scale_column_counts_when_all_rows_that_name_one_name_the_same(tmp_path: Path) -> None:
    stated = [{**record, "scale": [0, 50]} for record in GOOD]
    examples = read_examples(jsonl(tmp_path, stated))
    assert (str(examples.scale), examples.scale_inferred) == ("0..50", False)
    assert "scale 0..50 taken from the file" in examples.notes
    assert str(read_examples(stated, scale="1..5").scale) == "1..5"
    assert str(read_examples([{**record, "scale": "0..50"} for record in GOOD]).scale) == "0..50"
    odd = read_examples([{**record, "scale": "1-5"} for record in GOOD])
    assert (str(odd.scale), odd.scale_inferred) == ("1..5", True)
    assert "the column 'scale' holds \"1-5\", which is not LOW..HIGH, and is not read" in odd.notes
    some = read_examples([*stated[1:], GOOD[0]])
    assert str(some.scale) == "0..50"
    assert "scale 0..50 taken from the file; rows that name none: 1" in some.notes
    assert "scale" not in " ".join(read_examples([*stated, {**GOOD[0], "scale": [0, 60]}], scored=False).notes)
    with pytest.raises(DataError, match=r"different scales \(0\.\.50 and 0\.\.60\)"):
        read_examples([*stated, {**GOOD[0], "scale": [0, 60]}])


@pytest.mark.parametrize("value", ["4,5", "1_0", True, [3], "-nan", "inf", float("inf"), 10**400])
def test_a_score_that_is_no_finite_number_is_named(tmp_path: Path, value: Any) -> None:
    path = jsonl(tmp_path, [*GOOD, {"response": "r", "score": value}])
    with pytest.raises(DataError, match=r"x\.jsonl, row 6, column 'score'.*not a (finite )?number") as caught:
        read_examples(path)
    assert (caught.value.row, caught.value.column, caught.value.path) == (6, "score", str(path))


@pytest.mark.parametrize("value", ["", " \n ", None])
def test_an_empty_response_is_named(value: Any) -> None:
    with pytest.raises(DataError, match=r"row 6, column 'output': the text to be judged is empty"):
        read_examples([*({"output": "r", "score": i} for i in range(5)), {"output": value, "score": 3}])


@pytest.mark.parametrize(
    ("record", "says"),
    [
        ({"response": ["r"], "score": 3}, "column 'response': expected a text, not list"),
        ({"response": "r", "source": {"a": 1}, "score": 3}, "column 'source': expected a text, not dict"),
        ({"response": "r\0", "score": 3}, "NUL"),
        ({"response": "r\ud83d", "score": 3}, "surrogate"),
        ("a string", "not str"),
    ],
)
def test_texts_that_are_none_are_named(record: Any, says: str) -> None:
    with pytest.raises(DataError, match=says):
        read_examples([*GOOD, record])


def test_broken_line_7312_of_a_file_is_named_in_a_fit_and_kept_in_its_place_in_scoring(tmp_path: Path) -> None:
    lines = [json.dumps({"response": f"r{i}", "score": i % 5 + 1}) for i in range(1, 8001)]
    lines[7311] = lines[7311][:-3]
    path = tmp_path / "x.jsonl"
    path.write_text("\n".join(lines))
    with pytest.raises(DataError, match=r"x\.jsonl, row 7312: line 7312 is broken JSON") as caught:
        read_examples(path)
    assert caught.value.row == 7312
    items = list(iter_examples(path))
    assert len(items) == 8000
    assert [i for i, item in enumerate(items, 1) if isinstance(item, BadRow)] == [7312]


def test_items_to_be_scored_need_no_usable_score(tmp_path: Path) -> None:
    path = jsonl(tmp_path, [{"response": "a"}, {"response": "b", "score": "n/a"}, {"response": "c", "score": 99}])
    examples = read_examples(path, scored=False)
    assert [e.score for e in examples] == [None, None, 99.0]
    assert examples.scale is None
    assert not examples.scale_inferred


def test_streaming_gives_one_item_a_row_in_order(tmp_path: Path) -> None:
    records = [{"id": i, "output": "" if i % 7 == 0 else f"r{i}", "score": "?" if i % 2 else i} for i in range(1, 300)]
    items = list(iter_examples(jsonl(tmp_path, records)))
    assert [item.record["id"] for item in items] == list(range(1, 300))
    bad = [item for item in items if isinstance(item, BadRow)]
    assert [item.row for item in bad] == list(range(7, 300, 7))
    assert {item.column for item in bad} == {"output"}
    assert isinstance(items[0], Example)
    assert items[0].score is None
    assert isinstance(items[1], Example)
    assert items[1].score == 2.0


def test_streaming_tells_wrong_files_and_columns_before_the_first_item(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such file"):
        iter_examples(tmp_path / "absent.csv")
    with pytest.raises(DataError, match="--fields response=NAME"):
        iter_examples(jsonl(tmp_path, [{"words": "w"}]))
    with pytest.raises(DataError, match="no column 'x'"):
        iter_examples(jsonl(tmp_path, GOOD), fields={"response": "x"})


def test_streaming_survives_a_file_in_which_no_row_can_be_read(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text("{\n[1]\n")
    assert [type(item) for item in iter_examples(path)] == [BadRow, BadRow]


def test_a_column_that_only_some_rows_have_is_found(tmp_path: Path) -> None:
    path = jsonl(tmp_path, [{"note": "n"}, {"response": "r"}])
    first, second = iter_examples(path)
    assert isinstance(first, BadRow)
    assert isinstance(second, Example)


def test_a_data_frame_is_read_with_its_own_ways_of_saying_missing() -> None:
    pd = pytest.importorskip("pandas")
    np = pytest.importorskip("numpy")
    frame = pd.DataFrame(
        {
            "response": ["a", "b"],
            "score": np.array([1, 2]),
            "group": [3, np.nan],
            "system": [pd.NA, "m"],
            5: ["x", None],
        }
    )
    first, second = read_examples(frame, scale="1..5", scored=False)
    assert (first.score, first.group, first.system) == (1.0, "3", None)
    assert (second.group, second.system, second.record["5"]) == (None, "m", None)
    json.dumps([dict(first.record), dict(second.record)], allow_nan=False)
    with pytest.raises(DataError, match="have a score, which is missing in row 2"):
        read_examples(frame.assign(score=[1, np.nan]))
    with pytest.raises(DataError, match="'a' more than once"):
        read_examples(pd.DataFrame([[1, 2]], columns=["a", "a"]))


def test_what_pandas_writes_for_nothing_is_nothing_in_mappings_and_examples_too() -> None:
    pd = pytest.importorskip("pandas")
    np = pytest.importorskip("numpy")
    rows = [{"response": "a", "source": "q", "score": 1, "id": pd.NA}, {"response": "b", "source": pd.NA, "score": 2}]
    first, second = read_examples(rows, scale="1..5")
    assert (first.id, second.source) == (None, "")
    json.dumps([dict(first.record), dict(second.record)])
    with pytest.raises(DataError, match="have a score, which is missing in row 3"):
        read_examples([*rows, {"response": "c", "score": pd.NA}])
    made = [Example("a", pd.NA, np.int64(2), group=np.int64(7)), Example("b", "q", 3, group="8", reference=pd.NA)]
    first, second = read_examples(made, scale="1..5")
    assert (first.source, first.score, first.group, second.reference) == ("", 2.0, "7", None)
    with pytest.raises(DataError, match="have a score, which is missing in row 3"):
        read_examples([*made, Example("c", "q", pd.NA, group="9")])
    with pytest.raises(DataError, match="row 3, column 'response': the text to be judged is empty"):
        read_examples([*rows, {"response": pd.NA, "score": 3}])


def test_what_cannot_be_read_in_parquet_costs_the_row_only_where_it_is_needed(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    inner = pa.array([b"hers", b"his", b"\xfe"], pa.binary()).view(pa.string())
    columns = {
        "response": pa.array([b"one", b"\xff", b"three"], pa.binary()).view(pa.string()),
        "when": pa.array([2**62, 0, 0], pa.timestamp("us")),
        "chat": pa.StructArray.from_arrays([inner], names=["prompt"]),
    }
    pq.write_table(pa.table(columns), tmp_path / "x.parquet")
    one, two, three = iter_examples(tmp_path / "x.parquet", fields={"source": "chat.prompt"})
    assert isinstance(one, Example)
    assert (one.response, one.source) == ("one", "hers")
    with RecordWriter(tmp_path / "out.jsonl") as out:
        out.write(one.record)
    assert "cannot be read (date value out of range)" in (tmp_path / "out.jsonl").read_text()
    assert isinstance(two, BadRow)
    assert (two.row, two.column) == (2, "response")
    assert two.reason.startswith("a value of type string cannot be read")
    assert isinstance(three, BadRow)
    assert (three.row, three.column) == (3, "chat.prompt")
    with pytest.raises(DataError, match=r"row 2, column 'response': .*cannot be read.*; correct it or drop the row"):
        read_examples(tmp_path / "x.parquet", scored=False)


def test_identifiers_may_be_what_databases_have_and_scores_decimals() -> None:
    key, noon = UUID(int=5), datetime(2026, 1, 2, 12)
    given = [
        {"response": "a", "id": Decimal("17"), "group": key, "system": date(2026, 1, 2), "score": Decimal("4.50")},
        {"response": "b", "id": noon, "group": Decimal("NaN"), "system": key, "score": Decimal("1E+0")},
    ]
    one, two = read_examples(given, scale="1..5", scored=False)
    assert (one.id, one.group, one.system, one.score) == ("17", str(key), "2026-01-02", 4.5)
    assert (two.id, two.group, two.system, two.score) == ("2026-01-02 12:00:00", None, str(key), 1.0)


def test_identifiers_of_parquet_and_data_frames_may_be_what_databases_have(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    pd = pytest.importorskip("pandas")
    given = {"response": ["a"], "id": [Decimal("17")], "group": [date(2026, 1, 2)], "score": [Decimal("4.5")]}
    pq.write_table(pa.table(given), tmp_path / "x.parquet")
    for source in (tmp_path / "x.parquet", pd.DataFrame(given)):
        (one,) = read_examples(source, scale="1..5")
        assert (one.id, one.group, one.score) == ("17", "2026-01-02", 4.5)
    (one,) = read_examples(pd.DataFrame({"response": ["a"], "group": [pd.NaT], "id": [pd.NaT]}), scored=False)
    assert (one.id, one.group) == (None, None)


def test_a_hugging_face_dataset_is_read_and_a_dict_of_them_refused() -> None:
    datasets = pytest.importorskip("datasets")
    dataset = datasets.Dataset.from_list(GOOD)
    assert [e.score for e in read_examples(dataset)] == [1, 2, 3, 4, 5]
    with pytest.raises(DataError, match="pick one of its parts: 'train', 'test'"):
        read_examples(datasets.DatasetDict({"train": dataset, "test": dataset}))


def test_examples_may_be_given_as_they_are() -> None:
    given_ = [Example(f"r{i}", "s", float(i), aspects={"a": 1.0}) for i in range(1, 4)]
    examples = read_examples(given_, scale="1..5")
    assert [(e.response, e.score, e.row, e.aspects) for e in examples] == [
        (f"r{i}", float(i), i, {"a": 1.0}) for i in range(1, 4)
    ]
    again = read_examples(examples)
    assert (again.items, again.scale) == (examples.items, examples.scale)
    with pytest.raises(DataError, match="have a score, which is missing in row 2"):
        read_examples([given_[0], Example("unscored")])


@pytest.mark.parametrize("source", [None, 7, [], iter(())])
def test_what_holds_no_examples_is_refused(source: Any) -> None:
    with pytest.raises(DataError, match="examples"):
        read_examples(source)


def test_repeated_rows_are_noted() -> None:
    examples = read_examples([*GOOD, {**GOOD[0], "score": 4}])
    assert any("rows 1 and 6 with different scores (1, 4)" in note for note in examples.notes)


@pytest.mark.skipif(not SHARED.exists(), reason="the public data sets are not beside this checkout")
@pytest.mark.parametrize(
    ("name", "rows", "scale"),
    [("sfres.jsonl", 618, "1..6"), ("topical_chat.jsonl", 174, "1..5"), ("summeval.jsonl.gz", 928, "1..5")],
)
def test_public_data_sets_are_read_without_any_option(name: str, rows: int, scale: str) -> None:
    examples = read_examples(SHARED / name)
    assert isinstance(examples, Examples)
    assert (len(examples), str(examples.scale), examples.scale_inferred) == (rows, scale, False)
    assert all(e.group and e.aspects and e.source for e in examples)


def test_an_aspect_takes_the_place_of_the_score_on_its_own_scale() -> None:
    rows = [{"response": f"r{i}", "score": 3, "scores": {"Tone": i % 3 + 1, "Facts": 0.5}} for i in range(6)]
    rows[4]["scores"] = {"Facts": 1}
    data = for_aspect(read_examples([{**row, "scale": "1..5"} for row in rows]), "tone")
    assert [example.score for example in data] == [1, 2, 3, 1, 3]
    assert data.scale == Scale(low=1, high=3)
    assert any("1 examples have no score for the aspect 'Tone'" in note for note in data.notes)
    with pytest.raises(DataError, match="'Style'; the aspects there are: Facts, Tone"):
        for_aspect(data, "Style")


@pytest.mark.parametrize("scores", [[1, 2] * 3, [2, 4, 5, 2, 4, 5]])
def test_a_scale_that_was_given_is_that_of_aspects_whose_scores_lie_in_it(scores: list[float]) -> None:
    rows = [{"response": f"r{i}", "score": 1 + i % 5, "aspect_tone": score} for i, score in enumerate(scores)]
    given_, again = read_examples(rows, scale="1..5"), read_examples(read_examples(rows), scale="1..5")
    for data in (given_, again, read_examples(given_), given_[:6]):
        tone = for_aspect(data, "tone")
        assert (str(tone.scale), tone.scale_inferred) == ("1..5", False)
        assert "the scale of the aspect 'tone' is taken to be 1..5, which was given: all its scores lie in it" in (
            tone.notes
        )
    guessed = for_aspect(read_examples(rows), "tone")
    assert guessed.scale_inferred
    assert "the scale of the aspect 'tone' is taken to be" in guessed.notes[-1]


@pytest.mark.parametrize(("scores", "scale"), [([0, 1] * 3, "0..1"), ([4, 7] * 3, "1..7")])
def test_aspects_beyond_the_given_scale_have_one_of_their_own(scores: list[float], scale: str) -> None:
    rows = [{"response": f"r{i}", "score": 1 + i % 5, "aspect_tone": score} for i, score in enumerate(scores)]
    assert str(for_aspect(read_examples(rows, scale="1..5"), "tone").scale) == scale


def test_aspects_that_fill_next_to_nothing_of_the_given_scale_have_one_of_their_own() -> None:
    rows = [{"response": f"r{i}", "score": 10 * i, "aspect_tone": 1 + i % 5} for i in range(10)]
    assert str(for_aspect(read_examples(rows, scale="0..100"), "tone").scale) == "1..5"


# --- conversations, and what is no name -------------------------------------------------------------------------------

CHAT = [{"role": "user", "content": "Where is it?"}, {"role": "assistant", "content": "Here."}]
CALL = {"role": "assistant", "content": None, "tool_calls": [{"id": "x", "type": "function"}]}


@pytest.mark.parametrize(
    ("cell", "text"),
    [
        (CHAT, "user: Where is it?\n\nassistant: Here."),
        (CHAT[:1], "Where is it?"),
        ([{"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "image_url"}]}], "a"),
        ([{"role": "user", "content": ["a text", {"type": "text", "text": "b"}]}], "a text\nb"),
        ([{"content": "a"}, {"content": "b"}], "a\n\nb"),
        (json.dumps(CHAT), "user: Where is it?\n\nassistant: Here."),
        (json.dumps(CHAT[0]), "Where is it?"),
        ('[{"title": "A", "content": "a"}]', '[{"title": "A", "content": "a"}]'),
        ('{"role": "user"}', '{"role": "user"}'),
        ("[1, 2]", "[1, 2]"),
        ('[{"role": "user", "content": "cut', '[{"role": "user", "content": "cut'),
        ([CHAT[0], CALL, CHAT[1]], "user: Where is it?\n\nassistant: Here."),
        (
            json.dumps([CHAT[0], {"role": "assistant", "tool_calls": []}, CHAT[1]]),
            "user: Where is it?\n\nassistant: Here.",
        ),
        ([CHAT[0], CALL], "user: Where is it?"),
        ([CHAT[0], {**CALL, "refusal": "No."}], "user: Where is it?\n\nassistant: No."),
        ([CALL], ""),
        (json.dumps(CALL), ""),
        ('[{"role": "admin", "name": "a"}]', '[{"role": "admin", "name": "a"}]'),
    ],
)
def test_a_list_of_messages_is_read_as_a_text(cell: Any, text: str) -> None:
    (example,) = iter_examples([{"response": "r", "prompt": cell}])
    assert isinstance(example, Example)
    assert example.source == text


def test_conversations_are_the_same_texts_from_a_csv_file(tmp_path: Path) -> None:
    rows = [{"response": CHAT[1:], "source": CHAT[:1], "score": 1 + i % 5} for i in range(6)]
    for name in ("a.csv", "a.jsonl"):
        with RecordWriter(tmp_path / name) as writer:
            for row in rows:
                writer.write(row)
    texts = [[(e.source, e.response) for e in read_examples(tmp_path / name)] for name in ("a.csv", "a.jsonl")]
    assert texts[0] == texts[1] == [("Where is it?", "Here.")] * 6


@pytest.mark.parametrize("wrong", [4, {"a": 1}, True])
def test_messages_that_cannot_be_read_are_no_text_in_a_csv_file_either(tmp_path: Path, wrong: Any) -> None:
    talk = [*CHAT, {"role": "user", "content": wrong}]
    for name in ("a.csv", "a.jsonl"):
        with RecordWriter(tmp_path / name) as writer:
            writer.write({"response": CHAT, "score": 1})
            writer.write({"response": talk, "score": 2})
        with pytest.raises(DataError, match=r"row 2, column 'response': expected a text, not list .*role and content"):
            read_examples(tmp_path / name)
        assert [type(item) for item in iter_examples(tmp_path / name)] == [Example, BadRow]


@pytest.mark.parametrize("cell", [[1, 10], [{"role": "user"}], [{"content": 4}], {"role": "user"}, ["a", 1]])
def test_another_list_is_no_text(cell: Any) -> None:
    (row,) = iter_examples([{"response": "r", "prompt": cell}])
    assert isinstance(row, BadRow)
    assert "messages with role and content" in row.reason
    assert not any("prompt" in note for note in iter_examples([{"response": "r", "other": cell}]).notes[1:])


def test_a_column_of_objects_names_nothing_unless_it_is_asked_for() -> None:
    rows = [{"response": "r", "model": {"name": "gpt"}, "id": "a"}]
    items = iter_examples(rows)
    assert any("the system is not read from 'model', which holds lists or objects" in note for note in items.notes)
    assert next(items).system is None  # type: ignore[union-attr]
    assert isinstance(next(iter_examples(rows, fields={"system": "model"})), BadRow)


def test_a_column_that_is_asked_for_may_come_late(tmp_path: Path) -> None:
    late = [{"response": f"r{i}", **({"rating": 3} if i > 150 else {})} for i in range(160)]
    items = list(iter_examples(jsonl(tmp_path, late), fields={"score": "rating"}))
    assert [item.score for item in items if isinstance(item, Example)] == [None] * 151 + [3.0] * 9
    with pytest.raises(DataError, match="there is no column 'rating'"):
        iter_examples(jsonl(tmp_path, late[:90]), fields={"score": "rating"})


def test_an_array_in_json_lines_is_told_its_name(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    for text in ('[{"response": "r"}]', '[\n{"response": "r"}\n]'):
        path.write_text(text)
        first = next(iter(iter_examples(path)))
        assert isinstance(first, BadRow)
        assert "name end in .json" in first.reason


def test_many_columns_are_checked_in_no_time(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text(",".join(["response", *(f"c{i}" for i in range(60_000))]) + "\n" + "r\n")
    started = time.process_time()
    assert len(list(iter_examples(path))) == 1
    assert time.process_time() - started < 5
    path.write_text(",".join(f"c{i}" for i in [*range(50)] * 2) + "\nr\n")
    with pytest.raises(DataError, match="and more more than once") as caught:
        iter_examples(path)
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize("bounds", [(0, 0.001), (1, 1.005)])
def test_a_scale_too_narrow_for_four_decimals_is_refused(bounds: tuple[float, float]) -> None:
    with pytest.raises(DataError, match="too narrow"):
        Scale.parse(f"{bounds[0]}..{bounds[1]}")
    with pytest.raises(DataError, match="too narrow"):
        Scale(low=bounds[0], high=bounds[1])


def test_a_group_that_says_there_is_none_is_no_document() -> None:
    rows = [{**record, "group": said} for record, said in zip(GOOD, ("NaN", "n/a", "null", "None", "d1"), strict=True)]
    assert [example.group for example in read_examples(rows, scored=False)] == [None, None, None, None, "d1"]


def test_blanks_that_nobody_sees_make_no_other_document_or_system() -> None:
    said = ("d1", "d1 ", "\td1", "d\u00a02", "d 2")
    examples = read_examples([{**one, "group": name, "system": name} for one, name in zip(GOOD, said, strict=True)])
    assert [example.group for example in examples] == ["d1", "d1", "d1", "d 2", "d 2"]
    assert [example.system for example in examples] == ["d1", "d1", "d1", "d 2", "d 2"]


def test_a_source_in_several_documents_which_splits_may_part_is_said() -> None:
    rows = [{**one, "source": "a  b" if i < 2 else f"s{i}", "group": f"d{i}"} for i, one in enumerate(GOOD)]
    said = "1 source stands in more than one document (the first: rows 1 and 2), and so may be on both sides of a split"
    assert [note for note in read_examples(rows).notes if "more than one" in note] == [
        f"{said}; --fields source=source,group=source makes each source one document"
    ]
    as_told = read_examples(rows, fields={"source": "source", "group": "source"})
    assert [example.group for example in as_told] == ["a b", "a b", "s2", "s3", "s4"]
    for quiet in (GOOD, [{**row, "group": "d"} for row in rows], [{**row, "source": ""} for row in rows]):
        assert not [note for note in read_examples(quiet).notes if "more than one document" in note]
    assert not [note for note in read_examples(rows, scored=False).notes if "more than one document" in note]


def test_documents_that_only_some_rows_name_are_refused_where_there_is_something_to_learn() -> None:
    merged = [{**record, "doc_id": said} for record, said in zip(GOOD, ("d1", "", "", "d2", ""), strict=True)]
    with pytest.raises(DataError, match=r"'doc_id': rows 2, 3 and 5: the document is missing.*merged cells"):
        read_examples(merged)
    assert all(example.group is None for example in read_examples([{**row, "doc_id": ""} for row in merged]))


def test_a_missing_source_is_not_sought_in_the_columns_of_verdicts() -> None:
    verdict = {"unscored": None, "read_from": "text", "explanation": "it is all very good indeed"}
    twice = {f"{before}{name}": value for before in ("input_", "earlier_") for name, value in verdict.items()}
    twice |= {f"earlier_{name}_2": value for name, value in verdict.items()}
    rows = [{"response": "a b c", "story": "once upon a time", "score": 2.0, "input_score": 3.0, **verdict}] * 5
    programs = dict.fromkeys(("input_input_score", "earlier_score", "earlier_score_2"), 2.0)
    rows = [{**row, **programs, **twice} for row in rows]
    (note,) = [note for note in read_examples(rows).notes if "the source" in note]
    assert "'story'" in note
    assert "explanation" not in note


def test_scores_that_may_have_separators_of_thousands_are_refused(tmp_path) -> None:
    (tmp_path / "x.csv").write_text("response;score\na;850\nb;1.000\n")
    with pytest.raises(DataError, match=r"row 2, column 'score'.*could be 1000 as well"):
        read_examples(tmp_path / "x.csv", scale="0..1000")
    (tmp_path / "x.csv").write_text("response;score\na;4\nb;3,667\n")
    assert [example.score for example in read_examples(tmp_path / "x.csv")] == [4.0, 3.667]


def test_what_parquet_nests_is_read_from_a_frame_as_from_the_file(tmp_path: Path) -> None:
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    call = {"function": {"name": "look", "arguments": "{}"}}
    talk = [{"role": "user", "content": "Dry?"}, {"role": "assistant", "content": "Wait.", "tool_calls": [call]}]
    rows = [{"messages": talk, "score": i, "comments": ["Short.", "Fine."]} for i in range(1, 6)]
    pd.DataFrame(rows).to_parquet(tmp_path / "x.parquet")
    for source in (tmp_path / "x.parquet", pd.read_parquet(tmp_path / "x.parquet"), rows):
        (first, *_) = read_examples(source, scale="1..5")
        assert (first.source, first.response) == ("Dry?", "Wait.\n[calls look({})]")
        assert first.comment == "Short. / Fine."
        assert json.loads(json.dumps(first.record["messages"]))[1]["tool_calls"] == [call]


def test_rows_that_are_nested_without_end_are_bad_rows_wherever_they_come_from() -> None:
    deep: dict[str, Any] = {}
    for _ in range(2_000):
        deep = {"a": deep}
    rows = [{"response": "r", "x": deep}, {"response": "r", "x": 1}]
    for source in (rows, pytest.importorskip("pandas").DataFrame(rows)):
        bad, good = iter_examples(source)
        assert isinstance(bad, BadRow)
        assert "nested more than 100 deep" in bad.reason
        assert isinstance(good, Example)
