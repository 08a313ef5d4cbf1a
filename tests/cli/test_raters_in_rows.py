"""One row for each person's score of an output goes into the commands as it is, with ``--fields rater=COLUMN``."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from conftest_cli import refuse, rows, write

from active_critic.data import RecordWriter, read_examples

WHO = ("--fields", "rater=annotator")
SURFACE = ("--evaluator", "surface", "--scale", "1..5")
SAID = "72 rows are the scores of 3 raters (column 'annotator') for 24 outputs; each output has their mean"


@pytest.fixture
def labels(tmp_path: Path) -> Path:
    made = [
        {**row, "id": f"a{k}-{i}", "rating": 1 + (int(row["rating"]) + k) % 5, "annotator": name}
        for i, row in enumerate(rows(24))
        for k, name in enumerate(("anna", "bert", "carl"))
    ]
    with RecordWriter(tmp_path / "labels.csv") as file:
        for row in made:
            file.write(row)
    return tmp_path / "labels.csv"


def texts(path: Any) -> list[tuple[Any, ...]]:
    read = read_examples(path, fields={"rater": "annotator"}, scale="1..5")
    return [(e.source, e.response, e.score, e.group, e.record["annotator"]) for e in read]


def test_a_fit_learns_from_the_means_and_what_it_holds_back_is_read_again(run, labels) -> None:
    how = (*WHO, *SURFACE, "--train", 0.5)
    done = run("fit", labels, "-o", "p.json", *how, "--rest", "rest.csv", "--json", opener=refuse)
    assert done.code == 0, done.err
    assert SAID in done.document["notes"]
    program = json.loads(Path("p.json").read_text())["provenance"]
    assert (program["n_train"], program["fields"]["rater"], SAID in program["notes"]) == (12, "annotator", True)
    held_back = texts("rest.csv")
    assert len(held_back) == 12
    assert set(held_back) < set(texts(labels))
    assert {names for *_, names in held_back} == {"anna+bert+carl"}
    scored = run("score", "p.json", "rest.csv", "-o", "s.jsonl", "--json", opener=refuse)
    assert scored.document["agreement"]["figures"]["n"] == 12
    again = run("fit", "rest.csv", "-o", "q.json", *WHO, *SURFACE, "--json", opener=refuse)
    assert "every output has one rater (column 'annotator'), and the score is taken as it is" in again.document["notes"]


def test_the_program_is_that_of_a_file_of_means(run, labels, tmp_path) -> None:
    assert run("fit", labels, "-o", "p.json", *WHO, *SURFACE, opener=refuse).code == 0
    with RecordWriter(tmp_path / "means.csv") as file:
        for example in read_examples(labels, fields={"rater": "annotator"}, scale="1..5"):
            file.write({name: cell for name, cell in example.record.items() if name != "annotator"})
    assert run("fit", "means.csv", "-o", "q.json", *SURFACE, opener=refuse).code == 0
    first, second = (json.loads(Path(name).read_text()) for name in ("p.json", "q.json"))
    for key in ("data_sha256", "fitted_on", "n_train"):
        assert first["provenance"][key] == second["provenance"][key]
    assert first["scale"] == second["scale"]


def test_an_estimate_counts_outputs(run, labels) -> None:
    estimated = run("fit", labels, "-o", "p.json", "--scale", "1..5", *WHO, "--estimate", "--json")
    assert "fitting on 24 examples" in estimated.err
    assert estimated.document["calls"] > 24


def test_new_items_need_no_rater_and_labelled_rows_stay_rows(run, labels, tmp_path) -> None:
    assert run("fit", labels, "-o", "p.json", *WHO, *SURFACE, opener=refuse).code == 0
    pool = [{"source": row["source"], "response": f"{row['response']} too"} for row in rows(30)]
    new = write(tmp_path / "new.jsonl", pool)
    assert "rater" not in run("score", "p.json", new, "-o", "s.jsonl", opener=refuse).err
    assert len(Path("s.jsonl").read_text().splitlines()) == 30
    chosen = run("suggest", "p.json", new, "-n", 3, "--labelled", labels, *WHO, opener=refuse)
    assert chosen.code == 0, chosen.err
    assert run("score", "p.json", labels, "-o", "s.csv", opener=refuse).code == 0
    with Path("s.csv").open(newline="") as file:
        assert len([*csv.DictReader(file)]) == 72


@pytest.mark.parametrize("command", [("compare", "--evaluators"), ("curve", "--evaluator")])
def test_compare_and_curve_count_outputs(run, labels, command) -> None:
    verb, option = command
    done = run(verb, labels, option, "surface", "--scale", "1..5", *WHO, "--json", opener=refuse)
    assert done.code == 0, done.err
    assert SAID in done.err
    assert SAID in done.document["notes"]
