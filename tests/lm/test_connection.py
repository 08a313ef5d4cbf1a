"""What says how a model is reached: sent, but no part of what is asked, and in no message."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from loopback import Fault, Loopback

from active_critic import errors
from active_critic.journal import Journal
from active_critic.lm import connection, open_lm


def ask(lm: Any) -> str:
    lm._wait = lambda _: None
    return str(lm.ask([("user", "How good?")], max_tokens=5).text)


# --- credentials of a dspy.LM ---------------------------------------------------------------------------------------


def cloud(loopback: Loopback, key: str, **more: Any) -> Any:
    """A model that is reached with credentials beside the usual key, each of which holds this one."""
    import dspy

    account = json.dumps({"type": "service_account", "private_key": f"private {key}"})
    settings = {"aws_access_key_id": f"id {key}", "aws_session_token": f"session {key}", "api_token": f"own {key}"}
    settings |= {"aws_region_name": "eu-central-1", "vertex_credentials": account, "seed": 7, **more}
    return dspy.LM("openai/x", api_base=loopback.api_base, api_key="none", **settings)


def test_credentials_of_a_dspy_lm_are_sent_and_are_no_part_of_what_is_asked(loopback: Loopback, tmp_path: Path) -> None:
    with Journal(tmp_path / "j.sqlite") as journal:
        for key in ("canary-one", "canary-two"):  # a session that was renewed pays nothing twice
            lm = open_lm(cloud(loopback, key, extra_body={"service_key": f"body {key}", "top_k": 3}))
            lm.memory = journal
            assert ask(lm) == "hello"
            assert lm.extensions == {"seed": 7, "top_k": 3}
    (asked,) = loopback.asked
    sent = {"aws_access_key_id": "id canary-one", "aws_region_name": "eu-central-1", "service_key": "body canary-one"}
    assert {name: asked.body[name] for name in sent} == sent
    assert asked.body["seed"] == 7
    assert b"canary" not in (tmp_path / "j.sqlite").read_bytes()


def test_credentials_of_a_dspy_lm_are_blanked_in_messages(loopback: Loopback) -> None:
    said = "id canary-1, session canary-1, own canary-1, private canary-1, in eu-central-1"
    loopback.script(Fault(status=400, message=said))
    with pytest.raises(errors.RequestRefused) as caught:
        ask(open_lm(cloud(loopback, "canary-1")))
    assert "canary" not in str(caught.value)
    assert "in eu-central-1" in str(caught.value)


def test_credentials_within_settings_of_a_dspy_lm_are_sent_and_kept_nowhere(loopback: Loopback, tmp_path: Path) -> None:
    import dspy

    def settings(n: int) -> dict[str, Any]:
        fallback = {"model": "azure/y", "api_key": f"canary-{n}1", "extra_headers": {"X-Gate": f"canary-{n}2"}}
        fallback["api_base"] = f"https://me:canary-{n}3@example.com/v1"
        provider = {"order": ["a", "b"], "oauth": {"value": f"canary-{n}4"}, "pwd": [f"canary-{n}5"]}
        return {"fallbacks": [fallback], "extra_body": {"provider": provider, "auth": f"canary-{n}6"}}

    said = ", ".join(f"canary-1{n} canary-2{n}" for n in range(1, 7) if n != 4)
    with Journal(tmp_path / "j.sqlite") as journal:
        for n in (1, 2):  # keys that were renewed pay nothing twice
            lm = open_lm(dspy.LM("openai/x", api_base=loopback.api_base, api_key="none", **settings(n)))
            lm.memory = journal
            assert ask(lm) == "hello"
        assert "canary" not in str(lm.identity)
        loopback.script(Fault(status=400, message=said))
        lm.memory = None
        with pytest.raises(errors.RequestRefused) as caught:
            ask(lm)
    assert "canary-1" in str(caught.value)  # the first model's
    assert "canary-2" not in str(caught.value)
    sent = loopback.asked[0].body
    assert sent["provider"] == settings(1)["extra_body"]["provider"]
    assert sent["fallbacks"] == settings(1)["fallbacks"]
    assert len(loopback.asked) == 2
    assert b"canary" not in (tmp_path / "j.sqlite").read_bytes()


def test_what_else_stands_beside_a_credential_tells_models_apart() -> None:
    import dspy

    def known(model: str, key: str) -> dict[str, str]:
        fallbacks = [{"model": model, "api_key": key}]
        return open_lm(dspy.LM("openai/x", api_base="http://127.0.0.1:9/v1", api_key="k", fallbacks=fallbacks)).identity

    assert known("openai/y", "canary-1") == known("openai/y", "canary-2") != known("openai/z", "canary-1")


def test_what_only_sounds_like_a_credential_is_part_of_what_is_asked() -> None:
    plain = {"author": "me", "authors": ["me"], "top_k": 3, "stop_tokens": ["a"], "metadata": {"authority": "x"}}
    plain |= {"token_ids": [1, 2], "provider": {"order": ["a", "b"], "base_url": "https://example.com/v1"}}
    assert connection.own_settings(plain) == (plain, {})
    secret = dict.fromkeys(("authorization", "X-Authorisation", "auth", "bearer", "pwd", "passwd"), "canary")
    assert connection.own_settings(secret) == ({}, secret)


@pytest.mark.filterwarnings("ignore::UserWarning")  # LiteLLM's own
def test_a_dspy_lm_that_fetches_its_own_token_can_be_asked(loopback: Loopback) -> None:
    import dspy

    lm = open_lm(dspy.LM("openai/x", api_base=loopback.api_base, api_key="k", azure_ad_token_provider=lambda: "token"))
    assert lm.extensions == {}
    assert ask(lm) == "hello"


# --- what a reply depends on ----------------------------------------------------------------------------------------


DIFFERENT: dict[str, Any] = {
    "header": {"extra_headers": {"X-Variant": "b"}},
    "old name of headers": {"headers": {"X-Variant": "b"}},
    "query": {"api_base": "http://127.0.0.1:9/v1?variant=b"},
    "extra query": {"extra_query": {"variant": "b"}},
    "version": {"api_version": "2030-01-01"},
    "kind": {"model_type": "responses"},
}
SAME: dict[str, Any] = {
    "header": {"extra_headers": {"X-Api-Key": "canary", "Authorization": "Bearer canary"}},
    "query": {"api_base": "http://127.0.0.1:9/v1?sig=canary&access_token=canary"},
    "userinfo": {"api_base": "http://me:canary@127.0.0.1:9/v1"},
    "project": {"project": "mine", "organization": "mine"},
}


@pytest.mark.parametrize(
    "settings", [*DIFFERENT.values(), *SAME.values()], ids=[*DIFFERENT, *(f"no {n}" for n in SAME)]
)
def test_what_else_a_reply_of_a_dspy_lm_depends_on_is_in_its_identity(settings: dict[str, Any]) -> None:
    import dspy

    known = open_lm(dspy.LM("openai/x", **{"api_base": "http://127.0.0.1:9/v1", "api_key": "k", **settings})).identity
    plain = {"name": "openai/x", "endpoint": "http://127.0.0.1:9/v1"}
    assert plain.items() <= known.items()
    assert (known != plain) == (settings in DIFFERENT.values())
    assert "canary" not in str(known)


@pytest.mark.parametrize("variable", ["AZURE_OPENAI_ENDPOINT", "AZURE_OPENAI_RESOURCE"])
def test_two_resources_of_a_cloud_are_two_models(monkeypatch: pytest.MonkeyPatch, variable: str) -> None:
    import dspy

    monkeypatch.setenv("AZURE_OPENAI_API_KEY", "sk-none-of-yours")
    known = []
    for name in ("one", "two"):
        said = name if variable.endswith("RESOURCE") else f"https://me:canary@{name}.openai.azure.com/"
        monkeypatch.setenv(variable, said)
        known += [open_lm("azure/mine").identity, open_lm(dspy.LM("azure/mine")).identity]
    assert known[0] == known[1] != known[2] == known[3]
    assert known[0]["resource"] in {"one", "https://one.openai.azure.com"}
    monkeypatch.delenv(variable)
    assert open_lm(dspy.LM("azure/mine")).identity == {"name": "azure/mine", "endpoint": "the provider's own"}


# --- keys in the environment ----------------------------------------------------------------------------------------


def test_a_key_is_blanked_in_every_way_it_may_be_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTHER_API_KEY", 'sk-"se\\cret"\r')
    hidden = connection.secrets("sk-mine-too ")
    key = os.environ["OTHER_API_KEY"]
    for said in (key, key.strip(), repr(key), json.dumps(key), "sk-mine-too"):
        for secret in hidden:
            said = said.replace(secret, "***")
        assert "cret" not in said
        assert "mine" not in said


@pytest.mark.parametrize(
    "variable",
    [
        "AWS_BEARER_TOKEN_BEDROCK",
        "WATSONX_APIKEY",
        "AZURE_CLIENT_SECRET",
        "PGPASSWORD",
        "OPENAI_KEY_2",
        "MY_CREDENTIALS",
    ],
)
def test_a_key_is_blanked_whatever_its_variable_is_called(
    loopback: Loopback, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    monkeypatch.setenv(variable, "/canary+one")
    loopback.script(Fault(status=400, message="you sent /canary+one"))
    with pytest.raises(errors.RequestRefused, match=r"you sent \*\*\*"):
        ask(open_lm("openai/x", api_base=loopback.api_base))


def test_what_only_speaks_of_keys_is_not_blanked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    plain = {
        "SSH_KEY_PATH": "keys/of/mine",
        "GOOGLE_APPLICATION_CREDENTIALS": str(tmp_path),
        "MAX_TOKENS": "4096000",
        "TOKENIZERS_PARALLELISM": "certainly",
        "KEYBOARD_LAYOUT": "german",
        "TOKEN_CHECK": "disabled",
        "SECRET_STORE_URL": "https://example.com/v1",
        "API_KEY": "short",
    }
    for name, value in plain.items():
        monkeypatch.setenv(name, value)
    assert not set(plain.values()) & set(connection.secrets())
