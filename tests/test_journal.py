from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest
from loopback import Fault, Loopback, Say

from active_critic import errors
from active_critic.errors import EndpointDown, JournalError
from active_critic.journal import Journal
from active_critic.lm import Capabilities, LanguageModel, open_lm, scripted_lm, stopping
from active_critic.paths import default_journal

ASK = [("system", "Judge."), ("user", "How good is this?")]


def remote(loopback: Loopback, journal: Journal | None, name: str = "openai/x", path: str = "/v1") -> LanguageModel:
    lm = open_lm(name, api_base=loopback.url + path)
    lm._wait = lambda _: None
    lm.memory = journal
    return lm


def test_a_question_is_paid_for_once_across_journals(loopback: Loopback, tmp_path: Path) -> None:
    loopback.script(
        Say("4", tokens=[("4", -0.1, {"4": -0.1, "5": -2.0})], prompt_tokens=11, cached_tokens=5), Say("other")
    )
    replies = []
    for _ in range(2):
        with Journal(tmp_path / "j.sqlite") as journal:
            lm = remote(loopback, journal)
            replies += [lm.ask(ASK, max_tokens=3, top_logprobs=5)]
    first, second = replies
    assert loopback.calls == 1
    assert (second.text, second.tokens, second.model) == (first.text, first.tokens, first.model)
    assert first.usage.calls == 1
    assert first.usage.prompt_tokens == 11
    assert second.usage.replayed == 1
    assert second.usage.calls == second.usage.prompt_tokens == 0
    assert lm.usage.replayed == 1


def test_a_question_is_paid_for_once_across_processes(loopback: Loopback, tmp_path: Path) -> None:
    code = (
        "import sys; from active_critic.lm import open_lm; from active_critic.journal import Journal\n"
        "lm = open_lm('openai/x', api_base=sys.argv[1]); lm.memory = Journal(sys.argv[2])\n"
        "print(lm.ask([('user', 'hi')], max_tokens=3).text)"
    )
    loopback.script(Say("first"), Say("second"))
    said = [
        subprocess.run(
            [sys.executable, "-c", code, loopback.api_base, str(tmp_path / "j.sqlite")],
            capture_output=True,
            text=True,
            check=True,
        )
        for _ in range(2)
    ]
    assert [run.stdout for run in said] == ["first\n", "first\n"]
    assert [run.stderr for run in said] == ["", ""]
    assert loopback.calls == 1


def test_every_difference_in_what_is_asked_is_another_question(loopback: Loopback, tmp_path: Path) -> None:
    with Journal(tmp_path / "j.sqlite") as journal:
        lm = remote(loopback, journal)
        questions = [
            lambda: lm.ask(ASK, max_tokens=3),
            lambda: remote(loopback, journal, "openai/y").ask(ASK, max_tokens=3),
            lambda: remote(loopback, journal, path="/other/v1").ask(ASK, max_tokens=3),
            lambda: lm.ask(ASK, max_tokens=4),
            lambda: lm.ask(ASK, max_tokens=3, temperature=1.0),
            lambda: lm.ask(ASK, max_tokens=3, temperature=None),
            lambda: lm.ask(ASK, max_tokens=3, temperature=1.0, sample=1),
            lambda: lm.ask(ASK, max_tokens=3, schema={"type": "object"}),
            lambda: lm.ask(ASK, max_tokens=3, schema={"type": "object", "required": ["a"]}),
            lambda: lm.ask(ASK, max_tokens=3, top_logprobs=5),
            lambda: lm.ask(ASK, max_tokens=3, stop=["x"]),
            lambda: lm.ask(ASK[1:], max_tokens=3),
            lambda: lm.ask([ASK[0], ("user", "How good is that?")], max_tokens=3),
            lambda: lm.ask([*ASK, ("assistant", "4"), ("user", "Overall?")], max_tokens=3),
            lambda: lm.ask([("user", "Judge.\n\nHow good is this?")], max_tokens=3),
        ]
        for _ in range(2):
            for question in questions:
                question()
        assert loopback.calls == len(questions)
        assert len(journal) == len(questions)


def test_the_address_is_the_same_with_and_without_a_slash_at_its_end(loopback: Loopback, tmp_path: Path) -> None:
    with Journal(tmp_path / "j.sqlite") as journal:
        for path in ("/v1", "/v1/"):
            remote(loopback, journal, path=path).ask(ASK, max_tokens=3)
    assert loopback.calls == 1


def test_other_weights_are_another_model(tmp_path: Path) -> None:
    asked = []
    with Journal(tmp_path / "j.sqlite") as journal:
        for weights in ("aa", "bb", "aa"):
            lm = scripted_lm(lambda turns: asked.append(turns) or "4")
            lm.identity["weights"] = weights
            lm.memory = journal
            lm.ask(ASK, max_tokens=3)
    assert len(asked) == 2


def test_a_reply_that_failed_is_not_kept(loopback: Loopback, tmp_path: Path) -> None:
    with Journal(tmp_path / "j.sqlite") as journal:
        lm = remote(loopback, journal)
        loopback.script(Fault())
        with pytest.raises(EndpointDown):
            lm.ask(ASK, max_tokens=3)
        assert len(journal) == 0
        loopback.script(Say("now"))
        assert lm.ask(ASK, max_tokens=3).text == "now"


def test_many_may_make_the_same_journal_at_the_same_moment(tmp_path: Path) -> None:
    # Each has a connection of its own, as another process would. SQLite refused one of eight in one round of thirty.
    for round_ in range(60):
        together = threading.Barrier(8)
        opened: list[int] = []

        def one(path: Path, together: threading.Barrier, opened: list[int]) -> None:
            together.wait()
            with Journal(path) as journal:
                opened.append(len(journal))

        given = (tmp_path / f"{round_}.sqlite", together, opened)
        threads = [threading.Thread(target=one, args=given) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert opened == [0] * 8


def test_the_same_question_from_many_threads_is_paid_for_once(loopback: Loopback, tmp_path: Path) -> None:
    loopback.script(Say("4", slow=0.05))
    with Journal(tmp_path / "j.sqlite") as journal:
        lm = remote(loopback, journal)
        replies: list[str] = []
        threads = [threading.Thread(target=lambda: replies.append(lm.ask(ASK, max_tokens=3).text)) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert replies == ["4"] * 8
    assert loopback.calls == 1
    assert lm.usage.calls == 1
    assert lm.usage.replayed == 7
    assert lm._memories._asking._turns == {}


def test_models_of_one_process_pay_once_for_a_question(loopback: Loopback, tmp_path: Path) -> None:
    loopback.script(Say("4", slow=0.05))
    with Journal(tmp_path / "j.sqlite") as one, Journal(tmp_path / "j.sqlite") as other:
        models = [remote(loopback, journal) for journal in (one, one, other)]
        with ThreadPoolExecutor(3) as pool:
            assert list(pool.map(lambda lm: lm.ask(ASK, max_tokens=3).text, models)) == ["4"] * 3
    assert loopback.calls == 1


def test_whoever_waited_for_a_question_that_failed_is_not_overtaken(tmp_path: Path) -> None:
    begun, may_fail, again, third_asks = (threading.Event() for _ in range(4))
    sent = []

    def answer(_: object) -> str:
        sent.append(1)
        if len(sent) == 1:
            begun.set()
            assert may_fail.wait(30)
            raise errors.RequestRefused("no")
        again.set()
        assert third_asks.wait(30)
        time.sleep(0.1)  # for the third to come to the question, which it must not ask
        return "fine"

    with Journal(tmp_path / "j.sqlite") as journal:
        lm = scripted_lm(answer)
        lm.memory = journal

        def ask() -> str:
            try:
                return lm.ask(ASK, max_tokens=3).text
            except errors.RequestRefused:
                return "refused"

        with ThreadPoolExecutor(3) as pool:
            first = pool.submit(ask)
            assert begun.wait(30)
            second = pool.submit(ask)
            may_fail.set()
            assert again.wait(30)  # the second has its turn
            third = pool.submit(ask)
            third_asks.set()
            assert [first.result(), third.result(), second.result()] == ["refused", "fine", "fine"]
    assert len(sent) == 2


@pytest.mark.skipif(sys.platform == "win32", reason="no locks of this kind")
def test_closing_another_journal_of_the_same_file_lets_go_of_nothing(tmp_path: Path) -> None:
    path = tmp_path / "j.sqlite"
    held = "import sys; from active_critic.journal import Journal, _locked, _Turns; import zlib; "
    held += "t = _Turns.of(sys.argv[1] + '-turns'); print(_locked(t.file, zlib.crc32(b'k')))"

    def free() -> str:
        return subprocess.run([sys.executable, "-c", held, path], capture_output=True, text=True, check=True).stdout

    with Journal(path) as one:
        with one.asking("k"):
            with Journal(path) as other, other.asking("another"):
                pass
            assert free() == "False\n"
        assert free() == "True\n"


@contextmanager
def asked_elsewhere(path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Another process that is asking ``k``, until its input is closed."""
    code = "import sys; from active_critic.journal import Journal\n"
    code += "with Journal(sys.argv[1]) as j, j.asking('k'): print(flush=True); sys.stdin.read()"
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", code, path], **pipes) as other:
        other.stdout.readline()
        yield other


@pytest.mark.skipif(sys.platform == "win32", reason="no locks of this kind")
def test_a_question_that_another_process_is_asking_is_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "j.sqlite"
    with asked_elsewhere(path) as other, Journal(path) as journal:
        has_it = threading.Event()

        def ask() -> None:
            with journal.asking("k"):
                has_it.set()

        with ThreadPoolExecutor(1) as pool:
            asked = pool.submit(ask)
            assert not has_it.wait(0.3)
            other.stdin.close()
            asked.result(30)
        assert has_it.is_set()


@pytest.mark.skipif(sys.platform == "win32", reason="no locks of this kind")
def test_a_thread_that_is_stopped_waits_for_no_other_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("active_critic.journal.LONGEST_TURN", 5.0)
    path = tmp_path / "j.sqlite"
    with asked_elsewhere(path) as other, Journal(path) as journal:
        waiting = threading.Event()

        def wait() -> None:
            waiting.set()
            with journal.asking("k"):
                pass

        def interrupted() -> None:
            with stopping.threads(1) as pool:
                jobs.append(pool.submit(wait))
                waiting.wait()
                raise KeyboardInterrupt

        jobs: list[Future[None]] = []
        with pytest.raises(KeyboardInterrupt):
            interrupted()
        assert isinstance(jobs[0].exception(20), CancelledError)
        other.stdin.close()


def test_a_closed_journal_is_asked_for_nothing(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "j.sqlite")
    journal.close()
    with pytest.raises(errors.JournalError), journal.asking("k"):
        pass


def test_what_is_no_path_is_a_clear_error() -> None:
    with pytest.raises(errors.JournalError):
        Journal("a\0b")


def test_capabilities_are_asked_for_once_by_many_threads(loopback: Loopback) -> None:
    loopback.script(Say("4", slow=0.02))
    lm = remote(loopback, None)
    found: list[Capabilities] = []
    threads = [threading.Thread(target=lambda: found.append(lm.capabilities)) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 6
    assert loopback.calls == 2


def test_threads_and_journals_write_at_once(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "er" / "j.sqlite"
    journals = [Journal(path) for _ in range(4)]

    def write(journal: Journal, who: int) -> None:
        for number in range(20):
            journal.keep(f"{who}-{number}", "{}", f"{who}:{number}")

    threads = [threading.Thread(target=write, args=(journals[who % 4], who)) for who in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(journals[0]) == 160
    assert journals[3].recall("7-19") == "7:19"
    for journal in journals:
        journal.close()
        journal.close()


def test_processes_can_open_a_new_journal_at_the_same_moment(tmp_path: Path) -> None:
    code = (
        "import sys; from active_critic.journal import Journal\nsys.stdin.readline()\n"
        "j = Journal(sys.argv[1])\nfor n in range(20): j.keep(sys.argv[2] + str(n), '{}', 'x')"
    )
    path = tmp_path / "j.sqlite"
    runs = [
        subprocess.Popen(
            [sys.executable, "-c", code, str(path), f"p{n}-"], stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        for n in range(6)
    ]
    for run in runs:
        run.stdin.write("go\n")
        run.stdin.flush()
    failures = [run.communicate()[1] for run in runs]
    assert failures == [""] * 6
    with Journal(path) as journal:
        assert len(journal) == 120


def test_the_first_reply_to_a_question_stays(tmp_path: Path) -> None:
    with Journal(tmp_path / "j.sqlite") as journal:
        journal.keep("k", "{}", "first")
        journal.keep("k", "{}", "second")
        assert journal.recall("k") == "first"
        assert journal.recall("other") is None


def test_the_latest_questions_come_the_last_one_first(tmp_path: Path) -> None:
    with Journal(tmp_path / "j.sqlite") as journal:
        for number in range(4):
            journal.keep(f"k{9 - number}", f"request {number}", f"reply {number}")
        assert journal.latest(2) == [("request 3", "reply 3"), ("request 2", "reply 2")]
        assert len(journal.latest(9)) == 4


def test_kill_in_the_middle_of_writing_keeps_everything_before(tmp_path: Path) -> None:
    path = tmp_path / "j.sqlite"
    code = (
        "import sys, itertools; from active_critic.journal import Journal\nj = Journal(sys.argv[1])\n"
        "for n in itertools.count():\n    j.keep(str(n), '{}', 'x' * 5000)\n    print(n, flush=True)"
    )
    for upto in (0, 7, 40):
        run = subprocess.Popen([sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE, text=True)
        for line in run.stdout:
            if int(line) >= upto:
                break
        run.send_signal(signal.SIGKILL)
        rest = run.communicate()[0].split()
        last = max([upto, *map(int, rest)])
        with Journal(path) as journal:
            assert all(journal.recall(str(n)) == "x" * 5000 for n in range(last + 1))
            assert journal._db.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_a_locked_journal_is_a_clear_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "j.sqlite"
    connect = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda *a, **k: connect(*a, **{**k, "timeout": 0.05}))
    with Journal(path) as journal:
        other = connect(path, isolation_level=None)
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(JournalError, match=r"j\.sqlite.*locked"):
            journal.keep("k", "{}", "reply")
        other.execute("ROLLBACK")
        other.close()
        journal.keep("k", "{}", "reply")
        assert journal.recall("k") == "reply"


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write anywhere")
def test_a_read_only_journal_is_a_clear_error(tmp_path: Path) -> None:
    folder = tmp_path / "closed"
    folder.mkdir()
    folder.chmod(0o500)
    with pytest.raises(JournalError, match="closed"):
        Journal(folder / "j.sqlite")


def test_a_read_only_file_is_a_clear_error_before_anything_is_paid_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "j.sqlite"
    Journal(path).close()
    path.chmod(0o444)
    if os.access(path, os.W_OK):  # root may write anywhere
        monkeypatch.setattr(os, "access", lambda given, mode: (given, mode) != (path, os.W_OK))
    with pytest.raises(JournalError, match=r"j\.sqlite cannot be opened \(the file is read-only\)"):
        Journal(path)


def test_the_user_s_folder_may_be_written_as_a_tilde(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    monkeypatch.setenv("ACTIVE_CRITIC_JOURNAL", "~/j.sqlite")
    assert default_journal() == tmp_path / "j.sqlite"
    for path in ("~/k.sqlite", Path("~/k.sqlite")):
        with Journal(path) as journal:
            assert journal.path == tmp_path / "k.sqlite"


def test_a_read_only_database_is_a_clear_error(tmp_path: Path) -> None:
    path = tmp_path / "j.sqlite"
    with Journal(path) as journal:
        journal._db.execute("PRAGMA query_only = ON")
        with pytest.raises(JournalError, match=r"j\.sqlite cannot be written.*readonly"):
            journal.keep("k", "{}", "reply")


def test_a_folder_that_cannot_be_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("here")
    with pytest.raises(JournalError, match="file"):
        Journal(tmp_path / "file" / "j.sqlite")
    with pytest.raises(JournalError, match="opened"):
        Journal(tmp_path)


@pytest.mark.parametrize(
    "content", [b"no database at all, but long enough to be one. " * 10, b"SQLite format 3\0" * 64]
)
def test_a_damaged_journal_is_a_clear_error_and_left_alone(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "j.sqlite"
    path.write_bytes(content)
    with pytest.raises(JournalError, match=r"j\.sqlite"):
        Journal(path)
    assert path.read_bytes() == content


@pytest.mark.parametrize(
    "made",
    [
        "TABLE bookmarks (url TEXT)",
        "TABLE replies (key TEXT PRIMARY KEY, request TEXT, reply TEXT, made REAL)",  # of a version to come
        "VIEW replies AS SELECT 1 AS key, 2 AS request, 3 AS reply",
    ],
)
def test_a_database_of_something_else_is_left_alone(tmp_path: Path, made: str) -> None:
    path = tmp_path / "places.sqlite"
    other = sqlite3.connect(path)
    other.execute(f"CREATE {made}")
    other.commit()
    other.close()
    before = path.read_bytes()
    with pytest.raises(JournalError, match="something else"):
        Journal(path)
    assert path.read_bytes() == before


NO_TEXT = '{"text": null, "finish_reason": "stop", "tokens": [], "usage": {}, "model": "x"}'


@pytest.mark.parametrize("value", ["not json", "[]", "{}", '{"text": "x"}', NO_TEXT])
def test_a_damaged_reply_is_a_clear_error(tmp_path: Path, value: str) -> None:
    with Journal(tmp_path / "j.sqlite") as journal:
        lm = scripted_lm(lambda _: "4")
        lm.memory = journal
        lm.ask(ASK, max_tokens=3)
        journal._db.execute("UPDATE replies SET reply = ?", (value,))
        with pytest.raises(JournalError, match="damaged"):
            lm.ask(ASK, max_tokens=3)


def test_a_closed_journal_is_a_clear_error(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "j.sqlite")
    journal.close()
    for use in (lambda: journal.recall("k"), lambda: journal.keep("k", "{}", "r"), lambda: len(journal)):
        with pytest.raises(JournalError, match=r"j\.sqlite"):
            use()


@pytest.mark.skipif(sys.platform == "win32", reason="no resource limits")
def test_a_full_disk_is_a_clear_error_and_keeps_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "j.sqlite"
    code = (
        "import resource, sys; from active_critic.journal import Journal\n"
        "from active_critic.errors import JournalError\n"
        "j = Journal(sys.argv[1]); resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))\n"
        "try:\n    for n in range(1000): j.keep(str(n), '{}', 'x' * 5000); print(n, flush=True)\n"
        "except JournalError as e: print(e, file=sys.stderr); sys.exit(7)"
    )
    run = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=False)
    assert run.returncode == 7, run.stderr
    assert str(path) in run.stderr
    kept = [int(line) for line in run.stdout.split()]
    assert kept
    with Journal(path) as journal:
        assert all(journal.recall(str(n)) == "x" * 5000 for n in kept)


def test_nothing_secret_is_written(loopback: Loopback, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret-value")
    path = tmp_path / "j.sqlite"
    with Journal(path) as journal:
        remote(loopback, journal).ask(ASK, max_tokens=3)
    assert loopback.asked[0].headers["authorization"] == "Bearer sk-very-secret-value"
    assert b"very-secret" not in b"".join(file.read_bytes() for file in tmp_path.iterdir())


def test_the_environment_names_the_journal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert default_journal() == tmp_path / "journal.sqlite"
    monkeypatch.delenv("ACTIVE_CRITIC_JOURNAL")
    found = default_journal()
    assert found is not None
    assert found.name == "journal.sqlite"
    monkeypatch.setenv("ACTIVE_CRITIC_JOURNAL", "  ")
    assert default_journal() == found
    monkeypatch.setenv("ACTIVE_CRITIC_JOURNAL", "None")
    assert default_journal() is None


@pytest.mark.parametrize("name", [":memory:", "file:j?mode=memory"])
def test_a_journal_is_a_file_whatever_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.chdir(tmp_path)
    with Journal(name) as journal:
        journal.keep("key", "{}", "kept")
        (tmp_path / "elsewhere").mkdir()
        monkeypatch.chdir(tmp_path / "elsewhere")
        assert journal.recall("key") == "kept"
    monkeypatch.chdir(tmp_path)
    with Journal(name) as journal:
        assert journal.recall("key") == "kept"


@pytest.mark.skipif(os.name == "nt", reason="Windows has no modes")
@pytest.mark.parametrize("name", ["j.sqlite", "link"])
def test_a_new_journal_is_for_its_user_alone(tmp_path: Path, name: str) -> None:
    (tmp_path / "link").symlink_to("j.sqlite")
    with Journal(tmp_path / name) as journal, journal.asking("key"):
        journal.keep("key", "{}", "{}")
        modes = {path.name: path.stat().st_mode & 0o777 for path in tmp_path.iterdir()}
    assert {"j.sqlite", "j.sqlite-wal", "j.sqlite-turns"} <= modes.keys()
    assert set(modes.values()) == {0o600}
