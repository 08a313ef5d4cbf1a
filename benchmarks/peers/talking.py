"""What every peer's script shares: the work comes on standard input, the scores go to a file, a line each.

Runs in the peer's own environment, so only the standard library is used here.
"""

from __future__ import annotations

import json
import math
import sys
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any


def work() -> dict[str, Any]:
    """The task: ``api_base``, ``model``, ``key``, ``wanted``, ``scale``, ``seed``, ``train``, ``test``, ``out``."""
    return dict(json.load(sys.stdin))


def scored(task: dict[str, Any], score: Callable[[dict[str, str]], Any]) -> None:
    """Score the test examples, one at a time; whatever goes wrong with one is its reason."""
    root = task["api_base"].removesuffix("/v1")
    urllib.request.urlopen(urllib.request.Request(f"{root}/phase/test", data=b"{}")).close()
    with Path(task["out"]).open("w") as out:
        for example in task["test"]:
            try:
                value = float(score(example))
                said: dict[str, Any] = {"score": value} if math.isfinite(value) else {"unscored": "no finite number"}
            except Exception as problem:
                said = {"unscored": type(problem).__name__}
                print(f"{type(problem).__name__}: {problem}"[:500], file=sys.stderr)
            out.write(json.dumps(said) + "\n")
            out.flush()
