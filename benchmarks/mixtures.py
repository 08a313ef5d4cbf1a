"""Which belief about readings a combination is to begin with, or an average of several: simulated, no model.

    python benchmarks/mixtures.py

Labels are drawn from normal distributions in which readings correlate with people's scores and with each other as
measured on real sets (``readings.py``), and in further situations with a rating of .3, .45 and .6, as that of an abler
model may be. What counts is how the combination that few labels give correlates with people's scores in the whole
distribution. The product begins with one belief that counts for 20 examples, and with another where the model is not of
its catalogue. Each of the others weighs several combinations by how likely the labels are under what each begins with
(Bayesian model averaging): beliefs of how much the first counts, or that belief and four in each of which one reading
is far better than the rest. At half their weight the likelihoods are square roots, as labels of one document are alike.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from active_critic import weighing
from active_critic.weighing import ABLER, EXPECTED, PRIOR, TOGETHER

Floats = NDArray[np.float64]

NAMES = ("rating", "approval", "likelihood", "surface")
SIZES = (5, 10, 20, 30, 50)
SITUATIONS = (None, 0.3, 0.45, 0.6)
"""The correlation of the rating with people's scores; None: as measured."""
PRIORS = (5.0, 10.0, PRIOR, 40.0, 80.0)
BEST, REST = 0.55, 0.5
"""The correlation of the reading that is far better, and what is left of that of the others."""
USUAL = 0.6
"""How likely the first belief is before any label is seen; the four others share the rest."""
FLOOR = 0.01
"""Correlations that were measured apart need not fit together: no direction varies by less than this."""
ALIKE = np.array([[weighing._together(one, other) for other in NAMES] for one in NAMES])
BELIEVED = np.array([EXPECTED.get(name, TOGETHER) for name in NAMES])
OF_OTHERS = np.array([ABLER.get(name, TOGETHER) for name in NAMES])
BELIEFS = [BELIEVED, *(np.where(np.arange(4) == best, BEST, REST * BELIEVED) for best in range(4))]
CHANCES = [USUAL, *[(1 - USUAL) / 4] * 4]

Way = Callable[[Floats, Floats], Floats]
"""From standardised readings and scores to weights."""


def main() -> None:
    """Simulate, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tries", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--of", nargs="+", default=[f"benchmarks/results/{n}.json" for n in ("readings", "readings_fresh")]
    )
    parser.add_argument("--out", default="benchmarks/results/mixtures")
    args = parser.parse_args()
    rows = []
    for path in args.of:
        for one in json.loads(Path(path).read_text())["sets"]:
            where = f"{one['name']} ({Path(path).stem})"
            rows += [{"rating": r, **tried(args, where, *correlations(one, r))} for r in SITUATIONS]
    document = {
        "settings": {"tries": args.tries, "seed": args.seed, "of": [Path(p).name for p in args.of]},
        "rows": rows,
    }
    Path(args.out).with_suffix(".json").write_text(json.dumps(document, indent=1) + "\n")
    Path(args.out).with_suffix(".md").write_text(table(document))
    print(table(document))


def correlations(one: dict[str, Any], rating: float | None = None) -> tuple[Floats, Floats]:
    """Of readings with each other and with people; a simulated rating goes with another by what both are worth."""
    people = np.array([one["alone"][name]["pearson"] for name in NAMES])
    each = np.eye(len(NAMES))
    for pair, value in one["with each other"].items():
        i, j = (NAMES.index(name) for name in pair.split(" and "))
        each[i, j] = each[j, i] = value
    if rating is not None:
        people[0] = rating
        each[0, 1:] = each[1:, 0] = rating * people[1:]
    together = np.block([[each, people[:, None]], [people[None], np.ones((1, 1))]])
    values, vectors = np.linalg.eigh(together)
    together = vectors @ np.diag(np.maximum(values, FLOOR)) @ vectors.T
    together /= np.sqrt(np.outer(np.diag(together), np.diag(together)))
    return together[:-1, :-1], together[:-1, -1]


def tried(args: argparse.Namespace, name: str, each: Floats, people: Floats) -> dict[str, Any]:
    """The mean correlation with people that every way reaches, by number of labels."""
    whole = np.block([[each, people[:, None]], [people[None], np.ones((1, 1))]])
    root, rng = np.linalg.cholesky(whole), np.random.default_rng(args.seed)
    found: dict[str, dict[str, float]] = {way: {} for way in WAYS}
    for size in SIZES:
        reached: dict[str, list[float]] = {way: [] for way in WAYS}
        for _ in range(args.tries):
            drawn = rng.normal(size=(size, len(NAMES) + 1)) @ root.T
            drawn = (drawn - drawn.mean(axis=0)) / drawn.std(axis=0)
            for way, weigh in WAYS.items():
                w = weigh(drawn[:, :-1], drawn[:, -1])
                w = w if w.any() else BELIEVED
                reached[way].append(float(w @ people / np.sqrt(w @ each @ w)))
        for way, values in reached.items():
            found[way][str(size)] = float(np.mean(values))
    best = float(np.sqrt(people @ np.linalg.solve(each, people)))
    return {"name": name, "best linear combination": best, "reached": found}


def combined(z: Floats, y: Floats, prior: float, believed: Floats) -> Floats:
    """The weights of ``calibration.calibrate``, all readings kept."""
    return weighing._non_negative(z.T @ z + prior * ALIKE, z.T @ y + prior * believed)


def evidence(z: Floats, y: Floats, prior: float, believed: Floats) -> float:
    """The log-likelihood of the scores under what a combination begins with."""
    noise = 1 - min(0.9, float(believed @ np.linalg.solve(ALIKE, believed)))
    covariance = noise * (np.eye(len(y)) + z @ np.linalg.inv(prior * ALIKE) @ z.T)
    missed = y - z @ weighing._non_negative(ALIKE, believed)
    return -0.5 * float(np.linalg.slogdet(covariance)[1] + missed @ np.linalg.solve(covariance, missed))


def averaged(beliefs: list[tuple[float, float, Floats]], part: float = 1.0) -> Way:
    """Combinations averaged by their evidence; of each the chance beforehand, the prior's count, and the belief."""

    def weigh(z: Floats, y: Floats) -> Floats:
        logs = np.array([np.log(chance) + part * evidence(z, y, prior, one) for chance, prior, one in beliefs])
        shares = np.exp(logs - logs.max())
        every = np.array([combined(z, y, prior, one) for _, prior, one in beliefs])
        return np.asarray(shares @ every / shares.sum())

    return weigh


_FIVE = [(chance, PRIOR, one) for chance, one in zip(CHANCES, BELIEFS, strict=True)]
WAYS: dict[str, Way] = {
    f"one belief, counts for {PRIOR:g} (the product)": lambda z, y: combined(z, y, PRIOR, BELIEVED),
    "that of the product for other models": lambda z, y: combined(z, y, PRIOR, OF_OTHERS),
    "one belief, counts for 10": lambda z, y: combined(z, y, 10.0, BELIEVED),
    "how much it counts, by evidence": averaged([(0.2, prior, BELIEVED) for prior in PRIORS]),
    "five beliefs, by evidence": averaged(_FIVE),
    "five beliefs, by evidence at half its weight": averaged(_FIVE, 0.5),
}


def table(document: dict[str, Any]) -> str:
    """The Markdown."""
    settings, basis = document["settings"], (__doc__ or "").partition("mixtures.py\n")[2].strip()
    lines = ["# Several beliefs about readings", "", "`python benchmarks/mixtures.py`", "", basis, ""]
    of = ", ".join(settings["of"])
    lines += [f"{settings['tries']} draws of labels each, seed {settings['seed']}; correlations of {of}."]
    rows = document["rows"]
    for rating in SITUATIONS:
        some = [row for row in rows if row["rating"] == rating]
        title = "As measured" if rating is None else f"With a rating of {rating:g}"
        lines += ["", f"## {title}, mean of {len(some)} sets", "", f"| labels | {' | '.join(map(str, SIZES))} |"]
        lines += ["| --- |" + " --- |" * len(SIZES)]
        for way in WAYS:
            means = [np.mean([row["reached"][way][str(size)] for row in some]) for size in SIZES]
            lines.append(f"| {way} | {' | '.join(f'{mean:.3f}' for mean in means)} |")
    best = np.mean([row["best linear combination"] for row in rows if row["rating"] is None])
    return "\n".join([*lines, "", f"The best linear combination would reach {best:.3f} as measured.", ""])


if __name__ == "__main__":
    main()
