"""Scores such as 4/5: read where all say the same end of the scale, refused where they do not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from active_critic.data import iter_examples, read_examples, unread_score
from active_critic.data.columns import Table
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
    assert (table.human("human"), table.out_of("human")) == ((4, 3), 5)
    assert table.predictions("program").values == (2, None)
    assert (table.predictions("mixed").values, table.out_of("mixed")) == ((3, None), None)
    with pytest.raises(DataError, match=r"row 2, column 'mixed': '4/5' is not a finite number.*or all of them out of"):
        table.human("mixed")
