"""What the fits of several evaluators have in common: examples of one aspect, and questions asked in parallel."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TypeVar

from active_critic.data import for_aspect
from active_critic.data.examples import Examples, check_examples
from active_critic.errors import DataError
from active_critic.evaluators.base import Progress
from active_critic.lm import LanguageModel
from active_critic.lm.stopping import threads

_Job = TypeVar("_Job")
_Done = TypeVar("_Done")


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
