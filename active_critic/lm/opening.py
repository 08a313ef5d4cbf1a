"""Open a language model by name: the embedded ones, any provider, any OpenAI-compatible address."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from active_critic.data.cells import plain_value
from active_critic.errors import ModelError, UnknownModel
from active_critic.lm.catalogue import find
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
from active_critic.lm.likelihood import Likelihood, forcing, templated
from active_critic.lm.naming import Naming, Way
from active_critic.lm.sending import directly, import_dspy, provider_of, through_dspy
from active_critic.lm.spending import Amounts, as_budget

if TYPE_CHECKING:
    from dspy.lm15 import Response

    from active_critic.lm.reply import Turn

REMOTE_WORKERS = 8
REMOTE_TIMEOUT = 120.0
LOCAL_TIMEOUT = 900.0
"""Seconds to wait for a reply; an embedded model on two cores may need minutes for a long text."""
DSPY_TIMEOUT = 600.0
"""Seconds that a ``dspy.LM`` waits unless it is told otherwise."""
OTHER_PROTOCOLS = frozenset({"anthropic", "gemini"})
"""Providers whose own protocol is not OpenAI's: an OpenAI-compatible endpoint takes such a name for a model's."""


def open_lm(
    name: str | LanguageModel | Any = "local",
    *,
    api_base: str | None = None,
    api_key_env: str | None = None,
    context: int | None = None,
    strict: bool = False,
    workers: int | None = None,
    timeout: float | None = None,
    budget: Amounts | None = None,
) -> LanguageModel:
    """Open a language model.

    Args:
        name: ``"local"`` (the embedded default) or another name of the catalogue (``active-critic lm list``); the
            path of a GGUF file; ``"provider/model"`` as DSPy and LiteLLM write it, for example
            ``"openai/gpt-4.1-mini"``; a ``dspy.LM``, which brings its own address, key and time-out; or a
            :class:`LanguageModel`, which is returned as it is.
        api_base: Address of an OpenAI-compatible endpoint, for example ``http://127.0.0.1:8080/v1``. Default: what the
            provider's own variable says (``OPENAI_BASE_URL``, ``OPENAI_API_BASE``, ...), else its public address. Where
            the endpoint has no model ``NAME`` of ``provider/NAME``, it is asked for ``provider/NAME``.
        api_key_env: Name of the environment variable that holds the key. Default: the provider's own
            (``OPENAI_API_KEY``, ``ANTHROPIC_API_KEY``, ...), else, with ``api_base``, ``OPENAI_API_KEY``. Keys are
            never taken as arguments.
        context: Context window in tokens: what the embedded server reserves (default 16,384), or what a remote
            model has: what a fit shows of texts is cut to it, and a prompt that can by no means fit is not sent.
        strict: Bit-for-bit reproducible scores from an embedded model: no prefix cache, two to three times slower.
        workers: Calls in flight at once; default 8 for an endpoint, 1 for an embedded model.
        timeout: Seconds to wait for one reply; default 120 for an endpoint, 900 for an embedded model.
        budget: What may be spent through this model from now on: ``"500 calls"``, ``["200k tokens", "2 USD"]``, or a
            :class:`Budget`.

    Raises:
        DataError: The budget cannot be read.
        UnknownModel: No such model in the catalogue, and no ``provider/model`` of a known provider.
        ModelError: ``api_base`` is not a plain http(s) address, ``timeout`` is no time, ``context`` or ``workers`` no
            whole number above 0, or the model has no use for an option.
        AuthenticationFailed: The variable named by ``api_key_env`` is not set.
        MissingExtra: An embedded model needs ``pip install "active-critic[local]"``.
        DownloadFailed: The weights could not be fetched.
    """
    allowed = None if budget is None else as_budget(budget)
    timeout = plain_value(timeout)
    if timeout is not None and (type(timeout) not in {int, float} or not 0 < timeout < math.inf):
        raise ModelError(f"timeout is {timeout!r}; give the seconds that one reply may take, more than 0")
    context, workers = _whole("context", context, "tokens"), _whole("workers", workers, "calls in flight at once")
    for option, given in (("api_base", api_base), ("api_key_env", api_key_env)):
        if given is not None and not isinstance(given, str):
            raise ModelError(f"{option} is a text, not {given!r}; write for example {_TEXTS[option]}")
    model = _open(name, api_base, api_key_env, context, strict, workers, timeout)
    if allowed is not None:
        try:
            model.budget = allowed
        except BaseException:
            if model is not name:
                model.close()
            raise
    return model


_TEXTS = {"api_base": "http://127.0.0.1:8080/v1", "api_key_env": "OPENAI_API_KEY"}


def _whole(option: str, given: object, what: str) -> int | None:
    """An option that is a whole number above 0, NumPy's included, or None.

    Raises:
        ModelError: It is something else.
    """
    number = plain_value(given)
    if number is not None and (type(number) is not int or number < 1):
        raise ModelError(f"{option} is {given!r}; give a whole number of {what}, at least 1, or leave it out")
    return number


def _open(
    name: Any,
    api_base: str | None,
    api_key_env: str | None,
    context: int | None,
    strict: bool,
    workers: int | None,
    timeout: float | None,
) -> LanguageModel:
    if not isinstance(name, str):
        own = {"api_base": api_base, "api_key_env": api_key_env, "strict": strict, "timeout": timeout}
        if isinstance(name, LanguageModel):
            own |= {"context": context, "workers": workers}
        if given := [option for option, value in own.items() if value]:
            what = "a LanguageModel" if isinstance(name, LanguageModel) else "a dspy.LM"
            raise ModelError(f"{' and '.join(given)}: {what} brings its own; leave that out, or give the model's name")
        return name if isinstance(name, LanguageModel) else _wrap(name, workers or REMOTE_WORKERS, context)
    check_name(name, api_base, api_key_env, workers)
    if _is_embedded(name, api_base):
        model = _open_local(name, context or 16384, strict, timeout or LOCAL_TIMEOUT)
    else:
        model = _open_remote(
            name, api_base, api_key_env, context, strict, workers or REMOTE_WORKERS, timeout or REMOTE_TIMEOUT
        )
    options = {"--api-base": api_base, "--api-key-env": api_key_env}
    model.named_by = (name, *(part for option, value in options.items() if value for part in (option, value)))
    return model


def check_name(
    name: str, api_base: str | None = None, api_key_env: str | None = None, workers: int | None = None
) -> None:
    """Refuse what no model can be opened by, before anything is fetched or started; arguments as for :func:`open_lm`.

    Raises:
        UnknownModel: The name is empty.
        ModelError: The name is or holds an address that belongs elsewhere, or the model has no use for an option.
    """
    if not name.strip():
        raise UnknownModel("the model's name is empty; give for example local or openai/gpt-4.1-mini")
    before, marks, after = name.strip().partition("://")
    provider, _, scheme = before.rpartition("/")  # "huggingface/https://..." is a name
    if marks:
        address = f"{scheme}://{after}"
        try:
            shown = without_userinfo(address)
        except ValueError:
            shown = f"{scheme}://..."
        if shown != address or (not provider and api_base is None):  # a server may call its model by an address
            raise ModelError(
                f"{shown} stands where the name of a model belongs; give the address with api_base (--api-base), and "
                "keys in environment variables"
            )
    if _is_embedded(name, api_base):
        if (workers or 1) > 1:
            raise ModelError(f"{name} is embedded, and answers one call at a time; leave workers (--workers) out")
        if api_key_env is not None:
            raise ModelError(f"{name} is embedded, and asks for no key; leave api_key_env (--api-key-env) out")


def _is_embedded(name: str, api_base: str | None) -> bool:
    return api_base is None and ("/" not in name or name.lower().endswith(".gguf"))


def found_by_name(name: str) -> bool:
    """Whether a model that was once at an address of the user's own is found without saying that address again.

    It is where the name is one of the catalogue, or where a variable of its provider's says an address.
    """
    if "/" in name and not name.lower().endswith(".gguf"):
        return base_in_environment(name.split("/", 1)[0]) is not None
    try:
        find(name)
    except UnknownModel:
        return False
    return True


def names_a_place(name: str, api_base: str | None = None) -> bool:
    """Whether a name says where texts go, or which file is opened, so that only the user may say it.

    Args:
        name: The name of a model.
        api_base: The address that is given beside it, if one is: then nothing but an address in the name says so.
    """
    name = name.strip()
    if "://" in name:
        return True
    return api_base is None and (name.lower().endswith(".gguf") or "\\" in name or name.startswith(("/", ".")))


def _open_local(name: str, context: int, strict: bool, timeout: float) -> LanguageModel:
    from active_critic.lm.server import LocalServer, open_weights

    path, sha256, model = open_weights(name)
    label = model.name if model else Path(path).stem
    if model is not None:
        context = min(context, model.context)
    spare_loopback_the_proxy("127.0.0.1")
    server = LocalServer(path, alias=label, context=context)
    server.start()
    import_dspy()

    def post(path: str, body: dict[str, Any]) -> Any:
        return server.post(path, body, timeout)

    send, hang_up = directly(f"openai/{label}", server.api_key, server.api_base, timeout)

    def close() -> None:
        hang_up()
        server.close()

    return LanguageModel(
        label,
        send,
        identity={"name": label, "weights": sha256, "context": str(context)},
        context=min(context, server.context),  # it takes less where the model was trained for less
        workers=1,
        extensions={"cache_prompt": not strict},
        secrets=(server.api_key,),
        close=close,
        count_tokens=lambda text: len(post("/tokenize", {"content": text, "parse_special": True})["tokens"]),
        render=lambda turns: templated(post, turns),
        weigh=forcing(post, label, context=server.context, cached=not strict),
    )


def _open_remote(
    name: str,
    api_base: str | None,
    api_key_env: str | None,
    context: int | None,
    strict: bool,
    workers: int,
    timeout: float,
) -> LanguageModel:
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


def _wrap(inner: Any, workers: int, context: int | None) -> LanguageModel:
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
