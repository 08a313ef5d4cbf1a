"""``compare --estimate`` and ``curve --estimate``: what every method, and every size, would take."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from conftest_cli import opener, refuse, rows, write
from loopback import Loopback, Say, echoing
from simulated import simulated_lm

from active_critic.journal import Journal
from active_critic.lm.filling import form_filling_lm
from active_critic.lm.made_up import Filler
from active_critic.lm.marks import RESPONSE, YES_OR_NO

ALL = "surface,zero-shot,g-eval,gpt-score,ice,auto-calibrate,hd-eval,active-critic-coarse,active-critic-fine"
SET = {
    "g-eval.max_batches": 1,
    "auto-calibrate.max_batches": 1,
    "auto-calibrate.shots": [2],
    "auto-calibrate.samples": 2,
    "auto-calibrate.refine_shots": [1],
    "hd-eval.max_batches": 1,
    "active-critic-coarse.max_batches": 1,
    "active-critic-coarse.candidates": 3,
    "active-critic-fine.max_batches": 1,
    "active-critic-fine.candidates": 2,
}
FOLDS = ("--folds", 2, "--resamples", 0)
SIZES = ("--sizes", "5,10", "--repeats", 2, "--resamples", 0)
SMALL = ("--set", "candidates=2", "--set", "demos=1", "--set", "max_batches=1")


@pytest.fixture
def labels(tmp_path: Path) -> Path:
    return write(tmp_path / "labels.jsonl", rows(24))


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """As many rehearsals however busy the machine is."""
    monkeypatch.setattr("active_critic.lm.rehearsal.PATIENCE", 1e9)
    monkeypatch.setattr("active_critic.lm.rehearsal.TAKES", 3)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-none")


def settings(names: str) -> list[object]:
    return [
        part
        for what, value in SET.items()
        if what.split(".")[0] in names.split(",")
        for part in ("--set", f"{what}={value}")
    ]


def filling(asked: list[str] | None = None) -> Callable[..., Any]:
    """Opens a model that fills in every form, and counts what it is asked."""

    def opening(name: str, **_: Any) -> Any:
        said = count()
        lm = form_filling_lm(
            lambda text: 1 + min(4.0, len(text.split()) / 12),
            saying=lambda _: f"In words number {next(said)}: ",
            name=name,
        )
        for what in ("_send", "_weigh"):
            real = getattr(lm, what)
            setattr(
                lm, what, lambda *given, real=real: (None if asked is None else asked.append("call"), real(*given))[1]
            )
        return lm

    return opening


def answered(body: dict[str, Any]) -> Say:
    """A model of an endpoint that honours schemas, gives probabilities, and rates by the number of words.

    What it writes is another thing in reply to every prompt.
    """
    said = "\n".join(message["content"] for message in body["messages"] if message["role"] == "user")
    rated = RESPONSE.findall(said)
    value = 1 + 4 * min(1.0, len(rated[-1].split()) / 40) if rated else 4.0
    form = body.get("response_format", {}).get("json_schema", {}).get("schema")
    if form is not None:
        text = json.dumps(Filler(form, value, f"Of {len(said)} characters: ").fill(form))
    else:
        text = "yes" if said.endswith(YES_OR_NO) else "4"
    pieces = [text] if text == "yes" else text
    return Say(text, tokens=[(piece, -0.1, near(piece)) for piece in pieces], prompt_tokens=len(str(body)) // 4)


def near(piece: str) -> Mapping[str, float]:
    if piece == "yes":
        return {"yes": -0.2, "no": -1.7}
    return {piece: -0.2, str(int(piece) % 5 + 1): -1.7} if piece in "12345" else {}


def test_a_comparison_is_told_method_by_method_and_takes_about_what_was_said(run, labels) -> None:
    asked: list[str] = []
    command = ("compare", labels, "--evaluators", ALL, *FOLDS, *settings(ALL), "--journal", "j", "--json")
    told = run(*command, "--estimate", opener=filling(asked))
    assert told.code == 0, told.err
    assert asked == []
    with Journal("j") as journal:
        assert len(journal) == 0
    found = told.document
    real = run(*command, opener=filling(asked))
    assert real.code == 0, "\n".join(real.document["words"])
    assert found["calls"] == pytest.approx(len(asked), rel=0.2)
    methods = {method["name"]: method for method in found["methods"]}
    assert [*methods] == ALL.split(",")
    for done in real.document["methods"]:
        said, took = methods[done["name"]], done["fit"]["calls"] + done["scoring"]["calls"]
        assert said["problems"] == []
        if done["name"] in {"surface", "zero-shot", "gpt-score", "ice"}:  # nothing depends on the replies
            assert (said["requests"], said["ranges"]) == (took, {})
        else:
            assert said["requests"] == pytest.approx(took, rel=0.2)
    parts = [found["probing"], *found["methods"]]
    for figure in ("calls", "prompt_tokens", "completion_tokens", "in_journal"):
        assert sum(part[figure] for part in parts) == found[figure]
    assert found["ranges"]["calls"][0] <= found["calls"] <= found["ranges"]["calls"][1]
    assert methods["active-critic-coarse"]["outcomes"].keys() == found["outcomes"].keys()
    assert methods["hd-eval"]["outcomes"] == {}
    rest = run(*command, "--estimate", opener=filling(asked)).document
    assert (rest["calls"], rest["in_journal"], rest["seconds"]) == (0, len(asked), 0)


def test_an_endpoint_is_asked_nothing_by_the_estimate_and_then_what_was_said(run, labels, loopback: Loopback) -> None:
    loopback.answer, loopback.complete = answered, echoing(lambda _: -1.0)
    names = "surface,zero-shot,gpt-score,ice"
    how = ("--lm", "openai/x", "--api-base", loopback.api_base, "--workers", 1)
    command = ("compare", labels, "--evaluators", names, *FOLDS, *how, "--json")
    told = run(*command, "--estimate", opener=None)
    assert told.code == 0, told.err
    assert loopback.calls == 0
    granted = "taken for granted that openai/x gives token probabilities and the likelihood of a text"
    assert any(granted in note for note in told.document["notes"])
    real = run(*command, opener=None)
    assert real.code == 0, real.err
    assert loopback.calls == told.document["calls"]
    assert told.document["probing"]["calls"] == real.document["probing"]["calls"] > 0
    for said, done in zip(told.document["methods"], real.document["methods"], strict=True):
        assert said["requests"] == done["fit"]["calls"] + done["scoring"]["calls"]


def test_a_curve_at_an_endpoint_asks_about_what_was_said(run, labels, loopback: Loopback) -> None:
    loopback.answer, loopback.complete = answered, echoing(lambda _: -1.0)
    how = ("--lm", "openai/x", "--api-base", loopback.api_base, "--workers", 1)
    never = ("approval", "likelihood", "contrast", "surface")
    alone = [part for reading in never for part in ("--set", f"use_{reading}=never")]
    command = ("curve", labels, *SIZES, *SMALL, *alone, *how, "--json")
    told = run(*command, "--estimate", opener=None)
    assert told.code == 0, told.err
    assert loopback.calls == 0
    real = run(*command, opener=None)
    assert real.code == 0, real.err
    assert told.document["calls"] == pytest.approx(loopback.calls, rel=0.2)
    zero_shot, *points = told.document["points"]
    needed = real.document["zero_shot"]
    assert zero_shot["labels"] == 0
    assert zero_shot["requests"] == needed["fit"]["calls"] + needed["scoring"]["calls"]
    for said, done in zip(points, real.document["points"], strict=True):
        assert said["labels"] == done["labels"]
        assert said["requests"] == pytest.approx(done["fit"]["calls"] + done["scoring"]["calls"], rel=0.2)
    rest = run(*command, "--estimate", opener=None).document
    assert (rest["calls"], rest["in_journal"]) == (0, loopback.calls)


def test_repeats_and_sizes_count(run, labels) -> None:
    command = ("curve", labels, "--evaluator", "ice", "--resamples", 0, "--estimate", "--json", "--set", "shots=2")

    def points(*more: object) -> dict[int, int]:
        found = run(*command, *more, opener=filling()).document
        return {point["labels"]: point["requests"] for point in found["points"]}

    once = points("--sizes", "5,10", "--repeats", 1)
    assert points("--sizes", "5", "--repeats", 1) == {0: once[0], 5: once[5]}
    assert points("--sizes", "5", "--repeats", 3)[5] == 3 * once[5]


def test_a_table_that_people_read(run, labels, monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    names = "surface,zero-shot,active-critic-coarse"
    command = ("compare", labels, "--evaluators", names, *FOLDS, *settings(names))
    assert run("compare", labels, "--evaluators", "zero-shot", *FOLDS, opener=filling()).code == 0
    told = run(*command, "--estimate", "--out", "o.json", "--html", "o.html", opener=filling())
    assert told.code == 0, told.err
    table, lines = told.out.split("\n\n")
    assert table.splitlines()[0].split()[:6] == ["calls", "in", "the", "journal", "read", "written"]
    cells = {line.split()[0]: line.split()[1:3] for line in table.splitlines()[1:]}
    assert cells["surface"] == ["0", "0"]
    assert cells["zero-shot"] == ["0", "24"]
    assert "what it can do" not in table
    assert cells["all"][1] == "24"
    assert lines.startswith(f"With local this would take {cells['all'][0]} calls, ")
    assert "(besides 24 that are in the journal already)" in lines
    assert "If a program with demonstrations turns out best: " in lines
    assert max(map(len, table.splitlines())) <= 80
    assert "note: --out and --html: an estimate writes no file" in told.err
    assert "note: replies are made up" in told.err
    assert not [*Path().glob("o.*")]
    assert "\x1b" not in told.out + told.err
    quiet = run(*command, "--estimate", "--quiet", opener=filling())
    assert (quiet.out, quiet.err) == (told.out, "")


def test_a_curve_has_a_line_for_every_size(run, labels) -> None:
    told = run("curve", labels, *SIZES, *SMALL, "--estimate", "--plot", "c.svg", "--journal", "none")
    assert told.code == 0, told.err
    starts = [line.split("  ")[0].strip() for line in told.out.split("\n\n")[0].splitlines()[1:]]
    assert [start for start in starts if start] == ["zero-shot", "5 labels", "10 labels", "all"]
    assert "note: --plot: an estimate writes no file" in told.err
    assert not Path("c.svg").exists()


def test_a_method_whose_rehearsal_fails_is_told_and_the_others_go_on(run, labels) -> None:
    command = ("compare", labels, "--evaluators", "ice,zero-shot", "--train", "0.1", "--estimate", "--json")
    told = run(*command, opener=filling())
    assert told.code == 0, told.err
    ice, zero_shot = told.document["methods"]
    assert ice["problems"][0].startswith("ice would fail in its fit: ")
    assert "at least 5" in ice["problems"][0]
    assert ice["calls"] == 0
    shown = run(*command[:-1], opener=filling())
    assert ice["problems"][0] in shown.out.splitlines()
    assert zero_shot["requests"] > 0 or zero_shot["problems"]


@pytest.mark.parametrize(
    ("option", "limit", "said"),
    [
        ("--budget", "500 calls", None),
        ("--budget", "30 calls", "the budget of 30 calls would be spent at ice"),
        ("--budget", "10 calls", "the budget of 10 calls would be spent at zero-shot"),
        ("--budget", "1k tokens", "the budget of 1,000 tokens would be spent at zero-shot"),
        ("--requests", "20", "zero-shot makes 24 different requests, so that --requests 20 would stop it"),
        ("--requests", "24", None),
    ],
)
def test_what_a_budget_would_stop_is_told(run, labels, option, limit, said) -> None:
    names = ("--evaluators", "zero-shot,ice")
    told = run("compare", labels, *names, *FOLDS, option, limit, "--estimate", "--json", opener=filling())
    assert told.code == 0, told.err
    assert told.document["calls"] == 48
    about = [note for note in told.document["notes"] if "budget" in note or "--requests" in note]
    assert about[:1] == ([said] if said else [])
    real = run("compare", labels, *names, *FOLDS, option, limit, "--json", opener=filling())
    assert (real.code == 7) == (said is not None)


def test_a_budget_of_a_curve_is_spent_at_a_size(run, labels) -> None:
    command = ("curve", labels, "--evaluator", "ice", *SIZES, "--estimate", "--json")
    found = run(*command, opener=filling()).document
    first = sum(point["calls"] for point in found["points"][:2])
    notes = run(*command, "--budget", f"{first + 1} calls", opener=filling()).document["notes"]
    assert f"the budget of {first + 1} calls would be spent at 10 labels" in notes
    notes = run(*command, "--requests", first, opener=filling()).document["notes"]
    assert f"the curve makes {found['calls']} different requests, so that --requests {first} would stop it" in notes


def test_so_it_is_told_of_a_fit_and_of_scoring(run, program, examples) -> None:
    told = run("score", program, examples, "--journal", "none", "--no-explain", "--estimate", "--budget", "8 calls")
    assert "note: the budget of 8 calls would be spent before the end" in told.err
    told = run("score", program, examples, "--journal", "none", "--no-explain", "--estimate", "--budget", "24 calls")
    assert "budget" not in told.err


def test_where_no_method_asks_a_model_there_is_nothing_to_estimate(run, labels) -> None:
    for command in (("compare", labels, "--evaluators", "surface"), ("curve", labels, "--evaluator", "surface")):
        failed = run(*command, "--estimate", opener=refuse)
        assert failed.code == 2
        assert "--estimate has no meaning for surface, which asks no model" in failed.err


def test_the_time_is_read_from_the_journal_and_adds_up(run, labels) -> None:
    assert run("compare", labels, "--evaluators", "zero-shot", *FOLDS, opener=opener()).code == 0
    told = run("compare", labels, "--evaluators", "ice,zero-shot", *FOLDS, "--estimate", "--json").document
    assert told["seconds"] is not None
    assert told["seconds"] == pytest.approx(sum(method["seconds"] for method in told["methods"]), abs=0.2)
    assert any("earlier calls in the journal" in note for note in told["notes"])
    assert simulated_lm().usage.calls == 0
