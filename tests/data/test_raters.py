"""One row for each person's score of an output, as annotation tools write them: one example with the mean of them."""

from __future__ import annotations

import csv
import pickle
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from active_critic.data import Examples, RecordWriter, data_sha256, iter_examples, read_examples, split
from active_critic.data.loading import for_aspect
from active_critic.data.notes import Averaged
from active_critic.errors import DataError

WHO = {"rater": "annotator"}


def scored(output: int, annotator: Any, score: Any, **more: Any) -> dict[str, Any]:
    texts = {"source": f"s{output // 2}", "response": f"r{output}"}
    return {**texts, "annotator": annotator, "score": score, "comment": f"by {annotator}", **more}


def long(outputs: int = 6, raters: tuple[str, ...] = ("anna", "bert", "carl"), **more: Any) -> list[dict[str, Any]]:
    """Of every rater all outputs, one after the other, with scores from 1 to 5."""
    return [scored(i, name, 1 + (i + 2 * k) % 5, **more) for k, name in enumerate(raters) for i in range(outputs)]


def of(examples: Examples) -> list[tuple[Any, ...]]:
    return [
        (e.source, e.response, e.score, e.id, e.group, e.system, e.reference, e.aspects, e.comment) for e in examples
    ]


def averaged(examples: Examples) -> str:
    (note,) = [note for note in examples.notes if isinstance(note, Averaged)]
    return note


def test_rows_of_one_output_are_one_example_with_the_mean_of_its_raters() -> None:
    examples = read_examples(long(), fields=WHO)
    assert [(e.row, e.response) for e in examples] == [(i + 1, f"r{i}") for i in range(6)]
    assert [e.score for e in examples] == pytest.approx([3, 7 / 3, 10 / 3, 8 / 3, 11 / 3, 3])
    said_of_it = "by anna / by bert / by carl"
    record = {**long()[1], "score": 7 / 3, "annotator": "anna+bert+carl", "comment": said_of_it}
    assert (examples[1].record, examples[1].comment) == (record, said_of_it)
    said = "18 rows are the scores of 3 raters (column 'annotator') for 6 outputs; each output has their mean"
    assert averaged(examples) == said
    assert not any("more than once" in note for note in examples.notes)
    assert examples.fields["rater"] == "annotator"


def test_it_is_told_how_many_outputs_have_fewer_raters_than_the_most() -> None:
    rows = [*long(6, ("anna", "bert")), scored(0, "carl", 5), scored(1, "anna", None), scored(9, "", "")]
    examples = read_examples([*rows, scored(7, "dora", 2)], fields=WHO)
    assert averaged(examples) == (
        "14 rows are the scores of 4 raters (column 'annotator') for 7 outputs; each output has the mean of its own "
        "(1 to 3), and 6 have fewer than 3"
    )
    assert examples[-1].record == scored(7, "dora", 2)
    assert any(note.startswith("no score in 2 of 16 rows (column 'score', rows 14 and 15)") for note in examples.notes)
    even = read_examples([*long(3, ("anna", "bert")), *[scored(i, who, 3) for i in (7, 8) for who in "cd"]], fields=WHO)
    assert averaged(even).endswith(
        "of 4 raters (column 'annotator') for 5 outputs; each output has the mean of its own (2)"
    )


def test_an_output_that_one_of_all_raters_left_out_is_told() -> None:
    examples = read_examples([*long(3, ("anna", "bert")), scored(9, "anna", 5)], fields=WHO)
    assert averaged(examples).endswith("each output has the mean of its own (1 to 2), and 1 has fewer than 2")


def test_means_of_aspects_are_written_where_the_aspects_were_read() -> None:
    rows = [
        scored(0, who, 3, scores={"tone": tone, "length": "short"}, aspect_facts=facts)
        for who, tone, facts in (("anna", 1, 2), ("bert", 4, 5))
    ]
    (example,) = read_examples(rows, fields=WHO)
    assert example.aspects == {"tone": 2.5, "facts": 3.5}
    assert example.record["scores"] == {"tone": 2.5, "length": "short"}
    assert example.record["aspect_facts"] == 3.5
    assert "aspect_tone" not in example.record
    (again,) = read_examples([example.record])
    assert again.aspects == example.aspects


def test_without_the_field_no_rater_is_guessed_and_the_remedy_is_named() -> None:
    examples = read_examples([{**row, "rater": row["annotator"]} for row in long()])
    assert len(examples) == 18
    assert "rater" not in examples.fields
    assert any("(--fields rater=COLUMN takes the mean)" in note for note in examples.notes)


def test_every_output_in_one_row_is_left_as_it_is() -> None:
    rows = long(6, ("anna",))
    examples = read_examples(rows, fields=WHO)
    assert [example.record for example in examples] == rows
    assert averaged(examples) == "every output has one rater (column 'annotator'), and the score is taken as it is"
    assert data_sha256(examples) == data_sha256(read_examples(rows))


def test_the_scale_is_that_of_single_scores_not_of_their_means() -> None:
    rows = [scored(i, who, score) for i in range(5) for who, score in (("anna", 1 + i % 2), ("bert", 7))]
    examples = read_examples(rows, fields=WHO)
    assert {e.score for e in examples} == {4, 4.5}
    assert str(examples.scale) == "1..7"
    with pytest.raises(DataError, match=r"row 2, column 'score': 7 lies outside the scale 1\.\.5"):
        read_examples(rows, fields=WHO, scale="1..5")


@pytest.mark.parametrize("blank", ["", "  ", None, "n/a"])
def test_a_score_without_a_rater_is_an_error(tmp_path: Path, blank: Any) -> None:
    rows = long()
    rows[3]["annotator"] = rows[8]["annotator"] = blank
    with RecordWriter(tmp_path / "x.jsonl") as file:
        for row in rows:
            file.write(row)
    with pytest.raises(DataError) as caught:
        read_examples(tmp_path / "x.jsonl", fields=WHO)
    said = "rows 4 and 9: the rater is missing, where there is a score; fill it in or drop the row"
    assert str(caught.value).endswith(f"x.jsonl, column 'annotator': {said}")
    rows[8]["annotator"] = {"name": "bert"}
    with pytest.raises(DataError, match=r"row 9, column 'annotator': expected a text, not dict .*COLUMN\.name"):
        read_examples(rows, fields=WHO)


def test_a_rater_who_gave_an_output_two_scores_is_an_error_and_the_same_score_counts_once() -> None:
    rows = [*long(), scored(2, " anna", 3)]
    examples = read_examples(rows, fields=WHO)
    assert of(examples) == of(read_examples(long(), fields=WHO))
    assert averaged(examples).endswith("; 1 row repeats a rater's score of an output and counts once")
    with pytest.raises(DataError) as caught:
        read_examples([*long(), scored(2, "anna", 4)], fields=WHO)
    assert str(caught.value) == (
        "column 'annotator': rows 3 and 19: 'anna' scored the same output twice, 3 and 4; drop one; if these are two "
        "outputs of the same words, --fields id=COLUMN tells them apart"
    )


@pytest.mark.parametrize("column", ["system", "group", "reference"])
def test_outputs_of_the_same_words_stay_apart_where_what_they_come_from_differs(column: str) -> None:
    rows = [{**row, column: which} for which in ("a", "b") for row in long()]
    examples = read_examples(rows, fields=WHO)
    assert [getattr(example, column) for example in examples] == ["a"] * 6 + ["b"] * 6
    assert "for 12 outputs" in averaged(examples)


def test_ids_tell_outputs_apart_only_where_they_are_named() -> None:
    rows = [{**row, "id": f"annotation {i}"} for i, row in enumerate(long())]
    examples = read_examples(rows, fields=WHO)
    assert [example.id for example in examples] == [f"annotation {i}" for i in range(6)]
    said = "rows of one output have different ids: the first is kept; --fields id=COLUMN parts them by id"
    assert said in examples.notes
    parted = read_examples(rows, fields={**WHO, "id": "id"})
    assert len(parted) == 18
    assert averaged(parted).endswith("; rows with different ids are different outputs, since fields name the id")
    items = [{**row, "id": which} for which in ("a", "b") for row in long()]
    items[-1]["score"] = 1 + items[-1]["score"] % 5
    with pytest.raises(DataError, match="--fields id=COLUMN tells them apart"):
        read_examples(items, fields=WHO)
    apart = read_examples(items, fields={**WHO, "id": "id"})
    assert (len(apart), said in apart.notes) == (12, False)


@pytest.mark.parametrize(
    "more", [{"scores": {"tone": 2, "all": "n/a"}}, {"aspect_tone": 2}, {"scores": '{"tone": 2}', "aspect_all": None}]
)
def test_scores_of_aspects_are_averaged_too(more: dict[str, Any], tmp_path: Path) -> None:
    rows = [*long(6, ("anna",), **more), *long(6, ("bert",), aspect_all=5, scores={"tone": 5})]
    examples = read_examples(rows, fields=WHO)
    expected = {"all": 5, "tone": 5 if "aspect_tone" in more else 3.5}
    assert [example.aspects for example in examples] == [{**expected, "tone": 3.5}] * 6
    assert of(read_examples([example.record for example in examples], fields=WHO)) == of(examples)


MARKS = st.integers(1, 5)


@pytest.mark.parametrize("kind", [".csv", ".tsv", ".json", ".jsonl"])
@pytest.mark.parametrize(
    ("fields", "mark"),
    [
        ({}, lambda mark: {"score": mark}),
        ({}, lambda mark: {"score": f"{mark}/5"}),
        ({"score": "marks.all"}, lambda mark: {"marks": {"all": mark}}),
        ({"score": "tone+facts"}, lambda mark: {"tone": mark, "facts": 3}),
        ({"score": "q_*", "rater": "by.name"}, lambda mark: {"q_1": mark, "q_2": 6 - mark, "by": {"name": mark}}),
    ],
)
@given(marks=st.lists(st.tuples(MARKS, MARKS, MARKS), min_size=5, max_size=7))
@settings(max_examples=10)
def test_what_is_written_reads_as_the_same_examples(
    tmp_path_factory: pytest.TempPathFactory, kind: str, fields: dict[str, str], mark: Any, marks: list[Any]
) -> None:
    rows = []
    for i, of_three in enumerate(marks):
        for who, value in zip("abc", of_three, strict=True):
            if i or who == "a":  # the first output has one rater alone
                row = {"source": f"s{i}", "response": f"r{i}", "annotator": who, "note": f"so {who}", **mark(value)}
                rows.append({**row, "by": {"name": who}} if "by" in row else row)
    fields = {**WHO, "comment": "note", **fields}
    examples = read_examples(rows, fields=fields, scale="1..5")
    assert [example.comment for example in examples] == ["so a", *["so a / so b / so c"] * (len(marks) - 1)]
    path = tmp_path_factory.mktemp("rest") / f"rest{kind}"
    with RecordWriter(path, guarded=()) as file:
        for example in examples:
            file.write(example.record)
    again = read_examples(path, fields=fields, scale="1..5")
    assert of(again) == of(examples)
    assert data_sha256(again) == data_sha256(examples)


def test_numbers_with_commas_are_written_and_read_with_commas(tmp_path: Path) -> None:
    lines = [f"r{i};{who};{score}" for i in range(6) for who, score in (("a", "4,5/5"), ("b", f"{1 + i % 5}/5"))]
    (tmp_path / "x.csv").write_text("\n".join(["sep=;", "response;annotator;score", *lines]))
    examples = read_examples(tmp_path / "x.csv", fields=WHO)
    assert [example.score for example in examples] == [2.75, 3.25, 3.75, 4.25, 4.75, 2.75]
    with RecordWriter(tmp_path / "y.csv", guarded=(), decimal_comma=examples.decimal_comma) as file:
        for example in examples:
            file.write(example.record)
    with (tmp_path / "y.csv").open(newline="") as file:
        assert next(csv.DictReader(file, delimiter=";")) == {"response": "r0", "annotator": "a+b", "score": "2,75/5"}
    assert of(read_examples(tmp_path / "y.csv", fields=WHO)) == of(examples)


def test_examples_that_were_averaged_are_read_again_as_they_are() -> None:
    examples = read_examples(long(), fields=WHO)
    again = read_examples(split(examples, 0.5)[0])
    assert again.items == split(examples, 0.5)[0].items
    assert averaged(again) == averaged(examples)
    twice = read_examples(examples.take([0, 0, 1, 2, 3, 4]))
    assert len(twice) == 6
    unread = read_examples([{**row, "id": i} for i, row in enumerate(long())], fields=WHO, scored=False)
    assert len(unread) == 18
    late = read_examples(unread)
    assert [(e.row, e.score) for e in late] == [(e.row, e.score) for e in examples]
    assert str(late.scale) == "1..5"


def test_what_is_to_be_scored_stays_one_row_each_and_needs_no_rater() -> None:
    before = {"response": "response", "source": "source", "score": "score", "rater": "annotator"}
    new = [{"response": "r", "source": "s"}, {"response": "r", "source": "s", "annotator": ["x"]}]
    for items in (iter_examples(new, as_before=before), read_examples(new, as_before=before, scored=False)):
        assert [item.response for item in items] == ["r", "r"]
        assert not any("rater" in note for note in items.notes)
        assert "rater" not in items.fields
    rated = iter_examples(long(), as_before=before)
    assert [item.score for item in rated] == [row["score"] for row in long()]
    named = iter_examples(long(), fields=WHO)
    assert len([*named]) == 18


def test_the_scale_of_an_aspect_is_that_of_single_scores_too() -> None:
    rows = [*long(6, ("anna",), aspect_tone=1), *long(6, ("bert",), aspect_tone=5)]
    examples = read_examples(rows, fields=WHO)
    assert {example.aspects["tone"] for example in examples} == {3.0}
    for some in (examples, examples.take(range(3)), pickle.loads(pickle.dumps(examples))):
        assert str(for_aspect(some, "tone").scale) == "1..5"
