"""Paths as users write them, and files that appear there whole."""

from __future__ import annotations

import os
import re
import secrets
import shutil
from errno import EINVAL, EISDIR, ENOTDIR
from pathlib import Path

_AROUND = "\"'`<> \t\r\n"


def at_home(path: str | Path) -> Path:
    """A path with the user's folder in place of ``~``, which no shell has seen to in a variable or in Python."""
    return Path(os.path.expanduser(path))  # noqa: PTH111  "~nobody" is a name like any other


def as_pasted(path: Path) -> Path | None:
    """The path of something that is there, in one with what file managers and chats put around it; else None."""
    bare = Path(re.sub(r"^file:/*(?=/)", "", str(path).strip(_AROUND)).strip(_AROUND))
    return bare if bare != path and bare.exists() else None


def default_journal() -> Path | None:
    """Where the journal is kept unless told otherwise: ``ACTIVE_CRITIC_JOURNAL``, or the user's data folder.

    None where that variable says ``none``: then nothing is kept.
    """
    named = os.environ.get("ACTIVE_CRITIC_JOURNAL", "").strip()
    if named.lower() == "none":
        return None
    if named:
        return at_home(named)
    import platformdirs

    return platformdirs.user_data_path("active-critic") / "journal.sqlite"


def behind_links(path: str | Path) -> Path:
    """Where a path leads. Links that go round in a circle lead nowhere, and are no error as in ``Path.resolve``."""
    return Path(os.path.realpath(path))


def end_of(path: str | Path) -> Path:
    """Where a file is written whose name this is: behind links, which stay.

    Raises:
        OSError: Something is there that is no file, such as ``/dev/null``: what takes its place would be the end of it.
    """
    end = behind_links(path)
    if end.is_dir():
        raise IsADirectoryError(EISDIR, "it is a folder; name a file")
    if end.exists() and not end.is_file():
        raise OSError(EINVAL, "it is a device, a pipe or the like; name a file")
    return end


def make_folder(path: str | Path) -> None:
    """Make the folder in which a file is to be, and those that this one is in, where they are missing.

    Raises:
        OSError: It cannot be made; NotADirectoryError where a file stands in the way, which it names.
    """
    folder = behind_links(path).parent
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        file = next((part for part in (folder, *folder.parents) if part.exists()), folder)
        raise NotADirectoryError(ENOTDIR, f"{file} is no folder; name another, or remove the file") from None


def write_whole(path: str | Path, content: bytes) -> None:
    """Write a file, which appears whole or not at all and keeps the mode of the one that was there.

    Raises:
        OSError: It cannot be written.
    """
    end = end_of(path)
    part = end.with_name(f".{end.name}.{secrets.token_hex(4)}.part")
    try:
        with part.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if end.exists():
            shutil.copymode(end, part)
        part.replace(end)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
