"""``fit --evaluator``: any evaluator from the command line, scored with by ``score`` and shown by ``show``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from conftest_cli import refuse

from active_critic.cli._opening import scoring
from active_critic.evaluators import load
from active_critic.lm.filling import form_filling_lm


def filling(name, **_):
    return form_filling_lm(lambda text: 1 + min(4, len(text.split()) / 9), name=name)


QUICK = {
    "zero-shot": [],
    "g-eval": ["--batches", "1"],
    "gpt-score": [],
    "ice": ["--set", "shots=2"],
    "auto-calibrate": ["--batches", "1", "--set", "budget=30"],
    "hd-eval": ["--batches", "1"],
    "surface": [],
}


@pytest.mark.parametrize("name", QUICK)
def test_every_evaluator_is_fitted_saved_shown_and_scored_with(run, examples, name) -> None:
    how = {"opener": refuse if name == "surface" else filling}
    fitted = run("fit", examples, "-o", "p.json", "--scale", "1..5", "--evaluator", name, *QUICK[name], **how)
    assert fitted.code == 0, fitted.err
    assert f"{name}|" in fitted.out
    assert load("p.json").kind == name
    shown = run("show", "p.json", **how)
    assert (shown.code, f"made by   {name}" in shown.out) == (0, True), shown.out + shown.err
    prompt = run("show", "p.json", "--prompt", **how)
    assert prompt.code == 0, prompt.err
    assert ("(the response of the item)" in prompt.out) == (name not in {"surface", "gpt-score"})
    assert ("there is no prompt" in prompt.err) == (name == "surface")
    scored = run("score", "p.json", examples, "-o", "s.jsonl", **how)
    assert scored.code == 0, scored.err
    verdicts = [json.loads(line) for line in Path("s.jsonl").read_text().splitlines()]
    assert all(1 <= verdict["score"] <= 5 for verdict in verdicts)


@pytest.mark.parametrize("name", QUICK)
def test_the_document_of_a_fit_names_the_criteria_of_any_evaluator(run, examples, name) -> None:
    how = {"opener": refuse if name == "surface" else filling}
    command = ["fit", examples, "-o", "p.json", "--scale", "1..5", "--evaluator", name, *QUICK[name], "--json"]
    done = run(*command, **how)
    assert done.code == 0, done.err
    found = done.document["criteria"]
    assert all(criterion["name"] and criterion["definition"] for criterion in found)
    assert bool(found) == (name in {"g-eval", "auto-calibrate", "hd-eval"})


def test_criteria_are_pinned_without_what_else_an_evaluator_keeps_of_them(run, examples) -> None:
    for name in ("hd-eval", "auto-calibrate"):
        how = ["--scale", "1..5", "--evaluator", name, *QUICK[name]]
        assert run("fit", examples, "-o", f"{name}.json", *how, opener=filling).code == 0
    pin = ["--scale", "1..5", "--evaluator", "g-eval", *QUICK["g-eval"], "--criteria"]
    assert run("fit", examples, "-o", "p.json", *pin, "@hd-eval.json", opener=filling).code == 0
    pinned = load("p.json")
    assert {name for criterion in pinned.criteria for name in criterion} == {"name", "definition"}
    own = load("hd-eval.json").fitted.criteria
    assert [c.name for c in pinned.fitted.criteria] == [c.name for c in own]
    failed = run("fit", examples, "-o", "q.json", *pin, "@auto-calibrate.json", opener=refuse)
    assert (failed.code, "this program has no criteria to pin" in failed.err) == (3, True)


def test_settings_reach_the_evaluator_and_the_document_says_so(run, examples) -> None:
    how = ["--scale", "1..5", "--evaluator", "ice", "--set", "shots=2", "--set", "sampling=stratified", "--seed", "5"]
    done = run("fit", examples, "-o", "p.json", *how, "--json", opener=filling)
    assert done.document["evaluator"] == "ice"
    assert done.document["demonstrations"] == 2
    settings = load("p.json").fitted.provenance.settings
    assert (settings["shots"], settings["sampling"], settings["seed"]) == (2, "stratified", 5)


def test_the_paper_s_ablations_are_settings_of_active_critic(run, examples) -> None:
    how = ["--scale", "1..5", "--candidates", "2", "--demos", "1", "--batches", "1", "--no-report"]
    done = run("fit", examples, "-o", "p.json", *how, "--set", "overall_scoring=false")
    assert done.code == 0, done.err
    assert load("p.json").fitted.overall_scoring is False


@pytest.mark.parametrize(
    ("how", "said"),
    [
        (["--evaluator", "geval"], "is not one of active-critic, zero-shot, g-eval"),
        (["--evaluator", "active-critic-coarse"], "write --mode coarse"),
        (["--evaluator", "ice", "--set", "shot=2"], "ice has no parameter 'shot'; it has shots"),
        (["--evaluator", "ice", "--mode", "coarse"], "--mode has no meaning for ice"),
        (["--evaluator", "zero-shot", "--criteria", "c.json"], "--criteria has no meaning for zero-shot; it has none"),
        (["--evaluator", "ice", "--sampling", "uniform"], "for ice; its own is given with --set sampling=VALUE"),
        (["--evaluator", "surface", "--demos", "3"], "for surface; it has alpha (--set PARAMETER=VALUE)"),
        (["--set", "candidate=2"], "active-critic has no parameter 'candidate'"),
        (["--evaluator", "ice", "--set", "shots"], "--set 'shots' is not PARAMETER=VALUE"),
        (["--evaluator", "ice", "--set", "shots=1", "--set", "shots=2"], "--set names shots twice"),
        (["--evaluator", "surface", "--set", "alpha=x"], "'alpha' of surface cannot be 'x'; it is a number"),
    ],
)
def test_what_an_evaluator_does_not_have_is_refused_before_anything_is_opened(run, examples, how, said) -> None:
    done = run("fit", examples, "-o", "p.json", *how, opener=refuse)
    assert done.code == 2
    assert said in " ".join(done.err.split())


def test_what_is_held_back_of_a_file_with_decimal_commas_is_scored_with_its_human_scores(run, tmp_path) -> None:
    rows = [f"{'word ' * (i + 1)};question {i // 2};{1 + i % 5},{i % 2}" for i in range(40)]
    Path("f.csv").write_text("\r\n".join(["response;source;score", *rows]))
    how = ["--evaluator", "surface", "--train", 0.5, "--rest", "rest.csv", "--scale", "1..6"]
    assert run("fit", "f.csv", "-o", "p.json", *how, opener=refuse).code == 0
    held_back = Path("rest.csv").read_text().splitlines()
    assert set(held_back[1:]) < set(rows)
    found = run("score", "p.json", "rest.csv", "-o", "scored.csv", "--json", opener=refuse).document
    assert found["agreement"]["figures"]["n"] == len(held_back) - 1
    human, predicted = "input_score", "score"
    again = run("agreement", "scored.csv", "--human", human, "--predicted", predicted, "--json", opener=refuse).document
    assert again["rows"] == len(held_back) - 1


def test_a_gguf_file_of_ones_own_is_named_again_in_the_command_to_score_with() -> None:
    said = scoring(Path("p.json"), "my models/m.gguf", None, None)
    assert said == "active-critic score p.json ITEMS --lm 'my models/m.gguf'"
    assert "--lm" not in scoring(Path("p.json"), "local", None, None)
    assert "--lm" not in scoring(Path("p.json"), "m.gguf", "http://127.0.0.1:8000/v1", None)
    by_address = scoring(Path("p.json"), "huggingface/https://mine.example", None, None)
    assert by_address.endswith("ITEMS --lm huggingface/https://mine.example")


def test_columns_that_the_fit_read_are_read_again_unless_others_are_named(run, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [{"answer": "It is short.", "draft": "word " * i + "end.", "mark": 1 + i % 5} for i in range(1, 21)]
    Path("f.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    named = ["--fields", "response=draft,score=mark"]
    assert run("fit", "f.jsonl", "-o", "p.json", "--evaluator", "surface", *named, opener=refuse).code == 0

    def scored(items: str, *how: object) -> list[float]:
        assert run("score", "p.json", items, "-o", "s.jsonl", *how, opener=refuse).code == 0
        return [json.loads(line)["score"] for line in Path("s.jsonl").read_text().splitlines()]

    again = scored("f.jsonl")
    assert again == scored("f.jsonl", *named)
    assert len(set(again)) > 1 == len(set(scored("f.jsonl", "--fields", "response=answer")))
    summary = run("score", "p.json", "f.jsonl", "-o", "s.jsonl", "--json", opener=refuse).document
    assert summary["agreement"]["figures"]["n"] == len(rows)  # with the scores in the column that the fit read
    Path("g.jsonl").write_text("".join(json.dumps({"answer": row["draft"]}) + "\n" for row in rows))
    assert scored("g.jsonl") == again  # the column is not there, and another is recognised
    for name, column in (("response", "draft"), ("score", "mark")):
        assert json.loads(Path("p.json").read_text())["provenance"]["fields"][name] == column


@pytest.mark.parametrize("name", QUICK)
def test_a_program_tells_how_its_examples_were_drawn_and_how_the_scale_was_found(run, examples, name) -> None:
    how = {"opener": refuse if name == "surface" else filling}
    part = ("--train", 0.5, "--seed", 3, "--rest", "rest.jsonl")
    done = run("fit", examples, "-o", "p.json", "-q", "--evaluator", name, *part, *QUICK[name], **how)
    assert done.code == 0, done.err
    made = load("p.json").fitted.provenance
    scale = "scale 1..5 inferred from the scores; pass --scale LOW..HIGH if that is wrong"
    drawn = "fitted on 6 of 12 examples (2 documents), 6 are held back: --train 0.5, documents drawn with seed 3"
    assert [made.notes.count(note) for note in (scale, drawn)] == [1, 1]
    assert made.seed == 3
    shown = " ".join(run("show", "p.json", **how).out.split())
    assert scale in shown
    assert drawn in shown
