"""Asking again after failures that may pass: the only place in which anything is retried."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeVar

import tenacity

from active_critic.errors import ModelError

RETRIES = 3
"""Retries after a failed attempt; a request is sent at most 1 + RETRIES times."""
LONGEST_WAIT = 60.0
"""Seconds; a longer Retry-After than this is waited for only this long before the next attempt."""

_Came = TypeVar("_Came")


def again(
    once: Callable[[], _Came],
    retries: int,
    wait: Callable[[float], None],
    patience: Callable[[], float] | None = None,
) -> _Came:
    """Do something, and do it again after a ``ModelError`` that is retryable.

    Waits as long as the endpoint asked for, else 1, 2, 4, ... seconds.

    Args:
        once: What is done.
        retries: How often it is done again at most.
        wait: What waits so many seconds.
        patience: How many seconds may be waited at this moment; None: ``LONGEST_WAIT``, which is never exceeded.
    """

    def pause(state: tenacity.RetryCallState) -> float:
        failure = state.outcome.exception() if state.outcome else None
        asked = failure.retry_after if isinstance(failure, ModelError) else None
        seconds = asked if asked is not None and asked >= 0 else float(2 ** (state.attempt_number - 1))
        return min(seconds, LONGEST_WAIT, math.inf if patience is None else patience())

    retrying = tenacity.Retrying(
        stop=tenacity.stop_after_attempt(1 + retries),
        wait=pause,
        retry=tenacity.retry_if_exception(lambda e: isinstance(e, ModelError) and e.retryable),
        sleep=wait,
        reraise=True,
    )
    return retrying(once)
