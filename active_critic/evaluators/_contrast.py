"""How much likelier a text is after texts that people liked than after texts that they did not: a reading.

A small model that is shown what people liked goes on in that manner, and it does so better than it says what is good
about it: the text is weighed twice (``lm.likelihood``), as the reply that follows examples with high scores, and as the
one that follows examples with low scores. What makes a text likely to this model, whoever wrote it, is in both and
cancels out; what remains is how it resembles the one and the other. It is Bayes' rule with the model as both
class-conditional densities, conditioned in context.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass, replace

from active_critic.asking import PER_ITEM
from active_critic.data.examples import example_key, folds, group_of, human_score, same_texts
from active_critic.evaluators._fitting import in_parallel
from active_critic.evaluators._weighed import WEIGHED, weighed_part, weighing_turns
from active_critic.evaluators.base import Progress
from active_critic.evaluators.surface import beyond_most, copied_shares
from active_critic.lm import LanguageModel
from active_critic.lm.client import Turn
from active_critic.lm.lengths import CHARS_PER_TOKEN, length_of
from active_critic.lm.likelihood import Likelihood
from active_critic.protocols import Contrast, Demo
from active_critic.quoting import quote
from active_critic.records import Example, Scale, Usage

SIDES = ("liked", "disliked")
"""The texts that a response is weighed after, one kind after the other."""
EACH, FEWEST = 4, 2
"""Texts of a side at most, and at least; never more than a third of the examples."""
ROOM = 6_000
"""Characters (``length_of``) that the texts of a side, with their sources, take at most; a quarter of the context
window where that is less. They are read once for all that follows them, but every token after them looks at them."""
PARTS = 3
"""Parts of the documents: the texts that an example of the fit is weighed after come from the other parts."""
FOR_LEVEL = 20
"""Examples, at most, that tell the level of the texts that new responses are weighed after."""
FURTHEST = 1.0
"""What one token can say, either way, in nats: a single odd word is not to decide."""


@dataclass(frozen=True, slots=True)
class Contrasted:
    """How much likelier a response is after liked texts than after disliked ones.

    Attributes:
        value: Mean over the tokens of the difference of their log-probabilities, each within ``FURTHEST`` of 0, less
            the level of these texts.
        likelihood: Its likelihood whichever texts it follows: of each token the mean of both log-probabilities.
        usage: What weighing it twice cost.
    """

    value: float
    likelihood: Likelihood
    usage: Usage

    @classmethod
    def of(cls, liked: Likelihood, disliked: Likelihood, level: float = 0.0) -> Contrasted:
        """From the likelihoods of one response after both.

        Tokens are paired from the end: an endpoint may count what stands before a text with its first token, or not.
        """
        pairs = [*zip(reversed(liked.logprobs), reversed(disliked.logprobs), strict=False)][::-1]
        each = [max(-FURTHEST, min(FURTHEST, a - b)) for a, b in pairs]
        whichever = Likelihood(tuple((a + b) / 2 for a, b in pairs), liked.method)
        return cls(math.fsum(each) / len(each) - level, whichever, liked.usage + disliked.usage)


def choose(examples: Sequence[Example], scale: Scale, context: int | None) -> Contrast | None:
    """The texts of both sides: those with the highest and with the lowest scores, each side of different documents.

    Where there are fewer documents than texts, several of one; where documents differ so much that the best of one are
    worse than the worst of another, whatever documents they are of. Among equals it is the content that decides.

    Args:
        examples: Scored examples.
        scale: The user's.
        context: Tokens of the model's context window, or None.

    Returns:
        None where there are too few examples for it, too few that are short enough, or all have about the same score.
    """
    room = ROOM if context is None else min(ROOM, int(context * CHARS_PER_TOKEN / 4))
    told = [example for example in examples if example.response.strip()]
    for each in range(min(EACH, len(examples) // 3), FEWEST - 1, -1):
        short = [example for example in told if length_of(example.source) + length_of(example.response) <= room / each]
        if len(short) < 3 * each:
            continue
        by_score = sorted(short, key=lambda example: (human_score(example), example_key(example)))
        for ordered in (_over_documents, list):
            liked, disliked = ordered(by_score[::-1])[:each], ordered(by_score)[:each]
            if min(map(human_score, liked)) > max(map(human_score, disliked)):
                sides = ([_demo(example, scale) for example in side] for side in (liked, disliked))
                return Contrast(**dict(zip(SIDES, map(tuple, sides), strict=True)))
    return None


def _over_documents(ordered: Sequence[Example]) -> list[Example]:
    """The first of every document, then the second of every document, and so on."""
    had: dict[str, int] = {}
    turns = []
    for place, example in enumerate(ordered):
        turns.append((had.setdefault(group_of(example), 0), place))
        had[group_of(example)] += 1
    return [ordered[place] for _, place in sorted(turns)]


def _demo(example: Example, scale: Scale) -> Demo:
    return Demo(
        source=example.source,
        response=example.response,
        score=scale.to_percent(human_score(example)),
        example_id=example_key(example),
        group=group_of(example),
    )


def contrast_turns(side: Sequence[Demo], example: Example) -> list[Turn]:
    """The conversation in which a response follows the texts of a side; itself is none of them."""
    turns: list[Turn] = []
    for demo in side:
        if not same_texts(example, demo.source, demo.response):
            shown = Example(source=demo.source, response=demo.response)
            turns += [*weighing_turns(shown), ("assistant", quote(demo.response))]
    return [*turns, *weighing_turns(example)]


def copied_from(side: Sequence[Demo], example: Example) -> float:
    """The largest share of runs of three words that a response has in common with a text of a side: of its or of that.

    0 to 1. A text of the side that is the response itself does not count, as it does not precede it either.
    """
    others = [demo.response for demo in side if not same_texts(example, demo.source, demo.response)]
    return max((max(copied_shares(replace(example, source=other))) for other in others), default=0.0)


def weigh_after(side: Sequence[Demo], lm: LanguageModel, example: Example, weighed: int | None) -> Likelihood:
    """The likelihood of a response after the texts of a side.

    Raises:
        ModelError: There is none; see ``asking.PER_ITEM``.
    """
    return lm.likelihood(contrast_turns(side, example), weighed_part(example.response, weighed))


def take_contrast(
    lm: LanguageModel, examples: Sequence[Example], scale: Scale, *, seed: int, progress: Progress | None
) -> tuple[Contrast, list[Contrasted | None]] | None:
    """The texts that new responses are weighed after, and the reading of every example of a fit.

    An example is weighed after texts of other documents. As other texts have another level, its reading is the
    difference from the mean of the examples that follow the same. That of new responses will be the difference from the
    mean of ``FOR_LEVEL`` examples, or as many as there are, that are not among the texts chosen for them.

    Args:
        lm: The language model.
        examples: Scored examples.
        scale: The user's.
        seed: Of the parts of the documents, and of the examples that tell the level.
        progress: See :data:`Progress`.

    Returns:
        None where there are too few examples or documents to choose from. The reading is None for an example where it
        cannot be had.

    Raises:
        BudgetSpent: Not all of it could be paid for.
    """
    parts = folds(examples, PARTS, seed)
    everything = range(len(examples))
    if (chosen := choose_for(examples, parts, scale, lm.context)) is None:
        return None
    *_, final = chosen
    shown = {demo.example_id for side in final.sides.values() for demo in side}
    others = [i for i in everything if example_key(examples[i]) not in shown]
    weighed = [*parts, random.Random(seed).sample(others, min(FOR_LEVEL, len(others)))]  # noqa: S311
    came = _each_after(lm, examples, list(zip(weighed, chosen, strict=True)), progress)
    read: list[Contrasted | None] = [None] * len(examples)
    for part, values in zip(parts, came, strict=False):
        level = _level(values)
        for i, one in zip(part, values, strict=True):
            read[i] = None if one is None else replace(one, value=one.value - level)
    *of_parts, rest = came
    level = _level(rest if any(rest) else [one for values in of_parts for one in values])
    return final.model_copy(update={"level": level, "copied": beyond_any(examples, parts, chosen)}), read


def choose_for(
    examples: Sequence[Example], parts: Sequence[Sequence[int]], scale: Scale, context: int | None
) -> list[Contrast] | None:
    """The texts for each part of the examples, of the other parts, then those for new responses, of all; see `choose`.

    None where they cannot be had for all of these.
    """
    everything = range(len(examples))
    sets = [sorted(set(everything).difference(part)) for part in parts] + [list(everything)]
    chosen = [found for part in sets if (found := choose([examples[i] for i in part], scale, context)) is not None]
    return chosen if len(chosen) == len(sets) else None


def beyond_any(examples: Sequence[Example], parts: Sequence[Sequence[int]], chosen: Sequence[Contrast]) -> float:
    """Beyond which share in common with a liked text a response is a copy of it; see ``beyond_most``.

    Args:
        examples: Scored examples.
        parts: Of them, by index.
        chosen: The texts that the examples of each part follow.
    """
    each = zip(parts, chosen, strict=False)
    return beyond_most(copied_from(side.liked, examples[i]) for part, side in each for i in part)


def _level(came: Sequence[Contrasted | None]) -> float:
    values = [one.value for one in came if one is not None]
    return math.fsum(values) / len(values) if values else 0.0


def _each_after(
    lm: LanguageModel,
    examples: Sequence[Example],
    work: Sequence[tuple[Sequence[int], Contrast]],
    progress: Progress | None,
) -> list[list[Contrasted | None]]:
    """The examples of each part after its texts, in the order of the part; None for one that cannot be weighed."""
    # What shares a prefix comes together: one side of one part, then by source.
    jobs = [
        (place, name, i)
        for place, (part, _) in enumerate(work)
        for name in SIDES
        for i in sorted(part, key=lambda i: (examples[i].source, i))
        if examples[i].response.strip()
    ]

    def one(job: tuple[int, str, int]) -> Likelihood | None:
        place, name, index = job
        try:
            return weigh_after(work[place][1].sides[name], lm, examples[index], WEIGHED)
        except PER_ITEM:
            return None

    each = in_parallel(lm, one, jobs, doing="reading the contrast", progress=progress)
    read = dict(zip(jobs, each, strict=True))

    def both(place: int, index: int) -> Contrasted | None:
        liked, disliked = (read.get((place, name, index)) for name in SIDES)
        return None if liked is None or disliked is None else Contrasted.of(liked, disliked)

    return [[both(place, i) for i in part] for place, (part, _) in enumerate(work)]
