"""What a race loses where candidates differ, and what a cheaper one would lose: simulated, no model.

    python benchmarks/racing.py

Every candidate's ratings correlate with people's scores as strongly as the candidate is good, and their errors with
those of the others, for all read the same texts. Each way of searching chooses by its examples; what counts is how good
its choice really is. The race is that of ``demo_search``, with other first rungs and numbers of candidates.
"""

from __future__ import annotations

import argparse
import json
import statistics
from pathlib import Path
from typing import Any

import numpy as np
from search_cost import Recorded

from active_critic import demo_search
from active_critic.demo_search import DemoSearch
from active_critic.lm import scripted_lm
from active_critic.protocols import CriticProtocol, Provenance
from active_critic.records import Example, Scale, Verdict
from active_critic.scoring import Scorer

CANDIDATES, MEAN, SHARED = 11, 0.45, 0.7
"""Candidates; their mean correlation with people; and how far two of them err alike."""
SIZES, SPREADS = (22, 45, 90), (0.05, 0.15)
"""Examples to choose by; standard deviations of the candidates' correlations."""
RUNGS = {"full grid": None, "race from 8": 8, "race from 6": 6, "race from 4": 4}
"""Examples that every candidate is scored on first."""


def main() -> None:
    """Simulate, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tries", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", default="benchmarks/results/racing")
    args = parser.parse_args()
    rows = [tried(args, size, spread) for size in SIZES for spread in SPREADS]
    document = {"settings": {"tries": args.tries, "seed": args.seed, "candidates": CANDIDATES}, "rows": rows}
    Path(args.out).with_suffix(".json").write_text(json.dumps(document, indent=1) + "\n")
    Path(args.out).with_suffix(".md").write_text(table(document))
    print(table(document))


def tried(args: argparse.Namespace, size: int, spread: float) -> dict[str, Any]:
    """How good the choices are, and what part of the calls of the full grid they take."""
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in (*RUNGS, "quarter of the candidates")}
    for number in range(args.tries):
        rng = np.random.default_rng([args.seed, size, round(100 * spread), number])
        good = np.clip(rng.normal(MEAN, spread, CANDIDATES), 0.02, 0.9)
        quality, shared = rng.normal(size=size), rng.normal(size=size)
        errors = np.sqrt(SHARED) * shared + np.sqrt(1 - SHARED) * rng.normal(size=(CANDIDATES, size))
        ratings = good[:, None] * quality + np.sqrt(1 - good[:, None] ** 2) * errors
        human = np.clip(np.round(3 + quality), 1, 5)
        search = filled(ratings, human)
        for name, rung in RUNGS.items():
            demo_search.FIRST_RUNG = rung or 8
            winner, asked = search.trial(range(size), race=rung is not None)
            asked |= {(winner, i) for i in range(size)}
            found[name].append((good[winner], len(asked) / (CANDIDATES * size)))
        few = max(range(max(2, CANDIDATES // 4)), key=lambda c: search.q(c, range(size))[0] or 0.0)
        found["quarter of the candidates"].append((good[few], max(2, CANDIDATES // 4) / CANDIDATES))
        demo_search.FIRST_RUNG = 8
    ways = {name: [statistics.fmean(column) for column in zip(*each, strict=True)] for name, each in found.items()}
    return {"examples": size, "spread": spread, "ways": ways}


def filled(ratings: Any, human: Any) -> Recorded:
    """A search all of whose verdicts are there."""
    examples = [Example(response=f"text {i}", score=float(score)) for i, score in enumerate(human)]
    protocol = CriticProtocol(task_description="t", scale=Scale(low=1, high=5), provenance=Provenance(model="none"))
    search = Recorded(
        Scorer(protocol, scripted_lm(lambda _: "")), examples, examples, DemoSearch(candidates=1, demos=0)
    )
    search.sets = [()] * len(ratings)
    search.verdicts = {(c, i): Verdict(float(one)) for c, row in enumerate(ratings) for i, one in enumerate(row)}
    return search


def table(document: dict[str, Any]) -> str:
    """The choices' true correlations, and the part of the calls, in Markdown."""
    settings = document["settings"]
    names = list(document["rows"][0]["ways"])
    lines = [
        f"{settings['candidates']} candidates whose ratings correlate {MEAN} with people on average;",
        f"{settings['tries']} simulated searches, seed {settings['seed']}: true correlation of the choice, and what",
        "part of the full grid's calls it took.",
        "",
        f"| examples | candidates differ by (s.d.) | {' | '.join(names)} |",
        f"| --- | --- |{' --- |' * len(names)}",
    ]
    for row in document["rows"]:
        cells = [f"{good:.3f}, {calls:.0%}" for good, calls in row["ways"].values()]
        lines.append(f"| {row['examples']} | {row['spread']} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
