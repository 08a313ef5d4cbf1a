"""Compare evaluators against people: the same examples, splits and language model for all, and what each one needs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from active_critic.bounds import REPEATS, RESAMPLES
from active_critic.data import data_sha256
from active_critic.data.cells import plain_value
from active_critic.data.examples import Examples
from active_critic.errors import FitError
from active_critic.evaluators.base import JournalPath, Progress
from active_critic.evaluators.given import examples_of
from active_critic.evaluators.origins import versions
from active_critic.evaluators.parameters import check_flag, check_progress, check_whole
from active_critic.lm.spending import Amounts
from active_critic.meta_evaluation.comparison import (
    FLOOR,
    OURS,
    Compared,
    Comparison,
    MethodResult,
    check_names,
    ids_note,
    ranked,
)
from active_critic.meta_evaluation.methods import EVALUATOR_NAMES as EVALUATOR_NAMES
from active_critic.meta_evaluation.methods import Factory, given_settings, learners, resolve
from active_critic.meta_evaluation.splits import check_training, plan
from active_critic.meta_evaluation.trials import HeldOut, Shared, limits_of, prefixed, trial
from active_critic.records import Scale
from active_critic.stats import Level, holm, paired_difference
from active_critic.stats.resampling import cautions, resamples_for


def compare(
    examples: Any,
    evaluators: Sequence[str] | Mapping[str, Factory],
    lm: Any = "local",
    *,
    fields: Mapping[str, str] | None = None,
    scale: Scale | str | tuple[float, float] | list[float] | None = None,
    settings: Mapping[str, Mapping[str, Any]] | None = None,
    folds: int | None = None,
    train: float | None = None,
    test_documents: int | None = None,
    repeats: int = 1,
    seed: int = 0,
    level: Level = "dataset",
    against: str | None = None,
    requests: int | None = None,
    budget: Amounts | None = None,
    resamples: int | None = None,
    journal: JournalPath = "default",
    explain: bool = False,
    progress: Progress | None = None,
) -> Comparison:
    """Fit and test several evaluators on the same splits with the same model, and compare how they agree with people.

    A method that fails loses its own figures only. Everything paid for is in the journal: a run that was interrupted
    and is started again asks nothing twice.

    Args:
        examples: Scored examples, whatever :func:`active_critic.read_examples` takes.
        evaluators: Names out of ``EVALUATOR_NAMES``, or factories by name: your own, or these with settings of yours.
        lm: The language model, or whatever :func:`active_critic.lm.open_lm` takes; opened when a method needs it.
        fields: Column by field, where the names are not recognised.
        scale: The scale of the human scores; inferred, and said, when not given.
        settings: Parameters by method, for those of ``EVALUATOR_NAMES``.
        folds: Every document is tested once in each repeat, by a fit on the other folds. Default: 4, without ``train``.
        train: Instead of folds: fit on this part of the examples (0 to 1), test on the rest.
        test_documents: With ``train``: test on at most so many of the other documents, drawn by the seed. Default: all.
        repeats: How often; repeat r is split by ``seed + r``.
        seed: Of splits, of evaluators that take one, and of resampling.
        level: What the coefficients are over: ``"dataset"``, ``"document"`` or ``"system"``.
        against: The baseline; default: the best method that is no Active-Critic.
        requests: Different requests that each method may make at most, fits and scoring together, those answered from
            the journal included, so that it means the same in every run. None: no limit.
        budget: What all of it may spend (``"500 calls"``, ``["200k tokens", "2 USD"]``, a ``Budget``). None: no limit.
        resamples: Of the intervals and the permutation tests; default: 1,000 to 10,000, as many as draw a million
            tested examples.
        journal: Where replies are kept, unless the model has its memory already: a path, ``"default"``, or None.
        explain: Also have scores explained, where a method does that; the scores are the same, and cost more.
        progress: See ``evaluators.base.Progress``.

    Raises:
        DataError: The examples cannot be used, or not at this level, or are too few for every method.
        FitError: An evaluator, a setting or another argument that is not there or cannot be.
        ModelError: The model cannot be used at all, or no longer, so that every method would fail.
        JournalError: The journal cannot be read or written; what it holds is not asked again.
    """
    seed = check_whole("seed", seed, 0)  # else it is found when all is paid for
    methods = resolve(evaluators, settings, seed=seed)
    check_names([*methods])
    if against is not None and against not in list(methods):
        raise FitError(f"against must be one of the methods compared ({', '.join(methods)}), not {against!r}")
    requests, allowed = limits_of(requests, budget)
    resamples = None if resamples is None else check_whole("resamples", resamples, 0, RESAMPLES)
    repeats = check_whole("repeats", repeats, 1, REPEATS)
    check_flag("explain", explain)
    check_progress(progress)
    data = examples_of(examples, fields=fields, scale=scale)
    if isinstance(examples, Examples):  # where they came from has been said
        data = replace(data, path=examples.path, notes=tuple(dict.fromkeys([*examples.notes, *data.notes])))
    splits, notes = plan(
        data, folds=folds, train=train, repeats=repeats, seed=seed, level=level, test_documents=test_documents
    )
    notes += check_training(data, splits, methods, learners(methods))
    notes = list(dict.fromkeys([*data.notes, *notes, *ids_note(data)]))
    resamples = resamples_for(sum(len(split.test) for split in splits), resamples)
    tests = HeldOut.of(data, splits, {"level": level, "resamples": resamples, "seed": seed})
    with Shared(lm, journal, allowed=allowed) as shared:
        found = list(each_method(methods, shared, tests, requests, explain, progress))
        model, probing = shared.model, shared.probing
        limits = allowed or (model.budget if model else None)
    chosen = against or _best_baseline(found)
    if chosen is None:
        notes.append("no method with a coefficient can serve as the baseline, so there are no differences to one")
    compared = _with_differences(found, chosen, tests)
    pairs = {
        frozenset((m.name, c.to)) for m in compared for c in (m.over_baseline, m.over_floor) if c and c.difference.p
    }
    notes += cautions(len(set(tests.groups)), len(pairs), resamples)
    return Comparison(
        data=data,
        splits=tuple(splits),
        methods=compared,
        baseline=chosen,
        baseline_chosen=against is None and chosen is not None,
        model=model.name if model else None,
        weights=model.weights if model else None,
        probing=probing,
        settings={
            "level": level,
            "folds": len({split.fold for split in splits}) if train is None else None,
            "train": plain_value(train),
            "test_documents": plain_value(test_documents),
            "repeats": repeats,
            "seed": seed,
            "against": against,
            "requests": requests,
            "budget": None if limits is None else str(limits),
            "resamples": resamples,
            "explain": plain_value(explain),
            "evaluators": {name: given_settings(factory) for name, factory in methods.items()},
        },
        data_sha256=data_sha256(data),
        versions=versions(),
        notes=tuple(notes),
    )


def each_method(
    methods: Mapping[str, Factory],
    shared: Shared,
    tests: HeldOut,
    requests: int | None,
    explain: bool,
    progress: Progress | None,
) -> Iterator[MethodResult]:
    """Every method on every split, one after the other; arguments as for ``trial``."""
    for place, (name, factory) in enumerate(methods.items(), 1):
        said = f"{name} ({place} of {len(methods)})" if len(methods) > 1 else name
        yield trial(name, factory, shared, tests, requests, explain, prefixed(progress, said))


def _best_baseline(found: Sequence[MethodResult]) -> str | None:
    others = [method for method in found if method.kind != OURS and method.agreement.mean is not None]
    return ranked(others)[0].name if others else None


def _with_differences(found: Sequence[MethodResult], baseline: str | None, tests: HeldOut) -> tuple[MethodResult, ...]:
    """The methods with their differences to the baseline and to the floor, all p-values corrected together."""
    pred = {method.name: [score for scores in method.scores for score in scores] for method in found}
    others = [name for name in dict.fromkeys((baseline, FLOOR)) if name is not None and name in pred]
    pairs = [(one, other) for one in pred for other in others if one != other]
    made = {(a, b): paired_difference(pred[a], pred[b], tests.human, **tests.arguments) for a, b in pairs}
    # A pair that is in the table both ways is one comparison.
    once = {frozenset(pair): difference.p for pair, difference in made.items()}
    corrected = dict(zip(once, holm(list(once.values())), strict=True))

    def compared(one: str, other: str | None) -> Compared | None:
        if other is None or (one, other) not in made:
            return None
        return Compared(other, made[one, other], corrected[frozenset((one, other))])

    return tuple(
        replace(m, over_baseline=compared(m.name, baseline), over_floor=compared(m.name, FLOOR)) for m in found
    )
