"""How near ``--estimate`` comes to fits that were already paid for: those of committed comparisons.

    python benchmarks/estimate_fits.py sfres=path/to/sfres.jsonl hanna=path/to/hanna.jsonl.gz

Takes every ``results/compare_*.json`` and ``told_*.json`` of the sets that are named, estimates each fit on the same
examples with the same settings and an empty journal, as a user would before it, and sets what the fit took beside it.
Asks no model.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import active_critic as ac
from active_critic.cli._estimate import shares
from active_critic.lm import LanguageModel, open_lm
from active_critic.lm.rehearsal import TAKES, estimate
from active_critic.meta_evaluation.methods import EVALUATOR_NAMES, resolve
from active_critic.records import Usage

sys.path.insert(0, str(Path(__file__).parent))
from estimate_comparisons import as_then, comparisons

RESULTS = Path(__file__).parent / "results"
MODELS = {"qwen2.5-coder-1.5b": "local", "qwen2.5-coder-0.5b": "local-small"}
FIGURES = ("calls", "prompt_tokens", "completion_tokens")
NEAR = 0.2
"""How far from what a fit took an estimate of it may be."""


def main() -> None:
    """Estimate every fit, and write all and how many were near."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", nargs="+", metavar="NAME=PATH")
    parser.add_argument("--out", default=str(RESULTS / "estimate_fits"), help="without .json and .md")
    args = parser.parse_args()
    paths = dict(named.split("=", 1) for named in args.data)
    found: list[dict[str, Any]] = []
    for comparison in comparisons():
        document = json.loads(comparison.read_text())
        if document["name"] in paths:
            for fit in fits(document, paths[document["name"]]):
                found.append(fit)
                print(json.dumps(fit), flush=True)
    stem = Path(args.out)
    stem.with_suffix(".json").write_text(json.dumps({"fits": found}, indent=1) + "\n")
    stem.with_suffix(".md").write_text(page(found))
    print(page(found))


def fits(document: dict[str, Any], path: str) -> list[dict[str, Any]]:
    """What was estimated, and what it took, of every method of a comparison that asks the model when it is fitted."""
    scale = ac.Scale.parse(document["data"]["scale"])
    data = ac.read_examples(path, fields={"score": "overall", "group": "doc_id"}, scale=scale)
    chosen = set(document["splits"][0]["train"])
    train = data.take(i for i, example in enumerate(data) if str(example.id) in chosen)
    found = []
    with open_lm(MODELS[document["model"]]) as lm:  # no memory: nothing is paid for yet
        for method in document["methods"]:
            name, real = method["name"], method["fit"]
            if name not in EVALUATOR_NAMES or not real["calls"] or method["failures"]:
                continue
            own = {**as_then(name, method["parameters"]), **document["settings"]["evaluators"][name]}
            (factory,) = resolve([name], {name: own}, seed=own.pop("seed", 0)).values()
            probing: list[Usage] = []

            def fit(model: LanguageModel, factory: Any = factory, probing: list[Usage] = probing) -> None:
                _ = model.capabilities, model.gives_likelihood  # in a comparison no part of a fit
                probing.append(model.usage)
                factory(model).fit(train, scale=scale)

            said = estimate(lm, fit, [], takes=TAKES, scores=shares(train)).to_dict()
            about = {"set": document["name"], "seed": document["settings"]["seed"], "model": lm.name, "evaluator": name}
            figures = {
                figure: _beside(said[figure], said["ranges"].get(figure), getattr(probing[0], figure), real[figure])
                for figure in FIGURES
            }
            found.append({**about, "train": len(train), **figures})
    return found


def _beside(said: int, ends: list[int] | None, probing: int, real: int) -> dict[str, Any]:
    """What was said of a fit alone, beside what it took."""
    alone = said - probing
    between = ends and [end - probing for end in ends]
    return {"estimate": alone, "range": between, "real": real, "ratio": round(alone / real, 3)}


def page(found: list[dict[str, Any]]) -> str:
    """The Markdown of all fits, and how near they were by evaluator."""
    names = [figure.replace("prompt_tokens", "tokens read").replace("completion_", "") for figure in FIGURES]
    names[-1] += " written"
    lines = [
        "What `--estimate` says of fits of `compare_*` and `told_*`, with an empty journal, / what they took = ratio.",
        "",
        f"| set | seed | model | evaluator | examples | {' | '.join(names)} |",
        "|" + " --- |" * (5 + len(names)),
    ]
    by_evaluator = defaultdict(list)
    for fit in found:
        by_evaluator[fit["evaluator"]].append(fit)
        cells = [str(fit[key]) for key in ("set", "seed", "model", "evaluator", "train")]
        for figure in FIGURES:
            one = fit[figure]
            between = "" if one["range"] is None else f" ({one['range'][0]:,.0f} to {one['range'][1]:,.0f})"
            cells.append(f"{one['estimate']:,}{between} / {one['real']:,} = {one['ratio']:.2f}")
        lines.append(f"| {' | '.join(cells)} |")
    near = [f"{name}: within {NEAR:.0%} / median distance / furthest" for name in names]
    lines += ["", f"| evaluator | fits | {' | '.join(near)} |", "|" + " --- |" * (2 + len(near))]
    for evaluator, its in by_evaluator.items():
        cells = [evaluator, str(len(its))]
        for figure in FIGURES:
            off = [fit[figure]["ratio"] - 1 for fit in its]
            within = sum(abs(one) <= NEAR for one in off)
            cells.append(f"{within} of {len(off)} / {statistics.median(map(abs, off)):.0%} / {max(off, key=abs):+.0%}")
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    main()
