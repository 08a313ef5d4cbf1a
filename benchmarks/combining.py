"""Ways to make one score of several readings, tried on random splits of the documents. Pure: no model is asked.

In every split a third of the examples (whole documents) is held out, and the labels come from the others; the held-out
part is the same for every number of labels, and fewer labels are part of more. They come document after document. The
surface reading is fitted on those labels, out of fold for them; the product takes the figures of the surface instead,
and those of the tokens.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

import active_critic as ac
from active_critic import weighing
from active_critic.calibration import COVERAGES, Calibration, Combined, calibrate_with
from active_critic.data.examples import folds, group_of, human_score
from active_critic.evaluators._combining import worth_its_price
from active_critic.evaluators._readings import TOKENS
from active_critic.evaluators.surface import SurfaceFloor, figures_of, out_of_fold
from active_critic.records import Example, Scale
from active_critic.stats import agreement, pearson, percentile_interval, q
from active_critic.token_figures import token_figures
from active_critic.weighing import PRIOR, Figures

HELD_OUT = 1 / 3
STRONG = 0.6
"""Correlation with people of the simulated rating."""
PRIORS = (10.0, PRIOR, 40.0, 80.0)
SITUATIONS = {
    "as it is": (False, False),
    f"a simulated rating that correlates {STRONG:g} with people": (True, False),
    f"that, and a surface that says nothing (texts swapped at random, correlation {STRONG:g})": (True, True),
}
"""Whether the rating is simulated, and whether the surface is that of other texts."""
ALONE = " alone"
FOLDS = 8
"""Parts of the documents for the out-of-fold surface reading."""
EQUAL = "equal weights"
ONE_MORE = "calibrated, the surface fitted first, as one reading more"
WITHOUT_TOKENS = "calibrated, without the figures of the tokens"
CHOSEN = "chosen by cross-validation: one alone, or equal weights"
FREE = "free least squares"

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Readings:
    """Examples that have every reading.

    Attributes:
        examples: All with a score.
        values: The readings that need no label, by name, each of shape (n,).
        human: The scores, shape (n,).
        scale: What scores are clipped to.
        tokens: The figures of the tokens, shape (n, figures), or None without.
    """

    examples: ac.Examples
    values: Mapping[str, Floats]
    human: Floats
    scale: Scale
    tokens: Floats | None = None

    @classmethod
    def of(
        cls,
        examples: ac.Examples,
        values: Mapping[str, Sequence[float | None]],
        logprobs: Sequence[Sequence[float] | None] = (),
    ) -> Readings:
        """The complete ones; a reading that fewer than half of the examples have is left out.

        Args:
            examples: Examples.
            values: By reading, a value for every example, or None.
            logprobs: The log-probabilities of the tokens of every example that has a likelihood; nothing: they are not
                known, and there are no figures of them.
        """
        had = {name: [v is not None for v in column] for name, column in values.items()}
        names = [name for name, there in had.items() if 2 * sum(there) >= len(there)]
        kept = [i for i in range(len(examples)) if all(had[name][i] for name in names)]
        taken = examples.take(kept)
        human = np.array([human_score(example) for example in taken])
        scale = examples.scale or Scale(low=float(human.min()), high=float(human.max()))
        columns = {name: np.array([values[name][i] for i in kept], float) for name in names}
        tokens = None
        if "likelihood" in names and logprobs:
            tokens = np.array([token_figures(row) for i in kept if (row := logprobs[i])])
        return cls(taken, columns, human, scale, tokens)

    @property
    def groups(self) -> list[str]:
        """The document of each example."""
        return [group_of(example) for example in self.examples]


@dataclass(frozen=True)
class Trial:
    """Labels to combine readings by, and held-out examples to try it on.

    Attributes:
        train, test: Readings by name; the surface of ``train`` is out of fold.
        labels: The examples of ``train``.
        human, truth: Human scores of ``train`` and of ``test``.
        scale: What scores are clipped to.
        figures, there: By kind (``"surface"``, ``"tokens"``), the figures of ``train`` and of ``test``, which the
            combination of the product takes, in place of the surface reading; without any, it takes the readings.
        joint: Whether likelihood and contrast are read from the same two questions, and have one price.
    """

    train: dict[str, Floats]
    test: dict[str, Floats]
    labels: ac.Examples
    human: Floats
    truth: Floats
    scale: Scale
    figures: Mapping[str, Floats] = field(default_factory=dict)
    there: Mapping[str, Floats] = field(default_factory=dict)
    joint: bool = False

    def rows(self, kept: Sequence[int], tried: Sequence[int]) -> Trial:
        """Some of the training examples, tried on others of them."""
        at, out = list(kept), list(tried)
        return Trial(
            {name: column[at] for name, column in self.train.items()},
            {name: column[out] for name, column in self.train.items()},
            self.labels.take(at),
            self.human[at],
            self.human[out],
            self.scale,
            {kind: figures[at] for kind, figures in self.figures.items()},
            {kind: figures[out] for kind, figures in self.figures.items()},
            self.joint,
        )


@dataclass(frozen=True)
class Fitted:
    """A combination, and the figures in it, by kind."""

    calibration: Calibration
    figures: Mapping[str, Figures]


# --- ways to combine --------------------------------------------------------------------------------------------------

Combine = Callable[[Trial], Floats]


def ways(names: Sequence[str]) -> dict[str, Combine]:
    """All of them by what tables call them, for readings of these names."""
    simple: dict[str, Combine] = {f"{name}{ALONE}": _alone(name) for name in names}
    simple[EQUAL] = _equal
    calibrated = {way_of(prior): _calibrated(prior) for prior in PRIORS}
    more = {WITHOUT_TOKENS: _without_tokens, ONE_MORE: _one_more, CHOSEN: _chosen(simple), FREE: _free}
    return {**simple, **calibrated, **more}


def way_of(prior: float) -> str:
    """What the calibration with a prior is called."""
    return f"calibrated, prior {prior:g}{' (the product)' if prior == PRIOR else ''}"


def fitted(trial: Trial, prior: float = PRIOR) -> Fitted:
    """The combination of the product: readings that are not worth their price, the rating apart, are left out."""
    names = {*trial.train, *trial.figures}
    found = _fitted(trial, prior, sorted(names))
    shares = found.calibration.shares
    kept = {n for n in names if n == "rating" or worth_its_price(n, shares, joint=trial.joint)}
    # Without a rating, which is always kept, all readings may be worth too little.
    return found if kept == names or kept <= {*trial.figures} else _fitted(trial, prior, sorted(kept))


def _fitted(trial: Trial, prior: float, names: Sequence[str]) -> Fitted:
    groups = [group_of(example) for example in trial.labels]
    values = {n: c.tolist() for n, c in trial.train.items() if n in names and n not in trial.figures}
    figures = {kind: trial.figures[kind] for kind in names if kind in trial.figures}
    return Fitted(*calibrate_with(figures, values, trial.human.tolist(), groups, prior=prior))


def applied(found: Fitted, trial: Trial) -> Floats:
    """Scores of the examples that are tried."""
    return np.array([one.score for one in combined(found, trial)])


def combined(found: Fitted, trial: Trial) -> list[Combined]:
    """Scores of the examples that are tried, and what each reading adds to them."""
    test = dict(trial.test)
    for kind, added in weighing.paid(found.figures, trial.there).items():
        test[kind] = found.calibration.intercept + added
    rows = range(len(trial.truth))
    return [found.calibration.apply({n: c[i] for n, c in test.items()}, trial.scale) for i in rows]


def _alone(name: str) -> Combine:
    return lambda trial: trial.test[name]


def _calibrated(prior: float) -> Combine:
    return lambda trial: applied(fitted(trial, prior), trial)


def _one_more(trial: Trial) -> Floats:
    trial = replace(trial, figures={})
    return applied(fitted(trial), trial)


def _without_tokens(trial: Trial) -> Floats:
    trial = replace(trial, figures={kind: figures for kind, figures in trial.figures.items() if kind != TOKENS})
    return applied(fitted(trial), trial)


def _equal(trial: Trial) -> Floats:
    return np.asarray(_standard(trial)[1].sum(axis=1))


def _free(trial: Trial) -> Floats:
    train, test = _standard(trial)
    weights, *_ = np.linalg.lstsq(train, trial.human - trial.human.mean(), rcond=None)
    return np.asarray(test @ weights)


def _chosen(simple: Mapping[str, Combine]) -> Combine:
    """The best of simple ways by Q over five folds of the training documents, whose predictions are pooled."""

    def combine(trial: Trial) -> Floats:
        everything = range(len(trial.human))
        parts = folds(trial.labels, 5, 0)
        if len(parts) < 2:
            return simple[EQUAL](trial)
        inner = [(part, trial.rows([i for i in everything if i not in set(part)], part)) for part in parts]

        def over_folds(way: Combine) -> float:
            pooled = np.zeros(len(trial.human))
            for part, one in inner:
                pooled[part] = way(one)
            return q(pooled.tolist(), trial.human.tolist())

        return simple[max(simple, key=lambda name: over_folds(simple[name]))](trial)

    return combine


def _standard(trial: Trial) -> tuple[Floats, Floats]:
    """Both parts, each reading standardised by the training part; one that does not vary there is 0."""
    train, test = (np.column_stack(list(part.values())) for part in (trial.train, trial.test))
    means, spreads = train.mean(axis=0), train.std(axis=0)
    varies = spreads > 1e-9
    spreads = np.where(varies, spreads, 1.0)
    return (train - means) / spreads * varies, (test - means) / spreads * varies


@contextmanager
def believing(*, together: float = weighing.SAME_VOICE, **expected: float) -> Iterator[None]:
    """Another belief about readings, for as long as the block lasts."""
    before = dict(weighing.EXPECTED), weighing.SAME_VOICE
    weighing.EXPECTED.update(expected)
    weighing.SAME_VOICE = together
    try:
        yield
    finally:
        weighing.EXPECTED.update(before[0])
        weighing.SAME_VOICE = before[1]


# --- splits and situations --------------------------------------------------------------------------------------------


def trials(
    data: Readings, sizes: Sequence[int], splits: int, seed: int, *, strong: bool, mute: bool
) -> Iterator[tuple[int, Trial]]:
    """The trial of every split and number of labels, with that number; see ``SITUATIONS``."""
    figures = {"surface": figures_of(data.examples)} | ({} if data.tokens is None else {TOKENS: data.tokens})
    for number, (pool, test) in enumerate(parted(data, splits, seed)):
        rng = np.random.default_rng([seed, number])
        values = dict(data.values)
        if strong:
            values["rating"] = _correlated(data.human, STRONG, rng)
        order = _in_turn(data, pool, np.random.default_rng([seed, number, 1]))
        swapped = rng.permutation(len(data.human)) if mute else np.arange(len(data.human))
        for size in sizes:
            train = order[:size]
            taken = data.examples.take(train)
            shown = [
                replace(data.examples[swapped[i]], score=example.score, group=group_of(example))
                for i, example in zip(train, taken, strict=True)
            ]
            own, there = (
                {kind: each[swapped[rows] if kind == "surface" else rows] for kind, each in figures.items()}
                for rows in (np.array(train), np.array(test))
            )
            floor = SurfaceFloor().fit(shown, data.scale, figures=own["surface"])
            yield (
                size,
                Trial(
                    {n: c[train] for n, c in values.items()} | {"surface": out_of_fold_surface(shown, data.scale)},
                    {n: c[test] for n, c in values.items()}
                    | {"surface": np.array(floor.predict(data.examples.take(test), figures=there["surface"]))},
                    taken,
                    data.human[train],
                    data.human[test],
                    data.scale,
                    own,
                    there,
                ),
            )


def out_of_fold_surface(examples: Sequence[Example], scale: Scale) -> Floats:
    """The surface floor's predictions of examples, each from other documents; from others where one has them all."""
    return np.array(out_of_fold(examples, parts_of(examples), scale))


def parts_of(examples: Sequence[Example]) -> list[list[int]]:
    """Folds of whole documents; of single examples where one document has all of them, or all but one."""
    parts = folds(examples, FOLDS, 0)
    if len(examples) - max(map(len, parts)) < 2:
        return [[i] for i in range(len(examples))]
    return parts


def parted(data: Readings, splits: int, seed: int) -> list[tuple[list[int], list[int]]]:
    """For every split the positions that labels may come from, and those held out."""
    place = {id(example): i for i, example in enumerate(data.examples)}
    halves = [ac.split(data.examples, 1 - HELD_OUT, seed * 10_000 + number) for number in range(splits)]
    return [([place[id(e)] for e in pool], [place[id(e)] for e in test]) for pool, test in halves]


def _in_turn(data: Readings, pool: Sequence[int], rng: np.random.Generator) -> list[int]:
    """The positions of a pool, document after document at random: the first n are the labels of n."""
    documents: dict[str, list[int]] = {}
    for i in pool:
        documents.setdefault(group_of(data.examples[i]), []).append(i)
    names = sorted(documents)
    return [i for k in rng.permutation(len(names)) for i in documents[names[k]]]


def _correlated(human: Floats, r: float, rng: np.random.Generator) -> Floats:
    """Values whose Pearson correlation with the human scores is ``r`` over all examples, exactly."""
    z = (human - human.mean()) / human.std()
    noise = rng.normal(size=len(z))
    noise -= noise.mean()
    noise -= (noise @ z) / len(z) * z
    return np.asarray(r * z + np.sqrt(1 - r * r) * noise / noise.std())


# --- what is found ----------------------------------------------------------------------------------------------------


def each_alone(data: Readings, seed: int) -> dict[str, Any]:
    """Agreement of every reading with people over all examples; the surface out of fold."""
    columns = _with_surface(data)
    found = {}
    for name, column in columns.items():
        values = agreement(column.tolist(), data.human.tolist(), data.groups, seed=seed).to_dict()
        found[name] = values | {"values": len(set(column.tolist()))}
    return found


def with_each_other(data: Readings) -> dict[str, float | None]:
    """Pearson correlations of the readings with each other; None where one does not vary."""
    pairs = combinations(_with_surface(data).items(), 2)
    return {f"{a} and {b}": pearson(x.tolist(), y.tolist()) for (a, x), (b, y) in pairs}


def _with_surface(data: Readings) -> dict[str, Floats]:
    return {**data.values, "surface": out_of_fold_surface(data.examples, data.scale)}


def over_splits(data: Readings, sizes: Sequence[int], splits: int, seed: int) -> dict[str, Any]:
    """Every way in every situation, the intervals, and the learning curve, over random splits.

    Sizes of which some split has not enough examples are left out.
    """
    least = min(len(pool) for pool, _ in parted(data, splits, seed))
    sizes = [size for size in sizes if size <= least]
    all_ways = ways([*data.values, "surface"])
    documents: dict[int, list[int]] = {size: [] for size in sizes}
    intervals: dict[int, list[tuple[Fitted, Trial]]] = {size: [] for size in sizes}
    reached: dict[str, dict[str, dict[int, list[float]]]] = {}
    for situation, (strong, mute) in SITUATIONS.items():
        table: dict[str, dict[int, list[float]]] = {name: {size: [] for size in sizes} for name in all_ways}
        for size, trial in trials(data, sizes, splits, seed, strong=strong, mute=mute):
            for name, combine in all_ways.items():
                table[name][size].append(q(combine(trial).tolist(), trial.truth.tolist()) / 3)
            if not (strong or mute):
                documents[size].append(len({group_of(example) for example in trial.labels}))
                intervals[size].append((fitted(trial), trial))
        reached[situation] = table
    plain = reached["as it is"]
    return {
        "documents by labels": {str(size): float(np.mean(n)) for size, n in documents.items()},
        "held_out": float(np.mean([len(test) for _, test in parted(data, splits, seed)])),
        "ways": {
            situation: {name: {str(size): _spread(v) for size, v in row.items()} for name, row in table.items()}
            for situation, table in reached.items()
        },
        "coverage": {str(size): _coverage(found) for size, found in intervals.items()},
        "curve": {
            name: {str(size): _spread(v) for size, v in plain[f"{name}{ALONE}" if name in data.values else way].items()}
            for name, way in (
                ("combined", way_of(PRIOR)),
                ("surface", f"surface{ALONE}"),
                (_best(data), ""),
            )
        },
    }


def product_over_splits(data: Readings, sizes: Sequence[int], splits: int, seed: int) -> dict[str, Any]:
    """The product's combination alone, on the splits of :func:`over_splits`, and the likelihood over all examples."""
    least = min(len(pool) for pool, _ in parted(data, splits, seed))
    reached: dict[int, list[float]] = {size: [] for size in sizes if size <= least}
    for size, trial in trials(data, list(reached), splits, seed, strong=False, mute=False):
        reached[size].append(q(applied(fitted(trial), trial).tolist(), trial.truth.tolist()) / 3)
    return {
        "alone": q(data.values["likelihood"].tolist(), data.human.tolist()) / 3,
        "product": {str(size): float(np.mean(values)) for size, values in reached.items()},
    }


def _best(data: Readings) -> str:
    """The reading that agrees best with people over all examples, of those that need no label."""
    human = data.human.tolist()
    return max(data.values, key=lambda name: q(data.values[name].tolist(), human))


def _spread(values: Sequence[float]) -> dict[str, float | None]:
    """Mean, and the middle 95 % of the splits."""
    low, high = percentile_interval(np.array(values), 0.95) or (None, None)
    return {"mean": float(np.mean(values)), "low": low, "high": high}


def _coverage(found: Sequence[tuple[Fitted, Trial]]) -> dict[str, dict[str, float | int | None]]:
    """For every coverage the part of held-out human scores inside, and the mean width in percent of the scale."""
    told: dict[str, dict[str, float | int | None]] = {}
    for coverage in COVERAGES:
        name = f"{100 * coverage:g}"
        inside: list[bool] = []
        widths: list[float] = []
        had = 0
        for one, trial in found:
            if (half := one.calibration.half_widths.get(name)) is None:
                continue
            had += 1
            scores, scale = applied(one, trial), trial.scale
            low, high = np.maximum(scores - half, scale.low), np.minimum(scores + half, scale.high)
            inside += ((low - 1e-9 <= trial.truth) & (trial.truth <= high + 1e-9)).tolist()
            widths += (100 * (high - low) / (scale.high - scale.low)).tolist()
        told[name] = {
            "inside": float(np.mean(inside)) if inside else None,
            "width": float(np.mean(widths)) if widths else None,
            "splits": had,
        }
    return told
