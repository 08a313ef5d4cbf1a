"""Demonstrations: scored examples as they stand in the prompt, consistent with the human score."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

from active_critic.asking import compact, object_schema, string_schema
from active_critic.batches import commented
from active_critic.data.examples import example_key, group_of, human_score
from active_critic.errors import ContextOverflow, RequestRefused, UnreadableReply
from active_critic.lm.client import LanguageModel, Reply, Turn
from active_critic.protocols import CriticProtocol, Demo
from active_critic.reading import read_form
from active_critic.records import Example
from active_critic.scoring import instructions, item, reply_schema

REASON_CHARS, PROSE_CHARS = 90, 130
"""Longest explanation of a criterion, and longest justification or advice, in a demonstration, in characters: every
demonstration is read again for every prompt that does not share its prefix."""

VERDICTS = (
    ("very bad", "naming what is wrong with it"),
    ("poor", "naming what is wrong with it"),
    ("middling", "naming what is right and what is wrong with it"),
    ("good", "naming what is good about it and what is missing"),
    ("excellent", "naming what is good about it"),
)
"""What people's score amounts to, in words, by fifth of the scale, and what explanations have to name."""


def demonstrate(example: Example, protocol: CriticProtocol, lm: LanguageModel) -> Demo:
    """A scored example as a demonstration: its criterion ratings and explanations are written once by the model.

    The model is told the human score, and the comment of whoever gave it, and fills in the form that people would have
    filled in; where there is a comment, that is the justification. Its criterion ratings
    are then moved, all by the same amount and clipped, until their mean is within half a level of the human score,
    so that a demonstration never contradicts the person it stands for. When the model cannot fill in the form, or the
    example does not fit its context window, the demonstration carries the human score alone.

    Raises:
        FitError: The example has no human score.
        ModelError: The endpoint cannot be used.
    """
    reading, scale = protocol.reading, protocol.scale
    percent = scale.to_percent(human_score(example))
    level = reading.from_percent(percent)
    names = [c.name for c in protocol.criteria] if protocol.mode == "fine" else []
    demo = Demo(
        source=example.source,
        response=example.response,
        score=percent,
        example_id=example_key(example),
        group=group_of(example),
    )
    properties: dict[str, Any] = {}
    if names:
        properties |= reply_schema(reading, names, explain=protocol.explanations)["properties"]
        for text in properties.get("explanations", {}).get("properties", {}).values():
            text["maxLength"] = REASON_CHARS
    if protocol.explanations and (protocol.overall_scoring or not names):
        demo = demo.model_copy(update={"explanation": _prose(example.comment, PROSE_CHARS)})
        properties |= {} if demo.explanation else {"justification": string_schema(PROSE_CHARS)}
        properties |= {"advice": string_schema(PROSE_CHARS)}
    if not properties:
        return demo
    form = {name: _blank(part, level) for name, part in properties.items()}
    verdict, ask = VERDICTS[min(int(percent / 20), 4)]
    said = "".join(f"{line}\n" for line in commented(example))
    question = (
        f"People found this response {verdict}: {level} on the scale from {reading.low} to {reading.high}. "
        f"{said}Fill in the "
        f"form as they would have filled it in to arrive at {level}, at most eight words a text, {ask}, "
        f"on one line: {compact(form)}"
    )
    turns: list[Turn] = [
        ("system", instructions(protocol)),
        ("user", f"{item(example.source, example.response, protocol)}\n\n{question}"),
    ]
    try:
        reply = lm.fill(turns, object_schema(properties), max_tokens=200 + 70 * len(names))
    except (ContextOverflow, RequestRefused):  # this example's own fault: it must not end the search
        reply = Reply("")
    return _filled(demo, reply, next(iter(properties)), names, protocol, level)


def _blank(part: Mapping[str, Any], level: int) -> Any:
    if part["type"] == "object":
        return {name: _blank(inner, level) for name, inner in part["properties"].items()}
    return level if part["type"] == "integer" else "..."


def _filled(demo: Demo, reply: Reply, first: str, names: list[str], protocol: CriticProtocol, level: int) -> Demo:
    try:
        values = read_form(reply, first=first).values
    except UnreadableReply:
        values = {}
    reading = protocol.reading
    scores = values.get("scores")
    scores = scores if isinstance(scores, dict) else {}
    rated = {n: s if isinstance(s := scores.get(n), float) and s in reading.levels else float(level) for n in names}
    reasons = values.get("explanations")
    reasons = reasons if isinstance(reasons, dict) else {}
    texts = {n: t for n in names if (t := _prose(reasons.get(n), REASON_CHARS))}
    return demo.model_copy(
        update={
            "criteria": {n: reading.to_percent(r) for n, r in consistent(rated, level, reading.levels).items()},
            "explanations": texts if len(texts) == len(names) else {},
            "explanation": demo.explanation or _prose(values.get("justification"), PROSE_CHARS),
            "advice": _prose(values.get("advice"), PROSE_CHARS),
        }
    )


def _prose(value: Any, longest: int) -> str:
    """A text for a demonstration; one that ran into its bound is cut back to its last whole sentence or word."""
    if not isinstance(value, str) or not value.strip(" ."):
        return ""
    text = " ".join(value.split())
    if len(text) < longest - 1:
        return text
    sentences = re.match(r".*[.!?](?=\s|$)", text[:longest])
    return sentences.group() if sentences else text[:longest].rsplit(" ", 1)[0].rstrip(" ,;:") + "…"


def consistent(ratings: Mapping[str, float], level: float, levels: range) -> dict[str, float]:
    """Criterion ratings moved until their mean is within half a level of the overall one; their order is kept."""
    if not ratings:
        return {}
    moved = {name: float(rating) for name, rating in ratings.items()}
    for _ in range(len(levels)):
        off = level - sum(moved.values()) / len(moved)
        if abs(off) <= 0.5:
            break
        step = math.copysign(max(1, round(abs(off))), off)
        moved = {n: min(max(r + step, levels[0]), levels[-1]) for n, r in moved.items()}
    return moved
