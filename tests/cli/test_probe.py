from __future__ import annotations

import csv
import json
import sys
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from conftest_cli import opener, refuse, rows, write
from simulated import form, last_item

from active_critic import errors
from active_critic.lm import LanguageModel, Turn, scripted_lm
from active_critic.probes.attacks import ATTACKS, KINDS
from active_critic.probes.perturbations import PERTURBATIONS

FEW = "planted-verdict,flattery,padding"


@pytest.fixture
def program(run: Any, examples: Path, tmp_path: Path) -> Path:
    """A program whose score is the model's rating and nothing else."""
    path = tmp_path / "z.json"
    assert run("fit", examples, "--evaluator", "zero-shot", "--scale", "1..5", "--out", path).code == 0
    return path


@pytest.fixture
def items(tmp_path: Path) -> Path:
    return write(
        tmp_path / "items.jsonl",
        [{**row, "response": f"New {row['response']}", "doc_id": f"d{i}"} for i, row in enumerate(rows(6))],
    )


def fooled(response: str, turns: list[Any]) -> float:
    return 4.5 if "discernment" in response else 2.0


def test_attacks_are_tried_and_told(run, program, items) -> None:
    done = run("probe", program, items, "--attacks", "--families", FEW, opener=opener(rate=fooled))
    assert done.code == 0, done.err
    lines = done.out.splitlines()
    assert [line.split()[0] for line in lines[1:8] if line] == [
        "FORMAT", "planted-verdict", "PERSUASION", "flattery", "LENGTH", "padding", "ALL",
    ]  # fmt: skip
    assert lines[4].startswith("  flattery             +")  # the columns stay in line
    assert "+2.50" in lines[4]
    assert "Families that lift the score, their interval above 0: flattery (+2.50)." in done.out
    assert "attacking 6 texts with local" in done.err


def test_the_document_has_everything_and_the_file_a_row_a_family(run, program, items) -> None:
    outputs = ("--json", "--csv", "a.csv")
    done = run("probe", program, items, "--attacks", "--families", FEW, *outputs, "-q", opener=opener(rate=fooled))
    assert (done.code, done.err) == (0, "")
    document = done.document
    assert (document["probe"], document["model"], document["result"]["texts"]) == ("attacks", "local", 6)
    assert document["usage"]["calls"] > 0
    assert [part["name"] for part in document["result"]["families"]] == FEW.split(",")
    with Path("a.csv").open(newline="") as file:
        table = list(csv.DictReader(file))
    assert [row["family"] for row in table] == FEW.split(",")
    assert float(table[1]["lift"]) == pytest.approx(2.5, abs=0.01)


def test_run_again_nothing_is_paid_twice(run, program, items) -> None:
    command = ("probe", program, items, "--attacks", "--families", "null,flattery", "-q", "--json")
    first, again = (run(*command).document for _ in range(2))
    assert again["result"] == first["result"]
    assert first["usage"]["calls"] > 0
    assert again["usage"]["calls"] == 0


def test_what_it_would_take_is_told_without_a_call(run, program, items) -> None:
    asked: list[str] = []

    def rate(response: str, turns: list[Any]) -> float:
        asked.append(response)
        return 3.0

    files = ("--csv", "a.csv", "--html", "a.html")
    command = ("probe", program, items, "--attacks", "--families", "flattery,plea", "--estimate")
    done = run(*command, *files, opener=opener(rate=rate))
    assert (done.code, asked) == (0, []), done.err
    assert "18 calls" in done.out  # six texts, each as it is and attacked twice
    assert not {path.name for path in Path().iterdir()} & {"a.csv", "a.html"}
    assert "note: --csv and --html: an estimate writes no file" in done.err
    assert run(*command, "--json", opener=opener(rate=rate)).document["calls"] == 18


def test_a_budget_holds(run, program, items) -> None:
    command = ("probe", program, items, "--attacks", "--families", "flattery", "--budget", "6 calls")
    done = run(*command, "--json", "--journal", "none")
    assert (done.code, done.document["usage"]["calls"]) == (7, 6), done.err
    done = run(*command, "--journal", "none")
    assert done.code == 7
    assert "the budget of 6 calls is spent" in done.out
    assert "failed)" not in done.out


def test_attacks_that_a_budget_left_are_7_though_all_texts_were_scored_as_they_are(run, program, items) -> None:
    command = ("probe", program, items, "--attacks", "--families", "flattery", "--journal", "j")
    assert run("score", program, items, "-o", "v.jsonl", "--no-explain", "--journal", "j").code == 0
    done = run(*command, "--budget", "2 calls")
    assert done.code == 7, done.err
    assert "Not asked for, and counted nowhere: 4 attacked texts. The reason: the budget of 2 calls" in done.out


def test_limit_and_seed(run, program, items) -> None:
    command = ("probe", program, items, "--attacks", "--families", "null", "-q", "--json", "--limit", 4)
    found = [run(*command, "--seed", seed).document["result"] for seed in (0, 1)]
    assert [part["texts"] for part in found] == [4, 4]
    assert [part["seed"] for part in found] == [0, 1]


def shown_to(run: Any, *command: object) -> tuple[list[str], Any]:
    """Which items a command asks about, in order, and what came of it."""
    seen: list[str] = []

    def rate(response: str, turns: list[Any]) -> float:
        name = response.split(":")[0]
        if name not in seen:
            seen.append(name)
        return 3.0

    done = run("probe", *command, "--families", "word-exchange", "--journal", "none", opener=opener(rate=rate))
    return seen, done


def test_items_are_drawn_of_as_many_documents_as_possible(run, program, tmp_path) -> None:
    many = [
        {"response": f"Item {d}-{i}: one two three.", "doc_id": f"d{d}", "source": ""}
        for d in range(7)
        for i in range(20)
    ]
    items = write(tmp_path / "many.jsonl", many)
    seen, done = shown_to(run, program, items, "--limit", 16)
    assert done.code == 0, done.err
    documents = [name.partition("-")[0] for name in seen]
    assert documents == sorted(documents)  # in the order of the file
    assert sorted(documents.count(name) for name in set(documents)) == [2, 2, 2, 2, 2, 3, 3]
    assert seen != [f"Item {d}-{i}" for d in range(7) for i in range(2 + (d < 2))]  # not the first of each
    assert "note: 16 of 140 items are drawn (seed 0), of 7 of 7 documents; --limit N draws another number" in done.err
    assert shown_to(run, program, items, "--limit", 16)[0] == seen
    assert shown_to(run, program, items, "--limit", 16, "--seed", 1)[0] != seen


def test_of_a_large_file_a_hundred_items_are_drawn(run, program, tmp_path) -> None:
    many = [{"response": f"Item {i}: one two three.", "doc_id": f"d{i}", "source": ""} for i in range(130)]
    items = write(tmp_path / "many.jsonl", many)
    estimated = run("probe", program, items, "--families", "word-exchange", "--estimate", "--journal", "none")
    assert "note: 100 of 130 items are drawn (seed 0), of 100 of 130 documents" in estimated.err
    assert "200 calls" in estimated.out
    document = run("probe", program, items, "--families", "word-exchange", "-q", "--json").document
    assert document["result"]["examples"] == 100
    assert document["notes"][-1].startswith("100 of 130 items are drawn (seed 0)")
    seen, done = shown_to(run, program, items, "--limit", 1000)
    assert len(seen) == 130
    assert "are drawn" not in done.err


def test_few_documents_are_told_before_anything_is_paid_for(run, program, items) -> None:
    def opened(name: str, **_: Any) -> LanguageModel:
        raise errors.EndpointDown("it stops here")

    command = ("probe", program, items, "--families", "word-exchange", "--limit")
    said = "the texts are of 4 documents: with fewer than 5 there are no intervals"
    stopped = run(*command, 4, opener=opened)
    assert (stopped.code, f"note: {said}" in stopped.err) == (4, True)
    assert "no intervals" not in run(*command, 5, opener=opened).err
    done = run(*command, 4, "--html", "few.html")
    assert done.code == 0, done.err
    assert f"{said[0].upper()}{said[1:]}." in done.out
    assert f"{said[0].upper()}{said[1:]}." in Path("few.html").read_text(encoding="utf-8")
    attacked = run("probe", program, items, "--attacks", "--families", "plea", "--limit", 4, "--html", "few.html")
    for told in (attacked.out, Path("few.html").read_text(encoding="utf-8")):
        assert "fewer than five documents were scored, so there are no intervals" in " ".join(told.split())


@pytest.mark.parametrize("command", [("--attacks", "--families", "flattery"), ("--families", "spelling-mistake")])
def test_what_cannot_be_scored_once_something_was_done_to_it_is_7(run, program, items, command) -> None:
    as_they_are = {json.loads(line)["response"].strip() for line in items.read_text().splitlines()}

    def rate(response: str, turns: list[Any]) -> float:
        if response.strip() not in as_they_are:
            raise errors.RequestRefused("the endpoint refused the request")
        return 3.0

    done = run("probe", program, items, *command, opener=opener(rate=rate))
    assert done.code == 7, done.err


def test_a_budget_spent_while_the_model_writes_is_7_with_figures(run, program, tmp_path) -> None:
    text = "He thinks that the {} is closed on Monday. It will open after dinner."
    good = [{"source": "Town.", "response": text.format(i), "doc_id": str(i)} for i in range(8)]
    items = write(tmp_path / "good.jsonl", good)

    def opened(name: str, **_: Any) -> LanguageModel:
        def answer(turns: list[Turn]) -> str:
            if "Give the changed text" in turns[-1][1]:
                return json.dumps({"text": last_item(turns).replace("is closed", "is not closed")})
            return json.dumps(form(turns, 3))

        return scripted_lm(answer, name=name, levels=lambda _: {"3": 1.0})

    command = ("probe", program, items, "--by", "model", "--families", "negation", "--budget", "16 calls")
    done = run(*command, "--json", "--journal", "none", opener=opened)
    assert done.code == 7, done.err
    found = done.document["result"]
    assert (found["scored"], found["treated"][0]["applied"], done.document["usage"]["calls"]) == (5, 5, 16)
    assert next(one for one in found["changes"] if one["name"] == "overall quality")["interval"] is not None


def test_texts_that_cannot_be_scored_as_they_are_are_7(run, program, items) -> None:
    def rate(response: str, turns: list[Any]) -> float:
        if response.startswith("New Reply 0") and "discernment" not in response:
            raise errors.RequestRefused("the endpoint refused the request")
        return 3.0

    done = run("probe", program, items, "--attacks", "--families", "flattery", opener=opener(rate=rate))
    assert done.code == 7
    assert "1 of 6 texts could not be scored as they are" in done.out
    done = run("probe", program, items, "--families", "word-exchange", opener=opener(rate=rate))
    assert done.code == 7
    assert "5 of 6 texts" in done.out


def test_help_names_every_attack_by_kind_and_every_perturbation(run) -> None:
    shown = run("probe", "--help", opener=refuse).out
    attacks, _, worse = shown.partition("Names for --families without --attacks:")
    attacks = attacks.partition("Names for --families with --attacks")[2]
    for kind, following in zip(KINDS, [*KINDS[1:], ""], strict=True):
        own = attacks.partition(f"\n    {kind} ")[2].partition(f"\n    {following} " if following else "\0")[0]
        assert own.replace(",", " ").split() == [attack.name for attack in ATTACKS if attack.kind == kind]
    by_rule, _, by_model = worse.partition("by rule")[2].partition("by model")
    assert by_rule.replace(",", " ").split() == [one.name for one in PERTURBATIONS.values() if one.by_rule]
    assert by_model.replace(",", " ").split() == [one.name for one in PERTURBATIONS.values() if not one.by_rule]


def test_what_cannot_be_is_told_before_anything_is_paid_for(run, program, items, examples) -> None:
    wrong = run("probe", program, items, "--attacks", "--families", "flatery", opener=refuse)
    assert wrong.code == 2
    assert "no attack is called 'flatery'; did you mean 'flattery'? The kinds are format, instruction" in wrong.err
    assert "stand in `active-critic probe --help`" in wrong.err
    nonsense = run("probe", program, items, "--attacks", "--families", "xyzzy", opener=refuse).err
    assert "'xyzzy'; the kinds are" in nonsense
    assert len(nonsense) < 400
    worse = run("probe", program, items, "--families", "spelling-mistakes", opener=refuse).err
    assert "no perturbation 'spelling-mistakes'; did you mean 'spelling-mistake'?" in worse
    assert run("probe", program, items, "--attacks", "--families", " , ", opener=refuse).code == 2
    assert run("probe", program, items, "--families", ",", opener=refuse).code == 2
    assert "no perturbation 'flattery'" in run("probe", program, items, "--families", "flattery", opener=refuse).err
    no_rule = run("probe", program, items, "--families", "inversion", opener=refuse)
    assert no_rule.code == 2
    assert "a model can do it (--by model)" in no_rule.err
    assert run("probe", program, items, "--attacks", "--by", "model", opener=refuse).code == 2
    assert run("probe", program, items, "--attacks", "--csv", "a.json", opener=refuse).code == 2
    assert run("probe", program, items, "--attacks", "--html", "a.json", opener=refuse).code == 2
    for option in ("--csv", "--html"):
        missing = run("probe", program, items, "--attacks", option, items / f"a.{option[2:]}", opener=refuse)
        assert missing.code == 5
        same = run("probe", program, items, option, f"j.{option[2:]}", "--journal", f"j.{option[2:]}", opener=refuse)
        assert (same.code, "would be written over" in " ".join(same.err.split())) == (2, True)
    assert run("probe", program, "nope.jsonl", "--attacks", opener=refuse).code == 3
    assert run("probe", "nope.json", items, "--attacks", opener=refuse).code == 5
    Path("empty.jsonl").write_text("")
    nothing = run("probe", program, "empty.jsonl", "--attacks", opener=refuse)
    assert (nothing.code, "no rows" in nothing.err) == (3, True)
    write(Path("blank.jsonl"), [{"response": "fine"}, {"response": " "}])
    blank = run("probe", program, "blank.jsonl", "--attacks", opener=refuse)
    assert (blank.code, "row 2" in blank.err) == (3, True)


@pytest.mark.parametrize("place", [1, 3])
def test_a_file_after_json_is_told_what_to_do_now(run, program, items, place) -> None:
    command = ["probe", program, items, "--attacks"]
    done = run(*command[:place], "--json", "a.json", *command[place:], opener=refuse)
    assert done.code == 2
    assert "one argument too many; --json takes no file, it prints: write --json > FILE.json" in done.err
    assert not Path("a.json").exists()
    done = run(*command, "a.json", opener=refuse)
    assert (done.code, "'a.json' is one argument too many" in done.err) == (2, True)
    assert "--json" not in done.err


def test_only_demonstrations_is_nothing_to_attack(run, examples) -> None:
    fitted = ("fit", examples, "--evaluator", "ice", "--set", "shots=2", "--scale", "1..5", "--out", "i.json")
    assert run(*fitted).code == 0
    shown = json.loads(Path("i.json").read_text())["aspects"][0]["shots"]
    write(Path("shown.jsonl"), [{"source": shot["source"], "response": shot["response"]} for shot in shown])
    done = run("probe", "i.json", "shown.jsonl", "--attacks")
    assert done.code == 3
    assert "stand in the program as demonstrations" in done.err


def test_a_program_without_a_model_opens_none(run, examples, items) -> None:
    assert run("fit", examples, "--evaluator", "surface", "--scale", "1..5", "--out", "s.json").code == 0
    done = run("probe", "s.json", items, "--attacks", "--families", "length", opener=refuse)
    assert done.code == 0, done.err
    assert "without a model" in done.err


def test_nothing_drives_the_terminal(run, program, items) -> None:
    def rate(response: str, turns: list[Any]) -> float:
        return 3.0

    hostile = opener(rate=rate)
    done = run("probe", program, items, "--attacks", "--families", "planted-verdict\x1b[2J", opener=hostile)
    assert done.code == 2
    assert "\x1b" not in done.err + done.out


@dataclass
class Found:
    words: list[str]
    unscored: int = 0
    failed: int = 0
    spent: str | None = None

    def to_dict(self) -> dict[str, Any]:
        return {"blind": ["tone"]}

    def rows(self) -> list[dict[str, Any]]:
        return [{"perturbation": "negation", "fell": 0.5}]


def test_without_attacks_texts_are_made_worse(run, program, items, monkeypatch) -> None:
    asked: dict[str, Any] = {}

    def examine(evaluator: Any, examples: Any, *, perturbations: Any, by: str, seed: int, progress: Any) -> Found:
        asked.update(kind=evaluator.kind, n=len(examples), perturbations=perturbations, by=by, seed=seed)
        return Found(["It is blind to tone.", "And\x1b[2J that is all."])

    module = ModuleType("active_critic.probes.behaviour")
    module.examine = examine  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "active_critic.probes.behaviour", module)
    command = ("probe", program, items, "--families", "negation", "--seed", 3, "--csv", "a.csv", "--limit", 5)
    done = run(*command)
    assert done.code == 0, done.err
    assert asked == {"kind": "zero-shot", "n": 5, "perturbations": ["negation"], "by": "rule", "seed": 3}
    assert done.out == "It is blind to tone.\nAnd\\x1b[2J that is all.\n"
    assert run(*command, "--json").document["result"] == {"blind": ["tone"]}
    assert "negation,0.5" in Path("a.csv").read_text()


def test_the_programs_own_model_makes_texts_worse_where_it_is_asked_to(run, program, items) -> None:
    families = "inversion,sentence-deletion"
    command = ("probe", program, items, "--by", "model", "--families", families, "--json")
    estimated = run(*command, "--estimate")
    assert estimated.code == 0, estimated.err
    done = run(*command)
    assert done.code == 0, done.err
    found = done.document
    assert found["result"]["by"] == "model"
    assert [(one["name"], one["applied"]) for one in found["result"]["treated"]] == [
        ("inversion", 6), ("sentence-deletion", 0),  # by rule all the same, and replies of one sentence have none
    ]  # fmt: skip
    assert found["usage"]["calls"] == 6 + 6 + 6


def test_what_the_model_would_write_is_rehearsed_with_its_scoring(run, program, tmp_path) -> None:
    good = "He thinks that the {} is closed on Monday. It will open after dinner."
    items = write(
        tmp_path / "good.jsonl",
        [{"source": "The town.", "response": good.format(place), "doc_id": place} for place in ("beach", "pub", "bar")],
    )

    def opened(name: str, **_: Any) -> LanguageModel:
        def answer(turns: list[Turn]) -> str:
            if "Give the changed text" not in turns[-1][1]:
                return json.dumps(form(turns, 3))
            written.append(f"{last_item(turns)} Number {len(written)}.")
            return json.dumps({"text": written[-1]})

        return scripted_lm(answer, name=name, levels=lambda _: {"3": 1.0})

    written: list[str] = []
    command = ("probe", program, items, "--by", "model", "--json")
    estimated = run(*command, "--estimate", opener=opened)
    assert (estimated.code, written) == (0, []), estimated.err
    done = run(*command, opener=opened)
    assert done.code == 0, done.err
    assert len(written) == 3 * 14
    calls = done.document["usage"]["calls"]
    assert calls == 3 * (14 + 1 + 18)
    assert estimated.document["calls"] == calls


def test_a_program_without_a_model_cannot_write(run, examples, items) -> None:
    assert run("fit", examples, "--evaluator", "surface", "--scale", "1..5", "--out", "s.json").code == 0
    done = run("probe", "s.json", items, "--by", "model", opener=refuse)
    assert done.code == 2
    assert "--by model has no meaning for this program" in done.err
