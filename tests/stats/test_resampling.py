"""Intervals over documents: wide enough where there are few, none where there are hardly any, and what is said then."""

import numpy as np
import pytest
from scipy import stats as scipy_stats

from active_critic.stats import agreement, resampling
from active_critic.stats.correlation import Floats


def means(values: Floats, seed: int = 0, resamples: int = 2000) -> Floats:
    """Resampled means of one value a document."""
    n = len(values)
    return resampling.bootstrap(lambda drawn: drawn @ values / n, n, resamples, np.random.default_rng(seed), n)


def test_with_few_documents_the_percentiles_are_taken_farther_out() -> None:
    drawn = np.linspace(0, 1, 100_001)
    for documents in (5, 8, 50):
        stretched = np.sqrt(documents / (documents - 1)) * scipy_stats.t.ppf(0.025, documents - 1)
        low = scipy_stats.norm.cdf(stretched)
        assert resampling.percentile_interval(drawn, 0.95, documents) == pytest.approx((low, 1 - low), abs=1e-5)
    assert resampling.percentile_interval(drawn, 0.95) == pytest.approx((0.025, 0.975))


def test_intervals_of_few_documents_hold_the_true_mean_as_often_as_they_say() -> None:
    rng, tries = np.random.default_rng(1), 400
    for documents in (5, 8, 20):
        held = 0
        for seed in range(tries):
            interval = resampling.percentile_interval(means(rng.normal(size=documents), seed, 500), 0.9, documents)
            assert interval is not None
            held += interval[0] <= 0 <= interval[1]
        assert 0.86 <= held / tries <= 0.94, documents


def test_fewer_than_five_documents_have_no_interval() -> None:
    drawn = means(np.array([1.0, 2.0, 3.0, 4.0]))
    assert resampling.percentile_interval(drawn, 0.95, 4) is None
    assert resampling.percentile_interval(means(np.arange(5.0)), 0.95, 5) is not None


def test_few_documents_and_too_few_permutations_are_said() -> None:
    assert resampling.cautions(documents=50, ps=3, resamples=1000) == []
    assert "with fewer than 5 there are no intervals" in resampling.cautions(3, 0, 1000)[0]
    assert "say little of others" in resampling.cautions(7, 0, 1000)[0]
    (many,) = resampling.cautions(documents=60, ps=60, resamples=1000)
    assert "no corrected p can fall below 0.06" in many
    assert "raise --resamples" in many
    few = resampling.cautions(documents=5, ps=1, resamples=1000)[-1]
    assert "no corrected p can fall below 0.062" in few
    assert "test on more documents" in few


def test_too_few_resamples_for_an_interval_are_said() -> None:
    assert any("intervals of 5 resamples are too narrow" in said for said in resampling.cautions(20, 0, 5))
    for documents, resamples in ((20, 0), (20, 100), (4, 5)):  # without intervals there is nothing to say of them
        assert not any("too narrow" in said for said in resampling.cautions(documents, 0, resamples))


def test_one_value_in_all_documents_makes_no_interval_of_no_width() -> None:
    others = scipy_stats.binomtest(0, 8).proportion_ci(0.95).high  # so many of others may be otherwise
    same = 1 - others
    assert resampling.of_one_value(0.0, 8, -1.0, 3.0) == pytest.approx((-others, 3 * others))
    assert resampling.of_one_value(1e-15, 8, -1.0, 3.0) == pytest.approx((-others, 3 * others))  # 0, but for rounding
    # What moved one way in all of them is not taken to move the other way elsewhere: at the least, it does not move.
    assert resampling.of_one_value(2.0, 8, -1.0, 3.0) == pytest.approx((2 * same, 2 * same + 3 * others))
    assert resampling.of_one_value(-0.5, 8, -1.0, 3.0) == pytest.approx((-0.5 * same - others, -0.5 * same))
    assert resampling.of_one_value(1.0, 8, 0.0, 1.0) == pytest.approx((same, 1.0))
    assert resampling.of_one_value(0.0, 8, 0.0, 1.0) == pytest.approx((0.0, others))
    low, high = resampling.of_one_value(4.0, 8, -1.0, 3.0)  # an evaluator that leaves its scale
    assert low < 4.0 == high


def test_few_examples_are_resampled_more_often() -> None:
    expected = {0: 10_000, 36: 10_000, 100: 10_000, 300: 3_333, 1_000: 1_000, 50_000: 1_000}
    assert {n: resampling.resamples_for(n) for n in expected} == expected
    assert [resampling.resamples_for(36, asked) for asked in (0, 50)] == [0, 50]


def test_the_ends_of_an_interval_over_few_documents_hardly_move_with_the_seed() -> None:
    rng = np.random.default_rng(1)
    human = rng.normal(size=36)
    pred, groups = 0.5 * human + rng.normal(size=36), [str(i // 6) for i in range(36)]

    def moved(resamples: int | None) -> float:
        found = [agreement(pred, human, groups, folded=True, resamples=resamples, seed=seed) for seed in range(20)]
        return float(np.ptp([figures.mean_interval for figures in found], axis=0).max())

    assert moved(None) < 0.6 * moved(1_000)
