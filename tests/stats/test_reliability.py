"""How far people agree: alpha equals published figures and its definition, the ceiling an explicit computation."""

from __future__ import annotations

import gzip
import itertools
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from active_critic import stats
from active_critic.errors import DataError
from active_critic.stats.reliability import Movement, human_ceiling, krippendorff_alpha

HANNA = Path(__file__).parents[3] / "shared" / "datasets" / "peers" / "hanna.jsonl.gz"
LEVELS = ("nominal", "ordinal", "interval", "ratio")
X = None
# Krippendorff, "Computing Krippendorff's Alpha-Reliability" (2011), sections C and D: four observers, twelve units.
CANONICAL = [
    [1, 2, 3, 3, 2, 1, 4, 1, 2, X, X, X],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, X, 3],
    [X, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, X],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, X],
]
RATING = st.none() | st.integers(0, 4).map(float)


@pytest.mark.parametrize(
    ("level", "published"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849), ("ratio", 0.797)]
)
def test_alpha_of_the_canonical_example_is_the_published_one(level, published) -> None:
    assert krippendorff_alpha(CANONICAL, level) == pytest.approx(published, abs=0.0005)


def test_alpha_of_binary_data_of_two_observers_is_the_published_one() -> None:
    # The same text, section A: ten units, two observers, alpha = 0.095.
    both = [[0, 1, 0, 0, 0, 0, 0, 0, 1, 0], [1, 1, 1, 0, 0, 1, 0, 0, 0, 0]]
    for level in ("nominal", "ordinal", "interval"):
        assert krippendorff_alpha(both, level) == pytest.approx(0.095, abs=0.0005)


NO_TABLES = {
    "rows that are texts": (["12", "12"], "a list of numbers, one for each item, not '12'"),
    "one row alone": ([1.0, 2.0, 3.0], "a list of numbers, one for each item, not 1.0"),
    "rows by name": ({"1": [1, 2, 3], "2": [1, 2, 3]}, "of a mapping give list"),
}


@pytest.mark.parametrize("what", NO_TABLES)
def test_what_is_no_table_of_ratings_is_refused(what: str) -> None:
    table, said = NO_TABLES[what]
    for of in (krippendorff_alpha, human_ceiling):
        with pytest.raises(ValueError, match=said):
            of(table)


def test_a_frame_is_refused_for_it_does_not_say_where_its_annotators_are() -> None:
    frame = pytest.importorskip("pandas").DataFrame({"1": [1, 2, 3, 4.0], "2": [1, 2, 3, 4.0]})
    for of in (krippendorff_alpha, human_ceiling):
        with pytest.raises(ValueError, match=r"its rows or its columns; give frame\.to_numpy\(\) where"):
            of(frame)
    assert krippendorff_alpha(frame.to_numpy().T) == 1.0
    missing = frame.astype("Int64").T.to_numpy(dtype=object, na_value=X)
    missing[0, 0] = pytest.importorskip("pandas").NA
    assert krippendorff_alpha(missing) == 1.0


def test_alpha_of_nominal_data_of_two_observers_is_the_published_one() -> None:
    # The same text, section B: twelve units, five categories, alpha = 0.692.
    both = [["abcde".index(code) for code in observer] for observer in ("aabbdcccedda", "babbbccceddd")]
    assert krippendorff_alpha(both, "nominal") == pytest.approx(0.692, abs=0.0005)


def by_definition(table: list[list[float | None]], level: str) -> float | None:
    """1 - observed / expected disagreement, pair by pair."""
    units = [[v for v in column if v is not None] for column in zip(*table, strict=True)]
    units = [unit for unit in units if len(unit) > 1]
    everything = [v for unit in units for v in unit]

    def distance(a: float, b: float) -> float:
        if level == "nominal":
            return float(a != b)
        if level == "ratio":
            return ((a - b) / (a + b)) ** 2 if a + b else 0.0
        if level == "ordinal":
            low, high = min(a, b), max(a, b)
            between = sum(low <= v <= high for v in everything)
            return (between - (everything.count(low) + everything.count(high)) / 2) ** 2 if low < high else 0.0
        return (a - b) ** 2

    n = len(everything)
    expected = sum(distance(a, b) for a, b in itertools.permutations(everything, 2))
    if not expected:
        return None
    observed = sum(sum(distance(a, b) for a, b in itertools.permutations(unit, 2)) / (len(unit) - 1) for unit in units)
    return 1 - (observed / n) / (expected / (n * (n - 1)))


@pytest.mark.parametrize("level", LEVELS)
@given(data=st.data())
@settings(deadline=None, max_examples=40)
def test_alpha_equals_its_definition(level, data) -> None:
    items = data.draw(st.integers(1, 6))
    table = data.draw(st.lists(st.lists(RATING, min_size=items, max_size=items), min_size=1, max_size=4))
    expected, found = by_definition(table, level), krippendorff_alpha(table, level)
    assert (found is None) == (expected is None)
    assert found is None or found == pytest.approx(expected, abs=1e-10)


@pytest.mark.parametrize(
    ("level", "expected"),
    # krippendorff 0.9.0: alpha(reliability_data=table, level_of_measurement=level)
    [("nominal", 0.3563608909), ("ordinal", 0.7647571867), ("interval", 0.7545277204), ("ratio", 0.7265830783)],
)
def test_alpha_equals_that_of_the_package_of_that_name(level, expected) -> None:
    table = [
        [X if (5 * i + 7 * rater) % 11 == 0 else min(5, max(1, 7 * i % 5 + (rater + 3) * i % 3)) for i in range(60)]
        for rater in range(4)
    ]
    assert krippendorff_alpha(table, level) == pytest.approx(expected, abs=1e-10)


def test_alpha_is_1_for_agreement_0_by_chance_and_not_defined_without_variation() -> None:
    assert krippendorff_alpha([[1, 2, 3, X], [1, 2, 3, 4]]) == 1.0
    rng = np.random.default_rng(1)
    for level in LEVELS:
        assert krippendorff_alpha(rng.integers(1, 6, (3, 5000)), level) == pytest.approx(0, abs=0.03)
        assert krippendorff_alpha([[2, 2], [2, 2]], level) is None
        assert krippendorff_alpha([[1, X], [X, 2]], level) is None
        assert krippendorff_alpha([], level) is None


def test_what_alpha_refuses() -> None:
    with pytest.raises(ValueError, match="as many places"):
        krippendorff_alpha([[1, 2], [1]])
    with pytest.raises(ValueError, match="no level of measurement"):
        krippendorff_alpha([[1, 2], [1, 2]], "cardinal")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="finite"):
        krippendorff_alpha([[1, float("inf")], [1, 2]])
    with pytest.raises(ValueError, match="below 0"):
        krippendorff_alpha([[-1, 2], [1, 2]], "ratio")


def raters(seed: int = 0) -> tuple[np.ndarray, list[str]]:
    rng = np.random.default_rng(seed)
    table = rng.normal(size=40) + rng.normal(size=(3, 40))
    table[0, :4] = np.nan
    table[1:, 39] = np.nan  # an item with one rating only
    return table, [f"d{i // 4}" for i in range(40)]


def test_the_ceiling_is_the_mean_over_annotators_against_the_rest() -> None:
    table, groups = raters()
    found = human_ceiling(table, groups, resamples=200)
    singles = []
    for own in range(3):
        pairs = [
            (table[own, i], np.nanmean(np.delete(table[:, i], own))) for i in range(39) if not np.isnan(table[own, i])
        ]
        x, y = zip(*pairs, strict=True)
        singles.append([stats.pearson(x, y), stats.spearman(x, y), stats.kendall(x, y)])
    assert (found.pearson, found.spearman, found.kendall) == pytest.approx(np.mean(singles, axis=0))
    assert found.mean == pytest.approx(np.mean(singles))
    assert found.each == pytest.approx([np.mean(single) for single in singles])
    assert (found.items, found.n, found.groups) == (39, 3 * 39 - 4, 10)
    assert found.mean_interval[0] < found.mean < found.mean_interval[1]
    json.dumps(found.to_dict(), allow_nan=False)


def test_the_ceiling_of_two_annotators_is_their_agreement_with_its_interval() -> None:
    table, groups = raters()
    two = table[1:, :39]
    found, plain = human_ceiling(two, groups[:39]), stats.agreement(two[0].tolist(), two[1].tolist(), groups[:39])
    for name in ("pearson", "spearman", "kendall", "mean", "mean_interval"):
        assert getattr(found, name) == pytest.approx(getattr(plain, name), abs=1e-12)


def test_an_annotator_who_never_varies_does_not_count_and_is_named() -> None:
    table, groups = raters()
    with_constant = np.vstack([table[1:, :39], np.full(39, 3.0)])
    found = human_ceiling(with_constant, groups[:39], resamples=20)
    assert found.each[2] is None
    assert found.mean == pytest.approx(np.mean(found.each[:2]))
    nothing = human_ceiling([[1.0, 1.0], [1.0, 1.0]], resamples=20)
    assert (nothing.mean, nothing.mean_interval, nothing.each) == (None, None, (None, None))


def test_means_of_the_others_that_are_equal_tie_whatever_the_rounding_of_their_sums() -> None:
    # The others' sums are 0.3 twice, as 0.1 + 0.2 and 0.3 + 0.0, and 0.6 twice.
    table = [[0.7, 0.1, 0.2, 0.4], [0.1, 0.3, 0.3, 0.6], [0.2, 0.0, 0.3, 0.0]]
    found = human_ceiling(table, resamples=0)
    rests = [[0.3, 0.3, 0.6, 0.6], [0.9, 0.1, 0.5, 0.4], [0.8, 0.4, 0.5, 1.0]]
    each = [stats.kendall(own, rest) for own, rest in zip(table, rests, strict=True)]
    assert found.kendall == pytest.approx(np.mean(each), abs=1e-12)


def test_levels_of_the_ceiling() -> None:
    table, groups = raters()
    systems = [f"s{i % 5}" for i in range(40)]
    assert human_ceiling(table, groups, level="document", resamples=20).level == "document"
    assert human_ceiling(table, groups, level="system", systems=systems, resamples=20).mean is not None
    with pytest.raises(DataError, match="system of every example"):
        human_ceiling(table, groups, level="system")
    with pytest.raises(DataError, match="document of every example"):
        human_ceiling(table, level="document")
    with pytest.raises(ValueError, match="at least two annotators"):
        human_ceiling(table[:1], groups)


def test_settings_that_are_numbers_of_numpy_are_written_as_json_of_ceiling_and_agreement_alike() -> None:
    table, groups = raters()
    how = {"resamples": np.int64(50), "seed": np.int64(3), "confidence": np.float32(0.5)}
    for found in (human_ceiling(table, groups, **how), stats.agreement(table[1, :9], table[2, :9], groups[:9], **how)):
        read = json.loads(json.dumps(found.to_dict()))
        assert (read["resamples"], read["seed"], read["confidence"]) == (50, 3, 0.5)


def test_an_item_that_does_not_count_needs_no_system_in_ceiling_and_agreement_alike() -> None:
    table, groups = raters()  # the last item has one rating only
    systems = [f"s{i % 5}" for i in range(40)]
    how = {"level": "system", "resamples": 20}
    for missing in (None, float("nan")):
        some = [*systems[:39], missing]
        assert human_ceiling(table, groups, systems=some, **how) == human_ceiling(table, groups, systems=systems, **how)
        assert stats.agreement(table[1], range(40), groups, systems=some, **how).n == 39
        with pytest.raises(DataError, match="system of every example"):
            human_ceiling(table, groups, systems=[missing, *systems[1:]], **how)


def test_fewer_than_no_resamples_are_refused_by_ceiling_and_agreement_alike() -> None:
    table, groups = raters()
    with pytest.raises(ValueError, match=r"0 \(no intervals\) to 1,000,000, not -1"):
        human_ceiling(table, groups, resamples=-1)
    with pytest.raises(ValueError, match=r"0 \(no intervals\) to 1,000,000, not -1"):
        stats.agreement(table[1, :9], table[2, :9], groups[:9], resamples=-1)


def test_within_documents_the_interval_of_the_ceiling_is_no_narrower_than_students() -> None:
    groups = [str(i // 2) for i in range(12)]
    one, other = [1.0, 2.0] * 6, [1.0, 2.0] * 5 + [2.0, 1.0]
    found = human_ceiling([one, other], groups, level="document")
    half = scipy_stats.t.ppf(0.975, 5) * np.std([1.0] * 5 + [-1.0], ddof=1) / 6**0.5
    assert found.mean == pytest.approx(2 / 3)
    assert found.mean_interval[0] <= 2 / 3 - half + 1e-9
    assert found.mean_interval[1] == 1.0
    assert human_ceiling([one, one], groups, level="document").mean_interval is None  # all alike


@pytest.mark.skipif(not HANNA.exists(), reason="the shared data sets are not here")
def test_raters_of_hanna_agree_as_little_as_its_card_says() -> None:
    with gzip.open(HANNA, "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    aspects = [*rows[0]["scores"]]

    def table(aspect: str) -> np.ndarray:
        return np.array([[row["preds"][f"human_rater{i}:{aspect}"] for row in rows] for i in (1, 2, 3)], dtype=float)

    groups = [row["doc_id"] for row in rows]
    assert np.mean([table(a).mean(axis=0) for a in aspects], axis=0) == pytest.approx(
        np.array([row["overall"] for row in rows]), abs=1e-5
    )
    overall = human_ceiling(np.mean([table(a) for a in aspects], axis=0), groups, resamples=200)
    coherence = human_ceiling(table("coherence"), groups, resamples=200)
    assert overall.pearson == pytest.approx(0.2, abs=0.1)
    assert abs(coherence.pearson) < 0.15
    assert coherence.mean_interval[0] < coherence.mean < coherence.mean_interval[1]
    for aspect in aspects:
        for level in ("nominal", "ordinal", "interval", "ratio"):
            assert -0.2 < krippendorff_alpha(table(aspect), level) < 0.5
    one = table("relevance")[:, :40]
    assert krippendorff_alpha(one, "ordinal") == pytest.approx(by_definition(one.tolist(), "ordinal"), abs=1e-10)


# --- how far an evaluator agrees with itself ------------------------------------------------------------------------


def test_movement_is_counted_item_by_item() -> None:
    movement = Movement()
    assert movement.add([3.0, 3.0, 3.0]) == 0
    assert movement.add([1.0, 2.0, 4.0]) == pytest.approx(np.std([1, 2, 4], ddof=1))
    assert movement.add([2.0, None, 3.0]) == pytest.approx(np.std([2, 3], ddof=1))
    assert movement.add([None, None, 5.0]) is None
    assert movement.add([None, None, None]) is None
    found = movement.to_dict()
    assert (found["items"], found["moved"], found["partly_scored"]) == (3, 2, 2)
    assert found["share_moved"] == pytest.approx(2 / 3)
    assert found["mean_absolute_difference"] == pytest.approx((0 + (1 + 3 + 2) / 3 + 1) / 3)
    assert found["mean_sd"] == pytest.approx((np.std([1, 2, 4], ddof=1) + np.std([2, 3], ddof=1)) / 3)
    assert "2 of 3 items (67%)" in found["words"][0]
    assert "2 items were scored some times" in found["words"][1]


def test_movement_of_nothing_is_not_nothing() -> None:
    found = Movement().to_dict()
    assert found["mean_sd"] is found["mean_absolute_difference"] is found["share_moved"] is None
    assert "nothing can be said" in found["words"][0]


@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval", "ratio"])
@pytest.mark.parametrize("unit", [1e-200, 1e200])
def test_alpha_is_the_same_in_any_unit(level: str, unit: float) -> None:
    ratings = [[1.0, 2.0, 3.0, 4.0], [1.0, 2.0, 2.0, 4.0], [2.0, 2.0, 3.0, 3.0]]
    scaled = [[unit * value for value in row] for row in ratings]
    assert krippendorff_alpha(scaled, level) == pytest.approx(krippendorff_alpha(ratings, level))
