"""Python in the documents runs, with a scripted model in place of the embedded one, and links lead somewhere."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import typer
from simulated import simulated_lm

import active_critic as ac
from active_critic.cli import main
from active_critic.cli._app import app
from active_critic.evaluators import opened
from active_critic.lm.filling import form_filling_lm
from active_critic.meta_evaluation import trials

ROOT = Path(__file__).parent.parent
FOLDERS = (".", "docs", "programs", "datasets", "benchmarks", "benchmarks/results")
PAGES = sorted(path for folder in FOLDERS for path in (ROOT / folder).glob("*.md"))


def blocks(page: Path) -> list[str]:
    return re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL)


def named(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("block", blocks(ROOT / "README.md"))
def test_python_in_the_readme_runs(
    block: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "datasets").symlink_to(ROOT / "datasets")
    monkeypatch.chdir(tmp_path)
    names: list[Any] = []

    def opener(name: Any) -> Any:
        names.append(name)
        return simulated_lm(name="local")

    monkeypatch.setattr(opened, "open_lm", opener)
    exec(compile(block, "README.md", "exec"), {})
    assert "local" in names
    assert (tmp_path / "support.json").exists()
    assert capsys.readouterr().out


def test_there_is_python_in_the_readme() -> None:
    assert blocks(ROOT / "README.md")


FETCHING = ROOT / "docs" / "datasets.md"  # its code fetches public data
RUNNING = [page for page in PAGES if blocks(page) and page not in (ROOT / "README.md", FETCHING)]


@pytest.mark.parametrize("page", RUNNING, ids=named)
def test_python_in_the_other_documents_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "programs").symlink_to(ROOT / "programs")
    monkeypatch.chdir(tmp_path)
    rows = (ROOT / "datasets" / "quickstart.jsonl").read_text().splitlines()
    aspects = [
        {**json.loads(row), "scores": {"consistency": 1 + i % 5, "fluency": 5 - i % 5}}
        for i, row in enumerate(rows[:16])
    ]
    parts = {
        **dict.fromkeys(("scored", "labels", "any"), rows[:16]),
        "labelled": [json.dumps(row) for row in aspects],
        "items": rows[24:36],
        "outputs": rows[24:72],
    }
    for name, part in parts.items():
        Path(f"{name}.jsonl").write_text("\n".join(part) + "\n")
    ac.Surface().fit("scored.jsonl", scale="1..5").save("program.json")
    filler = form_filling_lm(lambda text: 1 + min(4.0, len(text.split()) / 12))
    for module in (opened, trials):
        monkeypatch.setattr(module, "open_lm", lambda name: filler if isinstance(name, str) else name)
    names: dict[str, Any] = {}
    for block in blocks(page):
        code = compile(block.replace(".csv", ".jsonl"), named(page), "exec", dont_inherit=True)
        exec(code, names)
    found = names.get("found")
    results = [*getattr(found, "methods", ()), *(point.result for point in getattr(found, "points", ()))]
    assert not any(result.failures for result in results)


def headings(page: Path) -> set[str]:
    """The anchors of a page, as GitHub makes them."""
    found = re.findall(r"^#+ (.+)$", without_code(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in found}


def without_code(page: Path) -> str:
    return re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_links_lead_somewhere(page: Path) -> None:
    for link in re.findall(r"\]\(([^)\s]+)\)", without_code(page)):
        if ":" in link:
            continue
        name, _, anchor = link.partition("#")
        target = page.parent / name if name else page
        assert target.exists(), link
        assert not anchor or anchor in headings(target), link


def test_there_are_links() -> None:
    assert len(PAGES) > 50
    assert sum(len(re.findall(r"\]\([^):]+\)", without_code(page))) for page in PAGES) > 50


COMMAND = re.compile(r"^\s*(?:\$ )?active-critic .*$", re.MULTILINE)


def commands(page: Path) -> list[list[str]]:
    return [shlex.split(line, comments=True)[1:] for line in COMMAND.findall(page.read_text())]


@pytest.mark.parametrize("page", [page for page in PAGES if commands(page)], ids=named)
def test_commands_in_the_documents_have_the_options_that_they_are_shown_with(page: Path) -> None:
    for words in commands(page):
        command: Any = typer.main.get_command(app)
        while words and words[0] in getattr(command, "commands", {}):
            command = command.commands[words[0]]
            words = words[1:]
        known = {option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)}
        used = {word.partition("=")[0] for word in words if re.match(r"--?[a-z]", word)}
        assert used <= known | {"--help", "-h", "--version"}, (named(page), words)


def test_there_are_commands() -> None:
    assert sum(len(commands(page)) for page in PAGES) > 50


def test_the_worked_example_shows_the_report_of_the_program_that_ships(capsys: pytest.CaptureFixture[str]) -> None:
    text = (ROOT / "docs" / "worked-example.md").read_text()
    [report] = re.findall(r"```\n(.*?)```", text, re.DOTALL)
    main(["show", str(ROOT / "programs" / "quickstart.json")])
    shown = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
    assert report.splitlines() == [line for line in shown if line in report.splitlines()]
    assert "It does NOT beat zero-shot on the same model" in " ".join(shown)
