"""Perturbations by rule that hurt the language (fluency, coherence, grammar, simplicity) and keep what is said."""

from __future__ import annotations

import random
import re

from active_critic.probes._contexts import (
    ALSO_NOUNS,
    BEFORE_BASE,
    BEFORE_NOUN,
    SUBJECTS,
    before_adverbs,
    is_adverb,
    listed,
    previous_word,
    stated,
)
from active_critic.probes._sentences import ITEM, WORD, Text, cut_off, ended, lowered, spots, substituted
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
LONGEST_WORD = 50
"""Letters; of a longer string, such as encoded data, only so many are looked at for a slip."""
MOST_EXCHANGES = 100
"""Pairs of sentences that change places in a very long text."""

_CONNECTED = several(
    """
    also although and as because besides but finally first furthermore however if instead meanwhile moreover
    nevertheless next otherwise second similarly so still then therefore thus when while yet
    """
)
_SUBJECTS = several(
    """
    a an another every he her his i it its many most my our she some that the their there these they this those we
    you your
    """
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
_BEFORE_PARTICIPLE = several("be been had has have is was were are being hasn't haven't hadn't")
_PLURAL = several("i you we they")
_COLLECTIVE = several(
    """
    audience club committee couple crew family government group majority media public side staff team
    """
)
_UNSURE = several("all any data either half lot most neither news none number rest some what whatever which")
_PLURALS = several("children men people police women you we they these those")
_PRONOUNS = several("he she it that this who which")
_ALSO_OTHER = several("left thought saw felt found lost")
"""Past tenses that may be something else, unless they follow a subject."""
_MOBILE = several(
    """
    again all already also always at both even ever in just more most never not now often only out over so soon
    still then there today together too up yesterday
    """
)
"""Words that can stand in several places of a sentence."""
_OTHER_WORDS = several(
    """
    bale god three bare being beside board bored bran bread chose closed cloths coat cold county dad dairy dessert
    device diary dose fated fired form from fried goof grate hast hat heart herd here hope horse late latter lit
    loose lose loss mall mean meat meet mist moan most mot one ones other over pace paid pair payer plan plane pose
    quiet quit quite rate red sate seed sing sign slat slow snow sou spin star state statue stick sting stoop stop
    store string tale tall tang tap ten than that them then there thing tie tired trail trial united untied vary
    very wale ward warm week weekly were what when where while wile wind wing with wold word work wore worse angle
    angel bread cased casual causal dose downs filed hoping hopping later lather latter leas lease least mangers
    planed planned pervious raiser rises scared scarred sever singed soul tarts wither widow winder cloud could
    cloth hose house hoses mouse moose tree these
    """
)
"""Words that a slip may make of others."""


def repetition(text: Text, source: str, rng: random.Random) -> str | None:
    """Up to two words a sentence are said twice in other words; where none is known, a sentence is repeated."""
    del source
    doubled = substituted(text, rng, listed(DOUBLED), most=2)
    long = [i for i, one in enumerate(text.sentences) if len(WORD.findall(one)) >= 3]
    if doubled is not None or not long:
        return doubled
    at = rng.choice(long)
    parts = list(text.sentences)
    whole = parts[at][-1] in ".!?…\"'”’)"
    bare = ITEM.sub("", parts[at], count=1) if ITEM.match(parts[at]) else parts[at]
    parts[at] += f" To repeat: {bare}" if whole else f"; to repeat: {lowered(bare)}"
    return text.with_sentences(parts)


def improper_connective(text: Text, source: str, rng: random.Random) -> str | None:
    """Sentences after the first begin with a connective that the writer did not put there."""
    del source
    if len(text.sentences) < 2:
        return None
    parts = list(text.sentences)
    last = ""
    for i, sentence in enumerate(parts[1:], start=1):
        first = WORD.match(sentence)
        if first is None or first.group()[0].isdigit() or first.group().lower() in _CONNECTED:
            continue
        able = CONNECTIVES[:-1] if i == len(parts) - 1 else CONNECTIVES  # the last sentence may sum up
        last = rng.choice([connective for connective in able if connective != last])
        put = last if first.group()[0].isupper() else last.lower()
        parts[i] = f"{put} {lowered(sentence)}"
    return text.with_sentences(parts)


def sentence_exchange(text: Text, source: str, rng: random.Random) -> str | None:
    """Sentences change places: one pair, and another for every four sentences beyond the first four."""
    del source
    parts = list(text.sentences)
    places = [i for i, one in enumerate(parts) if ended(one) and not one.startswith("#")]
    if len({parts[i] for i in places}) < 2:  # not two sentences that are surely neither headings nor cut off
        places = list(range(len(parts)))
        if len(parts) > 2 and cut_off(parts):
            places.pop()  # elsewhere it would run into the next one
    if len({parts[i] for i in places}) < 2:
        return None

    def exchange() -> None:
        i = rng.choice(places)
        j = rng.choice([j for j in places if parts[j] != parts[i]])
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
        words = spots(sentence)
        pairs = [
            i
            for i in range(len(words) - 1)
            if sentence[words[i].end() : words[i + 1].start()].isspace()
            and words[i].group().lower() != words[i + 1].group().lower()
            and not (_mobile(words[i].group().lower()) or _mobile(words[i + 1].group().lower()))
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


def _mobile(word: str) -> bool:
    return word in _MOBILE or is_adverb(word)


def spelling_mistake(text: Text, source: str, rng: random.Random) -> str | None:
    """A letter is left out, doubled or exchanged with its neighbour, once for every six words of a sentence."""
    del source

    def change(sentence: str) -> str | None:
        words = [m for m in spots(sentence) if _can_be_misspelt(m.group())]
        count = max(1, len(WORD.findall(sentence)) // WORDS_A_SLIP)
        for spot in sorted(rng.sample(words, min(count, len(words))), key=lambda m: -m.start()):
            sentence = sentence[: spot.start()] + _misspelt(spot.group(), rng) + sentence[spot.end() :]
        return sentence if words else None

    return text.each(change)


def _can_be_misspelt(word: str) -> bool:
    return len(word) >= 4 and word.isalpha() and word.lower() != word.upper() and not word.isupper()


def _misspelt(word: str, rng: random.Random) -> str:
    if len(word) > LONGEST_WORD:  # of what is no word, its beginning
        return _misspelt(word[:LONGEST_WORD], rng) + word[LONGEST_WORD:]
    ways = [word[:i] + word[i + 1 :] for i in range(1, len(word) - 1)]  # without its end it is often another form
    ways += [word[:i] + word[i] + word[i:] for i in range(1, len(word))]
    ways += [word[:i] + word[i + 1] + word[i] + word[i + 2 :] for i in range(1, len(word) - 1)]
    wrong = [way for way in ways if way != word and way.lower() not in _OTHER_WORDS]
    return rng.choice(wrong)


def incorrect_verb_form(text: Text, source: str, rng: random.Random) -> str | None:
    """Up to three verbs a sentence stand in a form that is wrong where they are."""
    del source

    def other(sentence: str, spot: re.Match[str]) -> str | None:
        word = spot.group()
        if not (word.islower() or spot.start() == 0):
            return None
        return _wrong_form(word.lower(), sentence, spot, rng)

    return substituted(text, rng, other, most=3)


def _wrong_form(word: str, sentence: str, spot: re.Match[str], rng: random.Random) -> str | None:
    before = previous_word(sentence, spot)
    if before in BEFORE_BASE and word in BASES:
        return rng.choice([BASES[word], ing(word)])
    straight = word.replace("’", "'")
    if straight in _AGREE:
        other = _AGREE[straight].replace("'", "’") if "’" in word else _AGREE[straight]
        return other if _agrees(straight, before, sentence, spot) else None
    helper = before_adverbs(sentence, spot)
    if helper in _BEFORE_PARTICIPLE and word in PARTICIPLES and PARTICIPLES[word] != word:
        return PARTICIPLES[word]
    if before in _PLURAL and word in BASES:
        return BASES[word]
    if not helper or helper in BEFORE_NOUN - _PRONOUNS or helper in _BEFORE_PARTICIPLE:
        return None
    if word in THIRDS:
        return THIRDS[word] if before in _PRONOUNS or word not in ALSO_NOUNS else None
    if word not in PASTS or (word in _ALSO_OTHER and before not in SUBJECTS):
        return None
    if word in PARTICIPLES and helper not in SUBJECTS:  # it may be one: "the film released in May"
        return _base_behind(word, helper)
    return ing(PASTS[word])


def _base_behind(word: str, noun: str) -> str | None:
    """The verb as it is never right behind a noun in the singular; None where it could be a noun itself."""
    base = PASTS[word]
    several_of_them = noun in _PLURALS or noun.endswith("s") or noun in _COLLECTIVE | _UNSURE
    return None if several_of_them or BASES[base] in ALSO_NOUNS else base


def _agrees(word: str, before: str, sentence: str, spot: re.Match[str]) -> bool:
    """Whether the other number of a verb is sure to be wrong: not with clubs, after "if", or before "a lot"."""
    known = sentence[: spot.start()].lower()
    if before in _COLLECTIVE | _UNSURE or re.search(r"\b(?:either|neither|none|number|lot|half|some|most) of\b", known):
        return False
    if word in ("was", "were", "wasn't", "weren't") and re.search(r"\b(?:if|wish\w*|though|suppose)\b", known):
        return False
    if before == "there" and re.match(
        r"\s+(?:(?:a|an|the)\s+(?:lot|number|couple|few|bunch)|lots|plenty|no|more|some|enough|\w+ and)\b",
        sentence[spot.end() :],
    ):
        return False
    plural = word.startswith(("are", "were", "have", "do"))
    if not plural or word.startswith("does"):
        return True
    return before in _PLURALS | _PRONOUNS or before in ("i", "there") or before[-1:] == "s" != before[-2:-1]


def uncommon_phrase(text: Text, source: str, rng: random.Random) -> str | None:
    """Up to four common words a sentence give way to rare ones that mean the same."""
    del source
    return substituted(text, rng, listed(UNCOMMON), most=4)


def complex_sentence(text: Text, source: str, rng: random.Random) -> str | None:
    """Statements are put into a clause of a sentence that only says that they hold."""
    del source

    def change(sentence: str) -> str | None:
        first = WORD.match(sentence)
        if first is None or first.group().lower() not in _SUBJECTS or not stated(sentence.lower().split()):
            return None
        if re.search(r"[?!][\"'”’)\]]*$", sentence):
            return None
        wrap = rng.choice(_WRAPS)
        return f"{wrap if sentence[0].isupper() else wrap.lower()} {lowered(sentence)}"

    return text.each(change)
