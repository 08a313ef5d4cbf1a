"""Whatever is killed, and whoever else is at the journal: the same result, nothing asked again that was answered.

A few kills of each command; ``benchmarks/reliability.py`` makes a hundred.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest
from kill_bench import VERBS, WORKERS, KillBench, Told
from kill_process import Forker
from loopback import serving

from active_critic.journal import Journal

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KillBench]:
    with serving() as loopback:
        bench = KillBench(loopback, tmp_path_factory.mktemp("kills"))
        commands = [[part.replace("fitted", "program") for part in command] for command in VERBS.values()]
        with Forker(bench.place("warm-up", "fit"), commands) as bench.launch:
            for verb in VERBS:
                bench.reference(verb)
            yield bench


def check(told: Told) -> None:
    assert told.problems == []
    assert (told.repeated, told.lost_rows) == (0, 0)
    assert told.most_in_flight <= WORKERS
    assert told.in_flight <= told.kills * WORKERS


@pytest.mark.parametrize("verb", VERBS)
def test_a_killed_run_goes_on_and_ends_the_same(bench: KillBench, verb: str) -> None:
    told = bench.kill_and_resume(f"killed-{verb}", verb, random.Random(verb), kills=3, hows=["asked"])
    assert told.kills >= 1
    check(told)
    assert list(bench.leaks()) == []  # neither does a killed run leave a key behind


@pytest.mark.parametrize("verb", VERBS)
def test_two_processes_at_one_journal_pay_once(bench: KillBench, verb: str) -> None:
    told = bench.two_at_once(f"two-{verb}", verb)
    check(told)
    assert told.requests == len(bench.asked[verb])


def test_one_of_two_processes_at_one_journal_is_killed(bench: KillBench) -> None:
    told = bench.two_at_once("two-killed", "score", kill_at=9)
    assert told.kills == 1
    check(told)


HOLD = """
    import sys
    from active_critic.journal import Journal
    journal = Journal("j.sqlite")
    with journal.asking("held"):
        print("held", flush=True)
        sys.stdin.readline()
        journal.keep("held", "{}", "its reply")
    print("let go", flush=True)
    sys.stdin.readline()
"""


@pytest.fixture
def holding(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process, which is asking something."""
    command = [sys.executable, "-c", textwrap.dedent(HOLD)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=tmp_path, stdin=pipe, stdout=pipe, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        yield process
        process.kill()


def test_a_question_that_another_process_asks_is_waited_for(
    holding: subprocess.Popen[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[float] = []

    def wait(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) == 2:
            assert holding.stdin is not None
            assert holding.stdout is not None
            holding.stdin.write("\n")
            holding.stdin.flush()
            assert holding.stdout.readline() == "let go\n"

    monkeypatch.setattr("active_critic.journal.time.sleep", wait)
    with Journal(tmp_path / "j.sqlite") as journal:
        with journal.asking("another"):
            assert waits == []
        with journal.asking("held"):
            assert len(waits) == 2
            assert journal.recall("held") == "its reply"


def test_a_process_whose_attempts_all_take_their_whole_time_is_left_alone(
    holding: subprocess.Popen[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 0.0

    def wait(seconds: float) -> None:
        nonlocal now
        now += 60
        if now == 4 * 900 + 3 * 60 - 60:  # an embedded model's time-out, and a minute before each retry
            assert holding.stdin is not None
            assert holding.stdout is not None
            holding.stdin.write("\n")
            holding.stdin.flush()
            assert holding.stdout.readline() == "let go\n"

    monkeypatch.setattr("active_critic.journal.time.sleep", wait)
    monkeypatch.setattr("active_critic.journal.time.monotonic", lambda: now)
    with Journal(tmp_path / "j.sqlite") as journal, journal.asking("held"):
        assert journal.recall("held") == "its reply"


def test_a_question_of_a_killed_process_is_asked_by_the_next(
    holding: subprocess.Popen[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def wait(seconds: float) -> None:
        holding.kill()
        holding.wait()

    monkeypatch.setattr("active_critic.journal.time.sleep", wait)
    with Journal(tmp_path / "j.sqlite") as journal, journal.asking("held"):
        assert journal.recall("held") is None


def test_a_process_that_does_not_go_on_is_not_waited_for_without_end(
    holding: subprocess.Popen[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("active_critic.journal.LONGEST_TURN", 0.1)
    with Journal(tmp_path / "j.sqlite") as journal, journal.asking("held"):
        assert holding.poll() is None
