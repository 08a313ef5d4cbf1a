"""How an HD-Eval tree grows: rate the training examples by a layer, fit, decompose what weighs most."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from active_critic import asking
from active_critic.data.examples import MIN_EXAMPLES, Examples, folds, group_of
from active_critic.errors import FitError, ModelError
from active_critic.evaluators import ridge
from active_critic.evaluators._fitting import in_parallel
from active_critic.evaluators._hd_eval_program import LayerFit, TreeCriterion
from active_critic.evaluators._hd_eval_tree import decompose
from active_critic.evaluators.base import Progress
from active_critic.lm.client import LanguageModel, Turn
from active_critic.protocols import Reading
from active_critic.quoting import quote
from active_critic.records import Criterion, Example, Scale
from active_critic.stats import agreement

FOLDS = 4
"""Parts of the training documents for the held-out figures."""
VARIES = 0.005
"""Ratings whose standard deviation is not above this part of the scale do not vary: what is left is noise."""


class RatingForm:
    """One layer's criteria in one form, and how an example is rated by it.

    Args:
        number: The layer.
        criteria: Its criteria.
        task_description: What is judged.
        reading: How ratings are asked for and read.
    """

    def __init__(self, number: int, criteria: Sequence[Criterion], task_description: str, reading: Reading) -> None:
        self.number = number
        self.names = [criterion.name for criterion in criteria]
        self.reading = reading
        self.sheet = asking.rating_sheet(reading, self.names)
        listed = "\n".join(f"- {quote(c.name)}: {quote(c.definition)}" for c in criteria)
        self.system = (
            f"You rate responses.\n\nThe task: {quote(task_description)}\n\nThe criteria:\n{listed}\n\n"
            f"{asking.levels_words(reading)}\n\n{asking.MATERIAL}\n\n"
            "Rate the response on each criterion by itself, in this form, on one line: "
            + asking.compact(self.sheet.skeleton)
        )
        self.question = "Rate the response on each criterion."

    def turns(self, example: Example) -> list[Turn]:
        """The prompt for one example."""
        texts = asking.shown_texts(example.source, example.response)
        return [("system", self.system), ("user", f"{texts}\n\n{self.question}")]

    def rate(self, lm: LanguageModel, example: Example) -> asking.Filled:
        """Ask; raises as :func:`active_critic.asking.ask`."""
        return asking.ask(lm, self.turns(example), self.sheet, self.reading)


def on_scale(scale: Scale, reading: Reading, rating: float) -> float:
    """A rating on the levels as a score on the user's scale."""
    return scale.from_percent(reading.to_percent(rating))


class Growth:
    """The tree while it grows: what stands in it, how the training examples were rated, what was fitted last.

    Args:
        model: The language model.
        task: The task description.
        data: Scored examples, checked.
        scale: The user's scale.
        reading: How ratings are asked for and read.
        layers, children, expand, seed: As for ``HDEval``.
        progress: See ``base.Progress``.

    Attributes:
        made: The last regression, on the ratings of all layers.
        fits: Every layer's, in short.
    """

    made: ridge.Ridge

    def __init__(
        self,
        model: LanguageModel,
        task: str,
        data: Examples,
        scale: Scale,
        reading: Reading,
        *,
        layers: int,
        children: int,
        expand: int,
        seed: int,
        progress: Progress | None,
    ) -> None:
        self.model, self.task = model, task
        self.layers, self.children, self.expand, self.seed = layers, children, expand, seed
        self.examples = sorted(data, key=lambda e: e.source)  # for prefix caches
        self.scale, self.reading, self.progress = scale, reading, progress
        self.tree: list[tuple[Criterion, str | None, int]] = []
        self.columns: list[list[float | None]] = []
        self.importance: dict[str, float] = {}
        self.fits: list[LayerFit] = []
        self.lost: dict[int, str] = {}
        self.remarks: list[str] = []

    def run(self, first: Sequence[Criterion]) -> None:
        """Rate, fit and decompose, layer by layer.

        Raises:
            FitError: Fewer than five examples could be rated, or no rating varies.
        """
        layer: list[tuple[Criterion, str | None]] = [(criterion, None) for criterion in first]
        for number in range(1, self.layers + 1):
            self._rate(number, [criterion for criterion, _ in layer])
            self.tree += [(criterion, parent, number) for criterion, parent in layer]
            self._aggregate(number)
            if number == self.layers:
                return
            layer = self._decomposed([criterion for criterion, _ in layer])
            if not layer:
                self.remarks.append(f"the tree ends at layer {number}: nothing in it could be decomposed")
                return

    def _rate(self, number: int, criteria: Sequence[Criterion]) -> None:
        form = RatingForm(number, criteria, self.task, self.reading)
        todo = [index for index in range(len(self.examples)) if index not in self.lost]

        def one(index: int) -> asking.Filled | ModelError:
            try:
                return form.rate(self.model, self.examples[index])
            except asking.PER_ITEM as problem:
                return problem

        columns: list[list[float | None]] = [[None] * len(self.examples) for _ in criteria]
        rated = in_parallel(self.model, one, todo, doing=f"rating layer {number}", progress=self.progress)
        for index, filled in zip(todo, rated, strict=True):
            if isinstance(filled, ModelError):
                self.lost[index] = str(filled)
                continue
            for column, name in zip(columns, form.names, strict=True):
                column[index] = on_scale(self.scale, self.reading, filled.ratings[name].value)
        self.columns += columns
        left = len(self.examples) - len(self.lost)
        if left < MIN_EXAMPLES:
            raise FitError(
                f"only {left} of {len(self.examples)} training examples could be rated on layer {number}, and "
                f"{MIN_EXAMPLES} are needed; the first reason: {next(iter(self.lost.values()))}"
            )

    def _aggregate(self, number: int) -> None:
        kept = [index for index in range(len(self.examples)) if index not in self.lost]
        some = [self.examples[index] for index in kept]
        x = np.array([[column[index] for column in self.columns] for index in kept], dtype=np.float64)
        y = np.array([example.score for example in some], dtype=np.float64)
        groups = [group_of(example) for example in some]
        least = VARIES * (self.scale.high - self.scale.low)
        self.made = made = ridge.fit(x, y, groups, least=least)
        if not made.spreads.any():
            raise FitError(
                f"{self.model.name} rated all {len(some)} examples alike on every criterion, so there is nothing to "
                "fit on; use other criteria, or a larger model"
            )
        names = [criterion.name for criterion, _, layer in self.tree if layer == number]
        weights = np.abs(made.weights[-len(names) :])
        total = float(weights.sum())
        self.importance |= {n: float(w) / total if total else 0.0 for n, w in zip(names, weights, strict=True)}
        parts = folds(some, FOLDS, self.seed)
        predicted: list[float | None] = [None] * len(some)
        if len(parts) > 1 and all(len(some) - len(part) > 1 for part in parts):
            clipped = np.clip(ridge.out_of_fold(x, y, groups, parts, least=least), self.scale.low, self.scale.high)
            predicted = [float(value) for value in clipped]
        found = agreement(predicted, [float(score) for score in y], groups, resamples=0)
        self.fits.append(
            LayerFit(
                layer=number,
                criteria=len(self.columns),
                alpha=made.alpha,
                pearson=found.pearson,
                spearman=found.spearman,
                kendall=found.kendall,
                n=found.n,
            )
        )

    def _decomposed(self, layer: Sequence[Criterion]) -> list[tuple[Criterion, str | None]]:
        """The next layer: the parts of those criteria of this one that weigh most."""
        ranked = sorted(layer, key=lambda criterion: -self.importance[criterion.name])
        chosen = [c for c in ranked if self.importance[c.name] > 0][: self.expand]
        parts: list[tuple[Criterion, str | None]] = []
        for number, parent in enumerate(chosen, start=1):
            taken = [c.name for c, _, _ in self.tree] + [c.name for c, _ in parts]
            try:
                found = decompose(self.model, self.task, parent, at_most=self.children, taken=taken)
            except asking.PER_ITEM as problem:
                self.remarks.append(
                    f"{self.model.name} could not decompose {parent.name!r}, which stays whole: {problem}"
                )
                continue
            finally:
                if self.progress is not None:
                    self.progress("decomposing criteria", number, len(chosen))
            if found.repeated:
                self.remarks.append(
                    f"parts of {parent.name!r} that repeat a name were dropped: {', '.join(found.repeated)}"
                )
            parts += [(criterion, parent.name) for criterion in found.criteria]
        return parts

    def weighted(self) -> list[TreeCriterion]:
        """The tree, with what each rating counts for in the last regression."""
        made = self.made
        return [
            TreeCriterion(
                name=criterion.name,
                definition=criterion.definition,
                parent=parent,
                layer=layer,
                mean=float(made.means[at]),
                spread=float(made.spreads[at]),
                weight=float(made.weights[at]),
                importance=self.importance[criterion.name],
            )
            for at, (criterion, parent, layer) in enumerate(self.tree)
        ]

    def notes(self) -> list[str]:
        """What the user should be told."""
        notes = list(self.remarks)
        if self.lost:
            # Without a reason: that may quote a reply, and no text of an example is to stand in a program.
            notes.append(
                f"{len(self.lost)} of {len(self.examples)} training examples could not be rated and were left out of "
                "the regression"
            )
        still = [c.name for (c, _, _), spread in zip(self.tree, self.made.spreads, strict=True) if spread == 0]
        if still:
            notes.append(f"ratings that did not vary, and so count for nothing: {', '.join(still)}")
        if self.fits[-1].pearson is None:
            notes.append("held-out agreement could not be measured: it takes two documents with different scores")
        return notes
