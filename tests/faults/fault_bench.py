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
from active_critic.cli import main
from active_critic.lm import Capabilities, LanguageModel, open_lm
from active_critic.protocols import CriticProtocol, Provenance, Reading
from active_critic.records import Scale

PROGRAM = CriticProtocol(
    evaluator="zero-shot",
    mode="coarse",
    task_description="Judge.",
    scale=Scale(low=1, high=5),
    reading=Reading(low=1, high=5, source="probabilities", order="rating_first"),
    provenance=Provenance(model="openai/x"),
)
ITEMS = [{"id": f"i{n}", "source": f"source {n}", "response": f"text {n}", "colour": "blue"} for n in range(1, 7)]
THIRD = 3


def number(body: dict[str, Any]) -> int:
    """Which item a request is about."""
    found = re.search(r"<response>\ntext (\d+)\n", json.dumps(body).replace("\\n", "\n"))
    assert found is not None
    return int(found.group(1))


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
        Path("items.jsonl").write_text("".join(json.dumps(item) + "\n" for item in ITEMS))

    def model(self, case: Case, bad: Callable[[int, int], bool], **options: Any) -> LanguageModel:
        """The model at the endpoint, as the command line opens it; nothing listens where the case says so."""
        options = {**options, "workers": 1, "api_base": self.loopback.api_base}
        lm = open_lm("openai/x", **options | {"timeout": TIMEOUT if case.in_vain else 20.0})
        nobody = open_lm("openai/x", **options | {"api_base": "http://127.0.0.1:9/v1"})
        lm._capabilities = Capabilities(json_schema=True, probabilities=True)
        lm._wait = self.waits.append
        reach = lm._send

        def answer(body: dict[str, Any]) -> Say | Fault:
            item = number(body)
            wrong = case.reply is not None and bad(item, self.attempts.count(item) - 1)
            return case.reply(level(item)) if wrong and case.reply else said(level(item))

        def send(request: Any) -> Any:
            item = number({"messages": [str(m.parts[0].text) for m in request.messages]})
            self.attempts.append(item)
            here = case.reply is not None or not bad(item, self.attempts.count(item) - 1)
            return reach(request) if here else nobody._send(request)

        self.loopback.answer = answer
        lm._send = send
        return lm

    def score(self, case: Case, bad: Callable[[int, int], bool], *more: object) -> Done:
        self.waits.clear()
        self.attempts.clear()
        self.loopback.asked.clear()
        out = Path("s.jsonl")
        out.unlink(missing_ok=True)
        argv = ["score", "p.json", "items.jsonl", "-o", out, "--json", "--journal", "j.sqlite", *more]
        options: dict[str, Any] = {}
        code = main([str(part) for part in argv], opener=lambda name, **given: self.model(case, bad, **options))
        printed, err = self.capfd.readouterr()
        records = [json.loads(line) for line in out.read_text().splitlines()] if out.exists() else []
        return Done(code, json.loads(printed) if printed else {}, err, records)

    @property
    def sent(self) -> list[Asked]:
        return self.loopback.asked


HEALTHY = Case("none", None, 1)


def never(item: int, before: int) -> bool:
    return False


def plain(records: list[dict[str, Any]], without: int | None = None) -> list[dict[str, Any]]:
    """Records to be compared: all but one of them."""
    return [record for record in records if record["id"] != f"i{without}"]


__all__ = ["HEALTHY", "ITEMS", "THIRD", "Bench", "level", "never", "plain"]
