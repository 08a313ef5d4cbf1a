from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from simulated import simulated_lm

from active_critic.calibration import Calibration, Part
from active_critic.data.examples import folds
from active_critic.demo_search import DemoSearch, Search
from active_critic.errors import (
    AuthenticationFailed,
    BillingStopped,
    ContextOverflow,
    EndpointDown,
    FitError,
    ModelError,
    ProtocolError,
    RateLimited,
    RequestRefused,
)
from active_critic.evaluators import ActiveCritic, load
from active_critic.evaluators._combining import Combiner, words
from active_critic.evaluators._weighed import weighed_part
from active_critic.evaluators.fit_report import FOLDS, held_out_predictions
from active_critic.journal import Journal
from active_critic.lm import LanguageModel, Turn, scripted_lm
from active_critic.protocols import CriticProtocol, Provenance, Reading
from active_critic.records import Example, Scale, Usage, Verdict
from active_critic.scoring import Scorer

ALL = ("rating", "approval", "likelihood", "surface")
PARTS = (*ALL, "tokens")
SMALL: dict[str, Any] = {"candidates": 2, "demos": 2, "max_batches": 1, "report": False, "journal": None}
SCALE = Scale(low=0, high=5)


def likely(turns: list[Turn], text: str) -> list[float]:
    """The model finds texts likelier the more often they say "fine"."""
    if "too long" in text:
        raise ContextOverflow("no room")
    words = text.split()
    return [-3.0 + 2.0 * words.count("fine") / len(words)] * len(words)


def weighing_lm(
    likelihood: Callable[[list[Turn], str], list[float]] = likely,
    *,
    weighed: list[str] | None = None,
    approves: Callable[[list[Turn]], float] = lambda turns: 0.3 + len(turns[-1][1]) / 1000,
    **how: Any,
) -> LanguageModel:
    """A simulated model that also gives likelihoods."""

    def weigh(turns: list[Turn], text: str) -> list[float]:
        if weighed is not None:
            weighed.append(text)
        return likelihood(turns, text)

    return simulated_lm(likelihood=weigh, approves=approves, **how)


def text_of(i: int) -> str:
    rng = random.Random(i)
    return " ".join(rng.choices(("word", "fine", "text", "here"), k=rng.randint(4, 48)))


def examples(n: int = 24) -> list[Example]:
    made = []
    for i in range(n):
        words = (response := text_of(i)).split()
        score = 0.5 + len(words) / 16 + 1.5 * words.count("fine") / len(words)
        made.append(Example(response, f"question {i // 2}", round(min(5.0, score), 2)))
    return made


def items(n: int = 8) -> list[Example]:
    return [Example(text_of(100 + i), f"question {100 + i // 2}") for i in range(n)]


def fitted(
    lm: LanguageModel | None = None, data: list[Example] | None = None, readings: Sequence[str] = ALL, **how: Any
) -> ActiveCritic:
    """Fitted on exactly these readings."""
    uses = {f"use_{name}": "always" if name in readings else "never" for name in (*ALL[1:], "contrast", "criteria")}
    settings: dict[str, Any] = {**uses, **SMALL, **how}
    return ActiveCritic(lm or weighing_lm(), **settings).fit(data or examples(), scale="0..5")


def plain(critic: Any, given: list[Example] | None = None, **how: Any) -> list[dict[str, Any]]:
    return [verdict.to_dict() for verdict in critic.score_many(items() if given is None else given, **how)]


# --- parameters -------------------------------------------------------------------------------------------------------


def test_where_the_readings_are_forbidden_the_rating_is_brought_to_the_scale_and_nothing_is_weighed() -> None:
    weighed: list[str] = []
    critic = fitted(weighing_lm(weighed=weighed), readings=())
    assert [part.name for part in critic.fitted.calibration.parts] == ["rating"]
    assert critic.fitted.surface is None
    verdict = critic.score("a fine text", "question")
    assert verdict.interval is not None
    assert (list(verdict.parts), verdict.read_from) == (["rating"], "probabilities")
    assert weighed == []
    assert "score:rating" in critic.signature.split("|")
    assert not any("combined" in note for note in critic.fitted.provenance.notes)


def test_the_default_takes_what_can_be_had_and_says_what_cannot() -> None:
    contrasting = ActiveCritic(weighing_lm(), use_criteria="never", use_contrast="auto", **SMALL)
    critic = contrasting.fit(examples(), scale="0..5")
    same = fitted(readings=("rating", "likelihood", "surface")).fitted  # the others are not worth their price here
    assert critic.fitted == same.model_copy(update={"provenance": critic.fitted.provenance})
    assert any(
        note.startswith("tried and left out of the score") and note.endswith("approval, contrast")
        for note in critic.fitted.provenance.notes
    )
    default = ActiveCritic(weighing_lm(), use_criteria="never", **SMALL).fit(examples(), scale="0..5")
    assert default.fitted == same.model_copy(update={"provenance": default.fitted.provenance})
    assert not any("contrast" in note for note in default.fitted.provenance.notes)
    lm = simulated_lm()
    without = ActiveCritic(lm, use_contrast="auto", **SMALL).fit(examples(), scale="0..5")
    parts = [part.name for part in without.fitted.calibration.parts]
    assert [name for name in parts if not name.startswith("criterion ")] == ["rating", "surface"]
    notes = without.fitted.provenance.notes
    assert any(
        note.startswith(f"the score is read without the likelihood and the contrast: {lm.name}") for note in notes
    )
    assert "the score is read without the approval: only 0 of 24 examples have one" in notes


def test_a_reading_that_is_worth_nothing_is_left_out_unless_it_is_always_to_be_used() -> None:
    """The model finds all of hundreds of examples as likely: nobody should pay for that when scoring."""
    data = [Example(f"{text_of(i)} {i}", f"question {i}") for i in range(300)]
    data = [Example(e.response, e.source, len(e.response.split()) / 10) for e in data]
    weighed: list[str] = []

    def alike(turns: list[Turn], text: str) -> list[float]:
        return [-2.0] * len(text.split())

    others = {f"use_{name}": "never" for name in ("criteria", "approval", "contrast", "surface")}
    how: dict[str, Any] = {"candidates": 1, "demos": 0, **others}
    lm = weighing_lm(alike, weighed=weighed, rate=lambda response, turns: len(response.split()) / 10)
    critic = ActiveCritic(lm, **{**SMALL, **how}).fit(data, scale="0..5")
    assert [part.name for part in critic.fitted.calibration.parts] == ["rating"]
    said = "tried and left out of the score, for a share of the weights below 5%: likelihood"
    assert said in critic.fitted.provenance.notes
    weighed.clear()
    assert critic.score("a fine text", "question").score is not None
    assert weighed == []
    critic = ActiveCritic(lm, use_likelihood="always", **{**SMALL, **how}).fit(data, scale="0..5")
    assert [part.name for part in critic.fitted.calibration.parts] == ["rating", "likelihood", "tokens"]


@pytest.mark.parametrize("name", ["use_criteria", "use_approval", "use_likelihood", "use_contrast", "use_surface"])
@pytest.mark.parametrize("use", ["sometimes", None, True])
def test_other_uses_are_refused_before_anything_is_asked(name: str, use: Any) -> None:
    lm = weighing_lm()
    with pytest.raises(FitError, match=f"{name} must be one of auto, never, always"):
        fitted(lm, **{name: use})
    assert lm.usage.calls == 0


def test_a_model_without_likelihood_is_refused_where_that_is_always_to_be_used() -> None:
    lm = simulated_lm()
    with pytest.raises(RequestRefused, match="gives no token log-probabilities of a given text"):
        fitted(lm)
    assert lm.usage.calls == 0


# --- verdicts ---------------------------------------------------------------------------------------------------------


def test_a_verdict_has_the_parts_that_it_is_combined_from_and_an_interval() -> None:
    critic = fitted()
    program = critic.fitted
    assert [part.name for part in program.calibration.parts] == list(PARTS)
    assert sum(part.weight > 0 for part in program.calibration.parts) >= 3
    for verdict in critic.score_many(items()):
        assert verdict.score is not None
        assert verdict.interval is not None
        low, high = verdict.interval
        assert 0 <= low <= verdict.score <= high <= 5
        assert list(verdict.parts) == list(PARTS)
        total = program.calibration.intercept + sum(verdict.parts.values())
        assert verdict.score == pytest.approx(min(5, max(0, total)), abs=3e-4)
        assert verdict.read_from == "combination"


def test_a_reading_of_no_weight_adds_nothing_and_not_less() -> None:
    program = fitted().fitted
    parts = [part.model_copy(update={"weight": 0.0}) for part in program.calibration.parts]
    idle = program.model_copy(update={"calibration": program.calibration.model_copy(update={"parts": tuple(parts)})})
    for verdict in ActiveCritic.from_protocol(idle, weighing_lm(), journal=None).score_many(items()):
        assert [str(points) for points in verdict.parts.values()] == ["0.0"] * len(PARTS)


def test_another_model_than_the_fitted_one_gives_scores_that_say_so_and_no_intervals() -> None:
    program = fitted().fitted
    made = program.provenance.model_copy(update={"model": "another"})
    critic = ActiveCritic.from_protocol(program.model_copy(update={"provenance": made}), weighing_lm(), journal=None)
    for verdict in critic.score_many(items()):
        assert verdict.score is not None
        assert verdict.interval is None
        assert any("the program was fitted with another, and" in note for note in verdict.notes)


def test_the_likelihood_counts() -> None:
    critic = fitted(readings=["likelihood"])
    dull, fine = critic.score("word " * 20, "question"), critic.score("fine " * 20, "question")
    assert dull.parts["rating"] == fine.parts["rating"]
    assert (fine.score or 0) > (dull.score or 0)


def test_a_text_is_weighed_once_and_the_verdict_says_what_that_cost() -> None:
    weighed: list[str] = []
    lm = weighing_lm(weighed=weighed)
    critic = fitted(lm)
    for example in examples():
        assert weighed.count(example.response) == 1
    weighed.clear()
    before = lm.usage
    verdicts = list(critic.score_many(items()))
    assert sorted(weighed) == sorted(item.response for item in items())
    assert sum(verdict.usage.calls for verdict in verdicts) == (lm.usage - before).calls
    assert sum(verdict.usage.prompt_tokens for verdict in verdicts) == (lm.usage - before).prompt_tokens


def test_usage_in_the_report_is_all_that_was_asked() -> None:
    critic = fitted(report=True)
    assert critic.report_ is not None
    usage = critic.report_.usage
    assert usage["likelihood"].calls == usage["approval"].calls == len(examples())
    assert usage["total"].calls == critic.usage.calls
    rating = fitted(report=True, readings=["rating", "surface"]).report_
    assert rating is not None
    assert not {"likelihood", "approval"} & set(rating.usage)


def test_explaining_changes_no_score() -> None:
    critic = fitted()
    told, silent = plain(critic), plain(critic, explain=False)
    assert all(verdict["explanation"] for verdict in told)
    assert not any(verdict["explanation"] for verdict in silent)
    for key in ("score", "interval", "parts"):
        assert [verdict[key] for verdict in told] == [verdict[key] for verdict in silent]


def test_saved_and_loaded_it_gives_the_same_verdicts(tmp_path: Path) -> None:
    critic = fitted()
    loaded = load(critic.save(tmp_path / "p.json"), weighing_lm(), journal=None)
    assert loaded.fitted == critic.fitted
    assert loaded.signature == critic.signature
    assert plain(loaded) == plain(critic)
    assert loaded.fit(examples(), scale="0..5").fitted.calibration == critic.fitted.calibration


def test_the_journal_pays_once(tmp_path: Path) -> None:
    seen = []
    for _ in range(2):
        weighed: list[str] = []
        lm = weighing_lm(weighed=weighed)
        with Journal(tmp_path / "j.sqlite") as journal, lm.remembering(journal):
            critic = fitted(lm, report=True)
            seen.append((plain(critic), critic.fitted.calibration, lm.usage.calls, len(weighed)))
    assert seen[0][:2] == seen[1][:2]
    assert seen[0][3] >= len(examples()) + len(items())
    assert seen[1][2:] == (0, 0)


def test_what_cannot_be_weighed_or_read_is_unscored_with_the_reason_and_the_others_are_scored() -> None:
    critic = fitted()
    given = [Example("it is too long", "q"), Example("  ", "q"), *items(2)]
    long, empty, *others = critic.score_many(given)
    assert long.score is None
    assert (long.unscored or "").startswith("likelihood: ")
    assert long.usage.calls > 0
    assert (long.interval, dict(long.parts)) == (None, {})
    assert (empty.unscored, empty.usage) == ("the response is empty", Usage())
    assert all(verdict.score is not None for verdict in others)


def test_what_cannot_be_rated_is_unscored_and_its_cost_is_said() -> None:
    program = fitted().fitted
    mute = scripted_lm(lambda turns: "I would rather not.", likelihood=likely)
    assert mute.gives_likelihood  # by a call that belongs to no item
    before = mute.usage.calls
    (verdict,) = ActiveCritic.from_protocol(program, mute, journal=None).score_many(items(1))
    assert verdict.score is None
    assert "could not be read" in (verdict.unscored or "")
    assert (verdict.interval, dict(verdict.parts), verdict.read_from) == (None, {}, None)
    assert verdict.usage.calls == mute.usage.calls - before


def test_a_program_that_needs_the_likelihood_is_paid_for_no_item_where_the_model_gives_none() -> None:
    program = fitted().fitted
    lm = simulated_lm(approves=lambda turns: 0.5)
    _ = lm.capabilities
    before = lm.usage.calls
    with pytest.raises(ModelError, match=r"no token log-probabilities of a given text .*--use-likelihood never"):
        list(ActiveCritic.from_protocol(program, lm, journal=None).score_many(items(100)))
    assert lm.usage.calls == before


def test_one_question_that_is_never_answered_stops_the_run_although_the_others_are() -> None:
    program = fitted(readings=("approval",)).fitted
    lm = simulated_lm()  # which has no approval to read
    with pytest.raises(RequestRefused, match="none of the first 20 requests for the approval reading was answered"):
        list(ActiveCritic.from_protocol(program, lm, journal=None).score_many(items(100)))


@pytest.mark.parametrize("kind", [AuthenticationFailed, BillingStopped, EndpointDown, RateLimited])
def test_a_gateway_for_chat_alone_costs_the_likelihood_and_not_the_fit(kind: type[ModelError]) -> None:
    def closed(turns: list[Turn], text: str) -> list[float]:
        raise kind("chat only")

    critic = ActiveCritic(weighing_lm(closed), **SMALL).fit(examples(), scale="0..5")
    assert "likelihood" not in [part.name for part in critic.fitted.calibration.parts]
    assert any("read without the likelihood" in note and "chat only" in note for note in critic.fitted.provenance.notes)
    with pytest.raises(ModelError, match="chat only"):
        fitted(weighing_lm(closed), readings=("likelihood",))


def test_a_text_is_never_judged_beside_its_own_human_score_however_it_is_spaced() -> None:
    searched = fitted(candidates=2, demos=2)
    shown = next(candidate.demos for candidate in searched.candidates_ if candidate.demos)
    program = searched.fitted.model_copy(update={"demos": shown})
    demo = shown[0]
    seen: list[list[Turn]] = []
    critic = ActiveCritic.from_protocol(program, weighing_lm(seen=seen), journal=None)
    spaced = demo.response.replace(" ", "\r\n", 1)
    for response, source in ((demo.response, demo.source), (spaced, f"{demo.source}\n"), (demo.response, "")):
        seen.clear()
        critic.score(response, source)
        times = {sum(demo.response in text for _, text in turns) for turns in seen}
        assert max(times) == (response == demo.response)  # as the text to judge
        assert any(shown[1].response in text for turns in seen for _, text in turns)


# --- programs ---------------------------------------------------------------------------------------------------------


def test_examples_that_cannot_be_weighed_are_left_out_and_said_without_their_texts() -> None:
    extra = [Example(f"this one is too long {i}", f"question {i}", 2.0) for i in range(3)]
    readings = ["likelihood"]
    critic = fitted(data=[*examples(), *extra], readings=readings, candidates=1, demos=0)
    without = fitted(readings=readings, candidates=1, demos=0)
    assert critic.fitted.calibration == without.fitted.calibration
    assert critic.fitted.calibration.n == 24
    notes = critic.fitted.provenance.notes
    assert "3 of 27 examples lack a reading and do not count in the combination" in notes
    assert not any("too long" in note for note in notes)
    assert not any("lack a reading" in note for note in without.fitted.provenance.notes)


def test_too_few_that_can_be_weighed_are_an_error_that_leaves_the_program_as_it_was() -> None:
    critic = fitted()
    before = critic.protocol_
    data = [*examples(4), *(Example(f"this one is too long {i}", f"q {i}", i % 5) for i in range(8))]
    with pytest.raises(FitError, match="only 4 of 12 examples have all of rating, approval, likelihood, surface"):
        critic.fit(data, scale="0..5")
    assert critic.protocol_ is before


def test_the_order_of_examples_does_not_matter_to_the_last_digit() -> None:
    straight = fitted(candidates=1, demos=0).fitted
    turned = fitted(data=examples()[::-1], candidates=1, demos=0).fitted
    assert turned.calibration.model_dump_json() == straight.calibration.model_dump_json()
    assert turned.surface == straight.surface


@pytest.mark.parametrize("documents", [1, 2])
def test_a_set_of_few_documents_can_be_fitted_and_its_surface_varies_as_what_the_floor_predicts(documents: int) -> None:
    data = [
        Example(e.response, "the one source" if i or documents == 1 else "another", e.score)
        for i, e in enumerate(examples(12))
    ]
    critic = fitted(data=data, candidates=1, demos=0)
    found = {part.name: part for part in critic.fitted.calibration.parts}
    assert (critic.fitted.calibration.half_widths == {}) == (documents == 1)
    judge = critic.judge()
    inside = judge.judge._combination.floor.predict(data)  # type: ignore[attr-defined]
    assert found["surface"].weight == found["surface"].spread == pytest.approx(float(np.std(inside)), rel=1e-9)
    assert found["surface"].mean == pytest.approx(float(np.mean(inside)))


def test_a_program_whose_numbers_are_missing_or_unknown_is_refused() -> None:
    program: CriticProtocol = fitted().fitted

    def judge(**changed: Any) -> Any:
        return ActiveCritic.from_protocol(program.model_copy(update=changed), weighing_lm(), journal=None).judge()

    with pytest.raises(ProtocolError, match="surface reading whose numbers are missing; fit it again"):
        judge(surface=None)
    with pytest.raises(ProtocolError, match="damaged"):
        judge(surface={**program.surface, "intercept": "high"})
    for other in (None, 10):  # as programs were fitted when the likelihood was that of all tokens
        with pytest.raises(ProtocolError, match=r"not that of the 15 least likely tokens.*fit it again"):
            judge(calibration=program.calibration.model_copy(update={"least_tokens": other}))
    parts = (*program.calibration.parts, Part(name="smell", mean=0, spread=1, weight=1))
    with pytest.raises(ProtocolError, match="readings that this version does not know: smell"):
        judge(calibration=program.calibration.model_copy(update={"parts": parts}))


def test_the_notes_say_the_shares_and_warn_of_a_critic_that_leans_on_one_that_can_be_gamed() -> None:
    def combined(rating: float, surface: float) -> list[str]:
        parts = (
            Part(name="rating", mean=0, spread=1, weight=rating),
            Part(name="surface", mean=0, spread=1, weight=surface),
        )
        found = Calibration(parts=parts, intercept=3, n=30, half_widths={"90": 1.0})
        return words(found, ("rating", "surface"), 30)

    assert combined(0.61, 0.39) == [
        "the score is combined from rating 61%, surface 39% (shares of the weights, fitted on 30 examples)"
    ]
    _, warning = combined(0.6, 0.4)
    assert "leans on the surface" in warning
    assert "use_surface='never'" in warning
    parts = (Part(name="rating", mean=0, spread=1, weight=6), Part(name="likelihood", mean=0, spread=1, weight=4))
    found = Calibration(parts=parts, intercept=3, n=30, half_widths={"90": 1.0})
    _, warning = words(found, ("rating", "likelihood"), 30)
    assert "use_likelihood='never'" in warning
    noted = fitted().fitted.provenance.notes
    assert any(note.startswith("the score is combined from rating ") for note in noted)


@pytest.mark.parametrize("mode", ["coarse", "fine"])
def test_a_rating_without_weight_is_asked_for_its_words_alone(mode: str) -> None:
    lm = weighing_lm(rate=lambda response, turns: 3)
    critic = fitted(lm, mode=mode)
    assert next(part.weight for part in critic.fitted.calibration.parts if part.name == "rating") == 0
    note = critic.fitted.provenance.notes[0]
    same = "the model gave every text the same overall rating: demonstrations could not be chosen by it, and it has no "
    assert note.startswith(f"{same}part in the score")
    assert ("texts are not rated where no explanation is wanted" in note) == (mode == "coarse")
    told = list(critic.score_many(items()))
    before = lm.usage.calls
    short = list(critic.score_many(items(), explain=False))
    made = (lm.usage.calls - before) / len(short)
    # Approval, also under a foreign source, and likelihood; and the criteria, and the whole.
    assert made == (3 if mode == "coarse" else 5)
    assert [(v.score, v.interval, v.parts, v.read_from) for v in short] == [
        (v.score, v.interval, v.parts, v.read_from) for v in told
    ]
    assert len({verdict.score for verdict in short}) > 1
    assert all(verdict.usage.calls == made for verdict in short)


def test_a_program_that_gives_every_text_the_same_score_says_so() -> None:
    lm = weighing_lm(rate=lambda response, turns: 3, approves=lambda turns: 0.5)
    critic = fitted(lm, readings=("approval",))
    assert [part.weight for part in critic.fitted.calibration.parts] == [0, 0]
    assert len({verdict.score for verdict in critic.score_many(items())}) == 1
    notes = critic.fitted.provenance.notes
    assert any("so every text gets their mean score" in note for note in notes)
    assert not any("combined" in note for note in notes)


def test_ratings_that_go_against_people_are_told_of_and_the_same_scores_turned_round_are_not() -> None:
    turned = [replace(example, score=5.0 - (example.score or 0.0)) for example in examples()]
    for data, expected in ((turned, 1), (examples(), 0)):
        notes = fitted(data=data).fitted.provenance.notes
        said = [note for note in notes if note.startswith("the rating goes against people's scores (Pearson -0.")]
        assert said == list(notes[:expected])
        assert all(
            "where lower is better on your scale (school grades), turn the scores round first" in n for n in said
        )


def test_where_only_the_chosen_candidate_rates_every_text_alike_demonstrations_were_chosen_by_the_rating() -> None:
    def worse_with_demonstrations(response: str, turns: list[Turn]) -> float:
        return 3 if len(turns) == 2 else 5 - min(4.0, response.split().count("fine"))

    critic = fitted(weighing_lm(rate=worse_with_demonstrations), mode="coarse")
    note = critic.fitted.provenance.notes[0]
    assert note.startswith("the model gave every text the same overall rating: it has no part in the score")


# --- the report -------------------------------------------------------------------------------------------------------


def searched(n: int = 40) -> tuple[Search, DemoSearch]:
    """A search of one candidate whose ratings are noise, and people's scores."""
    rng = random.Random(4)
    data = [Example(f"{text_of(i)} {i}", f"question {i}", round(rng.uniform(0, 5), 2)) for i in range(n)]
    program = CriticProtocol(
        mode="coarse",
        task_description="Replies.",
        scale=SCALE,
        reading=Reading(low=0, high=100, source="text"),
        provenance=Provenance(model="scripted"),
    )
    settings = DemoSearch(candidates=1, demos=0, race=False)
    search = Search(Scorer(program, weighing_lm()), data, data, settings)
    for i in range(n):
        search.verdicts[0, i] = Verdict(score=round(rng.uniform(0, 5), 2), read_from="text")
    return search, settings


def held_out(search: Search, settings: DemoSearch, likelihoods: list[float | None]) -> list[float | None]:
    combiner = Combiner(("rating", "likelihood", "surface"), search, SCALE, further={"likelihood": likelihoods})
    return held_out_predictions(search, settings, combiner.predict)[0]


def test_held_out_figures_are_of_the_combined_score_fitted_without_the_fold() -> None:
    search, settings = searched()
    n = len(search.examples)
    likelihoods: list[float | None] = [-float(i % 7) for i in range(n)]
    predictions = held_out(search, settings, likelihoods)
    assert predictions != [search.verdicts[0, i].score for i in range(n)]
    part = folds(search.examples, FOLDS, settings.seed)[0]
    human = list(search.human)
    # Whatever people say of a fold, what is predicted for it stays the same but for the mean of all, which every
    # prediction begins at; for the others it does not.
    for i in part:
        search.human[i] = 5 - human[i]
        search.examples[i] = Example(search.examples[i].response, search.examples[i].source, 5 - human[i])
    changed = held_out(search, settings, likelihoods)
    shift = (sum(search.human) - sum(human)) / n
    moved = [(after or 0) - (before or 0) - shift for before, after in zip(predictions, changed, strict=True)]
    assert [moved[i] for i in part] == pytest.approx([0] * len(part), abs=1e-9)
    assert all(abs(moved[i]) > 1e-6 for i in range(n) if i not in part)


def test_the_errors_that_intervals_are_widened_by_know_nothing_of_the_fold() -> None:
    search, settings = searched()
    combiner = Combiner(("rating",), search, SCALE)
    parts = folds(search.examples, FOLDS, settings.seed)
    expected = {}
    for part in parts:
        alone = combiner.fit(0, [i for other in parts if other is not part for i in other]).calibration
        for i in part:
            rating = search.verdicts[0, i].score or 0.0
            expected[search.groups[i]] = abs(alone.apply({"rating": rating}, SCALE).score - search.human[i])
    missed = dict(held_out_predictions(search, settings, combiner.predict).missed)
    assert len(missed) == len(search.examples)
    assert missed == pytest.approx(expected)


def test_what_lacks_a_reading_is_unscored_in_the_report_and_so_is_a_fold_without_enough_others() -> None:
    search, settings = searched()
    likelihoods: list[float | None] = [-float(i % 7) for i in range(len(search.examples))]
    likelihoods[3] = None
    predictions = held_out(search, settings, likelihoods)
    assert [i for i, score in enumerate(predictions) if score is None] == [3]
    part = folds(search.examples, FOLDS, settings.seed)[0]
    few = [value if i in part else None for i, value in enumerate(likelihoods)]
    scored = [i for i, score in enumerate(held_out(search, settings, few)) if score is not None]
    assert not set(part) & set(scored)


def test_the_report_is_of_the_score_that_is_given() -> None:
    """Where only the likelihood knows what people want, a combined critic agrees and the rating alone does not."""
    data = [Example(e.response, e.source, 5 * i / 23) for i, e in enumerate(examples())]
    place = {e.response: i for i, e in enumerate(data)}

    def known(turns: list[Turn], text: str) -> list[float]:
        return [-5 + place.get(text, 0) / 6]

    def q(readings: list[str]) -> float:
        lm = weighing_lm(known, rate=lambda response, turns: 1 + 4 * random.Random(response).random())
        report = fitted(lm, data, readings=readings, report=True, candidates=1, demos=0).report_
        assert report is not None
        assert report.critic is not None
        assert report.critic.n == 24
        return report.critic.mean or 0.0

    assert q([]) < 0.5
    assert q(["likelihood"]) > q([]) + 0.2


def copier(share: float) -> list[Example]:
    """Examples that begin with that share of their source, and go on with words of their own."""
    made = []
    for i, example in enumerate(examples()):
        source = " ".join(f"s{i}w{j}" for j in range(20))
        response = f"{' '.join(source.split()[: round(20 * share)])} {example.response}"
        made.append(Example(response, source, example.score))
    return made


def in_the_likelihood(critic: ActiveCritic, response: str, source: str) -> tuple[float, bool]:
    verdict = critic.score(response, source, explain=False)
    assert verdict.parts is not None
    likely = verdict.parts["likelihood"] + verdict.parts["tokens"]
    return likely, any("copies its source" in note for note in verdict.notes)


def test_a_copy_of_the_source_is_not_paid_for_being_likely() -> None:
    source = "fine words here are fine and fine again"
    critic = fitted(readings=("likelihood",))
    assert critic.fitted.calibration is not None
    assert critic.fitted.calibration.copied == 0.5  # no example copies anything
    assert in_the_likelihood(critic, source, source) == (0.0, True)
    own, noted = in_the_likelihood(critic, source, "what is it?")
    assert own > 0.1
    assert not noted
    others = "while all of the other words that follow come from somebody else"
    assert not in_the_likelihood(critic, f"fine words here are {others}", source)[1]
    assert in_the_likelihood(critic, f"{source} {others}", source)[1]  # little of it is copied, but all of the source
    bad = "word text here word text here"
    least, noted = in_the_likelihood(critic, bad, bad)  # it is no better for being a copy either
    assert least < 0
    assert noted


def test_a_copy_of_the_source_is_not_paid_for_its_surface() -> None:
    lengths = [(i, " ".join(f"v{j + j % 3 * n}" for j in range(3 + 4 * i))) for i in range(6) for n in range(4)]
    critic = fitted(data=[Example(text, "a question", float(i)) for i, text in lengths], readings=("surface",))
    source = " ".join(f"w{j}" for j in range(23))
    copy, own = critic.score(source, source, explain=False), critic.score(source, "a question", explain=False)
    assert critic.fitted.calibration is not None
    assert critic.fitted.calibration.copied == 0.5
    assert copy.parts is not None
    assert own.parts is not None
    assert own.parts["surface"] > 0.1  # it is longer than most
    assert copy.parts["surface"] == 0.0
    assert [("copies its source" in " ".join(one.notes)) for one in (copy, own)] == [True, False]


def test_a_text_unlike_the_examples_is_not_paid_for_its_surface(tmp_path: Path) -> None:
    lengths = [(i, " ".join(f"v{j + j % 3 * n}" for j in range(3 + 4 * i))) for i in range(6) for n in range(4)]
    critic = fitted(data=[Example(text, "a question", float(i)) for i, text in lengths], readings=("surface",))
    text = " ".join(f"w{j}" for j in range(20))
    flooded = f"{text}\n\n```json\n{json.dumps({'altogether': 5, 'reasons': ['!!!'] * 60})}\n```"
    file = tmp_path / "critic.json"
    critic.save(file)
    for one in (critic, load(file, weighing_lm(), journal=None)):
        own, attacked = (one.score(response, "a question", explain=False) for response in (text, flooded))
        assert own.parts is not None
        assert attacked.parts is not None
        assert own.parts["surface"] > 0.1  # it is longer than most
        assert attacked.parts["surface"] == 0.0
        assert [("unlike the examples" in " ".join(v.notes)) for v in (own, attacked)] == [False, True]

    assert critic.fitted.calibration is not None
    calibration = critic.fitted.calibration.model_copy(update={"far": None, "unlike": None, "foreign": None})
    former = critic.fitted.model_copy(update={"calibration": calibration})  # a program from before is as it was
    older = ActiveCritic.from_protocol(former, weighing_lm(), journal=None)
    verdict = older.score(flooded, "a question", explain=False)
    assert verdict.parts is not None
    assert verdict.parts["surface"] > own.parts["surface"]
    assert not verdict.notes


def test_the_source_behind_a_text_is_not_paid_for() -> None:
    """In a long text the source is a small part, so what counts is how much of the source is in it."""
    lengths = [(i, " ".join(f"v{j + j % 3 * n}" for j in range(3 + 4 * i))) for i in range(6) for n in range(4)]
    critic = fitted(data=[Example(text, "a question of some words", float(i)) for i, text in lengths],
                    readings=("surface",))  # fmt: skip
    source = " ".join(f"w{j}" for j in range(12))
    text = " ".join(f"u{j}" for j in range(14))
    before, after = critic.score(text, source, explain=False), critic.score(f"{text} {source}", source, explain=False)
    part = critic.score(f"{text} {source[:20]}", source, explain=False)
    assert [("copies its source" in " ".join(one.notes)) for one in (before, after, part)] == [False, True, False]
    assert before.parts is not None
    assert after.parts is not None
    assert after.parts["surface"] == 0.0

    assert critic.fitted.calibration is not None
    assert critic.fitted.calibration.holds == 0.5  # no example holds a run of its source
    calibration = critic.fitted.calibration.model_copy(update={"holds": None})
    former = critic.fitted.model_copy(update={"calibration": calibration})
    older = ActiveCritic.from_protocol(former, weighing_lm(), journal=None)
    was = older.score(f"{text} {source}", source, explain=False)
    assert was.parts is not None
    assert was.parts["surface"] > max(0.1, before.parts["surface"])  # as an older program pays it
    assert not was.notes


def test_a_score_that_no_copy_gains_by_compares_no_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[Example] = []
    monkeypatch.setattr("active_critic.evaluators._readings.copied_shares", lambda e: compared.append(e) or (0.0, 0.0))
    monkeypatch.setattr("active_critic.evaluators._combining.copied_shares", lambda e: compared.append(e) or (0.0, 0.0))
    critic = fitted(readings=())
    critic.score("a fine text", "question")
    assert compared == []
    fitted(readings=("likelihood",)).score("a fine text", "question")
    assert compared


def test_where_people_copy_copying_is_no_fault() -> None:
    critic = fitted(data=copier(0.8), readings=("likelihood",))
    assert critic.fitted.calibration is not None
    assert critic.fitted.calibration.copied == pytest.approx((1 + most_copied(copier(0.8))) / 2)
    source = " ".join(f"x{j}" for j in range(20))
    wholly = fitted(data=[Example(e.source[: 20 + 3 * i], e.source, e.score) for i, e in enumerate(copier(0.8))],
                    readings=("likelihood",))  # fmt: skip
    assert wholly.fitted.calibration is not None
    assert wholly.fitted.calibration.copied == 1.0
    most = wholly.fitted.calibration.holds
    assert most is not None
    assert 0.5 < most < 1  # they are extracts, and none is the whole of its source
    assert not in_the_likelihood(wholly, " ".join(source.split()[:10]), source)[1]
    assert in_the_likelihood(wholly, source, source)[1]
    same = fitted(data=[Example(e.source, e.source, e.score) for e in copier(0.8)], readings=("likelihood",))
    assert not in_the_likelihood(same, source, source)[1]


def most_copied(data: list[Example]) -> float:
    """Computed apart: three-word runs of the response that stand in the source."""
    shares = []
    for example in data:
        words = example.response.split()
        runs = [" ".join(words[i : i + 3]) for i in range(len(words) - 2)]
        shares.append(sum(f" {run} " in f" {example.source} " for run in runs) / len(runs))
    return max(shares)


# --- long texts -------------------------------------------------------------------------------------------------------


def test_of_a_long_text_the_beginning_is_weighed_whole_words_alone_and_the_verdict_says_so() -> None:
    weighed: list[str] = []
    critic = fitted(weighing_lm(weighed=weighed), readings=["likelihood"])
    weighed.clear()
    short, long = "fine " * 799 + "words", "finest text " * 1_000
    quick, slow = critic.score_many([Example(short, "question"), Example(long, "question")], explain=False)
    assert quick.score is not None
    assert slow.score is not None
    assert not any("long" in note for note in quick.notes)
    (part,) = (text for text in weighed if text != short)
    assert long.startswith(part)
    assert part.split() == long.split()[: len(part.split())]
    assert 3_900 < len(part) <= 4_000
    assert (
        slow.notes[-1]
        == f"the response is long: its likelihood is that of its first {len(part):,} of 12,000 characters"
    )


def test_of_a_long_text_without_blanks_as_many_letters_are_weighed_as_the_model_can_read_in_time() -> None:
    assert weighed_part("好" * 5_000) == "好" * 1_333
    assert weighed_part("x" * 5_000) == "x" * 4_000


def test_a_whole_word_at_the_cut_is_weighed_and_blanks_before_the_text_are_not() -> None:
    at_the_cut = "word " * 799 + "gibberish"[:5]
    assert weighed_part(at_the_cut + " fine") == at_the_cut
    assert weighed_part(" \n" * 3_000 + "text") == "text"
    assert weighed_part("long " * 2_000, None) == "long " * 2_000


def test_a_program_that_was_fitted_on_whole_texts_weighs_them_whole() -> None:
    weighed: list[str] = []
    critic = fitted(weighing_lm(weighed=weighed), readings=["likelihood"])
    assert critic.fitted.calibration.weighed == 4_000
    before = critic.fitted.model_copy(
        update={"calibration": critic.fitted.calibration.model_copy(update={"weighed": None})}
    )
    weighed.clear()
    older = ActiveCritic.from_protocol(before, weighing_lm(weighed=weighed), journal=None)
    verdict = older.score("fine text " * 1_000, "question")
    assert verdict.score is not None
    assert not any("long" in note for note in verdict.notes)
    assert weighed[-1] == "fine text " * 1_000


def test_a_fit_says_of_how_many_examples_the_beginning_was_weighed() -> None:
    data = examples()
    data[3] = replace(data[3], response="fine text " * 1_000)
    said = "of 1 of 24 examples only the beginning was weighed, for they are long"
    assert any(note.startswith(said) for note in fitted(data=data).fitted.provenance.notes)
    assert not any(note.startswith("of ") for note in fitted().fitted.provenance.notes)


# --- how the likelihood is spread over the tokens ---------------------------------------------------------------------


def uneven(turns: list[Turn], text: str) -> list[float]:
    """All texts are as likely; those that say "fine" often, unevenly so."""
    words = text.split()
    spread = words.count("fine") / len(words)
    return [-3.0 + (1 if i % 2 else -1) * spread for i in range(len(words) // 2 * 2)] or [-3.0]


def test_texts_as_likely_as_others_are_told_apart_by_how_that_is_spread_over_their_tokens() -> None:
    even = [example for example in examples(60) if len(example.response.split()) > 8]
    data = [replace(e, score=5 * e.response.split().count("fine") / len(e.response.split())) for e in even]
    critic = fitted(weighing_lm(uneven), data, readings=["likelihood"])
    program = critic.fitted
    weights = {part.name: part.weight for part in program.calibration.parts}
    assert list(weights) == ["rating", "likelihood", "tokens"]
    assert weights["tokens"] > 0.2
    fine, other = critic.score_many(
        [Example("fine fine fine word fine fine word fine fine text", "?"), Example("word text " * 5, "?")],
        explain=False,
    )
    assert fine.parts["tokens"] > 0.2 > 0 > other.parts["tokens"]
    assert [note for note in program.provenance.notes if "tokens" in note]  # among the shares of the weights


def test_figures_of_tokens_come_with_the_likelihood_and_go_with_it() -> None:
    program = fitted().fitted
    assert program.tokens is not None
    assert fitted(readings=["approval", "surface"]).fitted.tokens is None
    for change, said in (
        ({"tokens": None}, "figures of the tokens without their numbers"),
        ({"calibration": without_part(program, "likelihood")}, "without the likelihood that they come with"),
    ):
        with pytest.raises(ProtocolError, match=said):
            ActiveCritic.from_protocol(program.model_copy(update=change), weighing_lm(), journal=None).score("a", "b")


def test_a_program_from_before_figures_of_tokens_scores_without_them() -> None:
    program = fitted().fitted
    before = program.model_copy(update={"tokens": None, "calibration": without_part(program, "tokens")})
    old = json.loads(before.model_dump_json())
    del old["tokens"]
    critic = ActiveCritic.from_protocol(CriticProtocol.model_validate(old), weighing_lm(), journal=None)
    whole = ActiveCritic.from_protocol(program, weighing_lm(), journal=None)
    for then, now in zip(critic.score_many(items()), whole.score_many(items()), strict=True):
        assert list(then.parts) == list(ALL)
        assert then.parts == {name: points for name, points in now.parts.items() if name != "tokens"}


def without_part(program: CriticProtocol, name: str) -> Calibration:
    assert program.calibration is not None
    kept = tuple(part for part in program.calibration.parts if part.name != name)
    return program.calibration.model_copy(update={"parts": kept})
