"""Send one request through DSPy, once and within a time: through its engine, or through a whole ``dspy.LM``."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from active_critic.lm.bound import Bound
from active_critic.lm.deadline import within
from active_critic.lm.per_process import PerProcess
from active_critic.lm.thinning import Thinning

if TYPE_CHECKING:
    from dspy.clients.engines import LM15Engine
    from dspy.lm15 import Request, Response


def import_dspy() -> Any:
    """DSPy, which fetches nothing from the internet."""
    # Without it, the first price lookup through LiteLLM fetches a list.
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "true")
    import dspy

    return dspy


_SENDING: ContextVar[bool] = ContextVar("sending", default=False)


def _not_ours(_: logging.LogRecord) -> bool:
    """Keeps DSPy's remark on replies cut off at max_tokens off the terminal: a rating is asked for in few tokens."""
    return not _SENDING.get()


class _Engines(dict[Any, Any]):
    """The engines that a ``dspy.LM`` makes for itself: what comes to them goes through ``Thinning``, as by name."""

    def __setitem__(self, key: Any, engine: Any) -> None:
        engine.router._transport = Thinning(engine.router._shared_transport())
        super().__setitem__(key, engine)


def through_dspy(
    model: Any, timeout: float, reached: Mapping[str, Any] | None = None, *, own_endpoint: bool = False
) -> tuple[Callable[[Request], Response], Callable[[], None]]:
    """Functions that send one request through a ``dspy.LM``, and that close its connections.

    It is sent once, without DSPy's cache, retries and records.

    Args:
        model: The ``dspy.LM``, a copy of our own.
        timeout: Seconds for the whole reply; DSPy's own bounds only the wait for the next byte of it.
        reached: What goes with every request and says only how the model is reached; DSPy takes it from the request.
        own_endpoint: Whether it is reached at an address of the user's own.
    """
    from dataclasses import replace

    import dspy

    logging.getLogger("dspy.clients.lm").addFilter(_not_ours)
    model._engine_store = _Engines()

    def renewed() -> Any:
        if litellm := sys.modules.get("litellm"):  # it keeps the connections of all models in one place
            litellm.in_memory_llm_clients_cache.flush_cache()
        dspy.LM.close(model)  # this process's copies of its connections; it opens others
        return model

    own = PerProcess(renewed, model)
    bound = Bound() if own_endpoint and provider_of(model) == "openai-chat" else None

    def send(request: Request) -> Response:
        def once(sent: Request) -> Response:
            response: Response = model(sent)
            return response

        def exchange() -> Response:
            own()
            sending = _SENDING.set(True)
            told = {**(request.config.extensions or {}), **(reached or {})}
            whole = replace(request, model=model.model, config=replace(request.config, extensions=told or None))
            try:
                # DSPy's history would keep every prompt; its tracker would count what comes through lm.dspy twice.
                with dspy.context(disable_history=True, usage_tracker=None, callbacks=[]):
                    return bound.send(whole, once) if bound else once(whole)
            finally:
                _SENDING.reset(sending)

        return within(timeout, exchange)

    return send, lambda: dspy.LM.close(model)


def provider_of(model: Any) -> str | None:
    """What DSPy calls the provider that its own engine reaches a ``dspy.LM`` at; None: another engine does."""
    from dspy.clients.backend_selection import select_backend

    try:
        found: Any = select_backend(model)
        return str(found.resolution.provider) if found.native else None
    except Exception:  # what it raises of an engine of the user's own, and of settings that cannot be, differs
        return None


def usual_address(provider: str | None) -> str | None:
    """Where DSPy's own engine reaches a provider unless it is told otherwise: some are on this machine."""
    from dspy._vendor.lm15.registry import lookup

    found = lookup(provider) if provider else None
    return found.base_url if found else None


def directly(
    model: str, key: str | None, api_base: str | None, timeout: float
) -> tuple[Callable[[Request], Response], Callable[[], None]]:
    """Functions that send one request through DSPy's own engine, without a ``dspy.LM``, and that close its connections.

    A ``dspy.LM`` looks up prices, converts the reply to older forms and keeps records at every call, several times the
    work of the call itself. What is sent is the same, byte for byte, but for how an endpoint of one's own calls the
    longest that a reply may be (see ``bound``).

    Args:
        model: ``provider/model``, as DSPy writes it.
        key: The key; None: the provider's own variable.
        api_base: Address of the endpoint; None: the provider's own.
        timeout: Seconds for the whole reply; the engine's own bounds only the wait for the next byte of it.
    """
    from dataclasses import replace
    from urllib.request import getproxies

    from dspy._vendor.lm15.transports import StdlibTransport
    from dspy.clients.engines import LM15Engine
    from dspy.clients.engines.lm15_engine import timeouts_for
    from dspy.clients.errors import wrap_error
    from dspy.lm15 import RouterConfig

    provider = LM15Engine(RouterConfig(env={})).resolve(model).provider

    def connected() -> tuple[LM15Engine, StdlibTransport]:
        # Else the whole environment is searched for a proxy at every call.
        usual = StdlibTransport(
            **RouterConfig(timeouts=timeouts_for(timeout)).transport_kwargs(), trust_env=bool(getproxies())
        )
        engine = LM15Engine(
            RouterConfig(
                api_keys={provider: key} if key else None,
                base_urls={provider: api_base} if api_base else None,
                transport=Thinning(usual),
            )
        )
        return engine, usual

    own = PerProcess(connected, connected())
    bound = Bound() if api_base and provider == "openai-chat" else None

    def once(sent: Request) -> Response:
        engine, _ = own()
        try:
            return engine.complete(sent)
        except Exception as failure:
            raise wrap_error(failure, model=model, provider=provider) from failure

    def send(request: Request) -> Response:
        sent = replace(request, model=model)
        return within(timeout, lambda: bound.send(sent, once) if bound else once(sent))

    def close() -> None:
        if opened := own.let_go():
            _, usual = opened
            usual.close()

    return send, close
