"""Replies without the alternatives, bytes and borders of tokens that nobody reads, before DSPy's client checks them.

Alternatives come with every token of a reply, and are read only at tokens that hold a digit and at the first. In a
reply with explanations they are nine tenths of the bytes, and most of the work that a call is for this machine. Bytes
come with every token and alternative, and are read only where they are not those of the token's text. And where one
token without a digit ends and the next begins matters to nobody.
"""

from __future__ import annotations

import gc
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import orjson

from active_critic.lm.body import check_head, failure_told, whole

ALTERNATIVES = b'"top_logprobs"'
NEVER = -9999.0
"""The log-probability of what has none, as OpenAI writes it; others write null, at which DSPy's client stumbles."""
ELSEWHERE = "the endpoint points to another address, and texts go nowhere but where you say; give that address"
"""What is said of a redirect, which is not followed."""
_DIGIT = re.compile(r"\d").search


def matters(token: str, first: bool) -> bool:
    """Whether the alternatives to a token of a reply are read: it is the first, or holds a digit."""
    return first or _DIGIT(token) is not None


def thinned(body: bytes) -> bytes:
    """The body of a reply without the alternatives, bytes and borders that do not matter; else as it is."""
    if ALTERNATIVES not in body:
        return body
    # All objects of a body are let go at its end. Collections before that would take some of them for long-lived, and
    # after a few dozen replies look through the whole process for it: a quarter of what a call is for this machine.
    collecting = gc.isenabled()
    gc.disable()
    try:
        return _thinned(body)
    finally:
        if collecting:
            gc.enable()


def _thinned(body: bytes) -> bytes:
    try:
        document = _read(body)
        for choice in document["choices"]:
            logprobs = choice.get("logprobs") or {}
            tokens: list[dict[str, Any]] = []
            joined = False  # whether the last token takes more
            for token in logprobs.get("content") or ():
                if token.get("logprob") is None:
                    token["logprob"] = NEVER
                text = token["token"]
                if "bytes" in token and token["bytes"] in (None, list(text.encode())):
                    del token["bytes"]
                read = matters(text, not tokens)
                if joined and not read and "bytes" not in token:
                    tokens[-1]["token"] += text
                    tokens[-1]["logprob"] = min(tokens[-1]["logprob"], token["logprob"])
                    continue
                token["top_logprobs"] = [
                    {"token": other["token"], "logprob": other["logprob"]}
                    for other in (read and token.get("top_logprobs")) or ()
                    if other.get("logprob") is not None
                ]
                tokens.append(token)
                joined = not read and "bytes" not in token
            if tokens:
                logprobs["content"] = tokens
    except (ValueError, LookupError, TypeError, AttributeError):
        return body  # whatever is wrong with it, the client says so
    return orjson.dumps(document)


def _read(body: bytes) -> Any:
    """The document, in which some write the logarithm of nothing as Python does, though JSON knows no such number."""
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError:
        if b"-Infinity" not in body:
            raise
        return json.loads(body, parse_constant={"-Infinity": None}.__getitem__)


class Thinning:
    """A transport for DSPy's own client: its usual one, but what comes is bounded (see ``body``) and thinned.

    Args:
        inner: The usual transport.
    """

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    @contextmanager
    def stream(self, request: Any) -> Iterator[Any]:
        """Send a request; within the ``with`` block the reply can be read.

        Raises:
            EndlessReply: See ``body``.
            LMConfigurationError: It points to another address.
        """
        from dspy.utils.exceptions import LMConfigurationError

        with self._inner.stream(request) as reply:
            check_head(reply.status, reply.headers_all("content-encoding"))
            if 300 <= reply.status < 400:
                raise LMConfigurationError(message=f"HTTP {reply.status}: {ELSEWHERE}")
            reply.status, body = failure_told(reply.status, whole(reply))
            reply.read = lambda: thinned(body)
            yield reply
