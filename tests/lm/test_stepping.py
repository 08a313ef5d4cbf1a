"""Forms of ratings filled in step by step: with a server that is played, and with a real small model."""

from __future__ import annotations

import inspect
import json
import math
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from active_critic import errors
from active_critic.asking import level_schema, object_schema, string_schema
from active_critic.evaluators import ZeroShot
from active_critic.lm import LanguageModel, open_lm
from active_critic.lm.rehearsal import estimate
from active_critic.lm.reply import as_response
from active_critic.lm.stepping import Prose, parts_of, stepping
from active_critic.protocols import Reading
from active_critic.records import Example, Usage

LEVEL = level_schema(Reading(low=1, high=5))
FINE = object_schema({"scores": object_schema({"Accuracy": LEVEL, "Größe": LEVEL})})
COARSE = object_schema({"overall": LEVEL})
PROSE = string_schema(40)
EXPLAINED = object_schema({"scores": object_schema({"a": LEVEL}), "why": object_schema({"a": PROSE}), "advice": PROSE})


def asked(schema: dict[str, Any], **config: Any) -> Any:
    """A request for a form, as ``LanguageModel.fill`` makes it."""
    from dspy.lm15 import Config, Message, Request

    form = {"type": "json_schema", "name": "reply", "schema": schema}
    given = {"max_tokens": 200, "logprobs": 5, "temperature": 0.0, "response_format": form, **config}
    return Request(model="tiny", system="Rate.", messages=(Message.user("A text."),), config=Config(**given))


def test_a_form_of_ratings_is_fixed_texts_and_ratings_by_turns() -> None:
    levels = (1, 2, 3, 4, 5)
    assert parts_of(asked(COARSE)) == ['{"overall": ', levels, "}"]
    assert parts_of(asked(FINE)) == ['{"scores": {"Accuracy": ', levels, ', "Größe": ', levels, "}}"]


def test_texts_behind_ratings_are_parts_of_their_own_with_what_closes_them() -> None:
    assert parts_of(asked(EXPLAINED)) == [
        '{"scores": {"a": ',
        (1, 2, 3, 4, 5),
        '}, "why": {"a": "',
        Prose(40, '"},'),
        ' "advice": "',
        Prose(40, '"}'),
        "",
    ]


@pytest.mark.parametrize(
    "schema",
    [
        object_schema({"why": PROSE, "overall": LEVEL}),
        object_schema({"a": LEVEL, "why": PROSE, "b": LEVEL}),
        object_schema({"why": PROSE}),
        object_schema({"overall": LEVEL, "why": {"type": "string"}}),
        object_schema({"overall": LEVEL, "sure": {"type": "boolean"}}),
        object_schema({"overall": level_schema(Reading(low=0, high=100))}),
        object_schema({"overall": {"type": "integer", "enum": [9, 10]}}),
        {**COARSE, "required": []},
        {"type": "object", "properties": {"overall": LEVEL}},
        object_schema({"all": {"type": "array", "items": LEVEL}}),
        object_schema({}),
    ],
)
def test_any_other_form_is_none(schema: dict[str, Any]) -> None:
    assert parts_of(asked(schema)) == []


@pytest.mark.parametrize("config", [{"logprobs": None}, {"temperature": 1.0}, {"response_format": None}])
def test_nor_is_what_is_asked_without_probabilities_or_drawn(config: dict[str, Any]) -> None:
    assert parts_of(asked(COARSE, **config)) == []


class Played:
    """A server whose tokens are characters, which read three tokens of every prompt anew and rate 4, 3, 2, ...

    Where it is to write a text it writes ``says``, and what closes it, as far as it may.
    """

    def __init__(self, says: str = "") -> None:
        self.bodies: list[dict[str, Any]] = []
        self.ratings = iter("4321")
        self.sent: list[Any] = []
        self.says = says

    def post(self, path: str, body: dict[str, Any]) -> Any:
        if path == "/apply-template":
            return {"prompt": "|".join(message["content"] for message in body["messages"]) + ">"}
        if path == "/tokenize":
            return {"tokens": [ord(letter) for letter in body["content"]]}
        self.bodies.append(body)
        if "letter" in body["grammar"]:
            end = json.loads(body["grammar"].partition("\n")[0].partition("} ")[2])
            whole, longest = [*map(ord, self.says + end), 0], body["n_predict"]
            tokens = whole if longest == -1 else whole[:longest]
            content = "".join(chr(token) for token in tokens if token)
            stopped = "eos" if tokens[-1:] == [0] else "limit"
            return {"tokens": tokens, "content": content, "stop_type": stopped, "timings": {"prompt_n": 3}}
        rating = next(self.ratings)
        top = [{"token": rating, "logprob": -0.1}, {"token": "5", "logprob": -2.5}]
        step = {"token": rating, "logprob": -0.1, "top_logprobs": top}
        return {"tokens": [ord(rating)], "completion_probabilities": [step], "timings": {"prompt_n": 3}}

    def send(self, request: Any) -> Any:
        self.sent.append(request)
        return as_response("tiny", Usage(), "as ever")

    def fill(
        self, request: Any, post: Callable[[str, dict[str, Any]], Any] | None = None, *, at_once: bool = True
    ) -> Any:
        return stepping(self.send, post or self.post, "tiny", 60.0, lambda: at_once)(request)


def test_what_is_fixed_is_read_and_each_rating_is_one_token_behind_it() -> None:
    played = Played()
    response = played.fill(asked(FINE))
    assert response.text == '{"scores": {"Accuracy": 4, "Größe": 3}}'
    begun = 'Rate.|A text.>{"scores": {"Accuracy": '
    assert ["".join(map(chr, body["prompt"])) for body in played.bodies] == [begun, f'{begun}4, "Größe": ']
    assert {body["grammar"] for body in played.bodies} == {"root ::= [12345]"}
    assert [(body["n_predict"], body["n_probs"]) for body in played.bodies] == [(1, 5)] * 2
    rated = [token for token in response.logprobs if token.top]
    assert [(token.token, [(one.token, one.logprob) for one in token.top]) for token in rated] == [
        ("4", [("4", -0.1), ("5", -2.5)]),
        ("3", [("3", -0.1), ("5", -2.5)]),
    ]
    read = len(played.bodies[1]["prompt"])
    assert (response.usage.input_tokens, response.usage.output_tokens) == (read, 2)
    assert response.usage.cache_read_tokens == len(begun) - 3
    assert not played.sent


def test_texts_are_written_behind_what_was_read() -> None:
    played = Played(says=r"Very \"good\"")
    response = played.fill(asked(EXPLAINED))
    values = json.loads(response.text)
    assert values == {"scores": {"a": 4}, "why": {"a": 'Very "good"'}, "advice": 'Very "good"'}
    begun = 'Rate.|A text.>{"scores": {"a": 4}, "why": {"a": "'
    written = played.says + '"},'
    assert ["".join(map(chr, body["prompt"])) for body in played.bodies[1:]] == [
        begun,
        begun + written + ' "advice": "',
    ]
    assert [body.get("n_probs") for body in played.bodies] == [5, None, None]
    assert "".join(token.token for token in response.logprobs) == response.text
    texts = len(written) + len(played.says + '"}')
    read = len(played.bodies[-1]["prompt"]) - len(written)
    assert (response.usage.input_tokens, response.usage.output_tokens) == (read, 1 + texts)
    assert response.finish_reason == "stop"


@pytest.mark.parametrize("short", [0, 1, 9])
def test_texts_that_have_no_room_are_cut_as_such_a_reply_is(short: int) -> None:
    whole = len('{"scores": {"a": 4}, "why": {"a": "Good"}, "advice": "Good"}') + 1  # and its end
    played = Played(says="Good")
    response = played.fill(asked(EXPLAINED, max_tokens=whole - short))
    assert response.finish_reason == ("length" if short else "stop")
    assert not played.sent


def test_a_form_that_may_not_be_as_long_is_sent_as_ever() -> None:
    for longest, sent in ((len('{"overall": 4}'), 0), (len('{"overall": 4}') - 1, 1)):
        played = Played()
        played.fill(asked(COARSE, max_tokens=longest))
        assert len(played.sent) == sent


def test_what_takes_too_long_is_given_up_before_the_next_rating() -> None:
    played, over, ended = Played(), threading.Event(), threading.Event()

    def post(path: str, body: dict[str, Any]) -> Any:
        answer = played.post(path, body)
        if path == "/completion":
            over.wait(60)
            ended.set()
        return answer

    with pytest.raises(TimeoutError):
        stepping(played.send, post, "tiny", 0.2, lambda: True)(asked(FINE))
    over.set()
    assert ended.wait(60)
    time.sleep(0.2)
    assert len(played.bodies) == 1
    assert not played.sent


def test_a_model_that_may_think_first_is_asked_as_ever() -> None:
    played = Played()
    assert played.fill(asked(COARSE), at_once=False).text == "as ever"
    assert not played.bodies


def _refusing(path: str) -> Callable[[Played, str, dict[str, Any]], Any]:
    def post(played: Played, asked_for: str, body: dict[str, Any]) -> Any:
        if asked_for == path:
            raise errors.RequestRefused("the prompt does not fit")
        return played.post(asked_for, body)

    return post


def _merging(played: Played, path: str, body: dict[str, Any]) -> Any:
    """A tokeniser that makes one token of a blank and a digit."""
    answer = played.post(path, body)
    return {"tokens": [*answer["tokens"][:-2], 7]} if body.get("content", "").endswith(" 1") else answer


def _unlikely(played: Played, path: str, body: dict[str, Any]) -> Any:
    answer = played.post(path, body)
    for step in answer.get("completion_probabilities", ()):
        step["logprob"] = None
    return answer


def _silent(played: Played, path: str, body: dict[str, Any]) -> Any:
    answer = played.post(path, body)
    return {**answer, "completion_probabilities": []} if path == "/completion" else answer


@pytest.mark.parametrize("post", [_refusing("/apply-template"), _refusing("/completion"), _merging, _unlikely, _silent])
def test_what_cannot_be_filled_in_so_is_sent_as_ever(post: Callable[[Played, str, dict[str, Any]], Any]) -> None:
    played = Played()
    response = played.fill(asked(COARSE), lambda path, body: post(played, path, body))
    assert response.text == "as ever"
    assert len(played.sent) == 1


# --- a real model ---------------------------------------------------------------------------------------------------

LEVELS = set("12345")


@pytest.mark.model
@pytest.mark.parametrize("schema", [COARSE, FINE], ids=["coarse", "fine"])
def test_the_model_sees_the_same_tokens_as_if_it_wrote_them(tiny: LanguageModel, schema: dict[str, Any]) -> None:
    shown = '{"overall": 2}' if schema is COARSE else '{"scores": {"Accuracy": 2, "Größe": 3}}'
    turns = [("user", "A lake lake."), ("assistant", shown), ("user", "The lake was quiet that morning.")]
    how: dict[str, Any] = {"max_tokens": 60, "top_logprobs": 100}
    stepped = tiny.fill(turns, schema, **how)
    written = inspect.getclosurevars(tiny._send).nonlocals["send"]
    usual = LanguageModel("tiny", written, identity=tiny.identity, capabilities=tiny.capabilities)
    usual.extensions = tiny.extensions
    whole = usual.fill(turns, schema, **how)
    assert stepped.text == whole.text.strip()
    assert stepped.usage.completion_tokens < whole.usage.completion_tokens
    rated, meant = ([token for token in reply.tokens if token.text.strip().isdigit()] for reply in (stepped, whole))
    assert len(rated) == len(meant) > 0
    for one, other in zip(rated, meant, strict=True):
        levels = [{name: math.exp(value) for name, value in token.top if name in LEVELS} for token in (one, other)]
        assert levels[0].keys() == levels[1].keys() == LEVELS
        assert levels[0] == pytest.approx(levels[1], abs=0.02)


@pytest.mark.model
def test_the_model_writes_texts_to_their_end_or_until_there_is_no_room(tiny: LanguageModel) -> None:
    turns = [("user", "The lake was quiet that morning. Rate this sentence, and say why.")]
    whole = tiny.fill(turns, EXPLAINED, max_tokens=200, top_logprobs=100)
    form = json.loads(whole.text)
    assert (whole.finish_reason, list(form)) == ("stop", ["scores", "why", "advice"])
    assert form["scores"]["a"] in range(1, 6)
    assert 0 < len(form["advice"]) <= 40
    cut = tiny.fill(turns, EXPLAINED, max_tokens=whole.usage.completion_tokens + 15, top_logprobs=100)
    assert cut.finish_reason == "length"
    assert len('{"scores": {"a": 4}') < len(cut.text) < len(whole.text)


@pytest.mark.model
def test_a_rehearsal_counts_what_is_read_and_written_so(tiny: LanguageModel) -> None:
    texts = [Example("The lake was " + "very " * i + "quiet.", "Describe the lake.", 1.0 + i) for i in range(5)]

    def work(lm: LanguageModel) -> None:
        list(ZeroShot(lm, journal=None).fit(texts, scale="1..5").score_many(texts, explain=False))

    said = estimate(tiny, work, []).usage
    before = tiny.usage
    work(tiny)
    took = tiny.usage - before
    assert (said.calls, said.prompt_tokens, said.completion_tokens) == (5, took.prompt_tokens, 5)
    assert took.completion_tokens == 5


@pytest.mark.model
def test_a_rehearsal_takes_texts_for_written_and_all_else_of_their_form_for_read(tiny: LanguageModel) -> None:
    def work(lm: LanguageModel) -> None:
        lm.fill([("user", "The lake was quiet. Rate this, and say why.")], EXPLAINED, max_tokens=200, top_logprobs=5)

    said = estimate(tiny, work, []).usage
    before = tiny.usage
    work(tiny)
    took = tiny.usage - before
    assert (said.calls, said.prompt_tokens) == (1, took.prompt_tokens)
    assert 3 <= said.completion_tokens <= 1 + 2 * 40


@pytest.mark.model
def test_strictly_every_token_is_written() -> None:
    pytest.importorskip("xllamacpp", reason="needs the extra [local]")
    with open_lm("local-tiny", context=512, strict=True) as lm:
        assert (
            lm.fill([("user", "Rate this from 1 to 5.")], COARSE, max_tokens=60, top_logprobs=5).usage.completion_tokens
            > 4
        )
