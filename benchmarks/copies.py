"""How many texts count as copies, by data set: of their source, and of texts that people liked.

As they are, and with the source, or one of these texts, in their place or behind them.

    python benchmarks/copies.py sfres=path/to/sfres.jsonl hanna=path/to/hanna.jsonl.gz [--out FILE]

Draws documents until about 20 examples are fitted on, takes from these what a copy is, as a fit of Active-Critic does,
and looks at the texts of all other documents. Asks no model. Numbers and settings only, never texts.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

import active_critic as ac
from active_critic.calibration import Calibration, Part
from active_critic.data.examples import folds, group_of
from active_critic.evaluators._combining import beyond
from active_critic.evaluators._contrast import PARTS, beyond_any, choose_for, copied_from
from active_critic.evaluators.surface import copied_shares

FITTED_ON = 20
TRIED = 200
"""Texts of a draw, at most, that are compared with the liked ones."""
NO_PART = Part(name="rating", mean=0, spread=0, weight=0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", nargs="+", metavar="NAME=PATH")
    parser.add_argument("--fields", default="score=overall,group=doc_id")
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    fields = dict(pair.split("=", 1) for pair in args.fields.split(","))
    lines = [
        "# What counts as a copy of the source",
        "",
        f"`python benchmarks/copies.py`. Fitted on {FITTED_ON} examples, or what its last document has more; mean of",
        f"{args.draws} draws of documents. In % of the texts of the other documents: of whose three-word runs too many",
        'are the source\'s ("from"), and those that have too many of the source\'s ("holds").',
        "",
        "| data set | texts | as they are: from | holds | source behind them: from | holds | source instead: either |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    told_of_liked: list[str] = []
    for named in args.data:
        name, _, path = named.partition("=")
        read = ac.read_examples(path, fields=fields)
        examples = [example for example in read if example.source.strip()]
        found = np.mean(_counted(examples, args.draws), axis=0)
        lines.append(f"| {name} | {len(examples)} | {' | '.join(f'{100 * share:.1f}' for share in found)} |")
        if liked := [counted for seed in range(args.draws) if (counted := _of_liked(read, seed)) is not None]:
            own, behind, share = np.mean(liked, axis=0)
            had = len(liked) / args.draws
            told_of_liked.append(f"| {name} ({had:.0%}) | {100 * own:.1f} | {100 * behind:.1f} | {share:.2f} |")
    lines += [
        "",
        "The same for copies of a liked text of the contrast: too many of their three-word runs are one text's, or",
        "they have too many of that text's. In brackets: in what part of the draws the contrast can be had.",
        "",
        "| data set | as they are | one of them behind the text | what makes a copy, mean share |",
        "| --- | --- | --- | --- |",
        *told_of_liked,
    ]
    print("\n".join(lines))
    if args.out:
        args.out.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _left(documents: Sequence[str], seed: int) -> set[str]:
    """The documents that are left when about as many examples as are fitted on have been drawn."""
    left = sorted(set(documents))
    random.Random(seed).shuffle(left)
    while sum(document not in left for document in documents) < FITTED_ON:
        left.pop()
    return set(left)


def _of_liked(data: ac.Examples, seed: int) -> list[float] | None:
    """Shares of the texts that copy a liked one, as they are and with one behind them, and what share makes a copy."""
    documents = [group_of(example) for example in data]
    left = _left(documents, seed)
    fitted = data.take(i for i, document in enumerate(documents) if document not in left)
    parts = folds(fitted, PARTS, seed)
    if data.scale is None or (chosen := choose_for(fitted, parts, data.scale, None)) is None:
        return None
    limit, liked = beyond_any(fitted, parts, chosen), chosen[-1].liked
    rng = random.Random(seed)
    rest = [example for example, document in zip(data, documents, strict=True) if document in left]
    rest = rng.sample(rest, min(TRIED, len(rest)))
    behind = [replace(e, response=f"{e.response}\n\n{rng.choice(liked).response}") for e in rest]
    copies = [np.mean([copied_from(liked, e) > limit for e in texts]) for texts in (rest, behind)]
    return [*map(float, copies), limit]


def _counted(examples: Sequence[ac.Example], draws: int) -> list[list[float]]:
    """By draw, shares of the texts of documents that were not drawn, in the order of the table."""
    own = [copied_shares(example) for example in examples]
    behind = [
        copied_shares(replace(example, response=f"{example.response}\n\n{example.source}")) for example in examples
    ]
    instead = [copied_shares(replace(example, response=example.source)) for example in examples]
    documents = [group_of(example) for example in examples]
    counted = []
    for seed in range(draws):
        left = _left(documents, seed)
        most = beyond([shares for shares, document in zip(own, documents, strict=True) if document not in left])
        told = Calibration(parts=(NO_PART,), intercept=0, n=FITTED_ON, **most)
        of_text, of_source = (told.model_copy(update={name: None}) for name in ("holds", "copied"))
        tried = [(own, of_text), (own, of_source), (behind, of_text), (behind, of_source), (instead, told)]
        rest = [i for i, document in enumerate(documents) if document in left]
        counted.append([float(np.mean([limits.is_copy(shares[i]) for i in rest])) for shares, limits in tried])
    return counted


if __name__ == "__main__":
    main()
