"""How the likelihood of a text is spread over its tokens."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from scipy import stats as scipy_stats

from active_critic.calibration import calibrate_with
from active_critic.lm.likelihood import FLOOR
from active_critic.token_figures import TOKEN_FIGURES, TokenWeights, token_figures

MANY = [-0.01, -3.0, -0.5, -0.02, -7.5, -1.0, -0.05, -2.0, -0.3, -4.0, -0.08, -6.0]


def of(logprobs: list[float]) -> dict[str, float]:
    return dict(zip(TOKEN_FIGURES, token_figures(logprobs), strict=True))


def test_figures_equal_those_of_scipy_and_numpy() -> None:
    x = np.array(MANY)
    found = of(MANY)
    assert found["mean"] == pytest.approx(x.mean())
    assert found["spread"] == pytest.approx(x.std())
    assert found["skewness"] == pytest.approx(scipy_stats.skew(x))
    assert found["lowest_tenth"] == pytest.approx(np.quantile(x, 0.1))
    assert found["median"] == pytest.approx(np.median(x))
    assert found["share_of_certain"] == 4 / 12
    assert found["beginning"] == pytest.approx(np.mean(MANY[:3]))
    assert found["end"] == pytest.approx(np.mean(MANY[-3:]))
    assert found["last_three"] == pytest.approx(np.mean(MANY[-3:]))
    apart = x - x.mean()
    assert found["correlation_of_neighbours"] == pytest.approx(float(apart[1:] @ apart[:-1] / (apart @ apart)))


def test_a_text_of_few_tokens_and_one_of_equal_ones_have_the_figures_that_they_can_have() -> None:
    few = of([-0.09, -0.12, -2.0])  # with 9 in 10 a token is certain: above a log-probability of -0.1
    assert few["share_of_certain"] == pytest.approx(1 / 3)
    assert (few["beginning"], few["end"], few["last_three"]) == (-0.09, -2.0, pytest.approx(-2.21 / 3))
    alike = of([-1.5] * 8)
    assert (alike["spread"], alike["skewness"], alike["correlation_of_neighbours"]) == (0.0, 0.0, 0.0)


def test_unlikely_tokens_that_stand_together_are_told_from_the_same_ones_apart() -> None:
    together, apart = of([-0.1] * 12 + [-5.0] * 4), of(([-0.1] * 3 + [-5.0]) * 4)
    alike = ("mean", "spread", "skewness", "lowest_tenth", "median")
    assert [together[name] for name in alike] == pytest.approx([apart[name] for name in alike])
    assert together["correlation_of_neighbours"] > 0.5 > 0 > apart["correlation_of_neighbours"]
    assert together["end"] < apart["end"]


@given(st.lists(st.floats(FLOOR, 0), min_size=1, max_size=30))
def test_every_text_has_every_figure_and_all_are_finite(logprobs: list[float]) -> None:
    found = of(logprobs)
    assert np.isfinite(list(found.values())).all()
    assert FLOOR <= found["lowest_tenth"] <= found["median"] <= 0
    assert 0 <= found["share_of_certain"] <= 1
    assert abs(found["correlation_of_neighbours"]) <= 1 + 1e-9


def fitted() -> tuple[TokenWeights, np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    rng = np.random.default_rng(0)
    figures = np.array([token_figures((-rng.exponential(2, size=30)).tolist()) for _ in range(40)])
    human = figures[:, 0] - figures[:, 1] + 0.1 * rng.normal(size=40)
    groups = [f"d{i}" for i in range(40)]
    _, added = calibrate_with({"tokens": figures}, {"rating": rng.normal(size=40).tolist()}, human.tolist(), groups)
    return (
        TokenWeights.of(added["tokens"].standard, added["tokens"].coefficients),
        figures,
        added["tokens"].add(figures),
    )


def test_a_program_adds_what_the_fit_did_and_keeps_every_digit() -> None:
    weights, figures, added = fitted()
    again = TokenWeights.model_validate_json(weights.model_dump_json())
    assert again == weights
    told = [again.adds(row) for row in figures.tolist()]
    assert told == pytest.approx(added.tolist())
    assert told == [weights.adds(row) for row in figures.tolist()]
    assert np.std(told) > 0.1


def test_no_text_is_paid_without_bound() -> None:
    weights, figures, _ = fitted()
    ends = [weights.adds((factor * figures[0]).tolist()) for factor in (-1e3, -1e9, 1e3, 1e9)]
    assert ends[0] == ends[1]
    assert ends[2] == ends[3]
    most = 4.5 * sum(map(abs, weights.coefficients))  # two standard deviations, before these were drawn in, and some
    assert max(map(abs, ends)) < most


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"figures": ["mean"]}, "other figures of tokens than this version reads"),
        ({"figures": list(TOKEN_FIGURES[::-1])}, r"than this version reads \(their order\)"),
        ({"coefficients": [1.0]}, "coefficients has 1 numbers for 10 figures of tokens"),
        ({"spreads": [1.0] * 9}, "spreads has 9 numbers for 10"),
        ({"spreads": [-1.0] * 10}, "spreads"),
        ({"means": [float("nan")] * 10}, "means"),
        ({"lows": ["x"] * 10}, "lows"),
    ],
)
def test_a_damaged_program_is_refused(change: dict[str, Any], said: str) -> None:
    document = json.loads(fitted()[0].model_dump_json()) | change
    with pytest.raises(ValidationError, match=said):
        TokenWeights.model_validate(document)
