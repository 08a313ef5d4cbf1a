"""One client for every language model: counts, retries, remembers, and never shows a key."""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, Literal, Protocol

import orjson
import tenacity

from active_critic import errors
from active_critic.lm.failures import translate
from active_critic.lm.reply import Reply as Reply
from active_critic.lm.reply import Token as Token
from active_critic.lm.reply import tokens_from
from active_critic.records import Usage

if TYPE_CHECKING:
    from dspy.lm15 import Request, Response

Turn = tuple[Literal["system", "user", "assistant"], str]
"""One message of a conversation: who speaks, and the text."""

RETRIES = 3
"""Retries after a failed attempt; a request is sent at most 1 + RETRIES times."""
CHARS_PER_TOKEN = 3.0
"""A cautious figure for English, so that texts that are said to fit a context window do fit."""
LONGEST_WAIT = 60.0
"""Seconds; a longer Retry-After than this is waited for only this long before the next attempt."""


class Memory(Protocol):
    """Where replies that were paid for are kept (``journal.Journal`` is one)."""

    def recall(self, key: str) -> str | None:
        """What was kept under this key, or None."""

    def keep(self, key: str, request: str, reply: str) -> None:
        """Keep a reply, durably, before it is used."""


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What an endpoint was found to do, by asking it.

    Attributes:
        json_schema: Replies follow a JSON schema even when the prompt does not mention it.
        probabilities: Token log-probabilities with alternatives come with the reply.
        temperature: The endpoint takes ``temperature=0``.
        notes: What was refused, in the endpoint's words.
    """

    json_schema: bool = False
    probabilities: bool = False
    temperature: bool = True
    notes: tuple[str, ...] = field(default_factory=tuple)


class LanguageModel:
    """A language model that can be asked things; also a DSPy engine (``complete``), see :attr:`dspy`.

    Use :func:`active_critic.lm.open_lm` to get one.

    Attributes:
        name: The model's name as the user gave it.
        identity: What makes a reply reproducible: name, and the endpoint's address or the weights' sha256.
        context: Size of the context window in tokens, or None when unknown.
        workers: How many calls may be in flight at once.
        memory: Where replies are kept, or None.
    """

    def __init__(
        self,
        name: str,
        send: Callable[[Request], Response],
        *,
        identity: Mapping[str, str] | None = None,
        context: int | None = None,
        workers: int = 1,
        extensions: Mapping[str, Any] | None = None,
        capabilities: Capabilities | None = None,
        price: Callable[[Response], float | None] | None = None,
        secrets: Sequence[str] = (),
        close: Callable[[], None] | None = None,
        retries: int = RETRIES,
        wait: Callable[[float], None] = time.sleep,
    ) -> None:
        self.name = name
        self.identity = dict(identity or {"name": name})
        self.context = context
        self.workers = workers
        self.memory: Memory | None = None
        self._send = send
        self._extensions = dict(extensions or {})
        self._capabilities = capabilities
        self._price = price
        self._secrets = tuple(secret for secret in secrets if secret)
        self._close = close
        self._retries = retries
        self._wait = wait
        self._usage = Usage()
        self._lock = threading.Lock()
        self._probing = threading.Lock()
        self._asking: dict[str, threading.Lock] = {}
        self._dspy: Any = None

    def __repr__(self) -> str:
        return f"LanguageModel({self.name!r})"

    def __enter__(self) -> LanguageModel:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop the embedded server, where there is one. Safe to call twice."""
        if self._close is not None:
            self._close()

    @property
    def usage(self) -> Usage:
        """What all calls through this object have cost so far."""
        return self._usage

    @property
    def weights(self) -> str | None:
        """sha256 of the weights of an embedded model, else None."""
        return self.identity.get("weights")

    @property
    def capabilities(self) -> Capabilities:
        """What the endpoint can do; found by asking on first use (one to four tiny calls, kept in the journal).

        Raises:
            ModelError: The endpoint cannot be used at all.
        """
        with self._probing:
            if self._capabilities is None:
                from active_critic.lm.check import probe

                self._capabilities = probe(self)
            return self._capabilities

    @contextmanager
    def remembering(self, memory: Memory | None) -> Iterator[LanguageModel]:
        """Keep replies in this memory for the length of a ``with`` block."""
        before, self.memory = self.memory, memory
        try:
            yield self
        finally:
            self.memory = before

    def ask(
        self,
        turns: Sequence[Turn],
        *,
        max_tokens: int,
        schema: Mapping[str, Any] | None = None,
        top_logprobs: int | None = None,
        temperature: float | None = 0.0,
        stop: Sequence[str] = (),
        sample: int = 0,
    ) -> Reply:
        """Ask for one reply.

        Args:
            turns: The conversation, system message first.
            max_tokens: Upper bound of the reply's length in tokens.
            schema: A JSON schema the reply shall follow (only for endpoints found to honour one).
            top_logprobs: Ask for token log-probabilities with this many alternatives.
            temperature: Sampling temperature; None leaves it to the endpoint.
            stop: Strings at which the reply ends.
            sample: Tells apart repeated samples of the same request (temperature above 0) in the journal.

        Raises:
            ModelError: The endpoint could not be reached or refused; retryable failures have been retried.
        """
        return self._ask(
            self._request(
                turns,
                max_tokens=max_tokens,
                response_format=None if schema is None else {"type": "json_schema", "name": "reply", "schema": schema},
                logprobs=top_logprobs,
                temperature=temperature,
                stop=tuple(stop),
            ),
            sample,
        )

    def _request(self, turns: Sequence[Turn], **config: Any) -> Request:
        from dspy.lm15 import Config, Message, Request

        system = "\n\n".join(text for role, text in turns if role == "system")
        messages = tuple(
            Message.user(text) if role == "user" else Message.assistant(text)
            for role, text in turns
            if role != "system"
        )
        return Request(model=self.name, system=system or None, messages=messages, config=Config(**config))

    def _ask(self, request: Request, sample: int = 0) -> Reply:
        if self._extensions:
            extensions = {**(request.config.extensions or {}), **self._extensions}
            request = replace(request, config=replace(request.config, extensions=extensions))
        document = self._describe(request, sample)
        key = hashlib.sha256(document.encode()).hexdigest()
        memory = self.memory
        if memory is None:
            return self._send_and_read(request)
        with self._lock:
            turn = self._asking.setdefault(key, threading.Lock())
        try:
            with turn:  # the same question from two threads is paid for once
                kept = memory.recall(key)
                if kept is not None:
                    reply = replace(_kept(kept, key), usage=Usage(replayed=1))
                    self._count(reply.usage)
                    return reply
                reply = self._send_and_read(request)
                memory.keep(key, document, reply.to_json())
                return reply
        finally:
            with self._lock:
                self._asking.pop(key, None)

    def _send_and_read(self, request: Request) -> Reply:
        started = time.monotonic()
        response, attempts = self._attempt(request)
        reply = self._read(response, attempts, time.monotonic() - started)
        self._count(replace(reply.usage, calls=0))  # attempts were counted as they were made
        return reply

    def _describe(self, request: Request, sample: int) -> str:
        """What is really asked of which model, as canonical JSON: the journal's key is its hash."""
        config = {f.name: getattr(request.config, f.name) for f in fields(request.config)}
        asked = {
            "model": self.identity,
            "system": request.system,
            "messages": [[message.role, _plain(message.parts)] for message in request.messages],
            "config": {name: value for name, value in config.items() if value is not None and value != ()},
            "sample": sample,
        }
        if request.tools:
            asked["tools"] = request.tools
        try:
            return orjson.dumps(asked, default=_plain, option=orjson.OPT_SORT_KEYS).decode()
        except TypeError as problem:
            raise errors.RequestRefused(
                f"{self.name}: the request holds something that cannot be sent ({problem}); repair the text first"
            ) from None

    def _attempt(self, request: Request) -> tuple[Response, int]:
        """Send, and send again after failures that may pass; this is the only place that retries."""
        attempts = 0

        def once() -> Response:
            nonlocal attempts
            attempts += 1
            self._count(Usage(calls=1))
            try:
                return self._send(request)
            except Exception as failure:
                error = translate(failure, self.name, self._secrets)
                if error is None:
                    raise
                raise error from None

        def pause(state: tenacity.RetryCallState) -> float:
            failure = state.outcome.exception() if state.outcome else None
            asked = failure.retry_after if isinstance(failure, errors.ModelError) else None
            seconds = asked if asked is not None and asked >= 0 else float(2 ** (state.attempt_number - 1))
            return min(seconds, LONGEST_WAIT)

        retrying = tenacity.Retrying(
            stop=tenacity.stop_after_attempt(1 + self._retries),
            wait=pause,
            retry=tenacity.retry_if_exception(lambda e: isinstance(e, errors.ModelError) and e.retryable),
            sleep=self._wait,
            reraise=True,
        )
        return retrying(once), attempts

    def _read(self, response: Response, attempts: int, seconds: float) -> Reply:
        used = response.usage
        prompt = used.input_tokens or 0
        return Reply(
            text=response.text or "",
            finish_reason=response.finish_reason,
            tokens=tokens_from(response.logprobs or ()),
            usage=Usage(
                calls=attempts,
                prompt_tokens=prompt,
                cached_tokens=used.cache_read_tokens or 0,
                completion_tokens=used.output_tokens or 0,
                seconds=seconds,
                cost=self._price(response) if self._price else None,
            ),
            model=response.model,
        )

    def _count(self, usage: Usage) -> None:
        with self._lock:
            self._usage = self._usage + usage

    # --- the DSPy side: an engine, and a dspy.LM around it -------------------------------------------------

    @property
    def supports_response_schema(self) -> bool:
        """Whether DSPy's adapters may send a JSON schema."""
        return self.capabilities.json_schema

    @property
    def supported_params(self) -> frozenset[str]:
        """The parameters DSPy's adapters may set."""
        always = {"temperature", "max_tokens", "stop", "logprobs", "top_logprobs"}
        return frozenset(always | ({"response_format"} if self.capabilities.json_schema else set()))

    def complete(self, request: Request) -> Response:
        """Answer a DSPy request (``dspy.lm15.Request``), through the same journal, counting and retries."""
        from dspy.lm15 import Message, Response, TokenLogprob, TopLogprob
        from dspy.lm15 import Usage as DspyUsage

        reply = self._ask(request)
        tokens = tuple(
            TokenLogprob(t.text, t.logprob, top=tuple(TopLogprob(text, value) for text, value in t.top))
            for t in reply.tokens
        )
        return Response(
            id=None,
            model=reply.model or self.name,
            message=Message.assistant(reply.text),
            finish_reason="length" if reply.finish_reason == "length" else "stop",
            usage=DspyUsage(
                input_tokens=reply.usage.prompt_tokens,
                output_tokens=reply.usage.completion_tokens,
                cache_read_tokens=reply.usage.cached_tokens,
            ),
            logprobs=tokens or None,
        )

    @staticmethod
    @contextmanager
    def own_errors() -> Iterator[None]:
        """Within this block, our errors come out of DSPy modules as they are, not as an ``LMUnexpectedError``."""
        try:
            yield
        except Exception as failure:
            if isinstance(failure.__cause__, errors.ActiveCriticError):
                raise failure.__cause__ from None
            raise

    @property
    def dspy(self) -> Any:
        """This model as a ``dspy.LM``, for DSPy modules; DSPy's own cache and retries are off."""
        if self._dspy is None:
            import dspy

            temperature = 0.0 if self.capabilities.temperature else None
            self._dspy = dspy.LM(self.name, engine=self, cache=False, num_retries=0, temperature=temperature)
        return self._dspy


def _plain(value: object) -> Any:
    """What the journal's key is made from: one text part as its text, anything else with all that it holds."""
    if isinstance(value, tuple):
        only: Any = value[0] if len(value) == 1 else None
        return only.text if getattr(only, "type", None) == "text" else list(value)
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, (bytes, bytearray)):
        return {"sha256": hashlib.sha256(value).hexdigest()}
    raise TypeError(f"a {type(value).__name__}")


def _kept(text: str, key: str) -> Reply:
    try:
        return Reply.from_json(text)
    except (ValueError, KeyError, TypeError, AttributeError) as problem:
        raise errors.JournalError(
            f"a reply in the journal is damaged ({type(problem).__name__}, key {key}); delete that row, or move the "
            "journal away"
        ) from None


def text_of(part: object) -> str:
    """The text of a DSPy message, message part, or tuple of parts."""
    if isinstance(part, str):
        return part
    if isinstance(part, tuple):
        return "\n".join(text_of(piece) for piece in part)
    return str(getattr(part, "text", part))
