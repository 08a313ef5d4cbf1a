"""What scoring costs besides the model: processor time a call, throughput, and memory by number of rows.

    python benchmarks/overhead.py [--mlflow PYTHON] [--deepeval PYTHON] [--rows 1000,100000,1000000] [--out FOLDER]

Every way of asking runs in a process of its own against a server in another one that answers at once, in several
passes through all ways; processor time of the asking process only (user and system), for other work on the machine
stretches wall time far more. ``--mlflow`` and ``--deepeval`` name the Python of an environment that has the tool.
Then ``active-critic score`` scores files of rows with the surface floor: rows a second and peak memory.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import re
import statistics
import subprocess
import sys
import tempfile
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
CRITERIA = ("Accuracy", "Tone", "Clarity", "Helpfulness")
WHY = "It says what the source says and leaves out what does not matter, in short plain words."
WAYS = {
    "bare HTTP": "http",
    "zero-shot, scores only": "zero-shot scores 1",
    "coarse, scores only": "coarse scores 1",
    "coarse, explained": "coarse explain 1",
    "fine, scores only": "fine scores 1",
    "fine, explained": "fine explain 1",
    "fine, scores only, 8 in flight": "fine scores 8",
    "dspy.Predict": "dspy.Predict",
}


def main() -> None:
    if sys.argv[1:] == ["--serve"]:
        serve()
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mlflow", metavar="PYTHON")
    parser.add_argument("--deepeval", metavar="PYTHON")
    parser.add_argument("--items", type=int, default=200, help="Items a round.")
    parser.add_argument("--rounds", type=int, default=3, help="Rounds a pass.")
    parser.add_argument("--passes", type=int, default=3)
    parser.add_argument("--rows", default="1000,100000,1000000", help="Rows a file; empty: no files.")
    parser.add_argument("--out", type=Path, default=HERE / "results")
    args = parser.parse_args()
    document: dict[str, Any] = {
        "settings": {"items": args.items, "rounds": args.rounds, "passes": args.passes, "seed": None},
        "versions": {"python": platform.python_version(), **{n: version(n) for n in ("active-critic", "dspy")}},
        "calls": calls(args),
        "rows": [rows(int(number)) for number in args.rows.split(",") if number],
    }
    args.out.mkdir(parents=True, exist_ok=True)
    (args.out / "overhead.json").write_text(json.dumps(document, indent=2) + "\n")
    (args.out / "overhead.md").write_text(page(document))
    print(page(document))


def calls(args: argparse.Namespace) -> list[dict[str, Any]]:
    """Processor milliseconds a call of every way, all rounds of all passes together."""
    own = HERE / "overhead_calls.py"
    ways = {name: [sys.executable, str(own), way] for name, way in WAYS.items()}
    for tool in ("mlflow", "deepeval"):
        if getattr(args, tool):
            ways[tool] = [getattr(args, tool), str(HERE / "overhead_peers.py"), tool]
    taken: dict[str, list[float]] = {name: [] for name in ways}
    versions: dict[str, str] = {}
    server = subprocess.Popen(
        [sys.executable, __file__, "--serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        assert server.stdout is not None
        address = server.stdout.readline().strip()
        for _ in range(args.passes):
            for name, command in ways.items():
                done = subprocess.run(
                    [*command, address, str(args.items), str(args.rounds)], capture_output=True, text=True, check=False
                )
                if done.returncode:
                    sys.exit(f"{name}: {done.stderr[-3000:]}")
                found = json.loads(done.stdout.splitlines()[-1])
                taken[name] += found["ms"]
                versions[name] = found.get("version", "")
    finally:
        server.kill()
        server.wait()
    return [
        {
            "way": f"{name} {versions[name]}".strip(),
            "calls_a_verdict": 2 if name.startswith("fine") else 1,
            "ms_min": round(min(ms), 3),
            "ms_median": round(statistics.median(ms), 3),
            "ms": [round(value, 3) for value in ms],
        }
        for name, ms in taken.items()
    ]


def serve() -> None:
    """Answer every question of every way at once, with the probabilities of its tokens where they are asked for."""
    sys.path.insert(0, str(HERE.parent / "tests"))
    import loopback

    loopback._Handler.disable_nagle_algorithm = True  # else a reply in two pieces waits 40 ms

    def say(form: dict[str, Any]) -> loopback.Say:
        text = json.dumps(form)
        near = {str(level): math.log(0.2) for level in range(1, 6)} | {f"x{n}": -9.0 for n in range(3)}
        return loopback.Say(text, tokens=[(piece, -0.1, near) for piece in re.findall(r"\d|[^\d]{1,4}", text)])

    scores: dict[str, Any] = {"scores": dict.fromkeys(CRITERIA, 3)}
    overall: dict[str, Any] = {"overall": 4}
    replies = {
        "scores": (say(scores), say(scores | {"explanations": dict.fromkeys(CRITERIA, WHY)})),
        "overall": (say(overall), say(overall | {"justification": WHY, "advice": WHY})),
    }
    # What other tools ask for, each by its own names, and what they ask before: whether there are probabilities.
    other = say({"rating": 4, "result": 4, "score": 4, "reason": WHY, "rationale": WHY})

    with loopback.serving() as server:

        def answer(body: dict[str, Any]) -> loopback.Say:
            server.asked.clear()
            form = body.get("response_format") or {}
            fields = form.get("json_schema", {}).get("schema", {}).get("properties", {})
            first = next(iter(fields), "")
            return replies[first][len(fields) > 1] if first in replies else other

        server.answer = answer
        print(server.api_base, flush=True)
        sys.stdin.read()


def rows(number: int) -> dict[str, Any]:
    """``active-critic score`` from a file to a file: processor seconds, rows a second of these, and peak memory."""
    import active_critic as ac

    text = "The committee met on Tuesday and talked about the plan for the new road at some length"
    with tempfile.TemporaryDirectory() as folder:
        items, out, program = (Path(folder) / name for name in ("items.jsonl", "out.jsonl", "program.json"))
        examples = [ac.Example(response=f"{text}. " * (i % 5 + 1), source=f"s{i}", score=i % 5 + 1) for i in range(40)]
        ac.Surface(journal=None).fit(examples, scale="1..5").save(program)
        with items.open("w") as file:
            file.writelines(
                json.dumps({"source": f"{text} {i // 4}", "response": f"{text} {i}"}) + "\n" for i in range(number)
            )
        code = "from active_critic.cli import main; main()"
        command = [sys.executable, "-c", code, "score", str(program), str(items), "--out", str(out), "--quiet"]
        started = time.monotonic()
        _, status, used = os.wait4(subprocess.Popen(command).pid, 0)
        assert status == 0, status
        with out.open("rb") as file:
            written = sum(1 for _ in file)
    assert written == number, written
    seconds = used.ru_utime + used.ru_stime
    return {
        "rows": number,
        "cpu_seconds": round(seconds, 2),
        "wall_seconds": round(time.monotonic() - started, 2),
        "rows_a_cpu_second": round(number / seconds),
        "peak_mib": round(used.ru_maxrss / 1024, 1),
    }


def page(document: dict[str, Any]) -> str:
    """The figures as Markdown."""
    settings, versions = document["settings"], document["versions"]
    lines = [
        "# Overhead",
        "",
        f"`benchmarks/overhead.py`; {settings['passes']} passes of {settings['rounds']} rounds of "
        f"{settings['items']} items; "
        + ", ".join(f"{name} {number}" for name, number in versions.items())
        + ". Nothing is drawn at random.",
        "",
        "Processor time of the asking process (user and system) a model call, against a server in another process.",
        "The machine was shared with other work, which stretches these figures too: the least of all rounds is the",
        "nearest to a quiet machine. Ours include the journal and reading the probabilities of every token of a reply;",
        "explained replies are long.",
        "",
        "| way | calls a verdict | ms a call, least | median | ms a verdict, least |",
        "| --- | ---: | ---: | ---: | ---: |",
    ]
    for way in document["calls"]:
        number, least = way["calls_a_verdict"], way["ms_min"]
        lines.append(f"| {way['way']} | {number} | {least:.2f} | {way['ms_median']:.2f} | {least * number:.2f} |")
    lines += ["", "`active-critic score` with the surface floor, JSON Lines to JSON Lines:", ""]
    lines += [
        "| rows | processor seconds | rows a processor second | peak memory, MiB |",
        "| ---: | ---: | ---: | ---: |",
    ]
    for row in document["rows"]:
        lines.append(f"| {row['rows']:,} | {row['cpu_seconds']} | {row['rows_a_cpu_second']:,} | {row['peak_mib']} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
