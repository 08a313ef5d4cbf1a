"""Agreement with people on held-back documents: zero-shot, coarse, fine and the surface floor, one table a data set.

    python benchmarks/agreement.py sfres=path/to/sfres.jsonl --fields score=overall,group=doc_id --lm local

Fits each method on a share of the documents (``--train``, by document, seeded) and scores the rest. Every reply goes
through a journal, so a run that is stopped goes on where it was. Results are written after every method: numbers, ids
and settings only, never texts.
"""

from __future__ import annotations

import argparse
import json
import platform
import random
import sys
import time
from pathlib import Path
from typing import Any

import active_critic as ac
from active_critic.evaluators.base import versions
from active_critic.examples import group_of
from active_critic.journal import Journal
from active_critic.lm import LanguageModel, open_lm
from active_critic.stats import agreement, paired_difference

METHODS = ("surface", "zero-shot", "coarse", "fine")


def main() -> None:
    args = _arguments()
    lm = open_lm(args.lm, api_base=args.api_base, context=args.context)
    lm.memory = Journal(args.journal)
    fields = dict(pair.split("=", 1) for pair in args.fields.split(",")) if args.fields else None
    with lm:
        for named in args.data:
            name, _, path = named.partition("=")
            _run(name, ac.read_examples(path, fields=fields, scale=args.scale), lm, args)


def _run(name: str, examples: ac.Examples, lm: LanguageModel, args: argparse.Namespace) -> None:
    if args.documents:
        documents = sorted({group_of(example) for example in examples})
        chosen = set(random.Random(args.seed).sample(documents, min(args.documents, len(documents))))
        examples = examples.take(i for i, example in enumerate(examples) if group_of(example) in chosen)
    train, test = ac.split(examples, args.train, args.seed)
    human = [example.score for example in test]
    groups = [group_of(example) for example in test]
    out = Path(args.out) / f"agreement_{name}_{lm.name}.json"
    document: dict[str, Any] = {
        "data": name,
        "settings": {
            "lm": lm.name,
            "weights": lm.weights,
            "train": args.train,
            "train_examples": len(train),
            "test_examples": len(test),
            "test_documents": len(set(groups)),
            "documents_drawn": args.documents,
            "candidates": args.candidates,
            "demos": args.demos,
            "batches": args.batches,
            "seed": args.seed,
            "resamples": 1000,
            "versions": versions(),
            "python": platform.python_version(),
        },
        "methods": {},
    }
    predictions: dict[str, list[float | None]] = {}
    for method in args.methods.split(","):
        started, before = time.monotonic(), lm.usage
        details: dict[str, Any] = {}
        if method == "surface":
            floor = ac.SurfaceFloor().fit(list(train), examples.scale)
            predictions[method], fitting = list(floor.predict(list(test))), lm.usage
        else:
            critic: ac.Evaluator
            if method == "zero-shot":
                critic = ac.ZeroShot(lm).fit(train)
            else:
                critic = ac.ActiveCritic(
                    lm,
                    mode=method,
                    candidates=args.candidates,
                    demos=args.demos,
                    max_batches=args.batches,
                    report=False,
                    seed=args.seed,
                ).fit(train, progress=_say)
                details = {
                    "criteria": [criterion.name for criterion in critic.fitted.criteria],
                    "candidates": [
                        {"demos": len(c.demos), "q": c.q, "scored": c.scored, "asked": c.asked, "wins": c.wins}
                        for c in critic.candidates_
                    ],
                }
            fitting = lm.usage
            verdicts = list(critic.score_many(test, explain=False, progress=_say))
            predictions[method] = [verdict.score for verdict in verdicts]
            details["read_from"] = sorted({verdict.read_from or "unscored" for verdict in verdicts})
        document["methods"][method] = {
            "agreement": agreement(predictions[method], human, groups, seed=args.seed).to_dict(),
            "usage_fit": (fitting - before).to_dict(),
            "usage_test": (lm.usage - fitting).to_dict(),
            "wall_seconds": round(time.monotonic() - started, 1),
            **details,
        }
        document["differences"] = {
            f"{a} - {b}": paired_difference(predictions[a], predictions[b], human, groups, seed=args.seed).to_dict()
            for a in predictions
            for b in predictions
            if METHODS.index(a) > METHODS.index(b)
        }
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(json.dumps(document, indent=1) + "\n")
        _table(out)
    print(table(document), flush=True)


def table(document: dict[str, Any]) -> str:
    """The Markdown table of one data set."""
    s = document["settings"]
    title = (
        f"**{document['data']}**, {s['lm']}: fitted on {s['train_examples']} examples, tested on {s['test_examples']} "
        f"({s['test_documents']} documents), {s['candidates']} candidates, at most {s['batches']} batches, "
        f"seed {s['seed']}"
    )
    columns = ["method", "Pearson", "Spearman", "Kendall", "mean of three", "scored"]
    columns += [f"{what} fit / test" for what in ("calls", "tokens", "seconds")]
    lines = [title, "", f"| {' | '.join(columns)} |", "|" + " --- |" * len(columns)]
    for method, result in document["methods"].items():
        a, fit, test = result["agreement"], result["usage_fit"], result["usage_test"]
        figures = [
            "–" if a[c] is None else f"{a[c]:.2f} [{a[f'{c}_interval'][0]:.2f}, {a[f'{c}_interval'][1]:.2f}]"
            for c in ("pearson", "spearman", "kendall", "mean")
        ]
        cells = [
            f"{a['n']}/{a['total']}",
            f"{fit['calls'] + fit['replayed']} / {test['calls'] + test['replayed']}",
            f"{_tokens(fit)} / {_tokens(test)}",
            f"{fit['seconds']:.0f} / {test['seconds']:.0f}",
        ]
        lines.append(f"| {method} | " + " | ".join([*figures, *cells]) + " |")
    return "\n".join(lines) + "\n"


def _tokens(usage: dict[str, Any]) -> str:
    return f"{(usage['prompt_tokens'] + usage['completion_tokens']) / 1000:.0f}k"


def _table(path: Path) -> None:
    path.with_suffix(".md").write_text(table(json.loads(path.read_text())))


def _say(what: str, done: int, total: int) -> None:
    print(f"\r{time.strftime('%H:%M:%S')} {what} {done or ''} {f'of at most {total}' if total else ''}   ",
          end="", file=sys.stderr, flush=True)  # fmt: skip


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", nargs="+", metavar="NAME=PATH")
    parser.add_argument("--fields", default="score=overall,group=doc_id")
    parser.add_argument("--scale")
    parser.add_argument("--lm", default="local")
    parser.add_argument("--api-base")
    parser.add_argument("--context", type=int)
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--train", type=float, default=0.25)
    parser.add_argument("--documents", type=int, help="draw this many documents first (seeded); default: all")
    parser.add_argument("--candidates", type=int, default=11)
    parser.add_argument("--demos", type=int)
    parser.add_argument("--batches", type=int, default=25)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--journal", default="benchmarks/results/journal.sqlite")
    parser.add_argument("--out", default="benchmarks/results")
    return parser.parse_args()


if __name__ == "__main__":
    main()
