"""Every evaluator passes every check, by name; and evaluators that are broken on purpose fail where they should."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest

from active_critic.evaluators import EVALUATORS, ZeroShot, check_evaluator, evaluator_checks
from active_critic.evaluators.base import Evaluator
from active_critic.evaluators.checks import Check
from active_critic.lm import LanguageModel
from active_critic.records import Verdict

QUICK: dict[str, dict[str, Any]] = {
    "active-critic": {"candidates": 2, "demos": 2, "max_batches": 1, "report": False},
    "g-eval": {"max_batches": 1},
    "auto-calibrate": {"shots": (2, 3), "trials": 1, "refine_trials": 1, "max_batches": 1},
}
"""Settings that make a fit quick."""


def maker(kind: type[Evaluator], **settings: Any) -> Callable[[LanguageModel], Evaluator]:
    return lambda lm: kind(lm, journal=None, **{**QUICK.get(kind.kind, {}), **settings})


MAKERS = {kind.kind: maker(kind) for kind in EVALUATORS} | {
    "active-critic coarse": maker(next(kind for kind in EVALUATORS if kind.kind == "active-critic"), mode="coarse"),
}


@pytest.mark.parametrize(
    "check",
    [pytest.param(check, id=f"{name}: {check}") for name, make in MAKERS.items() for check in evaluator_checks(make)],
)
def test_every_evaluator(check: Check) -> None:
    check()


# --- broken on purpose ------------------------------------------------------------------------------------------------


class Hurried(ZeroShot):
    """Asks the model when it is made."""

    def __init__(self, lm: Any = "local", *, journal: Any = None) -> None:
        super().__init__(lm, journal=journal)
        self.model.ask([("user", "Are you there?")], max_tokens=1)


class Forgetful(ZeroShot):
    """Keeps nothing of what it is given."""

    def __init__(self, lm: Any = "local", *, journal: Any = None, strict: bool = True) -> None:
        super().__init__(lm, journal=journal)


class Cheerful(ZeroShot):
    """Makes the lowest score of what could not be read."""

    def score_many(self, items: Iterable[Any], **how: Any) -> Iterator[Verdict]:
        for verdict in super().score_many(items, **how):
            low = self.fitted.scale.low
            yield verdict if verdict.score is not None else Verdict(score=low, read_from="text")


class Dropping(ZeroShot):
    """Leaves out what could not be scored."""

    def score_many(self, items: Iterable[Any], **how: Any) -> Iterator[Verdict]:
        return (verdict for verdict in super().score_many(items, **how) if verdict.score is not None)


class Drifting(ZeroShot):
    """Gets milder with every text."""

    def score_many(self, items: Iterable[Any], **how: Any) -> Iterator[Verdict]:
        for count, verdict in enumerate(super().score_many(items, **how)):
            mild = None if verdict.score is None else min(self.fitted.scale.high, verdict.score + count / 100)
            yield dataclasses.replace(verdict, score=mild)


class Hoarding(ZeroShot):
    """Adds every fit to the ones before."""

    def fit(self, examples: Any, **how: Any) -> Any:
        self.before = [*getattr(self, "before", []), *examples]
        return super().fit(self.before, **how)


class Boundless(ZeroShot):
    """Leaves the scale."""

    def score_many(self, items: Iterable[Any], **how: Any) -> Iterator[Verdict]:
        for verdict in super().score_many(items, **how):
            yield dataclasses.replace(verdict, score=None if verdict.score is None else verdict.score * 2)


class Chatty(ZeroShot):
    """Finds better what it explains."""

    def score_many(self, items: Iterable[Any], *, explain: bool = True, **how: Any) -> Iterator[Verdict]:
        for verdict in super().score_many(items, explain=explain, **how):
            better = None if verdict.score is None else min(self.fitted.scale.high, verdict.score + 0.1 * explain)
            yield dataclasses.replace(verdict, score=better)


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (Hurried, {"constructor only stores"}),
        (Forgetful, {"constructor only stores", "fit makes a program"}),
        (Cheerful, {"an unreadable reply is never a number", "one failure leaves the other items scored"}),
        (Dropping, {"one verdict an item in its place", "one failure leaves the other items scored"}),
        (Drifting, {"the order of items does not matter"}),
        (Hoarding, {"a second fit forgets the first"}),
        (Boundless, {"scores are on the scale"}),
        (Chatty, {"explaining changes no score"}),
    ],
)
def test_what_is_broken_fails_where_it_should(kind: type[Evaluator], expected: set[str]) -> None:
    failed = set()
    for check in evaluator_checks(maker(kind)):
        try:
            check()
        except Exception:
            failed.add(check.name)
    assert expected <= failed
    with pytest.raises(AssertionError, match=sorted(expected)[0]):
        check_evaluator(maker(kind))


def test_what_passes_says_nothing() -> None:
    check_evaluator(maker(ZeroShot))
