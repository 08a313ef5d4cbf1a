"""The scale that people scored on: as the data names it, else as the scores suggest."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from active_critic.data.notes import ScaleGuess
from active_critic.errors import DataError
from active_critic.records import Example, Scale

USUAL_SCALES = tuple(
    Scale(low=low, high=high)
    for low, high in sorted(
        [(0, 1), (1, 3), (1, 4), (1, 5), (1, 6), (1, 7), (0, 5), (1, 10), (0, 10), (0, 100), (-1, 1)],
        key=lambda bounds: (bounds[1] - bounds[0], -bounds[0]),
    )
)
"""Scales that are inferred, narrowest first: the first that contains every score is taken."""

Rated = tuple[int, float, str]
"""The row of a score, the score, and its column."""

_SLIPS = 2
"""Scores that may be slips at most; and no more than every tenth is one, or one of fewer than ten."""
_TWICE, _FIVE_TIMES = 2, 5
"""How much wider a slip makes a scale at least; of fewer than ten scores a single one may well be higher than all."""
_FEW = 5
"""Fewer scores than this may well be close together."""


def own_scale(
    examples: Sequence[Example], fields: Mapping[str, str], *, scored: bool, path: str | None
) -> tuple[Scale | None, list[str]]:
    """The scale that a column ``scale`` names, or None, and what to tell the user about it.

    Args:
        examples: Of one file.
        fields: Column by field; a column ``scale`` that is one of them names no scale.
        scored: Whether rows of different scales are an error; otherwise they have none.
        path: The file, for messages.

    Raises:
        DataError: Rows have different scales.
    """
    if "scale" in fields.values():
        return None, []
    said = Counter(json.dumps(e.record.get("scale"), default=str) for e in examples)
    stated = {text: _stated_scale(json.loads(text)) for text in said}
    scales = set(stated.values()) - {None}
    if len(scales) > 1:
        if not scored:
            return None, []
        both = " and ".join(sorted(map(str, scales))[:2])
        raise DataError(f"rows have different scales ({both}); fit them apart", path=path, column="scale")
    odd = [text for text, scale in stated.items() if scale is None and text not in ("null", '""')]
    notes = [f"the column 'scale' holds {odd[0][:40]}, which is not LOW..HIGH, and is not read"] if odd else []
    if not scales:
        return None, notes
    scale = scales.pop()
    without = sum(count for text, count in said.items() if stated[text] is None)
    besides = f"; rows that name none: {without}" if without else ""
    return scale, [f"scale {scale} taken from the file{besides}", *notes]


def _stated_scale(cell: Any) -> Scale | None:
    try:
        if isinstance(cell, str) and cell.lstrip().startswith("["):
            cell = json.loads(cell)
        if isinstance(cell, str):
            return Scale.parse(cell)
        low, high = cell
        return Scale(low=low, high=high)
    except (DataError, TypeError, ValueError):
        return None


def infer_scale(
    scores: Sequence[Rated], path: str | None, column: str, out_of: float | None = None
) -> tuple[Scale, list[str]]:
    """The narrowest of the usual scales that contains every score, and a note where a slip may have made it so wide.

    Args:
        scores: One at least.
        path: The file, for messages.
        column: Where the scores are.
        out_of: Where the scale ends, as the scores say it; or None.

    Raises:
        DataError: None does.
    """
    for row, score, name in scores:
        if out_of is not None and score > out_of:
            reason = f"{score:g} is more than the {out_of:g} it is out of; correct it"
            raise DataError(reason, path=path, row=row, column=name)
    scale, slip = usual_scale(scores, out_of)
    if scale is None:
        values = [score for _, score, _ in scores]
        low, high = min(values), max(values)
        which = "" if out_of is None else f" out of {out_of:g}"
        reason = (
            f"no usual scale holds scores from {low:g} to {high:g}{which}{f' ({slip})' if slip else ''}; pass --scale"
        )
        raise DataError(reason, path=path, column=column)
    return scale, [ScaleGuess(f"{slip}: correct it if it is a slip")] if slip else []


def usual_scale(scores: Sequence[Rated], out_of: float | None = None) -> tuple[Scale | None, str]:
    """The narrowest of the usual scales that contains every score, and which few scores alone make it so wide.

    Args:
        scores: One at least.
        out_of: Where the scale ends, if that is known.

    Returns:
        None where no scale contains them all; an empty text where no few scores stand out.
    """
    values = [score for _, score, _ in scores]
    low, high = min(values), max(values)
    usual = [scale for scale in USUAL_SCALES if out_of is None or scale.high == out_of]
    scale = next((scale for scale in usual if low in scale and high in scale), None)
    return scale, _slip(scores, scale, usual)


def _slip(scores: Sequence[Rated], scale: Scale | None, every: Sequence[Scale]) -> str:
    """Which few scores alone make the scale so much wider than it were without them; empty where none do."""
    times = Counter(score for _, score, _ in scores)
    wider = _TWICE if len(scores) >= 10 else _FIVE_TIMES
    narrow = [usual for usual in every if scale is None or wider * _width(usual) <= _width(scale)]
    if len(scores) < _FEW:
        return ""
    for few in range(1, max(1, min(_SLIPS, len(scores) // 10)) + 1):
        for narrower in narrow:
            if sum(times[score] for score in times if score not in narrower) > few:
                continue
            outside = [f"{row} ({score:g})" for row, score, _ in scores if score not in narrower]
            rows = f"row {outside[0]} lies" if len(outside) == 1 else f"rows {' and '.join(outside)} lie"
            return f"only {rows} outside {narrower}"
    return ""


def unused_scale(scores: Sequence[Rated], scale: Scale) -> list[str]:
    """A note where the scores fill little of a scale that was named, not inferred."""
    values = [score for _, score, _ in scores]
    if len(values) < _FEW or max(values) - min(values) >= _width(scale) / 5:
        return []
    filled = f"the scores run from {min(values):g} to {max(values):g}, which is less than a fifth of the scale {scale}"
    return [f"{filled}; pass --scale LOW..HIGH if they were given on another one"]


def _width(scale: Scale) -> float:
    return scale.high - scale.low
