"""Public sets of human-scored texts: their cards, and loaders for the files that their publishers offer.

    from active_critic import public_data

    examples = public_data.get("sfres")
    print(public_data.describe("sfres").licence)

Nothing of these sets is redistributed: a file is fetched from its publisher on first use, checked and kept in the
user's cache, or read from where the user has it (``source=``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType

from active_critic.data import read_examples
from active_critic.data.examples import Examples
from active_critic.public_data.cards import NAMES, Card, find
from active_critic.public_data.download import Progress, ensure, is_cached, local_file
from active_critic.public_data.parsers import PublicRecord, parse

__all__ = [
    "NAMES",
    "Card",
    "Loaded",
    "PublicRecord",
    "describe",
    "get",
    "is_cached",
    "list_datasets",
    "load",
    "records",
]

FIELDS: Mapping[str, str] = MappingProxyType({"score": "overall", "group": "doc_id"})
"""How the package's readers take the records: ``--fields score=overall,group=doc_id``."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """A set that was read.

    Attributes:
        card: What it is.
        records: Its records, in the order of the file (see ``parsers``).
        path: The publisher's file that they were read from.
        notes: What the user should know: what could not be verified, checksums that were not known.
    """

    card: Card
    records: list[PublicRecord]
    path: Path
    notes: tuple[str, ...]


def list_datasets() -> tuple[Card, ...]:
    """The cards of all known sets."""
    return tuple(find(name) for name in NAMES)


def describe(name: str) -> Card:
    """The card of a set.

    Raises:
        DataError: There is no such set; the message lists the known ones.
    """
    return find(name)


def load(
    name: str,
    *,
    source: str | Path | None = None,
    cache: str | Path | None = None,
    progress: Progress | None = None,
) -> Loaded:
    """Read a set, fetching the publisher's file first where it is not here yet.

    Args:
        name: A name of ``NAMES``.
        source: The publisher's file, or a folder that holds it, on this machine; nothing is fetched then.
        cache: Where fetched files are kept; default: the user's cache folder.
        progress: Called with the bytes fetched so far and their total (None when the server does not say).

    Raises:
        DataError: There is no such set or file, or the file is damaged, incomplete or no such file.
        DownloadFailed: The file could not be fetched; the message says from where, and what to do instead.
    """
    card = find(name)
    if source is not None:
        path, notes = local_file(card, source)
    else:
        path, notes = ensure(card, cache, check=lambda part: parse(card, part), progress=progress)
    if not card.verified:
        notes = (f"the card of {card.title} is not verified: {card.unverified}", *notes)
    return Loaded(card, parse(card, path), path, notes)


def records(name: str, *, source: str | Path | None = None, cache: str | Path | None = None) -> list[PublicRecord]:
    """The records of a set, for those who want every aspect; arguments and errors as for :func:`load`."""
    return load(name, source=source, cache=cache).records


def get(name: str, *, source: str | Path | None = None, cache: str | Path | None = None) -> Examples:
    """A set as examples, ready to fit: the overall score, documents as groups, the set's own scale.

    Args:
        name: A name of ``NAMES``.
        source: The publisher's file, or a folder that holds it, on this machine; nothing is fetched then.
        cache: Where fetched files are kept; default: the user's cache folder.

    Raises:
        DataError: As for :func:`load`.
        DownloadFailed: As for :func:`load`.
    """
    loaded = load(name, source=source, cache=cache)
    examples = read_examples(loaded.records, fields=FIELDS)
    return replace(examples, notes=(*loaded.notes, *examples.notes), path=str(loaded.path))
