from __future__ import annotations

import itertools

import pytest

from active_critic.asking import why_unscored
from active_critic.errors import BudgetSpent, UnreadableReply
from active_critic.lm.budget import Account, Budget, paying
from active_critic.lm.metering import ForNow, Meter
from active_critic.reasons import budget_spent, counted, first_spent
from active_critic.records import Usage


@pytest.mark.parametrize("amount", ["1 call", "1,500 calls", "100 tokens", "$0.002", "2 USD", "1 s", "2 min"])
def test_what_an_account_says_is_known(amount) -> None:
    clock = itertools.count(0, 1000)
    account = Account(Budget.parse(amount), "m", lambda usage: usage.prompt_tokens / 1000, clock=lambda: next(clock))
    account.spent = Usage(calls=5000)
    with pytest.raises(BudgetSpent) as spent, paying([account], Usage(calls=1, prompt_tokens=10**7)):
        pass
    assert budget_spent(str(spent.value))
    assert budget_spent(f"overall: {spent.value}")


def test_what_a_meter_says_is_known() -> None:
    meter = Meter(ForNow(), budget=1)
    meter.recall("a")
    with pytest.raises(BudgetSpent) as spent:
        meter.recall("b")
    assert budget_spent(str(spent.value))


def test_what_a_model_or_a_text_says_of_a_budget_is_not() -> None:
    said = "the budget of 3 calls is spent"
    assert not budget_spent(why_unscored(UnreadableReply("no number", reply=said), "", ""))
    assert not budget_spent("the endpoint refused: the budget of the project is spent")
    assert first_spent(["refused", f"approval: {said} (all are made)", said]) == f"approval: {said} (all are made)"
    assert first_spent(["refused"]) is None


def test_reasons_are_counted_by_kind() -> None:
    reasons = ["2 tokens, 'a'", "refused", "1,000 tokens, 'b'", "3 tokens, 'c'"]
    assert counted(reasons) == {"2 tokens, 'a'": 3, "refused": 1}
    assert list(counted(["rare", "often 1", "often 2"])) == ["often 1", "rare"]
