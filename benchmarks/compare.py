"""Every evaluator on the same held-back documents with the same model: one table a data set.

    python benchmarks/compare.py sfres=path/to/sfres.jsonl --documents 44 --lm local
    python benchmarks/compare.py sfres=path/to/sfres.jsonl --documents 44 --ablations

Draws documents, and responses of each, by the seed where asked to; fits on a share of the documents and scores the rest
(``active_critic.meta_evaluation.compare``). Every reply goes through a journal: a run that is stopped goes on where it
was, and ``--methods`` can be given a few at a time. Results hold numbers, ids and settings, never texts.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
from functools import partial
from pathlib import Path
from typing import Any

import active_critic as ac
from active_critic.data.examples import group_of
from active_critic.figures_in_words import figure_words
from active_critic.journal import Journal
from active_critic.lm import open_lm
from active_critic.meta_evaluation import compare
from active_critic.meta_evaluation.comparison import Comparison
from active_critic.meta_evaluation.methods import EVALUATOR_NAMES, resolve

sys.path.insert(0, str(Path(__file__).parent))
import drawing

VARIANTS: dict[str, dict[str, Any]] = {
    " (rating only)": {  # as in the paper
        "use_criteria": "never",
        "use_approval": "never",
        "use_likelihood": "never",
        "use_contrast": "never",
        "use_surface": "never",
        "discount_forgeries": "never",
        "discount_praise": "never",
    },
    " (without surface)": {"use_surface": "never"},
    " (with contrast)": {"use_contrast": "auto"},
}
"""Behind the name of an Active-Critic: what its score is not read from, or is read from, too."""
SEARCHES: dict[str, dict[str, Any]] = {
    " (rating only, refined)": {**VARIANTS[" (rating only)"], "refinements": 2},
    " (rating only, levels searched)": {**VARIANTS[" (rating only)"], "levels": "1-5,1-9,0-100"},
    " (rating only, order searched)": {**VARIANTS[" (rating only)"], "order": "both"},
    " (without single criteria)": {"use_criteria": "never"},
}
"""And what more is searched for the rating; compared where asked for."""
METHODS = (
    *EVALUATOR_NAMES,
    *(f"{name}{variant}" for name in EVALUATOR_NAMES if name.startswith("active-critic") for variant in VARIANTS),
)
FURTHER = (*(f"{name}{change}" for name in EVALUATOR_NAMES if name.startswith("active-critic") for change in SEARCHES),)
ABLATIONS: dict[str, dict[str, Any]] = {
    "fine": {},
    "without task description": {"task_description": False},
    "without criteria inference": {"criteria": None},  # the criteria come from --criteria
    "without multi-criteria scoring": {"mode": "coarse"},
    "without overall scoring": {"overall_scoring": False},
    "without demo search": {"candidates": 1},
    "one mini-batch": {"max_batches": 1},
    "without explanations": {"explanations": False},
}
"""The paper's ablations (Table 3 and Figure 3) as settings of ``ActiveCritic``."""


def main() -> None:
    args = arguments()
    with open_lm(args.lm, api_base=args.api_base, context=args.context) as lm, Journal(args.journal) as journal:
        lm.memory = journal
        for named in args.data:
            name, _, path = named.partition("=")
            found = compare(
                drawing.draw(drawing.read(path, args), args),
                chosen_methods(args),
                lm,
                train=args.train,
                test_documents=args.test_documents,
                repeats=args.repeats,
                seed=args.seed,
                against="fine" if args.ablations else args.against,
                journal=None,
                progress=drawing.say,
            )
            seed = f"_seed{args.seed}" if args.seed else ""
            stem = Path(args.out) / f"{'ablation' if args.ablations else 'compare'}_{name}_{lm.name}{seed}"
            stem.parent.mkdir(parents=True, exist_ok=True)
            document = {
                "name": name,
                "drawn": drawing.drawn(args),
                "python": platform.python_version(),
                **without_texts(found),
            }
            stem.with_name(f"{stem.name}.json").write_text(json.dumps(document, indent=1) + "\n")
            stem.with_name(f"{stem.name}.md").write_text(table(name, found, args))
            print(f"\n{table(name, found, args)}", flush=True)


def chosen_methods(args: argparse.Namespace) -> Any:
    if not args.ablations:
        plain_ones = [name for name in args.methods if name in EVALUATOR_NAMES]
        made = resolve(plain_ones, _settings(args), seed=args.seed) if plain_ones else {}
        for name in args.methods:
            for variant, change in {**VARIANTS, **SEARCHES}.items():
                if name.endswith(variant):
                    plain = name.removesuffix(variant)
                    (factory,) = resolve([plain], _settings(args, plain), seed=args.seed).values()
                    made[name] = partial(factory, **change)
        return made
    common = {"candidates": args.candidates, "max_batches": args.batches, "report": False, "seed": args.seed}
    common |= VARIANTS[" (rating only)"]
    criteria = json.loads(Path(args.criteria).read_text()) if args.criteria else None
    made = {}
    for name in [name for name in args.methods if name in ABLATIONS] or ABLATIONS:
        change = ABLATIONS[name]
        if "criteria" in change and criteria is None:
            continue
        own = {**common, **change} | ({"criteria": criteria} if "criteria" in change else {})
        made[name] = partial(ac.ActiveCritic, journal=None, **own)
    return made


def _settings(args: argparse.Namespace, only: str | None = None) -> dict[str, dict[str, Any]]:
    """Settings of the methods that are compared, or of one of them; ``--set`` adds to them."""
    ours = {"candidates": args.candidates, "max_batches": args.batches}
    settings: dict[str, dict[str, Any]] = {
        "active-critic-coarse": dict(ours),
        "active-critic-fine": dict(ours),
        "g-eval": {"max_batches": args.batches},
        "hd-eval": {"max_batches": args.batches},
        "auto-calibrate": {"max_batches": args.batches, "budget": args.calibration_calls},
    }
    for text in args.set or ():
        where, _, value = text.partition("=")
        name, _, parameter = where.rpartition(".")
        settings.setdefault(name, {})[parameter] = json.loads(value)
    return {name: own for name, own in settings.items() if name in ([only] if only else args.methods)}


def without_texts(found: Comparison) -> dict[str, Any]:
    """The comparison as plain values, without paths and without replies, which may quote the data."""
    document = found.to_dict()
    document["data"].pop("path")
    for method in document["methods"]:
        method["unscored"] = sum(method["unscored"].values())
        method["failures"] = [{k: v for k, v in failure.items() if k != "reason"} for failure in method["failures"]]
        method["parameters"].pop("criteria", None)
    names = ("example", "document", "repeat", "fold", "human", *(method.name for method in found.methods))
    document["predictions"] = [{name: record[name] for name in names} for record in found.predictions()]
    return document


def table(name: str, found: Comparison, args: argparse.Namespace) -> str:
    """The Markdown table of one data set, and what it says."""
    split = found.splits[0]
    tested = len({group_of(found.data[i]) for i in split.test})
    title = (
        f"**{name}**, {found.model or 'no model'}: fitted on {len(split.train)} examples, tested on {len(split.test)} "
        f"({tested} documents){f', {args.repeats} times' if args.repeats > 1 else ''}, {args.candidates} candidates, "
        f"at most {args.batches} batches, seed {args.seed}"
    )
    columns = ["method", "Pearson", "Spearman", "Kendall", "mean of three", f"over {found.baseline}", "p (Holm)"]
    columns += ["scored", *(f"{what} fit / test" for what in ("calls", "tokens", "seconds"))]
    lines = [title, "", f"| {' | '.join(columns)} |", "|" + " --- |" * len(columns)]
    for method in sorted(found.methods, key=lambda m: -(m.agreement.mean or -9)):
        a, over = method.agreement, method.over_baseline
        cells = [
            figure_words(getattr(a, kind), getattr(a, f"{kind}_interval"))
            for kind in ("pearson", "spearman", "kendall", "mean")
        ]
        cells.append(figure_words(over.difference.delta, over.difference.interval, "+z.2f") if over else "")
        cells.append("" if over is None or over.p_holm is None else f"{over.p_holm:.3f}")
        cells.append(f"{a.n}/{a.total}")
        fit, test = method.fit, method.scoring
        cells.append(f"{fit.calls} / {test.calls}")
        cells.append(f"{_tokens(fit)} / {_tokens(test)}")
        cells.append(f"{fit.seconds:.0f} / {test.seconds:.0f}")
        lines.append(f"| {method.name} | {' | '.join(cells)} |")
    return "\n".join([*lines, "", *(f"- {said}" for said in found.words), ""])


def _tokens(usage: ac.Usage) -> str:
    return f"{(usage.prompt_tokens + usage.completion_tokens) / 1000:.0f}k"


def arguments(said: str | None = __doc__) -> argparse.Namespace:
    parser = drawing.splitting(drawing.options(said))
    parser.add_argument(
        "--methods",
        nargs="+",
        default=list(METHODS),
        choices=(*METHODS, *FURTHER, *ABLATIONS),
        metavar="NAME",
    )
    parser.add_argument("--set", action="append", metavar="NAME.PARAMETER=JSON")
    parser.add_argument("--against", help="what all are compared with; default: the best that is no Active-Critic")
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--candidates", type=int, default=11)
    parser.add_argument("--batches", type=int, default=25)
    parser.add_argument(
        "--calibration-calls", type=int, help="budget of AutoCalibrate's fit; default: the paper's plan"
    )
    parser.add_argument("--ablations", action="store_true", help="the paper's ablations instead of all evaluators")
    parser.add_argument("--criteria", help="with --ablations: JSON of given criteria, by name")
    parser.add_argument("--out", default="benchmarks/results")
    return parser.parse_args()


if __name__ == "__main__":
    main()
