"""What ``active-critic probe --attacks`` found, for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from active_critic.figures_in_words import NONE, interval_below, number_words
from active_critic.probes._attack_words import findings, gains, rows_of, setting
from active_critic.report.tables import heading, list_under, table_of
from active_critic.report.texts import plain

if TYPE_CHECKING:
    from active_critic.probes.attack_trial import AttackTrial
    from active_critic.probes.lifts import Lift

_COUNTS = ("scored", "failed", "declined", "not asked", "skipped")
_NUMBERS = ("lift", "of the scale", "SDs", "success", "before", "after", *_COUNTS)
_LEGEND = (
    "Before and after: mean scores of texts as they were, and attacked. ↑, in red: the interval of the lift lies above "
    "0. Failed: left unscored under attack. Declined: nothing but a forged reply, which the judge would not rate. "
    "Skipped: texts to which an attack does not apply."
)


def attacks_account(trial: AttackTrial) -> RenderableType:
    """A trial of attacks as sentences and tables."""
    said = [Text(plain(sentence)) for sentence in findings(trial)]
    basis = [Text(plain(sentence), style="dim") for sentence in (*setting(trial), _LEGEND)]
    failed = [f"{one.name}: {reason} ({count:,})" for one in trial.families for reason, count in one.reasons]
    return Group(
        *said,
        heading("What attacks gain, by kind and family"),
        *basis,
        _figures(trial),
        *list_under("Why attacked texts were left unscored", failed),
    )


def _figures(trial: AttackTrial) -> Table:
    table = table_of("", *_NUMBERS, right=_NUMBERS)
    for name, lift, family in rows_of(trial):
        head = Text(plain(name))
        if family is not None:
            head.append(f"\n{plain(family.about)}", style="dim")
        table.add_row(head, *_cells(lift, trial), style="" if family else "bold")
    return table


def _cells(lift: Lift, trial: AttackTrial) -> list[Text]:
    percent = trial.percent(lift.mean)
    gained = Text("↑ " * gains(lift) + number_words(lift.mean, "+z.2f"), style="red" if gains(lift) else "")
    gained.append(interval_below(lift.interval, "+z.2f"), style="dim")
    success = Text(number_words(lift.success, ".0%"))
    success.append(interval_below(lift.success_interval, ".0%"), style="dim")
    return [
        gained,
        Text(NONE if percent is None else f"{percent:+z.0f}%"),
        Text(number_words(lift.deviations, "+z.1f")),
        success,
        Text(number_words(lift.original)),
        Text(number_words(lift.attacked)),
        *(Text(f"{count:,}") for count in (lift.scored, lift.failed, lift.declined, lift.not_asked, lift.skipped)),
    ]
