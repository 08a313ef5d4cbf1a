"""What ``active-critic agreement`` found, for people."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import median
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from active_critic.figures_in_words import count_words, figure_words, number_words, p_words
from active_critic.report.fits import LEVELS, agreement_table
from active_critic.report.tables import table_of
from active_critic.report.texts import plain

_EACH = 10
"""So many raters are told of one by one."""


def agreement_account(document: Mapping[str, Any]) -> RenderableType:
    """The document of ``agreement --json`` as tables and sentences."""
    parts: list[RenderableType] = []
    for result in document["results"]:
        raters = "the mean of the raters" if result["columns"] else "the raters"
        heading = f"{plain(result['human'] or raters)}, {LEVELS[result['level']]}"
        parts.append(Text(heading, style="bold"))
        if result["columns"]:
            parts += [_figures(result), *(Text(plain(sentence)) for sentence in _words(result))]
        if result["raters"]:
            parts += [*([Text("")] if result["columns"] else []), *_raters(result["raters"])]
        if any(entry["difference"] for entry in result["columns"]):
            parts += [Text(""), *_differences(result)]
        parts.append(Text(""))
    for left in document["left_out"]:
        text = f"Left out: {left['human'] or 'the raters'}, {left['level']} level: {left['reason']}"
        parts.append(Text(plain(text)))
    found = [entry["difference"] for result in document["results"] for entry in result["columns"]]
    tested = sum(difference is not None and difference["p"] is not None for difference in found)
    if tested:
        said = f"p: paired permutation of whole documents, {document['resamples']:,} times, seed {document['seed']}; "
        said += (
            f"corrected: by Holm, for all {tested} differences that have one."
            if tested > 1
            else "one comparison needs no correction."
        )
        parts.append(Text(said, style="dim"))
    return Group(*parts)


def _figures(result: Mapping[str, Any]) -> RenderableType:
    entries = result["columns"]
    more = {
        "pairwise accuracy": [number_words(entry["pairwise_accuracy"]["accuracy"], ".3f") for entry in entries],
        "  no tie calibration": [number_words(entry["pairwise_accuracy"]["uncalibrated"], ".3f") for entry in entries],
        "MAE": [number_words(entry["mae"], ".3f", "other scale") for entry in entries],
        "RMSE": [number_words(entry["rmse"], ".3f", "other scale") for entry in entries],
    }
    parted = any(entry["figures"]["parts_total"] > 1 for entry in entries)
    if parted:
        more["splits averaged"] = [f"{e['figures']['parts']:,} of {e['figures']['parts_total']:,}" for e in entries]
    if result["level"] == "document" and not parted:
        more["documents averaged"] = [f"{e['figures']['units']:,} of {e['figures']['groups']:,}" for e in entries]
    if result["level"] == "system" and not parted:
        more["systems"] = [f"{entry['figures']['units']:,}" for entry in entries]
    return agreement_table({plain(entry["column"]): entry["figures"] for entry in entries}, more=more)


def _words(result: Mapping[str, Any]) -> list[str]:
    words = []
    scale, entries = result["scale"], result["columns"]
    if any(entry["mae"] is not None for entry in entries):
        words.append(f"MAE and RMSE take predictions to be on the human scale {scale}, where all of them lie in it.")
    elif scale is not None:
        words.append(f"Predictions are not all on the human scale {scale}, so there is no MAE or RMSE.")
    else:
        words.append("The human scale is not known (--scale LOW..HIGH), so there is no MAE or RMSE.")
    for entry in entries:
        figures, name = entry["figures"], repr(entry["column"])
        without = figures["total"] - figures["n"]
        if without:
            odd = f" (first: {entry['first_not_numeric']})" if entry["first_not_numeric"] else ""
            words.append(
                f"{name}: {without:,} of {figures['total']:,} rows have no prediction and do not count: "
                f"{entry['missing']:,} missing, {entry['not_numeric']:,} not a number{odd}."
            )
        if entry["documents_skipped"]:
            words.append(
                f"{name}: {entry['documents_skipped']:,} of {figures['groups']:,} documents have one example only, or "
                "do not vary on one side, and are skipped."
            )
        if entry["pairwise_accuracy"]["sampled"]:
            words.append(f"{name}: {entry['pairwise_accuracy']['pairs']:,} pairs, drawn at random, were compared.")
        interval = figures["mean_interval"]
        if (figures["mean"] or 0) < 0 and not (interval and interval[1] >= 0):
            words.append(f"{name} falls where people's scores rise; pairwise accuracy takes more to be better.")
    return words


def _raters(found: Mapping[str, Any]) -> list[RenderableType]:
    alpha, ceiling, raters = found["alpha"], found["ceiling"], found["columns"]
    many = len(raters) > _EACH
    names = ", ".join(rater["column"] for rater in raters[:_EACH])
    shown = [f"Krippendorff's alpha of {len(raters)} raters, {found['items']:,} rows with two ratings or more: "]
    shown.append(", ".join(f"{value:.3f} ({measurement})" for measurement, value in alpha.items()) + ".")
    sentences = [f"The raters: {names}{f' and {len(raters) - _EACH:,} more' if many else ''}.", "".join(shown)]
    if many:
        rows = raters[0]["n"] + raters[0]["missing"]
        sentences.append(f"Each rated {count_words([rater['n'] for rater in raters])} of {rows:,} rows.")
    for rater in [] if many else raters:
        if without := rater["missing"]:
            rows = f"{without:,} of {rater['n'] + without:,} rows"
            sentences.append(f"{rater['column']!r}: {rows} have no rating and do not count.")
    figures = {**ceiling, "total": sum(rater["n"] for rater in raters)}
    table = agreement_table({"human ceiling": figures}, whom="the mean of the other raters, rater by rater,")
    means = [rater["mean_with_the_rest"] for rater in raters]
    each = ", ".join(number_words(mean, ".3f", "not defined") for mean in means)
    if many:
        known = [mean for mean in means if mean is not None]
        spread = f"{min(known):.3f} to {max(known):.3f}, the median is {median(known):.3f}; " if known else ""
        each = f"{spread}defined for {len(known):,} of {len(raters):,} raters, whom --json lists"
    return [*(Text(plain(line)) for line in sentences), table, Text(f"Mean of 3 of each rater with the rest: {each}.")]


def _differences(result: Mapping[str, Any]) -> list[RenderableType]:
    first = plain(result["columns"][0]["column"])
    heads = ("difference of the mean of 3", "p", "corrected", "examples")
    table = table_of(f"compared with {first}", *heads, right=heads)
    for entry in result["columns"][1:]:
        found = entry["difference"]
        said = figure_words(found["delta"], found["interval"], "+z.3f")
        cells = [p_words(found["p"]), p_words(found["p_holm"]), f"{found['n']:,}"]
        table.add_row(Text(plain(entry["column"])), Text(said), *map(Text, cells))
    return [table]
