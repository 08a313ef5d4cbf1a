"""A fit whose budget is spent on the way: the best so far is returned, and said to be that."""

from __future__ import annotations

import pytest
from simulated import simulated_lm

import active_critic
from active_critic.errors import BudgetSpent, DataError, FitError
from active_critic.evaluators import ActiveCritic, Surface
from active_critic.evaluators._readings import ANYHOW
from active_critic.journal import Journal
from active_critic.lm import Budget
from active_critic.records import Example

SETTINGS = {"candidates": 3, "demos": 2, "max_batches": 1, "seed": 1}


def examples(count: int = 30) -> list[Example]:
    texts = [f"Reply {i}: " + "word " * (3 * (i % 7)) for i in range(count)]
    return [Example(text, f"question {i // 2}", 1.0 + i % 5, group=f"d{i // 2}") for i, text in enumerate(texts)]


def approves(turns) -> float:
    return 0.2 + len(turns[-1][1]) % 60 / 100


def spend(budget: Budget | None, **settings):
    lm = simulated_lm(workers=4, approves=approves)
    lm.budget = budget
    critic = ActiveCritic(lm, journal=None, **{**SETTINGS, **settings})
    critic.fit(examples(), scale="1..5")
    return critic, lm


@pytest.fixture(scope="module")
def stages() -> dict[str, int]:
    """Calls that each stage of the whole fit makes, and of what comes before the search."""
    critic, _ = spend(None)
    found = {stage: usage.calls for stage, usage in critic.report_.usage.items()}
    found["to approval"] = found["task inference"] + found["approval"]
    return {**found, "before": found["to approval"] + found[ANYHOW]}


def test_spent_while_the_task_is_inferred_it_ends_and_what_was_paid_for_is_kept(tmp_path) -> None:
    with Journal(tmp_path / "j.sqlite") as journal:
        lm = simulated_lm()
        lm.memory, lm.budget = journal, Budget(calls=2)
        critic = ActiveCritic(lm, journal=None, **SETTINGS)
        with pytest.raises(BudgetSpent, match="2 calls is spent"):
            critic.fit(examples(), scale="1..5")
        assert critic.protocol_ is None
        assert len(journal) == 2


def test_spent_in_the_first_round_the_program_has_no_demonstrations(stages) -> None:
    critic, lm = spend(Budget(calls=stages["before"] + 20))
    assert lm.usage.calls == stages["before"] + 20
    assert critic.fitted.demos == ()
    assert critic.report_ is None
    notes = " ".join(critic.fitted.provenance.notes)
    assert "not even one round was; the program has no demonstrations" in notes
    assert "held-out folds was not measured" in notes
    assert "give no more different sets" not in notes


def test_spent_while_demonstrations_are_written_the_program_has_none(stages) -> None:
    critic, _ = spend(Budget(calls=stages["before"] + 1))
    assert critic.fitted.demos == ()
    notes = " ".join(critic.fitted.provenance.notes)
    assert "1 of 4 demonstrations were written" in notes
    assert "read without the rating: before the budget was spent, too few examples were rated" in notes
    assert "demonstrations, which only the report" not in notes  # no score depends on them
    assert {"approval"} <= critic.fitted.calibration.shares.keys() <= {"approval", "surface"}


def test_a_score_that_is_read_without_the_rating_is_that_of_the_other_readings(stages, tmp_path) -> None:
    critic, lm = spend(Budget(calls=stages["before"] + 1), mode="coarse", use_surface="never")
    lm.budget = None
    calls = lm.usage.calls
    loaded = active_critic.load(critic.save(tmp_path / "p.json"), lm, journal=None)
    given = examples(10)
    silent, told = (list(loaded.score_many(given, explain=explain)) for explain in (False, True))
    assert lm.usage.calls == calls + 20 + 30  # without an explanation no rating is asked for
    assert [verdict.score for verdict in silent] == [verdict.score for verdict in told]
    assert all(set(verdict.parts) == {"approval"} for verdict in silent)
    assert len({verdict.score for verdict in silent}) > 1
    assert all(verdict.explanation for verdict in told)


def test_spent_in_a_later_round_the_leader_of_the_last_whole_one_is_returned(stages) -> None:
    # Of 30 examples, 8 are the first round for all three candidates and 16 the second, in two calls each.
    critic, lm = spend(Budget(calls=stages["before"] + stages["demo search"] - 3))
    whole, _ = spend(None)
    assert lm.usage.calls == stages["before"] + stages["demo search"] - 3
    assert any("the best candidate by 16 of 30 examples was taken" in n for n in critic.fitted.provenance.notes)
    asked = {candidate.index: candidate.asked for candidate in whole.candidates_}
    winner = next(candidate for candidate in critic.candidates_ if candidate.wins)
    assert asked[winner.index] == 30  # it went on to the second round in the whole search, too
    assert len(critic.fitted.demos) == (2 if winner.index else 0)


def test_spent_in_the_search_the_score_is_combined_all_the_same(stages) -> None:
    whole, _ = spend(None)
    assert "approval" in whole.fitted.calibration.shares
    critic, _ = spend(Budget(calls=stages["before"] + stages["demo search"] - 3))
    assert "approval" in critic.fitted.calibration.shares


def test_spent_before_a_reading_is_whole_the_score_is_read_without_it(stages) -> None:
    critic, lm = spend(Budget(calls=stages["to approval"] - 1))
    assert lm.usage.calls == stages["to approval"] - 1
    assert any("read without the approval: the budget of" in note for note in critic.fitted.provenance.notes)
    assert critic.fitted.calibration is None  # nor is there a rating to combine


def test_spent_before_it_is_known_what_is_good_anyhow_praise_is_not_discounted(stages) -> None:
    critic, lm = spend(Budget(calls=stages["before"] - 1))
    assert lm.usage.calls == stages["before"] - 1
    assert any("praise is not discounted: the budget of" in note for note in critic.fitted.provenance.notes)
    assert critic.fitted.calibration.foreign is None
    whole, _ = spend(None)
    assert whole.fitted.calibration.foreign is not None


def test_spent_while_it_is_measured_it_is_the_whole_program_without_a_report(stages) -> None:
    critic, _ = spend(Budget(calls=stages["before"] + stages["demo search"] + 1))
    whole, _ = spend(None)
    assert critic.fitted.demos == whole.fitted.demos
    assert critic.report_ is None
    assert critic.fitted.provenance.report == {}
    assert any("not measured: the budget of" in note for note in critic.fitted.provenance.notes)


def test_scoring_leaves_what_is_not_paid_for_unscored_with_the_reason(stages) -> None:
    critic, lm = spend(None, report=False)
    lm.budget = Budget(calls=7)
    verdicts = list(critic.score_many(examples(10)))
    scored = [verdict for verdict in verdicts if verdict.score is not None]
    assert lm._purse.account is not None
    assert lm._purse.account.spent.calls == 7
    assert 1 <= len(scored) <= 4
    assert all("the budget of 7 calls is spent" in (v.unscored or "") for v in verdicts if v.score is None)


def test_a_budget_that_pays_for_a_part_of_the_items_is_spent_on_verdicts() -> None:
    critic, lm = spend(None, report=False, use_approval="always", discount_praise="never")
    assert critic.judge().questions == ("overall", "approval")
    lm.budget = Budget(calls=100)
    verdicts = list(critic.score_many(examples(200), explain=False))
    # Three calls each, of twelve items before the next twelve: of 100 calls 72 are sure to be in verdicts.
    assert sum(verdict.score is not None for verdict in verdicts) >= 24


def test_a_small_budget_is_spent_on_as_many_verdicts_as_it_can_pay_for() -> None:
    critic, lm = spend(None, report=False, use_approval="always", discount_praise="never")
    assert critic.judge().questions == ("overall", "approval")
    lm.workers = 1
    lm.budget = Budget(calls=20)
    verdicts = list(critic.score_many(examples(30), explain=False))
    assert sum(verdict.score is not None for verdict in verdicts) == 20 // 3  # three calls each, as above


@pytest.mark.parametrize("budget", ["20 calls", ["20 calls", "1h"], Budget(calls=20)])
def test_a_fit_takes_a_budget_of_its_own_in_words_or_made(budget) -> None:
    lm = simulated_lm()
    critic = active_critic.fit(examples(), lm=lm, scale="1..5", journal=None, budget=budget, **SETTINGS)
    assert lm.usage.calls == 20
    assert "budget of 20 calls is spent" in " ".join(critic.fitted.provenance.notes)
    assert "budget" not in critic.fitted.provenance.settings
    assert lm.budget is None
    with critic.spending("2 calls"):
        verdicts = list(critic.score_many(examples(8), explain=False))
    assert "the budget of 2 calls is spent" in (verdicts[-1].unscored or "")
    assert critic.score("a text", explain=False).score is not None


def test_a_budget_that_is_none_is_told_before_the_model_is_opened() -> None:
    with pytest.raises(DataError, match="100 is no budget; write for example"):
        active_critic.fit(examples(), lm="no such model", scale="1..5", journal=None, budget=100)
    with pytest.raises(FitError, match="no language model"):
        Surface().fit(examples(), scale="1..5", budget="5 calls")
