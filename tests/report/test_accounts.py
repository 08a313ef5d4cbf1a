"""What is said first and what last, on a terminal and on a page."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from dataclasses import replace
from html.parser import HTMLParser
from types import SimpleNamespace
from typing import Any

import pytest
from compared import QUICK, asking, examples, model
from curved import QUICK as QUICK_CURVE
from curved import RISING, labelled
from rich.console import Console, RenderableType

from active_critic.meta_evaluation.comparing import compare
from active_critic.meta_evaluation.curves import curve
from active_critic.probes._confusion import Pair
from active_critic.probes.behaviour import examine
from active_critic.records import CriterionVerdict, Example, Scale, Verdict
from active_critic.report.behaviour import behaviour_account
from active_critic.report.comparisons import comparison_account
from active_critic.report.curves import curve_account
from active_critic.report.page import page


class Heard(HTMLParser):
    """The text of a page, and its headings."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text, self.headings, self._in = "", list[str](), ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._in = tag

    def handle_data(self, data: str) -> None:
        self.text += data
        if self._in == "h2" and data.strip():
            self.headings.append(data)


def on_a_terminal(account: RenderableType, width: int = 100) -> str:
    out = Console(width=width, file=io.StringIO(), markup=False, highlight=False, emoji=False)
    out.print(account)
    return out.file.getvalue()


def flat(text: str) -> str:
    return " ".join(text.split())


def test_a_comparison_ends_with_what_it_means_and_its_page_begins_with_it() -> None:
    found = compare(examples(), {"first": asking("first"), "second": asking("second")}, model(), **QUICK)
    account = comparison_account(found)
    told = flat(on_a_terminal(account))
    assert told.endswith(flat(found.words[-1]))
    said = Heard(page("x", account))
    places = [said.text.index(sentence) for sentence in found.words]
    assert places == sorted(places)
    assert places[-1] < said.text.index("Pearson")
    assert said.headings == ["Agreement with people", "Differences", "What it takes", "Notes"]
    assert all(heading in told for heading in said.headings[:-1])


def test_a_curve_ends_with_the_advice_and_its_page_begins_with_picture_and_words() -> None:
    found = curve(labelled(), RISING, model(), **QUICK_CURVE)
    account = curve_account(found)
    told = flat(on_a_terminal(account))
    assert found.words[-1].startswith("Advice")
    assert told.endswith(flat(found.words[-1]))
    said = page("x", account, picture="<svg></svg>")
    assert said.index("<svg>") < said.index("Advice") < said.index("Pearson")


def test_notes_that_a_terminal_has_shown_beside_are_on_the_page_as_well() -> None:
    compared = compare(examples(), {"first": asking("first")}, model(), **QUICK)
    drawn = curve(labelled(), RISING, model(), **QUICK_CURVE)
    for notes, account in ((compared.notes, comparison_account(compared)), (drawn.notes, curve_account(drawn))):
        assert notes
        assert all(note in Heard(page("x", account)).text for note in notes)
        assert not any(flat(note) in flat(on_a_terminal(account, 400)) for note in notes)


@pytest.mark.parametrize("width", [80, 100, 140])
def test_figures_of_runs_stand_under_each_other_and_fit(width: int) -> None:
    compared = compare(examples(), {"first": asking("first"), "second": asking("second")}, model(), **QUICK)
    drawn = curve(labelled(), RISING, model(), **QUICK_CURVE)
    for account in (comparison_account(compared), curve_account(drawn)):
        lines = on_a_terminal(account, width).splitlines()
        assert all(len(line) <= width for line in lines)
        head = next(line for line in lines if "Pearson" in line)
        end = head.index("Pearson") + len("Pearson")
        below = lines[lines.index(head) + 1 :][:4]
        assert [line[end] for line in below] == [" "] * 4
        assert {line[end - 1] for line in below} <= {*"0123456789]–", " "}, "they end where the heading does"


class Blind:
    """An evaluator that gives every text the same scores."""

    signature = "scripted"
    remembering = staticmethod(nullcontext)
    fitted = SimpleNamespace(scale=Scale(low=1, high=5), criteria=(), shown=frozenset())

    def score_many(self, items: Iterable[Example], **_: Any) -> Iterator[Verdict]:
        for _ in items:
            yield Verdict(score=3.0, criteria=(CriterionVerdict("Tone", 3.0), CriterionVerdict("Clarity", 3.0)))


def test_what_red_means_is_said_without_colour_too() -> None:
    texts = [Example(f"He thinks that the {place} is closed.", group=place) for place in ("pub", "bar", "shop")]
    found = examine(Blind(), texts, perturbations=["negation"], resamples=20)  # type: ignore[arg-type]

    def shown(excess: tuple[float, float]) -> str:
        pair = Pair("Tone", "Clarity", 0.9, "tone", "clarity", -0.25, excess, 3, 3)
        return page("x", behaviour_account(replace(found, pairs=(pair,))))

    closer = '<span class="red">↑ 0.90</span><span class="dim">\npeople -0.25</span>'
    assert shown((0.5, 1.5)).count(closer) == 2
    assert "↑ 0.90" not in shown((-0.5, 1.5))
    assert "↑, in red:" in shown((0.5, 1.5))
