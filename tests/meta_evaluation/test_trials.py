from __future__ import annotations

from compared import asking, examples, model
from simulated import simulated_lm

from active_critic.meta_evaluation.splits import plan
from active_critic.meta_evaluation.trials import HeldOut, Shared, prefixed, trial

HOW = {"level": "dataset", "resamples": 0, "seed": 0}


def whole():
    data = examples()
    return HeldOut.of(data, plan(data, folds=3)[0], HOW)


def run(shared, name, word, budget=None):
    return trial(name, asking(word), shared, whole(), budget, False, None)


def test_a_budget_of_all_is_spent_by_all_and_one_of_a_method_by_that() -> None:
    with Shared(model(), None, budget=40) as shared:
        first, second = run(shared, "a", "x"), run(shared, "b", "y")
    assert (first.failures, first.needs.calls) == ((), 27)
    assert second.failures
    assert second.needs.calls == 13
    with Shared(model(), None) as shared:
        first, second = run(shared, "a", "x", 27), run(shared, "b", "y", 26)
    assert (first.failures, first.needs.calls) == ((), 27)
    assert second.needs.calls == 26


def test_what_was_paid_for_by_another_is_not_in_the_budget_of_all_again() -> None:
    with Shared(model(), None, budget=27) as shared:
        found = [run(shared, name, "same") for name in "ab"]
    assert [(one.failures, one.needs.calls) for one in found] == [((), 27)] * 2


def test_finding_out_what_the_model_can_do_is_in_no_budget() -> None:
    lm = simulated_lm()
    lm._capabilities = None
    with Shared(lm, None, budget=27) as shared:
        assert run(shared, "a", "x").needs.calls == 27
    assert shared.probing.calls == 2


def test_progress_says_what_it_is_part_of() -> None:
    said: list[tuple[object, ...]] = []
    prefixed(lambda *what: said.append(what), "split 1 of 3")("fitting", 2, 5)
    assert said == [("split 1 of 3: fitting", 2, 5)]
    assert prefixed(None, "x") is None
