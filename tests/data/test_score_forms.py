"""Scores such as 4/5, 80% or pass: read where all of a column are written alike, refused where they are not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from active_critic.data import iter_examples, read_examples, unread_score
from active_critic.data.columns import Table
from active_critic.data.score_forms import Form, form_of
from active_critic.errors import DataError


def rows(*scores: Any) -> list[dict[str, Any]]:
    return [{"response": f"r{i}", "score": score} for i, score in enumerate(scores)]


@pytest.mark.parametrize("form", ["{}/5", "{} / 5", " {}/ 5.0 "])
def test_all_out_of_the_same_are_read_and_end_the_scale_there(form: str) -> None:
    given = rows(*(form.format(score) for score in (1, 2, 2, 3, 4)), "", None)
    examples = read_examples(given)
    assert [example.score for example in examples] == [1, 2, 2, 3, 4]
    assert str(examples.scale) == "1..5"  # of plain numbers it would be 1..4
    assert "scores such as '5/5' are read as the number before the stroke, on a scale that ends at 5" in examples.notes
    assert "scale 1..5 inferred from the scores; pass --scale LOW..HIGH if that is wrong" in examples.notes
    assert examples[0].record["score"] == form.format(1)  # what is written again is what was read
    unscored = read_examples(given, scored=False)
    assert ([example.score for example in unscored][:5], unread_score(unscored)) == ([1, 2, 2, 3, 4], None)
    assert [item.score for item in iter_examples(given)][:5] == [1, 2, 2, 3, 4]  # type: ignore[union-attr]


def test_where_the_scale_begins_is_seen_in_the_scores_or_given() -> None:
    assert str(read_examples(rows("0/5", "4/5")).scale) == "0..5"
    assert str(read_examples(rows("3/10", "4/10")).scale) == "1..10"
    assert str(read_examples(rows("3/20", "4/20"), scale="0..20").scale) == "0..20"
    with pytest.raises(DataError, match="no usual scale holds scores from 3 to 4 out of 20; pass --scale"):
        read_examples(rows("3/20", "4/20"))
    with pytest.raises(DataError, match=r"out of 5, and the scale is 1\.\.10; pass --scale LOW\.\.5, or write"):
        read_examples(rows("3/5", "4/5"), scale="1..10")
    with pytest.raises(DataError, match="row 2, column 'score': 7 is more than the 5 it is out of; correct it"):
        read_examples(rows("3/5", "7/5"))


@pytest.mark.parametrize(("scores", "row"), [(["3/5", "7/10"], 1), (["3", "4/5"], 2), (["4/5", "3"], 1)])
def test_where_they_do_not_say_the_same_they_are_refused_with_the_remedy(scores: list[str], row: int) -> None:
    remedy = "write the numbers of the column alone, on one scale, or all of them out of the same number"
    with pytest.raises(DataError, match=rf"row {row}, column 'score': the score '\d/\d+' is not a number; {remedy}"):
        read_examples(rows(*scores))
    assert unread_score(read_examples(rows(*scores), scored=False)) is not None


@pytest.mark.parametrize("date", ["4/5/2026", "4/5 stars", "4//5", "/5", "a/5", "5/"])
def test_what_looks_alike_is_none(date: str) -> None:
    with pytest.raises(DataError, match="is not a number"):
        read_examples(rows(date, date))


def test_the_end_of_the_scale_itself_is_a_score() -> None:
    examples = read_examples(rows("5/5", "1/5"))
    assert [example.score for example in examples] == [5, 1]
    assert str(examples.scale) == "1..5"


def test_raters_whose_scores_are_averaged_are_out_of_the_same() -> None:
    given = [{"response": f"r{i}", "anna": "4/5", "bert": f"{i}/5", "carl": f"{i}/10"} for i in range(3)]
    assert [example.score for example in read_examples(given, fields={"score": "anna+bert"})] == [2, 2.5, 3]
    with pytest.raises(DataError, match="row 1, column 'anna': the score '4/5' is not a number"):
        read_examples(given, fields={"score": "anna+carl"})


def test_columns_of_numbers_are_read_alike(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("human,program,mixed\n4/5,2 / 5,3\n3/5,,4/5\n")
    table = Table(path, ["human", "program", "mixed"])
    assert (table.human("human"), table.form("human")) == ((4, 3), Form(5))
    assert table.predictions("program").values == (2, None)
    assert (table.predictions("mixed").values, table.form("mixed")) == ((3, None), None)
    with pytest.raises(DataError, match=r"row 2, column 'mixed': '4/5' is not a finite number.*or all of them out of"):
        table.human("mixed")


WORDS = [
    ("pass", "FAIL "),
    (True, False),
    ("True", "false"),
    ("yes", "No"),
    ("thumbs_up", "thumbs-down"),
    ("👍", "👎"),
    ("👍🏽", "👎"),
    ("✅", "❌"),
    ("helpful", "not helpful"),
    ("approve", "reject"),
]


@pytest.mark.parametrize("words", WORDS)
def test_two_words_that_are_scores_are_read_as_1_and_0(words: tuple[Any, Any]) -> None:
    better, worse = words
    given = rows(better, worse, worse, "", better, worse)
    examples = read_examples(given)
    assert [example.score for example in examples] == [1, 0, 0, 1, 0]
    assert str(examples.scale) == "0..1"
    (note,) = [note for note in examples.notes if "are read as 1 and 0" in note]
    assert note.endswith("is the better, for the highest score is the best")
    assert examples[0].record["score"] is better
    unscored = read_examples(given, scored=False)
    assert unread_score(unscored) is None
    assert [item.score for item in iter_examples(given)] == [1, 0, 0, None, 1, 0]  # type: ignore[union-attr]


def test_the_note_names_the_words_of_the_pair_that_all_rows_fit() -> None:
    examples = read_examples(rows("helpful", "helpful", "not helpful"))
    assert "scores 'helpful' and 'not helpful' are read as 1 and 0" in " ".join(examples.notes)
    assert [example.score for example in read_examples(rows("reject", "reject"))] == [0, 0]


@pytest.mark.parametrize(
    ("scores", "row"),
    [
        (["pass", "fail", "unclear"], 1),
        (["pass", "no"], 1),
        (["true", "1"], 1),
        (["1", "true"], 2),
        ([True, 0], 1),
        (["good", "ok", "bad"], 1),
        (["4/5", "pass"], 1),
    ],
)
def test_words_of_no_one_pair_are_refused(scores: list[Any], row: int) -> None:
    with pytest.raises(DataError, match=rf"row {row}, column 'score': the score .* is not a number"):
        read_examples(rows(*scores))


def test_words_are_not_on_another_scale_than_theirs() -> None:
    assert [e.score for e in read_examples(rows("pass", "fail"), scale="0..1")] == [1, 0]
    with pytest.raises(
        DataError, match=r"scores are 'pass' or 'fail', and the scale is 1\.\.5; pass --scale 0\.\.1, or"
    ):
        read_examples(rows("pass", "fail"), scale="1..5")


def test_a_percent_sign_ends_the_scale_at_100() -> None:
    examples = read_examples(rows("80%", "35.5 %", "0%"))
    assert ([example.score for example in examples], str(examples.scale)) == ([80, 35.5, 0], "0..100")
    assert "scores such as '80%' are read as the number before the sign, on a scale that ends at 100" in examples.notes
    with pytest.raises(DataError, match="'80%' is not a number"):
        read_examples(rows("80%", "80/100"))


def by_raters(*scores: tuple[str, str]) -> list[dict[str, Any]]:
    return [
        {"response": f"r{i}", "rater": rater, "score": score}
        for i, of_both in enumerate(scores)
        for rater, score in zip(("anna", "bert"), of_both, strict=True)
        if score
    ]


def test_the_mean_of_raters_words_is_written_so_that_it_is_read_again() -> None:
    given = by_raters(("pass", "fail"), ("pass", "pass"), ("fail", ""))
    examples = read_examples(given, fields={"rater": "rater"})
    assert [example.score for example in examples] == [0.5, 1, 0]
    again = read_examples([example.record for example in examples])
    assert ([example.score for example in again], again.scale) == ([0.5, 1, 0], examples.scale)
    alone = read_examples(by_raters(("pass", ""), ("fail", "")), fields={"rater": "rater"})
    assert [example.record["score"] for example in alone] == ["pass", "fail"]


def test_the_mean_of_raters_percentages_is_one_too() -> None:
    examples = read_examples(by_raters(("80%", "70%"), ("5%", "")), fields={"rater": "rater"})
    assert [example.record["score"] for example in examples] == ["75.0%", "5%"]
    assert [example.score for example in read_examples([e.record for e in examples])] == [75, 5]


def test_thumbs_are_no_comment() -> None:
    given = [{**row, "feedback": "👍" if i % 2 else "👎"} for i, row in enumerate(rows(1, 2, 3, 4, 5))]
    examples = read_examples(given)
    assert {example.comment for example in examples} == {None}
    assert any("not read from 'feedback', which holds no texts but scores" in note for note in examples.notes)
    given = [{"response": row["response"], "score": row["score"], "ground_truth": "yes"} for row in rows(1, 2, 3, 4, 5)]
    assert {example.reference for example in read_examples(given)} == {"yes"}


@pytest.mark.parametrize(
    ("first", "later", "says"),
    [
        (("pass", "fail"), "unclear", "the score 'unclear' is not a number"),
        (("4/5", "3/5"), "3/10", "the score '3/10' is not a number"),
        (("80%", "70%"), "3/100", None),
    ],
)
def test_of_items_the_first_hundred_say_how_scores_are_written(
    first: tuple[str, str], later: str, says: str | None
) -> None:
    items = iter_examples(iter(rows(*(first * 50), later, first[1])))
    scores = [item.score for item in items]  # type: ignore[union-attr]
    assert scores[0] == scores[98] is not None
    assert scores[1] == scores[101]
    assert (scores[100] is None) == (says is not None)
    assert any(f"row 101, column 'score': {says}" in note for note in items.notes) == (says is not None)


def test_a_column_without_any_score_has_no_form() -> None:
    assert form_of([]) is None
    assert [item.score for item in iter_examples(rows("", None))] == [None, None]  # type: ignore[union-attr]
