"""What the tests of the command line share: runs it in this process, with a scripted model in place of a real one."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from simulated import simulated_lm

from active_critic.cli import main


class Run(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        return json.loads(self.out)


def opener(**settings: Any) -> Callable[..., Any]:
    """Opens a simulated model whatever it is asked for; ``settings`` as for ``simulated_lm``."""
    return lambda name, **_: simulated_lm(name=name, **settings)


def refuse(name: str, **_: Any) -> Any:
    raise AssertionError(f"the model {name} was opened, and nothing may be paid for here")


SIMULATED = opener()


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., Run]:
    """Run a command; ``opener=`` says what opens the model."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")

    def go(*argv: object, opener: Callable[..., Any] = SIMULATED) -> Run:
        code = main([str(part) for part in argv], opener=opener)
        out, err = capfd.readouterr()
        return Run(code, out, err)

    return go


def rows(count: int = 12, **more: Any) -> list[dict[str, Any]]:
    """Examples in documents of three, whose human scores follow the number of words."""
    return [
        {
            "id": f"e{i}",
            "doc_id": f"d{i // 3}",
            "source": f"Customer {i // 3}: where is my parcel?",
            "response": f"Reply {i}: " + "word " * (5 * (i % 7)),
            "rating": 1 + i % 5,
            "colour": "blue",
            **more,
        }
        for i in range(count)
    ]


def write(path: Path, records: Sequence[Any]) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


FIT = ("--candidates", 2, "--demos", 2, "--batches", 1)
"""Options of a quick fit."""


@pytest.fixture
def examples(tmp_path: Path) -> Path:
    return write(tmp_path / "examples.jsonl", rows())


@pytest.fixture(scope="session")
def fitted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What one fit has left, its journal too; empty before it."""
    return tmp_path_factory.mktemp("fitted")


@pytest.fixture
def program(run: Callable[..., Run], examples: Path, tmp_path: Path, fitted: Path) -> Path:
    """A fitted program; it is fitted once."""
    path = tmp_path / "p.json"
    if not any(fitted.iterdir()):
        before = set(tmp_path.iterdir())
        done = run("fit", examples, "--out", path, "--scale", "1..5", *FIT)
        assert done.code == 0, done.err
        for left in set(tmp_path.iterdir()) - before:
            shutil.copy(left, fitted)
    for left in fitted.iterdir():
        shutil.copy(left, tmp_path)
    return path
