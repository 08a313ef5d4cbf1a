"""Perturbations by rule that change what is said: less of it, more than the source has, or the contrary."""

from __future__ import annotations

import random
import re

from active_critic.probes._language_rules import BEFORE_NOUN, previous_word
from active_critic.probes._sentences import WORD, Text, english, listed, replaced, substituted
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
    re.compile(r"\s{0,3}\([^()]{0,300}\)"),
    re.compile(  # within a sentence, a full stop before a space is that of an abbreviation
        r",\s(?:who|whose|which|where|including|such as|especially)\b"
        r"(?:[^,.;!?]|\.(?=\s)|[,.;!?](?=[^\s\"'”’)\]])){0,300}(?:,(?=\s)|(?=;\s)|(?=[.!?]*[\"'”’)\]]*$))"
    ),
    re.compile(r",?\s(?:because|although|while|when|after|before|since|despite|during)\s[^,;]{0,300}?(?=[.!?]*$)"),
    re.compile(r",?\s(?:and|but|so)\s(?:he|she|it|they|we|I|you|there)\s[^;]{0,300}?(?=[.!?]*$)"),
    re.compile(
        r"\s(?!(?:only|family|likely|unlikely|reply|apply|supply|rely|early|daily|weekly|monthly|yearly|friendly|ugly|silly"
        r"|elderly|lonely|lovely|deadly|holy|belly|jelly|bully|rally|ally|assembly|butterfly|multiply|imply|comply|nearly"
        r"|hardly)\b)[a-z]{3,}ly\b(?=\s[a-z]|[.!?]*$)"
    ),
    re.compile(r"\s(?:very|really|quite|extremely|rather)\b(?=\s[a-z])"),
)
_KEEP = 3  # words that have to be left of a sentence
_NUMBER = re.compile(r"[0-9]+(?:[.,][0-9]+)*")
_OTHERS = {word: [other for other in kind if other != word] for kind in KINDS for word in kind}
_NATIONS = next(kind for kind in KINDS if "German" in kind)
_OTHERS |= {word.lower(): [other.lower() for other in _NATIONS if other != word] for word in _NATIONS}
_BE = several("am is are was were")
_HAVE = several("has have had")
_MODAL = several("could may might must shall should will would")
_NOT = re.compile(
    r"(?<=\w )not |\b(?P<helper>is|are|was|were|has|have|had|does|do|did|could|would|should)n['’]t\b"
    r"|(?P<will>\b[Ww])on['’]t\b|(?P<can>\b[Cc]an)(?:not|['’]t)\b"
)
_ADVERBS = several("already also always even ever finally just never now often once only since still then too")
_AFTER_SUBJECT = several("i you we they")


def abbreviation(text: Text, source: str, rng: random.Random) -> str | None:
    """Asides, subordinate clauses at the end, and adverbs are left out."""
    del source, rng

    def change(sentence: str) -> str | None:
        shorter = sentence
        for pattern in _LEFT_OUT:
            cut = pattern.sub("", shorter)
            if len(WORD.findall(cut)) >= _KEEP and WORD.match(cut.lstrip("\"'“‘([")):
                shorter = cut
        return shorter if shorter != sentence else None

    return text.each(change)


def hypernym(text: Text, source: str, rng: random.Random) -> str | None:
    """Up to four nouns a sentence give way to what they are a kind of."""
    del source
    return substituted(text, rng, listed(HYPERNYMS), most=4)


def sentence_deletion(text: Text, source: str, rng: random.Random) -> str | None:
    """The last sentence is gone."""
    del source, rng
    if len(text.sentences) < 2:
        return None
    return Text(text.sentences[:-1], (*text.gaps[:-2], text.gaps[-1])).with_sentences(text.sentences[:-1])


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
    if not able or not details or not english(text):
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
    if not more or not english(text) or sum(len(WORD.findall(one)) for one in text.sentences) < 3:
        return None
    parts = list(text.sentences)
    stop = "" if parts[-1][-1] in ".!?…\"'”’)" else "."
    parts[-1] += f"{stop} {rng.choice(more)}"
    return text.with_sentences(parts)


def different_entity(text: Text, source: str, rng: random.Random) -> str | None:
    """One number, name or thing a sentence is replaced by another of its kind, one that is not in the source."""
    known = {w.group().lower() for w in WORD.finditer(f"{source} {text.with_sentences(text.sentences)}")}

    def other(_: str, spot: re.Match[str]) -> str | None:
        word = spot.group()
        if _NUMBER.fullmatch(word):
            return _other_number(word, known, rng)
        others = _OTHERS.get(word) or (_OTHERS.get(word.lower()) if spot.start() == 0 else None)
        if not others:
            return None
        return rng.choice([one for one in others if one.lower() not in known] or others)

    return substituted(text, rng, other)


def _other_number(number: str, known: set[str], rng: random.Random) -> str:
    digits = [i for i, character in enumerate(number) if character.isdigit()]
    year = len(number) == 4 and number[:2] in ("19", "20")
    at = digits[-1] if year else rng.choice(digits)
    low = 1 if at == 0 else 0
    ways = [f"{number[:at]}{digit}{number[at + 1 :]}" for digit in range(low, 10) if str(digit) != number[at]]
    if len(number) == 1 and number != "1":
        ways.remove("1")  # a plural follows
    return rng.choice([way for way in ways if way not in known] or ways)


def conflicting_fact(text: Text, source: str, rng: random.Random) -> str | None:
    """Up to four words a sentence give way to their opposites."""
    del source
    return substituted(text, rng, listed(OPPOSITES), most=4)


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
    there = _NOT.search(sentence)
    if there is not None:
        whole = there["helper"] or there["can"] or (there["will"] and there["will"] + "ill") or ""
        return sentence[: there.start()] + whole + sentence[there.end() :]
    words = list(WORD.finditer(sentence))
    for i, spot in enumerate(words):
        word = spot.group()
        if i == 0 or not word.islower():
            continue
        before = previous_word(sentence, spot)
        after, later = [*(one.group() for one in words[i + 1 : i + 3]), "", ""][:2]
        adverb = after in _ADVERBS or after.endswith("ly")
        perfect = word in _HAVE and (_participle(after) or (adverb and after != "never" and _participle(later)))
        if word in _BE or word in _MODAL or perfect:
            return replaced(sentence, spot, f"{word} not")
        if word in _HAVE and adverb:
            return None  # perhaps the perfect of a verb that is not listed, which takes no "did not"
        if word == "can":
            return replaced(sentence, spot, "cannot")
        if not before or before in BEFORE_NOUN or before in ("to", "not"):
            continue
        if word in THIRDS:
            return replaced(sentence, spot, f"does not {THIRDS[word]}")
        if word in PASTS and word not in BASES:
            return replaced(sentence, spot, f"did not {PASTS[word]}")
        if word in BASES and before in _AFTER_SUBJECT:
            return replaced(sentence, spot, f"do not {word}")
    return None


def _participle(word: str) -> bool:
    return word in PARTICIPLES or (len(word) > 4 and word.endswith("ed") and not word.endswith("eed"))
