"""What one endpoint does not take in a request, found out from its refusals, and how requests are worded then.

OpenAI's Responses API writes no fewer than 16 tokens. Anthropic takes JSON schemas, but none that bounds numbers, texts
or lists. A small probe sees neither, so that what was refused is asked once more, and all that follows in those words.
What the journal knows a request by is not touched.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dspy.lm15 import Request

FEWEST, MOST = 16, 256
"""Tokens that a reply must be allowed at least, where the refusal gives no number; and more than any endpoint wants."""
BOUNDS = frozenset({"minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems"})
"""Keywords of a schema that some endpoints refuse; what comes is held against the bounds when it is read."""
_NAMED = {"properties", "$defs"}
"""Keywords under which stand schemas by names of our own."""
_TOO_FEW = re.compile(
    r"max_(?:output_|completion_)?tokens.*?(?:minimum|at least|below|>=|greater than or equal)", re.I | re.S
)
_NUMBER = re.compile(r"(?:>=|at least|minimum(?: value)?(?: of| is|:)?|equal to)\s*(\d+)", re.I)
_OF_A_FORM = re.compile(r"schema|grammar|response_format|keyword|" + "|".join(sorted(BOUNDS)), re.I)


class Wording:
    """How requests to one endpoint are worded, from the threads that ask it."""

    def __init__(self) -> None:
        self._fewest = 0
        self._bounds = True

    def worded(self, request: Request) -> Request:
        """The request as it is to be sent."""
        config = request.config
        if config.max_tokens is not None and config.max_tokens < self._fewest:
            config = replace(config, max_tokens=self._fewest)
        if not self._bounds and config.response_format is not None:
            config = replace(config, response_format=unbounded(config.response_format))
        return request if config is request.config else replace(request, config=config)

    def refused(self, sent: Request, said: str) -> bool:
        """Whether a request may be taken in other words, which those that follow have.

        Args:
            sent: The request, as :meth:`worded` made it.
            said: What the endpoint said.
        """
        config = sent.config
        if config.max_tokens is not None and _TOO_FEW.search(said):
            number = _NUMBER.search(said)
            fewest = int(number[1]) if number else FEWEST
            if config.max_tokens < fewest <= MOST:
                self._fewest = max(self._fewest, fewest)
                return True
        form = config.response_format
        if form is not None and _OF_A_FORM.search(said) and unbounded(form) != form:
            self._bounds = False
            return True
        return False


def unbounded(schema: Any) -> Any:
    """A JSON schema without what bounds numbers, texts and lists."""
    if isinstance(schema, list | tuple):
        return [unbounded(part) for part in schema]
    if not isinstance(schema, Mapping):
        return schema
    return {
        name: {own: unbounded(part) for own, part in value.items()}
        if name in _NAMED and isinstance(value, Mapping)
        else unbounded(value)
        for name, value in schema.items()
        if name not in BOUNDS
    }
