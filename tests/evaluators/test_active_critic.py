from __future__ import annotations

import json
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest
from loopback import Fault, Loopback, Say
from simulated import CRITERIA, form, last_item, simulated_lm

import active_critic
from active_critic.calibration import Calibration
from active_critic.errors import DataError, EndpointDown, FitError, RequestRefused
from active_critic.evaluators import ActiveCritic, load, opened
from active_critic.evaluators.parameters import given_criteria
from active_critic.lm import Capabilities, LanguageModel, Turn, open_lm, scripted_lm
from active_critic.protocols import CriticProtocol
from active_critic.records import Criterion, Example, Scale

SMALL: dict[str, Any] = {"candidates": 4, "demos": 2, "journal": None}


def examples(n: int = 14, seed: int = 0) -> list[Example]:
    rng = random.Random(seed)
    return [Example("word " * (length := rng.randint(4, 48)), f"question {i}", round(length / 10, 1)) for i in range(n)]


def fitted(lm: LanguageModel | None = None, data: list[Example] | None = None, **settings: Any) -> ActiveCritic:
    return ActiveCritic(lm or simulated_lm(), **{**SMALL, **settings}).fit(data or examples(), scale="0..5")


def what(critic: ActiveCritic) -> CriticProtocol:
    """The program without the seconds that its fit took."""
    report = {k: v for k, v in critic.fitted.provenance.report.items() if k not in {"usage", "candidates"}}
    provenance = critic.fitted.provenance.model_copy(update={"report": report})
    return critic.fitted.model_copy(update={"provenance": provenance})


def verdicts(critic: Any, **how: Any) -> list[dict[str, Any]]:
    given = [Example("word " * n, f"question {n % 3}") for n in range(1, 25)]
    return [verdict.to_dict() for verdict in critic.score_many(given, **how)]


# --- a fit ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["coarse", "fine"])
def test_a_fit_finds_task_criteria_demonstrations_and_says_how_well_it_agrees(mode: str) -> None:
    critic = fitted(mode=mode)
    program = critic.fitted
    assert (program.evaluator, program.mode) == ("active-critic", mode)
    assert program.task_description.startswith("Task: customer support.")
    assert [c.name for c in program.criteria] == list(CRITERIA)
    assert critic.candidates_[0].wins
    assert program.demos == critic.candidates_[0].demos
    assert len(critic.candidates_) == 4
    assert critic.report_ is not None
    assert program.provenance.report == critic.report_.to_dict()
    assert program.provenance.n_train == 14
    assert program.provenance.settings["mode"] == mode
    verdict = critic.score("word " * 30, "question")
    assert verdict.score == pytest.approx(5 * 2.5 / 4, abs=0.25)  # drawn to the mean, for there are 14 examples
    assert [c.name for c in verdict.criteria] == (list(CRITERIA) if mode == "fine" else [])
    assert set(critic.report_.usage) == {
        "task inference",
        "approval",
        "approval under a foreign source",
        "demo search",
        "held-out figures",
        "total",
    }


def test_usage_is_all_that_was_asked() -> None:
    seen: list[list[Turn]] = []
    critic = fitted(simulated_lm(seen=seen))
    assert critic.report_ is not None
    usage = critic.report_.usage
    assert usage["total"].calls == critic.usage.calls == len(seen)
    assert usage["held-out figures"].calls >= critic.report_.held_out


def test_fits_that_share_a_model_at_the_same_time_count_each_its_own() -> None:
    alone = [fitted(simulated_lm(), seed=seed) for seed in (1, 2)]
    lm = simulated_lm()
    with ThreadPoolExecutor(2) as pool:
        both = list(pool.map(lambda seed: fitted(lm, seed=seed), (1, 2)))
    for one, other in zip(alone, both, strict=True):
        assert one.report_ is not None
        assert other.report_ is not None
        told = [{stage: used.calls for stage, used in critic.report_.usage.items()} for critic in (one, other)]
        assert told[0] == told[1]
        assert other.usage.calls == one.usage.calls
    assert sum(critic.usage.calls for critic in both) == lm.usage.calls


def test_the_same_fit_twice_gives_the_same_program_and_another_seed_another() -> None:
    assert what(fitted(seed=2)) == what(fitted(seed=2))
    one, other = fitted(seed=2, search="full"), fitted(seed=3, search="full")
    assert sorted(str(c.demos) for c in one.candidates_) != sorted(str(c.demos) for c in other.candidates_)


def test_a_second_fit_forgets_the_first() -> None:
    critic = fitted(data=examples(20, seed=5))
    critic.fit(examples(), scale="0..5")
    fresh = fitted()
    assert what(critic) == what(fresh)
    assert [c.demos for c in critic.candidates_] == [c.demos for c in fresh.candidates_]
    assert critic.report_ is not None
    assert critic.report_.examples == 14
    assert verdicts(critic) == verdicts(fresh)


def test_a_fit_that_fails_leaves_the_program_and_what_belongs_to_it() -> None:
    down = False

    def rate(response: str, turns: list[Turn]) -> float:
        if down and "as a response to its source" in turns[0][1]:  # at the very end, in the report
            raise EndpointDown("nothing answers")
        return 1 + min(4.0, len(response.split()) / 12)

    critic = fitted(simulated_lm(rate), data=examples(20, seed=5))
    before = critic.protocol_, critic.candidates_, critic.report_
    with pytest.raises(DataError):
        critic.fit(examples(3), scale="0..5")
    down = True
    with pytest.raises(EndpointDown):
        critic.fit(examples(), scale="0..5")
    assert (critic.protocol_, critic.candidates_, critic.report_) == before


def test_the_errors_on_the_folds_of_the_report_widen_the_intervals() -> None:
    def rate(response: str, turns: list[Turn]) -> float:
        """Noise that depends on the demonstrations: the best candidate is the luckiest one."""
        return random.Random(response + turns[0][1] + str(len(turns)) + turns[1][1]).uniform(1, 5)

    data = examples(12)
    own, wide = (fitted(simulated_lm(rate), data, candidates=8, report=report) for report in (False, True))
    assert what(own).demos == what(wide).demos
    before, after = (cast(Calibration, what(critic).calibration).half_widths for critic in (own, wide))
    assert set(after) == set(before) == {"50", "80", "90"}  # though each fold's winner has demonstrations of its own
    assert all(after[name] >= before[name] for name in after)
    assert after != before
    assert any("do not count with the choice of demonstrations" in note for note in what(own).provenance.notes)
    assert not any("do not count" in note for note in what(wide).provenance.notes)


@pytest.mark.parametrize(("documents", "intervals"), [(8, False), (9, True)])
def test_what_intervals_do_not_count_with_is_said_only_where_there_are_some(documents: int, intervals: bool) -> None:
    notes = what(fitted(data=examples(documents), report=False)).provenance.notes
    assert any("do not count with the choice of demonstrations" in note for note in notes) == intervals
    assert any("verdicts have no interval" in note for note in notes) != intervals


def test_folds_that_say_too_little_of_the_intervals_leave_none_and_that_is_said() -> None:
    data = examples(20)
    times = Counter(example.response for example in data)
    lost = [response for response in times if times[response] == 1][:2]

    def rate(response: str, turns: list[Turn]) -> float:
        if response in lost and "Ratings are whole numbers" in turns[0][1]:
            raise RequestRefused("not this one")
        return 1 + min(4.0, len(response.split()) / 12)

    own, folded = (fitted(simulated_lm(rate), data, candidates=1, report=report) for report in (False, True))
    assert "90" in cast(Calibration, what(own).calibration).half_widths
    assert "90" not in cast(Calibration, what(folded).calibration).half_widths
    assert any("too few documents could be scored" in note for note in what(folded).provenance.notes)


def test_fewer_demonstrations_than_usual_are_said() -> None:
    long = [Example(f"{e.response} {'word ' * 500}", e.source, e.score) for e in examples()]
    for context, said in ((2048, ["candidates have 1 demonstration, not 3"]), (16384, [])):
        critic = fitted(simulated_lm(context=context), long, demos=None, report=False)
        found = [note.split(":")[0] for note in what(critic).provenance.notes]
        assert [note for note in found if "candidates have" in note] == said


def test_without_a_report_nothing_is_measured() -> None:
    seen: list[list[Turn]] = []
    critic = fitted(simulated_lm(seen=seen), data=[*examples(), examples()[0]], report=False)
    assert critic.report_ is None
    assert critic.fitted.provenance.report == {}
    assert any("the same source and response" in note for note in critic.fitted.provenance.notes)
    assert not any("as a response to its source" in turns[0][1] for turns in seen)


def test_the_shorthand_is_the_same_fit() -> None:
    data = [{"output": e.response, "input": e.source, "quality": e.score} for e in examples()]
    critic = active_critic.fit(data, lm=simulated_lm(), fields={"score": "quality"}, scale="0..5", **SMALL)
    assert critic.fitted.demos == fitted().fitted.demos
    assert critic.fitted.provenance.data_sha256 == fitted().fitted.provenance.data_sha256


def test_the_shorthand_closes_the_model_that_it_opened_when_it_is_cut_short(monkeypatch: pytest.MonkeyPatch) -> None:
    class Model(LanguageModel):
        def close(self) -> None:
            closed.append(self.name)

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    closed: list[str] = []
    monkeypatch.setattr(opened, "open_lm", lambda name: Model(name, interrupted))
    with pytest.raises(KeyboardInterrupt):
        active_critic.fit(examples(), lm="mine", scale="0..5", **SMALL)
    assert closed == ["mine"]


def test_the_reading_follows_what_the_model_can_do() -> None:
    bare = Capabilities(json_schema=True)
    assert fitted(simulated_lm(capabilities=bare), order="rating_first").fitted.reading.model_dump() == {
        "low": 0,
        "high": 100,
        "source": "text",
        "order": "rating_first",
    }
    assert fitted().fitted.reading.source == "probabilities"


def test_progress_is_told() -> None:
    told: list[str] = []
    ActiveCritic(simulated_lm(), **SMALL).fit(
        examples(), scale="0..5", progress=lambda said, done, total: told.append(said)
    )
    assert "reading batch 1 of 3 for the task" in told
    assert {"writing demonstrations", "searching demonstrations"} <= set(told)


def test_shortened_texts_are_said() -> None:
    data = [Example(e.response, "long " * 500, e.score, group=str(i)) for i, e in enumerate(examples())]
    critic = fitted(simulated_lm(context=4000), data)
    assert critic.report_ is not None
    assert any("14 texts were shortened for task inference" in note for note in critic.report_.notes)


# --- what the user gives ----------------------------------------------------------------------------------------------


def test_given_criteria_and_task_are_kept() -> None:
    seen: list[list[Turn]] = []
    own = {"Brevity": "It is short.", "Warmth": "It is warm."}
    critic = fitted(simulated_lm(seen=seen), criteria=own, task_description="Rate my poems.")
    assert [(c.name, c.definition) for c in critic.fitted.criteria] == list(own.items())
    assert critic.fitted.task_description == "Rate my poems."
    assert critic.fitted.provenance.settings["criteria"] == own
    assert critic.fitted.provenance.settings["task_description"] == "Rate my poems."
    assert not any("`notes`" in turns[0][1] or "`proposal`" in turns[0][1] for turns in seen)


def test_the_levels_asked_for_are_those_of_the_program_and_of_a_loaded_one(tmp_path) -> None:
    critic = fitted(simulated_lm(), levels="0-9")
    assert (critic.fitted.reading.low, critic.fitted.reading.high) == (0, 9)
    assert "levels:0-9:probabilities:rating_first" in critic.signature
    loaded = load(critic.save(tmp_path / "p.json"), simulated_lm(), journal=None)
    assert loaded.score("a reply", "q").score == critic.score("a reply", "q").score
    one = fitted(simulated_lm(), levels="1-5, 0-9", candidates=1)
    assert any("only 1 was tried" in note for note in one.fitted.provenance.notes)
    several = fitted(simulated_lm(), levels="1-5, 0-9", candidates=3)
    assert {c.levels for c in several.candidates_} == {"1-5", "0-9"}
    winner = several.candidates_[0]
    assert winner.levels == f"{several.fitted.reading.low}-{several.fitted.reading.high}"


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"mode": "medium"}, "mode must be one of coarse, fine, not 'medium'"),
        ({"sampling": "random"}, "sampling must be one of stratified, uniform"),
        ({"search": "quick"}, "search must be one of race, full"),
        ({"order": "first"}, "order must be one of"),
        *(
            ({"levels": levels}, "levels must be such as 1-9, or several")
            for levels in ("", "9", "5-1", "1-101", "1-5,", "1-5;1-9", "-1-5")
        ),
        ({"candidates": 0}, "candidates must be a whole number from 1 to 1,000, not 0"),
        ({"candidates": 10**30}, "candidates must be a whole number from 1 to 1,000, not 1000"),
        ({"refinements": 10**30}, "refinements must be a whole number from 0 to 1,000, not 1000"),
        ({"max_batches": 0}, "max_batches must be a whole number of at least 1"),
        ({"demos": 14}, "14 demonstrations cannot be drawn from 14"),
        ({"demos": -1}, "demos must be a whole number of at least 0, not -1"),
        ({"criteria": []}, "the list of criteria is empty"),
        ({"criteria": {"Tone": " "}}, "a criterion is not usable"),
        ({"criteria": {"Tone": "Warm.", "tone": "Warm again."}}, "'tone' is given twice"),
        ({"criteria": {"Tone of  voice": "Warm.", "TONE OF VOICE": "Cold."}}, "'tone of voice' is given twice"),
        ({"criteria": [{1: "Tone"}]}, "a criterion is not usable"),
        ({"criteria": ["Tone"]}, "'Tone' is no criterion"),
        ({"task_description": "  "}, "the task description is blank"),
        ({"levels": ["1-5", "1-9"]}, "levels are a text"),
        ({"demos": 2.5}, "demos must be a whole number"),
        ({"seed": 0.5}, "seed must be a whole number"),
        ({"seed": "0"}, "seed must be a whole number"),
        ({"seed": 2**63}, "seed must be a whole number from 0 to 9,223,372,036,854,775,807, not 9223"),
    ],
)
def test_parameters_that_cannot_be_right_are_refused_before_anything_is_paid_for(
    settings: dict[str, Any], said: str
) -> None:
    seen: list[list[Turn]] = []
    with pytest.raises(FitError, match=said):
        fitted(simulated_lm(seen=seen), **settings)
    assert seen == []


def test_criteria_come_as_records_or_as_a_mapping() -> None:
    own = [Criterion(name="Tone", definition="Warm.")]
    assert given_criteria(own) == given_criteria({"Tone": "Warm."}) == own
    assert given_criteria(None) is None


def test_a_name_that_is_too_long_once_it_is_quoted_is_refused_and_not_saved_for_nothing() -> None:
    assert [c.name for c in given_criteria({"<system": "Warm."}) or ()] == ["< system"]
    with pytest.raises(FitError, match=r"a criterion is not usable: name: .* at most 60 characters"):
        given_criteria({"<system " + 52 * "x": "Warm."})
    with pytest.raises(FitError, match="'< system' is given twice"):
        given_criteria({"<system": "Warm.", "< system": "Cold."})


@pytest.mark.parametrize(
    "data",
    [examples(4), [Example("same", "same", float(i)) for i in range(6)], [Example(f"{i}", "x", 3.0) for i in range(6)]],
)
def test_examples_that_teach_nothing_are_refused_before_anything_is_paid_for(data: list[Example]) -> None:
    seen: list[list[Turn]] = []
    with pytest.raises(DataError):
        fitted(simulated_lm(seen=seen), data)
    assert seen == []


def test_five_examples_are_enough() -> None:
    critic = fitted(data=examples(5), demos=None)
    assert critic.score("word " * 9).score is not None
    assert critic.report_ is not None


def test_a_document_of_one_example_beside_another_leaves_a_fit_without_the_floor() -> None:
    data = [Example(f"text {i}", "source", float(i % 5), group="a") for i in range(10)]
    critic = fitted(simulated_lm(), [*data, Example("text 77", "other", 3.0, group="b")], report=True)
    assert critic.report_ is not None
    assert critic.report_.surface is not None
    assert critic.report_.surface.n == 0


@pytest.mark.parametrize("search", ["race", "full"])
def test_a_model_that_can_only_follow_demonstrations_is_fitted(search: str) -> None:
    def answer(turns: list[Turn]) -> str:
        items = sum("<response>" in text for role, text in turns if role == "user")
        if items == 1 and not any("Fill in the form" in text for _, text in turns):
            return "I think it is rather nice."
        return json.dumps(form(turns, min(5, 1 + len(last_item(turns).split()) // 12)))

    given: dict[str, Any] = {"task_description": "Replies.", "criteria": CRITERIA, "search": search}
    critic = fitted(scripted_lm(answer), examples(40), **given)
    assert critic.fitted.demos
    assert critic.report_ is not None
    assert critic.report_.critic is not None
    assert critic.report_.critic.coverage == 1
    assert critic.report_.zero_shot is not None
    assert critic.report_.zero_shot.n == 0
    assert "It could not be compared with zero-shot" in " ".join(critic.report_.words)


def test_a_dead_endpoint_is_an_error() -> None:
    def answer(_: list[Turn]) -> str:
        raise EndpointDown("nothing answers")

    with pytest.raises(EndpointDown):
        fitted(scripted_lm(answer))


# --- nothing is paid for twice ----------------------------------------------------------------------------------------


def test_a_fit_from_the_journal_costs_nothing_and_is_the_same(tmp_path: Path) -> None:
    first = fitted(simulated_lm(), journal=tmp_path / "j.sqlite")
    scored = verdicts(first)
    first.close()
    again = fitted(simulated_lm(), journal=tmp_path / "j.sqlite")
    assert verdicts(again) == scored
    assert again.usage.calls == 0
    assert again.usage.replayed > 50
    assert first.report_ is not None
    assert again.report_ is not None
    now, before = first.report_.usage, again.report_.usage
    assert "now and before" not in now
    assert (before["total"].calls, before["total"].prompt_tokens) == (0, 0)
    for figure in ("calls", "prompt_tokens", "completion_tokens"):
        assert getattr(before["now and before"], figure) == getattr(now["total"], figure) > 0
    again.close()
    assert what(first) == what(again)


# --- saved, loaded, in a new process ----------------------------------------------------------------------------------


def served(rate: Callable[[str], float]) -> Callable[[dict[str, Any]], Say | Fault]:
    """The simulated model as an endpoint that gives token probabilities."""

    def answer(body: dict[str, Any]) -> Say | Fault:
        turns: list[Turn] = [(m["role"], m["content"]) for m in body["messages"]]
        if "lemon" in turns[-1][1]:  # what can you do?
            text, value = ('{"shade": 3}' if "colour" in turns[-1][1] else "3"), 3.0
        else:
            value = rate(last_item(turns)) if any("<response>" in t for _, t in turns[1:]) else 3.0
            text = json.dumps(form(turns, round(value)))
        low = min(4, int(value))
        top = {str(low): low + 1 - value - 0.001, str(low + 1): value - low - 0.001}
        logs = {level: float(f"{p:.6f}") - 1 for level, p in top.items()}
        return Say(text, tokens=[(c, -0.1, logs if c.isdigit() else {}) for c in text])

    return answer


SCORING = """
import json, sys
from active_critic import Example, load, open_lm
critic = load(sys.argv[1], lm=open_lm("openai/judge", api_base=sys.argv[2]), journal=None)
given = [Example("word " * n, f"question {n % 3}") for n in range(1, 25)]
print(json.dumps([verdict.to_dict() for verdict in critic.score_many(given)]))
"""


@pytest.mark.parametrize("mode", ["coarse", "fine"])
def test_a_program_gives_identical_verdicts_in_a_new_process(mode: str, loopback: Loopback, tmp_path: Path) -> None:
    loopback.answer = served(lambda response: 1 + min(3.9, len(response.split()) / 12))
    lm = open_lm("openai/judge", api_base=loopback.api_base)
    critic = fitted(lm, mode=mode, report=False)
    assert lm.capabilities == Capabilities(json_schema=True, probabilities=True)
    ours = verdicts(critic)
    assert len({verdict["score"] for verdict in ours}) > 15
    assert {verdict["read_from"] for verdict in ours} == {"combination"}
    path = critic.save(tmp_path / "critic.json")
    run = subprocess.run(
        [sys.executable, "-c", SCORING, str(path), loopback.api_base], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    assert json.loads(run.stdout) == ours


def test_a_loaded_critic_scores_as_the_saved_one(tmp_path: Path) -> None:
    critic = fitted()
    loaded = load(critic.save(tmp_path / "critic.json"), simulated_lm(), journal=None)
    assert isinstance(loaded, ActiveCritic)
    assert loaded.fitted == critic.fitted
    assert loaded.signature == critic.signature
    assert loaded.mode == critic.mode
    assert (loaded.report_, loaded.candidates_) == (None, [])
    assert verdicts(loaded) == verdicts(critic)
    bare, full = verdicts(loaded, explain=False), verdicts(loaded)
    assert [v["score"] for v in bare] == [v["score"] for v in full]


def test_the_scale_of_the_verdicts_is_the_users() -> None:
    data = [Example(e.response, e.source, (e.score or 0.0) * 20 - 50) for e in examples()]
    critic = ActiveCritic(simulated_lm(), **SMALL).fit(data, scale=Scale(low=-50, high=50))
    ours, plain = critic.score("word " * 24), fitted().score("word " * 24)
    assert ours.score == pytest.approx(20 * (plain.score or 0) - 50, abs=0.01)
    # All these scores are whole numbers on this scale, so an interval ends at one.
    assert ours.interval == pytest.approx([20 * bound - 50 for bound in plain.interval or ()], abs=1.01)


# --- the paper's ablations --------------------------------------------------------------------------------------------


def test_without_a_task_description_neither_criteria_nor_ratings_know_it() -> None:
    seen: list[list[Turn]] = []
    critic = fitted(simulated_lm(seen=seen), task_description=False, report=False)
    assert critic.fitted.task_description == ""
    assert not any("`summary`" in turns[0][1] for turns in seen)
    assert not any("customer support" in text for turns in seen for _, text in turns)


def test_without_overall_scoring_a_verdict_is_the_mean_of_its_criteria() -> None:
    critic = fitted(overall_scoring=False, report=False)
    verdict = critic.score("word " * 20, "question")
    mean = sum(c.score for c in verdict.criteria) / len(verdict.criteria)
    part = critic.fitted.calibration.parts[0]
    assert verdict.parts["rating"] == pytest.approx(part.weight * (mean - part.mean) / part.spread, abs=1e-3)
    with pytest.raises(FitError, match="nothing left in coarse mode"):
        fitted(mode="coarse", overall_scoring=False)


@pytest.mark.parametrize("mode", ["coarse", "fine"])
def test_without_explanations_demonstrations_carry_ratings_only(mode: str) -> None:
    seen: list[list[Turn]] = []
    critic = fitted(simulated_lm(seen=seen), mode=mode, explanations=False, report=False)
    assert not any(demo.explanation or demo.advice or demo.explanations for c in critic.candidates_ for demo in c.demos)
    written = [turns for turns in seen if "Fill in the form" in turns[-1][1]]
    assert bool(written) == (mode == "fine")  # the criterion ratings of a demonstration still have to be found


def test_a_saved_ablation_scores_the_same(tmp_path: Path) -> None:
    critic = fitted(overall_scoring=False, explanations=False, task_description=False, report=False)
    loaded = load(critic.save(tmp_path / "p.json"), simulated_lm(), journal=None)
    assert verdicts(loaded) == verdicts(critic)
    assert isinstance(loaded, ActiveCritic)
    assert (loaded.overall_scoring, loaded.explanations, loaded.task_description) == (False, False, False)


def test_where_all_examples_share_a_source_no_demonstration_is_written_and_the_remedy_is_told() -> None:
    seen: list[list[tuple[str, str]]] = []
    data = [Example(f"Reply {i} " + "word " * i, "the one question", float(1 + i % 5), id=str(i)) for i in range(12)]
    critic = ActiveCritic(simulated_lm(seen=seen), candidates=4, demos=2, max_batches=1, journal=None)
    critic.fit(data, scale="1..5")
    assert critic.fitted.demos == ()
    assert len(critic.candidates_) == 1
    assert not any("Fill in the form" in turns[-1][1] for turns in seen)
    notes = critic.fitted.provenance.notes
    assert sum("no demonstrations were tried" in note and "group=id" in note for note in notes) == 1
    assert not any("short enough for half the context" in note or "no more different sets" in note for note in notes)
    apart = [replace(example, group=example.id) for example in data]
    critic = ActiveCritic(simulated_lm(), candidates=4, demos=2, max_batches=1, journal=None)
    assert len(critic.fit(apart, scale="1..5").candidates_) == 4
