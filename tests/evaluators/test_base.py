from __future__ import annotations

import inspect
import json
import random
import re
import threading
import time
import zlib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from active_critic.data import read_examples
from active_critic.data.examples import split
from active_critic.data.rows import BadRow
from active_critic.errors import (
    AuthenticationFailed,
    DataError,
    EndpointDown,
    FitError,
    ModelError,
    ProtocolError,
    RateLimited,
    RequestRefused,
    UnreadableReply,
)
from active_critic.evaluators import ICE, ActiveCritic, Evaluator, GEval, Surface, ZeroShot, fit, from_protocol, load
from active_critic.journal import Journal
from active_critic.lm import LanguageModel, Turn, open_lm, scripted_lm
from active_critic.protocols import CriticProtocol, Provenance, Reading
from active_critic.records import Example, Scale, Verdict

PROGRAM = CriticProtocol(
    evaluator="zero-shot",
    mode="coarse",
    task_description="Judge.",
    scale=Scale(low=0, high=100),
    reading=Reading(low=0, high=100, source="text"),
    provenance=Provenance(model="scripted"),
)


def judging(rate: Callable[[str], Any], workers: int = 1, seen: list[str] | None = None) -> LanguageModel:
    """A judge by the response's text; it may raise."""

    def answer(turns: list[Turn]) -> str:
        *_, response = re.findall(r"<response>\n(.*?)\n</response>", "".join(text for _, text in turns), re.DOTALL)
        if seen is not None:
            seen.append(response)
        return json.dumps({"overall": rate(response), "justification": "so", "advice": "more"})

    return scripted_lm(answer, workers=workers)


def test_a_source_that_fitting_knew_and_scoring_lacks_is_noted_and_the_reverse() -> None:
    apart = [Example("word " * n, f"What about {n}?", score=float(1 + n % 5)) for n in range(1, 13)]
    bare = [Example("word " * n, score=float(1 + n % 5)) for n in range(1, 13)]
    lacking = "scored without a source, and every example that the program was fitted on had one"
    added = "scored with a source, and no example that the program was fitted on had one"

    def noted(examples: list[Example], **changed: Any) -> list[tuple[str, ...]]:
        floor = Surface().fit(examples, scale="1..5")
        origin = floor.protocol_.provenance.model_copy(update=changed)
        floor.protocol_ = floor.protocol_.model_copy(update={"provenance": origin})
        items = [Example("some words", "What?"), Example("some words"), Example("some words", "  "), BadRow(4, "no")]
        return [verdict.notes for verdict in floor.score_many(items)]

    assert noted(apart) == [(), (lacking,), (lacking,), ()]
    assert noted(bare) == [(added,), (), (), ()]
    assert noted([*apart, *bare]) == [(), (), (), ()]
    assert noted(apart, sourced=None) == [(), (), (), ()]  # a program from before this was written down


def scoring(lm: LanguageModel) -> Evaluator:
    return from_protocol(PROGRAM, lm, journal=None)


def items(n: int) -> list[Example]:
    return [Example(f"{i}", f"source {i // 3:03}", id=f"{i}") for i in range(n)]


def scores(verdicts: Iterable[Verdict]) -> list[float | None]:
    return [verdict.score for verdict in verdicts]


# --- parameters are only stored ---------------------------------------------------------------------------------------


def test_a_notebook_shows_a_line_of_an_evaluator_and_its_program() -> None:
    assert repr(ZeroShot(scripted_lm("{}"))) == "<ZeroShot: not fitted>"
    program = PROGRAM.model_copy(update={"provenance": Provenance(model="m", n_train=7)})
    said = "zero-shot with m, scale 0..100, fitted on 7 examples"
    assert repr(program) == f"<CriticProtocol: {said}>"
    assert repr(from_protocol(program, scripted_lm("{}"), journal=None)) == f"<ZeroShot: {said}>"


@pytest.mark.parametrize("kind", [ActiveCritic, ZeroShot])
def test_init_only_stores_its_parameters(kind: type[Evaluator]) -> None:
    names = list(inspect.signature(kind).parameters)
    values = {name: object() for name in names}
    made = kind(**values)  # nothing is checked, opened or copied before fit
    assert all(getattr(made, name) is value for name, value in values.items())
    assert [name for name in vars(made) if name.endswith("_") and vars(made)[name]] == []


@pytest.mark.parametrize("kind", [ActiveCritic, ZeroShot])
def test_what_is_not_fitted_says_so(kind: type[Evaluator], tmp_path: Path) -> None:
    made = kind(judging(lambda _: 5), journal=None)
    for use in (
        lambda: made.score("text"),
        lambda: list(made.score_many([Example("text")])),
        lambda: made.save(tmp_path / "x.json"),
        lambda: made.signature,
        lambda: made.fitted,
    ):
        with pytest.raises(FitError, match="not fitted yet; call fit"):
            use()
    assert list(tmp_path.iterdir()) == []


# --- one verdict an input, in its place -------------------------------------------------------------------------------


def test_every_input_gets_a_verdict_in_its_place_whatever_happens_to_it() -> None:
    lm = judging(lambda text: "unreadable" if text == "3" else int(text))
    given: list[Example | BadRow] = [*items(6)]
    given[1] = BadRow(row=2, reason="the JSON is broken")
    given[4] = Example("   ", "source")
    verdicts = list(scoring(lm).score_many(given))
    assert scores(verdicts) == [0.0, None, 2.0, None, None, 5.0]
    assert verdicts[1].unscored == "the JSON is broken"
    assert "could not be read" in (verdicts[3].unscored or "")
    assert verdicts[4].unscored == "the response is empty"


def test_the_order_is_that_of_the_input_with_many_workers() -> None:
    lock, busy = threading.Lock(), [0, 0]

    def rate(text: str) -> int:
        with lock:
            busy[0] += 1
            busy[1] = max(busy)
        time.sleep(random.Random(text).uniform(0, 0.01))
        with lock:
            busy[0] -= 1
        return int(text)

    given = items(60)
    random.Random(0).shuffle(given)
    assert scores(scoring(judging(rate, workers=8)).score_many(given)) == [float(e.response) for e in given]
    assert busy[1] > 1


def test_the_order_of_the_input_does_not_matter() -> None:
    given = items(40)
    shuffled = random.Random(1).sample(given, len(given))
    evaluator = scoring(judging(lambda text: int(text) * 2))
    one = dict(zip([e.id for e in given], evaluator.score_many(given), strict=True))
    other = dict(zip([e.id for e in shuffled], evaluator.score_many(shuffled), strict=True))
    assert {name: verdict.to_dict() for name, verdict in one.items()} == {
        name: verdict.to_dict() for name, verdict in other.items()
    }


def test_responses_to_one_source_are_scored_one_after_the_other() -> None:
    seen: list[str] = []
    given = random.Random(1).sample(items(30), 30)
    list(scoring(judging(int, seen=seen)).score_many(given))
    sources = [int(text) // 3 for text in seen]
    assert len({s for i, s in enumerate(sources) if i and sources[i - 1] != s}) == 9
    assert sources == sorted(sources)


def test_a_stream_is_read_in_windows() -> None:
    taken = 0

    def stream() -> Iterable[Example]:
        nonlocal taken
        for item in items(600):
            taken += 1
            yield item

    verdicts = scoring(judging(lambda text: int(text) % 100)).score_many(stream())
    assert next(verdicts).score == 0.0
    assert taken == 256
    rest = scores(verdicts)
    assert rest == [float(i % 100) for i in range(1, 600)]


def test_nothing_in_nothing_out() -> None:
    assert list(scoring(judging(int)).score_many([])) == []


def test_one_text_is_scored_as_among_many() -> None:
    evaluator = scoring(judging(int))
    among_many = list(evaluator.score_many([*items(3), Example("7", "source")]))[-1]
    assert evaluator.score("7", "source").to_dict() == among_many.to_dict()
    assert evaluator.score("7", explain=False).explanation is None
    assert evaluator.score("7").explanation == "so"


def test_progress_counts_the_items() -> None:
    told: list[tuple[str, int, int]] = []
    list(scoring(judging(int)).score_many(items(5), progress=lambda *said: told.append(said)))
    assert told == [("scoring", done, 0) for done in range(1, 6)]


# --- when the endpoint fails ------------------------------------------------------------------------------------------


def failing(at: Iterable[int], kind: type[ModelError] = EndpointDown, workers: int = 1) -> Evaluator:
    down = set(at)

    def rate(text: str) -> int:
        if int(text) in down:
            raise kind(f"no answer for {text}")
        return int(text)

    return scoring(judging(rate, workers))


@pytest.mark.parametrize("kind", [EndpointDown, RateLimited])
def test_an_endpoint_that_never_answers_is_an_error(kind: type[ModelError]) -> None:
    with pytest.raises(kind, match="no answer for 1"):  # one item might be at fault, two are not
        list(failing(range(10), kind).score_many(items(10)))


def test_a_single_text_that_the_endpoint_fails_at_is_an_error() -> None:
    with pytest.raises(EndpointDown, match="no answer for 0"):
        failing([0]).score("0")


def test_an_item_that_the_endpoint_fails_at_costs_no_other_row() -> None:
    assert scores(failing([0]).score_many(items(4))) == [None, 1.0, 2.0, 3.0]


def test_a_run_that_ends_asks_no_more_questions() -> None:
    seen: list[str] = []

    def rate(text: str) -> int:
        raise AuthenticationFailed("wrong key")

    for _ in range(20):
        seen.clear()
        with pytest.raises(AuthenticationFailed):
            list(scoring(judging(rate, seen=seen)).score_many(items(20)))
        assert seen == ["0"]


@pytest.mark.parametrize("kind", [EndpointDown, RateLimited])
def test_isolated_failures_leave_their_items_unscored(kind: type[ModelError]) -> None:
    down = [2, 3, 4, 5, 7, 9]
    verdicts = list(failing(down, kind).score_many(items(12)))
    assert scores(verdicts) == [None if i in down else float(i) for i in range(12)]
    assert "no answer for 3" in (verdicts[3].unscored or "")


@pytest.mark.parametrize("kind", [EndpointDown, RateLimited])
def test_five_failures_in_a_row_stop_the_run(kind: type[ModelError]) -> None:
    with pytest.raises(kind, match="no answer for 7"):
        list(failing(range(3, 20), kind).score_many(items(20)))


def test_an_outage_of_a_moment_ends_no_run_however_many_workers_it_hits() -> None:
    down, hit = threading.Barrier(8, timeout=20), {str(number) for number in range(20, 28)}

    def rate(text: str) -> int:
        if text in hit:
            down.wait()  # all of them are under way when the first one fails
            raise EndpointDown("for a moment")
        time.sleep(0.1 if 28 <= int(text) < 36 else 0)  # nothing is answered while they fail
        return int(text)

    verdicts = list(scoring(judging(rate, workers=8)).score_many(items(100)))
    assert [verdict.score for verdict in verdicts] == [None if str(i) in hit else float(i) for i in range(100)]


def test_an_endpoint_that_is_down_ends_a_run_with_many_workers() -> None:
    seen: list[str] = []

    def rate(text: str) -> int:
        if int(text) >= 20:
            time.sleep(0.005)
            raise EndpointDown("for good")
        return int(text)

    with pytest.raises(EndpointDown) as caught:
        list(scoring(judging(rate, workers=8, seen=seen)).score_many(items(200)))
    assert "Stopped after 5 failures in a row" in caught.value.__notes__[-1]
    assert len(set(seen)) <= 20 + 6 * 8


@pytest.mark.parametrize("context", [None, 2000])
def test_what_is_not_sent_tells_nothing_of_the_endpoint(tmp_path: Path, context: int | None) -> None:
    """Between failures stand items that the journal answers, or whose prompts can by no means fit."""
    up, failed = [True], [0]

    def rate(text: str) -> int:
        if not up[0]:
            failed[0] += 1
            raise EndpointDown("for good")
        return int(text) % 100

    lm = judging(rate)
    lm.context = context
    given = [Example(f"{i}" + " long" * (9000 if context and i % 2 == 0 else 0), f"s {i:03}") for i in range(200)]
    with from_protocol(PROGRAM, lm, journal=tmp_path / "j.sqlite") as evaluator:
        if context is None:
            list(evaluator.score_many(given[::2]))
        else:
            list(evaluator.score_many([Example("1", "s 000")]))
        up[0] = False
        with pytest.raises(EndpointDown) as caught:
            list(evaluator.score_many(given))
    assert "Stopped after 20 failures in a row" in caught.value.__notes__[-1]
    assert failed[0] == 20 * 4


def babbling(first: int) -> tuple[LanguageModel, list[str]]:
    """A judge whose replies to the first so many items hold no score."""
    seen: list[str] = []
    return judging(lambda text: "fine" if int(text) < first else 50, seen=seen), seen


def test_a_run_in_which_nothing_can_be_read_stops_and_the_next_goes_on_behind_it(tmp_path: Path) -> None:
    lm, seen = babbling(25)

    def run() -> list[Verdict]:
        with from_protocol(PROGRAM, lm, journal=tmp_path / "j.sqlite") as evaluator:
            return list(evaluator.score_many(items(40)))

    with pytest.raises(UnreadableReply, match="none of the first 20 replies could be read; the last: no number") as e:
        run()
    assert e.value.__notes__[0].endswith("try: active-critic lm check scripted")
    assert len(seen) == 40  # every item once more, in stricter words
    assert scores(run()) == [None] * 25 + [50.0] * 15
    assert len(seen) == 40 + 2 * 5 + 15


def test_a_run_in_which_everything_is_refused_stops() -> None:
    with pytest.raises(RequestRefused, match=r"none of the first 20 requests was answered; .*no answer for") as e:
        list(failing(range(100), RequestRefused).score_many(items(100)))
    assert e.value.__notes__[0].endswith("try: active-critic lm check scripted")
    assert scores(list(failing(range(19), RequestRefused).score_many(items(21)))) == [None] * 19 + [19.0, 20.0]
    later = list(failing(range(1, 50), RequestRefused).score_many(items(50)))  # one was answered
    assert scores(later) == [0.0] + [None] * 49


def test_a_short_run_in_which_nothing_can_be_read_is_unscored() -> None:
    lm, _ = babbling(60)
    assert scores(scoring(lm).score_many(items(19))) == [None] * 19


def test_a_row_that_could_not_be_read_is_no_answer_of_the_endpoint() -> None:
    with pytest.raises(EndpointDown):
        list(failing([1]).score_many([BadRow(1, "broken"), Example("1", "source 1")]))


def test_a_wrong_key_stops_the_run_at_once() -> None:
    with pytest.raises(AuthenticationFailed):
        list(failing([5], AuthenticationFailed).score_many(items(10)))


def test_a_failure_stops_the_other_workers_soon() -> None:
    seen: list[str] = []

    def rate(text: str) -> int:
        if text == "0":
            raise AuthenticationFailed("wrong key")
        time.sleep(0.01)
        return int(text)

    with pytest.raises(AuthenticationFailed):
        list(scoring(judging(rate, workers=4, seen=seen)).score_many(items(200)))
    assert len(seen) < 50


# --- saved and loaded -------------------------------------------------------------------------------------------------


def test_a_loaded_program_is_the_saved_one(tmp_path: Path) -> None:
    saved = scoring(judging(int)).save(tmp_path / "p.json")
    loaded = load(saved, judging(int), journal=None)
    assert isinstance(loaded, ZeroShot)
    assert loaded.fitted == PROGRAM
    assert loaded.score("7").score == 7.0
    critic = from_protocol(PROGRAM.model_copy(update={"evaluator": "active-critic", "mode": "coarse"}), journal=None)
    assert isinstance(critic, ActiveCritic)
    assert critic.mode == "coarse"


def test_an_evaluator_refuses_the_program_of_another_that_looks_alike(tmp_path: Path) -> None:
    saved = scoring(judging(int)).save(tmp_path / "p.json")
    with pytest.raises(ProtocolError, match=r"p\.json: a program of zero-shot, not of active-critic"):
        ActiveCritic.load(saved, judging(int), journal=None)


@pytest.mark.parametrize("kind", [ActiveCritic, Surface, GEval, ICE])
def test_an_evaluator_says_whose_program_it_was_given(kind: type[Evaluator], tmp_path: Path) -> None:
    saved = scoring(judging(int)).save(tmp_path / "p.json")
    said = rf"p\.json: a program of zero-shot, not of {kind.kind}; active_critic\.load reads either$"
    with pytest.raises(ProtocolError, match=said):
        kind.load(saved)
    document = json.loads(saved.read_text())
    del document["evaluator"]
    saved.write_text(json.dumps(document))
    with pytest.raises(ProtocolError, match=r"a program of active-critic, not of zero-shot"):
        ZeroShot.load(saved)


def test_the_model_of_a_loaded_program_is_the_one_it_was_fitted_with_and_opened_late(tmp_path: Path) -> None:
    path = scoring(judging(int)).save(tmp_path / "p.json")
    loaded = load(path)
    assert loaded.lm == "scripted"
    reading = "levels:0-100:text:rating_first"
    start, program, *end = loaded.signature.rsplit("|", 3)
    assert start == f"zero-shot|scripted|coarse|demos:0:e3b0c442|{reading}|score:rating"
    assert (re.fullmatch(r"program:[0-9a-f]{8}", program) is not None, end) == (True, ["seed:0", "v?"])
    other = PROGRAM.model_copy(update={"task_description": "Judge otherwise."})
    assert from_protocol(other).signature != loaded.signature


def test_a_setting_that_there_is_not_is_named_with_those_that_there_are(tmp_path: Path) -> None:
    with pytest.raises(
        FitError, match=r"^fit\(\) has no setting 'candidate'. Did you mean candidates\? It has lm, mode"
    ):
        fit(tmp_path / "none.jsonl", candidate=3)
    with pytest.raises(FitError, match=r"^load\(\) has no setting 'zzz'. It has lm, journal$"):
        load(tmp_path / "none.json", zzz=3)


@pytest.mark.parametrize("option", [name for name in inspect.signature(open_lm).parameters if name != "name"])
def test_how_a_model_is_opened_is_said_where_it_is_opened(option: str, tmp_path: Path) -> None:
    said = re.escape(f"(..., lm=ac.open_lm(NAME, {option}=...))")
    if option != "budget":  # which a fit takes, too
        with pytest.raises(FitError, match=rf"^fit\(\) does not take {option}, .*{said}$"):
            fit(tmp_path / "none.jsonl", lm="my-model", **{option: "x"})
    with pytest.raises(FitError, match=rf"^load\(\) does not take {option}, .*{said}$"):
        load(tmp_path / "none.json", **{option: "x"})


def test_a_damaged_file_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "p.json").write_text('{"format_version": 1')
    with pytest.raises(ProtocolError, match="damaged"):
        load(tmp_path / "p.json")


# --- the journal ------------------------------------------------------------------------------------------------------


def test_a_journal_answers_what_was_paid_for(tmp_path: Path) -> None:
    path = tmp_path / "journal.sqlite"
    for calls, replayed in ((9, 0), (0, 9)):
        lm = judging(int)
        with from_protocol(PROGRAM, lm, journal=path) as evaluator:
            assert scores(evaluator.score_many(items(9))) == [float(i) for i in range(9)]
        assert (lm.usage.calls, lm.usage.replayed) == (calls, replayed)


def test_without_a_path_the_journal_is_the_users(tmp_path: Path) -> None:
    with from_protocol(PROGRAM, judging(int)) as evaluator:
        evaluator.score("7")
    with Journal(tmp_path / "journal.sqlite") as journal:  # ACTIVE_CRITIC_JOURNAL, set for all tests
        assert len(journal) == 1


def test_the_environment_may_say_that_none_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ACTIVE_CRITIC_JOURNAL", "none")
    monkeypatch.setattr("active_critic.evaluators.opened.open_lm", lambda _: judging(int))
    for given in (judging(int), "opened here"):
        with from_protocol(PROGRAM, given) as evaluator:
            assert evaluator.score("7").score == 7
    assert not list(tmp_path.iterdir())


def test_a_program_names_the_versions_that_its_numbers_depend_on() -> None:
    data = [Example("word " * (3 + i), f"Source {i}", score=float(1 + i % 5)) for i in range(6)]
    made = Surface(journal=None).fit(data, scale="1..5").fitted.provenance.versions
    assert {"active-critic", "numpy", "scipy", "zlib"} <= made.keys()
    assert (made["numpy"], made["zlib"]) == (np.__version__, zlib.ZLIB_RUNTIME_VERSION)


# --- what may be scored ----------------------------------------------------------------------------------------------


@pytest.fixture
def floor() -> Surface:
    made = [{"response": "word " * (i % 5 + 1), "source": f"s{i}", "score": 1 + i % 5} for i in range(20)]
    return Surface(journal=None).fit(made, scale=(1, 5))


def test_mappings_a_file_and_a_frame_are_scored_as_examples_are(floor: Surface, tmp_path: Path) -> None:
    made = [{"input": "s", "output": f"Text {'word ' * i}"} for i in range(3)]
    path = tmp_path / "i.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in made))
    pd = pytest.importorskip("pandas")
    expected = [v.score for v in floor.score_many([Example(row["output"], row["input"]) for row in made])]
    for items in (made, iter(made), path, str(path), pd.DataFrame(made)):
        assert [v.score for v in floor.score_many(items)] == expected
    assert list(floor.score_many([])) == []


def test_what_is_no_text_is_a_clear_error(floor: Surface) -> None:
    with pytest.raises(DataError, match="the response is a text, not NoneType"):
        floor.score(None)  # type: ignore[arg-type]
    with pytest.raises(DataError, match="the source is a text, not int"):
        floor.score("a", 5)  # type: ignore[arg-type]
    for odd in (0, [], False):
        with pytest.raises(DataError, match="the reference is a text, not "):
            floor.score("a", "b", reference=odd)  # type: ignore[arg-type]


def test_examples_made_by_hand_may_say_none_for_a_source(floor: Surface) -> None:
    given = [Example("one two three", "why?"), Example("one two three", None), Example(None, "why?")]  # type: ignore[arg-type]
    plain, without, empty = floor.score_many(given)
    assert (plain.score, without.score) == (
        floor.score(given[0].response, "why?").score,
        floor.score("one two three").score,
    )
    assert empty.score is None
    assert "the text to be judged is empty" in (empty.unscored or "")


def test_only_examples_are_split() -> None:
    with pytest.raises(DataError, match="not list"):
        split([Example("a", score=1)], 0.5, 0)  # type: ignore[arg-type]


@pytest.mark.parametrize("seed", [None, "a", -1, 1.5, True])
def test_a_split_takes_the_seeds_that_a_fit_takes(seed: Any) -> None:
    data = read_examples([{"response": f"t {i}", "score": i % 5} for i in range(9)], scale="0..4")
    with pytest.raises(DataError, match="seed must be a whole number of at least 0, not "):
        split(data, 0.5, seed)
    assert split(data, 0.5, np.int64(3)) == split(data, 0.5, 3)
