"""The race among sets of demonstrations: what a lost reply costs, and what the seed decides."""

from __future__ import annotations

import pytest
from test_demo_search import Model, compiled, examples, good_with, name_of, noise, planted, student

from active_critic import stats
from active_critic.demo_search import FIRST_RUNG, DemoSearch, Search
from active_critic.records import Example


def test_one_unreadable_reply_among_the_first_few_does_not_cost_a_candidate_the_race() -> None:
    data = examples(40)
    name = planted(data, demos=3)
    good = good_with(name, data)
    order = Search(student(Model(good), data), data, data, DemoSearch(demos=3)).order
    lost = next(name_of(data[i].response) for i in order[:FIRST_RUNG] if name_of(data[i].response) != name)

    def judge(item: str, shown: list[str]) -> float | None:
        return None if name in shown and item == lost else good(item, shown)

    found, _ = compiled(judge, data, demos=3)
    best = found.candidate_programs[0]
    assert name in [name_of(demo.response) for demo in best.demos]
    assert (best.scored, best.asked) == (39, 40)


def test_the_seed_decides_the_order_of_equals_and_the_bootstrap_of_the_race(monkeypatch: pytest.MonkeyPatch) -> None:
    equals = [Example(f"item {i:02}", f"source {i}", float(i % 3)) for i in range(24)]
    model = Model(lambda item, shown: 50.0)
    orders = [Search(student(model, equals), equals, equals, DemoSearch(candidates=1, seed=s)).order for s in (0, 1)]
    assert orders[0] != orders[1]
    seeds: set[int] = set()
    plain = stats.chance_ahead
    monkeypatch.setattr(stats, "chance_ahead", lambda *a, seed: seeds.add(seed) or plain(*a, seed=seed))
    compiled(lambda item, shown: noise(item + "".join(shown)), examples(20), demos=3, seed=7)
    assert seeds == {7}
