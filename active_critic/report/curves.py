"""What ``active-critic curve`` found, for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import RenderableType
from rich.text import Text

from active_critic.data.examples import group_of
from active_critic.figures_in_words import count_words, interval_below, number_words, p_words
from active_critic.report.accounts import Account
from active_critic.report.comparisons import GAP, PRICES, dim, price_words
from active_critic.report.fits import COEFFICIENTS
from active_critic.report.tables import heading, list_under, table_of
from active_critic.report.texts import plain

if TYPE_CHECKING:
    from rich.table import Table

    from active_critic.meta_evaluation.estimates import Estimate
    from active_critic.meta_evaluation.learning_curve import Curve


def curve_account(found: Curve) -> RenderableType:
    """A learning curve as sentences and tables; the last sentence is the advice."""
    parts: list[RenderableType] = [heading("Agreement by number of labels"), _figures(found), dim(_basis(found))]
    if found.model is not None:
        said = (
            f"What one fit needs with {plain(found.model)}, and scoring the tests of one repeat, in the mean over the "
        )
        said += "repeats, each size by itself, whether it was paid for now or is in the journal since an earlier run."
        parts += [Text(""), heading("What it takes"), _prices(found), dim(said)]
    return Account([Text(plain(sentence)) for sentence in found.words], parts, list_under("Notes", found.notes))


def _figures(found: Curve) -> Table:
    floor = any(point.floor for point in found.points)
    heads = ("labels", *COEFFICIENTS.values(), "gain", "p (Holm)", *(("surface",) if floor else ()))
    table = table_of(*heads, right=heads[1:], gap=GAP)
    for point in (found.zero_shot, *found.points):
        if point is None:
            continue
        documents = count_words(point.documents)
        below = f"of {documents} doc{'' if documents == '1' else 's'}." if point.labels else "zero-shot"
        cells = [Text(number_words(getattr(point.agreement, name))) for name in list(COEFFICIENTS)[:-1]]
        cells += [
            _cell(point.mean, "z.2f", "bold"),
            _cell(point.gain, "+z.2f"),
            Text(p_words(point.gain.p_holm) if point.gain else ""),
            Text(number_words(point.floor.agreement.mean) if point.floor else ""),
        ]
        table.add_row(Text.assemble(f"{point.labels}", (f"\n{below}", "dim")), *cells[: len(table.columns) - 1])
    return table


def _cell(found: Estimate | None, form: str, style: str = "") -> Text:
    if found is None:
        return Text("")
    return Text(number_words(found.value, form) + interval_below(found.interval, form), style=style)


def _basis(found: Curve) -> str:
    settings, data = found.settings, found.data
    documents = len({group_of(example) for example in data})
    last = found.points[-1].mean
    once = settings["repeats"] == 1
    often = "once" if once else f"{settings['repeats']} times"
    tested = count_words([len(repeat.test) for repeat in found.repeats])
    tested += f" of {len(data):,} examples of {documents:,} documents"
    if settings["test_documents"]:
        tested += f", at most {settings['test_documents']} documents"
    said = (
        f"{plain(found.evaluator)} fitted on more and more labels, each set part of the next, and tested on {tested}, "
        f"the same ones at every size; {often} (seed {settings['seed']}). "
        "Gain: of the mean of 3 over the size before, on tests scored at both."
    )
    if last.interval:
        covered = "documents" if last.repeats < 2 else "documents and over the labels drawn"
        said += (
            f" In brackets: {last.confidence:.0%} intervals over {covered} ({last.resamples:,} resamples); "
            "p: from the same, corrected for all differences here (Holm)."
        )
    return said


def _prices(found: Curve) -> Table:
    table = table_of("labels", *PRICES, right=PRICES, gap=GAP)
    repeats = len(found.repeats)
    for point in (found.zero_shot, *found.points):
        if point is None:
            continue
        result = point.result
        used = result.needs
        table.add_row(
            f"{point.labels}",
            *(
                f"{amount / repeats:,.0f}"
                for amount in (
                    result.fit.calls,
                    result.scoring.calls,
                    used.prompt_tokens,
                    used.cached_tokens,
                    used.completion_tokens,
                    used.seconds,
                )
            ),
            price_words(used, local=found.weights is not None, parts=repeats),
        )
    return table
