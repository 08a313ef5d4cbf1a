"""What every test gets: an environment without keys, proxies and journals of the user's, and a loopback endpoint."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings
from loopback import Loopback, serving

settings.register_profile("suite", deadline=None)  # a busy machine is no failure
settings.load_profile("suite")

_PROXIES = {"http_proxy", "https_proxy", "all_proxy", "no_proxy"}
_ENDINGS = ("_API_KEY", "_API_BASE", "_BASE_URL", "_API_TOKEN")
# Workers share the processors, and there threads of an embedded model do best to sleep at once.
os.environ.setdefault("GOMP_SPINCOUNT", "0")

LONGEST = {"test_end_to_end.py", "test_kill.py", "test_house.py"}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest come first, so that at the end no worker is left alone with one of them."""
    items.sort(key=lambda item: item.path.name not in LONGEST)


@pytest.fixture(autouse=True)
def isolated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No key, proxy, address or journal of the person who runs the tests can reach one; DSPy's settings are reset.

    Waits are as long as they are at least, so that tests can tell them.
    """
    for name in list(os.environ):
        if name.lower() in _PROXIES or name.upper().endswith(_ENDINGS):
            monkeypatch.delenv(name)
    monkeypatch.setenv("ACTIVE_CRITIC_JOURNAL", str(tmp_path / "journal.sqlite"))
    monkeypatch.setenv("LITELLM_LOCAL_MODEL_COST_MAP", "true")
    monkeypatch.setattr("active_critic.lm.retrying.chance", lambda: 0.0)
    yield
    import sys

    if "dspy" in sys.modules:
        import dspy
        from dspy.dsp.utils.settings import DEFAULT_CONFIG

        dspy.configure(**DEFAULT_CONFIG)


@pytest.fixture
def loopback() -> Iterator[Loopback]:
    """An OpenAI-compatible endpoint on 127.0.0.1 that answers "hello" until told otherwise."""
    with serving() as server:
        yield server
