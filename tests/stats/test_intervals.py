"""The figures that the agreement with people and that among them share."""

from __future__ import annotations

import json
import pickle
from dataclasses import fields, replace

import numpy as np
import pytest

from active_critic import stats
from active_critic.report.fits import COEFFICIENTS as SHOWN
from active_critic.stats.correlation import COEFFICIENTS, weighted_coefficients
from active_critic.stats.intervals import Figures
from active_critic.stats.reliability import Ceiling, human_ceiling

X, Y = [1.0, 2.0, 4.0, 3.0, 6.0, 5.0, 5.0], [1.0, 3.0, 2.0, 5.0, 4.0, 9.0, 5.0]
GROUPS = [f"d{i}" for i in range(7)]
FOUND = {
    "agreement": stats.agreement(X, Y, GROUPS, resamples=50),
    "ceiling": human_ceiling([X, Y], GROUPS, resamples=50),
}


def test_every_coefficient_has_an_interval_and_a_name_that_is_shown() -> None:
    names = [figure.name for figure in fields(Figures)]
    assert names == [*COEFFICIENTS, *(f"{name}_interval" for name in COEFFICIENTS)]
    assert tuple(SHOWN) == COEFFICIENTS


def test_every_coefficient_is_what_its_name_says() -> None:
    found = stats.agreement(X, Y, resamples=0)
    by_name = {"pearson": stats.pearson, "spearman": stats.spearman, "kendall": stats.kendall}
    assert {name: getattr(found, name) for name in by_name} == pytest.approx({n: of(X, Y) for n, of in by_name.items()})
    row = weighted_coefficients(np.array(X), np.array(Y), np.ones((1, 7)))[0]
    assert [getattr(found, name) for name in COEFFICIENTS] == pytest.approx(row.tolist())


@pytest.mark.parametrize("what", FOUND)
def test_figures_come_first_and_survive_every_copy(what: str) -> None:
    found = FOUND[what]
    assert [field.name for field in fields(found)][:8] == [figure.name for figure in fields(Figures)]
    assert pickle.loads(pickle.dumps(found)) == found == replace(found)
    assert hash(found) == hash(replace(found))
    with pytest.raises(AttributeError):
        found.mean = 1.0  # type: ignore[misc]
    assert not hasattr(found, "__dict__")
    read = json.loads(json.dumps(found.to_dict()))
    assert read["mean_interval"] == list(found.mean_interval or ())
    assert ("coverage" in read) == (not isinstance(found, Ceiling))


def test_documents_have_their_fields_in_the_order_in_which_they_have_always_been() -> None:
    figures = [figure.name for figure in fields(Figures)]
    made = ["level", "groups", "resamples", "seed", "confidence"]
    assert list(FOUND["ceiling"].to_dict()) == [*figures, "each", "n", "items", *made]
    of_agreement = [*figures, "n", "total", "level", "units", *made[1:]]
    of_agreement += ["parts", "parts_total", "units_total", "spread", "coverage"]
    assert list(FOUND["agreement"].to_dict()) == of_agreement
