"""What is written for whoever sends a spreadsheet opens in it: separators, decimal commas and the byte order mark."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path
from typing import Any

import pytest
from conftest_cli import refuse, rows

BOM = "\ufeff"


def sheet(path: Path, *, separator: str = ";", start: str = BOM) -> Path:
    """Scored examples as Excel writes them where decimals have commas."""
    table = [{**row, "rating": f"{row['rating']},{5 * (i % 2)}"} for i, row in enumerate(rows(24))]
    with path.open("w", encoding="utf-8", newline="") as file:
        file.write(start)
        writer = csv.DictWriter(file, [*table[0]], delimiter=separator)
        writer.writeheader()
        writer.writerows(table)
    return path


def cells(path: Path, column: str, separator: str = ";") -> list[str]:
    text = path.read_text(encoding="utf-8")
    assert text.startswith(BOM)
    return [
        row[column] for row in csv.DictReader(text.removeprefix(BOM).splitlines(keepends=True), delimiter=separator)
    ]


@pytest.fixture
def surface(run: Any, tmp_path: Path) -> Path:
    path = tmp_path / "s.json"
    done = run(
        *("fit", sheet(tmp_path / "a.csv"), "--evaluator", "surface", "-o", path, "--scale", "1..6"),
        *("--train", 0.5, "--rest", "rest.csv"),
        opener=refuse,
    )
    assert done.code == 0, done.err
    return path


DECIMAL = re.compile(r"\d+,\d+")


def test_scores_are_written_as_the_input_writes_numbers_and_are_read_back(
    run: Any, surface: Path, tmp_path: Path
) -> None:
    assert run("score", surface, tmp_path / "a.csv", "-o", "judged.csv").code == 0
    scores = cells(Path("judged.csv"), "score")
    assert all(map(DECIMAL.fullmatch, scores))
    assert cells(Path("judged.csv"), "rating") == cells(tmp_path / "a.csv", "rating")
    found = run("agreement", "judged.csv", "--human", "rating", "--predicted", "score", "--json").document
    assert found["results"][0]["columns"][0]["missing"] == 0
    assert found["results"][0]["columns"][0]["not_numeric"] == 0
    fields = ("--fields", "score=score")
    assert run("fit", "judged.csv", *fields, "--evaluator", "surface", "-o", "q.json", opener=refuse).code == 0
    again = run("score", surface, "judged.csv", *fields, "-o", "twice.csv", "--json").document
    assert again["agreement"]["figures"]["pearson"] == pytest.approx(1)


def test_what_is_held_back_and_what_is_suggested_open_in_the_same_spreadsheet(
    run: Any, surface: Path, tmp_path: Path
) -> None:
    assert set(cells(Path("rest.csv"), "rating")) <= set(cells(tmp_path / "a.csv", "rating"))
    assert run("suggest", surface, "rest.csv", "-n", 2, "-o", "next.csv").code == 0
    assert all(map(DECIMAL.fullmatch, cells(Path("next.csv"), "predicted")))
    assert run("suggest", surface, "rest.csv", "-n", 2, "--labelled", "next.csv").code == 0


def test_tables_of_results_open_in_it_too(run: Any, surface: Path, tmp_path: Path) -> None:
    few = ("--resamples", 50, "--scale", "1..6")
    told = ("--evaluators", "surface", "-o", "c.csv", "--predictions", "p.csv")
    done = run("compare", tmp_path / "a.csv", *told, *few)
    assert done.code == 0, done.err
    assert all(map(DECIMAL.fullmatch, cells(Path("p.csv"), "surface")))
    assert set(cells(Path("p.csv"), "human")) == set(cells(tmp_path / "a.csv", "rating"))
    assert len(cells(Path("c.csv"), "pearson")) == 1
    done = run("curve", tmp_path / "a.csv", "--evaluator", "surface", "--sizes", 5, "--repeats", 1, "-o", "v.csv", *few)
    assert done.code == 0, done.err
    assert "." not in "".join(cells(Path("v.csv"), "pearson"))
    assert run("probe", surface, tmp_path / "a.csv", "--csv", "b.csv").code == 0
    assert any(map(DECIMAL.search, cells(Path("b.csv"), "change")))


def test_a_file_with_commas_and_no_mark_stays_one(run: Any, surface: Path, tmp_path: Path) -> None:
    plain = tmp_path / "plain.csv"
    plain.write_text("answer,score\nGood.,3.5\nBad.,1\n")
    assert run("score", surface, plain, "-o", "judged.csv").code == 0
    first, record, *_ = Path("judged.csv").read_text(encoding="utf-8").splitlines()
    assert first.startswith("answer,input_score,score,")
    assert re.match(r"Good\.,3\.5,\d\.\d+,", record)


@pytest.mark.parametrize("column", ["rating", "score"])
def test_in_json_peoples_scores_are_numbers_too(run: Any, surface: Path, tmp_path: Path, column: str) -> None:
    given = sheet(tmp_path / "a.csv").read_text(encoding="utf-8").replace("rating", column, 1)
    (tmp_path / "b.csv").write_text(given, encoding="utf-8")
    assert run("score", surface, "b.csv", "-o", "judged.jsonl", "--fields", f"score={column}").code == 0
    people = "input_score" if column == "score" else column
    found = run("agreement", "judged.jsonl", "--human", people, "--predicted", "score", "--json")
    assert found.code == 0, found.err
    assert found.document["results"][0]["columns"][0]["missing"] == 0
    assert {type(json.loads(line)[people]) for line in Path("judged.jsonl").read_text().splitlines()} == {float}
