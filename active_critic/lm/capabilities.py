"""What an endpoint was found to do, and finding it out once for all threads."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from active_critic.errors import BudgetSpent, ModelError
from active_critic.locks import OneAtATime

if TYPE_CHECKING:
    from dspy.lm15 import Request

MOST, FEW = 20, 5
"""Alternatives to a token: as many as are ever asked for, and as many as some endpoints give at most."""
ROOM_TO_THINK = 4_000
"""Tokens that the reply of a model that thinks first may have more."""


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What an endpoint was found to do, by asking it.

    Attributes:
        json_schema: Replies follow a JSON schema even when the prompt does not mention it.
        probabilities: Token log-probabilities with alternatives come with the reply.
        temperature: The endpoint takes ``temperature=0``.
        alternatives: How many alternatives to a token may be asked for.
        notes: What was refused, in the endpoint's words.
        thinks: The model thinks before it answers, whatever it is asked, and what it thinks counts as part of its
            reply. Its ratings are read from the text: behind the thoughts a probability says next to nothing.
    """

    json_schema: bool = False
    probabilities: bool = False
    temperature: bool = True
    alternatives: int = MOST
    notes: tuple[str, ...] = field(default_factory=tuple)
    thinks: bool = False

    @property
    def room(self) -> int:
        """Tokens that every reply may have more than its answer takes."""
        return ROOM_TO_THINK if self.thinks else 0

    def with_room(self, request: Request) -> Request:
        """A request whose reply may be that much longer, where it is bounded at all."""
        longest = request.config.max_tokens
        if not self.thinks or longest is None:
            return request
        return replace(request, config=replace(request.config, max_tokens=longest + self.room))


class Probing:
    """Lets one thread at a time find something out; those that waited for one that failed fail with it."""

    def __init__(self) -> None:
        self._one_finds_out = OneAtATime()
        self._failed = 0
        self._failure: ModelError | None = None

    @contextmanager
    def __call__(self) -> Iterator[None]:
        """Have the turn for the length of a ``with`` block.

        Raises:
            ModelError: Whoever had the turn while this one waited for it failed, with this.
        """
        before = self._failed
        with self._one_finds_out("it"):
            if self._failure is not None and self._failed > before:
                same = copy(self._failure)
                same.usage = None  # whoever asked has paid
                raise same
            try:
                yield
                self._failure = None
            except BudgetSpent:  # those that wait may have another budget
                raise
            except ModelError as failure:
                self._failed, self._failure = self._failed + 1, failure
                raise
