"""What scipy says of the same numbers: the plain computation that the statistics are compared with."""

from __future__ import annotations

import gzip
import json
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats as scipy_stats

SHARED = Path(__file__).parents[2] / "shared" / "datasets"
SETS = ("bagel", "hanna", "openmeva_roc", "qags_cnn", "qags_xsum", "sfres", "summeval", "topical_chat")
COEFFICIENTS: dict[str, Callable[..., float]] = {
    "pearson": lambda x, y: scipy_stats.pearsonr(x, y).statistic,
    "spearman": lambda x, y: scipy_stats.spearmanr(x, y).statistic,
    "kendall": lambda x, y: scipy_stats.kendalltau(x, y).statistic,
}


def noisy(n: int, seed: int = 0, noise: float = 1.0) -> tuple[list[float], list[float], list[str], list[str]]:
    """Predictions, human scores, documents of five and five systems."""
    rng = np.random.default_rng(seed)
    human = rng.integers(1, 6, n).astype(float)
    pred = human + noise * rng.normal(size=n)
    return pred.tolist(), human.tolist(), [f"d{i // 5}" for i in range(n)], [f"s{i % 5}" for i in range(n)]


def expanded(values: Sequence[float], documents: int, spread: float = 1.0) -> list[float]:
    """The ends of the expanded percentile interval of 95 % (Hesterberg, 2015)."""
    z = spread * np.sqrt(documents / (documents - 1)) * scipy_stats.t.ppf(0.025, documents - 1)
    low = scipy_stats.norm.cdf(z)
    return [float(end) for end in np.quantile(values, [low, 1 - low])]


def by_scipy(pred: Sequence[float], human: Sequence[float]) -> list[float] | None:
    """The three coefficients, or None where they are not defined."""
    if len(pred) < 2 or np.ptp(pred) == 0 or np.ptp(human) == 0:
        return None
    return [of(pred, human) for of in COEFFICIENTS.values()]


def at_level(
    level: str,
    pred: Sequence[float | None],
    human: Sequence[float],
    groups: Sequence[str],
    systems: Sequence[str | None],
) -> tuple[list[float] | None, int]:
    """The three coefficients at a level, and over how many examples, documents that vary, or systems they are."""
    kept = [i for i, value in enumerate(pred) if value is not None]
    x, y, groups, systems = ([column[i] for i in kept] for column in (pred, human, groups, systems))
    if level == "dataset":
        return by_scipy(x, y), len(x)
    if level == "document":
        found = [three for part in _grouped(x, y, groups) if (three := by_scipy(*part)) is not None]
        return (list(np.mean(found, axis=0)) if found else None), len(found)
    means = [[math.fsum(side) / len(side) for side in part] for part in _grouped(x, y, systems)]
    return by_scipy(*map(list, zip(*means, strict=True))), len(means)


def _grouped(x: Sequence[Any], y: Sequence[Any], names: Sequence[Any]) -> list[tuple[list[Any], list[Any]]]:
    parts: dict[Any, tuple[list[Any], list[Any]]] = {}
    for one, other, name in zip(x, y, names, strict=True):
        sides = parts.setdefault(name, ([], []))
        sides[0].append(one)
        sides[1].append(other)
    return list(parts.values())


def shared_set(name: str) -> list[dict[str, Any]]:
    """A public data set with the scores of published evaluators (``preds``) and the length of each response."""
    texts = SHARED / f"{name}.jsonl"
    raw = texts.read_bytes() if texts.exists() else gzip.decompress(Path(f"{texts}.gz").read_bytes())
    length = {row["id"]: len(row["response"]) for row in map(json.loads, raw.splitlines())}
    lines = gzip.decompress((SHARED / "peers" / f"{name}.jsonl.gz").read_bytes()).splitlines()
    return [{**row, "length": length[row["id"]], "constant": 1} for row in map(json.loads, lines)]
