"""What an endpoint was found to do."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What an endpoint was found to do, by asking it.

    Attributes:
        json_schema: Replies follow a JSON schema even when the prompt does not mention it.
        probabilities: Token log-probabilities with alternatives come with the reply.
        temperature: The endpoint takes ``temperature=0``.
        notes: What was refused, in the endpoint's words.
    """

    json_schema: bool = False
    probabilities: bool = False
    temperature: bool = True
    notes: tuple[str, ...] = field(default_factory=tuple)
