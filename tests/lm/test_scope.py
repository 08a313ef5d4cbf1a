"""What holds for one piece of work holds for those that help it, and for nobody else."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from active_critic import Example, ZeroShot, compare
from active_critic.journal import Journal
from active_critic.lm import Turn, scripted_lm
from active_critic.lm.deadline import within
from active_critic.lm.filling import form_filling_lm
from active_critic.lm.scope import _BLOCKS, Blocks, Scoped
from active_critic.lm.stopping import threads


def test_it_is_what_it_was_after_the_block_whatever_ends_that() -> None:
    one, other = Scoped(0), Scoped("a")
    with pytest.raises(ValueError, match="odd"), one.being(1), other.being("b"), one.being(2):  # noqa: PT012
        assert (one.now, other.now) == (2, "b")
        raise ValueError("odd")
    assert (one.now, other.now) == (0, "a")


def test_threads_that_help_have_it_and_others_do_not() -> None:
    number, seen = Scoped(0), list[int]()
    with threads(2) as pool:
        before = pool.submit(lambda: number.now).result()
        with number.being(1):
            within_it = [*pool.map(lambda _: number.now, range(4)), within(20, lambda: number.now)]
            stranger = threading.Thread(target=lambda: seen.append(number.now))
            stranger.start()
            stranger.join()
        after = pool.submit(lambda: number.now).result()
    assert (before, within_it, after, seen) == (0, [1] * 5, 0, [0])


def test_what_is_asked_while_something_is_asked_repeatedly_is_kept_as_it_is_otherwise(tmp_path: Path) -> None:
    asked: list[str] = []
    second, over = threading.Event(), threading.Event()

    def answer(turns: list[Turn]) -> str:
        text = next(word for word in ("again", "plain") if word in turns[-1][1])
        asked.append(text)
        if asked.count("again") == 2:  # in the second round
            second.set()
            assert text == "plain" or over.wait(20)
        return json.dumps({"overall": 3, "justification": "a", "advice": "b"})

    lm = scripted_lm(answer, workers=2)
    with ZeroShot(lm, journal=tmp_path / "j.sqlite") as judge:
        judge.fit([{"response": f"t {n}", "score": 1 + n % 5} for n in range(6)], scale=(1, 5))
        repeated = threading.Thread(target=lambda: list(judge.score_repeatedly([Example("again")], 2)))
        repeated.start()
        assert second.wait(20)
        judge.score("plain")
        over.set()
        repeated.join()
        judge.score("plain")
    assert sorted(asked) == ["again", "again", "plain"]


def test_blocks_of_several_threads_end_in_any_order() -> None:
    blocks, seen = Blocks[str](), dict[str, list[str]]()
    entered, left = threading.Event(), threading.Event()

    def first() -> None:
        with blocks.having("a"):
            entered.wait(20)
            seen["first"] = list(blocks.here)
        left.set()

    def second() -> None:
        with blocks.having("b"), blocks.having("c"):
            entered.set()
            left.wait(20)
            with threads(1) as pool:
                seen["second"] = pool.submit(lambda: list(blocks.here)).result()

    together = [threading.Thread(target=first), threading.Thread(target=second)]
    for thread in together:
        thread.start()
    for thread in together:
        thread.join(60)
    assert seen == {"first": ["a"], "second": ["b", "c"]}
    assert list(blocks.here) == []


def test_two_comparisons_at_once_on_one_model_keep_their_replies_apart(tmp_path: Path) -> None:
    first_in, second_in, first_out = threading.Event(), threading.Event(), threading.Event()

    def gate(turns: list[Turn]) -> None:
        text = " ".join(said for _, said in turns)
        if "alpha" in text:
            first_in.set()
            second_in.wait(20)
        if "beta" in text:
            second_in.set()
            first_out.wait(20)

    lm = form_filling_lm(lambda response: 1 + len(response) % 5, before=gate)

    def work(name: str) -> None:
        rows = [{"source": f"{name} {i}", "response": f"{name} " + "x" * i, "score": 1 + i % 5} for i in range(12)]
        compare(rows, ["zero-shot"], lm, journal=tmp_path / name, folds=2, resamples=0, scale="1..5")

    first = threading.Thread(target=lambda: (work("alpha"), first_out.set()))
    second = threading.Thread(target=work, args=("beta",))
    first.start()
    assert first_in.wait(20)
    second.start()
    first.join(60)
    second.join(60)
    for own, other in (("alpha", "beta"), ("beta", "alpha")):
        with Journal(tmp_path / own) as journal:
            asked = [request for request, _ in journal.latest(1000)]
        assert sum(own in request for request in asked) == 12
        assert not any(other in request for request in asked)
    assert lm.memory is None
    assert lm.ask([("user", "And now?")], max_tokens=4).text


HANGS = """
import faulthandler, gc
faulthandler.dump_traceback_later(20, exit=True)
from active_critic.lm import Budget, scripted_lm
lm = scripted_lm(lambda turns: "yes")

class Stream:
    def __init__(self):
        self.replies = self.read()
        next(self.replies)

    def read(self):
        with lm.limited(Budget(calls=9)):
            while True:
                yield "text"

for left in range(1, 9):
    with lm.limited(Budget(calls=9)):
        gc.collect()
        Stream()
        gc.set_threshold(gc.get_count()[0] + left)  # the collector comes after so many more objects
        kept = [lm._purse._limited.own for _ in range(left + 5)]
        gc.set_threshold(700)
gc.collect()
assert not lm.budgets
"""


def test_a_stream_that_is_abandoned_ends_its_block_whenever_garbage_is_collected() -> None:
    done = subprocess.run([sys.executable, "-c", HANGS], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr


def test_a_block_that_ends_in_another_thread_leaves_nothing_behind() -> None:
    blocks = Blocks[int]()

    def stream() -> Iterator[int]:
        with blocks.having(1):
            yield 1

    for _ in range(50):
        one = stream()
        next(one)
        ender = threading.Thread(target=one.close)
        ender.start()
        ender.join()
    with blocks.having(2):
        assert list(blocks.own) == [2]
        assert len(_BLOCKS.get()) == 1
