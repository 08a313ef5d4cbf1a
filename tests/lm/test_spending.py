from __future__ import annotations

from typing import Any

import pytest

from active_critic.errors import BudgetSpent, DataError, ModelError
from active_critic.lm import Budget, LanguageModel, scripted_lm
from active_critic.lm.spending import as_budget, spending


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
        assert lm.budget is not None
        assert (lm.budget.calls, lm.budget.tokens) == (3, 100_000)
        assert 0 < (lm.budget.seconds or 0) <= 100


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
