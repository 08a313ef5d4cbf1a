"""Files that come with the package: the small data sets and the compiled programs."""

from __future__ import annotations

from pathlib import Path, PurePosixPath

from active_critic.errors import DataError


def shipped(name: str) -> Path:
    """The path of a file that ships with the project, for example ``"datasets/quickstart.jsonl"``.

    Args:
        name: Its path from the root of the source tree, with forward slashes.

    Raises:
        DataError: There is no such file in this installation.
    """
    package = Path(__file__).resolve().parent
    parts = PurePosixPath(name).parts
    if parts and ".." not in parts and not name.startswith("/"):
        # An installed wheel carries them inside the package, the source tree beside it.
        for root in (package / "_shipped", package.parent):
            path = root.joinpath(*parts)
            if path.is_file():
                return path
    raise DataError(
        f"{name} is not part of this installation; reinstall with pip install --force-reinstall active-critic"
    )
