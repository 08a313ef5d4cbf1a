"""What may be spent on a language model: calls, tokens, money, time; obeyed whatever happens at the same moment."""

from __future__ import annotations

import math
import os
import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from decimal import Decimal
from typing import TYPE_CHECKING
from weakref import WeakSet

from active_critic.data.cells import plain_value
from active_critic.errors import BudgetSpent, DataError, ModelError
from active_critic.figures_in_words import dollars
from active_critic.lm import stopping
from active_critic.lm.reply import text_of
from active_critic.records import Usage

if TYPE_CHECKING:
    from dspy.lm15 import Request

_AMOUNT = re.compile(
    r"(?P<money>[$])?\s*(?P<number>(?:\d{1,3}(?:,\d{3})+|\d+)(?:[.]\d+)?|[.]\d+)\s*"
    r"(?:(?P<times>[km])(?![a-z]))?\s*(?P<unit>[a-z]*)",
    re.IGNORECASE,
)
_UNITS = {
    "calls": ("calls", 1.0),
    "call": ("calls", 1.0),
    "tokens": ("tokens", 1.0),
    "token": ("tokens", 1.0),
    "usd": ("cost", 1.0),
    "dollars": ("cost", 1.0),
    "dollar": ("cost", 1.0),
    "seconds": ("seconds", 1.0),
    "second": ("seconds", 1.0),
    "s": ("seconds", 1.0),
    "min": ("seconds", 60.0),
    "minutes": ("seconds", 60.0),
    "minute": ("seconds", 60.0),
    "h": ("seconds", 3600.0),
    "hours": ("seconds", 3600.0),
    "hour": ("seconds", 3600.0),
}
EXAMPLES = '"500 calls", "200k tokens", "2 USD" or "10 min"'
PER_MESSAGE, PER_PROMPT = 8, 64
"""Tokens that a chat template may add to a message, and to a prompt, at most."""


@dataclass(frozen=True, slots=True)
class Budget:
    """What may be spent at most; what is None has no limit.

    Attributes:
        calls: Requests sent, retries included. Replies from the journal are free.
        tokens: Tokens read and written together, those from a provider's prefix cache included.
        cost: Money in US dollars, by the provider's price list.
        seconds: Time from when the budget was set.
    """

    calls: int | None = None
    tokens: int | None = None
    cost: float | None = None
    seconds: float | None = None

    def __post_init__(self) -> None:
        for part in fields(self):
            value = plain_value(getattr(self, part.name))
            object.__setattr__(self, part.name, value)
            if value is None:
                continue
            if not isinstance(value, int | float) or isinstance(value, bool):
                raise DataError(f"a budget is a number, not {value!r} ({part.name}); in words it is {EXAMPLES}")
            if not 0 < value < math.inf:
                raise DataError(f"a budget is above 0, not {value:g} ({part.name}); write for example {EXAMPLES}")
            if part.name in {"calls", "tokens"} and value % 1:
                raise DataError(f"{value:g} is no whole number of {part.name}")

    @classmethod
    def parse(cls, texts: Iterable[str] | str) -> Budget:
        """Read a budget as people write it: ``"500 calls"``, ``["200k tokens", "$2", "10 min"]``.

        Raises:
            DataError: One of the texts is no such amount, or two limit the same thing.
        """
        limits: dict[str, float] = {}
        for text in [texts] if isinstance(texts, str) else texts:
            found = _AMOUNT.fullmatch(text.strip())
            unit = (found["unit"].lower() or ("usd" if found["money"] else "")) if found else ""
            if found is None or unit not in _UNITS or (found["money"] and _UNITS[unit][0] != "cost"):
                raise DataError(f"{text!r} is no budget; write for example {EXAMPLES}")
            kind, size = _UNITS[unit]
            if kind in limits:
                raise DataError(f"the budget limits {_WORDS[kind]} twice; give one limit for each")
            times = {"k": 1000, "m": 1_000_000}.get((found["times"] or "").lower(), 1)
            limits[kind] = float(Decimal(found["number"].replace(",", "")) * times) * size
            if kind in {"calls", "tokens"} and limits[kind] % 1:
                raise DataError(f"{text!r} is no whole number of {kind}")
        return cls(
            calls=int(limits["calls"]) if "calls" in limits else None,
            tokens=int(limits["tokens"]) if "tokens" in limits else None,
            cost=limits.get("cost"),
            seconds=limits.get("seconds"),
        )

    def __str__(self) -> str:
        parts = {
            "calls": f"{self.calls:,} calls" if self.calls else "",
            "tokens": f"{self.tokens:,} tokens" if self.tokens else "",
            "cost": f"${_plain(self.cost)}" if self.cost else "",
            "seconds": _time(self.seconds) if self.seconds else "",
        }
        return ", ".join(filter(None, parts.values())) or "no limit"


_WORDS = {"calls": "the calls", "tokens": "the tokens", "cost": "the money", "seconds": "the time"}


class Account:
    """What has been spent of a budget, and what calls under way may still spend. Safe to use from threads.

    A call begins only where what is spent, what the calls under way may take at most, and what it may take itself at
    most stay within the budget together; while only the calls under way are in its way, it waits for them. So calls,
    tokens and money are never exceeded. A reply of which the endpoint does not say what it took counts as the most that
    it may have taken, and so does a failed attempt that the provider may have answered all the same (a time-out, a
    connection that broke, a reply that cannot be read); one that was refused or never sent counts as a call only. An
    answer that is of no use (no likelihood in it) counts like any reply.
    Time is looked at before a call begins: one that is under way is waited for.

    Args:
        budget: What may be spent.
        name: The model's name, for messages.
        price: From tokens to what they cost in US dollars, or None where that is not known.
        keeps: Whether replies are kept, so that none is paid for twice.
        clock: Seconds, for time.

    Attributes:
        spent: What has been.

    Raises:
        ModelError: The budget limits money, and the price is not known.
    """

    def __init__(
        self,
        budget: Budget,
        name: str,
        price: Callable[[Usage], float | None],
        *,
        keeps: Callable[[], bool] = lambda: True,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        if budget.cost is not None and price(Usage(prompt_tokens=1000, completion_tokens=1000)) is None:
            raise ModelError(
                f"{name}: its price is not known, so a budget of money cannot be obeyed; give it in calls, tokens or "
                'time, for example "500 calls"'
            )
        self.budget = budget
        self._price = price
        self._keeps = keeps
        self.spent = Usage()
        self._clock = clock
        self._started = clock()
        self._under_way: list[Usage] = []
        self._changed = threading.Condition()
        _ACCOUNTS.add(self)

    @property
    def seconds_left(self) -> float:
        """Seconds until no call may begin any more; infinite without such a limit."""
        limit = self.budget.seconds
        return math.inf if limit is None else max(0.0, self._started + limit - self._clock())

    def hold(self, most: Usage) -> Usage:
        """Hold what a call may take at most, until it is let go or settled; wait where only others are in its way.

        Args:
            most: Tokens that it may take at most, and one call.

        Returns:
            The same, with what it costs where money is limited.

        Raises:
            BudgetSpent: The budget does not allow it; nothing may be sent.
        """
        if self.budget.cost is not None:
            most = replace(most, cost=self._price(most))
        with self._changed:
            while True:
                stopping.check()
                self._check(self.spent + most, most)
                if self._over(sum(self._under_way, self.spent + most)) is None:
                    break
                self._changed.wait()
            self._under_way.append(most)
        return most

    def let_go(self, held: Usage, taken: Usage | None = None) -> None:
        """Hold something no longer.

        Args:
            held: What :meth:`hold` gave.
            taken: What the call took, which is spent; None: none was made.
        """
        with self._changed:
            self._under_way.remove(held)
            if taken is not None:
                self.spent = self.spent + replace(taken, calls=1, replayed=0, cached_tokens=0, seconds=0.0)
            self._changed.notify_all()

    def counted(self, used: Usage, held: Usage) -> Usage:
        """What a reply counts as: where the endpoint does not say what it took, the most that it may have taken."""
        taken = used if used.prompt_tokens else held
        taken = replace(taken, completion_tokens=taken.completion_tokens or held.completion_tokens)
        if self.budget.cost is not None and taken.cost is None:
            cost = self._price(taken)  # figures that do not go together have none
            taken = replace(taken, cost=held.cost if cost is None else cost)
        return taken

    def _over(self, usage: Usage) -> str | None:
        """Which limit so much would exceed."""
        limits = self.budget
        if limits.calls is not None and usage.calls > limits.calls:
            return "calls"
        if limits.tokens is not None and usage.prompt_tokens + usage.completion_tokens > limits.tokens:
            return "tokens"
        if limits.cost is not None and (usage.cost or 0.0) > limits.cost:
            return "cost"
        return None

    def _check(self, usage: Usage, most: Usage) -> None:
        kind = "seconds" if self.seconds_left <= 0 else self._over(usage)
        if kind is None:
            return
        spent, limits = self.spent, self.budget
        used, may_take = (each.prompt_tokens + each.completion_tokens for each in (spent, most))
        next_one = "and the next call may take up to"
        limit, so_far = {
            "calls": (f"{limits.calls or 0:,} calls", "all are made"),
            "tokens": (f"{limits.tokens or 0:,} tokens", f"{used:,} are used, {next_one} {may_take:,}"),
            "cost": (
                f"${_plain(limits.cost or 0)}",
                f"{dollars(spent.cost or 0)} is used, {next_one} {dollars(most.cost or 0)}",
            ),
            "seconds": (_time(limits.seconds or 0), "the time is over"),
        }[kind]
        kept = "what the journal holds is not paid for twice"
        if not self._keeps():
            kept = "no journal was kept, so all of it is paid for anew"
        raise BudgetSpent(f"the budget of {limit} is spent ({so_far}); run this again with a larger one: {kept}")


_ACCOUNTS: WeakSet[Account] = WeakSet()


def _forked() -> None:
    """In a child no call of its parent is under way, and nobody holds a lock."""
    for account in list(_ACCOUNTS):
        account._under_way.clear()
        account._changed = threading.Condition()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)


@contextmanager
def paying(accounts: Sequence[Account], most: Usage) -> Iterator[Callable[[Usage], None]]:
    """Hold what a call may take at most in all of these accounts while it is made.

    Args:
        accounts: Always in one order, so that no two calls wait for each other.
        most: Tokens that it may take at most; it counts as one call whatever comes of it. A ``ModelError`` counts as
            its ``usage`` where it has one, and as all of this where it may be billed.

    Yields:
        What is told the tokens and the money that it took.

    Raises:
        BudgetSpent: One of the budgets does not allow it; nothing may be sent, and nothing is spent of the others.
    """
    held: dict[Account, Usage] = {}
    try:
        for account in accounts:
            held[account] = account.hold(most)
    except BaseException:
        for account, holds in held.items():
            account.let_go(holds)
        raise
    used: list[Usage] = []
    unknown = False
    try:
        yield used.append
    except ModelError as failure:
        if isinstance(failure.usage, Usage):
            used.append(failure.usage)
        else:
            unknown = failure.may_be_billed
        raise
    except BaseException:  # such as Ctrl-C: it may be answered all the same
        unknown = True
        raise
    finally:
        for account, holds in held.items():
            if used:
                account.let_go(holds, account.counted(used[-1], holds))
            else:
                account.let_go(holds, holds if unknown else Usage())


def at_most(request: Request, context: int | None) -> Usage:
    """What a chat request may take at most: as many tokens as its prompt has bytes, and the longest reply.

    No tokeniser in use makes more tokens of a text than it has bytes, the template's own left aside (see
    ``PER_MESSAGE``). A schema counts as part of the prompt, for some providers put it there. A request that does not
    bound its reply may fill the context window; where that is not known either, it counts as 4,096 tokens.
    """
    import orjson

    form = request.config.response_format
    # By part, for what a template adds to each.
    texts = [text_of(request.system or ""), *(text_of(part) for message in request.messages for part in message.parts)]
    written = request.config.max_tokens or context or 4096
    return Usage(
        calls=1,
        prompt_tokens=prompt_tokens_at_most(texts) + (len(orjson.dumps(form, default=str)) if form else 0),
        completion_tokens=written,
    )


def prompt_tokens_at_most(texts: Iterable[str]) -> int:
    """How many tokens a prompt of these messages may have at most."""
    return PER_PROMPT + sum(len(text.encode("utf-8", "replace")) + PER_MESSAGE for text in texts)


def _time(seconds: float) -> str:
    whole = seconds >= 120 and seconds % 60 == 0
    return f"{_plain(seconds / 60)} min" if whole else f"{_plain(seconds)} s"


def _plain(number: float) -> str:
    """A number in full, without an exponent: what a budget says of itself can be given again."""
    text = f"{Decimal(repr(float(number))):f}"
    return text.removesuffix(".0")
