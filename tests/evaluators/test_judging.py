"""A run asks a judge, and stops where going on would only cost."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Container
from pathlib import Path

import pytest
from loopback import Fault, Loopback, echoing
from test_base import PROGRAM, items, judging, scores, scoring

from active_critic.errors import EndpointDown, FitError, ModelError, RequestRefused, UnreadableReply
from active_critic.evaluators import from_protocol
from active_critic.evaluators.judging import Judge, Run
from active_critic.evaluators.rounds import WINDOW
from active_critic.lm import LanguageModel, open_lm
from active_critic.records import Example, Verdict


def test_an_endpoint_that_is_down_from_the_start_costs_many_workers_two_probes(loopback: Loopback) -> None:
    loopback.script(Fault(status=503))
    lm = open_lm("openai/x", api_base=loopback.api_base)
    lm._wait = lambda _: time.sleep(0.02)  # so that all workers wait for the one that asks
    assert lm.workers == 8
    with pytest.raises(EndpointDown) as caught:
        list(from_protocol(PROGRAM, lm, journal=None).score_many(items(100)))
    assert "Stopped after 2 failures in a row" in caught.value.__notes__[-1]
    assert loopback.calls == 2 * 4


@pytest.mark.parametrize("times", [1, 2])
def test_what_was_answered_counts_in_later_windows_and_repeats(times: int) -> None:
    unread, down = range(256, 281), 511

    def rate(text: str) -> float | str:
        if int(text) == down:
            raise EndpointDown("for a moment")
        return "fine" if int(text) in unread else int(text) % 100

    verdicts = list(scoring(judging(rate)).score_repeatedly(items(down + 1), times))
    assert {len(each) for each in verdicts} == {times}
    unscored = [number for number, each in enumerate(verdicts) if any(verdict.score is None for verdict in each)]
    assert unscored == [*unread, down]


@pytest.mark.parametrize("times", [0, 10**30, True])
def test_a_text_is_scored_once_or_so_often_that_it_ends(times: int) -> None:
    with pytest.raises(FitError, match="times must be a whole number from 1 to 1,000, not"):
        scoring(judging(lambda text: 2.0)).score_repeatedly(items(2), times)


def test_failures_in_a_row_are_counted_over_windows_and_repeats() -> None:
    def rate(text: str) -> int:
        if int(text) >= 253:  # three at the end of each repeat of the first window
            raise EndpointDown("for good")
        return int(text) % 100

    with pytest.raises(EndpointDown) as caught:
        list(scoring(judging(rate)).score_repeatedly(items(300), 2))
    assert "Stopped after 5 failures in a row" in caught.value.__notes__[-1]


def test_an_answer_waits_while_a_failure_is_counted() -> None:
    asked, counting = threading.Event(), threading.Event()

    class Slow(Judge):
        def answer(self, question: str, example: Example, *, explain: bool) -> str:
            asked.set()
            counting.wait(20)
            return "good"

        def verdict(self, example: Example, answers: object) -> Verdict:
            return Verdict(score=1.0)

    run = Run(Slow(), explain=False)
    worker = threading.Thread(target=run.ask, args=("overall", Example("text"), {}, 0))
    worker.start()
    assert asked.wait(20)
    with run.counting:
        counting.set()
        worker.join(0.2)
        assert not run.answered
    worker.join(20)
    assert run.answered


def test_an_item_that_one_question_leaves_without_a_score_is_asked_no_other() -> None:
    asked: list[tuple[str, str]] = []

    class Threefold(Judge):
        questions = ("rating", "approval", "likelihood")

        def answer(self, question: str, example: Example, *, explain: bool) -> str:
            asked.append((question, example.response))
            if (question, example.response) == ("approval", "1"):
                raise UnreadableReply("no yes and no no", reply="well")
            return "good"

        def verdict(self, example: Example, answers: object) -> Verdict:
            return Verdict(score=1.0)

    run = Run(Threefold(), explain=False)
    answers: list[dict[str, object]] = [{}, {}, {}]
    for question in run.questions:
        for item, came in zip(items(3), answers, strict=True):
            run.ask(question, item, came, next(run.numbers))
    assert asked == [(q, i) for q in run.questions for i in "012" if (q, i) != ("likelihood", "1")]
    assert scores(map(run.verdict, items(3), answers)) == [1.0, None, 1.0]


# --- when what is answered cannot be used -----------------------------------------------------------------------------


def reading(read: Container[int], workers: int = 1, refused: bool = False) -> tuple[LanguageModel, list[str]]:
    """A judge whose replies hold a score for these items only, and the requests that were sent."""
    seen: list[str] = []

    def rate(text: str) -> float | str:
        time.sleep(0.001 * (int(text) % 3))  # so that workers end in another order than they began
        if int(text) not in read and refused:
            raise RequestRefused(f"not {text}")
        return 50 if int(text) in read else "fine"

    return judging(rate, workers, seen), seen


def test_a_run_in_which_fifty_items_in_a_row_cannot_be_read_stops_and_the_next_goes_on(tmp_path: Path) -> None:
    lm, seen = reading({0, *range(120, 300)})

    def run() -> list[float | None]:
        with from_protocol(PROGRAM, lm, journal=tmp_path / "j.sqlite") as evaluator:
            return scores(evaluator.score_many(items(300)))

    for asked in (1 + 2 * 50, 2 * 50):
        with pytest.raises(
            UnreadableReply, match="none of the last 50 replies could be read; the last: no number"
        ) as e:
            run()
        assert "the same command goes on behind them and pays for none again" in e.value.__notes__[0]
        assert e.value.__notes__[0].endswith("try: active-critic lm check scripted")
        assert len(seen) == asked
        seen.clear()
    assert run() == [50.0] + [None] * 119 + [50.0] * 180
    assert len(seen) == 2 * 19 + 180


def test_refused_requests_stop_no_run_in_which_something_was_read() -> None:
    lm, seen = reading({0, 599}, refused=True)
    assert scores(scoring(lm).score_many(items(600))) == [50.0] + [None] * 598 + [50.0]
    assert len(seen) == 600


def test_refused_requests_between_replies_that_cannot_be_read_count_neither_way() -> None:
    def rate(text: str) -> float | str:
        if int(text) % 2:
            raise RequestRefused(f"not {text}")
        return "fine" if int(text) else 50

    seen: list[str] = []
    with pytest.raises(UnreadableReply, match="none of the last 50 replies"):
        list(scoring(judging(rate, 1, seen)).score_many(items(600)))
    assert len(seen) == 1 + 50 + 2 * 50


def test_one_reply_that_is_read_in_fifty_is_enough_however_many_workers() -> None:
    lm, _ = reading(range(0, 600, 50), workers=8)
    verdicts = scores(scoring(lm).score_many(items(600)))
    assert verdicts == [None if i % 50 else 50.0 for i in range(600)]


def test_many_workers_stop_where_one_does() -> None:
    lm, seen = reading({*range(100)}, workers=8)
    with pytest.raises(UnreadableReply, match="none of the last 50 replies"):
        list(scoring(lm).score_many(items(600)))
    assert 200 <= len(seen) <= 100 + 2 * (WINDOW - 100)  # where one worker is held up, others go on in the window


def test_what_was_paid_for_before_is_not_counted_and_disarms_nothing(tmp_path: Path) -> None:
    path = tmp_path / "j.sqlite"
    with from_protocol(PROGRAM, reading(range(100))[0], journal=path) as evaluator:
        list(evaluator.score_many(items(100)))
    lm, seen = reading(())
    with (
        from_protocol(PROGRAM, lm, journal=path) as evaluator,
        pytest.raises(UnreadableReply, match="none of the last 50 replies"),
    ):
        list(evaluator.score_many(items(600)))
    assert len(seen) == 100


class Weighing(Judge):
    """Asks for a likelihood and nothing else."""

    def __init__(self, lm: LanguageModel) -> None:
        self.lm = lm

    def answer(self, question: str, example: Example, *, explain: bool) -> object:
        return self.lm.likelihood([("user", example.source)], example.response)

    def verdict(self, example: Example, answers: object) -> Verdict:
        raise AssertionError("nothing was answered")


@pytest.mark.parametrize(("value", "kind"), [(math.nan, UnreadableReply), (None, RequestRefused)])
def test_a_run_stops_where_no_likelihood_is_one_and_says_nothing_of_kept_replies(
    loopback: Loopback, value: float | None, kind: type[ModelError]
) -> None:
    loopback.complete = echoing(lambda _: value)
    lm = open_lm("openai/x", api_base=loopback.api_base)
    run = Run(Weighing(lm), explain=False, lm=lm)

    def ask() -> None:
        for item, number in zip(items(100), run.numbers, strict=False):
            run.ask("overall", item, {}, number)

    with pytest.raises(kind, match="none of the first 20") as caught:
        ask()
    assert loopback.calls == 20
    assert "kept" not in caught.value.__notes__[0]
