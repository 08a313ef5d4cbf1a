"""What people look at: fits, verdicts, programs and endpoints as rich renderables. Rendering only.

Everything that came from data or from a model goes through :func:`plain`, so that nothing in it drives the terminal.
No boxes are drawn, so the same text is fine in a narrow terminal, in a pipe and in a log.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, Group, RenderableType
from rich.table import Table
from rich.text import Text

from active_critic.errors import ProtocolError
from active_critic.protocols import CriticProtocol
from active_critic.writing import UNSAFE

if TYPE_CHECKING:
    from active_critic.lm.check import Findings
    from active_critic.protocols import Protocol, Provenance
    from active_critic.records import Usage, Verdict

LONGEST_NAME = 24
"""Characters of a column's name that stand on one line of its heading."""
SHORT = 160
"""Characters of a text that stand in a table."""
WHOLE = 20_000
"""The same where texts are shown whole."""

_RIVALS = {"critic": "this critic", "zero_shot": "zero-shot", "surface": "surface floor"}
_COEFFICIENTS = {"pearson": "Pearson", "spearman": "Spearman", "kendall": "Kendall", "mean": "mean of 3"}


def plain(text: object, *, lines: bool = False) -> str:
    r"""Text that cannot drive a terminal: control and direction characters are shown as ``\x1b``.

    Args:
        text: Anything.
        lines: Keep line breaks; otherwise every run of white space becomes one blank.
    """
    said = str(text).replace("\t", " ").replace("\r\n", "\n")
    if not lines:
        said = " ".join(said.split())
    return UNSAFE.sub(lambda found: found.group().encode("unicode_escape").decode(), said)


def shorten(text: object, longest: int = SHORT) -> str:
    """The beginning of a text on one line, ended by ``…`` where something is missing."""
    said = plain(text)
    if len(said) <= longest:
        return said
    cut = said[: longest - 1]
    while cut and unicodedata.combining(said[len(cut)]):
        cut = cut[:-1]
    return cut.rstrip() + "…"


def usage_words(usage: Usage | Mapping[str, Any], *, short: bool = False) -> str:
    """What calls cost: ``412 calls, 310k tokens read (80% from the prefix cache), 20k written, $0.12``.

    Args:
        usage: The figures, or ``Usage.to_dict``.
        short: Calls, tokens and cost only, for a progress bar.
    """
    figures = usage if isinstance(usage, Mapping) else usage.to_dict()
    read, written = figures["prompt_tokens"], figures["completion_tokens"]
    cost = "" if figures["cost"] is None else f"${figures['cost']:.4g}"
    replayed = figures["replayed"]
    if short:
        calls = f"{figures['calls']:,} calls"
        return " ".join(part for part in (calls, f"{count(read + written)} tok", cost) if part)
    parts = [f"{figures['calls']:,} call{'' if figures['calls'] == 1 else 's'}"]
    if replayed:
        parts.append(f"{replayed:,} from the journal")
    cached = f" ({figures['cached_tokens'] / read:.0%} from the prefix cache)" if figures["cached_tokens"] else ""
    parts += [f"{count(read)} tokens read{cached}", f"{count(written)} written"]
    return ", ".join(parts + ([cost] if cost else []))


def count(number: float) -> str:
    """A number of tokens for people: ``310k``."""
    if number < 10_000:
        return f"{number:,}"
    return f"{number / 1e3:.0f}k" if number < 1e6 else f"{number / 1e6:.1f}M"


def duration(seconds: float) -> str:
    """A length of time for people: ``42 s``, ``3.5 minutes``."""
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:,.1f} minutes"


def _table(*columns: str, right: Sequence[str] = (), header: bool = True) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=header, header_style="bold")
    for column in columns:
        table.add_column(column, justify="right" if column in right else "left", overflow="fold")
    return table


@dataclass(frozen=True)
class Columns:
    """A table with as many columns side by side as there is room for, and the others below; no cell is cut.

    Attributes:
        names: Names of the columns.
        rows: The cells of every row, by its name.
    """

    names: Sequence[str]
    rows: Mapping[str, Sequence[str]]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        first = max(map(cell_len, self.rows))
        widths = [
            max(*(cell_len(cells[i]) for cells in self.rows.values()), min(cell_len(name), LONGEST_NAME))
            for i, name in enumerate(self.names)
        ]
        room, beside = options.max_width - first - 2, 0
        chunks: list[list[int]] = []
        for place, width in enumerate(widths):
            if not chunks or beside + width > room:
                chunks.append([])
                beside = 0
            chunks[-1].append(place)
            beside += width + 2
        for number, chunk in enumerate(chunks):
            if number:
                yield Text("")
            table = self.table(chunk)
            for column, width in zip(table.columns, [first, *(widths[i] for i in chunk)], strict=True):
                column.width = min(width, options.max_width)
            yield table

    def table(self, places: Sequence[int]) -> Table:
        """The columns at these places as one table."""
        table = _table("", *(self.names[i] for i in places))
        for name, cells in self.rows.items():
            style = "bold" if name == _COEFFICIENTS["mean"] else ""
            table.add_row(name, *(Text(cells[i]) for i in places), style=style)
        return table


def _heading(text: str) -> Text:
    return Text(plain(text), style="bold")


def _listed(lines: Iterable[str]) -> Table:
    table = _table("", "", header=False)
    for line in lines:
        table.add_row("-", Text(plain(line)))
    return table


# --- agreement ---------------------------------------------------------------------------------------------------


def _figure(value: float | None, interval: Sequence[float] | None) -> str:
    if value is None:
        return "not defined"
    return f"{value:.2f}" + (f" [{interval[0]:.2f}, {interval[1]:.2f}]" if interval else "")


def agreement_table(
    found: Mapping[str, Mapping[str, Any] | None],
    *,
    whom: str = "people",
    more: Mapping[str, Sequence[str]] | None = None,
) -> RenderableType:
    """Pearson, Spearman, Kendall and their mean with intervals.

    Args:
        found: A column an evaluator (``Agreement.to_dict``); None where it was not measured.
        whom: Whose scores they agree with.
        more: Further rows, a cell for each evaluator that was measured.
    """
    known = {name: figures for name, figures in found.items() if figures}
    if not known:
        return Text("Agreement with people could not be measured.")
    rows = {
        shown: [_figure(figures[name], figures[f"{name}_interval"]) for figures in known.values()]
        for name, shown in _COEFFICIENTS.items()
    }
    rows["scored"] = [f"{figures['n']:,} of {figures['total']:,}" for figures in known.values()]
    table = Columns(list(known), {**rows, **{name: list(cells) for name, cells in (more or {}).items()}})
    first = next(iter(known.values()))
    level = {"dataset": "over all examples", "document": "within documents", "system": "over systems"}[first["level"]]
    basis = f"Agreement with {whom} {level}"
    if first["mean_interval"]:
        basis += (
            f"; in brackets {first['confidence']:.0%} bootstrap intervals over {first['groups']:,} documents "
            f"({first['resamples']:,} resamples, seed {plain(first['seed'])})"
        )
    return Group(table, Text(f"{basis}.", style="dim"))


def fit_report(report: Mapping[str, Any]) -> RenderableType:
    """A fit's report (``FitReport.to_dict``): figures, what they say in words, what it cost."""
    if not report:
        return Text("No report was made (--no-report), so how well this critic agrees with people is not known.")
    table = agreement_table({shown: report.get(name) for name, shown in _RIVALS.items()})
    where = f"Out of fold: {report['held_out']:,} of the {report['examples']:,} training examples count; one that is a "
    where += "demonstration of its fold's winner does not."
    parts: list[RenderableType] = [table, Text(where, style="dim"), Text("")]
    parts += [Text(plain(sentence)) for sentence in report["words"]]
    return Group(*parts, Text(""), _usage_table(report["usage"]))


def _usage_table(stages: Mapping[str, Mapping[str, Any]]) -> Table:
    columns = ("what it cost", "calls", "replayed", "read", "cached", "written", "seconds", "cost")
    table = _table(*columns, right=columns[1:])
    for stage, used in stages.items():
        table.add_row(
            Text(plain(stage)),
            f"{used['calls']:,}",
            f"{used['replayed']:,}",
            count(used["prompt_tokens"]),
            count(used["cached_tokens"]),
            count(used["completion_tokens"]),
            f"{used['seconds']:,.0f}",
            "not known" if used["cost"] is None else f"${used['cost']:.4f}",
        )
    return table


# --- verdicts ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Judged:
    """A row of a table of verdicts: a label, the verdict, and, where known, the texts and the human score."""

    label: str
    verdict: Verdict
    source: str = ""
    response: str = ""
    human: float | None = None


def verdict_table(rows: Sequence[Judged], *, whom: str = "people", whole: bool = False) -> Table:
    """Verdicts to read; the scores to compare with have a column of their own, ``whom``, where there are any.

    Args:
        rows: The verdicts.
        whom: Whose scores they are compared with.
        whole: Shorten only what is longer than ``WHOLE``, and show intervals and notes, too.
    """
    human = any(row.human is not None for row in rows)
    columns = ("item", *((whom,) if human else ()), "critic", "text", "why")
    table = _table(*columns, right=(whom, "critic"))
    table.columns[0].max_width = 12

    def cut(text: str, longest: int) -> str:
        if not whole:
            return shorten(text, longest)
        return plain(text[:WHOLE], lines=True) + ("…" if len(text) > WHOLE else "")

    for row in rows:
        text = Text(cut(row.source, 110) + "\n→ ", style="dim") if row.source.strip() else Text()
        text.append(cut(row.response, 220), style="not dim")
        score = Text(_score(row.verdict.score), style="bold")
        if whole and row.verdict.interval:
            low, high = row.verdict.interval
            score.append(f"\n{low:.2f} to {high:.2f}", style="not bold dim")
        cells = [Text(shorten(row.label, 40)), score, text, _why(row.verdict, cut)]
        if whole:
            cells[-1].append("".join(f"\nNote: {plain(note)}" for note in row.verdict.notes), style="dim")
        if human:
            cells.insert(1, Text(_given(row.human)))
        table.add_row(*cells)
        table.add_row()
    return table


def _score(score: float | None) -> str:
    return "-" if score is None else f"{score:.2f}"


def _given(score: float | None) -> str:
    return "-" if score is None else f"{score:.6g}"


def _why(verdict: Verdict, cut: Callable[[str, int], str]) -> Text:
    if verdict.unscored is not None:
        return Text("unscored: " + cut(verdict.unscored, 240), style="red")
    text = Text(cut(verdict.explanation or "", 240))
    if verdict.criteria:
        ratings = ", ".join(f"{plain(c.name)} {_score(c.score)}" for c in verdict.criteria)
        text.append(("\n" if text.plain else "") + ratings, style="dim")
    if verdict.advice:
        text.append("\nBetter: " + cut(verdict.advice, SHORT), style="dim")
    return text


def score_summary(summary: Mapping[str, Any]) -> RenderableType:
    """The summary of a scoring run (the document of ``score --json``)."""
    mean = "" if summary["mean_score"] is None else f", mean score {summary['mean_score']:.2f} on {summary['scale']}"
    parts: list[RenderableType] = [
        Text(f"{summary['scored']:,} of {summary['items']:,} items scored{mean}", style="bold")
    ]
    if summary["unscored"]:
        parts.append(Text(f"{summary['unscored']:,} unscored:", style="red"))
        parts.append(
            _listed(f"{r['count']:,} × {shorten(r['reason'], 300)} (first: row {r['row']})" for r in summary["reasons"])
        )
    if summary["agreement"]:
        found = summary["agreement"]
        parts.append(Text(""))
        if found["figures"]["mean"] is not None:
            parts.append(agreement_table({"this critic": found["figures"]}))
        parts += [Text(plain(sentence)) for sentence in found["words"]]
        parts.append(Text(""))
    parts.append(Text(f"{usage_words(summary['usage'])}; {duration(summary['seconds'])} in all"))
    if summary["output"]:
        parts.append(Text(f"written to {plain(summary['output'])}"))
    return Group(*parts)


# --- programs ----------------------------------------------------------------------------------------------------


def criteria_table(protocol: CriticProtocol) -> Table:
    """The criteria, a line each."""
    table = _table("criterion", "what a high rating means")
    for criterion in protocol.criteria:
        table.add_row(Text(plain(criterion.name)), Text(plain(criterion.definition)))
    return table


def reading_words(protocol: CriticProtocol) -> str:
    """How ratings are asked for and read, in a sentence."""
    reading = protocol.reading
    how = {
        "probabilities": "as the expectation over the probabilities of the rating tokens",
        "text": "from the text of the reply",
    }[reading.source]
    order = "before" if reading.order == "rating_first" else "after"
    what = "each criterion, then the whole" if protocol.mode == "fine" else "the whole at once"
    return (
        f"The model rates {what} from {reading.low} to {reading.high}, {order} it explains; ratings are read {how} "
        f"and given on your scale {protocol.scale}.{_combination(protocol)}"
    )


def _combination(protocol: CriticProtocol) -> str:
    if protocol.calibration is None:
        return ""
    shares = ", ".join(f"{name} {share:.0%}" for name, share in protocol.calibration.shares.items())
    return f" The score is combined from {shares} (shares of the weights)."


def program_account(protocol: Protocol) -> RenderableType:
    """A readable account of a program: what it rates by, how, where it came from, and the report of its fit.

    Raises:
        ProtocolError: The report is not as a fit writes it.
    """
    parts: list[RenderableType] = []
    if isinstance(protocol, CriticProtocol):
        parts += _critic_account(protocol)
    for heading, lines in protocol.account():
        parts += [_heading(heading), *(Text(plain(line, lines=True)) for line in lines), Text("")]
    origin = protocol.provenance
    facts = {
        "made by": ", ".join([protocol.evaluator, *protocol.traits[:1]]),
        "model": origin.model,
        "weights": f"sha256 {origin.weights}" if origin.weights else "not embedded",
        "examples": f"{origin.n_train} (data sha256 {origin.data_sha256[:16]})" if origin.n_train else "none",
        "seed": origin.seed,
        "versions": ", ".join(f"{name} {version}" for name, version in origin.versions.items()) or "not recorded",
        "settings": ", ".join(f"{k}={v}" for k, v in origin.settings.items() if v is not None) or "none",
    }
    table = _table("", "", header=False)
    for name, value in facts.items():
        table.add_row(name, Text(plain(value)))
    parts += [_heading("Where it came from"), table]
    try:
        return Group(*parts, *_report_account(protocol))
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as problem:
        what = f"{problem} is missing" if isinstance(problem, KeyError) else str(problem)
        raise ProtocolError(f"the report in the program is none of a fit: {what[:200]}; fit it again") from problem


def _report_account(protocol: Protocol) -> list[RenderableType]:
    origin, parts = protocol.provenance, list[RenderableType]()
    if origin.report or isinstance(protocol, CriticProtocol):
        parts += [Text(""), _heading("Report of the fit")]
        parts.append(fit_report(origin.report) if origin.report else Text("none was made"))
    return [*parts, *fit_notes(origin)]


def fit_notes(origin: Provenance, said: Container[str] = ()) -> list[RenderableType]:
    """What a fit had to tell, each once, without what has been said; empty where it had nothing more."""
    found = dict.fromkeys([*origin.notes, *origin.report.get("notes", ())])
    notes = [note for note in found if note not in said]
    return [Text(""), _heading("Notes"), _listed(notes)] if notes else []


def _critic_account(protocol: CriticProtocol) -> list[RenderableType]:
    parts: list[RenderableType] = [_heading("Task"), Text(plain(protocol.task_description, lines=True)), Text("")]
    if protocol.criteria:
        parts += [_heading("Criteria"), criteria_table(protocol), Text("")]
    parts.append(_heading(f"Demonstrations ({len(protocol.demos)})"))
    demos = _table("people", "source", "response", right=("people",))
    for demo in protocol.demos:
        score = _given(protocol.scale.from_percent(demo.score))
        demos.add_row(score, Text(shorten(demo.source, 120)), Text(shorten(demo.response, 120)))
    parts.append(demos if protocol.demos else Text("none"))
    return [*parts, Text(""), _heading("How scores are read"), Text(plain(reading_words(protocol))), Text("")]


# --- endpoints ---------------------------------------------------------------------------------------------------


def findings_table(found: Findings) -> RenderableType:
    """What an endpoint can do, and what that means for scoring."""

    def said(yes: bool) -> str:
        return "yes" if yes else "no"

    schema = (
        "replies always have the form asked for"
        if found.json_schema
        else ("the form is only asked for; replies that do not have it are asked for once more, then left unscored")
    )
    probabilities = (
        "ratings are read as an expectation over rating tokens"
        if found.probabilities
        else ("ratings are read from the text of the reply; agreement with people is usually lower")
    )
    temperature = (
        "temperature 0: the same question gets the same answer, as far as the endpoint goes"
        if (found.temperature)
        else "the endpoint takes none, so scores differ from run to run (the journal repeats those it has)"
    )
    cache = (
        "texts that share a source, and all that share instructions, are read faster"
        if found.prefix_cache
        else ("none reported: every call reads instructions and demonstrations anew")
    )
    table = _table("what", "found", "what it means")
    table.add_row("chat", said(found.chat), "it answers")
    table.add_row("JSON schema", said(found.json_schema), schema)
    table.add_row("token probabilities", said(found.probabilities), probabilities)
    if found.rating_mass is not None:
        sure = (
            "rating tokens carry the probability, as they should"
            if found.rating_mass >= 0.5
            else ("most probability falls elsewhere: expectations rest on little")
        )
        table.add_row("mass on ratings", f"{found.rating_mass:.0%}", sure)
    weighed = "GPTScore works with it" if found.likelihood else "no GPTScore, and Active-Critic's score does without it"
    table.add_row("likelihood", said(found.likelihood), weighed)
    table.add_row("temperature", said(found.temperature), temperature)
    table.add_row("prefix cache", said(found.prefix_cache), cache)
    table.add_row("reading", f"{found.prompt_tokens_per_second:,.0f} tokens/s", "speed of reading prompts, from here")
    table.add_row("writing", f"{found.completion_tokens_per_second:,.0f} tokens/s", "explanations take most of a call")
    parts: list[RenderableType] = [_heading(found.model), table]
    if found.notes:
        parts += [Text(""), _heading("What was refused"), _listed(found.notes)]
    return Group(*parts)
