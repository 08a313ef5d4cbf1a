from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from pydantic import ValidationError

from active_critic.errors import DataError
from active_critic.public_data import NAMES, cards, describe, list_datasets
from active_critic.public_data.parsers import FORMATS

FOLDER = Path(__file__).parents[2] / "datasets" / "cards"


def test_every_card_is_listed_and_every_listed_set_has_a_card() -> None:
    assert {path.stem for path in FOLDER.iterdir()} == set(NAMES)
    assert [card.name for card in list_datasets()] == list(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_a_card_says_whom_to_cite_what_the_licence_is_and_where_the_file_is(name) -> None:
    card = describe(name)
    assert card.name == name
    assert all(paper.authors and paper.title and paper.venue and 2010 <= paper.year <= 2023 for paper in card.citations)
    assert card.licence
    assert "cover" in card.licence_note or "licence" in card.licence_note
    assert card.quirks
    assert re.match(r"https://raw\.githubusercontent\.com/[^/]+/[^/]+/[0-9a-f]{40}/", card.file.url), "not pinned"
    assert card.file.format in FORMATS
    assert not card.file.name.endswith((".pkl", ".pickle")), "loading a pickle runs what is in it"


@pytest.mark.parametrize("name", NAMES)
def test_a_card_gives_sizes_and_scales_that_fit_together(name) -> None:
    card = describe(name)
    assert card.documents is None or 0 < card.documents <= card.outputs
    assert card.systems is None or card.documents is None or card.outputs <= card.documents * card.systems * 2
    assert all(low < high for low, high in (card.scale, *card.aspects.values()))
    assert not card.runs or sum(count for _, count in card.runs) == card.outputs
    assert card.verified == (not card.unverified), "what is not verified is said, and only that"
    assert (card.file.sha256 is None) == (not card.file.checksum_from)


def test_the_sizes_are_those_of_the_papers() -> None:
    sizes = {card.name: (card.outputs, card.documents) for card in list_datasets()}
    assert sizes == {
        "summeval": (1600, 100),
        "newsroom": (420, 60),
        "topical_chat": (360, 60),
        "sfres": (1181, 580),
        "sfhot": (875, None),
        "bagel": (404, 202),
        "openmeva_roc": (1000, 200),
        "hanna": (1056, 96),
        "qags_cnn": (235, 235),
        "qags_xsum": (239, 239),
    }


@pytest.mark.parametrize("written", ["qags-cnn", "QAGS_CNN", " Qags-Cnn "])
def test_a_name_is_found_however_it_is_written(written) -> None:
    assert describe(written).name == "qags_cnn"


@pytest.mark.parametrize("name", ["sumeval", "", "../quickstart"])
def test_an_unknown_name_lists_the_known_ones(name) -> None:
    with pytest.raises(DataError, match=r"the known ones are summeval, newsroom, .*qags_xsum"):
        describe(name)


def test_a_card_with_an_unknown_or_missing_entry_is_refused() -> None:
    table = tomllib.loads((FOLDER / "sfres.toml").read_text(encoding="utf-8"))
    with pytest.raises(ValidationError, match="rating"):
        cards.Card.model_validate({**table, "rating": 1})
    del table["licence"]
    with pytest.raises(ValidationError, match="licence"):
        cards.Card.model_validate(table)
