"""One table of several comparisons: the mean of the three coefficients a method and data set, for the README.

python benchmarks/summary.py benchmarks/results/compare_*.json
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any


def main() -> None:
    found = [json.loads(Path(name).read_text()) for name in sys.argv[1:]]
    if not found:
        sys.exit("name the results of benchmarks/compare.py")
    names = [document["name"] for document in found]
    methods = {m["name"]: None for document in found for m in document["methods"]}
    rows = {name: [_method(document, name) for document in found] for name in methods}
    print(f"| method | {' | '.join(names)} | average | calls a verdict | tokens a verdict |")
    print("|" + " --- |" * (len(names) + 4))
    for name, cells in sorted(rows.items(), key=lambda row: -(_average(row[1]) or -9)):
        average = _average(cells)
        figures = [_figure(cell) for cell in cells]
        used = [_per_verdict(cell) for cell in cells if cell is not None]
        calls = sum(u[0] for u in used) / len(used)
        tokens = sum(u[1] for u in used) / len(used)
        shown = "–" if average is None else f"**{average:.2f}**"
        print(f"| {name} | {' | '.join(figures)} | {shown} | {calls:.1f} | {tokens:,.0f} |")
    print()
    for document in found:
        split = document["splits"][0]
        drawn = {key: value for key, value in document["drawn"].items() if value is not None}
        print(
            f"- {document['name']}: {document['model']}, fitted on {len(split['train'])}, tested on "
            f"{len(split['test'])} examples; drawn: {drawn}"
        )


def _method(document: dict[str, Any], name: str) -> dict[str, Any] | None:
    return next((m for m in document["methods"] if m["name"] == name), None)


def _average(cells: list[dict[str, Any] | None]) -> float | None:
    means = [cell["agreement"]["mean"] for cell in cells if cell is not None]
    return None if None in means or len(means) < len(cells) else sum(means) / len(means)


def _figure(cell: dict[str, Any] | None) -> str:
    if cell is None or cell["agreement"]["mean"] is None:
        return "–"
    low, high = cell["agreement"]["mean_interval"]
    return f"{cell['agreement']['mean']:.2f} [{low:.2f}, {high:.2f}]"


def _per_verdict(cell: dict[str, Any]) -> tuple[float, float]:
    used, verdicts = cell["scoring"], max(1, cell["agreement"]["n"])
    return used["calls"] / verdicts, (used["prompt_tokens"] + used["completion_tokens"]) / verdicts


if __name__ == "__main__":
    main()
