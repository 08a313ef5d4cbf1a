from __future__ import annotations

import re
from datetime import UTC, datetime
from html.parser import HTMLParser

import pytest
from rich.columns import Columns as Unknown
from rich.console import Group
from rich.table import Table
from rich.text import Text

from active_critic import __version__
from active_critic.records import CriterionVerdict, Scale, Verdict
from active_critic.report import WHOLE, Judged, agreement_table, verdict_table
from active_critic.report.page import page
from active_critic.report.sorting import SCRIPT
from active_critic.report.style import CSS
from active_critic.report.tables import heading, list_under, table_of

HOSTILE = '<script>alert(1)</script> & "\'<img src=x onerror=alert(1)> <a href="javascript:alert(1)"> \x1b[2J\u202e'
FROM_RIGHT = "\u0623\u064a\u0646 \u0637\u0631\u062f\u064a\u061f"


class Tags(HTMLParser):
    """The elements of a page, and its text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: set[str] = set()
        self.text = ""
        self.scripts: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.scripts += [""] * (tag == "script")
        self.attributes |= {name for name, _ in attrs}

    def handle_data(self, data: str) -> None:
        if self.cdata_elem == "script":
            self.scripts[-1] += data
        else:
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
    assert found.scripts == [SCRIPT]
    assert not {"img", "a"} & set(found.tags)
    assert not [name for name in found.attributes if name.startswith("on")]
    assert found.text.count("<script>alert(1)</script>") == 2 + 1 + 8  # the title and the heading, the text, the table
    assert found.text.count("word ") == 200
    assert "2.50 to 4.00" in found.text
    assert not {"\x1b", "\u202e"} & set(found.text)


def test_names_of_headings_and_columns_stay_inside_their_attributes() -> None:
    said = page("x", heading(HOSTILE), verdict_table([Judged("a", Verdict(score=1.0), "", HOSTILE, 2.0)], whom=HOSTILE))
    found = Tags(said)
    assert not {"script", "img", "a"} & set(found.tags)
    assert not [name for name in found.attributes if name.startswith("on")]
    shown = 2 + 2 + 1  # the heading and the name of the table, the column and that of its cell, a text
    assert said.count("&lt;script&gt;") == shown
    assert not {"\x1b", "\u202e"} & set(said)


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
    assert found.tags.count("th") == 20 + 5  # of columns, of rows
    assert "<h2>A heading</h2>" in said
    assert '<tr class="bold"><th scope="row"><div class="short">mean of 3' in said
    assert '<p><span class="dim">Agreement with people over all examples' in said


def test_figures_keep_their_lines_and_texts_are_broken_where_they_must() -> None:
    table = Table("name", "cell")
    for cell in ("0.52 [0.31, 0.77]", "-0.40\n[-0.50 -0.30]", "x" * 25, "short\n" + "y" * 25):
        table.add_row("n", cell)
    said = page("", table)
    assert '<div class="short">0.52 [0.31, 0.77]' in said
    assert '<div class="short">-0.40\n[-0.50 -0.30]' in said
    assert "<div>xxx" in said
    assert "<div>short\nyyy" in said


def test_a_table_of_figures_scrolls_by_itself_and_is_named_after_its_heading() -> None:
    table = table_of("", "calls", right=("calls",))
    table.add_row("what is said of a family of attacks", "12")
    said = page("A page", heading("What it took"), table)
    assert '<div class="wide" role="group" tabindex="0" aria-label="What it took"><table>' in said
    assert 'class="texts' not in said  # a long name makes no text to be read
    assert 'aria-label="A page"' in page("A page", table)


def test_texts_to_be_read_share_the_room_and_tell_their_columns_where_they_are_stacked() -> None:
    rows = [
        Judged("a", Verdict(score=1.0, explanation="why " * 9), response="word " * 4_000),
        Judged("b", Verdict(score=2.0)),
    ]
    said = page("", verdict_table(rows, whole=True))
    assert '<table class="texts cards"' in said
    assert '<col><col><col style="width:50%"><col style="width:50%"></colgroup>' in said
    assert '<td class="prose" data-head="why">' in said
    assert '<td class="right" data-head="critic">' in said
    facts = table_of("", "", header=False)
    facts.add_row("settings", "mode=fine, candidates=4, demos=3")
    said = page("", facts)
    assert '<table class="texts" ' in said  # two columns have room everywhere
    assert " data-head=" not in said
    assert "<thead>" not in said


def test_only_a_long_text_scrolls_inside_its_cell_and_the_keyboard_can_do_it() -> None:
    def shown(text: str) -> str:
        return page("", verdict_table([Judged("a", Verdict(score=1.0), response=text)], whole=True))

    marked = '<div class="long" tabindex="0">'
    assert marked not in shown("word " * 250)
    assert marked in shown("word " * 350)
    assert marked in shown("\u8377\u7269" * 500)  # twice as wide
    assert marked in shown("line\n" * 30)


def test_only_a_table_of_many_texts_is_laid_out_bit_by_bit() -> None:
    rows = [Judged(f"e{i}", Verdict(score=1.0), response="word " * 50) for i in range(100)]
    assert '<table class="texts cards many"' in page("", verdict_table(rows, whole=True))
    assert '<table class="texts cards"' in page("", verdict_table(rows[1:], whole=True))
    assert ".many .prose > div { content-visibility: auto;" in CSS.partition("@media screen {")[2].partition("\n}")[0]


def test_cells_say_what_they_are_the_head_of() -> None:
    table = table_of("", "score", right=("score",))
    table.add_row("Accuracy", "1")
    said = page("", table)
    assert '<td></td><th scope="col" class="right short">score</th>' in said
    assert '<tr><th scope="row"><div class="short">Accuracy</div></th><td class="right">' in said
    numbers = table_of("people", "text", right=("people",))
    numbers.add_row("3.5", "text")
    assert 'scope="row"' not in page("", numbers)


def test_every_criterion_has_its_score_and_reason_on_a_page() -> None:
    criteria = (CriterionVerdict("Tone", -0.5, HOSTILE), CriterionVerdict("Accuracy", 2.0))
    rows = [Judged("a", Verdict(score=1.0, criteria=criteria, advice="say when"))]
    found = Tags(page("", verdict_table(rows, whole=True)))
    assert "Tone -0.50: <script>" in found.text
    assert "\nAccuracy 2.00\nBetter: say when" in found.text
    assert not {"img", "a"} & set(found.tags)
    assert "script>" not in Tags(page("", verdict_table(rows))).text  # in a terminal there is no room for reasons


def test_differences_from_people_have_a_column_where_their_scores_are_on_the_scale() -> None:
    rows = [
        Judged("a", Verdict(score=2.25), response="x" * 99, human=4.0),
        Judged("b", Verdict(score=3.0), response="x" * 99),
        Judged("c", Verdict(unscored="why"), response="x" * 99, human=1.0),
        Judged("d", Verdict(score=4.5), response="x" * 99, human=3.0),
    ]
    head = 'data-head="critic \u2212 people"><div class="short">'
    said = page("", verdict_table(rows, whole=True, scale=Scale(low=1, high=5)))
    assert re.findall(f"{head}(.*?)</div>", said) == ["-1.75", "\u2013", "\u2013", "+1.50"]
    for without in (
        verdict_table(rows, whole=True),
        verdict_table(rows, whole=True, scale=Scale(low=1, high=3)),  # people's are on another
        verdict_table(rows[1:2], whole=True, scale=Scale(low=1, high=5)),
    ):
        assert head not in page("", without)


def test_a_list_is_a_list() -> None:
    found = Tags(page("", *list_under("Notes", ["one", HOSTILE])))
    assert found.tags.count("ul") == 1
    assert found.tags.count("li") == 2
    assert "table" not in found.tags


def test_what_is_written_from_right_to_left_keeps_its_order_behind_our_words() -> None:
    rows = [Judged("a", Verdict(score=1.0, notes=(FROM_RIGHT,)), source=FROM_RIGHT, response="text")]
    said = page("", verdict_table(rows, whole=True))
    for word in ("Source", "Note"):
        assert f'<span class="dim">\n{word}: </span><span class="dim" dir="auto">{FROM_RIGHT}</span>' in said
    assert said.count('dir="auto"') == 2


def test_an_item_is_found_by_its_whole_name_and_by_its_row() -> None:
    name = "tickets/2026/11/25/" + "0" * 40
    said = page("", verdict_table([Judged(name, Verdict(score=1.0), row=12)], whole=True))
    assert f'>{name}<span class="dim">\nrow 12</span>' in said


def test_a_page_says_what_made_it_and_when() -> None:
    before = datetime.now(UTC).replace(second=0, microsecond=0)
    found = Tags(page("A title"))
    made = re.search(rf"Made by active-critic {re.escape(__version__)}, (.*) UTC\.", found.text)
    assert made is not None
    assert before <= datetime.fromisoformat(made[1] + "+00:00") <= datetime.now(UTC)


def test_a_picture_scrolls_where_it_would_become_too_small() -> None:
    assert '<figure class="wide" tabindex="0"><svg></svg></figure>' in page("", picture="<svg></svg>")
    assert "<figure" not in page("")


def _luminance(colour: str) -> float:
    digits = colour.lstrip("#")
    parts = [
        int(digits[i : i + len(digits) // 3] * (6 // len(digits)), 16) / 255
        for i in range(0, len(digits), len(digits) // 3)
    ]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_every_colour_of_text_is_told_from_the_page_light_and_dark() -> None:
    """At least 4.5 to 1, which WCAG 2.2 asks for at level AA (1.4.3); dark pages are at most #1c1c1e in browsers."""
    light, dark = (dict(re.findall(r"--(dim|red|green|yellow): (#\w+)", part)) for part in CSS.split("@media", 2)[:2])
    for colours, ground in ((light, "#fff"), (dark, "#1c1c1e")):
        assert colours.keys() == {"dim", "red", "green", "yellow"}
        for colour in colours.values():
            bright, other = sorted((_luminance(colour), _luminance(ground)), reverse=True)
            assert (bright + 0.05) / (other + 0.05) >= 4.5, colour


def test_what_cannot_be_shown_is_an_error_and_no_gap() -> None:
    with pytest.raises(TypeError, match="Columns cannot be shown"):
        page("", Unknown(["a"]))
