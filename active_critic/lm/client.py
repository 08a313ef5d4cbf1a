"""One client for every language model: counts, retries, remembers, and never shows a key."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar

from active_critic import errors
from active_critic.lm import stopping
from active_critic.lm.budget import Budget, at_most, prompt_tokens_at_most
from active_critic.lm.capabilities import Capabilities as Capabilities
from active_critic.lm.capabilities import Probing
from active_critic.lm.cutting import CutPrompts, refuse_too_long
from active_critic.lm.engine import Engine
from active_critic.lm.likelihood import Likelihood, Weigh, refusal
from active_critic.lm.memory import Memory as Memory
from active_critic.lm.memory import chat, lasts, weighing
from active_critic.lm.paying import Payer
from active_critic.lm.purse import Purse
from active_critic.lm.remembering import Remembering
from active_critic.lm.reply import END, as_response, closed, failure_in, is_flat, reply_from, usage_of
from active_critic.lm.reply import Reply as Reply
from active_critic.lm.reply import Token as Token
from active_critic.lm.reply import Turn as Turn
from active_critic.lm.retrying import ALL_OR_NOTHING, RETRIES, SPREAD, Waiting
from active_critic.lm.wording import Wording
from active_critic.records import Usage

if TYPE_CHECKING:
    from dspy.lm15 import Message, Request, Response

PROVIDERS = "the provider's own"
"""Stands for the address of a model where none was given."""
MESSAGES = 128
"""Messages kept ready to be sent, the latest used ones; more than the demonstrations of any prompt."""


class LanguageModel:
    """A language model that can be asked things; also by DSPy's modules, see :attr:`dspy`.

    Use :func:`active_critic.lm.open_lm` to get one.

    Args:
        name, identity, context, workers, extensions, count_tokens, render: See below.
        send: Sends a request once, and gives what came.
        capabilities: What the endpoint can do, where it need not be asked.
        price: What a reply cost in US dollars, or None where that is not known; None: that of no reply is.
        secrets: What no message may show.
        close: What :meth:`close` does.
        weigh: Asks once for a likelihood; None: there is no way to ask for one.
        wait: Waits so many seconds before the endpoint is asked again.

    Attributes:
        name: The model's name as the user gave it.
        identity: What makes a reply reproducible: name, and the endpoint's address or the weights' sha256.
        context: Size of the context window in tokens, or None when unknown.
        workers: How many calls may be in flight at once.
        extensions: Parameters of the endpoint's own that go with every request.
        count_tokens: How many tokens the model's own tokeniser makes of a text, where it is at hand; else None.
        render: The prompt that the model's own chat template makes of a conversation, likewise.
        waiting: How many threads wait at this moment to ask the endpoint again, as ``waiting.now``.
        named_by: What names it on the command line: its name or file, and the options that say how it is reached.
    """

    _engine: ClassVar[type[Engine]] = Engine

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
        weigh: Weigh | None = None,
        count_tokens: Callable[[str], int] | None = None,
        render: Callable[[Sequence[Turn]], str] | None = None,
        wait: Callable[[float], None] = stopping.pause,
    ) -> None:
        self.name = name
        self.named_by: tuple[str, ...] = (name,)
        self.identity = dict(identity or {"name": name})
        self.context = context
        self.workers = workers
        self._send = send
        self._wording = Wording()
        self.extensions = dict(extensions or {})
        self.count_tokens = count_tokens
        self.render = render
        self._capabilities = capabilities
        self._price = price
        self._secrets = tuple(secret for secret in secrets if secret)
        self._close = close
        self._weigh = weigh
        self._weighs: bool | None = None
        self._retries = RETRIES
        self._wait = wait
        self.waiting = Waiting()
        self._probing, self._weighing = Probing(), Probing()
        self._purse = Purse(name, self.price_of, lambda: lasts(self.memory))
        self._memories = Remembering(name, self._purse.count)
        self._cut = CutPrompts(name, lambda request: self._pay(request)[1])
        self._message = lru_cache(MESSAGES)(_message)  # instructions and demonstrations come again with every item
        self._dspy: Any = None

    def __repr__(self) -> str:
        return f"LanguageModel({self.name!r})"

    def __copy__(self) -> LanguageModel:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> LanguageModel:
        return self  # connections, budget and bill are one

    def __reduce__(self) -> Any:
        raise TypeError(
            f"{self!r} is open and cannot be pickled; give an evaluator the model's name, which each process opens for "
            "itself, or have each process open_lm() its own and load() the saved program with it"
        )

    def __enter__(self) -> LanguageModel:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop the embedded server, where there is one, and close connections. Safe to call twice."""
        if self._close is not None:
            self._close()

    @property
    def memory(self) -> Memory | None:
        """Where replies are kept here and now, or None."""
        return self._memories.now

    @memory.setter
    def memory(self, memory: Memory | None) -> None:
        self._memories.usual = memory

    @property
    def own_memory(self) -> Memory | None:
        """Where the replies to this very work are kept: never in the memory of a block that only others are in."""
        return self._memories.own

    @property
    def usage(self) -> Usage:
        """What all calls through this object have cost so far."""
        return self._purse.spent

    @property
    def budget(self) -> Budget | None:
        """What may be spent on calls through this object from when this is set (None: no limit); see ``Account``.

        A call that it does not allow raises ``BudgetSpent``. Setting it raises a ``ModelError`` where it limits money
        and the model has no known price.
        """
        return None if self._purse.account is None else self._purse.account.budget

    @budget.setter
    def budget(self, budget: Budget | None) -> None:
        self._purse.limit(budget)

    @property
    def budgets(self) -> Sequence[Budget]:
        """All budgets that hold here and now."""
        return [account.budget for account in self._purse.accounts]

    def limited(self, budget: Budget) -> AbstractContextManager[None]:
        """Spend no more than this for the length of a ``with`` block; see ``spending.spending``.

        Raises:
            ModelError: The budget limits money, and the model has no known price.
        """
        return self._purse.limited(budget)

    def telling(self, count: Callable[[Usage], None]) -> AbstractContextManager[None]:
        """Tell this, too, what is spent on the work of a ``with`` block (see ``scope``); once, in blocks within it."""
        return self._purse.telling(count)

    def price_of(self, usage: Usage) -> float | None:
        """What so many tokens cost in US dollars by the provider's price list, or None where that is not known."""
        return None if self._price is None else self._price(as_response(self.name, usage))

    @property
    def check_command(self) -> str:
        """The command that finds out what it can do."""
        return shlex.join(["active-critic", "lm", "check", *self.named_by])

    @property
    def own_address(self) -> bool:
        """Whether it is reached at an address that was given, not at its provider's public one."""
        return self.identity.get("endpoint", PROVIDERS) != PROVIDERS

    @property
    def weights(self) -> str | None:
        """sha256 of the weights of an embedded model, else None."""
        return self.identity.get("weights")

    @property
    def capabilities(self) -> Capabilities:
        """What the endpoint can do; found by asking on first use (two to seven small calls, kept in the journal).

        Raises:
            ModelError: The endpoint cannot be used at all.
        """
        with self._probing():
            if self._capabilities is None:
                from active_critic.lm.check import probe

                self._capabilities = probe(self)
            return self._capabilities

    @property
    def known_capabilities(self) -> Capabilities | None:
        """What the endpoint can do, as far as it has been asked."""
        return self._capabilities

    @property
    def may_weigh(self) -> bool:
        """Whether there is a way to ask for a likelihood at all; see :attr:`gives_likelihood`."""
        return self._weigh is not None

    @property
    def gives_likelihood(self) -> bool:
        """Whether :meth:`likelihood` can be had; found by one tiny call on first use (none where it is known not to).

        Raises:
            ModelError: The endpoint cannot be used at all.
        """
        with self._weighing():
            if self._weighs is None:
                from active_critic.lm.check import weighs

                self._weighs = weighs(self)
            return self._weighs

    @contextmanager
    def remembering(self, memory: Memory | None) -> Iterator[LanguageModel]:
        """Keep all replies in this memory for the length of a ``with`` block.

        It is so for the work of this block, and of threads that are in none and have no journal of their own
        (see ``scope.Blocks``).
        """
        with self._memories.within(memory):
            yield self

    def keeping(self, opened: Callable[[], Memory]) -> AbstractContextManager[None]:
        """Keep the replies to the work of a ``with`` block (see ``scope``) in a memory of its own.

        Where all replies are kept in one memory (:meth:`remembering`), these are, too.

        Args:
            opened: The memory; called when it is needed.
        """
        return self._memories.keeping(opened)

    @contextmanager
    def repeating(self, number: int) -> Iterator[LanguageModel]:
        """Ask anew for the length of a ``with`` block: the memory knows only replies of the repeat of this number.

        Number 0 is what is asked otherwise, so that its replies come from the memory as ever. It is so for the work of
        this block only (see ``scope``), not for what other threads ask at the same time.
        """
        with self._memories.repeating(number):
            yield self

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

    def fill(
        self,
        turns: Sequence[Turn],
        schema: Mapping[str, Any],
        *,
        max_tokens: int,
        top_logprobs: int | None = None,
        temperature: float = 0.0,
        stop: Sequence[str] = (),
        sample: int = 0,
    ) -> Reply:
        """Have a form filled in: :meth:`ask`, with the schema and the temperature where the endpoint takes them.

        Args:
            turns: The conversation, which shows the form as well.
            schema: The form.
            max_tokens: Upper bound of the form's length in tokens; a model that thinks first has more.
            top_logprobs: See :meth:`ask`.
            temperature: Sampling temperature.
            stop: Strings at which the reply ends if no schema ends it.
            sample: See :meth:`ask`.

        Raises:
            ModelError: As in :meth:`ask`.
        """
        can = self.capabilities
        ends = END if can.json_schema and self.weights is not None and is_flat(schema) else ""
        if can.json_schema or can.thinks:  # a stop may stand in what is thought, and many refuse it
            stop = (ends,) if ends else ()
        reply = self.ask(
            turns,
            max_tokens=max_tokens + can.room,
            schema=schema if can.json_schema else None,
            top_logprobs=top_logprobs,
            temperature=temperature if can.temperature else None,
            stop=stop,
            sample=sample,
        )
        return closed(reply) if ends else reply

    def likelihood(self, turns: Sequence[Turn], text: str) -> Likelihood:
        """How likely the model finds this text as the assistant's reply to a conversation; it writes nothing itself.

        Args:
            turns: The conversation, system message first; it ends with the user's message.
            text: The reply to weigh. The end of the reply is not part of it: a text and its continuation compare.

        Raises:
            RequestRefused: The endpoint gives no log-probabilities of a given text, or the text is empty.
            ModelError: The endpoint could not be reached or refused; retryable failures have been retried.
        """
        weigh = self._weigh
        if weigh is None:
            raise errors.RequestRefused(refusal(self.name))
        if not text:
            raise errors.RequestRefused(f"{self.name}: an empty text has no likelihood; leave such texts out")

        def most() -> Usage:
            return Usage(calls=1, prompt_tokens=prompt_tokens_at_most([*(said for _, said in turns), text]))

        def pay() -> Likelihood:
            try:
                weighed, usage = self._payer.pay(lambda: weigh(turns, text), lambda found: found.usage, most)
            except errors.RequestRefused as refused:
                refused.args = (refusal(str(refused)),)
                raise
            return replace(weighed, usage=usage)

        asked = weighing(self.identity, turns, text, self.extensions)
        return self._memories.once(asked, Likelihood.from_json, pay)

    @property
    def dspy(self) -> Any:
        """This model as a ``dspy.LM``, for DSPy modules; DSPy's own cache and retries are off."""
        if self._dspy is None:
            self._dspy = self._engine(self.name, lambda: self.capabilities, self._ask).as_dspy()
        return self._dspy

    def _request(self, turns: Sequence[Turn], **config: Any) -> Request:
        from dspy.lm15 import Config, Request

        system = "\n\n".join(text for role, text in turns if role == "system")
        messages = tuple(self._message(role, text) for role, text in turns if role != "system")
        return Request(model=self.name, system=system or None, messages=messages, config=Config(**config))

    def _ask(self, request: Request, sample: int = 0) -> Reply:
        refuse_too_long(request, self.name, self.context)
        if self.extensions:
            extensions = {**(request.config.extensions or {}), **self.extensions}
            request = replace(request, config=replace(request.config, extensions=extensions))
        asked = chat(self.identity, request, sample)
        return self._memories.once(asked, Reply.from_json, lambda: self._send_and_read(request))

    def _send_and_read(self, request: Request) -> Reply:
        response, usage = self._pay(request)
        return reply_from(response, self._check_whole(request, usage))

    def _pay(self, request: Request) -> tuple[Response, Usage]:
        from dspy.utils.exceptions import LMError, LMProviderError

        def send() -> Response:
            sent = self._wording.worded(request)
            try:
                came = self._send(sent)
            except LMError as failure:
                if self._wording.refused(sent, str(failure)):
                    failure.in_other_words = True
                raise
            if wrong := failure_in(came):
                raise LMProviderError(wrong, status=200)
            return came

        def most() -> Usage:
            return at_most(self._wording.worded(request), self.context)

        return self._payer.pay(send, lambda came: usage_of(came, self._price), most)

    def _check_whole(self, request: Request, used: Usage) -> Usage:
        """Make sure that the endpoint read all of a prompt; an embedded server refuses one that is too long."""
        return self._cut.check(request, used) if self.weights is None else used

    @property
    def _payer(self) -> Payer:
        spread = SPREAD if self.workers > 1 else 0.0
        paying = (self.name, self._secrets, self._purse.accounts, self._purse.count)
        return Payer(*paying, self._retries, self._pause, spread, outlast=self._outlasts)

    @property
    def _outlasts(self) -> bool:
        """Whether an outage is waited out: that of an endpoint which has answered, where the work would end with it."""
        return ALL_OR_NOTHING.now and self.weights is None and self.usage.prompt_tokens > 0

    def _pause(self, seconds: float) -> None:
        with self.waiting:
            self._wait(seconds)


def _message(role: str, text: str) -> Message:
    from dspy.lm15 import Message

    return Message.user(text) if role == "user" else Message.assistant(text)
