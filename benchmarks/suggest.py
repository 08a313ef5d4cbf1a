"""Which rule for the next texts to label needs the fewest labels: several against drawing at random.

    python benchmarks/suggest.py sfres=path/to/sfres.jsonl hanna=path/to/hanna.jsonl.gz --documents 44 16 --lm local
    python benchmarks/suggest.py sfres=path/to/sfres.jsonl hanna=path/to/hanna.jsonl.gz --lm none

Labels are hidden: in every split a third of the examples (whole documents) is held out, ten labels are drawn at random
from the others, and five are added at a time by each rule, after each of which the score is fitted anew. Readings come
from the model through the journal, once; ``none`` does with the surface alone. Numbers and settings only, never texts.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")  # the matrices are tiny

import numpy as np  # noqa: E402

import active_critic as ac  # noqa: E402
from active_critic.data.examples import data_sha256  # noqa: E402
from active_critic.evaluators._readings import READINGS, TOKENS  # noqa: E402
from active_critic.evaluators.surface import SurfaceFloor, figures_of  # noqa: E402
from active_critic.journal import Journal  # noqa: E402
from active_critic.lm import open_lm  # noqa: E402
from active_critic.records import Verdict  # noqa: E402
from active_critic.stats import percentile_interval, q  # noqa: E402
from active_critic.suggesting import Places, farthest, per_document  # noqa: E402

sys.path.insert(0, str(Path(__file__).parent))
import combining  # noqa: E402
import drawing  # noqa: E402
import readings as reading  # noqa: E402

START, STEP = 10, 5
POOL = 150
"""Texts that labels come from, at most."""
SHIPPED = "coverage"
RANDOM = "at random"

Floats = np.ndarray[Any, np.dtype[np.float64]]


@dataclass(frozen=True)
class Step:
    """What a rule sees: texts to choose from, then labelled ones.

    Attributes:
        where: The places of all of them.
        score: Their predicted scores.
        free: How many can be chosen from.
        documents: The documents of these.
        rng: For rules that draw.
    """

    where: Places
    score: Floats
    free: int
    documents: list[str]
    rng: np.random.Generator

    @property
    def disagreement(self) -> Floats:
        """The spread of the standardised readings of each text; the same for all where there are not several."""
        readings = [i for i, name in enumerate(self.where.names) if name in READINGS]
        if len(readings) < 2:
            return np.ones(self.free)
        return np.asarray(self.where.standard[: self.free, readings].std(axis=1))


Rule = Callable[[Step], list[int]]


def at_random(step: Step) -> list[int]:
    return [int(i) for i in step.rng.choice(step.free, STEP, replace=False)]


def over_documents(step: Step) -> list[int]:
    """At random, but as many documents as possible."""
    nowhere = np.zeros((step.free, 1))
    order = step.rng.permutation(step.free)
    documents = [step.documents[i] for i in order]
    picks = farthest(np.vstack([nowhere, nowhere[:1]]), step.free, STEP, documents, per_document(documents, STEP))
    return [int(order[i]) for i, _ in picks]


def coverage(step: Step) -> list[int]:
    """The rule of the product."""
    return [i for i, _ in _farthest(step, step.where.at)]


def over_scores(step: Step) -> list[int]:
    """The same with the predicted score alone."""
    return [i for i, _ in _farthest(step, step.score[:, None])]


def disagreement(step: Step) -> list[int]:
    """The texts whose readings differ most."""
    return [int(i) for i in np.argsort(-step.disagreement, kind="stable")[:STEP]]


def both(step: Step) -> list[int]:
    """The largest product of the distance and of the disagreement, again and again."""
    at, weight, chosen = step.where.at, step.disagreement.copy(), []
    near = np.min([np.linalg.norm(at[: step.free] - known, axis=1) for known in at[step.free :]], axis=0)
    for _ in range(STEP):
        index = int(np.argmax(near * weight))
        chosen.append(index)
        weight[index] = -1.0
        near = np.minimum(near, np.linalg.norm(at[: step.free] - at[index], axis=1))
    return chosen


def representatives(step: Step) -> list[int]:
    """Again and again the text that brings all texts, on average, nearest to a labelled or chosen one (k-medoids)."""
    apart = np.linalg.norm(step.where.at[:, None] - step.where.at[None], axis=2)
    near, chosen = apart[:, step.free :].min(axis=1), []
    for _ in range(STEP):
        chosen.append(int(np.argmax(np.maximum(0.0, near[:, None] - apart[:, : step.free]).sum(axis=0))))
        near = np.minimum(near, apart[:, chosen[-1]])
    return chosen


def _farthest(step: Step, at: Floats) -> list[tuple[int, int | None]]:
    return farthest(at, step.free, STEP, step.documents, per_document(step.documents, STEP))


RULES: dict[str, Rule] = {
    RANDOM: at_random,
    "at random, over documents": over_documents,
    SHIPPED: coverage,
    "representatives": representatives,
    "spread over predicted scores": over_scores,
    "disagreement of the readings": disagreement,
    "coverage times disagreement": both,
}
NEED_READINGS = {"disagreement of the readings", "coverage times disagreement"}


class Learner:
    """The score fitted on some labels: of readings and surface, or of the surface alone."""

    def __init__(self, data: combining.Readings, figures: Floats, labels: Sequence[int]) -> None:
        self.data, self.figures = data, figures
        taken, at = data.examples.take(labels), list(labels)
        self.floor = SurfaceFloor().fit(taken, data.scale, figures=figures[at])
        self.found = None
        if data.values:
            train = {name: column[at] for name, column in data.values.items()}
            human = data.human[at]
            trial = combining.Trial(train, {}, taken, human, human, data.scale, self._figures(at))
            self.found = combining.fitted(trial)

    def _figures(self, at: Sequence[int]) -> dict[str, Floats]:
        """The figures of some examples, by kind."""
        tokens = {} if self.data.tokens is None else {TOKENS: self.data.tokens[list(at)]}
        return {"surface": self.figures[list(at)], **tokens}

    def verdicts(self, positions: Sequence[int]) -> list[Verdict]:
        """What a program would say of these examples."""
        at = list(positions)
        there = self.figures[at]
        if self.found is None:
            return [Verdict(score=score) for score in self.floor.predict(self.data.examples.take(at), figures=there)]
        tried = {name: column[at] for name, column in self.data.values.items()}
        taken, human = self.data.examples.take(at), self.data.human[at]
        trial = combining.Trial({}, tried, taken, human, human, self.data.scale, {}, self._figures(at))
        return [Verdict(score=one.score, parts=one.added) for one in combining.combined(self.found, trial)]


def curves(data: combining.Readings, args: argparse.Namespace) -> dict[str, list[list[float]]]:
    """For every rule and split the agreement on what is held out with 10, 15, 20, ... labels."""
    figures = figures_of(data.examples)
    documents = data.groups
    rules = {name: rule for name, rule in RULES.items() if data.values or name not in NEED_READINGS}
    found: dict[str, list[list[float]]] = {name: [] for name in rules}
    parted = combining.parted(data, args.splits, args.seed)
    most = min(args.most, *(min(POOL, len(pool)) for pool, _ in parted))
    for number, (everything, test) in enumerate(parted):
        drawing.say("split", number + 1, args.splits)
        rng = np.random.default_rng([args.seed, number])
        pool = sorted(rng.permutation(everything)[:POOL].tolist())
        start = rng.permutation(pool)[:START].tolist()
        human = data.human[test].tolist()
        for name, rule in rules.items():
            own, labels, reached = np.random.default_rng([args.seed, number, 1]), list(start), []
            while True:
                learner = Learner(data, figures, labels)
                reached.append(q([v.score for v in learner.verdicts(test)], human) / 3)
                if len(labels) + STEP > most:
                    break
                known = set(labels)
                free = [i for i in pool if i not in known]
                texts = [*free, *labels]
                verdicts = learner.verdicts(texts)
                where = Places.of(data.examples.take(texts), verdicts, figures=figures[texts])
                score = np.array([verdict.score for verdict in verdicts])
                step = Step(where, score, len(free), [documents[i] for i in free], own)
                labels += [free[i] for i in rule(step)]
            found[name].append(reached)
    return found


# --- what is told -----------------------------------------------------------------------------------------------------


def needed(curve: Floats, goal: float) -> float:
    """Labels after which a mean curve first reaches a goal, between two numbers by straight line; infinite if never."""
    at = np.flatnonzero(curve >= goal)
    if not len(at):
        return float("inf")
    i = int(at[0])
    part = 0.0 if i == 0 else 1 - (curve[i] - goal) / (curve[i] - curve[i - 1])
    return START + STEP * (i - 1 + part if i else 0)


def account(sets: list[Floats], names: list[str], args: argparse.Namespace) -> dict[str, Any]:
    """Labels needed and agreement gained by every rule, on the mean over sets.

    Args:
        sets: Of each set the agreement, shape (rules, splits, sizes); the first rule draws at random.
        names: The rules.
        args: With the labels at random whose agreement is to be reached (``goal``), the bootstrap samples of the splits
            (``resamples``), and their ``seed``.
    """
    sizes = min(one.shape[2] for one in sets)
    goal_at = min((args.goal - START) // STEP, sizes - 1)
    cut = [one[:, :, :sizes] for one in sets]
    rng = np.random.default_rng(args.seed)
    drawn = []
    for resample in range(args.resamples + 1):
        means = []
        for one in cut:
            splits = one.shape[1]
            of = np.arange(splits) if not resample else rng.integers(0, splits, splits)
            means.append(one[:, of].mean(axis=1))
        mean = np.mean(means, axis=0)
        labels = np.array([needed(curve, mean[0, goal_at]) for curve in mean])
        gain = (mean[:, 1:] - mean[:1, 1:]).mean(axis=1) if sizes > 1 else np.zeros(len(mean))
        drawn.append((mean, labels, gain))
    mean, labels, gain = drawn[0]
    return {
        "goal_labels": START + STEP * goal_at,
        "goal": float(mean[0, goal_at]),
        "sizes": [START + STEP * i for i in range(sizes)],
        "rules": {
            name: {
                "agreement": mean[k].tolist(),
                "needed": _finite(labels[k]),
                "needed_interval": [_finite(x) for x in _middle([d[1][k] for d in drawn[1:]])],
                "gain": float(gain[k]),
                "gain_interval": [
                    float(x) for x in percentile_interval(np.array([d[2][k] for d in drawn[1:]]), 0.95) or ()
                ],
            }
            for k, name in enumerate(names)
        },
    }


def _middle(values: list[float]) -> tuple[float, float]:
    """The middle 95 %, without arithmetic between values: some may be infinite."""
    ordered = sorted(values)
    return ordered[int(0.025 * len(ordered))], ordered[min(len(ordered) - 1, int(0.975 * len(ordered)))]


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


BASIS = (
    "A third of the examples, whole documents, is held out. Labels come from at most {pool} others: {start} at\n"
    "random, then {step} at a time by the rule, and the score is fitted anew each time. Agreement: mean of Pearson,\n"
    "Spearman and Kendall on what is held out. Labels needed: after how many the mean curve reaches what\n"
    "{goal} at random reach (or as many as there are). Gain: in agreement over labels at random, mean over\n"
    "all numbers of labels after {start}. In brackets 95 %, bootstrap over the splits. These overlap: it is the\n"
    "chance of splits and draws that is told, not that of another data set. `coverage` is what `suggest` does."
)


def page(document: dict[str, Any]) -> str:
    """The Markdown of everything."""
    how = document["settings"]
    lines = [
        "# Which texts to label next",
        "",
        f"`python benchmarks/suggest.py`: {document['model']}, {how['splits']} splits, seed {how['seed']}; "  # noqa: ISC004
        f"active-critic {ac.__version__}, Python {platform.python_version()}, numpy {np.__version__}.",
        "",
        BASIS.format(pool=POOL, start=START, step=STEP, goal=how["goal"]),
        *([f"None of the documents is among those that seed 0 draws ({how['besides']})."] if how["besides"] else []),
        "",
    ]
    for name, one in document["found"].items():
        lines += [f"## {name}", ""]
        if name in document["sets"]:
            about = document["sets"][name]
            lines += [f"{about['examples']} examples of {about['documents']} documents.", ""]
        heads = ["rule", f"labels needed for {one['goal']:.3f}", "gain", *map(str, one["sizes"])]
        lines += [f"| {' | '.join(heads)} |", "|" + " --- |" * len(heads)]
        for rule, row in one["rules"].items():
            low, high = row["needed_interval"]
            most = one["sizes"][-1]
            cells = [
                f"{_labels(row['needed'], most)} [{_labels(low, most)}, {_labels(high, most)}]",
                f"{row['gain']:+.3f} [{row['gain_interval'][0]:+.3f}, {row['gain_interval'][1]:+.3f}]",
                *(f"{value:.3f}" for value in row["agreement"]),
            ]
            lines.append(f"| {rule} | {' | '.join(cells)} |")
        lines.append("")
    return "\n".join(lines)


def _labels(value: float | None, most: int) -> str:
    return f"> {most}" if value is None else f"{value:.0f}"


def main() -> None:
    args = arguments()
    if args.lm == "none":
        simulate(args, None)
        return
    with open_lm(args.lm, api_base=args.api_base, context=args.context) as lm, Journal(args.journal) as journal:
        lm.memory = journal
        simulate(args, lm)


def simulate(args: argparse.Namespace, lm: ac.LanguageModel | None) -> None:
    """Every set, then their mean; the results are written after each set."""
    document: dict[str, Any] = {
        "model": lm.name if lm else "no model, the surface alone",
        "settings": {
            **drawing.drawn(args),
            **{name: getattr(args, name) for name in ("besides", "fields", "splits", "most", "goal", "resamples")},
        },
        "versions": {"active-critic": ac.__version__, "python": platform.python_version(), "numpy": np.__version__},
        "sets": {},
        "found": {},
    }
    reached: list[Floats] = []
    for place, named in enumerate(args.data):
        name, _, path = named.partition("=")
        own = drawing.of_set(args, place)
        examples = drawing.draw(drawing.fresh(drawing.read(path, own), own), own)
        data = combining.Readings.of(examples, *(reading.take_readings(examples, lm) if lm else ({},)))
        found = curves(data, args)
        document["sets"][name] = {
            "examples": len(data.examples),
            "documents": len(set(data.groups)),
            "readings": [*data.values, "surface"],
            "data_sha256": data_sha256(data.examples),
        }
        reached.append(np.array(list(found.values())))
        document["found"].pop("mean over the sets", None)
        document["found"][name] = account(reached[-1:], list(found), args)
        if len(reached) > 1:
            document["found"]["mean over the sets"] = account(reached, list(found), args)
        stem = Path(args.out or f"benchmarks/results/suggest{'' if lm else '_surface'}")
        stem.parent.mkdir(parents=True, exist_ok=True)
        stem.with_suffix(".json").write_text(json.dumps(document, indent=1) + "\n")
        stem.with_suffix(".md").write_text(page(document))
    print(f"\n{page(document)}", flush=True)


def arguments() -> argparse.Namespace:
    parser = drawing.besides(drawing.options(__doc__, lm="`none`: the surface alone", each=True), each=True)
    parser.add_argument("--splits", type=int, default=100)
    parser.add_argument("--most", type=int, default=60, help="labels at most")
    parser.add_argument("--goal", type=int, default=40, help="labels at random whose agreement is to be reached")
    parser.add_argument("--resamples", type=int, default=1_000)
    parser.add_argument("--out", help="where to write, without .json and .md")
    return parser.parse_args()


if __name__ == "__main__":
    main()
