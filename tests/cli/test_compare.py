from __future__ import annotations

import csv
import json
import os
from pathlib import Path

import pytest
from conftest_cli import opener, refuse, rows, write
from simulated import form, simulated_lm

from active_critic import errors
from active_critic.lm import scripted_lm

QUICK = ("--folds", 2, "--resamples", 30)
SMALL = tuple(
    part
    for name, value in {"candidates": 2, "demos": 1, "max_batches": 1}.items()
    for part in ("--set", f"active-critic-coarse.{name}={value}")
)


@pytest.fixture
def labels(tmp_path) -> Path:
    return write(tmp_path / "labels.jsonl", rows(18))


def test_a_table_that_people_read(run, labels) -> None:
    done = run("compare", labels, "--evaluators", "zero-shot,active-critic-coarse", *QUICK, *SMALL)
    assert done.code == 0, done.err
    for word in ("mean of 3", "against zero-shot", "p (Holm)", "calls to fit", "18 of 18", "2 folds", "MAE"):
        assert word in done.out
    assert "zero-shot is the baseline because it is the best one on these very examples" in done.out
    assert "comparing zero-shot, active-critic-coarse on 18 examples in 2 splits with local" in done.err
    assert "\x1b" not in done.out + done.err


def test_the_tables_fit_a_terminal_of_80_columns(run, labels, monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    methods = "zero-shot,active-critic-coarse,surface"
    done = run("compare", labels, "--evaluators", methods, "--against", "zero-shot", *QUICK, *SMALL)
    assert done.code == 0, done.err
    rows = [line for line in done.out.splitlines() if line.startswith("active-critic-coarse ")]
    assert len(rows) == 3, "in each of the three tables the name stands on one line, and so do its figures"
    tables = [line for part in done.out.split("\n\n")[:2] for line in part.splitlines()]
    assert all(line.count("[") == line.count("]") for line in tables), "no interval is broken"


@pytest.mark.parametrize(("weights", "cost"), [(None, "unknown"), ("0" * 64, "–")])
def test_a_model_on_this_machine_costs_nothing_and_any_other_what_is_not_known(run, labels, weights, cost) -> None:
    def opening(name, **_):
        lm = simulated_lm(name=name)
        lm.identity |= {"weights": weights} if weights else {}
        return lm

    done = run("compare", labels, "--evaluators", "zero-shot", *QUICK, opener=opening)
    assert done.code == 0, done.err
    assert [line.split()[-1] for line in done.out.splitlines() if line.startswith("zero-shot ")][-1] == cost


def test_json_files_and_screen_say_the_same(run, labels, tmp_path) -> None:
    options = ("--evaluators", "zero-shot,active-critic-coarse", "--against", "zero-shot", *QUICK, *SMALL, "--json")
    done = run("compare", labels, *options, "--out", "c.json", "--predictions", "p.csv", "--quiet")
    assert (done.code, done.err) == (0, "")
    document = done.document
    assert json.loads(Path("c.json").read_text()) == document
    assert document["data"]["path"] == labels.name
    assert document["data"]["scale"] == "1..5"
    assert (document["baseline"], document["baseline_chosen"]) == ("zero-shot", False)
    assert document["settings"]["evaluators"]["active-critic-coarse"]["max_batches"] == 1
    with Path("p.csv").open(newline="", encoding="utf-8") as file:
        predictions = list(csv.DictReader(file))
    assert [row["example"] for row in predictions] == [i for split in document["splits"] for i in split["test"]]
    again = run("compare", labels, *options, "--out", "c.csv")
    with Path("c.csv").open(newline="", encoding="utf-8") as file:
        table = list(csv.DictReader(file))
    assert [row["method"] for row in table] == ["zero-shot", "active-critic-coarse"]
    for row, method in zip(table, again.document["methods"], strict=True):
        assert float(row["mean"]) == method["agreement"]["mean"]
        assert int(row["scoring_calls"]) == method["scoring"]["calls"]
    assert again.document == document  # also what it cost: the journal had it all
    assert not list(tmp_path.glob("*.partial"))


def test_surface_alone_opens_no_model_and_no_journal(run, labels) -> None:
    done = run("compare", labels, "--evaluators", "surface", *QUICK, opener=refuse)
    asked = run("compare", labels, "--evaluators", "surface", "--lm", "local", *QUICK, opener=refuse)
    assert asked.code == 2
    assert "--lm has no meaning for surface, which asks no model" in asked.err
    assert done.code == 0, done.err
    assert "without a model" in done.err
    assert "calls to fit" not in done.out
    assert not Path(os.environ["ACTIVE_CRITIC_JOURNAL"]).exists()


def test_a_method_that_fails_leaves_the_others_and_the_exit_code_says_so(run, labels) -> None:
    done = run("compare", labels, "--evaluators", "active-critic-coarse,zero-shot", "--requests", 18, *QUICK, *SMALL)
    assert done.code == 7, done.err
    assert "active-critic-coarse failed in 2 of 2 splits, first in its fit: the budget of 18 requests" in done.out
    assert "0 of 18" in done.out
    assert "18 of 18" in done.out


def test_an_amount_with_a_unit_limits_what_the_whole_run_spends(run, labels) -> None:
    done = run("compare", labels, "--evaluators", "zero-shot", "--budget", "8 calls", "--json", *QUICK)
    assert done.code == 7, done.err
    (method,) = done.document["methods"]
    assert method["fit"]["calls"] + method["scoring"]["calls"] == 8
    assert [failure["error"] for failure in method["failures"]] == ["BudgetSpent", "BudgetSpent"]
    assert "zero-shot failed in 2 of 2 splits, first in its scoring: the budget of 8 calls" in done.document["words"][1]
    assert done.document["settings"]["budget"] == "8 calls"
    both = run("compare", labels, "--evaluators", "zero-shot", "--budget", "1h", "--requests", "9", "--json", *QUICK)
    assert [both.document["settings"][name] for name in ("requests", "budget")] == [9, "60 min"]
    for option, wrong, said in (
        ("--requests", "0", "'--requests'"),
        ("--budget", "plenty", "budget"),
        ("--budget", "9", "calls"),
    ):
        failed = run("compare", labels, "--evaluators", "zero-shot", option, wrong, *QUICK)
        assert failed.code == 2
        assert said in failed.err
    surface = run("compare", labels, "--evaluators", "surface", "--requests", 9, *QUICK)
    assert (surface.code, "--requests has no meaning for surface" in surface.err) == (2, True)


def test_a_key_that_is_wrong_stops_at_once(run, labels, tmp_path) -> None:
    def answer(turns):
        raise errors.AuthenticationFailed("the key is wrong")

    options = ("--evaluators", "zero-shot,active-critic-coarse", "--out", "c.json", *QUICK)
    done = run("compare", labels, *options, opener=lambda name, **_: scripted_lm(answer))
    assert done.code == 4
    assert "error: the key is wrong\n" in done.err
    assert not list(tmp_path.glob("c.json*"))


def test_interrupted_it_goes_on_where_it_was(run, labels) -> None:
    calls: list[str] = []
    stop = [9]

    def answer(turns):
        if len(calls) == stop[0]:
            raise KeyboardInterrupt
        calls.append(json.dumps(turns))
        return json.dumps(form(turns, 3))

    options = ("compare", labels, "--evaluators", "zero-shot,active-critic-coarse", *QUICK, *SMALL)
    done = run(*options, opener=lambda name, **_: scripted_lm(answer))
    assert done.code == 130
    assert "everything paid for is in the journal" in done.err
    stop[0] = -1
    assert run(*options, opener=lambda name, **_: scripted_lm(answer)).code == 0
    assert len(calls) == len(set(calls)) > 9


def test_options_reach_the_model_and_the_comparison(run, labels) -> None:
    given = {}

    def opening(name, **options):
        given.update(options, name=name)
        return simulated_lm(name=name)

    options = ["--lm", "openai/x", "--api-base", "http://localhost:1/v1", "--workers", 2, "--journal", "none", "--json"]
    options += ["--train", 0.5, "--repeats", 2, "--seed", 4, "--level", "document", "--scale", "1..7", "--explain"]
    options += ["--test-documents", 2]
    done = run("compare", labels, "--evaluators", " zero-shot ", "--resamples", 0, *options, opener=opening)
    assert done.code == 0, done.err
    assert (given["name"], given["api_base"], given["workers"]) == ("openai/x", "http://localhost:1/v1", 2)
    document = done.document
    settings = {
        "train": 0.5,
        "test_documents": 2,
        "folds": None,
        "repeats": 2,
        "seed": 4,
        "level": "document",
        "resamples": 0,
        "explain": True,
    }
    assert settings.items() <= document["settings"].items()
    assert document["data"]["scale"] == "1..7"
    assert [len(split["test"]) for split in document["splits"]] == [6, 6]  # of two documents of three
    assert document["methods"][0]["agreement"]["mean_interval"] is None
    assert not Path(os.environ["ACTIVE_CRITIC_JOURNAL"]).exists()


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        (("--evaluators", "bleu"), 2, "there is no evaluator 'bleu'; there are zero-shot, g-eval, gpt-score"),
        (("--evaluators", ","), 2, "at least one evaluator"),
        (("--evaluators", "zero-shot", "--folds", 3, "--train", 0.5), 2, "two ways to split"),
        (("--evaluators", "zero-shot", "--against", "ice"), 2, "not one of the evaluators compared"),
        (("--evaluators", "zero-shot", "--set", "zero-shot=3"), 2, "is not NAME.PARAMETER=VALUE"),
        (("--evaluators", "ice", "--set", "ice.shots=many"), 2, "'shots' of ice cannot be 'many'; it is an"),
        (("--evaluators", "zero-shot,ice", "--set", "ice.shots=-4"), 2, "ice: shots must be a whole number of at"),
        (("--evaluators", "zero-shot", "--set", "ice.seed=3"), 2, "which is not compared"),
        (("--evaluators", "active-critic-fine", "--set", "active-critic-fine.demo=3"), 2, "it has candidates, demos"),
        (("--evaluators", "zero-shot", "--set", "a.b=1", "--set", "a.b=2"), 2, "twice"),
        (("--evaluators", "zero-shot", "--level", "system"), 3, "no system is named"),
        (("--evaluators", "zero-shot", "--train", 2), 2, "--train is a fraction between 0 and 1, not 2"),
        (("--evaluators", "zero-shot", "--out", "labels.jsonl/c.json"), 5, "is no folder"),
        (("--evaluators", "zero-shot", "--out", "c.txt"), 2, "c.txt: the format of a file is told by its name"),
        (("--evaluators", "zero-shot", "--predictions", "c.txt"), 2, "for '--predictions': c.txt: the format"),
        (("--evaluators", "zero-shot", "--out", "labels.jsonl"), 2, "written over"),
        (("--evaluators", "zero-shot", "--out", "c.csv", "--predictions", "c.csv"), 2, "written over"),
        (("--evaluators", "zero-shot", "--out", "j.json", "--journal", "j.json"), 2, "written over"),
        (("--evaluators", "zero-shot", "--predictions", "j.csv", "--journal", "j.csv"), 2, "written over"),
    ],
)
def test_what_cannot_be_is_said_before_anything_is_paid_for(run, labels, options, code, said) -> None:
    done = run("compare", labels, *options, opener=refuse)
    assert done.code == code
    assert said in " ".join(done.err.replace("│", " ").split())


def test_without_a_rival_it_is_said_why_there_are_no_differences(run, labels) -> None:
    done = run("compare", labels, "--evaluators", "active-critic-coarse", "--train", 0.5, "--resamples", 30, *SMALL)
    assert done.code == 0, done.err
    assert "in 1 split with" in done.err
    assert "no method with a coefficient can serve as the baseline" in done.err


def test_one_document_only_cannot_be_compared(run, tmp_path) -> None:
    path = write(tmp_path / "one.jsonl", rows(6, doc_id="d"))
    done = run("compare", path, "--evaluators", "zero-shot", opener=refuse)
    assert done.code == 3
    assert "all examples belong to one document" in done.err


def test_settings_may_be_json_or_text(run, labels) -> None:
    criteria = json.dumps({"Tone": "It is kind = warm."})
    task = ("--set", "active-critic-coarse.task_description=Replies, judged.")
    own = ("--set", f"active-critic-coarse.criteria={criteria}", "--set", "active-critic-coarse.candidates=1")
    done = run(
        "compare", labels, "--evaluators", "active-critic-coarse", *QUICK, *task, *own, "--json", opener=opener()
    )
    assert done.code == 0, done.err
    parameters = done.document["methods"][0]["parameters"]
    assert parameters["criteria"] == {"Tone": "It is kind = warm."}
    assert parameters["task_description"] == "Replies, judged."


def test_what_is_fitted_and_tested_on_is_counted_not_what_was_asked_for(run, labels) -> None:
    said = " ".join(run("compare", labels, "--evaluators", "surface", "--train", 0.99, "--resamples", 0).out.split())
    assert "18 examples of 6 documents, fitted on 15 of them, tested on the other 3 (seed 0)" in said


def test_too_few_examples_for_every_method_are_refused_before_anything_is_asked(run, tmp_path) -> None:
    few = write(tmp_path / "few.jsonl", rows(6))
    options = ("--evaluators", "ice,surface", "--scale", "1..5", "--out", "c.json")
    done = run("compare", few, *options, "--train", 0.5, opener=refuse)
    assert (done.code, done.out) == (3, "")
    assert "few.jsonl: of 6 examples, " in done.err
    assert "a fit needs at least 5; label more, or fit on a larger part" in done.err
    assert not Path("c.json").exists()
    fewer = write(tmp_path / "fewer.jsonl", rows(4))
    compared, fitted = (
        run(*verb, opener=refuse) for verb in (("compare", fewer, *options), ("fit", fewer, "--out", "p.json"))
    )
    assert (compared.code, compared.err) == (fitted.code, fitted.err)


def test_methods_that_too_few_examples_leave_unfitted_are_named_before_the_others_are_tested(run, tmp_path) -> None:
    few = write(tmp_path / "few.jsonl", rows(6))
    done = run("compare", few, "--evaluators", "zero-shot,surface", "--scale", "1..5", "--folds", 2, "--json")
    assert done.code == 7
    said = [line for line in done.err.splitlines() if "surface cannot be fitted" in line]
    assert len(said) == 1
    assert done.err.index(said[0]) < done.err.index("comparing zero-shot, surface")
    zero_shot, surface = done.document["methods"]
    assert zero_shot["failures"] == []
    assert [failure["stage"] for failure in surface["failures"]] == ["fit", "fit"]
    assert said[0].removeprefix("note: ") in done.document["notes"]
