"""``active-critic compare``: several evaluators on the same examples, splits and language model."""

from __future__ import annotations

from contextlib import ExitStack, nullcontext
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from active_critic import bounds
from active_critic.cli import _common as common
from active_critic.cli import _opening as opening
from active_critic.cli import _options as opts
from active_critic.cli import _outputs as outputs
from active_critic.errors import FitError
from active_critic.figures_in_words import how_many


def compare(
    ctx: typer.Context,
    labels: Annotated[Path, typer.Argument(metavar="LABELS", help="Scored examples, as `fit` reads them.")],
    evaluators: Annotated[
        str,
        typer.Option(
            "--evaluators",
            metavar="NAME,...",
            help="zero-shot, g-eval, gpt-score, ice, auto-calibrate, hd-eval, active-critic-coarse, "
            "active-critic-fine, surface.",
        ),
    ],
    fields: opts.Fields = None,
    scale: opts.Scale = None,
    lm: opts.Lm = "local",
    api_base: opts.ApiBase = None,
    api_key_env: opts.ApiKeyEnv = None,
    context: opts.Context = None,
    strict: opts.Strict = False,
    workers: opts.Workers = None,
    timeout: opts.Timeout = None,
    folds: Annotated[
        int | None, typer.Option(metavar="K", min=2, help="Test each of K parts with a fit on the others. Default: 4.")
    ] = None,
    train: Annotated[
        float | None, typer.Option(metavar="FRACTION", help="Instead of folds: fit on this part, test on the rest.")
    ] = None,
    test_documents: Annotated[
        int | None,
        typer.Option(metavar="N", min=2, help="With --train: test on at most N other documents, drawn by the seed."),
    ] = None,
    repeats: Annotated[
        int, typer.Option(metavar="R", min=1, max=bounds.REPEATS, help="How often, each time split by another seed.")
    ] = 1,
    level: Annotated[
        Literal["dataset", "document", "system"], typer.Option(help="What the coefficients are over.")
    ] = "dataset",
    against: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="What all are compared with. Default: the best that is no Active-Critic."),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME.PARAMETER=VALUE", help="A parameter of an evaluator. May be repeated."),
    ] = None,
    requests: Annotated[int | None, typer.Option(metavar="N", min=1, help=opts.REQUESTS.format("each method"))] = None,
    budget: opts.Budgets = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Have scores explained too; they are the same, and cost more.")
    ] = False,
    resamples: opts.Resamples = None,
    seed: opts.Seed = 0,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            help="Everything as .json, or a row a method as .csv.",
            callback=outputs.table_path,
        ),
    ] = None,
    predictions: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Every method's score of every example: .csv, .jsonl, ...", callback=outputs.table_path
        ),
    ] = None,
    journal: opts.JournalPath = None,
    estimate: opts.Estimated = False,
    as_json: opts.AsJson = False,
    html: opts.Html = None,
    quiet: opts.Quiet = False,
) -> None:
    """Which evaluator agrees with people best, by how much, how surely, and at what price.

    All are fitted and tested on the same documents with the same model. One that fails loses its own figures only.
    """
    from active_critic.data import read_examples
    from active_critic.meta_evaluation.methods import learners, needs_model, resolve
    from active_critic.meta_evaluation.splits import check_training, plan

    outputs.refuse_clashes(outputs=(out, predictions, html), inputs=(labels,), journal=journal)
    outputs.refuse_other_result(out, column="scoring_calls", key="methods")
    outputs.refuse_other_rows(predictions, "repeat")
    if folds is not None and train is not None:
        raise typer.BadParameter("--folds and --train are two ways to split; give one of them")
    opts.check_train(train)
    if test_documents is not None and train is None:
        raise typer.BadParameter("--test-documents goes with --train")
    names = [name.strip() for name in evaluators.split(",") if name.strip()]
    given = opts.parse_settings(settings)
    try:
        methods = resolve(names, given, seed=seed)
    except FitError as problem:
        raise typer.BadParameter(str(problem)) from None
    if against is not None and against not in methods:
        raise typer.BadParameter(f"--against {against!r} is not one of the evaluators compared: {', '.join(methods)}")
    options = opening.model_options(api_base, api_key_env, context, strict, workers, timeout)
    how_opened: dict[str, Any] = {"options": options, "journal": journal, "budget": budget, "quiet": quiet}
    asking = any(map(needs_model, methods.values()))
    if not asking:
        named = lm if opts.typed(ctx, "lm") else None
        opening.refuse_model(", ".join(methods), named, **how_opened, requests=requests, estimate=estimate)
    data = read_examples(labels, fields=opts.parse_fields(fields), scale=scale)
    how: dict[str, Any] = {
        "folds": folds,
        "train": train,
        "test_documents": test_documents,
        "repeats": repeats,
        "seed": seed,
        "level": level,
    }
    splits, notes = plan(data, **how)
    notes += check_training(data, splits, methods, learners(methods))
    common.show_notes([*data.notes, *notes], quiet=quiet)

    from active_critic.cli._progress import Display
    from active_critic.data.writing import RecordWriter
    from active_critic.meta_evaluation import compare as compare_them

    with ExitStack() as stack:
        table = score_file = shown = None
        if not estimate:  # an output that cannot be written is found before anything is paid for
            table = stack.enter_context(outputs.result_file(out, **outputs.as_read(data))) if out else None
            if predictions is not None:
                score_file = stack.enter_context(RecordWriter(predictions, **outputs.as_read(data)))
            shown = stack.enter_context(outputs.text_file(html)) if html else None
        opened = opening.opened(ctx.obj, lm, estimate=estimate, **how_opened) if asking else nullcontext()
        model = stack.enter_context(opened)
        parts = how_many(len(splits), "split")
        common.say(
            f"comparing {', '.join(methods)} on {len(data)} examples in {parts} {opening.beside(model, ctx.obj)}",
            quiet=quiet,
        )
        if estimate and model is not None:
            from active_critic.cli._estimate import tell_parts
            from active_critic.meta_evaluation.rehearsing import comparison_rehearsal

            rehearsal = comparison_rehearsal(data, methods, splits, explain=explain)
            more: dict[str, Any] = {"files": {"--out": out, "--predictions": predictions, "--html": html}}
            tell_parts(model, rehearsal, data=data, requests=requests, as_json=as_json, quiet=quiet, **more)
            return
        with Display(model, quiet=quiet) as progress:
            found = compare_them(
                data,
                names,
                model,
                settings=given,
                **how,
                against=against,
                requests=requests,
                resamples=resamples,
                journal=None,  # the model has its memory already
                explain=explain,
                progress=progress,
            )
        if table is not None:
            for record in [found.to_dict()] if outputs.is_whole(table.path) else found.table():
                table.write(record)
        if score_file is not None:
            for record in found.predictions():
                score_file.write(record)
        from active_critic.report.comparisons import comparison_account

        if shown is not None:
            from active_critic.report.page import page

            shown.append(page(f"Evaluators compared on {labels.name}", comparison_account(found)))
    if as_json:
        common.print_json(found.to_dict())
    else:
        common.show_notes([note for note in found.notes if note not in {*data.notes, *notes}], quiet=quiet)
        common.console(stderr=False).print(comparison_account(found))
    if any(method.agreement.n < method.agreement.total for method in found.methods):
        raise typer.Exit(common.UNSCORED)
