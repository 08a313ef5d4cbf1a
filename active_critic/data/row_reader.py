"""Examples made of rows whose columns are known, one row at a time, and what is to be said of the rows."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from active_critic.data.cells import (
    aspects_in,
    comment_in,
    given_aspects,
    joined,
    name_in,
    number_in,
    rated,
    source_in,
    text_in,
    there,
)
from active_critic.data.examples import SHOWN, no_source_in
from active_critic.data.fields import COLUMNS, Given
from active_critic.data.rows import BadRow
from active_critic.data.scales import Rated
from active_critic.data.score_forms import Form
from active_critic.data.ways import cell_at, cells_at, several
from active_critic.data.writing import unguarded
from active_critic.figures_in_words import how_many
from active_critic.records import VERDICT_COLUMNS, Example

EMPTY = "the text to be judged is empty; fill it in or drop the row"
"""Why a row without a response holds no example."""
_TEXTS = tuple(name for name in COLUMNS if name not in {"score", "rater"})
_READERS = {"group": name_in, "system": name_in, "source": source_in, "comment": comment_in}


class _Part(ValueError):
    """What is wrong with one of the columns that a text is made of."""

    def __init__(self, problem: str, column: str) -> None:
        super().__init__(problem)
        self.column = column


@dataclass(slots=True)
class Seen:
    """What a reader came across.

    Attributes:
        judged: How many rows have a program's score in the place of people's.
        unread: How many rows have a score that is no number and was passed over.
        first_unread: What is wrong with the first of them.
        sources: How many rows have a source.
        blank: The first rows that have none.
        blanks: How many have none.
        apostrophes: How many cells had one before what would be a formula.
    """

    judged: int = 0
    unread: int = 0
    first_unread: str = ""
    sources: int = 0
    blank: list[int] = field(default_factory=list)
    blanks: int = 0
    apostrophes: int = 0

    def source(self, row: int, text: str | None) -> None:
        """Count the source of a row."""
        if text is not None:
            self.sources += 1
            return
        self.blanks += 1
        if self.blanks <= SHOWN:
            self.blank.append(row)

    def blank_sources(self) -> list[str]:
        """A note where some rows have a source and others have none."""
        if not (self.sources and self.blanks):
            return []
        return [no_source_in(self.blank, self.blanks)]


@dataclass(frozen=True, slots=True)
class RowReader:
    """Makes examples of rows.

    Attributes:
        fields: Column by field; ``NOWHERE`` for one that is to have none.
        scored: Whether a row cannot be used where its score is none.
        decimal_comma: Whether ``3,5`` is a number.
        seen: What it came across.
        sheet: Whether rows come from CSV, TSV or a workbook, in which an apostrophe before what would be a formula is
            no part of the text.
        own_score: Whether the user has said which column the score is.
        form: How all scores are written, where that is not as plain numbers, or None.
    """

    fields: dict[str, str]
    scored: bool
    decimal_comma: bool
    sheet: bool
    own_score: bool = True
    form: Form | None = None
    seen: Seen = field(default_factory=Seen)

    def example(self, row: int, given: Given) -> Example | BadRow:
        """The example that a row holds, or why it holds none."""
        made = given if isinstance(given, Example) else None
        kept = given.record if isinstance(given, Example) else given
        values: dict[str, Any] = {}
        for name in _TEXTS:
            column = self.fields.get(name) or None
            if name == "comment" and not self.scored:
                continue
            try:
                if name == "source" and made is None and column and column not in kept and several(column):
                    values[name] = self._source(kept, column)
                    continue
                cell = there(getattr(made, name)) if made else None if column is None else cell_at(kept, column)
                values[name] = _READERS.get(name, text_in)(self._bare(cell) if not made and column in kept else cell)
            except ValueError as problem:
                unread = "" if made or name == "response" else f"; or read no {name}: --fields {name}="
                part = problem.column if isinstance(problem, _Part) else column
                return BadRow(row, f"{problem}{unread}", kept, part or name)
        column = self.fields.get("score") or None
        if column == "score" and not self.own_score and kept.keys() >= VERDICT_COLUMNS:
            column = None  # a program gave it, as only the rows behind the first tell
            self.seen.judged += "score" in kept
        scores = {"score": there(made.score)} if made else {} if column is None else rated(kept, column)
        numbers = list[float]()
        for column, cell in scores.items():
            try:
                number = self._number(cell)
            except ValueError as problem:
                if self.scored:
                    return BadRow(row, str(problem), kept, column)
                self.seen.first_unread = self.seen.first_unread or f"row {row}, column {column!r}: {problem}"
                self.seen.unread += 1
                numbers.clear()
                break
            numbers += [] if number is None else [number]
        values["score"] = math.fsum(numbers) / len(numbers) if numbers else None
        if not (values["response"] or "").strip():
            return BadRow(row, EMPTY, kept, self.fields.get("response", "response"))
        self.seen.source(row, values["source"])
        values["source"] = values["source"] or ""
        try:
            aspects = given_aspects(made.aspects) if made else aspects_in(kept, decimal_comma=self.decimal_comma)
        except ValueError as problem:
            if self.scored:
                return BadRow(row, str(problem), kept, "aspects")
            aspects = {}  # scoring has no use for them
        return Example(**values, aspects=aspects, record=kept, row=row)

    def _bare(self, cell: Any) -> Any:
        """A cell without the apostrophe that keeps a spreadsheet from taking it for a formula."""
        if not self.sheet or not isinstance(cell, str):
            return cell
        self.seen.apostrophes += cell != unguarded(cell)
        return unguarded(cell)

    def _source(self, kept: Mapping[str, Any], column: str) -> str | None:
        """A source that is made of several columns."""
        texts = dict[str, str]()
        for part, cell in cells_at(kept, column).items():
            try:
                text = source_in(self._bare(cell) if part in kept else cell)
            except ValueError as problem:
                raise _Part(str(problem), part) from None
            texts |= {} if text is None else {part: text}
        return joined(texts)

    def _number(self, cell: Any) -> float | None:
        return number_in(cell, decimal_comma=self.decimal_comma, form=self.form)

    @property
    def notes(self) -> list[str]:
        """What the user should know of scores and texts."""
        said = [] if self.form is None else [self.form.note]
        if not (count := self.seen.apostrophes):
            return said
        texts = how_many(count, "text is", "texts are")
        return [
            *said,
            f"{texts} read without the apostrophe that keeps a spreadsheet from taking =, +, - or @ for a formula",
        ]

    def ratings(self, examples: Iterable[Example]) -> list[Rated]:
        """The numbers that the scores were made of."""
        column = self.fields.get("score") or "score"
        if not several(column):
            return [(e.row, e.score, column) for e in examples if e.score is not None]
        found: list[Rated] = []
        for example in examples:
            for name, cell in rated(example.record, column).items():
                number = self._number(cell)
                found += [] if number is None else [(example.row, number, name)]
        return found
