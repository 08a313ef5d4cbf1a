from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from simulated import simulated_lm

import active_critic
from active_critic.errors import BudgetSpent, DataError, FitError, RequestRefused
from active_critic.evaluators import ICE, Surface, ZeroShot
from active_critic.lm import scripted_lm
from active_critic.records import Example, Verdict
from active_critic.suggesting import FEATURES, MOST, Places, Pool, Suggestion, farthest, per_document, suggest


def texts(n: int, first: int = 0) -> list[Example]:
    """Texts of documents of three, of different lengths."""
    return [
        Example(f"Reply {i}: " + "word " * (5 * (i % 7)) + "fine. " * (i % 4), f"question {i // 3}", id=f"t{i}")
        for i in range(first, first + n)
    ]


def scored(n: int, first: int = 1000) -> list[Example]:
    return [Example(e.response, e.source, float(1 + i % 5), id=f"s{i}") for i, e in enumerate(texts(n, first))]


@pytest.fixture(scope="module")
def surface() -> Surface:
    return Surface().fit(scored(20), scale="1..5")


def ids(found: Sequence[Suggestion]) -> list[str | None]:
    return [suggestion.example.id for suggestion in found]


# --- the rule -------------------------------------------------------------------------------------------------------


def line(*places: float) -> np.ndarray[Any, Any]:
    return np.array(places, dtype=float)[:, None]


def test_the_farthest_from_what_is_known_comes_first_then_from_that_too() -> None:
    at = line(0.0, 1.0, 4.0, 9.0, 10.0, 0.0)  # the last is known
    assert farthest(at, 5, 4, list("abcde"), 1) == [(4, 5), (2, 5), (1, 5), (3, 4)]


def test_where_nothing_is_known_the_first_is_the_most_average() -> None:
    assert farthest(line(0.0, 4.0, 10.0), 3, 3, list("abc"), 1) == [(1, None), (2, 1), (0, 1)]


def test_no_document_gives_more_than_its_share() -> None:
    at = line(10.0, 9.0, 8.0, 1.0, 0.0)
    assert [index for index, _ in farthest(at, 4, 2, ["a", "a", "a", "b"], 1)] == [0, 3]
    assert per_document(["a", "a", "a", "b"], 2) == 1
    assert per_document(["a", "a", "a", "b"], 3) == 2
    assert per_document(["a", "a", "a", "b"], 4) == 3


@given(
    st.lists(st.tuples(st.floats(-9, 9), st.floats(-9, 9), st.sampled_from("abc")), min_size=1, max_size=12),
    st.lists(st.tuples(st.floats(-9, 9), st.floats(-9, 9)), max_size=3),
    st.data(),
)
def test_every_choice_is_as_far_as_any_that_was_allowed(free: list[Any], known: list[Any], data: st.DataObject) -> None:
    n = data.draw(st.integers(1, len(free)))
    documents = [document for *_, document in free]
    at = np.array([*(place[:2] for place in free), *known], dtype=float).reshape(-1, 2)
    most = per_document(documents, n)
    picks = farthest(at, len(free), n, documents, most)
    assert len({index for index, _ in picks}) == n
    before, taken = list(range(len(free), len(at))), dict.fromkeys("abc", 0)
    for index, nearest in picks:
        distance = np.array([min((np.linalg.norm(p - at[j]) for j in before), default=np.inf) for p in at])
        if nearest is not None:
            assert np.linalg.norm(at[index] - at[nearest]) == distance[index]
        open_ones = [i for i in range(len(free)) if i not in before and taken[documents[i]] < most]
        assert distance[index] >= max(distance[i] for i in open_ones) - 1e-12
        before.append(index)
        taken[documents[index]] += 1
    assert max(taken.values()) <= most


def test_all_figures_of_the_surface_count_as_much_as_one_reading() -> None:
    examples = texts(30)
    verdicts = [Verdict(score=3.0, parts={"rating": i % 5 - 2.0, "likelihood": i % 3 - 1.0}) for i in range(30)]
    places = Places.of(examples, verdicts)
    assert places.names[:2] == ("rating", "likelihood")
    assert set(places.names[2:]) < set(FEATURES)  # those that do not vary are no axes
    spread = (places.at**2).mean(axis=0)
    assert spread[:2] == pytest.approx([1.0, 1.0], abs=0.05)
    assert 0.5 < spread[2:].sum() < 1.1  # odd texts are drawn in
    assert np.abs(places.standard).max() <= 2.0


def test_all_ratings_of_single_criteria_count_as_much_as_one_reading() -> None:
    rng = np.random.default_rng(0)
    names = ("rating", "criterion Tone", "criterion Clarity", "criterion Accuracy")
    drawn = rng.uniform(size=(30, 4)).tolist()
    parts = [dict(zip(names, row, strict=True)) | {"criterion Length": 0.5} for row in drawn]  # one does not vary
    places = Places.of(texts(30), [Verdict(score=3.0, parts=one) for one in parts])
    assert places.names[:4] == names
    spread = (places.at**2).mean(axis=0)
    assert spread[:4] == pytest.approx([1.0, 1 / 3, 1 / 3, 1 / 3], abs=0.05)


def test_a_verdict_without_several_readings_lies_where_its_score_is() -> None:
    examples = texts(4)
    for parts in ({}, {"rating": 0.5}):
        places = Places.of(examples, [Verdict(score=float(i), parts=parts) for i in range(4)])
        assert places.names[0] == "score"
    with_other_parts = [Verdict(score=float(i), parts={"rating": 1.0, f"part{i}": 2.0}) for i in range(4)]
    assert Places.of(examples, with_other_parts).names[0] == "score"


def test_readings_that_differ_are_told_apart_where_surface_and_score_do_not() -> None:
    same = [Example("one and the same text", f"question {i}", id=str(i)) for i in range(6)]
    verdicts = [Verdict(score=3.0, parts={"rating": 0.0, "likelihood": 0.0}) for _ in range(5)]
    verdicts.append(Verdict(score=3.0, parts={"rating": 1.0, "likelihood": -1.0}))
    places = Places.of(same, verdicts)
    assert places.names == ("rating", "likelihood")
    assert farthest(places.at, 6, 2, list("abcdef"), 1)[1][0] == 5


def test_that_a_text_has_no_reference_is_no_place() -> None:
    """What is labelled may come with references, and the pool without: the same reply is where it was."""
    known = [Example(e.response, e.source, reference=f"{e.response} indeed") for e in texts(12)]
    verdicts = [Verdict(score=3.0)] * 24
    places = Places.of([*texts(12), *known], verdicts)
    reference = [place for place, name in enumerate(places.names) if name.startswith("reference")]
    assert reference
    assert np.abs(places.standard[:12, reference]).max() == 0
    plain = Places.of([*texts(12), *texts(12)], verdicts)
    shared = [place for place, name in enumerate(places.names) if name in plain.names]
    assert places.standard[:, shared] == pytest.approx(plain.standard)


# --- scoring and choosing -------------------------------------------------------------------------------------------


def test_a_table_without_rows_is_nothing_labelled_as_an_empty_list_is(surface: Surface) -> None:
    labelled = pd.DataFrame({"response": ["Not scored."], "score": [None]})
    found = suggest(surface, texts(12), 4, labelled=labelled[labelled["score"].notna()])
    assert found == suggest(surface, texts(12), 4, labelled=[])
    with pytest.raises(DataError, match="none of the labelled rows has a score"):
        suggest(surface, texts(12), 4, labelled=labelled)


def test_suggestions_have_a_score_and_a_reason(surface: Surface) -> None:
    pool, labelled = texts(30), scored(10)
    found = active_critic.suggest(surface, pool, 5, labelled=labelled)
    assert len(found) == len(set(ids(found))) == 5
    for suggestion in found:
        assert (
            suggestion.predicted
            == suggestion.verdict.score
            == surface.score(suggestion.example.response, suggestion.example.source).score
        )
        assert suggestion.because.startswith("least like all that is labelled or chosen; against the nearest, the ")
    assert "the labelled text s" in found[0].because
    assert suggest(surface, pool, 1)[0].because.startswith("no labelled text is named, and it is nearest")


@pytest.mark.parametrize(("words", "sign"), [(400, 1), (1, -1)])
def test_the_reason_says_in_which_direction_a_text_is_apart(surface: Surface, words: int, sign: int) -> None:
    odd = Example("word " * words, "question", id="odd")
    labelled = [Example("word " * n, "question", 3.0, id=f"s{n}") for n in (18, 20, 22)]
    (found,) = suggest(surface, [odd, *(Example("word " * n, "question") for n in (19, 21))], 1, labelled=labelled)
    assert found.example.id == "odd"
    assert sign * found.apart["log_words"] > 0
    assert f"log_words {'+' if sign > 0 else '-'}" in found.because


def test_what_is_no_evaluator_is_told() -> None:
    with pytest.raises(FitError, match=r"a fitted evaluator, as load\(\) gives it, not 'program.json'"):
        suggest("program.json", texts(12), 4)  # type: ignore[arg-type]


def test_files_do_as_well(surface: Surface, tmp_path: Path) -> None:
    for name, examples in (("pool", texts(12)), ("labelled", scored(4))):
        rows = [{"id": e.id, "source": e.source, "response": e.response, "score": e.score} for e in examples]
        (tmp_path / f"{name}.json").write_text(json.dumps(rows), encoding="utf-8")
    found = suggest(surface, tmp_path / "pool.json", 4, labelled=str(tmp_path / "labelled.json"))
    assert ids(found) == ids(suggest(surface, texts(12), 4, labelled=scored(4)))
    assert found[0].example.record["id"] == found[0].example.id


def test_neither_the_order_of_rows_nor_chance_decides(surface: Surface) -> None:
    pool, labelled = texts(40), scored(10)
    found = ids(suggest(surface, pool, 8, labelled=labelled, seed=3))
    assert ids(suggest(surface, pool[::-1], 8, labelled=labelled[::-1], seed=3)) == found
    assert ids(suggest(surface, pool, 8, labelled=labelled, seed=3)) == found


def test_what_is_labelled_or_repeated_is_left_out_and_counted(surface: Surface) -> None:
    pool = texts(20)
    labelled = [Example(e.response, e.source, 3.0) for e in pool[:8]]
    unlabelled_row = Example(pool[9].response, pool[9].source)
    again = [Example(e.response, e.source, id="again") for e in pool[10:13]]
    ready = Pool.of([*pool, *again], 12, labelled=[*labelled, unlabelled_row])
    assert (ready.rows, ready.labelled, ready.repeated, ready.not_drawn) == (23, 8, 3, 0)
    found = ready.choose(surface)
    assert sorted(ids(found.chosen), key=lambda name: int(str(name)[1:])) == [f"t{i}" for i in range(8, 20)]
    assert (found.known, found.per_document, found.unscored) == (8, 3, {})


def test_what_a_program_was_fitted_on_is_labelled_and_never_suggested() -> None:
    labels = scored(12, 0)
    critic = ICE(scripted_lm(lambda _: '{"rating": 3}'), journal=None).fit(labels, scale="1..5")
    spaced = [replace(example, response=example.response.replace(" ", "\n"), score=None) for example in labels]
    pool = [*labels, *spaced, *texts(6, 500)]
    assert Pool.of(pool, 3, protocol=critic.fitted).labelled == 24
    assert {s.example.id for s in suggest(critic, pool, 6)} == {f"t{i}" for i in range(500, 506)}


def test_the_demonstrations_of_a_program_that_does_not_say_what_it_was_fitted_on_are_labelled() -> None:
    labels = scored(12, 0)
    critic = ICE(scripted_lm(lambda _: '{"rating": 3}'), journal=None).fit(labels, scale="1..5")
    silent = critic.fitted.model_copy(
        update={"provenance": critic.fitted.provenance.model_copy(update={"fitted_on": ()})}
    )
    assert len(silent.shown) == Pool.of(labels, 3, protocol=silent).labelled == 4


def test_a_large_pool_is_drawn_from_by_the_seed(surface: Surface, monkeypatch: pytest.MonkeyPatch) -> None:
    assert MOST >= 1_000
    monkeypatch.setattr("active_critic.suggesting.MOST", 10)
    first, second = (Pool.of(texts(50), 3, seed=seed) for seed in (0, 1))
    assert first.not_drawn == 40
    assert {e.id for e in first.drawn} != {e.id for e in second.drawn}
    assert [e.id for e in Pool.of(texts(50)[::-1], 3, seed=0).drawn] == [e.id for e in first.drawn]
    with pytest.raises(DataError, match="11 texts are asked for, and 10 of 50 can be suggested: 40 not drawn"):
        Pool.of(texts(50), 11)


def test_unscored_texts_are_counted_by_reason_and_never_chosen() -> None:
    def rate(response: str, turns: list[Any]) -> float:
        if response.startswith(("Reply 1:", "Reply 4:", "Reply 1000:")):
            raise RequestRefused("the endpoint refused the request")
        return 3.0

    judge = ZeroShot(simulated_lm(rate), journal=None).fit(scored(10), scale="1..5")
    found = Pool.of(texts(6), 4, labelled=scored(3)).choose(judge)
    assert sorted(str(name) for name in ids(found.chosen)) == ["t0", "t2", "t3", "t5"]
    assert sum(found.unscored.values()) == 2
    assert found.known == 2
    with pytest.raises(DataError, match=r"5 texts are asked for, and 4 of 6 can be suggested: 2 unscored \(.*refused"):
        suggest(judge, texts(6), 5)


def test_everything_unscored_is_an_error_that_says_why() -> None:
    def rate(response: str, turns: list[Any]) -> float:
        if response.startswith("Reply 10"):
            return 3.0
        raise RequestRefused("the endpoint refused the request")

    judge = ZeroShot(simulated_lm(rate), journal=None).fit(scored(10), scale="1..5")
    with pytest.raises(DataError, match=r"and 0 of 6 can be suggested: 6 unscored \(.*refused"):
        suggest(judge, texts(6, 20), 2, labelled=scored(5))


def test_pool_and_labelled_texts_may_have_columns_of_their_own(surface: Surface) -> None:
    expected = suggest(surface, texts(12), 4, labelled=scored(5))
    pool = [{"asked": e.source, "said": e.response} for e in texts(12)]
    known = [{"q": e.source, "a": e.response, "marks": e.score} for e in scored(5)]
    fields = {"source": "asked", "response": "said"}
    own = {"source": "q", "response": "a", "score": "marks"}
    found = suggest(surface, pool, 4, labelled=known, fields=fields, labelled_fields=own)
    assert [s.example.response for s in found] == [s.example.response for s in expected]
    same = [{"asked": e.source, "said": e.response, "marks": e.score} for e in scored(5)]
    found = suggest(surface, pool, 4, labelled=same, fields={**fields, "score": "marks"})
    assert [s.example.response for s in found] == [s.example.response for s in expected]
    with pytest.raises(DataError, match="fields are a mapping"):
        suggest(surface, pool, 4, fields="response=said")  # type: ignore[arg-type]


def test_numbers_of_numpy_are_numbers(surface: Surface) -> None:
    expected = suggest(surface, texts(5), 2, seed=1)
    assert suggest(surface, texts(5), np.int64(2), seed=np.int64(1)) == expected
    with pytest.raises(FitError, match="seed must be a whole number"):
        suggest(surface, texts(5), 2, seed=1.5)  # type: ignore[arg-type]


def test_what_cannot_be_is_said_before_anything_is_scored(surface: Surface) -> None:
    for n in (0, "2", 2.5):
        with pytest.raises(DataError, match=f"a whole number of at least 1, not {n!r}"):
            suggest(surface, texts(3), n)  # type: ignore[arg-type]
    with pytest.raises(DataError, match="there are no examples"):
        suggest(surface, [], 1)
    with pytest.raises(
        DataError, match="4 texts are asked for, and 2 of 5 can be suggested: 3 labelled already or fitted"
    ):
        suggest(surface, texts(5), 4, labelled=[Example(e.response, e.source, 1.0) for e in texts(3)])
    with pytest.raises(DataError, match="none of the labelled rows has a score"):
        suggest(surface, texts(5), 2, labelled=texts(3))
    rows = [{"response": e.response, "source": e.source, "score": "4 stars"} for e in texts(3)]
    with pytest.raises(DataError, match="4 stars"):
        suggest(surface, texts(5), 2, labelled=[*rows, {"response": "fine", "score": "3"}])


def test_texts_that_nothing_tells_apart_are_said_to_be_so(surface: Surface) -> None:
    same = [Example("one and the same text", f"question {i}", id=str(i)) for i in range(3)]
    found = suggest(surface, same, 3)
    assert found[1].because.startswith("nothing is left that differs")


def test_a_budget_for_suggestions_holds_for_these_alone() -> None:
    lm = simulated_lm()
    judge = ZeroShot(lm, journal=None).fit(scored(10), scale="1..5")
    with pytest.raises(
        BudgetSpent, match=r"4 texts are asked for, and \d of 6 could be scored: the budget of 3 calls is"
    ):
        suggest(judge, texts(6), 4, budget="3 calls")
    assert lm.budget is None
    assert len(suggest(judge, texts(6), 4, budget=["500 calls", "1h"])) == 4
    with pytest.raises(DataError, match="3 is no budget"):
        suggest(judge, texts(6), 4, budget=3)  # type: ignore[arg-type]


def test_texts_that_differ_in_white_space_alone_are_one_text_whatever_the_order_of_rows(surface: Surface) -> None:
    pool = texts(4)
    variants = [replace(pool[0], response=f"  {pool[0].response}\n", id="v"), replace(pool[1], source=" question  0 ")]
    rows = [*pool, *variants]
    found = [Pool.of(given, 4, protocol=surface.fitted) for given in (rows, rows[::-1])]
    assert [ready.repeated for ready in found] == [2, 2]
    assert [e.response for e in found[0].drawn] == [e.response for e in found[1].drawn]
    assert len({" ".join(e.response.split()) for e in found[0].drawn}) == 4
    with pytest.raises(DataError, match="2 repeat the text of another row"):
        suggest(surface, rows, 5)
