"""The statistics on public data: every published evaluator's column equals scipy's, and published figures come out."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from by_scipy import COEFFICIENTS, SETS, SHARED, at_level, shared_set

from active_critic import stats
from active_critic.stats.reliability import human_ceiling, krippendorff_alpha

pytestmark = pytest.mark.skipif(not SHARED.exists(), reason="the shared data sets are not here")

SINGLE = {"qags_cnn", "qags_xsum"}  # one text a document, and no systems
# What the authors of UniEval (Zhong et al., EMNLP 2022) print for the scores that they publish: Pearson, Spearman and
# Kendall over all examples of the complete sets, in reproduce/README.md of their repository. The figures of SFRES
# and QAGS stand also in Tables 3 and 4 of AutoCalibrate. Half of the documents of each set are here.
UNIEVAL = {
    ("topical_chat", "naturalness"): (0.443666, 0.513986, 0.373973),
    ("topical_chat", "coherence"): (0.595143, 0.612942, 0.465915),
    ("topical_chat", "engagingness"): (0.55651, 0.604739, 0.455941),
    ("topical_chat", "groundedness"): (0.536209, 0.574954, 0.451533),
    ("topical_chat", "understandability"): (0.380038, 0.467807, 0.360741),
    ("topical_chat", "overall"): (0.632796, 0.662583, 0.487272),
    ("sfres", "naturalness"): (0.367252, 0.333399, 0.247094),
    ("sfres", "informativeness"): (0.282079, 0.224918, 0.169297),
    ("sfres", "overall"): (0.370815, 0.291593, 0.214708),
    ("qags_xsum", "consistency"): (0.461376, 0.48792, 0.399218),
    ("qags_cnn", "consistency"): (0.681681, 0.662255, 0.531636),
}

load = cache(shared_set)


def people(data: list[dict[str, Any]], column: str) -> list[float]:
    """What people said of the aspect in the name of an evaluator's column, else of the whole."""
    aspect = column.rpartition(":")[2]
    return [row["scores"].get(aspect, row["overall"]) for row in data]


@pytest.mark.parametrize("name", SETS)
def test_every_column_equals_scipys_at_each_level(name: str) -> None:
    data = load(name)
    groups, systems = [row["doc_id"] for row in data], [row["system"] for row in data]
    columns = {peer: [row["preds"].get(peer) for row in data] for peer in data[0]["preds"]}
    columns |= {own: [row[own] for row in data] for own in ("length", "constant")}
    assert len(columns) > 5
    defined = 0
    for column, pred in columns.items():
        human = people(data, column)
        for level in ("dataset",) if name in SINGLE else ("dataset", "document", "system"):
            found = stats.agreement(pred, human, groups, level=level, systems=systems, resamples=0)
            three, units = at_level(level, pred, human, groups, systems)
            ours = [getattr(found, coefficient) for coefficient in COEFFICIENTS]
            assert ours == ([None] * 3 if three is None else pytest.approx(three, abs=1e-12)), (level, column)
            assert found.mean_interval is None
            assert found.n == sum(value is not None for value in pred)
            assert found.units == units
            defined += three is not None
    assert defined >= len(columns) - 1


@pytest.mark.parametrize(("name", "aspect"), UNIEVAL)
def test_unievals_published_figures_lie_in_the_intervals_of_half_of_the_documents(name: str, aspect: str) -> None:
    data = load(name)
    pred = [row["preds"][f"unieval:{aspect}"] for row in data]
    groups = [row["doc_id"] for row in data]
    # Chosen so wide that all 33 hold together with the certainty of one 95 % interval.
    confidence = 1 - 0.05 / 33
    found = stats.agreement(pred, people(data, aspect), groups, resamples=4000, confidence=confidence)
    for coefficient, published in zip(COEFFICIENTS, UNIEVAL[name, aspect], strict=True):
        low, high = getattr(found, f"{coefficient}_interval")
        assert low <= published <= high, coefficient
        assert high - low < 0.55  # what holds whatever comes out says nothing


def test_most_of_unievals_published_figures_lie_in_the_plain_intervals_too() -> None:
    inside = []
    for (name, aspect), published in UNIEVAL.items():
        data = load(name)
        pred = [row["preds"][f"unieval:{aspect}"] for row in data]
        found = stats.agreement(pred, people(data, aspect), [row["doc_id"] for row in data], resamples=500)
        intervals = (getattr(found, f"{coefficient}_interval") for coefficient in COEFFICIENTS)
        inside += [low <= value <= high for (low, high), value in zip(intervals, published, strict=True)]
    assert np.mean(inside) >= 0.9


@pytest.mark.parametrize(
    ("name", "rater", "whole"),
    [("summeval", "human_expert", "mean_of_4_aspects"), ("hanna", "human_rater", "mean_of_6_aspects")],
)
def test_the_ceiling_is_that_of_scipy_at_each_level(name: str, rater: str, whole: str) -> None:
    for aspect in (*load(name)[0]["scores"], whole):
        data = [row for row in load(name) if row["preds"][f"{rater}1:{aspect}"] is not None]
        groups, systems = [row["doc_id"] for row in data], [row["system"] for row in data]
        table = np.array([[row["preds"][f"{rater}{i}:{aspect}"] for row in data] for i in (1, 2, 3)])
        # The human scores of these sets are the means over these very raters.
        assert table.mean(axis=0) == pytest.approx(np.array(people(data, aspect)), abs=1e-5)
        millionths = np.round(1e6 * table).astype(int)  # sums of which are exact, so that what is tied is tied
        for level in ("dataset", "document", "system"):
            found = human_ceiling(table, groups, level=level, systems=systems, resamples=0)
            each = []
            for i in range(3):
                rest = np.delete(millionths, i, axis=0).sum(axis=0) / 2e6
                each.append(at_level(level, table[i].tolist(), rest.tolist(), groups, systems)[0])
            known = [three for three in each if three is not None]
            ours = [found.pearson, found.spearman, found.kendall]
            assert ours == pytest.approx(list(np.mean(known, axis=0)), abs=1e-12), (aspect, level)
            assert found.items == len(data)


def test_raters_agree_far_better_on_summaries_than_on_stories() -> None:
    alpha = {}
    for name, rater in (("summeval", "human_expert"), ("hanna", "human_rater")):
        data = load(name)
        for aspect in data[0]["scores"]:
            table = [[row["preds"][f"{rater}{i}:{aspect}"] for row in data] for i in (1, 2, 3)]
            alpha[name, aspect] = krippendorff_alpha(table, "ordinal")
    best_story = max(value for (name, _), value in alpha.items() if name == "hanna")
    assert best_story < 0.35
    assert all(value > best_story for (name, _), value in alpha.items() if name == "summeval")
