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

ASKING: dict[str, Callable[[LanguageModel], object]] = {
    "chat": lambda lm: lm.ask([("user", "?")], max_tokens=3).text,
    "likelihood": lambda lm: lm.likelihood([("user", "?")], "a lake").logprobs,
    "capabilities": lambda lm: lm.capabilities.json_schema,
}
every = pytest.mark.parametrize("ask", ASKING.values(), ids=ASKING)


@pytest.fixture
def lm(loopback: Loopback) -> LanguageModel:
    opened = open_lm("openai/x", api_base=loopback.api_base)
    opened._wait = lambda _: None
    return opened


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
