"""One question with one word for an answer: is this a good response? How sure the model is of its yes is a reading.

A small model's ratings on levels all look alike; how much likelier it finds "yes" than "no" does not
(``benchmarks/results/readings.md``).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from active_critic.asking import MATERIAL, listed, shown_texts
from active_critic.errors import ModelError, RequestRefused, UnreadableReply
from active_critic.lm.client import LanguageModel, Turn
from active_critic.lm.failures import withheld
from active_critic.lm.marks import YES_OR_NO
from active_critic.reading import LOW_MASS
from active_critic.records import Criterion, Usage

QUESTION = f"Is this a good response? {YES_OR_NO}"
LIMIT = 10.0
"""Log-odds beyond this, either way, count as this: no model is surer than that of anything."""
NEEDED = (
    "the endpoint gives no token probabilities, which this program's approval reading needs; fit again with this "
    "model, or with --use-approval never --discount-praise never"
)


@dataclass(frozen=True, slots=True)
class Approval:
    """What a model thinks of a response in a word.

    Attributes:
        log_odds: Natural logarithm of the probability of "yes" over that of "no", within ``LIMIT`` of 0.
        usage: What asking cost.
    """

    log_odds: float
    usage: Usage


def approval_turns(criteria: Sequence[Criterion], source: str, response: str) -> list[Turn]:
    """The question about one response; source before response, so that responses to one source share a prefix."""
    head = ["You judge texts as careful readers do."]
    if criteria:
        head.append(f"What these readers look at:\n{listed(criteria)}")
    asked = f"{shown_texts(source, response)}\n\n{QUESTION}"
    return [("system", "\n\n".join([*head, MATERIAL])), ("user", asked)]


def check_probabilities(lm: LanguageModel) -> None:
    """Refuse a model that was found to give no token probabilities, before anything else is asked about an item.

    Raises:
        ModelError: It gives none; or it cannot be used at all.
    """
    if not lm.capabilities.probabilities:
        raise ModelError(f"{lm.name}: {NEEDED}")


def approval(lm: LanguageModel, criteria: Sequence[Criterion], source: str, response: str) -> Approval:
    """Ask whether a response is good; a single token is generated.

    Args:
        lm: The language model, which must give token probabilities.
        criteria: What makes a response good; may be empty.
        source: What the response was made from.
        response: The text to judge.

    Raises:
        UnreadableReply: Hardly any probability is on "yes" or "no".
        RequestRefused: There is a reply, but no probabilities come with it.
        ModelError: The endpoint cannot be used.
    """
    return read_approval(lm, approval_turns(criteria, source, response))


def read_approval(lm: LanguageModel, turns: Sequence[Turn]) -> Approval:
    """How sure the model is of its yes at the end of these turns; errors as for :func:`approval`."""
    temperature = 0.0 if lm.capabilities.temperature else None
    reply = lm.ask(turns, max_tokens=1, top_logprobs=lm.capabilities.alternatives, temperature=temperature)
    top = reply.tokens[0].top if reply.tokens else ()
    if reply.finish_reason == "content_filter":
        raise withheld(lm.name, reply.usage)
    if reply.text.strip() and not top:
        refused = RequestRefused(f"{lm.name}: {NEEDED}")
        refused.usage = reply.usage
        raise refused
    said = {"yes": 0.0, "no": 0.0}
    for text, logprob in top:
        word = text.strip().strip(".,!").casefold()
        if word in said:
            said[word] += math.exp(logprob)
    mass = sum(said.values())
    if mass < LOW_MASS:
        problem = UnreadableReply(
            f"{mass:.0%} of the probability was on yes or no, and {LOW_MASS:.0%} is needed", reply=reply.text
        )
        problem.usage = reply.usage
        raise problem
    # An unlisted word is at most as probable as the least of those listed, and as all unlisted ones together.
    shown = [math.exp(logprob) for _, logprob in top]
    least = max(min(*shown, 1.0 - math.fsum(shown)), math.exp(-2 * LIMIT))  # no logarithm is of 0
    log_odds = math.log(max(said["yes"], least)) - math.log(max(said["no"], least))
    return Approval(max(-LIMIT, min(LIMIT, log_odds)), reply.usage)
