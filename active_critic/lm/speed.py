"""How fast a model is, from calls that were made to it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import orjson

from active_critic.records import Usage

if TYPE_CHECKING:
    from active_critic.lm.client import LanguageModel

ENOUGH = 10
"""Calls from which a speed is read."""
MEASURED = {
    "qwen2.5-coder-1.5b": (66.0, 24.0),
    "qwen2.5-coder-0.5b": (119.0, 30.0),
    "smollm2-135m": (245.0, 70.0),
}
"""Tokens a second that the embedded models read and write on two processors without GPU."""
A_CALL = 0.25
"""Seconds that a call to one takes besides."""


@dataclass(frozen=True, slots=True)
class Speed:
    """What a call takes: so many seconds, and more for every token that is read and written.

    Attributes:
        call: Seconds for the call itself.
        read: Seconds for a token of the prompt that is not in the prefix cache.
        write: Seconds for a token of the reply.
        origin: Where this is known from, in words.
    """

    call: float
    read: float
    write: float
    origin: str

    def seconds(self, usage: Usage) -> float:
        """Seconds that calls take one after the other."""
        fresh = max(0, usage.prompt_tokens - usage.cached_tokens)
        return usage.calls * self.call + fresh * self.read + usage.completion_tokens * self.write


def speed_of(lm: LanguageModel, kept: Iterable[tuple[str, str]]) -> Speed | None:
    """How fast a model is: from its calls in the journal, else as it was measured elsewhere; None: not known.

    Args:
        lm: The model.
        kept: Requests and replies as the journal keeps them; those of other models are passed over.
    """
    found = [usage for request, reply in kept if (usage := _usage(request, reply, lm.identity)) is not None]
    if len(found) >= ENOUGH:
        return fitted(found)
    if lm.weights is not None and lm.name in MEASURED:
        read, write = MEASURED[lm.name]
        return Speed(A_CALL, 1 / read, 1 / write, "measured on two processors without GPU; this machine may be faster")
    return None


def fitted(calls: Sequence[Usage]) -> Speed:
    """The speed that explains best how long these calls took (weighted least squares, nothing below 0)."""
    import numpy as np
    from scipy.optimize import nnls

    rows = [(u.calls, u.prompt_tokens - u.cached_tokens, u.completion_tokens) for u in calls]
    taken = np.array([u.seconds for u in calls])
    # A call's share of the whole is what counts; without weights a few long ones would decide alone.
    weights = 1 / np.sqrt(np.maximum(taken, 1e-3))
    (call, read, write), _ = nnls(np.maximum(np.array(rows, dtype=float), 0.0) * weights[:, None], taken * weights)
    return Speed(float(call), float(read), float(write), f"read from {len(calls):,} earlier calls in the journal")


def _usage(request: str, reply: str, identity: object) -> Usage | None:
    try:
        if orjson.loads(request)["model"] != identity:
            return None
        usage = Usage(**orjson.loads(reply)["usage"])
    except (ValueError, KeyError, TypeError):
        return None
    return usage if usage.calls == 1 else None  # one that was retried says nothing of speed
