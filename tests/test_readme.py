"""Python in the documents runs, with a scripted model in place of the embedded one, and links lead somewhere."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from simulated import simulated_lm

import active_critic as ac
from active_critic.evaluators import base
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

    monkeypatch.setattr(base, "open_lm", opener)
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
    opened = form_filling_lm(lambda text: 1 + min(4.0, len(text.split()) / 12))
    for module in (base, trials):
        monkeypatch.setattr(module, "open_lm", lambda name: opened if isinstance(name, str) else name)
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
