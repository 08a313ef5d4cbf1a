"""One row of a file: the record that stands there, or why it cannot be used."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from active_critic.errors import DataError

NUMBER = re.compile(r"\s*+[+-]?(\d++\.?\d*+|\.\d++)([eE][+-]?\d++)?\s*+", re.ASCII)
_SHOWN = 5
"""Repeated columns that an error names at most."""

Row = tuple[int, dict[str, Any]]
"""A position (as in ``BadRow``) and the record there."""


@dataclass(frozen=True, slots=True)
class BadRow:
    """A row that cannot be used, kept so that it can be reported in its place.

    Attributes:
        row: 1-based position: the line for JSON Lines, the record (header not counted) otherwise.
        reason: What is wrong and what to do about it.
        record: Whatever could be read of it.
        column: The column concerned, or None.
    """

    row: int
    reason: str
    record: Mapping[str, Any] = field(default_factory=dict)
    column: str | None = None

    def error(self, path: str | None) -> DataError:
        """The same complaint as an error, for when one bad row must stop the work."""
        return DataError(self.reason, path=path, row=self.row, column=self.column)


@dataclass(frozen=True, slots=True)
class Unreadable:
    """Stands in a record for a value of the file that cannot be read; where nobody needs it, the row can be used.

    Attributes:
        reason: What is wrong and what to do about it.
    """

    reason: str

    def __str__(self) -> str:
        return self.reason


def check_columns(columns: Iterable[str], path: str | None) -> None:
    """Refuse a header in which a name occurs twice.

    Raises:
        DataError: Naming the columns that are repeated.
    """
    repeated = sorted(name for name, times in Counter(columns).items() if times > 1)
    if repeated:
        listed = ", ".join(repr(name[:40]) for name in repeated[:_SHOWN]) + " and more" * (len(repeated) > _SHOWN)
        raise DataError(f"the header names {listed} more than once; give every column its own name", path=path)


def undecodable(text: str) -> str | None:
    """What is wrong with a text that holds a byte that is not UTF-8, or None."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        byte = ord(text[error.start]) - 0xDC00
        meant = bytes([byte]).decode("cp1252", "ignore") if 0 <= byte < 256 else ""
        where = f"character {error.start + 1}{f', {meant!r} in Windows-1252' if meant else ''}"
        return f"byte 0x{byte:02X} ({where}) is not UTF-8; {as_utf8('WINDOWS-1252' if meant else 'ENCODING')}"
    return None


def as_utf8(encoding: str) -> str:
    """How to make UTF-8 of a file in another encoding."""
    return f"save the file as UTF-8 (in Excel: CSV UTF-8; in a shell: iconv -f {encoding} -t UTF-8 FILE > NEW)"
