"""A small server on 127.0.0.1 that speaks the OpenAI protocol, with replies and faults by script.

Chat completions are answered by ``answer``; plain completions by ``complete``, as long as there is one.
"""

from __future__ import annotations

import gzip
import json
import re
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Logprob = tuple[str, float, Mapping[str, float]]
"""A token, its log-probability, and alternatives with theirs."""


@dataclass(frozen=True)
class Say:
    """A good reply."""

    text: str
    tokens: Sequence[Logprob] = ()
    token_bytes: Sequence[bytes] = ()  # what the tokens really are, where one is only a part of a character
    prompt_tokens: int = 7
    cached_tokens: int | None = None
    completion_tokens: int = 3
    finish_reason: str = "stop"
    model: str = "served-model"
    slow: float = 0.0
    before: int | None = None  # the status of an answer without a body that comes first
    refusal: str | None = None  # the words of a model that refuses; they stand beside the text


@dataclass(frozen=True)
class Fault:
    """An error reply, or something that is no HTTP reply at all.

    ``how`` is ``"status"``, ``"reset"`` (connection reset in the middle of the body), ``"empty"`` (a 200 without a
    body), ``"broken"`` (a 200 with half a JSON document), ``"endless"`` (a body that goes on for as long as the
    server does, a little at a time), ``"flood"`` (one that does so as fast as it is read), ``"packed"`` (8 MiB of
    blanks, compressed) or ``"packed twice"``.
    """

    how: str = "status"
    status: int = 500
    message: str = "something went wrong"
    type: str = "server_error"
    code: str | None = None
    retry_after: str | None = None
    body: object = None  # what is sent in place of OpenAI's form of an error, as JSON; a text as it is


def too_many(retry_after: str | None = None) -> Fault:
    return Fault(
        status=429, message="slow down", type="rate_limit_error", code="rate_limit_exceeded", retry_after=retry_after
    )


def refused(message: str, code: str | None = "unsupported_parameter") -> Fault:
    return Fault(status=400, message=message, type="invalid_request_error", code=code)


LLAMA_OVERFLOW = Fault(
    status=400,
    message="request (9001 tokens) exceeds the available context size (4096 tokens), try increasing it",
    type="exceed_context_size_error",
    code="400",
)
OPENAI_OVERFLOW = Fault(
    status=400,
    message="This model's maximum context length is 4096 tokens. However, your messages resulted in 9001 tokens.",
    type="invalid_request_error",
    code="context_length_exceeded",
)


NO_COMPLETIONS = Fault(status=404, message="Not Found", type="invalid_request_error")


def echoing(logprob: Callable[[str], float | None], *, before: str = "") -> Complete:
    """A completions endpoint that echoes: every word, with the white space before it, is a token.

    ``before`` is a token that the server puts before the prompt and counts into the offsets.
    """

    def complete(body: dict[str, Any]) -> dict[str, Any]:
        pieces = [before] * bool(before) + re.findall(r"\s*\S+|\s+\Z", body["prompt"])
        offsets = [sum(map(len, pieces[:i])) for i in range(len(pieces) + 1)]
        choice: dict[str, Any] = {"index": 0, "text": body["prompt"] + " more", "finish_reason": "length"}
        choice["logprobs"] = {
            "tokens": [*pieces, " more"],
            "token_logprobs": [None, *map(logprob, pieces[1:]), -9.0],
            "text_offset": offsets,
            "top_logprobs": None,
        }
        usage = {"prompt_tokens": len(pieces), "completion_tokens": 1, "total_tokens": len(pieces) + 1}
        return {"id": "cmpl-1", "object": "text_completion", "created": 0, "choices": [choice], "usage": usage}

    return complete


def not_echoing(body: dict[str, Any]) -> dict[str, Any]:
    """A completions endpoint that passes over ``echo``."""
    logprobs = {"tokens": [" more"], "token_logprobs": [-9.0], "text_offset": [0], "top_logprobs": None}
    choice = {"index": 0, "text": " more", "finish_reason": "length", "logprobs": logprobs}
    return {"id": "cmpl-1", "object": "text_completion", "created": 0, "choices": [choice]}


@dataclass(frozen=True)
class Asked:
    """One request as it arrived."""

    path: str
    headers: Mapping[str, str]  # names in lower case
    body: dict[str, Any]
    port: int  # of the client: one for each of its connections


Answer = Callable[[dict[str, Any]], "Say | Fault"]
Complete = Callable[[dict[str, Any]], "dict[str, Any] | Fault"]


@dataclass
class Loopback:
    """The running server; ``answer`` may be changed at any time."""

    url: str
    answer: Answer
    complete: Complete = lambda _: NO_COMPLETIONS
    asked: list[Asked] = field(default_factory=list)
    over: threading.Event = field(default_factory=threading.Event)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def api_base(self) -> str:
        return f"{self.url}/v1"

    @property
    def calls(self) -> int:
        return len(self.asked)

    def script(self, *replies: Say | Fault) -> None:
        """Answer with these, in order; the last one for ever after."""
        left = list(replies)

        def answer(_: dict[str, Any]) -> Say | Fault:
            with self._lock:
                return left.pop(0) if len(left) > 1 else left[0]

        self.answer = answer


@contextmanager
def serving(answer: Answer | None = None) -> Iterator[Loopback]:
    """Run the server for the length of a ``with`` block."""
    handler = type("Handler", (_Handler,), {})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    loopback = Loopback(f"http://127.0.0.1:{server.server_address[1]}", answer or (lambda _: Say("hello")))
    handler.loopback = loopback
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield loopback
    finally:
        loopback.over.set()
        server.shutdown()
        server.server_close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    loopback: Loopback
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # else the body waits 40 ms for the client to acknowledge the headers

    def log_message(self, *_: object) -> None:
        pass

    def handle(self) -> None:
        with suppress(ConnectionError):
            super().handle()

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        body = json.loads(raw)
        headers = {name.lower(): value for name, value in self.headers.items()}
        with self.loopback._lock:
            self.loopback.asked.append(Asked(self.path, headers, body, self.client_address[1]))
        plain = self.path.endswith("/completions") and not self.path.endswith("/chat/completions")
        reply = self.loopback.complete(body) if plain else self.loopback.answer(body)
        if isinstance(reply, dict):
            self._send(200, reply)
        elif isinstance(reply, Say):
            if reply.before:
                self.send_response_only(reply.before)
                self.end_headers()
            time.sleep(reply.slow)
            self._send(200, completion(reply, body))
        elif reply.how == "reset":
            self._reset()
        elif reply.how == "endless":
            self._drip(b" ", 0.02)
        elif reply.how == "flood":
            self._drip(b" " * 2**16, 0)
        elif reply.how == "packed":
            self._send_bytes(200, gzip.compress(b" " * 2**23), {"Content-Encoding": "gzip"})
        elif reply.how == "packed twice":
            twice = gzip.compress(gzip.compress(b" " * 2**23))
            self._send_bytes(200, twice, {"Content-Encoding": "gzip, gzip"})
        elif reply.how == "empty":
            self._send_bytes(200, b"")
        elif reply.how == "broken":
            self._send_bytes(200, b'{"id": "x", "choices": [{"index": 0, "mess')
        elif reply.body is not None:
            raw = reply.body if isinstance(reply.body, str) else json.dumps(reply.body)
            self._send_bytes(reply.status, raw.encode())
        else:
            error = {"message": reply.message, "type": reply.type, "param": None, "code": reply.code}
            extra = {} if reply.retry_after is None else {"Retry-After": reply.retry_after}
            self._send(reply.status, {"error": error}, extra)

    def _send(self, status: int, document: dict[str, Any], headers: Mapping[str, str] | None = None) -> None:
        self._send_bytes(status, json.dumps(document).encode(), headers)

    def _send_bytes(self, status: int, raw: bytes, headers: Mapping[str, str] | None = None) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(raw)))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(raw)

    def _drip(self, piece: bytes, seconds: float) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        while not self.loopback.over.wait(seconds):
            self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
            self.wfile.flush()
        self.close_connection = True

    def _reset(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", "1000")
        self.end_headers()
        self.wfile.write(b'{"id": "half a rep')
        self.wfile.flush()
        # Zero linger turns the close into a reset instead of an orderly end.
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close_connection = True
        self.connection.close()


def completion(reply: Say, body: dict[str, Any]) -> dict[str, Any]:
    """A reply as the protocol writes it; token probabilities only where they were asked for."""
    choice: dict[str, Any] = {
        "index": 0,
        "message": {"role": "assistant", "content": reply.text} | ({"refusal": reply.refusal} if reply.refusal else {}),
        "finish_reason": reply.finish_reason,
        "logprobs": None,
    }
    if body.get("logprobs") and reply.tokens:
        choice["logprobs"] = {"content": [_token(reply, i) for i in range(len(reply.tokens))]}
    usage: dict[str, Any] = {
        "prompt_tokens": reply.prompt_tokens,
        "completion_tokens": reply.completion_tokens,
        "total_tokens": reply.prompt_tokens + reply.completion_tokens,
    }
    if reply.cached_tokens is not None:
        usage["prompt_tokens_details"] = {"cached_tokens": reply.cached_tokens}
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 0,
        "model": reply.model,
        "choices": [choice],
        "usage": usage,
    }


def _token(reply: Say, index: int) -> dict[str, Any]:
    text, logprob, top = reply.tokens[index]
    raw = reply.token_bytes[index] if reply.token_bytes else text.encode()
    return {
        "token": text,
        "logprob": logprob,
        "bytes": list(raw),
        "top_logprobs": [{"token": t, "logprob": p, "bytes": list(t.encode())} for t, p in top.items()],
    }
