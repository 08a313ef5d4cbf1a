"""A scripted model that fills in whatever form it is handed: for checking evaluators, it judges nothing."""

from __future__ import annotations

import itertools
import json
import math
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from active_critic.lm.client import Capabilities, LanguageModel, Turn, text_of
from active_critic.lm.likelihood import Likelihood
from active_critic.records import Usage

if TYPE_CHECKING:
    from dspy.lm15 import Request, Response

_RESPONSE = re.compile(r"<response>\n(.*?)\n</response>", re.DOTALL)


def form_filling_lm(
    rate: Callable[[str], float],
    *,
    before: Callable[[list[Turn]], str | None] = lambda _: None,
    workers: int = 1,
    saying: str | Callable[[list[Turn]], str] = "",
    name: str = "form-filler",
) -> LanguageModel:
    """A language model for tests that answers any request for which a JSON schema is given.

    Numbers come from ``rate`` of the response that is being judged (3 where there is none), as the probabilities of the
    two levels around it; truth values are true; texts are made up, all different within a reply. Requests without a
    schema get a sentence. The likelihood of a text is the higher the higher ``rate`` puts it.

    Args:
        rate: From the text under evaluation to a rating from 1 to 5.
        before: Called with every conversation; may raise a ``ModelError``, or return the whole reply.
        workers: Calls in flight at once.
        saying: What every text that it makes up begins with; may depend on the conversation.
        name: The model's name.
    """
    from dspy.lm15 import Message, Response, TokenLogprob, TopLogprob
    from dspy.lm15 import Usage as DspyUsage

    def rated(turns: list[Turn]) -> float:
        found = _RESPONSE.findall("\n".join(text for role, text in turns if role == "user"))
        return min(5.0, max(1.0, rate(found[-1]))) if found else 3.0

    def send(request: Request) -> Response:
        turns: list[Turn] = [("system", text_of(request.system))] if request.system else []
        turns += [("user" if m.role == "user" else "assistant", text_of(m)) for m in request.messages]
        value = rated(turns)
        form: Any = request.config.response_format
        text = before(turns)
        if text is None and isinstance(form, Mapping) and "schema" in form:
            begins = saying if isinstance(saying, str) else saying(turns)
            text = json.dumps(_Filler(form["schema"], value, begins).fill(form["schema"]))
        text = "It is what it is." if text is None else text
        low = min(4, int(value))
        levels = {str(low): 1 - (value - low), str(low + 1): value - low}
        top = tuple(TopLogprob(token=k, logprob=math.log(p)) for k, p in levels.items() if p > 0)
        logprobs = None
        if request.config.logprobs is not None:
            logprobs = tuple(
                TokenLogprob(piece, math.log(levels.get(piece) or 1.0), top=top if piece.isdigit() else ())
                for piece in text
            )
        return Response(
            id=None,
            model=name,
            message=Message.assistant(text),
            finish_reason="stop",
            usage=DspyUsage(input_tokens=sum(len(t) for _, t in turns) // 4, output_tokens=len(text) // 4),
            logprobs=logprobs,
        )

    def weigh(turns: Any, text: str) -> Likelihood:
        before(list(turns))
        pieces = text.split() or [text]
        return Likelihood.of([rate(text) - 6.0] * len(pieces), "forced", Usage(prompt_tokens=10))

    return LanguageModel(
        name,
        send,
        weigh=weigh,
        workers=workers,
        capabilities=Capabilities(json_schema=True, probabilities=True),
        wait=lambda _: None,
    )


class _Filler:
    """Fills in a JSON schema."""

    def __init__(self, whole: Mapping[str, Any], value: float, saying: str) -> None:
        self.saying = saying
        self.definitions = whole.get("$defs", {})
        self.value = value
        self.count = itertools.count(1)

    def fill(self, part: Mapping[str, Any]) -> Any:
        if "$ref" in part:
            return self.fill(self.definitions[part["$ref"].rsplit("/", 1)[-1]])
        if "anyOf" in part:
            return self.fill(part["anyOf"][0])
        kind = part.get("type")
        if kind == "object":
            return {name: self.fill(inner) for name, inner in part.get("properties", {}).items()}
        if kind == "array":
            return [self.fill(part.get("items", {})) for _ in range(max(1, part.get("minItems", 2)))]
        if kind == "boolean":
            return True
        if kind in ("integer", "number"):
            return self._number(part)
        if "enum" in part:
            return part["enum"][0]
        return self._text(part)

    def _number(self, part: Mapping[str, Any]) -> int:
        levels = part.get("enum") or range(int(part.get("minimum", 1)), int(part.get("maximum", 5)) + 1)
        low, high = min(levels), max(levels)
        return round(low + (high - low) * (self.value - 1) / 4)

    def _text(self, part: Mapping[str, Any]) -> str:
        number = next(self.count)
        longest = part.get("maxLength", 200)
        text = f"{self.saying}Quality {number} of the text, however long or short it may be."
        return text[:longest].rstrip(" .,")
