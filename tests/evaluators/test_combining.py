"""How readings are combined on a part of the examples: which of them count, and what is learnt from them."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from simulated import simulated_lm
from test_readings import SCALE, searched, text_of

from active_critic.calibration import calibrate_with
from active_critic.data.examples import folds, group_of
from active_critic.evaluators import ActiveCritic, Surface, _surface_features
from active_critic.evaluators._combining import Combiner, expected_of, worth_its_price
from active_critic.evaluators._readings import OF_NO_COPY, Combination, is_copy, value_of
from active_critic.evaluators.fit_report import FOLDS
from active_critic.evaluators.surface import SurfaceFloor, copied_shares, figures_of
from active_critic.lm.catalogue import CATALOGUE
from active_critic.lm.likelihood import LEAST_LIKELY, Likelihood
from active_critic.records import Example, Verdict
from active_critic.weighing import ABLER, EXPECTED, TALKED_UP, WEAKER


def test_an_example_that_lacks_only_a_reading_that_is_left_out_counts() -> None:
    search, _ = searched()
    against: list[float | None] = [-score for score in search.human]
    against[3] = None
    combiner = Combiner(("rating", "likelihood", "surface"), search, SCALE, further={"likelihood": against})
    found = combiner.fit(0, range(40)).calibration
    assert "likelihood" not in found.shares
    assert found.n == 40


@pytest.mark.parametrize(
    ("shares", "joint", "kept"),
    [
        ({"likelihood": 0.03, "tokens": 0.03, "contrast": 0.0}, False, {"likelihood", "tokens"}),
        ({"likelihood": 0.0, "tokens": 0.0, "contrast": 0.06}, False, {"contrast"}),
        ({"likelihood": 0.0, "tokens": 0.0, "contrast": 0.06}, True, {"likelihood", "tokens", "contrast"}),
        ({"likelihood": 0.02, "tokens": 0.02, "contrast": 0.02}, True, {"likelihood", "tokens", "contrast"}),
        ({"likelihood": 0.02, "tokens": 0.01, "contrast": 0.01}, True, set()),
        ({"approval": 0.04, "surface": 0.05}, True, {"surface"}),
        ({"criterion wit": 0.01, "criterion length": 0.0}, True, {"criterion wit"}),
    ],
)
def test_what_comes_for_one_price_is_worth_it_together(shares: dict[str, float], joint: bool, kept: set[str]) -> None:
    assert {name for name in shares if worth_its_price(name, shares, joint=joint)} == kept


@pytest.mark.parametrize(("r", "told"), [(-0.4, True), (-0.3, False), (-0.2, False), (0.3, False)])
def test_ratings_are_said_to_go_against_people_only_where_chance_does_not_explain_it(r: float, told: bool) -> None:
    """By chance 40 ratings come to less than -0.4 five times in a thousand, to less than -0.3 thirty times."""
    search, _ = searched()
    people = np.array(search.human) - np.mean(search.human)
    noise = np.random.default_rng(0).normal(size=40)
    noise -= noise.mean() + (noise @ people) / (people @ people) * people
    made = r * people / np.linalg.norm(people) + (1 - r * r) ** 0.5 * noise / np.linalg.norm(noise)
    for i, rating in enumerate(made.tolist()):
        search.verdicts[0, i] = Verdict(score=2.5 + rating, read_from="text")
    said = Combiner(("rating", "surface"), search, SCALE).against_people(0)
    assert len(said) == told
    assert all(note.startswith(f"the rating goes against people's scores (Pearson {r:.2f})") for note in said)


def test_what_counts_as_a_copy_is_learnt_from_the_examples_fitted_on_alone() -> None:
    search, _ = searched()
    source = "so many words that all come again"
    search.examples[39] = Example(source, source, search.examples[39].score)
    combiner = Combiner(("rating", "likelihood"), search, SCALE, frozenset({"likelihood"}))
    combiner.further["likelihood"] = [-float(i % 7) for i in range(40)]
    search.examples[38] = Example(f"{source} and then some", f"another text before {source}", search.examples[38].score)
    without, one, both = (combiner.fit(0, range(n)).calibration for n in (38, 39, 40))
    assert (without.copied, without.holds) == (0.5, 0.5)
    assert (one.copied, one.holds) == (pytest.approx((1 + 5 / 8) / 2), pytest.approx((1 + 5 / 8) / 2))
    assert (both.copied, both.holds) == (1.0, 1.0)


def test_a_copy_is_paid_no_more_for_being_likely_where_its_score_is_predicted() -> None:
    search, _ = searched()
    source = "so many words that all come again"
    search.examples[39] = Example(source, source, search.examples[39].score)
    scores = {}
    for value in (-0.5, 0.0):  # both above the mean
        combiner = Combiner(("rating", "likelihood"), search, SCALE, frozenset({"likelihood"}))
        combiner.further["likelihood"] = [search.human[i] - 6.0 for i in range(39)] + [value]
        found = combiner.fit(0, range(39)).calibration
        likelihood = found.parts[1]
        assert likelihood.weight > 0
        assert likelihood.mean < value
        scores[value], _ = combiner.predict(0, range(39), [39])
    average = {"rating": search.verdicts[0, 39].score or 0.0, "likelihood": likelihood.mean}
    assert scores[0.0] == scores[-0.5] == {39: found.apply(average, SCALE).score}


def test_an_example_that_was_left_unscored_has_no_rating_to_combine() -> None:
    search, _ = searched()
    search.verdicts[0, 3] = Verdict(unscored="the reply could not be read")
    del search.verdicts[0, 4]
    likelihoods: list[float | None] = [score - 6.0 for score in search.human]
    combiner = Combiner(("rating", "likelihood"), search, SCALE, further={"likelihood": likelihoods})
    assert combiner.usable(0, range(2, 7)) == [2, 5, 6]
    assert combiner.fit(0, range(40)).calibration.n == 38
    assert combiner.unrated()
    assert combiner.usable(0, range(2, 7)) == [2, 3, 4, 5, 6]
    assert combiner.fit(0, range(40)).calibration.n == 40


def test_without_any_other_reading_that_was_asked_for_the_rating_stays() -> None:
    search, _ = searched()
    combiner = Combiner(("rating", "surface"), search, SCALE)
    assert not combiner.unrated()
    assert (combiner.names, combiner.rated) == (("rating", "surface"), True)


@pytest.mark.parametrize(("had", "kept"), [(36, True), (35, False)])
def test_a_reading_that_more_than_a_tenth_of_the_examples_lack_is_left_out(had: int, kept: bool) -> None:
    search, _ = searched()
    taken = [Likelihood((-float(i % 7),), "forced") if i < had else None for i in range(40)]
    for always in (frozenset[str](), frozenset({"likelihood"})):
        combiner = Combiner(("rating", "likelihood"), search, SCALE, always)
        said = combiner.add("likelihood", taken)
        assert (said is None) == ("likelihood" in combiner.names) == (kept or bool(always))
        assert said is None or said == f"the score is read without the likelihood: only {had} of 40 examples have one"


def test_a_likelihood_counts_as_that_of_the_least_likely_tokens() -> None:
    read = Likelihood((-9.0,) * LEAST_LIKELY + (-1.0,) * 100, "forced")
    assert value_of(read) == pytest.approx(-9.0)


def test_what_was_measured_of_all_examples_gives_to_the_last_bit_what_measuring_each_again_would() -> None:
    search, settings = searched()
    always = frozenset({"likelihood", "surface"})
    likelihoods: list[float | None] = [-float(i % 7) for i in range(40)]
    combiner = Combiner(("rating", "likelihood", "surface"), search, SCALE, always, {"likelihood": likelihoods})
    part = folds(search.examples, FOLDS, settings.seed)[1]
    rest = [i for i in reversed(range(40)) if i not in part]
    examples = [search.examples[i] for i in rest]
    combination = combiner.fit(0, rest)
    found, floor = combination.calibration, combination.floor
    values = {"rating": [search.verdicts[0, i].score or 0.0 for i in rest], "likelihood": [-float(i % 7) for i in rest]}
    human = [search.human[i] for i in rest]
    documents = [group_of(example) for example in examples]
    again, added = calibrate_with({"surface": figures_of(examples)}, values, human, documents)
    alone = SurfaceFloor.beside(added["surface"], again.intercept, SCALE)
    assert floor is not None
    assert floor.to_dict() == alone.to_dict()
    assert found.parts == again.parts
    copied, holds = zip(*map(copied_shares, examples), strict=True)
    assert (found.copied, found.holds) == ((1 + max(copied)) / 2, (1 + max(holds)) / 2)
    scores, begin = combiner.predict(0, rest, part)
    assert begin == found.intercept
    for i, score in scores.items():
        example = search.examples[i]
        readings = {"rating": search.verdicts[0, i].score or 0.0, "likelihood": -float(i % 7)}
        bounded = OF_NO_COPY if is_copy(found, example) else ()
        combined = Combination(found, alone).apply(readings, example, SCALE, of_tokens=None, bounded=bounded)
        assert score == combined.score


def test_a_whole_fit_measures_every_example_once(monkeypatch: pytest.MonkeyPatch) -> None:
    measured: Counter[str] = Counter()
    once = _surface_features._measured

    def counting(example: Example) -> list[float]:
        measured[example.response] += 1
        return once(example)

    monkeypatch.setattr(_surface_features, "_measured", counting)
    data = [Example(f"{text_of(i)} {i}", f"question {i}", float(i % 5)) for i in range(20)]
    how: dict[str, Any] = {"mode": "coarse", "candidates": 2, "demos": 1, "max_batches": 1, "use_surface": "always"}
    critic = ActiveCritic(simulated_lm(), journal=None, **how).fit(data, scale="0..5")
    assert critic.report_ is not None
    assert critic.report_.surface is not None
    assert measured == dict.fromkeys((example.response for example in data), 1)


def test_the_surface_measures_what_it_scores_once_explained_or_not(monkeypatch: pytest.MonkeyPatch) -> None:
    evaluator = Surface().fit([Example(text_of(i), "", float(i % 5)) for i in range(12)], scale="0..5")
    measured: list[Example] = []
    once = _surface_features._measured
    monkeypatch.setattr(_surface_features, "_measured", lambda example: measured.append(example) or once(example))
    explained = evaluator.score("a text that is scored")
    assert evaluator.score("a text that is scored", explain=False).score == explained.score
    assert len(measured) == 2
    assert (explained.explanation or "").startswith("Computed from the surface alone, in points: ")


def test_a_model_is_believed_to_judge_as_well_as_its_like_did_where_it_was_measured(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lm = simulated_lm()
    assert expected_of(lm) is ABLER
    for model in CATALOGUE:
        monkeypatch.setitem(lm.identity, "weights", model.sha256)
        assert expected_of(lm) is (EXPECTED if "local" in model.aliases else WEAKER)
        assert expected_of(lm)[TALKED_UP] > 0
    monkeypatch.setitem(lm.identity, "weights", "0" * 64)
    assert expected_of(lm) is ABLER
    assert expected_of(lm)[TALKED_UP] == 0


def test_a_fit_begins_with_the_belief_in_its_model() -> None:
    search, _ = searched()
    before, now = (
        Combiner(("rating", "surface"), search, SCALE, expected=expected).fit(0, range(10)).calibration
        for expected in (EXPECTED, ABLER)
    )
    assert now.shares["rating"] > before.shares["rating"] + 0.02
