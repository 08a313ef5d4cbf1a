"""The rules of the house: format, lint, types, import order; run by the test command so that there is only one."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
BIN = Path(sys.executable).parent
CHECKS = {
    "format": [sys.executable, "-m", "ruff", "format", "--check", "."],
    "lint": [sys.executable, "-m", "ruff", "check", "."],
    "types": [sys.executable, "-m", "mypy"],
    "import order": [str(BIN / "lint-imports"), "--no-cache"],
    "start-up time": [sys.executable, "benchmarks/startup.py", "--assert"],
}


@pytest.mark.parametrize("check", CHECKS)
def test_house_rule_holds(check: str) -> None:
    done = subprocess.run(CHECKS[check], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def _modules(folder: Path) -> set[str]:
    there = (path for path in folder.iterdir() if path.suffix == ".py" or (path / "__init__.py").is_file())
    return {path.stem for path in there if not path.stem.startswith("__")}


def test_every_module_has_its_place_in_the_order_of_imports() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    placed = [name.strip() for of in contracts for layer in of["layers"] for name in layer.split("|")]
    package = ROOT / "active_critic"
    folders = [package, *(package / name for name in _modules(package) if (package / name).is_dir())]
    there = [".".join((*folder.relative_to(ROOT).parts, name)) for folder in folders for name in _modules(folder)]
    assert sorted(placed) == sorted(there)


@pytest.mark.parametrize("folder", ["programs", "datasets"])
def test_data_folders_are_not_packages(folder: str) -> None:
    assert not list((ROOT / folder).rglob("__init__.py"))
