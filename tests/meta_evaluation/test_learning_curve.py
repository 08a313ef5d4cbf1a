from __future__ import annotations

import csv
import json
from dataclasses import replace

import pytest
from compared import model
from curved import FALLING, FLAT, NOISY, QUICK, RISING, labelled, learner
from simulated import simulated_lm

from active_critic.data import RecordWriter
from active_critic.errors import FitError
from active_critic.meta_evaluation.curves import curve


def drawn(evaluator, count=120, **settings):
    return curve(labelled(count), evaluator, model(), **{**QUICK, "resamples": 200, "repeats": 4, **settings})


@pytest.fixture(scope="module")
def rising():
    return drawn(RISING)


def test_rising_agreement_says_label_more(rising) -> None:
    gain = rising.points[-1].gain
    assert rising.advice == "more"
    assert gain.interval[0] > 0
    assert rising.words[-1] == "Advice: label more; agreement is still rising at 20 labels."
    said = " ".join(rising.words)
    each = ", ".join(f"{one:+.2f}" for one in gain.by_repeat)
    assert f"from 10 to 20 labels, brought {gain.value:+.2f} [" in said
    assert f"by repeat, each with other labels: {each}." in said
    assert "From 5 to 20 labels, a doubling brought +" in said
    assert "if that went on, 40 labels would bring as much again. Curves flatten: expect less." in said


def test_flat_agreement_says_stop_and_extrapolates_nothing() -> None:
    found = drawn(FLAT)
    assert found.advice == "stop"
    assert found.words[-1] == "Advice: stop; that the last step brought 0.03 or more is excluded."
    assert "doubling" not in " ".join(found.words)


def test_a_doubling_of_the_labels_is_worth_a_gain_of_three_hundredths() -> None:
    found = drawn(FLAT)
    *others, last = found.points

    def advice(low: float, high: float) -> str:
        gain = replace(last.gain, interval=(low, high))
        return replace(found, points=(*others, replace(last, gain=gain))).advice

    assert (others[-1].labels, last.labels) == (10, 20)
    assert [advice(-0.01, high) for high in (0.029, 0.031)] == ["stop", "unclear"]
    assert [advice(0.01, high) for high in (0.029, 0.031)] == ["stop", "more"]


def test_a_small_last_step_is_no_reason_to_stop() -> None:
    found = drawn(FLAT)
    last = found.points[-1]
    gain = replace(last.gain, interval=(-0.005, 0.02))
    *others, before = found.points[:-1]
    assert replace(found, points=(*others, before, replace(last, gain=gain))).advice == "stop"
    small = replace(last, gain=gain, labels=before.labels + 1)
    assert replace(found, points=(*others, before, small)).advice == "unclear"


def test_noisy_agreement_says_that_it_cannot_be_told() -> None:
    found = drawn(NOISY, count=40, repeats=3)
    assert found.advice == "unclear"
    low, high = found.points[-1].gain.interval
    assert low < 0
    assert high > 0.03
    tests, documents = found.points[-1].gain.n, found.points[-1].gain.groups
    assert found.words[-1].startswith("Advice: too noisy to tell; more labels of this kind are not shown to help")
    assert (
        f"{tests} tests of {documents} documents in 3 repeats cannot tell a gain of 0.03 from none" in found.words[-1]
    )


def test_falling_agreement_says_that_labels_did_harm() -> None:
    found = drawn(FALLING, sizes=[5, 20])
    assert found.advice == "stop"
    assert found.words[-1] == "Advice: stop labelling for this evaluator; the last 15 labels did harm."


def test_without_intervals_or_with_one_size_there_is_no_advice() -> None:
    found = drawn(RISING, resamples=0)
    assert found.advice == "unclear"
    assert found.words[-1].startswith("Advice: none; without an interval")
    one = drawn(RISING, sizes=[10])
    assert one.advice == "unclear"
    assert one.trend is None
    assert one.words[-1].startswith("Advice: none; one size makes no curve")


def test_one_repeat_says_what_its_interval_leaves_out() -> None:
    found = drawn(RISING, repeats=1)
    said = " ".join(found.words)
    assert "in the only repeat; other labels may teach more or less, and the interval does not cover that." in said
    assert found.points[-1].gain.interval[0] > 0
    assert found.advice == "unclear"
    assert found.words[-1].startswith("Advice: none; what the last step brought may lie in these very labels")


def test_repeats_that_failed_do_not_count_for_the_advice() -> None:
    fits = []

    def fails(data):
        fits.append(len(data))
        if len(data) == 20 and fits.count(20) > 1:
            raise FitError("not these")

    found = drawn(learner(lambda labels: 150 / labels**2, fails=fails), repeats=3)
    gain = found.points[-1].gain
    assert (gain.repeats, gain.by_repeat[1:]) == (1, (None, None))
    assert gain.interval[0] > 0
    assert found.advice == "unclear"
    said = " ".join(found.words)
    assert "in one of 3 repeats; other labels may teach more or less" in said
    assert found.words[-1].endswith("Mend why the other repeats failed, or take more.")


def test_labels_of_hardly_more_documents_are_said_to_be(rising) -> None:
    assert "They are of" not in " ".join(rising.words)
    found = curve(labelled(120, of=10), RISING, model(), **{**QUICK, "sizes": [5, 20]})
    assert found.points[-1].documents == (3, 3)
    assert "They are of 3 documents after 3: as many labels of more documents may bring more." in " ".join(found.words)


def test_zero_shot_and_the_floor_are_compared_with(rising) -> None:
    found = curve(labelled(120), RISING, simulated_lm(lambda response, turns: 3), **QUICK)
    assert "zero-shot has no coefficient: all predictions within a split are equal" in " ".join(found.words)
    ahead = replace(rising.over_floor, value=0.3, interval=(0.2, 0.4), p_holm=0.01)
    shown = [
        " ".join(replace(rising, over_floor=over).words)
        for over in (ahead, replace(ahead, value=-0.3), replace(ahead, p_holm=0.2), replace(ahead, p_holm=None))
    ]
    assert "ahead of the surface floor by more than chance could explain (+0.30 [+0.20, +0.40], p 0.0100)" in shown[0]
    assert "That is behind the surface floor by more than chance could explain" in shown[1]
    assert all("That is not to be told from the surface floor" in said for said in shown[2:])


def test_the_document_and_the_table_survive_being_written(rising, tmp_path) -> None:
    document = rising.to_dict()
    assert json.loads(json.dumps(document, allow_nan=False)) == document
    assert [point["labels"] for point in document["points"]] == [5, 10, 20]
    assert document["advice"] == "more"
    assert document["points"][0]["gain"] is None
    assert len(document["repeats"]) == 4
    assert set(document["repeats"][0]["pool"] + document["repeats"][0]["test"]) == {f"e{i}" for i in range(120)}
    found = curve(labelled(), FLAT, simulated_lm(), **QUICK)
    with RecordWriter(tmp_path / "table.csv") as writer:
        for record in found.table():
            writer.write(record)
    with (tmp_path / "table.csv").open(newline="", encoding="utf-8") as file:
        read = list(csv.DictReader(file))
    assert [(row["labels"], row["evaluator"]) for row in read] == [
        ("0", "zero-shot"),
        ("5", "mine"),
        ("10", "mine"),
        ("20", "mine"),
    ]
    for row, record in zip(read, found.table(), strict=True):
        assert list(row) == list(record)
        for column, value in record.items():
            assert (
                row[column] == "" if value is None else float(row[column]) == value if column != "evaluator" else True
            )
    assert read[0]["gain"] == read[1]["gain"] == ""
