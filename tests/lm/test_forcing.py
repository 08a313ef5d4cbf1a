"""Forcing a model along a text, with a server that is played: what the real one does is in test_likelihood."""

from __future__ import annotations

from typing import Any

import pytest

from active_critic import errors
from active_critic.lm import LanguageModel, scripted_lm
from active_critic.lm.client import Turn
from active_critic.lm.likelihood import forcing

ASK: list[Turn] = [("user", "Say what you see.")]


def test_a_text_that_does_not_fit_is_said_before_the_model_reads_it() -> None:
    asked: list[str] = []

    def post(path: str, body: dict[str, Any]) -> Any:
        asked.append(path)
        return {"prompt": "x", "tokens": [{"id": 1, "piece": "x"}] * 50}

    with pytest.raises(errors.ContextOverflow, match=r"50 tokens.*50 tokens.*100 tokens"):
        forcing(post, "tiny", context=100, cached=True)(ASK, "a lake")
    assert "/completion" not in asked


def test_a_template_that_refuses_the_conversation_is_named_and_no_other_model_recommended() -> None:
    def post(path: str, body: dict[str, Any]) -> Any:
        raise errors.RequestRefused("tiny: the local server refused /apply-template (roles must alternate)")

    lm = LanguageModel("tiny", scripted_lm(lambda turns: "")._send, weigh=forcing(post, "tiny", context=9, cached=True))
    with pytest.raises(errors.UnreadableReply, match=r"\(roles must alternate\)$"):
        lm.likelihood(ASK, "a lake")


def test_a_model_that_leaves_the_text_has_no_likelihood_of_it() -> None:
    def post(path: str, body: dict[str, Any]) -> Any:
        if path == "/completion":
            return {"tokens": [7], "completion_probabilities": [{"logprob": -1.0}]}
        return {"prompt": "x", "tokens": [{"id": 1, "piece": "x"}]}

    with pytest.raises(errors.ModelError, match="could not be forced"):
        forcing(post, "tiny", context=100, cached=False)(ASK, "a lake")
