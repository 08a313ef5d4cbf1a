"""Have an embedded model fill in a form that it need not write: what is fixed in it is read, the rest is written.

A form of ratings is mostly fixed: braces, the names of criteria, blanks. Written, each token of that is a step of its
own; read, they are one batch up to the next rating or text. A model sees the same tokens before a rating either way, so
that its probabilities are the same, but for what a prompt differs by that is read in other batches.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from active_critic.errors import ModelError
from active_critic.lm.deadline import given_up, within
from active_critic.lm.likelihood import templated
from active_critic.lm.made_up import turns_of
from active_critic.lm.reply import as_response
from active_critic.records import Usage

if TYPE_CHECKING:
    from dspy.lm15 import Request, Response, TokenLogprob

TEXTS = 256
"""Fixed texts of forms whose tokens are kept."""
LETTER = r"""[^"\\\x7F\x00-\x1F] | [\\] (["\\bfnrt] | "u" [0-9a-fA-F]{4})"""
"""A letter of a text in JSON, in llama.cpp's grammar."""
Post = Callable[[str, dict[str, Any]], Any]


@dataclass(frozen=True, slots=True)
class Prose:
    """A text that the model writes, with what closes it.

    Attributes:
        longest: How many characters it may have.
        end: What stands behind it up to the next space, which tokenisers put into one token with the text's last mark.
            A model that may not write that token would rather go on with the text.
    """

    longest: int
    end: str


Part = str | tuple[int, ...] | Prose
"""Of a form: a text that is fixed, the levels that a rating may have, or a text to be written."""


def parts_of(request: Request) -> list[Part]:
    """What the form consists of that a request asks for: by turns what is fixed and what is not.

    What is fixed comes first and last; the last of it may be empty. Nothing at all where the request asks for anything
    but ratings of one digit and texts behind them, does not ask for probabilities, or wants a draw. Ratings behind
    texts depend on these, and where two words are about as likely, a text comes out otherwise at a whim of the cache.
    """
    config = request.config
    form = config.response_format
    if config.logprobs is None or config.temperature != 0.0 or not isinstance(form, Mapping):
        return []
    parts: list[Part] = [""]
    try:
        for part in _walk(form["schema"]):
            before = parts[-1]
            if isinstance(part, str) and isinstance(before, str):
                parts[-1] = before + part
            elif isinstance(part, str) and isinstance(before, Prose):
                end, space, behind = part.partition(" ")
                parts[-1] = replace(before, end=before.end + end)
                if space:
                    parts.append(space + behind)
            else:
                parts.append(part)
    except (LookupError, TypeError):
        return []
    if isinstance(parts[-1], Prose):
        parts.append("")
    prose = [isinstance(part, Prose) for part in parts[1::2]]
    return parts if prose == sorted(prose) and prose[:1] == [False] else []


def steps_of(parts: Sequence[Part], text: str, count: Callable[[str], int]) -> tuple[int, int]:
    """How many tokens of a form are read behind the prompt, and how many are written.

    Args:
        parts: What it consists of.
        text: The form as it is filled in.
        count: Counts the tokens of a text.
    """
    fixed = [count(part) for part in parts if isinstance(part, str)]
    ratings = sum(isinstance(part, tuple) for part in parts)
    if isinstance(parts[-2], tuple):  # no text: the last rating is not read
        return sum(fixed[:-1]) + ratings - 1, ratings
    return sum(fixed[:-1]) + ratings, max(ratings, count(text) - sum(fixed))


def _walk(schema: Any) -> Iterator[Part]:
    if schema["type"] == "object":
        fields = schema["properties"]
        if not fields or list(fields) != schema["required"]:
            raise LookupError("fields that may be left out")
        for place, (name, inner) in enumerate(fields.items()):
            yield f"{', ' if place else '{'}{json.dumps(name, ensure_ascii=False)}: "
            yield from _walk(inner)
        yield "}"
    elif schema["type"] == "integer" and set(levels := schema["enum"]) <= set(range(10)):
        yield tuple(levels)
    elif schema["type"] == "string" and set(schema) == {"type", "maxLength"}:
        yield '"'
        yield Prose(schema["maxLength"], '"')
    else:
        raise LookupError("neither a digit nor a text")


def stepping(
    send: Callable[[Request], Response], post: Post, name: str, timeout: float, at_once: Callable[[], bool]
) -> Callable[[Request], Response]:
    """A function that has forms of ratings and texts filled in step by step, and sends other requests as ``send`` does.

    Args:
        send: Sends any request; also a form that cannot be filled in so, and then says why.
        post: Sends a request to a path of llama.cpp's server, which has a prefix cache, and returns its answer.
        name: The model's name.
        timeout: Seconds for the whole reply.
        at_once: Whether the model is known to begin with the form, and not with a thought.
    """

    def tokens(text: str, *, special: bool) -> list[int]:
        found = post("/tokenize", {"content": text, "add_special": special, "parse_special": special})
        return list(found["tokens"])

    @lru_cache(TEXTS)
    def fixed(text: str) -> list[int]:
        """The tokens of a fixed text; none where a digit behind it would not be one more."""
        alone, followed = tokens(text, special=False), tokens(f"{text}1", special=False)
        return alone if followed[:-1] == alone else []

    def filled(request: Request, parts: Sequence[Part]) -> Response | None:
        texts = [fixed(part) for part in parts if isinstance(part, str) and part]
        longest = request.config.max_tokens
        ratings = sum(isinstance(part, tuple) for part in parts)
        room = longest - sum(map(len, texts)) - ratings if longest else None
        if not all(texts) or (room is not None and room < 0):
            return None
        prompt = tokens(templated(post, turns_of(request)), special=True)
        filling = _Filling(prompt, lambda body: post("/completion", body), request.config.logprobs, room)
        return filling.response(name) if filling.fill(parts, texts) else None

    def stepped(request: Request) -> Response:
        if not (parts := parts_of(request)) or not at_once():
            return send(request)
        try:
            found = within(timeout, lambda: filled(request, parts))
        except ModelError:
            found = None
        return found or send(request)

    return stepped


class _Filling:
    """A form that is being filled in behind a prompt.

    Args:
        prompt: The tokens of the prompt.
        complete: Has the server go on behind tokens.
        shown: How many alternatives of a rating are wanted.
        room: How many tokens all texts together may have; None: any number.
    """

    def __init__(
        self, prompt: list[int], complete: Callable[[dict[str, Any]], Any], shown: int | None, room: int | None
    ) -> None:
        self._behind, self._complete, self._shown, self._room = prompt, complete, shown, room
        self._said: list[TokenLogprob] = []
        self._cached: int | None = None
        self._read = self._ratings = self._prose = 0
        self._cut = False

    def fill(self, parts: Sequence[Part], texts: Iterable[list[int]]) -> bool:
        """Fill it in; whether that could be done so: not where the server says other than is expected.

        Args:
            parts: What the form consists of.
            texts: The tokens of its fixed texts.
        """
        from dspy.lm15 import TokenLogprob

        fixed = iter(texts)
        for part in parts:
            if isinstance(part, str):
                self._behind = self._behind + next(fixed, [])
                self._said.append(TokenLogprob(part, 0.0))
            elif given_up() or not (self._rate(part) if isinstance(part, tuple) else self._write(part)):
                return False
            if self._cut:
                break
        return True

    def response(self, name: str) -> Response:
        """The form as it was filled in, by a model of this name."""
        used = Usage(
            prompt_tokens=self._read, cached_tokens=self._cached or 0, completion_tokens=self._ratings + self._prose
        )
        text = "".join(token.token for token in self._said)
        return as_response(name, used, text, tuple(self._said), cut=self._cut)

    def _rate(self, levels: tuple[int, ...]) -> bool:
        from dspy.lm15 import TokenLogprob, TopLogprob

        answer = self._next(f"root ::= [{''.join(map(str, levels))}]", n_predict=1, n_probs=self._shown)
        steps = answer.get("completion_probabilities") or []
        if len(steps) != 1 or steps[0]["logprob"] is None or len(answer["tokens"]) != 1:
            return False
        others = [one for one in steps[0]["top_logprobs"] if one["logprob"] is not None]
        top = tuple(TopLogprob(one["token"], one["logprob"]) for one in others)
        self._said.append(TokenLogprob(steps[0]["token"], steps[0]["logprob"], top=top))
        self._behind = self._behind + answer["tokens"]
        self._ratings += 1
        return True

    def _write(self, prose: Prose) -> bool:
        from dspy.lm15 import TokenLogprob

        if self._room == 0:
            self._cut = True
            return True
        grammar = f"root ::= letter{{0,{prose.longest}}} {json.dumps(prose.end)}\nletter ::= {LETTER}"
        answer = self._next(grammar, n_predict=-1 if self._room is None else self._room)
        self._cut = answer["stop_type"] != "eos"
        written = answer["tokens"] if self._cut else answer["tokens"][:-1]  # the end is no part of it
        self._said.append(TokenLogprob(answer["content"], 0.0))
        self._behind = self._behind + written
        self._prose += len(written)
        if self._room is not None:
            self._room -= len(written)
        return True

    def _next(self, grammar: str, **how: Any) -> Any:
        """What the server writes next under this grammar."""
        common = {"grammar": grammar, "return_tokens": True, "temperature": 0.0, "cache_prompt": True}
        answer = self._complete({"prompt": self._behind, **common, **how})
        if self._cached is None:
            self._cached = max(0, len(self._behind) - answer["timings"]["prompt_n"])
        self._read = len(self._behind) - self._prose
        return answer
