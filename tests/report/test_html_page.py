from __future__ import annotations

from html.parser import HTMLParser

import pytest
from rich.columns import Columns as Unknown
from rich.console import Group
from rich.table import Table
from rich.text import Text

from active_critic.records import CriterionVerdict, Verdict
from active_critic.report import WHOLE, Judged, agreement_table, verdict_table
from active_critic.report.page import page

HOSTILE = "<script>alert(1)</script> & \"'<img src=x onerror=alert(1)> \x1b[2J\u202e"


class Tags(HTMLParser):
    """The elements of a page, and its text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: set[str] = set()
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_data(self, data: str) -> None:
        self.text += data


def test_texts_are_shown_whole_and_become_no_markup() -> None:
    criteria = (CriterionVerdict(name=HOSTILE, score=2.0),)
    verdict = Verdict(
        score=3.25, explanation=HOSTILE, criteria=criteria, advice=HOSTILE, interval=(2.5, 4.0), notes=(HOSTILE,)
    )
    rows = [
        Judged(HOSTILE, verdict, "the source " + HOSTILE, "word " * 200 + HOSTILE, 4.0),
        Judged("b", Verdict(unscored=HOSTILE)),
    ]
    found = Tags(page(HOSTILE, Text(HOSTILE), verdict_table(rows, whole=True)))
    assert not {"script", "img"} & set(found.tags)
    assert not [name for name in found.attributes if name.startswith("on")]
    assert found.text.count("<script>alert(1)</script>") == 2 + 1 + 8  # the title and the heading, the text, the table
    assert found.text.count("word ") == 200
    assert "2.50 to 4.00" in found.text
    assert not {"\x1b", "\u202e"} & set(found.text)


def test_what_is_not_fetched_and_not_run_is_forbidden_too() -> None:
    said = page("A title")
    assert "default-src 'none'" in said
    assert "http://" not in said
    assert "https://" not in said


def test_an_endless_text_is_cut_and_said_to_be() -> None:
    table = verdict_table([Judged("a", Verdict(score=1.0), response="x" * (WHOLE + 1))], whole=True)
    assert ">" + "x" * WHOLE + "…<" in page("", table)


def test_a_figure_is_one_table_with_all_its_columns_and_styles() -> None:
    figures = {
        **dict.fromkeys(("pearson", "spearman", "kendall", "mean"), 0.5),
        **{f"{name}_interval": [0.25, 0.75] for name in ("pearson", "spearman", "kendall", "mean")},
        "n": 9,
        "total": 9,
        "level": "dataset",
        "confidence": 0.95,
        "groups": 3,
        "resamples": 10,
        "seed": 0,
    }
    said = page(
        "", Group(Text("A heading", style="bold"), agreement_table({f"critic {i}": figures for i in range(20)}))
    )
    found = Tags(said)
    assert found.tags.count("table") == 1
    assert found.tags.count("th") == 21
    assert "<h2>A heading</h2>" in said
    assert '<tr class="bold"><td><div class="short">mean of 3' in said
    assert '<p><span class="dim">Agreement with people over all examples' in said


def test_figures_keep_their_lines_and_texts_are_broken_where_they_must() -> None:
    table = Table("head")
    for cell in ("0.52 [0.31, 0.77]", "-0.40\n[-0.50 -0.30]", "x" * 25, "short\n" + "y" * 25):
        table.add_row(cell)
    said = page("", table)
    assert '<div class="short">0.52 [0.31, 0.77]' in said
    assert '<div class="short">-0.40\n[-0.50 -0.30]' in said
    assert "<div>xxx" in said
    assert "<div>short\nyyy" in said
    assert '<div class="wide"><table>' in said  # scrolls by itself in a narrow window


def test_what_cannot_be_shown_is_an_error_and_no_gap() -> None:
    with pytest.raises(TypeError, match="Columns cannot be shown"):
        page("", Unknown(["a"]))
