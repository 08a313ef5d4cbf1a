"""Ridge regression of human scores on a few figures, its strength chosen by leaving documents out. Pure numpy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from active_critic.errors import FitError
from active_critic.records import LEAST_SPREAD

ALPHAS: tuple[float, ...] = tuple(10.0 ** (half / 2) for half in range(-4, 10))
"""Ridge strengths that are tried, in units of one standardised figure."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Ridge:
    """A fitted regression; every number can be read.

    Attributes:
        means: Mean of each figure where it was fitted, shape ``(figures,)``.
        spreads: Standard deviation of each figure there; 0 for one that did not vary, whose weight is 0.
        weights: Change of the prediction for one standard deviation of each figure.
        intercept: The mean of what was fitted to: the prediction where all figures are at their means.
        alpha: The strength.
    """

    means: Floats
    spreads: Floats
    weights: Floats
    intercept: float
    alpha: float

    def contributions(self, x: Floats) -> Floats:
        """What each figure adds to the intercept, in the units of what was fitted to; shape as ``x``."""
        # A figure that did not vary where it was fitted says nothing; elsewhere it must not say anything either.
        return np.asarray((x - self.means) / np.where(self.spreads > 0, self.spreads, np.inf) * self.weights)

    def predict(self, x: Floats) -> Floats:
        """Predictions for figures of shape ``(n, figures)``; not clipped."""
        return np.asarray(self.intercept + self.contributions(x).sum(axis=-1))


def fit(x: Floats, y: Floats, groups: Sequence[str], *, least: float = LEAST_SPREAD) -> Ridge:
    """Fit on standardised figures, as strongly as :func:`pick_alpha` says.

    Args:
        x: Figures, shape ``(n, figures)``, finite.
        y: Human scores, shape ``(n,)``.
        groups: The document of each row.
        least: A figure whose standard deviation is not above this does not vary, and gets weight 0.

    Raises:
        FitError: Fewer than two rows, or a figure or score that is not finite.
    """
    if len(y) < 2 or not (np.isfinite(x).all() and np.isfinite(y).all()):
        raise FitError(f"a regression needs two or more examples with finite figures and scores; there are {len(y)}")
    means, spreads = x.mean(axis=0), x.std(axis=0)
    spreads = np.where(spreads > least, spreads, 0.0)
    z = (x - means) / np.where(spreads > 0, spreads, np.inf)
    alpha = pick_alpha(z, y, groups)
    weights = weights_of(z, y, alpha)
    return Ridge(means, spreads, np.where(spreads > 0, weights, 0.0), float(y.mean()), alpha)


def weights_of(z: Floats, y: Floats, alpha: float) -> Floats:
    """What one unit of each figure changes the prediction by: the ridge itself, of figures around 0.

    Args:
        z: Standardised figures, shape ``(n, figures)``; one that does not vary is 0.
        y: Human scores, shape ``(n,)``.
        alpha: The strength.
    """
    return np.asarray(np.linalg.solve(z.T @ z + alpha * np.eye(z.shape[1]), z.T @ (y - float(y.mean()))))


def pick_alpha(z: Floats, y: Floats, groups: Sequence[str]) -> float:
    """The strength of ``ALPHAS`` with the least squared error when each document in turn is left out.

    The strongest of equals. Rows of one single document are left out one by one.

    Args:
        z: Standardised figures, shape ``(n, figures)``.
        y: Human scores.
        groups: The document of each row.
    """
    members: dict[str, list[int]] = {}
    for index, group in enumerate(groups):
        members.setdefault(group, []).append(index)
    parts = list(members.values()) if len(members) > 1 else [[index] for index in range(len(y))]
    errors = [left_out_error(z, y, parts, alpha) for alpha in ALPHAS]
    best = min(errors)
    return max(alpha for alpha, error in zip(ALPHAS, errors, strict=True) if error <= best * (1 + 1e-9))


def left_out_error(z: Floats, y: Floats, parts: Sequence[Sequence[int]], alpha: float) -> float:
    """Sum of squared errors on each part of a ridge fitted on the others (standardised on all of them).

    No refitting: the residuals r of a linear smoother with hat matrix H are (I - H_pp)^-1 r_p when the part p is left
    out.
    """
    design = np.column_stack([np.ones(len(y)), z])
    penalty = np.diag([0.0] + [alpha] * z.shape[1])
    inverse = np.linalg.inv(design.T @ design + penalty)
    residuals = y - design @ (inverse @ (design.T @ y))
    total = 0.0
    for part in parts:
        rows = design[part]
        left_out = np.linalg.solve(np.eye(len(part)) - rows @ inverse @ rows.T, residuals[part])
        total += float(left_out @ left_out)
    return total


def out_of_fold(
    x: Floats, y: Floats, groups: Sequence[str], folds: Sequence[Sequence[int]], *, least: float = LEAST_SPREAD
) -> Floats:
    """Predictions for every row by a regression fitted on the other folds only, its strength chosen there too.

    Args:
        x: Figures, shape ``(n, figures)``.
        y: Human scores, shape ``(n,)``.
        groups: The document of each row.
        folds: As for :func:`held_out`.
        least: As for :func:`fit`.

    Raises:
        FitError: The folds are no such partition, or leave fewer than two rows to fit on.
    """

    def predict(rest: list[int], part: list[int]) -> Floats:
        return fit(x[rest], y[rest], [groups[index] for index in rest], least=least).predict(x[part])

    return held_out(predict, y, folds)


def held_out(
    predict: Callable[[list[int], list[int]], Floats | Sequence[float]], y: Floats, folds: Sequence[Sequence[int]]
) -> Floats:
    """Predictions for every row by what was fitted on the other folds only.

    Each fold's predictions are moved by the difference between the mean score of all rows and that of the fold's own
    training rows. Without that, holding out high scores lowers the prediction for them, and pooled predictions of
    figures that say nothing would correlate negatively with people: too easy to beat.

    Args:
        predict: Predictions for the second rows by a fit on the first, both given as positions.
        y: Human scores, shape ``(n,)``.
        folds: Lists of positions that together hold every row once (see ``data.folds``).

    Raises:
        FitError: The folds are no such partition; and what ``predict`` raises.
    """
    if sorted(index for fold in folds for index in fold) != list(range(len(y))):
        raise FitError("the folds must hold every example exactly once")
    predicted = np.zeros(len(y))
    for fold in folds:
        held = set(fold)
        rest, part = [index for index in range(len(y)) if index not in held], list(fold)
        predicted[part] = np.asarray(predict(rest, part)) + (y.mean() - y[rest].mean())
    return predicted
