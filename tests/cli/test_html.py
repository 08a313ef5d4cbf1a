"""``--html``: what is shown, as a page."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from conftest_cli import FIT, refuse, rows, write

from active_critic.cli import score


def test_a_page_of_verdicts_has_the_summary_and_every_text_whole(run, program, examples) -> None:
    done = run("score", program, examples, "-o", "s.jsonl", "--html", "s.html")
    assert done.code == 0, done.err
    said = Path("s.html").read_text(encoding="utf-8")
    assert "<h1>Verdicts on examples.jsonl</h1>" in said
    assert "12 of 12 items scored" in said
    for row in rows(12):
        assert row["response"].strip() in said
        assert row["source"] in said


def test_a_page_holds_the_first_verdicts_and_counts_the_rest(run, program, examples, monkeypatch) -> None:
    monkeypatch.setattr(score, "PAGE_ROWS", 5)
    run("score", program, examples, "-o", "s.jsonl", "--html", "s.html")
    said = Path("s.html").read_text(encoding="utf-8")
    assert "These are the first 5; 7 more are in the file of --out." in said
    assert ">e4<" in said
    assert ">e5<" not in said


@pytest.mark.parametrize(
    ("command", "title", "words"),
    [
        (("show", "{program}"), "The program p.json", "Where it came from"),
        (("compare", "{examples}", "--evaluators", "surface,zero-shot"), "Evaluators compared on", "zero-shot"),
        (("curve", "{examples}", "--evaluator", "surface", "--sizes", "5"), "Learning curve of", "<svg"),
        (("fit", "{examples}", "-o", "new.json", *FIT), "The program new.json", "Report of the fit"),
        (
            ("probe", "{program}", "{examples}", "--attacks", "--families", "flattery"),
            "p.json under attack",
            ">flattery<",
        ),
        (("probe", "{program}", "{examples}", "--families", "spelling-mistake"), "p.json under perturbation", "should"),
        (
            ("agreement", "{examples}", "--human", "rating", "--predicted", "rating2"),
            "Agreement with people in",
            "Pearson",
        ),
    ],
)
def test_what_is_shown_is_on_the_page(run, program, examples, command, title, words) -> None:
    write(examples, [{**row, "rating2": row["rating"]} for row in rows(12)])
    given = [part.format(program=program, examples=examples) if isinstance(part, str) else part for part in command]
    done = run(*given, "--html", "page.html")
    assert done.code == 0, done.err
    said = Path("page.html").read_text(encoding="utf-8")
    assert f"<h1>{title}" in said
    assert words in said
    assert not list(Path().glob("*.partial"))


def test_a_page_is_written_over_nothing_that_is_read_and_no_program(run, program, examples) -> None:
    before = program.read_bytes()
    Path("other.html").write_bytes(before)
    for arguments, why in (
        (("score", program, examples, "--html", "page.txt"), "FILE.html"),
        (("score", program, examples, "--html", "other.html"), "is a program"),
        (("score", program, examples, "-o", "s.html", "--html", "s.html"), "would be written over"),
        (("show", program, "--html", "page.html", "--json"), "give one of"),
    ):
        done = run(*arguments, opener=refuse)
        assert done.code == 2
        assert why in done.err
    assert program.read_bytes() == before == Path("other.html").read_bytes()


def test_a_page_that_cannot_be_written_is_found_before_anything_is_paid_for(run, program, tmp_path) -> None:
    items = write(tmp_path / "i.jsonl", rows(8))
    for command in (
        ("score", program, items, "-o", "s.jsonl"),
        ("fit", items, "-o", "new.json"),
        ("probe", program, items, "--attacks"),
    ):
        done = run(*command, "--html", "missing/page.html", opener=refuse)
        assert done.code == 5
        assert "missing/page.html" in done.err


def test_a_page_of_a_probe_shows_hostile_names_as_text_and_what_is_certain(run, program, examples) -> None:
    hostile = json.loads(program.read_text())
    hostile["criteria"][0]["name"] = "<script>alert(1)</script>"
    Path("h.json").write_text(json.dumps(hostile))
    done = run("probe", "h.json", examples, "--families", "spelling-mistake", "--html", "page.html")
    assert done.code == 0, done.err
    said = Path("page.html").read_text(encoding="utf-8")
    assert "<script" not in said
    assert "&lt;script&gt;" in said


def test_an_estimate_writes_no_page_and_says_so(run, program, examples) -> None:
    for command in (("fit", examples, "-o", "new.json", *FIT), ("probe", program, examples, "--attacks")):
        done = run(*command, "--estimate", "--html", "page.html")
        assert done.code == 0, done.err
        assert "--html: an estimate writes no file" in done.err
        assert not Path("page.html").exists()
