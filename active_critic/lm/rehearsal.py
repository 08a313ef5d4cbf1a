"""A rehearsal: another model's stand-in, which answers every form at once, so that the work itself says what it takes.

Prompts are the real ones; replies are made up, in the form asked for and about as long as an embedded model's were
found to be. What the journal holds already is taken from there, and counted apart.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from itertools import takewhile
from operator import eq
from typing import TYPE_CHECKING, Any

from active_critic.lm.client import Capabilities, LanguageModel, Turn
from active_critic.lm.filling import RESPONSE, YES_OR_NO, Filler, one_word
from active_critic.lm.likelihood import Likelihood
from active_critic.lm.memory import Memory
from active_critic.lm.reply import as_response, text_of
from active_critic.lm.speed import Speed, speed_of
from active_critic.records import Usage

if TYPE_CHECKING:
    from dspy.lm15 import Request, Response

BYTES_PER_TOKEN = 4.0
"""Of text in general, where the model's own tokeniser is not at hand."""
TEMPLATE = 5
"""Tokens that a chat template puts around a message, where it is not at hand."""
ITEMS = {"criteria": 4}
"""How many entries of a list embedded models give; else half-way between the bounds."""
LENGTHS = {
    "name": 15,
    "definition": 65,
    "observations": 240,
    "task_type": 16,
    "evaluated": 50,
    "relation": 70,
}
"""Characters that embedded models were found to write in fields of these names, which may end in a number."""
REST, SHARE = 100, 0.85
"""Characters in any other field: this many, or this share of its bound where that is less."""
COMPLETE = 0.4
"""How often they say that a thing is so."""
_TEXT = (
    "the response keeps to what the source says and answers it in plain words without repeating itself or leaving out "
    "what matters to whoever reads it"
)


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a piece of work would take.

    Attributes:
        usage: Calls and tokens that would be paid for, and replies that the journal has (``replayed``); ``cost`` is in
            US dollars, None where the price is not known; ``seconds`` is not used.
        seconds: How long it would take, or None where the model's speed is not known.
        notes: What the figures rest on.
    """

    usage: Usage
    seconds: float | None
    notes: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """The estimate as plain JSON values."""
        return {
            "calls": self.usage.calls,
            "in_journal": self.usage.replayed,
            "prompt_tokens": self.usage.prompt_tokens,
            "cached_tokens": self.usage.cached_tokens,
            "completion_tokens": self.usage.completion_tokens,
            "cost": self.usage.cost,
            "seconds": None if self.seconds is None else round(self.seconds, 1),
            "notes": list(self.notes),
        }


def rehearsal(lm: LanguageModel) -> LanguageModel:
    """A stand-in for a model, with its identity and its limits; it makes no call, and has no memory yet."""
    understudy = _Understudy(lm)
    return LanguageModel(
        lm.name,
        understudy.send,
        identity=lm.identity,
        context=lm.context,
        workers=1,  # in one order, so that what shares a prefix is seen to
        extensions=lm.extensions,
        capabilities=_forms(lm),
        price=lambda response: lm.price_of(understudy.tokens(response)),
        weigh=understudy.weigh if lm.may_weigh else None,
    )


def estimate(lm: LanguageModel, work: Callable[[LanguageModel], object], kept: Sequence[tuple[str, str]]) -> Estimate:
    """What a piece of work would take with a model, found by doing it with a stand-in.

    Args:
        lm: The model; no call is made to it. Its memory says what is paid for already.
        work: Does the work with the model that it is given.
        kept: Requests and replies of earlier calls, from the journal; those of this model say how fast it is.
    """
    twin = rehearsal(lm)
    twin.memory = overlay = _Overlay(lm.memory)
    work(twin)
    usage = replace(twin.usage, seconds=0.0, replayed=len(overlay.found))
    speed = speed_of(lm, kept)
    notes = ["replies are made up, as long as an embedded model's were found to be; a real one may write more or less"]
    if lm.count_tokens is None:
        notes.append(f"tokens are reckoned as {BYTES_PER_TOKEN:g} bytes of text each")
    if usage.calls and speed is not None:
        notes.append(f"time as {speed.origin}")
    return Estimate(usage, _seconds(usage, speed, lm.workers), tuple(notes))


def _seconds(usage: Usage, speed: Speed | None, workers: int) -> float | None:
    if not usage.calls:
        return 0.0
    return None if speed is None else speed.seconds(usage) / max(1, workers)


def _forms(lm: LanguageModel) -> Capabilities | None:
    """What the stand-in can do; as far as it is known of the model, for the journal's sake. It always takes forms."""
    known = lm.known_capabilities
    return None if known is None else replace(known, json_schema=True)


class _Overlay:
    """The memory of a model, to which nothing is added: what is kept here is forgotten with this."""

    def __init__(self, below: Memory | None) -> None:
        self._below = below
        self._here: dict[str, str] = {}
        self.found: set[str] = set()

    def recall(self, key: str) -> str | None:
        kept = self._here.get(key)
        if kept is None and self._below is not None and (kept := self._below.recall(key)) is not None:
            self.found.add(key)
        return kept

    def keep(self, key: str, request: str, reply: str) -> None:
        del request
        self._here.setdefault(key, reply)


class _Understudy:
    """Answers in place of a model."""

    def __init__(self, lm: LanguageModel) -> None:
        self.lm = lm
        self.count = lm.count_tokens or (lambda text: math.ceil(len(text.encode("utf-8", "replace")) / BYTES_PER_TOKEN))
        # An embedded model keeps the last prompt, and reads what the next one shares with it no second time.
        self.caches = lm.weights is not None and lm.extensions.get("cache_prompt") is True
        self.last = ""

    @staticmethod
    def tokens(response: Response) -> Usage:
        used = response.usage
        return Usage(
            prompt_tokens=used.input_tokens or 0,
            cached_tokens=used.cache_read_tokens or 0,
            completion_tokens=used.output_tokens or 0,
        )

    def _read(self, turns: Sequence[Turn]) -> tuple[str, Usage]:
        if self.lm.render is not None:  # some templates add a system message of their own
            prompt = self.lm.render(turns)
            tokens = self.count(prompt)
        else:
            prompt = "\n".join(f"{role}\n{text}" for role, text in turns)
            tokens = self.count(prompt) + TEMPLATE * (len(turns) + 1)
        shared = _shared(prompt, self.last) if self.caches else 0
        self.last = prompt
        return prompt, Usage(prompt_tokens=tokens, cached_tokens=int(tokens * shared / max(1, len(prompt))))

    def send(self, request: Request) -> Response:
        from dspy.lm15 import TokenLogprob, TopLogprob

        turns: list[Turn] = [("system", text_of(request.system))] if request.system else []
        turns += [("user" if m.role == "user" else "assistant", text_of(m)) for m in request.messages]
        prompt, read = self._read(turns)
        rated = RESPONSE.findall("\n".join(text for role, text in turns if role == "user"))
        # Good responses are good whatever stands around them, and a little otherwise: as with a real model.
        value = 1 + 4 * (0.7 * _share(rated[-1] if rated else "") + 0.3 * _share(prompt))
        form: Any = request.config.response_format
        if isinstance(form, Mapping) and "schema" in form:
            text = json.dumps(_Plausible(form["schema"], value, prompt).fill(form["schema"]))
        elif turns[-1][1].endswith(YES_OR_NO):
            return as_response(self.lm.name, replace(read, completion_tokens=1), *one_word((value - 1) / 4))
        else:
            text = str(round(value))
        longest = request.config.max_tokens
        written = self.count(text) + 1
        low = min(4, int(value))
        levels = {str(low): 1 - (value - low), str(low + 1): value - low}
        top = tuple(TopLogprob(token=k, logprob=math.log(p)) for k, p in levels.items() if p > 0)
        logprobs = tuple(
            TokenLogprob(piece, math.log(levels.get(piece) or 1.0), top=top if piece.isdigit() else ())
            for piece in (text if request.config.logprobs is not None else "")
        )
        usage = replace(read, completion_tokens=min(written, longest) if longest else written)
        return as_response(self.lm.name, usage, text, logprobs)

    def weigh(self, turns: Sequence[Turn], text: str) -> Likelihood:
        _, read = self._read(turns)
        written = self.count(text)
        logprobs = [-1.0 - _share(text)] * max(1, written)
        return Likelihood.of(logprobs, "forced", replace(read, completion_tokens=written))


class _Plausible(Filler):
    """Fills in a form about as a model would."""

    def __init__(self, whole: Mapping[str, Any], value: float, prompt: str) -> None:
        super().__init__(whole, value, "")
        self.prompt = prompt

    def items(self, name: str, part: Mapping[str, Any]) -> int:
        low, high = int(part.get("minItems", 2)), int(part.get("maxItems", 4))
        return min(high, max(low, ITEMS.get(name, math.ceil((low + high) / 2))))

    def truth(self, name: str) -> bool:
        return _share(name + self.prompt) < COMPLETE

    def text(self, name: str, part: Mapping[str, Any]) -> str:
        number, bound = next(self.count), int(part.get("maxLength", 400))
        length = min(bound, LENGTHS.get(name.rstrip("_0123456789"), min(REST, int(SHARE * bound))))
        words = _TEXT.split()
        start = int(_share(f"{number} {self.prompt}") * len(words))
        said = " ".join([str(number), *words[start:], *words * 4])  # no two texts of a reply are the same
        return said[: length + 1].rpartition(" ")[0][:bound]


def _shared(one: str, other: str) -> int:
    """How many characters two texts begin with together."""
    return sum(1 for _ in takewhile(bool, map(eq, one, other)))


def _share(text: str) -> float:
    """A number from 0 to 1 that a text always has."""
    return int.from_bytes(sha256(text.encode("utf-8", "replace")).digest()[:4]) / 2**32
