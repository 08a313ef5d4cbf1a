"""No verb writes over what it reads, over its journal, over another of its outputs, or over a program."""

from __future__ import annotations

import gzip
import itertools
from contextlib import nullcontext
from pathlib import Path

import pytest
import typer
from conftest_cli import refuse

from active_critic.cli._outputs import refuse_clashes, refuse_program
from active_critic.errors import OutputError
from active_critic.store import LARGEST

# What is read, what is written, and what must be named beside it.
VERBS = {
    "compare": (("compare", "IN", "--evaluators", "surface"), ("--out", "--predictions", "--html"), ()),
    "curve": (("curve", "IN", "--evaluator", "surface"), ("--out", "--plot", "--html"), ()),
    "score": (("score", "p.json", "IN"), ("--out", "--html"), ()),
    "probe": (("probe", "p.json", "IN"), ("--csv", "--html"), ()),
    "suggest": (("suggest", "p.json", "IN", "-n", "2"), ("--out",), ()),
    "fit": (("fit", "IN"), ("--rest", "--html"), ("--out", "new.json", "--train", "0.5")),
    "agreement": (("agreement", "IN", "--human", "rating", "--predicted", "rated"), ("--html",), ()),
    "means": (("means", "IN", "--human", "rating", "--predicted", "rated"), ("--html",), ()),
    "show": (("show", "IN"), ("--html",), ()),
}
WITHOUT_JOURNAL = {"agreement", "means", "show"}


@pytest.mark.parametrize("verb", VERBS)
def test_every_output_of_a_verb_is_kept_from_every_other_file_of_it(run, examples, program, verb, tmp_path) -> None:
    command, outputs, more = VERBS[verb]
    given = tuple(examples if part == "IN" else part for part in command)
    # A name that an option takes, whichever it is, is that of a link to the file.
    for number, (option, other) in enumerate(
        itertools.chain(
            itertools.combinations(outputs, 2),
            ((one, "IN") for one in outputs),
            ((one, "--journal") for one in outputs if verb not in WITHOUT_JOURNAL),
        )
    ):
        real = examples if other == "IN" else tmp_path / f"real{number}"
        real.touch()
        paths = {option: tmp_path / f"a{number}{_ending(option)}"}
        paths[option].symlink_to(real)
        if other != "IN":
            paths[other] = tmp_path / f"b{number}{_ending(other)}"
            paths[other].symlink_to(real)
        named = tuple(part for pair in paths.items() for part in pair)
        done = run(*given, *more, *named, opener=refuse)
        assert done.code == 2, (option, other, done.err)
        assert "would be written over" in " ".join(done.err.split()), (option, other, done.err)


def _ending(option: str) -> str:
    return {"--html": ".html", "--plot": ".svg", "--csv": ".csv"}.get(option, ".jsonl")


def test_clashes_are_told_from_files_that_may_be_named_together(program, tmp_path) -> None:
    files = [tmp_path / name for name in "abc"]
    refuse_clashes(outputs=(None, files[0], files[1]), inputs=(files[2], None), journal="none")
    for inputs, journal, outputs in (
        ((files[0],), None, (files[1], files[0])),
        ((), str(files[1]), (files[1],)),
        ((), None, (files[1], None, files[1])),
    ):
        with pytest.raises(typer.BadParameter, match="would be written over; name another file for the output"):
            refuse_clashes(outputs=outputs, inputs=inputs, journal=journal)
    with pytest.raises(OutputError, match="is a program and would be lost"):
        refuse_clashes(outputs=(files[0], Path(program)))


def test_the_journal_of_the_environment_is_not_written_over(run, examples, program, tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("ACTIVE_CRITIC_JOURNAL", str(tmp_path / "s.jsonl"))
    done = run("score", program, examples, "--out", "s.jsonl", opener=refuse)
    assert done.code == 2
    assert "s.jsonl would be written over" in " ".join(done.err.split())


def test_links_in_a_circle_are_no_clash_and_no_fault_of_ours(run, examples, program, tmp_path) -> None:
    for name in ("c.json", "c.jsonl", "c.html"):
        (tmp_path / name).symlink_to(name)
    for command in (
        ("score", program, examples, "--out", "c.jsonl"),
        ("show", program, "--html", "c.html"),
        ("fit", examples, "--evaluator", "surface", "--out", "c.json"),
    ):
        done = run(*command)
        assert done.code in {0, 5}, done.err
        assert "Traceback" not in done.err


@pytest.mark.parametrize("name", ["labels.csv", "labels.jsonl.gz", "notes.txt"])
@pytest.mark.parametrize("command", [("score",), ("suggest", "-n", "2")])
def test_rows_of_another_kind_are_not_written_over(run, examples, program, tmp_path, command, name) -> None:
    there = tmp_path / name
    text = b"response,score\nA text that somebody scored.,4\n"
    there.write_bytes(gzip.compress(b'{"response": "A text.", "score": 4}') if name.endswith(".gz") else text)
    before = there.read_bytes()
    done = run(command[0], program, examples, *command[1:], "--out", name, opener=refuse)
    assert done.code == (2 if name == "notes.txt" else 5), done.err
    assert name == "notes.txt" or f"{name} is there and is not an output of this command" in " ".join(done.err.split())
    assert there.read_bytes() == before


def test_verdicts_are_written_over_verdicts_and_that_is_said(run, examples, program) -> None:
    for _ in range(2):
        done = run("score", program, examples, "--out", "s.csv")
        assert done.code == 0, done.err
    assert "note: the verdicts that were in s.csv have been replaced" in done.err


RESULTS = [
    ("compare", "--evaluators", "surface", "--folds", "2", "--out"),
    ("compare", "--evaluators", "surface", "--folds", "2", "--predictions"),
    ("curve", "--evaluator", "surface", "--sizes", "5", "--out"),
]


@pytest.mark.parametrize(
    ("command", "name"),
    [
        *itertools.product(RESULTS, ["labels.csv", "labels.jsonl", "labels.json", "labels.json.gz"]),
        (("probe", "--csv"), "labels.csv"),
        (("probe", "--attacks", "--csv"), "labels.csv"),
    ],
)
def test_results_are_not_written_over_what_is_no_result(run, examples, program, tmp_path, command, name) -> None:
    record = b'{"response": "A text.", "score": 4}'
    text = {"csv": b"response,score\nA text.,4\n", "jsonl": record}.get(name.rpartition(".")[2], b"[" + record + b"]")
    there = tmp_path / name
    there.write_bytes(gzip.compress(text) if name.endswith(".gz") else text)
    before = there.read_bytes()
    verb, *options = command
    done = run(verb, *([program] if verb == "probe" else []), examples, *options, name, opener=refuse)
    assert done.code == 5, done.err
    assert f"{name} is there and is not an output of this command" in " ".join(done.err.split())
    assert there.read_bytes() == before


@pytest.mark.parametrize("name", ["r.csv", "r.jsonl", "r.json", "r.json.gz"])
@pytest.mark.parametrize("command", RESULTS)
def test_results_are_written_over_results(run, examples, tmp_path, command, name) -> None:
    verb, *options = command
    (tmp_path / name).touch()  # an empty file holds nothing that could be lost
    for _ in range(2):
        done = run(verb, examples, *options, name, opener=refuse)
        assert done.code == 0, done.err


def test_what_is_larger_than_any_program_once_unpacked_is_none(tmp_path) -> None:
    """So that no more than that is unpacked to find out, however large the output of an earlier run is."""
    packed = tmp_path / "s.jsonl.gz"
    for size, there in ((1000, True), (LARGEST, False)):
        packed.write_bytes(gzip.compress(b'{"format_version": 1, "task_description": "' + b"x" * size + b'"}'))
        with pytest.raises(OutputError, match="is a program") if there else nullcontext():
            refuse_program(packed)
