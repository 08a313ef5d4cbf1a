"""What an evaluator notices when texts are made worse in known ways: what it is sensitive to, blind to, and confuses.

After Xinyu Hu et al., "Are LLM-based Evaluators Confusing NLG Quality Criteria?", ACL 2024, section 3: the directional
expectation test (scores of aspects in S_T fall) and the invariance test (those of aspects in S_F do not move).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

from active_critic.data.examples import group_of
from active_critic.errors import BudgetSpent, DataError
from active_critic.evaluators.base import Evaluator, Progress, check_whole
from active_critic.probes._confusion import Pair, pairs_of
from active_critic.probes._telling import told
from active_critic.probes._texts import read, to_probe
from active_critic.probes.aspects import ASPECTS, OVERALL, Expected, Matched, match_aspect
from active_critic.probes.perturbations import PERTURBATIONS, By, named, perturb
from active_critic.reasons import budget_spent, counted, first_spent
from active_critic.records import Example, Scale, Verdict
from active_critic.stats.correlation import Floats, Indices, numbered
from active_critic.stats.resampling import ALIKE, Interval, bootstrap, cautions, of_one_value, percentile_interval

TOLERANCE = 0.05
"""Changes within this part of the scale count as none: 0.2 points of 1 to 5, below which the paper speaks of almost no
degradation (section 5.1)."""
FAINTEST = 0.1
"""A change by less than this part of the tolerance is neither a fall nor a rise, however sure it is."""

Kind = Literal["aspect", "criterion"]
Outcome = Literal["falls", "faint", "still", "rises", "moves", "unclear"]


@dataclass(frozen=True, slots=True)
class Treated:
    """How one perturbation went.

    Attributes:
        name: The perturbation.
        applied: Perturbed texts, of those whose original was scored.
        refused: Why the others could not be perturbed, with how often.
        unscored: Perturbed texts that were left unscored; they count nowhere else.
        not_asked: Texts that the model was not asked to perturb, or to score perturbed, for a budget was spent; they
            count nowhere else, either.
        reasons: Why, of both, with how often.
    """

    name: str
    applied: int
    refused: Mapping[str, int]
    unscored: int
    not_asked: int
    reasons: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Change:
    """What a perturbation does to the scores of an aspect or of a criterion: one cell of the confusion matrix.

    Attributes:
        kind: ``"aspect"``: the mean of those criteria that stand for it and that both verdicts have, or for overall
            quality the overall score; or ``"criterion"``: one criterion of the critic's, whatever it stands for.
        name: The aspect or the criterion.
        aspect: The aspect it stands for, or None.
        perturbation: The perturbation.
        expected: What the scores should do; None for a criterion that stands for no aspect.
        change: Mean score after minus before, in points of the user's scale (negative: it fell), or None.
        interval: Its bootstrap interval over documents, or None with fewer than five documents. Where all documents
            moved alike, or none did: see ``attack_trial.Lift``.
        outcome: Of what should fall: ``"falls"`` (interval below 0, and the mean falls by more than the tolerance),
            ``"faint"`` (interval below 0, but no more than the tolerance, and no less than ``FAINTEST`` of it),
            ``"still"`` (any other interval within the tolerance: blind), ``"rises"`` (interval above 0, and no less
            than ``FAINTEST`` of the tolerance) or ``"unclear"``. Of what should not move: ``"still"`` (interval within
            the tolerance), ``"moves"`` (interval outside it) or ``"unclear"``. None where nothing is tested.
        n, documents: Texts that were scored both ways, and their documents.
    """

    kind: Kind
    name: str
    aspect: str | None
    perturbation: str
    expected: Expected | None
    change: float | None
    interval: Interval | None
    outcome: Outcome | None
    n: int
    documents: int


@dataclass(frozen=True, slots=True)
class Behaviour:
    """What an evaluator does when texts are perturbed.

    Attributes:
        signature: The evaluator's.
        scale: The user's scale.
        by, seed: How the texts were perturbed.
        tolerance: Changes within this many points of the scale count as none.
        examples, scored, documents: Texts, those scored as they were, and their documents.
        reasons: Why the others were not scored, with how often.
        treated: How each perturbation went.
        matched: Which aspect each of the critic's criteria stands for; empty where it scores no criteria.
        changes: The confusion matrix, aspects first.
        pairs: How the critic's criteria go together.
        constant: Aspects and criteria that had the same score on every text.
        notes: What was left out, and how little so few documents say.
        resamples, confidence: Bootstrap resamples behind every interval, and the coverage that it aims at.
    """

    signature: str
    scale: Scale
    by: By
    seed: int
    tolerance: float
    examples: int
    scored: int
    documents: int
    reasons: Mapping[str, int]
    treated: tuple[Treated, ...]
    matched: tuple[Matched, ...]
    changes: tuple[Change, ...]
    pairs: tuple[Pair, ...]
    constant: tuple[str, ...]
    notes: tuple[str, ...]
    resamples: int
    confidence: float

    @property
    def unscored(self) -> int:
        """Texts that were left unscored as they were; they count nowhere."""
        return self.examples - self.scored

    @property
    def failed(self) -> int:
        """Perturbed texts that were left unscored, though their originals were not; they count nowhere."""
        return sum(one.unscored for one in self.treated)

    @property
    def spent(self) -> str | None:
        """What was said of a budget that left texts unscored, as they were or perturbed; None where none did."""
        return first_spent(
            reason for reasons in (self.reasons, *(one.reasons for one in self.treated)) for reason in reasons
        )

    @property
    def words(self) -> list[str]:
        """The findings, one a line: what it is sensitive to, blind to, and confuses."""
        return told(self)

    def matrix(self) -> dict[str, dict[str, float | None]]:
        """Mean changes by aspect, then by perturbation, in points of the user's scale."""
        table: dict[str, dict[str, float | None]] = {}
        for one in self.changes:
            if one.kind == "aspect":
                table.setdefault(one.name, {})[one.perturbation] = one.change
        return table

    def to_dict(self) -> dict[str, Any]:
        """The same as plain JSON values, the words and the matrix with them."""
        plain: dict[str, Any] = _plain(asdict(self) | {"scale": str(self.scale)})
        return {**plain, "matrix": self.matrix(), "words": self.words}

    def rows(self) -> list[dict[str, Any]]:
        """The cells of the matrix as flat records, for a table."""
        treated = {one.name: one for one in self.treated}
        return [
            {
                "kind": one.kind,
                "name": one.name,
                "aspect": one.aspect,
                "perturbation": one.perturbation,
                "target": PERTURBATIONS[one.perturbation].effect.target,
                "by": treated_by(one.perturbation, self.by),
                "expected": one.expected,
                "change": one.change,
                "low": one.interval[0] if one.interval else None,
                "high": one.interval[1] if one.interval else None,
                "outcome": one.outcome,
                "n": one.n,
                "documents": one.documents,
                "applied": treated[one.perturbation].applied,
                "unscored": treated[one.perturbation].unscored,
                "not_asked": treated[one.perturbation].not_asked,
            }
            for one in self.changes
        ]


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(name): _plain(part) for name, part in value.items()}
    return [_plain(part) for part in value] if isinstance(value, list | tuple) else value


def treated_by(name: str, by: By) -> By:
    """How a perturbation is made when this way is asked for: four are made by rule in any case."""
    return by if by == "rule" or PERTURBATIONS[name].by_model else "rule"


def examine(
    evaluator: Evaluator,
    examples: Any,
    *,
    perturbations: str | Sequence[str] | None = None,
    by: By = "rule",
    seed: int = 0,
    resamples: int = 1000,
    confidence: float = 0.95,
    progress: Progress | None = None,
    aspects: Mapping[str, str] | None = None,
) -> Behaviour:
    """Score texts as they are and perturbed, and test whether the scores do what they should.

    Args:
        evaluator: A fitted evaluator; without scores by criterion, the overall alone is tested.
        examples: Texts with their sources, as :meth:`Evaluator.score_many` takes items, and human ``aspects`` where
            there are some; good texts show most. Texts that the program shows as demonstrations are left out, and all
            but the first of the same.
        perturbations: Which, by name; default: all that can be made in this way.
        by: ``"rule"``, or ``"model"``: the evaluator's own language model makes those that the paper's model makes.
        seed: Of the rules and of the intervals.
        resamples: Bootstrap resamples of whole documents.
        confidence: Coverage that the intervals aim at.
        progress: See :data:`active_critic.evaluators.base.Progress`.
        aspects: Aspect by criterion, where the words of the critic's criteria would mislead.

    Raises:
        DataError: No example is left, no or an unknown perturbation, an unknown aspect, or a perturbation that has no
            rule.
        FitError: The evaluator is not fitted, or the seed is no whole number.
        ModelError: The language model cannot be used.
    """
    check_whole("seed", seed, 0)
    program = evaluator.fitted
    perturbations = [perturbations] if isinstance(perturbations, str) else perturbations
    texts, notes = to_probe(read(examples, program), program.shown)
    if perturbations is not None and not perturbations:
        raise DataError("no perturbation is named; leave them out to try all")
    names = [named(name).name for name in dict.fromkeys(perturbations or PERTURBATIONS)]
    if by == "rule":
        names = [name for name in names if PERTURBATIONS[name].by_rule or perturbations]
    unknown = sorted(set((aspects or {}).values()) - set(ASPECTS))
    if unknown:
        raise DataError(f"there is no aspect {unknown[0]!r}; there are {', '.join(ASPECTS)}")
    lm = evaluator.model if by == "model" else None
    place: dict[tuple[int, str | None], int] = {}
    why: dict[tuple[int, str], str] = {}
    unwritten: dict[tuple[int, str], str] = {}

    def stream(numbers: Iterable[int]) -> Iterator[Example]:
        for i in numbers:
            text = texts[i]
            place[i, None] = len(place)
            yield text
            for name in names:
                try:
                    with evaluator.remembering():
                        made = perturb(text.response, text.source, name, lm=lm, seed=seed)
                except BudgetSpent as spent:  # what the journal holds can still be made: the others go on
                    unwritten[i, name] = str(spent)
                    continue
                if made.text is None:
                    why[i, name] = made.reason or ""
                    continue
                place[i, name] = len(place)
                yield Example(response=made.text, source=text.source, reference=text.reference)
            if progress is not None:
                progress("perturbing", i + 1, len(texts))

    def scoring(what: str, done: int, _: int) -> None:
        if progress is not None:
            progress(what, done, len(texts) * (1 + len(names)) - len(why) - len(unwritten))

    verdicts: list[Verdict] = []
    if lm is not None and lm.budgets:  # text by text, so that something is scored of what is written
        for i in range(len(texts)):
            verdicts += evaluator.score_many(stream([i]), explain=False)
    else:
        verdicts += evaluator.score_many(stream(range(len(texts))), explain=False, progress=scoring)
    originals = [verdicts[place[i, None]] for i in range(len(texts))]
    kept = [i for i, verdict in enumerate(originals) if verdict.score is not None]
    refused: dict[str, Counter[str]] = {name: Counter() for name in names}
    left: dict[str, list[str]] = {name: [] for name in names}
    for i in kept:
        for name in names:
            if (i, name) in why:
                refused[name][why[i, name]] += 1
            if (i, name) in unwritten:
                left[name].append(unwritten[i, name])
    after = {name: [_at(verdicts, place.get((i, name))) for i in kept] for name in names}
    matched = _matched([originals[i] for i in kept], getattr(program, "criteria", ()), aspects or {})
    group = numbered([group_of(texts[i]) for i in kept])
    documents = len(set(group.tolist()))
    notes += cautions(documents, 0, 0) if documents else []
    measured = _Measured(
        [originals[i] for i in kept], after, matched, group, program.scale, seed, resamples, confidence
    )
    criteria = {one.criterion: measured.before("criterion", one.criterion) for one in matched}
    people = sorted({name for i in kept for name in texts[i].aspects})
    return Behaviour(
        signature=evaluator.signature,
        scale=program.scale,
        by=by,
        seed=seed,
        tolerance=measured.tolerance,
        examples=len(texts),
        scored=len(kept),
        documents=documents,
        reasons=counted(v.unscored or "" for v in originals if v.score is None),
        treated=tuple(_treated(name, after[name], refused[name], left[name]) for name in names),
        matched=matched,
        changes=measured.changes(names),
        pairs=pairs_of(
            criteria,
            {n: [texts[i].aspects.get(n) for i in kept] for n in people},
            matched,
            group,
            resamples,
            seed,
            confidence,
        ),
        constant=measured.constant(),
        notes=tuple(notes),
        resamples=resamples,
        confidence=confidence,
    )


def _at(verdicts: Sequence[Verdict], place: int | None) -> Verdict | None:
    return None if place is None else verdicts[place]


def _treated(name: str, after: Sequence[Verdict | None], refused: Counter[str], unwritten: Sequence[str]) -> Treated:
    reasons = [*unwritten, *(v.unscored or "" for v in after if v is not None and v.score is None)]
    not_asked = sum(map(budget_spent, reasons))
    applied = sum(v is not None for v in after)
    return Treated(name, applied, dict(refused), len(reasons) - not_asked, not_asked, counted(reasons))


def _matched(verdicts: Sequence[Verdict], criteria: Sequence[Any], given: Mapping[str, str]) -> tuple[Matched, ...]:
    names = list(dict.fromkeys(part.name for verdict in verdicts for part in verdict.criteria))
    missing = sorted(set(given) - set(names))
    if missing:
        raise DataError(f"the evaluator scores no criterion {missing[0]!r}; it scores {', '.join(names) or 'none'}")
    definitions = {getattr(one, "name", ""): str(getattr(one, "definition", "")) for one in criteria}
    return tuple(
        Matched(name, given[name], "given") if name in given else match_aspect(name, definitions.get(name, ""))
        for name in names
    )


class _Measured:
    """The scores before and after, and what is computed from them."""

    def __init__(
        self,
        before: Sequence[Verdict],
        after: Mapping[str, Sequence[Verdict | None]],
        matched: Sequence[Matched],
        group: Indices,
        scale: Scale,
        seed: int,
        resamples: int,
        confidence: float,
    ) -> None:
        self._before, self._after, self._group, self._scale = before, after, group, scale
        self._seed, self._resamples, self._confidence = seed, resamples, confidence
        self._aspect = {one.criterion: one.aspect for one in matched}
        self.tolerance = TOLERANCE * (scale.high - scale.low)
        there = {one.aspect for one in matched} | {OVERALL}
        self._measures: list[tuple[Kind, str]] = [("aspect", name) for name in ASPECTS if name in there]
        self._measures += [("criterion", one.criterion) for one in matched]

    def _value(self, verdict: Verdict | None, kind: Kind, name: str, beside: Verdict | None = None) -> float | None:
        """A verdict's score, for an aspect from the criteria that the verdict beside it has, too."""
        if verdict is None or verdict.score is None:
            return None
        if kind == "aspect" and name == OVERALL:
            return verdict.score
        values = [
            part.score
            for part in verdict.criteria
            if (self._aspect[part.name] if kind == "aspect" else part.name) == name
            and (beside is None or any(part.name == other.name for other in beside.criteria))
        ]
        return sum(values) / len(values) if values else None

    def before(self, kind: Kind, name: str) -> list[float | None]:
        """Scores of the texts as they were."""
        return [self._value(verdict, kind, name) for verdict in self._before]

    def constant(self) -> tuple[str, ...]:
        """What had the same score on every text, perturbed ones included."""
        found = []
        for kind, name in self._measures:
            every = [*self._before, *(v for column in self._after.values() for v in column)]
            values = [value for v in every if (value := self._value(v, kind, name)) is not None]
            if len(values) > 1 and max(values) - min(values) <= 1e-12 * max(1.0, abs(values[0])):
                found.append(f"{name} (criterion)" if kind == "criterion" and name == OVERALL else name)
        return tuple(dict.fromkeys(found))

    def changes(self, names: Sequence[str]) -> tuple[Change, ...]:
        """The confusion matrix."""
        return tuple(self._change(kind, name, other) for kind, name in self._measures for other in names)

    def _pairs(self, kind: Kind, name: str, perturbation: str) -> dict[int, tuple[float, float]]:
        """The scores of each text before and after, by its number, where it has both."""
        pairs = zip(self._before, self._after[perturbation], strict=True)
        values = [(self._value(a, kind, name, beside=b), self._value(b, kind, name, beside=a)) for a, b in pairs]
        return {i: (a, b) for i, (a, b) in enumerate(values) if a is not None and b is not None}

    def _change(self, kind: Kind, name: str, perturbation: str) -> Change:
        by_text = self._pairs(kind, name, perturbation)
        kept = sorted(by_text)
        scores = np.array([by_text[i] for i in kept], dtype=np.float64).reshape(-1, 2)
        _, code = np.unique(self._group[kept], return_inverse=True)
        aspect = name if kind == "aspect" else self._aspect[name]
        expected = PERTURBATIONS[perturbation].effect.on(aspect) if aspect else None
        change = float((scores[:, 1] - scores[:, 0]).mean()) if kept else None
        interval = self._interval(scores, code) if kept else None
        return Change(
            kind=kind,
            name=name,
            aspect=aspect,
            perturbation=perturbation,
            expected=expected,
            change=change,
            interval=interval,
            outcome=_outcome(expected, change, interval, self.tolerance),
            n=len(kept),
            documents=len(set(code.tolist())),
        )

    def _interval(self, scores: Floats, code: Indices) -> Interval | None:
        moved, documents = scores[:, 1] - scores[:, 0], int(code.max()) + 1

        def mean(weights: Floats) -> Floats:
            own = weights[:, code]
            return np.asarray(np.einsum("ri,i->r", own, moved) / own.sum(axis=1))

        drawn = bootstrap(mean, documents, self._resamples, np.random.default_rng(self._seed), len(moved))
        interval = percentile_interval(drawn, self._confidence, documents)
        if interval is None or interval[1] - interval[0] > ALIKE:
            return interval
        before = float(scores[:, 0].mean())
        lowest, highest = self._scale.low - before, self._scale.high - before
        return of_one_value(float(moved.mean()), documents, lowest, highest, self._confidence)


def _outcome(
    expected: Expected | None, change: float | None, interval: Interval | None, tolerance: float
) -> Outcome | None:
    if change is None or expected not in ("falls", "still"):
        return None
    if interval is None:
        return "unclear"
    low, high = interval
    within = -tolerance <= low and high <= tolerance
    if expected == "still":
        return "still" if within else "moves" if high < -tolerance or low > tolerance else "unclear"
    if abs(change) < FAINTEST * tolerance or (within and low > 0):
        return "still" if within else "unclear"
    if high < 0:
        return "falls" if change <= -tolerance else "faint"
    if low > 0:
        return "rises"
    return "still" if within else "unclear"
