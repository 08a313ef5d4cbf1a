"""HD-Eval: criteria decomposed layer by layer, and a regression on their ratings fitted to people's scores.

Liu et al., "HD-Eval: Aligning Large Language Model Evaluators Through Hierarchical Criteria Decomposition", ACL 2024.
What is taken from it, and what is ours, stands in ``docs/hd-eval.md``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from active_critic import asking
from active_critic.bounds import WHOLE
from active_critic.data.examples import Examples
from active_critic.errors import FitError, UnreadableReply
from active_critic.evaluators._hd_eval_growth import Growth, RatingForm, on_scale
from active_critic.evaluators._hd_eval_program import HDEvalProtocol, TreeCriterion
from active_critic.evaluators._hd_eval_tree import decompose
from active_critic.evaluators.base import Evaluator, JournalPath, Progress, default_reading, scale_of
from active_critic.evaluators.judging import Judge
from active_critic.evaluators.parameters import check_task, check_whole, given_criteria
from active_critic.inference import MAX_BATCHES, infer
from active_critic.lm.client import LanguageModel, Turn
from active_critic.reading import Rating
from active_critic.records import Criterion, CriterionVerdict, Example, Usage, Verdict

FIRST_LAYER = 4
"""Criteria in the first layer, at most, where the model names them."""
FORM = 12
"""Criteria in one form, at most."""
DEEPEST = 3
"""Layers, at most."""
WEIGHTIEST = 3
"""Criteria that an explanation names."""


@dataclass(frozen=True, slots=True)
class Rated:
    """An example's ratings on one layer.

    Attributes:
        ratings: Rating by criterion, on the rating levels.
        explain: Whether the verdict is to say what each counted for.
        usage: What they cost.
        notes: What a reader should know of who answered.
    """

    ratings: Mapping[str, Rating]
    explain: bool
    usage: Usage
    notes: tuple[str, ...]


class HDEvalJudge(Judge):
    """Rates by every layer of the tree, one question each, and puts the ratings together as the program says."""

    def __init__(self, protocol: HDEvalProtocol, lm: LanguageModel) -> None:
        self.protocol = protocol
        self.lm = lm
        forms = (RatingForm(n, c, protocol.task_description, protocol.reading) for n, c in protocol.layers.items())
        self.forms = {f"layer {form.number}": form for form in forms}
        self.questions = tuple(self.forms)

    def turns(self, question: str, example: Example) -> list[Turn]:
        """The prompt of a layer."""
        return self.forms[question].turns(example)

    def answer(self, question: str, example: Example, *, explain: bool) -> Rated:
        """The ratings of a layer; the same with and without explanations, which are computed from them."""
        filled = self.forms[question].rate(self.lm, example)
        return Rated(filled.ratings, explain, filled.usage, filled.notes)

    def verdict(self, example: Example, answers: Mapping[str, Any]) -> Verdict:
        """The regression's score, clipped to the scale, with every rating and what each contributed."""
        del example
        program = self.protocol
        layers: list[Rated] = [answers[question] for question in self.questions]
        explain = layers[0].explain
        ratings = {name: rating for layer in layers for name, rating in layer.ratings.items()}
        scale = program.scale
        given = {name: on_scale(scale, program.reading, rating.value) for name, rating in ratings.items()}
        points = {c.name: _points(c, given[c.name]) for c in program.criteria}
        total = program.intercept + sum(points.values())
        notes = list(dict.fromkeys(note for layer in layers for note in layer.notes))
        notes += asking.reading_notes(program.reading, ratings)
        if not scale.low - 1e-9 <= total <= scale.high + 1e-9:
            notes.append(f"the regression gave {total:.3f}, outside the scale {scale}; clipped")
        return Verdict(
            score=scale.rounded(total),
            criteria=tuple(
                CriterionVerdict(c.name, scale.rounded(given[c.name]), _reason(c, points[c.name]) if explain else None)
                for c in program.criteria
            ),
            explanation=_explanation(program, given, points) if explain else None,
            read_from=asking.way_of(rating.read_from for rating in ratings.values()),
            notes=tuple(notes),
            usage=sum((layer.usage for layer in layers), Usage()),
        )


def _points(criterion: TreeCriterion, rating: float) -> float:
    return criterion.weight * (rating - criterion.mean) / criterion.spread if criterion.spread > 0 else 0.0


def _reason(criterion: TreeCriterion, points: float) -> str:
    if criterion.spread == 0:
        return "computed: counts for nothing; its ratings did not vary among the training examples"
    return f"computed: {points:+z.2f} points; the training examples' mean rating is {criterion.mean:z.2f}"


def _explanation(program: HDEvalProtocol, given: Mapping[str, float], points: Mapping[str, float]) -> str:
    order = sorted(points, key=lambda name: -abs(points[name]))
    parts = [f"{name} (rated {given[name]:z.2f}) {points[name]:+z.2f}" for name in order[:WEIGHTIEST]]
    rest = order[WEIGHTIEST:]
    if rest:
        parts.append(f"the other {len(rest)} criteria together {sum(points[name] for name in rest):+z.2f}")
    return (
        f"Computed from the ratings, not written by the model: {program.intercept:z.2f}, the training examples' mean "
        f"score, and {', '.join(parts)}."
    )


class HDEval(Evaluator):
    """Hierarchical criteria decomposition with a white-box aggregator.

    The overall quality is decomposed into main criteria; every training example is rated on them, a ridge regression
    is fitted to the human scores, and the criteria that weigh most are decomposed further; and so on. The last
    regression, on the ratings of all layers, makes the score.

    Args:
        lm: The language model, or whatever :func:`active_critic.lm.open_lm` takes.
        task_description: Your own; None: inferred.
        criteria: The first layer, at most 12; None: the model decomposes the task.
        layers: Layers of the tree below the overall quality, 1 to 3.
        children: Parts of a decomposed criterion, at most.
        expand: How many criteria of a layer are decomposed further: those of most importance.
        max_batches: Mini-batches of five examples read at most for the task description.
        seed: Of mini-batches and of the folds for the held-out figures.
        journal: Where replies are kept; see ``Evaluator``.
    """

    kind = "hd-eval"
    document = HDEvalProtocol

    def __init__(
        self,
        lm: LanguageModel | str | Any = "local",
        *,
        task_description: str | None = None,
        criteria: Sequence[Criterion] | Mapping[str, str] | None = None,
        layers: int = 2,
        children: int = 3,
        expand: int = 2,
        max_batches: int = MAX_BATCHES,
        seed: int = 0,
        journal: JournalPath = "default",
    ) -> None:
        super().__init__(lm, journal=journal)
        self.task_description = task_description
        self.criteria = criteria
        self.layers = layers
        self.children = children
        self.expand = expand
        self.max_batches = max_batches
        self.seed = seed

    def learn(self, data: Examples, notes: list[str], progress: Progress | None) -> HDEvalProtocol:
        """Grow the tree and fit the aggregator. See :meth:`Evaluator.learn`."""
        first = given_criteria(self.criteria)
        user_scale, model = scale_of(data), self.model
        inferred = infer(
            data,
            model,
            scale=user_scale,
            seed=self.seed,
            task_description=self.task_description,
            criteria=first or (),  # the first layer comes from the task, not from the examples
            max_batches=self.max_batches,
            progress=progress,
        )
        notes += inferred.remarks
        task = inferred.task_description
        if first is None:
            try:
                found = decompose(model, task, None, at_most=FIRST_LAYER, taken=(), at_least=2)
            except UnreadableReply as problem:
                raise FitError(
                    f"{model.name} could not name the main criteria of the task, not even when asked again: {problem}. "
                    "Give your own criteria, or use a larger model"
                ) from None
            first = list(found.criteria)
            if found.repeated:
                notes.append(f"main criteria that repeat a name were dropped: {', '.join(found.repeated)}")
        growth = Growth(
            model,
            task,
            data,
            user_scale,
            default_reading(model, "rating_first"),  # the form holds nothing but ratings
            layers=self.layers,
            children=self.children,
            expand=self.expand,
            seed=self.seed,
            progress=progress,
        )
        growth.run(first)
        return HDEvalProtocol(
            task_description=task,
            reading=growth.reading,
            criteria=tuple(growth.weighted()),
            intercept=growth.made.intercept,
            alpha=growth.made.alpha,
            fits=tuple(growth.fits),
            scale=user_scale,
            provenance=self.provenance(data, [*notes, *growth.notes()]),
        )

    def check(self) -> None:
        """Parameters that cannot be right. See :meth:`Evaluator.check`."""
        check_task(self.task_description)
        bounds = {"layers": (1, DEEPEST), "children": (2, FORM), "expand": (1, FORM), "max_batches": (1, WHOLE)}
        for name, (least, most) in bounds.items():
            check_whole(name, getattr(self, name), least, most)
        if self.children * self.expand > FORM:
            raise FitError(
                f"children times expand is the size of a layer and must be at most {FORM}, "
                f"not {self.children} x {self.expand} = {self.children * self.expand}"
            )
        if len(given := given_criteria(self.criteria) or ()) > FORM:
            raise FitError(f"criteria: at most {FORM} fit into one form, not {len(given)}; leave some out")

    def judge(self) -> Judge:
        """What rates by the program; see :class:`Evaluator`."""
        return HDEvalJudge(self.fitted, self.model)
