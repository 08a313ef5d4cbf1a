"""What a fit costs, stage by stage."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from active_critic.evaluators.base import Evaluator
from active_critic.evaluators.origins import BEFORE
from active_critic.lm.metering import Meter
from active_critic.records import Usage


class Bill:
    """What each stage of a fit costs.

    Args:
        spent: Says what has been spent so far.
        meter: Counts what the fit needs, whether it is paid for now or was before; None without a journal.
    """

    def __init__(self, spent: Callable[[], Usage], meter: Meter | None) -> None:
        self._spent = spent
        self._meter = meter
        self._stages: dict[str, Usage] = {}

    @classmethod
    @contextmanager
    def of(cls, critic: Evaluator) -> Iterator[Bill]:
        """That of what is asked inside."""
        memory = critic.model.memory
        meter = None if memory is None else Meter(memory)
        with critic.model.remembering(meter):
            yield cls(lambda: critic.usage, meter)

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """What is asked of the model inside belongs to this stage."""
        before = self._spent()
        yield
        self._stages[name] = self._spent() - before

    def in_all(self) -> dict[str, Usage]:
        """By stage, in the order in which they ended, and in all: see ``FitReport.usage``."""
        before = {BEFORE: self._meter.lap()} if self._meter is not None and self._meter.found else {}
        return {**self._stages, "total": sum(self._stages.values(), Usage()), **before}
