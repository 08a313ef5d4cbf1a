"""Examples in: from files, pandas, Hugging Face datasets and plain dicts, with columns and scale recognised."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from active_critic.data.cells import check_thousands, form_of_scores, number_in, rated
from active_critic.data.delimited import is_delimited
from active_critic.data.examples import (
    Examples,
    describe_rows,
    divided_sources,
    repeated_rows,
)
from active_critic.data.fields import (
    COLUMNS,
    NOWHERE,
    Given,
    checked,
    folded,
    holds_no_name,
    not_there,
    resolve,
    uncommented,
)
from active_critic.data.notes import Averaged, Drawn, ScaleGuess, Unscored
from active_critic.data.raters import one_an_output
from active_critic.data.row_reader import EMPTY, RowReader
from active_critic.data.rows import BadRow
from active_critic.data.scales import Rated, infer_scale, own_scale, unused_scale
from active_critic.data.sources import Item, Source
from active_critic.data.unscored import Rows, scored_rows
from active_critic.data.ways import cell_at
from active_critic.data.workbooks import is_workbook
from active_critic.errors import DataError
from active_critic.figures_in_words import how_many
from active_critic.records import VERDICT_COLUMNS, Example, Scale

_PEEK = 100
_MANY = 1000
"""Columns after which no further ones are looked for behind the first rows."""


def read_examples(
    source: Any,
    *,
    fields: Mapping[str, str] | None = None,
    scale: Scale | str | tuple[float, float] | list[float] | None = None,
    scored: bool = True,
    as_before: Mapping[str, str] = MappingProxyType({}),
) -> Examples:
    """Read examples and check every row.

    Args:
        source: A path (``.csv``, ``.tsv``, ``.json``, ``.jsonl``, ``.ndjson``, each also ``.gz``, ``.xlsx``,
            ``.xlsm`` or ``.parquet``), a DataFrame of pandas or polars, a pyarrow ``Table``, a Hugging Face
            ``Dataset``, or an iterable of mappings, ``Example`` or ``dspy.Example``.
        fields: Column by field (``{"score": "overall"}``); other fields are found by ``COLUMNS``. A dotted name leads
            into objects and lists (``chat.completion``, ``messages.-1.content``); an empty one says that the field is
            not read from any column, however one may be called; several names (``anna+bert``), or one
            with a star (``rater_*``), make the score the mean of the columns that they stand for, and several names
            (``question+contexts``) the source their texts one after the other. A ``rater`` is the column that says who
            scored a row: where the scores are what matters, rows with the same texts are one example then, with the
            mean of their scores.
        scale: The scale of the scores (``"1..5"``, or its two ends). Without it, a column ``scale`` counts where all
            rows that name one name the same, else the narrowest of ``USUAL_SCALES`` that contains every score; the
            notes say which.
        scored: Whether the scores are what matters: a broken one is an error then, and rows without one (nothing, a
            blank, NaN, ``n/a``) are left out, which the notes say. False for items that are to be scored: a missing or
            broken score is then None, and no scale is inferred.
        as_before: Columns that were read before, such as a program's ``provenance.fields``: each is read again where
            it is there, unless ``fields`` names another.

    Raises:
        DataError: Naming file, row and column, and the remedy.
        MissingExtra: A Parquet file or a workbook, and what reads it is not installed.
    """
    if isinstance(scale, tuple | list):
        scale = "..".join(map(str, scale))
    elif not isinstance(scale, Scale | str | None):
        raise DataError(f"{scale!r} is not a scale; write LOW..HIGH, for example 1..5")
    given = Scale.parse(scale) if isinstance(scale, str) else scale
    stream = Source(source)
    path = stream.path
    rows: Rows = []
    for item in stream:
        if isinstance(item, BadRow):
            raise item.error(path)
        rows.append(item)
    if not rows:
        raise DataError("there are no examples", path=path)
    chosen, notes = resolve(rows, checked(fields), scored=scored, path=path, as_before=as_before)
    notes.extend(stream.notes)
    written, columns = (source, source.fields) if isinstance(source, Examples) else (stream, chosen)
    column = columns.get("score") or "score"
    if scored:
        _check_thousands(rows, column, path)
        rows, said = scored_rows(rows, column, {*chosen.values()}, decimal_comma=stream.decimal_comma, path=path)
        notes += said
    if isinstance(source, Examples):
        notes += _still_true(source, scored=scored, scale=given)
    records = (given for _, given in rows if isinstance(given, dict))
    form = form_of_scores(records, column) if chosen.get("score") else None
    reader = RowReader(chosen, scored, stream.decimal_comma, _has_sheet(stream.path), form=form)
    examples: list[Example] = []
    empty: list[BadRow] = []
    for row, record in rows:
        example = reader.example(row, record)
        if isinstance(example, Example):
            examples.append(example)
        elif example.reason == EMPTY:
            empty.append(example)
        else:
            raise example.error(path)
    notes.extend(reader.notes)
    if len(empty) == 1:
        raise empty[0].error(path)
    if empty:
        reason = "the text to be judged is empty; fill them in or drop these rows"
        raise DataError(f"{describe_rows([bad.row for bad in empty])}: {reason}", path=path, column=empty[0].column)
    ungrouped = [example.row for example in examples if example.group is None]
    if scored and 0 < len(ungrouped) < len(examples):
        remedy = "fill it in (merged cells in a spreadsheet hold it in their first row only), or drop the column"
        reason = f"{describe_rows(ungrouped)}: the document is missing, where other rows name theirs; {remedy}"
        raise DataError(reason, path=path, column=chosen.get("group") or "group")
    ratings = reader.ratings(examples) if scored else []
    known = source.scale if given is None and isinstance(source, Examples) else given
    if known is None and not isinstance(source, Examples):
        known, said = own_scale(examples, chosen, scored=scored, path=path)
        notes.extend(said)
    inferred = scored and known is None
    if inferred:
        known, said = infer_scale(ratings, path, column, None if form is None else form.end)
        guess = f"scale {known} inferred from the scores; pass --scale LOW..HIGH if that is wrong"
        notes += [ScaleGuess(guess), *said]
    elif scored and known is not None and not isinstance(source, Examples):
        notes.extend(unused_scale(ratings, known))
    if scored and known is not None:
        if form is not None and form.end != known.high:
            remedy = f"pass --scale {'LOW' if form.pair is None else 0}..{form.end:g}, or write the numbers alone"
            raise DataError(f"scores are {form.name}, and the scale is {known}; {remedy}", path=path, column=column)
        for row, number, name in ratings:
            if number not in known:
                reason = f"{number:g} lies outside the scale {known}; correct it, or pass --scale LOW..HIGH"
                raise DataError(reason, path=path, row=row, column=name)
        if columns.get("rater") and not any(isinstance(note, Averaged) for note in notes):
            by_id = bool(checked(fields).get("id")) or folded(columns.get("id") or "id") not in COLUMNS["id"]
            more: dict[str, Any] = {"path": path, "form": form, "decimal_comma": written.decimal_comma}
            more["comment"] = columns.get("comment")
            examples, said = one_an_output(examples, columns["rater"], column, by_id=by_id, **more)
            notes += said
        notes += [*repeated_rows(examples), *divided_sources(examples, chosen.get("source") or "source")]
    if not isinstance(source, Examples):
        notes.extend(reader.seen.blank_sources())
    comma, bom = written.decimal_comma, written.bom
    told = given is not None or (isinstance(source, Examples) and source.scale_given)
    return Examples(tuple(examples), known, inferred, tuple(notes), columns, path, comma, told, bom)


def _has_sheet(path: str | None) -> bool:
    """Whether a file is what spreadsheets write."""
    return is_delimited(path) or is_workbook(path)


def _still_true(before: Examples, *, scored: bool, scale: Scale | None) -> list[str]:
    """The notes of an earlier reading that a program is to tell, too: what was left out or averaged, and how the scale
    was found.

    Args:
        before: What was read.
        scored: Whether the scores are what matters.
        scale: The scale that is given now, if one is.
    """
    kinds = (Averaged, Drawn, *([Unscored] * scored), *([ScaleGuess] * (scale is None)))
    return [note for note in before.notes if isinstance(note, kinds)]


class Items(Iterator["Example | BadRow"]):
    """Items to be scored, one at a time.

    Attributes:
        fields: The column of every field that has one.
        decimal_comma, bom: As for ``Examples``.
        delimited: Whether they come from CSV or TSV.
    """

    def __init__(
        self,
        rows: Iterator[Item],
        reader: RowReader,
        asked: Iterable[str],
        notes: Iterable[str],
        source: Source,
        columns: Iterable[str],
        awaited: Mapping[str, str],
    ) -> None:
        self._rows, self._reader, self._source = rows, reader, source
        self.fields = MappingProxyType(reader.fields)
        self.decimal_comma, self.bom = source.decimal_comma, source.bom
        self.delimited = is_delimited(source.path)
        self._unseen = {name: reader.fields[name] for name in asked if reader.fields[name] != NOWHERE}
        self._columns = set(columns)
        self._awaited = dict(awaited)
        self._late: dict[str, tuple[str, int]] = {}
        self._ended = False
        self._notes = tuple(notes)

    def __next__(self) -> Example | BadRow:
        try:
            item = next(self._rows)
        except StopIteration:
            self._ended = True
            raise
        if isinstance(item, BadRow):
            return item
        row, given = item
        if not isinstance(given, Example):
            self._unseen = not_there(self._unseen, [given]) if self._unseen else {}
            if not self._columns.issuperset(given) and len(self._columns) < _MANY:
                self._see(row, given)
        else:
            self._unseen = {}
        return self._reader.example(row, given)

    def _see(self, row: int, given: dict[str, Any]) -> None:
        """Read columns from here on that were read before; take note of others that come too late to be recognised."""
        fields = self._reader.fields
        for name in [name for name in self._awaited if not not_there({name: self._awaited[name]}, [given])]:
            column = self._awaited.pop(name)
            if column not in fields.values() and not holds_no_name(name, cell_at(given, column)):
                fields[name] = column
        for column in [name for name in given if name not in self._columns]:
            self._columns.add(column)
            # A program's score is none of people's, which stands in a column of its own then.
            people = "input_score" if given.keys() >= VERDICT_COLUMNS else "score"
            usual = "score" if column == people else None if column == "score" else folded(column)
            for name, names in uncommented(COLUMNS).items():
                if name not in fields and column not in fields.values() and usual in names:
                    self._late.setdefault(name, (column, row))

    @property
    def notes(self) -> tuple[str, ...]:
        """What the user should know of the items; some of it is known when all have been read."""
        seen = self._reader.seen
        said = [*self._notes, *self._source.notes, *seen.blank_sources()]
        if self._ended:
            said += self._reader.notes
            said += [f"no row has a column {column!r} to take the {name} from" for name, column in self._unseen.items()]
        for name, (column, row) in self._late.items():
            said.append(
                f"the {name} is not read from {column!r}, which comes with row {row} only, and columns are recognised "
                f"by the first {_PEEK}; --fields {name}={column} reads it"
            )
        if seen.judged:
            rows = how_many(seen.judged, "row stands", "rows stand")
            said.append(
                f"the column 'score' of {rows} beside a program's verdict and is not taken for people's; "
                "--fields score=score if it is"
            )
        if seen.unread:
            rows = how_many(seen.unread, "row has", "rows have")
            said.append(f"{rows} a score that is not read and counts as none; the first: {seen.first_unread}")
        return tuple(said)


def iter_examples(
    source: Any, *, fields: Mapping[str, str] | None = None, as_before: Mapping[str, str] = MappingProxyType({})
) -> Items:
    """Items to be scored, one at a time, in constant memory (only ``.json`` and workbooks are read whole).

    Every row of the input comes out once and in order: one that cannot be used as a ``BadRow``. Rows of a CSV, a TSV or
    a workbook in which all cells are blank are none. A score is read where there is a usable one. Columns are
    recognised from the first 100 rows.

    Args:
        source: As for ``read_examples``.
        fields: As for ``read_examples``.
        as_before: As for ``read_examples``.

    Raises:
        DataError: At once for a file that cannot be opened or columns that cannot be found; later only when the rest
            of the file cannot be read at all, or a quote that does not close swallows some of it.
        MissingExtra: A Parquet file or a workbook, and what reads it is not installed.
    """
    stream = Source(source)
    head = list(itertools.islice(stream, _PEEK))
    readable = [item for item in head if not isinstance(item, BadRow)]
    asked, as_before = uncommented(checked(fields)), uncommented(as_before)
    chosen, notes = asked, list[str]()
    if readable:
        whole = len(head) < _PEEK
        how: dict[str, Any] = {"path": stream.path, "whole": whole, "fixed": stream.fixed, "as_before": as_before}
        chosen, notes = resolve(readable, asked, scored=False, **how)
    own = "score" in asked
    records = [given for _, given in readable if isinstance(given, dict)]
    form = form_of_scores(records, chosen["score"]) if chosen.get("score") else None
    reader = RowReader(chosen, False, stream.decimal_comma, _has_sheet(stream.path), own, form=form)
    columns = {name for record in records for name in record}
    lacking = not_there(as_before, records)
    needed = COLUMNS.keys() - {*chosen, "rater"}
    awaited = {name: column for name, column in lacking.items() if name in needed}
    return Items(itertools.chain(head, stream), reader, asked, notes, stream, columns, awaited)


def _check_thousands(rows: Iterable[tuple[int, Given]], column: str, path: str | None) -> None:
    """Refuse scores that may have separators of thousands, see :func:`active_critic.data.cells.check_thousands`."""
    cells: dict[str, list[tuple[int, Any]]] = defaultdict(list)
    for row, given in rows:
        if not isinstance(given, Example):
            for name, cell in rated(given, column).items():
                cells[name].append((row, cell))
    for name, its in cells.items():
        check_thousands(name, its, path)


def unread_score(examples: Examples) -> DataError | None:
    """What is wrong with the first score that stands there and is no number, where scores need not be there."""
    where = examples.fields.get("score") or "score"
    form = form_of_scores((example.record for example in examples), where)
    for example in examples:
        cells = rated(example.record, where) if example.score is None else {}
        for column, cell in cells.items():
            try:
                number_in(cell, decimal_comma=examples.decimal_comma, form=form)
            except ValueError as problem:
                return DataError(str(problem), path=examples.path, row=example.row, column=column)
    return None


def for_aspect(examples: Examples, aspect: str) -> Examples:
    """The same examples with the human score of one aspect in place of the overall score, on that aspect's own scale.

    That is the scale that the user gave, where the aspect's scores lie in it and fill a fifth of it or more; else the
    narrowest usual one. A column ``scale`` is of the overall score alone.

    Args:
        examples: As they were read.
        aspect: Name of the aspect, as it stands in the data; upper and lower case do not matter.

    Raises:
        DataError: No example has that aspect, or its scale cannot be told.
    """
    names = sorted({name for example in examples for name in example.aspects})
    column = next((name for name in names if name.casefold() == aspect.casefold()), None)
    if column is None:
        known = f"the aspects there are: {', '.join(names)}" if names else "there are no aspect scores at all"
        remedy = "they are read from an object in a column `scores`, or from columns named aspect_*"
        raise DataError(
            f"no example has a human score for the aspect {aspect!r}; {known}; {remedy}", path=examples.path
        )
    scored = [replace(e, score=e.aspects[column]) for e in examples if column in e.aspects]
    single = [note.aspects.get(column, ()) for note in examples.notes if isinstance(note, Averaged)]
    ratings = [*single[0]] if any(single) else [(e.row, e.aspects[column], column) for e in scored]
    given = _given_scale(examples, ratings)
    scale, said = infer_scale(ratings, examples.path, column) if given is None else (given, [])
    why = "" if given is None else ", which was given: all its scores lie in it"
    kind = ScaleGuess if given is None else str
    notes = [kind(f"the scale of the aspect {column!r} is taken to be {scale}{why}"), *said]
    if len(scored) < len(examples):
        notes.append(f"{len(examples) - len(scored)} examples have no score for the aspect {column!r} and do not count")
    return replace(
        examples,
        items=tuple(scored),
        scale=scale,
        scale_inferred=given is None,
        notes=(*(note for note in examples.notes if not isinstance(note, ScaleGuess)), *notes),
    )


def _given_scale(examples: Examples, ratings: list[Rated]) -> Scale | None:
    """The scale that the user gave, if it may be an aspect's, too."""
    given = examples.scale if examples.scale_given else None
    if given is None or any(number not in given for _, number, _ in ratings) or unused_scale(ratings, given):
        return None
    return given
