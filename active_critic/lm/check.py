"""What an endpoint really can do, found by asking it."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import orjson

from active_critic.errors import ModelError, RequestRefused, UnreadableReply
from active_critic.lm.capabilities import FEW, MOST, ROOM_TO_THINK
from active_critic.lm.client import Capabilities, LanguageModel, Memory, Reply, Turn
from active_critic.lm.reply import cut_in_thought

if TYPE_CHECKING:
    from dspy.lm15 import Request, Response

_SCHEMA = {
    "type": "object",
    "properties": {"shade": {"type": "integer", "enum": [1, 2, 3, 4, 5]}},
    "required": ["shade"],
    "additionalProperties": False,
}
# Nothing in this prompt hints at the schema: a reply that follows it shows that the endpoint enforces it.
_SCHEMA_PROMPT: list[Turn] = [("user", "Which colour is a ripe lemon? Answer in one short sentence.")]
_CUT_OFF = "Could not finish the message because"
"""How OpenAI refuses, of some models, what ended before it began; others send an empty reply."""
_LAKE, _LAKE_TOKENS = "The lake lay still under a pale sky. ", 9
LONG = 9_000
"""Tokens of a long prompt, about; twice what Ollama's context window holds by default."""
PATIENCE = 20.0
"""Seconds that reading it may take, by the speed found before; else it is not tried."""
RATING_PROMPT: list[Turn] = [("user", "How yellow is a ripe lemon, from 1 to 5? Answer with one digit only.")]


def probe(lm: LanguageModel) -> Capabilities:
    """Find out whether an endpoint honours JSON schemas, gives token probabilities and takes a temperature.

    Raises:
        ModelError: It cannot be used at all (no answer, wrong key, unknown model).
    """
    notes: list[str] = []
    temperature: float | None = 0.0

    def tempered(ask: Callable[[float | None], Reply]) -> Reply:
        nonlocal temperature
        try:
            return ask(temperature)
        except RequestRefused as refusal:
            if temperature is None or "temperature" not in str(refusal).lower():
                raise
            notes.append(f"temperature: {refusal}")
            temperature = None
            return ask(None)

    def attempt(what: str, ask: Callable[[float | None], Reply]) -> Reply | None:
        try:
            return tempered(ask)
        except RequestRefused as refusal:
            if _CUT_OFF not in str(refusal):
                notes.append(f"{what}: {refusal}")
            return None

    def rate(alternatives: int) -> Reply | None:
        return attempt(
            "probabilities",
            lambda t: lm.ask(RATING_PROMPT, max_tokens=4, top_logprobs=alternatives, temperature=t),
        )

    rated, alternatives = rate(MOST), MOST
    if rated is None:
        rated, alternatives = rate(FEW), FEW

    def cut(longest: int) -> bool:
        """Whether the model thinks until its reply is cut off; chat must work, else this raises what is wrong."""
        try:
            return cut_in_thought(tempered(lambda t: lm.ask(RATING_PROMPT, max_tokens=longest, temperature=t)))
        except RequestRefused as refusal:
            if _CUT_OFF in str(refusal):
                return True
            raise

    def form(room: int) -> Reply | None:
        return attempt(
            "JSON schema", lambda t: lm.ask(_SCHEMA_PROMPT, max_tokens=40 + room, schema=_SCHEMA, temperature=t)
        )

    thinks = cut(4) if rated is None else cut_in_thought(rated)
    probabilities = rated is not None and any(token.top for token in rated.tokens)
    formed = form(0)
    if formed is not None:  # where a schema holds from the first token on, nothing is thought
        thinks = not _follows(formed.text) and (thinks or cut_in_thought(formed))
    elif not thinks and not probabilities:  # the first bound may have been passed over, and no other is (see ``bound``)
        thinks = cut(5)
    if thinks:
        formed, probabilities = form(ROOM_TO_THINK), False
    return Capabilities(
        json_schema=formed is not None and _follows(formed.text),
        probabilities=probabilities,
        temperature=temperature is not None,
        alternatives=alternatives,
        notes=tuple(dict.fromkeys(notes)),
        thinks=thinks,
    )


def recalled(lm: LanguageModel, memory: Memory | None) -> Capabilities | None:
    """What an earlier :func:`probe` found out about a model, by the replies in a memory; None: they are not there.

    What was refused is not kept: it is what is missing beside replies that are there.
    """
    for word in ("it", "temperature"):  # which of the two was refused at first decides what was asked then

        def refuse(request: Request, word: str = word) -> Response:
            raise RequestRefused(f"{word if request.config.temperature is not None else 'it'} was refused")

        past = LanguageModel(lm.name, refuse, identity=lm.identity, extensions=lm.extensions)
        past.memory = memory
        with suppress(RequestRefused):
            return probe(past)
    return None


def weighs(lm: LanguageModel) -> bool:
    """Find out whether an endpoint gives the likelihood of a given text, by asking for that of a short one.

    Raises:
        ModelError: It cannot be used at all (no answer, wrong key).
    """
    try:
        lm.likelihood(RATING_PROMPT, "5")
    except (RequestRefused, UnreadableReply):
        return False
    return True


def _follows(text: str) -> bool:
    try:
        document = orjson.loads(text)
    except orjson.JSONDecodeError:
        return False
    if not isinstance(document, dict) or set(document) != {"shade"}:
        return False
    return type(document["shade"]) is int and 1 <= document["shade"] <= 5


@dataclass(frozen=True, slots=True)
class Findings:
    """The result of :func:`check`.

    Attributes:
        model: Name of the model asked.
        json_schema, probabilities, temperature: See :class:`active_critic.lm.client.Capabilities`.
        rating_mass: Share of the probability that falls on the five rating digits when one is asked for; None
            without token probabilities.
        prefix_cache: Whether a repeated prefix was read from a cache, as the endpoint reports it.
        prompt_tokens_per_second, completion_tokens_per_second: Speed of reading and writing, as seen from here.
        notes: What was refused, in the endpoint's words.
        likelihood: Whether the likelihood of a given text can be had.
        thinks: See :class:`active_critic.lm.client.Capabilities`.
        long_prompts: Whether a prompt of some ``LONG`` tokens is read as a whole; if not, a note says what came. None:
            not tried: of an embedded model, at a provider's public address, or because it would take too long.
    """

    model: str
    json_schema: bool
    probabilities: bool
    temperature: bool
    rating_mass: float | None
    prefix_cache: bool
    prompt_tokens_per_second: float
    completion_tokens_per_second: float
    notes: tuple[str, ...]
    likelihood: bool = False
    thinks: bool = False
    long_prompts: bool | None = None

    def to_dict(self) -> dict[str, Any]:
        """The findings as plain JSON values."""
        return {"model": self.model, "chat": True, **asdict(self)}  # there are none of one that does not answer


def check(lm: LanguageModel) -> Findings:
    """Ask an endpoint what it can do, and how fast it is; a dozen small calls at most, none of them from the journal.

    At an address of the user's own there is one long call besides, where that takes seconds.

    Raises:
        ModelError: It cannot be used at all.
    """
    from math import exp

    with lm.remembering(None):
        can = probe(lm)
        temperature = 0.0 if can.temperature else None
        mass = None
        if can.probabilities:
            rated = lm.ask(RATING_PROMPT, max_tokens=4, top_logprobs=can.alternatives, temperature=temperature)
            token = next((t for t in rated.tokens if t.top and t.text.strip().isdigit()), None)
            mass = sum(exp(p) for t, p in token.top if t.strip() in {"1", "2", "3", "4", "5"}) if token else None
        # The nonce keeps an earlier check from warming the cache for this one.
        nonce = time.time_ns()

        def timed(question: str, max_tokens: int, sentences: int = 60) -> tuple[Reply, float]:
            text = f"{nonce + sentences} {_LAKE * sentences}"
            turns: list[Turn] = [("user", f"{text}\n\n{question}")]
            started = time.monotonic()
            try:
                reply = lm.ask(turns, max_tokens=max_tokens, temperature=temperature)
            except RequestRefused as refusal:
                if _CUT_OFF not in str(refusal):
                    raise
                started = time.monotonic()
                reply = lm.ask(turns, max_tokens=max_tokens + can.room, temperature=temperature)
            return reply, time.monotonic() - started

        first, reading = timed("Is the lake still? Answer yes or no.", 1)
        again, _ = timed("Is the sky pale? Answer yes or no.", 1)
        long, writing = timed("Is the sky pale? Tell a long story about the lake.", 64)
        likelihood = False
        with suppress(ModelError):  # chat works: whatever is wrong with this is no fault of the endpoint's
            likelihood = weighs(lm)
        fresh = max(1, first.usage.prompt_tokens - first.usage.cached_tokens)
        notes, long_prompts = can.notes, None
        if lm.own_address and LONG * reading < PATIENCE * fresh:
            try:
                timed("Is the sky pale? Answer yes or no.", 1, LONG // _LAKE_TOKENS)
                long_prompts = True
            except ModelError as problem:  # short ones work
                notes, long_prompts = (*notes, f"a prompt of {LONG:,} tokens: {problem}"), False
    return Findings(
        model=lm.name,
        json_schema=can.json_schema,
        probabilities=can.probabilities,
        temperature=can.temperature,
        rating_mass=mass,
        prefix_cache=again.usage.cached_tokens > again.usage.prompt_tokens // 2,
        prompt_tokens_per_second=round(fresh / reading, 1),
        completion_tokens_per_second=round(long.usage.completion_tokens / writing, 1),
        notes=notes,
        likelihood=likelihood,
        thinks=can.thinks,
        long_prompts=long_prompts,
    )
