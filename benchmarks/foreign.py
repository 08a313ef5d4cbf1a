"""What the model calls good under a source that it was not made from: does it cost agreement to hold that against it?

    python benchmarks/foreign.py sfres=path/to/sfres.jsonl --documents 44

Asks for the approval of every drawn example under the foreign source, too, beside the readings of ``readings.py``, and
combines these over its splits: as they are; as the product does, in which a text that passes what hardly any of the
labelled ones does counts as no more than the average in all its parts; and with the approval less that under the
foreign source in its place, the obvious other way. How far the bound holds attacks down: ``robustness.py``.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from active_critic.evaluators._anyhow import most
from active_critic.evaluators._readings import ANYHOW, take
from active_critic.lm import LanguageModel
from active_critic.stats import q

sys.path.insert(0, str(Path(__file__).parent))
import combining
import drawing
import readings

WAYS = ("as they are", "the product", "approval less that")
HELD = "held to the average"


def main() -> None:
    args = readings.studying(__doc__, "foreign", (5, 10, 20, 30, 50)).parse_args()
    readings.study(args, lambda _, known, lm: found_of(known, lm, args), page)


def found_of(known: combining.Readings, lm: LanguageModel, args: argparse.Namespace) -> dict[str, Any]:
    """What is found of a set."""
    taken = take(ANYHOW, lm, (), list(known.examples), drawing.say)
    foreign = np.array([getattr(read, "log_odds", np.nan) for read in taken])
    own, human = known.values["approval"], known.human.tolist()
    alone = {"approval": own, ANYHOW: foreign, "approval less that": own - foreign}
    return {
        "log-odds": {
            name: {"mean": float(values.mean()), "deviation": float(values.std())}
            for name, values in (("approval", own), (ANYHOW, foreign))
        },
        "alone": {name: q(values.tolist(), human) / 3 for name, values in alone.items()},
        "combined": combined(known, foreign, args),
    }


def combined(
    known: combining.Readings, foreign: combining.Floats, args: argparse.Namespace
) -> dict[str, dict[str, float]]:
    """Agreement of every way by number of labels, and the part of held-out texts that the bound holds."""
    both = replace(known, values={**known.values, ANYHOW: foreign})
    least = min(len(pool) for pool, _ in combining.parted(both, args.splits, args.seed))
    sizes = [size for size in args.sizes if size <= least]
    found: dict[int, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for size, trial in combining.trials(both, sizes, args.splits, args.seed, strong=False, mute=False):
        asked, there = trial.train.pop(ANYHOW), trial.test.pop(ANYHOW)
        truth = trial.truth.tolist()
        fitted = combining.fitted(trial)
        scored = combining.combined(fitted, trial)
        bound = most(asked.tolist())
        held = there > (np.inf if bound is None else bound)
        as_they_are = np.array([one.score for one in scored])
        lost = np.array([sum(min(0.0, points) for points in one.added.values()) for one in scored])
        at_most = np.maximum(trial.scale.low, fitted.calibration.intercept + lost)
        less = replace(
            trial,
            train={**trial.train, "approval": trial.train["approval"] - asked},
            test={**trial.test, "approval": trial.test["approval"] - there},
        )
        by_way = zip(
            WAYS,
            (as_they_are, np.where(held, at_most, as_they_are), combining.applied(combining.fitted(less), less)),
            strict=True,
        )
        for way, scores in by_way:
            found[size][way].append(q(scores.tolist(), truth) / 3)
        found[size][HELD].append(float(held.mean()))
    return {str(size): {name: float(np.mean(values)) for name, values in row.items()} for size, row in found.items()}


def page(sets: Sequence[Mapping[str, Any]]) -> str:
    """The Markdown of all sets."""
    lines = ["# The approval under a foreign source", "", "`python benchmarks/foreign.py`", ""]
    lines += [(__doc__ or "").partition("--documents 44")[2].strip(), ""]
    for one in sets:
        lines += [f"## {one['name']}, {one['model']}", ""]
        odds = ", ".join(f"{name} {of['mean']:.2f} ± {of['deviation']:.2f}" for name, of in one["log-odds"].items())
        alone = ", ".join(f"{name} {value:.3f}" for name, value in one["alone"].items())
        lines += [f"{one['examples']} examples. Log-odds of yes: {odds}. Agreement alone: {alone}.", ""]
        sizes = list(one["combined"])
        lines += [f"| labels | {' | '.join(sizes)} |", "| --- |" + " --- |" * len(sizes)]
        for way in (*WAYS, HELD):
            row = [f"{one['combined'][size][way]:{'.1%' if way == HELD else '.3f'}}" for size in sizes]
            lines.append(f"| {way} | {' | '.join(row)} |")
        lines.append("")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
