"""What stands in a cell of the user's data: a text, a score, scores of aspects."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterable, Mapping
from datetime import date
from decimal import Decimal
from typing import Any
from uuid import UUID

from active_critic.data.messages import are_messages, conversation
from active_critic.data.rows import NUMBER, Unreadable
from active_critic.data.score_forms import Form, form_of, share_in
from active_critic.data.ways import cells_at, decoded, inside
from active_critic.errors import DataError

NO_NAME = frozenset({"nan", "n/a", "<na>", "null", "none"})
"""What programs write where there is no name."""
MISSING = frozenset({"", "nan", "na", "n/a", "n.a.", "n. a.", "#n/a", "null", "none", "-", "–", "—"})
"""What stands where there is no number."""
_YES_OR_NO = frozenset({"true", "false", "yes", "no", "y", "n", "pass", "passed", "fail", "failed"})
_THOUSANDS = re.compile(r"[+-]?[1-9][0-9]{0,2}(?:[.,][0-9]{3})+")
_WHOLE = re.compile(r"[+-]?[0-9]+")
_LARGE = 100
"""Beside a whole number of this size or more, ``1.266`` may mean 1266; the mean of three ratings, 3.667, stands beside
smaller ones."""
_DECIMAL_COMMA = re.compile(r"\s*([+-]?\d+),(\d+)\s*", re.ASCII)
_NUMBER_AND_MORE = re.compile(r"\s*([+-]?[0-9]+(?:[.,][0-9]+)?)(?:\s*[%★⭐/(:]|\s+[^\W\d_]).*", re.DOTALL)
"""``80%``, ``4 stars``, ``4 (good)``."""


def plain_value(value: Any) -> Any:
    """NumPy's values as Python's own."""
    return value.tolist() if hasattr(value, "tolist") else value


def is_na(value: Any) -> bool:
    """Whether this is what pandas writes where there is nothing: ``NA``, which no test can be made on, or ``NaT``."""
    return type(value).__name__ in {"NAType", "NaTType"}


def there(value: Any) -> Any:
    """A value given in Python, NumPy's as Python's own and pandas' word for nothing as None."""
    return None if is_na(value) else plain_value(value)


def plain_cell(cell: Any) -> Any:
    """What stands in a table or an object, as ``there`` says it, at any depth: Parquet's lists come as NumPy's."""
    cell = there(cell)
    if isinstance(cell, dict):
        return {name: plain_cell(part) for name, part in cell.items()}
    return list(map(plain_cell, cell)) if isinstance(cell, list) else cell


def is_absent(value: Any) -> bool:
    """Whether there is nothing: None, NaN, or what pandas writes for them."""
    return value is None or is_na(value) or value != value


def _check_readable(cell: Any) -> None:
    if isinstance(cell, Unreadable):
        raise ValueError(cell.reason)


def text_in(cell: Any) -> str | None:
    """A cell as text, None when blank.

    Raises:
        ValueError: It is no text, contains what is no character, or could not be read.
    """
    _check_readable(cell)
    said = conversation(cell)
    if said is None and isinstance(cell, str) and are_messages(held := decoded(cell)):
        cell = held
    cell = cell if said is None else said
    if isinstance(cell, Decimal | date | UUID):  # names as databases have them; a datetime is a date, too
        cell = str(cell) if cell == cell else None
    if isinstance(cell, bool) or not isinstance(cell, str | int | float | None):
        raise ValueError(f"expected a text, not {type(cell).__name__} ({str(cell)[:40]!r}){_remedy(cell)}")
    if isinstance(cell, float):
        cell = int(cell) if cell.is_integer() else cell if cell == cell else None
    text = "" if cell is None else str(cell)
    if "\0" in text:
        raise ValueError("contains a NUL character; the data may be damaged")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError("contains half of a surrogate pair, which is no character; the data may be damaged") from None
    return text if text.strip() else None


def _remedy(cell: Any) -> str:
    """What to do about a cell that is no text, behind the words that say so."""
    if not isinstance(cell, Mapping | list):
        return "; write it as text"
    names = [f"COLUMN.{name}"[:40] for name in itertools.islice(cell, 3)] if isinstance(cell, Mapping) else []
    part = " or ".join(names) or ("COLUMN.NAME" if isinstance(cell, Mapping) else "COLUMN.0 is its first entry")
    return f"; name a part of it ({part}); whole, only messages with role and content (or from and value) can be read"


def comment_in(cell: Any) -> str | None:
    """A cell as what somebody said of a text, None when blank or when it says that there is nothing (n/a, a dash).

    A list of texts is one comment, joined as those of several raters are.

    Raises:
        ValueError: As for ``text_in``.
    """
    said = map(text_in, cell if holds_texts(cell) else [cell])
    return joined_comments(text for text in said if not is_missing(text))


def joined_comments(comments: Iterable[str | None]) -> str | None:
    """Several comments on one text as one; None without any."""
    return " / ".join(dict.fromkeys(comment for comment in comments if comment)) or None


def name_in(cell: Any) -> str | None:
    """A cell as a name, None when blank or when it says that there is none (NaN, null).

    Raises:
        ValueError: As for ``text_in``.
    """
    return tidy_name(text_in(cell))


def tidy_name(text: str | None) -> str | None:
    """A name by its words: blanks around it, which nobody sees, make no other document or system of it."""
    name = "" if text is None else " ".join(text.split())
    return None if not name or name.casefold() in NO_NAME else name


def number_in(cell: Any, *, decimal_comma: bool = False, form: Form | None = None) -> float | None:
    """A cell as a score, None when missing.

    Args:
        cell: What stands there.
        decimal_comma: Whether ``3,5`` is a number, too.
        form: How all scores of the column are written, where that is not as plain numbers: then ``4/5`` is 4.

    Raises:
        ValueError: It is not a finite number, or could not be read.
    """
    _check_readable(cell)
    if is_missing(cell):
        return None
    if inside(cell) is not None:
        remedy = "name a part of it (COLUMN.NAME), or COLUMN.* for the mean of all"
        raise ValueError(f"the score {str(cell)[:40]!r} is not a number; {remedy}")
    given = cell
    cell = cell if form is None else form.bare(cell)
    cell = cell.strip() if isinstance(cell, str) else cell  # also of the blanks that nobody sees
    if decimal_comma and isinstance(cell, str):
        cell = cell.replace(",", ".")
    if isinstance(cell, bool) or not (isinstance(cell, int | float) or NUMBER.fullmatch(str(cell))):
        if str(cell).strip().casefold().lstrip("+-") not in {"nan", "inf", "infinity"}:
            raise ValueError(f"the score {str(given)[:40]!r} is not a number; {as_number(str(given))}")
        cell = math.nan
    try:
        number = float(cell)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise ValueError("the score is not a finite number; correct it or drop the row")
    return number


def check_thousands(column: str, cells: Iterable[tuple[int, Any]], path: str | None) -> None:
    """Refuse a column that may have separators of thousands, which would be read as decimals: 987, then 1.266.

    Args:
        column: Its name.
        cells: Row and cell.
        path: The file.

    Raises:
        DataError: Naming the first such cell.
    """
    suspect: tuple[int, str] | None = None
    large = ""
    for row, cell in cells:
        said = cell.strip() if isinstance(cell, str) else ""
        if _WHOLE.fullmatch(said):
            large = large or (said if abs(float(said)) >= _LARGE else "")
        elif _THOUSANDS.fullmatch(said):
            suspect = suspect or (row, said)
        elif NUMBER.fullmatch(said.replace(",", ".")):
            return  # a decimal that can be nothing else
    if suspect is not None and large:
        row, said = suspect
        whole = re.sub("[.,]", "", said)
        remedy = f"write {whole} if it separates thousands, else all numbers of the column with decimals ({large}.0)"
        reason = f"{said!r} stands among whole numbers such as {large}: it could be {whole} as well; {remedy}"
        raise DataError(reason, path=path, row=row, column=column)


def as_number(cell: str) -> str:
    """What to do about a score that is no number."""
    cell = cell.strip()  # also of blanks that nobody sees
    if cell.casefold() in _YES_OR_NO:
        return "write 1 for yes (true, pass) and 0 for no (false, fail), or the same two words in every row"
    if cell.startswith("="):
        return "write what the formula comes to: in a spreadsheet, copy the cells and paste their values alone"
    if decimal := _DECIMAL_COMMA.fullmatch(cell):
        return f"write it with a point, {decimal[1]}.{decimal[2]}"
    if share_in(cell) is not None:
        return "write the numbers of the column alone, on one scale, or all of them out of the same number"
    if number := _NUMBER_AND_MORE.fullmatch(cell):
        return f"write the number alone, {number[1].replace(',', '.')}"
    if not is_missing(cell) and any(map(str.isalpha, cell)) and not any(map(str.isdigit, cell)):
        return "write a number in place of every such name (1 for the lowest, 2 for the next, ...)"
    return "correct it or drop the row"


def aspects_in(record: Mapping[str, Any], *, decimal_comma: bool = False) -> dict[str, float]:
    """Further human scores: an object in the column ``scores``, and columns ``aspect_*``; what is no number is none."""
    scores = decoded(record.get("scores"))
    found = dict(scores) if isinstance(scores, Mapping) else {}
    found |= {name.removeprefix("aspect_"): cell for name, cell in record.items() if name.startswith("aspect_")}
    numbers: dict[str, float] = {}
    for name, cell in found.items():
        try:
            number = number_in(cell, decimal_comma=decimal_comma)
        except ValueError:
            continue
        if number is not None:
            numbers[str(name)] = number
    return numbers


def given_aspects(aspects: Any) -> dict[str, float]:
    """The further human scores of an ``Example`` made by hand, without those that are missing.

    Raises:
        ValueError: They are no mapping, or one of them is not a finite number.
    """
    if aspects is not None and not isinstance(aspects, Mapping):
        raise ValueError(f"aspects are scores by name, such as {{'fluency': 3}}, not {str(aspects)[:40]!r}")
    numbers: dict[str, float] = {}
    for name, value in (aspects or {}).items():
        try:
            number = number_in(there(value))
        except ValueError as problem:
            raise ValueError(f"the aspect {str(name)[:40]!r}: {problem}") from None
        if number is not None:
            numbers[str(name)] = number
    return numbers


def is_missing(cell: Any) -> bool:
    """Whether a cell says that there is nothing."""
    return cell is None or str(cell).strip().casefold() in MISSING


def rated(record: Mapping[str, Any], column: str) -> dict[str, Any]:
    """What a score is made of, by name: the cell of a column, or those of several that hold anything."""
    found = cells_at(record, column)
    return found if column in found else {name: cell for name, cell in found.items() if not is_missing(cell)}


def joined(texts: Mapping[str, str]) -> str | None:
    """Texts one after the other, each behind the name of its column; None without any."""
    return "\n\n".join(f"{column}: {text}" for column, text in texts.items()) or None


def source_in(cell: Any) -> str | None:
    """A cell as a source, None when blank: a text, or a list of texts, such as retrieved passages, as paragraphs.

    A list without any is blank, too: nothing was retrieved.

    Raises:
        ValueError: As for ``text_in``.
    """
    return text_in("\n\n".join(text for text in cell if text.strip()) if holds_texts(cell) else cell)


def holds_texts(cell: Any) -> bool:
    """Whether this is a list of texts, or one without anything."""
    return isinstance(cell, list | tuple) and all(isinstance(text, str) for text in cell)


def form_of_scores(records: Iterable[Mapping[str, Any]], column: str) -> Form | None:
    """How all scores are written, where that is not as plain numbers (``4/5``, pass and fail); else None.

    Args:
        records: The rows.
        column: Where scores are, or a name for several columns.
    """
    cells = (cell for record in records for cell in rated(record, column).values())
    return form_of(cell for cell in cells if not is_missing(cell))
