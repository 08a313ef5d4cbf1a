"""What is passed on (pages, results, programs) names files, and no folder that they are in."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from conftest_cli import FIT, rows, write
from simulated import simulated_lm

FOLDER = "Client_Confidential"
COMMANDS = {
    "fit": ("fit", "IN", "--criteria", "@PROGRAM", "--train", 0.5, *FIT, "-o", "NEW.json"),
    "fit with a model's file": ("fit", "IN", *FIT, "--lm", "MODEL.gguf", "-o", "NEW.json"),
    "fit at an address": ("fit", "IN", *FIT, "--lm", "openai/x", "--api-base", "http://HOST/v1", "-o", "NEW.json"),
    "score": ("score", "PROGRAM", "IN", "-o", "NEW.csv"),
    "show": ("show", "PROGRAM"),
    "compare": ("compare", "IN", "--evaluators", "surface,zero-shot", "--resamples", 0),
    "compare that fails": ("compare", "ALIKE", "--evaluators", "surface,zero-shot", "--resamples", 0),
    "curve": ("curve", "IN", "--evaluator", "surface", "--sizes", 5, "--repeats", 1, "--resamples", 0),
    "probe": ("probe", "PROGRAM", "IN", "--families", "word-exchange"),
    "probe --attacks": ("probe", "PROGRAM", "IN", "--attacks", "--families", "plea"),
    "agreement": ("agreement", "IN", "--human", "rating", "--predicted", "auto", "--level", "all"),
}
RESULTS = ("compare", "compare that fails", "curve", "probe", "probe --attacks", "agreement")


@pytest.fixture
def known(program: Path, tmp_path: Path) -> dict[str, Path]:
    folder = tmp_path / FOLDER
    folder.mkdir()
    made = [{**row, "auto": row["rating"] + i % 3} for i, row in enumerate(rows(24))]
    alike = [{**row, "rating": 3 if i < 21 else row["rating"]} for i, row in enumerate(made)]
    (folder / "p.json").write_bytes(program.read_bytes())
    return {
        "PROGRAM": folder / "p.json",
        "IN": write(folder / "in.jsonl", made),
        "ALIKE": write(folder / "alike.jsonl", alike),
        "NEW": folder / "new",
        "MODEL": folder / "model",
        "HOST": Path(f"{FOLDER}.example"),
    }


def said(command: str, known: dict[str, Path]) -> list[str]:
    given = []
    for part in map(str, COMMANDS[command]):
        for name, path in known.items():
            part = part.replace(name, str(path))
        given.append(part)
    return given


def by_name(name: str, **_: Any) -> Any:
    """Opens a simulated model that is called as a real one of that file is."""
    return simulated_lm(name=Path(name).stem if name.endswith(".gguf") else name)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_page_names_files_and_no_folders(run, known, command) -> None:
    page = known["NEW"].with_name("page.html")
    done = run(*said(command, known), "--html", page, opener=by_name)
    assert done.code in {0, 7}, done.err
    assert FOLDER not in page.read_text(encoding="utf-8")


@pytest.mark.parametrize("command", RESULTS)
def test_a_result_names_files_and_no_folders(run, known, command) -> None:
    done = run(*said(command, known), "--json", "--quiet")
    assert done.code in {0, 7}, done.err
    assert FOLDER not in done.out
    if command == "compare that fails":
        assert "alike.jsonl: all" in done.out


def test_a_program_names_no_folders(run, known) -> None:
    assert run(*said("fit", known)).code == 0
    made = known["NEW"].with_suffix(".json").read_text(encoding="utf-8")
    assert json.loads(made)["provenance"]["n_train"] > 0
    assert FOLDER not in made


def test_the_terminal_says_where_what_was_written_is(run, known) -> None:
    fitted = run(*said("fit", known))
    assert f"saved in {known['NEW']}.json" in fitted.out
    assert f"active-critic score {known['NEW']}.json" in fitted.out
    assert f"written to {known['NEW']}.csv" in run(*said("score", known)).err
    failed = run("agreement", known["IN"], "--human", "rating", "--predicted", "auto", "--level", "system")
    assert f"error: {known['IN']}: " in failed.err
