"""Writes ``docs/reliability.md`` from the table that the tests run: ``python tests/faults/fault_page.py``."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).parent.parent)]

from fault_table import APPROVAL, ENDPOINT, LOCAL, SECURITY, Case, Local

PAGE = Path(__file__).parents[2] / "docs" / "reliability.md"

HEAD = """\
# What happens when something goes wrong

This page is written by `python tests/faults/fault_page.py` from the table that the tests in that folder run; a test
fails when it is out of date.

## The endpoint

Every row is a run over six items, one at a time. *Requests*: how often an item is asked for to which this always
happens; the language model is the only one that retries, at most three times, after 1, 2 and 4 seconds or as long as
the endpoint asks for (60 seconds at most); after a 429 six times, after 1 to 32 seconds, and up to a quarter longer
where several calls are in flight. A reply that cannot be read is asked for once more, in stricter words; one that was
cut off before it began, with room for 4,000 tokens more. *One item*: what becomes of the item, and the exit code of
the run; all other rows are as they would be without the fault. *Every item*: the exit code, and how many requests six
items cost. The program reads ratings, and nothing else but in the last row.

| fault | requests | one item | code | every item | code |
| --- | --- | --- | --- | --- | --- |
"""

LOCALLY = """
A run stops after 2 failures of the endpoint in a row when nothing was answered yet, and after 5 otherwise (20 where the
journal answered in between); of requests that were under way together, one failure counts. Its message
says so, and how to go on: what was paid for is in the journal, and the same command asks only for the rest. It also
stops (4) when the replies to its first 20 items cannot be read, not one of them, or to 50 in a row later on, and the
same command goes on behind them; and when each of the first 20 requests is refused. Later on a refused request costs
that item alone. Only what is asked anew counts, in the order of the items; a reply that can be read begins the count
anew.
A fit ends with one request that fails for good, and the same command goes on. So it is more patient: where an endpoint
that has answered before takes no requests (5xx, no connection), it asks eight times more, over three minutes; what the
provider may bill, such as a time-out, no oftener than ever (`tests/lm/test_outages.py`).
Some endpoints cut a prompt that does not fit their context window, and say nothing; Ollama does, at 4,096 tokens unless
it is told otherwise. Where the tokens that an endpoint says it read are fewer than the words of the prompt allow, one
more call makes sure that it cuts; from then on such a reply counts as none, and is not kept: the item is unscored with
that reason (`tests/lm/test_cutting.py`). `lm check` tries it with a prompt of 9,000 tokens.
Of a reply at most 64 MiB are read, unpacked: a longer one is a failure like a time-out, and tried again. What a
`dspy.LM` of your own reads is bounded by its time alone.
At the end of every other run a summary counts the reasons; each is in the row's column `unscored`.

## This machine

| fault | what happens | code | test |
| --- | --- | --- | --- |
"""

SECURELY = """
143 and 137 are what a shell shows for a process that a signal ended; it had no chance to say anything.

## Secrets, hostile files and outputs

| what | what happens | code | test |
| --- | --- | --- | --- |
"""


def endpoint(case: Case) -> str:
    if case.ends:
        one, code, every = "the run ends; the same command goes on", "4", ("the run ends, 1 request", "4")
    elif case.scored:
        note = f"; note: {case.note}" if case.note else ""
        one, code, every = f"scored{note}", "0", (f"all scored, {6 * case.requests} requests", "0")
    else:
        one, code = f"unscored: {case.reason} …", "7"
        every = (f"all unscored, {6 * case.requests} requests", "7")
        if case.retried:
            every = (f"the run ends, {2 * case.requests} requests", "4")
    return f"| {case.name} | {case.requests} | {one} | {code} | {' | '.join(every)} |"


def approval(case: Case) -> str:
    """The row of the fault that only a program with the approval knows: at every item, what was found out tells."""
    one = f"unscored: {case.reason} …"
    return f"| {case.name} | {case.requests} | {one} | 7 | the run ends before the first item, 0 requests | 4 |"


def local(faults: Iterable[Local]) -> list[str]:
    return [
        f"| {fault.name} | {fault.happens} | {fault.code or '–'} | `tests/{fault.test.replace('::', '` `')}` |"
        for fault in faults
    ]


def page() -> str:
    parts = [HEAD + "\n".join([*map(endpoint, ENDPOINT), approval(APPROVAL)]), LOCALLY + "\n".join(local(LOCAL))]
    return "\n".join([*parts, SECURELY + "\n".join(local(SECURITY))]) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
