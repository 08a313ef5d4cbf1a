"""Class labels of Hugging Face datasets are read as the names that people chose, never as their codes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from active_critic.data import BadRow, iter_examples, read_examples
from active_critic.errors import DataError

NAMES = ["1", "10", "2", "5", "7"]
"""In the order in which ``class_encode_column`` sorts them."""
SCORES = [2, 5, 10, 7, 10, 1]


class Labels:
    """Stands in for ``datasets.ClassLabel``."""

    def __init__(self, names: list[str]) -> None:
        self.names = names

    def int2str(self, code: int) -> str:
        if not 0 <= code < len(self.names):
            raise ValueError(f"Invalid integer class label {code}")
        return self.names[code]


class Dataset:
    """Stands in for ``datasets.Dataset``: rows, and what their columns hold."""

    def __init__(self, rows: list[dict[str, Any]], **features: Any) -> None:
        self.rows, self.features = rows, features

    def __iter__(self) -> Any:
        return iter(self.rows)


CODES = tuple(NAMES.index(str(score)) for score in SCORES)


def coded(codes: Sequence[int] = CODES) -> list[dict[str, Any]]:
    return [{"response": f"r{i}", "score": code} for i, code in enumerate(codes)]


def test_class_labels_are_read_as_their_names() -> None:
    examples = read_examples(Dataset(coded(), response=object(), score=Labels(NAMES)))
    assert [example.score for example in examples] == SCORES
    assert [example.record["score"] for example in examples] == list(map(str, SCORES))
    assert str(examples.scale) == "1..10"
    assert "class labels are read as their names, not as their codes: 'score'" in examples.notes
    assert "class labels" in " ".join(iter_examples(Dataset(coded(), score=Labels(NAMES))).notes)


def test_names_that_are_no_numbers_are_no_scores() -> None:
    with pytest.raises(DataError, match="row 1, column 'score': the score 'poor' is not a number"):
        read_examples(Dataset(coded([1, 0]), score=Labels(["good", "poor"])))


def test_other_columns_have_their_names_too_also_inside_of_objects() -> None:
    rows = [{"response": "r", "score": 3, "system": 1, "meta": {"kind": 0, "n": 7}, "tags": [1, 0]}]
    kinds = Labels(["news", "talk"])
    features = {"system": Labels(["a", "b"]), "meta": {"kind": kinds, "n": object()}}
    (example,) = read_examples(Dataset(rows, **features, tags=SimpleNamespace(feature=kinds)), scale="1..5")
    assert (example.system, example.record["meta"]) == ("b", {"kind": "news", "n": 7})
    assert example.record["tags"] == ["talk", "news"]


def test_a_code_without_a_name_is_no_number_either() -> None:
    with pytest.raises(DataError, match="which is missing in row 2"):  # what -1 stands for there
        read_examples(Dataset(coded([0, -1]), score=Labels(NAMES)))
    with pytest.raises(DataError, match="row 2, column 'score': 9 is the code of no class label; correct it or drop"):
        read_examples(Dataset(coded([0, 9]), score=Labels(NAMES)))


def test_a_dataset_without_labels_is_read_as_it_is() -> None:
    examples = read_examples(Dataset([{"response": f"r{i}", "score": i} for i in range(1, 4)], score=object()))
    assert [example.score for example in examples] == [1, 2, 3]
    assert not any("labels" in note for note in examples.notes)


def test_the_labels_that_a_parquet_file_names_are_read_as_their_names(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    label = {"names": NAMES, "_type": "ClassLabel"}
    features = {"score": label, "meta": {"kind": label}, "tags": {"feature": label, "_type": "List"}}
    rows = [{**row, "meta": {"kind": 1}, "tags": [0, 2]} for row in coded()]
    table = pa.Table.from_pylist(rows)
    said = {"huggingface": json.dumps({"info": {"features": features}})}
    pq.write_table(table.replace_schema_metadata(said), tmp_path / "x.parquet")
    examples = read_examples(tmp_path / "x.parquet")
    assert [example.score for example in examples] == SCORES
    assert (examples[0].record["meta"], examples[0].record["tags"]) == ({"kind": "10"}, ["1", "2"])
    assert "class labels are read as their names, not as their codes: 'score', 'meta', 'tags'" in examples.notes
    pq.write_table(pa.Table.from_pylist(coded([1, 9])).replace_schema_metadata(said), tmp_path / "y.parquet")
    assert [isinstance(item, BadRow) for item in iter_examples(tmp_path / "y.parquet")] == [False, True]
    pq.write_table(table.replace_schema_metadata({"huggingface": "broken"}), tmp_path / "z.parquet")
    assert [example.score for example in read_examples(tmp_path / "z.parquet")] == [2, 3, 1, 4, 1, 0]


def test_a_real_dataset_with_class_labels_is_read_by_their_names(tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets")
    whole = datasets.Dataset.from_dict({"response": [f"r{i}" for i in range(6)], "score": SCORES})
    dataset = whole.class_encode_column("score")
    assert dataset["score"][:2] == [2, 3]  # codes, in another order
    dataset.to_parquet(tmp_path / "x.parquet")
    for source in (dataset, dataset.to_iterable_dataset(), tmp_path / "x.parquet"):
        assert [example.score for example in read_examples(source)] == SCORES
