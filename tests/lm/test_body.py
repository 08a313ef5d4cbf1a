"""A reply that comes to no end costs neither memory nor a thread."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import pytest
from loopback import Fault, Loopback, Say, echoing

from active_critic.errors import EndpointDown
from active_critic.lm import LanguageModel, open_lm
from active_critic.lm.body import EndlessReply, whole


def ask_for(lm: LanguageModel) -> str:
    return lm.ask([("user", "?")], max_tokens=3).text


ASKING: dict[str, Callable[[LanguageModel], object]] = {
    "chat": ask_for,
    "likelihood": lambda lm: lm.likelihood([("user", "?")], "a lake").logprobs,
    "capabilities": lambda lm: lm.capabilities.json_schema,
}
every = pytest.mark.parametrize("ask", ASKING.values(), ids=ASKING)


@pytest.fixture
def lm(loopback: Loopback) -> LanguageModel:
    opened = open_lm("openai/x", api_base=loopback.api_base)
    opened._wait = lambda _: None
    return opened


def test_a_reply_longer_than_any_is_broken_off_through_a_dspy_lm_too(
    loopback: Loopback, monkeypatch: pytest.MonkeyPatch
) -> None:
    import dspy

    monkeypatch.setattr("active_critic.lm.body.LONGEST", 2**20)
    loopback.script(Fault("flood"))
    lm = open_lm(dspy.LM("openai/x", api_base=loopback.api_base, api_key="none"))
    lm._wait = lambda _: None
    with pytest.raises(EndpointDown, match=r"its reply has more than 1 MiB"):
        ask_for(lm)


def say(loopback: Loopback, fault: Fault) -> None:
    loopback.answer = loopback.complete = lambda _: fault


@every
@pytest.mark.parametrize("how", ["flood", "packed"])
def test_a_reply_longer_than_any_is_broken_off_and_asked_for_again(
    lm: LanguageModel, loopback: Loopback, monkeypatch: pytest.MonkeyPatch, how: str, ask: Callable[..., object]
) -> None:
    monkeypatch.setattr("active_critic.lm.body.LONGEST", 2**20)
    say(loopback, Fault(how))
    with pytest.raises(EndpointDown, match=r"does not answer \(its reply has more than 1 MiB\)") as caught:
        ask(lm)
    assert loopback.calls == 4
    assert caught.value.may_be_billed
    loopback.answer, loopback.complete = (lambda _: Say("5")), echoing(lambda _: -1.0)
    assert ask(lm) is not None


@every
def test_a_reply_that_is_packed_twice_is_not_unpacked(
    lm: LanguageModel, loopback: Loopback, ask: Callable[..., object]
) -> None:
    say(loopback, Fault("packed twice"))
    with pytest.raises(EndpointDown, match=r"its reply is packed more than once"):
        ask(lm)
    assert loopback.calls == 4


@pytest.mark.parametrize("status", [102, 103, 204, 304])
def test_a_reply_that_follows_an_empty_one_is_not_taken_for_that_to_the_next_request(
    loopback: Loopback, lm: LanguageModel, status: int
) -> None:
    lm._retries = 0
    loopback.script(Say("first", before=status, slow=0.3), Say("second"))
    with pytest.raises(EndpointDown, match=f"it sent {status} and no reply"):
        ask_for(lm)
    assert ask_for(lm) == "second"


@every
def test_what_nobody_waits_for_any_more_is_read_no_further(loopback: Loopback, ask: Callable[..., object]) -> None:
    say(loopback, Fault("endless"))
    lm = open_lm("openai/x", api_base=loopback.api_base, timeout=1.0)
    lm._retries = 0
    before = set(threading.enumerate())
    with pytest.raises(EndpointDown, match="no whole reply within 1 seconds"):
        ask(lm)
    until = time.monotonic() + 20
    while left := set(threading.enumerate()) - before:  # this side's and the server's, which finds the line closed
        assert time.monotonic() < until, left
        time.sleep(0.02)


def test_a_body_is_put_together() -> None:
    assert whole([b"a", b"", b"bc"]) == b"abc"
    assert whole([]) == b""


def test_a_body_may_be_as_long_as_the_limit_and_no_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("active_critic.lm.body.LONGEST", 4)
    assert whole([b"ab", b"cd"]) == b"abcd"
    with pytest.raises(EndlessReply):
        whole([b"ab", b"cd", b"e"])
