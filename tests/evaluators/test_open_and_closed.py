"""When an evaluator opens its model, and what it tells of it afterwards."""

from __future__ import annotations

import copy
import json
import pickle
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import dspy
import pytest

from active_critic.evaluators import Evaluator, from_protocol
from active_critic.lm import LanguageModel, scripted_lm
from active_critic.protocols import CriticProtocol, Provenance, Reading
from active_critic.records import Scale, Usage

PROGRAM = CriticProtocol(
    evaluator="zero-shot",
    mode="coarse",
    task_description="Judge.",
    scale=Scale(low=0, high=100),
    reading=Reading(low=0, high=100, source="text"),
    provenance=Provenance(model="scripted"),
)


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[LanguageModel]:
    """The models that were opened, each of which takes a while."""
    found: list[LanguageModel] = []

    def open_slowly(name: Any) -> LanguageModel:
        time.sleep(0.05)
        found.append(scripted_lm(lambda turns: json.dumps({"overall": 50, "justification": "so", "advice": "more"})))
        return found[-1]

    monkeypatch.setattr("active_critic.evaluators.opened.open_lm", open_slowly)
    return found


def critic() -> Evaluator:
    return from_protocol(PROGRAM, "a model", journal=None)


def test_threads_that_share_an_evaluator_open_one_model(opened: list[LanguageModel]) -> None:
    shared = pickle.loads(pickle.dumps(critic()))
    with shared, ThreadPoolExecutor(4) as pool:
        scores = list(pool.map(lambda i: shared.score(f"text {i}").score, range(4)))
    assert scores == [50.0] * 4
    assert len(opened) == 1


def test_usage_is_that_of_all_models_so_far_and_opens_none(opened: list[LanguageModel]) -> None:
    judge = critic()
    assert (judge.usage, opened) == (Usage(), [])
    for run in (1, 2):
        with judge:
            judge.score("a text")
            assert judge.usage.calls == run
        judge.close()
        assert judge.usage.calls == run
        assert judge.usage.completion_tokens == sum(model.usage.completion_tokens for model in opened)
        assert len(opened) == run


def test_usage_of_a_shared_model_is_the_own_part(tmp_path: Path) -> None:
    lm = scripted_lm(lambda turns: json.dumps({"overall": 50, "justification": "so", "advice": "more"}))
    one, other = from_protocol(PROGRAM, lm, journal=None), from_protocol(PROGRAM, lm, journal=tmp_path / "j.sqlite")
    with one, other:
        one.score("a text")
        assert (one.usage.calls, other.usage.calls) == (1, 0)
        for _ in range(2):
            other.score("a text")
        with one.remembering():  # a block within a block, as where one evaluator's work calls for more of it
            one.score("another text")
        lm.ask([("user", "a question of somebody else")], max_tokens=1)
        assert (one.usage.calls, one.usage.replayed) == (2, 0)
        assert (other.usage.calls, other.usage.replayed) == (1, 1)
    assert (one.usage.calls, other.usage.calls, lm.usage.calls) == (2, 1, 4)


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda judge: pickle.loads(pickle.dumps(judge))])
def test_a_copy_of_an_evaluator_in_use_opens_its_own_model_and_journal(
    opened: list[LanguageModel], tmp_path: Path, copied: Callable[[Evaluator], Evaluator]
) -> None:
    with from_protocol(PROGRAM, "a model", journal=tmp_path / "journal.sqlite") as judge:
        before = judge.score("a text").score
        with copied(judge) as other:
            assert other.score("a text").score == other.score("another text").score == before
        assert judge.score("a third text").score == before  # not closed with the copy
    assert len(opened) == 2


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy])
def test_a_copy_of_an_evaluator_shares_the_opened_model_that_it_was_given(
    copied: Callable[[Evaluator], Evaluator],
) -> None:
    lm = scripted_lm(lambda turns: json.dumps({"overall": 50, "justification": "so", "advice": "more"}))
    judge = from_protocol(PROGRAM, lm, journal=None)
    other = copied(judge)
    with other:
        assert other.score("a text").score == 50.0
    assert judge.score("another text").score == 50.0  # not closed with the copy
    assert other.model is judge.model is lm
    assert lm.usage.calls == 2


def test_the_key_of_a_dspy_lm_is_in_no_pickle() -> None:
    lm = dspy.LM("openai/mine", api_base="http://127.0.0.1:9/v1", api_key="sk-not-a-real-key", cache=False)
    judge = from_protocol(PROGRAM, lm, journal=None)
    with pytest.raises(
        TypeError, match=r"its key would be written too; save\(\) the program, and have each process load"
    ):
        pickle.dumps(judge)
    assert copy.copy(judge).lm is judge.lm is lm
    assert copy.deepcopy(judge).lm.model == lm.model


def test_an_opened_model_says_why_it_cannot_be_pickled() -> None:
    lm = scripted_lm(lambda turns: "", name="mine")
    for given in (lm, from_protocol(PROGRAM, lm, journal=None)):
        with pytest.raises(
            TypeError, match=r"LanguageModel\('mine'\) is open and cannot be pickled; give .* open_lm\(\)"
        ):
            pickle.dumps(given)
