"""What evaluators do under attack and under perturbation, fitted on the same few labels with the same model.

    python benchmarks/robustness.py sfres=path/to/sfres.jsonl --documents 24 --per-document 2 --test-documents 8
    python benchmarks/robustness.py sfres=path/to/sfres.jsonl --probes attacks --families format,null,flattery

Draws documents and splits them as ``compare.py`` does (fits with the same settings are replayed from its journal), fits
every method on the training part, and probes it on texts of the other documents. Results hold numbers, never texts.
Which attacks are tried on a method depends on its form and criteria: the attacker has read the program.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
from pathlib import Path
from typing import Any

import compare as comparing
import drawing

from active_critic.data.examples import Examples
from active_critic.evaluators import Evaluator
from active_critic.journal import Journal
from active_critic.lm import LanguageModel, open_lm
from active_critic.meta_evaluation.splits import plan
from active_critic.probes.attack_trial import AttackTrial, attack_trial
from active_critic.probes.attacks import ATTACKS, KINDS
from active_critic.probes.lifts import Lift

TITLES = {
    "g-eval": "G-Eval",
    "active-critic-coarse (rating only)": "the paper's critic, coarse",
    "active-critic-coarse (without surface)": "ours, coarse, without surface",
    "active-critic-coarse": "ours, coarse",
    "active-critic-fine (rating only)": "the paper's critic, fine",
    "active-critic-fine (without surface)": "ours, fine, without surface",
    "active-critic-fine": "ours, fine",
}
"""What methods are called in the tables; others by their own names."""
METHODS = ("zero-shot", "g-eval", "active-critic-coarse (rating only)", "active-critic-coarse")


def main() -> None:
    args = _arguments()
    with open_lm(args.lm, api_base=args.api_base, context=args.context) as lm, Journal(args.journal) as journal:
        lm.memory = journal
        run(args, lm)


def run(args: argparse.Namespace, lm: LanguageModel) -> None:
    """Probe every method on every set, and write what was found after each method."""
    for named in args.data:
        name, _, path = named.partition("=")
        data = drawing.draw(drawing.read(path, args), args)
        (split,), _ = plan(data, train=args.train, test_documents=args.test_documents, seed=args.seed)
        train, test = data.take(split.train), data.take(split.test)
        document: dict[str, Any] = {
            "name": name,
            "model": lm.name,
            "scale": str(data.scale),
            "train": len(train),
            "test": len(test),
            "settings": {key: value for key, value in vars(args).items() if key in SETTINGS},
            "python": platform.python_version(),
            "methods": {},
        }
        trials: dict[str, AttackTrial] = {}
        behaviours: dict[str, Any] = {}
        stem = Path(args.out) / f"robustness_{name}_{lm.name}"
        stem.parent.mkdir(parents=True, exist_ok=True)
        factories = comparing.chosen_methods(args)
        for method in args.methods:
            print(f"{method}: fitting on {len(train)} examples", file=sys.stderr, flush=True)
            before = lm.usage
            evaluator = factories[method](lm).fit(train)
            found: dict[str, Any] = {"signature": evaluator.signature, "fit": (lm.usage - before).to_dict()}
            if "attacks" in args.probes:
                trials[method] = attacks(evaluator, test, args)
                found["attacks"] = without_texts(trials[method])
            if "perturbations" in args.probes:
                behaviours[method] = perturbations(evaluator, test, args)
                found["perturbations"] = behaviours[method].to_dict()
            found["all"] = (lm.usage - before).to_dict()
            document["methods"][method] = found
            stem.with_name(f"{stem.name}.json").write_text(json.dumps(document, indent=1) + "\n")
            stem.with_name(f"{stem.name}.md").write_text(report(document, trials, behaviours))
        print(f"\n{report(document, trials, behaviours)}", flush=True)


# --- attacks ------------------------------------------------------------------------------------------------------


def attacks(evaluator: Evaluator, test: Examples, args: argparse.Namespace) -> AttackTrial:
    """Attack the texts of the test part."""
    families = args.families.split(",") if args.families else None
    return attack_trial(evaluator, test, families=families, seed=args.seed, progress=drawing.say)


def without_texts(trial: AttackTrial) -> dict[str, Any]:
    """The trial as plain values, without the reasons of failures, which may quote the data."""
    document = trial.to_dict()
    for family in document["families"]:
        family.pop("reasons")
    return document


def attack_tables(trials: dict[str, AttackTrial]) -> list[str]:
    """Lift by kind, then by family: rows are attacks, columns are methods."""
    first = next(iter(trials.values()))
    names = [TITLES.get(method, method) for method in trials]
    head = [f"| {{}} | {' | '.join(names)} |", "|" + " --- |" * (len(names) + 1)]
    gain = 100 * first.threshold / (first.scale.high - first.scale.low)
    basis = (
        "Lift of the score under attack, in % of the scale, with a 95 % bootstrap interval over documents; then the "
        f"part of texts that gained {gain:.0f} % of the scale or more; then attacked texts left unscored, where there "
        f"are any. {first.texts} texts of {first.documents} documents. A text that is rated best already cannot be "
        "lifted: see the scores as they were."
    )
    lines = [basis, "", head[0].format("kind"), head[1]]
    as_they_were = [trial.overall.original for trial in trials.values()]
    shown = ["–" if mean is None else f"{first.scale.to_percent(mean):.1f}" for mean in as_they_were]
    lines.append(f"| score as it was, in % of the scale | {' | '.join(shown)} |")
    for kind in KINDS:
        cells = [next((_cell(k.lift, t) for k in t.kinds if k.kind == kind), "–") for t in trials.values()]
        if set(cells) != {"–"}:
            lines.append(f"| {kind} | {' | '.join(cells)} |")
    lines.append(f"| **all that keep the text** | {' | '.join(_cell(t.overall, t) for t in trials.values())} |")
    lines.append(f"| **all that replace it** | {' | '.join(_cell(t.replacing, t) for t in trials.values())} |")
    lines += ["", head[0].format("family"), head[1]]
    for attack in ATTACKS:
        cells = [next((_cell(f.lift, t) for f in t.families if f.name == attack.name), "–") for t in trials.values()]
        if set(cells) != {"–"}:
            lines.append(f"| {attack.name} ({attack.kind}) | {' | '.join(cells)} |")
    return [*lines, ""]


def _cell(lift: Lift, trial: AttackTrial) -> str:
    if lift.mean is None:
        return "not rated" if lift.declined else f"not scored ({lift.failed} failed)" if lift.failed else "–"
    said = f"{trial.percent(lift.mean):+.1f}"
    if lift.interval:
        low, high = (trial.percent(end) for end in lift.interval)
        said += f" [{low:+.1f}, {high:+.1f}]"
    failed = f"; {lift.failed} failed" if lift.failed else ""
    return f"{said}; {100 * (lift.success or 0.0):.0f} %{failed}"


# --- perturbations ------------------------------------------------------------------------------------------------


def perturbations(evaluator: Evaluator, test: Examples, args: argparse.Namespace) -> Any:
    """Make the texts of the test part worse, and see what the evaluator notices."""
    from active_critic.probes.behaviour import examine

    return examine(evaluator, test, by=args.by, seed=args.seed, progress=drawing.say)


def perturbation_account(behaviours: dict[str, Any]) -> list[str]:
    """What each method notices, as it says it itself, and the tables behind it."""
    lines: list[str] = []
    for method, found in behaviours.items():
        lines += [f"Perturbations, {TITLES.get(method, method)}:", "", "```", *found.words, "```", ""]
        lines += [*changes_table(found), *pairs_table(found)]
    return lines


SIGNS = {"falls": "✓", "faint": "(✓)", "still": "=", "rises": "✗", "moves": "✗", "unclear": "?"}
"""Behind a mean change that is tested."""


def changes_table(found: Any) -> list[str]:
    """The confusion matrix: mean changes by perturbation and by aspect or criterion."""
    columns = list(dict.fromkeys((one.kind, one.name) for one in found.changes))
    cells = {(one.perturbation, one.kind, one.name): one for one in found.changes if one.change is not None}
    lines = [
        f"Mean change in points of {found.scale}. In bold what should fall: ✓ it does, (✓) faintly, = it stays, ✗ it",
        "rises, ? not decided. Others that are tested should stay: = they do, ✗ they move, ? not decided.",
        "",
        f"| perturbation | texts | {' | '.join(f'{name} ({kind})' for kind, name in columns)} |",
        "|" + " --- |" * (len(columns) + 2),
    ]
    for treated in found.treated:
        if not treated.applied:
            continue
        row = []
        for kind, name in columns:
            one = cells.get((treated.name, kind, name))
            said = "–" if one is None else f"{one.change:+.2f}"
            said = f"**{said}**" if one is not None and one.expected == "falls" else said
            row.append(said if one is None or one.outcome is None else f"{said} {SIGNS[one.outcome]}")
        lines.append(f"| {treated.name} | {treated.applied} | {' | '.join(row)} |")
    return [*lines, ""]


def pairs_table(found: Any) -> list[str]:
    """How the critic's criteria go together, against people's aspects."""
    if not found.pairs:
        return []
    lines = [
        "Pearson's correlation of criteria on the texts as they were:",
        "",
        "| criteria | the critic's | people's | the critic's closer by, 95 % interval |",
        "| --- | --- | --- | --- |",
    ]
    for pair in found.pairs:
        own = "–" if pair.critic is None else f"{pair.critic:.2f} (n={pair.n})"
        human = "–" if pair.human is None else f"{pair.human:.2f} ({pair.human_a}, {pair.human_b})"
        excess = "–" if pair.excess is None else f"{pair.excess[0]:+.2f} to {pair.excess[1]:+.2f}"
        lines.append(f"| {pair.a}, {pair.b} | {own} | {human} | {excess} |")
    return [*lines, ""]


# --- all together -------------------------------------------------------------------------------------------------


def report(document: dict[str, Any], trials: dict[str, AttackTrial], behaviours: dict[str, Any]) -> str:
    """The Markdown of one set."""
    title = (
        f"**{document['name']}**, {document['model']}: fitted on {document['train']} examples, probed on "
        f"{document['test']} texts of other documents, seed {document['settings']['seed']}"
    )
    lines = [
        title,
        "",
        *(attack_tables(trials) if trials else []),
        *perturbation_account(behaviours),
    ]
    for method, found in document["methods"].items():
        lines.append(f"- {method}: `{found['signature']}`")
    return "\n".join([*lines, ""])


SETTINGS = ("seed", "train", "documents", "per_document", "test_documents", "candidates", "batches", "set", "families",
            "by")  # fmt: skip


def _arguments(argv: list[str] | None = None) -> argparse.Namespace:
    parser = drawing.splitting(drawing.options(__doc__))
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=comparing.METHODS, metavar="NAME")
    parser.add_argument("--probes", nargs="+", default=["attacks", "perturbations"],
                        choices=["attacks", "perturbations"])  # fmt: skip
    parser.add_argument("--families", metavar="NAME,...", help="attacks, or kinds of them; default: all")
    parser.add_argument("--by", choices=["rule", "model"], default="rule", help="what perturbs texts")
    parser.add_argument("--set", action="append", metavar="NAME.PARAMETER=JSON")
    parser.add_argument("--candidates", type=int, default=11)
    parser.add_argument("--batches", type=int, default=25)
    parser.add_argument("--out", default="benchmarks/results")
    args = parser.parse_args(argv)
    args.ablations, args.calibration_calls = False, None  # what compare.py reads besides
    return args


if __name__ == "__main__":
    main()
