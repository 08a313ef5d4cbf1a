"""How AutoCalibrate has criteria written: drafted from scored examples, or refined on misaligned ones."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from active_critic.asking import MATERIAL, compact, object_schema, string_schema, twice
from active_critic.batches import DEFAULT_CONTEXT, Shortener
from active_critic.data.examples import human_score
from active_critic.errors import UnreadableReply
from active_critic.lm import LanguageModel
from active_critic.lm.client import Reply, Turn
from active_critic.protocols import Reading
from active_critic.quoting import quote
from active_critic.reading import read_form
from active_critic.records import Example, Scale

LONGEST = 800
"""Characters that a text of criteria has at most."""
SHORTEST = 20
"""A shorter one says nothing to rate by."""
MAX_TOKENS = 768
"""For drafts and refinements (Table 9)."""

_FORM = {"criteria": "what sets high scores apart from low ones"}


@dataclass(frozen=True, slots=True)
class Shown:
    """A scored example as the model is shown it.

    Attributes:
        example: The example, with people's score.
        rated: The rating by the criteria that are refined, on the rating levels, or None.
        rank_gap: How many ranks among the training examples that rating is above people's score.
    """

    example: Example
    rated: float | None = None
    rank_gap: float = 0.0


class Writer:
    """Has criteria written for one question.

    Args:
        lm: The language model.
        task: The task description.
        aspect: What people scored; None for the whole.
        reading: The rating levels, on which all scores are shown.
        scale: The scale of people's scores.
    """

    def __init__(self, lm: LanguageModel, task: str, aspect: str | None, reading: Reading, scale: Scale) -> None:
        self.lm = lm
        self.reading = reading
        self.scale = scale
        self.shortened = False
        self._of = "" if aspect is None else f" for one aspect only: {quote(aspect)}"
        self._task = (
            f"The task. {quote(task)}\n\n"
            f"Scores run from {reading.low} (as bad as it gets) to {reading.high} (could not be better)."
        )

    def draft_turns(self, shown: Sequence[Shown]) -> list[Turn]:
        """The prompt that has criteria induced from scored examples (Eq. 3, Appendix D.1)."""
        system = (
            f"A group of people scored responses{self._of}. Nobody wrote down their criteria: work them out.\n\n"
            f"{self._task}\n\n"
            "Compare the examples that scored high with those that scored low. Write the criteria that explain all of "
            "these scores, so that someone who rates other responses of this task by them would give the scores that "
            "these people would give. Either say what good and bad responses have in common, or what deserves which "
            "score. Keep them general and concise, at most 100 words, and do not mention the examples themselves.\n\n"
            f"{MATERIAL}"
        )
        return [("system", system), ("user", f"{self._examples(shown)}\n\n{self._question('criteria')}")]

    def refine_turns(self, criteria: str, shown: Sequence[Shown]) -> list[Turn]:
        """The prompt that has criteria edited in the light of misaligned examples (section 2.3, Appendix D.3)."""
        system = (
            f"A rater scores responses{self._of}, by written criteria. The scores should agree with those that people "
            "gave, and do not always. Improve the criteria.\n\n"
            f"{self._task}\n\n"
            "Read every example and judge it yourself first. Then compare the rater's score with the people's: why did "
            "these criteria lead the rater away from the people, and what would have led them together? Where the two "
            "are close, the criteria do their work. You may:\n"
            "- modify: change parts of the criteria so that they come closer to what these people seem to go by;\n"
            "- paraphrase: say criteria that are good enough in a clearer and shorter way;\n"
            "- add aspects or details: add a line for something these people go by that is not covered yet, without "
            "making the criteria long or saying anything twice;\n"
            "- calibrate: make any other change that brings the scores together.\n"
            "Keep them general and concise, at most 100 words, and do not mention the examples themselves.\n\n"
            f"{MATERIAL}\n\n"
            f"The present criteria:\n{quote(criteria)}"
        )
        return [("system", system), ("user", f"{self._examples(shown)}\n\n{self._question('improved criteria')}")]

    def _question(self, what: str) -> str:
        return f"Write the {what}{self._of}. Answer in this form, on one line: {compact(_FORM)}"

    def _examples(self, shown: Sequence[Shown]) -> str:
        texts = Shortener(self.lm.context or DEFAULT_CONTEXT, len(shown))
        parts = []
        for number, one in enumerate(shown, 1):
            lines = []
            if one.rated is not None:
                side = "high" if one.rank_gap > 0 else "low"
                lines.append(f"The rater's score: {self._level(one.rated)} (too {side}, beside the other responses)")
            percent = self.scale.to_percent(human_score(one.example))
            level = self.reading.low + (self.reading.high - self.reading.low) * percent / 100
            lines.append(f"Score people gave: {self._level(level)}")
            parts.append(texts.shown(number, one.example, *lines, blank_source=False))
        self.shortened = self.shortened or texts.shortened > 0
        return "\n\n".join(parts)

    def _level(self, rating: float) -> str:
        return f"{rating:.1f}" if len(self.reading.levels) <= 10 else f"{rating:.0f}"

    def write(self, turns: Sequence[Turn], sample: int) -> str:
        """The criteria that the model writes at temperature 1; asked once more, in stricter words, if unreadable.

        Args:
            turns: One of the two prompts.
            sample: Tells apart repeated replies to the same prompt.

        Raises:
            UnreadableReply: Neither reply holds criteria.
            ModelError: The endpoint could not be used.
        """

        def demand(problem: UnreadableReply) -> str:
            return (
                f"That could not be used: {quote(str(problem))}. Answer with nothing but this JSON object, with the "
                f"criteria as one text in it: {compact(_FORM)}"
            )

        schema = object_schema({"criteria": string_schema(LONGEST)})
        return twice(self.lm, turns, schema, _criteria, demand, max_tokens=MAX_TOKENS, temperature=1.0, sample=sample)


def _criteria(reply: Reply) -> str:
    """A text of criteria with single blanks, its lines kept; one that is too long ends with its last whole sentence."""
    value = read_form(reply, first="criteria").values.get("criteria")
    if not isinstance(value, str):
        raise UnreadableReply("the criteria are no text", reply=reply.text)
    lines = (" ".join(line.split()) for line in value.splitlines())
    text = "\n".join(line for line in lines if line)
    if len(text) < SHORTEST or text == _FORM["criteria"]:
        raise UnreadableReply("the criteria say nothing", reply=reply.text)
    if len(text) >= LONGEST - 1:  # at the bound of the schema it was cut off
        sentences = re.match(r".*[.!?;](?=\s|$)", text[:LONGEST], re.DOTALL)
        text = sentences.group() if sentences else text[: LONGEST - 1].rsplit(" ", 1)[0] + "…"
    return text


def same_text(text: str) -> str:
    """What two texts of criteria have in common that differ in case, white space and punctuation at the end only."""
    return " ".join(text.split()).casefold().rstrip(" .;")
