"""Commands that are printed to be copied stand on one line, however narrow the terminal is."""

from __future__ import annotations

import pytest
from conftest_cli import FIT, rows, write
from published import content, file_server, served_card, use_cards

from active_critic.cli import quickstart

JUDGE = "a_judge_with_a_long_name.json"


@pytest.fixture(autouse=True)
def narrow(run, monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setenv("ACTIVE_CRITIC_CACHE", "cache")


@pytest.mark.parametrize("how", [FIT, ("--evaluator", "surface")], ids=["active-critic", "surface"])
def test_the_command_that_scores_with_what_was_fitted(run, tmp_path, how) -> None:
    path = write(tmp_path / "e.jsonl", rows())
    done = run("fit", path, "--fields", "response=response,source=source", "--scale", "1..5", "--out", JUDGE, *how)
    assert done.code == 0, done.err
    assert done.out.splitlines()[-1] == f"saved in {JUDGE}; score with: active-critic score {JUDGE} ITEMS"
    assert max(map(len, done.out.splitlines()[:-2])) <= 60


def test_the_next_steps_of_the_quickstart(run, monkeypatch) -> None:
    monkeypatch.setattr(quickstart, "CANDIDATES", 2)
    monkeypatch.setattr(quickstart, "MAX_BATCHES", 1)
    monkeypatch.setattr(quickstart, "SCORED", 8)
    done = run("quickstart", "--out", "my judge.json")
    assert done.code == 0, done.err
    fit = (
        "active-critic fit scored.csv --fields response=output,score=rating --train 0.5 --rest rest.csv --out mine.json"
    )
    assert {f"  {fit}", "  active-critic show 'my judge.json'"} <= {*done.out.splitlines()}


def test_the_command_that_fits_on_a_public_set(run, monkeypatch) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    with file_server() as server:
        card = served_card("sfres", server.address)
        server.body = content(card)
        use_cards(monkeypatch, card)
        done = run("datasets", "get", "sfres")
    command = "active-critic fit sfres.jsonl --fields score=overall,group=doc_id --out sfres.json"
    assert f"Fit on it with: {command}" in done.err.splitlines()
