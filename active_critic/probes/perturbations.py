"""The 18 perturbations: a text made worse in one known way, by rule or by a language model.

After Xinyu Hu et al., "Are LLM-based Evaluators Confusing NLG Quality Criteria?", ACL 2024 (Table 6 and Appendix B).
There four are made by rule and 14 by a model; here those 14 have a model form too, and 12 of them also one by rule,
offline and drawn from a seed. What each should do to which aspect stands in ``aspects.EFFECTS``.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal

from active_critic.data.fields import did_you_mean
from active_critic.errors import DataError, ModelError
from active_critic.probes import _contradiction_rules as contradiction
from active_critic.probes import _invention_rules as invention
from active_critic.probes import _language_rules as language
from active_critic.probes import _omission_rules as omission
from active_critic.probes._sentences import Text, english
from active_critic.probes._texts import names_of
from active_critic.probes.aspects import EFFECTS, Effect

if TYPE_CHECKING:
    from active_critic.lm.client import LanguageModel

By = Literal["rule", "model"]
Rule = Callable[[Text, str, random.Random], str | None]


@dataclass(frozen=True, slots=True)
class Perturbation:
    """One way of making a text worse.

    Attributes:
        name: What it is called.
        what: What is done to the text.
        needs: What a text must have for the rule to apply; empty where there is no rule.
        rule: The rule, or None.
        by_model: Whether a language model can be asked to do it.
    """

    name: str
    what: str
    needs: str = ""
    rule: Rule | None = None
    by_model: bool = True

    @property
    def by_rule(self) -> bool:
        """Whether there is a rule for it."""
        return self.rule is not None

    @property
    def effect(self) -> Effect:
        """What it should do to which aspect."""
        return EFFECTS[self.name]


_ALL = (
    Perturbation(
        "repetition",
        "something is said twice in other words",
        "an English text with a sentence of three words",
        language.repetition,
    ),
    Perturbation("passive-voice", "active sentences become passive"),
    Perturbation("inversion", "parts of a sentence are put in front of it"),
    Perturbation(
        "improper-connective",
        "sentences are joined by connectives that do not fit",
        "an English text of two sentences, one of which begins without a connective",
        language.improper_connective,
    ),
    Perturbation(
        "sentence-exchange",
        "sentences change places",
        "two different sentences",
        language.sentence_exchange,
        by_model=False,
    ),
    Perturbation(
        "incorrect-verb-form",
        "verbs stand in a wrong form",
        "a verb of the word list in a place where another form of it is wrong",
        language.incorrect_verb_form,
    ),
    Perturbation(
        "word-exchange",
        "neighbouring words change places",
        "two different words next to each other",
        language.word_exchange,
        by_model=False,
    ),
    Perturbation(
        "spelling-mistake",
        "letters are left out, doubled or exchanged",
        "a word of four letters, of an alphabet with small letters and capitals",
        language.spelling_mistake,
        by_model=False,
    ),
    Perturbation(
        "uncommon-phrase",
        "common words give way to rare ones that mean the same",
        "a word of the list of common words",
        language.uncommon_phrase,
    ),
    Perturbation(
        "complex-sentence",
        "sentences get more clauses and say the same",
        "a statement that begins with a pronoun, an article or the like",
        language.complex_sentence,
    ),
    Perturbation(
        "abbreviation",
        "details are left out",
        "an aside, a subordinate clause at the end of a sentence, or an adverb",
        omission.abbreviation,
    ),
    Perturbation(
        "hypernym", "things give way to what they are a kind of", "a noun of the word list", omission.hypernym
    ),
    Perturbation(
        "sentence-deletion",
        "the last sentence that says something is gone",
        "a sentence after the first that is not cut off and says something new",
        omission.sentence_deletion,
        by_model=False,
    ),
    Perturbation(
        "complement",
        "made-up details are put in",
        "an English statement of four words",
        invention.complement,
    ),
    Perturbation(
        "continuation",
        "a made-up sentence follows",
        "an English text of three words",
        invention.continuation,
    ),
    Perturbation(
        "different-entity",
        "a number, name or thing is replaced by another of its kind",
        "a number, or a name or thing of the word list",
        invention.different_entity,
    ),
    Perturbation(
        "conflicting-fact",
        "facts become others that contradict them",
        "a word of the list of opposites",
        contradiction.conflicting_fact,
    ),
    Perturbation(
        "negation",
        "a statement is turned into its negative, or back",
        "a statement whose verb is of the word list",
        contradiction.negation,
    ),
)
PERTURBATIONS: Mapping[str, Perturbation] = MappingProxyType({one.name: one for one in _ALL})
"""The 18 perturbations by name, in the order of the paper's Table 6."""
NOT_ENGLISH = "the rule is for English, and too few of the text's words show that it is"
"""Why most rules leave a text alone."""


@dataclass(frozen=True, slots=True)
class Perturbed:
    """What came of perturbing a text: another text, or none with the reason. Never the text as it was.

    Attributes:
        text: The perturbed text, or None.
        reason: Why there is none, or None.
        by: Whether a rule or a model was to make it.
    """

    text: str | None
    reason: str | None
    by: By


def perturb(text: str, source: str, name: str, *, lm: LanguageModel | None = None, seed: int = 0) -> Perturbed:
    """Make a text worse in one known way.

    Args:
        text: The text.
        source: What the text was made from; may be empty. Made-up details and other entities avoid what it says.
        name: The perturbation, one of ``PERTURBATIONS``.
        lm: Has the model do it, at temperature 0, from our instruction and three demonstrations; the four that the
            paper makes by rule are made by rule all the same. Without it, by rule.
        seed: What a rule draws from, together with the name and the text: the order of texts does not matter.

    Returns:
        The perturbed text; or the reason why there is none, where the text is too short, has nothing that the rule
        could change, or the model did not do what it was asked.

    Raises:
        DataError: There is no such perturbation, or no rule for it and no model given; or a text is none.
        ModelError: The endpoint cannot be used, or ``lm`` is no opened model.
    """
    chosen = named(name)
    for what, given in (("text", text), ("source", source)):
        if not isinstance(given, str):
            raise DataError(f"the {what} is a text, not {type(given).__name__}")
    if lm is not None:
        check_opened(lm)
    if lm is not None and chosen.by_model:
        from active_critic.probes import _by_model

        made, reason = _by_model.rewritten(text, source, chosen.name, lm)
        return Perturbed(made, reason, "model")
    if chosen.rule is None:
        raise DataError(f"there is no rule for the perturbation {name!r}; a language model can make it (lm=)")
    rng = random.Random(f"{seed}\0{name}\0{text}".encode("utf-8", "surrogatepass"))  # noqa: S311
    taken = Text.of(text)
    if chosen.by_model and not english(taken):  # those of the paper's that are made by rule suit any language
        return Perturbed(None, NOT_ENGLISH, "rule")
    new = chosen.rule(taken, source, rng)
    if new is None or new == text or not new.strip():
        return Perturbed(None, f"the text lacks what it takes: {chosen.needs}", "rule")
    return Perturbed(new, None, "rule")


def check_opened(lm: object) -> None:
    """Whether this is a model that is open: one that were opened for a single text would stay open.

    Raises:
        ModelError: It is not; says how to open one.
    """
    from active_critic.lm.client import LanguageModel

    if not isinstance(lm, LanguageModel):
        remedy = "lm=active_critic.open_lm(NAME), opened once for all texts"
        given = repr(lm) if isinstance(lm, str) else type(lm).__name__  # which may show a key
        raise ModelError(f"lm is an opened language model, not {given}; write {remedy}")


def named(name: str) -> Perturbation:
    """The perturbation of that name.

    Raises:
        DataError: There is none.
    """
    (name,) = names_of("perturbations", [name])
    if name not in PERTURBATIONS:
        near = did_you_mean(name, PERTURBATIONS)
        said, listed = f"there is no perturbation {name!r}", "all stand in `active-critic probe --help`"
        raise DataError(f"{said}{near} A{listed[1:]}" if near else f"{said}; {listed}")
    return PERTURBATIONS[name]
