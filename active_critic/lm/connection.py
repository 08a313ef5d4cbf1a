"""What of a model's settings says how it is reached: no part of what is asked; its keys are in no message."""

from __future__ import annotations

import os
import re
from base64 import b64encode
from collections.abc import Iterator, Mapping
from hashlib import sha256
from json import dumps, loads
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit, urlunsplit

from active_critic.lm.client import PROVIDERS

_OURS = frozenset({"temperature", "max_tokens", "max_completion_tokens", "logprobs", "top_logprobs", "stop", "n"})
"""Settings of a request that what is asked decides."""
_CLIENTS = frozenset(
    (
        *("api_key", "api_base", "base_url", "api_version", "organization", "headers", "extra_headers", "timeout"),
        *("project", "extra_query", "custom_llm_provider", "azure_ad_token_provider"),
        *("client", "http_client", "cache", "caching", "rollout_id", "num_retries", "max_retries", "retry_strategy"),
        *("stream", "stream_options", "response_format"),
    )
)
"""Settings of a ``dspy.LM`` that it sees to itself: they say how it asks, not what."""
_CLOUDS = ("aws_", "vertex_", "azure_")
"""What the names of settings begin with that say how a model in a cloud is reached."""
_SECRET = re.compile(
    "key|token(?!s)|secret|passw(or)?d|passphrase|pwd|credential|auth(?!or(?!i[sz]))|bearer|cookie|^sig", re.IGNORECASE
)
"""What the name of a credential says; ``max_tokens``, ``author`` and their like are none."""

_VARIABLE = re.compile("(KEY|TOKEN|SECRET|PASSW(OR)?D|PASSPHRASE|CREDENTIAL)S?(?![A-Z])")
"""What the name of a variable with a key says; ``TOKENIZERS_PARALLELISM`` and ``KEYBOARD`` do not."""
_USER = re.compile(r"(?:\w+://)?(.*:.*)@")
"""User name and password in an address."""
_AZURE, _FOUNDRY = (
    ("AZURE_OPENAI_ENDPOINT", "AZURE_OPENAI_RESOURCE"),
    ("ANTHROPIC_FOUNDRY_BASE_URL", "ANTHROPIC_FOUNDRY_RESOURCE"),
)
_RESOURCES = {
    "azure": _AZURE,
    "azure-chat": _AZURE,
    "azure-anthropic": _FOUNDRY,
    "bedrock": ("AWS_ENDPOINT_URL_BEDROCK_RUNTIME", "AWS_ENDPOINT_URL"),
    "bedrock-chat": ("AWS_ENDPOINT_URL_BEDROCK_RUNTIME", "AWS_ENDPOINT_URL"),
    "watsonx": ("WATSONX_URL",),
}
"""Variables, by provider, that say where a model is in a cloud."""


def base_in_environment(provider: str) -> str | None:
    """The address of an endpoint that stands in the provider's own variable."""
    names = (f"{provider.upper()}_BASE_URL", f"{provider.upper()}_API_BASE")
    return next((address for name in names if (address := os.environ.get(name))), None)


def identity(
    name: str, address: str | None, given: Mapping[str, Any] | None = None, kind: str = "chat"
) -> dict[str, str]:
    """What a reply depends on beside the request, without credentials.

    Journals know replies by it: what was not given is not in it.

    Args:
        name: The model's name.
        address: Where it is reached; None: where its provider says.
        given: All settings of a ``dspy.LM``.
        kind: Which of the provider's interfaces is asked, as DSPy calls it.
    """
    given = given or {}
    known = {"name": name, "endpoint": without_userinfo(address) if address else PROVIDERS}
    if address is None and (resource := _resource(name.partition("/")[0])):
        known["resource"] = resource
    if kind != "chat":
        known["model_type"] = kind
    if version := given.get("api_version"):
        known["api_version"] = str(version)
    told = [*_told(given.get("headers")), *_told(given.get("extra_headers")), *_told(given.get("extra_query"))]
    told += [(name, dumps(rest, sort_keys=True)) for name, rest in _bare(_within_reach(given)).items()]
    if told := sorted([*told, *_told(dict(parse_qsl(urlsplit(address or "").query)))]):
        known["told"] = sha256(dumps(told).encode()).hexdigest()[:16]
    return known


def _told(settings: Any) -> list[tuple[str, str]]:
    """Headers, or parameters of an address, that are no credentials."""
    named = settings if isinstance(settings, Mapping) else {}
    return [(str(name).lower(), str(value)) for name, value in named.items() if not _SECRET.search(str(name))]


def _resource(provider: str) -> str | None:
    """What a variable of a cloud's own, which DSPy reads itself, says of where a model is."""
    for variable in _RESOURCES.get(provider.lower(), ()):
        if said := os.environ.get(variable, "").strip():
            return without_userinfo(said).rstrip("/")
    return None


def own_settings(given: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """What else a ``dspy.LM`` was told to send with every request, such as ``reasoning_effort`` or ``extra_body``.

    Args:
        given: All its settings.

    Returns:
        What belongs to what is asked; and what is sent as well but says only how the model is reached, and whatever
        else has credentials anywhere in it. What no request can hold is in neither.
    """
    told = {name: value for name, value in given.items() if name not in _OURS | _CLIENTS}
    body = told.pop("extra_body", None) or {}
    told = {name: value for name, value in {**told, **body}.items() if value is not None and _is_json(value)}
    reached = {
        name: value for name, value in told.items() if name.startswith(_CLOUDS) or _holds_credential(name, value)
    }
    return {name: value for name, value in told.items() if name not in reached}, reached


def _within_reach(given: Mapping[str, Any]) -> dict[str, Any]:
    """The settings that are not part of what is asked because there are credentials in them."""
    return {name: value for name, value in own_settings(given)[1].items() if not name.startswith(_CLOUDS)}


def _holds_credential(name: str, value: Any) -> bool:
    """Whether a setting is a credential, or has one anywhere in it."""
    return dumps(_bare({name: value})) != dumps({name: value})


def _bare(value: Any) -> Any:
    """What is left of a setting without the credentials in it."""
    if isinstance(value, Mapping):
        return {name: _bare(part) for name, part in value.items() if not _is_credential(str(name), part)}
    return [_bare(part) for part in value] if isinstance(value, list | tuple) else value


def _is_credential(name: str, value: Any) -> bool:
    if name in {"api_base", "base_url"}:
        return isinstance(value, str) and ("@" in value or "?" in value)
    return _has_text(value) and (name in {"headers", "extra_headers"} or _SECRET.search(name) is not None)


def _has_text(value: Any) -> bool:
    if isinstance(value, Mapping | list | tuple):
        return any(map(_has_text, value.values() if isinstance(value, Mapping) else value))
    return isinstance(value, str)


def _is_json(value: Any) -> bool:
    try:
        dumps(value, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        return False
    return True


def credentials(settings: Mapping[str, Any]) -> Iterator[str]:
    """The credentials among the settings of a ``dspy.LM``, in headers, address and body too."""
    for name, value in settings.items():
        if name in {"headers", "extra_headers"} and isinstance(value, Mapping):
            yield from map(str, value.values())
        elif isinstance(value, str) and name in {"api_base", "base_url"}:
            parts = urlsplit(value)
            yield from (parts.password or "", parts.netloc.rpartition("@")[0], parts.query)
            yield from credentials(dict(parse_qsl(parts.query)))
        elif isinstance(value, Mapping):
            yield from credentials(value)
        elif isinstance(value, list | tuple):
            for part in value:
                yield from credentials({name: part})
        elif isinstance(value, str) and _SECRET.search(name):
            yield value
            yield from credentials(_object(value))


def _object(text: str) -> Mapping[str, Any]:
    """The JSON object that a text is, such as the key of a service account; empty where it is none."""
    try:
        found = loads(text)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def secrets(*more: str | None) -> tuple[str, ...]:
    """What no message may show: every key in the environment, and these, also as Python or JSON would write them."""
    raw = [*more, *(value for name, value in os.environ.items() if _holds_secret(name.upper(), value.strip()))]
    raw += [part for name, value in os.environ.items() for part in _in_address(name.upper(), value)]
    known = {form for value in raw if value for form in (value, value.strip(), repr(value)[1:-1], dumps(value)[1:-1])}
    # The longest first, so that a key within another does not leave the rest of it standing; what is shorter than any
    # real key would blank parts of ordinary words.
    return tuple(sorted((secret for secret in known if len(secret) >= 6), key=lambda one: (-len(one), one)))


def _holds_secret(variable: str, value: str) -> bool:
    """Whether an environment variable holds a key, by its name, and not a path, a number or a switch about keys."""
    if variable.endswith(("_API_KEY", "_TOKEN", "_SECRET_ACCESS_KEY")):
        return True
    if not _VARIABLE.search(variable) or variable.endswith(("_PATH", "_FILE", "_DIR", "_HOME", "_URL", "_ENDPOINT")):
        return False
    number = value.replace(".", "").replace(",", "").isdigit()
    return not number and value.lower() not in {"disabled", "enabled", "required"} and not _is_file(value)


def _in_address(variable: str, value: str) -> Iterator[str]:
    """The password in an address, as of a proxy: with the user name before it, alone, and as it is sent.

    A client that takes a mark in the password for the end of the host quotes what stands before it.
    """
    found = _USER.match(value)
    if found and ("://" in value or variable.endswith("_PROXY")):
        for said in (found[1], unquote(found[1])):
            yield b64encode(said.encode()).decode()
            for part in (said, said.partition(":")[2]):
                yield from (part, re.split("[/?#]", part)[0])


def _is_file(value: str) -> bool:
    try:
        return value.startswith("~/") or (value.startswith("/") and Path(value).exists())
    except (OSError, ValueError):  # too long for a path, or not even one
        return False


def without_userinfo(address: str) -> str:
    """An address without user name, password, query and fragment."""
    parts = urlsplit(address)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment=""))
