"""Sets of examples: what identifies them, what is wrong with them, how they are split by document."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from numbers import Integral, Real
from typing import overload

from active_critic.data.notes import Divided, Repeated, Sourceless
from active_critic.errors import DataError, FitError
from active_critic.figures_in_words import as_given, how_many
from active_critic.records import TOLERANCE, Example, Scale

MIN_EXAMPLES = 5
"""Fewest scored examples a fit accepts."""

SHOWN = 5
"""Rows, or sets of rows, that a message names at most."""
_WINDOW = 32


@dataclass(frozen=True, slots=True)
class Examples(Sequence[Example]):
    """Examples with what was found out in reading them; a sequence.

    Attributes:
        items: The examples, in input order.
        scale: The scale of the scores, or None when there are no scores and none was given.
        scale_inferred: Whether the scale was guessed from the scores.
        notes: What the user should be told: columns used, scale, repeated rows. Texts; some of a kind of their own
            (``active_critic.data.notes``).
        fields: Field name to column, as used; an empty name where none was to be read.
        path: The file they came from, or None.
        decimal_comma: Whether ``3,5`` is a number in their rows, as where semicolons separate the cells of the file.
        scale_given: Whether the user said the scale; neither guessed nor read from a column ``scale``.
        bom: Whether their file began with a byte order mark, by which Excel knows UTF-8.
    """

    items: tuple[Example, ...]
    scale: Scale | None = None
    scale_inferred: bool = False
    notes: tuple[str, ...] = ()
    fields: Mapping[str, str] = field(default_factory=dict, hash=False)
    path: str | None = None
    decimal_comma: bool = False
    scale_given: bool = False
    bom: bool = False

    def __len__(self) -> int:
        return len(self.items)

    def __repr__(self) -> str:
        documents = len({group_of(example) for example in self.items})
        scored = sum(example.score is not None for example in self.items)
        origin = f", from {self.path}" if self.path else ""
        texts = f"{how_many(len(self), 'text')} of {how_many(documents, 'document')}"
        said = f"{texts}, {scored} scored, scale {self.scale or 'not known'}"
        return f"<{type(self).__name__}: {said}{origin}>"

    @overload
    def __getitem__(self, index: int) -> Example: ...
    @overload
    def __getitem__(self, index: slice) -> Examples: ...
    def __getitem__(self, index: int | slice) -> Example | Examples:
        return self._part(self.items[index]) if isinstance(index, slice) else self.items[index]

    def take(self, indices: Iterable[int]) -> Examples:
        """The examples at these positions, in this order, with everything else kept; notes name no other rows."""
        return self._part(tuple(self.items[index] for index in indices))

    def _part(self, items: tuple[Example, ...]) -> Examples:
        if len(items) == len(self.items):
            return replace(self, items=items)
        notes: list[str] = []
        for note in self.notes:
            if isinstance(note, Repeated):
                notes += repeated_rows(items)
            elif isinstance(note, Divided):
                notes += divided_sources(items, self.fields.get("source") or "source")
            elif isinstance(note, Sourceless):
                notes += blank_sources(items)
            else:
                notes.append(note)
        return replace(self, items=items, notes=tuple(notes))


def _digest(*parts: str) -> str:
    # Lengths first: no two lists of parts give the same bytes.
    text = "".join(f"{len(part)}:{part}" for part in parts)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def example_key(example: Example) -> str:
    """The identity of an example: 16 hex digits over source and response.

    Rows with the same texts share it, whatever their scores and ids, so that a text is never judged with itself among
    the demonstrations.
    """
    return _digest(example.source, example.response)[:16]


def text_key(example: Example) -> str:
    """As ``example_key``, but the same for texts that differ in nothing but white space (line ends, blanks)."""
    return _digest(_spaced(example.source), _spaced(example.response))[:16]


def document_key(example: Example) -> str | None:
    """The document of an example as 16 hex digits, or None where nothing but its own text says which it is."""
    return None if example.group is None and not example.source.strip() else _digest(group_of(example))[:16]


def document_keys(example: Example) -> set[str]:
    """The document of an example by its name and by its source, either of which may be all that other rows have."""
    keys = {document_key(example)}
    if example.group is not None:
        keys.add(document_key(replace(example, group=None)))
    return {key for key in keys if key is not None}


def same_texts(example: Example, source: str, response: str) -> bool:
    """Whether an example has these texts, white space aside; where either comes without a source, by the response."""
    if example.response.split(maxsplit=1)[:1] != response.split(maxsplit=1)[:1]:
        return False  # as nearly always, and quickly
    if _spaced(example.response) != _spaced(response):
        return False
    return not example.source.strip() or not source.strip() or _spaced(example.source) == _spaced(source)


def _spaced(text: str) -> str:
    return " ".join(text.split())


def by_content(examples: Examples) -> Examples:
    """The same examples in an order that depends on what they say alone, not on the order of rows."""

    def content(index: int) -> tuple[str, str]:
        example = examples[index]
        others = repr(example.score), group_of(example), repr(sorted(example.aspects.items()))
        return example_key(example), _digest(*others, example.reference or "", *_comment(example))

    return examples.take(sorted(range(len(examples)), key=content))


def _comment(example: Example) -> list[str]:
    """Its comment, if it has one: sets without any are identified as they always were."""
    return [example.comment] if example.comment else []


def data_sha256(examples: Iterable[Example]) -> str:
    """sha256 over texts, scores and comments of a set of examples; the order does not matter, repeated rows do."""
    return _digest(*sorted(_digest(e.source, e.response, repr(e.score), *_comment(e)) for e in examples))


def group_of(example: Example) -> str:
    """The document an example belongs to: its group if it has one, else its source, else its own text (by words)."""
    if example.group is not None:
        return example.group
    if example.source.strip():
        return f"source:{_digest(_spaced(example.source))[:16]}"
    return f"text:{_digest(_spaced(example.response))[:16]}"


def human_score(example: Example) -> float:
    """The example's human score.

    Raises:
        FitError: It has none.
    """
    if example.score is None:
        raise FitError(f"the example in row {example.row} has no human score; only scored examples can be fitted on")
    return example.score


def describe_rows(rows: Sequence[int], count: int | None = None) -> str:
    """``row 3``, or ``rows 3, 4 and 7``, or ``rows 1, 2, 3, 4, 5 and 12 more``.

    Args:
        rows: The rows, or the first ``SHOWN`` of them.
        count: How many there are; None: these.
    """
    count = len(rows) if count is None else count
    shown = [str(row) for row in rows[:SHOWN]]
    if count == 1:
        return f"row {shown[0]}"
    if count > SHOWN:
        return f"rows {', '.join(shown)} and {count - SHOWN:,} more"
    return f"rows {', '.join(shown[:-1])} and {shown[-1]}"


def repeated_rows(examples: Sequence[Example]) -> tuple[Repeated, ...]:
    """A warning when several rows hold the same source and response, naming rows and scores that conflict."""
    rows: dict[tuple[str, str], list[int]] = {}
    for index, example in enumerate(examples):
        rows.setdefault((example.source, example.response), []).append(index)
    sets = [indices for indices in rows.values() if len(indices) > 1]
    if not sets:
        return ()
    told = []
    for indices in sets[:SHOWN]:
        scores = list(dict.fromkeys(f"{s:g}" for i in indices if (s := examples[i].score) is not None))
        conflict = f" with different scores ({', '.join(scores)})" if len(scores) > 1 else ""
        told.append(describe_rows([examples[i].row or i + 1 for i in indices]) + conflict)
    more = f"; and {len(sets) - SHOWN} more such sets" if len(sets) > SHOWN else ""
    said = f"the same source and response occur more than once: {'; '.join(told)}{more}"
    if any("different" in each for each in told):
        said += "; where several people scored a text, name the column that says who (--fields rater=COLUMN takes the "
        said += "mean), or give it one row with a column for each of them (--fields score=ANNA+BERT)"
    return (Repeated(said),)


def divided_sources(examples: Sequence[Example], column: str) -> tuple[Divided, ...]:
    """A warning when rows with the same source belong to different documents, so that splits may part them.

    Args:
        examples: Scored examples.
        column: Where sources stand.
    """
    rows: dict[str, dict[str, int]] = {}
    for place, example in enumerate(examples, 1):
        if example.group is not None and (source := _spaced(example.source)):
            rows.setdefault(source, {}).setdefault(example.group, example.row or place)
    divided = [of for of in rows.values() if len(of) > 1]
    if not divided:
        return ()
    first = describe_rows(sorted(divided[0].values()))
    sources = how_many(len(divided), "source stands", "sources stand")
    said = f"{sources} in more than one document (the first: {first}), and so may be on both sides of a split"
    return (Divided(f"{said}; --fields source={column},group={column} makes each source one document"),)


def blank_sources(examples: Sequence[Example]) -> tuple[Sourceless, ...]:
    """A note where some rows have a source and others have none."""
    blank = [example.row or place for place, example in enumerate(examples, 1) if not example.source.strip()]
    return (no_source_in(blank),) if 0 < len(blank) < len(examples) else ()


def no_source_in(rows: Sequence[int], count: int | None = None) -> Sourceless:
    """Says that these rows have no source where other rows have one; arguments as for :func:`describe_rows`."""
    where = f"no source in {describe_rows(rows, count)}, where other rows have one"
    why = "merged cells in a spreadsheet hold it in their first row only"
    return Sourceless(f"{where}; {why}: fill it in if that is the reason")


def check_examples(examples: Sequence[Example]) -> tuple[str, ...]:
    """Whether a fit can learn from these examples.

    Returns:
        Warnings. The one about repeated rows is worded as in ``Examples.notes``.

    Raises:
        DataError: Fewer than 5 examples, examples without a score, all rows the same text, or all scores equal, or
            different only by rounding (``TOLERANCE``).
    """
    path = examples.path if isinstance(examples, Examples) else None
    if len(examples) < MIN_EXAMPLES:
        raise DataError(f"a fit needs at least {MIN_EXAMPLES} scored examples, not {len(examples)}", path=path)
    unscored = [example.row or i for i, example in enumerate(examples, 1) if example.score is None]
    if unscored:
        raise DataError(f"{describe_rows(unscored)}: no score, and a fit needs one on every example", path=path)
    if len({(example.source, example.response) for example in examples}) == 1:
        raise DataError(f"all {len(examples)} rows hold the same text; a fit needs different ones", path=path)
    scores = [human_score(example) for example in examples]
    if max(scores) - min(scores) <= TOLERANCE * max(map(abs, scores)):
        raise DataError(
            f"all {len(examples)} scores are {scores[0]:g}; there is nothing to learn from equal scores, "
            "add examples that people scored differently",
            path=path,
        )
    warnings = list[str](repeated_rows(examples))
    if len({group_of(example) for example in examples}) < 2:
        warnings.append("all examples belong to one document: agreement on unseen documents cannot be measured")
    return tuple(warnings)


def _by_group(examples: Sequence[Example], seed: int) -> list[list[int]]:
    """Positions by group, groups in an order that depends on the seed and their names, not on the order of rows."""
    members: dict[str, list[int]] = {}
    for index, example in enumerate(examples):
        members.setdefault(group_of(example), []).append(index)
    return [members[group] for group in sorted(members, key=lambda group: _digest(str(seed), group))]


def split(examples: Examples, train: float, seed: int = 0) -> tuple[Examples, Examples]:
    """Two parts of a set, whole documents in each, input order kept.

    The first part has as close to ``train`` times the number of examples as whole documents allow. Which documents
    it gets depends on the seed and the documents, not on the order of rows. Neither part is empty.

    Args:
        examples: At least two documents (see ``group_of``).
        train: Fraction of the examples for the first part, between 0 and 1.
        seed: Another seed, another split.

    Raises:
        DataError: ``train`` is no such fraction, ``seed`` no whole number from 0 on, there is only one document, or
            these are not ``Examples``.
    """
    if not isinstance(examples, Examples):
        raise DataError(f"what is split are Examples, as read_examples gives them, not {type(examples).__name__}")
    if not isinstance(train, Real) or not 0 < train < 1:
        raise DataError(f"the part for training is a fraction between 0 and 1, not {train!r}", path=examples.path)
    if isinstance(seed, bool) or not isinstance(seed, Integral) or seed < 0:
        raise DataError(f"seed must be a whole number of at least 0, not {as_given(seed)}")
    groups = _by_group(examples, seed)
    if len(groups) < 2:
        raise only_one_document("which no split may part", examples.path)
    chosen = {index for group in _nearest(groups, train * len(examples)) for index in group}
    inside = [index in chosen for index in range(len(examples))]
    return (
        examples.take(i for i, taken in enumerate(inside) if taken),
        examples.take(i for i, taken in enumerate(inside) if not taken),
    )


def only_one_document(problem: str, path: str | None) -> DataError:
    """What to raise where all examples belong to one document, and why that is a problem."""
    remedy = "name the column of the document (--fields group=COLUMN), or give examples of more documents"
    return DataError(f"all examples belong to one document, {problem}; {remedy}", path=path)


def _nearest(groups: list[list[int]], target: float) -> list[list[int]]:
    """Some but not all groups whose sizes sum up nearest to the target; the first ones where there is a choice.

    The leading groups are taken as they come; exact subset sums are worked out over the 64 around the cut, which is
    every group of a small set and all that matters in a large one.
    """
    totals = list(accumulate(map(len, groups)))
    start = max(0, sum(total <= target for total in totals) - _WINDOW)
    fixed, window = groups[:start], groups[start : start + 2 * _WINDOW]
    base, everything = sum(map(len, fixed)), totals[-1]
    reach = [1]  # bit s of reach[k]: some of the last k groups of the window have s examples together
    for group in reversed(window):
        reach.append(reach[-1] | reach[-1] << len(group))
    sums = [s for s in range(reach[-1].bit_length()) if reach[-1] >> s & 1 and 0 < base + s < everything]
    left = min(sums, key=lambda s: (abs(base + s - target), s))
    taken = []
    for group, rest in zip(window, reversed(reach[:-1]), strict=True):
        if left >= len(group) and rest >> (left - len(group)) & 1:
            taken.append(group)
            left -= len(group)
    return fixed + taken


def folds(examples: Sequence[Example], k: int, seed: int) -> list[list[int]]:
    """``k`` lists of positions, each example in exactly one, whole documents in each, nearly equal in size.

    With fewer documents than ``k`` there are as many folds as documents. Which documents share a fold depends on the
    seed and the documents, not on the order of rows.

    Raises:
        DataError: ``k`` is below 2, or there are no examples.
    """
    if k < 2 or not examples:
        raise DataError(f"cross-validation needs examples and at least 2 folds, not {len(examples)} and {k}")
    groups = sorted(_by_group(examples, seed), key=len, reverse=True)
    parts: list[list[int]] = [[] for _ in range(min(k, len(groups)))]
    for group in groups:
        min(parts, key=len).extend(group)
    return [sorted(part) for part in parts]
