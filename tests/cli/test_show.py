from __future__ import annotations

import json

from conftest_cli import refuse

from active_critic.evaluators import load
from active_critic.scoring import instructions


def test_a_readable_account(run, program) -> None:
    shown = run("show", program, opener=refuse)
    assert shown.code == 0
    for word in ("Task", "Accuracy", "Demonstrations", "your scale 1..5", "seed", "surface floor", "sha256"):
        assert word in shown.out
    assert shown.err == ""


def test_parts_of_an_account_are_one_line_apart(run, examples) -> None:
    assert run("fit", examples, "-o", "floor.json", "--evaluator", "surface", "--train", 0.5, opener=refuse).code == 0
    shown = run("show", "floor.json", opener=refuse).out
    assert "\n\nNotes\n" in shown
    assert "\n\n\n" not in shown


def test_json_is_the_document(run, program) -> None:
    assert run("show", program, "--json").document == json.loads(program.read_text())


def test_the_prompt_is_the_one_that_is_sent(run, program) -> None:
    shown = run("show", program, "--prompt")
    fitted = load(program).fitted
    assert instructions(fitted) in shown.out
    assert shown.out.count("--- user ---") == 2 * (len(fitted.demos) + 1)
    assert "(the response of the item)" in shown.out


def test_the_schema_fits_the_program(run, program) -> None:
    import jsonschema

    schema = run("show", "--schema").document
    jsonschema.validate(json.loads(program.read_text()), schema)


def test_what_a_program_holds_cannot_drive_the_terminal(run, program) -> None:
    document = json.loads(program.read_text())
    document["task_description"] = "evil \x1b[2J task"
    document["criteria"][0]["definition"] = "evil \x1b]0;x\x07 definition"
    program.write_text(json.dumps(document))
    for options in ([], ["--prompt"]):
        shown = run("show", program, *options)
        assert shown.code == 0
        assert r"evil \x1b" in shown.out
        assert "\x1b" not in shown.out
        assert "\x07" not in shown.out


def test_what_cannot_be_shown(run, tmp_path, examples) -> None:
    assert run("show").code == 2
    assert run("show", "nope.json").code == 5
    assert run("show", examples).code == 5
    assert run("show", examples, "--json", "--prompt").code == 2
