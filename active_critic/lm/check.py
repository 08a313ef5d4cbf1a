"""What an endpoint really can do, found by asking it."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import orjson

from active_critic.errors import ModelError, RequestRefused, UnreadableReply
from active_critic.lm.capabilities import FEW, MOST
from active_critic.lm.client import Capabilities, LanguageModel, Memory, Reply, Turn

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
RATING_PROMPT: list[Turn] = [("user", "How yellow is a ripe lemon, from 1 to 5? Answer with one digit only.")]


def probe(lm: LanguageModel) -> Capabilities:
    """Find out whether an endpoint honours JSON schemas, gives token probabilities and takes a temperature.

    Raises:
        ModelError: It cannot be used at all (no answer, wrong key, unknown model).
    """
    notes: list[str] = []
    temperature: float | None = 0.0

    def attempt(what: str, ask: Callable[[float | None], Reply]) -> Reply | None:
        nonlocal temperature
        try:
            return ask(temperature)
        except RequestRefused as refusal:
            if temperature is not None and "temperature" in str(refusal).lower():
                notes.append(f"temperature: {refusal}")
                temperature = None
                return attempt(what, ask)
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
    if rated is None:  # chat itself must work; otherwise this raises what is wrong
        lm.ask(RATING_PROMPT, max_tokens=4, temperature=temperature)
    formed = attempt("JSON schema", lambda t: lm.ask(_SCHEMA_PROMPT, max_tokens=40, schema=_SCHEMA, temperature=t))
    return Capabilities(
        json_schema=formed is not None and _follows(formed.text),
        probabilities=rated is not None and any(token.top for token in rated.tokens),
        temperature=temperature is not None,
        alternatives=alternatives,
        notes=tuple(dict.fromkeys(notes)),
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
        chat: Whether it answers at all.
        json_schema, probabilities, temperature: See :class:`active_critic.lm.client.Capabilities`.
        rating_mass: Share of the probability that falls on the five rating digits when one is asked for; None
            without token probabilities.
        prefix_cache: Whether a repeated prefix was read from a cache, as the endpoint reports it.
        prompt_tokens_per_second, completion_tokens_per_second: Speed of reading and writing, as seen from here.
        notes: What was refused, in the endpoint's words.
        likelihood: Whether the likelihood of a given text can be had.
    """

    model: str
    chat: bool
    json_schema: bool
    probabilities: bool
    temperature: bool
    rating_mass: float | None
    prefix_cache: bool
    prompt_tokens_per_second: float
    completion_tokens_per_second: float
    notes: tuple[str, ...]
    likelihood: bool = False

    def to_dict(self) -> dict[str, Any]:
        """The findings as plain JSON values."""
        return asdict(self)


def check(lm: LanguageModel) -> Findings:
    """Ask an endpoint what it can do, and how fast it is; five to nine small calls, none of them from the journal.

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
        text = f"{time.time_ns()} " + "The lake lay still under a pale sky. " * 60

        def timed(question: str, max_tokens: int) -> tuple[Reply, float]:
            started = time.monotonic()
            turns: list[Turn] = [("user", f"{text}\n\n{question}")]
            reply = lm.ask(turns, max_tokens=max_tokens, temperature=temperature)
            return reply, time.monotonic() - started

        first, reading = timed("Is the lake still? Answer yes or no.", 1)
        again, _ = timed("Is the sky pale? Answer yes or no.", 1)
        long, writing = timed("Is the sky pale? Tell a long story about the lake.", 64)
        likelihood = False
        with suppress(ModelError):  # chat works: whatever is wrong with this is no fault of the endpoint's
            likelihood = weighs(lm)
    fresh = max(1, first.usage.prompt_tokens - first.usage.cached_tokens)
    return Findings(
        model=lm.name,
        chat=True,
        json_schema=can.json_schema,
        probabilities=can.probabilities,
        temperature=can.temperature,
        rating_mass=mass,
        prefix_cache=again.usage.cached_tokens > again.usage.prompt_tokens // 2,
        prompt_tokens_per_second=round(fresh / reading, 1),
        completion_tokens_per_second=round(long.usage.completion_tokens / writing, 1),
        notes=can.notes,
        likelihood=likelihood,
    )
