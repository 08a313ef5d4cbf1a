"""Checks of any evaluator: what it stores, what a fit makes, and what is saved and loaded."""

from __future__ import annotations

import inspect
import itertools
import json
import tempfile
from hashlib import sha256
from pathlib import Path

from active_critic import store
from active_critic.data.examples import example_key
from active_critic.errors import ActiveCriticError, DataError, EndpointDown, FitError, ModelError
from active_critic.evaluators._checks_material import (
    SCALE,
    Make,
    Switch,
    content,
    examples,
    fitted,
    must,
    plain,
    raises,
    raising,
    rate,
    scored,
)
from active_critic.lm import Turn
from active_critic.lm.filling import form_filling_lm
from active_critic.protocols import Protocol
from active_critic.records import Example


def constructor_only_stores(make: Make) -> None:
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


def not_fitted_is_an_error(make: Make) -> None:
    evaluator = make(form_filling_lm(rate))
    raises(FitError, lambda: scored(evaluator), "scoring before fitting must raise FitError")
    raises(FitError, lambda: evaluator.signature, "the signature before fitting must raise FitError")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "p.json"
        raises(FitError, lambda: evaluator.save(path), "saving before fitting must raise FitError")
        must(not path.exists(), "saving before fitting must write nothing")


def fit_makes_a_program(make: Make) -> None:
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


def the_same_fit_gives_the_same_program(make: Make) -> None:
    first, second = fitted(make), fitted(make)
    must(content(first) == content(second), "the same examples, model and parameters must give the same program")
    must(first.signature == second.signature, "the same program must have the same signature")


def a_second_fit_forgets_the_first(make: Make) -> None:
    other = examples(24, seed=2)
    twice = fitted(make).fit(other, scale=SCALE)
    once = fitted(make, data=other)
    must(content(twice) == content(once), "a second fit must give what a first fit on the same examples gives")
    must(plain(scored(twice)) == plain(scored(once)), "a second fit must forget the first")


def the_order_of_examples_does_not_matter(make: Make) -> None:
    def told(turns: list[Turn]) -> str:  # whatever stands in a prompt shows in the reply
        return sha256(repr(turns).encode()).hexdigest()[:8] + " "

    straight = fitted(make, form_filling_lm(rate, saying=told))
    turned = fitted(make, form_filling_lm(rate, saying=told), examples()[::-1])
    must(content(turned) == content(straight), "the same examples in another order must give the same program")
    must(plain(scored(turned)) == plain(scored(straight)), "a verdict must not depend on the order of the examples")


def a_failed_fit_changes_nothing(make: Make) -> None:
    evaluator = fitted(make)
    before = evaluator.protocol_
    unscored = [Example(e.response, e.source) for e in examples()]
    raises((DataError, FitError), lambda: evaluator.fit(unscored), "examples without scores must be refused")
    must(evaluator.protocol_ is before, "a fit that fails must leave the program as it was")


def a_model_that_fails_in_a_fit_leaves_no_program(make: Make) -> None:
    lm = form_filling_lm(rate)
    fitted(make, lm)
    if not lm.usage.calls:
        return  # fitting asks the model nothing
    evaluator = make(form_filling_lm(rate, before=raising(EndpointDown("nobody answers"))))
    said = "a fit must raise when the model cannot be reached"
    raises(ModelError, lambda: evaluator.fit(examples(), scale=SCALE), said)
    must(evaluator.protocol_ is None, "a fit that fails must not leave half a program")


def a_fit_that_breaks_off_changes_nothing(make: Make) -> None:
    lm, other = form_filling_lm(rate), examples(24, seed=2)
    first = fitted(make, lm)
    paid = lm.usage.calls
    first.fit(other, scale=SCALE)
    needed = lm.usage.calls - paid
    if not needed:
        return  # fitting asks the model nothing
    switch = Switch()
    evaluator = fitted(make, form_filling_lm(rate, before=switch))
    before, asked = evaluator.protocol_, itertools.count(1)

    def act(_: list[Turn]) -> str | None:
        if next(asked) >= needed:
            raise EndpointDown("the connection broke")
        return None

    switch.act = act
    said = "a fit must raise when the model fails at its last call"
    raises(ModelError, lambda: evaluator.fit(other, scale=SCALE), said)
    must(evaluator.protocol_ is before, "a fit that breaks off must leave the program of the fit before as it was")


def what_is_saved_is_what_is_loaded(make: Make) -> None:
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


def texts_stay_out_of_a_program_unless_it_names_them_as_shown(make: Make) -> None:
    program = fitted(make).fitted
    document = json.dumps(program.model_dump(mode="json"), ensure_ascii=False)
    for example in examples():
        there = example.response in document
        must(not there or example_key(example) in program.shown, f"it holds {example.response!r}, which is not shown")


def a_loaded_evaluator_can_be_fitted_again(make: Make) -> None:
    evaluator = fitted(make)
    with tempfile.TemporaryDirectory() as folder:
        path = evaluator.save(Path(folder) / "p.json")
        loaded = type(evaluator).load(path, form_filling_lm(rate), journal=None)
    again = loaded.fit(examples(), scale=SCALE)
    must(content(again) == content(evaluator), "a loaded evaluator must keep its parameters")


def the_signature_names_what_matters(make: Make) -> None:
    evaluator = fitted(make)
    origin = evaluator.fitted.provenance
    must(evaluator.kind in evaluator.signature.split("|"), "the signature must name the kind of evaluator")
    must(origin.model in evaluator.signature.split("|"), "the signature must name the model")
    scale = evaluator.fitted.scale.model_copy(update={"high": 6.0})
    changed = evaluator.fitted.model_copy(update={"scale": scale})
    other = type(evaluator).from_protocol(changed, form_filling_lm(rate), journal=None)
    must(other.signature != evaluator.signature, "another program must have another signature")
