from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor

import pytest

from active_critic.errors import BudgetSpent
from active_critic.journal import Journal
from active_critic.lm import Budget, scripted_lm
from active_critic.lm.metering import ForNow, Meter


def ask(lm, *questions):
    for question in questions:
        lm.ask([("user", question)], max_tokens=5)


def model(calls=None, **settings):
    def answer(turns):
        if calls is not None:
            calls.append(turns[-1][1])
        return "yes"

    return scripted_lm(answer, **settings)


def spent(usage):
    return {name: value for name, value in usage.to_dict().items() if name != "seconds"}


def test_the_count_is_the_same_fresh_and_from_the_journal(tmp_path) -> None:
    figures = []
    for _ in range(2):
        calls: list[str] = []
        lm = model(calls)
        with Journal(tmp_path / "j.sqlite") as journal:
            meter = Meter(journal)
            with lm.remembering(meter):
                ask(lm, "a", "bb", "a", "a")
            figures.append(meter.lap())
            assert meter.lap().calls == 0
            assert meter.found == 2 - len(calls)
    assert calls == []
    assert figures[0] == figures[1]
    assert figures[0].calls == 2
    assert figures[0].completion_tokens == 0  # "yes" is less than four characters to the script
    assert figures[0].replayed == 0


def test_two_meters_on_one_memory_count_each_for_itself() -> None:
    lm, memory = model(), ForNow()
    first, second = Meter(memory), Meter(memory)
    with lm.remembering(first):
        ask(lm, "a" * 40, "b")
    with lm.remembering(second):
        ask(lm, "b", "a" * 40)
    one, other = first.lap(), second.lap()
    assert spent(one) == spent(other)
    assert one.prompt_tokens == 10


def test_a_spent_budget_speaks_of_the_journal_only_where_there_is_one(tmp_path) -> None:
    with Journal(tmp_path / "j.sqlite") as journal:
        for memory, said in ((ForNow(), "no journal was kept"), (journal, "what the journal")):
            lm = model()
            lm.budget = Budget(calls=1)
            with lm.remembering(Meter(memory)):
                ask(lm, "a", "a")
                with pytest.raises(BudgetSpent, match=said):
                    ask(lm, "b")


@pytest.mark.parametrize("workers", [1, 8])
def test_the_budget_is_exact(workers) -> None:
    calls: list[str] = []
    lm, meter = model(calls), Meter(ForNow(), budget=3)

    def one(number):
        try:
            ask(lm, f"question {number % 10}")
        except BudgetSpent as problem:
            return str(problem)
        return None

    with lm.remembering(meter), ThreadPoolExecutor(workers) as pool:
        said = [reason for reason in pool.map(one, range(30)) if reason]
        assert len(calls) == len(set(calls)) == 3
        ask(lm, *calls)  # what is known already costs nothing
    assert len(said) == 21
    assert "budget of 3 requests" in said[0]


def test_replies_from_the_memory_count_against_the_budget() -> None:
    lm, memory = model(), ForNow()
    with lm.remembering(memory):
        ask(lm, "a", "b", "c")
    with lm.remembering(Meter(memory, budget=2)), pytest.raises(BudgetSpent):
        ask(lm, "a", "b", "c")


def test_a_request_without_a_reply_uses_up_budget_and_is_no_call() -> None:
    meter = Meter(ForNow(), budget=1)
    assert meter.recall("key") is None
    with pytest.raises(BudgetSpent):
        meter.recall("other")
    assert meter.lap().calls == 0


@pytest.mark.parametrize("reply", ["{", "[]", '{"usage": 3}', "{}"])
def test_a_reply_without_figures_counts_as_a_call(reply) -> None:
    memory = ForNow()
    memory.keep("key", "", reply)
    meter = Meter(memory)
    assert meter.recall("key") == reply
    assert meter.lap().calls == 1


def test_figures_of_another_kind_of_request_are_read_too() -> None:
    meter = Meter(ForNow())
    meter.keep("key", "", json.dumps({"tokens": [], "usage": {"calls": 2, "prompt_tokens": 7, "cost": 0.5, "new": 1}}))
    used = meter.lap()
    assert (used.calls, used.prompt_tokens, used.cost) == (1, 7, 0.5)


def test_a_refusal_that_an_evaluator_made_do_with_is_raised_afterwards() -> None:
    inner = Meter(ForNow(), budget=1)
    outer = Meter(inner)
    outer.recall("a")
    outer.check()
    with pytest.raises(BudgetSpent):
        outer.recall("b")
    for meter in (inner, outer):
        with pytest.raises(BudgetSpent, match=r"1 requests is spent; allow more \(--requests"):
            meter.check()
