"""How often intervals over few documents hold the true figure, and what the human ceiling says of one more person.

    python benchmarks/coverage.py

Simulated: people's scores and two equally good predictions, each with an effect of the document and one of the text,
the mean of the three coefficients over all examples, plain percentiles of the bootstrap against those of
``active_critic.stats``. Raters who correlate: the ceiling against what a new rater really reaches. The interval
of a score that is the best of several candidates by the examples it rests on. And the figures of a ridge regression
that is fitted anew for every fold, whose examples stand in the training parts of the other folds. And what a learning
curve says of the last step of its labels. No model.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray

from active_critic import stats
from active_critic.calibration import Calibration, calibrate
from active_critic.evaluators import ridge
from active_critic.meta_evaluation.estimates import estimate
from active_critic.records import Scale
from active_critic.stats import agreement, q
from active_critic.stats.levels import Measure
from active_critic.stats.resampling import FOLDED, bootstrap, percentile_interval

SIZES = ((3, 20), (4, 20), (5, 10), (6, 6), (8, 8), (12, 6), (20, 4), (50, 2))
"""Documents, and texts of each."""
WITHIN_SIZES = tuple((documents, each) for each in (2, 3, 6) for documents in (5, 8, 12, 20))
"""The same for agreement within documents."""
CORRELATION, WITHIN = 0.5, 0.3
"""Of a prediction with people; and of two texts of a document."""
SEARCHES = ((10, 0.2), (20, 0.2), (20, 0.6), (50, 0.6))
"""Examples, each of a document of its own, and the correlation of every candidate's rating with people."""
CANDIDATES, FOLDS, SEARCHED, NEW = 11, 5, 100, 200
"""Candidates, folds of the report, simulated fits, and new texts for each."""
EXAMPLES, FIGURES = 48, 7
"""Examples, each of a document of its own, and figures that a regression predicts people's scores from."""
LEARNABLE = (0.0, 0.3, 0.6)
"""The correlation of one of these figures with people; the others have nothing to do with them."""
WAYS = {
    "one split in halves": (1, 1),
    "3 splits in halves": (1, 3),
    "4 folds": (4, 1),
    "4 folds, 3 repeats": (4, 3),
    "4 folds, pooled (as in the report of a fit)": (4, 0),
}
"""Folds (1: one half is trained on), and repeats; 0: one, whose predictions are pooled."""
LABELS, GROWN = (20, 40), (1, 3)
"""The last step of a learning curve, and numbers of repeats."""
RATERS = ((2, 0.2), (2, 0.4), (3, 0.2), (3, 0.4), (5, 0.4))
"""Raters, and the correlation of two of them."""

Floats = NDArray[np.float64]


def main() -> None:
    """Simulate, and write the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tries", type=int, default=400)
    parser.add_argument("--resamples", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", help="make this part of the results anew, by its name in the JSON")
    parser.add_argument("--out", default="benchmarks/results/coverage")
    args = parser.parse_args()
    parts: dict[str, Callable[[], list[dict[str, Any]]]] = {
        "intervals": lambda: [covered(args, *size) for size in SIZES],
        "within": lambda: [covered_within(args, *size) for size in WITHIN_SIZES],
        "ceilings": lambda: [ceiling(args.seed, *raters) for raters in RATERS],
        "searches": lambda: [searched(args.seed, *search) for search in SEARCHES],
        "folds": lambda: [held_out(args, correlation, way) for correlation in LEARNABLE for way in WAYS],
        "curves": lambda: [grown(args, correlation, repeats) for correlation in LEARNABLE for repeats in GROWN],
    }
    document: dict[str, Any] = {"settings": {name: getattr(args, name) for name in ("tries", "resamples", "seed")}}
    if args.only:
        document = json.loads(Path(args.out).with_suffix(".json").read_text())
    document |= {name: part() for name, part in parts.items() if args.only in (None, name)}
    Path(args.out).with_suffix(".json").write_text(json.dumps(document, indent=1) + "\n")
    Path(args.out).with_suffix(".md").write_text(table(document))
    print(table(document))


def covered(args: argparse.Namespace, documents: int, each: int) -> dict[str, Any]:
    """How often both intervals of 95 % hold the truth, and call a difference that is none."""
    rng = np.random.default_rng([args.seed, documents])
    group = np.repeat(np.arange(documents), each)
    n = len(group)

    def drawn() -> Floats:
        shared, own = rng.normal(size=documents)[group], rng.normal(size=n)
        return np.asarray(np.sqrt(WITHIN) * shared + np.sqrt(1 - WITHIN) * own)

    # Of normal variables: Spearman's and Kendall's coefficients follow from Pearson's.
    arcs = 6 / np.pi * np.arcsin(CORRELATION / 2), 2 / np.pi * np.arcsin(CORRELATION)
    truth = np.mean([CORRELATION, *arcs])
    counts = {"plain": [0, 0], "widened": [0, 0]}
    for number in range(args.tries):
        people = drawn()
        noise = np.sqrt(1 - CORRELATION**2)
        one, other = (
            Measure("dataset", CORRELATION * people + noise * drawn(), people, group, group * 0, documents)
            for _ in range(2)
        )

        def figures(weights: Floats, one: Measure = one, other: Measure = other) -> Floats:
            of_one = one(weights)[:, 3]
            return np.stack([of_one, of_one - other(weights)[:, 3]], axis=1)

        resampled = bootstrap(figures, documents, args.resamples, np.random.default_rng(number), n)
        for name, known in (("plain", None), ("widened", documents)):
            own = percentile_interval(resampled[:, 0], 0.95, known)
            gap = percentile_interval(resampled[:, 1], 0.95, known)
            counts[name][0] += own is not None and own[0] <= truth <= own[1]
            counts[name][1] += gap is not None and not gap[0] <= 0 <= gap[1]
    shares = {name: [count / args.tries for count in both] for name, both in counts.items()}
    none = percentile_interval(np.zeros(9), 0.95, documents) is None
    return {"documents": documents, "each": each, **shares, **({"widened": None} if none else {})}


def covered_within(args: argparse.Namespace, documents: int, each: int) -> dict[str, Any]:
    """At document level: how often 95 % intervals by percentiles, and those that are given, hold the truth."""
    rng = np.random.default_rng([args.seed, documents, each])

    def drawn(count: int) -> tuple[Floats, Floats]:
        people = rng.normal(size=count * each)
        return CORRELATION * people + np.sqrt(1 - CORRELATION**2) * rng.normal(size=count * each), people

    many = 20_000
    whole = Measure("document", *drawn(many), np.repeat(np.arange(many), each), np.zeros(many * each, dtype=np.intp))
    truth = float(whole(np.ones((1, many)))[0, 3])
    group = np.repeat(np.arange(documents), each)
    held, given, had = 0, 0, 0
    for number in range(args.tries):
        pred, people = drawn(documents)
        groups = [str(one) for one in group]
        found = agreement(
            pred.tolist(), people.tolist(), groups, level="document", resamples=args.resamples, seed=number
        ).mean_interval
        measure = Measure("document", pred, people, group, group * 0, documents)
        resampled = bootstrap(measure, documents, args.resamples, np.random.default_rng(number), len(group))
        plain = percentile_interval(resampled[:, 3], 0.95, documents)
        held += plain is not None and plain[0] - 1e-9 <= truth <= plain[1] + 1e-9
        had += found is not None
        given += found is not None and found[0] <= truth <= found[1]
    shares = {"percentiles": held / args.tries, "given": given / had if had else None, "had": had / args.tries}
    return {"documents": documents, "each": each, "true": truth, **shares}


def ceiling(seed: int, raters: int, correlation: float, texts: int = 200_000) -> dict[str, Any]:
    """Pearson of a rater with the mean of the others, and of a new rater with the mean of all."""
    rng = np.random.default_rng([seed, raters])
    quality = np.sqrt(correlation) * rng.normal(size=texts)
    scores = quality + np.sqrt(1 - correlation) * rng.normal(size=(raters + 1, texts))
    old, new = scores[:-1], scores[-1]
    rest = [np.corrcoef(old[i], np.delete(old, i, axis=0).mean(axis=0))[0, 1] for i in range(raters)]
    one_more = float(np.corrcoef(new, old.mean(axis=0))[0, 1])
    return {"raters": raters, "correlation": correlation, "ceiling": float(np.mean(rest)), "one_more": one_more}


def searched(seed: int, examples: int, correlation: float) -> dict[str, Any]:
    """How often the 90 % interval of a score on 1 to 5 holds: by its own residuals, and widened by those of folds."""
    rng = np.random.default_rng([seed, examples])
    scale, names = Scale(low=1, high=5), [str(i) for i in range(examples)]
    held = {"fixed": [0.0, 0.0], "chosen": [0.0, 0.0], "widened": [0.0, 0.0]}

    def best(of: Sequence[int]) -> int:
        return max(range(CANDIDATES), key=lambda c: q(ratings[c, of].tolist(), human[of].tolist()))

    def fitted(candidate: int, of: Sequence[int]) -> Calibration:
        return calibrate({"rating": ratings[candidate, of].tolist()}, human[of].tolist(), [names[i] for i in of])

    for _ in range(SEARCHED):
        human = np.clip(np.round(3 + rng.normal(size=examples + NEW)), 1, 5)
        told = correlation * (human - human.mean()) / human.std()
        noise = rng.normal(size=(CANDIDATES, examples + NEW))
        ratings = np.clip(3 + told + np.sqrt(1 - correlation**2) * noise, 1, 5)
        every = list(range(examples))
        missed = []
        for fold in range(FOLDS):
            rest = [i for i in every if i % FOLDS != fold]
            winner = best(rest)
            critic = fitted(winner, rest)
            for i in every[fold::FOLDS]:
                score = critic.apply({"rating": float(ratings[winner, i])}, scale).score
                missed.append((names[i], score - float(human[i])))
        winner = best(every)
        chosen = fitted(winner, every)
        ways = {"fixed": (0, fitted(0, every)), "chosen": (winner, chosen), "widened": (winner, chosen.widened(missed))}
        for name, (candidate, critic) in ways.items():
            for i in range(examples, examples + NEW):
                low, high = critic.apply({"rating": float(ratings[candidate, i])}, scale).interval or (1.0, 5.0)
                held[name][0] += (low <= human[i] <= high) / (SEARCHED * NEW)
                held[name][1] += (high - low) / (SEARCHED * NEW)
    shares = {name: [round(float(value), 4) for value in both] for name, both in held.items()}
    return {"examples": examples, "correlation": correlation, **shares}


def held_out(args: argparse.Namespace, correlation: float, way: str) -> dict[str, Any]:
    """How often figures on examples held out hold what is reached on average, and tell it from an equally good one."""
    rng = np.random.default_rng([args.seed, round(10 * correlation), list(WAYS).index(way)])
    folds, repeats = WAYS[way]
    names = [f"{i:02}" for i in range(EXAMPLES)]
    reached: list[float] = []
    intervals: dict[str, list[Any]] = {"plain": [], "widened": []}
    low_ps: dict[str, list[bool]] = {"plain": [], "widened": []}
    for number in range(args.tries):
        x, noise = rng.normal(size=(EXAMPLES, FIGURES)), rng.normal(size=EXAMPLES)
        human = correlation * x[:, 0] + np.sqrt(1 - correlation**2) * noise
        tested, parts, predicted = list[int](), list[int](), list[float]()
        for repeat in range(max(1, repeats)):
            order = rng.permutation(EXAMPLES)
            cut = [order[fold::folds] for fold in range(folds)] if folds > 1 else [order[::2]]
            if not repeats:
                every = ridge.out_of_fold(x, human, names, [part.tolist() for part in cut])
                tested, parts, predicted = list(range(EXAMPLES)), [0] * EXAMPLES, every.tolist()
                break
            for fold, test in enumerate(cut):
                rest = np.setdiff1d(order, test)
                made = ridge.fit(x[rest], human[rest], [names[i] for i in rest])
                tested += test.tolist()
                parts += [folds * repeat + fold] * len(test)
                predicted += made.predict(x[test]).tolist()
        people, of = human[tested].tolist(), [names[i] for i in tested]
        how: dict[str, Any] = {"parts": parts, "folded": not repeats, "resamples": args.resamples, "seed": number}
        other = rng.normal(size=EXAMPLES)[tested].tolist()
        for width, spread in (("plain", 1.0), ("widened", FOLDED)):
            with patch.object(stats, "FOLDED", spread):
                found = stats.agreement(predicted, people, of, **how)
                if found.mean is None or found.mean_interval is None:
                    continue  # a regression that learnt nothing at all
                intervals[width].append(found.mean_interval)
                if not correlation:
                    p = stats.paired_difference(predicted, other, people, of, **how).p
                    low_ps[width].append(p is not None and p < 0.05)
        if found.mean is not None:
            reached.append(found.mean)
    truth = float(np.mean(reached)) if correlation else 0.0
    holds = {width: float(np.mean([low <= truth <= high for low, high in ends])) for width, ends in intervals.items()}
    differ = {width: float(np.mean(low)) for width, low in low_ps.items() if low}
    return {"way": way, "correlation": correlation, "tries": len(reached), "holds": holds, "differ": differ}


def grown(args: argparse.Namespace, correlation: float, repeats: int) -> dict[str, Any]:
    """How often the interval of what more labels bring holds what they bring on average, and lies above or below it."""
    rng = np.random.default_rng([args.seed, round(10 * correlation), repeats])
    examples = 2 * LABELS[1]
    gains: list[float] = []
    intervals: list[tuple[float, float]] = []
    for number in range(args.tries):
        x, noise = rng.normal(size=(examples, FIGURES)), rng.normal(size=examples)
        human = correlation * x[:, 0] + np.sqrt(1 - correlation**2) * noise
        tested, parts = list[int](), list[int]()
        predicted: tuple[list[float | None], ...] = ([], [])
        for repeat in range(repeats):
            pool, test = np.split(rng.permutation(examples), 2)
            tested += test.tolist()
            parts += [repeat] * len(test)
            for labels, said in zip(LABELS, predicted, strict=True):
                rest = pool[:labels]
                said += ridge.fit(x[rest], human[rest], [f"{i}" for i in rest]).predict(x[test]).tolist()
        found = estimate(
            predicted, [-1, 1], human[tested].tolist(), [f"{i}" for i in tested],
            parts=parts, resamples=args.resamples, seed=number,
        )  # fmt: skip
        if found.value is not None and found.interval is not None:
            gains.append(found.value)
            intervals.append(found.interval)
    truth = float(np.mean(gains)) if correlation else 0.0
    holds = float(np.mean([low <= truth <= high for low, high in intervals]))
    rising = float(np.mean([low > 0 for low, _ in intervals]))
    falling = float(np.mean([high < 0 for _, high in intervals]))
    return {"repeats": repeats, "correlation": correlation, "tries": len(gains), "gain": truth, "holds": holds,
            "rising": rising, "falling": falling}  # fmt: skip


def table(document: dict[str, Any]) -> str:
    """Both tables in Markdown."""
    settings = document["settings"]
    how = f"{settings['tries']} simulated sets each, {settings['resamples']:,} resamples, seed {settings['seed']}"
    lines = [
        f"Intervals of 95 %: {how}; the true correlation is {CORRELATION}, that of texts of one document {WITHIN}.",
        "A difference that is seen is none: both predictions are equally good.",
        "",
        "| documents | texts of each | plain: hold the truth | see a difference | widened: hold the truth | see one |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for row in document["intervals"]:
        cells = [f"{share:.0%}" for share in row["plain"]]
        cells += [f"{share:.0%}" for share in row["widened"]] if row["widened"] else ["none is given", ""]
        lines.append(f"| {row['documents']} | {row['each']} | {' | '.join(cells)} |")
    lines += [
        "",
        "Intervals of 95 % of agreement within documents, averaged over them (texts vary by themselves alone). Those",
        "that are given join percentiles with Student's t interval of the documents' figures, and there is none where",
        "all documents have the same one:",
        "",
        "| documents | texts of each | true | percentiles hold it | those given hold it | sets that have one |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for row in document["within"]:
        shares = " | ".join(f"{row[name]:.0%}" for name in ("percentiles", "given", "had"))
        lines.append(f"| {row['documents']} | {row['each']} | {row['true']:.2f} | {shares} |")
    lines += [
        "",
        "Raters (Pearson):",
        "",
        "| raters | correlation of two | human ceiling | one more rater with the mean of all |",
    ]
    lines.append("| --- | --- | --- | --- |")
    for row in document["ceilings"]:
        lines.append(f"| {row['raters']} | {row['correlation']} | {row['ceiling']:.2f} | {row['one_more']:.2f} |")
    lines += [
        "",
        f"Intervals of 90 % of verdicts on 1 to 5, of the best of {CANDIDATES} equally good candidates by the examples",
        f"that the interval rests on ({SEARCHED} fits, {NEW} new texts each): they hold people's score; their width:",
        "",
        "| examples | correlation | one candidate, not chosen | chosen, own residuals | chosen, widened by the folds |",
        "| --- | --- | --- | --- | --- |",
    ]
    for row in document["searches"]:
        cells = [f"{share:.0%}, {width:.1f}" for share, width in (row[way] for way in ("fixed", "chosen", "widened"))]
        lines.append(f"| {row['examples']} | {row['correlation']} | {' | '.join(cells)} |")
    lines += [
        "",
        f"Intervals of 95 % of a regression on {FIGURES} figures, one of which correlates with people, fitted anew for",
        f"every split of {EXAMPLES} examples, each of a document of its own: how often they hold what is reached on",
        "average; and, where there is nothing to learn, how often p is below .05 against a prediction that is noise.",
        f"Before the slash by resampling alone, behind it {FOLDED:g} times as wide, as all over folds and repeats are:",
        "",
        f"| examples held out | {' | '.join(f'correlation {one:g}' for one in LEARNABLE)} | p below .05 |",
        "| --- | --- | --- | --- | --- |",
    ]
    for way in WAYS:
        rows = [row for row in document["folds"] if row["way"] == way]
        cells = [" / ".join(f"{part:.0%}" for part in row["holds"].values()) for row in rows]
        cells.append(" / ".join(f"{part:.0%}" for part in rows[0]["differ"].values()))
        lines.append(f"| {way} | {' | '.join(cells)} |")
    lines += [
        "",
        f"The same regression in a learning curve ({2 * LABELS[1]} examples, half of them tested on): what the step",
        f"from {LABELS[0]} to {LABELS[1]} labels brings on average, how often its interval of 95 % holds that, and how",
        "often it lies above 0 (the advice is to label more) or below:",
        "",
        "| correlation | repeats | gain | holds it | above 0 | below 0 |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for row in document["curves"]:
        shares = " | ".join(f"{row[name]:.0%}" for name in ("holds", "rising", "falling"))
        lines.append(f"| {row['correlation']:g} | {row['repeats']} | {row['gain']:+.2f} | {shares} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
