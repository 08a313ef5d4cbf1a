"""``active-critic curve``: how agreement with people grows with the number of labels, and whether more would help."""

from __future__ import annotations

from contextlib import ExitStack, nullcontext
from pathlib import Path
from typing import Annotated, Any

import typer

from active_critic import bounds
from active_critic.cli import _common as common
from active_critic.cli import _opening as opening
from active_critic.cli import _options as opts
from active_critic.cli import _outputs as outputs
from active_critic.errors import FitError
from active_critic.figures_in_words import how_many


def curve(
    ctx: typer.Context,
    labels: Annotated[Path, typer.Argument(metavar="LABELS", help="Scored examples, as `fit` reads them.")],
    evaluator: Annotated[
        str, typer.Option(metavar="NAME", help="One of those that `compare` knows.")
    ] = "active-critic-coarse",
    sizes: Annotated[str, typer.Option(metavar="N,...", help="Numbers of labels, at least 5.")] = "5,10,20,50,100",
    fields: opts.Fields = None,
    scale: opts.Scale = None,
    lm: opts.Lm = "local",
    api_base: opts.ApiBase = None,
    api_key_env: opts.ApiKeyEnv = None,
    context: opts.Context = None,
    strict: opts.Strict = False,
    workers: opts.Workers = None,
    timeout: opts.Timeout = None,
    test: Annotated[
        float, typer.Option(metavar="FRACTION", help="The part of the examples, by document, that is tested on.")
    ] = 0.5,
    test_documents: Annotated[
        int | None, typer.Option(metavar="N", min=2, help="Test on at most N of these documents, drawn by the seed.")
    ] = None,
    repeats: Annotated[
        int,
        typer.Option(
            metavar="R", min=1, max=bounds.REPEATS, help="How often, each time with another split and other labels."
        ),
    ] = 3,
    settings: opts.Settings = None,
    requests: Annotated[
        int | None, typer.Option(metavar="N", min=1, help=opts.REQUESTS.format("the whole curve"))
    ] = None,
    budget: opts.Budgets = None,
    resamples: opts.Resamples = None,
    seed: opts.Seed = 0,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            help="Everything as .json, or a row a size as .csv.",
            callback=outputs.table_path,
        ),
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE.svg", help="A picture of the curve.", callback=outputs.at_home)
    ] = None,
    journal: opts.JournalPath = None,
    estimate: opts.Estimated = False,
    as_json: opts.AsJson = False,
    html: opts.Html = None,
    quiet: opts.Quiet = False,
) -> None:
    """How agreement with people grows with the number of labels, and whether to label more or stop.

    All sizes are tested on the same documents, and each set of labels is part of the next.
    """
    from active_critic.data import read_examples
    from active_critic.meta_evaluation.methods import needs_model, resolve

    outputs.refuse_clashes(outputs=(out, plot, html), inputs=(labels,), journal=journal)
    outputs.refuse_other_result(out, column="gain_p_holm", key="points")
    if plot is not None and plot.suffix.lower() != ".svg":
        raise typer.BadParameter(f"--plot {plot} is not an .svg file; the picture is SVG, so name it FILE.svg")
    given = opts.parse_settings(settings, of=evaluator)
    try:
        factory = resolve([evaluator], given, seed=seed)[evaluator]
    except FitError as problem:
        raise typer.BadParameter(str(problem)) from None
    options = opening.model_options(api_base, api_key_env, context, strict, workers, timeout)
    how_opened: dict[str, Any] = {"options": options, "journal": journal, "budget": budget, "quiet": quiet}
    asking = needs_model(factory)
    if not asking:
        named = lm if opts.typed(ctx, "lm") else None
        opening.refuse_model(evaluator, named, **how_opened, requests=requests, estimate=estimate)
    how: dict[str, Any] = {
        "sizes": _sizes(sizes),
        "test": test,
        "test_documents": test_documents,
        "repeats": repeats,
        "seed": seed,
    }
    data = read_examples(labels, fields=opts.parse_fields(fields), scale=scale)

    from active_critic.cli._progress import Display
    from active_critic.meta_evaluation.curves import curve as curve_of
    from active_critic.meta_evaluation.curves import draw

    try:
        possible, drawn, notes = draw(data, **how)
    except FitError as problem:
        raise typer.BadParameter(str(problem)) from None
    common.show_notes([*data.notes, *notes], quiet=quiet)
    with ExitStack() as stack:
        table = picture = shown = None
        if not estimate:  # an output that cannot be written is found before anything is paid for
            table = stack.enter_context(outputs.result_file(out, **outputs.as_read(data))) if out else None
            picture = stack.enter_context(outputs.text_file(plot)) if plot else None
            shown = stack.enter_context(outputs.text_file(html)) if html else None
        opened = opening.opened(ctx.obj, lm, estimate=estimate, **how_opened) if asking else nullcontext()
        model = stack.enter_context(opened)
        said = f"{evaluator} fitted on {', '.join(map(str, possible))} of {len(data)} labels"
        common.say(f"{said}, {how_many(repeats, 'time')}, {opening.beside(model, ctx.obj)}", quiet=quiet)
        if estimate and model is not None:
            from active_critic.cli._estimate import tell_parts
            from active_critic.meta_evaluation.rehearsing import curve_rehearsal

            rehearsal = curve_rehearsal(data, evaluator, factory, possible, drawn)
            more: dict[str, Any] = {"files": {"--out": out, "--plot": plot, "--html": html}}
            tell_parts(model, rehearsal, data=data, requests=requests, as_json=as_json, quiet=quiet, **more)
            return
        with Display(model, quiet=quiet) as progress:
            found = curve_of(
                data,
                evaluator,
                model,
                **how,
                settings=given.get(evaluator),
                requests=requests,
                resamples=resamples,
                journal=None,  # the model has its memory already
                progress=progress,
            )
        from active_critic.meta_evaluation.curve_plot import curve_svg
        from active_critic.report.curves import curve_account
        from active_critic.report.page import page

        if table is not None:
            for record in [found.to_dict()] if outputs.is_whole(table.path) else found.table():
                table.write(record)
        if picture is not None:
            picture.append(curve_svg(found))
        if shown is not None:
            shown.append(page(f"Learning curve of {labels.name}", curve_account(found), picture=curve_svg(found)))
    if as_json:
        common.print_json(found.to_dict())
    else:
        common.show_notes([note for note in found.notes if note not in {*data.notes, *notes}], quiet=quiet)
        common.console(stderr=False).print(curve_account(found))
    points = [point for point in (found.zero_shot, *found.points) if point is not None]
    results = [one for point in points for one in (point.result, point.floor) if one is not None]
    if any(one.agreement.n < one.agreement.total for one in results):
        raise typer.Exit(common.UNSCORED)


def _sizes(given: str) -> list[int]:
    try:
        return [int(size) for size in given.split(",") if size.strip()]
    except ValueError:
        raise typer.BadParameter(f"--sizes {given!r} is not N,N,...; write for example 5,10,20,50") from None
