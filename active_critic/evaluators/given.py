"""What users give an evaluator to score, read where it has to be."""

from __future__ import annotations

import itertools
import re
import warnings
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from active_critic.data import iter_examples
from active_critic.errors import ActiveCriticWarning, DataError
from active_critic.files import BadRow
from active_critic.records import Example


def items_of(given: Any, fields: Mapping[str, str] | None = None) -> Iterator[Example | BadRow]:
    """What is to be scored, as it is or read; what should be known of its columns is a warning.

    Raises:
        DataError: It is nothing that items come from, or ``fields`` are given for examples.
    """
    columned = isinstance(given, str | Path | Mapping) or hasattr(given, "itertuples") or hasattr(given, "features")
    if isinstance(given, Iterable) and not columned:
        stream = iter(given)
        head = list(itertools.islice(stream, 1))
        given = itertools.chain(head, stream)
        if not head or isinstance(head[0], Example | BadRow):
            if head and fields:
                raise DataError("fields say which columns are read, and examples have none; leave fields out")
            return map(_checked, given)
        if not isinstance(head[0], Mapping):
            remedy = 'write [{"response": text} for text in texts], or score(text) for one of them'
            raise DataError(f"an item is a mapping or an Example, not {type(head[0]).__name__}; {remedy}")
    found = iter_examples(given, fields=fields)
    for note in found.notes:
        if re.match(r"no column|the (source|response|reference) ", note):
            warnings.warn(note, ActiveCriticWarning, stacklevel=3)
    return found


def _checked(entry: Any) -> Example | BadRow:
    """The item; read as a row is, where one of its texts is none (an example made by hand, with None for a source)."""
    if isinstance(entry, BadRow):
        return entry
    if isinstance(entry, Example) and isinstance(entry.response, str) and isinstance(entry.source, str):
        return entry
    return next(iter_examples([entry]))
