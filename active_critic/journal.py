"""The journal: every reply that was paid for is kept as it arrives, so that no call is ever made twice."""

from __future__ import annotations

import os
import sqlite3
import threading
from pathlib import Path

from active_critic.errors import JournalError

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
    is used, so a run that is killed at any moment and started again repeats no call. Safe to use from threads, and
    from several processes at once.

    Args:
        path: The file; created, with its folder, if missing.

    Raises:
        JournalError: It cannot be opened, or is not a journal.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._lock = threading.Lock()
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._db = sqlite3.connect(self.path, timeout=30.0, check_same_thread=False, isolation_level=None)
            tables = {row[0] for row in self._db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
            if tables - {"replies"}:
                raise sqlite3.DatabaseError("it is a database of something else")
            self._db.execute("PRAGMA journal_mode=WAL")
            self._db.execute(_TABLE)
        except (sqlite3.Error, OSError) as problem:
            raise self._error("opened", problem) from None

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

    def close(self) -> None:
        """Close the file. Safe to call twice."""
        with self._lock:
            self._db.close()

    def _error(self, what: str, problem: Exception) -> JournalError:
        return JournalError(
            f"the journal {self.path} cannot be {what} ({problem}); free some space or repair the folder's "
            "permissions, move a damaged file away, or name another one with --journal"
        )
