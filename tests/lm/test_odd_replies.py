"""Replies that are odd in ways that real endpoints are: each costs what it costs, and none ends a run."""

from __future__ import annotations

import json
from typing import Any

import pytest
from conftest_lm import EVERYTHING
from dspy.lm15 import Message, Response
from dspy.lm15 import Usage as DspyUsage
from loopback import Loopback, Say, completion, refused

from active_critic.asking import ask, rating_sheet
from active_critic.errors import BudgetSpent, ContextOverflow, EndpointDown, UnreadableReply
from active_critic.evaluators import ZeroShot
from active_critic.journal import Journal
from active_critic.lm import Budget, LanguageModel, open_lm, scripted_lm
from active_critic.lm.reply import Reply, Token, usage_of
from active_critic.protocols import Reading
from active_critic.records import Example, Usage

LEVELS = Reading()
FOUR = Say("4", tokens=[("4", -0.1, {"4": -0.1, "5": -2.3})])


def remote(loopback: Loopback, **settings: Any) -> LanguageModel:
    lm = open_lm("openai/x", api_base=loopback.api_base, **settings)
    lm._wait = lambda _: None
    lm._capabilities = EVERYTHING
    return lm


def raw(loopback: Loopback, change: Any, say: Say = FOUR) -> None:
    """Have the endpoint answer with a document that was changed."""

    def answer(body: dict[str, Any]) -> Any:
        document = completion(say, body)
        change(document)
        return document

    loopback.answer = answer


@pytest.mark.parametrize(
    "change",
    [lambda document: document.pop("usage"), lambda document: document.update(usage={"prompt_tokens": 1})],
    ids=["nothing", "what it read"],
)
def test_a_reply_that_does_not_say_what_it_took_counts_as_the_most_it_may_have_taken(
    loopback: Loopback, change: Any
) -> None:
    raw(loopback, change)
    lm = remote(loopback)
    lm.budget = Budget(tokens=1000)

    def ask_on() -> None:
        for number in range(50):
            lm.ask([("user", f"Question {number}")], max_tokens=100)

    with pytest.raises(BudgetSpent):
        ask_on()
    assert 0 < loopback.calls < 10  # 100 written and some 80 read at most, each time
    assert lm.usage.completion_tokens == 0  # what is told is what the endpoint said


@pytest.mark.parametrize(
    ("used", "written"),
    [
        (DspyUsage(input_tokens=100, output_tokens=20, reasoning_tokens=3000, total_tokens=3120), 3020),  # Gemini
        (DspyUsage(input_tokens=100, output_tokens=3020, reasoning_tokens=3000, total_tokens=3120), 3020),  # OpenAI
        (DspyUsage(input_tokens=100, output_tokens=20), 20),
    ],
)
def test_what_a_model_thought_is_counted_once(used: DspyUsage, written: int) -> None:
    response = Response(id=None, model="m", message=Message.assistant("."), finish_reason="stop", usage=used)
    assert usage_of(response, None) == Usage(prompt_tokens=100, completion_tokens=written)


@pytest.mark.parametrize("name", ["anthropic/claude-sonnet-4-5", "openai/gpt-4.1-mini"])
def test_money_can_be_limited_where_the_price_list_has_the_model_by_its_own_name(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY"):
        monkeypatch.setenv(variable, "sk-none-of-yours")
    lm = open_lm(name, budget="$2")
    assert (lm.price_of(Usage(prompt_tokens=1000, completion_tokens=1000)) or 0) > 0


def test_an_alternative_without_a_probability_is_none(loopback: Loopback) -> None:
    def change(document: dict[str, Any]) -> None:
        (token,) = document["choices"][0]["logprobs"]["content"]
        token["top_logprobs"][1]["logprob"] = None

    raw(loopback, change)
    (token,) = remote(loopback).ask([("user", "?")], max_tokens=5, top_logprobs=2).tokens
    assert token.top == (("4", -0.1),)


def test_a_token_without_a_probability_has_none(loopback: Loopback) -> None:
    raw(loopback, lambda d: d["choices"][0]["logprobs"]["content"][0].update(logprob=None))
    (token,) = remote(loopback).ask([("user", "?")], max_tokens=5, top_logprobs=2).tokens
    assert token.logprob < -1000


@pytest.mark.parametrize("count", [-3, 2.5, "many"])
def test_a_count_that_is_none_is_tried_again_and_then_told(loopback: Loopback, count: Any) -> None:
    raw(loopback, lambda document: document["usage"].update(prompt_tokens=count))
    with pytest.raises(EndpointDown):
        remote(loopback).ask([("user", "?")], max_tokens=5)
    assert loopback.calls == 4


FAILED = {
    "finish reason": lambda d: d["choices"][0].update(finish_reason="error"),
    "half a reply": lambda d: (d["choices"][0].update(finish_reason="error"), said(d, content='{"rating":')),
    "no choice": lambda d: d.update(choices=[]),
    "null": lambda d: said(d, content=None),
    "no tokens": lambda d: d["usage"].update(completion_tokens=0),
    "no usage": lambda d: d.pop("usage"),
}


def said(document: dict[str, Any], **message: Any) -> None:
    document["choices"][0]["message"].update(message)


@pytest.mark.parametrize("failure", FAILED)
def test_a_failure_that_is_sent_as_a_success_is_tried_again_and_never_kept(
    loopback: Loopback, tmp_path: Any, failure: str
) -> None:
    raw(loopback, FAILED[failure], Say(""))
    lm = remote(loopback)
    with Journal(tmp_path / "j.sqlite") as journal, lm.remembering(journal):
        with pytest.raises(EndpointDown, match="its reply"):
            lm.ask([("user", "?")], max_tokens=5)
        assert (loopback.calls, len(journal)) == (4, 0)
        loopback.script(FOUR)
        assert lm.ask([("user", "?")], max_tokens=5).text == "4"
        assert len(journal) == 1


@pytest.mark.parametrize(
    "change",
    [
        lambda d: None,
        lambda d: said(d, content=None, reasoning_content="Hm."),
        lambda d: said(d, content=None, refusal="I cannot."),
        lambda d: (d["choices"][0].update(finish_reason="length"), said(d, content=None)),
        lambda d: (d["choices"][0].update(finish_reason="content_filter"), d["usage"].update(completion_tokens=0)),
    ],
)
def test_an_empty_reply_that_was_paid_for_is_kept(loopback: Loopback, tmp_path: Any, change: Any) -> None:
    raw(loopback, change, Say(""))
    lm = remote(loopback)
    with Journal(tmp_path / "j.sqlite") as journal, lm.remembering(journal):
        first, second = (lm.ask([("user", "?")], max_tokens=5) for _ in range(2))
    assert (first.text, second.usage.replayed) == (second.text, 1)
    assert loopback.calls == 1


@pytest.mark.parametrize("name", ["prompt_tokens", "completion_tokens"])
@pytest.mark.parametrize("count", [2**53 + 1, 2**70, 10**400], ids=["53 bits", "64 bits", "401 digits"])
def test_a_count_that_no_call_can_have_is_not_known_and_the_reply_is_kept(
    loopback: Loopback, tmp_path: Any, name: str, count: int
) -> None:
    raw(loopback, lambda document: document["usage"].update({name: count}))
    lm = remote(loopback, budget="1000 tokens")
    lm._price = lambda response: float(response.usage.input_tokens * response.usage.output_tokens)
    with Journal(tmp_path / "j.sqlite") as journal, lm.remembering(journal):
        paid, kept = (lm.ask([("user", "?")], max_tokens=5) for _ in range(2))
    assert (paid.text, kept.text, loopback.calls) == ("4", "4", 1)
    assert (paid.usage.prompt_tokens, paid.usage.completion_tokens, paid.usage.cost) == (0, 0, None)
    assert lm._purse.account is not None
    assert 0 < lm._purse.account.spent.prompt_tokens < 1000  # the most that it may have taken


def test_half_a_character_is_kept_as_a_question_mark(loopback: Loopback, tmp_path: Any) -> None:
    raw(loopback, lambda document: document["choices"][0]["message"].update(content="Fine \ud83d"))
    lm = remote(loopback)
    with Journal(tmp_path / "j.sqlite") as journal:
        lm.memory = journal
        assert [lm.ask([("user", "?")], max_tokens=5).text for _ in range(2)] == ["Fine ?"] * 2
    assert loopback.calls == 1


def test_an_endpoint_that_gives_few_alternatives_is_asked_for_few(loopback: Loopback) -> None:
    def answer(body: dict[str, Any]) -> Any:
        if body.get("top_logprobs", 0) > 5:
            return refused("top_logprobs must be at most 5")
        if "response_format" not in body:
            return FOUR
        (name,) = body["response_format"]["json_schema"]["schema"]["properties"]
        parts = [(f'{{"{name}": ', -0.1, {}), ("4", -0.1, {"4": -0.2, "5": -1.7}), ("}", 0.0, {})]
        return Say("".join(piece for piece, *_ in parts), tokens=parts)

    loopback.answer = answer
    lm = open_lm("openai/x", api_base=loopback.api_base)
    lm._wait = lambda _: None
    assert lm.capabilities.alternatives == 5
    assert lm.capabilities.probabilities
    fitted = ZeroShot(lm, journal=None).fit([Example("a", score=1), Example("b", score=5)], scale="1..5")
    verdict = fitted.score("s", "r", explain=False)
    assert verdict.read_from == "probabilities"
    assert verdict.score is not None


def test_a_form_that_comes_back_as_it_was_shown_is_no_rating() -> None:
    sheet = rating_sheet(LEVELS, explain=True)
    with pytest.raises(UnreadableReply, match="as it was shown"):
        ask(scripted_lm(lambda _: json.dumps(sheet.skeleton)), [("user", "How good is it?")], sheet, LEVELS)
    said = json.dumps({**sheet.skeleton, "reason": "It is middling."})
    assert ask(scripted_lm(lambda _: said), [("user", "How good?")], sheet, LEVELS).ratings["rating"].value == 3
    plain = rating_sheet(LEVELS)  # without a text in it, it may be the answer
    assert (
        ask(scripted_lm(lambda _: '{"rating": 3}'), [("user", "How good?")], plain, LEVELS).ratings["rating"].value == 3
    )


def test_a_prompt_that_cannot_fit_is_not_sent(loopback: Loopback) -> None:
    lm = remote(loopback, context=100)
    with pytest.raises(ContextOverflow, match="100 tokens"):
        lm.ask([("user", "word " * 1000)], max_tokens=5)
    assert loopback.calls == 0
    assert lm.ask([("user", "word " * 60)], max_tokens=5).text == "hello"  # it may fit: the endpoint knows


def test_a_prompt_is_refused_unsent_only_where_it_can_by_no_means_fit() -> None:
    lm = scripted_lm(lambda _: "so it is", context=100)
    assert lm.ask([("user", "a" * 800)], max_tokens=1).text == "so it is"  # some tokens have eight letters
    with pytest.raises(ContextOverflow, match="801 bytes"):
        lm.ask([("user", "a" * 801)], max_tokens=1)
    assert lm.usage.calls == 1


IMPOSSIBLE: dict[str, tuple[Any, float, str]] = {
    # The token that was written counts by itself where it is not among the alternatives.
    "alternative": (lambda token: token["top_logprobs"][0].update(logprob=1000.0), 4.1, "probabilities"),
    "all alternatives": (lambda token: [other.update(logprob=5.0) for other in token["top_logprobs"]], 4.0, "text"),
    "token": (lambda token: token.update(logprob=1e3, top_logprobs=token["top_logprobs"][1:]), 5.0, "probabilities"),
}


@pytest.mark.parametrize(("change", "value", "read_from"), IMPOSSIBLE.values(), ids=IMPOSSIBLE)
def test_an_impossible_probability_counts_as_none_fresh_and_from_the_journal(
    loopback: Loopback, tmp_path: Any, change: Any, value: float, read_from: str
) -> None:
    say = Say('{"rating": 4}', tokens=[(c, -0.1, {"4": -0.1, "5": -2.3} if c == "4" else {}) for c in '{"rating": 4}'])
    raw(loopback, lambda document: change(document["choices"][0]["logprobs"]["content"][11]), say)
    lm = remote(loopback)
    with Journal(tmp_path / "j.sqlite") as journal, lm.remembering(journal):
        for _ in range(2):
            rating = ask(lm, [("user", "?")], rating_sheet(LEVELS), LEVELS).ratings["rating"]
            assert (rating.value, rating.read_from) == (pytest.approx(value, abs=0.01), read_from)
    assert loopback.calls == 1


@pytest.mark.parametrize("kept", [1000.0, None, 5, True, "x"])
def test_what_journals_hold_of_impossible_probabilities_is_passed_over(kept: Any) -> None:
    good = Reply("4", tokens=(Token("4", -0.1, (("4", -0.1), ("5", -2.3))),))
    document = json.loads(good.to_json())
    document["tokens"] = [["4", kept, [["4", kept], ["5", -2.3], ["3", 1e-4]]]]
    (token,) = Reply.from_json(json.dumps(document)).tokens
    assert token.logprob < -1000
    assert token.top == (("5", -2.3), ("3", 0.0))
    assert Reply.from_json(good.to_json()) == good


def test_a_text_that_comes_in_parts_is_put_together_as_it_is(loopback: Loopback) -> None:
    parts = [{"type": "text", "text": '{"ra'}, {"type": "text", "text": 'ting": 4}'}]
    raw(loopback, lambda document: said(document, content=parts))
    assert remote(loopback).ask([("user", "?")], max_tokens=5).text == '{"rating": 4}'
