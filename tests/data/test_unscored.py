"""A file of which people scored a part: rows without a score are left out and said; a broken score is an error."""

from __future__ import annotations

from typing import Any

import pytest

from active_critic.data import read_examples
from active_critic.errors import DataError
from active_critic.records import Example

SCORED = [{"response": f"r{i}", "rating": 1 + i % 5} for i in range(6)]


def without(value: Any, count: int = 7, **more: Any) -> list[dict[str, Any]]:
    return [{"response": f"u{i}", "rating": value, **more} for i in range(count)]


@pytest.mark.parametrize("value", ["", "  ", None, "n/a", "NaN", float("nan"), "-"])
def test_rows_that_nobody_scored_are_left_out_and_said(value: Any) -> None:
    examples = read_examples([*without(value), *SCORED])
    assert [example.response for example in examples] == [f"r{i}" for i in range(6)]
    assert [example.row for example in examples] == list(range(8, 14))
    said = "no score in 7 of 13 rows (column 'rating', rows 1, 2, 3, 4, 5 and 2 more): left out, and only the others"
    assert f"{said} count (6)" in examples.notes
    assert not any(note.startswith("no score") for note in read_examples(SCORED).notes)


def test_a_row_without_the_column_is_left_out_too_whatever_else_it_lacks() -> None:
    bare = [{"response": " "}, {"response": ["no text"], "rating": None}, {"other": 1}]
    examples = read_examples([*({**row, "group": "a", "source": "q"} for row in SCORED), *bare])
    assert len(examples) == 6
    assert any("no score in 3 of 9 rows (column 'rating', rows 7, 8 and 9)" in note for note in examples.notes)
    assert not any("no source" in note for note in examples.notes)


@pytest.mark.parametrize("value", ["good", "inf", "3 or 4", True, [3]])
def test_a_score_that_is_there_and_is_no_number_stays_an_error(value: Any) -> None:
    with pytest.raises(DataError, match=r"row 14, column 'rating': the score .*is not a (finite )?number"):
        read_examples([*without(""), *SCORED, {"response": "x", "rating": value}])
    with pytest.raises(DataError, match="row 14, column 'rating': 9 lies outside the scale"):
        read_examples([*without(""), *SCORED, {"response": "x", "rating": 9}], scale="1..5")


def test_too_few_scores_are_an_error_that_names_where_more_numbers_are() -> None:
    rows = [{"response": f"r{i}", "score": 3 if i < 4 else "", "stars": i, "words": "a", "id": i} for i in range(9)]
    with pytest.raises(DataError) as caught:
        read_examples(rows)
    assert str(caught.value) == (
        "column 'score': only 4 of 9 rows have a score, which is missing in rows 5, 6, 7, 8 and 9, and at least 5 are "
        "needed; score more rows, or name the column of people's scores with --fields score=NAME; more rows hold a "
        "number in 'stars'"
    )
    with pytest.raises(DataError, match="none of 9 rows has a score") as caught:
        read_examples([{**row, "words": ""} for row in rows], fields={"score": "words"})
    assert str(caught.value).startswith("column 'words': none of 9 rows has a score, and at least 5 are needed")


def test_a_usual_column_with_more_scores_is_named() -> None:
    rows = [{"response": f"r{i}", "score": 1 + i % 5 if i < 6 else "", "rating": 2, "words": 7} for i in range(20)]
    (said,) = [note for note in read_examples(rows).notes if note.startswith("no score in 14 of 20 rows")]
    assert said.endswith("; more rows hold one in 'rating': --fields score=rating if people's are there")
    (said,) = [note for note in read_examples(SCORED + without("", words=7)).notes if note.startswith("no score")]
    assert "more rows" not in said


def test_what_was_left_out_is_said_of_all_that_is_made_of_the_rest() -> None:
    examples = read_examples([*SCORED, *without(None)])
    assert [note for note in read_examples(examples[:5]).notes if note.startswith("no score in 7 of 13 rows")]
    unread = read_examples([*SCORED, *without(None)], scored=False)
    assert len(unread) == 13
    again = read_examples(unread)
    assert (len(again), str(again.scale)) == (6, "1..5")
    assert any("(column 'rating', rows 7, 8" in note for note in again.notes)
    made = [*(Example(f"r{i}", score=i) for i in range(5)), Example("unscored"), Example("x", score=float("nan"))]
    assert len(read_examples(made)) == 5
