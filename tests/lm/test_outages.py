"""An outage is waited out where one failure would end the whole work, and the endpoint has answered before."""

from __future__ import annotations

from typing import Any

import pytest
from loopback import Fault, Loopback, Say, echoing

from active_critic import GPTScore, errors
from active_critic.cli._progress import Waits
from active_critic.lm import LanguageModel
from active_critic.lm.retrying import ALL_OR_NOTHING

USUAL = [1.0, 2.0, 4.0]
LONGEST = [*USUAL, 8.0, 16.0, 32.0, 60.0, 60.0]


def after_an_answer(lm: LanguageModel, loopback: Loopback, *then: Say | Fault) -> str:
    loopback.script(Say("first"), *then)
    lm.ask([("user", "one")], max_tokens=5)
    return lm.ask([("user", "two")], max_tokens=5).text


@pytest.mark.parametrize("down", [Fault(status=500), Fault(status=503)])
def test_an_outage_of_three_minutes_is_waited_out(
    lm: LanguageModel, loopback: Loopback, waits: list[float], down: Fault
) -> None:
    with ALL_OR_NOTHING.being(True):
        assert after_an_answer(lm, loopback, *[down] * 8, Say("at last")) == "at last"
    assert waits == LONGEST


def test_a_longer_one_is_told(lm: LanguageModel, loopback: Loopback, waits: list[float]) -> None:
    with ALL_OR_NOTHING.being(True), pytest.raises(errors.EndpointDown) as caught:
        after_an_answer(lm, loopback, Fault(status=502))
    assert waits == LONGEST
    assert caught.value.__notes__ == ["It was asked 9 times."]


def test_where_a_failure_costs_one_text_only_nobody_waits_so_long(
    lm: LanguageModel, loopback: Loopback, waits: list[float]
) -> None:
    with pytest.raises(errors.EndpointDown):
        after_an_answer(lm, loopback, Fault(status=503))
    assert waits == USUAL


def test_an_endpoint_that_never_answered_may_have_a_wrong_address(
    lm: LanguageModel, loopback: Loopback, waits: list[float]
) -> None:
    loopback.script(Fault(status=503))
    with ALL_OR_NOTHING.being(True), pytest.raises(errors.EndpointDown):
        lm.ask([("user", "one")], max_tokens=5)
    assert waits == USUAL


@pytest.mark.parametrize("billed", [Fault("reset"), Fault("empty")])
def test_what_may_be_on_the_bill_is_not_sent_more_often(
    lm: LanguageModel, loopback: Loopback, waits: list[float], billed: Fault
) -> None:
    with ALL_OR_NOTHING.being(True), pytest.raises(errors.EndpointDown):
        after_an_answer(lm, loopback, billed)
    assert waits == USUAL


def test_a_fit_goes_on_after_an_outage_and_the_scoring_behind_it_is_as_ever(
    lm: LanguageModel, loopback: Loopback, waits: list[float]
) -> None:
    answers, asked = echoing(lambda word: -float(len(word))), []

    def complete(body: dict[str, Any]) -> dict[str, Any] | Fault:
        asked.append(body["prompt"])
        return Fault(status=503) if 4 <= len(asked) < 10 or "broken" in body["prompt"] else answers(body)

    loopback.complete = complete
    lm.workers = 1
    rows = [{"response": "a lake " * n, "score": n} for n in range(1, 6)]
    judge = GPTScore(lm, journal=None).fit(rows, scale=(1, 5))
    assert waits == LONGEST[:6]
    waits.clear()
    with pytest.raises(errors.EndpointDown):
        judge.score(response="a broken lake")
    assert waits == USUAL


def test_that_calls_wait_is_shown_while_they_do(lm: LanguageModel, loopback: Loopback) -> None:
    shown, told = [], Waits(lm)
    lm._wait = lambda _: shown.append(told.__rich__())
    loopback.script(Fault(status=503), Say("at last"))
    lm.ask([("user", "one")], max_tokens=5)
    assert shown == ["waiting for the endpoint"]
    assert told.__rich__() == Waits(None).__rich__() == ""
