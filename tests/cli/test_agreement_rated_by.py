"""``agreement --rated-by``: files with one row for each rater give what one with a column for each gives."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest
from conftest_cli import refuse, write

QUICK = ("--resamples", 50)


def long_and_wide(n: int = 24) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The same ratings of three people twice; the third gives none to every fifth output. Rows of raters are mixed."""
    long, wide = [], []
    for i in range(n):
        output = {"document": f"text {i // 4}", "output": f"out {i}", "score": 1 + i * 3 % 5 + i % 7 / 10}
        marks = {"anna": 1 + i % 5, "bert": 1 + (i * 7 + 1) % 5, "j. doe": 1 + (i + i % 2) % 5}
        if i % 5 == 4:
            marks.pop("j. doe")
        long += [{**output, "annotator": name, "rating": mark} for name, mark in marks.items()]
        wide.append({**output, **marks})
    return sorted(long, key=lambda row: row["annotator"], reverse=True), wide


def write_csv(path: Path, rows: list[dict[str, Any]]) -> Path:
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    return path


def rated(run, path, *options):
    return run("agreement", path, "--human", "rating", "--rated-by", "annotator", *options, opener=refuse)


@pytest.mark.parametrize("judged", [(), ("--predicted", "score")])
@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_a_row_for_each_rater_is_as_good_as_a_column(run, tmp_path, judged, ending) -> None:
    long, wide = long_and_wide()
    # The outputs of the long file come in the order in which they are met.
    outputs = list(dict.fromkeys(row["output"] for row in long))
    wide.sort(key=lambda row: outputs.index(row["output"]))
    options = (*judged, "--level", "all", *QUICK, "--json")
    path = (write_csv if ending == "csv" else write)(tmp_path / f"long.{ending}", long)
    found = rated(run, path, *options).document
    names = [part for name in ("j. doe", "bert", "anna") for part in ("--raters", name)]
    same = run("agreement", write(tmp_path / "wide.jsonl", wide), *names, *options).document
    assert (found["rows"], found["human"], found["rated_by"], found["raters"]) == (
        24,
        "rating",
        "annotator",
        ["annotator.*"],
    )
    for one, other in zip(found["results"], same["results"], strict=True):
        for rater in one["raters"]["columns"]:
            rater["column"] = rater["column"].removeprefix("annotator.")
        assert one == other
    assert any(
        note.startswith("68 rows are the scores of 3 raters (column 'annotator') for 24 outputs; each output has the ")
        for note in found["notes"]
    )


def test_an_id_tells_outputs_apart_and_the_same_score_twice_counts_once(run, tmp_path) -> None:
    rows = [
        {"item": i, "who": who, "rating": 1 + (i + k) % 5, "response": "the same words"}
        for i in range(8)
        for k, who in enumerate("ab")
    ]
    path = write_csv(tmp_path / "x.csv", [*rows, rows[3]])
    options = ("agreement", path, "--human", "rating", "--rated-by", "who", "--json", *QUICK)
    found = run(*options, "--id", "item").document
    assert (found["rows"], found["results"][0]["raters"]["ratings"]) == (8, 16)
    assert any("1 row repeats a rater's score of an output and counts once" in note for note in found["notes"])
    twice = run(*options)
    assert twice.code == 3
    assert "rows 1 and 3: 'a' scored the same output twice, 1 and 2" in twice.err
    assert "--id COLUMN tells them apart" in twice.err


def test_a_prediction_that_an_output_lacks_is_the_same_in_all_of_its_rows(run, tmp_path) -> None:
    rows = [
        {"response": f"r{i}", "annotator": who, "rating": 1 + (i * 3 + k) % 5, "score": i if i else float("nan")}
        for k, who in enumerate("ab")
        for i in range(8)
    ]
    found = rated(run, write(tmp_path / "x.jsonl", rows), "--predicted", "score", *QUICK, "--json").document
    (column,) = found["results"][0]["columns"]
    assert (column["missing"], column["figures"]["n"]) == (1, 7)


def test_many_raters_are_told_of_together(run, tmp_path) -> None:
    rows = [
        {"response": f"r{i}", "doc_id": i // 2, "annotator": f"w{(i + k * 5) % 20}", "rating": 1 + (i + i * k % 3) % 5}
        for i in range(40)
        for k in range(3)
    ]
    done = rated(run, write_csv(tmp_path / "x.csv", rows), *QUICK)
    said = " ".join(done.out.split())
    assert " and 10 more. Krippendorff's alpha of 20 raters, 40 rows" in said
    assert "Each rated 6 of 40 rows." in said
    assert "the median is " in said
    assert "defined for 20 of 20 raters, whom --json lists" in said
    assert "no rating and do not count" not in said


@pytest.mark.parametrize(
    ("change", "options", "says"),
    [
        ({"annotator": ""}, (), "row 1: the rater is missing, where there is a score"),
        ({"rating": "good"}, (), "row 1, column 'rating': 'good' is not a finite number"),
        ({"score": 9}, ("--predicted", "score"), "rows 1 and 4 are of one output, and hold 9 and 2; --id COLUMN"),
        ({}, ("--id", "nr"), "no output has two raters; rows are of one output where 'nr' are the same"),
        ({}, ("--id", "words"), "there is no column 'words'"),
        ({}, ("--group", "nr"), "column 'nr': rows 1 and 4 are of one output, and hold 0 and 3"),
    ],
)
def test_what_cannot_be_brought_together_is_named(run, tmp_path, change, options, says) -> None:
    rows = [
        {"nr": k * 3 + i, "response": f"r{i}", "annotator": who, "rating": 1 + i, "score": 2}
        for k, who in enumerate("ab")
        for i in range(3)
    ]
    rows[0] |= change
    done = rated(run, write(tmp_path / "x.jsonl", rows), *options)
    assert (done.code, done.out) == (3, "")
    assert says in done.err


def test_outputs_without_a_recognised_text_need_an_id(run, tmp_path) -> None:
    rows = [{"nr": i, "annotator": who, "rating": 1 + i} for who in "ab" for i in range(3)]
    path = write(tmp_path / "x.jsonl", rows)
    done = rated(run, path)
    assert done.code == 3
    assert (
        "no column is recognised as the text of the outputs, which tells them apart; name one that does with --id"
        in (done.err)
    )
    assert rated(run, path, "--id", "nr").code == 0


@pytest.mark.parametrize(
    "options",
    [
        ("--raters", "a", "--rated-by", "who", "--human", "rating"),
        ("--rated-by", "who", "--predicted", "score"),
        ("--rated-by", "who", "--human", "scores.*"),
        ("--id", "nr", "--human", "rating", "--predicted", "score"),
    ],
    ids=" ".join,
)
def test_options_that_contradict_each_other_are_refused(run, tmp_path, options) -> None:
    path = write(tmp_path / "x.jsonl", [{"who": "a", "rating": 1, "score": 2, "nr": 1}])
    done = run("agreement", path, *options)
    assert done.code == 2
    assert "--rated-by" in done.err
