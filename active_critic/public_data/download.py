"""The publishers' files on this machine: fetched once, checked, kept in the user's cache.

Every set has a folder in the cache. Beside the publisher's file lies ``FILE.sha256``, in the form that ``sha256sum -c``
reads: the checksum that the card states or, where no checksum is known, that of the first download.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from active_critic.errors import DataError, DownloadFailed
from active_critic.lm import fetch
from active_critic.lm.weights import CACHE_VARIABLE, cache_root
from active_critic.paths import at_home
from active_critic.public_data.cards import Card

if TYPE_CHECKING:
    import httpx

_CHECKSUM = re.compile("[0-9a-f]{64}")
LIMIT = 1 << 28
"""Bytes that no published file exceeds; a server that sends more is not answering with the file."""

Progress = Callable[[int, int | None], None]
"""Called with the bytes present so far and the total, None where the server does not say."""


def cached_path(card: Card, cache: str | Path | None = None) -> Path:
    """Where the publisher's file of a set is, or would be.

    Args:
        card: The set.
        cache: Cache folder; default: ``datasets`` in :func:`active_critic.lm.weights.cache_root`.
    """
    return (at_home(cache) if cache is not None else cache_root() / "datasets") / card.name / card.file.name


def is_cached(card: Card, cache: str | Path | None = None) -> bool:
    """Whether the publisher's file is in the cache."""
    return cached_path(card, cache).is_file()


def ensure(
    card: Card,
    cache: str | Path | None = None,
    *,
    check: Callable[[Path], object],
    progress: Progress | None = None,
) -> tuple[Path, tuple[str, ...]]:
    """The publisher's file from the cache; it is fetched when it is not there yet.

    Args:
        card: The set.
        cache: Cache folder, as for :func:`cached_path`.
        check: Reads a file and raises ``DataError`` when it is not the set. What fails is not kept.
        progress: Told while a file comes.

    Returns:
        The file, and what the user should know about it.

    Raises:
        DownloadFailed: It could not be fetched or stored, or is not what the card describes. The message names file
            and address, and the command that takes a file got by other means.
        DataError: The file in the cache is not the one that was put there.
    """
    path = cached_path(card, cache)
    try:
        if not path.is_file():
            return path, _fetch(card, path, check, progress)
        return path, _verify(card, path)
    except OSError as failure:
        raise DownloadFailed(
            f"{card.title} cannot be kept in {path.parent} ({failure.strerror or failure}); name a folder that can be "
            f"written with --cache DIR or in the environment variable {CACHE_VARIABLE}"
        ) from None


def local_file(card: Card, given: str | Path) -> tuple[Path, tuple[str, ...]]:
    """The publisher's file where the user has it.

    Args:
        card: The set.
        given: The file, or a folder that holds it: by itself, or at the place it has in the publisher's repository.

    Returns:
        The file, and what the user should know about it.

    Raises:
        DataError: There is no such file.
    """
    path = at_home(given)
    if path.is_dir():
        name = card.file.name
        inside = [folder / name for folder in (path, *(path / part for part in _folders(card.file.url)))]
        found = next((candidate for candidate in inside if candidate.is_file()), None)
        if found is None:
            raise DataError(f"there is no {name} in this folder; it is published at {card.file.url}", path=str(path))
        path = found
    if not path.is_file():
        raise DataError(f"there is no such file; {card.file.name} is published at {card.file.url}", path=str(path))
    try:
        differs = card.file.sha256 is not None and fetch.sha256_of(path) != card.file.sha256
    except OSError as failure:
        raise DataError(f"cannot be read: {failure.strerror or failure}", path=str(path)) from None
    return path, ((f"{path} is not byte for byte the file of the card (sha256 {card.file.sha256})",) if differs else ())


def _folders(url: str) -> list[str]:
    """Every tail of the folders in an address, longest first: ``a/b``, ``b``."""
    parts = url.partition("://")[2].split("/")[1:-1]
    return ["/".join(parts[start:]) for start in range(len(parts))]


def _note_of(path: Path) -> Path:
    return path.with_name(f"{path.name}.sha256")


def _record(checksum: str, path: Path, folder: Path) -> None:
    """Put a checksum beside a file, as a whole or not at all; ``folder`` is on the same disk."""
    (folder / "note").write_text(f"{checksum}  {path.name}\n", encoding="utf-8")
    (folder / "note").replace(_note_of(path))


def _fetch(card: Card, path: Path, check: Callable[[Path], object], progress: Progress | None) -> tuple[str, ...]:
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="unfinished-", dir=path.parent) as folder:
        part = Path(folder) / path.name
        try:
            _download(card.file.url, part, progress)
            found = fetch.sha256_of(part)
            if card.file.sha256 is not None and found != card.file.sha256:
                raise DownloadFailed(
                    f"the file has the wrong checksum and was removed: sha256 {found}, expected {card.file.sha256}"
                )
            try:
                check(part)
            except DataError as problem:
                said = str(problem).replace(str(part), path.name)
                raise DownloadFailed(f"what came is not this set and was removed: {said}") from None
        except DownloadFailed as failure:
            raise DownloadFailed(
                f"{card.title} could not be fetched: {card.file.name} from {card.file.url}: {failure}\n"
                f"If you can get that file in another way (see {card.publisher}), read it with: "
                f"active-critic datasets get {card.name} --from {card.file.name}"
            ) from None
        # The checksum first: a file that is there has one.
        _record(found, path, Path(folder))
        part.replace(path)
    if card.file.sha256 is not None:
        return ()
    recorded = "that of this download is recorded beside it and checked from now on"
    return (f"no checksum of {path.name} was known; {recorded} (sha256 {found})",)


def _verify(card: Card, path: Path) -> tuple[str, ...]:
    """Compare a cached file with the checksum that is known for it; one put there by hand gets its own."""
    found = fetch.sha256_of(path)
    note = _note_of(path)
    expected = card.file.sha256
    if expected is None and note.is_file():
        expected = note.read_text(encoding="utf-8", errors="replace").partition(" ")[0].strip()
        if not _CHECKSUM.fullmatch(expected):
            raise DataError(
                f"its checksum, recorded in {note.name} beside it, cannot be read; remove both files and run "
                f"active-critic datasets get {card.name} again",
                path=str(path),
            )
    if expected is None:
        with tempfile.TemporaryDirectory(prefix="unfinished-", dir=path.parent) as folder:
            _record(found, path, Path(folder))
        return (f"{path} was put there by hand; its checksum is recorded and checked from now on (sha256 {found})",)
    if found != expected:
        raise DataError(
            f"the file changed since it came (sha256 {found}, expected {expected}); remove it and run "
            f"active-critic datasets get {card.name} again",
            path=str(path),
        )
    return ()


def _download(address: str, part: Path, progress: Progress | None) -> None:
    """One request for a whole file.

    Raises:
        DownloadFailed: With the reason only.
        OSError: The bytes cannot be written.
    """
    import httpx

    headers = {"Accept-Encoding": "identity", "User-Agent": "active-critic"}
    timeout = httpx.Timeout(fetch.READ_TIMEOUT, connect=fetch.CONNECT_TIMEOUT)
    try:
        fetch.require_name_resolution(address)
        with (
            httpx.Client(timeout=timeout, follow_redirects=True, headers=headers) as client,
            client.stream("GET", address) as response,
        ):
            if response.status_code != 200:
                raise DownloadFailed(f"it answered {response.status_code}")
            _keep_secure(response)
            _write(response, part, progress)
    except httpx.RequestError as failure:
        raise DownloadFailed(fetch.reason_of(failure)) from None
    except (httpx.InvalidURL, ValueError) as failure:
        raise DownloadFailed(f"not a usable address ({type(failure).__name__})") from None
    except ImportError as failure:
        raise DownloadFailed(f"the proxy set in the environment cannot be used: {failure}") from None


def _keep_secure(response: httpx.Response) -> None:
    """Where no checksum is known, encryption is all that says who sent the file."""
    schemes = [hop.url.scheme for hop in (*response.history, response)]
    if schemes[0] == "https" and set(schemes) != {"https"}:
        raise DownloadFailed(f"it sent the request on to {response.url.host} without encryption")


def _write(response: httpx.Response, part: Path, progress: Progress | None) -> None:
    length = response.headers.get("Content-Length", "")
    total, have = int(length) if length.isdecimal() else None, 0
    with part.open("wb") as file:
        for chunk in response.iter_bytes(fetch.CHUNK):
            have += len(chunk)
            if have > LIMIT:
                raise DownloadFailed(f"it sent more than {LIMIT >> 20} MiB, which no file of these sets has")
            file.write(chunk)
            if progress is not None:
                progress(have, total)
