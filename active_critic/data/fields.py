"""Which column holds what: those that are asked for, and those whose usual names are recognised."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any

from active_critic.data.cells import holds_texts, is_missing, name_in, rated, source_in, text_in
from active_critic.data.chats import (
    before_last,
    chat_log,
    conversation_notes,
    last_turn,
    speaker_note,
    unread_notes,
    way_to_last,
)
from active_critic.data.messages import conversation, ways_to_texts
from active_critic.data.notes import Guess, TextGuess, listed
from active_critic.data.rows import NUMBER
from active_critic.data.score_forms import form_of
from active_critic.data.ways import called_at, cell_at, cells_at, decoded, inside, keys_to, several, starred, ways
from active_critic.data.writing import name_before
from active_critic.errors import DataError
from active_critic.figures_in_words import how_many
from active_critic.records import VERDICT_COLUMNS, Example, Verdict

Given = dict[str, Any] | Example
"""A row as the user gives it."""

COLUMNS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "response": (
            *("response", "output", "generated", "prediction", "hypothesis", "candidate"),
            *("summary", "completion", "system_output", "model_output", "actual_output", "answer", "text"),
        ),
        "source": (
            *("source", "input", "prompt", "article", "document", "context", "question", "src"),
            *("instruction", "query", "user_input", "conversation", "dialogue", "text"),
            *("contexts", "retrieved_contexts", "retrieval_context", "passages"),
        ),
        "score": ("score", "overall", "rating", "human_score", "human", "label", "quality", "gold"),
        "group": (
            *("group", "doc_id", "document_id", "source_id", "group_id"),
            *("conversation_id", "session_id", "thread_id", "dialogue_id"),
        ),
        "id": ("id", "example_id", "uid"),
        "system": ("system", "model", "system_id"),
        "reference": (*("reference", "ref", "target", "gold_reference", "expected_output", "ground_truth", "ideal"),),
        "comment": ("comment", "comments", "human_comment", "rater_comment", "critique", "feedback", "remarks"),
        "rater": (),
    }
)
"""Column names recognised for each field, preferred first; case, blanks and hyphens do not matter. The rater's is
never recognised, only named."""

_TEXTS = ("response", "source", "reference", "comment")
"""Fields whose values are texts."""
_OF_SEVERAL = ("score", "source")
"""Fields that may be read from several columns: the mean of scores, the texts of a source one after the other."""
_NAMES = ("group", "id", "system", "rater")
"""Fields whose values are names."""
NOWHERE = ""
"""In the place of a column: the field is not read from any, however one may be called."""


def folded(column: str) -> str:
    """A column's name as usual names are compared: case, blanks and hyphens do not matter."""
    return column.strip().casefold().replace(" ", "_").replace("-", "_")


def checked(fields: Any) -> dict[str, str]:
    """Columns by field as the user gives them.

    Raises:
        DataError: They are no mapping of names to names, or name a field that there is not.
    """
    fields = {} if fields is None else fields
    if not isinstance(fields, Mapping):
        raise DataError(f'fields are a mapping from field to column, such as {{"score": "overall"}}, not {fields!r}')
    for name, column in fields.items():
        if name not in COLUMNS:
            near = f"; did you mean {column}={name}?" if column in COLUMNS else did_you_mean(str(name), COLUMNS)
            raise DataError(f"{name!r} is not a field; fields are {listed(COLUMNS)}{near}")
        if not isinstance(column, str):
            as_text = column if isinstance(column, list | tuple) and name in _OF_SEVERAL else [column]
            written = "+".join(map(str, as_text))
            raise DataError(
                f"the column of the field {name!r} is named by a text, not by {column!r}; write {written!r}"
            )
    return dict(fields)


def _holds_text(rows: Sequence[tuple[int, Given]], column: str) -> bool:
    """Whether a column holds what a response may have been made from: more than a word, passages, a conversation."""
    values = (cell_at(record, column) for _, record in rows[:20] if isinstance(record, dict))
    return any(
        len(value.split()) > 2
        if isinstance(value, str)
        else bool(value) and (holds_texts(value) or conversation(value) is not None)
        for value in values
    )


def holds_no_name(name: str, cell: Any) -> bool:
    """Whether a cell cannot be what a field of this name is read from: a name is no list and no object."""
    return name in _NAMES and isinstance(cell, list | Mapping)


def _names_things(rows: Sequence[tuple[int, Given]], column: str, *, texts: bool = False) -> bool:
    """Whether a column may hold names: no objects and no lists, or, with ``texts``, none but those of texts."""
    cells = (record.get(column) for _, record in rows if isinstance(record, dict))
    return not any(isinstance(cell, list | Mapping) and not (texts and holds_texts(cell)) for cell in cells)


def _holds_figures(rows: Sequence[tuple[int, Given]], column: str, *, words: bool) -> bool:
    """Whether a column holds numbers alone, or yes and no: scores and labels, which are no texts to compare with.

    With ``words`` also where it holds nothing but two of them that are scores, such as pass and fail.
    """
    cells = (record.get(column) for _, record in rows if isinstance(record, dict))
    there = [cell for cell in cells if not is_missing(cell)]
    numbers = all(isinstance(cell, int | float) or NUMBER.fullmatch(str(cell)) for cell in there)
    return bool(there) and (numbers or (words and form_of(there) is not None))


def _says_nothing(rows: Sequence[tuple[int, Given]], column: str, read: Callable[[Any], str | None]) -> bool:
    """Whether no row holds anything in a column, as it is read."""
    records = (record for _, record in rows if isinstance(record, dict))
    cells = (cell for record in records for cell in cells_at(record, column).values())
    try:
        return all(read(cell) is None for cell in cells)
    except ValueError:  # there is something that cannot be read, which is an error of its own
        return False


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """The end of a message on a name that stands for nothing: the one that is most like it, if any is."""
    folded = {other.casefold(): other for other in names}
    found = difflib.get_close_matches(name.casefold(), folded, n=1)
    return f"; did you mean {folded[found[0]]!r}?" if found else ""


@dataclass(frozen=True)
class _Rows:
    """The rows that columns are told from."""

    given: Sequence[tuple[int, Given]]
    scored: bool
    path: str | None

    @cached_property
    def records(self) -> list[dict[str, Any]]:
        """Those that have columns."""
        return [record for _, record in self.given if isinstance(record, dict)]

    @cached_property
    def columns(self) -> list[str]:
        """All columns, in the order in which they come."""
        return list(dict.fromkeys(name for record in self.records for name in record))

    @cached_property
    def judged(self) -> bool:
        """Whether a program has scored them before."""
        return set(self.columns) >= VERDICT_COLUMNS


def resolve(
    rows: Sequence[tuple[int, Given]],
    asked: Mapping[str, str],
    *,
    scored: bool,
    path: str | None,
    whole: bool = True,
    fixed: bool = False,
    as_before: Mapping[str, str] = MappingProxyType({}),
) -> tuple[dict[str, str], list[str]]:
    """The column of every field that has one, ``NOWHERE`` for those that are to have none, and what to tell the user.

    ``as_before``: columns of an earlier reading, which are taken where they are there and no other is asked for; the
    rater's only where examples are ``scored``. Where they are not, nothing is said of comments, which are not read.

    ``whole``: these are all rows that there are; else a column that is asked for may come later, or, where columns are
    ``fixed``, what it leads to in one of them.
    """
    given = _Rows(rows, scored, path)
    if not scored:
        asked, as_before = uncommented(asked), uncommented(as_before)
    nowhere = {name for name in COLUMNS if asked.get(name, as_before.get(name)) == NOWHERE}
    if not given.records and (left_out := nowhere & asked.keys()):
        raise DataError(f"examples have no columns; make them without the {min(left_out)} instead", path=path)
    asked = {name: _bare(column, given.columns) for name, column in asked.items() if name not in nowhere}
    again = _again(given, asked, {name: column for name, column in as_before.items() if name not in nowhere})
    asked |= again
    read: set[str] = set()  # columns that are asked for, or with what is asked for in them
    for name, column in asked.items():
        read |= _found(given, name, column, needed=name not in again, whole=whole, fixed=fixed)
    if all(isinstance(record, Example) for _, record in rows):
        return asked, []
    chosen, notes = _recognised(given, asked, nowhere, read)
    for name in ("response", "score") if scored else ("response",):
        if name not in chosen:
            needed = f"no column is recognised as the {name}; say which it is with --fields {name}=NAME"
            talk = way_to_last(given.records, given.columns) if name == "response" else ""
            raise DataError(f"{needed}{talk}. The columns are {listed(_named(given))}", path=path)
    _check_parts(chosen, path)
    if "source" not in chosen and "source" not in nowhere:
        notes.extend(_source_note(given, chosen, read))
    if "source" not in {*asked, *nowhere} and (lost := lost_parts(as_before, given.records)):
        said = (
            f"the source was read from {as_before['source']!r} before, and there is no {' or '.join(map(repr, lost))}"
        )
        notes.append(TextGuess(said))
    of_several = chosen.get("score", "")
    if several(of_several) and of_several not in given.columns:
        notes.extend(_mean_note(of_several, given.records, whole=whole))
    if scored and "group" not in chosen:
        sourced = "source" in chosen and not _says_nothing(rows, chosen["source"], source_in)
        which = "rows with the same source" if sourced else "only rows with the same response"
        notes.append(f"no column names the document: {which} are one; --fields group=COLUMN for another")
    notes.extend(conversation_notes(chosen["response"], chosen.get("source", NOWHERE), rows))
    notes.extend(speaker_note(chosen["response"], rows, whole=whole))
    notes.extend(unread_notes(chosen, rows, whole=whole))
    notes.extend(_place_notes(chosen, given.records, whole=whole))
    used = ", ".join(f"{name}={chosen[name]}" for name in COLUMNS if name in chosen)
    if nowhere:
        used += f"; none, as asked, for {' or '.join(name for name in COLUMNS if name in nowhere)}"
    chosen = {name: chosen.get(name, NOWHERE) for name in COLUMNS if name in chosen or name in nowhere}
    return chosen, [f"columns used: {used}", *sorted(notes)]


def uncommented(fields: Mapping[str, Any]) -> dict[str, Any]:
    """What is said of fields without that of comments, which are not read of what is to be scored."""
    return {name: column for name, column in fields.items() if name != "comment"}


def _bare(column: str, columns: Sequence[str]) -> str:
    """The one column that differs from a name by blanks around it, which get lost on the way here; else the name."""
    alike = [other for other in columns if other.strip() == column]
    return alike[0] if column not in columns and len(alike) == 1 else column


def _again(rows: _Rows, asked: Mapping[str, str], as_before: Mapping[str, str]) -> dict[str, str]:
    """Those columns of an earlier reading that are there, hold what they held, and are not asked for otherwise."""
    lacking = {*not_there(as_before, rows.records), *(["source"] if lost_parts(as_before, rows.records) else [])}
    again = dict[str, str]()
    for name, column in as_before.items():
        fits = not (rows.judged and column == "score") and (name not in _NAMES or _names_things(rows.given, column))
        fits = fits and (rows.scored or name != "rater")
        taken = {*asked.values(), *again.values()}
        if fits and name in COLUMNS and name not in {*asked, *lacking} and column not in taken:
            again[name] = column
    return again


def _found(rows: _Rows, name: str, column: str, *, needed: bool, whole: bool, fixed: bool) -> set[str]:
    """The columns that hold what is asked for; see ``resolve``.

    Raises:
        DataError: It is nowhere, can come no more, and is needed; or it names several columns, for another field than
            the score.
    """
    if column in rows.columns:
        return {column}
    _check_several(name, column, rows.columns, rows.path)
    read = set[str]()
    for part in (several(column) if name in _OF_SEVERAL else ()) or (column,):
        tops = {part} if part in rows.columns else _leading_to(part, rows.records)
        may_come = not whole and not (fixed and not any(part.startswith(f"{top}.") for top in rows.columns))
        if needed and not tops and not may_come:
            there = f"no column {part!r} to take the {name} from; {_there(part, rows.columns, rows.records)}"
            raise DataError(f"there is {there}{_meant(name, part, rows.columns)}", path=rows.path)
        read |= tops
    return read


def _recognised(
    rows: _Rows, asked: Mapping[str, str], nowhere: set[str], read: set[str]
) -> tuple[dict[str, str], list[str]]:
    """The columns that are asked for and those whose usual names are recognised; and notes on what else they could be.

    To ``read``, columns of which something is read, that of a chat log is added.
    """
    chosen, notes = dict(asked), list[str]()
    free: dict[str, list[str]] = {}
    # An exact name comes before one that only looks alike.
    for column in sorted(set(rows.columns) - read, key=lambda column: (column != folded(column), column)):
        free.setdefault(folded(column), []).append(column)
    for name in COLUMNS:
        if name in asked or name in nowhere or (name == "comment" and not rows.scored):
            continue
        taken = {*chosen.values(), *read}
        found = [column for candidate in COLUMNS[name] for column in free.get(candidate, ()) if column not in taken]
        if name == "response" and not found and (log := chat_log(rows.records, sorted({*rows.columns} - read))):
            found = [last_turn(log)]
            read.add(log)
            said = f"the response is the last turn of the conversations in {log!r}"
            notes.append(TextGuess(f"{said}; --fields response={log} judges all of each"))
        if name == "source" and "response" not in asked and (before := before_last(chosen.get("response", ""))):
            found = [before, *found]
        if name == "score" and "score" in found and rows.judged:
            # Scored by a program before: that is no human's word, and what was there has another name.
            # That of a verdict stands beside the reason that it lacks: one more is what was there before.
            named = Counter(map(name_before, rows.columns))
            human = "input_score" in rows.columns and named["score"] > named["unscored"]
            found = [column for column in (*["input_score"] * human, *found) if column != "score"]
            said = "the column 'score' stands beside those of a program's verdicts and is not taken for people's"
            notes.append(Guess(f"{said}; --fields score=score if it is"))
        plain = name in {*_NAMES, "comment"}
        odd = [column for column in found if plain and not _names_things(rows.given, column, texts=name == "comment")]
        if odd:
            notes.append(f"the {name} is not read from {odd[0]!r}, which holds lists or objects")
            found = [column for column in found if column not in odd]
        compared = name in {"reference", "comment"}
        words = name == "comment"  # a reference may well be one of them, the answer to a question
        figures = [column for column in found if compared and _holds_figures(rows.given, column, words=words)]
        if figures:
            why = "if they are what people said" if words else "if texts are to be judged by them"
            held = "scores" if words else "numbers"
            said = f"the {name} is not read from {figures[0]!r}, which holds no texts but {held}"
            notes.append(TextGuess(f"{said}; --fields {name}={figures[0]} {why}"))
            found = [column for column in found if column not in figures]
        read_as = source_in if name == "source" else text_in if name in _TEXTS else name_in
        empty = [column for column in found if _says_nothing(rows.given, column, read_as)]
        # A text is read from an empty column where no other is there: it may be filled later on.
        if (name == "group" and empty and rows.scored) or (name in _TEXTS and 0 < len(empty) < len(found)):
            notes.append(f"the {name} is not read from {empty[0]!r}, which is empty")
            found = [column for column in found if column not in empty]
        chosen.update({name: found[0]} if found else {})
        if len(found) > 1 and (rows.scored or name != "score"):
            others = " or ".join(repr(other) for other in found[1:])
            kind = TextGuess if name in _TEXTS else Guess if name != "id" else str
            together = "+".join(found)
            joined = f", or {name}={together} for {'both' if len(found) == 2 else 'all'}" if name == "source" else ""
            joined = joined if several(together) == (*found,) and "*" not in together else ""
            notes.append(kind(f"the {name} is read from {found[0]!r}; --fields {name}=NAME for {others}{joined}"))
    return chosen, notes


def _source_note(rows: _Rows, chosen: Mapping[str, str], read: set[str]) -> list[str]:
    """A note where no column is the source, on those that could be."""
    within = [
        f"{column}.{part}" for column in sorted(read - {*chosen.values()}) for part in _parts(column, rows.records)
    ]
    unread = [column for column in (*rows.columns, *within) if column not in {*read, *chosen.values()}]
    if rows.judged:
        own = Verdict(unscored="").to_dict()
        unread = [column for column in unread if name_before(column) not in own]
    before = before_last(chosen["response"])
    held = [column for column in (*([before] if before else []), *unread) if _holds_text(rows.given, column)]
    others = " or ".join(repr(other) for other in held)
    return [TextGuess(f"no column is recognised as the source; --fields source=NAME for {others}")] if held else []


def _place_notes(chosen: Mapping[str, str], records: Sequence[dict[str, Any]], *, whole: bool) -> list[str]:
    """Notes where a name leads to a place in a list, as of scores, at which rows have entries of different names."""
    notes = list[str]()
    for name, column in chosen.items():
        for part in several(column) or (column,):
            counts: dict[str, Counter[str]] = {}
            for record in records if "." in part and "*" not in part else ():
                for way, called in called_at(record, part).items():
                    counts.setdefault(way, Counter())[called] += 1
            for way, found in counts.items():
                if len(found) > 1:
                    (most, count), *others = found.most_common()
                    other = sum(times for _, times in others)
                    of = f"{count} of {'' if whole else 'the first '}{len(records)} rows and otherwise in {other}"
                    better = part.replace(way, f"{way.rpartition('.')[0]}.{most}", 1)
                    said = f"the {name} is read from {part!r}, and what is at {way!r} is called {most!r} in {of}"
                    notes.append(Guess(f"{said}; --fields {name}={better} goes by that name"))
    return notes


def _check_several(name: str, column: str, columns: Sequence[str], path: str | None) -> None:
    """Refuse a star or several names where only one column can be read, and more than one star in a name."""
    parts = several(column)
    if name != "score" and "*" in column:
        raise DataError(f"{column!r} has a star, which only the score may have; name one for the {name}", path=path)
    if name not in _OF_SEVERAL and any(part in columns for part in parts):
        reason = f"{column!r} names several columns, which only the score and the source may have"
        raise DataError(f"{reason}; name one for the {name}", path=path)
    for part in parts:
        if part.count("*") > 1:
            raise DataError(f"{part!r} has more than one star; use one", path=path)


def _check_parts(chosen: Mapping[str, str], path: str | None) -> None:
    """Refuse a source that is made of several columns, where one is what is judged, or people's score."""
    for name in ("response", "score"):
        if chosen.get(name) in several(source := chosen.get("source", NOWHERE)):
            reason = f"the source {source!r} has {chosen[name]!r} in it, which is the {name}; leave it out"
            raise DataError(reason, path=path)


def _meant(name: str, column: str, columns: Sequence[str]) -> str:
    """How to name several columns, where they were named with commas; or what, behind a comma, is no field."""
    parts = [part.strip() for part in column.split(",")]
    if name == "score" and len(parts) > 1 and set(parts) <= set(columns):
        return f"; write score={'+'.join(parts)} for the mean of these"
    unknown = [field.strip() for field, equals, _ in (part.partition("=") for part in parts[1:]) if equals]
    if name == "source" and len(parts) > 1 and set(parts) <= set(columns):
        return f"; write source={'+'.join(parts)} for their texts one after the other"
    behind = f"; {listed(unknown)} behind the comma is no field: fields are {listed(COLUMNS)}"
    return behind if any(unknown) else ""


def not_there(asked: Mapping[str, str], records: Sequence[dict[str, Any]]) -> dict[str, str]:
    """Those fields whose column is in none of the records, nor anything that leads to it."""
    return {
        name: column
        for name, column in asked.items()
        if not any(column in record for record in records) and not _leading_to(column, records)
    }


def lost_parts(as_before: Mapping[str, str], records: Sequence[dict[str, Any]]) -> list[str]:
    """Which columns of those that the source was made of before are lacking, where others are there."""
    column = as_before.get("source", NOWHERE)
    parts = () if any(column in record for record in records) else several(column)
    lost = [part for part in parts if not _leading_to(part, records)]
    return lost if len(lost) < len(parts) else []


def _leading_to(column: str, records: Sequence[dict[str, Any]]) -> set[str]:
    """The columns in which a name is found that is none itself: the way into an object, or what it stands for."""
    if len(parts := several(column)) > 1:
        each = ({part} if any(part in record for record in records) else _leading_to(part, records) for part in parts)
        return set[str]().union(*each)
    if "*" in column:
        return {top for record in records for top in record if any(starred({top: record[top]}, column))}
    return next(({keys[0]} for record in records if (keys := keys_to(record, column))), set())


def _parts(column: str, records: Sequence[dict[str, Any]]) -> list[str]:
    """What objects in a column are made of, also as JSON; nothing for lists, whose places are no names."""
    cells = (decoded(record.get(column)) for record in records[:20])
    return list(dict.fromkeys(str(part) for cell in cells if isinstance(cell, Mapping) for part in cell))


def _named(rows: _Rows) -> list[str]:
    """The names of all columns; of objects, alone or in a list, those of what is in them."""
    names = dict[str, None]()
    for column in rows.columns:
        cells = (decoded(record.get(column)) for record in rows.records[:20])
        held = [cell for cell in cells if not (cell is None or (isinstance(cell, str | list | Mapping) and not cell))]
        names |= dict.fromkeys(name for cell in held or [None] for name in ways_to_texts(column, cell))
    return list(names)


def _there(column: str, columns: Sequence[str], records: Sequence[dict[str, Any]]) -> str:
    """The columns that there are, or what is in the one that a name leads into."""
    head = column.partition(".")[0]
    found = (name for record in records[:20] for name, _ in ways(inside(record.get(head)) or {}, head))
    within = list(dict.fromkeys(found)) if head != column else []
    there = f"in {head!r} there are" if within else "the columns are"
    return f"{there} {listed(within or columns)}{did_you_mean(column, within or columns)}"


def _mean_note(column: str, records: Sequence[dict[str, Any]], *, whole: bool) -> list[str]:
    """A note on how many columns a score is the mean of, and how many of the rows with a score lack some of them."""
    names: dict[str, None] = {}
    for part in several(column):
        stands_for = (name for record in records for name, _ in starred(record, part))
        names |= dict.fromkeys(stands_for if "*" in part else [part])
    counts = [count for record in records if (count := len(rated(record, column)))]
    lacking = sum(count < len(names) for count in counts)
    of = f"{'' if whole else 'the first '}{len(counts)} rows"
    mean = f"the score is the mean of {how_many(len(names), 'column')} ({listed(names)})"
    some = f", or of those that a row has: {lacking} of {of} lack some"
    return [mean + some if lacking or not whole else mean] if names else []
