"""What ships in ``programs/``: valid documents, and the schema that is published is the one that is checked."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

from active_critic.evaluators import json_schema, load_protocol

FOLDER = Path(__file__).parent.parent / "programs"
PROGRAMS = sorted(path for path in FOLDER.glob("*.json") if path.name != "schema.json")


def test_the_published_schema_is_up_to_date() -> None:
    assert json.loads((FOLDER / "schema.json").read_text()) == json_schema()


def test_the_quick_start_program_ships() -> None:
    assert FOLDER / "quickstart.json" in PROGRAMS


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.name)
def test_shipped_programs_load_and_follow_the_schema(path: Path) -> None:
    jsonschema.validate(json.loads(path.read_text()), json_schema())
    protocol = load_protocol(path)
    assert 4 <= len(protocol.criteria) <= 10
    assert protocol.provenance.model == "qwen2.5-coder-1.5b"
    assert protocol.provenance.weights
    assert protocol.provenance.report["critic"]["coverage"] > 0.9


def test_demonstrations_of_the_quick_start_program_come_from_the_shipped_data() -> None:
    rows = (FOLDER.parent / "datasets" / "quickstart.jsonl").read_text().splitlines()
    responses = {json.loads(row)["response"]: json.loads(row)["score"] for row in rows}
    for demo in load_protocol(FOLDER / "quickstart.json").demos:
        assert responses[demo.response] == pytest.approx(1 + 4 * demo.score / 100)
