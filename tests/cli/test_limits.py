"""``--budget``, ``--estimate``, ``--repeat``: what a run may cost, would cost, and how far its scores move."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from conftest_cli import FIT, opener, refuse, rows, write
from simulated import simulated_lm

from active_critic.evaluators import load
from active_critic.journal import Journal


def records(path: str) -> list[dict]:
    return [json.loads(line) for line in Path(path).read_text(encoding="utf-8").splitlines()]


# --- budget ---------------------------------------------------------------------------------------------------------


def test_a_spent_budget_leaves_the_rest_unscored_and_a_second_run_goes_on(run, program, examples) -> None:
    done = run("score", program, examples, "-o", "s.jsonl", "--no-explain", "--journal", "j", "--budget", "8 calls")
    assert done.code == 7
    assert "the budget of 8 calls is spent" in done.err
    scores = [record["score"] for record in records("s.jsonl")]
    assert len(scores) == 12
    assert 0 < sum(score is not None for score in scores) < 12
    with Journal("j") as journal:
        assert len(journal) == 8
    whole = run("score", program, examples, "-o", "t.jsonl", "--no-explain", "--journal", "j", "--json")
    assert whole.code == 0
    assert whole.document["usage"]["calls"] == 24 - 8
    again = [record["score"] for record in records("t.jsonl")]
    assert all(one == other for one, other in zip(scores, again, strict=True) if one is not None)


def test_a_fit_that_is_cut_short_says_so_and_saves_the_best_so_far(run, examples) -> None:
    options = ["-o", "p.json", "--scale", "1..5", "--journal", "none", *FIT]
    done = run("fit", examples, *options, "--budget", "12 calls", "--budget", "1h")
    assert done.code == 0, done.err
    assert load("p.json").fitted.demos == ()
    assert any("12 calls is spent" in note for note in load("p.json").fitted.provenance.notes)
    early = run("fit", examples, *options, "--budget", "1 call")
    assert early.code == 4
    assert "the budget of 1 calls is spent" in early.err


@pytest.mark.parametrize("amount", ["plenty", "0 calls", "$-1"])
def test_what_is_no_budget_is_told_before_the_model_is_opened(run, examples, program, amount) -> None:
    for verb in (["fit", examples, "-o", "q.json"], ["score", program, examples]):
        failed = run(*verb, "--budget", amount, opener=refuse)
        assert failed.code == 2
        assert "--budget" in failed.err


def test_money_without_a_price_is_refused(run, examples) -> None:
    failed = run("fit", examples, "-o", "q.json", "--budget", "$2")
    assert failed.code == 4
    assert "price is not known" in failed.err


# --- estimate -------------------------------------------------------------------------------------------------------


def counting(asked: list[str]):
    def opening(name, **_):
        lm = simulated_lm(name=name)
        send = lm._send
        lm._send = lambda request: (asked.append("call"), send(request))[1]
        return lm

    return opening


def test_an_estimate_of_a_fit_makes_no_call_and_writes_nothing(run, examples, monkeypatch) -> None:
    monkeypatch.setattr("active_critic.lm.rehearsal.PATIENCE", 1e9)  # on a busy machine there were fewer rehearsals
    asked: list[str] = []
    options = ["-o", "p.json", "--scale", "1..5", "--journal", "j", *FIT]
    told = run("fit", examples, *options, "--estimate", "--json", opener=counting(asked))
    assert told.code == 0, told.err
    assert asked == []
    assert not Path("p.json").exists()
    with Journal("j") as journal:
        assert len(journal) == 0
    real = run("fit", examples, *options, "--json").document["usage"]
    found = told.document
    assert found["in_journal"] == 0
    assert found["calls"] == pytest.approx(real["calls"], rel=0.2)
    assert found["prompt_tokens"] < 2 * real["prompt_tokens"]  # the scripted model writes much less than a real one
    assert found["cost"] is None
    for name in ("calls", "prompt_tokens", "completion_tokens"):
        low, high = found["ranges"][name]
        assert low <= found[name] <= high
    low, high = found["ranges"]["calls"]
    assert low <= real["calls"] <= high
    told = run("fit", examples, *options[:4], "--journal", "new", *FIT, "--estimate", "--quiet")
    assert f"\nBy what the model says: {low} to {high} calls, " in told.out
    for outcome in ("without demonstrations", "with demonstrations"):
        calls = found["outcomes"][outcome]["calls"]
        assert f"\nIf a program {outcome} turns out best: {calls} calls, " in told.out
    rest = run("fit", examples, *options, "--estimate", "--json").document
    assert rest["calls"] == 0
    assert rest["in_journal"] == real["calls"]
    assert rest["seconds"] == 0


def everything_in(folder: Path) -> dict[Path, bytes | None]:
    return {path: path.read_bytes() if path.is_file() else None for path in folder.rglob("*")}


ESTIMATES = {
    "fit": ("fit", "IN", *FIT, "--train", 0.5, "--rest", "new/r.csv", "-o", "new/p.json", "--html", "new/x.html"),
    "score": ("score", "PROGRAM", "IN", "-o", "new/v.csv", "--html", "new/x.html"),
    "compare": ("compare", "IN", "--evaluators", "ice", "-o", "new/c.json", "--predictions", "new/p.csv"),
    "curve": ("curve", "IN", "--evaluator", "ice", "--sizes", 5, "-o", "new/c.json", "--plot", "new/c.svg"),
    "probe": ("probe", "PROGRAM", "IN", "--limit", 2, "--csv", "new/p.csv", "--html", "new/x.html"),
    "suggest": ("suggest", "PROGRAM", "POOL", "-n", 2, "-o", "new/n.csv"),
}


@pytest.mark.parametrize("journal", ["none", "new/j.sqlite"])
@pytest.mark.parametrize("command", ESTIMATES)
def test_an_estimate_leaves_everything_as_it_was(run, program, tmp_path, command, journal) -> None:
    known = {"PROGRAM": program, "IN": write(tmp_path / "in.jsonl", rows(18))}
    known["POOL"] = write(tmp_path / "pool.jsonl", [row | {"source": f"Other {row['id']}"} for row in rows(6)])
    before = everything_in(tmp_path)
    asked = (known.get(str(part), part) for part in ESTIMATES[command])
    told = run(*asked, "--journal", journal, "--estimate")
    assert told.code == 0, told.err
    assert everything_in(tmp_path) == before
    assert "an estimate writes no file" in told.err


def test_an_estimate_refuses_what_the_fit_would_not_replace(run, examples) -> None:
    Path("notes.txt").write_text("mine")
    failed = run("fit", examples, "-o", "notes.txt", *FIT, "--estimate")
    assert failed.code == 5
    assert "notes.txt is there and is not a program" in failed.err


def test_an_estimate_of_scoring_counts_what_is_paid_for_apart(run, program, examples) -> None:
    options = ["--journal", "j", "--no-explain"]
    assert run("score", program, examples, "-o", "s.jsonl", "--limit", 5, *options).code == 0
    told = run("score", program, examples, *options, "--estimate")
    assert told.code == 0, told.err
    assert "this would take 14 calls" in told.out
    assert "By what the model says" not in told.out
    assert "besides 10 that are in the journal already" in told.out
    assert "its price is not known" in told.out
    three = run("score", program, examples, *options, "--estimate", "--json", "--repeat", 3).document
    assert (three["calls"], three["in_journal"]) == (62, 10)


def test_the_speed_is_read_from_the_journal(run, program, examples) -> None:
    assert run("score", program, examples, "-o", "s.jsonl", "--journal", "j", "--no-explain").code == 0
    told = run("score", program, examples, "--journal", "j", "--estimate", "--json").document
    assert told["calls"] == 24
    assert told["seconds"] is not None
    assert any("earlier calls in the journal" in note for note in told["notes"])
    cold = run("score", program, examples, "--journal", "none", "--estimate")
    assert "time not known before the journal holds 10 calls to this model" in cold.out


# --- repeat ---------------------------------------------------------------------------------------------------------


def shaky(seed: int):
    """A model that answers the same question otherwise each time."""
    chance = random.Random(seed)
    return opener(rate=lambda response, turns: chance.uniform(1, 5))


def test_repeats_say_how_much_scores_move_and_the_first_stays_the_score(run, program, tmp_path) -> None:
    items = write(tmp_path / "items.jsonl", [*rows(6), {**rows(7)[6], "response": " "}])
    options = ["--journal", "j", "--no-explain", "--json"]
    once = run("score", program, items, "-o", "once.jsonl", *options, opener=shaky(1))
    assert once.document["repeats"] is None
    assert "repeat_sd" not in records("once.jsonl")[0]
    three = run("score", program, items, "-o", "three.jsonl", "--repeat", 3, *options, opener=shaky(2))
    assert three.code == 7
    assert [r["score"] for r in records("three.jsonl")] == [r["score"] for r in records("once.jsonl")]
    assert three.document["usage"]["calls"] == 2 * once.document["usage"]["calls"]
    moved = three.document["repeats"]
    assert (moved["items"], moved["moved"], moved["share_moved"]) == (6, 6, 1.0)
    deviations = [record["repeat_sd"] for record in records("three.jsonl")]
    assert deviations[-1] is None
    assert moved["mean_sd"] == pytest.approx(sum(deviations[:-1]) / 6)
    assert 0 < moved["mean_absolute_difference"] < 4
    assert "6 of 6 items (100%) got another score" in moved["words"][0]
    # Repeats are in the journal as well, each by its number.
    resumed = run("score", program, items, "-o", "again.jsonl", "--repeat", 3, *options, opener=shaky(3))
    assert resumed.document["usage"]["calls"] == 0
    assert records("again.jsonl") == records("three.jsonl")


def test_repeats_that_a_budget_left_are_said_to_be_left_by_it(run, program, tmp_path) -> None:
    items = write(tmp_path / "items.jsonl", [*rows(6), {**rows(7)[6], "response": " "}])
    options = ["-o", "s.jsonl", "--repeat", 3, "--no-explain", "--budget", "12 calls", "--journal", "none"]
    done = run("score", program, items, *options, "--json")
    assert (done.document["scored"], done.code) == (6, 7)
    assert [one["row"] for one in done.document["reasons"]] == [7], "the text that is empty is none of these"
    (left,) = done.document["repeats"]["reasons"]
    assert (left["count"], done.document["repeats"]["partly_scored"]) == (12, 6)
    assert left["reason"].startswith("the budget of 12 calls is spent")
    assert done.document["repeats"]["words"][-1].startswith(
        "Left unscored when asked again, 12 times: the budget of 12"
    )
    shown = run("score", program, items, *options)
    assert "12 times: the budget of 12 calls is spent" in " ".join(shown.err.split())


def test_a_model_that_answers_the_same_does_not_move(run, program, examples) -> None:
    done = run("score", program, examples, "-o", "s.csv", "--repeat", 2, "--no-explain")
    assert done.code == 0, done.err
    assert "0 of 12 items (0%) got another score" in done.err
    assert "repeat_sd" in Path("s.csv").read_text().splitlines()[0]


def test_what_has_no_meaning_without_a_model_is_told(run, examples) -> None:
    assert run("fit", examples, "-o", "p.json", "--evaluator", "surface").code == 0
    for option in (["--repeat", 2], ["--estimate"]):
        failed = run("score", "p.json", examples, *option, opener=refuse)
        assert failed.code == 2
        assert "asks no model" in failed.err
    assert run("fit", examples, "-o", "q.json", "--evaluator", "surface", "--estimate").code == 2
