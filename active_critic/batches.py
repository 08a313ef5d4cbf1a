"""Mini-batches of scored examples, and how they stand in a prompt: shortened to what the context window holds."""

from __future__ import annotations

import random
from collections.abc import Sequence

from active_critic.lm.lengths import CHARS_PER_TOKEN, beginning_of, end_of, length_of
from active_critic.quoting import marked, quote
from active_critic.records import Example, Scale

BATCH_SIZE = 5
BEST = 3
DEFAULT_CONTEXT = 8192
"""Tokens assumed for a model whose context window is not known."""
COMMENT = 300
"""Characters of a comment that the model is shown, by ``length_of``."""
SHORTENED = "(the first two thirds and the last third of their share of the context were kept); scoring sees them whole"


def batches(examples: Sequence[Example], seed: int) -> list[list[Example]]:
    """Mini-batches that each span the scores: sorted by score, ties shuffled, and dealt out like cards.

    As few batches as hold ``BATCH_SIZE`` examples each at most, whose sizes differ by one at most.
    """
    shuffled = list(examples)
    rng = random.Random(seed)  # noqa: S311
    rng.shuffle(shuffled)
    shuffled.sort(key=lambda example: example.score or 0.0)
    count = max(1, -(-len(shuffled) // BATCH_SIZE))
    dealt = [shuffled[start::count] for start in range(count)]
    rng.shuffle(dealt)
    for batch in dealt:
        rng.shuffle(batch)
    return dealt


def commented(example: Example, most: int = COMMENT) -> list[str]:
    """The line of a prompt with what whoever scored said of an example; none where they said nothing.

    Args:
        example: The example.
        most: The longest comment, by ``length_of``; no longer than ``COMMENT``.
    """
    said = " ".join((example.comment or "").split())
    return [f"What they said of it: {quote(beginning_of(said, min(most, COMMENT)))}"] if said else []


class Shortener:
    """Shortens texts so that so many examples take at most half of the context window.

    A text that is longer keeps the first two thirds and the last third of its share, with a mark in between. Half of an
    example's share is its response's; the source has what is left. ``shortened`` counts them. Context is in tokens, and
    lengths are by ``length_of``; no share is more than ``most``.
    """

    def __init__(self, context: int, count: int = BATCH_SIZE, most: int | None = None) -> None:
        self.room = int(context * CHARS_PER_TOKEN / 2)
        self.share = self.room // count if most is None else min(self.room // count, most)
        self.shortened = 0

    def _fit(self, text: str, longest: int) -> str:
        if length_of(text) <= longest:
            return text
        self.shortened += 1
        return f"{beginning_of(text, longest * 2 // 3)} [...] {end_of(text, longest // 3)}"

    def shown(self, number: int, example: Example, *below: str, blank_source: bool = True) -> str:
        """An example as it stands in the prompt, its texts shortened and quoted.

        Args:
            number: Its number, from 1.
            example: The example.
            below: Lines with its scores, under which stands what people said of it; without any, it does not.
            blank_source: Whether a source that says nothing stands there, too.
        """
        said = commented(example, self.share // 4) if below else []
        share = self.share - sum(map(length_of, said))
        response = quote(self._fit(example.response, share // 2))
        source = quote(self._fit(example.source, share - length_of(response)))
        above = [marked("source", source)] if blank_source or source.strip() else []
        return "\n".join([f"Example {number}", *above, marked("response", response), *below, *said])

    def batch(self, examples: Sequence[Example], scale: Scale) -> str:
        """A mini-batch as it stands in the prompt, with the scores as 0-100 and what people said of it."""
        shown = []
        for number, example in enumerate(examples, 1):
            score = scale.to_percent(example.score if example.score is not None else scale.low)
            shown.append(self.shown(number, example, f"Score people gave (0-100): {score:.0f}"))
        return "\n\n".join(shown)

    def best(self, examples: Sequence[Example]) -> str:
        """Those of a mini-batch that people scored highest, ``BEST`` at most: what was asked for shows in good ones."""
        best = sorted(examples, key=lambda example: example.score or 0.0, reverse=True)[:BEST]
        return "\n\n".join(self.shown(number, example) for number, example in enumerate(best, 1))
