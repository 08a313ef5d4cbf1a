"""Readings that are not in the product: would they pay?

    python benchmarks/further_readings.py sfres=path/to/sfres.jsonl --documents 44

The approval asked with four demonstrations before it (two that people liked, answered "yes", and two that they did
not); several questions of that kind, each about one thing, and the mean of their answers; the comparison with
demonstrations, one at a time: how sure the model is that the response is the better of the two, asked in both orders;
the likelihood of a response on its own, by how much the source raises it, and by how much it raises the 15 tokens that
it raises most (a reading beside the others, less believed in); with ``--contrast``, how much likelier a response is
after texts that people liked than after texts that they did not, chosen from so many labels, which come on top of
those that the weights are fitted to (the product has this reading now, with texts and weights from the same labels),
beside the likelihood as it is read by itself and as the contrast is read from it;
and, with ``--criteria``, the approval with criteria in view, in their order and reversed. Each alone, and in the
product's combination in the place of the reading that is nearest to it, over random splits of the documents (as in
``readings.py``). The documents are halved, and demonstrations for one half come from the other: no response is judged
beside another one to its source.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from active_critic.approval import QUESTION, Approval, approval, approval_turns, read_approval
from active_critic.data.examples import group_of, human_score
from active_critic.evaluators._contrast import Contrasted, choose, weigh_after
from active_critic.evaluators._weighed import WEIGHED, weighed_part, weighing_turns
from active_critic.lm import LanguageModel
from active_critic.lm.client import Turn
from active_critic.lm.likelihood import LEAST_LIKELY, Likelihood
from active_critic.lm.marks import YES_OR_NO
from active_critic.records import Criterion, Example, Scale
from active_critic.stats import q
from active_critic.token_figures import token_figures

sys.path.insert(0, str(Path(__file__).parent))
import combining
import drawing
import readings

DEMOS = 4
COMPARED = "comparison with demonstrations"
CONTRAST = "contrast"
FROM_IT = "and the likelihood from it"
"""What is behind the name of a contrast where likelihood and tokens are what it is read from."""
QUESTIONS = (
    "Is the response written in fluent, natural language?",
    "Does the response fit its source?",
    "Does the response say all that it should?",
    "Is the response free of mistakes and contradictions?",
    "Is the response interesting or useful to whoever reads it?",
    "Is the response free of repetition and of anything needless?",
)
"""Asked one at a time after the same texts, each answered with yes or no."""
BETTER = f"Of these two texts and what they were made from, is the second the better response? {YES_OR_NO}"
RAISED, IN_RAISED = "what the source raises most", 0.1
"""A reading that stands beside the others, and the correlation with people that is believed of it."""
ALONE: list[Turn] = [("user", "Write a text.")]
"""What a response follows where no source is given."""

Column = Sequence[float]


def main() -> None:
    args = _arguments()

    def work(_data: Any, known: combining.Readings, lm: LanguageModel) -> dict[str, Any]:
        further, after = take(known.examples, lm, args)
        alone = {**known.values, **further}
        return {
            "alone": {label: q(list(column), known.human.tolist()) / 3 for label, column in alone.items()},
            "combined": combined(known, further, after, args),
        }

    readings.study(args, work, page)


def take(
    examples: Sequence[Example], lm: LanguageModel, args: argparse.Namespace
) -> tuple[dict[str, Column], dict[str, list[Likelihood]]]:
    """The further readings of every example, by name; and the likelihoods that contrasts were read from."""
    order = sorted(range(len(examples)), key=lambda i: (examples[i].source, i))

    def each(what: str, read: Callable[[int], float]) -> list[float]:
        found = [0.0] * len(examples)
        for done, index in enumerate(order):
            drawing.say(what, done, len(order))
            found[index] = read(index)
        return found

    columns: dict[str, Column] = {}
    after: dict[str, list[Likelihood]] = {}
    for seed in range(args.draws):
        shown = demonstrations(examples, seed)
        place = f"approval with demonstrations ({seed})"

        def read(index: int, shown: Mapping[int, list[Turn]] = shown) -> float:
            example = examples[index]
            system, asked = approval_turns((), example.source, example.response)
            return read_approval(lm, [system, *shown[index], asked]).log_odds

        columns[place] = _centred(each(place, read), [id(shown[i]) for i in range(len(examples))])
    if args.questions:
        answers = np.zeros((len(QUESTIONS), len(examples)))
        for done, index in enumerate(order):  # one example after the other, so that its texts are read once
            drawing.say("questions", done, len(order))
            answers[:, index] = [answered(lm, examples[index], question) for question in QUESTIONS]
        for question, column in zip(QUESTIONS, answers, strict=True):
            columns[f"approval, {question}"] = column.tolist()
        columns[f"approval, mean of {len(QUESTIONS)} questions"] = answers.mean(axis=0).tolist()
    if args.comparisons:
        opponents = compared_with(examples, args.comparisons)
        compared = each("comparisons", lambda i: preferred(lm, examples[i], [examples[o] for o in opponents[i]]))
        columns[COMPARED] = _centred(compared, [id(opponents[i]) for i in range(len(examples))])
    if args.alone:
        columns["likelihood on its own"] = each(
            "likelihood on its own", lambda i: lm.likelihood(ALONE, examples[i].response).weakest
        )
        columns[RAISED] = each(RAISED, lambda i: raised(lm, examples[i]))
    for labels in args.contrast:
        label = f"{CONTRAST}, of {labels} labels"
        columns[label], after[label] = contrast(examples, labels, lm)
    if args.criteria:
        criteria = [
            Criterion(name=name, definition=text) for name, text in json.loads(Path(args.criteria).read_text()).items()
        ]
        for label, listed in (("criteria in view", criteria), ("criteria reversed", criteria[::-1])):

            def asked(index: int, listed: Sequence[Criterion] = listed) -> float:
                found: Approval = approval(lm, listed, examples[index].source, examples[index].response)
                return found.log_odds

            columns[f"approval, {label}"] = each(label, asked)
    return columns, after


def answered(lm: LanguageModel, example: Example, question: str) -> float:
    """The log-odds of yes for one question about a response."""
    system, (role, text) = approval_turns((), example.source, example.response)
    return read_approval(lm, [system, (role, text.removesuffix(QUESTION) + f"{question} {YES_OR_NO}")]).log_odds


def raised(lm: LanguageModel, example: Example) -> float:
    """By how much the source raises the log-probability of the tokens that it raises most, on average."""
    response = weighed_part(example.response)
    given, alone = (np.array(lm.likelihood(turns, response).logprobs) for turns in (weighing_turns(example), ALONE))
    return float(np.sort(given - alone)[-LEAST_LIKELY:].mean())


def preferred(lm: LanguageModel, example: Example, others: Sequence[Example]) -> float:
    """The mean log-odds that this response is better than each of the others, each asked in both orders."""

    def second_is_better(first: Example, second: Example) -> float:
        (system, (role, one)), (_, (_, two)) = (approval_turns((), e.source, e.response) for e in (first, second))
        texts = [text.removesuffix(QUESTION).strip() for text in (one, two)]
        return read_approval(lm, [system, (role, "\n\n".join([*texts, BETTER]))]).log_odds

    gaps = [(second_is_better(other, example) - second_is_better(example, other)) / 2 for other in others]
    return float(np.mean(gaps))


def compared_with(examples: Sequence[Example], number: int) -> list[list[int]]:
    """For every example others to compare it with: of the other half of the documents, spread over the scores."""
    opponents: list[list[int]] = [[] for _ in examples]
    for side, pool in _halves(examples):
        places = [round((place + 0.5) * len(pool) / number - 0.5) for place in range(number)]
        chosen = [pool[place] for place in places]
        for index in side:
            opponents[index] = chosen
    return opponents


def contrast(examples: Sequence[Example], labels: int, lm: LanguageModel) -> tuple[list[float], list[Likelihood]]:
    """The contrast of every example, after texts that are chosen from so many labels of the other half.

    Also the likelihood, whichever of these texts come before.
    """
    human = [human_score(example) for example in examples]
    scale = Scale(low=min(human), high=max(human))
    read, kinds = [0.0] * len(examples), [0] * len(examples)
    after: dict[int, Likelihood] = {}
    for number, (side, pool) in enumerate(_halves(examples)):
        documents = sorted({group_of(examples[i]) for i in pool})
        random.Random(labels).shuffle(documents)
        few = sorted(pool, key=lambda i: (documents.index(group_of(examples[i])), i))[:labels]
        chosen = choose([examples[i] for i in few], scale, lm.context)
        if chosen is None:
            raise SystemExit(f"{labels} labels give no texts to follow")
        ordered = sorted(side, key=lambda i: (examples[i].source, i))
        weighed = []
        for texts in chosen.sides.values():  # what begins alike, one after the other
            drawing.say(f"contrast of {labels} labels, half", number, 2)
            weighed.append([weigh_after(texts, lm, examples[i], WEIGHED) for i in ordered])
        for i, liked, disliked in zip(ordered, *weighed, strict=True):
            found = Contrasted.of(liked, disliked)
            read[i], after[i], kinds[i] = found.value, found.likelihood, number
    return _centred(read, kinds), [after[i] for i in range(len(examples))]


def _halves(examples: Sequence[Example]) -> list[tuple[list[int], list[int]]]:
    """Each half of the documents' examples, and those of the other, from the worst to the best."""
    documents = sorted({group_of(example) for example in examples})
    random.Random(0).shuffle(documents)
    half = {name: place % 2 for place, name in enumerate(documents)}
    sides: tuple[list[int], list[int]] = ([], [])
    for index, example in enumerate(examples):
        sides[half[group_of(example)]].append(index)
    pools = [sorted(side, key=lambda i: human_score(examples[i])) for side in sides]
    return [(sides[0], pools[1]), (sides[1], pools[0])]


def demonstrations(examples: Sequence[Example], seed: int) -> dict[int, list[Turn]]:
    """For every example the turns shown before its question: from the other half of the documents."""
    shown: dict[int, list[Turn]] = {}
    for number, (side, pool) in enumerate(_halves(examples)):
        rng, third = random.Random(seed * 10 + number), len(pool) // 3
        low, high = rng.sample(pool[:third], DEMOS // 2), rng.sample(pool[-third:], DEMOS // 2)
        pairs = zip(low, high, strict=True) if seed % 2 == 0 else zip(high, low, strict=True)
        turns: list[Turn] = []
        for index in [i for pair in pairs for i in pair]:
            turns.append(approval_turns((), examples[index].source, examples[index].response)[1])
            turns.append(("assistant", "yes" if index in high else "no"))
        shown |= dict.fromkeys(side, turns)
    return shown


def combined(
    known: combining.Readings,
    further: Mapping[str, Column],
    after: Mapping[str, Sequence[Likelihood]],
    args: argparse.Namespace,
) -> dict[str, Any]:
    """Agreement of the product's combination by number of labels, with each further reading in its place."""
    approval, likelihood = known.values["approval"], known.values["likelihood"]
    places: dict[str, dict[str, Any]] = {"the product": {}}
    for label, column in further.items():
        if label.removeprefix("approval, ") in QUESTIONS:
            continue  # their mean tells
        values = np.array(column)
        if label.startswith(CONTRAST):
            places[f"{label}, beside the others"] = {CONTRAST: values}
            weakest = np.array([one.weakest for one in after[label]])
            places[f"{label}, {FROM_IT}"] = {CONTRAST: values, "likelihood": weakest}
        elif label == RAISED:
            places[f"{label}, beside the others"] = {label: values}
        elif label.startswith("approval") or label == COMPARED:
            places[f"{label}, for the approval"] = {"approval": values}
            places[f"the approval and {label}, their mean"] = {"approval": _standard(approval) + _standard(values)}
        else:
            places["likelihood less that on its own, for the likelihood"] = {"likelihood": likelihood - values}
    found = {}
    for label, change in places.items():
        read = {**known.values, **change}
        tokens = known.tokens
        if FROM_IT in label:
            tokens = np.array([token_figures(one.logprobs) for one in after[label.removesuffix(f", {FROM_IT}")]])
        changed = combining.Readings(known.examples, read, known.human, known.scale, tokens)
        with combining.believing(**{RAISED: IN_RAISED}):
            found[label] = combining.product_over_splits(changed, args.sizes, args.splits, args.seed)["product"]
    return found


def _standard(values: Any) -> Any:
    return (values - values.mean()) / values.std()


def _centred(values: Sequence[float], kinds: Sequence[int]) -> list[float]:
    """Less the mean of those that were shown the same: other demonstrations make another level."""
    means = {kind: float(np.mean([v for v, k in zip(values, kinds, strict=True) if k == kind])) for kind in kinds}
    return [value - means[kind] for value, kind in zip(values, kinds, strict=True)]


def page(sets: Sequence[Mapping[str, Any]]) -> str:
    """The Markdown of all sets."""
    basis = (__doc__ or "").partition("--documents 44")[2].strip()
    lines = ["# Readings that are not in the product", "", "`python benchmarks/further_readings.py`", "", basis, ""]
    for one in sets:
        lines += [f"## {one['name']}, {one['model']}", "", f"{one['examples']} examples; {one['splits']} splits.", ""]
        lines += ["| reading alone | mean of three |", "| --- | --- |"]
        lines += [f"| {label} | {value:.3f} |" for label, value in one["alone"].items()]
        sizes = list(next(iter(one["combined"].values())))
        lines += ["", f"| combined: labels | {' | '.join(sizes)} |", "| --- |" + " --- |" * len(sizes)]
        for label, row in one["combined"].items():
            lines.append(f"| {label} | {' | '.join(f'{row[size]:.3f}' for size in sizes)} |")
        lines.append("")
    return "\n".join(lines)


def _arguments() -> argparse.Namespace:
    parser = readings.studying(__doc__, "further_readings", (5, 10, 20, 30, 50))
    parser.add_argument("--criteria", help="JSON of criteria by name")
    parser.add_argument("--draws", type=int, default=2, help="draws of demonstrations")
    parser.add_argument("--questions", action="store_true", help="ask several questions one at a time")
    parser.add_argument("--comparisons", type=int, default=0, help="demonstrations to compare each response with")
    parser.add_argument("--contrast", type=int, nargs="+", default=[], metavar="N", help="contrast from N labels")
    parser.add_argument("--no-alone", dest="alone", action="store_false", help="weigh no response on its own")
    return parser.parse_args()


if __name__ == "__main__":
    main()
