"""What is in a program: what it rates by, how, where it came from, and the report of its fit."""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from active_critic.errors import ProtocolError
from active_critic.protocols import CriticProtocol, Demo
from active_critic.report.fits import candidates_table, fit_report
from active_critic.report.tables import heading, listed, table_of
from active_critic.report.texts import plain, shorten

if TYPE_CHECKING:
    from active_critic.protocols import Protocol, Provenance


def criteria_table(protocol: CriticProtocol) -> Table:
    """The criteria, a line each."""
    table = table_of("criterion", "what a high rating means")
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
    forgeries = (
        " A part of a text that poses as the judge's prompt or reply gains nothing." * protocol.discounts_forgeries
    )
    praise = " A text that the model calls good under a foreign source, too, counts as no more than the average." * (
        protocol.calibration is not None and protocol.calibration.foreign is not None
    )
    return (
        f"The model rates {what} from {reading.low} to {reading.high}, {order} it explains; ratings are read {how} "
        f"and given on your scale {protocol.scale}.{_combination(protocol)}{forgeries}{praise}"
    )


def _combination(protocol: CriticProtocol) -> str:
    if protocol.calibration is None:
        return ""
    shares = ", ".join(f"{name} {share:.0%}" for name, share in protocol.calibration.shares.items())
    return f" The score is combined from {shares} (shares of the weights)."


def program_account(protocol: Protocol, *, report_first: bool = False) -> RenderableType:
    """A readable account of a program: what it rates by, how, where it came from, and the report of its fit.

    Args:
        protocol: The program.
        report_first: Begin with the report and the notes; otherwise they come last, where a terminal shows them.

    Raises:
        ProtocolError: The report is not as a fit writes it.
    """
    parts: list[RenderableType] = []
    if isinstance(protocol, CriticProtocol):
        parts += _critic_account(protocol)
    for title, lines in protocol.account():
        parts += [heading(title), *(Text(plain(line, lines=True)) for line in lines), Text("")]
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
    table = table_of("", "", header=False)
    for name, value in facts.items():
        table.add_row(name, Text(plain(value)))
    parts += [heading("Where it came from"), table]
    try:
        report = _report_account(protocol)
        return Group(*report, Text(""), *parts) if report_first else Group(*parts, Text(""), *report)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as problem:
        what = f"{problem} is missing" if isinstance(problem, KeyError) else str(problem)
        raise ProtocolError(f"the report in the program is none of a fit: {what[:200]}; fit it again") from problem


def _report_account(protocol: Protocol) -> list[RenderableType]:
    origin, parts = protocol.provenance, list[RenderableType]()
    if origin.report or isinstance(protocol, CriticProtocol):
        parts.append(heading("Report of the fit"))
        parts.append(fit_report(origin.report) if origin.report else Text("none was made"))
    if origin.report.get("candidates"):
        parts += [Text(""), heading("Candidates of the search"), candidates_table(origin.report["candidates"])]
    notes = fit_notes(origin)
    return [*parts, *notes] if parts else notes[1:]


def fit_notes(origin: Provenance, said: Container[str] = ()) -> list[RenderableType]:
    """What a fit had to tell, each once, without what has been said; empty where it had nothing more."""
    found = dict.fromkeys([*origin.notes, *origin.report.get("notes", ())])
    notes = [note for note in found if note not in said]
    return [Text(""), heading("Notes"), listed(notes)] if notes else []


def _critic_account(protocol: CriticProtocol) -> list[RenderableType]:
    parts: list[RenderableType] = [heading("Task"), Text(plain(protocol.task_description, lines=True)), Text("")]
    if protocol.criteria:
        parts += [heading("Criteria"), criteria_table(protocol), Text("")]
    parts.append(heading(f"Demonstrations ({len(protocol.demos)})"))
    parts.append(_shown(protocol, protocol.demos) if protocol.demos else Text("none"))
    for side, texts in (protocol.contrast.sides if protocol.contrast is not None else {}).items():
        parts += [Text(""), heading(f"Contrast: {side} texts ({len(texts)})"), _shown(protocol, texts)]
    return [
        *parts,
        Text(""),
        heading("How scores are read"),
        Text(plain(reading_words(protocol))),
        *_parts(protocol),
        Text(""),
    ]


def _shown(protocol: CriticProtocol, demos: Sequence[Demo]) -> RenderableType:
    """The scored texts that stand in a prompt."""
    table = table_of("people", "source", "response", right=("people",))
    for demo in demos:
        score = f"{protocol.scale.from_percent(demo.score):.6g}"
        table.add_row(score, Text(shorten(demo.source, 120)), Text(shorten(demo.response, 120)))
    return table


def _parts(protocol: CriticProtocol) -> list[RenderableType]:
    """What a score that is combined is made from."""
    if protocol.calibration is None:
        return []
    numbers = ("share of the weights", "points for one standard deviation")
    table = table_of("part", *numbers, right=numbers)
    shares = protocol.calibration.shares
    for part in protocol.calibration.parts:
        table.add_row(Text(plain(part.name)), f"{shares[part.name]:.0%}", f"{part.weight:.2f}")
    return [Text(""), table]
