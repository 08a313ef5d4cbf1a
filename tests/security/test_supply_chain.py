"""What the project takes from others: pinned, locked, audited, and silent on the network."""

from __future__ import annotations

import ast
import json
import re
import runpy
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).parents[2]
LOCKS = {
    name: (ROOT / name).read_text()
    for name in ("requirements.lock", "requirements-lowest.lock", "requirements-tools.lock")
}
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
PROJECT = PYPROJECT["project"]
MALICIOUS = {"litellm": ("1.82.7", "1.82.8")}
"""Releases that are known to have been tampered with."""
NO_NETWORK = """
import sys

def forbid(event, args):
    if event in {"socket.getaddrinfo", "socket.gethostbyname", "socket.connect", "socket.sendto"}:
        # Past every `except Exception` of a library that would rather not say so.
        sys.stderr.write(f"the network was used: {event} {args!r}\\n")
        sys.stderr.flush()
        import os
        os._exit(97)

sys.addaudithook(forbid)
"""
"""Ends a process that looks up a name, or connects or sends anywhere."""


def requirements() -> list[Requirement]:
    """All that is required, the extras included, without the project itself."""
    given = [*PROJECT["dependencies"], *(text for extra in PROJECT["optional-dependencies"].values() for text in extra)]
    return [found for found in map(Requirement, given) if found.name != PROJECT["name"]]


def locked(lock: str = "requirements.lock") -> dict[str, list[Version]]:
    """The versions of a lock file; several where they differ by platform."""
    versions: dict[str, list[Version]] = {}
    for name, version in re.findall(r"^([A-Za-z0-9][\w.-]*)==([^\s;]+)", LOCKS[lock], re.MULTILINE):
        versions.setdefault(canonicalize_name(name), []).append(Version(version))
    return versions


def run_offline(code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", NO_NETWORK + code]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("required", requirements(), ids=str)
def test_every_requirement_has_a_lower_bound_and_a_locked_version(required: Requirement) -> None:
    versions = locked().get(canonicalize_name(required.name))
    assert versions, "not in requirements.lock; run: bash .ci/lock"
    assert all(version in required.specifier for version in versions), "lock file out of date; run: bash .ci/lock"
    assert any(each.operator in {">=", "==", "~="} for each in required.specifier), "no lower bound"


@pytest.mark.parametrize("required", requirements(), ids=str)
def test_the_oldest_version_that_is_allowed_is_the_one_that_is_tested(required: Requirement) -> None:
    (bound,) = [Version(each.version) for each in required.specifier if each.operator == ">="]
    (version,) = locked("requirements-lowest.lock")[canonicalize_name(required.name)]
    assert version in required.specifier
    assert version.release[: len(bound.release)] == bound.release, "out of date, or no such version; run: bash .ci/lock"


def test_everything_imported_is_required() -> None:
    trees = [ast.parse(path.read_text()) for path in (ROOT / "active_critic").rglob("*.py")]
    nodes = [node for tree in trees for node in ast.walk(tree)]
    named = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    named += [node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)]
    others = {name.partition(".")[0] for name in named} - sys.stdlib_module_names - {"active_critic"}
    required = {canonicalize_name(each.name) for each in requirements()} | {"dspy"}  # which is all of dspy-ai
    assert {"numpy", "pydantic"} <= others <= required


@pytest.mark.parametrize("name", MALICIOUS)
def test_malicious_releases_are_excluded(name: str) -> None:
    (required,) = [each for each in requirements() if each.name == name]
    for version in MALICIOUS[name]:
        assert version not in required.specifier
        assert Version(version) not in locked()[name]


@pytest.mark.parametrize(
    ("lock", "least"), [("requirements.lock", 50), ("requirements-lowest.lock", 50), ("requirements-tools.lock", 20)]
)
def test_everything_locked_is_hashed_and_nothing_comes_from_elsewhere(lock: str, least: int) -> None:
    pins = re.split(r"^(?=[A-Za-z0-9])", LOCKS[lock], flags=re.MULTILINE)[1:]
    assert len(pins) >= least
    assert not [pin.splitlines()[0] for pin in pins if "--hash=sha256:" not in pin]
    elsewhere = r"(?:https?|file|git\+\w+)://\S*|--(?:extra-)?index-url\S*|--find-links\S*| @ \S+"
    assert not re.findall(elsewhere, LOCKS[lock])


@pytest.mark.parametrize("needed", [*PYPROJECT["build-system"]["requires"], "editables", "pip-audit", "uv"])
def test_what_builds_the_project_and_the_tools_of_ci_are_locked(needed: str) -> None:
    required = Requirement(needed)
    versions = locked("requirements-tools.lock").get(canonicalize_name(required.name))
    assert versions, "not in requirements-tools.lock; run: bash .ci/lock"
    assert all(version in required.specifier for version in versions), "lock file out of date; run: bash .ci/lock"


def test_ci_installs_nothing_without_hashes() -> None:
    lines = (ROOT / ".ci" / "run").read_text().splitlines()
    fetching = [line.strip() for line in lines if re.search(r"\b(?:pip|uv)\b.* (?:install|download)\b", line)]
    fetching = [line for line in fetching if not line.startswith("#")]
    (readme,) = [line for line in fetching if line.startswith("command=")]  # what it installs is in place by then
    (itself,) = [line for line in fetching if line.endswith("-e .")]
    assert "--no-deps --build-constraints requirements-tools.lock" in itself
    others = [line for line in fetching if line not in (readme, itself)]
    assert {lock for lock in LOCKS if any(lock in line for line in others)} == set(LOCKS)
    assert [line for line in others if "--require-hashes" not in line] == []
    assert any(
        "PIP_NO_INDEX=1" in line for line in lines[lines.index("  " + readme) : lines.index('  eval "$command"')]
    )


def test_import_and_help_use_no_network(tmp_path: Path) -> None:
    code = """
import runpy
import active_critic
[getattr(active_critic, name) for name in active_critic.__all__]
from active_critic.cli import main
sys.argv = ["active-critic", "--help"]
main()
"""
    done = run_offline(code, tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Usage" in done.stdout


def test_a_fit_and_a_scoring_without_a_model_use_no_network(tmp_path: Path) -> None:
    code = """
import active_critic as ac
rows = [
    {"source": f"Tell of day {i}.", "response": "A day. " * (i % 7 + 1), "score": i % 7 + 1, "group": f"d{i}"}
    for i in range(14)
]
data = ac.read_examples(rows)
critic = ac.Surface().fit(data)
assert all(verdict.score is not None for verdict in critic.score_many(data))
print("scored")
"""
    done = run_offline(code, tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "scored"


SWALLOWED = """
import socket
try:
    socket.create_connection(("127.0.0.1", 9))
except Exception:
    pass
"""


@pytest.mark.parametrize("code", ["import socket; socket.getaddrinfo('localhost', 80)", SWALLOWED])
def test_the_watch_on_the_network_sees_it_even_where_errors_are_swallowed(code: str, tmp_path: Path) -> None:
    done = run_offline(code, tmp_path)
    assert done.returncode == 97
    assert "the network was used" in done.stderr


CLEAN: dict[str, Any] = {"name": "clean", "version": "1.0", "vulns": []}
FLAWED: dict[str, Any] = {
    "name": "flawed", "version": "1.0", "vulns": [{"id": "PYSEC-1", "fix_versions": ["1.1"], "aliases": []}]
}  # fmt: skip
UNKNOWN: dict[str, Any] = {"name": "unknown", "skip_reason": "Dependency not found on PyPI"}


@pytest.mark.parametrize(
    ("packages", "code", "words"),
    [
        ([CLEAN], 0, ["1 of 1 packages audited, 0 known"]),
        ([CLEAN, FLAWED], 1, ["flawed 1.0: PYSEC-1; repaired in 1.1", "2 of 2 packages audited, 1 known"]),
        ([FLAWED, UNKNOWN], 1, ["PYSEC-1", "not audited: unknown", "1 of 2"]),
        ([UNKNOWN, UNKNOWN], 0, ["not audited: service unreachable", "0 of 2"]),
        (None, 0, ["not audited: service unreachable (no route to host)"]),
    ],
)
def test_the_audit_fails_on_a_finding_and_never_calls_unanswered_clean(
    packages: list[dict[str, Any]] | None, code: int, words: list[str]
) -> None:
    judge = runpy.run_path(str(ROOT / ".ci" / "audit"))["judge"]
    report = "" if packages is None else json.dumps({"dependencies": packages, "fixes": []})
    found, said = judge(report, "a warning\nno route to host\n")
    assert found == code
    assert all(each in said for each in words), said
