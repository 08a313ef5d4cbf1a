"""Parameters that cannot be right are named before anything is asked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from active_critic.errors import FitError
from active_critic.evaluators import ICE, ActiveCritic, AutoCalibrate, GEval, GPTScore, HDEval, Surface, ZeroShot
from active_critic.evaluators._checks_material import examples, rate
from active_critic.evaluators.parameters import check_aspects, check_task, check_whole
from active_critic.lm.filling import form_filling_lm
from active_critic.records import Criterion

TONE = Criterion(name="Tone", definition="It is friendly.")


@pytest.mark.parametrize("value", [0, 4, 1.0, "2", None, True])
def test_a_parameter_that_is_no_whole_number_within_its_bounds_is_named(value: object) -> None:
    with pytest.raises(FitError, match=rf"^layers must be a whole number from 1 to 3, not {value!r}$"):
        check_whole("layers", value, 1, 3)


def test_a_whole_number_of_numpy_is_one_of_python() -> None:
    assert type(check_whole("layers", np.int64(2), 1, 3)) is int
    for value in (np.int64(4), np.float64(2), np.bool_(True), np.array([2])):
        with pytest.raises(FitError, match="layers must be a whole number from 1 to 3"):
            check_whole("layers", value, 1, 3)


def test_bounds_are_included() -> None:
    check_whole("layers", 1, 1, 3)
    check_whole("layers", 3, 1, 3)
    with pytest.raises(FitError, match="shots must be a whole number of at least 2, not 1"):
        check_whole("shots", 1, 2)
    with pytest.raises(FitError, match="from 2 to 9,223,372,036,854,775,807, not one of thousands of digits"):
        check_whole("shots", 10**9999, 2)


def test_a_task_may_be_missing_but_not_blank() -> None:
    for fine in (None, "Judge."):
        check_task(fine)
    with pytest.raises(FitError, match="blank"):
        check_task(" ")


@pytest.mark.parametrize("kind", [ActiveCritic, GEval, GPTScore, HDEval, AutoCalibrate])
@pytest.mark.parametrize("wrong", [5, True, False, ["Judge."]])
def test_a_task_that_is_no_text_is_refused_before_anything_is_asked(kind: type[Any], wrong: object) -> None:
    if (kind, wrong) == (ActiveCritic, False):
        return  # there it means that the model is not told what the task is
    lm = form_filling_lm(rate)
    with pytest.raises(FitError, match=r"task_description must be a text, not .*; leave it out"):
        kind(lm, task_description=wrong, journal=None).fit(examples(), scale="1..5")
    assert lm.usage.calls == 0


UNCHECKED: dict[str, tuple[Callable[[Any], Any], str]] = {
    "cot": (lambda lm: GEval(lm, cot=None), "cot must be True or False, not None"),
    "weighted": (lambda lm: GEval(lm, weighted="no"), "weighted must be True or False, not 'no'"),
    "explanations": (lambda lm: ActiveCritic(lm, explanations="no"), "explanations must be True or False, not 'no'"),
    "report": (lambda lm: ActiveCritic(lm, report=1), "report must be True or False, not 1"),
    "overall scoring": (lambda lm: ActiveCritic(lm, overall_scoring=None), "overall_scoring must be True or False"),
    "inputs": (lambda lm: ICE(lm, inputs="source"), r"such as \{'overall': 'source'\}, not 'source'"),
    "criteria": (lambda lm: GEval(lm, criteria=iter([TONE])), "more than once, not one list_iterator; list them"),
    "criteria to weigh by": (lambda lm: GPTScore(lm, criteria=(c for c in [TONE])), "not one generator; list them"),
    "a journal": (lambda lm: ZeroShot(lm, journal=5), "journal must be a path, 'default', or None"),
    "a blank journal": (lambda lm: Surface(lm, journal=" "), "to keep no replies, not ' '"),
}


@pytest.mark.parametrize("what", UNCHECKED)
def test_parameters_of_a_wrong_kind_are_named_before_anything_is_asked(what: str) -> None:
    make, said = UNCHECKED[what]
    lm = form_filling_lm(rate)
    with pytest.raises(FitError, match=said):
        make(lm).fit(examples(), scale="1..5")
    assert lm.usage.calls == 0


def test_a_flag_may_be_one_of_numpy() -> None:
    settings: dict[str, Any] = {"cot": np.bool_(False), "task_description": "Judge.", "criteria": [TONE]}
    lm = form_filling_lm(rate)
    assert GEval(lm, journal=None, **settings).fit(examples(), scale="1..5").fitted.steps == {}


def test_aspects_are_a_list_of_different_names() -> None:
    assert check_aspects(None) == ()
    assert check_aspects(["tone", "help"]) == ("tone", "help")
    for wrong in ("tone", [], ["tone", " "], ["tone", "Tone"], [1]):
        with pytest.raises(FitError, match="aspects must"):
            check_aspects(wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"explain": "no"}, "explain must be True or False, not 'no'"),
        ({"explain": None}, "explain must be True or False, not None"),
        ({"progress": True}, "progress must be a function .*, or None, not True"),
    ],
)
def test_how_to_score_is_checked_before_anything_is_asked(wrong: dict[str, Any], said: str) -> None:
    with ZeroShot(form_filling_lm(rate), journal=None) as evaluator:
        evaluator.fit(examples(), scale="1..5")
        before = evaluator.usage.calls
        with pytest.raises(FitError, match=said):
            list(evaluator.score_many(examples(), **wrong))
        assert evaluator.usage.calls == before


def test_a_fit_refuses_a_progress_that_cannot_be_called() -> None:
    lm = form_filling_lm(rate)
    with pytest.raises(FitError, match="progress must be a function"):
        ActiveCritic(lm, journal=None).fit(examples(), scale="1..5", progress=True)  # type: ignore[arg-type]
    assert lm.usage.calls == 0


def test_a_parameter_that_is_changed_in_place_does_not_change_the_program_that_it_came_from() -> None:
    program = (
        ICE(form_filling_lm(rate), journal=None, inputs={"overall": "response"}).fit(examples(), scale="1..5").fitted
    )
    ICE.from_protocol(program, form_filling_lm(rate), journal=None).inputs["overall"] = "source"
    assert program.provenance.settings["inputs"] == {"overall": "response"}
