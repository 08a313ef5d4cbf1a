"""The mean of scores as they come: its interval holds the mean of other documents as often as it says."""

from __future__ import annotations

import numpy as np
import pytest

from active_critic.stats import means
from active_critic.stats.means import DocumentMean


def mean_of(values, documents) -> DocumentMean:
    found = DocumentMean()
    for value, document in zip(values, documents, strict=True):
        found.add(value, document)
    return found


def test_of_one_text_a_document_it_is_students_interval() -> None:
    values = np.random.default_rng(0).normal(3, 1, 20)
    found = mean_of(values, map(str, range(20)))
    half = 2.093024 * values.std(ddof=1) / np.sqrt(20)  # t of 19 degrees of freedom
    assert found.mean == pytest.approx(values.mean())
    assert found.interval() == pytest.approx((values.mean() - half, values.mean() + half), rel=1e-6)


@pytest.mark.parametrize("documents", [8, 60, 300])
def test_it_holds_the_mean_of_all_documents_as_often_as_it_says(documents, monkeypatch) -> None:
    monkeypatch.setattr(means, "MOST", 100)  # of 300 documents, several share a group
    rng = np.random.default_rng(documents)
    held, alone = [], []
    for _ in range(400):
        sizes = rng.integers(1, 9, documents)
        names = np.repeat(np.arange(documents), sizes)
        values = 3 + np.repeat(rng.normal(0, 1, documents), sizes) + rng.normal(0, 0.5, sizes.sum())
        low, high = mean_of(values, map(str, names)).interval()
        held.append(low <= 3 <= high)
        half = 1.96 * values.std() / np.sqrt(len(values))
        alone.append(abs(values.mean() - 3) <= half)
    assert 0.91 <= np.mean(held) <= 0.98
    assert np.mean(alone) < 0.85  # what one has who takes texts of a document for so many documents


def test_many_documents_take_no_more_room_and_the_mean_stays(monkeypatch) -> None:
    monkeypatch.setattr(means, "MOST", 50)
    values = np.random.default_rng(1).normal(size=1000)
    found = mean_of(values, (f"d{i % 700}" for i in range(1000)))
    assert len(found._sums) <= 50
    assert found.mean == pytest.approx(values.mean())
    low, high = found.interval()
    assert 0.1 < high - low < 0.16  # 1,000 values: four standard errors are 0.13


@pytest.mark.parametrize("values", [[], [3.0] * 4, [1.0, 2.0, 3.0, 4.0], [2.5] * 9], ids=str)
def test_too_few_documents_or_all_alike_have_no_interval(values) -> None:
    found = mean_of(values, map(str, range(len(values))))
    assert found.interval() is None
    assert (found.mean is None) == (not values)
