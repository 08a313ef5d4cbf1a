"""``--estimate``: what a piece of work would take, told before anything is paid for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from active_critic.cli import _common as common

if TYPE_CHECKING:
    from active_critic.data.examples import Examples
    from active_critic.lm import Budget, LanguageModel
    from active_critic.lm.rehearsal import Estimate
    from active_critic.meta_evaluation.rehearsing import Rehearsal

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

    how: dict[str, Any] = {} if data is None else {"takes": TAKES, "scores": shares(data)}
    found = estimate(model, work, _kept(model), **how)
    notes = [*found.notes, *spent_before_the_end(model.budget, found)]
    if as_json:
        common.print_json({"model": model.name, **found.to_dict(), "notes": notes})
    else:
        _show(words(found, model.name), notes, quiet=quiet)
    _say_unwritten(files, quiet=quiet)


def tell_parts(
    model: LanguageModel,
    rehearsal: Rehearsal,
    *,
    as_json: bool,
    quiet: bool,
    data: Examples,
    files: Mapping[str, object],
    requests: int | None,
) -> None:
    """The same of a comparison, method by method, or of a curve, size by size.

    Args:
        model: The model that would do it; no call is made to it.
        rehearsal: Does it.
        as_json: Print one JSON document.
        quiet: Leave out what the figures rest on.
        data: The scored examples.
        files: What would be written, by option.
        requests: Different requests that each method, or the whole curve, may make at most; None: no limit.
    """
    from active_critic.cli._progress import Display
    from active_critic.lm.rehearsal import TAKES, estimate_parts
    from active_critic.meta_evaluation.rehearsing import PROBING

    with Display(None, quiet=quiet) as rehearsal.progress:
        found = estimate_parts(model, rehearsal, _kept(model), takes=TAKES, scores=shares(data))
    notes = [*found.notes, *rehearsal.shared(found), *spent_before_the_end(model.budget, found, rehearsal.parts)]
    notes += rehearsal.stopped(requests, found)
    if as_json:
        common.print_json({"model": model.name, **found.to_dict(), **rehearsal.to_dict(found), "notes": notes})
    else:
        from active_critic.report.estimates import parts_table

        probing = found.parts[PROBING].usage
        asked = {PROBING: "(what it can do)"} if probing.calls or probing.replayed else {}
        common.console(stderr=False).print(parts_table(found, {**asked, **rehearsal.parts}))
        problems = [problem for part in rehearsal.parts for problem in rehearsal.problems(part)]
        _show(["", *words(found, model.name), *problems], notes, quiet=quiet)
    _say_unwritten(files, quiet=quiet)


def _kept(model: LanguageModel) -> Sequence[tuple[str, str]]:
    """The latest requests and replies in the journal."""
    latest = getattr(model.memory, "latest", None)
    return latest(LATEST) if latest is not None else []


def _show(lines: Sequence[str], notes: Sequence[str], *, quiet: bool) -> None:
    for line in lines:
        common.print_whole(line)
    common.show_notes(notes, quiet=quiet)


def _say_unwritten(files: Mapping[str, object], *, quiet: bool) -> None:
    if unwritten := [option for option, path in files.items() if path]:
        *others, last = unwritten
        said = f"{', '.join(others)} and {last}" if others else last
        common.show_notes([f"{said}: an estimate writes no file"], quiet=quiet)


def spent_before_the_end(
    budget: Budget | None, found: Estimate, parts: Mapping[str, str] = MappingProxyType({})
) -> list[str]:
    """What of a budget would not last, and where it would be spent.

    Args:
        budget: What may be spent; None: no limit.
        found: What the work would take.
        parts: Its parts by name, and what each is called.
    """
    from dataclasses import fields

    if budget is None:
        return []
    said = []
    for limit in fields(budget):
        most = getattr(budget, limit.name)
        needed = _amount(found, limit.name)
        if most is None or needed is None:
            continue
        alone = type(budget)(**{limit.name: most})
        if needed <= most:
            if (_amount(found, limit.name, at_most=True) or 0) > most:
                said.append(f"the budget of {alone} may be spent before the end")
            continue
        taken, place = 0.0, "before the end"
        for name, part in found.parts.items():
            taken += _amount(part, limit.name) or 0
            if taken > most:
                place = f"at {parts[name]}" if name in parts else place
                break
        said.append(f"the budget of {alone} would be spent {place}")
    return said


def _amount(found: Estimate, name: str, *, at_most: bool = False) -> float | None:
    """How much work takes of what a budget limits, or None where that is not known."""
    names = ("prompt_tokens", "completion_tokens") if name == "tokens" else (name,)
    amounts = [found.most(one) if at_most else found.usual(one) for one in names]
    known = [amount for amount in amounts if amount is not None]
    return sum(known) if len(known) == len(amounts) else None


def shares(data: Examples) -> dict[str, float]:
    """What people gave every response, from 0 to 1."""
    from active_critic.evaluators.base import scale_of

    scale = scale_of(data)
    return {e.response: scale.to_percent(e.score) / 100 for e in data if e.score is not None}


def words(found: Estimate, model: str) -> list[str]:
    """An estimate in a line, and in others what it may be, where that depends on the replies."""
    from dataclasses import replace

    from active_critic.figures_in_words import dollars
    from active_critic.lm.speed import ENOUGH
    from active_critic.report import count, duration, usage_words

    paid = replace(found.usage, replayed=0)
    in_journal = f" (besides {found.usage.replayed:,} that are in the journal already)" if found.usage.replayed else ""
    unknown = f"time not known before the journal holds {ENOUGH} calls to this model"
    took = unknown if found.seconds is None else f"about {duration(found.seconds)}"
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
