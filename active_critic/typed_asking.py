"""Asks a model, through DSPy, for an answer of a form; once more where the first is none."""

from __future__ import annotations

import random
from typing import Any, TypeVar

import dspy
from dspy.utils.exceptions import AdapterParseError
from pydantic import BaseModel, ValidationError

from active_critic.errors import UnreadableReply
from active_critic.inference_forms import AGAIN, QUALITIES, Named
from active_critic.lm.client import LanguageModel
from active_critic.lm.engine import own_errors
from active_critic.locks import OneAtATime
from active_critic.reading import thought_end

_Model = TypeVar("_Model", bound=BaseModel)


class _BehindThoughts(dspy.JSONAdapter):  # type: ignore[misc]
    """Reads the JSON object behind a model's thought: DSPy's own takes the first braces, which a draft may hold."""

    def parse(self, signature: Any, completion: str) -> Any:
        try:
            begin = thought_end(completion)
        except ValueError as problem:
            name = type(self).__name__
            raise AdapterParseError(adapter_name=name, signature=signature, lm_response=completion) from problem
        return super().parse(signature, completion[begin:])


_ONE_DRAWS = OneAtATime()


def predictor(signature: Any, **config: Any) -> Any:
    """A ``dspy.Predict``, whose name DSPy draws from Python's own random numbers: these are the user's, and put back.

    Args:
        signature: As ``dspy.Predict`` takes it.
        config: Likewise.
    """
    with _ONE_DRAWS("a name"):
        state = random.getstate()
        try:
            return dspy.Predict(signature, **config)
        finally:
            random.setstate(state)


class Asker:
    """Asks through DSPy, typed; once more with the complaint when the reply does not fit the type."""

    def __init__(self, lm: LanguageModel) -> None:
        self.lm = lm
        self.adapter = _BehindThoughts(use_native_function_calling=False)

    def __call__(self, signature: Any, field: str, kind: type[_Model], also: str = "", **inputs: str) -> _Model:
        """The field of the answer.

        Args:
            signature: The question.
            field: Which of its outputs is asked for.
            kind: The form of that.
            also: What the instructions are to say besides.
            inputs: What the question is about.

        Raises:
            UnreadableReply: It does not fit the type, nor does the second one.
            ModelError: The endpoint cannot be used.
        """
        told, complaint = f" {also}" if also else "", ""
        for again in (False, True):
            token = AGAIN.set(again)
            asked = signature.with_instructions(signature.instructions + told + complaint)
            try:
                here = dspy.context(lm=self.lm.dspy, adapter=self.adapter, disable_history=True)
                with own_errors(), here:
                    answer = predictor(asked, max_tokens=1500)(**inputs)
                return kind.model_validate(getattr(answer, field))
            except (AdapterParseError, ValidationError) as problem:
                reply = str(problem.lm_response or "") if isinstance(problem, AdapterParseError) else str(problem)
                why = _reason(problem)
                complaint = (
                    f"\n\nAn earlier answer could not be used ({why}). Answer with one JSON object of that form."
                )
                if issubclass(kind, Named):
                    complaint += QUALITIES
            finally:
                AGAIN.reset(token)
        raise UnreadableReply(
            f"{self.lm.name} did not answer in the form asked for ({signature.__name__}), nor when asked again: {why}. "
            f"It said: {reply[:500]!r}. Try a larger model, or give your own --task and --criteria.",
            reply=reply,
        )


def _reason(problem: Exception) -> str:
    """What was wrong with a reply, without quoting it: a small model would write the same again."""
    cause = problem if isinstance(problem, ValidationError) else problem.__cause__
    if isinstance(cause, ValidationError):
        first = cause.errors()[0]
        return f"{'.'.join(map(str, first['loc']))}: {first['msg']}".strip(": ")
    return " ".join(str(cause or problem).split())[:300]
