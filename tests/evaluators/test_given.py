"""What may be given to be scored, and what is refused before anything is asked."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import dspy
import pytest

import active_critic
from active_critic.data import for_aspect, read_examples
from active_critic.errors import ActiveCriticWarning, DataError
from active_critic.evaluators import ICE, Surface, ZeroShot
from active_critic.evaluators.given import examples_of, items_of
from active_critic.lm import Turn, scripted_lm
from active_critic.records import Example

ROWS: list[dict[str, Any]] = [
    {"question": f"s{i}", "answer": "word " * (i % 5 + 1), "rating": 1 + i % 5} for i in range(20)
]


@pytest.fixture(scope="module")
def floor() -> Surface:
    return Surface(journal=None).fit(read_examples(ROWS, scale="1..5"))


def frame() -> Any:
    return pytest.importorskip("pandas").DataFrame(ROWS)


def parts() -> Any:
    datasets = pytest.importorskip("datasets")
    whole = datasets.Dataset.from_list(ROWS)
    return datasets.DatasetDict({"train": whole, "test": whole})


REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "texts": (
        lambda: ["a text", "another"],
        r"not str; write \[\{\"response\": text\} for text in texts\], or score\(",
    ),
    "an iterator of texts": (lambda: iter(["a text"]), "an item is a mapping or an Example, not str"),
    "a column": (lambda: frame()["answer"], "an item is a mapping or an Example, not str"),
    "a column of pyarrow": (lambda: pytest.importorskip("pyarrow").array(["a text"]), "not pyarrow.StringScalar"),
    "one mapping": (lambda: ROWS[0], "a mapping is not a list of examples; pick one of its parts: 'question'"),
    "one example": (lambda: Example("a text"), "a Dataset or a list of mappings, not from Example"),
    "parts of a set": (parts, "pick one of its parts: 'train', 'test'"),
    "a number": (lambda: 5, "not from int"),
    "what another package has": (lambda: [Decimal(5)], "an Example, not decimal.Decimal"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_holds_no_items_is_refused(floor: Surface, what: str) -> None:
    given, said = REFUSED[what]
    with pytest.raises(DataError, match=said):
        list(floor.score_many(given()))


def test_a_dataset_is_scored_as_its_rows_are(floor: Surface) -> None:
    expected = [verdict.score for verdict in floor.score_many(ROWS)]
    for given in (parts()["test"], parts()["test"].to_iterable_dataset()):
        assert [verdict.score for verdict in floor.score_many(given)] == expected


class Polars:
    """As a DataFrame of polars gives its rows."""

    def iter_rows(self, *, named: bool) -> Any:
        assert named
        return iter(ROWS)


class Lazy:
    """As a LazyFrame of polars is read."""

    def collect_schema(self) -> Any:
        raise AssertionError

    def collect(self) -> Polars:
        return Polars()


TABLES: dict[str, Callable[[], Any]] = {
    "as polars": Polars,
    "as polars, lazily": Lazy,
    "polars": lambda: pytest.importorskip("polars").DataFrame(ROWS),
    "polars, lazily": lambda: pytest.importorskip("polars").LazyFrame(ROWS),
    "pyarrow": lambda: pytest.importorskip("pyarrow").Table.from_pylist(ROWS),
    "a batch of pyarrow": lambda: pytest.importorskip("pyarrow").RecordBatch.from_pylist(ROWS),
    "examples of DSPy": lambda: [dspy.Example(**row).with_inputs("question") for row in ROWS],
    "predictions of DSPy": lambda: (dspy.Prediction(**row) for row in ROWS),
}


@pytest.mark.parametrize("kind", TABLES)
def test_tables_and_records_of_other_packages_are_read_as_rows(floor: Surface, kind: str) -> None:
    make = TABLES[kind]
    assert Surface().fit(make(), scale="1..5").fitted.floor().to_dict() == floor.fitted.floor().to_dict()
    expected = [verdict.score for verdict in floor.score_many(ROWS)]
    assert [verdict.score for verdict in floor.score_many(make())] == expected


def test_fields_are_of_columns_and_not_of_examples(floor: Surface) -> None:
    fields = {"response": "question", "source": "answer"}
    swapped = [Example(row["question"], row["answer"]) for row in ROWS]
    assert [v.score for v in floor.score_many(ROWS, fields=fields)] == [v.score for v in floor.score_many(swapped)]
    for given in (swapped, read_examples(ROWS, scale="1..5"), iter(swapped)):
        with pytest.raises(DataError, match="examples have none; leave fields out"):
            next(floor.score_many(given, fields=fields))


def test_what_is_no_item_among_items_is_unscored(floor: Surface) -> None:
    for odd in ("a text", None):
        first, second, third = floor.score_many([Example("one", "s"), odd, Example("two", "s")])
        assert first.score is not None
        assert third.score is not None
        assert (second.score, "a mapping or an Example" in (second.unscored or "")) == (None, True)


def test_a_reference_that_is_none_is_none_and_one_that_is_no_text_costs_its_item_alone() -> None:
    data = [Example("word " * (i % 5 + 1), f"s{i}", 1.0 + i % 5, reference="a word") for i in range(10)]
    asked = Counter[str]()

    def answer(turns: list[Turn]) -> str:
        asked[turns[-1][1]] += 1
        return '{"rating": 3}'

    ice = ICE(scripted_lm(answer), inputs={"overall": "reference"}, journal=None)
    for evaluator in (Surface(), ice):
        evaluator.fit(data, scale="1..5")
        given: list[Any] = [float("nan"), None, "a word", ["a word"], {"a": 1}]
        verdicts = list(evaluator.score_many([Example("a word", "s", reference=each) for each in given]))
        assert [verdict.score is not None for verdict in verdicts] == [True, True, True, False, False]
        assert verdicts[0].to_dict() == verdicts[1].to_dict()
        assert "expected a text, not list" in (verdicts[3].unscored or "")
    assert not any("nan" in prompt for prompt in asked)


ASPECTS: dict[str, tuple[Any, str | None]] = {
    "not a number": (float("nan"), None),
    "nothing": (None, None),
    "a number in words of JSON": ("3", None),
    "a word": (
        "good",
        r"row 4, column 'aspects': the aspect 'fluency': the score 'good' is not a number; write a number",
    ),
    "infinite": (float("inf"), "row 4, .*'fluency': the score is not a finite number; correct it or drop the row"),
    "a truth": (True, "row 4, .*the score 'True' is not a number; write 1 for yes"),
}


@pytest.mark.parametrize("what", ASPECTS)
def test_aspects_of_examples_made_by_hand_are_numbers_or_are_said_before_anything_is_asked(what: str) -> None:
    odd, said = ASPECTS[what]
    data = [
        Example("word " * (i % 5 + 1) + str(i), f"s{i}", 1.0 + i % 5, aspects={"fluency": odd if i == 3 else 1 + i % 3})
        for i in range(12)
    ]
    lm = scripted_lm(lambda turns: '{"rating": 3}')
    evaluator = ICE(lm, aspects=["fluency"], journal=None)
    if said is None:
        assert evaluator.fit(data, scale="1..5").score("a word", "s").score is not None
    else:
        with pytest.raises(DataError, match=said):
            evaluator.fit(data, scale="1..5")
        assert lm.usage.calls == 0
        assert [verdict.score is None for verdict in Surface().fit(ROWS, scale="1..5").score_many(data)] == [False] * 12


def test_examples_may_say_that_they_have_no_aspects() -> None:
    data: list[Any] = [Example(f"{'word ' * i}.", f"s{i}", 1.0 + i % 5, aspects=None) for i in range(8)]  # type: ignore[arg-type]
    assert Surface().fit(data, scale="1..5").score("a word").score is not None
    with pytest.raises(DataError, match=r"row 1, .*aspects are scores by name"):
        read_examples([Example("a", score=1.0, aspects=[3])])  # type: ignore[arg-type]


# --- what is guessed is said ------------------------------------------------------------------------------------------

GUESSED = [{**row, "label": 3 - row["rating"] % 3} for row in ROWS]
SCALE = "scale 1..5 inferred from the scores; pass --scale LOW..HIGH if that is wrong"
COLUMN = "the score is read from 'rating'; --fields score=NAME for 'label'"
QUICK: dict[str, Any] = {"resamples": 10, "journal": None}
READING: dict[str, tuple[Callable[..., Any], set[str]]] = {
    "fit": (lambda rows, **how: Surface(journal=None).fit(rows, **how), {SCALE, COLUMN}),
    "fit on nothing but a scale": (
        lambda rows, **how: ZeroShot(scripted_lm(lambda _: ""), journal=None).fit(rows, **how),
        {SCALE, COLUMN},
    ),
    "compare": (lambda rows, **how: active_critic.compare(rows, ["surface"], **QUICK, **how), {SCALE, COLUMN}),
    "curve": (
        lambda rows, **how: active_critic.curve(rows, "surface", sizes=[5], repeats=1, **QUICK, **how),
        {SCALE, COLUMN},
    ),
}


@pytest.mark.parametrize("verb", READING)
def test_what_is_guessed_of_labels_is_a_warning_where_it_was_asked_for(verb: str) -> None:
    run, expected = READING[verb]
    with pytest.warns(ActiveCriticWarning) as told:
        run(GUESSED)
    assert {str(warning.message) for warning in told} == expected
    assert {warning.filename for warning in told} == {__file__}
    # Nothing is guessed where it is given, nor said again where it was read before: warnings are errors here.
    run(GUESSED, scale="1..5", fields={"score": "rating"})
    run(read_examples(GUESSED))


def test_the_shorthand_says_it_where_it_was_asked_for() -> None:
    few = [{"response": row["answer"], "score": row["rating"]} for row in ROWS[:3]]
    with pytest.warns(ActiveCriticWarning, match="inferred") as told, pytest.raises(DataError, match="at least 5"):
        active_critic.fit(few, lm=scripted_lm(lambda _: ""), journal=None)
    assert [warning.filename for warning in told] == [__file__]


def test_what_is_guessed_of_a_pool_is_a_warning(floor: Surface) -> None:
    pool = [{"prompt": f"s{i}", "article": "more", "answer": "word " * i} for i in range(1, 9)]
    known = [{"prompt": "a s", "answer": "other words", "rating": 3, "label": 1}]
    with pytest.warns(ActiveCriticWarning) as told:
        active_critic.suggest(floor, pool, 2, labelled=known)
    assert [str(warning.message) for warning in told] == [
        "the source is read from 'prompt'; --fields source=NAME for 'article', or source=prompt+article for both"
    ]
    assert {warning.filename for warning in told} == {__file__}
    active_critic.suggest(floor, read_examples(pool, scored=False), 2, labelled=known)


def test_which_notes_are_warnings_depends_on_what_is_done() -> None:
    also = {"prompt": "p", "model": "m", "system": "n", "uid": 7, "scale": "from 1 to 5"}
    rows = [{**row, **also, "id": i, "rating": row["rating"] if i < 18 else ""} for i, row in enumerate(ROWS)]
    rows[0]["rating"] = 44
    made = [Example(row["answer"], row["question"], row["rating"]) for row in ROWS]
    both = "or source=prompt+question for both"
    source = f"the source is read from 'prompt'; --fields source=NAME for 'question', {both}"
    with pytest.warns(ActiveCriticWarning) as told:
        surface = Surface(journal=None).fit(rows)
    assert sorted(str(warning.message) for warning in told) == [
        "no score in 2 of 20 rows (column 'rating', rows 19 and 20): left out, and only the others count (18)",
        "only row 1 (44) lies outside 1..5: correct it if it is a slip",
        "scale 0..100 inferred from the scores; pass --scale LOW..HIGH if that is wrong",
        source,
        "the system is read from 'system'; --fields system=NAME for 'model'",
    ]
    others = [note for note in surface.fitted.provenance.notes if note not in {str(one.message) for one in told}]
    assert "the id is read from 'id'; --fields id=NAME for 'uid'" in others
    with pytest.warns(ActiveCriticWarning) as told:
        assert len(list(surface.fit(made, scale="1..5").score_many(rows))) == 20
    assert [str(warning.message) for warning in told] == [source]


TALK = [{"role": "user", "content": "a question of words"}, {"role": "assistant", "content": "an answer of words"}]
SEEN: dict[str, tuple[dict[str, Any], dict[str, str], str, bool]] = {
    "whole conversations": ({"response": TALK}, {}, "the response is read from 'response', which holds whole", True),
    "a turn of the user": (
        {"messages": TALK},
        {"response": "messages.0.content"},
        "the response is read from 'messages.0.content', whose role is 'user'",
        True,
    ),
    "an odd name of the source": (
        {"response": "r", "given": "a text of words"},
        {},
        "no column is recognised as the source; --fields source=NAME for 'given'",
        True,
    ),
    "the score of a program": (
        {"response": "r", "score": 2, "unscored": None, "read_from": "text"},
        {},
        "the column 'score' stands beside those of a program's verdicts",
        False,
    ),
}


@pytest.mark.parametrize("what", SEEN)
def test_what_may_be_taken_for_something_else_is_a_warning(what: str) -> None:
    row, fields, said, of_items = SEEN[what]
    rows = [{**row, "rating": 1 + i % 5} for i in range(8)]
    with pytest.warns(ActiveCriticWarning) as told:
        examples_of(rows, fields=fields, scale="1..5")
    assert [str(warning.message).startswith(said) for warning in told] == [True]
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        assert any(note.startswith(said) for note in items_of(rows, fields).notes)  # type: ignore[attr-defined]
    assert [str(warning.message).startswith(said) for warning in heard] == [True] * of_items


def test_a_scale_that_was_inferred_is_in_the_program_whoever_read_the_labels() -> None:
    read = read_examples(GUESSED)
    once, again = Surface(journal=None).fit(read), Surface(journal=None).fit(read_examples(read))
    for surface in (once, again):
        assert surface.fitted.provenance.notes.count(SCALE) == 1
    assert SCALE not in Surface(journal=None).fit(read, scale="1..10").fitted.provenance.notes


def test_the_inferred_scale_of_the_whole_is_none_of_an_aspect() -> None:
    rows = [{**row, "scores": {"tone": row["rating"] * 10}} for row in ROWS]
    tone = for_aspect(read_examples(rows), "tone")
    surface = Surface(journal=None).fit(tone)
    scales = [note for note in surface.fitted.provenance.notes if note.startswith(("scale", "the scale"))]
    assert scales == ["the scale of the aspect 'tone' is taken to be 0..100"]
