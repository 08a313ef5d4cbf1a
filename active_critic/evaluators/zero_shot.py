"""Zero-shot: one rating from a plain instruction, nothing learnt from people but their scale."""

from __future__ import annotations

from active_critic.data.examples import Examples
from active_critic.evaluators._discounting import discounting
from active_critic.evaluators.base import Evaluator, Progress, default_reading, scale_of
from active_critic.evaluators.critic_judge import CriticJudge
from active_critic.evaluators.judging import Judge
from active_critic.evaluators.origins import versions
from active_critic.lm import LanguageModel
from active_critic.protocols import CriticProtocol, Provenance, Reading
from active_critic.records import Scale
from active_critic.scoring import Scorer

INSTRUCTION = "Judge how good the response is as a response to its source."
"""All that zero-shot is told."""


def zero_shot_protocol(lm: LanguageModel, scale: Scale, reading: Reading | None = None) -> CriticProtocol:
    """The zero-shot program for a model and a scale: no criteria, no demonstrations."""
    return CriticProtocol(
        evaluator="zero-shot",
        mode="coarse",
        task_description=INSTRUCTION,
        scale=scale,
        reading=reading or default_reading(lm),
        provenance=Provenance(model=lm.name, weights=lm.weights, versions=versions()),
    )


class ZeroShot(Evaluator):
    """One rating from a plain instruction; the baseline that fitting has to beat. Arguments as for ``Evaluator``."""

    kind = "zero-shot"
    document = CriticProtocol

    def learn(self, data: Examples, notes: list[str], progress: Progress | None) -> CriticProtocol:
        """Take the scale from the examples; nothing else is learnt. See :meth:`Evaluator.learn`."""
        del progress
        protocol = zero_shot_protocol(self.model, scale_of(data))
        return protocol.model_copy(update={"provenance": self.provenance(data, notes)})

    @property
    def learns_from_examples(self) -> bool:
        """It takes nothing but their scale."""
        return False

    def judge(self) -> Judge:
        """What rates by the program; see :class:`Evaluator`."""
        return discounting(CriticJudge(Scorer(self.fitted, self.model)), self.fitted)
