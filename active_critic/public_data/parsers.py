"""From the publishers' files to uniform records, one parser a format; a wrong or damaged file is refused as a whole.

A record has the fields ``id``, ``task``, ``doc_id``, ``system``, ``source``, ``response``, ``reference``, ``scores``
(by aspect, on the aspects' own scales), ``overall`` and ``scale`` (worst and best overall score). Scores are rounded
to six decimals.
"""

from __future__ import annotations

import hashlib
import html
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from active_critic.data.files import iter_records
from active_critic.data.rows import NUMBER, BadRow
from active_critic.errors import DataError
from active_critic.public_data.cards import Card

PublicRecord = dict[str, Any]
"""One scored text in the uniform form."""

NO_FACT = "(no fact given)"
"""What stands in a Topical-Chat source in place of the file's marker ``_nofact``."""

_REMEDY = "the file is damaged or another version; fetch it anew"

_TOPICAL_SYSTEMS = MappingProxyType(
    {
        "Original Ground Truth": "human_original",
        "Argmax Decoding": "argmax",
        "Nucleus Decoding (p = 0.3)": "nucleus_0.3",
        "Nucleus Decoding (p = 0.5)": "nucleus_0.5",
        "Nucleus Decoding (p = 0.7)": "nucleus_0.7",
        "New Human Generated": "human_new",
    }
)
"""System names in the file, and their short forms in ids."""


def parse(card: Card, path: Path) -> list[PublicRecord]:
    """Read the publisher's file of a set.

    Args:
        card: The set.
        path: The file.

    Raises:
        DataError: Naming file, row and field: the file is not in the publisher's format, a score is missing or lies
            outside its scale, or the set is not complete.
    """
    try:
        return _complete(card, path, FORMATS[card.file.format](card, path))
    except DataError as problem:
        problem.add_note(f"{card.title} is read from {card.file.name}, as it is published at {card.file.url}")
        raise


def _complete(card: Card, path: Path, records: list[PublicRecord]) -> list[PublicRecord]:
    ids = [record["id"] for record in records]
    if len(set(ids)) < len(ids):
        repeated = next(name for name in ids if ids.count(name) > 1)
        raise DataError(f"two records have the id {repeated!r}; {_REMEDY}", path=str(path))
    for what, expected, found in (
        ("outputs", card.outputs, len(records)),
        ("documents", card.documents, len({record["doc_id"] for record in records})),
        ("systems", card.systems, len({record["system"] for record in records})),
    ):
        if expected is not None and found != expected:
            raise DataError(f"holds {found:,} {what}, and the complete set has {expected:,}; {_REMEDY}", path=str(path))
    return records


@dataclass(frozen=True, slots=True)
class _Row:
    """A record of the publisher's file, or a part of one, that says where it is when something is wrong."""

    path: Path
    number: int
    cells: Mapping[str, Any]
    inside: str = ""

    def error(self, reason: str, column: str | None) -> DataError:
        where = self.inside + column if column else self.inside.rstrip(".") or None
        return DataError(reason, path=str(self.path), row=self.number, column=where)

    def get(self, column: str) -> Any:
        if column not in self.cells:
            there = ", ".join(repr(str(name)[:40]) for name in list(self.cells)[:20])
            raise self.error(f"is missing (there are: {there}); {_REMEDY}", column)
        return self.cells[column]

    def text(self, column: str) -> str:
        value = self.get(column)
        if not isinstance(value, str) or not value.strip():
            raise self.error(f"should be a text and is {str(value)[:40]!r}; {_REMEDY}", column)
        return value.strip()

    def integer(self, column: str) -> int:
        value = self.get(column)
        if isinstance(value, bool) or not re.fullmatch(r"\d{1,9}", str(value).strip(), re.ASCII):
            raise self.error(f"should be a whole number and is {str(value)[:40]!r}; {_REMEDY}", column)
        return int(value)

    def score(self, column: str, scale: tuple[float, float]) -> float:
        value = self.get(column)
        numeric = isinstance(value, int | float) and not isinstance(value, bool)
        if not numeric and not (isinstance(value, str) and NUMBER.fullmatch(value)):
            raise self.error(f"should be a score and is {str(value)[:40]!r}; {_REMEDY}", column)
        number = float(value)
        if not math.isfinite(number) or not scale[0] <= number <= scale[1]:
            raise self.error(f"the score {number:g} lies outside {scale[0]:g}..{scale[1]:g}; {_REMEDY}", column)
        return number

    def part(self, column: str) -> _Row:
        value = self.get(column)
        if not isinstance(value, Mapping):
            raise self.error(f"should have named fields and is {str(value)[:40]!r}; {_REMEDY}", column)
        return replace(self, cells=value, inside=f"{self.inside}{column}.")

    def scores(self, card: Card) -> dict[str, float]:
        return {aspect: self.score(aspect, scale) for aspect, scale in card.aspects.items()}


def _rows(path: Path) -> Iterator[_Row]:
    for item in iter_records(path):
        if isinstance(item, BadRow):
            raise item.error(str(path))
        yield _Row(path, *item)


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def _record(
    card: Card,
    *,
    key: str,
    doc_id: str,
    system: str | None,
    source: str,
    response: str,
    reference: str | None,
    scores: Mapping[str, float],
    overall: float,
) -> PublicRecord:
    return {
        "id": key,
        "task": card.task,
        "doc_id": doc_id,
        "system": system,
        "source": source,
        "response": response,
        "reference": reference,
        "scores": {aspect: round(score, 6) for aspect, score in scores.items()},
        "overall": round(overall, 6),
        "scale": [int(end) if end == int(end) else end for end in card.scale],
    }


def _summaries(card: Card, path: Path) -> list[PublicRecord]:
    """SummEval in UniEval's form; the overall score is the mean of the aspects."""
    records = []
    for row in _rows(path):
        doc_id, system, scores = row.text("doc_id"), row.text("system_id"), row.part("scores").scores(card)
        records.append(
            _record(
                card,
                key=f"{card.name}-{doc_id}-{system}",
                doc_id=doc_id,
                system=system,
                source=row.text("source"),
                response=row.text("system_output"),
                reference=row.text("reference"),
                scores=scores,
                overall=_mean(list(scores.values())),
            )
        )
    return records


def _dialogues(card: Card, path: Path) -> list[PublicRecord]:
    """Topical-Chat in UniEval's form: the systems of one context stand together, so one that returns opens the next."""
    documents = 0
    seen: set[str] = set()
    records = []
    for row in _rows(path):
        history, fact, system = row.text("source"), row.text("context"), row.text("system_id")
        if system not in _TOPICAL_SYSTEMS:
            known = ", ".join(repr(name) for name in _TOPICAL_SYSTEMS)
            raise row.error(f"{system[:40]!r} is none of the systems {known}; {_REMEDY}", "system_id")
        if system in seen or not seen:
            documents += 1
            seen.clear()
        seen.add(system)
        doc_id = f"tc-{documents - 1:02d}"
        turns = "\n".join(turn.strip() for turn in history.split("\n") if turn.strip())
        scores = row.part("scores")
        records.append(
            _record(
                card,
                key=f"{card.name}-{doc_id}-{_TOPICAL_SYSTEMS[system]}",
                doc_id=doc_id,
                system=system,
                source=f"Dialogue history:\n{turns}\n\nKnowledge fact:\n{NO_FACT if fact == '_nofact' else fact}",
                response=row.text("system_output"),
                reference=None,
                scores=scores.scores(card),
                overall=scores.score("overall", card.scale),
            )
        )
    return records


def _data_to_text(card: Card, path: Path) -> list[PublicRecord]:
    """SFRES and SFHOT in UniEval's form; a meaning representation is a document, the order of rows gives the system."""
    systems = [system for system, count in card.runs for _ in range(count)]
    records = []
    for index, row in enumerate(_rows(path)):
        meaning, scores = row.text("source"), row.part("scores")
        records.append(
            _record(
                card,
                key=f"{card.name}-{index:04d}",
                doc_id=_meaning_id(card, meaning),
                system=systems[index] if index < len(systems) else None,
                source=meaning,
                response=row.text("system_output"),
                reference=row.text("reference"),
                scores=scores.scores(card),
                overall=scores.score("overall", card.scale),
            )
        )
    return records


def _meaning_id(card: Card, meaning: str) -> str:
    return f"{card.name}-{hashlib.sha1(meaning.encode(), usedforsecurity=False).hexdigest()[:12]}"


def _medians(card: Card, path: Path) -> list[PublicRecord]:
    """BAGEL in the file of all ratings of the EMNLP 2017 paper; a meaning representation is a document."""
    records: list[PublicRecord] = []
    for row in _rows(path):
        if row.text("dataset") != card.title:
            continue
        meaning = row.text("mr")
        records.append(
            _record(
                card,
                key=f"{card.name}-{len(records):04d}",
                doc_id=_meaning_id(card, meaning),
                system=row.text("system"),
                source=meaning,
                response=row.text("sys_ref"),
                reference=None,
                scores=row.scores(card),
                overall=row.score("quality", card.scale),
            )
        )
    return records


def _consistency(card: Card, path: Path) -> list[PublicRecord]:
    """QAGS in UniEval's form, where ``reference`` repeats the article."""
    records = []
    for row in _rows(path):
        doc_id, scores = f"{card.name}-{row.integer('doc_id'):03d}", row.part("scores").scores(card)
        records.append(
            _record(
                card,
                key=doc_id,
                doc_id=doc_id,
                system=None,
                source=row.text("source"),
                response=row.text("system_output"),
                reference=None,
                scores=scores,
                overall=scores["consistency"],
            )
        )
    return records


def _story_ends(card: Card, path: Path) -> list[PublicRecord]:
    """OpenMEVA-ROC in the form of Wang et al.: one row a prompt, the systems' stories inside it."""
    records = []
    for row in _rows(path):
        doc_id, stories = f"roc-{row.text('doc_id')}", row.part("gen")
        if not stories.cells:
            raise row.error(f"holds no stories; {_REMEDY}", "gen")
        for system in stories.cells:
            story = stories.part(system)
            score = story.part("score").score("human", card.scale)
            records.append(
                _record(
                    card,
                    key=f"{card.name}-{doc_id}-{system}",
                    doc_id=doc_id,
                    system=system,
                    source=row.text("prompt"),
                    response=story.text("text"),
                    reference=row.text("reference"),
                    scores={"overall": score},
                    overall=score,
                )
            )
    return records


def _rated(
    card: Card, path: Path, *, key: Sequence[str], same: Sequence[str], column_of: Callable[[str], str]
) -> list[tuple[_Row, dict[str, float]]]:
    """A file with one rating a row, gathered by output (``key``): its first row, and the means over its raters."""
    gathered: dict[tuple[str, ...], list[_Row]] = {}
    for row in _rows(path):
        first = gathered.setdefault(tuple(row.text(column) for column in key), [])
        first.append(row)
        for column in same:
            if row.get(column) != first[0].get(column):
                raise row.error(f"differs from that of row {first[0].number}, the same output; {_REMEDY}", column)
    outputs = []
    for names, rows in gathered.items():
        if len(rows) != card.raters:
            what = " ".join(f"{column} {name}" for column, name in zip(key, names, strict=True))
            raise rows[-1].error(f"{what} has {len(rows)} ratings, not {card.raters}; {_REMEDY}", None)
        means = {
            aspect: _mean([row.score(column_of(aspect), scale) for row in rows])
            for aspect, scale in card.aspects.items()
        }
        outputs.append((rows[0], means))
    return outputs


def _stories(card: Card, path: Path) -> list[PublicRecord]:
    """HANNA's annotations; stories to one prompt are one document, numbered as the prompts come."""
    same = ("Prompt", "Human", "Story", "Model")
    outputs = _rated(card, path, key=("Story ID",), same=same, column_of=str.capitalize)
    outputs.sort(key=lambda output: output[0].integer("Story ID"))
    prompts: dict[str, str] = {}
    records = []
    for row, scores in outputs:
        prompt, system = row.text("Prompt"), row.text("Model")
        doc_id = prompts.setdefault(prompt, f"hanna-{len(prompts):02d}")
        records.append(
            _record(
                card,
                key=f"{doc_id}-{re.sub(r'[^a-z0-9]+', '_', system.lower()).strip('_')}",
                doc_id=doc_id,
                system=system,
                source=prompt,
                response=row.text("Story"),
                reference=None if system == "Human" else row.text("Human"),
                scores=scores,
                overall=_mean(list(scores.values())),
            )
        )
    return records


def _newsroom(card: Card, path: Path) -> list[PublicRecord]:
    """Newsroom's crowd ratings, whose texts are HTML-encoded."""
    outputs = _rated(
        card,
        path,
        key=("ArticleID", "System"),
        same=("ArticleText", "SystemSummary"),
        column_of=lambda aspect: f"{aspect.capitalize()}Rating",
    )
    records = []
    for row, scores in outputs:
        doc_id, system = f"newsroom-{row.text('ArticleID')}", row.text("System")
        records.append(
            _record(
                card,
                key=f"{doc_id}-{system}",
                doc_id=doc_id,
                system=system,
                source=html.unescape(row.text("ArticleText")).strip(),
                response=html.unescape(row.text("SystemSummary")).strip(),
                reference=None,
                scores=scores,
                overall=_mean(list(scores.values())),
            )
        )
    return records


FORMATS: Mapping[str, Callable[[Card, Path], list[PublicRecord]]] = MappingProxyType(
    {
        "unieval-summeval": _summaries,
        "unieval-topical-chat": _dialogues,
        "unieval-data2text": _data_to_text,
        "emnlp-medians-csv": _medians,
        "unieval-qags": _consistency,
        "openmeva-json": _story_ends,
        "hanna-csv": _stories,
        "newsroom-csv": _newsroom,
    }
)
"""Parsers by the format that a card names."""
