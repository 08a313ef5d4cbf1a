"""Notes on examples that code has to tell apart: texts like all others, each kind a class of its own."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType


class Guess(str):
    """Says what may be wrong and the user can put right; what is no guess says what was done as it is always done."""

    __slots__ = ()


class ScaleGuess(Guess):
    """Says which scale was inferred from the scores; true of whatever is made of them."""

    __slots__ = ()


class TextGuess(Guess):
    """A guess at where the texts of an item stand, which matters where items are scored, too."""

    __slots__ = ()


class Unscored(Guess):
    """Says which rows were left out because they have no score; true of whatever is made of the others."""

    __slots__ = ()


class Averaged(str):
    """Says of how many people's scores these have the means; true of whatever is made of them.

    Attributes:
        aspects: What each person gave for every aspect, by its name (row, number, name): means say less of the scale.
    """

    aspects: Mapping[str, Sequence[tuple[int, float, str]]] = MappingProxyType({})


class Drawn(str):
    """Says which part of all examples these are, and how it was drawn.

    Attributes:
        seed: The seed of the draw.
    """

    seed: int = 0


class Repeated(str):
    """Names rows that hold the same texts."""

    __slots__ = ()


class Divided(str):
    """Names rows that hold one source in several documents."""

    __slots__ = ()


class Sourceless(str):
    """Names rows that have no source where other rows have one."""

    __slots__ = ()


def listed(names: Iterable[str]) -> str:
    """Names for a note or an error, forty at most."""
    shown = [repr(str(name)[:40]) for name in itertools.islice(names, 41)]
    return ", ".join(shown[:40]) + (" and more" if len(shown) > 40 else "")
