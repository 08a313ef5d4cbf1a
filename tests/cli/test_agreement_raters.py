"""``agreement --raters``: alpha and the human ceiling of single raters, wherever a file keeps them."""

from __future__ import annotations

import numpy as np
import pytest
from by_scipy import SHARED
from conftest_cli import refuse, write

from active_critic.stats.reliability import human_ceiling, krippendorff_alpha

QUICK = ("--resamples", 50)


def rated(n: int = 24) -> list[dict]:
    """Three raters in an object, in a list and in columns of their own; the third misses every fifth row."""
    rng = np.random.default_rng(4)
    data: list[dict] = []
    for i in range(n):
        human = 1.0 + i * 7 % 5
        row = {
            "doc_id": f"d{i // 4}",
            "system": f"s{i % 4}",
            "overall": human,
            "score": round(float(human + rng.normal()), 3),
            "scores": {"fluency": float(1 + i % 3), "tone": human},
        }
        marks = [float(np.clip(human + rng.integers(-1, 2), 1, 5)) for _ in range(3)]
        if len(data) % 5 == 4:
            marks[2] = None
        aspects = {f"rater{k}:{aspect}": mark for k, mark in enumerate(marks) for aspect in ("fluency", "tone")}
        data.append({**row, "raters": dict(zip("abc", marks, strict=True)), "marks": marks, "single": aspects})
    return data


def raters(run, path, *options, human="overall", predicted=None):
    judged = ["--predicted", predicted] if predicted else []
    people = ["--human", human] if human else []
    return run("agreement", path, *people, *judged, *options, opener=refuse)


@pytest.mark.parametrize("level", ["dataset", "document", "system"])
def test_raters_have_an_alpha_and_a_ceiling(run, tmp_path, level) -> None:
    data = rated()
    path = write(tmp_path / "d.jsonl", data)
    named = [part for name in "abc" for part in ("--raters", f"raters.{name}")]
    options = ("--level", level, *QUICK, "--json")
    document = raters(run, path, *named, *options).document
    [result] = document["results"]
    found = result["raters"]
    table = [[row["marks"][i] for row in data] for i in range(3)]
    groups, systems = [row["doc_id"] for row in data], [row["system"] for row in data]
    assert result["columns"] == []
    assert document["predicted"] is None
    assert document["raters"] == ["raters.a", "raters.b", "raters.c"]
    assert found["alpha"] == {m: krippendorff_alpha(table, m) for m in ("ordinal", "interval")}
    ceiling = human_ceiling(table, groups, level=level, systems=systems, resamples=50)
    assert found["ceiling"] == ceiling.to_dict()
    assert (found["items"], found["ratings"]) == (24, 68)
    assert [(rater["column"], rater["n"], rater["missing"]) for rater in found["columns"]] == [
        *(("raters.a", 24, 0), ("raters.b", 24, 0), ("raters.c", 20, 4))
    ]
    # A star stands for every rater, whether they are in an object, in a list or in columns with a common name.
    for pattern in ("raters.*", "marks.*", "single.rater*:tone"):
        again = raters(run, path, "--raters", pattern, *options).document["results"][0]["raters"]
        assert again["ceiling"] == found["ceiling"]
        assert again["alpha"] == found["alpha"]


def test_the_human_scores_are_no_rater(run, tmp_path) -> None:
    data = [{"r1": a, "r2": b, "r_mean": (a + b) / 2} for a, b in ((1, 2), (3, 3), (5, 4), (2, 1), (4, 5))]
    path = write(tmp_path / "d.jsonl", data)
    found = raters(run, path, "--raters", "r*", *QUICK, "--json", human="r_mean").document["results"][0]["raters"]
    assert [rater["column"] for rater in found["columns"]] == ["r1", "r2"]
    named = raters(run, path, "--raters", "r1", "--raters", "r_mean", *QUICK, human="r_mean")
    assert named.code == 3
    assert "--raters names the human scores, which are not a single rater's" in " ".join(named.err.split())


def test_without_human_scores_the_mean_of_the_raters_stands_for_them(run, tmp_path) -> None:
    data = [{"a": 1 + i % 5, "b": 1 + i * 3 % 5 if i % 6 else None, "judge": 1 + i % 4} for i in range(24)]
    data = [{**row, "mean": sum(given := [row[k] for k in "ab" if row[k]]) / len(given)} for row in data]
    path = write(tmp_path / "d.jsonl", data)
    two = ("--raters", "a", "--raters", "b", *QUICK, "--json")
    alone = raters(run, path, *two, human=None).document
    told = raters(run, path, *two, human="mean", predicted="judge").document["results"][0]
    assert (alone["human"], alone["results"][0]["human"], alone["results"][0]["columns"]) == (None, None, [])
    assert alone["results"][0]["raters"] == told["raters"]
    judged = raters(run, path, *two, human=None, predicted="judge").document
    assert judged["results"][0] == {**told, "human": None}
    [note] = [note for note in judged["notes"] if "mean" in note]
    mean = "people's scores are the mean of 2 raters ('a', 'b')"
    assert note == f"{mean}, or of those that a row has: 4 of 24 rows lack some"
    assert not any("mean of" in note for note in alone["notes"])
    shown = raters(run, path, *two[:-1], human=None, predicted="judge")
    assert "the mean of the raters, over all examples" in shown.out
    assert "the raters, over all examples" in raters(run, path, *two[:-1], human=None).out


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--raters", "r.*", "--predicted", "r.0"], "column 'r.0': this is one of the raters whose mean it would"),
        (["--raters", "r.*", "--scale", "1..4"], "row 5, column 'r.0': 5 lies outside the human scale 1..4"),
        (
            ["--raters", "r.0", "--human", "r.1"],
            "if 'r.1' is a rater, too, name it with --raters and leave out --human",
        ),
        (["--raters", "r.*", "--human", "x", "--raters", "x"], "or leave out --human: people's scores are then"),
    ],
)
def test_what_goes_wrong_with_raters_says_what_to_do(run, tmp_path, options, said) -> None:
    data = [{"x": i, "r": [i % 5 + 1, 4 - i % 4], "few": [1, i]} for i in range(12)]
    done = raters(run, write(tmp_path / "d.jsonl", data), *options, *QUICK, human=None)
    assert done.code == 3
    assert said in done.err


def test_rows_that_no_rater_rated_are_left_out_and_said(run, tmp_path) -> None:
    data = [{"a": 1 + i % 5, "b": 1 + i * 3 % 5, "judge": 1 + i % 4} for i in range(24)]
    holes = [{**row, **({"a": None, "b": "n/a"} if i in {3, 5} else {})} for i, row in enumerate(data)]
    rest = [row for i, row in enumerate(data) if i not in {3, 5}]
    options = ("--raters", "a", "--raters", "b", *QUICK, "--json")
    done = raters(run, write(tmp_path / "h.jsonl", holes), *options, human=None, predicted="judge")
    assert done.code == 0, done.err
    whole = raters(run, write(tmp_path / "r.jsonl", rest), *options, human=None, predicted="judge").document
    assert done.document["results"] == whole["results"]
    assert "no rating in rows 4 and 6 (columns 'a', 'b'): they are left out" in done.document["notes"]
    assert "people's scores are the mean of 2 raters ('a', 'b')" in whole["notes"]


def test_the_mean_of_columns_is_asked_for_as_that_of_raters(run, tmp_path) -> None:
    data = [{"a": 1 + i % 5, "b": 1 + i * 3 % 5, "judge": 1 + i % 4} for i in range(24)]
    path = write(tmp_path / "d.jsonl", data)
    done = raters(run, path, human="a+b", predicted="judge")
    assert done.code == 2
    assert "for the mean of several columns leave out --human, and write --raters a --raters b" in " ".join(
        done.err.split()
    )
    write(path, [{**row, "a+b": 3 + i % 2} for i, row in enumerate(data)])
    assert raters(run, path, *QUICK, human="a+b", predicted="judge").code == 0


def test_people_must_have_said_something(run, tmp_path) -> None:
    done = raters(run, write(tmp_path / "d.jsonl", rated()), human=None, predicted="score")
    assert (done.code, "--human COLUMN, or single raters with --raters COLUMN" in done.err) == (2, True)


def test_raters_of_every_aspect_beside_what_is_judged(run, tmp_path) -> None:
    path = write(tmp_path / "d.jsonl", rated())
    options = ("--raters", "single.rater*:*", *QUICK)
    found = raters(run, path, *options, "--json", human="scores.*", predicted="score").document["results"]
    assert [result["human"] for result in found] == ["scores.fluency", "scores.tone"]
    assert [rater["column"] for rater in found[1]["raters"]["columns"]] == [f"single.rater{i}:tone" for i in range(3)]
    assert found[0]["columns"][0]["figures"]["mean"] is not None
    shown = raters(run, path, *options, human="scores.*", predicted="score")
    for words in (
        *("Krippendorff's alpha of 3 raters, 24 rows with two ratings or more", "(ordinal)", "(interval)"),
        *("human ceiling", "Agreement with the mean of the other raters", "Mean of 3 of each rater with the rest"),
        "'single.rater2:tone': 4 of 24 rows have no rating and do not count.",
    ):
        assert words in shown.out
    # What is judged is still measured where the raters are not there.
    partly = raters(run, path, "--raters", "single.*x:*", *QUICK, "--json", human="scores.*", predicted="score")
    assert [result["raters"] for result in partly.document["results"]] == [None, None]
    assert "no column is like 'single.*x:fluency'" in partly.document["left_out"][0]["reason"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--raters", "raters.a"], "there is only one rater, and agreement among raters needs two; repeat --raters"),
        (["--raters", "raters.a", "--raters", "raters.a"], "column 'raters.a': --raters names it twice"),
        (["--raters", "raters.a", "--raters", "raters.*"], "column 'raters.a': --raters names it twice"),
        (["--raters", "raters.z*"], "no column is like 'raters.z*'; did you mean"),
        (["--raters", "raters.a", "--raters", "raters.d"], "there is no column 'raters.d'"),
        (["--raters", "raters.a", "--raters", "doc_id"], "column 'doc_id': no row holds a number (the first that is"),
        (["--raters", "first", "--raters", "second"], "no row has numbers from two of the 2 raters"),
        (
            ["--raters", "same", "--raters", "equal"],
            "column 'same': in the rows with two ratings or more all",
        ),
    ],
)
def test_raters_that_cannot_be_compared_are_said(run, tmp_path, options, said) -> None:
    data = [
        {**row, "first": i if i % 2 else None, "second": None if i % 2 else i, "same": 2, "equal": 2}
        for i, row in enumerate(rated())
    ]
    done = raters(run, write(tmp_path / "d.jsonl", data), *options)
    assert done.code == 3
    assert "d.jsonl" in done.err
    assert said in done.err


@pytest.mark.parametrize(
    ("cell", "remedy"),
    [("4,5", "write it with a point"), ("4 - good", "correct it or drop the row, or"), (True, "write 1 for yes")],
)
def test_a_rating_that_is_no_number_is_refused_and_a_missing_one_is_not(run, tmp_path, cell, remedy) -> None:
    data = [{"a": 1 + i % 5, "b": 1 + i * 3 % 5, "human": 1 + i % 4, "judge": i % 3} for i in range(24)]
    for row, missing in zip(data[3:], (None, "", "n/a", float("nan")), strict=False):
        row["b"] = missing
    path = write(tmp_path / "d.jsonl", data)
    two = ("--raters", "a", "--raters", "b", *QUICK)
    found = raters(run, path, *two, "--json", human=None, predicted="judge").document["results"][0]["raters"]
    assert [rater["missing"] for rater in found["columns"]] == [0, 4]
    data[8]["b"] = cell
    write(path, data)
    for people in ({"human": None, "predicted": "judge"}, {"human": None}, {"human": "human"}):
        done = raters(run, path, *two, **people)
        assert (done.code, done.out) == (3, "")
        assert f"d.jsonl, row 9, column 'b': the rating {str(cell)!r} is not a finite number; {remedy}" in done.err


def test_no_ceiling_is_said_and_is_not_0(run, tmp_path) -> None:
    data = [{"g": i, "overall": i % 5 + 1, "r": [i % 5 + 1, i % 4 + 1]} for i in range(12)]
    path = write(tmp_path / "d.jsonl", data)
    options = ("--raters", "r.*", "--level", "document", "--group", "g")
    found = raters(run, path, *options, "--json").document
    assert found["results"][0]["raters"]["ceiling"]["mean"] is None
    assert found["results"][0]["raters"]["alpha"]["interval"] is not None
    assert any("no human ceiling: within any document" in note for note in found["notes"])
    assert "not defined" in raters(run, path, *options).out


@pytest.mark.skipif(not SHARED.exists(), reason="the shared data sets are not here")
@pytest.mark.parametrize(("name", "rater"), [("summeval", "human_expert"), ("hanna", "human_rater")])
def test_raters_of_the_shared_data_sets(run, name, rater) -> None:
    path = SHARED / "peers" / f"{name}.jsonl.gz"
    options = ("--raters", f"preds.{rater}*:*", "--level", "document", "--resamples", 20, "--json")
    found = raters(run, path, *options, human="scores.*").document["results"]
    assert len(found) == (4 if name == "summeval" else 6)
    for result in found:
        assert len(result["raters"]["columns"]) == 3
        assert -0.1 < result["raters"]["alpha"]["ordinal"] < 0.9
        assert -0.1 < result["raters"]["ceiling"]["mean"] < 0.9


def test_scores_out_of_something_end_the_scale_there_and_raters_must_agree_on_it(run, tmp_path) -> None:
    path = tmp_path / "x.csv"
    lines = [f"{1 + i % 4}/5,{1 + i % 3}/5,{i % 3}/10,{1 + i % 4}" for i in range(12)]
    path.write_text("\n".join(["a,b,c,program", *lines]) + "\n")
    done = run("agreement", path, "--human", "a", "--predicted", "program", "--json")
    assert done.document["results"][0]["scale"] == "1..5"
    done = run("agreement", path, "--raters", "a", "--raters", "b", "--predicted", "program", "--json")
    assert done.document["results"][0]["scale"] == "1..5"
    for more in ((), ("--predicted", "program")):
        done = run("agreement", path, "--raters", "a", "--raters", "c", *more)
        assert done.code == 3
        assert "column 'c': these ratings are out of 10, and those of 'a' are out of 5; write all on one" in done.err


def test_pass_and_fail_are_ratings_and_peoples_scores(run, tmp_path) -> None:
    path = tmp_path / "x.csv"
    words = ("fail", "pass")
    lines = [
        f"{words[i % 2]},{words[i % 3 == 0]},{i % 2},{int(i % 3 == 0)},{i % 4},{words[i % 4 == 1]}" for i in range(12)
    ]
    path.write_text("\n".join(["a,b,c,d,program,judge", *lines]) + "\n")
    for options in (
        ("--predicted", "program", "--predicted", "judge", "--human", "{}"),
        ("--predicted", "program", "--raters", "{}", "--raters", "{}"),
        ("--raters", "{}", "--raters", "{}"),
    ):
        of_words, of_numbers = (
            run(
                "agreement",
                path,
                *(option.format(next(names)) if "{" in option else option for option in options),
                "--json",
            )
            for names in (iter("ab"), iter("cd"))
        )
        found, expected = (done.document["results"][0] for done in (of_words, of_numbers))
        assert [note for note in of_words.document["notes"] if "are read as 1 and 0" in note and "'a'" in note]
        assert {**found, "human": 0, "raters": 0} == {**expected, "human": 0, "raters": 0}
        assert (found["raters"] or {}).get("alpha") == (expected["raters"] or {}).get("alpha")
        assert found["scale"] in ("0..1", None)
    done = run("agreement", path, "--raters", "a", "--raters", "c")
    assert done.code == 3
    assert "column 'c': these ratings are plain numbers, and those of 'a' are 'pass' or 'fail'; write all" in done.err
