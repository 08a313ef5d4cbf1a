from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest

from active_critic.errors import EndpointDown
from active_critic.evaluators import GEval
from active_critic.evaluators._fitting import in_parallel
from active_critic.evaluators.g_eval import GEvalProtocol
from active_critic.journal import Journal
from active_critic.lm import Capabilities, LanguageModel, scripted_lm
from active_critic.lm.budget import Budget
from active_critic.lm.stopping import threads
from active_critic.protocols import Provenance, Reading
from active_critic.records import Criterion, Example, Scale

WORKERS = 4
PROGRAM = GEvalProtocol(
    task_description="Replies to customers.",
    criteria=[Criterion(name="Tone", definition="It is friendly.")],
    steps={},
    reading=Reading(source="text"),
    scale=Scale(low=1, high=5),
    provenance=Provenance(model="scripted"),
    samples=20,
)


class Interrupted:
    """A model that counts the calls that begin, and those that begin after Ctrl-C."""

    def __init__(self) -> None:
        self.pressed = threading.Event()
        self.seen: list[bool] = []
        self.lm = scripted_lm(self.answer, workers=WORKERS, capabilities=Capabilities(json_schema=True))

    def answer(self, _: object) -> str:
        self.seen.append(self.pressed.is_set())
        time.sleep(0.002)
        return '{"rating": 4}'

    def press(self, *_: object) -> None:
        self.pressed.set()
        raise KeyboardInterrupt


def test_no_call_begins_after_ctrl_c_and_those_under_way_are_kept(tmp_path: Path) -> None:
    model = Interrupted()
    given = [Example(f"text {number}") for number in range(40)]
    with GEval.from_protocol(PROGRAM, model.lm, journal=tmp_path / "j.sqlite") as evaluator:
        with pytest.raises(KeyboardInterrupt):
            list(evaluator.score_many(given, progress=model.press))
        assert sum(model.seen) <= WORKERS  # each may have been about to send
        with Journal(tmp_path / "j.sqlite") as journal:
            assert len(journal) == len(model.seen)
        model.pressed.clear()
        assert [verdict.score for verdict in evaluator.score_many(given)] == [4.0] * 40  # it can be asked again
    assert len(model.seen) == 40 * 20


def test_no_call_of_a_fit_begins_after_ctrl_c() -> None:
    model = Interrupted()

    def twenty(job: int) -> None:
        for number in range(20):
            model.lm.ask([("user", f"{job} {number}")], max_tokens=5)

    with pytest.raises(KeyboardInterrupt):
        in_parallel(model.lm, twenty, range(40), doing="asking", progress=model.press)
    assert sum(model.seen) <= WORKERS


@pytest.mark.parametrize("budget", [None, Budget(calls=3)])
def test_no_retry_is_waited_for_or_sent_after_ctrl_c(budget: Budget | None) -> None:
    sent: list[float] = []

    def down(_: object) -> object:
        sent.append(time.monotonic())
        raise EndpointDown("wait", retry_after=30)

    lm = LanguageModel("m", down, workers=2)  # type: ignore[arg-type]
    lm.budget = budget
    started = time.monotonic()

    def interrupted() -> None:
        with threads(2) as pool:
            for number in range(2):
                pool.submit(lm.ask, [("user", f"{number}")], max_tokens=5)
            while len(sent) < 2:
                time.sleep(0.01)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert len(sent) == 2
    assert time.monotonic() - started < 20


def test_a_call_that_waits_for_its_share_of_a_budget_is_not_made_after_ctrl_c() -> None:
    under_way, go = threading.Event(), threading.Event()
    asked: list[str] = []

    def answer(turns: list[tuple[str, str]]) -> str:
        asked.append(turns[-1][1])
        under_way.set()
        go.wait(20)
        return "4"

    lm = scripted_lm(answer, workers=2)  # type: ignore[arg-type]
    lm.budget = Budget(tokens=200)  # one call may take more than half of it

    def interrupted() -> None:
        with threads(2) as pool:
            pool.submit(lm.ask, [("user", "first")], max_tokens=50)
            under_way.wait(20)
            pool.submit(lm.ask, [("user", "second")], max_tokens=50)
            time.sleep(0.1)
            threading.Timer(0.1, go.set).start()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert asked == ["first"]
