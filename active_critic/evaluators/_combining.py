"""How a fit of Active-Critic combines readings into a score, and what it has to say of that."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from active_critic.calibration import SHOWN, Calibration, calibrate_with, percent
from active_critic.data.examples import MIN_EXAMPLES, group_of
from active_critic.demo_search import MIN_COVERAGE, Search
from active_critic.errors import FitError
from active_critic.evaluators._anyhow import most
from active_critic.evaluators._readings import (
    FURTHER,
    LIKELY,
    OF_NO_COPY,
    TOKENS,
    WEIGHING,
    Combination,
    Read,
    Use,
    ratings_in,
    value_of,
)
from active_critic.evaluators._weighed import WEIGHED
from active_critic.evaluators.surface import SurfaceFloor, beyond_most, copied_shares, figures_of
from active_critic.lm import LanguageModel
from active_critic.lm.catalogue import CATALOGUE
from active_critic.lm.likelihood import LEAST_LIKELY, Likelihood
from active_critic.records import LEAST_SPREAD, Criterion, Scale
from active_critic.stats.correlation import Floats, pearson
from active_critic.token_figures import TOKEN_FIGURES, TokenWeights, token_figures
from active_critic.weighing import ABLER, CRITERION, EXPECTED, WEAKER

LEAST = 3
"""Fewest examples that anything can be combined on: a regression without one of them needs two."""
WORTH = 0.05
"""A reading with a smaller share of the weights is left out, unless it is to be used always."""
SURELY_AGAINST = 0.01
"""From this probability of chance on, a reading is said to go against people."""
BELIEFS = {CATALOGUE[0].sha256: EXPECTED, **{smaller.sha256: WEAKER for smaller in CATALOGUE[1:]}}
"""What is believed of the readings of each model of the catalogue, by its weights."""
LEANS = 0.4
"""From this share of the weights on, a critic is said to lean on the surface, or on the likelihood."""
Predict = Callable[[int, Sequence[int], Sequence[int]], tuple[Mapping[int, float], float]]
"""From a candidate, the examples to fit a combination on, and others, to the scores of these, and the mean score of the
examples that the combination rests on: :meth:`Combiner.predict`."""


def expected_of(lm: LanguageModel) -> Mapping[str, float]:
    """The correlation of each kind of reading with people's scores that is believed in before any label is seen."""
    return BELIEFS.get(lm.weights or "", ABLER)


@dataclass
class Combiner:
    """Fits combinations of readings on any of the examples of a search.

    Attributes:
        names: The readings.
        search: The search, whose verdicts are the ratings.
        scale: The user's scale.
        always: Those readings that count however small their share.
        further: What else the model was asked, by reading: a value for every example, None where it cannot be had.
        of_tokens: The figures of the tokens of every example, shape ``(n, len(TOKEN_FIGURES))``, not a number where it
            has no likelihood; None: there are none.
        rated: Whether the ratings count; see :meth:`unrated`.
        joint: Whether contrast and likelihood are read from the same two questions, and have one price.
        anyhow: How sure the model is that each example is good under a foreign source, None where that cannot be had;
            None: it was not asked.
        expected: See :func:`expected_of`.
    """

    names: tuple[str, ...]
    search: Search
    scale: Scale
    always: frozenset[str] = frozenset()
    further: dict[str, list[float | None]] = field(default_factory=dict)
    of_tokens: Floats | None = None
    rated: bool = True
    joint: bool = False
    anyhow: Sequence[float | None] | None = None
    expected: Mapping[str, float] = field(default_factory=lambda: EXPECTED)

    def rated_by(self, criteria: Sequence[Criterion], use: Use) -> None:
        """Go on with the ratings of these criteria, too, which the verdicts of the search hold (fine mode)."""
        names = [CRITERION + criterion.name for criterion in criteria] if use != "never" else []
        self.names = (self.names[0], *names, *self.names[1:])
        if use == "always":
            self.always |= set(names)

    @cached_property
    def figures(self) -> Floats:
        """The figures of the surface of all examples, measured once; see ``figures_of``."""
        return figures_of(self.search.examples)

    @cached_property
    def copied(self) -> list[tuple[float, float]]:
        """What each example copies of its source; see ``copied_shares``."""
        return [copied_shares(example) for example in self.search.examples]

    def add(self, name: str, taken: Sequence[Read | None]) -> str | None:
        """Go on with what was taken of a reading.

        Returns:
            Why the reading is left out, where that is so: more than a tenth of the examples lack it. One that is
            always to be used is kept.
        """
        if (said := lacking(name, taken)) and name not in self.always:
            self.leave_out(name)
            return said
        self.further[name] = [None if read is None else value_of(read) for read in taken]
        if name == "likelihood":
            none = [math.nan] * len(TOKEN_FIGURES)
            rows = [token_figures(read.logprobs) if isinstance(read, Likelihood) else none for read in taken]
            self.of_tokens = np.array(rows)
        return None

    def hardly_contrasts(self, found: Combination) -> bool:
        """Whether a combination takes the contrast for what comes with it alone; never where it is always to be."""
        shares = found.calibration.shares
        return self.joint and "contrast" not in self.always and shares.get("contrast", WORTH) < WORTH

    def part(self, alone: Sequence[Read | None]) -> str | None:
        """Go on without the contrast, with the likelihood as it is read by itself; see :meth:`add`."""
        self.leave_out("contrast")
        self.joint = False
        return self.add("likelihood", alone)

    def leave_out(self, name: str) -> None:
        """Go on without a reading."""
        self.names = tuple(other for other in self.names if other != name)
        self.further.pop(name, None)

    def unrated(self) -> bool:
        """Go on without the rating and those of criteria, which too few examples have.

        Returns:
            Whether anything remains that the model was asked; if not, all is as it was.
        """
        if self.further:
            self.names = tuple(name for name in self.names if name in self.further or name == "surface")
            self.rated = False
        return not self.rated

    def usable(self, candidate: int, indices: Sequence[int], names: Collection[str] | None = None) -> list[int]:
        """Those of the examples that have the readings of these names under a candidate; all of them by default.

        An example that has a rating has that of every criterion.
        """
        names = [name for name in self.further if names is None or name in names]
        verdicts = self.search.verdicts
        rated = [i for i in indices if (v := verdicts.get((candidate, i))) is not None and v.score is not None]
        return [
            i for i in (rated if self.rated else indices) if all(self.further[name][i] is not None for name in names)
        ]

    def read(self, candidate: int, index: int) -> dict[str, float]:
        """What was read of an example by asking the model: by name, 0 where it cannot be had (see :meth:`usable`)."""
        values = ratings_in(self.search.verdicts[candidate, index]) if self.rated else {}
        values |= {name: had[index] or 0.0 for name, had in self.further.items()}
        return {name: values[name] for name in self.names if name in values}

    def fit(self, candidate: int, indices: Sequence[int]) -> Combination:
        """The combination for a candidate, from these examples alone.

        A reading whose share of the weights is below ``WORTH`` is left out, and the others are combined without it; so
        is a criterion without any weight: it comes with the rating, and has no price of its own. The figures of tokens
        come with the likelihood, and count with it.

        Raises:
            FitError: Fewer than ``MIN_EXAMPLES`` of them have all readings; of fewer examples (a small set without a
                fold), any of them lacks one, or there are not ``LEAST``.
        """
        kept = self.usable(candidate, indices)
        needed = max(LEAST, min(MIN_EXAMPLES, len(indices)))
        if len(kept) < needed:
            asked = ", ".join(name for name in self.names if not name.startswith(CRITERION))
            raise FitError(
                f"only {len(kept)} of {len(indices)} examples have all of {asked}, and {needed} "
                "are needed to combine them; give more or shorter examples, or forbid the readings that are missing"
            )
        found = self._combined(candidate, kept, self.names)
        shares = found.calibration.shares
        small = {name for name in shares if not worth_its_price(name, shares, joint=self.joint)}
        small -= {"rating", *self.always}
        if small.intersection(self.names):
            # An example that lacks only what does not count, counts.
            left = [name for name in self.names if name not in small]
            found = self._combined(candidate, self.usable(candidate, indices, left), left)
        return found

    def _combined(self, candidate: int, kept: Sequence[int], names: Collection[str]) -> Combination:
        """The combination of the readings of these names, which all of these examples have."""
        examples = [self.search.examples[i] for i in kept]
        read = [self.read(candidate, i) for i in kept]
        asked = [name for name in self.names if name in names and name != "surface"]
        values = {name: [one[name] for one in read] for name in asked}
        human, groups = [self.search.human[i] for i in kept], [group_of(example) for example in examples]
        figures = {}
        if "surface" in names:
            figures["surface"] = self.figures[list(kept)]
        if "likelihood" in values and self.of_tokens is not None:
            figures[TOKENS] = self.of_tokens[list(kept)]
        found, added = calibrate_with(figures, values, human, groups, expected=self.expected)
        if not OF_NO_COPY.isdisjoint(part.name for part in found.parts):
            found = found.model_copy(update=beyond([self.copied[i] for i in kept]))
        if self.anyhow is not None:
            found = found.model_copy(update={"foreign": most([self.anyhow[i] for i in kept])})
        if "likelihood" in values:
            found = found.model_copy(update={"least_tokens": LEAST_LIKELY})
        if values.keys() & WEIGHING:
            found = found.model_copy(update={"weighed": WEIGHED})
        surface, tokens = added.get("surface"), added.get(TOKENS)
        return Combination(
            found,
            None if surface is None else SurfaceFloor.beside(surface, found.intercept, self.scale),
            None if tokens is None else TokenWeights.of(tokens.standard, tokens.coefficients),
        )

    def predict(
        self, candidate: int, fitted_on: Sequence[int], indices: Sequence[int]
    ) -> tuple[dict[int, float], float]:
        """Combined scores of some examples, from a combination fitted on others, and the mean score of those others."""
        found = self.fit(candidate, fitted_on)
        calibration = found.calibration
        scores = {
            i: found.apply(
                self.read(candidate, i),
                self.search.examples[i],
                self.scale,
                of_tokens=None if self.of_tokens is None else self.of_tokens[i].tolist(),
                bounded=self._bounded(calibration, i),
                of_surface=None if found.floor is None else self.figures[[i]],
            ).score
            for i in self.usable(candidate, indices, calibration.shares)
        }
        return scores, calibration.intercept

    def _bounded(self, calibration: Calibration, index: int) -> Collection[str]:
        """The parts of an example's score that count as no more than the average."""
        if self.anyhow is not None and calibration.is_good_anyhow(self.anyhow[index]):
            return calibration.shares.keys()
        return OF_NO_COPY if calibration.copied is not None and calibration.is_copy(self.copied[index]) else ()

    def against_people(self, candidate: int) -> list[str]:
        """What is to be said where what the model says of texts goes against people's scores, beyond chance."""
        for name in [name for name in ("rating", "approval") if name in self.names]:
            kept = self.usable(candidate, range(len(self.search.examples)), [name])
            values = [self.read(candidate, i)[name] for i in kept]
            r = pearson(values, [self.search.human[i] for i in kept])
            if r is not None and _chance(r, len(kept)) < SURELY_AGAINST:
                said = (
                    f"the {name} goes against people's scores (Pearson {r:.2f}): where lower is better on your scale "
                    "(school grades), turn the scores round first and fit again, for a critic takes the highest for "
                    "the best"
                )
                return [said]
        return []

    def unweighed(self, calibration: Calibration, *, fine: bool) -> list[str]:
        """What is to be said where the rating, by which demonstrations are chosen, has no part in the score.

        Args:
            calibration: What :meth:`fit` found.
            fine: Whether criteria are rated, too: then every text is, whatever the rating counts for.
        """
        rating = next((part for part in calibration.parts if part.name == "rating"), None)
        if rating is not None and rating.weight:
            return []
        of_criteria = any(part.weight for part in calibration.parts if part.name.startswith(CRITERION))
        besides = calibration.shares.keys() & set(FURTHER)
        saved = "; texts are not rated where no explanation is wanted" if besides and not fine else ""
        searched = len(self.search.sets) > 1
        if rating is not None and not rating.spread:
            whole = "overall rating" if self.search.student.protocol.overall_scoring else "mean rating of the criteria"
            chosen = "demonstrations could not be chosen by it, and " if searched and self._all_flat() else ""
            return [f"the model gave every text the same {whole}: {chosen}it has no part in the score{saved}"]
        if of_criteria:
            chosen = ", though demonstrations were chosen by it" if searched else ""
            return [f"the overall rating has no part in the score{chosen}; ratings of single criteria have"]
        if len(calibration.parts) > 1:
            return [f"the rating, and with it the demonstrations, has no part in the score{saved}"]
        return []

    def _all_flat(self) -> bool:
        """Whether no candidate of the search rates any two texts differently."""
        rated: dict[int, list[float]] = {}
        for (candidate, _), verdict in self.search.verdicts.items():
            if verdict.score is not None:
                rated.setdefault(candidate, []).append(verdict.score)
        return all(max(scores) - min(scores) <= LEAST_SPREAD for scores in rated.values())


def _chance(r: float, n: int) -> float:
    """How often two columns of n values that have nothing in common correlate so far below 0, by Student's t."""
    from scipy.special import stdtr

    return float(stdtr(n - 2, r * math.sqrt((n - 2) / max(1e-12, 1 - r * r)))) if n > 2 else 1.0


def beyond(shares: Sequence[tuple[float, float]]) -> dict[str, float]:
    """From what examples copy (``copied_shares``), beyond which a response is a copy: the fields of ``Calibration``."""
    copied, holds = map(beyond_most, zip(*shares, strict=True))
    return {"copied": copied, "holds": holds}


def lacking(name: str, taken: Sequence[Read | None]) -> str | None:
    """Why a reading is left out, where more than a tenth of the examples lack it."""
    had = sum(read is not None for read in taken)
    if had >= MIN_COVERAGE * len(taken):
        return None
    return f"the score is read without the {name}: only {had} of {len(taken)} examples have one"


def worth_its_price(name: str, shares: Mapping[str, float], *, joint: bool) -> bool:
    """Whether a reading is worth its price, by the weights of all that comes for it.

    Args:
        name: The reading.
        shares: Of the weights, by part.
        joint: See :class:`Combiner`.
    """
    if name.startswith(CRITERION):
        return shares[name] > 0
    one_price = LIKELY | WEIGHING if joint else LIKELY
    return sum(shares.get(part, 0.0) for part in (one_price if name in one_price else {name})) >= WORTH


def likely_share(shares: Mapping[str, float]) -> float:
    """The part of the weights that is read from how likely the model finds a text."""
    return sum(share for name, share in shares.items() if name in LIKELY)


def words(calibration: Calibration, tried: Sequence[str], asked: int) -> list[str]:
    """What the user should know of a combination, beside :meth:`Combiner.against_people` and the like.

    Args:
        calibration: The combination.
        tried: The readings that it could have been made from.
        asked: How many examples it could have rested on.
    """
    said = []
    if not (told := any(part.weight for part in calibration.parts)):
        said.append(
            "nothing that was read of the examples goes with their scores, so every text gets their mean score; try a "
            "larger model"
        )
    left_out = [name for name in tried if name not in calibration.shares]
    if others := [name for name in left_out if not name.startswith(CRITERION)]:
        said.append(
            f"tried and left out of the score, for a share of the weights below {WORTH:.0%}: {', '.join(others)}"
        )
    if criteria := [name.removeprefix(CRITERION) for name in left_out if name.startswith(CRITERION)]:
        said.append(
            f"criteria whose own ratings add nothing to the score, and have no part in it: {', '.join(criteria)}"
        )
    if told and len(calibration.parts) > 1:
        shares = ", ".join(f"{name} {share:.0%}" for name, share in calibration.shares.items())
        said.append(f"the score is combined from {shares} (shares of the weights, fitted on {calibration.n} examples)")
    if percent(SHOWN) not in calibration.half_widths:
        said.append(f"verdicts have no interval: one at {percent(SHOWN)} % takes examples of nine documents or more")
    if calibration.n < asked:
        # Without reasons: these may quote the text, and no text of an example is to stand in a program.
        said.append(f"{asked - calibration.n} of {asked} examples lack a reading and do not count in the combination")
    if calibration.shares.get("surface", 0.0) >= LEANS:
        said.append(
            "this critic leans on the surface of the texts (length, overlap, repetition): such a critic can be gamed "
            "by texts that are like the examples in it; where texts are written to score well, see how far "
            "(active-critic probe --attacks), also of a fit without it (use_surface='never', --use-surface never)"
        )
    if likely_share(calibration.shares) >= LEANS:
        said.append(
            "this critic leans on how likely the model finds the texts, and a model finds likely what it wrote itself, "
            "faults and all; forbid it (use_likelihood='never', --use-likelihood never) where it, or one like it, may "
            "have written some of them"
        )
    return said
