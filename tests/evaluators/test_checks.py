"""Every evaluator passes every check, by name; and evaluators that are broken on purpose fail where they should."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import pytest

from active_critic.data import read_examples
from active_critic.data.examples import Examples
from active_critic.errors import ModelError
from active_critic.evaluators import EVALUATORS, ActiveCritic, ZeroShot, check_evaluator, evaluator_checks
from active_critic.evaluators._checks_material import fitted, scored
from active_critic.evaluators.base import Evaluator
from active_critic.evaluators.checks import Check
from active_critic.lm import LanguageModel
from active_critic.records import Example, Usage, Verdict

QUICK: dict[str, dict[str, Any]] = {
    "active-critic": {"candidates": 2, "demos": 2, "max_batches": 1, "report": False},
    "g-eval": {"max_batches": 1},
    "auto-calibrate": {"shots": (2, 3), "trials": 1, "refine_trials": 1, "max_batches": 1},
}
"""Settings that make a fit quick."""


def maker(kind: type[Evaluator], **settings: Any) -> Callable[[LanguageModel], Evaluator]:
    return lambda lm: kind(lm, journal=None, **{**QUICK.get(kind.kind, {}), **settings})


MAKERS = {kind.kind: maker(kind) for kind in EVALUATORS} | {
    "active-critic coarse": maker(ActiveCritic, mode="coarse"),
    "active-critic combined": maker(ActiveCritic, use_likelihood="always", use_contrast="always", use_surface="always"),
}


@pytest.mark.parametrize(
    "check",
    [pytest.param(check, id=f"{name}: {check}") for name, make in MAKERS.items() for check in evaluator_checks(make)],
)
def test_every_evaluator(check: Check) -> None:
    check()


@pytest.mark.parametrize("name", MAKERS)
def test_a_program_knows_which_criteria_its_verdicts_score(name: str) -> None:
    evaluator = fitted(MAKERS[name])
    for verdict in scored(evaluator, explain=False):
        assert tuple(criterion.name for criterion in verdict.criteria) == evaluator.fitted.rated
    assert bool(evaluator.fitted.rated) == (name in {"g-eval", "hd-eval", "active-critic", "active-critic combined"})


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


class Flat(ZeroShot):
    """Finds everything middling."""

    def score_many(self, items: Iterable[Any], **how: Any) -> Iterator[Verdict]:
        middle = (self.fitted.scale.low + self.fitted.scale.high) / 2
        for verdict in super().score_many(items, **how):
            yield dataclasses.replace(verdict, score=None if verdict.score is None else middle)


class Levelled(ZeroShot):
    """Gives the rating on its levels, whatever the scale; 1 to 5 lies within 0 to 100, too."""

    def score_many(self, items: Iterable[Any], **how: Any) -> Iterator[Verdict]:
        scale = self.fitted.scale
        for verdict in super().score_many(items, **how):
            level = None if verdict.score is None else 1 + scale.to_percent(verdict.score) / 25
            yield dataclasses.replace(verdict, score=level)


class Free(ZeroShot):
    """Does not say what a verdict cost."""

    def score_many(self, items: Iterable[Any], **how: Any) -> Iterator[Verdict]:
        return (dataclasses.replace(verdict, usage=Usage()) for verdict in super().score_many(items, **how))


class Deaf(ZeroShot):
    """Goes on when nobody answers."""

    def score_many(self, items: Iterable[Any], **how: Any) -> Iterator[Verdict]:
        for item in items:
            try:
                yield from super().score_many([item], **how)
            except ModelError as problem:
                yield Verdict(unscored=str(problem))


class Learning(ZeroShot):
    """Keeps something of a fit in its task description."""

    def learnt(self, data: Examples) -> str:
        raise NotImplementedError

    def fit(self, examples: Any, **how: Any) -> Any:
        data = read_examples(examples, scale=how.get("scale"))
        learnt = self.learnt(data)
        super().fit(data)
        self.protocol_ = self.protocol_.model_copy(update={"task_description": learnt})
        return self


class Rowwise(Learning):
    """Learns from the row that happens to be the first."""

    def learnt(self, data: Examples) -> str:
        return f"Texts such as {data[0].id}."


class Keeping(Learning):
    """Keeps a text, and does not say so."""

    def learnt(self, data: Examples) -> str:
        return f"Texts such as {max(example.response for example in data)}"


class Racing(Learning):
    """Learns from the example that is answered first."""

    def learnt(self, data: Examples) -> str:
        first: list[str] = []

        def one(example: Example) -> None:
            self.model.ask([("user", example.response + "." * (len(data) - data.items.index(example)))], max_tokens=1)
            first.append(example.response)

        with ThreadPoolExecutor(self.model.workers) as pool:
            list(pool.map(one, data))
        return f"Texts such as {' and '.join(first)}."


class Trusting(Learning):
    """Shows the model a text as it is."""

    def learnt(self, data: Examples) -> str:
        self.model.ask([("user", data[0].response)], max_tokens=1)
        return "Judge."


class Credulous(Learning):
    """Shows the model what it wrote before as it is."""

    def learnt(self, data: Examples) -> str:
        schema = {"type": "object", "properties": {"task": {"type": "string"}}}
        wrote = self.model.ask([("user", "What is it about?")], max_tokens=20, schema=schema).text
        self.model.ask([("user", f"It is about {wrote}. Is that so?")], max_tokens=1)
        return "Judge."


class Wasteful(Learning):
    """Asks something new every time."""

    def learnt(self, data: Examples) -> str:
        self.model.ask([("user", f"Are you there at {time.monotonic_ns()}?")], max_tokens=1)
        return "Judge."


class Hasty(Learning):
    """Puts its program in place before it is sure of it."""

    def learnt(self, data: Examples) -> str:
        self.protocol_ = None
        self.model.ask([("user", "Are you there?")], max_tokens=1)
        return "Judge."


class Lossy(Learning):
    """Saves none of its parameters."""

    def __init__(self, lm: Any = "local", *, journal: Any = None, strict: bool = False) -> None:
        super().__init__(lm, journal=journal)
        self.strict = strict

    def parameters(self) -> dict[str, Any]:
        return {}

    def learnt(self, data: Examples) -> str:
        return f"Judge{' strictly' if self.strict else ''}."


class Anonymous(ZeroShot):
    """Says nothing of its program in its signature."""

    @property
    def signature(self) -> str:
        return f"zero-shot|{self.fitted.provenance.model}"


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
        (Flat, {"scores tell texts apart"}),
        (Levelled, {"another scale moves the scores with it"}),
        (Free, {"verdicts say what they cost"}),
        (Deaf, {"a model that is down ends the run"}),
        (Rowwise, {"the order of examples does not matter"}),
        (Keeping, {"texts stay out of a program unless it names them as shown"}),
        (Racing, {"many workers change nothing"}),
        (Trusting, {"texts under evaluation cannot leave their place"}),
        (Credulous, {"what a model writes cannot leave its place"}),
        (Wasteful, {"nothing is paid for twice"}),
        (Hasty, {"a fit that breaks off changes nothing"}),
        (partial(Lossy, strict=True), {"a loaded evaluator can be fitted again"}),
        (Anonymous, {"the signature names what matters"}),
    ],
)
def test_what_is_broken_fails_where_it_should(kind: Callable[..., Evaluator], expected: set[str]) -> None:
    checks = {check.name: check for check in evaluator_checks(lambda lm: kind(lm, journal=None))}
    for name in expected:
        with pytest.raises((AssertionError, AttributeError)):
            checks[name]()


def test_all_that_fails_is_told_at_once() -> None:
    with pytest.raises(AssertionError, match=r"^\d+ of \d+ checks fail:\n") as failure:
        check_evaluator(maker(Dropping))
    told = {line.split(":")[0] for line in str(failure.value).splitlines()[1:]}
    assert {"one verdict an item in its place", "one failure leaves the other items scored"} <= told
    assert "constructor only stores" not in told


def test_what_passes_says_nothing() -> None:
    check_evaluator(maker(ZeroShot))
