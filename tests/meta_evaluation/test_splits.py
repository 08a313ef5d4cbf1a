from __future__ import annotations

import re

import pytest

from active_critic.data import read_examples
from active_critic.data.examples import group_of
from active_critic.errors import DataError, FitError
from active_critic.meta_evaluation.splits import check_training, plan


def data(count=24, documents=8, **more):
    rows = [
        {"response": f"text {i}", "source": f"s{i % documents}", "doc_id": f"d{i % documents}", "score": 1 + i % 5}
        for i in range(count)
    ]
    return read_examples([{**row, **more} for row in rows], scale="1..5")


def places(splits):
    return [(split.train, split.test) for split in splits]


def test_folds_test_every_example_once_a_repeat_and_part_no_document() -> None:
    examples = data()
    splits, notes = plan(examples, folds=3, repeats=2)
    assert [(split.repeat, split.fold) for split in splits] == [(r, f) for r in range(2) for f in range(3)]
    for repeat in range(2):
        tested = [i for split in splits if split.repeat == repeat for i in split.test]
        assert sorted(tested) == list(range(24))
    for split in splits:
        assert sorted(split.train + split.test) == list(range(24))
        sides = ({group_of(examples[i]) for i in side} for side in (split.train, split.test))
        assert set.isdisjoint(*sides)
    assert places(splits[:3]) != places(splits[3:])
    assert any("smallest test part has 6 examples" in note for note in notes)


def test_a_repeat_is_the_next_seed() -> None:
    splits, _ = plan(data(), train=0.5, repeats=2, seed=3)
    assert [split.fold for split in splits] == [None, None]
    assert places(splits[1:]) == places(plan(data(), train=0.5, seed=4)[0])
    assert len(splits[0].train) == len(splits[0].test) == 12


def test_four_folds_unless_told_otherwise() -> None:
    assert len(plan(data())[0]) == 4


def test_fewer_documents_than_folds_make_fewer_folds_and_that_is_said() -> None:
    splits, notes = plan(data(documents=3), folds=5)
    assert len(splits) == 3
    assert "there are only 3 documents, so there are 3 folds, not 5" in notes


@pytest.mark.parametrize(
    ("examples", "arguments", "said"),
    [
        (data(documents=1), {}, "one document"),
        (data(score=3), {}, "all 24 scores are 3"),
        (data(documents=24), {"level": "document"}, "every example is a document of its own"),
        (data(), {"level": "system"}, "row 1: no system is named"),
        (data(system="gpt"), {"level": "system"}, "the only system is 'gpt'"),
        (data(), {"train": 1.5}, "between 0 and 1"),
        (data(), {"train": "0.5"}, "between 0 and 1, not '0.5'"),
    ],
)
def test_what_cannot_be_compared_is_said(examples, arguments, said) -> None:
    with pytest.raises(DataError, match=said):
        plan(examples, **arguments)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"folds": 2, "train": 0.5}, "not both"),
        ({"repeats": 0}, "repeats"),
        ({"level": "row"}, "'row'"),
        ({"folds": 1}, "folds must be a whole number of at least 2, not 1"),
        ({"folds": 2.5}, "folds must be a whole number of at least 2, not 2.5"),
        ({"repeats": "3"}, "repeats must be a whole number from 1 to 1,000, not '3'"),
        ({"train": 0.5, "test_documents": 1}, "test_documents must be a whole number of at least 2"),
        ({"folds": 3, "test_documents": 2}, "goes with a part for training"),
    ],
)
def test_arguments_that_cannot_be_are_refused(arguments, said) -> None:
    with pytest.raises(FitError, match=said):
        plan(data(), **arguments)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [({"folds": 4}, "has 6 examples.*use fewer folds"), ({"train": 0.7}, "has 6 examples.*fit on less")],
)
def test_a_small_test_part_is_said_with_what_helps(arguments, said) -> None:
    _, notes = plan(data(), **arguments)
    assert re.search(said, notes[-1]), notes


def test_methods_that_too_small_a_training_part_leaves_unfitted_are_named_beforehand() -> None:
    few = data(count=7, documents=4)  # of 2, 2, 2 and 1
    splits, _ = plan(few, folds=3)
    assert sorted(len(split.train) for split in splits)[0] == 4
    (said,) = check_training(few, splits, ["zero-shot", "ice", "surface"], ["ice", "surface"])
    assert said.startswith("the smallest part for training has 4 of the 5 examples that a fit needs: in ")
    assert said.endswith(" of 3 splits, ice, surface cannot be fitted")
    assert check_training(few, splits, ["zero-shot"], []) == []
    enough = data(count=8, documents=8)
    assert check_training(enough, plan(enough, folds=4)[0], ["ice"], ["ice"]) == []


@pytest.mark.parametrize(
    ("count", "arguments", "said"),
    [
        (4, {}, "a fit needs at least 5 scored examples, not 4"),
        (6, {"train": 0.5}, "3 at most .*needs at least 5; label more, or fit on a larger part$"),
        (6, {"folds": 2}, "of 6 examples, 3 at most .*needs at least 5; label more, or use more folds$"),
        (5, {"folds": 5}, "4 at most .*needs at least 5; label more$"),
    ],
)
def test_where_no_method_could_be_fitted_in_any_split_nothing_is_begun(count, arguments, said) -> None:
    few = data(count=count, documents=count)
    splits, _ = plan(few, **arguments)
    with pytest.raises(DataError, match=said):
        check_training(few, splits, ["ice"], ["ice"])
    where = "the only split" if len(splits) == 1 else f"{len(splits)} of {len(splits)} splits"
    (note,) = check_training(few, splits, ["ice", "zero-shot"], ["ice"])
    assert note.endswith(f": in {where}, ice cannot be fitted")


def test_some_of_the_other_documents_are_drawn_by_the_seed() -> None:
    examples = data()
    ((whole,), _), ((some,), _) = (plan(examples, train=0.5, test_documents=n, seed=1) for n in (None, 2))
    assert some.train == whole.train
    assert set(some.test) < set(whole.test)
    assert len({group_of(examples[i]) for i in some.test}) == 2
    assert len(some.test) == 6
    ((all_of_them,), _) = plan(examples, train=0.5, test_documents=100, seed=1)
    assert all_of_them == whole


def test_a_repeat_draws_its_test_documents_by_the_next_seed_too() -> None:
    how = {"train": 0.25, "test_documents": 2}
    splits, _ = plan(data(documents=12), repeats=4, seed=3, **how)
    assert [places([split]) for split in splits] == [
        places(plan(data(documents=12), seed=seed, **how)[0]) for seed in (3, 4, 5, 6)
    ]
