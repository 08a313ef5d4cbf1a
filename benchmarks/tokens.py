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
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

import active_critic as ac
from active_critic.approval import approval_turns
from active_critic.evaluators._readings import TOKENS
from active_critic.evaluators._weighed import weighed_part, weighing_turns
from active_critic.lm.likelihood import Likelihood
from active_critic.weighing import EXPECTED, OF_FIGURES

sys.path.insert(0, str(Path(__file__).parent))
import combining
import ways

OTHERS = (0.2, 0.4)
"""Other multiple correlations of the figures with people's scores that could be believed in."""
BASIS = (
    "Combined of the likelihood, the approval and the figures of the surface, with and without figures of the",
    "tokens; HANNA without an approval, which few of its examples had. `python benchmarks/tokens.py`",
)


def main() -> None:
    tried: dict[str, combining.Combine] = {
        "without them": lambda trial: _of(replace(trial, figures={"surface": trial.figures["surface"]})),
        f"with them (the product, belief {EXPECTED[TOKENS + OF_FIGURES]:g})": _of,
        **{f"with them, belief {r:g}": partial(_believed, r) for r in OTHERS},
        "with those of other examples, drawn at random": _shuffled,
    }
    sizes = (5, 10, 20, 40, 80, 150)
    ways.try_out(__doc__, "tokens", readings_of, tried, basis=BASIS, column="figures of the tokens", sizes=sizes)


def _of(trial: combining.Trial) -> combining.Floats:
    return combining.applied(combining.fitted(trial), trial)


def _believed(r: float, trial: combining.Trial) -> combining.Floats:
    with combining.believing(**{TOKENS + OF_FIGURES: r}):
        return _of(trial)


def _shuffled(trial: combining.Trial) -> combining.Floats:
    rng = np.random.default_rng(0)
    train, test = (rng.permutation(one[TOKENS]) for one in (trial.figures, trial.there))
    return _of(replace(trial, figures={**trial.figures, TOKENS: train}, there={**trial.there, TOKENS: test}))


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
        odds = np.array(list(own.values()))
        for place, value in own.items():
            approvals.setdefault(place, []).append(float((value - odds.mean()) / (odds.std() or 1.0)))
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


if __name__ == "__main__":
    main()
