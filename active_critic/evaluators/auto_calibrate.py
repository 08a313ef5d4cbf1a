"""AutoCalibrate: scoring criteria that the model drafts from scored examples, ranks on them, and refines.

"Calibrating LLM-Based Evaluator" (Liu et al. 2023), section 2, Algorithm 1 and Table 9.
"""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import Any

from active_critic.batches import batches
from active_critic.bounds import TRIED, WHOLE
from active_critic.data.examples import Examples
from active_critic.errors import FitError
from active_critic.evaluators._auto_calibrate_judge import AutoCalibrateJudge, AutoCalibrateProtocol, CriteriaCandidate
from active_critic.evaluators._auto_calibrate_search import CriteriaSearch, Plan
from active_critic.evaluators._fitting import of_aspect
from active_critic.evaluators.base import Evaluator, JournalPath, Progress, default_reading, scale_of
from active_critic.evaluators.judging import OVERALL, Judge
from active_critic.evaluators.parameters import check_aspects, check_task, check_whole
from active_critic.inference import MAX_BATCHES, infer
from active_critic.lm import LanguageModel

__all__ = ["AutoCalibrate", "AutoCalibrateJudge", "AutoCalibrateProtocol", "CriteriaCandidate"]

SHOTS, TRIALS, SAMPLES = (4, 6, 8, 10, 12), 4, 3
"""Examples in a draft's prompt, Monte-Carlo trials of each size, replies to each prompt (Table 9, summarisation)."""
REFINE_SHOTS, REFINE_TRIALS, REFINE_SAMPLES = (1, 2, 4), 4, 2
"""The same for refinements, of every draft that is kept (Table 9)."""
KEEP = 3
"""Drafts that are refined (K in Algorithm 1); the paper does not say how many it kept."""


class AutoCalibrate(Evaluator):
    """The evaluator of "Calibrating LLM-Based Evaluator".

    Args:
        lm: The language model, or whatever :func:`active_critic.lm.open_lm` takes.
        task_description: Your own; None: inferred from the examples, as by ``ActiveCritic``.
        aspects: Aspects with human scores of their own in the data; each gets calibrated criteria, and the score is
            their mean. None: one text of criteria for the overall score.
        shots: Examples that drafts are written from; sizes above the number of examples become that number.
        trials: Monte-Carlo draws of examples of each size.
        samples: Replies to each of these prompts, at temperature 1.
        keep: Best drafts that are refined.
        refine_shots: Misaligned examples that refinements are written from.
        refine_trials: Draws of each size, for each draft that is kept; 0: no refinement (the paper's ablation).
        refine_samples: Replies to each of these prompts.
        budget: The most calls that ``fit`` may plan; the numbers of drafts and of refinements are scaled down in
            proportion, at least one draft is left, and a note says from what to what. With n examples, a candidate
            costs 1 + n calls (summed over the aspects), and inferring the task description one more than the
            mini-batches it reads; the budget buys ``(budget - inference) // cost`` candidates. Not counted: finding
            out what an endpoint can do (at most seven calls), and asking again after a failed or unreadable reply.
        max_batches: Mini-batches of five examples read at most to infer the task description.
        seed: Of batches and of every draw of examples.
        journal: Where replies are kept; see ``Evaluator``.

    Attributes:
        protocol_: The program.
        candidates_: Every text of criteria that was tried, with its origin and correlation, best first.
    """

    kind = "auto-calibrate"
    document = AutoCalibrateProtocol

    def __init__(
        self,
        lm: LanguageModel | str | Any = "local",
        *,
        task_description: str | None = None,
        aspects: Sequence[str] | None = None,
        shots: Sequence[int] = SHOTS,
        trials: int = TRIALS,
        samples: int = SAMPLES,
        keep: int = KEEP,
        refine_shots: Sequence[int] = REFINE_SHOTS,
        refine_trials: int = REFINE_TRIALS,
        refine_samples: int = REFINE_SAMPLES,
        budget: int | None = None,
        max_batches: int = MAX_BATCHES,
        seed: int = 0,
        journal: JournalPath = "default",
    ) -> None:
        super().__init__(lm, journal=journal)
        self.task_description = task_description
        self.aspects = aspects
        self.shots = shots
        self.trials = trials
        self.samples = samples
        self.keep = keep
        self.refine_shots = refine_shots
        self.refine_trials = refine_trials
        self.refine_samples = refine_samples
        self.budget = budget
        self.max_batches = max_batches
        self.seed = seed

    @property
    def candidates_(self) -> tuple[CriteriaCandidate, ...]:
        """Every text of criteria that was tried, by question, best first; of a loaded program, too."""
        program: AutoCalibrateProtocol | None = self.protocol_
        return () if program is None else program.candidates

    def learn(self, data: Examples, notes: list[str], progress: Progress | None) -> AutoCalibrateProtocol:
        """Draft criteria, rank them on the examples, refine and keep the best. See :meth:`Evaluator.learn`."""
        aspects = check_aspects(self.aspects)
        user_scale = scale_of(data)
        parts: dict[str, Examples] = {OVERALL: data}
        if aspects:
            parts = {aspect: of_aspect(data, aspect) for aspect in aspects}
            notes += [note for part in parts.values() for note in part.notes]
        asked = self._asked_for(data)
        sizes = [len(part) for part in parts.values()]
        plan = asked.within(self.budget, sizes)
        if plan.drafts + plan.refinements > TRIED:
            raise FitError(
                f"{plan.drafts:,} drafts and {plan.refinements:,} refinements would be tried for each aspect, and "
                f"{TRIED:,} of both at most are; lower trials, samples or keep, or give a budget"
            )
        notes += _scaled(asked.within(None, sizes), plan, self.budget)
        largest = max(self.shots)
        if largest > max(plan.shots):
            notes.append(
                f"drafts were written from at most {max(plan.shots)} examples, not {largest}: there are no more"
            )
        model = self.model
        inferred = infer(
            data,
            model,
            scale=user_scale,
            seed=self.seed,
            task_description=self.task_description,
            criteria=[],  # AutoCalibrate finds its own: nothing is asked for them
            max_batches=self.max_batches,
            progress=progress,
        )
        notes += inferred.remarks
        # The score comes first and the reason after it, as in the paper's evaluation prompts (Appendix D.2).
        reading = default_reading(model, "rating_first")
        criteria: dict[str, str] = {}
        candidates: list[CriteriaCandidate] = []
        for question, part in parts.items():
            search = CriteriaSearch(
                model,
                inferred.task_description,
                question if aspects else None,
                part,
                scale_of(part),
                reading,
                plan,
                seed=self.seed,
                progress=progress,
            )
            found = search.run()
            criteria[question] = found[0].text
            candidates += found
            notes += search.notes
        return AutoCalibrateProtocol(
            scale=user_scale,
            task_description=inferred.task_description,
            aspects=aspects,
            criteria=criteria,
            reading=reading,
            candidates=tuple(candidates),
            provenance=self.provenance(data, notes),
        )

    def _asked_for(self, data: Examples) -> Plan:
        read = 0 if self.task_description is not None else 1 + min(self.max_batches, len(batches(data, self.seed)))
        return Plan(
            shots=tuple(map(int, self.shots)),
            trials=self.trials,
            samples=self.samples,
            keep=self.keep,
            refine_shots=tuple(map(int, self.refine_shots)),
            refine_trials=self.refine_trials,
            refine_samples=self.refine_samples,
            fixed=read,
        )

    def check(self) -> None:
        """Parameters that cannot be right. See :meth:`Evaluator.check`."""
        check_task(self.task_description)
        for name, least in _LEAST.items():
            check_whole(name, getattr(self, name), least, TRIED)
        check_whole("max_batches", self.max_batches, 1)
        if self.budget is not None:
            check_whole("budget", self.budget, 1)
        for name in ("shots", "refine_shots"):
            sizes = getattr(self, name)
            listed = isinstance(sizes, Sequence) and not isinstance(sizes, str)
            if not listed or not sizes or not all(isinstance(n, Integral) and 0 < int(n) <= WHOLE for n in sizes):
                raise FitError(f"{name} must be a list of numbers of examples from 1 on, such as [4, 8], not {sizes!r}")
        check_aspects(self.aspects)

    def judge(self) -> Judge:
        """What rates by the program; see :class:`Evaluator`."""
        return AutoCalibrateJudge(self.fitted, self.model)


_LEAST = {"trials": 1, "samples": 1, "keep": 1, "refine_trials": 0, "refine_samples": 1}
"""The smallest values that make sense, of numbers of candidates."""


def _scaled(full: Plan, plan: Plan, budget: int | None) -> list[str]:
    if (full.drafts, full.refinements) == (plan.drafts, plan.refinements):
        return []
    said = (
        f"the budget of {budget:,} calls scaled the drafts down from {full.drafts} to {plan.drafts} and the "
        f"refinements from {full.refinements} to {plan.refinements} (for each aspect): {plan.calls:,} calls are "
        f"planned at most instead of {full.calls:,}"
    )
    return [said]
