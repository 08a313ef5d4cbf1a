"""How all scores of a column are written, where that is not as plain numbers: ``4/5``, ``80%``, pass and fail."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

_SHARE = re.compile(r"\s*([+-]?[0-9]+(?:[.,][0-9]+)?)\s*(?:/\s*([0-9]+(?:[.,][0-9]+)?)|%)\s*", re.ASCII)
_PAIRS = (
    *(("true", "false"), ("yes", "no"), ("y", "n"), ("pass", "fail"), ("passed", "failed"), ("ok", "not ok")),
    *(("good", "bad"), ("correct", "incorrect"), ("right", "wrong"), ("positive", "negative")),
    *(("accept", "reject"), ("accepted", "rejected"), ("approve", "reject"), ("approved", "rejected")),
    *(("acceptable", "unacceptable"), ("helpful", "unhelpful"), ("helpful", "not helpful")),
    *(("like", "dislike"), ("liked", "disliked"), ("up", "down"), ("thumbs up", "thumbs down")),
    *(("upvote", "downvote"), ("👍", "👎"), ("✅", "❌"), ("✓", "✗"), ("✔", "✘"), ("✔", "✖")),
)
"""Words for the better and the worse of two; none is the better in one pair and the worse in another."""
_UNSEEN = re.compile("[\ufe0e\ufe0f\U0001f3fb-\U0001f3ff]")
"""How a sign is drawn: as text, as a picture, in which colour of skin."""


@dataclass(frozen=True, slots=True)
class Form:
    """How all scores of a column are written.

    Attributes:
        end: The highest score that there can be.
        pair: The words for 1 and for 0, the better first; None where each score is a number that says its end.
        percent: Whether these say it by a percent sign.
    """

    end: float
    pair: tuple[str, str] | None = None
    percent: bool = False

    def bare(self, cell: Any) -> Any:
        """The number that a cell of this form stands for, as it is written there; any other cell as it is."""
        if self.pair is None:
            share = share_in(cell)
            return share[0] if share is not None and share[1] == self.end else cell
        word = _word(cell)
        return 1 - self.pair.index(word) if word in self.pair else cell

    def written(self, number: float, *, decimal_comma: bool) -> Any:
        """A number in this form; a plain one where it is one of words, which have none for what is between them."""
        if self.pair is not None:
            return number
        said = f"{number!r}%" if self.percent else f"{number!r}/{self.end:g}"
        return said.replace(".", ",") if decimal_comma else said

    @property
    def name(self) -> str:
        """What scores of this form are, behind "scores" or "ratings"."""
        return f"out of {self.end:g}" if self.pair is None else f"{self.pair[0]!r} or {self.pair[1]!r}"

    @property
    def note(self) -> str:
        """What the user should know where they are read."""
        if self.pair is not None:
            better, worse = self.pair
            said = f"scores {better!r} and {worse!r} are read as 1 and 0"
            return f"{said}; write numbers if {worse!r} is the better, for the highest score is the best"
        if self.percent:
            return "scores such as '80%' are read as the number before the sign, on a scale that ends at 100"
        end = f"{self.end:g}"
        return f"scores such as '{end}/{end}' are read as the number before the stroke, on a scale that ends at {end}"


_OF_WORDS = {word: tuple(Form(1.0, pair) for pair in _PAIRS if word in pair) for pair in _PAIRS for word in pair}


def share_in(cell: Any) -> tuple[str, float] | None:
    """The number in a text such as ``4/5`` or ``80%``, as it stands there, and what it is out of; else None."""
    found = _SHARE.fullmatch(cell) if isinstance(cell, str) else None
    return None if found is None else (found[1], 100.0 if found[2] is None else float(found[2].replace(",", ".")))


def form_of(cells: Iterable[Any]) -> Form | None:
    """How every score is written, where all are written alike, and not as plain numbers; else None.

    Args:
        cells: Those that hold anything.
    """
    forms: dict[Form, None] | None = None
    for cell in cells:
        there = _forms(cell)
        forms = dict.fromkeys(there if forms is None else (form for form in forms if form in there))
        if not forms:
            return None
    return next(iter(forms)) if forms else None


def _forms(cell: Any) -> tuple[Form, ...]:
    """The forms that a cell may be of; none where it is a plain number, or no score at all."""
    if (share := share_in(cell)) is not None:
        return (Form(share[1], percent=cell.rstrip().endswith("%")),)
    return _OF_WORDS.get(_word(cell), ())


def _word(cell: Any) -> str:
    """A cell as a word of a pair is written."""
    if not isinstance(cell, str | bool):
        return ""
    return " ".join(_UNSEEN.sub("", str(cell)).casefold().replace("_", " ").replace("-", " ").split())
