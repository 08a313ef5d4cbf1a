"""A file of which people scored a part goes into `fit`, `compare` and `curve` as it is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from conftest_cli import FIT, refuse, rows, write

import active_critic as ac

SAID = "no score in 30 of 42 rows (column 'rating', rows 1, 2, 3, 4, 5 and 25 more): left out, and only the others"


@pytest.fixture
def partly(tmp_path: Path) -> Path:
    unscored = [{**row, "id": f"u{i}", "doc_id": f"u{i}", "rating": ""} for i, row in enumerate(rows(30))]
    return write(tmp_path / "partly.jsonl", [*unscored, *rows()])


@pytest.mark.parametrize("options", [(), ("--estimate",)])
def test_a_fit_takes_the_rows_that_are_scored_and_says_so(run, partly, options) -> None:
    done = run("fit", partly, "-o", "p.json", "--scale", "1..5", *FIT, *options)
    assert done.code == 0, done.err
    assert f"note: {SAID} count (12)" in done.err
    assert "fitting on 12 examples" in done.err


def test_the_program_and_the_document_keep_the_note(run, partly) -> None:
    done = run("fit", partly, "-o", "s.json", "--evaluator", "surface", "--json", "--train", "0.5", opener=refuse)
    assert [note for note in done.document["notes"] if note.startswith(SAID)]
    kept = json.loads(Path("s.json").read_text())["provenance"]
    assert [note for note in kept["notes"] if note.startswith(SAID)]
    assert len(kept["fitted_on"]) == kept["n_train"] == 6


def test_what_is_left_out_is_left_to_be_scored_and_suggested(run, partly) -> None:
    assert run("fit", partly, "-o", "s.json", "--evaluator", "surface", opener=refuse).code == 0
    done = run("suggest", "s.json", partly, "-n", 3, "--labelled", partly, "--json", opener=refuse)
    assert done.code == 0, done.err
    assert all(row["id"].startswith("u") for row in done.document["suggestions"])


@pytest.mark.parametrize("command", [("compare", "--evaluators"), ("curve", "--evaluator")])
def test_compare_and_curve_do_the_same(run, partly, command) -> None:
    verb, option = command
    done = run(verb, partly, option, "surface", "--json", opener=refuse)
    assert done.code == 0, done.err
    assert SAID in done.err
    assert [note for note in done.document["notes"] if note.startswith(SAID)]


def test_in_python_it_is_a_warning_also_where_unscored_examples_were_read(partly) -> None:
    with pytest.warns(ac.ActiveCriticWarning, match="no score in 30 of 42 rows"):
        critic = ac.Surface().fit(partly, scale="1..5")
    assert [note for note in critic.fitted.provenance.notes if note.startswith(SAID)]
    unread = ac.read_examples(partly, scale="1..5", scored=False)
    with pytest.warns(ac.ActiveCriticWarning, match="no score in 30 of 42 rows"):
        found = ac.compare(unread, ["surface"])
    assert [note for note in found.notes if note.startswith(SAID)]
    assert [note for note in found.notes if note.startswith("columns used")]
