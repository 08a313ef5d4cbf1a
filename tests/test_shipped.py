from __future__ import annotations

import pytest

from active_critic import shipped as module
from active_critic.data import read_examples
from active_critic.errors import DataError
from active_critic.shipped import shipped


def test_the_quick_start_set_is_found() -> None:
    assert len(read_examples(shipped("datasets/quickstart.jsonl"))) == 72


def test_an_installed_wheel_carries_its_own(tmp_path, monkeypatch) -> None:
    # Beside an installed package lie other packages, among them one that is called datasets.
    package = tmp_path / "active_critic"
    inside = package / "_shipped" / "datasets"
    inside.mkdir(parents=True)
    (tmp_path / "datasets").mkdir()
    for folder in (inside, tmp_path / "datasets"):
        (folder / "x.jsonl").write_text("{}\n")
    monkeypatch.setattr(module, "__file__", str(package / "shipped.py"))
    assert shipped("datasets/x.jsonl") == inside / "x.jsonl"


@pytest.mark.parametrize("name", ["datasets/none.jsonl", "", "datasets", "/etc/hostname", "../main/pyproject.toml"])
def test_what_does_not_ship_is_an_error(name) -> None:
    with pytest.raises(DataError, match="not part of this installation"):
        shipped(name)
