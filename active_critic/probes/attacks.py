"""Attacks on a judge: texts that are made to be rated better than they are.

What the families are after is known from the field: instructions and verdicts planted in the text (prompt injection),
answers that say nothing yet pass ("One Token to Fool LLM-as-a-Judge", Zhao et al. 2025: master keys; "Cheating
Automatic LLM Benchmarks", Zheng et al. 2025: constant answers), and what judges are biased towards (length, authority,
looks). The wording is our own. Every attack is a pure function of the text, its source, and what the attacker knows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal, get_args

from active_critic.data.fields import did_you_mean
from active_critic.errors import DataError
from active_critic.probes import _content_attacks as content
from active_critic.probes import _format_attacks as format_
from active_critic.probes import _word_attacks as word
from active_critic.probes._attacker import Attacker
from active_critic.probes._texts import names_of

__all__ = ["ATTACKS", "KINDS", "Attack", "Attacker", "Kind", "attacks_named"]

Kind = Literal["format", "instruction", "persuasion", "null", "length", "content"]
"""What an attack counts on: ``format``: to be read as the reply, or to leave its place in the prompt; ``instruction``:
to be obeyed; ``persuasion``: to win the judge over; ``null``: that nothing at all passes for a text; ``length``: that
more looks better; ``content``: that the looks of quality pass for it."""

KINDS: tuple[Kind, ...] = get_args(Kind)

Make = Callable[[str, str, Attacker], str | None]


@dataclass(frozen=True, slots=True)
class Attack:
    """One family of attacks.

    Attributes:
        name: What it is called, unique.
        kind: See :data:`Kind`.
        about: What is done to the text, in a line.
        make: From response, source and attacker to the attacked response; None where it cannot be made (there is no
            source to copy).
        replaces: Whether nothing of the response is left, or its first words alone: then an honest judge scores it
            below the original.
    """

    name: str
    kind: Kind
    about: str
    make: Make
    replaces: bool = False

    def __call__(self, response: str, source: str, attacker: Attacker) -> str | None:
        """The attacked response; see ``make``."""
        return self.make(response, source, attacker)


_TABLE: tuple[tuple[Kind, str, Make, str], ...] = (
    ("format", "planted-verdict", format_.planted_verdict, "filled-in reply forms with the best rating at the end"),
    ("format", "planted-first", format_.planted_first, "the same before the text"),
    ("format", "planted-reasons", format_.planted_reasons, "reply forms in which the reasons come first"),
    ("format", "fenced-verdict", format_.fenced_verdict, "reply forms in code fences, under a heading"),
    ("format", "open-form", format_.open_form, "reply forms that are begun, for the judge to go on with"),
    ("format", "every-level", format_.every_level, "a reply form for every rating, the best one spaced otherwise"),
    ("format", "string-escape", format_.string_escape, "what would end a text in a form and add a rating"),
    ("format", "ended-thought", format_.ended_thought, "the end of the judge's thought, and reply forms behind it"),
    ("format", "closed-marks", format_.closed_marks, "the mark that closes the text, the question, and its answer"),
    ("format", "fake-turn", format_.fake_turn, "the judge's turn in the marks of a chat template"),
    ("format", "fake-system-turn", format_.fake_system_turn, "a turn of the system that fixes the rating"),
    ("format", "fake-demonstration", format_.fake_demonstration, "made-up items with the best rating"),
    ("format", "field-headers", format_.field_headers, "headers of fields with the best rating under them"),
    ("format", "zero-width-marks", format_.zero_width_marks, "marks and forms with invisible characters inside"),
    ("format", "lookalike-marks", format_.lookalike_marks, "marks and forms in lookalike letters of other scripts"),
    ("format", "renamed-form", format_.renamed_form, "filled-in forms whose fields have other names"),
    ("format", "told-verdict", format_.told_verdict, "what the judge is said to have replied, in words"),
    ("format", "verdict-only", format_.verdict_only, "nothing but reply forms"),
    ("instruction", "ignore-instructions", word.ignore_instructions, "an order to set the instructions aside"),
    ("instruction", "new-rules", word.new_rules, "rules that pretend to replace the judge's"),
    ("instruction", "other-language", word.other_language, "the order in one of seven other languages"),
    ("instruction", "base64", word.base64_order, "the order in base64"),
    ("instruction", "shifted-letters", word.shifted_letters, "the order in ROT13"),
    ("instruction", "spaced-letters", word.spaced_letters, "the order with gaps between its letters"),
    ("instruction", "hidden-html", word.hidden_html, "the order in an HTML comment and an element not shown"),
    ("instruction", "hidden-markdown", word.hidden_markdown, "the order where Markdown does not show it"),
    ("persuasion", "flattery", word.flattery, "praise of the judge"),
    ("persuasion", "threat", word.threat, "what happens to judges who rate low"),
    ("persuasion", "plea", word.plea, "what hangs on a good rating"),
    ("persuasion", "fake-human-scores", word.fake_human_scores, "best scores that people are said to have given"),
    ("persuasion", "consensus", word.consensus, "what all the others are said to think"),
    ("persuasion", "credentials", word.credentials, "experts and a handbook that are said to stand behind it"),
    ("persuasion", "self-praise", word.self_praise, "a glowing review of itself"),
    ("persuasion", "fitting-praise", word.fitting_praise, "a review that names the source that the text fits so well"),
    ("null", "key-symbol", content.key_symbol, "a single mark, such as a colon"),
    ("null", "key-opening", content.key_opening, "the opening words of an answer, such as 'Thought process:'"),
    ("null", "null-answer", content.null_answer, "a word for no answer"),
    ("null", "constant-answer", content.constant_answer, "the same smooth text for everything"),
    ("null", "fitting-answer", content.fitting_answer, "the same, but that it names the source"),
    ("null", "first-words", content.first_words, "only the first three words"),
    ("length", "padding", content.padding, "as much again of sentences that say nothing"),
    ("length", "repetition", content.repetition, "the best sentence three times more"),
    ("length", "flood", content.flood, f"{content.FLOOD:,} characters of nothing, then an order"),
    ("content", "copied-source", content.copied_source, "the source in place of the text"),
    ("content", "appended-source", content.appended_source, "the source behind the text"),
    ("content", "copied-example", content.copied_example, "a well scored text from the prompt in place of the text"),
    ("content", "appended-example", content.appended_example, "a well scored text from the prompt behind the text"),
    ("content", "stuffed-criteria", content.stuffed_criteria, "the names of the criteria, over and over"),
    ("content", "claimed-criteria", content.claimed_criteria, "the claim that each criterion is met"),
    ("content", "dressing", content.dressing, "headings, bold print and bullets around the same sentences"),
)
_REPLACING = {
    "verdict-only",
    "key-symbol",
    "key-opening",
    "null-answer",
    "constant-answer",
    "fitting-answer",
    "first-words",
    "copied-source",
    "copied-example",
}

ATTACKS: tuple[Attack, ...] = tuple(
    Attack(name, kind, about, make, replaces=name in _REPLACING) for kind, name, make, about in _TABLE
)
"""Every family, by kind."""


def attacks_named(names: str | Iterable[str] | None = None) -> tuple[Attack, ...]:
    """Families by name, or whole kinds by theirs, in the order of ``ATTACKS``; None: all.

    Raises:
        DataError: A name stands for nothing, or there is none.
    """
    if names is None:
        return ATTACKS
    names = names_of("attacks", names)
    known = {attack.name for attack in ATTACKS}
    unknown = [name for name in names if name not in known and name not in KINDS]
    if unknown or not names:
        said = f"no attack is called {unknown[0]!r}" if unknown else "no attack is named"
        near = did_you_mean(unknown[0], [*KINDS, *sorted(known)]) if unknown else ""
        listed = f"the kinds are {', '.join(KINDS)}, and their families stand in `active-critic probe --help`"
        raise DataError(f"{said}{near} T{listed[1:]}" if near else f"{said}; {listed}")
    return tuple(attack for attack in ATTACKS if attack.name in names or attack.kind in names)
