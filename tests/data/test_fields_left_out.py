"""A field can be read from no column at all, and what is scored later is read alike."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from active_critic import DataError, read_examples
from active_critic.data import iter_examples
from active_critic.data.rows import BadRow

ROWS: list[dict[str, Any]] = [
    {"prompt": "Reply to the customer.", "reply": f"reply {i}", "score": i, "reference": f"T-{i}", "model": "a"}
    for i in range(1, 6)
]
FIELDS = {"response": "reply"}


def test_a_field_without_a_column_is_not_recognised_either() -> None:
    usual = read_examples(ROWS, fields=FIELDS)
    assert (usual[0].reference, usual[0].system) == ("T-1", "a")
    examples = read_examples(ROWS, fields={**FIELDS, "reference": "", "source": ""})
    assert [(e.source, e.reference, e.system) for e in examples] == [("", None, "a")] * 5
    assert examples[0].record == ROWS[0]
    assert "columns used: response=reply, score=score, system=model; none, as asked, for source or reference" in (
        examples.notes
    )
    assert not any("recognised as the source" in note for note in examples.notes)


def test_what_is_read_later_is_read_alike_unless_a_column_is_named() -> None:
    before = read_examples(ROWS, fields={**FIELDS, "reference": ""}).fields
    assert read_examples(ROWS, scored=False, as_before=before)[0].reference is None
    (item, *_) = iter_examples(ROWS, as_before=before)
    assert not isinstance(item, BadRow)
    assert (item.response, item.reference) == ("reply 1", None)
    assert read_examples(ROWS, fields={"reference": "reference"}, as_before=before)[0].reference == "T-1"


def test_a_score_that_is_not_read_is_none_where_it_need_not_be_there() -> None:
    assert read_examples(ROWS, fields={**FIELDS, "score": ""}, scored=False)[0].score is None
    (item, *_) = iter_examples(ROWS, fields={**FIELDS, "score": ""})
    assert not isinstance(item, BadRow)
    assert item.score is None


@pytest.mark.parametrize("needed", ["response", "score"])
def test_what_a_fit_needs_cannot_be_left_out(needed: str) -> None:
    with pytest.raises(DataError, match=f"recognised as the {needed}; say which it is with --fields {needed}=NAME"):
        read_examples(ROWS, fields={**FIELDS, needed: ""})


def test_examples_have_no_columns_to_leave_out() -> None:
    before = read_examples(ROWS, fields={**FIELDS, "reference": ""})
    assert read_examples(before).fields == before.fields
    with pytest.raises(DataError, match="make them without the source"):
        read_examples(before, fields={"source": ""})


def test_a_cell_that_cannot_be_read_says_how_to_do_without_it(tmp_path: Path) -> None:
    odd = [{"response": "r", "reference": {"ticket": 1}}]
    (bad,) = iter_examples(odd)
    assert isinstance(bad, BadRow)
    assert bad.reason.endswith("; or read no reference: --fields reference=")
    (item,) = iter_examples(odd, fields={"reference": ""})
    assert not isinstance(item, BadRow)
    (bad,) = iter_examples([{"response": {"words": 1}}])
    assert isinstance(bad, BadRow)
    assert "--fields response=" not in bad.reason
