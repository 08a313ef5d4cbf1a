"""What scores by a critic's program: one question, which the scorer turns into a verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from active_critic.approval import approval_turns, check_probabilities
from active_critic.data.examples import same_texts
from active_critic.errors import ModelError, ProtocolError
from active_critic.evaluators._anyhow import GOOD_ANYHOW
from active_critic.evaluators._contrast import Contrasted, contrast_turns, copied_from, weigh_after
from active_critic.evaluators._readings import (
    ANYHOW,
    FURTHER,
    LIKELY,
    OF_NO_COPY,
    READINGS,
    TOKENS,
    WEIGHING,
    Combination,
    Read,
    further_reading,
    is_copy,
    ratings_in,
    value_of,
)
from active_critic.evaluators._weighed import weighed_part, weighing_turns
from active_critic.evaluators.judging import OVERALL, Judge
from active_critic.evaluators.surface import SurfaceFloor
from active_critic.lm.client import Turn
from active_critic.lm.likelihood import LEAST_LIKELY, Likelihood, refusal
from active_critic.lm.marks import FOREIGN
from active_critic.records import Example, Usage, Verdict
from active_critic.scoring import OVERALL_QUESTION, Scorer, demo_turns, instructions, item
from active_critic.token_figures import token_figures
from active_critic.weighing import CRITERION

PART = "the response is long: its likelihood is that of its first {:,} of {:,} characters"
COPY = (
    "the response copies its source as no example did: neither its likelihood nor its surface counts as more than the "
    "average"
)
UNLIKE = (
    "the response is unlike the examples (in length, marks, repetition or what it shares with the source): neither its "
    "surface nor how its likelihood is spread over its tokens counts as more than the average"
)
COPY_OF_LIKED = (
    "the response copies a text that people liked, which stands in the program, as no example did: what is read after "
    "such texts counts as no more than the average"
)


class CriticJudge(Judge):
    """The judge of Active-Critic and of zero-shot."""

    def __init__(self, scorer: Scorer) -> None:
        self.scorer = scorer
        protocol = scorer.protocol
        names = [part.name for part in protocol.calibration.parts] if protocol.calibration else []
        floor = SurfaceFloor.from_dict(protocol.surface) if protocol.surface is not None else None
        criteria = {CRITERION + criterion.name for criterion in protocol.criteria} if protocol.mode == "fine" else set()
        if gone := [name for name in names if name.startswith(CRITERION) and name not in criteria]:
            lost = ", ".join(repr(name.removeprefix(CRITERION)) for name in gone)[:200]
            raise ProtocolError(
                f"the score rests on the rating of {lost}, which this program does not rate: a criterion was renamed "
                "or removed, or the mode changed; take that back, or fit again"
            )
        if unknown := sorted(set(names) - {*READINGS, TOKENS, *criteria}):
            raise ProtocolError(
                f"the program combines readings that this version does not know: {', '.join(unknown)[:200]}"
            )
        if "surface" in names and floor is None:
            raise ProtocolError("the program combines a surface reading whose numbers are missing; fit it again")
        if TOKENS in names and (protocol.tokens is None or "likelihood" not in names):
            raise ProtocolError(
                "the program combines figures of the tokens without their numbers, or without the likelihood that they "
                "come with; fit it again"
            )
        if "contrast" in names and protocol.contrast is None:
            raise ProtocolError("the program combines a contrast whose texts are missing; fit it again")
        if (
            "likelihood" in names
            and protocol.calibration is not None
            and protocol.calibration.least_tokens != LEAST_LIKELY
        ):
            raise ProtocolError(
                f"the program combines a likelihood that is not that of the {LEAST_LIKELY} least likely tokens, which "
                "this version reads; fit it again"
            )
        self._combination = Combination(protocol.calibration, floor, protocol.tokens) if protocol.calibration else None
        self._other = protocol.provenance.unlike(scorer.lm.name, scorer.lm.weights)
        self.further = [name for name in FURTHER if name in names]
        contrast = protocol.contrast
        self._contrast = contrast if contrast is not None and contrast.readings.intersection(names) else None
        sides = self._contrast.sides if self._contrast is not None else {}
        self._after = {f"after {side} texts": texts for side, texts in sides.items()}
        self._alone = [name for name in self.further if self._contrast is None or name not in self._contrast.readings]
        self._foreign = protocol.calibration is not None and protocol.calibration.foreign is not None
        self._asked = (*self._alone, *self._after, *([ANYHOW] if self._foreign else []))
        self.questions = (OVERALL, *self._asked)
        weights = {part.name: part.weight for part in protocol.calibration.parts} if protocol.calibration else {}
        # Where the rating has no weight, it is asked for its explanation alone, and in fine mode for the criteria.
        self._unrated = protocol.mode == "coarse" and bool(self.further) and not weights.get("rating")

    def asked(self, *, explain: bool) -> Sequence[str]:
        """All questions; without the rating, where nothing is taken from it but an explanation that is not wanted."""
        return self._asked if self._unrated and not explain else self.questions

    def turns(self, question: str, example: Example) -> list[Turn]:
        """The conversation; in fine mode with a placeholder where the ratings of the criteria come to stand."""
        if question == "likelihood":
            return weighing_turns(example)
        if question in self._after:
            return contrast_turns(self._after[question], example)
        if question in ("approval", ANYHOW):
            source = example.source if question == "approval" else FOREIGN
            return approval_turns(self.scorer.protocol.criteria, source, example.response)
        protocol = self.scorer.protocol
        itself = self._itself(example)
        demos = [demo for demo in self.scorer.rate.demos if demo.example_id not in itself]
        turns: list[Turn] = [("system", instructions(protocol)), *demo_turns(protocol, demos)]
        turns.append(("user", item(example.source, example.response, protocol)))
        if protocol.mode == "fine":
            turns += [("assistant", "(ratings of the criteria)"), ("user", OVERALL_QUESTION)]
        return turns

    def answer(self, question: str, example: Example, *, explain: bool) -> Verdict | Read:
        """The scorer's verdict, or another reading of the response."""
        lm = self.scorer.lm
        if "approval" in self.further or self._foreign:
            check_probabilities(lm)
        if (needed := [name for name in self.further if name in WEIGHING]) and not lm.gives_likelihood:
            without = " ".join(f"--use-{name} never" for name in needed)
            raise ModelError(f"{refusal(lm.name)}; or fit again with this model, or with {without}")
        if question in self._asked:
            criteria, calibration = self.scorer.protocol.criteria, self.scorer.protocol.calibration
            weighed = calibration.weighed if calibration is not None else None
            if question in self._after:
                return weigh_after(self._after[question], lm, example, weighed)
            return further_reading(question, lm, criteria, example, weighed=weighed)
        itself = self._itself(example)
        return self.scorer.rated(example.source, example.response, explain=explain, without=itself)

    def _itself(self, example: Example) -> set[str]:
        """The demonstrations that are this example: its human score would be read off the prompt."""
        demos = self.scorer.rate.demos
        return {demo.example_id for demo in demos if same_texts(example, demo.source, demo.response)}

    def verdict(self, example: Example, answers: Mapping[str, Any]) -> Verdict:
        """The same; combined with the other readings where the program says so."""
        combination, scale = self._combination, self.scorer.protocol.scale
        verdict: Verdict = answers.get(OVERALL) or Verdict(score=scale.low, read_from="combination")  # of no weight
        further: dict[str, Read] = {name: answers[name] for name in self._alone}
        contrast = self._contrast
        if contrast is not None:
            liked, disliked = (answers[question] for question in self._after)
            further["contrast"] = contrasted = Contrasted.of(liked, disliked, contrast.level)
            if contrast.likelihood:
                further["likelihood"] = contrasted.likelihood
        anyhow = answers.get(ANYHOW)
        usage = sum((read.usage for read in further.values()), verdict.usage) + (anyhow.usage if anyhow else Usage())
        if combination is None or verdict.score is None:
            return replace(verdict, usage=usage)
        values = {**ratings_in(verdict), **{name: value_of(read) for name, read in further.items()}}
        likelihood = further.get("likelihood")
        of_tokens = token_figures(likelihood.logprobs) if isinstance(likelihood, Likelihood) else None
        calibration = combination.calibration
        bounded: set[str] = set()
        notes = []
        if is_copy(calibration, example):
            bounded |= OF_NO_COPY
            notes.append(COPY)
        if contrast is not None and copied_from(contrast.liked, example) > contrast.copied:
            bounded |= {"contrast", *(LIKELY if contrast.likelihood else ())}
            notes.append(COPY_OF_LIKED)
        if anyhow is not None and calibration.is_good_anyhow(anyhow.log_odds):
            bounded |= calibration.shares.keys()
            notes.append(GOOD_ANYHOW)
        of_surface = combination.figures(example)
        if combination.is_unlike(of_surface):
            notes.append(UNLIKE)
        combined = combination.apply(
            values, example, scale, of_tokens=of_tokens, bounded=bounded, of_surface=of_surface
        )
        part = weighed_part(example.response, calibration.weighed) if further.keys() & WEIGHING else example.response
        if len(part) < len(example.response):
            notes.append(PART.format(len(part), len(example.response)))
        return replace(
            verdict,
            score=scale.rounded(combined.score),
            interval=None if self._other else combined.interval,
            parts={name: round(points, 4) + 0.0 for name, points in combined.added.items()},
            read_from=verdict.read_from if len(combined.added) == 1 else "combination",
            notes=(*verdict.notes, *notes),
            usage=usage,
        )
