"""What an evaluator opens when it is first needed: its model and its journal, which no copy of it shares."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from active_critic.evaluators.origins import check_address
from active_critic.evaluators.parameters import check_journal
from active_critic.journal import Journal
from active_critic.lm import LanguageModel, open_lm
from active_critic.locks import OneAtATime
from active_critic.paths import default_journal
from active_critic.protocols import Provenance
from active_critic.records import Usage

_ONE_OPENS = OneAtATime()
"""Of the threads that use one evaluator, one opens its model; a lock of its own could not be pickled."""


class Opened:
    """The model and the journal of an evaluator, each opened once, whatever thread needs it.

    Args:
        made: Where the program comes from whose model is opened, where no model was named.
    """

    def __init__(self, made: Provenance | None = None) -> None:
        self._made = made
        self._model: LanguageModel | None = None
        self._own = False  # whether it was opened here, and not given
        self._journal: Journal | None = None
        self._spent = Usage()  # on models that are closed, or that others ask, too

    def __getstate__(self) -> dict[str, Any]:
        # A model and a journal that were opened here stay here: a copy opens its own.
        given = {} if not self._own else {"_model": None, "_own": False}
        return {**self.__dict__, **given, "_journal": None}

    def model(self, lm: Any, journal: str | Path | None) -> LanguageModel:
        """The opened model; one that is opened here has the journal as its memory.

        Args:
            lm: Whatever :func:`open_lm` takes.
            journal: As the evaluator's.
        """
        with _ONE_OPENS(id(self)):
            if self._model is None:
                if self._made is not None:
                    check_address(self._made)
                self._model = open_lm(lm)
                self._own = self._model is not lm
            if self._own and self._model.memory is None and (path := _path(journal)) is not None:
                self._model.memory = self._kept_at(path)
            return self._model

    @contextmanager
    def remembering(self, lm: Any, journal: str | Path | None) -> Iterator[None]:
        """For the length of a ``with`` block, what is asked of a model that was given is counted and kept here."""
        path = _path(journal)
        if not isinstance(lm, LanguageModel):
            yield
            return
        if path is None or (journal == "default" and lm.own_memory is not None):
            with lm.telling(self._count):
                yield
            return

        def opened() -> Journal:
            with _ONE_OPENS(id(self)):
                return self._kept_at(path)

        with lm.telling(self._count), lm.keeping(opened):
            yield

    def _count(self, usage: Usage) -> None:
        """Add what was spent on a model that others ask, too; called by one thread at a time."""
        self._spent += usage

    def _kept_at(self, path: str | Path) -> Journal:
        if self._journal is None:
            self._journal = Journal(path)
        return self._journal

    @property
    def usage(self) -> Usage:
        """What was spent so far: all by models that were opened here, and the own part of one that was given."""
        model = self._model if self._own else None
        return self._spent if model is None else self._spent + model.usage

    def close(self) -> None:
        """Close the journal, and the model that was opened here. Safe to call twice."""
        with _ONE_OPENS(id(self)):
            model = self._model if self._own else None
            if self._journal is not None:
                if model is not None:
                    model.memory = None
                self._journal.close()
                self._journal = None
            if model is not None:
                model.close()
                self._spent += model.usage
                self._model, self._own = None, False


def _path(journal: str | Path | None) -> str | Path | None:
    check_journal(journal)
    return default_journal() if journal == "default" else journal


class Unwritten:
    """A ``dspy.LM`` in the state of an evaluator: it can be copied, and is in no pickle, which would hold its key."""

    def __init__(self, lm: Any) -> None:
        self.lm = lm

    def __deepcopy__(self, memo: dict[int, Any]) -> Unwritten:
        return Unwritten(copy.deepcopy(self.lm, memo))

    def __reduce__(self) -> Any:
        raise TypeError(
            f"an evaluator with a {type(self.lm).__name__} cannot be pickled, for its key would be written too; save() "
            "the program, and have each process load() it with a model of its own"
        )
