"""What ``active-critic agreement`` has to say of columns: on how little their figures rest, and why there are none."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from active_critic.figures_in_words import how_many

if TYPE_CHECKING:
    from active_critic.data.columns import Predictions, Table
    from active_critic.stats import Level

FEW = 10
"""Fewer examples, documents or systems than this say little."""
NOTES = "notes"
"""Where `score` writes what is to be known of a verdict."""
SPLIT = ("repeat", "fold")
"""Where `compare` writes which split a prediction is of."""
DOCUMENT = "document"
"""Where `compare` writes the name of a document; elsewhere a column that is called so holds its text."""
WHOSE = "--human (or --raters) names people's scores, --predicted what is judged"
"""What to look at where the columns may stand in each other's place, which no coefficient tells."""


def of_few_documents(results: Sequence[Mapping[str, Any]], documents: int, resamples: int) -> list[str]:
    """What should be said of columns whose figures rest on fewer documents than the file has.

    Args:
        results: As ``agreement --json`` prints them.
        documents: Those of the file, of which what there is to say is said.
        resamples: Permutations.
    """
    from active_critic.stats.resampling import cautions

    said: dict[str, None] = {}
    for result in results:
        where = " within documents" if result["level"] == "document" else ""
        for entry in result["columns"]:
            figures, difference = entry["figures"], entry["difference"]
            own = min(figures["units"], figures["groups"]) if where else figures["groups"]
            tested = difference["groups"] if difference is not None and difference["p"] is not None else None
            rests = [(f"{entry['column']!r}{where}", own, int(tested == own))] if figures["mean"] is not None else []
            if difference is not None and tested is not None and tested < own:
                rests.append((f"{entry['column']!r} against {difference['to']!r}{where}", tested, 1))
            for what, of, ps in rests:
                said |= {f"{what}: {one}": None for one in cautions(of, ps, resamples) if of < documents}
    return [*said]


def known_texts(table: Table) -> set[int]:
    """The places of the rows of which the program that scored them says that its fit had to do with them."""
    from active_critic.cli._tally import FITTED, RELATED, SHOWN

    said = table.texts(NOTES) if NOTES in table else ()
    return {place for place, text in enumerate(said) if any(known in text for known in (FITTED, RELATED, SHOWN))}


def of_known_texts(table: Table) -> list[str]:
    """A note where a program that has scored the rows says of some that its fit had to do with them."""
    if not (count := len(known_texts(table))):
        return []
    known = "texts that a program was fitted on, or others of their documents"
    rows = f"of {len(table):,} rows, {count:,} hold {known} (column {NOTES!r})"
    return [f"{rows}: agreement on them flatters the program; leave them out for a figure that you can defend"]


def of_a_program(table: Table, human: str | None) -> list[str]:
    """A note where what is named as people's scores stands where a program writes its own."""
    from active_critic.records import VERDICT_COLUMNS

    if human != "score" or not set(table.columns) >= VERDICT_COLUMNS:
        return []
    return [f"the column 'score' stands beside those of a program's verdicts and was written with them: {WHOSE}"]


def of_unscored(rows: Sequence[int], columns: Sequence[str], what: str = "human score") -> list[str]:
    """A note where rows have been left out that nobody has scored in these columns."""
    from active_critic.data.examples import describe_rows
    from active_critic.data.notes import listed

    if not rows:
        return []
    left = "it is" if len(rows) == 1 else "they are"
    where = f"column{'s' * (len(columns) > 1)} {listed(columns)}"
    return [f"no {what} in {describe_rows(rows)} ({where}): {left} left out"]


def of_splits(parts: Sequence[int], columns: Sequence[str], *, asked: bool) -> str:
    """A note where rows are predictions of several splits, which make no single column.

    Args:
        parts: The split of every row.
        columns: Where it stands.
        asked: Whether the user named these.
    """
    sizes = Counter(parts)
    where = " and ".join(map(repr, columns))
    within = f"within each of {len(sizes):,} splits ({where})"
    said = f"coefficients and pairwise accuracy are computed {within} and averaged"
    if not asked:
        said += ", because fits on different splits may differ in level and spread"
    least = min(sizes.values())
    if least < FEW:
        said += f"; the smallest has {how_many(least, 'row')}, which says little"
    same = "the --seed and --resamples of the `compare` that wrote the file give its intervals, too"
    return said if asked else f"{said}; {same}"


def of_lacking_sources(rows: Sequence[int], sources: Sequence[str | None], column: str) -> list[str]:
    """A note where some rows have a source, by which documents are told apart, and others have none."""
    from active_critic.data.examples import describe_rows

    lacking = [row for row, source in zip(rows, sources, strict=True) if source is None]
    if not 0 < len(lacking) < len(rows):
        return []
    each = "which counts" if len(lacking) == 1 else "each of which counts"
    where = f"no {column!r} in {describe_rows(lacking)}, {each} as a document of its own"
    return [f"{where}; merged cells in a spreadsheet hold it in their first row only: fill it in if that is the reason"]


def why_undefined(prediction: Predictions, level: Level) -> str:
    """Why a column has no coefficient, and what to do."""
    given = [value for value in prediction.values if value is not None]
    rows = len(prediction.values)
    if len(given) < 2:
        odd = f" (the first that is not one: {prediction.odd})" if prediction.odd else ""
        need = "agreement needs at least two; name another column"
        return f"{len(given)} of {rows} rows hold a number{odd}, and {need}"
    if len(set(given)) == 1:
        remedy = "name a column that varies"
        return f"all {len(given)} predictions are {given[0]:g}: a constant agrees with nobody; {remedy}"
    reasons: dict[str, Callable[[], str]] = {
        "document": lambda: "in no document do predictions and human scores both vary; use --level dataset",
        "system": lambda: (
            "the systems' means do not vary on both sides, or only one system has predictions; use --level dataset"
        ),
        "dataset": lambda: "the human scores of the rows with a prediction are all equal; more rows need predictions",
    }
    return reasons[level]()
