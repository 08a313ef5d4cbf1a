"""The evaluators, behind one interface."""

from __future__ import annotations

import functools
import operator
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from inspect import signature
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from active_critic import store
from active_critic.errors import FitError, ProtocolError
from active_critic.evaluators.active_critic import ActiveCritic
from active_critic.evaluators.auto_calibrate import AutoCalibrate
from active_critic.evaluators.base import Evaluator, JournalPath, Progress
from active_critic.evaluators.checks import check_evaluator, evaluator_checks
from active_critic.evaluators.g_eval import GEval
from active_critic.evaluators.gpt_score import GPTScore
from active_critic.evaluators.hd_eval import HDEval
from active_critic.evaluators.ice import ICE
from active_critic.evaluators.surface import Surface, SurfaceFloor
from active_critic.evaluators.zero_shot import ZeroShot
from active_critic.lm import open_lm
from active_critic.lm.spending import Amounts
from active_critic.protocols import Protocol
from active_critic.records import Scale

__all__ = [
    "EVALUATORS",
    "ICE",
    "ActiveCritic",
    "AutoCalibrate",
    "Evaluator",
    "GEval",
    "GPTScore",
    "HDEval",
    "Surface",
    "SurfaceFloor",
    "ZeroShot",
    "check_evaluator",
    "evaluator_checks",
    "fit",
    "from_protocol",
    "json_schema",
    "load",
    "load_protocol",
]

EVALUATORS: tuple[type[Evaluator], ...] = (
    Surface,
    ZeroShot,
    GPTScore,
    ICE,
    GEval,
    AutoCalibrate,
    HDEval,
    ActiveCritic,
)
"""Every evaluator of this package."""


def fit(
    examples: Any,
    *,
    lm: Any = "local",
    fields: Mapping[str, str] | None = None,
    scale: Scale | str | tuple[float, float] | list[float] | None = None,
    progress: Progress | None = None,
    budget: Amounts | None = None,
    **settings: Any,
) -> ActiveCritic:
    """Fit an :class:`ActiveCritic` on scored examples; a shorthand.

    Args:
        examples: Whatever :func:`active_critic.read_examples` takes.
        lm: The language model.
        fields: Column by field, where the names are not recognised.
        scale: The scale of the human scores.
        progress: Called with what is being done, how much is done and how much there is.
        budget: What may be spent at most, such as ``"500 calls"``, ``["200k tokens", "2 USD"]`` or a
            :class:`active_critic.Budget`, within what the model may spend at all. None: no further limit.
        settings: Parameters of :class:`ActiveCritic`.

    Raises:
        FitError: There is no such parameter; and as for :meth:`Evaluator.fit`.
    """
    _refuse_unknown("fit", settings, [*signature(ActiveCritic).parameters, "fields", "scale", "progress", "budget"])
    critic = ActiveCritic(lm, **settings)
    try:
        return critic.fit(examples, fields=fields, scale=scale, progress=progress, budget=budget)
    except BaseException:
        critic.close()  # nobody else can
        raise


def load(path: str | Path, lm: Any = None, *, journal: JournalPath = "default", **unknown: Any) -> Evaluator:
    """Load a saved program; nothing in it is executed, and the model is opened only when something is scored.

    Args:
        path: The file.
        lm: The language model to score with (as for :func:`active_critic.lm.open_lm`). Default: the model that the
            program was fitted with.
        journal: Where replies are kept; see :class:`Evaluator`.
        unknown: Nothing else is taken; the error says what to write instead.

    Raises:
        FitError: Something else is given.
        ProtocolError: The file is missing, damaged, no program, of a newer format version, or of an evaluator that
            is not one of this package's (load such a one with its own ``load``).
    """
    _refuse_unknown("load", unknown, ["lm", "journal"])
    return from_protocol(load_protocol(path), lm, journal=journal)


def _refuse_unknown(call: str, given: Iterable[str], known: Sequence[str]) -> None:
    """Say which setting there is not, and what to write instead.

    Raises:
        FitError: One of those given is not known.
    """
    for name in given:
        if name in known:
            continue
        if name in signature(open_lm).parameters:
            raise FitError(
                f"{call}() does not take {name}, which says how a model is opened; open it first: "
                f"{call}(..., lm=ac.open_lm(NAME, {name}=...))"
            )
        near = get_close_matches(name, known, n=1)
        hint = f" Did you mean {near[0]}?" if near else ""
        raise FitError(f"{call}() has no setting {name!r}.{hint} It has {', '.join(known)}")


def load_protocol(path: str | Path) -> Protocol:
    """Read the program of any evaluator of this package.

    Raises:
        ProtocolError: As for :func:`load`.
    """
    document = store.read(path)
    evaluator = _of_this_package(document.get("evaluator"), f"{path}: ", "read it with the load()")
    return store.parse(document, evaluator.document, str(path))


def from_protocol(protocol: Protocol, lm: Any = None, *, journal: JournalPath = "default") -> Evaluator:
    """The evaluator that a program belongs to, ready to score.

    Args:
        protocol: The program.
        lm: As for :func:`load`.
        journal: As for :func:`load`.

    Raises:
        ProtocolError: It is of an evaluator that is not one of this package's (use that one's own ``from_protocol``).
    """
    evaluator = _of_this_package(protocol.evaluator, "", "use the from_protocol()")
    return evaluator.from_protocol(protocol, lm, journal=journal)


def _of_this_package(kind: object, where: str, remedy: str) -> type[Evaluator]:
    """The evaluator that calls its programs by this kind.

    Raises:
        ProtocolError: None does.
    """
    known = {evaluator.kind: evaluator for evaluator in EVALUATORS}
    if not isinstance(kind, str) or kind not in known:
        raise ProtocolError(
            f"{where}a program of the evaluator {str(kind)[:40]!r}, which is none of {', '.join(known)}; "
            f"{remedy} of the evaluator that wrote it"
        )
    return known[kind]


def json_schema() -> dict[str, Any]:
    """The published JSON schema of program documents (``programs/schema.json``)."""
    documents = dict.fromkeys(evaluator.document for evaluator in EVALUATORS)
    family: Any = functools.reduce(operator.or_, documents)
    adapter: TypeAdapter[Any] = TypeAdapter(family)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **adapter.json_schema()}
