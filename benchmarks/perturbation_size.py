"""How much the rules change a text, beside the examples that the authors of the perturbations give of them.

    python benchmarks/perturbation_size.py path/to/perturbation_examples.jsonl

Size of a change: 1 minus the ratio of matching words (``difflib``), 0 for the same text; the median over the originals
of the examples that a rule fits. Asks no model.
"""

from __future__ import annotations

import argparse
import json
import statistics
from collections import defaultdict
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

from active_critic.probes.perturbations import PERTURBATIONS, perturb

THEIRS = {
    "fluency_repeat": "repetition",
    "coherence_conjuction": "improper-connective",
    "grammar_verb": "incorrect-verb-form",
    "simple_word": "uncommon-phrase",
    "simple_structure": "complex-sentence",
    "inform_abbr": "abbreviation",
    "inform_hypernym": "hypernym",
    "hallucination_fact": "complement",
    "hallucination_continue": "continuation",
    "contradiction_entity": "different-entity",
    "contradiction_meaning": "conflicting-fact",
    "contradiction_negate": "negation",
}
"""Our names of their perturbations, but for the two that have no honest rule."""


def size(before: str, after: str) -> float:
    """How much of a text has changed, from 0 to 1, in words."""
    return 1 - SequenceMatcher(None, before.split(), after.split(), autojunk=False).ratio()


def main() -> None:
    """Measure all, and write them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("examples", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", default=str(Path(__file__).parent / "results" / "perturbation_size"))
    args = parser.parse_args()
    ours, theirs = defaultdict(list), defaultdict(list)
    for line in args.examples.read_text(encoding="utf-8").splitlines():
        example = json.loads(line)
        if (name := THEIRS.get(example["perturbation"])) is None:
            continue
        theirs[name].append(size(example["original"], example["perturbed"]))
        changed = perturb(example["original"], "", name, seed=args.seed).text
        if changed is not None:  # the rule fits this text
            ours[name].append(size(example["original"], changed))
    rows: list[dict[str, Any]] = [
        {
            "perturbation": name,
            "texts": len(theirs[name]),
            "fits": len(ours[name]),
            "rule": statistics.median(ours[name]) if ours[name] else None,
            "theirs": statistics.median(theirs[name]),
        }
        for name in PERTURBATIONS
        if name in theirs
    ]
    lines = [
        f"Size of the change: 1 minus the ratio of matching words, median over the texts; seed {args.seed}.",
        "",
        "| perturbation | by rule | texts that the rule fits | in the authors' examples |",
        "| --- | --- | --- | --- |",
    ]
    for row in rows:
        rule = "" if row["rule"] is None else f"{row['rule']:.2f}"
        lines.append(f"| {row['perturbation']} | {rule} | {row['fits']} of {row['texts']} | {row['theirs']:.2f} |")
    stem = Path(args.out)
    stem.with_suffix(".json").write_text(json.dumps({"seed": args.seed, "perturbations": rows}, indent=1) + "\n")
    stem.with_suffix(".md").write_text("\n".join([*lines, ""]))
    print("\n".join(lines))


if __name__ == "__main__":
    main()
