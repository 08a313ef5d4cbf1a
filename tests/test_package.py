from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

import active_critic

HEAVY = ("dspy", "numpy", "scipy", "pydantic", "pandas", "openai", "litellm", "xllamacpp", "typer", "rich", "orjson")


def python(code: str) -> str:
    run = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    return run.stdout.strip()


def test_the_public_names_are_those_that_can_be_resolved_sorted() -> None:
    assert sorted(active_critic.__all__) == sorted(active_critic._HOMES)
    assert set(active_critic.__all__) <= set(dir(active_critic))


@pytest.mark.parametrize("name", active_critic.__all__)
def test_every_public_name_is_what_it_says(name: str) -> None:
    found: Any = getattr(active_critic, name)
    assert found.__name__ == name
    assert found.__module__.startswith("active_critic.")
    assert found.__doc__


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'Critic'"):
        active_critic.Critic  # noqa: B018


def test_a_star_import_brings_the_public_names() -> None:
    assert python("from active_critic import *; print(fit.__name__, Example.__name__)") == "fit Example"


def test_importing_the_package_imports_nothing_heavy() -> None:
    code = f"import sys, active_critic; print([name for name in {HEAVY!r} if name in sys.modules])"
    assert python(code) == "[]"


def test_what_shows_and_scores_leaves_out_what_only_fits_and_statistics_need() -> None:
    """scipy.stats alone takes longer to import than the rest of a command takes to run."""
    heavy = [name for name in HEAVY if name in {"scipy", "pandas", "openai", "litellm", "xllamacpp"}]
    imported = "import sys, active_critic.evaluators, active_critic.report"
    assert python(f"{imported}; print([name for name in {heavy!r} if name in sys.modules])") == "[]"


def test_importing_everything_opens_no_connection() -> None:
    code = """
import sys
def hook(event, args):
    if event in {"socket.connect", "socket.getaddrinfo", "socket.sendto"}:
        raise SystemExit(f"{event}: {args}")
sys.addaudithook(hook)
import active_critic
for name in active_critic.__all__:
    getattr(active_critic, name)
import active_critic.cli, active_critic.report, active_critic.demo_search, active_critic.inference
print("quiet")
"""
    assert python(code) == "quiet"


def test_the_package_runs_as_a_module() -> None:
    command = [sys.executable, "-m", "active_critic", "--version"]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    assert run.stdout.strip() == f"active-critic {active_critic.__version__}"


def test_the_version_is_that_of_the_distribution() -> None:
    from importlib.metadata import version

    assert active_critic.__version__ == version("active-critic")
