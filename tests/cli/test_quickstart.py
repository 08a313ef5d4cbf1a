from __future__ import annotations

import json
from pathlib import Path

import pytest
from conftest_cli import opener, refuse

from active_critic.cli import quickstart
from active_critic.evaluators import load


@pytest.fixture(autouse=True)
def little(monkeypatch) -> None:
    monkeypatch.setattr(quickstart, "CANDIDATES", 2)
    monkeypatch.setattr(quickstart, "MAX_BATCHES", 1)
    monkeypatch.setattr(quickstart, "SCORED", 8)


def test_it_ends_with_a_program_and_a_table_and_does_not_boast(run) -> None:
    done = run("quickstart")
    assert done.code == 0, done.err
    assert load("quickstart.json").fitted.provenance.n_train == 24
    for word in ("unseen replies", "given", "Facts:", "Next", "active-critic score mine.json", "calls"):
        assert word in done.out
    assert "beating the surface floor here proves little" in " ".join(done.out.split())
    assert "Agreement with people over" not in done.out
    assert done.out.count("On the whole.") == quickstart.EXPLAINED


def test_json(run) -> None:
    document = run("quickstart", "--json", "--quiet", "--out", "q.json", "--seed", 3).document
    assert document["program"] == "q.json"
    assert document["unseen"]["total"] == 8
    human = [verdict["human"] for verdict in document["verdicts"]]
    assert human == sorted(human)
    assert human[0] < 2 < 4 < human[-1]
    assert all(verdict["explanation"] for verdict in document["verdicts"])
    assert load("q.json").fitted.provenance.seed == 3


def test_what_is_scored_was_not_fitted_on(run) -> None:
    document = run("quickstart", "--json").document
    shown = {demo.group for demo in load("quickstart.json").fitted.demos}
    documents = {verdict["id"].rpartition("-")[0] for verdict in document["verdicts"]}
    assert not shown & documents


def test_an_interrupted_quickstart_goes_on(run) -> None:
    calls = 0

    def rate(response, turns):
        nonlocal calls
        calls += 1
        if calls == 30:
            raise KeyboardInterrupt
        return 3 + len(response) % 3

    stopped = run("quickstart", opener=opener(rate=rate))
    assert stopped.code == 130
    assert "run the same command again to go on" in stopped.err
    assert run("quickstart", opener=opener(rate=rate)).code == 0


def test_another_file_is_not_replaced(run) -> None:
    Path("quickstart.json").write_text(json.dumps({"mine": 1}))
    assert run("quickstart", opener=refuse).code == 5
