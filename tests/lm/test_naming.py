"""By which name an endpoint of one's own knows a model is found out by asking."""

from __future__ import annotations

from typing import Any

import pytest
from loopback import Fault, Loopback, Say, echoing, refused

from active_critic import errors
from active_critic.lm import Budget, LanguageModel, open_lm
from active_critic.lm.naming import Naming, Way


def opened(name: str, loopback: Loopback) -> LanguageModel:
    lm = open_lm(name, api_base=loopback.api_base)
    lm._wait = lambda _: None
    return lm


def ask(lm: LanguageModel, text: str = "?") -> str:
    return lm.ask([("user", text)], max_tokens=5).text


def serve(loopback: Loopback, model: str) -> None:
    """As vLLM does."""

    def answer(body: dict[str, Any]) -> Say | Fault:
        missing = {"object": "error", "message": f"The model `{body['model']}` does not exist.", "code": 404}
        return Say("ok") if body["model"] == model else Fault(status=404, body=missing)

    loopback.answer = answer


def names(loopback: Loopback) -> list[str]:
    return [asked.body["model"] for asked in loopback.asked]


@pytest.mark.parametrize("name", ["openai/gpt-oss-20b", "deepseek/deepseek-r1", "groq/x"])
def test_a_model_that_has_its_whole_name_on_the_wire_is_found(loopback: Loopback, name: str) -> None:
    serve(loopback, name)
    lm = opened(name, loopback)
    lm.budget = Budget(calls=3)
    assert [ask(lm, "a"), ask(lm, "b")] == ["ok", "ok"]
    assert names(loopback) == [name.partition("/")[2], name, name]
    assert lm.identity == {"name": name, "endpoint": loopback.api_base}
    with pytest.raises(errors.BudgetSpent):  # each of the three counts
        ask(lm, "c")


@pytest.mark.parametrize(
    "refusal",
    [
        Fault(status=400, message="x is not a valid model ID", code="400"),  # OpenRouter
        refused("Invalid model name passed in model=x. Call `/v1/models` to view available models", None),  # LiteLLM
        refused("Model Not Exist", None),  # DeepSeek
        Fault(status=404, message='model "x" not found, try pulling it first'),  # Ollama
    ],
)
def test_that_a_model_is_missing_is_said_in_many_words(loopback: Loopback, refusal: Fault) -> None:
    loopback.answer = lambda body: Say("ok") if body["model"] == "openai/x" else refusal
    lm, waits = opened("openai/x", loopback), []
    lm._wait = waits.append
    assert ask(lm) == "ok"
    assert waits == [0.0]


def test_a_model_that_is_there_by_neither_name_is_said_with_both(loopback: Loopback) -> None:
    serve(loopback, "another")
    lm = opened("openai/x", loopback)
    with pytest.raises(errors.UnknownModel) as caught:
        ask(lm)
    said = "has no such model (The model `x` does not exist.); it was asked for as x and as openai/x"
    assert str(caught.value) == f"openai/x: the endpoint {said}"
    assert caught.value.usage.calls == 2  # type: ignore[attr-defined]
    with pytest.raises(errors.UnknownModel):
        ask(lm)
    assert names(loopback) == ["x", "openai/x", "x"]


@pytest.mark.parametrize("name", ["x", "Qwen/x"])
def test_a_name_that_can_be_meant_in_one_way_is_asked_for_once(loopback: Loopback, name: str) -> None:
    serve(loopback, "another")
    with pytest.raises(errors.UnknownModel, match=r"has no such model \(The model .* does not exist\.\)$"):
        ask(opened(name, loopback))
    assert names(loopback) == [name]


def test_what_is_refused_of_a_model_that_is_there_is_not_asked_of_another(loopback: Loopback) -> None:
    told = "No endpoints found that can handle the requested parameters."  # OpenRouter has the model
    loopback.script(Fault(status=404, message=told))
    for fault in (Fault(status=404, message=told), refused("this model does not support temperature", None)):
        loopback.script(fault)
        with pytest.raises(errors.ModelError):
            ask(opened("openai/x", loopback))
    assert names(loopback) == ["x", "x"]


def test_a_model_that_once_answered_is_known(loopback: Loopback) -> None:
    lm = opened("openai/x", loopback)
    ask(lm, "a")
    loopback.script(Fault(status=404, message="no such model"))
    with pytest.raises(errors.UnknownModel):
        ask(lm, "b")
    assert names(loopback) == ["x", "x"]


def test_texts_are_weighed_by_the_name_that_was_found(loopback: Loopback) -> None:
    serve(loopback, "openai/x")
    loopback.complete = echoing(lambda _: -1.0)
    lm = opened("openai/x", loopback)
    ask(lm)
    assert lm.likelihood([("user", "?")], "a lake").logprobs == (-1.0, -1.0)
    assert names(loopback) == ["x", "openai/x", "openai/x"]


@pytest.mark.parametrize("name", ["anthropic/claude-x", "gemini/gemini-x"])
def test_with_an_address_the_protocol_is_that_of_openai(loopback: Loopback, name: str) -> None:
    assert ask(opened(name, loopback)) == "hello"
    assert [asked.path for asked in loopback.asked] == ["/v1/chat/completions"]
    assert names(loopback) == [name]


def anthropic(loopback: Loopback) -> None:
    def answer(body: dict[str, Any]) -> Any:
        if not loopback.asked[-1].path.endswith("/messages"):
            return Fault(status=404, body="<html>Not Found</html>")
        document = {"id": "m", "type": "message", "role": "assistant", "model": body["model"]}
        document |= {"content": [{"type": "text", "text": "claude"}], "stop_reason": "end_turn"}
        return document | {"usage": {"input_tokens": 5, "output_tokens": 1}}

    loopback.answer = answer


def test_an_endpoint_that_speaks_only_the_protocol_of_the_provider_is_asked_in_that(loopback: Loopback) -> None:
    anthropic(loopback)
    lm = opened("anthropic/claude-x", loopback)
    assert [ask(lm, "a"), ask(lm, "b")] == ["claude", "claude"]
    assert [asked.path for asked in loopback.asked] == ["/v1/chat/completions", "/v1/messages", "/v1/messages"]
    assert names(loopback)[1:] == ["claude-x", "claude-x"]


def test_an_address_in_the_variable_of_the_provider_speaks_its_protocol(
    loopback: Loopback, monkeypatch: pytest.MonkeyPatch
) -> None:
    anthropic(loopback)
    monkeypatch.setenv("ANTHROPIC_BASE_URL", loopback.api_base)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-none-of-yours")
    assert ask(open_lm("anthropic/claude-x")) == "claude"
    assert loopback.calls == 1


def test_threads_that_find_out_at_once_all_go_the_other_way() -> None:
    from dspy.utils.exceptions import LMInvalidRequestError

    late: list[Any] = []

    def gone(request: Any) -> Any:
        if not late:  # while this one is under way, another is told the same
            late.append(request)
            with pytest.raises(LMInvalidRequestError):
                naming.send(request)
        raise LMInvalidRequestError(message="no such model", status=404)

    there = Way("a/x", lambda _: "ok", lambda: None)  # type: ignore[arg-type, return-value]
    naming = Naming(Way("x", gone, lambda: None), there)
    with pytest.raises(LMInvalidRequestError) as caught:
        naming.send(None)  # type: ignore[arg-type]
    assert caught.value.in_other_words
    assert naming.send(None) == "ok"  # type: ignore[arg-type, comparison-overlap]
