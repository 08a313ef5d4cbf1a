"""Evaluators that ask a scripted model one thing, and score as they are told: for tests of comparisons."""

from __future__ import annotations

import random
from typing import Literal

from active_critic.data import read_examples
from active_critic.data.examples import example_key
from active_critic.evaluators.base import Evaluator
from active_critic.evaluators.judging import Judge
from active_critic.lm import scripted_lm
from active_critic.protocols import Protocol
from active_critic.records import Verdict

QUICK = {"folds": 3, "resamples": 40, "journal": None}


def examples(count=24):
    rng = random.Random(7)
    rows = [
        {
            "id": f"e{i}",
            "doc_id": f"d{i // 2}",
            "system": f"s{i % 2}",
            "source": f"question {i // 2}",
            "response": f"answer {i} " + "word " * (length := rng.randint(0, 40)),
            "score": min(5, max(1, round(length / 8 + rng.gauss(0, 1), 1))),
            "comment": "as long as it should be",
        }
        for i in range(count)
    ]
    return read_examples(rows, scale="1..5")


class AskingProtocol(Protocol):
    evaluator: Literal["asking"] = "asking"


class AskingJudge(Judge):
    def __init__(self, evaluator) -> None:
        self.of = evaluator

    def answer(self, question, example, *, explain):
        assert example.score is None, "who scores must not see what people said"
        assert not example.record
        assert not example.aspects
        assert example.comment is None
        return self.of.model.ask([("user", f"{self.of.word}: {example.response}")], max_tokens=9)

    def verdict(self, example, answers):
        score = self.of.mark(example)
        return Verdict(unscored=score) if isinstance(score, str) else Verdict(score=score)


class Asking(Evaluator):
    """Asks one thing to fit and one thing to score; what it gives is a function of the example."""

    kind = "asking"
    document = AskingProtocol

    def __init__(self, lm, word="rate", mark=None, seen=None, fails=None, journal=None) -> None:
        super().__init__(lm, journal=journal)
        self.word, self.mark, self.seen, self.fails = word, mark or longer, seen, fails

    def learn(self, data, notes, progress):
        if self.seen is not None:
            self.seen.append([example_key(example) for example in data])
        if self.fails is not None:
            self.fails(data)
        self.model.ask([("user", f"{self.word} fit {[example.id for example in data]}")], max_tokens=9)
        provenance = self.provenance(data, [*notes, "fitted"]).model_copy(update={"settings": {"word": self.word}})
        return AskingProtocol(scale=data.scale, provenance=provenance)

    def judge(self):
        return AskingJudge(self)


def longer(example):
    return min(5.0, 1 + len(example.response.split()) / 10)


def noisy(example):
    return 1 + 4 * random.Random(example.response).random()


def asking(word="rate", **settings):
    return lambda lm: Asking(lm, word, **settings)


def model(calls=None, **settings):
    def answer(turns):
        if calls is not None:
            calls.append(turns[-1][1])
        return "yes, I did"

    return scripted_lm(answer, **settings)


def without_time(document):
    if isinstance(document, dict):
        return {name: without_time(value) for name, value in document.items() if name != "seconds"}
    return [without_time(value) for value in document] if isinstance(document, list) else document
