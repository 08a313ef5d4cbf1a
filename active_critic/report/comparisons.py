"""What ``active-critic compare`` found, for people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from active_critic.data.examples import group_of
from active_critic.figures_in_words import (
    NONE,
    count_words,
    dollars,
    figure_words,
    interval_below,
    number_words,
    p_words,
)
from active_critic.meta_evaluation.comparison import ranked
from active_critic.report.accounts import Account
from active_critic.report.fits import COEFFICIENTS, LEVELS
from active_critic.report.tables import heading, list_under, table_of
from active_critic.report.texts import plain

if TYPE_CHECKING:
    from active_critic.meta_evaluation.comparison import Compared, Comparison, MethodResult
    from active_critic.records import Usage

GAP = 1
"""Blanks between the columns of these tables, which would not fit 80 columns with more."""
PRICES = ("calls to fit", "to score", "read", "cached", "written", "seconds", "cost")


def comparison_account(found: Comparison) -> RenderableType:
    """A comparison as sentences and tables; methods that agree best come first."""
    methods = ranked(found.methods)
    parts: list[RenderableType] = [heading("Agreement with people"), _figures(methods), dim(_basis(found, methods))]
    if any(method.over_baseline or method.over_floor for method in methods):
        parts += [Text(""), heading("Differences"), _differences(methods), dim(_tested(found))]
    if found.model is not None:
        said = f"What each method needs by itself with {plain(found.model)}, all splits together, whether it was paid "
        said += "for now or is in the journal since an earlier run."
        parts += [Text(""), heading("What it takes"), _prices(methods, found), dim(said)]
    return Account([Text(plain(sentence)) for sentence in found.words], parts, list_under("Notes", found.notes))


def dim(said: str) -> Text:
    """What stands below a table."""
    return Text(said, style="dim")


def _basis(found: Comparison, methods: Sequence[MethodResult]) -> str:
    settings, data = found.settings, found.data
    first = methods[0].agreement
    documents = len({group_of(example) for example in data})
    repeats = f", {settings['repeats']} times" if settings["repeats"] > 1 else ""
    if settings["train"] is None:
        split = f"{settings['folds']} folds{repeats}, each tested by a fit on the others"
    else:
        most = settings["test_documents"]
        tested = count_words([len(one.test) for one in found.splits])
        rest = f"{tested} others, of at most {most} documents" if most else f"the other {tested}"
        split = f"fitted on {count_words([len(one.train) for one in found.splits])} of them{repeats}, tested on {rest}"
    parts = "the test part" if len(found.splits) == 1 else f"each of {len(found.splits)} test parts, then averaged"
    said = (
        f"Agreement with people {LEVELS[first.level]} of {parts}; {len(data):,} examples of {documents:,} documents, "
    )
    said += f"{split} (seed {settings['seed']})"
    if first.mean_interval:
        said += (
            f"; in brackets {first.confidence:.0%} bootstrap intervals over documents ({first.resamples:,} resamples)"
        )
        if first.spread > 1:
            said += f", their quantiles {first.spread:g} times as far out since fits share documents"
    return f"{said}. Below a name: examples scored, and MAE, the mean distance from people's scores on {data.scale}."


def _tested(found: Comparison) -> str:
    return (
        "Differences are of the mean of 3, on examples that both methods scored; p: paired permutation of whole "
        f"documents, {found.settings['resamples']:,} times, corrected for all differences here (Holm). "
        "An interval is of one difference by itself: where it leaves out 0 and p is not below 0.05, p decides."
    )


def _figures(methods: Sequence[MethodResult]) -> Table:
    table = table_of("", *COEFFICIENTS.values(), right=[*COEFFICIENTS.values()], gap=GAP)
    for method in methods:
        found = method.agreement
        cells = []
        for name in COEFFICIENTS:
            # The interval below its figure: four of them side by side would be too wide for most terminals.
            said = number_words(getattr(found, name)) + interval_below(getattr(found, f"{name}_interval"))
            cells.append(Text(said, style="bold" if name == "mean" else ""))
        below = f"{found.n:,} of {found.total:,}, MAE {number_words(method.mae)}"
        table.add_row(Text.assemble(plain(method.name), (f"\n{below}", "dim")), *cells)
    return table


def _differences(methods: Sequence[MethodResult]) -> Table:
    columns = [[method.over_baseline for method in methods], [method.over_floor for method in methods]]
    to = dict.fromkeys(compared.to for column in columns for compared in column if compared is not None)
    heads = [head for name in to for head in (f"against {plain(name)}", "p (Holm)")]
    table = table_of("", *heads, right=heads, gap=GAP)
    for method in methods:
        own = {compared.to: compared for compared in (method.over_floor, method.over_baseline) if compared is not None}
        cells = [cell for name in to for cell in _difference(own.get(name))]
        table.add_row(Text(plain(method.name)), *cells)
    return table


def _difference(compared: Compared | None) -> tuple[Text, Text]:
    if compared is None:
        return Text(""), Text("")
    found = compared.difference
    return Text(figure_words(found.delta, found.interval, "+z.2f")), Text(p_words(compared.p_holm))


def _prices(methods: Sequence[MethodResult], found: Comparison) -> Table:
    table = table_of("", *PRICES, right=PRICES, gap=GAP)
    for method in methods:
        used = method.needs
        table.add_row(
            Text(plain(method.name)),
            f"{method.fit.calls:,}",
            f"{method.scoring.calls:,}",
            f"{used.prompt_tokens:,}",
            f"{used.cached_tokens:,}",
            f"{used.completion_tokens:,}",
            f"{used.seconds:,.0f}",
            price_words(used, local=found.weights is not None),
        )
    return table


def price_words(used: Usage, *, local: bool, parts: int = 1) -> str:
    """What this costs in dollars, the mean over so many parts; a dash where a model on this machine did it."""
    if not used.calls or local:
        return NONE
    return dollars(None if used.cost is None else used.cost / parts)
