"""A run asks a judge, and stops where going on would only cost."""

from __future__ import annotations

import time

import pytest
from loopback import Fault, Loopback
from test_base import PROGRAM, items, judging, scoring

from active_critic.errors import EndpointDown
from active_critic.evaluators import from_protocol
from active_critic.lm import open_lm


def test_an_endpoint_that_is_down_from_the_start_costs_many_workers_two_probes(loopback: Loopback) -> None:
    loopback.script(Fault(status=503))
    lm = open_lm("openai/x", api_base=loopback.api_base)
    lm._wait = lambda _: time.sleep(0.02)  # so that all workers wait for the one that asks
    assert lm.workers == 8
    with pytest.raises(EndpointDown) as caught:
        list(from_protocol(PROGRAM, lm, journal=None).score_many(items(100)))
    assert "Stopped after 2 failures in a row" in caught.value.__notes__[0]
    assert loopback.calls == 2 * 4


@pytest.mark.parametrize("times", [1, 2])
def test_what_was_answered_counts_in_later_windows_and_repeats(times: int) -> None:
    unread, down = range(256, 281), 511

    def rate(text: str) -> float | str:
        if int(text) == down:
            raise EndpointDown("for a moment")
        return "fine" if int(text) in unread else int(text) % 100

    verdicts = list(scoring(judging(rate)).score_repeatedly(items(down + 1), times))
    assert {len(each) for each in verdicts} == {times}
    unscored = [number for number, each in enumerate(verdicts) if any(verdict.score is None for verdict in each)]
    assert unscored == [*unread, down]


def test_failures_in_a_row_are_counted_over_windows_and_repeats() -> None:
    def rate(text: str) -> int:
        if int(text) >= 253:  # three at the end of each repeat of the first window
            raise EndpointDown("for good")
        return int(text) % 100

    with pytest.raises(EndpointDown) as caught:
        list(scoring(judging(rate)).score_repeatedly(items(300), 2))
    assert "Stopped after 5 failures in a row" in caught.value.__notes__[0]
