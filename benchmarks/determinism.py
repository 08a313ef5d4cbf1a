"""How far scores of an embedded model move with the order of items, with the prefix cache and in the strict mode.

    python benchmarks/determinism.py programs/quickstart.json datasets/quickstart.jsonl --lm local --items 12

Scores the same items in several orders, each by a model opened anew and without a journal: with the prefix cache (the
default), where what was asked before decides what is computed together, and strict. Needs no labels.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import time
from pathlib import Path
from typing import Any

import active_critic as ac
from active_critic.lm import open_lm


def main() -> None:
    args = _arguments()
    examples = list(ac.read_examples(args.items_file, scored=False))
    items = random.Random(args.seed).sample(examples, min(args.items, len(examples)))
    found: dict[str, Any] = {
        "program": Path(args.program).name,
        "items": len(items),
        "orders": args.orders,
        "modes": {},
    }
    for strict in (False, True):
        runs, started = [], time.monotonic()
        for number in range(args.orders):
            order = list(range(len(items)))
            random.Random(args.seed + number).shuffle(order)
            with open_lm(args.lm, strict=strict) as lm:
                critic = ac.load(args.program, lm, journal=None)
                verdicts = list(critic.score_many([items[i] for i in order], explain=False))
                found |= {"model": lm.name, "weights": lm.weights, "scale": str(critic.fitted.scale)}
                width = critic.fitted.scale.high - critic.fitted.scale.low
            runs.append([v.score for _, v in sorted(zip(order, verdicts, strict=True), key=lambda pair: pair[0])])
        moved = [100 * (max(one) - min(one)) / width for one in zip(*runs, strict=True)]
        found["modes"]["strict" if strict else "prefix cache"] = {
            "identical": sum(move == 0 for move in moved),
            "largest move, % of the scale": max(moved),
            "mean move, % of the scale": statistics.fmean(moved),
            "seconds an item": (time.monotonic() - started) / (args.orders * len(items)),
        }
    stem = Path(args.out) / f"determinism_{found['model']}"
    stem.parent.mkdir(parents=True, exist_ok=True)
    stem.with_name(f"{stem.name}.json").write_text(json.dumps(found, indent=1) + "\n")
    stem.with_name(f"{stem.name}.md").write_text(page(found))
    print(page(found))


def page(found: dict[str, Any]) -> str:
    basis = f"**{found['model']}**, {found['program']}, scale {found['scale']}: {found['items']} items in "
    basis += f"{found['orders']} orders, each by a model opened anew, without a journal"
    lines = [
        basis,
        "",
        "| mode | same score to the last digit | largest move, % of the scale | mean move | seconds an item |",
        "| --- | --- | --- | --- | --- |",
    ]
    for mode, one in found["modes"].items():
        cells = [mode, f"{one['identical']}/{found['items']}", f"{one['largest move, % of the scale']:.2f}"]
        cells += [f"{one['mean move, % of the scale']:.2f}", f"{one['seconds an item']:.1f}"]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join([*lines, ""])


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("items_file", metavar="ITEMS")
    parser.add_argument("--lm", default="local")
    parser.add_argument("--items", type=int, default=12)
    parser.add_argument("--orders", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", default="benchmarks/results")
    return parser.parse_args()


if __name__ == "__main__":
    main()
