"""AutoCalibrate's Algorithm 1 for one question: draft, revisit, refine, and rank by agreement with people."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from active_critic import stats
from active_critic.asking import PER_ITEM, why_unscored
from active_critic.batches import SHORTENED
from active_critic.data.examples import Examples, example_key, human_score
from active_critic.demo_search import MIN_COVERAGE, covers
from active_critic.errors import FitError, ModelError, UnreadableReply
from active_critic.evaluators._auto_calibrate_judge import CriteriaCandidate, rate, rating_turns
from active_critic.evaluators._auto_calibrate_writing import Shown, Writer, same_text
from active_critic.evaluators._fitting import in_parallel
from active_critic.evaluators.base import Progress
from active_critic.evaluators.judging import OVERALL
from active_critic.lm import LanguageModel
from active_critic.lm.client import Turn
from active_critic.protocols import Reading
from active_critic.records import Scale


@dataclass(frozen=True, slots=True)
class Plan:
    """How many criteria are written for each question.

    Attributes:
        shots: Few-shot sizes of drafts (L in Algorithm 1).
        trials: Monte-Carlo trials for each of them (N).
        samples: Replies to each prompt.
        keep: Drafts that are refined (K).
        refine_shots, refine_trials, refine_samples: The same for refinements, for each draft that is kept.
        drafts, refinements: How many of all these are written.
        fixed: Calls that the fit makes at most before.
        calls: Calls that the fit makes at most; retries of failed and unreadable replies come on top.
    """

    shots: tuple[int, ...]
    trials: int
    samples: int
    keep: int
    refine_shots: tuple[int, ...]
    refine_trials: int
    refine_samples: int
    drafts: int = 0
    refinements: int = 0
    fixed: int = 0
    calls: int = 0

    def within(self, budget: int | None, sizes: Sequence[int]) -> Plan:
        """The plan for training sets of these sizes, one a question, scaled down to a budget.

        A candidate costs one call to write it and one for every training example, so that all questions together pay
        ``cost = sum(1 + n)`` a candidate. Without a budget there are ``D = |L| * N * samples`` drafts and
        ``R = min(K, D) * |L'| * N' * samples'`` refinements a question, and ``fixed + (D + R) * cost`` calls. With
        one there are at most ``units = (budget - fixed) // cost`` candidates a question, of which
        ``max(1, units * D // (D + R))`` are drafts and the others refinements.

        Args:
            budget: The most calls, or None.
            sizes: Training examples of each question.

        Raises:
            FitError: The budget does not pay for one draft.
        """
        shots = tuple(dict.fromkeys(min(size, *sizes) for size in self.shots))
        per_parent = len(self.refine_shots) * self.refine_trials * self.refine_samples
        drafts = len(shots) * self.trials * self.samples
        refinements = min(self.keep, drafts) * per_parent
        cost = sum(1 + size for size in sizes)
        if budget is not None and self.fixed + (drafts + refinements) * cost > budget:
            units = (budget - self.fixed) // cost
            if units < 1:
                raise FitError(
                    f"budget={budget} is too small: the task description takes up to {self.fixed} calls, and one "
                    f"draft with its ratings {cost}; raise it to at least {self.fixed + cost}, or leave it out"
                )
            drafts = max(1, units * drafts // (drafts + refinements))
            refinements = min(units - drafts, min(self.keep, drafts) * per_parent)
        calls = self.fixed + (drafts + refinements) * cost
        return replace(self, shots=shots, drafts=drafts, refinements=refinements, calls=calls)


@dataclass(slots=True)
class _Tried:
    """A candidate with the rating of every training example, in percent, None where there is none."""

    candidate: CriteriaCandidate
    ratings: list[float | None]

    @property
    def rank(self) -> tuple[bool, float, int]:
        """Higher is better."""
        found = self.candidate.correlation
        return found is not None, found or 0.0, self.candidate.scored


@dataclass(frozen=True, slots=True)
class _Draw:
    """A prompt for criteria, and what is said about the candidate that comes of it."""

    turns: list[Turn]
    shots: int
    trial: int
    sample: int
    parent: int | None


def _same_prompt_together(draw: _Draw) -> tuple[int, int, int, int]:
    """Where a draw comes: what shares the beginning of its prompt comes one after the other."""
    return (-1 if draw.parent is None else draw.parent, draw.trial, draw.shots, draw.sample)


class CriteriaSearch:
    """Finds the criteria for one question.

    Args:
        lm: The language model.
        task: The task description.
        aspect: What is rated; None for the whole.
        examples: Scored examples of that question; their order does not matter.
        scale: The scale of their scores.
        reading: How ratings are asked for and read.
        plan: How many criteria are written.
        seed: Of the draws.
        progress: See :data:`Progress`.

    Attributes:
        notes: What the user should be told.
    """

    def __init__(
        self,
        lm: LanguageModel,
        task: str,
        aspect: str | None,
        examples: Examples,
        scale: Scale,
        reading: Reading,
        plan: Plan,
        *,
        seed: int,
        progress: Progress | None,
    ) -> None:
        self.lm = lm
        self.task = task
        self.aspect = aspect
        self.question = aspect or OVERALL
        self.reading = reading
        self.plan = plan
        self.seed = seed
        self.notes: list[str] = []
        self.examples = sorted(examples, key=lambda e: (e.source, e.response, human_score(e)))
        self.human = [human_score(example) for example in self.examples]
        self.writer = Writer(lm, task, aspect, reading, scale)
        self._progress = progress
        self._seen: set[str] = set()
        self._numbers = itertools.count()
        self._why_unscored = ""

    def run(self) -> list[CriteriaCandidate]:
        """Every candidate, best first (Algorithm 1).

        Raises:
            FitError: No draft can be read, or the best candidate leaves more than a tenth of the examples unscored.
            ModelError: The endpoint cannot be used.
        """
        drafts = self._try(self._drafts(), "draft")
        drafts.sort(key=lambda tried: tried.rank, reverse=True)  # stable: ties go to the earlier
        kept = [tried for tried in drafts[: self.plan.keep] if tried.candidate.correlation is not None]
        refined = self._try(self._refinements(kept), "refined")
        found = [tried.candidate for tried in sorted([*drafts, *refined], key=lambda tried: tried.rank, reverse=True)]
        best = found[0]
        where = f" for {self.aspect!r}" if self.aspect is not None else ""
        if not covers(best.scored, len(self.examples)):
            raise FitError(
                f"no criteria{where} let {self.lm.name} score {MIN_COVERAGE:.0%} of the examples; the best scored "
                f"{best.scored} of {len(self.examples)}. One reason: {self._why_unscored}"
            )
        if best.correlation is None:
            self.notes.append(
                f"the scores by every candidate{where} are all the same: none agrees with people, and the first is kept"
            )
        if self.writer.shortened:
            self.notes.append(f"long texts were shortened where criteria are drafted and refined {SHORTENED}")
        return found

    # --- what is drawn ----------------------------------------------------------------------------------------

    def _drafts(self) -> list[_Draw]:
        """Lines 1 to 7; a plan that is scaled down keeps whole rounds over the few-shot sizes as long as it can."""
        plan = self.plan
        rounds = itertools.product(range(1, plan.samples + 1), range(1, plan.trials + 1), plan.shots)
        draws = []
        for sample, trial, shots in itertools.islice(rounds, plan.drafts):
            shown = [Shown(example) for example in self._rng("draft", shots, trial).sample(self.examples, shots)]
            draws.append(_Draw(self.writer.draft_turns(shown), shots, trial, sample, None))
        return sorted(draws, key=_same_prompt_together)

    def _refinements(self, kept: Sequence[_Tried]) -> list[_Draw]:
        """Lines 9 to 15; every draft that is kept gets its share of a plan that is scaled down."""
        plan = self.plan
        pools = [self._misaligned(tried.ratings) for tried in kept]
        rounds = itertools.product(
            range(1, plan.refine_samples + 1), range(1, plan.refine_trials + 1), plan.refine_shots, range(len(kept))
        )
        draws = []
        for sample, trial, asked, index in itertools.islice(rounds, plan.refinements):
            parent, pool = kept[index].candidate, pools[index]
            shots = min(asked, len(pool))
            if shots:
                shown = self._rng("refine", parent.number, asked, trial).sample(pool, shots)
                turns = self.writer.refine_turns(parent.text, shown)
                draws.append(_Draw(turns, shots, trial, sample, parent.number))
        return sorted(draws, key=_same_prompt_together)

    def _misaligned(self, ratings: Sequence[float | None]) -> list[Shown]:
        """The examples that a candidate ranks most differently from people: the worst quarter, or a few more.

        Of ranks, not scores: what the criteria are chosen by does not change when all ratings are moved alike. A few
        more where a quarter would be less than twice the largest draw, so that draws can differ.
        """
        from scipy.stats import rankdata

        scored = [(i, rating) for i, rating in enumerate(ratings) if rating is not None]
        by_model = rankdata([rating for _, rating in scored])
        by_people = rankdata([self.human[i] for i, _ in scored])
        span = self.reading.high - self.reading.low
        shown = [
            Shown(self.examples[i], self.reading.low + span * rating / 100, float(by_model[at] - by_people[at]))
            for at, (i, rating) in enumerate(scored)
            if by_model[at] != by_people[at]
        ]
        shown.sort(key=lambda one: (-abs(one.rank_gap), example_key(one.example)))
        return shown[: max(-(-len(scored) // 4), 2 * max(self.plan.refine_shots))]

    def _rng(self, *parts: object) -> random.Random:
        return random.Random(repr((self.seed, self.question, *parts)))  # noqa: S311

    # --- what is asked ----------------------------------------------------------------------------------------

    def _try(self, draws: Sequence[_Draw], origin: Literal["draft", "refined"]) -> list[_Tried]:
        """Have criteria written, and every training example rated by those that are new."""

        def write(draw: _Draw) -> str | ModelError:
            samples = self.plan.samples if draw.parent is None else self.plan.refine_samples
            try:  # the number tells apart two trials that happen to draw the same examples, too
                return self.writer.write(draw.turns, (draw.trial - 1) * samples + draw.sample)
            except PER_ITEM as problem:
                return problem

        doing = "drafting" if origin == "draft" else "refining"
        written = in_parallel(
            self.lm, write, draws, doing=f"{doing} criteria ({self.question})", progress=self._progress
        )
        candidates, failed, repeated = [], [], 0
        for draw, text in zip(draws, written, strict=True):
            if isinstance(text, ModelError):
                failed.append(text)
            elif same_text(text) in self._seen:
                repeated += 1
            else:
                self._seen.add(same_text(text))
                candidates.append(
                    CriteriaCandidate(
                        question=self.question,
                        number=next(self._numbers),
                        text=text,
                        origin=origin,
                        shots=draw.shots,
                        trial=draw.trial,
                        sample=draw.sample,
                        parent=draw.parent,
                    )
                )
        what = f"{'drafts' if origin == 'draft' else 'refinements'} ({self.question})"
        if origin == "draft" and not candidates:
            raise FitError(f"{self.lm.name} wrote no criteria in {len(draws)} {what}: {_why(failed[0])}")
        if failed:
            self.notes.append(f"{len(failed)} of {len(draws)} {what} could not be read and were left out")
        if repeated:
            self.notes.append(f"{repeated} of {len(draws)} {what} repeated an earlier text and were not scored again")
        return self._revisit(candidates)

    def _revisit(self, candidates: Sequence[CriteriaCandidate]) -> list[_Tried]:
        """Line 8: the rating of every training example by every candidate, and what correlates with people."""

        def one(job: tuple[CriteriaCandidate, int]) -> float | str:
            candidate, index = job
            example = self.examples[index]
            turns = rating_turns(self.task, self.aspect, candidate.text, self.reading, example)
            try:
                filled = rate(self.lm, turns, self.reading, explain=False)
            except PER_ITEM as problem:
                return why_unscored(problem, example.source, example.response)
            return self.reading.to_percent(filled.ratings["rating"].value)

        # Examples come by source within a candidate, whose criteria are the same in all prompts.
        jobs = [(candidate, index) for candidate in candidates for index in range(len(self.examples))]
        doing = f"scoring by candidate criteria ({self.question})"
        found = in_parallel(self.lm, one, jobs, doing=doing, progress=self._progress)
        self._why_unscored = self._why_unscored or next((why for why in found if isinstance(why, str)), "")
        percents = (None if isinstance(percent, str) else percent for percent in found)
        return [
            self._ranked(candidate, list(itertools.islice(percents, len(self.examples)))) for candidate in candidates
        ]

    def _ranked(self, candidate: CriteriaCandidate, ratings: list[float | None]) -> _Tried:
        scored = [(rating, human) for rating, human in zip(ratings, self.human, strict=True) if rating is not None]
        varies = stats.pearson([rating for rating, _ in scored], [human for _, human in scored]) is not None
        trusted = varies and covers(len(scored), len(ratings))
        correlation = stats.q(ratings, self.human) if trusted else None
        return _Tried(candidate.model_copy(update={"correlation": correlation, "scored": len(scored)}), ratings)


def _why(problem: ModelError) -> str:
    if not isinstance(problem, UnreadableReply):
        return str(problem)
    said = " ".join(problem.reply.split())[:300]
    return f"{problem}. It answered: {said!r}. Try a larger model"
