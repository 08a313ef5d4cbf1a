"""What a learning curve found: agreement by number of labels, what the last labels brought, and what follows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

from active_critic.data.examples import Examples
from active_critic.figures_in_words import figure_words, number_words, p_words
from active_critic.meta_evaluation.comparison import MethodResult, data_document, labels_of, let_off
from active_critic.meta_evaluation.estimates import Estimate
from active_critic.records import Usage
from active_critic.stats import Agreement, Interval
from active_critic.stats.correlation import COEFFICIENTS
from active_critic.stats.resampling import ALPHA

WORTH = 0.03
"""A doubling of the labels that gains less than this, in the mean of the three coefficients, is hardly worth them."""

Advice = Literal["more", "stop", "unclear"]
"""``"more"``: agreement is still rising; ``"stop"``: a gain that is worth it is excluded; ``"unclear"``: neither."""


@dataclass(frozen=True, slots=True)
class Repeat:
    """One split of the documents, with training sets that grow in one part and are all tested on the other.

    Attributes:
        pool: Positions that are trained on; the first n are the training set of n.
        test: Positions that are tested on; no document is in both.
    """

    pool: tuple[int, ...]
    test: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Point:
    """An evaluator fitted on so many labels, in every repeat.

    Attributes:
        labels: How many; 0 for zero-shot.
        documents: How many documents they are of, in every repeat.
        result: The evaluator on the test parts; ``fit`` and ``scoring`` are what this point needs by itself.
        mean: The mean of the three coefficients, and its interval.
        gain: The difference to the next smaller size, None for the smallest.
        floor: The surface floor fitted on the same labels, or None.
    """

    labels: int
    documents: tuple[int, ...]
    result: MethodResult
    mean: Estimate
    gain: Estimate | None = None
    floor: MethodResult | None = None

    @property
    def agreement(self) -> Agreement:
        """With people, averaged over the repeats; its intervals are over the tests only."""
        return self.result.agreement

    def to_dict(self) -> dict[str, Any]:
        """The same as plain JSON values, without the single scores."""
        return {
            "labels": self.labels,
            "documents": list(self.documents),
            "mean": self.mean.to_dict(),
            "gain": self.gain.to_dict() if self.gain else None,
            **_document(self.result),
            "surface": _document(self.floor) if self.floor else None,
        }


@dataclass(frozen=True, slots=True)
class Curve:
    """How agreement with people grows with the number of labels.

    Attributes:
        data: The examples.
        evaluator: Name of the evaluator.
        repeats: The splits, and the order in which labels were added.
        points: By number of labels, fewest first; the same tests for all.
        zero_shot: What the same model reaches on the same tests without labels, or None.
        over_zero_shot, over_floor: Differences of the last point to zero-shot and to the surface floor, or None. All
            p-values of the curve are corrected together (Holm).
        trend: The rise for each doubling of the labels, on a straight line through the last three points that have a
            coefficient; None with fewer.
        trend_sizes: These numbers of labels.
        model, weights: The language model's name and the sha256 of its weights; None where none was needed.
        probing: What it cost to find out what the model can do.
        settings: Sizes, splits, seed, resamples, budget, and the evaluator's own.
        data_sha256: Hash over the examples' texts and scores.
        versions: Of the packages.
        notes: What should be known about data, sizes and splits.
    """

    data: Examples
    evaluator: str
    repeats: tuple[Repeat, ...]
    points: tuple[Point, ...]
    zero_shot: Point | None
    over_zero_shot: Estimate | None
    over_floor: Estimate | None
    trend: Estimate | None
    trend_sizes: tuple[int, ...]
    model: str | None
    weights: str | None
    probing: Usage
    settings: dict[str, Any]
    data_sha256: str
    versions: dict[str, str]
    notes: tuple[str, ...]

    @property
    def advice(self) -> Advice:
        """Whether to label more: whether the last step's interval is above 0, or below what the step is to bring.

        Unclear where a single repeat has it: what other labels would have brought is not known.
        """
        gain = self.points[-1].gain
        if gain is None or gain.interval is None or gain.repeats < 2:
            return "unclear"
        if gain.interval[1] < self.worth:
            return "stop"
        return "more" if gain.interval[0] > 0 else "unclear"

    @property
    def worth(self) -> float:
        """The gain that makes the last step worth its labels: ``WORTH``, in proportion less if it is no doubling."""
        before, last = self.points[-2:]
        return round(WORTH * min(1.0, math.log2(last.labels / before.labels)), 4)

    def __str__(self) -> str:
        return "\n".join(self.words)

    def __repr__(self) -> str:
        labels = ", ".join(str(point.labels) for point in self.points)
        return f"<{type(self).__name__}: {self.evaluator} with {labels} labels; print() says what came of it>"

    @property
    def words(self) -> tuple[str, ...]:
        """What the curve says, sentence by sentence; the advice last."""
        return (*self._reached(), *self._step(), *self._rate(), *self._failed(), self._advised())

    def _reached(self) -> list[str]:
        last = self.points[-1]
        if last.mean.value is None:
            why = str(last.result.undefined).rstrip(".")
            return [f"With {last.labels} labels, {self.evaluator} has no coefficient: {why}."]
        figure = figure_words(last.mean.value, last.mean.interval)
        said = [f"With {last.labels} labels, {self.evaluator} reaches a mean of three correlations of {figure}."]
        for over, what in ((self.over_zero_shot, "zero-shot"), (self.over_floor, "the surface floor")):
            if over is not None and over.value is not None:
                surely = over.p_holm is not None and over.p_holm < ALPHA
                how = "ahead of" if over.value > 0 else "behind"
                shown = f"{how} {what} by more than chance could explain" if surely else f"not to be told from {what}"
                p = "" if over.p_holm is None else f", p {p_words(over.p_holm)}"
                said.append(f"That is {shown} ({figure_words(over.value, over.interval, '+z.2f')}{p}).")
        return said

    def _step(self) -> list[str]:
        gain = self.points[-1].gain
        if gain is None or gain.value is None:
            return []
        before, last = self.points[-2:]
        brought = figure_words(gain.value, gain.interval, "+z.2f")
        said = f"The last step, from {before.labels} to {last.labels} labels, brought {brought}"
        if gain.repeats < 2:
            only = "the only repeat" if len(gain.by_repeat) < 2 else f"one of {len(gain.by_repeat)} repeats"
            said += f" in {only}; other labels may teach more or less, and the interval does not cover that."
        else:
            each = ", ".join(number_words(one, "+z.2f") for one in gain.by_repeat)
            said += f"; by repeat, each with other labels: {each}."
        documents = [sum(point.documents) / len(point.documents) for point in (before, last)]
        if documents[1] / documents[0] < (last.labels / before.labels) ** 0.75:
            said += (
                f" They are of {documents[1]:.0f} documents after {documents[0]:.0f}: as many labels of more documents "
                "may bring more."
            )
        return [said]

    def _rate(self) -> list[str]:
        found, sizes = self.trend, self.trend_sizes
        if found is None or found.value is None or self.advice == "stop":
            return []
        brought = figure_words(found.value, found.interval, "+z.2f")
        said = f"From {sizes[0]} to {sizes[-1]} labels, a doubling brought {brought} on a straight line"
        if found.value <= 0:
            return [f"{said}."]
        twice = 2 * self.points[-1].labels
        return [f"{said}; if that went on, {twice} labels would bring as much again. Curves flatten: expect less."]

    def _failed(self) -> list[str]:
        said = []
        for point in self.points:
            failures, missing = point.result.failures, point.agreement.total - point.agreement.n
            if failures:
                where = f"in {len(failures)} of {len(self.repeats)} repeats"
                said.append(f"With {point.labels} labels it failed {where}: {failures[0].reason}")
            elif missing:
                said.append(f"With {point.labels} labels, {missing:,} of {point.agreement.total:,} tests are unscored.")
            if not failures and (constant := let_off(point.agreement)):
                said.append(f"With {point.labels} labels it {constant}.")
        if self.zero_shot is not None and self.zero_shot.result.undefined:
            said.append(f"zero-shot has no coefficient: {self.zero_shot.result.undefined}.")
        return said

    def _advised(self) -> str:
        if len(self.points) < 2:
            return "Advice: none; one size makes no curve. Take several sizes, or label more."
        before, last = self.points[-2:]
        gain = last.gain
        if gain is None or gain.value is None:
            lacking = last if last.mean.value is None else before
            return f"Advice: none; the last step cannot be measured, as {lacking.labels} labels have no coefficient."
        if gain.interval is None:
            return "Advice: none; without an interval, what the last step brought may be chance."
        if self.advice == "more":
            return f"Advice: label more; agreement is still rising at {last.labels} labels."
        if gain.repeats < 2:
            remedy = (
                "Take several --repeats."
                if len(self.repeats) < 2
                else "Mend why the other repeats failed, or take more."
            )
            return f"Advice: none; what the last step brought may lie in these very labels. {remedy}"
        if gain.interval[1] < 0:
            return f"Advice: stop labelling for this evaluator; the last {last.labels - before.labels} labels did harm."
        if self.advice == "stop":
            return f"Advice: stop; that the last step brought {self.worth:g} or more is excluded."
        return (
            "Advice: too noisy to tell; more labels of this kind are not shown to help, nor shown not to. "
            f"{gain.n:,} tests of {gain.groups:,} documents in {gain.repeats} repeats cannot tell a gain of "
            f"{self.worth:g} from none; more repeats, or more documents to test on, might."
        )

    def to_dict(self) -> dict[str, Any]:
        """The curve as one JSON document; see ``docs/curve.md``."""
        names = labels_of(self.data)
        return {
            "data": data_document(self.data, self.data_sha256),
            "evaluator": self.evaluator,
            "model": self.model,
            "weights": self.weights,
            "versions": self.versions,
            "settings": self.settings,
            "repeats": [
                {"pool": [names[i] for i in repeat.pool], "test": [names[i] for i in repeat.test]}
                for repeat in self.repeats
            ],
            "points": [point.to_dict() for point in self.points],
            "zero_shot": self.zero_shot.to_dict() if self.zero_shot else None,
            "over_zero_shot": self.over_zero_shot.to_dict() if self.over_zero_shot else None,
            "over_surface": self.over_floor.to_dict() if self.over_floor else None,
            "trend": {"sizes": list(self.trend_sizes), **self.trend.to_dict()} if self.trend else None,
            "advice": self.advice,
            "probing": self.probing.to_dict(),
            "words": list(self.words),
            "notes": list(self.notes),
        }

    def table(self) -> list[dict[str, Any]]:
        """One flat record a size, for CSV, zero-shot first as 0 labels; None where something is not defined."""
        return [_flat(point) for point in (self.zero_shot, *self.points) if point is not None]


def _document(result: MethodResult) -> dict[str, Any]:
    return {name: value for name, value in result.to_dict().items() if name not in {"over_baseline", "over_floor"}}


def _flat(point: Point) -> dict[str, Any]:
    result, found, gain = point.result, point.agreement, point.gain
    record: dict[str, Any] = {"labels": point.labels, "evaluator": result.name}
    for name in COEFFICIENTS:
        record[name] = getattr(found, name)
        record[f"{name}_low"], record[f"{name}_high"] = _ends(getattr(found, f"{name}_interval"))
    record["mean_low"], record["mean_high"] = _ends(point.mean.interval)
    record |= {"scored": found.n, "total": found.total, "mae": result.mae}
    record["gain"] = gain.value if gain else None
    record["gain_low"], record["gain_high"] = _ends(gain.interval if gain else None)
    record |= {"gain_p": gain.p if gain else None, "gain_p_holm": gain.p_holm if gain else None}
    floor = point.floor.agreement if point.floor else None
    record["surface_mean"] = floor.mean if floor else None
    record["surface_low"], record["surface_high"] = _ends(floor.mean_interval if floor else None)
    for stage, used in (("fit", result.fit), ("scoring", result.scoring)):
        record |= {f"{stage}_{name}": value for name, value in used.to_dict().items() if name != "replayed"}
    record["reason"] = result.failures[0].reason if result.failures else result.undefined
    return record


def _ends(interval: Interval | None) -> tuple[float | None, float | None]:
    return (None, None) if interval is None else interval
