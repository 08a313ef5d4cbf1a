"""The body of a reply, read in parts: no more of it than a reply can have, and no longer than anybody waits for it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import closing
from typing import Any

import orjson

from active_critic.lm.deadline import given_up

LONGEST = 64 * 2**20
"""Bytes of a reply at most, unpacked; the probabilities of a long prompt's tokens take a fifth of it."""


class EndlessReply(Exception):
    """A reply that was broken off because it came to no end, or might come to one after the next had been asked for."""


def check_head(status: int, packed: Sequence[str]) -> None:
    """Refuse a reply before its body is read; its connection is not used again.

    Args:
        status: Of the HTTP reply. Behind one that says that it has no body (1xx, 204, 304) the real one may follow, and
            would be taken for the reply to the next request.
        packed: Its ``Content-Encoding`` headers. What is packed twice is a thousand times larger at each unpacking,
            whatever of it is read.

    Raises:
        EndlessReply: It is such a reply.
    """
    if status < 200 or status in {204, 304}:
        raise EndlessReply(f"it sent {status} and no reply")
    if len([coding for line in packed for coding in line.split(",")]) > 1:
        raise EndlessReply("its reply is packed more than once")


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


def failure_told(status: int, body: bytes) -> tuple[int, bytes]:
    """A failure of whatever form as OpenAI writes one, which is the form that DSPy's client reads; else what came.

    Gateways and servers say it in ``message`` or ``detail`` instead of ``error.message``, and some send it as a success
    with the status that they mean in it.

    Args:
        status: Of the HTTP reply.
        body: Of it.

    Returns:
        Both, as they are to be read.
    """
    if status < 400 and b'"error"' not in body:
        return status, body
    try:
        came = orjson.loads(body)
    except orjson.JSONDecodeError:
        return status, body
    told = came[0] if isinstance(came, list) and came else came
    if not isinstance(told, dict) or (status < 400 and (told.get("choices") or not told.get("error"))):
        return status, body
    error = told.get("error") or told
    error = error if isinstance(error, dict) else {"message": error}
    said = next((error[name] for name in ("message", "detail", "errors", "msg", "title") if error.get(name)), None)
    if said is None:
        return status, body
    said = said if isinstance(said, str) else orjson.dumps(said).decode()
    code = error.get("code")
    meant = int(code) if isinstance(code, str) and code.isdecimal() else code
    if status < 400 and type(meant) is int and 400 <= meant < 600:
        status = meant
    return status, orjson.dumps({"error": {"message": said, "type": error.get("type"), "code": code}})


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
                check_head(reply.status_code, reply.headers.get_list("content-encoding"))
                body = whole(reply.iter_bytes())
            packing = {"content-encoding", "content-length", "transfer-encoding"}
            headers = [(name, value) for name, value in reply.headers.multi_items() if name not in packing]
            return httpx.Response(reply.status_code, headers=headers, content=body, request=request)

    return Bounded(follow_redirects=False)
