"""Which texts a probe is tried on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from numbers import Real
from typing import Any

from active_critic.data import iter_examples
from active_critic.data.examples import Examples, example_key
from active_critic.data.row_reader import EMPTY
from active_critic.data.rows import BadRow
from active_critic.errors import DataError, FitError
from active_critic.evaluators.base import Evaluator
from active_critic.evaluators.given import examples_of
from active_critic.protocols import Protocol
from active_critic.records import Example


def program_of(evaluator: Evaluator) -> Protocol:
    """The program of what is probed.

    Raises:
        FitError: It is no evaluator, or not fitted yet.
    """
    if isinstance(evaluator, type) or not hasattr(evaluator, "score_many"):
        raise FitError(f"what is probed is a fitted evaluator, as load() gives it, not {evaluator!r}")
    program: Protocol = evaluator.fitted
    return program


def names_of(what: str, given: object) -> list[str]:
    """The names that are given, one or several, in a list.

    Raises:
        DataError: They are no names.
    """
    names: list[Any] = [given] if isinstance(given, str) or not isinstance(given, Iterable) else list(given)
    for name in names:
        if not isinstance(name, str):
            raise DataError(f"{what} are named, in a list of texts; {name!r} is no name")
    return names


def read(given: Any, program: Protocol) -> Sequence[Example]:
    """What texts to probe with are given as: examples as they are, all else as the program reads items.

    Raises:
        DataError: They cannot be read.
    """
    if isinstance(given, Examples):
        return given
    if isinstance(given, list | tuple) and all(isinstance(one, Example) for one in given):
        return [_plain(place, one) for place, one in enumerate(given, 1)]
    return examples_of(given, scored=False, as_before=program.provenance.fields)


def _plain(place: int, example: Example) -> Example:
    """The example; read as a row is, where something in it is of another kind than it should be.

    Such are examples made by hand with None for a source, or with a number for the document. One without a text has an
    empty one.

    Raises:
        DataError: It cannot be read.
    """
    texts, names = (example.response, example.source), (example.group, example.reference)
    named = all(isinstance(text, str) for text in texts) and all(isinstance(name, str | None) for name in names)
    aspects = example.aspects
    if named and isinstance(aspects, Mapping) and all(isinstance(score, Real) for score in aspects.values()):
        return example
    found = next(iter_examples([replace(example, row=example.row or place)]))
    if not isinstance(found, BadRow):
        return found
    if found.reason == EMPTY:
        return replace(example, response="")
    raise found.error(None)


def to_probe(examples: Sequence[Example], shown: frozenset[str]) -> tuple[list[Example], list[str]]:
    """The texts to probe with, each once and none that the program shows, and what was left out.

    Args:
        examples: The texts.
        shown: Identities of the examples that stand in the program (``Protocol.shown``).

    Raises:
        DataError: None is left.
    """
    different = {example_key(example): example for example in reversed(examples) if example.response.strip()}
    texts = [example for key, example in reversed(different.items()) if key not in shown]
    if not texts:
        why = "all of them stand in the program as demonstrations" if different else "there are none that hold a text"
        raise DataError(f"no item is left to probe with: {why}; name other items")
    notes = []
    if demonstrations := len(different) - len(texts):
        notes.append(f"left out, for the program shows them as demonstrations: {demonstrations} of the items")
    if repeated := len(examples) - len(different):
        notes.append(f"left out, for they are empty or repeated: {repeated} of the items")
    return texts, notes
