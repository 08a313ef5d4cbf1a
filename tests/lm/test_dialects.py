"""Endpoints that speak OpenAI's protocol each in its own way: other forms of failure, other names of the bound."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from loopback import Fault, Loopback, Say, completion, refused

from active_critic import errors
from active_critic.errors import ModelError
from active_critic.journal import Journal
from active_critic.lm import Budget, Capabilities, LanguageModel, open_lm
from active_critic.records import Usage

ASK: list[Any] = [("user", "hi")]


@pytest.fixture
def waits() -> list[float]:
    return []


def by_name(api_base: str) -> LanguageModel:
    return open_lm("x", api_base=api_base)


def through_dspy(api_base: str) -> LanguageModel:
    import dspy

    return open_lm(dspy.LM("openai/x", api_base=api_base, api_key="none", cache=False))


@pytest.fixture(params=[by_name, through_dspy])
def opening(request: pytest.FixtureRequest, waits: list[float]) -> Callable[[str], LanguageModel]:
    def opening(api_base: str) -> LanguageModel:
        opened: LanguageModel = request.param(api_base)
        opened._wait = waits.append
        return opened

    return opening


@pytest.fixture
def lm(loopback: Loopback, opening: Callable[[str], LanguageModel]) -> LanguageModel:
    return opening(loopback.api_base)


# --- failures ---------------------------------------------------------------------------------------------------------

CONTEXT = "This model's maximum context length is 4096 tokens. However, you requested 9001 tokens."
EXTRA = {"detail": [{"type": "extra_forbidden", "loc": ["body", "logprobs"], "msg": "Extra inputs are not permitted"}]}
FAILURES: dict[str, tuple[Fault, type[ModelError], str]] = {
    "FastAPI": (
        Fault(status=422, body={"detail": [{"loc": ["body", "top_p"], "msg": "Field required"}]}),
        errors.RequestRefused,
        "top_p",
    ),
    "Mistral": (Fault(status=422, body={"object": "error", "message": EXTRA}), errors.RequestRefused, "logprobs"),
    "vLLM": (
        Fault(status=404, body={"object": "error", "message": "The model `x` does not exist.", "code": 404}),
        errors.UnknownModel,
        "has no such model",
    ),
    "vLLM, too long": (
        Fault(status=400, body={"object": "error", "message": CONTEXT, "type": "BadRequestError", "code": 400}),
        errors.ContextOverflow,
        "9001 tokens",
    ),
    "vLLM, too long, now": (Fault(status=400, message=CONTEXT, code="400"), errors.ContextOverflow, "9001 tokens"),
    "TGI, too long": (
        Fault(status=422, body={"error": "Input validation error: `inputs` must have less than 4096 tokens."}),
        errors.ContextOverflow,
        "4096",
    ),
    "Gemini": (Fault(status=400, body=[{"error": {"code": 400, "message": "bad"}}]), errors.RequestRefused, "bad"),
    "a gateway": (Fault(status=403, body={"message": "Forbidden"}), errors.AuthenticationFailed, "Forbidden"),
    "OpenRouter, broke": (
        Fault(status=200, body={"error": {"code": 402, "message": "Insufficient credits"}, "user_id": "u"}),
        errors.BillingStopped,
        "Insufficient credits",
    ),
    "OpenRouter, no user": (
        Fault(status=200, body={"error": {"code": 401, "message": "User not found."}}),
        errors.AuthenticationFailed,
        "User not found",
    ),
    "OpenRouter, withheld": (
        Fault(status=403, message="x requires moderation. Your input was flagged for violence.", code="403"),
        errors.RequestRefused,
        "flagged",
    ),
    "OpenAI, a model that thinks": (
        Fault(status=403, message="You are not allowed to request logprobs from this model"),
        errors.RequestRefused,
        "logprobs",
    ),
    "a backend without probabilities": (
        Fault(status=500, message="logprobs is not supported by this backend"),
        errors.RequestRefused,
        "logprobs",
    ),
    "a backend without anything": (Fault(status=501, message="no such thing"), errors.RequestRefused, "no such thing"),
    "OpenRouter, nobody takes it": (
        Fault(status=404, message="No endpoints found that can handle the requested parameters.", code="404"),
        errors.RequestRefused,
        "requested parameters",
    ),
    "OpenRouter, broke, with choices": (
        Fault(status=200, body={"error": {"code": "402", "message": "Insufficient credits"}, "choices": []}),
        errors.BillingStopped,
        "Insufficient credits",
    ),
    "Groq, more than a minute's tokens": (
        Fault(
            status=413,
            message="Request too large for model `x`: Limit 6000, Requested 8000",
            code="rate_limit_exceeded",
        ),
        errors.ContextOverflow,
        "Requested 8000",
    ),
    "LM Studio, too long": (
        Fault(status=400, body={"error": "the model is loaded with context length of only 4096 tokens"}),
        errors.ContextOverflow,
        "4096",
    ),
    "Anthropic, too long": (
        Fault(status=400, message="prompt is too long: 210000 tokens > 200000 maximum"),
        errors.ContextOverflow,
        "210000",
    ),
    "Anthropic, broke": (
        Fault(status=400, message="Your credit balance is too low to access the API."),
        errors.BillingStopped,
        "credit balance",
    ),
    "Gemini, wrong key": (
        Fault(status=400, message="API key not valid. Please pass a valid API key."),
        errors.AuthenticationFailed,
        "not valid",
    ),
}


@pytest.mark.parametrize(("fault", "error", "said"), FAILURES.values(), ids=FAILURES)
def test_a_failure_of_another_form_is_told_and_not_tried_again(
    lm: LanguageModel, loopback: Loopback, fault: Fault, error: type[ModelError], said: str
) -> None:
    loopback.script(fault)
    with pytest.raises(error) as caught:
        lm.ask(ASK, max_tokens=5)
    assert type(caught.value) is error
    assert said in str(caught.value)
    assert loopback.calls == 1


@pytest.mark.parametrize(
    ("fault", "error", "said"),
    [
        (Fault(status=200, body={"error": {"code": 429, "message": "busy"}}), errors.RateLimited, "busy"),
        (Fault(status=200, body={"error": "it needs more memory"}), errors.EndpointDown, "it needs more memory"),
        (Fault(status=500, body={"message": "no upstream"}), errors.EndpointDown, "no upstream"),
        (Fault(status=500, body="[]"), errors.EndpointDown, "HTTP 500"),
    ],
)
def test_a_passing_failure_of_another_form_is_told_and_tried_again(
    lm: LanguageModel, loopback: Loopback, fault: Fault, error: type[ModelError], said: str
) -> None:
    loopback.script(fault, Say("ok"))
    assert lm.ask(ASK, max_tokens=5).text == "ok"
    loopback.script(fault)
    with pytest.raises(error) as caught:
        lm.ask(ASK, max_tokens=5)
    assert said in str(caught.value)


def test_what_an_error_within_a_reply_says_is_told_without_the_key(
    loopback: Loopback, monkeypatch: pytest.MonkeyPatch
) -> None:
    def answer(body: dict[str, Any]) -> Any:  # as OpenRouter does
        document = completion(Say("half", finish_reason="error"), body)
        document["choices"][0]["error"] = {"code": 502, "message": "sk-none-of-yours timed out upstream"}
        return document

    monkeypatch.setenv("OPENAI_API_KEY", "sk-none-of-yours")
    loopback.answer = answer
    lm = open_lm("x", api_base=loopback.api_base)
    lm._wait = lambda _: None
    with pytest.raises(errors.EndpointDown, match=r"ends with an error: \*\*\* timed out upstream") as caught:
        lm.ask(ASK, max_tokens=5)
    assert caught.value.may_be_billed
    assert loopback.calls == 4


@pytest.mark.parametrize("status", [403, 502])
def test_of_a_web_page_a_message_shows_the_beginning(lm: LanguageModel, loopback: Loopback, status: int) -> None:
    loopback.script(Fault(status=status, body="<!DOCTYPE html>\n<title>Just a moment...</title>" + "pad " * 999))
    with pytest.raises(ModelError, match="Just a moment") as caught:
        lm.ask(ASK, max_tokens=5)
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_said_and_not_followed(lm: LanguageModel, loopback: Loopback, status: int) -> None:
    loopback.script(Fault(status=status, message="elsewhere"))
    with pytest.raises(
        errors.UnknownModel, match=rf"x: HTTP {status}: the endpoint points to another address.*give that"
    ):
        lm.ask(ASK, max_tokens=5)
    assert loopback.calls == 1


# --- the longest that a reply may be ----------------------------------------------------------------------------------


def test_an_endpoint_that_passes_over_the_name_of_the_bound_is_told_by_the_former_one(
    lm: LanguageModel, loopback: Loopback
) -> None:
    def answer(body: dict[str, Any]) -> Say:  # as Ollama does
        written = min(400, body.get("max_tokens", 400))
        return Say("word " * written, completion_tokens=written, finish_reason="stop" if written == 400 else "length")

    loopback.answer = answer
    assert [lm.ask([("user", f"{i}")], max_tokens=10).usage.completion_tokens for i in range(3)] == [400, 10, 10]
    assert [sorted(set(asked.body) - {"model", "messages", "temperature"}) for asked in loopback.asked] == [
        ["max_completion_tokens"],
        ["max_tokens"],
        ["max_tokens"],
    ]


def test_a_reply_without_a_count_of_tokens_has_as_many_as_words_at_least(lm: LanguageModel, loopback: Loopback) -> None:
    def answer(body: dict[str, Any]) -> Any:  # as Ollama does, behind what leaves the count out
        document = completion(Say("word " * min(40, body.get("max_tokens", 40))), body)
        del document["usage"]
        return document

    loopback.answer = answer
    assert [len(lm.ask([("user", f"{i}")], max_tokens=10).text.split()) for i in range(3)] == [40, 10, 10]


@pytest.mark.parametrize(
    "refusal",
    [
        Fault(
            status=422,
            body={"message": {"detail": [{"loc": ["body", "max_completion_tokens"], "msg": "Extra inputs"}]}},
        ),
        refused("Unrecognized request argument supplied: max_completion_tokens", None),
    ],
)
def test_an_endpoint_that_refuses_the_name_of_the_bound_is_told_by_the_former_one(
    lm: LanguageModel, loopback: Loopback, waits: list[float], refusal: Fault
) -> None:
    loopback.answer = lambda body: refusal if "max_completion_tokens" in body else Say("ok")
    lm.budget = Budget(calls=3)
    assert [lm.ask([("user", f"{i}")], max_tokens=10).text for i in range(2)] == ["ok", "ok"]
    assert loopback.calls == 3  # each counts, the refused one too
    assert waits == [0.0]
    with pytest.raises(errors.BudgetSpent):
        lm.ask(ASK, max_tokens=10)


def test_an_endpoint_that_takes_only_the_present_name_keeps_it(lm: LanguageModel, loopback: Loopback) -> None:
    def answer(body: dict[str, Any]) -> Say | Fault:
        if "max_tokens" in body:
            return refused("Unsupported parameter: 'max_tokens' is not supported. Use 'max_completion_tokens' instead.")
        return Say("ok", completion_tokens=500)  # what it thought is not bounded

    loopback.answer = answer
    assert [lm.ask([("user", f"{i}")], max_tokens=10).text for i in range(3)] == ["ok"] * 3
    assert ["max_tokens" in asked.body for asked in loopback.asked] == [False, True, False, False]


def test_a_refusal_of_the_number_is_no_refusal_of_the_name(lm: LanguageModel, loopback: Loopback) -> None:
    loopback.script(refused("max_completion_tokens is too large: 10. This model has room for 5", None))
    with pytest.raises(errors.RequestRefused, match="too large"):
        lm.ask(ASK, max_tokens=10)
    assert loopback.calls == 1


def test_the_name_of_the_bound_is_no_part_of_what_is_asked(
    lm: LanguageModel, loopback: Loopback, opening: Callable[[str], LanguageModel], tmp_path: Any
) -> None:
    with Journal(tmp_path / "j.sqlite") as journal, lm.remembering(journal):
        loopback.answer = lambda body: Say("ok", completion_tokens=3 if "max_tokens" in body else 30)
        for _ in range(2):
            lm.ask(ASK, max_tokens=10)
        lm.ask([("user", "else")], max_tokens=10)
        again = opening(loopback.api_base)  # knows nothing of names yet
        with again.remembering(journal):
            assert again.ask([("user", "else")], max_tokens=10).usage == Usage(replayed=1)
    assert loopback.calls == 2


# --- what is refused beside the text ----------------------------------------------------------------------------------


def test_an_endpoint_that_writes_no_fewer_tokens_than_16_is_asked_for_as_many(
    loopback: Loopback, waits: list[float], tmp_path: Path
) -> None:
    def answer(asked: Any) -> Say | Fault:
        if (longest := asked["max_completion_tokens"]) < 16:
            told = f"Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16, got {longest}."
            return Fault(status=400, message=told, code="integer_below_min_value")
        return Say("5")

    loopback.answer = answer
    for run in (1, 2):
        with open_lm("x", api_base=loopback.api_base) as lm, Journal(tmp_path / "journal.sqlite") as journal:
            lm.memory = journal
            lm._wait = waits.append
            assert lm.ask(ASK, max_tokens=1).text == "5"
            assert lm.ask(ASK, max_tokens=4).text == "5"
        assert loopback.calls == 3, f"run {run}: one refused, two answered and kept"
    assert waits == [0.0]


@pytest.mark.parametrize("keyword", ["maxLength", "minimum", "minItems"])
def test_an_endpoint_that_takes_no_bounds_in_a_schema_gets_the_form_without(
    lm: LanguageModel, loopback: Loopback, keyword: str
) -> None:
    schema = {
        "type": "object",
        "properties": {
            "minimum": {"type": "integer", "minimum": 1, "maximum": 5},  # a criterion may be called that
            "names": {"type": "array", "items": {"type": "string", "maxLength": 9}, "minItems": 1},
        },
        "required": ["minimum", "names"],
    }
    sent: list[Any] = []

    def answer(asked: Any) -> Say | Fault:
        sent.append(asked["response_format"]["json_schema"]["schema"])
        if any(keyword in part for part in (sent[-1]["properties"]["minimum"], sent[-1]["properties"]["names"])) or (
            keyword in sent[-1]["properties"]["names"]["items"]
        ):
            return Fault(status=400, message=f"output_config.format.schema: property '{keyword}' is not supported")
        return Say("{}")

    loopback.answer = answer
    lm._capabilities = Capabilities(json_schema=True)
    for _ in range(2):
        assert lm.fill(ASK, schema, max_tokens=50).text == "{}"
    bare = {"minimum": {"type": "integer"}, "names": {"type": "array", "items": {"type": "string"}}}
    assert sent[0] == schema
    assert [form["properties"] for form in sent[1:]] == [bare, bare]
    assert sent[1]["required"] == schema["required"]


def test_what_is_refused_in_other_words_too_is_refused(lm: LanguageModel, loopback: Loopback) -> None:
    loopback.script(Fault(status=400, message="Invalid schema: 'type' is not permitted"))
    lm._capabilities = Capabilities(json_schema=True)
    bounded = {"type": "object", "properties": {"a": {"type": "integer", "minimum": 1}}}
    with pytest.raises(errors.RequestRefused, match="not permitted"):
        lm.fill(ASK, bounded, max_tokens=50)
    assert loopback.calls == 2
