"""Programs: what none of them may hold."""

from __future__ import annotations

import pytest

from active_critic.protocols import check_names, repeated_names
from active_critic.records import Criterion


def named(*names: str) -> list[Criterion]:
    return [Criterion(name=name, definition="x") for name in names]


def test_criteria_that_cannot_be_told_apart_are_refused_and_named() -> None:
    check_names(named("Tone", "Tone of voice", "Help"))
    assert repeated_names(named("Tone", "Help", "TONE", "help", "Tone", "Length")) == ["help", "tone"]
    with pytest.raises(ValueError, match=r"unique; repeated: tone$"):
        check_names(named("Tone", "Help", "TONE"))
