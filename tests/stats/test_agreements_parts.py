"""Statistics over several splits: predictions of different fits are never pooled, documents are drawn as one."""

from __future__ import annotations

import random

import numpy as np
import pytest
from by_scipy import COEFFICIENTS, expanded, noisy

from active_critic import stats
from active_critic.meta_evaluation.estimates import estimate
from active_critic.stats.reliability import human_ceiling
from active_critic.stats.resampling import FOLDED

LEVELS: tuple[stats.Level, ...] = ("dataset", "document", "system")


def in_parts(
    n: int = 60, repeats: int = 3
) -> tuple[list[float], list[float], list[float], list[str], list[str], list[int]]:
    """Two predictions, each repeat on a scale of its own, that draw on the same documents."""
    _, human, groups, systems = noisy(n)
    rng = np.random.default_rng(8)
    rows = [(part, i) for part in range(repeats) for i in range(n) if (i // 5 + part) % 3]
    a = [10**part * (human[i] + rng.normal()) + 7 * part for part, i in rows]
    b = [-50 * part + human[i] + 1.5 * rng.normal() for part, i in rows]
    columns = ([values[i] for _, i in rows] for values in (human, groups, systems))
    return a, b, *columns, [part for part, _ in rows]  # type: ignore[return-value]


def one_part(part: int, parts: list[int], *columns: list) -> list[list]:
    return [[value for value, p in zip(column, parts, strict=True) if p == part] for column in columns]


@pytest.mark.parametrize("level", LEVELS)
def test_parts_are_never_pooled_but_averaged(level: stats.Level) -> None:
    a, _, human, groups, systems, parts = in_parts()
    found = stats.agreement(a, human, groups, level=level, systems=systems, parts=parts, resamples=200)
    each = []
    for part in (0, 1, 2):
        x, y, g, s = one_part(part, parts, a, human, groups, systems)
        each.append(stats.agreement(x, y, g, level=level, systems=s, resamples=0))
    for name in ("pearson", "spearman", "kendall", "mean"):
        assert getattr(found, name) == pytest.approx(np.mean([getattr(one, name) for one in each]), abs=1e-12)
        low, high = getattr(found, f"{name}_interval")
        assert low < getattr(found, name) < high
    assert (found.parts, found.parts_total, found.n, found.groups, found.spread) == (3, 3, len(a), 12, FOLDED)
    assert found.units == sum(one.units for one in each)
    pooled = stats.agreement(a, human, groups, level=level, systems=systems, resamples=0)
    assert (pooled.parts, pooled.parts_total, pooled.spread) == (1, 1, 1)
    if level == "dataset":
        assert pooled.pearson != pytest.approx(found.pearson, abs=0.1)  # scales of three fits, mixed
    backwards = [column[::-1] for column in (a, human, groups, systems, parts)]
    again = stats.agreement(*backwards[:3], level=level, systems=backwards[3], parts=backwards[4], resamples=200)
    assert again.mean_interval == pytest.approx(found.mean_interval, abs=1e-12)


@pytest.mark.parametrize("level", LEVELS)
def test_a_single_part_is_the_same_as_none(level: stats.Level) -> None:
    a, b, human, groups, systems, _ = in_parts()
    options = {"level": level, "systems": systems, "resamples": 100}
    whole, one = (stats.agreement(a, human, groups, parts=p, **options) for p in (None, [4] * len(a)))
    assert whole == one
    whole, one = (stats.paired_difference(a, b, human, groups, parts=p, **options) for p in (None, [4] * len(a)))
    assert whole == one


def test_a_document_is_drawn_in_all_parts_together() -> None:
    a, _, human, groups, _, parts = in_parts()
    found = stats.agreement(a, human, groups, parts=parts, resamples=200, seed=3)
    names = sorted(set(groups))
    draws = np.random.default_rng(3).multinomial(len(names), np.full(len(names), 1 / len(names)), 200)
    means = []
    for count in draws:
        of_parts = []
        for part in (0, 1, 2):
            times = [count[names.index(g)] * (p == part) for g, p in zip(groups, parts, strict=True)]
            x, y = np.repeat(a, times), np.repeat(human, times)
            of_parts.append(COEFFICIENTS["spearman"](x, y))
        means.append(np.mean(of_parts))
    assert found.spearman_interval == pytest.approx(expanded(means, len(names), FOLDED), abs=1e-12)


def test_a_document_swaps_in_all_parts_together() -> None:
    a, b, human, groups, _, parts = in_parts(30)
    found = stats.paired_difference(a, b, human, groups, parts=parts, resamples=300, seed=2)
    names = sorted(set(groups))
    rng = np.random.default_rng(2)
    rng.multinomial(len(names), np.full(len(names), 1 / len(names)), 300)
    swaps = rng.integers(0, 2, (300, len(names))).astype(bool)

    def mean(x: np.ndarray, y: np.ndarray) -> float:
        return sum(of(x, y) for of in COEFFICIENTS.values()) / 3

    def deltas(swap: np.ndarray, standard: bool) -> float:
        found = []
        for part in (0, 1, 2):
            first, second, y, g = (np.array(column) for column in one_part(part, parts, a, b, human, groups))
            if standard:
                first, second = ((v - v.mean()) / v.std() for v in (first, second))
            here = swap[[names.index(name) for name in g]]
            found.append(mean(np.where(here, second, first), y) - mean(np.where(here, first, second), y))
        return float(np.mean(found))

    delta = deltas(np.zeros(len(names), dtype=bool), False)
    extreme = sum(FOLDED * abs(deltas(swap, True)) >= abs(delta) - 1e-12 for swap in swaps)
    assert found.delta == pytest.approx(delta, abs=1e-12)
    assert found.p == pytest.approx((1 + extreme) / 301)
    assert found.interval is not None
    assert (found.parts, found.parts_total) == (3, 3)


def test_a_part_where_nothing_is_defined_does_not_count_and_is_counted() -> None:
    a, b, human, groups, _, parts = in_parts()
    flat = [1.0 if part == 1 else value for value, part in zip(a, parts, strict=True)]
    holes = [None if part == 1 else value for value, part in zip(a, parts, strict=True)]
    both = [stats.agreement(*one_part(part, parts, a, human, groups), resamples=0).mean for part in (0, 2)]
    for pred in (flat, holes):
        found = stats.agreement(pred, human, groups, parts=parts, resamples=50)
        assert found.mean == pytest.approx(np.mean(both), abs=1e-12)
        assert (found.parts, found.parts_total) == (2, 3)
        # Both sides of a difference are of the same parts.
        difference = stats.paired_difference(pred, b, human, groups, parts=parts, resamples=50)
        rest = [stats.agreement(*one_part(part, parts, b, human, groups), resamples=0).mean for part in (0, 2)]
        assert difference.delta == pytest.approx(np.mean(both) - np.mean(rest), abs=1e-12)
        assert (difference.parts, difference.parts_total) == (2, 3)
    nothing = stats.agreement([1.0] * len(a), human, groups, parts=parts, resamples=50)
    assert (nothing.mean, nothing.mean_interval, nothing.parts, nothing.parts_total) == (None, None, 0, 3)
    nothing = stats.paired_difference([1.0] * len(a), b, human, groups, parts=parts, resamples=50)
    assert (nothing.delta, nothing.p, nothing.parts) == (None, None, 0)


def test_figures_go_by_the_documents_of_the_parts_that_count() -> None:
    rng = random.Random(4)
    groups, parts = [f"d{i}" for i in range(60)], [0] * 4 + [1] * 56
    human = [rng.gauss(0, 1) for _ in groups]
    varies = [score + rng.gauss(0, 0.3) for score in human]
    flat = [value if part == 0 else 3.0 for value, part in zip(varies, parts, strict=True)]
    found = stats.agreement(flat, human, groups, parts=parts, resamples=50)
    assert (found.parts, found.parts_total, found.mean_interval) == (1, 2, None)  # four documents give no interval
    difference = stats.paired_difference(flat, varies, human, groups, parts=parts, resamples=50)
    assert (difference.parts, difference.n, difference.groups, difference.interval) == (1, 4, 4, None)
    curve = estimate([flat], [1], human, groups, parts=parts, resamples=50)
    assert (curve.n, curve.groups, curve.interval) == (4, 4, None)


def test_documents_that_a_constant_is_let_off_are_counted() -> None:
    rng = random.Random(5)
    groups = [f"d{i // 3}" for i in range(60)]
    human = [2.0 if i < 6 else rng.gauss(0, 1) for i in range(60)]  # in two documents people say the same
    pred = [score if i < 30 else 1.0 for i, score in enumerate(human)]
    found = stats.agreement(pred, human, groups, level="document", resamples=0)
    assert (found.units, found.units_total, found.groups) == (8, 18, 20)


@pytest.mark.parametrize("level", LEVELS)
def test_a_part_without_any_prediction_is_left_out_at_every_level(level: stats.Level) -> None:
    a, b, human, groups, systems, parts = in_parts()
    holes = [None if part == 1 else value for value, part in zip(a, parts, strict=True)]
    rest = [i for i, part in enumerate(parts) if part != 1]
    less = [[column[i] for i in rest] for column in (a, b, human, groups, systems, parts)]
    whole = stats.agreement(holes, human, groups, level=level, systems=systems, parts=parts, resamples=50)
    without = stats.agreement(less[0], *less[2:4], level=level, systems=less[4], parts=less[5], resamples=50)
    assert (whole.mean, whole.mean_interval, whole.units) == (without.mean, without.mean_interval, without.units)
    whole = stats.paired_difference(holes, b, human, groups, level=level, systems=systems, parts=parts, resamples=50)
    without = stats.paired_difference(*less[:4], level=level, systems=less[4], parts=less[5], resamples=50)
    assert (whole.delta, whole.interval, whole.p) == (without.delta, without.interval, without.p)


def test_parts_are_as_many_as_examples() -> None:
    with pytest.raises(ValueError, match="2 parts for 3 examples"):
        stats.agreement([1, 2, 3], [1, 2, 3], parts=[0, 0])
    assert stats.agreement([], [], parts=[]).parts == 0


def test_a_p_over_repeats_of_the_same_documents_is_no_smaller_than_chance_allows() -> None:
    small = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        human = rng.normal(size=24)
        # Each repeat sees the same examples, and both evaluators err in the same way every time.
        a, b = (np.tile(human + rng.normal(size=24), 4) + 0.05 * rng.normal(size=96) for _ in range(2))
        groups, parts = [f"d{i % 24}" for i in range(96)], [i // 24 for i in range(96)]
        people = np.tile(human, 4).tolist()
        p = stats.paired_difference(a.tolist(), b.tolist(), people, groups, parts=parts, resamples=100).p
        assert p is not None
        small += p < 0.1
    assert small <= 14  # 6 expected; rows taken for independent would give some 25


def test_documents_that_never_count_make_no_interval_whatever_the_parts() -> None:
    """Ten documents of three texts, in three of which people's scores vary."""
    rng = random.Random(2)
    groups = [f"d{i // 3}" for i in range(30)]
    human = [rng.gauss(0, 1) if i < 9 else 2.0 for i in range(30)]
    pred = [score + rng.gauss(0, 1) for score in human]
    for parts in (None, [0] * 30, [0, 1, 1] * 10):
        found = stats.agreement(pred, human, groups, level="document", parts=parts, resamples=50)
        assert found.mean is not None
        assert found.mean_interval is None, parts
    ceiling = human_ceiling([pred, human], groups, level="document", resamples=50)
    assert ceiling.mean is not None
    assert ceiling.mean_interval is None


def test_pooled_folds_are_as_uncertain_as_parts() -> None:
    a, b, human, groups, _, _ = in_parts()
    how = {"resamples": 400, "seed": 1}
    plain, folded = (stats.agreement(a, human, groups, folded=folded, **how) for folded in (False, True))
    assert (plain.spread, folded.spread) == (1, FOLDED)
    assert folded.mean == plain.mean
    assert folded.mean_interval[0] < plain.mean_interval[0] < plain.mean_interval[1] < folded.mean_interval[1]
    one, other = (stats.paired_difference(a, b, human, groups, folded=folded, **how) for folded in (False, True))
    assert (one.delta, other.spread) == (other.delta, FOLDED)
    assert one.p < other.p
