from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from active_critic.errors import BudgetSpent, DataError, ModelError
from active_critic.lm import Budget, LanguageModel, open_lm, scripted_lm
from active_critic.lm.spending import as_budget, spending
from active_critic.lm.stopping import threads


def asked(lm: LanguageModel, times: int) -> int:
    """How many of so many calls were allowed."""
    for done in range(times):
        try:
            lm.ask([("user", "?")], max_tokens=9)
        except BudgetSpent:
            return done
    return times


@pytest.mark.parametrize("given", ["2 calls", ["2 calls"], ("2 calls", "1h"), Budget(calls=2)])
def test_a_budget_is_given_in_words_or_made(given: Any) -> None:
    assert as_budget(given).calls == 2


@pytest.mark.parametrize("given", [2, 2.5, True, [], [2], {"calls": 2}, "2", b"2 calls", ["2 calls", "3 calls"]])
def test_what_is_no_budget_is_told(given: Any) -> None:
    with pytest.raises(DataError, match="budget"):
        as_budget(given)


@pytest.mark.parametrize("given", [Budget(), Budget.parse([])])
def test_a_budget_that_limits_nothing_is_told(given: Budget) -> None:
    with pytest.raises(DataError, match="the budget limits nothing; leave it out for no limit, or write for example"):
        as_budget(given)
    with pytest.raises(DataError, match="the budget limits nothing"):
        open_lm(scripted_lm(lambda turns: "yes"), budget=given)


def test_it_holds_inside_and_what_was_is_put_back() -> None:
    lm = scripted_lm(lambda turns: "yes")
    with spending(lm, Budget(calls=2)):
        assert asked(lm, 5) == 2
    assert lm.budget is None
    assert asked(lm, 5) == 5
    with spending(lm, None):
        assert asked(lm, 5) == 5


@pytest.mark.parametrize(("inside", "allowed"), [(2, 2), (9, 4)])
def test_the_models_own_budget_holds_beside_it_and_counts_what_is_spent(inside: int, allowed: int) -> None:
    lm = scripted_lm(lambda turns: "yes")
    lm.budget = Budget(calls=5)
    assert asked(lm, 1) == 1
    with spending(lm, Budget(calls=inside)):
        assert asked(lm, 9) == allowed
    assert lm.budget == Budget(calls=5)
    assert asked(lm, 9) == 4 - allowed


def test_limits_of_another_kind_hold_together() -> None:
    lm = scripted_lm(lambda turns: "yes")
    lm.budget = Budget(tokens=100_000, seconds=100)
    with spending(lm, Budget(calls=3)):
        assert lm.budgets == [Budget(tokens=100_000, seconds=100), Budget(calls=3)]
        lm.budget = Budget(tokens=90)
        assert asked(lm, 5) < 3
        lm.budget = Budget(tokens=100_000)
        assert asked(lm, 5) <= 3


def test_nothing_is_left_where_the_models_own_is_spent() -> None:
    lm = scripted_lm(lambda turns: "yes")
    lm.budget = Budget(calls=1)
    assert asked(lm, 2) == 1
    with spending(lm, Budget(calls=5)):
        assert asked(lm, 2) == 0


def test_it_is_put_back_after_an_error_and_where_it_cannot_be() -> None:
    lm = scripted_lm(lambda turns: "yes")
    lm.budget = Budget(calls=5)

    def broken() -> None:
        with spending(lm, Budget(calls=2)):
            asked(lm, 1)
            raise KeyError

    with pytest.raises(KeyError):
        broken()
    with pytest.raises(ModelError, match="price is not known"), spending(lm, Budget(cost=2)):
        pass
    assert lm.budget == Budget(calls=5)
    assert asked(lm, 9) == 4


def test_blocks_of_two_threads_may_overlap_and_each_holds_for_its_own_work() -> None:
    lm = scripted_lm(lambda turns: "yes", workers=4)
    second_in, first_out = threading.Event(), threading.Event()
    allowed: dict[str, int] = {}

    def first() -> None:
        with spending(lm, Budget(calls=3)):
            second_in.wait(20)
            allowed["first"] = asked(lm, 9)
        first_out.set()

    def second() -> None:
        with spending(lm, Budget(calls=5)):
            second_in.set()
            first_out.wait(20)
            allowed["second"] = asked(lm, 40)

    together = [threading.Thread(target=first), threading.Thread(target=second)]
    for thread in together:
        thread.start()
    for thread in together:
        thread.join(60)
    assert allowed == {"first": 3, "second": 5}
    assert not lm.budgets
    assert asked(lm, 40) == 40


def test_a_thread_of_the_users_own_counts_in_every_block_that_is_open() -> None:
    lm = scripted_lm(lambda turns: "yes")
    with spending(lm, Budget(calls=2)), ThreadPoolExecutor(1) as pool:
        assert pool.submit(asked, lm, 9).result() == 2
        assert asked(lm, 9) == 0


def test_what_an_inner_budget_refuses_is_not_spent_of_an_outer_one() -> None:
    lm = scripted_lm(lambda turns: "yes")
    with spending(lm, Budget(calls=5)):
        with spending(lm, Budget(calls=2)):
            assert asked(lm, 9) == 2
            assert asked(lm, 9) == 0
        assert asked(lm, 9) == 3
    assert not any(account._under_way for account in lm._purse.accounts)


def test_many_threads_in_blocks_within_each_other_never_spend_more_and_never_wait_for_each_other() -> None:
    lm = scripted_lm(lambda turns: "yes", workers=8)
    lm.budget = Budget(calls=60)

    def work(number: int) -> int:
        with spending(lm, Budget(calls=9)), spending(lm, Budget(calls=7, tokens=100_000)), threads(4) as pool:
            return sum(pool.map(lambda _: asked(lm, 4), range(4)))

    with ThreadPoolExecutor(6) as pool:
        allowed = list(pool.map(work, range(6), timeout=60))
    assert allowed == [7] * 6
    assert lm.usage.calls == 42
    assert asked(lm, 40) == 18
