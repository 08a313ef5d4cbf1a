"""Why a text was suggested, in words."""

from __future__ import annotations

from dataclasses import replace

import pytest

from active_critic.evaluators.surface import FEATURES
from active_critic.records import Example, Verdict
from active_critic.report.suggestions import FIGURES, why_suggested
from active_critic.suggesting import Suggestion

MADE = Suggestion(
    Example("r"), 3.0, "because", Verdict(score=3.0), "labelled text s3", {"log_words": 1.25, "score": -2}
)


def test_every_figure_has_words_for_more_and_for_less() -> None:
    assert {*FIGURES} == {*FEATURES}
    assert all(len({*both}) == 2 and "_" not in "".join(both) for both in FIGURES.values())


@pytest.mark.parametrize(
    ("apart", "said"),
    [
        ({"log_words": 1.26, "score": -2.0}, "more words (1.3 sd), a lower score (2.0 sd)"),
        ({"approval": 0.5}, "the plain yes or no adds more to the score (0.5 sd)"),
        ({"criterion Tone of_voice": -0.5}, "the rating of Tone of_voice adds less to the score (0.5 sd)"),
        ({"own reading": -0.5}, "own reading adds less to the score (0.5 sd)"),
    ],
)
def test_differences_are_said_in_words(apart: dict[str, float], said: str) -> None:
    whole = f"least like all that is labelled or chosen; against the nearest, the labelled text s3: {said}"
    assert why_suggested(replace(MADE, apart=apart)) == whole


def test_where_nothing_differs_the_reason_stays() -> None:
    assert why_suggested(replace(MADE, apart={})) == "because"
