"""How the agreement of a whole evaluator grows with the number of labels, by ``active_critic.meta_evaluation.curve``.

    python benchmarks/curve.py sfres=path/to/sfres.jsonl --documents 44 --sizes 10 20 40 --lm local

Draws documents by the seed, and fits at every number of labels, in every repeat on others. Every reply goes through a
journal: a run that is stopped goes on where it was. Results hold numbers, ids and settings, never texts.
"""

from __future__ import annotations

import json
import platform
import sys
from pathlib import Path

from active_critic.figures_in_words import figure_words, how_many, number_words
from active_critic.journal import Journal
from active_critic.lm import open_lm
from active_critic.meta_evaluation import curve
from active_critic.meta_evaluation.curve_plot import curve_svg
from active_critic.meta_evaluation.estimates import Estimate
from active_critic.meta_evaluation.learning_curve import Curve

sys.path.insert(0, str(Path(__file__).parent))
import drawing


def main() -> None:
    """Draw one curve for each data set."""
    parser = drawing.options(__doc__)
    parser.add_argument("--evaluator", default="active-critic-coarse")
    parser.add_argument("--sizes", type=int, nargs="+", default=[10, 20, 40])
    parser.add_argument("--test-documents", type=int)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--candidates", type=int, default=3)
    parser.add_argument("--batches", type=int, default=3)
    parser.add_argument("--out", default="benchmarks/results")
    args = parser.parse_args()
    with open_lm(args.lm, api_base=args.api_base, context=args.context) as lm, Journal(args.journal) as journal:
        lm.memory = journal
        for named in args.data:
            name, _, path = named.partition("=")
            found = curve(
                drawing.draw(drawing.read(path, args), args),
                args.evaluator,
                lm,
                sizes=args.sizes,
                test_documents=args.test_documents,
                repeats=args.repeats,
                seed=args.seed,
                settings={"candidates": args.candidates, "max_batches": args.batches},
                journal=None,
                progress=drawing.say,
            )
            stem = Path(args.out) / f"curve_{name}_{lm.name}"
            stem.parent.mkdir(parents=True, exist_ok=True)
            about = {"name": name, "drawn": drawing.drawn(args), "python": platform.python_version()}
            stem.with_name(f"{stem.name}.json").write_text(json.dumps({**about, **found.to_dict()}, indent=1) + "\n")
            stem.with_name(f"{stem.name}.md").write_text(table(name, found))
            stem.with_name(f"{stem.name}.svg").write_text(curve_svg(found))
            print(f"\n{table(name, found)}", flush=True)


def table(name: str, found: Curve) -> str:
    """The Markdown of a curve."""
    tests = len(found.repeats[0].test)
    lines = [
        f"**{name}**, {found.model}, {found.evaluator}: mean of three coefficients on {tests} examples, what the step",
        f"from the size before brought; {how_many(len(found.repeats), 'draw')} of labels and tests.",
        "",
        "| labels | mean of three | brought | surface on the same labels | calls of a fit |",
        "| --- | --- | --- | --- | --- |",
    ]
    for point in (found.zero_shot, *found.points):
        if point is None:
            continue
        floor = point.floor.agreement.mean if point.floor else None
        cells = [
            str(point.labels or "zero-shot"),
            _figure(point.mean),
            _figure(point.gain, "+z.2f"),
            number_words(floor, none=""),
            f"{point.result.fit.calls / len(found.repeats):.0f}",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join([*lines, "", *(f"- {sentence}" for sentence in found.words), ""])


def _figure(found: Estimate | None, form: str = "z.2f") -> str:
    return "" if found is None or found.value is None else figure_words(found.value, found.interval, form)


if __name__ == "__main__":
    main()
