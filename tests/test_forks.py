"""A process that is forked while a model and a journal are open has connections and an opened file of its own."""

from __future__ import annotations

import os
import signal
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import dspy
import pytest
from loopback import Loopback, echoing

from active_critic.journal import Journal
from active_critic.lm import Budget, LanguageModel, open_lm, scripted_lm
from active_critic.locks import OneAtATime
from active_critic.records import Usage

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork"),
    pytest.mark.filterwarnings("ignore:This process .* is multi-threaded"),
    pytest.mark.filterwarnings("ignore:Item .* is using the `ReadOnly` qualifier:UserWarning"),  # LiteLLM's own
]


def forked(work: Callable[[], object]) -> Callable[[], bool]:
    """Do some work in a forked process; what is returned lets it begin, waits for it, and says whether it went well."""
    may, begin = os.pipe()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.read(may, 1)
            work()
            code = 0
        finally:
            os._exit(code)

    def done() -> bool:
        os.write(begin, b"!")
        os.close(begin)
        os.close(may)
        return os.waitpid(child, 0)[1] == 0

    return done


def by_name(api_base: str) -> LanguageModel:
    return open_lm("openai/x", api_base=api_base)


def through_dspy(api_base: str) -> LanguageModel:
    return open_lm(dspy.LM("openai/x", api_base=api_base, api_key="none", cache=False))


def through_litellm(api_base: str) -> LanguageModel:
    return open_lm(dspy.LM("openai/x", api_base=api_base, api_key="none", cache=False, engine="litellm"))


@pytest.fixture(params=[by_name, through_dspy, through_litellm])
def lm(request: pytest.FixtureRequest, loopback: Loopback) -> Iterator[LanguageModel]:
    with request.param(loopback.api_base) as lm:
        yield lm


def test_a_forked_process_asks_on_connections_of_its_own(lm: LanguageModel, loopback: Loopback) -> None:
    def ask() -> None:
        assert lm.ask([("user", "hello?")], max_tokens=5).text == "hello"

    ask()
    children = [forked(ask), forked(ask)]
    assert all(done() for done in children)
    ask()
    first, *theirs, again = [asked.port for asked in loopback.asked]
    assert len({first, *theirs}) == 3
    assert again not in theirs


def test_a_forked_process_asks_for_likelihoods_on_connections_of_its_own(loopback: Loopback) -> None:
    loopback.complete = echoing(lambda word: -1.0)
    with by_name(loopback.api_base) as lm:

        def weigh() -> None:
            assert lm.likelihood([("user", "hello?")], "two words").logprobs == (-1.0, -1.0)

        weigh()
        assert forked(weigh)()
        weigh()
    first, theirs, again = [asked.port for asked in loopback.asked]
    assert first == again != theirs


def test_closing_a_model_closes_its_connections(loopback: Loopback) -> None:
    with by_name(loopback.api_base) as lm:
        lm.ask([("user", "hello?")], max_tokens=5)
        lm.ask([("user", "hello?")], max_tokens=5)
    lm.ask([("user", "hello?")], max_tokens=5)
    lm.close()
    first, second, after = [asked.port for asked in loopback.asked]
    assert first == second != after


def test_what_a_forked_process_pays_for_is_kept_though_its_parent_closes_the_journal(tmp_path: Path) -> None:
    with Journal(tmp_path / "j.sqlite") as journal:
        journal.keep("k1", "{}", "before")
        child = forked(lambda: journal.keep("k2", "{}", "in the child"))
        journal.keep("k3", "{}", "in the parent")
    assert child()
    with closing(sqlite3.connect(tmp_path / "j.sqlite")) as db:
        assert db.execute("SELECT key FROM replies ORDER BY key").fetchall() == [("k1",), ("k2",), ("k3",)]


def test_a_journal_is_found_again_after_a_fork_whatever_the_folder_and_stays_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from active_critic.errors import JournalError

    monkeypatch.chdir(tmp_path)
    other = tmp_path / "other"
    other.mkdir()
    journal = Journal("j.sqlite")
    journal.keep("k", "{}", "kept")
    child = forked(lambda: (os.chdir(other), journal.recall("k"), 1 / (journal.recall("k") == "kept")))
    monkeypatch.chdir(other)
    assert journal.recall("k") == "kept"
    assert child()
    assert not list(other.iterdir())
    journal.close()
    child = forked(lambda: None)
    assert child()
    with pytest.raises(JournalError):
        journal.recall("k")


def test_a_forked_process_waits_for_no_thread_of_its_parent(tmp_path: Path) -> None:
    turns, held, over = OneAtATime(), threading.Event(), threading.Event()

    def hold() -> None:
        with turns("question"):
            held.set()
            over.wait(20)

    def take() -> None:
        def try_it() -> None:
            with turns("question"):
                taken.set()

        taken = threading.Event()
        threading.Thread(target=try_it, daemon=True).start()
        assert taken.wait(5)

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait(20)
    try:
        assert forked(take)()
    finally:
        over.set()
        thread.join()


def test_a_forked_process_has_none_of_its_parents_calls_under_way_nor_the_blocks_of_its_other_threads() -> None:
    under_way, over = threading.Event(), threading.Event()

    def answer(turns: object) -> str:
        if "wait" in str(turns):
            under_way.set()
            assert over.wait(20)
        return "yes"

    lm = scripted_lm(answer)
    lm.budget = Budget(calls=2)  # no more than the child asks for

    def in_a_block() -> None:
        with lm.limited(Budget(calls=1)):
            lm.ask([("user", "wait")], max_tokens=5)

    def ask_twice() -> None:
        signal.alarm(20)  # rather than wait for ever
        assert len(lm.budgets) == 1
        for word in ("one", "two"):
            assert lm.ask([("user", word)], max_tokens=5).text == "yes"

    thread = threading.Thread(target=in_a_block)
    thread.start()
    assert under_way.wait(20)
    done = forked(ask_twice)
    over.set()
    thread.join()
    assert done()


def test_a_forked_process_counts_what_it_spends_though_a_thread_of_its_parent_was_counting() -> None:
    lm, counting, over = scripted_lm(lambda turns: "yes"), threading.Event(), threading.Event()

    def ask() -> None:
        assert lm.ask([("user", "hello?")], max_tokens=5).text == "yes"

    def count(usage: Usage) -> None:
        counting.set()
        assert over.wait(20)

    def ask_and_tell() -> None:
        with lm.telling(count):
            ask()

    def ask_once_more() -> None:
        signal.alarm(10)  # rather than wait for ever
        ask()
        assert lm.usage.calls == 2

    thread = threading.Thread(target=ask_and_tell)
    thread.start()
    try:
        assert counting.wait(20)
        assert forked(ask_once_more)()
    finally:
        over.set()
        thread.join()
