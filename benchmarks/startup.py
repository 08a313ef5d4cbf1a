"""How long commands that ask nothing of a model take, as whole processes: best and median of several.

    python benchmarks/startup.py [--assert]

Targets on two cores: 0.3 s for ``import active_critic``, 0.5 s for ``--help``, 2 s for ``show``. ``--assert`` fails
when the best run is over the target (the best, since other work on the machine can only slow a run down).
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time

TARGETS = {
    "import active_critic": ([sys.executable, "-c", "import active_critic"], 0.3),
    "active-critic --help": ([sys.executable, "-c", "from active_critic.cli import main; main(['--help'])"], 0.5),
    "active-critic show": ([sys.executable, "-m", "active_critic", "show", "programs/quickstart.json"], 2.0),
}
BARE = [sys.executable, "-c", "pass"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--assert", dest="check", action="store_true")
    parser.add_argument("--runs", type=int, default=7)
    args = parser.parse_args()
    best, median = _time(BARE, args.runs)
    print(f"{'python alone':24} best {best:.3f} s  median {median:.3f} s")
    slow = 0
    for name, (command, target) in TARGETS.items():
        best, median = _time(command, args.runs)
        over = best > target
        slow += over
        print(f"{name:24} best {best:.3f} s  median {median:.3f} s  target {target} s{'  TOO SLOW' if over else ''}")
    return 1 if args.check and slow else 0


def _time(command: list[str], runs: int) -> tuple[float, float]:
    taken = []
    for _ in range(runs):
        started = time.perf_counter()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        taken.append(time.perf_counter() - started)
    return min(taken), statistics.median(taken)


if __name__ == "__main__":
    raise SystemExit(main())
