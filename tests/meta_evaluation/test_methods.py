from __future__ import annotations

import pytest
from simulated import simulated_lm

from active_critic.errors import FitError
from active_critic.evaluators import EVALUATORS, ActiveCritic, ZeroShot
from active_critic.lm import scripted_lm
from active_critic.meta_evaluation.methods import EVALUATOR_NAMES, given_settings, learners, needs_model, resolve
from active_critic.records import Criterion


@pytest.mark.parametrize("name", EVALUATOR_NAMES)
def test_every_name_makes_an_unfitted_evaluator_of_its_own(name) -> None:
    lm = simulated_lm()
    made = resolve([name])[name](lm)
    assert made.protocol_ is None
    assert made.journal is None
    assert lm.usage.calls == 0
    assert set(EVALUATOR_NAMES[name].parameters) <= set(made.parameters())
    assert needs_model(EVALUATOR_NAMES[name]) == (name != "surface")


def test_every_evaluator_that_can_be_loaded_has_a_name() -> None:
    lm = simulated_lm()
    made = {type(resolve([name])[name](lm)) for name in EVALUATOR_NAMES}
    assert made == set(EVALUATORS)


def test_settings_reach_the_evaluator_and_the_seed_does_unless_set() -> None:
    lm = simulated_lm()
    settings = {"active-critic-fine": {"demos": 2, "seed": 9}}
    methods = resolve(["active-critic-fine", "active-critic-coarse", "zero-shot"], settings, seed=5)
    fine, coarse, zero = (make(lm) for make in methods.values())
    assert isinstance(fine, ActiveCritic)
    assert isinstance(coarse, ActiveCritic)
    assert isinstance(zero, ZeroShot)
    assert (fine.mode, fine.demos, fine.seed, fine.report) == ("fine", 2, 9, False)
    assert (coarse.mode, coarse.demos, coarse.seed) == ("coarse", None, 5)


def test_what_is_usual_gives_way_to_what_is_set() -> None:
    coarse, lm = EVALUATOR_NAMES["active-critic-coarse"], scripted_lm(lambda _: "")
    assert coarse(lm).report is False
    assert coarse(lm, report=True).report is True


@pytest.mark.parametrize(
    ("names", "settings", "said"),
    [
        ([], {}, "at least one evaluator; there are zero-shot, g-eval"),
        (None, {}, "evaluators are names out of zero-shot, g-eval, .*, or factories by name, not None"),
        (["zero-shot"], [1], r"settings are parameters by name, by method, such as .*, not \[1\]"),
        (["zero-shot"], {"zero-shot": 5}, "settings are parameters by name, by method, such as .*, not 5"),
        (["zero-shot", "bleu"], {}, "no evaluator 'bleu'; there are zero-shot, g-eval, gpt-score, ice"),
        (["zero-shot", "zero-shot"], {}, "named twice"),
        (["zero-shot"], {"zero-shot": {"demos": 3}}, "zero-shot has no parameter 'demos'"),
        (["active-critic-fine"], {"active-critic-fine": {"demo": 3}}, "no parameter 'demo'; it has candidates, demos"),
        (["active-critic-fine"], {"active-critic-fine": {"mode": "coarse"}}, "no parameter 'mode'"),
        (["zero-shot"], {"ice": {"seed": 3}}, "'ice', which is not compared; compared are zero-shot"),
        ({"mine": ZeroShot}, {"mine": {"seed": 3}}, "factory of your own"),
        ({"mine": ZeroShot(simulated_lm())}, {}, "'mine' is a ZeroShot, and not what makes an evaluator"),
        (["surface"], {"surface": {"alpha": "x"}}, "'alpha' of surface cannot be 'x'; it is a number"),
        (["ice"], {"ice": {"shots": 2.5}}, "'shots' of ice cannot be 2.5; it is an integer"),
        (["ice"], {"ice": {"shots": -4}}, "^ice: shots must be a whole number of at least 1, not -4$"),
        (["ice"], {"ice": {"sampling": "all"}}, "cannot be 'all'; it is 'uniform' or 'stratified'"),
        (["auto-calibrate"], {"auto-calibrate": {"shots": [1, "2"]}}, "'shots' of auto-calibrate cannot be"),
        (["auto-calibrate"], {"auto-calibrate": {"shots": 4}}, "'shots' of auto-calibrate cannot be 4; it is a list$"),
        (["g-eval"], {"g-eval": {"criteria": "Tone"}}, "cannot be 'Tone'; it is a list or a mapping$"),
        (["active-critic-fine"], {"active-critic-fine": {"report": "no"}}, "'report' of active-critic-fine cannot be"),
    ],
)
def test_what_is_not_there_is_refused_with_what_there_is(names, settings, said) -> None:
    with pytest.raises(FitError, match=said):
        resolve(names, settings)


@pytest.mark.parametrize("name", EVALUATOR_NAMES)
def test_what_an_evaluator_has_by_itself_is_also_a_setting_it_takes(name) -> None:
    own = resolve([name])[name](simulated_lm()).parameters()
    resolve([name], {name: {parameter: own[parameter] for parameter in EVALUATOR_NAMES[name].parameters}})


def test_settings_are_kept_as_plain_values() -> None:
    criteria = [Criterion(name="Tone", definition="It is kind.")]
    methods = resolve(["hd-eval"], {"hd-eval": {"criteria": criteria, "layers": 2}})
    told = given_settings(methods["hd-eval"])
    assert told == {"criteria": [criteria[0].model_dump()], "layers": 2, "seed": 0}


def test_ones_own_settings_of_a_known_one_go_under_any_name() -> None:
    methods = resolve({"plain": EVALUATOR_NAMES["active-critic-fine"]}, {"plain": {"demos": 0}})
    assert methods["plain"](simulated_lm()).demos == 0


def test_which_learn_from_examples_depends_on_settings_and_is_not_known_of_ones_own() -> None:
    given = {"g-eval": {"task_description": "Judge.", "criteria": [{"name": "Tone", "definition": "It is kind."}]}}
    assert learners(resolve(["zero-shot", "g-eval", "ice"])) == ["g-eval", "ice"]
    assert learners(resolve(["zero-shot", "g-eval", "ice"], given)) == ["ice"]
    assert learners(resolve({"mine": lambda lm: ZeroShot(lm), "plain": EVALUATOR_NAMES["ice"]})) == ["plain"]
