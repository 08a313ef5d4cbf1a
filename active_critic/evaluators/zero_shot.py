"""Zero-shot: one rating from a plain instruction, nothing learnt from people but their scale."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from active_critic.data import read_examples
from active_critic.evaluators.base import Evaluator, Judge, Progress, default_reading, scale_of, versions
from active_critic.evaluators.critic_judge import CriticJudge
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

    def fit(
        self,
        examples: Any,
        *,
        fields: Mapping[str, str] | None = None,
        scale: Scale | str | None = None,
        progress: Progress | None = None,
    ) -> Self:
        """Take the scale from the examples; nothing else is learnt. See :meth:`Evaluator.fit`."""
        del progress
        data = read_examples(examples, fields=fields, scale=scale)
        protocol = zero_shot_protocol(self.model, scale_of(data))
        self.protocol_ = protocol.model_copy(update={"provenance": self.provenance(data, data.notes)})
        return self

    def judge(self) -> Judge:
        """What rates by the program; see :class:`Evaluator`."""
        return CriticJudge(Scorer(self.fitted, self.model))
