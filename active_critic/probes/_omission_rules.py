"""Perturbations by rule that leave something out: details, sentences, or how exactly a thing is named."""

from __future__ import annotations

import random
import re
from collections import Counter

from active_critic.probes._contexts import (
    AUXILIARIES,
    BEFORE_BASE,
    BEFORE_NOUN,
    DETERMINERS,
    PREPOSITIONS,
    SUBJECTS,
    before_noun,
    fits,
    negative,
    previous_word,
    stated,
)
from active_critic.probes._sentences import ITEM, WORD, Text, cut_off, plain, spots, substituted
from active_critic.probes._words import HYPERNYMS, several

_LEFT_OUT = (
    re.compile(r"\s{1,3}\([^()]{0,300}\)"),
    re.compile(  # within a sentence, a full stop before a space is that of an abbreviation
        r"\s?,\s(?:who|whose|which|where|including|such as|especially)\b"
        r"(?:[^,.;!?]|\.(?=\s)|[,.;!?](?=[^\s\"'”’)\]])){0,300}(?:,(?=\s)|(?=;\s)|(?=\s?[.!?]*[\"'”’)\]]*$))"
    ),
    re.compile(
        r"(?:\s?,)?\s(?:because|although|while|when|after|before|since|despite|during)\s(?=\w)"
        r"[^,;]{0,300}?(?=\s?[.!?]*[\"'”’)\]]*$)"
    ),
    re.compile(
        r"(?:\s?,)?\s(?:and|but|so)\s(?:he|she|it|they|we|I|i|you|there)\s[^;]{0,300}?(?=\s?[.!?]*[\"'”’)\]]*$)"
    ),
    re.compile(
        r"\s(?:angrily|awkwardly|badly|beautifully|boldly|bravely|briefly|brightly|brutally|calmly|carefully|cautiously"
        r"|cheerfully|cleverly|coldly|comfortably|completely|constantly|deeply|desperately|dramatically|eagerly|elegantly"
        r"|eventually|excitedly|extremely|fiercely|finally|firmly|freely|gently|gladly|gracefully|gradually|greatly"
        r"|happily|heavily|highly|hugely|immediately|incredibly|instantly|joyfully|kindly|lazily|lightly|loudly|lovingly"
        r"|luckily|narrowly|neatly|nervously|nicely|openly|patiently|peacefully|perfectly|politely|promptly|proudly"
        r"|publicly|quickly|quietly|rapidly|really|regularly|repeatedly|sadly|severely|sharply|silently|slightly|slowly"
        r"|smoothly|softly|steadily|strongly|suddenly|sweetly|swiftly|terribly|thoroughly|tightly|totally|unexpectedly"
        r"|utterly|violently|warmly|weakly|wildly)\b(?=\s[a-z]|\s?[.!?]*$)"
    ),
    re.compile(r"\s(?:very|quite|extremely|rather)\b(?=\s(?!first|last|same|the|a\b|an\b|than|much|few|well\b)[a-z])"),
)
_CLAUSES = _LEFT_OUT[2:4]
_DANGLING = several(
    """
    a am an and are as at be because become becomes been but by even ever everything except for from had has have
    how i if in is it just later like long my no not of on only or right shortly so soon still than that the then
    this to until was we well were what when where which who why with years days hours minutes months weeks day hour
    minute moment month night time week year comes came goes went happened happens one two three four five six they
    you he she there me
    """
)
"""Words that the rest of a sentence does not end in where what followed can be spared."""
_SHORT_VERB = re.compile(r"(?:^|['’])(?:s|m|re|ve|ll|d)$")
"""Of "it's" and the like, together or apart: no statement ends there either."""
_KEEP = 3  # words that have to be left of a sentence
_GRAMMAR = (
    AUXILIARIES
    | BEFORE_BASE
    | BEFORE_NOUN
    | DETERMINERS
    | PREPOSITIONS
    | SUBJECTS
    | several(
        """
        all also but hello hi him how if just know maybe me more not oh okay ok please quite really so sorry sure thank
        thanks them then there think too us very well what when where which why yes you
        """
    )
)
_SAID, _WORDS_SAID = 2, 4
"""Words beyond those of grammar, and words in all, that a sentence has to have for its loss to be one."""
_LETTERS_SAID = 8
"""As many letters of a script without spaces say as much."""
_MASS = several(
    """
    football tennis basketball baseball cricket soccer golf rugby cake bread pizza rice cheese coffee tea beer wine
    cancer malaria measles flu aspirin oil gas coal murder robbery theft fraud
    """
)
"""Nouns that need no article, as what they are a kind of needs none."""
_PLACES = several(
    """
    beach bird bridge castle church city cow horse hotel house lake lion oak park river street tower town university
    village
    """
)
"""Without an article or an adjective before them, these are part of a name."""
_PLURALS = several("men women")
_MEALS = several("dinner lunch breakfast")


def abbreviation(text: Text, source: str, rng: random.Random) -> str | None:
    """Asides, subordinate clauses at the end, and adverbs are left out."""
    del source, rng

    def change(sentence: str) -> str | None:
        shorter = sentence
        for pattern in _LEFT_OUT if not negative(sentence) else _LEFT_OUT[:2]:
            cut = pattern.sub("", shorter)
            words = [word.group().lower() for word in WORD.finditer(cut)]
            whole = pattern not in _CLAUSES or (
                stated(words)
                and words[-1] not in _DANGLING
                and not _SHORT_VERB.search(words[-1])
                and not any(cut.count(q) != shorter.count(q) for q in '"“”')
            )
            if len(words) >= _KEEP and WORD.match(cut.lstrip("\"'“‘([")) and whole:
                shorter = cut
        return shorter if shorter != sentence else None

    return text.each(change)


def hypernym(text: Text, source: str, rng: random.Random) -> str | None:
    """Up to four nouns a sentence give way to what they are a kind of; none behind a "not", where that claims more."""
    del source
    kinds = {one: Counter(HYPERNYMS.get(spot.group().lower()) for spot in spots(one)) for one in text.sentences}

    def other(sentence: str, spot: re.Match[str]) -> str | None:
        alone = kinds[sentence][HYPERNYMS.get(spot.group().lower())] == 1  # no "sport or sport"
        return _wider(sentence, spot) if alone else None

    return substituted(text, rng, other, most=4)


def _wider(sentence: str, spot: re.Match[str]) -> str | None:
    word = plain(spot)
    if word is None or word not in HYPERNYMS or not fits(word, sentence, spot) or before_noun(sentence, spot):
        return None
    before = previous_word(sentence, spot)
    if before in BEFORE_BASE | SUBJECTS or negative(sentence[: spot.start()]):
        return None
    if word in _MEALS:
        return "meal" if before in DETERMINERS else "a meal" if before in PREPOSITIONS else None
    if word in _PLACES and before not in DETERMINERS:
        return None
    bare = not before or before in PREPOSITIONS
    return None if bare and word not in _MASS and not word.endswith("s") and word not in _PLURALS else HYPERNYMS[word]


def sentence_deletion(text: Text, source: str, rng: random.Random) -> str | None:
    """The last sentence is gone that says something new; what is cut off at the end of the text stays."""
    del source, rng
    parts, gaps = text.sentences, text.gaps
    said = [WORD.findall(one.lower()) for one in parts]
    last = len(parts) - 1
    able = [
        at
        for at in range(1, len(parts))
        if said[at] not in said[:at]
        and _says_something(parts[at])
        and not (cut_off(parts) if at == last else ITEM.match(parts[at]))  # no number of a list is missing
    ]
    if not able:
        return None
    at = able[-1]
    rest = parts[:at] + parts[at + 1 :]
    return Text(rest, gaps[:at] + gaps[at + 1 :]).with_sentences(rest)


def _says_something(sentence: str) -> bool:
    """Whether it has a few words and not grammar alone, or as much in a script without spaces."""
    words = WORD.findall(sentence.lower())
    more = [word for word in words if len(word) > 1 and word not in _GRAMMAR]
    if sum(letter >= "\u0e00" for letter in sentence) >= _LETTERS_SAID:
        return True
    return len(words) >= _WORDS_SAID and len(more) >= _SAID
