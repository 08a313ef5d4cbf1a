"""What the figures of the surface gain a score in one regression with the readings, and in other ways.

    python benchmarks/beside.py sfres=path/to/sfres.jsonl=benchmarks/results/compare_sfres_*_full.json

The readings are what results of ``compare.py`` hold of tested examples: zero-shot's rating and the likelihood of
``gpt-score``, each standardised by its run (an example that several runs tested has the mean). So no model is asked,
and there is no approval. Splits and labels are drawn as for ``readings.py``.
"""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np

import active_critic as ac
from active_critic.data.examples import group_of
from active_critic.evaluators._surface_features import FEATURES

sys.path.insert(0, str(Path(__file__).parent))
import combining
import ways

NAMES = {"rating": "zero-shot", "likelihood": "gpt-score"}
WAYS = {
    "the surface floor alone": lambda trial: trial.test["surface"],
    "readings alone": lambda trial: _of(_bare(trial)),
    "the surface fitted first, as one reading more": lambda trial: _of(replace(trial, figures={})),
    "in one regression (the product, but for figures of tokens)": lambda trial: _of(trial),
    "the same where documents left out are better predicted by it": lambda trial: _gated(trial),
    "weighed by how well documents left out are predicted": lambda trial: _weighed(trial),
}


def main() -> None:
    basis = (f"Surface: {len(FEATURES)} figures. Readings: a rating and a likelihood. `python benchmarks/beside.py`.",)
    ways.try_out(__doc__, "beside", readings_of, WAYS, basis=basis, column="way", sizes=(5, 10, 20, 40, 80))


def readings_of(data: ac.Examples, results: list[Path]) -> combining.Readings:
    """The examples that were tested, with what was read of them."""
    read: dict[str, dict[str, list[float]]] = {}
    for result in results:
        rows = json.loads(result.read_text())["predictions"]
        rows = [row for row in rows if all(row.get(method) is not None for method in NAMES.values())]
        for name, method in NAMES.items() if rows else ():
            said = np.array([row[method] for row in rows])
            for row, value in zip(rows, (said - said.mean()) / (said.std() or 1.0), strict=True):
                read.setdefault(row["example"], {}).setdefault(name, []).append(float(value))
    taken = data.take(i for i, example in enumerate(data) if str(example.id) in read)
    values = {name: [float(np.mean(read[str(example.id)][name])) for example in taken] for name in NAMES}
    return combining.Readings.of(taken, values)


def _bare(trial: combining.Trial) -> combining.Trial:
    """Without the surface."""
    return replace(
        trial,
        train={name: column for name, column in trial.train.items() if name != "surface"},
        test={name: column for name, column in trial.test.items() if name != "surface"},
        figures={},
        there={},
    )


def _of(trial: combining.Trial) -> combining.Floats:
    return combining.applied(combining.fitted(trial), trial)


def _errors(trial: combining.Trial) -> tuple[float, float]:
    """The squared errors on documents left out one by one, with the figures and without."""
    groups = [group_of(example) for example in trial.labels]
    sums = [1e-9, 1e-9]
    for document in sorted(set(groups)):
        kept = [i for i, group in enumerate(groups) if group != document]
        if len(kept) < 2:
            continue
        one = trial.rows(kept, [i for i, group in enumerate(groups) if group == document])
        for place, way in enumerate((one, _bare(one))):
            sums[place] += float(((_of(way) - one.truth) ** 2).sum())
    return sums[0], sums[1]


def _gated(trial: combining.Trial) -> combining.Floats:
    given, without = _errors(trial)
    return _of(trial if given < without else _bare(trial))


def _weighed(trial: combining.Trial) -> combining.Floats:
    """The mean of both, weighed as models whose errors are normal would be by their likelihood."""
    given, without = _errors(trial)
    share = 1 / (1 + (given / without) ** (len(trial.human) / 2))
    return np.asarray(share * _of(trial) + (1 - share) * _of(_bare(trial)))


if __name__ == "__main__":
    main()
