"""What no two processes share: on a connection that both used, each would read replies to what the other asked."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Generic, TypeVar

from active_critic.locks import OneAtATime

Made = TypeVar("Made")


class PerProcess(Generic[Made]):
    """A thing such as connections, of which a process that is forked makes its own when it first needs it.

    That of the parent is let go there, which closes the child's copies of its connections only.

    Args:
        make: Makes one.
        first: The first one, if it is there already.
    """

    def __init__(self, make: Callable[[], Made], first: Made | None = None) -> None:
        self._make = make
        self._one_makes = OneAtATime()
        self._found: tuple[int, Made] | None = None if first is None else (os.getpid(), first)

    def __call__(self) -> Made:
        """That of this process."""
        found = self._found
        if found is None or found[0] != os.getpid():
            with self._one_makes("it"):
                found = self._found
                if found is None or found[0] != os.getpid():
                    self._found = found = os.getpid(), self._make()
        return found[1]

    def let_go(self) -> Made | None:
        """That of this process, if there is one, of which another is made when it is next needed."""
        found, self._found = self._found, None
        return found[1] if found is not None and found[0] == os.getpid() else None
