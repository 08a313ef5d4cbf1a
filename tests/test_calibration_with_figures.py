from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from active_critic import calibration as calibration_module
from active_critic.calibration import Calibration, calibrate, calibrate_with
from active_critic.errors import FitError
from active_critic.evaluators.surface import ALPHA_PER_FIGURE, SurfaceFloor
from active_critic.records import Example, Scale
from active_critic.standardising import Floats
from active_critic.stats import q
from active_critic.weighing import ABLER, EXPECTED, LEAST_SLOPE, PRIOR, SAME_VOICE, TALKED_UP, Figures, paid, strength

WIDE = Scale(low=-1e9, high=1e9)


def alone(n: int) -> list[str]:
    return [f"document {i:03d}" for i in range(n)]


Found = tuple[Calibration, dict[str, Figures]]


def scores(found: Found, figures: Floats, **readings: Floats) -> list[float]:
    """What a program would give: the part of the surface is read off the figures."""
    calibration, added = found
    surface = calibration.intercept + paid(added, {"surface": figures})["surface"]
    columns = {**readings, "surface": surface}
    rows = range(len(surface))
    return [calibration.apply({n: float(c[i]) for n, c in columns.items()}, WIDE).score for i in rows]


def test_readings_and_figures_are_one_regression_with_what_is_believed_added() -> None:
    rng = np.random.default_rng(0)
    n = 60
    rating, approval, *figures = rng.normal(size=(5, n)).clip(-1.5, 1.5)  # none is drawn in
    f = np.array(figures).T
    human = 3 + 0.6 * rating + 0.5 * approval + 0.3 * f[:, 0] - 0.4 * f[:, 1] + 0.2 * rng.normal(size=n)
    calibration, added_by = calibrate_with(
        {"surface": f}, {"rating": rating.tolist(), "approval": approval.tolist()}, human.tolist(), alone(n)
    )
    surface = added_by["surface"]
    z = np.column_stack([rating, approval, f])
    z = (z - z.mean(0)) / z.std(0)
    added = np.zeros((5, 5))
    added[:2, :2] = PRIOR * np.array([[1 + EXPECTED[TALKED_UP] ** 2, SAME_VOICE], [SAME_VOICE, 1]])
    added[2:, 2:] = strength(EXPECTED["surface figures"]) * 3 * np.eye(3)
    y = (human - human.mean()) / human.std()
    believed = PRIOR * np.array([EXPECTED["rating"], EXPECTED["approval"], 0, 0, 0])
    expected = np.linalg.solve(z.T @ z + added, z.T @ y + believed) * human.std()
    assert expected[:2].min() > 0
    assert [part.weight for part in calibration.parts[:2]] == pytest.approx(expected[:2].tolist())
    assert surface.coefficients.tolist() == pytest.approx(expected[2:].tolist())
    assert calibration.parts[2].name == "surface"
    assert calibration.parts[2].weight == pytest.approx(float((surface.standard.apply(f) @ surface.coefficients).std()))
    told = scores((calibration, added_by), f, rating=rating, approval=approval)
    assert told == pytest.approx((human.mean() + z @ expected).tolist())


def test_without_figures_it_is_the_combination_of_the_readings() -> None:
    rng = np.random.default_rng(1)
    rating, human = rng.normal(size=(2, 30)).tolist()
    calibration, added = calibrate_with({}, {"rating": rating}, human, alone(30))
    assert calibration == calibrate({"rating": rating}, human, alone(30))
    assert [part.name for part in calibration.parts] == ["rating"]
    assert not added


def test_each_kind_of_figures_has_a_ridge_of_its_own() -> None:
    rng = np.random.default_rng(12)
    n = 80
    rating, *columns = rng.normal(size=(6, n)).clip(-1.5, 1.5)
    kinds = {"surface": np.array(columns[:2]).T, "tokens": np.array(columns[2:]).T}
    human = rating + 0.5 * columns[0] - 0.5 * columns[2] + rng.normal(size=n)
    calibration, added = calibrate_with(kinds, {"rating": rating.tolist()}, human.tolist(), alone(n))
    z = np.column_stack([rating, *columns])
    z = (z - z.mean(0)) / z.std(0)
    of_surface, of_tokens = (strength(EXPECTED[f"{kind} figures"]) for kind in kinds)
    ridges = [PRIOR * (1 + EXPECTED[TALKED_UP] ** 2), *[of_surface * 2] * 2, *[of_tokens * 3] * 3]
    y = (human - human.mean()) / human.std()
    believed = np.array([PRIOR * EXPECTED["rating"], 0, 0, 0, 0, 0])
    expected = np.linalg.solve(z.T @ z + np.diag(ridges), z.T @ y + believed) * human.std()
    assert expected[0] > 0
    assert calibration.parts[0].weight == pytest.approx(expected[0])
    assert added["surface"].coefficients.tolist() == pytest.approx(expected[1:3].tolist())
    assert added["tokens"].coefficients.tolist() == pytest.approx(expected[3:].tolist())
    assert [part.name for part in calibration.parts] == ["rating", "surface", "tokens"]
    for part in calibration.parts[1:]:
        assert part.weight == pytest.approx(float(added[part.name].add(kinds[part.name]).std()))
    without, _ = calibrate_with({"surface": kinds["surface"]}, {"rating": rating.tolist()}, human.tolist(), alone(n))
    assert calibration.half_widths["80"] != without.half_widths["80"]  # documents are left out of every kind


def test_figures_take_out_of_a_reading_what_it_owes_to_them() -> None:
    """A likelihood that is mostly length, where people do not care for length."""
    rng = np.random.default_rng(2)
    quality, length, *noise = rng.normal(size=(6, 400))
    likelihood = quality + 2 * length
    f = np.column_stack([length, *noise])
    human = 3 + quality + 0.5 * rng.normal(size=400)
    few, rest = slice(0, 40), slice(40, 400)
    found = calibrate_with(
        {"surface": f[few]}, {"likelihood": likelihood[few].tolist()}, human[few].tolist(), alone(40)
    )
    assert found[1]["surface"].coefficients[0] < -0.2
    assert max(abs(found[1]["surface"].coefficients[1:])) < 0.5 * abs(found[1]["surface"].coefficients[0])
    reached = q(scores(found, f[rest], likelihood=likelihood[rest]), human[rest].tolist()) / 3
    assert reached > q(likelihood[rest].tolist(), human[rest].tolist()) / 3 + 0.15


def test_a_figure_that_an_example_lacks_is_at_its_mean_and_one_that_never_varies_says_nothing() -> None:
    rng = np.random.default_rng(3)
    rating, length, human = rng.normal(size=(3, 30))
    human += length
    length[5] = np.nan
    f = np.column_stack([length, np.full(30, 7.0)])
    found = calibrate_with({"surface": f}, {"rating": rating.tolist()}, human.tolist(), alone(30))
    added = found[1]["surface"]
    assert added.coefficients[0] > 0
    assert added.coefficients[1] == 0.0
    assert added.add(f)[5] == 0.0
    other = np.column_stack([np.where(np.isnan(length), 0.0, length), np.full(30, 700.0)])
    assert (added.standard.apply(other)[:, 1] == 0).all()


def test_the_order_of_examples_with_figures_does_not_matter_to_the_last_digit() -> None:
    rng = np.random.default_rng(4)
    rating, human = rng.integers(1, 4, size=(2, 40)).astype(float)  # many rows tie but for their figures
    f = rng.normal(size=(40, 4))
    groups = [f"{i // 2}" for i in range(40)]
    first = calibrate_with({"surface": f}, {"rating": rating.tolist()}, human.tolist(), groups)
    turned = rng.permutation(40)
    again = calibrate_with(
        {"surface": f[turned]}, {"rating": rating[turned].tolist()}, human[turned].tolist(), [groups[i] for i in turned]
    )
    assert again[0].model_dump_json() == first[0].model_dump_json()
    assert again[1]["surface"].coefficients.tolist() == first[1]["surface"].coefficients.tolist()


def test_intervals_hold_though_the_figures_are_many_and_fit_their_own_examples_well() -> None:
    rng = np.random.default_rng(5)
    inside: list[bool] = []
    short: list[bool] = []
    for _ in range(60):
        rating, human = rng.normal(size=(2, 50))
        human += 0.5 * rating
        f = rng.normal(size=(50, 20))
        found = calibrate_with({"surface": f[:40]}, {"rating": rating[:40].tolist()}, human[:40].tolist(), alone(40))
        missed = np.abs(np.array(scores(found, f[40:], rating=rating[40:])) - human[40:])
        own = np.abs(np.array(scores(found, f[:40], rating=rating[:40])) - human[:40])
        inside += (missed <= found[0].half_widths["80"]).tolist()
        short += (missed <= np.quantile(own, 0.8)).tolist()
    assert 0.77 < np.mean(inside) < 0.87
    assert np.mean(short) < 0.77  # the errors on its own examples would be too few and too small


def test_where_readings_go_against_people_the_figures_alone_tell_texts_apart() -> None:
    rng = np.random.default_rng(6)
    quality, length = rng.normal(size=(2, 200))
    rating = -quality
    human = quality + length
    calibration, added = calibrate_with(
        {"surface": length[:, None]}, {"rating": rating.tolist()}, human.tolist(), alone(200)
    )
    assert calibration.parts[0].weight == 0.0
    assert added["surface"].coefficients[0] == pytest.approx(np.polyfit(length, human, 1)[0] * length.std(), rel=0.1)


def test_where_nothing_is_said_at_all_the_score_still_varies_a_little() -> None:
    rng = np.random.default_rng(7)
    rating, figure = rng.normal(size=(2, 100))
    human = -rating
    figure -= np.polyfit(human, figure, 1)[0] * human  # says nothing of people's scores, nor of the rating
    found = calibrate_with({"surface": figure[:, None]}, {"rating": rating.tolist()}, human.tolist(), alone(100))
    told = np.std(scores(found, figure[:, None], rating=rating))
    assert told == pytest.approx(LEAST_SLOPE * human.std())


@pytest.mark.parametrize("constant", ["rating", "figures", "human"])
def test_what_does_not_vary_gets_no_weight(constant: str) -> None:
    rng = np.random.default_rng(8)
    rating, human = rng.normal(size=(2, 20))
    f = rng.normal(size=(20, 2))
    columns: dict[str, Any] = {"rating": rating, "figures": f, "human": human}
    columns[constant] = np.full_like(columns[constant], 2.0)
    calibration, added = calibrate_with(
        {"surface": columns["figures"]}, {"rating": columns["rating"].tolist()}, columns["human"].tolist(), alone(20)
    )
    weights = {part.name: part.weight for part in calibration.parts}
    assert (weights["rating"] == 0.0) == (constant in {"rating", "human"})
    coefficients = added["surface"].coefficients
    assert (not coefficients.any()) == (constant in {"figures", "human"})
    assert (weights["surface"] == 0.0) == (constant in {"figures", "human"})
    assert np.isfinite(coefficients).all()


def test_figures_without_a_reading_are_no_combination() -> None:
    with pytest.raises(FitError, match="two or more examples with finite readings"):
        calibrate_with({"surface": np.ones((3, 2))}, {}, [1.0, 2.0, 3.0], alone(3))


def test_the_surface_is_believed_to_say_less_beside_the_readings_of_an_abler_model() -> None:
    assert strength(EXPECTED["surface figures"]) == pytest.approx(
        ALPHA_PER_FIGURE, rel=0.01
    )  # as where it stands alone
    assert strength(ABLER["surface figures"]) == pytest.approx(8, rel=0.01)
    rng = np.random.default_rng(9)
    rating, length, human = rng.normal(size=(3, 40))
    human += length
    moved = []
    for expected in (EXPECTED, ABLER):
        found = calibrate_with(
            {"surface": length[:, None]}, {"rating": rating.tolist()}, human.tolist(), alone(40), expected=expected
        )
        moved.append(float(found[1]["surface"].coefficients[0]))
    assert 0 < moved[1] < 0.95 * moved[0]


def test_documents_beyond_so_many_are_left_out_several_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    turns = 20
    monkeypatch.setattr(calibration_module, "TURNS", turns)
    rng = np.random.default_rng(10)
    n = 2 * turns + 1
    rating, human = rng.normal(size=(2, n))
    human += rating
    f = rng.normal(size=(n, 3))
    found, *_ = calibrate_with({"surface": f}, {"rating": rating.tolist()}, human.tolist(), alone(n))
    errors = []
    for i in range(n):
        rest = np.arange(n) % turns != i % turns  # without its document, and those that are left out with it
        left = int(rest.sum())
        fitted = calibrate_with(
            {"surface": f[rest]}, {"rating": rating[rest].tolist()}, human[rest].tolist(), alone(left)
        )
        errors.append(abs(scores(fitted, f[i : i + 1], rating=rating[i : i + 1])[0] - human[i]))
    place = int(np.ceil((n + 1) * 0.9)) - 1
    assert found.half_widths["90"] == pytest.approx(sorted(errors)[place])


def test_what_the_surface_adds_is_not_clipped_before_the_other_parts_are_added() -> None:
    rng = np.random.default_rng(11)
    quality, length = rng.normal(size=(2, 300))
    likelihood = quality + 3 * length  # what length adds to it, the figures take away again
    human = (4.6 + 0.3 * quality).clip(1, 5)
    f = length[:, None]
    found, added = calibrate_with({"surface": f}, {"likelihood": likelihood.tolist()}, human.tolist(), alone(300))
    floor = SurfaceFloor.beside(added["surface"], found.intercept, Scale(low=1, high=5))
    surface = floor.predict([Example("")] * 300, figures=f)
    assert max(surface) > 5.2
    told = [found.apply({"likelihood": x, "surface": y}, WIDE).score for x, y in zip(likelihood, surface, strict=True)]
    assert told == pytest.approx(scores((found, added), f, likelihood=likelihood))


def odd(f: Floats, *far: int) -> Floats:
    """A text with so many figures this far above, or below, the mean; the others are at it. Shape ``(1, figures)``."""
    steps = np.array([*far, *[0] * (f.shape[1] - len(far))])
    return np.asarray((f.mean(0) + steps * f.std(0))[None])


def test_a_text_unlike_the_examples_is_not_paid_for_its_surface() -> None:
    rng = np.random.default_rng(12)
    n = 40
    rating, *figures = rng.normal(size=(13, n))
    f = np.array(figures).T
    human = rating + 0.5 * f.sum(axis=1)  # the more of each, the better
    found, added = calibrate_with({"surface": f}, {"rating": rating.tolist()}, human.tolist(), alone(n))
    surface = added["surface"]

    def counted(text: Floats) -> Floats:
        return paid(added, {"surface": text})["surface"]

    assert found.far == surface.far == pytest.approx(2.0227 * np.sqrt(41 / 39), rel=1e-4)  # t of 39 degrees of freedom
    assert found.unlike == surface.unlike == 3  # a quarter of twelve
    assert surface.add(odd(f, 3, 3, 3))[0] > counted(odd(f, 3, 3))[0] > 0
    assert counted(odd(f, 3, 3, 3)).tolist() == [0.0]
    assert counted(odd(f, 2, 2, 2)).tolist() == surface.add(odd(f, 2, 2, 2)).tolist()  # not far yet
    assert counted(odd(f, -3, -3, -3)).tolist() == surface.add(odd(f, -3, -3, -3)).tolist()  # it may lose by them
    assert [found.is_unlike(far) for far in (2, 3, 12)] == [False, True, True]
    assert not found.model_copy(update={"unlike": None}).is_unlike(12)  # as in a program from before
    lacking = odd(f, 3, 3, 3)
    lacking[0, 2] = np.nan
    assert counted(lacking).tolist() == surface.add(lacking).tolist()


def test_intervals_rest_on_scores_that_pay_no_text_for_being_unlike_the_others() -> None:
    rng = np.random.default_rng(14)
    n = 40
    likelihood, *figures = rng.normal(size=(17, n))
    f = np.array(figures).T
    human = likelihood + 0.3 * f.sum(axis=1)
    f[0], likelihood[0] = f.mean(0) + 6 * f.std(0), likelihood.min() - 3  # one is unlike all others
    found, _ = calibrate_with({"surface": f}, {"likelihood": likelihood.tolist()}, human.tolist(), alone(n))
    errors = []
    for i in range(n):
        rest = np.arange(n) != i
        fitted = calibrate_with(
            {"surface": f[rest]}, {"likelihood": likelihood[rest].tolist()}, human[rest].tolist(), alone(n - 1)
        )
        own = f[i : i + 1]
        unlike = fitted[1]["surface"].are_unlike(own)
        assert bool(unlike[0]) == (i == 0)
        errors.append(abs(scores(fitted, own, likelihood=likelihood[i : i + 1])[0] - human[i]))
    assert found.half_widths["95"] == pytest.approx(sorted(errors)[int(np.ceil((n + 1) * 0.95)) - 1])


def test_the_tokens_of_a_text_unlike_the_examples_are_not_paid_for_either() -> None:
    rng = np.random.default_rng(15)
    n = 40
    likelihood, *figures = rng.normal(size=(17, n))
    f, tokens = np.array(figures).T, rng.normal(size=(n, 2))
    human = likelihood + 0.5 * f.sum(axis=1) + tokens.sum(axis=1)
    kinds = {"surface": f, "tokens": tokens}
    found, added = calibrate_with(kinds, {"likelihood": likelihood.tolist()}, human.tolist(), alone(n))
    assert found.unlike == added["surface"].unlike == 4
    assert added["tokens"].unlike is None  # by the surface alone
    for far, unlike in (((3,) * 4, True), ((3,) * 3, False)):
        counted = paid(added, {"surface": odd(f, *far), "tokens": odd(tokens, 1, 1)})
        assert [float(points[0]) > 0 for points in counted.values()] == [not unlike] * 2
