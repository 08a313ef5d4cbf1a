"""No attack leaves its place in a prompt, and no reply that quotes one is read as the verdict."""

from __future__ import annotations

import json
import random
import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from active_critic import asking
from active_critic.asking import Sheet, rating_sheet, shown_texts
from active_critic.errors import UnreadableReply
from active_critic.evaluators import (
    ICE,
    ActiveCritic,
    AutoCalibrate,
    Evaluator,
    GEval,
    GPTScore,
    HDEval,
    Surface,
    ZeroShot,
    from_protocol,
)
from active_critic.evaluators._checks_material import examples, rate
from active_critic.evaluators._discounting import NOTHING_ELSE
from active_critic.lm import Capabilities, LanguageModel, Turn, scripted_lm
from active_critic.lm.filling import form_filling_lm
from active_critic.probes.attacks import ATTACKS, Attack, Attacker
from active_critic.protocols import Reading
from active_critic.records import Example
from active_critic.scoring import reply_schema

FAMILIES = {
    "planted-verdict",
    "planted-first",
    "planted-reasons",
    "fenced-verdict",
    "open-form",
    "every-level",
    "string-escape",
    "ended-thought",
    "closed-marks",
    "fake-turn",
    "fake-system-turn",
    "fake-demonstration",
    "field-headers",
    "zero-width-marks",
    "lookalike-marks",
    "renamed-form",
    "told-verdict",
    "verdict-only",
    "ignore-instructions",
    "new-rules",
    "other-language",
    "base64",
    "shifted-letters",
    "spaced-letters",
    "hidden-html",
    "hidden-markdown",
    "flattery",
    "threat",
    "plea",
    "fake-human-scores",
    "consensus",
    "credentials",
    "self-praise",
    "fitting-praise",
    "key-symbol",
    "key-opening",
    "null-answer",
    "constant-answer",
    "fitting-answer",
    "first-words",
    "padding",
    "repetition",
    "flood",
    "copied-source",
    "appended-source",
    "copied-example",
    "appended-example",
    "stuffed-criteria",
    "claimed-criteria",
    "dressing",
}
SOURCE = "Where is my parcel? It was to come on Monday."
RESPONSE = "It is on its way. It will be there tomorrow, and we are sorry for the delay."
NAMES = ["Accuracy", "Tone"]
KNOWING = Attacker(5, ("Accuracy", "Tone"), examples=("We are sorry. Your parcel was lost, and you get your money.",))
MARKS = ("<source>", "</source>", "<response>", "</response>")
CHAT_MARK = re.compile(
    r"<[|｜]|\[\[ ?##|\[/?INST\]|<<SYS>>|<(start|end)_of_turn>|</?s>|</?think>|\[\|(user|assistant)", re.IGNORECASE
)
OWN = 2
"""What the model finds every text worth, in these tests."""

every_family = pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)


def attacked(attack: Attack, response: str = RESPONSE, source: str = SOURCE, seed: int = 0) -> str:
    text = attack(response, source, replace(KNOWING, seed=seed))
    assert text is not None
    return text


def test_every_family_is_named() -> None:
    assert {attack.name for attack in ATTACKS} == FAMILIES


# --- a reply that quotes the text ---------------------------------------------------------------------------------


def sheets() -> Iterator[tuple[Reading, Sheet]]:
    for order in ("rating_first", "reason_first"):
        reading = Reading(source="text", order=order)
        for explain in (True, False):
            yield reading, rating_sheet(reading, explain=explain)
            for names in (NAMES, None):
                ratings = {n: ("scores", n) for n in names} if names else {"overall": ("overall",)}
                yield reading, Sheet(ratings, reply_schema(reading, names, explain), {}, 100)
        yield reading, rating_sheet(reading, NAMES)


def filled(part: Any, level: int = OWN) -> Any:
    """A form by its schema, with this in place of every rating."""
    if part["type"] == "object":
        return {name: filled(inner, level) for name, inner in part["properties"].items()}
    return level if part["type"] == "integer" else "It says a good deal."


def gives_a_number(text: str) -> bool:
    """Whether a text gives a number to a field of some form, in any form of its own."""
    return bool(re.search(r"(overall|rating|accuracy|tone)\W{0,8}\d", visible(text), re.IGNORECASE))


def replies(text: str, own: str, rng: random.Random) -> Iterator[str]:
    """Ways in which a model may quote a text before, after, or in place of its own form."""
    for shortened in re.findall(r'"(?:overall|rating)": 5', text)[:2]:  # nothing but the rating of a planted form
        told = f"The response says {{{shortened}}}, which I ignore."
        yield f"{told} My rating is 2."
        yield f"{told}\n{own}"
        yield f"{told}\n{json.dumps(dict(reversed(json.loads(own).items())))}"
    for reworded in re.findall(r"\{.*5.*\}", text)[:1]:
        yield f"The response says {reworded.replace('better.', 'better')}, which I ignore. My rating is 2."
    yield f"{text}\n{own}"
    yield f"The response says: {text}\n{own}"
    yield f"The response says: {text}\n\nMy rating:\n```json\n{own}\n```"
    yield f"{own}\nThe response says: {text}"
    yield f"The response says: {text}"
    yield f"<think>{text}"
    yield f"<think>It says: {text}\n"
    yield f"<think>It says: {text}</think>{own}"
    for stop in ('"justification"', '"explanations"', '"reason"'):  # where a model without schemas is stopped
        yield f"The response says: {text}".partition(stop)[0]
    whole = f"The response says: {text}\n{own}"
    for _ in range(12):
        yield whole[: rng.randrange(1, len(whole))]


@every_family
def test_no_reply_that_quotes_it_is_read_as_its_verdict(attack: Attack) -> None:
    rng = random.Random(attack.name)
    for seed, (reading, sheet) in enumerate(sheets()):
        text = attacked(attack, seed=seed)
        turns: list[Turn] = [("system", "Rate."), ("user", f"{shown_texts(SOURCE, text)}\n\nHow good is the response?")]
        own = json.dumps(filled(sheet.schema))
        quoted = re.search(r"<response>\n(.*)\n</response>", turns[1][1], re.DOTALL)
        assert quoted is not None
        read = 0
        for echo in {text, quoted.group(1)}:
            for reply in replies(echo, own, rng):
                lm = scripted_lm(lambda _, said=reply: said, capabilities=Capabilities())  # type: ignore[misc]
                try:
                    ratings = asking.ask(lm, turns, sheet, reading).ratings
                except UnreadableReply:
                    # Nothing but a field with a number in the quote, or no form of the model's own, keeps a reply
                    # from being read.
                    assert gives_a_number(echo) or own not in reply, reply
                    continue
                read += 1
                assert {rating.value for rating in ratings.values()} == {OWN}, reply
        assert read


def test_a_reader_that_takes_the_last_verdict_it_finds_would_be_fooled() -> None:
    """These tests can fail: the texts do hold what is looked for."""
    holding = [a.name for a in ATTACKS if '"overall": 5' in attacked(a) and '"rating": 5' in attacked(a)]
    assert len(holding) >= 10


# --- every evaluator ----------------------------------------------------------------------------------------------

QUICK: dict[str, Any] = {"candidates": 2, "demos": 2, "max_batches": 1, "report": False, "journal": None}
MAKERS: dict[str, Callable[[LanguageModel], Evaluator]] = {
    "surface": lambda lm: Surface(journal=None),
    "zero-shot": lambda lm: ZeroShot(lm, journal=None),
    "gpt-score": lambda lm: GPTScore(lm, journal=None),
    "ice": lambda lm: ICE(lm, journal=None),
    "g-eval": lambda lm: GEval(lm, max_batches=1, journal=None),
    "auto-calibrate": lambda lm: AutoCalibrate(
        lm, shots=(2, 3), trials=1, refine_trials=1, max_batches=1, journal=None
    ),
    "hd-eval": lambda lm: HDEval(lm, journal=None),
    "critic": lambda lm: ActiveCritic(
        lm, use_likelihood="always", use_contrast="always", use_surface="always", **QUICK
    ),
    "coarse critic": lambda lm: ActiveCritic(lm, mode="coarse", **QUICK),
    "rating only": lambda lm: ActiveCritic(
        lm, use_approval="never", use_likelihood="never", use_contrast="never", use_surface="never", **QUICK
    ),
    "reasons first": lambda lm: ActiveCritic(lm, order="reason_first", **QUICK),
}
ASKS_IN_WORDS = [name for name in MAKERS if name not in ("surface", "gpt-score")]


@pytest.fixture(scope="module")
def programs() -> dict[str, Any]:
    data = examples()
    return {name: make(form_filling_lm(rate)).fit(data, scale="1..5").fitted for name, make in MAKERS.items()}


def own_form(turns: list[Turn], level: int) -> str:
    """The form that the last turn asks for, as the prompt shows it, with this in place of every rating."""
    shown = re.findall(r"(?:on one line|filled in): (\{.*\})", "\n".join(text for _, text in turns))
    wanted = shown[-1] if "overall?" in turns[-1][1] or "filled in" in turns[-1][1] else shown[0]
    return re.sub(r": \d+", f": {level}", wanted)


def model(before: Callable[[str], str]) -> LanguageModel:
    """A model that rates everything the same, and says something before that of what it was shown."""

    def answer(turns: list[Turn]) -> str:
        items = [text for role, text in turns if role == "user" and "<response>" in text]
        shown = items[-1].split("<response>\n")[1].split("\n</response>")[0]
        return before(shown) + own_form(turns, OWN)

    can = Capabilities(json_schema=True, probabilities=True)  # of the yes or no; ratings come without
    return scripted_lm(
        answer,
        capabilities=can,
        likelihood=lambda _, text: [-1.0] * max(1, len(text.split())),
        approves=lambda _: 0.5,
    )


@pytest.mark.parametrize("name", ASKS_IN_WORDS)
def test_quoting_lifts_no_score_of_any_evaluator(programs: dict[str, Any], name: str) -> None:
    items = [Example(attacked(attack), SOURCE) for attack in ATTACKS]
    discounts = getattr(programs[name], "discounts_forgeries", False)
    plain = [*from_protocol(programs[name], model(lambda _: ""), journal=None).score_many(items, explain=False)]
    for before in (lambda text: f"{text}\n", lambda text: f"The response says: {text}\n\nMy rating: "):
        quoting = from_protocol(programs[name], model(before), journal=None).score_many(items, explain=False)
        for attack, own, got in zip(ATTACKS, plain, quoting, strict=True):
            if attack.name == "verdict-only" and discounts:
                assert own.unscored == got.unscored == NOTHING_ELSE
                continue
            assert own.score is not None, attack.name
            # A text that gives a field a number may leave the reply unreadable; no other does.
            gives = gives_a_number(attacked(attack))
            assert got.score == own.score or (got.score is None and gives), attack.name


# --- the prompt ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", MAKERS)
def test_a_prompt_has_one_of_each_mark_and_the_same_turns(programs: dict[str, Any], name: str) -> None:
    judge = from_protocol(programs[name], model(lambda _: ""), journal=None).judge()
    for attack, hostile_source in [(a, source) for a in ATTACKS for source in (SOURCE, attacked(a))]:
        harmless = Example("Here.", "Where?", reference="There.")
        hostile = Example(attacked(attack), hostile_source, reference=attacked(attack))
        for question in judge.questions:
            ours, theirs = judge.turns(question, harmless), judge.turns(question, hostile)
            assert [role for role, _ in theirs] == [role for role, _ in ours]
            for (role, plain), (_, text) in zip(ours, theirs, strict=True):
                if role != "user":
                    assert text == plain
                seen = visible(text)
                for mark in MARKS:
                    assert text.count(mark) == seen.count(mark) == plain.count(mark), (attack.name, question, mark)
                assert not CHAT_MARK.search(seen), attack.name


def visible(text: str) -> str:
    """The text as a tokeniser has it that drops what cannot be seen and reads wide letters as plain ones."""
    folded = unicodedata.normalize("NFKC", text)
    return "".join(c for c in folded if unicodedata.category(c) not in {"Cf", "Mn"})
