"""Texts as sentences and words that can be put together again exactly."""

from __future__ import annotations

import random
import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from active_critic.probes._words import (
    BASES,
    DOUBLED,
    HYPERNYMS,
    OPPOSITES,
    PARTICIPLES,
    PASTS,
    THIRDS,
    UNCOMMON,
    several,
)

_END = re.compile(r"(?<![.!?…])[.!?…]++[\"'”’)\]]*+(?=\s)|[。！？]+[」』”’]*|\n")  # a run is looked at once
_SHORT = re.compile(
    r"(?:\A|\n)[ \t]*[0-9]{1,2}\.$"  # the number of a list's item
    r"|(?:^|[\s(\"“'])(?:Mr|Mrs|Ms|Dr|Prof|St|Sr|Jr|Lt|Col|Gen|Sen|Rep|Gov|vs?|e\.g|u\.[sk]|i\.e|cf|approx"
    r"|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec|(?:[A-Z]\.)*[A-Z])\.$"
)
WORD = re.compile(r"[0-9]+(?:[.,:][0-9]+)+|[^\W_]+(?:['’-][^\W_]+)*")
"""A word, with its apostrophes and hyphens, or a number."""

ITEM = re.compile(r"(?:[0-9]{1,3}[.)]|[-*•–])\s+")
"""The number of a list's item, or its mark."""

_CODE = re.compile(r"```.*?(?:```|\Z)|`[^`\n]+`", re.DOTALL)
_QUOTED = re.compile(r"\"[^\"\n]{0,500}\"|“[^“”\n]{0,500}”|「[^「」\n]{0,500}」")
_MARKED = re.compile(r"://|www\.|[@#\\<>{}=|_`\ufffc]|[^\W\d_]\.[^\W\d_]{2}")
"""In a run without a space: it is an address, a mark or a name in code, not words."""

_LOWERED = several(
    """
    a after all although an another any are as at because before both but by can could did do does during each even
    every everyone everything few for from had has have he her here his how if in is it its just many most my never
    no nobody none not nothing now of on one only our she should since so some someone something soon that the their
    then there these they this those to was we were what when where while who whoever why with would you your
    """
)
_ENGLISH = several(
    """
    about address after again against agree allow allowed allows although and another any anyone anything around
    asked away back because become been before being believe between both bought brother called came can't cannot
    cheap children could couldn't day did didn't does doesn't don't down during each early either enjoy even every
    everybody everyone everything expensive family father february few five food found four friday friend friends
    from get gets getting going gone good great happy haven't he's head heard helped here his home house how i'd
    i'll i'm i've if into isn't it it's its january july june just knew know known let's little lived located looked
    looking love many might moderate moderately monday month months mother much must my n't near never new next
    night nobody none not nothing now number october off often old once only other our out outside own people played
    priced prices really right said same saturday saw says school second seen serve serves serving she she's should
    since six some someone something soon spent started still street such sunday than thank that that's the their
    them then there there's these they they'd they're thing things think this those thought three through thursday
    time today together told tomorrow too took town tried tuesday two until used usually very wanted wants wasn't
    we're we've wednesday week weeks well went were what what's when where whether which while who whose why with
    within without woman won't work would wouldn't year years yes yesterday yet you you're young your
    """
)
"""Words that hardly another language has."""
_SHARED = several(
    """
    am an are at be been best can first for had has have him is last less life may men more most of or over s under
    up us was we will
    """
)
"""Words that are as common in English, and that some other language writes alike."""
_FOREIGN = several(
    """
    aber adalah af alles als also au auch auf aux avec az bei blev bliver che com como con czy da dans dari das dass
    de del della dem der des di dla dos du egy ein eine el elle em en er es est ett fra från gli har het hogy ich
    ikke il ils ini inte ist itu jako je jeg jej jest kan kann la las le les los maar mais man med meg mehr mit muy
    må na naar nach nego nem nicht nie niet noch nur não och od og ogsaa ook op os ov para pero por på que qui sa
    sau saya se sich sie sind skal som sono su sunt sur să te tem tidak til um uma una und une untuk van vom von
    voor vor w war wird wurde yang ze zijn zu zum zur à är åt è é și в и на не с что що
    """
)
"""Common words of other languages."""
_EITHER = several(
    """
    also bad begin call camera comes decide die do fast go hold hotel include man men met no pass pistol plan plans
    problem rose see serve son use war warm
    """
)
"""Of the lists for the rules, those that other languages have as well."""
_LISTED = {*DOUBLED, *UNCOMMON, *HYPERNYMS, *OPPOSITES, *BASES, *THIRDS, *PASTS, *PARTICIPLES} - _EITHER
_ENOUGH = 4  # of so many words, one has to be known for English


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
        """Take a text apart. Lines of code are part of the gaps, and what is quoted is not taken apart."""
        quotes = [m.span() for m in _QUOTED.finditer(text) if m.group() != text.strip()]
        quoted = {place for a, b in quotes for place in range(a + 1, b)}
        code = [m.span() for m in _CODE.finditer(text) if "\n" in m.group()]
        ends = [
            m.end()
            for m in _END.finditer(text)
            if m.end() not in quoted and not _SHORT.search(text[max(0, m.start() - 12) : m.end()])
        ]
        found: list[str] = []
        gaps, at, start = [], 0, 0
        for end in [*ends, len(text)]:
            bare = text[start:end].strip()
            if WORD.search(bare) and not any(a < end and start < b for a, b in code):
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


def ended(sentence: str) -> bool:
    """Whether it has a mark at its end that ends a sentence."""
    return re.search(r"[.!?…。！？][\"'”’」』)\]]*$", sentence) is not None


def cut_off(sentences: Sequence[str]) -> bool:
    """Whether the last sentence has no end, though the one before it has."""
    return len(sentences) > 1 and ended(sentences[-2]) and not ended(sentences[-1])


def lowered(sentence: str) -> str:
    """A sentence as it stands behind a word that begins it: a name keeps its capital, a function word does not."""
    first = WORD.match(sentence)
    if first and first.group().lower() in _LOWERED and not sentence.isupper():
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


def spots(sentence: str) -> list[re.Match[str]]:
    """The words of a sentence that are none of an address, a mark or a name in code."""
    kept: list[re.Match[str]] = []
    runs = re.finditer(r"\S+", _CODE.sub(lambda m: "\ufffc" * len(m.group()), sentence))
    run = next(runs, None)
    marked = run is not None and _MARKED.search(run.group()) is not None
    for spot in WORD.finditer(sentence):
        while run is not None and run.end() <= spot.start():
            run = next(runs, None)
            marked = run is not None and _MARKED.search(run.group()) is not None
        a, b = spot.span()
        if not marked and not (_accent(sentence[max(0, a - 1) : a]) or _accent(sentence[b : b + 1])):
            kept.append(spot)
    return kept


def _accent(character: str) -> bool:
    """Whether it is a mark on the letter before it, so that a word does not end there."""
    return character != "" and unicodedata.category(character)[0] == "M"


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
        found = [(spot, new) for spot in spots(sentence) if (new := other(sentence, spot)) is not None]
        if not found:
            return None
        chosen = rng.sample(found, min(most, len(found)))
        for spot, new in sorted(chosen, key=lambda pair: -pair[0].start()):  # from the end: earlier places stay valid
            sentence = replaced(sentence, spot, new)
        return sentence

    return text.each(change)


def plain(spot: re.Match[str]) -> str | None:
    """The word in small letters; None where it has a capital that does not begin the sentence: it may be a name."""
    word = spot.group()
    return word.lower() if word.islower() or (spot.start() == 0 and word[1:].islower()) else None


def english(text: Text) -> bool:
    """Whether the text shows that it is English.

    Words that only English has count two, others that English has one. There have to be two different ones, enough of
    them for the length of the text, and more than there are words of other languages, or with letters that English
    lacks; these count two each.
    """
    words = [word for word in _words(text) if not word[0].isdigit()]
    foreign = [word for word in words if word in _FOREIGN or not _plain_letters(word)]
    own = [word for word in words if word in _ENGLISH]
    known = own + [word for word in words if (word in _SHARED or word in _LISTED) and word not in _FOREIGN | _ENGLISH]
    points = len(known) + len(own)
    return len(set(known)) >= 2 and points * _ENOUGH >= len(words) and points > 2 * len(foreign)


def _plain_letters(word: str) -> bool:
    return all(letter.isascii() for letter in word if letter.isalpha())


def _words(text: Text) -> list[str]:
    return [word.group().lower().replace("’", "'") for one in text.sentences for word in WORD.finditer(one)]
