from __future__ import annotations

import json
import math
from collections.abc import Callable
from itertools import count
from statistics import correlation
from typing import Any, Literal

import pytest
from loopback import Loopback, echoing
from simulated import simulated_lm

from active_critic.errors import RequestRefused
from active_critic.evaluators import EVALUATORS, ActiveCritic, AutoCalibrate, GEval, ZeroShot
from active_critic.journal import Journal
from active_critic.lm import Capabilities, LanguageModel, open_lm, scripted_lm
from active_critic.lm.client import Turn
from active_critic.lm.costing import between
from active_critic.lm.filling import form_filling_lm
from active_critic.lm.rehearsal import Estimate, estimate, estimate_parts
from active_critic.lm.speed import MEASURED, Speed, fitted, speed_of
from active_critic.records import Example, Usage


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("active_critic.lm.rehearsal.PATIENCE", 1e9)  # on a busy machine there were fewer rehearsals


def examples(count: int = 24) -> list[Example]:
    texts = [f"Reply {i}: " + "word " * (3 * (i % 7)) for i in range(count)]
    return [Example(text, f"question {i // 3}", 1.0 + i % 5, group=f"d{i // 3}") for i, text in enumerate(texts)]


def forbidden(*_: object) -> None:
    raise AssertionError("a call was made")


def embedded(**settings) -> LanguageModel:
    """What an embedded model looks like; it must not be asked."""
    identity = {"name": "qwen2.5-coder-1.5b", "weights": "0" * 64}
    everything = Capabilities(json_schema=True, probabilities=True)
    given = {"identity": identity, "context": 4096, "capabilities": everything, "weigh": forbidden, **settings}
    return LanguageModel("qwen2.5-coder-1.5b", forbidden, extensions={"cache_prompt": True}, **given)


def rehearsal(lm: LanguageModel, take: int = 0, scores: dict[str, float] | None = None) -> LanguageModel:
    """The stand-in of a take."""
    twins: list[LanguageModel] = []
    estimate(lm, twins.append, [], takes=take + 1, scores=scores)
    return twins[take]


@pytest.mark.parametrize("kind", EVALUATORS, ids=lambda kind: kind.kind)
def test_every_evaluator_can_be_rehearsed(kind) -> None:
    settings = {"max_batches": 1, "candidates": 2, "report": False}
    names = kind("none").parameters()
    given = {name: value for name, value in settings.items() if name in names}

    def work(model):
        critic = kind(model, journal=None, **given).fit(examples(), scale="1..5")
        verdicts = list(critic.score_many(examples(5)))
        assert all(verdict.score is not None for verdict in verdicts)

    found = estimate(embedded(), work, [])
    assert (found.usage.calls > 0) == (kind.kind != "surface")
    assert found.usage.replayed == 0


def test_it_makes_the_calls_of_the_real_thing() -> None:
    real = simulated_lm()
    settings = {"candidates": 3, "demos": 2, "max_batches": 2, "seed": 3, "report": False, "journal": None}
    ActiveCritic(real, **settings).fit(examples(), scale="1..5")
    found = estimate(simulated_lm(), lambda lm: ActiveCritic(lm, **settings).fit(examples(), scale="1..5"), [])
    assert found.usage.calls == pytest.approx(
        real.usage.calls, abs=2
    )  # whether criteria are refined is the model's say


def test_samples_of_one_request_differ_as_they_do_at_a_temperature() -> None:
    told = count()
    real = form_filling_lm(
        lambda text: 1 + len(text) % 5, saying=lambda _: f"In other words each time, as here in number {next(told)}: "
    )

    def fit(lm: LanguageModel) -> None:
        AutoCalibrate(lm, task_description="Replies.", trials=3, samples=3, journal=None).fit(examples(), scale="1..5")

    found = estimate(embedded(), fit, [])
    fit(real)
    assert found.usage.calls == pytest.approx(real.usage.calls, rel=0.02)


def test_a_text_that_was_to_be_improved_may_come_back_as_it_was_so_that_it_is_not_scored_again() -> None:
    settings: dict[str, Any] = {"task_description": "Replies.", "trials": 1, "samples": 3, "refine_samples": 2}

    def fit(lm: LanguageModel) -> None:
        AutoCalibrate(lm, journal=None, **settings).fit(examples(), scale="1..5")

    found = estimate(embedded(), fit, [], takes=6)
    first, *others = (take.requests for take in found.takes)
    assert {(first - one) % len(examples()) for one in others} == {0}  # as many ratings less as there are examples
    assert first == found.ranges["calls"][1] > min(others)


@pytest.mark.parametrize("length", [3, 300])
def test_the_likelihood_of_a_text_at_an_endpoint_is_read_with_the_prompt_and_one_token_is_written(
    loopback: Loopback, length: int
) -> None:
    loopback.complete = echoing(lambda _: -1.0)
    endpoint = open_lm("openai/x", api_base=loopback.api_base)
    text = "word " * length

    def work(lm: LanguageModel) -> None:
        lm.likelihood([("user", "A lake.")], text)

    work(endpoint)
    real, remote, local = endpoint.usage, estimate(endpoint, work, []).usage, estimate(embedded(), work, []).usage
    assert (remote.calls, remote.completion_tokens) == (real.calls, real.completion_tokens) == (1, 1)
    assert remote.prompt_tokens == local.prompt_tokens + local.completion_tokens  # which is forced along the text
    assert local.completion_tokens == pytest.approx(5 * length / 4, abs=1)


def test_tokens_are_counted_turn_by_turn_and_those_of_a_turn_once() -> None:
    counted: list[str] = []

    def count(text: str) -> int:
        counted.append(text)
        return len(text.split())

    def render(turns: list[tuple[str, str]]) -> str:
        return "".join(f"<|im_start|>{role}\n{text}<|im_end|>\n" for role, text in turns) + "<|im_start|>assistant\n"

    asked = [[("system", "You judge texts."), ("user", f"And this one, {number}?")] for number in range(3)]

    def work(lm: LanguageModel) -> None:
        for turns in asked:
            lm.ask(turns, max_tokens=5)

    found = estimate(embedded(count_tokens=count, render=render), work, [])
    assert found.usage.prompt_tokens == sum(len(render(turns).split()) for turns in asked)
    assert sum("You judge" in text for text in counted) == 1


@pytest.mark.parametrize("thinks", [False, True])
def test_of_a_model_that_thinks_first_the_estimate_says_that_thoughts_are_not_in_it(thinks: bool) -> None:
    lm = LanguageModel("x", forbidden, capabilities=Capabilities(json_schema=True, thinks=thinks))
    found = estimate(lm, lambda twin: twin.fill([("user", "Rate it.")], {"type": "object"}, max_tokens=40), [])
    assert any("thinks before it answers" in note for note in found.notes) == thinks


@pytest.mark.parametrize(
    ("figures", "lies"),
    [([150, 100, 149, 150], 120), ([7, 7], 7), ([0.5], 0.5), ([0, 30, 10], 15), ([0, 0], 0)],
)
def test_an_estimate_is_off_by_the_same_share_whichever_end_comes_true(figures: list[float], lies: float) -> None:
    assert between(figures) == lies


def test_what_depends_on_the_replies_has_a_range_around_the_estimate() -> None:
    def asks_on(lm: LanguageModel) -> None:
        said = lm.ask([("user", "Rate this response, 1 to 5.")], max_tokens=5).text
        for number in range(int(said)):
            lm.ask([("user", f"And number {number}?")], max_tokens=5)

    takes = [rehearsal(embedded(), take) for take in range(5)]
    for twin in takes:
        asks_on(twin)
    calls = sorted(twin.usage.calls for twin in takes)
    assert calls[0] < calls[-1]
    found = estimate(embedded(), asks_on, [], takes=5)
    assert found.usage.calls == round(between(calls))
    assert [take.requests for take in found.takes] == [twin.usage.calls for twin in takes]
    assert found.ranges["calls"] == (calls[0], calls[-1])
    low, high = found.ranges["prompt_tokens"]
    assert low <= found.usage.prompt_tokens <= high
    assert low < high
    assert any("5 rehearsals" in note for note in found.notes)
    assert "cost" not in found.ranges
    assert json.loads(json.dumps(found.to_dict()))["ranges"]["calls"] == [calls[0], calls[-1]]


def test_a_take_each_has_demonstrations_win_or_lose() -> None:
    scores = {f"text {i}": i / 20 for i in range(21)}

    def agreement(take: int, *shown: Turn) -> float:
        twin = rehearsal(embedded(), take, scores)
        asked = [[*shown, ("user", f"<response>\n{text}\n</response>")] for text in scores]
        tops = [twin.ask(turns, max_tokens=5, top_logprobs=5).tokens[0].top for turns in asked]
        found = [sum(int(level) * math.exp(logprob) for level, logprob in top) for top in tops]
        return correlation(found, list(scores.values()))

    demo: tuple[Turn, Turn] = (("user", "<response>\nOther\n</response>"), ("assistant", "3"))
    assert agreement(1) > 0.9 > 0.6 > agreement(1, *demo)
    assert agreement(2, *demo) > 0.9 > 0.6 > agreement(2)


@pytest.mark.parametrize("mode", ["coarse", "fine"])
def test_a_fit_is_told_apart_by_the_kind_of_program_that_wins(mode: Literal["coarse", "fine"]) -> None:
    settings: dict[str, Any] = {"candidates": 4, "demos": 3, "max_batches": 1, "report": True, "journal": None}
    data = examples()
    scores = {example.response: ((example.score or 1) - 1) / 4 for example in data}

    def fit(lm: LanguageModel) -> Any:
        return ActiveCritic(lm, mode=mode, **settings).fit(data, scale="1..5").fitted

    found = estimate(embedded(), fit, [], takes=3, scores=scores)
    without, with_some = found.outcomes["without demonstrations"], found.outcomes["with demonstrations"]
    assert without["prompt_tokens"] < 0.9 * with_some["prompt_tokens"]
    for take, outcome in ((1, without), (2, with_some)):
        twin = rehearsal(embedded(), take, scores)
        assert bool(fit(twin).demos) == (take == 2)
        assert outcome["prompt_tokens"] == twin.usage.prompt_tokens
    assert found.to_dict()["outcomes"]["with demonstrations"] == with_some


def test_where_no_demonstrations_are_shown_there_is_nothing_to_tell_apart() -> None:
    settings: dict[str, Any] = {"candidates": 1, "demos": 0, "max_batches": 2, "report": False, "journal": None}
    data = examples()
    scores = {example.response: ((example.score or 1) - 1) / 4 for example in data}
    found = estimate(
        embedded(), lambda lm: ActiveCritic(lm, **settings).fit(data, scale="1..5"), [], takes=3, scores=scores
    )
    assert found.outcomes == {}


def test_work_in_parts_is_told_part_by_part_and_what_two_of_them_ask_is_counted_once() -> None:
    def asks(lm: LanguageModel, *questions: str) -> None:
        for question in questions:
            lm.ask([("user", question)], max_tokens=5)

    def work(lm: LanguageModel, done: Callable[[str], None]) -> None:
        asks(lm, "one", "two")
        done("first")
        asks(lm, "two", "three, which is longer")
        said = lm.ask([("user", "Rate this response, 1 to 5.")], max_tokens=5).text
        asks(lm, *(f"And number {number}?" for number in range(int(said))))
        done("second")
        asks(lm, "one")
        done("third")
        asks(lm, "and what is of no part")

    found = estimate_parts(embedded(price=lambda response: response.usage.input_tokens / 1000), work, [], takes=5)
    first, second, third = found.parts.values()
    assert [*found.parts] == ["first", "second", "third"]
    assert (first.usage.calls, third.usage.calls, third.usage.cost, third.seconds) == (2, 0, 0.0, 0.0)
    assert (first.ranges, third.ranges) == ({}, {})
    low, high = second.ranges["calls"]
    assert low < second.usage.calls < high
    assert (low + 3, high + 3) == found.ranges["calls"]
    assert found.usage.calls == first.usage.calls + second.usage.calls + 1
    assert first.usage.cost == pytest.approx(first.usage.prompt_tokens / 1000)
    seconds = [part.seconds for part in (first, second)]
    assert found.seconds == pytest.approx(sum(one or 0 for one in seconds), rel=0.2)


def test_parts_in_the_journal_are_counted_apart_with_the_first_that_asks_for_them(tmp_path) -> None:
    def work(lm: LanguageModel, done: Callable[[str], None]) -> None:
        for name, questions in (("one", "ab"), ("two", "bcd"), ("three", "ad")):
            for question in questions:
                lm.ask([("user", question)], max_tokens=5)
            done(name)

    with Journal(tmp_path / "j.sqlite") as journal:
        lm = scripted_lm(lambda _: "x")
        lm.memory = journal
        for known in "bd":
            lm.ask([("user", known)], max_tokens=5)
        found = estimate_parts(lm, work, [])
    told = {name: (part.usage.calls, part.usage.replayed) for name, part in found.parts.items()}
    assert told == {"one": (1, 1), "two": (1, 1), "three": (0, 0)}
    assert (found.usage.calls, found.usage.replayed) == (2, 2)


def test_only_parts_that_search_for_demonstrations_are_told_apart_by_them() -> None:
    settings: dict[str, Any] = {"candidates": 3, "demos": 2, "max_batches": 1, "report": False, "journal": None}
    data = examples()
    scores = {example.response: ((example.score or 1) - 1) / 4 for example in data}

    def work(lm: LanguageModel, done: Callable[[str], None]) -> None:
        GEval(lm, max_batches=1, journal=None).fit(data, scale="1..5")
        done("g-eval")
        ActiveCritic(lm, mode="coarse", **settings).fit(data, scale="1..5")
        done("active-critic")

    found = estimate_parts(embedded(), work, [], takes=3, scores=scores)
    assert found.parts["g-eval"].outcomes == {}
    ours = found.parts["active-critic"].outcomes
    assert [*ours] == [*found.outcomes] == ["without demonstrations", "with demonstrations"]
    assert ours["with demonstrations"]["calls"] < found.outcomes["with demonstrations"]["calls"]


def test_what_does_not_has_none() -> None:
    def ask(lm: LanguageModel) -> None:
        lm.ask([("user", "Rate this response, 1 to 5.")], max_tokens=5)

    assert estimate(embedded(), ask, [], takes=4).ranges == {}
    assert estimate(embedded(), ask, []).ranges == {}


@pytest.mark.parametrize(("patience", "begun"), [((0.0, 0.0), 1), ((0.0, 1e9), 3), ((1e9, 1e9), 4)])
def test_of_those_that_take_long_the_outcomes_are_begun_longest(
    patience: tuple[float, float], begun: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, seconds in zip(("PATIENCE", "OUTCOME_PATIENCE"), patience, strict=True):
        monkeypatch.setattr(f"active_critic.lm.rehearsal.{name}", seconds)
    rounds: list[int] = []

    def work(lm: LanguageModel) -> None:
        rounds.append(len(rounds) + 1)
        for i in range(rounds[-1]):
            lm.ask([("user", f"Hi {i}")], max_tokens=5)

    found = estimate(embedded(), work, [], takes=4)
    assert len(rounds) == len(found.takes) == begun
    said = f"the ranges are those of {begun} rehearsals, as many as there was time for"
    assert any(note.endswith(said) for note in found.notes) == (begun == 3)


def test_what_the_journal_has_is_counted_apart_and_nothing_is_added(tmp_path) -> None:
    def score(lm, count: int):
        critic = ZeroShot(lm, journal=None).fit(examples(), scale="1..5")
        return list(critic.score_many(examples(count), explain=False))

    with Journal(tmp_path / "j.sqlite") as journal:
        lm = simulated_lm()
        lm.memory = journal
        score(lm, 5)
        before = len(journal)
        found = estimate(lm, lambda twin: score(twin, 12), journal.latest(100))
        assert (found.usage.replayed, found.usage.calls) == (before, 12 - before)
        assert len(journal) == before


def test_prompts_that_begin_alike_are_read_from_the_prefix_cache_of_an_embedded_model() -> None:
    def twice(lm):
        lm.ask([("system", "The same. " * 100), ("user", "one")], max_tokens=5)
        lm.ask([("system", "The same. " * 100), ("user", "two")], max_tokens=5)

    found = estimate(embedded(count_tokens=lambda text: len(text.split())), twice, [])
    assert found.usage.prompt_tokens == 2 * (1 + 200 + 1 + 1 + 15)
    assert 0.4 < found.usage.cached_tokens / found.usage.prompt_tokens < 0.5
    assert estimate(scripted_lm(lambda _: "x"), twice, []).usage.cached_tokens == 0


def test_what_a_chat_template_adds_of_its_own_is_counted() -> None:
    def rendered(turns):
        return "be helpful " + " ".join(text for _, text in turns)

    def ask(lm):
        lm.ask([("user", "one two three")], max_tokens=5)

    def words(text: str) -> int:
        return len(text.split())

    assert estimate(embedded(count_tokens=words, render=rendered), ask, []).usage.prompt_tokens == 5


def test_money_is_told_where_the_price_is_known() -> None:
    lm = embedded(price=lambda response: response.usage.input_tokens / 1000)
    found = estimate(lm, lambda twin: twin.ask([("user", "a word")], max_tokens=5), [])
    assert found.usage.cost == pytest.approx(found.usage.prompt_tokens / 1000)
    unpriced = estimate(embedded(), lambda twin: twin.ask([("user", "a word")], max_tokens=5), [])
    assert unpriced.usage.cost is None


def test_replies_are_in_the_form_and_no_longer_than_asked() -> None:
    text = {"type": "string", "maxLength": 30}
    properties = {
        "level": {"type": "integer", "minimum": 1, "maximum": 9},
        "names": {"type": "array", "items": text, "minItems": 3, "maxItems": 4},
        "sure": {"type": "boolean"},
        "why": text,
    }
    reply = rehearsal(embedded()).ask(
        [("user", "?")], max_tokens=50, schema={"type": "object", "properties": properties}
    )
    form = json.loads(reply.text)
    assert form.keys() == properties.keys()
    assert 1 <= form["level"] <= 9
    assert len(set(form["names"])) == len(form["names"]) == 4
    assert all(0 < len(said) <= 30 for said in [*form["names"], form["why"]])
    assert rehearsal(embedded()).ask([("user", "?")], max_tokens=2).usage.completion_tokens <= 2


def test_a_text_that_is_to_be_changed_is_made_from_the_one_in_the_prompt() -> None:
    form = {"type": "object", "properties": {"text": {"type": "string", "maxLength": 300}}}

    def changed(how: str) -> str:
        turns = [("system", how), ("user", "<response>\nA\nshop.\n</response>\n\nGive the changed text.")]
        return json.loads(rehearsal(embedded()).ask(turns, max_tokens=50, schema=form).text)["text"]

    ways = {changed("Shorten the text."), changed("Turn it round.")}
    assert len(ways) == 2
    assert all(text.startswith("A\nshop. ") for text in ways)


# --- what the model can do ------------------------------------------------------------------------------------------


def opened(
    refuses: Callable[[Any], str | None] = lambda config: None, lm: LanguageModel | None = None
) -> LanguageModel:
    """A model that was not asked yet what it can do; it passes over JSON schemas."""
    send = (lm or simulated_lm())._send

    def answer(request: Any) -> Any:
        if why := refuses(request.config):
            raise RequestRefused(why)
        return send(request)

    return LanguageModel("scripted", answer, wait=lambda _: None)


def fitted_with(lm: LanguageModel) -> None:
    settings = {"candidates": 2, "demos": 2, "max_batches": 2, "order": "rating_first", "report": False}
    ActiveCritic(lm, journal=None, **settings).fit(examples(), scale="1..5")


REFUSALS: dict[str, Callable[[Any], str | None]] = {
    "nothing": lambda config: None,
    "schemas": lambda config: "no response_format" if config.response_format else None,
    "probabilities": lambda config: "no logprobs" if config.logprobs else None,
    "temperature": lambda config: "no temperature" if config.temperature is not None else None,
    "both": lambda config: REFUSALS["temperature"](config) or REFUSALS["probabilities"](config),
}


@pytest.mark.parametrize("refused", REFUSALS)
@pytest.mark.parametrize("known", [True, False])
def test_what_was_fitted_with_an_endpoint_without_schemas_is_found_in_the_journal(tmp_path, refused, known) -> None:
    with Journal(tmp_path / "j.sqlite") as journal:
        lm = opened(refuses=REFUSALS[refused])
        lm.memory = journal
        fitted_with(lm)
        before = len(journal)
        again = lm if known else opened(refuses=forbidden)
        again.memory = journal
        found = estimate(again, fitted_with, [])
        probe = 1 if refused == "schemas" else 2  # what was refused is not kept
        assert (found.usage.calls, found.usage.replayed) == (0, before - known * probe)
        assert len(journal) == before


@pytest.mark.parametrize("kind", EVALUATORS, ids=lambda kind: kind.kind)
def test_every_evaluator_can_be_rehearsed_without_schemas(kind) -> None:
    settings = {"max_batches": 1, "candidates": 2, "report": False}
    names = kind("none").parameters()
    given = {name: value for name, value in settings.items() if name in names}

    def work(model):
        critic = kind(model, journal=None, **given).fit(examples(), scale="1..5")
        assert all(verdict.score is not None for verdict in critic.score_many(examples(5)))

    can = [Capabilities(json_schema=schema, probabilities=True) for schema in (False, True)]
    plain, formed = (estimate(embedded(capabilities=one), work, []).usage for one in can)
    assert (plain.calls, plain.replayed) == (formed.calls, 0)


def test_half_a_run_with_an_endpoint_without_schemas_is_estimated_to_the_call(tmp_path) -> None:
    def score(lm, count: int):
        return list(ZeroShot(lm, journal=None).fit(examples(), scale="1..5").score_many(examples(count), explain=False))

    with Journal(tmp_path / "j.sqlite") as journal:
        lm = opened()
        lm.memory = journal
        score(lm, 5)
        before = len(journal)
        fresh = opened(refuses=forbidden)
        fresh.memory = journal
        found = estimate(fresh, lambda twin: score(twin, 12), [])
        assert (found.usage.calls, found.usage.replayed) == (7, before)


def test_what_is_not_known_of_a_model_is_said_to_be_taken_for_granted(tmp_path) -> None:
    def score(lm, count: int = 4) -> None:
        given = {"task_description": "Rate replies.", "criteria": {"Tone": "It is friendly."}, "cot": False}
        critic = GEval(lm, samples=3, journal=None, **given).fit(examples(), scale="1..5")
        assert all(verdict.score is not None for verdict in critic.score_many(examples(count), explain=False))

    def granted(found: Estimate) -> list[str]:
        return [note for note in found.notes if "granted" in note]

    fresh = estimate(opened(refuses=forbidden), score, [])
    assert fresh.usage.calls == 2 + 4  # of the probe, and a rating each
    assert len(granted(fresh)) == 1
    assert "gives token probabilities; without, other calls are made: active-critic lm check" in granted(fresh)[0]
    with Journal(tmp_path / "j.sqlite") as journal:
        lm = opened(REFUSALS["probabilities"], scripted_lm(lambda _: '{"rating": 3}'))
        lm.memory = journal
        score(lm, 1)
        again = opened(refuses=forbidden)
        again.memory = journal
        found = estimate(again, score, [])
        assert (found.usage.calls, found.usage.replayed, granted(found)) == (3 * 3, 2 + 3, [])
    assert granted(estimate(embedded(), score, [])) == []


def test_so_is_the_likelihood_where_it_is_asked_for() -> None:
    lm = opened()
    weighing = LanguageModel("x", forbidden, capabilities=Capabilities(probabilities=True), weigh=forbidden)
    for model, granted in ((lm, False), (weighing, True)):
        notes = estimate(model, lambda twin: [twin.capabilities, twin.gives_likelihood], []).notes
        assert any("gives the likelihood of a text; without" in note for note in notes) == granted


# --- speed ----------------------------------------------------------------------------------------------------------


def kept(lm: LanguageModel, usage: Usage) -> tuple[str, str]:
    return json.dumps({"model": lm.identity}), json.dumps({"usage": {**usage.to_dict(), "seconds": usage.seconds}})


def test_the_speed_is_found_again_in_calls_that_were_made() -> None:
    made = Speed(0.2, 0.01, 0.05, "")
    calls = [Usage(1, 0, 100 * i, 40 * i, 7 * (i % 4)) for i in range(1, 30)]
    timed = [Usage(u.calls, 0, u.prompt_tokens, u.cached_tokens, u.completion_tokens, made.seconds(u)) for u in calls]
    found = fitted(timed)
    assert (found.call, found.read, found.write) == pytest.approx((0.2, 0.01, 0.05), rel=1e-6)
    lm = embedded()
    total = sum(timed, Usage())
    again = speed_of(lm, [kept(lm, usage) for usage in timed])
    assert again is not None
    assert again.seconds(total) == pytest.approx(total.seconds, rel=0.01)


def test_too_few_calls_or_another_models_say_nothing() -> None:
    lm = embedded()
    other = scripted_lm(lambda _: "x", name="other")
    some = [kept(lm, Usage(1, 0, 100, 0, 5, 9.0))] * 9 + [kept(other, Usage(1, 0, 100, 0, 5, 1.0))] * 20
    found = speed_of(lm, [*some, ("no", "json")])
    assert found is not None
    assert found.write == 1 / MEASURED[lm.name][1]
    assert speed_of(scripted_lm(lambda _: "x"), some) is None


def test_calls_at_once_share_the_time() -> None:
    lm = embedded(workers=4)
    alone = embedded(workers=1)

    def ask(twin):
        twin.ask([("user", "a word")], max_tokens=5)

    assert estimate(lm, ask, []).seconds == pytest.approx(estimate(alone, ask, []).seconds / 4)
