"""The whole job with a real embedded model (the smallest): plumbing only, nothing that it judges is asserted."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from active_critic.evaluators import load_protocol

DATA = Path(__file__).parent.parent / "datasets" / "quickstart.jsonl"
CRITERIA = {
    "Clarity": "The reply is easy to understand.",
    "Tone": "The reply is friendly.",
    "Relevance": "The reply answers what was asked.",
    "Completeness": "The reply says all that the customer needs.",
}

pytestmark = pytest.mark.model


def run(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "ACTIVE_CRITIC_JOURNAL": str(folder / "journal.sqlite")}
    return subprocess.run(
        [sys.executable, "-c", "import sys; from active_critic.cli import main; sys.exit(main())", *arguments],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
        timeout=600,
    )


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.mark.parametrize("mode", ["coarse", "fine"])
def test_fit_save_load_score_with_a_real_model(mode: str, tmp_path: Path) -> None:
    lines = DATA.read_text().splitlines()
    train, items, criteria = (tmp_path / name for name in ("train.jsonl", "items.jsonl", "criteria.json"))
    train.write_text("\n".join(lines[0:18:2]) + "\n")
    criteria.write_text(json.dumps(CRITERIA))
    items.write_text("\n".join(lines[60:62]) + "\n")
    program = tmp_path / "program.json"

    fitted = run(
        *("fit", str(train), "--out", str(program), "--lm", "local-tiny", "--mode", mode, "--json"),
        *("--candidates", "2", "--demos", "2", "--batches", "1", "--scale", "1..5"),
        # What does not depend on the mode is done with a real model once: it takes minutes.
        *(["--criteria", str(criteria), "--no-report"] if mode == "fine" else ["--use-contrast", "auto"]),
        folder=tmp_path,
    )
    assert fitted.returncode == 0, fitted.stderr
    assert json.loads(fitted.stdout)["usage"]["calls"] > 0
    protocol = load_protocol(program)
    assert protocol.mode == mode
    named = [criterion.name for criterion in protocol.criteria]
    assert named == list(CRITERIA) if mode == "fine" else 4 <= len(named) <= 10
    assert protocol.reading.source == "probabilities"

    outputs = []
    for name, how in (("full.jsonl", []), ("first.jsonl", ["--no-explain"]), ("second.jsonl", ["--no-explain"])):
        output = tmp_path / name
        scored = run("score", str(program), str(items), "-o", str(output), "--journal", "none", *how, folder=tmp_path)
        assert scored.returncode in (0, 7), scored.stderr
        outputs.append(rows(output))
    full, first, second = outputs
    assert first == second  # the same program on the same model in a new process: the same verdicts
    assert any(row["score"] is not None for row in first)  # of explanations this model may repeat the form as shown
    for row in [*full, *first]:
        assert (row["score"] is None) != (row["unscored"] is None)
        if row["score"] is not None:
            assert 1 <= row["score"] <= 5
            assert row["read_from"] in ("probabilities", "combination")
    assert [[row["id"] for row in rows] for rows in (full, first)] == [
        [json.loads(line)["id"] for line in lines[60:62]]
    ] * 2
