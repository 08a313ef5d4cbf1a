"""A loopback proxy in front of an OpenAI-compatible server: counts calls and tokens, and pays for nothing twice.

The n-th time that a run asks the same question gets the n-th reply that was ever given to it, from the journal if it is
there: programs that sample keep their samples, and one that was stopped goes on where it was. Token figures are those
of the server's replies. Calls for embeddings, which the embedded models do not give, are answered here by hashed words.
"""

from __future__ import annotations

import hashlib
import http.client
import json
import math
import re
import threading
import time
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import urlsplit

from active_critic.journal import Journal

PATIENCE = 1800.0
"""Seconds that the server may take over a reply."""
MOST_DIMENSIONS = 4096


class RecordingProxy:
    """The running proxy, for the length of a ``with`` block; ``api_base`` is its address.

    Args:
        upstream: Address of the server, ``http://HOST:PORT/v1``.
        key: The key that the server wants; programs in front need none.
        journal: Where replies are kept.
        identity: The model's name and weights, and whose run this is: what is kept is only for the same.
        longest: Tokens of a reply for which the question sets no bound. A small model that repeats itself would else
            go on to the end of its context.
    """

    def __init__(self, upstream: str, key: str | None, journal: Journal, identity: str, longest: int) -> None:
        self.upstream = urlsplit(upstream)
        self.key = key
        self.journal = journal
        self.identity = identity
        self.longest = longest
        self.phase = "fit"
        self.used: dict[str, Counter[str]] = {"fit": Counter(), "test": Counter()}
        self.lock = threading.Lock()
        self.asked: Counter[str] = Counter()
        self.unanswered: dict[str, list[int]] = {}

    def __enter__(self) -> Self:
        handler = type("Handler", (_Handler,), {"proxy": self})
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.server.daemon_threads = True
        self.api_base = f"http://127.0.0.1:{self.server.server_address[1]}/v1"
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.server.shutdown()
        self.server.server_close()

    def answer(self, path: str, body: dict[str, Any]) -> tuple[int, bytes]:
        """Status and body of the reply, from the journal or the server."""
        bounds = ("max_tokens", "max_completion_tokens")
        if not any(body.get(name) for name in bounds):
            body = {**body, bounds[0]: self.longest}
        request = json.dumps(body, sort_keys=True)
        question = hashlib.sha256(f"{self.identity}\n{path}\n{request}".encode()).hexdigest()
        with self.lock:
            free = self.unanswered.get(question)
            turn = free.pop(0) if free else self.asked[question]
            self.asked[question] = max(self.asked[question], turn + 1)
            phase = self.phase
        key = f"{question}:{turn}"
        kept = self.journal.recall(key)
        if kept is None:
            began = time.monotonic()
            try:
                status, raw = self._forward(path, request)
            except (OSError, http.client.HTTPException) as problem:
                status, raw = 502, _error(f"{type(problem).__name__}: {problem}")
            seconds = time.monotonic() - began
            if status != 200:
                with self.lock:
                    self.unanswered.setdefault(question, []).append(turn)
                    self.used[phase]["refused"] += 1
                return status, raw
            kept = json.dumps({"reply": json.loads(raw), "seconds": seconds})
            self.journal.keep(key, request, kept)
        else:
            with self.lock:
                self.used[phase]["replayed"] += 1
        document = json.loads(kept)
        usage = document["reply"].get("usage") or {}
        with self.lock:
            used = self.used[phase]
            used["calls"] += 1
            used["prompt_tokens"] += int(usage.get("prompt_tokens") or 0)
            used["completion_tokens"] += int(usage.get("completion_tokens") or 0)
            used["milliseconds"] += round(document["seconds"] * 1000)
        return 200, json.dumps(document["reply"]).encode()

    def _forward(self, path: str, request: str) -> tuple[int, bytes]:
        secure = self.upstream.scheme == "https"
        kind = http.client.HTTPSConnection if secure else http.client.HTTPConnection
        connection = kind(str(self.upstream.hostname), self.upstream.port, timeout=PATIENCE)
        headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {self.key}"} if self.key else {})
        try:
            connection.request("POST", self.upstream.path.rstrip("/") + path.removeprefix("/v1"), request, headers)
            reply = connection.getresponse()
            return reply.status, reply.read()
        finally:
            connection.close()


def embedding(text: str, dimensions: int) -> list[float]:
    """Words counted at hashed places, as a vector of length 1."""
    vector = [0.0] * dimensions
    for word in re.findall(r"\w+", text.lower()) or [""]:
        vector[int.from_bytes(hashlib.sha256(word.encode()).digest()[:8], "big") % dimensions] += 1.0
    length = math.sqrt(sum(value * value for value in vector))
    return [value / length for value in vector]


def _error(message: str) -> bytes:
    return json.dumps({"error": {"message": message, "type": "server_error", "param": None, "code": None}}).encode()


class _Handler(BaseHTTPRequestHandler):
    proxy: RecordingProxy
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        pass

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        try:
            body = json.loads(raw or b"{}")
        except ValueError:
            self._send(400, _error("the request is not JSON"))
            return
        if self.path.startswith("/phase/"):
            self.proxy.phase = self.path.rpartition("/")[2]
            self._send(200, b"{}")
        elif self.path == "/v1/embeddings":
            texts = [body["input"]] if isinstance(body["input"], str) else body["input"]
            size = min(int(body.get("dimensions") or 512), MOST_DIMENSIONS)
            data = [{"object": "embedding", "index": i, "embedding": embedding(str(text), size)}
                    for i, text in enumerate(texts)]  # fmt: skip
            with self.proxy.lock:
                self.proxy.used[self.proxy.phase]["embeddings"] += len(texts)
            usage = {"prompt_tokens": 0, "total_tokens": 0}
            self._send(200, json.dumps({"object": "list", "data": data, "model": "hashed", "usage": usage}).encode())
        elif body.get("stream"):
            self._send(400, _error("this proxy does not stream"))
        else:
            self._send(*self.proxy.answer(self.path, body))

    def _send(self, status: int, raw: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)
