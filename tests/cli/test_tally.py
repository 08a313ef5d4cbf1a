from __future__ import annotations

import pytest

from active_critic import Surface, read_examples
from active_critic.cli import _tally
from active_critic.cli._tally import Tally
from active_critic.data.examples import document_key, text_key
from active_critic.data.rows import BadRow
from active_critic.protocols import CriticProtocol, Provenance
from active_critic.records import Example, Scale, Verdict

PROTOCOL = CriticProtocol(task_description="t", scale=Scale(low=1, high=5), provenance=Provenance(model="m"))


def test_only_a_random_part_of_many_items_is_compared(monkeypatch) -> None:
    monkeypatch.setattr(_tally, "MOST_COMPARED", 50)
    tally = Tally(PROTOCOL, {})
    for i in range(1000):
        # The second half is the other way round: the first fifty alone would show perfect agreement.
        score = 1 + 4 * (i % 7) / 6
        tally.add(Example(f"r{i}", score=score, record={"score": score}), Verdict(score if i < 500 else 6 - score))
    found = tally.summary()["agreement"]
    assert found["figures"]["total"] == 50
    assert abs(found["figures"]["pearson"]) < 0.6
    assert any("50 of them, drawn at random" in sentence for sentence in found["words"])


def test_what_verdicts_note_is_counted_by_kind_once_a_text() -> None:
    tally = Tally(PROTOCOL, {})
    for i in range(1, 6):
        notes = ("copied", f"its first {i:,} of 9,000 characters were weighed", "copied")[: 3 if i > 2 else 1]
        tally.add(Example(f"r{i}", row=i), Verdict(2.0, notes=notes))
    tally.add(Example("r", row=6), Verdict(unscored="empty", notes=("copied",)))  # it has its reason
    assert tally.summary()["noted"] == [
        {"reason": "copied", "count": 5, "row": 1},
        {"reason": "its first 3 of 9,000 characters were weighed", "count": 3, "row": 3},
    ]
    for i in range(100):
        tally.add(Example(f"s{i}", row=i), Verdict(2.0, notes=("odd " + "a" * i,)))
    found = tally.summary()["noted"]
    assert len(found) <= _tally.MOST_REASONS + 1
    assert sum(one["count"] for one in found) == 108


def test_reasons_that_differ_in_numbers_are_one_kind_and_kinds_are_bounded() -> None:
    tally = Tally(PROTOCOL, {})
    for i in range(30):
        tally.add(
            BadRow(i + 1, f"source and response ({i:,} characters) do not fit"), Verdict(unscored=f"({i}) too long")
        )
    assert tally.summary()["reasons"] == [{"reason": "(0) too long", "count": 30, "row": 1}]
    for i in range(100):
        tally.add(BadRow(i, "x"), Verdict(unscored="odd " + "a" * i))
    found = tally.summary()
    assert len(found["reasons"]) <= _tally.MOST_REASONS + 1
    assert sum(reason["count"] for reason in found["reasons"]) == found["unscored"] == 130
    assert found["mean_score"] is None
    assert found["agreement"] is None


def test_unscored_items_are_counted_and_do_not_count_for_the_figures() -> None:
    tally = Tally(PROTOCOL, {"score": "mine"})
    for i in range(12):
        verdict = Verdict(unscored="no") if i == 3 else Verdict(1 + i % 5, read_from="text")
        tally.add(Example(f"r{i}", score=1 + i % 5, group=f"d{i % 4}"), verdict)
    summary = tally.summary()
    found = summary["agreement"]
    assert (found["figures"]["n"], found["figures"]["total"]) == (11, 12)
    assert found["figures"]["pearson"] == pytest.approx(1)
    assert found["mean_absolute_error"] == 0
    assert found["column"] == "mine"
    assert summary["read_from"] == {"text": 11}
    assert any("1 of 12 could not be scored" in sentence for sentence in found["words"])


def test_where_nothing_is_scored_that_is_all_that_is_said() -> None:
    tally = Tally(PROTOCOL, {})
    for i in range(3):
        tally.add(Example(f"r{i}", score=3), Verdict(unscored="no"))
    taken, *others = tally.summary()["agreement"]["words"]
    assert taken.startswith("Human scores were taken from the column 'score'")
    assert others == ["None of them could be scored, so there is nothing to compare."]


def test_texts_of_documents_that_the_program_was_fitted_on_are_told_from_others() -> None:
    known = [Example(f"r{i}", "a source", score=1 + i % 5, group=f"d{i // 2}") for i in range(4)]
    made = PROTOCOL.provenance.model_copy(
        update={
            "fitted_on": tuple(text_key(example) for example in known),
            "fitted_documents": tuple({document_key(example): None for example in known}),
            "n_train": 4,
        }
    )

    def told(*examples: Example) -> dict[str, object]:
        tally = Tally(PROTOCOL.model_copy(update={"provenance": made}), {})
        for example in examples:
            tally.add(example, Verdict(example.score))
        return tally.summary()["agreement"]

    others = [Example(f"other {i}", "a source", score=1 + i % 5, group=f"d{i % 2}") for i in range(11)]
    new = [Example(f"new {i}", "another", score=1 + i % 5, group=f"e{i}") for i in range(12)]
    mixed = told(*known, *others, *new)
    assert mixed["figures"]["total"] == 12
    assert (mixed["fitted_on_left_out"], mixed["fitted_documents_left_out"]) == (4, 11)
    related = told(*known, *others)
    assert related["figures"]["total"] == 11
    assert any("other texts of documents that the program was fitted on" in said for said in related["words"])
    assert any("with fewer than 5 there are no intervals" in said for said in related["words"])
    flattering = told(*known)
    assert (flattering["fitted_on_left_out"], flattering["fitted_documents_left_out"]) == (0, 0)


def test_a_text_that_was_fitted_on_without_its_source_is_known_with_one() -> None:
    made = PROTOCOL.provenance.model_copy(update={"fitted_on": (text_key(Example("r0")),), "n_train": 1})
    tally = Tally(PROTOCOL.model_copy(update={"provenance": made}), {})
    for i in range(12):
        tally.add(Example(f"r{i}", "a source", score=1 + i % 5), Verdict(1 + i % 5))
    assert tally.summary()["agreement"]["fitted_on_left_out"] == 1


@pytest.mark.parametrize(("fitted", "scored"), [("d", None), (None, "d"), ("d", "d"), (None, None)])
def test_documents_that_were_fitted_on_are_known_by_their_source_where_either_has_no_name(fitted, scored) -> None:
    rows = [
        {"source": f"source {i // 3}", "response": f"r {i} " + "word " * i, "score": 1 + i % 5}
        | ({"doc_id": f"{fitted}{i // 3}"} if fitted else {})
        for i in range(12)
    ]
    program = Surface().fit(read_examples(rows, scale="1..5")).fitted
    tally = Tally(program, {})
    for i in range(24):
        score, group = 1 + i % 5, f"{scored}{i // 3}" if scored else None
        tally.add(Example(f"other {i}", f"source  {i // 3}", score=score, group=group), Verdict(score))
    found = tally.summary()["agreement"]
    assert (found["figures"]["total"], found["fitted_documents_left_out"]) == (12, 12)


def test_a_fit_on_named_documents_knows_no_others_of_the_source_that_they_share() -> None:
    """Such as stories on one and the same request."""
    rows = [
        {"source": "Write a story.", "response": f"r {i} " + "word " * i, "score": 1 + i % 5, "doc_id": f"d{i // 3}"}
        for i in range(12)
    ]
    tally = Tally(Surface().fit(read_examples(rows, scale="1..5")).fitted, {})
    for i in range(24):
        score = 1 + i % 5
        tally.add(Example(f"other {i}", "Write a story.", score=score, group=f"d{i // 3}"), Verdict(score))
    found = tally.summary()["agreement"]
    assert (found["figures"]["total"], found["fitted_documents_left_out"]) == (12, 12)
    assert not any("flatter" in said for said in found["words"])
