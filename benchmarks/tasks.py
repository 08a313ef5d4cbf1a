"""What task, and which criteria, a model infers from a few examples of each set: printed, and to be judged by reading.

    python benchmarks/tasks.py sfres=path/to/sfres.jsonl qags_cnn=path/to/qags_cnn.jsonl --criteria

Nothing is written but the replies in the journal: what a model says of a task may quote the data. What was found stands
in ``docs/active-critic.md``.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from active_critic.inference import infer
from active_critic.journal import Journal
from active_critic.lm import open_lm
from active_critic.records import Criterion, Scale

sys.path.insert(0, str(Path(__file__).parent))
import drawing

GIVEN = (Criterion(name="Quality", definition="The response is good."),)
"""So that no criteria are inferred."""


def main() -> None:
    parser = drawing.options(__doc__)
    parser.add_argument("--batches", type=int, default=3)
    parser.add_argument("--criteria", action="store_true", help="infer criteria, too")
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
            print(
                f"{name}, {len(examples)} examples, {calls} calls, {seconds:.0f} s: {found.task_description}",
                flush=True,
            )
            if args.criteria:
                print(
                    *(f"- {one.name}: {one.definition}" for one in found.criteria), *found.remarks, sep="\n", flush=True
                )


if __name__ == "__main__":
    main()
