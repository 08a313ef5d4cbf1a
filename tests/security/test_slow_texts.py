"""Texts made to be slow: what is read with a pattern takes time as its length, not as the square of it."""

from __future__ import annotations

import random
import re
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from active_critic import reading
from active_critic.data import rows
from active_critic.data.writing import RecordWriter
from active_critic.errors import UnreadableReply
from active_critic.evaluators import _surface_features
from active_critic.evaluators.surface import figures_of
from active_critic.lm.client import Reply
from active_critic.probes import _sentences
from active_critic.probes._sentences import Text
from active_critic.reading import read_form
from active_critic.records import Example

LENGTH = 50_000
PLAIN = {
    "numbers": (rows.NUMBER, r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*", re.ASCII, "12.eE+- \nx"),
    "ends counted": (_surface_features._SENTENCE_END, r"[.!?…。！？]+(?=\s|$)|[。！？]", 0, ".!…。？ \na"),
    "ends": (_sentences._END, r"[.!?…]+[\"'”’)\]]*(?=\s)|[。！？]+[」』”’]*|\n", 0, ".!…。」\"') \na"),
    "fences": (reading._FENCE, r"\s*(?:```)?(?:json)?\s*", re.IGNORECASE, "` \njson"),
}
"""Patterns, each with the plain one that finds the same and is slow, and characters that matter to it."""


def filled(text: str) -> None:
    with suppress(UnreadableReply):
        read_form(Reply(f'{{"rating": 4}}{text}'), first="rating")


def written(text: str, folder: Path) -> None:
    with RecordWriter(folder / "rows.csv") as rows:
        rows.write({"response": text})


@pytest.mark.parametrize(
    ("work", "text"),
    [
        (lambda text, _: figures_of([Example(text, "a source")]), "." * LENGTH + "x"),
        (lambda text, _: Text.of(text), "." * LENGTH + "x"),
        (lambda text, _: Text.of(text), "?" * (LENGTH // 2) + '"' * (LENGTH // 2) + "x"),
        (lambda text, _: filled(text), " " * LENGTH + "x"),
        (lambda text, _: filled(text), '{"' * LENGTH + "</think>"),
        (lambda text, _: filled(text), '{"a": "</think>' * (LENGTH // 10) + '{"rating": 4}'),
        (lambda text, _: filled(text), '{"a": 1} ' * (LENGTH // 10) + "</think>" * 1000 + '{"rating": 4}'),
        (written, "1" * LENGTH + "x"),
    ],
    ids=["surface", "sentences", "quotes", "fence", "braces", "thoughts in texts", "objects in a thought", "cell"],
)
def test_a_text_of_one_character_costs_no_more_than_others(
    work: Callable[[str, Path], object], text: str, tmp_path: Path
) -> None:
    started = time.process_time()
    work(text, tmp_path)
    assert time.process_time() - started < 2  # ten and more where a run is looked at from each of its characters


@pytest.mark.parametrize("name", PLAIN)
def test_what_is_found_is_what_the_plain_pattern_finds(name: str) -> None:
    pattern, plain, flags, characters = PLAIN[name]
    slow, rng = re.compile(plain, flags), random.Random(0)
    for _ in range(5_000):
        text = "".join(rng.choices(characters, k=rng.randint(0, 12)))
        assert bool(pattern.fullmatch(text)) == bool(slow.fullmatch(text)), text
        if name.startswith("ends"):
            assert [found.span() for found in pattern.finditer(text)] == [f.span() for f in slow.finditer(text)], text
