"""How far ahead on the average of several data sets: one table from the comparisons of benchmarks/compare.py.

    python benchmarks/agreement.py benchmarks/results/compare_*.json --ours active-critic-coarse

The mean of the three coefficients a method and data set, their average over the sets, and the difference of that
average between one method and every other, with a 95 % bootstrap interval: documents are drawn anew within each set,
the same for both methods, and the average taken again. No model is asked.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np

from active_critic import stats

RESAMPLES = 2_000


def main() -> None:
    args = _arguments()
    found = [json.loads(Path(name).read_text()) for name in args.results]
    methods = [
        name
        for name in {m["name"]: None for document in found for m in document["methods"]}
        if all(_scored(document, name) for document in found)
    ]
    rng = np.random.default_rng(args.seed)
    draws = [_averages(found, methods, None)]
    draws += [_averages(found, methods, rng) for _ in range(args.resamples)]
    averages = np.array(draws)
    document: dict[str, Any] = {
        "sets": [{"name": d["name"], "model": d["model"], "splits": _sizes(d)} for d in found],
        "ours": args.ours,
        "seed": args.seed,
        "resamples": args.resamples,
        "methods": {},
    }
    ours = methods.index(args.ours)
    for index, name in enumerate(methods):
        ahead = averages[:, ours] - averages[:, index]
        document["methods"][name] = {
            "means": {d["name"]: _of(d, name)["agreement"]["mean"] for d in found},
            "average": averages[0, index],
            "average_interval": np.nanquantile(averages[1:, index], [0.025, 0.975]).tolist(),
            "ours_ahead": None if index == ours else ahead[0],
            "ours_ahead_interval": None if index == ours else np.nanquantile(ahead[1:], [0.025, 0.975]).tolist(),
            "calls_a_verdict": _per_verdict(found, name, "calls"),
            "tokens_a_verdict": _per_verdict(found, name, "prompt_tokens", "completion_tokens"),
            "calls_of_the_fit": _of_the_fit(found, name),
        }
    stem = Path(args.out)
    stem.with_suffix(".json").write_text(json.dumps(document, indent=1) + "\n")
    stem.with_suffix(".md").write_text(table(document))
    print(table(document))


def table(document: dict[str, Any]) -> str:
    names = [entry["name"] for entry in document["sets"]]
    heads = [*names, "average", f"{document['ours']} ahead by"]
    heads += ["calls a verdict", "tokens a verdict", "calls of a fit"]
    lines = [f"| method | {' | '.join(heads)} |", "|" + " --- |" * (len(heads) + 1)]
    for name, entry in sorted(document["methods"].items(), key=lambda item: -item[1]["average"]):
        cells = [f"{entry['means'][n]:.2f}" for n in names]
        ahead = "" if entry["ours_ahead"] is None else f"{entry['ours_ahead']:+.2f} {_brackets(entry, 'ours_ahead')}"
        lines.append(
            f"| {name} | {' | '.join(cells)} | **{entry['average']:.2f}** {_brackets(entry, 'average')} | {ahead} | "
            f"{entry['calls_a_verdict']:.1f} | {entry['tokens_a_verdict']:,.0f} | {entry['calls_of_the_fit']:,.0f} |"
        )
    means = (
        "Mean of Pearson, Spearman and Kendall with people on held-out documents; in brackets 95 % bootstrap intervals"
    )
    lines += ["", f"{means} over documents ({document['resamples']:,} resamples, seed {document['seed']})."]
    for entry in document["sets"]:
        sizes = "; ".join(f"{train} fitted on, {test} tested" for train, test in entry["splits"])
        lines.append(f"- {entry['name']}: {entry['model']}, {sizes}")
    return "\n".join(lines) + "\n"


def _averages(found: list[dict[str, Any]], methods: list[str], rng: Any) -> list[float]:
    """The average over the sets of the mean of three coefficients, by method; of documents drawn anew, where asked."""
    figures = []
    for document in found:
        by_document: dict[Any, list[dict[str, Any]]] = {}
        for row in document["predictions"]:
            by_document.setdefault((row["repeat"], row["fold"], row["document"]), []).append(row)
        drawn = list(by_document.values())
        if rng is not None:
            drawn = [drawn[i] for i in rng.integers(0, len(drawn), len(drawn))]
        rows = [row for part in drawn for row in part]
        figures.append(
            [_mean([(row[name], row["human"]) for row in rows if row[name] is not None]) for name in methods]
        )
    return np.mean(np.array(figures, dtype=float), axis=0).tolist()


def _mean(pairs: list[tuple[float, float]]) -> float:
    predicted, human = zip(*pairs, strict=True)
    if len(set(predicted)) < 2 or len(set(human)) < 2:
        return float("nan")
    return stats.q(list(predicted), list(human)) / 3


def _of(document: dict[str, Any], name: str) -> dict[str, Any]:
    return next(m for m in document["methods"] if m["name"] == name)


def _scored(document: dict[str, Any], name: str) -> bool:
    return any(m["name"] == name and m["agreement"]["mean"] is not None for m in document["methods"])


def _sizes(document: dict[str, Any]) -> list[tuple[int, int]]:
    return [(len(split["train"]), len(split["test"])) for split in document["splits"]]


def _per_verdict(found: list[dict[str, Any]], name: str, *what: str) -> float:
    used = [sum(_of(d, name)["scoring"][w] for w in what) / max(1, _of(d, name)["agreement"]["n"]) for d in found]
    return float(np.mean(used))


def _of_the_fit(found: list[dict[str, Any]], name: str) -> float:
    return float(np.mean([_of(d, name)["fit"]["calls"] for d in found]))


def _brackets(entry: dict[str, Any], what: str) -> str:
    low, high = entry[f"{what}_interval"]
    return f"[{low:.2f}, {high:.2f}]"


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", nargs="+", metavar="RESULT.json")
    parser.add_argument("--ours", default="active-critic-coarse", help="the method that the others are compared with")
    parser.add_argument("--resamples", type=int, default=RESAMPLES)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", default="benchmarks/results/agreement")
    return parser.parse_args()


if __name__ == "__main__":
    main()
