"""A scripted model that goes through the motions of a whole fit: for plumbing tests only, it judges nothing."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from active_critic.lm import Capabilities, LanguageModel, Turn, scripted_lm

CRITERIA = {
    "Accuracy": "The response says nothing that the source contradicts.",
    "Helpfulness": "The response answers what was asked.",
    "Tone": "The response is friendly and calm.",
    "Clarity": "The response is easy to follow.",
}


def last_item(turns: list[Turn]) -> str:
    """The response under evaluation in a scoring request."""
    texts = [text for role, text in turns if role == "user" and "<response>" in text]
    found = re.search(r"<response>\n(.*?)\n</response>", texts[-1], re.DOTALL)
    assert found is not None
    return found.group(1)


def form(turns: list[Turn], level: int) -> dict[str, Any]:
    """A well-formed answer to any request of a fit."""
    head, last = turns[0][1], turns[-1][1]
    if "Fill in the form" in last:
        text = last.rsplit("on one line: ", 1)[1]
        filled: dict[str, Any] = json.loads(text.replace('"..."', '"in short"'))
        return filled
    if "Give the changed text" in last:
        return {"text": f"{last_item(turns)} not"}
    if "`notes`" in head:
        return {"notes": {"observations": "Replies to customers, scored for quality.", "complete": False}}
    if "`summary`" in head:
        return {
            "summary": {
                "task_type": "customer support",
                "evaluated": "replies to customer messages",
                "relation": "The response answers the message.",
            }
        }
    criteria = [{"name": name, "definition": definition} for name, definition in CRITERIA.items()]
    if "`proposal`" in head:
        return {"proposal": {"criteria": criteria, "observations": "Accurate, friendly replies score high."}}
    if "`refined`" in head:
        return {"refined": {"criteria": criteria}}
    if last.endswith("Rate the response on each criterion.") or '"scores"' in last:
        names = re.findall(r"^- (.+?): ", head, re.MULTILINE)
        return {"scores": dict.fromkeys(names, level), "explanations": dict.fromkeys(names, "so it seems")}
    return {"overall": level, "justification": "On the whole.", "advice": "Say more."}


def simulated_lm(
    rate: Callable[[str, list[Turn]], float] | None = None,
    *,
    capabilities: Capabilities | None = None,
    seen: list[list[Turn]] | None = None,
    **settings: Any,
) -> LanguageModel:
    """A scripted model whose ratings come from a function of (response, conversation), on 1-5.

    Without one, the number of words decides.
    """
    judge = rate or (lambda response, turns: 1 + min(4.0, len(response.split()) / 12))

    def value(turns: list[Turn]) -> float:
        return judge(last_item(turns), turns) if any("<response>" in t for _, t in turns[1:]) else 3.0

    def answer(turns: list[Turn]) -> str:
        if seen is not None:
            seen.append(turns)
        return json.dumps(form(turns, min(5, max(1, round(value(turns))))))

    def levels(turns: list[Turn]) -> dict[str, float]:
        low = min(4, max(1, int(value(turns))))
        share = min(0.999, max(0.001, value(turns) - low))
        return {str(low): 1 - share, str(low + 1): share}

    return scripted_lm(answer, levels=levels, capabilities=capabilities, **settings)
