"""What the combination would reach if its surface were held with another strength, or with several by their evidence.

    python benchmarks/strengths.py sfres=path/to/sfres.jsonl --documents 44

The readings and the splits are those of ``readings.py``, through the same journal. The figures of the surface tell much
of some data sets and nothing of others, and one ridge holds them on all: 4 for each figure in the product. Here it is
weaker, or stronger; or the scores of several strengths are averaged, each counting for how likely it makes the labels
(their evidence, the belief about readings taken as further examples); or the likeliest strength alone is taken.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from active_critic import weighing
from active_critic.evaluators.surface import ALPHA_PER_FIGURE
from active_critic.stats import q
from active_critic.weighing import EXPECTED, PRIOR

sys.path.insert(0, str(Path(__file__).parent))
import combining
import readings

STRENGTHS = (1.0, 2.0, ALPHA_PER_FIGURE, 8.0, 16.0)
AVERAGE, LIKELIEST, SURFACE = "averaged by evidence", "the likeliest alone", "the surface floor, for comparison"


def main() -> None:
    args = readings.studying(__doc__, "strengths", (5, 10, 20, 30, 50)).parse_args()

    def work(_data: Any, known: combining.Readings, _lm: Any) -> dict[str, Any]:
        reached: dict[str, dict[str, list[float]]] = {}
        for size, trial in combining.trials(known, args.sizes, args.splits, args.seed, strong=False, mute=False):
            for way, scores in _ways(trial).items():
                agreed = q(scores.tolist(), trial.truth.tolist()) / 3
                reached.setdefault(way, {}).setdefault(str(size), []).append(agreed)
        return {"reached": {way: {size: float(np.mean(v)) for size, v in row.items()} for way, row in reached.items()}}

    readings.study(args, work, page)


def _ways(trial: combining.Trial) -> dict[str, combining.Floats]:
    """Scores of the held-out examples, by what tables call the way."""
    ways, evidence = {}, []
    for strength in STRENGTHS:
        with combining.believing(**{"surface figures": 1 / math.sqrt(1 + strength)}):
            found = combining.fitted(trial)
        product = " (the product)" if strength == ALPHA_PER_FIGURE else ""
        ways[f"{strength:g} a figure{product}"] = combining.applied(found, trial)
        evidence.append(log_evidence(found, trial))
    each = np.array(list(ways.values()))
    likely = np.exp(np.array(evidence) - max(evidence))
    ways[AVERAGE] = likely @ each / likely.sum()
    ways[LIKELIEST] = each[int(np.argmax(evidence))]
    ways[SURFACE] = trial.test["surface"]
    return ways


def log_evidence(found: combining.Fitted, trial: combining.Trial) -> float:
    """How likely a combination's strengths make the labels: the logarithm, up to a constant.

    The coefficients of the figures and the variance are integrated out, the weights of the readings are taken as they
    were fitted. What is believed of readings counts as ``PRIOR`` further examples.
    """
    spread = float(trial.human.std())
    if not spread:
        return 0.0
    missed = (trial.human - trial.human.mean()) / spread
    weights: dict[str, float] = {}
    for part in found.calibration.parts:
        if part.name not in found.figures:
            missed = missed - np.array([part.adds(value) for value in trial.train[part.name]]) / spread
            weights[part.name] = part.weight / spread
    held, ridge, x = 0.0, [np.zeros(0)], [np.zeros((len(missed), 0))]
    for kind, own in found.figures.items():
        missed = missed - own.add(trial.figures[kind]) / spread
        held += own.alpha * float((own.coefficients**2).sum()) / spread**2
        ridge.append(np.full(len(own.coefficients), own.alpha))
        x.append(own.standard.apply(trial.figures[kind]))
    alphas, figures = np.concatenate(ridge), np.hstack(x)
    volume = float(np.linalg.slogdet(figures.T @ figures + np.diag(alphas))[1] - np.log(alphas).sum())
    squares = float(missed @ missed) + held + PRIOR * _disbelief(weights)
    return -volume / 2 - (len(missed) + PRIOR) / 2 * math.log(squares)


def _disbelief(weights: Mapping[str, float]) -> float:
    """The mean squared error of these weights where readings are as they are believed to be."""
    alike = np.array([[weighing._together(one, other) for other in weights] for one in weights])
    w, believed = np.array([*weights.values()]), np.array([EXPECTED[name] for name in weights])
    return float(1 - 2 * believed @ w + w @ alike @ w)


def page(sets: list[dict[str, Any]]) -> str:
    """The Markdown of all sets."""
    basis = (__doc__ or "").partition("--documents 44")[2].strip()
    lines = ["# Strengths of the ridge on the surface", "", "`python benchmarks/strengths.py`", "", basis, ""]
    lines += ["Mean of three coefficients on the held-out part, by number of labels.", ""]
    for one in sets:
        lines += [f"## {one['name']}, {one['model']}", "", f"{one['examples']} examples; {one['splits']} splits.", ""]
        lines += [*_table(one["reached"]), ""]
    ways, sizes = sets[0]["reached"], list(sets[0]["reached"][SURFACE])
    mean = {w: {n: float(np.mean([one["reached"][w][n] for one in sets])) for n in sizes} for w in ways}
    return "\n".join([*lines, f"## Mean of the {len(sets)} sets", "", *_table(mean), ""])


def _table(reached: Mapping[str, Mapping[str, float]]) -> list[str]:
    sizes = list(reached[SURFACE])
    head = [f"| labels | {' | '.join(sizes)} |", "| --- |" + " --- |" * len(sizes)]
    return head + [f"| {way} | {' | '.join(f'{row[size]:.3f}' for size in sizes)} |" for way, row in reached.items()]


if __name__ == "__main__":
    main()
