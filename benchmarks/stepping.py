"""What it saves to read what is fixed in a form, and to write nothing but ratings and texts.

    python benchmarks/stepping.py datasets/quickstart.jsonl --lm local
    python benchmarks/stepping.py datasets/quickstart.jsonl --lm local --explain

Texts are rated, without explanations or with them, with the task and the criteria of a program: the whole at once
(coarse), and every criterion before it (fine). Each is done twice with the prefix cache, the form written and the form
read, and strictly (all of it read anew, and written). Before each the cache holds the constant part of the prompt and
nothing else, so that they compare. Needs no labels.
"""

from __future__ import annotations

import argparse
import inspect
import json
import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import active_critic as ac
from active_critic.lm import LanguageModel, open_lm
from active_critic.protocols import CriticProtocol
from active_critic.records import Verdict
from active_critic.scoring import Scorer, instructions

CONTEXT = 4096
PAIRS = (("read", "written"), ("written", "strict"), ("read", "strict"))
"""Ways that are compared."""


def main() -> None:
    args = _arguments()
    items = list(ac.read_examples(args.items_file, scored=False))[: args.items]
    with open_lm(args.lm, context=CONTEXT) as lm:
        with ac.load(args.program, lm) as critic:
            protocol = critic.fitted
        found: dict[str, Any] = {"model": lm.name, "texts": len(items), "explained": args.explain}
        for mode in ("coarse", "fine"):
            verdicts, seconds = _rated(protocol.model_copy(update={"mode": mode}), items, lm, explain=args.explain)
            found[mode] = {
                "seconds a text": {way: round(statistics.median(took), 2) for way, took in seconds.items()},
                "tokens written a text": {
                    way: statistics.mean(verdict.usage.completion_tokens for verdict in of_way)
                    for way, of_way in verdicts.items()
                },
                "scores, % of the scale": {
                    f"{one} less {other}": _apart(verdicts[one], verdicts[other], protocol) for one, other in PAIRS
                },
            }
            if args.explain:
                found[mode]["texts written"] = {
                    "in all": len(_texts(verdicts["read"])),
                    **{f"{one} as {other}": _alike(verdicts[one], verdicts[other]) for one, other in PAIRS},
                    "characters": {
                        way: round(statistics.mean(map(len, _texts(of_way))), 1) for way, of_way in verdicts.items()
                    },
                }
    stem = Path(args.out) / f"stepping_{found['model']}{'_explained' * args.explain}"
    stem.with_name(f"{stem.name}.json").write_text(json.dumps(found, indent=1) + "\n")
    print(json.dumps(found, indent=1))


def _rated(
    protocol: CriticProtocol, items: list[ac.Example], lm: LanguageModel, *, explain: bool
) -> tuple[dict[str, list[Verdict]], dict[str, list[float]]]:
    """Verdicts on the texts, and the seconds that each took, by way."""
    verdicts: dict[str, list[Verdict]] = {}
    seconds: dict[str, list[float]] = {}
    for one in items:
        for way in ("written", "read", "strict"):
            with _in_this_way(lm, way):
                lm.ask([("system", instructions(protocol)), ("user", ".")], max_tokens=1)
                started = time.monotonic()
                verdicts.setdefault(way, []).append(
                    Scorer(protocol, lm).verdict(one.source, one.response, explain=explain)
                )
                seconds.setdefault(way, []).append(time.monotonic() - started)
    return verdicts, seconds


@contextmanager
def _in_this_way(lm: LanguageModel, way: str) -> Iterator[None]:
    stepped, extensions = lm._send, lm.extensions
    try:
        if way != "read":
            lm._send = inspect.getclosurevars(stepped).nonlocals["send"]
        if way == "strict":
            lm.extensions = {"cache_prompt": False}
        yield
    finally:
        lm._send, lm.extensions = stepped, extensions


def _apart(these: list[Verdict], others: list[Verdict], protocol: CriticProtocol) -> dict[str, float]:
    """How far scores, those of criteria included, are apart."""
    pairs = [
        pair
        for one, other in zip(these, others, strict=True)
        for pair in zip(_scores(one), _scores(other), strict=True)
    ]
    scale = protocol.scale
    apart = [scale.to_percent(one) - scale.to_percent(other) for one, other in pairs]
    sizes = [abs(each) for each in apart]
    found = {
        "scores": len(apart),
        "mean": statistics.mean(apart),
        "mean size": statistics.mean(sizes),
        "most": max(sizes),
    }
    return {name: round(value, 3) for name, value in found.items()}


def _scores(verdict: Verdict) -> list[float]:
    return [score for score in (verdict.score, *(one.score for one in verdict.criteria)) if score is not None]


def _texts(verdicts: list[Verdict]) -> list[str]:
    """What verdicts say beside their scores."""
    return [
        text or ""
        for verdict in verdicts
        for text in (*(one.explanation for one in verdict.criteria), verdict.explanation, verdict.advice)
    ]


def _alike(these: list[Verdict], others: list[Verdict]) -> int:
    """How many of these texts are the same."""
    return sum(one == other for one, other in zip(_texts(these), _texts(others), strict=True))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("items_file", metavar="ITEMS")
    parser.add_argument("--program", default="programs/quickstart.json")
    parser.add_argument("--lm", default="local")
    parser.add_argument("--items", type=int, default=8, help="how many texts, from the first on")
    parser.add_argument("--explain", action="store_true", help="with explanations")
    parser.add_argument("--out", default="benchmarks/results")
    return parser.parse_args()


if __name__ == "__main__":
    main()
