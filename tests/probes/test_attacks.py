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
ROOT = Path(__file__).parents[2]

some_text = st.text(min_size=1, max_size=200).filter(str.strip)


def made(name: str, seed: int = 0, response: str = RESPONSE, source: str = SOURCE) -> str:
    text = NAMED[name](response, source, Attacker(5, ("Accuracy", "Tone"), seed))
    assert text is not None
    return text


MEASURED = "robustness_sfres_qwen2.5-coder-1.5b"


def text_of(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


def told(lift: dict[str, Any], sign: str = "") -> str:
    low, high = lift["percent_interval"]
    return f"{lift['percent']:{sign}.0f} % [{low:{sign}.0f}, {high:{sign}.0f}]"


def test_the_page_names_every_family_and_kind() -> None:
    page = text_of("docs/probes.md")
    rows = [f"| `{attack.name}` | {attack.kind} | {attack.about} |" for attack in ATTACKS]
    assert [line for line in page.splitlines() if line.startswith("| `")] == rows
    assert all(f"\n| {kind} | " in page for kind in KINDS)


def test_the_page_quotes_what_was_measured() -> None:
    page = text_of("docs/robustness.md")
    results = ROOT / "benchmarks/results"
    others, ours = (
        json.loads((results / f"{MEASURED}{state}.json").read_text(encoding="utf-8"))["methods"]
        for state in ("", "_default")
    )
    trials = [others[name]["attacks"] for name in ("zero-shot", "g-eval", "active-critic-coarse (rating only)")]
    trials.append(ours["active-critic-coarse"]["attacks"])

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


def test_the_page_quotes_what_single_families_do() -> None:
    page = " ".join(text_of("docs/robustness.md").split())
    file = ROOT / "benchmarks/results" / f"{MEASURED}_default.json"
    found = json.loads(file.read_text(encoding="utf-8"))["methods"]["active-critic-coarse"]["attacks"]
    lifts = {of["name"]: of["lift"] for of in found["families"]}
    assert f"; {len(lifts)} families, all but `flood`." in page
    assert lifts.pop("verdict-only")["declined"] == found["texts"]
    assert not lifted(found)
    unclear = {name for name, lift in lifts.items() if lift["percent_interval"][1] >= 0}  # "all else lowers the score"
    assert unclear == {name for name, lift in lifts.items() if lift["success"]}  # "1 of 10 texts"
    assert unclear == {"appended-source", "copied-source", "first-words"}
    for name, said in {
        "appended-source": "what better ones are, is worth",
        "copied-source": "the source in its place",
        "first-words": "The first words of a text are worth",
        "fitting-praise": "`fitting-praise` moves it by",
        "told-verdict": "`told-verdict` by",
        "threat": "a threat by",
    }.items():
        assert f"{said} {told(lifts[name], '+')}" in page


SPLITS = {"first": "", "second": "_seed1", "third": "_seed2"}
TOPICAL = "robustness_topical_chat_qwen2.5-coder-1.5b"
OURS = "active-critic-coarse"
COMPARED = ("zero-shot", f"{OURS} (rating only)", OURS)


def on_topical_chat(name: str) -> dict[str, dict[str, Any]]:
    """The trial of every method, by its name."""
    file = ROOT / "benchmarks/results" / f"{TOPICAL}{name}.json"
    return {
        method: found["attacks"] for method, found in json.loads(file.read_text(encoding="utf-8"))["methods"].items()
    }


def of_kind(trial: dict[str, Any], name: str) -> dict[str, Any]:
    (found,) = (kind["lift"] for kind in trial["kinds"] if kind["kind"] == name)
    return dict(found)


def percents(trials: list[dict[str, Any]], name: str) -> str:
    """What a family gained in each trial, as the pages tell it."""
    lifts = [next(of["lift"]["percent"] for of in trial["families"] if of["name"] == name) for trial in trials]
    return "{:+.0f}, {:+.0f} and {:+.0f} %".format(*lifts)


def bare(lift: dict[str, Any]) -> str:
    return told(lift, "+").replace(" %", "")


def test_the_page_quotes_what_was_measured_on_another_set() -> None:
    page = text_of("docs/robustness.md")
    splits = {split: [on_topical_chat(name)[method] for method in COMPARED] for split, name in SPLITS.items()}
    rows: dict[str, list[dict[str, Any]]] = {}
    for split, trials in splits.items():
        rows[f"format, {split}"] = [of_kind(trial, "format") for trial in trials]
        rows[f"persuasion, {split}"] = [of_kind(trial, "persuasion") for trial in trials]
        rows[f"all that keep the text, {split}"] = [trial["overall"] for trial in trials]
    last = splits["third"]
    rows |= {of["kind"]: [trial["kinds"][row]["lift"] for trial in last] for row, of in enumerate(last[0]["kinds"])}
    rows |= {"all that keep the text": [trial["overall"] for trial in last]}
    rows |= {"all that replace it": [trial["replacing"] for trial in last]}
    for title, lifts in rows.items():
        cells = [f"{bare(lift)}; {100 * lift['success']:.0f} %" for lift in lifts]
        assert f"| {title} | {' | '.join(cells)} |" in page

    by_method = list(zip(*splits.values(), strict=True))
    deviations = [[f"{trial['overall']['deviations']:.1f}" for trial in trials] for trials in by_method]
    above = [[str(len(lifted(trial))) for trial in trials] for trials in by_method]
    for title, cells in (("in standard deviations of each one's scores", deviations), ("families that lift", above)):
        (row,) = (line for line in page.splitlines() if line.startswith(f"| {title}"))
        assert row.split(" | ", 1)[1] == f"{' | '.join(', '.join(cell) for cell in cells)} |"


def test_the_page_quotes_what_still_moves_ours() -> None:
    page, readme = (" ".join(text_of(name).split()) for name in ("docs/robustness.md", "README.md"))
    ours, zeros = ([on_topical_chat(name)[method] for name in SPLITS.values()] for method in (OURS, "zero-shot"))
    for name, said, of_zero in [
        ("self-praise", "self-praise moves it by", "(zero-shot by {})"),
        ("constant-answer", "answer in place of the text by", "({})"),
        ("flattery", "flattery by", "({})"),
        ("told-verdict", "`told-verdict` by", "({})"),
        ("fitting-praise", "`fitting-praise` moves it by", "(zero-shot by {})"),
        ("fitting-answer", "`fitting-answer` by", "({})"),
    ]:
        assert f"{said} {percents(ours, name)} {of_zero.format(percents(zeros, name))}" in page
    assert [list(lifted(one)) for one in ours] == [[], ["threat"], ["fitting-praise"]]
    threat, fitting = lifted(ours[1])["threat"], lifted(ours[2])["fitting-praise"]
    assert (
        f"on the second split a threat ({told(threat, '+')}), on the third `fitting-praise` ({told(fitting, '+')})"
        in page
    )
    assert f"A threat still gained {threat['percent']:.0f} % on one" in readme
    assert f"praise that names the source {fitting['percent']:.0f} % on another" in readme
    kinds = [kind for one in ours for kind in one["kinds"]]
    assert not [kind for kind in kinds if kind["lift"]["percent_interval"][0] > 0]  # "no kind of attack lifts it"
    said = "texts that praised themselves gained {} of the scale on three splits of a public set (zero-shot {}"
    assert said.format(percents(ours, "self-praise"), percents(zeros, "self-praise")) in readme
    for one in ours:
        # Where a forgery is found, the score is no higher than without it: two families hide from that.
        forged = {of["name"]: of["lift"]["percent"] for of in one["families"] if of["kind"] == "format"}
        above = {name for name, percent in forged.items() if (percent or 0) > 0.05}
        assert above <= {"told-verdict", "renamed-form"}


def test_the_page_quotes_what_each_bound_does() -> None:
    page = text_of("docs/robustness.md")
    states = {
        "first": ("_figures-paid", None, "_forgeries-paid", "_praise-paid", ""),
        "second": ("_figures-paid", "_rating-trusted", "_forgeries-paid", "_praise-paid", ""),
        "third": (None, "_rating-trusted", "_forgeries-paid", "_praise-paid", ""),
    }
    for split, endings in states.items():
        trials = [None if end is None else on_topical_chat(f"{SPLITS[split]}{end}")[OURS] for end in endings]
        cells = ["" if trial is None else f"{bare(trial['overall'])} " for trial in trials]
        assert f"| all that keep the text, {split} | {'| '.join(cells)}|" in page
        if split != "first":
            cells = ["" if trial is None else f"{bare(of_kind(trial, 'format'))} " for trial in trials]
            assert f"| format, {split} | {'| '.join(cells)}|" in page
    bare_one = on_topical_chat("")[f"{OURS} (without surface)"]
    count = len(lifted(bare_one))
    assert f"as safe on the first split: {told(bare_one['overall'], '+')}; {count or 'no'} famil" in page


def test_the_page_quotes_what_moves_fine_mode() -> None:
    page = " ".join(text_of("docs/robustness.md").split())
    trial = on_topical_chat("_seed2_fine")["active-critic-fine"]
    coarse = {of["name"]: of["lift"] for of in on_topical_chat("_seed2")[OURS]["families"]}
    fine = {of["name"]: of["lift"] for of in trial["families"]}
    untried = {attack.name for attack in ATTACKS} - fine.keys()
    assert untried - {"flood"} == {attack.name for attack in ATTACKS if attack.kind == "format"} & untried
    assert f"{len(fine)} of the {len(ATTACKS)} families" in page
    assert "all but `flood` and nine forged forms" in page
    assert len(untried) == 10
    kept, gone = trial["overall"], trial["replacing"]
    assert f"move it by {told(kept, '+')}, those that replace it by {told(gone, '+')}" in page
    assert list(lifted(trial)) == ["fitting-praise"]
    quoted = (
        ("`fitting-praise`, by", "fitting-praise"),
        ("in another language moves it by", "other-language"),
        ("a threat by", "threat"),
        ("`credentials` by", "credentials"),
    )
    for words, name in quoted:
        said = f"{words} {told(fine[name], '+')} ({'coarse mode by ' * (name == 'fitting-praise')}"
        assert f"{said}{coarse[name]['percent']:+.0f} %)" in page, name


def row_of(called: str, trial: dict[str, Any], families: list[str]) -> str:
    """What a method makes of these families, as a row of the table of all methods."""
    by = {of["name"]: of["lift"] for of in trial["families"]}
    keep = [by[name]["percent"] for name in families if not NAMED[name].replaces]
    alone = by.keys() == set(families)  # else there is no interval for these families together
    cells = [bare(trial["overall"]) if alone else f"{sum(keep) / len(keep):+.0f}"]
    cells += [f"{by[name]['percent']:+.0f}" for name in ("self-praise", "told-verdict", "flattery", "constant-answer")]
    return f"| {called} | {' | '.join(cells)} |"


def test_the_page_shows_what_attacks_do_to_every_evaluator() -> None:
    page = text_of("docs/robustness.md")
    fine, whole, others = (on_topical_chat(f"_seed2{name}") for name in ("_fine", "", "_others"))
    g_eval = on_topical_chat("_seed2_g-eval")["g-eval"]
    families = [of["name"] for of in g_eval["families"]]
    assert sum(not NAMED[name].replaces for name in families) == 12
    trials = {
        "**ours, fine**": fine["active-critic-fine"],
        "**ours, coarse**": whole[OURS],
        "surface floor": others["surface"],
        "GPTScore": others["gpt-score"],
        "G-Eval": g_eval,
        "HD-Eval": others["hd-eval"],
        "ICE": others["ice"],
        "zero-shot": whole["zero-shot"],
        "AutoCalibrate": others["auto-calibrate"],
        "the paper's critic": whole[f"{OURS} (rating only)"],
    }
    for called, trial in trials.items():
        assert row_of(called, trial, families) in page
    kept = [name for name in families if not NAMED[name].replaces]
    of = {called: {of["name"]: of["lift"]["deviations"] for of in trials[called]["families"]} for called in trials}
    moved = [sum(of[called][name] for name in kept) / len(kept) for called in ("GPTScore", "**ours, fine**", "G-Eval")]
    said = "in standard deviations of these, by {:.1f} (ours, fine: {:.1f}; G-Eval {:.1f})."
    assert said.format(*moved) in " ".join(page.split())
    before = on_topical_chat("_seed2_fine_praise-paid")["active-critic-fine"]["overall"]
    assert (
        f"Before praise was [bounded](#attacks-on-topical-chat), fine mode was moved by {told(before, '+')}."
        in " ".join(page.split())
    )


def lifted(trial: dict[str, Any]) -> dict[str, Any]:
    """The lift by the families that lifted the score by more than chance, the most first."""
    lifts = {of["name"]: of["lift"] for of in trial["families"]}
    above = {name: lift for name, lift in lifts.items() if lift["interval"] and lift["interval"][0] > 1e-9}
    return dict(sorted(above.items(), key=lambda entry: -entry[1]["percent"]))


def test_the_page_quotes_what_was_measured_with_the_contrast() -> None:
    page = " ".join(text_of("docs/robustness.md").split())
    now, other = (
        json.loads((ROOT / "benchmarks/results" / f"{MEASURED}_{name}.json").read_text(encoding="utf-8"))["methods"][
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
    file = ROOT / "benchmarks/results" / f"{MEASURED}_copied-examples.json"
    (papers,) = json.loads(file.read_text(encoding="utf-8"))["methods"].values()
    copies = [told(of["lift"]) for of in papers["attacks"]["families"] if of["name"].endswith("-example")]
    assert f"do not lift it either: {copies[0]} and {copies[1]}" in page
