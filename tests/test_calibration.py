from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from scipy.stats import t

from active_critic.calibration import COVERAGES, Calibration, calibrate
from active_critic.errors import FitError
from active_critic.records import Scale
from active_critic.weighing import (
    ABLER,
    EXPECTED,
    LEAST_SLOPE,
    PRIOR,
    SAME_VOICE,
    TALKED_UP,
    TOGETHER,
    WEAKER,
    WITHIN,
)

SCALE = Scale(low=1, high=5)
UNBOUNDED = Scale(low=-1e9, high=1e9)
LIFTED = EXPECTED[TALKED_UP] ** 2

VALUES = st.floats(-100, 100).map(lambda value: round(value, 3))
ROWS = st.lists(st.tuples(VALUES, VALUES, VALUES, st.integers(0, 9)), min_size=2, max_size=30)


def columns(rows: list[tuple[float, float, float, int]]) -> tuple[dict[str, list[float]], list[float], list[str]]:
    """Two readings, human scores and documents."""
    first, second, human, groups = zip(*rows, strict=True)
    return {"rating": list(first), "surface": list(second)}, list(human), [str(group) for group in groups]


def drawn(n: int, weights: dict[str, float], noise: float, seed: int = 0) -> tuple[dict[str, list[float]], list[float]]:
    """Independent standard readings, and human scores that are a weighted sum of them."""
    rng = np.random.default_rng(seed)
    readings = {name: rng.normal(size=n) for name in weights}
    human = 3 + sum(weights[name] * values for name, values in readings.items()) + noise * rng.normal(size=n)
    return {name: values.tolist() for name, values in readings.items()}, human.tolist()


def alone(n: int) -> list[str]:
    return [f"document {i}" for i in range(n)]


def weights_of(found: Calibration) -> dict[str, float]:
    return {part.name: part.weight for part in found.parts}


def score(found: Calibration, scale: Scale = UNBOUNDED, **readings: float) -> float:
    return found.apply(readings, scale).score


# --- weights ----------------------------------------------------------------------------------------------------------


@given(ROWS)
def test_no_weight_is_below_zero_and_no_number_is_not_finite(rows: list[tuple[float, float, float, int]]) -> None:
    found = calibrate(*columns(rows))
    assert all(part.weight >= 0 and math.isfinite(part.weight) for part in found.parts)
    assert found.n == len(rows)


@given(st.lists(st.tuples(VALUES, VALUES), min_size=2, max_size=30))
@example([(0.0, 0.0)] * 4 + [(1.0, -1.0)])
def test_the_score_rises_with_a_single_reading_whatever_the_labels(pairs: list[tuple[float, float]]) -> None:
    values, human = [x for x, _ in pairs], [y for _, y in pairs]
    assume(np.std(values) > 1e-3)
    assume(np.std(human) > 1e-3)
    found = calibrate({"rating": values}, human, alone(len(pairs)))
    assert score(found, rating=max(values)) > score(found, rating=min(values))


@pytest.mark.parametrize("others", [("surface",), ("approval",), ("approval", "likelihood", "surface")])
def test_readings_that_all_go_against_people_still_tell_texts_apart(others: tuple[str, ...]) -> None:
    readings, human = drawn(200, dict.fromkeys(("rating", *others), -1.0), 0.1)
    # Close to the mean, so that none is above what counts.
    readings = {name: np.tanh(values).tolist() for name, values in readings.items()}
    found = calibrate(readings, human, alone(200))
    told = [score(found, **{name: values[i] for name, values in readings.items()}) for i in range(200)]
    # By LEAST_SLOPE, however many examples say otherwise.
    assert np.std(told) == pytest.approx(LEAST_SLOPE * np.std(human))
    assert all(weight >= 0 for weight in weights_of(found).values())


def test_a_reading_that_says_nearly_nothing_moves_the_score_by_a_tenth_of_what_people_vary_by() -> None:
    rng = np.random.default_rng(0)
    rating, human = rng.normal(size=(2, 200))
    human -= np.polyfit(rating, human, 1)[0] * rating  # not correlated at all: the weight is of the belief alone
    found = calibrate({"rating": rating.tolist()}, human.tolist(), alone(200))
    told = [score(found, rating=value) for value in rating.tolist()]
    assert np.std(told) == pytest.approx(0.1 * np.std(human))
    assert np.corrcoef(told, rating)[0, 1] == pytest.approx(1.0)


def test_a_reading_that_goes_against_people_leaves_the_others_as_they_are_without_it() -> None:
    readings, human = drawn(30, {"rating": 0.6, "surface": 0.4, "likelihood": -1.0}, 0.3)
    # Tied to the rating: as long as it stood in the sum with its negative weight, it raised the rating's.
    readings["likelihood"] = [x + y for x, y in zip(readings["likelihood"], readings["rating"], strict=True)]
    found = weights_of(calibrate(readings, human, alone(30)))
    without = weights_of(calibrate({name: readings[name] for name in ("rating", "surface")}, human, alone(30)))
    assert found == pytest.approx({**without, "likelihood": 0.0})


@pytest.mark.parametrize("n", [5, 20, 200])
def test_no_text_is_paid_without_bound_for_being_likely(n: int) -> None:
    readings, human = drawn(n, {"rating": 0.5, "likelihood": 0.5, "approval": 0.5, "surface": 0.5}, 0.3, seed=n)
    found = calibrate(readings, human, alone(n))
    middle = {name: float(np.mean(values)) for name, values in readings.items()}
    ends = {part.name: part.high for part in found.parts}

    def lifted(name: str, by: float) -> float:
        return score(found, **{**middle, name: middle[name] + by}) - score(found, **middle)

    for name in ("likelihood", "approval"):  # up to the end of the prediction interval
        reach = float(t.ppf((1 + WITHIN) / 2, n - 1) * np.std(readings[name], ddof=1) * np.sqrt(1 + 1 / n))
        assert ends[name] == pytest.approx(middle[name] + reach)
        assert lifted(name, 0.9 * reach) < lifted(name, reach) == pytest.approx(lifted(name, 50 * reach))
        assert lifted(name, -50 * reach) == pytest.approx(50 * lifted(name, -reach))  # as low as it can be
    for name in ("rating", "surface"):  # which have ends of their own
        assert ends[name] is None
        assert lifted(name, 6.0) == pytest.approx(2 * lifted(name, 3.0))


def test_few_examples_leave_the_weights_nearly_equal_and_many_let_them_go() -> None:
    truth, trusting = {"rating": 1.0, "likelihood": 0.2, "surface": 0.6}, {**EXPECTED, TALKED_UP: 0.0}

    def unevenness(n: int) -> float:
        readings, human = drawn(n, truth, 0.5)
        weights = weights_of(calibrate(readings, human, alone(n), expected=trusting)).values()
        return float(np.std(list(weights)) / np.mean(list(weights)))

    even = float(np.std(list(truth.values())) / np.mean(list(truth.values())))
    assert unevenness(8) < 0.35 * even
    assert unevenness(2000) == pytest.approx(even, rel=0.1)

    readings, human = drawn(2000, truth, 0.5)
    x = np.array(list(readings.values())).T
    plain, *_ = np.linalg.lstsq((x - x.mean(0)) / x.std(0), np.array(human) - np.mean(human), rcond=None)
    found = weights_of(calibrate(readings, human, alone(2000)))
    assert list(found.values()) == pytest.approx(plain.tolist(), abs=0.05)


def test_without_the_prior_it_is_the_plain_regression() -> None:
    readings, human = drawn(40, {"rating": 1.0, "surface": 0.6}, 0.3)
    x = np.array(list(readings.values())).T
    plain, *_ = np.linalg.lstsq((x - x.mean(0)) / x.std(0), np.array(human) - np.mean(human), rcond=None)
    assert list(weights_of(calibrate(readings, human, alone(40), prior=1e-9)).values()) == pytest.approx(plain.tolist())


def test_the_prior_counts_for_as_many_examples_as_it_says() -> None:
    """As the plain regression on the examples, and PRIOR more in which readings correlate as believed."""
    n = 60
    readings, human = drawn(n, {"rating": 1.0, "surface": 0.2}, 0.5)
    z = np.array([(np.array(v) - np.mean(v)) / np.std(v) for v in readings.values()])
    y = (np.array(human) - np.mean(human)) / np.std(human)
    seen_alike, seen = z @ z.T / n, z @ y / n
    alike, believed = np.array([[1.0 + LIFTED, TOGETHER], [TOGETHER, 1.0]]), np.array([EXPECTED["rating"], TOGETHER])
    share = PRIOR / (PRIOR + n)
    mixed = np.linalg.solve(share * alike + (1 - share) * seen_alike, share * believed + (1 - share) * seen)
    found = weights_of(calibrate(readings, human, alone(n)))
    assert list(found.values()) == pytest.approx((mixed * np.std(human)).tolist())


def test_another_belief_moves_the_weights_of_few_labels_more_than_those_of_many() -> None:
    def share(n: int, expected: dict[str, float]) -> float:
        readings, human = drawn(n, {"rating": 0.5, "approval": 0.5, "likelihood": 0.5, "surface": 0.5}, 0.5)
        trusting = {**expected, TALKED_UP: 0.0}  # the correlations alone
        return calibrate(readings, human, alone(n), expected=trusting).shares["rating"]

    few, many = (share(n, ABLER) - share(n, EXPECTED) for n in (5, 500))
    assert few > 0.05
    assert 0 < many < few / 10


def test_few_labels_leave_the_approval_of_a_smaller_model_less_weight_and_its_likelihood_more() -> None:
    readings, human = drawn(8, {"rating": 0.3, "approval": 0.3, "likelihood": 0.3}, 0.2)
    default, smaller = (calibrate(readings, human, alone(8), expected=of).shares for of in (EXPECTED, WEAKER))
    assert smaller["approval"] < default["approval"] - 0.1
    assert smaller["likelihood"] > default["likelihood"] + 0.1


def test_rating_and_approval_are_believed_to_be_one_voice() -> None:
    n, names = 40, ("rating", "approval", "surface")
    readings, human = drawn(n, {"rating": 0.8, "approval": 0.6, "surface": 0.4}, 0.5)
    readings = {name: np.tanh(values).tolist() for name, values in readings.items()}  # none is above what counts
    z = np.array([(np.array(readings[name]) - np.mean(readings[name])) / np.std(readings[name]) for name in names])
    y = (np.array(human) - np.mean(human)) / np.std(human)
    alike = np.array([[1 + LIFTED, SAME_VOICE, TOGETHER], [SAME_VOICE, 1, TOGETHER], [TOGETHER, TOGETHER, 1]])
    believed = np.array([EXPECTED.get(name, TOGETHER) for name in names])
    mixed = np.linalg.solve(z @ z.T + PRIOR * alike, z @ y + PRIOR * believed)
    assert min(mixed) > 0
    found = weights_of(calibrate(readings, human, alone(n)))
    assert list(found.values()) == pytest.approx((mixed * np.std(human)).tolist())


def test_ratings_that_are_talked_up_are_believed_to_go_together_and_to_be_no_better_for_it() -> None:
    """As the regression on the examples, those that bear out the belief, and PRIOR more in which all ratings are up."""
    n, names = 400, ("criterion a", "criterion b", "likelihood", "rating")
    readings, human = drawn(n, dict.fromkeys(names, 0.5), 0.5)
    readings["likelihood"] = np.tanh(readings["likelihood"]).tolist()  # none is above what counts
    z = np.array([(np.array(readings[name]) - np.mean(readings[name])) / np.std(readings[name]) for name in names])
    y = (np.array(human) - np.mean(human)) / np.std(human)
    voice = np.array([1.0, 1.0, 0.0, 1.0])
    alike = np.where(np.outer(voice, voice) > 0, SAME_VOICE, TOGETHER) + np.diag(
        1 - np.where(voice, SAME_VOICE, TOGETHER)
    )
    believed = np.array([EXPECTED[name.partition(" ")[0]] for name in names])
    for talked_up in (0.0, 0.5, 2.0):
        attacked = np.outer(np.ones(int(PRIOR)), talked_up * voice)
        mixed = np.linalg.solve(z @ z.T + PRIOR * alike + attacked.T @ attacked, z @ y + PRIOR * believed)
        assert min(mixed) > 0
        found = weights_of(calibrate(readings, human, alone(n), expected={**EXPECTED, TALKED_UP: talked_up}))
        assert list(found.values()) == pytest.approx((mixed * np.std(human)).tolist())


def test_a_rating_that_can_be_talked_up_lifts_the_score_less_and_less_so_the_more_labels_there_are() -> None:
    def lift(n: int, talked_up: float) -> float:
        readings, human = drawn(n, {"rating": 0.5, "approval": 0.5, "likelihood": 0.5}, 0.5)
        found = calibrate(readings, human, alone(n), expected={**EXPECTED, TALKED_UP: talked_up})
        return score(found, rating=2.0, approval=0.0, likelihood=0.0) - score(
            found, rating=0.0, approval=0.0, likelihood=0.0
        )

    assert lift(20, 1.0) < 0.8 * lift(20, 0.0)
    assert 0.95 * lift(1000, 0.0) < lift(1000, 1.0) < lift(1000, 0.0)


def test_where_there_is_nothing_else_to_go_by_ratings_keep_their_weight_though_they_can_be_talked_up() -> None:
    for names in (("rating",), ("criterion a", "rating")):
        readings, human = drawn(20, dict.fromkeys(names, 0.5), 0.5)
        believing, trusting = (
            weights_of(calibrate(readings, human, alone(20), expected={**EXPECTED, TALKED_UP: by})) for by in (1.0, 0.0)
        )
        assert believing == trusting


def test_the_belief_in_the_contrast_counts_for_as_many_examples_more_which_say_nothing_of_the_others() -> None:
    n, names = 40, ("rating", "contrast")
    readings, human = drawn(n, {"rating": 0.8, "contrast": 0.3}, 0.5)
    readings = {name: np.tanh(values).tolist() for name, values in readings.items()}  # none is above what counts
    z = np.array([(np.array(readings[name]) - np.mean(readings[name])) / np.std(readings[name]) for name in names])
    y = (np.array(human) - np.mean(human)) / np.std(human)
    alike = np.array([[1 + LIFTED, TOGETHER], [TOGETHER, 1]])
    believed = np.array([EXPECTED[name] for name in names])
    more = np.diag([0, PRIOR])
    mixed = np.linalg.solve(z @ z.T + PRIOR * alike + more, z @ y + PRIOR * believed + more @ believed)
    assert min(mixed) > 0
    found = weights_of(calibrate(readings, human, alone(n)))
    assert list(found.values()) == pytest.approx((mixed * np.std(human)).tolist())


@given(ROWS, VALUES)
def test_a_reading_that_does_not_vary_has_no_weight_and_changes_nothing(
    rows: list[tuple[float, float, float, int]], constant: float
) -> None:
    readings, human, groups = columns(rows)
    without = calibrate(readings, human, groups)
    found = calibrate({**readings, "likelihood": [constant] * len(rows)}, human, groups)
    assert weights_of(found)["likelihood"] == 0
    for one, other in zip(without.parts, found.parts, strict=False):
        assert one.weight == pytest.approx(other.weight, rel=1e-6, abs=1e-9)
    values = {"rating": 1.0, "surface": -2.0}
    combined = found.apply({**values, "likelihood": constant + 1000}, UNBOUNDED)
    assert combined.score == pytest.approx(without.apply(values, UNBOUNDED).score, rel=1e-6, abs=1e-6)
    assert combined.added["likelihood"] == 0


@given(ROWS, st.randoms(use_true_random=False))
def test_the_order_of_rows_does_not_matter(rows: list[tuple[float, float, float, int]], random: Any) -> None:
    mixed = random.sample(rows, len(rows))
    assert calibrate(*columns(mixed)).model_dump_json() == calibrate(*columns(rows)).model_dump_json()


@given(ROWS, st.floats(0.01, 100), VALUES)
def test_human_scores_on_another_scale_move_scores_and_intervals_with_them(
    rows: list[tuple[float, float, float, int]], stretch: float, shift: float
) -> None:
    readings, human, groups = columns(rows)
    assume(np.std(human) > 1e-3)
    assume(all(np.std(values) > 1e-3 for values in readings.values()))
    one = calibrate(readings, human, groups)
    other = calibrate(readings, [shift + stretch * value for value in human], groups)
    tolerance = {"rel": 1e-6, "abs": 1e-6 * (1 + stretch)}
    for rating, surface, *_ in rows:
        values = {"rating": rating, "surface": surface}
        expected = shift + stretch * one.apply(values, UNBOUNDED).score
        assert other.apply(values, UNBOUNDED).score == pytest.approx(expected, **tolerance)
    assert list(other.half_widths) == list(one.half_widths)
    for coverage, half in one.half_widths.items():
        assert other.half_widths[coverage] == pytest.approx(stretch * half, **tolerance)


# --- scores -----------------------------------------------------------------------------------------------------------


@given(ROWS, VALUES, VALUES)
def test_what_the_parts_add_sums_to_the_score_before_it_is_clipped(
    rows: list[tuple[float, float, float, int]], rating: float, surface: float
) -> None:
    found = calibrate(*columns(rows))
    values = {"rating": rating, "surface": surface}
    free, held = found.apply(values, UNBOUNDED), found.apply(values, SCALE)
    assert free.score == pytest.approx(found.intercept + sum(free.added.values()), rel=1e-9, abs=1e-9)
    assert held.added == free.added
    assert held.score == min(SCALE.high, max(SCALE.low, free.score))


def test_a_text_at_the_means_gets_the_mean_score() -> None:
    readings, human = drawn(30, {"rating": 1.0, "surface": 0.5}, 0.3)
    found = calibrate(readings, human, alone(30))
    means = {name: float(np.mean(values)) for name, values in readings.items()}
    assert found.apply(means, UNBOUNDED).score == pytest.approx(np.mean(human))


def test_score_and_interval_stay_on_the_scale_and_the_interval_holds_the_score() -> None:
    readings, human = drawn(40, {"rating": 1.0, "surface": 0.5}, 0.5)
    found = calibrate(readings, human, alone(40))
    clipped = 0
    for rating in np.linspace(-6, 6, 41):
        combined = found.apply({"rating": float(rating), "surface": 0.0}, SCALE)
        assert combined.interval is not None
        low, high = combined.interval
        assert SCALE.low <= low < high <= SCALE.high
        assert low - 1e-4 <= combined.score <= high + 1e-4
        clipped += combined.score in (SCALE.low, SCALE.high)
    assert clipped > 2


def test_shares_are_parts_of_one() -> None:
    readings, human = drawn(100, {"rating": 1.0, "likelihood": 0.5, "surface": 0.5}, 0.5)
    shares = calibrate(readings, human, alone(100)).shares
    assert sum(shares.values()) == pytest.approx(1)
    assert max(shares, key=lambda name: shares[name]) == "rating"
    flat = calibrate({"rating": [3.0, 3.0, 3.0]}, [1.0, 2.0, 3.0], alone(3))
    assert flat.shares == {"rating": 0.0}
    assert flat.apply({"rating": 5.0}, SCALE).score == 2.0


# --- intervals --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sizes", [[1] * 31, [3] * 21, [1, 9, 2, 30, 1, 1, 5, 4, 2, 2, 8]])
def test_half_widths_are_the_conformal_ranks_of_errors_on_documents_left_out(sizes: list[int]) -> None:
    groups = [f"document {number}" for number, size in enumerate(sizes) for _ in range(size)]
    n, documents = len(groups), len(sizes)
    readings, human = drawn(n, {"rating": 1.0, "likelihood": 0.5, "approval": 0.5}, 0.7)
    for place, far in ((3, 9.0), (12, 7.0), (30, 5.0)):  # above what counts, the more so where they are left out
        readings["likelihood"][place] += far
    found = calibrate(readings, human, groups)
    errors = []
    for i in range(n):
        rest = [j for j in range(n) if groups[j] != groups[i]]
        without = calibrate(
            {name: [values[j] for j in rest] for name, values in readings.items()},
            [human[j] for j in rest],
            [groups[j] for j in rest],
        )
        error = abs(score(without, **{name: values[i] for name, values in readings.items()}) - human[i])
        errors.append((error, Fraction(1, groups.count(groups[i]))))
    errors.sort()
    for coverage in COVERAGES:
        lying, half = Fraction(0), None
        for error, part in errors:
            lying += part
            if lying >= (documents + 1) * Fraction(str(coverage)):
                half = error
                break
        assert found.half_widths.get(f"{100 * coverage:g}") == (None if half is None else pytest.approx(half))


def test_intervals_are_no_narrower_than_the_errors_of_a_search_made_anew() -> None:
    readings, human = drawn(40, {"rating": 1.0}, 0.7)
    found = calibrate(readings, human, [str(i) for i in range(40)])
    small = found.widened([(str(i), 0.01) for i in range(40)])
    assert small == found
    wide = found.widened([(str(i // 2), (-1) ** i * float(i)) for i in range(40)])  # twenty documents
    assert wide.half_widths == {"50": 20.0, "80": 33.0, "90": 37.0, "95": 39.0}
    few = found.widened([(str(i), 100.0) for i in range(9)])
    assert few.half_widths == {"50": 100.0, "80": 100.0, "90": 100.0}  # nine documents say nothing of 95 %
    assert found.widened([]).half_widths == {}


@pytest.mark.parametrize(("documents", "each"), [(12, 10), (20, 2), (40, 5)])
def test_intervals_hold_where_the_scores_of_a_document_go_together(documents: int, each: int) -> None:
    held = []
    for seed in range(150):
        rng = np.random.default_rng(seed)
        total = documents + 20
        human = np.repeat(rng.normal(size=total), each) + 0.3 * rng.normal(size=total * each)
        rating = human + rng.normal(size=total * each)
        cut = documents * each
        groups = [f"document {i // each}" for i in range(cut)]
        found = calibrate({"rating": rating[:cut].tolist()}, human[:cut].tolist(), groups)
        for value, person in zip(rating[cut:], human[cut:], strict=True):
            interval = found.apply({"rating": float(value)}, UNBOUNDED).interval
            assert interval is not None
            held.append(interval[0] <= person <= interval[1])
    assert 0.88 < np.mean(held) < 0.97


@pytest.mark.parametrize(
    ("n", "coverages"), [(2, {"50"}), (4, {"50", "80"}), (5, {"50", "80"}), (9, {"50", "80", "90"}), (19, None)]
)
def test_there_is_no_interval_that_so_few_examples_cannot_support(n: int, coverages: set[str] | None) -> None:
    readings, human = drawn(n, {"rating": 1.0}, 0.5)
    found = calibrate(readings, human, alone(n))
    assert set(found.half_widths) == (coverages or {"50", "80", "90", "95"})
    assert (found.apply({"rating": 0.0}, SCALE).interval is None) == (n < 9)


def test_intervals_hold_people_as_often_as_they_say() -> None:
    truth = {"rating": 0.8, "likelihood": 0.3, "surface": 0.3}
    held = []
    for seed in range(60):
        readings, human = drawn(60, truth, 0.6, seed)
        found = calibrate(readings, human, alone(60))
        fresh, people = drawn(50, truth, 0.6, 1000 + seed)
        for i, person in enumerate(people):
            interval = found.apply({name: values[i] for name, values in fresh.items()}, UNBOUNDED).interval
            assert interval is not None
            held.append(interval[0] <= person <= interval[1])
    assert 0.85 < np.mean(held) < 0.97


def test_of_one_document_there_is_a_score_and_no_interval() -> None:
    readings, human = drawn(40, {"rating": 1.0, "surface": 0.5}, 0.5)
    found = calibrate(readings, human, ["the one"] * 40)
    assert found.half_widths == {}
    assert found.apply({"rating": 0.0, "surface": 0.0}, SCALE).interval is None
    assert weights_of(found) == weights_of(calibrate(readings, human, alone(40)))


# --- edges ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_what_is_not_finite_is_refused(bad: float) -> None:
    with pytest.raises(FitError, match="finite readings"):
        calibrate({"rating": [1.0, bad, 2.0]}, [1.0, 2.0, 3.0], alone(3))
    with pytest.raises(FitError, match="finite readings"):
        calibrate({"rating": [1.0, 2.0, 3.0]}, [1.0, bad, 3.0], alone(3))


def test_one_example_or_no_reading_is_refused() -> None:
    with pytest.raises(FitError, match="there are 1"):
        calibrate({"rating": [1.0]}, [1.0], ["a"])
    with pytest.raises(FitError, match="two or more"):
        calibrate({}, [1.0, 2.0], alone(2))


@settings(max_examples=50)
@given(ROWS)
def test_as_json_and_back_it_is_the_same(rows: list[tuple[float, float, float, int]]) -> None:
    found = calibrate(*columns(rows))
    again = Calibration.model_validate_json(found.model_dump_json())
    assert again == found
    values = {"rating": 0.1, "surface": 0.2}
    assert again.apply(values, SCALE) == found.apply(values, SCALE)


@pytest.mark.parametrize(
    ("human", "step"), [([1, 2, 5, 3], 1.0), ([1, 2.5, 4], 0.5), ([1.25, 2], 0.25), ([1.1, 2], None), ([1.02, 2], None)]
)
def test_the_levels_that_people_score_on_are_found(human: list[float], step: float | None) -> None:
    values = [float(i) for i in range(len(human))]
    assert calibrate({"rating": values}, human, alone(len(human))).step == step


def test_an_interval_ends_at_a_level_and_loses_no_level_by_that() -> None:
    rng = np.random.default_rng(0)
    rating = rng.normal(size=60)
    human = np.clip(np.round(3 + rating + rng.normal(size=60)), 1, 5).tolist()
    found = calibrate({"rating": rating.tolist()}, human, alone(60))
    assert found.step == 1.0
    for value in np.linspace(-3, 3, 41):
        told = found.apply({"rating": float(value)}, SCALE)
        assert told.interval is not None
        low, high = told.interval
        assert low <= round(told.score, 4) <= high
        assert all(end in (1, 2, 3, 4, 5, round(told.score, 4)) for end in told.interval)
        half = found.half_widths["90"]
        for level in range(1, 6):
            assert (low <= level <= high) == (told.score - half <= level <= told.score + half)


def test_an_end_that_misses_a_level_by_rounding_alone_is_that_level() -> None:
    found = calibrate({"rating": [1.0, 2.0, 3.0]}, [1.0, 2.0, 3.0], alone(3))
    assert 2.14 - 1.14 > 1
    assert found.model_copy(update={"half_widths": {"90": 1.14}}).interval(2.14, SCALE) == (1.0, 3.0)
    just_below = math.nextafter(3.0, 0.0)
    assert found.model_copy(update={"half_widths": {"90": just_below - 2.0}}).interval(2.0, SCALE) == (1.0, 3.0)


@pytest.mark.parametrize("each", [1, 3])
def test_nine_documents_give_an_interval_whatever_parts_their_examples_count_as(each: int) -> None:
    readings, human = drawn(9 * each, {"rating": 1.0}, 0.5)
    found = calibrate(readings, human, [f"document {i // each}" for i in range(9 * each)])
    assert set(found.half_widths) == {"50", "80", "90"}


def test_an_interval_in_which_no_level_lies_is_not_drawn_together() -> None:
    found = calibrate({"rating": [0.0, 1.0, 0.0, 1.0]}, [0.0, 1.0, 0.0, 1.0], alone(4))
    narrow = found.model_copy(update={"half_widths": {"90": 0.4}})
    assert narrow.step == 1.0
    assert narrow.interval(0.5, Scale(low=0, high=1)) == (0.1, 0.9)
    assert narrow.interval(0.3, Scale(low=0, high=1)) == (0.0, 0.3)
