"""``active-critic means``: what people would score on average, from the few outputs they scored and a judge."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from active_critic.cli import _common as common
from active_critic.cli import _options as opts
from active_critic.cli import _outputs as outputs
from active_critic.cli._agreement_notes import NOTES, known_texts, of_a_program

if TYPE_CHECKING:
    from collections.abc import Sequence

    from active_critic.cli._agreement_job import Job
    from active_critic.data.columns import Predictions, Table
    from active_critic.stats.powered import PeopleMeans


def means(
    scored: Annotated[
        Path, typer.Argument(metavar="SCORED", help="A file with both columns, as `score` and `fit` read and write it.")
    ],
    human: Annotated[
        list[str],
        typer.Option(
            "--human",
            metavar="COLUMN",
            help="What people said; blank where they did not. Repeated: the mean of those that a row has.",
        ),
    ],
    predicted: Annotated[
        str, typer.Option("--predicted", metavar="COLUMN", help="What the judge said of all outputs, on any scale.")
    ],
    group: opts.GroupColumn = None,
    system: opts.SystemColumn = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
    html: opts.Html = None,
    quiet: opts.Quiet = False,
) -> None:
    """What people would score on average, and which system they would score higher.

    People's own mean over the few outputs that they scored, moved by what the judge says of all the others
    (prediction-powered inference). No model is used. The outputs that people scored must be drawn at random.
    """
    from active_critic.cli._agreement_job import Job
    from active_critic.data import COLUMNS
    from active_critic.data.columns import Table
    from active_critic.report.means import means_account
    from active_critic.stats.powered import people_means

    outputs.refuse_clashes(outputs=(html,), inputs=(scored,))
    if predicted in human or len(set(human)) < len(human):
        raise typer.BadParameter("a column is named twice")
    named = [name for name in (*human, predicted, group, system) if name is not None]
    usual = [name for kind in ("group", "system", "source") for name in COLUMNS[kind]]
    table = Table(scored, named, [*usual, NOTES])
    said = [*table.notes, *of_a_program(table, human[0])]
    people, judge = _people(table, human), table.predictions(predicted)
    job = Job(table, 0, 0, None, [], notes=said)
    job.find_groups(group, set(named[: len(human) + 1]))
    job.find_systems(system, set(named[: len(human) + 1]))
    systems = _systems(job, system)
    kept = _kept(table, judge, said)
    if not any(people[place] is not None for place in kept):
        _refuse(table, human, judge, fewer=len(kept) + judge.missing + judge.not_numeric < len(table))

    def those(values: Sequence[Any] | None) -> list[Any] | None:
        return None if values is None else [values[place] for place in kept]

    found = people_means(those(judge.values) or [], those(people) or [], those(job.groups), those(systems))
    said += [*table.forms_said, *_cautions(found)]
    document = {
        "file": scored.name,
        "rows": len(table),
        "human": human,
        "predicted": predicted,
        "group": job.group_column,
        "system": job.system_column if systems is not None else None,
        **found.to_dict(),
        "notes": said,
    }
    if html is not None:
        from active_critic.report.page import page
        from active_critic.report.tables import list_under

        with outputs.text_file(html) as shown:
            shown.append(page(f"Means in {scored.name}", means_account(document), *list_under("Notes", said)))
    common.show_notes(said, quiet=quiet)
    if as_json:
        common.print_json(document)
        return
    common.console(stderr=False).print(means_account(document))


def _people(table: Table, columns: Sequence[str]) -> list[float | None]:
    """People's score of every row, the mean of those that it has; None where nobody scored it."""
    from active_critic.errors import DataError

    found = [table.predictions(name) for name in columns]
    for one in found:
        if one.odd is not None:
            raise DataError(
                f"{one.odd} is not a finite number; correct it, or leave the cell blank where nobody scored the output",
                path=table.path,
                column=one.name,
            )
    rows = zip(*(one.values for one in found), strict=True)
    given = [[score for score in row if score is not None] for row in rows]
    return [sum(scores) / len(scores) if scores else None for scores in given]


def _systems(job: Job, asked: str | None) -> Sequence[str | None] | None:
    """The system of every row; None where they are not told apart."""
    from active_critic.errors import DataError

    named = job.systems
    if named is None or (asked is None and not any(named)):
        return None
    message = "no system is named; fill it in, or name another column with --system"
    job.check_named(named, job.system_column, message)
    if len(set(named)) == len(named) > 1:
        if asked is None:
            job.notes.append(f"each row has a {job.system_column!r} of its own, so systems are not told apart")
            return None
        message = f"each of the {len(named):,} rows has a system of its own, so nothing is averaged"
        raise DataError(f"{message}; name another column with --system", path=job.table.path, column=job.system_column)
    return named


def _kept(table: Table, judge: Predictions, said: list[str]) -> list[int]:
    """The places of the rows that count; notes say which do not, and why."""
    from active_critic.figures_in_words import how_many

    if known := known_texts(table):
        rows = how_many(len(known), "row is", "rows are")
        said.append(
            f"{rows} left out, of texts that the program was fitted on, or others of their documents "
            f"(column {NOTES!r}): how far a judge is off where it has seen people's scores says nothing of elsewhere"
        )
    if without := judge.missing + judge.not_numeric:
        odd = f", the first that holds something else: {judge.odd}" if judge.odd else ""
        said.append(
            f"{without:,} of {how_many(len(table), 'row')} have no number in {judge.name!r} and do not count{odd}"
        )
    return [place for place, value in enumerate(judge.values) if value is not None and place not in known]


def _refuse(table: Table, human: Sequence[str], judge: Predictions, *, fewer: bool) -> NoReturn:
    """Say why nothing can be estimated; ``fewer``: rows were left out that a program was fitted on."""
    from active_critic.errors import DataError

    if not any(value is not None for value in judge.values):
        odd = f" (the first that is not one: {judge.odd})" if judge.odd else ""
        message = f"no row holds a number{odd}; name what the judge said with --predicted"
        raise DataError(message, path=table.path, column=judge.name)
    which = "no row that nothing was fitted on" if fewer else "no row"
    remedy = "let people score some outputs, drawn at random"
    held = " (fit --train 0.5 holds some back)" if fewer else ""
    message = f"{which} has both a human score and one of the judge; {remedy}{held}"
    raise DataError(message, path=table.path, column=human[0])


def _cautions(found: PeopleMeans) -> list[str]:
    """What is to be known of the means."""
    from active_critic.figures_in_words import how_many, p_words
    from active_critic.stats.powered import ODD
    from active_critic.stats.resampling import FEW, FEWEST

    said = []
    if not found.weight:
        if all(one.labelled == one.outputs for one in found.means):
            why = "people scored all outputs"
        elif all(one.documents_unlabelled < FEWEST for one in found.means if one.labelled):
            why = f"the outputs that nobody scored are of fewer than {FEWEST} documents"
        else:
            why = "the judge's scores do not rise with people's"
        said.append(f"{why}, so the judge is not used: the means are those of people's scores alone")
    for one in found.means:
        of = "" if one.system is None else f" of {one.system!r}"
        if not one.labelled:
            said.append(f"nobody scored an output{of}, so people's mean is not estimated")
        elif one.documents_labelled < FEWEST:
            documents = how_many(one.documents_labelled, "document")
            said.append(f"people scored outputs{of} in {documents} only, and an interval takes {FEWEST}")
        elif one.documents_labelled < FEW:
            documents = how_many(one.documents_labelled, "document")
            said.append(f"people scored outputs{of} in {documents} only: the interval is wide, and means little")
        if found.weight and one.labelled < one.outputs and one.labelled and one.documents_unlabelled < FEWEST:
            said.append(f"the outputs{of} that nobody scored are of fewer than {FEWEST} documents: they are not used")
        if one.odd is not None and one.odd < ODD:
            said.append(
                f"the judge scores the outputs{of} that people scored otherwise than the rest (p {p_words(one.odd)}): "
                "if people's were not drawn at random, the mean does not hold"
            )
    return said
