from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextvars import ContextVar

import pytest

from active_critic.lm import stopping
from active_critic.lm.deadline import finished, within


@pytest.fixture
def _ctrl_c() -> Iterator[None]:
    """Ctrl-C works, also where the tests were started with it ignored, as in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


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


def test_a_thread_does_one_piece_of_work_after_another_and_what_is_left_behind_holds_none_up() -> None:
    before = {within(20, threading.get_ident) for _ in range(20)}
    assert len(before) < 20
    over = threading.Event()
    with pytest.raises(TimeoutError):
        within(0.05, lambda: over.wait(20))
    assert within(20, lambda: "next") == "next"
    over.set()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no such processes")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded")
def test_a_forked_process_has_threads_of_its_own() -> None:
    within(20, lambda: None)
    code = 1
    if (child := os.fork()) == 0:
        try:
            code = 0 if within(5, lambda: "here") == "here" else 1
        finally:
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0


@pytest.mark.usefixtures("_ctrl_c")
def test_work_is_finished_though_ctrl_c_was_pressed_and_what_comes_after_is_not_done() -> None:
    SAID.set("here")
    assert finished(SAID.get) == "here"
    with pytest.raises(ZeroDivisionError):
        finished(lambda: 1 / 0)
    did: list[str] = []

    def work() -> None:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.2)
        did.append("kept")

    with pytest.raises(KeyboardInterrupt):
        finished(work)
    assert did == ["kept"]


@pytest.mark.usefixtures("_ctrl_c")
def test_work_begins_no_other_call_after_ctrl_c_nor_waits_for_one() -> None:
    did: list[str] = []

    def work() -> None:
        os.kill(os.getpid(), signal.SIGINT)
        stopping.pause(20)
        did.append("waited")
        stopping.check()
        did.append("asked")

    started = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        finished(work)
    assert did == ["waited"]
    assert time.monotonic() - started < 10
    stopping.check()  # what comes after may ask again


@pytest.mark.usefixtures("_ctrl_c")
def test_a_second_ctrl_c_leaves_work_behind() -> None:
    over = threading.Event()

    def work() -> None:
        for _ in range(2):
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.1)
        over.wait(20)

    started = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        finished(work)
    assert time.monotonic() - started < 10
    over.set()


def test_ctrl_c_that_does_not_come_to_whoever_gave_the_work_stops_it_all_the_same() -> None:
    did: list[str] = []
    begun = threading.Event()

    def under_way() -> None:
        begun.set()
        time.sleep(0.3)
        did.append("kept")

    with stopping.threads(1) as pool:
        pool.submit(under_way)
        left = pool.submit(did.append, "later")
        assert begun.wait(20)
        stopping.stop_all()
        assert did == ["kept"]
        assert left.cancelled()
