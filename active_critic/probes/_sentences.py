"""Texts as sentences and words that can be put together again exactly."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from active_critic.probes._words import several

_END = re.compile(r"(?<![.!?…])[.!?…]++[\"'”’)\]]*+(?=\s)|[。！？]+[」』”’]*|\n")  # a run is looked at once
_SHORT = re.compile(
    r"(?:^|[\s(\"“'])(?:Mr|Mrs|Ms|Dr|Prof|St|Sr|Jr|Lt|Col|Gen|Sen|Rep|Gov|vs|e\.g|i\.e|cf|approx"
    r"|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec|(?:[A-Z]\.)*[A-Z])\.$"
)
WORD = re.compile(r"[0-9]+(?:[.,:][0-9]+)+|[^\W_]+(?:['’-][^\W_]+)*")
"""A word, with its apostrophes and hyphens, or a number."""

_LOWERED = several(
    """a after all although an another any as at because before both but by during each even every few for from he her
    here his if in it its just many most my no nobody none not now of on one only our she since so some that the their
    then there these they this those to we what when where while who with you your"""
)
_COMMON = several("a an and are at for from has he in is it of on she that the there they to was were with you")


@dataclass(frozen=True, slots=True)
class Text:
    """A text taken apart: ``gaps[0] + sentences[0] + gaps[1] + ... + gaps[-1]`` is the text again.

    Attributes:
        sentences: Without space around them; those without a word are part of the gaps.
        gaps: What stands before, between and after them; one more than there are sentences.
    """

    sentences: tuple[str, ...]
    gaps: tuple[str, ...]

    @classmethod
    def of(cls, text: str) -> Text:
        """Take a text apart."""
        ends = [m.end() for m in _END.finditer(text) if not _SHORT.search(text[max(0, m.start() - 12) : m.end()])]
        found: list[str] = []
        gaps, at, start = [], 0, 0
        for end in [*ends, len(text)]:
            bare = text[start:end].strip()
            if WORD.search(bare):
                begin = text.index(bare, start)
                gaps.append(text[at:begin])
                found.append(bare)
                at = begin + len(bare)
            start = end
        return cls(tuple(found), (*gaps, text[at:]))

    def with_sentences(self, sentences: Sequence[str]) -> str:
        """The text with other sentences, as many as before, and the same gaps."""
        return "".join(gap + one for gap, one in zip(self.gaps, [*sentences, ""], strict=True))

    def each(self, change: Callable[[str], str | None]) -> str | None:
        """The text with every sentence changed that can be; None where none can."""
        changed = [change(sentence) for sentence in self.sentences]
        if all(one is None for one in changed):
            return None
        return self.with_sentences([new or old for new, old in zip(changed, self.sentences, strict=True)])


def lowered(sentence: str) -> str:
    """A sentence as it stands behind a word that begins it: a name keeps its capital, a function word does not."""
    first = WORD.match(sentence)
    if first and first.group().lower() in _LOWERED:
        return sentence[0].lower() + sentence[1:]
    return sentence


def cased(new: str, old: str) -> str:
    """A word with the capitals of the one that it replaces."""
    if old.isupper() and len(old) > 1:
        return new.upper()
    return new[:1].upper() + new[1:] if old[:1].isupper() else new


def replaced(sentence: str, spot: re.Match[str], new: str) -> str:
    """The sentence with another word in this place, in the old one's capitals, with the article that it demands."""
    before, new = sentence[: spot.start()], cased(new, spot.group())
    tail = max(0, len(before) - 8)
    article = re.search(r"\b([Aa])n?\s+$", before[tail:])
    if article and new[:1].isascii() and new[:1].isalpha():
        at = tail + article.end(1)
        before = before[:at] + ("n" if new[0].lower() in "aeiou" else "") + before[at:].lstrip("n")
    return before + new + sentence[spot.end() :]


def substituted(
    text: Text, rng: random.Random, other: Callable[[str, re.Match[str]], str | None], most: int = 1
) -> str | None:
    """The text with at most so many words a sentence replaced, drawn from those for which there is another.

    Args:
        text: The text.
        rng: What draws.
        other: From a sentence and a word in it to what may stand instead, or None.
        most: Words a sentence.
    """

    def change(sentence: str) -> str | None:
        found = [(spot, new) for spot in WORD.finditer(sentence) if (new := other(sentence, spot)) is not None]
        if not found:
            return None
        chosen = rng.sample(found, min(most, len(found)))
        for spot, new in sorted(chosen, key=lambda pair: -pair[0].start()):  # from the end: earlier places stay valid
            sentence = replaced(sentence, spot, new)
        return sentence

    return text.each(change)


def listed(words: Mapping[str, str]) -> Callable[[str, re.Match[str]], str | None]:
    """Looks words up in a list; one with a capital only where it begins the sentence, since it may be a name."""

    def other(_: str, spot: re.Match[str]) -> str | None:
        word = spot.group()
        return words.get(word.lower()) if word.islower() or (spot.start() == 0 and word[1:].islower()) else None

    return other


def english(text: Text) -> bool:
    """Whether the text holds a common English word: else nothing English is added to it."""
    return any(word.group().lower() in _COMMON for one in text.sentences for word in WORD.finditer(one))
