"""The journal: every reply that was paid for is kept as it arrives, so that no call is ever made twice."""

from __future__ import annotations

import os
import sqlite3
import sys
import threading
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from active_critic.errors import JournalError

LONGEST_TURN = 900.0
"""Seconds for which another process is left alone with a question; after that it is asked here too."""
PATIENCE = 30.0
"""Seconds for which a journal that another process holds is waited for."""
_POLL = 0.02
_TABLE = "CREATE TABLE IF NOT EXISTS replies (key TEXT PRIMARY KEY, request TEXT NOT NULL, reply TEXT NOT NULL)"


def default_path() -> Path:
    """Where the journal is kept unless told otherwise: ``ACTIVE_CRITIC_JOURNAL``, or the user's data folder."""
    import platformdirs

    named = os.environ.get("ACTIVE_CRITIC_JOURNAL")
    return Path(named) if named else platformdirs.user_data_path("active-critic") / "journal.sqlite"


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
        self.path = Path(path)
        self._lock = threading.Lock()
        self._turns: int | None = None  # the file whose bytes stand for questions
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._db = self._opened()
        except (sqlite3.Error, OSError) as problem:
            raise self._error("opened", problem) from None

    def _opened(self) -> sqlite3.Connection:
        # Of two processes that make the file at the same moment, SQLite refuses one at once instead of letting it wait.
        until = time.monotonic() + PATIENCE
        while True:
            db = sqlite3.connect(self.path, timeout=PATIENCE, check_same_thread=False, isolation_level=None)
            try:
                tables = {row[0] for row in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
                if tables - {"replies"}:
                    raise sqlite3.DatabaseError("it is a database of something else")
                db.execute("PRAGMA journal_mode=WAL")
                db.execute(_TABLE)
                return db
            except sqlite3.Error as problem:
                db.close()
                busy = getattr(problem, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY
                if not busy or time.monotonic() > until:
                    raise
                time.sleep(_POLL)

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __len__(self) -> int:
        try:
            with self._lock:
                count: int = self._db.execute("SELECT count(*) FROM replies").fetchone()[0]
        except sqlite3.Error as problem:
            raise self._error("read", problem) from None
        return count

    def recall(self, key: str) -> str | None:
        """The reply kept under this key, or None."""
        try:
            with self._lock:
                row = self._db.execute("SELECT reply FROM replies WHERE key = ?", (key,)).fetchone()
        except sqlite3.Error as problem:
            raise self._error("read", problem) from None
        return None if row is None else str(row[0])

    def keep(self, key: str, request: str, reply: str) -> None:
        """Keep a reply; on disk when this returns. The first reply to a question stays."""
        try:
            with self._lock:
                self._db.execute("INSERT OR IGNORE INTO replies VALUES (?, ?, ?)", (key, request, reply))
        except sqlite3.Error as problem:
            raise self._error("written", problem) from None

    def latest(self, number: int) -> list[tuple[str, str]]:
        """Requests and replies of the latest so many questions, the last one first."""
        try:
            with self._lock:
                found = self._db.execute(
                    "SELECT request, reply FROM replies ORDER BY rowid DESC LIMIT ?", (number,)
                ).fetchall()
        except sqlite3.Error as problem:
            raise self._error("read", problem) from None
        return [(str(request), str(reply)) for request, reply in found]

    @contextmanager
    def asking(self, key: str) -> Iterator[None]:
        """Hold a question while its reply is looked for and paid for; another process with the same question waits.

        What is held is a byte of ``JOURNAL-turns``, locked by the system, so it is let go however a process ends.

        Raises:
            JournalError: That file cannot be opened or locked.
        """
        if sys.platform == "win32":  # which has no locks of this kind
            yield
            return
        import fcntl

        place = zlib.crc32(key.encode())
        patience = time.monotonic() + LONGEST_TURN
        try:
            with self._lock:
                if self._turns is None:
                    self._turns = os.open(f"{self.path.resolve()}-turns", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
                file = self._turns
            # Not by a call that blocks: the system takes two processes that wait for each other's threads for a knot.
            while not _locked(file, place) and time.monotonic() < patience:
                time.sleep(_POLL)
        except OSError as problem:
            raise self._error("shared with other processes", problem) from None
        try:
            yield
        finally:
            if self._turns == file:
                fcntl.lockf(file, fcntl.LOCK_UN, 1, place)

    def close(self) -> None:
        """Close the file. Safe to call twice."""
        with self._lock:
            self._db.close()
            if self._turns is not None:
                os.close(self._turns)
                self._turns = None

    def _error(self, what: str, problem: Exception) -> JournalError:
        return JournalError(
            f"the journal {self.path} cannot be {what} ({problem}); free some space or repair the folder's "
            "permissions, move a damaged file away, or name another one with --journal"
        )


if sys.platform != "win32":

    def _locked(file: int, place: int) -> bool:
        """Whether this process holds that byte now."""
        import fcntl

        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, place)
        except (BlockingIOError, PermissionError):
            return False
        return True
