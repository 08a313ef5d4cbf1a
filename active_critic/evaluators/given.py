"""What users give an evaluator, read; what was guessed in reading is a warning."""

from __future__ import annotations

import itertools
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from active_critic.data import iter_examples, read_examples
from active_critic.data.examples import Examples
from active_critic.data.notes import Guess, TextGuess
from active_critic.data.rows import BadRow
from active_critic.data.sources import is_table, kind_of, mapping_of
from active_critic.errors import ActiveCriticWarning, DataError
from active_critic.records import Example, Scale


def examples_of(
    given: Any,
    *,
    fields: Mapping[str, str] | None = None,
    scale: Scale | str | tuple[float, float] | list[float] | None = None,
    scored: bool = True,
    as_before: Mapping[str, str] = MappingProxyType({}),
) -> Examples:
    """Examples as ``read_examples`` reads them. What it guessed is a warning, unless ``Examples`` are given whose notes
    say so: whoever read these has them.

    Raises:
        DataError: As for ``read_examples``.
    """
    found = read_examples(given, fields=fields, scale=scale, scored=scored, as_before=as_before)
    said = given.notes if isinstance(given, Examples) else ()
    _warn(note for note in found.notes if isinstance(note, Guess) and note not in said)
    return found


def _warn(notes: Iterable[str]) -> None:
    """Warn of what notes say, at the line outside of this package that led here."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("active_critic."):
        level, frame = level + 1, frame.f_back
    for note in notes:
        warnings.warn(note, ActiveCriticWarning, stacklevel=level)


def items_of(
    given: Any, fields: Mapping[str, str] | None = None, as_before: Mapping[str, str] = MappingProxyType({})
) -> Iterator[Example | BadRow]:
    """What is to be scored, as it is or read; what should be known of its columns is a warning.

    Raises:
        DataError: It is nothing that items come from, or ``fields`` are given for examples.
    """
    columned = isinstance(given, str | Path | Mapping) or is_table(given) or hasattr(given, "features")
    if isinstance(given, Iterable) and not columned:
        stream = iter(given)
        head = list(itertools.islice(stream, 1))
        given = itertools.chain(head, stream)
        if not head or isinstance(head[0], Example | BadRow):
            if head and fields:
                raise DataError("fields say which columns are read, and examples have none; leave fields out")
            return map(_checked, given)
        if not isinstance(mapping_of(head[0]), Mapping):
            remedy = 'write [{"response": text} for text in texts], or score(text) for one of them'
            raise DataError(f"an item is a mapping or an Example, not {kind_of(head[0])}; {remedy}")
    found = iter_examples(given, fields=fields, as_before=as_before)
    _warn(note for note in found.notes if isinstance(note, TextGuess))
    return found


def _checked(entry: Any) -> Example | BadRow:
    """The item; read as a row is, where one of its texts is none (an example made by hand, with None for a source,
    or with pandas' NaN for a reference).
    """
    if isinstance(entry, BadRow):
        return entry
    if isinstance(entry, Example) and isinstance(entry.response, str) and isinstance(entry.source, str):
        whole = entry.reference is None or isinstance(entry.reference, str)
        return entry if whole else next(iter_examples([entry]))
    return next(iter_examples([entry]))
