"""Endpoints that cut long prompts without a word, as Ollama does, and those whose counts only look like it."""

from __future__ import annotations

from typing import Any

import pytest
from loopback import Fault, Loopback, Say, refused

from active_critic import errors
from active_critic.evaluators import from_protocol
from active_critic.evaluators.zero_shot import zero_shot_protocol
from active_critic.journal import Journal
from active_critic.lm import Capabilities, LanguageModel, Turn, open_lm
from active_critic.lm.check import LONG, check
from active_critic.records import Example, Scale

WINDOW = 2051
"""What Ollama was seen to say it read of anything longer, with its usual context window of 4,096 tokens."""
LONG_PROMPT: list[Turn] = [("user", "One word after the other. " * 1600)]
SHORT_PROMPT: list[Turn] = [("user", "One word after the other. " * 200)]


def words(body: dict[str, Any]) -> int:
    return sum(len(message["content"].split()) for message in body["messages"])


def cutting(body: dict[str, Any]) -> Say:
    return Say("5", prompt_tokens=min(WINDOW, words(body)))


def opened(loopback: Loopback, answer: Any) -> LanguageModel:
    loopback.answer = answer
    lm = open_lm("openai/x", api_base=loopback.api_base)
    lm._capabilities = Capabilities(json_schema=True, probabilities=True)
    return lm


def test_a_reply_to_a_prompt_that_was_cut_is_none_and_is_not_kept(loopback: Loopback, tmp_path: Any) -> None:
    lm = opened(loopback, cutting)
    with Journal(tmp_path / "j.sqlite") as journal:
        lm.memory = journal
        said = rf"read 2,051 tokens of a prompt of at least {5 * 1600 * 2 // 3:,}; it cuts .* OLLAMA_CONTEXT_LENGTH"
        with pytest.raises(errors.ContextOverflow, match=said) as caught:
            lm.ask(LONG_PROMPT, max_tokens=4)
        assert caught.value.sent
        assert loopback.calls == 2  # the second one made sure
        assert caught.value.usage == lm.usage
        assert (lm.usage.calls, lm.usage.prompt_tokens) == (2, 2 * WINDOW)
        with pytest.raises(errors.ContextOverflow):
            lm.ask(LONG_PROMPT, max_tokens=4)
        assert loopback.calls == 3  # asked again, as nothing was kept, and no more made sure of
        assert lm.usage.calls == 3
        assert lm.ask(SHORT_PROMPT, max_tokens=4).text == "5"
        loopback.answer = lambda body: Say("4", prompt_tokens=words(body))  # it was given a larger window
        assert lm.ask(LONG_PROMPT, max_tokens=4).text == "4"
        assert lm.ask(LONG_PROMPT, max_tokens=4).usage.replayed == 1


def test_counts_without_what_was_read_before_are_told_apart(loopback: Loopback) -> None:
    before: list[str] = []

    def counting_what_is_new(body: dict[str, Any]) -> Say:
        text = " ".join(message["content"] for message in body["messages"])
        known = any(text[:2000] == other[:2000] for other in before)
        before.append(text)
        return Say("5", prompt_tokens=600 if known else words(body))

    lm, paid = opened(loopback, counting_what_is_new), []
    for last, calls in (("a", 1), ("b", 3), ("c", 4)):  # the second one is made sure of, once and for all
        reply = lm.ask([*LONG_PROMPT, ("assistant", "5"), ("user", last)], max_tokens=4)
        assert reply.text == "5"
        assert reply.usage.calls == calls - sum(paid)
        paid.append(reply.usage.calls)
        assert loopback.calls == lm.usage.calls == calls


def test_a_shorter_prompt_that_was_read_whole_says_nothing_of_a_longer_one(loopback: Loopback) -> None:
    before: list[str] = []

    def cutting_and_counting_what_is_new(body: dict[str, Any]) -> Say:
        text = " ".join(message["content"] for message in body["messages"])
        known = any(text[:2000] == other[:2000] for other in before)
        before.append(text)
        return Say("5", prompt_tokens=600 if known else min(WINDOW, words(body)))

    lm = opened(loopback, cutting_and_counting_what_is_new)
    short: list[Turn] = [("user", "One word after the other. " * 300)]
    for last in ("a", "b", "c"):
        assert lm.ask([*short, ("assistant", "5"), ("user", last)], max_tokens=4).text == "5"
    assert loopback.calls == 4  # one made sure
    with pytest.raises(errors.ContextOverflow):
        lm.ask(LONG_PROMPT, max_tokens=4)
    assert lm.ask([*short, ("assistant", "5"), ("user", "d")], max_tokens=4).text == "5"


def test_where_making_sure_fails_the_failure_says_what_the_reply_cost_and_it_is_not_kept(
    loopback: Loopback, tmp_path: Any
) -> None:
    replies = iter([Say("5", prompt_tokens=WINDOW), Fault(status=401, message="no such key")])
    lm = opened(loopback, lambda body: next(replies))
    with Journal(tmp_path / "j.sqlite") as journal:
        lm.memory = journal
        with pytest.raises(errors.ModelError) as caught:
            lm.ask(LONG_PROMPT, max_tokens=4)
        assert (caught.value.usage.calls, caught.value.usage.prompt_tokens) == (2, WINDOW)
        assert len(journal) == 0


@pytest.mark.parametrize("said", [0, 7, 511, 5 * 1600 * 2 // 3, 20_000])
def test_counts_that_say_nothing_of_a_cut_are_left_alone(loopback: Loopback, said: int) -> None:
    lm = opened(loopback, lambda body: Say("5", prompt_tokens=said))
    assert lm.ask(LONG_PROMPT, max_tokens=4).text == "5"
    assert loopback.calls == 1


def test_where_it_cannot_be_made_sure_of_the_reply_is_taken(loopback: Loopback) -> None:
    replies = iter([Say("5", prompt_tokens=WINDOW), refused("no"), Say("4", prompt_tokens=WINDOW)])
    lm = opened(loopback, lambda body: next(replies))
    first, second = (lm.ask(LONG_PROMPT, max_tokens=4) for _ in range(2))
    assert [first.text, second.text] == ["5", "4"]
    assert [first.usage.calls, second.usage.calls] == [2, 1]


def test_tokens_from_the_cache_count_as_read(loopback: Loopback) -> None:
    lm = opened(loopback, lambda body: Say("5", prompt_tokens=3000, cached_tokens=2900))
    assert lm.ask(LONG_PROMPT, max_tokens=4).text == "5"
    assert loopback.calls == 1


def test_a_text_that_was_cut_is_unscored_and_says_so(loopback: Loopback) -> None:
    lm = opened(loopback, lambda body: Say('{"overall": 4}', prompt_tokens=min(WINDOW, words(body))))
    items = [Example(response="Short and good."), Example(response="One word after the other. " * 1600)]
    with from_protocol(zero_shot_protocol(lm, Scale(low=1, high=5)), lm, journal=None) as critic:
        short, long = critic.score_many(items, explain=False)
    assert short.score is not None
    assert long.score is None
    assert long.unscored is not None
    assert "do not fit: openai/x: the endpoint read 2,051 tokens" in long.unscored


@pytest.mark.parametrize(("window", "whole"), [(WINDOW, False), (4096, False), (10**6, True)])
def test_check_tries_a_long_prompt(loopback: Loopback, window: int, whole: bool) -> None:
    def answer(body: dict[str, Any]) -> Say:
        return Say("5", prompt_tokens=min(window, words(body) * LONG // 8000))

    found = check(opened(loopback, answer))
    assert found.long_prompts is whole
    assert [note for note in found.notes if f"a prompt of {LONG:,} tokens: " in note] == list(found.notes)[: not whole]
    assert len(found.notes) == (not whole)


def test_check_tries_none_where_it_would_take_long(loopback: Loopback, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []

    def answer(body: dict[str, Any]) -> Say:
        read.append(words(body))
        return Say("5", prompt_tokens=words(body), slow=0.2 if words(body) > 100 else 0.0)

    monkeypatch.setattr("active_critic.lm.check.PATIENCE", 1.0)
    assert check(opened(loopback, answer)).long_prompts is None
    assert max(read) < 600
