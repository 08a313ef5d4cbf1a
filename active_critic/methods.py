"""The evaluators of this package by name, and how a comparison makes them with settings of the user's."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from types import MappingProxyType
from typing import Any

from active_critic.errors import FitError
from active_critic.evaluators.base import Evaluator
from active_critic.lm import LanguageModel

Factory = Callable[[LanguageModel], Evaluator]
"""Makes a new, unfitted evaluator. One with an attribute ``needs_model = False`` is given the model unopened."""


@dataclass(frozen=True, slots=True)
class Known:
    """An evaluator of this package, by where it lives; imported when it is first made.

    Attributes:
        home, name: Module below ``active_critic.evaluators``, and class.
        fixed: Parameters that make it this one, and cannot be set.
        usual: Parameters that differ from the class's defaults here, and can be set.
        needs_model: Whether it asks a language model anything.
    """

    home: str
    name: str
    fixed: Mapping[str, Any] = field(default_factory=dict)
    usual: Mapping[str, Any] = field(default_factory=dict)
    needs_model: bool = True

    def __call__(self, lm: Any, **settings: Any) -> Evaluator:
        """A new evaluator with these parameters."""
        made: Evaluator = self._kind(lm, journal=None, **{**self.usual, **settings, **self.fixed})
        return made

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names of the parameters that can be set."""
        names = inspect.signature(self._kind.__init__).parameters
        return tuple(name for name in names if name not in {"self", "lm", "journal", *self.fixed})

    @property
    def _kind(self) -> Any:
        return getattr(import_module(f"active_critic.evaluators.{self.home}"), self.name)


def _ours(mode: str) -> Known:
    # What a fit would measure about itself is measured here, on the same splits as everything else.
    return Known("active_critic", "ActiveCritic", fixed={"mode": mode}, usual={"report": False})


CRITIC = Known("active_critic", "ActiveCritic")
"""Active-Critic with its mode to choose, and the report of its fit."""

EVALUATOR_NAMES: Mapping[str, Known] = MappingProxyType(
    {
        "zero-shot": Known("zero_shot", "ZeroShot"),
        "g-eval": Known("g_eval", "GEval"),
        "gpt-score": Known("gpt_score", "GPTScore"),
        "ice": Known("ice", "ICE"),
        "auto-calibrate": Known("auto_calibrate", "AutoCalibrate"),
        "hd-eval": Known("hd_eval", "HDEval"),
        "active-critic-coarse": _ours("coarse"),
        "active-critic-fine": _ours("fine"),
        "surface": Known("surface", "Surface", needs_model=False),
    }
)
"""The evaluators of this package, by the name they have in a comparison."""


def resolve(
    evaluators: Sequence[str] | Mapping[str, Factory],
    settings: Mapping[str, Mapping[str, Any]] | None = None,
    *,
    seed: int = 0,
) -> dict[str, Factory]:
    """The factories of the methods asked for, with their settings; nothing is made yet.

    Raises:
        FitError: None, an unknown or repeated evaluator, or a parameter that it does not have.
    """
    if isinstance(evaluators, str):
        evaluators = [evaluators]
    if not evaluators:
        raise FitError(f"name at least one evaluator; there are {', '.join(EVALUATOR_NAMES)}")
    asked: Mapping[str, Factory]
    if isinstance(evaluators, Mapping):
        asked = evaluators
    else:
        for place, name in enumerate(evaluators):
            if name not in EVALUATOR_NAMES:
                raise FitError(f"there is no evaluator {name!r}; there are {', '.join(EVALUATOR_NAMES)}")
            if name in evaluators[:place]:
                raise FitError(f"the evaluator {name!r} is named twice")
        asked = {name: EVALUATOR_NAMES[name] for name in evaluators}
    given = {name: dict(values) for name, values in (settings or {}).items()}
    for name in given:
        if name not in asked:
            raise FitError(f"there are settings for {name!r}, which is not compared; compared are {', '.join(asked)}")
    made: dict[str, Factory] = {}
    for name, factory in asked.items():
        own = given.get(name, {})
        if not isinstance(factory, Known):
            if own:
                raise FitError(f"{name!r} is a factory of your own: have it make the evaluator with these settings")
            made[name] = factory
            continue
        known = factory.parameters
        for parameter in own:
            if parameter not in known:
                there = f"it has {', '.join(known)}" if known else "it has none"
                raise FitError(f"{name} has no parameter {parameter!r}; {there}")
        made[name] = partial(factory, **({"seed": seed, **own} if "seed" in known else own))
    return made


def needs_model(factory: Factory) -> bool:
    """Whether the evaluators that this makes ask a language model anything."""
    return bool(getattr(factory.func if isinstance(factory, partial) else factory, "needs_model", True))


def given_settings(factory: Factory) -> dict[str, Any]:
    """The parameters that this factory was told to use; those of the evaluator itself are in its program."""
    return dict(factory.keywords) if isinstance(factory, partial) else {}
