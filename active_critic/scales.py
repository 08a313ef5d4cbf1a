"""The scale that people scored on: as the data names it, else as the scores suggest."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

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


def infer_scale(examples: Sequence[Example], path: str | None, column: str) -> Scale:
    """The narrowest of the usual scales that contains every score.

    Raises:
        DataError: None does.
    """
    scores = [example.score for example in examples if example.score is not None]
    low, high = min(scores), max(scores)
    for scale in USUAL_SCALES:
        if low in scale and high in scale:
            return scale
    raise DataError(f"no usual scale holds scores from {low:g} to {high:g}; pass --scale", path=path, column=column)
