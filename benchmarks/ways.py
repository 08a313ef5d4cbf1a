"""Ways to combine readings that are there already, tried on several sets: for ``beside.py`` and ``tokens.py``."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import combining
import drawing
import numpy as np

import active_critic as ac
from active_critic.stats import q


def try_out(
    description: str | None,
    name: str,
    readings_of: Callable[[ac.Examples, list[Path]], combining.Readings],
    ways: Mapping[str, combining.Combine],
    *,
    basis: Sequence[str],
    column: str,
    sizes: Sequence[int],
) -> None:
    """Read the command line, try every way on every set, and write what was found.

    Args:
        description: Of the script.
        name: Of the results.
        readings_of: The examples of a set that have readings, from the files that the command line names behind it.
        ways: By what tables call them.
        basis: What the page says first.
        column: What its first column holds.
        sizes: Numbers of labels.
    """
    parser = drawing.options(description)
    parser.add_argument("--splits", type=int, default=40)
    parser.add_argument("--sizes", type=int, nargs="+", default=list(sizes), help="numbers of labels")
    parser.add_argument("--out", default=f"benchmarks/results/{name}", help="where to write, without .json and .md")
    args = parser.parse_args()
    head = f"Mean of three coefficients on the held-out third, by number of labels; means over {args.splits} splits."
    sets = []
    for named in args.data:
        label, path, files = named.split("=", 2)
        known = readings_of(drawing.read(path, args), sorted(Path().glob(files)))
        least = min(len(pool) for pool, _ in combining.parted(known, args.splits, args.seed))
        had = [size for size in args.sizes if size <= least]
        reached: dict[str, dict[str, list[float]]] = {way: {str(size): [] for size in had} for way in ways}
        for size, trial in combining.trials(known, had, args.splits, args.seed, strong=False, mute=False):
            for way, combine in ways.items():
                reached[way][str(size)].append(q(combine(trial).tolist(), trial.truth.tolist()) / 3)
        found = {way: {size: float(np.mean(values)) for size, values in row.items()} for way, row in reached.items()}
        sets.append({"name": label, "examples": len(known.human), "documents": len(set(known.groups)), "ways": found})
        print("\n".join(_tables(sets[-1:], column)), flush=True)
    stem = Path(args.out)
    stem.with_suffix(".json").write_text(json.dumps({"splits": args.splits, "seed": args.seed, "sets": sets}) + "\n")
    stem.with_suffix(".md").write_text("\n".join([head, *basis, "", *_tables(sets, column)]))


def _tables(sets: list[dict[str, Any]], column: str) -> list[str]:
    """In Markdown: the mean over the sets that have a number of labels, then every set."""
    lines = []
    tables = [("mean of all sets that have as many labels", sets)] if len(sets) > 1 else []
    tables += [(f"{one['name']}: {one['examples']} examples of {one['documents']} documents", [one]) for one in sets]
    for title, of in tables:
        ways = list(of[0]["ways"])
        sizes = list(dict.fromkeys(size for one in of for size in one["ways"][ways[0]]))
        heads = [f"{size} ({sum(size in one['ways'][ways[0]] for one in of)} sets)" for size in sizes]
        lines += [f"## {title}", "", f"| {column} | {' | '.join(heads if len(of) > 1 else sizes)} |"]
        lines.append("|" + " --- |" * (len(sizes) + 1))
        for way in ways:
            means = [np.mean([one["ways"][way][size] for one in of if size in one["ways"][way]]) for size in sizes]
            lines.append(f"| {way} | {' | '.join(f'{mean:.3f}' for mean in means)} |")
        lines.append("")
    return lines
