"""Demo search: which demonstrations make the model agree with people most.

Active-Critic, section 4.2 and Appendix D.2: candidate programs differ in their demonstrations, and the one whose
overall scores have the highest Q = Pearson + Spearman + Kendall (Eq. 4-5) over the training examples wins.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from dspy.teleprompt import Teleprompter

from active_critic import stats
from active_critic.asking import UNREADABLE_AT_FIRST
from active_critic.data.examples import example_key, group_of, human_score, same_texts
from active_critic.demos import demonstrate
from active_critic.errors import BudgetSpent, FitError
from active_critic.lm.lengths import CHARS_PER_TOKEN, length_of
from active_critic.lm.stopping import threads
from active_critic.protocols import CriticProtocol, Demo, Order, Reading
from active_critic.records import Example, Usage, Verdict
from active_critic.scoring import Scorer

CANDIDATES = 11
"""Candidate programs, the one without demonstrations included (Appendix D.2 runs 11 epochs)."""
SHORT_DEMOS, LONG_DEMOS = 8, 3
"""Demonstrations for short and for long texts (Appendix D.2)."""
LONG_TEXT = 600
"""Characters of source and response together (median) from which texts count as long."""
MIN_COVERAGE = 0.9
"""A candidate that leaves more than a tenth of the examples unscored cannot win."""
FIRST_RUNG = 8
"""Examples that every candidate is scored on before the race drops any."""
FEWEST = 4
"""Examples that a rung has at least, however few of it a fold leaves."""
FINALISTS = 3
"""Candidates that may win in the end, one after the other, where those before left too many examples unscored."""
SAME = 9
"""Decimal places in which Q must differ to differ: the last ones are those of rounding."""
CHANCE = 0.25
"""The race also drops candidates that beat the leader in a smaller part of bootstrap resamples."""

Sampling = Literal["uniform", "stratified"]


@dataclass(frozen=True, slots=True)
class Candidate:
    """One candidate program and how it did.

    Attributes:
        index: 0 is the program without demonstrations.
        demos: Its demonstrations, in prompt order.
        levels: The worst and the best rating level.
        order: Whether it rates before or after it explains.
        q: Q over the training examples it was scored on, from -3 to 3; None when it was scored on none.
        scored, asked: Examples scored, and examples it was tried on.
        usage: What scoring it cost.
        wins: Whether it is the one that was chosen.
    """

    index: int
    demos: tuple[Demo, ...]
    levels: str
    order: Order
    q: float | None
    scored: int
    asked: int
    usage: Usage
    wins: bool

    @property
    def coverage(self) -> float:
        """Share of the examples it was tried on that it could score."""
        return self.scored / self.asked if self.asked else 0.0

    def to_dict(self) -> dict[str, Any]:
        """The candidate as plain JSON values; demonstrations by the keys of their examples."""
        return {
            "index": self.index,
            "demos": [demo.example_id for demo in self.demos],
            "levels": self.levels,
            "order": self.order,
            "q": self.q,
            "scored": self.scored,
            "asked": self.asked,
            "usage": self.usage.to_dict(),
            "wins": self.wins,
        }


class DemoSearch(Teleprompter):  # type: ignore[misc]
    """A DSPy teleprompter with the set-level objective Q.

    Args:
        candidates: Candidate programs, the one without demonstrations included.
        demos: Demonstrations a candidate, exactly; None: 3 for long texts, 8 for short ones, and never more than a
            third of the examples.
        sampling: How a candidate's demonstrations are drawn: ``"stratified"`` over the human scores (one from each
            of as many slices of the sorted examples), or ``"uniform"``.
        readings: Ways of rating (levels, order) that candidates take in turn, so that the search decides between them,
            too; none: the student's own.
        race: Score all candidates on ``FIRST_RUNG`` examples, keep those of the better half that may yet be better than
            the leader (paired bootstrap on Q), score them on twice as many, and so on until one is left, which is
            scored on all; without it every candidate is scored on every example, as in the paper.
        seed: Of the draws.
        progress: Called with (what is being done, verdicts done, verdicts expected at most).
    """

    def __init__(
        self,
        *,
        candidates: int = CANDIDATES,
        demos: int | None = None,
        sampling: Sampling = "stratified",
        readings: Sequence[Reading] = (),
        race: bool = True,
        seed: int = 0,
        progress: Callable[[str, int, int], None] | None = None,
    ) -> None:
        super().__init__()
        self.candidates = candidates
        self.demos = demos
        self.sampling = sampling
        self.readings = readings
        self.race = race
        self.seed = seed
        self.progress = progress

    def compile(
        self, student: Scorer, *, trainset: Sequence[Example], teacher: Any = None, valset: Any = None
    ) -> Scorer:
        """Find the demonstrations under which ``student`` agrees best with the human scores.

        Args:
            student: The program to compile; left as it is.
            trainset: Scored examples; no example is ever scored with itself, or with one of its group, among the
                demonstrations.
            teacher: Not used; demonstrations are written by the student's own model.
            valset: Examples to choose by, instead of ``trainset``.

        Returns:
            A compiled copy of the student. ``candidate_programs`` holds every :class:`Candidate`, best first, and
            ``search`` the :class:`Search` with all verdicts. Where the model's budget is spent on the way, it is the
            best candidate of the last round that was finished, or the one without demonstrations, and
            ``search.stopped`` says so.

        Raises:
            FitError: There is no such sampling, more demonstrations are asked for than there are examples, none of the
                first twenty verdicts has a score, or no candidate could score 90 % of its examples.
            ModelError: The endpoint cannot be used.
        """
        del teacher
        if self.sampling not in get_args(Sampling):
            raise FitError(f"sampling must be {' or '.join(get_args(Sampling))}, not {self.sampling!r}")
        search = Search(student, trainset, valset if valset is not None else trainset, self)
        winner = search.best_so_far()
        compiled: Scorer = student.reset_copy()
        compiled.protocol = search.protocol(winner)
        compiled.rate.demos = list(search.sets[winner])
        compiled.candidate_programs = search.candidates(winner)
        compiled.search = search
        compiled._compiled = True
        return compiled


class Search:
    """The state of one search: candidate sets, and every verdict, so that nothing is scored twice."""

    def __init__(
        self, student: Scorer, trainset: Sequence[Example], examples: Sequence[Example], settings: DemoSearch
    ) -> None:
        self.settings = settings
        self.student = student
        self.examples = list(examples)
        self.human = [human_score(example) for example in self.examples]
        self.keys = [example_key(example) for example in self.examples]
        self.groups = [group_of(example) for example in self.examples]
        self.verdicts: dict[tuple[int, int], Verdict] = {}
        self._any_scored = False
        self.stopped: str | None = None
        self._leader, self._seen = 0, 0  # the best of the last finished round, and the examples of that
        # Nothing is scored beside a demonstration of its own document: of a single one none would ever be shown.
        self.one_document = len({*self.groups, *map(group_of, trainset)}) < 2
        self.size = 0 if self.one_document else demo_count(trainset, settings.demos)
        self.sets = self._draw(self._that_fit(list(trainset)))
        # Every prefix of this order spans the scores, so that early rungs of the race are representative.
        self.order = _spread(self.human, random.Random(settings.seed))  # noqa: S311

    def protocol(self, candidate: int) -> CriticProtocol:
        """The program of a candidate, but for its demonstrations."""
        given: CriticProtocol = self.student.protocol
        readings = self.settings.readings
        return given.model_copy(update={"reading": readings[candidate % len(readings)]}) if readings else given

    # --- candidates -------------------------------------------------------------------------------------------

    def _draw(self, trainset: list[Example]) -> list[tuple[Demo, ...]]:
        rng = random.Random(self.settings.seed)  # noqa: S311
        by_score = [trainset[i] for i in _spread([human_score(e) for e in trainset], rng)]
        # Writing a demonstration costs a long reply; candidates are therefore drawn from a pool that spans the scores.
        pool = by_score[: max(4 * self.size, 16)]
        pool.sort(key=human_score)
        drawn: list[list[Example]] = []
        seen: set[frozenset[str]] = set()
        for _ in range(20 * self.settings.candidates):
            if len(drawn) >= self.settings.candidates - 1 or self.size == 0:
                break
            chosen = _sample(pool, self.size, self.settings.sampling, rng)
            keys = frozenset(example_key(example) for example in chosen)
            if len(keys) == self.size and keys not in seen:
                seen.add(keys)
                drawn.append(chosen)
        needed = {example_key(example): example for chosen in drawn for example in chosen}
        written: dict[str, Demo] = {}
        try:
            for number, (key, example) in enumerate(needed.items(), 1):
                self._say("writing demonstrations", number, len(needed))
                written[key] = demonstrate(example, self.student.protocol, self.student.lm)
        except BudgetSpent as spent:
            done = f"{len(written)} of {len(needed)} demonstrations were written; the program has none"
            self.stopped = f"the demo search was not finished: {done}; {spent}"
            return [()]
        return [(), *(tuple(written[example_key(example)] for example in chosen) for chosen in drawn)]

    def _that_fit(self, trainset: list[Example]) -> list[Example]:
        """The examples that are short enough for ``size`` of them to take at most half of the context window.

        A size that was not asked for is lowered until there are enough of them.
        """
        context = self.student.lm.context
        while context is not None and self.size > 0:
            longest = int(context * CHARS_PER_TOKEN / 2 / self.size)
            short = [e for e in trainset if length_of(e.source) + length_of(e.response) <= longest]
            if len(short) >= self.size:
                return short
            if self.settings.demos is not None:
                raise FitError(
                    f"{self.size} demonstrations do not fit the context window of {context:,} tokens: only "
                    f"{len(short)} of {len(trainset)} examples have at most {longest:,} characters (two or three for "
                    "a letter of a script other than Latin); ask for fewer with --demos, or open the model with a "
                    "larger --context"
                )
            self.size -= 1
        return trainset

    # --- scoring ----------------------------------------------------------------------------------------------

    def score(self, candidate: int, indices: Sequence[int]) -> None:
        """Score these examples with a candidate's demonstrations; what is scored already is not scored again."""
        todo = [i for i in indices if (candidate, i) not in self.verdicts]
        # What shares most of the prompt comes together: same demonstrations first, then same source.
        todo.sort(key=lambda i: (-self._kept_prefix(candidate, i), self.examples[i].source, i))
        if not todo:
            return
        scorer = self.student.reset_copy()
        scorer.protocol = self.protocol(candidate)
        scorer.rate.demos = list(self.sets[candidate])

        def one(index: int) -> tuple[int, Verdict]:
            example = self.examples[index]
            without = [demo.example_id for demo in scorer.rate.demos if self._hidden(demo, index)]
            return index, scorer.verdict(example.source, example.response, explain=False, without=without)

        workers = max(1, min(self.student.lm.workers, len(todo)))
        with threads(workers) as pool:
            for index, verdict in pool.map(one, todo):
                self.verdicts[candidate, index] = verdict
                self._any_scored = self._any_scored or verdict.score is not None
                if not self._any_scored and len(self.verdicts) == UNREADABLE_AT_FIRST:
                    raise FitError(
                        f"none of the first {UNREADABLE_AT_FIRST} examples could be scored, so the search was "
                        f"stopped: {verdict.unscored}; try the model with: {scorer.lm.check_command}"
                    )
                self._say("searching demonstrations", len(self.verdicts), len(self.sets) * len(self.examples))

    def own(self, candidate: int) -> frozenset[int]:
        """The examples that are demonstrations of a candidate."""
        keys = {demo.example_id for demo in self.sets[candidate]}
        return frozenset(i for i in range(len(self.examples)) if self.keys[i] in keys)

    def _kept_prefix(self, candidate: int, index: int) -> int:
        """How many of a candidate's demonstrations stand before the first that this example may not see."""
        demos = self.sets[candidate]
        return next((place for place, demo in enumerate(demos) if self._hidden(demo, index)), len(demos))

    def _hidden(self, demo: Demo, index: int) -> bool:
        """Whether an example may not see this demonstration: its own, or one of its document."""
        example = self.examples[index]
        return demo.group == self.groups[index] or same_texts(example, demo.source, demo.response)

    def q(self, candidate: int, indices: Sequence[int]) -> tuple[float | None, int, int]:
        """Q of a candidate over those of these examples that it was tried on; how many it scored, and was tried on."""
        tried = [i for i in indices if (candidate, i) in self.verdicts]
        pairs = [(v.score, self.human[i]) for i in tried if (v := self.verdicts[candidate, i]).score is not None]
        if len(pairs) < 2:
            return (None if not tried else 0.0), len(pairs), len(tried)
        return stats.q([p for p, _ in pairs], [h for _, h in pairs]), len(pairs), len(tried)

    # --- the race ---------------------------------------------------------------------------------------------

    def best_so_far(self) -> int:
        """The winner by all examples; where the budget is spent on the way, the leader of the last finished round.

        Raises:
            FitError: It could not score 90 % of the examples it was tried on.
        """
        everything = range(len(self.examples))
        if self.stopped is None:
            try:
                return self.run(everything)
            except BudgetSpent as spent:
                best = f"the best candidate by {self._seen} of {len(self.examples)} examples was taken"
                none = "not even one round was; the program has no demonstrations"
                self.stopped = f"the demo search was not finished: {best if self._seen else none}; {spent}"
        self._check_coverage(self._leader, everything)
        return self._leader

    def run(self, indices: Sequence[int]) -> int:
        """Find the winner by these examples only.

        The rungs are those of a race on all examples, without the others: what was scored in such a race is not scored
        again.

        Raises:
            FitError: No candidate could score 90 % of its examples.
        """
        allowed = set(indices)
        order = [i for i in self.order if i in allowed]
        alive = list(range(len(self.sets)))
        dropped: list[int] = []
        size = FIRST_RUNG if self.settings.race else len(self.order)
        for candidate in alive:  # each a little, before any is tried on all: the first may be the only one to fail
            self.score(candidate, [i for i in self.order[:FIRST_RUNG] if i in allowed])
        while True:
            rung = [i for i in self.order[:size] if i in allowed]
            if len(rung) < min(FEWEST, len(order)):
                size += 1
                continue
            for candidate in alive:
                self.score(candidate, rung)
            ranked = sorted(alive, key=lambda c: self._merit(c, rung), reverse=True)
            self._leader, self._seen = ranked[0], len(rung)
            if len(rung) == len(order):
                break
            alive = self._survivors(ranked, rung)
            dropped = [c for c in ranked if c not in alive] + dropped
            size = len(self.order) if len(alive) == 1 else size * 2
        for candidate in [*ranked, *dropped][:FINALISTS]:
            self.score(candidate, order)
            if self._merit(candidate, order)[0]:
                return candidate
        self._check_coverage(ranked[0], order)
        return ranked[0]

    def _survivors(self, ranked: Sequence[int], indices: Sequence[int]) -> list[int]:
        """The leader, and those of the better half that may yet be better: a paired bootstrap on Q says how likely."""
        leader, *others = ranked[: math.ceil(len(ranked) / 2)]
        return [leader, *(other for other in others if self._chance(other, leader, indices) >= CHANCE)]

    def _chance(self, one: int, other: int, indices: Sequence[int]) -> float:
        a, b = ([self.verdicts[candidate, i].score for i in indices] for candidate in (one, other))
        human, groups = [self.human[i] for i in indices], [self.groups[i] for i in indices]
        return stats.chance_ahead(a, b, human, groups, seed=self.settings.seed)

    def _check_coverage(self, winner: int, indices: Sequence[int]) -> None:
        _, scored, asked = self.q(winner, indices)
        if not covers(scored, asked):
            reasons = [v.unscored for (c, _), v in self.verdicts.items() if c == winner and v.unscored]
            raise FitError(
                f"no candidate could score {MIN_COVERAGE:.0%} of the examples; the best scored {scored} of {asked}. "
                f"The first reason: {reasons[0] if reasons else 'none given'}"
            )

    def _merit(self, candidate: int, indices: Sequence[int]) -> tuple[bool, float, int, bool]:
        q, scored, asked = self.q(candidate, indices)
        covered = asked > 0 and covers(scored, asked)
        # Ties go to the cheaper: reasons that come first are written for every text.
        cheap = (-len(self.sets[candidate]), self.protocol(candidate).reading.order == "rating_first")
        return covered, -math.inf if q is None else round(q, SAME), *cheap

    def candidates(self, winner: int) -> list[Candidate]:
        """Every candidate, the winner first, then by how far they came and by Q."""
        found = []
        for index, demos in enumerate(self.sets):
            q, scored, asked = self.q(index, range(len(self.examples)))
            usage = sum((v.usage for (c, _), v in self.verdicts.items() if c == index), Usage())
            way = self.protocol(index).reading
            shown = f"{way.low}-{way.high}"
            found.append(Candidate(index, demos, shown, way.order, q, scored, asked, usage, index == winner))
        return sorted(found, key=lambda c: (c.wins, c.asked, -math.inf if c.q is None else c.q), reverse=True)

    def _say(self, what: str, done: int, total: int) -> None:
        if self.settings.progress is not None:
            self.settings.progress(what, done, total)


def covers(scored: int, asked: int) -> bool:
    """Whether enough of what was asked about could be scored: 90 %, or all but one, where there are few."""
    return scored >= min(MIN_COVERAGE * asked, max(1, asked - 1))


def demo_count(examples: Sequence[Example], asked: int | None) -> int:
    """How many demonstrations a candidate has.

    Raises:
        FitError: More are asked for than can be had while an example remains to choose by.
    """
    if not examples and asked is None:
        raise FitError("there are no training examples to draw demonstrations from")
    if asked is not None:
        if asked != 0 and not 0 < asked < len(examples):
            raise FitError(
                f"{asked} demonstrations cannot be drawn from {len(examples)} training examples with one left to "
                "choose by; ask for fewer with --demos, or give more examples"
            )
        return asked
    lengths = sorted(len(example.source) + len(example.response) for example in examples)
    wanted = LONG_DEMOS if lengths[len(lengths) // 2] > LONG_TEXT else SHORT_DEMOS
    return min(wanted, max(1, len(examples) // 3))


def _spread(scores: Sequence[float], rng: random.Random) -> list[int]:
    """Indices in an order whose every prefix spans the scores: each next one falls in the widest gap of ranks."""
    ranked = list(range(len(scores)))
    rng.shuffle(ranked)
    ranked.sort(key=lambda i: scores[i])
    # Van der Corput order: positions by their bit-reversed rank.
    bits = max(1, (len(ranked) - 1).bit_length())
    positions = sorted(range(len(ranked)), key=lambda p: int(f"{p:0{bits}b}"[::-1], 2))
    return [ranked[p] for p in positions]


def _sample(pool: Sequence[Example], size: int, sampling: Sampling, rng: random.Random) -> list[Example]:
    """Draw from a pool sorted by score; the order in the prompt is shuffled so that it does not give scores away."""
    if sampling == "uniform":
        return rng.sample(list(pool), size)
    bounds = [round(i * len(pool) / size) for i in range(size + 1)]
    chosen = [pool[rng.randrange(low, high)] for low, high in itertools.pairwise(bounds)]
    rng.shuffle(chosen)
    return chosen
