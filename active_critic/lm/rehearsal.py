"""A rehearsal: another model's stand-in, which answers every form at once, so that the work itself says what it takes.

Prompts are the real ones; replies are made up, in the form asked for and about as long as the model's own in the
journal, or as an embedded model's were found to be. What the journal holds already is taken from there, and counted
apart.
"""

from __future__ import annotations

import json
import math
import re
import time
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import cache
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from active_critic.lm.check import RATING_PROMPT, recalled
from active_critic.lm.client import Capabilities, LanguageModel, Reply, Turn
from active_critic.lm.habits import TRUE, Habits, habits_of, kind
from active_critic.lm.likelihood import Likelihood
from active_critic.lm.made_up import Filler, letters, one_word, turns_of
from active_critic.lm.marks import RESPONSE, YES_OR_NO
from active_critic.lm.memory import Memory
from active_critic.lm.reply import as_response
from active_critic.lm.speed import Speed, speed_of
from active_critic.records import Usage

if TYPE_CHECKING:
    from dspy.lm15 import Request, Response

BYTES_PER_TOKEN = 4.0
"""Of text in general, where the model's own tokeniser is not at hand."""
TEMPLATE = 5
"""Tokens that a chat template puts around a message, where it is not at hand."""
TURN = re.compile(r"(?=<\|im_start\|>)")
"""What begins a turn in the prompts of the embedded models."""
OWN = 60
"""Characters of a text from which a further sample of it has a number of its own."""
TAKES = 12
"""Times that work is rehearsed whose course depends on the replies, each time with other ones."""
EXTREMES = {1: False, 2: True}
"""Takes in which it rates as people did only where no demonstrations are shown, or only where some are."""
OUTCOMES = {1: "without demonstrations", 2: "with demonstrations"}
"""What these takes stand for, where the work shows demonstrations at all: it rates as if such programs were best."""
PATIENCE = 10.0
"""Seconds after which no further one is begun."""
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
        ranges: The least and the most that one of several rehearsals took, of ``calls``, ``prompt_tokens``,
            ``completion_tokens``, and ``cost`` and ``seconds`` where they are known. Empty where all took the same.
        outcomes: The same figures by the kind of program that turns out best (``OUTCOMES``), which decides most of what
            a search for demonstrations takes and which nobody knows beforehand. Empty where nothing is searched.
    """

    usage: Usage
    seconds: float | None
    notes: tuple[str, ...]
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    outcomes: Mapping[str, Mapping[str, float]] = field(default_factory=dict)

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
            "ranges": {name: list(ends) for name, ends in self.ranges.items()},
            "outcomes": {name: dict(figures) for name, figures in self.outcomes.items()},
            "notes": list(self.notes),
        }


def _stand_in(lm: LanguageModel, understudy: _Understudy, can: Capabilities | None) -> LanguageModel:
    """A model with the identity and the limits of another one, which makes no call, and has no memory yet."""
    return _StandIn(
        lm.name,
        understudy.send,
        identity=lm.identity,
        context=lm.context,
        workers=1,  # in one order, so that what shares a prefix is seen to
        extensions=lm.extensions,
        capabilities=lm.known_capabilities or can,
        price=lambda response: lm.price_of(understudy.tokens(response)),
        weigh=understudy.weigh if lm.may_weigh else None,
    )


def estimate(
    lm: LanguageModel,
    work: Callable[[LanguageModel], object],
    kept: Sequence[tuple[str, str]],
    *,
    takes: int = 1,
    scores: Mapping[str, float] | None = None,
) -> Estimate:
    """What a piece of work would take with a model, found by doing it with a stand-in.

    Args:
        lm: The model; no call is made to it. Its memory says what is paid for already.
        work: Does the work with the model that it is given.
        kept: Requests and replies of earlier calls, from the journal; those of this model say how fast it is, and how
            much it writes.
        takes: How often it is done at most, with other replies each time, where its course depends on them. The
            estimate is the middle one by tokens, with the range of all.
        scores: What people gave the responses, from 0 to 1: with it, prompts without demonstrations win one take, and
            those with some another.
    """
    speed, habits = speed_of(lm, kept), habits_of(lm, kept)
    found: list[tuple[Usage, float | None]] = []
    shown = False
    started = time.monotonic()
    count = _counting(lm)
    while len(found) < takes and (not found or time.monotonic() - started < PATIENCE):
        overlay = _Overlay(lm.memory)
        understudy = _Understudy(lm, len(found), scores or {}, count, habits)
        twin = _stand_in(lm, understudy, lm.known_capabilities or recalled(lm, overlay))
        with twin.remembering(overlay):  # whatever the work would keep: these replies are made up
            work(twin)
        usage = replace(twin.usage, seconds=0.0, replayed=len(overlay.found))
        found.append((usage, _seconds(usage, speed, lm.workers)))
        shown = shown or understudy.shown
    ranges = _ranges(found)
    outcomes = {}
    if scores and shown and ranges and len(found) > max(OUTCOMES):
        outcomes = {words: _figures(*found[take]) for take, words in OUTCOMES.items()}
    found.sort(key=lambda one: (one[0].prompt_tokens + one[0].completion_tokens, one[0].calls))
    usage, seconds = found[len(found) // 2]
    like = f"its {habits.replies:,} forms in the journal" if habits.replies else "an embedded model's were found to be"
    notes = [f"replies are made up, as long as {like}; a real one may write more or less"]
    if ranges:
        notes.append(f"what is asked depends on the replies: the ranges are those of {len(found)} rehearsals")
    elif takes > 1 and len(found) == 1:
        notes.append("what is asked depends on the replies, and there was time for one rehearsal only: no range")
    if overlay.granted and lm.weights is None:
        granted = " and ".join(sorted(overlay.granted, reverse=True))
        notes.append(
            f"it is taken for granted that {lm.name} gives {granted}; without, other calls are made: "
            f"{lm.check_command} tells"
        )
    if (can := twin.known_capabilities) is not None and can.thinks:
        notes.append("the model thinks before it answers: what it thinks is written, and paid for, besides")
    if lm.count_tokens is None:
        notes.append(f"tokens are reckoned as {BYTES_PER_TOKEN:g} bytes of text each")
    if usage.calls and speed is not None:
        notes.append(f"time as {speed.origin}")
    return Estimate(usage, seconds, tuple(notes), ranges, outcomes)


def _ranges(found: Sequence[tuple[Usage, float | None]]) -> dict[str, tuple[float, float]]:
    """The least and the most of every figure that is known; empty where calls and tokens are always the same."""
    figures = [_figures(*one) for one in found]
    if all(
        (one["calls"], one["prompt_tokens"]) == (figures[0]["calls"], figures[0]["prompt_tokens"]) for one in figures
    ):
        return {}
    known = {
        name: [one[name] for one in figures if name in one] for name in dict.fromkeys(n for f in figures for n in f)
    }
    return {name: (min(values), max(values)) for name, values in known.items()}


def _figures(usage: Usage, seconds: float | None) -> dict[str, float]:
    """What is known of what a rehearsal took."""
    figures = {
        "calls": usage.calls,
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "cost": usage.cost,
        "seconds": None if seconds is None else round(seconds, 1),
    }
    return {name: value for name, value in figures.items() if value is not None}


def _seconds(usage: Usage, speed: Speed | None, workers: int) -> float | None:
    if not usage.calls:
        return 0.0
    return None if speed is None else speed.seconds(usage) / max(1, workers)


_FORM: ContextVar[Any] = ContextVar("form", default=None)
"""The form that is asked for now, as a request says it to a model that takes schemas."""
_SAMPLE: ContextVar[int] = ContextVar("sample", default=0)
"""Which of several samples of one request is asked for now."""


class _StandIn(LanguageModel):
    """Asks as the model would be asked, so that the journal knows it; the understudy gets the form whatever is sent."""

    def fill(self, turns: Sequence[Turn], schema: Mapping[str, Any], **how: Any) -> Reply:
        form, sample = _FORM.set({"schema": schema}), _SAMPLE.set(how.get("sample", 0))
        try:
            return super().fill(turns, schema, **how)
        finally:
            _FORM.reset(form)
            _SAMPLE.reset(sample)

    def _check_whole(self, request: Request, used: Usage) -> None:
        """Nothing was read."""

    @property
    def supports_response_schema(self) -> bool:
        return True

    @property
    def supported_params(self) -> frozenset[str]:
        return super().supported_params | {"response_format"}

    def complete(self, request: Request) -> Response:
        token = _FORM.set(request.config.response_format)
        try:
            if not self.capabilities.json_schema:
                request = replace(request, config=replace(request.config, response_format=None))
            return super().complete(request)
        finally:
            _FORM.reset(token)


class _Overlay:
    """The memory of a model, to which nothing is added: what is kept here is forgotten with this."""

    def __init__(self, below: Memory | None) -> None:
        self._below = below
        self._here: dict[str, str] = {}
        self.found: set[str] = set()
        self.granted: set[str] = set()

    def recall(self, key: str) -> str | None:
        kept = self._here.get(key)
        if kept is None and self._below is not None and (kept := self._below.recall(key)) is not None:
            self.found.add(key)
        return kept

    def keep(self, key: str, request: str, reply: str) -> None:
        self._here.setdefault(key, reply)
        if RATING_PROMPT[0][1] in request:  # whether the model can do something is asked by this, and nobody knew
            self.granted.add("the likelihood of a text" if '"likelihood":' in request else "token probabilities")


class _Understudy:
    """Answers in place of a model."""

    def __init__(
        self,
        lm: LanguageModel,
        take: int,
        scores: Mapping[str, float],
        count: Callable[[str], int],
        habits: Habits,
    ) -> None:
        self.lm = lm
        self.habits = habits
        self.take = take
        self.own = f"{take} " if take else ""
        self.scores = scores
        self.count = count
        # An embedded model keeps the last prompt, and reads what the next one shares with it no second time.
        self.caches = lm.weights is not None and lm.extensions.get("cache_prompt") is True
        self.last = ""
        self.shown = False  # whether any prompt held demonstrations

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
        turns = turns_of(request)
        prompt, read = self._read(turns)
        rated = RESPONSE.findall("\n".join(text for role, text in turns if role == "user"))
        # Of the turns of a model some are its own ratings of the criteria; a demonstration has a response of its own.
        shown = len(rated) > 1 and any(role == "assistant" for role, _ in turns)
        self.shown = self.shown or shown
        value = 1 + 4 * self._found(rated[-1] if rated else "", prompt, shown)
        form: Any = request.config.response_format or _FORM.get()
        if isinstance(form, Mapping) and "schema" in form:
            if rated and list(form["schema"].get("properties", ())) == ["text"]:
                filled = {"text": self._changed(rated[-1], prompt)}
            else:
                drawn = f"{sample} " if (sample := _SAMPLE.get()) else ""
                filled = _Plausible(form["schema"], value, drawn + self.own + prompt, self.habits).fill(form["schema"])
            text = json.dumps(filled)
        elif turns[-1][1].endswith(YES_OR_NO):
            return as_response(self.lm.name, replace(read, completion_tokens=1), *one_word((value - 1) / 4))
        else:
            text = str(round(value))
        longest = request.config.max_tokens
        written = self.count(text) + 1
        logprobs = () if request.config.logprobs is None else letters(text, value)
        usage = replace(read, completion_tokens=min(written, longest) if longest else written)
        return as_response(self.lm.name, usage, text, logprobs)

    def _found(self, response: str, prompt: str, shown: bool) -> float:
        """How good it finds a response, from 0 to 1: much the same whatever stands around it, as a real model does.

        ``shown``: the prompt holds demonstrations.
        """
        doubt = 0.3
        if self.take in EXTREMES and response in self.scores:
            good = self.scores[response]
            doubt = doubt if shown == EXTREMES[self.take] else 1.0
        else:
            good = _share(self.own + response)
        return (1 - doubt) * good + doubt * _share(self.own + prompt)

    def _changed(self, response: str, prompt: str) -> str:
        """A response that was to be changed: made from it, and another one for every prompt, as what is scored next."""
        return f"{response} {int(1e9 * _share(self.own + prompt))}"

    def weigh(self, turns: Sequence[Turn], text: str) -> Likelihood:
        _, read = self._read(turns)
        written = self.count(text)
        logprobs = [-1.0 - _share(self.own + text)] * max(1, written)
        if self.lm.weights is None:  # an endpoint reads the text with the prompt, and writes one token
            usage = replace(read, prompt_tokens=read.prompt_tokens + written, completion_tokens=1)
            return Likelihood.of(logprobs, "prompt", usage)
        return Likelihood.of(logprobs, "forced", replace(read, completion_tokens=written))


class _Plausible(Filler):
    """Fills in a form about as a model would."""

    def __init__(self, whole: Mapping[str, Any], value: float, prompt: str, habits: Habits) -> None:
        super().__init__(whole, value, "")
        self.prompt = prompt
        self.habits = habits

    def items(self, name: str, part: Mapping[str, Any]) -> int:
        low, high = int(part.get("minItems", 2)), int(part.get("maxItems", 4))
        return min(high, max(low, round(self.habits.entries.get(kind(name), math.ceil((low + high) / 2)))))

    def truth(self, name: str) -> bool:
        return _share(name + self.prompt) < self.habits.true.get(kind(name), TRUE)

    def text(self, name: str, part: Mapping[str, Any]) -> str:
        number, bound = next(self.count), int(part.get("maxLength", 400))
        length = self.habits.length(name, bound)
        words, share = _TEXT.split(), _share(f"{number} {self.prompt}")
        own = [f"{share:.6f}"] if _SAMPLE.get() and length > OWN else []  # no two samples are the same
        said = " ".join([str(number), *own, *words[int(share * len(words)) :], *words * 4])  # nor two texts of a reply
        return said[: length + 1].rpartition(" ")[0][:bound]


def _counting(lm: LanguageModel) -> Callable[[str], int]:
    """Counts tokens, of a turn that many prompts share once: a token that begins a turn is never part of another."""
    if lm.count_tokens is None:
        return lambda text: math.ceil(len(text.encode("utf-8", "replace")) / BYTES_PER_TOKEN)
    once = cache(lm.count_tokens)
    return lambda text: sum(once(turn) for turn in TURN.split(text) if turn)


def _shared(one: str, other: str) -> int:
    """How many characters two texts begin with together."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if one[:middle] == other[:middle] else (low, middle - 1)
    return low


def _share(text: str) -> float:
    """A number from 0 to 1 that a text always has."""
    return int.from_bytes(sha256(text.encode("utf-8", "replace")).digest()[:4]) / 2**32
