from __future__ import annotations

import random
from dataclasses import replace

import pytest
from curved import labelled
from hypothesis import given, settings
from hypothesis import strategies as st

from active_critic.data import read_examples
from active_critic.data.examples import group_of
from active_critic.meta_evaluation.nested import SPREAD, growing


@settings(max_examples=30)
@given(sizes=st.lists(st.integers(1, 9), min_size=1, max_size=12), seed=st.integers(0, 99))
def test_every_example_comes_once_and_documents_are_whole_after_the_first(sizes, seed) -> None:
    rows = [
        {"response": f"r{number} {i}", "doc_id": f"d{number}", "score": 1 + (number * 7 + i * 3) % 5}
        for number, size in enumerate(sizes)
        for i in range(size)
    ]
    rows += [{"response": "x", "doc_id": "x", "score": 1}, {"response": "y", "doc_id": "x", "score": 5}]
    data = read_examples(rows, scale="1..5")
    order = growing(data, range(len(data)), seed)
    assert sorted(order) == list(range(len(data)))
    documents = [group_of(data[i]) for i in order]
    begun = list(dict.fromkeys(documents))
    assert documents[: len(begun[:SPREAD])] == begun[:SPREAD]
    rest = [name for name in documents if name not in begun[:SPREAD]]
    assert rest == [name for name in begun[SPREAD:] for _ in range(documents.count(name))]


@pytest.mark.parametrize("of", [1, 6])
@pytest.mark.parametrize("seed", range(4))
def test_small_sets_span_the_scores(seed, of) -> None:
    data = labelled(90, of)
    order = growing(data, range(90), seed)
    for size in (5, 10, 20):
        found = [data[i].score for i in order[:size]]
        assert min(found) < 2.5
        assert max(found) > 3.5
        assert 2.3 < sum(found) / size < 3.7


def test_the_order_is_of_the_seed_and_not_of_the_rows() -> None:
    data = labelled()
    shuffled = list(range(len(data)))
    random.Random(3).shuffle(shuffled)
    other = replace(data, items=tuple(data[i] for i in shuffled))
    one = [data[i].id for i in growing(data, range(60), 1)]
    assert one == [other[i].id for i in growing(other, range(60), 1)]
    assert one != [data[i].id for i in growing(data, range(60), 2)]


def test_only_the_pool_is_drawn_from() -> None:
    assert sorted(growing(labelled(), [3, 50, 7, 22], 0)) == [3, 7, 22, 50]
    assert growing(labelled(), [], 0) == []
