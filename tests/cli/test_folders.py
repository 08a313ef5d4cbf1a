"""A folder that is missing is made for every output, and a file in its place is named."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest_cli import refuse, rows, write

COMMANDS = {
    "fit --out": ("fit", "IN", "--evaluator", "surface", "--out"),
    "fit --rest": ("fit", "IN", "--evaluator", "surface", "--train", 0.5, "--out", "new.json", "--rest"),
    "fit --html": ("fit", "IN", "--evaluator", "surface", "--out", "new.json", "--html"),
    "score --out": ("score", "s.json", "IN", "--out"),
    "score --html": ("score", "s.json", "IN", "--out", "v.csv", "--html"),
    "suggest --out": ("suggest", "s.json", "POOL", "-n", 2, "--out"),
    "probe --csv": ("probe", "s.json", "IN", "--limit", 3, "--families", "repetition", "--csv"),
    "probe --html": ("probe", "s.json", "IN", "--limit", 3, "--families", "repetition", "--html"),
    "compare --out": ("compare", "IN", "--evaluators", "surface", "--resamples", 0, "--out"),
    "compare --predictions": ("compare", "IN", "--evaluators", "surface", "--resamples", 0, "--predictions"),
    "curve --plot": ("curve", "IN", "--evaluator", "surface", "--resamples", 0, "--repeats", 1, "--plot"),
    "agreement --html": ("agreement", "IN", "--human", "rating", "--predicted", "rated", "--html"),
    "show --html": ("show", "s.json", "--html"),
}
ENDINGS = {"fit --out": ".json", "curve --plot": ".svg"}


@pytest.mark.parametrize("option", COMMANDS)
def test_a_folder_that_is_missing_is_made(run, tmp_path, option) -> None:
    examples = write(tmp_path / "in.jsonl", [{**row, "rated": i % 4} for i, row in enumerate(rows(18))])
    pool = write(tmp_path / "pool.jsonl", [{**row, "source": f"Other {i}"} for i, row in enumerate(rows(6))])
    assert run("fit", examples, "--evaluator", "surface", "--out", "s.json", opener=refuse).code == 0
    known = {"IN": examples, "POOL": pool}
    command = [known.get(str(part), part) for part in COMMANDS[option]]
    ending = ENDINGS.get(option, ".html" if "--html" in option else ".csv")
    done = run(*command, f"new/folder/x{ending}", opener=refuse)
    assert done.code == 0, done.err
    assert Path(f"new/folder/x{ending}").stat().st_size
    if "--html" not in option and "--plot" not in option and "--csv" not in option:
        failed = run(*command, tmp_path.anchor, opener=refuse)
        assert failed.code == 5
        assert f"{tmp_path.anchor} is a folder; name a file in it" in failed.err
    failed = run(*command, f"in.jsonl/folder/x{ending}", opener=refuse)
    assert failed.code == 5
    assert "in.jsonl is no folder; name another, or remove the file" in failed.err
