"""Coefficients: equal to scipy's where scipy has them, one by one, resampled and row by row; None where undefined."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from by_scipy import COEFFICIENTS
from hypothesis import given
from hypothesis import strategies as st

from active_critic.stats import agreement, correlation
from active_critic.stats.correlation import rowwise_coefficients

# Few distinct values, so that ties are common; with a few decimals, so that Pearson is well conditioned.
TIED = st.integers(-3, 3).map(float) | st.integers(-400, 400).map(lambda value: value / 100)
PAIRS = st.lists(st.tuples(TIED, TIED), min_size=2, max_size=25)


def columns(pairs: Sequence[tuple[float, float]]) -> tuple[list[float], list[float]]:
    return [x for x, _ in pairs], [y for _, y in pairs]


@pytest.mark.parametrize("name", COEFFICIENTS)
@given(pairs=PAIRS)
def test_coefficients_equal_scipys(name: str, pairs: list[tuple[float, float]]) -> None:
    x, y = columns(pairs)
    ours = getattr(correlation, name)(x, y)
    if len(set(x)) == 1 or len(set(y)) == 1:
        assert ours is None
    else:
        assert ours == pytest.approx(COEFFICIENTS[name](x, y), abs=1e-12)
        assert ours == pytest.approx(getattr(correlation, name)(y, x), abs=1e-12)


@pytest.mark.parametrize("name", COEFFICIENTS)
@pytest.mark.parametrize(
    ("x", "y"), [([], []), ([1.0], [2.0]), ([3.0, 3.0], [1.0, 2.0]), ([1.0, 2.0], [0.3, 0.1 + 0.2])]
)
def test_what_is_not_defined_is_none(name: str, x: list[float], y: list[float]) -> None:
    assert getattr(correlation, name)(x, y) is None


@pytest.mark.parametrize("name", COEFFICIENTS)
def test_extreme_sizes_neither_overflow_nor_leave_the_range(name: str) -> None:
    for size in (1e-300, 1e-9, 1e9, 1e300):
        assert getattr(correlation, name)([size, 2 * size, 3 * size], [1, 2, 3]) == pytest.approx(1.0, abs=1e-12)
    assert getattr(correlation, name)([1e9 + 1, 1e9 + 2, 1e9 + 4], [3, 2, 1]) < -0.98


@given(pairs=PAIRS, data=st.data())
def test_weights_are_the_same_as_writing_pairs_out(pairs: list[tuple[float, float]], data: st.DataObject) -> None:
    counts = st.lists(st.integers(0, 4), min_size=len(pairs), max_size=len(pairs)).filter(lambda c: sum(c) > 0)
    weights = data.draw(st.lists(counts, min_size=1, max_size=4))
    x, y = map(np.array, columns(pairs))
    ours = correlation.weighted_coefficients(x, y, np.array(weights, dtype=float))
    for row, weight in zip(ours, weights, strict=True):
        a, b = np.repeat(x, weight), np.repeat(y, weight)
        if np.ptp(a) == 0 or np.ptp(b) == 0:
            assert np.isnan(row).all()
        else:
            expected = [of(a, b) for of in COEFFICIENTS.values()]
            assert row == pytest.approx([*expected, sum(expected) / 3], abs=1e-12)


@given(pairs=st.lists(st.tuples(TIED, TIED), max_size=20), data=st.data())
def test_many_short_lists_at_once_equal_one_at_a_time(pairs: list[tuple[float, float]], data: st.DataObject) -> None:
    x, y = map(np.array, columns(pairs))
    here = st.lists(st.booleans(), min_size=len(pairs), max_size=len(pairs))
    present = np.array(data.draw(st.lists(here, min_size=1, max_size=3)), dtype=bool)
    rows = np.ones((len(present), 1))
    found = rowwise_coefficients(rows * x, rows * y, present)
    for row, kept in zip(found, present, strict=True):
        expected = [of(x[kept], y[kept]) for of in (correlation.pearson, correlation.spearman, correlation.kendall)]
        if None in expected:
            assert np.isnan(row).all()
        else:
            assert row[:3] == pytest.approx(expected, abs=1e-12)


def test_a_resample_far_from_the_mean_of_all_loses_no_digits() -> None:
    x = np.array([1e6, 0.001, 0.002, 0.004])
    y = np.array([1.0, 3.0, 2.0, 5.0])
    found = correlation.weighted_coefficients(x, y, np.array([[0, 1, 1, 1], [1, 1, 1, 1]], dtype=float))
    assert found[0, 0] == pytest.approx(COEFFICIENTS["pearson"](x[1:], y[1:]), abs=1e-12)
    assert found[1, 0] == pytest.approx(COEFFICIENTS["pearson"](x, y), abs=1e-12)


def test_unequal_lengths_and_missing_numbers_are_refused() -> None:
    with pytest.raises(ValueError, match="equal length"):
        correlation.pearson([1, 2], [1])
    with pytest.raises(ValueError, match="finite"):
        correlation.kendall([1, float("nan")], [1, 2])


def test_the_keys_of_a_mapping_are_not_taken_for_scores() -> None:
    by_number = dict(enumerate([5.0, 3.0, 4.0, 1.0, 2.0]))
    for pred, human in ((by_number, [1.0, 2.0, 3.0, 4.0, 5.0]), ([1.0, 2.0, 3.0, 4.0, 5.0], by_number)):
        with pytest.raises(ValueError, match="not mappings; list their values"):
            agreement(pred, human)  # type: ignore[arg-type]
