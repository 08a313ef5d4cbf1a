"""The data that ships: its card's promises hold for the file."""

import json
import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

DATASETS = Path(__file__).parents[1] / "datasets"
FIELDS = {"id", "doc_id", "system", "source", "response", "score", "scores", "deductions"}
ASPECTS = ("accuracy", "helpfulness", "tone", "clarity")


@pytest.fixture(scope="module")
def rows() -> list[dict]:
    text = (DATASETS / "quickstart.jsonl").read_text(encoding="ascii")
    return [json.loads(line) for line in text.splitlines()]


@pytest.fixture(scope="module")
def rubric() -> dict[str, tuple[float, str]]:
    """Deduction and aspect by code, read from the card: what people read is what is checked."""
    card = (DATASETS / "quickstart.md").read_text(encoding="utf-8")
    found = re.findall(r"^\| `(\w+)` \| [^|]+ \| ([\d.]+) \| (\w+) \|$", card, flags=re.MULTILINE)
    return {code: (float(points), aspect) for code, points, aspect in found}


def words(text: str) -> list[str]:
    return re.findall(r"[a-z0-9']+", text.lower())


def test_every_row_has_the_fields_of_the_card(rows):
    assert len(rows) == 72
    for row in rows:
        assert set(row) == FIELDS, row["id"]
        assert row["id"] == f"{row['doc_id']}-{row['system']}"
        assert row["source"] == row["source"].strip()
        assert row["response"] == row["response"].strip()
    assert len({row["id"] for row in rows}) == 72


def test_twelve_documents_of_three_kinds_with_six_systems_each(rows):
    assert Counter(row["doc_id"] for row in rows) == {
        f"{kind}-{number}": 6 for kind in ("shop", "library", "repair") for number in range(1, 5)
    }
    for document in {row["doc_id"] for row in rows}:
        own = [row for row in rows if row["doc_id"] == document]
        assert [row["system"] for row in own] == list("abcdef")
        assert len({row["source"] for row in own}) == 1
    assert len({row["source"] for row in rows}) == 12


def test_no_response_occurs_twice(rows):
    assert len({tuple(words(row["response"])) for row in rows}) == 72


def test_texts_have_the_lengths_of_the_card(rows):
    sources = [len(row["source"].split()) for row in rows]
    responses = [len(row["response"].split()) for row in rows]
    assert (min(sources), max(sources)) == (49, 59)
    assert (min(responses), max(responses)) == (15, 45)


def test_sources_hold_a_message_and_facts(rows):
    for row in rows:
        assert re.fullmatch(r"Customer \([A-Z][A-Za-z ]+\): .+ Facts: .+; .+\.", row["source"]), row["id"]


def test_scores_are_half_points_and_use_the_whole_scale(rows):
    scores = [row["score"] for row in rows]
    assert all(1 <= score <= 5 and score * 2 == int(score * 2) for score in scores)
    bands = Counter(int(score) for score in scores)
    assert bands == {1: 12, 2: 16, 3: 16, 4: 16, 5: 12}


def test_the_card_states_a_deduction_for_every_code_in_use(rows, rubric):
    assert len(rubric) == 11
    assert {code for row in rows for code in row["deductions"]} == set(rubric)
    assert {aspect for _, aspect in rubric.values()} == set(ASPECTS)


def test_scores_follow_from_the_stated_deductions(rows, rubric):
    for row in rows:
        codes = row["deductions"]
        assert len(codes) == len(set(codes)), row["id"]
        assert row["score"] == max(1, 5 - sum(rubric[code][0] for code in codes)), row["id"]
        for aspect in ASPECTS:
            lost = sum(points for points, of in (rubric[code] for code in codes) if of == aspect)
            assert row["scores"][aspect] == max(1, 5 - 2 * lost), (row["id"], aspect)
        assert set(row["scores"]) == set(ASPECTS)


def test_codes_that_exclude_each_other_are_not_given_together(rows):
    for row in rows:
        codes = set(row["deductions"])
        assert not ("no_answer" in codes and codes & {"omits_fact", "no_next_step"}), row["id"]
        assert not {"rude", "cold"} <= codes, row["id"]


def test_surface_features_do_not_give_the_score_away(rows):
    scores = [row["score"] for row in rows]
    replies = [words(row["response"]) for row in rows]
    known = [set(words(row["source"])) for row in rows]
    features = {
        "length": [len(row["response"].split()) for row in rows],
        "overlap": [np.mean([word in source for word in reply]) for reply, source in zip(replies, known, strict=True)],
        "repetition": [1 - len(set(reply)) / len(reply) for reply in replies],
    }
    found = {name: float(np.corrcoef(values, scores)[0, 1]) for name, values in features.items()}
    assert all(abs(value) < 0.25 for value in found.values()), found
    assert {name: round(value, 2) for name, value in found.items()} == {
        "length": 0.02,
        "overlap": -0.10,
        "repetition": -0.17,
    }, "the card quotes these"


def test_aspects_tell_different_things(rows):
    table = np.array([[row["scores"][aspect] for aspect in ASPECTS] for row in rows])
    between = np.corrcoef(table.T)[np.triu_indices(4, 1)]
    assert np.abs(between).max() < 0.5


def test_every_system_is_good_somewhere_and_bad_somewhere(rows):
    for system in "abcdef":
        scores = [row["score"] for row in rows if row["system"] == system]
        assert sum(score >= 4.5 for score in scores) >= 2, system
        assert sum(score <= 2 for score in scores) >= 2, system


def test_every_document_has_one_faultless_reply(rows):
    faultless = Counter(row["doc_id"] for row in rows if not row["deductions"])
    assert len(faultless) == 12
    assert set(faultless.values()) == {1}


def test_the_folder_is_data_and_says_what_is_in_it():
    readme = (DATASETS / "README.md").read_text(encoding="utf-8")
    assert not (DATASETS / "__init__.py").exists()
    for path in DATASETS.glob("[!.]*"):
        assert path.name == "README.md" or f"`{path.name}`" in readme, path.name
