"""Agreement statistics: equal to scipy's where scipy has them, None where undefined, resampled by document."""

import functools
import json
import time
import tracemalloc
from typing import Any

import numpy as np
import pytest
from by_scipy import COEFFICIENTS, expanded, noisy
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from active_critic import stats
from active_critic.errors import DataError
from active_critic.stats import levels, resampling
from active_critic.stats.accuracy import mae, pairwise_accuracy


def test_lists_that_do_not_belong_together_are_refused() -> None:
    pred, human, groups = [1.0, 2.5, 3.0, 4.0], [1.0, 2.0, 3.0, 5.0], ["a", "a", "b", "b"]
    differ = functools.partial(stats.paired_difference, pred, pred[::-1])
    for measure in (functools.partial(stats.agreement, pred), differ, functools.partial(pairwise_accuracy, pred)):
        for wrong in (groups[:3], [*groups, "c"]):
            with pytest.raises(ValueError, match=f"{len(wrong)} documents or systems are named for 4 examples"):
                measure(human, wrong)
        for missing in (None, float("nan")):
            with pytest.raises(DataError, match="some have none"):
                measure(human, ["a", "a", missing, "b"])
    numbers = [stats.agreement(pred, human, level="system", systems=systems) for systems in (["a", "a", 7, 7], groups)]
    assert numbers[0].mean == numbers[1].mean


def test_documents_systems_and_parts_are_taken_from_lists_alone() -> None:
    pred, human, groups = [1.0, 2.5, 3.0, 4.0], [1.0, 2.0, 3.0, 5.0], ["a", "a", "b", "b"]
    differ = functools.partial(stats.paired_difference, pred, pred[::-1])
    chance = functools.partial(stats.chance_ahead, pred, pred[::-1])
    agree, pairs = functools.partial(stats.agreement, pred), functools.partial(pairwise_accuracy, pred)
    by_name = {"a": 1, "b": 2, "c": 3, "d": 4}
    for wrong, kind in (
        ("aabb", "str 'aabb'"),
        (b"aabb", "bytes"),
        (by_name, "dict"),
        (set("abcd"), "set"),
        (4, "int"),
    ):
        for measure in (agree, differ, chance, pairs):
            with pytest.raises(ValueError, match=f"documents or systems stand in a list.* not in {kind}"):
                measure(human, wrong)
        for measure in (agree, differ):
            with pytest.raises(ValueError, match=f"systems stand in a list.* not in {kind}"):
                measure(human, groups, level="system", systems=wrong)
            with pytest.raises(ValueError, match=f"parts stand in a list.* not in {kind}"):
                measure(human, groups, parts=wrong)
    assert stats.agreement(pred, human, (name for name in groups)) == stats.agreement(pred, human, groups)


def test_a_seed_and_resamples_are_whole_numbers() -> None:
    pred, human, groups, _ = noisy(20)
    by_chance = functools.partial(stats.chance_ahead, pred, pred[::-1])
    differ = functools.partial(stats.paired_difference, pred, pred[::-1])
    measures = [functools.partial(stats.agreement, pred), differ, by_chance, functools.partial(pairwise_accuracy, pred)]
    for measure in measures:
        for seed in (None, "7", 1.0, float("nan"), True, -1, 2**63, 10**5000, [1]):
            with pytest.raises(ValueError, match=r"a seed is a whole number from 0 to 2\*\*63 - 1, not"):
                measure(human, groups, seed=seed)
    for measure in measures[:3]:
        for resamples in ("100", 100.0, float("nan"), True, -1, 1_000_001, 10**5000):
            with pytest.raises(ValueError, match=r"the number of resamples is from [01].* to 1,000,000, not"):
                measure(human, groups, resamples=resamples)
    with pytest.raises(ValueError, match="from 1 to"):
        by_chance(human, groups, resamples=0)
    assert by_chance(human, groups, seed=np.int64(3)) == by_chance(human, groups, seed=3)


def test_unequal_lengths_and_missing_numbers_are_refused() -> None:
    with pytest.raises(ValueError, match="2 predictions for 3"):
        stats.agreement([1, 2], [1, 2, 3])
    with pytest.raises(ValueError, match="finite"):
        stats.agreement([1, 2], [1, float("nan")])


def test_a_series_is_read_by_place_and_not_by_its_labels() -> None:
    pandas = pytest.importorskip("pandas")
    pred, human, groups, systems = noisy(30)
    some = [None if i in {3, 17} else value for i, value in enumerate(pred)]
    frame = pandas.DataFrame({"a": some, "b": pred[::-1], "human": human, "group": groups, "system": systems})
    frame.index = pandas.Index(range(29, -1, -1))  # as after a sort
    for level in ("dataset", "document", "system"):
        named, of = {"level": level, "systems": systems}, {"level": level, "systems": frame.system}
        expected = stats.agreement(some, human, groups, **named)
        assert stats.agreement(frame.a, frame.human, frame.group, **of) == expected
        between = stats.paired_difference(some, pred[::-1], human, groups, **named)
        assert stats.paired_difference(frame.a, frame.b, frame.human, frame.group, **of) == between
    assert pairwise_accuracy(frame.a, frame.human, frame.group) == pairwise_accuracy(some, human, groups)


def test_what_pandas_writes_for_nothing_is_nothing() -> None:
    pandas = pytest.importorskip("pandas")
    pred, human, groups, systems = noisy(30)
    some = [None if i in {3, 17} else value for i, value in enumerate(pred)]
    for kind in ("Float64", "object"):
        there = pandas.Series([pandas.NA if value is None else value for value in some], dtype=kind)
        assert stats.agreement(there, human, groups) == stats.agreement(some, human, groups)
        between = stats.paired_difference(some, pred[::-1], human, groups)
        assert stats.paired_difference(there, pred[::-1], human, groups) == between
        assert stats.chance_ahead(there, pred[::-1], human, groups) == stats.chance_ahead(
            some, pred[::-1], human, groups
        )
        assert pairwise_accuracy(there, human, groups) == pairwise_accuracy(some, human, groups)
        with pytest.raises(ValueError, match="human scores must be finite"):
            stats.agreement(pred, there, groups)
    lacking = pandas.Series([pandas.NA, *groups[1:]], dtype="string")
    with pytest.raises(DataError, match="some have none"):
        stats.agreement(pred, human, lacking)
    with pytest.raises(DataError, match="needs the system of every example"):
        stats.agreement(pred, human, groups, level="system", systems=[pandas.NA, *systems[1:]])
    with pytest.raises(ValueError, match="some examples have a part and some have none"):
        stats.agreement(pred, human, groups, parts=[pandas.NA, *([0, 1] * 15)[1:]])
    assert stats.holm([pandas.NA, 0.02]) == [None, 0.02]


def test_figures_asked_for_in_numbers_of_numpy_are_plain_json() -> None:
    pred, human, groups, _ = noisy(30)
    how = {"resamples": np.int64(50), "seed": np.int32(2), "confidence": np.float32(0.75)}
    plain = {"resamples": 50, "seed": 2, "confidence": 0.75}
    for of in (stats.agreement, functools.partial(stats.paired_difference, pred[::-1])):
        assert json.dumps(of(pred, human, groups, **how).to_dict()) == json.dumps(
            of(pred, human, groups, **plain).to_dict()
        )


def test_a_level_or_a_confidence_that_there_is_not_is_refused() -> None:
    pred, human, groups, _ = noisy(20)
    with pytest.raises(ValueError, match="'documents' is no level; they are dataset, document, system"):
        stats.agreement(pred, human, groups, level="documents")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="'documents' is no level"):
        stats.paired_difference(pred, pred[::-1], human, groups, level="documents")  # type: ignore[arg-type]
    for confidence in (95, 1, 0, float("nan")):
        with pytest.raises(ValueError, match=r"between 0 and 1, such as 0\.95, not"):
            stats.agreement(pred, human, groups, confidence=confidence)


@pytest.mark.parametrize("measured", [stats.agreement, lambda *of, **how: stats.paired_difference(of[0], *of, **how)])
def test_fewer_than_no_resamples_are_refused(measured: Any) -> None:
    with pytest.raises(ValueError, match=r"0 \(no intervals\) to 1,000,000, not -1"):
        measured([1.0, 2.0, 3.0], [1.0, 3.0, 2.0], resamples=-1)
    with pytest.raises(ValueError, match=r"to 1,000,000, not 1000001"):
        measured([1.0, 2.0, 3.0], [1.0, 3.0, 2.0], resamples=1_000_001)


def test_q_is_the_sum_and_counts_the_undefined_as_zero() -> None:
    pred, human = [1.0, 2.0, 4.0, 3.0], [1.0, 2.0, 3.0, 5.0]
    expected = sum(of(pred, human) for of in COEFFICIENTS.values())
    assert stats.q(pred, human) == pytest.approx(expected, abs=1e-12)
    assert stats.q([*pred, None, float("nan")], [*human, 9.0, 0.0]) == pytest.approx(expected, abs=1e-12)
    assert stats.q([2.0] * 4, human) == stats.q([None] * 4, human) == stats.q([], []) == 0.0
    assert stats.q(human, human) == pytest.approx(3.0)


def test_large_sets_are_worked_through_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    pred, human, groups, systems = noisy(60)
    whole = [stats.agreement(pred, human, groups, level=lv, systems=systems) for lv in ("dataset", "system")]
    for module in (resampling, levels):
        monkeypatch.setattr(module, "_CELLS", 130)
    parts = [stats.agreement(pred, human, groups, level=lv, systems=systems) for lv in ("dataset", "system")]
    for one, other in zip(whole, parts, strict=True):
        assert one.mean_interval == pytest.approx(other.mean_interval, abs=1e-12)


def test_agreement_leaves_out_what_has_no_prediction_and_counts_it() -> None:
    pred, human, groups, _ = noisy(50)
    some = [None if i % 5 == 0 else p for i, p in enumerate(pred)]
    result = stats.agreement(some, human, groups, resamples=200)
    kept = [i for i in range(50) if i % 5]
    assert result.pearson == pytest.approx(COEFFICIENTS["pearson"]([pred[i] for i in kept], [human[i] for i in kept]))
    assert (result.n, result.total, result.coverage, result.groups, result.units) == (40, 50, 0.8, 10, 40)
    assert result.mean == pytest.approx((result.pearson + result.spearman + result.kendall) / 3)
    for name in ("pearson", "spearman", "kendall", "mean"):
        low, high = getattr(result, f"{name}_interval")
        assert low < getattr(result, name) < high


def test_a_constant_prediction_has_no_agreement_rather_than_zero() -> None:
    result = stats.agreement([3.0] * 10, list(range(10)))
    assert result.pearson is result.spearman is result.kendall is result.mean is result.mean_interval is None
    assert (result.n, result.coverage) == (10, 1.0)
    nothing = stats.agreement([None] * 3, [1, 2, 3])
    assert (nothing.mean, nothing.n, nothing.coverage, nothing.units) == (None, 0, 0.0, 0)
    assert stats.agreement([], []).coverage == 0.0


def test_the_bootstrap_draws_documents_not_rows() -> None:
    rng = np.random.default_rng(3)
    shift = np.repeat(rng.normal(size=12), 10)
    human = shift + 0.1 * rng.normal(size=120)
    pred = np.repeat(rng.normal(size=12), 10) + 0.5 * shift + 0.1 * rng.normal(size=120)
    groups = [f"d{i // 10}" for i in range(120)]
    by_document = stats.agreement(pred.tolist(), human.tolist(), groups).pearson_interval
    by_row = stats.agreement(pred.tolist(), human.tolist()).pearson_interval
    assert by_document is not None
    assert by_row is not None
    assert by_document[1] - by_document[0] > 2 * (by_row[1] - by_row[0])


def test_the_interval_is_that_of_an_explicit_bootstrap() -> None:
    pred, human, groups, _ = noisy(60)
    result = stats.agreement(pred, human, groups, resamples=300, seed=5)
    rng = np.random.default_rng(5)
    # d0, d1, d10, d11, d2 ...: documents are numbered by name.
    members = [[i for i in range(60) if groups[i] == name] for name in sorted(set(groups))]
    values = []
    for count in rng.multinomial(12, np.full(12, 1 / 12), 300):
        rows = [i for times, part in zip(count, members, strict=True) for i in part * times]
        values.append(COEFFICIENTS["kendall"]([pred[i] for i in rows], [human[i] for i in rows]))
    assert result.kendall_interval == pytest.approx(expanded(values, 12), abs=1e-12)


def test_the_same_seed_gives_the_same_interval_in_any_row_order() -> None:
    pred, human, groups, _ = noisy(40)
    one = stats.agreement(pred, human, groups, seed=1)
    backwards = stats.agreement(pred[::-1], human[::-1], groups[::-1], seed=1)
    assert one == stats.agreement(pred, human, groups, seed=1)
    assert one.mean_interval == pytest.approx(backwards.mean_interval, abs=1e-12)
    assert one.mean_interval != stats.agreement(pred, human, groups, seed=2).mean_interval


def test_intervals_contain_the_truth_about_as_often_as_they_say() -> None:
    truth = 0.6
    hits = 0
    rng = np.random.default_rng(0)
    for _ in range(200):
        x = rng.normal(size=60)
        y = truth * x + np.sqrt(1 - truth**2) * rng.normal(size=60)
        interval = stats.agreement(x.tolist(), y.tolist(), resamples=300, confidence=0.9).pearson_interval
        assert interval is not None
        hits += interval[0] <= truth <= interval[1]
    assert 160 <= hits <= 195  # 180 expected


def test_one_document_gives_no_interval() -> None:
    result = stats.agreement([1, 2, 3], [1, 3, 2], ["d"] * 3)
    assert result.mean is not None
    assert result.mean_interval is None
    assert stats.agreement([1, 2, 3], [1, 3, 2], resamples=0).mean_interval is None


def test_there_is_no_interval_where_most_resamples_leave_nothing_to_correlate() -> None:
    # A resample needs both the one document where predictions differ and the one where people's scores do: 4 in 10.
    found = stats.agreement([1.0] + [0.0] * 11, [0.0] * 11 + [1.0])
    assert found.mean is not None
    assert (found.mean_interval, found.pearson_interval) == (None, None)


def test_document_level_averages_over_documents_where_both_vary() -> None:
    human = [1, 2, 3, 1, 2, 3, 2, 2, 5, 7, 9]
    pred = [1, 2, 3, 3, 2, 1, 1, 2, 4, 4, 1]
    groups = ["a"] * 3 + ["b"] * 3 + ["c"] * 2 + ["d"] * 2 + ["e"]
    result = stats.agreement(pred, human, groups, level="document")
    assert (result.pearson, result.spearman, result.kendall) == pytest.approx((0.0, 0.0, 0.0))
    assert (result.units, result.groups, result.n) == (2, 5, 11)
    assert result.mean_interval is None  # two documents say nothing of others


def test_system_level_compares_mean_scores_of_systems() -> None:
    pred, human, groups, systems = noisy(50)
    result = stats.agreement(pred, human, groups, level="system", systems=systems, resamples=100)
    means = [
        [np.mean([v[i] for i in range(50) if systems[i] == s]) for s in sorted(set(systems))] for v in (pred, human)
    ]
    assert result.spearman == pytest.approx(COEFFICIENTS["spearman"](*means))
    assert (result.units, result.level) == (5, "system")
    assert result.mean_interval is not None


@pytest.mark.parametrize("count", [400, 600])  # all pairs of systems at once, or one draw after the other
def test_many_systems_equal_scipy_in_little_memory_also_where_means_tie_but_for_rounding(count: int) -> None:
    rng = np.random.default_rng(0)
    # A third of the systems has 0.1, 0.2 and 0.3 in one order or the other, whose sums differ in the last bit.
    human = [[0.1, 0.2, 0.3][:: 1 - i % 2 * 2] if i % 3 == 0 else rng.integers(1, 6, 3) for i in range(count)]
    pred = [np.mean(scores) + rng.normal(size=3) for scores in human]
    systems = [f"s{i}" for i in range(count) for _ in range(3)]
    sides = [np.concatenate(side).tolist() for side in (pred, human)]
    tracemalloc.start()
    found = stats.agreement(*sides, level="system", systems=systems, resamples=10)  # every row is a document
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    means = [np.mean(pred, axis=1), np.round([np.mean(scores) for scores in human], 9)]
    for name, of in COEFFICIENTS.items():
        assert getattr(found, name) == pytest.approx(of(*means), abs=1e-8)
    assert found.mean_interval is not None
    assert count < 500 or peak < 4_000_000  # bytes; documents by systems alone would be 8,640,000


@pytest.mark.parametrize("systems", [None, ["a", None, "b"]])
def test_system_level_needs_systems(systems: list[str | None] | None) -> None:
    with pytest.raises(DataError, match="system of every example"):
        stats.agreement([1, 2, 3], [1, 2, 3], level="system", systems=systems)


def test_document_level_needs_documents() -> None:
    with pytest.raises(DataError, match="document of every example"):
        stats.agreement([1, 2, 3], [1, 2, 3], level="document")
    with pytest.raises(DataError, match="document of every example"):
        stats.paired_difference([1, 2, 3], [1, 2, 3], [1, 3, 2], level="document")


def test_an_agreement_is_plain_json() -> None:
    import json

    pred, human, groups, _ = noisy(30)
    written = json.loads(json.dumps(stats.agreement(pred, human, groups, resamples=50).to_dict(), allow_nan=False))
    assert written["coverage"] == 1.0
    assert len(written["kendall_interval"]) == 2
    json.dumps(stats.paired_difference(pred, human, human, groups, resamples=50).to_dict(), allow_nan=False)


@pytest.mark.parametrize("level", ["dataset", "document", "system"])
def test_a_better_prediction_is_found_better_and_the_reverse(level: stats.Level) -> None:
    good, human, groups, systems = noisy(100, noise=0.4)
    poor = noisy(100, seed=9)[0]
    scaled = [100 * value - 7 for value in poor]  # another scale must make no difference
    better = stats.paired_difference(good, scaled, human, groups, level=level, systems=systems, resamples=400)
    worse = stats.paired_difference(scaled, good, human, groups, level=level, systems=systems, resamples=400)
    assert better.delta is not None
    assert better.interval is not None
    assert better.p is not None
    assert better.delta > 0
    assert worse.delta == pytest.approx(-better.delta)
    assert worse.p == pytest.approx(better.p, abs=0.05)
    if level != "system":  # five systems are too few for any certainty
        assert better.delta > 0.2
        assert better.interval[0] > 0
        assert better.p < 0.01


def test_the_permutation_test_is_that_of_swapping_predictions() -> None:
    a, human, groups, _ = noisy(30, noise=1.0)
    b = noisy(30, noise=1.0, seed=4)[0]
    b = [0.5 * x + 0.5 * h for x, h in zip(b, human, strict=True)]
    result = stats.paired_difference(a, b, human, groups, resamples=500, seed=2)
    rng = np.random.default_rng(2)
    rng.multinomial(6, np.full(6, 1 / 6), 500)
    first, second = ((np.array(v) - np.mean(v)) / np.std(v) for v in (a, b))
    document = [sorted(set(groups)).index(g) for g in groups]

    def mean(x: np.ndarray) -> float:
        return sum(of(x, human) for of in COEFFICIENTS.values()) / 3

    delta = mean(first) - mean(second)
    extreme = 0
    for swap in rng.integers(0, 2, (500, 6))[:, document].astype(bool):
        extreme += abs(mean(np.where(swap, second, first)) - mean(np.where(swap, first, second))) >= abs(delta) - 1e-12
    assert result.delta == pytest.approx(delta)
    assert result.p == pytest.approx((1 + extreme) / 501)


def test_a_swap_that_leaves_nothing_to_correlate_counts_as_extreme() -> None:
    # With one of the two documents swapped, both predictions are the same for every example.
    found = stats.paired_difference([1, 1, 2, 2], [2, 2, 1, 1], [1, 2, 3, 4], list("aabb"), resamples=200)
    assert found.delta is not None
    assert found.delta > 1
    assert found.p == 1.0


def test_p_is_uniform_enough_when_there_is_no_difference() -> None:
    small = 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        human = rng.normal(size=40)
        a, b = human + rng.normal(size=40), human + rng.normal(size=40)
        p = stats.paired_difference(a.tolist(), b.tolist(), human.tolist(), resamples=100, seed=seed).p
        assert p is not None
        small += p < 0.1
    assert 2 <= small <= 20  # 10 expected


def test_only_examples_that_both_scored_are_compared() -> None:
    pred, human, groups, _ = noisy(30)
    a = [None if i < 10 else p for i, p in enumerate(pred)]
    b = [None if i >= 25 else p for i, p in enumerate(pred)]
    result = stats.paired_difference(a, b, human, groups, resamples=50)
    assert (result.n, result.groups, result.delta, result.p) == (15, 3, 0.0, 1.0)
    undefined = stats.paired_difference([1.0] * 30, pred, human, groups)
    assert (undefined.delta, undefined.interval, undefined.p) == (None, None, None)


def test_too_few_in_common_tell_nothing_apart() -> None:
    assert stats.chance_ahead([1.0, None], [None, 1.0], [1.0, 2.0], list("ab")) == 0.5
    assert stats.chance_ahead([1.0, 2.0, 3.0], [2.0, 4.0, 6.0], [1.0, 2.0, 3.0], list("abc")) == 0.5  # ties count half
    assert stats.chance_ahead([1.0, 2.0, 3.0], [3.0, 2.0, 1.0], [1.0, 2.0, 3.0], list("abc")) > 0.8
    assert stats.chance_ahead([1.0, 2.0, 3.0], [3.0, 2.0, 1.0], [1.0, 2.0, 3.0], list("aaa")) == 0.5  # of one document


def test_whole_documents_are_drawn_to_tell_who_is_ahead() -> None:
    sure = {"rows": 0, "documents": 0}
    for seed in range(60):
        rng = np.random.default_rng(seed)
        groups = [f"d{i // 10}" for i in range(40)]
        human = rng.normal(size=40)
        a, b = ((human + np.repeat(rng.normal(size=4), 10) + 0.3 * rng.normal(size=40)).tolist() for _ in range(2))
        for drawn, of in (("rows", [str(i) for i in range(40)]), ("documents", groups)):
            chance = stats.chance_ahead(a, b, human.tolist(), of, seed=seed)
            sure[drawn] += not 0.1 < chance < 0.9
    assert sure["documents"] < 0.7 * sure["rows"]  # both rate equally well, and err by document


def test_the_seed_is_that_of_the_resampling() -> None:
    a, b, y = [1.0, 3.0, 2.0, 5.0, 4.0, 1.5], [2.0, 1.0, 3.0, 4.0, 6.0, 0.5], [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    assert len({stats.chance_ahead(a, b, y, list("abcdef"), resamples=50, seed=seed) for seed in range(8)}) > 1
    assert (
        stats.chance_ahead(a, b, y, list("abcdef"), seed=3)
        == stats.chance_ahead(a, b, y, list("abcdef"), seed=3)
        == pytest.approx(1 - stats.chance_ahead(b, a, y, list("abcdef"), seed=3))
    )


def test_a_thousand_resamples_of_five_hundred_examples_take_seconds_at_most() -> None:
    pred, human, groups, _ = noisy(500)
    started = time.process_time()
    stats.agreement(pred, human, groups)
    assert time.process_time() - started < 3.0


@pytest.mark.parametrize("sizes", [(600, 3, 1, 2, 40), (2, 2, 9), (1, 1), (700,)])
def test_documents_of_any_size_are_each_correlated_alone(
    sizes: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(levels, "_CELLS", 200)
    groups = [f"d{i}" for i, size in enumerate(sizes) for _ in range(size)]
    rng = np.random.default_rng(len(sizes))
    order = rng.permutation(len(groups))
    pred, human = rng.normal(size=len(groups)), rng.integers(1, 4, len(groups)).astype(float)
    groups = [groups[i] for i in order]
    found = stats.agreement(pred.tolist(), human.tolist(), groups, level="document", resamples=10)
    each = []
    for name in sorted(set(groups)):
        rows = [i for i, group in enumerate(groups) if group == name]
        if len(rows) > 1 and np.ptp(human[rows]) > 0:
            each.append([of(pred[rows], human[rows]) for of in COEFFICIENTS.values()])
    assert found.units == len(each)
    expected = pytest.approx(np.mean(each, axis=0), abs=1e-12) if each else (None, None, None)
    assert (found.pearson, found.spearman, found.kendall) == expected


def test_systems_of_a_document_each_tie_whatever_the_rounding_of_their_sums() -> None:
    # Added up one after the other, 0.1 + 0.2 + 0.3 and 0.3 + 0.2 + 0.1 differ in the last bit.
    human = [0.1, 0.2, 0.3, 0.3, 0.2, 0.1, 0.5, 0.6, 0.7, 0.0, 0.1, 0.05]
    pred, systems = [1.0, 1, 1, 2, 2, 2, 4, 4, 4, 0, 0, 0], list("aaabbbcccddd")
    assert human[0] + human[1] + human[2] != human[3] + human[4] + human[5]
    found = stats.agreement(pred, human, systems, level="system", systems=systems, resamples=0)
    assert found.kendall == pytest.approx(scipy_stats.kendalltau([1, 2, 4, 0], [2, 2, 6, 0.5]).statistic)


def test_twenty_thousand_examples_are_resampled_in_seconds_and_equal_scipy() -> None:
    rng = np.random.default_rng(0)
    human = rng.integers(3, 16, 20_000) / 3
    pred = np.round(human + rng.normal(size=20_000), 2)
    started = time.process_time()
    found = stats.agreement(pred.tolist(), human.tolist(), resamples=20)
    assert time.process_time() - started < 10.0
    for name, of in COEFFICIENTS.items():
        assert getattr(found, name) == pytest.approx(of(pred, human), abs=1e-12)
    draw = np.random.default_rng(0).multinomial(20_000, np.full(20_000, 1 / 20_000), 20)[0]
    # Documents are numbered by position here: one explicit resample.
    one = stats.weighted_coefficients(pred, human, draw[None].astype(float))[0]
    rows = np.repeat(np.arange(20_000), draw)
    assert one[:3] == pytest.approx([of(pred[rows], human[rows]) for of in COEFFICIENTS.values()], abs=1e-12)


@pytest.mark.parametrize("p", [-0.1, 1.5, float("inf")])
def test_holm_refuses_what_is_no_p_value(p: float) -> None:
    with pytest.raises(ValueError, match="a p-value lies between 0 and 1, not at"):
        stats.holm([0.5, None, p])


def test_holm_corrects_for_the_number_of_comparisons() -> None:
    # Holm (1979), stepping down: 0.01 * 4, then 0.02 * 3, then the larger of that and 0.03 * 2, then 0.2 * 1.
    assert stats.holm([0.03, 0.01, 0.2, 0.02]) == pytest.approx([0.06, 0.04, 0.2, 0.06])
    assert stats.holm([0.5, None, 0.6]) == [1.0, None, 1.0]
    assert stats.holm([0.01, float("nan"), 0.02]) == [0.02, None, 0.02]
    assert stats.holm([]) == []
    assert stats.holm([0.04]) == [0.04]


@given(ps=st.lists(st.floats(0, 1), max_size=8))
def test_holm_keeps_order_and_lies_between_p_and_bonferroni(ps: list[float]) -> None:
    found = stats.holm(ps)
    for p, corrected in zip(ps, found, strict=True):
        assert corrected is not None
        assert p <= corrected <= min(1.0, p * len(ps)) + 1e-15
    ranked = [corrected for _, corrected in sorted(zip(ps, found, strict=True))]
    assert ranked == sorted(ranked)


@pytest.mark.parametrize("unit", [1e-300, 1e-170, 1e160, 1e300])
def test_no_unit_is_too_small_or_too_large_for_a_p_value(unit: float) -> None:
    rng = np.random.default_rng(3)
    human = rng.normal(size=40)
    good, bad = human + 0.3 * rng.normal(size=40), human + 6 * rng.normal(size=40)
    plain = stats.paired_difference(good.tolist(), bad.tolist(), human.tolist())
    scaled = stats.paired_difference((unit * good).tolist(), bad.tolist(), human.tolist())
    assert plain.p is not None
    assert plain.p < 0.01
    assert (scaled.p, scaled.delta) == (plain.p, pytest.approx(plain.delta))


def test_within_documents_both_are_compared_where_both_are_defined() -> None:
    rng = np.random.default_rng(0)
    groups = [f"d{i // 6:02}" for i in range(240)]
    human = rng.normal(size=240)
    hard = np.arange(240) >= 120
    one = human + np.where(hard, 20.0, 0.5) * rng.normal(size=240)
    other = np.where(hard, 3.0, one)  # the same where it is easy, and nothing said where it is hard
    found = stats.paired_difference(one, other, human, groups, level="document")
    assert found.delta == 0
    assert (found.n, found.groups) == (120, 20)
    better = stats.paired_difference(np.where(hard, human, one), other, human, groups, level="document")
    assert better.delta == 0


def test_within_documents_that_agree_alike_there_is_no_interval_and_else_it_is_no_narrower_than_students() -> None:
    groups = [str(i // 2) for i in range(12)]
    human = [1.0, 2.0] * 6
    alike = stats.agreement(human, human, groups, level="document")
    assert (alike.mean, alike.mean_interval) == (pytest.approx(1.0), None)
    pred = [1.0, 2.0] * 5 + [2.0, 1.0]
    found = stats.agreement(pred, human, groups, level="document")
    each = [1.0] * 5 + [-1.0]
    half = scipy_stats.t.ppf(0.975, 5) * np.std(each, ddof=1) / 6**0.5
    assert found.mean == pytest.approx(2 / 3)
    assert found.mean_interval is not None
    assert found.mean_interval[0] <= 2 / 3 - half + 1e-9
    assert found.mean_interval[1] == 1.0
    apart = stats.paired_difference(pred, human, human, groups, level="document")
    assert apart.interval is not None
    assert apart.interval[0] <= -1 / 3 - half + 1e-9


def test_documents_in_which_nothing_correlates_do_not_narrow_the_interval_of_those_that_have_a_figure() -> None:
    rng = np.random.default_rng(1)
    human = [float(i % 3) for i in range(18)]
    pred = [float(x) for x in rng.normal(size=18)]
    groups = [str(i // 3) for i in range(18)]
    alone = stats.agreement(pred, human, groups, level="document", resamples=400)
    single = [str(i) for i in range(100, 400)]
    among = stats.agreement(
        [*pred, *rng.normal(size=300)], [*human, *[1.0] * 300], [*groups, *single], level="document", resamples=400
    )
    assert (among.units, among.groups) == (6, 306)
    half = scipy_stats.t.ppf(0.975, 5) * np.std(_each(pred, human), ddof=1) / np.sqrt(6)
    for found in (alone, among):
        assert found.pearson is not None
        assert found.pearson_interval is not None
        assert found.pearson_interval[0] <= max(-1.0, found.pearson - half) + 1e-9
        assert found.pearson_interval[1] >= min(1.0, found.pearson + half) - 1e-9


def _each(pred: list[float], human: list[float]) -> list[float]:
    return [float(np.corrcoef(pred[i : i + 3], human[i : i + 3])[0, 1]) for i in range(0, len(pred), 3)]


def test_documents_in_which_people_differ_only_by_rounding_are_not_taken_for_ones_in_which_they_differ() -> None:
    human = [0.1 + 0.2, 0.3, 1.0, 2.0]
    found = stats.agreement([1.0, 2.0, 1.0, 2.0], human, ["a", "a", "b", "b"], level="document", resamples=0)
    assert (found.units, found.units_total) == (1, 1)


def test_many_documents_of_which_few_count_take_little_memory() -> None:
    documents = 30_000
    human = [float(place % 3 if place < 40 else 3) for place in range(2 * documents)]
    pred = [float(place * 7 % 5) for place in range(2 * documents)]
    groups = [str(place // 2) for place in range(2 * documents)]
    tracemalloc.start()
    found = stats.agreement(pred, human, groups, level="document", resamples=16)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert (found.units, found.mean_interval is None) == (20, False)
    assert peak < 40e6


@pytest.mark.parametrize("nothing", [None, float("nan"), float("inf")])
def test_what_is_missing_is_left_out_of_predictions_and_an_error_elsewhere(nothing: float | None) -> None:
    pred, human, groups = [1.0, 3.0, 2.0, nothing], [1.0, 2.0, 3.0, 4.0], ["a", "b", "c", "d"]
    found = stats.agreement(pred, human, resamples=0)
    assert (found.n, found.total, found.pearson) == (3, 4, pytest.approx(stats.pearson(pred[:3], human[:3])))
    assert (stats.q(pred, human), mae(pred, human)) == (stats.q(pred[:3], human[:3]), mae(pred[:3], human[:3]))
    difference = stats.paired_difference(pred, human, human, resamples=0)
    assert difference.n == 3
    ahead = [stats.chance_ahead(*(side[:n] for side in (pred, human, human, groups))) for n in (3, 4)]
    assert ahead[0] == ahead[1]
    for of in (
        lambda: stats.agreement(human, pred),
        lambda: stats.paired_difference(human, human, pred),
        lambda: stats.chance_ahead(human, human, pred, groups),
        lambda: stats.q(human, pred),
        lambda: mae(human, pred),
        *(functools.partial(one, pred, human) for one in (stats.pearson, stats.spearman, stats.kendall)),
    ):
        with pytest.raises(ValueError, match="finite numbers"):
            of()


def test_resamples_of_lists_equal_the_pairs_written_out() -> None:
    [row] = stats.weighted_coefficients([1, 2, 3], [1, 3, 2], [[2, 1, 1]])
    x, y = [1, 1, 2, 3], [1, 1, 3, 2]
    assert row[:3].tolist() == pytest.approx([stats.pearson(x, y), stats.spearman(x, y), stats.kendall(x, y)])
