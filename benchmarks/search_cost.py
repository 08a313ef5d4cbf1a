"""What the race saves: demo search by racing, against every candidate on every example as in the paper.

    python benchmarks/search_cost.py sfres=path/to/sfres.jsonl --documents 44 --lm local --candidates 11 --batches 3

The task and the criteria are inferred and the candidates drawn once, from all examples; then every candidate rates
every example (coarse, by the rating alone), never with a demonstration of its own document in the prompt. All else is
worked out from these verdicts: over random splits of the documents, each search chooses by one part and is held to the
agreement of its choice on the other. Calls and tokens are those that a search asks for. Through the journal: a run that
is stopped goes on where it was.
"""

from __future__ import annotations

import json
import platform
import random
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import compare as comparing
import drawing
import orjson

import active_critic as ac
from active_critic import demo_search, stats
from active_critic.data.examples import data_sha256, group_of
from active_critic.demo_search import DemoSearch, Search
from active_critic.evaluators.base import default_reading
from active_critic.inference import infer
from active_critic.journal import Journal
from active_critic.lm import open_lm
from active_critic.protocols import CriticProtocol, Provenance
from active_critic.scoring import Scorer

SPLITS = 200
SHARES = (0.25, 0.5, 0.75)
"""Parts of the documents that a search chooses by."""
FULL, RACE, NONE = "full grid", "race", "no search"


class Counting:
    """A journal, and what the replies that were taken from it or put into it have cost in tokens."""

    def __init__(self, journal: Journal) -> None:
        self.journal = journal
        self.calls = self.tokens = 0

    def _count(self, reply: str) -> None:
        usage = orjson.loads(reply)["usage"]
        self.calls += 1
        self.tokens += usage["prompt_tokens"] + usage["completion_tokens"]

    def recall(self, key: str) -> str | None:
        kept = self.journal.recall(key)
        if kept is not None:
            self._count(kept)
        return kept

    def keep(self, key: str, request: str, reply: str) -> None:
        self.journal.keep(key, request, reply)
        self._count(reply)


class Recorded(Search):
    """A search that notes which verdicts a trial asks for; by then all of them are there."""

    asked: set[tuple[int, int]] | None = None

    def score(self, candidate: int, indices: Sequence[int]) -> None:
        if self.asked is None:
            super().score(candidate, indices)
        else:
            self.asked |= {(candidate, i) for i in indices}

    def trial(self, indices: Sequence[int], *, race: bool) -> tuple[int, set[tuple[int, int]]]:
        """The winner by some of the examples, and what was asked to find it."""
        self.asked = set()
        self.settings.race = race
        whole, kept = self.order, set(indices)
        self.order = [i for i in whole if i in kept]  # as if there were no others
        try:
            return self.run(indices), self.asked
        finally:
            self.order = whole


@dataclass
class Found:
    """How a way of searching did over the splits."""

    held_out: list[float] = field(default_factory=list)
    calls: list[int] = field(default_factory=list)
    tokens: list[int] = field(default_factory=list)
    same: int = 0


def main() -> None:
    args = comparing.arguments(__doc__)
    with open_lm(args.lm, api_base=args.api_base, context=args.context) as lm, Journal(args.journal) as journal:
        memory = Counting(journal)
        lm.memory = memory
        for named in args.data:
            name, _, path = named.partition("=")
            data = drawing.draw(drawing.read(path, args), args)
            search, costs = grid(data, lm, memory, args)
            document = {
                "name": name,
                "drawn": drawing.drawn(args),
                "examples": len(data),
                "documents": len({group_of(example) for example in data}),
                "data_sha256": data_sha256(data),
                "model": lm.name,
                "weights": lm.weights,
                "settings": {
                    "candidates": len(search.sets),
                    "demonstrations": search.size,
                    "batches": args.batches,
                    "splits": SPLITS,
                    "first rung": demo_search.FIRST_RUNG,
                    "seed": args.seed,
                },
                "versions": {"active-critic": ac.__version__, "python": platform.python_version()},
                "candidates alone": [
                    stats.q([v.score for v in row], search.human) / 3
                    for row in ([search.verdicts[c, i] for i in range(len(data))] for c in range(len(search.sets)))
                ],
                "shares": [simulate(search, costs, share, args.seed) for share in SHARES],
            }
            stem = Path(args.out) / f"search_cost_{name}_{lm.name}"
            stem.parent.mkdir(parents=True, exist_ok=True)
            stem.with_name(f"{stem.name}.json").write_text(json.dumps(document, indent=1) + "\n")
            stem.with_name(f"{stem.name}.md").write_text(page(document))
            print(f"\n{page(document)}", flush=True)


def grid(data: ac.Examples, lm: Any, memory: Counting, args: Any) -> tuple[Recorded, dict[tuple[int, int], Any]]:
    """Every candidate on every example, and what each verdict costs: (calls, tokens)."""
    assert data.scale is not None
    inferred = infer(data, lm, scale=data.scale, seed=args.seed, max_batches=args.batches, progress=drawing.say)
    protocol = CriticProtocol(
        mode="coarse",
        task_description=inferred.task_description,
        criteria=inferred.criteria,
        scale=data.scale,
        reading=default_reading(lm),
        provenance=Provenance(model=lm.name),
    )
    settings = DemoSearch(candidates=args.candidates, race=False, seed=args.seed)
    search = Recorded(Scorer(protocol, lm), data, data, settings)
    costs: dict[tuple[int, int], tuple[int, int]] = {}
    for candidate in range(len(search.sets)):
        # One at a time, so that each has its own price; what shares most of the prompt comes together, as in a search.
        for i in sorted(range(len(data)), key=lambda i: (-search._kept_prefix(candidate, i), data[i].source, i)):
            before = (memory.calls, memory.tokens)
            search.score(candidate, [i])
            costs[candidate, i] = (memory.calls - before[0], memory.tokens - before[1])
            drawing.say("scoring", len(costs), len(search.sets) * len(data))
    return search, costs


def simulate(search: Recorded, costs: dict[tuple[int, int], Any], share: float, seed: int) -> dict[str, Any]:
    """Every way of searching over random splits of the documents, a share of which it chooses by."""
    ways = {name: Found() for name in (FULL, RACE, NONE)}
    best: list[float] = []
    sizes: list[int] = []
    documents = sorted(set(search.groups), key=str)
    for number in range(SPLITS):
        rng = random.Random(f"{seed} {number}")
        part = set(rng.sample(documents, round(share * len(documents))))
        train = [i for i, group in enumerate(search.groups) if group in part]
        test = [i for i, group in enumerate(search.groups) if group not in part]
        sizes.append(len(train))
        held_out = [search.q(c, test)[0] or 0.0 for c in range(len(search.sets))]
        best.append(max(held_out) / 3)
        chosen = {
            FULL: search.trial(train, race=False),
            RACE: search.trial(train, race=True),
            NONE: (0, set()),
        }
        for name, (winner, asked) in chosen.items():
            found = ways[name]
            found.held_out.append(held_out[winner] / 3)
            found.calls.append(sum(costs[one][0] for one in asked))
            found.tokens.append(sum(costs[one][1] for one in asked))
            found.same += winner == chosen[FULL][0]
    deltas = sorted(r - f for r, f in zip(ways[RACE].held_out, ways[FULL].held_out, strict=True))
    return {
        "share": share,
        "examples": statistics.fmean(sizes),
        **{
            name: {
                "held out": statistics.fmean(found.held_out),
                "calls": statistics.fmean(found.calls),
                "tokens": statistics.fmean(found.tokens),
                "same as the full grid": found.same / SPLITS,
            }
            for name, found in ways.items()
        },
        "best of all candidates on the held-out part": statistics.fmean(best),
        "race over full grid": {
            "held out": statistics.fmean(deltas),
            "middle 95 % of the splits": [deltas[int(0.025 * SPLITS)], deltas[int(0.975 * SPLITS) - 1]],
            "calls": sum(ways[RACE].calls) / sum(ways[FULL].calls),
            "tokens": sum(ways[RACE].tokens) / sum(ways[FULL].tokens),
        },
    }


def page(document: dict[str, Any]) -> str:
    how = document["settings"]
    alone = ", ".join(f"{q:.2f}" for q in document["candidates alone"])
    lines = [
        (
            f"**{document['name']}**, {document['model']}: {document['examples']} examples of {document['documents']} "
            f"documents, {how['candidates']} candidates of {how['demonstrations']} demonstrations, "
            f"{how['splits']} random splits of the documents, seed {how['seed']}"
        ),
        "",
        "| examples to choose by | search | mean of three, held out | calls | tokens | same choice as the full grid |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    told = []
    for ways in document["shares"]:
        for name in (FULL, RACE, NONE):
            one = ways[name]
            cells = [f"{ways['examples']:.0f}", name, f"{one['held out']:.3f}", f"{one['calls']:.0f}"]
            cells.append(f"{one['tokens'] / 1000:.0f}k")
            lines.append(f"| {' | '.join(cells)} | {one['same as the full grid']:.0%} |")
        over = ways["race over full grid"]
        low, high = over["middle 95 % of the splits"]
        told.append(
            f"- {ways['examples']:.0f} examples: the race costs {over['calls']:.0%} of the calls and "
            f"{over['tokens']:.0%} of the tokens; held out it is {over['held out']:+.3f} against the full grid (middle "
            f"95 % of the splits, which overlap, {low:+.3f} to {high:+.3f}); the best candidate of the held-out part, "
            f"were it known, has {ways['best of all candidates on the held-out part']:.3f}"
        )
    told.append(f"- by all examples the candidates have {alone}; the first has no demonstrations")
    return "\n".join([*lines, "", *told, ""])


if __name__ == "__main__":
    main()
