from __future__ import annotations

import csv
import json
import os
from pathlib import Path
from xml.etree import ElementTree

import pytest
from conftest_cli import opener, refuse, rows, write
from simulated import form

from active_critic.lm import scripted_lm

QUICK = ("--resamples", 30, "--sizes", "5,10", "--repeats", 2)
SMALL = ("--set", "candidates=2", "--set", "demos=1", "--set", "max_batches=1")


@pytest.fixture
def labels(tmp_path) -> Path:
    return write(tmp_path / "labels.jsonl", rows(30))


def test_tables_that_people_read_and_advice_last(run, labels, monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "400")
    done = run("curve", labels, *QUICK, *SMALL)
    assert done.code == 0, done.err
    for word in (
        "labels",
        "mean of 3",
        "gain",
        "p (Holm)",
        "surface",
        "\nzero-shot",
        "calls to fit",
        "2 times (seed 0)",
    ):
        assert word in done.out
    assert done.out.strip().splitlines()[-1].startswith("Advice: ")
    assert "active-critic-coarse fitted on 5, 10 of 30 labels, 2 times, with local; journal: " in done.err
    assert "note: the texts are of 9 documents: intervals over so few say little of others" in done.err
    assert "\x1b" not in done.out + done.err


def test_the_tables_fit_a_terminal_of_80_columns(run, labels, monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    done = run("curve", labels, *QUICK, *SMALL)
    assert done.code == 0, done.err
    tables = [line for part in done.out.split("\n\n")[:2] for line in part.splitlines()]
    assert all(line.count("[") == line.count("]") for line in tables), "no interval is broken"
    assert sum(line.startswith(("of 3 docs.", "of 4 docs.")) for line in tables) == 2


def test_json_files_picture_and_screen_say_the_same(run, labels, tmp_path) -> None:
    options = (*QUICK, *SMALL, "--json")
    done = run("curve", labels, *options, "--out", "c.json", "--plot", "c.svg", "--quiet")
    assert (done.code, done.err) == (0, "")
    document = done.document
    assert "NaN" not in done.out
    assert json.loads(Path("c.json").read_text()) == document
    assert document["data"]["path"] == labels.name
    assert [point["labels"] for point in document["points"]] == [5, 10]
    assert document["settings"]["evaluator"]["max_batches"] == 1
    assert document["zero_shot"]["name"] == "zero-shot"
    picture = ElementTree.parse("c.svg").getroot()
    assert document["words"][-1] in picture.find("{http://www.w3.org/2000/svg}desc").text
    again = run("curve", labels, *options, "--out", "c.csv")
    assert again.document == document  # also what it cost: the journal had it all
    with Path("c.csv").open(newline="", encoding="utf-8") as file:
        table = list(csv.DictReader(file))
    assert [row["labels"] for row in table] == ["0", "5", "10"]
    assert float(table[2]["gain"]) == document["points"][1]["gain"]["value"]
    assert not list(tmp_path.glob("*.partial"))


def test_surface_opens_no_model_and_no_journal(run, labels) -> None:
    done = run("curve", labels, "--evaluator", "surface", *QUICK, opener=refuse)
    asked = run("curve", labels, "--evaluator", "surface", "--api-base", "http://127.0.0.1:9/v1", *QUICK, opener=refuse)
    assert asked.code == 2
    assert "--api-base has no meaning for surface, which asks no model" in asked.err
    assert done.code == 0, done.err
    assert "without a model" in done.err
    assert "calls to fit" not in done.out
    assert not Path(os.environ["ACTIVE_CRITIC_JOURNAL"]).exists()


def test_interrupted_it_goes_on_where_it_was(run, labels) -> None:
    calls: list[str] = []
    stop = [9]

    def answer(turns):
        if len(calls) == stop[0]:
            raise KeyboardInterrupt
        calls.append(json.dumps(turns))
        return json.dumps(form(turns, 3 + len(calls) % 2))

    def opening(name, **_):
        return scripted_lm(answer, name=name)

    options = ("--evaluator", "zero-shot", *QUICK)
    first = run("curve", labels, *options, opener=opening)
    assert first.code == 130
    stop[0] = -1
    second = run("curve", labels, *options, opener=opening)
    assert second.code == 0, second.err
    assert len(calls) == len(set(calls))


def test_test_documents_reach_the_curve(run, labels) -> None:
    options = ("--evaluator", "surface", "--sizes", "5,10", "--resamples", 5, "--test-documents", 2, "--json")
    done = run("curve", labels, *options, opener=refuse)
    assert done.code == 0, done.err
    assert done.document["settings"]["test_documents"] == 2
    assert [len(repeat["test"]) for repeat in done.document["repeats"]] == [6, 6, 6]  # of two documents of three


def test_sizes_there_are_no_labels_for_are_left_out_and_said(run, labels) -> None:
    done = run("curve", labels, "--evaluator", "surface", "--sizes", "5,10,20,50", "--resamples", 5, "--repeats", 1)
    assert done.code == 0, done.err
    assert "note: left out: 20, 50; there are 15 labels for training" in done.err
    few = run("curve", labels, "--evaluator", "surface", "--sizes", "20", opener=refuse)
    assert few.code == 3
    assert "15 are left for training" in few.err


def test_what_fails_is_said_and_the_exit_code_says_so(run, labels) -> None:
    done = run("curve", labels, *QUICK, *SMALL, "--requests", 25)
    assert done.code == 7, done.err
    assert "the budget of 25 requests" in done.out


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--sizes", "4,10"), "at least 5 labels"),
        (("--sizes", "5,many"), "--sizes '5,many' is not N,N"),
        (("--sizes", ""), "at least one size"),
        (("--test", "1.5"), "fraction between 0 and 1"),
        (("--evaluator", "nonsense"), "no evaluator 'nonsense'"),
        (("--set", "colour=1"), "no parameter 'colour'"),
        (("--set", "colour"), "PARAMETER=VALUE"),
        (("--set", "candidates=-1"), "candidates must be a whole number from 1 to 1,000, not -1"),
        (("--plot", "c.png"), "FILE.svg"),
        (("--out", "c.txt"), "the format of a file is told by its name"),
        (("--out", "labels.jsonl"), "would be written over"),
        (("--out", "j.json", "--journal", "j.json"), "would be written over"),
        (("--plot", "j.svg", "--journal", "j.svg"), "would be written over"),
    ],
)
def test_usage_errors_come_before_anything_is_paid_for(run, labels, options, said) -> None:
    done = run("curve", labels, *options, opener=refuse)
    assert done.code == 2
    assert said in " ".join(done.err.split())


def test_a_picture_that_cannot_be_written_is_found_first(run, labels, tmp_path) -> None:
    (tmp_path / "folder.svg").mkdir()
    for path in ("folder.svg", labels / "c.svg"):
        done = run("curve", labels, "--plot", path, *QUICK, opener=refuse)
        assert done.code == 5
        assert f"cannot write {path}" in done.err
    assert not list(tmp_path.rglob("*.partial"))


def test_help_names_the_options(run) -> None:
    shown = run("curve", "--help", opener=opener())
    assert shown.code == 0
    for option in (
        "--evaluator",
        "--sizes",
        "--test",
        "--repeats",
        "--set",
        "--plot",
        "--budget",
        "--requests",
        "--json",
    ):
        assert option in shown.out


def test_the_tests_are_counted_not_the_part_that_was_asked_for(run, tmp_path) -> None:
    labels = write(tmp_path / "labels.jsonl", rows(18))
    how = ("--evaluator", "surface", "--sizes", 5, "--test", 0.1, "--repeats", 2, "--resamples", 0)
    assert "tested on 3 of 18 examples of 6 documents" in " ".join(run("curve", labels, *how).out.split())
