from __future__ import annotations

from compared import asking, examples, model
from simulated import simulated_lm

from active_critic.evaluators import ActiveCritic
from active_critic.lm import Budget
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


def test_a_fit_that_the_model_s_own_budget_cut_short_is_not_the_method_s_result() -> None:
    how = {"mode": "coarse", "candidates": 2, "demos": 1, "max_batches": 1, "journal": None}
    train = whole().data.take(whole().splits[0].train)
    lm = simulated_lm()
    lm.budget = Budget(calls=12)
    assert "budget of 12 calls is spent" in str(ActiveCritic(lm, **how).fit(train).fitted.provenance.notes)
    lm.budget = Budget(calls=12)
    with Shared(lm, None) as shared:
        found = trial("ours", lambda given: ActiveCritic(given, **how), shared, whole(), None, False, None)
    assert [(failure.stage, failure.error) for failure in found.failures] == [("fit", "BudgetSpent")] * 3
    assert "the budget of 12 calls is spent" in found.failures[0].reason
    assert found.agreement.n == 0


def test_a_split_in_which_nothing_was_refused_stands_beside_those_that_were_cut_short() -> None:
    lm = model()
    lm.budget = Budget(calls=20)
    with Shared(lm, None) as shared:
        found = run(shared, "a", "x")
    assert [(failure.split, failure.stage) for failure in found.failures] == [(2, "scoring")]
    assert found.agreement.n == 16
    assert len(found.to_dict()["unscored"]) == 1
    with Shared(lm, None) as shared:
        again = run(shared, "a", "x")
    assert len(again.failures) == 3, "all of it is spent, and nothing was kept"


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
