"""What a score may be read from beside the model's rating, and how a fit of Active-Critic combines it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from active_critic.asking import PER_ITEM
from active_critic.calibration import Calibration, calibrate
from active_critic.demo_search import Search
from active_critic.errors import FitError, RequestRefused
from active_critic.evaluators._fitting import in_parallel
from active_critic.evaluators.base import Progress
from active_critic.evaluators.gpt_score import weighing_turns
from active_critic.evaluators.surface import SurfaceFloor, out_of_fold
from active_critic.examples import MIN_EXAMPLES, folds, group_of
from active_critic.lm import LanguageModel
from active_critic.lm.likelihood import refusal
from active_critic.records import Example, Scale

READINGS = ("rating", "likelihood", "surface")
"""What a score can be read from."""
FOLDS = 8
"""Parts of the documents for the out-of-fold surface reading."""
LEAST = 3
"""Fewest examples that anything can be combined on: the floor without one of them needs two."""
LEANS = 0.4
"""From this share of the weights on, a critic is said to lean on the surface."""


def check_readings(readings: object) -> tuple[str, ...]:
    """The readings that were asked for, the rating first.

    Raises:
        FitError: They are no list of ``READINGS`` with the rating among them.
    """
    given = () if isinstance(readings, str) or not isinstance(readings, Sequence) else tuple(readings)
    if "rating" not in given or any(name not in READINGS or given.count(name) > 1 for name in given):
        raise FitError(
            f"readings must be a list of {', '.join(READINGS)}, 'rating' among them and none twice, not {readings!r}"
        )
    return tuple(name for name in READINGS if name in given)


def check_likelihood(names: Sequence[str], lm: LanguageModel) -> None:
    """Whether the model can give the readings.

    Raises:
        RequestRefused: It gives no likelihood, and that is among them.
    """
    if "likelihood" in names and not lm.gives_likelihood:
        raise RequestRefused(refusal(lm.name))


@dataclass
class Combiner:
    """Fits combinations of readings on any of the examples of a search.

    Attributes:
        names: The readings.
        search: The search, whose verdicts are the ratings.
        scale: The user's scale.
        likelihoods: Mean log-probability of each example's response; None where it cannot be had.
    """

    names: tuple[str, ...]
    search: Search
    scale: Scale
    likelihoods: list[float | None] = field(default_factory=list)

    def weigh(self, lm: LanguageModel, progress: Progress | None) -> None:
        """Measure the likelihoods, where they are among the readings.

        Raises:
            RequestRefused: The model gives no likelihood.
        """
        examples: list[Example] = self.search.examples
        self.likelihoods = [None] * len(examples)
        if "likelihood" not in self.names:
            return
        check_likelihood(self.names, lm)
        order = sorted(range(len(examples)), key=lambda i: (examples[i].source, i))

        def one(index: int) -> float | None:
            example = examples[index]
            if not example.response.strip():
                return None  # as it has no rating either
            try:
                return lm.likelihood(weighing_turns(example), example.response).mean
            except PER_ITEM:
                return None

        done = in_parallel(lm, one, order, doing="weighing examples", progress=progress)
        for index, mean in zip(order, done, strict=True):
            self.likelihoods[index] = mean

    def usable(self, candidate: int, indices: Sequence[int]) -> list[int]:
        """Those of the examples that have all readings under a candidate."""
        rated = [i for i in indices if self.search.verdicts[candidate, i].score is not None]
        return [i for i in rated if "likelihood" not in self.names or self.likelihoods[i] is not None]

    def fit(self, candidate: int, indices: Sequence[int]) -> tuple[Calibration, SurfaceFloor | None]:
        """The combination for a candidate, from these examples alone.

        Raises:
            FitError: Fewer than ``MIN_EXAMPLES`` of them have all readings; of fewer examples (a small set without a
                fold), any of them lacks one, or there are not ``LEAST``.
        """
        kept = self.usable(candidate, indices)
        needed = max(LEAST, min(MIN_EXAMPLES, len(indices)))
        if len(kept) < needed:
            raise FitError(
                f"only {len(kept)} of {len(indices)} examples have all of {', '.join(self.names)}, and {needed} "
                "are needed to combine them; give more or shorter examples, or take the rating alone"
            )
        # By content: the last digit of a sum depends on the order of rows.
        kept.sort(key=lambda i: (self.search.keys[i], self.search.human[i], self._rating(candidate, i)))
        examples = [self.search.examples[i] for i in kept]
        floor = None
        values: dict[str, Sequence[float]] = {"rating": [self._rating(candidate, i) for i in kept]}
        if "likelihood" in self.names:
            values["likelihood"] = [self.likelihoods[i] or 0.0 for i in kept]
        if "surface" in self.names:
            floor = SurfaceFloor().fit(examples, self.scale)
            values["surface"] = out_of_fold(examples, _parts(examples), self.scale)
        human = [self.search.human[i] for i in kept]
        return calibrate(values, human, [group_of(example) for example in examples]), floor

    def predict(self, candidate: int, fitted_on: Sequence[int], indices: Sequence[int]) -> dict[int, float]:
        """Combined scores of some examples, from a combination fitted on others."""
        calibration, floor = self.fit(candidate, fitted_on)
        return {
            i: calibration.apply(
                readings_of(self._rating(candidate, i), self.likelihoods[i], floor, self.search.examples[i]), self.scale
            ).score
            for i in self.usable(candidate, indices)
        }

    def _rating(self, candidate: int, index: int) -> float:
        score: float | None = self.search.verdicts[candidate, index].score
        return 0.0 if score is None else score  # never None: see usable()


def _parts(examples: Sequence[Example]) -> list[list[int]]:
    """Folds of whole documents; of single examples where one document has all of them, or all but one."""
    parts = folds(examples, FOLDS, 0)
    if len(examples) - max(map(len, parts)) < 2:
        return [[i] for i in range(len(examples))]
    return parts


def readings_of(
    rating: float, likelihood: float | None, floor: SurfaceFloor | None, example: Example
) -> Mapping[str, float]:
    """The readings of one example by name."""
    values = {"rating": rating}
    if likelihood is not None:
        values["likelihood"] = likelihood
    if floor is not None:
        values["surface"] = floor.predict([example])[0]
    return values


def words(calibration: Calibration, asked: int) -> list[str]:
    """What the user should know of a combination.

    Args:
        calibration: The combination.
        asked: How many examples it could have rested on.
    """
    shares = ", ".join(f"{name} {share:.0%}" for name, share in calibration.shares.items())
    said = [f"the score is combined from {shares} (shares of the weights, fitted on {calibration.n} examples)"]
    if calibration.n < asked:
        # Without reasons: these may quote the text, and no text of an example is to stand in a program.
        said.append(f"{asked - calibration.n} of {asked} examples lack a reading and do not count in the combination")
    if calibration.shares.get("surface", 0.0) >= LEANS:
        said.append(
            "this critic leans on the surface of the texts (length, overlap, repetition): such a critic can be gamed; "
            "leave 'surface' out of the readings where texts are written to score well"
        )
    return said


Predict = Callable[[int, Sequence[int], Sequence[int]], Mapping[int, float]]
"""From a candidate, the examples to fit a combination on, and others, to the scores of these."""
