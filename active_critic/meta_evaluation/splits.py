"""Which examples the methods of a comparison are fitted on and tested on: the same for all, by document."""

from __future__ import annotations

import random
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import get_args

from active_critic.bounds import REPEATS
from active_critic.data.examples import MIN_EXAMPLES, Examples, check_examples, group_of, only_one_document
from active_critic.data.examples import folds as cross_folds
from active_critic.data.examples import split as two_parts
from active_critic.errors import DataError, FitError
from active_critic.evaluators.parameters import check_whole
from active_critic.figures_in_words import how_many
from active_critic.records import Example
from active_critic.stats import Level

FOLDS = 4
"""Folds, when neither their number nor a part for training is given."""
FEW = 10
"""A test part of fewer examples than this gives coefficients that say little."""


@dataclass(frozen=True, slots=True)
class Split:
    """Which examples a method is fitted on and which it is tested on, as positions; no document is in both.

    Attributes:
        repeat: Which repeat, from 0.
        fold: Which fold of it, from 0; None without folds.
        train, test: Positions, in input order.
    """

    repeat: int
    fold: int | None
    train: tuple[int, ...]
    test: tuple[int, ...]

    def __str__(self) -> str:
        return f"repeat {self.repeat + 1}" + ("" if self.fold is None else f", fold {self.fold + 1}")


def plan(
    data: Examples,
    *,
    folds: int | None = None,
    train: float | None = None,
    repeats: int = 1,
    seed: int = 0,
    level: Level = "dataset",
    test_documents: int | None = None,
) -> tuple[list[Split], list[str]]:
    """The splits, the same for every method, and what should be said about them; arguments as for :func:`compare`.

    Raises:
        DataError: The examples cannot be split, or there is nothing to correlate at this level.
        FitError: Arguments that cannot be.
    """
    if folds is not None and train is not None:
        raise FitError("give a number of folds or a part for training, not both")
    if folds is not None:
        folds = check_whole("folds", folds, 2)
    repeats = check_whole("repeats", repeats, 1, REPEATS)
    if test_documents is not None:
        test_documents = check_whole("test_documents", test_documents, 2)
        if train is None:
            raise FitError("test_documents goes with a part for training, not with folds")
    _check_level(data, level)
    # Examples that know their place, so that a split of them can be read back as places.
    placed = replace(data, items=tuple(replace(example, row=place) for place, example in enumerate(data)))
    wanted = FOLDS if folds is None else folds
    splits: list[Split] = []
    notes: list[str] = []
    for repeat in range(repeats):
        if train is not None:
            first, second = two_parts(placed, train, seed + repeat)
            tested = _some_documents(second, test_documents, seed + repeat)
            splits.append(Split(repeat, None, tuple(e.row for e in first), tuple(e.row for e in tested)))
            continue
        parts = cross_folds(placed, wanted, seed + repeat)
        for fold, part in enumerate(parts):
            held = set(part)
            splits.append(Split(repeat, fold, tuple(i for i in range(len(data)) if i not in held), tuple(part)))
        if repeat == 0 and len(parts) < wanted:
            notes.append(f"there are only {len(parts)} documents, so there are {len(parts)} folds, not {wanted}")
    smallest = min(len(split.test) for split in splits)
    if smallest < FEW:
        has = how_many(smallest, "example")
        remedy = "use fewer folds" if train is None else "fit on less, or test on more documents"
        notes.append(f"the smallest test part has {has}: coefficients in it say little; {remedy}")
    return splits, notes


def check_training(
    data: Examples, splits: Sequence[Split], methods: Collection[str], learners: Sequence[str]
) -> list[str]:
    """What should be said, before anything is paid for, of parts for training that are too small for some methods.

    Args:
        data: The examples.
        splits: As :func:`plan` gives them.
        methods: All methods that are compared.
        learners: Those of them that are known to learn from examples.

    Raises:
        DataError: None of the methods could be fitted in any split.
    """
    small = [len(split.train) for split in splits if len(split.train) < MIN_EXAMPLES]
    if not small or not learners:
        return []
    if len(small) < len(splits) or len(learners) < len(methods):
        where = "the only split" if len(splits) == 1 else f"{len(small)} of {len(splits)} splits"
        few = f"{min(small)} of the {MIN_EXAMPLES} examples that a fit needs"
        return [f"the smallest part for training has {few}: in {where}, {', '.join(learners)} cannot be fitted"]
    if len(data) < MIN_EXAMPLES:
        check_examples(data)
    remedies = ["label more"]
    if splits[0].fold is None:
        remedies.append("fit on a larger part")
    elif len({split.fold for split in splits}) < len({group_of(example) for example in data}):
        remedies.append("use more folds")
    parts = f"of {len(data)} examples, {max(small)} at most are in a part for training"
    raise DataError(f"{parts}, and a fit needs at least {MIN_EXAMPLES}; {', or '.join(remedies)}", path=data.path)


def _some_documents(examples: Examples, most: int | None, seed: int) -> list[Example]:
    documents = sorted({group_of(example) for example in examples})
    if most is None or most >= len(documents):
        return list(examples)
    chosen = set(random.Random(seed).sample(documents, most))  # noqa: S311
    return [example for example in examples if group_of(example) in chosen]


def _check_level(data: Examples, level: Level) -> None:
    """Whether something can be compared at this level on these examples."""
    documents = {group_of(example) for example in data}
    if level not in get_args(Level):
        raise FitError(f"the level is dataset, document or system, not {level!r}")
    if len(documents) < 2:
        raise only_one_document("and a comparison fits on some documents and tests on others", data.path)
    if len({example.score for example in data}) == 1:
        raise DataError(f"all {len(data)} scores are {data[0].score:g}: nothing can agree with that", path=data.path)
    if level == "document" and len(documents) == len(data):
        message = "every example is a document of its own, and document level needs several examples of a document"
        raise DataError(
            f"{message}; name the column (--fields group=COLUMN), or compare at dataset level", path=data.path
        )
    if level == "system":
        for place, example in enumerate(data, 1):
            if example.system is None:
                message = "no system is named, and system level needs one in every row; name its column"
                raise DataError(f"{message} (--fields system=COLUMN)", path=data.path, row=example.row or place)
        systems = {example.system for example in data}
        if len(systems) < 2:
            message = f"the only system is {str(systems.pop())[:40]!r}, and system level needs at least two"
            raise DataError(f"{message}; compare at dataset or document level", path=data.path)
