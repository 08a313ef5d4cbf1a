"""What the model calls good whatever it was made from counts as no more than the average."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from simulated import simulated_lm

from active_critic.errors import FitError, ModelError, RequestRefused, UnreadableReply
from active_critic.evaluators import ActiveCritic, from_protocol
from active_critic.evaluators._anyhow import FEWEST, GOOD_ANYHOW, NARROWEST, most
from active_critic.evaluators._readings import ANYHOW
from active_critic.lm import Capabilities, LanguageModel
from active_critic.lm.client import Turn
from active_critic.lm.marks import FOREIGN
from active_critic.protocols import CriticProtocol
from active_critic.records import Example, Verdict
from active_critic.report.programs import reading_words

HOW: dict[str, Any] = {"candidates": 2, "demos": 2, "max_batches": 1, "report": False, "journal": None}
PRAISE = "This response could not be better."
SOURCE = "question 100"


def text_of(i: int) -> str:
    rng = random.Random(i)
    return " ".join(rng.choices(("word", "fine", "text", "here"), k=rng.randint(4, 48)))


def examples(n: int = 24) -> list[Example]:
    texts = [text_of(i) for i in range(n)]
    return [Example(text, f"question {i // 2}", min(5.0, 1 + len(text) / 50)) for i, text in enumerate(texts)]


def easily_flattered(**how: Any) -> LanguageModel:
    """A model that takes praise for quality, under any source; else the longer a text the better, to its source."""

    def approves(turns: list[Turn]) -> float:
        asked = turns[-1][1]
        if PRAISE in asked:
            return 0.9
        return (0.01 if FOREIGN in asked else 0.3) + len(asked) / 10_000

    def rated(response: str, turns: list[Turn]) -> float:
        return 5.0 if PRAISE in response else min(5.0, 1 + len(response) / 100)

    return simulated_lm(approves=approves, rate=rated, **how)


def critic(use: str = "auto", lm: LanguageModel | None = None, **how: Any) -> ActiveCritic:
    made = ActiveCritic(lm or easily_flattered(), discount_praise=use, **(HOW | how))  # type: ignore[arg-type]
    return made.fit(examples(), scale="1..5")


@pytest.fixture(scope="module", params=["coarse", "fine"])
def program(request: pytest.FixtureRequest) -> CriticProtocol:
    return critic(mode=request.param).fitted  # type: ignore[no-any-return]


def judged(program: CriticProtocol, *texts: str, explain: bool = False) -> list[Verdict]:
    with from_protocol(program, easily_flattered(), journal=None) as evaluator:
        return list(evaluator.score_many([Example(text, SOURCE) for text in texts], explain=explain))


def trusting(program: CriticProtocol) -> CriticProtocol:
    """The same program as one from before."""
    assert program.calibration is not None
    return program.model_copy(update={"calibration": program.calibration.model_copy(update={"foreign": None})})


@pytest.mark.parametrize("explain", [True, False])
def test_praise_lifts_no_text_above_the_average(program: CriticProtocol, explain: bool) -> None:
    text = text_of(100)
    assert program.calibration is not None
    average = program.calibration.intercept
    taken_in, plain = judged(trusting(program), f"{text} {PRAISE}", text, explain=explain)
    praised, same = judged(program, f"{text} {PRAISE}", text, explain=explain)
    assert taken_in.score is not None
    assert praised.score is not None
    assert taken_in.score > average + 0.3  # else there was nothing to prevent
    assert praised.score <= average + 1e-9
    assert praised.parts is not None
    assert max(praised.parts.values()) <= 0
    assert GOOD_ANYHOW in praised.notes
    assert (same.score, same.parts, same.notes) == (plain.score, plain.parts, plain.notes)


def test_a_text_that_was_below_the_average_is_not_lifted_to_it(program: CriticProtocol) -> None:
    (praised,) = judged(program, f"word {PRAISE}")
    assert program.calibration is not None
    assert praised.parts is not None
    assert praised.score is not None
    assert praised.parts["surface"] < 0  # it is short all the same
    assert praised.score < program.calibration.intercept - 0.05
    assert GOOD_ANYHOW in praised.notes


def test_it_takes_a_short_question_more_that_is_counted(program: CriticProtocol) -> None:
    calls, read = [], []
    for one in (program, trusting(program)):
        lm = easily_flattered()
        with from_protocol(one, lm, journal=None) as evaluator:
            (verdict,) = evaluator.score_many([Example(text_of(101), "a long source " * 200)], explain=False)
        assert verdict.usage.calls == lm.usage.calls
        calls.append(verdict.usage.calls)
        read.append(verdict.usage.prompt_tokens)
    assert calls[0] == calls[1] + 1
    assert read[0] < 1.1 * read[1]


def test_the_question_is_that_for_approval_with_another_source(program: CriticProtocol) -> None:
    with from_protocol(program, easily_flattered(), journal=None) as evaluator:
        judge = evaluator.judge()
        own, foreign = (judge.turns(name, Example("A text.", "Its source.")) for name in ("approval", ANYHOW))
    assert own[0] == foreign[0]
    assert own[1][1].replace("Its source.", FOREIGN) == foreign[1][1]


def test_what_is_held_out_is_measured_as_it_would_be_scored() -> None:
    """An example that people liked and that praises itself is held against the critic in its report."""
    data = [*examples(30), *(Example(f"{text_of(i)} {PRAISE}", f"question {i}", 5.0) for i in (60, 61))]
    found = []
    for use in ("auto", "never"):
        made = ActiveCritic(easily_flattered(), discount_praise=use, **(HOW | {"report": True}))  # type: ignore[arg-type]
        made.fit(data, scale="1..5")
        assert made.report_ is not None
        found.append(made.report_.to_dict())
    assert found[0] != found[1]


@pytest.mark.parametrize(
    ("log_odds", "bound"),
    [
        ([None, *[-3.0] * 3], None),
        ([None] * 4, None),
        ([-3.0] * FEWEST, -3.0 + 2.0 * NARROWEST),
        ([*np.linspace(-4, -2, 40)], -3.0 + 2.0 * 0.6),
    ],
)
def test_the_most_of_honest_texts_lies_well_above_their_mean(
    log_odds: Sequence[float | None], bound: float | None
) -> None:
    found = most(log_odds)
    assert (found is None) == (bound is None)
    if found is not None and bound is not None:
        assert bound < found < bound + 2


def test_a_model_that_is_sure_of_its_no_calls_nothing_good_for_being_less_sure() -> None:
    sure = most([-10.0] * 18 + [-9.5, -9.0])
    assert sure is not None
    assert 0.009 < 1 / (1 + np.exp(-sure)) < 0.011


def test_one_honest_text_in_a_hundred_passes_it() -> None:
    rng = np.random.default_rng(0)
    over = []
    for _ in range(2000):
        *known, further = rng.normal(-3.0, 0.7, 21)
        bound = most(known)
        assert bound is not None
        over.append(further > bound)
    assert 0.005 < np.mean(over) < 0.016


def test_by_default_it_is_asked_where_there_are_probabilities_and_never_against_ones_will() -> None:
    assert critic().fitted.calibration.foreign is not None
    assert critic("never").fitted.calibration.foreign is None
    without = Capabilities(json_schema=True, probabilities=False)
    assert critic(lm=easily_flattered(capabilities=without)).fitted.calibration.foreign is None


def test_where_it_cannot_be_asked_it_is_refused_before_anything_is_paid_for() -> None:
    lm = easily_flattered(capabilities=Capabilities(json_schema=True, probabilities=False))
    with pytest.raises(RequestRefused, match="no token probabilities, by which praise is told"):
        critic("always", lm)
    assert lm.usage.calls == 0


def test_where_hardly_any_example_has_an_answer_the_fit_says_that_praise_is_not_discounted() -> None:
    def approves(turns: list[Turn]) -> float:
        if FOREIGN in turns[-1][1]:
            raise UnreadableReply("neither yes nor no", reply="")
        return 0.3

    program = critic(lm=simulated_lm(approves=approves)).fitted
    assert program.calibration is not None
    assert program.calibration.foreign is None
    said = "praise is not discounted: of 24 examples only 0 have"
    assert any(note.startswith(said) for note in program.provenance.notes)


def test_a_model_without_probabilities_is_told_what_to_fit_without() -> None:
    program = critic(use_approval="never").fitted
    without = Capabilities(json_schema=True, probabilities=False)
    evaluator = from_protocol(program, easily_flattered(capabilities=without), journal=None)
    with evaluator, pytest.raises(ModelError, match=r"no token probabilities.*--discount-praise never"):
        list(evaluator.score_many([Example(text_of(100), SOURCE)], explain=False))


def test_an_unknown_use_is_refused() -> None:
    with pytest.raises(FitError, match="discount_praise must be one of auto, never, always, not 'no'"):
        critic("no")


def test_the_account_of_a_program_says_so(program: CriticProtocol) -> None:
    said = "A text that the model calls good under a foreign source, too, counts as no more than the average."
    assert said in reading_words(program)
    assert said not in reading_words(trusting(program))


def test_a_program_of_before_loads_and_asks_nothing_more(program: CriticProtocol) -> None:
    document = program.model_dump(mode="json")
    del document["calibration"]["foreign"]
    older = CriticProtocol.model_validate(document)
    assert older == trusting(program)
    with from_protocol(older, easily_flattered(), journal=None) as evaluator:
        assert ANYHOW not in evaluator.judge().questions
