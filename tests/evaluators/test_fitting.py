"""What fits have in common: jobs are done in parallel, and criteria can be told apart."""

from __future__ import annotations

import random
import threading
import time
from typing import Any

import pytest

from active_critic.errors import FitError
from active_critic.evaluators._fitting import in_parallel
from active_critic.lm import LanguageModel, scripted_lm


def workers(count: int) -> LanguageModel:
    return scripted_lm(lambda turns: "", workers=count)


def test_results_come_in_the_order_of_the_jobs_and_progress_counts_up() -> None:
    busy, most, lock = 0, 0, threading.Lock()

    def work(number: int) -> int:
        nonlocal busy, most
        with lock:
            busy += 1
            most = max(most, busy)
        time.sleep(random.Random(number).uniform(0, 0.01))
        with lock:
            busy -= 1
        return -number

    told: list[tuple[str, int, int]] = []
    found = in_parallel(workers(4), work, range(30), doing="working", progress=lambda *said: told.append(said))
    assert found == [-number for number in range(30)]
    assert told == [("working", count, 30) for count in range(1, 31)]
    assert 1 < most <= 4


@pytest.mark.parametrize("where", ["job", "progress"])
def test_what_has_not_begun_when_one_fails_is_left(where: str) -> None:
    begun: list[int] = []

    def work(number: int) -> int:
        begun.append(number)
        if where == "job" and number == 2:
            raise FitError("no")
        time.sleep(0.005)
        return number

    def stop(*said: Any) -> None:
        if where == "progress":
            raise FitError("no")

    with pytest.raises(FitError, match="no"):
        in_parallel(workers(2), work, range(100), doing="working", progress=stop)
    assert len(begun) < 20
