"""By which name an endpoint of one's own knows a model, and in which protocol it is asked.

As DSPy and LiteLLM write it, ``openai/gpt-oss-20b`` is the model ``gpt-oss-20b`` at an endpoint that speaks OpenAI's
protocol; at vLLM and at OpenRouter it is the model's whole name. Which of them is meant is found out by asking: where
the one is not there, the other is asked for.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dspy.lm15 import Request, Response

_NO_MODEL = re.compile(
    r"(?:invalid|unknown|no such|not a valid) model\b|\bmodel\b.{0,100}?\bnot (?:exist|found|available)", re.I | re.S
)
"""How endpoints say that they have no such model where they do not say it by the status."""


@dataclass(frozen=True, slots=True)
class Way:
    """One way to ask for a model.

    Attributes:
        wire: The model's name on the wire.
        send: Sends one request.
        close: Closes its connections.
    """

    wire: str
    send: Callable[[Request], Response]
    close: Callable[[], None]


class Naming:
    """Sends requests in the one of two ways that an endpoint knows; that of the first answer stays. Safe from threads.

    Args:
        ways: The likelier one first; where there is but one, it stays.
    """

    def __init__(self, *ways: Way) -> None:
        self.ways = ways
        self._now = 0
        self._settled = len(ways) == 1
        self._first: Any = None

    @property
    def wire(self) -> str:
        """The name on the wire that is in use."""
        return self.ways[self._now].wire

    def send(self, request: Request) -> Response:
        """Send one request; a failure says ``in_other_words`` where the next attempt goes the other way."""
        tried = self._now
        try:
            came = self.ways[tried].send(request)
        except Exception as failure:
            if not _is_not_there(failure):
                raise
            raise self._refused(failure, tried) from None
        self._now, self._settled = tried, True
        return came

    def close(self) -> None:
        """Close all connections; a later request opens others."""
        for way in self.ways:
            way.close()

    def _refused(self, failure: Any, tried: int) -> Any:
        """What is raised for a failure that says that the model is not there by this name."""
        if tried != self._now:  # another thread has found out already
            failure.in_other_words = True
        elif not self._settled and tried == 0:
            self._first, self._now = failure, 1
            failure.in_other_words = True
        elif not self._settled:  # by neither: the first one is what the name says
            self._now, self._settled = 0, True
            failure = self._first
            failure.in_other_words = False
            failure.asked_as = " and ".join(f"as {way.wire}" for way in self.ways)
        return failure


def _is_not_there(failure: Exception) -> bool:
    """Whether an endpoint has no model of this name, or does not speak the protocol."""
    from dspy.utils import exceptions as theirs

    if not isinstance(failure, theirs.LMError):
        return False
    said = str(failure)
    if failure.status in {404, 405} or isinstance(failure, theirs.LMUnsupportedModelError):
        return "parameter" not in said  # OpenRouter has the model, but none that takes what is asked
    return failure.status in {400, 422} and _NO_MODEL.search(said) is not None
