"""What may be spent on one piece of work, with whatever the model may spend at all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from active_critic.errors import DataError
from active_critic.lm.budget import EXAMPLES, Account, Budget

if TYPE_CHECKING:
    from active_critic.lm.client import LanguageModel

Amounts = str | Sequence[str] | Budget
"""A budget as people give it: ``"500 calls"``, ``["200k tokens", "2 USD"]``, or a :class:`Budget`."""


def as_budget(given: Any) -> Budget:
    """A budget, read where it is given in words.

    Raises:
        DataError: It is none.
    """
    if isinstance(given, Budget):
        return given
    texts = [given] if isinstance(given, str) else given
    if not isinstance(texts, Sequence) or not texts or not all(isinstance(text, str) for text in texts):
        raise DataError(f"{given!r} is no budget; write for example {EXAMPLES}")
    return Budget.parse(texts)


@contextmanager
def spending(model: LanguageModel, budget: Budget | None) -> Iterator[None]:
    """Let a model spend no more than this for the length of a ``with`` block, nor more than its own budget has left.

    What is spent counts in its own budget, too, which holds again afterwards.

    Args:
        model: The model.
        budget: What may be spent from now on; None: no more than ever.

    Raises:
        ModelError: The budget limits money, and the model's price is not known.
    """
    before = model._account
    within = budget if budget is None or before is None else _both(budget, before)
    if within is None:
        yield
        return
    account: Account | None = None
    try:
        model.budget = within
        account = model._account
        yield
    finally:
        model._account = before
        if account is not None and before is not None:
            with before._changed:
                before.spent = before.spent + account.spent


def _both(budget: Budget, own: Account) -> Budget | None:
    """This budget, and what is left of the model's own; None where nothing is, so that its own refuses everything."""
    spent, limits = own.spent, own.budget
    left: dict[str, float] = {}
    if limits.calls is not None:
        left["calls"] = limits.calls - spent.calls
    if limits.tokens is not None:
        left["tokens"] = limits.tokens - spent.prompt_tokens - spent.completion_tokens
    if limits.cost is not None:
        left["cost"] = limits.cost - (spent.cost or 0.0)
    if limits.seconds is not None:
        left["seconds"] = own.seconds_left
    if any(amount <= 0 for amount in left.values()):
        return None
    least: dict[str, Any] = {}
    for name in (part.name for part in fields(budget)):
        least[name] = min(filter(None, (getattr(budget, name), left.get(name))), default=None)
    return Budget(**least)
