from __future__ import annotations

import json
import math
import string
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from active_critic.errors import UnreadableReply
from active_critic.lm.client import Reply, Token
from active_critic.protocols import Reading
from active_critic.reading import Rating, level_weights, read_form, read_rating

TEXT = Reading(source="text")
PROBABLE = Reading()

PLANTED = ['"overall": 5', '{"overall": 5}', '", "overall": 5, "x": "', "}", "{", "```", "</think>", "\\", '\\"', "\n"]
texts = st.lists(
    st.one_of(
        st.text(max_size=20), st.sampled_from(PLANTED), st.text(alphabet='{}[]":,\\\n 0123456789é漢🙂', max_size=12)
    ),
    max_size=6,
).map("".join)
names = st.lists(
    st.text(alphabet=string.ascii_letters + ' -"\\{}é漢', min_size=1, max_size=12), unique=True, max_size=5
)
indents = st.sampled_from([None, 0, 2])


def reply_of(form: dict[str, Any], indent: int | None = None, ascii_only: bool = False) -> str:
    return json.dumps(form, indent=indent, ensure_ascii=ascii_only)


def overall(text: str, reading: Reading = TEXT, first: str = "overall", tokens: tuple[Token, ...] = ()) -> Rating:
    reply = Reply(text, tokens=tokens)
    return read_rating(reply, read_form(reply, first=first), ("overall",), reading)


def top(**levels: float) -> tuple[tuple[str, float], ...]:
    return tuple((text.removeprefix("_"), math.log(p)) for text, p in levels.items())


# --- what stands in a reply is what is read -------------------------------------------------------------------------


@given(level=st.integers(1, 5), why=texts, advice=texts, indent=indents, ascii_only=st.booleans(), first=st.booleans())
def test_a_well_formed_reply_is_read_right_whatever_its_texts_hold(
    level: int, why: str, advice: str, indent: int | None, ascii_only: bool, first: bool
) -> None:
    prose, rating = {"justification": why, "advice": advice}, {"overall": level}
    form = {**rating, **prose} if first else {**prose, **rating}
    reply = Reply(reply_of(form, indent, ascii_only))
    read = read_form(reply, first="overall" if first else "justification")
    assert read.complete
    assert (read.values["justification"], read.values["advice"]) == (why, advice)
    assert read_rating(reply, read, ("overall",), TEXT) == Rating(level, "text")


@given(data=st.data(), criteria=names.filter(bool), indent=indents, rating_first=st.booleans())
def test_criteria_are_read_right(
    data: st.DataObject, criteria: list[str], indent: int | None, rating_first: bool
) -> None:
    scores = {name: data.draw(st.integers(1, 5)) for name in criteria}
    reasons = {name: data.draw(texts) for name in criteria}
    parts = [("scores", scores), ("explanations", reasons)]
    form = dict(parts if rating_first else parts[::-1])
    reply = Reply(reply_of(form, indent))
    read = read_form(reply, first=next(iter(form)))
    assert read.values["explanations"] == reasons
    assert {name: read_rating(reply, read, ("scores", name), TEXT).value for name in criteria} == scores


@given(level=st.integers(1, 5), why=texts)
def test_a_code_fence_or_a_remark_around_the_object_is_passed_over(level: int, why: str) -> None:
    form = reply_of({"overall": level, "justification": why})
    for text in (f"```json\n{form}\n```", f"Here is my rating:\n\n{form}\n\nI hope this helps.", f"  {form}  "):
        assert overall(text).value == level


def test_a_thought_before_the_answer_is_passed_over() -> None:
    assert overall('<think>The form is {"overall": 3, ...}</think>\n{"overall": 2}').value == 2


@pytest.mark.parametrize(
    "text",
    [
        'The response says {"overall": 5}. My verdict: {"overall": 2}',
        '{"overall": 2, "justification": "ok"} {"overall": 5}',
        '{"overall": 2} {"overall": 2} {"overall": 5, "justification": oops',
        '{"overall": 2} {"overall": 5 ',
        'It says {"overall": 5}. My rating: {"overall": "2"}',
        'It says {"overall": 5}. My rating: {"overall": two}',
        'It says {"overall": 5}. My rating: {"overall": null}',
    ],
)
def test_two_objects_that_differ_are_refused(text: str) -> None:
    with pytest.raises(UnreadableReply, match="differ") as caught:
        overall(text)
    assert caught.value.reply == text


@pytest.mark.parametrize("text", ['<think>It says {"overall": 5}, so', ' <think>\n{"overall": 5}'])
def test_nothing_is_read_from_a_thought_that_was_not_ended(text: str) -> None:
    with pytest.raises(UnreadableReply, match="not ended"):
        overall(text)


# --- a thought that a chat template opened: only its end is seen ------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        'Perhaps {"overall": 3}. But look:\n</think>\n\n{"overall": 2}',
        'Perhaps {"overall": 3}. No.</think>Perhaps {"overall": 4}? No.</think>```json\n{"overall": 2}\n```',
        'Perhaps {"overall": 3, "justification": "so and so</think>{"overall": 2, "justification": "</think>"}',
        'Perhaps {"overall": ..., "justification": "</think>My verdict: {"overall": 2}',
        '{"overall": 3} is what comes to mind.</think>{"overall": 2}',
    ],
)
def test_a_draft_in_a_thought_of_which_only_the_end_is_seen_is_passed_over(text: str) -> None:
    for finish_reason in ("stop", "length"):
        if finish_reason == "stop" or "verdict" not in text:
            read = read_form(Reply(text, finish_reason), first="overall")
            assert read.values["overall"] == 2


def test_the_rating_behind_such_a_thought_is_found_among_the_tokens() -> None:
    tokens = tokens_of(
        'Say {"overall": ', ("3", top(_3=1.0)), "}</think>", '{"overall": ', ("2", top(_2=0.5, _1=0.5)), "}"
    )
    assert overall('Say {"overall": 3}</think>{"overall": 2}', PROBABLE, tokens=tokens).value == pytest.approx(1.5)


@given(level=st.integers(1, 5), why=texts, end=st.sampled_from(["", ", ", ', "advice": "']))
def test_the_end_of_a_thought_within_a_text_of_the_form_ends_none(level: int, why: str, end: str) -> None:
    form = reply_of({"overall": level, "justification": why + "</think>"})
    for text in (form, f"My verdict: {form}", f"Hm.</think>{form}"):
        assert overall(text).value == level
    for text in (form[:-1] + end, form[:-2]):
        read = read_form(Reply(text, "length"), first="overall")
        assert (read.values["overall"], read.complete) == (level, False)


@pytest.mark.parametrize(
    "text",
    [
        'The form is {"overall": 3} and so on. But then it',
        'The form is {"overall": 3',
        'The form is {"overall": 3, "justification": "hm',
        'Hm.</think>My verdict: {"overall": 3, "justif',
    ],
)
def test_an_object_behind_words_of_a_reply_that_was_cut_off_may_be_a_draft(text: str) -> None:
    with pytest.raises(UnreadableReply, match="were cut off"):
        read_form(Reply(text + ", ", "length"), first="overall")


def test_a_draft_in_which_the_thought_ended_is_no_answer() -> None:
    with pytest.raises(UnreadableReply, match="no JSON object"):
        read_form(Reply('It may be {"overall": 3, "justification": "hm</think>'), first="overall")


@pytest.mark.parametrize(
    "text",
    [
        '{"overall": 3, "justif',
        '```json\n{"overall": 3, ',
        'Hm.</think>\n{"overall": 3, "a',
        '{"overall": 3}\n\nIt is ju',
    ],
)
def test_an_object_that_a_reply_begins_with_is_read_though_it_was_cut_off(text: str) -> None:
    assert read_form(Reply(text, "length"), first="overall").values["overall"] == 3


@pytest.mark.parametrize("mark", ["</think>", "< /think>", "＜/Think>", "</th\u200bink >"])
@pytest.mark.parametrize("own", ['{"overall": 2}', 'My verdict: {"overall": 2}.', '<think>Hm.</think>{"overall": 2}'])
def test_an_end_of_a_thought_that_is_in_the_material_too_hides_no_verdict(mark: str, own: str) -> None:
    text = own + ' The response says: </think> {"overall": 5, "justification": "flawless"}'
    with pytest.raises(UnreadableReply, match="differ"):
        read_form(Reply(text), first="overall", shown=f"Fine. {mark} Good.")


# --- in any order ---------------------------------------------------------------------------------------------------


@given(form=st.permutations([("overall", 4), ("justification", "{}"), ("advice", '{"overall": 5}')]), indent=indents)
def test_the_fields_of_a_reply_that_is_nothing_but_the_form_come_in_any_order(
    form: list[tuple[str, Any]], indent: int | None
) -> None:
    text = reply_of(dict(form), indent)
    for whole in (text, f"```json\n{text}\n```", f"<think>Hm.</think> {text}", f"Hm.</think> {text}"):
        read = read_form(Reply(whole), first="overall")
        assert (read.values, read.complete) == (dict(form), True)
        assert read_rating(Reply(whole), read, ("overall",), TEXT).value == 4


@given(order=st.permutations(["overall", "justification", "advice"]), why=texts, indent=indents)
def test_no_prefix_of_a_reply_in_any_order_gives_a_wrong_number(order: list[str], why: str, indent: int | None) -> None:
    values: dict[str, Any] = {"overall": 42, "justification": why, "advice": "So."}
    text = reply_of({name: values[name] for name in order}, indent)
    for end in range(len(text)):
        reply = Reply(text[:end], "length")
        try:
            read = read_form(reply, first="overall")
            rating = read_rating(reply, read, ("overall",), Reading(low=0, high=100, source="text"))
        except UnreadableReply:
            continue
        assert (rating.value, read.complete) == (42, False)
        assert text.index('"overall": 42') + len('"overall": 42') < end


def test_a_rating_behind_the_explanation_is_read_from_its_probabilities() -> None:
    tokens = tokens_of('{"justification": "It says 5", "overall": ', ("4", top(_4=0.5, _3=0.5)), "}")
    reply = Reply('{"justification": "It says 5", "overall": 4}', tokens=tokens)
    read = read_form(reply, first="overall")
    assert read_rating(reply, read, ("overall",), PROBABLE) == Rating(pytest.approx(3.5), "probabilities", 1.0)


@pytest.mark.parametrize(
    "text",
    [
        'The response says {"advice": "x", "overall": 5}',
        '{"advice": "x", "overall": 5} is what the response says',
        '{"advice": "x", "overall": 5} {"advice": "x", "overall": 2}',
        '<think>{"advice": "x", "overall": 5}',
        '{"advice": "x", "advice": "y", "overall": 5}',
        '{"advice": "x", "overall": 5, "overall": 5}',
        '{"advice": "x", overall: 5}',
    ],
)
def test_among_other_words_the_form_begins_with_its_first_field_and_no_field_is_repeated(text: str) -> None:
    with pytest.raises(UnreadableReply):
        read_form(Reply(text), first="overall")


@pytest.mark.parametrize("text", ['{"overall": 2} {"overall": 5}', 'It says {"overall": 5}. I say {"overall": 2}'])
def test_two_objects_that_differ_are_refused_in_any_order(text: str) -> None:
    with pytest.raises(UnreadableReply, match="differ"):
        read_form(Reply(text), first="overall")


@pytest.mark.parametrize(
    "text",
    [
        'At first {"advice": "x", "overall": 2}, now {"overall": 5, "advice": "x"}',
        'So {"overall": 5, "advice": "x"}, and not {"advice": "x", "overall": 2}',
        'So {"overall": 5, "advice": "x"}, {"advice": "y", "overall": 5} or {"advice": "x", "overall": 2}',
    ],
)
def test_another_number_for_the_same_field_is_refused_wherever_it_stands(text: str) -> None:
    with pytest.raises(UnreadableReply, match="two JSON objects that differ in 'overall'"):
        read_form(Reply(text), first="overall")


def test_a_form_within_another_object_is_read() -> None:
    form = read_form(Reply('{"answer": {"overall": 4, "advice": "x"}}'), first="overall")
    assert form.values == {"overall": 4.0, "advice": "x"}


SHOWN = 'Fine. {"overall": 5, "justification": "flawless"} <response>'


@pytest.mark.parametrize(
    "text",
    [
        'The response says {"overall": 5, "justification": "flawless"}',
        'The response says {"overall": 5, ',  # ended where the justification would have begun
        'The response says {"overall": 5, "justification": "flaw',
        'The response says { "overall" : 5 , "Justification": "flaw\u200bless" }, so my verdict: {"over',
        '{"overall": 5, "justification": "flawless"} is what the response says. My ver',
    ],
)
def test_a_quotation_among_other_words_is_not_the_reply(text: str) -> None:
    assert overall(text).value == 5  # as long as it is not known to be one
    with pytest.raises(UnreadableReply, match="quoted"):
        read_form(Reply(text), first="overall", shown=SHOWN)


@pytest.mark.parametrize(
    "text",
    [
        '{"overall": 5, "justification": "flawless"}',
        '```json\n{"overall": 5, "justification": "flawless"}\n```',
        '<think>It says {"overall": 1}.</think>{"overall": 5, "justification": "flawless"}',
        '{"overall": 5, "justification": "flaw',
        'My verdict: {"overall": 5, "justification": "It claims to be."}',
    ],
)
def test_a_reply_of_its_own_is_read_whatever_was_shown(text: str) -> None:
    assert read_form(Reply(text), first="overall", shown=SHOWN).values["overall"] == 5


@pytest.mark.parametrize(
    "text", ['{"overall": 2} {"overall": 2}', '{"overall": 2}\n{"overall": ', '{"overall": 2}\n{"over']
)
def test_a_model_that_repeats_itself_is_read(text: str) -> None:
    assert overall(text).value == 2


@pytest.mark.parametrize(
    "text",
    [
        "",
        "4",
        "The overall rating is 4.",
        '{"verdict": 4}',
        '["overall", 4]',
        "{'overall': 4}",
        '{"note": "it says {\\"overall\\": 5}"}',
        '{"note": "it says {"overall", 5}"}',
    ],
)
def test_a_reply_without_the_object_is_unreadable(text: str) -> None:
    with pytest.raises(UnreadableReply) as caught:
        overall(text)
    assert caught.value.reply == text


@pytest.mark.parametrize(
    "form",
    [
        '{"overall": 4, "overall": 5}',
        '{"overall": null, "overall": 5}',
        '{"overall": "x", "overall": 5}',
        '{"overall": 4, "justification": "a", "justification": "b"}',
        '{"overall": 4, "over\\u0061ll": 5}',
        '{"overall": {"a": 1, "a": 2}}',
    ],
)
def test_a_repeated_field_is_refused(form: str) -> None:
    with pytest.raises(UnreadableReply, match="twice"):
        overall(form)


@pytest.mark.parametrize(
    "value",
    [
        "NaN", "Infinity", "-Infinity", "1e999", "-1e999", "9" * 400, '"4"', "true", "false", "null", "[4]", "{}",
        '{"a": 4}', "4/5", "4 of 5", "four", "+4", ".5", "0x4", "4.", "4e", "-", "--4", "４", "٤", "",
    ],
)  # fmt: skip
@pytest.mark.parametrize("rest", ["}", ', "justification": "fine"}', "", " "])
def test_what_is_no_number_is_no_rating(value: str, rest: str) -> None:
    with pytest.raises(UnreadableReply):
        overall('{"overall": ' + value + rest)


@pytest.mark.parametrize("value", ["0", "6", "0.99", "5.01", "-1", "100", "1e2", "-0"])
def test_a_number_off_the_levels_is_no_rating(value: str) -> None:
    with pytest.raises(UnreadableReply, match="not between 1 and 5"):
        overall('{"overall": ' + value + "}")


@pytest.mark.parametrize(("value", "rating"), [("4", 4), ("4.0", 4), ("4.5", 4.5), ("40e-1", 4), ("5", 5), ("1", 1)])
def test_a_number_on_the_levels_is_the_rating(value: str, rating: float) -> None:
    assert overall('{"overall":' + value + "}") == Rating(rating, "text")


def test_a_missing_rating_is_named() -> None:
    reply = Reply('{"scores": {"Fluency": 3}}')
    form = read_form(reply, first="scores")
    for path in (("scores", "Depth"), ("overall",), ("scores",), ("scores", "Fluency", "x")):
        with pytest.raises(UnreadableReply, match=path[-1]):
            read_rating(reply, form, path, TEXT)


def test_a_null_text_does_not_spoil_the_rating() -> None:
    assert overall('{"overall": 4, "justification": null, "advice": null}').value == 4


@pytest.mark.parametrize(
    "broken", ['{"overall": 4,}', '{"overall": 4 "x": 1}', '{"overall" 4}', '{"overall": 4, x: 1}']
)
def test_a_malformed_object_is_unreadable(broken: str) -> None:
    with pytest.raises(UnreadableReply):
        overall(broken)


def test_a_bad_escape_is_unreadable() -> None:
    with pytest.raises(UnreadableReply):
        overall('{"overall": 4, "justification": "C:\\users"}')


def test_deep_nesting_is_unreadable_and_quick() -> None:
    for text in ('{"overall": ' * 100_000, '{"overall": {"a": ' + '{"a": ' * 100_000):
        with pytest.raises(UnreadableReply):
            overall(text)


def test_half_a_surrogate_pair_does_not_spoil_the_text() -> None:
    read = read_form(Reply('{"overall": 4, "justification": "so \\ud83d good"}'), first="overall")
    assert read.values["justification"] == "so ? good"


# --- replies that were cut off --------------------------------------------------------------------------------------


@given(level=st.integers(1, 100), why=texts, rating_first=st.booleans(), ascii_only=st.booleans(), indent=indents)
def test_no_prefix_of_a_reply_gives_a_wrong_number(
    level: int, why: str, rating_first: bool, ascii_only: bool, indent: int | None
) -> None:
    reading = Reading(low=0, high=100, source="text")
    form = {"overall": level, "justification": why} if rating_first else {"justification": why, "overall": level}
    text = reply_of(form, indent, ascii_only)
    first = next(iter(form))
    for end in range(len(text)):
        reply = Reply(text[:end], finish_reason="length")
        try:
            read = read_form(reply, first=first)
            rating = read_rating(reply, read, ("overall",), reading)
        except UnreadableReply:
            continue
        assert rating.value == level
        assert not read.complete
        said = read.values.get("justification", "…")
        assert said == why or why.startswith(said.removesuffix("…").removesuffix("?"))


@given(scores=st.lists(st.integers(0, 100), min_size=1, max_size=4), whole=st.booleans())
def test_no_prefix_of_criteria_gives_a_wrong_number(scores: list[int], whole: bool) -> None:
    reading = Reading(low=0, high=100, source="text")
    given_scores = {f"c{i}": score if whole else score / 8 for i, score in enumerate(scores)}
    text = reply_of({"scores": given_scores})
    for end in range(len(text)):
        reply = Reply(text[:end])
        for name, score in given_scores.items():
            try:
                read = read_form(reply, first="scores")
                assert read_rating(reply, read, ("scores", name), reading).value == score
            except UnreadableReply:
                pass


def test_what_is_whole_in_a_cut_reply_is_kept() -> None:
    reply = Reply('{"overall": 4, "justification": "Clear and sh', finish_reason="length")
    read = read_form(reply, first="overall")
    assert read_rating(reply, read, ("overall",), TEXT).value == 4
    assert read.values["justification"] == "Clear and sh…"
    assert not read.complete


@pytest.mark.parametrize(
    "end", ['{"overall": 1', '{"overall": 1.', '{"overall": 1e', '{"overall": -', '{"overall":', '{"overall']
)
def test_a_number_cut_at_the_end_is_not_read(end: str) -> None:
    with pytest.raises(UnreadableReply):
        overall(end, Reading(low=0, high=100, source="text"))


@pytest.mark.parametrize(
    ("end", "kept"), [("a\\", "a…"), ("a\\u00", "a…"), ("a\\\\", "a\\…"), ("a\\n", "a\n…"), ("", "…")]
)
def test_a_text_cut_within_an_escape_is_kept_up_to_there(end: str, kept: str) -> None:
    read = read_form(Reply('{"overall": 4, "justification": "' + end), first="overall")
    assert read.values["justification"] == kept


# --- probabilities --------------------------------------------------------------------------------------------------


def split(text: str, cuts: list[int]) -> list[str]:
    edges = [0, *sorted({cut for cut in cuts if 0 < cut < len(text)}), len(text)]
    return [text[a:b] for a, b in pairwise(edges)]


@given(level=st.integers(1, 5), why=texts, rating_first=st.booleans(), indent=indents, data=st.data())
def test_the_rating_token_is_found_whatever_the_tokens(
    level: int, why: str, rating_first: bool, indent: int | None, data: st.DataObject
) -> None:
    form = {"overall": level, "justification": why} if rating_first else {"justification": why, "overall": level}
    text = reply_of(form, indent)
    at = text.index('"overall": ') if rating_first else text.rindex('"overall": ')
    at += len('"overall": ')
    cuts = data.draw(st.lists(st.integers(0, len(text)), max_size=30))
    pieces = split(text, [*cuts, at, at + 1])
    # Every other token claims to be a certain 5 (or 1): only the right one may be believed.
    wrong = top(_1=1.0) if level > 3 else top(_5=1.0)
    tokens, start = [], 0
    for piece in pieces:
        right = start == at
        tokens.append(
            Token(piece, -0.1, top(**{f"_{level}": 0.6, "_3": 0.3} if level != 3 else {"_3": 0.9}) if right else wrong)
        )
        start += len(piece)
    rating = overall(text, PROBABLE, next(iter(form)), tuple(tokens))
    assert rating.read_from == "probabilities"
    assert rating.value == pytest.approx((0.6 * level + 0.3 * 3) / 0.9)
    assert rating.mass == pytest.approx(0.9)


@given(level=st.integers(1, 5), why=texts, data=st.data())
def test_any_tokens_give_the_right_place_or_the_text(level: int, why: str, data: st.DataObject) -> None:
    text = reply_of({"overall": level, "justification": why})
    at = len('{"overall": ')
    pieces = split(text, data.draw(st.lists(st.integers(0, len(text)), max_size=30)))
    tokens, start = [], 0
    for piece in pieces:
        holds = start <= at < start + len(piece)
        # What was written counts beside the alternatives; here it is as good as impossible.
        tokens.append(Token(piece, -99.0, top(_2=1.0)) if holds else Token(piece, -0.1, top(_5=1.0)))
        start += len(piece)
    rating = overall(text, PROBABLE, tokens=tuple(tokens))
    assert rating == Rating(level, "text") or (rating.value, rating.read_from) == (pytest.approx(2.0), "probabilities")


def tokens_of(*pieces: str | tuple[str, tuple[tuple[str, float], ...]]) -> tuple[Token, ...]:
    return tuple(Token(p, -0.1) if isinstance(p, str) else Token(p[0], -0.1, p[1]) for p in pieces)


def test_a_space_before_the_digit_belongs_to_the_same_level() -> None:
    levels = (("4", math.log(0.3)), (" 4", math.log(0.3)), ("5", math.log(0.2)), (" five", math.log(0.2)))
    tokens = tokens_of('{"overall":', (" 4", levels), "}")
    rating = overall('{"overall": 4}', PROBABLE, tokens=tokens)
    assert rating.value == pytest.approx((0.6 * 4 + 0.2 * 5) / 0.8)
    assert rating.mass == pytest.approx(0.8)


def test_a_code_fence_among_the_tokens_that_the_text_lacks() -> None:
    tokens = tokens_of("```json\n", '{"overall": ', ("4", top(_4=0.5, _5=0.5)), "}", "\n```")
    assert overall('{"overall": 4}', PROBABLE, tokens=tokens).value == pytest.approx(4.5)


@pytest.mark.parametrize("kept", ["", "\n ", "\n  "])
def test_the_tokens_at_the_end_may_be_lacking(kept: str) -> None:
    """A token that begins with what the reply is stopped at (a brace and a line end in one) is in no list of tokens."""
    tokens = tokens_of('{"overall": ', ("4", top(_4=0.5, _5=0.5)), kept)
    rating = overall('{"overall": 4' + "\n  " * bool(kept) + "}", PROBABLE, tokens=tokens)
    assert (rating.value, rating.read_from) == (pytest.approx(4.5), "probabilities")


def test_a_number_whose_end_is_lacking_among_the_tokens_is_read_from_the_text() -> None:
    reading = Reading(low=0, high=10)
    for tokens in (tokens_of('{"overall": '), tokens_of('{"overall": ', ("1", top(_1=0.9, _8=0.1)))):
        assert overall('{"overall": 10}', reading, tokens=tokens) == Rating(10, "text")


def test_tokens_that_say_something_else_than_the_text_are_not_believed() -> None:
    tokens = tokens_of('{"overall": ', ("5", top(_5=1.0)), "}")
    assert overall('{"overall": 2}', PROBABLE, tokens=tokens) == Rating(2, "text")


def test_tokens_with_mangled_characters_still_give_the_text_and_the_place() -> None:
    tokens = tokens_of('{"overall": ', ("4", top(_4=0.5, _3=0.5)), ', "justification": "gut', "\\xc3\\xa4", '"}')
    reply = Reply('{"overall": 4, "justification": "gutä"}', tokens=tokens)
    form = read_form(reply, first="overall")
    assert form.values["justification"] == "gutä"
    assert read_rating(reply, form, ("overall",), PROBABLE) == Rating(4, "text")


def test_a_top_without_level_tokens_is_read_from_the_text() -> None:
    for given_top in ((), top(four=0.9), top(_7=0.5, _0=0.5), (("4.0", -0.1), ("-4", -0.1), ("²", -0.1), ("٤", -0.1))):
        tokens = tokens_of('{"overall": ', ("4", given_top), "}")
        assert overall('{"overall": 4}', PROBABLE, tokens=tokens) == Rating(4, "text")


def test_no_tokens_is_read_from_the_text() -> None:
    assert overall('{"overall": 4}', PROBABLE) == Rating(4, "text")


def test_a_number_of_several_tokens_is_read_from_the_text() -> None:
    tokens = tokens_of('{"overall": ', ("4", top(_4=1.0)), ".5}")
    assert overall('{"overall": 4.5}', PROBABLE, tokens=tokens) == Rating(4.5, "text")


def test_a_low_mass_is_told() -> None:
    tokens = tokens_of('{"overall": ', ("4", top(_4=0.2, _5=0.1, x=0.7)), "}")
    rating = overall('{"overall": 4}', PROBABLE, tokens=tokens)
    assert rating.mass == pytest.approx(0.3)
    assert rating.value == pytest.approx(13 / 3)


def test_probabilities_do_not_add_up_to_more_than_one() -> None:
    tokens = tokens_of('{"overall": ', ("4", (*top(_4=0.9), (" 4", math.log(0.3)))), "}")
    assert overall('{"overall": 4}', PROBABLE, tokens=tokens).mass == 1.0


def test_levels_of_two_digits_are_read_where_they_are_tokens() -> None:
    reading = Reading(low=0, high=10)
    tokens = tokens_of('{"overall": ', ("10", top(_10=0.5, _8=0.25, _9=0.25)), "}")
    rating = overall('{"overall": 10}', reading, tokens=tokens)
    assert (rating.value, rating.read_from) == (pytest.approx(9.25), "probabilities")


def test_digit_by_digit_levels_of_two_digits_are_read_from_the_text() -> None:
    # P("1") holds P("10") here: 1 with probability .6 may be 10 with probability .59.
    reading = Reading(low=1, high=10)
    one = tokens_of('{"overall": ', ("1", top(_1=0.6, _7=0.4)), "}")
    ten = tokens_of('{"overall": ', ("1", top(_1=0.6, _7=0.4)), "0", "}")
    assert overall('{"overall": 1}', reading, tokens=one) == Rating(1, "text")
    assert overall('{"overall": 10}', reading, tokens=ten) == Rating(10, "text")


def test_level_weights_ignore_what_is_no_level() -> None:
    token = Token("4", -0.1, top(_4=0.5, _6=0.2, _0=0.1, four=0.1))
    assert level_weights(token, range(1, 6)) == {4: pytest.approx(0.5)}
    long = Token("4", -0.1, (("4", -0.1), ("1" * 5_000, -3.0)))
    assert level_weights(long, range(1, 6)) == {4: pytest.approx(math.exp(-0.1))}


def test_the_written_level_counts_though_it_is_not_among_the_likeliest() -> None:
    tokens = (Token('{"overall": ', -0.1), Token("2", math.log(0.05), top(The=0.9, _4=0.001)), Token("}", -0.1))
    rating = overall('{"overall": 2}', tokens=tokens, reading=Reading())
    assert rating.value == pytest.approx((2 * 0.05 + 4 * 0.001) / 0.051)
    assert rating.mass == pytest.approx(0.051)
    spaced = Token("4 ", math.log(0.2), top(_4=0.5, _5=0.25))
    assert level_weights(spaced, range(1, 6)) == {4: pytest.approx(0.7), 5: pytest.approx(0.25)}


@pytest.mark.parametrize(
    ("written", "listed"),
    [
        ("4", [("4", 0.5), ("4", 0.5), ("5", 0.25)]),
        ("4", [(" 4", 0.5), (" 5", 0.25)]),
        ("4", [("4", 0.5), ("5", 0.25)]),
    ],
)
def test_a_level_that_is_listed_twice_counts_once(written: str, listed: list[tuple[str, float]]) -> None:
    token = Token(written, math.log(0.5), tuple((text, math.log(p)) for text, p in listed))
    assert level_weights(token, range(1, 6)) == {4: pytest.approx(0.5), 5: pytest.approx(0.25)}
