"""Distances and pairwise accuracy: equal to their definitions, pair by pair."""

from __future__ import annotations

import itertools
import json
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from active_critic.stats.accuracy import mae, pairwise_accuracy, rmse

VALUE = st.integers(0, 5).map(float)
ROWS = st.lists(st.tuples(VALUE | st.none(), VALUE, st.sampled_from("abc")), min_size=1, max_size=12)


def by_definition(rows: list[tuple[float, float]], tie: float) -> float | None:
    """Deutsch, Foster and Freitag (2023): (concordant + tied on both sides) / all pairs."""
    right = []
    for (x, y), (other_x, other_y) in itertools.combinations(rows, 2):
        tied = abs(x - other_x) <= tie
        right.append(y == other_y if tied else (x - other_x) * (y - other_y) > 0)
    return sum(right) / len(right) if right else None


def mean(values: list[float]) -> float | None:
    return sum(values) / len(values) if values else None


@given(rows=ROWS)
def test_the_best_tie_over_all_pairs(rows) -> None:
    pred, human, _ = map(list, zip(*rows, strict=True))
    kept = [(x, y) for x, y, _ in rows if x is not None]
    found = pairwise_accuracy(pred, human)
    assert found.pairs == len(kept) * (len(kept) - 1) // 2
    assert found.uncalibrated == pytest.approx(by_definition(kept, 0.0))
    by_tie = {tie: by_definition(kept, tie) for tie in map(float, range(6))}
    if not found.pairs:
        assert found.accuracy is found.tie is found.human_ties is None
    else:
        assert found.accuracy == pytest.approx(max(by_tie.values()))
        assert found.accuracy == pytest.approx(by_tie[found.tie])


@given(rows=ROWS)
def test_one_tie_for_all_documents_and_the_mean_over_them(rows) -> None:
    pred, human, groups = map(list, zip(*rows, strict=True))
    parts = [[(x, y) for x, y, g in rows if g == name and x is not None] for name in "abc"]
    found = pairwise_accuracy(pred, human, groups)
    by_tie = {
        tie: mean([a for part in parts if (a := by_definition(part, tie)) is not None]) for tie in map(float, range(6))
    }
    assert found.groups == sum(len(part) > 1 for part in parts)
    if found.pairs:
        assert found.accuracy == pytest.approx(max(by_tie.values()))
        assert found.accuracy == pytest.approx(by_tie[found.tie])
        assert found.uncalibrated == pytest.approx(by_tie[0.0])


@given(rows=ROWS)
def test_another_unit_of_the_predictions_changes_nothing_but_the_tie(rows) -> None:
    """A tenth is no round number to a computer: 0.3 - 0.2 is less than 0.2 - 0.1."""
    pred, human, groups = map(list, zip(*rows, strict=True))
    for names in (None, groups):
        whole = pairwise_accuracy(pred, human, names)
        tenths = pairwise_accuracy([None if value is None else value / 10 for value in pred], human, names)
        assert tenths.accuracy == (None if whole.accuracy is None else pytest.approx(whole.accuracy))
        assert tenths.uncalibrated == (None if whole.uncalibrated is None else pytest.approx(whole.uncalibrated))
        assert tenths.tie == (None if whole.tie is None else pytest.approx(whole.tie / 10))


def test_scores_that_differ_by_rounding_are_tied() -> None:
    assert 0.3 - 0.1 != 0.2
    found = pairwise_accuracy([2, 2, 5], [0.3 - 0.1, 0.2, 0.6])
    assert (found.accuracy, found.human_ties) == (1.0, pytest.approx(1 / 3))


def test_calibration_pays_where_people_tie_and_predictions_are_fine() -> None:
    human = [1.0, 1.0, 1.0, 2.0, 2.0, 2.0]
    found = pairwise_accuracy([1.01, 1.02, 1.03, 2.01, 2.02, 2.03], human)
    assert found.uncalibrated == pytest.approx(9 / 15)
    assert found.accuracy == 1.0
    assert found.tie == pytest.approx(0.02)
    assert found.human_ties == pytest.approx(6 / 15)
    json.dumps(found.to_dict(), allow_nan=False)


def test_a_constant_is_right_about_ties_only() -> None:
    found = pairwise_accuracy([3.0] * 4, [1.0, 1.0, 2.0, 3.0])
    assert (found.accuracy, found.tie) == (pytest.approx(1 / 6), 0.0)


def test_of_very_many_pairs_a_random_part_is_taken_and_that_is_said() -> None:
    human = [float(i % 7) for i in range(200)]
    pred = [value + (i % 3) for i, value in enumerate(human)]
    groups = [f"d{i % 20}" for i in range(200)]
    for given_groups in (None, groups):
        whole = pairwise_accuracy(pred, human, given_groups)
        part = pairwise_accuracy(pred, human, given_groups, most_pairs=800)
        assert (whole.sampled, part.sampled, part.pairs) == (False, True, 800)
        assert part.accuracy == pytest.approx(whole.accuracy, abs=0.06)
        assert part == pairwise_accuracy(pred, human, given_groups, most_pairs=800)


def test_of_documents_of_all_sizes_the_small_ones_keep_all_their_pairs() -> None:
    """One large document that is judged at random, and a hundred small ones that are judged rightly."""
    rng = random.Random(0)
    pred, human, groups = [], [], []
    for _ in range(400):
        pred.append(rng.random())
        human.append(rng.random())
        groups.append("large")
    for i in range(100):
        pred += [0.0, 1.0]
        human += [0.0, 1.0]
        groups += [f"small {i}"] * 2
    whole = pairwise_accuracy(pred, human, groups)
    for seed in range(3):
        part = pairwise_accuracy(pred, human, groups, most_pairs=2_000, seed=seed)
        assert (part.sampled, part.pairs, part.groups) == (True, 2_000, 101)
        assert part.accuracy == pytest.approx(whole.accuracy, abs=0.001)
    few = pairwise_accuracy(pred, human, groups, most_pairs=10)  # every document has a pair all the same
    assert few.pairs == 101


def test_distances_are_on_the_human_scale_and_leave_out_what_is_missing() -> None:
    assert mae([1, None, 4], [2, 5, 2]) == pytest.approx(1.5)
    assert rmse([1, float("nan"), 4], [2, 5, 2]) == pytest.approx(2.5**0.5)
    assert mae([None], [1]) is None
    assert rmse([], []) is None
    for of in (mae, rmse, pairwise_accuracy):
        with pytest.raises(ValueError, match="2 predictions for 1"):
            of([1, 2], [1])
        with pytest.raises(ValueError, match="finite"):
            of([1], [float("nan")])
