"""What ``active-critic agreement`` measures: columns against people, at a level, within documents and splits."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from active_critic.cli._agreement_notes import (
    DOCUMENT,
    FEW,
    SPLIT,
    WHOSE,
    of_few_documents,
    of_lacking_sources,
    of_splits,
    of_unscored,
    why_undefined,
)
from active_critic.errors import DataError

if TYPE_CHECKING:
    from active_critic.cli._agreement_raters import PeoplesScores
    from active_critic.data.columns import Predictions, Table
    from active_critic.records import Scale
    from active_critic.stats import Level

_Value = TypeVar("_Value")


@dataclass
class Job:
    """One run: what is read, and what is found."""

    table: Table
    resamples: int
    seed: int
    scale: Scale | None
    raters: Sequence[str]
    groups: Sequence[str] | None = None
    group_column: str | None = None
    systems: Sequence[str | None] | None = None
    system_column: str | None = None
    parts: Sequence[int] | None = None
    part_columns: Sequence[str] = ()
    results: list[dict[str, Any]] = field(default_factory=list)
    left_out: list[dict[str, Any]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    _problem: Exception | None = None

    def find_groups(self, asked: str | None, taken: set[str]) -> None:
        """The document of every row: from the column asked for, else a usual one, else the source."""
        column = asked or self._usual("group", taken) or self._compared(taken)
        if column is not None:
            names = self.table.names(column)
            self.check_named(names, column, "no document is named; fill it in, or name another column with --group")
        else:
            column = self._usual("source", taken)
            if column is None:
                self.notes.append(
                    "no column names the document (--group), so every row counts as a document of its own"
                )
                return
            names = self.table.digests(column)
            self.notes.extend(of_lacking_sources(self.table.rows, names, column))
            # Rows without a source have nothing in common.
            names = tuple(name or f"row {row}" for name, row in zip(names, self.table.rows, strict=True))
        self.groups, self.group_column = [str(name) for name in names], column
        if asked is None:
            self.notes.append(f"rows with the same {column!r} count as one document; --group COLUMN for another")
        if len(set(self.groups)) == 1:
            self.notes.append("all rows belong to one document, so there are no intervals and no p-values")

    def find_systems(self, asked: str | None, taken: set[str]) -> None:
        """The system of every row, where there is a column for it."""
        column = asked or self._usual("system", taken)
        if column is not None:
            self.systems, self.system_column = self.table.names(column), column

    def find_parts(self, asked: Sequence[str], taken: set[str]) -> None:
        """The split that every row is of: from the columns asked for, else those that `compare` writes."""
        columns = asked or (SPLIT if all(name in self.table and name not in taken for name in SPLIT) else ())
        if not columns:
            return
        names = [self.table.names(column) for column in columns]
        for column, of in zip(columns, names, strict=True):
            if column in asked:
                self.check_named(of, column, "no split is named; fill it in, or leave out --part")
        splits = list(zip(*names, strict=True))
        code = {split: number for number, split in enumerate(dict.fromkeys(splits))}
        if len(code) == 1:
            return
        self.parts, self.part_columns = [code[split] for split in splits], columns
        self.notes.append(of_splits(self.parts, columns, asked=bool(asked)))

    def check_named(self, names: Sequence[str | None], column: str | None, message: str) -> None:
        """Refuse a column that names nothing in some row."""
        if None in names:
            raise DataError(message, path=self.table.path, row=self.table.rows[names.index(None)], column=column)

    def _compared(self, taken: set[str]) -> str | None:
        """The column in which `compare` writes the name of the document, where it wrote the file; else None."""
        wrote = all(name in self.table and name not in taken for name in (*SPLIT, DOCUMENT))
        return DOCUMENT if wrote and self._names(DOCUMENT, "group") else None

    def _usual(self, kind: str, taken: set[str]) -> str | None:
        """The column of a usual name that can be used, an exact one before one that only looks alike."""
        from active_critic.data import COLUMNS
        from active_critic.data.fields import folded

        columns = sorted(set(self.table.columns) - taken, key=lambda column: (column != folded(column), column))
        found = [column for name in COLUMNS[kind] for column in columns if folded(column) == name]
        return next((column for column in found if self._names(column, kind)), None)

    def _names(self, column: str, kind: str) -> bool:
        """Whether a column that nobody asked for can be used: it holds names."""
        try:
            names = self.table.names(column)
        except DataError:
            self.notes.append(f"the column {column!r} holds lists or objects and is not used")
            return False
        if kind == "system" or any(names):  # that no system is named matters at system level alone, and is said there
            return True
        self.notes.append(f"the column {column!r} is empty and is not used")
        return False

    def measure(
        self, human: str | None, columns: Sequence[str], level: Level, aspect: str | None, *, only: bool
    ) -> None:
        """One human column at one level; what cannot be measured is an error if it is all that was asked for."""
        try:
            job = self if aspect is None else self._scored(human)
            job._measure(human, columns, level, aspect)
        except DataError as problem:
            if only:
                raise
            self._problem = self._problem or problem
            self.left_out.append({"human": human, "level": level, "reason": problem.by_name})

    def finish(self) -> None:
        """Correct the p-values for their number.

        Raises:
            DataError: Nothing could be measured.
        """
        from active_critic.stats import holm
        from active_critic.stats.resampling import cautions

        if self._problem is not None and not self.results:
            raise self._problem
        compared = [c["difference"] for r in self.results for c in r["columns"] if c["difference"] is not None]
        for difference, p in zip(compared, holm([d["p"] for d in compared]), strict=True):
            difference["p_holm"] = p
        documents = len(set(self.groups)) if self.groups is not None else len(self.table)
        if documents > 1:
            ps = sum(difference["p"] is not None for difference in compared)
            self.notes.extend(cautions(documents, ps, self.resamples))
        self.notes.extend(of_few_documents(self.results, documents, self.resamples))

    def _scored(self, human: str | None) -> Job:
        """The same without the rows in which people said nothing in a column; a note says which."""
        if human is None or human not in self.table:
            return self
        table = copy(self.table)
        left = {*table.leave_out_blank(human)}
        kept = [place for place, row in enumerate(self.table.rows) if row not in left]

        def those(values: Sequence[_Value] | None) -> list[_Value] | None:
            return None if values is None else [values[place] for place in kept]

        self.notes.extend(note for note in of_unscored(sorted(left), [human]) if note not in self.notes)
        return replace(
            self, table=table, groups=those(self.groups), systems=those(self.systems), parts=those(self.parts)
        )

    def _measure(self, human: str | None, columns: Sequence[str], level: Level, aspect: str | None) -> None:
        people = self._people(human, columns)
        scores = people.scores
        self._check(people, level)
        scale = self._scale(people)
        predictions = [self.table.predictions(name) for name in columns]
        found = [self._column(prediction, scores, level, scale) for prediction in predictions]
        if predictions:
            self._check_first(predictions[0], found[0], level)
        for prediction, entry in zip(predictions[1:], found[1:], strict=True):
            if entry["figures"]["mean"] is None:
                self.notes.append(f"{prediction.name!r}: {self._why_undefined(prediction, level)}")
            entry["difference"] = self._difference(prediction, predictions[0], scores, level)
        known = None if scale is None else str(scale)
        result: dict[str, Any] = {"human": human, "level": level, "scale": known, "columns": found, "raters": None}
        if found:
            self.results.append(result)
        if self.raters:
            result["raters"] = self._raters(human, aspect, level)
            if not found:
                self.results.append(result)

    def _people(self, human: str | None, judged: Sequence[str]) -> PeoplesScores:
        from active_critic.cli._agreement_raters import PeoplesScores, rater_columns

        if human is not None:
            return PeoplesScores.of_column(self.table, human)
        raters = rater_columns(self.table, self.raters, None, None)
        people = PeoplesScores.of_raters(self.table, raters, judged)
        if judged and (note := people.note(raters)) not in self.notes:
            self.notes.append(note)
        return people

    def _raters(self, human: str | None, aspect: str | None, level: Level) -> dict[str, Any]:
        from active_critic.cli._agreement_raters import measure_raters, rater_columns

        columns = rater_columns(self.table, self.raters, aspect, human)
        found = measure_raters(
            self.table, columns, self.groups, self.systems, level=level, resamples=self.resamples, seed=self.seed
        )
        if found["ceiling"]["mean"] is None:
            what = {"dataset": "over all rows", "document": "within any document", "system": "over the systems"}[level]
            self.notes.append(f"no human ceiling: {what}, no rater varies where the others do; try another --level")
        return found

    def _check(self, people: PeoplesScores, level: Level) -> None:
        def refuse(message: str, column: str | None = None) -> NoReturn:
            raise DataError(message, path=self.table.path, column=column)

        scores = people.scores
        if len(self.table) < 2:
            refuse("there is only one row, and agreement needs at least two; add rows with human scores")
        if len(set(scores)) == 1:
            remedy = "name a column that varies with --human, or add rows"
            message = f"all {len(scores)} human scores are {scores[0]:g}: nothing can agree with that; {remedy}"
            refuse(message, people.column)
        if level == "document":
            if self.groups is None:
                refuse("agreement within documents needs the document of each row; name its column with --group")
            if len(set(self.groups)) < 2:
                message = "there is only one document, and document level needs at least two"
                refuse(f"{message}; use --level dataset, or name another column with --group", self.group_column)
        if level == "system":
            if self.systems is None:
                refuse("agreement over systems needs the system of each row; name its column with --system")
            message = "no system is named, and system level needs it in every row; --system names another column"
            self.check_named(self.systems, self.system_column, message)
            if len(set(self.systems)) < 2:
                message = f"the only system is {str(self.systems[0])[:40]!r}, and system level needs at least two"
                refuse(f"{message}; use --level dataset or document", self.system_column)
            elif len(set(self.systems)) == len(self.systems):
                message = f"each of the {len(self.systems):,} rows has a system of its own, so nothing is averaged"
                refuse(f"{message}; use --level dataset, or name another column with --system", self.system_column)

    def _check_first(self, prediction: Predictions, entry: dict[str, Any], level: Level) -> None:
        if entry["figures"]["mean"] is None:
            raise DataError(
                self._why_undefined(prediction, level),
                path=self.table.path,
                column=prediction.name,
            )
        units = entry["figures"]["units"]
        if units < FEW:
            what = {"dataset": "examples", "document": "documents", "system": "systems"}[level]
            extreme = "; with only two, a correlation is -1 or 1" if units == 2 and level != "document" else ""
            self.notes.append(f"only {units} {what} at {level} level, which says little{extreme}")

    def _why_undefined(self, prediction: Predictions, level: Level) -> str:
        within = "" if self.parts is None else "within no split is it defined: "
        return within + why_undefined(prediction, level)

    def _scale(self, people: PeoplesScores) -> Scale | None:
        from active_critic.data.scales import usual_scale

        if self.scale is not None:
            for row, score, column in people.single:
                if score not in self.scale:
                    remedy = f"correct it or --scale, or the columns if they are swapped ({WHOSE})"
                    message = f"{score:g} lies outside the human scale {self.scale}; {remedy}"
                    raise DataError(message, path=self.table.path, row=row, column=column)
            return self.scale
        if not people.single:
            return None
        scale, slip = usual_scale(people.single, None if people.form is None else people.form.end)
        if slip and scale is None:
            message = f"{slip}: correct it, leave it out, or pass --scale LOW..HIGH that it lies in"
            raise DataError(message, path=self.table.path, column=people.column)
        of = "the raters" if people.column is None else repr(people.column)
        if slip and (note := f"{of}: {slip}: correct it if it is a slip") not in self.notes:
            self.notes.append(note)
        return scale

    def _column(
        self, prediction: Predictions, scores: Sequence[float], level: Level, scale: Scale | None
    ) -> dict[str, Any]:
        from active_critic import stats
        from active_critic.stats import accuracy

        figures = stats.agreement(
            prediction.values,
            scores,
            self.groups,
            **self._how(level),
        )
        given = [value for value in prediction.values if value is not None]
        shared = scale is not None and bool(given) and all(value in scale for value in given)
        # The documents of the rows that count: others cannot have been constant.
        documents = figures.groups - figures.units if level == "document" and self.parts is None else None
        return {
            "column": prediction.name,
            "figures": figures.to_dict(),
            "missing": prediction.missing,
            "not_numeric": prediction.not_numeric,
            "first_not_numeric": prediction.odd,
            "documents_skipped": documents,
            "mae": accuracy.mae(prediction.values, scores) if shared else None,
            "rmse": accuracy.rmse(prediction.values, scores) if shared else None,
            "pairwise_accuracy": self._pairwise(prediction.values, scores, level).to_dict(),
            "difference": None,
        }

    def _how(self, level: Level) -> dict[str, Any]:
        """How figures of columns and of their differences are taken alike."""
        sampled = {"resamples": self.resamples, "seed": self.seed}
        return {"level": level, "systems": self.systems, "parts": self.parts, **sampled}

    def _pairwise(self, values: Sequence[float | None], scores: Sequence[float], level: Level) -> Any:
        from active_critic.stats.accuracy import pairwise_accuracy

        within = None if self.parts is None else [str(part) for part in self.parts]
        if level == "document" and self.groups is not None:
            groups = self.groups if within is None else list(map(" ".join, zip(within, self.groups, strict=True)))
            return pairwise_accuracy(values, scores, groups, seed=self.seed)
        if level != "system" or self.systems is None:
            return pairwise_accuracy(values, scores, within, seed=self.seed)
        members: dict[tuple[str, str], list[tuple[float, float]]] = {}
        for part, name, value, score in zip(within or [""] * len(values), self.systems, values, scores, strict=True):
            if value is not None:
                members.setdefault((part, str(name)), []).append((value, score))
        means = [[_mean([pair[side] for pair in pairs]) for pairs in members.values()] for side in (0, 1)]
        parts = None if within is None else [part for part, _ in members]
        return pairwise_accuracy(means[0], means[1], parts, seed=self.seed)

    def _difference(
        self, prediction: Predictions, first: Predictions, scores: Sequence[float], level: Level
    ) -> dict[str, Any]:
        from active_critic.stats import paired_difference

        found = paired_difference(
            prediction.values,
            first.values,
            scores,
            self.groups,
            **self._how(level),
        )
        return {"to": first.name, **found.to_dict(), "p_holm": None}


def _mean(values: Sequence[float]) -> float:
    import math

    return math.fsum(values) / len(values)
