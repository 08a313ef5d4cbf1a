"""Where a program comes from: what its provenance says, and what it may not decide."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from active_critic.data.cells import plain_value
from active_critic.errors import UnknownModel
from active_critic.lm.model_names import found_by_name, names_a_place
from active_critic.protocols import Provenance
from active_critic.records import Record

NO_MODEL = "none"
"""What stands for the model in a program that needs none."""
BEFORE = "now and before"
"""In a fit's report, what it took together with earlier runs of it, or of others with the same questions."""


def check_address(made: Provenance, api_base: str | None = None) -> None:
    """Refuse to send texts where a program says, or to open a file because a program names it.

    That is a provider whose name stood for an address of the user's own, or an address or a file in place of a name. To
    be called before the model is opened that the program names: that name alone may be no model's.

    Args:
        made: Where the program comes from.
        api_base: The address that is given now, if one is.

    Raises:
        UnknownModel: The program was fitted at an address of the user's own, and none is given for this model; or its
            model is named by an address or a file.
    """
    if made.own_address and not api_base and not found_by_name(made.model):
        raise UnknownModel(
            f"the program was fitted with {made.model} at an address of your own, which programs do not keep. Say it "
            "again: --api-base URL, in Python load(path, open_lm(name, api_base=URL)); or name a model with --lm"
        )
    if names_a_place(made.model, api_base):
        raise UnknownModel(
            f"the program names {made.model!r} as its model, which is an address or a file: a program does not decide "
            "where texts go or what is opened. Name a model with --lm, in Python load(path, lm)"
        )


def as_json(value: Any) -> Any:
    """A parameter as plain JSON values."""
    if isinstance(value, Record):
        return value.model_dump(mode="json")
    if isinstance(value, Mapping):
        return {str(name): as_json(part) for name, part in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [as_json(part) for part in value]
    return plain_value(value)


def versions() -> dict[str, str]:
    """Versions of what a result depends on: packages, and the zlib whose output is measured in surface readings."""
    from zlib import ZLIB_RUNTIME_VERSION

    return {**_installed(), "zlib": ZLIB_RUNTIME_VERSION}


@cache
def _installed() -> dict[str, str]:
    """The packages' versions, each of which takes milliseconds to look up."""
    from importlib.metadata import PackageNotFoundError, version

    found = {}
    for name in ("active-critic", "dspy", "litellm", "numpy", "scipy", "xllamacpp"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found
