"""Faults of this machine: disks, locks, clocks, signals and memory. Those tested elsewhere are named in the table."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import pytest
from fault_bench import HEALTHY, ITEMS, THIRD, Bench, never, plain
from fault_table import Case
from loopback import too_many

from active_critic.data.writing import RecordWriter
from active_critic.evaluators.judging import OUT_OF_MEMORY
from active_critic.lm import LanguageModel
from active_critic.records import Example


def nobody(*_: object, **__: object) -> LanguageModel:
    raise AssertionError("the model was opened, and nothing may be paid for here")


@pytest.mark.skipif(not Path("/sys/kernel").is_dir(), reason="needs a folder that nobody may write in")
def test_a_folder_that_cannot_be_written_is_found_before_anything_is_paid_for(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bench, "model", nobody)
    done = bench.score(HEALTHY, never, "-o", "/sys/kernel/s.jsonl")
    assert done.code == 5
    assert "cannot write /sys/kernel/s.jsonl" in done.err


@pytest.mark.skipif(not Path("/sys/kernel").is_dir(), reason="needs a folder that nobody may write in")
def test_a_journal_that_cannot_be_written_is_found_before_anything_is_paid_for(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bench, "model", nobody)
    done = bench.score(HEALTHY, never, "--journal", "/sys/kernel/j.sqlite")
    assert done.code == 5
    assert "the journal /sys/kernel/j.sqlite cannot be opened" in done.err
    assert not Path("s.jsonl.partial").exists()


def test_a_file_that_another_run_is_writing_is_found_before_anything_is_paid_for(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    with RecordWriter("s.jsonl") as other:
        other.write({"score": 1})
        with monkeypatch.context() as patch:
            patch.setattr(bench, "model", nobody)
            done = bench.score(HEALTHY, never)
        assert done.code == 5
        assert "another run is writing s.jsonl; wait until it is done, or name another file" in done.err
    assert Path("s.jsonl").read_text() == '{"score": 1}\n'
    assert bench.score(HEALTHY, never).code == 0


HOLD = """
import sqlite3, sys
db = sqlite3.connect("j.sqlite", isolation_level=None)
db.execute("BEGIN IMMEDIATE")
print("held", flush=True)
sys.stdin.readline()
db.execute("ROLLBACK")
"""


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> float:
    """Waits for a lock a little, instead of half a minute."""
    seconds, connect = 0.2, sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda *a, **k: connect(*a, **{**k, "timeout": seconds}))
    monkeypatch.setattr("active_critic.journal.PATIENCE", seconds)
    return seconds


def holding() -> subprocess.Popen[str]:
    process = subprocess.Popen([sys.executable, "-c", HOLD], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def test_a_journal_that_another_process_holds(bench: Bench, impatient: float) -> None:
    whole = bench.score(HEALTHY, never).records
    with holding() as process:
        # Only the journal is in the way: what is in it already can still be read.
        assert bench.score(HEALTHY, never).records == whole
        more = [*ITEMS, {"id": "i7", "source": "source 7", "response": "text 7"}]
        Path("items.jsonl").write_text("".join(json.dumps(item) + "\n" for item in more))
        stopped = bench.score(HEALTHY, never)
        assert stopped.code == 5
        assert "the journal j.sqlite cannot be written (database is locked)" in stopped.err
        assert bench.attempts == [7]
        process.communicate("\n")
    done = bench.score(HEALTHY, never)
    assert (done.code, bench.attempts, done.records[:6]) == (0, [7], whole)


def test_a_journal_that_another_process_lets_go(bench: Bench) -> None:
    whole = bench.score(HEALTHY, never).records
    Path("j.sqlite").unlink()
    sqlite3.connect("j.sqlite").close()
    bench.score(HEALTHY, never, "--limit", 1)
    with holding() as process:
        assert process.stdin is not None
        timer = threading.Timer(0.2, lambda: (process.stdin.write("\n"), process.stdin.flush()))  # type: ignore[union-attr]
        timer.start()
        done = bench.score(HEALTHY, never)
        timer.join()
    assert (done.code, done.records) == (0, whole)


def test_a_clock_that_jumps_changes_nothing(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = bench.score(HEALTHY, never).records
    Path("j.sqlite").unlink()
    now, told = time.time, [0]

    def jumping() -> float:
        told[0] += 1
        return now() + (-1) ** told[0] * 86_400.0 * 365

    monkeypatch.setattr(time, "time", jumping)
    late = Case("429", lambda level: too_many("5"), 2)
    done = bench.score(late, lambda item, before: item == THIRD and before == 0)
    assert (done.code, done.records) == (0, whole)
    assert bench.waits == [5.0]
    assert 0 <= done.summary["seconds"] < 60
    assert 0 <= done.summary["usage"]["seconds"] < 60


@pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals")
def test_sigterm_loses_nothing_that_was_answered(bench: Bench) -> None:
    whole = bench.score(HEALTHY, never).records
    Path("j.sqlite").unlink()
    Path("s.jsonl").unlink()
    bench.monkeypatch.setenv("OPENAI_API_KEY", "none-needed")
    script = f"""
        import sys, time
        from active_critic.cli import main
        from active_critic.lm import Capabilities, open_lm
        def opener(name, **options):
            lm = open_lm(name, **options)
            lm._capabilities = Capabilities(json_schema=True, probabilities=True)
            send = lm._send
            def slowly(request):
                if "text {THIRD}" in str(request.messages):
                    print("third", flush=True)
                    time.sleep(60)
                return send(request)
            lm._send = slowly
            return lm
        sys.exit(main(["score", "p.json", "items.jsonl", "-o", "s.jsonl", "--journal", "j.sqlite", "--workers", "1",
                       "--api-base", {bench.loopback.api_base!r}], opener=opener))
    """
    with subprocess.Popen([sys.executable, "-c", textwrap.dedent(script)], stdout=subprocess.PIPE, text=True) as run:
        assert run.stdout is not None
        assert run.stdout.readline() == "third\n"
        run.terminate()
        assert run.wait(20) == -signal.SIGTERM
    assert not Path("s.jsonl").exists()
    again = bench.score(HEALTHY, never)
    assert (again.code, bench.attempts, again.records) == (0, [3, 4, 5, 6], whole)


def starving(bench: Bench, monkeypatch: pytest.MonkeyPatch, at: set[int]) -> None:
    """Has the memory run out when these items are asked about."""
    from active_critic.evaluators.critic_judge import CriticJudge

    answer = CriticJudge.answer

    def starved(self: CriticJudge, question: str, example: Example, *, explain: bool) -> object:
        if int(example.response.split()[1]) in at:
            raise MemoryError
        return answer(self, question, example, explain=explain)

    monkeypatch.setattr(CriticJudge, "answer", starved)


def test_out_of_memory_in_a_worker_is_one_unscored_item(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = bench.score(HEALTHY, never).records
    starving(bench, monkeypatch, {THIRD})
    done = bench.score(HEALTHY, never)
    assert done.code == 7
    assert done.records[THIRD - 1]["unscored"] == OUT_OF_MEMORY
    assert plain(done.records, THIRD) == plain(whole, THIRD)
    assert [reason["reason"] for reason in done.summary["reasons"]] == [OUT_OF_MEMORY]


def test_out_of_memory_five_times_in_a_row_stops_the_run(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as starved:
        starving(bench, starved, {2, 3, 4, 5})
        assert bench.score(HEALTHY, never, "--journal", "four.sqlite").code == 7
    with monkeypatch.context() as starved:
        starving(bench, starved, {2, 3, 4, 5, 6})
        done = bench.score(HEALTHY, never)
        assert (done.code, done.records) == (4, [])
        assert OUT_OF_MEMORY in done.err
        assert "Stopped after 5 failures in a row" in done.err
    again = bench.score(HEALTHY, never)
    assert (again.code, bench.attempts) == (0, [2, 3, 4, 5, 6])  # the first was paid for and kept


def test_out_of_memory_everywhere_stops_the_run(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    starving(bench, monkeypatch, set(range(1, 7)))
    done = bench.score(HEALTHY, never)
    assert (done.code, done.records) == (4, [])
    assert OUT_OF_MEMORY in done.err
    assert "Stopped after 2 failures in a row" in done.err
