"""What is written and shown: no formula of ours runs in a spreadsheet, and nothing drives the terminal."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from simulated import simulated_lm

from active_critic import errors, store
from active_critic.cli import main
from active_critic.data import iter_examples, read_examples
from active_critic.data.files import iter_records
from active_critic.data.rows import BadRow
from active_critic.data.writing import RecordWriter
from active_critic.lm import scripted_lm
from active_critic.protocols import CriticProtocol, Provenance, Reading
from active_critic.records import Example, Scale

FORMULAS = ["=cmd|' /C calc'!A0", "+1+1", "-2+3", "@SUM(1)", "\t=1", "\r=1", "＝1+1", '=HYPERLINK("http://x","y")']
DRIVES = "\x1b[2J\x1b]0;owned\x07\u202e"
PROGRAM = CriticProtocol(
    evaluator="zero-shot",
    mode="coarse",
    task_description="Judge.",
    scale=Scale(low=1, high=5),
    reading=Reading(low=1, high=5, source="text", order="rating_first"),
    provenance=Provenance(model="scripted"),
)


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")


def answer(turns: list[Any]) -> str:
    formula = FORMULAS[int(turns[-1][1].split("text ")[1].split()[0])]
    return json.dumps({"overall": 4, "justification": f"{formula} so", "advice": formula})


def written(name: str) -> list[dict[str, Any]]:
    return [row[1] for row in iter_records(name) if not isinstance(row, BadRow)]


ROWS = [{"id": f"{n}", "response": f"{formula} text {n}", "=odd": formula} for n, formula in enumerate(FORMULAS)]


@pytest.mark.parametrize("name", ["s.csv", "s.tsv"])
def test_formulas_of_the_model_do_not_run_and_a_spreadsheets_cells_stay_as_they_are(name: str) -> None:
    store.save(PROGRAM, "p.json")
    with RecordWriter("items.csv", guarded=()) as writer:
        for row in ROWS:
            writer.write(row)
    assert main(["score", "p.json", "items.csv", "-o", name, "-q"], opener=lambda *_, **__: scripted_lm(answer)) == 0
    read = written(name)
    assert [{column: record[column] for column in ROWS[0]} for record in read] == ROWS
    for record in read:
        for column in ("explanation", "advice"):
            assert record[column][0] == "'" or record[column][0] not in "=+-@\t\r＝"
        assert record["score"] == "4.0"


@pytest.mark.parametrize("name", ["s.csv", "s.tsv.gz"])
def test_what_was_no_spreadsheet_becomes_none_that_runs_and_is_read_again_as_it_was(name: str) -> None:
    store.save(PROGRAM, "p.json")
    Path("items.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    asked: list[str] = []

    def kept(turns: list[Any]) -> str:
        asked.append(turns[-1][1])
        return answer(turns)

    for items, out in (("items.jsonl", name), (name, "again.csv"), (name, "again.jsonl")):
        command = ["score", "p.json", items, "-o", out, "--journal", "none"]
        assert main(command, opener=lambda *_, **__: scripted_lm(kept)) == 0
    for record in [*written(name), *written("again.csv")]:
        assert not [cell for cell in (*record, *record.values()) if cell[:1] in set("=+-@\t\r＝")]
    assert sorted(asked) == sorted(asked[: len(ROWS)] * 3)


@given(texts=st.lists(st.text("'=+-@＝\t\r\n;, 1a", min_size=1, max_size=6).filter(str.strip), min_size=1, max_size=5))
@example(texts=["'=1", "''-1", "'-1", "-1"])
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_texts_written_with_apostrophes_are_read_without(texts: list[str]) -> None:
    with RecordWriter("t.csv", guarded=(), heads=True) as writer:
        for text in texts:
            writer.write({"response": text, "id": text})
    read = iter_examples("t.csv")
    assert [(one.response, one.id) for one in read if isinstance(one, Example)] == [(text, text) for text in texts]
    assert not [cell for row in written("t.csv") for cell in row.values() if cell[0] in "=@＝"]
    added = sum(row["response"] != text for row, text in zip(written("t.csv"), texts, strict=True))
    assert bool(added) == ("without the apostrophe" in " ".join(read.notes))


def test_rows_that_are_held_back_or_suggested_run_no_formula() -> None:
    rows = [row | {"response": f"-{row['response']}", "id": f"=e{n}"} for n, row in enumerate(scored_rows())]
    Path("examples.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    fit = ["fit", "examples.jsonl", "--evaluator", "surface", "--train", "0.5", "--scale", "1..5", "--out", "f.json"]
    assert main([*fit, "--rest", "rest.csv"]) == 0
    assert main(["suggest", "f.json", "examples.jsonl", "-n", "2", "--out", "next.csv"]) == 0
    for name in ("rest.csv", "next.csv"):
        assert {(row["response"][:2], row["id"][:3]) for row in written(name)} == {("'-", "'=e")}
    held_back = read_examples("rest.csv").items
    assert {(one.response, one.id) for one in held_back} < {(row["response"], row["id"]) for row in rows}


@pytest.mark.parametrize("formula", FORMULAS)
def test_a_table_of_ours_holds_no_formula(formula: str) -> None:
    with RecordWriter("t.csv") as writer:
        writer.write({formula: 1, "text": formula, "number": -1.5, "as text": "-1.5"})
    with Path("t.csv").open(newline="", encoding="utf-8") as file:
        header, row = csv.reader(file)
    assert header[0] == row[1] == "'" + (formula if formula[0] not in "\t\r" else f"{formula[0]}'{formula[1:]}")
    assert row[2:] == ["-1.5", "-1.5"]


HIDDEN = st.text('=+-@＝;,|\t\r\n"ax 1', max_size=20)


@pytest.mark.parametrize(("name", "semicolons"), [("t.csv", False), ("t.csv", True), ("t.tsv", False)])
@pytest.mark.parametrize("taken", [",", ";", "\t", "|"])
@given(texts=st.lists(HIDDEN, min_size=2, max_size=2))
@example(texts=["fine", "fine;=HYPERLINK(A1)"])
@example(texts=["fine", 'fine|"=HYPERLINK(A1)'])
@example(texts=["fine", "fine,\t=HYPERLINK(A1)"])
@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_spreadsheet_that_separates_cells_otherwise_finds_no_formula(
    name: str, semicolons: bool, taken: str, texts: list[str]
) -> None:
    with RecordWriter(name, decimal_comma=semicolons) as writer:
        writer.write({"n": 1, **{f"c{i}": text for i, text in enumerate(texts)}, "parts": [{"why": texts[1]}]})
    with Path(name).open(newline="", encoding="utf-8") as file:
        cells = [cell for row in csv.reader(file, delimiter=taken) for cell in row]
    assert not [cell for cell in cells if re.match(r"[=@＝]|[+-](?! |[\d+.]*\s*$)", cell)]


def test_a_list_and_what_is_not_guarded_stay_as_they_are() -> None:
    said = "Two things:\n- it is long;\n- it ends at 5, -1 or so"
    with RecordWriter("t.csv", guarded={"ours"}) as writer:
        writer.write({"theirs": "a;=1", "ours": said})
    with Path("t.csv").open(newline="", encoding="utf-8") as file:
        assert list(csv.reader(file))[1] == ["a;=1", said]


def scored_rows() -> list[dict[str, Any]]:
    return [
        {"id": f"e{i}", "doc_id": f"d{i // 2}", "response": "word " * (3 + i), "score": 1 + i % 5, "system": DRIVES}
        for i in range(12)
    ]


def test_a_comparison_cannot_drive_the_terminal(capfd: pytest.CaptureFixture[str]) -> None:
    Path("examples.jsonl").write_text("".join(json.dumps(row) + "\n" for row in scored_rows()))

    def rate(response: str, turns: list[Any]) -> float:
        raise errors.RequestRefused(f"openai/x: the endpoint refused the request ({DRIVES} [bold]no[/bold])")

    for opener in (
        lambda name, **_: simulated_lm(name=f"openai/{DRIVES}"),
        lambda name, **_: simulated_lm(rate, name="openai/x"),
    ):
        command = ["compare", "examples.jsonl", "--evaluators", "zero-shot,surface", "--resamples", "20"]
        code = main([*command, "--scale", "1..5", "--level", "system", "--journal", "none"], opener=opener)
        out, err = capfd.readouterr()
        assert code in {0, 3, 6, 7}, err
        assert not set(DRIVES) & {"\x1b", "\x07", "\u202e"} & set(out + err)


@pytest.mark.parametrize(
    "command",
    [
        ("score", "p.json", "examples.jsonl"),
        ("score", "p.json", "examples.jsonl", "--out", "s.jsonl", "--json"),
        ("suggest", "p.json", "examples.jsonl", "-n", "2", "--json"),
        ("compare", "examples.jsonl", "--evaluators", "zero-shot,surface", "--scale", "1..5", "--json"),
        ("agreement", "examples.jsonl", "--human", "score", "--predicted", "score \x9b", "--json"),
    ],
    ids=lambda command: " ".join(command[:2]),
)
def test_json_that_is_printed_cannot_drive_the_terminal_and_says_the_same(
    command: tuple[str, ...], capfd: pytest.CaptureFixture[str]
) -> None:
    drives = f"\x9b31m\x7f\u2028\u2067{DRIVES}"
    store.save(PROGRAM, "p.json")
    rows = [row | {"system": drives, "score \x9b": 9 - row["score"]} for row in scored_rows()]
    Path("examples.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    refusal = errors.RequestRefused(f"openai/x: the endpoint refused the request ({drives})")

    def answer(turns: list[Any]) -> str:
        if "suggest" not in command:
            raise refusal
        return json.dumps({"overall": 4, "justification": "x", "advice": "x"})

    main(list(command), opener=lambda *_, **__: scripted_lm(answer))
    out = capfd.readouterr().out
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u202e\u2067]", out)
    said = [json.loads(line) for line in out.removesuffix("\n").split("\n")]
    assert "\x9b" in json.dumps(said, ensure_ascii=False)


@pytest.mark.parametrize(
    "command",
    [
        ("datasets", "describe", DRIVES),
        ("datasets", "get", DRIVES),
        ("datasets", "get", "sfres", "--from", f"no/{DRIVES}.json"),
        ("compare", f"{DRIVES}.jsonl"),
        ("compare", "examples.jsonl", "--evaluators", DRIVES),
        ("compare", "examples.jsonl", "--evaluators", "surface", "--set", DRIVES),
        ("score", f"{DRIVES}.json", "examples.jsonl"),
        ("agreement", "examples.jsonl", "--human", DRIVES),
    ],
    ids=lambda command: " ".join(command[:2]).replace(DRIVES, "…"),
)
def test_a_message_cannot_drive_the_terminal(command: tuple[str, ...], capfd: pytest.CaptureFixture[str]) -> None:
    Path("examples.jsonl").write_text("".join(json.dumps(row) + "\n" for row in scored_rows()))
    assert main(list(command)) in {2, 3, 5}
    out, err = capfd.readouterr()
    assert err
    assert not {"\x1b", "\x07", "\u202e"} & set(out + err)


def test_a_data_set_card_cannot_drive_the_terminal(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from active_critic import public_data

    card = public_data.describe("sfres").model_copy(
        update={"about": f"about {DRIVES}", "title": DRIVES, "task": DRIVES}
    )
    monkeypatch.setattr(public_data, "describe", lambda _: card)
    monkeypatch.setattr(public_data, "list_datasets", lambda: [card])
    for command in (["datasets", "list"], ["datasets", "describe", "sfres"]):
        assert main(command) == 0
        assert not {"\x1b", "\x07", "\u202e"} & set("".join(capfd.readouterr()))
