"""A run asks a judge, and stops where going on would only cost."""

from __future__ import annotations

import time

import pytest
from loopback import Fault, Loopback
from test_base import PROGRAM, items

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
