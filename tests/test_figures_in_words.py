"""Numbers for people."""

from __future__ import annotations

import pytest

from active_critic.figures_in_words import (
    dollars,
    figure_words,
    how_many,
    interval_below,
    number_words,
    p_words,
    sentence,
)


@pytest.mark.parametrize(
    ("cost", "said"),
    [
        (None, "unknown"),
        (0.0, "$0.00"),
        (0.00004, "$0.00004"),
        (0.123456, "$0.1235"),
        (0.5, "$0.50"),
        (2, "$2.00"),
        (12345.678, "$12,345.68"),
    ],
)
def test_money_is_never_rounded_to_nothing(cost: float | None, said: str) -> None:
    assert dollars(cost) == said


def test_a_figure_has_its_interval_beside_it_where_it_has_one() -> None:
    assert figure_words(0.5, (-0.001, 0.75)) == "0.50 [0.00, 0.75]"
    assert figure_words(0.5, None, "+z.2f") == "+0.50"
    assert figure_words(None, None) == number_words(None) == "–"
    assert interval_below((0.1, 0.2)) == "\n[0.10 0.20]"


def test_no_p_is_0() -> None:
    assert [p_words(p) for p in (None, 0.03, 0.00002)] == ["–", "0.0300", "2e-05"]


def test_one_is_told_from_several() -> None:
    assert [how_many(n, "row has", "rows have") for n in (0, 1, 1200)] == [
        "0 rows have",
        "1 row has",
        "1,200 rows have",
    ]
    assert how_many(2, "text") == "2 texts"


def test_a_note_becomes_a_sentence() -> None:
    assert sentence("the texts are few") == "The texts are few."
