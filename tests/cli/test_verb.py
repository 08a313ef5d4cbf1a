"""What no command passes over: an option given twice that counts once, and numbers that no result can hold."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from conftest_cli import refuse


@pytest.mark.parametrize(
    ("command", "named"),
    [
        (("agreement", "--human", "rating", "--human", "other", "--predicted", "score"), "--human is given 2"),
        (
            ("agreement", "--human", "a", "--predicted", "s", "--rated-by", "x", "--rated-by", "y"),
            "--rated-by is given 2",
        ),
        (("compare", "--evaluators", "surface", "--evaluators", "ice"), "--evaluators is given 2"),
        (("compare", "--evaluators", "surface", "-o", "a.json", "--out", "b.json"), "--out is given 2"),
    ],
)
def test_an_option_that_counts_once_is_not_taken_twice_unsaid(
    run: Any, examples: Path, command: tuple[str, ...], named: str
) -> None:
    verb, *options = command
    done = run(verb, examples, *options, opener=refuse)
    assert f"note: {named} times, and counts once: the last one does" in " ".join(done.err.split())


def test_the_last_of_an_option_counts_as_where_an_alias_has_its_own(run: Any, examples: Path, tmp_path: Path) -> None:
    done = run(
        "compare", examples, "--evaluators", "surface", "--resamples", 0, "-o", "a.json", "-o", tmp_path / "b.json"
    )
    assert done.code == 0, done.err
    assert (tmp_path / "b.json").exists()
    assert not Path("a.json").exists()
    assert "given 2 times" in done.err
    quiet = run("compare", examples, "--evaluators", "surface", "--resamples", 0, "--resamples", 0, "-q")
    assert "given 2 times" not in quiet.err


def test_flags_and_options_that_may_be_repeated_may_be_repeated(run: Any, examples: Path) -> None:
    options = ("--raters", "rating", "--raters", "rating2", "--json", "--json", "--resamples", 0)
    done = run("agreement", examples, *options)
    assert "no column 'rating2'" in done.err


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("--seed", 10**30, "at most 9,223,372,036,854,775,807"),
        ("--requests", 10**30, "at most 9,223,372,036,854,775,807"),
        ("--repeats", 1001, "1000"),
        ("--resamples", 1_000_001, "1000000"),
        ("--workers", 1001, "1000"),
        ("--context", 2**31, "2147483647"),
    ],
)
def test_numbers_that_are_far_too_large_are_named_before_anything_is_opened(
    run: Any, examples: Path, option: str, value: int, said: str
) -> None:
    done = run("compare", examples, "--evaluators", "zero-shot", option, value, opener=refuse)
    assert (done.code, done.out) == (2, "")
    assert option in done.err
    assert said in done.err
