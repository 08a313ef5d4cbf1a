"""How near ``--estimate`` comes to what a fit and a scoring run really take, with a given model.

    python benchmarks/estimate.py sfres=scored.csv --lm local --journal run.sqlite --train 0.08 --test 16
    python benchmarks/estimate.py sfres=scored.csv --evaluator hd-eval --journal run.sqlite

Estimates a fit with an empty journal, fits, estimates the scoring of held-out examples by the program, scores them, and
adds estimate, real figure and ratio to the results. A journal that is there already would hide what a run takes: name a
new one.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import active_critic as ac
from active_critic.cli._estimate import LATEST, shares
from active_critic.data import split
from active_critic.evaluators import from_protocol
from active_critic.evaluators.base import scale_of
from active_critic.journal import Journal
from active_critic.lm import open_lm
from active_critic.lm.rehearsal import TAKES, Estimate, estimate
from active_critic.meta_evaluation.methods import EVALUATOR_NAMES, resolve
from active_critic.records import Usage

FIGURES = ("calls", "prompt_tokens", "cached_tokens", "completion_tokens", "cost", "seconds")
SHOWN = ("prompt_tokens", "completion_tokens", "seconds")
SETTINGS = ("seed", "train", "test", "evaluator", "candidates", "batches", "explain")


def main() -> None:
    """Estimate, do, compare."""
    args = _arguments()
    if Path(args.journal).exists():
        raise SystemExit(f"{args.journal} is there already; name a new journal, so that every call is made")
    name, _, path = args.data.partition("=")
    train, rest = split(ac.read_examples(path, scale=args.scale), args.train, args.seed)
    test = list(rest)[: args.test]
    with open_lm(args.lm, api_base=args.api_base, context=args.context) as lm, Journal(args.journal) as journal:
        lm.memory = journal
        _ = lm.capabilities  # not part of either figure
        document: dict[str, Any] = {"name": name, "model": lm.name, "train": len(train), "test": len(test)}
        document["settings"] = {key: value for key, value in vars(args).items() if key in SETTINGS}

        own: dict[str, Any] = {}
        if args.evaluator.startswith("active-critic"):
            own = {"candidates": args.candidates, "report": True}  # as ``active-critic fit`` does it
        if "max_batches" in EVALUATOR_NAMES[args.evaluator].parameters:
            own["max_batches"] = args.batches
        (factory,) = resolve([args.evaluator], {args.evaluator: own}, seed=args.seed).values()

        def fit(model: Any) -> Any:
            return factory(model).fit(train, scale=scale_of(train))

        said = estimate(lm, fit, journal.latest(LATEST), takes=TAKES, scores=shares(train))
        critic, real = _measured(lm, fit)
        outcome = f"{'with' if critic.fitted.shown else 'without'} demonstrations"
        document["fit"] = {**_compared(said, real), "outcome": outcome, "outcomes": said.to_dict()["outcomes"]}

        def score(model: Any) -> Any:
            program = from_protocol(critic.fitted, model, journal=None)
            return list(program.score_many(test, explain=args.explain))

        said = estimate(lm, score, journal.latest(LATEST))
        _, real = _measured(lm, score)
        document["score"] = _compared(said, real)
    stem = Path(args.out)
    runs = json.loads(stem.with_suffix(".json").read_text())["runs"] if stem.with_suffix(".json").is_file() else []
    same = [run for run in runs if _which(run) != _which(document)]
    runs = sorted([*same, document], key=_which)
    stem.with_suffix(".json").write_text(json.dumps({"runs": runs}, indent=1) + "\n")
    stem.with_suffix(".md").write_text(page(runs))
    print(page([document]))


def _which(run: dict[str, Any]) -> tuple[Any, ...]:
    return run["name"], run["model"], run["settings"]["evaluator"], run["train"]


def page(runs: list[dict[str, Any]]) -> str:
    """The Markdown of some runs."""
    columns = ["set", "model", "evaluator", "work", "calls", *(f"{name.replace('_', ' ')}" for name in SHOWN)]
    lines = [
        "What `--estimate` said beforehand, with its range where what is asked depends on the replies,",
        "/ what the work took = ratio of the two. Of a search for demonstrations also what was said of the outcome",
        "that it had, a program with demonstrations or without, and the ratio of that.",
        "",
        f"| {' | '.join(columns)} |",
        "|" + " --- |" * len(columns),
    ]
    for run in runs:
        for work, count in (("fit", run["train"]), ("score", run["test"])):
            if not run[work]["calls"]["real"]:
                continue
            cells = [*_which(run)[:3], f"{work}, {count} examples"]
            for name in ("calls", *SHOWN):
                one = run[work][name]
                ends = run[work].get("ranges", {}).get(name)
                between = "" if ends is None else f" ({ends[0]:,.0f} to {ends[1]:,.0f})"
                told = f"{one['estimate']:,.0f}{between} / {one['real']:,.0f} = {one['ratio']:.2f}"
                by_outcome = run[work].get("outcomes") or {}
                if by_outcome and one["real"]:
                    said = by_outcome[run[work]["outcome"]][name]
                    told += f"; of this outcome {said:,.0f} = {said / one['real']:.2f}"
                cells.append(told)
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join([*lines, ""])


def _measured(lm: Any, work: Any) -> tuple[Any, dict[str, Any]]:
    before, started = lm.usage, time.monotonic()
    result = work(lm)
    used: Usage = lm.usage - before
    return result, {**used.to_dict(), "seconds": round(time.monotonic() - started, 1)}


def _compared(said: Estimate, real: dict[str, Any]) -> dict[str, Any]:
    figures = said.to_dict()
    rows = {
        name: {
            "estimate": figures[name],
            "real": real[name],
            "ratio": round(figures[name] / real[name], 3) if figures[name] is not None and real[name] else None,
        }
        for name in FIGURES
    }
    return {**rows, "ranges": figures["ranges"], "notes": figures["notes"]}


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", metavar="NAME=PATH", help="scored examples")
    parser.add_argument("--lm", default="local")
    parser.add_argument("--api-base")
    parser.add_argument("--context", type=int)
    parser.add_argument("--journal", required=True, help="a new file")
    parser.add_argument("--scale")
    parser.add_argument("--train", type=float, default=0.3, help="share of the documents that is fitted on")
    parser.add_argument("--test", type=int, default=40, help="held-out examples that are scored")
    parser.add_argument("--evaluator", choices=tuple(EVALUATOR_NAMES), default="active-critic-coarse")
    parser.add_argument("--candidates", type=int, default=5)
    parser.add_argument("--batches", type=int, default=3)
    parser.add_argument("--explain", action="store_true")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", default="benchmarks/results/estimate", help="without .json and .md")
    return parser.parse_args()


if __name__ == "__main__":
    main()
