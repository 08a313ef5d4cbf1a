"""What a scoring run came to: counts, reasons, and agreement where the items have human scores."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING, Any

from active_critic.data.examples import document_key, document_keys, example_key, group_of, text_key
from active_critic.data.rows import BadRow
from active_critic.figures_in_words import how_many, sentence
from active_critic.reasons import kind_of
from active_critic.stats.means import DocumentMean

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from active_critic.protocols import Protocol
    from active_critic.records import Example, Verdict
    from active_critic.stats.reliability import Movement

MOST_REASONS = 20
"""Kinds of reasons that are told apart; the rest are counted together."""
MOST_COMPARED = 5_000
"""Items that agreement is computed from at most, drawn at random: a thousand resamples of them take seconds."""
FEW = 10
"""Fewer items than this say nothing about agreement."""


SHOWN = "this text is a demonstration of the program"
FITTED = "the program was fitted on this text"
RELATED = "the program was fitted on other texts of this document"


class _Drawn:
    """Pairs of a human and a program's score, with the document: all of them, or so many drawn at random."""

    def __init__(self) -> None:
        self.count = 0
        self.pairs: list[tuple[float, float, str]] = []

    def add(self, pair: tuple[float, float, str], random: Random) -> None:
        self.count += 1
        if len(self.pairs) < MOST_COMPARED:
            self.pairs.append(pair)
        elif (place := random.randrange(self.count)) < MOST_COMPARED:
            self.pairs[place] = pair  # every one so far is as likely to be among them


class Tally:
    """Counts verdicts as they come, in little memory.

    Args:
        protocol: The program that scores.
        fields: Column by field.
    """

    def __init__(self, protocol: Protocol, fields: Mapping[str, str]) -> None:
        self.protocol = protocol
        self.items = 0
        self._mean = DocumentMean()
        self._read_from: dict[str, int] = {}
        self._reasons: dict[str, dict[str, Any]] = {}
        self._again: dict[str, dict[str, Any]] = {}
        self._noted: dict[str, dict[str, Any]] = {}
        self._demos = protocol.shown
        self._fields = fields  # of which some may be found later
        self._random = Random(0)  # noqa: S311
        self._shown = self._with_human = 0
        self._fitted_on = frozenset(protocol.provenance.fitted_on)
        self._fitted_documents = frozenset(protocol.provenance.fitted_documents)
        # A fit whose rows named no documents knows their sources only.
        self._unnamed = not protocol.provenance.fields.get("group")
        self._new, self._related, self._known = _Drawn(), _Drawn(), _Drawn()
        self._drawn = {None: self._new, RELATED: self._related, FITTED: self._known}
        self._movement: Movement | None = None

    @property
    def score_column(self) -> str:
        """The column of people's score."""
        return self._fields.get("score") or "score"

    @property
    def documents(self) -> int:
        """How many documents have a score; of very many, as many as are told apart."""
        return self._mean.documents

    def add(self, entry: Example | BadRow, verdict: Verdict) -> None:
        """Count one more."""
        self.items += 1
        if verdict.score is None:
            _count(self._reasons, entry.row, verdict.unscored or "", "other reasons, see the column `unscored`")
        elif not isinstance(entry, BadRow):
            self._mean.add(verdict.score, group_of(entry))
            for note in dict.fromkeys(verdict.notes):
                _count(self._noted, entry.row, note, "other notes, see the column `notes`")
        if verdict.read_from is not None:
            self._read_from[verdict.read_from] = self._read_from.get(verdict.read_from, 0) + 1
        if not isinstance(entry, BadRow):
            self._compare(entry, verdict.score)

    def repeated(self, entry: Example | BadRow, verdicts: Sequence[Verdict]) -> float | None:
        """Count the verdicts on an item that was scored several times; the standard deviation of scores, or None."""
        if any(verdict.score is not None for verdict in verdicts):
            for reason in (again.unscored for again in verdicts[1:]):  # the first one is counted as every item's is
                if reason is not None:
                    _count(self._again, entry.row, reason, "other reasons")
        if self._movement is None:
            from active_critic.stats.reliability import Movement

            self._movement = Movement()
        return self._movement.add([verdict.score for verdict in verdicts])

    def _compare(self, example: Example, score: float | None) -> None:
        if example.score is None:
            return
        self._with_human += 1
        known = self.known(example)
        if known == SHOWN:
            self._shown += 1
            return
        pair = (example.score, float("nan") if score is None else score, group_of(example))
        self._drawn[known].add(pair, self._random)

    def known(self, example: Example) -> str | None:
        """What the program's fit had to do with a text, so that agreement on it flatters; None where nothing."""
        if example_key(example) in self._demos:
            return SHOWN
        # A fit may have known no source.
        if self._fitted_on & {text_key(example), text_key(replace(example, source=""))}:
            return FITTED
        return RELATED if self._of_fitted_document(example) else None

    def _of_fitted_document(self, example: Example) -> bool:
        keys = document_keys(example) if self._unnamed else {document_key(example)}
        return not keys.isdisjoint(self._fitted_documents)

    def summary(self) -> dict[str, Any]:
        """The counts as plain JSON values."""
        interval, scale = self._mean.interval(), self.protocol.scale
        return {
            "items": self.items,
            "scored": self._mean.count,
            "unscored": self.items - self._mean.count,
            "reasons": _listed(self._reasons),
            "noted": _listed(self._noted),
            "mean_score": self._mean.mean,
            "mean_interval": None if interval is None else [max(scale.low, interval[0]), min(scale.high, interval[1])],
            "scale": str(scale),
            "read_from": dict(self._read_from),
            "agreement": self._agreement(),
            "repeats": self._repeats(),
        }

    def _repeats(self) -> dict[str, Any] | None:
        if self._movement is None:
            return None
        found = self._movement.to_dict()
        reasons = _listed(self._again)
        said = [f"Left unscored when asked again, {one['count']:,} times: {one['reason']}." for one in reasons]
        return {**found, "reasons": reasons, "words": [*found["words"], *said]}

    def _agreement(self) -> dict[str, Any] | None:
        drawn = next((some for some in (self._new, self._related, self._known) if some.count), None)
        if drawn is None:
            return None
        from active_critic.stats import agreement
        from active_critic.stats.accuracy import mae
        from active_critic.stats.resampling import cautions

        human, critic, groups = (list(column) for column in zip(*drawn.pairs, strict=True))
        found = agreement(critic, human, groups)
        scale = self.protocol.scale
        column, of = self.score_column, f"{self._with_human:,} of {self.items:,} items"
        words = [
            f"Human scores were taken from the column {column!r} ({of}).",
        ]
        if self._shown:
            shown = how_many(self._shown, "demonstration")
            words.append(f"Left out: {shown} of this program.")
        if drawn is self._known:
            words.append("These are examples that the program was fitted on, so this flatters it.")
        elif self._known.count:
            words.append(f"Left out: {how_many(self._known.count, 'item')} that the program was fitted on.")
        if drawn is self._related:
            words.append("These are other texts of documents that the program was fitted on, which may flatter it.")
        elif drawn is self._new and self._related.count:
            related = how_many(self._related.count, "other text")
            words.append(f"Left out: {related} of documents that it was fitted on.")
        if not self._known.count and self.protocol.provenance.n_train and not self._fitted_on:
            words.append("This older program does not tell whether it was fitted on some of them.")
        if drawn.count > MOST_COMPARED:
            words.append(f"{MOST_COMPARED:,} of them, drawn at random, are compared.")
        if not found.n:
            words.append("None of them could be scored, so there is nothing to compare.")
        elif found.n < found.total:
            words.append(f"{found.total - found.n:,} of {found.total:,} could not be scored and do not count.")
        if 0 < found.n < FEW:
            words.append(f"Only {found.n} could be compared, which says little.")
        elif found.n and found.mean is None:
            words.append("There are too few of them, or too little variation, for a correlation.")
        if found.n:
            words += map(sentence, cautions(found.groups, 0, found.resamples))
        error = None
        if any(score not in scale for score in human):
            words.append(f"Some lie outside the program's scale {scale}: correlations stand, distances mean nothing.")
        elif (error := mae(critic, human)) is not None:
            words.append(f"On the scale {scale}, scores are {error:.2f} from the human ones on average.")
        return {
            "column": self.score_column,
            "figures": found.to_dict(),
            "mean_absolute_error": error,
            "demonstrations_left_out": self._shown,
            "fitted_on_left_out": 0 if drawn is self._known else self._known.count,
            "fitted_documents_left_out": self._related.count if drawn is self._new else 0,
            "words": words,
        }


def _count(reasons: dict[str, dict[str, Any]], row: int, reason: str, others: str) -> None:
    """Count a reason among these by its kind; of each kind the first is kept; too many are ``others``."""
    kind = kind_of(reason)
    if kind not in reasons and len(reasons) >= MOST_REASONS:
        kind = reason = others
    entry = reasons.setdefault(kind, {"reason": reason, "count": 0, "row": row})
    entry["count"] += 1


def _listed(reasons: Mapping[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """The most frequent first, of equals the one of the earliest row."""
    return sorted(reasons.values(), key=lambda entry: (-entry["count"], entry["row"]))
