"""The figures of the surface floor: what can be counted in a text without understanding it."""

from __future__ import annotations

import math
import re
import unicodedata
import zlib
from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from active_critic.records import Example

Floats = NDArray[np.float64]

FEATURES = (
    "log_words",
    "log_characters",
    "log_words_per_sentence",
    "log_word_length",
    "words_from_source",
    "bigrams_from_source",
    "characters_from_source",
    "source_words_kept",
    "source_characters_kept",
    "novelty",
    "log_length_ratio",
    "compression_given_source",
    "words_from_reference",
    "reference_words_kept",
    "type_token_ratio",
    "repeated_bigrams",
    "repeated_trigrams",
    "compression_ratio",
    "punctuation_share",
    "digit_share",
)
"""Names of the figures, in the order of ``figures_of``."""

_WORD = re.compile(r"\w+")
_SENTENCE_END = re.compile(r"(?<![.!?…。！？])[.!?…。！？]++(?=\s|$)|[。！？]")  # a run is looked at once
_ZLIB_WINDOW = 32_768


def copied_shares(example: Example) -> tuple[float, float]:
    """Of the response's runs of three words, the share that its source has, and of the source's, that the response has.

    Both 0 to 1; 0 where there are no such runs.
    """
    response, source = _grams(_words(example.response), 3), _grams(_words(example.source), 3)
    return _share_in(response, source), _share_in(source, response)


def beyond_most(shares: Iterable[float]) -> float:
    """Beyond which share a response is a copy, from what examples copy: half-way from the most of any of them to all.

    Where people copy, copying is no fault.
    """
    return (1 + max(shares)) / 2


def figures_of(examples: Sequence[Example]) -> Floats:
    """The figures of several examples, shape ``(n, len(FEATURES))``; NaN where there is nothing to compare with.

    Lengths are natural logarithms of 1 + a count (or 1 + a mean, per word and per sentence), sentences are counted by
    closing punctuation, words are compared in lower case. The other figures are shares, 0 to 1 unless said otherwise:

    - ``words_``, ``bigrams_`` and ``characters_from_source``: of the response's words, pairs of neighbouring words and
      different runs of four characters, how many the source has; ``source_words_kept`` and ``source_characters_kept``:
      of those of the source, how many the response has. ``novelty``: the share of the response's trigrams that the
      source does not have. ``log_length_ratio``: logarithm of the ratio of the word counts.
    - ``words_from_reference``, ``reference_words_kept``: precision and recall of words against the reference, each
      word as often as it occurs on both sides (ROUGE-1; Lin, 2004).
    - ``repeated_bigrams``, ``repeated_trigrams``: the share that occurred in the response before.
    - ``compression_ratio``: the zlib size over the size in bytes (above 1 for a few bytes);
      ``compression_given_source``: the same when the compressor has already seen the source.
    """
    return np.array([_measured(example) for example in examples], dtype=np.float64).reshape(-1, len(FEATURES))


def _measured(example: Example) -> list[float]:
    text = example.response
    words, characters = _words(text), [character for character in text if not character.isspace()]
    raw = text.encode("utf-8", "replace")
    sentences = max(1, len(_SENTENCE_END.findall(text)))
    bigrams, trigrams = _grams(words, 2), _grams(words, 3)
    punctuation = sum(unicodedata.category(character)[0] == "P" for character in characters)
    return [
        math.log1p(len(words)),
        math.log1p(len(characters)),
        math.log1p(len(words) / sentences),
        math.log1p(_part(sum(map(len, words)), len(words))),
        *_against_source(example, words, raw),
        *_against_reference(example, words),
        _part(len(set(words)), len(words)),
        _part(len(bigrams) - len(set(bigrams)), len(bigrams)),
        _part(len(trigrams) - len(set(trigrams)), len(trigrams)),
        _part(len(zlib.compress(raw, 6)), len(raw)),
        _part(punctuation, len(characters)),
        _part(sum(character.isdigit() for character in characters), len(characters)),
    ]


def _against_source(example: Example, words: list[str], raw: bytes) -> list[float]:
    source = _words(example.source)
    if not source:
        return [math.nan] * 8
    runs, source_runs = _runs(example.response), _runs(example.source)
    trigrams = _grams(words, 3)
    return [
        _share_in(words, source),
        _share_in(_grams(words, 2), _grams(source, 2)),
        _part(len(runs & source_runs), len(runs)),
        _share_in(sorted(set(source)), words),
        _part(len(runs & source_runs), len(source_runs)),
        1.0 - _share_in(trigrams, _grams(source, 3)) if trigrams else 0.0,
        math.log((1 + len(words)) / (1 + len(source))),
        _part(_size_after(example.source.encode("utf-8", "replace"), raw), len(raw)),
    ]


def _against_reference(example: Example, words: list[str]) -> list[float]:
    reference = _words(example.reference or "")
    if not reference:
        return [math.nan] * 2
    shared = (Counter(words) & Counter(reference)).total()
    return [_part(shared, len(words)), _part(shared, len(reference))]


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower())


def _grams(words: Sequence[str], n: int) -> list[tuple[str, ...]]:
    return list(zip(*(words[i:] for i in range(n)), strict=False))


def _runs(text: str) -> set[str]:
    low = text.lower()
    return {low[i : i + 4] for i in range(len(low) - 3)}


def _share_in(items: Sequence[object], others: Sequence[object]) -> float:
    """The part of the items that also occur among the others, 0 to 1; 0 when there are none."""
    known = set(others)
    return _part(sum(item in known for item in items), len(items))


def _part(count: float, total: int) -> float:
    return count / total if total else 0.0


def _size_after(seen: bytes, raw: bytes) -> int:
    compressor = zlib.compressobj(6, zdict=seen[-_ZLIB_WINDOW:])
    return len(compressor.compress(raw)) + len(compressor.flush())
