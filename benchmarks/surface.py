"""How well the surface floor agrees with people on documents it has not seen, by data set and number of examples.

    python benchmarks/surface.py sfres=path/to/sfres.jsonl hanna=path/to/hanna.jsonl.gz [--out FILE]

Fits the floor on a share of the documents (or on about so many examples), scores the rest and takes the mean of
Pearson, Spearman and Kendall over all responses; then the mean over seeds. Another seed, other documents. A last table
does the same with other ridge strengths, and fitted to the ranks of people's scores. Numbers and settings only, never
texts.
"""

from __future__ import annotations

import argparse
import os
import platform
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")  # the matrices are tiny

import numpy as np  # noqa: E402
import scipy  # noqa: E402
from scipy.stats import rankdata  # noqa: E402

import active_critic as ac  # noqa: E402
from active_critic.data.examples import folds, group_of  # noqa: E402
from active_critic.evaluators.surface import ALPHA_PER_FIGURE, FEATURES, SurfaceFloor, figures_of  # noqa: E402
from active_critic.stats import q  # noqa: E402

STRENGTHS = (0.25, 1.0, 4.0, 16.0)
"""Ridge strengths a figure that are compared."""

_GRID = tuple(10.0 ** (half / 2) for half in range(-4, 10))


@dataclass(frozen=True)
class _Set:
    name: str
    examples: ac.Examples
    figures: np.ndarray

    def part(self, positions: list[int]) -> tuple[ac.Examples, np.ndarray]:
        return self.examples.take(positions), self.figures[positions]


def main() -> None:
    args = _arguments()
    fields = dict(pair.split("=", 1) for pair in args.fields.split(","))
    sets = []
    for named in args.data:
        name, _, path = named.partition("=")
        examples = ac.read_examples(path, fields=fields)
        sets.append(_Set(name, examples, figures_of(examples)))
    seeds = range(args.seeds)
    sizes = [float(size) for size in args.sizes.split(",")]
    lines = _results(sets, sizes, seeds)
    lines += ["", "## Other ways", "", *_others(sets, sizes, seeds)]
    print("\n".join(lines), flush=True)
    if args.out:
        args.out.parent.mkdir(parents=True, exist_ok=True)
        args.out.write_text(_page(lines, args), encoding="utf-8")


def _results(sets: list[_Set], sizes: list[float], seeds: range) -> list[str]:
    heads = ["data set", "examples", "documents", *map(_size, sizes)]
    lines = [f"| {' | '.join(heads)} |", "|" + " --- |" * len(heads)]
    means = []
    for data in sets:
        found = np.array([[_agreement(data, size, seed, _default) for seed in seeds] for size in sizes])
        means.append(found.mean(axis=1))
        documents = len({group_of(example) for example in data.examples})
        cells = [f"{mean:.3f} ± {sd:.3f}" for mean, sd in zip(found.mean(axis=1), found.std(axis=1), strict=True)]
        lines.append(f"| {data.name} | {len(data.examples)} | {documents} | {' | '.join(cells)} |")
    cells = [f"**{mean:.3f}**" for mean in np.mean(means, axis=0)]
    return [*lines, f"| mean | | | {' | '.join(cells)} |"]


def _others(sets: list[_Set], sizes: list[float], seeds: range) -> list[str]:
    heads = ["strength, or target; mean of all sets", *map(_size, sizes)]
    lines = [f"| {' | '.join(heads)} |", "|" + " --- |" * len(heads)]
    rows: list[tuple[str, Callable[[ac.Examples, np.ndarray], SurfaceFloor]]] = [
        (f"{strength:g} a figure" + (" (the default)" if strength == ALPHA_PER_FIGURE else ""), _fixed(strength))
        for strength in STRENGTHS
    ]
    rows.append(("least squared error on documents left out (10 folds)", _left_out))
    rows.append(("the default, fitted to ranks of the scores", _ranked))
    for name, fitted in rows:
        means = [np.mean([_agreement(data, size, seed, fitted) for data in sets for seed in seeds]) for size in sizes]
        lines.append(f"| {name} | {' | '.join(f'{mean:.3f}' for mean in means)} |")
    return lines


def _agreement(data: _Set, size: float, seed: int, fitted: Callable[[ac.Examples, np.ndarray], SurfaceFloor]) -> float:
    """The mean of three coefficients on the documents that were not fitted on; 0 where they are not defined."""
    position = {id(example): index for index, example in enumerate(data.examples)}
    halves = ac.split(data.examples, size if size < 1 else size / len(data.examples), seed)
    train, test = ([position[id(example)] for example in half] for half in halves)
    floor = fitted(*data.part(train))
    held_back, figures = data.part(test)
    return q(floor.predict(held_back, figures=figures), [example.score or 0.0 for example in held_back]) / 3


def _default(examples: ac.Examples, figures: np.ndarray) -> SurfaceFloor:
    return SurfaceFloor().fit(examples, figures=figures)


def _fixed(strength: float) -> Callable[[ac.Examples, np.ndarray], SurfaceFloor]:
    def fitted(examples: ac.Examples, figures: np.ndarray) -> SurfaceFloor:
        varying = np.count_nonzero(_default(examples, figures).spreads_)
        return SurfaceFloor(strength * max(1, int(varying))).fit(examples, figures=figures)

    return fitted


def _ranked(examples: ac.Examples, figures: np.ndarray) -> SurfaceFloor:
    ranks = rankdata([example.score or 0.0 for example in examples]).tolist()
    ranked = [replace(example, score=rank) for example, rank in zip(examples, ranks, strict=True)]
    return SurfaceFloor().fit(ranked, figures=figures)


def _left_out(examples: ac.Examples, figures: np.ndarray) -> SurfaceFloor:
    several = len({group_of(example) for example in examples}) > 1
    parts = folds(examples, 10, 0) if several else [[index] for index in range(len(examples))]
    errors = dict.fromkeys(_GRID, 0.0)
    for part in parts:
        rest = sorted(set(range(len(examples))) - set(part))
        held, kept = examples.take(part), examples.take(rest)
        for alpha in _GRID:
            floor = SurfaceFloor(alpha).fit(kept, figures=figures[rest])
            predicted = floor.predict(held, figures=figures[part])
            errors[alpha] += sum((p - (e.score or 0.0)) ** 2 for p, e in zip(predicted, held, strict=True))
    return SurfaceFloor(min(errors, key=lambda alpha: errors[alpha])).fit(examples, figures=figures)


def _size(size: float) -> str:
    return f"fitted on {size:.0%}" if size < 1 else f"on about {size:.0f}"


def _page(lines: list[str], args: argparse.Namespace) -> str:
    versions = f"Python {platform.python_version()}, numpy {np.__version__}, scipy {scipy.__version__}"
    return "\n".join(
        [
            "# The surface floor on documents it has not seen",
            "",
            f"`python benchmarks/surface.py`; active-critic {ac.__version__}, {versions}.",
            f"Mean of Pearson, Spearman and Kendall with the human score ({args.fields}), over all responses of the",
            "documents that were not fitted on; undefined coefficients count as 0. Mean ± standard deviation over",
            f"seeds 0 to {args.seeds - 1}. No document is parted, so the number fitted on is the nearest that whole",
            f"documents allow. {len(FEATURES)} figures, ridge strength {ALPHA_PER_FIGURE:g} for each that varies.",
            "",
            *lines,
            "",
        ]
    )


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", nargs="+", metavar="NAME=PATH")
    parser.add_argument("--fields", default="score=overall,group=doc_id")
    parser.add_argument("--sizes", default="20,40,0.25", help="below 1: a share; else: a number of examples")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/surface.md"))
    return parser.parse_args()


if __name__ == "__main__":
    main()
