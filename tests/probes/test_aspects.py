"""The tree, the expectations of the paper, and which aspect a criterion is taken for."""

from __future__ import annotations

import pytest

from active_critic.probes.aspects import ASPECTS, EFFECTS, OVERALL, ancestors, match_aspect
from active_critic.probes.perturbations import PERTURBATIONS


def test_eleven_aspects_in_one_tree() -> None:
    assert len(ASPECTS) == 11
    assert [name for name, aspect in ASPECTS.items() if aspect.parent is None] == [OVERALL]
    for name in ASPECTS:
        assert list(ancestors(name))[-1] == OVERALL
    assert list(ancestors("grammaticality")) == ["grammaticality", "fluency", "readability", OVERALL]
    assert len({aspect.definition for aspect in ASPECTS.values()}) == 11


def test_every_perturbation_parts_the_aspects_in_three() -> None:
    assert list(EFFECTS) == list(PERTURBATIONS)
    assert len(EFFECTS) == 18
    for name, effect in EFFECTS.items():
        parts = (effect.falls, effect.still, effect.disputed)
        assert frozenset().union(*parts) == frozenset(ASPECTS), name
        assert sum(map(len, parts)) == 11, name
        assert effect.still, name


# Table 21 of the paper, read off the page: what both marks agree on.
@pytest.mark.parametrize(
    ("name", "falls", "disputed"),
    [
        ("repetition", set(), {"fluency", "readability", OVERALL}),
        ("passive-voice", {"fluency", "readability"}, {OVERALL}),
        ("inversion", {"fluency", "readability", OVERALL}, set()),
        ("sentence-exchange", {"coherence", "readability", OVERALL}, set()),
        ("word-exchange", {"grammaticality", "fluency", "readability", OVERALL}, set()),
        ("spelling-mistake", {"grammaticality", "fluency", OVERALL}, {"readability"}),
        ("uncommon-phrase", {"simplicity", "readability"}, {OVERALL}),
        ("complex-sentence", {"simplicity"}, {"readability", OVERALL}),
        ("sentence-deletion", {"informativeness", "adequacy", OVERALL}, set()),
        ("continuation", {"non-hallucination", "faithfulness", "adequacy", OVERALL}, set()),
        (
            "negation",
            {"non-contradiction", "faithfulness", "informativeness", "adequacy", OVERALL},
            {"non-hallucination"},
        ),
    ],
)
def test_expectations_are_the_papers(name: str, falls: set[str], disputed: set[str]) -> None:
    assert EFFECTS[name].falls == falls
    assert EFFECTS[name].disputed == disputed


@pytest.mark.parametrize(
    ("name", "definition", "aspect"),
    [
        ("Fluency", "", "fluency"),
        ("coherence", "", "coherence"),
        ("Grammatical correctness", "", "grammaticality"),
        ("Factual accuracy", "", "faithfulness"),
        ("Consistency", "", "faithfulness"),
        ("Relevance", "", "adequacy"),
        ("Completeness", "", "informativeness"),
        ("Non-contradiction", "", "non-contradiction"),
        ("Hallucination", "", "non-hallucination"),
        ("Clarity", "", "readability"),
        ("Style", "Sentences are grammatically correct.", "grammaticality"),
        ("Trust", "The response invents nothing.", "non-hallucination"),
        ("Tone", "The response is friendly and calm.", None),
        ("Mixed", "It is fluent and informative.", None),
        ("Correct grammar", "", "grammaticality"),
        ("Correct spelling", "", "grammaticality"),
        ("Accurate grammar", "", "grammaticality"),
        ("Correct use of grammar", "", "grammaticality"),
        ("Correctness of spelling", "", "grammaticality"),
        ("Consistent tone", "", None),
        ("Tone consistency", "", None),
        ("Language", "The grammar is correct.", "grammaticality"),
        ("Correctness", "", "faithfulness"),
        ("Accuracy and tone", "", "faithfulness"),
        ("Factual accuracy and grammar", "", "faithfulness"),
        ("Conflict", "", None),
        ("Plot and conflict", "", None),
        ("No conflict with the source", "", "non-contradiction"),
        ("Trust", "Nothing in it conflicts with the context.", "non-contradiction"),
        ("Inventiveness", "", None),
        ("Creativity", "The story is inventive.", None),
        ("Invented content", "", "non-hallucination"),
    ],
)
def test_a_criterion_is_taken_for_what_its_words_say(name: str, definition: str, aspect: str | None) -> None:
    found = match_aspect(name, definition)
    assert found.aspect == aspect, found
    assert found.why


def test_the_name_goes_before_the_definition() -> None:
    assert match_aspect("Fluency", "Grammar, grammar, grammar, and spelling.").aspect == "fluency"
