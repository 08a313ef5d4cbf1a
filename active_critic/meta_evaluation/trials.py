"""Fit and test a method on splits, whatever happens in one of them, and count what it needs by itself."""

from __future__ import annotations

import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from active_critic.data import group_of, read_examples
from active_critic.data.examples import Examples
from active_critic.errors import (
    ActiveCriticError,
    AuthenticationFailed,
    BillingStopped,
    DataError,
    EndpointDown,
    FitError,
    JournalError,
    RateLimited,
    UnknownModel,
)
from active_critic.evaluators.base import JournalPath, Progress
from active_critic.evaluators.parameters import check_journal, check_whole
from active_critic.journal import Journal
from active_critic.lm import Budget, LanguageModel, open_lm
from active_critic.lm.client import Memory
from active_critic.lm.metering import ForNow, Meter
from active_critic.lm.spending import Amounts, as_budget, spending
from active_critic.meta_evaluation.comparison import Failure, MethodResult
from active_critic.meta_evaluation.methods import Factory, needs_model
from active_critic.meta_evaluation.splits import Split
from active_critic.paths import default_journal
from active_critic.records import Usage, Verdict
from active_critic.stats import agreement
from active_critic.stats.accuracy import mae

FOR_ALL = (AuthenticationFailed, BillingStopped, EndpointDown, RateLimited, UnknownModel)
"""Failures that would come to every method that needs the model."""
GIVE_UP_AFTER = 2
"""Splits in a row that such failures end, whichever methods they are of, after which all of it stops."""


def limits_of(requests: int | None, budget: Amounts | None) -> tuple[int | None, Budget | None]:
    """How many different requests may be made, and what may be spent, as they are given.

    Raises:
        DataError: What may be spent cannot be read.
        FitError: The requests are no whole number, or below 1.
    """
    most = None if requests is None else check_whole("requests", requests, 1)
    return most, None if budget is None else as_budget(budget)


class Shared:
    """The one language model and the one memory of all methods, opened when a method first needs them.

    Args:
        lm: The language model, or whatever :func:`active_critic.lm.open_lm` takes.
        journal: Where replies are kept, unless the model has its memory already: a path, ``"default"``, or None.
        budget: Different requests that all methods together may make at most; None: no limit.
        allowed: What may be spent on the model in all, from when it is opened; None: what its own budget allows.

    Raises:
        FitError: Replies cannot be kept there.

    Attributes:
        model: The model, once a method has needed it.
        probing: What it cost to find out what the model can do.
        worked: Whether a method that needs the model has got through a split.
        failed: Splits in a row in which one failed as all would.
    """

    def __init__(
        self, lm: Any, journal: JournalPath, *, budget: int | None = None, allowed: Budget | None = None
    ) -> None:
        check_journal(journal)
        self.lm = lm
        self.model: LanguageModel | None = None
        self.probing = Usage()
        self.worked = False
        self.failed = 0
        self._journal_path = journal
        self._budget = budget
        self._allowed = allowed
        self._spending = ExitStack()
        self._journal: Journal | None = None
        self._memory: Memory | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._spending.close()
        if self._journal is not None:
            self._journal.close()
        if self.model is not None and self.model is not self.lm:
            self.model.close()

    @contextmanager
    def metered(self, *, needed: bool, budget: int | None) -> Iterator[tuple[Any, Meter]]:
        """The model, remembering through a new meter; as it was given, unopened, where it is not needed.

        Args:
            needed: Whether the model is.
            budget: Different requests that this work may make at most.
        """
        if not needed:
            yield self.lm, Meter(ForNow())
            return
        model, memory = self.opened()
        meter = Meter(memory, budget=budget)
        with model.remembering(meter):
            yield model, meter

    def count(self, name: str, problem: Exception | None) -> None:
        """Take note of how a method that needs the model has got through a split: what went wrong, if anything did.

        Raises:
            ModelError: That, where other splits and methods would find the same.
        """
        self.worked |= problem is None
        self.failed = self.failed + 1 if isinstance(problem, FOR_ALL) else 0
        if not isinstance(problem, FOR_ALL) or (self.worked and self.failed < GIVE_UP_AFTER):
            return
        if self.worked:
            check = self.model.check_command if self.model else "active-critic lm check"
            problem.add_note(
                f"Stopped after {self.failed} splits in a row that ended like this, the last of {name}. The same "
                f"command goes on, and pays for nothing that the journal holds. Before you run it, try: {check}; "
                f"where that works, leave {name} out"
            )
        raise problem

    def opened(self) -> tuple[LanguageModel, Memory]:
        """The model and the memory, opened, and the model asked what it can do, where that was not done yet."""
        if self.model is None or self._memory is None:
            self.model = open_lm(self.lm)
            self._spending.enter_context(spending(self.model, self._allowed))
            self._memory = self.model.own_memory
            path = default_journal() if self._journal_path == "default" else self._journal_path
            if self._memory is None and path is not None:
                self._memory = self._journal = Journal(path)
            if self._memory is None:
                self._memory = ForNow()
            meter = Meter(self._memory)
            with self.model.remembering(meter):
                _ = self.model.capabilities  # asked here, so that it is no single method's cost
            self.probing = meter.lap()
            if self._budget is not None:
                self._memory = Meter(self._memory, budget=self._budget)
        return self.model, self._memory


@dataclass(frozen=True)
class HeldOut:
    """All tests of all splits in one row: what predictions are compared with.

    Attributes:
        data: The examples.
        splits: What is fitted on and tested on.
        human: People's scores of all tests.
        groups: Their documents.
        systems: Their systems.
        parts: The number of the split that each is in.
        how: ``level``, ``resamples`` and ``seed`` of the statistics.
    """

    data: Examples
    splits: Sequence[Split]
    human: list[float]
    groups: list[str]
    systems: list[str | None]
    parts: list[int]
    how: Mapping[str, Any]

    @classmethod
    def of(cls, data: Examples, splits: Sequence[Split], how: Mapping[str, Any]) -> Self:
        """The tests of these splits."""
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
        """What the statistics take besides predictions and human scores."""
        return {"groups": self.groups, "systems": self.systems, "parts": self.parts, **self.how}


@dataclass
class _Found:
    """What a method has given so far."""

    scores: list[tuple[float | None, ...]] = field(default_factory=list)
    unscored: dict[tuple[int, int], str] = field(default_factory=dict)
    failures: list[Failure] = field(default_factory=list)
    signatures: list[str | None] = field(default_factory=list)
    kind: str | None = None
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
        self.kind = protocol.evaluator
        self.parameters = self.parameters or dict(protocol.provenance.settings)
        self.notes |= dict.fromkeys(note for note in protocol.provenance.notes if note not in known)


def trial(
    name: str,
    factory: Factory,
    shared: Shared,
    tests: HeldOut,
    budget: int | None,
    explain: bool,
    progress: Progress | None,
) -> MethodResult:
    """Fit and test one method on every split; what goes wrong in one is kept as the reason.

    Args:
        name: The method's name.
        factory: What makes its evaluators, a new one for every split.
        shared: Model and memory.
        tests: Splits, and how to compare.
        budget: Different requests that it may make at most.
        explain: Also have scores explained.
        progress: See ``evaluators.base.Progress``.

    Raises:
        ModelError: The model cannot be used at all: it has not worked before, or not in two splits in a row.
        JournalError: The journal cannot be read or written.
    """
    found = _Found()
    needed = needs_model(factory)
    with shared.metered(needed=needed, budget=budget) as (model, meter):
        for number, split in enumerate(tests.splits):
            said = prefixed(progress, f"split {number + 1} of {len(tests.splits)}")
            train = tests.data.take(split.train)
            # Whoever scores must not see what people said.
            hidden = [replace(tests.data[i], score=None, aspects={}, record={}, comment=None) for i in split.test]
            found.signatures.append(None)
            stage = "fit"
            try:
                evaluator = factory(model)
                evaluator.fit(train, progress=said)
                meter.check()
                found.fit = found.fit + meter.lap()
                found.learn(evaluator.fitted, evaluator.signature, read_examples(train).notes)
                stage = "scoring"
                verdicts = list(evaluator.score_many(hidden, explain=explain, progress=said))
                meter.check()
                if len(verdicts) != len(hidden):
                    raise FitError(f"it gave {len(verdicts)} verdicts for {len(hidden)} examples")
            except JournalError:  # what is paid for from here on would be lost
                raise
            except Exception as problem:  # whatever it is: hours of other methods' work must not be lost with this one
                if needed:
                    shared.count(name, problem)
                reason = _reason(problem)
                found.failures.append(Failure(number, stage, type(problem).__name__, reason))
                verdicts = [Verdict(unscored=f"{stage}: {reason}") for _ in hidden]
            else:
                if needed:
                    shared.count(name, None)
            if stage == "fit":
                found.fit = found.fit + meter.lap()
            else:
                found.scoring = found.scoring + meter.lap()
            found.take(number, verdicts)
    return _figures(name, found, tests)


def _reason(problem: Exception) -> str:
    """What went wrong; of an error that nobody raised on purpose also what it is and where."""
    if isinstance(problem, DataError):
        return problem.by_name
    if isinstance(problem, ActiveCriticError):
        return str(problem)
    where = traceback.extract_tb(problem.__traceback__)[-1]
    return f"{type(problem).__name__}: {problem} ({Path(where.filename).name}, line {where.lineno})"


def _figures(name: str, found: _Found, tests: HeldOut) -> MethodResult:
    pred = [score for scores in found.scores for score in scores]
    figures = agreement(pred, tests.human, **tests.arguments)
    return MethodResult(
        name=name,
        kind=found.kind,
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


def _why_undefined(found: _Found, tests: HeldOut) -> str:
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


def prefixed(progress: Progress | None, said: str) -> Progress | None:
    """The same progress, with what it is part of said first."""
    if progress is None:
        return None
    return lambda what, done, total: progress(f"{said}: {what}", done, total)
