"""How far ahead on the average of several data sets: one table from the comparisons of benchmarks/compare.py.

    python benchmarks/agreement.py benchmarks/results/compare_*.json --ours active-critic-coarse

The mean of the three coefficients a method and data set, their average over the sets, and the difference of that
average between one method and every other, with a 95 % bootstrap interval: documents are drawn anew within each set,
the same for both methods, and the average taken again; and the same set by set. That says nothing of how much another
search would change: so with five splits or more there is also the mean difference by split, with a t test.
Comparisons of one set with several seeds count as one: its figure is their mean, and a document that several of them
tested on is drawn for all. Comparisons of one set with the same seed and splits are one comparison, of all their
methods; with ``--before``, of those of earlier code, or with ``--before-as`` of other settings, too. A method is in
the table if every comparison has it; one that left more than a tenth of the examples of one of them unscored is named
instead. No model is asked.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import norm, t, ttest_1samp

from active_critic.demo_search import MIN_COVERAGE
from active_critic.stats.correlation import COEFFICIENTS, Resampled

RESAMPLES = 2_000


Runs = dict[str, list[dict[str, Any]]]
"""The comparisons of every set, by its name."""
Document = tuple[Any, ...]
"""What is drawn: a document, or a fold's part of it."""


def main() -> None:
    args = _arguments()
    found: Runs = {}
    results = [json.loads(Path(name).read_text()) for name in args.results]
    before = [_renamed(json.loads(Path(name).read_text()), args.before_as) for name in args.before]
    for result in [*results, *before]:
        runs = found.setdefault(result["name"], [])
        same = [other for other in runs if other["splits"] == result["splits"]]
        if same:
            _join(same[0], result)
        else:
            runs.append(result)
    every = [document for runs in found.values() for document in runs]
    names = list({m["name"]: None for document in every for m in document["methods"]})
    methods = [name for name in names if all(_scored(document, name) for document in every)]
    if args.ours not in methods:
        sys.exit(f"--ours {args.ours}: not in every comparison, or scored less than {MIN_COVERAGE:.0%} of one")
    rng = np.random.default_rng(args.seed)
    documents = [_documents(runs) for runs in found.values()]
    counts = _drawn([len(of_set) for of_set in documents], args.resamples, rng)
    draws = np.stack([_of_set(*each, methods) for each in zip(found.values(), documents, counts, strict=True)], axis=1)
    averages, tail = _widened(draws, [len(of_set) for of_set in documents])
    document: dict[str, Any] = {
        "sets": [
            {"name": name, "model": runs[0]["model"], "seeds": _seeds(runs), "splits": [_sizes(d) for d in runs]}
            for name, runs in found.items()
        ],
        "comparisons": [Path(name).name for name in args.results],
        "before": [Path(name).name for name in args.before],
        "before_as": args.before_as,
        "ours": args.ours,
        "seed": args.seed,
        "resamples": args.resamples,
        "left_out": [name for name in names if any(_left_out(document, name) for document in every)],
        "methods": {},
    }
    ours = methods.index(args.ours)
    alone = [_widened(draws[:, [at]], [len(of_set)]) for at, of_set in enumerate(documents)]
    for index, name in enumerate(methods):
        ahead = averages[:, ours] - averages[:, index]
        by_seed = {set_: [_of(d, name)["agreement"]["mean"] for d in runs] for set_, runs in found.items()}
        document["methods"][name] = {
            "means": {set_: float(np.mean(means)) for set_, means in by_seed.items()},
            "by_seed": by_seed,
            "average": averages[0, index],
            "average_interval": np.nanquantile(averages[1:, index], [tail, 1 - tail]).tolist(),
            "ours_ahead": None if index == ours else ahead[0],
            "ours_ahead_interval": None if index == ours else np.nanquantile(ahead[1:], [tail, 1 - tail]).tolist(),
            "ours_ahead_by_set": None
            if index == ours
            else {
                set_: _ahead(own[:, ours] - own[:, index], own_tail)
                for set_, (own, own_tail) in zip(found, alone, strict=True)
            },
            "ours_ahead_by_split": None if index == ours else _by_split(found, args.ours, name),
            "calls_a_verdict": _over(found, name, partial(_per_verdict, ["calls"])),
            "tokens_a_verdict": _over(found, name, partial(_per_verdict, ["prompt_tokens", "completion_tokens"])),
            "calls_of_the_fit": _over(found, name, lambda method: float(method["fit"]["calls"])),
        }
    stem = Path(args.out)
    stem.with_suffix(".json").write_text(json.dumps(document, indent=1) + "\n")
    stem.with_suffix(".md").write_text(table(document))
    print(table(document))


def _ahead(differences: Any, tail: float) -> dict[str, Any]:
    """A difference, which comes before its resamples, with its interval."""
    return {"by": differences[0], "interval": np.nanquantile(differences[1:], [tail, 1 - tail]).tolist()}


def _by_split(found: Runs, ours: str, name: str) -> dict[str, Any] | None:
    """The mean difference over the splits of all sets, each with a search of its own, and a t test's p; None of few."""
    runs = [run for of_set in found.values() for run in of_set]
    by = [_of(run, ours)["agreement"]["mean"] - _of(run, name)["agreement"]["mean"] for run in runs]
    return {"splits": len(by), "by": float(np.mean(by)), "p": float(ttest_1samp(by, 0).pvalue)} if len(by) > 4 else None


def _join(one: dict[str, Any], other: dict[str, Any]) -> None:
    """Add the methods of another comparison on the same splits."""
    there = {method["name"] for method in one["methods"]}
    added = [method for method in other["methods"] if method["name"] not in there]
    one["methods"] += added
    rows = {_place(row): row for row in other["predictions"]}
    for row in one["predictions"]:
        row |= {method["name"]: rows[_place(row)][method["name"]] for method in added}


def _renamed(comparison: dict[str, Any], said: str) -> dict[str, Any]:
    """A comparison whose methods say in their names what sets them apart from those of the others."""
    for method in comparison["methods"]:
        old, method["name"] = method["name"], f"{method['name']} ({said})"
        for row in comparison["predictions"]:
            row[method["name"]] = row.pop(old)
    return comparison


def _place(row: dict[str, Any]) -> tuple[Any, ...]:
    return row["repeat"], row["fold"], row["example"]


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
    lines += ["", *_set_by_set(document, names), ""]
    before = f"{document['ours']} ({document['before_as']})"
    if by := document["methods"].get(before, {}).get("ours_ahead_by_split"):
        lines.append(f"- By split ({by['splits']}), ahead of {before} by {by['by']:+.2f}, p {by['p']:.2f} (t test)")
    for entry in document["sets"]:
        sizes = "; ".join(f"{train} fitted on, {test} tested" for splits in entry["splits"] for train, test in splits)
        seeds = f"seed{'s' * (len(entry['seeds']) > 1)} {', '.join(map(str, entry['seeds']))}"
        lines.append(f"- {entry['name']}: {entry['model']}, {seeds}: {sizes}")
    if left_out := document["left_out"]:
        lines.append(f"- Left out, having scored less than {MIN_COVERAGE:.0%} of a comparison: {', '.join(left_out)}")
    return "\n".join(lines) + "\n"


def _set_by_set(document: dict[str, Any], names: Sequence[str]) -> list[str]:
    """How far ahead of the others ours is on each set."""
    lines = [f"| {document['ours']} ahead of | {' | '.join(names)} |", "|" + " --- |" * (len(names) + 1)]
    for name, entry in sorted(document["methods"].items(), key=lambda item: -item[1]["average"]):
        if name != document["ours"]:
            by_set = [entry["ours_ahead_by_set"][set_] for set_ in names]
            cells = (f"{of['by']:+.2f} [{of['interval'][0]:.2f}, {of['interval'][1]:.2f}]" for of in by_set)
            lines.append(f"| {name} | {' | '.join(cells)} |")
    return lines


def _documents(runs: list[dict[str, Any]]) -> list[Document]:
    """The documents that the runs of a set tested on."""
    return list({_document(row): None for run in runs for row in run["predictions"]})


def _document(row: dict[str, Any]) -> Document:
    return row["repeat"], row["fold"], row["document"]


def _drawn(documents: list[int], resamples: int, rng: np.random.Generator) -> list[Any]:
    """How often each document of each set is drawn, shape (documents, 1 + resamples) a set; first each once."""
    counts = [np.ones((n, 1 + resamples)) for n in documents]
    for draw in range(1, 1 + resamples):
        for n, count in zip(documents, counts, strict=True):
            count[:, draw] = np.bincount(rng.integers(0, n, n), minlength=n)
    return counts


def _widened(draws: Any, documents: list[int]) -> tuple[Any, float]:
    """Averages over the sets of draws that vary as much as as many documents do, and the tail of a 95 % interval.

    Resamples of n documents vary by (n - 1) / n of their variance, set by set; and few documents in all have the tails
    of a t distribution (see ``active_critic.stats.resampling.percentile_interval``).
    """
    stretch = np.sqrt([n / (n - 1) for n in documents])[None, :, None]
    averages = (draws[:1] + stretch * (draws - draws[:1])).mean(axis=1)
    return averages, float(norm.cdf(t.ppf(0.025, sum(documents) - len(documents))))


def _of_set(runs: list[dict[str, Any]], documents: list[Document], counts: Any, methods: list[str]) -> Any:
    """The mean of three coefficients, over the runs of a set, by draw and method: shape (draws, methods)."""
    place = {document: i for i, document in enumerate(documents)}
    figures = []
    for run in runs:
        by_method = []
        for name in methods:
            rows = [row for row in run["predictions"] if row[name] is not None]
            predicted, human = (np.array([row[which] for row in rows], dtype=float) for which in (name, "human"))
            weights = counts[[place[_document(row)] for row in rows]]
            by_method.append(Resampled(predicted, human)(weights)[:, COEFFICIENTS.index("mean")])
        figures.append(np.column_stack(by_method))
    return np.mean(figures, axis=0)


def _of(document: dict[str, Any], name: str) -> dict[str, Any]:
    return next(m for m in document["methods"] if m["name"] == name)


def _has(document: dict[str, Any], name: str) -> bool:
    return any(method["name"] == name for method in document["methods"])


def _scored(document: dict[str, Any], name: str) -> bool:
    """Whether a method has a figure here: one of the few examples that failures left would be none of the method."""
    agreement = _of(document, name)["agreement"] if _has(document, name) else None
    if agreement is None or agreement["mean"] is None:
        return False
    return bool(agreement["n"] >= MIN_COVERAGE * agreement["total"])


def _left_out(document: dict[str, Any], name: str) -> bool:
    return _has(document, name) and not _scored(document, name)


def _sizes(document: dict[str, Any]) -> list[tuple[int, int]]:
    return [(len(split["train"]), len(split["test"])) for split in document["splits"]]


def _seeds(runs: list[dict[str, Any]]) -> list[int]:
    return [document["settings"]["seed"] for document in runs]


def _over(found: Runs, name: str, figure: Callable[[dict[str, Any]], float]) -> float:
    """The average over the sets of a method's figure, which every comparison has."""
    return float(np.mean([np.mean([figure(_of(document, name)) for document in runs]) for runs in found.values()]))


def _per_verdict(what: Sequence[str], method: dict[str, Any]) -> float:
    return float(sum(method["scoring"][w] for w in what) / max(1, method["agreement"]["n"]))


def _brackets(entry: dict[str, Any], what: str) -> str:
    low, high = entry[f"{what}_interval"]
    return f"[{low:.2f}, {high:.2f}]"


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", nargs="+", metavar="RESULT.json")
    parser.add_argument(
        "--before",
        nargs="*",
        default=[],
        metavar="RESULT.json",
        help="comparisons on the same splits by earlier code, whose methods are beside the others as 'NAME (before)'",
    )
    parser.add_argument("--before-as", default="before", help="what to say behind the names of these methods")
    parser.add_argument("--ours", default="active-critic-coarse", help="the method that the others are compared with")
    parser.add_argument("--resamples", type=int, default=RESAMPLES)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", default="benchmarks/results/agreement")
    return parser.parse_args()


if __name__ == "__main__":
    main()
