"""How a critic's criteria go together, against how people's aspects do."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from active_critic.probes.aspects import Matched, match_aspect
from active_critic.stats.correlation import Floats, Indices, count_of, pearson, weighted_coefficients
from active_critic.stats.resampling import Interval, bootstrap, percentile_interval

Columns = Mapping[str, Sequence[float | None]]


@dataclass(frozen=True, slots=True)
class Pair:
    """Two criteria.

    Attributes:
        a, b: Their names.
        critic: Pearson's correlation of the critic's scores on the texts as they were, or None where one of the two
            does not vary.
        human_a, human_b: The human aspects that stand for them, or None.
        human: Pearson's correlation of these, or None.
        excess: Interval of how much closer the critic's go together than people's (bootstrap over documents, on the
            texts that have all four), or None.
        n: Texts behind ``critic``.
        human_n: Texts behind ``human``.
    """

    a: str
    b: str
    critic: float | None
    human_a: str | None
    human_b: str | None
    human: float | None
    excess: Interval | None
    n: int
    human_n: int

    @property
    def closer(self) -> bool:
        """Whether the critic's scores clearly go together more than people's."""
        return self.excess is not None and self.excess[0] > 0


def pairs_of(
    scores: Columns,
    human: Columns,
    matched: Sequence[Matched],
    group: Indices,
    resamples: int,
    seed: int,
    confidence: float,
) -> tuple[Pair, ...]:
    """All pairs of criteria.

    Args:
        scores: The critic's scores by criterion, one a text; None where missing.
        human: Human scores by aspect, likewise.
        matched: Which aspect each criterion stands for.
        group: The document of each text, as a number from 0.
        resamples: Bootstrap resamples of whole documents.
        seed: Seed of the resampling.
        confidence: Coverage that intervals aim at.
    """
    people = _people_for(matched, list(human))
    made = []
    for a, b in itertools.combinations(scores, 2):
        of_a, of_b = people.get(a), people.get(b)
        both = of_a is not None and of_b is not None and of_a != of_b
        columns = [scores[a], scores[b], *([human[str(of_a)], human[str(of_b)]] if both else [])]
        x = _floats(columns)
        own, theirs = np.isfinite(x[:2]).all(axis=0), np.isfinite(x[2:]).all(axis=0) & both
        made.append(
            Pair(
                a=a,
                b=b,
                critic=pearson(x[0][own], x[1][own]),
                human_a=of_a,
                human_b=of_b,
                human=pearson(x[2][theirs], x[3][theirs]) if both else None,
                excess=_excess(x[:, own & theirs], group[own & theirs], resamples, seed, confidence) if both else None,
                n=int(own.sum()),
                human_n=int(theirs.sum()),
            )
        )
    return tuple(made)


def _floats(columns: Sequence[Sequence[float | None]]) -> Floats:
    return np.array([[np.nan if value is None else value for value in column] for column in columns], dtype=np.float64)


def _people_for(matched: Sequence[Matched], names: Sequence[str]) -> dict[str, str]:
    """The human aspect of each criterion: that of the same name, else the only one that stands for the same aspect."""
    plain = {name.casefold().strip(): name for name in names}
    stands = {name: match_aspect(name).aspect for name in names}
    found = {}
    for one in matched:
        same = plain.get(one.criterion.casefold().strip())
        alike = [name for name, aspect in stands.items() if aspect is not None and aspect == one.aspect]
        if same is not None:
            found[one.criterion] = same
        elif len(alike) == 1:
            found[one.criterion] = alike[0]
    return found


def _excess(x: Floats, group: Indices, resamples: int, seed: int, confidence: float) -> Interval | None:
    if x.shape[1] < 2 or pearson(x[0], x[1]) is None or pearson(x[2], x[3]) is None:
        return None
    _, code = np.unique(group, return_inverse=True)

    def measure(weights: Floats) -> Floats:
        own = weights[:, code]
        critic, people = (weighted_coefficients(x[i], x[i + 1], own)[:, 0] for i in (0, 2))
        return np.asarray(critic - people)

    documents = count_of(code)
    drawn = bootstrap(measure, documents, resamples, np.random.default_rng(seed), x.shape[1])
    return percentile_interval(drawn, confidence, documents)
