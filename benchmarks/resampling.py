"""How long bootstrap resamples of all three coefficients take, against the plain scipy loop, with the same numbers.

    python benchmarks/resampling.py [--out benchmarks/results/resampling.md]

Processor seconds of one process, since other work on the machine can only slow a run down; the ratio is what counts.
"""

from __future__ import annotations

import argparse
import os
import platform
import time
from pathlib import Path

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")  # one thread each: the processor seconds are comparable

import numpy as np  # noqa: E402
import scipy  # noqa: E402
from scipy import stats as scipy_stats  # noqa: E402

from active_critic.stats import agreement, weighted_coefficients  # noqa: E402

CASES = (
    # examples, documents, resamples, resamples of the scipy loop (the rest is extrapolated)
    (1_600, 100, 10_000, 10_000),
    (1_600, 1_600, 10_000, 500),
    (20_000, 20_000, 1_000, 20),
    (100_000, 100_000, 100, 2),
)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    lines = [
        "| examples | documents | resamples | scipy loop, s | `agreement`, s | times faster | largest difference |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    worst = 0.0
    for case in CASES:
        line, difference = _measure(*case)
        worst = max(worst, difference)
        lines.append(line)
        print(line, flush=True)
    if args.out:
        args.out.parent.mkdir(parents=True, exist_ok=True)
        args.out.write_text(_page(lines), encoding="utf-8")
    return 0 if worst < 1e-12 else 1


def _measure(n: int, documents: int, resamples: int, by_loop: int) -> tuple[str, float]:
    rng = np.random.default_rng(0)
    # Human scores as in SummEval: means of twelve ratings from 1 to 5, so many ties. Predictions without any.
    human = rng.integers(1, 6, (n, 12)).mean(axis=1)
    pred = human + rng.normal(size=n)
    code = np.arange(n) % documents
    groups = [f"{i:07}" for i in code]
    started = time.process_time()
    agreement(pred.tolist(), human.tolist(), groups, resamples=resamples)
    ours = time.process_time() - started

    members = [np.flatnonzero(code == i) for i in range(documents)] if documents < n else np.arange(n)[:, None]
    draws = np.random.default_rng(0).multinomial(documents, np.full(documents, 1 / documents), by_loop)
    found = np.empty((by_loop, 3))
    started = time.process_time()
    for i, draw in enumerate(draws):
        rows = np.concatenate([members[d] for d in np.repeat(np.arange(documents), draw)])
        x, y = pred[rows], human[rows]
        pair = (scipy_stats.pearsonr(x, y), scipy_stats.spearmanr(x, y), scipy_stats.kendalltau(x, y))
        found[i] = [coefficient.statistic for coefficient in pair]
    loop = (time.process_time() - started) * resamples / by_loop

    checked = min(by_loop, 200)
    weights = draws[:checked, code].astype(float)
    difference = float(np.abs(weighted_coefficients(pred, human, weights)[:, :3] - found[:checked]).max())
    about = "" if by_loop == resamples else f" (from {by_loop})"
    return (
        f"| {n:,} | {documents:,} | {resamples:,} | {loop:,.0f}{about} | {ours:.1f} | {loop / ours:.0f} "
        f"| {difference:.0e} |"
    ), difference


def _page(lines: list[str]) -> str:
    versions = f"Python {platform.python_version()}, numpy {np.__version__}, scipy {scipy.__version__}"
    return "\n".join(
        [
            "# Bootstrap of all three coefficients, against the plain scipy loop",
            "",
            f"`python benchmarks/resampling.py`; {versions}.",
            "Processor seconds of one process and one thread; the machine was doing other work, so seconds are upper",
            "bounds and the ratio is the figure to keep. Where the loop would take too long, it is measured on the",
            "number of resamples in brackets and scaled up. The largest difference is over up to 200 resamples and the",
            "three coefficients. `agreement` is that of `active_critic.stats`.",
            "",
            *lines,
            "",
        ]
    )


if __name__ == "__main__":
    raise SystemExit(main())
