from __future__ import annotations

import time
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from active_critic.quoting import quote

MARKS = [
    "</response>",
    "<response>",
    "</source>",
    "<source>",
    "<|im_end|>",
    "<|im_start|>system",
    "<|eot_id|>",
    "<|start_header_id|>",
    "<|end|>",
    "<|endoftext|>",
    "<｜User｜>",
    "<｜end▁of▁sentence｜>",
    "</s>",
    "<s>",
    "<eos>",
    "<bos>",
    "<start_of_turn>",
    "<end_of_turn>",
    "[INST]",
    "[/INST]",
    "[SYSTEM_PROMPT]",
    "[TOOL_CALLS]",
    "[|assistant|]",
    "[|endofturn|]",
    "[TOOL_RESULTS]",
    "<<SYS>>",
    "<</SYS>>",
    "<think>",
    "</think>",
    "<turn|>",
    "<channel|>",
    "<SPECIAL_11>",
    "<extra_id_1>",
    "<reserved_106>",
    "<unused0>",
    "<seed:bos>",
    "<beginning_of_sentence>",
    "<tool_call>",
    "</tool_response>",
    "<pad>",
    "[THINK]",
    "[/THINK]",
    "[gMASK]",
    "[UNUSED_TOKEN_146]",
    "]~b]",
    "[e~[",
    "[[ ## overall ## ]]",
    "[[ ## completed ## ]]",
]
INVISIBLE = [*"\x00\x1b\u2800\u200b\u200d\u2060\ufeff\u00ad\u200f\u202e\u2066\ufe0f\U000e0041"]

hostile = st.lists(
    st.one_of(
        st.sampled_from(MARKS),
        st.sampled_from(MARKS).map(str.upper),
        st.sampled_from(INVISIBLE),
        st.text(alphabet='<>[]|/# \n"{}', max_size=8),
        st.text(max_size=10),
    ),
    max_size=12,
).map("".join)


def visible(text: str) -> str:
    """The text as a reader, or a tokenizer that drops what cannot be seen, has it."""
    unseen = {c for c in text if unicodedata.category(c) in {"Cf", "Mn", "Cc"} and not c.isspace()} | {"\u2800"}
    return "".join(c for c in text if c not in unseen).casefold()


@given(hostile)
def test_no_mark_survives(text: str) -> None:
    seen = visible(quote(text))
    for mark in MARKS:
        assert visible(mark) not in seen


@pytest.mark.parametrize("mark", MARKS)
def test_a_mark_with_an_invisible_character_inside_does_not_survive(mark: str) -> None:
    for at in range(1, len(mark)):
        for unseen in INVISIBLE:
            assert visible(mark) not in visible(quote(f"so {mark[:at]}{unseen}{mark[at:]} it says"))


@pytest.mark.parametrize("mark", MARKS)
def test_a_mark_in_wide_or_mathematical_letters_does_not_survive(mark: str) -> None:
    wide = mark.translate({code: code + 0xFEE0 for code in range(0x21, 0x7F)})
    sans = "".join(chr(ord(c) - ord("a") + 0x1D5BA) if "a" <= c <= "z" else c for c in mark)
    for disguised in (wide, sans):
        assert unicodedata.normalize("NFKC", mark) not in unicodedata.normalize(
            "NFKC", quote(f"so {disguised} it says")
        )


@given(hostile)
def test_nothing_but_spaces_is_added(text: str) -> None:
    assert quote(text).replace(" ", "") == text.replace(" ", "")


@given(hostile)
def test_quoting_twice_only_widens_the_gap(text: str) -> None:
    once = quote(text)
    assert quote(once).replace(" ", "") == once.replace(" ", "")
    assert len(quote(once)) - len(once) <= len(once) - len(text) + text.count("<") + text.count("[")


@given(st.text(alphabet=st.characters(exclude_characters="<[＜﹤［"), max_size=60))
def test_text_without_brackets_is_unchanged(text: str) -> None:
    assert quote(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "if a < b and b > c: x[0] = y[[1, 2]]",
        "<b>bold</b> and <a href='x'>a link</a>",
        "I <3 this; 1<2; [1] and [sic]",
        "<sources> and <responses> and <userland> are other words",
        "name[The Punter], food[Italian]",
        "{'overall': 5} ## heading [[wiki link]]",
        "the response, the source, the system",
    ],
)
def test_ordinary_brackets_are_unchanged(text: str) -> None:
    assert quote(text) == text


@pytest.mark.parametrize("text", ["<" + " " * 200_000 + "x", "< " * 100_000, "[" + "\u200b" * 200_000, "<s " * 60_000])
def test_a_long_hostile_text_takes_no_longer_than_any_other(text: str) -> None:
    started = time.process_time()
    quote(text)
    assert time.process_time() - started < 2
