"""How readings are combined on a part of the examples: which of them count, and what is learnt from them."""

from __future__ import annotations

from test_readings import SCALE, searched

from active_critic.evaluators._readings import Combiner
from active_critic.records import Example


def test_an_example_that_lacks_only_a_reading_that_is_left_out_counts() -> None:
    search, _ = searched()
    against: list[float | None] = [-score for score in search.human]
    against[3] = None
    combiner = Combiner(("rating", "likelihood", "surface"), search, SCALE, further={"likelihood": against})
    found, _ = combiner.fit(0, range(40))
    assert "likelihood" not in found.shares
    assert found.n == 40


def test_what_counts_as_a_copy_is_learnt_from_the_examples_fitted_on_alone() -> None:
    search, _ = searched()
    source = "so many words that all come again"
    search.examples[39] = Example(source, source, search.examples[39].score)
    combiner = Combiner(("rating", "likelihood"), search, SCALE, frozenset({"likelihood"}))
    combiner.further["likelihood"] = [-float(i % 7) for i in range(40)]
    assert combiner.fit(0, range(39))[0].copied == 0.5
    assert combiner.fit(0, range(40))[0].copied == 1.0
