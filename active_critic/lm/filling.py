"""A scripted model that fills in whatever form it is handed: for checking evaluators, it judges nothing."""

from __future__ import annotations

import itertools
import json
import math
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from active_critic.lm.client import Capabilities, LanguageModel, Turn
from active_critic.lm.likelihood import Likelihood
from active_critic.lm.reply import as_response, text_of
from active_critic.records import Usage

if TYPE_CHECKING:
    from dspy.lm15 import Request, Response, TokenLogprob

YES_OR_NO = "Answer yes or no."
"""How a question ends that is answered with one word."""
RESPONSE = re.compile(r"<response>\n(.*?)\n</response>", re.DOTALL)
"""A response as it stands in a prompt."""


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
        found = RESPONSE.findall("\n".join(text for role, text in turns if role == "user"))
        return min(5.0, max(1.0, rate(found[-1]))) if found else 3.0

    def send(request: Request) -> Response:
        turns: list[Turn] = [("system", text_of(request.system))] if request.system else []
        turns += [("user" if m.role == "user" else "assistant", text_of(m)) for m in request.messages]
        value = rated(turns)
        form: Any = request.config.response_format
        text = before(turns)
        if text is None and isinstance(form, Mapping) and "schema" in form:
            begins = saying if isinstance(saying, str) else saying(turns)
            text = json.dumps(Filler(form["schema"], value, begins).fill(form["schema"]))
        if text is None and turns[-1][1].endswith(YES_OR_NO):
            return as_response(name, Usage(prompt_tokens=10, completion_tokens=1), *one_word((value - 1) / 4))
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
            usage=DspyUsage(
                input_tokens=sum(len(t) for _, t in turns) // 4, output_tokens=len(text) // 4 if text else 1
            ),
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


def one_word(yes: float) -> tuple[str, tuple[TokenLogprob, ...]]:
    """A reply of "yes" or "no", and the probabilities of both.

    Args:
        yes: The probability of "yes", 0 to 1; drawn in a little from both ends.
    """
    from dspy.lm15 import TokenLogprob, TopLogprob

    yes = min(0.999, max(0.001, yes))
    top = tuple(TopLogprob(token=word, logprob=math.log(p)) for word, p in (("yes", yes), ("no", 1 - yes)))
    word = max(top, key=lambda alternative: alternative.logprob)
    return word.token, (TokenLogprob(word.token, word.logprob, top=top),)


class Filler:
    """Fills in a JSON schema.

    Args:
        whole: The schema, with its definitions.
        value: From 1 to 5: how high numbers are within their bounds.
        saying: What every text begins with.
    """

    def __init__(self, whole: Mapping[str, Any], value: float, saying: str) -> None:
        self.saying = saying
        self.definitions = whole.get("$defs", {})
        self.value = value
        self.count = itertools.count(1)

    def fill(self, part: Mapping[str, Any], name: str = "") -> Any:
        """What stands in this part of the form, which has this name."""
        if "$ref" in part:
            return self.fill(self.definitions[part["$ref"].rsplit("/", 1)[-1]], name)
        if "anyOf" in part:
            return self.fill(part["anyOf"][0], name)
        kind = part.get("type")
        if kind == "object":
            return {inner: self.fill(schema, inner) for inner, schema in part.get("properties", {}).items()}
        if kind == "array":
            return [self.fill(part.get("items", {})) for _ in range(self.items(name, part))]
        if kind == "boolean":
            return self.truth(name)
        if kind in ("integer", "number"):
            return self._number(part)
        if "enum" in part:
            return part["enum"][0]
        return self.text(name, part)

    def _number(self, part: Mapping[str, Any]) -> int:
        levels = part.get("enum") or range(int(part.get("minimum", 1)), int(part.get("maximum", 5)) + 1)
        low, high = min(levels), max(levels)
        return round(low + (high - low) * (self.value - 1) / 4)

    def items(self, name: str, part: Mapping[str, Any]) -> int:
        """How many entries a list has."""
        del name
        return max(1, int(part.get("minItems", 2)))

    def truth(self, name: str) -> bool:
        """Whether a thing is so."""
        del name
        return True

    def text(self, name: str, part: Mapping[str, Any]) -> str:
        """A text, other than those before it."""
        del name
        number = next(self.count)
        longest = part.get("maxLength", 200)
        text = f"{self.saying}Quality {number} of the text, however long or short it may be."
        return text[:longest].rstrip(" .,")
