"""What an examination of an evaluator's behaviour found, in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from active_critic.figures_in_words import figure_words, how_many, interval_words, number_words, sentence
from active_critic.probes.aspects import EFFECTS, OVERALL
from active_critic.probes.perturbations import NOT_ENGLISH

if TYPE_CHECKING:
    from active_critic.probes.behaviour import Behaviour, Change

_SHOWN = 12


def told(found: Behaviour) -> list[str]:
    """The findings, one a line."""
    lines = [*_setting(found), *_stands_for(found), *_directional(found), *_invariance(found)]
    return [*lines, *_pairs(found), *_constant(found)]


def in_short(found: Behaviour) -> list[str]:
    """The same without what stands in tables beside it: which criterion is which aspect, and how each test went."""
    counts = [*_directional(found)[:1], *_invariance(found)[:1]]
    return [*_setting(found), *counts, *_pairs(found), *_constant(found)]


def _constant(found: Behaviour) -> list[str]:
    lines = []
    constant = [name for name in found.constant if name != OVERALL]
    if OVERALL in found.constant:
        lines.append("The overall score is the same for every text, as it was and perturbed.")
    if constant:
        lines.append(f"The same score for every text, as it was and perturbed: {_few(constant)}.")
    return lines


def _setting(found: Behaviour) -> list[str]:
    first = (
        f"{found.scored} of {found.examples} texts ({found.documents} documents) were scored as they were, and after "
        f"each of {len(found.treated)} perturbations (by {found.by}, seed {found.seed}). Changes are in points of "
        f"{found.scale}, intervals {100 * found.confidence:g} % over documents; a change within ±{found.tolerance:g} "
        "is none."
    )
    lines = [first, *map(sentence, found.notes)]
    if found.reasons:
        why = "; ".join(f"{reason} ({count})" for reason, count in found.reasons.items())
        lines.append(f"Not scored as they were, and left out: {why}.")
    foreign = [count for one in found.treated if (count := one.skipped.get(NOT_ENGLISH))]
    if foreign:
        lines.append(
            f"{max(foreign)} of {found.scored} texts do not show that they are English, and the rules of "
            f"{how_many(len(foreign), 'perturbation')} are for English and left these alone; a model may perturb them "
            "(by model)."
        )
    nowhere = [one.name for one in found.treated if not one.applied]
    if nowhere:
        lines.append(f"Fits none of the texts: {_few(nowhere)}.")
    failed = [f"{one.name} ({one.unscored})" for one in found.treated if one.unscored]
    if failed:
        lines.append(f"Perturbed texts left unscored, which count nowhere: {_few(failed)}.")
    left = [f"{one.name} ({one.not_asked})" for one in found.treated if one.not_asked]
    if left:
        lines.append(f"Perturbed texts not asked for, which count nowhere: {_few(left)}. The reason: {found.spent}.")
    return lines


def _stands_for(found: Behaviour) -> list[str]:
    if not found.matched:
        return ["It gives no scores by criterion: only the overall score is tested."]
    known = [f"{one.criterion} = {one.aspect} ({one.why})" for one in found.matched if one.aspect]
    unknown = [f"{one.criterion} ({one.why})" for one in found.matched if not one.aspect]
    lines = [f"Criteria taken for aspects: {_few(known)}."] if known else []
    return [*lines, f"Criteria taken for none, and not tested: {_few(unknown)}."] if unknown else lines


def _of_aspects(found: Behaviour, expected: str) -> list[Change]:
    return [one for one in found.changes if one.kind == "aspect" and one.expected == expected and one.outcome]


def _directional(found: Behaviour) -> list[str]:
    tests = _of_aspects(found, "falls")
    if not tests:
        return ["Directional expectation test: nothing could be tested."]
    fell = [one for one in tests if one.outcome == "falls"]
    lines = [f"Directional expectation test: {len(fell)} of {len(tests)} scores that should fall do."]
    kinds = (
        ("Sensitive to", "falls"),
        ("Faintly sensitive to", "faint"),
        ("Blind to", "still"),
        ("Better, where it should be worse", "rises"),
        ("Not decided", "unclear"),
    )
    for title, outcome in kinds:
        hits = [_change(one) for one in tests if one.outcome == outcome]
        if hits:
            lines.append(f"{title}: {_few(hits)}.")
    return lines


def _invariance(found: Behaviour) -> list[str]:
    tests = _of_aspects(found, "still")
    if not tests:
        return ["Invariance test: nothing could be tested."]
    still = [one for one in tests if one.outcome == "still"]
    broken = sorted((one for one in tests if one.outcome == "moves"), key=lambda one: -abs(one.change or 0.0))
    open_ones = len(tests) - len(still) - len(broken)
    counts = (
        f"{len(still)} of {len(tests)} scores that should not move do not, {len(broken)} do, {open_ones} not decided."
    )
    lines = [f"Invariance test: {counts}"]
    if broken:
        confused = [f"{one.name} with {EFFECTS[one.perturbation].target}: {_change(one)}" for one in broken]
        lines.append(f"Confuses: {_few(confused)}.")
    return lines


def _pairs(found: Behaviour) -> list[str]:
    if not found.pairs:
        return []
    lines = []
    alike = [one for one in found.pairs if one.closer]
    if alike:
        said = [
            f"{one.a} and {one.b} ({_number(one.critic)}, people {_number(one.human)}, "
            f"difference {interval_words(one.excess, '+z.2f')})"
            for one in alike
        ]
        lines.append(f"Its scores go together more than people's do: {_few(said)}.")
    elif any(one.excess for one in found.pairs):
        lines.append("For no pair of criteria do its scores clearly go together more than people's do.")
    if not any(one.human is not None for one in found.pairs):
        said = [f"{one.a} and {one.b} {_number(one.critic)}" for one in found.pairs]
        lines.append(f"How its criteria go together (Pearson; people scored none of these pairs): {_few(said)}.")
    return lines


def _change(one: Change) -> str:
    subject = "the overall score" if one.name == OVERALL else one.name
    shown = "not measured" if one.change is None else figure_words(one.change, one.interval, "+z.2f")
    return f"{one.perturbation} in {subject} {shown}"


def _number(value: float | None) -> str:
    return number_words(value, none="not defined")


def _few(things: Sequence[str]) -> str:
    more = f"; and {len(things) - _SHOWN} more" if len(things) > _SHOWN else ""
    return "; ".join(things[:_SHOWN]) + more
