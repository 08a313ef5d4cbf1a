"""Perturbations: by rule what is meant to change changes and nothing else; by model only a real change counts."""

from __future__ import annotations

import difflib
import gzip
import json
import re
import statistics
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from active_critic.errors import DataError, EndpointDown, ModelError
from active_critic.lm import Turn, scripted_lm
from active_critic.probes._demonstrations import ORIGINALS, TASKS
from active_critic.probes._sentences import Text, english
from active_critic.probes.perturbations import PERTURBATIONS, perturb

EXAMPLES = Path(__file__).parents[3] / "shared" / "datasets" / "perturbation_examples.jsonl"
RULES = [name for name, one in PERTURBATIONS.items() if one.by_rule]
PAPERS_RULES = ["sentence-exchange", "word-exchange", "spelling-mistake", "sentence-deletion"]
TEXT = (
    "Tom lost his phone at the beach on Monday. He thinks that his brother, who was there too, may have found it. "
    "Tom will ask him after dinner, and he wants a cheap new one if it is gone."
)


def by_rule(name: str, text: str = TEXT, seed: int = 0, source: str = "") -> str:
    made = perturb(text, source, name, seed=seed)
    assert made.text is not None, made.reason
    assert made.by == "rule"
    return made.text


def words(text: str) -> list[str]:
    return re.findall(r"\w+", text)


def test_what_is_by_rule_and_what_by_model() -> None:
    assert set(PERTURBATIONS) - set(RULES) == {"passive-voice", "inversion"}
    assert [name for name, one in PERTURBATIONS.items() if not one.by_model] == [
        "sentence-exchange",
        "word-exchange",
        "spelling-mistake",
        "sentence-deletion",
    ]
    assert set(TASKS) == {name for name, one in PERTURBATIONS.items() if one.by_model}


@pytest.mark.parametrize("name", RULES)
def test_every_rule_changes_the_text_the_same_way_each_time(name: str) -> None:
    assert by_rule(name) != TEXT
    assert by_rule(name) == by_rule(name)


@given(st.sampled_from(RULES), st.text(max_size=200), st.integers(0, 3))
def test_any_text_is_changed_or_refused_with_a_reason(name: str, text: str, seed: int) -> None:
    made = perturb(text, "", name, seed=seed)
    assert (made.text is None) != (made.reason is None)
    assert made.text != text
    assert made == perturb(text, "", name, seed=seed)


@pytest.mark.parametrize("text", ["", " \n", "Yes.", "OK", "!?", "1", "😀", "ok\ud800"])
@pytest.mark.parametrize("name", RULES)
def test_texts_of_one_word_or_none(name: str, text: str) -> None:
    made = perturb(text, "", name)
    assert made.text != text
    assert made.text is not None or made.reason


def test_seeds_differ() -> None:
    assert len({by_rule("spelling-mistake", seed=seed) for seed in range(5)}) > 1


@given(st.lists(st.sampled_from(["Ann ran.", "Is it so?", "We see 3.5 m.", "Été à Paris!"]), min_size=2, max_size=9))
def test_sentence_exchange_only_moves_sentences(sentences: list[str]) -> None:
    text = " ".join(sentences)
    made = perturb(text, "", "sentence-exchange").text
    if len(set(sentences)) < 2:
        assert made is None
    else:
        assert made is not None
        assert made != text
        assert Counter(made.split()) == Counter(text.split())


def test_words_are_exchanged_within_their_sentences() -> None:
    made = by_rule("word-exchange")
    assert Counter(words(made)) == Counter(words(TEXT))
    assert re.sub(r"\w+", "", made) == re.sub(r"\w+", "", TEXT)
    assert words(by_rule("word-exchange", "It costs 1,200 pounds."))  # a number is one word
    assert "1,200" in by_rule("word-exchange", "It costs 1,200 pounds.")


def test_spelling_mistakes_stay_within_words() -> None:
    for seed in range(20):
        pairs = list(zip(words(TEXT), words(by_rule("spelling-mistake", seed=seed)), strict=True))
        changed = [(old, new) for old, new in pairs if old != new]
        assert 3 <= len(changed) <= 7
        for old, new in changed:
            assert len(old) >= 4
            assert new[0] == old[0]
            assert abs(len(new) - len(old)) <= 1
    assert perturb("私は学生です。", "", "spelling-mistake").text is None
    assert by_rule("spelling-mistake", "Grüße") != "Grüße"


def test_the_last_sentence_goes() -> None:
    assert by_rule("sentence-deletion", "Dr. Who came. He left London that night.\n") == "Dr. Who came.\n"
    assert by_rule("sentence-deletion", "私は学生です。東京に住んでいます。") == "私は学生です。"
    assert perturb("Only one here", "", "sentence-deletion").reason == (
        "the text lacks what it takes: a sentence after the first that is not cut off and says something new"
    )


def test_content_rules_do_what_they_say() -> None:
    assert by_rule("negation", "They don't know.") == "They do know."
    assert by_rule("negation", "She wants it.") == "She does not want it."
    assert by_rule("negation", "He cannot swim.") == "He can swim."
    assert by_rule("conflicting-fact", "Prices increased.") == "Prices decreased."
    assert by_rule("hypernym", "He has an uncle.") == "He has a relative."
    assert by_rule("abbreviation", "The council (of 12) left.") == "The council left."
    assert by_rule("continuation", "It is a cheap place").startswith("It is a cheap place. ")
    assert re.fullmatch(
        r"It has [2-9],200 seats\.|It has 1,\d\d\d seats\.", by_rule("different-entity", "It has 1,200 seats.")
    )
    assert by_rule("uncommon-phrase", "It is a strange place.") == "It is an outlandish place."


def test_what_is_left_out_ends_where_a_clause_does() -> None:
    for text, shorter in (
        ("He bought the house, which cost 1.5 million.", "He bought the house."),
        ("The town, which has 1,500 people, is small.", "The town is small."),
        ("Several forces, including U.S. troops and marines, left.", "Several forces left."),
        ("He wrote to them all, including Dr. Smith.", "He wrote to them all."),
        ("It is a big house, which helps; we stay.", "It is a big house; we stay."),
        ('She said "It is the house, which burnt."', 'She said "It is the house."'),
    ):
        assert by_rule("abbreviation", text) == shorter


def test_a_perfect_is_negated_as_one_or_not_at_all() -> None:
    for text, turned in (
        ("They had walked home.", "They had not walked home."),
        ("They have vanished.", "They have not vanished."),
        ("They had already walked home.", "They had not already walked home."),
        ("She has recently moved.", "She has not recently moved."),
        ("They had a house.", "They did not have a house."),
        ("They have problems.", "They do not have problems."),
    ):
        assert by_rule("negation", text) == turned
    for text in ("They had never walked home.", "They had already dug it."):
        assert perturb(text, "", "negation").text is None


def test_added_and_other_things_avoid_the_source() -> None:
    source = "Tuesday, Wednesday, Thursday, Friday and Saturday"
    assert by_rule("different-entity", "We met on Monday.", source=source) == "We met on Sunday."
    first = by_rule("continuation", "It is a cheap place.")
    assert by_rule("continuation", "It is a cheap place.", source=first) != first


@pytest.mark.parametrize(
    "name", ["repetition", "improper-connective", "complex-sentence", "complement", "continuation"]
)
def test_nothing_english_is_added_to_other_languages(name: str) -> None:
    assert perturb("Der Hund schläft heute lange. Niemand weckt ihn.", "", name).text is None


def test_names_keep_their_capitals() -> None:
    made = by_rule("improper-connective", "He came. Tom left. The end was near.")
    assert ", Tom left" in made
    assert ", the end" in made


@pytest.mark.parametrize(
    "text", ["because " * 2000, "a" + " " * 9000 + "b", "A b. C d. " * 500, "(" * 9000, "an " * 4000]
)
def test_long_and_odd_texts_cost_little(text: str) -> None:
    started = time.process_time()
    for name in RULES:
        perturb(text, "", name)
    assert time.process_time() - started < 10


def test_unknown_names_and_missing_rules_are_said() -> None:
    with pytest.raises(DataError, match="no perturbation 'typo'; all stand in `active-critic probe --help`"):
        perturb(TEXT, "", "typo")
    with pytest.raises(DataError, match="no rule for the perturbation 'inversion'"):
        perturb(TEXT, "", "inversion")


# --- by a model ---------------------------------------------------------------------------------------------------


def saying(*answers: str) -> tuple[Any, list[list[Turn]]]:
    seen: list[list[Turn]] = []

    def answer(turns: list[Turn]) -> str:
        seen.append(turns)
        return answers[min(len(seen), len(answers)) - 1]

    return scripted_lm(answer), seen


def test_a_model_is_shown_how_and_answers_in_a_form() -> None:
    lm, seen = saying(json.dumps({"text": TEXT.replace("Monday", "Friday")}))
    made = perturb(TEXT, "the <source> text", "different-entity", lm=lm)
    assert made.text == TEXT.replace("Monday", "Friday")
    assert made.by == "model"
    [turns] = seen
    assert [role for role, _ in turns] == ["system", *["user", "assistant"] * 3, "user"]
    assert "the < source> text" in turns[-1][1]  # quoted
    for (_, told), original in zip(turns[1::2], ORIGINALS, strict=False):
        assert original in told


def test_the_source_is_kept_back_where_it_does_not_matter() -> None:
    lm, seen = saying(json.dumps({"text": "It was lost by Tom: " + TEXT}))
    perturb(TEXT, "SECRET SOURCE", "passive-voice", lm=lm)
    assert "SECRET" not in str(seen)


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ({"text": TEXT}, "gave the text back unchanged"),
        ({"text": TASKS["negation"].shown[0]}, "wrote another text"),
        ({"text": "Entirely other content of some length."}, "wrote another text"),
        ({"text": f"{TEXT} " * 2 + " and so on" * 40}, "wrote another text"),
        ({"text": ""}, "wrote another text"),
    ],
)
def test_what_is_no_perturbation_does_not_count(reply: dict[str, str], reason: str) -> None:
    made = perturb(TEXT, "", "negation", lm=saying(json.dumps(reply))[0])
    assert made.text is None
    assert made.reason is not None
    assert reason in made.reason


@pytest.mark.parametrize(
    ("text", "new", "other"),
    [
        ("彼は昨日学校に行った。", "彼は昨日学校に行かなかった。", "この店の料理はとても美味しい。"),
        ("市议会将在五月关闭游泳池。", "市议会不会在五月关闭游泳池。", "她喜欢每天早上喝咖啡。"),
        ("เขาไปโรงเรียนเมื่อวาน", "เขาไม่ได้ไปโรงเรียนเมื่อวาน", "ฝนตกหนักทั้งคืน"),
        ("Annaは東京のhotelに泊まった。", "Annaは東京のhotelに泊まらなかった。", "This is another text."),
    ],
)
def test_texts_without_spaces_are_compared_by_character(text: str, new: str, other: str) -> None:
    assert perturb(text, "", "negation", lm=saying(json.dumps({"text": new}))[0]).text == new
    refused = perturb(text, "", "negation", lm=saying(json.dumps({"text": other}))[0])
    assert refused.reason == "the model wrote another text"


def test_a_reply_that_cannot_be_read_is_asked_for_once_more() -> None:
    lm, seen = saying("I cannot.", json.dumps({"text": TEXT.replace("will", "will not")}))
    assert perturb(TEXT, "", "negation", lm=lm).text == TEXT.replace("will", "will not")
    assert len(seen) == 2
    lm, seen = saying("I cannot.")
    assert perturb(TEXT, "", "negation", lm=lm).reason == "the model did not do it: its reply could not be read"
    assert len(seen) == 2


def test_a_continuation_is_added_to_the_text() -> None:
    lm, _ = saying(json.dumps({"text": "She agreed at once."}))
    assert perturb("It is lost", "", "continuation", lm=lm).text == "It is lost. She agreed at once."
    lm, _ = saying(json.dumps({"text": "It is lost. She agreed at once."}))
    assert perturb("It is lost.", "", "continuation", lm=lm).text == "It is lost. She agreed at once."


def test_an_endpoint_that_is_down_is_not_a_reason() -> None:
    def down(_: list[Turn]) -> str:
        raise EndpointDown("nothing answers")

    with pytest.raises(EndpointDown):
        perturb(TEXT, "", "negation", lm=scripted_lm(down))


def test_the_papers_rules_need_no_model() -> None:
    lm, seen = saying("never asked")
    for name in PAPERS_RULES:
        assert perturb(TEXT, "", name, lm=lm).by == "rule"
    assert not seen


@pytest.mark.parametrize("name", TASKS)
def test_our_own_demonstrations_would_pass_the_checks(name: str) -> None:
    from active_critic.probes._by_model import _checked

    for original, shown in zip(ORIGINALS, TASKS[name].shown, strict=True):
        made, reason = _checked(original, shown.replace("Omar", "Igor") + " Now.", name)
        assert made is not None, reason
        assert shown != original


# --- the paper's examples -----------------------------------------------------------------------------------------

SIZES = {
    "repetition": ("fluency_repeat", 10, 0.03, 0.11),
    "improper-connective": ("coherence_conjuction", 10, 0.04, 0.05),
    "incorrect-verb-form": ("grammar_verb", 10, 0.08, 0.09),
    "uncommon-phrase": ("simple_word", 3, 0.02, 0.15),
    "complex-sentence": ("simple_structure", 7, 0.07, 0.19),
    "abbreviation": ("inform_abbr", 4, 0.17, 0.27),
    "hypernym": ("inform_hypernym", 4, 0.02, 0.13),
    "complement": ("hallucination_fact", 10, 0.11, 0.18),
    "continuation": ("hallucination_continue", 10, 0.10, 0.17),
    "different-entity": ("contradiction_entity", 10, 0.04, 0.10),
    "conflicting-fact": ("contradiction_meaning", 8, 0.04, 0.21),
    "negation": ("contradiction_negate", 10, 0.01, 0.03),
}
"""What docs/perturbations.md says: their name, texts that our rule fits, median change by our rule and in theirs."""


def size(old: str, new: str) -> float:
    return 1 - difflib.SequenceMatcher(None, old.split(), new.split(), autojunk=False).ratio()


@pytest.mark.skipif(not EXAMPLES.exists(), reason="the shared examples of the paper are not here")
def test_rules_change_as_much_as_the_page_says() -> None:
    rows = [json.loads(line) for line in EXAMPLES.read_text(encoding="utf-8").splitlines()]
    assert set(SIZES) == set(RULES) - set(PAPERS_RULES)
    for name, (theirs, fits, ours, paper) in SIZES.items():
        own = [row for row in rows if row["perturbation"] == theirs]
        made = [(row["original"], perturb(row["original"], "", name).text) for row in own]
        sizes = [size(old, new) for old, new in made if new is not None]
        assert (len(own), len(sizes)) == (10, fits), name
        assert round(statistics.median(sizes), 2) == ours, name
        assert round(statistics.median(size(row["original"], row["perturbed"]) for row in own), 2) == paper, name
    originals = sorted({row["original"] for row in rows})
    for name in PAPERS_RULES:
        done = [(old, new) for old in originals if (new := perturb(old, "", name).text) is not None]
        assert len(done) >= len(originals) / 2, name
        assert 0.005 < statistics.median(size(old, new) for old, new in done) < 0.7, name


@pytest.mark.skipif(not EXAMPLES.exists(), reason="the shared data sets are not here")
def test_hardly_an_english_output_is_refused_for_its_language() -> None:
    refused, texts = 0, 0
    for path in EXAMPLES.parent.glob("*.jsonl*"):
        if path == EXAMPLES:
            continue
        with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as lines:
            made = [english(Text.of(json.loads(line)["response"])) for line in lines]
        refused, texts = refused + made.count(False), texts + len(made)
    assert (refused, texts) == (7, 3165)  # what docs/perturbations.md says


@pytest.mark.skipif(not EXAMPLES.exists(), reason="the shared examples of the paper are not here")
def test_none_of_the_papers_sentences_is_ours() -> None:
    theirs = {s for line in EXAMPLES.read_text(encoding="utf-8").splitlines() for s in _parts(json.loads(line))}
    ours = " ".join([*ORIGINALS, *(t for task in TASKS.values() for t in (task.instruction, *task.shown))])
    assert not [part for part in theirs if len(part) > 30 and part in ours]


def _parts(row: dict[str, str]) -> list[str]:
    whole = " ".join(row[field] for field in ("original", "perturbed", "instruction"))
    return [part.strip() for part in re.split(r"[.,;\n]", whole)]


def test_a_slip_in_what_is_no_word_takes_no_longer_for_being_long() -> None:
    letters = "abcdefghij" * 8_000
    started = time.monotonic()
    changed = perturb(letters, "", "spelling-mistake").text
    assert time.monotonic() - started < 1
    assert changed is not None
    assert changed != letters
    assert abs(len(changed) - len(letters)) <= 1


@pytest.mark.parametrize("wrong", [None, 3, ["negation"]])
def test_what_is_no_name_of_a_perturbation_is_refused(wrong: Any) -> None:
    with pytest.raises(DataError, match="perturbations are named"):
        perturb("He is here.", "", wrong)


@pytest.mark.parametrize(("lm", "said"), [("openai/x", "not 'openai/x'"), (5, "not int"), (object(), "not object")])
def test_a_model_that_is_not_open_is_refused_with_the_way_to_open_one(lm: Any, said: str) -> None:
    for name in ("passive-voice", "word-exchange"):
        with pytest.raises(ModelError, match=f"{said}; write lm=active_critic.open_lm"):
            perturb("The cat sat on the mat.", "", name, lm=lm)


def test_what_is_no_text_is_not_perturbed() -> None:
    with pytest.raises(DataError, match="the text is a text, not NoneType"):
        perturb(None, "", "negation")  # type: ignore[arg-type]
    with pytest.raises(DataError, match="the source is a text, not int"):
        perturb("It is so.", 5, "negation")  # type: ignore[arg-type]
