from __future__ import annotations

import inspect
import itertools
import json
import math
import random
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest
from dspy.teleprompt import Teleprompter
from hypothesis import given, settings
from hypothesis import strategies as st

from active_critic import stats
from active_critic.data.examples import example_key, folds
from active_critic.demo_search import DemoSearch, Search, demo_count
from active_critic.errors import ContextOverflow, EndpointDown, FitError
from active_critic.lm import Turn, scripted_lm
from active_critic.protocols import CriticProtocol, Provenance, Reading
from active_critic.records import Example, Scale
from active_critic.scoring import Scorer

Judge = Callable[[str, list[str]], float | None]
"""From the response, and the responses shown as demonstrations, to a rating 0-100; None gives no readable reply."""


def examples(n: int, per_group: int = 1, length: int = 0) -> list[Example]:
    """Responses ``item 00``, ..., scored in an order that has nothing to do with their numbers."""
    order = random.Random(1).sample(range(n), n)
    return [
        Example(f"item {i:02}" + " x" * (length // 2), f"source {i // per_group}", float(order[i]), row=i + 1)
        for i in range(n)
    ]


def name_of(response: str) -> str:
    return response[:7]


def truth(data: Sequence[Example]) -> dict[str, float]:
    highest = max(e.score or 0.0 for e in data) or 1.0
    return {name_of(e.response): 100 * (e.score or 0.0) / highest for e in data}


def noise(response: str) -> float:
    return random.Random(response).uniform(0, 100)


class Model:
    """A coarse judge by script; keeps what it was asked to score, with the demonstrations it was shown."""

    def __init__(self, judge: Judge, workers: int = 1, context: int | None = None) -> None:
        self.scored: list[tuple[str, tuple[str, ...]]] = []
        self.written: list[str] = []

        def answer(turns: list[Turn]) -> str:
            responses = [
                name_of(found.group(1))
                for role, text in turns
                if role == "user" and (found := re.search(r"<response>\n(.*?)\n</response>", text, re.DOTALL))
            ]
            if "Fill in the form" in turns[-1][1]:
                self.written.append(responses[-1])
                judge(responses[-1], [])  # it may fail here too
                return '{"justification": "fair", "advice": "more"}'
            *shown, item = responses
            if "could not be read" not in turns[-1][1]:
                self.scored.append((item, tuple(shown)))
            rating = judge(item, shown)
            return "no idea" if rating is None else json.dumps({"overall": round(rating)})

        self.lm = scripted_lm(answer, workers=workers, context=context)


def student(model: Model, data: Sequence[Example]) -> Scorer:
    program = CriticProtocol(
        mode="coarse",
        task_description="Replies.",
        scale=Scale(low=0, high=max(e.score or 0.0 for e in data) or 1.0),
        reading=Reading(low=0, high=100, source="text"),
        provenance=Provenance(model="scripted"),
    )
    return Scorer(program, model.lm)


def compiled(judge: Judge, data: Sequence[Example], workers: int = 1, **given_settings: Any) -> tuple[Any, Model]:
    model = Model(judge, workers)
    return DemoSearch(**given_settings).compile(student(model, data), trainset=data), model


def drawn(data: Sequence[Example], **given_settings: Any) -> list[list[str]]:
    """The candidate sets, by the names of their examples."""
    model = Model(lambda item, shown: 50.0)
    search = Search(student(model, data), data, data, DemoSearch(**given_settings))
    return [[name_of(demo.response) for demo in demos] for demos in search.sets]


def planted(data: Sequence[Example], **given_settings: Any) -> str:
    """An example that is a demonstration of exactly one candidate."""
    names = [name for demos in drawn(data, **given_settings) for name in demos]
    return next(name for name in names if names.count(name) == 1)


def good_with(name: str, data: Sequence[Example]) -> Judge:
    """Agrees with people when this demonstration is in the prompt, else guesses."""
    known = truth(data)
    return lambda item, shown: known[item] if name in shown else noise(item)


# --- candidates -------------------------------------------------------------------------------------------------------


@settings(max_examples=40)
@given(
    n=st.integers(8, 30),
    size=st.integers(1, 5),
    candidates=st.integers(1, 9),
    sampling=st.sampled_from(["stratified", "uniform"]),
    seed=st.integers(0, 5),
)
def test_candidates_are_exactly_as_many_as_asked_for_with_exactly_as_many_demonstrations(
    n: int, size: int, candidates: int, sampling: Any, seed: int
) -> None:
    sets = drawn(examples(n), demos=size, candidates=candidates, sampling=sampling, seed=seed)
    assert sets[0] == []
    assert len(sets) == (candidates if size > 1 else min(candidates, 1 + min(n, 16)))
    assert all(len(names) == len(set(names)) == size for names in sets[1:])
    assert len({frozenset(names) for names in sets}) == len(sets)


def test_a_sampling_that_there_is_not_is_refused_and_not_taken_for_another() -> None:
    data = examples(9)
    scorer = student(Model(lambda item, shown: 50.0), data)
    with pytest.raises(FitError, match="sampling must be uniform or stratified, not 'stratifed'"):
        DemoSearch(sampling="stratifed").compile(scorer, trainset=data)  # type: ignore[arg-type]


def test_eleven_candidates_by_default() -> None:
    assert len(drawn(examples(30))) == 11


def test_stratified_sets_have_one_of_each_slice_of_the_scores() -> None:
    data = examples(16)
    known = truth(data)
    ranked = sorted(known, key=lambda name: known[name])
    for names in drawn(data, demos=4, sampling="stratified")[1:]:
        assert sorted(ranked.index(name) // 4 for name in names) == [0, 1, 2, 3]
    uniform = drawn(data, demos=4, sampling="uniform")[1:]
    assert any(sorted(ranked.index(name) // 4 for name in names) != [0, 1, 2, 3] for names in uniform)


def test_a_demonstration_is_written_once_however_many_candidates_have_it() -> None:
    found, model = compiled(lambda item, shown: noise(item), examples(16), demos=5)
    assert len(model.written) == len(set(model.written))
    assert set(model.written) == {name_of(d.response) for c in found.candidate_programs for d in c.demos}


@pytest.mark.parametrize("sampling", ["stratified", "uniform"])
def test_repeated_rows_never_fill_a_candidate_however_they_are_drawn(sampling: str) -> None:
    sets = drawn([*examples(8), *examples(8)], demos=4, sampling=sampling)[1:]
    assert len(sets) == 10
    assert all(len(set(names)) == 4 for names in sets)


@pytest.mark.parametrize(
    ("n", "length", "asked", "count"),
    [
        (60, 50, None, 8),
        (60, 2000, None, 3),
        (24, 50, None, 8),
        (23, 50, None, 7),
        (8, 2000, None, 2),
        (5, 50, None, 1),
        (5, 50, 4, 4),
        (5, 50, 0, 0),
        (60, 2000, 12, 12),
    ],
)
def test_how_many_demonstrations(n: int, length: int, asked: int | None, count: int) -> None:
    assert demo_count(examples(n, length=length), asked) == count


@pytest.mark.parametrize("asked", [5, 6, 100, -1])
def test_more_demonstrations_than_can_be_had_are_refused_before_anything_is_asked(asked: int) -> None:
    model = Model(lambda item, shown: 50.0)
    with pytest.raises(FitError, match=f"{asked} demonstrations cannot be drawn from 5"):
        DemoSearch(demos=asked).compile(student(model, examples(5)), trainset=examples(5))
    assert model.written == model.scored == []


def test_an_example_without_a_score_is_refused() -> None:
    data = [*examples(5), Example("item 99", row=6)]
    with pytest.raises(FitError, match="row 6 has no human score"):
        compiled(lambda item, shown: 50.0, data)


# --- no example sees itself -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("race", [True, False])
@pytest.mark.parametrize("per_group", [1, 3])
def test_no_example_is_scored_with_itself_or_its_group_among_the_demonstrations(race: bool, per_group: int) -> None:
    data = [*examples(30, per_group), examples(30, per_group)[4]]
    group = {name_of(e.response): e.source for e in data}
    found, model = compiled(lambda item, shown: noise(item), data, demos=5, race=race)
    assert len(model.scored) > 100
    for item, shown in model.scored:
        assert group[item] not in {group[name] for name in shown}
    hidden = [5 - len(shown) for _, shown in model.scored if shown]
    assert max(hidden) >= 1  # it did come to that
    sets = [{name_of(d.response) for d in c.demos} for c in found.candidate_programs]
    assert all(any(set(shown) <= names for names in sets) for _, shown in model.scored)


def test_no_example_is_scored_beside_its_own_texts_under_the_name_of_another_document() -> None:
    data = examples(20)
    data += [replace(example, group="given again", score=(example.score or 0.0) / 2) for example in data]
    _, model = compiled(lambda item, shown: noise(item), data, demos=5, race=False)
    assert len(model.scored) > 100
    assert not [item for item, shown in model.scored if item in shown]


# --- the objective ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("race", [True, False])
def test_a_planted_best_candidate_is_found(race: bool) -> None:
    data = examples(40)
    name = planted(data, demos=4, race=race)
    found, _ = compiled(good_with(name, data), data, demos=4, race=race)
    assert name in [name_of(demo.response) for demo in found.rate.demos]
    assert found.candidate_programs[0].q > 2.5
    assert found.candidate_programs[0].demos == tuple(found.rate.demos)


def test_q_is_the_sum_of_three_correlations_over_all_examples() -> None:
    data = examples(25)
    found, _ = compiled(lambda item, shown: noise(item + str(len(shown))), data, race=False, demos=3)
    for candidate in found.candidate_programs:
        verdicts = [found.search.verdicts[candidate.index, i].score for i in range(25)]
        assert candidate.q == pytest.approx(stats.q(verdicts, [e.score or 0.0 for e in data]))
        assert (candidate.scored, candidate.asked, candidate.coverage) == (25, 25, 1.0)


def test_a_constant_prediction_counts_as_zero() -> None:
    found, _ = compiled(lambda item, shown: 50.0, examples(20), demos=3)
    assert {candidate.q for candidate in found.candidate_programs} == {0.0}


def test_ties_go_to_fewer_demonstrations_whichever_was_ahead_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """On the first eight examples a candidate with demonstrations is ahead of the one without; on all they tie."""
    data = examples(16)
    _, ahead, _ = drawn(data, demos=3, candidates=3)

    def judge(item: str, shown: list[str]) -> float:
        return 40.0 if not shown else 60.0 if set(shown) <= set(ahead) else 20.0

    monkeypatch.setattr(stats, "q", lambda pred, human: 1.0 if len(pred) > 8 else sum(pred))
    monkeypatch.setattr(stats, "chance_ahead", lambda *of, seed: 0.5)
    found, _ = compiled(judge, data, demos=3, candidates=3)
    asked = {candidate.index: candidate.asked for candidate in found.candidate_programs}
    assert asked == {0: 16, 1: 16, 2: 8}
    assert found.candidate_programs[0].index == 0
    assert found.rate.demos == []


def test_of_candidates_that_agree_alike_one_that_rates_before_it_explains_wins() -> None:
    data = examples(20)
    right = truth(data)

    def answer(turns: list[Turn]) -> str:
        reasons = {"justification": "fair", "advice": "more"}
        if "Fill in the form" in turns[-1][1]:
            return json.dumps(reasons)
        *shown, item = re.findall(r"<response>\n(.{7})", "".join(text for _, text in turns))
        rating = {"overall": round(right[item] if shown else noise(item))}
        first = '{"overall"' in turns[0][1]
        return json.dumps({**rating, **reasons} if first else {**reasons, **rating})

    slow, quick = (Reading(low=0, high=100, source="text", order=o) for o in ("reason_first", "rating_first"))
    scorer = Scorer(student(Model(lambda item, shown: 50.0), data).protocol, scripted_lm(answer))
    found = DemoSearch(candidates=3, demos=3, readings=[quick, slow], race=False).compile(scorer, trainset=data)
    best, other, _ = found.candidate_programs
    assert (best.order, other.order) == ("rating_first", "reason_first")
    assert best.q == other.q > 2.9
    assert best.index > other.index  # no earlier one wins for being early
    assert found.protocol.reading == quick


def test_a_constant_prediction_beats_one_that_disagrees() -> None:
    data = examples(20)
    known = truth(data)
    found, _ = compiled(lambda item, shown: 50.0 if not shown else 100 - known[item], data, demos=3)
    assert found.candidate_programs[0].q == 0.0
    assert found.candidate_programs[-1].q < -2


@pytest.mark.parametrize(("unreadable", "wins"), [(2, True), (3, False)])
def test_a_candidate_below_ninety_percent_coverage_cannot_win(unreadable: int, wins: bool) -> None:
    data = examples(20)
    name = planted(data, demos=3)
    good = good_with(name, data)
    lost = [name_of(e.response) for e in data if name_of(e.response) != name][:unreadable]

    def judge(item: str, shown: list[str]) -> float | None:
        return None if name in shown and item in lost else good(item, shown)

    found, _ = compiled(judge, data, demos=3, race=False)
    best = next(c for c in found.candidate_programs if name in [name_of(d.response) for d in c.demos])
    assert best.wins == wins
    assert (best.scored, best.asked) == (20 - unreadable, 20)
    assert best.q is not None
    assert best.q > 2.5  # what is unscored is left out, not counted as zero
    assert found.candidate_programs[0].wins
    assert sum(c.wins for c in found.candidate_programs) == 1


def test_no_candidate_with_enough_coverage_is_an_error_that_says_why() -> None:
    data = examples(20)
    lost = {name_of(e.response) for e in data[:5]}
    with pytest.raises(FitError, match=r"the best scored 15 of 20(.|\n)*no idea"):
        compiled(lambda item, shown: None if item in lost else noise(item), data, demos=3)


def test_a_model_of_which_nothing_can_be_read_ends_the_search_early() -> None:
    data = examples(40)

    def babble(item: str, shown: list[str]) -> None:
        time.sleep(0.005)

    model = Model(babble)
    with pytest.raises(FitError, match=r"none of the first 20 examples could be scored.*no JSON.*lm check scripted$"):
        DemoSearch().compile(student(model, data), trainset=data)
    assert 20 <= len(model.scored) < 30


def test_a_dead_endpoint_ends_the_search() -> None:
    def judge(item: str, shown: list[str]) -> float:
        raise EndpointDown("nothing answers")

    with pytest.raises(EndpointDown):
        compiled(judge, examples(20), workers=3)


def test_a_text_that_does_not_fit_ends_nothing() -> None:
    """Not known beforehand: the endpoint says so when it is asked."""
    data = examples(20)
    name = planted(data, demos=3)
    good = good_with(name, data)
    long = next(n for names in drawn(data, demos=3)[1:] for n in names if name not in names)

    def judge(item: str, shown: list[str]) -> float:
        if long in {item, *shown}:
            raise ContextOverflow("9001 tokens do not fit")
        return good(item, shown)

    found, _ = compiled(judge, data, demos=3)
    assert name in [name_of(demo.response) for demo in found.rate.demos]
    assert found.candidate_programs[0].scored == 19
    lost = next(c for c in found.candidate_programs if long in [name_of(d.response) for d in c.demos])
    assert (lost.q, lost.scored) == (0.0, 0)
    assert not lost.wins


def test_texts_that_cannot_fit_are_no_demonstrations() -> None:
    data = examples(20)
    data[3] = Example("item 03" + " x" * 2000, "source 3", 7.0)
    model = Model(lambda item, shown: noise(item), context=4000)
    found = DemoSearch(demos=3).compile(student(model, data), trainset=data)
    assert "item 03" not in model.written
    assert "item 03" in {item for item, _ in model.scored}
    assert len(found.candidate_programs) == 11
    crowded = Model(lambda item, shown: 50.0, context=20)
    with pytest.raises(FitError, match="3 demonstrations do not fit the context window of 20 tokens"):
        DemoSearch(demos=3).compile(student(crowded, data), trainset=data)
    roomy = Model(lambda item, shown: 50.0, context=1000)
    thai = [Example(f"item {i:02} {'ก' * 300}", f"source {i}", float(i)) for i in range(20)]
    with pytest.raises(FitError, match="only 0 of 20 examples have at most 500 characters"):
        DemoSearch(demos=3).compile(student(roomy, thai), trainset=thai)


def test_examples_that_share_the_most_of_the_prompt_are_asked_one_after_the_other() -> None:
    data = examples(24, per_group=3)
    model = Model(lambda item, shown: 50.0)
    search = Search(student(model, data), data, data, DemoSearch(demos=3))
    asked = search.order[:16]
    search.score(1, asked)
    source = {name_of(example.response): example.source for example in data}
    shown = [names for _, names in model.scored]
    for shared in (shown, [source[item] for item, _ in model.scored]):
        together = [value for value, _ in itertools.groupby(shared)]
        assert len(together) == len(set(together)) > 1
    assert len(model.scored) == 16


# --- rating levels ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("race", [True, False])
def test_the_search_decides_between_rating_levels(race: bool) -> None:
    data = examples(40)
    right = truth(data)

    def answer(turns: list[Turn]) -> str:
        last = turns[-1][1]
        if "Fill in the form" in last:
            return '{"justification": "fair", "advice": "more"}'
        *_, item = re.findall(r"<response>\n(.{7})", last)
        nine = "from 1 (as bad as it gets) to 9" in turns[0][1]
        return json.dumps({"overall": 1 + round(right[item] / 12.5) if nine else 1 + round(noise(item) / 25)})

    model = scripted_lm(answer)
    five, nine = (Reading(low=1, high=high, source="text") for high in (5, 9))
    scorer = Scorer(student(Model(lambda item, shown: 50.0), data).protocol, model)
    found = DemoSearch(candidates=6, demos=3, readings=[five, nine], race=race).compile(scorer, trainset=data)
    assert found.protocol.reading == nine
    assert scorer.protocol.reading.high == 100
    best = found.candidate_programs[0]
    assert (best.levels, best.to_dict()["levels"]) == ("1-9", "1-9")
    assert {c.index: c.levels for c in found.candidate_programs} == {i: ("1-5", "1-9")[i % 2] for i in range(6)}
    assert best.q is not None
    assert best.q > 2.8
    verdict = found(source="source 1", response=data[5].response).verdict
    assert verdict.score == pytest.approx(data[5].score, abs=3)


# --- the race ---------------------------------------------------------------------------------------------------------


def test_the_full_search_scores_every_candidate_on_every_example_once() -> None:
    data = examples(60)
    found, model = compiled(lambda item, shown: noise(item), data, race=False, demos=4)
    assert len(model.scored) == 11 * 60
    assert sum(c.usage.calls for c in found.candidate_programs) == 11 * 60
    assert all(c.asked == 60 for c in found.candidate_programs)


def test_the_race_costs_a_part_of_the_full_search_and_finds_the_same_winner() -> None:
    data = examples(60)
    judge = good_with(planted(data, demos=4), data)
    full, full_model = compiled(judge, data, race=False, demos=4)
    race, race_model = compiled(judge, data, race=True, demos=4)
    assert race.rate.demos == full.rate.demos
    assert race.candidate_programs[0].q == full.candidate_programs[0].q
    assert race.candidate_programs[0].asked == 60
    # 8 examples for 11 candidates, after which no other is likely to be better; all 60 for the one that is left
    assert len(race_model.scored) == 11 * 8 + 52
    assert len(race_model.scored) < 0.25 * len(full_model.scored)


def test_candidates_that_cannot_be_told_apart_are_scored_on_more_until_they_can() -> None:
    data = examples(60)
    right = truth(data)
    found, model = compiled(lambda item, shown: right[item] if shown else noise(item), data, demos=4)
    asked = sorted((c.asked for c in found.candidate_programs), reverse=True)
    assert asked == [60, 60, 32, 16, 16, 16, 8, 8, 8, 8, 8]  # 11 of equals, then the better 6, 3 and 2
    assert len(model.scored) == sum(asked)


def test_a_race_on_a_part_of_the_examples_scores_none_of_the_first_rung_again() -> None:
    data = examples(40)
    found, model = compiled(lambda item, shown: noise(item), data, demos=3)
    search = found.search
    first = set(search.order[:8])
    before = set(search.verdicts)
    assert {c for c, i in before if i in first} == set(range(11))
    for part in folds(data, 5, 0):
        search.run([i for i in range(40) if i not in part])
    assert {i for _, i in set(search.verdicts) - before}.isdisjoint(first)
    assert len(model.scored) == len(search.verdicts)
    # Where a fold leaves hardly any of the first rung, the next ones in the order are taken.
    rest = [i for i in range(40) if i not in first]
    assert search.run(rest) in range(11)
    assert all((c, search.order[11]) in search.verdicts for c in range(11))


def test_where_the_winner_leaves_too_much_unscored_the_next_one_has_its_turn() -> None:
    data = examples(40)
    name = planted(data, demos=3)
    good = good_with(name, data)
    order = Search(student(Model(good), data), data, data, DemoSearch(demos=3)).order
    late = {name_of(data[i].response) for i in order[8:] if name_of(data[i].response) != name}

    def judge(item: str, shown: list[str]) -> float | None:
        return None if name in shown and item in late else good(item, shown)

    found, _ = compiled(judge, data, demos=3)
    best = found.candidate_programs[0]
    assert name not in [name_of(d.response) for d in best.demos]
    assert (best.scored, best.asked) == (40, 40)


def test_the_examples_of_the_first_rung_span_the_scores() -> None:
    data = examples(96)
    model = Model(lambda item, shown: 50.0)
    search = Search(student(model, data), data, data, DemoSearch(candidates=1))
    known = [e.score or 0.0 for e in data]
    first = sorted(known[i] for i in search.order[:24])
    assert sorted(search.order) == list(range(96))
    assert all(abs(score - place * 4) <= 4 for place, score in enumerate(first))


# --- the result -------------------------------------------------------------------------------------------------------


def test_every_candidate_stays_attached_with_its_q_cost_and_demonstrations() -> None:
    data = examples(30)
    found, model = compiled(good_with(planted(data, demos=3), data), data, demos=3)
    candidates = found.candidate_programs
    assert sorted(c.index for c in candidates) == list(range(11))
    assert [c.wins for c in candidates] == [True] + [False] * 10
    assert sum(c.usage.calls for c in candidates) == len(model.scored)
    assert all(c.usage.prompt_tokens > 0 for c in candidates)
    keys = {example_key(e) for e in data}
    for candidate in candidates:
        document = json.loads(json.dumps(candidate.to_dict()))
        assert set(document["demos"]) <= keys
        assert (document["index"], document["q"], document["asked"]) == (candidate.index, candidate.q, candidate.asked)


@pytest.mark.parametrize("race", [True, False])
def test_the_same_seed_finds_the_same_whatever_the_workers(race: bool) -> None:
    data = examples(40, per_group=2)

    def outcome(seed: int, workers: int) -> Any:
        found, _ = compiled(
            lambda item, shown: noise(item + "".join(shown)), data, workers, demos=3, seed=seed, race=race
        )
        scores = {key: verdict.score for key, verdict in found.search.verdicts.items()}
        return found.rate.demos, scores, [(c.index, c.demos, c.q, c.asked) for c in found.candidate_programs]

    assert outcome(3, 1) == outcome(3, 1) == outcome(3, 4)
    assert outcome(3, 1)[2] != outcome(4, 1)[2]


def test_compile_is_a_teleprompters_and_leaves_the_student_as_it_is() -> None:
    ours = list(inspect.signature(DemoSearch.compile).parameters.values())
    theirs = [p for p in inspect.signature(Teleprompter.compile).parameters.values() if p.kind != p.VAR_KEYWORD]
    assert [(p.name, p.kind) for p in ours] == [(p.name, p.kind) for p in theirs]
    assert [p.default is p.empty for p in ours] == [p.default is p.empty for p in theirs]
    assert isinstance(DemoSearch(), Teleprompter)
    data = examples(20)
    model = Model(good_with(planted(data, demos=3), data))
    before = student(model, data)
    protocol = before.protocol
    found = DemoSearch(demos=3).compile(before, trainset=data, teacher=None, valset=None)
    assert found is not before
    assert isinstance(found, Scorer)
    assert found.rate.demos != []
    assert (before.rate.demos, before.protocol, before._compiled) == ([], protocol, False)
    assert not hasattr(before, "candidate_programs")
    assert found.lm is before.lm
    assert found._compiled


def test_a_valset_is_what_candidates_are_chosen_by() -> None:
    data = examples(40)
    train, val = data[:20], data[20:]
    model = Model(lambda item, shown: noise(item))
    found = DemoSearch(demos=3).compile(student(model, data), trainset=train, valset=val)
    assert {item for item, _ in model.scored} == {name_of(e.response) for e in val}
    assert {name for _, shown in model.scored for name in shown} <= {name_of(e.response) for e in train}
    assert found.candidate_programs[0].asked == 20


def test_progress_tells_what_is_done_and_how_much_there_is_at_most() -> None:
    told: list[tuple[str, int, int]] = []
    compiled(lambda item, shown: noise(item), examples(30), demos=3, progress=lambda *said: told.append(said))
    assert {what for what, _, _ in told} == {"writing demonstrations", "searching demonstrations"}
    for what in ("writing demonstrations", "searching demonstrations"):
        counts = [(done, total) for said, done, total in told if said == what]
        assert [done for done, _ in counts] == list(range(1, len(counts) + 1))
        assert all(done <= total for done, total in counts)
    assert math.isclose(told[-1][2], 11 * 30)


def test_a_few_long_texts_among_short_ones_do_not_make_the_demonstrations_fewer() -> None:
    assert demo_count([*examples(24), *examples(6, length=5_000)], None) == 8
    assert demo_count([*examples(6), *examples(24, length=5_000)], None) == 3
