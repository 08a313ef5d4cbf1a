"""Evaluators that share a model keep each what it asks itself, where it was told to."""

from __future__ import annotations

import json
import re
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from test_base import PROGRAM, items, judging

from active_critic.evaluators import from_protocol
from active_critic.journal import Journal
from active_critic.lm import LanguageModel, Turn, scripted_lm
from active_critic.lm.rehearsal import estimate
from active_critic.probes.behaviour import examine
from active_critic.probes.perturbations import PERTURBATIONS
from active_critic.records import Example

MADE = [next(name for name, one in PERTURBATIONS.items() if one.by_model)]


def test_closing_gives_back_a_model_that_still_works(tmp_path: Path) -> None:
    lm = judging(int)
    first = from_protocol(PROGRAM, lm, journal=tmp_path / "a.sqlite")
    second = from_protocol(PROGRAM, lm, journal=tmp_path / "b.sqlite")
    assert (first.score("1").score, second.score("2").score) == (1.0, 2.0)
    first.close()
    first.close()
    assert second.score("3").score == 3.0
    second.close()
    assert first.score("4").score == 4.0
    first.close()
    assert lm.memory is None
    assert kept(tmp_path / "a.sqlite") == ["1", "4"]
    assert kept(tmp_path / "b.sqlite") == ["2", "3"]


def kept(path: Path) -> list[str]:
    """The texts that a journal of :func:`judging` holds the ratings of."""
    with Journal(path) as journal:
        found = [re.findall(r"<response>\\n(.*?)\\n</response>", request)[-1] for request, _ in journal.latest(100)]
    return found[::-1]


def test_what_one_evaluator_asks_is_in_no_journal_of_another_on_the_same_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ACTIVE_CRITIC_JOURNAL", str(tmp_path / "default.sqlite"))
    lm = judging(int, workers=2)
    with (
        from_protocol(PROGRAM, lm, journal=tmp_path / "a.sqlite") as a,
        from_protocol(PROGRAM, lm, journal=None) as none,
        from_protocol(PROGRAM, lm, journal=tmp_path / "b.sqlite") as b,
        from_protocol(PROGRAM, lm) as usual,
    ):
        for number, critic in enumerate((a, none, b, usual, a), start=1):
            assert critic.score(str(number)).score == number
        verdicts = [each.score_many(items(12)[10:]) for each in (a, none, b)]  # taken in turns
        assert [[next(one).score for one in verdicts] for _ in range(2)] == [[10.0] * 3, [11.0] * 3]
    assert sorted(kept(tmp_path / "a.sqlite"), key=int) == ["1", "5", "10", "11"]  # of two workers either may be first
    assert sorted(kept(tmp_path / "b.sqlite"), key=int) == ["3", "10", "11"]
    assert kept(tmp_path / "default.sqlite") == ["4"]


def test_threads_that_score_by_two_evaluators_on_one_model_keep_apart(tmp_path: Path) -> None:
    both = threading.Barrier(2)

    def rate(text: str) -> int:
        both.wait(20)
        return int(text)

    lm = judging(rate, workers=2)
    with (
        from_protocol(PROGRAM, lm, journal=tmp_path / "a.sqlite") as a,
        from_protocol(PROGRAM, lm, journal=None) as none,
        ThreadPoolExecutor(2) as pool,
    ):
        scored = [pool.submit(critic.score, text) for critic, text in ((a, "1"), (none, "2"))]
        assert [verdict.result(20).score for verdict in scored] == [1.0, 2.0]
    assert kept(tmp_path / "a.sqlite") == ["1"]


@pytest.mark.parametrize("own", ["default", None])
def test_a_memory_that_the_caller_holds_takes_all(tmp_path: Path, own: Any) -> None:
    lm = judging(int)
    with Journal(tmp_path / "mine.sqlite") as journal:
        lm.memory = journal
        with from_protocol(PROGRAM, lm, journal=own) as evaluator:
            evaluator.score("1")
        lm.memory = None
        with lm.remembering(journal), from_protocol(PROGRAM, lm, journal=tmp_path / "own.sqlite") as evaluator:
            evaluator.score("2")
        with lm.remembering(None), from_protocol(PROGRAM, lm, journal=tmp_path / "own.sqlite") as evaluator:
            evaluator.score("3")
    assert kept(tmp_path / "mine.sqlite") == ["1", "2"]
    assert not (tmp_path / "own.sqlite").exists()


def test_a_journal_that_the_caller_gave_the_model_stays_the_callers(tmp_path: Path) -> None:
    lm = judging(int)
    with Journal(tmp_path / "mine.sqlite") as journal:
        lm.memory = journal
        with from_protocol(PROGRAM, lm, journal=tmp_path / "other.sqlite") as evaluator:
            evaluator.score("1")
        assert lm.memory is journal
        assert len(journal) == 0
    assert kept(tmp_path / "other.sqlite") == ["1"]


def test_what_is_made_up_for_an_estimate_is_in_no_journal(tmp_path: Path) -> None:
    def work(lm: LanguageModel) -> None:
        with from_protocol(PROGRAM, lm, journal=tmp_path / "own.sqlite") as evaluator:
            list(evaluator.score_many(items(3)))

    found = estimate(judging(int), work, [])
    assert found.usage.calls == 3
    assert not (tmp_path / "own.sqlite").exists()


def test_what_the_model_is_asked_to_probe_an_evaluator_is_kept_with_its_scores(tmp_path: Path) -> None:
    seen: list[str] = []

    def answer(turns: list[Turn]) -> str:
        seen.append(turns[-1][1])
        return json.dumps({"text": "They were friendly.", "overall": 3, "justification": "so", "advice": "more"})

    lm = scripted_lm(answer)
    asked: list[int] = []
    for _ in range(2):
        with from_protocol(PROGRAM, lm, journal=tmp_path / "own.sqlite") as evaluator:
            given = [Example("He was friendly to all of them.", "What was he like?", 3.0, group="d1")]
            examine(evaluator, given, perturbations=MADE, by="model")
        asked.append(len(seen))
    assert 2 <= asked[0] == asked[1]
    assert lm.memory is None
