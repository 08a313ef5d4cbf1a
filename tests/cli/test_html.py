"""``--html``: what is shown, as a page."""

from __future__ import annotations

import json
import os
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from conftest_cli import FIT, opener, refuse, rows, write

from active_critic.cli import score
from active_critic.errors import RequestRefused

HOSTILE = "<script>alert(1)</script> <img src=x onerror=alert(1)>"


class Read(HTMLParser):
    """The headings and tables of a page as text, and its elements."""

    def __init__(self, path: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.headings: list[str] = []
        self.tables: list[list[list[str]]] = []
        self.text = ""
        self._at: list[str] = []
        self.feed(Path(path).read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self._at.append(tag)
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in {"td", "th"}:
            self.tables[-1][-1].append("")
        elif tag in {"h1", "h2"}:
            self.headings.append("")

    def handle_endtag(self, tag: str) -> None:
        while self._at and self._at.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        self.text += data
        if {"td", "th"} & set(self._at):
            self.tables[-1][-1][-1] += data
        elif {"h1", "h2"} & set(self._at):
            self.headings[-1] += data

    def table(self, head: str) -> list[dict[str, str]]:
        """The rows of the first table that has this heading, by the names of the columns."""
        heads, *cells = next(table for table in self.tables if head in table[0])
        return [dict(zip(heads, row, strict=True)) for row in cells]


def test_a_page_of_verdicts_has_the_summary_and_every_text_whole(run, program, examples) -> None:
    done = run("score", program, examples, "-o", "s.jsonl", "--html", "s.html")
    assert done.code == 0, done.err
    said = Path("s.html").read_text(encoding="utf-8")
    assert "<h1>Verdicts on examples.jsonl</h1>" in said
    assert "12 of 12 items scored" in said
    for row in rows(12):
        assert row["response"].strip() in said
        assert row["source"] in said
    assert '>e4<span class="dim">\nrow 5</span>' in said  # reasons name the row where they occur first


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
        (("fit", "{examples}", "-o", "n.json", *FIT), "Fit on examples.jsonl", "Candidates of the search"),
        (("fit", "{examples}", "-o", "n.json", "--evaluator", "ice"), "Fit on examples.jsonl", "In-context examples"),
        (("probe", "{program}", "{examples}", "--families", "word-exchange"), "What p.json notices when", "↓"),
        (("probe", "{program}", "{examples}", "--attacks", "--families", "null"), "p.json under attack", "null-answer"),
        (
            ("agreement", "{scored}", "--human", "rating", "--predicted", "auto"),
            "Agreement in scored",
            "pairwise accuracy",
        ),
        (("means", "{scored}", "--human", "rating", "--predicted", "auto"), "Means in scored", "people alone"),
    ],
)
def test_what_is_shown_is_on_the_page(run, program, examples, command, title, words, tmp_path) -> None:
    scored = write(tmp_path / "scored.jsonl", [{**row, "auto": row["rating"] + i % 3} for i, row in enumerate(rows())])
    given = [str(part).format(program=program, examples=examples, scored=scored) for part in command]
    done = run(*given, "--html", "page.html")
    assert done.code == 0, done.err
    said = Path("page.html").read_text(encoding="utf-8")
    assert f"<h1>{title}" in said
    assert words in said
    assert not list(Path().glob("*.partial"))


def test_a_note_is_once_on_the_page_of_a_fit(run, examples) -> None:
    done = run("fit", examples, "-o", "n.json", "--evaluator", "surface", "--train", 0.5, "--html", "page.html")
    assert done.code == 0, done.err
    said = Read("page.html")
    assert said.text.count("--train 0.5, documents drawn with seed 0") == 1
    assert {"Notes", "Notes on the examples"} < set(said.headings)


def test_notes_on_the_texts_are_a_list_on_the_page_of_an_agreement(run, tmp_path) -> None:
    judged = write(tmp_path / "judged.jsonl", [{"rating": i % 4, "auto": i % 3} for i in range(12)] + [{"auto": 1}])
    done = run("agreement", judged, "--human", "rating", "--predicted", "auto", "--html", "page.html")
    assert done.code == 0, done.err
    said = Read("page.html")
    assert "Notes" in said.headings
    assert "no human score in row 13" in said.text.partition("Notes")[2]


def test_a_page_is_written_over_nothing_that_is_read_and_no_program(run, program, examples) -> None:
    before = program.read_bytes()
    Path("other.html").write_bytes(before)
    for arguments, why in (
        (("score", program, examples, "--html", "page.txt"), "FILE.html"),
        (("score", program, examples, "--html", "other.html"), "is a program"),
        (("show", program, "--html", "page.html", "--json"), "give one of"),
        (("fit", examples, "-o", "new.json", "--html", "other.html"), "is a program"),
        (("fit", examples, "-o", "new.html", "--html", "new.html"), "would be written over"),
        (("fit", examples, "-o", "new.json", "--task", "@t.html", "--html", "t.html"), "would be written over"),
        (("fit", examples, "-o", "new.json", "--criteria", "t.html", "--html", "t.html"), "would be written over"),
        (("probe", program, examples, "--html", "other.html"), "is a program"),
        (("agreement", examples, "--human", "rating", "--raters", "rating", "--html", "other.html"), "is a program"),
    ):
        done = run(*arguments, opener=refuse)
        assert done.code == (5 if why == "is a program" else 2)
        assert why in done.err
    assert program.read_bytes() == before == Path("other.html").read_bytes()


def test_a_page_that_cannot_be_written_is_found_before_anything_is_paid_for(run, program, tmp_path) -> None:
    items = write(tmp_path / "i.jsonl", rows(6))
    for command in (
        ("score", program, items, "-o", "s.jsonl"),
        ("probe", program, items),
        ("fit", items, "-o", "new.json"),
    ):
        done = run(*command, "--html", "i.jsonl/page.html", opener=refuse)
        assert done.code == 5, done.err
        assert "i.jsonl/page.html" in done.err


def test_the_page_of_a_fit_has_its_report_candidates_parts_and_costs(run, tmp_path) -> None:
    examples = write(tmp_path / "examples.jsonl", rows(30))
    done = run("fit", examples, "-o", "n.json", *FIT, "--html", "fit.html", "--json")
    assert done.code == 0, done.err
    fitted = json.loads(Path("n.json").read_text())
    report, found = done.document["report"], Read("fit.html")
    assert found.headings[1] == "Report of the fit"  # first, whatever it says
    figures = {row[""]: row for row in found.table("this critic")}
    for column, name in (("this critic", "critic"), ("zero-shot", "zero_shot"), ("surface floor", "surface")):
        low, high = report[name]["mean_interval"]
        assert figures["mean of 3"][column] == f"{report[name]['mean']:.2f} [{low:.2f}, {high:.2f}]"
    assert all(sentence in found.text for sentence in report["words"])
    tried = found.table("candidate")
    assert [row["Q"] for row in tried] == [f"{one['q']:.2f}" for one in report["candidates"]]
    assert [row["calls"] for row in tried] == [f"{one['usage']['calls']}" for one in report["candidates"]]
    assert [row["candidate"] for row in tried if "chosen" in row["candidate"]] == [
        f"{one['index']}, chosen" for one in report["candidates"] if one["wins"]
    ]
    assert {row["criterion"] for row in found.table("criterion")} == {one["name"] for one in fitted["criteria"]}
    parts = {row["part"]: row["points for one standard deviation"] for row in found.table("part")}
    assert parts == {one["name"]: f"{one['weight']:.2f}" for one in fitted["calibration"]["parts"]}
    assert found.table("what it cost")[-1]["calls"] == f"{report['usage']['total']['calls']}"
    assert all(note in found.text for note in done.document["notes"])
    assert "score with: active-critic score n.json ITEMS" in found.text


def test_a_fit_that_ends_without_a_program_leaves_no_page(run, examples) -> None:
    done = run("fit", examples, "-o", "n.json", "--html", "fit.html", *FIT, "--budget", "1 call")
    assert done.code == 4
    assert not {path.name for path in Path().iterdir()} & {"n.json", "fit.html", "fit.html.partial"}
    done = run("fit", examples, "-o", "n.json", "--html", "fit.html", *FIT, "--estimate")
    assert "note: --html: an estimate writes no file" in done.err
    assert not Path("fit.html").exists()


GOOD = "He thinks that the {} is closed on Monday. It will open after dinner."
PLACES = ("beach", "pub", "bar", "shop", "museum", "library")


@pytest.fixture
def good(tmp_path: Path) -> Path:
    made = [{"source": "The town.", "response": GOOD.format(place), "doc_id": place} for place in PLACES]
    return write(tmp_path / "good.jsonl", made)


def test_the_page_of_attacks_has_what_each_gains_and_where_the_grader_failed(run, examples, good) -> None:
    assert run("fit", examples, "--evaluator", "zero-shot", "--scale", "1..5", "-o", "z.json").code == 0

    def rate(response: str, turns: list[Any]) -> float:
        return 4.5 if "discernment" in response else 2.0

    command = ("probe", "z.json", good, "--attacks", "--families", "flattery,plea")
    done = run(*command, "--html", "a.html", "--csv", "a.csv", "--json", opener=opener(rate=rate))
    assert done.code == 0, done.err
    found = Read("a.html")
    counts = {"scored", "failed", "skipped", "not_asked"}  # called the same everywhere
    assert {name.replace("_", " ") for name in counts} <= {*found.table("lift")[0]}
    assert counts <= {*Path("a.csv").read_text().splitlines()[0].split(",")}
    assert counts <= {*done.document["result"]["overall"]}
    gained = {row[""].partition("\n")[0]: row for row in found.table("lift")}
    assert list(gained) == ["PERSUASION", "flattery", "plea", "ALL"]
    assert gained["flattery"]["lift"] == "↑ +2.50\n[+1.35 +2.73]"
    assert not gained["plea"]["lift"].startswith("↑")
    assert gained["flattery"]["success"] == "100%\n[54% 100%]"  # of six documents
    assert (gained["flattery"]["before"], gained["flattery"]["after"]) == ("2.00", "4.50")
    assert gained["plea"]["success"] == "0%\n[0% 46%]"
    assert "Families that lift the score, their interval above 0: flattery (+2.50)." in found.text
    assert '<span class="red">↑ +2.50' in Path("a.html").read_text(encoding="utf-8")

    def refusing(response: str, turns: list[Any]) -> float:
        if "discernment" in response:
            raise RequestRefused(f"no {HOSTILE}")
        return 2.0

    done = run(*command, "--html", "b.html", "--json", "--journal", "none", opener=opener(rate=refusing))
    assert done.code == 7
    assert [one["lift"]["failed"] for one in done.document["result"]["families"]] == [6, 0]
    found = Read("b.html")
    failed = {row[""].partition("\n")[0]: row["failed"] for row in found.table("lift")}
    assert failed == {"PERSUASION": "6", "flattery": "6", "plea": "0", "ALL": "6"}
    assert "Why attacked texts were left unscored" in found.headings
    assert f"flattery: no {HOSTILE} (6)" in " ".join(found.text.split())
    assert not found.tags & {"script", "img"}


def test_the_page_of_worse_texts_has_what_criteria_see_and_confuse(run, program, good) -> None:
    as_they_were = {GOOD.format(place) for place in PLACES}

    def rate(response: str, turns: list[Any]) -> float:
        return 4.0 if response in as_they_were else 2.0

    command = ("probe", program, good, "--families", "negation,word-exchange", "--html", "w.html", "--json")
    done = run(*command, opener=opener(rate=rate))
    assert done.code == 0, done.err
    found = Read("w.html")
    seen = {row[""]: row for row in found.table("sees")}
    assert seen["Accuracy (faithfulness)"]["sees"] == "negation"
    assert seen["Accuracy (faithfulness)"]["confuses with its own"] == "word-exchange"
    assert seen["Clarity (readability)"]["sees"] == "word-exchange"
    assert seen["Clarity (readability)"]["confuses with its own"] == "negation"
    assert "Tone (no aspect)" not in seen
    changes = {row[""].partition("\n")[0]: row for row in found.table("Accuracy (faithfulness)")}
    assert changes["negation"]["Accuracy (faithfulness)"] == "↓ -2.00 sees\n[-2.46 -1.08]"
    assert changes["word-exchange"]["Accuracy (faithfulness)"] == "= -2.00 confuses\n[-2.46 -1.08]"
    assert changes["negation"]["Tone (no aspect)"].startswith("· -2.00")
    made = {row["perturbation"]: row for row in found.table("perturbation")}
    assert "skipped" in next(iter(made.values()))
    assert [row["made worse"] for row in made.values()] == [
        f"{one['applied']}" for one in done.document["result"]["treated"]
    ]
    alike = ("--families", "negation", "--html", "w.html", "--journal", "none")
    unsure = run("probe", program, good, *alike, opener=opener(rate=lambda response, turns: 3.0))
    assert unsure.code == 0, unsure.err
    left = {row[""]: row for row in Read("w.html").table("not decided")}  # six documents are too few to call it blind
    assert left["Accuracy (faithfulness)"]["not decided"] == "negation"
    houses = [{"source": "Town.", "response": GOOD.format(f"pub {i}"), "doc_id": f"d{i}"} for i in range(40)]
    many = write(Path("many.jsonl"), houses)
    blind = run("probe", program, many, *alike, opener=opener(rate=lambda response, turns: 3.0))
    assert blind.code == 0, blind.err
    missed = {row[""]: row for row in Read("w.html").table("is blind to")}
    assert missed["Accuracy (faithfulness)"]["is blind to"] == "negation"


def test_the_page_of_agreement_has_intervals_coverage_and_differences(run, tmp_path) -> None:
    made = [{**row, "auto": row["rating"] + i % 3, HOSTILE: i % 4 or None} for i, row in enumerate(rows(18))]
    command = ("agreement", write(tmp_path / "s.jsonl", made), "--human", "rating", "--predicted", "auto")
    done = run(*command, "--other", HOSTILE, "--html", "a.html", "--json")
    assert done.code == 0, done.err
    found, columns = Read("a.html"), done.document["results"][0]["columns"]
    rows_of = {row[""]: row for row in found.table("auto")}
    for one in columns:
        figures = one["figures"]
        low, high = figures["mean_interval"]
        assert rows_of["mean of 3"][one["column"]] == f"{figures['mean']:.2f} [{low:.2f}, {high:.2f}]"
        assert rows_of["scored"][one["column"]] == f"{figures['n']} of 18"
    [difference] = found.table("compared with auto")
    assert difference["difference of the mean of 3"].startswith(f"{columns[1]['difference']['delta']:+.3f} [")
    assert all(note in found.text for note in done.document["notes"])
    assert not found.tags & {"script", "img"}


def test_names_that_are_markup_become_none_on_the_pages_of_fits_and_probes(run, examples, good) -> None:
    name = "Accuracy <script>alert(1)</script><img src=x>"
    criteria = {name: HOSTILE, "Clarity": "It is clear."}
    Path("criteria.json").write_text(json.dumps(criteria))
    hostile = Path("<b>x.json")
    fitted = run(
        "fit", examples, "-o", hostile, "--criteria", "criteria.json", "--task", HOSTILE, *FIT, "--html", "f.html"
    )
    assert fitted.code == 0, fitted.err
    probed = run("probe", hostile, good, "--families", "negation", "--html", "p.html")
    assert probed.code == 0, probed.err
    for path in ("f.html", "p.html"):
        found = Read(path)
        assert name in found.text
        assert not found.tags & {"script", "img", "b"}
        said = Path(path).read_text(encoding="utf-8")
        assert "default-src 'none'" in said
        assert "http" not in said.replace("http-equiv", "")


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such modes")
def test_a_page_takes_nothing_else_with_it(run, program, tmp_path) -> None:
    own, there, link = tmp_path / "page.html.partial", tmp_path / "there.html", tmp_path / "page.html"
    own.write_text("the user's own")
    there.write_text("an earlier page")
    there.chmod(0o600)
    link.symlink_to(there)
    assert run("show", program, "--html", "page.html").code == 0
    assert own.read_text() == "the user's own"
    assert link.is_symlink()
    assert there.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert there.stat().st_mode & 0o777 == 0o600


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes")
def test_no_device_or_pipe_is_replaced_by_an_output(run, examples, program, tmp_path) -> None:
    os.mkfifo(tmp_path / "pipe.html")
    (tmp_path / "null.json").symlink_to(os.devnull)
    for command in (("fit", examples, "--out", "null.json"), ("show", program, "--html", "pipe.html")):
        done = run(*command, opener=refuse)
        assert done.code == 5
        assert "it is a device, a pipe or the like; name a file" in done.err
    assert (tmp_path / "pipe.html").is_fifo()
    assert Path(os.devnull).is_char_device()
