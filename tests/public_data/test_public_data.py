from __future__ import annotations

import pytest
from published import content, file_server, served_card, small_card, use_cards, write

from active_critic import public_data
from active_critic.data.examples import group_of, split
from active_critic.errors import DataError
from active_critic.public_data import NAMES
from active_critic.records import Scale


@pytest.mark.parametrize("name", NAMES)
def test_every_set_becomes_examples_with_its_own_scale_and_documents(name, tmp_path, monkeypatch) -> None:
    use_cards(monkeypatch)
    card = small_card(name)
    path = write(card, tmp_path)
    examples = public_data.get(name, source=path)
    assert len(examples) == card.outputs
    assert examples.scale == Scale(low=card.scale[0], high=card.scale[1])
    assert not examples.scale_inferred
    assert len({group_of(example) for example in examples}) == card.documents
    assert set(examples[0].aspects) == set(card.aspects)
    assert examples.path == str(path)
    if len(examples) > 4:
        assert all(len(part) > 0 for part in split(examples, 0.5, seed=1))


def test_records_are_what_the_examples_come_from(tmp_path, monkeypatch) -> None:
    use_cards(monkeypatch)
    path = write(small_card("hanna"), tmp_path)
    records = public_data.records("hanna", source=path)
    assert [example.record for example in public_data.get("hanna", source=path)] == records
    assert [example.score for example in public_data.get("hanna", source=path)] == [r["overall"] for r in records]


def test_a_set_is_fetched_once_and_read_from_the_cache_then(tmp_path, monkeypatch) -> None:
    with file_server() as server:
        card = served_card("topical_chat", server.address)
        server.body = content(card)
        use_cards(monkeypatch, card)
        first = public_data.load("topical-chat", cache=tmp_path)
        second = public_data.load("topical-chat", cache=tmp_path)
        assert first.records == second.records
        assert len(server.seen) == 1
    assert len(first.notes) == 1
    assert second.notes == ()


def test_what_was_not_verified_is_said_with_the_examples(tmp_path, monkeypatch) -> None:
    use_cards(monkeypatch)
    examples = public_data.get("newsroom", source=write(small_card("newsroom"), tmp_path))
    assert examples.notes[0].startswith("the card of Newsroom (human evaluation) is not verified: the file was")


def test_the_real_card_refuses_a_part_of_the_set(tmp_path) -> None:
    path = write(small_card("sfres"), tmp_path)
    with pytest.raises(DataError, match="holds 5 outputs, and the complete set has 1,181"):
        public_data.get("sfres", source=path)
