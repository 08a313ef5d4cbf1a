"""Critics that notice one thing, everything or nothing are reported as what they are."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import pytest
from simulated import form, last_item, simulated_lm

from active_critic.data.examples import example_key
from active_critic.errors import DataError
from active_critic.evaluators import ActiveCritic, from_protocol
from active_critic.lm import Budget, LanguageModel, scripted_lm
from active_critic.lm.metering import ForNow
from active_critic.probes.behaviour import Behaviour, examine
from active_critic.probes.perturbations import PERTURBATIONS, perturb
from active_critic.protocols import CriticProtocol, Provenance, Reading
from active_critic.records import Criterion, CriterionVerdict, Example, Scale, Verdict

SOURCE = "Notes of the town."
PROGRAM = CriticProtocol(
    evaluator="zero-shot",
    mode="coarse",
    task_description="Judge.",
    scale=Scale(low=1, high=5),
    reading=Reading(),
    provenance=Provenance(model="scripted"),
)
PLACES = ("beach", "library", "harbour", "station", "market", "museum", "castle", "school")
ORIGINAL = "He thinks that the {place} is closed on Monday. The council has not said why. It will open after dinner."
GOOD = [
    Example(ORIGINAL.format(place=place), SOURCE, group=f"document {i}", aspects={"fluency": f, "informativeness": n})
    for i, (place, f, n) in enumerate(zip(PLACES, (1, 2, 3, 4, 4, 3, 2, 1), (1, 1, 2, 2, 1, 1, 2, 2), strict=True))
]
MANY = [
    Example(ORIGINAL.format(place=f"{PLACES[i % 8]} of house {i}"), SOURCE, group=f"document {i}") for i in range(100)
]
"""So many documents that the others, of which nothing is known, weigh little."""
KNOWN = {word for example in GOOD for word in example.response.lower().replace(".", "").split()}


class Critic:
    """An evaluator whose scores are a function of the response."""

    signature = "scripted"
    remembering = staticmethod(nullcontext)

    def __init__(
        self, rate: Callable[[str], dict[str, float] | None], definitions: dict[str, str] | None = None
    ) -> None:
        self.rate = rate
        named = definitions or {}
        self.fitted = SimpleNamespace(
            scale=Scale(low=1, high=5),
            criteria=tuple(Criterion(name=name, definition=text) for name, text in named.items()),
            shown=frozenset(),
        )

    def score_many(self, items: Iterable[Example], *, explain: bool, progress: Any = None) -> Iterator[Verdict]:
        assert explain is False
        for item in items:
            rated = self.rate(item.response)
            if rated is None:
                yield Verdict(unscored="the endpoint refused")
                continue
            parts = tuple(CriterionVerdict(name, value) for name, value in rated.items() if name != "overall")
            yield Verdict(score=rated["overall"], criteria=parts)


def probe(
    rate: Callable[[str], dict[str, float] | None], texts: Sequence[Example] = GOOD, **settings: Any
) -> Behaviour:
    definitions = settings.pop("definitions", None)
    return examine(Critic(rate, definitions), texts, **settings)  # type: ignore[arg-type]


def spelling(response: str) -> float:
    """4, and a point less for every word that none of the good texts has."""
    return max(1.0, 4.0 - sum(word not in KNOWN for word in response.lower().replace(".", "").split()))


def test_a_way_of_perturbing_that_there_is_not_is_refused_and_not_taken_for_the_rules() -> None:
    with pytest.raises(DataError, match="perturbed by rule or by model, not by 'Model'"):
        probe(lambda _: {"overall": 3.0}, by="Model")


def outcome(found: Behaviour, name: str, perturbation: str, kind: str = "aspect") -> str | None:
    [cell] = [c for c in found.changes if (c.kind, c.name, c.perturbation) == (kind, name, perturbation)]
    return cell.outcome


def line(found: Behaviour, start: str) -> str:
    return next((words for words in found.words if words.startswith(start)), "")


def test_a_critic_that_notices_one_thing_is_reported_so() -> None:
    found = probe(
        lambda r: {"overall": 3.0, "Grammaticality": spelling(r), "Coherence": 4.0},
        perturbations=["spelling-mistake", "sentence-exchange", "sentence-deletion"],
    )
    assert outcome(found, "grammaticality", "spelling-mistake") == "falls"
    assert line(found, "Sensitive to").count(";") == 0
    assert "spelling-mistake in grammaticality -" in line(found, "Sensitive to")
    assert "sentence-exchange in coherence" in line(found, "Not decided")
    assert not line(found, "Confuses")
    assert "overall score is the same for every text" in " ".join(found.words)
    assert line(found, "The same score for every text") == (
        "The same score for every text, as it was and perturbed: coherence; Coherence."
    )


def test_a_criterion_that_only_a_worse_text_is_rated_on_counts_nowhere() -> None:
    """An evaluator of one's own may rate each text by criteria of its own; all was paid for when that shows."""

    def rate(response: str) -> dict[str, float]:
        return {"overall": 3.0, "Fluency": 4.0} | ({} if spelling(response) == 4.0 else {"Coherence": 1.0})

    found = probe(rate, perturbations=["spelling-mistake"])
    assert [one.criterion for one in found.matched] == ["Fluency"]
    assert outcome(found, "Fluency", "spelling-mistake", "criterion") == "unclear"
    assert {one.n for one in found.changes} == {len(GOOD)}


def test_a_blind_critic_is_reported_blind() -> None:
    found = probe(lambda r: {"overall": 2.5, "Fluency": 3.0, "Factual accuracy": 4.0}, MANY)
    assert not line(found, "Sensitive")
    assert "0 of" in line(found, "Directional expectation test")
    tested = [c for c in found.changes if c.expected and c.n == len(MANY) and c.expected != "disputed"]
    assert {c.outcome for c in tested} == {"still"}
    assert all(pair.critic is None for pair in found.pairs)  # constants do not correlate, they do not correlate 0


@pytest.mark.parametrize(("documents", "expected"), [(8, "unclear"), (50, "unclear"), (60, "still")])
def test_what_did_not_move_in_a_few_documents_may_move_in_others(documents: int, expected: str) -> None:
    found = probe(lambda r: {"overall": 2.0}, MANY[:documents], perturbations=["sentence-deletion"])
    [cell] = found.changes
    assert cell.outcome == expected
    others = 1 - 0.025 ** (1 / documents)  # these may get the worst score, or the best
    assert cell.interval == pytest.approx((-others, 3 * others))


def test_what_a_perturbation_does_does_not_depend_on_the_others() -> None:
    def judge(response: str) -> dict[str, float]:
        return {"overall": spelling(response), "Coherence": 4.0}

    def cells(*names: str) -> list[Any]:
        return [c for c in probe(judge, perturbations=names).changes if c.perturbation == "sentence-deletion"]

    assert cells("sentence-deletion") == cells("sentence-deletion", "spelling-mistake")


def test_a_critic_that_confuses_is_reported_so() -> None:
    found = probe(
        lambda r: {"overall": spelling(r), "Informativeness": spelling(r), "Fluency": spelling(r)},
        perturbations=["spelling-mistake"],
    )
    assert outcome(found, "informativeness", "spelling-mistake") == "moves"
    assert outcome(found, "fluency", "spelling-mistake") == "falls"
    assert outcome(found, "overall quality", "spelling-mistake") == "falls"
    assert "informativeness with grammaticality: spelling-mistake in informativeness -" in line(found, "Confuses")


def test_a_criterion_that_one_verdict_lacks_moves_no_aspect() -> None:
    originals = {one.response for one in GOOD}
    found = probe(
        lambda r: {"overall": 3.0, "Fluency": 2.0} | ({"Natural wording": 5.0} if r in originals else {}),
        perturbations=["word-exchange"],
    )
    [cell] = [c for c in found.changes if (c.kind, c.name) == ("aspect", "fluency")]
    assert (cell.change, cell.n) == (0.0, len(GOOD))


def test_without_criteria_the_overall_alone_is_tested() -> None:
    found = probe(lambda r: {"overall": float(len(r)) / 50})
    assert found.matched == ()
    assert {c.name for c in found.changes} == {"overall quality"}
    assert outcome(found, "overall quality", "sentence-deletion") == "falls"
    assert outcome(found, "overall quality", "continuation") == "rises"
    assert outcome(found, "overall quality", "repetition") is None  # disputed
    assert "only the overall score is tested" in line(found, "It gives no scores by criterion")


@pytest.mark.parametrize(
    ("change", "expected"), [(-0.001, "still"), (0.001, "still"), (0.1, "still"), (0.3, "rises"), (-0.3, "falls")]
)
def test_what_is_next_to_nothing_is_nothing_however_sure_it_is(change: float, expected: str) -> None:
    def judge(response: str) -> dict[str, float]:
        return {"overall": 3 + change * (len(response.split(".")) < 4)}

    found = probe(judge, MANY, perturbations=["sentence-deletion"])
    assert outcome(found, "overall quality", "sentence-deletion") == expected
    if abs(change) < 0.01:  # and no faint fall either, where few documents say little of others
        found = probe(judge, perturbations=["sentence-deletion"])
        assert outcome(found, "overall quality", "sentence-deletion") == "unclear"


def test_small_changes_are_faint() -> None:
    found = probe(lambda r: {"overall": 3 - 0.1 * (len(r.split(".")) < 4)}, perturbations=["sentence-deletion"])
    assert found.tolerance == pytest.approx(0.2)
    assert outcome(found, "overall quality", "sentence-deletion") == "faint"


def test_unscored_texts_are_counted_apart_and_change_nothing() -> None:
    broken = GOOD[0].response
    one_worse = perturb(GOOD[1].response, SOURCE, "sentence-deletion").text
    found = probe(
        lambda r: None if r in (broken, one_worse) else {"overall": 2.0 + r.count(".") / 2},
        perturbations=["sentence-deletion"],
    )
    assert (found.examples, found.scored, found.unscored) == (8, 7, 1)
    assert found.reasons == {"the endpoint refused": 1}
    [treated] = found.treated
    assert (treated.applied, treated.unscored, treated.reasons) == (7, 1, {"the endpoint refused": 1})
    [cell] = found.changes
    assert (cell.n, cell.documents, cell.change, cell.outcome) == (6, 6, -0.5, "falls")
    assert "left out: the endpoint refused (1)" in line(found, "Not scored as they were")


def test_what_a_budget_left_is_counted_apart_from_what_could_not_be_scored() -> None:
    worse = [perturb(example.response, SOURCE, "sentence-deletion").text for example in GOOD[1:4]]
    reasons = {worse[0]: "the endpoint refused"}
    reasons |= {text: f"the budget of 9,000 tokens is spent ({i} are used)" for i, text in enumerate(worse[1:])}

    class Left(Critic):
        def score_many(self, items, *, explain, progress=None):
            for item in items:
                why = reasons.get(item.response)
                yield Verdict(score=3.0) if why is None else Verdict(unscored=why)

    found = examine(Left(lambda _: None), GOOD, perturbations=["sentence-deletion"])  # type: ignore[arg-type]
    [treated] = found.treated
    assert (treated.unscored, treated.not_asked, len(treated.reasons), found.failed) == (1, 2, 2, 1)
    assert (found.rows()[0]["unscored"], found.rows()[0]["not_asked"]) == (1, 2)
    assert "sentence-deletion (1)" in line(found, "Perturbed texts left unscored")
    said = line(found, "Perturbed texts not asked for")
    assert "sentence-deletion (2). The reason: the budget of 9,000 tokens is spent" in said
    assert found.spent == "the budget of 9,000 tokens is spent (0 are used)"


def test_what_does_not_apply_is_said_with_reasons() -> None:
    texts = [Example("Yes.", f"question {i}") for i in range(3)]
    found = probe(lambda r: {"overall": 3.0}, texts, perturbations=["sentence-deletion"])
    [treated] = found.treated
    assert treated.applied == 0
    [(reason, times)] = treated.skipped.items()
    assert (reason.partition(":")[0], times) == ("the text lacks what it takes", 3)
    [cell] = found.changes
    assert (cell.change, cell.interval, cell.outcome, cell.n) == (None, None, None, 0)
    assert "Directional expectation test: nothing could be tested." in found.words
    assert "Fits none of the texts: sentence-deletion." in found.words


def test_texts_that_are_not_english_are_said_to_be_left_alone_by_most_rules() -> None:
    german = [Example("Der Hund bellt laut. Die Katze schläft auf dem Sofa.", f"Frage {i}") for i in range(2)]
    chosen = ["sentence-exchange", "negation", "hypernym"]
    found = probe(lambda r: {"overall": 3.0}, [*german, *GOOD[:3]], perturbations=chosen)
    said = "2 of 5 texts do not show that they are English, and the rules of 2 perturbations are for English"
    assert line(found, said)
    alone = probe(lambda r: {"overall": 3.0}, GOOD[:3], perturbations=chosen)
    assert not any("English" in one for one in alone.words)


@pytest.mark.parametrize("documents", [1, 4])
def test_fewer_than_five_documents_decide_nothing(documents: int) -> None:
    texts = [Example(example.response, SOURCE, group=str(i % documents)) for i, example in enumerate(GOOD)]
    found = probe(lambda r: {"overall": spelling(r)}, texts, perturbations=["spelling-mistake"])
    [cell] = found.changes
    assert cell.change is not None
    assert cell.change < 0
    assert (cell.interval, cell.outcome) == (None, "unclear")
    assert "with fewer than 5 there are no intervals" in " ".join(found.words)


def test_intervals_are_over_documents() -> None:
    # A fall in one document of eight is unsure, however many texts that document has.
    texts = [Example(ORIGINAL.format(place=f"hall {i}"), SOURCE, group="one") for i in range(20)]
    texts += [example for example in GOOD if example.group != "document 0"]
    found = probe(
        lambda r: {"overall": 3.0 - ("hall" in r and len(r.split(".")) < 4)}, texts, perturbations=["sentence-deletion"]
    )
    (cell,) = found.changes
    assert (cell.n, cell.documents, cell.outcome) == (27, 8, "unclear")
    assert cell.change == pytest.approx(-20 / 27)
    assert cell.interval is not None
    assert cell.interval[1] == 0.0


def test_resamples_and_confidence_are_those_asked_for() -> None:
    def found(confidence: float) -> Behaviour:
        def judge(response: str) -> dict[str, float]:
            length = len(response)
            return {"overall": length / 50, "Fluency": 1 + length % 5, "Informativeness": length / 50}

        names = ["spelling-mistake"]
        return probe(judge, perturbations=names, resamples=400, confidence=confidence)

    wide, narrow = found(0.99), found(0.5)
    assert (wide.resamples, wide.confidence) == (400, 0.99)
    for of in (lambda one: one.changes[0].interval, lambda one: one.pairs[0].excess):
        (low, high), (lower, higher) = of(narrow), of(wide)
        assert lower < low <= high < higher
    assert "intervals 99 % over documents" in wide.words[0]
    assert wide.to_dict()["scale"] == "1..5" == str(wide.scale)


def test_criteria_are_mapped_by_words_or_as_given() -> None:
    def rate(_: str) -> dict[str, float]:
        return {"overall": 3.0, "Tone": 3.0, "Trust": 3.0}

    told = {"Tone": "The response is friendly.", "Trust": "It invents nothing."}
    found = probe(rate, definitions=told, perturbations=["negation"])
    assert {one.criterion: one.aspect for one in found.matched} == {"Tone": None, "Trust": "non-hallucination"}
    assert "Tone" in line(found, "Criteria taken for none")
    unmapped = [c for c in found.changes if c.name == "Tone"]
    assert [(c.expected, c.outcome) for c in unmapped] == [(None, None)]
    assert unmapped[0].change == 0.0
    found = probe(rate, MANY, perturbations=["negation"], aspects={"Tone": "fluency"})
    assert found.matched[0].aspect == "fluency"
    assert outcome(found, "fluency", "negation") == "still"
    with pytest.raises(DataError, match=r"no criterion 'Style'; it scores Tone, Trust"):
        probe(rate, perturbations=["negation"], aspects={"Style": "fluency"})
    with pytest.raises(DataError, match="no aspect 'beauty'"):
        probe(rate, perturbations=["negation"], aspects={"Tone": "beauty"})


def test_criteria_that_go_together_more_than_peoples() -> None:
    place = {example.response: i for i, example in enumerate(GOOD)}

    def rate(response: str) -> dict[str, float]:
        value = 1 + place.get(response, 0) % 4
        return {"overall": 3.0, "Fluency": value, "Informativeness": value + 0.1}

    found = probe(rate, GOOD * 3, perturbations=["spelling-mistake"])
    [pair] = found.pairs
    assert (pair.human_a, pair.human_b) == ("fluency", "informativeness")
    assert pair.critic == pytest.approx(1.0)
    assert pair.human == pytest.approx(0.0)
    assert pair.closer
    assert "Fluency and Informativeness (1.00, people 0.00" in line(found, "Its scores go together")
    without = [Example(example.response, SOURCE, group=example.group) for example in GOOD]
    assert "people scored none of these pairs" in " ".join(probe(rate, without, perturbations=["negation"]).words)


def test_the_same_twice_whatever_the_order_and_as_plain_values() -> None:
    def rate(response: str) -> dict[str, float]:
        return {"overall": spelling(response), "Fluency": spelling(response)}

    found = probe(rate, seed=3)
    assert found.to_dict() == probe(rate, seed=3).to_dict()
    turned = probe(rate, GOOD[::-1], seed=3)
    assert turned.matrix() == {a: pytest.approx(row) for a, row in found.matrix().items()}
    assert json.loads(json.dumps(found.to_dict()))["words"] == found.words
    rows = found.rows()
    assert len(rows) == len(found.changes) == 3 * 16
    table = io.StringIO()
    writer = csv.DictWriter(table, list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)
    assert {row["target"] for row in rows} == {PERTURBATIONS[name].effect.target for name in found.matrix()["fluency"]}


def test_another_seed_perturbs_otherwise() -> None:
    def perturbed(seed: int) -> list[str]:
        seen: list[str] = []
        probe(lambda r: seen.append(r) or {"overall": 3.0}, perturbations=["spelling-mistake"], seed=seed)
        return seen

    assert perturbed(0) == perturbed(0) != perturbed(1)


def test_what_cannot_be_examined_is_said() -> None:
    with pytest.raises(DataError, match="no item is left to probe with"):
        probe(lambda r: {"overall": 3.0}, [])
    with pytest.raises(DataError, match="no rule for the perturbation 'inversion'"):
        probe(lambda r: {"overall": 3.0}, perturbations=["inversion"])
    with pytest.raises(DataError, match="no perturbation is named"):
        probe(lambda r: {"overall": 3.0}, perturbations=[])
    with pytest.raises(DataError, match="no perturbation 'typos'"):
        probe(lambda r: {"overall": 3.0}, perturbations=["typos"])


def test_a_fitted_critic_is_examined() -> None:
    texts = [
        Example("word " * n + "more. And less.", f"s{n}", score=float(1 + n % 5), group=str(n)) for n in range(1, 9)
    ]
    critic = ActiveCritic(simulated_lm(), journal=None, candidates=2, demos=2, max_batches=1, report=False)
    critic.fit(texts, scale="1..5")
    seen: list[str] = []
    found = examine(
        critic,
        texts,
        perturbations=["sentence-deletion", "spelling-mistake"],
        progress=lambda what, done, total: seen.append(what),
    )
    assert {one.criterion: one.aspect for one in found.matched} == {
        "Accuracy": "faithfulness",
        "Helpfulness": None,
        "Tone": None,
        "Clarity": "readability",
    }
    assert found.scored == 8
    assert set(seen) == {"perturbing", "scoring"}


def test_by_model_the_evaluators_own_model_writes() -> None:
    text = GOOD[0].response
    asked: list[str] = []

    def rate(response: str) -> dict[str, float]:
        return {"overall": spelling(response)}

    def answer(turns: list[Any]) -> str:
        asked.append(turns[-1][1])
        return json.dumps({"text": text.replace("is closed", "is not closed")})

    critic = Critic(rate)
    critic.model = scripted_lm(answer)  # type: ignore[attr-defined]
    found = examine(critic, [GOOD[0]], perturbations=["negation", "sentence-deletion"], by="model")  # type: ignore[arg-type]
    assert len(asked) == 1
    assert [row["by"] for row in found.rows()] == ["model", "rule"]
    assert [one.applied for one in found.treated] == [1, 1]


def writing_and_judging() -> LanguageModel:
    """A model that turns statements into their negatives, and gives every text the same score."""

    def answer(turns: list[Any]) -> str:
        if "Give the changed text" not in turns[-1][1]:
            return json.dumps(form(turns, 3))
        return json.dumps({"text": last_item(turns).replace("is closed", "is not closed")})

    return scripted_lm(answer, levels=lambda _: {"3": 1.0})


def test_a_budget_that_is_spent_while_the_model_writes_leaves_the_rest_not_asked() -> None:
    lm = writing_and_judging()
    evaluator = from_protocol(PROGRAM, lm, journal=None)
    lm.budget = Budget(calls=7)  # three a text, of which one is to write
    found = examine(evaluator, GOOD, perturbations=["negation"], by="model")
    assert lm.usage.calls == 7
    [treated] = found.treated
    assert (found.scored, treated.applied, treated.not_asked, treated.skipped) == (2, 2, 0, {})
    assert (found.spent or "").startswith("the budget of 7 calls is spent")


def test_what_a_budget_left_unwritten_is_counted_where_the_text_was_scored() -> None:
    lm = writing_and_judging()
    evaluator = from_protocol(PROGRAM, lm, journal=None)
    with lm.remembering(ForNow()):
        list(evaluator.score_many(GOOD, explain=False))
        lm.budget = Budget(calls=3)
        found = examine(evaluator, GOOD, perturbations=["negation"], by="model")
    [treated] = found.treated
    # The first text was written and scored, the second one written; six were not written.
    assert (found.scored, treated.applied, treated.not_asked, treated.unscored) == (8, 2, 7, 0)
    assert [one.n for one in found.changes if one.name == "overall quality"] == [1]
    assert "negation (7). The reason: the budget of 3 calls" in line(found, "Perturbed texts not asked for")


def test_what_the_program_shows_or_what_is_there_twice_is_left_out_and_that_is_said() -> None:
    """A demonstration is judged beside its own score, and its perturbed form is not: it would seem to fall."""
    shown = GOOD[0]
    critic = Critic(lambda text: {"overall": 5.0 if text == shown.response else 3.0})
    critic.fitted.shown = frozenset({example_key(shown)})
    found = examine(critic, [shown, *GOOD[:6], GOOD[1]], perturbations=["sentence-deletion"])  # type: ignore[arg-type]
    assert (found.examples, found.scored) == (5, 5)
    assert [one.change for one in found.changes if one.name == "overall quality"] == [0.0]
    assert "Left out, for the program shows them as demonstrations: 1 of the items." in found.words
    assert "Left out, for they are empty or repeated: 2 of the items." in found.words
    assert list(found.notes) == found.to_dict()["notes"]


def test_a_perturbed_text_is_scored_with_the_source_and_reference_of_its_own() -> None:
    seen: list[Example] = []

    class Watching(Critic):
        def score_many(self, items, *, explain, progress=None):  # type: ignore[no-untyped-def]
            seen.extend(items := list(items))
            return super().score_many(items, explain=explain)

    text = Example(ORIGINAL.format(place="beach"), SOURCE, reference="It is closed.", group="d")
    examine(Watching(lambda r: {"overall": 3.0}), [text], perturbations=["sentence-deletion"])  # type: ignore[arg-type]
    assert [(one.source, one.reference) for one in seen] == [(SOURCE, "It is closed.")] * 2
