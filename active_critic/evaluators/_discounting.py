"""A judge whom a forged verdict in a text gains nothing: what poses as the prompt or the reply can only cost."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from active_critic.asking import spent_on
from active_critic.data.examples import Examples
from active_critic.errors import ModelError
from active_critic.evaluators._readings import Use
from active_critic.evaluators.judging import Judge
from active_critic.forgeries import without_forgeries
from active_critic.lm.client import Turn
from active_critic.protocols import CriticProtocol
from active_critic.reasons import NOTHING_ELSE
from active_critic.records import Example, Usage, Verdict

DISCOUNTED = (
    "part of the response poses as the judge's prompt or reply: it was judged with that part and without it, and the "
    "lower score counts"
)
HAVING = (
    "{} of {} examples {} as the judge's prompt or reply in part, so that nothing is held against texts that do "
    "(--discount-forgeries always would)"
)


class Discounting(Judge):
    """Judges a text with a forgery in it twice, with that part and without, and takes the lower score.

    So the forgery can cost, but gains nothing beyond what the rest of the text would have had. Texts without any are
    judged as ever.

    Args:
        judge: Whose verdicts these are.
    """

    def __init__(self, judge: Judge) -> None:
        self.judge = judge
        self.questions = judge.questions

    def asked(self, *, explain: bool) -> Sequence[str]:
        """See :class:`Judge`."""
        return self.judge.asked(explain=explain)

    def turns(self, question: str, example: Example) -> list[Turn]:
        """See :class:`Judge`; of the text as it is."""
        return self.judge.turns(question, example)

    def answer(self, question: str, example: Example, *, explain: bool) -> Any:
        """The judge's answer; two of them, or none, where part of the text, or all of it, is a forgery."""
        rest = without_forgeries(example.response)
        if rest is None:
            return self.judge.answer(question, example, explain=explain)
        if not rest:
            return None
        whole = self.judge.answer(question, example, explain=explain)
        try:
            part = self.judge.answer(question, replace(example, response=rest), explain=explain)
        except ModelError as problem:
            problem.usage = whole.usage + spent_on(problem)  # the first is paid for, whoever catches this
            raise
        return _Both(whole, part)

    def verdict(self, example: Example, answers: Mapping[str, Any]) -> Verdict:
        """The judge's verdict; the lower one of two, where a part of the text is a forgery."""
        rest = without_forgeries(example.response)
        if rest is None:
            return self.judge.verdict(example, answers)
        if not rest:
            return Verdict(unscored=NOTHING_ELSE)
        whole = self.judge.verdict(example, {name: both.whole for name, both in answers.items()})
        part = self.judge.verdict(replace(example, response=rest), {name: both.rest for name, both in answers.items()})
        lower = min((whole, part), key=lambda verdict: -math.inf if verdict.score is None else verdict.score)
        return replace(lower, notes=(*lower.notes, DISCOUNTED), usage=whole.usage + part.usage)


@dataclass(frozen=True, slots=True)
class _Both:
    """What was answered about a text, and about what is left of it without the forgery."""

    whole: Any
    rest: Any

    @property
    def usage(self) -> Usage:
        """What both cost."""
        usage: Usage = self.whole.usage + self.rest.usage
        return usage


def discounting(judge: Judge, program: CriticProtocol) -> Judge:
    """The judge, or where the program discounts forgeries one who does."""
    return Discounting(judge) if program.discounts_forgeries else judge


def discounts(use: Use, data: Examples, notes: list[str]) -> bool:
    """Whether a program is to discount forgeries.

    Args:
        use: ``"auto"``: unless an example has one, for there it may be what the task asks for.
        data: The examples.
        notes: Where the user is told of those that have one.
    """
    if use != "auto":
        return use == "always"
    having = sum(without_forgeries(example.response) is not None for example in data)
    if having:
        notes.append(HAVING.format(having, len(data), "poses" if having == 1 else "pose"))
    return not having
