"""Fixtures of the command-line tests."""

from __future__ import annotations

from conftest_cli import examples, fitted, program, run

__all__ = ["examples", "fitted", "program", "run"]
