"""People's mean from few labels and many scores of a judge: it is people's, and its interval holds as it says."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats as scipy_stats

from active_critic.errors import DataError
from active_critic.stats import people_means


def drawn(n: int = 60, labelled: int = 20, r: float = 0.7, seed: int = 0) -> tuple[list[float], list[float | None]]:
    """A judge that is 3 points too mild, and people's scores of the first outputs."""
    rng = np.random.default_rng(seed)
    y = rng.normal(2.0, 1.0, n)
    f = 5.0 + r * (y - 2.0) + math.sqrt(1 - r * r) * rng.normal(size=n)
    return f.tolist(), [*y[:labelled].tolist(), *[None] * (n - labelled)]


def the_one(judge, people, documents=None, **how):
    found = people_means(judge, people, documents, **how)
    (mean,) = found.means
    return found, mean


def test_of_one_output_a_document_it_is_the_published_estimate() -> None:
    judge, people = drawn()
    found, mean = the_one(judge, people)
    f, y, rest = np.array(judge[:20]), np.array(people[:20], dtype=float), np.array(judge[20:])
    # PPI++, with the variances that the parts of the estimate have (divided by n).
    weight = np.cov(f, y, ddof=0)[0, 1] / 20 / (f.var() / 20 + rest.var() / 40)
    estimate = y.mean() + weight * (rest.mean() - f.mean())
    variance = (y - weight * f).var() / 20 + weight**2 * rest.var() / 40
    half = scipy_stats.t(18).ppf(0.975) * math.sqrt(variance * 20 / 18)
    assert found.weight == pytest.approx(weight)
    assert mean.mean == pytest.approx(estimate)
    assert mean.interval == pytest.approx((estimate - half, estimate + half))
    alone = scipy_stats.t(19).ppf(0.975) * y.std(ddof=1) / math.sqrt(20)
    assert mean.people_interval == pytest.approx((y.mean() - alone, y.mean() + alone))
    assert mean.worth == pytest.approx(20 * (alone / half) ** 2)
    assert (mean.people, mean.judge) == (pytest.approx(y.mean()), pytest.approx(np.mean(judge)))
    assert (mean.labelled, mean.outputs, mean.documents_labelled, mean.documents) == (20, 60, 20, 60)
    assert mean.documents_unlabelled == 40


def test_the_scale_of_the_judge_and_the_order_of_outputs_are_no_matter() -> None:
    judge, people = drawn()
    documents = [f"d{i // 2}" for i in range(60)]
    found, mean = the_one(judge, people, documents)
    for slope, shift in ((100.0, -7.0), (1e300, 0.0), (1e-300, 0.0)):
        scaled, same = the_one([slope * score + shift for score in judge], people, documents)
        assert scaled.weight == pytest.approx(found.weight / slope)
        assert same.judge == pytest.approx(slope * mean.judge + shift)
        assert (same.mean, same.interval) == (pytest.approx(mean.mean), pytest.approx(mean.interval))
    order = np.random.default_rng(1).permutation(60)
    _, again = the_one(*([values[i] for i in order] for values in (judge, people, documents)))
    assert (again.mean, again.interval) == (pytest.approx(mean.mean), pytest.approx(mean.interval))


@pytest.mark.parametrize(("labelled", "r"), [(6, 0.8), (12, 0.0), (12, 0.8), (40, 0.6)])
def test_the_interval_holds_peoples_mean_as_often_as_it_says_and_is_narrower_for_a_good_judge(labelled, r) -> None:
    held, wide, alone = [], [], []
    for seed in range(400):
        rng = np.random.default_rng(seed)
        document = np.repeat(np.arange(labelled + 100), 2)
        shared = rng.normal(size=(2, labelled + 100))[:, document] * 0.6
        y, other = shared + 0.8 * rng.normal(size=(2, len(document)))
        judge = 3 + r * y + math.sqrt(1 - r * r) * other
        people = np.where(document < labelled, y, np.nan)
        _, mean = the_one(judge, people, document.astype(str))
        held.append(mean.interval[0] <= 0 <= mean.interval[1])
        wide.append(mean.interval[1] - mean.interval[0])
        alone.append(mean.people_interval[1] - mean.people_interval[0])
    assert 0.92 <= np.mean(held) <= 0.98
    assert np.mean(wide) / np.mean(alone) < {0.0: 1.1, 0.6: 0.95, 0.8: 0.9}[r]


def test_outputs_of_one_document_are_one_draw() -> None:
    judge, people = drawn()
    documents = [f"d{i}" for i in range(60)]
    _, once = the_one(judge, people, documents)
    _, thrice = the_one(judge * 3, people * 3, documents * 3)
    assert thrice.interval == pytest.approx(once.interval)
    _, apart = the_one(judge * 3, people * 3)
    assert apart.interval[1] - apart.interval[0] < 0.7 * (once.interval[1] - once.interval[0])


def test_a_judge_that_goes_against_people_is_not_used() -> None:
    judge, people = drawn()
    found, mean = the_one([-score for score in judge], people)
    assert found.weight == 0
    assert (mean.mean, mean.interval, mean.worth) == (mean.people, mean.people_interval, pytest.approx(20))


def test_what_rests_on_fewer_than_five_documents_has_no_interval_and_moves_nothing() -> None:
    judge, people = drawn()
    four = [f"d{i % 4}" if score is not None else f"e{i}" for i, score in enumerate(people)]
    found, mean = the_one(judge, people, four)
    assert found.weight > 0
    assert (mean.interval, mean.people_interval, mean.worth, mean.odd) == (None, None, None, None)
    rest = [f"d{i}" if score is not None else f"e{i % 4}" for i, score in enumerate(people)]
    unmoved, mean = the_one(judge, people, rest)
    assert unmoved.weight == 0
    assert mean.mean == mean.people
    assert mean.interval is not None
    alike, mean = the_one(judge, [None if score is None else 4.0 for score in people])
    assert (alike.weight, mean.mean, mean.interval) == (0, 4.0, None)
    five = [f"{'d' if score is not None else 'e'}{i % 5}" for i, score in enumerate(people)]
    enough, mean = the_one(judge, people, five)
    assert enough.weight > 0
    assert mean.mean != mean.people
    assert mean.interval is not None


def test_a_system_of_which_people_scored_all_has_their_mean_where_another_is_helped_by_the_judge() -> None:
    judge, people = drawn()
    _, every = drawn(labelled=60)
    found = people_means(judge * 2, every + people, None, ["all"] * 60 + ["some"] * 60)
    of_all, of_some = found.means
    assert found.weight > 0
    assert (of_all.mean, of_all.interval) == (of_all.people, of_all.people_interval)
    assert of_some.mean != of_some.people


def test_systems_are_told_apart_by_people_where_the_judge_would_take_the_wrong_one() -> None:
    rng = np.random.default_rng(3)
    documents = np.repeat(np.arange(120), 2)
    systems = np.tile(["new", "old"], 120)
    quality = 2 * rng.normal(size=120)[documents] + 0.3 * rng.normal(size=240) + np.where(systems == "new", 0.5, 0.0)
    judge = quality + 0.3 * rng.normal(size=240) + np.where(systems == "old", 2.0, 0.0)  # it likes the old one
    people = np.where(documents < 30, quality, np.nan)
    found = people_means(judge, people, documents.astype(str), systems)
    new, old = found.means
    assert (new.system, old.system) == ("new", "old")
    assert new.judge < old.judge
    (apart,) = found.apart
    assert apart.difference == pytest.approx(new.mean - old.mean)
    # The same documents: what they share cancels.
    assert apart.interval[0] > 0
    assert apart.p < 0.001
    assert apart.p_holm == apart.p
    assert apart.interval[1] - apart.interval[0] < 0.5 * (new.interval[1] - new.interval[0])


def test_systems_that_never_differ_are_not_said_to_be_surely_equal() -> None:
    judge, people = drawn()
    documents = [f"d{i}" for i in range(60)]
    found = people_means(judge * 2, people * 2, documents * 2, ["a"] * 60 + ["b"] * 60)
    (apart,) = found.apart
    assert (apart.difference, apart.interval, apart.p, apart.p_holm) == (0.0, None, None, None)
    # In documents of their own, the same scores are as far apart as those of two draws.
    found = people_means(judge * 2, people * 2, None, ["a"] * 60 + ["b"] * 60)
    (apart,), (mean, _) = found.apart, found.means
    half = (mean.interval[1] - mean.interval[0]) / 2
    assert apart.interval == pytest.approx((-math.sqrt(2) * half, math.sqrt(2) * half))


def test_p_is_corrected_for_all_pairs_and_a_system_without_labels_has_no_mean() -> None:
    judge, people = drawn(90, 90)
    systems = [f"s{i % 3}" for i in range(90)]
    people = [
        None if system == "s2" or i >= 60 else score
        for i, (score, system) in enumerate(zip(people, systems, strict=True))
    ]
    found = people_means(judge, people, None, systems)
    s0, s1, s2 = found.means
    assert (s2.mean, s2.interval, s2.people, s2.labelled, s2.outputs) == (None, None, None, 0, 30)
    assert [(pair.system, pair.other) for pair in found.apart] == [("s0", "s1")]
    labels = [1.0 + (i % 7) + i % 3 for i in range(90)]
    three = people_means(judge, [score if i < 60 else None for i, score in enumerate(labels)], None, systems)
    ps = sorted(pair.p for pair in three.apart)
    assert sorted(pair.p_holm for pair in three.apart) == pytest.approx(
        [min(1, 3 * ps[0]), max(3 * ps[0], min(1, 2 * ps[1])), max(3 * ps[0], 2 * ps[1], ps[2])]
    )
    assert s0.labelled == s1.labelled == 20


def test_labels_that_were_not_drawn_at_random_are_seen_by_the_judges_scores_of_them() -> None:
    judge, people = drawn(200, 40)
    _, fair = the_one(judge, people)
    f, rest = np.array(judge[:40]), np.array(judge[40:])
    error = math.sqrt((f.var() / 40 + rest.var() / 160) * 40 / 39)
    assert fair.odd == pytest.approx(2 * scipy_stats.t(39).sf(abs(rest.mean() - f.mean()) / error))
    assert fair.odd > 0.01
    best = np.argsort(judge)[-40:]
    _, chosen = the_one(judge, [judge[i] - 3 if i in best else None for i in range(200)])
    assert chosen.odd < 1e-6


def test_an_output_without_a_score_of_the_judge_does_not_count() -> None:
    judge, people = drawn()
    _, mean = the_one([*judge, None, math.nan], [*people, 1.0, None])
    assert mean == the_one(judge, people)[1]


def test_what_cannot_be_estimated_is_refused() -> None:
    judge, people = drawn()
    with pytest.raises(ValueError, match="60 scores of the judge for 59 of people's"):
        people_means(judge, people[:-1])
    with pytest.raises(ValueError, match="no output has a score of the judge and one of people's"):
        people_means(judge, [None] * 60)
    with pytest.raises(ValueError, match="confidence"):
        people_means(judge, people, confidence=95)
    with pytest.raises(DataError, match="some examples have a document"):
        people_means(judge, people, [None, *["d"] * 59])
    with pytest.raises(ValueError, match="stand in a list"):
        people_means({"a": 1.0}, people)
