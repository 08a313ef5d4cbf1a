"""People's mean from few labels and the scores of published judges: does the interval hold, and what is it worth?

    python benchmarks/means.py summeval=path/to/peers/summeval.jsonl.gz [--out benchmarks/results/means]

Takes the documents of a set for the population, and of the judges in ``preds`` the one that correlates most with
people (with a look at people's scores: a good judge, no fair choice among them). Draws documents with replacement:
some of them with people's scores, 200 with those of the judge alone. Asks no model. Numbers and settings, never texts.
"""

from __future__ import annotations

import argparse
import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from active_critic.data.columns import Table
from active_critic.stats import pearson, people_means

LABELLED = (10, 20, 50)
"""How many documents people scored."""
UNLABELLED = 200


@dataclass(frozen=True)
class _Set:
    name: str
    judge_name: str
    judge: np.ndarray
    people: np.ndarray
    systems: np.ndarray
    rows: dict[str, np.ndarray]
    """The places of each document's outputs."""

    def draw(self, labelled: int, rng: np.random.Generator) -> tuple[Any, Any, list[str], list[str]]:
        """The judge's and people's scores, documents and systems of some documents drawn with replacement."""
        names = list(self.rows)
        drawn = rng.integers(len(names), size=labelled + UNLABELLED)
        places = [self.rows[names[number]] for number in drawn]
        document = np.repeat(np.arange(len(places)), [len(own) for own in places])
        every = np.concatenate(places)
        people = np.where(document < labelled, self.people[every], np.nan)
        return self.judge[every], people, document.astype(str).tolist(), self.systems[every].tolist()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", nargs="+", metavar="NAME=PATH")
    parser.add_argument("--draws", type=int, default=400)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    sets = [_read(*named.partition("=")[::2]) for named in args.data]
    found = [_measured(data, args.draws, args.seed) for data in sets]
    page = "\n".join(_page(found, args)) + "\n"
    print(page)
    if args.out:
        settings = {"draws": args.draws, "seed": args.seed, "unlabelled": UNLABELLED}
        args.out.with_suffix(".md").write_text(page, encoding="utf-8")
        args.out.with_suffix(".json").write_text(json.dumps({**settings, "sets": found}, indent=1), encoding="utf-8")


def _read(name: str, path: str) -> _Set:
    table = Table(path, ["overall", "doc_id", "system", "preds.*"])
    people = np.array(table.human("overall"))
    best, judge_name, judge = -1.0, "", people
    for judged in table.matching("preds.*"):
        values = np.array(table.predictions(f"preds.{judged}").values, dtype=float)
        if judged.startswith("human") or not np.isfinite(values).all():
            continue
        if (r := pearson(values, people)) is not None and r > best:
            best, judge_name, judge = r, judged, values
    documents: dict[str, list[int]] = {}
    for place, document in enumerate(table.names("doc_id")):
        documents.setdefault(str(document), []).append(place)
    rows = {document: np.array(places) for document, places in documents.items()}
    return _Set(name, judge_name, judge, people, np.array(list(map(str, table.names("system")))), rows)


def _measured(data: _Set, draws: int, seed: int) -> dict[str, Any]:
    """Of one set, by number of labelled documents; the true means are those of the set."""
    truth = float(data.people.mean())
    names = sorted(set(data.systems))
    of = {name: float(data.people[data.systems == name].mean()) for name in names}
    # Where all documents have every system once; others would say more of who wrote for which document.
    paired = all(sorted(data.systems[own]) == names for own in data.rows.values()) and len(names) > 1
    by_labels = {}
    for labelled in LABELLED:
        rng = np.random.default_rng([seed, labelled])
        held, alone, narrower, signs = [], [], [], {"both": [0, 0], "people": [0, 0]}
        pairs = 0
        for _ in range(draws):
            judge, people, documents, systems = data.draw(labelled, rng)
            (mean,) = people_means(judge, people, documents).means
            if mean.interval is not None and mean.people_interval is not None and mean.worth is not None:
                held.append(mean.interval[0] <= truth <= mean.interval[1])
                alone.append(mean.people_interval[0] <= truth <= mean.people_interval[1])
                narrower.append(mean.worth / mean.labelled)
            if paired:
                blind = np.zeros(len(judge))
                for kind, scores in (("both", judge), ("people", blind)):
                    for pair in people_means(scores, people, documents, systems).apart:
                        sure = pair.p is not None and pair.p < 0.05
                        right = pair.difference * (of[pair.system] - of[pair.other]) > 0
                        signs[kind][0] += sure and right
                        signs[kind][1] += sure and not right
                pairs += math.comb(len(names), 2)
        by_labels[labelled] = {
            "held": float(np.mean(held)),
            "held_people_alone": float(np.mean(alone)),
            "worth": float(np.mean(narrower)),
            "pairs_told_apart": None if not pairs else {kind: [n / pairs for n in two] for kind, two in signs.items()},
        }
    r = pearson(data.judge, data.people)
    return {
        "name": data.name,
        "judge": data.judge_name,
        "pearson": r,
        "people": truth,
        "judge_mean": float(data.judge.mean()),
        "documents": len(data.rows),
        "outputs": len(data.people),
        "systems": len(names) if paired else None,
        "by_labelled_documents": by_labels,
    }


def _page(found: list[dict[str, Any]], args: argparse.Namespace) -> list[str]:
    heads = [f"{part} {n}" for n in LABELLED for part in ("held", "alone", "worth")]
    lines = [
        "# People's mean from few labels and a judge's scores",
        "",
        f"`python benchmarks/means.py`: {args.draws} draws, seed {args.seed}, of {', '.join(map(str, LABELLED))}",
        f"documents that people scored and {UNLABELLED} that the judge alone did. The judge is the published one that",
        "correlates most with people over all of a set. Held: how often (%) the 95 % interval of the estimate holds",
        "people's mean of all, and alone, that of people's scores alone; worth: how many times as many labels would",
        "make that one as narrow.",
        "",
        f"| set | judge | Pearson | people's mean | the judge's | {' | '.join(heads)} |",
        "|" + " --- |" * (5 + len(heads)),
    ]
    for one in found:
        cells = [
            f"{100 * of['held']:.1f} | {100 * of['held_people_alone']:.1f} | {of['worth']:.2f}"
            for of in one["by_labelled_documents"].values()
        ]
        told = f"{one['pearson']:.2f} | {one['people']:.2f} | {one['judge_mean']:.2f}"
        lines.append(f"| {one['name']} | `{one['judge']}` | {told} | {' | '.join(cells)} |")
    several = [one for one in found if one["systems"]]
    if several:
        heads = [f"{part} {n}" for n in LABELLED for part in ("with the judge", "people alone")]
        lines += [
            "",
            "Pairs of systems whose difference has p < .05 without correction, in % of all pairs; behind the stroke,",
            "those of them on the wrong side.",
            "",
            f"| set | systems | {' | '.join(heads)} |",
            "|" + " --- |" * (2 + len(heads)),
        ]
    for one in several:
        cells = []
        for of in one["by_labelled_documents"].values():
            for right, wrong in of["pairs_told_apart"].values():
                cells.append(f"{100 * (right + wrong):.0f} / {100 * wrong:.1f}")
        lines.append(f"| {one['name']} | {one['systems']} | {' | '.join(cells)} |")
    return lines


if __name__ == "__main__":
    main()
