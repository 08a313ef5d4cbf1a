"""Training sets that grow: nested, by document, and spread over the scores."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256

from active_critic.data.examples import Examples, example_key, group_of, human_score

SPREAD = 3
"""Documents that the smallest sets are spread over, and bands that documents are sorted into by their scores."""


def growing(data: Examples, pool: Sequence[int], seed: int) -> list[int]:
    """An order of the pool; its first n examples are the training set of n, so that each set is part of all larger.

    Documents (see ``examples.group_of``) are sorted into three bands by their mean score, of nearly equal size, and
    come in an order in which three that follow each other are of three bands. The first three are taken in turns, an
    example each, so that the smallest set is not of one document; after them documents are whole, and a set ends
    within one where its size asks for that. More documents to begin with would be better for small sets and would
    mislead about larger ones: twice the labels would then be little more than the same documents again. Within the
    turns high and low scores of a document take turns too. So every set spans the scores about as the pool does. The
    order of rows makes no difference, except between rows of the same text.

    Args:
        data: Scored examples.
        pool: Positions in them.
        seed: Another seed, another order.

    Returns:
        The same positions in another order.
    """
    documents: dict[str, list[int]] = {}
    for place in sorted(pool, key=lambda place: (human_score(data[place]), _drawn(seed, example_key(data[place])))):
        documents.setdefault(group_of(data[place]), []).append(place)
    means = {
        name: sum(human_score(data[place]) for place in places) / len(places) for name, places in documents.items()
    }
    names = sorted(documents, key=lambda name: (means[name], _drawn(seed, name)))
    bands: dict[int, list[str]] = {}
    for rank, name in enumerate(names):
        bands.setdefault(rank * SPREAD // len(names), []).append(name)
    for number, band in bands.items():
        band.sort(key=lambda name: _drawn(seed, f"band {number}", name))
    order: list[tuple[int, str]] = []
    while any(bands.values()):
        left = [(number, band.pop()) for number, band in bands.items() if band]
        order += sorted(left, key=lambda one: _drawn(seed, *one))
    taken: list[int] = []
    first = [(number, documents[name]) for number, name in order[:SPREAD]]
    turn = 0
    while any(left for _, left in first):
        for number, places in first:
            if places:
                # From low to high scores within the document, starting with the band that the document is in.
                step = (number + turn) % SPREAD
                taken.append(places.pop((2 * step + 1) * len(places) // (2 * SPREAD)))
        turn += 1
    for _, name in order[SPREAD:]:
        taken += sorted(documents[name], key=lambda place: _drawn(seed, example_key(data[place])))
    return taken


def _drawn(seed: int, *what: object) -> str:
    """A key that sorts things as if shuffled, whatever order they come in."""
    return sha256("\n".join(map(str, (seed, *what))).encode("utf-8", "surrogatepass")).hexdigest()
