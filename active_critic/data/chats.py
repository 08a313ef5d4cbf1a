"""Conversations in the place of texts: their last turn, what stands before it, and whose it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from active_critic.data.messages import conversation, has_more_than_texts, message_in
from active_critic.data.notes import TextGuess, listed
from active_critic.data.ways import cell_at, cells_at, decoded, several
from active_critic.records import Example

_LAST = ".-1"
_BEFORE_LAST = ".:-1"
_NO_ASSISTANTS = {"user", "system", "developer", "tool", "function"}
"""Roles in conversations whose messages no model wrote."""


def _role(message: Any) -> str:
    message = message_in(message)
    return str(message.get("role") or "").strip().casefold() if isinstance(message, Mapping) else ""


def _replied(cell: Any) -> bool:
    """Whether this is a conversation in which the assistant has the last word, and a user one before."""
    cell = decoded(cell)
    if not isinstance(cell, list) or conversation(cell) is None:
        return False
    *before, last = map(_role, cell)
    return last == "assistant" and "user" in before


def chat_log(records: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> str | None:
    """The one column in which every row has a conversation that ends with the assistant's turn; None without one."""
    logs = [column for column in columns if records and all(_replied(record.get(column)) for record in records)]
    return logs[0] if len(logs) == 1 else None


def way_to_last(records: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> str:
    """The end of an error where the response is in no column, but the last turn of conversations may be it."""
    for column in columns:
        cells = (decoded(record.get(column)) for record in records[:20])
        if any(isinstance(cell, list) and conversation(cell) is not None for cell in cells):
            turns = f"--fields response={last_turn(column)} --fields source={column}{_BEFORE_LAST}"
            return f"; {turns} takes the last turn of the conversations in {column!r}, whoever has it"
    return ""


def last_turn(column: str) -> str:
    """The name of the last turn of the conversations in a column."""
    return column + _LAST


def before_last(column: str) -> str | None:
    """The name of what stands before the turn that a column is, where that is the last one; None for other columns."""
    talk = column.removesuffix(".content").removesuffix(".value")
    return talk.removesuffix(_LAST) + _BEFORE_LAST if talk.endswith(_LAST) else None


def conversation_notes(response: str, source: str, rows: Sequence[tuple[int, dict[str, Any] | Example]]) -> list[str]:
    """Notes where conversations are judged, and not replies alone, or where the source has the response in it.

    Args:
        response: The column of the response.
        source: That of the source; empty where there is none.
        rows: Row and record.
    """
    records = [(row, record) for row, record in rows if isinstance(record, dict)]
    held = "which holds whole conversations"
    if (row := _first_reply(response, records)) is not None:
        turn = f"--fields response={last_turn(response)} --fields source={response}{_BEFORE_LAST}"
        judged = "and all is judged, the user's turns included"
        return [
            TextGuess(f"the response is read from {response!r}, {held} (row {row}), {judged}; {turn} for the last turn")
        ]
    for part in several(source) or (source,):
        if (row := _first_reply(part, records, response)) is not None:
            said = f"the source is read from {part!r}, {held} (row {row}), the response with them"
            return [TextGuess(f"{said}; {part}{_BEFORE_LAST} is what stands before it")]
    return []


def _first_reply(
    column: str, records: Sequence[tuple[int, Mapping[str, Any]]], response: str | None = None
) -> int | None:
    """The first row in which a column has a conversation that ends with the assistant's turn; one that is the response,
    where that has a column.
    """
    for row, record in records:
        cell = cell_at(record, column)
        if _replied(cell) and (response is None or _same(cell_at(record, response), decoded(cell)[-1])):
            return row
    return None


def _same(cell: Any, message: Any) -> bool:
    """Whether a cell holds what a message says."""
    text = conversation(cell)
    said = conversation(message) or ""
    return (str(cell) if text is None else text).split() == said.split()


def speaker_note(column: str, rows: Sequence[tuple[int, dict[str, Any] | Example]], *, whole: bool) -> list[str]:
    """A note where the response is one message, and in some rows that is not the assistant's.

    Args:
        column: The column of the response.
        rows: Row and record.
        whole: Whether these are all rows, and not the first alone.
    """
    way = column.removesuffix(".content").removesuffix(".value")
    roles = dict[int, str]()
    for row, record in rows:
        message = None if isinstance(record, Example) else decoded(cell_at(record, way))
        roles |= {row: role} if (role := _role(message)) in _NO_ASSISTANTS else {}
    if not roles:
        return []
    of = f"{'' if whole else 'the first '}{len(rows)} rows (the first: row {min(roles)})"
    said = f"the response is read from {column!r}, whose role is {listed(dict.fromkeys(roles.values()))} in"
    talk, _, place = way.rpartition(".")
    remedy = f"; {talk}.-1{column.removeprefix(way)} is the last turn" if place.isdecimal() else ""
    return [TextGuess(f"{said} {len(roles)} of {of}{remedy}")]


def unread_notes(
    columns: Mapping[str, str], rows: Sequence[tuple[int, dict[str, Any] | Example]], *, whole: bool
) -> list[str]:
    """A note for each field whose conversations hold more than texts, which the model is not shown.

    Args:
        columns: The column of each field.
        rows: Row and record.
        whole: Whether these are all rows, and not the first alone.
    """
    notes = list[str]()
    records = [(row, record) for row, record in rows if isinstance(record, dict)]
    for name in ("response", "source", "reference"):
        column = columns.get(name, "")
        odd = [row for row, record in records if any(map(has_more_than_texts, cells_at(record, column).values()))]
        if odd:
            of = f"{len(odd)} of {'' if whole else 'the first '}{len(rows)} rows (the first: row {odd[0]})"
            said = f"what is no text in the conversations of the {name}, such as a picture, is left out, in {of}"
            notes.append(TextGuess(said))
    return notes
