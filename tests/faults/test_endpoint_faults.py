"""Whatever an endpoint does: exactly so many requests, the right verdict, every other row intact, reasons counted."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from fault_bench import HEALTHY, THIRD, Bench, level, never, plain
from fault_table import APPROVAL, ENDPOINT, TIMEOUT, Case

every = pytest.mark.parametrize("case", ENDPOINT, ids=lambda case: case.name)
NOT_ENDING = pytest.mark.parametrize("case", [c for c in ENDPOINT if not c.ends], ids=lambda case: case.name)
GO_ON = "; run the same command again to go on"


@pytest.fixture(scope="module")
def known() -> list[dict]:
    return []


@pytest.fixture
def healthy(bench: Bench, known: list[dict]) -> list[dict]:
    """What an endpoint without faults gives; found once."""
    if known:
        return known
    done = bench.score(HEALTHY, never)
    assert done.code == 0, done.err
    assert [record["score"] for record in done.records] == [level(n) for n in range(1, 7)]
    assert bench.attempts == [1, 2, 3, 4, 5, 6]
    Path("j.sqlite").unlink()
    known.extend(done.records)
    return known


def check_requests(bench: Bench, case: Case, expected: list[int]) -> None:
    assert bench.attempts == expected
    if case.reply is not None:
        assert len(bench.sent) == len(expected)  # what was counted here is what arrived there: nobody else retries


@every
def test_a_fault_that_always_hits_the_third_item(bench: Bench, healthy: list[dict], case: Case) -> None:
    done = bench.score(case, lambda item, before: item == THIRD)
    if case.ends:
        check_requests(bench, case, [1, 2, 3])
        assert done.code == 4
        assert "openai/x: " in done.err
        assert f"everything paid for is in the journal (2 replies added in this run){GO_ON}" in done.err
        assert done.records == []
        again = bench.score(HEALTHY, never)  # what was wrong is put right
        assert (again.code, bench.attempts, again.records) == (0, [3, 4, 5, 6], healthy)
        return
    check_requests(bench, case, [1, 2, *[3] * case.requests, 4, 5, 6])
    assert bench.waits == list(case.waits)
    assert plain(done.records, THIRD) == plain(healthy, THIRD)
    third = done.records[THIRD - 1]
    assert {name: third[name] for name in ("id", "colour")} == {"id": "i3", "colour": "blue"}
    assert done.summary["usage"]["calls"] == 5 + case.requests
    if case.scored:
        assert done.code == 0
        assert third["score"] == pytest.approx(level(THIRD))
        assert third["unscored"] is None
        assert third["read_from"] == ("text" if "no probabilities" in case.note else "probabilities")
        assert [case.note in note for note in third["notes"]] == [True] * bool(case.note)
        assert done.summary["reasons"] == []
    else:
        assert done.code == 7
        assert third["score"] is None
        assert case.reason
        assert case.reason in third["unscored"]
        (reason,) = done.summary["reasons"]
        assert (reason["count"], reason["row"], reason["reason"]) == (1, THIRD, third["unscored"])


@every
def test_a_fault_that_hits_the_third_item_once(bench: Bench, healthy: list[dict], case: Case) -> None:
    done = bench.score(case, lambda item, before: item == THIRD and before == 0)
    if case.ends:
        assert (done.code, bench.attempts) == (4, [1, 2, 3])
    elif case.passing and case.requests > 1:
        check_requests(bench, case, [1, 2, 3, 3, 4, 5, 6])
        assert bench.waits == list(case.waits[:1])
        assert (done.code, done.records) == (0, healthy)
    else:
        check_requests(bench, case, [1, 2, 3, 4, 5, 6])
        assert plain(done.records, THIRD) == plain(healthy, THIRD)


@every
def test_a_fault_at_every_item(bench: Bench, case: Case) -> None:
    done = bench.score(case, lambda item, before: True)
    if case.ends:
        check_requests(bench, case, [1])
        assert (done.code, done.records) == (4, [])
        assert GO_ON not in done.err  # for nothing is in the journal
    elif case.retried:
        check_requests(bench, case, [1] * case.requests + [2] * case.requests)
        assert (done.code, done.records) == (4, [])
        assert "Stopped after 2 failures in a row" in done.err
        assert GO_ON not in done.err  # for nothing is in the journal
    else:
        check_requests(bench, case, [item for item in range(1, 7) for _ in range(case.requests)])
        assert done.code == (0 if case.scored else 7)
        assert [record["score"] is not None for record in done.records] == [case.scored] * 6
        assert [reason["count"] for reason in done.summary["reasons"]] == [6] * (not case.scored)


@NOT_ENDING
def test_a_fault_at_the_first_item_loses_no_other_row(bench: Bench, healthy: list[dict], case: Case) -> None:
    done = bench.score(case, lambda item, before: item == 1)
    assert done.code == (0 if case.scored else 7)
    assert plain(done.records, 1) == plain(healthy, 1)


def test_an_approval_without_probabilities_leaves_its_item_unscored_and_is_asked_for_once(bench: Bench) -> None:
    healthy = bench.score(HEALTHY, never, program="combined.json")
    assert healthy.code == 0, healthy.err
    assert [set(record["parts"]) for record in healthy.records] == [{"rating", "approval", "surface"}] * 6
    assert bench.attempts == [1, 2, 3, 4, 5, 6] * 2
    Path("j.sqlite").unlink()
    done = bench.score(APPROVAL, lambda item, before: item == THIRD, program="combined.json")
    assert (done.code, bench.attempts) == (7, [1, 2, 3, 4, 5, 6] * 2)
    assert bench.attempts.count(THIRD) == APPROVAL.requests
    assert plain(done.records, THIRD) == plain(healthy.records, THIRD)
    unscored = done.records[THIRD - 1]["unscored"]
    assert (
        unscored
        == f"{APPROVAL.reason}; fit again with this model, or with --use-approval never --discount-praise never"
    )
    assert done.summary["usage"]["calls"] == 12  # what the unscored item cost is told, too


def test_an_endpoint_found_to_give_no_probabilities_is_paid_for_no_item_where_the_approval_is_read(
    bench: Bench,
) -> None:
    done = bench.score(APPROVAL, lambda item, before: True, program="combined.json", found_out=False)
    assert (done.code, bench.attempts, done.records) == (4, [], [])
    assert "openai/x: the endpoint gives no token probabilities, which this program's approval reading" in done.err
    assert "--use-approval never" in done.err
    rated = bench.score(APPROVAL, lambda item, before: True, found_out=False)  # a program that reads ratings alone
    assert (rated.code, bench.attempts) == (0, [1, 2, 3, 4, 5, 6])


def test_the_summary_counts_each_reason(bench: Bench) -> None:
    cases = {case.name: case for case in ENDPOINT}
    down, words = cases["500"], cases["score as words"]
    assert down.reply is not None
    assert words.reply is not None
    mixed = Case("mixed", lambda n: down.reply(n) if n == level(3) else words.reply(n), 0)  # type: ignore[misc]
    done = bench.score(mixed, lambda item, before: item in {2, 3, 5})
    assert done.code == 7
    assert [(r["count"], r["row"]) for r in done.summary["reasons"]] == [(2, 2), (1, 3)]
    assert (done.summary["scored"], done.summary["unscored"]) == (3, 3)


def test_five_failures_in_a_row_stop_a_run_and_the_same_command_goes_on(bench: Bench, healthy: list[dict]) -> None:
    down = next(case for case in ENDPOINT if case.name == "502")
    done = bench.score(down, lambda item, before: item > 1)
    assert (done.code, done.records) == (4, [])
    assert bench.attempts == [1] + [item for item in range(2, 7) for _ in range(4)]
    assert "Stopped after 5 failures in a row" in done.err
    said = f"Before you run this again, try: active-critic lm check openai/x --api-base {bench.loopback.api_base}\n"
    assert said in done.err
    assert "the endpoint does not answer (HTTP 502: bad gateway)\nIt was asked 4 times.\n" in done.err
    assert f"is in the journal (1 reply added in this run){GO_ON}" in done.err
    again = bench.score(HEALTHY, never)
    assert (again.code, again.records, bench.attempts) == (0, healthy, [2, 3, 4, 5, 6])


def test_waiting_in_vain_is_bounded(bench: Bench) -> None:
    endless = next(case for case in ENDPOINT if case.name == "endless stream")
    done = bench.score(endless, lambda item, before: item == THIRD)
    third = done.records[THIRD - 1]
    assert f"no whole reply within {TIMEOUT:g} seconds" in third["unscored"]
    assert done.summary["seconds"] < 30


def test_every_fault_has_a_name_of_its_own() -> None:
    names = [case.name for case in (*ENDPOINT, APPROVAL)]
    assert len(set(names)) == len(names)
    assert json.dumps(names)
