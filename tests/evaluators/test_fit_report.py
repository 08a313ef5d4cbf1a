from __future__ import annotations

import io
import json
import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from rich.console import Console
from simulated import simulated_lm

from active_critic import stats
from active_critic.data.examples import folds, group_of
from active_critic.demo_search import DemoSearch, Search
from active_critic.errors import FitError
from active_critic.evaluators import ActiveCritic
from active_critic.evaluators.fit_report import FOLDS, FitReport, held_out_predictions, make_report
from active_critic.evaluators.surface import out_of_fold
from active_critic.evaluators.zero_shot import zero_shot_protocol
from active_critic.lm import Turn, scripted_lm
from active_critic.protocols import CriticProtocol, Provenance, Reading
from active_critic.records import Criterion, Example, Scale, Usage, Verdict
from active_critic.report import fit_report
from active_critic.scoring import Scorer
from active_critic.stats import Agreement, Difference

SCALE = Scale(low=0, high=100)


def examples(n: int, per_group: int = 1) -> list[Example]:
    order = random.Random(3).sample(range(n), n)
    return [
        Example(f"reply {i} " + "word " * (order[i] // 2), f"question {i // per_group}", 100 * order[i] / (n - 1))
        for i in range(n)
    ]


def searching(data: list[Example], **settings: Any) -> tuple[Search, DemoSearch]:
    """A search whose model writes demonstrations but scores nothing: verdicts are the test's."""

    def answer(turns: list[Turn]) -> str:
        assert "Fill in the form" in turns[-1][1], "nothing is to be scored here"
        return '{"justification": "fair", "advice": "more"}'

    program = CriticProtocol(
        mode="coarse",
        task_description="Replies.",
        scale=SCALE,
        reading=Reading(low=0, high=100, source="text"),
        provenance=Provenance(model="scripted"),
    )
    found = DemoSearch(**{"candidates": 5, "demos": 2, "race": False, **settings})
    return Search(Scorer(program, scripted_lm(answer)), data, data, found), found


def parts_of(search: Search) -> list[list[int]]:
    return folds(search.examples, FOLDS, 0)


def fill(search: Search, scores: dict[tuple[int, int], float | None] | None = None) -> None:
    """Verdicts for every candidate on every example: noise, or what is given."""
    rng = random.Random(9)
    for candidate in range(len(search.sets)):
        for i in range(len(search.examples)):
            score = (scores or {}).get((candidate, i), round(rng.uniform(0, 100), 2))
            search.verdicts[candidate, i] = (
                Verdict(unscored="lost") if score is None else Verdict(score=score, read_from="text")
            )


# --- held out -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("per_group", [1, 3])
def test_predictions_come_from_the_candidate_that_wins_without_their_fold(per_group: int) -> None:
    search, settings = searching(examples(24, per_group))
    fill(search)
    predictions, kept, parts, *_ = held_out_predictions(search, settings)
    assert parts == parts_of(search)
    winners = set()
    for part in parts:
        rest = [i for i in range(24) if i not in part]

        def q(candidate: int, rest: list[int] = rest) -> float:
            scores = [search.verdicts[candidate, i].score for i in rest]
            return stats.q(scores, [search.human[i] for i in rest])

        best = max(range(5), key=q)
        winners.add(best)
        for i in part:
            assert (i in kept) == (i not in search.own(best))
            assert predictions[i] == search.verdicts[best, i].score
    assert len(winners) > 1  # else this would prove little


def test_what_a_candidate_does_on_a_fold_does_not_make_it_win_there() -> None:
    search, settings = searching(examples(24))
    part = parts_of(search)[1]
    # Candidate 1 is perfect elsewhere and upside down on this fold; candidate 2 is perfect on this fold alone.
    scores: dict[tuple[int, int], float | None] = {}
    for i, human in enumerate(search.human):
        scores[1, i] = 100 - human if i in part else human
        if i in part:
            scores[2, i] = human
    fill(search, scores)
    predictions, kept, *_ = held_out_predictions(search, settings)
    for i in part:
        if i in kept:
            assert predictions[i] == 100 - search.human[i]


@pytest.mark.parametrize("race", [True, False])
def test_a_winner_is_looked_for_in_the_other_folds_only(race: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    search, settings = searching(examples(80), race=race)
    fill(search)
    allowed: list[set[int]] = []
    looked: list[set[int]] = []
    run, q = Search.run, Search.q

    def spied_run(self: Search, indices: Any) -> int:
        allowed.append(set(indices))
        return run(self, indices)

    def spied_q(self: Search, candidate: int, indices: Any) -> Any:
        looked.append(set(indices))
        assert set(indices) <= allowed[-1]
        return q(self, candidate, indices)

    monkeypatch.setattr(Search, "run", spied_run)
    monkeypatch.setattr(Search, "q", spied_q)
    parts = held_out_predictions(search, settings).folds
    assert allowed == [set(range(80)) - set(part) for part in parts]
    assert len(looked) > 20


def test_demonstrations_of_a_folds_winner_are_not_held_out() -> None:
    search, settings = searching(examples(24))
    scores = {(1, i): human for i, human in enumerate(search.human)}
    fill(search, dict(scores))
    predictions, kept, *_ = held_out_predictions(search, settings)
    own = search.own(1)
    assert len(own) == 2
    assert kept == [i for i in range(24) if i not in own]
    assert [predictions[i] for i in kept] == [search.human[i] for i in kept]


def test_a_fold_for_which_nothing_can_be_chosen_stays_unscored_and_counts() -> None:
    search, settings = searching(examples(24))
    part = parts_of(search)[0]
    # Everybody scores this fold well and too little of the rest.
    lost = {(c, i): None for c in range(5) for i in range(24) if i not in part and i % 2}
    fill(search, dict(lost))
    predictions, kept, *_ = held_out_predictions(search, settings)
    assert set(part) <= set(kept)
    assert all(predictions[i] is None for i in part)


# --- the report -------------------------------------------------------------------------------------------------------


def reported(n: int = 24, per_group: int = 1, seen: list[list[Turn]] | None = None, **settings: Any) -> FitReport:
    data = examples(n, per_group)

    def rate(response: str, turns: list[Turn]) -> float:
        """Good with demonstrations, a guess without."""
        guess = random.Random(response).uniform(1, 5)
        return 1 + min(4.0, len(response.split()) / 4) if len(turns) > 3 else guess

    lm = simulated_lm(rate, seen=seen)
    program = CriticProtocol(
        mode="coarse",
        task_description="Replies to customers.",
        criteria=(Criterion(name="Tone", definition="It is friendly."),),
        scale=SCALE,
        provenance=Provenance(model="scripted"),
    )
    found = DemoSearch(**{"candidates": 4, "demos": 2, **settings})
    compiled = found.compile(Scorer(program, lm), trainset=data)
    return make_report(compiled.search, found, notes=["a note", "a note"], candidates=[])


def test_all_figures_are_over_the_same_examples() -> None:
    seen: list[list[Turn]] = []
    report = reported(seen=seen)
    assert report.critic is not None
    assert report.zero_shot is not None
    assert report.surface is not None
    assert report.examples == 24
    assert report.critic.total == report.zero_shot.total == report.surface.total == report.held_out
    assert 24 - 2 * FOLDS <= report.held_out < 24
    plain = [turns for turns in seen if "as a response to its source" in turns[0][1]]
    assert len(plain) == report.held_out  # zero-shot, once each
    assert all(len(turns) == 2 and "Tone" not in turns[0][1] for turns in plain)
    assert report.critic.mean is not None
    assert report.critic.mean > 0.8
    assert report.critic.mean_interval is not None
    assert report.over_zero_shot is not None
    assert report.over_zero_shot.delta == pytest.approx(report.critic.mean - (report.zero_shot.mean or 0.0))
    assert report.words[1].startswith("It beats zero-shot")


def test_few_documents_are_said() -> None:
    few = reported(per_group=6).words
    assert any("documents: with fewer than 5 there are no intervals" in said for said in few)
    assert any("No corrected p can fall below" in said for said in few)
    assert not any("no intervals" in said for said in reported().words)


def test_the_report_tells_a_note_once_and_leaves_the_cost_to_be_told() -> None:
    report = reported()
    assert report.notes == ("a note",)
    assert report.usage == {}


def test_the_same_seed_reports_the_same() -> None:
    one, other = reported().to_dict(), reported().to_dict()
    assert {**one, "usage": 0} == {**other, "usage": 0}
    assert json.loads(json.dumps(one)) == one  # plain JSON values


@pytest.mark.parametrize("demos", [0, 2])
def test_one_document_is_too_few_to_hold_any_out(demos: int) -> None:
    report = reported(per_group=24, demos=demos)
    assert (report.critic, report.zero_shot, report.surface, report.held_out) == (None, None, None, 0)
    assert report.words == ("There are too few documents, or scored examples, to say how well this critic agrees.",)
    assert str(report) == report.words[0]


def test_no_demonstration_of_the_same_document_is_in_a_held_out_prompt() -> None:
    seen: list[list[Turn]] = []
    data = examples(24, 3)
    reported(per_group=3, seen=seen)
    document = {e.response.split()[1]: group_of(e) for e in data}
    for turns in seen:
        shown = [text.split("<response>\nreply ")[1].split()[0] for role, text in turns if "<response>\nreply" in text]
        assert document[shown[-1]] not in {document[name] for name in shown[:-1]}


def test_intervals_and_differences_of_the_report_are_over_documents() -> None:
    report = reported(per_group=3)
    found = (report.critic, report.zero_shot, report.surface, report.over_zero_shot, report.over_surface)
    assert {one.groups for one in found if one is not None} == {8}
    assert len([one for one in found if one is not None]) == 5


def test_the_floor_of_the_report_never_sees_the_fold_it_is_measured_on() -> None:
    report = reported(per_group=3, demos=0, candidates=1)  # without demonstrations every example is held out
    data = examples(24, 3)
    floor = out_of_fold(data, folds(data, FOLDS, 0), SCALE)
    human, groups = [e.score or 0.0 for e in data], [group_of(e) for e in data]
    assert report.surface == stats.agreement(floor, human, groups, folded=True)


def test_differences_of_the_report_are_as_uncertain_as_figures_over_folds_are() -> None:
    data = examples(24)

    def rate(response: str, turns: list[Turn]) -> float:
        """A guess, nearer to people's scores where the task is told."""
        told = 3.0 if "Replies to customers." in turns[0][1] else 1.0
        return 1 + (told * len(response.split()) / 14 + random.Random(response).random()) * 4 / (told + 1)

    lm = simulated_lm(rate)
    program = CriticProtocol(
        mode="coarse", task_description="Replies to customers.", scale=SCALE, provenance=Provenance(model="scripted")
    )
    settings = DemoSearch(candidates=1, demos=0)  # without demonstrations every example is held out
    search = settings.compile(Scorer(program, lm), trainset=data).search
    report = make_report(search, settings, notes=[], candidates=[])
    mine = [search.verdicts[0, i].score for i in range(24)]
    plain = Scorer(zero_shot_protocol(lm, SCALE, program.reading), lm)
    zero = [plain.verdict(example.source, example.response, explain=False).score for example in data]
    floor = out_of_fold(data, folds(data, FOLDS, 0), SCALE)
    human, groups = [example.score or 0.0 for example in data], [group_of(example) for example in data]
    for found, other in ((report.over_zero_shot, zero), (report.over_surface, floor)):
        folded, independent = (
            stats.paired_difference(mine, other, human, groups, folded=folded) for folded in (True, False)
        )
        assert found == folded
        assert folded.p > independent.p


# --- in words ---------------------------------------------------------------------------------------------------------


def agreement(mean: float | None = 0.5, n: int = 40, total: int = 40) -> Agreement:
    interval = None if mean is None else (mean - 0.1, mean + 0.1)
    return Agreement(
        *([mean] * 4), *([interval] * 4), n, total, "dataset", units=n, groups=n, resamples=999, seed=0, confidence=0.95
    )


def difference(delta: float | None, interval: tuple[float, float] | None, p: float | None = None) -> Difference:
    return Difference(delta, interval, p, 40, 40, "dataset", resamples=999, seed=0, confidence=0.95)


def words(critic: Agreement | None, zero: Difference | None, surface: Difference | None) -> tuple[str, ...]:
    return FitReport(
        critic=critic,
        zero_shot=None,
        surface=None,
        over_zero_shot=zero,
        over_surface=surface,
        examples=40,
        held_out=40,
        usage={"total": Usage()},
        notes=(),
        candidates=(),
        seed=0,
    ).words


@pytest.mark.parametrize(
    ("gap", "said"),
    [
        (difference(0.2, (0.1, 0.3), 0.04), "It beats {} (+0.20 [+0.10, +0.30], p 0.040)."),
        (
            difference(0.2, (0.01, 0.3), 0.06),
            "It is ahead of {} (+0.20 [+0.01, +0.30], p 0.060), but not by more than chance could explain.",
        ),
        (difference(0.2, None), "It is ahead of {} (+0.20), but not by more than chance could explain."),
        (difference(-0.1, (-0.3, 0.1), 0.4), "It does NOT beat {} (-0.10 [-0.30, +0.10], p 0.400)."),
        (difference(0.0, (0.0, 0.0)), "It does NOT beat {} (+0.00 [+0.00, +0.00])."),
        (difference(None, None), "It could not be compared with {}."),
        (None, "It could not be compared with {}."),
    ],
)
def test_the_figures_in_words_favourable_or_not(gap: Difference | None, said: str) -> None:
    beaten = difference(0.3, (0.2, 0.4), 0.01)
    p = 0.01 if gap is None or gap.p is None else 0.02  # corrected for two comparisons
    figures = f"(+0.30 [+0.20, +0.40], p {p:.3f})"
    zero, surface = "zero-shot on the same model", "the surface floor (length, overlap, repetition)"
    head = "On held-out folds the mean of the three correlations with people is 0.50 [0.40, 0.60]."
    last = [] if p == 0.01 else ["Both p-values are corrected for their number (Holm)."]
    assert words(agreement(), gap, beaten) == (head, said.format(zero), f"It beats {surface} {figures}.", *last)
    assert words(agreement(), beaten, gap) == (head, f"It beats {zero} {figures}.", said.format(surface), *last)


@pytest.mark.parametrize(
    ("interval", "said"), [((-0.1, 0.6), True), ((0.0, 0.6), True), ((0.01, 0.6), False), ((-0.6, -0.01), False)]
)
def test_an_interval_that_holds_zero_is_told_in_words(interval: tuple[float, float], said: bool) -> None:
    told = words(replace(agreement(), mean_interval=interval), None, None)
    assert ("That may be no agreement at all: the interval holds 0." in told) == said


def test_what_could_not_be_scored_is_said() -> None:
    assert words(agreement(n=37), None, None)[-1] == "3 of 40 examples could not be scored."


@pytest.mark.parametrize(
    ("critic", "reason"), [(None, "too few documents"), (agreement(None), "gave everything the same score")]
)
def test_when_nothing_can_be_said_that_is_said(critic: Agreement | None, reason: str) -> None:
    (said,) = words(critic, difference(0.2, (0.1, 0.3)), None)
    assert reason in said


def test_two_held_out_scores_make_no_figure_and_why_the_others_have_none_is_said() -> None:
    data = [replace(e, group="one" if i < 10 else f"other {i}") for i, e in enumerate(examples(12))]
    critic = ActiveCritic(
        simulated_lm(), mode="coarse", candidates=2, demos=1, max_batches=1, use_surface="always", journal=None
    ).fit(data, scale="0..100")
    report = critic.report_
    assert report is not None
    assert report.critic is not None
    assert (report.critic.n, report.critic.total, report.uncombined) == (2, 12, 10)
    assert report.critic.mean is report.critic.pearson is report.over_zero_shot is report.over_surface is None
    assert report.words == (
        "Only 2 of 12 held-out examples have a score: too few to say how well this critic agrees.",
        "10 of 12 examples have no score here: outside their fold, too few have all readings to combine these.",
    )
    shown = Console(file=io.StringIO(), width=100)
    shown.print(fit_report(report.to_dict()))
    table = shown.file.getvalue()  # type: ignore[attr-defined]
    assert "1.00" not in table
    assert "not defined" in table


def test_what_could_not_be_combined_is_told_from_what_could_not_be_scored() -> None:
    search, settings = searching(examples(24))
    part = parts_of(search)[0]
    fill(search, {(c, part[-1]): None for c in range(5)})

    def combine(winner: int, rest: Sequence[int], fold: Sequence[int]) -> tuple[dict[int, float], float]:
        if fold == parts_of(search)[1]:
            raise FitError("too few")
        return {i: score for i in fold if (score := search.verdicts[winner, i].score) is not None}, 3.0

    found = held_out_predictions(search, settings, combine)
    own = [i for i in parts_of(search)[1] if i in found.kept]
    assert found.uncombined == len(own) > 0
    assert all(found.predictions[i] is None for i in own)
    assert found.predictions[part[-1]] is None
