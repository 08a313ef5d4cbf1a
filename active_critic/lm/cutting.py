"""Whether an endpoint reads whole prompts: some cut one that does not fit their context window, and say nothing.

Ollama does, at 4,096 tokens or less unless it is told otherwise, and counts what is left of the prompt. So the count
that comes with a reply is held against the fewest tokens that the prompt can have. Where it is lower, one more call
tells whether the endpoint cuts prompts, or leaves out of its counts what it has read before. A prompt that no window of
a known size can hold is not sent.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from active_critic.errors import ContextOverflow, ModelError, RequestRefused
from active_critic.lm.reply import texts_of
from active_critic.locks import OneAtATime
from active_critic.records import Usage

if TYPE_CHECKING:
    from dspy.lm15 import Request

WORDS = 1.5
"""Words, parted by white space, that a token stands for on average in no prompt of any length."""
LONGEST_TOKEN = 8.0
"""Bytes that a token stands for on average in no prompt of any length."""
SMALLEST_WINDOW = 512
"""Tokens: an endpoint that says it read fewer does not mean the length of what it read."""
WRITTEN = 16
"""Tokens that the further call may write; fewer are refused by some."""


def refuse_too_long(request: Request, name: str, context: int | None) -> None:
    """Refuse a prompt that can by no means fit.

    Args:
        request: What is to be asked.
        name: The model's name.
        context: Size of its context window in tokens, or None when unknown.

    Raises:
        ContextOverflow: The prompt has more bytes than so many tokens can stand for.
    """
    if context is None:
        return
    size = sum(len(text.encode("utf-8", "replace")) for text in texts_of(request))
    if size > LONGEST_TOKEN * context:
        raise ContextOverflow(
            f"{name}: the prompt has {size:,} bytes, more than the context window of {context:,} tokens can hold"
        )


def fewest_tokens(request: Request) -> int:
    """The fewest tokens that a prompt can have, by its words: next to none in scripts that part no words."""
    return int(sum(len(text.split()) for text in texts_of(request)) / WORDS)


class CutPrompts:
    """Looks for prompts that one endpoint has cut.

    Args:
        name: The model's name.
        pay: Sends a request, and gives what it cost.
    """

    def __init__(self, name: str, pay: Callable[[Request], Usage]) -> None:
        self._name = name
        self._pay = pay
        self._one_finds_out = OneAtATime()
        self._cuts = False
        self._whole = 0  # of the prompts that were found to be read as a whole, the longest, by its fewest tokens

    def check(self, request: Request, used: Usage) -> Usage:
        """Make sure that a prompt was read as a whole.

        Args:
            request: What was asked.
            used: What the reply cost.

        Returns:
            The same, with what it cost to find out.

        Raises:
            ContextOverflow: It was cut, so that the reply is to something else.
            ModelError: The further call that finds out fails.
        """
        if used.prompt_tokens < SMALLEST_WINDOW:
            return used
        fewest = fewest_tokens(request)
        if fewest <= self._whole or not _short(used, fewest):
            return used
        try:
            cuts, cost = self._found_to_cut(request, fewest)
        except ModelError as problem:  # the reply, which may be one to something else, was paid for too
            problem.usage = used + problem.usage if isinstance(problem.usage, Usage) else used
            raise
        if cuts:
            cut = ContextOverflow(
                f"{self._name}: the endpoint read {used.prompt_tokens:,} tokens of a prompt of at least {fewest:,}; it "
                "cuts what does not fit its context window, and does not say so. Give it a larger window (Ollama: "
                "OLLAMA_CONTEXT_LENGTH where it is started, or num_ctx in a Modelfile)"
            )
            cut.sent, cut.usage = True, used + cost
            raise cut
        return used + cost

    def _found_to_cut(self, request: Request, fewest: int) -> tuple[bool, Usage]:
        """Whether it cuts prompts, and what it cost to find out."""
        cost = Usage()
        with self._one_finds_out(self._name):
            if not self._cuts and fewest > self._whole:
                # Nothing that begins with this was read before, so that all that is read is counted.
                new = f"{secrets.token_hex(8)}\n{request.system or ''}"
                config = replace(request.config, max_tokens=min(WRITTEN, request.config.max_tokens or WRITTEN))
                try:
                    cost = self._pay(replace(request, system=new, config=config))
                    self._cuts = _short(cost, fewest)
                except RequestRefused as refused:  # as the first one was not: it cannot be told
                    cost = refused.usage if isinstance(refused.usage, Usage) else cost
                if not self._cuts:
                    self._whole = fewest
            return self._cuts, cost


def _short(used: Usage, fewest: int) -> bool:
    """Whether so few tokens were read of a prompt."""
    return used.prompt_tokens >= SMALLEST_WINDOW and used.prompt_tokens + used.cached_tokens < fewest
