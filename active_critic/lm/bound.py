"""By which name an endpoint takes the longest that a reply may be.

OpenAI calls it ``max_completion_tokens`` now, and its newer models refuse the former name. Ollama and others know the
former one alone, and pass over the new one without a word, so that a reply goes on for as long as it likes; Mistral
refuses it. So the name is found out from what comes of the first requests.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from active_critic.lm.reply import text_of

if TYPE_CHECKING:
    from dspy.lm15 import Request, Response

NAME, FORMER = "max_completion_tokens", "max_tokens"
_UNKNOWN = re.compile(
    "extra|unknown|unrecogni|unexpected|unsupported|not (?:supported|permitted|allowed|a valid)", re.I
)
"""How a refusal says that it is the name which is wrong, and not the number."""


class Bound:
    """The name that is in use for one endpoint, from the threads that ask it."""

    def __init__(self) -> None:
        self._name = NAME
        self._settled = False  # once a name was refused, the other one stays

    def send(self, request: Request, once: Callable[[Request], Response]) -> Response:
        """Send a request by the name that is in use, and take note of what comes.

        Args:
            request: The request.
            once: Sends it. A failure says ``in_other_words`` where the next attempt has the other name.
        """
        sent = self.worded(request)
        try:
            came = once(sent)
        except Exception as failure:
            refused: Any = failure
            refused.in_other_words = self.refused(sent, str(failure))
            raise
        self.answered(sent, came)
        return came

    def worded(self, request: Request) -> Request:
        """The request as it is to be sent; OpenAI's name is what DSPy's client writes by itself."""
        config = request.config
        if self._name == NAME or config.max_tokens is None:
            return request
        extensions = {**(config.extensions or {}), FORMER: config.max_tokens}
        return replace(request, config=replace(config, max_tokens=None, extensions=extensions))

    def refused(self, sent: Request, said: str) -> bool:
        """Whether a request was refused for this name; the next one has the other.

        Args:
            sent: The request, as :meth:`worded` made it.
            said: What the endpoint said.
        """
        formerly = FORMER in (sent.config.extensions or {})
        used = NAME if sent.config.max_tokens is not None else FORMER if formerly else None
        if used is None or used not in said or not _UNKNOWN.search(said):
            return False
        self._name, self._settled = FORMER if used == NAME else NAME, True
        return True

    def answered(self, sent: Request, response: Response) -> None:
        """Take note of a reply: one that is longer than it may be was asked for by a name that is passed over.

        Where it does not say how many tokens it has, it has at least as many as words.
        """
        longest, written = sent.config.max_tokens, response.usage.output_tokens
        if self._settled or longest is None:
            return
        if type(written) is not int or not written:
            written = len(text_of(response.message.parts).split())
        if written > longest:
            self._name = FORMER
