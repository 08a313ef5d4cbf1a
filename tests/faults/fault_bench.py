"""Scoring six items through the command line, against an endpoint that misbehaves at some of them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from fault_table import TIMEOUT, Case, said
from loopback import Asked, Fault, Loopback, Say

from active_critic import store
from active_critic.calibration import Calibration, Part
from active_critic.cli import main
from active_critic.evaluators import SurfaceFloor
from active_critic.lm import Capabilities, LanguageModel, open_lm
from active_critic.lm.marks import YES_OR_NO
from active_critic.protocols import CriticProtocol, Provenance, Reading
from active_critic.records import Example, Scale

PROGRAM = CriticProtocol(
    evaluator="zero-shot",
    mode="coarse",
    task_description="Judge.",
    scale=Scale(low=1, high=5),
    reading=Reading(low=1, high=5, source="probabilities", order="rating_first"),
    provenance=Provenance(model="openai/x"),
)
FLOOR = SurfaceFloor().fit(
    [Example(response="word " * n, source="source", score=n) for n in range(1, 6)], PROGRAM.scale
)
COMBINED = PROGRAM.model_copy(
    update={
        "evaluator": "active-critic",
        "calibration": Calibration(
            parts=tuple(Part(name=name, mean=0, spread=1, weight=0.1) for name in ("rating", "approval", "surface")),
            intercept=3,
            n=20,
        ),
        "surface": FLOOR.to_dict(),
    }
)
"""A program as a fit makes it by default, where the endpoint gives no likelihood."""
ITEMS = [{"id": f"i{n}", "source": f"source {n}", "response": f"text {n}", "colour": "blue"} for n in range(1, 7)]
THIRD = 3


def number(body: dict[str, Any]) -> int:
    """Which item a request is about; 0 where it only asks what the endpoint can do."""
    found = re.search(r"<response>\ntext (\d+)\n", json.dumps(body).replace("\\n", "\n"))
    assert found is not None or "lemon" in json.dumps(body)
    return int(found.group(1)) if found else 0


def level(item: int) -> int:
    return 1 + item % 5


class Done(NamedTuple):
    code: int
    summary: dict[str, Any]
    err: str
    records: list[dict[str, Any]]


@dataclass
class Bench:
    """Where items are scored; ``bad`` says which requests go wrong: (item, how often it was asked before)."""

    loopback: Loopback
    folder: Path
    capfd: pytest.CaptureFixture[str]
    monkeypatch: pytest.MonkeyPatch
    waits: list[float] = field(default_factory=list)
    attempts: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.monkeypatch.chdir(self.folder)
        self.monkeypatch.setenv("COLUMNS", "400")
        store.save(PROGRAM, "p.json")
        store.save(COMBINED, "combined.json")
        Path("items.jsonl").write_text("".join(json.dumps(item) + "\n" for item in ITEMS))

    def model(
        self, case: Case, bad: Callable[[int, int], bool], found_out: bool = True, **options: Any
    ) -> LanguageModel:
        """The model at the endpoint, as the command line opens it; nothing listens where the case says so.

        ``found_out``: whether it was found before the run that the endpoint can do everything.
        """
        options = {**options, "workers": 1, "api_base": self.loopback.api_base}
        lm = open_lm("openai/x", **options | {"timeout": TIMEOUT if case.in_vain else 20.0})
        nobody = open_lm("openai/x", **options | {"api_base": "http://127.0.0.1:9/v1"})
        if found_out:
            lm._capabilities = Capabilities(json_schema=True, probabilities=True)
        lm._wait = self.waits.append
        reach = lm._send

        def answer(body: dict[str, Any]) -> Say | Fault:
            item = number(body)
            wrong = case.reply is not None and bad(item, self.attempts.count(item) - 1)
            if wrong and case.reply:
                return case.reply(level(item))
            asked = body["messages"][-1]["content"]
            return YES if YES_OR_NO in json.dumps(asked) else said(level(item))

        def send(request: Any) -> Any:
            item = number({"messages": [str(m.parts[0].text) for m in request.messages]})
            self.attempts += [item] if item else []
            here = case.reply is not None or not bad(item, self.attempts.count(item) - 1)
            return reach(request) if here else nobody._send(request)

        self.loopback.answer = answer
        lm._send = send
        return lm

    def score(
        self,
        case: Case,
        bad: Callable[[int, int], bool],
        *more: object,
        program: str = "p.json",
        found_out: bool = True,
    ) -> Done:
        self.waits.clear()
        self.attempts.clear()
        self.loopback.asked.clear()
        out = Path("s.jsonl")
        out.unlink(missing_ok=True)
        argv = ["score", program, "items.jsonl", "-o", out, "--json", "--journal", "j.sqlite", *more]
        code = main([str(part) for part in argv], opener=lambda name, **given: self.model(case, bad, found_out))
        printed, err = self.capfd.readouterr()
        records = [json.loads(line) for line in out.read_text().splitlines()] if out.exists() else []
        return Done(code, json.loads(printed) if printed else {}, err, records)

    @property
    def sent(self) -> list[Asked]:
        return self.loopback.asked


YES = Say("yes", tokens=[("yes", -0.1, {"yes": -0.1, "no": -2.4})], model="x-2026-01-01")
HEALTHY = Case("none", None, 1)


def never(item: int, before: int) -> bool:
    return False


def plain(records: list[dict[str, Any]], without: int | None = None) -> list[dict[str, Any]]:
    """Records to be compared: all but one of them."""
    return [record for record in records if record["id"] != f"i{without}"]


__all__ = ["HEALTHY", "ITEMS", "THIRD", "Bench", "level", "never", "plain"]
