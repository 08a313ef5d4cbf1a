"""Where the replies of one model are kept, here and now; no question that is answered there is paid for again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any, TypeVar

from active_critic.lm.deadline import finished
from active_critic.lm.likelihood import Likelihood
from active_critic.lm.memory import Impossible, Memory, alone, canonical, key_of, read_kept
from active_critic.lm.reply import Reply
from active_critic.lm.scope import Blocks, Scoped
from active_critic.locks import OneAtATime
from active_critic.records import Usage

Paid = TypeVar("Paid", Reply, Likelihood)


class Remembering:
    """The memories of a model, from the threads that ask it; ``LanguageModel`` says what its blocks are for.

    Args:
        name: The model's name.
        count: Told of every reply that was found.

    Attributes:
        usual: Where replies are kept outside of all blocks, or None.
    """

    def __init__(self, name: str, count: Callable[[Usage], None]) -> None:
        self.usual: Memory | None = None
        self._name, self._count = name, count
        self._blocks: Blocks[Memory | None] = Blocks()
        self._own: Scoped[Callable[[], Memory] | None] = Scoped(None)
        self._repeat = Scoped(0)
        self._asking = OneAtATime()

    @property
    def now(self) -> Memory | None:
        """Where replies are kept here and now, or None."""
        if self._blocks.own or self._own.now is not None:
            return self.own
        others = [memory for memory in self._blocks.here if memory is not None]
        return others[-1] if others else self.usual

    @property
    def own(self) -> Memory | None:
        """The same, but never the memory of a block that only others are in."""
        if within := self._blocks.own:
            return within[-1]
        own = self._own.now
        return self.usual if own is None else own()

    def within(self, memory: Memory | None) -> AbstractContextManager[None]:
        """A block in which all replies are kept in this memory."""
        return self._blocks.having(memory)

    def keeping(self, opened: Callable[[], Memory]) -> AbstractContextManager[None]:
        """A block whose own replies are kept in this memory, which is opened when it is needed."""
        return self._own.being(opened)

    def repeating(self, number: int) -> AbstractContextManager[None]:
        """A block in which only replies of the repeat of this number are known."""
        return self._repeat.being(number)

    def once(self, asked: Mapping[str, Any], read: Callable[[str], Paid], pay: Callable[[], Paid]) -> Paid:
        """What the journal holds for this question, else what is paid for now, kept before it is used.

        Args:
            asked: The question.
            read: Reads what is kept.
            pay: Asks the model.
        """
        repeat = self._repeat.now
        document = canonical({**asked, "repeat": repeat} if repeat else asked, self._name)
        memory = self.now
        if memory is None:
            return pay()
        try:
            return self._one_pays(memory, document, read, pay)
        except Impossible:
            return self.once({**asked, "anew": asked.get("anew", 0) + 1}, read, pay)

    def _one_pays(self, memory: Memory, document: str, read: Callable[[str], Paid], pay: Callable[[], Paid]) -> Paid:
        """Of two threads or processes with one question, one pays, and the other finds the reply."""
        key = key_of(document)
        with self._asking(key), alone(memory, key):
            kept = memory.recall(key)
            if kept is not None:
                replayed = replace(read_kept(kept, key, read), usage=Usage(replayed=1))
                self._count(replayed.usage)
                return replayed

            def pay_and_keep() -> Paid:
                paid = pay()
                memory.keep(key, document, paid.to_json())
                return paid

            return finished(pay_and_keep)
