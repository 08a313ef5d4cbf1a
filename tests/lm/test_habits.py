from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from active_critic.evaluators import ActiveCritic
from active_critic.journal import Journal
from active_critic.lm import LanguageModel, scripted_lm
from active_critic.lm.filling import form_filling_lm
from active_critic.lm.habits import BELIEVED, LENGTHS, REST, SHARE, TRUE, Habits, habits_of
from active_critic.lm.rehearsal import estimate
from active_critic.records import Example


def kept(lm: LanguageModel, filled: Mapping[str, Any] | str) -> tuple[str, str]:
    text = filled if isinstance(filled, str) else json.dumps(filled)
    return json.dumps({"model": lm.identity}), json.dumps({"text": text, "usage": {}})


def test_without_replies_a_model_is_taken_to_write_as_embedded_ones_do() -> None:
    habits = Habits()
    assert habits.length("definition", 200) == LENGTHS["definition"]
    assert habits.length("reason", 400) == REST
    assert habits.length("reason", 40) == SHARE * 40


def test_replies_in_the_journal_count_beside_what_is_believed() -> None:
    lm = scripted_lm(lambda _: "x")
    replies = [kept(lm, {"notes": {"definition": "x" * 200, "complete": True, "criteria": ["a"] * 9}})] * 8
    found = habits_of(lm, replies)
    assert found.replies == 8
    assert found.length("definition", 600) == round((8 * 200 + BELIEVED * LENGTHS["definition"]) / (8 + BELIEVED))
    assert found.entries["criteria"] == (8 * 9 + BELIEVED * 4) / (8 + BELIEVED)
    assert found.true["complete"] == (8 + BELIEVED * TRUE) / (8 + BELIEVED)


def test_a_model_that_says_the_same_again_has_nothing_new_to_say() -> None:
    lm = scripted_lm(lambda _: "x")
    says = [kept(lm, {"notes": {"observations": said, "complete": False}}) for said in ("One.", "Two.", "One.", "Two.")]
    assert habits_of(lm, says).true["complete"] == (2 + BELIEVED * TRUE) / (4 + BELIEVED)


def test_numbered_fields_are_alike_and_unknown_ones_are_as_the_others() -> None:
    lm = scripted_lm(lambda _: "x")
    found = habits_of(lm, [kept(lm, {"reasons": {"Tone": "x" * 30, "Accuracy": "x" * 50}, "step_1": "x" * 10})])
    assert found.length("step_12", 100) == 10
    assert found.length("Courage", 100) == 30  # the mean of 30, 50 and 10
    assert found.length("Courage", 20) == 20
    assert found.length("definition", 600) == LENGTHS["definition"]


@pytest.mark.parametrize("reply", ["4", "", "{no json", "[1]", '{"a": ' + "[" * 100_000])
def test_what_is_no_form_says_nothing(reply: str) -> None:
    lm = scripted_lm(lambda _: "x")
    assert habits_of(lm, [kept(lm, reply), ("no", "json"), ("{}", "{}")]).replies == 0


def test_a_form_among_other_words_counts_and_that_of_another_model_does_not() -> None:
    lm, other = scripted_lm(lambda _: "x"), scripted_lm(lambda _: "x", name="other")
    assert habits_of(lm, [kept(lm, '```json\n{"a": "xyz"}\n```')]).length("a", 50) == 3
    assert habits_of(lm, [kept(other, {"a": "xyz"})]).replies == 0


def test_after_one_fit_the_estimate_of_the_next_knows_how_much_the_model_writes(tmp_path) -> None:
    def examples(subject: str) -> list[Example]:
        texts = [f"{subject} {i}: " + "word " * (3 * (i % 7)) for i in range(24)]
        return [Example(text, f"{subject} {i // 3}", 1.0 + i % 5, group=f"d{i // 3}") for i, text in enumerate(texts)]

    lm = form_filling_lm(lambda text: 1 + len(text) % 5, saying="And another thing that has to be said of it. " * 8)

    def fit(model: LanguageModel, subject: str) -> None:
        given = {"task_description": "Replies.", "criteria": {"Tone": "It is kind.", "Accuracy": "It is true."}}
        critic = ActiveCritic(model, **given, candidates=3, demos=2, report=False, journal=None)
        critic.fit(examples(subject), scale="1..5")
        assert len(list(critic.score_many(examples(subject)))) == 24

    with Journal(tmp_path / "j.sqlite") as journal:
        lm.memory = journal
        fit(lm, "reply")
        before = lm.usage
        blind = estimate(lm, lambda twin: fit(twin, "letter"), [])
        seeing = estimate(lm, lambda twin: fit(twin, "letter"), journal.latest(2000))
        fit(lm, "letter")
    real = (lm.usage - before).completion_tokens
    assert blind.usage.completion_tokens < 0.6 * real
    assert seeing.usage.completion_tokens == pytest.approx(real, rel=0.2)
    assert any("in the journal" in note for note in seeing.notes)
    assert not any("in the journal" in note for note in blind.notes)
