"""Attacks tried on an evaluator: how much each lifts the score, how often it succeeds, what it leaves unscored."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import chain
from numbers import Real
from typing import Any

from active_critic.bounds import RESAMPLES
from active_critic.data.cells import plain_value
from active_critic.data.examples import group_of
from active_critic.evaluators.base import Evaluator, Progress
from active_critic.evaluators.parameters import check_progress, check_whole
from active_critic.probes._texts import program_of, read, to_probe
from active_critic.probes.attacks import KINDS, Attack, Attacker, Kind, attacks_named
from active_critic.probes.lifts import Lift, Pairs
from active_critic.reasons import budget_spent, counted, first_spent
from active_critic.records import Example, Scale, Verdict
from active_critic.stats.resampling import check_confidence, resamples_for

SUCCESS = 0.1
"""An attack on a text succeeds where it lifts the score by this part of the scale, or more."""


@dataclass(frozen=True, slots=True)
class FamilyResult:
    """One family of attacks as it went.

    Attributes:
        name, kind, about, replaces: As in ``Attack``.
        lift: What it gained.
        reasons: Why texts were left unscored under this attack, with how often, the most frequent first.
    """

    name: str
    kind: Kind
    about: str
    replaces: bool
    lift: Lift
    reasons: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class KindResult:
    """All families of a kind together: every text counts once for each of them.

    Those that put something else in place of the text do not count beside others: what they lose would hide what the
    others gain. The null attacks all do.

    Attributes:
        kind: See ``attacks.Kind``.
        families: How many count.
        lift: What they gained.
        worst: Of these the family that gained most on average, or None where nothing was scored.
    """

    kind: Kind
    families: int
    lift: Lift
    worst: str | None


@dataclass(frozen=True, slots=True)
class AttackTrial:
    """Attacks tried on an evaluator.

    Attributes:
        signature: Of the evaluator: names everything that its scores depend on.
        scale: The user's scale.
        families: A result for each family, in the order of ``attacks.ATTACKS``.
        kinds: The same by kind.
        overall: All families together that leave the text.
        replacing: Those together that put something else, or its first words, in its place: an honest judge scores that
            much lower.
        texts: Texts that were attacked.
        documents: Documents that they belong to.
        unscored: Texts that were left unscored as they are; they count in nothing.
        not_asked: Those of them that were not asked for, for a budget was spent.
        spent: What was said of that budget; None where it left no text unscored, attacked or as it is.
        spread: Standard deviation of the scores of the texts as they are, in points of the scale; None where fewer than
            two were scored, or all alike.
        threshold: Gain from which an attack succeeded, in points of the scale.
        seed, resamples, confidence: How attacks and intervals were drawn.
        notes: What the reader should know.
    """

    signature: str
    scale: Scale
    families: tuple[FamilyResult, ...]
    kinds: tuple[KindResult, ...]
    overall: Lift
    replacing: Lift
    texts: int
    documents: int
    unscored: int
    not_asked: int
    spent: str | None
    spread: float | None
    threshold: float
    seed: int
    resamples: int
    confidence: float
    notes: tuple[str, ...]

    def percent(self, points: float | None) -> float | None:
        """Points of the scale as a percentage of it."""
        return None if points is None else 100.0 * points / (self.scale.high - self.scale.low)

    @property
    def failed(self) -> int:
        """Attacked texts that were left unscored, though the texts were scored as they were."""
        return self.overall.failed + self.replacing.failed

    @property
    def as_good_as_text(self) -> tuple[FamilyResult, ...]:
        """Families that replace the text, and for all that can be told do not score lower than it; the best first."""
        found = [one for one in self.families if one.replaces and one.lift.interval and one.lift.interval[1] >= 0]
        return tuple(sorted(found, key=lambda one: -(one.lift.mean or 0.0)))

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain JSON values; lifts also as percentages of the scale, ``as_good_as_text`` by name."""
        document: dict[str, Any] = asdict(self) | {"scale": str(self.scale)}
        lifts = [(part["lift"], of.lift) for part, of in zip(document["families"], self.families, strict=True)]
        lifts += [(part["lift"], of.lift) for part, of in zip(document["kinds"], self.kinds, strict=True)]
        lifts += [(document["overall"], self.overall), (document["replacing"], self.replacing)]
        for written, lift in lifts:
            written["percent"] = self.percent(lift.mean)
            written["percent_interval"] = lift.interval and [self.percent(end) for end in lift.interval]
        document["as_good_as_text"] = [one.name for one in self.as_good_as_text]
        plain: dict[str, Any] = _plain(document)
        return plain

    def rows(self) -> list[dict[str, Any]]:
        """A row a family."""
        rows = []
        for one in self.families:
            lift = one.lift
            low, high = lift.interval or (None, None)
            success_low, success_high = lift.success_interval or (None, None)
            rows.append(
                {
                    "family": one.name,
                    "kind": one.kind,
                    "replaces": one.replaces,
                    "lift": lift.mean,
                    "lift_low": low,
                    "lift_high": high,
                    "lift_percent": self.percent(lift.mean),
                    "lift_deviations": lift.deviations,
                    "success": lift.success,
                    "success_low": success_low,
                    "success_high": success_high,
                    "original": lift.original,
                    "attacked": lift.attacked,
                    "scored": lift.scored,
                    "failed": lift.failed,
                    "skipped": lift.skipped,
                    "not_asked": lift.not_asked,
                    "declined": lift.declined,
                }
            )
        return rows

    @property
    def words(self) -> list[str]:
        """Lines of text: a table by kind and family, and what it says."""
        from active_critic.probes._attack_words import told

        return told(self)


def attack_trial(
    evaluator: Evaluator,
    examples: Any,
    *,
    families: str | Sequence[str] | None = None,
    seed: int = 0,
    threshold: float = SUCCESS,
    resamples: int | None = None,
    confidence: float = 0.95,
    progress: Progress | None = None,
) -> AttackTrial:
    """Score texts as they are and under attack.

    Texts that the evaluator's program shows as demonstrations are left out, and so are those that are there twice.

    Args:
        evaluator: A fitted evaluator.
        examples: Texts, as :meth:`Evaluator.score_many` takes items; human scores are not needed.
        families: Names of families or of kinds (see ``attacks.attacks_named``); None: all.
        seed: Of the attacks and the resampling.
        threshold: See ``SUCCESS``; a part of the scale.
        resamples: Bootstrap resamples of whole documents; default: 1,000 to 10,000, as many as draw a million texts.
        confidence: Coverage that the intervals aim at.
        progress: See :data:`active_critic.evaluators.base.Progress`.

    Raises:
        DataError: No text is left to attack, or there is no such family.
        FitError: The evaluator is not fitted, or the seed, or the number of resamples, is no whole number.
        ModelError: The endpoint cannot be used.
        ValueError: The threshold is not above 0 and at most 1, or the confidence does not lie between 0 and 1.
    """
    threshold, confidence = plain_value(threshold), plain_value(confidence)
    if not isinstance(threshold, Real) or not 0 < threshold <= 1:  # nor NaN
        raise ValueError(f"the threshold is a part of the scale above 0, up to 1 for all of it, not {threshold!r}")
    check_confidence(confidence)
    check_progress(progress)
    seed = check_whole("seed", seed, 0)
    resamples = None if resamples is None else check_whole("resamples", resamples, 0, RESAMPLES)
    program = program_of(evaluator)
    attacks = attacks_named(families)
    texts, notes = to_probe(read(examples, program), program.shown)
    resamples = resamples_for(len(texts), resamples)
    attacker = Attacker.of(program, seed=seed)
    applies: list[list[bool]] = []  # text by text, which attacks do; attacked texts themselves are not kept
    left_out = 0

    def stream() -> Iterator[Example]:
        nonlocal left_out
        for text in texts:
            yield text  # a text and its attacks together: they share their source, and the prompt as far as it goes
            applies.append([])
            for attack in attacks:
                changed = _attacked(text, attack, attacker)
                applies[-1].append(changed is not None)
                if changed is None:
                    left_out += 1
                else:
                    yield changed

    def told(what: str, done: int, _: int) -> None:
        if progress is not None:
            progress(what, done, len(texts) * (1 + len(attacks)) - left_out)

    verdicts = iter(list(evaluator.score_many(stream(), explain=False, progress=told)))
    before: list[Verdict] = []
    after: list[list[Verdict | None]] = []
    for row in applies:
        before.append(next(verdicts))
        after.append([next(verdicts) if applied else None for applied in row])
    scale: Scale = program.scale
    least = threshold * (scale.high - scale.low)
    documents = [group_of(text) for text in texts]
    pairs = Pairs(documents, before, scale, least, resamples, confidence, seed)
    kept = [column for column, attack in enumerate(attacks) if not attack.replaces]
    replaced = [column for column, attack in enumerate(attacks) if attack.replaces]
    results = [
        FamilyResult(
            attack.name,
            attack.kind,
            attack.about,
            attack.replaces,
            pairs.lift(after, [column]),
            _reasons(before, [row[column] for row in after]),
        )
        for column, attack in enumerate(attacks)
    ]
    return AttackTrial(
        signature=evaluator.signature,
        scale=scale,
        families=tuple(results),
        kinds=tuple(_kinds(attacks, results, after, pairs)),
        overall=pairs.lift(after, kept),
        replacing=pairs.lift(after, replaced),
        texts=len(texts),
        documents=len(set(documents)),
        unscored=sum(verdict.score is None for verdict in before),
        not_asked=sum(budget_spent(verdict.unscored or "") for verdict in before),
        spent=first_spent(verdict.unscored or "" for verdict in chain(before, *after) if verdict is not None),
        spread=pairs.spread,
        threshold=least,
        seed=seed,
        resamples=resamples,
        confidence=confidence,
        notes=tuple(notes),
    )


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(part) for name, part in value.items()}
    return [_plain(part) for part in value] if isinstance(value, list | tuple) else value


def _attacked(text: Example, attack: Attack, attacker: Attacker) -> Example | None:
    response = attack(text.response, text.source, attacker)
    if response is None or not response.strip() or response == text.response:
        return None
    return Example(response, text.source, group=group_of(text), system=text.system, reference=text.reference)


def _reasons(before: Sequence[Verdict], after: Sequence[Verdict | None]) -> tuple[tuple[str, int], ...]:
    reasons = [
        verdict.unscored.partition(" (it was: ")[0]  # without the reply: each is another
        for was, verdict in zip(before, after, strict=True)
        if was.score is not None and verdict is not None and verdict.unscored is not None
    ]
    return tuple(sorted(counted(reasons).items(), key=lambda pair: (-pair[1], pair[0])))


def _kinds(
    attacks: Sequence[Attack], results: Sequence[FamilyResult], after: list[list[Verdict | None]], pairs: Pairs
) -> Iterator[KindResult]:
    for kind in KINDS:
        every = [column for column, attack in enumerate(attacks) if attack.kind == kind]
        if columns := [column for column in every if not attacks[column].replaces] or every:
            scored = [(results[c].lift.mean, results[c].name) for c in columns]
            worst = max(((mean, name) for mean, name in scored if mean is not None), default=None)
            yield KindResult(kind, len(columns), pairs.lift(after, columns), worst[1] if worst else None)
