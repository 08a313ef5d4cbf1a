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
from dataclasses import replace
from functools import cache
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from active_critic.lm.check import RATING_PROMPT, recalled
from active_critic.lm.client import Capabilities, LanguageModel, Reply, Turn
from active_critic.lm.costing import Estimate as Estimate
from active_critic.lm.costing import Taken, reckoned
from active_critic.lm.engine import Engine
from active_critic.lm.habits import TRUE, Habits, habits_of, kind
from active_critic.lm.likelihood import Likelihood
from active_critic.lm.made_up import Filler, letters, one_word, turns_of
from active_critic.lm.marks import RESPONSE, YES_OR_NO
from active_critic.lm.memory import Memory
from active_critic.lm.reply import as_response, usage_of
from active_critic.lm.speed import Speed, speed_of
from active_critic.lm.stepping import parts_of, steps_of
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
REPEATED = 0.3
"""How often a model that is shown a text of its own, to write a better one, writes the same again, in all takes but the
first: 17 of 60 refinements by AutoCalibrate, in the 15 fits of ``benchmarks/results/compare_*_others``."""
PATIENCE = 10.0
"""Seconds after which no further one is begun."""
OUTCOME_PATIENCE = 60.0
"""The same for those that stand for an outcome: between the two lies most of what nobody knows beforehand."""
_TEXT = (
    "the response keeps to what the source says and answers it in plain words without repeating itself or leaving out "
    "what matters to whoever reads it"
)


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
        price=lambda response: lm.price_of(usage_of(response)),
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
            estimate lies between the least and the most of them, which are told with it; see ``costing.between``.
        scores: What people gave the responses, from 0 to 1: with it, prompts without demonstrations win one take, and
            those with some another.
    """
    return estimate_parts(lm, lambda twin, _: work(twin), kept, takes=takes, scores=scores)


def estimate_parts(
    lm: LanguageModel,
    work: Callable[[LanguageModel, Callable[[str], None]], object],
    kept: Sequence[tuple[str, str]],
    *,
    takes: int = 1,
    scores: Mapping[str, float] | None = None,
) -> Estimate:
    """What work in several parts would take, all of it and each part; see :func:`estimate`.

    Args:
        lm: The model.
        work: Does the work with the model that it is given, and calls the other one with the name of every part when
            that is done; always the same parts.
        kept: Requests and replies of earlier calls.
        takes: How often it is done at most.
        scores: What people gave the responses.
    """
    speed, habits, count = speed_of(lm, kept), habits_of(lm, kept), _counting(lm)
    found: list[_Take] = []
    started = time.monotonic()
    while len(found) < takes and (not found or time.monotonic() - started < _patience(len(found))):
        take = _Take(lm, _Understudy(lm, len(found), scores or {}, count, habits), speed)
        with take.twin.remembering(take.overlay):  # whatever the work would keep: these replies are made up
            work(take.twin, take.done)
        found.append(take)
    last, wholes = found[-1], [take.whole() for take in found]
    like = f"its {habits.replies:,} forms in the journal" if habits.replies else "an embedded model's were found to be"
    notes = [f"replies are made up, as long as {like}; a real one may write more or less"]
    said = reckoned(wholes, [take.parts for take in found], OUTCOMES if scores else {}, ())
    if said.ranges:
        enough = "" if len(found) == takes else ", as many as there was time for"
        notes.append(f"what is asked depends on the replies: the ranges are those of {len(found)} rehearsals{enough}")
    elif takes > 1 and len(found) == 1:
        notes.append("what is asked depends on the replies, and there was time for one rehearsal only: no range")
    if last.overlay.granted and lm.weights is None:
        granted = " and ".join(sorted(last.overlay.granted, reverse=True))
        notes.append(
            f"it is taken for granted that {lm.name} gives {granted}; without, other calls are made: "
            f"{lm.check_command} tells"
        )
    if (can := last.twin.known_capabilities) is not None and can.thinks:
        notes.append("the model thinks before it answers: what it thinks is written, and paid for, besides")
    if lm.count_tokens is None:
        notes.append(f"tokens are reckoned as {BYTES_PER_TOKEN:g} bytes of text each")
    if said.usage.calls and speed is not None:
        notes.append(f"time as {speed.origin}")
    return replace(said, notes=tuple(notes))


def _patience(take: int) -> float:
    return OUTCOME_PATIENCE if take in OUTCOMES else PATIENCE


class _Take:
    """One rehearsal, and what it has taken."""

    def __init__(self, lm: LanguageModel, understudy: _Understudy, speed: Speed | None) -> None:
        self.overlay = _Overlay(lm.memory)
        self.twin = _stand_in(lm, understudy, lm.known_capabilities or recalled(lm, self.overlay))
        self.parts: dict[str, Taken] = {}
        self._understudy, self._speed, self._workers = understudy, speed, lm.workers
        priced = lm.price_of(Usage(prompt_tokens=1000, completion_tokens=1000)) is not None
        self._nothing = 0.0 if priced else None
        self._before, self._shown = Usage(), False

    def whole(self) -> Taken:
        """All of it so far."""
        usage = replace(self.twin.usage, seconds=0.0, replayed=len(self.overlay.found))
        return self._taken(usage, self._shown or self._understudy.shown)

    def done(self, name: str) -> None:
        """Take note that the part of this name is done."""
        so_far = self.whole().usage
        self.parts[name] = self._taken(so_far - self._before, self._understudy.shown)
        self._before, self._shown = so_far, self._shown or self._understudy.shown
        self._understudy.shown = False

    def _taken(self, usage: Usage, shown: bool) -> Taken:
        if not usage.calls:
            usage = replace(usage, cost=self._nothing)
        return Taken(usage, _seconds(usage, self._speed, self._workers), shown)


def _seconds(usage: Usage, speed: Speed | None, workers: int) -> float | None:
    if not usage.calls:
        return 0.0
    return None if speed is None else speed.seconds(usage) / max(1, workers)


_FORM: ContextVar[Any] = ContextVar("form", default=None)
"""The form that is asked for now, as a request says it to a model that takes schemas."""
_SAMPLE: ContextVar[int] = ContextVar("sample", default=0)
"""Which of several samples of one request is asked for now."""


class _StandInEngine(Engine):
    """Tells what is asked for by DSPy, too."""

    @property
    def supports_response_schema(self) -> bool:
        return True

    @property
    def supported_params(self) -> frozenset[str]:
        return super().supported_params | {"response_format"}

    def complete(self, request: Request) -> Response:
        token = _FORM.set(request.config.response_format)
        try:
            if not super().supports_response_schema:
                request = replace(request, config=replace(request.config, response_format=None))
            return super().complete(request)
        finally:
            _FORM.reset(token)


class _StandIn(LanguageModel):
    """Asks as the model would be asked, so that the journal knows it; the understudy gets the form whatever is sent."""

    _engine = _StandInEngine

    def fill(self, turns: Sequence[Turn], schema: Mapping[str, Any], **how: Any) -> Reply:
        form, sample = _FORM.set({"schema": schema}), _SAMPLE.set(how.get("sample", 0))
        try:
            return super().fill(turns, schema, **how)
        finally:
            _FORM.reset(form)
            _SAMPLE.reset(sample)

    def _check_whole(self, request: Request, used: Usage) -> Usage:
        """Nothing was read."""
        del request
        return used


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
        self.written: list[str] = []  # texts that were drawn

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
                if drawn and self.take:
                    filled = {name: self._repeated(text, drawn + prompt) for name, text in filled.items()}
            text = json.dumps(filled)
        elif turns[-1][1].endswith(YES_OR_NO):
            return as_response(self.lm.name, replace(read, completion_tokens=1), *one_word((value - 1) / 4))
        else:
            text = str(round(value))
        longest = request.config.max_tokens
        written = self.count(text) + 1
        can = self.lm.known_capabilities
        if self.caches and not (can and can.thinks) and (parts := parts_of(request)):
            more, written = steps_of(parts, text, self.count)
            read = replace(read, prompt_tokens=read.prompt_tokens + more)
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

    def _repeated(self, text: Any, prompt: str) -> Any:
        """A text that was drawn, or in its place the one before it that the prompt shows."""
        if isinstance(text, str) and len(text) > OWN:
            before = next((one for one in reversed(self.written) if one in prompt), None)
            if before is not None and _share(self.own + "again" + prompt) < REPEATED:
                return before
            self.written.append(text)
        return text

    def weigh(self, turns: Sequence[Turn], text: str) -> Likelihood:
        _, read = self._read(turns)
        written = self.count(text)
        followed = "".join(said for role, said in turns if role == "assistant")  # other texts, another likelihood
        logprobs = [-1.0 - _share(self.own + text + followed)] * max(1, written)
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
