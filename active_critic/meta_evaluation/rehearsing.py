"""A comparison or a curve to be rehearsed: what each method, or each size, would take, and what would go wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from active_critic.data.examples import Examples
from active_critic.evaluators.base import Progress
from active_critic.lm import LanguageModel
from active_critic.lm.costing import Estimate, between
from active_critic.meta_evaluation import comparing, curves
from active_critic.meta_evaluation.comparison import MethodResult
from active_critic.meta_evaluation.learning_curve import Repeat
from active_critic.meta_evaluation.methods import Factory
from active_critic.meta_evaluation.splits import Split
from active_critic.meta_evaluation.trials import HeldOut, Shared, prefixed

PROBING = ""
"""The part in which the model is asked what it can do, which is no method's."""
_NO_STATISTICS = {"level": "dataset", "resamples": 0, "seed": 0}

Parts = Iterator[tuple[str, Sequence[MethodResult]]]
"""The parts of such work by name, and what came of each."""


@dataclass
class Rehearsal:
    """Work for ``lm.rehearsal.estimate_parts``; what came of it is kept, take by take.

    Attributes:
        of: What the parts are: ``"methods"``, by name, or ``"points"`` of a curve, by the number of labels.
        work: Does it, one part after the other.
        progress: See ``evaluators.base.Progress``.
        takes: What came of every part, once for each time that it was done.
    """

    of: Literal["methods", "points"]
    work: Callable[[Shared, Progress | None], Parts]
    progress: Progress | None = None
    takes: list[dict[str, Sequence[MethodResult]]] = field(default_factory=list)

    def __call__(self, model: LanguageModel, done: Callable[[str], None]) -> None:
        """Do it with this model, and say of every part when it is done."""
        came: dict[str, Sequence[MethodResult]] = {}
        self.takes.append(came)
        with Shared(model, None) as shared:
            shared.opened()
            done(PROBING)
            for name, results in self.work(shared, prefixed(self.progress, f"rehearsal {len(self.takes)}")):
                came[name] = results
                done(name)

    @property
    def parts(self) -> dict[str, str]:
        """The parts by name, and what each is called; what the model can do is none of them."""
        called = {"0": curves.ZERO_SHOT}
        return {part: part if self.of == "methods" else called.get(part, f"{part} labels") for part in self.takes[0]}

    def requests(self, part: str) -> list[int]:
        """Different requests that a part makes by itself, whoever pays for them, in every take."""
        return [sum(result.needs.calls for result in came[part]) for came in self.takes]

    def usual(self, part: str) -> int:
        """What lies between the fewest and the most of these."""
        return round(between(self.requests(part)))

    def problems(self, part: str) -> list[str]:
        """What would go wrong in a part, each with the first reason."""
        said = []
        for place in range(len(self.takes[0][part])):
            results = [came[part][place] for came in self.takes]
            wrong = [words for words in map(_wrong, results) if words]
            if wrong:
                often = f" (in {len(wrong)} of {len(results)} rehearsals)" if len(wrong) < len(results) else ""
                at = f"{self.parts[part]}: " if self.parts[part] != results[0].name else ""
                said.append(f"{at}{results[0].name} would {wrong[0]}{often}")
        return said

    def stopped(self, most: int | None, found: Estimate) -> list[str]:
        """What would be stopped where each method, or the whole curve, may make so many different requests at most."""
        if most is None:
            return []
        if self.of == "methods":
            amounts = {part: (self.usual(part), max(self.requests(part))) for part in self.parts}
        else:
            distinct = self._distinct(found)
            amounts = {"the curve": (round(between(distinct)), max(distinct))}
        said = []
        for what, (usual, highest) in amounts.items():
            if highest > most:
                would = "would" if usual > most else "may"
                number = f"{usual:,}" if usual == highest else f"{usual:,} (up to {highest:,})"
                said.append(f"{what} makes {number} different requests, so that --requests {most} {would} stop it")
        return said

    def shared(self, found: Estimate) -> list[str]:
        """That parts ask the same, where they do."""
        alone = [sum(take) for take in zip(*map(self.requests, self.parts), strict=True)]
        if all(each <= together for each, together in zip(alone, self._distinct(found), strict=True)):
            return []
        one = "method" if self.of == "methods" else "size"
        return [f"what several {one}s ask is counted once, with the first {one} that asks it"]

    def _distinct(self, found: Estimate) -> list[int]:
        """Different requests that all parts make together, in every take."""
        counted = ([take.requests for take in found.parts[part].takes] for part in self.parts)
        return [sum(take) for take in zip(*counted, strict=True)]

    def to_dict(self, found: Estimate) -> dict[str, Any]:
        """What every part would take, and what would go wrong, as plain JSON values."""
        return {
            "probing": found.parts[PROBING].figures(),
            self.of: [
                {
                    **({"name": part} if self.of == "methods" else {"labels": int(part)}),
                    **found.parts[part].figures(),
                    "requests": self.usual(part),
                    "problems": self.problems(part),
                }
                for part in self.parts
            ],
        }


def _wrong(result: MethodResult) -> str:
    """What has gone wrong with a method, as what it would do."""
    if result.failures:
        first, splits = result.failures[0], len(result.signatures)
        where = "fail" if splits == 1 else f"fail in {len(result.failures)} of {splits} splits, first"
        return f"{where} in its {first.stage}: {first.reason}"
    if result.unscored:
        missing, all_of_them = len(result.unscored), result.agreement.total
        return (
            f"leave {missing:,} of {all_of_them:,} examples unscored, the first: {next(iter(result.unscored.values()))}"
        )
    return ""


def comparison_rehearsal(
    data: Examples,
    methods: Mapping[str, Factory],
    splits: Sequence[Split],
    *,
    explain: bool = False,
    progress: Progress | None = None,
) -> Rehearsal:
    """A comparison to be rehearsed, method by method.

    Args:
        data: The examples.
        methods: What makes the evaluators, by name.
        splits: What is fitted on and tested on.
        explain: Also have scores explained.
        progress: See ``evaluators.base.Progress``.
    """
    tests = HeldOut.of(data, splits, _NO_STATISTICS)

    def work(shared: Shared, said: Progress | None) -> Parts:
        for result in comparing.each_method(methods, shared, tests, None, explain, said):
            yield result.name, [result]

    return Rehearsal("methods", work, progress)


def curve_rehearsal(
    data: Examples,
    name: str,
    factory: Factory,
    sizes: Sequence[int],
    drawn: Sequence[Repeat],
    *,
    progress: Progress | None = None,
) -> Rehearsal:
    """A learning curve to be rehearsed, size by size; zero-shot is size 0.

    Args:
        data: The examples.
        name: The evaluator's name.
        factory: What makes it.
        sizes: Numbers of labels.
        drawn: The splits of all repeats, as ``curves.draw`` gives them.
        progress: See ``evaluators.base.Progress``.
    """
    tests = curves.tests_of(data, drawn, sizes, _NO_STATISTICS)

    def work(shared: Shared, said: Progress | None) -> Parts:
        for size, result, floor in curves.each_size(name, factory, shared, tests, said):
            yield str(size), [result] if floor is None else [result, floor]

    return Rehearsal("points", work, progress)
