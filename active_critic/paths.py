"""Paths as users write them."""

from __future__ import annotations

import os
from pathlib import Path


def at_home(path: str | Path) -> Path:
    """A path with the user's folder in place of ``~``, which no shell has seen to in a variable or in Python."""
    return Path(os.path.expanduser(path))  # noqa: PTH111  "~nobody" is a name like any other
