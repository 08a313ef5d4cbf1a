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
console.log(JSON.stringify(seen));
"""


def cells_of(said: str) -> list[list[str]]:
    """The rows of the only table, as a browser has their texts."""
    rows = re.findall(r"<tr.*?</tr>", said, re.S)
    return [[re.sub("<.*?>", "", cell) for cell in re.findall(r"<t[hd].*?</t[hd]>", row, re.S)] for row in rows]


def clicked(*places: int) -> list[tuple[list[str | None], list[str]]]:
    """What a page of ``ROWS`` has after every click on the heading of a column: how it is sorted, and in what order."""
    cells = cells_of(page("x", verdict_table(ROWS, whole=True)))
    assert cells[0] == ["item", "people", "critic", "text", "why"]
    script = DOM % (json.dumps(cells), SCRIPT, list(places))
    done = subprocess.run(["node", "-e", script], capture_output=True, text=True, timeout=60, check=True)
    return [(sorts, items) for sorts, items in json.loads(done.stdout)]


@pytest.mark.skipif(shutil.which("node") is None, reason="needs Node.js, to run what a browser would")
def test_a_click_sorts_by_a_column_with_what_has_no_number_last_and_a_third_one_restores_the_order() -> None:
    up, down, before, other, anew = clicked(2, 2, 2, 1, 2)
    assert up == ([None, "none", "ascending", None, None], ["e3", "e5", "e0", "e4", "e2", "e1"])
    assert down == ([None, "none", "descending", None, None], ["e2", "e0", "e4", "e5", "e3", "e1"])
    assert before == ([None, "none", "none", None, None], ["e0", "e1", "e2", "e3", "e4", "e5"])
    assert other == ([None, "ascending", "none", None, None], ["e5", "e4", "e3", "e2", "e0", "e1"])
    assert anew == up


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
