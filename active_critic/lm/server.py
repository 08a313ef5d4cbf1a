"""The embedded language model: llama.cpp's own server in a child process, reached over loopback like any other.

The native library lives in the child, so its output goes to a log file instead of the terminal, a crash in it does not
take the caller along, and stopping it frees its memory. The child ends by itself when its parent does, even by kill -9.
"""

from __future__ import annotations

import contextlib
import http.client
import importlib.util
import json
import os
import queue
import secrets
import subprocess
import sys
import tempfile
import threading
import time
import weakref
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import IO, Any, NoReturn, Self

from active_critic.errors import EndpointDown, MissingExtra, ModelError, RequestRefused
from active_critic.lm.weights import cache_root, check_gguf

HOST = "127.0.0.1"
START_TIMEOUT = 180.0
"""Seconds the weights may take to load; a cold disk reads a gigabyte in well under that."""
LOG_TIMEOUT, LOG_PAUSE = 5.0, 0.5
"""Seconds that the reasons of a failed start may take to be in the log, and after which nothing more is awaited."""
KEEP_LOGS = 7 * 24 * 3600.0
"""Seconds after which the log of a server that ended badly is removed."""
MOST_THREADS = 8
"""More threads than this do not make small models faster."""
LOOKS = "500"
"""How often a thread of llama.cpp looks whether the others are done before it sleeps (``benchmarks/waiting.py``)."""

WARNINGS = 2
"""llama.cpp's verbosity: warnings and errors."""

# The child finds the package where the parent found it, and nothing in the folder it happens to be started from.
_BOOT = (
    "import json, sys; settings = json.loads(sys.stdin.readline()); "
    "sys.path.extend(entry for entry in settings['path'] if entry not in sys.path); "
    "from active_critic.lm.server import _serve; _serve(settings)"
)


class LocalServer:
    """An OpenAI-compatible server for one GGUF file, on loopback, with one slot and a prefix cache.

    Use it as a context manager, or call :meth:`start` and :meth:`close`. It also stops when nothing refers to it any
    more, and when the interpreter exits.

    Attributes:
        weights: The GGUF file.
        alias: The model's name in requests and replies.
        context: Tokens of context. Once started, what the server really has: never more than the model was trained for.
        threads: Threads to compute with.
        port: Port it listens on; 0 until it is started when a free one is to be taken.
        api_key: Key that clients must send.
    """

    def __init__(
        self,
        weights: Path,
        *,
        alias: str,
        context: int = 16384,
        threads: int | None = None,
        port: int = 0,
        api_key: str | None = None,
    ) -> None:
        """Prepare a server; nothing runs before :meth:`start`.

        Args:
            weights: The GGUF file.
            alias: The model's name in requests and replies.
            context: Tokens of context to reserve.
            threads: Default: the processors this process may use, at most 8.
            port: Port to listen on; 0 takes a free one.
            api_key: Default: a random one.
        """
        self.weights = Path(weights)
        self.alias = alias
        self.context = context
        self.threads = threads or _processors()
        self.port = port
        self.api_key = api_key or secrets.token_urlsafe(24)
        self._process: subprocess.Popen[bytes] | None = None
        self._log: Path | None = None
        self._owner = 0
        self._end: weakref.finalize[[subprocess.Popen[bytes], Path, int], LocalServer] | None = None

    def __repr__(self) -> str:
        return f"LocalServer({str(self.weights)!r}, alias={self.alias!r}, context={self.context}, port={self.port})"

    @property
    def api_base(self) -> str:
        """The address for OpenAI clients, ``http://127.0.0.1:PORT/v1``; the port is known once it is started."""
        return f"http://{HOST}:{self.port}/v1"

    @property
    def alive(self) -> bool:
        """Whether the server process is running."""
        return self._process is not None and self._process.poll() is None

    def start(self) -> Self:
        """Load the weights and wait until the server answers; does nothing when it is running already.

        Raises:
            MissingExtra: The llama.cpp wheel is not installed.
            ModelError: The file is missing, damaged or not GGUF, or the server ended while loading it (too little
                memory, port taken); the message ends with what llama.cpp said.
            EndpointDown: It did not answer within three minutes.
        """
        if self.alive:
            return self
        check_gguf(self.weights)
        if importlib.util.find_spec("xllamacpp") is None:
            raise MissingExtra('an embedded model needs llama.cpp; install it with: pip install "active-critic[local]"')
        self.close()
        self._owner = os.getpid()
        self._log = _new_log()
        try:
            self._launch(self._log)
        except BaseException:
            self.close()
            raise
        return self

    def wait(self) -> NoReturn:
        """Wait until the server ends, which it only does when it fails.

        Raises:
            ModelError: It ended; the message says how.
        """
        if self._process is None:
            raise ModelError("the local server was not started")
        self._ended(self._process.wait(), "stopped")

    def close(self) -> None:
        """Stop the server and wait until it is gone; harmless when it is not running, and in a forked process.

        The log is removed, unless the server had ended by itself.
        """
        if self._owner != os.getpid():
            return
        self._process = None
        if self._end is not None:
            self._end()

    def log_tail(self, lines: int = 8) -> str:
        """The last lines llama.cpp wrote to its log, which holds warnings and errors only; empty without any."""
        try:
            text = self._log.read_text(encoding="utf-8", errors="replace") if self._log else ""
        except OSError:
            return ""
        return "\n".join([line for line in text.splitlines() if line.strip()][-lines:])

    def post(self, path: str, body: dict[str, Any], timeout: float) -> Any:
        """Ask llama.cpp's own interface, which can do more than the OpenAI one.

        Args:
            path: For example ``/tokenize``.
            body: What is asked, as JSON values.
            timeout: Seconds to wait for the answer.

        Returns:
            The answer, as JSON values.

        Raises:
            EndpointDown: The server does not answer, or failed.
            RequestRefused: It does not take this request.
        """
        headers = {"Authorization": f"Bearer {self.api_key}", "Content-Type": "application/json"}
        connection = http.client.HTTPConnection(HOST, self.port, timeout=timeout)
        try:
            connection.request("POST", path, json.dumps(body), headers)
            reply = connection.getresponse()
            answer = json.loads(reply.read())
        except (OSError, http.client.HTTPException, ValueError) as problem:
            raise EndpointDown(f"{self.alias}: the local server does not answer {path} ({problem})") from None
        finally:
            connection.close()
        if reply.status != 200:
            said = str(answer.get("error", answer)).replace(self.api_key, "****")
            failure = EndpointDown if reply.status >= 500 else RequestRefused
            raise failure(f"{self.alias}: the local server refused {path} ({said})")
        return answer

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _launch(self, log: Path) -> None:
        settings = {
            "path": [str(Path(entry).absolute()) for entry in sys.path if entry],
            "weights": str(self.weights.absolute()),
            "alias": self.alias,
            "context": self.context,
            "threads": self.threads,
            "port": self.port,
            "api_key": self.api_key,
        }
        deadline = time.monotonic() + START_TIMEOUT
        with log.open("ab") as output:
            self._process = process = subprocess.Popen(  # noqa: S603
                [sys.executable, "-P", "-c", _BOOT, f"active-critic server: {self.alias}"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=output,
                env=_waiting(os.environ),
                # Ctrl-C in the terminal is for the parent, which then stops the server in order.
                start_new_session=os.name == "posix",
                creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
            )
        self._end = weakref.finalize(self, _end, process, log, self._owner)
        if process.stdin is None or process.stdout is None:
            raise ModelError("the local server was started without pipes")
        with contextlib.suppress(OSError):
            process.stdin.write(json.dumps(settings).encode() + b"\n")
            process.stdin.flush()
        answer = _read_line(process.stdout, START_TIMEOUT)
        if answer is None:
            self._late()
        if not answer:
            self._ended(process.wait(), "could not start")
        self.port = int(json.loads(answer)["port"])
        while not self._answers():
            if not self.alive:
                self._ended(process.wait(), "could not start")
            if time.monotonic() > deadline:
                self._late()
            time.sleep(0.05)

    def _answers(self) -> bool:
        """Whether the server takes requests; if so, the context it has is noted."""
        # Not through urllib or httpx: a proxy set in the environment must not see loopback.
        connection = http.client.HTTPConnection(HOST, self.port, timeout=5)
        try:
            connection.request("GET", "/health")
            reply = connection.getresponse()
            reply.read()
            if reply.status != 200:
                return False
            connection.request("GET", "/props", headers={"Authorization": f"Bearer {self.api_key}"})
            properties = json.loads(connection.getresponse().read())
            self.context = int(properties["default_generation_settings"]["n_ctx"])
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()
        return True

    def _late(self) -> NoReturn:
        raise EndpointDown(f"the local server for {self.weights} did not answer within {START_TIMEOUT:g} s")

    def _ended(self, code: int, how: str) -> NoReturn:
        cause = f"exit code {code}"
        if code == -9:
            cause = "killed by the system, most likely for want of memory: try a smaller model or a smaller context"
        elif code < 0:
            cause = f"signal {-code}"
        said = self.log_tail().replace(self.api_key, "****")
        raise ModelError(
            f"the local server for {self.weights} {how} ({cause})"
            + (f"; llama.cpp said:\n{said}" if said else "")
            + (f"\nThe log is {self._log}" if self._log else "")
        )


def _waiting(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment, with how llama.cpp's threads wait for each other, unless it says that itself.

    Busy waiting makes them crawl as soon as anything else wants a processor; sleeping at once makes them slow where
    nothing else does. So they look for a moment, and then sleep.
    """
    own = {} if "OMP_WAIT_POLICY" in environment else {"OMP_WAIT_POLICY": "passive", "GOMP_SPINCOUNT": LOOKS}
    return {**own, **environment}


def _processors() -> int:
    """Processors this process may use, at most ``MOST_THREADS``: affinity and a container's quota are heeded."""
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    with contextlib.suppress(OSError, ValueError):
        quota, period = Path("/sys/fs/cgroup/cpu.max").read_text().split()
        if quota != "max":
            count = min(count, max(1, int(quota) // int(period)))
    return min(count, MOST_THREADS)


def _new_log() -> Path:
    """A new empty log file that only the user can read; old ones are removed."""
    folder = cache_root() / "logs"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for old in folder.glob("server-*.log"):
            if time.time() - old.stat().st_mtime > KEEP_LOGS:
                old.unlink(missing_ok=True)
        descriptor, name = tempfile.mkstemp(prefix="server-", suffix=".log", dir=folder)
    except OSError:
        descriptor, name = tempfile.mkstemp(prefix="active-critic-server-", suffix=".log")
    os.close(descriptor)
    return Path(name)


def _read_line(stream: IO[bytes], timeout: float) -> bytes | None:
    """The first line; empty at the end of the stream, None when none came in time."""
    lines: queue.SimpleQueue[bytes] = queue.SimpleQueue()

    def read() -> None:
        # The stream may be closed under it when the wait is given up.
        with contextlib.suppress(OSError, ValueError):
            lines.put(stream.readline())

    threading.Thread(target=read, daemon=True).start()
    try:
        return lines.get(timeout=timeout)
    except queue.Empty:
        return None


def _end(process: subprocess.Popen[bytes], log: Path, owner: int) -> None:
    """Stop a server, if this is the process that started it, and remove its log, unless it had ended by itself."""
    if owner != os.getpid():
        return
    failed = process.poll() is not None
    _stop(process)
    if not failed:
        # Elsewhere than on POSIX, a file that is still open somewhere cannot be removed.
        with contextlib.suppress(OSError):
            log.unlink(missing_ok=True)


def _stop(process: subprocess.Popen[bytes]) -> None:
    # The end of its standard input tells the child to go; while it loads it may not be listening.
    with contextlib.suppress(OSError):
        if process.stdin is not None:
            process.stdin.close()
    for urge in (process.terminate, process.kill):
        try:
            process.wait(timeout=1)
            break
        except subprocess.TimeoutExpired:
            urge()
    process.wait()
    if process.stdout is not None:
        process.stdout.close()


def _serve(settings: dict[str, Any]) -> NoReturn:
    """What runs in the child: load, say the port, and serve until the parent is gone."""
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # What the native library prints belongs into the log, not between us and the parent.
    answer = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    parent = os.getppid()
    threading.Thread(target=_leave_at_end_of_input, daemon=True).start()

    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = settings["weights"]
    params.model_alias = {settings["alias"]}
    params.n_ctx = settings["context"]
    # Slots do not share a prefix; one slot with a warm prefix is faster than several cold ones.
    params.n_parallel = 1
    params.cache_prompt = True
    params.cache_ram_mib = 0
    params.cpuparams.n_threads = settings["threads"]
    params.cpuparams_batch.n_threads = settings["threads"]
    params.hostnames = [HOST]
    params.port = settings["port"]
    params.api_keys = [settings["api_key"]]
    params.cors_origins = f"http://{HOST}"
    params.ui = False
    params.verbosity = WARNINGS
    try:
        server = xllamacpp.Server(params)
    except RuntimeError:
        _until_written(2)  # it says why in the log
        os._exit(1)
    json.dump({"port": int(server.listening_address.rpartition(":")[2])}, answer)
    answer.write("\n")
    answer.close()
    while True:
        # A process forked from the parent can hold the pipe open after the parent's death.
        if os.name == "posix" and os.getppid() != parent:
            os._exit(0)
        time.sleep(1)


def _until_written(descriptor: int) -> None:
    """Wait until a file grows no more: llama.cpp writes its log by a thread, which an exit does not wait for."""
    deadline, before = time.monotonic() + LOG_TIMEOUT, -1
    while (size := os.fstat(descriptor).st_size) != before or not size:
        if time.monotonic() > deadline:
            return
        before = size
        time.sleep(LOG_PAUSE)


def _leave_at_end_of_input() -> None:
    sys.stdin.read()
    # Not an orderly shutdown: native threads may be in the middle of a long computation.
    os._exit(0)
