from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from loopback import Fault, Loopback, Say, echoing, refused

from active_critic import errors
from active_critic.journal import Journal
from active_critic.lm import Capabilities, LanguageModel, open_lm
from active_critic.lm.check import check

DIGIT = Say("5", tokens=[("5", -0.1, {"5": -0.105, "4": -2.303, "yellow": -6.0})], prompt_tokens=20)
SHADE = '{"shade": 5}'


def endpoint(
    *, logprobs: str = "yes", schema: str = "yes", temperature: str = "yes", chat: str = "5", cached: bool = False
) -> Any:
    """An endpoint that takes ("yes"), refuses ("refuses") or passes over ("ignores") each of the three."""

    def answer(body: dict[str, Any]) -> Say | Fault:
        if "temperature" in body and temperature == "refuses":
            return refused("Unsupported value: 'temperature' does not support 0 with this model.")
        if body.get("logprobs") and logprobs == "refuses":
            return refused("You are not allowed to request logprobs from this model.")
        if "response_format" in body:
            if schema == "refuses":
                return refused("Invalid parameter: 'response_format' of type 'json_schema' is not supported.")
            return Say(SHADE if schema == "yes" else "A ripe lemon is yellow.")
        text = str(body["messages"])
        reused = 900 if cached and "Is the sky pale? Answer" in text else 0
        tokens = [(piece, -0.1, {piece: -0.1}) for piece in (chat,)] if chat != "5" else DIGIT.tokens
        read = max(1000, len(text.split()))
        return Say(
            chat, tokens=tokens if logprobs == "yes" else [], prompt_tokens=read, cached_tokens=reused, slow=0.001
        )

    return answer


def opened(loopback: Loopback) -> LanguageModel:
    lm = open_lm("openai/x", api_base=loopback.api_base)
    lm._wait = lambda _: None
    return lm


@pytest.mark.parametrize(
    ("behaviour", "json_schema", "probabilities", "temperature", "calls", "noted"),
    [
        ({}, True, True, True, 2, []),
        ({"logprobs": "ignores"}, True, False, True, 2, []),
        ({"schema": "ignores"}, False, True, True, 2, []),
        ({"logprobs": "refuses"}, True, False, True, 4, ["logprobs"]),
        ({"schema": "refuses"}, False, True, True, 2, ["json_schema"]),
        ({"temperature": "refuses"}, True, True, False, 3, ["temperature"]),
        ({"temperature": "refuses", "logprobs": "refuses"}, True, False, False, 5, ["temperature", "logprobs"]),
        ({"logprobs": "refuses", "schema": "refuses"}, False, False, True, 5, ["logprobs", "json_schema"]),
        ({"chat": "Well, a lemon is rather yellow."}, True, True, True, 2, []),
    ],
)
def test_what_an_endpoint_can_do_is_found_by_asking(
    loopback: Loopback,
    behaviour: dict[str, str],
    json_schema: bool,
    probabilities: bool,
    temperature: bool,
    calls: int,
    noted: list[str],
) -> None:
    loopback.answer = endpoint(**behaviour)
    found = opened(loopback).capabilities
    assert (found.json_schema, found.probabilities, found.temperature) == (json_schema, probabilities, temperature)
    assert loopback.calls == calls
    assert len(found.notes) == len(noted)
    assert all(word in note for word, note in zip(noted, found.notes, strict=True))


def test_it_is_asked_for_once(loopback: Loopback) -> None:
    loopback.answer = endpoint()
    lm = opened(loopback)
    assert lm.capabilities is lm.capabilities
    assert loopback.calls == 2


def test_the_journal_remembers_what_was_found(loopback: Loopback, tmp_path: Any) -> None:
    loopback.answer = endpoint()
    found: list[Capabilities] = []
    for _ in range(2):
        with Journal(tmp_path / "j.sqlite") as journal:
            lm = opened(loopback)
            lm.memory = journal
            found.append(lm.capabilities)
    assert found[0] == found[1] == Capabilities(json_schema=True, probabilities=True)
    assert loopback.calls == 2


@pytest.mark.parametrize(
    "text",
    ['{"shade": 7}', '{"shade": 5, "more": 1}', "[5]", "5", "", '{"shade": "5"}', '{"shade": [5]}', '{"shade": true}'],
)
def test_a_reply_that_only_looks_like_the_schema_is_not_taken_for_it(loopback: Loopback, text: str) -> None:
    loopback.answer = lambda body: Say(text) if "response_format" in body else DIGIT
    assert not opened(loopback).capabilities.json_schema


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        (Fault(status=401), errors.AuthenticationFailed),
        (Fault(status=404, message="no such model"), errors.UnknownModel),
        (Fault(), errors.EndpointDown),
        (Fault(status=402), errors.BillingStopped),
        (refused("no"), errors.RequestRefused),
    ],
)
def test_an_endpoint_that_cannot_be_used_says_why(loopback: Loopback, fault: Fault, error: type[Exception]) -> None:
    loopback.script(fault)
    for ask in (lambda lm: lm.capabilities, check):
        with pytest.raises(error):
            ask(opened(loopback))


def test_a_failure_is_not_remembered(loopback: Loopback) -> None:
    lm = opened(loopback)
    loopback.script(Fault())
    with pytest.raises(errors.EndpointDown):
        _ = lm.capabilities
    loopback.answer = endpoint()
    assert lm.capabilities.probabilities


@pytest.mark.parametrize("what", ["capabilities", "gives_likelihood"])
def test_whoever_waited_for_a_probe_that_failed_gets_its_failure_and_the_next_one_asks(
    loopback: Loopback, what: str
) -> None:
    lm, asked = opened(loopback), threading.Event()
    lm._wait = lambda _: (asked.set(), time.sleep(0.1))
    loopback.script(Fault(status=503))
    loopback.complete = lambda _: Fault(status=503)
    with ThreadPoolExecutor(8) as pool:
        first = pool.submit(getattr, lm, what)
        asked.wait(20)
        others = [pool.submit(getattr, lm, what) for _ in range(7)]
    assert {str(job.exception()) for job in (first, *others)} == {str(first.exception())}
    assert isinstance(first.exception(), errors.EndpointDown)
    assert loopback.calls == 4
    loopback.answer, loopback.complete = endpoint(), echoing(lambda _: -1.0)
    assert getattr(lm, what)


def test_check_measures(loopback: Loopback) -> None:
    loopback.answer = endpoint(cached=True)
    findings = check(opened(loopback))
    assert (findings.json_schema, findings.probabilities, findings.temperature) == (True, True, True)
    assert findings.rating_mass == pytest.approx(1.0, abs=0.01)
    assert findings.prefix_cache
    assert findings.prompt_tokens_per_second > 0
    assert findings.completion_tokens_per_second > 0
    assert [*findings.to_dict().items()][:2] == [("model", "openai/x"), ("chat", True)]
    assert findings.long_prompts
    assert loopback.calls == 8
    assert not findings.likelihood


def test_check_does_not_take_a_chatty_word_for_a_rating(loopback: Loopback) -> None:
    loopback.answer = endpoint(chat="Well, a lemon is rather yellow.")
    findings = check(opened(loopback))
    assert findings.probabilities
    assert findings.rating_mass is None
    assert not findings.prefix_cache


def test_check_does_not_believe_the_journal(loopback: Loopback, tmp_path: Any) -> None:
    with Journal(tmp_path / "j.sqlite") as journal:
        lm = opened(loopback)
        lm.memory = journal
        loopback.answer = endpoint()
        assert lm.capabilities.probabilities
        loopback.answer = endpoint(logprobs="refuses")
        before = len(journal)
        assert not check(lm).probabilities
        assert len(journal) == before
        assert lm.memory is journal


def test_check_finds_the_likelihood_of_a_given_text(loopback: Loopback) -> None:
    loopback.answer = endpoint()
    loopback.complete = echoing(lambda _: -1.0)
    assert check(opened(loopback)).to_dict()["likelihood"]


def test_check_goes_on_where_plain_completions_are_broken(loopback: Loopback) -> None:
    loopback.answer = endpoint()
    loopback.complete = lambda _: Fault(status=500)
    assert not check(opened(loopback)).likelihood


def test_check_asks_at_most_ten_times(loopback: Loopback) -> None:
    loopback.answer = endpoint(temperature="refuses")
    assert not check(opened(loopback)).temperature
    assert loopback.calls == 9


# --- models that think first ------------------------------------------------------------------------------------------

THOUGHTS = 300
"""Tokens that it thinks."""


def thinking(kind: str, *, bound: str = "max_completion_tokens", schema: str = "yes") -> Any:
    """An endpoint whose model thinks for a while: ``"hidden"``, ``"shown"``, or ``"refused"`` where it is cut off.

    The first and the last are as OpenAI's, which take neither a temperature nor ``stop`` nor token probabilities. The
    bound of another name is passed over.
    """

    def answer(body: dict[str, Any]) -> Say | Fault:
        if kind != "shown":
            for name in ("logprobs", "temperature", "stop"):
                if body.get(name) is not None:
                    return refused(f"Unsupported parameter: '{name}' is not supported with this model.")
        if "response_format" in body and schema == "refuses":
            return refused("This response_format type is unavailable now")
        longest = body.get(bound, 10**6)
        if longest > THOUGHTS:
            text, begun = SHADE if "response_format" in body else "5", THOUGHTS
            thought = "<think>\nHm.</think>\n" if kind == "shown" else ""
            return Say(thought + text, completion_tokens=begun + 5)
        if kind == "refused":
            return refused("Could not finish the message because max_tokens or model output limit was reached.", None)
        text = "<think>\nHm," if kind == "shown" else ""
        tokens = [("<think>", -0.1, {"<think>": -0.1, "5": -3.0}), ("\nHm,", -0.1, {})] if kind == "shown" else []
        return Say(text, tokens=tokens, completion_tokens=longest, finish_reason="length")

    return answer


@pytest.mark.parametrize(
    ("kind", "how", "json_schema"),
    [
        ("hidden", {}, True),
        ("refused", {}, True),
        ("shown", {"schema": "refuses"}, False),
        ("hidden", {"bound": "max_tokens"}, True),
        ("hidden", {"bound": "max_tokens", "schema": "refuses"}, False),
    ],
)
def test_a_model_that_thinks_first_is_known_and_all_its_replies_have_room(
    loopback: Loopback, tmp_path: Any, kind: str, how: dict[str, str], json_schema: bool
) -> None:
    loopback.answer = thinking(kind, **how)
    with Journal(tmp_path / "j.sqlite") as journal:
        lm = opened(loopback)
        lm.memory = journal
        found = lm.capabilities
        again = opened(loopback)
        again.memory = journal
        assert again.capabilities == found
        lm.memory = None
    assert found.thinks
    assert (found.json_schema, found.probabilities) == (json_schema, False)
    assert not any("Could not finish" in note for note in found.notes)
    reply = lm.fill([("user", "Rate it.")], {"type": "object"}, max_tokens=40, stop=['"reason"'])
    assert reply.finish_reason == "stop"
    assert check(opened(loopback)).thinks


def test_a_model_that_a_schema_keeps_from_thinking_is_rated_by_probabilities(loopback: Loopback) -> None:
    loopback.answer = lambda body: Say(SHADE) if "response_format" in body else thinking("shown")(body)
    found = opened(loopback).capabilities
    assert (found.thinks, found.json_schema, found.probabilities) == (False, True, True)


def test_a_temperature_that_is_refused_after_probabilities_are_is_left_out(loopback: Loopback) -> None:
    def answer(body: dict[str, Any]) -> Say | Fault:
        if body.get("logprobs"):
            return refused("logprobs is not supported")
        return refused("Unsupported value: 'temperature'") if "temperature" in body else DIGIT

    loopback.answer = answer
    assert opened(loopback).capabilities.temperature is False
