"""What the ratings of single criteria add to a score that is combined from the other readings.

    python benchmarks/criteria.py sfres=path/to/sfres.jsonl --documents 44

Approval, likelihood, surface and splits are those of ``readings.py``, through the same journal; the rating is that of
fine mode without demonstrations, by the same six general criteria on every set (``CRITERIA``). Beside the model's own
ratings simulated ones stand in for an abler model: one where people look at one of four criteria, which is rated
well (correlation .6 with people) while the other three have nothing to do with it, and the rating of the whole is the
mean of the four; the same with criteria that correlate .5 with the one that people look at; and one where the rating of
the whole says all there is (.6), and the four are it with noise (.8 with it).
The combination is the product's, with single criteria and without them. With ``--simulated`` the model rates nothing in
fine mode, and only what is simulated is worked out.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import active_critic as ac
from active_critic.evaluators._fitting import in_parallel
from active_critic.evaluators._readings import ratings_in
from active_critic.evaluators.base import default_reading
from active_critic.lm import LanguageModel
from active_critic.protocols import CriticProtocol, Provenance
from active_critic.records import Criterion
from active_critic.scoring import Scorer
from active_critic.stats import percentile_interval, q
from active_critic.weighing import CRITERION

sys.path.insert(0, str(Path(__file__).parent))
import combining
import drawing
import readings

CRITERIA = {
    "Relevance": "The response is about what the source asks for, and about nothing else.",
    "Accuracy": "The response says nothing that the source contradicts or does not support.",
    "Completeness": "The response leaves out nothing that matters.",
    "Coherence": "The sentences of the response follow from each other and make one whole.",
    "Fluency": "The response is good, natural language without mistakes.",
    "Interest": "The response is specific, and holds the reader's attention.",
}
"""Written before any of them was tried."""
OWN = "the model's own ratings"
SIMULATED = {
    "simulated: people look at one of independent criteria": 0.0,
    "simulated: people look at one, the others correlate .5 with it": 0.5,
    "simulated: the whole says all": None,
}
"""How the criteria that people do not look at correlate with the one that they do; None: they look at the whole."""
SIZES = (5, 10, 20, 30, 50)
BELIEFS = (0.0, 0.05, 0.1, 0.2)
"""Correlations of a single criterion with people's scores that could be believed in, besides the product's."""


def main() -> None:
    parser = readings.studying(__doc__, "criteria", SIZES)
    parser.add_argument("--simulated", action="store_true", help="leave out the model's own ratings")
    args = parser.parse_args()

    def work(_data: ac.Examples, known: combining.Readings, lm: LanguageModel) -> dict[str, Any]:
        rated = [{"rating": 0.0}] * len(known.examples) if args.simulated else rate(known.examples, lm)
        # A text that cannot be rated in fine mode does not count.
        there = [i for i, one in enumerate(rated) if one]
        if not there:
            raise SystemExit(
                f"{lm.name} rated none of {len(rated)} texts in fine mode; leave its ratings out: --simulated"
            )
        taken = known.examples.take(there)
        besides = {name: column[there] for name, column in known.values.items() if name != "rating"}
        human = known.human[there]
        own: dict[str, combining.Floats] = {}
        if not args.simulated:
            own = {name: np.array([rated[i][name] for i in there]) for name in rated[there[0]]}
        found: dict[str, Any] = {}
        believed: dict[str, Any] = {}
        for situation in ([OWN] if own else []) + list(SIMULATED):
            columns = own if situation == OWN else simulated(human, args.seed, SIMULATED[situation])
            complete = combining.Readings(taken, {**columns, **besides}, human, known.scale)
            found[situation] = over_splits(complete, args)
            believed[situation] = {}
            for belief in BELIEFS:
                with combining.believing(criterion=belief):
                    believed[situation][f"{belief:g}"] = over_splits(complete, args)
        alone = {name: q(column.tolist(), human.tolist()) / 3 for name, column in own.items()}
        return {"rated": len(there), "alone": alone, "gains": found, "beliefs": believed}

    readings.study(args, work, page)


def rate(examples: ac.Examples, lm: LanguageModel) -> list[dict[str, float]]:
    """The ratings of every example in fine mode, as readings by name; none where the reply cannot be read."""
    protocol = CriticProtocol(
        task_description="",
        criteria=tuple(Criterion(name=name, definition=text) for name, text in CRITERIA.items()),
        scale=readings.PERCENT,
        reading=default_reading(lm),
        provenance=Provenance(model=lm.name),
    )
    scorer = Scorer(protocol, lm)
    order = sorted(range(len(examples)), key=lambda i: (examples[i].source, i))

    def one(index: int) -> dict[str, float]:
        return ratings_in(scorer.verdict(examples[index].source, examples[index].response, explain=False))

    found = in_parallel(lm, one, order, doing="rating criteria", progress=drawing.say)
    by_index = dict(zip(order, found, strict=True))
    return [by_index[i] for i in range(len(examples))]


def simulated(human: combining.Floats, seed: int, alike: float | None) -> dict[str, combining.Floats]:
    """The ratings of an abler model; see above."""
    rng = np.random.default_rng(seed)
    first, *others = [CRITERION + name for name in list(CRITERIA)[:4]]
    if alike is None:
        rating = combining._correlated(human, combining.STRONG, rng)
        return {"rating": rating, **{name: combining._correlated(rating, 0.8, rng) for name in (first, *others)}}
    looked_at = combining._correlated(human, combining.STRONG, rng)
    each = {first: looked_at, **{name: combining._correlated(looked_at, alike, rng) for name in others}}
    return {"rating": np.mean(list(each.values()), axis=0), **each}


def over_splits(complete: combining.Readings, args: Any) -> dict[str, dict[str, Any]]:
    """By number of labels: agreement held out without single criteria, with them, and the difference by split."""
    least = min(len(pool) for pool, _ in combining.parted(complete, args.splits, args.seed))
    sizes = [size for size in args.sizes if size <= least]
    reached: dict[int, list[tuple[float, float]]] = {size: [] for size in sizes}
    for size, trial in combining.trials(complete, sizes, args.splits, args.seed, strong=False, mute=False):
        without = replace(
            trial,
            train={n: c for n, c in trial.train.items() if not n.startswith(CRITERION)},
            test={n: c for n, c in trial.test.items() if not n.startswith(CRITERION)},
        )
        truth = trial.truth.tolist()
        both = (q(combining.applied(combining.fitted(one), one).tolist(), truth) / 3 for one in (without, trial))
        reached[size].append((next(both), next(both)))
    return {str(size): _told(pairs) for size, pairs in reached.items()}


def _told(pairs: Sequence[tuple[float, float]]) -> dict[str, Any]:
    without, with_them = np.array(pairs).T
    low, high = percentile_interval(with_them - without, 0.95) or (None, None)
    return {
        "without": float(without.mean()),
        "with": float(with_them.mean()),
        "gain": {"mean": float((with_them - without).mean()), "low": low, "high": high},
    }


def page(sets: list[dict[str, Any]]) -> str:
    """The Markdown of all sets."""
    basis = (__doc__ or "").partition("--documents 44")[2].strip()
    lines = ["# Ratings of single criteria as readings", "", "`python benchmarks/criteria.py`", "", basis, ""]
    if not any(one["alone"] for one in sets):
        lines += ["Run with `--simulated`: the model's own ratings were not taken.", ""]
    lines += ["Mean of three coefficients on the held-out part: without single criteria, with them, and the gain with"]
    lines += ["the middle 95 % of the splits (which overlap: no test).", ""]
    for one in sets:
        lines += [f"## {one['name']}, {one['model']}", "", f"{one['rated']} examples; {one['splits']} splits.", ""]
        alone = ", ".join(f"{name.removeprefix(CRITERION)} {value:.2f}" for name, value in one["alone"].items())
        lines += [f"The model's ratings alone: {alone}.", ""] if alone else []
        sizes = list(next(iter(one["gains"].values())))
        lines += [f"| labels | {' | '.join(sizes)} |", "| --- |" + " --- |" * len(sizes)]
        for situation, by_size in one["gains"].items():
            cells = []
            for size in sizes:
                found, gain = by_size[size], by_size[size]["gain"]
                said = f"{found['without']:.3f}, {found['with']:.3f}: {gain['mean']:+.3f}"
                cells.append(f"{said} [{gain['low']:+.2f}, {gain['high']:+.2f}]")
            lines.append(f"| {situation} | {' | '.join(cells)} |")
        lines += ["", "The gain if a single criterion were believed in otherwise (the product's: .15):", ""]
        lines += [f"| belief; labels | {' | '.join(sizes)} |", "| --- |" + " --- |" * len(sizes)]
        for situation, beliefs in one["beliefs"].items():
            for belief, by_size in beliefs.items():
                cells = [f"{by_size[size]['gain']['mean']:+.3f}" for size in sizes]
                lines.append(f"| {belief}: {situation} | {' | '.join(cells)} |")
        lines.append("")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
