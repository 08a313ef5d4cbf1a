"""What task, and which criteria, a model infers from a few examples of each set: printed, and to be judged by reading.

    python benchmarks/tasks.py sfres=path/to/sfres.jsonl qags_cnn=path/to/qags_cnn.jsonl --criteria --texts 60

With ``--texts``, also how far approval and rating by them, without demonstrations, agree with people on other
documents.

Nothing is written but the replies in the journal: what a model says of a task may quote the data. What was found stands
in ``docs/active-critic.md``.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from pathlib import Path

from active_critic.approval import approval
from active_critic.data.examples import Examples, group_of, human_score
from active_critic.evaluators.zero_shot import zero_shot_protocol
from active_critic.inference import Inferred, infer
from active_critic.journal import Journal
from active_critic.lm import LanguageModel, open_lm
from active_critic.records import Criterion, Example, Scale
from active_critic.scoring import Scorer
from active_critic.stats import q

sys.path.insert(0, str(Path(__file__).parent))
import drawing

GIVEN = (Criterion(name="Quality", definition="The response is good."),)
"""So that no criteria are inferred."""


def main() -> None:
    parser = drawing.options(__doc__)
    parser.add_argument("--batches", type=int, default=3)
    parser.add_argument("--criteria", action="store_true", help="infer criteria, too")
    parser.add_argument("--texts", type=int, default=0, help="read approval and rating of so many others by them")
    parser.set_defaults(documents=15, per_document=1)
    args = parser.parse_args()
    with open_lm(args.lm, api_base=args.api_base, context=args.context) as lm, Journal(args.journal) as journal:
        lm.memory = journal
        for named in args.data:
            name, _, path = named.partition("=")
            examples = drawing.draw(drawing.read(path, args), args)
            scale = examples.scale or Scale(low=0, high=100)
            given = None if args.criteria else GIVEN
            started, before = time.monotonic(), lm.usage.calls
            found = infer(examples, lm, scale=scale, seed=args.seed, criteria=given, max_batches=args.batches)
            calls, seconds = lm.usage.calls - before, time.monotonic() - started
            print(f"{name}, {len(examples)} examples, {calls} calls, {seconds:.0f} s: {found.task_description}")
            if args.criteria:
                print(*(f"- {one.name}: {one.definition}" for one in found.criteria), *found.remarks, sep="\n")
            if args.texts:
                print(agreement(found, others(drawing.read(path, args), examples, args), lm, scale))
            sys.stdout.flush()


def others(every: Examples, drawn: Examples, args: argparse.Namespace) -> list[Example]:
    """Texts of documents that nothing was inferred from."""
    seen = {group_of(example) for example in drawn}
    left = [example for example in every if group_of(example) not in seen]
    texts = random.Random(args.seed).sample(left, min(args.texts, len(left)))
    return sorted(texts, key=lambda example: (example.source, example.id))  # so that a source is read once


def agreement(found: Inferred, texts: list[Example], lm: LanguageModel, scale: Scale) -> str:
    """The mean of the three coefficients with people, of both readings."""
    inferred = {"task_description": found.task_description, "criteria": found.criteria}
    scorer = Scorer(zero_shot_protocol(lm, scale).model_copy(update=inferred), lm)
    human = [human_score(text) for text in texts]
    approved = [approval(lm, found.criteria, text.source, text.response).log_odds for text in texts]
    rated = [scorer.verdict(text.source, text.response, explain=False).score or scale.low for text in texts]
    return f"approval {q(approved, human) / 3:.3f}, rating {q(rated, human) / 3:.3f} ({len(texts)} texts)"


if __name__ == "__main__":
    main()
