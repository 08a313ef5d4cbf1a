"""CPU time of one call of another tool's judge; run by ``overhead.py`` in that tool's own environment.

python benchmarks/overhead_peers.py (mlflow|deepeval) ADDRESS CALLS ROUNDS
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

from overhead_calls import pairs, timed

QUIET = ("MLFLOW_DISABLE_TELEMETRY", "DO_NOT_TRACK", "DEEPEVAL_TELEMETRY_OPT_OUT", "DEEPEVAL_DISABLE_PROGRESS_BAR")


def mlflow(address: str) -> Callable[[str, int], int]:
    """A judge made by ``make_judge``, an integer as its value."""
    os.environ["OPENAI_API_BASE"] = os.environ["OPENAI_BASE_URL"] = address
    from mlflow.genai.judges import make_judge

    judge: Any = make_judge(
        name="quality",
        instructions="Rate how good {{ outputs }} is as a response to {{ inputs }}, from 1 to 5.",
        model="openai:/x",
        feedback_value_type=int,
        base_url=f"{address}/chat/completions" if os.environ.get("WHOLE_ADDRESS") else address,
    )

    def run(name: str, number: int) -> int:
        for source, response in pairs(name, number):
            found = judge(inputs={"source": source}, outputs={"response": response})
            assert found.value == 4, found
        return number

    return run


def deepeval(address: str) -> Callable[[str, int], int]:
    """G-Eval with its steps given, so that a verdict is one call."""
    from deepeval.metrics import GEval
    from deepeval.models import LocalModel
    from deepeval.test_case import LLMTestCase, SingleTurnParams

    metric = GEval(
        name="quality",
        evaluation_steps=["Read the input.", "Judge how good the actual output is as a response to it."],
        evaluation_params=[SingleTurnParams.INPUT, SingleTurnParams.ACTUAL_OUTPUT],
        model=LocalModel(model="x", base_url=address, api_key="none", temperature=0),
        async_mode=False,
    )

    def run(name: str, number: int) -> int:
        for source, response in pairs(name, number):
            found = metric.measure(LLMTestCase(input=source, actual_output=response), _show_indicator=False)
            assert abs(found - 0.4) < 1e-9, found
        return number

    return run


def main() -> None:
    tool, address, calls, rounds = sys.argv[1:]
    for name in QUIET:
        os.environ[name] = "true" if name != "DEEPEVAL_TELEMETRY_OPT_OUT" else "YES"
    os.environ["OPENAI_API_KEY"] = "none"
    run = {"mlflow": mlflow, "deepeval": deepeval}[tool](address)
    print(json.dumps({"ms": timed(run, int(calls), int(rounds)), "version": version(tool)}))


if __name__ == "__main__":
    main()
