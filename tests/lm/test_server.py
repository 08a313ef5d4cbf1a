from __future__ import annotations

import gc
import importlib.util
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from active_critic.errors import DataError, MissingExtra, ModelError
from active_critic.lm import open_lm
from active_critic.lm import server as server_module
from active_critic.lm.catalogue import find
from active_critic.lm.server import LocalServer, _until_written, _waiting
from active_critic.lm.weights import cache_root, pull

needs_llama = pytest.mark.skipif(importlib.util.find_spec("xllamacpp") is None, reason="needs active-critic[local]")


# ---- without a model


def test_what_is_not_a_model_is_refused_before_anything_starts(tmp_path) -> None:
    (tmp_path / "page.gguf").write_text("<html>")
    with pytest.raises(ModelError, match=r"page\.gguf: not a GGUF file"):
        LocalServer(tmp_path / "page.gguf", alias="x").start()
    with pytest.raises(ModelError, match=r"none\.gguf: no such file"):
        LocalServer(tmp_path / "none.gguf", alias="x").start()


def test_how_threads_wait_is_for_the_environment_to_say() -> None:
    assert _waiting({"A": "b"}) == {"A": "b", "OMP_WAIT_POLICY": "passive", "GOMP_SPINCOUNT": "500"}
    assert _waiting({"OMP_WAIT_POLICY": "active"}) == {"OMP_WAIT_POLICY": "active"}  # which a count would overrule
    assert _waiting({"GOMP_SPINCOUNT": "7"})["GOMP_SPINCOUNT"] == "7"


def test_a_missing_extra_is_named(tmp_path, monkeypatch) -> None:
    (tmp_path / "a.gguf").write_bytes(b"GGUF")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r'pip install "active-critic\[local\]"'):
        LocalServer(tmp_path / "a.gguf", alias="x").start()


@needs_llama
def test_a_damaged_file_is_an_error_that_names_it_and_says_why(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("ACTIVE_CRITIC_CACHE", str(tmp_path / "cache"))
    (tmp_path / "damaged.gguf").write_bytes(b"GGUF" + b"\xff" * 4000)
    server = LocalServer(tmp_path / "damaged.gguf", alias="x")
    with pytest.raises(ModelError, match=r"damaged\.gguf could not start") as caught:
        server.start()
    assert "llama.cpp said" in str(caught.value)
    assert "failed to load model" in str(caught.value)
    assert not server.alive
    assert len(list((cache_root() / "logs").iterdir())) == 1


def test_a_server_that_fails_waits_for_its_log(tmp_path) -> None:
    with (tmp_path / "log").open("wb", buffering=0) as log:
        late = threading.Timer(0.3, log.write, [b"the reason"])
        late.start()
        _until_written(log.fileno())
        assert (tmp_path / "log").read_bytes() == b"the reason"
        late.join()


def test_keys_are_random_and_not_shown() -> None:
    one, two = LocalServer(Path("a.gguf"), alias="x"), LocalServer(Path("a.gguf"), alias="x")
    assert len(one.api_key) >= 32
    assert one.api_key != two.api_key
    assert one.api_key not in repr(one)


def test_closing_what_was_not_started_is_harmless() -> None:
    LocalServer(Path("a.gguf"), alias="x").close()


# ---- with a stand-in for llama.cpp

STAND_IN = """
import json, os, sys, threading
from http.server import BaseHTTPRequestHandler, HTTPServer

class Answer(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b'{"default_generation_settings": {"n_ctx": 512}}')
    def log_message(self, *_):
        pass

sys.stdin.readline()
threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True).start()
server = HTTPServer(("127.0.0.1", 0), Answer)
print(json.dumps({"port": server.server_port}), flush=True)
server.serve_forever()
"""


@pytest.fixture
def _stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "m.gguf").write_bytes(b"GGUF")
    monkeypatch.setenv("ACTIVE_CRITIC_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(server_module, "_BOOT", STAND_IN)
    found = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *of: name == "xllamacpp" or found(name, *of))


@pytest.mark.usefixtures("_stand_in")
def test_a_server_that_nobody_refers_to_is_stopped(tmp_path) -> None:
    running = LocalServer(tmp_path / "m.gguf", alias="x").start()
    process = running._process
    assert running.alive
    assert running.context == 512
    del running
    gc.collect()
    assert process.poll() is not None
    assert list((tmp_path / "cache" / "logs").iterdir()) == []


@pytest.mark.usefixtures("_stand_in")
def test_a_server_that_was_closed_can_be_started_again(tmp_path) -> None:
    running = LocalServer(tmp_path / "m.gguf", alias="x")
    processes = []
    for _ in range(2):
        with running:
            processes.append(running._process)
            assert running.alive
        assert not running.alive
    assert [process.poll() is None for process in processes] == [False, False]


@pytest.mark.usefixtures("_stand_in")
@pytest.mark.parametrize(("budget", "problem"), [("500 cals", DataError), ("$2", ModelError)])
def test_a_budget_that_cannot_be_leaves_no_server_running(tmp_path, monkeypatch, budget, problem) -> None:
    started = []
    launch = LocalServer._launch
    monkeypatch.setattr(LocalServer, "_launch", lambda self, log: (launch(self, log), started.append(self._process)))
    with pytest.raises(problem):
        open_lm(str(tmp_path / "m.gguf"), budget=budget)
    assert [process.poll() is None for process in started] == [False] * (budget == "$2")


# ---- with one


@pytest.fixture(scope="module")
def weights() -> Path:
    return pull(find("local-tiny"))


@pytest.fixture(scope="module")
def server(weights):
    with LocalServer(weights, alias="tiny") as running:
        yield running


def get(server: LocalServer, path: str, key: str | None = None) -> tuple[int, dict]:
    request = urllib.request.Request(f"{server.api_base}{path}", headers={"Origin": "http://elsewhere.example"})
    if key:
        request.add_header("Authorization", f"Bearer {key}")
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(request, timeout=30) as reply:
            assert reply.headers["Access-Control-Allow-Origin"] in {None, "http://127.0.0.1"}
            return reply.status, json.load(reply)
    except urllib.error.HTTPError as refusal:
        with refusal:
            return refusal.code, {}


def wait_until_refused(port: int) -> bool:
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) != 0:
                return True
        time.sleep(0.05)
    return False


@pytest.mark.model
@needs_llama
def test_it_answers_with_the_key_only_and_to_no_other_origin(server) -> None:
    status, models = get(server, "/models", server.api_key)
    assert status == 200
    assert [model["id"] for model in models["data"]] == ["tiny"]
    assert get(server, "/models")[0] == 401
    assert get(server, "/models", "wrong")[0] == 401


@pytest.mark.model
@needs_llama
def test_its_context_is_what_the_model_has(server) -> None:
    assert server.context == find("local-tiny").context


@pytest.mark.model
@needs_llama
def test_neither_key_nor_weights_can_be_seen_in_the_process_list(server) -> None:
    listing = Path(f"/proc/{server._process.pid}/cmdline")
    if not listing.exists():
        pytest.skip("needs /proc")
    assert server.api_key not in listing.read_text()
    assert server.api_key not in Path(f"/proc/{server._process.pid}/environ").read_text()


@pytest.mark.model
@needs_llama
def test_the_openai_client_talks_to_it(server) -> None:
    from openai import OpenAI

    with OpenAI(base_url=server.api_base, api_key=server.api_key, max_retries=0) as client:
        reply = client.chat.completions.create(
            model="tiny",
            messages=[{"role": "user", "content": "Say hello."}],
            temperature=0,
            max_tokens=3,
            logprobs=True,
            top_logprobs=5,
        )
    assert reply.model == "tiny"
    assert reply.usage.completion_tokens == 3
    assert len(reply.choices[0].logprobs.content[0].top_logprobs) == 5


@pytest.mark.model
@needs_llama
def test_the_prefix_of_the_last_prompt_is_reused(server) -> None:
    from openai import OpenAI

    long = "The cat sat on the mat. " * 40
    with OpenAI(base_url=server.api_base, api_key=server.api_key, max_retries=0) as client:
        usages = [
            client.chat.completions.create(
                model="tiny", messages=[{"role": "user", "content": long + question}], max_tokens=1
            ).usage
            for question in ("Who sat?", "Where?")
        ]
    assert usages[1].prompt_tokens_details.cached_tokens > 200


@pytest.mark.model
@needs_llama
def test_a_forked_process_cannot_stop_it_and_starting_twice_does_nothing(server, monkeypatch) -> None:
    assert server.start() is server
    with monkeypatch.context() as patch:
        patch.setattr(os, "getpid", lambda: -1)
        server.close()
    assert get(server, "/models", server.api_key)[0] == 200


@pytest.mark.model
@needs_llama
def test_after_close_the_process_and_its_log_are_gone(weights, tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("ACTIVE_CRITIC_CACHE", str(tmp_path))
    server = LocalServer(weights, alias="tiny", context=512).start()
    pid, port = server._process.pid, server.port
    assert server.alive
    server.close()
    assert not server.alive
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    assert wait_until_refused(port)
    assert list((tmp_path / "logs").iterdir()) == []
    server.close()


@pytest.mark.model
@needs_llama
def test_a_crash_is_told_and_it_can_be_started_again(weights, tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("ACTIVE_CRITIC_CACHE", str(tmp_path))
    with LocalServer(weights, alias="tiny", context=512) as server:
        server._process.kill()
        with pytest.raises(ModelError, match="killed by the system, most likely for want of memory"):
            server.wait()
        assert not server.alive
        server.start()
        assert get(server, "/models", server.api_key)[0] == 200


@pytest.mark.model
@needs_llama
def test_a_port_in_use_is_an_error(weights, server, tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("ACTIVE_CRITIC_CACHE", str(tmp_path))
    with pytest.raises(ModelError, match=f"port: {server.port}"):
        LocalServer(weights, alias="tiny", context=512, port=server.port).start()


PARENT = """
import os, sys, time
from pathlib import Path
from active_critic.lm.server import LocalServer
server = LocalServer(Path(sys.argv[1]), alias="tiny", context=512).start()
other = os.fork() if sys.argv[2] == "fork" else 0
if sys.argv[2] == "fork" and other == 0:
    time.sleep(60)
    os._exit(0)
print(server.port, other, flush=True)
if sys.argv[2] != "exit":
    time.sleep(60)
"""


@pytest.mark.model
@needs_llama
@pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals")
@pytest.mark.parametrize("end", ["kill", "fork", "exit"])
def test_it_does_not_outlive_its_parent(weights, end, tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("ACTIVE_CRITIC_CACHE", str(tmp_path))
    with subprocess.Popen([sys.executable, "-c", PARENT, str(weights), end], stdout=subprocess.PIPE) as parent:
        port, other = map(int, parent.stdout.readline().split())
        try:
            if end != "exit":
                parent.send_signal(signal.SIGKILL)
            parent.wait()
            assert wait_until_refused(port)
        finally:
            if other:
                os.kill(other, signal.SIGKILL)
