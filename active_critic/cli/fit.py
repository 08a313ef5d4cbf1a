"""``active-critic fit``: from scored examples to a saved program."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from active_critic import bounds
from active_critic.cli import _common as common
from active_critic.cli import _opening as opening
from active_critic.cli import _options as opts
from active_critic.cli import _outputs as outputs
from active_critic.cli._fitted import OURS, Fitted
from active_critic.cli._held_back import hold_back, write_rest
from active_critic.errors import FitError

_OPTIONS = {
    "task": "task_description",
    "criteria": "criteria",
    "batches": "max_batches",
    "refine": "refinements",
    "mode": "mode",
    "candidates": "candidates",
    "demos": "demos",
    "sampling": "mode",  # ICE's own is set with --set
    "levels": "levels",
    "search": "search",
    "order": "order",
    "use_criteria": "use_criteria",
    "use_approval": "use_approval",
    "use_likelihood": "use_likelihood",
    "use_contrast": "use_contrast",
    "use_surface": "use_surface",
    "discount_forgeries": "discount_forgeries",
    "discount_praise": "discount_praise",
    "no_report": "report",
    "seed": "seed",
}
"""Options, and the parameter of an evaluator without which they have no meaning."""


def fit(
    ctx: typer.Context,
    examples: Annotated[
        Path,
        typer.Argument(
            metavar="EXAMPLES", help="Scored examples: .csv, .tsv, .json, .jsonl (or .gz), .xlsx, .parquet."
        ),
    ],
    out: Annotated[
        Path,
        typer.Option("--out", "-o", metavar="PROGRAM.json", help="Where the program goes.", callback=outputs.at_home),
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
    evaluator: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="active-critic (with the options below), zero-shot, g-eval, gpt-score, ice, auto-calibrate, hd-eval "
            "or surface.",
        ),
    ] = OURS,
    settings: opts.Settings = None,
    mode: Annotated[
        Literal["fine", "coarse"], typer.Option(help="Rate every criterion, then the whole; or the whole at once.")
    ] = "fine",
    candidates: Annotated[
        int, typer.Option(metavar="N", min=1, max=bounds.TRIED, help="Sets of demonstrations that are tried.")
    ] = 11,
    demos: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=0,
            help="Demonstrations in a set. Default: 3, or 8 of short texts; a third of the examples at most.",
        ),
    ] = None,
    sampling: Annotated[
        Literal["stratified", "uniform"], typer.Option(help="How demonstrations are drawn over the scores.")
    ] = "stratified",
    levels: Annotated[
        str | None,
        typer.Option(
            metavar="LOW-HIGH,...", help="Rating levels; several: the search decides. Default: 1-5, or 0-100."
        ),
    ] = None,
    search: Annotated[
        Literal["race", "full"], typer.Option(help="Stop clearly worse sets early, or try all on every example.")
    ] = "race",
    train: Annotated[
        float | None, typer.Option(metavar="FRACTION", help="Fit on this part only, whole documents, by the seed.")
    ] = None,
    rest: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="With --train: where the rows that were held back go.", callback=outputs.table_path
        ),
    ] = None,
    seed: Annotated[
        int, typer.Option(metavar="N", min=0, help="Of the split, batches, sets, folds and resampling.")
    ] = 0,
    task: Annotated[
        str | None, typer.Option(metavar="TEXT|@FILE", help="Your own task description; else inferred.")
    ] = None,
    criteria: Annotated[
        str | None,
        typer.Option(metavar="FILE|@PROGRAM", help="Your own criteria as JSON, or those of a program; else inferred."),
    ] = None,
    order: Annotated[
        Literal["rating-first", "reason-first", "both"] | None,
        typer.Option(
            help="Rate before or after explaining; both: the search decides. Default: before, where token "
            "probabilities can be had."
        ),
    ] = None,
    batches: Annotated[int, typer.Option(metavar="N", min=1, help="Batches of five read at most.")] = 25,
    refine: Annotated[
        int,
        typer.Option(
            metavar="N",
            min=0,
            max=bounds.TRIED,
            help="Rounds in which inferred criteria are edited, and kept if it helps.",
        ),
    ] = 0,
    use_criteria: Annotated[
        Literal["auto", "never", "always"],
        typer.Option(help="Whether ratings of single criteria have parts in the score (fine mode)."),
    ] = "auto",
    use_approval: Annotated[
        Literal["auto", "never", "always"],
        typer.Option(help="Whether a plain yes or no has a part in the score. auto: where it can be had and helps."),
    ] = "auto",
    use_likelihood: Annotated[
        Literal["auto", "never", "always"], typer.Option(help="The same for the likelihood of the text.")
    ] = "auto",
    use_contrast: Annotated[
        Literal["auto", "never", "always"],
        typer.Option(help="The same for the text's likelihood after texts people liked, less that after others."),
    ] = "never",
    use_surface: Annotated[
        Literal["auto", "never", "always"],
        typer.Option(help="The same for length, overlap and repetition. never: where texts are written to score well."),
    ] = "auto",
    discount_forgeries: Annotated[
        Literal["auto", "never", "always"],
        typer.Option(
            help="Whether texts with a forged reply in them are judged without it, too, for the lower score. auto: "
            "unless an example has one."
        ),
    ] = "auto",
    discount_praise: Annotated[
        Literal["auto", "never", "always"],
        typer.Option(
            help="Whether texts that are good to the model whatever they were made from count as no more than the "
            "average. auto: where it gives token probabilities."
        ),
    ] = "auto",
    no_report: Annotated[bool, typer.Option("--no-report", help="Do not measure agreement on held-out folds.")] = False,
    journal: opts.JournalPath = None,
    budget: opts.Budgets = None,
    estimate: opts.Estimated = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as one JSON document.")] = False,
    html: opts.Html = None,
    quiet: opts.Quiet = False,
) -> None:
    """Fit a critic on examples that people scored.

    Saves it as a program, and prints how well it agrees with people on examples it was not fitted on, and what it cost.
    """
    from active_critic.cli._given import files_given, pinned_from, read_criteria, read_task
    from active_critic.data import check_examples, read_examples
    from active_critic.evaluators.base import scale_of

    outputs.refuse_same(out, examples, outputs.journal_file(journal))  # over a program it may be written
    outputs.refuse_clashes(outputs=(rest, html), inputs=(examples, out, *files_given(task, criteria)), journal=journal)
    if rest is not None and train is None:
        raise typer.BadParameter("--rest needs --train, which says how much is held back")
    opts.check_train(train)
    make = _maker(ctx, evaluator, settings)
    options = opening.model_options(api_base, api_key_env, context, strict, workers, timeout)
    how: dict[str, Any] = {"options": options, "journal": journal, "budget": budget, "quiet": quiet}
    if not make.needs_model:
        opening.refuse_model(evaluator, lm if opts.typed(ctx, "lm") else None, **how, estimate=estimate)
    data = read_examples(examples, fields=opts.parse_fields(fields), scale=scale)
    notes = list(data.notes)
    data, held_back = hold_back(data, train, seed, notes)
    # Of the part that is fitted on, the same is noted of fewer rows.
    notes += [*(note for note in check_examples(data) if note not in data.notes), *pinned_from(criteria, held_back)]
    common.show_notes(notes, quiet=quiet)

    from active_critic.cli._progress import Display
    from active_critic.demo_search import demo_count

    given: dict[str, Any] = {
        "task_description": read_task(task),
        "criteria": read_criteria(criteria),
        "max_batches": batches,
        "seed": seed,
    }
    if evaluator == OURS:
        demo_count(data, demos)  # what cannot be is said before anything is paid for
        given |= {
            "mode": mode,
            "candidates": candidates,
            "demos": demos,
            "sampling": sampling,
            "levels": levels,
            "search": search,
            "refinements": refine,
            "order": None if order is None else order.replace("-", "_"),
            "use_criteria": use_criteria,
            "use_approval": use_approval,
            "use_likelihood": use_likelihood,
            "use_contrast": use_contrast,
            "use_surface": use_surface,
            "discount_forgeries": discount_forgeries,
            "discount_praise": discount_praise,
            "report": not no_report,
        }
    make.check(given)
    replaced = outputs.check_writable(out, make=not estimate)
    if rest is not None and held_back is not None and not estimate:
        write_rest(rest, held_back)
        common.say(f"{len(held_back)} rows that were held back are in {rest}", quiet=quiet)

    started = time.monotonic()
    with ExitStack() as stack:
        # A page that cannot be written is found before anything is paid for.
        shown = stack.enter_context(outputs.text_file(html)) if html and not estimate else None
        opened = opening.opened(ctx.obj, lm, estimate=estimate, **how) if make.needs_model else nullcontext()
        model = stack.enter_context(opened)
        on = f"{len(data)} examples, scale {scale_of(data)}"
        common.say(f"fitting on {on}, {opening.beside(model, ctx.obj)}", quiet=quiet)
        if estimate and model is not None:
            from active_critic.cli._estimate import tell

            more: dict[str, Any] = {"data": data, "files": {"--rest": rest, "--html": html}}
            tell(model, lambda twin: make(twin, given).fit(data), as_json=as_json, quiet=quiet, **more)
            return
        critic = make(model, given)
        with Display(model, quiet=quiet) as progress:
            critic.fit(data, progress=progress)
        critic.save(out)
        asked = (lm, api_base, api_key_env) if model else (None, None, None)
        said = [*notes, *data.notes]
        done = Fitted(critic, evaluator, out, rest, notes, said, asked, common.usage_of(model) if model else None)
        if shown is not None:
            shown.append(done.page(examples, time.monotonic() - started))
    if replaced:
        common.say(f"note: the program that was in {out} has been replaced", quiet=quiet)
    if as_json:
        common.print_json(done.document())
    else:
        done.show()


@dataclass(frozen=True)
class _Maker:
    """Makes the evaluator that was asked for."""

    known: Any
    settings: Mapping[str, Any]

    @property
    def needs_model(self) -> bool:
        return bool(self.known.needs_model)

    def __call__(self, model: Any, options: Mapping[str, Any]) -> Any:
        there = {name: value for name, value in options.items() if name in self.known.parameters}
        return self.known(model, **{**there, **self.settings})

    def check(self, options: Mapping[str, Any]) -> None:
        """Make sure that it can be made with these.

        Raises:
            typer.BadParameter: It cannot.
        """
        try:
            self("not opened", options).check()
        except FitError as problem:
            raise typer.BadParameter(str(problem)) from None


def _maker(ctx: typer.Context, name: str, settings: list[str] | None) -> _Maker:
    """What makes the evaluator of this name, with these settings.

    Raises:
        typer.BadParameter: An unknown name or parameter, a value that it cannot have, or an option that this evaluator
            has no use for.
    """
    from active_critic.meta_evaluation.methods import CRITIC, EVALUATOR_NAMES

    found = {OURS: CRITIC} | {n: known for n, known in EVALUATOR_NAMES.items() if not n.startswith(OURS)}
    if name not in found:
        mode = name.removeprefix(f"{OURS}-") if name in EVALUATOR_NAMES else None
        hint = f"; write --mode {mode}" if mode else ""
        raise typer.BadParameter(f"--evaluator {name!r} is not one of {', '.join(found)}{hint}")
    known = found[name]
    given = opts.parse_settings(settings, of=name).get(name, {})
    try:
        known.check(name, given)
    except FitError as problem:
        raise typer.BadParameter(str(problem)) from None
    for option, parameter in _OPTIONS.items():
        if not opts.typed(ctx, option):
            continue
        if parameter not in known.parameters and option != "seed":  # the split has one, too
            own = ", ".join(known.parameters)
            there = f"it has {own} (--set PARAMETER=VALUE)" if own else "it has none"
            if option in known.parameters:
                there = f"its own is given with --set {option}=VALUE"
            raise typer.BadParameter(f"--{option.replace('_', '-')} has no meaning for {name}; {there}")
        same = option if option == "sampling" else parameter
        if same in given:
            raise typer.BadParameter(f"--{option.replace('_', '-')} and --set {same}=... say the same; give one")
    return _Maker(known, given)
