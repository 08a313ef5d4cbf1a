"""Why a text was suggested, in words for people; files name readings and figures instead."""

from __future__ import annotations

from typing import TYPE_CHECKING

from active_critic.weighing import CRITERION

if TYPE_CHECKING:
    from active_critic.suggesting import Suggestion

_READINGS = {
    "rating": "the rating",
    "approval": "the plain yes or no",
    "likelihood": "the likelihood of its words",
    "tokens": "how likely its words are one by one",
    "contrast": "how it resembles what people liked",
    "surface": "its surface",
}
"""What adds to the score, see ``Verdict.parts``."""
FIGURES = {
    "log_words": ("more words", "fewer words"),
    "log_characters": ("more characters", "fewer characters"),
    "log_words_per_sentence": ("longer sentences", "shorter sentences"),
    "log_word_length": ("longer words", "shorter words"),
    "words_from_source": ("more of its words are the source's", "fewer of its words are the source's"),
    "bigrams_from_source": (
        "more of its pairs of words are the source's",
        "fewer of its pairs of words are the source's",
    ),
    "characters_from_source": ("more of its spelling is the source's", "less of its spelling is the source's"),
    "source_words_kept": ("more of the source's words are in it", "fewer of the source's words are in it"),
    "source_characters_kept": ("more of the source's spelling is in it", "less of the source's spelling is in it"),
    "novelty": ("more of its wording is new", "less of its wording is new"),
    "log_length_ratio": ("longer for its source", "shorter for its source"),
    "compression_given_source": ("harder to tell from its source", "easier to tell from its source"),
    "words_from_reference": ("more of its words are the reference's", "fewer of its words are the reference's"),
    "reference_words_kept": ("more of the reference's words are in it", "fewer of the reference's words are in it"),
    "type_token_ratio": ("fewer repeated words", "more repeated words"),
    "repeated_bigrams": ("more repeated pairs of words", "fewer repeated pairs of words"),
    "repeated_trigrams": ("more repeated runs of three words", "fewer repeated runs of three words"),
    "compression_ratio": ("harder to compress", "easier to compress"),
    "punctuation_share": ("more punctuation", "less punctuation"),
    "digit_share": ("more digits", "fewer digits"),
}
"""What it means that a figure of the surface is higher, and that it is lower."""


def why_suggested(suggestion: Suggestion) -> str:
    """Why a text was suggested, in one sentence without names of figures."""
    if not suggestion.apart:
        return suggestion.because
    said = ", ".join(f"{_difference(name, by)} ({abs(by):.1f} sd)" for name, by in suggestion.apart.items())
    return f"least like all that is labelled or chosen; against the nearest, the {suggestion.nearest}: {said}"


def _difference(name: str, by: float) -> str:
    if name == "score":
        return "a higher score" if by > 0 else "a lower score"
    if name in FIGURES:
        higher, lower = FIGURES[name]
        return higher if by > 0 else lower
    reading = (
        f"the rating of {name.removeprefix(CRITERION)}" if name.startswith(CRITERION) else _READINGS.get(name, name)
    )
    return f"{reading} adds {'more' if by > 0 else 'less'} to the score"
