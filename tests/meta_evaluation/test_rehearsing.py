from __future__ import annotations

import pytest
from compared import asking, examples, model
from curved import Learner, labelled
from simulated import simulated_lm

from active_critic.errors import FitError
from active_critic.lm import LanguageModel
from active_critic.lm.metering import ForNow
from active_critic.lm.rehearsal import Estimate, estimate_parts
from active_critic.meta_evaluation import compare, curve
from active_critic.meta_evaluation.curves import draw
from active_critic.meta_evaluation.methods import resolve
from active_critic.meta_evaluation.rehearsing import PROBING, Rehearsal, comparison_rehearsal, curve_rehearsal
from active_critic.meta_evaluation.splits import plan


def told(found: Estimate) -> dict[str, tuple[int, int]]:
    return {name: (part.usage.calls, part.usage.replayed) for name, part in found.parts.items()}


def comparison(methods, *, folds: int = 3) -> Rehearsal:
    data = examples()
    return comparison_rehearsal(data, methods, plan(data, folds=folds)[0])


def rehearsed(work: Rehearsal, lm: LanguageModel, **how) -> Estimate:
    return estimate_parts(lm, work, [], **how)


def test_what_methods_share_is_paid_for_once_and_each_is_told_what_it_makes_by_itself() -> None:
    calls: list[str] = []
    methods = {"one": asking("same"), "two": asking("same"), "other": asking("otherwise")}
    work = comparison(methods)
    found = rehearsed(work, model(calls))
    assert calls == []
    assert told(found) == {PROBING: (0, 0), "one": (27, 0), "two": (0, 0), "other": (27, 0)}
    assert [work.requests(part) for part in work.parts] == [[27], [27], [27]]
    assert work.shared(found) == ["what several methods ask is counted once, with the first method that asks it"]
    real = compare(examples(), methods, model(calls), folds=3, resamples=0, journal=None)
    assert len(calls) == found.usage.calls
    assert [method.needs.calls for method in real.methods] == [27, 27, 27]


def test_nothing_is_said_to_be_shared_where_nothing_is() -> None:
    work = comparison({"one": asking("this"), "two": asking("that")})
    assert work.shared(rehearsed(work, model())) == []


def test_what_the_journal_has_is_counted_apart() -> None:
    kept, lm = ForNow(), model()
    lm.memory = kept
    compare(examples(), {"one": asking("same")}, lm, folds=3, resamples=0)
    work = comparison({"two": asking("same"), "other": asking("otherwise")})
    found = rehearsed(work, lm)
    assert told(found) == {PROBING: (0, 0), "two": (0, 27), "other": (27, 0)}
    assert work.shared(found) == []


def test_what_the_model_can_do_is_asked_before_the_first_method_and_is_no_method_s() -> None:
    answering = simulated_lm()
    unknown = LanguageModel("unknown", answering._send, wait=lambda _: None)
    work = comparison({"surface": resolve(["surface"])["surface"], "zero-shot": resolve(["zero-shot"])["zero-shot"]})
    found = rehearsed(work, unknown)
    assert told(found) == {PROBING: (2, 0), "surface": (0, 0), "zero-shot": (24, 0)}
    real = compare(examples(), ["surface", "zero-shot"], unknown, folds=3, resamples=0, journal=None)
    assert real.probing.calls + real["zero-shot"].needs.calls == found.usage.calls


def test_a_method_that_fails_loses_its_own_figures_only_and_the_reason_is_told() -> None:
    count = [0]

    def fails(data):
        count[0] += 1
        if count[0] == 2:
            raise FitError("there is no such thing")

    methods = {"weak": asking("a", fails=fails), "strict": asking("b", mark=lambda e: "too odd"), "good": asking("c")}
    work = comparison(methods)
    found = rehearsed(work, model())
    assert told(found) == {PROBING: (0, 0), "weak": (18, 0), "strict": (27, 0), "good": (27, 0)}
    assert work.problems("weak") == ["weak would fail in 1 of 3 splits, first in its fit: there is no such thing"]
    assert work.problems("strict") == ["strict would leave 24 of 24 examples unscored, the first: too odd"]
    assert work.problems("good") == []


def test_what_fails_in_some_rehearsals_only_says_so() -> None:
    taken = [0]

    def fails(data):
        taken[0] += 1
        if taken[0] in {4, 5}:
            raise ValueError("a rare reply")

    work = comparison({"weak": asking("a", fails=fails)})
    rehearsed(work, model(), takes=3)
    (problem,) = work.problems("weak")
    assert problem.startswith("weak would fail in 2 of 3 splits, first in its fit: ValueError: a rare reply (")
    assert problem.endswith(" (in 1 of 3 rehearsals)")


@pytest.mark.parametrize(("most", "stops"), [(None, []), (27, []), (26, ["two"])])
def test_a_number_of_requests_that_would_stop_a_method_is_told(most: int | None, stops: list[str]) -> None:
    few = resolve(["surface"])["surface"]
    work = comparison({"surface": few, "two": asking("same")})
    said = work.stopped(most, rehearsed(work, model()))
    assert said == [f"{name} makes 27 different requests, so that --requests {most} would stop it" for name in stops]
    if most is not None:
        real = compare(examples(), {"two": asking("same")}, model(), folds=3, resamples=0, journal=None, requests=most)
        assert bool(real["two"].failures) == bool(stops)


def test_a_number_that_only_the_dearest_course_exceeds_may_stop_it() -> None:
    def made(lm):
        def asks_on(data):
            for number in range(int(lm.ask([("user", "Rate this response, 1 to 5.")], max_tokens=5).text)):
                lm.ask([("user", f"And number {number}?")], max_tokens=5)

        return asking("a", fails=asks_on)(lm)

    work = comparison({"deep": made})
    found = rehearsed(work, model(), takes=5)
    high = found.ranges["calls"][1]
    assert work.usual("deep") == found.usage.calls < max(work.requests("deep")) == high
    (said,) = work.stopped(found.usage.calls, found)
    assert said == (
        f"deep makes {found.usage.calls} (up to {high}) different requests, so that --requests {found.usage.calls} "
        "may stop it"
    )


# --- curves ---------------------------------------------------------------------------------------------------------

SIZES = [5, 10, 20]


def curved(factory, name: str = "mine", repeats: int = 2) -> Rehearsal:
    data = labelled()
    possible, drawn, _ = draw(data, SIZES, repeats=repeats)
    return curve_rehearsal(data, name, factory, possible, drawn)


def learner(lm):
    return Learner(lm, lambda count: 1 / count)


@pytest.mark.parametrize("repeats", [1, 3])
def test_a_curve_takes_what_each_size_adds(repeats: int) -> None:
    lm = simulated_lm()
    lm.memory = ForNow()
    work = curved(learner, repeats=repeats)
    found = rehearsed(work, lm)
    assert lm.usage.calls == 0
    assert work.parts == {"0": "zero-shot", "5": "5 labels", "10": "10 labels", "20": "20 labels"}
    real = curve(labelled(), {"mine": learner}, lm, sizes=SIZES, repeats=repeats, resamples=0)
    assert lm.usage.calls == found.usage.calls
    assert work.requests("0") == [real.zero_shot.result.needs.calls]
    assert [work.requests(str(point.labels)) for point in real.points] == [
        [point.result.needs.calls] for point in real.points
    ]
    again = curved(learner, repeats=repeats)
    rest = rehearsed(again, lm)
    assert (rest.usage.calls, rest.usage.replayed) == (0, found.usage.calls)


def test_what_sizes_share_is_counted_with_the_smallest() -> None:
    work = curved(resolve(["zero-shot"])["zero-shot"], name="zero-shot")
    found = rehearsed(work, simulated_lm())
    tested = {example for repeat in draw(labelled(), SIZES, repeats=2)[1] for example in repeat.test}
    assert told(found) == {PROBING: (0, 0), "5": (len(tested), 0), "10": (0, 0), "20": (0, 0)}
    assert work.shared(found) == ["what several sizes ask is counted once, with the first size that asks it"]


def test_a_number_of_requests_that_would_stop_a_curve_is_told() -> None:
    lm = simulated_lm()
    lm.memory = ForNow()
    work = curved(learner)
    found = rehearsed(work, lm)
    exact = found.usage.calls
    assert work.stopped(exact, found) == []
    assert work.stopped(exact - 1, found) == [
        f"the curve makes {exact} different requests, so that --requests {exact - 1} would stop it"
    ]
    for most in (exact, exact - 1):
        real = curve(labelled(), {"mine": learner}, simulated_lm(), sizes=SIZES, repeats=2, resamples=0, requests=most)
        assert any(point.result.failures for point in real.points) == (most < exact)


def test_a_size_at_which_it_fails_is_named_and_the_others_go_on() -> None:
    def fails(data):
        if len(data) == 10:
            raise FitError("ten is too many")

    work = curved(lambda lm: Learner(lm, lambda count: 1 / count, fails=fails))
    found = rehearsed(work, simulated_lm())
    assert work.problems("10") == ["10 labels: mine would fail in 2 of 2 splits, first in its fit: ten is too many"]
    assert [work.problems(part) for part in ("0", "5", "20")] == [[], [], []]
    assert found.parts["10"].usage.calls == 0
    assert found.parts["20"].usage.calls > 0


def test_as_json_it_has_a_document_for_every_part() -> None:
    work = curved(learner)
    found = rehearsed(work, simulated_lm())
    document = work.to_dict(found)
    assert [point["labels"] for point in document["points"]] == [0, *SIZES]
    assert sum(point["calls"] for point in document["points"]) + document["probing"]["calls"] == found.usage.calls
    other = comparison({"one": asking("same")})
    (method,) = other.to_dict(rehearsed(other, model()))["methods"]
    assert (method["name"], method["calls"], method["requests"], method["problems"]) == ("one", 27, 27, [])
