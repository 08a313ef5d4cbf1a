"""A language model as DSPy's modules ask it: the engine of a ``dspy.LM``, and our errors out of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from active_critic.errors import ActiveCriticError
from active_critic.lm.capabilities import Capabilities
from active_critic.lm.failures import withheld
from active_critic.lm.reply import Reply, as_response

if TYPE_CHECKING:
    from dspy.lm15 import Request, Response


class Engine:
    """Answers DSPy's requests through a model's own journal, counting and retries.

    Args:
        name: The model's name.
        capabilities: What it can do; asked when that is needed.
        ask: Has it answer a request.
    """

    def __init__(self, name: str, capabilities: Callable[[], Capabilities], ask: Callable[[Request], Reply]) -> None:
        self._name, self._capabilities, self._ask = name, capabilities, ask

    @property
    def supports_response_schema(self) -> bool:
        """Whether DSPy's adapters may send a JSON schema."""
        return self._capabilities().json_schema

    @property
    def supported_params(self) -> frozenset[str]:
        """The parameters DSPy's adapters may set."""
        always = {"temperature", "max_tokens", "stop", "logprobs", "top_logprobs"}
        return frozenset(always | ({"response_format"} if self._capabilities().json_schema else set()))

    def complete(self, request: Request) -> Response:
        """Answer a DSPy request (``dspy.lm15.Request``).

        Raises:
            RequestRefused: A content filter has ended the reply: DSPy would take it for one that was written so.
            ModelError: The endpoint cannot be used.
        """
        from dspy.lm15 import TokenLogprob, TopLogprob

        reply = self._ask(self._capabilities().with_room(request))
        if reply.finish_reason == "content_filter":
            raise withheld(self._name, reply.usage)
        tokens = tuple(
            TokenLogprob(t.text, t.logprob, top=tuple(TopLogprob(text, value) for text, value in t.top))
            for t in reply.tokens
        )
        return as_response(
            reply.model or self._name, reply.usage, reply.text, tokens, cut=reply.finish_reason == "length"
        )

    def as_dspy(self) -> Any:
        """The ``dspy.LM`` that sends its requests through this; DSPy's own cache and retries are off."""
        import dspy

        temperature = 0.0 if self._capabilities().temperature else None
        return dspy.LM(self._name, engine=self, cache=False, num_retries=0, temperature=temperature)


@contextmanager
def own_errors() -> Iterator[None]:
    """Within this block, our errors come out of DSPy modules as they are, not as an ``LMUnexpectedError``."""
    try:
        yield
    except Exception as failure:
        if isinstance(failure.__cause__, ActiveCriticError):
            raise failure.__cause__ from None
        raise
