"""How tables of a page are sorted by a click on a heading; without the script they can be read all the same."""

from __future__ import annotations

from base64 import b64encode
from hashlib import sha256

SCRIPT = """
for (const head of document.querySelectorAll("th[data-sort]")) {
  const table = head.closest("table"), body = table.tBodies[0], rows = [...body.rows], place = head.cellIndex;
  const number = row => parseFloat(row.cells[place].textContent);
  const turns = { none: ["ascending", 1], ascending: ["descending", -1], descending: ["none", 0] };
  const button = document.createElement("button");
  button.type = "button";
  button.append(...head.childNodes);
  head.append(button);
  head.setAttribute("aria-sort", "none");
  table.classList.add("sorts");
  button.addEventListener("click", () => {
    const [order, sign] = turns[head.getAttribute("aria-sort")];
    for (const other of table.querySelectorAll("[aria-sort]")) other.setAttribute("aria-sort", "none");
    head.setAttribute("aria-sort", order);
    const compare = (a, b) => isNaN(a) - isNaN(b) || sign * (a - b) || 0;
    body.append(...(sign ? [...rows].sort((one, other) => compare(number(one), number(other))) : rows));
    if (table.getBoundingClientRect().top < 0) table.scrollIntoView();
  });
}
"""
"""Makes buttons of the headings with ``data-sort``: the lowest numbers first, the highest, and as it was. What has no
number comes last. A cell's number is what it begins with. Whoever is further down is brought to the first row."""
SOURCE = f"'sha256-{b64encode(sha256(SCRIPT.encode()).digest()).decode()}'"
"""The only script that a page may run, as its policy names it."""
