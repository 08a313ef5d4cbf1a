"""``active-critic agreement --raters``: how far single raters agree, and the ceiling that this sets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from active_critic.columns import Table
    from active_critic.reliability import Measurement
    from active_critic.stats import Level

MEASUREMENTS: tuple[Measurement, ...] = ("ordinal", "interval")
"""The levels of measurement at which alpha is given."""


def rater_columns(table: Table, patterns: Sequence[str], aspect: str | None, human: str) -> list[str]:
    """The columns of single raters.

    Args:
        table: Where they are.
        patterns: Names of columns, in which a star stands for every rater.
        aspect: What the star in the human column stands for, if there is one: then the last star of a pattern
            stands for that, and only one before it for every rater.
        human: The column of the human scores, which a star does not stand for: it is made of all raters.

    Raises:
        DataError: No column is like a pattern, they are not two different ones at least, or the human column is named.
    """
    from active_critic.errors import DataError

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
        message = "--raters names the human scores, which are no single rater's; name columns of single raters only"
        raise DataError(message, path=table.path, column=human)
    if len(found) < 2:
        remedy = "repeat --raters, or let a star stand for every rater (--raters 'ratings.*')"
        raise DataError(f"there is one rater only, and agreement among raters needs two; {remedy}", path=table.path)
    return found


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
        DataError: A column is absent or holds no number, no row has the numbers of two raters, or all are equal.
    """
    from active_critic.errors import DataError
    from active_critic.reliability import human_ceiling, krippendorff_alpha

    raters = [table.predictions(name) for name in columns]
    ratings = [rater.values for rater in raters]
    for rater in raters:
        if all(value is None for value in rater.values):
            odd = f" (the first that is none: {rater.odd})" if rater.odd else ""
            remedy = "name only columns of single raters with --raters"
            raise DataError(f"no row holds a number{odd}; {remedy}", path=table.path, column=rater.name)
    counts = [sum(value is not None for value in row) for row in zip(*ratings, strict=True)]
    if max(counts) < 2:
        message = f"no row has numbers of two of the {len(raters)} raters; they must have rated the same rows"
        raise DataError(message, path=table.path)
    alpha = {measurement: krippendorff_alpha(ratings, measurement) for measurement in MEASUREMENTS}
    if None in alpha.values():
        message = "all ratings of rows with two of them are equal, so agreement is not defined; other rows are needed"
        raise DataError(message, path=table.path, column=columns[0])
    ceiling = human_ceiling(ratings, groups, level=level, systems=systems, resamples=resamples, seed=seed)
    return {
        "columns": [
            {
                "column": rater.name,
                "n": len(rater.values) - rater.missing - rater.not_numeric,
                "missing": rater.missing,
                "not_numeric": rater.not_numeric,
                "first_not_numeric": rater.odd,
                "mean_with_the_rest": each,
            }
            for rater, each in zip(raters, ceiling.each, strict=True)
        ],
        "items": ceiling.items,
        "ratings": ceiling.n,
        "alpha": alpha,
        "ceiling": ceiling.to_dict(),
    }
