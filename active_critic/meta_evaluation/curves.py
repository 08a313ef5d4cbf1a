"""Fit an evaluator on 5, 10, 20, 50, 100 labels, and see what more labels bring."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from math import log2
from numbers import Real
from typing import Any

from active_critic.bounds import REPEATS, RESAMPLES
from active_critic.data import data_sha256
from active_critic.data.cells import plain_value
from active_critic.data.examples import MIN_EXAMPLES, Examples, group_of
from active_critic.errors import DataError, FitError
from active_critic.evaluators.base import JournalPath, Progress
from active_critic.evaluators.given import examples_of
from active_critic.evaluators.origins import versions
from active_critic.evaluators.parameters import check_progress, check_whole
from active_critic.figures_in_words import as_given
from active_critic.lm.spending import Amounts
from active_critic.meta_evaluation.comparison import FLOOR, MethodResult, check_names, ids_note
from active_critic.meta_evaluation.estimates import Estimate, estimate, slope
from active_critic.meta_evaluation.learning_curve import Curve, Point, Repeat
from active_critic.meta_evaluation.methods import EVALUATOR_NAMES, Factory, given_settings, needs_model, resolve
from active_critic.meta_evaluation.nested import growing
from active_critic.meta_evaluation.splits import Split, plan
from active_critic.meta_evaluation.trials import HeldOut, Shared, limits_of, prefixed, trial
from active_critic.records import Scale
from active_critic.stats import holm
from active_critic.stats.resampling import cautions, resamples_for

SIZES = (5, 10, 20, 50, 100)
"""Numbers of labels."""
ZERO_SHOT = "zero-shot"
"""What needs no labels, and is tested beside the curve."""
_TREND = 3  # points: the fewest that say whether the last step was an exception


def curve(
    examples: Any,
    evaluator: str | Mapping[str, Factory] = "active-critic-coarse",
    lm: Any = "local",
    *,
    sizes: Sequence[int] = SIZES,
    test: float = 0.5,
    test_documents: int | None = None,
    repeats: int = 3,
    seed: int = 0,
    settings: Mapping[str, Any] | None = None,
    requests: int | None = None,
    budget: Amounts | None = None,
    fields: Mapping[str, str] | None = None,
    scale: Scale | str | tuple[float, float] | list[float] | None = None,
    resamples: int | None = None,
    journal: JournalPath = "default",
    progress: Progress | None = None,
) -> Curve:
    """How agreement with people grows with the number of labels, with intervals and the advice that follows.

    In each repeat the documents are split once. One part is tested on at every size; the training sets are drawn from
    the other, each part of all larger ones (see ``nested.growing``), so that sizes are compared in pairs. Beside the
    evaluator stand zero-shot and the surface floor, where the evaluator is neither. A size at which the fit fails loses
    its own figures only. Everything paid for is in the journal, and the same request of two sizes is paid for once.

    Args:
        examples: Scored examples, whatever :func:`active_critic.read_examples` takes.
        evaluator: One of ``EVALUATOR_NAMES``, or one factory by its name: your own.
        lm: The language model, or whatever :func:`active_critic.lm.open_lm` takes; opened when it is needed.
        sizes: Numbers of labels, at least 5 each; those that the documents for training do not have are left out, and
            said.
        test: The part of the examples that is tested on, 0 to 1, by whole documents.
        test_documents: Test on at most so many of these documents, drawn by the seed. Default: all.
        repeats: How often; repeat r is split and drawn by ``seed + r``.
        seed: Of splits, of evaluators that take one, and of resampling.
        settings: Parameters of the evaluator, where it is one of ``EVALUATOR_NAMES``.
        requests: Different requests that the whole curve may make at most, zero-shot included, and those answered from
            the journal. The smallest sizes come first. None: no limit.
        budget: What it may spend (``"500 calls"``, ``["200k tokens", "2 USD"]``, a ``Budget``). None: no limit.
        fields: Column by field, where the names are not recognised.
        scale: The scale of the human scores; inferred, and said, when not given.
        resamples: Of the documents, for the intervals; default: 1,000 to 10,000, as many as draw a million tested
            examples.
        journal: Where replies are kept, unless the model has its memory already: a path, ``"default"``, or None.
        progress: See ``evaluators.base.Progress``.

    Raises:
        DataError: The examples cannot be used, or are too few for the smallest size.
        FitError: An evaluator, a setting or another argument that is not there or cannot be.
        ModelError: The model cannot be used at all, or no longer.
        JournalError: The journal cannot be read or written; what it holds is not asked again.
    """
    seed = check_whole("seed", seed, 0)
    name, factory = _the_one(evaluator, settings, seed)
    requests, allowed = limits_of(requests, budget)
    resamples = None if resamples is None else check_whole("resamples", resamples, 0, RESAMPLES)
    repeats = check_whole("repeats", repeats, 1, REPEATS)
    check_progress(progress)
    test, test_documents = plain_value(test), plain_value(test_documents)
    data = examples_of(examples, fields=fields, scale=scale)
    if isinstance(examples, Examples):  # where they came from has been said
        data = replace(data, path=examples.path, notes=tuple(dict.fromkeys([*examples.notes, *data.notes])))
    how: dict[str, Any] = {"test": test, "test_documents": test_documents, "repeats": repeats, "seed": seed}
    possible, drawn, notes = draw(data, sizes, **how)
    resamples = resamples_for(sum(len(one.test) for one in drawn), resamples)
    statistics = {"level": "dataset", "resamples": resamples, "seed": seed}
    tests = tests_of(data, drawn, possible, statistics)
    points: list[Point] = []
    zero_shot = None
    with Shared(lm, journal, budget=requests, allowed=allowed) as shared:
        for size, result, floor in each_size(name, factory, shared, tests, progress):
            measured = _estimate(tests[size or possible[0]], [result], [1])
            if not size:
                zero_shot = Point(0, (0,) * repeats, result, measured)
                continue
            documents = tuple(len({group_of(data[i]) for i in repeat.pool[:size]}) for repeat in drawn)
            points.append(Point(size, documents, result, measured, floor=floor))
        model, probing = shared.model, shared.probing
        limits = allowed or (model.budget if model else None)
    points, over_zero_shot, over_floor = _with_differences(points, zero_shot, tests[possible[0]])
    through = _last_defined(points)
    notes += [*ids_note(data), *cautions(len(set(tests[possible[0]].groups)), 0, resamples)]
    return Curve(
        data=data,
        evaluator=name,
        repeats=tuple(drawn),
        points=tuple(points),
        zero_shot=zero_shot,
        over_zero_shot=over_zero_shot,
        over_floor=over_floor,
        trend=_trend(through, tests[possible[0]]),
        trend_sizes=tuple(point.labels for point in through),
        model=model.name if model else None,
        weights=model.weights if model else None,
        probing=probing,
        settings={
            "sizes": list(possible),
            **how,
            "requests": requests,
            "budget": None if limits is None else str(limits),
            "resamples": resamples,
            "evaluator": given_settings(factory),
        },
        data_sha256=data_sha256(data),
        versions=versions(),
        notes=tuple(dict.fromkeys([*data.notes, *notes])),
    )


def tests_of(
    data: Examples, drawn: Sequence[Repeat], sizes: Sequence[int], statistics: Mapping[str, Any]
) -> dict[int, HeldOut]:
    """What is fitted on and tested on at every size, in all repeats."""
    return {size: HeldOut.of(data, _splits(drawn, size), statistics) for size in sizes}


def each_size(
    name: str, factory: Factory, shared: Shared, tests: Mapping[int, HeldOut], progress: Progress | None
) -> Iterator[tuple[int, MethodResult, MethodResult | None]]:
    """An evaluator at every size, with the floor on the same labels where it is another; zero-shot first, as size 0.

    Args:
        name: The evaluator's name.
        factory: What makes it.
        shared: Model and memory.
        tests: What is fitted on and tested on, by size.
        progress: See ``evaluators.base.Progress``.
    """

    def tested(what: str, made: Factory, size: int, said: str) -> MethodResult:
        return trial(what, made, shared, tests[size], None, False, prefixed(progress, said))

    if needs_model(factory) and name != ZERO_SHOT:
        yield 0, tested(ZERO_SHOT, resolve([ZERO_SHOT])[ZERO_SHOT], next(iter(tests)), ZERO_SHOT), None
    for place, size in enumerate(tests, 1):
        said = f"{size} labels ({place} of {len(tests)})"
        result = tested(name, factory, size, said)
        floor = None if name == FLOOR else tested(FLOOR, resolve([FLOOR])[FLOOR], size, f"{said}: {FLOOR}")
        yield size, result, floor


def draw(
    data: Examples,
    sizes: Sequence[int] = SIZES,
    *,
    test: float = 0.5,
    test_documents: int | None = None,
    repeats: int = 3,
    seed: int = 0,
) -> tuple[list[int], list[Repeat], list[str]]:
    """The sizes that there are labels for, the splits of all repeats, and what should be said about them.

    Args:
        data: Scored examples.
        sizes: As for :func:`curve`, like the others.
        test: The part that is tested on.
        test_documents: How many documents of it at most.
        repeats: How often.
        seed: Of splits and orders.

    Raises:
        DataError: The examples cannot be split, or have too few for the smallest size.
        FitError: An argument that cannot be.
    """
    if not isinstance(sizes, Iterable):
        raise FitError(f"sizes are a list of numbers of labels, such as {list(SIZES)}, not {sizes!r}")
    sizes = list(map(plain_value, sizes))
    for size in sizes:
        if not isinstance(size, int) or isinstance(size, bool) or size < MIN_EXAMPLES:
            whole = f"a size is a whole number of at least {MIN_EXAMPLES} labels, as a fit needs"
            raise FitError(f"{whole}, not {as_given(size)}")
    if not sizes:
        raise FitError("give at least one size, a number of labels")
    if not isinstance(test, Real) or not 0 < test < 1:
        raise FitError(f"the part for testing is a fraction between 0 and 1, not {test!r}")
    splits, notes = plan(data, train=1 - test, repeats=repeats, seed=seed, test_documents=test_documents)
    drawn = [Repeat(tuple(growing(data, split.train, seed + split.repeat)), split.test) for split in splits]
    there = min(len(repeat.pool) for repeat in drawn)
    asked = sorted(set(sizes))
    possible = [size for size in asked if size <= there]
    if not possible:
        raise DataError(
            f"of {len(data)} examples, {there} are left for training when {test:.0%} are kept for testing, and the "
            f"smallest size is {as_given(asked[0])}; label more, or keep a smaller part",
            path=data.path,
        )
    if len(possible) < len(asked):
        sizes_said = ", ".join(as_given(size) for size in asked if size > there)
        few = f"there are {there} labels for training when {test:.0%} of the {len(data)} examples are kept for testing"
        notes.append(f"left out: {sizes_said}; {few}")
    return possible, drawn, notes


def _the_one(
    evaluator: str | Mapping[str, Factory], settings: Mapping[str, Any] | None, seed: int
) -> tuple[str, Factory]:
    if not isinstance(evaluator, str | Mapping):
        raise FitError(
            "the evaluator is a name, or a mapping from a name to what makes it for a model: write for example "
            '{"mine": Mine}'
        )
    if not isinstance(evaluator, str) and len(evaluator) != 1:
        raise FitError(f"a curve is of one evaluator, and {len(evaluator)} are given; draw one curve for each")
    name = evaluator if isinstance(evaluator, str) else next(iter(evaluator))
    check_names([name])
    if not isinstance(evaluator, str) and name in {ZERO_SHOT, FLOOR}:
        raise FitError(f"{name!r} stands beside the curve; give your evaluator another name")
    if isinstance(evaluator, str) and name not in EVALUATOR_NAMES:
        raise FitError(f"there is no evaluator {name!r}; there are {', '.join(EVALUATOR_NAMES)}")
    given = {name: settings} if settings else None
    return name, resolve([name] if isinstance(evaluator, str) else evaluator, given, seed=seed)[name]


def _splits(drawn: Sequence[Repeat], size: int) -> list[Split]:
    # In input order, as a file of these labels would have them.
    return [Split(number, None, tuple(sorted(one.pool[:size])), one.test) for number, one in enumerate(drawn)]


def _estimate(tests: HeldOut, results: Sequence[MethodResult], weights: Sequence[float]) -> Estimate:
    pred = [[score for scores in result.scores for score in scores] for result in results]
    how = {name: tests.how[name] for name in ("resamples", "seed")}
    return estimate(pred, weights, tests.human, tests.groups, parts=tests.parts, **how)


def _with_differences(
    points: Sequence[Point], zero_shot: Point | None, tests: HeldOut
) -> tuple[list[Point], Estimate | None, Estimate | None]:
    """The points with what each brought, and how far the last is ahead of zero-shot and of the floor."""
    last = points[-1]
    pairs = [(point.result, before.result) for before, point in pairwise(points)]
    pairs += [
        (last.result, other) for other in (zero_shot.result if zero_shot else None, last.floor) if other is not None
    ]
    made = [_estimate(tests, pair, [1, -1]) for pair in pairs]
    corrected = holm([found.p for found in made])
    left = iter([replace(found, p_holm=p) for found, p in zip(made, corrected, strict=True)])
    risen = [points[0], *(replace(point, gain=next(left)) for point in points[1:])]
    over_zero_shot = next(left) if zero_shot else None
    return risen, over_zero_shot, next(left) if last.floor else None


def _last_defined(points: Sequence[Point]) -> list[Point]:
    """The points that a line is laid through; none where there are too few, or the last one has no coefficient."""
    defined = [point for point in points if point.mean.value is not None][-_TREND:]
    return defined if len(defined) == _TREND and defined[-1] is points[-1] else []


def _trend(points: Sequence[Point], tests: HeldOut) -> Estimate | None:
    if not points:
        return None
    return _estimate(tests, [point.result for point in points], slope([log2(point.labels) for point in points]))
