"""A provider's failures as errors of this package, without secrets."""

from __future__ import annotations

import re
from collections.abc import Sequence

from active_critic import errors
from active_critic.records import Usage

_PLACE = re.compile(r"(failed to connect|timed out connecting) to (\S+:\d+)")
"""What DSPy's client says of a connection that does not come about. Reasons in verdicts, which are passed on, name no
address: it is in a note."""
_NO_CONNECTION = {"ConnectError", "ConnectTimeout", "ConnectionRefusedError", "gaierror"}
"""What errors are called in the clients in use, and in Python, where a connection does not come about."""
LONGER = "A model that takes longer may be given more time: --timeout SECONDS, in Python open_lm(timeout=...)."
"""What helps where no reply comes in time."""
LONGEST_PAGE = 100
"""Characters of what a web server says where there is no endpoint."""
_TOO_LONG = re.compile(
    r"available context|context length of only|maximum context length|must have less than \d+ tokens"
    r"|prompt is too long|exceeds the maximum number of tokens|request too large",
    re.IGNORECASE,
)
"""What llama.cpp, LM Studio, vLLM, TGI, Anthropic, Gemini and Groq say of a prompt that does not fit, all without
OpenAI's code for it; Groq's is one that no minute's allowance of tokens holds."""
_WITHHELD = re.compile("moderation|flagged|content (?:filter|policy)", re.IGNORECASE)
"""What a 403 says that is about the text, and not about the key, as OpenRouter sends it."""
_PARAMETER = re.compile(r"logprobs|response_format|json.?schema|grammar|guided", re.IGNORECASE)
"""What a 403 (OpenAI, of its models that think) or a 5xx says that is about what was asked for beside the text."""
_NONE_TAKES_IT = re.compile("no endpoints found (?:that|matching)", re.IGNORECASE)
"""What OpenRouter's 404 says where there is the model, and none who serves it takes these parameters or terms."""
_KEY = re.compile(r"api.?key (?:is )?(?:not valid|invalid|expired)|(?:invalid|expired) api.?key", re.IGNORECASE)
"""What a 400 says that is about the key, as Gemini sends it."""
_UNPAID = re.compile(r"credit balance|insufficient (?:credits?|balance|funds|quota)", re.IGNORECASE)
"""What a 400 says that is about the account, as Anthropic sends it."""


def translate(failure: Exception, name: str, secrets: Sequence[str] = ()) -> errors.ModelError | None:
    """A provider's failure as one of ours, with every secret blanked; None when it is not a provider's failure."""
    from dspy.utils import exceptions as theirs

    if isinstance(failure, errors.ModelError):
        return failure
    if isinstance(failure, (ConnectionError, TimeoutError)):
        down = errors.EndpointDown(f"{name}: {failure}")
        down.may_be_billed = not _never_reached(failure)
        if isinstance(failure, TimeoutError):
            down.add_note(LONGER)
        return down
    if not isinstance(failure, theirs.LMError):
        return None
    said = str(failure)
    for secret in secrets:
        said = said.replace(secret, "***")
    said = re.sub(r"^\[[^]]*\](?: |$)", "", said)
    said = re.split(r"\n\n  (?:To fix|credential came from):", said)[0].strip()
    wordless = not said
    said = said or (f"HTTP {failure.status}, without a word" if failure.status else type(failure).__name__)
    if said.startswith("<"):
        said = _page(said)
    wait = failure.retry_after
    status = failure.status or 0
    of_a_parameter = status == 501 or ((status == 403 or status >= 500) and _PARAMETER.search(said))
    if of_a_parameter or (status == 403 and _WITHHELD.search(said)):
        return _refused(failure, name, said)
    invalid = isinstance(failure, theirs.LMInvalidRequestError)
    if isinstance(failure, (theirs.LMAuthError, theirs.LMNotConfiguredError)) or (invalid and _KEY.search(said)):
        return errors.AuthenticationFailed(
            f"{name}: the endpoint does not accept the key ({said}). Keys are read from the environment only: "
            "set the right one in the variable that --api-key-env names, or else in OPENAI_API_KEY or in the "
            "provider's own."
        )
    if isinstance(failure, theirs.LMBillingError) or (invalid and _UNPAID.search(said)):
        return errors.BillingStopped(f"{name}: the account cannot be billed ({said})")
    too_long = status == 413 or ((invalid or status == 429) and _TOO_LONG.search(said))
    if isinstance(failure, theirs.ContextWindowExceededError) or too_long:
        return errors.ContextOverflow(f"{name}: the prompt does not fit the model's context window ({said})")
    if isinstance(failure, theirs.LMRateLimitError):
        return errors.RateLimited(f"{name}: the provider asks to slow down ({_by(status, said)})", retry_after=wait)
    if status == 404 and _NONE_TAKES_IT.search(said):
        return _refused(failure, name, said)
    if isinstance(failure, theirs.LMUnsupportedModelError) or (status == 404 and _is_of_a_model(said, name)):
        return _anew(
            errors.UnknownModel(f"{name}: the endpoint has no such model ({said}){_asked_as(failure)}"), failure
        )
    if status == 404:
        came = "" if wordless else f" (it said: {_page(said)})"
        where = "nothing answers at this address"
        remedy = "an OpenAI-compatible address usually ends in /v1"
        return _anew(errors.UnknownModel(f"{name}: 404: {where}{came}; {remedy}"), failure)
    garbled = type(failure) is theirs.LMProviderError and failure.status in {None, 200}
    # What DSPy's client says of a reply that it stumbles over: a NaN in what should be JSON, a count that is no number.
    garbled = garbled or isinstance(failure, theirs.LMUnexpectedError)
    if garbled or isinstance(failure, (theirs.LMTransportError, theirs.LMTimeoutError, theirs.LMServerError)):
        bare = _by(status, _PLACE.sub(r"\1", said))
        down = errors.EndpointDown(f"{name}: the endpoint does not answer ({bare})", retry_after=wait)
        if tried := _PLACE.search(said):
            down.add_note(f"It {tried[0]}.")
        down.may_be_billed = failure.status in {None, 200} and not _never_reached(failure)
        return down
    if isinstance(failure, theirs.LMConfigurationError):
        return errors.UnknownModel(f"{name}: {said}")
    return _refused(failure, name, said)


def withheld(name: str, usage: Usage) -> errors.RequestRefused:
    """What a reply is taken for that a content filter has ended."""
    refused = errors.RequestRefused(f"{name}: the provider's content filter withheld the reply")
    refused.usage = usage
    return refused


def _by(status: int, said: str) -> str:
    """What an endpoint says, behind the status that says it failed; many a gateway's words alone tell nothing."""
    return said if status < 400 or str(status) in said else f"HTTP {status}: {said}"


def _refused(failure: Exception, name: str, said: str) -> errors.ModelError:
    return _anew(errors.RequestRefused(f"{name}: the endpoint refused the request ({said})"), failure)


def _anew(error: errors.ModelError, failure: Exception) -> errors.ModelError:
    """An error that may pass where the failure says that the next attempt is in other words."""
    error.retryable = getattr(failure, "in_other_words", False)
    return error


def _asked_as(failure: Exception) -> str:
    """By which names a model was asked for, where it was by several (see ``naming``)."""
    names = getattr(failure, "asked_as", "")
    return f"; it was asked for {names}" if names else ""


def _page(said: str) -> str:
    """The beginning of what a web server says."""
    page = " ".join(said.split())
    return f"{page[:LONGEST_PAGE]}{'…' * (len(page) > LONGEST_PAGE)}"


def _never_reached(failure: BaseException) -> bool:
    """Whether no connection came about, as the clients say it, so that nothing was sent."""
    named: set[BaseException] = set()
    cause: BaseException | None = failure
    while cause is not None and cause not in named:
        named.add(cause)
        cause = cause.__cause__ or cause.__context__
    return any(_NO_CONNECTION & {kind.__name__ for kind in type(one).__mro__} for one in named)


def _is_of_a_model(said: str, name: str) -> bool:
    """Whether a 404 says that a model is missing; else there is no endpoint at this address."""
    called = re.escape(name.rpartition("/")[2])
    return re.search(rf"model|deployment|(?<!\w){called}(?!\w)", said, re.IGNORECASE) is not None
