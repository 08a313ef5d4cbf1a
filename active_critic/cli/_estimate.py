"""``--estimate``: what a piece of work would take, told before anything is paid for."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import typer

from active_critic.cli import _common as common

if TYPE_CHECKING:
    from active_critic.lm import LanguageModel
    from active_critic.lm.rehearsal import Estimate

LATEST = 2000
"""Calls in the journal that are looked at for the model's speed, the latest first."""


def tell(model: LanguageModel, work: Callable[[LanguageModel], object], *, as_json: bool, quiet: bool) -> None:
    """Rehearse some work and print what it would take, on standard output.

    Args:
        model: The model that would do it; no call is made to it.
        work: Does it with the model that it is given.
        as_json: Print one JSON document.
        quiet: Leave out what the figures rest on.
    """
    from active_critic.lm.rehearsal import estimate
    from active_critic.writing import json_text

    latest = getattr(model.memory, "latest", None)
    found = estimate(model, work, latest(LATEST) if latest is not None else [])
    if as_json:
        typer.echo(json_text({"model": model.name, **found.to_dict()}))
        return
    from active_critic.report import plain

    common.console(stderr=False).print(plain(words(found, model.name)), soft_wrap=True)
    common.show_notes(found.notes, quiet=quiet)


def words(found: Estimate, model: str) -> str:
    """An estimate in a sentence."""
    from dataclasses import replace

    from active_critic.report import duration, usage_words

    paid = replace(found.usage, replayed=0)
    in_journal = f" (besides {found.usage.replayed:,} that are in the journal already)" if found.usage.replayed else ""
    took = "time not known" if found.seconds is None else f"about {duration(found.seconds)}"
    money = "" if found.usage.cost is not None else "; its price is not known"
    return f"With {model} this would take {usage_words(paid)}{in_journal}; {took}{money}"
