"""Open a model that answers elsewhere: any provider's, one at an OpenAI-compatible address, that of a ``dspy.LM``."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from active_critic.errors import ModelError, UnknownModel
from active_critic.lm.client import LanguageModel
from active_critic.lm.connection import (
    base_in_environment,
    credentials,
    identity,
    own_settings,
    secrets,
    without_userinfo,
)
from active_critic.lm.echoing import Echoing
from active_critic.lm.environment import (
    key_in,
    named_key,
    spare_loopback_the_proxy,
    spare_loopback_the_proxy_of,
    whole_key,
)
from active_critic.lm.likelihood import Likelihood
from active_critic.lm.naming import Naming, Way
from active_critic.lm.sending import directly, import_dspy, provider_of, through_dspy

if TYPE_CHECKING:
    from dspy.lm15 import Response

    from active_critic.lm.reply import Turn

REMOTE_WORKERS = 8
REMOTE_TIMEOUT = 120.0
DSPY_TIMEOUT = 600.0
"""Seconds that a ``dspy.LM`` waits unless it is told otherwise."""
OTHER_PROTOCOLS = frozenset({"anthropic", "gemini"})
"""Providers whose own protocol is not OpenAI's: an OpenAI-compatible endpoint takes such a name for a model's."""


def open_remote(
    name: str,
    api_base: str | None,
    api_key_env: str | None,
    context: int | None,
    strict: bool,
    workers: int,
    timeout: float,
) -> LanguageModel:
    """Open a model by ``provider/model``, or by name at an address; arguments and errors: see ``opening.open_lm``."""
    dspy = import_dspy()
    prefix = name.split("/", 1)[0].upper() if "/" in name else "OPENAI"
    given = api_base is not None
    api_base = api_base or base_in_environment(prefix)
    if strict and api_base is None:
        raise ModelError(
            f"{name}: a provider promises no such thing as strict (--strict), which turns off the prefix cache of an "
            "embedded model or of an endpoint of one's own; leave it out, and measure with score --repeat"
        )
    settings: dict[str, Any] = {"timeout": timeout}
    key = None if api_key_env is None else named_key(api_key_env)
    if api_base is not None:
        api_base = settings["api_base"] = _address(api_base)

    def way(model: str, engine: str) -> Way:
        if engine == "lm15":
            send, hang_up = directly(model, settings.get("api_key"), api_base, timeout)
        else:
            inner = dspy.LM(model, cache=False, num_retries=0, engine=engine, **settings)
            send, hang_up = through_dspy(inner, timeout)
        return Way(model.partition("/")[2], send, hang_up)

    try:
        routes = _routes(name, api_base is not None, given)
        if api_base is not None:
            # An endpoint of one's own often wants no key, but the client insists on sending something.
            own = prefix if name in dict(routes) else "OPENAI"
            key = key or key_in(f"{own}_API_KEY") or (key_in("OPENAI_API_KEY") if given else None)
            settings["api_key"] = key or "none"
        else:
            own = f"{prefix}_API_KEY"
            if key is None and key_in(own) != os.environ.get(own):
                key = key_in(own)  # the client would read it with its line end
            if key is not None:
                settings["api_key"] = key
            spare_loopback_the_proxy_of(provider_of(dspy.LM(routes[0][0])))
        naming = Naming(*(way(model, engine) for model, engine in routes))
    except ModelError:
        raise
    except Exception as failure:
        raise ModelError(f"{name}: {failure}") from None
    weighing = {one.wire: Echoing(one.wire, api_base, key, timeout) for one in naming.ways} if api_base else {}

    def weigh(turns: Sequence[Turn], text: str) -> Likelihood:
        return weighing[naming.wire](turns, text)

    def close() -> None:
        naming.close()
        for echoing in weighing.values():
            echoing.close()

    return LanguageModel(
        name,
        naming.send,
        identity=identity(name, api_base),
        context=context,
        workers=workers,
        extensions={"cache_prompt": False} if strict and api_base else None,
        price=_pricer(routes[0][0]) if not api_base else None,
        secrets=secrets(key),
        weigh=weigh if weighing else None,
        close=close,
    )


def _routes(name: str, own_endpoint: bool, given: bool) -> list[tuple[str, str]]:
    """What :func:`_route` says, and another such answer where an endpoint of one's own may mean that; likelier first.

    Args:
        name: The model's name.
        own_endpoint: Whether there is an address.
        given: Whether it was given beside the name, so that it is that of an OpenAI-compatible endpoint.

    Raises:
        UnknownModel: As there.
    """
    by_provider = _route(name, own_endpoint)
    as_a_whole = (f"openai/{name}", "lm15")
    if not own_endpoint or "/" not in name or by_provider == as_a_whole:
        return [by_provider]
    if name.partition("/")[0] in OTHER_PROTOCOLS:
        return [as_a_whole, by_provider] if given else [by_provider]
    return [by_provider, as_a_whole]


def _route(name: str, own_endpoint: bool) -> tuple[str, str]:
    """The model's name as DSPy wants it, and the engine that reaches it: DSPy's own wherever it can, else LiteLLM.

    Raises:
        UnknownModel: Neither knows the provider.
    """
    import dspy
    from dspy.clients.backend_selection import select_backend

    provider, slash, model = name.partition("/")
    if not provider or (slash and not model):
        raise UnknownModel(f"{name!r} is no provider/model; write for example openai/gpt-4.1-mini")
    if not slash:
        return f"openai/{name}", "lm15"
    try:
        if select_backend(dspy.LM(name, engine="lm15", cache=False)).native:
            return name, "lm15"
    except Exception:  # not one of DSPy's own; what that raises differs by provider  # noqa: S110
        pass
    import litellm

    if provider in litellm.provider_list:
        return name, "auto"
    if own_endpoint:  # "Qwen/Qwen2.5-7B-Instruct" at vLLM: the name holds a slash, not a provider
        return f"openai/{name}", "lm15"
    raise UnknownModel(
        f"{name}: no provider is called {provider!r}; write provider/model, for example openai/gpt-4.1-mini, "
        "or give the address of the endpoint that has this model"
    )


def _address(api_base: str) -> str:
    """The address of an endpoint, checked.

    Raises:
        ModelError: It is not http(s), or carries a password or a query.
    """
    try:
        parts = urlsplit(api_base.strip())
        shown = without_userinfo(api_base.strip())
    except ValueError as problem:
        raise ModelError(
            f"what was given as the address of an endpoint is none ({problem}); write for example "
            "http://127.0.0.1:8080/v1"
        ) from None
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise ModelError(f"{shown!r} is not the address of an endpoint; write for example http://127.0.0.1:8080/v1")
    if parts.username is not None or parts.query or parts.fragment:
        raise ModelError(
            f"the address of {shown} carries a user name, password or query; keys come from the environment only: "
            "set OPENAI_API_KEY, or name the variable with api_key_env"
        )
    spare_loopback_the_proxy(parts.hostname)
    return shown.rstrip("/")


def open_dspy(inner: Any, workers: int, context: int | None) -> LanguageModel:
    """Open the model of a ``dspy.LM``, which stays as it is; arguments and errors: see ``opening.open_lm``."""
    dspy = import_dspy()
    if not isinstance(inner, dspy.LM):
        raise UnknownModel(f"a model is a name, a dspy.LM or a LanguageModel, not {type(inner).__name__}")
    provider, _, wire = inner.model.partition("/")
    base = inner.kwargs.get("api_base") or inner.kwargs.get("base_url") or base_in_environment(provider)
    if base:
        spare_loopback_the_proxy(urlsplit(base).hostname or "")
    else:
        spare_loopback_the_proxy_of(provider_of(inner))
    own = inner.copy(cache=False, num_retries=0)
    key = inner.kwargs.get("api_key")
    if isinstance(key, str):
        key = own.kwargs["api_key"] = whole_key(key, f"the api_key of the dspy.LM {inner.model}")
    elif not key and isinstance(inner.engine, str):
        key = key_in(variable := f"{provider.upper()}_API_KEY")
        if key != os.environ.get(variable):
            own.kwargs["api_key"] = key  # the client would read it with its line end
    given = inner.kwargs.get("timeout")
    timeout = float(given) if isinstance(given, int | float) else DSPY_TIMEOUT
    asked, reached = own_settings(inner.kwargs)
    weigh = Echoing(wire, base, key, timeout) if base else None
    send, hang_up = through_dspy(own, timeout, reached, own_endpoint=bool(base))

    def close() -> None:
        hang_up()
        if weigh:
            weigh.close()

    return LanguageModel(
        inner.model,
        send,
        identity=identity(inner.model, base, inner.kwargs, inner.model_type),
        context=context,
        workers=workers,
        extensions=asked,
        price=_pricer(inner.model) if not base else None,
        secrets=secrets(*credentials(inner.kwargs)),
        weigh=weigh,
        close=close,
    )


def _pricer(model: str) -> Any:
    """What a reply cost in US dollars by DSPy's price list, or None where the price is not known."""
    provider, _, wire = model.partition("/")

    def price(response: Response) -> float | None:
        from dataclasses import replace

        from dspy.clients.costs import estimate_cost

        # By the name that the provider says, else by the one it was asked by: its list may have only that.
        for named in (response, replace(response, model=wire)):
            cost, _ = estimate_cost(named, provider=provider, requested_model=wire)
            if cost is not None:
                return float(cost)
        return None

    return price
