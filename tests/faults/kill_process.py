"""Starts the command line as a process of its own: as it is installed, or forked from one that has imported everything.

Run as a script, this file is the process that the second way forks from.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

COMMAND = [sys.executable, "-c", "import sys; from active_critic.cli import main; sys.exit(main())"]
"""What the installed command runs."""


class Running(Protocol):
    """A process that was started."""

    def kill(self) -> None:
        """Kill it, if it is still there (SIGKILL)."""

    def wait(self) -> int:
        """Its exit code, when it has ended; -9 when it was killed."""


Launch = Callable[[Sequence[str], Path, Mapping[str, str], Path], Running]
"""Starts the command line with these arguments, folder, environment and file for what it says."""


class Process:
    """The command as it is installed."""

    def __init__(self, argv: Sequence[str], place: Path, environment: Mapping[str, str], said: Path) -> None:
        with said.open("wb") as out:
            self._process = subprocess.Popen([*COMMAND, *argv], cwd=place, env=environment, stdout=out, stderr=out)

    def kill(self) -> None:
        self._process.kill()

    def wait(self) -> int:
        return self._process.wait(120)


class Forker:
    """Launches commands by forking a process that has run them all once, with a simulated model: in no time.

    Args:
        place: A folder with all that the commands read.
        commands: Arguments of the commands.
    """

    def __init__(self, place: Path, commands: Sequence[Sequence[str]]) -> None:
        environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
        self._helper = subprocess.Popen(
            [sys.executable, __file__], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.order({"commands": commands, "place": str(place)})

    def __call__(self, argv: Sequence[str], place: Path, environment: Mapping[str, str], said: Path) -> Running:
        order = {"argv": argv, "place": str(place), "environment": environment, "said": str(said)}
        return _Forked(self.order(order), self)

    def order(self, order: dict[str, Any]) -> int:
        assert self._helper.stdin is not None
        assert self._helper.stdout is not None
        self._helper.stdin.write(json.dumps(order) + "\n")
        self._helper.stdin.flush()
        return int(self._helper.stdout.readline())

    def __enter__(self) -> Forker:
        return self

    def __exit__(self, *_: object) -> None:
        self._helper.communicate()


@dataclass
class _Forked:
    pid: int
    forker: Forker

    def kill(self) -> None:
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)

    def wait(self) -> int:
        return self.forker.order({"wait": self.pid})


def _helper() -> None:
    for line in sys.stdin:
        order = json.loads(line)
        if "commands" in order:
            answer = _warm_up(order)
        elif "wait" in order:
            answer = os.waitstatus_to_exitcode(os.waitpid(order["wait"], 0)[1])
        else:
            answer = os.fork()
            if answer == 0:
                _child(order)
        sys.stdout.write(f"{answer}\n")
        sys.stdout.flush()


def _warm_up(order: dict[str, Any]) -> int:
    """Has everything imported that is imported late."""
    from simulated import simulated_lm

    from active_critic.cli import main
    from active_critic.errors import EndpointDown
    from active_critic.lm import open_lm

    with (
        contextlib.chdir(order["place"]),
        Path("warm-up.txt").open("w") as said,
        contextlib.redirect_stdout(said),
        contextlib.redirect_stderr(said),
    ):
        for argv in order["commands"]:
            main([*argv, "--journal", "none"], opener=lambda *_, **__: simulated_lm())
        with suppress(EndpointDown):
            nobody = open_lm("openai/judge", api_base="http://127.0.0.1:1/v1")
            nobody._retries = 0
            nobody.ask([("user", "anybody there?")], max_tokens=1)
        with suppress(EndpointDown):
            assert not nobody.gives_likelihood  # another client, which takes a second to import
    return 0


def _child(order: dict[str, Any]) -> None:
    from active_critic.cli import main

    code = 99
    try:
        said = os.open(order["said"], os.O_WRONLY | os.O_CREAT)
        os.dup2(said, 1)
        os.dup2(said, 2)
        os.chdir(order["place"])
        os.environ.clear()
        os.environ.update(order["environment"])
        code = main(order["argv"])
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).parent.parent)]
    _helper()
