"""Small files in the publishers' own formats, with invented texts, and a file server on 127.0.0.1."""

from __future__ import annotations

import csv
import io
import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from active_critic.public_data import cards
from active_critic.public_data.cards import Card

Rows = list[dict[str, Any]]


def summeval() -> Rows:
    """Two articles, three systems; two systems give the same text for one article."""
    return [
        {
            "doc_id": f"dm-test-{document}",
            "system_id": system,
            "source": f"The {document} council met . It did n't agree .",
            "reference": f"No agreement in {document} .",
            "system_output": text,
            "scores": {
                "coherence": 4 + 1 / 3,
                "consistency": 5.0,
                "fluency": 5.0,
                "relevance": relevance,
                "overall": 0,
            },
        }
        for document in ("aa", "bb")
        for system, text, relevance in (
            ("M0", "the council met .", 3.0),
            ("M1", "the council met .", 2.6666666666666665),
            ("M17", f"no deal in {document} .", 4.0),
        )
    ]


def topical_chat() -> Rows:
    """Two contexts, two systems; the second context has no fact."""
    return [
        {
            "source": f"do you like {subject} ? \n not much , you ? \n\n",
            "system_id": system,
            "system_output": f"{reply} ",
            "context": context,
            "scores": {
                "understandability": 1.0,
                "naturalness": 3.0,
                "coherence": 2.3333333333,
                "engagingness": 1.0,
                "groundedness": 0.6666666667,
                "overall": 4.6666666667,
            },
        }
        for subject, context in (("jazz", "jazz is old .\n"), ("tea", "_nofact\n"))
        for system, reply in (("Original Ground Truth", "i do ."), ("Nucleus Decoding (p = 0.3)", "tea is i ."))
    ]


def data_to_text() -> Rows:
    """Two meanings; two rows of the first system and three of the second, one of them repeated with another score."""
    return [
        {
            "doc_id": number,
            "source": f"inform(name='{place}',food=pie)",
            "reference": f"{place} serves pie .",
            "system_output": text,
            "scores": {"informativeness": 4.5, "naturalness": 6.0, "overall": quality},
        }
        for number, (place, text, quality) in enumerate(
            [
                ("ann", "ann has pie .", 5.5),
                ("bob", "bob is pie .", 1.0),
                ("ann", "there is pie at ann .", 6.0),
                ("bob", "bob serves pie .", 4.0),
                ("bob", "bob serves pie .", 3.5),
            ]
        )
    ]


def bagel() -> Rows:
    """Two meanings, each with a sentence of two systems, and a row of another set."""
    return [
        {
            "dataset": dataset,
            "system": system,
            "mr": f"inform(name='X',{meaning})",
            "sys_ref": text,
            "TER": 0.25,
            "informativeness": 4.5,
            "naturalness": 6,
            "quality": quality,
        }
        for dataset, system, meaning, text, quality in (
            ("BAGEL", "Dusek", "food=pie", "x has pie.", 5.5),
            ("BAGEL", "Dusek", "food=tea", "x is tea.", 1),
            ("SFHOT", "LOLS", "food=tea", "x has no rooms.", 2),
            ("BAGEL", "LOLS", "food=pie", "there is pie at x.", 6),
            ("BAGEL", "LOLS", "food=tea", "x serves tea.", 4),
        )
    ]


def openmeva_roc() -> Rows:
    """Two beginnings, two systems, masked names."""
    return [
        {
            "doc_id": number,
            "prompt": f"[MALE] found a {thing} .",
            "reference": "[MALE] was glad .",
            "gen": {
                system: {"text": f"[MALE] and [FEMALE] {verb} it .", "score": {"human": score, "chatgpt": 3}}
                for system, verb, score in (("fusion", "ate", 1.4), ("gpt", "kept", 4))
            },
        }
        for number, thing in (("125", "coin"), ("7", "key"))
    ]


def qags() -> Rows:
    """Three articles, one with mis-decoded characters."""
    return [
        {
            "doc_id": number,
            "system_id": 0,
            "source": article,
            "reference": article,
            "system_output": "It was sold .",
            "scores": {"consistency": score},
        }
        for number, (article, score) in enumerate(
            [("It cost â£5 and was sold .", 1.0), ("It was kept .", 0.0), ("It was sold , or not .", 2 / 3)]
        )
    ]


def hanna() -> Rows:
    """Two prompts, a human and two systems, three raters each, rows in the order of the file."""
    rows = []
    for model, (system, ratings) in enumerate(
        [("Human", (5, 4, 5)), ("GPT-2 (tag)", (1, 2, 2)), ("TD-VAE", (3, 3, 1))]
    ):
        for prompt, subject in enumerate(("dragon", "clock")):
            told = f"A {subject}, they said, “spoke”.\nThen it left."
            for rater, rating in enumerate(ratings):
                aspects = dict.fromkeys(("Relevance", "Coherence", "Empathy", "Surprise", "Engagement"), rating)
                rows.append(
                    {
                        "Story ID": model * 2 + prompt,
                        "Prompt": f"Write about a {subject}.",
                        "Human": told,
                        "Story": told if system == "Human" else f"The {subject} by {system}, slowly.",
                        "Model": system,
                        **aspects,
                        "Complexity": 1,
                        "Worker ID": rater,
                        "Name": "",
                    }
                )
    return rows


def newsroom() -> Rows:
    """Two articles, two systems, three raters each; texts encoded for HTML, rows of an output apart."""
    return [
        {
            "ArticleID": article,
            "System": system,
            "ArticleText": f"Fish &amp; chips cost &pound;{article}.\n\nPeople paid.",
            "SystemSummary": f"{system} says &quot;chips&quot;.",
            "ArticleTitle": "Chips",
            "CoherenceRating": 3 + rater,
            "FluencyRating": 5,
            "InformativenessRating": 1,
            "RelevanceRating": 2,
        }
        for rater in range(3)
        for article in (11, 12)
        for system in ("lede3", "pointer_c")
    ]


ROWS = {
    "summeval": summeval,
    "newsroom": newsroom,
    "topical_chat": topical_chat,
    "sfres": data_to_text,
    "sfhot": data_to_text,
    "bagel": bagel,
    "openmeva_roc": openmeva_roc,
    "hanna": hanna,
    "qags_cnn": qags,
    "qags_xsum": qags,
}
_SIZES: dict[str, tuple[int, int, int | None]] = {
    "summeval": (6, 2, 3),
    "newsroom": (4, 2, 2),
    "topical_chat": (4, 2, 2),
    "sfres": (5, 2, 2),
    "sfhot": (5, 2, 2),
    "bagel": (4, 2, 2),
    "openmeva_roc": (4, 2, 2),
    "hanna": (6, 2, 3),
    "qags_cnn": (3, 3, None),
    "qags_xsum": (3, 3, None),
}
REAL = cards.find


def small_card(name: str, **update: Any) -> Card:
    """The real card of a set, with the sizes of the small file."""
    card = REAL(name)
    outputs, documents, systems = _SIZES[card.name]
    file = card.file.model_copy(update={"sha256": None})
    sizes = {"outputs": outputs, "documents": documents, "systems": systems, "file": file}
    runs = (("LOLS", 2), ("WEN", 3)) if card.runs else ()
    return card.model_copy(update={**sizes, "runs": runs, **update})


def served_card(name: str, address: str, **file: Any) -> Card:
    """A small card whose file is published at an address; ``file`` changes what the card says of it."""
    card = small_card(name)
    url = f"{address}/some/commit/{card.file.name}"
    return card.model_copy(update={"file": card.file.model_copy(update={"url": url, **file})})


def use_cards(monkeypatch: pytest.MonkeyPatch, *changed: Card) -> None:
    """Let the package find these cards; the others are the small ones."""
    known = {card.name: card for card in changed}

    def find(name: str) -> Card:
        real = REAL(name).name
        return known.get(real) or small_card(real)

    monkeypatch.setattr("active_critic.public_data.find", find)


def content(card: Card, rows: Sequence[dict[str, Any]] | None = None) -> bytes:
    """A file as the publisher of a set writes it; default: the small one."""
    rows = ROWS[card.name]() if rows is None else rows
    if card.file.name.endswith(".json"):
        return json.dumps(rows, indent=4, ensure_ascii=False).encode()
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode()


def write(card: Card, folder: Path, rows: Sequence[dict[str, Any]] | None = None) -> Path:
    """Put such a file into a folder, under the publisher's name."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / card.file.name
    path.write_bytes(content(card, rows))
    return path


class FileServer(ThreadingHTTPServer):
    """A loopback publisher whose behaviour a test sets."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.body = b""
        self.status = 200
        self.cut: int | None = None  # how many bytes to send before breaking the connection
        self.sized = True  # whether the length is announced
        self.seen: list[str] = []

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class _Handler(BaseHTTPRequestHandler):
    server: FileServer

    def do_GET(self) -> None:
        server = self.server
        server.seen.append(self.path)
        if server.status != 200:
            self.send_error(server.status)
            return
        self.send_response(200)
        if server.sized:
            self.send_header("Content-Length", str(len(server.body)))
        self.end_headers()
        self.wfile.write(server.body[: server.cut])
        self.close_connection = True

    def log_message(self, *args: object) -> None:
        pass


@contextmanager
def file_server() -> Iterator[FileServer]:
    """Run the publisher for the length of a ``with`` block."""
    server = FileServer()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
