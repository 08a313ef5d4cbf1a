"""The published table is the one that is tested."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from fault_page import PAGE, page
from fault_table import LOCAL, SECURITY, Local

TESTS = Path(__file__).parent.parent


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run: python tests/faults/fault_page.py"


@pytest.mark.parametrize("fault", [*LOCAL, *SECURITY], ids=lambda fault: fault.name)
def test_every_row_names_a_test_that_is_there(fault: Local) -> None:
    file, _, name = fault.test.partition("::")
    assert re.search(rf"^def {name}\(", (TESTS / file).read_text(), re.MULTILINE)
