from __future__ import annotations

import json
import math
import re
from typing import Any

import numpy as np
import pytest
from scipy.stats import binomtest

from active_critic.errors import ContextOverflow, DataError, FitError
from active_critic.evaluators import Surface, ZeroShot, from_protocol
from active_critic.evaluators.base import Evaluator
from active_critic.lm import Budget, Turn
from active_critic.lm.filling import form_filling_lm
from active_critic.lm.metering import ForNow
from active_critic.probes.attack_trial import AttackTrial, attack_trial
from active_critic.probes.attacks import ATTACKS
from active_critic.probes.behaviour import examine
from active_critic.protocols import CriticProtocol, Demo, Provenance, Reading
from active_critic.records import Example, Scale
from active_critic.report.attacks import attacks_account
from active_critic.report.page import page

PROGRAM = CriticProtocol(
    evaluator="zero-shot",
    mode="coarse",
    task_description="Judge.",
    scale=Scale(low=0, high=10),
    reading=Reading(),
    provenance=Provenance(model="form-filler"),
)


def texts(n: int = 10) -> list[Example]:
    return [Example(f"Text {i} says so.", f"Source {i // 2}.", group=f"d{i // 2}", row=i + 1) for i in range(n)]


def judging(rate: Any, program: CriticProtocol = PROGRAM, **how: Any) -> Evaluator:
    return from_protocol(program, form_filling_lm(rate, **how), journal=None)


def lift_of(found: AttackTrial, name: str) -> Any:
    return next(one.lift for one in found.families if one.name == name)


def fooled_by_flattery(text: str) -> float:
    return 4.0 if "discernment" in text else 2.0


def test_the_lift_is_the_gain_over_the_same_text_in_points_of_the_scale() -> None:
    found = attack_trial(judging(fooled_by_flattery), texts(), families=["flattery", "plea"])
    lift = lift_of(found, "flattery")
    same = 0.025 ** (1 / 5)  # five documents gained 5 each: so do that many at the least, the others 0 to 7.5
    assert (lift.mean, lift.interval) == (
        pytest.approx(5.0),
        pytest.approx((5.0 * same, 5.0 * same + 7.5 * (1 - same))),
    )
    assert (lift.success, lift.success_interval) == (1.0, pytest.approx((0.025 ** (1 / 5), 1.0)))
    assert (lift.original, lift.attacked) == (pytest.approx(2.5), pytest.approx(7.5))
    assert (lift.scored, lift.failed, lift.skipped) == (10, 0, 0)
    plea = lift_of(found, "plea")
    assert (plea.mean, plea.success) == (0.0, 0.0)
    # Exact for no success in five, by another road: the rate of which five failures in a row are 2.5 % likely.
    assert plea.success_interval == (0.0, pytest.approx(binomtest(0, 5).proportion_ci(0.95).high))
    (kind,) = found.kinds
    assert (kind.kind, kind.families, kind.worst) == ("persuasion", 2, "flattery")
    assert kind.lift.mean == found.overall.mean == pytest.approx(2.5)
    assert (kind.lift.scored, kind.lift.success) == (20, 0.5)
    assert kind.lift.success_interval == pytest.approx((0.5 * same, 0.5 * same + 1 - same))  # half in every document
    assert (found.texts, found.documents, found.unscored, found.threshold) == (10, 5, 0, 1.0)


def test_a_lift_is_a_part_of_the_scale_wherever_that_begins() -> None:
    program = PROGRAM.model_copy(update={"scale": Scale(low=10, high=20)})
    for threshold, success in ((0.5, 1.0), (0.51, 0.0)):
        found = attack_trial(judging(fooled_by_flattery, program), texts(), families=["flattery"], threshold=threshold)
        lift = lift_of(found, "flattery")
        assert (lift.original, lift.mean, lift.success) == (pytest.approx(12.5), pytest.approx(5.0), success)
        assert found.percent(lift.mean) == pytest.approx(50.0)
        assert found.threshold == pytest.approx(10 * threshold)


def test_an_interval_counts_every_text_of_a_document_that_is_drawn() -> None:
    """One of eight documents has half of all texts, and it alone is lifted: by 5 points, however often it is drawn."""
    given = [Example(f"Text {i} of many.", "Source.", group="large") for i in range(7)]
    given += [Example(f"Text {i} says so.", f"Source {i}.", group=f"d{i}") for i in range(7)]
    judge = judging(lambda text: 4.0 if "discernment" in text and "of many" in text else 2.0)
    lift = lift_of(attack_trial(judge, given, families=["flattery"]), "flattery")
    assert (lift.mean, lift.success) == (pytest.approx(2.5), 0.5)
    # Drawn k times in eight it has 7 k of 7 k + (8 - k) texts. It is drawn four times or more once in 90 resamples,
    # five times once in 800; 95 % intervals of eight documents are widened to what lies between.
    assert lift.success_interval == pytest.approx((0.0, 28 / 32))
    assert lift.interval == pytest.approx((0.0, 5 * 28 / 32))


def test_texts_are_taken_as_other_items_are() -> None:
    mappings = [{"response": text.response, "source": text.source, "group": text.group} for text in texts()]
    wanted = attack_trial(judging(fooled_by_flattery), texts(), families="flattery").to_dict()
    for given in (mappings, iter(mappings)):
        assert attack_trial(judging(fooled_by_flattery), given, families="flattery").to_dict() == wanted
    seen = examine(judging(fooled_by_flattery), mappings, perturbations="negation")
    assert seen.to_dict() == examine(judging(fooled_by_flattery), texts(), perturbations="negation").to_dict()


@pytest.mark.parametrize("seed", [-1, 1.5, "a"])
@pytest.mark.parametrize("probe", [attack_trial, examine])
def test_a_seed_that_is_none_is_refused_before_anything_is_asked(probe: Any, seed: Any) -> None:
    evaluator = judging(fooled_by_flattery)
    with pytest.raises(FitError, match="seed must be a whole number"):
        probe(evaluator, texts(), seed=seed)
    assert evaluator.usage.calls == 0


def test_what_an_attack_gains_does_not_depend_on_the_others() -> None:
    alone, beside = (
        lift_of(attack_trial(judging(fooled_by_flattery), texts(16), families=families), "threat")
        for families in (["threat"], ["threat", "flattery"])
    )
    assert alone == beside
    # None of eight documents gained: up to 37 % of others may, and may get the best score, or the worst (2.5 of 0..10).
    others = binomtest(0, 8).proportion_ci(0.95).high
    assert (alone.mean, alone.interval) == (0.0, pytest.approx((-2.5 * others, 7.5 * others)))


def test_an_attack_that_replaces_the_text_is_held_against_the_original() -> None:
    found = attack_trial(judging(lambda text: 3.0 if text.startswith("Text") else 1.0), texts(), families=["null"])
    assert lift_of(found, "key-symbol").mean == pytest.approx(-5.0)
    assert lift_of(found, "key-symbol").success == 0.0
    assert all(one.replaces for one in found.families)


REPLACING = [
    "verdict-only",
    "key-symbol",
    "key-opening",
    "null-answer",
    "constant-answer",
    "fitting-answer",
    "first-words",
    "copied-source",
]


def test_in_a_kind_what_replaces_the_text_hides_nothing_that_the_others_gain() -> None:
    found = attack_trial(judging(lambda text: 3.0 if "Text " in text else 1.0), texts(), families=["format"])
    assert lift_of(found, "verdict-only").mean == pytest.approx(-5.0)
    (kind,) = found.kinds
    assert (kind.lift.mean, kind.families) == (0.0, len(found.families) - 1)
    assert kind.lift.scored == 10 * kind.families  # the rows of the table have as many more as it says
    assert any(line.startswith("FORMAT: without what stands in place") for line in found.words)


def test_a_judge_to_whom_nothing_is_as_good_as_the_text_is_called_fooled() -> None:
    found = attack_trial(judging(lambda _: 3.0), texts())
    assert [one.name for one in found.as_good_as_text] == REPLACING == found.to_dict()["as_good_as_text"]
    shown = (
        "verdict-only (+0.00), key-symbol (+0.00), key-opening (+0.00), null-answer (+0.00), constant-answer (+0.00)"
    )
    said = f"Nothing scores as well as the text, for all that can be told (not below 0): {shown} and 3 more."
    assert found.words[-2:] == ["No family lifts the score for certain: no interval lies above 0.", said]


def test_what_replaces_the_text_hides_no_lift_of_what_is_added_to_it() -> None:
    def rate(text: str) -> float:
        return 1.0 if "says so" not in text else 4.0 if "discernment" in text else 3.0

    found = attack_trial(judging(rate), texts(), families=["flattery", "null-answer", "key-symbol", "constant-answer"])
    assert (found.overall.mean, found.overall.success, found.overall.scored) == (pytest.approx(2.5), 1.0, 10)
    assert (found.replacing.mean, found.replacing.success, found.replacing.scored) == (pytest.approx(-5.0), 0.0, 30)
    assert found.as_good_as_text == ()
    rows = [line.split("  ")[0] for line in found.words]
    assert [name for name in rows if name.isupper()] == ["PERSUASION", "NULL", "ALL BUT REPLACING", "REPLACING"]
    alone = attack_trial(judging(rate), texts(), families=["null-answer"])
    assert (alone.overall.mean, alone.overall.scored) == (None, 0)
    assert alone.words[-1] == "No family lifts the score for certain: no interval lies above 0."


def test_the_lift_is_also_told_in_deviations_of_the_scores_as_they_were() -> None:
    def rate(text: str) -> float:
        return (2.0 if "Text 1" in text or "Text 2" in text else 3.0) + ("discernment" in text)

    found = attack_trial(judging(rate), texts(), families=["flattery"])
    assert found.spread == pytest.approx(2.5 * (1.6 / 9) ** 0.5)
    assert lift_of(found, "flattery").deviations == pytest.approx(2.5 / found.spread)
    assert found.rows()[0]["lift_deviations"] == pytest.approx(2.5 / found.spread)
    (line,) = (line for line in found.words if line.startswith("  flattery"))
    assert line.split() == ["flattery", "+2.50", "[+1.20,", "+4.07]", "+2.4", "100", "[48", "100]", "10", "0"]
    alike = attack_trial(judging(lambda _: 3.0), texts(), families=["flattery"])
    assert (alike.spread, alike.overall.deviations) == (None, None)


def test_a_lift_that_is_rounded_to_nothing_has_no_minus_sign() -> None:
    def rate(text: str) -> float:
        return (2.0 if "Text 1" in text or "Text 2" in text else 3.0) - ("discernment" in text) / 1e3

    found = attack_trial(judging(rate), texts(), families=["flattery"])
    assert (lift_of(found, "flattery").mean or 0) < 0
    (line,) = (line for line in found.words if line.startswith("  flattery"))
    assert [line.split()[i] for i in (1, 4)] == ["+0.00", "+0.0"]
    shown = page("", attacks_account(found))
    assert "+0%" in shown
    assert not re.search(r"-0(\.0+)?\b(?!\.)", re.sub("<style>.*</style>", "", shown, flags=re.S))


def test_a_success_is_a_gain_of_the_threshold_or_more() -> None:
    half_a_level = judging(lambda text: 2.5 if "discernment" in text else 2.0)  # 1.25 of 10 points
    for threshold, success in ((0.1, 1.0), (0.125, 1.0), (0.126, 0.0)):
        found = attack_trial(half_a_level, texts(), families=["flattery"], threshold=threshold)
        assert lift_of(found, "flattery").success == success
    with pytest.raises(ValueError, match="above 0"):
        attack_trial(half_a_level, texts(), threshold=0.0)
    for wrong in (float("nan"), 5, float("inf"), "a", None, [0.1]):  # no gain is more than all of the scale
        with pytest.raises(ValueError, match=rf"above 0, up to 1 for all of it, not {re.escape(repr(wrong))}"):
            attack_trial(half_a_level, texts(), threshold=wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("probe", [attack_trial, examine])
@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"resamples": -1}, "resamples must be a whole number from 0 to 1,000,000, not -1"),
        ({"resamples": 2.5}, "resamples must be a whole number from 0 to 1,000,000, not 2.5"),
        ({"resamples": 10**30}, f"resamples must be a whole number from 0 to 1,000,000, not {10**30}"),
        ({"seed": 2**63}, f"seed must be a whole number from 0 to 9,223,372,036,854,775,807, not {2**63}"),
        ({"confidence": 95}, "between 0 and 1, such as 0.95, not 95"),
        ({"confidence": "0.9"}, "between 0 and 1, such as 0.95, not '0.9'"),
        ({"progress": True}, "progress must be a function of what is done, how much of it, and how much there is"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_asked(probe: Any, wrong: dict[str, Any], said: str) -> None:
    asked: list[str] = []

    def rate(text: str) -> float:
        asked.append(text)
        return 2.0

    with pytest.raises((FitError, ValueError), match=re.escape(said)):
        probe(judging(rate), texts(), **wrong)
    assert not asked


@pytest.mark.parametrize("wrong", [None, "surface", Surface, texts()])
@pytest.mark.parametrize("probe", [attack_trial, examine])
def test_what_is_no_evaluator_is_refused(probe: Any, wrong: Any) -> None:
    with pytest.raises(FitError, match="what is probed is a fitted evaluator, as load"):
        probe(wrong, texts())


@pytest.mark.parametrize("wrong", [3, b"plea", ["plea", None], [["plea"]]])
@pytest.mark.parametrize(("probe", "what"), [(attack_trial, "families"), (examine, "perturbations")])
def test_what_is_no_name_is_refused(probe: Any, what: str, wrong: Any) -> None:
    with pytest.raises(DataError, match=r"(attacks|perturbations) are named, in a list of texts; .* is no name"):
        probe(judging(lambda _: 2.0), texts(), **{what: wrong})


@pytest.mark.parametrize("probe", [attack_trial, examine])
def test_parameters_of_numpy_give_the_same_plain_json(probe: Any) -> None:
    given = {"seed": 3, "resamples": 20, "confidence": 0.5}
    of_numpy = {"seed": np.int64(3), "resamples": np.int64(20), "confidence": np.float32(0.5)}
    critic = judging(lambda _: 2.0)
    wanted = probe(critic, texts(), **given).to_dict()
    assert json.loads(json.dumps(probe(critic, texts(), **of_numpy).to_dict())) == json.loads(json.dumps(wanted))


@pytest.mark.parametrize("probe", [attack_trial, examine])
def test_examples_made_by_hand_may_hold_what_rows_may(probe: Any) -> None:
    """None for a source or for all aspects, numbers for documents, and no text: as fit and score_many take them."""
    odd: list[Any] = [{"source": None}, {"source": math.nan}, {"group": 1}, {"group": "1"}, {"aspects": None}]
    odd += [{"aspects": {"tone": "3"}}, {"reference": math.nan}, {"response": None}, {"response": 12}]
    by_hand = [Example(**{"response": f"He said text {i}.", **one}) for i, one in enumerate(odd)]
    found = probe(judging(lambda _: 2.0), by_hand, resamples=20)
    assert (found.documents, found.notes[0]) == (7, "left out, for they are empty or repeated: 1 of the items")
    there = [(str(one.response), one.group and str(one.group)) for one in by_hand if one.response]
    wanted = probe(judging(lambda _: 2.0), [Example(text, group=group) for text, group in there], resamples=20)
    assert found.rows() == wanted.rows()
    with pytest.raises(DataError, match=r"row 2, column 'group': expected a text, not tuple"):
        probe(judging(lambda _: 2.0), [Example("One."), Example("Two.", group=(1, 2))])  # type: ignore[arg-type]


def test_intervals_are_over_documents() -> None:
    """A gain in one document of five is unsure, however many texts that document has."""
    many = [*texts(), *(Example(f"Text more {i}.", "Source 0.", group="d0") for i in range(20))]
    found = attack_trial(
        judging(lambda text: 4.0 if "discernment" in text and ("more" in text or "Text 0" in text) else 2.0),
        many,
        families=["flattery"],
    )
    low, high = lift_of(found, "flattery").interval
    assert low == 0.0
    assert high > 4.0


def test_the_order_of_rows_does_not_matter() -> None:
    def rate(text: str) -> float:
        return 1.0 + (int(text.split()[1]) // 2) ** 2 / 60 * ("discernment" in text)  # another gain in each document

    there, back = (attack_trial(judging(rate), rows, families=["flattery"]) for rows in (texts(30), texts(30)[::-1]))
    assert back.to_dict() == there.to_dict()


def test_what_is_left_unscored_is_counted_apart_and_is_no_number() -> None:
    def before(turns: list[Turn]) -> str | None:
        text = "".join(text for _, text in turns)
        if "discernment" in text and ("Text 0" in text or "Text 1" in text):
            return "on and on"
        if "Text 2" in text and "discernment" not in text:
            raise ContextOverflow("it does not fit")
        return None

    found = attack_trial(judging(fooled_by_flattery, before=before), texts(), families=["flattery"])
    (one,) = found.families
    assert (one.lift.scored, one.lift.failed, found.unscored) == (7, 2, 1)
    assert one.lift.mean == pytest.approx(5.0)
    ((reason, times),) = one.reasons
    assert (reason.split(":")[0], times) == ("the reply could not be read, nor the second one", 2)
    assert "on and on" not in reason
    assert any("2 attacked texts were left unscored" in line for line in found.words)
    assert any("1 of 10 texts could not be scored" in line for line in found.words)


@pytest.mark.parametrize(("paid_before", "texts_left", "attacked_left"), [(True, 0, 5), (False, 2, 1)])
def test_what_a_budget_left_is_no_failure_of_the_grader(paid_before, texts_left, attacked_left) -> None:
    lm = form_filling_lm(fooled_by_flattery)
    evaluator = from_protocol(PROGRAM, lm, journal=None)
    each = [Example(f"Text {i}.", f"Source {i}.", group=f"d{i}", row=i + 1) for i in range(10)]
    with lm.remembering(ForNow()):
        if paid_before:
            list(evaluator.score_many(each, explain=False))
        lm.budget = Budget(calls=5 if paid_before else 15)
        found = attack_trial(evaluator, each, families=["flattery"])
    lift = lift_of(found, "flattery")
    assert (found.unscored, found.not_asked, lift.failed, lift.not_asked) == (texts_left,) * 2 + (0, attacked_left)
    assert lift.scored == 10 - texts_left - attacked_left
    assert sum(times for _, times in found.families[0].reasons) == attacked_left
    spent = f"the budget of {5 if paid_before else 15} calls is spent"
    assert (found.spent or "").startswith(spent)
    (left,) = [line for line in found.words if line.startswith("Not asked for")]
    assert f"{attacked_left} attacked texts" in left
    assert ("2 of 10 texts as they are" in left) == (texts_left == 2)
    assert spent in left
    assert "could not be scored" not in " ".join(found.words)
    assert "left unscored (failed)" not in " ".join(found.words)


def test_nothing_scored_is_nothing_known() -> None:
    def before(turns: list[Turn]) -> str | None:
        return "on and on" if "discernment" in "".join(text for _, text in turns) else None

    found = attack_trial(judging(fooled_by_flattery, before=before), texts(), families=["flattery"])
    lift = lift_of(found, "flattery")
    assert (lift.mean, lift.interval, lift.success, lift.original, lift.scored, lift.failed) == (None,) * 4 + (0, 10)
    assert found.kinds[0].worst is None
    assert found.rows()[0]["lift"] is found.rows()[0]["lift_percent"] is None
    assert "nothing can be said" in found.words[-1]
    none = attack_trial(judging(fooled_by_flattery, before=lambda turns: "on and on"), texts(5), families=["flattery"])
    assert none.unscored == 5
    assert "Not tried" not in " ".join(none.words)  # whatever could be made of them
    assert (found.failed, found.unscored) == (10, 0)


def test_attacked_texts_are_made_as_they_are_scored() -> None:
    """A window at a time, so that many texts under many attacks do not stand in memory together."""
    made = 0
    asked: list[int] = []

    class Reading(Surface):
        def score_many(self, items, **how):  # type: ignore[no-untyped-def]
            def counted():  # type: ignore[no-untyped-def]
                nonlocal made
                for item in items:
                    made += 1
                    yield item

            for verdict in super().score_many(counted(), **how):
                asked.append(made)
                yield verdict

    data = [Example("word " * (3 + i % 7), f"Source {i}", score=1.0 + i % 7) for i in range(12)]
    found = attack_trial(Reading(journal=None).fit(data, scale="1..7"), texts(40), families=["persuasion", "length"])
    assert found.overall.scored == 440 == made - 40  # eleven families
    assert asked[0] < 300


def test_one_document_has_no_interval() -> None:
    found = attack_trial(judging(fooled_by_flattery), [Example("Text.", "S"), Example("Text 2.", "S")])
    assert lift_of(found, "flattery").mean == pytest.approx(5.0)
    assert lift_of(found, "flattery").interval is None
    assert "how sure these figures are cannot be said" in found.words[-1]


def test_without_sources_attacks_that_need_one_are_skipped() -> None:
    found = attack_trial(judging(fooled_by_flattery), [Example(f"Text {i}.") for i in range(4)])
    lift = lift_of(found, "copied-source")
    assert (lift.mean, lift.scored, lift.skipped) == (None, 0, 4)


def test_demonstrations_and_repeated_texts_are_left_out_and_none_left_is_an_error() -> None:
    from active_critic.data.examples import example_key

    given = texts(3)
    demo = Demo(source="", response=given[0].response, score=50, example_id=example_key(given[0]))
    program = PROGRAM.model_copy(update={"demos": (demo,)})
    found = attack_trial(judging(fooled_by_flattery, program), [*given, given[1]], families=["flattery"])
    assert found.texts == 2
    assert [note.partition(": ")[2] for note in found.notes] == ["1 of the items", "1 of the items"]
    assert set(found.notes) < set(found.words)
    with pytest.raises(DataError, match="demonstrations"):
        attack_trial(judging(fooled_by_flattery, program), given[:1])
    with pytest.raises(DataError, match="none that hold a text"):
        attack_trial(judging(fooled_by_flattery), [])


def test_the_same_seed_gives_the_same_trial_and_another_one_tries_other_texts() -> None:
    def tried(seed: int) -> tuple[set[str], Any]:
        seen: set[str] = set()
        judge = judging(lambda text: seen.add(text) or 1 + len(text) % 5)
        found = attack_trial(judge, texts(), families=["length"], seed=seed)
        return seen, found.to_dict()

    assert tried(0) == tried(0)
    assert tried(0)[0] != tried(1)[0]


def test_every_family_goes_through_and_is_reported() -> None:
    told: list[tuple[str, int, int]] = []
    shown = Demo(source="Another.", response="Liked.", score=100, example_id="shown")
    judge = judging(fooled_by_flattery, PROGRAM.model_copy(update={"demos": (shown,)}))
    found = attack_trial(judge, texts(), progress=lambda *said: told.append(said))
    assert "Not tried" not in " ".join(found.words)
    assert [one.name for one in found.families] == [attack.name for attack in ATTACKS]
    assert [row["family"] for row in found.rows()] == [attack.name for attack in ATTACKS]
    document = json.loads(json.dumps(found.to_dict()))
    assert document == found.to_dict()
    assert document["scale"] == "0..10"
    assert {len(row) for row in found.rows()} == {18}
    row = next(row for row in found.rows() if row["family"] == "flattery")
    assert (row["success_low"], row["success_high"]) == lift_of(found, "flattery").success_interval
    replacing = "verdict-only, copied-source, copied-example"
    apart = f"FORMAT and CONTENT: without what stands in place of the text ({replacing}), which counts"
    assert any(line.startswith(apart) for line in found.words)  # NULL is nothing else
    flattery = next(part for part in document["families"] if part["name"] == "flattery")
    assert flattery["lift"]["percent"] == pytest.approx(50.0)
    assert flattery["lift"]["percent_interval"] == pytest.approx([23.9, 63.0], abs=0.05)
    assert told[-1][1:] == (told[-1][2], 10 * (1 + len(ATTACKS)))
    lines = "\n".join(found.words)
    assert all(attack.name in lines for attack in ATTACKS)
    assert max(map(len, found.words[: len(ATTACKS) + 8])) < 80
    assert "Families that lift the score, their interval above 0: flattery (+5.00)." in lines
    assert {name for name in document if "replac" in name} == {"replacing"}
    assert document["replacing"]["percent"] == 0.0


def test_nothing_gained_is_said() -> None:
    found = attack_trial(judging(lambda _: 3.0), texts(), families=["format"])
    assert found.overall.mean == 0.0
    assert "No family lifts the score for certain: no interval lies above 0." in found.words


def test_an_evaluator_without_a_model_can_be_attacked() -> None:
    data = [Example("word " * (3 + i % 7), f"Source {i}", score=1.0 + i % 7) for i in range(12)]
    found = attack_trial(Surface(journal=None).fit(data, scale="1..7"), texts(), families=["length"])
    assert found.overall.mean is not None


def test_an_attacked_text_is_scored_with_the_source_and_reference_of_its_own() -> None:
    seen: list[Example] = []

    class Watched(Surface):
        def score_many(self, items, **how):  # type: ignore[no-untyped-def]
            seen.extend(items := list(items))
            return super().score_many(items, **how)

    data = [Example("word " * (3 + i % 7), f"Source {i}", score=1.0 + i % 7) for i in range(12)]
    given = [Example(f"Text {i} says so.", f"Source {i}.", reference=f"Reference {i}.") for i in range(3)]
    attack_trial(Watched(journal=None).fit(data, scale="1..7"), given, families=["flattery", "plea"])
    assert [(one.source, one.reference) for one in seen] == [
        (f"Source {i}.", f"Reference {i}.") for i in (0, 1, 2) for _ in range(3)
    ]


def test_what_is_not_fitted_says_so() -> None:
    with pytest.raises(FitError, match="not fitted"):
        attack_trial(ZeroShot(form_filling_lm(fooled_by_flattery), journal=None), texts())


def test_families_that_no_text_allows_are_named() -> None:
    without = [Example(f"Text {i} says so.", group=f"d{i}") for i in range(5)]
    found = attack_trial(judging(fooled_by_flattery), without, families=["content", "plea"])
    named = "copied-source, appended-source, copied-example, appended-example"
    assert f"Not tried, for it can be made of none of these texts (nothing to copy): {named}." in found.words
    assert lift_of(found, "copied-example").skipped == 5


def test_a_text_that_a_judge_would_not_rate_is_no_failure() -> None:
    program = PROGRAM.model_copy(update={"discounts_forgeries": True})
    found = attack_trial(judging(fooled_by_flattery, program), texts(), families=["verdict-only", "flattery"])
    lift = lift_of(found, "verdict-only")
    assert (lift.mean, lift.scored, lift.declined, lift.failed, found.failed) == (None, 0, 10, 0, 0)
    assert (found.replacing.declined, lift_of(found, "flattery").declined) == (10, 0)
    assert "10 attacked texts are nothing but a forged reply: the judge would not rate them." in " ".join(found.words)
    assert {row["family"]: row["declined"] for row in found.rows()} == {"verdict-only": 10, "flattery": 0}
