"""Sorting the tables of a page: what the page allows, and what the script does."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from base64 import b64encode
from hashlib import sha256

import pytest
from rich.text import Text

from active_critic.records import Verdict
from active_critic.report import Judged, verdict_table
from active_critic.report.page import page
from active_critic.report.sorting import SCRIPT
from active_critic.report.tables import table_of

SCORES = (3.5, None, 12.0, -1.0, 3.5, 0.25)
ROWS = [
    Judged(
        f"e{i}", Verdict(score=score, interval=None if score is None else (score - 9, score + 9)), "", "x" * 99, 6.0 - i
    )
    if score is not None
    else Judged(f"e{i}", Verdict(unscored="1 reason"), "", "x" * 99)
    for i, score in enumerate(SCORES)
]
DOM = """
const cells = %s, clicks = {};
const heads = cells[0].map((name, place) => ({
  name, cellIndex: place, childNodes: [name], set: {},
  append(...nodes) { this.button = nodes[0]; },
  closest: () => table,
  setAttribute(key, value) { this.set[key] = value; },
  getAttribute(key) { return this.set[key]; },
}));
const body = { rows: cells.slice(1).map(row => ({ id: row[0], cells: row.map(text => ({ textContent: text })) })) };
body.append = (...rows) => { body.rows = [...body.rows.filter(row => !rows.includes(row)), ...rows]; };
const table = {
  scrolled: 0,
  getBoundingClientRect() { return { top: %s }; },
  scrollIntoView() { this.scrolled += 1; },
  tBodies: [body], classList: { add() {} },
  querySelectorAll: () => heads.filter(head => "aria-sort" in head.set),
};
const document = {
  querySelectorAll: () => heads.filter(head => ["people", "critic"].includes(head.name)),
  createElement: () => ({ append() {}, addEventListener(kind, act) { this[kind] = act; } }),
};
%s
const seen = [];
for (const place of %s) {
  heads[place].button.click();
  seen.push([heads.map(head => head.set["aria-sort"] ?? null), body.rows.map(row => row.id)]);
}
console.log(JSON.stringify([seen, table.scrolled]));
"""


def cells_of(said: str) -> list[list[str]]:
    """The rows of the only table, as a browser has their texts."""
    rows = re.findall(r"<tr.*?</tr>", said, re.S)
    return [[re.sub("<.*?>", "", cell) for cell in re.findall(r"<t[hd].*?</t[hd]>", row, re.S)] for row in rows]


def clicked(*places: int, top: int = 9) -> tuple[list[tuple[list[str | None], list[str]]], int]:
    """Click on headings of a page of ``ROWS``.

    Args:
        places: Of the columns.
        top: Where the table begins, below the top of the window.

    Returns:
        How it is sorted after every click, and in what order; how often its beginning was brought into sight.
    """
    cells = cells_of(page("x", verdict_table(ROWS, whole=True)))
    assert cells[0] == ["item", "people", "critic", "text", "why"]
    script = DOM % (json.dumps(cells), top, SCRIPT, list(places))
    done = subprocess.run(["node", "-e", script], capture_output=True, text=True, timeout=60, check=True)
    seen, scrolled = json.loads(done.stdout)
    return [(sorts, items) for sorts, items in seen], scrolled


runs_scripts = pytest.mark.skipif(shutil.which("node") is None, reason="needs Node.js, to run what a browser would")


@runs_scripts
def test_a_click_sorts_by_a_column_with_what_has_no_number_last_and_a_third_one_restores_the_order() -> None:
    (up, down, before, other, anew), _ = clicked(2, 2, 2, 1, 2)
    assert up == ([None, "none", "ascending", None, None], ["e3", "e5", "e0", "e4", "e2", "e1"])
    assert down == ([None, "none", "descending", None, None], ["e2", "e0", "e4", "e5", "e3", "e1"])
    assert before == ([None, "none", "none", None, None], ["e0", "e1", "e2", "e3", "e4", "e5"])
    assert other == ([None, "ascending", "none", None, None], ["e5", "e4", "e3", "e2", "e0", "e1"])
    assert anew == up


@runs_scripts
def test_who_sorts_from_further_down_is_brought_to_the_first_row() -> None:
    assert clicked(2, 1)[1] == 0
    assert clicked(2, 1, top=-900)[1] == 2


def test_only_columns_of_numbers_beside_texts_can_be_sorted_by_and_only_where_there_are_rows() -> None:
    said = page("x", verdict_table(ROWS, whole=True))
    assert [re.sub("<.*?>", "", head) for head in re.findall(r"<th data-sort.*?</th>", said)] == ["people", "critic"]
    assert "<th data-sort" not in page("x", verdict_table(ROWS[:1], whole=True))
    figures = table_of("", "n", right=("n",))
    for name in ("a", "b"):
        figures.add_row(Text(name), Text("1"))
    assert "<script" not in page("x", figures)


def test_a_page_may_run_this_script_and_no_other() -> None:
    said = page("x", verdict_table(ROWS, whole=True))
    (script,) = re.findall(r"<script>(.*?)</script>", said, re.S)
    known = b64encode(sha256(script.encode()).digest()).decode()
    policy = re.search(r'Content-Security-Policy" content="(.*?)"', said)
    assert policy is not None
    assert f"; script-src 'sha256-{known}'" in policy[1]
    assert "unsafe" not in policy[1].partition("script-src")[2]
    assert "script-src" not in page("x", Text("<th data-sort <script>"))
