"""A judge answers questions about examples by one program; a run asks it, and turns what goes wrong into reasons."""

from __future__ import annotations

import itertools
import threading
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from active_critic.asking import PER_ITEM, UNREADABLE_AT_FIRST, why_unscored
from active_critic.data.rows import BadRow
from active_critic.errors import (
    BudgetSpent,
    ContextOverflow,
    EndpointDown,
    ModelError,
    RateLimited,
    RequestRefused,
    UnreadableReply,
)
from active_critic.lm.client import LanguageModel, Turn
from active_critic.records import Example, Usage, Verdict

GIVE_UP_AFTER = 5
"""Failures of the endpoint in a row after which a run stops instead of leaving the rest unscored.

Of questions that were under way together one failure counts, so that an outage of a moment ends no run.
"""
GIVE_UP_AT_FIRST = 2
"""The same for a run in which nothing was answered yet: one item may be at fault, two are not."""
GIVE_UP_AMONG_REPLAYS = 20
"""The same where only the journal answered in between: what failed before may be all that is left to be asked."""
GIVE_UP_UNREAD = 50
"""Items in a row whose replies cannot be read after which a run stops in which others could.

More than there are responses to one source, as a rule, or attacks on one text: these come one after the other. Refused
requests stop no such run: they cost nothing, and as no reply is kept, the next run would stop at the same place.
"""
OUT_OF_MEMORY = "there was not enough memory for this item; shorten it, or score with fewer workers"


OVERALL = "overall"
"""The question about the response as a whole: the only one where no aspects are named."""


class Judge(ABC):
    """Scores examples by one program; safe to call from several threads.

    What is asked about an example is one question or several that do not depend on each other. A run asks one
    question about all the examples it has read ahead before it comes to the next, so that what a question always
    begins with is read by the model once.

    Attributes:
        questions: Names of the questions.
    """

    questions: Sequence[str] = (OVERALL,)

    def asked(self, *, explain: bool) -> Sequence[str]:
        """Those of the questions that a verdict takes, with explanations or without."""
        del explain
        return self.questions

    def turns(self, question: str, example: Example) -> list[Turn]:
        """The prompt of a question; empty where the model is not asked in words."""
        del question, example
        return []

    @abstractmethod
    def answer(self, question: str, example: Example, *, explain: bool) -> Any:
        """Ask one question about one example.

        Raises:
            ModelError: There is no answer. One of ``asking.PER_ITEM`` leaves the example unscored; others end the run.
        """

    @abstractmethod
    def verdict(self, example: Example, answers: Mapping[str, Any]) -> Verdict:
        """The verdict on an example from the answers to all questions about it."""


class Run:
    """Asks a judge, and turns what goes wrong into reasons."""

    def __init__(self, judge: Judge, explain: bool, lm: LanguageModel | None = None) -> None:
        self.judge = judge
        self.explain = explain
        self.questions = judge.asked(explain=explain)
        self.check_command = lm.check_command if lm else "active-critic lm check"
        self.answered = False
        self.in_a_row = 0
        self.since_paid = 0
        self.counted = 0  # failures, in the whole run
        self.counting = threading.Lock()
        self.read: set[str] = set()
        self.unread: Counter[str] = Counter()  # by question, since one was read
        self.numbers = itertools.count()  # for jobs, in the order in which they are counted
        self.ended: dict[int, tuple[str, ModelError | bool]] = {}  # jobs that ended before an earlier one
        self.next = 0
        self.failure: ModelError | None = None
        self.stopped = False

    def ask(self, question: str, entry: Example | BadRow, answers: dict[str, Any], number: int) -> None:
        """Ask one question about one item; the answer, or why there is none, goes into ``answers``."""
        came = self._asked(question, entry, answers)
        with self.counting:
            self.ended[number] = question, came
            while self.next in self.ended:  # in order: whether a run stops does not depend on which worker is faster
                self._count_unread(*self.ended.pop(self.next))
                self.next += 1

    def _asked(self, question: str, entry: Example | BadRow, answers: dict[str, Any]) -> ModelError | bool:
        """What came of it: whether there is an answer, or why one that was asked for anew could not be used."""
        if self.stopped or isinstance(entry, BadRow) or not entry.response.strip():
            return False
        if any(isinstance(answer, _Failed) for answer in list(answers.values())):  # others may be adding to it
            return False  # one question without an answer leaves the item unscored: the others need not be paid for
        with self.counting:
            before = self.counted
        try:
            answers[question] = answer = self.judge.answer(question, entry, explain=self.explain)
        except PER_ITEM as problem:
            answers[question] = _Failed(why_unscored(problem, entry.source, entry.response), problem)
            self._count_answer(problem)
            paid = problem.sent or (isinstance(problem.usage, Usage) and problem.usage.calls > 0)
            return problem if paid and not isinstance(problem, ContextOverflow) else False
        except BudgetSpent as problem:  # what the memory holds can still be scored: the others go on
            answers[question] = _Failed(str(problem), problem)
            return False
        except (EndpointDown, RateLimited, MemoryError) as problem:
            failure = ModelError(OUT_OF_MEMORY) if isinstance(problem, MemoryError) else problem
            self._count_failure(failure, before)
            self.failure = failure
            answers[question] = _Failed(str(failure), failure)
            return False
        except BaseException:
            self.stopped = True  # before a worker takes the next question
            raise
        self._count_answer(answer)
        return True

    def _count_answer(self, came: Any) -> None:
        """Something came of a question; what the journal answered, or was never sent, tells nothing of the endpoint."""
        usage = getattr(came, "usage", None)
        replayed = isinstance(usage, Usage) and usage.replayed > 0 and usage.calls == 0
        with self.counting:
            self.answered, self.in_a_row = True, 0
            if not replayed and not (isinstance(came, ContextOverflow) and not came.sent):
                self.since_paid = 0

    def _count_failure(self, failure: ModelError, before: int) -> None:
        """The endpoint failed at a question that was begun when so many failures had been counted."""
        with self.counting:
            if before < self.counted:
                return
            self.counted += 1
            self.in_a_row += 1
            self.since_paid += 1
            at_once = self.in_a_row >= (GIVE_UP_AFTER if self.answered else GIVE_UP_AT_FIRST)
            if not at_once and self.since_paid < GIVE_UP_AMONG_REPLAYS:
                return
            self.stopped = True
            number = self.in_a_row if at_once else self.since_paid
        said = f"Stopped after {number} failures in a row, so that nothing is spent on an endpoint that fails."
        failure.add_note(f"{said} Before you run this again, try: {self.check_command}")
        raise failure from None

    def _count_unread(self, question: str, came: ModelError | bool) -> None:
        """The endpoint works; but where it refuses everything, or writes what cannot be read, going on is of no use."""
        if came is True:
            self.read.add(question)
            self.unread[question] = 0
        if not isinstance(came, ModelError) or (isinstance(came, RequestRefused) and question in self.read):
            return
        self.unread[question] += 1
        if self.unread[question] == (GIVE_UP_UNREAD if question in self.read else UNREADABLE_AT_FIRST):
            self.stopped = True
            self._give_up(question, came)

    def _give_up(self, question: str, problem: ModelError) -> NoReturn:
        """Say that nothing was read for so long, why that ends the run, and how to go on."""
        which = f"{'last' if question in self.read else 'first'} {self.unread[question]}"
        where = f" for the {question} reading" if len(self.questions) > 1 else ""
        go_on = "Before you run this again, try"
        failure: ModelError
        if isinstance(problem, UnreadableReply):
            said = f"none of the {which} replies{where} could be read; the last: {problem}"
            failure = UnreadableReply(said, reply=problem.reply)
            why = "nothing is spent on a model that does not answer in the form asked for"
            if not problem.sent:  # the reply came, and is in the journal
                go_on = "The replies are kept: the same command goes on behind them and pays for none again. "
                go_on += "Before you run it, try"
        else:
            failure = RequestRefused(f"none of the {which} requests{where} was answered; the last: {problem}")
            why = "no more is sent to an endpoint that refuses everything"
        failure.add_note(f"Stopped, so that {why}. {go_on}: {self.check_command}")
        raise failure from None

    def check(self) -> None:
        """Raise what went wrong where nothing else has come of the run so far."""
        if self.failure is not None and not self.answered:
            raise self.failure

    def verdict(self, entry: Example | BadRow, answers: Mapping[str, Any]) -> Verdict:
        """The verdict on one item: the judge's, or unscored with the reason."""
        if isinstance(entry, BadRow):
            return Verdict(unscored=entry.reason)
        if not entry.response.strip():
            return Verdict(unscored="the response is empty")
        usage = sum((a.usage for a in answers.values() if isinstance(getattr(a, "usage", None), Usage)), Usage())
        for question in self.questions:
            answer = answers.get(question)
            if isinstance(answer, _Failed):
                where = f"{question}: " if len(self.questions) > 1 else ""
                return Verdict(unscored=where + answer.reason, usage=usage)
        return self.judge.verdict(entry, answers)


class _Failed:
    """A question that has no answer."""

    def __init__(self, reason: str, problem: ModelError) -> None:
        self.reason = reason
        self.usage = problem.usage
