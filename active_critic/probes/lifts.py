"""What attacked texts gain over the same texts as they were. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from active_critic.reasons import NOTHING_ELSE, budget_spent
from active_critic.records import Scale, Verdict
from active_critic.stats.correlation import Floats
from active_critic.stats.resampling import ALIKE, Interval, bootstrap, of_one_value, percentile_interval

_TOLERANCE = 1e-9


@dataclass(frozen=True, slots=True)
class Lift:
    """What attacked texts gain over the same texts as they were.

    Attributes:
        mean: Mean gain in points of the user's scale (negative: attacked texts are scored lower), over the texts that
            were scored both ways; None where there are none.
        interval: Bootstrap interval of the mean over documents, or None with fewer than five documents. Where all
            documents gained the same, as many others as are just possible may go to an end of the scale, or, where
            these gained or lost, stay where they are (``resampling.of_one_value``).
        deviations: ``mean`` in standard deviations of the scores of all texts as they were (see ``AttackTrial``), or
            None.
        success: The part of these texts that gained what counts as a success (``AttackTrial.threshold``) or more, 0 to
            1, or None.
        success_interval: Likewise of ``success``, whose ends are 0 and 1.
        original, attacked: Mean scores of these texts before and after, on the user's scale, or None.
        scored: Texts that were scored both ways; only they count above.
        failed: Texts that were scored as they were, and unscored under attack: the grader failed, and nobody gained.
        skipped: Texts to which the attack does not apply.
        not_asked: Texts that were scored as they were, and not asked for under attack, for a budget was spent.
        declined: Texts that were scored as they were, and that the judge would not rate under attack, since they are
            nothing but a forged reply.
    """

    mean: float | None
    interval: Interval | None
    deviations: float | None
    success: float | None
    success_interval: Interval | None
    original: float | None
    attacked: float | None
    scored: int
    failed: int
    skipped: int
    not_asked: int = 0
    declined: int = 0


@dataclass(frozen=True)
class Pairs:
    """Verdicts on texts as they are, with which those under attack are compared, document by document.

    Attributes:
        documents: The document of each text.
        before: The verdict on it.
        scale: The user's scale.
        least: Gain from which an attack succeeded, in points of the scale.
        resamples, confidence, seed: How intervals are drawn.
    """

    documents: Sequence[str]
    before: Sequence[Verdict]
    scale: Scale
    least: float
    resamples: int
    confidence: float
    seed: int

    @cached_property
    def spread(self) -> float | None:
        """Standard deviation of the scores, in points of the scale; None of fewer than two, or where all are alike."""
        scores = [verdict.score for verdict in self.before if verdict.score is not None]
        spread = float(np.std(scores, ddof=1)) if len(scores) > 1 else 0.0
        return spread if spread > _TOLERANCE else None

    def lift(self, after: Sequence[Sequence[Verdict | None]], columns: Sequence[int]) -> Lift:
        """What was gained, from the verdicts on each text under the attacks in these columns; None: not applicable."""
        gains: list[tuple[str, float, float]] = []
        failed = skipped = not_asked = declined = 0
        for document, was, verdicts in zip(self.documents, self.before, after, strict=True):
            if was.score is None:
                continue
            for verdict in (verdicts[column] for column in columns):
                if verdict is None:
                    skipped += 1
                elif verdict.unscored == NOTHING_ELSE:
                    declined += 1
                elif verdict.score is None:
                    refused = budget_spent(verdict.unscored or "")
                    not_asked, failed = not_asked + refused, failed + (not refused)
                else:
                    gains.append((document, was.score, verdict.score))
        if not gains:
            return Lift(None, None, None, None, None, None, None, 0, failed, skipped, not_asked, declined)
        gains.sort()  # so that the order of rows changes neither what is drawn for a document nor a sum's last digit
        number = {name: i for i, name in enumerate(dict.fromkeys(document for document, _, _ in gains))}
        sums: Floats = np.zeros((len(number), 3))
        for document, original, attacked in gains:
            won = attacked - original >= self.least - _TOLERANCE
            sums[number[document]] += (attacked - original, float(won), 1.0)

        def measure(weights: Floats) -> Floats:
            drawn = weights @ sums
            return np.asarray(drawn[:, :2] / drawn[:, 2:])

        mean, success = measure(np.ones((1, len(number))))[0]
        before = float(np.mean([original for _, original, _ in gains]))
        rng = np.random.default_rng(self.seed)
        resampled = bootstrap(measure, len(number), self.resamples, rng, len(gains))
        intervals = [percentile_interval(resampled[:, i], self.confidence, len(number)) for i in (0, 1)]
        if (gained := intervals[0]) is not None and gained[1] - gained[0] <= ALIKE:
            lowest, highest = self.scale.low - before, self.scale.high - before
            intervals[0] = of_one_value(float(mean), len(number), lowest, highest, self.confidence)
        if (won_in := intervals[1]) is not None and won_in[1] - won_in[0] <= ALIKE:
            intervals[1] = of_one_value(float(success), len(number), 0.0, 1.0, self.confidence)
        return Lift(
            mean=float(mean),
            interval=intervals[0],
            deviations=None if self.spread is None else float(mean) / self.spread,
            success=float(success),
            success_interval=intervals[1],
            original=before,
            attacked=float(np.mean([attacked for _, _, attacked in gains])),
            scored=len(gains),
            failed=failed,
            skipped=skipped,
            not_asked=not_asked,
            declined=declined,
        )
