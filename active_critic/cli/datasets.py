"""``active-critic datasets``: public sets of human-scored texts."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from active_critic.cli import _common as common
from active_critic.cli import _options as opts
from active_critic.cli import _outputs as outputs
from active_critic.cli._verb import Verb
from active_critic.errors import OutputError

if TYPE_CHECKING:
    from active_critic.public_data import Card, Loaded

app = typer.Typer(name="datasets", help="Public sets of human-scored texts.", no_args_is_help=True)

Cache = Annotated[
    Path | None,
    typer.Option("--cache", metavar="DIR", help="Where fetched files are kept. Default: the user's cache folder."),
]


@app.command("list", cls=Verb)
def list_sets(
    cache: Cache = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Show the sets known by name, and which of them are here."""
    from active_critic.public_data import is_cached, list_datasets

    cards = list_datasets()
    if as_json:
        import json

        found = [_as_json(card, cache) for card in cards]
        typer.echo(json.dumps(found, indent=2))
        return

    from active_critic.report import plain
    from active_critic.report.tables import table_of

    numbers = ("outputs", "documents")
    table = table_of("name", "task", *numbers, "scale", "licence", "cached", right=numbers)
    for card in cards:
        table.add_row(
            plain(card.name),
            plain(card.task),
            f"{card.outputs:,}",
            "?" if card.documents is None else f"{card.documents:,}",
            _scale(card.scale),
            plain(card.licence.partition(" (")[0]),
            "yes" if is_cached(card, cache) else "no",
        )
    out = common.console(stderr=False)
    out.print(table)
    unverified = [card.name for card in cards if not card.verified]
    if unverified:
        out.print(
            f"\nNot verified: the addresses or formats of {plain(', '.join(unverified))} could not be checked when "
            "their cards were written; `datasets describe NAME` says what.",
            soft_wrap=True,
        )
    out.print(
        "\nLicences are what the publishers state; they may not cover the texts inside. "
        "Fetch a set with: active-critic datasets get NAME",
        soft_wrap=True,
    )


@app.command(cls=Verb)
def describe(
    name: Annotated[str, typer.Argument(help="A name from `datasets list`.")],
    cache: Cache = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")] = False,
) -> None:
    """Show the card of a set: whom to cite, licence, size, scales, what the overall score is, known quirks."""
    from active_critic.public_data import describe as card_of

    card = card_of(name)
    if as_json:
        import json

        typer.echo(json.dumps(_as_json(card, cache), indent=2))
        return

    from active_critic.report import plain
    from active_critic.report.tables import table_of

    table = table_of("", "", header=False)
    for label, text in _account(card, cache):
        table.add_row(label, plain(text, lines=True))
    out = common.console(stderr=False)
    head = plain(f"{card.name}: {card.title}\n{card.about}\n", lines=True)
    out.print(head, soft_wrap=not out.is_terminal)
    out.print(table)


@app.command(cls=Verb)
def get(
    name: Annotated[str, typer.Argument(help="A name from `datasets list`.")],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="FILE",
            help="Where the records go; default: NAME.jsonl in this folder.",
            callback=outputs.table_path,
        ),
    ] = None,
    source: Annotated[
        Path | None,
        typer.Option(
            "--from",
            metavar="PATH",
            help="The publisher's file, or a folder with it; nothing is fetched.",
            callback=outputs.at_home,
        ),
    ] = None,
    cache: Cache = None,
    force: Annotated[bool, typer.Option("--force", help="Write over a file that is there.")] = False,
    quiet: opts.Quiet = False,
) -> None:
    """Fetch a set from its publisher, once, and write it as records that `fit` and `agreement` read."""
    import shlex

    from active_critic.data import RecordWriter
    from active_critic.public_data import describe as card_of

    card = card_of(name)
    target = out or Path(f"{card.name}.jsonl")
    outputs.refuse_same(target, source)
    writer = RecordWriter(target, guarded=())  # an apostrophe would make a text another one for other readers
    if target.exists() and not force:
        raise OutputError(f"{target} is there already; name another file with --out, or write over it with --force")
    loaded = _load(card, source, cache, quiet=quiet)
    outputs.refuse_same(target, loaded.path)
    common.show_notes(loaded.notes, quiet=quiet)
    with writer:
        for record in loaded.records:
            writer.write(record)
    documents = len({record["doc_id"] for record in loaded.records})
    command = f"active-critic fit {shlex.quote(str(target))} --fields score=overall,group=doc_id"
    common.say(
        f"{card.title}: {len(loaded.records):,} outputs of {documents:,} documents, {card.licence}. "
        f"{card.licence_note}",
        quiet=quiet,
    )
    common.say(f"Fit on it with: {command} --out {card.name}.json", wrap=False, quiet=quiet)
    typer.echo(str(target))


def _load(card: Card, source: Path | None, cache: Path | None, *, quiet: bool) -> Loaded:
    """Read a set, with a progress bar on standard error while it is fetched, where that is a terminal."""
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn

    from active_critic.public_data import load

    console = common.console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn())
    with Progress(*columns, console=console, disable=quiet or not console.is_terminal, transient=True) as bar:
        task = bar.add_task(card.file.name, total=None, visible=False)

        def show(done: int, total: int | None) -> None:
            bar.update(task, completed=done, total=total, visible=True)

        return load(card.name, source=source, cache=cache, progress=show)


def _scale(ends: tuple[float, float]) -> str:
    return f"{ends[0]:g}..{ends[1]:g}"


def _as_json(card: Card, cache: Path | None) -> dict[str, Any]:
    from active_critic.public_data import is_cached
    from active_critic.public_data.download import cached_path

    state = {"cached": is_cached(card, cache), "path": str(cached_path(card, cache))}
    return {**card.model_dump(mode="json"), **state}


def _account(card: Card, cache: Path | None) -> list[tuple[str, str]]:
    """What the card says, label by label."""
    from active_critic.public_data import is_cached
    from active_critic.public_data.download import cached_path

    size = f"{card.outputs:,} outputs"
    size += f" of {card.documents:,} documents" if card.documents is not None else ", documents not counted"
    size += f" by {card.systems} systems" if card.systems is not None else ", systems not named"
    rows = [("task", card.task), ("size", size)]
    for paper in card.citations:
        covers = f" ({paper.covers})" if paper.covers else ""
        rows.append(("cite", f"{paper.authors}. {paper.title}. {paper.venue} {paper.year}{covers}"))
    rows.append(("licence", f"{card.licence}. {card.licence_note}"))
    rows.append(("overall", f"{_scale(card.scale)}: {card.overall}"))
    rows.append(("aspects", ", ".join(f"{aspect} {_scale(ends)}" for aspect, ends in card.aspects.items())))
    rows += [("note", quirk) for quirk in card.quirks]
    rows.append(("file", card.file.url))
    rows.append(("columns", ", ".join(card.file.columns)))
    checksum = "none known; that of the first download is recorded and checked from then on"
    if card.file.sha256 is not None:
        checksum = f"{card.file.sha256}, from {card.file.checksum_from}"
    rows.append(("sha256", checksum))
    rows.append(("verified", "yes, against a stored copy of the file" if card.verified else f"no: {card.unverified}"))
    here = cached_path(card, cache)
    rows.append(("cached", str(here) if is_cached(card, cache) else f"no; active-critic datasets get {card.name}"))
    return rows
