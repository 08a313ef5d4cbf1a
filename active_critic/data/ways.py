"""The ways to cells in objects and lists, by dotted names, places and stars; also where a text holds one as JSON."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from active_critic.data.rows import Unreadable

_PLACE = re.compile(r"0|-?[1-9][0-9]{0,8}", re.ASCII)
"""A place in a list: the first is 0, the last -1."""
_SPAN = re.compile(r"(0|-?[1-9][0-9]{0,8})?:(0|-?[1-9][0-9]{0,8})?", re.ASCII)
"""Places in a list, from the first named to before the second: ``:-1`` are all but the last."""


_CALLED = ("name", "key", "metric", "metric_name", "criterion", "assessment_name", "from_name")
"""Where objects in a list say what they are called, in the exports of Langfuse, LangSmith, MLflow, Label Studio, ..."""


def decoded(cell: Any) -> Any:
    """The object or list that a text holds as JSON, as nested cells stand in a CSV file; else the cell as it is."""
    if isinstance(cell, str) and cell.lstrip().startswith(("{", "[")):
        try:
            return json.loads(cell)
        except (ValueError, RecursionError):
            return cell
    return cell


class _Places(Mapping[str, Any]):
    """What is in a list, by place; ``-1`` and ``:-1`` are names for the last one and those before it, and no more.

    Objects that say what they are called, as the scores of an export do, are there by that name, too.
    """

    def __init__(self, cells: Sequence[Any]) -> None:
        self._cells = cells

    def __getitem__(self, place: str) -> Any:
        if span := _SPAN.fullmatch(place):
            found = self._cells[slice(*(int(end) if end else None for end in span.groups()))]
            if not found:
                raise KeyError(place)
            return list(found)
        if _PLACE.fullmatch(place):
            if not -len(self) <= int(place) < len(self):
                raise KeyError(place)
            return self._cells[int(place)]
        called = [cell for cell in self._cells if name_of(cell) == place]
        if len(called) > 1:
            return Unreadable(f"{len(called)} entries of the list are called {place!r}; leave one of them")
        if not called:
            raise KeyError(place)
        return called[0]

    def __iter__(self) -> Iterator[str]:
        return iter(names_in(self._cells) or map(str, range(len(self))))

    def __len__(self) -> int:
        return len(self._cells)


def name_of(entry: Any) -> str | None:
    """What an object in a list says that it is called, as scores in exports do; None where it is none, or a message."""
    named = (entry.get(key) for key in _CALLED) if isinstance(entry, Mapping) and "role" not in entry else ()
    return next((name for name in named if isinstance(name, str) and name.strip()), None)


def names_in(cells: Sequence[Any]) -> list[str] | None:
    """What all entries of a list are called, where each has a name of its own that cannot be a place; else None."""
    names = [name for cell in cells if (name := name_of(cell)) is not None and not _PLACE.fullmatch(name)]
    return names if len({*names}) == len(cells) else None


def inside(cell: Any) -> Mapping[str, Any] | None:
    """What is in an object or a list, by name or place; also where a text holds one as JSON."""
    cell = decoded(cell)
    if isinstance(cell, list | tuple):
        return _Places(cell)
    return cell if isinstance(cell, Mapping) else None


def ways(parts: Mapping[str, Any], way: str) -> Iterator[tuple[str, Any]]:
    """Everything in an object, at any depth: the dotted name that leads there from ``way``, and the cell."""
    for name, cell in parts.items():
        yield f"{way}.{name}", cell
        if isinstance(cell, Mapping | list | tuple):
            yield from ways(inside(cell) or {}, f"{way}.{name}")


def keys_to(record: Mapping[str, Any], name: str) -> tuple[str, ...] | None:
    """The keys that lead to a name in this record; names may have dots of their own, and the whole name comes first."""
    if name in record:
        return (name,)
    parts = name.split(".")
    for cut in range(len(parts) - 1, 0, -1):
        head = ".".join(parts[:cut])
        if isinstance(record.get(head), Unreadable):
            return (head,)
        there = inside(record.get(head))
        found = None if there is None else keys_to(there, ".".join(parts[cut:]))
        if found is not None:
            return head, *found
    return None


def follow(record: Mapping[str, Any], keys: Sequence[str]) -> Any:
    """The cell that keys lead to, None where there is none."""
    cell: Any = record
    for key in keys:
        parts = inside(cell)
        if parts is None:
            return None
        cell = parts.get(key)
    return cell


def called_at(record: Mapping[str, Any], name: str) -> dict[str, str]:
    """The entries of lists that a name leads through by their places, and what these are called, if anything."""
    keys = keys_to(record, name) or ()
    found = dict[str, str]()
    for end in range(2, len(keys) + 1):
        called = name_of(follow(record, keys[:end]))
        if called is not None and _PLACE.fullmatch(keys[end - 1]) and keys[end - 1] != called:
            found[".".join(keys[:end])] = called
    return found


def fits(name: str, pattern: str) -> bool:
    """Whether a name is like a pattern, in which one star stands for one character at least."""
    before, _, after = pattern.partition("*")
    return name.startswith(before) and name.endswith(after) and len(name) > len(before) + len(after)


def cell_at(record: Mapping[str, Any], name: str) -> Any:
    """The cell of a column, whose name may lead into objects and lists; None where there is none."""
    if name in record or "." not in name:
        return record.get(name)
    keys = keys_to(record, name)
    return None if keys is None else follow(record, keys)


def starred(record: Mapping[str, Any], pattern: str) -> Iterator[tuple[str, Any]]:
    """The cells whose names are like a pattern with a star, also inside of objects and lists, with their names."""
    before = pattern.partition("*")[0]
    for column, cell in record.items():
        if column.startswith(before) or before.startswith(f"{column}."):
            every = itertools.chain([(column, cell)], ways(inside(cell) or {}, column))
            yield from ((name, found) for name, found in every if fits(name, pattern))


def several(column: str) -> tuple[str, ...]:
    """The names that one for several columns is made of: ``anna+bert``, each of which may have a star; else none.

    A score is their mean, a source their texts one after the other.
    """
    names = tuple(dict.fromkeys(name.strip() for name in column.split("+")))
    return names if all(names) and (len(names) > 1 or "*" in column) else ()


def cells_at(record: Mapping[str, Any], column: str) -> dict[str, Any]:
    """The cells of a column by name: one, or those of several that the name is made of."""
    names = () if column in record else several(column)
    found: dict[str, Any] = {}
    for name in names or (column,):
        by_star = names and "*" in name and name not in record
        found |= starred(record, name) if by_star else {name: cell_at(record, name)}
    return found
