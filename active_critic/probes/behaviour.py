"""What an evaluator notices when texts are made worse in known ways: what it is sensitive to, blind to, and confuses.

After Xinyu Hu et al., "Are LLM-based Evaluators Confusing NLG Quality Criteria?", ACL 2024, section 3: the directional
expectation test (scores of aspects in S_T fall) and the invariance test (those of aspects in S_F do not move).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, get_args

from active_critic.bounds import RESAMPLES
from active_critic.data.cells import plain_value
from active_critic.data.examples import group_of
from active_critic.errors import BudgetSpent, DataError
from active_critic.evaluators.base import Evaluator, Progress
from active_critic.evaluators.parameters import check_progress, check_whole
from active_critic.lm import LanguageModel
from active_critic.probes._changes import Change as Change
from active_critic.probes._changes import Measured
from active_critic.probes._confusion import Pair, pairs_of
from active_critic.probes._telling import told
from active_critic.probes._texts import names_of, program_of, read, to_probe
from active_critic.probes.aspects import ASPECTS, Matched, match_aspect
from active_critic.probes.perturbations import PERTURBATIONS, By, named, perturb
from active_critic.reasons import budget_spent, counted, first_spent
from active_critic.records import Example, Scale, Verdict
from active_critic.stats.correlation import numbered
from active_critic.stats.resampling import cautions, check_confidence, resamples_for


@dataclass(frozen=True, slots=True)
class Treated:
    """How one perturbation went.

    Attributes:
        name: The perturbation.
        applied: Perturbed texts, of those whose original was scored.
        skipped: Why the others could not be perturbed, with how often.
        unscored: Perturbed texts that were left unscored; they count nowhere else.
        not_asked: Texts that the model was not asked to perturb, or to score perturbed, for a budget was spent; they
            count nowhere else, either.
        reasons: Why, of both, with how often.
    """

    name: str
    applied: int
    skipped: Mapping[str, int]
    unscored: int
    not_asked: int
    reasons: Mapping[str, int]


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
    resamples: int | None = None,
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
        resamples: Bootstrap resamples of whole documents; default: 1,000 to 10,000, as many as draw a million texts.
        confidence: Coverage that the intervals aim at.
        progress: See :data:`active_critic.evaluators.base.Progress`.
        aspects: Aspect by criterion, where the words of the critic's criteria would mislead.

    Raises:
        DataError: No example is left, no or an unknown perturbation, an unknown aspect or way, or a perturbation that
            has no rule.
        FitError: The evaluator is not fitted, or the seed, or the number of resamples, is no whole number.
        ModelError: The language model cannot be used.
        ValueError: The confidence does not lie between 0 and 1.
    """
    seed = check_whole("seed", seed, 0)
    resamples = None if resamples is None else check_whole("resamples", resamples, 0, RESAMPLES)
    confidence = plain_value(confidence)
    check_confidence(confidence)
    check_progress(progress)
    if by not in get_args(By):
        raise DataError(f"texts are perturbed by {' or by '.join(get_args(By))}, not by {by!r}")
    program = program_of(evaluator)
    perturbations = None if perturbations is None else names_of("perturbations", perturbations)
    texts, notes = to_probe(read(examples, program), program.shown)
    resamples = resamples_for(len(texts), resamples)
    if perturbations is not None and not perturbations:
        raise DataError("no perturbation is named; leave them out to try all")
    names = [named(name).name for name in dict.fromkeys(perturbations or PERTURBATIONS)]
    if by == "rule":
        names = [name for name in names if PERTURBATIONS[name].by_rule or perturbations]
    unknown = sorted(set((aspects or {}).values()) - set(ASPECTS))
    if unknown:
        raise DataError(f"there is no aspect {unknown[0]!r}; there are {', '.join(ASPECTS)}")
    lm = evaluator.model if by == "model" else None
    scored = _scored(evaluator, texts, names, lm, seed, progress)
    kept = [i for i, verdict in enumerate(scored.originals) if verdict.score is not None]
    originals = [scored.originals[i] for i in kept]
    matched = _matched(originals, getattr(program, "criteria", ()), aspects or {})
    group = numbered([group_of(texts[i]) for i in kept])
    documents = len(set(group.tolist()))
    notes += cautions(documents, 0, 0) if documents else []
    after = {name: [scored.perturbed.get((i, name)) for i in kept] for name in names}
    measured = Measured(originals, after, matched, group, program.scale, seed, resamples, confidence)
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
        reasons=counted(v.unscored or "" for v in scored.originals if v.score is None),
        treated=tuple(_treated(name, kept, scored) for name in names),
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


@dataclass(frozen=True, slots=True)
class _Scored:
    """The verdicts on texts as they were and perturbed, the latter by the text's number and the perturbation's name.

    Attributes:
        originals: On the texts as they were.
        perturbed: On those that were perturbed.
        refused: Why others could not be.
        unwritten: What was said of a budget for which the model was not asked to perturb the rest.
    """

    originals: list[Verdict] = field(default_factory=list)
    perturbed: dict[tuple[int, str], Verdict] = field(default_factory=dict)
    refused: dict[tuple[int, str], str] = field(default_factory=dict)
    unwritten: dict[tuple[int, str], str] = field(default_factory=dict)


def _scored(
    evaluator: Evaluator,
    texts: Sequence[Example],
    names: Sequence[str],
    lm: LanguageModel | None,
    seed: int,
    progress: Progress | None,
) -> _Scored:
    """Perturb and score, each text together with what was made of it."""
    found = _Scored()
    asked: list[tuple[int, str | None]] = []

    def stream(numbers: Iterable[int]) -> Iterator[Example]:
        for i in numbers:
            text = texts[i]
            asked.append((i, None))
            yield text
            for name in names:
                try:
                    with evaluator.remembering():
                        made = perturb(text.response, text.source, name, lm=lm, seed=seed)
                except BudgetSpent as spent:  # what the journal holds can still be made: the others go on
                    found.unwritten[i, name] = str(spent)
                    continue
                if made.text is None:
                    found.refused[i, name] = made.reason or ""
                    continue
                asked.append((i, name))
                yield Example(response=made.text, source=text.source, reference=text.reference)
            if progress is not None:
                progress("perturbing", i + 1, len(texts))

    def scoring(what: str, done: int, _: int) -> None:
        if progress is not None:
            progress(what, done, len(texts) * (1 + len(names)) - len(found.refused) - len(found.unwritten))

    verdicts: list[Verdict] = []
    if lm is not None and lm.budgets:  # text by text, so that something is scored of what is written
        for i in range(len(texts)):
            verdicts += evaluator.score_many(stream([i]), explain=False)
    else:
        verdicts += evaluator.score_many(stream(range(len(texts))), explain=False, progress=scoring)
    for (i, name), verdict in zip(asked, verdicts, strict=True):
        if name is None:
            found.originals.append(verdict)
        else:
            found.perturbed[i, name] = verdict
    return found


def _treated(name: str, kept: Sequence[int], found: _Scored) -> Treated:
    """How a perturbation went with the texts of these numbers."""
    after = [found.perturbed[i, name] for i in kept if (i, name) in found.perturbed]
    refused = Counter(found.refused[i, name] for i in kept if (i, name) in found.refused)
    unwritten = [found.unwritten[i, name] for i in kept if (i, name) in found.unwritten]
    reasons = [*unwritten, *(v.unscored or "" for v in after if v.score is None)]
    not_asked = sum(map(budget_spent, reasons))
    return Treated(name, len(after), dict(refused), len(reasons) - not_asked, not_asked, counted(reasons))


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
