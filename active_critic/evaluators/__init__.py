"""The evaluators, behind one interface."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from active_critic import store
from active_critic.evaluators.active_critic import ActiveCritic
from active_critic.evaluators.base import Evaluator, Progress
from active_critic.evaluators.surface import SurfaceFloor
from active_critic.evaluators.zero_shot import ZeroShot
from active_critic.records import Protocol, Scale

__all__ = ["ActiveCritic", "Evaluator", "SurfaceFloor", "ZeroShot", "fit", "from_protocol", "load"]


def fit(
    examples: Any,
    *,
    lm: Any = "local",
    fields: Mapping[str, str] | None = None,
    scale: Scale | str | None = None,
    progress: Progress | None = None,
    **settings: Any,
) -> ActiveCritic:
    """Fit an :class:`ActiveCritic` on scored examples; a shorthand.

    Args:
        examples: Whatever :func:`active_critic.read_examples` takes.
        lm: The language model.
        fields: Column by field, where the names are not recognised.
        scale: The scale of the human scores.
        progress: Called with what is being done, how much is done and how much there is.
        settings: Parameters of :class:`ActiveCritic`.
    """
    return ActiveCritic(lm, **settings).fit(examples, fields=fields, scale=scale, progress=progress)


def load(path: str | Path, lm: Any = None, *, journal: str | Path | Literal["default"] | None = "default") -> Evaluator:
    """Load a saved program; nothing in it is executed, and the model is opened only when something is scored.

    Args:
        path: The file.
        lm: The language model to score with (as for :func:`active_critic.lm.open_lm`). Default: the model that the
            program was fitted with.
        journal: Where replies are kept; see :class:`Evaluator`.

    Raises:
        ProtocolError: The file is missing, damaged, no program, or of a newer format version.
    """
    return from_protocol(store.load(path), lm, journal=journal)


def from_protocol(
    protocol: Protocol, lm: Any = None, *, journal: str | Path | Literal["default"] | None = "default"
) -> Evaluator:
    """The evaluator that a program belongs to, ready to score."""
    kinds: dict[str, type[Evaluator]] = {"active-critic": ActiveCritic, "zero-shot": ZeroShot}
    evaluator = kinds[protocol.evaluator](lm if lm is not None else protocol.provenance.model, journal=journal)
    if isinstance(evaluator, ActiveCritic):
        evaluator.mode = protocol.mode
    evaluator.protocol_ = protocol
    return evaluator
