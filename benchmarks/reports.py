"""Whether the report of a fit holds what it says: whole fits, with a made-up model that agrees with people as told.

    python benchmarks/reports.py openmeva_roc=path/to/openmeva_roc.jsonl

Simulated: texts are those of a set, people's scores are drawn, and so is what the model says of every text, by a
correlation with the scores that is known. Everything else is the product: search, readings, combination, folds and
intervals. What each report says is set beside what its program reaches on documents that no fit saw. No model is asked.
"""

from __future__ import annotations

import argparse
import json
import math
import random
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import NormalDist, fmean, stdev
from typing import Any

import numpy as np

import active_critic as ac
from active_critic.data.examples import group_of
from active_critic.lm import Capabilities, LanguageModel, Turn, rehearsal
from active_critic.lm.habits import habits_of
from active_critic.lm.likelihood import Likelihood
from active_critic.stats import agreement

SETTINGS = (
    (0.0, 12, 1, 3), (0.0, 24, 1, 3), (0.0, 24, 1, 11), (0.0, 8, 3, 3), (0.0, 16, 3, 3),
    (0.3, 12, 1, 3), (0.3, 24, 1, 3), (0.3, 24, 1, 11), (0.3, 8, 3, 3), (0.3, 16, 3, 3), (0.6, 24, 1, 3),
)  # fmt: skip
"""Correlation of each reading with people's scores, documents, responses of each, and candidates of the search."""
NEW = 60
"""Documents that are scored after each fit."""
WITHIN = 0.3
"""The correlation of people's scores of two responses of a document."""
STEADY = 0.8
"""The share of what a rating says that is the same whatever stands around the text; squared, that of its variance."""
SCALE = ac.Scale(low=1, high=5)
LOCAL = {"name": "qwen2.5-coder-1.5b", "weights": "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046"}
"""The embedded model, as whose stand-in the made-up one begins with the same belief in readings."""
CRITERIA = [
    ac.Criterion(name=name, definition=f"The response has {name.lower()}.")
    for name in ("Fluency", "Coherence", "Relevance", "Accuracy")
]
NORMAL = NormalDist()


def main() -> None:
    """Fit, score, and write what the reports say, and what is so."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", metavar="NAME=PATH")
    parser.add_argument("--fields", default="score=overall,group=doc_id")
    parser.add_argument("--fits", type=int, default=200, help="of each setting")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--out", default="benchmarks/results/reports", help="without .json and .md")
    args = parser.parse_args()
    name, _, path = args.data.partition("=")
    fields = dict(pair.split("=", 1) for pair in args.fields.split(","))
    texts = ac.read_examples(path, fields=fields)
    found = []
    with ProcessPoolExecutor(args.processes) as pool:
        for setting in SETTINGS:
            fits = list(pool.map(partial(one_fit, texts, setting), range(args.fits), chunksize=5))
            found.append(summary(setting, fits))
            print(json.dumps(found[-1]), flush=True)
    document = {"set": name, "fits": args.fits, "new": NEW, "within": WITHIN, "steady": STEADY, "settings": found}
    stem = Path(args.out)
    stem.with_suffix(".json").write_text(json.dumps(document, indent=1) + "\n")
    stem.with_suffix(".md").write_text(page(document))
    print(page(document))


class MadeUp(rehearsal._Understudy):
    """Answers like a rehearsal's stand-in, but rates and weighs responses by a correlation with people's scores.

    Args:
        number: Of the fit: another one draws other errors.
        correlation: Of what it says of a response with people's score.
        people: How good each response is to people, standard normal.
    """

    def __init__(self, lm: LanguageModel, number: int, correlation: float, people: dict[str, float]) -> None:
        super().__init__(lm, 0, {}, lambda text: math.ceil(len(text) / 4), habits_of(lm, []))
        self.number, self.correlation, self.people = number, correlation, people

    def _found(self, response: str, prompt: str, shown: bool) -> float:
        del shown
        error = STEADY * self._drawn(response) + math.sqrt(1 - STEADY**2) * self._drawn(prompt)
        return NORMAL.cdf(self._with(response, error))

    def weigh(self, turns: Sequence[Turn], text: str) -> Likelihood:
        _, read = self._read(turns)
        likely = self._with(text, self._drawn(f"likelihood of {text}"))
        rng = random.Random(f"{self.number} tokens of {text}")
        logprobs = [-rng.expovariate(1 / (2 - 0.3 * likely)) for _ in range(self.count(text))]
        return Likelihood.of(logprobs, "forced", replace(read, completion_tokens=len(logprobs)))

    def _drawn(self, text: str) -> float:
        """A standard normal number that a text always has."""
        return random.Random(f"{self.number} {text}").gauss(0, 1)

    def _with(self, response: str, error: float) -> float:
        return self.correlation * self.people.get(response, 0.0) + math.sqrt(1 - self.correlation**2) * error


def one_fit(texts: ac.Examples, setting: tuple[float, int, int, int], number: int) -> dict[str, Any]:
    """What the report of one fit says, and what its program reaches on further documents."""
    correlation, documents, each, candidates = setting
    rng = random.Random(f"{number} {setting}")
    of: dict[str, list[int]] = {}
    for place, example in enumerate(texts):
        of.setdefault(group_of(example), []).append(place)
    drawn = rng.sample(sorted(one for one, places in of.items() if len(places) >= each), documents + NEW)
    people: dict[str, float] = {}
    rows: list[list[dict[str, Any]]] = [[], []]
    for place, document in enumerate(drawn):
        shared = rng.gauss(0, 1)
        for one in rng.sample(of[document], each):
            good = math.sqrt(WITHIN) * shared + math.sqrt(1 - WITHIN) * rng.gauss(0, 1)
            people[texts[one].response] = good
            row = {"source": texts[one].source, "response": texts[one].response, "group": document}
            rows[place >= documents].append({**row, "score": min(5, max(1, round(3 + 1.2 * good)))})
    train, new = (ac.read_examples(part, scale=SCALE) for part in rows)
    able = Capabilities(json_schema=True, probabilities=True)
    asked = MadeUp(LanguageModel(LOCAL["name"], _nobody, identity=LOCAL), number, correlation, people)
    lm = LanguageModel(LOCAL["name"], asked.send, identity=LOCAL, context=16_384, capabilities=able, weigh=asked.weigh)
    with ac.fit(
        train, lm=lm, mode="coarse", candidates=candidates, seed=number, journal=None, criteria=CRITERIA,
        task_description="Responses are rated as a whole.",
    ) as critic:  # fmt: skip
        report = critic.report_
        verdicts = list(critic.score_many(new, explain=False))
    human = [float(example.score or 0) for example in new]
    reached = agreement(
        [verdict.score for verdict in verdicts], human, [group_of(example) for example in new], resamples=0
    )
    bounded = [
        one.interval[0] - 1e-9 <= score <= one.interval[1] + 1e-9
        for one, score in zip(verdicts, human, strict=True)
        if one.interval is not None
    ]
    if report is None or report.critic is None:
        raise AssertionError("a fit on so many documents has a report")
    said = " ".join(report.words)
    return {
        "zero_shot": report.zero_shot.mean if report.zero_shot else None,
        "said": report.critic.mean,
        "interval": report.critic.mean_interval,
        "reached": reached.mean,
        "beats_zero_shot": "It beats zero-shot" in said,
        "beats_floor": "It beats the surface" in said,
        "held": fmean(bounded) if bounded else None,
    }


def _nobody(*_: object) -> Any:
    raise AssertionError("a call was made")


def summary(setting: tuple[float, int, int, int], fits: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """What all fits of a setting come to."""
    whole = [one for one in fits if None not in (one["said"], one["reached"], one["interval"])]
    said, reached = [one["said"] for one in whole], [one["reached"] for one in whole]
    true = fmean(reached) if setting[0] else 0.0
    zero_shot = [one["zero_shot"] for one in fits if one["zero_shot"] is not None]
    held = [one["held"] for one in fits if one["held"] is not None]
    return {
        **dict(zip(("correlation", "documents", "each", "candidates"), setting, strict=True)),
        "fits": len(whole),
        "zero_shot": round(fmean(zero_shot), 4),
        "said": round(fmean(said), 4),
        "reached": round(fmean(reached), 4),
        "error_of_difference": round(stdev(np.subtract(said, reached)) / math.sqrt(len(whole)), 4),
        "spread_said": round(stdev(said), 4),
        "holds": round(fmean(one["interval"][0] <= true <= one["interval"][1] for one in whole), 4),
        "too_high": round(fmean(one["interval"][0] > true for one in whole), 4),
        "beats_zero_shot": round(fmean(one["beats_zero_shot"] for one in whole), 4),
        "beats_floor": round(fmean(one["beats_floor"] for one in whole), 4),
        "verdicts_held": round(fmean(held), 4) if held else None,
    }


def page(document: dict[str, Any]) -> str:
    """The Markdown table."""
    lines = [
        f"Reports of {document['fits']} whole fits each (coarse mode) with a made-up model, on texts of",
        f"{document['set']} and drawn scores of 1 to 5, beside what their programs reach on {document['new']}",
        "documents more. What the model says of a text correlates so with people's scores before these are",
        "rounded, and before its words depend on the prompt. *Report*, *reached*: the mean of the three",
        "coefficients, on average of the fits (± 95 % of their difference). *Holds*: 95 % intervals of the report",
        "that hold what is reached on average (with nothing to learn: 0); *above*: those that lie above it.",
        "*Beats*: reports that say so of zero-shot, and of the surface floor. *In*: people's scores of new texts",
        "within the 90 % interval of their verdict.",
        "",
        "| correlation | documents x texts | candidates | zero-shot | report | reached | holds | above | beats | in |",
        "|" + " --- |" * 10,
    ]
    for one in document["settings"]:
        beats = f"{one['beats_zero_shot']:.0%}, {one['beats_floor']:.0%}"
        verdicts = "none is given" if one["verdicts_held"] is None else f"{one['verdicts_held']:.0%}"
        reached = f"{one['reached']:.3f} (± {1.96 * one['error_of_difference']:.3f})"
        lines.append(
            f"| {one['correlation']:g} | {one['documents']} x {one['each']} | {one['candidates']} "
            f"| {one['zero_shot']:.3f} | {one['said']:.3f} | {reached} "
            f"| {one['holds']:.1%} | {one['too_high']:.1%} | {beats} | {verdicts} |"
        )
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    main()
