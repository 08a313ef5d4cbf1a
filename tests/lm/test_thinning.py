"""Alternatives that nobody reads do not reach DSPy's client, and no reply is another for that."""

from __future__ import annotations

import gc
import json
from dataclasses import replace
from typing import Any

import pytest
from loopback import Loopback, Say

from active_critic.lm import Reply, open_lm, sending
from active_critic.lm.thinning import thinned
from active_critic.records import Usage

NEAR = {"4": -0.2, "5": -1.7, "x": -9.0}
TOKENS = [(piece, -0.1, NEAR) for piece in ('{"', "score", '":', "4", ',"why":"', "fine", " at 1", '0"}')]


def body(*pieces: str) -> bytes:
    content = [
        {"token": piece, "logprob": -0.1, "top_logprobs": [{"token": text, "logprob": p} for text, p in NEAR.items()]}
        for piece in pieces
    ]
    return json.dumps({"id": "x", "choices": [{"logprobs": {"content": content}}], "other": [1, None]}).encode()


def test_alternatives_stay_at_the_first_token_and_at_digits() -> None:
    thin = json.loads(thinned(body("{", '"score":', "4", ",", " 10", "}")))
    kept = [bool(token["top_logprobs"]) for token in thin["choices"][0]["logprobs"]["content"]]
    assert kept == [True, False, True, False, True, False]


def test_tokens_without_a_digit_are_one_but_for_the_first() -> None:
    document = json.loads(body("{", '"score"', ": ", "4", ",", '"why": "a', " b", '"}'))
    document["choices"][0]["logprobs"]["content"][5]["logprob"] = -3.0
    thin = json.loads(thinned(json.dumps(document).encode()))["choices"][0]["logprobs"]["content"]
    assert [token["token"] for token in thin] == ["{", '"score": ', "4", ',"why": "a b"}']
    assert [token["logprob"] for token in thin] == [-0.1, -0.1, -0.1, -3.0]


def test_bytes_stay_where_they_are_not_those_of_the_text() -> None:
    document = json.loads(body("a", "\ufffd", "1"))
    for token, raw in zip(document["choices"][0]["logprobs"]["content"], (b"a", b"\xc3", b"1"), strict=True):
        token["bytes"] = list(raw)
        token["top_logprobs"] = [{"token": "a", "logprob": -0.1, "bytes": [97]}]
    thin = json.loads(thinned(json.dumps(document).encode()))["choices"][0]["logprobs"]["content"]
    assert [token.get("bytes") for token in thin] == [None, [0xC3], None]
    assert thin[0]["top_logprobs"] == [{"token": "a", "logprob": -0.1}]


def test_the_rest_of_a_body_is_as_it_was() -> None:
    before = json.loads(body("a", "b"))
    before["choices"][0]["logprobs"]["content"][1]["top_logprobs"] = []
    assert json.loads(thinned(body("a", "b"))) == before


@pytest.mark.parametrize(
    "odd",
    [
        b"",
        b'no JSON: "top_logprobs"',
        b'["top_logprobs"]',
        b'{"top_logprobs": []}',
        b'{"choices": null, "top_logprobs": 1}',
        b'{"choices": ["top_logprobs"]}',
        b'{"choices": [{"logprobs": {"content": ["top_logprobs"]}}]}',
        b'{"choices": [{"logprobs": {"content": [{"token": "a"}, {"token": 3, "top_logprobs": []}]}}]}',
        body("a", "b").replace(b"-0.1", b"NaN"),
        body("a", "b")[:-20],
    ],
)
def test_what_is_not_understood_is_passed_on_as_it_came(odd: bytes) -> None:
    assert thinned(odd) == odd


def test_the_logarithm_of_nothing_may_be_written_as_python_does(loopback: Loopback) -> None:
    say = Say("4", tokens=[("4", -0.1, {"4": -0.1, "5": -2.3, "1": float("-inf")})])
    loopback.answer = lambda _: say
    with open_lm("openai/x", api_base=loopback.api_base) as lm:
        (token,) = lm.ask([("user", "Hi")], max_tokens=9, top_logprobs=3).tokens
    assert token.top == (("4", -0.1), ("5", -2.3))


@pytest.mark.parametrize(
    "say",
    [
        Say('{"score":4,"why":"fine at 10"}', tokens=TOKENS),
        Say("né 4", tokens=[("n", -0.1, NEAR), ("\ufffd", -0.1, NEAR), ("\ufffd", -0.2, NEAR), (" 4", -0.3, NEAR)],
            token_bytes=[b"n", b"\xc3", b"\xa9", b" 4"]),
        Say("n\ufffd 4", tokens=[("n", -0.1, NEAR), ("\ufffd", -0.1, NEAR), (" 4", -0.3, NEAR)],
            token_bytes=[b"n", b"\xc3", b" 4"]),
        Say("no tokens at all"),
    ],
)  # fmt: skip
def test_a_reply_is_the_same_as_without(loopback: Loopback, monkeypatch: pytest.MonkeyPatch, say: Say) -> None:
    def asked() -> Reply:
        loopback.answer = lambda _: say
        with open_lm("openai/x", api_base=loopback.api_base) as lm:
            return replace(lm.ask([("user", "Hi")], max_tokens=9, top_logprobs=3), usage=Usage())

    bodies: list[int] = []
    thin = sending.Thinning

    class Watching(thin):  # type: ignore[misc, valid-type]
        def stream(self, request: Any) -> Any:
            bodies.append(1)
            return super().stream(request)

    monkeypatch.setattr(sending, "Thinning", Watching)
    with_it = asked()
    monkeypatch.setattr(sending, "Thinning", lambda usual: usual)
    assert asked() == with_it
    assert bodies == [1]
    assert bool(with_it.tokens) == bool(say.tokens)


@pytest.mark.parametrize("collecting", [True, False])
@pytest.mark.parametrize("broken", [True, False])
def test_no_garbage_is_collected_over_a_body_and_afterwards_as_before(collecting: bool, broken: bool) -> None:
    whole = body(*["a"] * 500)
    before, threshold = gc.isenabled(), gc.get_threshold()
    try:
        (gc.enable if collecting else gc.disable)()
        gc.set_threshold(50)
        gc.collect()
        times = [one["collections"] for one in gc.get_stats()]
        thinned(whole[:-1] if broken else whole)
        assert [one["collections"] for one in gc.get_stats()][1:] == times[1:]
        assert gc.isenabled() == collecting
    finally:
        gc.set_threshold(*threshold)
        (gc.enable if before else gc.disable)()
