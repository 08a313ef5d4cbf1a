"""Where nobody watches: what is printed into a file or a pipe is as wide everywhere, and long work says it is alive."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from conftest_cli import refuse

from active_critic.cli import _progress
from active_critic.cli._common import console
from active_critic.cli._progress import Display, Lines
from active_critic.lm import scripted_lm


@pytest.mark.parametrize(("columns", "wide"), [(None, 120), ("", 120), ("many", 120), ("90", 90), ("200", 200)])
def test_what_is_no_terminal_is_as_wide_wherever_it_runs(capfd, monkeypatch, columns: str | None, wide: int) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    if columns is not None:
        monkeypatch.setenv("COLUMNS", columns)
    monkeypatch.setattr("os.get_terminal_size", lambda *_: (40, 20))  # of a terminal that stands beside the pipe
    for stderr in (False, True):
        assert console(stderr=stderr).width == wide


def test_a_terminal_keeps_its_own_width(capfd, monkeypatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    monkeypatch.setattr("os.get_terminal_size", lambda *_: (64, 20))
    assert console(stderr=False).width == 64


def test_a_table_in_a_pipe_uses_the_room(run, examples, monkeypatch) -> None:
    monkeypatch.delenv("COLUMNS")
    assert run("fit", examples, "-o", "s.json", "--evaluator", "surface", opener=refuse).code == 0
    shown = run("show", "s.json").out
    assert 80 < max(len(line.rstrip()) for line in shown.splitlines()) <= 120


def clock(monkeypatch: pytest.MonkeyPatch, *, step: float) -> None:
    times = itertools.count(0.0, step)
    monkeypatch.setattr(_progress, "monotonic", lambda: next(times))


def test_a_log_has_a_line_a_minute_with_what_is_left_and_what_it_cost(capfd, monkeypatch) -> None:
    clock(monkeypatch, step=20)
    tell = Lines(lambda: "12 calls")
    for done in range(11):
        tell("scoring", done, 10)
    assert capfd.readouterr().err.splitlines() == [
        "scoring: 2 of 10, 60 s so far, about 2.7 minutes left; 12 calls",
        "scoring: 5 of 10, 2.0 minutes so far, about 1.7 minutes left; 12 calls",
        "scoring: 8 of 10, 3.0 minutes so far, about 40 s left; 12 calls",
    ]


def test_what_is_left_is_told_by_the_stage_that_goes_on(capfd, monkeypatch) -> None:
    clock(monkeypatch, step=50)
    tell = Lines()
    tell("reading", 0, 0)
    tell("reading", 0, 0)
    tell("rating", 20, 40)  # what the journal held
    tell("rating", 30, 40)
    said = capfd.readouterr().err.splitlines()
    assert said == ["reading, 1.7 minutes so far", "rating: 30 of 40, 3.3 minutes so far, about 50 s left"]


def test_the_display_writes_lines_where_there_is_no_terminal_and_none_when_quiet(capfd, monkeypatch) -> None:
    clock(monkeypatch, step=61)
    with scripted_lm(lambda _: "x") as model, Display(model, total=3) as progress:
        progress("scoring", 1, 0)
    assert "scoring: 1 of 3, 2.0 minutes so far; 0 calls" in capfd.readouterr().err
    with Display(None, quiet=True) as progress:
        progress("scoring", 1, 3)
    assert capfd.readouterr().err == ""


def test_short_work_writes_no_lines(run, examples: Any) -> None:
    done = run("compare", examples, "--evaluators", "surface", "--resamples", 0, opener=refuse)
    assert done.code == 0
    assert "so far" not in done.err
