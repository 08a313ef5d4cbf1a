"""The likelihood of a text at an endpoint of one's own, which reads it as part of a prompt and echoes it."""

from __future__ import annotations

import itertools
import json
import math
import re
import weakref
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, NoReturn

from active_critic.errors import ModelError, UnreadableReply
from active_critic.lm.body import EndlessReply, bounded_client
from active_critic.lm.deadline import within
from active_critic.lm.likelihood import Likelihood
from active_critic.lm.per_process import PerProcess
from active_critic.lm.reply import Turn, possible
from active_critic.records import Usage

_ANSWER = "Assistant:\n"
"""What stands before the text, as the end of the prompt."""
_BLANKS = " \n\t▁ĠĊĉ"
"""Blanks, and how tokenisers write them."""
_UNMATCHED = (
    "the tokens that the endpoint gives with the echoed prompt cannot be matched to it, so that it is not known which "
    "of their log-probabilities are the text's"
)
_PART = "\ufffd"
"""How a token is written that is no more than a part of a character, by most servers."""


class Echoing:
    """Weighs texts at an OpenAI-compatible endpoint whose ``/completions`` echoes prompts with their log-probabilities.

    This protocol knows no chat template, so the conversation is rendered plainly: ``User: ...``, a blank line and
    ``Assistant:`` on a line of its own before the text. A token that holds both the end of that line and the beginning
    of the text counts with the text. Safe to use from threads, which share connections.

    Args:
        model: The model's name on the wire.
        api_base: The endpoint's address, ending in ``/v1`` as a rule.
        key: The key, or None where none is wanted.
        timeout: Seconds to wait for the whole answer.
    """

    def __init__(self, model: str, api_base: str, key: str | None, timeout: float) -> None:
        self._model, self._api_base, self._key, self._timeout = model, api_base, key, timeout
        self._client = PerProcess(self._connected)

    def __call__(self, turns: Sequence[Turn], text: str) -> Likelihood:
        """The likelihood of a text as the reply to a conversation; see ``likelihood.Weigh``."""
        client, _ = self._client()  # no part of the time
        return within(self._timeout, lambda: self._exchange(client, turns, text))

    def close(self) -> None:
        """Close the connections; a later call opens others. Safe to call twice."""
        if opened := self._client.let_go():
            _, hang_up = opened
            hang_up()

    def _connected(self) -> tuple[Any, Callable[[], object]]:
        """One client for all calls, since to make one takes longer than a call does; and what closes it."""
        import openai

        try:
            http = bounded_client()
        except Exception:  # what each library raises differs, and quotes it
            raise ModelError(
                f"{self._model}: no likelihood can be asked for through the proxy that HTTP_PROXY, HTTPS_PROXY "
                "or ALL_PROXY names; set an http:// one, or name the endpoint's host in NO_PROXY"
            ) from None
        client = openai.OpenAI(
            api_key=self._key or "none",
            base_url=self._api_base,
            max_retries=0,
            timeout=self._timeout,
            http_client=http,
        )
        return client, weakref.finalize(self, http.close)

    def _exchange(self, client: Any, turns: Sequence[Turn], text: str) -> Likelihood:
        import openai
        from dspy.utils.exceptions import LMProviderError, LMUnsupportedFeatureError

        prompt = "".join(f"{role.capitalize()}: {said}\n\n" for role, said in turns) + _ANSWER
        try:
            # One token is written and passed over: some servers take 0 for "as many as fit".
            came = client.completions.with_raw_response.create(
                model=self._model, prompt=prompt + text, max_tokens=1, temperature=0, echo=True, logprobs=1
            )
        except openai.APIError as failure:
            raise _failure(failure) from None
        answer = _document(came.content)
        try:
            return Likelihood.of(_echoed(answer, prompt, text), "prompt", _usage(answer))
        except (LMProviderError, LMUnsupportedFeatureError, UnreadableReply) as useless:
            useless.usage = _usage(answer)
            raise


def _document(body: bytes) -> dict[str, Any]:
    """The answer, which says that it is one.

    Raises:
        LMError: It cannot be read, or tells of a failure.
    """
    try:
        answer = json.loads(body)
    except (ValueError, RecursionError) as problem:
        _garbled(f"its answer is not JSON ({problem})")
    if not isinstance(answer, dict):
        _garbled("its answer is no JSON object")
    if error := answer.get("error"):
        told = error if isinstance(error, dict) else {"message": error}
        code = told.get("code")
        status = int(str(code)) if re.fullmatch("[45][0-9]{2}", str(code)) else None
        raise _failed(str(told.get("message") or error), status, code)
    return answer


def _garbled(said: str) -> NoReturn:
    """The answer is none that this protocol knows: the endpoint is at fault, as where it answers chat so."""
    from dspy.utils.exceptions import LMProviderError

    raise LMProviderError(said)


def _failure(failure: Any) -> Exception:
    """What the OpenAI client raised, as DSPy would have raised it."""
    import openai

    said = str(failure.__cause__ if isinstance(failure.__cause__, EndlessReply) else failure)
    status = 408 if isinstance(failure, openai.APITimeoutError) else getattr(failure, "status_code", None)
    response = getattr(failure, "response", None)
    if status is not None and 300 <= status < 400:
        said = "it points to another address, and texts go nowhere but where you say; give that address"
    return _failed(said, status, failure.code, None if response is None else seconds_in(response.headers))


def _failed(said: str, status: int | None, code: object, wait: float | None = None) -> Exception:
    """A failure as DSPy would have raised it.

    Args:
        said: What the endpoint said.
        status: The HTTP status that it stands for; None: there is none.
        code: The endpoint's own word for it.
        wait: Seconds that it asks to wait.
    """
    from dspy.utils import exceptions as theirs

    if status in {408, 504}:
        kind = theirs.LMTimeoutError
    elif "context length" in said or "context size" in said or code == "context_length_exceeded":
        kind = theirs.ContextWindowExceededError
    elif status == 402 or code == "insufficient_quota":
        kind = theirs.LMBillingError
    elif status in {401, 403}:
        kind = theirs.LMAuthError
    elif status == 429 or code == "rate_limit_exceeded":
        kind = theirs.LMRateLimitError
    elif status is None:
        kind = theirs.LMTransportError
    elif status >= 500 and status != 501 and "echo" not in said:
        kind = theirs.LMServerError
    else:  # no 404 of ours: what is missing here is the way to weigh texts, not the model
        kind, status = theirs.LMUnsupportedFeatureError, None
    error: Exception = kind(message=said, status=status, retry_after=wait)
    return error


def seconds_in(headers: Mapping[str, str]) -> float | None:
    """How long an endpoint asks to wait, in seconds, which it may say as a date; None where it says nothing of use."""
    said = headers.get("retry-after", "")
    try:
        seconds = float(said)
    except ValueError:
        try:
            seconds = max(0.0, (parsedate_to_datetime(said) - datetime.now(UTC)).total_seconds())
        except (ValueError, TypeError, OverflowError):  # no date, or one without a zone
            return None
    return seconds if math.isfinite(seconds) and seconds >= 0 else None


def _echoed(answer: Mapping[str, Any], prompt: str, text: str) -> list[float]:
    """The log-probabilities of the text's tokens in an echoed prompt.

    Raises:
        LMUnsupportedFeatureError: The endpoint gives none.
        LMProviderError: Its answer is none that this protocol knows.
        UnreadableReply: Which of them are the text's cannot be told.
    """
    from dspy.utils.exceptions import LMUnsupportedFeatureError

    whole = prompt + text
    choices = answer.get("choices")
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        _garbled("there is no choice in its reply")
    echoed, given = choices[0].get("text"), choices[0].get("logprobs")
    if not isinstance(echoed, str | None):
        _garbled("the text in its reply is none")
    if not (echoed or "").startswith(whole):
        raise LMUnsupportedFeatureError("it does not echo the prompt")
    if not isinstance(given, dict | None):
        _garbled("its log-probabilities cannot be read")
    tokens, logprobs = (_listed(given or {}, name, kind) for name, kind in (("tokens", str), ("token_logprobs", float)))
    if not tokens or not logprobs:
        raise LMUnsupportedFeatureError("it gives no log-probabilities with the echoed prompt")
    # Some servers count a token before the prompt into the offsets, or bytes; the tokens themselves say better.
    starts = list(itertools.accumulate((len(token) for token in tokens), initial=0))[:-1]
    joined = "".join(tokens)
    begin = joined.find(whole)
    if begin >= 0:
        border, end = begin + len(prompt), begin + len(whole)
    elif found := _found_among(joined, starts, prompt, text, generated=echoed != whole):
        border, end = found
    else:
        starts = _listed(given or {}, "text_offset", int)
        border, end = len(prompt), len(whole)
        if starts and not _placed(tokens, starts, echoed or "", end):
            raise UnreadableReply(_UNMATCHED, reply="")
    if starts and len(starts) != len(logprobs):
        raise UnreadableReply(_UNMATCHED, reply="")
    first = max((start for start in starts if start <= border), default=border)
    values = [v for start, v in zip(starts, logprobs, strict=False) if first <= start < end]
    if not values or None in values:
        raise LMUnsupportedFeatureError("it gives no log-probabilities of the prompt's tokens")
    return values


def _found_among(
    joined: str, starts: Sequence[int], prompt: str, text: str, *, generated: bool
) -> tuple[int, int] | None:
    """Where a prompt, and a text behind it, end among joined tokens in which parts of characters stand as U+FFFD.

    Args:
        joined: The joined tokens.
        starts: Where each of them begins; before the prompt there may be one of the server's own.
        prompt: What the tokens begin with.
        text: What they go on with.
        generated: Whether something was written behind the text; then the last token is that.

    Returns:
        Both places; None where the tokens do not hold both, or where there is more than one way to find them.
    """

    def spelt(begin: int, end: int, said: str) -> bool:
        return len(said) in _reached(joined[begin:end], said)

    places = {
        (border.end(), end)
        for border in re.finditer(_ANSWER, joined)
        if any(spelt(begin, border.end(), prompt) for begin in starts[:2])
        for end in {starts[-1], starts[-1] if generated else len(joined)}
        if spelt(border.end(), end, text)
    }
    return places.pop() if len(places) == 1 else None


def _reached(written: str, text: str) -> set[int]:
    """How far a text may come by what is written, where a run of U+FFFD stands for up to as many characters.

    It stands for none where the token that completes the character is written as the whole of it.
    """
    reached = {0}
    for run in re.findall(f"{_PART}+|[^{_PART}]+", written):
        if run[0] != _PART:
            reached = {at + len(run) for at in reached if text.startswith(run, at)}
            continue
        further: set[int] = set()
        last = -1
        for at in sorted(reached):
            begin, last = max(at, last + 1), min(at + len(run), len(text))
            further.update(range(begin, last + 1))
        reached = further
    return reached


def _placed(tokens: Sequence[str], offsets: Sequence[int], echoed: str, end: int) -> bool:
    """Whether offsets can be believed: what was generated begins where the echo ends, and words stand in their places.

    Tokens that are no plain words are written by each server in its own way.
    """
    if len(offsets) != len(tokens) or offsets[-1] != end or any(a > b for a, b in itertools.pairwise(offsets)):
        return False
    spans = zip(tokens, itertools.pairwise((*offsets, len(echoed))), strict=True)
    words = ((token.strip(_BLANKS), span) for token, span in spans)
    return all(word in echoed[slice(*span)] for word, span in words if word.isascii() and word.isalnum())


def _listed(given: Mapping[str, Any], name: str, kind: type) -> list[Any]:
    """A list of what is of one kind; empty where there is none. A log-probability may be None: the first token's is."""
    found = given.get(name)
    if found is None:
        return []
    numbers = kind is float
    kinds: tuple[type, ...] = (int, float, type(None)) if numbers else (kind,)
    if not isinstance(found, list) or not all(isinstance(v, kinds) and not isinstance(v, bool) for v in found):
        _garbled(f"the {name} in its reply cannot be read")
    try:
        return [None if v is None else float(v) for v in found] if numbers else found
    except OverflowError:
        _garbled(f"the {name} in its reply cannot be read")


def _usage(answer: Mapping[str, Any]) -> Usage:
    """The tokens that it says it took; figures that no call can have make all of it unknown, which is zero."""
    used = answer.get("usage")
    used = used if isinstance(used, dict) else {}
    details = used.get("prompt_tokens_details")
    cached = details.get("cached_tokens") if isinstance(details, dict) else None
    read, written = used.get("prompt_tokens"), used.get("completion_tokens")
    if not all(map(possible, (read, written, cached))):
        return Usage()
    return Usage(prompt_tokens=read or 0, cached_tokens=cached or 0, completion_tokens=written or 0)
