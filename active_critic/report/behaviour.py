"""What ``active-critic probe`` found where texts are made worse, for people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from active_critic.figures_in_words import NONE, interval_below, number_words
from active_critic.probes._telling import in_short
from active_critic.probes.aspects import EFFECTS, OVERALL
from active_critic.probes.behaviour import treated_by
from active_critic.report.tables import heading, list_under, table_of
from active_critic.report.texts import plain

if TYPE_CHECKING:
    from active_critic.probes.behaviour import Behaviour, Change

_MARKS = {"falls": "↓", "still": "=", "disputed": "·", None: "·"}
_OUTCOMES = {
    ("falls", "falls"): ("sees", "green"),
    ("falls", "faint"): ("faint", "yellow"),
    ("falls", "still"): ("blind", "red"),
    ("falls", "rises"): ("rises", "red"),
    ("still", "still"): ("holds", ""),
    ("still", "moves"): ("confuses", "red"),
}
"""By what should happen and what does: the word for it, and its style."""
_LEGEND = (
    "Each figure is the mean change of a score, with its interval. ↓ it should fall: sees (it does), faint (less than "
    "counts), blind (it does not), rises. = it should not move: holds (it does not), confuses (it does, and takes this "
    "fault for one of its own). · not tested. Unclear: these texts do not decide."
)
_SUMMARY = {"sees": "sees", "faint": "sees faintly", "blind": "is blind to", "rises": "is better for"}
_SUMMARY |= {"confuses": "confuses with its own", "unclear": "not decided"}


def behaviour_account(found: Behaviour) -> RenderableType:
    """What an evaluator notices of worse texts, as sentences and tables."""
    parts: list[RenderableType] = [Text(plain(line)) for line in in_short(found)]
    scores = _scores(found)
    if scores:
        parts += [heading("What each score sees, misses and confuses"), _summary(scores)]
        parts += [heading("By how much the scores change"), Text(_LEGEND, style="dim"), _changes(scores)]
    if found.pairs:
        said = "Pearson's correlation of the critic's scores on the texts as they were; below it, where people scored "
        said += "both, that of theirs. ↑, in red: the critic's clearly go together more than people's do."
        parts += [heading("How its criteria go together"), Text(said, style="dim"), _pairs(found)]
    if found.matched:
        said = "By its words. One that is taken for none is not tested."
        parts += [heading("Which aspect each criterion is taken for"), Text(said, style="dim"), _matched(found)]
    return Group(*parts, heading("How texts were made worse"), *_treated(found))


def _scores(found: Behaviour) -> dict[str, dict[str, Change]]:
    """By score, then by perturbation, what changes: overall, aspects of several criteria (their mean), the criteria."""
    standing = Counter(one.aspect for one in found.matched)
    scores: dict[str, dict[str, Change]] = {}
    for one in found.changes:
        if one.kind == "aspect":
            name = one.name if one.name == OVERALL else f"{one.name}, mean of {standing[one.name]}"
        else:
            name = f"{one.name} ({one.aspect or 'no aspect'})"
        if one.n and (one.kind == "criterion" or one.name == OVERALL or standing[one.name] > 1):
            scores.setdefault(name, {})[one.perturbation] = one
    return scores


def _word(one: Change) -> tuple[str, str]:
    return _OUTCOMES.get((one.expected or "", one.outcome or ""), (one.outcome or "", "dim"))


def _summary(scores: Mapping[str, Mapping[str, Change]]) -> Table:
    words = {name: {place: _word(one)[0] for place, one in changes.items()} for name, changes in scores.items()}
    there = {word for by_place in words.values() for word in by_place.values()}
    shown = [word for word in _SUMMARY if word in there]
    table = table_of("", *(_SUMMARY[word] for word in shown))
    for name, by_place in words.items():
        if not set(shown) & set(by_place.values()):
            continue  # nothing was tested
        lists = (", ".join(place for place, said in by_place.items() if said == word) for word in shown)
        table.add_row(Text(plain(name)), *(Text(said or NONE) for said in lists))
    return table


def _changes(scores: Mapping[str, Mapping[str, Change]]) -> Table:
    table = table_of("", *map(plain, scores))
    for perturbation in dict.fromkeys(place for changes in scores.values() for place in changes):
        head = Text.assemble(plain(perturbation), (f"\nagainst {EFFECTS[perturbation].target}", "dim"))
        table.add_row(head, *(_change(changes.get(perturbation)) for changes in scores.values()))
    return table


def _change(one: Change | None) -> Text:
    if one is None or one.change is None:
        return Text(NONE)
    word, style = _word(one)
    said = Text(f"{_MARKS[one.expected]} {one.change:+z.2f} ")
    said.append(word, style=style)
    return said.append(interval_below(one.interval, "+z.2f"), style="dim")


def _pairs(found: Behaviour) -> Table:
    names = list(dict.fromkeys(name for pair in found.pairs for name in (pair.a, pair.b)))
    by_place = {place: pair for pair in found.pairs for place in ((pair.a, pair.b), (pair.b, pair.a))}
    table = table_of("", *map(plain, names))
    for row in names:
        cells = []
        for column in names:
            pair = by_place.get((row, column))
            cell = Text()
            if pair is not None:
                cell.append("↑ " * pair.closer + number_words(pair.critic), style="red" if pair.closer else "")
            if pair is not None and pair.human is not None:
                cell.append(f"\npeople {number_words(pair.human)}", style="dim")
            cells.append(cell)
        table.add_row(Text(plain(row)), *cells)
    return table


def _matched(found: Behaviour) -> Table:
    table = table_of("criterion", "aspect", "why")
    for one in found.matched:
        table.add_row(*(Text(plain(cell)) for cell in (one.criterion, one.aspect or "none", one.why)))
    return table


def _treated(found: Behaviour) -> list[RenderableType]:
    numbers = ("made worse", "skipped", "unscored", "not asked")
    table = table_of("perturbation", "by", *numbers, right=numbers)
    why = []
    for one in found.treated:
        counts = (one.applied, sum(one.skipped.values()), one.unscored, one.not_asked)
        table.add_row(Text(plain(one.name)), treated_by(one.name, found.by), *(f"{count:,}" for count in counts))
        for reasons in (one.skipped, one.reasons):
            why += [f"{one.name}: {reason} ({count:,})" for reason, count in reasons.items()]
    return [table, *list_under("Why the others were not", why)]
