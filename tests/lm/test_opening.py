from __future__ import annotations

import os
import re
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from loopback import Fault, Loopback, Say, serving

from active_critic import errors
from active_critic.journal import Journal
from active_critic.lm import Budget, open_lm, scripted_lm, server
from active_critic.records import Usage

ASK = [("user", "How good?")]


def ask(lm: Any, **more: Any) -> str:
    lm._wait = lambda _: None
    return str(lm.ask(ASK, max_tokens=5, **more).text)


# --- names and addresses --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "served"),
    [
        ("openai/x", "x"),
        ("x", "x"),
        ("hosted_vllm/x", "x"),
        ("openai/org/x", "org/x"),
        ("Qwen/Qwen2.5-7B-Instruct", "Qwen/Qwen2.5-7B-Instruct"),
    ],
)
def test_a_name_at_an_address_of_ones_own(loopback: Loopback, name: str, served: str) -> None:
    lm = open_lm(name, api_base=loopback.api_base)
    assert ask(lm) == "hello"
    assert loopback.asked[0].body["model"] == served
    assert loopback.asked[0].path == "/v1/chat/completions"
    assert lm.name == name
    assert lm.identity == {"name": name, "endpoint": loopback.api_base}
    assert lm.weights is None


def test_the_command_that_checks_a_model_is_whole(loopback: Loopback, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", "sk-secret-secret")
    there = open_lm("my model", api_base=loopback.api_base, api_key_env="MY_KEY")
    at = f"--api-base {loopback.api_base} --api-key-env MY_KEY"
    assert there.check_command == f"active-critic lm check 'my model' {at}"
    assert open_lm("openai/x").check_command == "active-critic lm check openai/x"


@pytest.mark.parametrize("name", ["", "  ", "\n"])
def test_an_empty_name_is_a_clear_error(name: str) -> None:
    with pytest.raises(errors.UnknownModel, match="empty"):
        open_lm(name)


@pytest.mark.parametrize("name", ["nosuchprovider/x", "openai/", "/x"])
def test_an_unknown_provider_is_a_clear_error_before_any_call(name: str) -> None:
    with pytest.raises(errors.UnknownModel, match="provider"):
        open_lm(name)


def test_an_unknown_name_without_a_provider_is_a_clear_error() -> None:
    with pytest.raises(errors.UnknownModel, match="nosuchmodel"):
        open_lm("nosuchmodel")


@pytest.mark.parametrize("thing", [None, 4, object()])
def test_what_is_no_model_is_a_clear_error(thing: object) -> None:
    with pytest.raises(errors.UnknownModel, match="LanguageModel"):
        open_lm(thing)


@pytest.mark.parametrize("address", ["127.0.0.1:8080/v1", "localhost", "ftp://127.0.0.1/v1", "http://", "/v1"])
def test_what_is_no_address_is_a_clear_error(address: str) -> None:
    with pytest.raises(errors.ModelError, match=r"http://127\.0\.0\.1:8080/v1"):
        open_lm("openai/x", api_base=address)


@pytest.mark.parametrize("address", ["http://user:hunter2@127.0.0.1:9/v1", "http://127.0.0.1:9/v1?key=hunter2"])
def test_a_password_in_the_address_is_refused_and_not_shown(address: str) -> None:
    with pytest.raises(errors.ModelError, match="environment") as caught:
        open_lm("openai/x", api_base=address)
    assert "hunter2" not in str(caught.value)
    assert "user:" not in str(caught.value)


@pytest.mark.parametrize("api_base", [None, "http://127.0.0.1:9/v1"])
@pytest.mark.parametrize("name", ["https://me:hunter2@host/v1", "huggingface/https://me:hunter2@host", "x://hunter2@["])
def test_an_address_in_place_of_a_name_is_refused_and_its_password_not_shown(name: str, api_base: str | None) -> None:
    with pytest.raises(errors.ModelError, match=r"give the address with api_base \(--api-base\)") as caught:
        open_lm(name, api_base=api_base)
    assert "hunter2" not in str(caught.value)


def test_an_address_may_be_part_of_a_name() -> None:
    assert open_lm("huggingface/https://mine.example").name == "huggingface/https://mine.example"


def test_a_server_may_call_its_model_by_an_address(loopback: Loopback) -> None:
    open_lm("s3://bucket/llama", api_base=loopback.api_base).ask([("user", "Hello.")], max_tokens=5)
    assert loopback.asked[0].body["model"] == "s3://bucket/llama"


def test_an_address_in_the_environment_is_used_and_is_part_of_what_is_asked(
    loopback: Loopback, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(lambda _: Say("other")) as other, Journal(tmp_path / "j.sqlite") as journal:
        said = []
        for variable, server in (("OPENAI_BASE_URL", loopback), ("OPENAI_API_BASE", other)):
            with monkeypatch.context() as patch:
                patch.setenv(variable, server.api_base)
                lm = open_lm("openai/x")
                lm.memory = journal
                said.append(ask(lm))
                assert lm.identity["endpoint"] == server.api_base
        assert said == ["hello", "other"]


def test_an_explicit_address_goes_before_the_environment(loopback: Loopback, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    assert ask(open_lm("openai/x", api_base=loopback.api_base)) == "hello"
    assert loopback.asked[0].headers["user-agent"].startswith("lm15")


def test_an_endpoint_of_ones_own_has_no_price_whatever_its_model_is_called(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-not-a-real-key")
    usage = Usage(prompt_tokens=1000, completion_tokens=1000)
    assert open_lm("openai/gpt-4.1-mini").price_of(usage) == pytest.approx(0.002)
    own = open_lm("openai/gpt-4.1-mini", api_base="http://127.0.0.1:1/v1")
    assert own.price_of(usage) is None
    with pytest.raises(errors.ModelError, match="price is not known"):
        own.budget = Budget(cost=1.0)


@pytest.mark.parametrize("budget", ["2 calls", ["2 calls", "9k tokens"], Budget(calls=2)])
def test_a_budget_is_taken_in_every_form(loopback: Loopback, budget: Any) -> None:
    lm = open_lm("openai/x", api_base=loopback.api_base, budget=budget)
    for number in (1, 2):
        assert ask(lm, sample=number) == "hello"
    with pytest.raises(errors.BudgetSpent):
        ask(lm, sample=3)


# --- keys -----------------------------------------------------------------------------------------------------------


def test_the_key_comes_from_the_environment(loopback: Loopback, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-one-secret")
    monkeypatch.setenv("MY_KEY", "sk-two-secret")
    ask(open_lm("openai/x", api_base=loopback.api_base))
    ask(open_lm("openai/x", api_base=loopback.api_base, api_key_env="MY_KEY"))
    assert [asked.headers["authorization"] for asked in loopback.asked] == [
        "Bearer sk-one-secret",
        "Bearer sk-two-secret",
    ]


def test_an_endpoint_of_ones_own_needs_no_key(loopback: Loopback) -> None:
    lm = open_lm("openai/x", api_base=loopback.api_base)
    assert ask(lm) == "hello"
    assert "none" not in lm._secrets  # the placeholder is no secret: "none" stays readable in messages


def test_no_argument_takes_a_key() -> None:
    with pytest.raises(TypeError):
        open_lm("openai/x", api_key="sk-secret")


@pytest.mark.parametrize("value", [None, ""])
def test_a_named_variable_without_a_key_is_a_clear_error(monkeypatch: pytest.MonkeyPatch, value: str | None) -> None:
    if value is not None:
        monkeypatch.setenv("MY_KEY", value)
    with pytest.raises(errors.AuthenticationFailed, match="MY_KEY"):
        open_lm("openai/x", api_key_env="MY_KEY")


@pytest.mark.parametrize("variable", ["OPENAI_API_KEY", "MY_KEY"])
def test_a_line_end_is_no_part_of_a_key(loopback: Loopback, monkeypatch: pytest.MonkeyPatch, variable: str) -> None:
    monkeypatch.setenv(variable, "sk-secret-value\r\n")
    lm = open_lm("openai/x", api_base=loopback.api_base, api_key_env=variable if variable == "MY_KEY" else None)
    assert ask(lm) == "hello"
    assert loopback.asked[0].headers["authorization"] == "Bearer sk-secret-value"


def test_a_key_that_cannot_be_one_is_refused_and_not_shown(loopback: Loopback, monkeypatch: pytest.MonkeyPatch) -> None:
    for key in ("sk-sécret-value", "sk-secret\nvalue"):
        monkeypatch.setenv("OPENAI_API_KEY", key)
        for address in (loopback.api_base, None):
            with pytest.raises(errors.AuthenticationFailed, match="OPENAI_API_KEY") as caught:
                open_lm("openai/x", api_base=address)
            assert "cret" not in str(caught.value)


@pytest.mark.parametrize("at", [None, "given", "environment"])
def test_a_key_of_a_dspy_lm_that_cannot_be_one_is_refused_and_not_shown(
    loopback: Loopback, monkeypatch: pytest.MonkeyPatch, at: str | None
) -> None:
    import dspy

    given = {} if at == "environment" else {"api_key": "sk-secret\nvalue" if at else "sk-secret-value\n"}
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret\nvalue")
    inner = dspy.LM("openai/x", api_base=loopback.api_base, **given)
    if at is None:  # a line end at its end is no part of it
        assert ask(open_lm(inner)) == "hello"
        assert loopback.asked[0].headers["authorization"] == "Bearer sk-secret-value"
        return
    with pytest.raises(errors.AuthenticationFailed, match="no key can have") as caught:
        open_lm(inner)
    assert "secret" not in str(caught.value)
    assert ("api_key of the dspy.LM" if at == "given" else "OPENAI_API_KEY") in str(caught.value)
    assert loopback.calls == 0


def test_a_line_end_of_the_key_in_the_environment_is_no_part_of_it_for_a_dspy_lm_either(
    loopback: Loopback, monkeypatch: pytest.MonkeyPatch
) -> None:
    import dspy

    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-value\n")
    assert ask(open_lm(dspy.LM("openai/x", api_base=loopback.api_base))) == "hello"
    assert loopback.asked[0].headers["authorization"] == "Bearer sk-secret-value"


@pytest.mark.filterwarnings("ignore::UserWarning")  # LiteLLM's own
@pytest.mark.parametrize("name", ["deepseek/x", "mistral/x", "anthropic/x"])
def test_with_an_address_the_key_may_be_that_of_openai(
    loopback: Loopback, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-one-secret")
    ask(open_lm(name, api_base=loopback.api_base))
    monkeypatch.setenv(f"{name.partition('/')[0].upper()}_API_KEY", "sk-own-secret")
    ask(open_lm(name, api_base=loopback.api_base))
    sent = [asked.headers["authorization"] for asked in loopback.asked]
    assert sent == ["Bearer sk-one-secret", "Bearer sk-own-secret"]


def test_the_key_of_openai_goes_nowhere_that_only_another_variable_names(
    loopback: Loopback, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-one-secret")
    monkeypatch.setenv("DEEPSEEK_BASE_URL", loopback.api_base)
    ask(open_lm("deepseek/x"))
    assert loopback.asked[0].headers["authorization"] == "Bearer none"


@pytest.mark.parametrize("address", ["http://[bad", "http://[::1"])
def test_a_broken_address_is_a_clear_error(address: str) -> None:
    with pytest.raises(errors.ModelError, match="address of an endpoint"):
        open_lm("openai/x", api_base=address)


def test_a_missing_key_is_a_clear_error() -> None:
    with pytest.raises(errors.AuthenticationFailed, match="OPENAI_API_KEY") as caught:
        ask(open_lm("openai/gpt-4.1-mini"))
    assert "RouterConfig" not in str(caught.value)


# --- what else can be opened ----------------------------------------------------------------------------------------


def test_a_language_model_is_returned_as_it_is() -> None:
    lm = scripted_lm(lambda _: "4")
    assert open_lm(lm) is lm


def test_a_dspy_lm_is_accepted_and_left_as_it_was(loopback: Loopback, tmp_path: Any) -> None:
    import dspy

    inner = dspy.LM(
        "openai/x", api_base=loopback.api_base, api_key="sk-inner-secret", num_retries=5, cache=True, temperature=0.7
    )
    lm = open_lm(inner)
    assert lm.identity == {"name": "openai/x", "endpoint": loopback.api_base}
    assert (ask(lm), ask(lm)) == ("hello", "hello")
    assert loopback.calls == 2  # DSPy's cache is off
    assert loopback.asked[0].body["temperature"] == 0.0
    assert loopback.asked[0].headers["authorization"] == "Bearer sk-inner-secret"
    assert (inner.cache, inner.num_retries) == (True, 5)
    loopback.script(Fault(status=500, message="sk-inner-secret"))
    with pytest.raises(errors.EndpointDown) as caught:
        ask(lm)
    assert loopback.calls == 2 + 4
    assert "sk-inner-secret" not in str(caught.value)


@pytest.mark.parametrize(
    "settings",
    [{"reasoning_effort": "low"}, {"extra_body": {"chat_template_kwargs": {"enable_thinking": False}}}, {"seed": 7}],
)
def test_what_a_dspy_lm_was_told_to_send_is_sent_and_is_part_of_what_is_asked(
    loopback: Loopback, tmp_path: Any, settings: dict[str, Any]
) -> None:
    import dspy

    loopback.answer = lambda body: Say(str(body.get("seed") or body.get("reasoning_effort")))
    plain, told = (dspy.LM("openai/x", api_base=loopback.api_base, api_key="none", **own) for own in ({}, settings))
    with Journal(tmp_path / "j.sqlite") as journal:
        for inner in (plain, told, told):
            lm = open_lm(inner)
            lm.memory = journal
            ask(lm)
    first, second = (asked.body for asked in loopback.asked)
    sent = settings.get("extra_body", settings)
    assert {name: second.get(name) for name in sent} == sent
    assert not sent.keys() & first.keys()
    assert second["max_completion_tokens"] == 5
    assert second.keys() - first.keys() == sent.keys()


@pytest.mark.filterwarnings("ignore::UserWarning")  # LiteLLM's own
def test_the_address_of_a_dspy_lm_may_stand_in_the_environment(
    loopback: Loopback, monkeypatch: pytest.MonkeyPatch
) -> None:
    import dspy

    monkeypatch.setenv("OPENAI_BASE_URL", loopback.api_base)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-none-of-yours")
    lm = open_lm(dspy.LM("openai/gpt-4.1-mini"))
    assert ask(lm) == "hello"
    assert lm.identity["endpoint"] == loopback.api_base
    assert lm.usage.cost is None


def test_userinfo_of_a_dspy_lm_is_not_in_its_identity() -> None:
    import dspy

    lm = open_lm(dspy.LM("openai/x", api_base="http://user:hunter2@127.0.0.1:9/v1?key=hunter2", api_key="k"))
    assert lm.identity["endpoint"] == "http://127.0.0.1:9/v1"
    with pytest.raises(errors.ModelError) as caught:
        ask(lm)
    assert "hunter2" not in str(caught.value)


def test_strict_switches_the_prefix_cache_off(loopback: Loopback) -> None:
    ask(open_lm("openai/x", api_base=loopback.api_base, strict=True))
    ask(open_lm("openai/x", api_base=loopback.api_base))
    assert loopback.asked[0].body["cache_prompt"] is False
    assert "cache_prompt" not in loopback.asked[1].body


def test_the_context_of_a_file_of_ones_own_is_what_its_model_has(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    class Server(server.LocalServer):
        def start(self) -> Any:
            self.context = min(self.context, 2048)  # what the model was trained for
            return self

    own = tmp_path / "mine.gguf"
    own.write_bytes(b"GGUF")
    monkeypatch.setattr(server, "LocalServer", Server)
    for given, had in ((None, 2048), (1000, 1000)):
        lm = open_lm(str(own), context=given)
        assert lm.context == had
        assert lm.identity["context"] == str(given or 16384)  # by which journals know it


def test_workers_and_context(loopback: Loopback) -> None:
    lm = open_lm("openai/x", api_base=loopback.api_base, workers=3, context=4096)
    assert (lm.workers, lm.context) == (3, 4096)
    assert open_lm("openai/x", api_base=loopback.api_base).workers == 8


@pytest.mark.parametrize(
    ("option", "wrong", "said"),
    [
        ("workers", 0, "workers is 0; give a whole number of calls in flight at once, from 1 to 1,000, or"),
        ("workers", 10**30, "workers is 1000000000000000000000000000000; give a whole number of calls in flight"),
        ("workers", -1, "workers is -1"),
        ("workers", 2.5, "workers is 2.5"),
        ("workers", "4", "workers is '4'"),
        ("workers", True, "workers is True"),
        ("context", 0, "context is 0; give a whole number of tokens, from 1 to 2,147,483,647, or leave it out"),
        ("context", -4, "context is -4"),
        ("context", 10**400, "context is 1000"),
        ("context", "4k", "context is '4k'"),
        ("strict", "no", "strict is 'no'; it is True or False"),
        ("strict", None, "strict is None; it is True or False"),
        ("timeout", "4", "timeout is '4'; give the seconds that one reply may take, more than 0"),
        ("timeout", 0, "timeout is 0; give the seconds"),
        ("timeout", float("nan"), "timeout is nan; give the seconds"),
        ("timeout", 1e10, "timeout is 10000000000.0; give the seconds that one reply may take, more than 0 and less"),
        ("api_base", 5, "api_base is a text, not 5; write for example http://127.0.0.1:8080/v1"),
        ("api_key_env", 5, "api_key_env is a text, not 5; write for example OPENAI_API_KEY"),
    ],
)
def test_options_of_a_wrong_kind_are_named_on_opening(
    loopback: Loopback, option: str, wrong: object, said: str
) -> None:
    options: dict[str, Any] = {"api_base": loopback.api_base, option: wrong}
    with pytest.raises(errors.ModelError, match=re.escape(said)):
        open_lm("openai/x", **options)
    assert not loopback.asked


def test_options_may_be_numbers_of_numpy(loopback: Loopback) -> None:
    options: dict[str, Any] = {"workers": np.int64(3), "context": np.int32(900), "timeout": np.float32(9)}
    lm = open_lm("openai/x", api_base=loopback.api_base, **options)
    assert (lm.workers, lm.context, ask(lm)) == (3, 900, "hello")


def test_options_that_a_model_has_no_use_for_are_refused(loopback: Loopback, tmp_path: Path) -> None:
    import dspy

    own = tmp_path / "MINE.GGUF"
    own.write_bytes(b"GGUF")
    with pytest.raises(errors.ModelError, match="embedded, and answers one call at a time"):
        open_lm(str(own), workers=2)
    with pytest.raises(errors.ModelError, match="embedded, and asks for no key"):
        open_lm(str(own), api_key_env="NO_SUCH_VARIABLE")
    with pytest.raises(errors.ModelError, match="a provider promises no such thing as strict"):
        open_lm("openai/x", strict=True)
    wrapped = dspy.LM("openai/x", api_base=loopback.api_base, api_key="k")
    with pytest.raises(errors.ModelError, match=r"^api_base and timeout: a dspy\.LM brings its own"):
        open_lm(wrapped, api_base="http://127.0.0.1:9/v1", timeout=3)
    opened = open_lm(wrapped, context=4096, workers=2)
    assert (opened.context, opened.workers) == (4096, 2)
    with pytest.raises(errors.ModelError, match=r"^workers: a LanguageModel brings its own"):
        open_lm(opened, workers=3)
    assert open_lm(opened) is opened


# --- proxies --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
@pytest.mark.parametrize("no_proxy", [None, "example.com"])
def test_loopback_does_not_go_through_a_proxy(
    loopback: Loopback, monkeypatch: pytest.MonkeyPatch, host: str, no_proxy: str | None
) -> None:
    with serving(lambda _: Say("from the proxy")) as proxy:
        monkeypatch.setattr(os, "environ", os.environ.copy())
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, proxy.url)
        if no_proxy:
            monkeypatch.setenv("NO_PROXY", no_proxy)
        lm = open_lm("openai/x", api_base=loopback.api_base.replace("127.0.0.1", host))
        assert ask(lm) == "hello"
        assert proxy.calls == 0
        if no_proxy:
            assert no_proxy in os.environ["NO_PROXY"].split(",")


def test_another_host_still_goes_through_the_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(lambda _: Say("from the proxy")) as proxy:
        monkeypatch.setenv("HTTP_PROXY", proxy.url)
        monkeypatch.setenv("http_proxy", proxy.url)
        assert ask(open_lm("openai/x", api_base="http://endpoint.invalid/v1")) == "from the proxy"
        assert "NO_PROXY" not in os.environ


def test_without_a_proxy_the_environment_is_left_alone(loopback: Loopback) -> None:
    open_lm("openai/x", api_base=loopback.api_base)
    assert not {"NO_PROXY", "no_proxy"} & set(os.environ)


@pytest.mark.parametrize("host", ["0.0.0.0", "[::]"])
def test_where_a_server_listens_at_all_networks_is_this_machine(monkeypatch: pytest.MonkeyPatch, host: str) -> None:
    from urllib.request import proxy_bypass

    monkeypatch.setattr(os, "environ", os.environ.copy())
    monkeypatch.setenv("HTTP_PROXY", "http://proxy.invalid:9")
    open_lm("openai/x", api_base=f"http://{host}:9/v1")
    assert proxy_bypass(host.strip("[]"))


@pytest.mark.parametrize("model", ["ollama/llama3", "hosted_vllm/x"])
@pytest.mark.parametrize("wrapped", [False, True])
def test_a_provider_on_this_machine_is_not_reached_through_a_proxy(
    monkeypatch: pytest.MonkeyPatch, model: str, wrapped: bool
) -> None:
    import dspy

    with serving(lambda _: Say("from the proxy")) as proxy:
        monkeypatch.setattr(os, "environ", os.environ.copy())
        monkeypatch.setenv("HTTP_PROXY", proxy.url)
        lm = open_lm(dspy.LM(model) if wrapped else model)
        lm._retries = 0
        with suppress(errors.ModelError):  # there may be one
            lm.ask(ASK, max_tokens=5)
        assert proxy.calls == 0
        assert os.environ["NO_PROXY"] == "localhost"


# --- what is not done -----------------------------------------------------------------------------------------------


def test_opening_and_asking_imports_no_litellm_and_asks_nobody_else(loopback: Loopback) -> None:
    code = (
        "import socket, sys\n"
        "real = socket.socket.connect\n"
        "def connect(self, address):\n"
        "    assert address[0] == '127.0.0.1', address\n"
        "    return real(self, address)\n"
        "socket.socket.connect = connect\n"
        "from active_critic.lm import open_lm\n"
        "lm = open_lm('openai/x', api_base=sys.argv[1])\n"
        "print(lm.ask([('user', 'hi')], max_tokens=3).text, 'litellm' in sys.modules)"
    )
    environment = {k: v for k, v in os.environ.items() if k != "LITELLM_LOCAL_MODEL_COST_MAP"}
    run = subprocess.run(
        [sys.executable, "-c", code, loopback.api_base], capture_output=True, text=True, check=False, env=environment
    )
    assert (run.returncode, run.stdout, run.stderr) == (0, "hello False\n", "")
