"""What ``active-critic means`` found, for people."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from active_critic.figures_in_words import figure_words, how_many, number_words, p_words
from active_critic.report.tables import heading, table_of
from active_critic.report.texts import plain

_PAIRS = 15
"""So many pairs of systems are shown, those with the smallest p."""


def means_account(document: Mapping[str, Any]) -> RenderableType:
    """The document of ``means --json`` as tables and sentences."""
    means = document["means"]
    several = document["system"] is not None
    parts: list[RenderableType] = [heading("What people would score on average"), _means(means, several=several)]
    labelled = sum(one["labelled"] for one in means)
    rest = sum(one["outputs"] for one in means) - labelled
    scored = f"{how_many(labelled, 'output')} that people scored and {rest:,} that the judge alone did"
    brackets = f"In brackets {100 * document['confidence']:g} % intervals over documents"
    said = (
        f"Estimated from {scored}; a point of the judge's counts as {document['weight']:.3g} points of people's. "
        f"{brackets}. People alone: the mean of their own scores; worth: how many of these would make its interval as "
        "narrow. All this holds if the outputs that people scored were drawn at random."
    )
    parts += [Text(""), Text(said, style="dim")]
    if document["apart"]:
        parts += [Text(""), *_apart(document["apart"])]
    return Group(*parts)


def _means(means: list[dict[str, Any]], *, several: bool) -> RenderableType:
    heads = ("estimated", "people alone", "judge", "labelled", "worth")
    table = table_of(*(["system"] if several else []), *heads, right=heads)
    for one in sorted(means, key=lambda one: -math.inf if one["mean"] is None else one["mean"], reverse=True):
        cells = [
            figure_words(one["mean"], one["interval"]),
            figure_words(one["people"], one["people_interval"]),
            number_words(one["judge"], ".3g"),  # on any scale
            f"{one['labelled']:,} of {one['outputs']:,}",
            number_words(one["worth"], ",.0f"),
        ]
        table.add_row(*([Text(plain(one["system"]))] if several else []), *map(Text, cells))
    return table


def _apart(apart: list[dict[str, Any]]) -> list[RenderableType]:
    shown = sorted(apart, key=lambda pair: 2.0 if pair["p"] is None else pair["p"])[:_PAIRS]
    heads = ("difference", "p", "corrected")
    table = table_of("systems", *heads, right=heads)
    for pair in shown:
        said = figure_words(pair["difference"], pair["interval"], "+z.2f")
        cells = [said, p_words(pair["p"]), p_words(pair["p_holm"])]
        table.add_row(Text(plain(f"{pair['system']} less {pair['other']}")), *map(Text, cells))
    few = f", the {_PAIRS} with the smallest p of {len(apart):,} pairs" if len(apart) > _PAIRS else ""
    told = f"p: two-sided, Student's t over documents; corrected: by Holm, for {how_many(len(apart), 'pair')}."
    return [heading(f"How far systems are apart{few}"), table, Text(""), Text(told, style="dim")]
