from __future__ import annotations

import contextlib
import copy
import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from published import ROWS, content, small_card, write

from active_critic.errors import DataError
from active_critic.public_data import NAMES, PublicRecord
from active_critic.public_data.parsers import parse

FIELDS = ["id", "task", "doc_id", "system", "source", "response", "reference", "scores", "overall", "scale"]


def parsed(name: str, folder: Path, rows: list[dict[str, Any]] | None = None, **card: Any) -> list[PublicRecord]:
    changed = small_card(name, **card)
    return parse(changed, write(changed, folder, rows))


@pytest.mark.parametrize("name", NAMES)
def test_every_set_comes_in_the_uniform_form(name, tmp_path) -> None:
    records = parsed(name, tmp_path)
    card = small_card(name)
    assert len({record["id"] for record in records}) == len(records) == card.outputs
    for record in records:
        assert list(record) == FIELDS
        assert record["task"] == card.task
        assert record["scale"] == list(card.scale)
        assert set(record["scores"]) == set(card.aspects)
        assert card.scale[0] <= record["overall"] <= card.scale[1]
        assert record["source"] == record["source"].strip() != ""


def test_summeval_has_the_mean_of_its_aspects_as_overall(tmp_path) -> None:
    first, second, third, *_ = parsed("summeval", tmp_path)
    assert first["id"] == "summeval-dm-test-aa-M0"
    assert (first["doc_id"], first["system"], first["reference"]) == ("dm-test-aa", "M0", "No agreement in aa .")
    assert first["scores"] == {"coherence": 4.333333, "consistency": 5.0, "fluency": 5.0, "relevance": 3.0}
    assert [record["overall"] for record in (first, second, third)] == [4.333333, 4.25, 4.583333]
    assert first["response"] == second["response"], "repeated texts are kept"


def test_topical_chat_joins_history_and_fact_and_takes_the_human_overall(tmp_path) -> None:
    records = parsed("topical_chat", tmp_path)
    assert [record["id"] for record in records] == [
        "topical_chat-tc-00-human_original",
        "topical_chat-tc-00-nucleus_0.3",
        "topical_chat-tc-01-human_original",
        "topical_chat-tc-01-nucleus_0.3",
    ]
    assert records[0]["source"] == (
        "Dialogue history:\ndo you like jazz ?\nnot much , you ?\n\nKnowledge fact:\njazz is old ."
    )
    assert records[2]["source"].endswith("Knowledge fact:\n(no fact given)")
    assert records[0]["response"] == "i do ."
    assert records[0]["reference"] is None
    assert records[0]["overall"] == 4.666667
    assert "overall" not in records[0]["scores"]
    assert records[1]["system"] == "Nucleus Decoding (p = 0.3)"


def test_data_to_text_groups_meanings_and_names_systems_by_the_order_of_rows(tmp_path) -> None:
    records = parsed("sfres", tmp_path)
    assert [record["system"] for record in records] == ["LOLS", "LOLS", "WEN", "WEN", "WEN"]
    assert [record["id"] for record in records][::4] == ["sfres-0000", "sfres-0004"]
    assert records[0]["doc_id"] == records[2]["doc_id"] != records[1]["doc_id"]
    assert records[0]["scores"] == {"informativeness": 4.5, "naturalness": 6.0}
    assert [record["overall"] for record in records] == [5.5, 1.0, 6.0, 4.0, 3.5]
    assert records[3]["response"] == records[4]["response"], "an output that was rated twice stays twice"
    assert parsed("sfhot", tmp_path)[0]["doc_id"].startswith("sfhot-")


def test_bagel_is_what_the_file_has_of_it_beside_other_sets(tmp_path) -> None:
    records = parsed("bagel", tmp_path)
    assert [record["id"] for record in records] == ["bagel-0000", "bagel-0001", "bagel-0002", "bagel-0003"]
    assert [record["system"] for record in records] == ["Dusek", "Dusek", "LOLS", "LOLS"]
    assert records[0]["doc_id"] == records[2]["doc_id"] != records[1]["doc_id"] == records[3]["doc_id"]
    assert (records[0]["source"], records[0]["response"]) == ("inform(name='X',food=pie)", "x has pie.")
    assert records[0]["scores"] == {"informativeness": 4.5, "naturalness": 6.0}
    assert [record["overall"] for record in records] == [5.5, 1.0, 6.0, 4.0]


def test_openmeva_has_its_only_score_as_overall_and_keeps_masked_names(tmp_path) -> None:
    first, second, third, _ = parsed("openmeva_roc", tmp_path)
    assert (first["id"], first["doc_id"], first["system"]) == ("openmeva_roc-roc-125-fusion", "roc-125", "fusion")
    assert (first["scores"], first["overall"], second["overall"]) == ({"overall": 1.4}, 1.4, 4.0)
    assert first["response"] == "[MALE] and [FEMALE] ate it ."
    assert third["doc_id"] == "roc-7"


def test_qags_keeps_what_was_decoded_wrongly_and_has_no_reference(tmp_path) -> None:
    first, second, third = parsed("qags_xsum", tmp_path)
    assert first["source"] == "It cost â£5 and was sold ."
    assert first["reference"] is None
    assert first["system"] is None
    assert first["id"] == first["doc_id"] == "qags_xsum-000"
    assert [record["overall"] for record in (first, second, third)] == [1.0, 0.0, 0.666667]


def test_hanna_has_means_over_raters_and_the_human_story_as_reference(tmp_path) -> None:
    records = parsed("hanna", tmp_path)
    assert [record["id"] for record in records] == [
        "hanna-00-human",
        "hanna-01-human",
        "hanna-00-gpt_2_tag",
        "hanna-01-gpt_2_tag",
        "hanna-00-td_vae",
        "hanna-01-td_vae",
    ]
    assert records[0]["reference"] is None
    assert records[2]["reference"] == records[0]["response"] == "A dragon, they said, “spoke”.\nThen it left."
    assert records[2]["scores"]["relevance"] == 1.666667
    assert records[2]["scores"]["complexity"] == 1.0
    assert records[2]["overall"] == round((5 * 5 / 3 + 1) / 6, 6)


def test_hanna_does_not_depend_on_the_order_of_rows(tmp_path) -> None:
    assert parsed("hanna", tmp_path, ROWS["hanna"]()[::-1]) == parsed("hanna", tmp_path)


def test_newsroom_is_decoded_and_averaged_over_raters_that_stand_apart(tmp_path) -> None:
    records = parsed("newsroom", tmp_path)
    assert [record["id"] for record in records][:2] == ["newsroom-11-lede3", "newsroom-11-pointer_c"]
    assert records[0]["source"] == "Fish & chips cost £11.\n\nPeople paid."
    assert records[0]["response"] == 'lede3 says "chips".'
    assert records[0]["scores"] == {"coherence": 4.0, "fluency": 5.0, "informativeness": 1.0, "relevance": 2.0}
    assert records[0]["overall"] == 3.0


# ---- files that are not what they should be


def broken(name: str, row: int, *path: str, value: Any = None, drop: bool = False) -> list[dict[str, Any]]:
    """The small file's rows with one field changed or removed."""
    rows = copy.deepcopy(ROWS[name]())
    inside = rows[row - 1]
    for part in path[:-1]:
        inside = inside[part]
    if drop:
        del inside[path[-1]]
    else:
        inside[path[-1]] = value
    return rows


WRONG = [
    ("summeval", ("scores", "fluency"), 6, r"row 2, column 'scores\.fluency': the score 6 lies outside 1\.\.5"),
    ("summeval", ("scores", "fluency"), "high", "should be a score and is 'high'"),
    ("summeval", ("scores", "fluency"), True, "should be a score and is 'True'"),
    ("summeval", ("scores", "fluency"), float("nan"), "the score nan lies outside"),
    ("summeval", ("scores", "fluency"), None, "should be a score and is 'None'"),
    ("summeval", ("scores",), [1, 2], "row 2, column 'scores': should have named fields"),
    ("summeval", ("system_output",), " ", "row 2, column 'system_output': should be a text and is ' '"),
    ("summeval", ("doc_id",), 3, "column 'doc_id': should be a text"),
    ("topical_chat", ("system_id",), "Beam", "'Beam' is none of the systems 'Original Ground Truth'"),
    ("topical_chat", ("scores", "groundedness"), 2, r"'scores\.groundedness': the score 2 lies outside 0\.\.1"),
    ("sfhot", ("scores", "overall"), 0.5, r"'scores\.overall': the score 0\.5 lies outside 1\.\.6"),
    ("bagel", ("quality",), "7", "row 2, column 'quality': the score 7 lies outside 1..6"),
    ("openmeva_roc", ("gen", "gpt", "score", "human"), -1, r"column 'gen\.gpt\.score\.human': the score -1"),
    ("openmeva_roc", ("gen",), {}, "row 2, column 'gen': holds no stories"),
    ("qags_cnn", ("doc_id",), "first", "column 'doc_id': should be a whole number and is 'first'"),
    ("hanna", ("Empathy",), "", "row 2, column 'Empathy': should be a score and is ''"),
    ("hanna", ("Story",), "Another.", "column 'Story': differs from that of row 1, the same output"),
    ("hanna", ("Story ID",), "x", "row 3: Story ID 0 has 2 ratings, not 3"),
    ("newsroom", ("FluencyRating",), "7", "column 'FluencyRating': the score 7 lies outside 1..5"),
]


@pytest.mark.parametrize(("name", "path", "value", "message"), WRONG)
def test_a_wrong_value_is_named_with_file_row_and_field(name, path, value, message, tmp_path) -> None:
    with pytest.raises(DataError, match=message) as caught:
        parsed(name, tmp_path, broken(name, 2, *path, value=value))
    assert str(caught.value).startswith(str(tmp_path / small_card(name).file.name))
    assert "fetch it anew" in str(caught.value)


@pytest.mark.parametrize("name", NAMES)
def test_another_file_is_refused_by_its_fields(name, tmp_path) -> None:
    rows = [{"title": "x", "stars": 3} for _ in range(5)]
    with pytest.raises(DataError, match=r"row 1, column '\w[\w ]+': is missing \(there are: 'title', 'stars'\)"):
        parsed(name, tmp_path, rows)


@pytest.mark.parametrize("name", NAMES)
def test_a_column_that_is_gone_is_named(name, tmp_path) -> None:
    columns = {column.partition(".")[0] for column in small_card(name).file.columns}
    for column in columns:
        rows = ROWS[name]()
        for row in rows:
            del row[column]
        with pytest.raises(DataError, match=f"column '{column}': is missing"):
            parsed(name, tmp_path, rows)


@pytest.mark.parametrize("name", NAMES)
def test_a_file_that_is_cut_short_is_refused(name, tmp_path) -> None:
    card = small_card(name)
    path = write(card, tmp_path)
    path.write_bytes(content(card)[:-40])
    with pytest.raises(DataError, match=card.file.name) as caught:
        parse(card, path)
    assert card.file.url in caught.value.__notes__[0]
    path.write_bytes(content(card)[:0])
    with pytest.raises(DataError, match=card.file.name):
        parse(card, path)


@given(name=st.sampled_from(NAMES), part=st.floats(0, 1, exclude_max=True))
def test_any_part_of_a_file_is_refused_or_holds_everything(name, part) -> None:
    card = small_card(name)
    whole = content(card)
    with tempfile.TemporaryDirectory() as folder:
        path = write(card, Path(folder))
        everything = parse(card, path)
        path.write_bytes(whole[: int(part * len(whole))])
        with contextlib.suppress(DataError):
            assert parse(card, path) == everything


@given(name=st.sampled_from(NAMES), place=st.floats(0, 1, exclude_max=True), byte=st.integers(0, 255))
def test_a_changed_byte_is_refused_or_leaves_as_many_records(name, place, byte) -> None:
    card = small_card(name)
    changed = bytearray(content(card))
    changed[int(place * len(changed))] = byte
    with tempfile.TemporaryDirectory() as folder:
        path = write(card, Path(folder))
        path.write_bytes(changed)
        with contextlib.suppress(DataError):
            assert len(parse(card, path)) == card.outputs


@pytest.mark.parametrize(
    ("size", "message"),
    [
        ({"outputs": 7}, "holds 6 outputs, and the complete set has 7"),
        ({"documents": 3}, "holds 2 documents, and the complete set has 3"),
        ({"systems": 16}, "holds 3 systems, and the complete set has 16"),
    ],
)
def test_an_incomplete_set_is_refused(size, message, tmp_path) -> None:
    with pytest.raises(DataError, match=message):
        parsed("summeval", tmp_path, **size)


def test_a_document_count_that_is_not_known_is_not_checked(tmp_path) -> None:
    assert len(parsed("sfhot", tmp_path, documents=None)) == 5


def test_one_output_twice_is_refused(tmp_path) -> None:
    rows = ROWS["summeval"]()
    with pytest.raises(DataError, match="two records have the id 'summeval-dm-test-aa-M0'"):
        parsed("summeval", tmp_path, [*rows, rows[0]])


def test_a_rating_too_few_is_refused(tmp_path) -> None:
    with pytest.raises(DataError, match="ArticleID 12 System pointer_c has 2 ratings, not 3"):
        parsed("newsroom", tmp_path, ROWS["newsroom"]()[:-1])


def test_a_pickle_is_never_loaded(tmp_path) -> None:
    import pickle

    class Trap:
        def __reduce__(self) -> tuple[Any, ...]:
            return Path.touch, (tmp_path / "sprung",)

    card = small_card("sfres")
    path = tmp_path / card.file.name
    path.write_bytes(pickle.dumps(Trap()))
    with pytest.raises(DataError, match=r"UTF-8|broken JSON"):
        parse(card, path)
    assert not (tmp_path / "sprung").exists()


def test_bytes_that_are_no_text_are_named(tmp_path) -> None:
    card = small_card("hanna")
    path = tmp_path / card.file.name
    path.write_bytes(content(card).replace("“".encode(), b"\x93", 1))
    with pytest.raises(DataError, match=r"row 1, column 'Human': byte 0x93"):
        parse(card, path)


def test_fields_that_the_card_does_not_name_do_not_matter(tmp_path) -> None:
    rows = json.loads(content(small_card("qags_cnn")))
    for row in rows:
        row["extra"] = [1, {"a": None}]
    assert parsed("qags_cnn", tmp_path, rows) == parsed("qags_cnn", tmp_path)
