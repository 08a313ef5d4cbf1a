"""Every evaluator says when a model answers, or scores, that is not the one it was asked of or fitted with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from test_checks import MAKERS

from active_critic.evaluators import Evaluator, from_protocol
from active_critic.evaluators._checks_material import SCALE, examples, items, rate
from active_critic.lm import LanguageModel
from active_critic.lm.filling import form_filling_lm

Make = Callable[[LanguageModel], Evaluator]
ASKED = {name: make for name, make in MAKERS.items() if name not in {"surface", "gpt-score"}}
"""Those that have a form filled in."""


def notes_of(evaluator: Evaluator) -> list[tuple[str, ...]]:
    return [verdict.notes for verdict in evaluator.score_many(items())]


@pytest.mark.parametrize("make", ASKED.values(), ids=ASKED)
def test_another_model_that_answers_is_said_of_every_verdict(make: Make) -> None:
    lm = form_filling_lm(rate)
    evaluator = make(lm).fit(examples(), scale=SCALE)
    said = f"the endpoint says that another-model answered, not {lm.name}"
    assert not any(said in notes for notes in notes_of(evaluator))
    send = lm._send

    def other(request: Any) -> Any:
        return replace(send(request), model="another-model")

    lm._send = other
    assert [notes.count(said) for notes in notes_of(evaluator)] == [1] * len(items())


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_a_program_that_another_model_scores_by_says_so_of_every_verdict(make: Make) -> None:
    evaluator = make(form_filling_lm(rate)).fit(examples(), scale=SCALE)
    other = form_filling_lm(rate, name="another-model")
    moved = notes_of(from_protocol(evaluator.fitted, other, journal=None))
    needs_one = evaluator.fitted.provenance.model != "none"
    assert [sum("and another-model scores now" in note for note in notes) for notes in moved] == [needs_one] * len(
        moved
    )
    assert not any("scores now" in note for notes in notes_of(evaluator) for note in notes)
