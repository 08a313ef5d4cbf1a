"""The evaluators of this package by name, and how a comparison makes them with settings of the user's."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from types import MappingProxyType
from typing import Any, get_type_hints

from active_critic.data.cells import plain_value
from active_critic.errors import FitError
from active_critic.evaluators.base import Evaluator
from active_critic.lm import LanguageModel
from active_critic.records import Record

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

    def check(self, name: str, settings: Mapping[str, Any]) -> None:
        """Make sure that these settings can be made, under the name that the evaluator goes by.

        Raises:
            FitError: There is no such parameter, or it takes another kind of value.
        """
        from pydantic import TypeAdapter, ValidationError

        known = self.parameters
        kinds = get_type_hints(self._kind.__init__)
        for parameter, value in settings.items():
            if parameter not in known:
                there = f"it has {', '.join(known)}" if known else "it has none"
                raise FitError(f"{name} has no parameter {parameter!r}; {there}")
            kind: TypeAdapter[Any] = TypeAdapter(kinds[parameter])
            try:
                kind.validate_python(value, strict=True)
            except ValidationError as problem:
                wanted = " or ".join(dict.fromkeys(map(_wanted, problem.errors())))
                said = f"the parameter {parameter!r} of {name} cannot be {repr(value)[:60]}; it is {wanted}"
                raise FitError(said) from None

    @property
    def _kind(self) -> Any:
        return getattr(import_module(f"active_critic.evaluators.{self.home}"), self.name)


def _wanted(error: Mapping[str, Any]) -> str:
    """What a parameter takes, from pydantic's complaint about a value of another kind."""
    if error["type"] in {"is_instance_of", "sequence_str"}:
        return "a list"
    said = str(error["msg"]).removeprefix("Input should be ")
    for its, ours in (("a valid dictionary", "a mapping"), ("a valid integer", "an integer"), ("a valid", "a")):
        said = said.replace(its, ours)
    return said


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
        FitError: None, an unknown or repeated evaluator, what makes no evaluator, a parameter that it does not have, or
            a value that this cannot have.
    """
    if isinstance(evaluators, str):
        evaluators = [evaluators]
    elif not isinstance(evaluators, Mapping):
        if not isinstance(evaluators, Iterable):
            known = ", ".join(EVALUATOR_NAMES)
            raise FitError(f"evaluators are names out of {known}, or factories by name, not {evaluators!r}")
        evaluators = list(evaluators)
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
    for own in (settings or {}, *(settings.values() if isinstance(settings, Mapping) else ())):
        if not isinstance(own, Mapping):
            said = "settings are parameters by name, by method, such as {'g-eval': {'samples': 5}}"
            raise FitError(f"{said}, not {own!r}")
    given = {
        name: {what: plain_value(value) for what, value in values.items()} for name, values in (settings or {}).items()
    }
    for name in given:
        if name not in asked:
            raise FitError(f"there are settings for {name!r}, which is not compared; compared are {', '.join(asked)}")
    made: dict[str, Factory] = {}
    unasked: Any = None  # the model, which no check of parameters asks
    for name, factory in asked.items():
        own = given.get(name, {})
        if not isinstance(factory, Known):
            if not callable(factory):
                raise FitError(
                    f"{name!r} is a {type(factory).__name__}, and not what makes an evaluator for a model: "
                    "write for example lambda lm: ZeroShot(lm)"
                )
            if own:
                raise FitError(f"{name!r} is a factory of your own: have it make the evaluator with these settings")
            made[name] = factory
            continue
        factory.check(name, own)
        made[name] = partial(factory, **({"seed": seed, **own} if "seed" in factory.parameters else own))
        try:
            made[name](unasked).check()
        except FitError as problem:
            raise FitError(f"{name}: {problem}") from None
    return made


def needs_model(factory: Factory) -> bool:
    """Whether the evaluators that this makes ask a language model anything."""
    return bool(getattr(factory.func if isinstance(factory, partial) else factory, "needs_model", True))


def learners(methods: Mapping[str, Factory]) -> list[str]:
    """The evaluators of this package among them that learn from examples; of other factories this is not known."""
    return [
        name
        for name, factory in methods.items()
        if isinstance(factory, partial) and isinstance(factory.func, Known) and factory(None).learns_from_examples
    ]


def given_settings(factory: Factory) -> dict[str, Any]:
    """The parameters that this factory was told to use, as plain JSON values.

    Those that the evaluator has by itself are in its program.
    """
    given = dict(factory.keywords) if isinstance(factory, partial) else {}
    plain: dict[str, Any] = json.loads(json.dumps(given, default=_document))
    return plain


def _document(value: Any) -> Any:
    return value.model_dump(mode="json") if isinstance(value, Record) else str(value)
