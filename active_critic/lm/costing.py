"""What a piece of work would take, from rehearsals of it: the least, the most and what lies between, and its parts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from active_critic.records import Usage

COUNTED = ("calls", "replayed", "prompt_tokens", "cached_tokens", "completion_tokens")
"""Whole numbers of ``Usage``."""


@dataclass(frozen=True, slots=True)
class Taken:
    """What one rehearsal of some work took, or of a part of it.

    Attributes:
        usage: Calls and tokens that would be paid for, and replies that the journal has (``replayed``).
        seconds: How long it would take, or None where the model's speed is not known.
        shown: Whether any prompt held demonstrations.
    """

    usage: Usage
    seconds: float | None
    shown: bool = False

    @property
    def requests(self) -> int:
        """Different requests, those included that the journal has."""
        return self.usage.calls + self.usage.replayed


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a piece of work would take: of every figure what lies between the least and the most; see :func:`between`.

    Attributes:
        usage: Calls and tokens that would be paid for, and replies that the journal has (``replayed``); ``cost`` is in
            US dollars, None where the price is not known; ``seconds`` is not used.
        seconds: How long it would take, or None where the model's speed is not known.
        notes: What the figures rest on.
        ranges: The least and the most that one of several rehearsals took, of ``calls``, ``prompt_tokens``,
            ``completion_tokens``, and ``cost`` and ``seconds`` where they are known. Empty where all took the same.
        outcomes: The same figures by the kind of program that turns out best (``OUTCOMES``), which decides most of what
            a search for demonstrations takes and which nobody knows beforehand. Empty where nothing is searched.
        parts: The same of every part of the work, in order, where it has parts. What several of them ask is counted
            with the first that asks it, so that the parts add up; their notes are those of the whole.
        takes: What each rehearsal took.
    """

    usage: Usage
    seconds: float | None
    notes: tuple[str, ...] = ()
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    outcomes: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    parts: Mapping[str, Estimate] = field(default_factory=dict)
    takes: Sequence[Taken] = ()

    def figures(self) -> dict[str, Any]:
        """What it would take as plain JSON values, without the notes and the parts."""
        return {
            "calls": self.usage.calls,
            "in_journal": self.usage.replayed,
            "prompt_tokens": self.usage.prompt_tokens,
            "cached_tokens": self.usage.cached_tokens,
            "completion_tokens": self.usage.completion_tokens,
            "cost": self.usage.cost,
            "seconds": None if self.seconds is None else round(self.seconds, 1),
            "ranges": {name: list(ends) for name, ends in self.ranges.items()},
            "outcomes": {name: dict(figures) for name, figures in self.outcomes.items()},
        }

    def usual(self, name: str) -> float | None:
        """A figure that may have a range, or None where it is not known."""
        value: float | None = self.seconds if name == "seconds" else getattr(self.usage, name)
        return value

    def most(self, name: str) -> float | None:
        """The most of it that a rehearsal took."""
        return self.ranges[name][1] if name in self.ranges else self.usual(name)

    def to_dict(self) -> dict[str, Any]:
        """The estimate as plain JSON values, without the parts."""
        return {**self.figures(), "notes": list(self.notes)}


def between(figures: Sequence[float]) -> float:
    """What lies as near to the least of some figures as to the most, by its distance from each as a share of that.

    So whichever of them comes true, it is off by ``(high - low) / (high + low)`` at most: the least that any figure
    can promise. What a search takes lies near one end or the other, by what wins, and the middle one of rehearsals
    near that which won more of them, of which the real one knows nothing.
    """
    low, high = min(figures), max(figures)
    if low == high:
        return low
    return 2 * low * high / (low + high) if low > 0 else high / 2


def reckoned(
    takes: Sequence[Taken], parts: Sequence[Mapping[str, Taken]], outcomes: Mapping[int, str], notes: Sequence[str]
) -> Estimate:
    """The estimate that rehearsals come to.

    Args:
        takes: What each took.
        parts: What the parts of each took, under the same names in all.
        outcomes: What some of them stand for, by their place.
        notes: What the figures rest on.
    """
    found = {name: _reckoned([one[name] for one in parts], outcomes) for name in parts[0]}
    if found and not any(part.outcomes for part in found.values()):
        outcomes = {}  # what shows demonstrations does not search for them
    of_none = [
        replace(take, usage=take.usage - sum((part.usage for part in its.values()), Usage()))
        for take, its in zip(takes, parts, strict=True)
    ]
    usage = sum((part.usage for part in found.values()), _reckoned(of_none, {}).usage)
    whole = replace(_reckoned(takes, outcomes), usage=usage, notes=tuple(notes), parts=found)
    # The parts of the usage need not have been least, or most, in the same rehearsals.
    ends = {name: (*ends, whole.usual(name) or 0) for name, ends in whole.ranges.items()}
    return replace(whole, ranges={name: (min(values), max(values)) for name, values in ends.items()})


def _reckoned(takes: Sequence[Taken], outcomes: Mapping[int, str]) -> Estimate:
    figures = [_figures(take) for take in takes]
    ranges = _ranges(figures)
    told = {}
    if outcomes and ranges and any(take.shown for take in takes) and len(takes) > max(outcomes):
        told = {words: figures[place] for place, words in outcomes.items()}
    costs = [take.usage.cost for take in takes if take.usage.cost is not None]
    seconds = [take.seconds for take in takes if take.seconds is not None]
    counts = {name: round(between([getattr(take.usage, name) for take in takes])) for name in COUNTED}
    return Estimate(
        Usage(**counts, cost=between(costs) if len(costs) == len(takes) else None),
        between(seconds) if len(seconds) == len(takes) else None,
        ranges=ranges,
        outcomes=told,
        takes=takes,
    )


def _ranges(figures: Sequence[Mapping[str, float]]) -> dict[str, tuple[float, float]]:
    """The least and the most of every figure that is known; empty where calls and tokens are always the same."""
    if all(
        (one["calls"], one["prompt_tokens"]) == (figures[0]["calls"], figures[0]["prompt_tokens"]) for one in figures
    ):
        return {}
    known = {
        name: [one[name] for one in figures if name in one] for name in dict.fromkeys(n for f in figures for n in f)
    }
    return {name: (min(values), max(values)) for name, values in known.items()}


def _figures(take: Taken) -> dict[str, float]:
    """What is known of what a rehearsal took."""
    figures = {
        "calls": take.usage.calls,
        "prompt_tokens": take.usage.prompt_tokens,
        "completion_tokens": take.usage.completion_tokens,
        "cost": take.usage.cost,
        "seconds": None if take.seconds is None else round(take.seconds, 1),
    }
    return {name: value for name, value in figures.items() if value is not None}
