"""Open a language model by name: the embedded ones, any provider, any OpenAI-compatible address."""

from __future__ import annotations

from typing import Any

from active_critic.bounds import CONTEXT, WORKERS
from active_critic.data.cells import plain_value
from active_critic.errors import ModelError
from active_critic.figures_in_words import as_given
from active_critic.lm.client import LanguageModel
from active_critic.lm.embedded import LOCAL_TIMEOUT, open_embedded
from active_critic.lm.model_names import check_name, is_embedded
from active_critic.lm.remote import REMOTE_TIMEOUT, REMOTE_WORKERS, open_dspy, open_remote
from active_critic.lm.spending import Amounts, as_budget

LONGEST_TIMEOUT = 2**22
"""Seconds: seven weeks, beyond which some systems cannot wait."""


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
            whole number above 0 or far too large, ``strict`` neither True nor False, or the model has no use for an
            option.
        AuthenticationFailed: The variable named by ``api_key_env`` is not set.
        MissingExtra: An embedded model needs ``pip install "active-critic[local]"``.
        DownloadFailed: The weights could not be fetched.
    """
    allowed = None if budget is None else as_budget(budget)
    timeout = plain_value(timeout)
    if timeout is not None and (type(timeout) not in {int, float} or not 0 < timeout < LONGEST_TIMEOUT):
        most = f"more than 0 and less than {LONGEST_TIMEOUT:,}"
        raise ModelError(f"timeout is {timeout!r}; give the seconds that one reply may take, {most}")
    context = _whole("context", context, "tokens", CONTEXT)
    workers = _whole("workers", workers, "calls in flight at once", WORKERS)
    strict = plain_value(strict)
    if type(strict) is not bool:
        raise ModelError(f"strict is {strict!r}; it is True or False")
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


def _whole(option: str, given: object, what: str, most: int) -> int | None:
    """An option that is a whole number above 0, NumPy's included, or None.

    Raises:
        ModelError: It is something else.
    """
    number = plain_value(given)
    if number is not None and (type(number) is not int or not 1 <= number <= most):
        raise ModelError(
            f"{option} is {as_given(given)}; give a whole number of {what}, from 1 to {most:,}, or leave it out"
        )
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
        return name if isinstance(name, LanguageModel) else open_dspy(name, workers or REMOTE_WORKERS, context)
    check_name(name, api_base, api_key_env, workers)
    if is_embedded(name, api_base):
        model = open_embedded(name, context or 16384, strict, timeout or LOCAL_TIMEOUT)
    else:
        model = open_remote(
            name, api_base, api_key_env, context, strict, workers or REMOTE_WORKERS, timeout or REMOTE_TIMEOUT
        )
    options = {"--api-base": api_base, "--api-key-env": api_key_env}
    model.named_by = (name, *(part for option, value in options.items() if value for part in (option, value)))
    return model
