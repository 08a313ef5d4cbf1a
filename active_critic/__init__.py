"""active-critic learns to judge generated text the way your own people do."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from active_critic.data import Examples, read_examples, split
    from active_critic.errors import (
        ActiveCriticError,
        ActiveCriticWarning,
        BudgetSpent,
        DataError,
        FitError,
        JournalError,
        MissingExtra,
        ModelError,
        OutputError,
        ProtocolError,
    )
    from active_critic.evaluators import (
        ICE,
        ActiveCritic,
        AutoCalibrate,
        Evaluator,
        GEval,
        GPTScore,
        HDEval,
        Surface,
        SurfaceFloor,
        ZeroShot,
        check_evaluator,
        evaluator_checks,
        fit,
        load,
    )
    from active_critic.journal import Journal
    from active_critic.lm import Budget, LanguageModel, open_lm
    from active_critic.meta_evaluation import Comparison, Curve, compare, curve
    from active_critic.protocols import CriticProtocol, Protocol
    from active_critic.records import Criterion, CriterionVerdict, Example, Scale, Usage, Verdict
    from active_critic.suggesting import Suggestion, suggest

__version__ = "0.1.0"

# Where each public name lives: it is imported when it is first used, so that ``import active_critic`` is quick.
_HOMES = {
    "ActiveCritic": "evaluators",
    "ActiveCriticError": "errors",
    "ActiveCriticWarning": "errors",
    "AutoCalibrate": "evaluators",
    "Budget": "lm",
    "BudgetSpent": "errors",
    "Comparison": "meta_evaluation",
    "Criterion": "records",
    "CriterionVerdict": "records",
    "CriticProtocol": "protocols",
    "Curve": "meta_evaluation",
    "DataError": "errors",
    "Evaluator": "evaluators",
    "Example": "records",
    "Examples": "data",
    "FitError": "errors",
    "GEval": "evaluators",
    "GPTScore": "evaluators",
    "HDEval": "evaluators",
    "ICE": "evaluators",
    "Journal": "journal",
    "JournalError": "errors",
    "LanguageModel": "lm",
    "MissingExtra": "errors",
    "ModelError": "errors",
    "OutputError": "errors",
    "Protocol": "protocols",
    "ProtocolError": "errors",
    "Scale": "records",
    "Suggestion": "suggesting",
    "Surface": "evaluators",
    "SurfaceFloor": "evaluators",
    "Usage": "records",
    "Verdict": "records",
    "ZeroShot": "evaluators",
    "check_evaluator": "evaluators",
    "compare": "meta_evaluation",
    "curve": "meta_evaluation",
    "evaluator_checks": "evaluators",
    "fit": "evaluators",
    "load": "evaluators",
    "open_lm": "lm",
    "read_examples": "data",
    "split": "data",
    "suggest": "suggesting",
}

__all__ = [
    "ICE",
    "ActiveCritic",
    "ActiveCriticError",
    "ActiveCriticWarning",
    "AutoCalibrate",
    "Budget",
    "BudgetSpent",
    "Comparison",
    "Criterion",
    "CriterionVerdict",
    "CriticProtocol",
    "Curve",
    "DataError",
    "Evaluator",
    "Example",
    "Examples",
    "FitError",
    "GEval",
    "GPTScore",
    "HDEval",
    "Journal",
    "JournalError",
    "LanguageModel",
    "MissingExtra",
    "ModelError",
    "OutputError",
    "Protocol",
    "ProtocolError",
    "Scale",
    "Suggestion",
    "Surface",
    "SurfaceFloor",
    "Usage",
    "Verdict",
    "ZeroShot",
    "check_evaluator",
    "compare",
    "curve",
    "evaluator_checks",
    "fit",
    "load",
    "open_lm",
    "read_examples",
    "split",
    "suggest",
]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{home}"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
