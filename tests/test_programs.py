"""What ships in ``programs/``: valid documents, and the schema that is published is the one that is checked."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
from compared import Asking, examples, model

from active_critic.data.examples import example_key
from active_critic.errors import ProtocolError
from active_critic.evaluators import from_protocol, json_schema, load, load_protocol
from active_critic.records import Example
from active_critic.stats import holm
from active_critic.stats.resampling import FEWEST

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


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.name)
def test_reports_of_shipped_programs_claim_no_more_than_a_fit_of_today_would(path: Path) -> None:
    report = load_protocol(path).provenance.report
    figures = {name: report[name] for name in ("critic", "zero_shot", "surface", "over_zero_shot", "over_surface")}
    for name, figure in figures.items():
        intervals = [value for key, value in figure.items() if key.endswith("interval")]
        assert intervals, name
        assert any(intervals) == (figure["groups"] >= FEWEST), name
    rivals = {"zero-shot": figures["over_zero_shot"], "the surface floor": figures["over_surface"]}
    corrected = dict(zip(rivals, holm([figure["p"] for figure in rivals.values()]), strict=True))
    for rival, p in corrected.items():
        ahead = rivals[rival]["delta"] > 0 and p is not None and p < 0.05
        assert any(f"It beats {rival}" in said for said in report["words"]) == ahead, rival


def test_demonstrations_of_the_quick_start_program_come_from_the_shipped_data() -> None:
    rows = [json.loads(line) for line in (FOLDER.parent / "datasets" / "quickstart.jsonl").read_text().splitlines()]
    scores = {row["response"]: row["score"] for row in rows}
    program = load_protocol(FOLDER / "quickstart.json")
    for demo in program.demos:
        assert scores[demo.response] == pytest.approx(1 + 4 * demo.score / 100)
    tried = {key for candidate in program.provenance.report["candidates"] for key in candidate["demos"]}
    assert len(tried) >= 3
    assert tried <= {example_key(Example(row["response"], row["source"])) for row in rows}


def test_a_program_of_somebody_elses_evaluator_is_refused_with_who_can_read_it(tmp_path: Path) -> None:
    critic = Asking(model()).fit(examples())
    path = critic.save(tmp_path / "asking.json")
    with pytest.raises(ProtocolError, match=r"asking\.json: .* 'asking', which is none of surface, .*the load\(\) of"):
        load(path)
    with pytest.raises(ProtocolError, match=r"^a program .* 'asking', which is none of surface.*from_protocol\(\) of"):
        from_protocol(critic.protocol_)
