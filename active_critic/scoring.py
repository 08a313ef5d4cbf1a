"""Stage 2: rating one response, coarse (overall at once) or fine (criteria, then overall).

Active-Critic, section 4.2: Multi-Criteria Scoring with Explanation (McS-E, Eq. 1-2) and Overall Scoring with
Explanation (OS-E, Eq. 3). The prompt is laid out for prefix caches: instructions, demonstrations, source, response,
question; the overall question continues the conversation in which the criteria were rated.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any

import dspy

from active_critic.asking import (
    COPIED,
    CUT,
    MATERIAL,
    PER_ITEM,
    WORDS,
    Filled,
    Sheet,
    ask,
    compact,
    copies_form,
    level_schema,
    levels_words,
    listed,
    object_schema,
    reading_notes,
    shown_texts,
    spent_on,
    string_schema,
    text_or_none,
    way_of,
    why_unscored,
)
from active_critic.errors import ModelError
from active_critic.lm.client import LanguageModel, Turn
from active_critic.protocols import CriticProtocol, Demo, Reading
from active_critic.quoting import quote
from active_critic.reading import Rating
from active_critic.records import CriterionVerdict, Usage, Verdict
from active_critic.typed_asking import predictor

EXPLANATION_CHARS = 200
"""Longest explanation of one criterion, in characters, where the endpoint enforces a schema."""
JUSTIFICATION_CHARS = 300
"""Longest overall justification, and longest advice, in characters, where the endpoint enforces a schema."""
_RATE = dspy.Signature("source, response -> overall")


class Scorer(dspy.Module):  # type: ignore[misc]
    """Rates responses by a protocol. A DSPy module: ``DemoSearch`` sets ``rate.demos``.

    Args:
        protocol: What to rate by.
        lm: The language model.
    """

    def __init__(self, protocol: CriticProtocol, lm: LanguageModel) -> None:
        super().__init__()
        self.protocol = protocol
        self.lm = lm
        self.rate = predictor(_RATE)
        self.rate.demos = list(protocol.demos)
        self._head: _Head | None = None

    def __deepcopy__(self, memo: dict[int, Any]) -> Scorer:
        copied = Scorer(self.protocol, self.lm)  # the model is shared, not copied
        copied.rate.demos = list(self.rate.demos)
        return copied

    def forward(self, source: str, response: str, *, explain: bool = True) -> Any:
        """Rate one response; a ``dspy.Prediction`` with ``score`` (user's scale or None) and ``verdict``."""
        verdict = self.verdict(source, response, explain=explain)
        return dspy.Prediction(score=verdict.score, verdict=verdict)

    def verdict(self, source: str, response: str, *, explain: bool = True, without: Collection[str] = ()) -> Verdict:
        """Rate one response.

        Args:
            source: What the response was made from.
            response: The text to rate.
            explain: Also write explanations, justification and advice; ratings are the same either way.
            without: Identities (``Demo.example_id``) of demonstrations that are left out of the prompt.

        Raises:
            ModelError: The endpoint cannot be used (down, wrong key, ...). A reply that cannot be read, or a prompt
                that does not fit, is not an error but an unscored verdict.
        """
        try:
            return self.rated(source, response, explain=explain, without=without)
        except PER_ITEM as problem:
            return Verdict(unscored=why_unscored(problem, source, response), usage=spent_on(problem))

    def rated(self, source: str, response: str, *, explain: bool = True, without: Collection[str] = ()) -> Verdict:
        """:meth:`verdict`, which raises what concerns this response alone, too (``asking.PER_ITEM``)."""
        if not response.strip():
            return Verdict(unscored="the response is empty")
        demos = [demo for demo in self.rate.demos if demo.example_id not in without]
        reading = self.protocol.reading
        if reading.order == "reason_first":
            explain = True  # the reasons are part of how the rating comes about
        return _Conversation(self._constant(demos, explain), self.lm).judge(source, response)

    def _constant(self, demos: Sequence[Demo], explain: bool) -> _Head:
        """The constant part of the prompt; the latest is kept, since most items follow others with the same."""
        head = self._head
        if head is None or not head.serves(self.protocol, demos, explain):
            head = self._head = _Head(self.protocol, list(demos), explain)
        return head


class _Head:
    """What does not change from item to item: instructions, demonstrations, and the forms that are asked for."""

    def __init__(self, protocol: CriticProtocol, demos: list[Demo], explain: bool) -> None:
        self.protocol = protocol
        self.demos = demos
        self.asked_to_explain = explain
        self.explain = explain and protocol.explanations
        self.opening: tuple[Turn, ...] = (("system", instructions(protocol)), *demo_turns(protocol, demos))
        self.names = [criterion.name for criterion in protocol.criteria]
        self.criteria = self._sheet(self.names)
        self.overall = self._sheet(None)

    def serves(self, protocol: CriticProtocol, demos: Sequence[Demo], explain: bool) -> bool:
        """Whether this is the constant part for these, too."""
        return protocol is self.protocol and explain == self.asked_to_explain and list(demos) == self.demos

    def _sheet(self, names: list[str] | None) -> Sheet:
        """The form for the criteria (names) or for the overall rating (None)."""
        after = () if self.explain else ('"explanations"' if names else '"justification"',)
        if names and "explanations" in names:
            after = ()  # it would end the reply at the rating of that criterion
        reading = self.protocol.reading
        return Sheet(
            ratings={name: ("scores", name) for name in names} if names else {"overall": ("overall",)},
            schema=reply_schema(reading, names, self.explain),
            skeleton=_skeleton(reading, names, self.explain),
            max_tokens=reply_tokens(names, self.explain),
            stop=after,
        )


class _Conversation:
    """The calls that make one verdict."""

    def __init__(self, head: _Head, lm: LanguageModel) -> None:
        self.head = head
        self.protocol = head.protocol
        self.lm = lm
        self.explain = head.explain
        self.reading = head.protocol.reading
        self.usage = Usage()
        self.notes: list[str] = []
        self.cut = False
        self.criterion_ratings: dict[str, Rating] = {}

    def judge(self, source: str, response: str) -> Verdict:
        turns: list[Turn] = [*self.head.opening, ("user", item(source, response, self.protocol))]
        criteria: tuple[CriterionVerdict, ...] = ()
        if self.protocol.mode == "fine":
            names = self.head.names
            filled = self._ask(turns, self.head.criteria)
            ratings, values = filled.ratings, filled.form.values
            self.criterion_ratings = ratings
            reasons = values.get("explanations") if self.explain else None
            reasons = reasons if isinstance(reasons, dict) else {}
            self._note_copies(reasons.values())
            criteria = tuple(
                CriterionVerdict(name, self._on_scale(ratings[name].value), text_or_none(reasons.get(name)))
                for name in names
            )
            said = quote(filled.reply.text)  # reasons may quote the response, and are no safer than it is
            if self.reading.order == "rating_first":
                # Only the ratings go on, so that the overall rating does not depend on whether reasons were asked for;
                # as they were written, so that the prefix cache holds them.
                said = compact({"scores": {name: round(values["scores"][name]) for name in names}})
            turns += [("assistant", said), ("user", OVERALL_QUESTION)]
            if not self.protocol.overall_scoring:
                return self._mean(criteria)
        filled = self._ask(turns, self.head.overall)
        overall, values = filled.ratings["overall"], filled.form.values
        self.notes += reading_notes(self.reading, {**self.criterion_ratings, "the overall rating": overall})
        if self.explain:
            self.notes += [CUT] * self.cut
            self._note_copies([values.get("justification"), values.get("advice")])
        return Verdict(
            score=self._on_scale(overall.value),
            explanation=text_or_none(values.get("justification")) if self.explain else None,
            advice=text_or_none(values.get("advice")) if self.explain else None,
            criteria=criteria,
            read_from=overall.read_from,
            notes=tuple(self.notes),
            usage=self.usage,
        )

    def _mean(self, criteria: tuple[CriterionVerdict, ...]) -> Verdict:
        """The verdict without OS-E: the mean of the criteria."""
        ratings = self.criterion_ratings
        return Verdict(
            score=self._on_scale(sum(rating.value for rating in ratings.values()) / len(ratings)),
            criteria=criteria,
            read_from=way_of(rating.read_from for rating in ratings.values()),
            notes=(*self.notes, *reading_notes(self.reading, ratings), *(CUT,) * (self.cut and self.explain)),
            usage=self.usage,
        )

    def _note_copies(self, texts: Iterable[Any]) -> None:
        if COPIED not in self.notes and any(map(copies_form, texts)):
            self.notes.append(COPIED)

    def _on_scale(self, rating: float) -> float:
        return self.protocol.scale.at_percent(self.reading.to_percent(rating))

    def _ask(self, turns: list[Turn], sheet: Sheet) -> Filled:
        try:
            filled = ask(self.lm, turns, sheet, self.reading)
        except ModelError as problem:
            # What the criteria cost is paid, too, whoever catches this.
            problem.usage = self.usage = self.usage + spent_on(problem)
            raise
        self.usage = self.usage + filled.usage
        self.notes += [note for note in filled.notes if note not in self.notes]
        self.cut = self.cut or not filled.form.complete
        return filled


# --- the prompt -------------------------------------------------------------------------------------------------

OVERALL_QUESTION = "Weighing these ratings, how good is the response overall?"


def instructions(protocol: CriticProtocol) -> str:
    """The constant head of the prompt: what is judged, by which criteria, and the form of the reply."""
    reading = protocol.reading
    parts = ["You rate texts exactly as a particular group of people rates them."]
    if protocol.task_description:
        parts.append(f"The task. {quote(protocol.task_description)}")
    if protocol.criteria:
        parts.append(f"What these people look at:\n{listed(protocol.criteria)}")
    parts += [levels_words(reading), MATERIAL]
    overall = compact(_skeleton(reading, None, protocol.explanations))
    names = [criterion.name for criterion in protocol.criteria]
    each = compact(_skeleton(reading, names, protocol.explanations))
    if protocol.mode == "fine" and protocol.overall_scoring:
        parts.append(
            f"First rate the response on each criterion, in this form, on one line: {each}\n"
            f"Then, when asked, rate it overall, in this form, on one line: {overall}"
        )
    elif protocol.mode == "fine":
        parts.append(f"Rate the response on each criterion, in this form, on one line: {each}")
    else:
        considering = "Weigh everything these people look at. " if protocol.criteria else ""
        parts.append(f"{considering}Rate the response overall, in this form, on one line: {overall}")
    return "\n\n".join(parts)


def item(source: str, response: str, protocol: CriticProtocol) -> str:
    """The message that carries one response: source first, so that responses to one source share a prefix."""
    question = "Rate the response on each criterion." if protocol.mode == "fine" else "How good is the response?"
    return f"{shown_texts(source, response)}\n\n{question}"


def demo_turns(protocol: CriticProtocol, demos: Sequence[Demo]) -> list[Turn]:
    """Demonstrations as turns of the conversation, in the very form that is asked of the model."""
    reading = protocol.reading
    turns: list[Turn] = []
    for demo in demos:
        turns.append(("user", item(demo.source, demo.response, protocol)))
        if protocol.mode == "fine":
            names = [criterion.name for criterion in protocol.criteria]
            scores = {name: reading.from_percent(demo.criteria.get(name, demo.score)) for name in names}
            reasons = {name: demo.explanations[name] for name in names if name in demo.explanations}
            form = _ordered(reading, {"scores": scores}, {"explanations": reasons} if reasons else {})
            turns.append(("assistant", compact(form)))
            if not protocol.overall_scoring:
                continue
            turns.append(("user", OVERALL_QUESTION))
        prose = {k: v for k, v in (("justification", demo.explanation), ("advice", demo.advice)) if v}
        form = _ordered(reading, {"overall": reading.from_percent(demo.score)}, prose)
        turns.append(("assistant", compact(form)))
    return [(role, quote(text) if role == "assistant" else text) for role, text in turns]


def reply_schema(reading: Reading, names: list[str] | None, explain: bool) -> dict[str, Any]:
    """JSON schema of a reply; without explanations it is the same form, ended after the ratings."""
    level = level_schema(reading)
    if names is not None:
        prose = (
            {"explanations": object_schema({name: string_schema(EXPLANATION_CHARS) for name in names})}
            if explain
            else {}
        )
        return object_schema(_ordered(reading, {"scores": object_schema(dict.fromkeys(names, level))}, prose))
    texts = {"justification": string_schema(JUSTIFICATION_CHARS), "advice": string_schema(JUSTIFICATION_CHARS)}
    return object_schema(_ordered(reading, {"overall": level}, texts if explain else {}))


def reply_tokens(names: list[str] | None, explain: bool) -> int:
    """Upper bound of a reply's length in tokens, generous enough that a good reply is never cut."""
    if names is not None:
        return 40 + len(names) * (30 + (EXPLANATION_CHARS // 2 if explain else 0))
    return 40 + (JUSTIFICATION_CHARS if explain else 0)


def _ordered(reading: Reading, ratings: dict[str, Any], prose: dict[str, Any]) -> dict[str, Any]:
    return {**ratings, **prose} if reading.order == "rating_first" else {**prose, **ratings}


def _skeleton(reading: Reading, names: list[str] | None, explain: bool) -> dict[str, Any]:
    middle = (reading.low + reading.high) // 2
    if names is not None:
        prose = {"explanations": dict.fromkeys(names, WORDS["explanation"])} if explain else {}
        return _ordered(reading, {"scores": dict.fromkeys(names, middle)}, prose)
    texts = {name: WORDS[name] for name in ("justification", "advice")} if explain else {}
    return _ordered(reading, {"overall": middle}, texts)
