"""Sets of examples: identity, checks before a fit, splits and folds that keep documents whole."""

import itertools
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from active_critic.data import Examples, check_examples, data_sha256, example_key, folds, group_of, read_examples, split
from active_critic.data.examples import by_content, same_texts, text_key
from active_critic.errors import DataError
from active_critic.records import Example, Scale


def made(sizes: list[int]) -> Examples:
    """As many documents as there are sizes, of these sizes."""
    return Examples(
        tuple(
            Example(f"response {i}", f"source {g}", float(i % 5), group=f"d{g}", row=10 * g + i + 1)
            for g, size in enumerate(sizes)
            for i in range(size)
        )
    )


def ex(response: str, score: float | None, **others: Any) -> Example:
    return Example(response=response, score=score, **others)


SIZES = st.lists(st.integers(1, 6), min_size=2, max_size=12)


def test_a_notebook_shows_a_line_of_many_texts() -> None:
    assert repr(made([2, 3])) == "<Examples: 5 texts of 2 documents, 5 scored, scale not known>"
    some = Examples((ex("a", None),), scale=Scale(low=1, high=5), path="new.csv")
    assert repr(some) == "<Examples: 1 text of 1 document, 0 scored, scale 1..5, from new.csv>"


def test_the_key_depends_on_the_texts_and_on_nothing_else() -> None:
    assert example_key(Example("b", "a", 1.0, id="x", row=3)) == example_key(Example("b", "a", 5.0, group="g"))
    assert len({example_key(e) for e in (Example("b", "a"), Example("a", "b"), Example("ab"), Example("", "ab"))}) == 4
    assert len(example_key(Example("lone \ud83d"))) == 16


def test_texts_are_the_same_whatever_their_line_ends_and_blanks() -> None:
    one = Example("He came.\r\nHe  saw.", "Who was it?\r\n")
    other = Example("He came.\nHe saw. ", "Who was it?")
    assert text_key(one) == text_key(other) != text_key(Example("He came. He saw it.", "Who was it?"))
    assert text_key(one) != text_key(Example(one.response, "Who is it?"))
    assert same_texts(one, other.source, other.response)
    assert not same_texts(one, other.source, "He came. He saw it.")
    assert not same_texts(one, "Who is it?", other.response)
    assert same_texts(Example(one.response), "Who is it?", other.response)  # judged without its source
    assert same_texts(one, "", other.response)  # fitted on without one


def test_the_data_hash_ignores_order_but_not_scores_or_repetition() -> None:
    examples = made([2, 3])
    assert data_sha256(examples) == data_sha256(examples[::-1])
    assert len(data_sha256(examples)) == 64
    changed = [*examples[:-1], ex(examples[-1].response, 4.5, source=examples[-1].source)]
    assert len({data_sha256(e) for e in (examples, examples[:-1], changed, [*examples, examples[0]])}) == 4


def test_the_document_is_the_group_else_the_source_else_the_text_itself() -> None:
    assert group_of(Example("r", "s", group="g")) == "g"
    assert group_of(Example("r1", "s")) == group_of(Example("r2", "s")) != group_of(Example("r1", "t"))
    assert group_of(Example("r1", " ")) == group_of(Example("r1")) != group_of(Example("r2"))


def test_rows_that_differ_in_aspects_alone_have_an_order_of_their_own() -> None:
    rows = tuple(Example("the same", "source", 3.0, aspects={"tone": float(i)}) for i in range(6))
    straight, turned = (by_content(Examples(items)) for items in (rows, rows[::-1]))
    assert straight.items == turned.items


@given(SIZES, st.floats(0.01, 0.99), st.integers(0, 3), st.randoms(use_true_random=False))
def test_a_split_is_whole_nearest_and_independent_of_row_order(
    sizes: list[int], train: float, seed: int, rng: random.Random
) -> None:
    examples = made(sizes)
    first, second = split(examples, train, seed)
    assert sorted(map(id, [*first, *second])) == sorted(map(id, examples))
    assert not {group_of(e) for e in first} & {group_of(e) for e in second}
    assert [e.row for e in first] == sorted(e.row for e in first)
    sums = {sum(c) for n in range(1, len(sizes)) for c in itertools.combinations(sizes, n)}
    target = train * len(examples)
    assert abs(len(first) - target) == min(abs(s - target) for s in sums)
    shuffled = list(examples)
    rng.shuffle(shuffled)
    assert set(map(id, split(Examples(tuple(shuffled)), train, seed)[0])) == set(map(id, first))


def test_a_split_of_many_documents_hits_the_fraction_and_changes_with_the_seed() -> None:
    rng = random.Random(1)
    examples = made([rng.randint(1, 9) for _ in range(400)])
    parts = [split(examples, 0.25, seed)[0] for seed in range(5)]
    assert {len(part) for part in parts} == {round(0.25 * len(examples))}
    assert len({frozenset(map(group_of, part)) for part in parts}) == 5


def test_every_document_is_as_likely_to_be_drawn() -> None:
    examples = made([2] * 8)
    drawn = [group for seed in range(400) for group in {group_of(e) for e in split(examples, 0.25, seed)[0]}]
    assert all(60 <= drawn.count(f"d{g}") <= 140 for g in range(8))  # 100 expected, sd 8.7


@pytest.mark.parametrize("train", [0.0, 1.0, -0.5, 25, float("nan")])
def test_a_fraction_outside_0_and_1_is_refused(train: float) -> None:
    with pytest.raises(DataError, match="fraction between 0 and 1"):
        split(made([2, 2]), train, 0)


def test_one_document_cannot_be_split() -> None:
    with pytest.raises(DataError, match="one document"):
        split(made([9]), 0.5, 0)


@given(SIZES, st.integers(2, 8), st.integers(0, 3), st.randoms(use_true_random=False))
def test_folds_are_whole_balanced_and_independent_of_row_order(
    sizes: list[int], k: int, seed: int, rng: random.Random
) -> None:
    examples = made(sizes)
    parts = folds(examples, k, seed)
    assert len(parts) == min(k, len(sizes))
    assert sorted(itertools.chain(*parts)) == list(range(len(examples)))
    groups = [{group_of(examples[i]) for i in part} for part in parts]
    assert sum(map(len, groups)) == len(sizes)
    assert max(map(len, parts)) - min(map(len, parts)) <= max(sizes)
    order = list(range(len(examples)))
    rng.shuffle(order)
    again = folds(examples.take(order), k, seed)
    assert [{order[i] for i in part} for part in again] == [set(part) for part in parts]


def test_folds_change_with_the_seed_and_refuse_less_than_two() -> None:
    examples = made([1] * 20)
    assert folds(examples, 5, 0) == folds(examples, 5, 0) != folds(examples, 5, 1)
    with pytest.raises(DataError, match="at least 2 folds"):
        folds(examples, 1, 0)


def test_taking_keeps_what_is_known_about_the_set() -> None:
    examples = Examples(made([3]).items, notes=("n",), path="p")
    assert examples.take([2, 0]).items == (examples[2], examples[0])
    assert (examples[1:].notes, examples[1:].path, len(examples[1:])) == (("n",), "p", 2)


@pytest.mark.parametrize(
    ("examples", "says"),
    [
        ([ex(f"r{i}", float(i)) for i in range(4)], "at least 5 scored examples, not 4"),
        ([], "not 0"),
        ([ex("same", float(i)) for i in range(5)], "all 5 rows hold the same text"),
        ([ex(f"r{i}", 3.0) for i in range(6)], "all 6 scores are 3"),
        ([ex(f"r{i}", 0.1 + 0.2 if i % 2 else 0.3) for i in range(6)], "all 6 scores are 0.3"),
        ([ex(f"r{i}", 0.0) for i in range(6)], "all 6 scores are 0"),
        ([ex(f"r{i}", None if i in (1, 3) else 2.0) for i in range(6)], "rows 2 and 4: no score"),
    ],
)
def test_what_no_fit_can_learn_from_is_refused(examples: list[Example], says: str) -> None:
    with pytest.raises(DataError, match=says):
        check_examples(examples)


def test_repeated_rows_and_a_single_document_are_warned_of() -> None:
    examples = [ex(f"r{i}", float(i), group="g", row=i + 1) for i in range(5)]
    repeated = [ex("r0", 4.0, group="g", row=6), ex("r1", 1.0, group="g", row=9), ex("r1", 1.0, group="g", row=10)]
    first, second = check_examples(examples + repeated)
    assert "rows 1 and 6 with different scores (0, 4); rows 2, 9 and 10" in first
    assert first.count("different") == 1
    assert "one document" in second


def test_a_part_has_the_notes_on_its_own_rows_and_the_others_as_they_are() -> None:
    rows = [{"response": f"r {i}", "source": f"s{i}", "score": 1 + i % 5, "group": f"g{i}"} for i in range(12)]
    rows[3] = {**rows[2], "score": 5}  # twice the same
    rows[7] = {**rows[7], "source": "s6"}  # one source in two documents
    rows[10] = {**rows[10], "source": ""}
    whole = read_examples(rows, scale="1..5")
    named = ("the same source and response", "in more than one document", "no source in")
    others = [note for note in whole.notes if not any(words in note for words in named)]

    def told(part: Examples) -> list[str]:
        assert [note for note in part.notes if not any(words in note for words in named)] == others
        return [words for words in named if any(words in note for note in part.notes)]

    assert told(whole) == told(whole[:]) == told(by_content(whole)) == list(named)
    assert whole.take(range(12)).notes == whole.notes
    assert told(whole[:4]) == ["the same source and response"]
    assert told(whole.take([5, 6, 7])) == ["in more than one document"]
    assert told(whole.take([9, 10])) == ["no source in"]
    assert any(note.startswith("no source in row 11, where") for note in whole.take([9, 10]).notes)
    for seed in range(5):
        for part in split(whole, 0.5, seed):
            there = {example.row for example in part}
            assert ("the same source and response" in told(part)) == ({3, 4} <= there)


def test_sound_examples_pass_without_a_word() -> None:
    assert check_examples(made([2, 2, 2])) == ()
