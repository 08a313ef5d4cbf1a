from __future__ import annotations

import json
from pathlib import Path

import pytest
from published import content, file_server, served_card, small_card, use_cards, write

from active_critic.data import check_examples, read_examples
from active_critic.public_data import NAMES, describe


@pytest.fixture(autouse=True)
def _own_cache(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("ACTIVE_CRITIC_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def publisher(monkeypatch):
    """A publisher on loopback that has SFRES, in the small form."""
    with file_server() as server:
        card = served_card("sfres", server.address)
        server.body = content(card)
        use_cards(monkeypatch, card)
        yield server


def test_list_shows_every_set_and_what_is_here(run, publisher) -> None:
    assert run("datasets", "get", "sfres").code == 0
    shown = run("datasets", "list")
    assert shown.code == 0
    lines = {line.split()[0]: line for line in shown.out.splitlines() if line.strip()}
    assert set(NAMES) <= set(lines)
    assert lines["sfres"].rstrip().endswith("yes")
    assert lines["sfhot"].rstrip().endswith("no")
    assert "Not verified: the addresses or formats of summeval, newsroom, hanna" in shown.out
    assert "none stated" in lines["openmeva_roc"]
    records = run("datasets", "list", "--json").document
    assert [record["name"] for record in records] == list(NAMES)
    assert [record["name"] for record in records if record["cached"]] == ["sfres"]


@pytest.mark.parametrize("name", NAMES)
def test_describe_shows_the_whole_card(run, name) -> None:
    card = describe(name)
    shown = run("datasets", "describe", name)
    assert shown.code == 0
    flat = " ".join(shown.out.split())
    for said in (card.title, card.licence, card.licence_note, card.overall, *card.quirks, *card.aspects):
        assert " ".join(said.split()) in flat
    for paper in card.citations:
        assert f"{paper.venue} {paper.year}" in flat
    assert card.file.url.replace("/", "") in shown.out.replace("/", "").replace("\n", "").replace(" ", "")
    assert ("verified no:" in flat) == (not card.verified)
    document = run("datasets", "describe", name, "--json").document
    assert document["citations"][0]["authors"] == card.citations[0].authors
    assert document["cached"] is False


def test_get_writes_what_fit_and_agreement_read(run, publisher) -> None:
    done = run("datasets", "get", "sfres")
    assert done.code == 0, done.err
    assert done.out == "sfres.jsonl\n"
    assert "no checksum of sfres.json was known" in done.err
    assert "5 outputs of 2 documents, MIT" in done.err
    assert "active-critic fit sfres.jsonl --fields score=overall,group=doc_id" in done.err
    examples = read_examples("sfres.jsonl", fields={"score": "overall", "group": "doc_id"})
    assert [example.score for example in examples] == [5.5, 1.0, 6.0, 4.0, 3.5]
    assert str(examples.scale) == "1..6"
    assert check_examples(examples), "a fit takes them, with a word about the output that was rated twice"
    rows = [json.loads(line) for line in Path("sfres.jsonl").read_text().splitlines()]
    Path("scored.jsonl").write_text("".join(json.dumps({**r, "length": len(r["response"])}) + "\n" for r in rows))
    agreed = run("agreement", "scored.jsonl", "--human", "overall", "--predicted", "length", "--json")
    assert agreed.code == 0, agreed.err


def test_the_second_get_asks_nobody(run, publisher) -> None:
    assert run("datasets", "get", "sfres", "-q").err == ""
    again = run("datasets", "get", "sfres", "--out", "again.csv", "-q")
    assert (again.code, again.out, again.err) == (0, "again.csv\n", "")
    assert len(publisher.seen) == 1
    assert len(read_examples("again.csv", fields={"score": "overall", "group": "doc_id"})) == 5


def test_a_file_that_is_there_is_only_written_over_by_force(run, publisher) -> None:
    Path("sfres.jsonl").write_text("mine")
    done = run("datasets", "get", "sfres")
    assert done.code == 5
    assert "sfres.jsonl is there already; name another file with --out, or write over it with --force" in done.err
    assert Path("sfres.jsonl").read_text() == "mine"
    assert publisher.seen == [], "nothing is fetched in vain"
    assert run("datasets", "get", "sfres", "--force").code == 0
    assert len(read_examples("sfres.jsonl", fields={"score": "overall"})) == 5


def test_a_download_that_fails_says_how_to_go_on_and_writes_nothing(run, publisher) -> None:
    publisher.status = 404
    done = run("datasets", "get", "sfres")
    assert done.code == 4
    assert f"sfres.json from {publisher.address}/some/commit/sfres.json: it answered 404" in done.err
    assert "active-critic datasets get sfres --from sfres.json" in done.err
    assert not list(Path().glob("sfres*"))


def test_the_users_own_file_is_read_without_asking_anyone(run, publisher, tmp_path) -> None:
    write(small_card("sfhot"), tmp_path / "mine" / "data2text")
    done = run("datasets", "get", "sfhot", "--from", tmp_path / "mine", "--out", "x.jsonl")
    assert (done.code, done.out) == (0, "x.jsonl\n")
    assert publisher.seen == []


def test_a_damaged_file_is_named_and_nothing_is_written(run, publisher, tmp_path) -> None:
    rows = json.loads(content(small_card("sfres")))
    rows[3]["scores"]["overall"] = 60
    path = write(small_card("sfres"), tmp_path / "mine", rows)
    done = run("datasets", "get", "sfres", "--from", path)
    assert done.code == 3
    assert f"{path}, row 4, column 'scores.overall': the score 60 lies outside 1..6" in done.err
    assert "as it is published at" in done.err
    assert not list(Path().glob("sfres*"))


def test_what_could_not_be_verified_is_said_plainly(run, monkeypatch, tmp_path) -> None:
    use_cards(monkeypatch)
    done = run("datasets", "get", "hanna", "--from", write(small_card("hanna"), tmp_path / "mine"))
    assert done.code == 0
    assert "note: the card of HANNA is not verified: the file was too large for the public index" in done.err


@pytest.mark.parametrize("verb", ["get", "describe"])
def test_an_unknown_name_lists_the_known_ones(run, verb) -> None:
    done = run("datasets", verb, "sumeval")
    assert done.code == 3
    assert all(name in done.err for name in NAMES)


def test_the_output_cannot_be_the_input_or_an_unknown_format(run, publisher, tmp_path) -> None:
    path = write(small_card("sfres"), tmp_path)
    before = path.read_bytes()
    assert run("datasets", "get", "sfres", "--from", path, "--out", path, "--force").code == 2
    assert run("datasets", "get", "sfres", "--from", tmp_path, "--out", path, "--force").code == 2
    assert path.read_bytes() == before
    Path("folder.jsonl").mkdir()
    assert run("datasets", "get", "sfres", "--out", "folder.jsonl", "--force").code == 5
    assert run("datasets", "get", "sfres", "--out", "x.txt").code == 2
    assert publisher.seen == []


def test_the_folder_of_a_user_that_there_is_not_is_a_name_like_any_other(run, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    shown = run("datasets", "describe", "sfres", "--cache", "~no-such-user/c")
    assert (shown.code, "Traceback" in shown.err) == (0, False)
    told = run("datasets", "get", "sfres", "--from", "~no-such-user/f.json")
    assert told.code == 3
    assert "there is no such file" in told.err
    monkeypatch.setenv("ACTIVE_CRITIC_CACHE", "~no-such-user/c")
    assert run("datasets", "list").code == 0
