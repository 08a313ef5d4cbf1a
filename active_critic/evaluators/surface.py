"""The surface floor: how well length, overlap with the source and repetition alone reproduce people's scores.

A ridge regression on thirteen figures that need no understanding. An evaluator that does not beat it has not shown that
it judges anything else.
"""

from __future__ import annotations

import math
import re
import unicodedata
import zlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from active_critic.data import Examples, group_of
from active_critic.errors import FitError
from active_critic.records import Example, Scale

FEATURES = (
    "log_words",
    "log_characters",
    "words_per_sentence",
    "words_from_source",
    "bigrams_from_source",
    "source_words_kept",
    "novelty",
    "type_token_ratio",
    "repeated_trigrams",
    "compression_ratio",
    "punctuation_share",
    "digit_share",
    "log_length_ratio",
)
"""Names of the figures, in the order of ``surface_features``."""

ALPHAS: tuple[float, ...] = tuple(10.0 ** (half / 2) for half in range(-4, 10))
"""Ridge strengths that are tried, in units of one standardised figure."""

Floats = NDArray[np.float64]

_WORD = re.compile(r"\w+")
_SENTENCE_END = re.compile(r"[.!?…。！？]+(?=\s|$)|[。！？]")


def _grams(words: Sequence[str], n: int) -> list[tuple[str, ...]]:
    return list(zip(*(words[i:] for i in range(n)), strict=False))


def _share_in(items: Sequence[object], others: Sequence[object]) -> float:
    """The part of the items that also occur among the others, 0 to 1; 0 when there are none."""
    known = set(others)
    return sum(item in known for item in items) / len(items) if items else 0.0


def surface_features(example: Example) -> Floats:
    """The figures of one example, shape ``(len(FEATURES),)``, all finite.

    Lengths are natural logarithms of 1 + a count, sentences are counted by closing punctuation, words are compared in
    lower case, and what compares with the source is 0 when there is none. ``novelty`` is the share of the response's
    trigrams that the source does not have, ``repeated_trigrams`` the share that occurred in the response before,
    ``compression_ratio`` the zlib size over the size in bytes.
    """
    words = _WORD.findall(example.response.lower())
    source = _WORD.findall(example.source.lower())
    characters = [character for character in example.response if not character.isspace()]
    raw = example.response.encode("utf-8", "replace")
    sentences = max(1, len(_SENTENCE_END.findall(example.response)))
    trigrams = _grams(words, 3)
    punctuation = sum(unicodedata.category(character)[0] == "P" for character in characters)
    return np.array(
        [
            math.log1p(len(words)),
            math.log1p(len(characters)),
            len(words) / sentences,
            _share_in(words, source),
            _share_in(_grams(words, 2), _grams(source, 2)),
            _share_in(sorted(set(source)), words),
            1.0 - _share_in(trigrams, _grams(source, 3)) if source and trigrams else 0.0,
            len(set(words)) / len(words) if words else 0.0,
            1.0 - len(set(trigrams)) / len(trigrams) if trigrams else 0.0,
            len(zlib.compress(raw, 6)) / len(raw) if raw else 0.0,
            punctuation / len(characters) if characters else 0.0,
            sum(character.isdigit() for character in characters) / len(characters) if characters else 0.0,
            math.log((1 + len(words)) / (1 + len(source))) if source else 0.0,
        ]
    )


class SurfaceFloor:
    """Ridge regression of human scores on ``surface_features``.

    Args:
        alpha: Ridge strength; None picks the one of ``ALPHAS`` with the least squared error when each document in turn
            is left out (the stronger one of equals).

    Attributes:
        alpha_: The strength used.
        coefficients_: Change of the score, on the user's scale, for one standard deviation of each figure.
        intercept_: The mean score.
        scale_: The scale predictions are clipped to.
    """

    def __init__(self, alpha: float | None = None) -> None:
        self.alpha = alpha

    def fit(self, examples: Sequence[Example], scale: Scale | None = None) -> SurfaceFloor:
        """Fit on scored examples; a second fit forgets the first.

        Args:
            examples: At least two, all with a score.
            scale: Where predictions are clipped; the scale of ``examples``, else the range of their scores, otherwise.

        Raises:
            FitError: Fewer than two examples, or one without a score.
        """
        scores = [example.score for example in examples if example.score is not None]
        if len(scores) < max(2, len(examples)):
            found = f"{len(scores)} of {len(examples)} have one"
            raise FitError(f"the surface floor needs two or more examples, all with a score; {found}")
        own = examples.scale if isinstance(examples, Examples) else None
        self.scale_ = scale or own
        self._clip = (self.scale_.low, self.scale_.high) if self.scale_ else (min(scores), max(scores))
        figures, y = _figures(examples), np.array(scores)
        self._mean, spread = figures.mean(axis=0), figures.std(axis=0)
        # A figure that does not vary here says nothing; elsewhere it must not say anything either.
        self._spread = np.where(spread > 1e-9, spread, np.inf)
        x = (figures - self._mean) / self._spread
        self.intercept_ = float(y.mean())
        groups = [group_of(example) for example in examples]
        self.alpha_ = _pick_alpha(x, y, groups) if self.alpha is None else self.alpha
        self.coefficients_ = np.linalg.solve(x.T @ x + self.alpha_ * np.eye(x.shape[1]), x.T @ (y - self.intercept_))
        return self

    def predict(self, examples: Sequence[Example]) -> list[float]:
        """A score on the user's scale for each example."""
        if not len(examples):
            return []
        x = (_figures(examples) - self._mean) / self._spread
        predicted = np.clip(self.intercept_ + x @ self.coefficients_, *self._clip)
        return [float(score) for score in predicted]


def _figures(examples: Sequence[Example]) -> Floats:
    return np.array([surface_features(example) for example in examples])


def _pick_alpha(x: Floats, y: Floats, groups: Sequence[str]) -> float:
    members: dict[str, list[int]] = {}
    for index, group in enumerate(groups):
        members.setdefault(group, []).append(index)
    parts = list(members.values()) if len(members) > 1 else [[index] for index in range(len(y))]
    errors = [_left_out_error(x, y, parts, alpha) for alpha in ALPHAS]
    best = min(errors)
    return max(alpha for alpha, error in zip(ALPHAS, errors, strict=True) if error <= best * (1 + 1e-9))


def _left_out_error(x: Floats, y: Floats, parts: Sequence[Sequence[int]], alpha: float) -> float:
    """Sum of squared errors on each part of a ridge fitted on the others.

    No refitting: the residuals r of a linear smoother with hat matrix H are (I - H_pp)^-1 r_p when the part p is left
    out.
    """
    design = np.column_stack([np.ones(len(y)), x])
    penalty = np.diag([0.0] + [alpha] * x.shape[1])
    inverse = np.linalg.inv(design.T @ design + penalty)
    residuals = y - design @ (inverse @ (design.T @ y))
    total = 0.0
    for part in parts:
        rows = design[part]
        left_out = np.linalg.solve(np.eye(len(part)) - rows @ inverse @ rows.T, residuals[part])
        total += float(left_out @ left_out)
    return total


def out_of_fold(
    examples: Sequence[Example], folds: Sequence[Sequence[int]], scale: Scale | None = None, alpha: float | None = None
) -> list[float]:
    """Predictions for every example by a floor fitted on the other folds only.

    Each fold's predictions are moved by the difference between the mean score of all examples and that of the fold's
    own training examples. Without that, holding out high scores lowers the prediction for them, and pooled predictions
    of a floor that knows nothing would correlate negatively with people: too easy to beat.

    Args:
        examples: Scored examples.
        folds: Lists of positions that together hold every example once (see ``data.folds``).
        scale: As for ``SurfaceFloor.fit``.
        alpha: As for ``SurfaceFloor``.

    Raises:
        FitError: The folds are no such partition, or leave fewer than two examples to fit on.
    """
    if sorted(index for fold in folds for index in fold) != list(range(len(examples))):
        raise FitError("the folds must hold every example exactly once")
    own = examples.scale if isinstance(examples, Examples) else None
    predicted = [0.0] * len(examples)
    for fold in folds:
        held = set(fold)
        rest = [example for index, example in enumerate(examples) if index not in held]
        floor = SurfaceFloor(alpha).fit(rest, scale or own)
        shift = float(np.mean([e.score for e in examples]) - np.mean([e.score for e in rest]))
        for index, score in zip(fold, floor.predict([examples[index] for index in fold]), strict=True):
            predicted[index] = score + shift
    return predicted
