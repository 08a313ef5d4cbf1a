"""``active-critic score``: from a program and items to verdicts."""

from __future__ import annotations

import itertools
import re
import sys
import time
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from active_critic import bounds
from active_critic.cli import _common as common
from active_critic.cli import _opening as opening
from active_critic.cli import _options as opts
from active_critic.cli import _outputs as outputs
from active_critic.cli._sinks import Kept, Sink, sink_for

if TYPE_CHECKING:
    from active_critic.cli._tally import Tally
    from active_critic.data import BadRow
    from active_critic.evaluators import Evaluator
    from active_critic.evaluators.base import Progress
    from active_critic.lm import LanguageModel
    from active_critic.records import Example, Scale, Verdict

PAGE_ROWS = 1000
"""Verdicts on a page of ``--html`` at most."""
PEOPLES = "input_score"
"""Where people's score stands in a file with verdicts, and is read from when that file is read again."""
_TAKEN = re.compile("(?:input_)+score")


def score(
    ctx: typer.Context,
    program: Annotated[Path, typer.Argument(metavar="PROGRAM.json", help="A program made by `fit`.")],
    items: Annotated[
        Path,
        typer.Argument(
            metavar="ITEMS", help="Items to score, as `fit` reads them; `-` is JSON Lines on standard input."
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            help="Where verdicts go: .jsonl, .csv, .tsv or .json (or .gz).",
            callback=outputs.table_path,
        ),
    ] = None,
    fields: opts.Fields = None,
    lm: opts.ProgramLm = None,
    api_base: opts.ApiBase = None,
    api_key_env: opts.ApiKeyEnv = None,
    context: opts.Context = None,
    strict: opts.Strict = False,
    workers: opts.Workers = None,
    timeout: opts.Timeout = None,
    no_explain: Annotated[
        bool, typer.Option("--no-explain", help="Scores only: the same, much faster where the program rates first.")
    ] = False,
    limit: Annotated[int | None, typer.Option(metavar="N", min=1, help="Only the first N items.")] = None,
    repeat: Annotated[
        int,
        typer.Option(
            metavar="K", min=1, max=bounds.REPEATS, help="Score every item K times, and say how much scores move."
        ),
    ] = 1,
    fail_under: Annotated[
        float | None,
        typer.Option("--fail-under", metavar="SCORE", help="Exit with 8 where the mean score is below this."),
    ] = None,
    journal: opts.JournalPath = None,
    budget: opts.Budgets = None,
    estimate: opts.Estimated = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the summary as one JSON document (needs --out).")
    ] = False,
    html: opts.Html = None,
    quiet: opts.Quiet = False,
) -> None:
    """Score items with a program.

    One record an item, in input order, whatever happens to it: the item's own columns, then the verdict's.
    Without --out, JSON Lines go to standard output, or a table when that is a terminal.
    """
    from active_critic.cli._tally import Tally
    from active_critic.data import iter_examples
    from active_critic.data.files import STDIN
    from active_critic.evaluators import from_protocol, load_protocol
    from active_critic.evaluators.origins import NO_MODEL

    if as_json and out is None and not estimate:
        raise typer.BadParameter("--json prints the summary where the verdicts go; name a file for these with --out")
    if str(out) == "-":
        raise typer.BadParameter("without --out, verdicts go to standard output as JSON Lines; leave it out")
    outputs.refuse_clashes(outputs=(out, html), inputs=(items, program), journal=journal)
    replaced = outputs.refuse_other_rows(out, "unscored")
    columns = opts.parse_fields(fields)
    protocol = load_protocol(program)
    if protocol.provenance.model == NO_MODEL and (repeat > 1 or estimate):
        option = "--estimate" if estimate else "--repeat"
        raise typer.BadParameter(f"{option} has no meaning for this program, which asks no model")
    if fail_under is not None and fail_under not in protocol.scale:
        raise typer.BadParameter(f"--fail-under {fail_under:g} is not on the program's scale {protocol.scale}")
    sink = sink_for(out, protocol, explain=not no_explain)
    once = str(items) in STDIN or (items.exists() and not (items.is_file() or items.is_dir()))
    if sink.needs_header and once:
        raise typer.BadParameter(f"{items} can be read only once, and {out} needs a header first; write .jsonl instead")
    found = iter_examples(items, fields=columns, as_before=protocol.provenance.fields)
    sink.as_read(found)
    stream: Iterable[Example | BadRow] = itertools.islice(found, limit)
    watched = not quiet and sys.stderr.isatty() and items.is_file() and not once
    header, total = _survey(items, limit) if watched or sink.needs_header else ((), 0)
    tally = Tally(protocol, found.fields)
    options = opening.model_options(api_base, api_key_env, context, strict, workers, timeout)
    started = time.monotonic()
    with ExitStack() as stack:
        if not estimate:
            stack.enter_context(sink)  # an output that cannot be written is found before anything is paid for
            shown = stack.enter_context(outputs.text_file(html)) if html else None
        kept = Kept(PAGE_ROWS) if html else None
        how: dict[str, Any] = {"options": options, "journal": journal, "budget": budget, "quiet": quiet}
        model = stack.enter_context(opening.opened_for(ctx.obj, protocol.provenance, lm, estimate=estimate, **how))
        notes = [*found.notes, *common.source_note(protocol.provenance, found.fields)]
        if model is not None and (other := protocol.provenance.unlike(model.name, model.weights)):
            notes.append(
                f"{other}: the agreement in its report does not hold for this model, and there are no intervals"
            )
        if no_explain and getattr(getattr(protocol, "reading", None), "order", None) == "reason_first":
            notes.append("--no-explain saves nothing here: this program reasons before it rates, and its reasons stay")
        common.show_notes(notes, quiet=quiet)
        again = _Again(repeat, explain=not no_explain)
        if estimate and model is not None:
            from active_critic.cli._estimate import tell

            def rehearse(stand_in: LanguageModel) -> None:
                deque(again.score(from_protocol(protocol, stand_in, journal=None), stream), 0)

            tell(model, rehearse, as_json=as_json, quiet=quiet, files={"--out": out, "--html": html})
            return
        fill = dict.fromkeys(header if sink.needs_header else ())
        sinks = [sink, kept] if kept else [sink]
        critic = from_protocol(protocol, model, journal=None)
        later = _score_all(critic, model, stream, sinks, tally, fill, again, total=total, quiet=quiet)
        later += [note for note in found.notes if note not in notes]  # such as empty rows, counted when all are read
        summary = tally.summary() | {
            "program": str(program),
            "output": str(out) if out else None,
            "model": common.name_of(model),
            "usage": common.usage_of(model).to_dict(),
            "seconds": round(time.monotonic() - started, 3),
            "notes": [*notes, *later],
        }
        gate, doubt = _gate(fail_under, summary, tally.documents)
        summary |= {"gate": gate, "notes": [*summary["notes"], *doubt]}
        if shown is not None and kept is not None:
            shown.append(_page(items, summary, kept, protocol.scale))
    common.show_notes(later, quiet=quiet)
    if replaced:
        common.say(f"note: the verdicts that were in {out} have been replaced", quiet=quiet)
    if as_json:
        common.print_json(summary)
    elif not quiet:
        from active_critic.report import score_summary

        common.console(stderr=True).print(score_summary(summary))
        for line in (summary["repeats"] or {}).get("words", ()):
            common.say(line)
    if summary["unscored"]:
        raise typer.Exit(common.UNSCORED)
    if gate is None:
        return
    common.show_notes(doubt, quiet=quiet)
    if not gate["passed"]:
        common.say(_gate_words(gate))
        raise typer.Exit(common.BELOW)


def _gate(bound: float | None, summary: Mapping[str, Any], documents: int) -> tuple[dict[str, Any] | None, list[str]]:
    """What ``--fail-under`` came to, and a note where chance may have decided it; None and no note without it.

    Args:
        bound: What it asks for.
        summary: Of the run.
        documents: How many documents have a score.
    """
    from active_critic.figures_in_words import how_many, interval_words
    from active_critic.stats.resampling import FEWEST

    if bound is None:
        return None, []
    mean, interval = summary["mean_score"], summary["mean_interval"]
    # A sum of scores may be off in its last digit.
    passed = mean is not None and not summary["unscored"] and mean >= bound - 1e-9
    gate = {"threshold": bound, "mean": mean, "passed": passed}
    if mean is None or (interval is not None and not interval[0] <= bound <= interval[1]):
        return gate, []
    if interval is not None:
        said = f"lies within the interval of the mean, {interval_words(interval)}"
        return gate, [f"--fail-under {bound:g} {said}: other documents like these might end on the other side"]
    why = "all documents have the same mean"
    if documents < FEWEST:
        why = f"the texts are of {how_many(documents, 'document')}, fewer than {FEWEST}"
    return gate, [f"--fail-under {bound:g}: the mean has no interval ({why}), so chance cannot be told apart"]


def _gate_words(gate: Mapping[str, Any]) -> str:
    """What ``--fail-under`` came to, in a line."""
    mean = "nothing was scored" if gate["mean"] is None else f"the mean is {gate['mean']:.10g}"
    return f"{mean}, and --fail-under asks for {gate['threshold']:g}"


def _score_all(
    critic: Evaluator,
    model: LanguageModel | None,
    stream: Iterable[Example | BadRow],
    sinks: Sequence[Sink],
    tally: Tally,
    fill: dict[str, None],
    again: _Again,
    *,
    total: int,
    quiet: bool,
) -> list[str]:
    """Score all items into the sinks; what is to be said of their columns."""
    from active_critic.cli._progress import Display, part_of
    from active_critic.data import BadRow, merge_record

    notes: list[str] = []
    pending: deque[Example | BadRow] = deque()  # what was read ahead; at most a window of it

    def fed() -> Iterator[Example | BadRow]:
        for entry in stream:
            pending.append(entry)
            yield entry

    part = min(part_of(critic.judge(), explain=again.explain), total or sys.maxsize)
    with Display(model, quiet=quiet, total=total * again.times, part=part) as progress:
        for verdict, others in again.score(critic, fed(), progress):
            entry = pending.popleft()
            if not isinstance(entry, BadRow) and (known := tally.known(entry)):
                verdict = replace(verdict, notes=(*verdict.notes, known))
            columns = verdict.to_dict() | sinks[0].by_criterion(verdict)
            if again.times > 1:
                columns["repeat_sd"] = tally.repeated(entry, [verdict, *others])
            own = entry.record if sinks[0].needs_header else _comma_read(entry, tally.score_column)
            given = {**fill, **own}
            if (apart := _apart(given, tally.score_column)) is not given and not notes:
                said = f"the column {PEOPLES!r} is called 'input_{PEOPLES}' beside the verdicts"
                notes.append(f"{said}, where {PEOPLES!r} is what people gave; --fields score={PEOPLES} if it is that")
            record = merge_record(apart, columns)
            for sink in sinks:
                sink.put(entry, verdict, record)
            tally.add(entry, verdict)
    return notes


def _apart(record: Mapping[str, Any], people: str) -> Mapping[str, Any]:
    """A record in which nothing of the user's own has the name that people's score will have beside verdicts.

    Args:
        record: As it was read.
        people: The column of people's score.
    """
    from active_critic.records import VERDICT_COLUMNS

    if PEOPLES not in record or people == PEOPLES or record.keys() >= VERDICT_COLUMNS:
        return record
    return {f"input_{name}" if _TAKEN.fullmatch(name) else name: value for name, value in record.items()}


def _comma_read(entry: Example | BadRow, column: str) -> Mapping[str, Any]:
    """An item's own columns, with people's score as a number where it has a decimal comma, which JSON has not."""
    score = getattr(entry, "score", None)
    if score is None or "," not in str(entry.record.get(column)):
        return entry.record
    return {**entry.record, column: score}


@dataclass(frozen=True)
class _Again:
    """Scores items so many times, each time by asking anew.

    Attributes:
        times: How often.
        explain: Also explain.
    """

    times: int
    explain: bool

    def score(
        self,
        critic: Evaluator,
        items: Iterable[Example | BadRow],
        progress: Progress | None = None,
    ) -> Iterator[tuple[Verdict, Sequence[Verdict]]]:
        """The first verdict on every item, and those of the repeats."""
        done = itertools.count(1)  # what is scored again counts, too

        def told(what: str, _: int, total: int) -> None:
            if progress is not None:
                progress(what, next(done), total)

        for first, *others in critic.score_repeatedly(items, self.times, explain=self.explain, progress=told):
            yield first, others


def _survey(path: Path, limit: int | None) -> tuple[tuple[str, ...], int]:
    """All columns of a file and the number of its rows: for a header that holds every row, and for the progress bar."""
    from active_critic.data import BadRow
    from active_critic.data.files import iter_records

    columns: dict[str, None] = {}
    rows = 0
    for item in itertools.islice(iter_records(path), limit):
        rows += 1
        columns.update(dict.fromkeys(item.record if isinstance(item, BadRow) else item[1]))
    return tuple(columns), rows


def _page(items: Path, summary: dict[str, Any], kept: Kept, scale: Scale) -> str:
    """The page of ``--html``: what the gate came to, the summary, what is to be noted, and the verdicts."""
    from rich.text import Text

    from active_critic.report import plain, score_summary, verdict_table
    from active_critic.report.page import page

    said = [*summary["notes"], *(summary["repeats"] or {}).get("words", ())]
    first = []
    if gate := summary["gate"]:
        passed, style = ("Passed", "green") if gate["passed"] else ("Not passed", "red")
        unscored = "; not all items have a score" if summary["unscored"] else ""
        first = [Text(f"{passed}: {_gate_words(gate)}{unscored}.", style=style)]
    if kept.more:
        where = "in the file of --out" if summary["output"] else "left out; --out FILE writes all"
        said.append(f"These are the first {kept.most:,}; {kept.more:,} more are {where}.")
    written = summary["output"] and Path(summary["output"]).name  # the page may be passed on
    return page(
        f"Verdicts on {items.name}",
        *first,
        score_summary(summary | {"output": written}),
        *(Text(plain(line)) for line in said),
        Text("Verdicts", style="bold"),
        verdict_table(kept.rows, whole=True, scale=scale),
    )
