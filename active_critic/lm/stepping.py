"""Have an embedded model rate in a form that it need not write: what is fixed in the form is read, ratings are written.

A form of ratings alone is mostly fixed: braces, the names of criteria, blanks. Written, each token of that is a step of
its own; read, they are one batch up to the next rating. The model sees the same tokens either way, so that a rating's
probabilities are the same, but for what a prompt differs by that is read in other batches.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
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
Post = Callable[[str, dict[str, Any]], Any]
Part = str | tuple[int, ...]
"""Of a form: a text that is fixed, or the levels that a rating may have."""


def parts_of(request: Request) -> list[Part]:
    """What the form consists of that a request asks for: fixed texts and ratings by turns, a text first and last.

    Empty where it asks for anything but ratings of one digit, does not ask for their probabilities, or wants a draw.
    """
    config = request.config
    form = config.response_format
    if config.logprobs is None or config.temperature != 0.0 or not isinstance(form, Mapping):
        return []
    parts: list[Part] = [""]
    try:
        for part in _walk(form["schema"]):
            if isinstance(part, str) and isinstance(parts[-1], str):
                parts[-1] += part
            else:
                parts.append(part)
    except (LookupError, TypeError):
        return []
    return parts


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
    else:
        raise LookupError("more than a digit")


def stepping(
    send: Callable[[Request], Response], post: Post, name: str, timeout: float, at_once: Callable[[], bool]
) -> Callable[[Request], Response]:
    """A function that has forms of ratings filled in step by step, and sends every other request as ``send`` does.

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
        texts = [fixed(part) for part in parts if isinstance(part, str)]
        longest = request.config.max_tokens
        if not all(texts) or (longest and sum(map(len, texts)) + len(parts) // 2 > longest):
            return None
        prompt = tokens(templated(post, turns_of(request)), special=True)
        return _filled(prompt, parts, texts, lambda body: post("/completion", body), name, request.config.logprobs)

    def stepped(request: Request) -> Response:
        if not (parts := parts_of(request)) or not at_once():
            return send(request)
        try:
            found = within(timeout, lambda: filled(request, parts))
        except ModelError:
            found = None
        return found or send(request)

    return stepped


def _filled(
    behind: list[int],
    parts: Sequence[Part],
    texts: Iterable[list[int]],
    complete: Callable[[dict[str, Any]], Any],
    name: str,
    shown: int | None,
) -> Response | None:
    """The form, filled in behind these tokens; None: the server says other than is expected."""
    from dspy.lm15 import TokenLogprob, TopLogprob

    fixed = iter(texts)
    said: list[TokenLogprob] = []
    read = cached = 0
    for part in parts:
        if isinstance(part, str):
            behind = behind + next(fixed)
            said.append(TokenLogprob(part, 0.0))
            continue
        if given_up():
            return None
        answer = complete(
            {
                "prompt": behind,
                "n_predict": 1,
                "n_probs": shown,
                "grammar": f"root ::= [{''.join(map(str, part))}]",
                "return_tokens": True,
                "temperature": 0.0,
                "cache_prompt": True,
            }
        )
        steps = answer.get("completion_probabilities") or []
        if len(steps) != 1 or steps[0]["logprob"] is None or len(answer["tokens"]) != 1:
            return None
        if not read:
            cached = max(0, len(behind) - answer["timings"]["prompt_n"])
        read = len(behind)
        others = [one for one in steps[0]["top_logprobs"] if one["logprob"] is not None]
        top = tuple(TopLogprob(one["token"], one["logprob"]) for one in others)
        said.append(TokenLogprob(steps[0]["token"], steps[0]["logprob"], top=top))
        behind = behind + answer["tokens"]
    used = Usage(prompt_tokens=read, cached_tokens=cached, completion_tokens=len(parts) // 2)
    return as_response(name, used, "".join(token.token for token in said), tuple(said))
