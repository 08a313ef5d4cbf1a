"""What is not done again for every item."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest
from simulated import simulated_lm

from active_critic import scoring
from active_critic.data.examples import example_key
from active_critic.evaluators import Surface, from_protocol
from active_critic.evaluators.rounds import WINDOW
from active_critic.journal import Journal
from active_critic.lm import scripted_lm
from active_critic.protocols import CriticProtocol, Demo, Provenance
from active_critic.records import Criterion, Example, Scale


def program(**changes: Any) -> CriticProtocol:
    settings: dict[str, Any] = {
        "task_description": "Replies to customers.",
        "criteria": (Criterion(name="Tone", definition="Is friendly and calm."),),
        "scale": Scale(low=1, high=5),
        "demos": (Demo(source="Where?", response="There.", score=50.0, example_id="k", group="g"),),
        "provenance": Provenance(model="scripted"),
    }
    return CriticProtocol(**{**settings, **changes})


@pytest.mark.parametrize("mode", ["coarse", "fine"])
def test_the_constant_part_of_a_prompt_is_rendered_once_a_run(mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rendered: list[str] = []
    for name in ("instructions", "demo_turns", "reply_schema"):
        made = getattr(scoring, name)
        monkeypatch.setattr(scoring, name, lambda *a, made=made, name=name: rendered.append(name) or made(*a))
    critic = from_protocol(program(mode=mode), simulated_lm(), journal=None)
    items = [Example(response=f"Number {i}.", source=f"Which {i}?") for i in range(20)]
    assert all(verdict.score is not None for verdict in critic.score_many(items))
    assert sorted(rendered) == ["demo_turns", "instructions", "reply_schema", "reply_schema"]


def test_a_kept_head_serves_no_other_demonstrations() -> None:
    seen: list[Any] = []
    scorer = scoring.Scorer(program(mode="coarse"), simulated_lm(seen=seen))
    scorer.verdict("Where?", "Here.")
    scorer.verdict("Where?", "Here.", without=["k"])
    scorer.rate.demos = [scorer.protocol.demos[0].model_copy(update={"response": "Nowhere."})]
    scorer.verdict("Where?", "Here.")
    with_one, without, changed = ([text for _, text in turns] for turns in seen)
    assert len(without) == len(with_one) - 2
    assert "Nowhere." in changed[1]
    assert "There." in with_one[1]


def test_an_item_that_is_a_demonstration_is_not_shown_to_itself() -> None:
    seen: list[Any] = []
    made = Example(response="There.", source="Where?")
    demos = (
        Demo(source="Where?", response="There.", score=50.0, example_id=example_key(made), group="g"),
        Demo(source="When?", response="Now.", score=75.0, example_id="other", group="g"),
    )
    critic = from_protocol(program(mode="coarse", demos=demos), simulated_lm(seen=seen), journal=None)
    assert critic.score("There.", "Where?").score is not None
    assert critic.score("Elsewhere.", "Where?").score is not None
    shown = [["".join(text for role, text in turns[1:-1] if role == "user")] for turns in seen]
    assert "There." not in shown[0][0]
    assert "Now." in shown[0][0]
    assert "There." in shown[1][0]


def test_the_key_of_a_request_is_what_it_has_always_been(tmp_path: Path) -> None:
    """Old journals are found by it: a change here makes every user pay again."""
    with Journal(tmp_path / "j.sqlite") as journal:
        lm = scripted_lm(lambda turns: "4")
        lm.memory = journal
        turns = [("system", "Judge."), ("user", "How good?"), ("assistant", "3"), ("user", "And now?")]
        for _ in range(2):
            lm.ask(turns, max_tokens=5, schema={"type": "object"}, top_logprobs=8, stop=["x"])
        rows = journal._db.execute("SELECT key, request FROM replies").fetchall()
    assert lm.usage.replayed == 1
    assert [key for key, _ in rows] == ["1cbdcd106bc2b91ac3fef0ea13c265af87830cc360c9802e4edb836d92f2a4ac"]
    assert orjson.loads(rows[0][1])["messages"] == [["user", "How good?"], ["assistant", "3"], ["user", "And now?"]]


def test_many_rows_stream_with_bounded_reading_ahead() -> None:
    read = 0

    def items(number: int) -> Iterator[Example]:
        nonlocal read
        for index in range(number):
            read += 1
            yield Example(response=f"Number {index} it is.", source="Which?")

    examples = [Example(response="word " * (i % 5 + 1), source=f"s{i}", score=i % 5 + 1) for i in range(20)]
    floor = Surface(journal=None).fit(examples, scale="1..5")
    ahead = max(read - done for done, _ in enumerate(floor.score_many(items(5_000)), start=1))
    assert read == 5_000
    assert ahead < WINDOW
