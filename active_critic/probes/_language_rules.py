"""Perturbations by rule that hurt the language (fluency, coherence, grammar, simplicity) and keep what is said."""

from __future__ import annotations

import random
import re

from active_critic.probes._sentences import WORD, Text, english, listed, lowered, substituted
from active_critic.probes._words import (
    BASES,
    CONNECTIVES,
    DOUBLED,
    PARTICIPLES,
    PASTS,
    THIRDS,
    UNCOMMON,
    ing,
    several,
)

WORDS_A_SWAP, WORDS_A_SLIP = 12, 6
"""Words for each exchange of words, and for each spelling mistake: about as many as in the paper's examples."""
MOST_EXCHANGES = 100
"""Pairs of sentences that change places in a very long text."""

_CONNECTED = several(
    "also although and as because besides but finally first furthermore however if instead meanwhile moreover "
    "nevertheless next otherwise second similarly so still then therefore thus when while yet"
)
_SUBJECTS = several(
    "a an another every he her his i it its many most my no our she some that the their there these they this those we "
    "you your"
)
_WRAPS = ("It is the case that", "What is the case is that", "It is so that what holds is that", "The fact is that")
_AGREE = {
    "is": "are",
    "are": "is",
    "was": "were",
    "were": "was",
    "has": "have",
    "have": "has",
    "does": "do",
    "do": "does",
    "isn't": "aren't",
    "aren't": "isn't",
    "wasn't": "weren't",
    "weren't": "wasn't",
    "hasn't": "haven't",
    "haven't": "hasn't",
    "doesn't": "don't",
    "don't": "doesn't",
}
_BEFORE_BASE = several(
    "can can't cannot could couldn't did didn't do does doesn't don't may might must shall should shouldn't to will "
    "won't would wouldn't"
)
_BEFORE_PARTICIPLE = several("be been had has have is was were are being hasn't haven't hadn't")
_PLURAL = several("i you we they")
BEFORE_NOUN = several(
    "a an the his her its my our their your this that these those of in on at by for from with many some no any and or "
    "two three four five"
)
"""Words behind which one that could be a verb is probably a noun."""


def repetition(text: Text, source: str, rng: random.Random) -> str | None:
    """Up to two words a sentence are said twice in other words; where none is known, a sentence is repeated."""
    del source
    doubled = substituted(text, rng, listed(DOUBLED), most=2)
    long = [i for i, one in enumerate(text.sentences) if len(WORD.findall(one)) >= 3]
    if doubled is not None or not long or not english(text):
        return doubled
    at = rng.choice(long)
    parts = list(text.sentences)
    ended = parts[at][-1] in ".!?…\"'”’)"
    again = f" To repeat: {parts[at]}" if ended else f"; to repeat: {lowered(parts[at])}"
    parts[at] += again
    return text.with_sentences(parts)


def improper_connective(text: Text, source: str, rng: random.Random) -> str | None:
    """Sentences after the first begin with a connective that the writer did not put there."""
    del source
    if len(text.sentences) < 2 or not english(text):
        return None
    parts = list(text.sentences)
    last = ""
    for i, sentence in enumerate(parts[1:], start=1):
        first = WORD.match(sentence)
        if first is None or first.group().lower() in _CONNECTED:
            continue
        last = rng.choice([connective for connective in CONNECTIVES if connective != last])
        put = last if first.group()[0].isupper() else last.lower()
        parts[i] = f"{put} {lowered(sentence)}"
    return text.with_sentences(parts)


def sentence_exchange(text: Text, source: str, rng: random.Random) -> str | None:
    """Sentences change places: one pair, and another for every four sentences beyond the first four."""
    del source
    parts = list(text.sentences)
    if len(set(parts)) < 2:
        return None

    def exchange() -> None:
        i = rng.randrange(len(parts))
        j = rng.choice([j for j, other in enumerate(parts) if other != parts[i]])
        parts[i], parts[j] = parts[j], parts[i]

    for _ in range(max(1, min(MOST_EXCHANGES, len(parts) // 4))):
        exchange()
    if parts == list(text.sentences):  # the last exchange took the first one back
        exchange()
    return text.with_sentences(parts)


def word_exchange(text: Text, source: str, rng: random.Random) -> str | None:
    """Neighbouring words change places, one pair for every twelve words of a sentence."""
    del source

    def change(sentence: str) -> str | None:
        words = list(WORD.finditer(sentence))
        pairs = [
            i
            for i in range(len(words) - 1)
            if sentence[words[i].end() : words[i + 1].start()].isspace()
            and words[i].group().lower() != words[i + 1].group().lower()
        ]
        chosen: set[int] = set()
        for i in sorted(pairs, key=lambda i: (i == 0, rng.random())):  # the first word only where there is no other
            if len(chosen) < max(1, len(words) // WORDS_A_SWAP) and not chosen & {i - 1, i + 1}:
                chosen.add(i)
        for i in sorted(chosen, reverse=True):
            a, b = words[i], words[i + 1]
            between = sentence[a.end() : b.start()]
            sentence = sentence[: a.start()] + b.group() + between + a.group() + sentence[b.end() :]
        return sentence if chosen else None

    return text.each(change)


def spelling_mistake(text: Text, source: str, rng: random.Random) -> str | None:
    """A letter is left out, doubled or exchanged with its neighbour, once for every six words of a sentence."""
    del source

    def change(sentence: str) -> str | None:
        words = [m for m in WORD.finditer(sentence) if _can_be_misspelt(m.group())]
        count = max(1, len(WORD.findall(sentence)) // WORDS_A_SLIP)
        for spot in sorted(rng.sample(words, min(count, len(words))), key=lambda m: -m.start()):
            sentence = sentence[: spot.start()] + _misspelt(spot.group(), rng) + sentence[spot.end() :]
        return sentence if words else None

    return text.each(change)


def _can_be_misspelt(word: str) -> bool:
    return len(word) >= 4 and word.isalpha() and word.lower() != word.upper() and not word.isupper()


def _misspelt(word: str, rng: random.Random) -> str:
    at = rng.randrange(1, len(word))
    swaps = [i for i in range(1, len(word) - 1) if word[i] != word[i + 1]]
    way = rng.choice(["left out", "doubled", "exchanged"] if swaps else ["left out", "doubled"])
    if way == "left out":
        return word[:at] + word[at + 1 :]
    if way == "doubled":
        return word[:at] + word[at] + word[at:]
    i = rng.choice(swaps)
    return word[:i] + word[i + 1] + word[i] + word[i + 2 :]


def incorrect_verb_form(text: Text, source: str, rng: random.Random) -> str | None:
    """Up to three verbs a sentence stand in a form that is wrong where they are."""
    del source

    def other(sentence: str, spot: re.Match[str]) -> str | None:
        word = spot.group()
        if not (word.islower() or spot.start() == 0):
            return None
        return _wrong_form(word.lower(), previous_word(sentence, spot), rng)

    return substituted(text, rng, other, most=3)


def previous_word(sentence: str, spot: re.Match[str]) -> str:
    """The word before, in small letters; empty at the beginning and behind punctuation."""
    found = re.search(r"([^\W_]+(?:['’-][^\W_]+)*)\s+$", sentence[max(0, spot.start() - 40) : spot.start()])
    return found.group(1).lower().replace("’", "'") if found else ""


def _wrong_form(word: str, before: str, rng: random.Random) -> str | None:
    if before in _BEFORE_BASE and word in BASES:
        return rng.choice([BASES[word], ing(word)])
    plain = word.replace("’", "'")
    if plain in _AGREE:
        return _AGREE[plain]
    if before in _BEFORE_PARTICIPLE and word in PARTICIPLES and PARTICIPLES[word] != word:
        return PARTICIPLES[word]
    if before in _PLURAL and word in BASES:
        return BASES[word]
    if not before or before in BEFORE_NOUN or before in _BEFORE_PARTICIPLE:
        return None
    if word in THIRDS:
        return THIRDS[word]
    return ing(PASTS[word]) if word in PASTS else None


def uncommon_phrase(text: Text, source: str, rng: random.Random) -> str | None:
    """Up to four common words a sentence give way to rare ones that mean the same."""
    del source
    return substituted(text, rng, listed(UNCOMMON), most=4)


def complex_sentence(text: Text, source: str, rng: random.Random) -> str | None:
    """Statements are put into a clause of a sentence that only says that they hold."""
    del source

    def change(sentence: str) -> str | None:
        first = WORD.match(sentence)
        if first is None or first.group().lower() not in _SUBJECTS or len(WORD.findall(sentence)) < 3:
            return None
        if re.search(r"[?!][\"'”’)\]]*$", sentence):
            return None
        wrap = rng.choice(_WRAPS)
        return f"{wrap if sentence[0].isupper() else wrap.lower()} {lowered(sentence)}"

    return text.each(change)
