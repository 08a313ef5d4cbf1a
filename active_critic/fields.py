"""Which column holds what: those that are asked for, and those whose usual names are recognised."""

from __future__ import annotations

import difflib
import itertools
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from active_critic.cells import conversation
from active_critic.errors import DataError
from active_critic.files import folded
from active_critic.records import Example, Verdict

Given = dict[str, Any] | Example
"""A row as the user gives it."""

COLUMNS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "response": (
            *("response", "output", "generated", "prediction", "hypothesis", "candidate"),
            *("summary", "completion", "system_output", "model_output", "answer", "text"),
        ),
        "source": (
            *("source", "input", "prompt", "article", "document", "context", "question", "src"),
            *("instruction", "query", "conversation", "dialogue", "text"),
        ),
        "score": ("score", "overall", "rating", "human_score", "human", "label", "quality", "gold"),
        "group": ("group", "doc_id", "document_id", "source_id", "group_id"),
        "id": ("id", "example_id", "uid"),
        "system": ("system", "model", "system_id"),
        "reference": ("reference", "ref", "target", "gold_reference"),
    }
)
"""Column names recognised for each field, preferred first; case, blanks and hyphens do not matter."""

_NAMES = ("group", "id", "system")
"""Fields whose values are names."""


def listed(names: Iterable[str]) -> str:
    """Names for a message, forty at most."""
    shown = [repr(str(name)[:40]) for name in itertools.islice(names, 41)]
    return ", ".join(shown[:40]) + (" and more" if len(shown) > 40 else "")


def _holds_text(rows: Sequence[tuple[int, Given]], column: str) -> bool:
    """Whether a column holds what a response may have been made from: more than a word, or a conversation."""
    values = (record.get(column) for _, record in rows[:20] if isinstance(record, dict))
    return any(
        conversation(value) is not None if isinstance(value, list) else len(str(value).split()) > 2
        for value in values
        if isinstance(value, str | list)
    )


def _names_things(rows: Sequence[tuple[int, Given]], column: str) -> bool:
    """Whether a column may hold names: no lists and no objects."""
    return not any(isinstance(record.get(column), list | Mapping) for _, record in rows if isinstance(record, dict))


def _near(name: str, names: Iterable[str]) -> str:
    folded = {other.casefold(): other for other in names}
    found = difflib.get_close_matches(name.casefold(), folded, n=1)
    return f"; did you mean {folded[found[0]]!r}?" if found else ""


def resolve(
    rows: Sequence[tuple[int, Given]],
    asked: Mapping[str, str],
    *,
    scored: bool,
    path: str | None,
    whole: bool = True,
) -> tuple[dict[str, str], list[str]]:
    """The column of every field that has one, and what to tell the user about the choice.

    ``whole``: these are all rows that there are; else a column that is asked for may come later.
    """
    columns = list(dict.fromkeys(name for _, record in rows if isinstance(record, dict) for name in record))
    # A blank around a name gets lost on the way here.
    bare = {name: [column for column in columns if column.strip() == name] for name in asked.values()}
    asked = {
        name: bare[column][0] if column not in columns and len(bare[column]) == 1 else column
        for name, column in asked.items()
    }
    for name, column in asked.items():
        if name not in COLUMNS:
            raise DataError(f"{name!r} is not a field; fields are {listed(COLUMNS)}{_near(name, COLUMNS)}", path=path)
        if column not in columns and whole:
            there = f"the columns are {listed(columns)}{_near(column, columns)}"
            raise DataError(f"there is no column {column!r} to take the {name} from; {there}", path=path)
    chosen: dict[str, str] = dict(asked)
    if all(isinstance(record, Example) for _, record in rows):
        return chosen, []
    notes = []
    columns_of_verdicts = {"unscored", "read_from"}
    free: dict[str, list[str]] = {}
    # An exact name comes before one that only looks alike.
    for column in sorted(set(columns) - set(asked.values()), key=lambda column: (column != folded(column), column)):
        free.setdefault(folded(column), []).append(column)
    for name in COLUMNS:
        if name in asked:
            continue
        taken = set(chosen.values())
        found = [column for candidate in COLUMNS[name] for column in free.get(candidate, ()) if column not in taken]
        if name == "score" and "score" in found and columns_of_verdicts <= set(columns):
            # Scored by a program before: that is no human's word, and what was there has another name.
            found = [column for column in ("input_score", *found) if column in columns and column != "score"]
            notes.append(
                "the column 'score' stands beside those of a program's verdicts and is not taken for people's; "
                "--fields score=score if it is"
            )
        odd = [column for column in found if name in _NAMES and not _names_things(rows, column)]
        if odd:
            notes.append(f"the {name} is not read from {odd[0]!r}, which holds lists or objects")
            found = [column for column in found if column not in odd]
        chosen.update({name: found[0]} if found else {})
        if len(found) > 1 and (scored or name != "score"):
            others = " or ".join(repr(other) for other in found[1:])
            notes.append(f"the {name} is read from {found[0]!r}; --fields {name}=NAME for {others}")
    for name in ("response", "score") if scored else ("response",):
        if name not in chosen:
            needed = f"no column is recognised as the {name}; say which it is with --fields {name}=NAME"
            raise DataError(f"{needed}. The columns are {listed(columns)}", path=path)
    unread = [column for column in columns if column not in chosen.values() and _holds_text(rows, column)]
    if columns_of_verdicts <= set(columns):
        own = Verdict(unscored="").to_dict()
        unread = [column for column in unread if column not in own]
    if "source" not in chosen and unread:
        others = " or ".join(repr(other) for other in unread)
        notes.append(f"no column is recognised as the source; --fields source=NAME for {others}")
    chosen = {name: chosen[name] for name in COLUMNS if name in chosen}
    used = ", ".join(f"{name}={column}" for name, column in chosen.items())
    return chosen, [f"columns used: {used}", *sorted(notes)]
