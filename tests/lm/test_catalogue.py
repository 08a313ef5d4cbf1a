from __future__ import annotations

import re

import pytest

from active_critic.errors import UnknownModel
from active_critic.lm.catalogue import CATALOGUE, HubFile, Wheels, find


def test_names_and_aliases_mean_one_model_each() -> None:
    labels = [label for model in CATALOGUE for label in (model.name, *model.aliases)]
    assert len(labels) == len(set(labels))
    assert all(find(label).name in {model.name for model in CATALOGUE} for label in labels)
    assert find("local") is CATALOGUE[0]


def test_upper_case_and_blanks_do_not_matter() -> None:
    assert find(" Local-Small ") is find("qwen2.5-coder-0.5b")


@pytest.mark.parametrize("model", CATALOGUE, ids=lambda model: model.name)
def test_every_entry_is_complete_and_pinned(model) -> None:
    assert re.fullmatch(r"[0-9a-f]{64}", model.sha256)
    assert model.bytes > 0
    assert model.context >= 8192
    assert model.licence
    assert model.sources
    for source in model.sources:
        if isinstance(source, Wheels):
            assert all(re.fullmatch(r"[\w.-]+==[\w.]+", package) for package in source.packages)
            re.compile(source.member)
        else:
            assert isinstance(source, HubFile)
            assert source.file.endswith(".gguf")


def test_a_hub_is_asked_before_the_wheels() -> None:
    for model in CATALOGUE:
        kinds = [isinstance(source, Wheels) for source in model.sources]
        assert kinds == sorted(kinds)


def test_an_unknown_name_gets_the_known_ones_and_the_nearest() -> None:
    with pytest.raises(UnknownModel) as caught:
        find("locl-small")
    message = str(caught.value)
    assert "'locl-small'" in message
    assert "Did you mean 'local-small'?" in message
    assert all(model.name in message for model in CATALOGUE)


def test_a_far_off_name_gets_no_guess() -> None:
    with pytest.raises(UnknownModel) as caught:
        find("zzz")
    assert "Did you mean" not in str(caught.value)
