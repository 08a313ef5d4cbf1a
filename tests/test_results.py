"""Results that are made from others: none may be older than what it is made from."""

import json
from pathlib import Path
from typing import Any

import pytest

from active_critic.stats import q

RESULTS = Path(__file__).parents[1] / "benchmarks" / "results"
TABLES = sorted(RESULTS.glob("agreement*.json"))
README = (RESULTS.parents[1] / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("path", TABLES, ids=lambda path: path.stem)
def test_a_table_over_several_sets_is_that_of_the_comparisons_it_names(path: Path) -> None:
    table = json.loads(path.read_text())
    found: dict[tuple[str, str, int], float] = {}
    of_before = f" ({table.get('before_as', 'before')})"  # stands behind the names of methods of other comparisons
    compared = [(name, "") for name in table["comparisons"]] + [(name, of_before) for name in table.get("before", ())]
    for name, said in compared:
        comparison: dict[str, Any] = json.loads((RESULTS / name).read_text())
        for method in comparison["methods"]:
            if method["agreement"]:
                place = (method["name"] + said, comparison["name"], comparison["settings"]["seed"])
                found.setdefault(place, method["agreement"]["mean"])
    seeds = {one["name"]: one["seeds"] for one in table["sets"]}
    for method, figures in table["methods"].items():
        for set_, by_seed in figures["by_seed"].items():
            assert by_seed == [found[method, set_, seed] for seed in seeds[set_]], (method, set_)
        assert figures["average"] == pytest.approx(sum(figures["means"].values()) / len(seeds)), method


@pytest.mark.parametrize("path", sorted(RESULTS.glob("peers_*.json")), ids=lambda path: path.stem)
def test_other_peoples_judges_had_the_labels_and_texts_of_ours(path: Path) -> None:
    found = json.loads(path.read_text())
    seed = f"_seed{found['settings']['seed']}" if found["settings"]["seed"] else ""
    ours = json.loads((RESULTS / f"compare_{found['name']}_{found['model']}{seed}.json").read_text())
    assert found["splits"] == ours["splits"]
    assert found["drawn"] == ours["drawn"]


def test_the_tables_on_other_peoples_judges_are_those_that_were_measured() -> None:
    page = (RESULTS.parents[1] / "docs" / "agreement.md").read_text(encoding="utf-8")
    rows = {"mlflow-judge": "as it is", "mlflow-memalign": "aligned with the same labels by MemAlign"}
    for judge, said in rows.items():
        cells = []
        for name in OVER["agreement_peers"].split():
            theirs = json.loads((RESULTS / f"peers_{name}_qwen2.5-coder-1.5b.json").read_text())
            ours = json.loads((RESULTS / f"compare_{name}_qwen2.5-coder-1.5b.json").read_text())["predictions"]
            of = {row["example"]: row["active-critic-coarse"] for row in ours}
            scored = [row for row in theirs["predictions"] if row[judge] is not None]
            total = len(theirs["predictions"])
            human = [row["human"] for row in scored]
            both = ([row[judge] for row in scored], [of[row["example"]] for row in scored])
            found, beside = (short(q(values, human) / 3) for values in both)
            cells.append(f"{found} ({beside})" + (f", {len(scored)} of {total}" if len(scored) < total else ""))
        assert f"| {said} | {' | '.join(cells)} |" in page


def test_the_page_on_means_quotes_what_was_measured() -> None:
    page = (RESULTS.parents[1] / "docs" / "means.md").read_text(encoding="utf-8")
    sets = json.loads((RESULTS / "means.json").read_text(encoding="utf-8"))["sets"]

    def span(labelled: str, figure: str, form: str, times: int = 1) -> str:
        values = [times * one["by_labelled_documents"][labelled][figure] for one in sets]
        return f"{min(values):{form}} to {max(values):{form}}"

    for labelled in ("10", "20", "50"):
        held, worth = span(labelled, "held", ".0f", 100), span(labelled, "worth", ".1f")
        (row,) = (line for line in page.splitlines() if line.startswith(f"| {labelled} |"))
        assert f"| {held} %" in row
        assert f"| {worth}" in row


SHOWN = {
    "active-critic-fine": "**active-critic-fine**",
    "active-critic-fine (without single criteria)": "the same without single criteria",
    "active-critic-coarse": "**active-critic-coarse**",
    "active-critic-coarse (without surface)": "the same without surface",
    "active-critic-coarse (with contrast)": "the same with contrast",
    "active-critic-coarse (rating only)": "active-critic-coarse, rating only (the paper's)",
    "surface": "surface floor, fitted",
}
"""What methods are called in the tables of documents."""
OVER = {
    "agreement_full": "openmeva_roc sfres summeval topical_chat",
    "agreement_seeds": "openmeva_roc sfres summeval topical_chat hanna bagel qags_xsum qags_cnn",
    "agreement": "openmeva_roc sfres summeval topical_chat hanna",
    "agreement_seeds_others": "openmeva_roc sfres summeval topical_chat hanna",
    "agreement_contrast": "openmeva_roc sfres topical_chat hanna",
    "agreement_fine": "openmeva_roc sfres topical_chat hanna",
    "agreement_peers": "openmeva_roc sfres topical_chat",
    "agreement_deepeval": "openmeva_roc sfres topical_chat bagel",
}
"""The columns of those tables."""
CALLS = {
    "agreement_full": ("calls_of_the_fit", "calls_a_verdict"),
    "agreement": ("calls_a_verdict",),
    "agreement_seeds_others": ("calls_a_verdict",),
    "agreement_fine": ("calls_of_the_fit", "calls_a_verdict", "tokens_a_verdict"),
    "agreement_peers": ("calls_a_verdict", "tokens_a_verdict"),
    "agreement_deepeval": ("calls_a_verdict", "tokens_a_verdict"),
}
"""And their last columns, where they say what a method asks."""


def short(value: float, sign: str = "") -> str:
    return f"{value:{sign}.2f}".replace("0.", ".")


def of_calls(value: float) -> str:
    return f"{value:,.0f}" if value > 10 else f"{value:.1f}".replace(".0", "")


@pytest.mark.parametrize("table", OVER)
def test_the_tables_on_agreement_are_those_that_were_measured(table: str) -> None:
    page = (RESULTS.parents[1] / "docs" / "agreement.md").read_text(encoding="utf-8")
    found = json.loads((RESULTS / f"{table}.json").read_text(encoding="utf-8"))
    assert sorted(OVER[table].split()) == sorted(one["name"] for one in found["sets"])
    for method, figures in found["methods"].items():
        low, high = figures["average_interval"]
        cells = [short(figures["means"][name]) for name in OVER[table].split()]
        cells.append(f"**{short(figures['average'])}** [{short(low)}, {short(high)}]")
        if method != found["ours"]:
            low, high = figures["ours_ahead_interval"]
            cells.append(f"{short(figures['ours_ahead'], '+')} [{short(low)}, {short(high)}]")
        row = f"| {SHOWN.get(method, method)} | {' | '.join(cells)} |"
        if table == "agreement_seeds":
            assert f"| {' | '.join(cells)} |" in README
        if calls := [of_calls(figures[name]) for name in CALLS.get(table, ())]:
            row += f"{' |' if method == found['ours'] else ''} {' | '.join(calls)} |"
        assert row in page


@pytest.mark.parametrize("name", OVER["agreement_seeds"].split())
def test_the_table_by_split_is_what_was_measured(name: str) -> None:
    page = (RESULTS.parents[1] / "docs" / "agreement.md").read_text(encoding="utf-8")
    found = json.loads((RESULTS / "agreement_seeds.json").read_text(encoding="utf-8"))
    figures = found["methods"][found["ours"]]
    by_split = ", ".join(map(short, figures["by_seed"][name]))
    assert f"| {name} | {by_split} | {short(figures['means'][name])} |" in page


def test_the_pages_say_how_surely_ours_is_ahead_on_each_set() -> None:
    page = (RESULTS.parents[1] / "docs" / "agreement.md").read_text(encoding="utf-8")
    methods = json.loads((RESULTS / "agreement_seeds.json").read_text(encoding="utf-8"))["methods"]
    shown = {"surface": SHOWN["surface"], "gpt-score": "gpt-score", "zero-shot": "zero-shot"}
    surely = {}
    for method, said in shown.items():
        by_set = [methods[method]["ours_ahead_by_set"][name] for name in OVER["agreement_seeds"].split()]
        cells = (f"{short(of['by'], '+')} [{', '.join(map(short, of['interval']))}]" for of in by_set)
        assert f"| {said} | {' | '.join(cells)} |" in page
        assert all(of["interval"][1] > 0 for of in by_set)
        surely[method] = f"{sum(of['interval'][0] > 0 for of in by_set)} of {len(by_set)}"
    floor, likelihood, zero = surely.values()
    assert f"on {floor}, of GPTScore on {likelihood}, of zero-shot on {zero}, and" in " ".join(page.split())
    told = f"ahead of zero-shot, by more than chance on {zero}, and of the floor, on {floor} ("
    assert told in " ".join(README.split())


def test_the_readme_says_of_other_methods_what_was_measured() -> None:
    readme = " ".join(README.split())

    def ahead(table: str, method: str) -> str:
        figures = json.loads((RESULTS / f"{table}.json").read_text(encoding="utf-8"))["methods"][method]
        low, high = map(short, figures["ours_ahead_interval"])
        return f"{short(figures['average'])} ({short(figures['ours_ahead'], '+')} [{low}, {high}])"

    more = {"the floor": "surface", "gpt-score": "gpt-score", "zero-shot": "zero-shot"}
    three = {"AutoCalibrate": "auto-calibrate", "G-Eval": "g-eval", "ICE": "ice"}
    assert ", ".join(f"{name} {ahead('agreement_full', method)}" for name, method in more.items()) in readme
    assert ", ".join(f"{name} {ahead('agreement_seeds_others', method)}" for name, method in three.items()) in readme
    assert f"DeepEval's G-Eval {ahead('agreement_deepeval', 'deepeval-g-eval')}" in readme
    assert f"but for one of its judges, {ahead('agreement_autometrics', 'autometrics-without-mipro')}" in readme
    assert f"beside {ahead('agreement_fine', 'active-critic-coarse')}, on six splits of four sets" in readme


def test_the_changelog_says_how_far_ahead_it_is() -> None:
    changes = " ".join((RESULTS.parents[1] / "CHANGELOG.md").read_text(encoding="utf-8").split())
    found = json.loads((RESULTS / "agreement_seeds.json").read_text(encoding="utf-8"))["methods"]
    critic, zero, floor = (short(found[of]["average"]) for of in ("active-critic-coarse", "zero-shot", "surface"))
    assert f"{critic} for the critic, {zero} for zero-shot and {floor} for the surface floor" in changes
    others = json.loads((RESULTS / "agreement_seeds_others.json").read_text(encoding="utf-8"))["methods"]
    names = {"G-Eval": "g-eval", "AutoCalibrate": "auto-calibrate", "ICE": "ice", "GPTScore": "gpt-score"}
    said = ", ".join(f"{name} ({short(others[method]['average'])})" for name, method in names.items())
    assert f"{said} and the floor ({short(others['surface']['average'])}) by more than chance" in changes


def test_the_readme_counts_the_runs_that_were_killed() -> None:
    found = json.loads((RESULTS / "reliability.json").read_text(encoding="utf-8"))["kills"]["all"]
    assert found["kills survived"] == found["kills"]
    assert found["calls repeated"] == found["rows lost"] == 0
    assert f"\n{found['runs']} runs, killed {found['kills']} times in all at random moments," in README


def test_how_often_the_rating_has_no_part_is_counted() -> None:
    page = (RESULTS.parents[1] / "docs" / "active-critic.md").read_text(encoding="utf-8")
    fits, without = 0, 0
    for path in RESULTS.glob("compare_*.json"):
        if path.stem.endswith(("_others", "_fine")):  # the same fits again
            continue
        for method in json.loads(path.read_text(encoding="utf-8"))["methods"]:
            if method["name"] == "active-critic-coarse":
                fits += 1
                without += "the rating, and with it the demonstrations, has no part in the score" in str(method)
    assert f"That was so in {without} of the {fits} coarse fits in" in page


def test_the_page_says_what_whole_critics_gained_by_the_bound_on_texts_unlike_the_examples() -> None:
    page = (RESULTS.parents[1] / "docs" / "agreement.md").read_text(encoding="utf-8")
    counted = 0
    for path in RESULTS.glob("unlike_whole_*.json"):
        since = json.loads(path.read_text(encoding="utf-8"))
        rest = path.stem.removeprefix(f"unlike_whole_{since['name']}")
        before = json.loads((RESULTS / f"unlike_before_{since['name']}{rest}.json").read_text(encoding="utf-8"))
        assert since["splits"] == before["splits"]
        mode = "fine" if rest.endswith("_fine") else "coarse"
        critic, place = f"active-critic-{mode}", ["first", "second", "third", "fourth", "fifth"]
        agreed = []
        for found in (before, since):
            (method,) = (method for method in found["methods"] if method["name"] == critic)
            agreed.append(short(method["agreement"]["mean"]))
        pairs = list(zip(before["predictions"], since["predictions"], strict=True))
        changed = sum(one[critic] != other[critic] for one, other in pairs)
        split = f"{since['name']}, {place[since['settings']['seed']]} ({mode})"
        assert f"| {split} | {' | '.join(agreed)} | {changed} of {len(pairs)} |" in page
        counted += 1
    assert counted == page.count(" (coarse) | ") + page.count(" (fine) | ")
