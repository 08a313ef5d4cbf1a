"""A reply that does not come in time: the client's limit is as long as ours, and either may be reached first."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import wait
from typing import Any

import pytest
from loopback import Loopback, Say

from active_critic import errors
from active_critic.lm import LanguageModel, deadline, open_lm
from active_critic.lm.budget import Account, Budget
from active_critic.lm.deadline import within

LIMIT = 0.1
"""Seconds to wait for a reply."""
ASK = [("user", "How good?")]
WAYS: dict[str, Callable[[LanguageModel], object]] = {
    "chat": lambda lm: lm.ask(ASK, max_tokens=5),
    "likelihood": lambda lm: lm.likelihood(ASK, "fair"),
}


@pytest.fixture(params=["client", "ours"])
def first(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whose limit is reached first, as either is on a busy machine: who waits, or who works, gets to run late."""
    prepared = deadline._prepared

    def late(work: Callable[[], Any]) -> Any:
        if request.param == "ours":
            return prepared(lambda: (time.sleep(LIMIT), work())[1])
        done, begin = prepared(work)
        return done, lambda: (begin(), wait([done], 20))

    monkeypatch.setattr(deadline, "_prepared", late)


def opened(way: str, loopback: Loopback) -> LanguageModel:
    if way == "a dspy.LM":
        import dspy

        inner = dspy.LM("openai/x", api_base=loopback.api_base, api_key="none", timeout=LIMIT)
        return open_lm(inner)
    return open_lm("openai/x", api_base=loopback.api_base, timeout=LIMIT)


@pytest.mark.parametrize("way", [*WAYS, "a dspy.LM"])
@pytest.mark.usefixtures("first")
def test_it_is_told_tried_again_and_paid_for_the_same(way: str, loopback: Loopback) -> None:
    def late(body: dict[str, Any]) -> Any:
        loopback.over.wait(20)
        return Say("late")

    loopback.answer = loopback.complete = late
    lm, waits = opened(way, loopback), []
    lm._weighs, lm._wait = True, waits.append
    lm._purse.account = account = Account(Budget(calls=9), lm.name, lm.price_of, keeps=lambda: False)
    with pytest.raises(errors.EndpointDown) as caught:
        WAYS.get(way, WAYS["chat"])(lm)
    assert str(caught.value) == f"openai/x: no whole reply within {LIMIT:g} seconds"
    assert caught.value.may_be_billed
    assert account.spent.prompt_tokens > 0  # each attempt counts as the most it may have taken
    assert (caught.value.usage.calls, waits) == (4, [1.0, 2.0, 4.0])


def test_what_comes_just_after_is_taken_where_it_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deadline, "wait", lambda _, seconds: time.sleep(3 * seconds))
    assert within(LIMIT, lambda: time.sleep(LIMIT) or "here") == "here"


def test_nothing_of_what_the_client_said_is_left_in_the_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    def slow() -> None:
        time.sleep(LIMIT)
        raise OSError("Authorization: Bearer sk-secret")

    monkeypatch.setattr(deadline, "wait", lambda _, seconds: time.sleep(3 * seconds))
    with pytest.raises(TimeoutError, match=rf"^no whole reply within {LIMIT:g} seconds$") as caught:
        within(LIMIT, slow)
    assert (caught.value.__cause__, caught.value.__context__) == (None, None)
