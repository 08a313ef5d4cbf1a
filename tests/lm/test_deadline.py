from __future__ import annotations

import threading
from contextvars import ContextVar

import pytest

from active_critic.lm.deadline import within

SAID: ContextVar[str] = ContextVar("said", default="")


def test_what_is_done_in_time_is_the_result_and_knows_its_surroundings() -> None:
    SAID.set("here")
    assert within(20, SAID.get) == "here"


def test_what_goes_wrong_goes_wrong_for_whoever_waits() -> None:
    with pytest.raises(ZeroDivisionError):
        within(20, lambda: 1 / 0)

    def slow() -> None:
        raise TimeoutError("its own")

    with pytest.raises(TimeoutError, match="its own"):
        within(20, slow)


def test_what_takes_too_long_is_left_behind() -> None:
    over = threading.Event()
    with pytest.raises(TimeoutError, match=r"no whole reply within 0\.05 seconds"):
        within(0.05, lambda: over.wait(20))
    over.set()
