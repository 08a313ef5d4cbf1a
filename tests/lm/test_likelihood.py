from __future__ import annotations

import inspect
import json
import math
import random
import re
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest_lm import KEY
from hypothesis import given
from hypothesis import strategies as st
from loopback import Fault, Loopback, echoing, not_echoing, too_many

from active_critic import errors
from active_critic.journal import Journal
from active_critic.lm import LanguageModel, open_lm, scripted_lm
from active_critic.lm.echoing import _reached
from active_critic.lm.likelihood import FLOOR, LEAST_LIKELY, Likelihood
from active_critic.lm.memory import key_of
from active_critic.lm.retrying import RETRIES, WHERE_LIMITED
from active_critic.records import Usage

ASK = [("system", "Write well."), ("user", "A lake.")]
PROMPT = "System: Write well.\n\nUser: A lake.\n\nAssistant:\n"
ODD = 'He said: "it\'s \\n" — 漢字 🙂\n\n\tand left\u2028 [[ ## score ## ]]'


@pytest.fixture
def lm(lm: LanguageModel, loopback: Loopback) -> LanguageModel:
    loopback.complete = echoing(lambda piece: -float(len(piece.strip())))
    return lm


def words(turns: list[Any], text: str) -> list[float]:
    return [-float(len(word)) for word in text.split()]


# --- what it is -----------------------------------------------------------------------------------------------------


@given(
    logprobs=st.lists(st.floats(FLOOR, 0), min_size=1),
    usage=st.builds(Usage, calls=st.integers(0, 9), prompt_tokens=st.integers(0, 9), cost=st.none() | st.floats(0, 1)),
)
def test_it_comes_back_from_the_journal_as_it_was(logprobs: list[float], usage: Usage) -> None:
    measured = Likelihood.of(logprobs, "forced", usage)
    assert Likelihood.from_json(measured.to_json()) == measured
    assert measured.logprob == pytest.approx(sum(logprobs))
    assert measured.mean == pytest.approx(sum(logprobs) / len(logprobs))


@pytest.mark.parametrize("logprobs", [[], [-1.0, math.nan], [math.inf], [-1.0, 0.02], [1e308]])
def test_what_could_not_be_measured_is_no_number(logprobs: list[float]) -> None:
    with pytest.raises(errors.ModelError, match="gave no log-probability"):
        Likelihood.of(logprobs, "forced", Usage())


def test_a_probability_below_single_precision_counts_as_the_smallest() -> None:
    assert Likelihood.of([-1.0, -math.inf, -3.4e38], "forced", Usage()).logprob == -1.0 + 2 * FLOOR


@given(
    logprobs=st.lists(st.floats(FLOOR, 0), min_size=LEAST_LIKELY),
    added=st.lists(st.floats(FLOOR, 0)),
    at=st.integers(0, 100),
)
def test_more_tokens_never_raise_the_weakness_of_a_text(logprobs: list[float], added: list[float], at: int) -> None:
    plain = Likelihood.of(logprobs, "forced", Usage())
    more = Likelihood.of([*logprobs[:at], *added, *logprobs[at:]], "forced", Usage())
    assert more.weakest <= plain.weakest + 1e-9
    assert plain.weakest == pytest.approx(sum(sorted(logprobs)[:LEAST_LIKELY]) / LEAST_LIKELY)


def test_the_weakness_of_a_short_text_is_its_mean() -> None:
    short = Likelihood.of([-1.0, -2.0, -6.0], "forced", Usage())
    assert short.weakest == short.mean == -3.0


# --- what every model does with it ----------------------------------------------------------------------------------


def test_a_scripted_model_weighs_by_its_function() -> None:
    lm = scripted_lm(lambda _: "", likelihood=words)
    measured = lm.likelihood(ASK, "a quiet lake")
    assert (measured.logprob, measured.logprobs, measured.mean) == (-10.0, (-1.0, -5.0, -4.0), -10 / 3)
    assert lm.gives_likelihood
    assert lm.usage.calls == 2  # this one, and the one that found out


def test_a_model_without_it_says_what_to_do() -> None:
    lm = scripted_lm(lambda _: "", name="chatty")
    with pytest.raises(errors.RequestRefused, match=r"chatty: .*no token log-probabilities.*embedded model.*echo"):
        lm.likelihood(ASK, "a lake")
    assert not lm.gives_likelihood
    assert lm.usage.calls == 0


def test_nothing_is_asked_about_it_before_it_is_wanted(lm: LanguageModel, loopback: Loopback) -> None:
    lm._capabilities = None
    lm.ask(ASK, max_tokens=1)
    assert not lm.capabilities.json_schema
    assert {asked.path for asked in loopback.asked} == {"/v1/chat/completions"}
    assert lm.gives_likelihood
    before = loopback.calls
    assert lm.gives_likelihood
    assert loopback.calls == before


@pytest.mark.parametrize("text", ["", "half a pair \ud83d"])
def test_a_text_that_cannot_be_weighed_is_refused_before_anything_is_sent(
    lm: LanguageModel, loopback: Loopback, text: str
) -> None:
    with pytest.raises(errors.RequestRefused, match=r"leave such texts out|repair the text"):
        lm.likelihood(ASK, text)
    assert loopback.calls == 0


# --- the journal ----------------------------------------------------------------------------------------------------


def test_the_key_of_a_chat_request_is_what_it_always_was() -> None:
    """Journals of earlier versions are still read."""
    keys: list[str] = []

    class Memory:
        def recall(self, key: str) -> str:
            keys.append(key)
            return json.dumps({"text": "", "finish_reason": "stop", "tokens": [], "usage": {}, "model": ""})

        def keep(self, key: str, request: str, reply: str) -> None: ...

    lm = LanguageModel(
        "openai/m",
        lambda _: pytest.fail("not in the journal"),
        identity={"name": "openai/m", "endpoint": "http://127.0.0.1:1/v1"},
        extensions={"cache_prompt": True},
    )
    lm.memory = Memory()
    lm.ask(
        [("system", "You are exact."), ("user", 'Say "hé".\n')],
        max_tokens=7,
        schema={"type": "object"},
        top_logprobs=5,
        stop=["\n"],
        sample=2,
    )
    lm.ask([("user", "Hello")], max_tokens=1)
    assert keys == [
        "a368d3d17675127e2c2cc2febf17d1f827a5d3f1161017946496ee41ba14ea6d",
        "75cfd96048691b504bcd432b66bc31f4287d3f8023905aeb54b81be02f9b0536",
    ]


def test_a_text_is_weighed_once_across_journals(lm: LanguageModel, loopback: Loopback, tmp_path: Path) -> None:
    found = []
    for _ in range(2):
        with Journal(tmp_path / "j.sqlite") as journal, lm.remembering(journal):
            found.append(lm.likelihood(ASK, ODD))
    first, second = found
    assert loopback.calls == 1
    assert (second.logprobs, second.method) == (first.logprobs, first.method)
    assert first.usage.calls == 1
    assert second.usage == Usage(replayed=1)
    assert (lm.usage.calls, lm.usage.replayed) == (1, 1)


def test_every_difference_is_another_question(lm: LanguageModel, loopback: Loopback, tmp_path: Path) -> None:
    asked = [(ASK, "a lake"), (ASK, "a lake."), (ASK[1:], "a lake"), ([("user", ASK[0][1]), ASK[1]], "a lake")]
    with Journal(tmp_path / "j.sqlite") as journal, lm.remembering(journal):
        for turns, text in asked:
            lm.likelihood(turns, text)
        lm.ask(ASK, max_tokens=1)
    assert loopback.calls == len(asked) + 1


def test_a_strict_model_takes_no_likelihood_that_was_weighed_with_a_prefix_cache(tmp_path: Path) -> None:
    weighed: list[str] = []
    with Journal(tmp_path / "j.sqlite") as journal:
        for cached in (True, False, False):
            lm = scripted_lm(lambda _: "", likelihood=lambda turns, text: weighed.append(text) or [-1.0])
            lm.extensions = {"cache_prompt": cached}
            with lm.remembering(journal):
                lm.likelihood([("user", "A lake.")], "it lay still")
    assert len(weighed) == 2


def test_a_damaged_row_is_named(lm: LanguageModel) -> None:
    class Damaged:
        def recall(self, key: str) -> str:
            return '{"logprob": -1}'

        def keep(self, key: str, request: str, reply: str) -> None: ...

    with lm.remembering(Damaged()), pytest.raises(errors.JournalError, match="damaged"):
        lm.likelihood(ASK, "a lake")


def test_the_same_text_from_many_threads_is_weighed_once(tmp_path: Path) -> None:
    turn = threading.Event()

    def slowly(turns: list[Any], text: str) -> list[float]:
        turn.wait(0.05)
        return [-1.0]

    lm = scripted_lm(lambda _: "", likelihood=slowly)
    with Journal(tmp_path / "j.sqlite") as journal, lm.remembering(journal):
        threads = [threading.Thread(target=lm.likelihood, args=(ASK, "a lake")) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert (lm.usage.calls, lm.usage.replayed) == (1, 7)


@pytest.mark.parametrize("kept", [[None, -2.0], [5.0], [1e308, -1.0], []])
def test_what_older_journals_hold_of_impossible_likelihoods_is_asked_anew_and_then_kept(
    lm: LanguageModel, loopback: Loopback, tmp_path: Path, kept: list[float | None]
) -> None:
    with Journal(tmp_path / "j.sqlite") as journal:
        with lm.remembering(journal):
            lm.likelihood(ASK, "a lake")
        ((request, reply),) = journal.latest(1)
    bad = json.dumps({**json.loads(reply), "logprobs": kept})
    with Journal(tmp_path / "old.sqlite") as journal, lm.remembering(journal):
        journal.keep(key_of(request), request, bad)
        found = [lm.likelihood(ASK, "a lake") for _ in range(3)]
    assert loopback.calls == 2
    assert {one.logprobs for one in found} == {(-1.0, -4.0)}
    assert [one.usage.calls for one in found] == [1, 0, 0]


def test_what_is_above_zero_by_rounding_only_is_zero() -> None:
    assert Likelihood.of([1e-6, -1.0, -math.inf], "prompt", Usage()).logprobs == (0.0, -1.0, FLOOR)


# --- an endpoint that echoes ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "logprob", "tokens"), [("It lay still.", -11, 3), ("One", -3, 1), ("a\n\n b ", -2, 3), ("漢字 🙂", -3, 2)]
)
@pytest.mark.parametrize("before", ["", "<s>"])
def test_only_the_text_is_weighed(
    lm: LanguageModel, loopback: Loopback, text: str, logprob: float, tokens: int, before: str
) -> None:
    # In this endpoint a word takes the white space before it: the line break after "Assistant:" is the first word's.
    loopback.complete = echoing(lambda piece: -float(len(piece.strip())), before=before)
    measured = lm.likelihood(ASK, text)
    assert (measured.logprob, len(measured.logprobs), measured.method) == (logprob, tokens, "prompt")
    (asked,) = loopback.asked
    assert asked.path == "/v1/completions"
    assert asked.headers["authorization"] == f"Bearer {KEY}"
    assert asked.body == {
        "model": "x",
        "prompt": PROMPT + text,
        "max_tokens": 1,
        "temperature": 0,
        "echo": True,
        "logprobs": 1,
    }


def test_tokens_that_are_not_text_are_placed_by_their_offsets(lm: LanguageModel, loopback: Loopback) -> None:
    whole = echoing(lambda piece: -float(len(piece.strip())))

    def cut(body: dict[str, Any]) -> Any:
        reply: Any = whole(body)
        given = reply["choices"][0]["logprobs"]
        given["tokens"] = ["bytes:\\xe6"] * len(given["tokens"])
        return reply

    loopback.complete = cut
    assert lm.likelihood(ASK, "It lay still.").logprob == -11


EMOJI = [*"🎉🙂"]
PARTS = {
    "parts": lambda c: ["\ufffd"] * 3,
    "parts, then the whole": lambda c: ["\ufffd", "\ufffd", c],
    "nothing, then the whole": lambda c: ["", "", c],
}


def in_parts(spell: Callable[[str], list[str]], before: str = "", after: str = " more") -> Callable[[Any], Any]:
    """An endpoint that echoes, in whose tokens an emoji is written so; offsets are sums of the lengths of tokens."""

    def complete(body: dict[str, Any]) -> Any:
        tokens = [before] * bool(before)
        for piece in re.findall(r"[🎉🙂]|\s*[^\s🎉🙂]+|\s+", body["prompt"]):
            tokens += spell(piece) if piece in EMOJI else [piece]
        values = [None, *(-5.0 if token.strip() != "good" else -1.0 for token in tokens[1:])]
        tokens += [after] * bool(after)
        logprobs = {
            "tokens": tokens,
            "token_logprobs": [*values, -9.0][: len(tokens)],
            "text_offset": [sum(map(len, tokens[:i])) for i in range(len(tokens))],
        }
        return {"choices": [{"index": 0, "text": body["prompt"] + after, "logprobs": logprobs}]}

    return complete


@pytest.mark.parametrize("before", ["", "<s>"])
@pytest.mark.parametrize("after", ["", " more"])
@pytest.mark.parametrize("asked", ["plain", "party 🎉 time", "🎉🙂" * 6 + " many", "Assistant:\n🎉Assistant:\ngood 🎉"])
@pytest.mark.parametrize("spell", PARTS.values(), ids=PARTS)
def test_parts_of_characters_move_no_value_from_the_prompt_into_the_text(
    lm: LanguageModel, loopback: Loopback, spell: Callable[[str], list[str]], asked: str, before: str, after: str
) -> None:
    loopback.complete = in_parts(spell, before, after)
    assert lm.likelihood([("user", asked)], "good good good").logprobs == (-1.0,) * 3
    blank_and_emoji = (-5.0,) * 7
    measured = lm.likelihood([("user", asked)], "good 🎉🙂 good")
    assert measured.logprobs == (-1.0, *blank_and_emoji, -1.0)


@pytest.mark.parametrize("spell", [lambda c: ["<0xF0>"] * 4, lambda c: ["bytes:\\xf0"] * 2, lambda c: [""] * 3])
@pytest.mark.parametrize(("asked", "text"), [("party 🎉 time", "good good"), ("party", "good 🎉 good")])
def test_tokens_that_cannot_be_matched_to_the_prompt_give_no_number(
    lm: LanguageModel, loopback: Loopback, spell: Callable[[str], list[str]], asked: str, text: str
) -> None:
    loopback.complete = in_parts(spell)
    with pytest.raises(errors.UnreadableReply, match="cannot be matched") as caught:
        lm.likelihood([("user", asked)], text)
    assert caught.value.usage.calls == loopback.calls == 1  # type: ignore[attr-defined]
    assert lm.likelihood([("user", "party")], "good good").mean == -1.0  # it concerns that text alone


def test_where_more_than_one_way_fits_there_is_no_number(lm: LanguageModel, loopback: Loopback) -> None:
    """The last part belongs to the text, or is what was generated and says nothing yet."""
    loopback.complete = in_parts(PARTS["parts"], after="")
    with pytest.raises(errors.UnreadableReply, match="cannot be matched"):
        lm.likelihood(ASK, "good 🎉")


@pytest.mark.parametrize("change", ["shifted", "short", "long", "fewer values", "back and forth"])
def test_offsets_that_do_not_agree_with_the_words_are_not_believed(
    lm: LanguageModel, loopback: Loopback, change: str
) -> None:
    whole = echoing(lambda _: -1.0)

    def garbled(body: dict[str, Any]) -> Any:
        reply: Any = whole(body)
        given = reply["choices"][0]["logprobs"]
        given["tokens"] = [token.replace(" ", "▁").replace("\n", "Ċ") for token in given["tokens"]]
        offsets = given["text_offset"]
        if change == "shifted":
            given["text_offset"] = [*(offset + 3 for offset in offsets[:-1]), offsets[-1]]
        elif change == "short":
            given["text_offset"] = offsets[:-1]
        elif change == "long":
            given["text_offset"] = [*offsets[:-1], offsets[-1] + 2]
        elif change == "fewer values":
            del given["token_logprobs"][0]
        else:
            offsets[2:4] = offsets[3:1:-1]
        return reply

    loopback.complete = whole
    assert lm.likelihood(ASK, "It lay still.").logprobs == (-1.0,) * 3
    loopback.complete = garbled
    with pytest.raises(errors.UnreadableReply, match="cannot be matched"):
        lm.likelihood(ASK, "It lay still. ")


def test_a_long_text_of_parts_takes_no_longer_than_others() -> None:
    started = time.process_time()
    text = "漢" * 20_000 + " x " + "字" * 20_000
    assert len(text) in _reached("\ufffd" * 60_000 + " x " + "\ufffd" * 60_000, text)
    assert time.process_time() - started < 2


def test_what_it_cost_is_counted(lm: LanguageModel) -> None:
    measured = lm.likelihood(ASK, "It lay still.")
    assert measured.usage.prompt_tokens == 10
    assert measured.usage.completion_tokens == 1
    assert measured.usage.calls == 1
    assert measured.usage.seconds > 0
    assert lm.usage == measured.usage


def test_a_model_given_as_a_dspy_lm_is_asked_at_its_address(loopback: Loopback) -> None:
    import dspy

    loopback.complete = echoing(lambda _: -2.0)
    lm = open_lm(dspy.LM("openai/x", api_base=loopback.api_base, api_key=KEY))
    assert lm.likelihood(ASK, "It lay still.").mean == -2
    assert loopback.asked[0].headers["authorization"] == f"Bearer {KEY}"


def test_a_provider_that_only_chats_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    lm = open_lm("openai/gpt-4.1-mini")
    assert not lm.gives_likelihood
    assert lm.usage.calls == 0


@pytest.mark.parametrize(
    "complete",
    [
        not_echoing,
        echoing(lambda _: None),
        lambda body: {"id": "x", "choices": [{"index": 0, "text": body["prompt"], "logprobs": None}]},
        lambda body: Fault(status=404, message="Not Found"),
        lambda body: Fault(status=400, message="This is a chat model; use v1/chat/completions"),
        lambda body: Fault(status=500, message="Only no echo is supported"),
        lambda body: Fault(status=501, message="not implemented"),
    ],
)
def test_an_endpoint_that_does_not_give_it_is_refused_at_once(
    lm: LanguageModel, loopback: Loopback, complete: Any
) -> None:
    loopback.complete = complete
    with pytest.raises(errors.RequestRefused, match=r"openai/x: .*no token log-probabilities.*embedded model"):
        lm.likelihood(ASK, "a lake")
    assert loopback.calls == 1
    assert not lm.gives_likelihood


@pytest.mark.parametrize(
    ("fault", "kind", "calls"),
    [
        (Fault(status=503), errors.EndpointDown, 1 + RETRIES),
        (Fault("reset"), errors.EndpointDown, 1 + RETRIES),
        (Fault("empty"), errors.EndpointDown, 1 + RETRIES),
        (Fault("broken"), errors.EndpointDown, 1 + RETRIES),
        (too_many(), errors.RateLimited, 1 + WHERE_LIMITED * RETRIES),
        (Fault(status=401, message=f"bad key {KEY}"), errors.AuthenticationFailed, 1),
        (Fault(status=429, message="quota", code="insufficient_quota"), errors.BillingStopped, 1),
        (Fault(status=400, message="maximum context length is 10"), errors.ContextOverflow, 1),
    ],
)
def test_failures_are_those_of_chat(
    lm: LanguageModel, loopback: Loopback, fault: Fault, kind: type[errors.ModelError], calls: int
) -> None:
    loopback.complete = lambda _: fault
    with pytest.raises(errors.ModelError) as caught:
        lm.likelihood(ASK, "a lake")
    assert type(caught.value) is kind
    assert KEY not in str(caught.value)
    assert loopback.calls == lm.usage.calls == calls


def test_a_failure_that_passes_is_waited_for(lm: LanguageModel, loopback: Loopback) -> None:
    waits: list[float] = []
    lm._wait = waits.append
    good, left = loopback.complete, [too_many("7"), Fault(status=500)]
    loopback.complete = lambda body: left.pop(0) if left else good(body)
    assert lm.likelihood(ASK, "a lake").usage.calls == 3
    assert waits == [7.0, 2.0]


# --- an embedded model ----------------------------------------------------------------------------------------------


GOOD = "The lake was quiet that morning, and the whole valley seemed to hold its breath."


@pytest.mark.model
def test_a_sentence_is_likelier_than_its_words_in_disorder(tiny: LanguageModel) -> None:
    shuffled = GOOD.split()
    random.Random(0).shuffle(shuffled)
    good, bad = (tiny.likelihood(ASK, text) for text in (GOOD, " ".join(shuffled)))
    assert good.method == "forced"
    assert good.mean > bad.mean + 1
    again = tiny.likelihood(ASK, GOOD)
    assert again.logprob == good.logprob
    assert again.usage.cached_tokens >= again.usage.prompt_tokens - 1
    assert tiny.gives_likelihood
    assert tiny.likelihood(ASK, "<|im_end|>").logprobs[1:]  # a text is text, whatever it looks like


@pytest.mark.model
@pytest.mark.parametrize("text", ["The lake was quiet.", '"漢\\n\x00"\n'])
def test_it_agrees_with_the_probabilities_of_all_tokens_after_each_prefix(tiny: LanguageModel, text: str) -> None:
    """Without a grammar: each prefix is a prompt of its own, and the whole distribution after it is looked at."""
    measured = tiny.likelihood(ASK, text)
    server = inspect.getclosurevars(tiny._close).nonlocals["server"]

    def post(path: str, **body: Any) -> Any:
        return server.post(path, body, 60)

    rendered = post("/apply-template", messages=[{"role": role, "content": said} for role, said in ASK])["prompt"]
    behind = post("/tokenize", content=rendered, add_special=True, parse_special=True)["tokens"]
    ids = post("/tokenize", content=text, parse_special=False)["tokens"]
    assert post("/detokenize", tokens=ids)["content"].strip() == text.strip()
    total = 0.0
    word = post("/tokenize", content="the")["tokens"][0]
    for token in ids:
        # The bias makes a plain word come out, whatever the model would have said; the probabilities are without it.
        answer = post(
            "/completion",
            prompt=behind,
            n_predict=1,
            n_probs=100_000,
            logit_bias=[[word, 1e6]],
            temperature=0,
        )
        every = {one["id"]: one["logprob"] for one in answer["completion_probabilities"][0]["top_logprobs"]}
        assert sum(map(math.exp, every.values())) == pytest.approx(1, abs=0.01)
        total += every[token]
        behind = [*behind, token]
    assert len(measured.logprobs) == len(ids)
    assert measured.mean == pytest.approx(total / len(ids), abs=0.05)
