"""What the fits of several evaluators have in common: parameters checked first, and questions asked in parallel."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from active_critic.data import for_aspect
from active_critic.data.examples import Examples, check_examples
from active_critic.errors import DataError, FitError
from active_critic.evaluators.base import Progress
from active_critic.lm import LanguageModel
from active_critic.lm.stopping import threads
from active_critic.protocols import repeated_names
from active_critic.quoting import quote
from active_critic.records import Criterion

_Job = TypeVar("_Job")
_Done = TypeVar("_Done")


def check_task(description: object) -> None:
    """Whether a task description, where one is given, is a text that says anything.

    Raises:
        FitError: It is no text, or blank.
    """
    if description is not None and not isinstance(description, str):
        raise FitError(f"task_description must be a text, not {description!r}; leave it out if you have none")
    if description is not None and not description.strip():
        raise FitError("the task description is blank; write one, or leave it out to have it inferred")


def check_aspects(aspects: Sequence[str] | None) -> tuple[str, ...]:
    """The names of aspects that were given, empty for the overall score.

    Raises:
        FitError: They are no list of names, or one is blank or named twice.
    """
    if aspects is None:
        return ()
    if isinstance(aspects, str) or not aspects or not all(isinstance(a, str) and a.strip() for a in aspects):
        raise FitError(
            f"aspects must be a list of names, such as ['coherence'], not {aspects!r}; leave it out for the overall "
            "score"
        )
    if len({aspect.casefold() for aspect in aspects}) < len(aspects):
        raise FitError(f"aspects must differ in more than case, not {list(aspects)!r}")
    return tuple(aspects)


def of_aspect(data: Examples, aspect: str) -> Examples:
    """The examples with the scores of an aspect, checked as those of a fit are; what is to be told is in their notes.

    Raises:
        DataError: No example has it, or what has it cannot be fitted on; names the aspect.
    """
    part = for_aspect(data, aspect)
    try:
        warnings = check_examples(part)
    except DataError as problem:
        raise DataError(f"aspect {aspect!r}: {problem}") from None
    return replace(part, notes=(*part.notes, *warnings))


def given_criteria(criteria: Sequence[Criterion] | Mapping[str, str] | None) -> list[Criterion] | None:
    """The user's criteria, from records or from ``{name: definition}``.

    Raises:
        FitError: They are no list and no mapping, there are none, one is no criterion, a name or definition is blank
            or too long, or a name is repeated.
    """
    if criteria is None:
        return None
    if not isinstance(criteria, Sequence | Mapping):
        kind = type(criteria).__name__
        raise FitError(f"criteria are a list or a mapping, which can be read more than once, not one {kind}; list them")
    from pydantic import ValidationError

    try:
        if isinstance(criteria, Mapping):
            criteria = [Criterion(name=name, definition=definition) for name, definition in criteria.items()]
        # A program keeps them as mappings.
        criteria = [Criterion.model_validate(c) if isinstance(c, dict) else c for c in criteria]
    except ValidationError as problem:
        first = problem.errors()[0]
        raise FitError(f"a criterion is not usable: {'.'.join(map(str, first['loc']))}: {first['msg']}") from None
    if not criteria:
        raise FitError("the list of criteria is empty; give at least one, or leave it out to have them inferred")
    for criterion in criteria:
        if not isinstance(criterion, Criterion):
            raise FitError(f"{criterion!r} is no criterion; give Criterion(name=..., definition=...), or a mapping")
    if repeated := repeated_names(criteria):
        raise FitError(f"the criterion {repeated[0]!r} is given twice; names must differ in more than case")
    # A name stands in forms and demonstrations, where nothing may look like a mark of ours.
    return [criterion.model_copy(update={"name": quote(criterion.name)}) for criterion in criteria]


def in_parallel(
    lm: LanguageModel,
    ask: Callable[[_Job], _Done],
    jobs: Iterable[_Job],
    *,
    doing: str,
    progress: Progress | None = None,
) -> list[_Done]:
    """Do jobs in as many threads as the model has workers.

    Args:
        lm: The language model.
        ask: Does one job. What it raises ends the work: jobs that have not begun are left.
        jobs: What it is called with.
        doing: What is being done, for ``progress``.
        progress: See :data:`Progress`.

    Returns:
        The results in the order of the jobs, whatever comes first.
    """
    jobs = list(jobs)
    done: list[_Done] = []
    with threads(max(1, lm.workers)) as pool:
        for result in pool.map(ask, jobs):
            done.append(result)
            if progress is not None:
                progress(doing, len(done), len(jobs))
    return done
