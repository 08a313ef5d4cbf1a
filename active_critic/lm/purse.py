"""What the calls to one model have cost, and what they may cost here and now."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager

from active_critic.lm.budget import Account, Budget
from active_critic.lm.scope import Blocks
from active_critic.locks import OneAtATime
from active_critic.records import Usage


class Purse:
    """What a model's calls are paid from and counted in, from the threads that make them.

    ``LanguageModel`` says what its blocks are for.

    Args:
        name: The model's name.
        price: From tokens to what they cost in US dollars, or None where that is not known.
        keeps: Whether replies are kept now, so that none is paid for twice.

    Attributes:
        spent: What all calls have cost so far.
        account: What may be spent on all calls; None: there is no limit.
    """

    def __init__(self, name: str, price: Callable[[Usage], float | None], keeps: Callable[[], bool]) -> None:
        self.spent = Usage()
        self.account: Account | None = None
        self._name, self._price, self._keeps = name, price, keeps
        self._limited: Blocks[Account] = Blocks()
        self._told: Blocks[Callable[[Usage], None]] = Blocks()
        self._one_counts = OneAtATime()

    @property
    def accounts(self) -> Sequence[Account]:
        """Those that a call made here is paid from: the model's own, and those of the blocks that it is made in."""
        within = self._limited.here
        return within if self.account is None else [self.account, *within]

    def limit(self, budget: Budget | None) -> None:
        """Spend no more than this from now on; None: there is no limit.

        Raises:
            ModelError: It limits money, and the price is not known.
        """
        self.account = None if budget is None else self._opened(budget)

    def limited(self, budget: Budget) -> AbstractContextManager[None]:
        """A block in which no more than this is spent; what :meth:`limit` raises is raised at once."""
        return self._limited.having(self._opened(budget))

    def _opened(self, budget: Budget) -> Account:
        return Account(budget, self._name, self._price, keeps=self._keeps)

    def telling(self, count: Callable[[Usage], None]) -> AbstractContextManager[None]:
        """A block in which this is told, too, what its own work spends; once, in blocks within it."""
        return self._told.having(count)

    def count(self, usage: Usage) -> None:
        """Add to what has been spent, and tell those who are to be told."""
        with self._one_counts("it"):
            self.spent = self.spent + usage
            for count in set(self._told.own):
                count(usage)
