"""Which texts a probe is tried on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from active_critic.data.examples import Examples, example_key
from active_critic.errors import DataError
from active_critic.evaluators.given import examples_of
from active_critic.protocols import Protocol
from active_critic.records import Example


def read(given: Any, program: Protocol) -> Sequence[Example]:
    """What texts to probe with are given as: examples as they are, all else as the program reads items.

    Raises:
        DataError: They cannot be read.
    """
    if isinstance(given, Examples) or (isinstance(given, list | tuple) and all(isinstance(e, Example) for e in given)):
        return given
    return examples_of(given, scored=False, as_before=program.provenance.fields)


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
