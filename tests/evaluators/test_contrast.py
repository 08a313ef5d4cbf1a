"""The contrast: how much likelier a text is after texts that people liked than after texts that they did not."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from simulated import simulated_lm

from active_critic.data.examples import folds, group_of
from active_critic.errors import BudgetSpent, ContextOverflow, FitError, ModelError, ProtocolError, RequestRefused
from active_critic.evaluators import ActiveCritic, load
from active_critic.evaluators._contrast import (
    EACH,
    FEWEST,
    FOR_LEVEL,
    ROOM,
    Contrasted,
    choose,
    contrast_turns,
    copied_from,
    take_contrast,
)
from active_critic.lm import LanguageModel, Turn
from active_critic.lm.likelihood import Likelihood
from active_critic.protocols import CriticProtocol, Demo
from active_critic.records import Example, Scale, Usage

SCALE = Scale(low=0, high=5)
SMALL: dict[str, Any] = {"candidates": 1, "mode": "coarse", "max_batches": 1, "report": False, "journal": None}
AUTO: dict[str, Any] = {**SMALL, "use_contrast": "auto"}
KINDS = ("rain", "wind", "snow", "fog")


def example(i: int, score: float, words: str = "") -> Example:
    return Example(f"text {i} {words or KINDS[i % len(KINDS)]}", f"question {i}", score)


def examples(n: int = 24) -> list[Example]:
    """People like what is about rain, and do not like what is about fog."""
    return [example(i, (4.5, 3.0, 2.0, 0.5)[i % 4] + 0.01 * (i // 4)) for i in range(n)]


def taking_after(turns: list[Turn], text: str) -> list[float]:
    """The model finds a word likelier when it stands in the texts before, as one that goes on in their manner does."""
    before = " ".join(said for role, said in turns if role == "assistant").split()
    return [-1.0 if word in before else -1.6 for word in text.split()]


def contrasting_lm(likelihood: Any = taking_after, **how: Any) -> LanguageModel:
    return simulated_lm(lambda response, turns: 3.0, likelihood=likelihood, **how)


def counting(seen: list[int]) -> LanguageModel:
    """A contrasting model that notes how many turns are before each text that it weighs."""

    def weigh(turns: list[Turn], text: str) -> list[float]:
        seen.append(len(turns))
        return taking_after(turns, text)

    return contrasting_lm(weigh)


def demo_of(response: str, source: str) -> Demo:
    return Demo(source=source, response=response, score=100, example_id=response)


def likelihood(*logprobs: float) -> Likelihood:
    return Likelihood.of(logprobs, "forced", Usage(calls=1, prompt_tokens=7))


# --- one text ---------------------------------------------------------------------------------------------------------


def test_it_is_the_mean_difference_of_the_tokens_each_within_one_nat() -> None:
    read = Contrasted.of(likelihood(-1.0, -9.0, -2.0, -0.5), likelihood(-1.5, -2.0, -8.0, -0.25))
    assert read.value == pytest.approx((0.5 - 1.0 + 1.0 - 0.25) / 4)
    assert (read.usage.calls, read.usage.prompt_tokens) == (2, 14)


def test_tokens_are_paired_from_the_end() -> None:
    read = Contrasted.of(likelihood(-7.0, -1.0, -2.0), likelihood(-1.5, -2.25))
    assert read.value == pytest.approx((0.5 + 0.25) / 2)


def test_a_response_follows_the_texts_of_a_side_each_as_the_reply_to_its_own_source() -> None:
    chosen = choose(examples(), SCALE, None)
    assert chosen is not None
    turns = contrast_turns(chosen.liked, Example("mine", "my question"))
    assert [role for role, _ in turns] == ["user", "assistant"] * EACH + ["user"]
    for (_, asked), (_, said), demo in zip(turns[::2], turns[1::2], chosen.liked, strict=False):
        assert f"<source>\n{demo.source}\n</source>" in asked
        assert said == demo.response
    assert "my question" in turns[-1][1]
    assert not any("mine" in said for _, said in turns)


def test_a_text_never_follows_itself_however_it_is_spaced() -> None:
    chosen = choose(examples(), SCALE, None)
    assert chosen is not None
    demo = chosen.liked[1]
    turns = contrast_turns(chosen.liked, Example(demo.response.replace(" ", "  "), demo.source + "\n"))
    said = [text for role, text in turns if role == "assistant"]
    assert said == [other.response for other in chosen.liked if other != demo]


def test_what_a_text_has_in_common_with_one_of_a_side_is_of_its_words_or_of_those() -> None:
    side = [demo_of("one two three four five", "a source"), demo_of("six seven eight", "another")]
    for text, share in [
        ("One two three four five", 1.0),
        ("before that: six seven eight, and more", 1.0),
        ("two three four", 1.0),
        ("zero one two three four zero", 2 / 3),
        ("one three two five four", 0.0),
        ("six seven", 0.0),
    ]:
        assert copied_from(side, Example(text, "mine")) == pytest.approx(share), text
    assert copied_from(side, Example("six seven eight", "another")) == 0.0  # it does not follow itself


# --- which texts ------------------------------------------------------------------------------------------------------


def test_the_texts_are_those_with_the_highest_and_the_lowest_scores() -> None:
    data = examples()
    chosen = choose(data, SCALE, None)
    assert chosen is not None
    by_score = sorted(data, key=lambda one: one.score or 0.0)
    assert [demo.response for demo in chosen.liked] == [one.response for one in by_score[::-1][:EACH]]
    assert [demo.response for demo in chosen.disliked] == [one.response for one in by_score[:EACH]]
    assert chosen.liked[0].score == pytest.approx(20 * (by_score[-1].score or 0.0))


def test_the_texts_of_a_side_are_of_different_documents_as_long_as_there_are_any() -> None:
    data = [replace(one, group=f"d{i // 8}") for i, one in enumerate(examples())]
    chosen = choose(data, SCALE, None)
    assert chosen is not None
    assert sorted(str(demo.group) for demo in chosen.liked) == ["d0", "d1", "d2", "d2"]


def test_where_the_best_of_one_document_is_worse_than_the_worst_of_another_documents_do_not_count() -> None:
    data = [replace(one, score=float(i), group=f"d{i // 8}") for i, one in enumerate(examples())]
    chosen = choose(data, Scale(low=0, high=30), None)
    assert chosen is not None
    assert [demo.response for demo in chosen.liked] == [one.response for one in data[: -EACH - 1 : -1]]
    assert [demo.response for demo in chosen.disliked] == [one.response for one in data[:EACH]]


def test_among_equals_the_order_of_rows_decides_nothing() -> None:
    data = [example(i, float(i % 2)) for i in range(20)]
    assert choose(data, SCALE, None) == choose(data[::-1], SCALE, None)


@pytest.mark.parametrize(("n", "each"), [(5, 0), (6, 2), (8, 2), (9, 3), (11, 3), (12, 4), (100, 4)])
def test_a_side_has_a_third_of_the_examples_at_most(n: int, each: int) -> None:
    chosen = choose(examples(n), SCALE, None)
    assert (0 if chosen is None else len(chosen.liked)) == each
    assert chosen is None or len(chosen.disliked) == each
    assert FEWEST <= each <= EACH or each == 0


@pytest.mark.parametrize(("length", "each"), [(ROOM // 4, 4), (ROOM // 3, 3), (ROOM // 2, 2), (ROOM // 2 + 1, 0)])
def test_long_texts_are_fewer_and_too_long_ones_none(length: int, each: int) -> None:
    data = [replace(one, response=one.response.ljust(length - len(one.source), "x")) for one in examples()]
    chosen = choose(data, SCALE, None)
    assert (0 if chosen is None else len(chosen.liked)) == each
    assert choose(data, SCALE, 100) is None  # nothing fits a quarter of such a window


def test_there_are_none_where_all_scores_are_the_same_or_nothing_is_said() -> None:
    assert choose([example(i, 3.0) for i in range(20)], SCALE, None) is None
    assert choose([replace(one, response=" ") for one in examples()], SCALE, None) is None


# --- the examples of a fit --------------------------------------------------------------------------------------------


def test_an_example_follows_texts_of_other_documents_alone_and_is_weighed_twice() -> None:
    data = [replace(one, group=f"d{i // 3}") for i, one in enumerate(examples())]
    asked: list[tuple[str, list[str]]] = []

    def weigh(turns: list[Turn], text: str) -> list[float]:
        asked.append((text, [said for role, said in turns if role == "assistant"]))
        return taking_after(turns, text)

    found = take_contrast(contrasting_lm(weigh), data, SCALE, seed=0, progress=None)
    assert found is not None
    by_text = {one.response: one for one in data}
    own = [(by_text[text], [by_text[said] for said in before]) for text, before in asked if text in by_text]
    of_fit, for_new = own[: 2 * len(data)], own[2 * len(data) :]
    assert sorted(one.response for one, _ in of_fit) == sorted([*by_text, *by_text])
    for one, before in of_fit:
        assert len(before) == EACH
        assert group_of(one) not in {group_of(other) for other in before}
    # What begins alike is asked one after the other: each of three parts with two sides.
    starts = [before for _, before in own]
    assert sum(one != other for one, other in itertools.pairwise(starts)) == 2 * 3 + 2 - 1
    # The level of new texts is that of the examples that they do not follow.
    assert found[0].model_copy(update={"level": 0.0, "copied": 1.0}) == choose(data, SCALE, None)
    shown = {demo.response for side in found[0].sides.values() for demo in side}
    assert sorted({one.response for one, _ in for_new}) == sorted(set(by_text) - shown)


def test_some_of_many_examples_tell_the_level() -> None:
    asked: list[str] = []

    def weigh(turns: list[Turn], text: str) -> list[float]:
        asked.append(text)
        return taking_after(turns, text)

    data = examples(60)
    found = take_contrast(contrasting_lm(weigh), data, SCALE, seed=0, progress=None)
    assert found is not None
    own = [text for text in asked if text in {one.response for one in data}]
    assert len(own) == 2 * (len(data) + FOR_LEVEL)
    shown = {demo.response for side in found[0].sides.values() for demo in side}
    assert len(set(own[2 * len(data) :]) - shown) == FOR_LEVEL
    everybody = take_contrast(contrasting_lm(), data[:FOR_LEVEL], SCALE, seed=0, progress=None)
    assert everybody is not None
    assert found[0].level == pytest.approx(everybody[0].level, abs=0.1)


def test_what_resembles_liked_texts_is_above_the_mean_and_what_resembles_disliked_ones_below() -> None:
    data = examples()
    found = take_contrast(contrasting_lm(), data, SCALE, seed=0, progress=None)
    assert found is not None
    values = {one.response.split()[-1]: came.value for one, came in zip(data, found[1], strict=True) if came}
    assert values["rain"] == pytest.approx(-values["fog"])
    assert values["rain"] > 0.1
    assert values["wind"] == values["snow"] == pytest.approx(0.0)
    parts = folds(data, 3, 0)
    for part in parts:
        assert sum(came.value for i in part if (came := found[1][i])) == pytest.approx(0.0)


def test_other_texts_have_another_level_and_it_does_not_count() -> None:
    def louder(turns: list[Turn], text: str) -> list[float]:
        """All is likelier after the texts that people liked, whatever it is."""
        raised = 0.25 if any("rain" in said for role, said in turns if role == "assistant") else 0.0
        return [value + raised for value in taking_after(turns, text)]

    plain, raised = (
        take_contrast(contrasting_lm(weigh), examples(), SCALE, seed=0, progress=None)
        for weigh in (taking_after, louder)
    )
    assert plain is not None
    assert raised is not None
    assert raised[0].level == pytest.approx(plain[0].level + 0.25)
    assert [came.value for came in raised[1] if came] == pytest.approx([came.value for came in plain[1] if came])
    new = [example(i, 0.0) for i in range(100, 108)]
    scores = []
    for weigh in (taking_after, louder):
        critic = ActiveCritic(contrasting_lm(weigh), use_likelihood="never", **AUTO).fit(examples(40), scale="0..5")
        assert "contrast" in critic.fitted.calibration.shares
        scores.append([verdict.score for verdict in critic.score_many(new, explain=False)])
    assert scores[0] == pytest.approx(scores[1])
    assert sum(scores[0]) / len(new) == pytest.approx(critic.fitted.calibration.intercept, abs=0.3)


def test_what_cannot_be_weighed_has_none_and_the_others_have() -> None:
    def weigh(turns: list[Turn], text: str) -> list[float]:
        if text.startswith("text 7 "):
            raise ContextOverflow("no room")
        return taking_after(turns, text)

    found = take_contrast(contrasting_lm(weigh), examples(), SCALE, seed=0, progress=None)
    assert found is not None
    assert [i for i, came in enumerate(found[1]) if came is None] == [7]


def test_a_copy_has_more_in_common_with_a_liked_text_than_half_way_from_the_most_of_any_example() -> None:
    found = take_contrast(contrasting_lm(), examples(), SCALE, seed=0, progress=None)
    assert found is not None
    assert found[0].copied == 0.5  # no run of three words of any example is one of another
    liked = " it is so, all of it and ever"
    alike = [replace(one, response=one.response + liked * ("rain" in one.response)) for one in examples()]
    found = take_contrast(contrasting_lm(), alike, SCALE, seed=0, progress=None)
    assert found is not None
    assert found[0].copied == pytest.approx((1 + 7 / 9) / 2)  # all but "text", its number and what follows


# --- a fit ------------------------------------------------------------------------------------------------------------


def test_it_counts_where_it_tells_what_people_like_and_nothing_else_does(tmp_path: Path) -> None:
    lm = contrasting_lm()
    critic = ActiveCritic(lm, **AUTO).fit(examples(40), scale="0..5")
    program = critic.fitted
    shares = program.calibration.shares
    assert max(shares, key=shares.__getitem__) == "contrast"
    texts = program.contrast.model_copy(update={"level": 0.0, "copied": 1.0, "likelihood": False})
    assert texts == choose(examples(40), SCALE, lm.context)
    assert {demo.example_id for demo in program.contrast.liked} <= program.shown
    new = [Example("text 99 rain", "question 99"), Example("text 98 fog", "question 98")]
    rain, fog = critic.score_many(new)
    assert rain.score is not None
    assert fog.score is not None
    assert rain.score > fog.score + 1
    assert rain.parts["contrast"] > 0 > fog.parts["contrast"]
    assert "contrast" in critic.signature
    loaded = load(critic.save(tmp_path / "p.json"), contrasting_lm(), journal=None)
    assert [verdict.to_dict() for verdict in loaded.score_many(new)] == [rain.to_dict(), fog.to_dict()]


@pytest.mark.parametrize("how", ["{copy}", "text 99 fog\n\n{copy}"])
def test_a_copy_of_a_liked_text_is_not_paid_for_it(how: str) -> None:
    critic = ActiveCritic(contrasting_lm(), **AUTO).fit(examples(40), scale="0..5")
    program = critic.fitted
    copy = Example(how.format(copy=program.contrast.liked[0].response), "question 99")
    rain = next(critic.score_many([Example("text 99 rain", "question 99")]))
    (held,) = critic.score_many([copy])
    assert held.parts["contrast"] == 0
    assert rain.parts["contrast"] > 0
    assert any("copies a text that people liked" in note for note in held.notes)
    assert not any("copies" in note for note in rain.notes)
    of_before = program.model_copy(update={"contrast": program.contrast.model_copy(update={"copied": 1.0})})
    (paid,) = ActiveCritic.from_protocol(of_before, contrasting_lm(), journal=None).score_many([copy])
    assert paid.parts["contrast"] > 0
    assert paid.score > held.score


def test_what_is_read_after_a_liked_text_is_not_paid_for_copying_it() -> None:
    """The likelihood and the figures of the tokens are read there, too."""

    def remembering(turns: list[Turn], text: str) -> list[float]:
        """What stands before is certain, as a whole."""
        said = [said for role, said in turns if role == "assistant"]
        return [0.0] * len(text.split()) if text in said else [2 * value for value in taking_after(turns, text)]

    always: dict[str, Any] = {"use_likelihood": "always", "use_contrast": "always", **SMALL}
    program = ActiveCritic(contrasting_lm(remembering), **always).fit(examples(40), scale="0..5").fitted
    copy = Example(program.contrast.liked[0].response, "question 99")
    (held,) = ActiveCritic.from_protocol(program, contrasting_lm(remembering), journal=None).score_many([copy])
    assert max(held.parts[name] for name in ("contrast", "likelihood", "tokens")) <= 0
    unheld = program.model_copy(update={"contrast": program.contrast.model_copy(update={"copied": 1.0})})
    (paid,) = ActiveCritic.from_protocol(unheld, contrasting_lm(remembering), journal=None).score_many([copy])
    assert sum(paid.parts[name] - held.parts[name] for name in ("likelihood", "tokens")) > 0


def test_a_copy_that_the_contrast_speaks_against_stays_as_low_as_it_is() -> None:
    program = ActiveCritic(contrasting_lm(), **AUTO).fit(examples(40), scale="0..5").fitted
    copy = Example(f"{program.contrast.liked[0].response} {' fog' * 40}", "question 99")
    (verdict,) = ActiveCritic.from_protocol(program, contrasting_lm(), journal=None).score_many([copy])
    assert verdict.parts["contrast"] < 0


def test_the_likelihood_is_what_the_contrast_is_read_from(tmp_path: Path) -> None:
    """Two questions a text tell both; three would cost half as much again."""
    seen: list[int] = []
    lm = counting(seen)
    _ = lm.gives_likelihood
    seen.clear()
    always: dict[str, Any] = {"use_likelihood": "always", "use_contrast": "always", **SMALL}
    critic = ActiveCritic(lm, **always).fit(examples(40), scale="0..5")
    assert min(seen) > 1
    seen.clear()
    (verdict,) = critic.score_many([Example("text 99 rain", "question 99")], explain=False)
    assert [turns > 1 for turns in seen] == [True, True]
    assert {"contrast", "likelihood", "tokens"} <= verdict.parts.keys()
    # It does not depend on which side a word stands in: rain and fog are as likely to it.
    rain, fog = critic.score_many([Example("text 99 rain", "q"), Example("text 99 fog", "q")], explain=False)
    assert rain.parts["likelihood"] == fog.parts["likelihood"]
    assert rain.parts["tokens"] == fog.parts["tokens"]
    loaded = load(critic.save(tmp_path / "p.json"), contrasting_lm(), journal=None)
    assert loaded.score("text 99 rain", "question 99", explain=False).to_dict() == verdict.to_dict()


def test_a_program_of_before_weighs_its_texts_a_third_time_by_themselves() -> None:
    always: dict[str, Any] = {"use_likelihood": "always", "use_contrast": "always", **SMALL}
    program = ActiveCritic(contrasting_lm(), **always).fit(examples(40), scale="0..5").fitted
    document = program.model_dump(mode="json")
    del document["contrast"]["likelihood"]
    seen: list[int] = []
    lm = counting(seen)
    _ = lm.gives_likelihood
    seen.clear()
    of_before = ActiveCritic.from_protocol(CriticProtocol.model_validate(document), lm, journal=None)
    of_before.score("text 99 rain", "question 99", explain=False)
    assert sorted(turns > 1 for turns in seen) == [False, True, True]


def test_where_the_contrast_is_worth_too_little_the_likelihood_is_read_by_itself() -> None:
    """Two likelihoods a text would be paid for one."""
    data = [Example(f"{'long ' * (i % 7)}text {i}", f"question {i}", float(i % 7)) for i in range(300)]
    seen: list[int] = []

    def weigh(turns: list[Turn], text: str) -> list[float]:
        """Long texts are likelier, whatever comes before."""
        seen.append(len(turns))
        return [-3.0 + 0.2 * text.count("long")] * len(text.split())

    settings: dict[str, Any] = {"demos": 0, "use_approval": "never", "use_surface": "never", **SMALL}
    critic = ActiveCritic(contrasting_lm(weigh), use_contrast="auto", **settings).fit(data, scale="0..6")
    shares = critic.fitted.calibration.shares
    assert "likelihood" in shares
    assert "contrast" not in shares
    assert critic.fitted.contrast is None
    assert any(note.endswith("below 5%: contrast") for note in critic.fitted.provenance.notes)
    seen.clear()
    assert critic.score("long text 1000", "question 1000", explain=False).score is not None
    assert seen == [1]
    always = ActiveCritic(contrasting_lm(weigh), use_contrast="always", **settings).fit(data, scale="0..6").fitted
    assert always.contrast.likelihood
    assert {"likelihood", "contrast"} <= always.calibration.shares.keys()


def test_where_the_likelihood_cannot_be_paid_for_by_itself_it_stays_what_the_contrast_is_read_from() -> None:
    data = [Example(f"{'long ' * (i % 7)}text {i}", f"question {i}", float(i % 7)) for i in range(300)]

    def weigh(turns: list[Turn], text: str) -> list[float]:
        if len(turns) == 1 and "text" in text:
            raise BudgetSpent("all is spent")
        return [-3.0 + 0.2 * text.count("long")] * len(text.split())

    settings: dict[str, Any] = {"demos": 0, "use_approval": "never", "use_surface": "never", **SMALL}
    program = ActiveCritic(contrasting_lm(weigh), use_contrast="auto", **settings).fit(data, scale="0..6").fitted
    assert "likelihood" in program.calibration.shares
    assert program.contrast.likelihood
    said = "the contrast is read for the likelihood alone, which by itself is not paid for: all is spent"
    assert said in program.provenance.notes
    assert next(ActiveCritic.from_protocol(program, contrasting_lm(weigh), journal=None).score_many(data[:1])).score


def test_where_too_few_examples_have_a_contrast_the_likelihood_is_read_by_itself() -> None:
    def weigh(turns: list[Turn], text: str) -> list[float]:
        if len(turns) > 1 and "rain" in text:
            raise ContextOverflow("no room")
        return taking_after(turns, text)

    critic = ActiveCritic(contrasting_lm(weigh), use_likelihood="always", **AUTO).fit(examples(40), scale="0..5")
    assert "the score is read without the contrast: only 30 of 40 examples have one" in critic.fitted.provenance.notes
    assert "likelihood" in critic.fitted.calibration.shares
    assert critic.fitted.contrast is None


def test_all_texts_are_weighed_after_one_side_before_the_other_comes() -> None:
    critic = ActiveCritic(contrasting_lm(), **AUTO).fit(examples(40), scale="0..5")
    seen: list[tuple[str, int]] = []

    def weigh(turns: list[Turn], text: str) -> list[float]:
        seen.append((next((said for role, said in turns if role == "assistant"), ""), len(turns)))
        return taking_after(turns, text)

    lm = contrasting_lm(weigh)
    _ = lm.gives_likelihood
    seen.clear()
    before = lm.usage
    program, new = critic.fitted, [example(i, 0.0) for i in range(100, 106)]
    verdicts = list(ActiveCritic.from_protocol(program, lm, journal=None).score_many(new, explain=False))
    after = [first for first, turns in seen if turns > 1]
    assert after == [program.contrast.liked[0].response] * 6 + [program.contrast.disliked[0].response] * 6
    assert sum(verdict.usage.calls for verdict in verdicts) == (lm.usage - before).calls


def test_without_it_nothing_follows_anything() -> None:
    seen: list[int] = []
    critic = ActiveCritic(counting(seen), **SMALL).fit(examples(), scale="0..5")
    assert "contrast" not in critic.fitted.calibration.shares
    assert critic.fitted.contrast is None
    assert max(seen) == 1


def test_too_few_examples_or_documents_leave_it_out_with_a_note_and_fail_where_it_is_always_to_be_used() -> None:
    alone = [replace(one, group="the same") for one in examples()]
    for data in (examples(8), alone):
        critic = ActiveCritic(contrasting_lm(), **AUTO).fit(data, scale="0..5")
        assert "contrast" not in critic.fitted.calibration.shares
        (note,) = [note for note in critic.fitted.provenance.notes if "contrast" in note]
        assert note.startswith("the score is read without the contrast: it takes two texts with high scores")
        with pytest.raises(FitError, match="two texts with high scores and two with low ones"):
            ActiveCritic(contrasting_lm(), use_contrast="always", **SMALL).fit(data, scale="0..5")


def test_where_it_could_not_be_paid_for_the_fit_goes_on_without_it() -> None:
    def weigh(turns: list[Turn], text: str) -> list[float]:
        if len(turns) > 1:
            raise BudgetSpent("all is spent")
        return taking_after(turns, text)

    critic = ActiveCritic(contrasting_lm(weigh), **AUTO).fit(examples(), scale="0..5")
    assert "contrast" not in critic.fitted.calibration.shares
    assert critic.fitted.contrast is None
    assert "the score is read without the contrast: all is spent" in critic.fitted.provenance.notes


def test_a_model_without_likelihood_is_refused_for_it_by_name() -> None:
    with pytest.raises(RequestRefused, match="no token log-probabilities of a given text"):
        ActiveCritic(simulated_lm(), use_contrast="always", **SMALL).fit(examples(), scale="0..5")
    how: dict[str, Any] = {"use_likelihood": "never", "use_contrast": "always"}
    program = ActiveCritic(contrasting_lm(), **how, **SMALL).fit(examples(), scale="0..5").fitted
    with pytest.raises(ModelError, match=r"or with --use-contrast never$"):
        list(ActiveCritic.from_protocol(program, simulated_lm(), journal=None).score_many(examples(2)))


def test_a_program_without_its_texts_is_refused() -> None:
    critic = ActiveCritic(contrasting_lm(), use_contrast="always", **SMALL).fit(examples(), scale="0..5")
    bare = critic.fitted.model_copy(update={"contrast": None})
    with pytest.raises(ProtocolError, match="a contrast whose texts are missing; fit it again"):
        ActiveCritic.from_protocol(bare, contrasting_lm(), journal=None).score("a text", "a question")


def test_one_side_that_cannot_be_weighed_leaves_the_text_unscored_with_the_reason() -> None:
    critic = ActiveCritic(contrasting_lm(), use_contrast="always", **SMALL).fit(examples(), scale="0..5")

    def weigh(turns: list[Turn], text: str) -> list[float]:
        if "huge" in text and len(turns) > 1:
            raise ContextOverflow("no room")
        return taking_after(turns, text)

    new = [Example("a huge text", "q"), Example("another text", "q")]
    judge = ActiveCritic.from_protocol(critic.fitted, contrasting_lm(weigh), journal=None)
    huge, other = judge.score_many(new, explain=False)
    assert (huge.score, other.unscored) == (None, None)
    assert (huge.unscored or "").startswith("after liked texts: ")
