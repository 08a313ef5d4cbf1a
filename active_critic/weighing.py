"""The regression that weighs readings of a text, and figures of it, by people's scores. Pure.

What a model's rating, the likelihood of the text and its surface show are different things, and no one of them is the
best on every kind of text (``benchmarks/results/compare_*``). Weights learnt freely from a few dozen labels do worse
than equal ones; equal ones do badly where one reading is far better than the others. So the weights are those of a
regression that begins with a belief about readings (``EXPECTED``, ``TOGETHER``) which counts for ``PRIOR`` examples:
few labels leave them near what follows from that, many let them go where they belong. Figures of the surface, and of
the text's tokens, have no such belief, but are held near 0 by ridges of their own: what they add, they add to what the
readings say.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from active_critic.records import LEAST_SPREAD
from active_critic.standardising import Booleans, Floats, Standard

PRIOR = 20.0
"""How many examples the belief about readings counts for."""
CRITERION = "criterion "
"""What the name of a reading begins with that is the rating of one criterion; behind it stands the criterion's name."""
OF_FIGURES = " figures"
"""What the belief in figures is called by, behind their kind: they are no reading of that name."""
TALKED_UP = "talked up"
"""What is called so is no correlation: by how many standard deviations texts that claim to be good, or pretend to have
been rated, are believed to lift ``OPINIONS``, that are no better for it."""
OPINIONS = frozenset({"rating", "criterion"})
"""Readings that such texts lift. Whether the model would call a text good they hardly change, and they are less likely,
not more."""
EXPECTED = {
    "rating": 0.2,
    "approval": 0.3,
    "likelihood": 0.2,
    "contrast": 0.25,
    "criterion": 0.15,
    "surface figures": 0.447,
    "tokens figures": 0.3,
    TALKED_UP: 1.0,
}
"""The correlation of a reading with people's scores that is believed in before any label is seen, with the embedded
model of 1.5 billion parameters: this was settled on it.

In that of a single criterion less than in that of the whole: few labels leave the score to the whole. That of figures
is a multiple correlation, in no direction: of the surface (R² = 1/5, as where it stands alone) and of the tokens (R² =
1/11; ``benchmarks/results/tokens.md``). How far a rating is talked up was seen on a split of Topical-Chat and held on
another; to believe in it costs next to no agreement with this model (``benchmarks/results/beliefs_talked_up*.md``).
"""
ABLER = {**EXPECTED, "rating": 0.4, "surface figures": 0.333, "criterion": 0.3, TALKED_UP: 0.0}
"""The same with any other model, which is taken to rate better: those of the paper reach .47 (13 billion parameters)
and .53; so the surface has less to add (R² = 1/9). It is not taken to be talked up: where the rating is good, that
would cost agreement."""
WEAKER = {**EXPECTED, "rating": 0.15, "approval": 0.1, "criterion": 0.1}
"""The same with the smaller models of the catalogue, about what that of half a billion parameters reaches on four sets:
asked whether a text is good, it hardly knows (``benchmarks/results/beliefs_small.md``). To believe that its rating can
be talked up as far as that of the larger one gains a little from ten labels on (``beliefs_small_fresh.md``)."""
TOGETHER = 0.2
"""The correlation of two readings that is believed in before any label is seen, unless both are of ``ONE_VOICE``."""
ONE_VOICE = frozenset({"rating", "approval", "criterion"})
"""Readings that are what the model says of a text when it is asked."""
SAME_VOICE = 0.8
"""The correlation that is believed in of two readings of ``ONE_VOICE``."""
UNBOUNDED = frozenset({"approval", "likelihood", "contrast"})
"""Readings that have no ends of their own, as a rating and the surface have; see ``WITHIN``."""
LEARNT = frozenset({"contrast"})
"""Readings that are made from the labels, so that it is known which way they point: the belief in them counts for
``PRIOR`` examples more, which say nothing of the others. A few dozen labels, out of fold, tell little against it."""
WITHIN = 0.95
"""Coverage of the prediction interval (of a normal distribution, over the training values) whose upper end is the most
that a reading without ends counts as: about two standard deviations above the mean, more where there are few values. No
text is to be paid without bound for being likely. Downwards there is no bound: what is no text at all is to score as
low as it can. A figure of the surface outside of that interval is far from those of the examples.
"""
UNLIKE = 0.25
"""A text is unlike the examples where this part of its figures of the surface, or more, are far from theirs. What
figures are worth was learnt from texts of another kind, so those of such a one, of its surface and of its tokens, count
as no more than the mean: it may be longer, fuller of marks or more repetitive for having been written to score well
(``benchmarks/results/unlike.md``).
"""
FEWEST_FAR = 2
"""One figure alone makes no text unlike."""
LEAST_SLOPE = 0.1
"""The combined score varies at least by this part of what people's scores vary by, so that it always says something."""


@dataclass(frozen=True, slots=True)
class Figures:
    """Figures of one kind in a combination: how they are standardised, and what they add to the mean score.

    Attributes:
        standard: How they are drawn in and standardised.
        coefficients: Change of the score, in points, for one standard deviation of each.
        alpha: The strength of the ridge on them.
        far: Beyond how many standard deviations a figure is far from those of the examples; see ``WITHIN``.
        unlike: How many far figures make a text unlike the examples, or None where that is not looked at: it is of the
            surface alone (``UNLIKE``).
    """

    standard: Standard
    coefficients: Floats
    alpha: float
    far: float = 0.0
    unlike: int | None = None

    def add(self, figures: Floats) -> Floats:
        """Points that they add to the mean score of each example, shape ``(n,)``."""
        return np.asarray(self.standard.apply(figures) @ self.coefficients)

    def are_unlike(self, figures: Floats) -> Booleans:
        """Which texts are unlike the examples by these figures, shape ``(n,)``; none where that is not looked at."""
        far = self.standard.far(figures, self.far).sum(axis=-1)
        return np.asarray(far >= (math.inf if self.unlike is None else self.unlike))


def paid(kinds: Mapping[str, Figures], figures: Mapping[str, Floats]) -> dict[str, Floats]:
    """Points that figures of each kind add, but no more than 0 for a text that is unlike the examples.

    Args:
        kinds: What they add, by kind.
        figures: Those of the texts, by kind.
    """
    surface = kinds.get("surface")
    unlike = False if surface is None else surface.are_unlike(figures["surface"])
    added = {kind: own.add(figures[kind]) for kind, own in kinds.items()}
    return {kind: np.where(unlike, np.minimum(0.0, points), points) for kind, points in added.items()}


def strength(r: float) -> float:
    """The ridge strength for each of many figures of which a multiple correlation of r is believed in."""
    return (1 - r * r) / (r * r)


def reach(n: int, within: float = WITHIN) -> float:
    """Half the width of the interval of this coverage, in standard deviations of n training values."""
    from scipy.special import stdtrit

    freedom = max(1, n - 1)
    return float(stdtrit(freedom, (1 + within) / 2) * math.sqrt(n / freedom * (1 + 1 / n)))


def _most(x: Floats, names: Sequence[str]) -> Floats:
    """The highest value of every reading that counts."""
    bounded = [name in UNBOUNDED for name in names]
    return np.asarray(x.mean(axis=0) + np.where(bounded, reach(len(x)) * x.std(axis=0), np.inf))


def _unlike(kind: str, standard: Standard) -> int | None:
    """How many far figures of a kind make a text unlike the examples."""
    varying = int(np.count_nonzero(standard.spreads))
    return max(FEWEST_FAR, math.ceil(UNLIKE * varying)) if kind == "surface" else None


@dataclass(frozen=True, slots=True)
class Regression:
    """Readings and figures to scores: standardised, with weights of 0 or more for the readings.

    Attributes:
        means, spreads: Of the readings, none above ``most``; 0 spread for one that does not vary.
        most: The highest value of every reading that counts.
        weights: Points for one standard deviation of each reading.
        figures: What figures add, by kind.
        intercept: The mean score.
    """

    means: Floats
    spreads: Floats
    most: Floats
    weights: Floats
    figures: dict[str, Figures]
    intercept: float

    @classmethod
    def of(
        cls,
        x: Floats,
        figures: Mapping[str, Floats],
        y: Floats,
        names: Sequence[str],
        prior: float,
        expected: Mapping[str, float],
    ) -> Regression:
        """The standardised ridge regression to which ``prior`` examples are added that bear out what is believed.

        In these the readings correlate as believed with people's scores and with each other, and the figures say
        nothing. With weights w, coefficients v and the strength of its ridge for each figure on the diagonal of A, it
        has the least of

            w'(z'z + prior R)w / 2 + v'(f'f + A)v / 2 + w'z'f v - (z'y + prior e)'w - (f'y)'v

        (with the further examples of ``LEARNT`` in R and e). As many examples again have ``OPINIONS`` higher by
        ``TALKED_UP`` and no better a score: with u that much for each of these and 0 for the others, R + uu' for R.
        There are none where there is nothing but ``OPINIONS``: they would only draw all scores to the mean.

        For given w, v is the ridge of what the readings leave, (f'f + A)^-1 f'(y - z w); put in, there remains the same
        problem for w alone.
        """
        learnt = np.array([float(_kind(name) in LEARNT) for name in names])
        opinions = np.array([_kind(name) in OPINIONS for name in names])
        lifted = opinions * expected[TALKED_UP] * (bool(figures) or not opinions.all())
        believed = np.array([expected.get(_kind(name), TOGETHER) for name in names]) * (1 + learnt)
        alike = np.array([[_together(one, other) for other in names] for one in names])
        alike = alike + np.diag(learnt) + np.outer(lifted, lifted)
        most = _most(x, names)
        x = np.minimum(x, most)
        means, spreads = x.mean(axis=0), x.std(axis=0)
        spreads = np.where(spreads > LEAST_SPREAD, spreads, 0.0)
        varies, spread = spreads > 0, float(y.std())
        standards = {kind: Standard.of(values) for kind, values in figures.items()}
        alphas = {kind: standard.alpha(strength(expected[kind + OF_FIGURES])) for kind, standard in standards.items()}
        f = np.hstack([np.zeros((len(y), 0)), *(standards[kind].apply(values) for kind, values in figures.items())])
        ends = np.cumsum([values.shape[1] for values in figures.values()])
        weights, coefficients = np.zeros(len(means)), np.zeros(f.shape[1])
        if spread > 1e-9 and (varies.any() or f.any()):
            z, alike = _standard(x, means, spreads)[:, varies], alike[np.ix_(varies, varies)]
            seen = (y - y.mean()) / spread
            each = [alphas[kind] for kind, values in figures.items() for _ in range(values.shape[1])]
            ridge = f.T @ f + np.diag(np.array(each, dtype=np.float64))
            of_readings, of_scores = np.linalg.solve(ridge, f.T @ z), np.linalg.solve(ridge, f.T @ seen)
            if varies.any():
                weights[varies] = _non_negative(
                    z.T @ z - z.T @ f @ of_readings + prior * alike,
                    z.T @ seen - z.T @ f @ of_scores + prior * believed[varies],
                )
            coefficients = of_scores - of_readings @ weights[varies]
            told = float((z @ weights[varies] + f @ coefficients).std())
            against = told <= 1e-9 and varies.any()
            if against:  # the same score for every text would say nothing: what is believed, as weakly as can be
                weights[varies] = _non_negative(alike, believed[varies])
                told = float((z @ weights[varies]).std())
            if told > 1e-9 and (against or told < LEAST_SLOPE):
                weights, coefficients = weights * LEAST_SLOPE / told, coefficients * LEAST_SLOPE / told
        of_kinds = zip(figures, np.split(coefficients * spread, ends[:-1]), strict=True) if figures else ()
        far = reach(len(y))
        found = {
            kind: Figures(standards[kind], own, alphas[kind], far, _unlike(kind, standards[kind]))
            for kind, own in of_kinds
        }
        return cls(means, spreads, most, weights * spread, found, float(y.mean()))

    def predict(self, x: Floats, figures: Mapping[str, Floats]) -> Floats:
        """Scores, not clipped to a scale."""
        of_readings = _standard(np.minimum(x, self.most), self.means, self.spreads) @ self.weights
        of_figures = sum(paid(self.figures, figures).values())
        return np.asarray(self.intercept + of_readings + of_figures)


def _non_negative(a: Floats, b: Floats) -> Floats:
    """The weights w of 0 or more with the least w'aw / 2 - b'w."""
    from scipy.optimize import nnls  # a second of imports that only a fit needs

    root = np.linalg.cholesky(a)
    return np.asarray(nnls(root.T, np.linalg.solve(root, b))[0])


def _together(one: str, other: str) -> float:
    """The correlation of two readings that is believed in."""
    if one == other:
        return 1.0
    return SAME_VOICE if {_kind(one), _kind(other)} <= ONE_VOICE else TOGETHER


def _kind(name: str) -> str:
    """The kind of reading that a name stands for: all criteria are of one."""
    return "criterion" if name.startswith(CRITERION) else name


def _standard(x: Floats, means: Floats, spreads: Floats) -> Floats:
    return np.asarray(np.where(spreads > 0, (x - means) / np.where(spreads > 0, spreads, 1.0), 0.0))
