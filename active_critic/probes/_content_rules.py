"""Perturbations by rule that change what is said: less of it, more than the source has, or the contrary."""

from __future__ import annotations

import random
import re
from collections import Counter

from active_critic.probes._contexts import (
    ALSO_NOUNS,
    AUXILIARIES,
    BEFORE_BASE,
    BEFORE_NOUN,
    DETERMINERS,
    PREPOSITIONS,
    SUBJECTS,
    before_noun,
    fits,
    negative,
    next_word,
    previous_word,
    stated,
)
from active_critic.probes._sentences import ITEM, WORD, Text, cased, cut_off, plain, replaced, spots, substituted
from active_critic.probes._words import (
    BASES,
    CONTINUED,
    FABRICATED,
    HYPERNYMS,
    KINDS,
    OPPOSITES,
    PARTICIPLES,
    PASTS,
    THIRDS,
    several,
)

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
_NUMBER = re.compile(r"[0-9]+(?:[.,][0-9]+)*")
_OTHERS = {word: [other for other in kind if other != word] for kind in KINDS for word in kind}
_NATIONS = next(kind for kind in KINDS if "German" in kind)
_OTHERS |= {word.lower(): [other.lower() for other in _NATIONS if other != word] for word in _NATIONS}
_MONTHS = frozenset(word.lower() for kind in KINDS if "January" in kind for word in kind) | {"may"}
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
_COUNTED = _PLURALS | {"people", "children"}
_MEALS = several("dinner lunch breakfast")
_POLAR = several("always never likely unlikely able unable possible impossible")
"""Their opposites turn whatever else a sentence says: with a second opposite it could be true again."""
_AMOUNTS = several("more less many few fewer")
_REACH = 3
"""So many words behind one of the amounts, a second opposite would take back the first: "less easy"."""
_WITH = several(
    """
    about along chat chatting angry angrily begin busy charge contact covered date deal discussions dealt done end
    familiar filled fed happy live love met obsessed okay out pleased problem problems start stuck talk talking
    talks together touch trouble up what wrong away down sat satisfied sleep slept agree fit
    """
)
"""Words that a "with" belongs to."""
_WITHOUT = several("a an her him his me my our their them us you your")
_BE = several("am is are was were")
_HAVE = several("has have had")
_MODAL = several("could may might must shall should will would")
_NOT = re.compile(
    r"(?i)\b(?:(?P<helper>am|is|are|was|were|has|have|had|does|do|did|could|would|should|may|might|must|will|can)"
    r"(?: not\b| ?n['’]t\b)|(?P<will>w)on['’]t\b|(?P<can>can)(?:not\b|['’]t\b)|(?P<wo>wo|ca) n['’]t\b"
    r"|(?P<short>['’](?:m|re|ve|ll|s|d)) not\b)"
)
_HOW = re.compile(r"(?i)\bhow\b")
_SHORTENED = re.compile(
    r"(?i)\b(?:i|you|we|they|he|she|it|that|there) ?['’](?:m|re|ve|ll|s|d)"
    r"(?=\s(?!(?:better|even|just|merely|not|only|simply)\b)[a-z])"
)
_OUT_OF_PLACE = re.compile(
    r"(?i)\b(?:if|unless|whether|lest)\b|\b(?:not only|either|at all|anymore|any ?more|any longer|yet)\b"
)
"""With these, turning a statement makes no statement of it, or none that is English."""
_DENIED = re.compile(
    r"(?i)\b(?:no|none|never|nothing|nobody|nowhere|nor|neither|hardly|barely|scarcely|rarely|seldom|no longer)\b"
)
_ANY = re.compile(r"(?i)\bany(?=\b|one\b|thing\b|body\b|where\b)(?! ?more\b)")
_ADVERBS = several("already also always even ever finally just never now often once only since still then too")
_AFTER_SUBJECT = several("i you we they")
_RELATIVE = several("he she it that this who which")
_ASKED = re.compile(
    r"(?i)\b(?:am|is|are|was|were|have|has|had|do|does|did|can|could|will|would|should)(?: ?n['’]t)? "
    r"(?:i|you|he|she|it|we|they)\b"
    r"|^\W*(?:why|how|what|where|when|who|which) (?:am|is|are|was|were|have|has|had|do|does|did|can|could|will|would)\b"
)
_OBJECT = several(
    """
    a an the his her its my our their your this that these those him me us them it to one two three up off
    """
)
_NAMED = several("called given known left made named offered paid sent set shown told titled used")


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


def _unheard(choices: list[str], known: str) -> list[str]:
    """Those of which hardly a word stands in what is known."""
    said = {word.group().lower() for word in WORD.finditer(known)}
    long = {one: {w.group().lower() for w in WORD.finditer(one) if len(w.group()) > 4} for one in choices}
    return [one for one in choices if len(long[one] & said) * 2 < len(long[one])]


def complement(text: Text, source: str, rng: random.Random) -> str | None:
    """Every other statement gets a detail at its end that neither source nor text has."""
    able = [
        i
        for i, one in enumerate(text.sentences)
        if len(WORD.findall(one)) >= 4 and (one[-1] == "." or one[-1].isalnum())
    ]
    details = _unheard(list(FABRICATED), f"{source} {text.with_sentences(text.sentences)}")
    if not able or not details:
        return None
    parts = list(text.sentences)
    chosen = rng.sample(able, min(len(details), max(1, len(able) // 2)))
    for i, detail in zip(sorted(chosen), rng.sample(details, len(chosen)), strict=True):
        stop = "." if parts[i].endswith(".") else ""
        parts[i] = f"{parts[i].removesuffix('.')}, {detail}{stop}"
    return text.with_sentences(parts)


def continuation(text: Text, source: str, rng: random.Random) -> str | None:
    """A sentence follows that neither source nor text bears out."""
    more = _unheard(list(CONTINUED), f"{source} {text.with_sentences(text.sentences)}")
    if not more or sum(len(WORD.findall(one)) for one in text.sentences) < 3:
        return None
    parts = list(text.sentences)
    stop = "" if parts[-1][-1] in ".!?…\"'”’)" else "."
    parts[-1] += f"{stop} {rng.choice(more)}"
    return text.with_sentences(parts)


def different_entity(text: Text, source: str, rng: random.Random) -> str | None:
    """One number, name or thing a sentence is replaced by another of its kind, one that neither source nor text has.

    A name or thing is replaced wherever the text has it, by the same one.
    """
    known = {w.group().lower() for w in WORD.finditer(f"{source} {text.with_sentences(text.sentences)}")}
    names: dict[str, str] = {}
    numbers: dict[int, tuple[re.Match[str], str]] = {}
    for i, sentence in enumerate(text.sentences):
        able = [spot for spot in spots(sentence) if _is_entity(sentence, spot)]
        rng.shuffle(able)
        if any(spot.group() in names for spot in able):
            continue
        for spot in able:
            word = spot.group()
            if _NUMBER.fullmatch(word):
                ways = _other_numbers(sentence, spot)
            else:
                ways = [cased(one, word) for one in _OTHERS.get(word) or _OTHERS[word.lower()]]
            unheard = [one for one in ways if one.lower() not in known]
            if unheard:
                new = rng.choice(unheard)
                known.add(new.lower())
                if _NUMBER.fullmatch(word):
                    numbers[i] = (spot, new)
                else:
                    names[word] = new
                break
    parts = list(text.sentences)
    for i, sentence in enumerate(parts):
        found = [
            (one, names[one.group()]) for one in spots(sentence) if one.group() in names and _is_entity(sentence, one)
        ]
        for spot, new in sorted([*found, *([numbers[i]] if i in numbers else [])], key=lambda pair: -pair[0].start()):
            parts[i] = replaced(parts[i], spot, new)
    return text.with_sentences(parts) if names or numbers else None


def _is_entity(sentence: str, spot: re.Match[str]) -> bool:
    """Whether it is a number, or a name or thing of the lists that is no verb and no part of a longer name there."""
    word = spot.group()
    if _NUMBER.fullmatch(word):
        return not (spot.start() == 0 and re.match(r"\.\s", sentence[spot.end() :]))  # that of a list's item
    if not (word in _OTHERS or (spot.start() == 0 and word.lower() in _OTHERS)) or not fits(
        word.lower(), sentence, spot
    ):
        return False
    return not (word.islower() and previous_word(sentence, spot) in BEFORE_BASE | SUBJECTS)


def _other_numbers(sentence: str, spot: re.Match[str]) -> list[str]:
    """Numbers of the same form that can stand in its place: no 700 per cent, no 81 July, no plural behind a 1."""
    number, tail = spot.group(), sentence[spot.end() :]
    digits = [i for i, character in enumerate(number) if character.isdigit()]
    year = len(number) == 4 and number[:2] in ("19", "20")
    ways = [
        f"{number[:at]}{digit}{number[at + 1 :]}"
        for at in ([digits[-1]] if year else digits)
        for digit in range(1 if at == 0 else 0, 10)
        if str(digit) != number[at]
    ]
    head, again = sentence[: spot.start()], re.escape(number)
    if re.match(rf"\s?[-–]\s?{again}\b", tail) or re.search(rf"\b{again}\s?[-–]\s?$", head[-20:]):
        return []  # a draw
    most = 100 if re.match(r"\s?(?:%|per ?cent)", tail) else None
    if _value(number) <= 31 and {previous_word(sentence, spot), next_word(sentence, spot)} & _MONTHS:
        return [way for way in ways if 0 < _value(way) <= 28]
    if re.match(r"\s?(?:[ap]\.?m\b|o['’]clock)", tail):
        most = 12
    ways = [way for way in ways if most is None or _value(number) > most or 0 < _value(way) <= most]
    return [way for way in ways if (way == "1") == (number == "1")] if len(number) == 1 else ways


def _value(number: str) -> float:
    return float(re.sub(r"[^0-9.]", "", number.replace(",", "")) if number.count(".") < 2 else 0)


def conflicting_fact(text: Text, source: str, rng: random.Random) -> str | None:
    """Up to four words a sentence give way to their opposites; only one where it decides what the others say."""
    del source
    polar = {one for one in text.sentences if _POLAR & set(one.lower().split())}

    def other(sentence: str, spot: re.Match[str]) -> str | None:
        word = plain(spot)
        if word is None or (word not in _POLAR and sentence in polar):
            return None
        return None if _is_measured(sentence, spot) else _opposite(word, sentence, spot)

    return substituted(text, rng, other, most=4)


def _is_measured(sentence: str, spot: re.Match[str]) -> bool:
    """Whether one of the few words before it, with no comma or the like between, says how much of it there is."""
    before = re.split(r"[^\w\s'’-]", sentence[max(0, spot.start() - 80) : spot.start()])[-1]
    return bool(_AMOUNTS & set(before.lower().split()[-_REACH:]))


def _opposite(word: str, sentence: str, spot: re.Match[str]) -> str | None:
    if word not in OPPOSITES or not fits(word, sentence, spot):
        return None
    before, after = previous_word(sentence, spot), next_word(sentence, spot)
    if word == "with":
        return "without" if after in _WITHOUT and before not in _WITH and not before.endswith("ed") else None
    if word == "open":
        return "close" if before in BEFORE_BASE else "closed" if before in _BE else None
    if word in ("began", "started", "begins", "starts") and after.endswith("ing"):
        return "stopped" if word in ("began", "started") else "stops"
    if word == "more" and (after in _COUNTED or (after.endswith("s") and not after.endswith("ss"))):
        return "fewer"
    if word in ("refused", "refuses") and after != "to":
        return None
    if before in ("the", "a", "an") and not after:
        return None  # "in the cold", "the rich"
    return OPPOSITES[word]


def negation(text: Text, source: str, rng: random.Random) -> str | None:
    """The last statement that can be is turned: a "not" goes in where there is none, and out where there is one."""
    del source, rng
    parts = list(text.sentences)
    for i in reversed(range(len(parts))):
        if re.search(r"\?[\"'”’)\]]*$", parts[i]):
            continue
        turned = _turned(parts[i])
        if turned is not None:
            parts[i] = turned
            return text.with_sentences(parts)
    return None


def _turned(sentence: str) -> str | None:
    if _OUT_OF_PLACE.search(sentence) or _DENIED.search(sentence) or _ASKED.search(sentence):
        return None
    there = _NOT.search(sentence)
    if there is None:
        return _denied(sentence)
    if re.match(r"\s+(?:just|even|until|all|every|necessarily|much)\b", sentence[there.end() :]):
        return None
    if there["wo"] or there["will"]:
        whole = "can" if (there["wo"] or "").lower() == "ca" else "will"
    else:
        whole = there["helper"] or there["can"] or there["short"]
    tail = _ANY.sub(lambda found: cased("some", found.group()), sentence[there.end() :])
    return sentence[: there.start()] + cased(whole, there.group()) + tail


def _denied(sentence: str) -> str | None:
    """A statement with a "not" behind its first verb."""
    short, how = _SHORTENED.search(sentence), _HOW.search(sentence)
    words = spots(sentence)
    for i, spot in enumerate(words):
        word = spot.group()
        if short is not None and spot.start() >= short.end():
            return _without_some(sentence[: short.end()] + " not", sentence[short.end() :])
        if i == 0 or not word.islower():
            continue
        if how is not None and how.end() <= spot.start():  # "how tall they are not"
            continue
        new = _not(word, sentence, spot, [one.group() for one in words[i + 1 : i + 3]])
        if new is not None:
            return _without_some(sentence[: spot.start()] + new, sentence[spot.end() :])
    return None


def _without_some(head: str, tail: str) -> str:
    return head + re.sub(r"^(\s+)some\b", r"\1any", tail)


def _not(word: str, sentence: str, spot: re.Match[str], behind: list[str]) -> str | None:
    before = previous_word(sentence, spot)
    after, later = [*behind, "", ""][:2]
    adverb = after in _ADVERBS or after.endswith("ly")
    perfect = word in _HAVE and (_participle(after) or (adverb and after != "never" and _participle(later)))
    if after in ("just", "only", "even", "simply", "merely"):
        return None  # "not only"
    if (word in ("do", "does", "did") and after in ("", "so", "too")) or (word == "mean" and not after):
        return None  # "so I do", "I mean, ..."
    if word in ("do", "does", "did") and after not in _OBJECT:
        return f"{word} not"
    if word in _MODAL | {"can"} and before in DETERMINERS - {"that", "this", "these", "those", "s"}:
        return None  # a noun
    if word in _BE or word in _MODAL or perfect:
        return f"{word} not"
    if word in _HAVE and adverb:
        return None  # perhaps the perfect of a verb that is not listed, which takes no "did not"
    if word == "can":
        return "cannot"
    if not before or before in BEFORE_NOUN - _RELATIVE or before in AUXILIARIES | {"to", "not", "let"}:
        return None
    if word in THIRDS and (word not in ALSO_NOUNS or before in _RELATIVE):
        return f"does not {THIRDS[word]}"
    if word in PASTS and word not in BASES:
        sure = before in SUBJECTS or word not in PARTICIPLES or (after in _OBJECT and word not in _NAMED)
        return f"did not {PASTS[word]}" if sure else None
    return f"do not {word}" if word in BASES and before in _AFTER_SUBJECT else None


def _participle(word: str) -> bool:
    return word in PARTICIPLES or (len(word) > 4 and word.endswith(("ed", "en")) and not word.endswith("eed"))
