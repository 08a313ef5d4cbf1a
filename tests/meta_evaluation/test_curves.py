from __future__ import annotations

import json
from functools import partial
from itertools import pairwise

import numpy as np
import pytest
from compared import asking, model, without_time
from curved import FLAT, QUICK, RISING, Learner, labelled, learner, truth
from simulated import simulated_lm

from active_critic import errors
from active_critic.data.examples import example_key, group_of
from active_critic.lm import scripted_lm
from active_critic.meta_evaluation.curves import curve, draw
from active_critic.stats import agreement, holm


def test_training_sets_are_nested_and_tests_the_same_at_every_size() -> None:
    seen: list[list[str]] = []
    tested: list[list[str]] = []

    class Watched(Learner):
        def score_many(self, items, **how):
            tested.append([example_key(item) for item in items])
            return super().score_many(items, **how)

    data = labelled()
    found = curve(data, {"mine": lambda lm: Watched(lm, lambda labels: 1.0, seen=seen)}, model(), **QUICK)
    assert [len(keys) for keys in seen] == [5, 5, 10, 10, 20, 20]
    for repeat, split in enumerate(found.repeats):
        sets = [set(keys) for keys in seen[repeat::2]]
        assert all(small < large for small, large in pairwise(sets))
        assert all(keys == tested[repeat] for keys in tested[repeat::2])
        assert sets[-1] == {example_key(data[i]) for i in split.pool[:20]}
        assert sets[-1].isdisjoint(tested[repeat])
        assert {group_of(data[i]) for i in split.pool}.isdisjoint(group_of(data[i]) for i in split.test)
        assert len(split.pool) + len(split.test) == len(data)
    assert set(found.repeats[0].test) != set(found.repeats[1].test)


def test_the_figures_are_those_of_the_statistics() -> None:
    data = labelled()
    found = curve(data, FLAT, model(), seed=3, **QUICK)
    tests = [(number, i) for number, split in enumerate(found.repeats) for i in split.test]
    human, groups = [data[i].score for _, i in tests], [group_of(data[i]) for _, i in tests]
    how = {"parts": [number for number, _ in tests], "resamples": 60, "seed": 3}
    for point in found.points:
        scores = [score for part in point.result.scores for score in part]
        assert point.agreement == agreement(scores, human, groups, **how)
        assert point.mean.value == pytest.approx(point.agreement.mean)
        assert point.mean.interval[0] < point.mean.value < point.mean.interval[1]
        assert len(point.documents) == 2
    assert found.points[0].gain is None
    gains = [point.gain for point in found.points[1:]]
    assert [gain.value for gain in gains] == [0.0, 0.0]
    p = [*gains, found.over_zero_shot, found.over_floor]
    assert [one.p_holm for one in p] == holm([one.p for one in p])
    assert found.trend_sizes == (5, 10, 20)
    assert found.trend.value == pytest.approx(0.0)


def test_an_evaluator_that_learns_is_seen_to_learn() -> None:
    found = curve(labelled(120), RISING, model(), **{**QUICK, "sizes": [40, 5, 10, 20, 10]})
    assert [point.labels for point in found.points] == [5, 10, 20, 40]
    means = [point.mean.value for point in found.points]
    assert means == sorted(means)
    assert found.trend_sizes == (10, 20, 40)
    assert found.trend.value == pytest.approx((means[3] - means[1]) / 2)  # three points, evenly spaced
    assert found.points[-1].floor.agreement.mean is not None
    assert found.over_floor is not None


def test_a_request_of_two_sizes_is_paid_for_once_and_counts_for_each() -> None:
    calls: list[str] = []
    found = curve(labelled(), FLAT, model(calls), **QUICK)
    ours = [call for call in calls if call.startswith("rate")]
    assert len(ours) == len(set(ours))
    tested = {i for repeat in found.repeats for i in repeat.test}
    assert len(ours) == len(tested) + 3 * 2
    for point in found.points:
        assert (point.result.fit.calls, point.result.scoring.calls) == (2, len(tested))
    assert found.zero_shot.result.fit.calls == 0


def test_an_interrupted_curve_goes_on_where_it_was_and_ends_the_same(tmp_path) -> None:
    whole = curve(labelled(30), FLAT, model(), **{**QUICK, "sizes": [5, 10], "journal": tmp_path / "whole.sqlite"})
    calls: list[str] = []
    for life in range(1, 30):

        def answer(turns, life=life):
            if len(calls) == 11 * life:
                raise KeyboardInterrupt
            calls.append(turns[-1][1])
            return "yes, I did"

        try:
            how = {**QUICK, "sizes": [5, 10], "journal": tmp_path / "j.sqlite"}
            found = curve(labelled(30), FLAT, scripted_lm(answer), **how)
            break
        except KeyboardInterrupt:
            assert len(calls) == 11 * life
    assert life > 2
    ours = [call for call in calls if call.startswith("rate")]
    assert len(ours) == len(set(ours))
    assert without_time(found.to_dict()) == without_time(whole.to_dict())
    before = len(calls)
    curve(labelled(30), FLAT, scripted_lm(answer), **how)
    assert len(calls) == before


def test_a_budget_is_for_the_whole_curve_and_the_small_sizes_come_first() -> None:
    calls: list[object] = []
    found = curve(labelled(), FLAT, simulated_lm(), **QUICK)
    needs = found.zero_shot.result.needs.calls + found.points[0].result.needs.calls
    found = curve(labelled(), FLAT, simulated_lm(seen=calls), requests=needs, **QUICK)
    assert len(calls) <= needs
    assert found.points[0].result.failures == ()
    assert [len(point.result.failures) for point in found.points[1:]] == [2, 2]
    assert "budget" in found.points[1].result.failures[0].reason
    assert found.points[2].mean.value is None
    assert found.advice == "unclear"


def test_an_amount_limits_what_the_curve_spends() -> None:
    lm = simulated_lm()
    found = curve(labelled(), FLAT, lm, budget="60 calls", **QUICK)
    assert lm.usage.calls == 60
    assert lm.budget is None
    assert found.settings["budget"] == "60 calls"
    assert "the budget of 60 calls is spent" in found.points[-1].result.failures[0].reason


def test_a_size_at_which_the_fit_fails_loses_its_own_figures_only() -> None:
    def fails(data):
        if len(data) == 10:
            raise errors.FitError("ten are too many")

    found = curve(labelled(), learner(lambda labels: 1.0, fails=fails), model(), **QUICK)
    assert [point.mean.value is None for point in found.points] == [False, True, False]
    assert found.points[2].gain.value is None
    assert found.trend is None
    assert any("With 10 labels it failed in 2 of 2 repeats: ten are too many" in said for said in found.words)
    assert found.words[-1] == "Advice: none; the last step cannot be measured, as 10 labels have no coefficient."
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False)) == found.to_dict()


def test_evaluators_of_the_package_by_name() -> None:
    settings = {"candidates": 2, "demos": 1, "max_batches": 1}
    found = curve(labelled(30), lm=simulated_lm(), settings=settings, **{**QUICK, "sizes": [5, 10]})
    assert found.evaluator == "active-critic-coarse"
    assert found.zero_shot.result.name == "zero-shot"
    assert found.zero_shot.agreement.mean > 0.8
    assert found.settings["evaluator"] == {**settings, "seed": 0}
    assert not any(point.result.failures for point in found.points)
    assert found.points[1].result.fit.calls > 0


def test_the_surface_floor_opens_no_model_and_stands_beside_nothing() -> None:
    found = curve(labelled(), "surface", "no such model", **QUICK)
    assert found.model is None
    assert (found.zero_shot, found.over_zero_shot, found.over_floor) == (None, None, None)
    assert [point.floor for point in found.points] == [None] * 3
    assert found.points[-1].mean.value > 0.5
    alone = curve(labelled(), "zero-shot", simulated_lm(), **QUICK)
    assert alone.zero_shot is None
    assert [point.gain.value for point in alone.points[1:]] == [0.0, 0.0]


def test_arguments_of_numpy_give_the_same_document() -> None:
    numpys = {"sizes": np.array([5, 20]), "repeats": np.int64(2), "seed": np.int32(1), "test": np.float32(0.5)}
    of = partial(curve, labelled(), "surface", journal=None)
    found = of(**numpys, resamples=np.int64(40), test_documents=np.int64(9))
    plain = of(sizes=[5, 20], repeats=2, seed=1, test=0.5, resamples=40, test_documents=9)
    assert json.dumps(without_time(found.to_dict())) == json.dumps(without_time(plain.to_dict()))


def test_sizes_that_there_are_no_labels_for_are_left_out_and_said() -> None:
    possible, repeats, notes = draw(labelled(), [5, 20, 50, 100], test=0.5)
    assert possible == [5, 20]
    assert len(repeats) == 3
    assert "left out: 50, 100; there are 30 labels for training when 50% of the 60 examples are kept" in notes[-1]
    fewer = draw(labelled(), [5], test=0.5, test_documents=2)[1]
    assert [len({group_of(labelled()[i]) for i in repeat.test}) for repeat in fewer] == [2, 2, 2]


def test_a_repeat_is_split_and_drawn_by_the_next_seed() -> None:
    _, repeats, _ = draw(labelled(), [5], repeats=3, seed=3)
    assert repeats == [draw(labelled(), [5], repeats=1, seed=seed)[1][0] for seed in (3, 4, 5)]


@pytest.mark.parametrize(
    ("options", "problem", "said"),
    [
        ({"sizes": [4, 10]}, errors.FitError, "at least 5 labels, as a fit needs, not 4"),
        ({"sizes": [-(10**5000)]}, errors.FitError, "as a fit needs, not one of thousands of digits"),
        ({"sizes": [10**5000]}, errors.DataError, "smallest size is one of thousands of digits"),
        ({"sizes": [7.5]}, errors.FitError, "whole number"),
        ({"sizes": [True]}, errors.FitError, "whole number"),
        ({"sizes": 5}, errors.FitError, r"a list of numbers of labels, such as \[5, 10, .*, not 5"),
        ({"test": "0.5"}, errors.FitError, "between 0 and 1, not '0.5'"),
        ({"sizes": []}, errors.FitError, "at least one size"),
        ({"sizes": [40]}, errors.DataError, "30 are left for training when 50% are kept .* smallest size is 40"),
        ({"test": 0}, errors.FitError, "between 0 and 1, not 0"),
        ({"test": 1.0}, errors.FitError, "between 0 and 1"),
        ({"repeats": 0}, errors.FitError, "repeats must be a whole number from 1 to 1,000"),
        ({"repeats": 10**30}, errors.FitError, "repeats must be a whole number from 1 to 1,000"),
        ({"requests": 0}, errors.FitError, "requests must be a whole number of at least 1"),
        ({"requests": 2**63}, errors.FitError, "requests must be a whole number from 1 to 9,223,372,036,854,775,807"),
        ({"budget": 9}, errors.DataError, "9 is no budget; write for example"),
        ({"seed": -1}, errors.FitError, "seed must be a whole number of at least 0"),
        ({"resamples": -1}, errors.FitError, "resamples must be a whole number from 0 to 1,000,000"),
        ({"resamples": 10**30}, errors.FitError, "resamples must be a whole number from 0 to 1,000,000"),
        ({"evaluator": "nonsense"}, errors.FitError, "no evaluator 'nonsense'; there are zero-shot"),
        ({"evaluator": {}}, errors.FitError, "one evaluator, and 0 are given"),
        ({"evaluator": asking()}, errors.FitError, "a name, or a mapping"),
        ({"evaluator": {"surface": asking()}}, errors.FitError, "stands beside the curve"),
        ({"evaluator": "ice", "settings": {"colour": 1}}, errors.FitError, "ice has no parameter 'colour'"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_paid_for(options, problem, said) -> None:
    with pytest.raises(problem, match=said):
        curve(labelled(), **{"evaluator": FLAT, "lm": "no such model", **options})


def test_one_document_cannot_be_split() -> None:
    with pytest.raises(errors.DataError, match="one document"):
        curve(labelled(12, of=12), FLAT, model())


def test_a_model_that_cannot_be_used_at_all_stops_the_curve() -> None:
    def answer(turns):
        raise errors.AuthenticationFailed("the key is wrong")

    with pytest.raises(errors.AuthenticationFailed):
        curve(labelled(), FLAT, scripted_lm(answer), **QUICK)


def test_the_scores_are_hidden_and_kept_on_the_scale() -> None:
    found = curve(labelled(), FLAT, model(), **QUICK)  # AskingJudge refuses examples that show what people said
    assert not any(point.result.failures for point in found.points)
    assert all(1 <= truth(example) <= 5 for example in labelled())


@pytest.mark.parametrize("wrong", [{"progress": True}, {"journal": 5}])
def test_arguments_of_another_kind_are_refused_before_anything_is_asked(wrong) -> None:
    lm = model()
    with pytest.raises(errors.FitError, match=f"{next(iter(wrong))} must be"):
        curve(labelled(), FLAT, lm, **{**QUICK, **wrong})
    assert lm.usage.calls == 0
