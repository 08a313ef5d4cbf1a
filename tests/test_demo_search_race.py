"""The race among sets of demonstrations: what a lost reply costs, and what the seed decides."""

from __future__ import annotations

import pytest
from test_demo_search import Model, compiled, examples, good_with, name_of, noise, planted, student

from active_critic import stats
from active_critic.demo_search import FIRST_RUNG, DemoSearch, Search
from active_critic.errors import BudgetSpent, FitError
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


@pytest.mark.parametrize("rounds", [1, 2])
def test_one_that_is_lost_among_the_first_few_costs_a_search_that_ends_early_nothing(rounds: int) -> None:
    data = examples(40)
    order = Search(student(Model(lambda item, shown: 50.0), data), data, data, DemoSearch(demos=3)).order
    lost = name_of(data[order[0]].response)
    tried: set[str] = set()

    def judge(item: str, shown: list[str]) -> float | None:
        if shown and len(tried | {item}) > FIRST_RUNG * rounds:
            raise BudgetSpent("the budget of 9 calls is spent")
        tried.update([item] if shown else [])
        return None if item == lost else noise(item + "".join(shown))

    search = Search(student(Model(judge), data), data, data, DemoSearch(demos=3))
    winner = search.best_so_far()
    _, scored, asked = search.q(winner, range(40))
    assert asked - scored == 1
    assert search.stopped is not None


def test_a_chance_of_a_quarter_against_the_leader_keeps_a_candidate_in_the_race_and_less_does_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    chances = iter([0.25, 0.24, 0.25, 0.24, 0.25])  # of the rest of the better half of eleven; of those after, none
    monkeypatch.setattr(stats, "chance_ahead", lambda *of, seed: next(chances, 0.0))
    found, _ = compiled(lambda item, shown: noise(item + "".join(shown)), examples(40), demos=3)
    asked = sorted((candidate.asked for candidate in found.candidate_programs), reverse=True)
    assert asked == [40, 16, 16, 16, 8, 8, 8, 8, 8, 8, 8]


@pytest.mark.parametrize(("n", "unread"), [(40, slice(5)), (200, slice(None, None, 2))])
def test_a_search_that_ends_early_accepts_no_leader_that_failed_on_much_of_what_it_was_tried_on(
    n: int, unread: slice
) -> None:
    data = examples(n)
    order = Search(student(Model(lambda item, shown: 50.0), data), data, data, DemoSearch(demos=3)).order
    lost = {name_of(data[i].response) for i in order[unread]}
    tried: set[str] = set()

    def judge(item: str, shown: list[str]) -> float | None:
        if shown and len(tried | {item}) > FIRST_RUNG:
            raise BudgetSpent("the budget of 9 calls is spent")
        tried.update([item] if shown else [])
        return None if item in lost else noise(item + "".join(shown))

    with pytest.raises(FitError, match="no candidate could score 90%"):
        Search(student(Model(judge), data), data, data, DemoSearch(demos=3)).best_so_far()


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
