"""Class labels of Hugging Face datasets: codes for names. The names are what people chose, and what is read."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

Labels = Callable[[int], str] | dict[str, Any] | list[Any]
"""What turns codes into names: at this place, in the fields of an object, or in every entry of a list."""

NO_LABEL = -1
"""The code that Hugging Face datasets keep where there is no label."""


def labels_of(feature: Any) -> Labels | None:
    """The class labels in a feature of a Hugging Face dataset, or None where there are none."""
    if callable(getattr(feature, "int2str", None)):
        name: Callable[[int], str] = feature.int2str
        return name
    if isinstance(feature, Mapping):
        return _of_parts(feature, labels_of)
    within = feature[0] if isinstance(feature, list) and feature else getattr(feature, "feature", None)
    inner = None if within is None else labels_of(within)
    return None if inner is None else [inner]


def labels_in_schema(metadata: Mapping[bytes, bytes] | None) -> dict[str, Labels]:
    """The class labels by column that the schema of a Parquet file names, as Hugging Face datasets write it."""
    try:
        features = json.loads((metadata or {})[b"huggingface"])["info"]["features"]
        return _of_parts(features, _described) or {}
    except (KeyError, TypeError, ValueError, AttributeError):
        return {}


def _of_parts(features: Mapping[str, Any], of: Callable[[Any], Labels | None]) -> dict[str, Labels] | None:
    found = {str(name): labels for name, feature in features.items() if (labels := of(feature)) is not None}
    return found or None


def _described(feature: Any) -> Labels | None:
    if not isinstance(feature, Mapping):
        return None
    if feature.get("_type") == "ClassLabel":
        names = feature["names"]
        return lambda code: str(names[code])
    if "_type" in feature:
        inner = _described(feature.get("feature"))
        return None if inner is None else [inner]
    return _of_parts(feature, _described)


def name_codes(record: dict[str, Any], labels: Mapping[str, Labels]) -> tuple[str, str] | None:
    """Put names in the place of the codes in a record; the column and what is wrong there, where a code has no name."""
    for column in labels.keys() & record.keys():
        try:
            record[column] = named(record[column], labels[column])
        except ValueError as problem:
            return column, str(problem)
    return None


def named(value: Any, labels: Labels | None) -> Any:
    """A value with every code of a class label in it as its name; where there is no label, None.

    Raises:
        ValueError: A code stands for no name.
    """
    if isinstance(labels, dict) and isinstance(value, Mapping):
        return {name: named(part, labels.get(name)) for name, part in value.items()}
    if isinstance(labels, list) and isinstance(value, list):
        return [named(part, labels[0]) for part in value]
    if not callable(labels) or isinstance(value, bool) or not isinstance(value, int):
        return value
    if value == NO_LABEL:
        return None
    try:
        return labels(value)
    except (ValueError, IndexError, KeyError):
        raise ValueError(f"{value} is the code of no class label; correct it or drop the row") from None


def labels_note(labels: Mapping[str, Labels]) -> str:
    """What the user should know where there are labels."""
    return f"class labels are read as their names, not as their codes: {', '.join(map(repr, labels))}"
