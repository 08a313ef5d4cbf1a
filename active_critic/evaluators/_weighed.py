"""What is weighed of a text, and as the reply to what: the conversation of every likelihood."""

from __future__ import annotations

import re

from active_critic.lm.client import Turn
from active_critic.lm.lengths import beginning_of, length_of
from active_critic.quoting import quote
from active_critic.records import Criterion, Example

WEIGHED = 4_000
"""Of a longer response (characters, by ``length_of``) the likelihood is that of so much of its beginning: a model on
this machine is forced along it token by token, and a minute a text is enough.
"""


def weighing_turns(example: Example, task_description: str = "", criterion: Criterion | None = None) -> list[Turn]:
    """The instruction that shows the source, and to which the response is weighed as the reply."""
    wish = "an excellent response to it" if example.source.strip() else "an excellent text"
    if criterion is not None:
        wish += f", one that does very well on {quote(criterion.name)} ({quote(criterion.definition)})"
    parts = [f"The task. {quote(task_description)}"] if task_description else []
    parts.append(f"Write {wish}. Answer with the text alone.")
    if example.source.strip():
        parts.append(f"<source>\n{quote(example.source)}\n</source>")
    return [("user", "\n\n".join(parts))]


def weighed_part(response: str, longest: int | None = WEIGHED) -> str:
    """The part of a response whose likelihood is read: its first whole words where it is longer than this."""
    if longest is None or length_of(response) <= longest:
        return response
    response = response.lstrip()
    part = beginning_of(response, longest)
    ends_a_word = len(part) == len(response) or response[len(part)].isspace()
    # Half a word is an unlikely one.
    return part if ends_a_word else re.sub(r"(?<=\s)\S{1,40}\Z", "", part).rstrip() or part
