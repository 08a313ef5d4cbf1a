"""The same program, model and items give the same verdicts, byte for byte, however they are scored."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest
from loopback import Loopback, Say

from active_critic.cli import main
from active_critic.evaluators import ActiveCritic
from active_critic.evaluators._checks_material import examples as rated
from active_critic.evaluators._checks_material import rate
from active_critic.lm.filling import form_filling_lm
from active_critic.protocols import Mode

sys.path[:0] = [str(Path(__file__).parent / "faults")]

from kill_bench import answer, examples, items  # noqa: E402
from kill_process import COMMAND  # noqa: E402

FIT = ("--scale", "0..5", "--candidates", "2", "--demos", "2", "--batches", "1", "--no-report")


@pytest.fixture
def program(loopback: Loopback, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program, and items beside it."""
    monkeypatch.chdir(tmp_path)
    loopback.answer = answer
    for name, rows in (("examples", examples()), ("items", items())):
        Path(f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    model = ("--lm", "openai/judge", "--api-base", loopback.api_base, "--journal", "none", "--quiet")
    assert main(["fit", "examples.jsonl", "--out", "p.json", *FIT, *model]) == 0
    return Path("p.json")


def score(loopback: Loopback, out: str, *more: str, items: str = "items.jsonl") -> list[str]:
    """The lines of the verdict file."""
    argv = ["score", "p.json", items, "--out", out, "--api-base", loopback.api_base, "--quiet", *more]
    assert main(argv) == 0
    return Path(out).read_text().splitlines()


def test_workers_and_journal_change_nothing(loopback: Loopback, program: Path) -> None:
    whole = score(loopback, "whole.jsonl", "--journal", "none", "--workers", "1")
    assert len(whole) == len(items())
    assert len({json.loads(line)["score"] for line in whole}) > 5  # there is something to get wrong
    for workers in ("1", "8"):
        assert score(loopback, "without.jsonl", "--journal", "none", "--workers", workers) == whole
        fresh = f"{workers}.sqlite"
        assert score(loopback, "kept.jsonl", "--journal", fresh, "--workers", workers) == whole
        before = loopback.calls
        assert score(loopback, "again.jsonl", "--journal", fresh, "--workers", workers) == whole
        assert loopback.calls == before


def test_the_order_of_replies_changes_nothing(loopback: Loopback, program: Path) -> None:
    whole = score(loopback, "whole.jsonl", "--journal", "none", "--workers", "8")
    rng = random.Random(3)
    loopback.answer = lambda body: Say(answer(body).text, slow=rng.uniform(0, 0.03))
    assert score(loopback, "shuffled.jsonl", "--journal", "none", "--workers", "8") == whole


@pytest.mark.parametrize("workers", ["1", "8"])
def test_the_order_of_items_changes_the_order_only(loopback: Loopback, program: Path, workers: str) -> None:
    whole = score(loopback, "whole.jsonl", "--journal", "none", "--workers", workers)
    for seed in (1, 2):
        order = random.Random(seed).sample(range(len(whole)), len(whole))
        rows = items()
        Path("mixed.jsonl").write_text("".join(json.dumps(rows[i]) + "\n" for i in order))
        mixed = score(loopback, "m.jsonl", "--journal", "none", "--workers", workers, items="mixed.jsonl")
        assert mixed == [whole[i] for i in order]


def test_another_process_gives_the_same(loopback: Loopback, program: Path, tmp_path: Path) -> None:
    whole = score(loopback, "whole.jsonl", "--journal", "none", "--workers", "1")
    argv = ["score", "p.json", "items.jsonl", "--out", "other.jsonl", "--api-base", loopback.api_base]
    command = [*COMMAND, *argv, "--journal", "none", "--workers", "8", "--quiet"]
    # Sets of strings are in another order in every process; here it is certain that they are.
    environment = {**os.environ, "PYTHONHASHSEED": "4711", "OPENAI_API_KEY": "none-needed"}
    subprocess.run(command, cwd=tmp_path, env=environment, check=True)
    assert Path("other.jsonl").read_text().splitlines() == whole


def test_a_fit_in_another_process_makes_the_same_program(loopback: Loopback, program: Path, tmp_path: Path) -> None:
    model = ("--lm", "openai/judge", "--api-base", loopback.api_base, "--journal", "none", "--quiet", "--workers", "3")
    environment = {**os.environ, "PYTHONHASHSEED": "4711", "OPENAI_API_KEY": "none-needed"}
    command = [*COMMAND, "fit", "examples.jsonl", "--out", "other.json", *FIT, *model]
    subprocess.run(command, cwd=tmp_path, env=environment, check=True, capture_output=True)
    programs = [json.loads(path.read_text()) for path in (program, Path("other.json"))]
    for document in programs:
        document["provenance"]["report"].pop("usage", None)
    assert programs[0] == programs[1]


@pytest.mark.parametrize("mode", ["coarse", "fine"])
def test_the_random_numbers_of_the_user_are_left_as_they_are(mode: Mode) -> None:
    critic = ActiveCritic(form_filling_lm(rate), mode=mode, candidates=2, demos=1, max_batches=1, journal=None)
    before = random.getstate()
    critic.fit(rated(), scale="1..5")
    assert random.getstate() == before
    assert critic.score("a text", "a source").score is not None
    assert random.getstate() == before
