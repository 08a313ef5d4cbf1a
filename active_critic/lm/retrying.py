"""Asking again after failures that may pass: the only place in which anything is retried."""

from __future__ import annotations

import math
from collections.abc import Callable
from random import SystemRandom
from threading import Lock
from typing import TypeVar

import tenacity

from active_critic.errors import EndpointDown, ModelError, RateLimited, RequestRefused, UnknownModel
from active_critic.lm.scope import Scoped

RETRIES = 3
"""Retries after a failed attempt: a request is sent at most 1 + RETRIES times."""
WHERE_LIMITED = 2
"""How many times as many retries there are where the provider asks to slow down: together they outlast a limit by the
minute."""
IN_AN_OUTAGE = 8
"""Retries where an outage is waited out: together they outlast one of three minutes."""
ALL_OR_NOTHING: Scoped[bool] = Scoped(False)
"""Whether one failure ends the whole work that is being done, as it ends a fit."""
SPREAD = 0.25
"""Where several calls are in flight, each waits longer by up to this part of its wait, so that they do not come
back all at once."""
LONGEST_WAIT = 60.0
"""Seconds; a longer Retry-After than this is waited for only this long before the next attempt."""

chance = SystemRandom().random  # Python's own random numbers are the user's
_Came = TypeVar("_Came")


class Waiting:
    """Counts who waits before something is done again; a context manager, which many threads may be in at once.

    Attributes:
        now: How many threads wait at this moment.
    """

    def __init__(self) -> None:
        self.now = 0
        self._lock = Lock()

    def __enter__(self) -> None:
        with self._lock:
            self.now += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self.now -= 1


def again(
    once: Callable[[], _Came],
    retries: int,
    wait: Callable[[float], None],
    patience: Callable[[], float] | None = None,
    spread: float = 0.0,
    outlast: bool = False,
) -> _Came:
    """Do something, and do it again after a ``ModelError`` that is retryable.

    Waits 1, 2, 4, ... seconds, or longer where the endpoint asked for that; not at all to ask in other words.

    Args:
        once: What is done.
        retries: How often it is done again at most; ``WHERE_LIMITED`` times as often after ``RateLimited``.
        wait: What waits so many seconds.
        patience: How many seconds may be waited at this moment; None: ``LONGEST_WAIT``, which is never exceeded.
        spread: By up to which part a wait after ``RateLimited`` is lengthened at random.
        outlast: Do it ``IN_AN_OUTAGE`` times again after an ``EndpointDown`` that nobody bills.
    """

    def failure(state: tenacity.RetryCallState) -> BaseException | None:
        return state.outcome.exception() if state.outcome else None

    def enough(state: tenacity.RetryCallState) -> bool:
        problem, most = failure(state), retries
        if isinstance(problem, RateLimited):
            most = retries * WHERE_LIMITED
        elif outlast and isinstance(problem, EndpointDown) and not problem.may_be_billed:
            most = IN_AN_OUTAGE
        return state.attempt_number > most

    def pause(state: tenacity.RetryCallState) -> float:
        problem = failure(state)
        if isinstance(problem, RequestRefused | UnknownModel):
            return 0.0
        asked = (problem.retry_after if isinstance(problem, ModelError) else None) or 0.0
        seconds = max(asked, float(2 ** (state.attempt_number - 1)))
        if isinstance(problem, RateLimited):
            seconds *= 1 + spread * chance()
        return min(seconds, LONGEST_WAIT, math.inf if patience is None else patience())

    retrying = tenacity.Retrying(
        stop=enough,
        wait=pause,
        retry=tenacity.retry_if_exception(lambda e: isinstance(e, ModelError) and e.retryable),
        sleep=wait,
        reraise=True,
    )
    return retrying(once)
