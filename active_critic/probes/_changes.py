"""What perturbations do to the scores of each aspect and criterion: the cells of the confusion matrix."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from active_critic.probes.aspects import ASPECTS, OVERALL, Expected, Matched
from active_critic.probes.perturbations import PERTURBATIONS
from active_critic.records import Scale, Verdict
from active_critic.stats.correlation import Floats, Indices, count_of
from active_critic.stats.resampling import ALIKE, Interval, bootstrap, of_one_value, percentile_interval

TOLERANCE = 0.05
"""Changes within this part of the scale count as none: 0.2 points of 1 to 5, below which the paper speaks of almost no
degradation (section 5.1)."""
FAINTEST = 0.1
"""A change by less than this part of the tolerance is neither a fall nor a rise, however sure it is."""

Kind = Literal["aspect", "criterion"]
Outcome = Literal["falls", "faint", "still", "rises", "moves", "unclear"]


@dataclass(frozen=True, slots=True)
class Change:
    """What a perturbation does to the scores of an aspect or of a criterion: one cell of the confusion matrix.

    Attributes:
        kind: ``"aspect"``: the mean of those criteria that stand for it and that both verdicts have, or for overall
            quality the overall score; or ``"criterion"``: one criterion of the critic's, whatever it stands for.
        name: The aspect or the criterion.
        aspect: The aspect it stands for, or None.
        perturbation: The perturbation.
        expected: What the scores should do; None for a criterion that stands for no aspect.
        change: Mean score after minus before, in points of the user's scale (negative: it fell), or None.
        interval: Its bootstrap interval over documents, or None with fewer than five documents. Where all documents
            moved alike, or none did: see ``attack_trial.Lift``.
        outcome: Of what should fall: ``"falls"`` (interval below 0, and the mean falls by more than the tolerance),
            ``"faint"`` (interval below 0, but no more than the tolerance, and no less than ``FAINTEST`` of it),
            ``"still"`` (any other interval within the tolerance: blind), ``"rises"`` (interval above 0, and no less
            than ``FAINTEST`` of the tolerance) or ``"unclear"``. Of what should not move: ``"still"`` (interval within
            the tolerance), ``"moves"`` (interval outside it) or ``"unclear"``. None where nothing is tested.
        n, documents: Texts that were scored both ways, and their documents.
    """

    kind: Kind
    name: str
    aspect: str | None
    perturbation: str
    expected: Expected | None
    change: float | None
    interval: Interval | None
    outcome: Outcome | None
    n: int
    documents: int


class Measured:
    """The scores before and after, and what is computed from them."""

    def __init__(
        self,
        before: Sequence[Verdict],
        after: Mapping[str, Sequence[Verdict | None]],
        matched: Sequence[Matched],
        group: Indices,
        scale: Scale,
        seed: int,
        resamples: int,
        confidence: float,
    ) -> None:
        self._before, self._after, self._group, self._scale = before, after, group, scale
        self._seed, self._resamples, self._confidence = seed, resamples, confidence
        self._aspect = {one.criterion: one.aspect for one in matched}
        self.tolerance = TOLERANCE * (scale.high - scale.low)
        there = {one.aspect for one in matched} | {OVERALL}
        self._measures: list[tuple[Kind, str]] = [("aspect", name) for name in ASPECTS if name in there]
        self._measures += [("criterion", one.criterion) for one in matched]

    def _value(self, verdict: Verdict | None, kind: Kind, name: str, beside: Verdict | None = None) -> float | None:
        """A verdict's score, for an aspect from the criteria that the verdict beside it has, too."""
        if verdict is None or verdict.score is None:
            return None
        if kind == "aspect" and name == OVERALL:
            return verdict.score
        values = [
            part.score
            for part in verdict.criteria
            if (self._aspect.get(part.name) if kind == "aspect" else part.name) == name
            and (beside is None or any(part.name == other.name for other in beside.criteria))
        ]
        return sum(values) / len(values) if values else None

    def before(self, kind: Kind, name: str) -> list[float | None]:
        """Scores of the texts as they were."""
        return [self._value(verdict, kind, name) for verdict in self._before]

    def constant(self) -> tuple[str, ...]:
        """What had the same score on every text, perturbed ones included."""
        found = []
        for kind, name in self._measures:
            every = [*self._before, *(v for column in self._after.values() for v in column)]
            values = [value for v in every if (value := self._value(v, kind, name)) is not None]
            if len(values) > 1 and max(values) - min(values) <= 1e-12 * max(1.0, abs(values[0])):
                found.append(f"{name} (criterion)" if kind == "criterion" and name == OVERALL else name)
        return tuple(dict.fromkeys(found))

    def changes(self, names: Sequence[str]) -> tuple[Change, ...]:
        """The confusion matrix."""
        return tuple(self._change(kind, name, other) for kind, name in self._measures for other in names)

    def _pairs(self, kind: Kind, name: str, perturbation: str) -> dict[int, tuple[float, float]]:
        """The scores of each text before and after, by its number, where it has both."""
        pairs = zip(self._before, self._after[perturbation], strict=True)
        values = [(self._value(a, kind, name, beside=b), self._value(b, kind, name, beside=a)) for a, b in pairs]
        return {i: (a, b) for i, (a, b) in enumerate(values) if a is not None and b is not None}

    def _change(self, kind: Kind, name: str, perturbation: str) -> Change:
        by_text = self._pairs(kind, name, perturbation)
        kept = sorted(by_text)
        scores = np.array([by_text[i] for i in kept], dtype=np.float64).reshape(-1, 2)
        _, code = np.unique(self._group[kept], return_inverse=True)
        aspect = name if kind == "aspect" else self._aspect[name]
        expected = PERTURBATIONS[perturbation].effect.on(aspect) if aspect else None
        change = float((scores[:, 1] - scores[:, 0]).mean()) if kept else None
        interval = self._interval(scores, code) if kept else None
        return Change(
            kind=kind,
            name=name,
            aspect=aspect,
            perturbation=perturbation,
            expected=expected,
            change=change,
            interval=interval,
            outcome=_outcome(expected, change, interval, self.tolerance),
            n=len(kept),
            documents=len(set(code.tolist())),
        )

    def _interval(self, scores: Floats, code: Indices) -> Interval | None:
        moved, documents = scores[:, 1] - scores[:, 0], count_of(code)

        def mean(weights: Floats) -> Floats:
            own = weights[:, code]
            return np.asarray(np.einsum("ri,i->r", own, moved) / own.sum(axis=1))

        drawn = bootstrap(mean, documents, self._resamples, np.random.default_rng(self._seed), len(moved))
        interval = percentile_interval(drawn, self._confidence, documents)
        if interval is None or interval[1] - interval[0] > ALIKE:
            return interval
        before = float(scores[:, 0].mean())
        lowest, highest = self._scale.low - before, self._scale.high - before
        return of_one_value(float(moved.mean()), documents, lowest, highest, self._confidence)


def _outcome(
    expected: Expected | None, change: float | None, interval: Interval | None, tolerance: float
) -> Outcome | None:
    if change is None or expected not in ("falls", "still"):
        return None
    if interval is None:
        return "unclear"
    low, high = interval
    within = -tolerance <= low and high <= tolerance
    if expected == "still":
        return "still" if within else "moves" if high < -tolerance or low > tolerance else "unclear"
    if abs(change) < FAINTEST * tolerance or (within and low > 0):
        return "still" if within else "unclear"
    if high < 0:
        return "falls" if change <= -tolerance else "faint"
    if low > 0:
        return "rises"
    return "still" if within else "unclear"
