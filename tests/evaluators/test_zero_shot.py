from __future__ import annotations

from pathlib import Path

import pytest
from simulated import simulated_lm

from active_critic.data.examples import data_sha256
from active_critic.errors import DataError
from active_critic.evaluators import ZeroShot, load
from active_critic.evaluators.zero_shot import zero_shot_protocol
from active_critic.lm import Capabilities, Turn
from active_critic.protocols import Reading
from active_critic.records import Example, Scale

EXAMPLES = [Example("word " * n, "question", float(n % 5 + 1)) for n in range(1, 9)]


def test_nothing_is_learnt_but_the_scale() -> None:
    seen: list[list[Turn]] = []
    lm = simulated_lm(seen=seen)
    evaluator = ZeroShot(lm, journal=None)
    assert evaluator.fit(EXAMPLES, scale="1..5") is evaluator
    assert seen == []
    program = evaluator.fitted
    assert (program.evaluator, program.mode, program.criteria, program.demos) == ("zero-shot", "coarse", (), ())
    assert program.scale == Scale(low=1, high=5)
    assert program.provenance.n_train == 8
    assert program.provenance.data_sha256 == data_sha256(EXAMPLES)
    assert program.provenance.model == "scripted"


def test_one_plain_question_a_text() -> None:
    seen: list[list[Turn]] = []
    evaluator = ZeroShot(simulated_lm(seen=seen), journal=None).fit(EXAMPLES, scale="0..10")
    verdict = evaluator.score("word " * 24, "question")
    assert verdict.score == pytest.approx(5.0, abs=0.01)
    assert verdict.criteria == ()
    ((system, user),) = seen
    assert "Judge how good the response is as a response to its source." in system[1]
    assert "What these people look at" not in system[1]
    assert user[1].endswith("How good is the response?")


def test_the_reading_is_what_the_model_can_do_or_what_is_given() -> None:
    able, bare = simulated_lm(), simulated_lm(capabilities=Capabilities())
    scale = Scale(low=1, high=5)
    assert zero_shot_protocol(able, scale).reading == Reading()
    assert zero_shot_protocol(bare, scale).reading == Reading(low=0, high=100, source="text", order="reason_first")
    own = Reading(low=1, high=10, source="text")
    assert zero_shot_protocol(able, scale, own).reading == own


def test_a_second_fit_forgets_the_first() -> None:
    evaluator = ZeroShot(simulated_lm(), journal=None).fit(EXAMPLES, scale="1..5")
    evaluator.fit(EXAMPLES[:5], scale="0..10")
    fresh = ZeroShot(simulated_lm(), journal=None).fit(EXAMPLES[:5], scale="0..10")
    assert evaluator.fitted == fresh.fitted


def test_a_round_trip_gives_the_same_verdicts(tmp_path: Path) -> None:
    evaluator = ZeroShot(simulated_lm(), journal=None).fit(EXAMPLES, scale="1..5")
    loaded = load(evaluator.save(tmp_path / "z.json"), simulated_lm(), journal=None)
    assert isinstance(loaded, ZeroShot)
    assert loaded.fitted == evaluator.fitted
    given = [Example("word " * n, "question") for n in range(1, 30)]
    ours, theirs = ([v.to_dict() for v in one.score_many(given)] for one in (evaluator, loaded))
    assert ours == theirs


def test_bad_examples_are_a_clear_error() -> None:
    with pytest.raises(DataError):
        ZeroShot(simulated_lm(), journal=None).fit([{"response": "x", "score": "very good"}])
