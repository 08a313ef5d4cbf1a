"""Perturbations by rule that say what neither source nor text does: more than they have, or another thing."""

from __future__ import annotations

import random
import re

from active_critic.probes._contexts import BEFORE_BASE, SUBJECTS, fits, next_word, previous_word
from active_critic.probes._sentences import WORD, Text, cased, replaced, spots
from active_critic.probes._words import CONTINUED, FABRICATED, KINDS

_NUMBER = re.compile(r"[0-9]+(?:[.,][0-9]+)*")
_OTHERS = {word: [other for other in kind if other != word] for kind in KINDS for word in kind}
_NATIONS = next(kind for kind in KINDS if "German" in kind)
_OTHERS |= {word.lower(): [other.lower() for other in _NATIONS if other != word] for word in _NATIONS}
_MONTHS = frozenset(word.lower() for kind in KINDS if "January" in kind for word in kind) | {"may"}


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
