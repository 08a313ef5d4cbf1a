from __future__ import annotations

import hashlib
import socket
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest
from published import content, file_server, served_card, small_card, write

from active_critic.errors import DataError, DownloadFailed
from active_critic.public_data import download
from active_critic.public_data.cards import Card
from active_critic.public_data.download import cached_path, ensure, is_cached, local_file
from active_critic.public_data.parsers import parse


@pytest.fixture
def publisher():
    with file_server() as server:
        server.body = content(small_card("sfres"))
        yield server


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


def obtained(card: Card, cache: Path | None, **more) -> tuple[Path, tuple[str, ...]]:
    return ensure(card, cache, check=lambda path: parse(card, path), **more)


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def left_behind(cache: Path) -> list[str]:
    return sorted(path.name for path in cache.rglob("*") if path.is_file())


def test_a_file_is_fetched_once_and_its_checksum_recorded(publisher, cache) -> None:
    card = served_card("sfres", publisher.address)
    steps: list[tuple[int, int | None]] = []
    assert not is_cached(card, cache)
    path, notes = obtained(card, cache, progress=lambda done, total: steps.append((done, total)))
    assert path == cached_path(card, cache) == cache / "sfres" / "sfres.json"
    assert path.read_bytes() == publisher.body
    assert "no checksum of sfres.json was known" in notes[0]
    assert sha256(publisher.body) in notes[0]
    assert steps[-1] == (len(publisher.body), len(publisher.body))
    assert obtained(card, cache) == (path, ())
    assert publisher.seen == ["/some/commit/sfres.json"]
    assert left_behind(cache) == ["sfres.json", "sfres.json.sha256"]
    assert is_cached(card, cache)


def test_the_recorded_checksum_has_the_form_that_sha256sum_reads(publisher, cache) -> None:
    obtained(served_card("sfres", publisher.address), cache)
    noted = (cache / "sfres" / "sfres.json.sha256").read_text()
    assert noted == f"{sha256(publisher.body)}  sfres.json\n"


def test_a_known_checksum_is_checked_without_a_word(publisher, cache) -> None:
    card = served_card("sfres", publisher.address, sha256=sha256(publisher.body))
    assert obtained(card, cache)[1] == ()


def test_the_cache_is_where_the_environment_says(publisher, tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("ACTIVE_CRITIC_CACHE", str(tmp_path / "mine"))
    path, _ = obtained(served_card("sfres", publisher.address), None)
    assert path == tmp_path / "mine" / "datasets" / "sfres" / "sfres.json"


def test_a_length_that_is_not_announced_is_no_trouble(publisher, cache) -> None:
    publisher.sized = False
    steps: list[int | None] = []
    path, _ = obtained(served_card("sfres", publisher.address), cache, progress=lambda _, total: steps.append(total))
    assert path.read_bytes() == publisher.body
    assert set(steps) == {None}


def refused(card: Card, cache: Path, reason: str) -> None:
    """The download fails with this reason, says what to do instead, and leaves nothing."""
    with pytest.raises(DownloadFailed) as caught:
        obtained(card, cache)
    message = str(caught.value)
    assert reason in message
    assert f"SFRES could not be fetched: sfres.json from {card.file.url}: " in message
    assert "active-critic datasets get sfres --from sfres.json" in message
    assert card.publisher in message
    assert left_behind(cache) == []
    assert not list(cache.rglob("unfinished-*"))


@pytest.mark.parametrize("status", [404, 403, 500])
def test_a_refusal_is_named(publisher, cache, status) -> None:
    publisher.status = status
    refused(served_card("sfres", publisher.address), cache, f"it answered {status}")


def test_nobody_there_is_named(cache) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{unused.getsockname()[1]}"
        refused(served_card("sfres", address), cache, "connect error")


def test_a_connection_that_breaks_half_way_leaves_nothing_and_the_next_call_starts_over(publisher, cache) -> None:
    card = served_card("sfres", publisher.address)
    publisher.cut = len(publisher.body) // 2
    refused(card, cache, "remote protocol error")
    publisher.cut = None
    assert obtained(card, cache)[0].read_bytes() == publisher.body


def test_half_a_file_that_looks_whole_is_not_kept(publisher, cache) -> None:
    publisher.sized, publisher.cut = False, len(publisher.body) // 2
    refused(served_card("sfres", publisher.address), cache, "what came is not this set and was removed: sfres.json")


def test_a_page_instead_of_the_file_is_not_kept(publisher, cache) -> None:
    publisher.body = b"<html>Sign in</html>"
    refused(served_card("sfres", publisher.address), cache, "broken JSON")


def test_a_wrong_checksum_is_named_and_nothing_kept(publisher, cache) -> None:
    card = served_card("sfres", publisher.address, sha256="0" * 64)
    refused(card, cache, f"wrong checksum and was removed: sha256 {sha256(publisher.body)}, expected {'0' * 64}")


def test_more_than_any_such_file_has_is_not_taken(publisher, cache, monkeypatch) -> None:
    monkeypatch.setattr(download, "LIMIT", 100)
    refused(served_card("sfres", publisher.address), cache, "it sent more than")


@pytest.mark.parametrize("address", ["ftp://127.0.0.1", "http://[oops"])
def test_an_unusable_address_is_a_clear_error(address, cache) -> None:
    refused(served_card("sfres", address), cache, f"{address}/some/commit/sfres.json: ")


def test_an_interruption_leaves_nothing(publisher, cache) -> None:
    def interrupt(done: int, total: int | None) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        obtained(served_card("sfres", publisher.address), cache, progress=interrupt)
    assert left_behind(cache) == []


def test_a_cached_file_that_changed_is_refused_until_it_is_removed(publisher, cache) -> None:
    card = served_card("sfres", publisher.address)
    path, _ = obtained(card, cache)
    path.write_bytes(publisher.body.replace(b"pie", b"pea"))
    with pytest.raises(DataError, match=r"sfres\.json: the file changed since it came .* remove it and run"):
        obtained(card, cache)
    path.unlink()
    assert obtained(card, cache)[0].read_bytes() == publisher.body


def test_a_file_put_into_the_cache_by_hand_is_taken(publisher, cache) -> None:
    card = served_card("sfres", publisher.address)
    path = write(card, cache / "sfres")
    assert "put there by hand" in obtained(card, cache)[1][0]
    assert obtained(card, cache) == (path, ())
    assert publisher.seen == []


def test_a_wrong_file_put_into_the_cache_by_hand_is_refused(publisher, cache) -> None:
    card = served_card("sfres", publisher.address, sha256="0" * 64)
    write(card, cache / "sfres")
    with pytest.raises(DataError, match=f"expected {'0' * 64}"):
        obtained(card, cache)


def test_several_at_once_leave_one_whole_file(publisher, cache) -> None:
    card = served_card("sfres", publisher.address)
    with ThreadPoolExecutor(6) as pool:
        paths = {path for path, _ in pool.map(lambda _: obtained(card, cache), range(6))}
    assert paths == {cached_path(card, cache)}
    assert left_behind(cache) == ["sfres.json", "sfres.json.sha256"]
    assert obtained(card, cache)[1] == ()


def test_a_link_into_the_cache_is_read_and_one_that_leads_nowhere_is_replaced(publisher, cache, tmp_path) -> None:
    card = served_card("sfres", publisher.address)
    path = cached_path(card, cache)
    path.parent.mkdir(parents=True)
    path.symlink_to(tmp_path / "gone.json")
    assert obtained(card, cache)[0].read_bytes() == publisher.body
    assert not path.is_symlink()
    assert not (tmp_path / "gone.json").exists()
    (tmp_path / "kept.json").write_bytes(publisher.body)
    path.unlink()
    path.symlink_to(tmp_path / "kept.json")
    assert obtained(card, cache) == (path, ())
    assert len(publisher.seen) == 1


def test_a_recorded_checksum_that_is_none_is_refused(publisher, cache) -> None:
    card = served_card("sfres", publisher.address)
    path, _ = obtained(card, cache)
    path.with_name("sfres.json.sha256").write_text("")
    with pytest.raises(DataError, match=r"recorded in sfres.json.sha256 beside it, cannot be read; remove both"):
        obtained(card, cache)


@pytest.mark.parametrize(
    ("hops", "safe"),
    [
        (["https://a/x"], True),
        (["http://a/x"], True),
        (["https://a/x", "https://b/x"], True),
        (["https://a/x", "http://b/x"], False),
        (["https://a/x", "http://b/x", "https://c/x"], False),
    ],
)
def test_a_file_that_was_asked_for_with_encryption_is_not_taken_without(hops, safe) -> None:
    *before, last = [httpx.Response(200, request=httpx.Request("GET", address)) for address in hops]
    last.history = before
    if safe:
        download._keep_secure(last)
    else:
        with pytest.raises(DownloadFailed, match="without encryption"):
            download._keep_secure(last)


def test_a_cache_that_cannot_be_written_is_named(publisher, tmp_path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(DownloadFailed, match=r"cannot be kept in .*--cache DIR .*ACTIVE_CRITIC_CACHE"):
        obtained(served_card("sfres", publisher.address), tmp_path / "file")
    assert publisher.seen == []


# ---- files that the user has


def test_a_file_of_the_users_is_taken_under_any_name(tmp_path) -> None:
    card = small_card("sfres")
    path = write(card, tmp_path).rename(tmp_path / "sfres (1).json")
    assert local_file(card, path) == (path, ())


@pytest.mark.parametrize("place", ["", "data2text", "reproduce/data/data2text"])
def test_a_folder_is_searched_where_the_publisher_has_the_file(place, tmp_path) -> None:
    card = small_card("sfres")
    path = write(card, tmp_path / place)
    assert local_file(card, tmp_path) == (path, ())


def test_a_folder_without_the_file_is_named(tmp_path) -> None:
    write(small_card("sfhot"), tmp_path)
    with pytest.raises(DataError, match=r"there is no sfres\.json in this folder; it is published at https://"):
        local_file(small_card("sfres"), tmp_path)


def test_no_such_file_says_where_it_is_published(tmp_path) -> None:
    with pytest.raises(DataError, match=r"there is no such file; sfres\.json is published at https://"):
        local_file(small_card("sfres"), tmp_path / "none.json")


def test_a_file_with_another_checksum_is_taken_and_that_is_said(tmp_path) -> None:
    card = small_card("sfres")
    card = card.model_copy(update={"file": card.file.model_copy(update={"sha256": "0" * 64})})
    path, notes = local_file(card, write(card, tmp_path))
    assert path.is_file()
    assert "not byte for byte the file of the card" in notes[0]
