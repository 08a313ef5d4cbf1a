"""Verdicts, and what is said of many."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from active_critic.figures_in_words import figure_words, number_words
from active_critic.report.fits import agreement_table
from active_critic.report.tables import listed, table_of
from active_critic.report.texts import SHORT, cost_words, model_words, plain, shorten

if TYPE_CHECKING:
    from active_critic.records import Scale, Verdict

WHOLE = 20_000
"""Characters that stand there of a text that is shown whole."""


@dataclass(frozen=True, slots=True)
class Judged:
    """A row of a table of verdicts.

    Attributes:
        label: What the item is called.
        verdict: The verdict.
        source, response, human: The texts and the human score, where known.
        row: Where it stands in its file, if the label does not say so.
    """

    label: str
    verdict: Verdict
    source: str = ""
    response: str = ""
    human: float | None = None
    row: int | None = None


def verdict_table(
    rows: Sequence[Judged], *, whom: str = "people", whole: bool = False, scale: Scale | None = None
) -> Table:
    """Verdicts to read; the scores to compare with have a column of their own, ``whom``, where there are any.

    Args:
        rows: The verdicts.
        whom: Whose scores they are compared with.
        whole: Shorten only what is longer than ``WHOLE``, and show intervals, notes, the reason of every criterion and
            the places in the file, too.
        scale: That of the critic; where all scores to compare with are on it, the differences have a column, too.
    """
    given = [row.human for row in rows if row.human is not None]
    apart = bool(given) and scale is not None and all(score in scale for score in given)
    difference = f"critic \N{MINUS SIGN} {whom}"
    columns = ("item", *((whom,) if given else ()), "critic", *((difference,) if apart else ()), "text", "why")
    table = table_of(*columns, right=(whom, "critic", difference))
    table.columns[0].max_width = 16

    def cut(text: str, longest: int) -> str:
        if not whole:
            return shorten(text, longest)
        return plain(text[:WHOLE], lines=True) + ("…" if len(text) > WHOLE else "")

    for row in rows:
        text = Text(cut(row.response, 220))
        if whole and row.source.strip():  # what is judged comes first, however long its source is
            text.append("\nSource: ", style="dim").append(cut(row.source, WHOLE), style="dim")
        elif row.source.strip():
            text = Text.assemble((cut(row.source, 110) + "\n→ ", "dim"), text)
        score = Text(number_words(row.verdict.score), style="bold")
        if whole and row.verdict.interval:
            low, high = row.verdict.interval
            score.append(f"\n{low:.2f} to {high:.2f}", style="not bold dim")
        label = Text(plain(row.label) if whole else shorten(row.label, 40))  # whole, it can be searched for
        if whole and row.row is not None:
            label.append(f"\nrow {row.row}", style="dim")
        cells = [label, score, text, _why(row.verdict, cut, reasons=whole)]
        if whole:
            for note in row.verdict.notes:
                cells[-1].append("\nNote: ", style="dim").append(plain(note), style="dim")
        if apart:
            cells.insert(2, Text(number_words(_above(row), "+z.2f")))
        if given:
            cells.insert(1, Text(number_words(row.human, ".6g")))
        table.add_row(*cells)
        table.add_row()
    return table


def _above(row: Judged) -> float | None:
    """How far the critic's score is above the one to compare with."""
    return None if row.verdict.score is None or row.human is None else row.verdict.score - row.human


def _why(verdict: Verdict, cut: Callable[[str, int], str], *, reasons: bool) -> Text:
    if verdict.unscored is not None:
        return Text("unscored: " + cut(verdict.unscored, 240), style="red")
    lines = [Text(cut(verdict.explanation, 240))] if verdict.explanation else []
    ratings = [(f"{plain(c.name)} {number_words(c.score)}", c.explanation) for c in verdict.criteria]
    if reasons:
        lines += [_labelled(rating, cut(why, WHOLE) if why else "") for rating, why in ratings]
    elif ratings:
        lines.append(Text(", ".join(rating for rating, _ in ratings), style="dim"))
    if verdict.advice:
        lines.append(_labelled("Better", cut(verdict.advice, SHORT)))
    return Text("\n").join(lines)


def _labelled(label: str, said: str) -> Text:
    return Text.assemble((label, "dim"), (": ", "dim"), said) if said else Text(label, style="dim")


def _kinds(counted: Iterable[Mapping[str, Any]]) -> RenderableType:
    """Reasons or notes, a line each: how often, and where first."""
    return listed(f"{one['count']:,} × {shorten(one['reason'], 300)} (first: row {one['row']})" for one in counted)


def score_summary(summary: Mapping[str, Any]) -> RenderableType:
    """The summary of a scoring run (the document of ``score --json``)."""
    mean, interval = summary["mean_score"], summary["mean_interval"]
    said = "" if mean is None else f", mean score {figure_words(mean, interval)} on {summary['scale']}"
    parts: list[RenderableType] = [
        Text(f"{summary['scored']:,} of {summary['items']:,} items scored{said}", style="bold")
    ]
    if interval is not None:
        parts.append(Text("In brackets: the 95 % interval of the mean, were other documents like these scored."))
    if summary["unscored"]:
        parts.append(Text(f"{summary['unscored']:,} unscored:", style="red"))
        parts.append(_kinds(summary["reasons"]))
    if summary["noted"]:
        parts += [Text("Noted of scored items:"), _kinds(summary["noted"])]
    if summary["agreement"]:
        found = summary["agreement"]
        parts.append(Text(""))
        if found["figures"]["mean"] is not None:
            parts.append(agreement_table({"this critic": found["figures"]}))
        parts += [Text(plain(sentence)) for sentence in found["words"]]
        parts.append(Text(""))
    if summary.get("program"):
        parts.append(Text(plain(f"scored by {PurePath(summary['program']).name}, {model_words(summary['model'])}")))
    parts.append(Text(cost_words(summary["model"], summary["usage"], summary["seconds"])))
    if summary["output"]:
        parts.append(Text(f"written to {plain(summary['output'])}"))
    return Group(*parts)
