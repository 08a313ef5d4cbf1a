"""How far an evaluator agrees with people, and the honest report of a fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from active_critic.figures_in_words import NONE, count_words, dollars, figure_words, number_words
from active_critic.report.accounts import Account
from active_critic.report.tables import Columns, table_of
from active_critic.report.texts import count, plain

_RIVALS = {"critic": "this critic", "zero_shot": "zero-shot", "surface": "surface floor"}
COEFFICIENTS = {"pearson": "Pearson", "spearman": "Spearman", "kendall": "Kendall", "mean": "mean of 3"}
LEVELS = {"dataset": "over all examples", "document": "within documents", "system": "over systems"}


def agreement_table(
    found: Mapping[str, Mapping[str, Any] | None],
    *,
    whom: str = "people",
    more: Mapping[str, Sequence[str]] | None = None,
) -> RenderableType:
    """Pearson, Spearman, Kendall and their mean with intervals.

    Args:
        found: A column an evaluator (``Agreement.to_dict``); None where it was not measured.
        whom: Whose scores they agree with.
        more: Further rows, a cell for each evaluator that was measured.
    """
    known = {name: figures for name, figures in found.items() if figures}
    if not known:
        return Text("Agreement with people could not be measured.")
    rows = {
        shown: [figure_words(figures[name], figures[f"{name}_interval"]) for figures in known.values()]
        for name, shown in COEFFICIENTS.items()
    }
    rows["scored"] = [f"{figures['n']:,} of {figures['total']:,}" for figures in known.values()]
    rows |= {name: list(cells) for name, cells in (more or {}).items()}
    table = Columns(list(known), rows, bold=COEFFICIENTS["mean"])
    sure = [figures for figures in known.values() if figures["mean_interval"]]
    first = next(iter(sure or known.values()))
    basis = f"Agreement with {whom} {LEVELS[first['level']]}"
    if sure:
        documents = count_words([figures["groups"] for figures in sure])
        basis += (
            f"; in brackets {first['confidence']:.0%} bootstrap intervals over {documents} documents "
            f"({first['resamples']:,} resamples, seed {plain(first['seed'])})"
        )
        if (spread := first.get("spread", 1)) > 1:
            basis += f", their quantiles {spread:g} times as far out over folds, which share documents"
    if any(cell == NONE for cells in rows.values() for cell in cells):
        basis += f"; {NONE}: not defined"
    return Group(table, Text(f"{basis}.", style="dim"))


def fit_report(report: Mapping[str, Any]) -> RenderableType:
    """A fit's report (``FitReport.to_dict``): figures, what they say in words, what it cost."""
    if not report:
        return Text(
            "Agreement on held-out folds was not measured, so how well this critic agrees with people is not known."
        )
    table = agreement_table({shown: report.get(name) for name, shown in _RIVALS.items()})
    where = f"Out of fold: {report['held_out']:,} of the {report['examples']:,} training examples count"
    if 0 < report["held_out"] < report["examples"]:  # none: the words say why
        where += "; one that is a demonstration of its fold's winner does not"
    words = [Text(plain(sentence)) for sentence in report["words"]]
    return Group(Account(words, [table, Text(f"{where}.", style="dim")]), Text(""), *_usage(report["usage"]))


def candidates_table(candidates: Sequence[Mapping[str, Any]]) -> RenderableType:
    """The candidates of a search (``Candidate.to_dict``), best first: Q, and what each cost."""
    orders = len({one.get("order") for one in candidates}) > 1
    columns = [
        "candidate",
        "demos",
        "levels",
        *["rates"] * orders,
        "Q",
        "scored",
        "calls",
        "replayed",
        "read",
        "written",
    ]
    columns += ["cost"] * any(one["usage"]["cost"] is not None for one in candidates)
    table = table_of(*columns, right=columns[1:])
    for one in candidates:
        used = one["usage"]
        cells = [
            f"{one['index']}{', chosen' if one['wins'] else ''}",
            f"{len(one['demos'])}",
            f"{one['levels']}",
            *(["first" if one.get("order") == "rating_first" else "last"] if orders else []),
            number_words(one["q"]),
            f"{one['scored']:,} of {one['asked']:,}",
            f"{used['calls']:,}",
            f"{used['replayed']:,}",
            count(used["prompt_tokens"]),
            count(used["completion_tokens"]),
            dollars(used["cost"]),
        ]
        table.add_row(*(Text(plain(cell)) for cell in cells[: len(columns)]), style="bold" if one["wins"] else "")
    meaning = "Q: the sum of three correlations with people, -3 to 3, on the training examples that it was scored on."
    return Group(table, Text(meaning, style="dim"))


def _usage(stages: Mapping[str, Mapping[str, Any]]) -> list[RenderableType]:
    """What a fit cost; where an earlier run paid for a part of it, also what all of it had cost."""
    from active_critic.evaluators.origins import BEFORE

    said = f"{BEFORE}: all that this fit needs, by what each reply cost when it was paid for; retries left out."
    return [_usage_table(stages), *([Text(said, style="dim")] if BEFORE in stages else [])]


def _usage_table(stages: Mapping[str, Mapping[str, Any]]) -> Table:
    columns = ("what it cost", "calls", "replayed", "read", "cached", "written", "seconds", "cost")
    table = table_of(*columns, right=columns[1:])
    for stage, used in stages.items():
        table.add_row(
            Text(plain(stage)),
            f"{used['calls']:,}",
            f"{used['replayed']:,}",
            count(used["prompt_tokens"]),
            count(used["cached_tokens"]),
            count(used["completion_tokens"]),
            f"{used['seconds']:,.0f}",
            dollars(used["cost"]),
        )
    return table
