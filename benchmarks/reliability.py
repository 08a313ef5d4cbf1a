"""Faults injected, kills survived, calls repeated, rows lost, secrets found: counted, with no language model.

    python benchmarks/reliability.py [--kills 100] [--seed 0] [--out benchmarks/results]

Three parts. The faults of ``docs/reliability.md``: the tests that inject them are run, and a fault counts as handled
when all of its tests pass. Kills: ``fit``, ``score`` and ``compare`` run as processes of their own against an endpoint
on this machine (one run in five as installed, the others forked from a process that has imported everything),
are killed (SIGKILL) at random moments and started again, also two at a time on one journal. Secrets:
every process has a canary of its own as its key, and more of them in its environment; every file that any of them left
is searched.
"""

from __future__ import annotations

import argparse
import json
import platform
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

ROOT = Path(__file__).parent.parent
TESTS = ROOT / "tests"
sys.path[:0] = [str(TESTS), str(TESTS / "faults")]

from fault_table import ENDPOINT, LOCAL, SECURITY, Local  # noqa: E402
from kill_bench import VERBS, WORKERS, KillBench, Told  # noqa: E402
from kill_process import Forker, Process  # noqa: E402
from loopback import serving  # noqa: E402

ENDPOINT_TESTS = "faults/test_endpoint_faults.py"
AS_INSTALLED = 5
"""Every so many runs the command is started as it is installed; else it is forked, which takes a tenth of the time."""
IN_A_ROW = 3
"""Kills of one run at most, before it is left to end."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=ROOT / "benchmarks" / "results")
    args = parser.parse_args()
    started = time.monotonic()
    found: dict[str, Any] = {"faults": faults()}
    with tempfile.TemporaryDirectory() as folder, serving() as loopback:
        bench = KillBench(loopback, Path(folder))
        told = kills(bench, args.kills, args.seed)
        found |= {"kills": summary(told["killed"]), "two at once": summary(told["two"])}
        files = [path for path in Path(folder).rglob("*") if path.is_file()]
        leaks = list(bench.leaks())
        found["secrets"] = {
            "found": len(leaks),
            "where": leaks,
            "files": len(files),
            "bytes": sum(path.stat().st_size for path in files),
        }
    found["settings"] = {
        "kills": args.kills,
        "seed": args.seed,
        "workers": WORKERS,
        "requests of an uninterrupted run": {verb: len(bench.asked[verb]) for verb in VERBS},
        "python": platform.python_version(),
        "active-critic": version("active-critic"),
        "minutes": round((time.monotonic() - started) / 60, 1),
    }
    args.out.mkdir(parents=True, exist_ok=True)
    (args.out / "reliability.json").write_text(json.dumps(found, indent=2, ensure_ascii=False) + "\n")
    (args.out / "reliability.md").write_text(page(found))
    print(page(found))
    return 0 if sound(found) else 1


# --- faults -----------------------------------------------------------------------------------------------------------


def faults() -> dict[str, Any]:
    """Every fault of the table, and what its tests say."""
    tables: dict[str, Sequence[Local]] = {"this machine": LOCAL, "secrets, hostile files and outputs": SECURITY}
    wanted = sorted({fault.test for faults in tables.values() for fault in faults})
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        command = [sys.executable, "-m", "pytest", ENDPOINT_TESTS, *wanted, "-q", "-p", "no:cacheprovider"]
        subprocess.run([*command, f"--junitxml={report}"], cwd=TESTS, check=False)
        cases = [*ElementTree.parse(report).iter("testcase")]
    outcomes: dict[str, list[str]] = {}
    for case in cases:
        name, _, parameter = (case.get("name") or "").partition("[")
        file = (case.get("classname") or "").removeprefix("tests.").replace(".", "/")
        how = next((part.tag for part in case if part.tag in {"failure", "error", "skipped"}), "passed")
        key = parameter.removesuffix("]") if file + ".py" == ENDPOINT_TESTS else f"{file}.py::{name}"
        outcomes.setdefault(key, []).append(how)
    found = {"the endpoint": count(outcomes.get(case.name, []) for case in ENDPOINT)}
    found |= {where: count(outcomes.get(fault.test, []) for fault in table) for where, table in tables.items()}
    problems = [f"{name}: {how}" for name, hows in outcomes.items() for how in hows if how in {"failure", "error"}]
    return {"by place": found, "problems": problems}


def count(outcomes: Iterable[Sequence[str]]) -> dict[str, int]:
    each = [*outcomes]
    ran = [[how for how in hows if how != "skipped"] for hows in each]
    return {
        "faults": len(each),
        "injected": sum(bool(hows) for hows in ran),
        "handled": sum(bool(hows) and set(hows) == {"passed"} for hows in ran),
        "tests": sum(map(len, ran)),
    }


# --- kills ------------------------------------------------------------------------------------------------------------


def kills(bench: KillBench, wanted: int, seed: int) -> dict[str, list[Told]]:
    """Kill each command a third of so many times, and run it twice at once, with and without a kill."""
    rng = random.Random(seed)
    killed: list[Told] = []
    two: list[Told] = []
    commands = [[part.replace("fitted", "program") for part in command] for command in VERBS.values()]
    forker = Forker(bench.place("warm-up", "fit"), commands)
    for place, verb in enumerate(VERBS):
        bench.launch = forker
        bench.reference(verb)
        left = wanted // len(VERBS) + (place < wanted % len(VERBS))
        for number in range(10 * wanted):
            if left <= 0:
                break
            bench.launch = forker if number % AS_INSTALLED else Process
            killed.append(bench.kill_and_resume(f"{verb}-{number}", verb, rng, min(left, rng.randint(1, IN_A_ROW))))
            left -= killed[-1].kills
            print(f"{verb}: {left} kills to go; {killed[-1].problems or 'all right'}", flush=True)
        bench.launch = forker
        for kill_at in (None, rng.randint(1, len(bench.asked[verb]))):
            two.append(bench.two_at_once(f"{verb}-two-{kill_at}", verb, kill_at))
            print(f"{verb} twice at once: {two[-1].problems or 'all right'}", flush=True)
    return {"killed": killed, "two": two}


def summary(told: Sequence[Told]) -> dict[str, Any]:
    """Sums over runs, in all and by command."""
    total: dict[str, Counter[str]] = {"all": Counter(), **{verb: Counter() for verb in VERBS}}
    for run in told:
        figures = {
            "runs": 1,
            "kills": run.kills,
            "kills survived": 0 if run.problems else run.kills,
            "requests": run.requests,
            "calls repeated": run.repeated,
            "in flight at a kill and asked again": run.in_flight,
            "rows lost": run.lost_rows,
        }
        for sums in (total["all"], total[run.verb]):
            sums.update(figures)
    most = max(run.most_in_flight for run in told)
    return {
        **total,
        "most in flight at one kill": most,
        "problems": [f"{run.verb}: {problem}" for run in told for problem in run.problems],
    }


# --- the page ---------------------------------------------------------------------------------------------------------


def sound(found: dict[str, Any]) -> bool:
    parts = (found["faults"], found["kills"], found["two at once"])
    return not any(part["problems"] for part in parts) and not found["secrets"]["found"]


def page(found: dict[str, Any]) -> str:
    places, settings, secrets = found["faults"]["by place"], found["settings"], found["secrets"]
    every = {name: sum(place[name] for place in places.values()) for name in ("faults", "injected", "handled", "tests")}
    lines = ["# Reliability", "", f"Written by `python benchmarks/reliability.py --kills {settings['kills']}`.", ""]
    killed, two = found["kills"]["all"], found["two at once"]["all"]
    lines += ["| what | figure |", "| --- | --- |"]
    lines += [f"| faults injected | {every['injected']} of {every['faults']}, in {every['tests']} tests |"]
    lines += [f"| faults handled | {every['handled']} |"]
    lines += [f"| kills (SIGKILL at a random moment) | {killed['kills']} |"]
    lines += [f"| kills survived | {killed['kills survived']} |"]
    lines += [f"| calls repeated | {killed['calls repeated'] + two['calls repeated']} |"]
    lines += [f"| rows lost | {killed['rows lost'] + two['rows lost']} |"]
    lines += [f"| secrets found | {secrets['found']} in {secrets['files']:,} files ({secrets['bytes']:,} bytes) |"]
    lines += ["", "## Faults", "", "| where | faults | injected | handled | tests |", "| --- | --- | --- | --- | --- |"]
    lines += [f"| {where} | {' | '.join(str(n) for n in place.values())} |" for where, place in places.items()]
    titles = {"kills": "Kills", "two at once": "The same command twice at once, one journal"}
    for part, title in titles.items():
        figures = found[part]
        names = [name for name in figures["all"] if name != "kills survived"]
        lines += ["", f"## {title}", "", f"| command | {' | '.join(names)} |", "| --- " * (len(names) + 1) + "|"]
        for verb in (*VERBS, "all"):
            lines += [f"| {verb} | {' | '.join(str(figures[verb][name]) for name in names)} |"]
        most = figures["most in flight at one kill"]
        lines += ["", f"Replies that were on their way when a process was killed: at most {most}."]
    problems = [*found["faults"]["problems"], *found["kills"]["problems"], *found["two at once"]["problems"]]
    lines += ["", "## Problems", "", *([f"- {problem}" for problem in problems] or ["None."])]
    return "\n".join([*lines, "", NOTES.format(workers=WORKERS), ""])


NOTES = """## What the figures mean

A kill counts as survived when the same command, started again until it is left to end, ends with the output of a run
that was never interrupted: the verdicts, the predictions and the program byte for byte, but for what a run says it has
cost (the usage in a program's provenance, the seconds in a comparison). An output is there whole or not at all, also
right after a kill.

A call is repeated when its reply was in the journal and it was made again, by a later run, by the same one, or by
another process at the same moment. A reply is in the journal before it is used, so a kill can cost only what was on its
way at that moment, one call for each of the {workers} workers at most; these are asked again, and counted apart. Two
processes with one journal ask nothing twice: while one of them asks a question, the other waits for the reply.

Not counted is the request whether an endpoint gives likelihoods: where it does not, that is refused, costs nothing, and
is not kept, so a later run asks it again.

A fault counts as injected when at least one of its tests could run on this machine. The last row of the endpoint's
table, log-probabilities missing where the approval is read too, has a test of its own that is not counted."""


if __name__ == "__main__":
    raise SystemExit(main())
