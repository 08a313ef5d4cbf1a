"""A scripted language model, for tests: what it answers is written by the test, not generated."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from active_critic.lm.client import Capabilities, LanguageModel, Turn
from active_critic.lm.likelihood import Likelihood
from active_critic.lm.made_up import one_word, tokens_used, turns_of
from active_critic.lm.marks import YES_OR_NO
from active_critic.lm.reply import as_response
from active_critic.lm.thinning import NEVER
from active_critic.records import Usage

if TYPE_CHECKING:
    from dspy.lm15 import Request, Response


def scripted_lm(
    answer: Callable[[list[Turn]], str],
    *,
    levels: Callable[[list[Turn]], Mapping[str, float]] | None = None,
    likelihood: Callable[[list[Turn], str], Sequence[float]] | None = None,
    approves: Callable[[list[Turn]], float] | None = None,
    capabilities: Capabilities | None = None,
    name: str = "scripted",
    context: int | None = None,
    workers: int = 1,
) -> LanguageModel:
    """A language model whose replies come from a function. For tests only: it judges nothing.

    Args:
        answer: From the conversation (role, text) to the reply's text; may raise a ``ModelError``.
        levels: From the conversation to the probabilities of the digits, given at *every* digit token of the reply.
            Without it, a digit in the reply has probability 1.
        likelihood: From the conversation and a text to the log-probabilities of the text's tokens; may raise a
            ``ModelError``. Without it, the model refuses to weigh texts.
        approves: From a conversation that ends in a question of yes or no to the probability of yes; may raise a
            ``ModelError``. Without it, such a question is answered like any other.
        capabilities: What it claims to be able to do; default: everything.
        name: Its name.
        context: Its context window in tokens.
        workers: Calls in flight at once.
    """
    from dspy.lm15 import TokenLogprob, TopLogprob

    def send(request: Request) -> Response:
        turns = turns_of(request)
        if approves is not None and turns[-1][1].endswith(YES_OR_NO):
            return as_response(name, Usage(prompt_tokens=10, completion_tokens=1), *one_word(approves(turns)))
        text = answer(turns)
        logprobs: tuple[TokenLogprob, ...] = ()
        if request.config.logprobs is not None:
            given = dict(levels(turns)) if levels else {}
            logprobs = tuple(
                TokenLogprob(
                    token=piece,
                    logprob=math.log(probability) if (probability := _probability(piece, given)) else NEVER,
                    top=tuple(
                        TopLogprob(token=k, logprob=math.log(p)) for k, p in (given or {piece: 1.0}).items() if p > 0
                    )
                    if piece.isdigit()
                    else (),
                )
                for piece in text
            )
        return as_response(name, tokens_used(turns, text), text, logprobs)

    def weigh(turns: Sequence[Turn], text: str) -> Likelihood:
        logprobs = likelihood(list(turns), text) if likelihood else ()
        read = sum(len(t) for _, t in turns) + len(text)
        return Likelihood.of(logprobs, "prompt", Usage(prompt_tokens=read // 4))

    everything = Capabilities(json_schema=True, probabilities=True)
    return LanguageModel(
        name,
        send,
        context=context,
        workers=workers,
        capabilities=capabilities or everything,
        weigh=weigh if likelihood else None,
        wait=lambda _: None,
    )


def _probability(piece: str, given: Mapping[str, float]) -> float:
    """How probable a letter of a reply is: certain, but for a digit where the test says how probable digits are."""
    return given.get(piece, 0.0 if piece.isdigit() and given else 1.0)
