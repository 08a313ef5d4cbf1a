"""How likely a model finds a given text: the reading that GPTScore is made of, and two ways of taking it.

An embedded model is forced along the text, token by token, and says how probable each step was. An endpoint of one's
own may read the text as part of a prompt and give the probabilities of what it read. Chat-only APIs can do neither.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import orjson

from active_critic.errors import ContextOverflow, RequestRefused, UnreadableReply
from active_critic.lm.memory import Impossible
from active_critic.lm.reply import CEILING, Turn
from active_critic.records import Usage

Method = Literal["forced", "prompt"]
Weigh = Callable[[Sequence[Turn], str], "Likelihood"]
"""From a conversation and a reply to it to that reply's likelihood, its usage without calls and seconds."""

LEAST_LIKELY = 15
"""How many of a text's least likely tokens its weakness is read from."""
FLOOR = -104.0
"""Log-probability of a token whose probability is zero in single precision (its smallest number is exp(-103.3))."""
LIKELIEST, EVERY_TOKEN = 4096, 1 << 20
"""How many alternatives to look among for a token that is not whole characters; the second is more than any vocabulary
has. A list of a whole vocabulary takes the server longer than the step itself."""
FAR_ABOVE = 1000.0
"""What a token's logit is raised by to be generated for certain: logits lie within some tens of each other."""


@dataclass(frozen=True, slots=True)
class Likelihood:
    """How likely a model finds a text as the assistant's reply to a conversation.

    Attributes:
        logprobs: Natural logarithm of the probability of each token of the text, the end of the reply not counted, in
            the model's own tokens; likelihoods of different models do not compare.
        method: ``"forced"`` (generation was forced along the text, after the model's own chat template) or ``"prompt"``
            (the text was read as the end of a prompt; see ``echoing.Echoing``).
        usage: What this cost (zero, with ``replayed=1``, when it came from the journal).
    """

    logprobs: tuple[float, ...]
    method: Method
    usage: Usage = Usage()

    @property
    def logprob(self) -> float:
        """Natural logarithm of the text's probability."""
        return math.fsum(self.logprobs)

    @property
    def mean(self) -> float:
        """Mean log-probability of a token, at most 0: GPTScore with equal weights (Fu et al. 2023, equation 1)."""
        return self.logprob / len(self.logprobs)

    @property
    def weakest(self) -> float:
        """Mean log-probability of the ``LEAST_LIKELY`` least likely tokens, at most 0; of all where there are no more.

        What is written behind a text of that length can only lower it: the tokens before stay as likely as they are.
        """
        least = sorted(self.logprobs)[:LEAST_LIKELY]
        return math.fsum(least) / len(least)

    @classmethod
    def of(cls, logprobs: Sequence[float], method: Method, usage: Usage) -> Likelihood:
        """From the log-probability of each token.

        Raises:
            UnreadableReply: There are none, or one of them is no logarithm of a probability.
        """
        if not logprobs or not all(value <= CEILING for value in logprobs):  # not a number is not
            said = "the model gave no log-probability for some of the text's tokens, or an impossible one; "
            raise UnreadableReply(said + "try another text or model", reply="")
        return cls(tuple(min(max(float(value), FLOOR), 0.0) for value in logprobs), method, usage)

    def to_json(self) -> str:
        """The likelihood as one JSON document, for the journal."""
        document = {"logprobs": self.logprobs, "method": self.method, "usage": self.usage.to_dict()}
        return orjson.dumps(document).decode()

    @classmethod
    def from_json(cls, text: str) -> Likelihood:
        """The inverse of :meth:`to_json`.

        Raises:
            Impossible: Log-probabilities that no reply has (JSON keeps infinity as null).
        """
        document = orjson.loads(text)
        logprobs = document["logprobs"]
        if not all(isinstance(value, float | int) for value in logprobs):
            raise Impossible("a likelihood is made of numbers")
        try:
            return cls.of(logprobs, document["method"], Usage(**document["usage"]))
        except UnreadableReply as problem:
            raise Impossible(str(problem)) from None


def refusal(who: str) -> str:
    """Why there is no likelihood from this model, and what to do."""
    return (
        f"{who}: the endpoint gives no token log-probabilities of a given text (chat-only APIs do not). Use an "
        "embedded model (for example local), or an endpoint whose /v1/completions takes echo together with logprobs, "
        "as vLLM's does"
    )


# --- an embedded model: forced along the text -------------------------------------------------------------------------


def forcing(post: Callable[[str, dict[str, Any]], Any], name: str, *, context: int, cached: bool) -> Weigh:
    """Weigh texts with llama.cpp's server, forced along the text's own tokens.

    With the prefix cache, each token is asked for by itself, its logit raised above all others: that takes a sixth to
    a quarter less time than one request under a grammar of token numbers, which has to look at the whole vocabulary
    wherever the text is not what the model would have said; the log-probabilities are the same to the last bit.
    Without the cache, where each request reads the prompt anew, it is that one request.

    The log-probabilities are those before sampling, over the whole vocabulary at temperature 1; the tokens are those
    that the model's tokeniser makes of the text, never another segmentation of the same characters. The server gives
    no probability for a token that ends within a character: for tokens that are not whole characters, the
    alternatives are searched for them, one step at a time, which takes a text in such a script several times longer.

    Args:
        post: Sends a request to a path of the server and returns its answer.
        name: The model's name, for messages.
        context: Tokens of context that the server has.
        cached: Whether the server may use its prefix cache. With it, the likelihood of a text differs slightly with
            what was asked before; without it, it is the same to the last bit, and slower.
    """

    def ask(path: str, body: dict[str, Any]) -> Any:
        try:
            return post(path, body)
        except RequestRefused as refused:  # these texts, in this model's template; it does give likelihoods
            raise UnreadableReply(str(refused), reply="") from None

    def weigh(turns: Sequence[Turn], text: str) -> Likelihood:
        rendered = templated(ask, turns)
        prompt = ask("/tokenize", {"content": rendered, "add_special": True, "parse_special": True})["tokens"]
        given = ask("/tokenize", {"content": text, "add_special": False, "parse_special": False, "with_pieces": True})[
            "tokens"
        ]
        if len(prompt) + len(given) >= context:
            raise ContextOverflow(
                f"{name}: the prompt ({len(prompt)} tokens) and the text to weigh ({len(given)} tokens) do not fit the "
                f"model's context window ({context} tokens)"
            )

        def step(tokens: list[int], number: int, forced: dict[str, Any], shown: int) -> Any:
            body = {"prompt": tokens, "n_predict": number, "n_probs": shown, "return_tokens": True, **forced}
            return ask("/completion", {**body, "temperature": 0.0, "cache_prompt": cached})

        reused = 0
        if cached:
            # Read the prompt in a request of its own. A prompt's last token is computed alone when the rest comes from
            # the cache, and in a batch otherwise, which differs a little: now it is alone for the first text too.
            answer = ask("/completion", {"prompt": prompt, "n_predict": 0, "cache_prompt": True})
            reused = max(0, len(prompt) - answer["timings"]["prompt_n"])
        logprobs: list[float] = []
        behind = list(prompt)
        for whole, group in itertools.groupby(given, key=_whole):
            every = [token["id"] for token in group]
            for ids in [[number] for number in every] if cached or not whole else [every]:
                if whole:
                    answer = step(behind, len(ids), _forced(ids), 1)
                    steps = answer.get("completion_probabilities") or []
                    if answer.get("tokens") != ids or len(steps) != len(ids):
                        said = f"{name}: the model could not be forced along the text {text[:60]!r}"
                        raise UnreadableReply(said, reply="")
                    logprobs += [one["logprob"] for one in steps]
                else:
                    logprobs.append(_among_all(step, behind, *ids))
                behind += ids
        usage = Usage(prompt_tokens=len(prompt), cached_tokens=reused, completion_tokens=len(given))
        return Likelihood.of(logprobs, "forced", usage)

    return weigh


def templated(post: Callable[[str, dict[str, Any]], Any], turns: Sequence[Turn]) -> str:
    """The prompt that the server's chat template makes of a conversation; ``post`` as for :func:`forcing`."""
    prompt: str = post("/apply-template", {"messages": _messages(turns)})["prompt"]
    return prompt


def _messages(turns: Sequence[Turn]) -> list[dict[str, str]]:
    system = "\n\n".join(text for role, text in turns if role == "system")
    first = [{"role": "system", "content": system}] if system else []
    return first + [{"role": role, "content": text} for role, text in turns if role != "system"]


def _whole(token: Mapping[str, Any]) -> bool:
    """Whether a token is made of whole characters that a grammar can hold."""
    return isinstance(token["piece"], str) and token["piece"] != "" and "\x00" not in token["piece"]


def _forced(ids: Sequence[int]) -> dict[str, Any]:
    """What lets the server generate these tokens and no others; probabilities before sampling do not change by it."""
    if len(ids) == 1:
        return {"logit_bias": [[ids[0], FAR_ABOVE]]}
    return {"grammar": "root ::= " + " ".join(f"<[{number}]>" for number in ids)}


def _among_all(step: Callable[[list[int], int, dict[str, Any], int], Any], behind: list[int], token: int) -> float:
    for number in (LIKELIEST, EVERY_TOKEN):
        # Whatever is generated has to be shown with its probabilities, and a letter always is.
        shown = step(behind, 1, {"grammar": "root ::= [a-z]"}, number)["completion_probabilities"][0]["top_logprobs"]
        for other in shown:
            if other["id"] == token:
                return float(other["logprob"])
    raise UnreadableReply(f"the model gives no probability for token {token} of its own vocabulary", reply="")
