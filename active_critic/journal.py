"""The journal: every reply that was paid for is kept as it arrives, so that no call is ever made twice."""

from __future__ import annotations

import os
import sqlite3
import sys
import threading
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import ClassVar
from weakref import WeakSet

from active_critic.errors import JournalError
from active_critic.lm import stopping
from active_critic.lm.embedded import LOCAL_TIMEOUT
from active_critic.lm.retrying import LONGEST_WAIT, RETRIES
from active_critic.locks import OneAtATime
from active_critic.paths import at_home, behind_links

LONGEST_TURN = (1 + RETRIES) * LOCAL_TIMEOUT + RETRIES * LONGEST_WAIT
"""Seconds for which another process is left alone with a question; after that it is asked here too.

As long as all attempts at it may take, unless the time-out is longer than any of our own. A process that ends lets go
of its questions at once; only one that was stopped is waited for so long.
"""
PATIENCE = 30.0
"""Seconds for which a journal that another process holds is waited for."""
PRIVATE = 0o600
"""Who may read and write a new journal: its user, for it holds every prompt, with the texts and people's scores."""
_POLL = 0.02
_COLUMNS = ["key", "request", "reply"]
_TABLE = "CREATE TABLE IF NOT EXISTS replies (key TEXT PRIMARY KEY, request TEXT NOT NULL, reply TEXT NOT NULL)"


class Journal:
    """Replies by what was asked of which model; an SQLite file whose values are JSON.

    The key is a hash of the model's identity (name, and address or weights), the parameters and the messages: the
    same question to the same model is answered from here, in this run or a later one. A reply is on disk before it
    is used, so a run that is killed at any moment and started again repeats no call that was answered. Safe to use
    from threads, and from several processes at once: a question that one of them is asking is not asked by another
    (except on Windows, where two that ask the same at the same moment both pay).

    Args:
        path: The file; created, with its folder, if missing.

    Raises:
        JournalError: It cannot be opened, or is not a journal.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = at_home(path)
        # By its whole path: SQLite takes ":memory:" and "file:..." for no file of that name, and keeps nothing.
        self._file = self.path.absolute()
        self._lock = threading.Lock()
        self._turns: _Turns | None = None
        self._put_away = False
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            if self.path.exists() and not os.access(self.path, os.W_OK):  # SQLite says so with the first reply
                raise PermissionError("the file is read-only")
            self._db = self._opened()
        except (sqlite3.Error, OSError, ValueError) as problem:  # ValueError: no path of any file
            raise self._error("opened", problem) from None
        _OPEN.add(self)

    def _opened(self) -> sqlite3.Connection:
        own = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        with suppress(FileExistsError):
            os.close(os.open(os.path.realpath(self._file), own, PRIVATE))  # behind a link, too
        # Of two processes that make the file at the same moment, SQLite refuses one at once instead of letting it wait.
        until = time.monotonic() + PATIENCE
        while True:
            db = sqlite3.connect(self._file, timeout=PATIENCE, check_same_thread=False, isolation_level=None)
            try:
                there = set(db.execute("SELECT type, name FROM sqlite_master WHERE type != 'index'"))
                columns = [row[1] for row in db.execute("PRAGMA table_info(replies)")]
                if there - {("table", "replies")} or columns not in ([], _COLUMNS):
                    raise sqlite3.DatabaseError("it is of another version of active-critic, or of something else")
                db.execute("PRAGMA journal_mode=WAL")
                db.execute(_TABLE)
                return db
            except sqlite3.Error as problem:
                db.close()
                busy = getattr(problem, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY
                if not busy or time.monotonic() > until:
                    raise
                time.sleep(_POLL)

    def _connected(self) -> sqlite3.Connection:
        """The open file; to be called with the lock."""
        if self._put_away:
            self._db = self._opened()
            self._put_away = False
        return self._db

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __len__(self) -> int:
        try:
            with self._lock:
                count: int = self._connected().execute("SELECT count(*) FROM replies").fetchone()[0]
        except (sqlite3.Error, OSError) as problem:
            raise self._error("read", problem) from None
        return count

    @property
    def added(self) -> int:
        """Replies that were put into it here, since it was opened; in a process that was forked since, from then on."""
        with self._lock:
            return 0 if self._put_away else self._db.total_changes

    def recall(self, key: str) -> str | None:
        """The reply kept under this key, or None."""
        try:
            with self._lock:
                row = self._connected().execute("SELECT reply FROM replies WHERE key = ?", (key,)).fetchone()
        except (sqlite3.Error, OSError) as problem:
            raise self._error("read", problem) from None
        return None if row is None else str(row[0])

    def keep(self, key: str, request: str, reply: str) -> None:
        """Keep a reply; on disk when this returns. The first reply to a question stays."""
        try:
            with self._lock:
                self._connected().execute("INSERT OR IGNORE INTO replies VALUES (?, ?, ?)", (key, request, reply))
        except (sqlite3.Error, OSError) as problem:
            raise self._error("written", problem) from None

    def latest(self, number: int) -> list[tuple[str, str]]:
        """Requests and replies of the latest so many questions, the last one first."""
        try:
            with self._lock:
                found = (
                    self._connected()
                    .execute("SELECT request, reply FROM replies ORDER BY rowid DESC LIMIT ?", (number,))
                    .fetchall()
                )
        except (sqlite3.Error, OSError) as problem:
            raise self._error("read", problem) from None
        return [(str(request), str(reply)) for request, reply in found]

    @contextmanager
    def asking(self, key: str) -> Iterator[None]:
        """Hold a question while its reply is looked for and paid for; whoever else has the same question waits.

        What is held is a byte of ``JOURNAL-turns``, locked by the system, so it is let go however a process ends. Of
        the threads of this process, whichever journal object or model they use, one at a time asks for it.

        Raises:
            JournalError: That file cannot be opened or locked, or the journal is closed.
            CancelledError: The work that this thread belongs to has ended (see ``lm.stopping``).
        """
        if sys.platform == "win32":  # which has no locks of this kind
            yield
            return
        import fcntl

        place = zlib.crc32(key.encode())
        try:
            with self._lock:
                self._connected().total_changes  # noqa: B018  raises where the journal is closed
                if self._turns is None:
                    self._turns = _Turns.of(f"{behind_links(self.path)}-turns")
                turns = self._turns
        except (sqlite3.Error, OSError) as problem:
            raise self._error("shared with other processes", problem) from None
        with turns.threads(place):
            patience = time.monotonic() + LONGEST_TURN
            try:
                # Not by a call that blocks: the system takes two processes that wait for each other's threads for a
                # knot.
                while not _locked(turns.file, place) and time.monotonic() < patience:
                    stopping.check()
                    time.sleep(_POLL)
            except OSError as problem:
                raise self._error("shared with other processes", problem) from None
            try:
                yield
            finally:
                if self._turns is turns:
                    fcntl.lockf(turns.file, fcntl.LOCK_UN, 1, place)

    def close(self) -> None:
        """Close the file. Safe to call twice."""
        with self._lock:
            self._put_away = False
            _OPEN.discard(self)
            self._db.close()
            if self._turns is not None:
                self._turns.leave()
                self._turns = None

    def _error(self, what: str, problem: Exception) -> JournalError:
        return JournalError(
            f"the journal {self.path} cannot be {what} ({problem}); free some space or repair the folder's "
            "permissions, move a damaged file away, or name another one with --journal"
        )


_OPEN: WeakSet[Journal] = WeakSet()


def _put_away() -> None:
    """Before a fork: SQLite loses what is written through a file that two processes have from one opening of it.

    The locks are kept until after it, so that no other thread of the parent has them for ever in the child.
    """
    held: list[Journal] = []
    _AT_FORK.append(held)
    for journal in list(_OPEN):
        journal._lock.acquire()
        held.append(journal)
        with suppress(sqlite3.Error):
            journal._db.close()
        journal._put_away = True


def _go_on() -> None:
    """After a fork, in both processes: the file is opened again when it is next needed."""
    for journal in _AT_FORK.pop():
        journal._lock.release()


_AT_FORK: list[list[Journal]] = []

if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_put_away, after_in_parent=_go_on, after_in_child=_go_on)


class _Turns:
    """The file whose bytes stand for questions: opened once a process, for closing it anywhere lets go of all locks.

    Attributes:
        file: Its descriptor.
        threads: Lets one thread at a time have a byte: the locks of the system are the whole process's.
    """

    _open: ClassVar[dict[str, _Turns]] = {}
    _lock: ClassVar[threading.Lock] = threading.Lock()

    def __init__(self, path: str) -> None:
        self.path = path
        self.file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, PRIVATE)
        self.threads = OneAtATime()
        self._journals = 0

    @classmethod
    def of(cls, path: str) -> _Turns:
        """That of a journal, which has to ``leave`` it."""
        with cls._lock:
            if path not in cls._open:
                cls._open[path] = cls(path)
            found = cls._open[path]
            found._journals += 1
            return found

    def leave(self) -> None:
        """One journal fewer needs it."""
        with self._lock:
            self._journals -= 1
            if not self._journals:
                os.close(self.file)
                del self._open[self.path]


if sys.platform != "win32":

    def _locked(file: int, place: int) -> bool:
        """Whether this process holds that byte now."""
        import fcntl

        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, place)
        except (BlockingIOError, PermissionError):
            return False
        return True
