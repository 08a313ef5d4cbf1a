"""What an endpoint was found to do."""

from __future__ import annotations

from dataclasses import dataclass, field

MOST, FEW = 20, 5
"""Alternatives to a token: as many as are ever asked for, and as many as some endpoints give at most."""


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What an endpoint was found to do, by asking it.

    Attributes:
        json_schema: Replies follow a JSON schema even when the prompt does not mention it.
        probabilities: Token log-probabilities with alternatives come with the reply.
        temperature: The endpoint takes ``temperature=0``.
        alternatives: How many alternatives to a token may be asked for.
        notes: What was refused, in the endpoint's words.
    """

    json_schema: bool = False
    probabilities: bool = False
    temperature: bool = True
    alternatives: int = MOST
    notes: tuple[str, ...] = field(default_factory=tuple)
