"""``active-critic fit``: from scored examples to a saved program."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from active_critic.cli import _common as common

if TYPE_CHECKING:
    from active_critic.data import Examples


def fit(
    ctx: typer.Context,
    examples: Annotated[
        Path,
        typer.Argument(metavar="EXAMPLES", help="Scored examples: .csv, .tsv, .json, .jsonl (or .gz), .parquet."),
    ],
    out: Annotated[Path, typer.Option("--out", "-o", metavar="PROGRAM.json", help="Where the program goes.")],
    fields: common.Fields = None,
    scale: Annotated[
        str | None, typer.Option(metavar="LOW..HIGH", help="The scale of the scores, for example 1..5; else inferred.")
    ] = None,
    lm: common.Lm = "local",
    api_base: common.ApiBase = None,
    api_key_env: common.ApiKeyEnv = None,
    context: common.Context = None,
    strict: common.Strict = False,
    workers: common.Workers = None,
    mode: Annotated[
        Literal["fine", "coarse"], typer.Option(help="Rate every criterion, then the whole; or the whole at once.")
    ] = "fine",
    candidates: Annotated[int, typer.Option(metavar="N", min=1, help="Sets of demonstrations that are tried.")] = 11,
    demos: Annotated[
        int | None,
        typer.Option(metavar="N", min=0, help="Demonstrations in a set. Default: 3, or 8 of short texts."),
    ] = None,
    sampling: Annotated[
        Literal["stratified", "uniform"], typer.Option(help="How demonstrations are drawn over the scores.")
    ] = "stratified",
    search: Annotated[
        Literal["race", "full"], typer.Option(help="Stop clearly worse sets early, or try all on every example.")
    ] = "race",
    train: Annotated[
        float | None, typer.Option(metavar="FRACTION", help="Fit on this part only, whole documents, by the seed.")
    ] = None,
    rest: Annotated[
        Path | None, typer.Option(metavar="FILE", help="With --train: where the rows that were held back go.")
    ] = None,
    seed: Annotated[int, typer.Option(metavar="N", help="Of the split, batches, sets, folds and resampling.")] = 0,
    task: Annotated[
        str | None, typer.Option(metavar="TEXT|@FILE", help="Your own task description; else inferred.")
    ] = None,
    criteria: Annotated[
        str | None,
        typer.Option(metavar="FILE|@PROGRAM", help="Your own criteria as JSON, or those of a program; else inferred."),
    ] = None,
    order: Annotated[
        Literal["rating-first", "reason-first"] | None,
        typer.Option(help="Rate before or after explaining. Default: before, where token probabilities can be had."),
    ] = None,
    batches: Annotated[int, typer.Option(metavar="N", min=1, help="Batches of five read at most.")] = 25,
    no_report: Annotated[bool, typer.Option("--no-report", help="Do not measure agreement on held-out folds.")] = False,
    journal: common.JournalPath = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as one JSON document.")] = False,
    quiet: common.Quiet = False,
) -> None:
    """Fit a critic on examples that people scored.

    Saves it as a program, and prints how well it agrees with people on examples it was not fitted on, and what it cost.
    """
    from active_critic.data import check_examples, read_examples
    from active_critic.evaluators.base import scale_of
    from active_critic.records import Scale

    common.refuse_same(out, examples, rest)
    common.refuse_same(rest, examples)
    if rest is not None and train is None:
        raise typer.BadParameter("--rest needs --train, which says how much is held back")
    if train is not None and not 0 < train < 1:
        raise typer.BadParameter(f"--train is a fraction between 0 and 1, not {train:g}")
    columns = common.parse_fields(fields)
    given_scale = Scale.parse(scale) if scale is not None else None
    data = read_examples(examples, fields=columns, scale=given_scale)
    notes = list(data.notes)
    data, held_back = _held_back(data, train, seed, notes)
    notes += check_examples(data)
    common.show_notes(notes, quiet=quiet)

    from active_critic.cli._given import read_criteria, read_task
    from active_critic.demo_search import demo_count
    from active_critic.evaluators import ActiveCritic

    demo_count(data, demos)  # what cannot be is said before anything is paid for
    description, given = read_task(task), read_criteria(criteria)
    replaced = common.check_writable(out)
    if rest is not None and held_back is not None:
        _write_rest(rest, held_back)
        common.say(f"{len(held_back)} rows that were held back are in {rest}", quiet=quiet)

    from active_critic.cli._progress import Display

    options: dict[str, Any] = {
        "api_base": api_base,
        "api_key_env": api_key_env,
        "context": context,
        "strict": strict,
        "workers": workers,
    }
    with common.opened(ctx.obj, lm, options=options, journal=journal, quiet=quiet) as model:
        common.say(
            f"fitting on {len(data)} examples, scale {scale_of(data)}, with {model.name}; "
            f"journal: {ctx.obj.journal or 'none'}",
            quiet=quiet,
        )
        critic = ActiveCritic(
            model,
            mode=mode,
            candidates=candidates,
            demos=demos,
            sampling=sampling,
            search=search,
            task_description=description,
            criteria=given,
            max_batches=batches,
            order=None if order is None else "rating_first" if order == "rating-first" else "reason_first",
            report=not no_report,
            seed=seed,
            journal=None,  # the model has its memory already
        )
        with Display(lambda: model.usage, quiet=quiet) as progress:
            critic.fit(data, progress=progress)
        usage = model.usage
    critic.save(out)
    if replaced:
        common.say(f"note: the program that was in {out} has been replaced", quiet=quiet)
    report = critic.report_.to_dict() if critic.report_ else {}
    notes = list(dict.fromkeys([*notes, *report.get("notes", ())]))
    if as_json:
        from active_critic.files import json_text

        document = {
            "program": str(out),
            "signature": critic.signature,
            "task_description": critic.fitted.task_description,
            "criteria": [criterion.model_dump() for criterion in critic.fitted.criteria],
            "demonstrations": len(critic.fitted.demos),
            "rest": str(rest) if rest else None,
            "report": report or None,
            "usage": usage.to_dict(),
            "notes": notes,
        }
        typer.echo(json_text(document))
        return
    show_fit(critic.fitted, report, signature=critic.signature, out=out)


def show_fit(program: Any, report: dict[str, Any], *, signature: str, out: Path) -> None:
    """Print a fitted program and its report on standard output."""
    from rich.console import Group
    from rich.text import Text

    from active_critic.report import criteria_table, fit_report, plain

    blank = Text("")
    common.console(stderr=False).print(
        Group(
            Text(plain(program.task_description, lines=True)),
            *((blank, criteria_table(program)) if program.criteria else ()),
            blank,
            fit_report(report),
            blank,
            Text(plain(f"{signature}\nsaved in {out}; score with: active-critic score {out} ITEMS", lines=True)),
        )
    )


def _held_back(data: Examples, train: float | None, seed: int, notes: list[str]) -> tuple[Examples, Examples | None]:
    if train is None:
        return data, None
    from active_critic.data import group_of, split

    chosen, held_back = split(data, train, seed)
    documents = len({group_of(example) for example in chosen})
    notes.append(
        f"{len(chosen)} of {len(data)} examples ({documents} documents) are fitted on, {len(held_back)} are held back "
        f"(seed {seed})"
    )
    return chosen, held_back


def _write_rest(path: Path, held_back: Examples) -> None:
    from active_critic.files import RecordWriter

    # Rows of JSON Lines may differ in their columns; a header holds them all.
    columns = dict.fromkeys(name for example in held_back for name in example.record)
    with RecordWriter(path) as writer:
        fill = dict.fromkeys(columns) if writer.kind in {".csv", ".tsv"} else {}
        for example in held_back:
            writer.write({**fill, **example.record})
