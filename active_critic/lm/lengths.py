"""How long texts are for a model whose tokeniser is not asked."""

from __future__ import annotations

import re

CHARS_PER_TOKEN = 3.0
"""A cautious figure for English, so that texts that are said to fit a context window do fit."""
_LIKE_ENGLISH = re.compile("[\u0080-\u036f\u2000-\u206f]")
"""Latin letters with accents, curly quotes and dashes."""


def length_of(text: str) -> int:
    """Length of a text, in characters of English that take as many tokens at most.

    Tokenisers know other scripts less well. So a letter of these counts as its bytes in UTF-8: two for Cyrillic, Greek,
    Hebrew and Arabic (1.5 letters a token), three for Devanagari, Thai and Chinese (one a token).
    """
    return len(text) if text.isascii() else len(_measured(text))


def beginning_of(text: str, longest: int) -> str:
    """As much of the beginning of a text as is not longer than this by :func:`length_of`."""
    return text[: len(_measured(text)[:longest].decode("utf-8", "ignore"))]


def end_of(text: str, longest: int) -> str:
    """As much of the end of a text as is not longer than this by :func:`length_of`."""
    return beginning_of(text[::-1], longest)[::-1]


def _measured(text: str) -> bytes:
    """As many characters, with a byte for each one that counts as one."""
    return _LIKE_ENGLISH.sub("x", text).encode("utf-8", "replace")
