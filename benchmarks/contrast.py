"""The contrast in the product's combination, with texts and weights from the same labels.

    python benchmarks/contrast.py sfres=path/to/sfres.jsonl --documents 44

Everything is as in ``readings.py``, over the same random splits of the documents: the rating of zero-shot, the approval
and the likelihood need no label and are taken once; the contrast is taken anew for every split, from its labels alone,
as a fit takes it (``take_contrast``): its texts come from these labels, and each of them is weighed after texts of
other documents among them. Held-out texts are weighed after the texts that the program would keep. With the contrast,
likelihood and tokens are what it is read from, two likelihoods a text in all; or, in another column, read by themselves
as without it, three in all. From the same readings, what other beliefs in the contrast would have come to.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import active_critic as ac
from active_critic.evaluators._contrast import Contrasted, take_contrast, weigh_after
from active_critic.evaluators._readings import TOKENS
from active_critic.evaluators._weighed import WEIGHED
from active_critic.lm import LanguageModel
from active_critic.records import Example
from active_critic.stats import q
from active_critic.token_figures import token_figures

sys.path.insert(0, str(Path(__file__).parent))
import combining
import drawing
import readings
from combining import Trial

CONTRAST = "contrast"
WAYS = ("without", "with", "with, three likelihoods", "alone")
"""The combination without the contrast; with it, likelihood and tokens read from the same texts before the response, or
by themselves; and the contrast alone."""
BELIEFS = (0.1, 0.2, 0.25, 0.3, 0.4)
"""Correlations of the contrast with people that might be believed of it."""


def main() -> None:
    parser = readings.studying(__doc__, "contrast_same", (20,))
    args = parser.parse_args()

    def work(_data: ac.Examples, known: combining.Readings, lm: LanguageModel) -> dict[str, Any]:
        return {"reached": reached(known, lm, args)}

    readings.study(args, work, page)


def reached(
    known: combining.Readings, lm: LanguageModel, args: argparse.Namespace
) -> dict[str, dict[str, list[float]]]:
    """By number of labels and way, the mean of the three coefficients on the held-out part of every split."""
    parts = combining.parted(known, args.splits, args.seed)
    found: dict[str, dict[str, list[float]]] = {}
    tried = combining.trials(known, args.sizes, args.splits, args.seed, strong=False, mute=False)
    for done, (size, trial) in enumerate(tried):
        drawing.say("splits", done, args.splits * len(args.sizes))
        held_out = [known.examples[i] for i in parts[done // len(args.sizes)][1]]
        train, test = contrasted(lm, trial.labels, held_out, known, args.seed)
        more = added(trial, train, test)
        joint = jointly(more, train, test)
        scores = [combining.applied(combining.fitted(one), one) for one in (trial, joint, more)]
        values = dict(zip(WAYS, (*scores, more.test[CONTRAST]), strict=True))
        for belief in BELIEFS:
            with combining.believing(contrast=belief):
                values[believed(belief)] = combining.applied(combining.fitted(joint), joint)
        row = found.setdefault(str(size), {way: [] for way in values})
        for way, column in values.items():
            row[way].append(q(column.tolist(), trial.truth.tolist()) / 3)
    return found


def believed(belief: float) -> str:
    """What the combination with a belief in the contrast is called."""
    return f"with, belief {belief:g}"


def added(trial: Trial, train: Sequence[Contrasted], test: Sequence[Contrasted]) -> Trial:
    """The trial with the contrast as one reading more."""
    own, there = (np.array([one.value for one in part]) for part in (train, test))
    return replace(trial, train=trial.train | {CONTRAST: own}, test=trial.test | {CONTRAST: there})


def jointly(trial: Trial, train: Sequence[Contrasted], test: Sequence[Contrasted]) -> Trial:
    """The trial with likelihood and tokens as the contrast was read from."""
    own, there = (np.array([one.likelihood.weakest for one in part]) for part in (train, test))
    figures, others = (np.array([token_figures(one.likelihood.logprobs) for one in part]) for part in (train, test))
    return replace(
        trial,
        train=trial.train | {"likelihood": own},
        test=trial.test | {"likelihood": there},
        figures={**trial.figures, TOKENS: figures},
        there={**trial.there, TOKENS: others},
        joint=True,
    )


def contrasted(
    lm: LanguageModel, labels: Sequence[Example], held_out: Sequence[Example], known: combining.Readings, seed: int
) -> tuple[list[Contrasted], list[Contrasted]]:
    """The contrast of the labelled examples, out of fold, and of the held-out ones.

    Raises:
        SystemExit: There is none for some.
    """
    taken = take_contrast(lm, labels, known.scale, seed=seed, progress=None)
    if taken is None or any(one is None for one in taken[1]):
        raise SystemExit(f"{len(labels)} labels give no texts to follow, or some example has no likelihood")
    texts, read = taken
    order = sorted(range(len(held_out)), key=lambda i: (held_out[i].source, i))
    weighed = [{i: weigh_after(side, lm, held_out[i], WEIGHED) for i in order} for side in texts.sides.values()]
    liked, disliked = weighed
    there = [Contrasted.of(liked[i], disliked[i], texts.level) for i in range(len(held_out))]
    return [one for one in read if one is not None], there


def page(sets: Sequence[Mapping[str, Any]]) -> str:
    """The Markdown of all sets."""
    lines = ["# The contrast, with texts and weights from the same labels", "", "`python benchmarks/contrast.py`", ""]
    lines += [(__doc__ or "").partition("--documents 44")[2].strip(), ""]
    lines += ["| set | labels | splits | without | with | difference (each split) | with, three likelihoods | alone |"]
    lines += ["| --- |" + " --- |" * 7]
    for one in sets:
        for size, row in one["reached"].items():
            more = np.array(row["with"]) - np.array(row["without"])
            each = ", ".join(f"{value:+.2f}" for value in more)
            means = [float(np.mean(row[way])) for way in WAYS]
            lines.append(
                f"| {one['name']}, {one['model']} | {size} | {len(more)} | {means[0]:.3f} | {means[1]:.3f} | "
                f"{more.mean():+.3f} ({each}) | {means[2]:.3f} | {means[3]:.3f} |"
            )
    lines += ["", f"| set | labels | {' | '.join(believed(belief) for belief in BELIEFS)} |"]
    lines += ["| --- |" + " --- |" * (len(BELIEFS) + 1)]
    for one in sets:
        for size, row in one["reached"].items():
            told = [f"{float(np.mean(row[believed(belief)])):.3f}" for belief in BELIEFS]
            lines.append(f"| {one['name']}, {one['model']} | {size} | {' | '.join(told)} |")
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    main()
