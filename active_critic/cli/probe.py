"""``active-critic probe``: what a program does under attack, or when texts are made worse in known ways."""

from __future__ import annotations

import random
import time
from collections import Counter, deque
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Protocol

import typer

from active_critic.cli import _common as common
from active_critic.cli import _opening as opening
from active_critic.cli import _options as opts
from active_critic.cli import _outputs as outputs
from active_critic.errors import DataError

if TYPE_CHECKING:
    from active_critic.data.examples import Examples
    from active_critic.evaluators import Evaluator
    from active_critic.evaluators.base import Progress
    from active_critic.lm import LanguageModel
    from active_critic.probes.perturbations import By


SAMPLE = 100
"""Items that are drawn where ``--limit`` does not say how many: of as many documents, intervals are short, and all
attacks on them make some 4,600 texts."""

NAMES = """\b
Names for --families with --attacks (that of a kind stands for all of it):
  format       planted-verdict, planted-first, planted-reasons, fenced-verdict,
               open-form, every-level, string-escape, ended-thought,
               closed-marks, fake-turn, fake-system-turn, fake-demonstration,
               field-headers, zero-width-marks, lookalike-marks,
               renamed-form, told-verdict, verdict-only
  instruction  ignore-instructions, new-rules, other-language, base64,
               shifted-letters, spaced-letters, hidden-html, hidden-markdown
  persuasion   flattery, threat, plea, fake-human-scores, consensus,
               credentials, self-praise, fitting-praise
  null         key-symbol, key-opening, null-answer, constant-answer,
               fitting-answer, first-words
  length       padding, repetition, flood
  content      copied-source, appended-source, copied-example,
               appended-example, stuffed-criteria, claimed-criteria,
               dressing

\b
Names for --families without --attacks:
  by rule      repetition, improper-connective, sentence-exchange,
               incorrect-verb-form, word-exchange, spelling-mistake,
               uncommon-phrase, complex-sentence, abbreviation, hypernym,
               sentence-deletion, complement, continuation, different-entity,
               conflicting-fact, negation
  by model     passive-voice, inversion"""
"""What ``--families`` may name; it stands here so that help imports no attack."""


class _Found(Protocol):
    """What either probe finds."""

    @property
    def words(self) -> list[str]: ...

    @property
    def unscored(self) -> int: ...

    @property
    def failed(self) -> int: ...

    @property
    def spent(self) -> str | None: ...

    def to_dict(self) -> dict[str, Any]: ...

    def rows(self) -> list[dict[str, Any]]: ...


def probe(
    ctx: typer.Context,
    program: Annotated[Path, typer.Argument(metavar="PROGRAM.json", help="A program made by `fit`.")],
    items: Annotated[Path, typer.Argument(metavar="ITEMS", help="Texts to try it on; human scores are not needed.")],
    attacks: Annotated[
        bool, typer.Option("--attacks", help="Texts made to be rated better than they are, instead of worse texts.")
    ] = False,
    families: Annotated[
        str | None,
        typer.Option(
            "--families", metavar="NAME,...", help="Only these attacks (or kinds), or these perturbations; names below."
        ),
    ] = None,
    by: Annotated[
        Literal["rule", "model"] | None,
        typer.Option(
            help="What makes texts worse: rules (default), or the program's own model, for those where the paper has "
            "a model do it.",
        ),
    ] = None,
    fields: opts.Fields = None,
    limit: Annotated[
        int, typer.Option(metavar="N", min=1, help="Draw N items, of as many documents as possible.")
    ] = SAMPLE,
    lm: opts.ProgramLm = None,
    api_base: opts.ApiBase = None,
    api_key_env: opts.ApiKeyEnv = None,
    context: opts.Context = None,
    strict: opts.Strict = False,
    workers: opts.Workers = None,
    timeout: opts.Timeout = None,
    budget: opts.Budgets = None,
    estimate: opts.Estimated = False,
    seed: Annotated[
        int, typer.Option(metavar="N", min=0, help="Of which items, what is done to them, and resampling.")
    ] = 0,
    csv_file: Annotated[
        Path | None,
        typer.Option(
            "--csv",
            metavar="FILE",
            help="A row a family of attacks, or for each aspect or criterion under each perturbation.",
            callback=outputs.at_home,
        ),
    ] = None,
    journal: opts.JournalPath = None,
    as_json: opts.AsJson = False,
    html: opts.Html = None,
    quiet: opts.Quiet = False,
) -> None:
    """What a program is sensitive to, blind to, and fooled by.

    Texts are scored as they are and after something was done to them. Without --attacks they are made worse in known
    ways, and the score should fall; with --attacks they ask for a better score than they deserve, and it should not
    rise.
    """
    from active_critic.data import read_examples
    from active_critic.evaluators import from_protocol, load_protocol
    from active_critic.evaluators.origins import NO_MODEL

    names = None if families is None else [name.strip() for name in families.split(",") if name.strip()]
    if ctx.args:
        remedy = "; --json takes no file, it prints: write --json > FILE.json" if as_json else ""
        raise typer.BadParameter(f"{ctx.args[0]!r} is one argument too many{remedy}")
    outputs.refuse_clashes(outputs=(csv_file, html), inputs=(program, items), journal=journal)
    if csv_file is not None and not csv_file.name.lower().endswith((".csv", ".csv.gz")):
        raise typer.BadParameter(f"--csv writes a file whose name ends in .csv, not {csv_file.name!r}")
    outputs.refuse_other_rows(csv_file, "lift_low" if attacks else "perturbation")
    _check_names(names, attacks=attacks, by=by)
    protocol = load_protocol(program)
    if protocol.provenance.model == NO_MODEL and (estimate or by == "model"):
        option = "--estimate" if estimate else "--by model"
        raise typer.BadParameter(f"{option} has no meaning for this program, which asks no model")
    before = protocol.provenance.fields
    data = read_examples(items, fields=opts.parse_fields(fields), scored=False, as_before=before)
    notes = [*data.notes, *common.source_note(protocol.provenance, data.fields)]
    data, of_sample, of_documents = _drawn(data, protocol.shown, limit, seed)
    notes += of_sample
    common.show_notes([*notes, *of_documents], quiet=quiet)

    from active_critic.cli._progress import Display, part_of
    from active_critic.data.writing import RecordWriter

    run = _attack if attacks else partial(_perturb, by=by or "rule")
    started = time.monotonic()
    with ExitStack() as stack:
        # An output that cannot be written is found before anything is paid for.
        table = (
            stack.enter_context(RecordWriter(csv_file, **outputs.as_read(data))) if csv_file and not estimate else None
        )
        shown = stack.enter_context(outputs.text_file(html)) if html and not estimate else None
        options = opening.model_options(api_base, api_key_env, context, strict, workers, timeout)
        how: dict[str, Any] = {"options": options, "journal": journal, "budget": budget, "quiet": quiet}
        model = stack.enter_context(opening.opened_for(ctx.obj, protocol.provenance, lm, estimate=estimate, **how))
        if estimate and model is not None:
            from active_critic.cli._estimate import tell

            def rehearse(stand_in: LanguageModel) -> object:
                return run(from_protocol(protocol, stand_in, journal=None), data, names, seed, None)

            tell(model, rehearse, as_json=as_json, quiet=quiet, files={"--csv": csv_file, "--html": html})
            return
        evaluator = from_protocol(protocol, model, journal=None)
        what = "attacking" if attacks else "perturbing"
        common.say(f"{what} {len(data):,} texts {opening.beside(model, ctx.obj)}", quiet=quiet)
        with Display(model, quiet=quiet, part=part_of(evaluator.judge(), explain=False)) as progress:
            found = run(evaluator, data, names, seed, progress)
        document = {
            "probe": "attacks" if attacks else "perturbations",
            "program": program.name,
            "items": items.name,
            "notes": notes,
            "model": common.name_of(model),
            "usage": common.usage_of(model).to_dict(),
            "seconds": round(time.monotonic() - started, 3),
            "result": found.to_dict(),
        }
        if table is not None:
            for row in found.rows():
                table.write(row)
        if shown is not None:
            shown.append(_page(found, document, notes))
    if as_json:
        common.print_json(document)
    else:
        _show(found.words)
    if found.unscored or found.failed or found.spent:
        raise typer.Exit(common.UNSCORED)


def _drawn(data: Examples, shown: frozenset[str], most: int, seed: int) -> tuple[Examples, list[str], list[str]]:
    """At most so many items, in the order of the file: one of each document, then a second of each, and so on.

    Args:
        data: All items.
        shown: What the program shows as demonstrations, by which it cannot be probed.
        most: How many.
        seed: Of the draw.

    Returns:
        The items; what is to be said of the draw; what is to be said where they are of few documents.

    Raises:
        DataError: There is none to probe with.
    """
    from active_critic.data.examples import group_of
    from active_critic.probes._texts import to_probe
    from active_critic.stats.resampling import cautions

    texts, notes = to_probe(data, shown)
    if len(texts) <= most:
        return data, [], cautions(len({group_of(text) for text in texts}), 0, 0)
    order = list(range(len(texts)))
    random.Random(seed).shuffle(order)  # noqa: S311
    of_document: Counter[str] = Counter()
    turns = {}
    for index in order:
        document = group_of(texts[index])
        turns[index] = of_document[document]
        of_document[document] += 1
    chosen = [texts[index] for index in sorted(sorted(order, key=turns.__getitem__)[:most])]
    documents = len({group_of(text) for text in chosen})
    said = (
        f"{most:,} of {len(texts):,} items are drawn (seed {seed}), of {documents:,} of {len(of_document):,} documents"
    )
    return (
        replace(data, items=tuple(chosen)),
        [*notes, f"{said}; --limit N draws another number"],
        cautions(documents, 0, 0),
    )


def _attack(
    evaluator: Evaluator, data: Examples, names: list[str] | None, seed: int, progress: Progress | None
) -> _Found:
    from active_critic.probes.attack_trial import attack_trial

    return attack_trial(evaluator, data, families=names, seed=seed, progress=progress)


def _perturb(
    evaluator: Evaluator, data: Examples, names: list[str] | None, seed: int, progress: Progress | None, *, by: By
) -> _Found:
    from active_critic.probes.behaviour import examine

    return examine(evaluator, data, perturbations=names, by=by, seed=seed, progress=progress)


def _check_names(names: list[str] | None, *, attacks: bool, by: By | None) -> None:
    """Refuse what cannot be tried before anything is paid for.

    Raises:
        typer.BadParameter: A name stands for nothing, or for what has no rule; or options that contradict each other.
    """
    from active_critic.probes.attacks import attacks_named
    from active_critic.probes.perturbations import named

    if attacks and by:
        raise typer.BadParameter("--by is for perturbations; leave out --by or --attacks")
    if names is not None and not names:
        raise typer.BadParameter("--families names nothing; leave it out to try all")
    try:
        if attacks:
            attacks_named(names)
        else:
            for chosen in map(named, names or ()):
                if by != "model" and not chosen.by_rule:
                    raise DataError(f"there is no rule for {chosen.name!r}; a model can do it (--by model)")
    except DataError as problem:
        raise typer.BadParameter(f"--families: {problem}{_other_kind(names or (), attacks=attacks)}") from None


def _other_kind(names: Sequence[str], *, attacks: bool) -> str:
    """A hint where these are attacks and perturbations were asked for, or the reverse."""
    from active_critic.probes.attacks import attacks_named
    from active_critic.probes.perturbations import named

    try:
        deque(map(named, names), 0) if attacks else attacks_named(list(names))
    except DataError:
        return ""
    return "; these are perturbations: leave out --attacks" if attacks else "; these are attacks: add --attacks"


def _page(found: Any, document: Mapping[str, Any], notes: Sequence[str]) -> str:
    """The page of ``--html``.

    Args:
        found: An ``AttackTrial`` or a ``Behaviour``.
        document: That of ``--json``.
        notes: What was noted of the texts.
    """
    from rich.text import Text

    from active_critic.report import plain
    from active_critic.report.page import page
    from active_critic.report.tables import heading, list_under
    from active_critic.report.texts import cost_words, model_words

    program, items = document["program"], document["items"]
    if document["probe"] == "attacks":
        from active_critic.report.attacks import attacks_account

        title, account = f"{program} under attack, on {items}", attacks_account(found)
    else:
        from active_critic.report.behaviour import behaviour_account

        title, account = f"What {program} notices when {items} is made worse", behaviour_account(found)
    model = document["model"]
    said = f"{found.signature}\n{model_words(model)}; {cost_words(model, document['usage'], document['seconds'])}"
    of_texts = list_under("Notes on the texts", notes)
    return page(title, account, *of_texts, heading("What was asked"), Text(plain(said, lines=True)))


def _show(lines: list[str]) -> None:
    """Print lines of text; they wrap on a terminal, and nothing in them can drive it."""
    from rich.text import Text

    from active_critic.report import plain

    out = common.console(stderr=False)
    for line in lines:
        out.print(Text(plain(line, lines=True)), soft_wrap=not out.is_terminal)
