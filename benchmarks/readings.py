"""What each reading of a text is worth alone, how readings are best combined, and from how many labels on.

    python benchmarks/readings.py sfres=path/to/sfres.jsonl --documents 44 --lm local

Takes the readings that need no label of every drawn example (``compare.py`` draws the same), through the journal: a
run that is stopped goes on where it was. All else is worked out from them without a further call (``combining.py``).
What is found of a set is added to the results, in place of what was found before of that set with that model. Numbers
and settings only, never texts.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

import active_critic as ac
from active_critic.asking import PER_ITEM
from active_critic.calibration import COVERAGES
from active_critic.data.examples import data_sha256, group_of
from active_critic.evaluators._combining import WORTH, expected_of
from active_critic.evaluators._fitting import in_parallel
from active_critic.evaluators._readings import further_reading, readings_for, value_of
from active_critic.evaluators.zero_shot import zero_shot_protocol
from active_critic.figures_in_words import figure_words
from active_critic.journal import Journal
from active_critic.lm import LanguageModel, open_lm
from active_critic.lm.likelihood import Likelihood
from active_critic.meta_evaluation.curve_plot import curve_svg
from active_critic.records import Example, Scale
from active_critic.scoring import Scorer
from active_critic.weighing import EXPECTED, PRIOR, TOGETHER

sys.path.insert(0, str(Path(__file__).parent))
import combining
import drawing

PERCENT = Scale(low=0, high=100)
"""What ratings are put on: no label is needed for it, and the order is the same on any scale."""


def main() -> None:
    args = arguments()
    with open_lm(args.lm, api_base=args.api_base, context=args.context) as lm, Journal(args.journal) as journal:
        lm.memory = journal
        with combining.believing(**expected_of(lm)):
            run(args, lm)


def run(args: argparse.Namespace, lm: LanguageModel) -> None:
    """Read and work out every set, and write what was found after each."""
    stem = Path(args.out)
    stem.parent.mkdir(parents=True, exist_ok=True)
    for named in args.data:
        name, _, path = named.partition("=")
        data = drawing.draw(drawing.fresh(drawing.read(path, args), args), args)
        before = lm.usage
        taken, logprobs = take_readings(data, lm)
        used = lm.usage - before
        mean, _ = take_readings(data, lm, lambda likelihood: likelihood.mean)  # from the memory: the same replies
        print(f"\n{name}: {len(data)} examples read, {used.calls} calls; combining", file=sys.stderr, flush=True)
        readings = combining.Readings.of(data, taken, logprobs)
        found = {
            "name": name,
            "model": lm.name,
            "weights": lm.weights,
            "data_sha256": data_sha256(data),
            "scale": str(readings.scale),
            "examples": len(data),
            "documents": len({group_of(example) for example in data}),
            "had": {reading: sum(value is not None for value in values) for reading, values in taken.items()},
            "complete": len(readings.human),
            "settings": {
                **drawing.drawn(args),
                "besides": args.besides,
                "fields": args.fields,
                "splits": args.splits,
                "held out": combining.HELD_OUT,
                "believed": {**EXPECTED, "together": TOGETHER, "prior": PRIOR},
            },
            "versions": {"active-critic": ac.__version__, "python": platform.python_version(), "numpy": np.__version__},
            "usage": used.to_dict(),
            "alone": combining.each_alone(readings, args.seed),
            "with each other": combining.with_each_other(readings),
            **combining.over_splits(readings, args.sizes, args.splits, args.seed),
            "with all tokens": combining.product_over_splits(
                combining.Readings.of(data, mean, logprobs), args.sizes, args.splits, args.seed
            ),
        }
        picture = stem.with_name(f"{stem.name}_{name}_{lm.name}.svg")
        picture.write_text(svg(found))
        found["picture"] = picture.name
        sets = kept(stem.with_suffix(".json"), name, lm.name)
        sets.append(found)
        stem.with_suffix(".json").write_text(json.dumps({"sets": sets}, indent=1) + "\n")
        stem.with_suffix(".md").write_text(page(sets))
        print("\n".join(account(found)), flush=True)


def kept(path: Path, name: str, model: str) -> list[dict[str, Any]]:
    """What was found before, of other sets or with other models."""
    sets = json.loads(path.read_text())["sets"] if path.exists() else []
    return [one for one in sets if (one["name"], one["model"]) != (name, model)]


def studying(description: str | None, name: str, sizes: Sequence[int]) -> argparse.ArgumentParser:
    """The options of a script that works something out from the readings of sets, over random splits."""
    parser = drawing.besides(drawing.options(description))
    parser.add_argument("--splits", type=int, default=40)
    parser.add_argument("--sizes", type=int, nargs="+", default=list(sizes), help="numbers of labels")
    parser.add_argument("--out", default=f"benchmarks/results/{name}", help="where to write, without .json and .md")
    return parser


def study(
    args: argparse.Namespace,
    work: Callable[[ac.Examples, combining.Readings, LanguageModel], Mapping[str, Any]],
    page: Callable[[list[dict[str, Any]]], str],
) -> None:
    """Take the readings of every set, work something out, and write what was found after each.

    Args:
        args: What ``studying`` has parsed.
        work: Gives what is found, from a set, its readings, and the model.
        page: The Markdown of all sets.
    """
    stem = Path(args.out)
    with open_lm(args.lm, api_base=args.api_base, context=args.context) as lm, Journal(args.journal) as journal:
        lm.memory = journal
        for named in args.data:
            name, _, path = named.partition("=")
            data = drawing.draw(drawing.fresh(drawing.read(path, args), args), args)
            readings = combining.Readings.of(data, *take_readings(data, lm))
            found = {
                "name": name,
                "model": lm.name,
                "data_sha256": data_sha256(data),
                "drawn": {**drawing.drawn(args), "besides": args.besides},
                "splits": args.splits,
                "examples": len(readings.human),
                **work(data, readings, lm),
            }
            sets = [*kept(stem.with_suffix(".json"), name, lm.name), found]
            stem.with_suffix(".json").write_text(json.dumps({"sets": sets}, indent=1) + "\n")
            stem.with_suffix(".md").write_text(page(sets))
            print(page([found]), flush=True)


def take_readings(
    examples: Sequence[Example], lm: LanguageModel, weighed: Callable[[Likelihood], float] = value_of
) -> tuple[dict[str, list[float | None]], list[tuple[float, ...] | None]]:
    """Ask the model for what it reads in texts without any label.

    Args:
        examples: The texts; their scores are not looked at.
        lm: The language model; what it has answered before comes from its memory.
        weighed: The number that a likelihood counts as; the product's, or another.

    Returns:
        A value for every example, None where there is none: ``"rating"`` is that of zero-shot in percent of the scale,
        ``"approval"`` the log-odds of yes without criteria, ``"likelihood"`` the mean of the 15 least likely tokens.
        All None for a reading that the model does not give. And the log-probabilities of the tokens.
    """
    logprobs: list[tuple[float, ...] | None] = [None] * len(examples)
    scorer = Scorer(zero_shot_protocol(lm, PERCENT), lm)

    def rating(example: Example) -> float | None:
        return scorer.verdict(example.source, example.response, explain=False).score

    def value(name: str, index: int) -> float | None:
        if name == "rating":
            return rating(examples[index])
        try:
            read = further_reading(name, lm, (), examples[index])
        except PER_ITEM:
            return None
        if not isinstance(read, Likelihood):
            return value_of(read)
        logprobs[index] = read.logprobs
        return weighed(read)

    given, _ = readings_for(lm, {"approval": "auto", "likelihood": "auto", "contrast": "never", "surface": "never"})
    order = sorted(range(len(examples)), key=lambda i: (examples[i].source, i))
    found: dict[str, list[float | None]] = {}
    for name in ("rating", "approval", "likelihood"):
        found[name] = [None] * len(examples)
        jobs = [i for i in order if examples[i].response.strip()] if name in given else []
        values = in_parallel(lm, partial(value, name), jobs, doing=name, progress=drawing.say)
        for index, one in zip(jobs, values, strict=True):
            found[name][index] = one
    return found, logprobs


# --- what is told -----------------------------------------------------------------------------------------------------


def page(sets: Sequence[Mapping[str, Any]]) -> str:
    """The Markdown of all sets: means over those of a model, then each by itself."""
    lines = ["# Readings of a text, and one score made of several", "", *BASIS, ""]
    for model in dict.fromkeys(one["model"] for one in sets):
        own = [one for one in sets if one["model"] == model]
        if len(own) > 1:
            lines += [f"## Mean over the sets, {model}", "", ", ".join(one["name"] for one in own) + ".", ""]
            lines += _ways([one["ways"] for one in own])
    for one in sets:
        lines += [f"## {one['name']}, {one['model']}", "", *account(one)]
    return "\n".join(lines)


BASIS = (
    "`python benchmarks/readings.py`. Rating: zero-shot. Approval: log-odds of yes when asked whether the response is",
    "good, without criteria. Likelihood: mean log-probability of the 15 least likely tokens of the response, given the",
    "source. None of them saw a label.",
    "Surface: the surface floor, fitted on the labels, out of fold for them.",
    "",
    "In what combines readings, a third of the examples (whole documents) is held out in each split, the same for all",
    "numbers of labels; the labels come document after document from the rest. Figures are means over splits of the",
    "mean of Pearson, Spearman and Kendall on the held-out part, where a coefficient that is not defined counts as 0;",
    "the best of a column is bold. `calibrated` is `active_critic.calibration.calibrate`; as in a fit, a reading other",
    f"than the rating with less than {WORTH:.0%} of the weights is left out.",
    "",
    "Intervals in brackets are 95 %: bootstrap over documents for a reading alone, the middle of the splits otherwise",
    "(splits overlap: it is how much chance there is in one of them, no test of a difference).",
)


def account(found: Mapping[str, Any]) -> list[str]:
    """What was found of one set."""
    how = found["settings"]
    besides = f"; none of the {how['besides']} documents that seed 0 draws" if how.get("besides") else ""
    basis = (
        f"{found['complete']} of {found['examples']} examples of {found['documents']} documents have all readings "
        f"(drawn: documents {how['documents'] or 'all'}, of each {how['per_document'] or 'all'}; seed {how['seed']}"
        f"{besides}); "
        f"{how['splits']} splits, {found['held_out']:.0f} held out on average."
    )
    lines = [
        basis,
        "",
        *_table(
            ["reading alone", "Pearson", "Spearman", "Kendall", "mean of three", "different values", "had"],
            [_alone(name, found) for name in found["alone"]],
        ),
        "With each other (Pearson): "
        + ", ".join(f"{pair} {'–' if r is None else f'{r:.2f}'}" for pair, r in found["with each other"].items())
        + ".",
        "",
        "Labels are of so many documents on average: "
        + ", ".join(f"{size} of {n:.1f}" for size, n in found["documents by labels"].items())
        + ".",
        "",
        *_ways([found["ways"]]),
    ]
    whole = found["with all tokens"]
    lines += [
        "With the likelihood of all tokens (GPTScore's) in place of that of the least likely ones: alone "
        f"{whole['alone']:.3f}, in the product "
        + ", ".join(f"{mean:.3f} with {size} labels" for size, mean in whole["product"].items())
        + ".",
        "",
    ]
    heads = [f"intervals at {100 * coverage:g} %: inside; width" for coverage in COVERAGES]
    rows = [
        [f"{size} labels", *(_covered(one, how["splits"]) for one in row.values())]
        for size, row in found["coverage"].items()
    ]
    lines += [
        "Part of held-out human scores inside the product's intervals, and their mean width in % of the scale:",
        "",
        *_table(["", *heads], rows),
    ]
    names = list(found["curve"])
    rows = [
        [size, *(_with_ends(found["curve"][name][size]) for name in names)] for size in found["documents by labels"]
    ]
    lines += [
        f"Learning curve; {names[-1]} is the best reading without labels, by all examples of the set:",
        "",
        *_table(["labels", *names], rows),
    ]
    return [*lines, f"![learning curve]({found['picture']})", ""]


def _alone(name: str, found: Mapping[str, Any]) -> list[str]:
    one = found["alone"][name]
    kinds = ("pearson", "spearman", "kendall", "mean")
    cells = [figure_words(one[kind], one[f"{kind}_interval"]) for kind in kinds]
    return [name, *cells, str(one["values"]), f"{found['had'].get(name, found['examples'])}/{found['examples']}"]


def _ways(sets: Sequence[Mapping[str, Any]]) -> list[str]:
    """A table a situation: ways by number of labels, means over the sets; only sizes and ways that all sets have."""
    lines = []
    for situation, table in sets[0].items():
        rows = [one[situation] for one in sets]
        names = [name for name in table if all(name in row for row in rows)]
        sizes = [size for size in table[names[0]] if all(size in row[names[0]] for row in rows)]
        told: list[list[str]] = []
        means = [[float(np.mean([row[name][size]["mean"] for row in rows])) for size in sizes] for name in names]
        best = np.max(means, axis=0).round(3)
        for name, row in zip(names, np.round(means, 3), strict=True):
            cells = [f"**{x:.3f}**" if x == top else f"{x:.3f}" for x, top in zip(row, best, strict=True)]
            told.append([name, *cells])
        lines += _table([f"{situation}: labels", *sizes], told)
    return lines


def _covered(one: Mapping[str, Any], splits: int) -> str:
    if one["inside"] is None:
        return "too few labels"
    part = f" ({one['splits']} splits)" if one["splits"] < splits else ""
    return f"{100 * one['inside']:.0f} %; {one['width']:.0f} %{part}"


def _with_ends(one: Mapping[str, Any]) -> str:
    return figure_words(one["mean"], None if one["low"] is None else (one["low"], one["high"]))


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    cells = [heads, ["---"] * len(heads), *rows]
    return [*(f"| {' | '.join(row)} |" for row in cells), ""]


def svg(found: Mapping[str, Any]) -> str:
    """The learning curve as a picture: the package's own, which has a line for what needs no labels."""
    combined, surface, free = found["curve"].values()
    name = list(found["curve"])[-1]
    points = [
        SimpleNamespace(
            labels=int(size),
            mean=SimpleNamespace(value=at["mean"], interval=None if at["low"] is None else (at["low"], at["high"])),
            floor=SimpleNamespace(agreement=SimpleNamespace(mean=surface[size]["mean"])),
        )
        for size, at in combined.items()
    ]
    without = next(iter(free.values()))["mean"]  # the same held-out examples for every number of labels
    curve: Any = SimpleNamespace(
        evaluator=f"{found['name']}, combined score",
        points=points,
        zero_shot=SimpleNamespace(mean=SimpleNamespace(value=without)),
        words=[f"Bars are the middle 95 % of {found['settings']['splits']} splits."],
    )
    return curve_svg(curve).replace(">zero-shot<", f">{name}, without labels<")


def arguments(argv: list[str] | None = None) -> argparse.Namespace:
    return studying(__doc__, "readings", (5, 10, 20, 30, 50, 100)).parse_args(argv)


if __name__ == "__main__":
    main()
