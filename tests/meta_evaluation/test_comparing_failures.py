"""What goes wrong in a comparison: in one method, in all, or in what was asked for."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import pytest
from compared import QUICK, Asking, asking, examples, longer, model, noisy

from active_critic import errors
from active_critic.lm import Budget
from active_critic.lm.metering import ForNow
from active_critic.meta_evaluation import compare
from active_critic.meta_evaluation.methods import resolve


def test_a_budget_is_exact_for_each_method_and_leaves_the_others_alone() -> None:
    calls: list[str] = []
    methods = {"dear": asking("dear"), "cheap": asking("cheap")}
    found = compare(examples(), methods, model(calls), requests=20, **{**QUICK, "folds": 2})
    assert [sum(call.startswith(word) for call in calls) for word in methods] == [20, 20]
    first = found["dear"]
    assert [(f.split, f.stage, f.error) for f in first.failures] == [(1, "scoring", "BudgetSpent")]
    assert first.agreement.n == 12
    assert first.agreement.coverage == 0.5
    assert "budget of 20 requests" in first.unscored[1, 0]
    enough = compare(examples(), {"a": asking("dear")}, model(), requests=26, **{**QUICK, "folds": 2})
    assert not enough["a"].failures


@pytest.mark.parametrize("budget", ["26 calls", ["26 calls"], Budget(calls=26)])
def test_an_amount_is_for_all_methods_together_and_for_this_comparison_alone(budget) -> None:
    lm = model()
    how = {**QUICK, "folds": 2}
    found = compare(examples(), {"a": asking("a"), "b": asking("b")}, lm, budget=budget, **how)
    assert (found["a"].failures, found["a"].needs.calls) == ((), 26)
    assert [failure.error for failure in found["b"].failures] == ["BudgetSpent"] * 2
    assert found.settings["budget"] == "26 calls"
    assert lm.budget is None
    assert not compare(examples(), {"b": asking("b")}, lm, requests=26, **how)["b"].failures
    with pytest.raises(errors.DataError, match="'plenty' is no budget"):
        compare(examples(), {"a": asking("a")}, "no such model", budget="plenty", **how)
    with pytest.raises(errors.FitError, match="requests must be a whole number"):
        compare(examples(), {"a": asking("a")}, "no such model", requests=2.5, **how)


def test_a_failure_loses_one_split_of_one_method() -> None:
    tries: list[int] = []

    def second_time(data):
        tries.append(len(data))
        if len(tries) == 2:
            raise errors.FitError("not with these")

    methods = {"a": asking("a", fails=second_time), "b": asking("b", mark=noisy)}
    found = compare(examples(), methods, model(), **QUICK)
    broken = found["a"]
    assert [(f.split, f.stage, f.error, f.reason) for f in broken.failures] == [
        (1, "fit", "FitError", "not with these")
    ]
    assert broken.agreement.n == 24 - len(found.splits[1].test)
    assert broken.agreement.parts == 2
    assert broken.scores[1] == (None,) * len(found.splits[1].test)
    assert broken.signatures[1] is None
    assert broken.signatures[0] is not None
    assert found["b"].agreement.n == 24
    assert found.baseline == "b"  # figures of fewer splits come after whole ones
    assert any("a failed in 1 of 3 splits, first in its fit: not with these" in said for said in found.words)
    assert (broken.agreement.mean or 0) > (found["b"].agreement.mean or 0)  # and yet it is said to be the best
    assert found.words[0].startswith("a has the highest mean")
    assert found.words[0].endswith(f"but of {broken.agreement.n} of 24 examples only.")
    assert any("the best one of those that scored 90% in all splits" in said for said in found.words)


def test_a_method_that_scores_few_examples_is_no_baseline_however_well_it_agrees() -> None:
    def few(example):
        return "no number" if int(example.response.split()[1]) % 3 else longer(example)

    found = compare(examples(), {"few": asking("few", mark=few), "b": asking("b", mark=noisy)}, model(), **QUICK)
    assert (found["few"].agreement.n, found["few"].failures) == (8, ())
    assert (found["few"].agreement.mean or 0) > (found["b"].agreement.mean or 0)
    assert not found["few"].whole
    assert found.baseline == "b"


def test_a_method_that_scored_too_few_documents_has_no_interval_and_that_is_said() -> None:
    def few(example):
        return "no number" if int(example.response.split()[1]) % 6 else longer(example)

    methods = {"few": asking("few", mark=few), "b": asking("b", mark=noisy)}
    found = compare(examples(), methods, model(), **{**QUICK, "resamples": 100})
    assert found["few"].agreement.mean_interval is None
    assert found["b"].agreement.mean_interval is not None
    said = "few left 20 of 24 examples unscored, and has no interval: what it scored is of 4 documents."
    assert [sentence for sentence in found.words if "interval" in sentence] == [said]


def test_without_resamples_nothing_is_said_of_chance() -> None:
    found = compare(examples(), {"a": asking("a"), "b": asking("b", mark=noisy)}, model(), **{**QUICK, "resamples": 0})
    said = " ".join(found.words)
    assert "was not tested" in said
    assert "chance could explain" not in said
    assert "Not to be told" not in said


FOR_ALL = [
    errors.AuthenticationFailed,
    errors.BillingStopped,
    errors.EndpointDown,
    errors.RateLimited,
    errors.UnknownModel,
]


def failing(kind, *splits):
    """Fails in these of its splits, counted from 0."""
    begun = itertools.count()

    def fails(data):
        if next(begun) in splits:
            raise kind("no")

    return fails


@pytest.mark.parametrize("kind", FOR_ALL)
def test_a_failure_that_all_would_share_stops_at_once_until_something_worked(kind) -> None:
    asked: list[str] = []
    with pytest.raises(kind) as caught:
        compare(examples(), {"a": asking("a", fails=failing(kind, 0)), "b": asking("b")}, model(asked), **QUICK)
    assert asked == []
    assert not hasattr(caught.value, "__notes__")
    found = compare(examples(), {"b": asking("b"), "a": asking("a", fails=failing(kind, 0, 2))}, model(), **QUICK)
    assert [(failure.split, failure.reason) for failure in found["a"].failures] == [(0, "no"), (2, "no")]


@pytest.mark.parametrize("kind", FOR_ALL)
def test_two_splits_in_a_row_that_end_as_all_would_stop_everything(kind) -> None:
    asked: list[str] = []
    methods = {
        "b": asking("b"),
        "a": asking("a", fails=failing(kind, 2)),
        "surface": resolve(["surface"])["surface"],  # asks no model, and so tells nothing of it
        "c": asking("c", fails=failing(kind, 0, 1, 2)),
    }
    with pytest.raises(kind) as caught:
        compare(examples(), methods, model(asked), **QUICK)
    (note,) = caught.value.__notes__
    assert "2 splits in a row that ended like this, the last of c" in note
    assert "Before you run it, try: active-critic lm check scripted; where that works, leave c out" in note
    assert not any(question.startswith("c") for question in asked)


def test_failures_of_one_method_s_own_do_not_add_up() -> None:
    methods = {"b": asking("b"), "a": asking("a", fails=failing(errors.FitError, 0, 1, 2))}
    assert len(compare(examples(), methods, model(), **QUICK)["a"].failures) == 3


def test_a_method_that_says_one_thing_only_has_no_coefficient_and_that_is_no_error() -> None:
    methods = {
        "flat": asking("a", mark=lambda e: 3.0),
        "never": asking("b", mark=lambda e: "too odd"),
        "c": asking("c"),
    }
    found = compare(examples(), methods, model(), **QUICK)
    flat, never = found["flat"], found["never"]
    assert (flat.agreement.mean, flat.agreement.n, flat.failures) == (None, 24, ())
    assert "constant agrees with nobody" in flat.undefined
    assert flat.mae is not None
    assert flat.over_baseline.difference.delta is None
    assert flat.over_baseline.p_holm is None
    assert (never.agreement.n, never.mae) == (0, None)
    assert never.undefined == "no example was scored: too odd"
    assert never.unscored[0, 0] == "too odd"
    alone = compare(examples(), {"flat": methods["flat"]}, model(), **QUICK)
    assert alone.baseline is None
    assert alone.words[0] == "No method could be measured."


def test_a_journal_that_cannot_be_written_stops_everything() -> None:
    class Full(ForNow):
        def keep(self, key, request, reply):
            if len(self._replies) == 30:
                raise errors.JournalError("the disk is full")
            super().keep(key, request, reply)

    lm = model(asked := [])
    with lm.remembering(Full()), pytest.raises(errors.JournalError, match="full"):
        compare(examples(), {"a": asking("a"), "b": asking("b")}, lm, **QUICK)
    assert 31 <= len(asked) <= 27 + 1 + 8, "nothing of a later split is asked"


def test_a_mistake_in_one_method_loses_that_one_only_and_says_where() -> None:
    def divides(example):
        return len(example.response) / 0

    found = compare(examples(), {"a": asking("a", mark=divides), "b": asking("b")}, model(workers=4), **QUICK)
    failure = found["a"].failures[0]
    assert (failure.stage, failure.error) == ("scoring", "ZeroDivisionError")
    assert re.fullmatch(rf"ZeroDivisionError: division by zero \({Path(__file__).name}, line \d+\)", failure.reason)
    assert found["a"].agreement.n == 0
    assert found["b"].agreement.n == 24
    assert any(said.startswith("a failed in 3 of 3 splits, first in its scoring: Zero") for said in found.words)


def test_of_a_single_split_no_number_is_said() -> None:
    def fails(data):
        raise errors.FitError("not with these")

    found = compare(examples(), {"a": asking(fails=fails)}, model(), train=0.5, resamples=0, journal=None)
    assert "a failed in its fit: not with these" in found.words


@pytest.mark.parametrize("names", [["human"], ["a", "a_unscored"], [""], ["example", "b"], ["id"], ["row"]])
def test_a_name_that_another_column_has_is_refused_before_anything_is_paid_for(names) -> None:
    asked: list[str] = []
    with pytest.raises(errors.FitError, match="method"):
        compare(examples(), {name: asking() for name in names}, model(asked), **QUICK)
    assert asked == []


def test_the_wrong_number_of_verdicts_is_a_failure() -> None:
    class Short(Asking):
        def score_many(self, items, **how):
            return iter(list(super().score_many(items, **how))[1:])

    found = compare(examples(), {"short": Short, "a": asking("a")}, model(), **QUICK)
    assert "it gave 7 verdicts for 8 examples" in found["short"].failures[0].reason


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ({"requests": 0}, "at least 1, not 0"),
        ({"seed": -1}, "seed must be a whole number of at least 0, not -1"),
        ({"resamples": -1}, "resamples.*not -1"),
        ({"resamples": 10**30}, "resamples must be a whole number from 0 to 1,000,000, not 1000"),
        ({"repeats": 10**30}, "repeats must be a whole number from 1 to 1,000, not 1000"),
        ({"requests": 2**63}, "requests must be a whole number from 1 to 9,223,372,036,854,775,807, not 9223"),
    ],
)
def test_numbers_that_cannot_be_are_refused_before_anything_is_paid_for(how, said) -> None:
    asked: list[str] = []
    with pytest.raises(errors.FitError, match=said):
        compare(examples(), {"a": asking("a")}, model(asked), **{**QUICK, **how})
    assert asked == []
