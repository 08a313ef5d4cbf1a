"""The rules of the house: format, lint, types, import order; run by the test command so that there is only one."""

from __future__ import annotations

import subprocess
import sys
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


@pytest.mark.parametrize("folder", ["programs", "datasets"])
def test_data_folders_are_not_packages(folder: str) -> None:
    assert not list((ROOT / folder).rglob("__init__.py"))
