"""AutoCalibrate: what the writer of criteria is shown, and which criteria can win."""

from __future__ import annotations

import re

import pytest
from test_auto_calibrate import SMALL, Script, examples, shown_scores

from active_critic.data import read_examples
from active_critic.errors import FitError
from active_critic.evaluators.auto_calibrate import AutoCalibrate
from active_critic.records import Example


def test_a_refinement_is_told_which_texts_are_rated_too_low() -> None:
    script = Script(rate=lambda criteria, response: 1.0 if response.startswith("reply 7 ") else float(response[-1]))
    given = [e if e.row != 8 else Example("reply 7 of quality 5", e.source, 5.0, row=8) for e in examples()]
    AutoCalibrate(script.lm(), **{**SMALL, "keep": 1, "refine_shots": (1,), "refine_trials": 6}).fit(
        given, scale="1..5"
    )
    shown = next(t[1][1] for t in script.refinements if "reply 7 of quality 5" in t[1][1])
    assert "The rater's score: 1.0 (too low, beside the other responses)\nScore people gave: 5.0" in shown


def test_scores_of_an_aspect_are_shown_by_the_scale_of_that_aspect() -> None:
    # As good as the overall, on 1..3 instead of 1..5.
    given = [Example(e.response, e.source, e.score, aspects={"tone": 1 + ((e.score or 0) - 1) / 2}) for e in examples()]
    script = Script()
    AutoCalibrate(script.lm(), **SMALL, aspects=["tone"]).fit(read_examples(given))
    for turns in script.drafts:
        for response in shown_scores(turns):
            assert f"\n{response}\n</response>\nScore people gave: {float(response[-1]):.1f}" in turns[1][1]


def test_a_candidate_that_scores_half_of_the_examples_does_not_win_by_these() -> None:
    def rate(criteria: str, response: str) -> float | None:
        number, reply = int(re.findall(r"\d+", criteria)[0]), int(response.split()[1])
        if number == 1:
            return float(response[-1]) if reply % 2 else None
        return float(response[-1]) / 2 + reply % 3

    script = Script(rate=rate)
    evaluator = AutoCalibrate(script.lm(), **{**SMALL, "refine_trials": 0}).fit(examples(), scale="1..5")
    best, last = evaluator.candidates_[0], evaluator.candidates_[-1]
    assert best.scored == 12
    assert (last.scored, last.correlation) == (6, None)
    assert "number 1:" in last.text


def test_criteria_that_leave_a_quarter_unscored_are_no_program() -> None:
    lost = tuple(f"reply {i} " for i in (2, 5, 8))
    script = Script(rate=lambda criteria, response: None if response.startswith(lost) else float(response[-1]))
    with pytest.raises(FitError, match=r"score 90% of the examples; the best scored 9 of 12"):
        AutoCalibrate(script.lm(), **SMALL).fit(examples(), scale="1..5")
