"""ICE: in-context examples only. A few scored texts stand in the prompt, and the model continues the pattern.

Jain et al., "Multi-Dimensional Evaluation of Text Summarization with In-Context Learning", Findings of ACL 2023.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from pydantic import Field

from active_critic.asking import (
    MATERIAL,
    Filled,
    ask,
    compact,
    levels_words,
    rating_sheet,
    reading_notes,
    shown_texts,
    way_of,
)
from active_critic.data.examples import Examples, example_key, group_of, human_score, same_texts
from active_critic.demo_search import Sampling
from active_critic.errors import FitError
from active_critic.evaluators._fitting import of_aspect
from active_critic.evaluators.base import Evaluator, JournalPath, Progress, default_reading, scale_of
from active_critic.evaluators.judging import OVERALL, Judge
from active_critic.evaluators.parameters import check_aspects, check_whole
from active_critic.lm import LanguageModel
from active_critic.lm.client import Turn
from active_critic.protocols import Protocol, Reading, Shown
from active_critic.quoting import quote
from active_critic.records import CriterionVerdict, Example, Record, Scale, Usage, Verdict

SHOTS = 4
"""In-context examples, as in the paper (section 2.3)."""

Input = Literal["source", "reference", "response"]

INPUTS: Mapping[str, Input] = {
    "consistency": "source",
    "relevance": "reference",
    "fluency": "response",
    "coherence": "response",
}
"""What an aspect is judged against (section 2.2): the source, the reference, or nothing but the response itself."""


class Shot(Record):
    """An in-context example, with what its aspect needs to be judged and nothing else.

    Attributes:
        source, reference: Empty where the aspect does not need them.
        response: The text that was scored.
        score: The human score, as a percentage of its scale.
        example_id: Identity of the example (see ``examples.example_key``).
        group: The document it belongs to.
    """

    source: str = ""
    reference: str = ""
    response: str
    score: float = Field(ge=0, le=100)
    example_id: str
    group: str


class ICEAspect(Record):
    """What is judged, against what, and the in-context examples.

    Attributes:
        name: The aspect, or ``"overall"``.
        input: What is shown besides the response.
        shots: In-context examples, in prompt order.
    """

    name: str
    input: Input
    shots: tuple[Shot, ...]


class ICEProtocol(Protocol):
    """The program of ICE.

    Attributes:
        reading: How ratings are asked for and read.
        sampling: How the in-context examples were drawn.
        aspects: One entry an aspect; a single one named ``"overall"`` for the overall score.
    """

    evaluator: Literal["ice"] = "ice"
    reading: Reading
    sampling: Sampling
    aspects: tuple[ICEAspect, ...] = Field(min_length=1)

    @property
    def shown_examples(self) -> Sequence[Shown]:
        """All in-context examples."""
        shots = (shot for aspect in self.aspects for shot in aspect.shots)
        return [Shown(shot.example_id, shot.response, shot.score) for shot in shots]

    @property
    def rated(self) -> tuple[str, ...]:
        """The aspects; none where the overall is the only one."""
        names = tuple(aspect.name for aspect in self.aspects)
        return () if names == (OVERALL,) else names

    @property
    def traits(self) -> tuple[str, ...]:
        """Sampling, aspects, shots and reading."""
        aspects = ",".join(aspect.name for aspect in self.aspects)
        shots = ",".join(str(len(aspect.shots)) for aspect in self.aspects)
        return (self.sampling, aspects, f"shots:{shots}", self.reading.words)

    def account(self) -> Sequence[tuple[str, Sequence[str]]]:
        """The in-context examples of every aspect."""
        told = []
        for aspect in self.aspects:
            lines = [f"{shot.score:.0f} % of the scale: {shot.response[:160]}" for shot in aspect.shots]
            told.append((f"In-context examples for {aspect.name} (shown with the {aspect.input})", lines))
        return told


@dataclass(frozen=True, slots=True)
class _Rated:
    filled: Filled
    notes: tuple[str, ...]

    @property
    def usage(self) -> Usage:
        return self.filled.usage


class ICEJudge(Judge):
    """One question an aspect: the in-context examples of that aspect, then the text."""

    def __init__(self, protocol: ICEProtocol, lm: LanguageModel) -> None:
        self.protocol = protocol
        self.lm = lm
        self.sheet = rating_sheet(protocol.reading)
        self.questions = tuple(aspect.name for aspect in protocol.aspects)
        self._aspects = {aspect.name: aspect for aspect in protocol.aspects}

    def turns(self, question: str, example: Example) -> list[Turn]:
        """Scored examples as earlier turns of the conversation; the example itself is never among them."""
        aspect, reading = self._aspects[question], self.protocol.reading
        whole = aspect.name == OVERALL
        # The reference is the user's own, but it may have been taken from anywhere.
        material = MATERIAL.replace("source>", "reference>") if aspect.input == "reference" else MATERIAL
        system = (
            f"People rated texts for {'their quality as a whole' if whole else quoted_name(aspect.name)}. "
            "Rate each text as they would; earlier ratings are theirs.\n\n"
            f"{levels_words(reading)}\n\n{material}\n\n"
            f"Answer in this form, on one line: {compact(self.sheet.skeleton)}"
        )
        turns: list[Turn] = [("system", system)]
        texts = needed(example, aspect.input)
        # By what is shown: a text that is judged on its own may come without the source it was scored with.
        judged = Example(example.response, texts["source"] or texts["reference"])
        for shot in aspect.shots:
            if not same_texts(judged, shot.source or shot.reference, shot.response):
                turns.append(("user", shown_texts(shot.source, shot.response, shot.reference)))
                turns.append(("assistant", compact({"rating": reading.from_percent(shot.score)})))
        return [*turns, ("user", shown_texts(texts["source"], example.response, texts["reference"]))]

    def answer(self, question: str, example: Example, *, explain: bool) -> _Rated:
        """One rating; ICE gives no reasons."""
        del explain
        filled = ask(self.lm, self.turns(question, example), self.sheet, self.protocol.reading)
        needs = self._aspects[question].input
        missing = needs != "response" and not needed(example, needs)[needs].strip()
        notes = (f"{question} was judged without a {needs}: there is none",) if missing else ()
        return _Rated(filled, (*filled.notes, *notes))

    def verdict(self, example: Example, answers: Mapping[str, Any]) -> Verdict:
        """The rating of the overall, or the mean of the aspects."""
        del example
        protocol, scale = self.protocol, self.protocol.scale
        ratings = {name: answers[name].filled.ratings["rating"] for name in self.questions}
        percent = {name: protocol.reading.to_percent(rating.value) for name, rating in ratings.items()}
        mean = sum(percent.values()) / len(percent)
        notes = [note for name in self.questions for note in answers[name].notes]
        return Verdict(
            score=scale.at_percent(mean),
            criteria=tuple(CriterionVerdict(name, scale.at_percent(percent[name])) for name in protocol.rated),
            read_from=way_of(rating.read_from for rating in ratings.values()),
            notes=tuple(dict.fromkeys([*notes, *reading_notes(protocol.reading, ratings)])),
            usage=sum((answers[name].usage for name in self.questions), Usage()),
        )


class ICE(Evaluator):
    """In-context examples only: no criteria, no instructions beyond the name of what is rated.

    Args:
        lm: The language model, or whatever :func:`active_critic.lm.open_lm` takes.
        shots: In-context examples; each comes from another document.
        sampling: ``"uniform"``: documents at random and one of each one's texts at random; ``"stratified"``: as many
            equal parts of the scale as shots, one example from each (Appendix B).
        aspects: Human scores of these aspects are imitated and their mean is the overall; None: the overall score.
        inputs: What is shown besides the response, by aspect (``"overall"`` included): ``"source"``, ``"reference"`` or
            ``"response"`` (nothing). Default: ``INPUTS``, and the source for everything else.
        seed: Of the sampling.
        journal: Where replies are kept; see ``Evaluator``.
    """

    kind = "ice"
    document = ICEProtocol

    def __init__(
        self,
        lm: LanguageModel | str | Any = "local",
        *,
        shots: int = SHOTS,
        sampling: Sampling = "uniform",
        aspects: Sequence[str] | None = None,
        inputs: Mapping[str, Input] | None = None,
        seed: int = 0,
        journal: JournalPath = "default",
    ) -> None:
        super().__init__(lm, journal=journal)
        self.shots = shots
        self.sampling: Sampling = sampling
        self.aspects = aspects
        self.inputs = inputs
        self.seed = seed

    def learn(self, data: Examples, notes: list[str], progress: Progress | None) -> ICEProtocol:
        """Draw the in-context examples; the model is asked nothing. See :meth:`Evaluator.learn`."""
        del progress
        user_scale = scale_of(data)
        aspects = [self._aspect(data, name, notes) for name in (self.aspects or [OVERALL])]
        provenance = self.provenance(data, notes)
        if all(aspect.input != "source" for aspect in aspects):
            provenance = provenance.model_copy(update={"sourced": None})  # nobody reads it
        return ICEProtocol(
            scale=user_scale,
            reading=default_reading(self.model, "rating_first"),
            sampling=self.sampling,
            aspects=tuple(aspects),
            provenance=provenance,
        )

    def judge(self) -> Judge:
        """What rates by the program; see :class:`Evaluator`."""
        return ICEJudge(self.fitted, self.model)

    def check(self) -> None:
        """Parameters that cannot be right. See :meth:`Evaluator.check`."""
        check_whole("shots", self.shots, 1)
        if self.sampling not in ("uniform", "stratified"):
            raise FitError(f"sampling must be uniform or stratified, not {self.sampling!r}")
        judged = check_aspects(self.aspects) or (OVERALL,)
        if self.inputs is not None and not isinstance(self.inputs, Mapping):
            raise FitError(f"inputs are named by aspect, such as {{'{judged[0]}': 'source'}}, not {self.inputs!r}")
        for name, shown in (self.inputs or {}).items():
            if name not in judged:
                raise FitError(f"inputs names {name!r}, which is not judged; there is {', '.join(judged)}")
            if shown not in ("source", "reference", "response"):
                raise FitError(f"the input for {name} must be source, reference or response, not {shown!r}")

    def _aspect(self, data: Examples, name: str, notes: list[str]) -> ICEAspect:
        scored = data if self.aspects is None else of_aspect(data, name)
        notes += [note for note in scored.notes if note not in notes]
        drawn = draw(scored, self.shots, self.sampling, random.Random(self.seed))  # noqa: S311
        if len(drawn) < self.shots:
            notes.append(
                f"{len(drawn)} in-context examples for {name}, not {self.shots}: each comes from another document, and "
                "there are no more"
            )
        shown = {**INPUTS, **(self.inputs or {})}.get(name.casefold() if name not in (self.inputs or {}) else name)
        shown = shown or "source"
        if shown == "reference" and not all((example.reference or "").strip() for example in drawn):
            notes.append(f"{name} is judged against the source: not all in-context examples have a reference")
            shown = "source"
        if shown == "source" and not any(example.source.strip() for example in drawn):
            shown = "response"
        own = scale_of(scored)
        shots = [
            Shot(
                **needed(example, shown),
                response=example.response,
                score=own.to_percent(human_score(example)),
                example_id=example_key(example),
                group=group_of(example),
            )
            for example in drawn
        ]
        return ICEAspect(name=name, input=shown, shots=tuple(shots))


def quoted_name(name: str) -> str:
    """An aspect's name as it may stand in a prompt: it comes from the user's data."""
    return quote(" ".join(name.split())[:60])


def needed(example: Example, shown: Input) -> dict[str, str]:
    """The source and the reference of an example, empty where the aspect does not need them."""
    return {
        "source": example.source if shown == "source" else "",
        "reference": (example.reference or "") if shown == "reference" else "",
    }


def draw(data: Examples, shots: int, sampling: Sampling, rng: random.Random) -> list[Example]:
    """The in-context examples of one aspect, each from another document, as Appendix B draws them.

    What is drawn depends on the texts and scores, not on the order of rows.

    Args:
        data: Scored examples.
        shots: How many; fewer when there are fewer documents.
        sampling: See :class:`ICE`.
        rng: What draws.
    """
    members: dict[str, list[Example]] = {}
    for example in sorted(data, key=lambda e: (example_key(e), human_score(e))):
        members.setdefault(group_of(example), []).append(example)
    groups = sorted(members)
    shots = min(shots, len(groups))
    if sampling == "uniform":
        drawn = [rng.choice(members[group]) for group in rng.sample(groups, shots)]
    else:
        drawn = _stratified([members[group] for group in groups], scale_of(data), shots, rng)
    rng.shuffle(drawn)
    return drawn


def _stratified(documents: list[list[Example]], scale: Scale, shots: int, rng: random.Random) -> list[Example]:
    """One example a part of the scale, all from different documents; where a part has none left, any document's.

    The search for such an assignment is exhaustive: a maximum matching of parts to documents, among shuffled ones.
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import maximum_bipartite_matching

    rng.shuffle(documents)
    parts: list[list[list[Example]]] = [[[] for _ in documents] for _ in range(shots)]
    for column, document in enumerate(documents):
        for example in document:
            parts[_part(scale.to_percent(human_score(example)), shots)][column].append(example)
    has = csr_array(np.array([[bool(there) for there in part] for part in parts], dtype=np.int8))
    matched = maximum_bipartite_matching(has, perm_type="column")
    drawn = [rng.choice(parts[row][column]) for row, column in enumerate(matched) if column >= 0]
    taken = {int(column) for column in matched if column >= 0}
    free = [column for column in range(len(documents)) if column not in taken]
    # No complete assignment: a part of the scale at random, and any of its texts from a document not used yet.
    while len(drawn) < shots:
        row = rng.choice([r for r in range(shots) if any(parts[r][column] for column in free)])
        column = rng.choice([column for column in free if parts[row][column]])
        drawn.append(rng.choice(parts[row][column]))
        free.remove(column)
    return drawn


def _part(percent: float, parts: int) -> int:
    """Which of so many equal parts of the scale: [0, a], (a, 2a], ... as in the paper."""
    return max(0, min(parts - 1, int(np.ceil(percent * parts / 100 - 1e-9)) - 1))
