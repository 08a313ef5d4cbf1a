from __future__ import annotations

import io
import unicodedata
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from active_critic.evaluators.fit_report import FitReport
from active_critic.lm.check import Findings
from active_critic.protocols import CriticProtocol, Demo, Provenance
from active_critic.records import Criterion, CriterionVerdict, Scale, Usage, Verdict
from active_critic.report import (
    Judged,
    agreement_table,
    findings_table,
    fit_report,
    plain,
    program_account,
    score_summary,
    shorten,
    usage_words,
    verdict_table,
)
from active_critic.report.fits import candidates_table
from active_critic.stats import agreement, paired_difference

HUMAN = [1.0, 2, 3, 4, 5, 2, 3, 4, 1, 5, 4, 2]
CRITIC = [1.5, 2, 3, 3.5, 5, 2, 2.5, 4, 2, 4, None, 2]
GROUPS = [f"d{i // 2}" for i in range(12)]


def text_of(renderable, width: int = 80) -> str:
    out = Console(width=width, file=io.StringIO(), markup=False, highlight=False, emoji=False)
    out.print(renderable)
    return out.file.getvalue()


def report() -> FitReport:
    floor = list(reversed(HUMAN))
    return FitReport(
        critic=agreement(CRITIC, HUMAN, GROUPS, folded=True),
        zero_shot=agreement(floor, HUMAN, GROUPS),
        surface=agreement(floor, HUMAN, GROUPS),
        over_zero_shot=paired_difference(CRITIC, floor, HUMAN, GROUPS),
        over_surface=paired_difference(CRITIC, floor, HUMAN, GROUPS),
        examples=14,
        held_out=12,
        usage={"demo search": Usage(12, 3, 34_567, 20_000, 890, 12.5, 0.125), "total": Usage(12, 3, 34_567)},
        notes=(),
        candidates=(),
        seed=0,
    )


@given(st.text())
def test_plain_text_has_no_character_that_drives_a_terminal(text) -> None:
    shown = plain(text, lines=True)
    assert all(unicodedata.category(c) not in {"Cc", "Cs"} for c in shown.replace("\n", ""))
    assert not set(shown) & set("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f\u061c\u2028\u2029")
    assert "\n" not in plain(text)


@pytest.mark.parametrize("text", ["naïve", "日本語のテキスト", "👩‍👩‍👧 family", "یک می‌خواهم"])
def test_plain_leaves_ordinary_text_alone(text) -> None:
    assert plain(text) == text


@given(st.text(), st.integers(1, 50))
def test_shortened_text_is_short_and_says_that_it_is(text, longest) -> None:
    shown = shorten(text, longest)
    assert len(shown) <= longest
    assert shown == plain(text) or shown.endswith("…")


@pytest.mark.parametrize("width", [80, 120])
def test_the_fit_report_shows_every_figure_on_one_line(width) -> None:
    made = report()
    shown = text_of(fit_report(made.to_dict()), width)
    assert all(len(line) <= width for line in shown.splitlines())
    pearson = next(line for line in shown.splitlines() if line.startswith("Pearson"))
    figure, interval = made.critic.pearson, made.critic.pearson_interval
    assert f"{figure:.2f} [{interval[0]:.2f}, {interval[1]:.2f}]" in pearson
    assert pearson.count("[") == 3
    assert "11 of 12" in shown
    assert "12 of the 14" in shown
    told = " ".join(shown.split())
    assert "bootstrap intervals over 6 documents" in told
    assert "quantiles 1.3 times as far out over folds, which share documents" in told
    assert all(" ".join(sentence.split()) in " ".join(shown.split()) for sentence in made.words)
    assert "$0.125" in shown
    assert "unknown" in shown


@pytest.mark.parametrize(("held_out", "told"), [(0, False), (12, True), (14, False)])
def test_which_examples_do_not_count_is_said_only_where_some_do_not(held_out: int, told: bool) -> None:
    shown = " ".join(text_of(fit_report(replace(report(), held_out=held_out).to_dict())).split())
    assert f"Out of fold: {held_out} of the 14 training examples count{'; one that' if told else '.'}" in shown
    assert ("demonstration of its fold's winner does not." in shown) == told


def test_without_a_report_nothing_is_claimed() -> None:
    assert "is not known" in text_of(fit_report({}), 120)
    assert "could not be measured" in text_of(agreement_table({"this critic": None}))


def test_an_undefined_coefficient_is_not_a_figure() -> None:
    constant = agreement([3.0] * 12, HUMAN, GROUPS)
    shown = text_of(agreement_table({"this critic": constant.to_dict()}))
    assert shown.count("–") == 5, "four coefficients, and what the dash means"
    assert "–: not defined" in shown


def test_no_figure_is_less_than_nothing_where_it_is_nothing() -> None:
    found = agreement(CRITIC, HUMAN, GROUPS).to_dict() | {"mean": -0.004, "mean_interval": (-0.3, -0.001)}
    shown = text_of(agreement_table({"this critic": found}))
    assert "0.00 [-0.30, 0.00]" in shown
    assert "-0.00" not in shown


def test_a_verdict_table_survives_a_narrow_terminal_and_hostile_text() -> None:
    criteria = (CriterionVerdict("Accuracy\x1b[2J", 2.0, "why"),)
    scored = Verdict(score=2.345, explanation="bad \x1b[31m", advice="more\u202e", criteria=criteria)
    table = verdict_table(
        [
            Judged("a", scored, "the source", "the \x07 response " * 50, 3.5),
            Judged("b", Verdict(unscored="it did not \x1b[2J fit")),
        ]
    )
    for width in (40, 80, 120):
        shown = text_of(table, width)
        assert all(len(line) <= width for line in shown.splitlines())
        assert not set("\x1b\x07\u202e") & set(shown)
    assert "2.35" in shown or "2.34" in shown
    assert "3.5" in shown
    assert "unscored: it did not" in shown
    assert "people" not in text_of(verdict_table([Judged("a", scored)]))


def test_a_program_account_says_what_is_in_it() -> None:
    protocol = CriticProtocol(
        task_description="Judge [bold]replies[/bold].",
        criteria=(Criterion(name="Tone", definition="It is kind."),),
        scale=Scale(low=1, high=6),
        demos=(Demo(source="s", response="r", score=50, example_id="x"),),
        provenance=Provenance(model="m", report=report().to_dict()),
    )
    shown = text_of(program_account(protocol))
    for word in ("Judge [bold]replies[/bold].", "Tone", "It is kind.", "3.5", "your scale 1..6", "zero-shot"):
        assert word in shown


def test_candidates_of_a_search_fit_a_terminal_with_what_each_cost() -> None:
    usage = {"calls": 1234, "replayed": 1234, "prompt_tokens": 987_654, "completion_tokens": 12_345, "cost": 1.25}
    candidates = [
        {
            "index": i,
            "demos": ["x"] * 8,
            "levels": "0-100",
            "q": q,
            "scored": 99,
            "asked": 100,
            "usage": usage,
            "wins": not i,
        }
        for i, q in ((0, 2.125), (10, None))
    ]
    protocol = CriticProtocol(
        task_description="Judge.",
        scale=Scale(low=1, high=5),
        provenance=Provenance(model="m", report={**report().to_dict(), "candidates": candidates}),
    )
    lines = text_of(program_account(protocol), 85).splitlines()
    place = lines.index("Candidates of the search")
    first, second = lines[place + 2].split(), lines[place + 3].split()
    assert first == [
        "0,",
        "chosen",
        "8",
        "0-100",
        "2.12",
        "99",
        "of",
        "100",
        "1,234",
        "1,234",
        "988k",
        "12k",
        "$1.25",
    ]
    assert second[:4] == ["10", "8", "0-100", "–"]
    free = {**usage, "cost": None}
    shown = text_of(candidates_table([{**one, "usage": free} for one in candidates]), 80)
    assert "cost" not in shown
    assert "rates" not in shown
    assert all(len(line) <= 80 for line in shown.splitlines())
    orders = [{**one, "order": order} for one, order in zip(candidates, ("rating_first", "reason_first"), strict=True)]
    shown = text_of(candidates_table(orders), 100).splitlines()
    assert [line.split("0-100")[1].split()[0] for line in shown[1:3]] == ["first", "last"]


def test_a_summary_shows_reasons_and_agreement() -> None:
    summary = {
        "items": 12,
        "scored": 11,
        "unscored": 1,
        "reasons": [{"reason": "it was \x1b[2J empty", "count": 1, "row": 11}],
        "noted": [{"reason": "it \x1b[2J copies its source", "count": 2, "row": 3}],
        "mean_score": 2.5,
        "mean_interval": [2.125, 2.875],
        "scale": "1..5",
        "agreement": {"figures": agreement(CRITIC, HUMAN, GROUPS).to_dict(), "words": ["These are words."]},
        "usage": Usage(1, 0, 100, 50, 5).to_dict(),
        "seconds": 200.0,
        "output": "s.csv",
        "program": "/home/ada/judge.json",
        "model": "gpt-4o-mini",
    }
    shown = text_of(score_summary(summary), 120)
    assert "scored by judge.json, model: gpt-4o-mini" in shown
    assert "ada" not in shown, "where it lies is nobody's business to whom a page is passed on"
    assert "11 of 12 items scored, mean score 2.50 [2.12, 2.88] on 1..5" in shown
    for word in ("1 × it was", "(first: row 11)", "2 × it", "copies its source (first: row 3)", "Spearman"):
        assert word in shown
    assert "These are words." in shown
    assert "1 call, 100 tokens read (50% from the prefix cache), 5 written; 3.3 minutes in all" in shown
    assert "\x1b" not in shown
    alone = text_of(score_summary(summary | {"model": "none", "usage": Usage().to_dict()}), 120)
    assert "scored by judge.json, without a model" in alone
    assert "3.3 minutes in all" in alone
    assert "0 calls" not in alone


def test_usage_in_words() -> None:
    assert usage_words(Usage(1, 0, 99, 0, 5)) == "1 call, 99 tokens read, 5 written"
    assert usage_words(Usage(1200, 30, 2_000_000, 1_500_000, 50_000, 9.0, 1.5)) == (
        "1,200 calls, 30 from the journal, 2.0M tokens read (75% from the prefix cache), 50k written, $1.50"
    )
    assert usage_words(Usage(12, 3, 34_567, 0, 890), short=True) == "12 calls 35k tok"


@pytest.mark.parametrize(("probabilities", "said"), [(False, "usually lower"), (True, "expectation")])
def test_findings_say_what_they_mean(probabilities, said) -> None:
    found = Findings(
        model="m\x1b[2J",
        json_schema=False,
        probabilities=probabilities,
        temperature=False,
        rating_mass=0.3 if probabilities else None,
        prefix_cache=False,
        prompt_tokens_per_second=1234.5,
        completion_tokens_per_second=5.0,
        notes=("temperature: not allowed",),
    )
    shown = text_of(findings_table(found), 120)
    assert said in shown
    assert ("30%" in shown) == probabilities
    assert "temperature: not allowed" in shown
    assert "\x1b" not in shown


def test_findings_of_a_model_that_thinks_first_say_what_that_costs() -> None:
    able = Findings("m", True, False, False, None, False, 100.0, 50.0, ())
    assert "thinks first" not in text_of(findings_table(able), 120)
    shown = text_of(findings_table(replace(able, thinks=True)), 120)
    assert "4,000 tokens more" in shown
    assert "paid for" in shown
    assert "ratings are read from the text" in shown


@pytest.mark.parametrize("width", [30, 40, 80, 200])
def test_no_figure_of_an_agreement_table_is_cut(width: int) -> None:
    found = agreement(CRITIC, HUMAN, GROUPS).to_dict()
    names = [f"scores.of.aspect.number.{i}" for i in range(7)]
    shown = text_of(agreement_table(dict.fromkeys(names, found), more={"mean absolute error": ["0.25"] * 7}), width)
    assert all(len(line) <= width for line in shown.splitlines())
    figure = f"{found['mean']:.2f} [{found['mean_interval'][0]:.2f}, {found['mean_interval'][1]:.2f}]"
    if width >= 40:
        assert shown.count(figure) == 7
        assert shown.count("0.25") == 7
    together = "".join(shown.split())  # names are folded where they are long
    assert together.count("scores.of.aspect.number") == 7 or width < 80
