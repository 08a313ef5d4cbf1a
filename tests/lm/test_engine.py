from __future__ import annotations

import json
from typing import Any

import dspy
import pytest
from loopback import Fault, Loopback, Say
from test_client import FINAL, RETRYABLE

from active_critic import errors
from active_critic.errors import ModelError
from active_critic.journal import Journal
from active_critic.lm import Capabilities, LanguageModel
from active_critic.lm.engine import own_errors


def fenced(**fields: Any) -> Say:
    return Say(json.dumps(fields), prompt_tokens=20, cached_tokens=8, completion_tokens=4)


def test_predict_uses_the_same_journal_counting_and_retries(
    lm: LanguageModel, loopback: Loopback, waits: list[float], tmp_path: Any
) -> None:
    loopback.script(Fault(), fenced(answer="blue"), fenced(answer="other"))
    with Journal(tmp_path / "j.sqlite") as journal, lm.remembering(journal):
        with dspy.context(lm=lm.dspy, adapter=dspy.JSONAdapter()):
            predict = dspy.Predict("question -> answer")
            answers = [predict(question="Which colour is the sky?").answer for _ in range(2)]
        assert len(journal) == 1
    assert answers == ["blue", "blue"]
    assert loopback.calls == 2
    assert waits == [1.0]
    assert lm.usage.calls == 2
    assert lm.usage.replayed == 1
    assert (lm.usage.prompt_tokens, lm.usage.cached_tokens, lm.usage.completion_tokens) == (20, 8, 4)
    assert lm.memory is None


def test_predict_sends_the_schema_and_temperature(lm: LanguageModel, loopback: Loopback) -> None:
    loopback.script(fenced(answer="blue"))
    with dspy.context(lm=lm.dspy, adapter=dspy.JSONAdapter()):
        dspy.Predict("question -> answer", max_tokens=77)(question="?")
    body = loopback.asked[0].body
    assert body["response_format"]["type"] == "json_schema"
    assert body["response_format"]["json_schema"]["schema"]["required"] == ["answer"]
    assert body["temperature"] == 0.0
    assert body["max_completion_tokens"] == 77


@pytest.mark.parametrize(("fault", "error"), [FINAL[0], FINAL[-1], RETRYABLE[0]])
def test_our_errors_come_out_of_dspy_modules(
    lm: LanguageModel, loopback: Loopback, fault: Fault, error: type[ModelError]
) -> None:
    loopback.script(fault)
    with pytest.raises(error), own_errors(), dspy.context(lm=lm.dspy, adapter=dspy.JSONAdapter()):
        dspy.Predict("question -> answer")(question="?")
    assert loopback.calls == ((7 if error is errors.RateLimited else 4) if error.retryable else 1)
    with pytest.raises(ZeroDivisionError), own_errors():
        1 / 0  # noqa: B018


def test_predict_sends_no_schema_or_temperature_where_the_endpoint_takes_none(
    lm: LanguageModel, loopback: Loopback
) -> None:
    lm._capabilities = Capabilities(temperature=False)
    loopback.script(fenced(answer="blue"))
    with dspy.context(lm=lm.dspy, adapter=dspy.JSONAdapter()):
        assert dspy.Predict("question -> answer")(question="?").answer == "blue"
    assert "temperature" not in loopback.asked[0].body
    assert "response_format" not in loopback.asked[0].body


@pytest.mark.parametrize(("thinks", "longest"), [(False, 1500), (True, 5500)])
def test_predict_has_room_to_think_where_the_model_does(
    lm: LanguageModel, loopback: Loopback, thinks: bool, longest: int
) -> None:
    lm._capabilities = Capabilities(thinks=thinks)
    loopback.script(fenced(answer="blue"))
    with dspy.context(lm=lm.dspy, adapter=dspy.JSONAdapter()):
        dspy.Predict("question -> answer", max_tokens=1500)(question="?")
    assert loopback.asked[0].body["max_completion_tokens"] == longest


def test_predict_with_other_inputs_is_another_question(lm: LanguageModel, loopback: Loopback, tmp_path: Any) -> None:
    loopback.script(fenced(answer="blue"))
    predict = dspy.Predict("picture: dspy.Image -> answer")
    settings = {"lm": lm.dspy, "adapter": dspy.JSONAdapter()}
    with Journal(tmp_path / "j.sqlite") as journal, lm.remembering(journal), dspy.context(**settings):
        for picture in ("https://example.com/a.png", "https://example.com/b.png"):
            predict(picture=dspy.Image(picture))
    assert loopback.calls == 2


def test_predict_gives_token_probabilities(lm: LanguageModel, loopback: Loopback) -> None:
    loopback.script(Say("[[ ## answer ## ]]\n4", tokens=[("[[ ## answer ## ]]\n", -0.1, {}), ("4", -0.2, {"4": -0.2})]))
    with dspy.context(lm=lm.dspy, adapter=dspy.ChatAdapter()):
        answer = dspy.Predict("question -> answer", logprobs=True, top_logprobs=3)(question="?")
    assert loopback.asked[0].body["top_logprobs"] == 3
    assert "4" in str(answer.logprobs)


def test_a_reply_that_a_content_filter_ended_is_a_refusal(lm: LanguageModel, loopback: Loopback) -> None:
    loopback.script(Say('{"answer": "bl', finish_reason="content_filter"))
    with (
        pytest.raises(errors.RequestRefused, match="content filter withheld the reply") as caught,
        own_errors(),
        dspy.context(lm=lm.dspy, adapter=dspy.JSONAdapter()),
    ):
        dspy.Predict("question -> answer")(question="?")
    assert loopback.calls == 1
    assert caught.value.usage == lm.usage  # it was paid for


def test_a_tracker_of_dspy_counts_once(lm: LanguageModel, loopback: Loopback) -> None:
    loopback.script(fenced(answer="blue"))
    with dspy.context(lm=lm.dspy, adapter=dspy.JSONAdapter()), dspy.track_usage() as tracker:
        dspy.Predict("question -> answer")(question="?")
    assert [usage["prompt_tokens"] for usage in tracker.get_total_tokens().values()] == [20]
