"""Compare evaluators against people: the same examples, splits and language model for all, and what each one needs."""

from __future__ import annotations

import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from active_critic.accuracy import mae
from active_critic.comparison import FLOOR, OURS, Compared, Comparison, Failure, MethodResult, check_names, ranked
from active_critic.data import data_sha256, group_of, read_examples
from active_critic.errors import (
    ActiveCriticError,
    AuthenticationFailed,
    BillingStopped,
    EndpointDown,
    FitError,
    JournalError,
    UnknownModel,
)
from active_critic.evaluators.base import JournalPath, Progress, versions
from active_critic.examples import Examples
from active_critic.journal import Journal, default_path
from active_critic.lm import LanguageModel, open_lm
from active_critic.lm.client import Memory
from active_critic.metering import ForNow, Meter
from active_critic.methods import EVALUATOR_NAMES as EVALUATOR_NAMES
from active_critic.methods import Factory, given_settings, needs_model, resolve
from active_critic.records import Scale, Usage, Verdict
from active_critic.splits import Split, plan
from active_critic.stats import Level, agreement, holm, paired_difference

FOR_ALL = (AuthenticationFailed, BillingStopped, EndpointDown, UnknownModel)
"""Failures that would come to every method that needs the model."""


def compare(
    examples: Any,
    evaluators: Sequence[str] | Mapping[str, Factory],
    lm: Any = "local",
    *,
    fields: Mapping[str, str] | None = None,
    scale: Scale | str | None = None,
    settings: Mapping[str, Mapping[str, Any]] | None = None,
    folds: int | None = None,
    train: float | None = None,
    test_documents: int | None = None,
    repeats: int = 1,
    seed: int = 0,
    level: Level = "dataset",
    against: str | None = None,
    budget: int | None = None,
    resamples: int = 1000,
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
        budget: Different requests that each method may make at most, fits and scoring together; None: no limit.
        resamples: Of the intervals and the permutation tests.
        journal: Where replies are kept, unless the model has its memory already: a path, ``"default"``, or None.
        explain: Also have scores explained, where a method does that; the scores are the same, and cost more.
        progress: See ``evaluators.base.Progress``.

    Raises:
        DataError: The examples cannot be used, or not at this level.
        FitError: An evaluator, a setting or another argument that is not there or cannot be.
        ModelError: The model cannot be used at all, so that every method would fail.
        JournalError: The journal cannot be read or written; what it holds is not asked again.
    """
    methods = resolve(evaluators, settings, seed=seed)
    check_names([*methods])
    if against is not None and against not in methods:
        raise FitError(f"against must be one of the methods compared ({', '.join(methods)}), not {against!r}")
    if budget is not None and budget < 1:
        raise FitError(f"the budget is a number of calls, at least 1, not {budget}")
    for what, number in (("the seed", seed), ("the number of resamples", resamples)):
        if number < 0:  # else it is found when all is paid for
            raise FitError(f"{what} must be at least 0, not {number}")
    data = read_examples(examples, fields=fields, scale=scale)
    if isinstance(examples, Examples):  # where they came from has been said
        data = replace(data, path=examples.path, notes=examples.notes or data.notes)
    splits, notes = plan(
        data, folds=folds, train=train, repeats=repeats, seed=seed, level=level, test_documents=test_documents
    )
    notes = list(dict.fromkeys([*data.notes, *notes]))
    tests = _Tests.of(data, splits, {"level": level, "resamples": resamples, "seed": seed})
    with _Shared(lm, journal) as shared:
        found: list[MethodResult] = []
        for place, (name, factory) in enumerate(methods.items(), 1):
            said = f"{name} ({place} of {len(methods)})" if len(methods) > 1 else name
            found.append(_run(name, factory, shared, tests, budget, explain, _prefixed(progress, said)))
        model, probing = shared.model, shared.probing
    chosen = against or _best_baseline(found)
    if chosen is None:
        notes.append("no method with a coefficient can serve as the baseline, so there are no differences to one")
    return Comparison(
        data=data,
        splits=tuple(splits),
        methods=_with_differences(found, chosen, tests),
        baseline=chosen,
        baseline_chosen=against is None and chosen is not None,
        model=model.name if model else None,
        weights=model.weights if model else None,
        probing=probing,
        settings={
            "level": level,
            "folds": len({split.fold for split in splits}) if train is None else None,
            "train": train,
            "test_documents": test_documents,
            "repeats": repeats,
            "seed": seed,
            "against": against,
            "budget": budget,
            "resamples": resamples,
            "explain": explain,
            "evaluators": {name: given_settings(factory) for name, factory in methods.items()},
        },
        data_sha256=data_sha256(data),
        versions=versions(),
        notes=tuple(notes),
    )


class _Shared:
    """The one language model and the one memory of all methods, opened when a method first needs them."""

    def __init__(self, lm: Any, journal: JournalPath) -> None:
        self.lm = lm
        self.model: LanguageModel | None = None
        self.probing = Usage()
        self.worked = False
        self._journal_path = journal
        self._journal: Journal | None = None
        self._memory: Memory | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._journal is not None:
            self._journal.close()
        if self.model is not None and self.model is not self.lm:
            self.model.close()

    @contextmanager
    def metered(self, *, needed: bool, budget: int | None) -> Iterator[tuple[Any, Meter]]:
        """The model, remembering through a new meter; as it was given, unopened, where it is not needed."""
        if not needed:
            yield self.lm, Meter(ForNow())
            return
        model, memory = self._opened()
        meter = Meter(memory, budget=budget)
        with model.remembering(meter):
            yield model, meter

    def _opened(self) -> tuple[LanguageModel, Memory]:
        if self.model is None or self._memory is None:
            self.model = open_lm(self.lm)
            self._memory = self.model.memory
            if self._memory is None and self._journal_path is not None:
                path = default_path() if self._journal_path == "default" else self._journal_path
                self._memory = self._journal = Journal(path)
            if self._memory is None:
                self._memory = ForNow()
            meter = Meter(self._memory)
            with self.model.remembering(meter):
                _ = self.model.capabilities  # asked here, so that it is no single method's cost
            self.probing = meter.lap()
        return self.model, self._memory


@dataclass(frozen=True)
class _Tests:
    """All tests of all splits in one row: what predictions are compared with."""

    data: Examples
    splits: Sequence[Split]
    human: list[float]
    groups: list[str]
    systems: list[str | None]
    parts: list[int]
    how: Mapping[str, Any]

    @classmethod
    def of(cls, data: Examples, splits: Sequence[Split], how: Mapping[str, Any]) -> Self:
        where = [(number, data[index]) for number, split in enumerate(splits) for index in split.test]
        return cls(
            data,
            splits,
            [float(example.score) for _, example in where if example.score is not None],
            [group_of(example) for _, example in where],
            [example.system for _, example in where],
            [number for number, _ in where],
            how,
        )

    @property
    def arguments(self) -> dict[str, Any]:
        return {"groups": self.groups, "systems": self.systems, "parts": self.parts, **self.how}


@dataclass
class _Found:
    """What a method has given so far."""

    scores: list[tuple[float | None, ...]] = field(default_factory=list)
    unscored: dict[tuple[int, int], str] = field(default_factory=dict)
    failures: list[Failure] = field(default_factory=list)
    signatures: list[str | None] = field(default_factory=list)
    parameters: dict[str, Any] = field(default_factory=dict)
    notes: dict[str, None] = field(default_factory=dict)
    fit: Usage = Usage()
    scoring: Usage = Usage()

    def take(self, number: int, verdicts: Sequence[Verdict]) -> None:
        self.scores.append(tuple(verdict.score for verdict in verdicts))
        for place, verdict in enumerate(verdicts):
            if verdict.unscored is not None:
                self.unscored[number, place] = verdict.unscored

    def learn(self, protocol: Any, signature: str, known: Sequence[str]) -> None:
        """Keep what a fitted program says of itself."""
        self.signatures[-1] = signature
        self.parameters = self.parameters or dict(protocol.provenance.settings)
        self.notes |= dict.fromkeys(note for note in protocol.provenance.notes if note not in known)


def _run(
    name: str,
    factory: Factory,
    shared: _Shared,
    tests: _Tests,
    budget: int | None,
    explain: bool,
    progress: Progress | None,
) -> MethodResult:
    """Fit and test one method on every split; what goes wrong in one is kept as the reason."""
    found = _Found()
    needed = needs_model(factory)
    with shared.metered(needed=needed, budget=budget) as (model, meter):
        for number, split in enumerate(tests.splits):
            said = _prefixed(progress, f"split {number + 1} of {len(tests.splits)}")
            train = tests.data.take(split.train)
            # Whoever scores must not see what people said.
            hidden = [replace(tests.data[i], score=None, aspects={}, record={}) for i in split.test]
            found.signatures.append(None)
            stage = "fit"
            try:
                evaluator = factory(model)
                evaluator.fit(train, progress=said)
                found.fit = found.fit + meter.lap()
                found.learn(evaluator.fitted, evaluator.signature, read_examples(train).notes)
                stage = "scoring"
                verdicts = list(evaluator.score_many(hidden, explain=explain, progress=said))
                if len(verdicts) != len(hidden):
                    raise FitError(f"it gave {len(verdicts)} verdicts for {len(hidden)} examples")
            except JournalError:  # what is paid for from here on would be lost
                raise
            except Exception as problem:  # whatever it is: hours of other methods' work must not be lost with this one
                if needed and not shared.worked and isinstance(problem, FOR_ALL):
                    raise  # the other methods would find the same
                reason = _reason(problem)
                found.failures.append(Failure(number, stage, type(problem).__name__, reason))
                verdicts = [Verdict(unscored=f"{stage}: {reason}") for _ in hidden]
            else:
                shared.worked |= needed
            if stage == "fit":
                found.fit = found.fit + meter.lap()
            else:
                found.scoring = found.scoring + meter.lap()
            found.take(number, verdicts)
    return _figures(name, found, tests)


def _reason(problem: Exception) -> str:
    """What went wrong; of an error that nobody raised on purpose also what it is and where."""
    if isinstance(problem, ActiveCriticError):
        return str(problem)
    where = traceback.extract_tb(problem.__traceback__)[-1]
    return f"{type(problem).__name__}: {problem} ({Path(where.filename).name}, line {where.lineno})"


def _figures(name: str, found: _Found, tests: _Tests) -> MethodResult:
    pred = [score for scores in found.scores for score in scores]
    figures = agreement(pred, tests.human, **tests.arguments)
    return MethodResult(
        name=name,
        parameters=found.parameters,
        signatures=tuple(found.signatures),
        scores=tuple(found.scores),
        unscored=found.unscored,
        agreement=figures,
        undefined=_why_undefined(found, tests) if figures.mean is None else None,
        mae=mae(pred, tests.human),
        fit=found.fit,
        scoring=found.scoring,
        failures=tuple(found.failures),
        notes=tuple(found.notes),
    )


def _why_undefined(found: _Found, tests: _Tests) -> str:
    """Why there is no coefficient in any split."""
    if len(found.failures) == len(tests.splits):
        return found.failures[0].reason
    given = [[score for score in scores if score is not None] for scores in found.scores]
    if not any(given):
        return f"no example was scored: {next(iter(found.unscored.values()), 'no reason was given')}"
    if all(len(scores) < 2 for scores in given):
        return "no split has two scored examples"
    if all(len(set(scores)) < 2 for scores in given):
        return "all predictions within a split are equal, and a constant agrees with nobody"
    what = {"dataset": "among the scored examples", "document": "within a document", "system": "between systems' means"}
    return f"in no split do predictions and human scores both vary {what[tests.how['level']]}"


def _best_baseline(found: Sequence[MethodResult]) -> str | None:
    others = [method for method in found if not method.name.startswith(OURS) and method.agreement.mean is not None]
    return ranked(others)[0].name if others else None


def _with_differences(found: Sequence[MethodResult], baseline: str | None, tests: _Tests) -> tuple[MethodResult, ...]:
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


def _prefixed(progress: Progress | None, said: str) -> Progress | None:
    if progress is None:
        return None
    return lambda what, done, total: progress(f"{said}: {what}", done, total)
