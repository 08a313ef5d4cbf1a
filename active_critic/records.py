"""The records that everything else passes around: examples, scales, criteria, verdicts."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, field_validator, model_validator

from active_critic.errors import DataError

ReadFrom = Literal["probabilities", "text"]
ScoredBy = Literal["probabilities", "text", "samples", "likelihood", "surface", "combination"]

VERDICT_COLUMNS = frozenset({"unscored", "read_from"})
"""Columns of every verdict, and of nothing else: a record that has them was judged by a program."""
CRITERION_COLUMNS = ("criterion ", "explanation ")
"""What the names of columns begin with that hold the score of a single criterion, and the words for it."""
NARROWEST = 0.01
"""A scale spans this at least, so that scores, which are rounded to four decimals, can tell texts apart."""
TOLERANCE = 1e-12
"""Numbers that differ by no more than this part of the largest differ only by rounding, and count as the same."""
LEAST_SPREAD = 1e-9
"""A standard deviation that is not above this is written as 0, and nothing is divided by it."""


def check_spread(value: float) -> float:
    """A standard deviation as a fit writes it; what is divided by a smaller one is beyond all numbers.

    Raises:
        ValueError: It is neither 0 nor above ``LEAST_SPREAD``.
    """
    if value != 0 and not value > LEAST_SPREAD:
        raise ValueError(f"a spread is 0 or above {LEAST_SPREAD:g}, not {value:g}")
    return value


Spread = Annotated[float, Field(ge=0), AfterValidator(check_spread)]


class Record(BaseModel):
    """Base of the immutable, strictly checked parts of a program document."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Scale(Record):
    """The interval on which people gave their scores.

    Attributes:
        low: The worst score that can be given.
        high: The best score that can be given; greater than ``low``.

    Raises:
        DataError: ``high`` is not greater, or by less than ``NARROWEST``; or one of them is not a finite number.
    """

    low: float
    high: float

    @model_validator(mode="before")
    @classmethod
    def _finite(cls, given: Any) -> Any:
        for name in ("low", "high"):
            bound = given.get(name) if isinstance(given, Mapping) else None
            if isinstance(bound, float) and not math.isfinite(bound):
                raise DataError(f"a scale runs from low to high, and {name} is {bound:g}, which is no end")
        return given

    @model_validator(mode="after")
    def _ordered(self) -> Scale:
        if not self.low < self.high:
            raise DataError(f"a scale runs from low to high, not {self.low:g}..{self.high:g}")
        if self.high - self.low < NARROWEST:
            raise DataError(f"the scale {self} is too narrow: scores have four decimals; multiply them, by 1000 say")
        return self

    @classmethod
    def parse(cls, text: str) -> Scale:
        """Read a scale as people write it: ``"1..5"``, ``"0..100"``, ``"-1..1"``.

        Raises:
            DataError: The text is not ``LOW..HIGH`` with LOW < HIGH.
        """
        if not isinstance(text, str):
            raise DataError(f"{text!r} is not a scale; write LOW..HIGH, for example 1..5")
        low, dots, high = text.partition("..")
        try:
            bounds = float(low), float(high)
        except ValueError:
            bounds = (math.nan, math.nan)
        if not dots or not all(map(math.isfinite, bounds)) or not bounds[0] < bounds[1]:
            raise DataError(f"{text!r} is not a scale; write LOW..HIGH, for example 1..5")
        return cls(low=bounds[0], high=bounds[1])

    def __str__(self) -> str:
        return f"{self.low:g}..{self.high:g}"

    def __contains__(self, score: float) -> bool:
        return self.low <= score <= self.high

    def to_percent(self, score: float) -> float:
        """A score on this scale as a number from 0 (worst) to 100 (best)."""
        percent = 100.0 * (score - self.low) / (self.high - self.low)
        return min(100.0, percent) if score <= self.high else percent  # rounding may lead a little beyond the end

    def from_percent(self, percent: float) -> float:
        """A number from 0 to 100 as a score on this scale."""
        return self.low + (self.high - self.low) * percent / 100.0

    def rounded(self, score: float) -> float:
        """A score as verdicts hold it: with four decimals, and within the ends, which may have more."""
        return min(max(round(score, 4), self.low), self.high)

    def at_percent(self, percent: float) -> float:
        """A number from 0 to 100 as a score on this scale, as verdicts hold it."""
        return self.rounded(self.from_percent(percent))


class Criterion(Record):
    """One thing the people who scored cared about.

    Attributes:
        name: Short, unique within a protocol, for example ``"Factual accuracy"``.
        definition: One or two sentences saying what a high rating means.
    """

    name: str = Field(min_length=1, max_length=60)
    definition: str = Field(min_length=1, max_length=600)

    @field_validator("name", "definition")
    @classmethod
    def _tidy(cls, text: str) -> str:
        tidied = " ".join(text.split())
        if not tidied:
            raise ValueError("must not be blank")
        return tidied


def same_name(name: str) -> str:
    """What the names of two criteria share that cannot be told apart: case and white space make no difference."""
    return " ".join(name.split()).casefold()


@dataclass(frozen=True, slots=True)
class Example:
    """One text to be judged, with the human score where there is one.

    Attributes:
        response: The text under evaluation.
        source: What the response was made from (article, dialogue, meaning representation, prompt); may be empty.
        score: The human score on the user's scale, or None when unscored.
        id: The user's identifier, or None.
        group: The document the example belongs to; examples of one group never straddle a split.
        system: Which system wrote the response, or None.
        reference: A reference text, or None.
        aspects: Further human scores by name, on whatever scales they came.
        record: The input row as it was read, so that every column survives into the output.
        row: 1-based position in the input, for messages; 0 when made by hand.
        comment: What whoever scored said of the response, or None: a fit learns from it, and no judge is shown it.
    """

    response: str
    source: str = ""
    score: float | None = None
    id: str | None = None
    group: str | None = None
    system: str | None = None
    reference: str | None = None
    aspects: Mapping[str, float] = field(default_factory=dict, hash=False)
    record: Mapping[str, Any] = field(default_factory=dict, hash=False)
    row: int = 0
    comment: str | None = None


@dataclass(frozen=True, slots=True)
class Usage:
    """What calls cost.

    Attributes:
        calls: Requests sent to the model (retries of a failed request included).
        replayed: Replies taken from the journal instead of being paid for again.
        prompt_tokens: Tokens read by the model, cached ones included.
        cached_tokens: Those of the prompt tokens that the endpoint took from its prefix cache.
        completion_tokens: Tokens written by the model.
        seconds: Time spent waiting for the model.
        cost: Money in US dollars, or None where the price is not known.
    """

    calls: int = 0
    replayed: int = 0
    prompt_tokens: int = 0
    cached_tokens: int = 0
    completion_tokens: int = 0
    seconds: float = 0.0
    cost: float | None = None

    def __add__(self, other: Usage) -> Usage:
        known = [cost for cost in (self.cost, other.cost) if cost is not None]
        return Usage(
            self.calls + other.calls,
            self.replayed + other.replayed,
            self.prompt_tokens + other.prompt_tokens,
            self.cached_tokens + other.cached_tokens,
            self.completion_tokens + other.completion_tokens,
            self.seconds + other.seconds,
            sum(known) if known else None,
        )

    def __sub__(self, other: Usage) -> Usage:
        known = self.cost is not None or other.cost is not None
        return Usage(
            self.calls - other.calls,
            self.replayed - other.replayed,
            self.prompt_tokens - other.prompt_tokens,
            self.cached_tokens - other.cached_tokens,
            self.completion_tokens - other.completion_tokens,
            self.seconds - other.seconds,
            (self.cost or 0.0) - (other.cost or 0.0) if known else None,
        )

    def to_dict(self) -> dict[str, Any]:
        """The same figures as plain JSON values."""
        return {
            "calls": self.calls,
            "replayed": self.replayed,
            "prompt_tokens": self.prompt_tokens,
            "cached_tokens": self.cached_tokens,
            "completion_tokens": self.completion_tokens,
            "seconds": round(self.seconds, 3),
            "cost": self.cost,
        }


@dataclass(frozen=True, slots=True)
class CriterionVerdict:
    """The verdict on one criterion: a score on the user's scale, and why."""

    name: str
    score: float
    explanation: str | None = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """The result for one example: a score on the user's scale, or unscored with a reason. Never both, never neither.

    Attributes:
        score: The overall score on the user's scale, or None.
        unscored: Why there is no score, or None.
        explanation: The overall justification, or None when not asked for.
        advice: What would have to change for a better score, or None when not asked for.
        criteria: One entry a criterion (empty in coarse mode).
        read_from: What the score was read from: ``"probabilities"``, the expectation over the probabilities of the
            rating tokens; ``"text"``, the number in the reply; ``"samples"``, the mean of several replies;
            ``"likelihood"``, that of the response; ``"surface"``, features of the text; ``"combination"``, several of
            these (see ``parts``). None when unscored.
        interval: Within which people's score lies with a probability of 90 %, on the user's scale; None where the
            evaluator gives none.
        parts: What each reading of a combination adds to the mean score, in points of the user's scale.
        notes: Things the reader should know, for example that an explanation was cut off.
        usage: What this verdict cost.
    """

    score: float | None = None
    unscored: str | None = None
    explanation: str | None = None
    advice: str | None = None
    criteria: tuple[CriterionVerdict, ...] = ()
    read_from: ScoredBy | None = None
    interval: tuple[float, float] | None = None
    parts: Mapping[str, float] = field(default_factory=dict, hash=False)
    notes: tuple[str, ...] = ()
    usage: Usage = Usage()

    def __post_init__(self) -> None:
        if (self.score is None) == (self.unscored is None):
            raise ValueError("a verdict has either a score or a reason why it has none")
        if self.score is not None and not math.isfinite(self.score):
            raise ValueError(f"a score is a finite number, not {self.score}")

    def to_dict(self) -> dict[str, Any]:
        """The verdict as the columns of an output record, in plain JSON values."""
        return {
            "score": self.score,
            "unscored": self.unscored,
            "explanation": self.explanation,
            "advice": self.advice,
            "criteria": [{"name": c.name, "score": c.score, "explanation": c.explanation} for c in self.criteria],
            "read_from": self.read_from,
            "interval": list(self.interval) if self.interval else None,
            "parts": dict(self.parts),
            "notes": list(self.notes),
        }
