from __future__ import annotations

import importlib.util
import json
import os
import re
import signal
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from active_critic.cli.lm import app
from active_critic.errors import AuthenticationFailed, UnknownModel
from active_critic.lm import server
from active_critic.lm.catalogue import CATALOGUE, find
from active_critic.lm.server import LocalServer
from active_critic.lm.weights import pull


def test_list_names_every_model_and_says_what_is_here(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("ACTIVE_CRITIC_CACHE", str(tmp_path))
    shown = CliRunner().invoke(app, ["list"])
    assert shown.exit_code == 0
    assert all(model.name in shown.output for model in CATALOGUE)
    records = json.loads(CliRunner().invoke(app, ["list", "--json"]).output)
    assert [record["pulled"] for record in records] == [False] * len(CATALOGUE)


def test_an_unknown_name_reaches_the_caller_as_an_error() -> None:
    with pytest.raises(UnknownModel):
        CliRunner().invoke(app, ["pull", "locl"], catch_exceptions=False)


def test_an_interrupted_pull_says_how_to_go_on(tmp_path, monkeypatch) -> None:
    def interrupted(*args: object, **settings: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setenv("ACTIVE_CRITIC_CACHE", str(tmp_path))
    monkeypatch.setattr("active_critic.lm.weights.pull", interrupted)
    result = CliRunner().invoke(app, ["pull", "local"])
    assert result.exit_code == 130
    assert f"active-critic lm pull {find('local').name}" in result.output


def test_a_key_variable_that_is_empty_is_named(monkeypatch) -> None:
    monkeypatch.delenv("AC_NO_KEY", raising=False)
    with pytest.raises(AuthenticationFailed, match="AC_NO_KEY"):
        CliRunner().invoke(app, ["serve", "--api-key-env", "AC_NO_KEY"], catch_exceptions=False)


def test_a_key_to_serve_with_is_read_as_clients_read_theirs(tmp_path, monkeypatch) -> None:
    class Started(LocalServer):
        def start(self) -> LocalServer:
            keys.append(self.api_key)
            raise KeyboardInterrupt

    keys: list[str] = []
    monkeypatch.setattr(server, "LocalServer", Started)
    (tmp_path / "m.gguf").write_bytes(b"GGUF")
    command = ["serve", str(tmp_path / "m.gguf"), "--api-key-env", "AC_KEY"]
    monkeypatch.setenv("AC_KEY", "s3cret\n")
    assert CliRunner().invoke(app, command).exit_code == 0
    assert keys == ["s3cret"]
    monkeypatch.setenv("AC_KEY", "s3\ncret")
    with pytest.raises(AuthenticationFailed, match="AC_KEY") as caught:
        CliRunner().invoke(app, command, catch_exceptions=False)
    assert "cret" not in str(caught.value)


@pytest.mark.model
@pytest.mark.skipif(importlib.util.find_spec("xllamacpp") is None, reason="needs active-critic[local]")
@pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals")
@pytest.mark.parametrize("by", [signal.SIGINT, signal.SIGTERM])
def test_serve_says_how_to_reach_it_and_ends_cleanly(by) -> None:
    from openai import OpenAI

    pull(find("local-tiny"))
    listens = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"  # background jobs may not
    command = [sys.executable, "-c", f"{listens}; from active_critic.cli.lm import app; app()"]
    command += ["serve", "local-tiny", "--port", "0", "--context", "512", "--api-key-env", "AC_KEY"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, env={**os.environ, "AC_KEY": "chosen-key"}, **pipes) as process:
        address = re.search(r"http://\S+/v1", process.stdout.readline())
        with OpenAI(base_url=address[0], api_key="chosen-key", max_retries=0) as client:
            assert [model.id for model in client.models.list()] == ["smollm2-135m"]
        process.send_signal(by)
        out, err = process.communicate(timeout=20)
    assert process.returncode == 0, err
    assert "chosen-key" not in out + err
    assert err == "Stopped.\n"
