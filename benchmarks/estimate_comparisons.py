"""How near ``compare --estimate`` comes to comparisons that were paid for: calls of every method, its scoring too.

    python benchmarks/estimate_comparisons.py sfres=path/to/sfres.jsonl hanna=path/to/hanna.jsonl.gz

Takes every ``results/compare_*.json`` and ``told_*.json`` of the sets that are named, rehearses its methods on the
same documents with the same settings and an empty journal, and sets the requests that each made by itself beside what
was said. Neither asks a model nor opens one, so it counts calls only: tokens take the model's own tokeniser
(``estimate_fits.py``).
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import active_critic as ac
from active_critic.cli._estimate import shares
from active_critic.lm import Capabilities, LanguageModel, rehearsal
from active_critic.meta_evaluation.methods import EVALUATOR_NAMES, resolve
from active_critic.meta_evaluation.rehearsing import comparison_rehearsal
from active_critic.meta_evaluation.splits import Split

RESULTS = Path(__file__).parent / "results"
CONTEXT = 16_384
"""Tokens that an embedded model reserves."""
NEAR = 0.2
"""How far from what a method took an estimate of it may be."""


def main() -> None:
    """Estimate every comparison, and write all and how many methods were near."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", nargs="+", metavar="NAME=PATH")
    parser.add_argument("--out", default=str(RESULTS / "estimate_comparisons"), help="without .json and .md")
    args = parser.parse_args()
    paths = dict(named.split("=", 1) for named in args.data)
    rehearsal.PATIENCE = float("inf")  # as many rehearsals on every machine
    found: list[dict[str, Any]] = []
    for comparison in comparisons():
        document = json.loads(comparison.read_text())
        if document["name"] in paths:
            found += methods(document, paths[document["name"]])
            print(json.dumps(found[-1]), flush=True)
    stem = Path(args.out)
    stem.with_suffix(".json").write_text(json.dumps({"takes": rehearsal.TAKES, "methods": found}, indent=1) + "\n")
    stem.with_suffix(".md").write_text(page(found))
    print(page(found))


def comparisons() -> list[Path]:
    """The results of all comparisons whose fits are estimated."""
    return [path for kind in ("compare", "told") for path in sorted(RESULTS.glob(f"{kind}_*.json"))]


def methods(document: dict[str, Any], path: str) -> list[dict[str, Any]]:
    """What was estimated, and what it took, of every method of a comparison that asks the model and did not fail."""
    data = ac.read_examples(
        path, fields={"score": "overall", "group": "doc_id"}, scale=ac.Scale.parse(document["data"]["scale"])
    )
    places = {str(example.id): place for place, example in enumerate(data)}
    splits = [
        Split(one["repeat"], one["fold"], *(tuple(places[name] for name in one[part]) for part in ("train", "test")))
        for one in document["splits"]
    ]
    real = {
        method["name"]: method["fit"]["calls"] + method["scoring"]["calls"]
        for method in document["methods"]
        if method["name"] in EVALUATOR_NAMES and not method["failures"]
    }
    known = {method["name"]: method["parameters"] for method in document["methods"]}
    given = {name: {**as_then(name, known[name]), **document["settings"]["evaluators"][name]} for name in real}
    with model(document["model"], document["weights"]) as lm:
        work = comparison_rehearsal(data, resolve(list(real), given), splits, explain=document["settings"]["explain"])
        started = time.process_time()
        rehearsal.estimate_parts(lm, work, [], takes=rehearsal.TAKES, scores=shares(data))
        taken = (time.process_time() - started) / len(work.takes)
    about = {"set": document["name"], "seed": document["settings"]["seed"], "model": document["model"]}
    about |= {"examples": len(data), "tests": sum(len(split.test) for split in splits)}
    return [
        {
            **about,
            "evaluator": name,
            "estimate": work.usual(name),
            "range": [min(work.requests(name)), max(work.requests(name))],
            "real": calls,
            "ratio": round(work.usual(name) / calls, 3),
            "seconds_a_rehearsal_of_all": round(taken, 2),
        }
        for name, calls in real.items()
        if calls
    ]


def as_then(name: str, parameters: dict[str, Any]) -> dict[str, Any]:
    """What an evaluator is not to ask that an earlier version, which had these parameters, did not."""
    later = {"discount_praise": "never"}
    return {
        one: value for one, value in later.items() if one in EVALUATOR_NAMES[name].parameters and one not in parameters
    }


def model(name: str, weights: str) -> LanguageModel:
    """What stands for an embedded model, and cannot be asked."""

    def refuse(*_: object) -> Any:
        raise AssertionError("a call was made")

    everything = Capabilities(json_schema=True, probabilities=True)
    identity = {"name": name, "weights": weights}
    return LanguageModel(name, refuse, identity=identity, context=CONTEXT, capabilities=everything, weigh=refuse)


def page(found: list[dict[str, Any]]) -> str:
    """The Markdown of all methods, and how near they were by evaluator."""
    lines = [
        "Different requests that `compare --estimate` says each method of `compare_*` and `told_*` makes, fit and",
        f"scoring together, with an empty journal ({rehearsal.TAKES} rehearsals; their range in brackets), over what",
        "it made.",
        "",
        "| set | seed | model | evaluator | tests | calls |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    by_evaluator = defaultdict(list)
    for one in found:
        by_evaluator[one["evaluator"]].append(one)
        low, high = one["range"]
        between = "" if low == high else f" ({low:,} to {high:,})"
        cells = [str(one[key]) for key in ("set", "seed", "model", "evaluator", "tests")]
        lines.append(f"| {' | '.join(cells)} | {one['estimate']:,}{between} / {one['real']:,} = {one['ratio']:.2f} |")
    lines += [
        "",
        f"| evaluator | methods | exact | within {NEAR:.0%} | median distance | furthest | in the range |",
        "|" + " --- |" * 7,
    ]
    for evaluator, its in by_evaluator.items():
        off = [one["ratio"] - 1 for one in its]
        cells = [
            evaluator,
            str(len(its)),
            str(sum(one["estimate"] == one["real"] for one in its)),
            str(sum(abs(distance) <= NEAR for distance in off)),
            f"{statistics.median(map(abs, off)):.0%}",
            f"{max(off, key=abs):+.0%}",
            str(sum(one["range"][0] <= one["real"] <= one["range"][1] for one in its)),
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    main()
