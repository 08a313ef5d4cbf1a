"""The eleven aspects of quality as a tree, what each perturbation should move in it, and which aspect a criterion is.

Xinyu Hu, Mingqi Gao, Sen Hu, Yang Zhang, Yicheng Chen, Teng Xu and Xiaojun Wan, "Are LLM-based Evaluators Confusing NLG
Quality Criteria?", ACL 2024: the tree is its Figure 3, the expectations are its Table 21. Definitions are our own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

OVERALL = "overall quality"
"""The root of the tree; a verdict's own score stands for it."""

Expected = Literal["falls", "still", "disputed"]
"""What a perturbation should do to the scores of an aspect: ``"falls"`` (S_T), ``"still"`` (S_F: they should not move),
or ``"disputed"``: the tree and the people who were asked say different things, and nothing is tested."""


@dataclass(frozen=True, slots=True)
class Aspect:
    """One aspect of quality.

    Attributes:
        name: What it is called here.
        parent: The wider aspect that takes it in; None for overall quality.
        definition: What a high rating says.
        stems: How words begin by which criteria speak of it.
    """

    name: str
    parent: str | None
    definition: str
    stems: tuple[str, ...]


_TREE = (
    Aspect(
        OVERALL, None, "The text is good in itself, and it does what the task wanted with the source.", ("overall",)
    ),
    Aspect(
        "readability",
        OVERALL,
        "Both its sentences and their sequence read easily and make clear sense; the source does not matter.",
        ("readab", "legib", "clarity", "clear", "understandab", "comprehensib", "easy to follow", "well written"),
    ),
    Aspect(
        "fluency",
        "readability",
        "Each sentence, taken alone, sounds natural, says things once, and breaks no rule of the language.",
        ("fluen", "natural", "repetit", "repeats", "redundan", "smooth"),
    ),
    Aspect(
        "grammaticality",
        "fluency",
        "Words are spelt, inflected and ordered as the language demands, whatever they say.",
        ("gramma", "spell", "syntax", "syntactic", "punctuation", "typo", "verb form"),
    ),
    Aspect(
        "coherence",
        "readability",
        "Each sentence follows sensibly from the ones before, in a good order and with connectives that fit.",
        ("coheren", "cohesi", "logic", "structur", "organi", "transition", "order of", "flow"),
    ),
    Aspect(
        "simplicity",
        "readability",
        "Common words and plain sentence patterns, which a learner of the language can follow.",
        ("simpl", "plain", "jargon", "common words"),
    ),
    Aspect(
        "adequacy",
        OVERALL,
        "It holds what the task wanted from the source, that only, and holds it correctly.",
        ("adequa", "relevan", "appropriate", "on topic", "to the point"),
    ),
    Aspect(
        "faithfulness",
        "adequacy",
        "Everything it says is borne out by the source.",
        ("faithful", "factual", "fact", "accura", "truth", "grounded", "correct", "consisten"),
    ),
    Aspect(
        "non-contradiction",
        "faithfulness",
        "It says nothing that goes against the source.",
        ("contradict", "noncontradict", "conflict"),
    ),
    Aspect(
        "non-hallucination",
        "faithfulness",
        "It adds nothing that the source leaves open.",
        ("hallucinat", "nonhallucinat", "fabricat", r"invent(?:s|ed|ing)?\b", "made up", "unsupported", "unverifi"),
    ),
    Aspect(
        "informativeness",
        "adequacy",
        "Nothing that the task wanted from the source is missing or has become vague.",
        (
            "informativ",
            r"complete\b",
            "completeness",
            "incomplete",
            "cover",
            "thorough",
            "comprehensive",
            "detail",
            "missing",
            "omi[ts]",
        ),
    ),
)
ASPECTS: Mapping[str, Aspect] = MappingProxyType({aspect.name: aspect for aspect in _TREE})
"""The aspects by name, each parent before its children."""


def ancestors(name: str) -> Iterator[str]:
    """The aspect and every wider one, up to overall quality."""
    at: str | None = name
    while at is not None:
        yield at
        at = ASPECTS[at].parent


_QUALIFIER = r"(?:correct|accura|consisten)\w*"
_FORM = r"(?:gramma|spell|punctuat|synta|typo|verb form|tone)"
_OF_FORM = re.compile(
    rf"\b{_QUALIFIER} (?:(?!and |or )\w+ ){{0,2}}(?={_FORM})|(?P<form>\b{_FORM}\w* (?:is |are )?){_QUALIFIER}"
)
"""Words of faithfulness, speaking of language: "correct spelling", "consistency of tone", "grammatically correct"."""
_AGAINST = re.compile(r"\b(?:source|facts?|article|context|document)\b")
"""With one of these a conflict is a contradiction; else it may be that of a plot."""

_READABLE = frozenset({"readability", OVERALL})
_FLUENT = frozenset({"fluency"}) | _READABLE
_GRAMMAR = frozenset({"grammaticality"}) | _FLUENT
_COHERENT = frozenset({"coherence"}) | _READABLE
_INFORMED = frozenset({"informativeness", "adequacy", OVERALL})
_FAITHFUL = frozenset({"faithfulness", "adequacy", OVERALL})
_INVENTED = frozenset({"non-hallucination"}) | _FAITHFUL
_CONTRARY = frozenset({"non-contradiction", "non-hallucination", "informativeness"}) | _FAITHFUL

_TARGETS: Mapping[str, tuple[str, frozenset[str]]] = {
    "repetition": ("fluency", frozenset()),
    "passive-voice": ("fluency", frozenset({"fluency", "readability"})),
    "inversion": ("fluency", _FLUENT),
    "improper-connective": ("coherence", _COHERENT),
    "sentence-exchange": ("coherence", _COHERENT),
    "incorrect-verb-form": ("grammaticality", _GRAMMAR),
    "word-exchange": ("grammaticality", _GRAMMAR),
    "spelling-mistake": ("grammaticality", _GRAMMAR - {"readability"}),
    "uncommon-phrase": ("simplicity", frozenset({"simplicity", "readability"})),
    "complex-sentence": ("simplicity", frozenset({"simplicity"})),
    "abbreviation": ("informativeness", _INFORMED),
    "hypernym": ("informativeness", _INFORMED),
    "sentence-deletion": ("informativeness", _INFORMED),
    "complement": ("non-hallucination", _INVENTED),
    "continuation": ("non-hallucination", _INVENTED),
    "different-entity": ("non-contradiction", _CONTRARY),
    "conflicting-fact": ("non-contradiction", _CONTRARY),
    "negation": ("non-contradiction", _CONTRARY),
}
"""By perturbation: the aspect aimed at, and the aspects that people found affected (Table 21, left-hand marks)."""


@dataclass(frozen=True, slots=True)
class Effect:
    """What a perturbation should do. The three sets are disjoint, and together they are the eleven aspects.

    Attributes:
        target: The aspect that it aims at.
        falls: S_T: aspects whose scores should fall; tree and people agree that they are affected.
        still: S_F: aspects whose scores should not move; tree and people agree that they are not affected.
        disputed: Aspects on which tree and people differ.
    """

    target: str
    falls: frozenset[str]
    still: frozenset[str]
    disputed: frozenset[str]

    def on(self, aspect: str) -> Expected:
        """What is expected of an aspect."""
        if aspect in self.falls:
            return "falls"
        return "still" if aspect in self.still else "disputed"


def _effect(target: str, people: frozenset[str]) -> Effect:
    tree = frozenset(ancestors(target))
    if target == "non-contradiction":
        tree |= {"informativeness"}  # what is told wrongly is not told
    return Effect(target, tree & people, frozenset(ASPECTS) - tree - people, tree ^ people)


EFFECTS: Mapping[str, Effect] = MappingProxyType({name: _effect(*given) for name, given in _TARGETS.items()})
"""What each of the 18 perturbations should do, by its name, in the order of the paper's Table 6."""


@dataclass(frozen=True, slots=True)
class Matched:
    """Which aspect a criterion stands for.

    Attributes:
        criterion: Its name.
        aspect: The aspect, or None where it cannot be told.
        why: What this rests on.
    """

    criterion: str
    aspect: str | None
    why: str


def match_aspect(name: str, definition: str = "") -> Matched:
    """Which aspect a criterion stands for, by its words. Deterministic, and simple on purpose: read what it says.

    The name decides where words of it begin like those of an aspect (``Aspect.stems``): the aspect with most of them,
    and among equals the one spoken of first. Otherwise the definition does, if one aspect has more such words in it
    than any other. Else the criterion stands for none. "Correct", "accurate" and "consistent" count for nothing beside
    grammar, spelling or tone, nor does a conflict where neither a source nor facts are spoken of.
    """
    found = _spoken_of(name)
    if found:
        aspect, (_, _, word) = min(found.items(), key=lambda item: (-item[1][0], item[1][1]))
        return Matched(name, aspect, f"its name has {word!r}")
    found = _spoken_of(definition)
    most = max((count for count, _, _ in found.values()), default=0)
    best = [aspect for aspect, (count, _, _) in found.items() if count == most]
    if not best:
        return Matched(name, None, "neither its name nor its definition speaks of one of the eleven aspects")
    if len(best) > 1:
        return Matched(name, None, f"its definition speaks as much of {' as of '.join(best)}")
    return Matched(name, best[0], f"its definition has {found[best[0]][2]!r}")


def _spoken_of(text: str) -> dict[str, tuple[int, int, str]]:
    """By aspect: how many words speak of it, where the first one stands, and that word."""
    plain = re.sub(r"\bnon[\s-]+", "non", text.lower()).replace("-", " ").replace("_", " ")
    plain = _OF_FORM.sub(r"\g<form>", plain)
    if not _AGAINST.search(plain):
        plain = re.sub(r"\bconflict\w*", "", plain)
    found = {}
    for aspect in _TREE:
        hits = [m for stem in aspect.stems for m in re.finditer(rf"\b{stem}\w*", plain)]
        if hits:
            first = min(hits, key=lambda hit: hit.start())
            found[aspect.name] = (len({hit.start() for hit in hits}), first.start(), first.group())
    return found
