"""How long commands that ask nothing of a model take, as whole processes: the best of several.

    python benchmarks/startup.py [--assert]

Targets on two cores: 0.3 s for ``import active_critic``, 0.5 s for ``--help``, 2 s for ``show``. ``--assert`` fails
when the processor time of the best run is over the target: other work on the machine stretches the wall time far more.
It stretches the processor time, too, if less, so a command is run until one run is within its target, and at most
``PATIENCE`` times as often as without ``--assert``.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import time

TARGETS = {
    "import active_critic": ([sys.executable, "-c", "import active_critic"], 0.3),
    "active-critic --help": ([sys.executable, "-c", "from active_critic.cli import main; main(['--help'])"], 0.5),
    "active-critic show": ([sys.executable, "-m", "active_critic", "show", "programs/quickstart.json"], 2.0),
}
BARE = [sys.executable, "-c", "pass"]
PATIENCE = 5


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--assert", dest="check", action="store_true")
    parser.add_argument("--runs", type=int, default=7)
    args = parser.parse_args()
    wall, processor = _best(BARE, args.runs)
    print(f"{'python alone':24} wall {wall:.3f} s  processor {processor:.3f} s")
    slow = 0
    for name, (command, target) in TARGETS.items():
        wall, processor = (
            _best(command, PATIENCE * args.runs, enough=target) if args.check else _best(command, args.runs)
        )
        over = processor > target
        slow += over
        said = f"{name:24} wall {wall:.3f} s  processor {processor:.3f} s  target {target} s"
        print(f"{said}{'  TOO SLOW' if over else ''}")
    return 1 if args.check and slow else 0


def _best(command: list[str], runs: int, enough: float = 0.0) -> tuple[float, float]:
    """The least wall time and the least processor time (user and system), in seconds, of several runs.

    There are no further ones once a processor time is ``enough``.
    """
    walls, processors = [], []
    for _ in range(runs):
        started, before = time.perf_counter(), _children()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        walls.append(time.perf_counter() - started)
        processors.append(_children() - before)
        if processors[-1] <= enough:
            break
    return min(walls), min(processors)


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    raise SystemExit(main())
