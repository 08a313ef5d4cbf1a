"""Evaluators whose agreement with people follows the number of labels by construction: for tests of curves."""

from __future__ import annotations

import random

from compared import Asking

from active_critic.data import read_examples

QUICK = {"sizes": [5, 10, 20], "repeats": 2, "resamples": 60, "journal": None}


def labelled(count=60, of=3):
    """Examples in documents of ``of``, whose human scores are the numbers of words of the responses."""
    rng = random.Random(5)
    rows = [
        {
            "id": f"e{i}",
            "doc_id": f"d{i // of}",
            "source": f"question {i // of}",
            "response": f"answer {i} " + "word " * (length := rng.randint(0, 40)),
            "score": 1 + length / 10,
        }
        for i in range(count)
    ]
    return read_examples(rows, scale="1..5")


def truth(example):
    return 1 + (len(example.response.split()) - 2) / 10


class Learner(Asking):
    """Scores people's scores with an error whose size depends on the number of labels that it was fitted on."""

    def __init__(self, lm, error, fresh=True, seen=None, fails=None) -> None:
        super().__init__(lm, seen=seen, fails=fails)
        self.error, self.fresh = error, fresh

    def learn(self, data, notes, progress):
        size = self.error(len(data))
        drawn = f"{[example.id for example in data]}" if self.fresh else ""

        def mark(example):
            made = truth(example) + size * random.Random(f"{drawn}{example.id}").gauss(0, 1)
            return min(5.0, max(1.0, made))

        self.mark = mark
        return super().learn(data, notes, progress)


def learner(error, **settings):
    return {"mine": lambda lm: Learner(lm, error, **settings)}


RISING = learner(lambda labels: 150 / labels**2)
FLAT = learner(lambda labels: 0.5, fresh=False)
NOISY = learner(lambda labels: 2.0)
FALLING = learner(lambda labels: labels / 10)
