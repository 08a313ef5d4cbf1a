"""HD-Eval: the figures of a layer are held out, and what weighs nothing does not grow."""

from __future__ import annotations

import random

import numpy as np
import pytest
from test_hd_eval import MAIN, asked, fitted, model, value_of

from active_critic.data.examples import folds, group_of
from active_critic.evaluators import ridge
from active_critic.evaluators._hd_eval_growth import FOLDS
from active_critic.lm import Turn
from active_critic.records import Example
from active_critic.stats import agreement


def test_the_figures_of_a_layer_are_held_out() -> None:
    rng = random.Random(2)
    data = [
        Example(
            f"text {i} alpha={rng.randint(1, 5)} beta={rng.randint(1, 5)}",
            f"s{i}",
            float(rng.randint(1, 5)),
            group=f"d{i // 2}",
        )
        for i in range(24)
    ]
    (fit,) = fitted(data=data, layers=1, seed=5).fitted.fits
    x = np.array([[float(value_of(e.response, name)) for name in MAIN] for e in data])
    y, groups = np.array([e.score for e in data]), [group_of(e) for e in data]
    held = ridge.out_of_fold(x, y, groups, folds(data, FOLDS, 5), least=0.02)
    expected = agreement(np.clip(held, 1, 5).tolist(), y.tolist(), groups, resamples=0)
    assert fit.pearson == pytest.approx(expected.pearson, abs=0.01)
    assert fit.pearson != pytest.approx(
        agreement(ridge.fit(x, y, groups).predict(x).tolist(), y.tolist()).pearson, abs=0.1
    )


def test_a_criterion_that_weighs_nothing_is_not_decomposed() -> None:
    data = [Example(f"text {i} alpha={1 + i % 5}", f"s{i}", float(1 + i % 5), group=f"d{i // 2}") for i in range(24)]
    seen: list[list[Turn]] = []
    program = fitted(model(seen), data=data, expand=3).fitted
    assert {c.parent for c in program.layers[2]} == {"Alpha"}
    assert len(asked(seen)[0]) == 1
