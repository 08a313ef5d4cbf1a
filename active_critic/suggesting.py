"""Which texts people should score next: those least like any that they have scored already.

A text lies where its readings put it (what each of them adds to the score; the score itself, where an evaluator has
one reading only) and what its surface shows. The text farthest from every labelled one is chosen, then the one farthest
from these and from it, and so on (Gonzalez, 1985; as "core-set" in Sener and Savarese, ICLR 2018). It is the simplest
of the rules that were tried; none was better than drawing at random on every set (``benchmarks/suggest.py``).
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Sized
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from active_critic.data import unread_score
from active_critic.data.cells import plain_value
from active_critic.data.examples import example_key, group_of, text_key
from active_critic.data.fields import checked
from active_critic.errors import BudgetSpent, DataError, FitError
from active_critic.evaluators.base import Evaluator, Progress
from active_critic.evaluators.given import examples_of
from active_critic.evaluators.parameters import check_whole
from active_critic.evaluators.surface import FEATURES, WITHIN, figures_of
from active_critic.figures_in_words import as_given
from active_critic.lm.spending import Amounts, as_budget
from active_critic.protocols import Protocol
from active_critic.reasons import first_spent
from active_critic.records import Example, Verdict
from active_critic.weighing import CRITERION

MOST = 2_000
"""Texts that are looked at; of a larger pool so many are drawn by the seed, and only these are scored."""
TOLD = 2
"""Differences that a reason names."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A text that people should score.

    Attributes:
        example: The text, with its row.
        predicted: The score that the evaluator gives it, on the evaluator's scale.
        because: Why it was chosen, in one sentence, with readings and figures by their names.
        verdict: The verdict that the score is from, without explanation.
        nearest: Which labelled or chosen text is most like it: ``labelled text s3``. Empty where there is none.
        apart: How far it is from that one, in standard deviations, on the two axes that count most, by name.
    """

    example: Example
    predicted: float
    because: str
    verdict: Verdict
    nearest: str = ""
    apart: Mapping[str, float] = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True)
class Suggestions:
    """What was chosen from a pool, and what could not be.

    Attributes:
        chosen: The suggestions, in the order in which they were chosen.
        pool: Rows of the pool.
        labelled: Those that are labelled already, or stand in the program as demonstrations.
        repeated: Those of the rest whose source and response another row has, white space aside.
        not_drawn: Those of the rest that were not looked at (see ``MOST``).
        unscored: How many of the rest the evaluator left unscored, by reason.
        known: Labelled texts that the choice keeps away from.
        per_document: How many were chosen of one document at most.
    """

    chosen: tuple[Suggestion, ...]
    pool: int
    labelled: int
    repeated: int
    not_drawn: int
    unscored: Mapping[str, int] = field(hash=False)
    known: int
    per_document: int


def suggest(
    evaluator: Evaluator,
    pool: Any,
    n: int,
    *,
    labelled: Any = (),
    fields: Mapping[str, str] | None = None,
    labelled_fields: Mapping[str, str] | None = None,
    seed: int = 0,
    progress: Progress | None = None,
    budget: Amounts | None = None,
) -> list[Suggestion]:
    """The texts of a pool that people should score next, in the order in which they should.

    Args:
        evaluator: A fitted evaluator. It scores the pool and the labelled texts, without explanations; replies that
            its journal holds are not paid for again.
        pool: Unlabelled outputs: whatever :func:`active_critic.read_examples` takes. Scores in it are ignored.
        n: How many.
        labelled: What people have scored already, in the same forms; rows without a score do not count.
        fields: Column by field, where the names in the pool are not recognised.
        labelled_fields: The same for what is labelled. Default: ``fields``.
        seed: Of the order among equals, and of what is drawn from a pool of more than ``MOST``.
        progress: See :data:`active_critic.evaluators.base.Progress`.
        budget: What may be spent at most, such as ``"500 calls"``, ``["200k tokens", "2 USD"]`` or a
            :class:`active_critic.Budget`, within what the model may spend at all. None: no further limit.

    Raises:
        DataError: There are fewer than ``n`` different texts that are not labelled yet and can be scored; nothing that
            is given as labelled has a score; or the budget cannot be read.
        FitError: The seed is no whole number from 0 on, or what should score is no fitted evaluator.
        ModelError: The language model cannot be used; or a budget was spent before enough could be scored.
    """
    if not isinstance(evaluator, Evaluator):
        raise FitError(f"what scores the pool is a fitted evaluator, as load() gives it, not {evaluator!r}")
    allowed = None if budget is None else as_budget(budget)
    texts = Pool.of(
        pool,
        n,
        labelled=labelled,
        protocol=evaluator.fitted,
        seed=seed,
        fields=fields,
        labelled_fields=labelled_fields,
    )
    with evaluator.spending(allowed):
        return list(texts.choose(evaluator, progress).chosen)


def columns_of_pool(fields: Mapping[str, str] | None) -> dict[str, str]:
    """Column by field without those of score and rater: a pool lacks scores, so that they need not be there."""
    return {name: column for name, column in checked(fields).items() if name not in {"score", "rater"}}


@dataclass(frozen=True, slots=True)
class Pool:
    """What can be chosen from, before anything is paid for.

    Attributes:
        drawn: Texts to choose from, each once.
        known: Labelled texts, each once.
        n: How many are to be chosen.
        rows, labelled, repeated, not_drawn, path: See :class:`Suggestions` and ``Examples``.
    """

    drawn: tuple[Example, ...]
    known: tuple[Example, ...]
    n: int
    rows: int
    labelled: int
    repeated: int
    not_drawn: int
    path: str | None

    @classmethod
    def of(
        cls,
        pool: Any,
        n: int,
        *,
        labelled: Any = (),
        protocol: Protocol | None = None,
        seed: int = 0,
        fields: Mapping[str, str] | None = None,
        labelled_fields: Mapping[str, str] | None = None,
    ) -> Pool:
        """Read a pool; arguments and errors as for :func:`suggest`. What the program was fitted on is labelled."""
        seed = check_whole("seed", seed, 0)
        n = plain_value(n)
        if type(n) is not int or n < 1:
            raise DataError(f"how many texts are suggested is a whole number of at least 1, not {as_given(n)}")
        before = protocol.provenance.fields if protocol is not None else {}
        items = examples_of(pool, fields=columns_of_pool(fields), scored=False, as_before=before)
        known = _labelled(labelled, labelled_fields or fields, before)
        labels, shown = set(map(text_key, known)), frozenset[str]()
        if protocol is not None:
            labels |= set(protocol.provenance.fitted_on)
            shown = protocol.shown

        def is_labelled(example: Example) -> bool:
            # A fit may have known no source.
            here = {text_key(example), text_key(replace(example, source=""))}
            return not here.isdisjoint(labels) or example_key(example) in shown

        left = [example for example in items if not is_labelled(example)]
        fresh = _each_once(left)
        order = sorted(fresh)  # by content: the order of rows is to change nothing
        random.Random(seed).shuffle(order)  # noqa: S311
        skipped = len(items) - len(left)
        found = cls(
            drawn=tuple(fresh[key] for key in order[:MOST]),
            known=known,
            n=n,
            rows=len(items),
            labelled=skipped,
            repeated=len(items) - skipped - len(fresh),
            not_drawn=max(0, len(fresh) - MOST),
            path=items.path,
        )
        found._check(len(found.drawn), Counter())
        return found

    def choose(self, evaluator: Evaluator, progress: Progress | None = None) -> Suggestions:
        """Score the texts and choose.

        Raises:
            DataError: Too few can be scored.
            ModelError: The language model cannot be used.
        """
        texts = [*self.drawn, *self.known]
        verdicts = list(evaluator.score_many(texts, explain=False, progress=progress))
        reasons = Counter(v.unscored for v in verdicts[: len(self.drawn)] if v.unscored is not None)
        there = len(self.drawn) - reasons.total()
        self._check(there, reasons)
        scored = [(e, v, v.score) for e, v in zip(texts, verdicts, strict=True) if v.score is not None]
        examples = [example for example, _, _ in scored]
        where = Places.of(examples, [verdict for _, verdict, _ in scored])
        documents = [group_of(example) for example in examples[:there]]
        most = per_document(documents, self.n)
        chosen = []
        for index, nearest in farthest(where.at, there, self.n, documents, most):
            example, verdict, score = scored[index]
            beside = "" if nearest is None else _named(examples[nearest], "labelled" if nearest >= there else "chosen")
            apart = {} if nearest is None else _apart(where, index, nearest)
            chosen.append(Suggestion(example, score, _reason(beside, apart), verdict, beside, apart))
        return Suggestions(
            chosen=tuple(chosen),
            pool=self.rows,
            labelled=self.labelled,
            repeated=self.repeated,
            not_drawn=self.not_drawn,
            unscored=dict(reasons),
            known=len(scored) - there,
            per_document=most,
        )

    def _check(self, there: int, unscored: Counter[str]) -> None:
        """Whether so many are enough.

        Raises:
            BudgetSpent: They are not, for others could not be paid for.
            DataError: They are not.
        """
        if there >= self.n:
            return
        without = {"labelled already or fitted on": self.labelled, "repeat the text of another row": self.repeated}
        without |= {"not drawn": self.not_drawn, **{f"unscored ({why})": c for why, c in unscored.most_common(3)}}
        why = ", ".join(f"{count} {what}" for what, count in without.items() if count)
        if spent := first_spent(unscored):
            raise BudgetSpent(f"{self.n} texts are asked for, and {there} of {self.rows} could be scored: {spent}")
        raise DataError(
            f"{self.n} texts are asked for, and {there} of {self.rows} can be suggested{f': {why}' if why else ''}; "
            f"{'ask for fewer, or give a larger pool' if there or unscored else 'give other texts'}",
            path=self.path,
        )


def _labelled(given: Any, fields: Mapping[str, str] | None, before: Mapping[str, str]) -> tuple[Example, ...]:
    """What is labelled, every text once."""
    if isinstance(given, Sized) and not len(given):  # also a table without rows
        return ()
    read = examples_of(given, fields=fields, scored=False, as_before=before)
    if (unread := unread_score(read)) is not None:
        raise unread
    scored = _each_once(example for example in read if example.score is not None)
    if not scored:
        remedy = "name its column with --fields score=NAME, or leave the labelled texts out"
        raise DataError(f"none of the labelled rows has a score; {remedy}", path=read.path)
    return tuple(scored[key] for key in sorted(scored))


def _each_once(examples: Iterable[Example]) -> dict[str, Example]:
    """The examples by identity, each text once, white space aside: which one is by its content, then the first row."""
    chosen: dict[str, Example] = {}
    for example in sorted(examples, key=example_key):
        chosen.setdefault(text_key(example), example)
    return {example_key(example): example for example in chosen.values()}


# --- where texts lie ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Places:
    """Where texts lie.

    Every axis is standardised over these texts and drawn in to within two standard deviations. Each reading counts as
    much as all figures of the surface together, and as all ratings of single criteria together.

    Attributes:
        names: The axes that vary: readings (or ``"score"``), then figures of ``FEATURES``.
        standard: In standard deviations, shape ``(texts, axes)``.
        at: The same, weighted as distances count.
    """

    names: tuple[str, ...]
    standard: Floats
    at: Floats

    @classmethod
    def of(cls, examples: Sequence[Example], verdicts: Sequence[Verdict], *, figures: Floats | None = None) -> Places:
        """The places of texts.

        Args:
            examples: The texts.
            verdicts: On them, all with a score.
            figures: ``figures_of(examples)``, where they are there already.
        """
        shown = figures_of(examples) if figures is None else figures
        parts = set.intersection(*(set(verdict.parts) for verdict in verdicts))
        names = [name for name in verdicts[0].parts if name in parts] if len(parts) > 1 else ["score"]
        readings = [[v.parts[name] for name in names] if len(parts) > 1 else [v.score] for v in verdicts]
        raw = np.hstack([np.array(readings, dtype=np.float64), shown])
        known = np.ma.masked_invalid(raw)
        spread = known.std(axis=0).filled(0.0)
        varies = spread > 1e-9
        # A text without a source or a reference is at the mean of the others: that it has none is no place.
        standard = np.clip((known - known.mean(axis=0)).filled(0.0)[:, varies] / spread[varies], -WITHIN, WITHIN)
        varying = int(varies[len(names) :].sum())
        criteria = [index for index, name in enumerate(names) if name.startswith(CRITERION)]
        weights = np.where(np.arange(len(varies)) < len(names), 1.0, max(1, varying) ** -0.5)
        weights[criteria] = max(1, int(varies[criteria].sum())) ** -0.5
        weights = weights[varies]
        named = np.array([*names, *FEATURES])[varies]
        return cls(tuple(named.tolist()), standard, standard * weights)


def per_document(documents: Sequence[str], n: int) -> int:
    """The smallest number of texts of one document with which ``n`` texts can be had."""
    sizes, most = Counter(documents).values(), 1
    while sum(min(size, most) for size in sizes) < n:
        most += 1
    return most


def farthest(at: Floats, free: int, n: int, documents: Sequence[str], most: int) -> list[tuple[int, int | None]]:
    """The greedy choice: again and again the text that lies farthest from the nearest one that is known or chosen.

    Args:
        at: Places, shape ``(texts, axes)``: those to choose from, then the known ones.
        free: How many can be chosen from.
        n: How many to choose, at least 1 and no more than ``most`` of each document allows.
        documents: The document of each text that can be chosen.
        most: How many of one document may be chosen.

    Returns:
        The positions of the chosen, and of the nearest text that was known or chosen before: None for the first where
        nothing is known, which is the text nearest to the average of all. Of equals the first.
    """
    near, whose = np.full(free, np.inf), np.full(free, -1)

    def keep_away_from(index: int) -> None:
        distance = np.linalg.norm(at[:free] - at[index], axis=1)
        whose[distance < near] = index
        np.minimum(near, distance, out=near)

    for index in range(free, len(at)):
        keep_away_from(index)
    chosen: list[tuple[int, int | None]] = []
    taken: Counter[str] = Counter()
    allowed = np.ones(free, dtype=bool)
    while len(chosen) < n:
        if len(at) == free and not chosen:
            index, nearest = int(np.argmin(np.linalg.norm(at - at.mean(axis=0), axis=1))), None
        else:
            index = int(np.argmax(np.where(allowed, near, -1.0)))
            nearest = int(whose[index])
        chosen.append((index, nearest))
        taken[documents[index]] += 1
        allowed[index] = False
        if taken[documents[index]] == most:
            allowed &= np.array([document != documents[index] for document in documents])
        keep_away_from(index)
    return chosen


def _named(example: Example, what: str) -> str:
    return f"{what} text {example.id or f'in row {example.row}'}"


def _apart(where: Places, index: int, nearest: int) -> dict[str, float]:
    """How far two texts are apart on the axes that count most, the one that does first; none on which they are not."""
    apart = where.standard[index] - where.standard[nearest]
    weighty = np.argsort(-np.abs(where.at[index] - where.at[nearest]), kind="stable")[:TOLD]
    return {where.names[axis]: float(apart[axis]) for axis in weighty if abs(apart[axis]) >= 0.05}


def _reason(nearest: str, apart: Mapping[str, float]) -> str:
    if not nearest:
        return "no labelled text is named, and it is nearest to the average of the pool"
    if not apart:
        return f"nothing is left that differs from what is labelled or chosen; this is like the {nearest}"
    named = ", ".join(f"{name} {by:+.1f}" for name, by in apart.items())
    return f"least like all that is labelled or chosen; against the nearest, the {nearest}: {named} sd"
