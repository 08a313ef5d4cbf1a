"""Perturbations by rule that say the contrary: by opposites, and by a "not" that comes or goes."""

from __future__ import annotations

import random
import re

from active_critic.probes._contexts import (
    ALSO_NOUNS,
    AUXILIARIES,
    BEFORE_BASE,
    BEFORE_NOUN,
    DETERMINERS,
    SUBJECTS,
    fits,
    next_word,
    previous_word,
)
from active_critic.probes._sentences import Text, cased, plain, spots, substituted
from active_critic.probes._words import BASES, OPPOSITES, PARTICIPLES, PASTS, THIRDS, several

_COUNTED = several("children men people women")
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
