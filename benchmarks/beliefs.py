"""What the combination would reach if it began with another belief about its readings.

    python benchmarks/beliefs.py sfres=path/to/sfres.jsonl --documents 44

The readings, the splits and the simulated strong rating are those of ``readings.py``, through the same journal. Every
belief is a correlation of each reading with people's scores, by how many standard deviations texts that claim to be
good lift the rating, and the correlation of rating and approval with each other; the product's comes first with the
1.5B, second with smaller models.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np

from active_critic.evaluators._combining import WORTH
from active_critic.stats import q
from active_critic.weighing import TALKED_UP

sys.path.insert(0, str(Path(__file__).parent))
import combining
import readings

NAMES = ("rating", "approval", "likelihood", TALKED_UP)
BELIEFS = (
    (0.2, 0.3, 0.2, 1, 0.8),
    (0.15, 0.1, 0.2, 0, 0.8),
    (0.15, 0.1, 0.2, 0.5, 0.8),
    (0.15, 0.1, 0.2, 1, 0.8),
    (0.15, 0.1, 0.2, 1, 0.5),
    (0.1, 0.1, 0.2, 1, 0.8),
    (0.1, 0.1, 0.3, 1, 0.8),
    (0.15, 0.15, 0.2, 1, 0.8),
    (0.25, 0.3, 0.2, 1, 0.8),
    (0.3, 0.3, 0.2, 1, 0.8),
    (0.3, 0.3, 0.2, 1, 0.6),
    (0.2, 0.3, 0.2, 1, 0.5),
    (0.25, 0.25, 0.2, 1, 0.8),
    (0.25, 0.25, 0.25, 1, 0.8),
    (0.2, 0.3, 0.2, 0, 0.8),
    (0.2, 0.3, 0.2, 0.5, 0.8),
    (0.2, 0.3, 0.2, 1.5, 0.8),
    (0.2, 0.3, 0.2, 2, 0.8),
)
"""By ``NAMES``, and of rating and approval with each other; the product's is the first with the 1.5B, the second with
smaller models."""
SITUATIONS = {"as it is": False, f"a simulated rating that correlates {combining.STRONG:g} with people": True}


def main() -> None:
    args = readings.studying(__doc__, "beliefs", (5, 10, 20, 30, 50)).parse_args()

    def work(_data: Any, known: combining.Readings, _lm: Any) -> dict[str, Any]:
        return {"reached": {name: over_splits(known, args, strong=strong) for name, strong in SITUATIONS.items()}}

    readings.study(args, work, page)


def over_splits(known: combining.Readings, args: Any, *, strong: bool) -> list[dict[str, Any]]:
    """Agreement on the held-out part by number of labels, and how often the rating had less than 5 % of the weights."""
    trials = list(combining.trials(known, args.sizes, args.splits, args.seed, strong=strong, mute=False))
    rows = []
    for belief in BELIEFS:
        reached: dict[str, list[float]] = {str(size): [] for size in args.sizes}
        idle: dict[str, list[bool]] = {str(size): [] for size in args.sizes}
        expected = dict(zip(NAMES, belief, strict=False))
        with combining.believing(**expected, together=belief[-1]):
            for size, trial in trials:
                fitted = combining.fitted(trial)
                reached[str(size)].append(q(combining.applied(fitted, trial).tolist(), trial.truth.tolist()) / 3)
                idle[str(size)].append(fitted.calibration.shares["rating"] < WORTH)
        rows.append(
            {
                **expected,
                "together": belief[-1],
                "mean": {size: float(np.mean(values)) for size, values in reached.items()},
                "rating without weight": {size: float(np.mean(values)) for size, values in idle.items()},
            }
        )
    return rows


def page(sets: list[dict[str, Any]]) -> str:
    """The Markdown of all sets."""
    basis = (__doc__ or "").partition("--documents 44")[2].strip()
    lines = ["# Beliefs about readings", "", "`python benchmarks/beliefs.py`", "", basis, ""]
    lines += ["Mean of three coefficients on the held-out part; in brackets how often the rating had less than 5 % of"]
    lines += [
        "the weights. The rows are beliefs: of rating, approval, likelihood; how far a rating is talked up; of the",
        "first two together.",
        "",
    ]
    for one in sets:
        for situation, rows in one["reached"].items():
            sizes = list(rows[0]["mean"])
            lines += [f"## {one['name']}, {one['model']}: {situation}", ""]
            lines += [f"{one['examples']} examples; {one['splits']} splits.", ""]
            lines += [
                f"| labels | {' | '.join(sizes)} |",
                "| --- |" + " --- |" * len(sizes),
            ]
            for row in rows:
                cells = [f"{row['mean'][size]:.3f} ({row['rating without weight'][size]:.0%})" for size in sizes]
                lines.append(f"| {_named(row)} | {' | '.join(cells)} |")
            lines.append("")
    return "\n".join([*lines, *_means(sets)])


def _named(row: dict[str, Any]) -> str:
    return f"{', '.join(f'{row[name]:g}' for name in NAMES)}; {row['together']:g}"


def _means(sets: list[dict[str, Any]]) -> list[str]:
    """The means over all sets."""
    lines = []
    for situation in SITUATIONS:
        tables = [one["reached"][situation] for one in sets]
        sizes = list(tables[0][0]["mean"])
        lines += [f"## Mean of the {len(sets)} sets: {situation}", "", f"| labels | {' | '.join(sizes)} |"]
        lines += ["| --- |" + " --- |" * len(sizes)]
        for rows in zip(*tables, strict=True):
            means = [np.mean([row["mean"][size] for row in rows]) for size in sizes]
            lines.append(f"| {_named(rows[0])} | {' | '.join(f'{mean:.3f}' for mean in means)} |")
        lines.append("")
    return lines


if __name__ == "__main__":
    main()
