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
from active_critic.files import BadRow, iter_records
from active_critic.lm import scripted_lm
from active_critic.protocols import CriticProtocol, Provenance, Reading
from active_critic.records import Scale
from active_critic.writing import RecordWriter

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


@pytest.mark.parametrize("name", ["s.csv", "s.tsv"])
def test_formulas_of_the_model_do_not_run_and_the_users_texts_stay_as_they_are(name: str) -> None:
    store.save(PROGRAM, "p.json")
    rows = [{"id": f"{n}", "response": f"text {n}", "=odd": formula} for n, formula in enumerate(FORMULAS)]
    Path("items.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))

    def answer(turns: list[Any]) -> str:
        formula = FORMULAS[int(turns[-1][1].split("text ")[1].split()[0])]
        return json.dumps({"overall": 4, "justification": f"{formula} so", "advice": formula})

    assert main(["score", "p.json", "items.jsonl", "-o", name, "-q"], opener=lambda *_, **__: scripted_lm(answer)) == 0
    read = [row[1] for row in iter_records(name) if not isinstance(row, BadRow)]
    assert [{column: record[column] for column in rows[0]} for record in read] == rows
    for record in read:
        for column in ("explanation", "advice"):
            assert record[column][0] == "'" or record[column][0] not in "=+-@\t\r＝"
        assert record["score"] == "4.0"


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
