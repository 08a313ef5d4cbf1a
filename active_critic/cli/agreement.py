"""``active-critic agreement``: any column of numbers against people, without a model."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from active_critic.cli import _common as common
from active_critic.cli import _options as opts
from active_critic.cli import _outputs as outputs
from active_critic.cli._agreement_notes import NOTES, SPLIT, of_a_program, of_known_texts, of_unscored

if TYPE_CHECKING:
    from active_critic.stats import Level


def agreement(
    scored: Annotated[Path, typer.Argument(metavar="SCORED", help="A file with both columns, as `fit` reads them.")],
    human: Annotated[
        str | None,
        typer.Option(
            "--human",
            metavar="COLUMN",
            help="What people said; `scores.*` for every aspect in turn. Default: the mean of --raters.",
        ),
    ] = None,
    predicted: Annotated[
        str | None,
        typer.Option("--predicted", metavar="COLUMN", help="What is judged; `scores.fluency` leads into an object."),
    ] = None,
    other: Annotated[
        list[str] | None,
        typer.Option("--other", metavar="COLUMN", help="A further column, compared with --predicted. May be repeated."),
    ] = None,
    raters: Annotated[
        list[str] | None,
        typer.Option(
            "--raters",
            metavar="COLUMN",
            help="A single rater, or `ratings.*` for all: how far people agree. May be repeated.",
        ),
    ] = None,
    rated_by: Annotated[
        str | None,
        typer.Option(
            "--rated-by",
            metavar="COLUMN",
            help="Who gave the --human score of a row, where each rater has a row of their own.",
        ),
    ] = None,
    output_id: Annotated[
        str | None,
        typer.Option(
            "--id",
            metavar="COLUMN",
            help="With --rated-by: what tells outputs apart. Default: their texts, documents and systems.",
        ),
    ] = None,
    group: opts.GroupColumn = None,
    system: opts.SystemColumn = None,
    part: Annotated[
        list[str] | None,
        typer.Option(
            "--part",
            metavar="COLUMN",
            help="The fold or repeat of each row: figures are taken within each, and averaged. May be repeated. "
            "Default: `repeat` and `fold`, where both are there, as `compare` writes them.",
        ),
    ] = None,
    level: Annotated[
        Literal["dataset", "document", "system", "all"], typer.Option(help="What the coefficients are over.")
    ] = "dataset",
    scale: Annotated[
        str | None,
        typer.Option(
            "--scale",
            metavar="LOW..HIGH",
            help="The human scale. Default: inferred, and said.",
            callback=opts.check_scale,
        ),
    ] = None,
    resamples: opts.Resamples = None,
    seed: Annotated[int, typer.Option("--seed", metavar="N", min=0, help="Of resampling.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
    html: opts.Html = None,
    quiet: opts.Quiet = False,
) -> None:
    """How well a column of numbers agrees with people, and how columns compare.

    No model is used. Rows without a usable prediction are counted and do not count as anything.
    """
    from active_critic.cli._agreement_job import Job
    from active_critic.cli._agreement_raters import of_one_output, rater_columns
    from active_critic.data import COLUMNS
    from active_critic.data.columns import Table
    from active_critic.data.ways import several
    from active_critic.records import Scale
    from active_critic.stats.resampling import resamples_for

    outputs.refuse_clashes(outputs=(html,), inputs=(scored,))
    if output_id is not None and rated_by is None:
        raise typer.BadParameter("--id tells the outputs of --rated-by apart; give that, too")
    if rated_by is not None and (human is None or raters or "*" in human):
        need = "the one column in which the raters' scores are, and leave out --raters"
        raise typer.BadParameter(f"--rated-by says who gave the score of a row: name with --human {need}")
    if human is None and not raters:
        raise typer.BadParameter("name what people said with --human COLUMN, or single raters with --raters COLUMN")
    if predicted is None and (other or not (raters or rated_by)):
        raise typer.BadParameter("name what is judged with --predicted COLUMN" + ("" if other else ", or --raters"))
    columns = [*([predicted] if predicted is not None else []), *(other or [])]
    for name in columns:
        if name == human:
            raise typer.BadParameter(f"{name!r} is the human column; it agrees with itself")
    if len(set(columns)) < len(columns):
        raise typer.BadParameter("a column is named twice")
    known = None if scale is None else Scale.parse(scale)
    own = [name for name in (*columns, group, system, *(part or [])) if name is not None]
    named = [name for name in (human, rated_by, output_id, *(raters or []), *own) if name is not None]
    texts = ("response", "reference") if rated_by is not None and output_id is None else ()
    usual = [name for kind in ("group", "system", "source", *texts) for name in COLUMNS[kind]]
    table = Table(scored, named, [*usual, NOTES, *SPLIT])
    unscored: list[str] = []
    if human is not None and human not in table and (parts := several(human)) and set(parts) <= {*table.columns}:
        written = " ".join(f"--raters {shlex.quote(name)}" for name in parts)
        raise typer.BadParameter(f"for the mean of several columns leave out --human, and write {written}")
    if human is not None and human in table:
        unscored = of_unscored(table.leave_out_blank(human), [human])
    elif human is None and columns:
        rated = rater_columns(table, raters or [], None, None)
        unscored = of_unscored(table.leave_out_blank(*rated), rated, "rating")
    said = [*table.notes, *unscored, *of_known_texts(table), *of_a_program(table, human)]
    people = human
    if rated_by is not None and human is not None:
        outputs_by = [output_id] if output_id is not None else of_one_output(table, {human, rated_by, *own})
        said.append(table.by_rater(rated_by, human, outputs_by, own))
        people, raters = None, [f"{rated_by}.*"]
    resamples = resamples_for(len(table), resamples)
    job = Job(table, resamples, seed, known, raters or [], notes=said)
    taken = {*columns, *(raters or []), *([people] if people is not None else [])}
    job.find_groups(group, taken)
    job.find_systems(system, taken)
    job.find_parts(part or [], taken)
    levels: list[Level] = ["dataset", "document", "system"] if level == "all" else [level]
    if people is None or "*" not in people or people in job.table:  # a star in a column's own name is no pattern
        for one in levels:
            job.measure(people, columns, one, None, only=len(levels) == 1)
    else:
        for aspect in job.table.matching(people):
            first, *rest = (c if c in job.table else c.replace("*", aspect) for c in (people, *columns))
            if first in {*rest, *(raters or [])}:
                job.notes.append(f"{first!r} is like {people!r}, but is compared with it: it is not taken for people's")
                continue
            for one in levels:
                job.measure(first, rest, one, aspect, only=False)
    if not job.results and not job.left_out:
        raise typer.BadParameter(f"{people!r} stands for nothing but the columns that are compared with it")
    job.finish()
    job.notes.extend(job.table.forms_said)
    document = {
        "file": scored.name,
        "rows": len(job.table),
        "human": human,
        "predicted": predicted,
        "other": other or [],
        "raters": raters or [],
        "rated_by": rated_by,
        "group": job.group_column,
        "system": job.system_column,
        "part": list(job.part_columns),
        "resamples": resamples,
        "seed": seed,
        "results": job.results,
        "left_out": job.left_out,
        "notes": job.notes,
    }
    from active_critic.report.agreement import agreement_account

    if html is not None:
        from active_critic.report.page import page
        from active_critic.report.tables import list_under

        with outputs.text_file(html) as shown:
            notes = list_under("Notes", job.notes)
            shown.append(page(f"Agreement in {scored.name}", agreement_account(document), *notes))
    common.show_notes(job.notes, quiet=quiet)
    if as_json:
        common.print_json(document)
        return
    common.console(stderr=False).print(agreement_account(document))
