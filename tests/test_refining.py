from __future__ import annotations

import json
import random
import re
from collections.abc import Sequence
from typing import Any

import pytest
from scipy.stats import rankdata
from simulated import simulated_lm

from active_critic.data.examples import folds
from active_critic.errors import FitError, RequestRefused
from active_critic.evaluators import ActiveCritic
from active_critic.lm import Budget, LanguageModel, Turn, scripted_lm
from active_critic.protocols import CriticProtocol, Provenance, Reading
from active_critic.records import Criterion, Example, Scale
from active_critic.refining import HALF, refine

DULL = ("Length", "Layout", "Volume", "Colour")
KEEN = ("Depth", "Accuracy", "Warmth", "Order")


def criteria(names: Sequence[str]) -> tuple[Criterion, ...]:
    return tuple(Criterion(name=name, definition=f"It has {name.lower()} in every part.") for name in names)


def examples(n: int = 40) -> list[Example]:
    return [Example(f"reply {i:02}", f"question {i}", float(i * 7 % 11), group=f"d{i}") for i in range(n)]


def program(mode: str = "coarse", names: Sequence[str] = DULL) -> CriticProtocol:
    return CriticProtocol(
        mode=mode,
        task_description="Replies.",
        criteria=criteria(names),
        scale=Scale(low=0, high=10),
        reading=Reading(low=0, high=100, source="text"),
        provenance=Provenance(model="scripted"),
    )


class Model:
    """Rates as people do where a criterion of this name is in view, else at random; edits as it is told."""

    def __init__(self, edit: Any, keen: str = "Depth") -> None:
        self.edit, self.keen = edit, keen
        self.mended: list[str] = []
        self.rated: list[tuple[str, bool]] = []

    def lm(self) -> LanguageModel:
        return scripted_lm(self.answer)

    def answer(self, turns: list[Turn]) -> str:
        head, last = turns[0][1], turns[-1][1]
        if "`refined`" in head:
            self.mended.append(last)
            return self.edit if isinstance(self.edit, str) else json.dumps({"refined": {"criteria": self.edit}})
        reply = re.findall(r"reply (\d\d)", "".join(text for _, text in turns))[-1]
        truth = 10.0 * (int(reply) * 7 % 11)
        noise = random.Random(f"{reply} {self.keen in head}").uniform(0, 100)
        self.rated.append((reply, self.keen in head))
        names = re.findall(r"^- (.+?): ", head, re.MULTILINE)
        if '"scores"' in last or "on each criterion" in last:
            ratings = {name: truth if name in KEEN else 100 - truth if name == "Volume" else noise for name in names}
            return json.dumps({"scores": {name: round(value) for name, value in ratings.items()}})
        good = self.keen in names or (self.keen == "no Volume" and "Volume" not in names)
        return json.dumps({"overall": round(truth if good else noise)})


def written(names: Sequence[str]) -> list[dict[str, str]]:
    return [{"name": c.name, "definition": c.definition} for c in criteria(names)]


def test_an_edit_that_agrees_better_on_the_other_half_is_kept() -> None:
    model = Model(written(KEEN))
    found = refine(program(), examples(), model.lm(), seed=3)
    assert found.criteria == criteria(KEEN)
    assert re.search(r"edited by the strongest disagreements: 1\.00 instead of .* better in 100%", found.notes[0])
    assert found.notes[-1] == "round 1: the criteria are now Depth, Accuracy, Warmth, Order"


def test_an_edit_that_does_not_is_not_kept_and_said() -> None:
    found = refine(program(), examples(), Model(written(("Sound", "Speed", "Shape", "Size"))).lm())
    assert found.criteria == criteria(DULL)
    assert len(found.notes) == 1
    assert found.notes[0].endswith("not kept")


def test_an_edit_that_is_better_by_luck_alone_is_not_kept() -> None:
    # With Depth in view it rates two texts of the other half better than before, one worse, and the rest alike.
    class Slight(Model):
        def answer(self, turns: list[Turn]) -> str:
            said = super().answer(turns)
            if not said.startswith('{"overall"'):
                return said
            reply, keen = self.rated[-1]
            before = random.Random(f"{reply} False").uniform(0, 100)
            truth = 10 * (int(reply) * 7 % 11)
            after = {"07": truth, "36": truth, "03": 100 - truth}.get(reply, before)
            return json.dumps({"overall": round(after if keen else before)})

    found = refine(program(), examples(), Slight(written(KEEN)).lm())
    (note,) = found.notes
    figures = re.search(r": (0\.\d\d) instead of (0\.\d\d) on the other half, better in (\d\d)% .*; not kept$", note)
    assert figures is not None
    assert float(figures[1]) > float(figures[2])
    assert 50 < int(figures[3]) < 80


def test_what_an_edit_is_judged_by_was_never_shown_to_the_editor() -> None:
    data, model = examples(), Model(written(KEEN))
    refine(program(), data, model.lm(), seed=5)
    shown, held = ({f"{i:02}" for i in half} for half in folds(data, 2, 6))
    (prompt,) = model.mended
    in_prompt = set(re.findall(r"reply (\d\d)", prompt))
    assert len(in_prompt) == 5
    assert in_prompt <= shown
    assert {reply for reply, keen in model.rated if keen} == held
    assert {reply for reply, keen in model.rated if not keen} == shown | held


@pytest.mark.parametrize("seed", [0, 4])
def test_every_round_halves_the_documents_anew(seed: int) -> None:
    model = Model(written(KEEN), keen="nothing")
    refine(program(), examples(), model.lm(), rounds=2, seed=seed)
    shown = [set(map(int, re.findall(r"reply (\d\d)", prompt))) for prompt in model.mended]
    assert [part <= set(folds(examples(), 2, seed + n)[0]) for n, part in enumerate(shown, 1)] == [True, True]
    assert not shown[1] <= set(folds(examples(), 2, seed + 1)[0])


def test_the_strongest_disagreements_are_shown_with_both_scores() -> None:
    data = examples()
    model = Model(written(KEEN))
    refine(program(), data, model.lm(), seed=5)
    shown = re.findall(r"Score people gave \(0-100\): (\d+)\nScore of the rater \(0-100\): (\d+)", model.mended[0])
    gaps = [abs(int(people) - int(rater)) for people, rater in shown]
    assert len(gaps) == 5
    assert min(gaps) > 25


def test_texts_that_the_editor_sees_shortened_are_said() -> None:
    long = [Example(f"{e.response} {'and so on ' * 4000}", e.source, e.score, group=e.group) for e in examples()]
    model = Model(written(KEEN))
    found = refine(program(), long, model.lm())
    assert "[...]" in model.mended[0]
    assert found.notes[0] == "round 1: 5 long texts were shortened for the edit of the criteria"
    assert not any("shortened" in note for note in refine(program(), examples(), Model(written(KEEN)).lm()).notes)


def test_the_strongest_disagreements_are_those_of_rank_either_way() -> None:
    # Rates everything low: the farthest in points are the texts that people like best, in rank they are not.
    class Strict(Model):
        def answer(self, turns: list[Turn]) -> str:
            said = super().answer(turns)
            return re.sub(r'"overall": (\d+)', lambda found: f'"overall": {round(int(found[1]) / 4)}', said)

    data, model = examples(), Strict(written(KEEN))
    refine(program(), data, model.lm(), seed=5)
    shown = folds(data, 2, 6)[0]
    rated = [round(round(random.Random(f"{i:02} False").uniform(0, 100)) / 4) for i in shown]
    gaps = dict(zip(shown, rankdata(rated) - rankdata([data[i].score for i in shown]), strict=True))
    chosen = [gaps[int(reply)] for reply in re.findall(r"reply (\d\d)", model.mended[0])]
    assert sorted(map(abs, chosen)) == sorted(map(abs, gaps.values()))[-5:]
    assert min(chosen) < 0 < max(chosen)


def test_a_criterion_that_goes_against_people_is_dropped_and_named() -> None:
    model = Model("no idea", keen="no Volume")
    found = refine(program("fine", (*KEEN, "Volume")), examples(), model.lm())
    assert [c.name for c in found.criteria] == list(KEEN)
    assert found.notes[0].startswith("round 1: scripted could not edit the criteria")
    assert "without Volume: 1.00 instead of" in found.notes[1]


def test_an_edit_that_the_provider_refuses_ends_no_fit() -> None:
    class Refusing(Model):
        def answer(self, turns: list[Turn]) -> str:
            if "`refined`" in turns[0][1]:
                raise RequestRefused("the content filter")
            return super().answer(turns)

    found = refine(program(), examples(), Refusing("").lm())
    assert found.criteria == criteria(DULL)
    assert found.notes == ("round 1: scripted could not edit the criteria",)


def test_a_criterion_that_says_nothing_is_dropped_too() -> None:
    class Flat(Model):
        def answer(self, turns: list[Turn]) -> str:
            return re.sub(r'"Volume": \d+', '"Volume": 50', super().answer(turns))

    found = refine(program("fine", (*KEEN, "Volume")), examples(), Flat("no idea", keen="no Volume").lm())
    assert found.criteria == criteria(KEEN)


def test_a_criterion_is_dropped_for_what_it_does_on_the_half_that_is_shown() -> None:
    shown, _ = folds(examples(), 2, 1)

    # Its Luck goes with people on the half that is shown, and against them on the other.
    class Halves(Model):
        def answer(self, turns: list[Turn]) -> str:
            said = super().answer(turns)
            found = json.loads(said) if said.startswith('{"scores"') else {"scores": {}}
            if "Luck" in found["scores"]:
                reply = int(re.findall(r"reply (\d\d)", turns[-1][1])[-1])
                truth = 10 * (reply * 7 % 11)
                found["scores"]["Luck"] = truth if reply in shown else 100 - truth
            return json.dumps(found) if found["scores"] else said

    found = refine(program("fine", (*KEEN, "Luck")), examples(), Halves("no idea").lm())
    assert not any("without" in note for note in found.notes)
    assert [c.name for c in found.criteria] == [*KEEN, "Luck"]


def test_of_two_edits_that_help_the_better_one_is_kept() -> None:
    # Right without Volume, partly right with Shine, else at random.
    class Both(Model):
        def answer(self, turns: list[Turn]) -> str:
            said = super().answer(turns)
            if not said.startswith('{"overall"'):
                return said
            names = re.findall(r"^- (.+?): ", turns[0][1], re.MULTILINE)
            reply = self.rated[-1][0]
            truth, noise = 10 * (int(reply) * 7 % 11), random.Random(reply).uniform(0, 100)
            share = 0.7 if "Shine" in names else 0.0 if "Volume" in names else 1.0
            return json.dumps({"overall": round(share * truth + (1 - share) * noise)})

    model = Both(written((*KEEN, "Shine")))
    found = refine(program("fine", (*KEEN, "Volume")), examples(), model.lm())
    assert "without Volume: 1.00 instead of" in found.notes[0]
    assert re.search(r"edited by .*: 0\.\d\d instead .* better in (9\d|100)% .*; not kept", found.notes[1])
    assert found.criteria == criteria(KEEN)


def test_two_criteria_are_left_even_where_all_go_against_people() -> None:
    backwards = [Example(e.response, e.source, 10.0 - (e.score or 0.0), group=e.group) for e in examples()]
    names = ("Depth", "Accuracy", "Warmth")
    found = refine(program("fine", names), backwards, Model("no idea").lm())
    assert "criteria without Accuracy: " in found.notes[-1]  # of equals the first by name, and no second


def test_an_edit_that_leaves_texts_unscored_is_not_kept() -> None:
    class Choosy(Model):
        def answer(self, turns: list[Turn]) -> str:
            said = super().answer(turns)
            if "`refined`" in turns[0][1] or self.keen not in turns[0][1]:
                return said
            return said if self.rated[-1][0] < "25" else "I would rather not say."

    found = refine(program(), examples(), Choosy(written(KEEN)).lm())
    assert found.criteria == criteria(DULL)
    assert re.search(r"but only \d+ instead of 20 could be scored; not kept", found.notes[0])


def test_what_a_round_found_is_kept_when_the_budget_ends_in_the_next() -> None:
    model = Model(written(KEEN))
    lm = model.lm()
    lm.budget = Budget(calls=40 + 1 + 20 + 1)  # all texts, the edit, the other half; then one more
    found = refine(program(), examples(), lm, rounds=2)
    assert found.criteria == criteria(KEEN)
    assert "better" in found.notes[0]
    assert "round 2: the criteria were not refined: the budget" in found.notes[-1]


def test_too_few_examples_cost_nothing() -> None:
    model = Model(written(KEEN))
    found = refine(program(), examples(2 * HALF - 1), model.lm())
    assert found.criteria == criteria(DULL)
    assert "two halves of 8 or more" in found.notes[0]
    assert (model.mended, model.rated) == ([], [])


def test_a_fit_says_what_became_of_its_criteria_and_what_it_cost() -> None:
    settings: dict[str, Any] = {"candidates": 2, "demos": 2, "max_batches": 1, "journal": None}
    data = [Example("word " * (i % 13 + 1), f"q{i}", float(i % 6), group=f"d{i}") for i in range(24)]
    lm = simulated_lm()
    critic = ActiveCritic(lm, refinements=1, **settings).fit(data, scale="0..5")
    assert "round 1: scripted left the criteria as they are" in critic.fitted.provenance.notes
    assert critic.report_ is not None
    assert critic.report_.usage["refinement"].calls == 2 * 24 + 1  # criteria and overall of every text, and one edit
    assert critic.report_.usage["total"].calls == lm.usage.calls
    plain = ActiveCritic(simulated_lm(), **settings).fit(data, scale="0..5")
    assert plain.report_ is not None
    assert "refinement" not in plain.report_.usage


def test_given_criteria_are_not_to_be_refined() -> None:
    with pytest.raises(FitError, match="given criteria are kept as they are"):
        ActiveCritic(simulated_lm(), refinements=1, criteria={"Depth": "It goes deep."}).fit(examples(), scale="0..10")
    with pytest.raises(FitError, match="refinements must be a whole number from 0 to 1,000"):
        ActiveCritic(simulated_lm(), refinements=-1).fit(examples(), scale="0..10")
