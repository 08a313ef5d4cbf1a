"""What a rule makes has the fault that it is named for, and no other; where it would not, the text is refused."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import unicodedata

import pytest

from active_critic.probes.perturbations import PERTURBATIONS, perturb

SEEDS = range(12)
RULES = [name for name, one in PERTURBATIONS.items() if one.by_rule]


def outcomes(name: str, text: str, source: str = "") -> set[str | None]:
    """What comes of a text under several seeds; None where it is refused."""
    return {perturb(text, source, name, seed=seed).text for seed in SEEDS}


@pytest.mark.parametrize(
    ("text", "turned"),
    [
        ("i do n't know .", "i do know ."),
        ("we ca n't stay .", "we can stay ."),
        ("She wo n't sing .", "She will sing ."),
        ("He has n't paid .", "He has paid ."),
        ("Don't open the box.", "Do open the box."),
        ("We did not see any shops.", "We did see some shops."),
        ("i 've heard that song .", "i 've not heard that song ."),
        ("i do like tea .", "i do not like tea ."),
        ("They are some friends.", "They are not any friends."),
        ("The porters carried the trunk.", "The porters did not carry the trunk."),
        ("The price has risen.", "The price has not risen."),
    ],
)
def test_a_statement_is_turned_into_english(text: str, turned: str) -> None:
    assert outcomes("negation", text) == {turned}


@pytest.mark.parametrize(
    "text",
    [
        "There are no rooms left.",  # "are not no"
        "He never ate there.",  # "never did not"
        "He no longer walks.",
        "If it is late, we stay.",
        "did you know the way",  # a question without its mark
        "I asked whether he was here.",
        "He is only tired.",
        "A film called the Ring.",
        "See how tall they are.",
        "It is not only cheap but good.",
        "we do too .",
        "The memories of our past lives.",
        "Those soft drinks.",
    ],
)
def test_what_cannot_be_turned_is_refused(text: str) -> None:
    assert outcomes("negation", text) == {None}


@pytest.mark.parametrize(
    "text",
    [
        "The team are proud.",
        "If it were so.",
        "None of them are new.",
        "There was a lot of snow.",
        "It needs long thought.",
        "Arsenal have lost heart.",
        "The film released in May is good.",
        "All the armed forces left.",
    ],
)
def test_a_form_that_may_be_right_too_is_no_wrong_one(text: str) -> None:
    for made in outcomes("incorrect-verb-form", text) - {None}:
        wrong = r"team is|it was so|them is|There were|thinking|Arsenal has|release\b|releasing|force\b"
        assert not re.search(wrong, str(made))


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("The man fatally shot there.", None),
        ("He fatally shot him.", "He fatally shooting him."),
        ("The doctor told me.", "The doctor tell me."),
        ("The soldiers recently killed there.", None),
    ],
)
def test_a_past_tense_that_may_be_a_participle_gets_no_other_meaning(text: str, made: str | None) -> None:
    assert outcomes("incorrect-verb-form", text) == {made}


def test_adverbs_between_be_and_a_participle_are_passed_over() -> None:
    for text in ("He was fatally shot there.", "Two men were also killed.", "It has n't ever been taken ."):
        for made in outcomes("incorrect-verb-form", text):
            assert made is not None
            assert not re.search(r"shooting|killing|taking", made)
            assert re.search(r"shoot\b|kill\b|take\b", made)


def test_verbs_beside_surely_plural_or_single_subjects_are_changed() -> None:
    assert outcomes("incorrect-verb-form", "They were late.") == {"They was late."}
    assert outcomes("incorrect-verb-form", "The dogs are here.") == {"The dogs is here."}
    assert outcomes("incorrect-verb-form", "He isn’t here.") == {"He aren’t here."}


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("They open the door .", None),
        ("The shop is open.", "The shop is closed."),
        ("He will open the shop.", "He will close the shop."),
        ("She began running.", "She stopped running."),
        ("They found a dead bird.", "They found a living bird."),
        ("He sold more cars.", {"He bought fewer cars.", "He sold fewer cars.", "He bought more cars."}),
        ("She is likely to win .", "She is unlikely to win ."),  # "unlikely to lose" would be the same
        ("The bus was filled with snow.", None),
        ("It came with a key.", "It came without a key."),
        ("She was named after him.", None),
        ("He fell asleep.", None),
        ("They died in the cold.", None),
        ("He is in high school.", None),
        ("He was banned from it.", None),
        ("I hope this finds you.", None),
        ("The task is more difficult.", "The task is less difficult."),  # "less easy" would be the same
        ("It is not less happy.", "It is not more happy."),
        ("More people supported the plan.", "Fewer people supported the plan."),
    ],
)
def test_opposites_stand_only_where_they_contradict(text: str, made: str | set[str] | None) -> None:
    got = outcomes("conflicting-fact", text)
    assert got <= made if isinstance(made, set) else got == {made}


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("It is ready for dinner.", "It is ready for a meal."),
        ("He enjoyed the dinner.", "He enjoyed the meal."),
        ("She did not match his pace.", None),
        ("They do not allow dogs.", None),  # no animals at all would be another claim
        ("He went to school.", None),
        ("We met at marlow bridge.", None),
        ("Her phone number is new.", None),
        ("She likes football or tennis.", None),  # "sport or sport"
        ("Her parents came.", "Her relatives came."),
        ("He parked the car outside.", "He parked the vehicle outside."),
        ("The team photo was taken.", None),
        ("He is from the mother country.", None),
        ("The football club won.", None),
        ("The man walked home.", "The person walked home."),
        ("The letter addressed to her is here.", "The message addressed to her is here."),
    ],
)
def test_what_is_wider_still_reads(text: str, made: str | None) -> None:
    assert outcomes("hypernym", text) == {made}


def test_another_entity_is_another_all_through_the_text() -> None:
    for made in outcomes("different-entity", "Anna left. The others missed Anna."):
        assert made is not None
        first, last = re.findall(r"[A-Z]\w+(?= left)|\w+(?=\.$)", made)
        assert first == last != "Anna"


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("Some 45 per cent came.", r"Some ([1-9]?\d|100) per cent came\."),
        ("They met on July 31.", r"They met on (July ([1-9]|1\d|2[0-8])|[A-Z]\w+ 31)\."),
        ("It opens at 7 pm.", r"It opens at [1-9] pm\."),
        ("Her mother sings.", r"Her (aunt|grandmother) sings\."),
    ],
)
def test_other_entities_can_be(text: str, right: str) -> None:
    made = outcomes("different-entity", text)
    assert all(one is not None and re.fullmatch(right, one) and one != text for one in made), made


@pytest.mark.parametrize(
    "text",
    ["They drew 2 - 2 there.", "Her phone number is long.", "The manchester united team.", "He will train hard."],
)
def test_parts_of_something_else_are_no_entities(text: str) -> None:
    assert outcomes("different-entity", text) == {None}


def test_no_other_entity_is_one_that_is_known() -> None:
    text, source = "It serves lunch.", "breakfast and dinner"
    assert outcomes("different-entity", text, source) == {None}


@pytest.mark.parametrize(
    ("text", "shorter"),
    [
        ("He bought it , which was dear , and left .", "He bought it and left ."),
        ('"He came home, because he was asked."', '"He came home."'),
        ("Call `open()` and (if needed) wait.", "Call `open()` and wait."),
    ],
)
def test_what_is_left_out_leaves_no_trace(text: str, shorter: str) -> None:
    assert outcomes("abbreviation", text) == {shorter}


@pytest.mark.parametrize(
    "text",
    [
        "They play against italy in may.",
        "He reportedly stole it.",  # without it, more is claimed
        "She is glad that it is because of him.",
        "It was two days before the war.",
        "He did not leave because he was ill.",
        "My big brother and I went home.",
        "It is odd, but I fear” she said",  # the quotation would never end
        "i think it 's because of the new one .",
        "I think it's because of the new one.",
    ],
)
def test_what_cannot_be_spared_stays(text: str) -> None:
    assert outcomes("abbreviation", text) == {None}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("repetition", "A film called the Ring."),
        ("uncommon-phrase", "He took a while."),
        ("uncommon-phrase", "They changed their lives."),
        ("uncommon-phrase", "New year , good morning ."),
        ("complex-sentence", "No, he left."),
        ("complex-sentence", "A nice place."),
    ],
)
def test_words_that_mean_something_else_there_are_left(name: str, text: str) -> None:
    for made in outcomes(name, text) - {None}:
        assert "To repeat" in str(made)


def test_slips_of_the_pen_are_no_other_words() -> None:
    made = {
        str(one) for word in ("form", "starts", "player", "good") for one in outcomes("spelling-mistake", f"My {word}")
    }
    assert not made & {"My from", "My start", "My payer", "My god"}
    assert len(made) > 20


def test_words_that_can_stand_anywhere_are_not_exchanged() -> None:
    assert outcomes("word-exchange", "never ran") == outcomes("word-exchange", "slowly ran") == {None}
    assert outcomes("word-exchange", "the reply") == {"reply the"}


def test_the_last_sentence_is_one_that_is_missed() -> None:
    said = "It is bad food. Tom left the hotel early. It is bad food!"
    assert outcomes("sentence-deletion", said) == {"It is bad food. It is bad food!"}
    assert outcomes("sentence-deletion", "It is bad. He left. It is bad!") == {None}


def test_a_deleted_sentence_is_whole_and_says_something() -> None:
    whole, last = "Tom came home late.", "His brother cooked dinner for them."
    for end in ("And then the old", "<new", "Thanks!"):
        assert outcomes("sentence-deletion", f"{whole} {last} {end}") == {f"{whole} {end}"}
        assert outcomes("sentence-deletion", f"{whole} {end}") == {None}
    unmarked = f"{whole}\n{last}"[:-1].replace(".\n", "\n")
    assert outcomes("sentence-deletion", unmarked) == {"Tom came home late"}  # nothing there has a mark at its end


def test_abbreviations_in_small_letters_end_no_sentence() -> None:
    assert outcomes("sentence-exchange", "The court heard jones v. smith today") == {None}
    assert outcomes("sentence-deletion", "He came. The u.s. troops left London.") == {"He came."}


def test_a_sentence_that_is_cut_off_stays_at_the_end() -> None:
    assert all(str(one).endswith("And then") for one in outcomes("sentence-exchange", "He came. She left. And then"))


QUOTED = 'She said, "He is out. He will be back." Then she left.'


@pytest.mark.parametrize("name", ["sentence-exchange", "sentence-deletion", "improper-connective", "complement"])
def test_quotations_are_not_torn(name: str) -> None:
    for made in outcomes(name, QUOTED) - {None}:
        assert '"He is out. He will be back."' in str(made)


KEPT = [
    "https://new.example.com/good?dog=3",
    "john@dog.com",
    "`my_dog.open()`",
    "```\nif dog:\n    good()\n```",
    "👩🏽‍🦱",
]


@pytest.mark.parametrize("name", RULES)
def test_addresses_code_and_emoji_stay_whole(name: str) -> None:
    text = (
        f"The dog was good at {KEPT[0]} on Monday, because he was fast. Then she wrote to {KEPT[1]} in a small house. "
        f"He likes {KEPT[2]} very much and has 3 cats {KEPT[4]} there.\n{KEPT[3]}\nThat is the cheap restaurant."
    )
    for made in outcomes(name, text) - {None}:
        spared = KEPT if name not in ("abbreviation", "sentence-deletion", "sentence-exchange") else [KEPT[2]]
        assert all(one in str(made) for one in spared)


@pytest.mark.parametrize("name", RULES)
def test_items_of_lists_keep_their_numbers(name: str) -> None:
    text = "1. First we open the door of the good house.\n2. Then he walks the dog.\n3. It is cheap food."
    for made in outcomes(name, text) - {None}:
        numbers = re.findall(r"(?m)^[0-9]\. ", str(made))
        assert sorted(numbers) == ["1. ", "2. ", "3. "][: 2 if name == "sentence-deletion" else 3]


def test_the_number_of_an_item_is_not_repeated_with_it() -> None:
    for item in ("1. Open the door with the key", "- Open the door with the key"):
        assert outcomes("repetition", f"{item}\n") == {f"{item}; to repeat: Open the door with the key\n"}


def test_headings_stay_where_they_are() -> None:
    text = "# The plan.\nHe came late. She left early.\n\nThe second part\nThey slept well. It was night."
    made = outcomes("sentence-exchange", text)
    assert len(made) > 3
    for one in made:
        lines = str(one).split("\n")
        assert (lines[0], lines[3]) == ("# The plan.", "The second part")


@pytest.mark.parametrize("text", ["The hotel is located near the lake.", "It is cheap."])
def test_words_in_common_use_are_no_uncommon_ones(text: str) -> None:
    assert outcomes("uncommon-phrase", text) == {None}


@pytest.mark.parametrize("name", RULES)
def test_letters_with_marks_are_not_parted(name: str) -> None:
    text = unicodedata.normalize("NFD", "The café is a good place. He has a dog there and 3 cats.")
    for made in outcomes(name, text) - {None}:
        assert re.findall("(?<=e)\u0301", str(made)) == ["\u0301"] or "café" not in unicodedata.normalize(
            "NFC", str(made)
        )
        assert "cafe\u0301" in str(made)


@pytest.mark.parametrize(
    "text",
    [
        "Der Mann war in einem Restaurant in Berlin. Also hat er fast 3 Stunden gewartet.",
        "Il est arrivé à Paris avec 2 amis. Le restaurant est grand.",
        "El hombre no es bueno. La casa tiene 3 perros.",
        "De man is in het huis. Hij heeft 3 honden.",
        "Он пришёл домой. У него 3 собаки.",
        "2018年に東京へ来ました。私は学生です。",
        "A kutya is ugat. A macska nem alszik.",  # "a" and "is" are Hungarian, too
        "Maten var god for pengene. Vi have det bra her.",
        "Remont trwał dwa lata. Nowy most otwarto w sobotę.",
        "In centru are loc un concert. A fost frumos.",
        "Hotel ini bagus dan staf ramah. Tamu makan food di hotel.",
        "Food excellente. Service rapide.",
        "Was will man mehr? Also in der Stadt war alles zu.",
        "Film The Wall był świetny. Reżyser pracował nad nim trzy lata.",  # a name is no sign of the language
    ],
)
def test_rules_for_english_leave_other_languages_alone(text: str) -> None:
    for name in RULES:
        if PERTURBATIONS[name].by_model:
            assert perturb(text, "", name).reason == (
                "the rule is for English, and too few of the text's words show that it is"
            )
    assert perturb(text, "", "sentence-exchange").text is not None


@pytest.mark.parametrize(
    "text",
    [
        "X is a restaurant .",
        "La mediterranee , is good for lunch or dinner .",
        "Chow 's address is 215 church street .",
        "a hacker has hijacked a large number of high-end printers .",
        "Beyoncé and her friends met at the café.",
        "i agree . i love bill murray .",
    ],
)
def test_short_and_tokenised_texts_are_known_for_english(text: str) -> None:
    assert any(made is not None for name in RULES if PERTURBATIONS[name].by_model for made in outcomes(name, text))
    assert perturb(text, "", "continuation").text is not None


def test_capitals_throughout_stay_so() -> None:
    for name in ("complex-sentence", "improper-connective"):
        assert all("HE HAS A DOG." in str(made) for made in outcomes(name, "IT IS HOT. HE HAS A DOG."))


def test_the_same_seed_makes_the_same_text_in_every_process_and_order() -> None:
    texts = [
        "Anna had 3 dogs in London. Her brother was happy, because he never walked home. The good doctor left early.",
        "The restaurant is cheap and near the park. He said that it closed on Monday. They like the food very much.",
    ]
    here = {(name, text): perturb(text, "Anna", name, seed=4).text for name in RULES for text in texts}
    code = (
        "import sys, json\nfrom active_critic.probes.perturbations import perturb\n"
        "names, texts = json.loads(sys.argv[1])\n"
        "print(json.dumps([[n, t, perturb(t, 'Anna', n, seed=4).text] for t in texts for n in names]))"
    )
    import json

    for hashseed in ("1", "77"):
        given = json.dumps([RULES[::-1], texts[::-1]])
        env = {**os.environ, "PYTHONHASHSEED": hashseed}
        ran = subprocess.run([sys.executable, "-c", code, given], capture_output=True, text=True, check=True, env=env)
        assert {(name, text): made for name, text, made in json.loads(ran.stdout)} == here
