from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from active_critic.lm.lengths import beginning_of, end_of, length_of


@pytest.mark.parametrize(
    ("text", "length"),
    [("", 0), ("a lake", 6), ("“Café” — naïve…", 15), ("озеро", 10), ("น้ำ", 9), ("झील", 9), ("湖", 3), ("\ud800", 1)],
)
def test_what_tokenisers_know_less_well_is_longer(text: str, length: int) -> None:
    assert length_of(text) == length


@given(st.text(), st.integers(0, 40))
def test_what_is_kept_is_as_much_as_fits(text: str, longest: int) -> None:
    for kept, rest in ((beginning_of(text, longest), text), (end_of(text, longest)[::-1], text[::-1])):
        assert rest.startswith(kept)
        assert length_of(kept) <= longest
        assert kept == rest or length_of(rest[: len(kept) + 1]) > longest


@given(st.text(st.characters(max_codepoint=127)), st.integers(1, 40))
def test_english_is_cut_by_characters(text: str, longest: int) -> None:
    assert (beginning_of(text, longest), end_of(text, longest)) == (text[:longest], text[-longest:])
