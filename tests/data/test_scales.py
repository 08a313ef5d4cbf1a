"""What the scores say about their scale: slips that widen it, and scales of which they fill little."""

from __future__ import annotations

from typing import Any

import pytest

from active_critic.data import Examples, for_aspect, read_examples
from active_critic.errors import DataError


def rows(scores: list[float]) -> list[dict[str, Any]]:
    return [{"response": f"r{i}", "score": score} for i, score in enumerate(scores)]


def doubts(examples: Examples) -> list[str]:
    return [note for note in examples.notes if "lie" in note or "fifth" in note]


FIVES = [1, 2, 3, 4, 5] * 10


def test_one_slip_that_widens_the_scale_is_named() -> None:
    examples = read_examples(rows([44, *FIVES[:49]]))
    assert str(examples.scale) == "0..100"  # nothing is left out unasked
    assert doubts(examples) == ["only row 1 (44) lies outside 1..5: correct it if it is a slip"]


def test_of_fewer_than_ten_scores_one_that_is_far_off_is_named() -> None:
    nine = read_examples(rows([1, 2, 3, 4, 5, 5, 4, 3, 50]))
    assert doubts(nine) == ["only row 9 (50) lies outside 1..5: correct it if it is a slip"]
    assert doubts(read_examples(rows([1, 2, 3, 4, 5, 5, 4, 3, 8]))) == []  # as one of nine on 0..10 may well be


def test_a_slip_makes_the_scale_twice_as_wide_of_ten_scores_on_and_is_one_of_five_at_least() -> None:
    ten = read_examples(rows([0, 1, 2, 3, 4, 5, 4, 3, 2, 7]))
    assert str(ten.scale) == "0..10"  # just twice as wide
    assert doubts(ten) == ["only row 10 (7) lies outside 0..5: correct it if it is a slip"]
    assert doubts(read_examples(rows([0, 1, 2, 3, 4, 5, 4, 3, 7]))) == []
    assert doubts(read_examples(rows([1, 2, 3, 4, 50]))) == [
        "only row 5 (50) lies outside 1..4: correct it if it is a slip"
    ]
    assert doubts(read_examples(rows([1, 2, 3, 50]))) == []


def test_two_slips_are_named_and_the_fewest_that_explain_the_width() -> None:
    examples = read_examples(rows([*FIVES[:20], 33, *FIVES[:20], 0.5]))
    assert doubts(examples) == ["only row 21 (33) lies outside 0..5: correct it if it is a slip"]
    examples = read_examples(rows([*FIVES[:20], 33, *FIVES[:20], 44]))
    assert doubts(examples) == ["only rows 21 (33) and 42 (44) lie outside 1..5: correct it if it is a slip"]


@pytest.mark.parametrize(
    "scores",
    [
        [*FIVES, 6],  # 1..6 is not much wider than 1..5
        [*FIVES, 44, 45, 46],  # three are no slips
        [*FIVES[:10], 44, 45],  # two of twelve are more than every tenth
        [10, 35, 60, 85] * 10,
    ],
)
def test_scores_that_are_many_or_near_are_no_slips(scores: list[float]) -> None:
    assert doubts(read_examples(rows(scores))) == []


def test_a_slip_beyond_every_usual_scale_is_named_in_the_error() -> None:
    with pytest.raises(DataError, match=r"from 1 to 444 \(only row 1 \(444\) lies outside 1\.\.5\); pass --scale"):
        read_examples(rows([444, *FIVES]))


def test_a_slip_in_an_aspect_is_named() -> None:
    made = [{**row, "aspect_tone": 44 if i == 7 else row["score"]} for i, row in enumerate(rows(FIVES))]
    assert doubts(for_aspect(read_examples(made), "tone")) == [
        "only row 8 (44) lies outside 1..5: correct it if it is a slip"
    ]


def test_scores_that_fill_little_of_a_named_scale_are_noted() -> None:
    said = "the scores run from 1 to 5, which is less than a fifth of the scale 0..100"
    for examples in (
        read_examples(rows(FIVES), scale="0..100"),
        read_examples([{**row, "scale": "0..100"} for row in rows(FIVES)]),
    ):
        (note,) = doubts(examples)
        assert note == f"{said}; pass --scale LOW..HIGH if they were given on another one"
        assert doubts(read_examples(examples[:10])) == []  # said once, not again of each part


def test_scores_that_fill_a_fifth_or_are_few_are_not_noted() -> None:
    assert doubts(read_examples(rows(FIVES), scale="0..20")) == []
    assert doubts(read_examples(rows([3, 3, 3, 3]), scale="1..5")) == []
    assert doubts(read_examples(rows([40, 45] * 10))) == []  # inferred: that it is is said anyway


def test_rows_that_name_no_scale_beside_others_that_do_are_counted() -> None:
    given = [{**row, "scale": "1..10" if i < 6 else ""} for i, row in enumerate(rows([1, 2, 3, 4, 5, 5, 4, 3, 2]))]
    examples = read_examples(given)
    assert str(examples.scale) == "1..10"
    assert "scale 1..10 taken from the file; rows that name none: 3" in examples.notes


def test_a_column_scale_that_is_another_field_names_no_scale() -> None:
    given = [{**row, "scale": "1..10"} for row in rows([1, 2, 3, 4, 5])]
    assert str(read_examples(given).scale) == "1..10"
    assert str(read_examples(given, fields={"system": "scale"}).scale) == "1..5"
