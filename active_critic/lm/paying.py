"""Sending what is paid for: counted, within a budget, and sent again after failures that may pass."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from active_critic.errors import EndpointDown, ModelError, RateLimited
from active_critic.lm import stopping
from active_critic.lm.budget import Account, paying
from active_critic.lm.failures import translate
from active_critic.lm.retrying import again
from active_critic.records import Usage

Sent = TypeVar("Sent")


@dataclass(frozen=True, slots=True)
class Payer:
    """Who pays for requests to a model; the only place that retries, and that pays.

    Attributes:
        name: The model's name.
        secrets: What no message may show.
        accounts: What may be spent, of each of them; none: there is no limit.
        count: Told of every attempt, and of what it cost, as it is made.
        retries: See :func:`active_critic.lm.retrying.again`.
        wait: Likewise.
        spread: Likewise.
        outlast: Likewise.
    """

    name: str
    secrets: Sequence[str] = field(repr=False)
    accounts: Sequence[Account]
    count: Callable[[Usage], None]
    retries: int
    wait: Callable[[float], None]
    spread: float
    outlast: bool

    def pay(
        self, send: Callable[[], Sent], used: Callable[[Sent], Usage], most: Callable[[], Usage]
    ) -> tuple[Sent, Usage]:
        """Send, and send again after failures that may pass.

        Args:
            send: Sends once.
            used: The tokens and the money that what came has cost.
            most: The tokens that one attempt may cost at most.

        Returns:
            What came, and what all attempts cost; it has been counted.

        Raises:
            ModelError: Nothing came of the last attempt; its ``usage`` says what all of them cost.
            CancelledError: The work that this belongs to has ended (see ``stopping``).
        """
        started, attempts, lost = time.monotonic(), 0, Usage()
        accounts = self.accounts

        def once() -> tuple[Sent, Usage]:
            nonlocal attempts, lost
            stopping.check()
            with paying(accounts, most() if accounts else Usage()) as tell:
                attempts += 1
                self.count(Usage(calls=1))
                try:
                    came = send()
                except Exception as failure:
                    error, paid = translate(failure, self.name, self.secrets), getattr(failure, "usage", None)
                    if error is None:
                        raise
                else:
                    usage = used(came)
                    tell(usage)
                    return came, usage
                error.sent = True
                if isinstance(paid, Usage):  # it was answered, to no use
                    error.usage = paid = replace(paid, calls=0)
                    self.count(paid)
                    lost = lost + paid
                raise error  # not where the failure was caught: that may hold the key, and would be its context

        try:
            patience = (lambda: min(account.seconds_left for account in accounts)) if accounts else None
            came, usage = again(once, self.retries, self.wait, patience, self.spread, self.outlast)
        except ModelError as error:
            if attempts:
                error.usage = replace(lost, calls=attempts)
            if attempts > 1 and isinstance(error, EndpointDown | RateLimited):
                error.add_note(f"It was asked {attempts} times.")
            raise
        usage = replace(usage, seconds=time.monotonic() - started)
        self.count(replace(usage, calls=0))  # attempts, and what failed ones cost, were counted as they were made
        return came, replace(usage + lost, calls=attempts)
