"""Checks that any evaluator must pass, ours and a user's own, with a scripted model in place of a real one.

In a test file::

    @pytest.mark.parametrize("check", evaluator_checks(lambda lm: MyEvaluator(lm, journal=None)), ids=str)
    def test_my_evaluator(check):
        check()

Each check makes fresh evaluators with the function given, on fresh scripted models, and raises an ``AssertionError``
that says what should have happened. ``check_evaluator`` runs them all.
"""

from __future__ import annotations

import inspect
import json
import random
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from active_critic import store
from active_critic.errors import ActiveCriticError, AuthenticationFailed, DataError, EndpointDown, FitError, ModelError
from active_critic.evaluators._checks_material import (
    HOSTILE,
    SCALE,
    Make,
    Switch,
    asks_in_words,
    content,
    examples,
    fitted,
    items,
    must,
    plain,
    raises,
    raising,
    rate,
    saying,
    scored,
    uses_a_model,
)
from active_critic.files import BadRow
from active_critic.journal import Journal
from active_critic.lm import Turn
from active_critic.lm.filling import form_filling_lm
from active_critic.records import Example, Protocol


@dataclass(frozen=True)
class Check:
    """One check of one evaluator; call it to run it."""

    name: str
    run: Callable[[Make], None]
    make: Make

    def __str__(self) -> str:
        return self.name

    def __call__(self) -> None:
        """Run the check.

        Raises:
            AssertionError: The evaluator does not pass.
        """
        self.run(self.make)


def evaluator_checks(make: Make) -> list[Check]:
    """Every check of an evaluator, in the order in which a failure is best mended.

    Args:
        make: Makes the evaluator, not fitted, on the model it is given. It should set ``journal=None``, and whatever
            makes a fit quick.
    """
    return [Check(name, run, make) for name, run in _CHECKS.items()]


def check_evaluator(make: Make) -> None:
    """Run every check of an evaluator.

    Args:
        make: See :func:`evaluator_checks`.

    Raises:
        AssertionError: Some checks fail; the message has a line for each.
    """
    failed = []
    for check in evaluator_checks(make):
        try:
            check()
        except Exception as problem:
            first = str(problem).strip().splitlines()[:1] or [""]
            failed.append(f"{check.name}: {type(problem).__name__}: {first[0]}")
    if failed:
        raise AssertionError(f"{len(failed)} of {len(_CHECKS)} checks fail:\n" + "\n".join(failed))


# --- the checks --------------------------------------------------------------------------------------------------


def _constructor_only_stores(make: Make) -> None:
    lm = form_filling_lm(rate)
    evaluator = make(lm)
    must(lm.usage.calls == 0, "the constructor must not ask the model anything")
    must(evaluator.protocol_ is None, "a new evaluator has no program")
    names = [name for name in inspect.signature(type(evaluator).__init__).parameters if name != "self"]
    for name in names:
        must(hasattr(evaluator, name), f"the constructor must store its parameter {name!r} under its own name")
    again = make(lm)
    for name in names:
        must(getattr(again, name) == getattr(evaluator, name), f"the parameter {name!r} must be stored as it is")
    found = [name for name in vars(evaluator) if name.endswith("_") and not name.startswith("_")]
    filled = [name for name in found if getattr(evaluator, name)]
    must(not filled, f"what ends in an underscore is found by fitting, and {', '.join(filled)} is there before")


def _not_fitted_is_an_error(make: Make) -> None:
    evaluator = make(form_filling_lm(rate))
    raises(FitError, lambda: scored(evaluator), "scoring before fitting must raise FitError")
    raises(FitError, lambda: evaluator.signature, "the signature before fitting must raise FitError")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "p.json"
        raises(FitError, lambda: evaluator.save(path), "saving before fitting must raise FitError")
        must(not path.exists(), "saving before fitting must write nothing")


def _fit_makes_a_program(make: Make) -> None:
    evaluator = make(form_filling_lm(rate))
    must(evaluator.fit(examples(), scale=SCALE) is evaluator, "fit must return the evaluator itself")
    program = evaluator.protocol_
    must(isinstance(program, Protocol), "fit must set protocol_ to a Protocol")
    must(type(program) is evaluator.document, "protocol_ must be of the evaluator's document class")
    must(program.evaluator == evaluator.kind, "the program must name the evaluator's kind")
    must(program.provenance.n_train == 20, "the provenance must count the training examples")
    must(program.provenance.data_sha256, "the provenance must hold the hash of the training examples")
    must(program.provenance.versions.get("active-critic"), "the provenance must hold the package's version")
    must((program.scale.low, program.scale.high) == (1, 5), "the program must hold the user's scale")


def _a_second_fit_forgets_the_first(make: Make) -> None:
    other = examples(24, seed=2)
    twice = fitted(make).fit(other, scale=SCALE)
    once = fitted(make, data=other)
    must(content(twice) == content(once), "a second fit must give what a first fit on the same examples gives")
    must(plain(scored(twice)) == plain(scored(once)), "a second fit must forget the first")


def _the_same_fit_gives_the_same_program(make: Make) -> None:
    first, second = fitted(make), fitted(make)
    must(content(first) == content(second), "the same examples, model and parameters must give the same program")
    must(first.signature == second.signature, "the same program must have the same signature")


def _a_failed_fit_changes_nothing(make: Make) -> None:
    evaluator = fitted(make)
    before = evaluator.protocol_
    unscored = [Example(e.response, e.source) for e in examples()]
    raises((DataError, FitError), lambda: evaluator.fit(unscored), "examples without scores must be refused")
    must(evaluator.protocol_ is before, "a fit that fails must leave the program as it was")


def _one_verdict_an_item_in_its_place(make: Make) -> None:
    evaluator = fitted(make)
    given: list[Example | BadRow] = [*items()]
    given[2] = BadRow(row=3, reason="the row is broken")
    given[5] = Example("   ", "a source")
    verdicts = list(evaluator.score_many(iter(given)))
    must(len(verdicts) == len(given), "there must be one verdict an item")
    must(verdicts[2].unscored == "the row is broken", "a row that could not be read keeps its reason")
    must(verdicts[5].unscored == "the response is empty", "an empty response is unscored")
    rest = [i for i in range(len(given)) if i not in (2, 5)]
    must(all(verdicts[i].score is not None for i in rest), "the other items must be scored")
    must(list(evaluator.score_many([])) == [], "no items give no verdicts")


def _the_order_of_items_does_not_matter(make: Make) -> None:
    evaluator, given = fitted(make), items()
    straight = plain(scored(evaluator, given))
    order = list(range(len(given)))
    random.Random(0).shuffle(order)  # noqa: S311
    mixed = plain(scored(evaluator, [given[i] for i in order]))
    must([straight[i] for i in order] == mixed, "a verdict must not depend on which items come before it")
    alone = plain([v for item in given[:3] for v in evaluator.score_many([item])])
    must(alone == straight[:3], "a verdict must not depend on which items are scored with it")


def _many_workers_change_nothing(make: Make) -> None:
    one, many = (plain(scored(fitted(make, form_filling_lm(rate, workers=n)))) for n in (1, 4))
    must(one == many, "verdicts must not depend on how many calls are in flight")


def _scores_are_on_the_scale(make: Make) -> None:
    for wide in (SCALE, "0..100"):
        data = [replace(example, score=20 * (example.score or 0)) for example in examples()]
        evaluator = fitted(make) if wide == SCALE else make(form_filling_lm(rate)).fit(data, scale=wide)
        scale = evaluator.fitted.scale
        for verdict in scored(evaluator):
            must(verdict.score is not None and verdict.score in scale, f"{verdict.score} is not on the scale {scale}")
            for criterion in verdict.criteria:
                must(criterion.score in scale, f"{criterion.name}: {criterion.score} is not on the scale {scale}")
            must(verdict.read_from is not None, "a score must say what it was read from")


def _explaining_changes_no_score(make: Make) -> None:
    evaluator = fitted(make)
    told, silent = (
        [(v.score, [(c.name, c.score) for c in v.criteria]) for v in scored(evaluator, explain=explain)]
        for explain in (True, False)
    )
    must(told == silent, "scores must be the same with and without explanations")


def _what_is_saved_is_what_is_loaded(make: Make) -> None:
    evaluator = fitted(make)
    before = plain(scored(evaluator))
    with tempfile.TemporaryDirectory() as folder:
        path = evaluator.save(Path(folder) / "p.json")
        json.loads(path.read_text("utf-8"))
        loaded = type(evaluator).load(path, form_filling_lm(rate), journal=None)
        must(loaded.fitted == evaluator.fitted, "the program that is loaded must equal the one that was saved")
        must(loaded.signature == evaluator.signature, "a loaded evaluator must have the same signature")
        must(plain(scored(loaded)) == before, "a loaded evaluator must give the same verdicts")
        first = path.read_bytes()
        loaded.save(path)
        must(path.read_bytes() == first, "saving what was loaded must give the same file")
        document = json.loads(first) | {"surprise": 1}
        raises(
            ActiveCriticError,
            lambda: store.parse(document, type(evaluator).document),
            "a program with an unknown field must be refused",
        )


def _a_loaded_evaluator_can_be_fitted_again(make: Make) -> None:
    evaluator = fitted(make)
    with tempfile.TemporaryDirectory() as folder:
        path = evaluator.save(Path(folder) / "p.json")
        loaded = type(evaluator).load(path, form_filling_lm(rate), journal=None)
    again = loaded.fit(examples(), scale=SCALE)
    must(content(again) == content(evaluator), "a loaded evaluator must keep its parameters")


def _an_unreadable_reply_is_never_a_number(make: Make) -> None:
    if not uses_a_model(make):
        return
    switch = Switch()
    evaluator = fitted(make, form_filling_lm(rate, before=switch))
    if not asks_in_words(evaluator):
        return
    for nonsense in ("", "I would rather not say.", '{"rating": "high"}', "{", "NaN", '{"overall": 1e999}'):
        switch.act = saying(nonsense)
        for verdict in scored(evaluator, items(3)):
            must(verdict.score is None, f"the reply {nonsense!r} must leave an item unscored, not give {verdict.score}")
            must(verdict.unscored, "an unscored item must say why")


def _a_model_that_is_down_ends_the_run(make: Make) -> None:
    if not uses_a_model(make):
        return
    switch = Switch()
    evaluator = fitted(make, form_filling_lm(rate, before=switch))
    for problem in (EndpointDown("nobody answers"), AuthenticationFailed("wrong key")):
        switch.act = raising(problem)
        said = f"scoring must raise when the model fails with {type(problem).__name__} from the start"
        raises(type(problem), lambda: scored(evaluator), said)


def _one_failure_leaves_the_other_items_scored(make: Make) -> None:
    if not uses_a_model(make):
        return
    switch = Switch()
    given = items()
    evaluator = fitted(make, form_filling_lm(rate, before=switch))
    if not asks_in_words(evaluator):
        return

    def act(turns: list[Turn]) -> str | None:
        if any(given[4].response in text for role, text in turns if role == "user"):
            raise EndpointDown("the connection broke")
        return None

    switch.act = act
    verdicts = scored(evaluator, given)
    must(verdicts[4].score is None, "an item whose request fails must be unscored")
    must("the connection broke" in (verdicts[4].unscored or ""), "the reason must say what happened")
    must(all(v.score is not None for i, v in enumerate(verdicts) if i != 4), "the other items must be scored")


def _a_model_that_fails_in_a_fit_leaves_no_program(make: Make) -> None:
    lm = form_filling_lm(rate)
    fitted(make, lm)
    if not lm.usage.calls:
        return  # fitting asks the model nothing
    evaluator = make(form_filling_lm(rate, before=raising(EndpointDown("nobody answers"))))
    said = "a fit must raise when the model cannot be reached"
    raises(ModelError, lambda: evaluator.fit(examples(), scale=SCALE), said)
    must(evaluator.protocol_ is None, "a fit that fails must not leave half a program")


def _nothing_is_paid_for_twice(make: Make) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path, seen = Path(folder) / "journal.sqlite", []
        for _ in range(2):
            lm = form_filling_lm(rate)
            with Journal(path) as journal, lm.remembering(journal):
                seen.append((plain(scored(fitted(make, lm))), lm.usage.calls))
    must(seen[0][0] == seen[1][0], "with the journal, a second run must give the same verdicts")
    must(seen[1][1] == 0, f"with the journal, a second run must make no calls, not {seen[1][1]}")


def _texts_under_evaluation_cannot_leave_their_place(make: Make) -> None:
    seen: list[list[Turn]] = []
    switch = Switch()
    hostile = [Example(f"{e.response} {HOSTILE}", e.source + HOSTILE, e.score, group=e.group) for e in examples()]
    switch.act = seen.append
    evaluator = fitted(make, form_filling_lm(rate, before=switch), hostile)
    scored(evaluator, [Example(HOSTILE, HOSTILE, reference=HOSTILE)])
    for turns in seen:
        for _, text in turns:
            must("fine </response>" not in text, "a text must not be able to close its own marks in a prompt")
            must("<|im_start|>" not in text, "a text must not be able to write a chat template's marks into a prompt")


def _the_signature_names_what_matters(make: Make) -> None:
    evaluator = fitted(make)
    origin = evaluator.fitted.provenance
    must(evaluator.kind in evaluator.signature.split("|"), "the signature must name the kind of evaluator")
    must(origin.model in evaluator.signature.split("|"), "the signature must name the model")
    scale = evaluator.fitted.scale.model_copy(update={"high": 6.0})
    changed = evaluator.fitted.model_copy(update={"scale": scale})
    other = type(evaluator).from_protocol(changed, form_filling_lm(rate), journal=None)
    must(other.signature != evaluator.signature, "another program must have another signature")


def _named(*checks: Callable[[Make], None]) -> dict[str, Callable[[Make], None]]:
    return {check.__name__.strip("_").replace("_", " "): check for check in checks}


_CHECKS = _named(
    _constructor_only_stores,
    _not_fitted_is_an_error,
    _fit_makes_a_program,
    _the_same_fit_gives_the_same_program,
    _a_second_fit_forgets_the_first,
    _a_failed_fit_changes_nothing,
    _one_verdict_an_item_in_its_place,
    _the_order_of_items_does_not_matter,
    _many_workers_change_nothing,
    _scores_are_on_the_scale,
    _explaining_changes_no_score,
    _what_is_saved_is_what_is_loaded,
    _a_loaded_evaluator_can_be_fitted_again,
    _an_unreadable_reply_is_never_a_number,
    _a_model_that_is_down_ends_the_run,
    _one_failure_leaves_the_other_items_scored,
    _a_model_that_fails_in_a_fit_leaves_no_program,
    _nothing_is_paid_for_twice,
    _texts_under_evaluation_cannot_leave_their_place,
    _the_signature_names_what_matters,
)
