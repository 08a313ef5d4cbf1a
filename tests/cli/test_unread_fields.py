"""``--fields NAME=`` reads no column as that field, in the fit and in what its program scores."""

from __future__ import annotations

import csv
import json
from pathlib import Path

ROWS = ["source,response,score,reference"] + [f"text {i},reply number {i},{i},T-{i}" for i in range(1, 6)]


def test_a_program_reads_no_column_where_its_fit_read_none(run, tmp_path: Path) -> None:
    labels, program, out = tmp_path / "labels.csv", tmp_path / "program.json", tmp_path / "out.csv"
    labels.write_text("\n".join(ROWS))
    fitted = run("fit", labels, "--evaluator", "surface", "--fields", "reference=,group=", "--out", program)
    assert fitted.code == 0, fitted.err
    assert "score=score; none, as asked, for group or reference" in fitted.err
    assert json.loads(program.read_text())["provenance"]["fields"]["reference"] == ""
    scored = run("score", program, labels, "-o", out)
    assert scored.code == 0, scored.err
    assert "none, as asked, for group or reference" in scored.err
    assert [row["reference"] for row in csv.DictReader(out.read_text().splitlines())] == [f"T-{i}" for i in range(1, 6)]
    unlike = run("score", program, labels, "--fields", "source=", "-o", out)
    assert "texts are scored without a source" in unlike.err
