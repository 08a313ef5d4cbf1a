"""``active-critic means``: people's mean of all outputs, from those they scored and a judge's scores."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from conftest_cli import refuse, write

from active_critic.cli._tally import FITTED, RELATED
from active_critic.stats import people_means


def records(documents: int = 40, labelled: int = 12) -> list[dict]:
    """A judge that likes the old system better, and people who do not."""
    rng = np.random.default_rng(5)
    made = []
    for document in range(documents):
        for system, better in (("new", 0.8), ("old", 0.0)):
            quality = 3 + better + rng.normal()
            score = round(0.1 * (quality + 0.3 * rng.normal()) + (0.3 if system == "old" else 0.0), 3)
            people = round(quality, 2) if document < labelled else None
            made.append({"doc_id": f"d{document}", "system": system, "input_score": people, "score": score})
    return made


def go(run, path: Path, *options, human="input_score", code: int = 0):
    done = run("means", path, "--human", human, "--predicted", "score", *options, opener=refuse)
    assert done.code == code, done.err
    return done


def test_it_prints_what_the_statistics_find_the_best_system_first(run, tmp_path) -> None:
    rows = records()
    path = write(tmp_path / "judged.jsonl", rows)
    columns = ([row[name] for row in rows] for name in ("score", "input_score", "doc_id", "system"))
    expected = people_means(*columns)
    found = json.loads(go(run, path, "--json").out)
    assert {name: found[name] for name in ("weight", "means", "apart", "confidence")} == json.loads(
        json.dumps(expected.to_dict())
    )
    assert (found["rows"], found["group"], found["system"]) == (80, "doc_id", "system")
    new, old = expected.means
    assert new.judge < old.judge
    assert new.mean > old.mean
    out = go(run, path).out
    first, second = (line.split() for line in out.splitlines() if line.startswith(("new ", "old ")) and "of" in line)
    assert first[:3] == ["new", f"{new.mean:.2f}", f"[{new.interval[0]:.2f},"]
    assert first[-4:] == ["12", "of", "40", f"{new.worth:.0f}"]
    assert second[:2] == ["old", f"{old.mean:.2f}"]
    assert f"+{expected.apart[0].difference:.2f}" in out
    assert "Estimated from 24 outputs that people scored and 56 that the judge alone did" in " ".join(out.split())


def test_texts_that_the_program_was_fitted_on_are_left_out_and_it_is_said(run, tmp_path) -> None:
    rows = records()
    fitted = [{**row, "doc_id": f"f{i}", "input_score": 5.0, "score": 9.0} for i, row in enumerate(records(3))]
    noted = [{**row, "notes": ""} for row in rows]
    noted += [{**row, "notes": f"cut; {FITTED if i % 2 else RELATED}"} for i, row in enumerate(fitted)]
    done = go(run, write(tmp_path / "judged.jsonl", noted), "--json")
    found, without = json.loads(done.out), json.loads(go(run, write(tmp_path / "less.jsonl", rows), "--json").out)
    assert (found["means"], found["apart"]) == (without["means"], without["apart"])
    assert "6 rows are left out, of texts that the program was fitted on, or others of their documents" in done.err
    only = write(tmp_path / "only.jsonl", [{**row, "input_score": None} for row in noted[:80]] + noted[80:])
    refused = go(run, only, code=3)
    assert "no row that nothing was fitted on has both a human score and one of the judge" in refused.err
    assert "fit --train 0.5" in refused.err


def test_what_the_means_rest_on_is_said(run, tmp_path) -> None:
    rows = records(labelled=4)
    rows += [{**row, "system": "unseen", "input_score": None} for row in rows if row["system"] == "new"]
    rows += [{"doc_id": "d0", "system": "new", "input_score": 3, "score": "n/a"}]
    rows += [{"doc_id": "d0", "system": "new", "input_score": 3, "score": "good"}]
    done = go(run, write(tmp_path / "judged.jsonl", rows))
    said = " ".join(done.err.split())
    assert "people scored outputs of 'new' in 4 documents only, and an interval takes 5" in said
    assert "nobody scored an output of 'unseen', so people's mean is not estimated" in said
    assert (
        "2 of 122 rows have no number in 'score' and do not count, the first that holds something else: 'good'" in said
    )
    few = go(run, write(tmp_path / "few.jsonl", records(labelled=7)))
    assert "of 'old' in 7 documents only: the interval is wide, and means little" in " ".join(few.err.split())


def test_labels_of_the_best_alone_and_a_judge_against_people_are_said(run, tmp_path) -> None:
    rows = [{**row, "system": ""} for row in records(60, 60)]
    best = sorted(row["score"] for row in rows)[-30]
    chosen = [row if row["score"] >= best else {**row, "input_score": None} for row in rows]
    done = go(run, write(tmp_path / "chosen.jsonl", chosen))
    assert "the judge scores the outputs that people scored otherwise than the rest" in " ".join(done.err.split())
    against = [{**row, "score": -row["score"], "input_score": row["input_score"] if i < 40 else None}
               for i, row in enumerate(records(60, 60)) if row["system"] == "new"]  # fmt: skip
    done = go(run, write(tmp_path / "against.jsonl", against))
    assert "the judge's scores do not rise with people's, so the judge is not used" in " ".join(done.err.split())
    for documents, why in ((30, "people scored all outputs"), (34, "nobody scored are of fewer than 5 documents")):
        done = go(run, write(tmp_path / f"{documents}.jsonl", records(documents, 30)))
        assert f"{why}, so the judge is not used: the means are those of people's" in " ".join(done.err.split())
    some = [{**row, "input_score": row["score"] * 10 if row["system"] == "old" and i < 76 else row["input_score"]}
            for i, row in enumerate(records())]  # fmt: skip
    done = go(run, write(tmp_path / "some.jsonl", some))
    assert "the outputs of 'old' that nobody scored are of fewer than 5 documents: they are not used" in " ".join(
        done.err.split()
    )


def test_the_mean_of_several_raters_is_that_of_those_that_a_row_has(run, tmp_path) -> None:
    rows = [{**row, "anna": row["input_score"], "bert": row["input_score"] and row["input_score"] + 1}
            for row in records()]  # fmt: skip
    rows[0]["bert"] = None
    found = json.loads(go(run, write(tmp_path / "r.jsonl", rows), "--human", "bert", "--json", human="anna").out)
    people = [None if row["anna"] is None else row["anna"] + (0.5 if i else 0) for i, row in enumerate(rows)]
    columns = ([row[name] for row in rows] for name in ("doc_id", "system"))
    expected = people_means([row["score"] for row in rows], people, *columns)
    assert [mean["mean"] for mean in found["means"]] == pytest.approx([mean.mean for mean in expected.means])


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"input_score": "good"}, "column 'input_score': 'good' (row 1) is not a finite number; correct it, or leave"),
        ({"system": None}, "row 1, column 'system': no system is named; fill it in"),
    ],
)
def test_a_cell_that_cannot_be_used_is_named(run, tmp_path, change, said) -> None:
    rows = records()
    done = go(run, write(tmp_path / "judged.jsonl", [{**rows[0], **change}, *rows[1:]]), code=3)
    assert said in " ".join(done.err.split())


def test_labels_are_needed_and_columns_differ(run, tmp_path) -> None:
    path = write(tmp_path / "judged.jsonl", [{**row, "input_score": None} for row in records()])
    assert "no row has both a human score and one of the judge; let people score some" in go(run, path, code=3).err
    worded = write(tmp_path / "worded.jsonl", [{**row, "score": "fair"} for row in records()])
    assert "column 'score': no row holds a number (the first that is not one: 'fair'" in go(run, worded, code=3).err
    assert "a column is named twice" in go(run, path, human="score", code=2).err
    assert "there is no column 'humane'" in go(run, path, human="humane", code=3).err


def test_rows_that_each_have_a_system_of_their_own_are_not_told_apart(run, tmp_path) -> None:
    rows = [{**row, "system": f"s{i}"} for i, row in enumerate(records())]
    path = write(tmp_path / "judged.jsonl", rows)
    done = go(run, path, "--json")
    found = json.loads(done.out)
    assert (found["system"], [mean["system"] for mean in found["means"]], found["apart"]) == (None, [None], [])
    assert "each row has a 'system' of its own, so systems are not told apart" in done.err
    assert "so nothing is averaged" in go(run, path, "--system", "system", code=3).err


def test_the_page_holds_the_table_and_the_notes(run, tmp_path) -> None:
    go(run, write(tmp_path / "judged.jsonl", records(labelled=7)), "--html", tmp_path / "means.html", "--quiet")
    page = (tmp_path / "means.html").read_text(encoding="utf-8")
    assert "What people would score on average" in page
    assert "the interval is wide, and means little" in page
    assert "<td" in page
