"""What a model answered: the text, its tokens with their probabilities, and what it cost."""

from __future__ import annotations

import codecs
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import orjson

from active_critic.lm.thinning import matters
from active_critic.records import Usage

if TYPE_CHECKING:
    from dspy.lm15 import Request, Response

Turn = tuple[str, str]
"""One message of a conversation: who speaks ("system", "user" or "assistant"), and the text."""

CEILING = 1e-2
"""Log-probability up to which one above 0 is an error of rounding; no probability is higher."""
NONE = -1e9
"""The log-probability of a token that has none that can be."""
_MEANT = {"▁": " ", "Ġ": " ", "Ċ": "\n", "ĉ": "\t"}
"""How SentencePiece and byte-level BPE write blanks and line ends in their tokens."""
_WRITTEN = re.compile(f"[{''.join(_MEANT)}]|<0x[0-7][0-9A-F]>")
MOST_TOKENS = 2**53
"""Larger figures of usage are none."""


END = "}\n"
"""Ends a form that is one object: behind it llama.cpp's grammar of a schema lets a model write twenty blanks, and many
do."""


@dataclass(frozen=True, slots=True)
class Token:
    """One generated token: its text, its log-probability, and the likeliest alternatives (text, log-probability).

    Or a run of tokens of which nothing but the text is read; see :func:`tokens_from`.
    """

    text: str
    logprob: float
    top: tuple[tuple[str, float], ...] = ()

    @classmethod
    def of(cls, text: str, logprob: Any, top: Iterable[tuple[str, Any]] = ()) -> Token:
        """From what an endpoint said, or a journal kept; what is no logarithm of a probability is left out."""
        known = _logarithm(logprob)
        alternatives = ((other, value) for other, said in top if (value := _logarithm(said)) is not None)
        return cls(text, NONE if known is None else known, tuple(alternatives))


def _logarithm(said: Any) -> float | None:
    """The logarithm of a probability, or None where this is none."""
    if isinstance(said, float) or type(said) is int:
        return min(said, 0.0) if -math.inf < said <= CEILING else None
    return None


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
        """The inverse of :meth:`to_json`.

        Raises:
            ValueError, KeyError, TypeError: It is none.
        """
        document = orjson.loads(text)
        if not all(isinstance(document[name], str) for name in ("text", "finish_reason", "model")):
            raise TypeError("a reply is made of texts")
        return cls(
            text=document["text"],
            finish_reason=document["finish_reason"],
            tokens=tuple(Token.of(text, logprob, top) for text, logprob, top in document["tokens"]),
            usage=Usage(**document["usage"]),
            model=document["model"],
        )


def is_flat(schema: Mapping[str, Any]) -> bool:
    """Whether a form is one object, with no other and no list in it."""
    return all(part.get("type") not in {"object", "array", None} for part in schema.get("properties", {}).values())


def closed(reply: Reply) -> Reply:
    """The reply with the brace that it was stopped at (see ``END``); one that was cut off stays as it is."""
    whole = reply.finish_reason != "stop" or reply.text.rstrip().endswith("}")
    return reply if whole else replace(reply, text=reply.text + "}")


def cut_in_thought(reply: Reply) -> bool:
    """Whether a reply ended at its longest before it began: the model thinks first, and may show it or not."""
    said = reply.text.lstrip()
    return reply.finish_reason == "length" and (
        not reply.text or (said.startswith("<think>") and "</think>" not in said)
    )


def usage_of(response: Response, price: Callable[[Response], float | None] | None = None) -> Usage:
    """The tokens of what DSPy's client brought, and what they cost in US dollars by this price list.

    Figures that no call can have make all of it unknown, which is zero.
    """
    used = response.usage
    figures = (used.input_tokens, used.output_tokens, used.cache_read_tokens, used.reasoning_tokens)
    if not all(map(possible, figures)):
        return Usage()
    read, written, thought = used.input_tokens or 0, used.output_tokens or 0, used.reasoning_tokens or 0
    # Some providers count what a model thinks apart from what it writes; the sum tells.
    apart = used.total_tokens is not None and used.total_tokens >= read + written + thought
    return Usage(
        prompt_tokens=read,
        cached_tokens=used.cache_read_tokens or 0,
        completion_tokens=written + (thought if apart else 0),
        cost=price(response) if price else None,
    )


def possible(figure: Any) -> bool:
    """Whether an endpoint may say this of the tokens of a call: nothing, or a number that every file can hold."""
    return figure is None or (type(figure) is int and 0 <= figure <= MOST_TOKENS)


def as_response(
    name: str, usage: Usage, text: str = ".", logprobs: tuple[Any, ...] = (), *, cut: bool = False
) -> Response:
    """A response such as DSPy's client brings, with these tokens counted; ``cut`` off at its longest, or not."""
    from dspy.lm15 import Message, Response
    from dspy.lm15 import Usage as DspyUsage

    return Response(
        id=None,
        model=name,
        message=Message.assistant(text),
        finish_reason="length" if cut else "stop",
        usage=DspyUsage(
            input_tokens=usage.prompt_tokens,
            output_tokens=usage.completion_tokens,
            cache_read_tokens=usage.cached_tokens,
        ),
        logprobs=logprobs or None,
    )


def reply_from(response: Response, usage: Usage) -> Reply:
    """What DSPy's client brought, as a reply that cost so much."""
    parts = response.message.parts
    said = response.text and "".join(p.text for p in parts if p.type == "text")  # a part may end within a word
    text = _whole(said or "\n".join(p.text for p in parts if p.type == "refusal"))
    return Reply(
        text=text,
        finish_reason=response.finish_reason,
        tokens=_as_text(tokens_from(response.logprobs or ()), text),
        usage=usage,
        model=_whole(response.model),
    )


def failure_in(response: Response) -> str | None:
    """What is wrong with a reply of an endpoint that failed and sent that as a success; None: it is a reply.

    A reply may be empty: what the model wrote is not shown (it thought), was cut off or withheld.
    """
    given = response.provider_data
    choices = given.get("choices") if isinstance(given, dict) else None
    first = choices[0] if choices and isinstance(choices[0], dict) else {}
    if first.get("finish_reason") == "error":
        error = first.get("error")
        said = error.get("message") if isinstance(error, dict) else None
        return f"its reply ends with an error{f': {said}' if said else ''}"
    if response.finish_reason != "stop" or response.logprobs or reply_from(response, Usage()).text.strip():
        return None
    if choices == [] or not response.usage.output_tokens:
        return "its reply is empty, and nothing was written"
    thought = response.usage.reasoning_tokens or any(part.type == "thinking" for part in response.message.parts)
    message = first.get("message")
    return "its reply is null" if isinstance(message, dict) and message.get("content") is None and not thought else None


def _whole(text: str) -> str:
    """The text with a question mark for each half of a surrogate pair, which no file can hold."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def tokens_from(given: Sequence[Any]) -> tuple[Token, ...]:
    """The generated tokens, put together from their bytes where the endpoint gives these.

    A token may hold only a part of a character; endpoints write such a token each in their own way. Here the character
    stands in the token that completes it, so that the joined tokens are the text. Neighbours that hold no digit, and of
    which nothing else is read, are one token here, with the least of their log-probabilities.
    """
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    begun = joined = False  # whether the decoder holds a part of a character; whether the last token takes more
    tokens: list[Token] = []
    for token in given:
        raw, text = token.bytes, token.token
        if begun or raw is not None or not text.isascii():
            known = raw is not None and max(raw, default=0) <= 255
            text = decoder.decode(bytes(raw) if known else _whole(text).encode())
            begun = bool(decoder.getstate()[0])
        if read := matters(text, not tokens):
            tokens.append(Token.of(text, token.logprob, ((_whole(t.token), t.logprob) for t in token.top)))
        elif joined:
            last, more = tokens[-1], Token.of(text, token.logprob)
            tokens[-1] = Token(last.text + text, min(last.logprob, more.logprob))
        else:
            tokens.append(Token.of(text, token.logprob))
        joined = not read
    return tuple(tokens)


def _as_text(tokens: tuple[Token, ...], text: str) -> tuple[Token, ...]:
    """The tokens of this text as they stand in it, where an endpoint gives them as its tokeniser writes them."""
    joined = "".join(token.text for token in tokens)
    if joined == text or not _WRITTEN.search(joined):
        return tokens

    def plain(written: str) -> str:
        return _WRITTEN.sub(lambda found: _MEANT.get(found[0]) or chr(int(found[0][3:5], 16)), written)

    return tuple(
        Token(plain(token.text), token.logprob, tuple((plain(other), value) for other, value in token.top))
        for token in tokens
    )


def text_of(part: object) -> str:
    """The text of a DSPy message, message part, or tuple of parts."""
    if isinstance(part, str):
        return part
    if isinstance(part, tuple):
        return "\n".join(text_of(piece) for piece in part)
    return str(getattr(part, "text", part))


def texts_of(request: Request) -> list[str]:
    """The texts of a prompt by message, first the system message, which may be empty."""
    return [text_of(request.system or ""), *(text_of(message.parts) for message in request.messages)]
