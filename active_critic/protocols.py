"""Programs: everything a scorer needs besides the language model, as one document an evaluator."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from hashlib import sha256
from typing import Any, Literal, NamedTuple

from pydantic import Field, field_validator, model_validator

from active_critic.calibration import Calibration
from active_critic.records import Criterion, ReadFrom, Record, Scale, same_name
from active_critic.token_figures import TokenWeights
from active_critic.weighing import CRITERION

FORMAT_VERSION = 1
"""Version of the program document written by this package."""

Mode = Literal["coarse", "fine"]
Order = Literal["rating_first", "reason_first"]


class Demo(Record):
    """A demonstration: a scored example as it stands in the prompt.

    All ratings are on 0-100 (percent of the user's scale) and consistent with the human score.

    Attributes:
        source, response: The example's texts.
        score: The human score as a percentage of the user's scale.
        criteria: Rating by criterion name, 0-100; empty in coarse mode.
        explanations: Explanation by criterion name; empty in coarse mode.
        explanation: Overall justification.
        advice: What would have to change for a better score.
        example_id: Identity of the example (see ``data.example_key``), so that it is never scored with itself.
        group: The document the example belongs to, or None.
    """

    source: str
    response: str
    score: float = Field(ge=0, le=100)
    criteria: dict[str, float] = Field(default_factory=dict)
    explanations: dict[str, str] = Field(default_factory=dict)
    explanation: str = ""
    advice: str = ""
    example_id: str
    group: str | None = None


class Contrast(Record):
    """Scored texts that a response is weighed after, one side after the other: how much likelier is it after the first?

    Attributes:
        liked: Those with the highest scores, in prompt order.
        disliked: Those with the lowest.
        level: How much likelier other examples are after the first, on average, in nats a token: what is about as good
            as these.
        copied: A response is a copy of a liked text that has a larger share than this of its runs of three words in
            common with it, or of that text's: what stands before a model is likely to it. It counts as no more than the
            mean. 1: nothing is a copy.
        likelihood: Whether the likelihood and the figures of the tokens, too, are read after these texts (their tokens'
            mean over both sides). If not, as in programs of before, they are read without any text before.
    """

    liked: tuple[Demo, ...] = Field(min_length=1)
    disliked: tuple[Demo, ...] = Field(min_length=1)
    level: float = 0.0
    copied: float = Field(default=1.0, ge=0, le=1)
    likelihood: bool = False

    @property
    def sides(self) -> dict[str, tuple[Demo, ...]]:
        """Both, by name."""
        return {"liked": self.liked, "disliked": self.disliked}

    @property
    def readings(self) -> frozenset[str]:
        """The readings that are taken after these texts."""
        return frozenset({"contrast", "likelihood"} if self.likelihood else {"contrast"})


class Reading(Record):
    """How ratings are asked for and read.

    Attributes:
        low, high: The worst and the best rating level; every integer between them is a level.
        source: ``"probabilities"``: the expectation over the probabilities of the level tokens;
            ``"text"``: the number in the reply.
        order: Whether the model rates before or after it explains (the paper's order is ``"reason_first"``).
    """

    low: int = 1
    high: int = 5
    source: ReadFrom = "probabilities"
    order: Order = "rating_first"

    @model_validator(mode="after")
    def _ordered(self) -> Reading:
        if not 0 <= self.low < self.high <= 100:
            raise ValueError(f"rating levels run from low to high within 0..100, not {self.low}..{self.high}")
        return self

    @property
    def words(self) -> str:
        """The reading in a few words, for signatures: ``levels:1-5:probabilities:rating_first``."""
        return f"levels:{self.low}-{self.high}:{self.source}:{self.order}"

    @property
    def levels(self) -> range:
        """The integer rating levels, worst first."""
        return range(self.low, self.high + 1)

    def to_percent(self, rating: float) -> float:
        """A rating on the levels as a number from 0 to 100."""
        return 100.0 * (rating - self.low) / (self.high - self.low)

    def from_percent(self, percent: float) -> int:
        """The level nearest to a number from 0 to 100."""
        return math.floor(self.low + (self.high - self.low) * percent / 100.0 + 0.5)


class Provenance(Record):
    """Where a program came from: enough to say how its figures can be had again.

    Attributes:
        model: Name of the language model it was fitted with (never an address or a key).
        own_address: Whether that was at an address of the user's own, which a program does not keep.
        weights: sha256 of the weights file for an embedded model, or None.
        seed: Seed of sampling and search; where the evaluator has none, that by which its examples were drawn.
        data_sha256: Hash over the training examples' texts and scores.
        n_train: Training examples used.
        fields: The column that each of their fields was read from, an empty name where none was to be read; nothing for
            what was not read from columns.
        sourced: How many of them have a source; None where it is not known, or nothing was learnt from them.
        fitted_on: The keys of the training texts (``examples.text_key``), so that scoring can tell them from others.
        fitted_documents: The keys of their documents (``examples.document_keys``), by name and by source, likewise.
        versions: Package versions by name.
        settings: The evaluator's parameters.
        notes: What the fit had to tell its user.
        report: The fit's honest report (see ``evaluators.fit_report.FitReport``).
    """

    model: str
    own_address: bool = False
    weights: str | None = None
    seed: int = 0
    data_sha256: str = ""
    n_train: int = 0
    fields: dict[str, str] = Field(default_factory=dict)
    sourced: int | None = None
    fitted_on: tuple[str, ...] = ()
    fitted_documents: tuple[str, ...] = ()
    versions: dict[str, str] = Field(default_factory=dict)
    settings: dict[str, Any] = Field(default_factory=dict)
    notes: tuple[str, ...] = ()
    report: dict[str, Any] = Field(default_factory=dict)

    def unlike(self, model: str, weights: str | None) -> str:
        """Why a language model is not the one that the program was fitted with; empty where it is.

        Args:
            model: Its name.
            weights: sha256 of its weights, or None.
        """
        if model != self.model:
            return f"the program was fitted with {self.model}, and {model} scores now"
        if weights != self.weights:
            return f"the program was fitted with other weights that were also called {self.model}"
        return ""

    def unlike_source(self, given: bool) -> str:
        """What to note where a text is judged with a source and all examples had none, or the reverse; else empty.

        Args:
            given: Whether there is a source.
        """
        if given and self.sourced == 0:
            return "scored with a source, and no example that the program was fitted on had one"
        if not given and self.sourced is not None and 0 < self.sourced == self.n_train:
            return "scored without a source, and every example that the program was fitted on had one"
        return ""


class Shown(NamedTuple):
    """An example that stands in the prompt.

    Attributes:
        example_id: Its identity (see ``data.example_key``).
        response: The text that was scored.
        score: The human score as a percentage of the user's scale.
    """

    example_id: str
    response: str
    score: float


class Protocol(Record):
    """Everything a scorer needs besides the language model; "the program" to a user. Base of the family.

    Every evaluator has a document of its own, which adds what it needs and fixes the value of ``evaluator``.

    Attributes:
        format_version: Version of this document.
        evaluator: Which evaluator made it and reads it.
        scale: The user's scale, on which verdicts are given.
        provenance: Where it came from.
    """

    format_version: Literal[1] = 1
    evaluator: str
    scale: Scale
    provenance: Provenance

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.in_short}>"

    @property
    def in_short(self) -> str:
        """What it is, in a line; ``model_dump()`` holds everything."""
        made = self.provenance
        fitted = f", fitted on {made.n_train} examples" if made.n_train else ""
        return f"{self.evaluator} with {made.model}, scale {self.scale}{fitted}"

    @property
    def shown_examples(self) -> Sequence[Shown]:
        """The examples that stand in the prompt, with their scores or sorted by them; some several times."""
        return ()

    @property
    def shown(self) -> frozenset[str]:
        """Identities (see ``examples.example_key``) of the examples that stand in the prompt."""
        return frozenset(example.example_id for example in self.shown_examples)

    @property
    def rated(self) -> tuple[str, ...]:
        """Names of the criteria that a verdict scores, in its order; empty where it has the overall score alone."""
        return ()

    @property
    def traits(self) -> tuple[str, ...]:
        """What tells this program apart from others of the same evaluator, in short words, for its signature."""
        return ()

    def account(self) -> Sequence[tuple[str, Sequence[str]]]:
        """What a person wants to read of it: headings, each with lines of text."""
        return []


def repeated_names(criteria: Iterable[Criterion]) -> list[str]:
    """Names that several of the criteria have, as ``same_name`` spells them, sorted."""
    times = Counter(same_name(criterion.name) for criterion in criteria)
    return sorted(name for name, count in times.items() if count > 1)


def check_names(criteria: Iterable[Criterion]) -> None:
    """For a program document: whether its criteria can be told apart by name.

    Raises:
        ValueError: They cannot; pydantic makes a message of it.
    """
    if repeated := repeated_names(criteria):
        raise ValueError(f"criteria names must be unique; repeated: {', '.join(repeated)}")


class CriticProtocol(Protocol):
    """The program of Active-Critic, and of zero-shot, which is the same without criteria and demonstrations.

    Attributes:
        mode: ``"coarse"``: one overall rating; ``"fine"``: criteria first (McS-E), then the overall (OS-E).
        task_description: What is evaluated, and how a response relates to its source; empty when it is left out.
        criteria: What the people who scored cared about.
        reading: How ratings are asked for and read.
        demos: Demonstrations, in prompt order.
        overall_scoring: Whether the model rates the whole; if not, it is the mean of the criteria (fine mode only).
        explanations: Whether the model explains, in demonstrations and in replies.
        calibration: How the score is combined from the rating and other readings; None: it is the rating.
        surface: The numbers of the surface floor that is one of these readings (``SurfaceFloor.to_dict``), or None.
        tokens: What figures of the tokens of a text add to its score, where they are one of these readings, or None.
        contrast: The texts that a response is weighed after, where that is one of these readings, or None.
        discounts_forgeries: Whether a response of which a part poses as the judge's prompt or reply is judged without
            that part, too, and has the lower score. In older programs it is not.
    """

    evaluator: Literal["active-critic", "zero-shot"] = "active-critic"
    mode: Mode = "fine"
    task_description: str
    criteria: tuple[Criterion, ...] = ()
    reading: Reading = Reading()
    demos: tuple[Demo, ...] = ()
    overall_scoring: bool = True
    explanations: bool = True
    calibration: Calibration | None = None
    surface: dict[str, Any] | None = None
    tokens: TokenWeights | None = None
    contrast: Contrast | None = None
    discounts_forgeries: bool = False

    @property
    def shown_examples(self) -> Sequence[Shown]:
        """The demonstrations, and the texts of the contrast."""
        others = () if self.contrast is None else (*self.contrast.liked, *self.contrast.disliked)
        return [Shown(demo.example_id, demo.response, demo.score) for demo in (*self.demos, *others)]

    @property
    def rated(self) -> tuple[str, ...]:
        """All criteria in fine mode."""
        return tuple(criterion.name for criterion in self.criteria) if self.mode == "fine" else ()

    @property
    def traits(self) -> tuple[str, ...]:
        """Mode, demonstrations and reading."""
        demos = sha256("".join(demo.example_id for demo in self.demos).encode()).hexdigest()[:8]
        parts = [part.name for part in self.calibration.parts] if self.calibration else ["rating"]
        readings = [name for name in parts if not name.startswith(CRITERION)]
        if single := len(parts) - len(readings):
            readings.insert(1, f"criteria:{single}")
        return (self.mode, f"demos:{len(self.demos)}:{demos}", self.reading.words, f"score:{'+'.join(readings)}")

    @field_validator("criteria")
    @classmethod
    def _unique(cls, criteria: tuple[Criterion, ...]) -> tuple[Criterion, ...]:
        check_names(criteria)
        return criteria
