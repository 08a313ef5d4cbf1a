"""What it costs and gains that a text unlike the examples is not paid for its figures.

    python benchmarks/unlike.py sfres=path/to/sfres.jsonl --documents 44

The readings and the splits are those of ``readings.py``, through the same journal. A text is unlike the examples where
a quarter of the figures of its surface, or more, are far from theirs (``weighing.UNLIKE``); surface and tokens of such
a text count as no more than the mean. Here this share is another, too, also for unlikely texts alone (those whose
likelihood is further below the mean than half of what makes a figure far, about a standard deviation), or other parts
are bounded. For each: the agreement on the held-out texts; how many of these are unlike; and what attacks on them, all
families that keep the text, add to the part of the score that is the surface, in % of the scale. What the model says of
attacked texts is not asked: all are taken to be unlikely, as most were that were read.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from active_critic.data.examples import Examples
from active_critic.evaluators._readings import OF_FIGURES, READINGS, TOKENS
from active_critic.evaluators.surface import figures_of
from active_critic.probes.attack_trial import _attacked
from active_critic.probes.attacks import ATTACKS, Attacker
from active_critic.standardising import Booleans
from active_critic.stats import q
from active_critic.weighing import FEWEST_FAR, UNLIKE, Figures

sys.path.insert(0, str(Path(__file__).parent))
import combining
import readings

AS_IT_WAS, PRODUCT = "nothing is unlike", f"from {UNLIKE:.0%} on (the product)"
EVERY = frozenset({*READINGS, TOKENS})
KEPT = [attack for attack in ATTACKS if not attack.replaces]
WAYS = {
    AS_IT_WAS: (2.0, 2.0, OF_FIGURES),
    "from 20% on": (0.2, 0.2, OF_FIGURES),
    PRODUCT: (UNLIKE, UNLIKE, OF_FIGURES),
    "from 30% on": (0.3, 0.3, OF_FIGURES),
    "from 25% on, 12.5% if unlikely": (UNLIKE, UNLIKE / 2, OF_FIGURES),
    "from 25% on, and every unlikely text": (UNLIKE, 0.0, OF_FIGURES),
    "from 25% on, bounding the surface alone": (UNLIKE, UNLIKE, frozenset({"surface"})),
    "from 25% on, bounding every part": (UNLIKE, UNLIKE, EVERY),
}
"""The share of far figures from which a text is unlike the examples, that from which an unlikely text is, and the parts
of the score that count as no more than the mean then."""


def main() -> None:
    args = readings.studying(__doc__, "unlike", (5, 10, 20, 40)).parse_args()

    def work(_data: Any, known: combining.Readings, _lm: Any) -> dict[str, Any]:
        attacked = _attacked_figures(known.examples)
        found: dict[str, dict[str, list[list[float]]]] = {}
        tested = [test for _, test in combining.parted(known, args.splits, args.seed) for _ in args.sizes]
        drawn = combining.trials(known, args.sizes, args.splits, args.seed, strong=False, mute=False)
        for test, (size, trial) in zip(tested, drawn, strict=True):
            for way, row in _ways(trial, attacked[test]).items():
                found.setdefault(way, {}).setdefault(str(size), []).append(row)
        return {
            "found": {
                way: {size: np.nanmean(rows, axis=0).tolist() for size, rows in of_sizes.items()}
                for way, of_sizes in found.items()
            }
        }

    readings.study(args, work, page)


def _attacked_figures(examples: Examples) -> combining.Floats:
    """The figures of every example under every attack, shape ``(examples, attacks, figures)``.

    Infinite where an attack has nothing to do; by an attacker who has read a program without criteria and examples.
    """
    texts = [[_attacked(example, attack, Attacker()) for attack in KEPT] for example in examples]
    none = np.full(figures_of(list(examples)[:1]).shape[1], np.inf)
    return np.array([[none if text is None else figures_of([text])[0] for text in row] for row in texts])


def _ways(trial: combining.Trial, attacked: combining.Floats) -> dict[str, list[float]]:
    """By way: agreement, share of texts that are unlike, and lift of the surface, over all attacks and of the worst."""
    found = combining.fitted(trial)
    surface = found.figures.get("surface")
    if surface is None:  # worth too little: nothing is paid for it
        agreed = q(combining.applied(found, trial).tolist(), trial.truth.tolist()) / 3
        return {way: [agreed, 0.0, 0.0, 0.0] for way in WAYS}
    had = np.isfinite(attacked).any(axis=2)
    own = trial.there["surface"]
    unlikely, then = np.zeros(len(own), bool), np.zeros(had.shape, bool)
    for part in found.calibration.parts:
        if part.name == "likelihood" and part.spread:
            unlikely = trial.test[part.name] < part.mean - surface.far / 2 * part.spread
            then = ~then
    test = dict(trial.test)
    for kind, figures in found.figures.items():
        test[kind] = found.calibration.intercept + figures.add(trial.there[kind])
    rows: dict[str, list[float]] = {}
    for way, (needed, least, bounded) in WAYS.items():
        unlike = _unlike(surface, own, (needed, least), unlikely)
        paid = _paid(surface, own, unlike)
        under = _paid(surface, attacked, _unlike(surface, attacked, (needed, least), then))
        lifts = np.where(had, under - paid[:, None], np.nan) * 100 / (trial.scale.high - trial.scale.low)
        counted = dict(test)
        for part in found.calibration.parts:
            if part.name in bounded:
                counted[part.name] = np.where(unlike, np.minimum(part.mean, test[part.name]), test[part.name])
        each = ({name: column[i] for name, column in counted.items()} for i in range(len(own)))
        scores = [found.calibration.apply(one, trial.scale).score for one in each]
        of_families = np.nanmean(lifts, axis=0)
        rows[way] = [
            q(scores, trial.truth.tolist()) / 3,
            100 * float(unlike.mean()),
            float(np.nanmean(of_families)),
            float(np.nanmax(of_families)),
        ]
    return rows


def _unlike(surface: Figures, figures: combining.Floats, shares: tuple[float, float], unlikely: Booleans) -> Booleans:
    """Which texts are unlike the examples, from the shares of far figures that it takes."""
    varying = np.count_nonzero(surface.standard.spreads)
    needed, least = (max(FEWEST_FAR, math.ceil(share * varying)) for share in shares)
    least = least if shares[1] else 0
    return np.asarray(surface.standard.far(figures, surface.far).sum(axis=-1) >= np.where(unlikely, least, needed))


def _paid(surface: Figures, figures: combining.Floats, unlike: Booleans) -> combining.Floats:
    """What the surface adds to the score."""
    added = surface.add(figures)
    return np.asarray(np.where(unlike, np.minimum(0.0, added), added))


def page(sets: list[dict[str, Any]]) -> str:
    """The Markdown of all sets."""
    basis = (__doc__ or "").partition("--documents 44")[2].strip()
    lines = ["# Texts unlike the examples", "", "`python benchmarks/unlike.py`", "", basis, ""]
    lines += [
        "In a cell: agreement (mean of three), texts unlike, lift of the surface by all families and by the worst.",
        "",
    ]
    for one in sets:
        lines += [f"## {one['name']}, {one['model']}", "", f"{one['examples']} examples; {one['splits']} splits.", ""]
        lines += [*_table(one["found"]), ""]
    ways, sizes = sets[0]["found"], list(sets[0]["found"][PRODUCT])
    mean = {w: {n: np.mean([one["found"][w][n] for one in sets], axis=0).tolist() for n in sizes} for w in ways}
    return "\n".join([*lines, f"## Mean of the {len(sets)} sets", "", *_table(mean), ""])


def _table(found: Mapping[str, Mapping[str, list[float]]]) -> list[str]:
    sizes = list(found[PRODUCT])
    head = [f"| labels | {' | '.join(sizes)} |", "| --- |" + " --- |" * len(sizes)]
    rows = []
    for way, row in found.items():
        cells = ["{:.3f}, {:.0f} %, {:+.1f}, {:+.1f}".format(*row[size]) for size in sizes]
        rows.append(f"| {way} | {' | '.join(cells)} |")
    return head + rows


if __name__ == "__main__":
    main()
