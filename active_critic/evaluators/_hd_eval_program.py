"""What an HD-Eval program holds: a tree of criteria, and the regression that makes one score of their ratings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from pydantic import Field, field_validator

from active_critic.protocols import Protocol, Reading, check_names
from active_critic.records import Criterion, Record, Spread

LAYERS = 100
"""More than these no tree has: a fit makes three."""


class TreeCriterion(Criterion):
    """A criterion of the tree, and what its rating counts for.

    Attributes:
        parent: The criterion it is a part of; None in the first layer, whose parent is the overall quality.
        layer: 1 for the main criteria, 2 for their parts, and so on.
        mean: Mean rating of the training examples, on the user's scale.
        spread: Standard deviation of those ratings, on the user's scale; 0 when they did not vary.
        weight: Change of the score, on the user's scale, for one standard deviation of the rating; 0 without spread.
        importance: Its part, 0 to 1, in the absolute weights of its own layer, in the aggregator that was fitted when
            that layer was the last: what decided whether it was decomposed further.
    """

    parent: str | None = None
    layer: int = Field(ge=1)
    mean: float
    spread: Spread
    weight: float
    importance: float = Field(ge=0, le=1)


class LayerFit(Record):
    """The aggregator as it was after a layer: one candidate, of which the last is the program's.

    Attributes:
        layer: The last layer it used.
        criteria: How many criteria it used, of this layer and those above.
        alpha: Its ridge strength.
        pearson, spearman, kendall: Agreement of predictions for training documents that the regression did not see, or
            None where not defined. The tree was grown on all of them, so the figures are a little too kind.
        n: Examples that they are over.
    """

    layer: int
    criteria: int
    alpha: float = Field(gt=0)
    pearson: float | None
    spearman: float | None
    kendall: float | None
    n: int


class HDEvalProtocol(Protocol):
    """The program of HD-Eval.

    Attributes:
        task_description: What is judged, and how a response relates to its source.
        reading: How ratings are asked for and read.
        criteria: The tree, layer by layer.
        intercept: The mean human score of the training examples: the score when every rating is at its mean.
        alpha: Strength of the ridge regression.
        fits: The aggregator after each layer, with its held-out agreement.
    """

    evaluator: Literal["hd-eval"] = "hd-eval"
    task_description: str
    reading: Reading = Reading()
    criteria: tuple[TreeCriterion, ...] = Field(min_length=1)
    intercept: float
    alpha: float = Field(gt=0)
    fits: tuple[LayerFit, ...] = ()

    @field_validator("criteria")
    @classmethod
    def _a_tree(cls, criteria: tuple[TreeCriterion, ...]) -> tuple[TreeCriterion, ...]:
        check_names(criteria)
        layer_of = {c.name: c.layer for c in criteria}
        if max(layer_of.values()) > LAYERS:
            raise ValueError(f"there are more than {LAYERS} layers")
        if set(layer_of.values()) != set(range(1, max(layer_of.values()) + 1)):
            raise ValueError("the layers must be numbered from 1 without gaps")
        for criterion in criteria:
            above = 0 if criterion.parent is None else layer_of.get(criterion.parent)
            if above != criterion.layer - 1:
                raise ValueError(f"the parent of {criterion.name!r} is not a criterion of layer {criterion.layer - 1}")
        return criteria

    @property
    def layers(self) -> dict[int, list[TreeCriterion]]:
        """The criteria by layer, the first layer first."""
        numbers = sorted({criterion.layer for criterion in self.criteria})
        return {number: [c for c in self.criteria if c.layer == number] for number in numbers}

    @property
    def rated(self) -> tuple[str, ...]:
        """All criteria, layer by layer."""
        return tuple(criterion.name for criterion in self.criteria)

    @property
    def traits(self) -> tuple[str, ...]:
        """Layers, criteria and reading."""
        return (f"layers:{len(self.layers)}", f"criteria:{len(self.criteria)}", self.reading.words)

    def account(self) -> list[tuple[str, Sequence[str]]]:
        """The task, the tree with its weights, and how well each layer's aggregator agreed with people."""
        return [
            ("Task", [self.task_description]),
            ("Criteria (points of the score for one standard deviation of the rating)", self._branch(None)),
            ("Aggregator", [f"ridge regression, alpha {self.alpha:g}, around the mean score {self.intercept:.3g}"]),
            ("Agreement on training documents that the regression did not see", [_figures(one) for one in self.fits]),
        ]

    def _branch(self, parent: str | None) -> list[str]:
        lines = []
        for c in self.criteria:
            if c.parent == parent:
                lines.append(f"{'  ' * (c.layer - 1)}{c.name} ({round(c.weight, 3) + 0.0:+.3f}): {c.definition}")
                lines += self._branch(c.name)
        return lines


def _figures(one: LayerFit) -> str:
    named = (("Pearson", one.pearson), ("Spearman", one.spearman), ("Kendall", one.kendall))
    shown = ", ".join(f"{name} {'not defined' if value is None else f'{value:.3f}'}" for name, value in named)
    layers = "layer 1" if one.layer == 1 else f"layers 1 to {one.layer}"
    return f"{layers} ({one.criteria} criteria, alpha {one.alpha:g}): {shown} (n = {one.n})"
