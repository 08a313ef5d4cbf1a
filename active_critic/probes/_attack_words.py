"""What a trial of attacks found, in lines of text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from active_critic.figures_in_words import NONE, how_many, interval_words, number_words

if TYPE_CHECKING:
    from active_critic.probes.attack_trial import AttackTrial, FamilyResult
    from active_critic.probes.lifts import Lift
    from active_critic.stats import Interval

_SHOWN = 5
_NAME = 21
_WIDTHS = (7, 16, 6, 15, 7, 7)


def told(trial: AttackTrial) -> list[str]:
    """A table, kind by kind, and sentences on what it says."""
    lines = [_row("", "lift", "interval", "SDs", "success %", "scored", "failed")]
    for name, lift, family in rows_of(trial):
        lines.append(_figures(f"  {name}" if family else name, lift))
    return [*lines, "", *setting(trial), *findings(trial)]


def rows_of(trial: AttackTrial) -> Iterator[tuple[str, Lift, FamilyResult | None]]:
    """The rows of its table: each kind and its families, then all of them; a name, what it gained, and which family."""
    for kind in trial.kinds:
        yield kind.kind.upper(), kind.lift, None
        for one in trial.families:
            if one.kind == kind.kind:
                yield one.name, one.lift, one
    replacing = [one.replaces for one in trial.families]
    if not all(replacing):
        yield "ALL BUT REPLACING" if any(replacing) else "ALL", trial.overall, None
    if any(replacing):
        yield "REPLACING", trial.replacing, None


def _row(*cells: str) -> str:
    head, *rest = cells
    return (
        f"{head:<{_NAME}}" + "".join(f"{cell:>{width}}" for cell, width in zip(rest, _WIDTHS, strict=True))
    ).rstrip()


def _figures(name: str, lift: Lift) -> str:
    return _row(
        name,
        number_words(lift.mean, "+z.2f"),
        interval_words(lift.interval, "+z.2f"),
        number_words(lift.deviations, "+z.1f"),
        NONE if lift.success is None else f"{100 * lift.success:.0f} {_shares(lift.success_interval)}".rstrip(),
        f"{lift.scored:,}",
        f"{lift.failed:,}",
    )


def _shares(interval: Interval | None) -> str:
    return "" if interval is None else f"[{100 * interval[0]:.0f} {100 * interval[1]:.0f}]"


def setting(trial: AttackTrial) -> list[str]:
    """What the figures are of, and which texts do not count."""
    together, confidence = (trial.overall, trial.replacing), f"{trial.confidence:.0%}".replace("%", " %")
    meaning = (
        f"Lift: mean gain in points of the scale {trial.scale} over the same texts as they were, also in "
        f"standard deviations (SDs) of their scores; success: the part of them that gained "
        f"{trial.threshold:g} or more; {confidence} bootstrap intervals over documents "
        f"({trial.resamples:,} resamples, seed {trial.seed})."
    )
    size = f"{how_many(trial.texts, 'text')} of {how_many(trial.documents, 'document')}, "
    said = [*trial.notes, meaning, size + f"{how_many(len(trial.families), 'family', 'families')}."]
    if apart := _apart(trial):
        said.append(apart)
    if nowhere := [one.name for one in trial.families if one.lift.skipped == trial.texts - trial.unscored > 0]:
        said.append(f"Not tried, for it can be made of none of these texts (nothing to copy): {', '.join(nowhere)}.")
    if unscored := trial.unscored - trial.not_asked:
        said.append(f"{unscored:,} of {trial.texts:,} texts could not be scored as they are, and do not count.")
    if failed := sum(lift.failed for lift in together):
        said.append(
            f"{failed:,} attacked texts were left unscored (failed). They gain nothing and do not count in "
            "the lift; whoever has to score them has to read them."
        )
    if declined := sum(lift.declined for lift in together):
        said.append(
            f"{declined:,} attacked texts are nothing but a forged reply: the judge would not rate them. They count as "
            "little, and are no failures."
        )
    if trial.spent is not None:
        left = {
            f"{trial.not_asked:,} of {trial.texts:,} texts as they are, and the attacks on them": trial.not_asked,
            f"{(attacked := sum(lift.not_asked for lift in together)):,} attacked texts": attacked,
        }
        which = "; ".join(what for what, count in left.items() if count)
        said.append(f"Not asked for, and counted nowhere: {which}. The reason: {trial.spent}.")
    return said


def _apart(trial: AttackTrial) -> str:
    """Which kinds count fewer families than they have, so that rows do not add up."""
    kinds = [kind for kind in trial.kinds if kind.families < sum(one.kind == kind.kind for one in trial.families)]
    if not kinds:
        return ""
    names = ", ".join(one.name for one in trial.families if one.replaces and one.kind in {kind.kind for kind in kinds})
    return (
        f"{' and '.join(kind.kind.upper() for kind in kinds)}: without what stands in place of the text ({names}), "
        "which counts in REPLACING."
    )


def findings(trial: AttackTrial) -> list[str]:
    """What the figures say."""
    together = (trial.overall, trial.replacing)
    if all(lift.mean is None for lift in together):
        return ["No attacked text was scored, so nothing can be said about what attacks gain."]
    if all(lift.interval is None for lift in together):
        few = "Texts of fewer than five documents were scored, so there are no intervals"
        return [f"{few}: how sure these figures are cannot be said."]
    said = []
    gained = sorted((one for one in trial.families if gains(one.lift)), key=lambda one: -(one.lift.mean or 0.0))
    if gained:
        said.append(f"Families that lift the score, their interval above 0: {_listed(gained)}.")
    else:
        said.append("No family lifts the score for certain: no interval lies above 0.")
    if as_good := trial.as_good_as_text:
        said.append(f"Nothing scores as well as the text, for all that can be told (not below 0): {_listed(as_good)}.")
    return said


def _listed(families: Sequence[FamilyResult]) -> str:
    listed = ", ".join(f"{one.name} ({one.lift.mean:+z.2f})" for one in families[:_SHOWN])
    return listed + (f" and {len(families) - _SHOWN} more" if len(families) > _SHOWN else "")


def gains(lift: Lift) -> bool:
    """Whether it lies above 0 for all that can be told."""
    return lift.interval is not None and lift.interval[0] > 0
