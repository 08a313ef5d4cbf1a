from __future__ import annotations

import csv
import gzip
import json
from pathlib import Path

import pytest
from conftest_cli import opener, refuse, rows, write

from active_critic import errors
from active_critic.evaluators import load

VERDICT = ["score", "unscored", "explanation", "advice", "criteria", "read_from", "interval", "parts", "notes"]


def lines(path: str) -> list[dict]:
    return [json.loads(line) for line in Path(path).read_text(encoding="utf-8").splitlines()]


def test_one_record_an_item_in_order_with_the_items_own_columns(run, program, examples) -> None:
    done = run("score", program, examples, "-o", "s.jsonl")
    assert done.code == 0, done.err
    records = lines("s.jsonl")
    given = lines(str(examples))
    assert [record["id"] for record in records] == [row["id"] for row in given]
    for record, row in zip(records, given, strict=True):
        assert list(record) == [*row, *VERDICT]
        assert {name: record[name] for name in row} == row
        assert 1 <= record["score"] <= 5
        assert record["unscored"] is None
        assert record["read_from"] == ("combination" if len(record["parts"]) > 1 else "probabilities")
        assert record["interval"] is None  # the program was fitted on four documents
        assert next(iter(record["parts"])) == "rating"
        assert [set(criterion) for criterion in record["criteria"]] == [{"name", "score", "explanation"}] * 4
    assert "12 of 12 items scored, mean score" in done.err
    assert "written to s.jsonl" in done.err
    assert done.out == ""


@pytest.mark.parametrize("name", ["s.csv", "s.tsv.gz", "s.json", "s.jsonl.gz"])
def test_every_format(run, program, examples, name) -> None:
    assert run("score", program, examples, "-o", name, "--quiet").code == 0
    data = Path(name).read_bytes()
    text = (gzip.decompress(data) if name.endswith(".gz") else data).decode()
    if "json" in name:
        records = json.loads(text) if ".jsonl" not in name else [json.loads(line) for line in text.splitlines()]
    else:
        records = list(csv.DictReader(text.splitlines(), delimiter="\t" if "tsv" in name else ","))
    assert [record["id"] for record in records] == [f"e{i}" for i in range(12)]
    assert all(float(record["score"]) >= 1 for record in records)


CRITERIA = ("Accuracy", "Helpfulness", "Tone", "Clarity")


@pytest.mark.parametrize("name", ["s.csv", "s.tsv"])
def test_in_a_sheet_every_criterion_has_columns_of_its_own(run, program, tmp_path, name) -> None:
    items = write(tmp_path / "items.jsonl", [{"response": " "}, *rows(3, **{"criterion Tone": "mine"})])
    assert run("score", program, items, "-o", name, "--quiet").code == 7

    def read() -> list[dict[str, str]]:
        return list(csv.DictReader(Path(name).read_text().splitlines(), delimiter="\t" if "tsv" in name else ","))

    unscored, *scored = read()
    own = [column for one in CRITERIA for column in (f"criterion {one}", f"explanation {one}")]
    assert list(unscored)[-len(own) :] == own
    assert not any(unscored[column] for column in own)
    for record in scored:
        assert record["input_criterion Tone"] == "mine"
        for one in json.loads(record["criteria"]):
            assert float(record[f"criterion {one['name']}"]) == one["score"]
            assert record[f"explanation {one['name']}"] == one["explanation"]
    assert run("score", program, items, "-o", name, "--quiet", "--no-explain").code == 7
    assert [column for column in read()[0] if column.startswith("explanation")] == ["explanation"]
    assert run("score", program, items, "-o", "s.jsonl", "--quiet").code == 7
    assert not any(
        column.startswith(("criterion A", "explanation A")) for record in lines("s.jsonl") for column in record
    )


def test_bad_rows_keep_their_place_and_say_why(run, program, tmp_path) -> None:
    path = tmp_path / "items.jsonl"
    good = rows(3)
    good[1]["response"] = ""
    texts = [*map(json.dumps, good), '{"broken": ', "[1]"]
    path.write_text("\n".join(texts))
    done = run("score", program, path, "-o", "s.jsonl", "--json")
    assert done.code == 7
    records = lines("s.jsonl")
    assert [record["score"] is None for record in records] == [False, True, False, True, True]
    assert "the text to be judged is empty" in records[1]["unscored"]
    assert records[1]["colour"] == "blue"
    assert "line 4 is broken JSON" in records[3]["unscored"]
    assert done.document["unscored"] == 3
    assert sum(reason["count"] for reason in done.document["reasons"]) == 3
    shown = run("score", program, path, "-o", "s.csv")
    assert shown.code == 7
    assert "2 of 5 items scored" in shown.err
    assert "1 × line 4 is broken JSON" in shown.err
    with Path("s.csv").open(newline="") as file:
        assert len(list(csv.DictReader(file))) == 5


def test_a_table_starts_with_all_columns_of_ragged_rows(run, program, tmp_path) -> None:
    path = write(tmp_path / "items.jsonl", [[], {"response": "a b"}, {"response": "c", "late": 1}])
    assert run("score", program, path, "-o", "s.csv", "--json").code == 7
    with Path("s.csv").open(newline="") as file:
        records = list(csv.DictReader(file))
    assert list(records[0])[: 2 + len(VERDICT)] == ["response", "late", *VERDICT]
    assert [record["late"] for record in records] == ["", "", "1"]


def test_broken_line_7312_is_one_unscored_row(run, program, tmp_path) -> None:
    path = tmp_path / "long.jsonl"
    blank, good = json.dumps({"response": " "}), json.dumps({"response": "a text to judge"})
    path.write_text("\n".join([good] + [blank] * 7310 + ['{"broken'] + [good] * 3))
    done = run("score", program, path, "-o", "s.jsonl", "--json")
    assert done.code == 7
    assert (done.document["items"], done.document["scored"]) == (7315, 4)
    assert [(reason["row"], reason["count"]) for reason in done.document["reasons"]] == [(2, 7310), (7312, 1)]
    assert lines("s.jsonl")[7311]["unscored"].startswith("line 7312 is broken JSON")


def test_a_source_that_does_not_fit_is_said_and_the_others_are_scored(run, program, tmp_path) -> None:
    def rate(response, turns):
        if sum(len(text) for _, text in turns) > 100_000:
            raise errors.ContextOverflow("x: the prompt does not fit the model's context window")
        return 3

    items = rows(4)
    items[2]["source"] = "x" * 200_000
    done = run("score", program, write(tmp_path / "i.jsonl", items), "-o", "s.jsonl", opener=opener(rate=rate))
    assert done.code == 7
    records = lines("s.jsonl")
    assert [record["score"] is None for record in records] == [False, False, True, False]
    assert "200,0" in records[2]["unscored"]
    assert "do not fit" in records[2]["unscored"]
    assert records[2]["source"] == "x" * 200_000
    assert "1 × source and response" in done.err


def test_no_explain_gives_the_same_scores(run, program, examples) -> None:
    run("score", program, examples, "-o", "a.jsonl")
    run("score", program, examples, "-o", "b.jsonl", "--no-explain")
    assert [r["score"] for r in lines("a.jsonl")] == [r["score"] for r in lines("b.jsonl")]


def test_where_reasons_come_first_no_explain_says_that_it_saves_nothing(run, program, examples) -> None:
    document = json.loads(Path(program).read_text())
    document["reading"] = {"low": 0, "high": 100, "source": "text", "order": "reason_first"}
    Path("reasons.json").write_text(json.dumps(document))
    said = "--no-explain saves nothing here"
    assert said in run("score", "reasons.json", examples, "-o", "a.jsonl", "--no-explain").err
    assert said not in run("score", program, examples, "-o", "b.jsonl", "--no-explain").err


def test_records_are_the_same_whether_anybody_watches(run, program, tmp_path, monkeypatch) -> None:
    items = rows(2)
    items[1]["extra"] = "x"
    path = write(tmp_path / "i.jsonl", items)
    run("score", program, path, "-o", "a.jsonl")
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    run("score", program, path, "-o", "b.jsonl")
    assert Path("a.jsonl").read_bytes() == Path("b.jsonl").read_bytes()
    assert "extra" not in lines("a.jsonl")[0]


def test_without_a_file_records_go_to_standard_output(run, program, examples) -> None:
    done = run("score", program, examples, "--limit", 2)
    assert done.code == 0
    records = [json.loads(line) for line in done.out.splitlines()]
    assert [record["id"] for record in records] == ["e0", "e1"]
    assert "2 of 2 items scored" in done.err
    assert run("score", program, examples, "--limit", 2, "--quiet").err == ""
    assert run("score", program, examples, "--json", opener=refuse).code == 2


def test_on_a_terminal_verdicts_are_a_table(run, program, tmp_path, monkeypatch) -> None:
    items = rows(3)
    items[0]["response"] = "evil \x1b[2J\x1b]0;owned\x07 text [bold]not markup[/bold]"
    path = write(tmp_path / "i.jsonl", [*items, {"id": "empty", "response": ""}])
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    done = run("score", program, path)
    assert done.code == 7
    assert "people" in done.out
    assert r"evil \x1b[2J" in done.out
    assert "\x1b[2J" not in done.out
    assert "\x07" not in done.out
    assert "[bold]not" in done.out
    assert "unscored: the text to be judged is empty" in done.out


def test_agreement_is_shown_where_there_are_human_scores(run, program, tmp_path) -> None:
    items = [{**row, "id": f"n{row['id']}", "response": row["response"] + "!"} for row in rows(12)]
    items = [{**row, "doc_id": f"g{i // 2}"} for i, row in enumerate(items)]
    items[5]["rating"] = None
    done = run("score", program, write(tmp_path / "i.jsonl", items), "-o", "s.jsonl", "--json")
    found = done.document["agreement"]
    assert found["column"] == "rating"
    assert found["figures"]["total"] == 11
    assert found["figures"]["groups"] == 6
    assert found["figures"]["mean_interval"] is not None
    assert 0 <= found["mean_absolute_error"] <= 4
    shown = run("score", program, tmp_path / "i.jsonl", "-o", "s.jsonl")
    assert "Kendall" in shown.err
    assert "taken from the column 'rating' (11 of 12 items)" in shown.err


def test_demonstrations_do_not_count_and_the_training_set_is_recognised(run, examples, program) -> None:
    shown = len(load(program).fitted.demos)
    found = run("score", program, examples, "-o", "s.jsonl", "--json").document["agreement"]
    assert found["demonstrations_left_out"] == shown
    assert found["figures"]["total"] == 12 - shown
    assert any("examples that the program was fitted on, so this flatters it" in said for said in found["words"])


def test_items_that_the_program_was_fitted_on_do_not_count_beside_others(run, examples, program, tmp_path) -> None:
    known = [json.loads(line) for line in examples.read_text().splitlines()]
    new = [{"response": f"another text {i} " + "word " * i, "rating": 1 + i % 5} for i in range(12)]
    respaced = [{**row, "response": f"{row['response']}\r\n"} for row in known[1:]]
    items = write(tmp_path / "i.jsonl", [*respaced, *new])
    found = run("score", program, items, "-o", "s.jsonl", "--json").document["agreement"]
    assert found["figures"]["total"] == 12
    assert found["fitted_on_left_out"] + found["demonstrations_left_out"] == len(known) - 1
    assert any("Left out: " in said and "that the program was fitted on." in said for said in found["words"])
    document = json.loads(program.read_text())
    document["provenance"]["fitted_on"] = []
    (tmp_path / "older.json").write_text(json.dumps(document))
    older = run("score", tmp_path / "older.json", items, "-o", "s.jsonl", "--json").document["agreement"]
    assert any("This older program does not tell" in said for said in older["words"])


def test_human_scores_on_another_scale_are_told(run, program, tmp_path) -> None:
    items = [{"response": f"text {i} " + "word " * i, "score": 10.0 * i} for i in range(12)]
    found = run("score", program, write(tmp_path / "i.jsonl", items), "-o", "s.jsonl", "--json").document["agreement"]
    assert found["figures"]["pearson"] > 0.5
    assert found["mean_absolute_error"] is None
    assert any("outside the program's scale 1..5" in sentence for sentence in found["words"])


def test_another_model_than_the_fitted_one_is_told(run, program, examples) -> None:
    asked = []

    def opening(name, **options):
        asked.append(name)
        return opener()(name)

    assert "fitted with" not in run("score", program, examples, "-o", "s.jsonl", opener=opening).err
    told = run("score", program, examples, "-o", "s.jsonl", "--lm", "other/model", opener=opening)
    assert asked == ["local", "other/model"]
    assert "the program was fitted with local, and other/model scores now" in told.err


def test_a_fitted_model_that_is_not_found_leads_to_its_address(run, program, examples) -> None:
    def opening(name, **_):
        raise errors.UnknownModel(f"no embedded model is called {name!r}")

    failed = run("score", program, examples, "-o", "s.jsonl", opener=opening)
    assert failed.code == 4
    assert "--api-base" in failed.err
    assert "--api-base" not in run("score", program, examples, "-o", "s.jsonl", "--lm", "x", opener=opening).err
    assert not Path("s.jsonl.partial").exists()


@pytest.mark.parametrize(
    "problem",
    [
        errors.AuthenticationFailed("x: the endpoint does not accept the key"),
        errors.UnknownModel("x: the endpoint has no such model"),
        errors.EndpointDown("x: the endpoint does not answer"),
    ],
)
def test_a_model_that_cannot_be_used_is_4_and_what_was_scored_is_kept(run, program, tmp_path, problem) -> None:
    scored = 0

    def rate(response, turns):
        nonlocal scored
        scored += 1
        if response == "stop":
            raise problem
        return 3

    many = [{"response": f"text {i}"} for i in range(256)] + [{"response": "stop"}] * 9
    path = write(tmp_path / "i.jsonl", many)
    failed = run("score", program, path, "-o", "s.jsonl", "--no-explain", opener=opener(rate=rate))
    assert failed.code == 4
    assert str(problem) in failed.err
    assert "s.jsonl.partial (256 records)" in failed.err
    assert len(lines("s.jsonl.partial")) == 256
    assert not Path("s.jsonl").exists()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_is_5_and_nothing_is_paid_twice(run, program, examples) -> None:
    Path("s.jsonl.partial").symlink_to("/dev/full")
    failed = run("score", program, examples, "-o", "s.jsonl")
    assert failed.code == 5
    assert "cannot write s.jsonl: No space left on device" in failed.err
    Path("s.jsonl.partial").unlink(missing_ok=True)
    again = run("score", program, examples, "-o", "s.jsonl", "--json")
    assert again.code == 0
    assert again.document["usage"]["calls"] == 0


def test_interrupted_and_run_again_nothing_is_repeated(run, program, examples) -> None:
    asked: list[str] = []

    def interrupted_after(calls: float):
        def rate(response, turns):
            if len(asked) >= calls:
                raise KeyboardInterrupt
            asked.append(response)
            return 1 + len(response.split()) % 5

        return opener(rate=rate)

    other = Path("other.sqlite")
    whole = run("score", program, examples, "-o", "w.jsonl", "--journal", other, opener=interrupted_after(1e9))
    assert whole.code == 0
    calls = json.loads(run("score", program, examples, "-o", "w2.jsonl", "--journal", other, "--json").out)["usage"]
    assert calls["calls"] == 0
    asked.clear()
    stopped = run("score", program, examples, "-o", "s.jsonl", opener=interrupted_after(20))
    assert stopped.code == 130
    assert "run the same command again to go on" in stopped.err
    assert not Path("s.jsonl").exists()
    done = run("score", program, examples, "-o", "s.jsonl", opener=interrupted_after(1e9))
    assert done.code == 0
    assert lines("s.jsonl") == lines("w.jsonl")


def test_what_cannot_be_is_told_before_anything_is_paid_for(run, program, examples) -> None:
    assert run("score", program, examples, "-o", examples, opener=refuse).code == 2
    assert run("score", program, "nope.csv", "-o", "s.csv", opener=refuse).code == 3
    assert run("score", program, examples, "-o", "s.csv", "--fields", "source=nope", opener=refuse).code == 3
    assert run("score", "nope.json", examples, "-o", "s.csv", opener=refuse).code == 5
    assert run("score", examples, examples, "-o", "s.csv", opener=refuse).code == 5
    assert run("score", program, examples, "-o", "s.xlsx", opener=refuse).code == 2
    assert run("score", program, examples, "-o", examples / "in/it/s.csv", opener=refuse).code == 5
    Path("j").write_text("this is no journal, but long enough to be taken for something else " * 20)
    assert run("score", program, examples, "-o", "s.csv", "--journal", "j", opener=refuse).code == 5
    assert not Path("s.csv").exists()


@pytest.mark.parametrize(("bound", "code"), [(1, 0), (5, 8)])
def test_a_mean_below_what_is_asked_for_has_an_exit_code_of_its_own(run, program, examples, bound, code) -> None:
    done = run("score", program, examples, "-o", "s.jsonl", "--fail-under", bound)
    assert done.code == code
    assert ("and --fail-under asks for 5" in done.err) == (code == 8)
    assert len(lines("s.jsonl")) == 12


def test_a_bound_that_other_documents_might_fall_on_either_side_of_is_said(run, program, tmp_path) -> None:
    items = [{"response": f"text {i} " + "word " * i, "source": f"question {i // 2}"} for i in range(16)]
    path = write(tmp_path / "i.jsonl", items)
    summary = run("score", program, path, "-o", "s.jsonl", "--json").document
    low, high = summary["mean_interval"]
    assert 1 <= low < summary["mean_score"] < high <= 5
    for bound, within, code in ((low - 0.01, False, 0), (low + 0.01, True, 0), (high - 0.01, True, 8)):
        done = run("score", program, path, "-o", "s.jsonl", "--fail-under", bound)
        assert done.code == code
        assert ("lies within the interval of the mean" in done.err) == within, bound


def test_a_bound_and_a_mean_of_few_documents_may_meet_by_chance(run, program, tmp_path) -> None:
    few = [{"response": f"text {i} " + "word " * i, "source": f"question {i}"} for i in range(4)]
    alike = [{"response": f"text {'abcdef'[i]}", "source": f"question {i}"} for i in range(6)]
    for items, why in (
        (few, "the texts are of 4 documents, fewer than 5"),
        (alike, "all documents have the same mean"),
    ):
        path = write(tmp_path / "i.jsonl", items)
        done = run("score", program, path, "-o", "s.jsonl", "--fail-under", 1, "--json")
        said = f"--fail-under 1: the mean has no interval ({why}), so chance cannot be told apart"
        assert done.document["mean_interval"] is None
        assert done.err.count(f"note: {said}") == 1
        assert said in done.document["notes"]
        assert "chance" not in run("score", program, path, "-o", "s.jsonl").err


def test_the_gate_is_in_the_summary_and_on_the_page(run, program, tmp_path, examples) -> None:
    asked = ("score", program, examples, "-o", "s.jsonl", "--json", "--html", "s.html")
    for bound, passed, said in ((1, True, "Passed: the mean is"), (5, False, "Not passed: the mean is")):
        found = run(*asked, "--fail-under", bound).document
        assert found["gate"] == {"threshold": bound, "mean": found["mean_score"], "passed": passed}
        shown = (tmp_path / "s.html").read_text()
        assert 0 < shown.find(said) < shown.find("12 of 12 items scored")
    assert run(*asked).document["gate"] is None
    assert "assed: the mean is" not in (tmp_path / "s.html").read_text()


def test_unscored_items_are_said_before_a_low_mean(run, program, tmp_path) -> None:
    items = write(tmp_path / "i.jsonl", [*rows(3), {"response": ""}])
    for bound in (1, 5):
        done = run("score", program, items, "-o", "s.jsonl", "--fail-under", bound, "--json")
        assert (done.code, done.document["gate"]["passed"]) == (7, False)


def test_a_bound_off_the_scale_is_refused(run, program, examples) -> None:
    done = run("score", program, examples, "--fail-under", 80, opener=refuse)
    assert done.code == 2
    assert "--fail-under 80 is not on the program's scale 1..5" in done.err


def test_what_a_program_was_fitted_on_is_marked_and_agreement_says_so(run, examples, program, tmp_path) -> None:
    known = [json.loads(line) for line in examples.read_text().splitlines()]
    new = [{"response": f"another text {i} " + "word " * i, "rating": 1 + i % 5, "doc_id": f"n{i}"} for i in range(12)]
    for out in ("judged.jsonl", "judged.csv"):
        assert run("score", program, write(tmp_path / "i.jsonl", [*known, *new]), "-o", out).code == 0
        told = run("agreement", out, "--human", "rating", "--predicted", "score")
        assert f"note: of {len(known) + 12} rows, {len(known)} hold texts that a program was fitted on" in told.err
    notes = [json.loads(line)["notes"] for line in (tmp_path / "judged.jsonl").read_text().splitlines()]
    marked = [
        "program was fitted on this" in str(note) or "demonstration of the program" in str(note) for note in notes
    ]
    assert marked == [True] * len(known) + [False] * len(new)
    assert run("score", program, write(tmp_path / "i.jsonl", new), "-o", "new.jsonl").code == 0
    told = run("agreement", "new.jsonl", "--human", "rating", "--predicted", "score")
    assert told.code == 0
    assert "fitted on" not in told.err
