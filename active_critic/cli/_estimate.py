"""``--estimate``: what a piece of work would take, told before anything is paid for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from active_critic.cli import _common as common

if TYPE_CHECKING:
    from active_critic.data.examples import Examples
    from active_critic.lm import LanguageModel
    from active_critic.lm.rehearsal import Estimate

LATEST = 2000
"""Calls in the journal that are looked at for the model's speed, the latest first."""


def tell(
    model: LanguageModel,
    work: Callable[[LanguageModel], object],
    *,
    as_json: bool,
    quiet: bool,
    data: Examples | None = None,
    files: Mapping[str, object] = MappingProxyType({}),
) -> None:
    """Rehearse some work and print what it would take, on standard output.

    Args:
        model: The model that would do it; no call is made to it.
        work: Does it with the model that it is given.
        as_json: Print one JSON document.
        quiet: Leave out what the figures rest on.
        data: The scored examples, where it is a fit: what that asks depends on the replies, so there are several takes.
        files: What would be written, by option; an estimate writes none, and says so.
    """
    from active_critic.lm.rehearsal import TAKES, estimate

    latest = getattr(model.memory, "latest", None)
    kept = latest(LATEST) if latest is not None else []
    if data is None:
        found = estimate(model, work, kept)
    else:
        found = estimate(model, work, kept, takes=TAKES, scores=shares(data))
    if as_json:
        common.print_json({"model": model.name, **found.to_dict()})
    else:
        from active_critic.report import plain

        for line in words(found, model.name):
            common.console(stderr=False).print(plain(line), soft_wrap=True)
        common.show_notes(found.notes, quiet=quiet)
    if unwritten := [option for option, path in files.items() if path]:
        common.show_notes([f"{' and '.join(unwritten)}: an estimate writes no file"], quiet=quiet)


def shares(data: Examples) -> dict[str, float]:
    """What people gave every response, from 0 to 1."""
    from active_critic.evaluators.base import scale_of

    scale = scale_of(data)
    return {e.response: scale.to_percent(e.score) / 100 for e in data if e.score is not None}


def words(found: Estimate, model: str) -> list[str]:
    """An estimate in a line, and in others what it may be, where that depends on the replies."""
    from dataclasses import replace

    from active_critic.figures_in_words import dollars
    from active_critic.report import count, duration, usage_words

    paid = replace(found.usage, replayed=0)
    in_journal = f" (besides {found.usage.replayed:,} that are in the journal already)" if found.usage.replayed else ""
    took = "time not known" if found.seconds is None else f"about {duration(found.seconds)}"
    money = "" if found.usage.cost is not None else "; its price is not known"
    said = f"With {model} this would take {usage_words(paid)}{in_journal}; {took}{money}"
    if not found.ranges:
        return [said]
    shown = {
        "calls": lambda number: f"{number:,}",
        "prompt_tokens": count,
        "completion_tokens": count,
        "cost": dollars,
        "seconds": duration,
    }
    units = {"calls": " calls", "prompt_tokens": " tokens read", "completion_tokens": " written"}
    parts = [
        f"{shown[name](low)} to {shown[name](high)}{units.get(name, '')}" for name, (low, high) in found.ranges.items()
    ]
    lines = [said, f"By what the model says: {', '.join(parts)}"]
    for outcome, figures in found.outcomes.items():
        each = ", ".join(f"{shown[name](value)}{units.get(name, '')}" for name, value in figures.items())
        lines.append(f"If a program {outcome} turns out best: {each}")
    return lines
