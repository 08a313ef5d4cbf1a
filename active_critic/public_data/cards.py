"""The cards of the public data sets: what each one is, whose it is, how its scores are to be read."""

from __future__ import annotations

import tomllib

from pydantic import Field

from active_critic.errors import DataError
from active_critic.records import Record
from active_critic.shipped import shipped

NAMES = (
    "summeval",
    "newsroom",
    "topical_chat",
    "sfres",
    "sfhot",
    "bagel",
    "openmeva_roc",
    "hanna",
    "qags_cnn",
    "qags_xsum",
)
"""The known sets, in the order in which they are listed."""


class Citation(Record):
    """A paper to cite.

    Attributes:
        authors: Its authors, as they are cited.
        title: Its title.
        venue: Where it appeared.
        year: When it appeared.
        covers: What of the set it describes, where there are several papers; else empty.
    """

    authors: str
    title: str
    venue: str
    year: int
    covers: str = ""


class PublishedFile(Record):
    """The file that a set is read from.

    Attributes:
        url: Where it is published, pinned to a commit.
        format: Which parser reads it (a key of ``parsers.FORMATS``).
        columns: The columns or fields that are read, as the publisher names them.
        sha256: Its checksum, or None where none is known.
        checksum_from: Where the checksum is known from.
    """

    url: str
    format: str
    columns: tuple[str, ...]
    sha256: str | None = Field(default=None, pattern=r"^[0-9a-f]{64}$")
    checksum_from: str = ""

    @property
    def name(self) -> str:
        """The file's name."""
        return self.url.rpartition("/")[2]


class Card(Record):
    """What is known about a public data set.

    Attributes:
        name: What the set is called here.
        title: What it is called elsewhere.
        task: ``summarization``, ``dialogue``, ``data2text``, ``story`` or ``factual``.
        about: What was scored, by whom.
        citations: The papers to cite.
        licence: The licence that the publisher states, or that none is stated.
        licence_note: What the licence may not cover.
        publisher: The page to get the file from by hand.
        outputs: Scored texts in the complete set.
        documents: Source documents in the complete set, or None where that is not known.
        systems: Systems in the complete set, or None where the file does not name them.
        raters: Ratings of one output in the file, each a row; 1 where the file holds one score an output.
        scale: Worst and best overall score.
        overall: How the overall score comes about.
        aspects: Worst and best score of every aspect.
        runs: Systems in the order of the file and the number of rows of each, for a file that does not name them.
        quirks: What to know before using it.
        verified: Whether address and format were checked against a stored copy of the publisher's file.
        unverified: What could not be checked.
        file: The publisher's file.
    """

    name: str
    title: str
    task: str
    about: str
    citations: tuple[Citation, ...] = Field(min_length=1)
    licence: str
    licence_note: str
    publisher: str
    outputs: int
    documents: int | None = None
    systems: int | None = None
    raters: int = 1
    scale: tuple[float, float]
    overall: str
    aspects: dict[str, tuple[float, float]]
    runs: tuple[tuple[str, int], ...] = ()
    quirks: tuple[str, ...] = ()
    verified: bool
    unverified: str = ""
    file: PublishedFile


def find(name: str) -> Card:
    """The card of a set; case does not matter, nor whether words are joined by ``-`` or ``_``.

    Raises:
        DataError: There is no such set; the message lists the known ones.
    """
    folded = name.strip().casefold().replace("-", "_")
    if folded not in NAMES:
        raise DataError(f"there is no public data set {name!r} here; the known ones are {', '.join(NAMES)}")
    return Card.model_validate(tomllib.loads(shipped(f"datasets/cards/{folded}.toml").read_text(encoding="utf-8")))
