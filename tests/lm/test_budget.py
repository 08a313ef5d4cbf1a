from __future__ import annotations

import itertools
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from conftest_lm import EVERYTHING
from dspy.lm15 import Message, Response
from dspy.lm15 import Usage as DspyUsage
from hypothesis import given
from hypothesis import strategies as st
from loopback import Fault, Say, echoing

from active_critic.errors import (
    BudgetSpent,
    DataError,
    EndpointDown,
    ModelError,
    RateLimited,
    RequestRefused,
    UnreadableReply,
)
from active_critic.journal import Journal
from active_critic.lm import Budget, LanguageModel, open_lm, scripted_lm
from active_critic.lm.budget import Account, at_most, paying
from active_critic.lm.engine import own_errors
from active_critic.lm.likelihood import Likelihood
from active_critic.records import Usage


def model(read=10, written=3, *, workers=8, price=None, before=lambda: None, weigh=None) -> LanguageModel:
    """A model whose every reply takes so many tokens."""

    def send(request):
        before()
        usage = DspyUsage(input_tokens=read, output_tokens=written)
        message = Message.assistant("so it is")
        return Response(id=None, model="m", message=message, finish_reason="stop", usage=usage, logprobs=None)

    return LanguageModel(
        "m", send, workers=workers, price=price, capabilities=EVERYTHING, weigh=weigh, wait=lambda _: None
    )


def ask_all(lm: LanguageModel, count: int, *, max_tokens: int = 5) -> list[str]:
    """Ask different things from many threads at once; "ok", or why not, of each."""

    def ask(number: int) -> str:
        try:
            lm.ask([("user", f"question {number}")], max_tokens=max_tokens)
        except BudgetSpent as spent:
            return str(spent)
        return "ok"

    with ThreadPoolExecutor(16) as pool:
        return list(pool.map(ask, range(count)))


# --- reading a budget -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("500 calls", Budget(calls=500)),
        ("1 call", Budget(calls=1)),
        ("2k calls", Budget(calls=2000)),
        ("200k tokens", Budget(tokens=200_000)),
        ("1.001k tokens", Budget(tokens=1001)),
        ("1.5M tokens", Budget(tokens=1_500_000)),
        ("200,000 tokens", Budget(tokens=200_000)),
        ("$2", Budget(cost=2.0)),
        ("$0.50", Budget(cost=0.5)),
        ("2.5 USD", Budget(cost=2.5)),
        ("10 min", Budget(seconds=600.0)),
        ("90s", Budget(seconds=90.0)),
        ("2 hours", Budget(seconds=7200.0)),
        ("1 hour", Budget(seconds=3600.0)),
        (["500 calls", "$2"], Budget(calls=500, cost=2.0)),
    ],
)
def test_budgets_are_read_as_people_write_them(text, expected) -> None:
    assert Budget.parse(text) == expected


@pytest.mark.parametrize(
    "text", ["", "500", "calls", "-5 calls", "0 calls", "$0", "1.5 calls", "5 m", "1,5 min", "$2 calls", "nan calls"]
)
def test_what_is_no_budget_is_told(text) -> None:
    with pytest.raises(DataError, match=r"500 calls|whole number"):
        Budget.parse(text)


@pytest.mark.parametrize(
    ("limits", "said"),
    [({"calls": "500"}, "is a number, not '500'"), ({"calls": True}, "not True"), ({"tokens": 2.5}, "no whole number")],
)
def test_a_budget_made_of_anything_but_numbers_is_told(limits, said) -> None:
    with pytest.raises(DataError, match=said):
        Budget(**limits)


def test_numbers_of_numpy_are_numbers() -> None:
    budget = Budget(calls=np.int64(500), cost=np.float32(0.5), seconds=np.float64(60))
    assert budget == Budget(calls=500, cost=0.5, seconds=60.0)
    assert repr(budget) == repr(Budget(calls=500, cost=0.5, seconds=60.0))


def test_one_limit_of_a_kind() -> None:
    with pytest.raises(DataError, match="limits the time twice"):
        Budget.parse(["10 min", "90 s"])


@given(st.integers(1, 10**9), st.sampled_from(["calls", "tokens"]))
def test_what_a_budget_says_of_itself_is_read_back(number, kind) -> None:
    budget = Budget(**{kind: number})
    assert Budget.parse(str(budget)) == budget


@given(
    st.floats(min_value=0, max_value=1e12, exclude_min=True),
    st.sampled_from(["cost", "seconds"]),
)
def test_money_and_time_are_written_without_an_exponent_and_read_back(number, kind) -> None:
    budget = Budget(**{kind: number})
    assert "e" not in str(budget)
    assert Budget.parse(str(budget)) == budget


@pytest.mark.parametrize(
    ("budget", "said"),
    [
        (Budget(cost=1e-5), "$0.00001"),
        (Budget(cost=1234567.0), "$1234567"),
        (Budget(cost=2), "$2"),
        (Budget(cost=0.5, calls=1200), "1,200 calls, $0.5"),
        (Budget(seconds=600), "10 min"),
        (Budget(seconds=90), "90 s"),
        (Budget(seconds=150), "150 s"),
    ],
)
def test_a_budget_is_said_as_people_write_it(budget, said) -> None:
    assert str(budget) == said


# --- obeying it -----------------------------------------------------------------------------------------------------


def test_calls_are_never_exceeded_by_one_whatever_comes_at_once() -> None:
    gate = threading.Barrier(4, timeout=5)
    lm = model(before=lambda: gate.wait())
    lm.budget = Budget(calls=20)
    answers = ask_all(lm, 60)
    assert answers.count("ok") == 20
    assert lm.usage.calls == 20
    (reason,) = set(answers) - {"ok"}
    assert reason.startswith("the budget of 20 calls is spent (all are made); run this again with a larger one")


@pytest.mark.parametrize("taken", [Usage(calls=1), None], ids=["it was made", "it was not"])
def test_what_a_call_under_way_may_take_is_given_to_no_other_before_it_ends(taken) -> None:
    account = Account(Budget(calls=1), "m", lambda _: None)
    held = account.hold(Usage(calls=1))
    with ThreadPoolExecutor(1) as pool:
        other = pool.submit(account.hold, Usage(calls=1))
        with pytest.raises(TimeoutError):
            other.result(timeout=0.1)
        account.let_go(held, taken)
        if taken is None:
            assert other.result(timeout=5).calls == 1
        else:
            with pytest.raises(BudgetSpent, match="all are made"):
                other.result(timeout=5)


def test_tokens_are_never_exceeded_and_used_as_far_as_one_call_at_a_time_allows() -> None:
    most = at_most(model()._request([("user", "question 10")], max_tokens=5), None)
    a_call = most.prompt_tokens + most.completion_tokens
    lm = model()
    lm.budget = Budget(tokens=13 * 30 + a_call)
    answers = ask_all(lm, 100)
    used = lm.usage.prompt_tokens + lm.usage.completion_tokens
    assert used <= lm.budget.tokens
    # Those that had to wait for others under way were made after all: what is left is less than one call may take.
    assert lm.budget.tokens - used < a_call
    assert answers.count("ok") * 13 == used
    assert f"{used:,} are used, and the next call may take up to {a_call}" in answers[-1]


def test_money_is_never_exceeded() -> None:
    lm = model(read=80, written=1, price=lambda r: (r.usage.input_tokens + 10 * r.usage.output_tokens) / 1e6)
    lm.budget = Budget(cost=0.0013)
    assert ask_all(lm, 40, max_tokens=100).count("ok") == 3  # each takes 0.00009, and may take 0.00108
    assert lm.usage.cost == pytest.approx(3 * 0.00009)


def test_what_has_no_price_costs_the_most_it_may_have_cost() -> None:
    # A price list has none for more tokens from a cache than were read at all.
    lm = model(read=80, written=1, price=lambda r: None if r.usage.output_tokens == 1 else 0.001)
    lm.budget = Budget(cost=0.003)
    assert ask_all(lm, 40, max_tokens=100).count("ok") == 3


def test_money_needs_a_price() -> None:
    with pytest.raises(ModelError, match="its price is not known"):
        model().budget = Budget(cost=1.0)
    with pytest.raises(ModelError, match="its price is not known"):
        model(price=lambda _: None).budget = Budget(cost=1.0)


def test_a_budget_that_cannot_be_obeyed_leaves_the_one_before_it_as_it_was() -> None:
    lm = model()
    lm.budget = Budget(calls=2)
    assert ask_all(lm, 1) == ["ok"]
    with pytest.raises(ModelError, match="its price is not known"):
        lm.budget = Budget(cost=1.0)
    assert lm.budget == Budget(calls=2)
    assert ask_all(lm, 3).count("ok") == 1


def test_a_reply_counts_as_what_the_endpoint_says_and_as_the_most_where_it_does_not() -> None:
    account = Account(Budget(cost=1.0), "m", lambda usage: usage.completion_tokens / 1000)
    most = Usage(calls=1, prompt_tokens=100, completion_tokens=20)
    with paying([account], most) as took:
        took(Usage(prompt_tokens=70))  # a gateway that counts the prompt alone
    assert account.spent == Usage(calls=1, prompt_tokens=70, completion_tokens=20, cost=0.02)
    with paying([account], most) as took:
        took(Usage(prompt_tokens=70, completion_tokens=10, cost=0.5))  # what it billed, whatever the price list says
    assert account.spent.cost == pytest.approx(0.52)


def test_a_call_that_is_interrupted_counts_as_the_most_it_may_have_taken() -> None:
    account = Account(Budget(tokens=1000), "m", lambda _: None)
    most = Usage(calls=1, prompt_tokens=100, completion_tokens=20)
    with pytest.raises(KeyboardInterrupt), paying([account], most):
        raise KeyboardInterrupt  # it was sent, and is answered all the same
    assert account.spent == most


def test_no_call_begins_when_the_time_is_over() -> None:
    now = iter(itertools.chain([0.0, 1.0, 59.0], itertools.repeat(60.0)))
    account = Account(Budget(seconds=60), "m", lambda _: None, clock=lambda: next(now))
    for _ in range(2):
        with paying([account], Usage(calls=1)):
            pass
    with pytest.raises(BudgetSpent, match="60 s is spent"), paying([account], Usage(calls=1)):
        raise AssertionError("it was sent")


def test_a_retry_is_a_call_and_a_failed_one_counts() -> None:
    def down() -> None:
        raise EndpointDown("down")

    lm = model(before=down)
    lm.budget = Budget(calls=2)
    with pytest.raises(BudgetSpent):
        lm.ask([("user", "?")], max_tokens=5)
    assert lm.usage.calls == 2
    assert lm._purse.account is not None
    assert lm._purse.account._under_way == []


@pytest.mark.parametrize("kind", ["reset", "empty", "broken", "endless", "late", "empty success"])
def test_what_a_provider_may_bill_counts_as_the_most_it_may_have_taken(loopback, kind) -> None:
    late, failed = Say("late", slow=0.5), Say("", finish_reason="error")
    loopback.script({"late": late, "empty success": failed}.get(kind) or Fault(kind))
    lm = open_lm("openai/x", api_base=loopback.api_base, timeout=0.1 if kind in {"late", "endless"} else 20.0)
    lm._wait = lambda _: None
    most = at_most(lm._request([("user", "?")], max_tokens=100), None)
    a_call = most.prompt_tokens + most.completion_tokens
    lm.budget = Budget(tokens=2 * a_call)
    with pytest.raises(BudgetSpent, match=f"{2 * a_call} are used"):
        lm.ask([("user", "?")], max_tokens=100)
    assert loopback.calls == 2


@pytest.mark.parametrize("status", [400, 429, 500, 503, 504, None])
def test_what_was_refused_or_never_sent_counts_as_a_call_only(loopback, status) -> None:
    loopback.script(Fault(status=status or 500))
    lm = open_lm("openai/x", api_base=loopback.api_base if status else "http://127.0.0.1:9/v1")
    lm._wait = lambda _: None
    lm.budget = Budget(tokens=250)
    with pytest.raises((EndpointDown, RateLimited, RequestRefused)):
        lm.ask([("user", "?")], max_tokens=100)
    assert lm._purse.account is not None
    assert lm._purse.account.spent == Usage(calls={400: 1, 429: 7}.get(status, 4))


def test_nothing_is_waited_for_after_the_time() -> None:
    waits: list[float] = []

    def slow_down() -> None:
        raise EndpointDown("wait", retry_after=50.0)

    lm = model(before=slow_down)
    lm._wait = waits.append
    lm.budget = Budget(seconds=5)
    with pytest.raises(EndpointDown):
        lm.ask([("user", "?")], max_tokens=5)
    assert all(wait <= 5 for wait in waits)


def test_replies_from_the_journal_are_free(tmp_path) -> None:
    with Journal(tmp_path / "j.sqlite") as journal:
        lm = model()
        with lm.remembering(journal):
            lm.budget = Budget(calls=3)
            first = ask_all(lm, 5)
            assert first.count("ok") == 3
            assert len(journal) == 3
            again = ask_all(lm, 5)
            assert [answer == "ok" for answer in again] == [answer == "ok" for answer in first]
            lm.budget = Budget(calls=2)  # counted from now
            assert ask_all(lm, 5).count("ok") == 5


def test_a_likelihood_is_paid_from_the_budget_too() -> None:
    lm = scripted_lm(lambda turns: "x", likelihood=lambda turns, text: [-1.0])
    lm.budget = Budget(calls=1)
    lm.likelihood([("user", "?")], "yes")
    with pytest.raises(BudgetSpent):
        lm.likelihood([("user", "?")], "no")


def test_what_a_likelihood_may_take_counts_the_conversation() -> None:
    weighed: list[str] = []
    lm = scripted_lm(lambda _: "x", likelihood=lambda turns, text: weighed.append(text) or [-1.0])
    lm.budget = Budget(tokens=500)
    with pytest.raises(BudgetSpent, match="500 tokens"):
        lm.likelihood([("user", "word " * 200)], "yes")
    assert weighed == []


def test_a_likelihood_is_paid_from_a_budget_of_money_by_its_tokens() -> None:
    lm = model(
        weigh=lambda turns, text: Likelihood.of([-1.0], "prompt", Usage(prompt_tokens=1000)),
        price=lambda r: (r.usage.input_tokens + r.usage.output_tokens) / 1e6,
    )
    lm.budget = Budget(cost=0.01)
    for number in range(8):
        lm.likelihood([("user", f"question {number}")], "x" * 2000)  # takes 0.001, and may take 0.0021
    with pytest.raises(BudgetSpent, match=r"\$0\.008 is used"):
        lm.likelihood([("user", "question 9")], "x" * 2000)


@pytest.mark.parametrize("says", [True, False], ids=["says what it took", "does not say"])
@pytest.mark.parametrize("value", [float("nan"), None], ids=["NaN", "null"])
def test_an_answer_without_the_likelihood_is_paid_from_it_like_any_reply(loopback, value, says) -> None:
    def complete(body):
        document = echoing(lambda _: value)(body)
        return {**document, "usage": {"prompt_tokens": 99, "completion_tokens": 1} if says else None}

    loopback.complete = complete
    lm = open_lm("openai/x", api_base=loopback.api_base, budget="1000 tokens")

    def weigh_all() -> None:
        for number in range(60):
            with pytest.raises((UnreadableReply, RequestRefused)) as caught:
                lm.likelihood([("user", f"question {number:02}")], "a lake")
            assert caught.value.sent
            assert caught.value.usage == Usage(calls=1, **took)

    took = {"prompt_tokens": 99, "completion_tokens": 1} if says else {}
    with pytest.raises(BudgetSpent):
        weigh_all()
    assert loopback.calls == 10  # of 100 tokens, or of the 97 that one may take at most
    assert lm.usage == Usage(calls=10, **{name: 10 * figure for name, figure in took.items()})


def test_what_comes_through_dspy_is_paid_from_it_too() -> None:
    lm = scripted_lm(lambda turns: "x")
    lm.budget = Budget(calls=1)
    lm.dspy("one")
    with pytest.raises(BudgetSpent), own_errors():
        lm.dspy("two")
    assert lm.usage.calls == 1


def test_the_bound_of_a_prompt_holds_for_any_script() -> None:
    def bound(text: str) -> int:
        return at_most(model()._request([("user", text)], max_tokens=5), None).prompt_tokens

    assert bound("语言" * 100) >= 600
    assert bound("🜁" * 100) >= 400
    form = {"type": "json_schema", "schema": {"enum": ["y" * 500]}}
    schema = model()._request([("user", "x")], max_tokens=5, response_format=form)
    assert at_most(schema, None).prompt_tokens > bound("x") + 500
    unbounded = model()._request([("user", "x")], max_tokens=None)
    assert at_most(unbounded, 2048).completion_tokens == 2048


def test_the_bound_of_a_prompt_counts_every_message() -> None:
    turns = [("system", "语言" * 100), ("user", "a" * 50), ("assistant", "b" * 60), ("user", "c")]
    assert at_most(model()._request(turns, max_tokens=5), None).prompt_tokens >= 600 + 50 + 60 + 1 + 64 + 4 * 8


def test_a_bound_is_never_without_a_reply() -> None:
    assert at_most(model()._request([("user", "x")], max_tokens=None), None).completion_tokens >= 4096


def test_a_budget_is_given_with_the_model() -> None:
    lm = model()
    assert open_lm(lm, budget="5 calls") is lm
    assert lm.budget == Budget(calls=5)
    assert open_lm(lm).budget == Budget(calls=5)
    lm.budget = None
    assert lm.budget is None
