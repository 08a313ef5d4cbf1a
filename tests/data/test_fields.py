"""Which column holds what: means of several, names inside of objects, conversations, and wrong requests."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from active_critic.cli._options import parse_fields
from active_critic.data import BadRow, RecordWriter, data_sha256, iter_examples, read_examples, unread_score
from active_critic.data.fields import resolve
from active_critic.errors import DataError
from active_critic.records import Example

MEAN = {"score": "rater_*"}


def rated(*rows: Any, **more: Any) -> list[dict[str, Any]]:
    return [{"response": f"r{i}", **more, "rater_a": a, "rater_b": b, "x": 9} for i, (a, b) in enumerate(rows)]


# --- the mean of several columns --------------------------------------------------------------------------------------


@pytest.mark.parametrize("nothing", [None, "", "n/a", float("nan")])
def test_a_star_makes_the_score_the_mean_of_the_columns_that_it_stands_for(nothing: Any) -> None:
    examples = read_examples(rated((1, 4), ("5", nothing), (2, 2)), fields=parse_fields(["score=rater_*"]))
    assert [example.score for example in examples] == [2.5, 5, 2]
    assert examples.fields["score"] == "rater_*"
    said = (
        "the score is the mean of 2 columns ('rater_a', 'rater_b'), or of those that a row has: 1 of 3 rows lack some"
    )
    assert said in examples.notes
    assert "columns used: response=response, score=rater_*" in examples.notes


def test_columns_of_any_names_are_averaged_where_they_are_named_together(tmp_path: Path) -> None:
    rows = [{"response": f"r{i}", "anna": i % 5 + 1, "bert": "n/a" if i == 3 else 1, "chief": 5} for i in range(6)]
    rows[4] |= {"anna": None, "bert": ""}
    path = RecordWriter(tmp_path / "x.csv")
    with path as file:
        for row in rows:
            file.write(row)
    examples = read_examples(tmp_path / "x.csv", fields=parse_fields(["score=anna + bert,source=chief"]))
    assert [(example.row, example.score) for example in examples] == [(1, 1), (2, 1.5), (3, 2), (4, 4), (6, 1)]
    said = "the score is the mean of 2 columns ('anna', 'bert'), or of those that a row has: 1 of 5 rows lack some"
    assert said in examples.notes
    assert any(note.startswith("no score in 1 of 6 rows (column 'anna + bert', row 5)") for note in examples.notes)
    mixed = read_examples(rows, fields={"score": "chief+*a"})
    assert [example.score for example in mixed] == [3, 3.5, 4, 4.5, 5, 3]
    whole = read_examples(rows[:3], fields={"score": "anna+bert"}, scored=False)
    assert "the score is the mean of 2 columns ('anna', 'bert')" in whole.notes
    rows[1]["bert"] = "good"
    with pytest.raises(DataError, match="row 2, column 'bert': the score 'good' is not a number"):
        read_examples(rows, fields={"score": "anna+bert"})


def test_a_column_that_is_named_like_several_comes_first() -> None:
    rows = [{"response": f"r{i}", "a+b": i, "a": 9, "b": 9} for i in range(5)]
    examples = read_examples(rows, fields={"score": "a+b"})
    assert [example.score for example in examples] == [0, 1, 2, 3, 4]
    assert not any("mean" in note for note in examples.notes)


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"score": "rater_a+ratr_b"}, "there is no column 'ratr_b' to take the score from; .*did you mean 'rater_b'"),
        (
            {"score": "rater_a,foo=bar"},
            "no column 'rater_a,foo=bar' .*; 'foo' behind the comma is no field: fields are 'r",
        ),
        ({"score": "rater_a+"}, r"there is no column 'rater_a\+' to take the score from"),
        ({"score": "rater_a, rater_b"}, r"; write score=rater_a\+rater_b for the mean of these"),
        ({"score": ["rater_a", "rater_b"]}, r"named by a text, not by .*; write 'rater_a\+rater_b'"),
        ({"score": "rater_a+r*_*"}, r"'r\*_\*' has more than one star"),
        ({"response": "rater_a+x"}, "names several columns, which only the score and the source may have; name one"),
    ],
)
def test_several_columns_that_cannot_be_read_are_named(fields: Any, said: str) -> None:
    with pytest.raises(DataError, match=said):
        read_examples(rated((1, 5)), fields=fields)


def test_columns_of_a_mean_are_read_again_as_far_as_they_are_there() -> None:
    before = {"score": "anna+bert", "response": "text"}
    rows = [{"text": "t", "anna": 3}, {"text": "u"}, {"text": "v", "anna": 3, "bert": 4}]
    assert [item.score for item in iter_examples(rows, as_before=before)] == [3, None, 3.5]
    assert [item.score for item in iter_examples(rows[:2], as_before=before)] == [3, None]
    assert [item.score for item in iter_examples([{"text": "t"}], as_before=before)] == [None]


def test_the_scale_is_that_of_single_ratings_not_of_their_means() -> None:
    examples = read_examples(rated((1, 5), (2, 3), (1, 2)), fields=MEAN)
    assert str(examples.scale) == "1..5"
    with pytest.raises(DataError, match=r"row 2, column 'rater_b': 9 lies outside the scale 1\.\.5"):
        read_examples(rated((1, 5), (1, 9)), fields=MEAN, scale="1..5")
    many = read_examples(rated(*[(1, 5)] * 9, (44, 2)), fields=MEAN)
    assert any("only row 10 (44) lies outside 1..5" in note for note in many.notes)


def test_a_row_without_any_rating_has_no_score() -> None:
    examples = read_examples(rated(*[(1, 5)] * 5, (None, ""), (None, 2)), fields=MEAN)
    assert [(example.row, example.score) for example in examples][4:] == [(5, 3), (7, 2)]
    said = "no score in 1 of 7 rows (column 'rater_*', row 6): left out, and only the others count (6)"
    assert said in examples.notes


def test_a_rating_that_is_no_number_is_named_with_its_own_column() -> None:
    rows = rated((1, 5), (2, "good"))
    with pytest.raises(DataError, match="row 2, column 'rater_b': the score 'good' is not a number"):
        read_examples(rows, fields=MEAN)
    unscored = read_examples(rows, fields=MEAN, scored=False)
    assert [example.score for example in unscored] == [3, None]
    problem = unread_score(unscored)
    assert problem is not None
    assert (problem.row, problem.column) == (2, "rater_b")


def test_ratings_may_be_in_an_object_or_a_list_also_in_a_cell_of_a_csv(tmp_path: Path) -> None:
    for ratings in ({"ann": 1, "bob": 4}, [1, 4], json.dumps([1, 4])):
        (example,) = read_examples([{"response": "r", "ratings": ratings}], fields={"score": "ratings.*"})
        assert example.score == 2.5
    parts = [{"response": "r", "by": [{"who": "ann", "score": 2}, {"who": "bob", "score": 5}]}]
    assert read_examples(parts, fields={"score": "by.*.score"})[0].score == 3.5
    (tmp_path / "x.csv").write_text("response;rater_a;rater_b\nr;1,5;2\n")
    assert read_examples(tmp_path / "x.csv", fields=MEAN)[0].score == 1.75


def test_a_stream_takes_the_mean_also_of_columns_that_come_late() -> None:
    rows = [*rated(*[(1, 4)] * 149), {"response": "r", "rater_c": 3, "rater_a": 4}]
    items = iter_examples(rows, fields=MEAN)
    assert any("0 of the first 100 rows lack some" in note for note in items.notes)
    assert [item.score for item in items if not isinstance(item, BadRow)] == [2.5] * 149 + [3.5]


def test_a_star_stands_for_one_character_at_least() -> None:
    columns = {"rater_": 1, "rater_a": 3, "rater_b": 5, "ab": 1, "aba": 1, "abba": 1, "abcba": 4}
    rows = [{"response": f"r{i}", **columns} for i in range(5)]
    for named in ("rater_*", "ab*ba"):
        assert {example.score for example in read_examples(rows, fields={"score": named}, scale="1..5")} == {4}


def test_among_several_a_column_whose_own_name_has_a_star_is_that_one() -> None:
    rows = [{"response": f"r{i}", "x*": 3, "xy": 1, "z": 5} for i in range(5)]
    assert {example.score for example in read_examples(rows, fields={"score": "x*+z"}, scale="1..5")} == {4}


def test_a_column_with_a_star_in_its_name_is_itself() -> None:
    examples = read_examples([{"response": "r", "rater_*": 3, "rater_a": 5}], fields=MEAN)
    assert examples[0].score == 3
    assert not any("mean" in note for note in examples.notes)


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"source": "rater_*"}, r"'rater_\*' has a star, which only the score may have.*; name one for the source"),
        ({"score": "*_*"}, "more than one star; use one"),
        ({"score": "ratr_*"}, r"no column 'ratr_\*' to take the score from; the columns are 'response', 'rater_a'"),
    ],
)
def test_a_star_that_stands_for_nothing_usable_is_refused(fields: dict[str, str], says: str) -> None:
    with pytest.raises(DataError, match=says):
        read_examples(rated((1, 2)), fields=fields)


def test_different_scores_of_the_same_text_have_a_remedy() -> None:
    rows = [{"response": f"r{i % 5}", "score": i % 5 + 1} for i in range(6)]
    (same,) = [note for note in read_examples(rows).notes if "more than once" in note]
    assert "average" not in same
    (note,) = [note for note in read_examples([*rows, {"response": "r0", "score": 4}]).notes if "more than" in note]
    assert note.endswith(
        "with different scores (1, 4); where several people scored a text, name the column that says who (--fields "
        "rater=COLUMN takes the mean), or give it one row with a column for each of them (--fields score=ANNA+BERT)"
    )


# --- inside of objects ------------------------------------------------------------------------------------------------


TALK = {"prompt": "Where is my parcel?", "completion": "It is on its way."}


@pytest.mark.parametrize("conversation", [TALK, json.dumps(TALK)])
def test_a_dotted_name_leads_into_an_object(conversation: Any) -> None:
    rows = [{"conversation": conversation, "marks": {"all": i}, "score": 9} for i in range(1, 6)]
    asked = {"response": "conversation.completion", "source": "conversation.prompt", "score": "marks.all"}
    examples = read_examples(rows, fields=asked)
    assert [example.score for example in examples] == [1, 2, 3, 4, 5]
    assert (examples[0].source, examples[0].response) == (TALK["prompt"], TALK["completion"])
    used = "columns used: response=conversation.completion, source=conversation.prompt, score=marks.all"
    assert examples.notes[0] == used
    (item, *_) = iter_examples(rows, fields=asked)
    assert isinstance(item, type(examples[0]))
    assert item.response == TALK["completion"]


def test_an_object_that_the_response_is_in_is_not_taken_for_the_source_but_its_parts_are_named() -> None:
    rows = [{"conversation": TALK, "score": 3}]
    examples = read_examples(rows, fields={"response": "conversation.completion"}, scale="1..5")
    assert examples[0].source == ""
    assert "no column is recognised as the source; --fields source=NAME for 'conversation.prompt'" in examples.notes


def test_a_column_whose_own_name_has_the_dot_comes_first() -> None:
    rows = [{"a.b": "mine", "a": {"b": "other"}, "score": 3}]
    assert read_examples(rows, fields={"response": "a.b"}, scale="1..5")[0].response == "mine"


def test_a_dotted_name_that_leads_nowhere_names_what_is_there() -> None:
    rows = [{"conversation": TALK, "score": 3}]
    with pytest.raises(DataError) as refused:
        read_examples(rows, fields={"response": "conversation.completions"})
    there = "in 'conversation' there are 'conversation.prompt', 'conversation.completion'"
    assert there in str(refused.value)
    assert "did you mean 'conversation.completion'?" in str(refused.value)


def test_a_row_without_the_part_is_named() -> None:
    rows = [{"conversation": TALK, "score": 3}, {"conversation": {}, "score": 3}, {"conversation": None, "score": 3}]
    with pytest.raises(
        DataError, match=r"column 'conversation\.completion': rows 2 and 3: the text to be judged is empty"
    ):
        read_examples(rows, fields={"response": "conversation.completion"})


def test_a_single_message_is_read_as_a_list_of_one_is() -> None:
    message = {"role": "assistant", "content": "Here."}
    for cell in (message, [message]):
        assert read_examples([{"response": cell, "score": 3}], scale="1..5")[0].response == "Here."
    for other in ({"content": "Here."}, {"role": "assistant", "content": 4}, {"role": "assistant"}):
        named = r"\(COLUMN\.(content|role or COLUMN\.content|role)\)"
        with pytest.raises(DataError, match=f"expected a text, not dict .* name a part of it {named}"):
            read_examples([{"response": other, "score": 3}], scale="1..5")


@pytest.mark.parametrize(
    ("cell", "said"),
    [
        (["one", "another"], "not list (\"['one', 'another']\"); name a part of it (COLUMN.0 is its first entry)"),
        ({"best": "one"}, "not dict (\"{'best': 'one'}\"); name a part of it (COLUMN.best)"),
        (True, "not bool ('True'); write it as text"),
        (("one", "another"), "; write it as text"),
    ],
)
def test_what_is_no_text_is_refused_with_a_remedy_that_helps(cell: Any, said: str) -> None:
    rows = [{"response": f"text {n}", "score": n, "reference": cell} for n in range(1, 6)]
    with pytest.raises(DataError, match=re.escape(said)):
        read_examples(rows, scale="1..5", fields={"reference": "reference"})
    fields = {list: "reference.0", dict: "reference.best"}
    if (named := fields.get(type(cell))) is not None:
        assert read_examples(rows, scale="1..5", fields={"reference": named})[0].reference == "one"


@pytest.mark.parametrize("values", [[1, 2, 3, 4, 5], ["1", "2.5", "", "4", "5"], [True, False, True, None, True]])
def test_labels_are_no_reference_unless_they_are_named_as_one(values: list[Any]) -> None:
    rows = [{"response": f"text {n}", "score": n, "target": value} for n, value in enumerate(values, start=1)]
    examples = read_examples(rows)
    assert {example.reference for example in examples} == {None}
    (note,) = [note for note in examples.notes if "reference" in note]
    assert note.startswith("the reference is not read from 'target', which holds no texts but numbers")
    assert "reference" not in examples.fields


def test_numbers_beside_texts_are_a_reference_and_so_are_numbers_that_are_named() -> None:
    rows = [{"response": f"text {n}", "score": n, "ground_truth": str(n) if n > 1 else "one"} for n in range(1, 6)]
    assert [example.reference for example in read_examples(rows)] == ["one", "2", "3", "4", "5"]
    numbers = [row | {"ground_truth": row["score"]} for row in rows]
    named = read_examples(numbers, fields={"reference": "ground_truth"})
    assert [example.reference for example in named] == ["1", "2", "3", "4", "5"]


# --- a source of several columns --------------------------------------------------------------------------------------


def retrieved(count: int = 6) -> list[dict[str, Any]]:
    return [
        {"question": f"Why {i}?", "contexts": [f"Since {i}.", f"It is {i}."], "answer": f"For {i}.", "score": i % 5 + 1}
        for i in range(1, count + 1)
    ]


JOINED = {"source": "question+contexts"}


def test_a_source_may_be_made_of_several_columns_and_of_lists_of_passages(tmp_path: Path) -> None:
    examples = read_examples(retrieved(), fields=JOINED)
    assert examples[0].source == "question: Why 1?\n\ncontexts: Since 1.\n\nIt is 1."
    assert examples.fields["source"] == "question+contexts"
    assert read_examples(retrieved(), fields={"source": "contexts"})[0].source == "Since 1.\n\nIt is 1."
    with RecordWriter(tmp_path / "x.csv") as writer:
        for row in retrieved():
            writer.write(row | {"contexts": "=Since\n\nIt is."})
    of_csv = read_examples(tmp_path / "x.csv", fields=JOINED)
    assert of_csv[0].source == "question: Why 1?\n\ncontexts: =Since\n\nIt is."
    assert any("6 texts are read without the apostrophe" in note for note in of_csv.notes)


def test_a_part_of_the_source_that_is_empty_is_left_out_and_a_source_without_any_is_none() -> None:
    rows = retrieved()
    rows[0]["contexts"], rows[1]["question"] = [], " "
    rows[2] |= {"contexts": None, "question": ""}
    examples = read_examples(rows, fields=JOINED)
    assert [examples[i].source for i in range(3)] == ["question: Why 1?", "contexts: Since 2.\n\nIt is 2.", ""]
    assert any("no source in row 3" in note for note in examples.notes)


def test_a_column_whose_name_has_the_sign_comes_before_the_source_of_several() -> None:
    rows = [row | {"question+contexts": "all of it"} for row in retrieved()]
    assert read_examples(rows, fields=JOINED)[0].source == "all of it"


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"source": "question+context"}, "there is no column 'context' to take the source from; .*did you mean 'cont"),
        ({"source": "question,contexts"}, r"; write source=question\+contexts for their texts one after the other"),
        ({"source": ["question", "contexts"]}, r"named by a text, not by .*; write 'question\+contexts'"),
        (
            {"source": "question+answer", "response": "answer"},
            "has 'answer' in it, which is the response; leave it out",
        ),
        ({"source": "question+score", "score": "score"}, "has 'score' in it, which is the score; leave it out"),
        ({"source": "quest*"}, "has a star, which only the score may have"),
        ({"reference": "question+contexts"}, "which only the score and the source may have"),
    ],
)
def test_a_source_of_several_columns_that_cannot_be_is_refused(fields: Any, said: str) -> None:
    with pytest.raises(DataError, match=said):
        read_examples(retrieved(), fields=fields)


def test_a_part_of_the_source_that_is_no_text_is_named() -> None:
    rows = retrieved()
    rows[3]["contexts"] = {"best": "this"}
    with pytest.raises(DataError, match=r"row 4, column 'contexts': expected a text, not dict"):
        read_examples(rows, fields=JOINED)


def test_a_program_reads_its_source_of_several_columns_again_and_says_which_is_gone() -> None:
    (first, *_) = iter_examples(retrieved(), as_before=JOINED)
    assert isinstance(first, Example)
    assert first.source.startswith("question: Why 1?\n\ncontexts: Since 1.")
    gone = iter_examples([{"question": "Why?", "answer": "So."}] * 3, as_before=JOINED)
    assert "the source was read from 'question+contexts' before, and there is no 'contexts'" in gone.notes
    none = iter_examples([{"question": "Why?", "answer": "So."}], fields={"source": ""}, as_before=JOINED)
    assert not any("before" in note for note in none.notes)
    (first, *_) = gone
    assert isinstance(first, Example)
    assert first.source == "Why?"


def with_comments() -> list[dict[str, Any]]:
    return [{"answer": f"a{i}", "score": i, "feedback": f"because {i}", "comment": i} for i in range(1, 6)]


@pytest.mark.parametrize("how", ["fields", "as_before"])
def test_what_people_said_of_a_text_is_read_where_their_scores_are_and_nowhere_else(how: str) -> None:
    examples = read_examples(with_comments())
    assert [example.comment for example in examples] == [f"because {i}" for i in range(1, 6)]
    assert examples.fields["comment"] == "feedback"
    assert "the comment is not read from 'comment', which holds no texts but scores" in " ".join(examples.notes)
    for fields in ({}, examples.fields, {"comment": ""}, {"comment": "why"}):
        found = iter_examples(with_comments(), **{how: {"response": "answer", **fields}})
        assert "comment" not in found.notes[0]
        assert all(isinstance(example, Example) and example.comment is None for example in found)
    none = read_examples(with_comments(), fields={"comment": ""})
    assert {example.comment for example in none} == {None}
    assert "; none, as asked, for comment" in none.notes[0]
    own = read_examples(with_comments(), fields={"response": "feedback", "source": "answer"})
    assert {example.comment for example in own} == {None}


def test_a_comment_is_part_of_what_a_fit_learns_from_and_no_source(tmp_path: Path) -> None:
    rows = [{**row, "feedback": "It is much too long."} for row in with_comments()]
    examples = read_examples(rows)
    assert not any("recognised as the source" in note for note in examples.notes)
    assert data_sha256(examples) != data_sha256(read_examples(rows, fields={"comment": ""}))
    for nothing, row in zip(["n/a", "-", " ", None, "none"], rows, strict=True):
        row["feedback"] = nothing
    assert {example.comment for example in read_examples(rows, fields={"comment": "feedback"})} == {None}
    by_hand = [Example("r", score=3, comment="Why not."), Example("r", score=4)]
    assert [example.comment for example in read_examples(by_hand, scale="1..5")] == ["Why not.", None]


def test_a_list_of_comments_is_read_as_one() -> None:
    said = [["Too long.", " ", "Dull."], [], ["Too long.", "n/a"], ["Dull.", "Dull."], None]
    rows = [{"answer": f"a{i}", "score": i, "comments": cell} for i, cell in enumerate(said, 1)]
    read = [example.comment for example in read_examples(rows, scale="1..5")]
    assert read == ["Too long. / Dull.", None, "Too long.", "Dull.", None]


def test_comments_that_are_no_texts_are_refused_where_they_are_asked_for_and_else_passed_over() -> None:
    rows = [{**row, "comment": None, "feedback": {"score": 1}} for row in with_comments()]
    passed = read_examples(rows)
    assert "the comment is not read from 'feedback', which holds lists or objects" in passed.notes
    assert {example.comment for example in passed} == {None}
    with pytest.raises(DataError, match=r"row 1, column 'feedback': expected a text, not dict"):
        read_examples(rows, fields={"comment": "feedback"})


def turns(*roles: str) -> list[dict[str, str]]:
    return [{"role": role, "content": f"so says the {role}"} for role in roles]


def test_whole_conversations_in_the_place_of_the_response_are_noted_with_the_way_to_one_turn() -> None:
    rows = [{"messages": turns("user", "assistant"), "score": i} for i in range(1, 6)]
    whole = read_examples(rows, fields={"response": "messages"})
    (note,) = [note for note in whole.notes if "conversations" in note]
    assert "'messages', which holds whole conversations (row 1), and all is judged" in note
    assert "--fields response=messages.-1 --fields source=messages.:-1 for the last turn" in note
    reply = read_examples(rows, fields={"response": "messages.1.content", "source": "messages.0.content"})
    assert (reply[0].source, reply[0].response) == ("so says the user", "so says the assistant")
    assert not any("conversations" in note for note in reply.notes)


def test_a_place_in_a_list_may_be_counted_from_its_end(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [{"messages": turns(*["user", "assistant"] * i), "score": i} for i in range(1, 6)]
    for row in rows:
        row["messages"][-1]["content"] = f"answer {row['score']}"
    with RecordWriter(tmp_path / "x.csv") as writer:
        for row in rows:
            writer.write(row)
    for given in (rows, tmp_path / "x.csv"):
        examples = read_examples(given, fields={"response": "messages.-1.content", "source": "messages.-2.content"})
        assert [example.response for example in examples] == [f"answer {i}" for i in range(1, 6)]
        assert {example.source for example in examples} == {"so says the user"}
        assert not any("role" in note for note in examples.notes)
    with pytest.raises(DataError, match=r"row 1, column 'messages\.-4\.content': the text to be judged is empty"):
        read_examples(rows, fields={"response": "messages.-4.content"})


def test_a_place_from_the_end_is_no_further_rating() -> None:
    assert read_examples([{"response": "r", "ratings": [1, 2, 6]}], fields={"score": "ratings.*"})[0].score == 3
    assert read_examples([{"response": "r", "ratings": [1, 2, 6]}], fields={"score": "ratings.-1"})[0].score == 6


def chat_rows() -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = [
        {"id": f"c{i}", "messages": turns("system", *["user", "assistant"] * i), "score": i} for i in range(1, 6)
    ]
    for row in rows:
        row["messages"][-1]["content"] = f"answer {row['score']}"
    return rows


def shared(messages: list[dict[str, str]]) -> list[dict[str, str]]:
    names = {"user": "human", "assistant": "gpt"}
    return [{"from": names.get(turn["role"], turn["role"]), "value": turn["content"]} for turn in messages]


def test_messages_in_the_form_of_sharegpt_are_read_as_those_of_chat_apis(tmp_path: Path) -> None:
    rows = [row | {"messages": shared(row["messages"])} for row in chat_rows()]
    with RecordWriter(tmp_path / "x.csv") as writer:
        for row in rows:
            writer.write(row)
    for given in (rows, tmp_path / "x.csv"):
        read, plain = read_examples(given), read_examples(chat_rows())
        assert [(one.source, one.response) for one in read] == [(one.source, one.response) for one in plain]
        assert [note for note in read.notes if "conversations" in note] == [
            note for note in plain.notes if "conversations" in note
        ]
    turn = {"response": "messages.2.value", "source": "messages.:2"}
    (note,) = [
        n for n in iter_examples([*rows, {"messages": shared(turns("user") * 3)}], fields=turn).notes if "role" in n
    ]
    assert "'messages.2.value', whose role is 'user' in 1 of" in note
    assert note.endswith("(the first: row 6); messages.-1.value is the last turn")


@pytest.mark.parametrize("form", [list, json.dumps])
def test_what_conversations_hold_besides_texts_is_left_out_and_told(form: Any) -> None:
    asked = {"role": "user", "content": [{"type": "text", "text": "What is this?"}, {"type": "image_url"}]}
    called = {"role": "assistant", "content": None, "tool_calls": [{"id": "x", "type": "function"}]}
    plain = {"role": "user", "content": [{"type": "text", "text": "Why?"}, "Say."], "tool_calls": []}
    rows = [
        {"response": f"r{i}", "score": i, "prompt": form(held)}
        for i, held in enumerate([[plain], [plain, called], [asked], [plain, plain], [plain]], 1)
    ]
    examples = read_examples(rows, scale="1..5")
    assert [example.source for example in examples][:3] == ["Why?\nSay.", "user: Why?\nSay.", "What is this?"]
    said = (
        "what is no text in the conversations of the source, such as a picture, is left out, in {} (the first: row 2)"
    )
    assert said.format("2 of 5 rows") in examples.notes
    assert said.format("2 of 5 rows") in iter_examples(rows).notes
    assert said.format("40 of the first 100 rows") in iter_examples(rows * 30).notes
    assert not any("left out" in note for note in read_examples(rows, scale="1..5", fields={"source": ""}).notes)


@pytest.mark.parametrize(
    "message",
    [
        {
            "content": None,
            "tool_calls": [{"type": "function", "function": {"name": "look", "arguments": '{"in": "Köln"}'}}],
        },
        {"content": "", "tool_calls": [{"type": "tool_call", "id": "1", "name": "look", "args": {"in": "Köln"}}]},
        {"content": [{"type": "tool_use", "id": "1", "name": "look", "input": {"in": "Köln"}}]},
    ],
)
@pytest.mark.parametrize("form", [list, json.dumps])
def test_calls_of_tools_are_read_as_texts(form: Any, message: dict[str, Any]) -> None:
    found = {"role": "user", "content": [{"type": "tool_result", "content": [{"type": "text", "text": "Rain."}]}]}
    talk = [{"role": "user", "content": "Is it dry?"}, {"role": "assistant", **message}, found]
    examples = read_examples([{"prompt": form(talk), "response": f"r{i}", "score": i} for i in range(1, 6)])
    assert examples[0].source == 'user: Is it dry?\n\nassistant: [calls look({"in": "Köln"})]\n\nuser: Rain.'
    assert not any("left out" in note for note in examples.notes)
    judged = [{"messages": form(talk[:2]), "score": i} for i in range(1, 6)]
    assert {example.response for example in read_examples(judged)} == {'[calls look({"in": "Köln"})]'}


@pytest.mark.parametrize("form", [list, json.dumps])
def test_the_items_of_a_response_of_openai_are_read_as_messages(form: Any) -> None:
    talk = [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Is it dry?"}]},
        {"type": "reasoning", "summary": []},
        {"type": "function_call", "call_id": "1", "name": "look", "arguments": '{"in": "Köln"}'},
        {"type": "function_call_output", "call_id": "1", "output": "Rain."},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "No."}]},
    ]
    examples = read_examples([{"items": form(talk), "score": i} for i in range(1, 6)])
    assert examples[0].source == 'user: Is it dry?\n\nassistant: [calls look({"in": "Köln"})]\n\ntool: Rain.'
    assert examples[0].response == "No."
    assert any("what is no text in the conversations of the source" in note for note in examples.notes)


def test_a_call_of_a_tool_may_have_no_arguments() -> None:
    talk = [{"role": "assistant", "content": "One moment.", "tool_calls": [{"function": {"name": "now"}}]}]
    assert read_examples([{"response": talk, "score": 3}], scale="1..5")[0].response == "One moment.\n[calls now()]"


def test_a_message_with_the_names_of_both_forms_says_what_its_content_is() -> None:
    turn = {"from": "gpt", "value": "other", "role": "assistant", "content": "this"}
    assert read_examples([{"response": turn, "score": 3}], scale="1..5")[0].response == "this"


@pytest.mark.parametrize(
    "turn", [{"from": "2020", "value": "5"}, {"from": "gpt"}, {"from": "gpt", "value": 5}, {"type": ["x"]}]
)
def test_what_only_looks_like_a_message_of_sharegpt_is_no_text(turn: dict[str, Any]) -> None:
    with pytest.raises(DataError, match=r"row 1, column 'response': expected a text, not list .*\(or from and value\)"):
        read_examples([{"response": [turn, turn], "score": 3}], scale="1..5")


@pytest.mark.parametrize("form", [dict, json.dumps])
def test_where_nothing_is_recognised_the_parts_of_objects_are_named(form: Any) -> None:
    rows = [{"inputs": form({"q": "Why?"}), "outputs": form({"said": "So."}), "mark": 3}] * 5
    there = "The columns are 'inputs.q', 'outputs.said', 'mark'"
    with pytest.raises(DataError, match=f"no column is recognised as the response; .*{there}"):
        read_examples(rows)
    fields = {"response": "outputs.said", "source": "inputs.q", "score": "mark"}
    assert read_examples(rows, fields=fields, scale="1..5")[0].source == "Why?"


def test_also_what_is_in_the_objects_of_a_list_but_a_conversation_as_a_whole() -> None:
    talk = [{"role": "user", "content": "Why?"}]
    marks = [{"value": {"rating": 3}, "by": "a"}, {"value": {"text": ["Dull."]}, "by": "a"}]
    row = {"asked": {"messages": talk}, "said": {"text": "So."}, "marks": marks, "tags": ["x"], "more": None}
    there = "'asked.messages', 'said.text', 'marks.0.value.rating', 'marks.0.by', 'marks.1.value.text', 'tags', 'more'"
    with pytest.raises(DataError, match=f"The columns are {there}$"):
        read_examples([{**row, "marks": []}, *[row] * 5])
    fields = {"source": "asked.messages", "response": "said.text", "score": "marks.0.value.rating"}
    (first, *_) = read_examples([row] * 5, scale="1..5", fields={**fields, "comment": "marks.1.value.text"})
    assert (first.source, first.response, first.score, first.comment) == ("Why?", "So.", 3, "Dull.")


def test_of_a_chat_log_the_last_turn_is_judged_and_what_stands_before_it_is_the_source(tmp_path: Path) -> None:
    with RecordWriter(tmp_path / "x.csv") as writer:
        for row in chat_rows():
            writer.write(row)
    for given in (chat_rows(), tmp_path / "x.csv"):
        examples = read_examples(given)
        assert [example.response for example in examples] == [f"answer {i}" for i in range(1, 6)]
        assert examples[0].source == "system: so says the system\n\nuser: so says the user"
        assert all("answer" not in str(example.source) for example in examples)
        assert examples.fields == {"response": "messages.-1", "source": "messages.:-1", "score": "score", "id": "id"}
        (note,) = [note for note in examples.notes if "conversations" in note]
        assert note.startswith("the response is the last turn of the conversations in 'messages'")
        assert note.endswith("--fields response=messages judges all of each")
        assert not any("recognised as the source" in note for note in examples.notes)
        streamed = [one for one in iter_examples(given) if isinstance(one, Example)]
        assert [(one.response, one.source) for one in streamed] == [(one.response, one.source) for one in examples]


def test_a_chat_log_gives_way_to_columns_that_are_named_or_recognised() -> None:
    asked = read_examples(chat_rows(), fields={"source": ""})
    assert (asked[0].response, asked[0].source) == ("answer 1", "")
    replies = read_examples([row | {"response": "a reply"} for row in chat_rows()])
    assert replies.fields["response"] == "response"
    both = read_examples([row | {"prompt": "what is asked"} for row in chat_rows()])
    assert both.fields["source"] == "messages.:-1"
    (note,) = [note for note in both.notes if note.startswith("the source")]
    assert note.startswith("the source is read from 'messages.:-1'; --fields source=NAME for 'prompt', or source=")
    named = read_examples([{"dialogue": row["messages"], "score": row["score"]} for row in chat_rows()])
    assert (named.fields["response"], named.fields["source"]) == ("dialogue.-1", "dialogue.:-1")


def test_what_may_be_no_chat_log_is_not_guessed() -> None:
    last_by_user = chat_rows()
    last_by_user[3]["messages"] += turns("user")
    two_logs = [row | {"other": row["messages"]} for row in chat_rows()]
    for rows in (last_by_user, two_logs):
        with pytest.raises(DataError, match="no column is recognised as the response") as refused:
            read_examples(rows)
        assert "; --fields response=messages.-1 --fields source=messages.:-1 takes the last turn" in str(refused.value)
    named = read_examples(last_by_user, fields={"response": "messages.-1", "source": "messages.:-1"})
    assert named[3].response == "so says the user"
    with pytest.raises(DataError) as refused:
        read_examples([{"a": "one two", "ratings": [{"by": "x"}], "score": 3}])
    assert "last turn" not in str(refused.value)


def test_a_source_that_has_the_response_in_it_is_said_and_so_is_one_that_is_left_out() -> None:
    (note,) = [
        note
        for note in read_examples(chat_rows(), fields={"response": "messages.-1.content", "source": "messages"}).notes
        if "conversations" in note
    ]
    assert "the source is read from 'messages', which holds whole conversations (row 1), the response with them" in note
    assert note.endswith("; messages.:-1 is what stands before it")
    beside = [{"dialogue": row["messages"], "reply": f" answer {row['score']}", **row} for row in chat_rows()]
    told = read_examples(beside, fields={"response": "reply"})
    assert told.fields["source"] == "dialogue"
    assert any("'dialogue', which holds whole conversations (row 1), the response with them" in n for n in told.notes)
    other = read_examples([row | {"reply": "another"} for row in beside], fields={"response": "reply"})
    assert not any("the response with them" in note for note in other.notes)
    left_out = read_examples(chat_rows(), fields={"response": "messages.-1"})
    assert "no column is recognised as the source; --fields source=NAME for 'messages.:-1'" in left_out.notes
    clean = read_examples(chat_rows(), fields={"response": "messages.-1", "source": "messages.:-1"})
    assert not any("conversations" in note or "recognised as the source" in note for note in clean.notes)


def test_conversations_of_one_turn_have_nothing_before_it() -> None:
    rows = [*chat_rows(), {"id": "c6", "messages": [{"role": "assistant", "content": "hello"}], "score": 3}]
    examples = read_examples(rows, fields={"response": "messages.-1", "source": "messages.:-1"})
    assert (examples[5].response, examples[5].source) == ("hello", "")


@pytest.mark.parametrize("place", ["-0", "01", "+1", "3", "-4", "1.0", "9" * 5000, "²", "3:", "2:1", ":-0", "1:2:1"])
def test_what_is_no_place_of_a_list_leads_nowhere(place: str) -> None:
    with pytest.raises(DataError, match="there is no column"):
        read_examples([{"response": "r", "ratings": [1, 2, 6]}], fields={"score": f"ratings.{place}"})


def test_a_turn_that_is_not_the_assistants_in_some_rows_is_said() -> None:
    rows = [{"messages": turns("user", "assistant")} for _ in range(150)]
    rows[2]["messages"][:0] = turns("system")
    (note,) = [n for n in iter_examples(rows, fields={"response": "messages.1.content"}).notes if "role" in n]
    assert note == (
        "the response is read from 'messages.1.content', whose role is 'user' in 1 of the first 100 rows (the first: "
        "row 3); messages.-1.content is the last turn"
    )
    rows[4]["messages"] += turns("user")
    (note,) = [n for n in iter_examples(rows, fields={"response": "messages.-1"}).notes if "role" in n]
    assert "'messages.-1', whose role is 'user' in 1 of" in note
    assert note.endswith("(the first: row 5)")


@pytest.mark.parametrize("roles", [["assistant"], ["user"], ["assistant", "user"], ["system", "assistant"]])
def test_messages_without_a_user_before_the_reply_are_not_noted(roles: list[str]) -> None:
    examples = read_examples([{"response": turns(*roles), "score": 3}], scale="1..5")
    assert not any("conversations" in note for note in examples.notes)


# --- documents --------------------------------------------------------------------------------------------------------


def test_what_counts_as_a_document_is_said_where_no_column_names_it() -> None:
    rows = [{"question": f"q{i // 2}", "answer": f"a{i}", "score": 1 + i % 5} for i in range(10)]
    said = "no column names the document: {} are one; --fields group=COLUMN for another"
    assert said.format("rows with the same source") in read_examples(rows).notes
    bare = [{"answer": row["answer"], "score": row["score"]} for row in rows]
    assert said.format("only rows with the same response") in read_examples(bare).notes
    named = [{**row, "Thread ID": i // 5} for i, row in enumerate(rows)]
    for notes in (read_examples(named).notes, read_examples(rows, scored=False).notes):
        assert not any("no column names the document" in note for note in notes)


@pytest.mark.parametrize("nothing", ["", " ", None, float("nan"), "n/a"])
def test_a_column_of_documents_that_is_empty_counts_as_absent(nothing: Any) -> None:
    rows = [{"group": nothing, "source": f"q{i // 2}", "response": f"a{i}", "score": 1 + i % 5} for i in range(10)]
    examples = read_examples(rows)
    assert "group" not in examples.fields
    assert "the group is not read from 'group', which is empty" in examples.notes
    assert any("no column names the document: rows with the same source are one" in note for note in examples.notes)
    other = read_examples([{**row, "doc_id": f"d{i // 5}"} for i, row in enumerate(rows)])
    assert [example.group for example in other] == ["d0"] * 5 + ["d1"] * 5
    assert not any("empty" in note for note in read_examples(rows, scored=False).notes)


@pytest.mark.parametrize("nothing", ["", None, float("nan")])
def test_a_source_that_is_empty_makes_no_documents(nothing: Any) -> None:
    rows = [{"source": nothing, "response": f"a{i}", "score": 1 + i % 5} for i in range(10)]
    said = "no column names the document: {} are one; --fields group=COLUMN for another"
    assert said.format("only rows with the same response") in read_examples(rows).notes
    assert said.format("rows with the same source") in read_examples([*rows, {**rows[0], "source": "q"}]).notes


def test_conversations_are_documents_where_nothing_nearer_is() -> None:
    row = {"response": "r", "score": 3, "session_id": "s", "conversation_id": "c"}
    assert read_examples([row], scale="1..5")[0].group == "c"
    assert read_examples([{**row, "group_id": "g"}], scale="1..5")[0].group == "g"


# --- requests that cannot be met --------------------------------------------------------------------------------------


@pytest.mark.parametrize("read", [read_examples, iter_examples])
@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"response": 1}, "the column of the field 'response' is named by a text, not by 1; write '1'"),
        ({1: "response"}, "1 is not a field; fields are 'response'"),
        ("response=output", "fields are a mapping from field to column"),
    ],
)
def test_fields_that_are_no_names_are_refused(read: Any, fields: Any, says: str) -> None:
    with pytest.raises(DataError, match=says):
        read([{"response": "r", "score": 3}], fields=fields)


# --- the index of a DataFrame -----------------------------------------------------------------------------------------


def test_a_named_index_of_a_data_frame_is_a_column() -> None:
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"source": ["s1", "s2"], "group": [1, 2], "response": ["a", "b"], "score": [1, 5]})
    for names in (["source"], ["source", "group"], ["group"]):
        examples = read_examples(frame.set_index(names))
        assert [(e.row, e.source, e.group, e.score) for e in examples] == [(1, "s1", "1", 1), (2, "s2", "2", 5)]
        assert examples[0].record.keys() == set(frame.columns)


def test_an_index_without_a_name_or_with_that_of_a_column_is_none() -> None:
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"response": ["a", "b"], "score": [1, 5]})
    assert read_examples(frame.set_index(pd.Index(["x", "y"])))[0].record == {"response": "a", "score": 1}
    both = read_examples(frame.set_index("response", drop=False))
    assert both[0].record == {"response": "a", "score": 1}
    twice = read_examples(frame.set_index(pd.MultiIndex.from_tuples([(1, "u"), (2, "v")], names=["id", "id"])))
    assert [example.id for example in twice] == ["u", "v"]


def test_columns_of_an_earlier_reading_are_taken_where_they_fit_and_are_free() -> None:
    rows = [(1, {"answer": "a b", "draft": "c d", "who": ["x"], "score": 2, "mark": 3})]
    verdict = {"unscored": None, "read_from": "the rating"}
    before = {"response": "draft", "group": "who", "score": "mark", "source": "ticket", "taste": "answer"}

    def columns(asked: dict[str, str], **more: Any) -> dict[str, str]:
        found = [(row, {**record, **more}) for row, record in rows]
        return resolve(found, asked, scored=False, path=None, as_before=before)[0]

    assert columns({}) == {"response": "draft", "score": "mark"}
    assert columns({"response": "answer"})["response"] == "answer"
    assert columns({"source": "draft"}) == {"response": "answer", "source": "draft", "score": "mark"}
    assert columns({}, **verdict)["score"] == "mark"
    before["score"] = "score"
    assert columns({})["score"] == "score"
    assert "score" not in columns({}, **verdict)  # that is a program's word


def test_columns_of_an_earlier_reading_are_taken_also_where_they_come_late() -> None:
    late = [{"response": f"r{i}", **({"source": f"s{i}", "score": 2} if i >= 105 else {})} for i in range(130)]
    before = {"response": "response", "source": "source", "score": "score"}
    items = iter_examples(late, as_before=before)
    found = [item for item in items if isinstance(item, Example)]
    assert [item.source for item in found] == [""] * 105 + [f"s{i}" for i in range(105, 130)]
    assert [item.score for item in found] == [None] * 105 + [2.0] * 25
    assert not any("comes with row" in note for note in items.notes)


def test_an_earlier_column_that_may_come_late_gives_way_to_one_that_is_there() -> None:
    rows = [{"output": f"r{i}", "prompt": f"p{i}"} for i in range(130)]
    (first, *_) = iter_examples(rows, as_before={"response": "output", "source": "source", "group": "prompt"})
    assert isinstance(first, Example)
    assert (first.source, first.group) == ("", "p0")
    (first, *_) = iter_examples(rows, as_before={"response": "output", "source": "source"})
    assert isinstance(first, Example)
    assert first.source == "p0"


def test_a_column_that_comes_too_late_to_be_recognised_is_told() -> None:
    late = [{"response": f"r{i}", **({"Source": "s", "doc_id": i} if i >= 105 else {})} for i in range(130)]
    items = iter_examples(late)
    assert {item.source for item in items if isinstance(item, Example)} == {""}
    said = [note for note in items.notes if "comes with row 106 only" in note]
    assert [note.split(",")[0] for note in said] == [
        "the source is not read from 'Source'",
        "the group is not read from 'doc_id'",
    ]
    assert "--fields source=Source reads it" in said[0]


def test_of_comments_that_come_late_nothing_is_said_where_none_are_read() -> None:
    late = [{"response": f"r{i}", **({"comment": "dull"} if i >= 105 else {})} for i in range(130)]
    for items in (iter_examples(late), iter_examples(late, as_before={"comment": "comment"})):
        assert {item.comment for item in items if isinstance(item, Example)} == {None}
        assert not any("comment" in note for note in items.notes)


def test_a_remembered_name_that_comes_late_as_a_list_costs_no_text() -> None:
    late = [{"response": f"r{i}", **({"group": ["a", "b"], "id": {"n": i}} if i >= 120 else {})} for i in range(130)]
    items = list(iter_examples(late, as_before={"response": "response", "group": "group", "id": "id"}))
    assert all(isinstance(item, Example) and item.group is None and item.id is None for item in items)


def test_another_column_than_the_remembered_one_that_comes_late_is_told() -> None:
    late = [{"response": f"r{i}", **({"article": "s"} if i >= 120 else {})} for i in range(130)]
    items = iter_examples(late, as_before={"response": "response", "source": "doc"})
    assert {item.source for item in items if isinstance(item, Example)} == {""}
    assert any("the source is not read from 'article', which comes with row 121 only" in note for note in items.notes)
    assert "source" not in items.fields


def test_verdicts_that_come_late_are_not_recommended_as_peoples_scores() -> None:
    verdict = {"score": 2, "unscored": None, "read_from": "text"}
    late = [{"response": f"r{i}", **(verdict if i >= 120 else {})} for i in range(130)]
    items = iter_examples(late)
    assert {item.score for item in items if isinstance(item, Example)} == {None}
    assert not any("--fields score=score reads it" in note for note in items.notes)
    scored = [{**row, "input_score": 3} if "score" in row else row for row in late]
    items = iter_examples(scored)
    assert {item.score for item in items if isinstance(item, Example)} == {None}
    assert any("the score is not read from 'input_score'" in note for note in items.notes)


def exported(*scores: dict[str, Any], key: str = "name") -> list[dict[str, Any]]:
    """Rows as tools export them, with the scores of each in a list, in any order."""
    return [
        {"output": f"text {n}", "scores": [{key: name, "value": value} for name, value in given.items()]}
        for n, given in enumerate(scores)
    ]


MIXED = ({"quality": 4, "toxicity": 0}, {"toxicity": 0, "quality": 2}, {"quality": 3}, {"toxicity": 1}, {"quality": 5})


@pytest.mark.parametrize("key", ["name", "key", "from_name", "assessment_name"])
def test_entries_of_lists_go_by_what_they_are_called(key: str) -> None:
    examples = read_examples(exported(*MIXED, key=key), fields={"score": "scores.quality.value"}, scored=False)
    assert [example.score for example in examples] == [4, 2, 3, None, 5]
    as_text = [{**row, "scores": json.dumps(row["scores"])} for row in exported(*MIXED, key=key)]
    again = read_examples(as_text, fields={"score": "scores.quality.value"}, scored=False)
    assert [example.score for example in again] == [4, 2, 3, None, 5]
    assert not any("what is at" in note for note in examples.notes)


def test_where_a_place_in_a_list_is_not_the_same_in_every_row_a_note_says_so() -> None:
    examples = read_examples(exported(*MIXED), fields={"score": "scores.0.value"})
    assert [example.score for example in examples] == [4, 0, 3, 1, 5]
    (note,) = [note for note in examples.notes if "what is at" in note]
    assert note == (
        "the score is read from 'scores.0.value', and what is at 'scores.0' is called 'quality' in 3 of 5 rows and "
        "otherwise in 2; --fields score=scores.quality.value goes by that name"
    )
    alike = read_examples(exported(*MIXED[:1] * 5), fields={"score": "scores.0.value"})
    assert not any("what is at" in note for note in alike.notes)


def test_of_two_entries_of_one_name_none_is_taken() -> None:
    rows = exported(*MIXED[:2] * 3)
    rows[1]["scores"].append({"name": "quality", "value": 5})
    with pytest.raises(DataError, match=r"row 2, .*2 entries of the list are called 'quality'; leave one of them"):
        read_examples(rows, fields={"score": "scores.quality.value"})


def test_the_error_on_an_export_lists_the_names_of_what_is_in_its_lists() -> None:
    with pytest.raises(
        DataError, match=r"The columns are 'output', 'scores\.quality\.name', 'scores\.quality\.value', "
    ):
        read_examples(exported(*MIXED))
    with pytest.raises(DataError, match=r"no column 'scores\.qualty\.value' .*did you mean 'scores\.quality\.value'"):
        read_examples(exported(*MIXED), fields={"score": "scores.qualty.value"})


def test_a_star_stands_for_the_names_of_entries() -> None:
    examples = read_examples(exported(*MIXED), fields={"score": "scores.*.value"})
    assert [example.score for example in examples] == [2, 1, 3, 1, 5]
    assert any("the mean of 2 columns ('scores.quality.value', 'scores.toxicity.value')" in n for n in examples.notes)
    numbered = [{"output": f"t{n}", "scores": [{"name": "1", "value": n}, {"name": "0", "value": 9}]} for n in range(3)]
    by_place = read_examples(numbered, fields={"score": "scores.0.value"}, scored=False)
    assert [example.score for example in by_place] == [0, 1, 2]


@pytest.mark.parametrize("scored", [True, False])
@pytest.mark.parametrize(
    ("field", "empty", "filled"), [("source", "input", "instruction"), ("response", "output", "text")]
)
def test_an_empty_column_is_not_taken_for_texts_where_another_is_filled(
    field: str, empty: str, filled: str, scored: bool
) -> None:
    given = [{"answer": f"a{n}", empty: " ", filled: f"t{n}", "score": n} for n in range(1, 6)]
    given = [{name: cell for name, cell in row.items() if field == "source" or name != "answer"} for row in given]
    for examples in (read_examples(given, scored=scored), iter_examples(given)):
        assert examples.fields[field] == filled
        assert f"the {field} is not read from {empty!r}, which is empty" in examples.notes
    given[-1][empty] = "here"
    assert iter_examples(given).fields[field] == empty
    alone = [{"answer": f"a{n}", "input": "", "score": n} for n in range(1, 6)]
    assert read_examples(alone, scored=scored).fields["source"] == "input"


def test_an_empty_score_is_no_reason_to_read_another_column_as_the_score() -> None:
    given = [{"response": f"a{n}", "score": "", "label": n} for n in range(1, 6)]
    with pytest.raises(DataError, match="none of 5 rows has a score"):
        read_examples(given)
