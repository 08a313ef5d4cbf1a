"""What the figures of a text's tokens gain a score that is combined of likelihood, approval and surface.

    python benchmarks/tokens.py sfres=path/to/sfres.jsonl='runs/sfres_*.sqlite'

The likelihood of an example, token by token, and its approval are what journals of ``compare.py`` hold, so no model is
asked, and there is no rating. Approvals are standardised by their run, for each has criteria of its own, and averaged;
where fewer than half of the examples that have a likelihood have one, it is left out. Splits and labels are drawn as
for ``readings.py``.
"""

from __future__ import annotations

import json
import math
import sqlite3
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import active_critic as ac
from active_critic.approval import approval_turns
from active_critic.calibration import EXPECTED, OF_FIGURES
from active_critic.evaluators._readings import TOKENS, weighed_part
from active_critic.evaluators.gpt_score import weighing_turns
from active_critic.lm.likelihood import Likelihood
from active_critic.stats import q

sys.path.insert(0, str(Path(__file__).parent))
import combining
import drawing

OTHERS = (0.2, 0.4)
"""Other multiple correlations of the figures with people's scores that could be believed in."""
WITHOUT, PRODUCT = "without them", f"with them (the product, belief {EXPECTED[TOKENS + OF_FIGURES]:g})"
SHUFFLED = "with those of other examples, drawn at random"


def main() -> None:
    parser = drawing.options(__doc__)
    parser.add_argument("--splits", type=int, default=20)
    parser.add_argument("--sizes", type=int, nargs="+", default=[5, 10, 20, 40, 80, 150], help="numbers of labels")
    parser.add_argument("--out", default="benchmarks/results/tokens", help="where to write, without .json and .md")
    args = parser.parse_args()
    sets = []
    for named in args.data:
        name, path, journals = named.split("=", 2)
        known = readings_of(drawing.read(path, args), sorted(Path().glob(journals)))
        least = min(len(pool) for pool, _ in combining.parted(known, args.splits, args.seed))
        sizes = [size for size in args.sizes if size <= least]
        reached: dict[str, dict[str, list[float]]] = {}
        for size, trial in combining.trials(known, sizes, args.splits, args.seed, strong=False, mute=False):
            for way, scores in _ways(trial, args.seed):
                row = reached.setdefault(way, {str(size): [] for size in sizes})
                row[str(size)].append(q(scores.tolist(), trial.truth.tolist()) / 3)
        found = {way: {size: float(np.mean(values)) for size, values in row.items()} for way, row in reached.items()}
        told = {"examples": len(known.human), "documents": len(set(known.groups)), "readings": sorted(known.values)}
        sets.append({"name": name, **told, "ways": found})
        print(page(sets[-1:], args.splits), flush=True)
    stem = Path(args.out)
    stem.with_suffix(".json").write_text(json.dumps({"splits": args.splits, "seed": args.seed, "sets": sets}) + "\n")
    stem.with_suffix(".md").write_text(page(sets, args.splits))


def _ways(trial: combining.Trial, seed: int) -> Iterator[tuple[str, combining.Floats]]:
    def scored(one: combining.Trial) -> combining.Floats:
        return combining.applied(combining.fitted(one), one)

    yield WITHOUT, scored(replace(trial, figures={"surface": trial.figures["surface"]}))
    yield PRODUCT, scored(trial)
    for r in OTHERS:
        with combining.believing(**{TOKENS + OF_FIGURES: r}):
            yield f"with them, belief {r:g}", scored(trial)
    rng = np.random.default_rng(seed)
    train, test = (rng.permutation(one[TOKENS]) for one in (trial.figures, trial.there))
    swapped = {"figures": {**trial.figures, TOKENS: train}, "there": {**trial.there, TOKENS: test}}
    yield SHUFFLED, scored(replace(trial, **swapped))


def readings_of(data: ac.Examples, journals: Sequence[Path]) -> combining.Readings:
    """The examples that have a likelihood in one of the journals, with what was read of them."""
    weighed = {(weighing_turns(e)[-1][1], weighed_part(e.response)): i for i, e in enumerate(data)}
    asked = {approval_turns((), e.source, e.response)[-1][1]: i for i, e in enumerate(data)}
    logprobs: dict[int, tuple[float, ...]] = {}
    approvals: dict[int, list[float]] = {}
    for path in journals:
        own: dict[int, float] = {}
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as journal:
            for request, reply in journal.execute("SELECT request, reply FROM replies"):
                question, answer = json.loads(request), json.loads(reply)
                said = question["messages"][-1][1]
                if "likelihood" in question:
                    if (place := weighed.get((said, question["likelihood"]))) is not None:
                        logprobs[place] = tuple(answer["logprobs"])
                elif (place := asked.get(said)) is not None and answer["tokens"]:
                    own[place] = _log_odds(answer["tokens"][0][2])
        values = np.array(list(own.values()))
        for place, value in own.items():
            approvals.setdefault(place, []).append(float((value - values.mean()) / (values.std() or 1.0)))
    places = sorted(logprobs)
    if 2 * len(approvals) > len(places):
        places = [place for place in places if place in approvals]
    taken, texts = data.take(places), [logprobs[place] for place in places]
    values = {"likelihood": [Likelihood(one, "forced").weakest for one in texts]}
    if all(place in approvals for place in places):
        values["approval"] = [float(np.mean(approvals[place])) for place in places]
    return combining.Readings.of(taken, values, texts)


def _log_odds(alternatives: Sequence[tuple[str, float]]) -> float:
    """How much likelier "yes" is than "no", as ``approval.read_approval`` has it where both are listed."""
    said = {"yes": 1e-9, "no": 1e-9}
    for text, logprob in alternatives:
        word = text.strip().strip(".,!").casefold()
        if word in said:
            said[word] += math.exp(logprob)
    return max(-10.0, min(10.0, math.log(said["yes"] / said["no"])))


def page(sets: list[dict[str, Any]], splits: int) -> str:
    """The Markdown: the mean over the sets that have a number of labels, then every set."""
    lines = [
        f"Mean of three coefficients on the held-out third, by number of labels; means over {splits} splits.",
        "Combined of the likelihood, the approval and the figures of the surface, with and without figures of the",
        "tokens. `python benchmarks/tokens.py`",
        "",
    ]
    tables = [("mean of all sets that have as many labels", sets)] if len(sets) > 1 else []
    tables += [(f"{one['name']}: {one['examples']} examples of {one['documents']} documents", [one]) for one in sets]
    for title, of in tables:
        sizes = list(dict.fromkeys(size for one in of for size in one["ways"][WITHOUT]))
        heads = [f"{size} ({sum(size in one['ways'][WITHOUT] for one in of)} sets)" for size in sizes]
        lines += [f"## {title}", "", f"| figures of the tokens | {' | '.join(heads if len(of) > 1 else sizes)} |"]
        lines.append("|" + " --- |" * (len(sizes) + 1))
        for way in of[0]["ways"]:
            means = [np.mean([one["ways"][way][size] for one in of if size in one["ways"][way]]) for size in sizes]
            lines.append(f"| {way} | {' | '.join(f'{mean:.3f}' for mean in means)} |")
        lines.append("")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
