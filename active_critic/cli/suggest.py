"""``active-critic suggest``: which outputs of a pool people should score next."""

from __future__ import annotations

import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from active_critic.cli import _common as common
from active_critic.cli import _opening as opening
from active_critic.cli import _options as opts
from active_critic.cli import _outputs as outputs

if TYPE_CHECKING:
    from active_critic.lm import LanguageModel
    from active_critic.suggesting import Suggestions

ADDED = ("predicted", "suggested_because")
"""Columns that a suggested row gains."""


def suggest(
    ctx: typer.Context,
    program: Annotated[Path, typer.Argument(metavar="PROGRAM.json", help="A program made by `fit`.")],
    pool: Annotated[Path, typer.Argument(metavar="POOL", help="Outputs that nobody has scored, as `fit` reads them.")],
    n: Annotated[int, typer.Option("-n", metavar="N", min=1, help="How many to suggest.")] = 10,
    labelled: Annotated[
        Path | None,
        typer.Option(
            "--labelled",
            metavar="FILE",
            help="What is scored already; its rows without a score do not count.",
            callback=outputs.at_home,
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            help="The chosen rows: .jsonl, .csv, .tsv or .json (or .gz).",
            callback=outputs.table_path,
        ),
    ] = None,
    fields: opts.Fields = None,
    labelled_fields: Annotated[
        list[str] | None,
        typer.Option(
            "--labelled-fields", metavar="FIELD=COLUMN,...", help="Columns of --labelled. Default: those of --fields."
        ),
    ] = None,
    lm: opts.ProgramLm = None,
    api_base: opts.ApiBase = None,
    api_key_env: opts.ApiKeyEnv = None,
    context: opts.Context = None,
    strict: opts.Strict = False,
    workers: opts.Workers = None,
    timeout: opts.Timeout = None,
    journal: opts.JournalPath = None,
    budget: opts.Budgets = None,
    estimate: opts.Estimated = False,
    seed: Annotated[
        int, typer.Option(metavar="N", min=0, help="Of the order among equals, and of what is drawn from a large pool.")
    ] = 0,
    as_json: opts.AsJson = False,
    quiet: opts.Quiet = False,
) -> None:
    """Which outputs people should score next.

    The pool is scored with the program, and those are chosen that are least like what is labelled or chosen already.
    """
    from active_critic.data import read_examples
    from active_critic.data.writing import RecordWriter
    from active_critic.evaluators import from_protocol, load_protocol
    from active_critic.evaluators.origins import NO_MODEL
    from active_critic.suggesting import Pool, columns_of_pool

    outputs.refuse_clashes(outputs=(out,), inputs=(pool, program, labelled), journal=journal)
    outputs.refuse_other_rows(out, ADDED[-1])
    if labelled_fields and labelled is None:
        raise typer.BadParameter("--labelled-fields names columns of the file that --labelled names; give that, too")
    columns = opts.parse_fields(fields)
    labelled_columns = opts.parse_fields(labelled_fields, "--labelled-fields") or columns
    protocol = load_protocol(program)
    if estimate and protocol.provenance.model == NO_MODEL:
        raise typer.BadParameter("--estimate has no meaning for this program, which asks no model")
    before = protocol.provenance.fields
    data = read_examples(pool, fields=columns_of_pool(columns), scored=False, as_before=before)
    known = read_examples(labelled, fields=labelled_columns, scored=False, as_before=before) if labelled else None
    unlike = common.source_note(protocol.provenance, data.fields)
    of_labelled = [f"{labelled.name}: {note}" for note in known.notes] if labelled and known is not None else []
    common.show_notes([*data.notes, *unlike, *of_labelled], quiet=quiet)
    texts = Pool.of(data, n, labelled=known or (), protocol=protocol, seed=seed)

    from active_critic.cli._progress import Display, part_of

    started = time.monotonic()
    with ExitStack() as stack:
        # An output that cannot be written is found before anything is paid for.
        how_written: dict[str, Any] = {"guarded": set(ADDED), **outputs.as_read(data)}
        writer = stack.enter_context(RecordWriter(out, **how_written)) if out and not estimate else None
        options = opening.model_options(api_base, api_key_env, context, strict, workers, timeout)
        how: dict[str, Any] = {"options": options, "journal": journal, "budget": budget, "quiet": quiet}
        model = stack.enter_context(opening.opened_for(ctx.obj, protocol.provenance, lm, estimate=estimate, **how))
        if estimate and model is not None:
            from active_critic.cli._estimate import tell

            def rehearse(stand_in: LanguageModel) -> object:
                return texts.choose(from_protocol(protocol, stand_in, journal=None))

            tell(model, rehearse, as_json=as_json, quiet=quiet, files={"--out": out})
            return
        critic = from_protocol(protocol, model, journal=None)
        part = part_of(critic.judge(), explain=False)
        with Display(model, quiet=quiet, total=len(texts.drawn) + len(texts.known), part=part) as progress:
            found = texts.choose(critic, progress)
        rows = _rows(found)
        for row in rows if writer is not None else ():
            writer.write(row)  # type: ignore[union-attr]
        usage = common.usage_of(model)
    if as_json:
        document = _summary(found) | {
            "program": str(program),
            "output": str(out) if out else None,
            "model": common.name_of(model),
            "seed": seed,
            "usage": usage.to_dict(),
            "seconds": round(time.monotonic() - started, 3),
            "suggestions": rows,
        }
        common.print_json(document)
    else:
        _show(found)
        if not quiet:
            for line in _words(found, labelled=labelled is not None):
                common.say(line)
            if out is not None:
                common.say(f"{len(rows)} rows are in {out}: score them, and fit again")
    if found.unscored:
        raise typer.Exit(common.UNSCORED)


def _rows(found: Suggestions) -> list[dict[str, Any]]:
    """The chosen rows with their own columns, all with the same columns, and what is added."""
    from active_critic.data import merge_record

    header = dict.fromkeys(name for suggestion in found.chosen for name in suggestion.example.record)
    return [
        merge_record(
            {**header, **suggestion.example.record},
            dict(zip(ADDED, (suggestion.predicted, suggestion.because), strict=True)),
        )
        for suggestion in found.chosen
    ]


def _summary(found: Suggestions) -> dict[str, Any]:
    return {
        "pool": found.pool,
        "labelled": found.labelled,
        "repeated": found.repeated,
        "not_drawn": found.not_drawn,
        "unscored": sum(found.unscored.values()),
        "reasons": dict(found.unscored),
        "known": found.known,
        "per_document": found.per_document,
    }


def _words(found: Suggestions, *, labelled: bool) -> list[str]:
    """What was looked at and what was left out."""
    left_out = [
        (found.labelled, "labelled already or fitted on"),
        (found.repeated, "repeat the text of another row"),
        (found.not_drawn, "not drawn: the pool is large"),
        *((count, f"unscored: {reason}") for reason, count in found.unscored.items()),
    ]
    away = f"; kept away from {found.known:,} labelled texts" if found.known else ""
    words = [f"{len(found.chosen)} of {found.pool:,} rows, at most {found.per_document} of one document{away}"]
    if any(suggestion.apart for suggestion in found.chosen):
        words.append("sd: standard deviations over these texts")
    words += [f"left out: {count:,} {what}" for count, what in left_out if count]
    if not labelled:
        words.append("note: name what is labelled with --labelled, and the choice keeps away from it")
    return words


def _show(found: Suggestions) -> None:
    """One paragraph a suggestion; nothing in a text can drive the terminal."""
    from rich.text import Text

    from active_critic.report import plain, shorten
    from active_critic.report.suggestions import why_suggested

    out = common.console(stderr=False)
    for number, suggestion in enumerate(found.chosen, 1):
        example = suggestion.example
        lines = (
            f"{number}. {example.id or f'row {example.row}'}, predicted {suggestion.predicted:.4g}",
            f"   {shorten(example.response)}",
            f"   {why_suggested(suggestion)}",
        )
        for line in lines:
            out.print(Text(plain(line, lines=True)), soft_wrap=not out.is_terminal)
