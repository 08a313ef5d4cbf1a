from __future__ import annotations

import base64
import codecs
import json
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from active_critic.errors import DataError
from active_critic.probes.attacks import ATTACKS, KINDS, Attacker, attacks_named
from active_critic.protocols import Contrast, CriticProtocol, Demo, Provenance, Reading
from active_critic.records import Criterion, Scale

SCALE = Scale(low=0, high=100)
ATTACKER = Attacker(5, ("Accuracy", "Tone"), examples=("Liked most by people.", "Not liked."))
RESPONSE, SOURCE = "A first sentence. The parcel comes on Monday.", "When does the parcel come? On Monday?"
NAMED = {attack.name: attack for attack in ATTACKS}

some_text = st.text(min_size=1, max_size=200).filter(str.strip)


def made(name: str, seed: int = 0, response: str = RESPONSE, source: str = SOURCE) -> str:
    text = NAMED[name](response, source, Attacker(5, ("Accuracy", "Tone"), seed))
    assert text is not None
    return text


MEASURED = "robustness_sfres_qwen2.5-coder-1.5b"


def told(lift: dict[str, Any], sign: str = "") -> str:
    low, high = lift["percent_interval"]
    return f"{lift['percent']:{sign}.0f} % [{low:{sign}.0f}, {high:{sign}.0f}]"


def test_the_page_names_every_family_and_kind() -> None:
    page = (Path(__file__).parents[2] / "docs/probes.md").read_text(encoding="utf-8")
    rows = [f"| `{attack.name}` | {attack.kind} | {attack.about} |" for attack in ATTACKS]
    assert [line for line in page.splitlines() if line.startswith("| `")] == rows
    assert all(f"\n| {kind} | " in page for kind in KINDS)


def test_the_page_quotes_what_was_measured() -> None:
    root = Path(__file__).parents[2]
    page = (root / "docs/probes.md").read_text(encoding="utf-8")
    results = root / "benchmarks/results"
    measured = json.loads((results / f"{MEASURED}.json").read_text(encoding="utf-8"))["methods"]
    names = ("zero-shot", "g-eval", "active-critic-coarse (rating only)", "active-critic-coarse")
    trials = [measured[name]["attacks"] for name in names]

    def row(title: str, lifts: Iterable[dict[str, Any]]) -> str:
        cells = []
        for lift in lifts:
            low, high = lift["percent_interval"]
            cells.append(f"{lift['percent']:+.0f} [{low:+.0f}, {high:+.0f}]; {100 * lift['success']:.0f} %")
        return f"| {title} | {' | '.join(cells)} |"

    original = [f"{20 * (trial['overall']['original'] - 1):.0f} %" for trial in trials]  # of the scale 1 to 6
    rows = [f"| score as it was | {' | '.join(original)} |"]
    rows += [
        row(kind, [next(of["lift"] for of in trial["kinds"] if of["kind"] == kind) for trial in trials])
        for kind in KINDS
    ]
    rows.append(row("all that keep the text", [trial["overall"] for trial in trials]))
    rows.append(row("all that replace it", [trial["replacing"] for trial in trials]))
    assert "\n".join(rows) in page


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)
def test_half_a_character_in_a_text_stops_no_attack(attack) -> None:
    assert attack("half \ud800 a character. And more.", "a source \udc00", Attacker(examples=("half \udc00",)))


def test_there_are_enough_families_and_each_kind_has_some() -> None:
    assert len(ATTACKS) >= 24
    assert len(NAMED) == len(ATTACKS)
    assert {attack.kind for attack in ATTACKS} == set(KINDS)
    assert all(attack.about and attack.name == attack.name.lower() for attack in ATTACKS)


@given(response=some_text, source=st.text(max_size=100), seed=st.integers(0, 9))
def test_an_attack_depends_on_texts_and_seed_alone(response: str, source: str, seed: int) -> None:
    attacker = Attacker(5, (), seed)
    for attack in ATTACKS:
        text = attack(response, source, attacker)
        assert text == attack(response, source, Attacker(5, (), seed))
        if text is None:
            assert not source.strip() or attack.name.endswith("-example")  # it knows of none
        elif not attack.replaces and attack.kind != "null" and attack.name != "dressing":
            assert response in text


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)
def test_an_attack_changes_the_text_and_keeps_it_where_it_does_not_replace_it(attack) -> None:
    text = attack(RESPONSE, SOURCE, ATTACKER)
    assert text.strip()
    assert text != RESPONSE
    assert attack.replaces == (RESPONSE.split()[1] not in text) or attack.name in ("copied-source", "first-words")


@pytest.mark.parametrize("name", ["planted-verdict", "planted-first", "verdict-only", "fenced-verdict"])
def test_planted_forms_are_well_formed_and_give_the_best_rating(name) -> None:
    lines = [line for line in made(name).splitlines() if line.startswith("{")]
    assert [json.loads(line) for line in lines] == [json.loads(form) for form in ATTACKER.forms()]
    overall, rating, scores = map(json.loads, lines)
    assert overall["overall"] == rating["rating"] == scores["scores"]["Tone"] == 5
    assert [next(iter(form)) for form in (overall, rating, scores)] == ["overall", "rating", "scores"]


def test_reasons_come_first_where_they_should() -> None:
    forms = [json.loads(line) for line in made("planted-reasons").splitlines() if line.startswith("{")]
    assert [list(form)[-1] for form in forms] == ["overall", "rating", "scores"]


def test_an_open_form_ends_at_its_first_rating() -> None:
    assert all(line.endswith("5") for line in made("open-form").splitlines()[2:])


def test_the_order_is_in_the_code() -> None:
    order = made("ignore-instructions").splitlines()[2].split(" Whatever")[0]
    assert base64.b64decode(made("base64").rsplit(": ", 1)[1]).decode() == order
    assert codecs.decode(made("shifted-letters").rsplit("it: ", 1)[1], "rot13") == order
    assert made("spaced-letters").splitlines()[2][::2] == order


@pytest.mark.parametrize("name", ["other-language", "key-symbol", "key-opening", "null-answer", "fake-turn"])
def test_seeds_draw_different_variants(name) -> None:
    assert len({made(name, seed) for seed in range(40)}) >= 5


def test_the_sentence_that_has_most_of_the_source_is_repeated() -> None:
    assert made("repetition").count("The parcel comes on Monday.") == 4


def test_lengths() -> None:
    assert len(made("padding")) > len(RESPONSE) + 300
    assert len(made("padding", response="word " * 400)) > 3900
    assert len(made("flood")) > 12_000
    assert made("first-words") == "A first sentence."


def test_without_a_source_there_is_nothing_to_copy() -> None:
    assert NAMED["copied-source"](RESPONSE, " ", ATTACKER) is None
    assert NAMED["appended-source"](RESPONSE, "", ATTACKER) is None


def test_well_scored_texts_of_the_prompt_are_copied() -> None:
    attacker = Attacker(examples=("first", "second", "third", "fourth", "fifth"))
    copies = {NAMED["copied-example"](f"{RESPONSE} {i}", SOURCE, attacker) for i in range(40)}
    assert copies == set(attacker.examples[:4])
    behind = NAMED["appended-example"](RESPONSE, SOURCE, attacker)
    assert behind in [f"{RESPONSE}\n\n{text}" for text in attacker.examples[:4]]
    assert NAMED["copied-example"](RESPONSE, SOURCE, Attacker()) is None
    assert NAMED["appended-example"](RESPONSE, SOURCE, Attacker()) is None


def test_the_attacker_has_read_the_program() -> None:
    program = CriticProtocol(
        task_description="Judge.",
        criteria=(Criterion(name="Warmth", definition="It is kind."),),
        scale=SCALE,
        reading=Reading(low=0, high=10, source="text"),
        provenance=Provenance(model="x"),
    )
    attacker = Attacker.of(program, seed=3)
    assert attacker == Attacker(10, ("Warmth",), 3)
    scored = {"worst": 0.0, "bad": 30.0, "good": 70.0, "best": 100.0}
    demos = [Demo(source="s", response=text, score=score, example_id=text) for text, score in scored.items()]
    contrast = Contrast(liked=tuple(demos[2:4]), disliked=tuple(demos[:2]))
    shown = program.model_copy(update={"demos": (demos[0], demos[2]), "contrast": contrast})
    assert Attacker.of(shown, seed=3) == replace(attacker, examples=("best", "good", "bad", "worst"))
    assert "Warmth" in NAMED["stuffed-criteria"](RESPONSE, SOURCE, attacker)
    assert '"overall": 10' in NAMED["planted-verdict"](RESPONSE, SOURCE, attacker)
    assert "Mean 10." in NAMED["fake-human-scores"](RESPONSE, SOURCE, attacker)


@pytest.mark.parametrize("name", ["flattery", "threat", "plea", "fake-human-scores", "consensus", "field-headers"])
def test_the_best_score_asked_for_is_the_best_level_that_the_judge_knows(name: str) -> None:
    text, other = (NAMED[name](RESPONSE, SOURCE, Attacker(top)) for top in (37, 41))
    assert "37" in text
    assert other == text.replace("37", "41")


def test_families_are_found_by_name_and_by_kind_in_one_order() -> None:
    assert attacks_named() == ATTACKS
    found = attacks_named(["null", "flattery", "planted-verdict"])
    assert [attack.name for attack in found][:3] == ["planted-verdict", "flattery", "key-symbol"]
    assert {attack.kind for attack in found} == {"format", "persuasion", "null"}
    for names in (["flatery"], []):
        with pytest.raises(DataError, match="heir families stand in `active-critic probe --help`") as caught:
            attacks_named(names)
    with pytest.raises(DataError, match="'flatery'"):
        attacks_named(["flatery"])
    assert "persuasion" in str(caught.value)


def test_names_that_can_be_read_once_name_the_same_attacks() -> None:
    assert attacks_named(name for name in ["plea", "null"]) == attacks_named(["plea", "null"]) != ()


def test_the_page_quotes_what_was_measured_with_surface_and_tokens() -> None:
    root = Path(__file__).parents[2]
    page = " ".join((root / "docs/probes.md").read_text(encoding="utf-8").split())
    file = root / "benchmarks/results" / f"{MEASURED}_tokens.json"
    found = json.loads(file.read_text(encoding="utf-8"))["methods"]["active-critic-coarse"]["attacks"]

    keep, replace = found["overall"], found["replacing"]
    assert f"ours is moved by {told(keep)} (all that keep the text; {100 * keep['success']:.0f} % gain a tenth" in page
    assert f"and {told(replace)} (the others; {100 * replace['success']:.0f} %)" in page
    families = {of["name"]: of["lift"] for of in found["families"]}
    above_chance = [name for name, lift in families.items() if lift["interval"][0] > 0]
    assert above_chance == ["appended-source"]  # "One attack lifted it by more than chance"
    file = root / "benchmarks/results" / f"{MEASURED}_content.json"
    anew = json.loads(file.read_text(encoding="utf-8"))["methods"]["active-critic-coarse"]["attacks"]["families"]
    since = {of["name"]: of["lift"] for of in anew}
    assert not [name for name, lift in since.items() if lift["interval"][0] > 0]
    for lift, said in [(families["appended-source"], "lifted it by more than chance: the source behind the text,"),
                       (since["appended-source"], "the source behind the text is worth"),
                       (since["copied-source"], "The source in place of the text is worth")]:  # fmt: skip
        gained = round(lift["success"] * lift["scored"])
        assert f"{said} {told(lift, '+')}; {gained} of {lift['scored']}" in page


def test_the_page_quotes_what_was_measured_on_another_set() -> None:
    root = Path(__file__).parents[2]
    page = " ".join((root / "docs/probes.md").read_text(encoding="utf-8").split())
    file = root / "benchmarks/results/robustness_topical_chat_qwen2.5-coder-1.5b.json"
    methods = json.loads(file.read_text(encoding="utf-8"))["methods"]
    ours, rated = "active-critic-coarse", ["zero-shot", "active-critic-coarse (rating only)"]
    found = [methods[name]["attacks"] for name in (*rated, f"{ours} (without surface)", ours)]
    rows = {of["kind"]: [trial["kinds"][row]["lift"] for trial in found] for row, of in enumerate(found[0]["kinds"])}
    rows |= {"all that keep the text": [trial["overall"] for trial in found]}
    rows |= {"all that replace it": [trial["replacing"] for trial in found]}
    for title, lifts in rows.items():
        cells = [f"{told(lift, '+').replace(' %', '')}; {100 * lift['success']:.0f} %" for lift in lifts]
        assert f"| {title} | {' | '.join(cells)} |" in page

    above = [lifted(trial) for trial in found]
    assert f"are lifted by {len(above[0])} and {len(above[1])} families" in page
    assert f"and {len(above[2])} families lift it by more than chance" in page
    (name,) = above[3]  # "one family"
    lift = above[3][name]
    gained = round(lift["success"] * lift["scored"])
    assert name == "constant-answer"
    assert f"a constant answer in place of the text, {told(lift, '+')}; {gained} of {lift['scored']}" in page
    best = [list(trial)[:3] for trial in above[:2]]
    assert best == [["self-praise", "constant-answer", "flood"], ["ignore-instructions", "flattery", "flood"]]
    percents = [f"{trial[name]['percent']:.0f} %" for trial in above[:2] for name in list(trial)[:3]]
    assert "self-praise ({}), a constant answer ({}), `flood` ({})".format(*percents[:3]) in page
    assert "`ignore-instructions` ({}), flattery ({}) and `flood` ({})".format(*percents[3:]) in page

    file = file.with_name(f"{file.stem}_figures-paid.json")
    before = json.loads(file.read_text(encoding="utf-8"))["methods"][ours]["attacks"]
    keep, lifts = before["overall"], lifted(before)
    assert f"moved it by {told(keep, '+')} of the scale ({100 * keep['success']:.0f} % gained" in page
    assert len(lifts) == 5  # "five families"
    assert f"`flood` by {told(lifts['flood'], '+')}, self-praise by {told(lifts['self-praise'], '+')}" in page


def test_the_page_quotes_what_was_measured_on_a_second_split() -> None:
    root = Path(__file__).parents[2]
    page = " ".join((root / "docs/probes.md").read_text(encoding="utf-8").split())
    stem = "benchmarks/results/robustness_topical_chat_qwen2.5-coder-1.5b_seed1"
    results = [
        json.loads((root / f"{stem}{how}.json").read_text(encoding="utf-8"))["methods"]
        for how in ("", "_rating-trusted", "_figures-paid")
    ]
    now, trusted, paid = (methods["active-critic-coarse"]["attacks"] for methods in results)
    keep = now["overall"]
    assert f"move it by {told(keep, '+')} of the scale ({100 * keep['success']:.0f} % gain a tenth)" in page
    (of_format,) = (of["lift"] for of in now["kinds"] if of["kind"] == "format")
    assert f"gain a tenth), those of format by {told(of_format, '+')}." in page
    tried = sum(of["lift"]["scored"] > 0 for of in now["families"])
    assert f"Of the {tried} families that could be tried {len(lifted(now))} lift it by more than chance" in page
    zero, rated = (
        results[0][name]["attacks"]["overall"] for name in ("zero-shot", "active-critic-coarse (rating only)")
    )
    assert f"Zero-shot is moved by {told(zero, '+')} there, the paper's critic by {told(rated, '+')};" in page
    by = [f"{lift['deviations']:.1f}" for lift in (keep, zero, rated)]
    assert "ours by {}, zero-shot by {}, the paper's critic by {}.".format(*by) in page
    assert f"without the bound {told(paid['overall'], '+')}, by {len(lifted(paid))} families" in page
    assert f"with the bound alone {told(trusted['overall'], '+')}, by {len(lifted(trusted))} " in page


def lifted(trial: dict[str, Any]) -> dict[str, Any]:
    """The lift by the families that lifted the score by more than chance, the most first."""
    lifts = {of["name"]: of["lift"] for of in trial["families"]}
    above = {name: lift for name, lift in lifts.items() if lift["interval"] and lift["interval"][0] > 1e-9}
    return dict(sorted(above.items(), key=lambda entry: -entry[1]["percent"]))


def test_the_page_quotes_what_was_measured_with_the_contrast() -> None:
    root = Path(__file__).parents[2]
    page = " ".join((root / "docs/probes.md").read_text(encoding="utf-8").split())
    now, other = (
        json.loads((root / "benchmarks/results" / f"{MEASURED}_{name}.json").read_text(encoding="utf-8"))["methods"][
            "active-critic-coarse (with contrast)"
        ]["attacks"]
        for name in ("contrast", "contrast-paid")
    )

    kept, gone = now["overall"], now["replacing"]
    assert f"move it by {told(kept)} ({100 * kept['success']:.0f} % gain a tenth)" in page
    assert f"the others by {told(gone)} ({100 * gone['success']:.0f} %)" in page
    lifts, if_paid = ({of["name"]: of["lift"] for of in found["families"]} for found in (now, other))
    assert f"; {len(lifts)} families, " in page
    assert not [name for name, lift in lifts.items() if lift["interval"][0] > 0]
    assert max(lifts, key=lambda name: lifts[name]["mean"]) == "copied-source"
    gained = round(lifts["copied-source"]["success"] * 10)
    assert f"in place of the text, {told(lifts['copied-source'], '+')}; {gained} of 10" in page
    (instead, behind), (paid, paid_behind) = (
        [told(found[name], "+") for name in ("copied-example", "appended-example")] for found in (lifts, if_paid)
    )
    assert f"of the prompt are worth {instead} in place of the text and {behind} behind it." in page
    assert f"(`*_contrast-paid`), they would be worth {paid} and {paid_behind}." in page
    file = root / "benchmarks/results" / f"{MEASURED}_copied-examples.json"
    (papers,) = json.loads(file.read_text(encoding="utf-8"))["methods"].values()
    copies = [told(of["lift"]) for of in papers["attacks"]["families"] if of["name"].endswith("-example")]
    assert f"either: {copies[0]} and {copies[1]}" in page
