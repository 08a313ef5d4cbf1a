from __future__ import annotations

import decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from by_scipy import COEFFICIENTS, SHARED, at_level, shared_set
from compared import asking, examples, model, noisy
from conftest_cli import refuse, rows, write

from active_critic.meta_evaluation import compare

MOST_COLUMNS = 12
QUICK = ("--resamples", 50)


def records(n: int = 24, **more) -> list[dict]:
    rng = np.random.default_rng(1)
    return [
        {
            "doc_id": f"d{i // 4}",
            "system": f"s{i % 4}",
            "overall": float(human := 1 + i * 7 % 5),
            "score": round(float(human + rng.normal()), 3),
            "poor": round(float(rng.normal()), 3),
            "scores": {"fluency": float(1 + i % 3), "tone": float(human)},
            "preds": {
                "m.1": {"x": float(i)},
                "p:fluency": float(i % 5),
                "p:tone": None if i % 6 else 2.0 + i,
                "q:tone": i,
            },
            **more,
        }
        for i in range(n)
    ]


@pytest.fixture
def scored(tmp_path) -> Path:
    return write(tmp_path / "scored.jsonl", records())


def go(run, path, *options, human="overall", predicted="score"):
    return run("agreement", path, "--human", human, "--predicted", predicted, *options, opener=refuse)


@pytest.mark.skipif(not SHARED.exists(), reason="the shared data sets are not here")
@pytest.mark.parametrize("name", ["topical_chat", "qags_cnn"])
def test_figures_equal_scipys_on_the_shared_data_sets(run, tmp_path, name) -> None:
    data = shared_set(name)
    columns = ["length", "constant", *(f"preds.{peer}" for peer in [*data[0]["preds"]][:MOST_COLUMNS])]
    others = [part for column in columns[1:] for part in ("--other", column)]
    done = go(
        run,
        write(tmp_path / "d.jsonl", data),
        *(*others, "--level", "all", "--resamples", 0, "--json"),
        predicted="length",
    )
    assert done.code == 0, done.err
    results = {result["level"]: result for result in done.document["results"]}
    single = name.startswith("qags")  # one text a document, no systems
    assert set(results) == ({"dataset"} if single else {"dataset", "document", "system"})
    assert {left["level"] for left in done.document["left_out"]} == ({"document", "system"} if single else set())
    human, groups, systems = ([row[column] for row in data] for column in ("overall", "doc_id", "system"))
    for level, result in results.items():
        for column, entry in zip(columns, result["columns"], strict=True):
            pred = [row["preds"][column[6:]] if column.startswith("preds.") else row[column] for row in data]
            three, _ = at_level(level, pred, human, groups, systems)
            figures = entry["figures"]
            ours = [figures[coefficient] for coefficient in COEFFICIENTS]
            assert ours == ([None] * 3 if three is None else pytest.approx(three, abs=1e-12)), (level, column)
            assert entry["missing"] == len(pred) - figures["n"]
            assert (three is None) == (figures["mean"] is None)


def test_the_document_says_everything(run, scored) -> None:
    found = go(run, scored, "--other", "poor", "--level", "all", *QUICK, "--json").document
    assert (found["rows"], found["group"], found["system"], found["seed"]) == (24, "doc_id", "system", 0)
    assert [result["level"] for result in found["results"]] == ["dataset", "document", "system"]
    assert found["left_out"] == []
    first, second = found["results"][0]["columns"]
    assert first["column"] == "score"
    assert first["difference"] is None
    assert second["difference"]["to"] == "score"
    assert second["difference"]["delta"] < 0
    assert 0 < second["difference"]["p"] <= second["difference"]["p_holm"] <= 1
    low, high = first["figures"]["mean_interval"]
    assert low <= first["figures"]["mean"] <= high
    assert found["results"][1]["columns"][0]["documents_skipped"] == 0
    assert found == go(run, scored, "--other", "poor", "--level", "all", *QUICK, "--json").document


def test_holm_is_over_the_whole_table(run, scored) -> None:
    options = ("--other", "poor", "--other", "preds.m.1.x", "--level", "all", *QUICK, "--json")
    found = go(run, scored, *options).document
    compared = [c["difference"] for r in found["results"] for c in r["columns"] if c["difference"]]
    assert len(compared) == 6
    smallest = min(compared, key=lambda difference: difference["p"])
    assert smallest["p_holm"] == pytest.approx(min(1, 6 * smallest["p"]))


@pytest.mark.parametrize(
    ("others", "said"),
    [
        (["poor", "preds.m.1.x", "constant"], "corrected: by Holm, for all 2 differences that have one."),
        (["poor", "constant"], "; one comparison needs no correction."),
        (["constant"], None),
    ],
)
def test_only_differences_that_are_tested_count_for_the_correction(run, tmp_path, others, said) -> None:
    path = write(tmp_path / "d.jsonl", records(constant=3))
    shown = go(run, path, *(part for name in others for part in ("--other", name)), *QUICK)
    assert shown.code == 0, shown.err
    assert (said or "compared with score") in " ".join(shown.out.split())
    assert ("paired permutation" in shown.out) == (said is not None)


def test_a_readable_account(run, scored) -> None:
    shown = go(run, scored, "--other", "poor", "--level", "document", *QUICK)
    assert shown.code == 0
    for words in (
        *("overall, within documents", "Pearson", "pairwise accuracy", "documents averaged", "6 of 6", "24 of 24"),
        *(
            "compared with score",
            "50 resamples, seed 0",
            "one comparison needs no correction",
            "so there is no MAE or RMSE",
        ),
    ):
        assert words in shown.out
    assert "rows with the same 'doc_id' count as one document" in shown.err
    assert go(run, scored, "--quiet").err == ""


def test_distances_only_on_a_shared_scale(run, tmp_path) -> None:
    data = [{"overall": 1 + i % 5, "near": 1 + (i + 1) % 5, "far": 10 * i} for i in range(10)]
    path = write(tmp_path / "d.jsonl", data)
    found = go(run, path, "--other", "far", *QUICK, "--json", predicted="near").document["results"][0]
    near, far = found["columns"]
    assert found["scale"] == "1..5"
    assert near["mae"] == pytest.approx(1.6)
    assert near["rmse"] == pytest.approx(2.0)
    assert far["mae"] is far["rmse"] is None
    shown = go(run, path, "--other", "far", *QUICK, predicted="near").out
    assert "other scale" in shown
    assert "take predictions to be on the human scale 1..5" in shown
    assert go(run, path, "--scale", "1..100", "--json", predicted="far").document["results"][0]["scale"] == "1..100"
    outside = go(run, path, "--scale", "1..4", predicted="near")
    assert outside.code == 3
    assert "row 5, column 'overall': 5 lies outside the human scale 1..4" in outside.err


def test_a_slip_among_human_scores_is_named_as_a_fit_names_it(run, tmp_path) -> None:
    data = [{"human": 1 + i % 5, "score": 1 + i * 3 % 4} for i in range(40)]
    slip = write(tmp_path / "slip.jsonl", [*data[:7], {"human": 44, "score": 44}, *data[8:]])
    done = go(run, slip, *QUICK, "--level", "all", "--json", human="human")
    assert done.document["results"][0]["scale"] == "0..100"  # nothing is left out unasked
    said = "'human': only row 8 (44) lies outside 1..5: correct it if it is a slip"
    assert [note for note in done.document["notes"] if "lies outside" in note] == [said]
    both = [{"a": row["human"], "b": row["human"], "score": row["score"]} for row in data]
    path = write(tmp_path / "raters.jsonl", [*both, {"a": 44, "b": 3, "score": 5}])
    rated = run("agreement", path, "--raters", "a", "--raters", "b", "--predicted", "score", *QUICK)
    assert "note: the raters: only row 41 (44) lies outside 1..5: correct it if it is a slip" in rated.err
    assert "lies outside" not in go(run, write(tmp_path / "d.jsonl", data), *QUICK, human="human").err


def test_a_row_of_totals_is_refused_and_a_scale_of_its_own_is_not(run, tmp_path) -> None:
    data = [{"human": 1 + i % 5, "score": 1 + i * 3 % 4} for i in range(40)]
    totals = {name: sum(row[name] for row in data) for name in ("human", "score")}
    path = write(tmp_path / "d.jsonl", [*data, totals])
    done = go(run, path, *QUICK, human="human")
    assert (done.code, done.out) == (3, "")
    assert "d.jsonl, column 'human': only row 41 (120) lies outside 1..5: correct it, leave it out" in done.err
    assert "outside" not in go(run, path, "--scale", "0..200", *QUICK, human="human").err
    seconds = write(tmp_path / "s.jsonl", [{"human": 7 * i, "score": i % 4} for i in range(40)])
    assert go(run, seconds, *QUICK, "--json", human="human").document["results"][0]["scale"] is None


def test_rows_without_a_prediction_are_counted_and_never_0(run, tmp_path) -> None:
    data = records()
    full = write(tmp_path / "full.jsonl", data[3:])
    for row, cell in zip(data, (None, "good", ""), strict=False):
        row["score"] = cell
    holes = write(tmp_path / "holes.jsonl", data)
    found = go(run, holes, *QUICK, "--json").document["results"][0]["columns"][0]
    assert (found["missing"], found["not_numeric"], found["first_not_numeric"]) == (2, 1, "'good' (row 2)")
    assert (found["figures"]["n"], found["figures"]["total"]) == (21, 24)
    without = go(run, full, *QUICK, "--json").document["results"][0]["columns"][0]
    assert found["figures"]["kendall"] == pytest.approx(without["figures"]["kendall"], abs=1e-12)
    said = (
        "'score': 3 of 24 rows have no prediction and do not count: 2 missing, 1 not a number (first: 'good' (row 2))"
    )
    assert said in go(run, holes, *QUICK).out


def test_constant_documents_are_skipped_counted_and_said(run, tmp_path) -> None:
    data = [{**row, "score": 1.0 if row["doc_id"] == "d2" else row["score"]} for row in records()]
    path = write(tmp_path / "d.jsonl", data)
    entry = go(run, path, "--level", "document", *QUICK, "--json").document["results"][0]["columns"][0]
    assert (entry["documents_skipped"], entry["figures"]["units"]) == (1, 5)
    assert "'score': 1 of 6 documents have one example only" in go(run, path, "--level", "document", *QUICK).out


def test_every_aspect_at_once(run, scored, tmp_path) -> None:
    found = go(run, scored, *QUICK, "--json", human="scores.*", predicted="preds.p:*").document
    assert [result["human"] for result in found["results"]] == ["scores.fluency", "scores.tone"]
    assert [result["columns"][0]["column"] for result in found["results"]] == ["preds.p:fluency", "preds.p:tone"]
    partly = go(run, scored, *QUICK, "--json", human="scores.*", predicted="preds.q:*")
    assert partly.code == 0
    assert [result["human"] for result in partly.document["results"]] == ["scores.tone"]
    assert [left["human"] for left in partly.document["left_out"]] == ["scores.fluency"]
    assert "no column 'preds.q:fluency'" in partly.document["left_out"][0]["reason"]
    assert go(run, scored, human="scores.*", predicted="preds.z:*").code == 3
    # A star in a column's own name is no pattern.
    starred = write(
        tmp_path / "s.jsonl", [{**row, "S*": row["score"], "scores.*": i % 3} for i, row in enumerate(records())]
    )
    found = go(run, starred, *QUICK, "--json", human="scores.*", predicted="S*").document
    assert [result["human"] for result in found["results"]] == ["scores.*"]
    # One prediction for all of them.
    assert len(go(run, scored, *QUICK, "--json", human="scores.*").document["results"]) == 2


def test_documents_are_found_in_the_source_where_nothing_else_names_them(run, tmp_path) -> None:
    data = [{"source": f"s{i // 4}", "overall": 1 + i % 4, "score": i} for i in range(16)]
    found = go(run, write(tmp_path / "d.jsonl", data), *QUICK, "--json").document
    assert found["group"] == "source"
    assert found["results"][0]["columns"][0]["figures"]["groups"] == 4
    bare = [{"overall": 1 + i % 4, "score": i} for i in range(16)]
    found = go(run, write(tmp_path / "b.jsonl", bare), *QUICK, "--json").document
    assert found["results"][0]["columns"][0]["figures"]["groups"] == 16
    assert "every row counts as a document of its own" in found["notes"][0]


def test_sources_that_merged_cells_leave_out_are_said(run, tmp_path) -> None:
    data = [{"source": f"s{i // 2}", "overall": 1 + i % 4, "score": i % 5} for i in range(16)]
    merged = [{**row, "source": "" if i % 2 else row["source"]} for i, row in enumerate(data)]
    found = go(run, write(tmp_path / "m.jsonl", merged), *QUICK, "--json").document
    said = "no 'source' in rows 2, 4, 6, 8, 10 and 3 more, each of which counts as a document of its own; merged cells"
    assert [note for note in found["notes"] if note.startswith(said)]
    assert found["results"][0]["columns"][0]["figures"]["groups"] == 16
    assert "merged cells" not in go(run, write(tmp_path / "d.jsonl", data), *QUICK).err


@pytest.mark.parametrize("nothing", ["", None, "n/a"])
def test_a_column_of_documents_that_is_empty_is_not_used_unless_it_is_named(run, tmp_path, nothing) -> None:
    data = [{"group": nothing, "source": f"s{i // 4}", "overall": 1 + i % 4, "score": i % 5} for i in range(16)]
    path = write(tmp_path / "d.jsonl", data)
    found = go(run, path, *QUICK, "--json").document
    assert (found["group"], found["results"][0]["columns"][0]["figures"]["groups"]) == ("source", 4)
    assert "the column 'group' is empty and is not used" in found["notes"]
    named = go(run, path, "--group", "group")
    assert (named.code, "row 1, column 'group': no document is named" in named.err) == (3, True)
    other = go(
        run, write(tmp_path / "o.jsonl", [{**row, "doc_id": f"d{i // 8}"} for i, row in enumerate(data)]), "--json"
    )
    assert other.document["group"] == "doc_id"
    one = write(tmp_path / "one.jsonl", [{**row, "source": row["source"] * (i != 3)} for i, row in enumerate(data)])
    [note] = [note for note in go(run, one, *QUICK, "--json").document["notes"] if "merged cells" in note]
    assert note.startswith("no 'source' in row 4, which counts as a document of its own; ")


def test_a_source_that_is_empty_tells_no_documents_apart(run, tmp_path) -> None:
    data = [{"source": "", "overall": 1 + i % 4, "score": i % 5} for i in range(16)]
    found = go(run, write(tmp_path / "d.jsonl", data), *QUICK, "--json").document
    assert (found["group"], found["results"][0]["columns"][0]["figures"]["groups"]) == (None, 16)
    assert not any("the same 'source'" in note for note in found["notes"])
    assert any("every row counts as a document of its own" in note for note in found["notes"])


def test_a_csv_of_the_score_verb_and_other_formats(run, tmp_path) -> None:
    path = tmp_path / "d.csv"
    path.write_text("doc,human,auto\n" + "".join(f"d{i // 3},{1 + i % 4},{i}\n" for i in range(12)))
    done = go(run, path, "--group", "doc", *QUICK, "--json", human="human", predicted="auto")
    assert done.document["results"][0]["columns"][0]["figures"]["groups"] == 4


@pytest.mark.parametrize(
    ("change", "options", "said"),
    [
        ({}, {"predicted": "scor"}, ["there is no column 'scor'; did you mean 'score'?"]),
        ({}, {"human": "scores.fluently"}, ["no column 'scores.fluently'; did you mean 'scores.fluency'? In 'scores'"]),
        ({}, {"human": "tone"}, ["there is no column 'tone'", "; the columns are 'doc_id', 'system', 'overall'"]),
        ({}, {"more": ["--group", "doc"]}, ["there is no column 'doc'; did you mean 'doc_id'?"]),
        ({}, {"more": ["--other", "poore"]}, ["did you mean 'poor'?"]),
        ({"overall": "fine"}, {}, ["row 1, column 'overall': 'fine' is not a finite number; every row needs one"]),
        ({"overall": None}, {}, ["column 'overall': no row holds a human score; name another column with --human"]),
        ({"overall": 3}, {}, ["column 'overall': all 24 human scores are 3", "a column that varies with --human"]),
        (
            {"score": 3},
            {},
            ["column 'score': all 24 predictions are 3: a constant agrees", "name a column that varies"],
        ),
        ({"score": "x"}, {}, ["column 'score': 0 of 24 rows hold a number (the first that is not one: 'x' (row 1))"]),
        (
            {"doc_id": "d"},
            {"more": ["--level", "document"]},
            ["column 'doc_id': there is only one document", "use --level dataset", "--group"],
        ),
        (
            {"doc_id": ""},
            {"more": ["--group", "doc_id"]},
            ["row 1, column 'doc_id': no document is named", "name another column with --group"],
        ),
        (
            {"system": "s"},
            {"more": ["--level", "system"]},
            ["column 'system': the only system is 's'", "use --level dataset or document"],
        ),
        ({"system": None}, {"more": ["--level", "system"]}, ["row 1, column 'system': no system", "--system names"]),
    ],
)
def test_what_cannot_be_measured_is_said_with_file_column_and_remedy_and_is_3(
    run, tmp_path, change, options, said
) -> None:
    more = options.pop("more", [])
    done = go(run, write(tmp_path / "d.jsonl", records(**change)), *more, **options)
    assert done.code == 3
    for words in ("d.jsonl", *said):
        assert words in done.err
    assert done.out == ""


def test_levels_need_their_columns(run, tmp_path) -> None:
    bare = write(tmp_path / "d.jsonl", [{"overall": i % 5 + 1, "score": i} for i in range(10)])
    for level, option in (("document", "--group"), ("system", "--system")):
        done = go(run, bare, "--level", level)
        assert done.code == 3
        assert "d.jsonl" in done.err
        assert f"name its column with {option}" in done.err
    single = write(tmp_path / "s.jsonl", [{"g": i, "overall": i % 5 + 1, "score": i} for i in range(10)])
    done = go(run, single, "--level", "document", "--group", "g")
    assert done.code == 3
    assert "column 'score': in no document do predictions and human scores both vary; use --level dataset" in done.err
    done = go(run, write(tmp_path / "1.jsonl", [{"overall": 1, "score": 2}]))
    assert done.code == 3
    assert "1.jsonl: there is only one row, and agreement needs at least two; add rows" in done.err
    # With every level asked for, what can be measured is, and the rest is said.
    done = go(run, bare, "--level", "all", *QUICK)
    assert done.code == 0
    assert "Left out: overall, system level" in done.out


def test_systems_of_one_row_each_have_no_means_to_compare(run, tmp_path) -> None:
    path = write(tmp_path / "d.jsonl", [{**row, "system": f"s{i}"} for i, row in enumerate(records())])
    done = go(run, path, "--level", "system")
    assert (done.code, done.out) == (3, "")
    assert "d.jsonl, column 'system': each of the 24 rows has a system of its own" in done.err
    assert "use --level dataset, or name another column with --system" in done.err
    found = go(run, path, "--level", "all", *QUICK, "--json").document
    assert [left["level"] for left in found["left_out"]] == ["system"]
    most = write(tmp_path / "m.jsonl", [{**row, "system": f"s{i // 2}"} for i, row in enumerate(records())])
    assert go(run, most, "--level", "system", *QUICK).code == 0


def test_one_document_has_no_interval_and_that_is_said(run, tmp_path) -> None:
    done = go(run, write(tmp_path / "d.jsonl", records(doc_id="d")), "--other", "poor", "--json")
    first, second = done.document["results"][0]["columns"]
    assert first["figures"]["mean"] is not None
    assert first["figures"]["mean_interval"] is None
    assert second["difference"]["p"] is second["difference"]["p_holm"] is None
    assert any(
        "only one document" in n or "one document, so there are no intervals" in n for n in done.document["notes"]
    )


def test_few_documents_and_what_could_never_be_told_apart_are_said(run, tmp_path) -> None:
    rows = [{**record, "doc_id": f"d{i % 4}"} for i, record in enumerate(records())]
    shown = go(run, write(tmp_path / "few.jsonl", rows), "--other", "poor", "--resamples", 200)
    notes = " ".join(shown.err.split())
    assert "the texts are of 4 documents: with fewer than 5 there are no intervals" in notes
    assert "no corrected p can fall below 0.12 (p-values: 1, documents: 4, permutations: 200)" in notes
    many = go(run, write(tmp_path / "many.jsonl", records()), "--other", "poor", "--resamples", 200)
    assert "no corrected p" not in many.err


def test_another_column_that_is_constant_is_said_and_does_not_stop_the_rest(run, tmp_path) -> None:
    done = go(run, write(tmp_path / "d.jsonl", records(poor=1)), "--other", "poor", *QUICK)
    assert done.code == 0
    assert "all 24 predictions are 1" in done.err
    assert "not defined" in done.out


def test_usage(run, scored) -> None:
    assert run("agreement", scored).code == 2
    without = run("agreement", scored, "--human", "overall", opener=refuse)
    assert without.code == 2
    assert "--predicted COLUMN, or --raters" in without.err
    assert run("agreement", scored, "--human", "overall", "--raters", "poor", "--other", "score").code == 2
    assert go(run, scored, predicted="overall").code == 2
    assert go(run, scored, "--other", "score").code == 2
    assert go(run, scored, "--level", "word").code == 2
    assert "no column 'preds.p:*'" in go(run, scored, predicted="preds.p:*").err
    assert go(run, "nope.jsonl").code == 3


def test_names_cannot_drive_the_terminal(run, tmp_path) -> None:
    name = "sc\x1b[2Jore"
    data = [{**row, name: row["score"]} for row in records()]
    shown = go(run, write(tmp_path / "d.jsonl", data), "--other", "poor", *QUICK, predicted=name)
    assert shown.code == 0
    assert "\x1b" not in shown.out + shown.err


def test_examples_with_texts_are_read_as_they_are(run, tmp_path) -> None:
    data = [{**row, "mine": i % 3} for i, row in enumerate(rows())]
    assert go(run, write(tmp_path / "d.jsonl", data), *QUICK, human="rating", predicted="mine").code == 0


def test_columns_that_look_usual_are_used_and_those_that_name_nothing_are_not(run: Any, tmp_path: Path) -> None:
    made = [{"human": i % 4, "auto": i % 3, "Doc ID": f"d{i // 4}", "model": {"name": "m"}} for i in range(24)]
    done = go(run, write(tmp_path / "t.jsonl", made), *QUICK, "--json", human="human", predicted="auto")
    assert done.code == 0, done.err
    assert done.document["group"] == "Doc ID"
    assert done.document["results"][0]["columns"][0]["figures"]["groups"] == 6
    assert done.document["system"] is None
    assert any("'model' holds lists or objects" in note for note in done.document["notes"])


def test_decimals_are_numbers(run: Any, tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    numbers = [decimal.Decimal(f"{i % 4}.50") for i in range(12)]
    pq.write_table(pa.table({"human": numbers, "auto": [float(n) for n in numbers]}), tmp_path / "t.parquet")
    done = go(run, tmp_path / "t.parquet", *QUICK, "--json", human="human", predicted="auto")
    assert done.code == 0, done.err
    assert done.document["results"][0]["columns"][0]["figures"]["pearson"] == pytest.approx(1)


def test_a_star_for_the_human_columns_does_not_take_the_compared_ones_for_people(run, tmp_path) -> None:
    rows = [
        {"response": f"r {i}", "tone_score": i % 5, "truth_score": i * 3 % 5, "llm_score": i % 4, "old_score": i % 3}
        for i in range(24)
    ]
    path = write(tmp_path / "x.jsonl", rows)
    found = go(run, path, "--other", "old_score", "--json", human="*_score", predicted="llm_score").document
    assert [result["human"] for result in found["results"]] == ["tone_score", "truth_score"]
    assert sum("is not taken for people's" in note for note in found["notes"]) == 2
    none = go(run, path, human="ll*_score", predicted="llm_score")
    assert (none.code, "stands for nothing but" in none.err) == (2, True)


def test_a_group_that_says_there_is_none_is_no_document(run, tmp_path) -> None:
    rows = [{"overall": i % 5, "score": i % 4, "group": "None" if i % 2 else f"d{i // 4}"} for i in range(24)]
    refused = go(run, write(tmp_path / "x.jsonl", rows), "--group", "group")
    assert refused.code == 3
    assert "row 2" in refused.err


def test_figures_of_fewer_documents_than_the_file_has_say_so(run, tmp_path) -> None:
    data = [{**row, "few": row["score"] if row["doc_id"] in {"d0", "d1", "d2"} else None} for row in records(48)]
    path = write(tmp_path / "d.jsonl", data)
    alone = go(run, path, predicted="few")
    assert "note: 'few': the texts are of 3 documents: with fewer than 5 there are no intervals\n" in alone.err
    both = go(run, path, "--other", "few")
    assert "note: 'few': the texts are of 3 documents" in both.err
    assert "note: 'few': no corrected p can fall below 0.25 (p-values: 1, documents: 3" in both.err
    assert "'score'" not in both.err
    turned = go(run, path, "--other", "score", predicted="few")
    assert "note: 'score' against 'few': the texts are of 3 documents: with fewer than 5" in turned.err
    shown = " ".join(turned.out.split())
    assert "in brackets 95% bootstrap intervals over 12 documents" in shown  # those of 'score', the first has none


def test_the_documents_of_intervals_are_given_as_a_range_where_columns_differ(run, tmp_path) -> None:
    data = [{**row, "some": row["score"] if i < 24 else None} for i, row in enumerate(records(48))]
    done = go(run, write(tmp_path / "d.jsonl", data), "--other", "some", *QUICK)
    assert "bootstrap intervals over 6 to 12 documents" in " ".join(done.out.split())


def test_no_p_is_shown_as_0(run, tmp_path) -> None:
    data = [{**row, "poor": -row["overall"], "score": row["overall"]} for row in records(120)]
    done = go(run, write(tmp_path / "d.jsonl", data), "--other", "poor", "--resamples", 20_000)
    assert "5e-05" in done.out, done.out
    assert "0.0000" not in done.out


def test_the_predictions_of_a_comparison_agree_as_the_comparison_says(run, tmp_path) -> None:
    makes = {"long": asking("long"), "noisy": asking("noise", mark=noisy)}
    found = compare(examples(), makes, lm=model(), repeats=2, resamples=200, folds=3, seed=4, journal=None)
    path = write(tmp_path / "p.jsonl", found.predictions())
    done = go(
        *(run, path, "--other", "noisy", "--resamples", 200, "--seed", 4, "--json"), human="human", predicted="long"
    )
    columns = done.document["results"][0]["columns"]
    for column, method in zip(columns, found.methods, strict=True):
        assert column["figures"]["parts_total"] == 6
        for figure in ("pearson", "spearman", "kendall", "mean", "n", "groups", "spread"):
            assert column["figures"][figure] == pytest.approx(getattr(method.agreement, figure)), figure
        assert column["figures"]["mean_interval"] == pytest.approx(method.agreement.mean_interval)
    there, here = found["noisy"].over_baseline.difference, columns[1]["difference"]
    assert (here["delta"], here["p"]) == (pytest.approx(there.delta), there.p)
    assert done.document["group"] == "document"
    assert (done.document["part"], columns[1]["difference"]["parts"]) == (["repeat", "fold"], 6)
    notes = " ".join(done.document["notes"])
    assert "within each of 6 splits ('repeat' and 'fold') and averaged" in notes
    assert "the --seed and --resamples of the `compare` that wrote the file give its intervals, too" in notes


def test_rows_that_nobody_scored_are_left_out_and_said(run, tmp_path) -> None:
    scored = records()
    unscored = [{**row, "overall": blank} for row, blank in zip(records(3), (None, "", "n/a"), strict=True)]
    whole = write(tmp_path / "w.jsonl", [*unscored, *scored])
    done = go(run, whole, *QUICK, "--level", "all", "--json")
    alone = go(run, write(tmp_path / "a.jsonl", scored), *QUICK, "--level", "all", "--json")
    assert done.document["results"] == alone.document["results"]
    assert (done.document["rows"], alone.document["rows"]) == (24, 24)
    assert "no human score in rows 1, 2 and 3 (column 'overall'): they are left out" in done.document["notes"]
    assert not any("left out" in note for note in alone.document["notes"])
    wrong = go(run, write(tmp_path / "x.jsonl", [*scored, {**scored[0], "overall": "good"}]))
    assert (wrong.code, "row 25, column 'overall': 'good' is not a finite number" in wrong.err) == (3, True)


def test_of_every_aspect_the_rows_that_have_it_count(run, tmp_path) -> None:
    holes = [
        {**row, "run": i // 12, "ann_1": row["overall"], "ann_2": 6 - row["overall"]} for i, row in enumerate(records())
    ]
    for row, blank in zip(holes[2:5], (None, "", "n/a"), strict=True):
        row["ann_1"] = blank
    holes[7]["ann_2"] = None
    options = (*QUICK, "--level", "all", "--part", "run", "--json")
    done = go(run, write(tmp_path / "h.jsonl", holes), *options, human="ann_*")
    assert done.code == 0, done.err
    document = done.document
    assert document["left_out"] == []
    assert "no human score in rows 3, 4 and 5 (column 'ann_1'): they are left out" in document["notes"]
    assert "no human score in row 8 (column 'ann_2'): it is left out" in document["notes"]
    for name in ("ann_1", "ann_2"):
        alone = go(run, tmp_path / "h.jsonl", *options, human=name)
        assert [one for one in document["results"] if one["human"] == name] == alone.document["results"]


def test_an_aspect_that_no_row_has_is_left_out(run, tmp_path) -> None:
    data = [{**row, "ann_1": row["overall"], "ann_2": None} for row in records()]
    done = go(run, write(tmp_path / "h.jsonl", data), *QUICK, "--json", human="ann_*")
    assert [one["human"] for one in done.document["results"]] == ["ann_1"]
    [left] = done.document["left_out"]
    assert (left["human"], "column 'ann_2': no row holds a human score" in left["reason"]) == ("ann_2", True)


def test_splits_are_named_or_those_of_compare(run, tmp_path) -> None:
    data = records(48)  # each split on a level of its own: pooled, the prediction would be worth little
    data = [{**row, "score": row["overall"] + 9 * (i // 24), "run": f"r{i // 24}"} for i, row in enumerate(data)]
    plain, named, usual = (
        go(run, write(tmp_path / f"{i}.jsonl", rows), *QUICK, *options, "--level", "all", "--json").document
        for i, (rows, options) in enumerate(
            [
                (data, ()),
                (data, ("--part", "run")),
                ([{**row, "repeat": row["run"], "fold": None} for row in data], ()),
            ]
        )
    )
    assert (plain["part"], named["part"], usual["part"]) == ([], ["run"], ["repeat", "fold"])
    assert named["results"] == usual["results"]
    for pooled, parted in zip(plain["results"], named["results"], strict=True):
        one, each = pooled["columns"][0], parted["columns"][0]
        assert (one["figures"]["parts_total"], each["figures"]["parts_total"]) == (1, 2)
        assert each["figures"]["pearson"] == pytest.approx(1)
        assert each["pairwise_accuracy"]["accuracy"] == 1
        assert (one["pairwise_accuracy"]["accuracy"] < 0.95) == (pooled["level"] == "dataset")
    one_split = go(run, write(tmp_path / "o.jsonl", [{**row, "repeat": 0, "fold": None} for row in data]), *QUICK)
    assert "splits" not in one_split.out + one_split.err
    assert "splits averaged" in go(run, tmp_path / "2.jsonl", *QUICK).out
    data[3]["run"] = ""
    done = go(run, write(tmp_path / "e.jsonl", data), "--part", "run")
    assert done.code == 3
    assert "row 4" in done.err
    assert "'run'" in done.err
    assert "no split is named" in done.err
    small = [{**row, "run": f"r{i // 8}"} for i, row in enumerate(records())]
    assert "the smallest has 8 rows" in go(run, write(tmp_path / "s.jsonl", small), *QUICK, "--part", "run").err


def test_a_column_is_said_to_fall_only_where_its_interval_says_so(run, tmp_path) -> None:
    falls = "falls where people's scores rise"
    down = [{**row, "score": i % 2 - row["overall"]} for i, row in enumerate(records(48))]
    chance = [{**row, "score": (i * 5 + i // 7) % 6} for i, row in enumerate(records(48))]
    for data, options, said in ((down, QUICK, True), (chance, QUICK, False), (chance, ("--resamples", 0), True)):
        done = go(run, write(tmp_path / "d.jsonl", data), *options, "--json")
        assert done.document["results"][0]["columns"][0]["figures"]["mean"] < 0
        shown = " ".join(go(run, write(tmp_path / "d.jsonl", data), *options).out.split())
        assert (falls in shown) is said


def test_columns_in_each_others_place_are_hinted_at_where_that_can_be_seen(run, tmp_path) -> None:
    data = [{"rating": 1 + i % 5, "score": i / 3, "unscored": None, "read_from": "text"} for i in range(12)]
    path, said = write(tmp_path / "v.jsonl", data), "names people's scores, --predicted what is judged"
    swapped = go(run, path, *QUICK, human="score", predicted="rating")
    beside = "note: the column 'score' stands beside those of a program's verdicts and was written with them: --human"
    assert beside in swapped.err
    assert said in swapped.err
    assert said not in go(run, path, *QUICK, human="rating", predicted="score").err
    outside = go(run, path, *QUICK, "--scale", "1..5", human="score", predicted="rating")
    assert outside.code == 3
    assert (
        "row 1, column 'score': 0 lies outside the human scale 1..5; correct it or --scale, or the columns if"
        in outside.err
    )


def test_notes_are_said_beside_json_too_unless_quiet(run: Any, scored: Path) -> None:
    loud, quiet = (go(run, scored, *QUICK, "--json", *more) for more in ((), ("--quiet",)))
    assert loud.document == quiet.document
    assert loud.document["notes"]
    assert all(f"note: {note}" in loud.err for note in loud.document["notes"])
    assert quiet.err == ""
