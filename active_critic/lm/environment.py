"""What the environment says of how a model is reached: its key, and proxies, which calls on this machine are spared."""

from __future__ import annotations

import os
from urllib.parse import urlsplit

from active_critic.errors import AuthenticationFailed
from active_critic.lm.sending import usual_address


def spare_loopback_the_proxy(host: str) -> None:
    """Have this process reach loopback directly: a proxy set in the environment must not see those calls.

    Only where a proxy is set there: naming exceptions alone would switch off a proxy configured in the system. The
    address that a server listens at on every network (``0.0.0.0``) is this machine, too.
    """
    if host not in {"localhost", "::1", "0.0.0.0", "::"} and not host.startswith("127."):  # noqa: S104
        return
    names = ("http_proxy", "https_proxy", "all_proxy")
    if not any(os.environ.get(name) or os.environ.get(name.upper()) for name in names):
        return
    spared = os.environ.get("no_proxy") or os.environ.get("NO_PROXY") or ""
    if spared != "*" and host not in [entry.strip() for entry in spared.split(",")]:
        os.environ["no_proxy"] = os.environ["NO_PROXY"] = ",".join(filter(None, (spared, host)))


def spare_loopback_the_proxy_of(provider: str | None) -> None:
    """The same where a provider is reached on this machine without an address, as Ollama is."""
    spare_loopback_the_proxy(urlsplit(usual_address(provider) or "").hostname or "")


def named_key(variable: str) -> str:
    """The key in the environment variable that the user names.

    Raises:
        AuthenticationFailed: It holds none, or what no key can hold.
    """
    key = key_in(variable)
    if not key:
        raise AuthenticationFailed(f"the environment variable {variable} holds no key; set it and try again")
    return key


def key_in(variable: str) -> str | None:
    """The key in an environment variable, without the line end that comes with it out of some files.

    Raises:
        AuthenticationFailed: It holds what no key can hold.
    """
    key = os.environ.get(variable)
    return None if key is None else whole_key(key, f"the environment variable {variable}")


def whole_key(key: str, place: str) -> str:
    """A key without white space around it.

    Raises:
        AuthenticationFailed: It is none.
    """
    key = key.strip()
    if not (key.isascii() and key.isprintable()):
        raise AuthenticationFailed(
            f"{place} holds characters that no key can have (a line end or a letter beyond ASCII); set it anew"
        )
    return key
