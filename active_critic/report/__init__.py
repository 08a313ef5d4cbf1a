"""What people look at: fits, verdicts, programs and endpoints as rich renderables. Rendering only.

Everything that came from data or from a model goes through :func:`plain`, so that nothing in it drives the terminal.
No boxes are drawn, so the same text is fine in a narrow terminal, in a pipe and in a log.
"""

from active_critic.report.endpoints import findings_table
from active_critic.report.fits import agreement_table, fit_report
from active_critic.report.programs import criteria_table, fit_notes, program_account, reading_words
from active_critic.report.tables import Columns
from active_critic.report.texts import count, duration, plain, shorten, usage_words
from active_critic.report.verdicts import WHOLE, Judged, score_summary, verdict_table

__all__ = [
    "WHOLE",
    "Columns",
    "Judged",
    "agreement_table",
    "count",
    "criteria_table",
    "duration",
    "findings_table",
    "fit_notes",
    "fit_report",
    "plain",
    "program_account",
    "reading_words",
    "score_summary",
    "shorten",
    "usage_words",
    "verdict_table",
]
