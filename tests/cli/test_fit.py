from __future__ import annotations

import errno
import json
import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from conftest_cli import FIT, opener, refuse, rows, write
from simulated import form

from active_critic import errors
from active_critic.evaluators import load
from active_critic.lm import scripted_lm


def test_fit_saves_a_program_and_prints_an_honest_report(run, examples) -> None:
    done = run("fit", examples, "--out", "p.json", "--scale", "1..5", *FIT)
    assert done.code == 0, done.err
    assert load("p.json").fitted.provenance.n_train == 12
    for word in ("Accuracy", "zero-shot", "surface floor", "Spearman", "12 of 12", "saved in p.json"):
        assert word in done.out
    assert "note: columns used: response=response, source=source, score=rating" in done.err
    assert "\x1b" not in done.out + done.err


def test_json_is_one_document_and_nothing_else_on_standard_output(run, examples) -> None:
    done = run("fit", examples, "--out", "p.json", "--json", *FIT)
    document = done.document
    assert {"program", "report", "signature", "usage", "notes"} <= document.keys()
    assert document["report"]["critic"]["total"] == 12
    assert document["usage"]["calls"] > 10
    assert any("scale 1..5 inferred" in note for note in document["notes"])
    quiet = run("fit", examples, "--out", "p.json", "--json", "--quiet", *FIT)
    assert quiet.err == ""
    assert quiet.document["usage"]["calls"] == 0  # the journal had it all


def test_options_reach_the_fit(run, examples, tmp_path) -> None:
    given = {}

    def answer(turns):
        parts = form(turns, 3)
        return json.dumps(dict(sorted(parts.items(), key=lambda part: part[0] == "overall")))  # reasons first

    def opening(name, **options):
        given.update(options, name=name)
        return scripted_lm(answer, name=name)

    (tmp_path / "task.txt").write_text("Replies are judged.\n")
    criteria = [{"name": "Warmth", "definition": "It is kind."}, {"name": "Truth", "definition": "It is right."}]
    (tmp_path / "c.json").write_text(json.dumps(criteria))
    options = ["--lm", "openai/x", "--api-base", "http://localhost:1/v1", "--api-key-env", "K", "--context", "4096"]
    options += [
        "--strict",
        "--workers",
        "3",
        "--timeout",
        "7.5",
        "--mode",
        "coarse",
        "--candidates",
        "3",
        "--demos",
        "1",
        "--seed",
        "7",
    ]
    options += ["--sampling", "uniform", "--search", "full", "--order", "reason-first", "--batches", "1"]
    options += ["--task", "@task.txt", "--criteria", "c.json", "--no-report", "--journal", "none"]
    options += ["--levels", "0-10"]
    options += [
        "--use-approval",
        "never",
        "--use-likelihood",
        "never",
        "--use-contrast",
        "never",
        "--use-surface",
        "always",
        "--discount-forgeries",
        "never",
        "--discount-praise",
        "never",
    ]
    done = run("fit", examples, "-o", "p.json", *options, opener=opening)
    assert done.code == 0, done.err
    assert given == {
        "name": "openai/x",
        "api_base": "http://localhost:1/v1",
        "api_key_env": "K",
        "context": 4096,
        "strict": True,
        "workers": 3,
        "timeout": 7.5,
    }
    program = load("p.json").fitted
    assert program.mode == "coarse"
    assert program.task_description == "Replies are judged."
    assert [criterion.model_dump() for criterion in program.criteria] == criteria
    assert program.reading.order == "reason_first"
    assert program.provenance.seed == 7
    assert program.provenance.report == {}
    assert (program.reading.low, program.reading.high) == (0, 10)
    assert program.surface is not None
    assert not program.discounts_forgeries
    assert program.calibration.foreign is None
    assert {
        "candidates": 3,
        "demos": 1,
        "sampling": "uniform",
        "search": "full",
        "max_batches": 1,
        "levels": "0-10",
        "use_approval": "never",
        "use_likelihood": "never",
        "use_contrast": "never",
        "use_surface": "always",
    }.items() <= program.provenance.settings.items()
    assert not Path(os.environ["ACTIVE_CRITIC_JOURNAL"]).exists()
    assert "journal: none" in done.err
    assert "not known" in done.out


def test_rounds_of_refinement_reach_the_fit(run, examples) -> None:
    done = run("fit", examples, "-o", "p.json", "--refine", 2, "--no-report", *FIT)
    assert done.code == 0, done.err
    origin = load("p.json").fitted.provenance
    assert origin.settings["refinements"] == 2
    assert any("the criteria were not refined: that takes two halves of 8" in note for note in origin.notes)
    assert "the criteria were not refined: that takes two halves of 8" in " ".join(done.out.split())
    assert "columns used" not in done.out  # what was said before the fit is not said again


def test_train_holds_back_whole_documents_and_rest_keeps_every_column(run, examples) -> None:
    done = run("fit", examples, "-o", "p.json", "--train", 0.5, "--rest", "rest.jsonl", "--json", *FIT)
    assert done.code == 0, done.err
    rest = [json.loads(line) for line in Path("rest.jsonl").read_text().splitlines()]
    everything = [json.loads(line) for line in examples.read_text().splitlines()]
    assert all(row in everything for row in rest)
    assert len(rest) == 6
    assert len({row["doc_id"] for row in rest}) == 2
    assert done.document["report"]["examples"] == 6
    drawn = "fitted on 6 of 12 examples (2 documents), 6 are held back: --train 0.5, documents drawn with seed 0"
    assert drawn in done.err
    assert done.document["notes"].count(drawn) == 1
    assert drawn in load("p.json").fitted.provenance.notes
    scored = run("score", "p.json", "rest.jsonl", "-o", "s.csv", "--json")
    assert scored.code == 0
    assert scored.document["scored"] == 6


def test_repeated_rows_are_said_once_and_as_they_are_in_all_the_data(run, tmp_path) -> None:
    twice = [row for row in rows() for _ in range(2)]
    path = write(tmp_path / "twice.jsonl", twice)
    quick = ("--scale", "1..5", "--train", 0.5, *FIT)
    done = run("fit", path, "-o", "p.json", "--json", *quick)
    assert done.code == 0, done.err
    said = "the same source and response occur more than once: rows 1 and 2; "
    assert [note.startswith(said) for note in done.document["notes"] if "occur more than once" in note] == [True]
    assert done.err.count("occur more than once") == 1
    told = run("fit", path, "-o", "p.json", *quick)
    assert (told.err + told.out).count("occur more than once") == 1
    (known,) = (note for note in load("p.json").fitted.provenance.notes if "occur more than once" in note)
    assert known not in done.document["notes"]  # of the part that was fitted on


def test_criteria_of_another_program_are_pinned(run, examples, program) -> None:
    Path("c.json").write_text(json.dumps({"Brevity": "It is short."}))
    assert run("fit", examples, "-o", "q.json", "--criteria", "c.json", *FIT).code == 0
    assert run("fit", examples, "-o", "r.json", "--criteria", "@q.json", *FIT).code == 0
    assert load("r.json").fitted.criteria == load("q.json").fitted.criteria
    assert load("r.json").fitted.criteria != load(program).fitted.criteria


def test_pinned_criteria_that_were_learnt_from_what_is_held_back_are_said(run, examples) -> None:
    half = ("--train", 0.5, "--scale", "1..5", *FIT)
    learnt = "examples that are held back, or on their documents"
    assert run("fit", examples, "-o", "all.json", "--scale", "1..5", *FIT).code == 0
    done = run("fit", examples, "-o", "half.json", *half, "--criteria", "@all.json")
    assert f"note: all.json was fitted on 6 of the 6 {learnt}" in done.err
    again = run("fit", examples, "-o", "again.json", *half, "--criteria", "@half.json")
    assert (again.code, learnt in again.err) == (0, False)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{broken", "not JSON"),
        ("[]", "expected"),
        ('{"A": ""}', "cannot be used"),
        ('[{"name": "A", "definition": "b"}, {"name": "a", "definition": "c"}]', "different names"),
        ('[{"name": "A"}]', "definition"),
    ],
)
def test_criteria_that_cannot_be_used_are_told_before_anything_is_paid_for(run, examples, text, said) -> None:
    Path("c.json").write_text(text)
    failed = run("fit", examples, "-o", "p.json", "--criteria", "c.json", opener=refuse)
    assert failed.code == 3
    assert said in failed.err
    assert "c.json" in failed.err


def test_replacing_a_program_is_said_and_anything_else_is_not_replaced(run, examples, program) -> None:
    again = run("fit", examples, "--out", program, "--scale", "1..5", *FIT)
    assert again.code == 0
    assert "has been replaced" in again.err
    Path("notes.json").write_text('{"mine": true}')
    failed = run("fit", examples, "--out", "notes.json", *FIT, opener=refuse)
    assert failed.code == 5
    assert "is not a program" in failed.err
    assert Path("notes.json").read_text() == '{"mine": true}'
    assert run("fit", examples, "--out", examples, *FIT, opener=refuse).code == 2
    assert run("fit", examples, "-o", "p.json", "--train", 0.5, "--rest", examples, opener=refuse).code == 2


def test_rest_replaces_nothing_but_the_same_rows(run, examples, program) -> None:
    held_back = ("fit", examples, "-o", "p.json", "--train", 0.5, "--rest")
    assert run(*held_back, "rest.jsonl", *FIT).code == 0
    rows_held = Path("rest.jsonl").read_bytes()
    assert run(*held_back, "rest.jsonl", *FIT).code == 0  # as after an interruption
    assert Path("rest.jsonl").read_bytes() == rows_held
    other = run(*held_back, "rest.jsonl", "--seed", 3, *FIT, opener=refuse)
    assert other.code == 5
    assert "rest.jsonl is there and holds other rows; name another file with --rest, or remove it" in other.err
    assert Path("rest.jsonl").read_bytes() == rows_held
    before = Path(program).read_bytes()
    assert run(*held_back, program, *FIT, opener=refuse).code == 2
    assert Path(program).read_bytes() == before


@pytest.mark.parametrize(
    "command",
    [
        ("score", "p.json", "items", "-o"),
        ("compare", "items", "--evaluators", "surface", "-o"),
        ("curve", "items", "--evaluator", "surface", "-o"),
        ("suggest", "p.json", "items", "-o"),
        ("probe", "p.json", "items", "--csv"),
    ],
)
def test_no_output_of_another_kind_is_written_over_a_program(run, examples, program, command) -> None:
    Path("p.json").write_bytes(Path(program).read_bytes())
    newer = json.loads(Path(program).read_text()) | {"format_version": 99}
    Path("old.json").write_text(json.dumps(newer))
    done = run(*(examples if part == "items" else part for part in command), "old.json", opener=refuse)
    assert done.code == 5, done.err
    assert "old.json is a program and would be lost; name another file for the output" in " ".join(done.err.split())
    assert json.loads(Path("old.json").read_text()) == newer


def test_a_budget_is_refused_where_no_model_is_asked(run, examples) -> None:
    done = run("fit", examples, "-o", "s.json", "--evaluator", "surface", "--budget", "5 calls", opener=refuse)
    assert done.code == 2
    assert "--budget has no meaning for surface, which asks no model" in " ".join(done.err.split())
    assert run("fit", examples, "-o", "s.json", "--evaluator", "surface", opener=refuse).code == 0
    assert run("score", "s.json", examples, "-o", "v.jsonl", "--budget", "5 calls", opener=refuse).code == 2


# --- bad input, and nothing lost -------------------------------------------------------------------------------


def bad(*, change=None, count=12, **more):
    records = rows(count, **more)
    if change:
        change(records)
    return records


@pytest.mark.parametrize(
    ("records", "options", "said"),
    [
        (bad(), ["--fields", "score=ratng"], "did you mean 'rating'?"),
        (bad(change=lambda r: r[3].update(rating="good")), [], "row 4, column 'rating': the score 'good' is not a num"),
        (bad(change=lambda r: r[2].update(rating=9)), ["--scale", "1..5"], "row 3, column 'rating': 9 lies outside"),
        (bad(change=lambda r: r[0].update(response=" ")), [], "row 1, column 'response': the text to be judged is emp"),
        (
            bad(count=5, change=lambda r: r[3].update(rating=None)),
            [],
            "only 4 of 5 rows have a score, which is missing",
        ),
        ([rows(1)[0]] * 5, [], "all 5 rows hold the same text"),
        (bad(rating=3), [], "all 12 scores are 3"),
        (bad(count=4), [], "at least 5 scored examples, not 4"),
        ([], [], "holds no rows"),
    ],
)
def test_bad_examples_are_3_and_name_the_place(run, tmp_path, records, options, said) -> None:
    path = write(tmp_path / "bad.jsonl", records)
    failed = run("fit", path, "-o", "p.json", *options, opener=refuse)
    assert failed.code == 3
    assert said in failed.err
    assert "bad.jsonl" in failed.err or "--fields" in options
    assert not Path("p.json").exists()


def test_a_missing_file_is_3(run) -> None:
    failed = run("fit", "nope.csv", "-o", "p.json", opener=refuse)
    assert failed.code == 3
    assert "nope.csv: there is no such file" in failed.err


@pytest.mark.parametrize("scale", ["five", "1-5", "5..1"])
@pytest.mark.parametrize(
    "command",
    [
        ["fit", "absent.csv", "-o", "p.json"],
        ["compare", "absent.csv", "--evaluators", "surface"],
        ["curve", "absent.csv"],
        ["agreement", "absent.csv", "--human", "a", "--predicted", "b"],
    ],
)
def test_a_scale_that_is_none_is_2(run, command, scale) -> None:
    failed = run(*command, "--scale", scale, opener=refuse)
    assert failed.code == 2
    assert "--scale" in failed.err
    assert "absent.csv" not in failed.err


def test_a_broken_line_of_a_long_file_is_named(run, tmp_path) -> None:
    path = write(tmp_path / "long.jsonl", rows(8000))
    lines = path.read_text().splitlines()
    lines[7311] = '{"broken": '
    path.write_text("\n".join(lines))
    failed = run("fit", path, "-o", "p.json", opener=refuse)
    assert failed.code == 3
    assert "row 7312: line 7312 is broken JSON" in failed.err


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (("--levels", "5-1"), "levels must be such as 1-9"),
        (("--evaluator", "surface", "--set", "alpha=-1"), "alpha must be a number above 0, not -1"),
        (("--evaluator", "ice", "--set", "shots=0"), "shots must be"),
        (("--mode", "coarse", "--use-criteria", "always"), "use mode='fine'"),
    ],
)
def test_a_setting_that_cannot_be_is_2_before_a_model_is_opened(run, examples, settings, said) -> None:
    done = run("fit", examples, "-o", "p.json", *settings, opener=refuse)
    assert done.code == 2
    assert said in " ".join(done.err.split())
    assert "fitting on" not in done.err


def test_an_impossible_number_of_demonstrations_is_6_before_anything_is_paid_for(run, examples) -> None:
    failed = run("fit", examples, "-o", "p.json", "--demos", 12, opener=refuse)
    assert failed.code == 6
    assert "12 demonstrations cannot be drawn from 12" in failed.err


@pytest.mark.parametrize(
    "problem",
    [
        errors.AuthenticationFailed("x: the endpoint does not accept the key"),
        errors.UnknownModel("x: the endpoint has no such model"),
        errors.EndpointDown("x: the endpoint does not answer"),
        errors.BillingStopped("x: the account cannot be billed"),
    ],
)
def test_a_model_that_cannot_be_used_is_4(run, examples, problem) -> None:
    def answer(turns):
        raise problem

    failed = run("fit", examples, "-o", "p.json", opener=lambda name, **_: scripted_lm(answer))
    assert failed.code == 4
    assert str(problem) in failed.err
    assert "Traceback" not in failed.err
    assert not Path("p.json").exists()


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written_is_told_before_anything_is_paid_for(run, examples, tmp_path) -> None:
    (tmp_path / "locked").mkdir(mode=0o555)
    failed = run("fit", examples, "-o", "locked/p.json", opener=refuse)
    assert failed.code == 5


def test_an_output_that_cannot_be_is_told_before_anything_is_paid_for(run, examples, tmp_path) -> None:
    (tmp_path / "folder").mkdir()
    assert run("fit", examples, "-o", "folder", opener=refuse).code == 5
    failed = run("fit", examples, "-o", examples / "p.json", opener=refuse)
    assert failed.code == 5
    assert "cannot be written there" in failed.err


def test_a_disk_that_fills_up_loses_nothing(run, examples, monkeypatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("active_critic.paths.os.fsync", full)
        failed = run("fit", examples, "-o", "p.json", *FIT)
    assert failed.code == 5
    assert "p.json: the program cannot be written (No space left on device)" in failed.err
    assert not Path("p.json").exists()
    again = run("fit", examples, "-o", "p.json", "--json", *FIT)
    assert again.code == 0
    assert again.document["usage"]["calls"] == 0


def test_an_interrupted_fit_goes_on_and_ends_with_the_same_program(run, examples, tmp_path) -> None:
    asked: list[str] = []

    def interrupted_after(calls: float):
        def rate(response, turns):
            if len(asked) >= calls:
                raise KeyboardInterrupt
            asked.append(json.dumps(turns))
            return 1 + min(4.0, len(response.split()) / 12)

        return opener(rate=rate)

    whole = run("fit", examples, "-o", "whole.json", *FIT, "--journal", tmp_path / "a", opener=interrupted_after(1e9))
    assert whole.code == 0
    paid = len(set(asked))
    asked.clear()
    command = ("fit", examples, "-o", "p.json", *FIT, "--journal", tmp_path / "b")
    stopped = run(*command, opener=interrupted_after(20))
    assert stopped.code == 130
    assert "everything paid for is in the journal (" in stopped.err
    assert " replies added in this run), run the same command again to go on" in stopped.err
    assert not Path("p.json").exists()
    done = run(*command, opener=interrupted_after(1e9))
    assert done.code == 0
    assert len(set(asked)) == paid
    program, other = (json.loads(Path(name).read_text()) for name in ("p.json", "whole.json"))
    cost, whole_cost = (document["provenance"]["report"]["usage"] for document in (program, other))
    assert 0 < cost["total"]["calls"] < whole_cost["total"]["calls"]  # of the last run alone
    for figure in ("calls", "prompt_tokens", "completion_tokens"):
        assert cost["now and before"][figure] == whole_cost["total"][figure]
    assert "now and before: all that this fit needs" in " ".join(done.out.split())
    assert "now and before" not in whole.out
    for document in (program, other):
        document["provenance"]["report"].pop("usage")
        for candidate in document["provenance"]["report"]["candidates"]:
            candidate.pop("usage")
    assert program == other


def test_a_fit_that_an_endpoint_ends_says_what_is_kept_and_goes_on(run, examples) -> None:
    asked: list[str] = []

    def failing_after(calls: float):
        def rate(response, turns):
            if len(asked) >= calls:
                raise errors.EndpointDown("openai/x: the endpoint does not answer (HTTP 503: overloaded)")
            asked.append(response)
            return 1 + min(4.0, len(response.split()) / 12)

        return opener(rate=rate)

    def kept() -> int:
        with closing(sqlite3.connect("j.sqlite")) as journal:
            return journal.execute("SELECT count(*) FROM replies").fetchone()[0]

    command = ("fit", examples, "-o", "p.json", *FIT, "--journal", "j.sqlite")
    first = run(*command, opener=failing_after(40))
    assert first.code == 4
    assert "HTTP 503: overloaded" in first.err
    before = kept()
    assert before > 5
    assert f"is in the journal ({before} replies added in this run); run the same command again" in first.err
    second = run(*command, opener=failing_after(80))
    said = f"({kept() - before} replies added in this run, {before} taken from it); run the same command again"
    assert (second.code, said in second.err) == (4, True), second.err
    assert run(*command, opener=failing_after(1e9)).code == 0


def test_what_the_score_is_read_from_and_the_order_are_options(run, examples) -> None:
    options = ("--scale", "1..5", "--order", "both", "--use-criteria", "never", "--use-approval", "never", *FIT)
    done = run("fit", examples, "-o", "p.json", *options)
    assert done.code == 0, done.err
    settings = json.loads(Path("p.json").read_text())["provenance"]["settings"]
    assert (settings["order"], settings["use_criteria"], settings["use_approval"]) == ("both", "never", "never")


def test_a_task_in_bytes_that_are_no_text_is_refused(run, examples) -> None:
    done = run("fit", examples, "--task", "half \udcff", "--out", "p.json", opener=refuse)
    assert done.code == 2
    assert "--task holds half a character" in done.err
    assert not Path("p.json").exists()
