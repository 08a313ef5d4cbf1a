"""A fit that is killed at any moment and started again repeats no call and ends with the same result.

Run as a script, this file is the helper that the test starts: it has imported everything, and forks a child a run.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from loopback import Fault, Loopback, Say
from simulated import form, last_item, simulated_lm

from active_critic.records import Example

KILLS = 50
LATEST = 4
"""Questions after which a life is over, so that enough is left to be asked by the lives after it."""


def examples() -> list[Example]:
    lengths = random.Random(4).sample(range(3, 50), 10)
    return [Example("word " * n, f"question {i}", round(n / 10, 1)) for i, n in enumerate(lengths)]


def fit_and_score(lm: Any, journal: str | None) -> dict[str, Any]:
    """A small fit and what it scores, without what may differ from run to run: seconds and calls."""
    from active_critic import ActiveCritic

    with ActiveCritic(lm, candidates=3, demos=2, order="rating_first", journal=journal) as critic:
        critic.fit(examples(), scale="0..5")
        new = [Example("word " * n, f"question {n % 2}") for n in (5, 15, 25, 35)]
        verdicts = [verdict.to_dict() for verdict in critic.score_many(new)]
    assert critic.report_ is not None
    return {
        "program": critic.fitted.model_dump(mode="json", exclude={"provenance"}),
        "report": {k: v for k, v in critic.report_.to_dict().items() if k not in {"usage", "candidates"}},
        "candidates": [(c.index, c.q, c.asked, [d.example_id for d in c.demos]) for c in critic.candidates_],
        "verdicts": verdicts,
    }


# --- the helper -------------------------------------------------------------------------------------------------------


def helper() -> None:
    """Runs a fit in a forked child for every order read: the child's pid, then its wait status, are written."""
    from active_critic.errors import EndpointDown
    from active_critic.lm import open_lm

    fit_and_score(simulated_lm(), None)  # everything that is imported late is imported now
    with suppress(EndpointDown):
        nobody = open_lm("openai/judge", api_base="http://127.0.0.1:1/v1")
        nobody._retries = 0
        nobody.ask([("user", "anybody there?")], max_tokens=1)
    with suppress(EndpointDown):
        assert not nobody.gives_likelihood  # another client, which takes a second to import
    say("ready")
    for line in sys.stdin:
        order = json.loads(line)
        pid = os.fork()
        if pid == 0:
            status = 1
            try:
                os.environ["OPENAI_API_KEY"] = order["key"]  # tells the runs apart at the endpoint
                lm = open_lm("openai/judge", api_base=order["api_base"], workers=order["workers"])
                Path(order["result"]).write_text(json.dumps(fit_and_score(lm, order["journal"])))
                status = 0
            except BaseException:
                import traceback

                traceback.print_exc()
            finally:
                sys.stderr.flush()
                os._exit(status)
        say(pid)
        say(os.waitpid(pid, 0)[1])


def say(what: object) -> None:
    sys.stdout.write(f"{what}\n")
    sys.stdout.flush()


# --- the endpoint -----------------------------------------------------------------------------------------------------


def reply_to(body: dict[str, Any]) -> Say:
    """What the simulated model says, as an endpoint that honours schemas and gives no probabilities."""
    turns = [(m["role"], m["content"]) for m in body["messages"]]
    if "lemon" in turns[-1][1]:  # what can you do?
        return Say('{"shade": 3}' if "colour" in turns[-1][1] else "3")
    level = min(100, 2 * len(last_item(turns).split())) if any("<response>" in t for _, t in turns[1:]) else 50
    document = json.loads(json.dumps(form(turns, 77)).replace("77", str(level)))
    return Say(json.dumps(document))


def asked_key(body: dict[str, Any]) -> str:
    limit = body.get("max_tokens") or body.get("max_completion_tokens")
    return json.dumps([[[m["role"], m["content"]] for m in body["messages"]], limit])


def kept_keys(journal: Path) -> list[str]:
    """What the journal holds, in the same words."""
    if not journal.exists():
        return []
    with closing(sqlite3.connect(journal)) as db:
        if not db.execute("SELECT name FROM sqlite_master WHERE name = 'replies'").fetchall():
            return []
        documents = [json.loads(row[0]) for row in db.execute("SELECT request FROM replies")]
    return [
        json.dumps([[*([["system", d["system"]]] if d["system"] else []), *d["messages"]], d["config"]["max_tokens"]])
        for d in documents
    ]


# --- killing ----------------------------------------------------------------------------------------------------------


class Run:
    """One life of the child: when it is to die, what the journal held before and after, and what it asked."""

    def __init__(self, number: int, rng: random.Random, journal: Path, kill: bool) -> None:
        self.key = f"run-{number}"
        self.journal = journal
        self.how = rng.choice(["asked", "answered", "answered", "answered", "whenever"]) if kill else "never"
        self.after = rng.randint(1, LATEST)
        self.seconds = rng.uniform(0, 0.006 if self.how == "answered" else 0.3)
        self.killed = False
        self.before = self.kept = set(kept_keys(journal))
        self._pid = 0
        self._count = 0
        self._lock = threading.Lock()
        self._born = threading.Event()
        self._timers: list[threading.Timer] = []

    def born(self, pid: int) -> None:
        self._pid = pid
        self._born.set()
        if self.how == "whenever":
            self._soon()

    def answer(self, body: dict[str, Any]) -> Say | Fault:
        with self._lock:
            self._count += 1
            due = self._count == self.after
            late = self.how == "whenever" and self._count > LATEST
        if late or (due and self.how == "asked"):
            self._shoot()
        if due and self.how == "answered":
            self._soon()
        return reply_to(body)

    def over(self, killed: bool) -> None:
        self.killed = killed
        self.kept = set(kept_keys(self.journal))
        for timer in self._timers:
            timer.cancel()
            timer.join()

    def asked(self, loopback: Loopback) -> list[str]:
        mine = f"Bearer {self.key}"
        sent = [asked for asked in loopback.asked if asked.headers["authorization"] == mine]
        # Whether likelihoods can be had is refused: that costs nothing and is not kept.
        return [asked_key(asked.body) for asked in sent if asked.path.endswith("/chat/completions")]

    def _soon(self) -> None:
        timer = threading.Timer(self.seconds, self._shoot)
        self._timers.append(timer)
        timer.start()

    def _shoot(self) -> None:
        assert self._born.wait(10)
        with suppress(ProcessLookupError):
            os.kill(self._pid, signal.SIGKILL)


@contextmanager
def helping(log: Path) -> Iterator[subprocess.Popen[str]]:
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    with (
        log.open("w") as errors,
        subprocess.Popen(
            [sys.executable, __file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            env=environment,
        ) as process,
    ):
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n", log.read_text()
        try:
            yield process
        finally:
            process.stdin.close()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_fit_killed_at_fifty_random_moments_repeats_nothing_and_ends_the_same(
    loopback: Loopback, tmp_path: Path
) -> None:
    rng, numbers = random.Random(50), count()
    log = tmp_path / "errors.txt"

    def live(helper: subprocess.Popen[str], name: str, workers: int, kill: bool) -> Run:
        assert helper.stdin is not None
        assert helper.stdout is not None
        journal, result = tmp_path / f"{name}.sqlite", tmp_path / f"{name}.json"
        run = Run(next(numbers), rng, journal, kill)
        loopback.answer = run.answer
        order = {"api_base": loopback.api_base, "key": run.key, "workers": workers}
        order |= {"journal": str(journal), "result": str(result)}
        print(json.dumps(order), file=helper.stdin, flush=True)
        run.born(int(helper.stdout.readline()))
        status = int(helper.stdout.readline())
        killed = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
        assert killed or status == 0, log.read_text()
        run.over(killed)
        return run

    with helping(log) as helper:
        whole = live(helper, "whole", 1, kill=False)
        reference = whole.asked(loopback)
        expected = json.loads((tmp_path / "whole.json").read_text())
        assert len(reference) == len(set(reference)) > 60  # an unkilled fit asks nothing twice
        assert set(reference) == whole.kept

        asked_again = 0
        for name, workers in (("alone", 1), ("together", 4)):
            runs: list[Run] = []
            while not runs or runs[-1].killed:
                runs.append(live(helper, name, workers, kill=len(runs) < KILLS // 2))
            assert len(runs) == KILLS // 2 + 1
            sent: Counter[str] = Counter()
            allowed = 0
            for run in runs:
                asked = run.asked(loopback)
                assert not run.before & set(asked), "a call whose reply was in the journal was made again"
                assert len(asked) == len(set(asked)), "one run made a call twice"
                lost = set(asked) - run.kept  # sent, and killed before the reply was kept
                assert len(lost) <= (workers if run.killed else 0)
                allowed += len(lost)
                sent.update(asked)
            assert sum(sent.values()) - len(sent) <= allowed
            assert set(sent) == set(reference)
            assert json.loads((tmp_path / f"{name}.json").read_text()) == expected
            asked_again += sum(sent.values()) - len(sent)
    assert asked_again > 0  # it was killed at such moments too


if __name__ == "__main__":
    helper()
