"""Where nobody watches: what is printed into a file or a pipe is as wide everywhere, and long work says it is alive."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from conftest_cli import refuse

from active_critic.cli import _progress, quickstart
from active_critic.cli._common import console
from active_critic.cli._progress import Display, Lines, Pace, part_of
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


def test_what_is_left_is_told_by_how_fast_it_went_lately() -> None:
    pace = Pace()
    times = [0.1 * done if done <= 500 else 50.0 + 10 * (done - 500) for done in range(601)]  # the journal had 500
    said = [pace.left(done, 1000, now) for done, now in enumerate(times)]
    assert said[0] is None
    assert said[500] == pytest.approx(50)
    assert said[600] == pytest.approx(4000)


def test_a_single_stall_does_not_decide() -> None:
    pace = Pace()
    times = [float(done) if done < 400 else 2000.0 + done for done in range(402)]
    said = [pace.left(done, 800, now) for done, now in enumerate(times)]
    assert said[399] == pytest.approx(401)
    assert 401 < (said[401] or 0) < 100_000


def test_what_goes_fast_is_counted_without_keeping_all_of_it() -> None:
    pace = Pace()
    said = [pace.left(done, 200_000, done / 10_000) for done in range(100_001)]
    assert said[-1] == pytest.approx(10)
    assert len(pace) < 1000


def test_where_each_part_of_the_work_begins_with_what_takes_long_whole_parts_tell_what_is_left() -> None:
    pace = Pace(10)
    now, said = 0.0, []
    for done in range(1, 26):
        now += 60.0 if (done - 1) % 10 < 5 else 2.0  # of each ten texts, all are explained before the likelihood of one
        said.append(pace.left(done, 30, now))
    assert said[:9] == [None] * 9
    assert said[9] == pytest.approx(20 * 250 / 9, rel=0.01)  # what the first one took, nobody saw
    assert said[10] == pytest.approx((said[9] or 0) - 60)
    assert said[19] == pytest.approx(310)  # as the latest part


def test_within_one_part_it_is_told_how_long_the_rest_takes_at_most(capfd, monkeypatch) -> None:
    pace = Pace(10)
    now, said = 0.0, []
    for done in range(1, 11):
        now += 60.0 if done <= 5 else 2.0
        said.append((pace.words(done, 10, now), pace.left(done, 10, now)))
    assert said[0] == ("", None)
    assert said[4][0] == "at most 5.0 minutes left"
    taken = [now - 60.0 * done if done <= 5 else 2.0 * (10 - done) for done in range(1, 11)]
    assert all(left >= rest for (_, left), rest in zip(said[1:9], taken[1:9], strict=True) if left is not None)
    assert said[9] == ("", None)


def test_a_second_round_begins_anew(capfd, monkeypatch) -> None:
    clock(monkeypatch, step=30)
    tell = Lines()
    for done in (1, 2, 3, 4, 1, 2, 3):
        tell("scoring", done, 4)
    assert capfd.readouterr().err.splitlines() == [
        "scoring: 2 of 4, 60 s so far, about 60 s left",
        "scoring: 4 of 4, 2.0 minutes so far",
        "scoring: 2 of 4, 3.0 minutes so far, about 60 s left",
    ]


class _Asks:
    def __init__(self, *asked: str) -> None:
        self._asked = asked

    def asked(self, *, explain: bool) -> tuple[str, ...]:
        return self._asked if explain else self._asked[:1]


def test_of_one_question_a_text_every_text_is_like_the_others() -> None:
    judge: Any = _Asks("overall", "likelihood")
    assert (part_of(judge, explain=False), part_of(judge, explain=True)) == (1, 256)


def test_the_display_writes_lines_where_there_is_no_terminal_and_none_when_quiet(capfd, monkeypatch) -> None:
    clock(monkeypatch, step=61)
    with scripted_lm(lambda _: "x") as model, Display(model, total=3) as progress:
        progress("scoring", 1, 0)
    assert "scoring: 1 of 3, 2.0 minutes so far; 0 calls" in capfd.readouterr().err
    with Display(None, quiet=True) as progress:
        progress("scoring", 1, 3)
    assert capfd.readouterr().err == ""


def test_repeats_are_counted_on(run, program, examples, monkeypatch) -> None:
    monkeypatch.setattr(_progress, "EVERY", 0)
    done = run("score", program, examples, "-o", "v.csv", "--limit", 4, "--repeat", 2, "--journal", "none")
    assert done.code == 0, done.err
    told = [line.partition(",")[0] for line in done.err.splitlines() if "so far" in line and "scoring" in line]
    assert told == [f"scoring: {number} of 8" for number in range(1, 9)]


def test_the_quickstart_tells_what_it_explains_from_what_it_only_scores(run, monkeypatch) -> None:
    monkeypatch.setattr(_progress, "EVERY", 0)
    for name, value in (("CANDIDATES", 2), ("MAX_BATCHES", 1), ("SCORED", 8)):
        monkeypatch.setattr(quickstart, name, value)
    done = run("quickstart")
    assert done.code == 0, done.err
    told = [line.partition(",")[0] for line in done.err.splitlines() if "so far" in line]
    explained = [f"scoring and explaining: {number} of 6" for number in range(1, 7)]
    assert told[-8:] == [*explained, "scoring: 1 of 2", "scoring: 2 of 2"]


def test_short_work_writes_no_lines(run, examples: Any) -> None:
    done = run("compare", examples, "--evaluators", "surface", "--resamples", 0, opener=refuse)
    assert done.code == 0
    assert "so far" not in done.err
