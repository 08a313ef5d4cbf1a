"""What a piece of work needs, counted at the memory that all its requests go through."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields

import orjson

from active_critic.errors import BudgetSpent
from active_critic.lm.memory import Memory, alone, lasts
from active_critic.records import Usage

_FIGURES = tuple(figure.name for figure in fields(Usage) if figure.name not in {"calls", "replayed"})


class ForNow:
    """A memory that lasts as long as the process; for work without a journal. Safe to use from threads."""

    lasts = False

    def __init__(self) -> None:
        self._replies: dict[str, str] = {}

    def recall(self, key: str) -> str | None:
        """The reply kept under this key, or None."""
        return self._replies.get(key)

    def keep(self, key: str, request: str, reply: str) -> None:
        """Keep a reply; the first one to a question stays."""
        del request
        self._replies.setdefault(key, reply)


class Meter:
    """A memory that passes everything on to another one, and counts what the work done through it needs by itself.

    Every request counts once, with what it cost when it was paid for: the figures are the same whether a reply came
    from the model just now or was in the memory since an earlier run or from other work. Safe to use from threads.

    Args:
        memory: Where replies are kept.
        budget: Different requests at most; None: as many as there are. One that got no reply counts too.

    Attributes:
        found: Requests whose replies were in the memory before they were asked for here.
    """

    def __init__(self, memory: Memory, *, budget: int | None = None) -> None:
        self._memory = memory
        self.lasts = lasts(memory)
        self._budget = budget
        self._spent: BudgetSpent | None = None
        self._asked: set[str] = set()
        self._paid: set[str] = set()
        self.found = 0
        self._lap = Usage()
        self._lock = threading.Lock()

    def recall(self, key: str) -> str | None:
        """What is kept under this key, or None.

        Raises:
            BudgetSpent: The request is a new one, and there have been as many as the budget allows.
        """
        with self._lock:
            if key not in self._asked:
                if self._budget is not None and len(self._asked) >= self._budget:
                    self._spent = BudgetSpent(
                        f"the budget of {self._budget:,} requests is spent; allow more (--requests, in Python "
                        "requests=), or make the method cheaper by its settings"
                    )
                    raise self._spent
                self._asked.add(key)
        try:
            kept = self._memory.recall(key)
        except BudgetSpent as spent:  # that of all the work together
            self._spent = spent
            raise
        if kept is not None:
            self._count(key, kept, found=True)
        return kept

    @contextmanager
    def asking(self, key: str) -> Iterator[None]:
        """What the memory does to keep other processes from asking the same at this moment.

        The question is paid for within this, so that a refusal by the model's own budget is seen here.
        """
        with alone(self._memory, key):
            try:
                yield
            except BudgetSpent as spent:
                self._spent = spent
                raise

    def keep(self, key: str, request: str, reply: str) -> None:
        """Pass a reply on to the memory."""
        self._count(key, reply)
        self._memory.keep(key, request, reply)

    def check(self) -> None:
        """Evaluators make do with a request that was refused, or leave examples unscored; this says so.

        Raises:
            BudgetSpent: One was refused since the last lap, by a budget of this work or of the model.
        """
        if self._spent is not None:
            raise self._spent

    def lap(self) -> Usage:
        """What was needed since this was last called; ``calls`` are requests that were answered, retries left out.

        What was refused in that time is forgotten, too.
        """
        with self._lock:
            used, self._lap, self._spent = self._lap, Usage(), None
        return used

    def _count(self, key: str, reply: str, *, found: bool = False) -> None:
        try:
            recorded = dict(orjson.loads(reply)["usage"])
            used = Usage(calls=1, **{name: recorded[name] for name in _FIGURES if name in recorded})
        except (ValueError, KeyError, TypeError):
            used = Usage(calls=1)  # a damaged reply: whoever reads it says so
        with self._lock:
            if key not in self._paid:
                self._paid.add(key)
                self._lap = self._lap + used
                self.found += found
