"""Would a probe on the embedded model's hidden states be worth a reading?

    python benchmarks/states.py sfres=path/to/sfres.jsonl --documents 44 --states folder

A ridge regression of people's scores on what the last layer holds when the model is asked whether a response is good:
at the last token of the question (``last``), or the mean from where the response begins (``mean``). The kernel has a
mean diagonal of 1, and the ridge is 1 (4 and 0.3 do alike). Alone, and in the product's combination beside the other
readings (out of fold for the labels; believed in like the surface), or in the place of the surface, over the splits of
``readings.py``. States are kept in ``--states``, readings in the journal. Not in the product: no endpoint gives them.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
import urllib.request
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from active_critic import weighing
from active_critic.approval import approval_turns
from active_critic.data.examples import Examples, data_sha256
from active_critic.lm import LanguageModel
from active_critic.lm.weights import open_weights
from active_critic.stats import q

sys.path.insert(0, str(Path(__file__).parent))
import combining
import drawing
import readings

RIDGE = 1.0
FURTHEST = 3.0
"""Standard deviations from its mean that a dimension counts at most."""
BELIEVED = weighing.TOGETHER
KINDS = ("last", "mean")

Floats = combining.Floats


def main() -> None:
    parser = readings.studying(__doc__, "states", (10, 20, 30, 50))
    parser.add_argument("--states", type=Path, required=True, help="folder in which states are kept")
    args = parser.parse_args()

    def work(data: Examples, known: combining.Readings, lm: LanguageModel) -> dict[str, Any]:
        file = args.states / f"{lm.name}_{data_sha256(data)[:12]}.npz"
        if not file.exists():
            args.states.mkdir(parents=True, exist_ok=True)
            of_kind = taken(data, args.lm)
            np.savez(file, last=of_kind["last"], mean=of_kind["mean"])
        place = {id(example): i for i, example in enumerate(data)}
        kept = [place[id(example)] for example in known.examples]
        states = {kind: np.load(file)[kind][kept].astype(np.float64) for kind in KINDS}
        return {"reached": over_splits(known, states, args)}

    readings.study(args, work, page)


def taken(examples: Examples, name: str) -> dict[str, NDArray[np.float32]]:
    """The states of every example, one row each."""
    found: dict[str, list[NDArray[np.float32]]] = {kind: [] for kind in KINDS}
    with server(name) as address:
        for done, example in enumerate(examples):
            drawing.say("states", done, len(examples))
            turns = approval_turns((), example.source, example.response)
            prompt = "".join(f"<|im_start|>{role}\n{text}<|im_end|>\n" for role, text in turns)
            prompt += "<|im_start|>assistant\n"
            asked = urllib.request.Request(
                f"{address}/embedding", json.dumps({"content": prompt}).encode(), {"Content-Type": "application/json"}
            )
            with urllib.request.urlopen(asked) as reply:
                states = np.array(json.load(reply)[0]["embedding"], dtype=np.float32)
            found["last"].append(states[-1])
            # Tokens are about as long everywhere.
            begins = max(0, prompt.rfind(example.response.strip()[:40])) / len(prompt)
            found["mean"].append(states[int(begins * len(states)) :].mean(axis=0))
    return {kind: np.array(rows) for kind, rows in found.items()}


@contextlib.contextmanager
def server(name: str) -> Iterator[str]:
    """llama.cpp with an output for every token, and its address."""
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = str(open_weights(name)[0])
    params.n_ctx = params.n_batch = params.n_ubatch = 4096
    params.n_parallel = 1
    params.embedding = True
    params.pooling_type = xllamacpp.llama_pooling_type.LLAMA_POOLING_TYPE_NONE
    params.embd_normalize = -1
    params.ui = False
    running = xllamacpp.Server(params)
    yield running.listening_address


def over_splits(
    known: combining.Readings, states: dict[str, Floats], args: argparse.Namespace
) -> dict[str, dict[str, float]]:
    """The mean over splits of the mean of three coefficients, by way and number of labels."""
    reached: dict[str, dict[str, list[float]]] = {}
    place = {id(example): i for i, example in enumerate(known.examples)}
    tests = [test for _, test in combining.parted(known, args.splits, args.seed)]
    trials = combining.trials(known, args.sizes, args.splits, args.seed, strong=False, mute=False)
    weighing.EXPECTED["states"] = BELIEVED

    def note(way: str, size: int, scores: Floats, trial: combining.Trial) -> None:
        row = reached.setdefault(way, {str(size): [] for size in args.sizes})
        row[str(size)].append(q(scores.tolist(), trial.truth.tolist()) / 3)

    for number, (size, trial) in enumerate(trials):
        test, train = tests[number // len(args.sizes)], [place[id(example)] for example in trial.labels]
        note("the product", size, combining.applied(combining.fitted(trial), trial), trial)
        note("surface alone", size, trial.test["surface"], trial)
        for kind, x in states.items():
            there = probed(x, train, trial.human, test)
            note(f"states alone, {kind}", size, there, trial)
            here = np.zeros(len(train))
            for part in combining.parts_of(trial.labels):
                rest = [i for i in range(len(train)) if i not in set(part)]
                shift = trial.human.mean() - trial.human[rest].mean()
                own = probed(x, [train[i] for i in rest], trial.human[rest], [train[i] for i in part])
                here[list(part)] = own + shift
            for label, without in (("beside the others", ""), ("for the surface", "surface")):
                changed = replace(
                    trial,
                    train={n: v for n, v in trial.train.items() if n != without} | {"states": here},
                    test={n: v for n, v in trial.test.items() if n != without} | {"states": there},
                    figures={} if without else trial.figures,
                )
                scores = combining.applied(combining.fitted(changed), changed)
                note(f"states {label}, {kind}", size, scores, trial)
    return {way: {size: float(np.mean(values)) for size, values in row.items()} for way, row in reached.items()}


def probed(x: Floats, train: list[int], human: Floats, test: list[int]) -> Floats:
    """Predictions for some rows by a ridge fitted on others."""
    centred = x - x[train].mean(axis=0)
    spread = centred[train].std(axis=0)
    z = np.clip(centred / np.where(spread > 1e-9, spread, 1.0), -FURTHEST, FURTHEST)
    z /= np.sqrt((z[train] ** 2).sum(axis=1).mean())
    weights = np.linalg.solve(z[train] @ z[train].T + RIDGE * np.eye(len(train)), human - human.mean())
    return np.asarray(human.mean() + z[test] @ z[train].T @ weights)


def page(sets: list[dict[str, Any]]) -> str:
    """The Markdown of all sets."""
    basis = (__doc__ or "").partition("--states folder")[2].strip()
    lines = ["# A probe on hidden states", "", "`python benchmarks/states.py`", "", basis, ""]
    for one in sets:
        sizes = list(next(iter(one["reached"].values())))
        lines += [f"## {one['name']}, {one['model']}", "", f"{one['examples']} examples; {one['splits']} splits.", ""]
        lines += [f"| labels | {' | '.join(sizes)} |", "| --- |" + " --- |" * len(sizes)]
        for way, row in one["reached"].items():
            lines.append(f"| {way} | {' | '.join(f'{row[size]:.3f}' for size in sizes)} |")
        lines.append("")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
