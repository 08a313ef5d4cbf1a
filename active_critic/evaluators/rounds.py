"""Scoring a stream of texts: in windows, by source, by several workers, once or in several rounds."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Any

from active_critic.data.rows import BadRow
from active_critic.evaluators.judging import Judge, Run
from active_critic.lm import LanguageModel
from active_critic.lm.stopping import threads
from active_critic.protocols import Provenance
from active_critic.records import Example, Verdict

WINDOW = 256
"""Items read ahead, so that those with the same source can be scored one after the other."""
WITHIN_BUDGET = 16
"""Items of which, under a budget, all is asked before the next, so that nearly all that it pays for is in verdicts."""


def rounds(
    judge: Judge,
    items: Iterator[Example | BadRow],
    times: int,
    *,
    lm: LanguageModel | None,
    made: Provenance,
    remembering: Callable[[], AbstractContextManager[None]],
    explain: bool,
    progress: Callable[[str, int, int], None] | None,
) -> Iterator[tuple[Verdict, ...]]:
    """So many verdicts on each item, in the order of the items; all of it is one run.

    Args:
        judge: What scores.
        items: The texts.
        times: How often; each further time, the model answers anew.
        lm: The model that the judge asks, if it asks one.
        made: Where the program comes from: verdicts say where the model or the sources are unlike those of the fit.
        remembering: Keeps what is asked for the length of a ``with`` block; see ``Evaluator.remembering``.
        explain: Whether to explain, too.
        progress: See ``evaluators.base.Progress``.

    Raises:
        ModelError: As in ``Evaluator.score_many``.
    """
    run = Run(judge, explain, lm)
    other = "" if lm is None else made.unlike(lm.name, lm.weights)
    done = 0
    with threads(1 if lm is None else max(1, lm.workers)) as pool:
        while window := list(itertools.islice(items, WINDOW)):
            jobs = _jobs(window, run.questions, _at_once(lm, len(run.questions)))
            unlike = [made.unlike_source(bool(_source(entry).strip())) for entry in window]
            found: list[list[Verdict]] = []
            for repeat in range(times):
                answers: list[dict[str, Any]] = [{} for _ in window]
                anew = lm.repeating(repeat) if lm is not None and times > 1 else nullcontext()
                with remembering(), anew:
                    numbered = zip(jobs, run.numbers, strict=False)
                    each = [(question, window[i], answers[i], number) for (question, i), number in numbered]
                    asked = pool.map(lambda job: run.ask(*job), each)
                    for count, _ in enumerate(asked, start=1):
                        if progress is not None and count % len(run.questions) == 0:
                            progress("scoring", done + count // len(run.questions), 0)
                run.check()
                verdicts = (run.verdict(entry, came) for entry, came in zip(window, answers, strict=True))
                found.append([_noted(_noted(v, other), own) for v, own in zip(verdicts, unlike, strict=True)])
            done += len(window)
            yield from zip(*found, strict=True)


def _jobs(window: Sequence[Example | BadRow], questions: Sequence[str], at_once: int) -> list[tuple[str, int]]:
    """Each question about each item of a window, in the order in which they are asked."""
    order = sorted(range(len(window)), key=lambda i: (_source(window[i]), i))
    parts = [order[start : start + at_once] for start in range(0, len(order), at_once)]
    return [(question, index) for part in parts for question in questions for index in part]


def _at_once(lm: LanguageModel | None, questions: int) -> int:
    """Of how many items one question is asked before the next: of fewer, the sooner a budget may end."""
    if lm is None or not (budgets := lm.budgets):
        return WINDOW
    calls = min((budget.calls for budget in budgets if budget.calls is not None), default=None)
    return WITHIN_BUDGET if calls is None else max(1, min(WITHIN_BUDGET, calls // (4 * questions)))


def _noted(verdict: Verdict, note: str) -> Verdict:
    """The verdict with a note, where there is one to make and a score to make it of."""
    return replace(verdict, notes=(*verdict.notes, note)) if note and verdict.score is not None else verdict


def _source(entry: Example | BadRow) -> str:
    return "" if isinstance(entry, BadRow) else entry.source
