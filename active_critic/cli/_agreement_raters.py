"""``active-critic agreement --raters``: how far single raters agree, and the ceiling that this sets."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from active_critic.errors import DataError

if TYPE_CHECKING:
    from active_critic.data.columns import Predictions, Table
    from active_critic.data.scales import Rated
    from active_critic.data.score_forms import Form
    from active_critic.stats import Level
    from active_critic.stats.reliability import Measurement

MEASUREMENTS: tuple[Measurement, ...] = ("ordinal", "interval")
"""The levels of measurement at which alpha is given."""


def rater_columns(table: Table, patterns: Sequence[str], aspect: str | None, human: str | None) -> list[str]:
    """The columns of single raters.

    Args:
        table: Where they are.
        patterns: Names of columns, in which a star stands for every rater.
        aspect: What the star in the human column stands for, if there is one: then the last star of a pattern
            stands for that, and only one before it for every rater.
        human: The column of the human scores, which a star does not stand for: it is made of all raters. None: there
            is none, and their mean is taken.

    Raises:
        DataError: No column is like a pattern, they are not two different ones at least, or the human column is named.
    """
    found: list[str] = []
    for pattern in patterns:
        name = pattern
        if aspect is not None and name not in table:
            name = aspect.join(name.rsplit("*", 1))
        if "*" in name and name not in table:
            every = [name.replace("*", rater) for rater in table.matching(name)]
            found += [column for column in every if column != human]
        else:
            found.append(name)
    twice = next((name for name in found if found.count(name) > 1), None)
    if twice is not None:
        raise DataError("--raters names it twice; name each rater once", path=table.path, column=twice)
    if human in found:
        message = "--raters names the human scores, which are not a single rater's; name columns of single raters only"
        remedy = "or leave out --human: people's scores are then the raters' mean"
        raise DataError(f"{message}, {remedy}", path=table.path, column=human)
    if len(found) < 2:
        remedy = "repeat --raters, or let a star stand for every rater (--raters 'ratings.*')"
        if human is not None:
            remedy += f"; if {human!r} is a rater, too, name it with --raters and leave out --human"
        raise DataError(f"there is only one rater, and agreement among raters needs two; {remedy}", path=table.path)
    return found


def of_one_output(table: Table, taken: set[str]) -> list[str]:
    """The columns that tell outputs apart, by their usual names: of texts, documents and systems.

    Raises:
        DataError: None of them is usual for an output's text.
    """
    from active_critic.data import COLUMNS
    from active_critic.data.fields import folded

    free = [column for column in table.columns if column not in taken]
    if not any(folded(column) in COLUMNS["response"] for column in free):
        reason = "no column is recognised as the text of the outputs, which tells them apart"
        raise DataError(f"{reason}; name one that does with --id COLUMN", path=table.path)
    usual = {name for kind in ("source", "response", "reference", "group", "system") for name in COLUMNS[kind]}
    return [column for column in free if folded(column) in usual]


def ratings_of(table: Table, name: str) -> Predictions:
    """What a rater gave: a number, or nothing, in every row.

    Raises:
        DataError: There is no such column, no row holds a number, or one holds something else, which is named.
    """
    from active_critic.data.cells import as_number, is_missing

    found = table.predictions(name)
    if all(value is None for value in found.values):
        odd = f" (the first that is not one: {found.odd})" if found.odd else ""
        remedy = "name only columns of single raters with --raters"
        raise DataError(f"no row holds a number{odd}; {remedy}", path=table.path, column=name)
    for row, value, text in zip(table.rows, found.values, table.texts(name), strict=True):
        if value is None and not is_missing(text):
            remedy = f"{as_number(text)}, or leave the cell blank if no rating was given"
            message = f"the rating {text[:40]!r} is not a finite number; {remedy}"
            raise DataError(message, path=table.path, row=row, column=name)
    return found


def one_form(table: Table, raters: Sequence[str]) -> Form | None:
    """How all ratings are written, where that is not as plain numbers; None where none of them is.

    Raises:
        DataError: Those of one rater are written otherwise than those of another.
    """
    if (form := table.form(*raters)) is not None:
        return form
    first, *others = ((name, table.form(name)) for name in raters)
    for name, form in others:
        if form != first[1]:
            said, there = ("plain numbers" if one is None else one.name for one in (form, first[1]))
            message = f"these ratings are {said}, and those of {first[0]!r} are {there}; write all on one scale"
            raise DataError(message, path=table.path, column=name)
    return None


@dataclass(frozen=True, slots=True)
class PeoplesScores:
    """What people said.

    Attributes:
        column: Where it stands, or None: it is the mean of the raters that a row has.
        scores: Of every row; empty where nothing is compared with them.
        single: The numbers that they are made of.
        form: How all these are written, where that is not as plain numbers, or None.
        lacking: Rows in which some of the raters gave none.
    """

    column: str | None
    scores: Sequence[float]
    single: Sequence[Rated]
    form: Form | None = None
    lacking: int = 0

    @classmethod
    def of_column(cls, table: Table, column: str) -> PeoplesScores:
        """Those of a column.

        Raises:
            DataError: There is none, or a row holds no number.
        """
        scores = table.human(column)
        single = [(row, score, column) for row, score in zip(table.rows, scores, strict=True)]
        return cls(column, scores, single, table.form(column))

    @classmethod
    def of_raters(cls, table: Table, raters: Sequence[str], judged: Sequence[str]) -> PeoplesScores:
        """The raters' mean, where something is compared with it.

        Raises:
            DataError: A column is absent, holds no number or is judged by itself, or a cell is neither a number nor
                missing.
        """
        for name in judged:
            if name in raters:
                message = "this is one of the raters whose mean it would be compared with; name only the others"
                raise DataError(f"{message}, or what people said with --human", path=table.path, column=name)
        form = one_form(table, raters)
        rows = list(zip(*(ratings_of(table, name).values for name in raters), strict=True))
        single = [
            (place, value, name)
            for place, values in zip(table.rows, rows, strict=True)
            for name, value in zip(raters, values, strict=True)
            if value is not None
        ]
        if not judged:
            return cls(None, (), single, form)
        given = [[value for value in values if value is not None] for values in rows]
        scores = [math.fsum(values) / len(values) for values in given]  # rows without a rating are left out before
        return cls(None, scores, single, form, lacking=sum(len(values) < len(raters) for values in given))

    def note(self, raters: Sequence[str]) -> str:
        """That it is a mean, and of what."""
        from active_critic.data.notes import listed

        mean = f"people's scores are the mean of {len(raters)} raters ({listed(raters)})"
        some = f", or of those that a row has: {self.lacking:,} of {len(self.scores):,} rows lack some"
        return mean + some if self.lacking else mean


def measure_raters(
    table: Table,
    columns: Sequence[str],
    groups: Sequence[str] | None,
    systems: Sequence[str | None] | None,
    *,
    level: Level,
    resamples: int,
    seed: int,
) -> dict[str, Any]:
    """Krippendorff's alpha and the human ceiling, as plain JSON values.

    Raises:
        DataError: A column is absent or holds no number, a cell is neither a number nor missing, no row has the numbers
            of two raters, or all are equal.
    """
    from active_critic.stats.reliability import human_ceiling, krippendorff_alpha

    one_form(table, columns)
    raters = [ratings_of(table, name) for name in columns]
    ratings = [rater.values for rater in raters]
    counts = [sum(value is not None for value in row) for row in zip(*ratings, strict=True)]
    if max(counts) < 2:
        message = f"no row has numbers from two of the {len(raters)} raters; they must have rated the same rows"
        raise DataError(message, path=table.path)
    alpha = {measurement: krippendorff_alpha(ratings, measurement) for measurement in MEASUREMENTS}
    if None in alpha.values():
        message = "in the rows with two ratings or more all ratings are equal, so agreement is not defined"
        raise DataError(f"{message}; other rows are needed", path=table.path, column=columns[0])
    ceiling = human_ceiling(ratings, groups, level=level, systems=systems, resamples=resamples, seed=seed)
    return {
        "columns": [
            {
                "column": rater.name,
                "n": len(rater.values) - rater.missing,
                "missing": rater.missing,
                "mean_with_the_rest": each,
            }
            for rater, each in zip(raters, ceiling.each, strict=True)
        ],
        "items": ceiling.items,
        "ratings": ceiling.n,
        "alpha": alpha,
        "ceiling": ceiling.to_dict(),
    }
