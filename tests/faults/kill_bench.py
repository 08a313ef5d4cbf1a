"""Runs ``fit``, ``score`` and ``compare`` as processes of their own, kills them, and looks at what is left.

Every process sends another key, a canary, so that the endpoint knows who asks, and so that it can be searched for.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kill_process import Launch, Process, Running
from loopback import Loopback, Say
from test_kill import asked_key, kept_keys, reply_to

SLOW = 0.01
"""Seconds until the endpoint answers, so that there is something to be killed in."""
WORKERS = 4
HOWS = ("asked", "answered", "answered", "end", "whenever")
"""When a process is killed; see :meth:`KillBench.shot`."""
QUICK = ("--candidates", "2", "--demos", "2", "--batches", "2", "--seed", "1")
VERBS: dict[str, tuple[str, ...]] = {
    "fit": ("fit", "examples.jsonl", "--out", "fitted.json", "--scale", "0..5", "--lm", "openai/judge", *QUICK),
    "score": ("score", "program.json", "items.jsonl", "--out", "verdicts.jsonl"),
    "compare": (
        *("compare", "examples.jsonl", "--evaluators", "zero-shot,active-critic-coarse,surface", "--scale", "0..5"),
        *("--set", "active-critic-coarse.candidates=2", "--set", "active-critic-coarse.demos=2"),
        *("--set", "active-critic-coarse.max_batches=1", "--folds", "2", "--resamples", "20", "--lm", "openai/judge"),
        *("--out", "compared.json", "--predictions", "predictions.jsonl"),
    ),
}
OUTPUTS = {"fit": ("fitted.json",), "score": ("verdicts.jsonl",), "compare": ("compared.json", "predictions.jsonl")}
PAID = {"fitted.json": {"usage"}, "compared.json": {"seconds"}}
"""What a run has cost is the one thing that may differ when it was interrupted; for a comparison only the time."""
CANARY = "sk-canary-9053"
PLANTED = {
    "HF_TOKEN": "hf_canary_9053_token",
    "HTTP_PROXY": "http://user:canary-9053-proxy@127.0.0.1:9",
    "ANTHROPIC_API_KEY": "canary-9053-other",
}


def examples() -> list[dict[str, Any]]:
    lengths = random.Random(4).sample(range(3, 50), 12)
    return [
        {
            "id": f"e{i}",
            "doc_id": f"d{i}",
            "source": f"question {i}",
            "response": "word " * n,
            "score": round(n / 10, 1),
        }
        for i, n in enumerate(lengths)
    ]


def items() -> list[dict[str, Any]]:
    return [
        {"id": f"i{n}", "source": f"question {n % 3}", "response": f"item {n} " + "word " * n, "colour": "blue"}
        for n in range(16)
    ]


def answer(body: dict[str, Any]) -> Say:
    """The simulated model, which gives its reasons first."""
    reply = reply_to(body)
    document = json.loads(reply.text)
    if not isinstance(document, dict):
        return Say(reply.text, slow=SLOW)
    ordered = {name: document[name] for name in sorted(document, key=lambda n: n in {"scores", "overall"})}
    return Say(json.dumps(ordered), slow=SLOW)


def content(path: Path) -> str:
    """What an output says, byte for byte, without what the run cost."""
    text = path.read_text(encoding="utf-8")
    paid = PAID.get(path.name)
    return json.dumps(_without(json.loads(text), paid), ensure_ascii=False) if paid else text


def _without(value: Any, names: set[str]) -> Any:
    if isinstance(value, dict):
        return {name: _without(part, names) for name, part in value.items() if name not in names}
    return [_without(part, names) for part in value] if isinstance(value, list) else value


@dataclass
class Shot:
    """When a process is killed: ``seconds`` after it started, or was asked its n-th question (0: at once)."""

    seconds: float
    question: int | None = None


@dataclass
class Life:
    """One process, from its start to its end.

    Attributes:
        key: Its key, by which the endpoint knows it.
        code: Its exit code; -9 when it was killed.
        before, after: What the journal held, as :func:`test_kill.asked_key` writes it.
        torn: Outputs that were there when it ended, and not whole.
        said: What it wrote to its standard output and standard error.
    """

    key: str
    before: set[str]
    code: int = 0
    after: set[str] = field(default_factory=set)
    torn: list[str] = field(default_factory=list)
    said: str = ""

    @property
    def killed(self) -> bool:
        return self.code == -signal.SIGKILL


@dataclass
class Told:
    """What came of killing a run and starting it again until it ended by itself.

    Attributes:
        kills: How often it was killed.
        requests: All requests that the endpoint has seen.
        repeated: Requests made again though their reply was in the journal, or about to be.
        in_flight: Requests that were on their way when a process was killed, and were made again by a later one.
        most_in_flight: The most of them at one kill.
        lost_rows: Rows of the output that are not there, or differ.
        problems: Whatever is not as it should be, in words.
    """

    verb: str
    kills: int = 0
    requests: int = 0
    repeated: int = 0
    in_flight: int = 0
    most_in_flight: int = 0
    lost_rows: int = 0
    problems: list[str] = field(default_factory=list)


class KillBench:
    """A folder with examples, items and a program, and an endpoint that answers slowly."""

    def __init__(self, loopback: Loopback, folder: Path, launch: Launch = Process) -> None:
        self.loopback = loopback
        self.launch = launch
        self.folder = folder
        self.expected: dict[str, dict[str, str]] = {}
        self.asked: dict[str, set[str]] = {}
        self.seconds: dict[str, float] = {}
        self._lives = 0
        self._shooting: Callable[[], None] = lambda: None
        loopback.answer = self._answer
        folder.mkdir(parents=True, exist_ok=True)
        for name, rows in (("examples", examples()), ("items", items())):
            (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))

    def reference(self, verb: str) -> None:
        """What an uninterrupted run gives, and asks; the program to score with is that of ``fit``."""
        if verb == "score" and not (self.folder / "program.json").exists():
            self.reference("fit")
        place = self.place(f"whole-{verb}", verb)
        started = time.monotonic()
        life = self.live(place, verb)
        self.seconds[verb] = time.monotonic() - started
        assert life.code == 0, life.said
        asked = self.asked_by(life)
        assert len(asked) == len(set(asked)) > 10  # an uninterrupted run asks nothing twice
        assert set(asked) == life.after
        self.asked[verb] = life.after
        self.expected[verb] = {name: content(place / name) for name in OUTPUTS[verb]}
        if verb == "fit":
            shutil.copy(place / "fitted.json", self.folder / "program.json")

    def place(self, name: str, verb: str) -> Path:
        """A new folder to run in."""
        place = self.folder / name
        place.mkdir()
        for given in ("examples.jsonl", "items.jsonl", *["program.json"] * (verb == "score")):
            shutil.copy(self.folder / given, place / given)
        return place

    def start(self, place: Path, verb: str, *more: str) -> tuple[Life, Running]:
        """Start a command."""
        self._lives += 1
        life = Life(f"{CANARY}-{self._lives:04}", set(kept_keys(place / "journal.sqlite")))
        bare = {k: v for k, v in os.environ.items() if not k.upper().endswith(("_API_KEY", "_PROXY", "_BASE_URL"))}
        bare |= {"OPENAI_API_KEY": life.key, "OPENBLAS_NUM_THREADS": "1", "COLUMNS": "400", **PLANTED}
        model = ("--api-base", self.loopback.api_base, "--journal", "journal.sqlite", "--workers", str(WORKERS))
        return life, self.launch([*VERBS[verb], *model, *more], place, bare, place / f"said-{life.key[-4:]}.txt")

    def end(self, life: Life, process: Running, place: Path, verb: str) -> Life:
        """Wait for its end, and look at what it has left."""
        life.code = process.wait()
        life.after = set(kept_keys(place / "journal.sqlite"))
        life.said = (place / f"said-{life.key[-4:]}.txt").read_text(encoding="utf-8", errors="replace")
        for name, expected in self.expected.get(verb, {}).items():
            if (place / name).exists() and content(place / name) != expected:
                life.torn.append(name)
        return life

    def live(self, place: Path, verb: str, shot: Shot | None = None) -> Life:
        """Run a command, and kill it at this moment if it is still there."""
        timers: list[threading.Timer] = []
        born: Future[Running] = Future()

        def shoot() -> None:
            born.result(10).kill()

        def soon() -> None:
            if shot is not None:
                timers.append(threading.Timer(shot.seconds, shoot))
                timers[-1].start()

        seen = iter(range(1, 10**6))

        def on_question() -> None:
            if shot is not None and next(seen) == shot.question:
                soon() if shot.seconds else shoot()

        self._shooting = on_question
        life, process = self.start(place, verb)
        born.set_result(process)
        if shot is not None and shot.question is None:
            soon()
        self.end(life, process, place, verb)
        self._shooting = lambda: None
        for timer in timers:
            timer.cancel()
            timer.join()
        return life

    def asked_by(self, life: Life) -> list[str]:
        """What a process has asked; not whether there are likelihoods, which is refused, free, and not kept."""
        mine = f"Bearer {life.key}"
        sent = [asked for asked in list(self.loopback.asked) if asked.headers["authorization"] == mine]
        return [asked_key(asked.body) for asked in sent if asked.path.endswith("/chat/completions")]

    def shot(self, rng: random.Random, verb: str, place: Path, hows: Sequence[str] = HOWS) -> Shot:
        """A random moment: on a question, shortly after one, at the very end, or whenever."""
        left = max(1, len(self.asked[verb] - set(kept_keys(place / "journal.sqlite"))))
        how = rng.choice(hows)
        if how == "whenever":
            return Shot(rng.uniform(0, self.seconds[verb]))
        if how == "end":
            return Shot(rng.uniform(0, 0.2), left)
        return Shot(rng.uniform(0, 4 * SLOW) if how == "answered" else 0.0, rng.randint(1, left))

    def kill_and_resume(self, name: str, verb: str, rng: random.Random, kills: int, hows: Sequence[str] = HOWS) -> Told:
        """Kill a run so many times (less where it ends before), then let it end; ``hows`` is for the first kill."""
        place = self.place(name, verb)
        lives = [self.live(place, verb, self.shot(rng, verb, place, hows))]
        while lives[-1].killed:
            more = len(lives) < kills
            lives.append(self.live(place, verb, self.shot(rng, verb, place) if more else None))
        return self.tell(verb, lives, [place])

    def two_at_once(self, name: str, verb: str, kill_at: int | None = None) -> Told:
        """The same command twice at the same moment on one journal; the first is killed at this question of the two.

        The second one reaches the journal by another name.
        """
        places = [self.place(f"{name}-{number}", verb) for number in (1, 2)]
        (places[1] / "journal.sqlite").symlink_to(places[0] / "journal.sqlite")
        seen = iter(range(1, 10**6))
        first: Future[Running] = Future()
        self._shooting = lambda: first.result(10).kill() if next(seen) == kill_at else None
        begun = [self.start(place, verb) for place in places]
        first.set_result(begun[0][1])
        lives = [self.end(*one, place, verb) for one, place in zip(begun, places, strict=True)]
        self._shooting = lambda: None
        if lives[0].killed:
            lives.append(self.live(places[0], verb))
        return self.tell(verb, lives, places)

    def tell(self, verb: str, lives: list[Life], places: list[Path]) -> Told:
        """Look at all lives of a run together, when the last one has ended by itself."""
        told = Told(verb, kills=sum(life.killed for life in lives))
        sent: Counter[str] = Counter()
        unanswered: Counter[str] = Counter()
        for life in lives:
            asked = self.asked_by(life)
            in_flight = set(asked) - life.after
            told.most_in_flight = max(told.most_in_flight, len(in_flight))
            if len(in_flight) > (WORKERS if life.killed else 0):
                told.problems.append(f"{life.key} lost {len(in_flight)} replies")
            if life.before - life.after:
                told.problems.append(f"the journal lost {len(life.before - life.after)} replies")
            told.problems += [f"{life.key} left half a {name}" for name in life.torn]
            if life.code and not life.killed:
                told.problems.append(f"{life.key} ended with {life.code}: {life.said[-500:]}")
            sent.update(asked)
            unanswered.update(in_flight)
        told.requests = sent.total()
        again = told.requests - len(sent)
        told.in_flight = sum(min(unanswered[key], sent[key] - 1) for key in sent)
        if len(places) > 1:  # what one left unanswered, the other may have asked before anyone could look
            told.in_flight = min(again, WORKERS * told.kills)
        told.repeated = again - told.in_flight
        if told.repeated:
            told.problems.append(f"{told.repeated} questions were asked again")
        if set(sent) != self.asked[verb]:
            told.problems.append("other questions were asked than by an uninterrupted run")
        told.lost_rows = sum(self._rows_lost(verb, output, place) for output in OUTPUTS[verb] for place in places)
        with closing(sqlite3.connect(places[0] / "journal.sqlite")) as journal:
            if journal.execute("PRAGMA integrity_check").fetchone() != ("ok",):
                told.problems.append("the journal is damaged")
        return told

    def leaks(self) -> Iterator[str]:
        """Every file below the folder that holds a canary."""
        canaries = [CANARY, *(value.split("user:")[-1].split("@")[0] for value in PLANTED.values())]
        for path in (path for path in sorted(self.folder.rglob("*")) if path.is_file()):
            raw = path.read_bytes()
            yield from (f"{path.relative_to(self.folder)}: {canary}" for canary in canaries if canary.encode() in raw)

    def _rows_lost(self, verb: str, output: str, place: Path) -> int:
        whole = self.expected[verb][output].splitlines()
        if not (place / output).exists():
            return len(whole)
        got = content(place / output).splitlines()
        return sum(one != other for one, other in zip(whole, got, strict=False)) + abs(len(whole) - len(got))

    def _answer(self, body: dict[str, Any]) -> Say:
        self._shooting()
        return answer(body)
