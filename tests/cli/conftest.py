"""Fixtures of the command-line tests."""

from __future__ import annotations

from conftest_cli import examples, program, run

__all__ = ["examples", "program", "run"]
