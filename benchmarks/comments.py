"""What comments gain: the quick-start set, whose deductions are known, with and without words for them.

    python benchmarks/comments.py --seeds 0 1 --journal comments.sqlite

Every text of the set lost points for known faults; a comment says so in words that a hasty person might use, one of two
for each fault. For every seed the same third of the documents is fitted on twice, with these comments and without, and
the rest is scored by both. The set is made up, and so are the comments: people's are longer, vaguer, and not always
about what the score is about.
"""

from __future__ import annotations

import argparse
import json
import platform
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import active_critic as ac
from active_critic import stats
from active_critic.data.examples import example_key, group_of, human_score

DATA = Path(__file__).parents[1] / "datasets" / "quickstart.jsonl"
WORDS = {
    "contradicts": ("One of the facts is wrong.", "That is not what the facts say!"),
    "no_next_step": ("What happens next?", "The customer still does not know what to do."),
    "omits_fact": ("Leaves out something they need to know.", "Half of the facts are missing."),
    "rude": ("Rude.", "No way to speak to a customer."),
    "cold": ("Cold, not one kind word.", "A bit curt."),
    "no_answer": ("Never answers the question.", "Lots of words and no answer."),
    "gushes": ("Far too effusive.", "Over the top, nobody talks like that."),
    "repeats": ("Says everything twice.", "Repeats itself."),
    "invents": ("Makes things up.", "Where does that come from? Not from the facts."),
    "rambles": ("Rambles.", "Long-winded, get to the point."),
    "garbled": ("Hard to read.", "The sentences are garbled."),
}
NOTHING = ("Just right.", "Nothing to complain about.")
WITH, WITHOUT = "with comments", "without"


def commented(example: ac.Example) -> ac.Example:
    """The example with a comment for every point that it lost."""
    which = int(example_key(example), 16) % 2
    faults = example.record["deductions"]
    return replace(example, comment=" ".join(WORDS[fault][which] for fault in faults) or NOTHING[which])


def fitted(train: ac.Examples, rest: ac.Examples, args: argparse.Namespace, seed: int) -> dict[str, Any]:
    """What one fit infers, and how it scores the rest."""
    settings: dict[str, Any] = {"mode": args.mode, "candidates": args.candidates, "max_batches": args.batches}
    with ac.fit(train, lm=args.lm, seed=seed, report=False, journal=args.journal, **settings) as critic:
        verdicts = list(critic.score_many(rest, explain=False))
        return {
            "task": critic.fitted.task_description,
            "criteria": {criterion.name: criterion.definition for criterion in critic.fitted.criteria},
            "demonstrations": len(critic.fitted.demos),
            "parts": {part.name: part.weight for part in critic.fitted.calibration.parts},
            "scores": [verdict.score for verdict in verdicts],
            "ratings": [{one.name: one.score for one in verdict.criteria} for verdict in verdicts],
        }


def table(document: dict[str, Any]) -> str:
    """The results in words."""
    lines = [
        f"`{document['data']}`, {document['model']}, {document['settings']}",
        "",
        "| seed | fitted on, tested on | without | with comments | difference | p |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for one in document["runs"]:
        low, high = one["difference_interval"]
        figures = " | ".join(f"{one[name]['agreement']:.2f}" for name in (WITHOUT, WITH))
        apart = f"{one['difference']:+.2f} [{low:.2f}, {high:.2f}] | {one['p']:.2f}"
        lines.append(f"| {one['seed']} | {one['train']}, {one['test']} | {figures} | {apart} |")
    for one in document["runs"]:
        lines += ["", f"**Criteria, seed {one['seed']}**", ""]
        lines += [f"- {name}: {', '.join(one[name]['criteria'])}" for name in (WITHOUT, WITH)]
    return "\n".join(lines) + "\n"


def run(data: ac.Examples, args: argparse.Namespace, seed: int) -> dict[str, Any]:
    """Both fits on one split."""
    train, rest = ac.split(data, train=args.train, seed=seed)
    human, groups = [human_score(example) for example in rest], [group_of(example) for example in rest]
    told = replace(train, items=tuple(map(commented, train)))
    found = {name: fitted(part, rest, args, seed) for name, part in ((WITHOUT, train), (WITH, told))}
    for one in found.values():
        one["agreement"] = stats.agreement(one["scores"], human, groups).mean
    apart = stats.paired_difference(found[WITH]["scores"], found[WITHOUT]["scores"], human, groups)
    return {
        "seed": seed,
        "train": len(train),
        "test": len(rest),
        **found,
        "difference": apart.delta,
        "difference_interval": apart.interval,
        "p": apart.p,
    }


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lm", default="local")
    parser.add_argument("--mode", default="coarse", choices=["coarse", "fine"])
    parser.add_argument("--train", type=float, default=0.34)
    parser.add_argument("--candidates", type=int, default=3)
    parser.add_argument("--batches", type=int, default=3)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1])
    parser.add_argument("--journal", default="benchmarks/results/journal.sqlite")
    parser.add_argument("--out", default=str(Path(__file__).parent / "results"))
    args = parser.parse_args(arguments)
    data = ac.read_examples(DATA, fields={"group": "doc_id"}, scale="1..5")
    document = {
        "data": DATA.name,
        "model": args.lm,
        "settings": {name: getattr(args, name) for name in ("mode", "train", "candidates", "batches")},
        "python": platform.python_version(),
        "runs": [],
    }
    stem = Path(args.out) / f"comments_{args.mode}"
    for seed in args.seeds:
        document["runs"].append(run(data, args, seed))
        stem.with_suffix(".json").write_text(json.dumps(document, indent=1) + "\n")
        stem.with_suffix(".md").write_text(table(document))
    print(table(document))


if __name__ == "__main__":
    main()
