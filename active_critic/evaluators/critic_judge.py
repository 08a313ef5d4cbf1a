"""What scores by a critic's program: one question, which the scorer turns into a verdict."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from active_critic.evaluators.base import Judge
from active_critic.lm.client import Turn
from active_critic.records import Example, Verdict
from active_critic.scoring import OVERALL_QUESTION, Scorer, demo_turns, instructions, item


class CriticJudge(Judge):
    """The judge of Active-Critic and of zero-shot."""

    def __init__(self, scorer: Scorer) -> None:
        self.scorer = scorer

    def turns(self, question: str, example: Example) -> list[Turn]:
        """The conversation; in fine mode with a placeholder where the ratings of the criteria come to stand."""
        del question
        protocol = self.scorer.protocol
        turns: list[Turn] = [("system", instructions(protocol)), *demo_turns(protocol, self.scorer.rate.demos)]
        turns.append(("user", item(example.source, example.response, protocol)))
        if protocol.mode == "fine":
            turns += [("assistant", "(ratings of the criteria)"), ("user", OVERALL_QUESTION)]
        return turns

    def answer(self, question: str, example: Example, *, explain: bool) -> Verdict:
        """The scorer's verdict."""
        del question
        return self.scorer.verdict(example.source, example.response, explain=explain)

    def verdict(self, example: Example, answers: Mapping[str, Any]) -> Verdict:
        """The same."""
        del example
        verdict: Verdict = answers["overall"]
        return verdict
