from __future__ import annotations

import csv
import json
from functools import partial
from typing import Any, Literal

import numpy as np
import pytest
from compared import QUICK, Asking, AskingProtocol, asking, examples, longer, model, noisy, without_time
from simulated import simulated_lm

from active_critic import errors
from active_critic.data import RecordWriter, read_examples
from active_critic.data.examples import example_key, group_of
from active_critic.evaluators.base import Evaluator
from active_critic.evaluators.judging import Judge
from active_critic.lm import scripted_lm
from active_critic.meta_evaluation import compare
from active_critic.protocols import Protocol, Reading
from active_critic.records import Example, Verdict
from active_critic.stats import agreement, holm, paired_difference


class OursProtocol(AskingProtocol):
    evaluator: Literal["active-critic"] = "active-critic"


class Ours(Asking):
    """What Active-Critic's programs are called, whatever the method is."""

    kind = "active-critic"
    document = OursProtocol

    def learn(self, data, notes, progress):
        return OursProtocol(**{**dict(super().learn(data, notes, progress)), "evaluator": "active-critic"})


def ours(word):
    return lambda lm: Ours(lm, word)


def worse(example):
    return -longer(example)


def test_all_methods_get_the_same_splits_and_whole_documents() -> None:
    seen = [[], []]
    data = examples()
    methods = {"a": asking("a", seen=seen[0]), "b": asking("b", seen=seen[1])}
    found = compare(data, methods, model(), repeats=2, **QUICK)
    assert not any(method.failures for method in found.methods)
    assert seen[0] == seen[1]
    assert len(seen[0]) == len(found.splits) == 6
    for split, keys in zip(found.splits, seen[0], strict=True):
        assert sorted(keys) == sorted(example_key(data[i]) for i in split.train)
        assert {group_of(data[i]) for i in split.train}.isdisjoint(group_of(data[i]) for i in split.test)


def test_the_figures_are_those_of_the_statistics_split_by_split() -> None:
    data = examples()
    methods = {"good": asking("a"), "other": asking("b", mark=noisy), "third": asking("c", mark=noisy)}
    found = compare(data, methods, model(), seed=3, against="other", **QUICK)
    tests = [(number, i) for number, split in enumerate(found.splits) for i in split.test]
    human, groups = [data[i].score for _, i in tests], [group_of(data[i]) for _, i in tests]
    pred = {"good": [longer(data[i]) for _, i in tests], "other": [noisy(data[i]) for _, i in tests]}
    how = {"parts": [number for number, _ in tests], "resamples": 40, "seed": 3}
    for name, scores in pred.items():
        assert found[name].agreement == agreement(scores, human, groups, **how)
        assert found[name].mae == pytest.approx(sum(abs(a - b) for a, b in zip(scores, human, strict=True)) / 24)
    compared = found["good"].over_baseline
    assert compared.difference == paired_difference(pred["good"], pred["other"], human, groups, **how)
    assert found["other"].over_baseline is None
    three = [found[name].over_baseline for name in ("good", "third")]
    assert [c.p_holm for c in three] == holm([c.difference.p for c in three])


def test_the_best_that_is_no_active_critic_is_the_baseline_whatever_methods_are_called() -> None:
    methods = {"alias": ours("a"), "active-critic-killer": asking("b", mark=noisy), "bad": asking("c", mark=worse)}
    found = compare(examples(), methods, model(), **QUICK)
    assert (found.baseline, found.baseline_chosen) == ("active-critic-killer", True)
    assert found["alias"].agreement.mean > found["active-critic-killer"].agreement.mean
    assert found["alias"].over_baseline.to == "active-critic-killer"
    assert [method["kind"] for method in found.to_dict()["methods"]] == ["active-critic", "asking", "asking"]
    assert any("because it is the best one on these very examples" in said for said in found.words)
    alone = compare(examples(), {"alias": ours("a")}, model(), **QUICK)
    assert alone.baseline is None
    assert any("no method with a coefficient can serve as the baseline" in note for note in alone.notes)


def test_a_notebook_shows_a_line_and_print_says_what_came_of_it() -> None:
    found = compare(examples(), {"a": asking("a"), "b": asking("b", mark=noisy)}, model(), **QUICK)
    assert repr(found) == "<Comparison: 2 methods on 24 examples; print() says what came of it>"
    assert str(found) == "\n".join(found.words)


def test_methods_are_found_by_name() -> None:
    found = compare(examples(), {"a": asking("a"), "b": asking("b", mark=noisy)}, model(), **QUICK)
    assert [found[name] for name in found] == list(found.methods)
    assert (len(found), "a" in found, "c" in found, 0 in found) == (2, True, False, False)
    with pytest.raises(KeyError, match="there is no method 'c'; there are a, b"):
        found["c"]


def test_a_baseline_can_be_named_and_the_floor_is_compared_with_once() -> None:
    methods = {"surface": asking("a", mark=noisy), "good": asking("b"), "bad": asking("c", mark=lambda e: -longer(e))}
    found = compare(examples(96), methods, model(), against="good", **{**QUICK, "resamples": 300})
    assert (found.baseline, found.baseline_chosen) == ("good", False)
    assert found["bad"].over_baseline.to == "good"
    assert found["bad"].over_floor.to == "surface"
    one, other = found["good"].over_floor, found["surface"].over_baseline
    assert one.difference.delta == -other.difference.delta
    pairs = [found["good"].over_floor, found["bad"].over_floor, found["bad"].over_baseline]
    assert [c.p_holm for c in pairs] == holm([c.difference.p for c in pairs])  # three comparisons, not four
    assert one.p_holm == other.p_holm
    said = " ".join(found.words)
    assert "good has the highest mean" in said
    assert "worse than good: surface, bad" in said
    assert "Beat the surface floor by more than chance could explain: good. Not shown to beat it: bad." in said
    assert "very examples" not in said
    with pytest.raises(errors.FitError, match="against must be one of the methods compared"):
        compare(examples(), methods, model(), against="zero-shot", **QUICK)


def test_when_nothing_beats_the_floor_the_words_say_so() -> None:
    methods = {"surface": asking("a"), "worse": asking("b", mark=noisy)}
    found = compare(examples(), methods, model(), against="worse", **QUICK)
    assert any("Nothing beats the surface floor" in said for said in found.words)


def test_a_method_that_is_constant_in_a_fold_is_neither_ranked_first_nor_the_baseline() -> None:
    data = examples()
    first = {text.response for text in data[:2]}
    methods = {
        "mute": asking("a", mark=lambda e: longer(e) if e.response in first else 3.0),
        "steady": asking("b", mark=noisy),
    }
    found = compare(data, methods, model(), **QUICK)
    mute = found["mute"].agreement
    assert 0 < mute.parts < mute.parts_total == 3
    assert not found["mute"].whole
    assert found.baseline == "steady"
    lacking = mute.parts_total - mute.parts
    assert any(f"mute is measured without {lacking} of 3 test parts" in said for said in found.words)
    assert found["mute"].over_baseline.difference.n < 24
    odd = {"odd": asking("c", mark=lambda e: longer(e) if int(e.response.split()[1]) // 2 % 2 else 3.0)}
    inside = compare(data, odd, model(), **{**QUICK, "level": "document"})
    assert any("documents in which people's scores differ" in said for said in inside.words)


def test_what_a_method_needs_is_the_same_fresh_from_the_journal_and_beside_others(tmp_path) -> None:
    def run(methods, path):
        calls: list[str] = []
        found = compare(examples(), methods, model(calls), **{**QUICK, "journal": path})
        return found, calls

    both = {"one": asking("same"), "two": asking("same")}
    fresh, calls = run(both, tmp_path / "j.sqlite")
    assert len(calls) == len(set(calls)) == 27  # 3 fits and 24 scores, paid for once although two methods ask them
    again, calls = run(both, tmp_path / "j.sqlite")
    assert calls == []
    alone, _ = run({"two": asking("same")}, tmp_path / "k.sqlite")
    assert without_time(again.to_dict()) == without_time(fresh.to_dict())
    figures = [m.to_dict() for m in (fresh["one"], fresh["two"], again["two"], alone["two"])]
    for stage, count in (("fit", 3), ("scoring", 24)):
        assert {m[stage]["calls"] for m in figures} == {count}
        assert len({json.dumps(without_time(m[stage])) for m in figures}) == 1
    assert figures[1]["fit"] == figures[0]["fit"] == figures[2]["fit"]  # also the seconds: as they were when paid for


def test_without_a_journal_a_request_is_still_paid_for_once() -> None:
    calls: list[str] = []
    found = compare(examples(), {"one": asking("x"), "two": asking("x")}, model(calls), **QUICK)
    assert len(calls) == 27
    assert found["two"].needs.calls == 27


def test_an_interrupted_run_goes_on_where_it_was_and_ends_the_same(tmp_path) -> None:
    methods = {"a": asking("a"), "b": asking("b", mark=noisy)}
    whole = compare(examples(), methods, model(), **{**QUICK, "journal": tmp_path / "whole.sqlite"})
    calls: list[str] = []
    for life in range(1, 9):

        def answer(turns, life=life):
            if len(calls) == 7 * life:
                raise KeyboardInterrupt
            calls.append(turns[-1][1])
            return "yes, I did"

        try:
            found = compare(examples(), methods, scripted_lm(answer), **{**QUICK, "journal": tmp_path / "j.sqlite"})
            break
        except KeyboardInterrupt:
            assert len(calls) == 7 * life
    assert life == 8
    assert len(calls) == len(set(calls)) == 54
    assert without_time(found.to_dict()) == without_time(whole.to_dict())


def test_a_method_that_needs_no_model_opens_none() -> None:
    def plain(lm):
        assert lm == "no such model"
        return Asking(model())

    plain.needs_model = False
    found = compare(examples(), {"plain": plain}, "no such model", **QUICK)
    assert found.model is None
    assert found["plain"].agreement.n == 24


def test_arguments_of_numpy_give_the_same_document() -> None:
    of = partial(compare, examples(), ["surface", "ice"], simulated_lm(), journal=None)
    found = of(
        train=np.float32(0.5),
        test_documents=np.int64(5),
        repeats=np.int64(2),
        seed=np.int32(1),
        resamples=np.int64(40),
        requests=np.int64(900),
        explain=np.False_,
        settings={"ice": {"shots": np.int64(3)}},
    )
    plain = of(
        train=0.5,
        test_documents=5,
        repeats=2,
        seed=1,
        resamples=40,
        requests=900,
        settings={"ice": {"shots": 3}},
    )
    assert json.dumps(without_time(found.to_dict())) == json.dumps(without_time(plain.to_dict()))


def test_the_surface_floor_opens_no_model() -> None:
    found = compare(examples(), ["surface"], "no such model", **QUICK)
    assert found.model is None
    assert found["surface"].agreement.mean is not None
    assert found["surface"].needs.calls == 0


def test_finding_out_what_the_model_can_do_is_nobodys_cost() -> None:
    lm = model()
    lm._capabilities = None
    found = compare(examples(), {"a": asking("a")}, lm, **QUICK)
    assert found.probing.calls == 2
    assert found["a"].needs.calls == 27


def test_the_models_own_memory_comes_back(tmp_path) -> None:
    lm = model()
    compare(examples(), {"a": asking("a")}, lm, **{**QUICK, "journal": tmp_path / "j.sqlite"})
    assert lm.memory is None


def test_evaluators_of_the_package_by_name(tmp_path) -> None:
    lm = simulated_lm()
    settings = {"active-critic-coarse": {"candidates": 2, "demos": 1, "max_batches": 1}}
    said: list[str] = []
    found = compare(
        examples(),
        ["zero-shot", "active-critic-coarse"],
        lm,
        settings=settings,
        progress=lambda what, done, total: said.append(what),
        **QUICK,
    )
    assert not any(method.failures for method in found.methods)
    assert found.baseline == "zero-shot"
    assert found["active-critic-coarse"].parameters["demos"] == 1
    assert found["active-critic-coarse"].fit.calls > found["zero-shot"].fit.calls == 0
    assert found["zero-shot"].scoring.calls == 24
    assert found.settings["evaluators"]["active-critic-coarse"] == {**settings["active-critic-coarse"], "seed": 0}
    assert any(what.startswith("active-critic-coarse (2 of 2): split 3 of 3: ") for what in said)
    assert found["zero-shot"].signatures[0].startswith("zero-shot|scripted|")


@pytest.mark.parametrize("level", ["document", "system"])
def test_other_levels(level) -> None:
    found = compare(examples(), {"a": asking("a")}, model(), level=level, **QUICK)
    assert found["a"].agreement.level == level
    assert found["a"].agreement.mean is not None


def test_the_document_and_the_tables_survive_being_written(tmp_path) -> None:
    methods = {"a": asking("a"), "flat": asking("b", mark=lambda e: 3.0), "never": asking("c", mark=lambda e: "=odd")}
    found = compare(examples(), methods, model(), repeats=2, **QUICK)
    document = found.to_dict()
    assert json.loads(json.dumps(document, allow_nan=False)) == document
    assert document["model"] == "scripted"
    assert document["settings"]["folds"] == 3
    assert len(document["splits"]) == 6
    assert set(document["splits"][0]["train"] + document["splits"][0]["test"]) == {f"e{i}" for i in range(24)}
    assert document["methods"][2]["unscored"] == {"=odd": 48}
    assert document["methods"][0]["notes"] == ["fitted"]
    for name, records in (("table.csv", found.table()), ("predictions.csv", found.predictions())):
        with RecordWriter(tmp_path / name) as writer:
            for record in records:
                writer.write(record)
        with (tmp_path / name).open(newline="", encoding="utf-8") as file:
            read = list(csv.DictReader(file))
        assert len(read) == len(records)
        for row, record in zip(read, records, strict=True):
            assert list(row) == list(record)
            for column, value in record.items():
                if value is None:
                    assert row[column] == ""
                elif isinstance(value, float | int):
                    assert float(row[column]) == value
    first = found.predictions()[0]
    assert (first["never"], first["never_unscored"], first["flat"], first["flat_unscored"]) == (None, "=odd", 3.0, None)
    assert len(found.predictions()) == 48


@pytest.mark.parametrize(
    ("odd", "why"), [({3: "e1", 7: "e1"}, "(rows 2, 4 and 8: id 'e1')"), ({2: None}, "(row 3: no id)")]
)
def test_examples_that_ids_do_not_tell_apart_are_called_by_their_rows_and_keep_their_ids(odd, why) -> None:
    ids = {i: odd.get(i, f"e{i}") for i in range(24)}
    rows = [{"response": e.response, "id": ids[i], "score": e.score} for i, e in enumerate(examples())]
    found = compare(read_examples(rows, scale="1..5"), {"a": asking("a")}, model(), **QUICK)
    assert found.labels[:2] == ["row 1", "row 2"]
    told = "examples are named by their rows, not by their ids, which do not tell all of them apart"
    assert [note for note in found.notes if "ids" in note] == [f"{told} {why}"]
    for record in found.predictions():
        assert record["example"] == f"row {record['row']}"
        assert record["id"] == ids[record["row"] - 1]


def test_examples_that_ids_tell_apart_are_called_by_them() -> None:
    found = compare(examples(), {"a": asking("a")}, model(), **QUICK)
    assert not any("ids" in note for note in found.notes)
    first = found.predictions()[0]
    assert first["example"] == first["id"] == f"e{first['row'] - 1}"


def test_a_factory_of_ones_own_sets_what_it_likes() -> None:
    from active_critic.evaluators import ActiveCritic

    make = partial(
        ActiveCritic, criteria={"Tone": "It is kind."}, task_description="Replies.", candidates=1, report=False
    )
    found = compare(examples(), {"bare": make}, simulated_lm(), **QUICK)
    assert not found["bare"].failures
    assert found["bare"].parameters["criteria"] == {"Tone": "It is kind."}
    assert Reading().words in found["bare"].signatures[0]


class LengthProtocol(Protocol):
    """The program of ``Length``, which is the scale."""

    evaluator: str = "length"


class LengthJudge(Judge):
    """Scores by the length."""

    def answer(self, question: str, example: Example, *, explain: bool) -> int:
        del question, explain
        return len(example.response)

    def verdict(self, example: Example, answers: Any) -> Verdict:
        del example
        return Verdict(score=1.0 + answers["overall"] % 5)


class Length(Evaluator):
    """An evaluator of one's own that asks no model."""

    kind, document, needs_model = "length", LengthProtocol, False

    def learn(self, data: Any, notes: list[str], progress: Any) -> LengthProtocol:
        del progress
        return LengthProtocol(scale=data.scale, provenance=self.provenance(data, notes, model=False))

    def judge(self) -> Judge:
        return LengthJudge()


def test_an_evaluator_of_ones_own_without_a_model_opens_none_to_score() -> None:
    found = compare(examples(), {"length": Length}, "no such model", **QUICK)
    assert found["length"].agreement.n == 24
    critic = Length(None, journal=None).fit(examples(), scale="1..5")
    assert [again.score for _, again in critic.score_repeatedly([Example("abc"), Example("abcd")], 2)] == [4.0, 5.0]


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"against": ["a"]}, r"against must be one of the methods compared \(a, b\), not \['a'\]"),
        ({"explain": "no"}, "explain must be True or False, not 'no'"),
        ({"progress": True}, "progress must be a function .* not True"),
        ({"journal": 5}, "journal must be a path, 'default', or None to keep no replies, not 5"),
    ],
)
def test_arguments_of_another_kind_are_refused_before_anything_is_asked(wrong, said) -> None:
    lm = model()
    with pytest.raises(errors.FitError, match=said):
        compare(examples(), {"a": asking("a"), "b": asking("b")}, lm, **{**QUICK, **wrong})
    assert lm.usage.calls == 0
