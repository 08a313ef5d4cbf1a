"""What the race saves: demo search by racing, against every candidate on every example as in the paper.

    python benchmarks/search_cost.py sfres=path/to/sfres.jsonl --documents 60 --lm local-small --candidates 11

Both fit on the same examples with the same candidates, and score the same held-out documents by the rating alone; calls
and tokens are those that each needs by itself, whatever the journal holds already.
"""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import compare as comparing

import active_critic as ac
from active_critic.journal import Journal
from active_critic.lm import open_lm
from active_critic.meta_evaluation import compare

SEARCHES = {
    "race": {"search": "race"},
    "full grid": {"search": "full"},
    "no search": {"candidates": 1},
}


def main() -> None:
    args = comparing.arguments(__doc__)
    common = {
        "mode": "coarse",
        "candidates": args.candidates,
        "max_batches": args.batches,
        "report": False,
        "seed": args.seed,
        **comparing.VARIANTS[" (rating only)"],
    }
    with open_lm(args.lm, api_base=args.api_base, context=args.context) as lm, Journal(args.journal) as journal:
        lm.memory = journal
        for named in args.data:
            name, _, path = named.partition("=")
            found = compare(
                comparing.draw(comparing.read(path, args), args),
                {label: partial(ac.ActiveCritic, journal=None, **{**common, **own}) for label, own in SEARCHES.items()},
                lm,
                train=args.train,
                test_documents=args.test_documents,
                repeats=args.repeats,
                seed=args.seed,
                against="full grid",
                journal=None,
                progress=comparing.say,
            )
            stem = Path(args.out) / f"search_cost_{name}_{lm.name}"
            stem.parent.mkdir(parents=True, exist_ok=True)
            document = {"name": name, "drawn": comparing.drawn(args), **comparing.without_texts(found)}
            stem.with_name(f"{stem.name}.json").write_text(json.dumps(document, indent=1) + "\n")
            stem.with_name(f"{stem.name}.md").write_text(comparing.table(name, found, args))
            print(f"\n{comparing.table(name, found, args)}", flush=True)


if __name__ == "__main__":
    main()
