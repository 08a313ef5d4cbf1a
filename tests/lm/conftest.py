"""Fixtures of the tests of language models."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from conftest_lm import EVERYTHING, KEY
from loopback import Loopback

from active_critic.lm import LanguageModel, open_lm


@pytest.fixture
def waits() -> list[float]:
    """The seconds that ``lm`` would have waited, in order."""
    return []


@pytest.fixture
def lm(loopback: Loopback, waits: list[float], monkeypatch: pytest.MonkeyPatch) -> LanguageModel:
    """A model at the endpoint, with a key, that can do everything and does not wait."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    opened = open_lm("openai/x", api_base=loopback.api_base)
    opened._wait = waits.append
    opened._capabilities = EVERYTHING
    return opened


@pytest.fixture(scope="module")
def tiny() -> Iterator[LanguageModel]:
    """The smallest embedded model; without the extra that runs it, the test is skipped."""
    pytest.importorskip("xllamacpp", reason="needs the extra [local]")
    with open_lm("local-tiny", context=1024) as opened:
        yield opened
