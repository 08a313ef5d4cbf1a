"""What it costs to force an embedded model along a text: token by token, or in one request under a grammar.

    python benchmarks/forcing.py datasets/quickstart.jsonl --lm local

Both give the log-probability of every token of a text that the model did not write. The product does the first with the
prefix cache, and the second without it; here both use the cache, in turn, so that they compare. Beside them stands what
it takes the model to write as many tokens. Needs no labels.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import active_critic as ac
from active_critic.lm.likelihood import forcing, templated
from active_critic.lm.server import LocalServer
from active_critic.lm.weights import open_weights

CONTEXT = 4096
ASKED = [("user", "Write a text.")]


def main() -> None:
    args = _arguments()
    texts = [e.response for e in ac.read_examples(args.items_file, scored=False)][: args.items]
    weights, _, model = open_weights(args.lm)
    name = model.name if model else weights.stem
    ways: dict[str, list[float]] = {}
    tokens, apart = 0, 0.0
    with LocalServer(weights, alias=name, context=CONTEXT) as server:

        def post(path: str, body: dict[str, Any]) -> Any:
            return server.post(path, body, 600.0)

        stepwise = forcing(post, name, context=CONTEXT, cached=True)
        prompt = post("/tokenize", {"content": templated(post, ASKED), "add_special": True, "parse_special": True})
        behind = prompt["tokens"]

        def complete(number: int, **more: Any) -> Any:
            body = {"prompt": behind, "n_predict": number, "temperature": 0.0, "cache_prompt": True, **more}
            return post("/completion", body)

        for text in texts:
            ids = post("/tokenize", {"content": text})["tokens"]
            tokens += len(ids)
            grammar = "root ::= " + " ".join(f"<[{number}]>" for number in ids)
            for _ in range(args.runs):
                by_token = _timed(ways, "token by token", partial(stepwise, ASKED, text)).logprobs
                answer = _timed(
                    ways,
                    "one request under a grammar",
                    partial(complete, len(ids), n_probs=1, grammar=grammar),
                )
                at_once = [step["logprob"] for step in answer["completion_probabilities"]]
                apart = max(apart, *(abs(a - b) for a, b in zip(by_token, at_once, strict=True)))
                _timed(ways, "writing as many", partial(complete, len(ids), ignore_eos=True))
    each = tokens / len(texts)
    found = {
        "model": name,
        "texts": len(texts),
        "runs": args.runs,
        "tokens a text": each,
        "largest difference of a log-probability": apart,
        "ms a token": {way: 1000 * statistics.median(took) / each for way, took in ways.items()},
    }
    stem = Path(args.out) / f"forcing_{name}"
    stem.with_name(f"{stem.name}.json").write_text(json.dumps(found, indent=1) + "\n")
    print(json.dumps(found, indent=1))


def _timed(ways: dict[str, list[float]], way: str, ask: Callable[[], Any]) -> Any:
    started = time.monotonic()
    answer = ask()
    ways.setdefault(way, []).append(time.monotonic() - started)
    return answer


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("items_file", metavar="ITEMS")
    parser.add_argument("--lm", default="local")
    parser.add_argument("--items", type=int, default=5, help="how many texts, from the first on")
    parser.add_argument("--runs", type=int, default=3, help="how often each way, in turn")
    parser.add_argument("--out", default="benchmarks/results")
    return parser.parse_args()


if __name__ == "__main__":
    main()
