"""Rows that are one person's score of an output each, as annotation tools write them: made one example an output."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from active_critic.data.cells import joined_comments, name_in
from active_critic.data.examples import describe_rows, human_score
from active_critic.data.notes import Averaged
from active_critic.data.scales import Rated
from active_critic.data.score_forms import Form
from active_critic.data.ways import cell_at, decoded
from active_critic.errors import DataError
from active_critic.figures_in_words import count_words, how_many
from active_critic.records import Example


def one_an_output(
    examples: Sequence[Example],
    column: str,
    score: str,
    *,
    by_id: bool,
    path: str | None,
    comment: str | None = None,
    form: Form | None = None,
    decimal_comma: bool = False,
) -> tuple[list[Example], list[str]]:
    """One example for each output, with the mean of the scores that its raters gave, and notes on that.

    Rows are of one output where source, response, reference, document and system are the same. The first keeps its
    place, number, id and record; in the latter are the means of scores and aspects, the names of the raters
    (``anna+bert``) and their comments, so that what is written of it reads as the same example.

    Args:
        examples: One a row, each with a score.
        column: Where the rater is named.
        score: Where scores are; a name for several columns becomes that of one which holds the mean.
        by_id: Whether ids tell outputs apart, too. Tools number scores as well as outputs, so that a column recognised
            as the id does not say so.
        path: The file, for messages.
        comment: Where comments are, or None.
        form: How all scores are written, where that is not as plain numbers, or None.
        decimal_comma: Whether ``3,5`` is a number.

    Raises:
        DataError: Naming rows and column: a row names no rater, or a rater gave an output different scores.
    """
    names = check_named(_names(examples, column, path), [example.row for example in examples], column, path)
    keys = []
    ids: dict[tuple[str | None, ...], set[str | None]] = {}
    for example in examples:
        texts = (example.source, example.response, example.reference)
        keys.append((*texts, example.group, example.system, example.id if by_id else None))
        ids.setdefault(keys[-1], set()).add(example.id)
    outputs = by_output(
        [Score(*of) for of in zip(keys, names, map(human_score, examples), (e.row for e in examples), strict=True)],
        "--fields id=COLUMN",
        path=path,
        column=column,
    )
    counts = [len(of) for of in outputs]
    said = said_of_raters(outputs, names, column)
    if by_id and max(counts) == 1:
        said += "; rows with different ids are different outputs, since fields name the id"
    averaged = Averaged(said)
    averaged.aspects = _single_aspects(examples)
    notes: list[str] = [averaged]
    if any(len(found) > 1 for found in ids.values()):
        notes.append("rows of one output have different ids: the first is kept; --fields id=COLUMN parts them by id")
    if max(counts) == 1:
        return [examples[place] for of in outputs for place in of.values()], notes
    made = []
    for of in outputs:
        example = _of_all([examples[place] for place in of.values()])
        words = form is not None and form.pair is not None  # of which none says what a mean is, so that none stays
        if len(of) > 1 or words or not {score, column} <= example.record.keys():
            mean = human_score(example)
            given = mean if form is None else form.written(mean, decimal_comma=decimal_comma)
            said_of_it = {comment: example.comment} if comment and example.comment else {}
            example = replace(example, record={**example.record, score: given, column: "+".join(of), **said_of_it})
        made.append(example)
    return made, notes


class Score(NamedTuple):
    """What one person gave an output.

    Attributes:
        output: What tells it from others.
        rater: Who.
        number: How much.
        row: Where that stands, for messages.
    """

    output: Hashable
    rater: str
    number: float
    row: int


def by_output(scores: Sequence[Score], parting: str, *, path: str | None, column: str) -> list[dict[str, int]]:
    """For each output, in the order of their first rows, the places of its scores by rater.

    Args:
        scores: One a row.
        parting: The option that tells outputs apart which are taken for one.
        path: The file, for messages.
        column: Where raters are named.

    Raises:
        DataError: Naming rows: a rater gave an output different scores.
    """
    outputs: dict[Hashable, dict[str, int]] = {}
    for place, score in enumerate(scores):
        first = scores[outputs.setdefault(score.output, {}).setdefault(score.rater, place)]
        if first.number != score.number:
            both = f"{first.number:g} and {score.number:g}"
            rows = f"{describe_rows([first.row, score.row])}: {score.rater!r} scored the same output twice, {both}"
            remedy = f"drop one; if these are two outputs of the same words, {parting} tells them apart"
            raise DataError(f"{rows}; {remedy}", path=path, column=column)
    return list(outputs.values())


def _names(examples: Iterable[Example], column: str, path: str | None) -> list[str | None]:
    names = []
    for example in examples:
        try:
            names.append(name_in(cell_at(example.record, column)))
        except ValueError as problem:
            raise DataError(str(problem), path=path, row=example.row, column=column) from None
    return names


def check_named(names: Sequence[str | None], rows: Sequence[int], column: str, path: str | None) -> list[str]:
    """The raters' names.

    Raises:
        DataError: Some rows name none.
    """
    if blank := [row for name, row in zip(names, rows, strict=True) if name is None]:
        reason = f"{describe_rows(blank)}: the rater is missing, where there is a score; fill it in or drop the row"
        raise DataError(reason, path=path, column=column)
    return [name for name in names if name is not None]


def said_of_raters(outputs: Sequence[Mapping[str, int]], names: Sequence[str], column: str) -> str:
    """What was made of rows that are one rater's score each, for a note.

    Args:
        outputs: As from :func:`by_output`.
        names: The rater of every row.
        column: Where raters are named.
    """
    counts = [len(of) for of in outputs]
    said = _said(len(names), len({*names}), counts, column)
    if again := len(names) - sum(counts):
        said += f"; {how_many(again, 'row repeats', 'rows repeat')} a rater's score of an output and counts once"
    return said


def _said(rows: int, raters: int, counts: Sequence[int], column: str) -> str:
    most = max(counts)
    if most == 1:
        return f"every output has one rater (column {column!r}), and the score is taken as it is"
    outputs = how_many(len(counts), "output")
    said = f"{rows:,} rows are the scores of {raters:,} raters (column {column!r}) for {outputs}; each output has "
    if min(counts) == raters:
        return f"{said}their mean"
    fewer = sum(count < most for count in counts)
    few = f", and {how_many(fewer, 'has', 'have')} fewer than {most}" if fewer else ""
    return f"{said}the mean of its own ({count_words(counts)}){few}"


def _of_all(rated: Sequence[Example]) -> Example:
    """The first of the examples with the mean of the scores, and of every aspect over those that have it; and with what
    all of them say.
    """
    first = rated[0]
    if len(rated) == 1:
        return first
    names = dict.fromkeys(name for example in rated for name in example.aspects)
    aspects = {name: _mean(e.aspects[name] for e in rated if name in e.aspects) for name in names}
    record = {**first.record, **_cells(first.record, aspects)}
    comment = joined_comments(example.comment for example in rated)
    return replace(first, score=_mean(map(human_score, rated)), aspects=aspects, record=record, comment=comment)


def _cells(record: Mapping[str, Any], aspects: Mapping[str, float]) -> dict[str, Any]:
    """The cells in which aspects are read: in the object ``scores``, if there is one, or in columns of their own."""
    scores = decoded(record.get("scores"))
    own = {name for name in aspects if f"aspect_{name}" in record or not isinstance(scores, Mapping)}
    cells: dict[str, Any] = {f"aspect_{name}": aspects[name] for name in aspects if name in own}
    within = {name: aspects[name] for name in aspects if name not in own}
    return cells | ({"scores": {**scores, **within}} if within else {})


def _single_aspects(examples: Iterable[Example]) -> dict[str, list[Rated]]:
    found: dict[str, list[Rated]] = {}
    for example in examples:
        for name, number in example.aspects.items():
            found.setdefault(name, []).append((example.row, number, name))
    return found


def _mean(numbers: Iterable[float]) -> float:
    found = list(numbers)
    return math.fsum(found) / len(found)
