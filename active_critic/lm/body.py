"""The body of a reply, read in parts: no more of it than a reply can have, and no longer than anybody waits for it."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import closing
from typing import Any

from active_critic.lm.deadline import given_up

LONGEST = 64 * 2**20
"""Bytes of a reply at most, unpacked; the probabilities of a long prompt's tokens take a fifth of it."""


class EndlessReply(Exception):
    """A reply that was broken off because it came to no end."""


def whole(parts: Iterable[bytes]) -> bytes:
    """A body, put together.

    Raises:
        EndlessReply: It is longer than ``LONGEST``, or nobody waits for it any more.
    """
    came: list[bytes] = []
    size = 0
    for part in parts:
        came.append(part)
        size += len(part)
        if size > LONGEST:
            raise EndlessReply(f"its reply has more than {LONGEST / 2**20:g} MiB")
        if given_up():
            raise EndlessReply("its reply came too late")
    return b"".join(came)


def bounded_client() -> Any:
    """An HTTP client for the OpenAI library like that library's own, but for how it reads bodies: see :func:`whole`.

    And it does not send the texts on to where an endpoint points instead of answering.
    """
    import httpx
    import openai

    class Bounded(openai.DefaultHttpxClient):
        def send(self, request: Any, *, stream: bool = False, **how: Any) -> Any:
            del stream  # what is asked here is never read as it comes
            with closing(super().send(request, stream=True, **how)) as reply:
                body = whole(reply.iter_bytes())
            packing = {"content-encoding", "content-length", "transfer-encoding"}
            headers = [(name, value) for name, value in reply.headers.multi_items() if name not in packing]
            return httpx.Response(reply.status_code, headers=headers, content=body, request=request)

    return Bounded(follow_redirects=False)
