"""The honest part of a fit: agreement on held-out folds, against zero-shot and against the surface floor."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple

from active_critic.data.examples import folds, group_of
from active_critic.demo_search import DemoSearch, Search
from active_critic.errors import FitError
from active_critic.evaluators._combining import Predict
from active_critic.evaluators.surface import out_of_fold
from active_critic.evaluators.zero_shot import zero_shot_protocol
from active_critic.figures_in_words import figure_words, sentence
from active_critic.records import Example, Usage
from active_critic.scoring import Scorer
from active_critic.stats import Agreement, Difference, agreement, holm, paired_difference
from active_critic.stats.correlation import Floats
from active_critic.stats.intervals import Figures
from active_critic.stats.resampling import ALPHA, cautions

FOLDS = 4
LEAST = 5
"""With fewer examples scored, no figure is given: of two, every correlation is 1 or -1."""


@dataclass(frozen=True, slots=True)
class FitReport:
    """How well a fit agrees with people on examples that it did not see in choosing among candidates.

    The task and the criteria, where they were inferred or refined, were made from all examples, those held out
    included; only examples that a fit never saw (``--train``, ``--rest``) leave that out, too.
    Intervals and p-values allow for what is held out of one fold being fitted on in the others (``resampling.FOLDED``).

    Attributes:
        critic, zero_shot, surface: Out-of-fold agreement of the fitted critic, of zero-shot on the same model, and of
            a ridge regression on surface features; all on the same examples. None when there are too few documents to
            hold any out; without coefficients where fewer than ``LEAST`` could be scored.
        over_zero_shot, over_surface: Difference of the critic's mean of three coefficients to each, with interval and
            p; or None.
        examples: Training examples.
        held_out: Examples that could be held out; one that is a demonstration of its fold's winner is not counted.
        uncombined: Those of them without a score because readings could not be combined on the other folds: too few
            examples there have all of them.
        usage: Calls, tokens and seconds by stage, and in all. Where an earlier run paid for replies, ``origins.BEFORE``
            says what all that the fit needed, retries left out, had cost when it was paid for.
        notes: Warnings about the data and the fit.
        candidates: Every candidate of the search, best first.
        seed: Seed of folds and resampling.
        missed: See :class:`OutOfFold`; not part of the JSON.
    """

    critic: Agreement | None
    zero_shot: Agreement | None
    surface: Agreement | None
    over_zero_shot: Difference | None
    over_surface: Difference | None
    examples: int
    held_out: int
    usage: dict[str, Usage]
    notes: tuple[str, ...]
    candidates: tuple[dict[str, Any], ...]
    seed: int
    missed: tuple[tuple[str, float], ...] = ()
    uncombined: int = 0

    def __str__(self) -> str:
        return "\n".join(self.words)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.words[0]}>"

    @property
    def words(self) -> tuple[str, ...]:
        """What the figures say, in plain sentences, favourable or not."""
        if self.critic is None:
            return ("There are too few documents, or scored examples, to say how well this critic agrees.",)
        if self.critic.n < LEAST:
            few = f"Only {self.critic.n} of {self.critic.total} held-out examples have a score"
            return (f"{few}: too few to say how well this critic agrees.", *self._unscored())
        if self.critic.mean is None:
            return (
                "On held-out folds the critic, or the people, gave everything the same score: no agreement to see.",
            )
        figure = figure_words(self.critic.mean, self.critic.mean_interval)
        said = [f"On held-out folds the mean of the three correlations with people is {figure}."]
        if self.critic.mean_interval and self.critic.mean_interval[0] <= 0 <= self.critic.mean_interval[1]:
            said.append("That may be no agreement at all: the interval holds 0.")
        rivals = {
            "zero-shot on the same model": self.over_zero_shot,
            "the surface floor (length, overlap, repetition)": self.over_surface,
        }
        corrected = holm([None if one is None else one.p for one in rivals.values()])
        for (name, difference), p in zip(rivals.items(), corrected, strict=True):
            if difference is None or difference.delta is None:
                said.append(f"It could not be compared with {name}.")
                continue
            chance = "" if p is None else f", p {p:.3f}"
            figures = figure_words(difference.delta, difference.interval, "+z.2f") + chance
            if difference.delta <= 0:
                said.append(f"It does NOT beat {name} ({figures}).")
            elif p is not None and p < ALPHA:
                said.append(f"It beats {name} ({figures}).")
            else:
                said.append(f"It is ahead of {name} ({figures}), but not by more than chance could explain.")
        ps = sum(p is not None for p in corrected)
        if ps > 1:
            said.append("Both p-values are corrected for their number (Holm).")
        said += self._unscored()
        said += map(sentence, cautions(self.critic.groups, ps, self.critic.resamples))
        return tuple(said)

    def _unscored(self) -> list[str]:
        """Why held-out examples have no score."""
        if self.critic is None:
            return []
        total, said = self.critic.total, []
        if self.uncombined:
            said.append(
                f"{self.uncombined} of {total} examples have no score here: outside their fold, too few have all "
                "readings to combine these."
            )
        if others := total - self.critic.n - self.uncombined:
            said.append(f"{others} of {total} examples could not be scored.")
        return said

    def to_dict(self) -> dict[str, Any]:
        """The report as plain JSON values."""
        return {
            "words": list(self.words),
            "critic": self.critic.to_dict() if self.critic else None,
            "zero_shot": self.zero_shot.to_dict() if self.zero_shot else None,
            "surface": self.surface.to_dict() if self.surface else None,
            "over_zero_shot": self.over_zero_shot.to_dict() if self.over_zero_shot else None,
            "over_surface": self.over_surface.to_dict() if self.over_surface else None,
            "examples": self.examples,
            "held_out": self.held_out,
            "uncombined": self.uncombined,
            "usage": {stage: usage.to_dict() for stage, usage in self.usage.items()},
            "notes": list(self.notes),
            "candidates": list(self.candidates),
            "seed": self.seed,
        }


class OutOfFold(NamedTuple):
    """Scores of examples by what was chosen without them.

    Attributes:
        predictions: By example; None where unscored. All begin at the mean score of all examples. Beginning at that of
            the others, which is the lower the higher the scores that are left out, predictions of different folds would
            go against people when they are pooled.
        kept: The examples that the agreement is measured on: those that are no demonstration of their fold's winner,
            which people's scores had a part in writing.
        folds: The examples of each fold.
        missed: The document of each example with a score, and how far people's score is from the one that a program
            fitted without the fold gives, which begins at the mean score of the others.
        uncombined: How many of ``kept`` are unscored because readings could not be combined without their fold.
    """

    predictions: list[float | None]
    kept: list[int]
    folds: list[list[int]]
    missed: list[tuple[str, float]]
    uncombined: int


def held_out_predictions(search: Search, settings: DemoSearch, combine: Predict | None = None) -> OutOfFold:
    """Out-of-fold predictions: for each fold, the choice among candidates is made anew without that fold.

    Verdicts that the search has made already are used again; calls are made only where a fold's race goes another
    way. With ``combine`` the readings are combined anew, too. An example's own demonstration and others from its
    document are not in the prompt that it is scored with.
    """
    parts = folds(search.examples, FOLDS, settings.seed)
    predictions: list[float | None] = [None] * len(search.examples)
    kept: list[int] = []
    missed: list[tuple[str, float]] = []
    mean = math.fsum(search.human) / len(search.human)
    uncombined = 0
    for part in parts:
        rest = [i for other in parts if other is not part for i in other]
        try:
            winner = search.run(rest)
        except FitError:
            kept += part  # nothing chosen here could score enough: these stay unscored, and show in the coverage
            continue
        search.score(winner, part)
        own = search.own(winner)
        scores: Mapping[int, float] = {i: s for i in part if (s := search.verdicts[winner, i].score) is not None}
        begin = mean
        if combine is not None:
            try:
                scores, begin = combine(winner, rest, part)
            except FitError:
                scores = {}  # too few others to combine on: unscored, as above
                uncombined += sum(i not in own for i in part)
        for i, score in scores.items():
            predictions[i] = mean - begin + score
            missed.append((search.groups[i], abs(score - search.human[i])))
        kept += [i for i in part if i not in own]
    return OutOfFold(predictions, sorted(kept), parts, missed, uncombined)


def make_report(
    search: Search,
    settings: DemoSearch,
    *,
    combine: Predict | None = None,
    notes: Sequence[str],
    candidates: Sequence[dict[str, Any]],
    figures_of_surface: Floats | None = None,
) -> FitReport:
    """Measure a fit honestly; scores every example zero-shot, once. What it all cost is left to be told.

    Args:
        search: The search, over all examples.
        settings: Its settings.
        combine: What combines readings; None: the rating is the score.
        notes: Warnings so far.
        candidates: What the report lists of them.
        figures_of_surface: ``surface.figures_of`` of the examples, when they are already there.

    Raises:
        ModelError: The endpoint cannot be used.
    """
    examples: list[Example] = search.examples
    seed = settings.seed
    groups = [group_of(example) for example in examples]
    model = search.student.lm
    figures: list[Agreement | None] = [None, None, None]
    differences: list[Difference | None] = [None, None]
    kept: list[int] = []
    uncombined = 0
    missed: list[tuple[str, float]] = []
    if len(set(groups)) >= 2:
        held_out = held_out_predictions(search, settings, combine)
        kept, missed, uncombined = held_out.kept, held_out.missed, held_out.uncombined
        plain = Search(
            Scorer(zero_shot_protocol(model, search.student.protocol.scale, search.student.protocol.reading), model),
            [],
            examples,
            DemoSearch(candidates=1, demos=0, race=False, seed=seed, progress=settings.progress),
        )
        with suppress(FitError):  # none of its first replies could be read: its coverage says so
            plain.score(0, kept)
        zero = [plain.verdicts[0, i].score if (0, i) in plain.verdicts else None for i in range(len(examples))]
        floor: list[float | None] = [None] * len(examples)
        if max(map(len, held_out.folds)) <= len(examples) - 2:  # it takes two to fit on
            scale = search.student.protocol.scale
            floor = [*out_of_fold(examples, held_out.folds, scale, figures=figures_of_surface)]
        human = [search.human[i] for i in kept]
        where = [groups[i] for i in kept]

        def of(values: Sequence[float | None]) -> list[float | None]:
            return [values[i] for i in kept]

        if kept:
            figures = [
                agreement(of(values), human, where, folded=values is not zero, seed=seed)
                for values in (held_out.predictions, zero, floor)
            ]
            differences = [
                paired_difference(of(held_out.predictions), of(values), human, where, folded=True, seed=seed)
                for values in (zero, floor)
            ]
            figures = [found and _counts_only(found) for found in figures]
            differences = [d if d and d.n >= LEAST else None for d in differences]
    return FitReport(
        critic=figures[0],
        zero_shot=figures[1],
        surface=figures[2],
        over_zero_shot=differences[0],
        over_surface=differences[1],
        examples=len(examples),
        held_out=len(kept),
        usage={},
        notes=tuple(dict.fromkeys(notes)),
        candidates=tuple(candidates),
        seed=seed,
        missed=tuple(missed),
        uncombined=uncombined,
    )


def _counts_only(found: Agreement) -> Agreement:
    """The same without coefficients where they would say nothing."""
    none = dict.fromkeys(figure.name for figure in fields(Figures))
    return found if found.n >= LEAST else replace(found, **none)  # type: ignore[arg-type]
