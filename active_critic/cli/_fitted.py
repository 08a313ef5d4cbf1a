"""What ``active-critic fit`` shows of a fit: on the terminal, as JSON and as a page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from active_critic.cli import _common as common
from active_critic.cli import _opening as opening

if TYPE_CHECKING:
    from active_critic.records import Usage

OURS = "active-critic"
"""The evaluator of which most is shown."""


@dataclass(frozen=True)
class Fitted:
    """A fit, and what is shown of it.

    Attributes:
        critic: The evaluator, fitted.
        evaluator: Its name.
        out: Where its program is.
        rest: Where the rows are that were held back, or None.
        notes: What was noted of the examples, and shown.
        said: That, and what is noted of the part of them that was fitted on: the same, of fewer rows.
        asked: The model, its address and the variable with its key, as they were given; None where none was asked.
        usage: What it cost; None where no model was asked.
    """

    critic: Any
    evaluator: str
    out: Path
    rest: Path | None
    notes: Sequence[str]
    said: Sequence[str]
    asked: tuple[str | None, str | None, str | None]
    usage: Usage | None

    def last(self, *, passed_on: bool = False) -> str:
        """What is said at the end; where it is passed on, it tells no folder and no address."""
        where = self.out.name if passed_on else self.out
        score_with = opening.scoring(self.out, *self.asked, passed_on=passed_on)
        return f"{self.critic.signature}\nsaved in {where}; score with: {score_with}"

    def document(self) -> dict[str, Any]:
        """What ``--json`` prints."""
        from active_critic.records import Usage

        program = self.critic.fitted
        report = program.provenance.report
        more = [note for note in (*program.provenance.notes, *report.get("notes", ())) if note not in self.said]
        return {
            "program": str(self.out),
            "signature": self.critic.signature,
            "evaluator": self.evaluator,
            "task_description": getattr(program, "task_description", None),
            "criteria": _criteria(getattr(program, "criteria", ())),
            "demonstrations": len(getattr(program, "demos", program.shown)),
            "rest": str(self.rest) if self.rest else None,
            "report": dict(report) or None,
            "usage": (self.usage or Usage()).to_dict(),
            "notes": list(dict.fromkeys([*self.notes, *more])),
        }

    def show(self) -> None:
        """Print the program, its report, what else it has to tell, and the command that scores with it."""
        from rich.console import Group
        from rich.text import Text

        from active_critic.report import criteria_table, fit_notes, fit_report, plain, program_account

        program = self.critic.fitted
        account = [program_account(program)]
        if self.evaluator == OURS:
            account = [
                Text(plain(program.task_description, lines=True)),
                *((Text(""), criteria_table(program)) if program.criteria else ()),
                Text(""),
                fit_report(program.provenance.report),
                *fit_notes(program.provenance, self.said),
            ]
        common.console(stderr=False).print(Group(*account))
        common.print_whole(f"\n{self.last()}")

    def page(self, examples: Path, seconds: float) -> str:
        """The page of ``--html``: the report, and what was fitted.

        Args:
            examples: What it was fitted on.
            seconds: How long it took.
        """
        from rich.text import Text

        from active_critic.report import duration, plain, program_account, usage_words
        from active_critic.report.page import page
        from active_critic.report.tables import heading, list_under

        cost = f"{usage_words(self.usage)}; {duration(seconds)} in all" if self.usage is not None else ""
        account = program_account(self.critic.fitted, report_first=True)
        kept = self.critic.fitted.provenance.notes
        of_examples = list_under("Notes on the examples", [note for note in self.notes if note not in kept])
        last = (heading("This run"), Text(cost), Text(plain(self.last(passed_on=True), lines=True)))
        return page(f"Fit on {examples.name}", account, *of_examples, *last)


def _criteria(criteria: Any) -> list[dict[str, Any]]:
    """The criteria of a program, each with its name and definition."""
    if isinstance(criteria, Mapping):  # AutoCalibrate's: a text for each aspect
        return [{"name": name, "definition": definition} for name, definition in criteria.items()]
    return [criterion.model_dump() for criterion in criteria]
