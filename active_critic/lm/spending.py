"""What may be spent on one piece of work, with whatever the model may spend at all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from active_critic.errors import DataError
from active_critic.lm.budget import EXAMPLES, Budget

if TYPE_CHECKING:
    from active_critic.lm.client import LanguageModel

Amounts = str | Sequence[str] | Budget
"""A budget as people give it: ``"500 calls"``, ``["200k tokens", "2 USD"]``, or a :class:`Budget`."""


def as_budget(given: Any) -> Budget:
    """A budget, read where it is given in words.

    Raises:
        DataError: It is none, or one that limits nothing.
    """
    if isinstance(given, Budget):
        if given == Budget():
            raise DataError(f"the budget limits nothing; leave it out for no limit, or write for example {EXAMPLES}")
        return given
    texts = [given] if isinstance(given, str) else given
    if not isinstance(texts, Sequence) or not texts or not all(isinstance(text, str) for text in texts):
        raise DataError(f"{given!r} is no budget; write for example {EXAMPLES}")
    return Budget.parse(texts)


@contextmanager
def spending(model: LanguageModel, budget: Budget | None) -> Iterator[None]:
    """Let a model spend no more than this for the length of a ``with`` block, nor more than its own budget has left.

    What is spent counts in its own budget, too, and in those of the blocks around this one. Blocks of several threads
    may overlap: each counts what its own work spends. A thread that was begun otherwise than by this package does not
    say which block it belongs to: what it spends counts in all that are open.

    Args:
        model: The model.
        budget: What may be spent from now on; None: no more than ever.

    Raises:
        ModelError: The budget limits money, and the model's price is not known.
    """
    if budget is None:
        yield
        return
    with model.limited(budget):
        yield
