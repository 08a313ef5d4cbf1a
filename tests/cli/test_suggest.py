from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from conftest_cli import opener, refuse, rows, write

from active_critic import errors


def lines(path: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path(path).read_text().splitlines()]


@pytest.fixture
def surface(run: Any, examples: Path, tmp_path: Path) -> Path:
    path = tmp_path / "s.json"
    assert run("fit", examples, "--evaluator", "surface", "--scale", "1..5", "--out", path, opener=refuse).code == 0
    return path


def other_rows(n: int) -> list[dict[str, Any]]:
    """Rows whose texts no program was fitted on."""
    return [{**row, "response": f"Other {row['response']}"} for row in rows(n)]


@pytest.fixture
def pool(tmp_path: Path) -> Path:
    """Two rows are those that the program was fitted on, one repeats another."""
    made = [{k: v for k, v in row.items() if k != "rating"} for row in rows(20)]
    for i, row in enumerate(made[2:], 2):
        row["response"] = f"New {row['response']}"
        row["predicted"] = "mine"
        if i == 19:
            row["response"], row["source"] = made[18]["response"], made[18]["source"]
    return write(tmp_path / "pool.jsonl", made)


def test_the_chosen_rows_keep_their_columns_and_say_why(run, program, pool, examples) -> None:
    done = run("suggest", program, pool, "-n", 4, "--labelled", examples, "-o", "next.jsonl")
    assert done.code == 0, done.err
    chosen = lines("next.jsonl")
    assert len(chosen) == 4
    for row in chosen:
        assert list(row) == [
            "id", "doc_id", "source", "response", "colour", "input_predicted", "predicted", "suggested_because",
        ]  # fmt: skip
        assert row["input_predicted"] == "mine"
        assert 1 <= row["predicted"] <= 5
        assert row["suggested_because"]
    assert len({row["doc_id"] for row in chosen}) == 4
    assert not {row["id"] for row in chosen} & {"e0", "e1"}
    assert "note: columns used: response=response" in done.err
    assert f"note: {examples.name}: columns used: response=response" in done.err
    assert "4 of 20 rows, at most 1 of one document; kept away from 12 labelled texts" in done.err
    assert "left out: 2 labelled already" in done.err
    assert "left out: 1 repeat the text of another row" in done.err
    assert "4 rows are in next.jsonl: score them, and fit again" in done.err
    assert done.out.splitlines()[0].startswith(f"1. {chosen[0]['id']}, predicted ")
    nearest, named = chosen[0]["suggested_because"].split("; ")[1].split(": ")
    assert nearest in done.out
    assert named.endswith(" sd")
    assert named not in done.out  # by the names of readings and figures, which the file has


def test_reasons_are_words_on_the_terminal_and_names_in_the_file(run, surface, pool) -> None:
    done = run("suggest", surface, pool, "-n", 3, "-o", "next.csv", opener=refuse)
    assert done.code == 0, done.err
    with Path("next.csv").open(newline="") as file:
        second = [row["suggested_because"] for row in csv.DictReader(file)][1]
    said = "least like all that is labelled or chosen; against the nearest, the chosen text e16: "
    assert second == f"{said}score -1.0, punctuation_share +2.2 sd"
    assert f"   {said}a lower score (1.0 sd), more punctuation (2.2 sd)\n" in done.out
    assert "_" not in done.out
    assert "sd: standard deviations over these texts" in done.err


def test_no_model_is_opened_for_a_program_that_needs_none(run, surface, pool) -> None:
    done = run("suggest", surface, pool, "-n", 3, "--json", opener=refuse)
    assert done.code == 0, done.err
    document = done.document
    assert len(document["suggestions"]) == 3
    assert (document["pool"], document["repeated"], document["known"], document["model"]) == (20, 1, 0, "none")
    assert document["labelled"] == 2  # the program was fitted on them
    assert run("suggest", surface, pool, "-n", 3, "--json", "--seed", 1, opener=refuse).document["seed"] == 1
    assert "with --labelled, and the choice keeps away" in run("suggest", surface, pool, "-n", 3, opener=refuse).err
    assert run("suggest", surface, pool, "-n", 3, "-q", opener=refuse).err == ""


def test_one_file_may_hold_what_is_labelled_and_what_is_not(run, surface, tmp_path) -> None:
    half = [row if i < 6 else {**row, "rating": None} for i, row in enumerate(other_rows(12))]
    file = write(tmp_path / "half.jsonl", half)
    fields = ("--fields", "score=rating,group=doc_id")
    done = run("suggest", surface, file, "-n", 6, "--labelled", file, *fields, "--json", opener=refuse)
    assert done.code == 0, done.err
    assert {row["id"] for row in done.document["suggestions"]} == {f"e{i}" for i in range(6, 12)}
    assert (done.document["labelled"], done.document["known"]) == (6, 6)


def test_a_table_has_all_columns_of_ragged_rows_and_runs_no_formula(run, surface, tmp_path) -> None:
    ragged = [{**row, "id": f"=e{i}", f"own{i}": i} for i, row in enumerate(other_rows(6))]
    done = run("suggest", surface, write(tmp_path / "p.jsonl", ragged), "-n", 6, "-o", "next.csv", opener=refuse)
    assert done.code == 0, done.err
    with Path("next.csv").open(newline="") as file:
        table = list(csv.DictReader(file))
    assert set(table[0]) >= {"predicted", "suggested_because", *(f"own{i}" for i in range(6))}
    assert {row["id"] for row in table} == {f"'=e{i}" for i in range(6)}


def test_run_again_nothing_is_paid_twice(run, program, pool, examples) -> None:
    command = ("suggest", program, pool, "-n", 4, "--labelled", examples, "--json")
    first, again = run(*command).document, run(*command).document
    assert first["usage"]["calls"] > 0
    assert again["usage"]["calls"] == 0
    assert again["suggestions"] == first["suggestions"]


def test_what_it_would_take_is_told_without_a_call(run, program, pool) -> None:
    asked: list[str] = []

    def rate(response: str, turns: list[Any]) -> float:
        asked.append(response)
        return 3.0

    done = run("suggest", program, pool, "-n", 2, "-o", "x.csv", "--estimate", "--json", opener=opener(rate=rate))
    assert (done.code, asked) == (0, []), done.err
    assert done.document["calls"] > 0
    assert not Path("x.csv").exists()
    assert "note: --out: an estimate writes no file" in done.err


def test_unscored_texts_are_7_and_everything_unscored_is_3(run, program, pool, examples) -> None:
    def refusing(beginning: str) -> Any:
        def rate(response: str, turns: list[Any]) -> float:
            if response.startswith(beginning):
                raise errors.RequestRefused("the endpoint refused the request")
            return 3.0

        return opener(rate=rate)

    done = run("suggest", program, pool, "-n", 3, "-o", "a.jsonl", opener=refusing("New Reply 5"))
    assert done.code == 7
    assert "left out: 1 unscored: " in done.err
    assert len(lines("a.jsonl")) == 3
    command = ("suggest", program, pool, "-n", 3, "--labelled", examples, "-o", "b.jsonl", "--journal", "none")
    done = run(*command, opener=refusing("New"))
    assert done.code == 3
    assert "3 texts are asked for, and 0 of 20 can be suggested" in done.err
    assert "the endpoint refused the request" in done.err
    assert not list(Path().glob("b.jsonl*"))


def test_what_cannot_be_is_told_before_a_model_is_opened(run, program, surface, pool, examples, tmp_path) -> None:
    more = run("suggest", program, pool, "-n", 18, "--labelled", examples, opener=refuse)
    assert more.code == 3
    why = "2 labelled already or fitted on, 1 repeat the text of another row; ask for fewer, or give a larger pool"
    assert f"18 texts are asked for, and 17 of 20 can be suggested: {why}" in more.err
    none = run("suggest", program, examples, "-n", 2, opener=refuse)
    why = "12 labelled already or fitted on; give other texts"
    assert f"2 texts are asked for, and 0 of 12 can be suggested: {why}" in none.err
    empty = write(tmp_path / "empty.jsonl", [])
    assert run("suggest", program, empty, opener=refuse).code == 3
    unlabelled = run("suggest", program, pool, "-n", 2, "--labelled", pool, opener=refuse)
    assert unlabelled.code == 3
    assert "none of the labelled rows has a score" in unlabelled.err
    assert run("suggest", program, pool, "-n", 0, opener=refuse).code == 2
    assert run("suggest", program, pool, "-n", 2, "-o", pool, opener=refuse).code == 2
    assert run("suggest", program, pool, "-n", 2, "-o", examples, "--labelled", examples, opener=refuse).code == 2
    assert run("suggest", program, pool, "-o", "j.json", "--journal", "j.json", opener=refuse).code == 2
    assert run("suggest", program, pool, "-n", 2, "-o", pool / "a.json", opener=refuse).code == 5
    assert run("suggest", program, pool, "-n", 2, "-o", "a.txt", opener=refuse).code == 2
    assert run("suggest", surface, pool, "-n", 2, "--estimate", opener=refuse).code == 2
    assert run("suggest", "nope.json", pool, opener=refuse).code == 5
    assert run("suggest", program, "nope.jsonl", opener=refuse).code == 3


def test_a_labelled_file_may_have_columns_of_other_names(run, surface, pool, examples) -> None:
    expected = run("suggest", surface, pool, "-n", 4, "--labelled", examples, "--json", opener=refuse).document
    other = {"source": "asked", "response": "said", "rating": "marks", "id": "id", "doc_id": "doc_id"}
    named = [{other[name]: row[name] for name in other} for row in map(json.loads, examples.read_text().splitlines())]
    labelled = ("--labelled", write(examples.with_name("other.jsonl"), named))
    columns = "source=asked,response=said,score=marks"
    command = ("suggest", surface, pool, "-n", 4, *labelled, "--fields", "response=response", "--json")
    found = run(*command, "--labelled-fields", columns, opener=refuse)
    assert found.code == 0, found.err
    assert found.document["suggestions"] == expected["suggestions"]
    assert run(*command, opener=refuse).code == 3
    refused = run("suggest", surface, pool, "--labelled-fields", columns, opener=refuse)
    assert (refused.code, "give that, too" in refused.err) == (2, True)
    wrong = run(*command, "--labelled-fields", "response", opener=refuse)
    assert (wrong.code, "--labelled-fields 'response' is not FIELD=COLUMN" in wrong.err) == (2, True)
