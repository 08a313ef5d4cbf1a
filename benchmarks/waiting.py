"""Milliseconds that an embedded model takes for a token it reads and one it writes, by how its threads wait.

    python benchmarks/waiting.py
    python benchmarks/waiting.py --lm local-small --looks 0 300 1000 --out small
    python benchmarks/waiting.py --lm local local-small --busy 0 1 --looks 0 300 500 1000 --out near

The first two stand together in ``results/waiting``, the third is ``results/waiting_near``.

``GOMP_SPINCOUNT`` is how often a thread of llama.cpp looks whether the others are done before it sleeps; 0 is to sleep
at once. Beside the model run as many other processes as said, each of which keeps a processor busy all the time. The
ways take turns, round by round; of the rounds the median is shown, and in the JSON each.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import statistics
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from active_critic.lm.server import LocalServer
from active_critic.lm.weights import open_weights

TEXT = "The lake was quiet and the boats lay still under the old trees near the shore. " * 10
WRITTEN = 40


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lm", nargs="+", default=["local", "local-tiny"])
    parser.add_argument("--busy", nargs="+", type=int, default=[0, 1, 2], help="other busy processes")
    parser.add_argument("--looks", nargs="+", type=int, default=[0, 300, 1000, 3000, 10000])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/waiting"))
    args = parser.parse_args()
    rows: dict[tuple[str, int, int], dict[str, list[float]]] = {}
    for name in args.lm:
        weights = open_weights(name)[0]
        for busy in args.busy:
            with others(busy):
                for turn in range(args.rounds):
                    for looks in args.looks:
                        row = rows.setdefault((name, busy, looks), {"read": [], "written": []})
                        for kind, taken in measured(weights, looks, turn).items():
                            row[kind].append(round(taken, 1))
    kept = [{"lm": n, "busy": b, "looks": k, **row} for (n, b, k), row in rows.items()]
    text = table(kept)
    settings = {"processors": len(os.sched_getaffinity(0)), "rounds": args.rounds, "tokens written": WRITTEN}
    args.out.with_suffix(".json").write_text(json.dumps({**settings, "rows": kept}, indent=1) + "\n")
    args.out.with_suffix(".md").write_text(text)
    print(text)


@contextlib.contextmanager
def others(count: int) -> Iterator[None]:
    """So many processes that keep a processor busy."""
    started = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for process in started:
            process.kill()
            process.wait()


def measured(weights: Path, looks: int, turn: int) -> dict[str, float]:
    """Milliseconds a token, read and written, of a server whose threads look so often."""
    os.environ.update(OMP_WAIT_POLICY="passive", GOMP_SPINCOUNT=str(looks))
    with LocalServer(weights, alias="waiting", context=4096) as server:
        server.post("/completion", {"prompt": "x", "n_predict": 2}, 300)
        asked = {"prompt": f"{turn} {TEXT}", "temperature": 0, "ignore_eos": True, "n_predict": WRITTEN}
        taken = server.post("/completion", asked, 600)["timings"]
    return {"read": taken["prompt_per_token_ms"], "written": taken["predicted_per_token_ms"]}


def table(rows: list[dict[str, Any]]) -> str:
    lines = [
        "Milliseconds a token; the median, and the least and most of the rounds.",
        "",
        "| model | other busy processes | looks before it sleeps | read | written |",
        "| --- | ---: | ---: | ---: | ---: |",
    ]
    for row in rows:
        read, written = (
            f"{statistics.median(row[kind]):.0f} ({min(row[kind]):.0f} to {max(row[kind]):.0f})"
            for kind in ("read", "written")
        )
        lines.append(f"| {row['lm']} | {row['busy']} | {row['looks']:,} | {read} | {written} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
