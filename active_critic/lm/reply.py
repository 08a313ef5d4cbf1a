"""What a model answered: the text, its tokens with their probabilities, and what it cost."""

from __future__ import annotations

import codecs
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import orjson

from active_critic.records import Usage

if TYPE_CHECKING:
    from dspy.lm15 import Response


@dataclass(frozen=True, slots=True)
class Token:
    """One generated token: its text, its log-probability, and the likeliest alternatives (text, log-probability)."""

    text: str
    logprob: float
    top: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True, slots=True)
class Reply:
    """What the model answered.

    Attributes:
        text: The visible answer.
        finish_reason: ``"stop"``, ``"length"`` (cut off at max_tokens), or another word of the provider's.
        tokens: The generated tokens where they were asked for and given, else empty. Alternatives are kept only
            where they can matter, that is at tokens that hold a digit and at the first one.
        usage: What this reply cost (zero, with ``replayed=1``, when it came from the journal).
        model: The model that the endpoint says it served.
    """

    text: str
    finish_reason: str = "stop"
    tokens: tuple[Token, ...] = ()
    usage: Usage = Usage()
    model: str = ""

    def to_json(self) -> str:
        """The reply as one JSON document, for the journal."""
        document = {
            "text": self.text,
            "finish_reason": self.finish_reason,
            "tokens": [[t.text, t.logprob, t.top] for t in self.tokens],
            "usage": self.usage.to_dict(),
            "model": self.model,
        }
        return orjson.dumps(document).decode()

    @classmethod
    def from_json(cls, text: str) -> Reply:
        """The inverse of :meth:`to_json`."""
        document = orjson.loads(text)
        return cls(
            text=document["text"],
            finish_reason=document["finish_reason"],
            tokens=tuple(
                Token(text, logprob, tuple((alternative, value) for alternative, value in top))
                for text, logprob, top in document["tokens"]
            ),
            usage=Usage(**document["usage"]),
            model=document["model"],
        )


def reply_from(response: Response, attempts: int, seconds: float, cost: float | None) -> Reply:
    """What DSPy's client brought, as a reply that took so many attempts and seconds and cost so many US dollars."""
    used = response.usage
    return Reply(
        text=response.text or "\n".join(p.text for p in response.message.parts if p.type == "refusal"),
        finish_reason=response.finish_reason,
        tokens=tokens_from(response.logprobs or ()),
        usage=Usage(
            calls=attempts,
            prompt_tokens=used.input_tokens or 0,
            cached_tokens=used.cache_read_tokens or 0,
            completion_tokens=used.output_tokens or 0,
            seconds=seconds,
            cost=cost,
        ),
        model=response.model,
    )


def tokens_from(given: Sequence[Any]) -> tuple[Token, ...]:
    """The generated tokens, put together from their bytes where the endpoint gives these.

    A token may hold only a part of a character; endpoints write such a token each in their own way. Here the character
    stands in the token that completes it, so that the joined tokens are the text.
    """
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    tokens: list[Token] = []
    for token in given:
        raw = token.bytes
        text = token.token if raw is None or max(raw, default=0) > 255 else decoder.decode(bytes(raw))
        matters = not tokens or any(map(str.isdigit, text))
        top = tuple((t.token, t.logprob) for t in token.top if math.isfinite(t.logprob)) if matters else ()
        tokens.append(Token(text, token.logprob if math.isfinite(token.logprob) else -1e9, top))
    return tuple(tokens)
