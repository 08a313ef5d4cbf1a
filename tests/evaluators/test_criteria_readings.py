"""Ratings of single criteria as readings of the score, and the order of rating and reasons as something to search."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from simulated import CRITERIA, form, last_item

from active_critic.calibration import Calibration, Part
from active_critic.demo_search import DemoSearch, Search
from active_critic.errors import FitError, ProtocolError
from active_critic.evaluators import ActiveCritic, load
from active_critic.evaluators._combining import Combiner, words
from active_critic.lm import Capabilities, LanguageModel, Turn, scripted_lm
from active_critic.protocols import CriticProtocol, Provenance, Reading
from active_critic.records import Criterion, CriterionVerdict, Example, Scale, Verdict
from active_critic.scoring import Scorer
from active_critic.stats.correlation import pearson
from active_critic.suggesting import Places

SCALE = Scale(low=0, high=5)
NAMES = ("Accuracy", "Tone", "Clarity")
SMALL: dict[str, Any] = {"candidates": 2, "demos": 2, "max_batches": 1, "report": False, "journal": None}
ALONE: dict[str, Any] = {f"use_{name}": "never" for name in ("approval", "likelihood", "contrast", "surface")}
TEXT = Capabilities(probabilities=False)


def rated(n: int, *, seed: int = 0) -> Search:
    """Examples whose people look at the tone alone, and verdicts that rate it well, beside two criteria of noise."""
    rng = random.Random(seed)
    criteria = tuple(Criterion(name=name, definition="It is so.") for name in NAMES)
    data = [Example(f"text {i}", f"question {i}", round(rng.uniform(0, 5), 2)) for i in range(n)]
    program = CriticProtocol(
        task_description="Replies.", criteria=criteria, scale=SCALE, provenance=Provenance(model="scripted")
    )
    search = Search(Scorer(program, scripted_lm("{}")), data, data, DemoSearch(candidates=1, demos=0, race=False))
    for i, example in enumerate(data):
        human = example.score or 0.0
        scores = {"Accuracy": rng.uniform(0, 5), "Tone": human + rng.gauss(0, 1), "Clarity": rng.uniform(0, 5)}
        each = tuple(CriterionVerdict(name, min(5.0, max(0.0, score)), None) for name, score in scores.items())
        whole = sum(one.score or 0.0 for one in each) / 3
        search.verdicts[0, i] = Verdict(score=whole, criteria=each, read_from="text")
    return search


def combiner(search: Search, use: Any = "auto") -> Combiner:
    made = Combiner(("rating",), search, SCALE)
    made.rated_by(search.student.protocol.criteria, use)
    return made


def agreement(search: Search, use: Any, fitted_on: int) -> float:
    """Pearson with people of what is predicted for the examples that were not fitted on."""
    rest = range(fitted_on, len(search.examples))
    predicted, _ = combiner(search, use).predict(0, range(fitted_on), rest)
    return pearson([predicted[i] for i in rest], [search.human[i] for i in rest]) or 0.0


def test_where_people_look_at_one_criterion_its_own_rating_agrees_more_than_the_whole() -> None:
    gains = [agreement(rated(230, seed=s), "auto", 30) - agreement(rated(230, seed=s), "never", 30) for s in range(8)]
    assert min(gains) > 0
    assert sum(gains) / len(gains) > 0.08


def test_with_a_handful_of_labels_little_is_staked_on_a_single_criterion() -> None:
    losses = [agreement(rated(205, seed=s), "never", 5) - agreement(rated(205, seed=s), "auto", 5) for s in range(12)]
    assert sum(losses) / len(losses) < 0.02


def test_criteria_that_add_nothing_are_left_out_and_named_and_always_keeps_them() -> None:
    search = rated(200)
    found = combiner(search).fit(0, range(200)).calibration
    assert max(found.shares, key=lambda name: found.shares[name]) == "criterion Tone"
    said = words(found, combiner(search).names, 200)
    dropped = [name for name in ("Accuracy", "Clarity") if f"criterion {name}" not in found.shares]
    assert dropped
    assert f"criteria whose own ratings add nothing to the score, and have no part in it: {', '.join(dropped)}" in said
    kept = combiner(search, "always").fit(0, range(200)).calibration
    assert list(kept.shares) == ["rating", *(f"criterion {name}" for name in NAMES)]
    none = combiner(search, "never").fit(0, range(200)).calibration
    assert list(none.shares) == ["rating"]


def test_many_criteria_of_small_weights_stay_for_they_cost_nothing() -> None:
    """People look at twelve criteria alike: each has a twelfth of what all of them say together."""
    rng, names = random.Random(5), [f"criterion {n}" for n in range(12)]
    search = rated(300)
    search.student.protocol = search.student.protocol.model_copy(
        update={"criteria": tuple(Criterion(name=name, definition="It is so.") for name in names)}
    )
    for i in range(300):
        each = [rng.gauss(2.5, 1) for _ in names]
        search.human[i] = sum(each) / 12
        search.examples[i] = Example(f"text {i}", f"question {i}", search.human[i])
        scores = tuple(CriterionVerdict(name, value, None) for name, value in zip(names, each, strict=True))
        search.verdicts[0, i] = Verdict(score=rng.gauss(2.5, 1), criteria=scores, read_from="text")
    auto, always = agreement(search, "auto", 200), agreement(search, "always", 200)
    assert auto > 0.95
    assert auto == pytest.approx(always, abs=0.01)


def test_a_rating_without_weight_is_told_of_and_that_demonstrations_count_where_a_criterion_does() -> None:
    """That demonstrations have no part is wrong where single ratings, which they shape, have one."""
    made = combiner(rated(40))
    made.search.sets = [(), ()]

    def said(rating: float, tone: float) -> list[str]:
        parts = [("rating", rating), ("criterion Tone", tone), ("surface", 1.0)]
        found = tuple(Part(name=name, mean=1, spread=1, weight=given) for name, given in parts)
        return made.unweighed(Calibration(parts=found, intercept=2, n=40), fine=True)

    assert said(0.0, 0.0) == ["the rating, and with it the demonstrations, has no part in the score"]
    (note,) = said(0.0, 0.5)
    assert note.startswith("the overall rating has no part in the score, though demonstrations were chosen by it; ")
    assert note.endswith("ratings of single criteria have")
    assert said(0.5, 0.0) == said(0.5, 0.5) == []


# --- a whole fit --------------------------------------------------------------------------------------------------


def reasons_first(turns: list[Turn]) -> bool:
    """Whether the instructions of a scoring request ask for reasons before ratings."""
    return turns[0][1].rfind('"justification"') < turns[0][1].rfind('"overall"')


def in_order(turns: list[Turn], filled: dict[str, Any]) -> dict[str, Any]:
    """A form in the order in which it was asked for."""
    ratings = [name for name in ("scores", "overall") if name in filled]
    prose = [name for name in filled if name not in ratings]
    return {name: filled[name] for name in (prose + ratings if reasons_first(turns) else ratings + prose)}


def tone_of(response: str) -> int:
    return response.split().count("fine")


def fine_lm(**how: Any) -> LanguageModel:
    """Rates the tone by how often a text says "fine", and everything else by chance."""

    def answer(turns: list[Turn]) -> str:
        filled = form(turns, 50)
        chance = random.Random(last_item(turns) if "<response>" in turns[-1][1] else "")
        if "scores" in filled:
            filled["scores"] = {name: chance.randint(0, 100) for name in filled["scores"]}
            if "<response>" in turns[-1][1]:
                filled["scores"]["Tone"] = 20 * tone_of(last_item(turns))
        return json.dumps(in_order(turns, filled))

    return scripted_lm(answer, capabilities=TEXT, **how)


def examples(n: int = 36) -> list[Example]:
    rng = random.Random(1)
    texts = [f"{'fine ' * rng.randint(0, 5)}{'word ' * rng.randint(1, 9)}{i}" for i in range(n)]
    return [Example(text, f"question {i}", float(tone_of(text))) for i, text in enumerate(texts)]


def test_a_fitted_critic_reads_its_criteria_and_saves_how(tmp_path: Path) -> None:
    critic = ActiveCritic(fine_lm(), **SMALL, **ALONE).fit(examples(), scale="0..5")
    assert critic.fitted.calibration is not None
    assert critic.fitted.calibration.shares["criterion Tone"] > 0.5
    assert "criteria" in critic.signature
    items = [Example(f"{'fine ' * k}word", "question") for k in range(6)]
    verdicts = list(critic.score_many(items))
    scores = [verdict.score for verdict in verdicts]
    assert (pearson([s for s in scores if s is not None], [float(k) for k in range(6)]) or 0) > 0.8
    for verdict in verdicts:
        assert verdict.read_from == "combination"
        assert verdict.score == pytest.approx(
            min(5.0, max(0.0, critic.fitted.calibration.intercept + sum(verdict.parts.values()))), abs=0.001
        )
    assert [v.score for v in critic.score_many(items, explain=False)] == scores
    critic.save(tmp_path / "judge.json")
    again = load(tmp_path / "judge.json", fine_lm(), journal=None)
    assert [v.to_dict() for v in again.score_many(items)] == [v.to_dict() for v in verdicts]


def test_in_coarse_mode_no_criterion_is_rated_and_to_ask_for_it_is_refused() -> None:
    how: dict[str, Any] = {**SMALL, **ALONE, "mode": "coarse"}
    with pytest.raises(FitError, match="in coarse mode no criterion is rated by itself"):
        ActiveCritic(fine_lm(), **how, use_criteria="always").fit(examples(), scale="0..5")
    critic = ActiveCritic(fine_lm(), **how).fit(examples(), scale="0..5")
    assert [part.name for part in critic.fitted.calibration.parts] == ["rating"]


def test_a_program_with_a_criterion_that_it_does_not_rate_is_refused() -> None:
    critic = ActiveCritic(fine_lm(), **SMALL, **ALONE).fit(examples(), scale="0..5")
    for changed in ({"mode": "coarse"}, {"criteria": (Criterion(name="Length", definition="It is long."),)}):
        program = critic.fitted.model_copy(update=changed)
        with pytest.raises(
            ProtocolError, match=r"the score rests on the rating of 'Tone'.*take that back, or fit again"
        ):
            ActiveCritic.from_protocol(program, fine_lm(), journal=None).score("a text", "question")


def test_single_criteria_together_weigh_as_much_as_one_reading_when_texts_are_placed() -> None:
    rng = random.Random(2)
    names = ["rating", *(f"criterion {name}" for name in CRITERIA)]
    verdicts = [Verdict(score=1.0, read_from="text", parts={n: rng.gauss(0, 1) for n in names}) for _ in range(40)]
    where = Places.of([Example(f"text {i}", "question") for i in range(40)], verdicts)
    weight = {name: (where.at[0, i] / where.standard[0, i]) ** 2 for i, name in enumerate(where.names)}
    assert weight["rating"] == pytest.approx(1)
    assert sum(weight[f"criterion {name}"] for name in CRITERIA) == pytest.approx(1)


# --- the order of rating and reasons ------------------------------------------------------------------------------


def ordered_lm(right: str | None) -> LanguageModel:
    """Rates by the number of words in one order of the reply, and by chance in the other; None: alike in both."""

    def rate(turns: list[Turn]) -> float:
        if not turns[-1][1].startswith("<source>"):
            return 3.0
        response = last_item(turns)
        if right is None or reasons_first(turns) == (right == "reason_first"):
            return 1 + min(3.99, len(response.split()) / 12)
        return random.Random(response).uniform(1, 4.99)

    def answer(turns: list[Turn]) -> str:
        return json.dumps(in_order(turns, form(turns, int(rate(turns)))))

    def levels(turns: list[Turn]) -> dict[str, float]:
        low = int(rate(turns))
        return {str(low): low + 1 - rate(turns), str(low + 1): rate(turns) - low}

    return scripted_lm(answer, levels=levels)


def long_and_short(n: int = 30) -> list[Example]:
    return [Example("word " * (1 + i * 7 % 45) + str(i), f"question {i}", 1 + (i * 7 % 45) / 12) for i in range(n)]


@pytest.mark.parametrize(
    ("right", "taken"),
    [("reason_first", "reason_first"), ("rating_first", "rating_first"), (None, "rating_first")],
)
def test_the_search_decides_between_the_orders_and_a_tie_goes_to_the_cheaper(right: str | None, taken: str) -> None:
    how: dict[str, Any] = {**SMALL, **ALONE, "mode": "coarse", "candidates": 5, "search": "full"}
    critic = ActiveCritic(ordered_lm(right), **how, order="both").fit(long_and_short(), scale="1..5")
    assert {candidate.order for candidate in critic.candidates_} == {"rating_first", "reason_first"}
    assert critic.fitted.reading.order == taken
    winner = next(candidate for candidate in critic.candidates_ if candidate.wins)
    assert (winner.order, winner.to_dict()["order"]) == (taken, taken)


def test_of_two_candidates_with_as_many_demonstrations_and_one_q_the_one_that_rates_first_wins() -> None:
    search = rated(12)
    search.settings = DemoSearch(readings=[Reading(order="reason_first"), Reading(order="rating_first")])
    search.sets = [(), ()]
    for i in range(12):
        search.verdicts[1, i] = search.verdicts[0, i]
    assert search._merit(1, range(12)) > search._merit(0, range(12))


@pytest.mark.parametrize("probabilities", [True, False])
def test_both_orders_begin_with_the_one_that_is_usual_for_the_model(probabilities: bool) -> None:
    lm = scripted_lm("{}", capabilities=Capabilities(probabilities=probabilities))
    first, second = ActiveCritic(lm, order="both", journal=None)._ways()
    usual = ActiveCritic(lm, journal=None)._ways()
    assert [first] == usual
    assert {first.order, second.order} == {"rating_first", "reason_first"}
    assert first.source == second.source


def test_without_explanations_there_is_no_order_to_search() -> None:
    with pytest.raises(FitError, match="without explanations there is no order to search"):
        ActiveCritic(ordered_lm(None), order="both", explanations=False, journal=None).check()


def test_without_overall_scoring_the_score_is_the_mean_of_the_criteria() -> None:
    how: dict[str, Any] = {**SMALL, **ALONE, "overall_scoring": False, "order": "rating_first"}
    critic = ActiveCritic(fine_lm(), **how).fit(examples(), scale="0..5")
    assert list(critic.fitted.calibration.shares) == ["rating"]
    asked = ActiveCritic(fine_lm(), **how, use_criteria="always").fit(examples(), scale="0..5")
    assert "criterion Tone" in asked.fitted.calibration.shares


def test_levels_and_orders_are_searched_together() -> None:
    how: dict[str, Any] = {**SMALL, **ALONE, "mode": "coarse", "candidates": 5, "search": "full", "levels": "1-5,1-9"}
    critic = ActiveCritic(ordered_lm(None), **how, order="both").fit(long_and_short(), scale="1..5")
    ways = {(candidate.levels, candidate.order) for candidate in critic.candidates_}
    assert ways == {(levels, order) for levels in ("1-5", "1-9") for order in ("rating_first", "reason_first")}
    few = ActiveCritic(ordered_lm(None), **{**how, "candidates": 2}, order="both").fit(long_and_short(), scale="1..5")
    said = "of the 4 ways to rate that were asked for (levels and orders), only 2 were tried"
    assert any(note.startswith(said) for note in few.fitted.provenance.notes)


def test_an_unknown_order_is_refused() -> None:
    with pytest.raises(FitError, match="order must be one of None, rating_first, reason_first, both"):
        ActiveCritic(ordered_lm(None), order="neither", journal=None).fit(long_and_short(), scale="1..5")  # type: ignore[arg-type]


def test_reading_defaults_stay_where_one_order_is_asked_for() -> None:
    critic = ActiveCritic(ordered_lm(None), **{**SMALL, **ALONE, "mode": "coarse"}, order="reason_first")
    assert critic.fit(long_and_short(), scale="1..5").fitted.reading == Reading(order="reason_first")
