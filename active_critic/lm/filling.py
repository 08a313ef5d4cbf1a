"""A scripted model that fills in whatever form it is handed: for checking evaluators, it judges nothing."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from active_critic.lm.client import Capabilities, LanguageModel, Turn
from active_critic.lm.likelihood import Likelihood
from active_critic.lm.made_up import Filler, letters, one_word, tokens_used, turns_of
from active_critic.lm.marks import FOREIGN, RESPONSE, YES_OR_NO
from active_critic.lm.reply import as_response
from active_critic.records import Usage

if TYPE_CHECKING:
    from dspy.lm15 import Request, Response


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
    schema get a sentence. Under a foreign source hardly any text is good. The likelihood of a text is the higher the
    higher ``rate`` puts it, and the nearer it puts those that it follows in the conversation.

    Args:
        rate: From the text under evaluation to a rating from 1 to 5.
        before: Called with every conversation; may raise a ``ModelError``, or return the whole reply.
        workers: Calls in flight at once.
        saying: What every text that it makes up begins with; may depend on the conversation.
        name: The model's name.
    """

    def rated(turns: list[Turn]) -> float:
        found = RESPONSE.findall("\n".join(text for role, text in turns if role == "user"))
        return min(5.0, max(1.0, rate(found[-1]))) if found else 3.0

    def send(request: Request) -> Response:
        turns = turns_of(request)
        value = rated(turns)
        form: Any = request.config.response_format
        text = before(turns)
        if text is None and isinstance(form, Mapping) and "schema" in form:
            begins = saying if isinstance(saying, str) else saying(turns)
            text = json.dumps(Filler(form["schema"], value, begins).fill(form["schema"]))
        if text is None and turns[-1][1].endswith(YES_OR_NO):
            yes = (value - 1) / (40 if FOREIGN in turns[-1][1] else 4)
            return as_response(name, Usage(prompt_tokens=10, completion_tokens=1), *one_word(yes))
        text = "It is what it is." if text is None else text
        logprobs = () if request.config.logprobs is None else letters(text, value)
        return as_response(name, tokens_used(turns, text), text, logprobs)

    def weigh(turns: Any, text: str) -> Likelihood:
        before(list(turns))
        pieces = text.split() or [text]
        followed = [rate(said) for role, said in turns if role == "assistant"]
        apart = abs(rate(text) - sum(followed) / len(followed)) / 10 if followed else 0.0
        return Likelihood.of([rate(text) - 6.0 - apart] * len(pieces), "forced", Usage(prompt_tokens=10))

    return LanguageModel(
        name,
        send,
        weigh=weigh,
        workers=workers,
        capabilities=Capabilities(json_schema=True, probabilities=True),
        wait=lambda _: None,
    )
