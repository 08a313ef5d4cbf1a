"""Fixtures of the fault tests."""

from __future__ import annotations

from pathlib import Path

import pytest
from fault_bench import Bench
from loopback import Loopback


@pytest.fixture
def bench(
    loopback: Loopback, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Bench:
    """Six items, a program and an endpoint."""
    return Bench(loopback, tmp_path, capfd, monkeypatch)
