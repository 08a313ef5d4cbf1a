"""Texts for people: what came from data or from a model made harmless, numbers and costs in words."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from active_critic.data.writing import UNSAFE
from active_critic.figures_in_words import dollars, how_many

if TYPE_CHECKING:
    from active_critic.records import Usage

SHORT = 160
"""Characters of a text that stand in a table."""


def plain(text: object, *, lines: bool = False) -> str:
    r"""Text that cannot drive a terminal: control and direction characters are shown as ``\x1b``.

    Args:
        text: Anything.
        lines: Keep line breaks; otherwise every run of white space becomes one blank.
    """
    said = str(text).replace("\t", " ").replace("\r\n", "\n")
    if not lines:
        said = " ".join(said.split())
    return UNSAFE.sub(lambda found: found.group().encode("unicode_escape").decode(), said)


def shorten(text: object, longest: int = SHORT) -> str:
    """The beginning of a text on one line, ended by ``…`` where something is missing."""
    said = plain(text)
    if len(said) <= longest:
        return said
    cut = said[: longest - 1]
    while cut and unicodedata.combining(said[len(cut)]):
        cut = cut[:-1]
    return cut.rstrip() + "…"


def usage_words(usage: Usage | Mapping[str, Any], *, short: bool = False) -> str:
    """What calls cost: ``412 calls, 310k tokens read (80% from the prefix cache), 20k written, $0.12``.

    Args:
        usage: The figures, or ``Usage.to_dict``.
        short: Calls, tokens and cost only, for a progress bar.
    """
    figures = usage if isinstance(usage, Mapping) else usage.to_dict()
    read, written = figures["prompt_tokens"], figures["completion_tokens"]
    cost = "" if figures["cost"] is None else dollars(figures["cost"])
    calls, replayed = how_many(figures["calls"], "call"), figures["replayed"]
    if short:
        return " ".join(part for part in (calls, f"{count(read + written)} tok", cost) if part)
    parts = [calls]
    if replayed:
        parts.append(f"{replayed:,} from the journal")
    cached = f" ({figures['cached_tokens'] / read:.0%} from the prefix cache)" if figures["cached_tokens"] else ""
    parts += [f"{count(read)} tokens read{cached}", f"{count(written)} written"]
    return ", ".join(parts + ([cost] if cost else []))


def model_words(model: str) -> str:
    """Which model was asked, by the name that results give it."""
    from active_critic.evaluators.origins import NO_MODEL

    return "without a model" if model == NO_MODEL else f"model: {model}"


def cost_words(model: str, usage: Usage | Mapping[str, Any], seconds: float) -> str:
    """What work took: calls, tokens and cost, where a model was asked, and how long."""
    from active_critic.evaluators.origins import NO_MODEL

    return f"{'' if model == NO_MODEL else f'{usage_words(usage)}; '}{duration(seconds)} in all"


def count(number: float) -> str:
    """A number of tokens for people: ``310k``."""
    if number < 10_000:
        return f"{number:,}"
    return f"{number / 1e3:.0f}k" if number < 1e6 else f"{number / 1e6:.1f}M"


def duration(seconds: float) -> str:
    """A length of time for people: ``42 s``, ``3.5 minutes``."""
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:,.1f} minutes"
