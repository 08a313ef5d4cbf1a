"""The README's code runs as it stands, with a scripted model in place of the embedded one."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from simulated import simulated_lm

from active_critic.evaluators import base

ROOT = Path(__file__).parent.parent
BLOCKS = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)


@pytest.mark.parametrize("block", BLOCKS)
def test_python_in_the_readme_runs(
    block: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "datasets").symlink_to(ROOT / "datasets")
    monkeypatch.chdir(tmp_path)
    names: list[Any] = []

    def opener(name: Any) -> Any:
        names.append(name)
        return simulated_lm(name="local")

    monkeypatch.setattr(base, "open_lm", opener)
    exec(compile(block, "README.md", "exec"), {})
    assert "local" in names
    assert (tmp_path / "support.json").exists()
    assert capsys.readouterr().out


def test_there_is_python_in_the_readme() -> None:
    assert BLOCKS


def test_paths_in_the_readme_exist() -> None:
    links = re.findall(r"\]\(([^)#:]+)\)", (ROOT / "README.md").read_text())
    assert links
    assert [link for link in links if not (ROOT / link).exists()] == []
