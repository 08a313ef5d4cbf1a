"""What failed attempts cost is known, and the key that they were made with is in nothing that is left of them."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from conftest_lm import KEY
from loopback import Fault, Loopback, Say, echoing, refused
from test_forks import forked

from active_critic import ZeroShot, errors
from active_critic.lm import Budget, LanguageModel
from active_critic.lm.capabilities import Probing
from active_critic.records import Usage

GOOD = Say('{"overall": 3, "justification": "a", "advice": "b"}')


def chain(error: BaseException | None) -> Iterator[BaseException]:
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__


@pytest.mark.parametrize("status", [400, 401, 429, 500])
@pytest.mark.parametrize("asking", ["chat", "likelihood"])
def test_no_error_leads_to_one_that_holds_the_key(
    lm: LanguageModel, loopback: Loopback, status: int, asking: str
) -> None:
    loopback.answer = loopback.complete = lambda _: Fault(status=status, message=f"bad key {KEY}")
    with pytest.raises(errors.ModelError) as caught:
        lm.ask([("user", "?")], max_tokens=3) if asking == "chat" else lm.likelihood([("user", "?")], "a lake")
    assert "***" in str(caught.value)
    for error in chain(caught.value):
        assert KEY not in f"{error}{error!r}{vars(error)}"


def test_who_pays_shows_no_key(lm: LanguageModel) -> None:
    assert KEY in lm._payer.secrets
    assert KEY not in repr(lm._payer)


@pytest.mark.parametrize(
    ("bad", "calls"),
    [(refused("not this one"), 1), (Fault(500), 4), (Say("no form here"), 2)],
    ids=["refused", "failed", "unreadable"],
)
def test_an_unscored_text_says_what_was_sent_for_it(
    lm: LanguageModel, loopback: Loopback, bad: Fault | Say, calls: int
) -> None:
    loopback.answer = lambda body: bad if "TRIGGER" in str(body) else GOOD
    judge = ZeroShot(lm, journal=None).fit(
        [{"response": f"text {n}", "score": 1 + n % 5} for n in range(6)], scale=(1, 5)
    )
    verdicts = list(judge.score_many([{"response": text} for text in ("fine", "TRIGGER", "fine too")]))
    assert [verdict.score is None for verdict in verdicts] == [False, True, False]
    assert verdicts[1].usage.calls == calls
    assert sum(verdict.usage.calls for verdict in verdicts) == loopback.calls == judge.usage.calls


def test_what_was_answered_to_no_use_is_summed_over_attempts_and_counts_once(
    lm: LanguageModel, loopback: Loopback
) -> None:
    def garbled(body: dict[str, Any]) -> Any:
        answer: Any = echoing(lambda _: -1.0)(body)
        return {**answer, "choices": [None]}

    loopback.complete = garbled
    lm.budget = Budget(calls=100)
    with pytest.raises(errors.EndpointDown) as caught:
        lm.likelihood([("user", "?")], "a lake")
    read = lm.usage.prompt_tokens
    assert caught.value.usage == lm.usage == Usage(calls=4, prompt_tokens=read, completion_tokens=4)
    assert lm._purse.account is not None
    assert (lm._purse.account.spent.calls, lm._purse.account.spent.prompt_tokens) == (4, read)


def test_what_came_says_what_attempts_before_it_cost(lm: LanguageModel, loopback: Loopback) -> None:
    def garbled_at_first(body: dict[str, Any]) -> Any:
        answer: Any = echoing(lambda _: -1.0)(body)
        return {**answer, "choices": [None]} if loopback.calls == 1 else answer

    loopback.complete = garbled_at_first
    weighed = lm.likelihood([("user", "?")], "a lake")
    assert weighed.usage == lm.usage
    assert (weighed.usage.calls, weighed.usage.completion_tokens) == (2, 2)


def test_a_budget_that_ends_among_attempts_says_what_they_cost(lm: LanguageModel, loopback: Loopback) -> None:
    loopback.answer = lambda _: Fault(500)
    lm.budget = Budget(calls=2)
    with pytest.raises(errors.BudgetSpent) as caught:
        lm.ask([("user", "?")], max_tokens=3)
    assert isinstance(caught.value.usage, Usage)
    assert caught.value.usage.calls == loopback.calls == 2


def found_out_by_two(first: Exception, second: Exception) -> list[BaseException | None]:
    """What two threads are told that find out something at once, which fails like this where each has its turn."""
    probing, begun, over = Probing(), threading.Event(), threading.Event()

    def find_out(failure: Exception) -> None:
        with probing():
            begun.set()
            over.wait(20)
            raise failure

    with ThreadPoolExecutor(2) as pool:
        one = pool.submit(find_out, first)
        assert begun.wait(20)
        other = pool.submit(find_out, second)
        threading.Timer(0.3, over.set).start()
        return [one.exception(20), other.exception(20)]


def test_those_that_waited_for_a_question_have_not_paid_for_it() -> None:
    failure = errors.AuthenticationFailed("no such key")
    failure.usage = Usage(calls=1)
    told = found_out_by_two(failure, KeyError())
    assert [str(error) for error in told] == ["no such key"] * 2
    assert [getattr(error, "usage", None) for error in told] == [Usage(calls=1), None]


def test_those_that_waited_for_a_question_have_not_spent_the_budget_of_who_asked_it() -> None:
    spent, other = errors.BudgetSpent("all are made"), errors.EndpointDown("broken")
    assert found_out_by_two(spent, other) == [spent, other]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no such processes")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded")
def test_a_forked_process_does_not_wait_for_what_its_parent_finds_out() -> None:
    probing, found = Probing(), threading.Event()

    def find_out() -> None:
        with probing():
            found.set()

    def in_time() -> None:
        threading.Thread(target=find_out, daemon=True).start()
        assert found.wait(5)

    with probing():
        assert forked(in_time)()
