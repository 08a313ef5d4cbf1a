"""CPU time of one model call through one way of making it, against an instant server; run by ``overhead.py``.

    python benchmarks/overhead_calls.py WAY ADDRESS CALLS ROUNDS

Prints one JSON document: processor milliseconds of this process a call (user and system), one figure a round.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

CRITERIA = ("Accuracy", "Tone", "Clarity", "Helpfulness")
TEXT = "The committee met on Tuesday and talked about the plan for the new road at some length. "


def pairs(name: str, number: int) -> Iterator[tuple[str, str]]:
    """Sources and responses that occur once; four responses to a source."""
    for index in range(number):
        yield TEXT * 6 + f"{name} {index // 4}", TEXT + f"{name} {index}"


def timed(run: Callable[[str, int], int], calls: int, rounds: int) -> list[float]:
    """Milliseconds of processor time a call, one figure a round; ``run`` returns how many calls it made."""
    run("warm", 20)
    taken = []
    for number in range(rounds):
        started = time.process_time()
        made = run(f"round {number}", calls)
        taken.append(1000 * (time.process_time() - started) / made)
    return taken


def bare(address: str) -> Callable[[str, int], int]:
    """The same bytes through ``http.client``, the reply parsed as JSON and no more."""
    import http.client
    from urllib.parse import urlsplit

    parts = urlsplit(address)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port)

    def run(name: str, number: int) -> int:
        for source, response in pairs(name, number):
            asked = {"model": "x", "messages": [{"role": "user", "content": source + response}], "max_tokens": 5}
            connection.request(
                "POST", f"{parts.path}/chat/completions", json.dumps(asked), {"Content-Type": "application/json"}
            )
            json.loads(connection.getresponse().read())
        return number

    return run


def ours(address: str, way: str) -> Callable[[str, int], int]:
    """``score_many`` with a journal. The way: mode, ``explain`` or ``scores``, calls in flight."""
    from active_critic.evaluators import from_protocol
    from active_critic.journal import Journal
    from active_critic.lm import Capabilities, open_lm
    from active_critic.protocols import CriticProtocol, Demo, Provenance, Reading
    from active_critic.records import Criterion, Example, Scale

    mode, explain, workers = way.split()
    lm = open_lm("openai/x", api_base=address, workers=int(workers))
    lm._capabilities = Capabilities(json_schema=True, probabilities=True)  # the server passes no test of these
    lm.memory = Journal(Path(tempfile.mkdtemp()) / "journal.sqlite")
    settings: dict[str, Any] = {
        "task_description": "Judge how good the response is.",
        "scale": Scale(low=1, high=5),
        "reading": Reading(),
        "provenance": Provenance(model="openai/x"),
    }
    if mode == "zero-shot":
        settings |= {"evaluator": "zero-shot", "mode": "coarse"}
    else:
        demos = [
            Demo(
                source=TEXT * 8,
                response=TEXT * 2,
                score=25.0 * level,
                criteria=dict.fromkeys(CRITERIA, 50.0),
                explanations=dict.fromkeys(CRITERIA, "mostly right"),
                explanation="fair",
                advice="say more",
                example_id=f"key{level}",
            )
            for level in range(4)
        ]
        criteria = tuple(Criterion(name=name, definition=f"How the response does on {name}.") for name in CRITERIA)
        settings |= {"mode": mode, "criteria": criteria, "demos": tuple(demos)}
    critic = from_protocol(CriticProtocol(**settings), lm, journal=None)

    def run(name: str, number: int) -> int:
        before = lm.usage.calls
        items = (Example(source=source, response=response) for source, response in pairs(name, number))
        for verdict in critic.score_many(items, explain=explain == "explain"):
            assert verdict.score is not None, verdict.unscored
        return lm.usage.calls - before

    return run


def predict(address: str) -> Callable[[str, int], int]:
    """A typed ``dspy.Predict`` through DSPy's JSON adapter."""
    import dspy

    lm = dspy.LM("openai/x", api_base=address, api_key="none", cache=False, num_retries=0, temperature=0.0)
    ask = dspy.Predict("source: str, response: str -> rating: int, reason: str")

    def run(name: str, number: int) -> int:
        with dspy.context(lm=lm, adapter=dspy.JSONAdapter()):
            for source, response in pairs(name, number):
                assert ask(source=source, response=response).rating == 4
        return number

    return run


def main() -> None:
    way, address, calls, rounds = sys.argv[1:]
    run = bare(address) if way == "http" else predict(address) if way == "dspy.Predict" else ours(address, way)
    print(json.dumps({"ms": timed(run, int(calls), int(rounds))}))


if __name__ == "__main__":
    main()
