"""What is read from which column is said, and no output of ours changes a text or passes for people's scores."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from conftest_cli import FIT, opener, refuse, rows, write

from active_critic.data import read_examples


def renamed(**more: Any) -> list[dict[str, Any]]:
    """Examples whose source has a name that is not recognised."""
    return [{"ticket": row.pop("source"), "output": row.pop("response"), **row} for row in (r | more for r in rows(12))]


@pytest.fixture
def surface(run: Any, tmp_path: Path) -> Path:
    path = tmp_path / "s.json"
    items = write(tmp_path / "named.jsonl", rows(12))
    assert run("fit", items, "--evaluator", "surface", "--scale", "1..5", "-o", path, opener=refuse).code == 0
    return path


def test_score_says_which_columns_it_reads_and_that_none_is_the_source(run: Any, surface: Path, tmp_path: Path) -> None:
    items = write(tmp_path / "i.jsonl", renamed())
    done = run("score", surface, items, "-o", "v.jsonl", "--json")
    assert done.code == 0, done.err
    said = [note for note in done.document["notes"] if "columns" in note or "source" in note]
    assert any("columns used: response=output" in note for note in said)
    assert any("no column is recognised as the source; --fields source=NAME for 'ticket'" in note for note in said)
    assert "--fields source=NAME for 'ticket'" in done.err
    named = run("score", surface, items, "-o", "w.jsonl", "--json", "--fields", "source=ticket")
    assert "source=ticket" in " ".join(named.document["notes"])


def test_the_command_that_a_fit_ends_with_reads_what_was_fitted_on(run: Any, tmp_path: Path) -> None:
    items = write(tmp_path / "i.jsonl", renamed())
    fields = "response=output,source=ticket,score=rating,group=doc_id"
    done = run("fit", items, "--fields", fields, "--scale", "1..5", "-o", "p.json", *FIT)
    assert done.code == 0, done.err
    assert "active-critic score p.json ITEMS" in " ".join(done.out.split())
    scored = run("score", "p.json", items, "-o", "s.jsonl", "--json")
    assert scored.code == 0, scored.err
    (said,) = [note for note in scored.document["notes"] if note.startswith("columns used: ")]
    assert set(fields.split(",")) <= set(said.removeprefix("columns used: ").split(", "))


def test_suggest_says_which_columns_it_reads(run: Any, surface: Path, tmp_path: Path) -> None:
    done = run("suggest", surface, write(tmp_path / "i.jsonl", renamed()), "-n", 2)
    assert "no column is recognised as the source" in done.err


def test_a_labelled_score_that_is_none_is_named(run: Any, surface: Path, tmp_path: Path) -> None:
    pool, labelled = write(tmp_path / "i.jsonl", rows(12)), rows(4)
    labelled[1]["rating"], labelled[2]["rating"] = "", "4/5"
    done = run("suggest", surface, pool, "-n", 2, "--labelled", write(tmp_path / "l.jsonl", labelled))
    assert done.code == 3
    assert "l.jsonl, row 3, column 'rating': the score '4/5' is not a number" in done.err


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_what_is_held_back_is_read_again_as_it_was(run: Any, tmp_path: Path, kind: str) -> None:
    made = rows(12)
    for row, start in zip(made, ["- ", "@anna ", "=1+1 ", "+1 "] * 3, strict=True):
        row["response"] = start + row["response"]
    items = write(tmp_path / "i.jsonl", made)
    if kind == "csv":
        items = tmp_path / "i.csv"
        with items.open("w", newline="") as file:
            table = csv.DictWriter(file, made[0])
            table.writeheader()
            table.writerows(made)
    done = run(
        *("fit", items, "--evaluator", "surface", "--scale", "1..5", "-o", "p.json", "--train", 0.5),
        *("--rest", "rest.csv"),
        opener=refuse,
    )
    assert done.code == 0, done.err
    with Path("rest.csv").open(newline="") as file:
        written = {row["response"] for row in csv.DictReader(file)}
    texts = {row["response"] for row in made}
    assert written <= (texts if kind == "csv" else {f"'{text}" for text in texts})  # of a spreadsheet, as it stood
    held_back = {example.response for example in read_examples("rest.csv")}
    assert held_back
    assert held_back <= texts


def test_verdicts_are_not_taken_for_human_scores(run: Any, surface: Path, tmp_path: Path) -> None:
    items = write(tmp_path / "i.jsonl", rows(12))
    assert run("score", surface, items, "-o", "judged.jsonl").code == 0
    again = run("score", surface, "judged.jsonl", "-o", "twice.jsonl", "--json").document
    assert again["agreement"]["column"] == "rating"
    assert "is not taken for people's" in " ".join(read_examples("judged.jsonl").notes)
    mine = run("score", surface, "judged.jsonl", "-o", "thrice.jsonl", "--json", "--fields", "score=score").document
    assert mine["agreement"]["column"] == "score"
    bare = write(tmp_path / "b.jsonl", [{k: v for k, v in row.items() if k != "rating"} for row in rows(12)])
    for judged in ("judged.jsonl", "twice.jsonl", "thrice.jsonl"):
        assert run("score", surface, bare, "-o", judged).code == 0
        refit = run("fit", judged, "--evaluator", "surface", "-o", "q.json", opener=refuse)
        assert refit.code == 3
        assert "no column is recognised as the score" in refit.err
        bare = Path(judged)


def test_a_human_score_that_verdicts_displaced_is_found_again(run: Any, surface: Path, tmp_path: Path) -> None:
    made = [{"score": row.pop("rating"), **row} for row in rows(12)]
    assert run("score", surface, write(tmp_path / "i.jsonl", made), "-o", "judged.jsonl").code == 0
    for judged, out in (("judged.jsonl", "twice.jsonl"), ("twice.jsonl", "thrice.jsonl"), ("thrice.jsonl", "4.jsonl")):
        again = run("score", surface, judged, "-o", out, "--json").document
        assert again["agreement"]["column"] == "input_score"


@pytest.mark.parametrize("suffix", ["jsonl", "csv"])
@pytest.mark.parametrize("scored", [True, False])
def test_a_column_of_ones_own_is_never_read_as_the_score_that_verdicts_displaced(
    run: Any, surface: Path, tmp_path: Path, suffix: str, scored: bool
) -> None:
    made = [
        {**row, "score": row["rating"], "input_score": 900 + i, "input_input_score": 800 + i}
        for i, row in enumerate(rows(12))
    ]
    made = [
        {name: value for name, value in row.items() if name != "rating" and (scored or name != "score")} for row in made
    ]
    items = write(tmp_path / "i.jsonl", made)
    first = run("score", surface, items, "-o", f"1.{suffix}", "--json")
    (note,) = [note for note in first.document["notes"] if "input_input_score" in note]
    assert f"note: {note}" in first.err
    for before, out in (("1", "2"), ("2", "3")):
        again = run("score", surface, f"{before}.{suffix}", "-o", f"{out}.{suffix}", "--json").document
        assert (again["agreement"] or {}).get("column") == ("input_score" if scored else None)
        assert not [note for note in again["notes"] if "input_input_score" in note]
        read = read_examples(f"{out}.{suffix}", scored=False)
        assert [example.score for example in read] == [row.get("score") for row in made]
        for kept, own in (("input_input_score", 900), ("input_input_input_score", 800)):
            assert [float(example.record[kept]) for example in read] == [own + i for i in range(12)]


def test_people_s_score_may_be_called_as_verdicts_call_it(run: Any, surface: Path, tmp_path: Path) -> None:
    made = [{"input_score": row.pop("rating"), **row} for row in rows(12)]
    items = write(tmp_path / "i.jsonl", made)
    for before, more in ((items, ("--fields", "score=input_score")), ("1.jsonl", ())):
        done = run("score", surface, before, "-o", "1.jsonl" if more else "2.jsonl", "--json", *more).document
        assert done["agreement"]["column"] == "input_score"
        assert not [note for note in done["notes"] if "is called" in note]


@pytest.mark.parametrize("suffix", ["jsonl", "json", "csv"])
def test_scored_twice_only_what_people_scored_counts_as_theirs(
    run: Any, surface: Path, tmp_path: Path, suffix: str
) -> None:
    made = [{"score": row.pop("rating"), **row} for row in rows(12)]
    given = [row if i % 2 else {name: row[name] for name in row if name != "score"} for i, row in enumerate(made)]
    items = write(tmp_path / "i.jsonl", given)
    said = []
    for name in ("a", "b", "c"):
        done = run("score", surface, items, "-o", f"{name}.{suffix}", "--json")
        assert done.code == 0, done.err
        said.append(done.document["agreement"]["words"][0])
        items = Path(f"{name}.{suffix}")
    assert all("(6 of 12 items)" in words for words in said), said


def test_a_row_that_a_program_has_scored_is_none_of_peoples_where_only_late_rows_are_such(
    run: Any, surface: Path, tmp_path: Path
) -> None:
    made = [{"score": row.pop("rating"), **row} for row in rows(140)]
    judged = [{**row, "unscored": None, "read_from": "surface"} for row in made[120:]]
    items = write(tmp_path / "i.jsonl", [*made[:120], *judged])
    done = run("score", surface, items, "-o", "a.jsonl", "--json")
    assert done.code == 0, done.err
    assert "(120 of 140 items)" in done.document["agreement"]["words"][0]
    assert "'score' of 20 rows stand beside a program's verdict" in " ".join(done.err.split())
    done = run("score", surface, items, "-o", "b.jsonl", "--json", "--fields", "score=score")
    assert "(140 of 140 items)" in done.document["agreement"]["words"][0]


def test_texts_without_the_source_that_every_example_had_are_told_of(run: Any, surface: Path, tmp_path: Path) -> None:
    bare = write(tmp_path / "b.jsonl", [{k: v for k, v in row.items() if k != "source"} for row in rows(12)])
    said = (
        "texts are scored without a source, and every example that the program was fitted on had one; --fields source="
    )
    for command in (("score", "-o", "judged.jsonl"), ("suggest", "-n", 2), ("probe", "--limit", 2)):
        assert said in run(command[0], surface, bare, *command[1:], opener=refuse).err
        assert said not in run(command[0], surface, write(tmp_path / "i.jsonl", rows(24)), *command[1:]).err
    many = write(tmp_path / "m.jsonl", [{k: v for k, v in row.items() if k != "source"} for row in rows(130)])
    assert said in run("score", surface, many, "-o", "judged.jsonl").err
    assert run("fit", bare, "--evaluator", "surface", "-o", "bare.json", opener=refuse).code == 0
    told = run("score", "bare.json", write(tmp_path / "i.jsonl", rows(12)), "-o", "judged.jsonl").err
    assert "texts are scored with a source, and no example" in told
    assert "leave it out with --fields source= (column 'source')" in told


def test_a_part_that_is_too_small_to_fit_on_is_told_as_such(run: Any, tmp_path: Path) -> None:
    six = write(tmp_path / "six.jsonl", rows(6))
    done = run("fit", six, "--evaluator", "surface", "-o", "p.json", "--train", 0.5, opener=refuse)
    assert done.code == 3
    assert "--train 0.5 leaves 3 of 6 examples to fit on, and a fit needs at least 5; give a larger part" in done.err


def test_a_program_in_place_of_criteria_and_a_dash_in_place_of_a_file_are_told(
    run: Any, surface: Path, examples: Path
) -> None:
    done = run("fit", examples, "-o", "p.json", "--criteria", surface, opener=refuse)
    assert (done.code, f"its criteria are pinned with --criteria @{surface}" in done.err) == (3, True)
    done = run("score", surface, examples, "-o", "-", opener=refuse)
    assert (done.code, "without --out, verdicts go to standard output" in done.err) == (2, True)


def test_a_field_and_its_column_the_wrong_way_round_are_told(run: Any, examples: Path) -> None:
    done = run("fit", examples, "-o", "p.json", "--fields", "rating=score", opener=refuse)
    assert (done.code, "did you mean score=rating?" in done.err) == (2, True)


def test_attacks_among_perturbations_are_told_and_the_reverse(run: Any, surface: Path, examples: Path) -> None:
    done = run("probe", surface, examples, "--families", "flood", opener=refuse)
    assert (done.code, "these are attacks: add --attacks" in done.err) == (2, True)
    done = run("probe", surface, examples, "--attacks", "--families", "negation,repetition", opener=refuse)
    assert (done.code, "these are perturbations: leave out --attacks" in done.err) == (2, True)
    assert "these are" not in run("probe", surface, examples, "--families", "nothing", opener=refuse).err


def test_a_seed_below_zero_is_refused_before_anything_is_paid_for(run: Any, examples: Path) -> None:
    assert run("fit", examples, "-o", "q.json", "--seed", -1, opener=refuse).code == 2
    done = run("fit", examples, "-o", "q.json", "--set", "seed=-1", *FIT)
    assert done.code == 6
    assert "seed must be a whole number of at least 0, not -1" in done.err


def test_an_option_and_a_setting_of_the_same_meaning_are_refused(run: Any, examples: Path) -> None:
    sampling = ["--sampling", "uniform", "--set", "sampling=stratified"]
    for option in (["--demos", 2, "--set", "demos=3"], ["--seed", 1, "--set", "seed=2"], sampling):
        done = run("fit", examples, "-o", "q.json", *option, opener=refuse)
        assert done.code == 2
        assert "say the same" in done.err


MODEL = [["--lm", "openai/x"], ["--api-base", "http://127.0.0.1:9/v1"], ["--api-key-env", "MY_KEY"]]


@pytest.mark.parametrize("option", MODEL)
def test_a_model_for_a_program_that_asks_none_is_refused(run: Any, surface: Path, tmp_path: Path, option: Any) -> None:
    items = write(tmp_path / "i.jsonl", rows(3))
    done = run("score", surface, items, "-o", "v.jsonl", *option, opener=refuse)
    assert done.code == 2
    assert f"{option[0]} has no meaning for this program" in done.err


@pytest.mark.parametrize("option", [*MODEL, ["--lm", "local"]])
def test_a_model_for_a_fit_that_asks_none_is_refused(run: Any, examples: Path, option: Any) -> None:
    done = run("fit", examples, "-o", "s.json", "--evaluator", "surface", *option, opener=refuse)
    assert done.code == 2
    assert f"{option[0]} has no meaning for surface, which asks no model" in " ".join(done.err.split())
    how = ("--journal", "j.sqlite", "--workers", 4)
    done = run("fit", examples, "-o", "s.json", "--evaluator", "surface", *how, opener=refuse)
    assert done.code == 0
    assert "--journal and --workers: not used by surface, which asks no model" in " ".join(done.err.split())


def test_options_that_a_program_without_a_model_does_not_use_are_named(run: Any, surface: Path, tmp_path: Path) -> None:
    items = write(tmp_path / "i.jsonl", rows(3))
    done = run("score", surface, items, "-o", "v.jsonl", "--journal", "j.sqlite", "--workers", 2, opener=refuse)
    assert done.code == 0
    assert "--journal and --workers: not used by this program, which asks no model" in " ".join(done.err.split())


def test_an_output_with_an_unknown_ending_is_no_fault_of_the_data(run: Any, surface: Path, tmp_path: Path) -> None:
    items = write(tmp_path / "i.jsonl", rows(3))
    done = run("score", surface, items, "-o", "v.xlsx", opener=refuse)
    assert done.code == 2
    assert "v.xlsx" in done.err
    assert "must end in .csv" in " ".join(done.err.split())


def test_a_column_whose_name_has_a_blank_around_it_can_be_named(run: Any, surface: Path, tmp_path: Path) -> None:
    path = tmp_path / "i.csv"
    path.write_text("my output, my source\nGood.,Why?\n")
    done = run("score", surface, path, "-o", "v.jsonl", "--fields", "response=my output,source=my source")
    assert done.code == 0, done.err


def test_an_output_does_not_replace_the_journal(run: Any, program: Path, examples: Path) -> None:
    done = run("score", program, examples, "-o", "j.jsonl", "--journal", "j.jsonl", opener=opener())
    assert done.code == 2
    assert "would be written over" in done.err


def test_a_pipe_cannot_be_read_twice(run: Any, surface: Path, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "i.jsonl")
    done = run("score", surface, tmp_path / "i.jsonl", "-o", "v.csv")
    assert done.code == 2
    assert "can be read only once" in done.err


@pytest.mark.parametrize("name", ["-", "/dev/stdin"])
def test_items_may_come_as_json_lines_on_standard_input(run: Any, surface: Path, tmp_path: Path, name: str) -> None:
    items = write(tmp_path / "i.jsonl", rows(3))
    from_file = run("score", surface, items)

    def piped(*more: object, given: bytes = items.read_bytes()) -> subprocess.CompletedProcess[bytes]:
        code = "import sys; from active_critic.cli import main; sys.exit(main(sys.argv[1:]))"
        command = [sys.executable, "-c", code, "score", surface, name, *more]
        return subprocess.run(command, capture_output=True, input=given, check=False)

    done = piped()
    assert (done.returncode, done.stdout.decode()) == (0, from_file.out)
    table = piped("-o", "v.csv")
    assert table.returncode == 2
    assert b"can be read only once" in table.stderr
    other = piped(given=b"response,score\nFine.,3\n")
    assert other.returncode == 7
    assert b"line 1 is broken JSON: Expecting value (character 1); JSON Lines are expected" in other.stderr


def test_json_is_utf_8_whatever_the_terminal_takes(surface: Path, tmp_path: Path) -> None:
    items = write(tmp_path / "i.jsonl", rows(3))
    code = "import sys; from active_critic.cli import main; sys.exit(main(sys.argv[1:]))"
    command = [sys.executable, "-c", code, "score", surface, items, "-o", tmp_path / "p😀é.jsonl", "--json"]
    environment = {**os.environ, "PYTHONIOENCODING": "cp1252"}
    done = subprocess.run(command, capture_output=True, check=True, env=environment)
    assert json.loads(done.stdout.decode("utf-8"))["output"].endswith("p😀é.jsonl")


def test_a_field_named_twice_is_refused_with_the_way_to_a_mean(run: Any, surface: Path, tmp_path: Path) -> None:
    done = run("fit", "x.csv", "-o", "p.json", "--fields", "score=anna", "--fields", "score=bert")
    assert done.code == 2
    said = "--fields names the field 'score' twice; the mean of several columns is score=anna+bert"
    assert said in " ".join(done.err.split())
