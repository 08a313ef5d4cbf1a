from __future__ import annotations

import copy
import dataclasses
import pickle

import pytest

from active_critic import errors
from active_critic.data import read_examples
from active_critic.records import CriterionVerdict, Example, Scale, Verdict, same_name


@pytest.mark.parametrize(
    "verdict",
    [
        Verdict(unscored="it could not be read"),
        Verdict(score=3.5, criteria=(CriterionVerdict("Tone", 3.0),), interval=(2.0, 5.0), parts={"rating": 0.5}),
    ],
)
def test_a_verdict_can_be_sent_copied_and_written_down(verdict: Verdict) -> None:
    assert pickle.loads(pickle.dumps(verdict)) == verdict
    assert copy.deepcopy(verdict) == verdict
    assert dataclasses.asdict(verdict)["score"] == verdict.score
    assert hash(verdict) == hash(copy.copy(verdict))
    assert verdict.to_dict()["parts"] == dict(verdict.parts)


def test_examples_can_be_sent_copied_and_put_into_a_set() -> None:
    read = read_examples([{"response": f"a {i}", "score": i, "aspect_tone": 3} for i in (1, 2)], scale="1..5")
    for given in (Example("a"), read[0], read):
        sent = pickle.loads(pickle.dumps(given))
        assert sent == given == copy.deepcopy(given)
        assert len({given, sent}) == 1
    assert (sent.fields, sent[0].aspects, sent[0].record) == (read.fields, {"tone": 3.0}, read[0].record)
    assert dataclasses.asdict(read[0])["aspects"] == {"tone": 3.0}
    assert len({*read}) == 2


def test_errors_can_be_sent() -> None:
    given: list[Exception] = [errors.DataError("what", path="a.csv", row=3, column="score")]
    given.append(errors.RateLimited("slow down", retry_after=2.0))
    given.append(errors.UnreadableReply("no number", reply="good"))
    for error in given:
        sent = pickle.loads(pickle.dumps(error))
        assert (type(sent), str(sent), vars(sent)) == (type(error), str(error), vars(error))


@pytest.mark.parametrize(
    ("low", "high", "said"), [(5, 1, "from low to high, not 5..1"), (1, 1.001, "the scale 1..1.001 is too narrow")]
)
def test_what_is_no_scale_is_an_error_of_ours(low: float, high: float, said: str) -> None:
    with pytest.raises(errors.DataError, match=said):
        Scale(low=low, high=high)
    with pytest.raises(errors.DataError, match="is not a scale" if low > high else said):
        Scale.parse(f"{low}..{high}")


@pytest.mark.parametrize("odd", [float("nan"), float("inf"), -float("inf")])
def test_a_scale_has_two_ends(odd: float) -> None:
    for ends in ({"low": odd, "high": 5}, {"low": 1, "high": odd}):
        with pytest.raises(errors.DataError, match=rf"a scale runs from low to high, and (low|high) is {odd:g}"):
            Scale(**ends)


@pytest.mark.parametrize("odd", [None, 5, (1, 5)])
def test_a_scale_that_is_no_text_is_not_read(odd: object) -> None:
    with pytest.raises(errors.DataError, match=r"is not a scale; write LOW\.\.HIGH"):
        Scale.parse(odd)  # type: ignore[arg-type]


def test_a_verdict_has_a_score_or_a_reason() -> None:
    for score, unscored in ((None, None), (3.0, "why not")):
        with pytest.raises(ValueError, match="either a score or a reason"):
            Verdict(score=score, unscored=unscored)
    with pytest.raises(ValueError, match="finite"):
        Verdict(score=float("nan"))


def test_examples_are_equal_by_what_they_hold() -> None:
    assert Example("a", "b", 1.0) == Example("a", "b", 1.0)
    assert Example("a", "b", 1.0) != Example("a", "b", 2.0)


@pytest.mark.parametrize("text", ["-4.9..-2", "-4.8..0.6", "0..0.69", "0..5.27", "1..5"])
def test_the_best_score_is_exactly_a_hundred_percent(text: str) -> None:
    scale = Scale.parse(text)
    assert scale.to_percent(scale.high) == 100
    assert scale.to_percent(scale.high + 1) > 100


def test_names_are_the_same_whatever_their_case_and_their_blanks() -> None:
    assert same_name(" Tone\nof  VOICE") == same_name("tone of voice")
    assert same_name("STRASSE") == same_name("Straße")
    assert same_name("Tone") != same_name("Tones")
