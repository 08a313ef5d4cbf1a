"""What a trial of attacks found, in lines of text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from active_critic.stats import Interval

if TYPE_CHECKING:
    from active_critic.probes.attack_trial import AttackTrial, FamilyResult, Lift

_SHOWN = 5
_WIDTHS = (7, 17, 10, 8, 7, 7)


def told(trial: AttackTrial) -> list[str]:
    """A table, kind by kind, and sentences on what it says."""
    lines = [_row("", "lift", "interval", "of scale", "success", "scored", "failed")]
    for kind in trial.kinds:
        lines.append(_figures(kind.kind.upper(), kind.lift, trial))
        lines += [_figures(f"  {one.name}", one.lift, trial) for one in trial.families if one.kind == kind.kind]
    lines.append(_figures("ALL", trial.overall, trial))
    return [*lines, "", *_sentences(trial)]


def _row(*cells: str) -> str:
    head, *rest = cells
    return (f"{head:<22}" + "".join(f"{cell:>{width}}" for cell, width in zip(rest, _WIDTHS, strict=True))).rstrip()


def _figures(name: str, lift: Lift, trial: AttackTrial) -> str:
    percent = trial.percent(lift.mean)
    return _row(
        name,
        "–" if lift.mean is None else f"{lift.mean:+.2f}",
        _between(lift.interval),
        "–" if percent is None else f"{percent:+.0f} %",
        "–" if lift.success is None else f"{lift.success:.0%}".replace("%", " %"),
        f"{lift.n:,}",
        f"{lift.failures:,}",
    )


def _between(interval: Interval | None) -> str:
    return "" if interval is None else f"[{interval[0]:+.2f} {interval[1]:+.2f}]"


def _sentences(trial: AttackTrial) -> list[str]:
    overall, confidence = trial.overall, f"{trial.confidence:.0%}".replace("%", " %")
    meaning = (
        f"Lift: mean gain in points of the scale {trial.scale} over the same texts as they were; success: the part of "
        f"them that gained {trial.threshold:g} or more; {confidence} bootstrap intervals over documents "
        f"({trial.resamples:,} resamples, seed {trial.seed})."
    )
    size = (
        f"{trial.texts:,} text{'s' * (trial.texts != 1)} of {trial.documents:,} document"
        f"{'s' * (trial.documents != 1)}, {len(trial.families)} families."
    )
    said = [
        *trial.notes,
        meaning,
        size,
    ]
    if trial.unscored:
        said.append(f"{trial.unscored:,} of {trial.texts:,} texts could not be scored as they are, and do not count.")
    if overall.failures:
        said.append(
            f"{overall.failures:,} attacked texts were left unscored (failed). They gain nothing and do not count in "
            "the lift; whoever has to score them has to read them."
        )
    if overall.mean is None:
        return [*said, "No attacked text was scored, so nothing can be said about what attacks gain."]
    if overall.interval is None:
        return [*said, "Texts of fewer than five documents were scored: how sure these figures are cannot be said."]
    gained = sorted((one for one in trial.families if _gains(one)), key=lambda one: -(one.lift.mean or 0.0))
    if not gained:
        return [*said, "No family lifts the score for certain: no interval lies above 0."]
    listed = ", ".join(f"{one.name} ({one.lift.mean:+.2f})" for one in gained[:_SHOWN])
    more = f" and {len(gained) - _SHOWN} more" if len(gained) > _SHOWN else ""
    return [*said, f"Families that lift the score, their interval above 0: {listed}{more}."]


def _gains(one: FamilyResult) -> bool:
    return one.lift.interval is not None and one.lift.interval[0] > 0
