"""Where verdicts go as they come: a file, standard output, or what is shown at the end."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from active_critic.cli import _common as common

if TYPE_CHECKING:
    from active_critic.data import BadRow, Items
    from active_critic.protocols import Protocol
    from active_critic.records import Example, Verdict
    from active_critic.report import Judged

TABLE_ROWS = 200
"""Verdicts shown in the terminal at most; a file has no such limit."""


class Sink(ABC):
    """Takes verdicts one at a time. A context manager."""

    needs_header = False

    def __enter__(self) -> Sink:
        return self

    def __exit__(self, kind: Any = None, error: Any = None, trace: Any = None) -> None:
        return None

    def as_read(self, items: Items) -> None:
        """Be told how the items are written, before the first verdict."""
        del items

    def by_criterion(self, verdict: Verdict) -> dict[str, Any]:
        """Columns besides those of the verdict: what it says of single criteria, where there is no place for lists."""
        del verdict
        return {}

    @abstractmethod
    def put(self, entry: Example | BadRow, verdict: Verdict, record: dict[str, Any]) -> None:
        """Take one verdict, with the record that it makes together with its item."""


def sink_for(out: Path | None, protocol: Protocol, *, explain: bool) -> Sink:
    """What takes the verdicts of a program: a file, else a table where that is seen, else lines."""
    if out is not None:
        return _File(out, protocol.rated, explain=explain)
    return _Table() if sys.stdout.isatty() else _Lines()


class _File(Sink):
    """A file.

    Args:
        path: Where it shall be.
        rated: Criteria that verdicts have a score of: in CSV and TSV each has a column of its own.
        explain: Whether each of them has a column for its explanation, too.
    """

    def __init__(self, path: Path, rated: Sequence[str], *, explain: bool) -> None:
        from active_critic.data import RecordWriter
        from active_critic.records import Verdict

        self._rated, self._explain = rated, explain
        # The item's own columns are the user's data. Those of a spreadsheet stay as they are, formulas or not; of
        # others, an apostrophe keeps texts from becoming formulas, which is no part of them when they are read again.
        own = set(Verdict(unscored="").to_dict())
        self._writer = RecordWriter(path, guarded=own)
        self.needs_header = self._writer.kind in {".csv", ".tsv"}
        own.update(self.by_criterion(Verdict(unscored="")))

    def as_read(self, items: Items) -> None:
        self._writer.decimal_comma, self._writer.bom = items.decimal_comma, items.bom
        self._writer.heads = not items.delimited

    def __enter__(self) -> Sink:
        self._writer.__enter__()
        return self

    def __exit__(self, kind: Any = None, error: Any = None, trace: Any = None) -> None:
        self._writer.__exit__(kind, error, trace)

    def by_criterion(self, verdict: Verdict) -> dict[str, Any]:
        from active_critic.records import CRITERION_COLUMNS

        if not self.needs_header:
            return {}
        found = {criterion.name: criterion for criterion in verdict.criteria}
        columns: dict[str, Any] = {}
        score, words = CRITERION_COLUMNS
        for name in self._rated:
            columns[f"{score}{name}"] = found[name].score if name in found else None
            if self._explain:
                columns[f"{words}{name}"] = found[name].explanation if name in found else None
        return columns

    def put(self, entry: Example | BadRow, verdict: Verdict, record: dict[str, Any]) -> None:
        del entry, verdict
        self._writer.write(record)


class _Lines(Sink):
    """JSON Lines on standard output, each out as soon as it is known."""

    def put(self, entry: Example | BadRow, verdict: Verdict, record: dict[str, Any]) -> None:
        del entry, verdict
        common.print_json(record)


class Kept(Sink):
    """Keeps verdicts to be shown at the end.

    Args:
        most: So many at most; the others are counted.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self.rows: list[Judged] = []
        self.more = 0

    def put(self, entry: Example | BadRow, verdict: Verdict, record: dict[str, Any]) -> None:
        from active_critic.data import BadRow
        from active_critic.report import Judged

        del record
        if len(self.rows) == self.most:
            self.more += 1
        elif isinstance(entry, BadRow):
            self.rows.append(Judged(f"row {entry.row}", verdict))
        else:
            label, row = (entry.id, entry.row) if entry.id else (f"row {entry.row}", None)
            self.rows.append(Judged(label, verdict, entry.source, entry.response, entry.score, row))


class _Table(Kept):
    """A table on the terminal, at the end."""

    def __init__(self) -> None:
        super().__init__(TABLE_ROWS)

    def __exit__(self, kind: Any = None, error: Any = None, trace: Any = None) -> None:
        from active_critic.report import verdict_table

        if self.rows:
            shown = [replace(row, source="") for row in self.rows]
            common.console(stderr=False).print(verdict_table(shown))
        if self.more:
            common.say(f"{self.more:,} more verdicts are not shown; write them to a file with --out")
