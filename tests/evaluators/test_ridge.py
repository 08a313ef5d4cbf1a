"""The ridge: the closed form is what refitting gives, documents are left out whole, what does not vary says nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from active_critic.errors import FitError
from active_critic.evaluators import ridge


def data(n: int = 20, figures: int = 3, seed: int = 0, noise: float = 0.1) -> tuple[Any, Any, list[str]]:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, figures)) * np.arange(1, figures + 1) + 5
    y = 2 + x @ np.arange(figures, 0, -1) + noise * rng.normal(size=n)
    return x, y, [f"d{i // 2}" for i in range(n)]


def test_a_weak_ridge_is_least_squares(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ridge, "ALPHAS", (1e-9,))
    x, y, groups = data()
    made = ridge.fit(x, y, groups)
    design = np.column_stack([np.ones(len(y)), x])
    expected = design @ np.linalg.lstsq(design, y, rcond=None)[0]
    assert made.predict(x) == pytest.approx(expected, abs=1e-6)
    assert made.intercept == pytest.approx(y.mean())
    assert made.weights / made.spreads == pytest.approx(np.linalg.lstsq(design, y, rcond=None)[0][1:], abs=1e-6)


@given(st.integers(0, 50), st.sampled_from([0.01, 1.0, 30.0]))
@settings(max_examples=20)
def test_the_left_out_error_is_that_of_refitting(seed: int, alpha: float) -> None:
    x, y, _ = data(12, 2, seed)
    z = (x - x.mean(axis=0)) / x.std(axis=0)
    parts = [[0, 1, 2], [3], [4, 5, 6, 7], [8, 9, 10, 11]]
    total = 0.0
    for part in parts:
        rest = [i for i in range(12) if i not in part]
        design = np.column_stack([np.ones(12), z])
        penalty = np.diag([0.0, alpha, alpha])
        weights = np.linalg.solve(design[rest].T @ design[rest] + penalty, design[rest].T @ y[rest])
        total += float(((y[part] - design[part] @ weights) ** 2).sum())
    assert ridge.left_out_error(z, y, parts, alpha) == pytest.approx(total)


def test_the_strength_is_chosen_by_leaving_documents_out_not_rows() -> None:
    # Rows of a document share a figure and a score: row by row it looks telling, document by document it is noise.
    rng = np.random.default_rng(1)
    x = np.repeat(rng.normal(size=(6, 4)), 8, axis=0) + 1e-3 * rng.normal(size=(48, 4))
    y = np.repeat(rng.normal(size=6), 8)
    by_document = ridge.pick_alpha(x, y, [f"d{i // 8}" for i in range(48)])
    by_row = ridge.pick_alpha(x, y, [f"d{i}" for i in range(48)])
    assert by_document > 10 * by_row
    assert ridge.pick_alpha(x, y, ["one"] * 48) == by_row


def test_of_two_documents_each_is_left_out_whole() -> None:
    rng = np.random.default_rng(0)
    x = np.repeat([[-1.0], [1.0]], 8, axis=0) + 0.1 * rng.normal(size=(16, 1))
    y = np.repeat([1.0, 5.0], 8)  # told apart row by row; from one document nothing follows for the other
    assert ridge.pick_alpha(x, y, list("aaaaaaaabbbbbbbb")) == max(ridge.ALPHAS)
    assert ridge.pick_alpha(x, y, list("abcdefghijklmnop")) < 1


def test_of_strengths_that_do_as_well_the_strongest_is_taken() -> None:
    assert ridge.pick_alpha(np.zeros((6, 2)), np.arange(6.0), list("aabbcc")) == max(ridge.ALPHAS)


def test_figures_that_say_nothing_are_shrunk_away() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(40, 5)), rng.normal(size=40)
    made = ridge.fit(x, y, [str(i) for i in range(40)])
    assert made.alpha >= 30
    assert np.ptp(made.predict(x)) < np.ptp(y) / 2


def test_what_does_not_vary_has_weight_zero_and_says_nothing_elsewhere() -> None:
    x, y, groups = data(figures=2)
    x = np.column_stack([x, np.full(len(y), 3.0), 3.0 + 1e-4 * np.arange(len(y))])
    made = ridge.fit(x, y, groups, least=0.01)
    assert made.weights[2:].tolist() == [0.0, 0.0]
    assert made.spreads[2:].tolist() == [0.0, 0.0]
    moved = x + np.array([0.0, 0.0, 100.0, -100.0])
    assert made.predict(moved) == pytest.approx(made.predict(x))


def test_contributions_add_up_to_the_prediction() -> None:
    x, y, groups = data()
    made = ridge.fit(x, y, groups)
    assert made.intercept + made.contributions(x).sum(axis=1) == pytest.approx(made.predict(x))
    assert float(made.predict(x[0])) == pytest.approx(float(made.predict(x)[0]))


def test_held_out_rows_are_never_seen() -> None:
    x, y, groups = data()
    folds = [[0, 1, 2, 3], list(range(4, 12)), list(range(12, 20))]
    before = ridge.out_of_fold(x, y, groups, folds)
    changed = y.copy()
    changed[0] += 5.0
    changed[1] -= 5.0  # the mean stays, and with it the shift
    after = ridge.out_of_fold(x, changed, groups, folds)
    assert after[:4] == pytest.approx(before[:4])
    assert after[4:] != pytest.approx(before[4:])


def test_out_of_fold_is_the_whole_fit_on_the_others_strength_and_all() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(24, 4)), rng.normal(size=24)
    y[:6] += 3 * x[:6, 0]  # telling in one fold alone: the strength differs with it and without it
    x[:, 3] *= 0.005  # hardly varies
    groups = [f"d{i * 5 % 24 // 8}" for i in range(24)]  # three, whose rows lie apart
    folds = [list(range(start, start + 6)) for start in range(0, 24, 6)]
    found = ridge.out_of_fold(x, y, groups, folds, least=0.01)
    strengths = set()
    for fold in folds:
        rest = [i for i in range(24) if i not in fold]
        made = ridge.fit(x[rest], y[rest], [groups[i] for i in rest], least=0.01)
        strengths.add(made.alpha)
        assert made.weights[3] == 0
        assert found[fold] == pytest.approx(made.predict(x[fold]) + y.mean() - y[rest].mean())
    assert len(strengths) > 1


def test_pooled_predictions_of_noise_are_not_pushed_away_from_people() -> None:
    rng = np.random.default_rng(0)
    found = []
    for _ in range(6):
        x, y = rng.normal(size=(24, 2)), rng.normal(size=24)
        folds = [[i] for i in range(24)]
        found.append(np.corrcoef(ridge.out_of_fold(x, y, [str(i) for i in range(24)], folds), y)[0, 1])
    assert np.mean(found) > -0.3


def test_what_cannot_be_fitted_is_said() -> None:
    x, y, groups = data()
    with pytest.raises(FitError, match="two or more examples"):
        ridge.fit(x[:1], y[:1], groups[:1])
    with pytest.raises(FitError, match="finite"):
        ridge.fit(np.where(x > x.max() - 1e-9, np.nan, x), y, groups)
    with pytest.raises(FitError, match="finite"):
        ridge.fit(x, np.where(y > y.max() - 1e-9, np.inf, y), groups)
    with pytest.raises(FitError, match="every example exactly once"):
        ridge.out_of_fold(x, y, groups, [[0, 1], [1, 2]])
