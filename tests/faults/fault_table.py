"""Every fault, what is injected, and what has to come of it: the table that the tests run and the page shows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from loopback import OPENAI_OVERFLOW, Fault, Logprob, Say, refused, too_many

TIMEOUT = 0.25
"""Seconds that the model under test waits for a reply, where it has to wait in vain."""
NAN = float("nan")


def said(level: object, prose: str = '"justification": "so", "advice": "more"', **how: Any) -> Say:
    """A reply in the form that is asked for, with the probabilities of a digit."""
    tokens: list[Logprob] = [('{"overall": ', -0.1, {}), (f"{level}", -0.1, {f"{level}": -0.01})]
    tokens += [(f", {prose}}}", -0.1, {})]
    text = "".join(token for token, *_ in tokens)
    return Say(**{"text": text, "tokens": tokens, "model": "x-2026-01-01", **how})


def bare(text: str, **how: Any) -> Say:
    """Any other reply."""
    return Say(text, model="x-2026-01-01", **how)


@dataclass(frozen=True)
class Case:
    """A fault of the endpoint.

    Attributes:
        name: What it is called.
        reply: What the endpoint does, from the level that it would have given; None: nothing listens there.
        requests: Sent for an item to which this always happens.
        reason: What stands in ``unscored``; empty where the item is scored all the same, None where the run ends.
        note: What stands in ``notes`` of an item that is scored all the same.
        waits: Seconds between the requests.
        passing: Whether the run goes on as if nothing had been when it happens once.
        in_vain: Whether the endpoint lets the client wait.
    """

    name: str
    reply: Callable[[int], Say | Fault] | None
    requests: int
    reason: str | None = ""
    note: str = ""
    waits: tuple[float, ...] = ()
    passing: bool = True
    in_vain: bool = False

    @property
    def scored(self) -> bool:
        return self.reason == ""

    @property
    def retried(self) -> bool:
        """By the language model, the one owner of retries."""
        return bool(self.waits)

    @property
    def ends(self) -> bool:
        return self.reason is None


def always(fault: Say | Fault) -> Callable[[int], Say | Fault]:
    return lambda level: fault


BACK_OFF = (1.0, 2.0, 4.0)
DOWN = "the endpoint does not answer"
UNREAD = "the reply could not be read, nor the second one"


def down(name: str, reply: Callable[[int], Say | Fault] | None, reason: str = DOWN, **how: Any) -> Case:
    return Case(name, reply, 4, reason, **{"waits": BACK_OFF, **how})


def limited(name: str, retry_after: str | None = None, **how: Any) -> Case:
    return Case(name, always(too_many(retry_after)), 7, "the provider asks to slow down", **how)


def unread(name: str, reply: Callable[[int], Say | Fault], why: str, before: str = UNREAD) -> Case:
    return Case(name, reply, 2, f"{before}: {why}")


ENDPOINT = (
    limited("429 with Retry-After", "7", waits=(7.0, 7.0, 7.0, 8.0, 16.0, 32.0)),
    limited("429 without Retry-After", waits=(*BACK_OFF, 8.0, 16.0, 32.0)),
    down("500", always(Fault(status=500))),
    down("502", always(Fault(status=502, message="bad gateway"))),
    down("connection refused", None),
    down("reset in the middle of the body", always(Fault("reset"))),
    Case("slow first byte", lambda level: said(level, slow=0.05), 1),
    down("endless stream", always(Fault("endless")), "no whole reply within", in_vain=True),
    down("time-out", lambda level: said(level, slow=4 * TIMEOUT), "no whole reply within", in_vain=True),
    down("empty body", always(Fault("empty"))),
    down("half a body", always(Fault("broken"))),
    Case("wrong key", always(Fault(status=401, message="bad key", code="invalid_api_key")), 1, None, passing=False),
    Case("billing stop", always(Fault(status=402, message="pay first")), 1, None, passing=False),
    Case(
        "quota spent",
        always(Fault(status=429, message="quota", type="insufficient_quota", code="insufficient_quota")),
        1,
        None,
        passing=False,
    ),
    Case(
        "context overflow", always(OPENAI_OVERFLOW), 1, "do not fit: openai/x: the prompt does not fit", passing=False
    ),
    Case(
        "content filter on the prompt",
        always(refused("the response was filtered", "content_filter")),
        1,
        "the endpoint refused the request (the response was filtered",
        passing=False,
    ),
    Case(
        "400 without a known reason",
        always(Fault(status=400, message="not like this")),
        1,
        "the endpoint refused the request (not like this",
        passing=False,
    ),
    Case(
        "content filter on the reply",
        always(bare("", finish_reason="content_filter")),
        1,
        "the provider's content filter withheld the reply",
        passing=False,
    ),
    unread("refusal", always(bare("", refusal="I cannot rate that.")), "the reply holds no JSON object"),
    down("failure sent as a success", always(bare("", finish_reason="error"))),
    down("empty reply of no tokens", always(bare("", completion_tokens=0))),
    unread("empty reply", always(bare("")), "the reply is empty", "the reply could not be read"),
    unread("JSON cut off in the score", lambda level: bare(f'{{"overall": {level}'), "no number for 'overall'"),
    Case(
        "JSON cut off after the score",
        lambda level: bare(
            f'{{"overall": {level}, "justification": "it is',
            tokens=[
                ('{"overall": ', -0.1, {}),
                (f"{level}", -0.1, {f"{level}": -0.01}),
                (', "justification": "it is', -0.1, {}),
            ],
            finish_reason="length",
        ),
        1,
        note="the explanation was cut off",
    ),
    unread("duplicate keys", lambda level: said(level, '"overall": 1'), "the field 'overall' is given twice"),
    unread("NaN", lambda level: said("NaN"), "the field 'overall' holds neither a number nor a text"),
    unread("infinity", lambda level: said("1e999"), "the field 'overall' is not a finite number"),
    unread("out of range", lambda level: said(9), "9 for 'overall' is not between 1 and 5"),
    unread("score as words", lambda level: said('"four"'), "no number for 'overall'"),
    unread("another language", always(bare("Die Antwort ist gut, vier von fünf.")), "the reply holds no JSON object"),
    Case(
        "explanations in another language",
        lambda level: said(level, '"justification": "ganz gut", "advice": "更多"'),
        1,
    ),
    Case(
        "logprobs missing, only ratings read",
        lambda level: said(level, tokens=()),
        1,
        note="no probabilities were given",
    ),
    Case(
        "logprobs for other tokens",
        lambda level: said(level, tokens=[('{"overall": ', -0.1, {}), ("1", -0.1, {"1": -0.01}), ("}", -0.1, {})]),
        1,
        note="no probabilities were given",
    ),
    down(
        "NaN among the logprobs",
        lambda level: said(
            level, tokens=[('{"overall": ', -0.1, {}), (f"{level}", NAN, {f"{level}": NAN}), (", ...}", -0.1, {})]
        ),
    ),
    unread("schema ignored", lambda level: bare(f'{{"rating": {level}}}'), "the reply holds no JSON object"),
    Case(
        "wrong model answering",
        lambda level: said(level, model="another-model"),
        1,
        note="the endpoint says that another-model answered, not openai/x",
    ),
)


APPROVAL = Case(
    "logprobs missing, approval read too",
    lambda level: said(level, tokens=()),
    2,
    "approval: openai/x: the endpoint gives no token probabilities, which this program's approval reading needs",
    passing=False,
)
"""Of a program as a fit makes it by default: its score is combined from rating, approval and surface."""


@dataclass(frozen=True)
class Local:
    """A fault of this machine: what happens, and the test that shows it (``file::test``)."""

    name: str
    happens: str
    code: str
    test: str


LOCAL = (
    Local(
        "disk full, verdicts",
        "the run ends; the journal keeps what was paid for",
        "5",
        "cli/test_score.py::test_a_full_disk_is_5_and_nothing_is_paid_twice",
    ),
    Local(
        "disk full, journal",
        "the run ends; every reply kept before is whole",
        "5",
        "test_journal.py::test_a_full_disk_is_a_clear_error_and_keeps_what_was_there",
    ),
    Local("disk full, program", "the old program stays", "5", "test_store.py::test_a_full_disk_leaves_the_old_file"),
    Local(
        "read-only folder, verdicts",
        "found before anything is paid for",
        "5",
        "faults/test_local_faults.py::test_a_folder_that_cannot_be_written_is_found_before_anything_is_paid_for",
    ),
    Local(
        "read-only folder, journal",
        "found before anything is paid for",
        "5",
        "faults/test_local_faults.py::test_a_journal_that_cannot_be_written_is_found_before_anything_is_paid_for",
    ),
    Local(
        "another run writes the same file",
        "found before anything is paid for; what the other writes is not touched",
        "5",
        "faults/test_local_faults.py::test_a_file_that_another_run_is_writing_is_found_before_anything_is_paid_for",
    ),
    Local(
        "journal locked by another process",
        "waited for half a minute, then the run ends",
        "5",
        "faults/test_local_faults.py::test_a_journal_that_another_process_holds",
    ),
    Local(
        "journal locked for a moment",
        "waited for; nothing else happens",
        "0",
        "faults/test_local_faults.py::test_a_journal_that_another_process_lets_go",
    ),
    Local(
        "journal damaged",
        "the run ends; the file is left as it is",
        "5",
        "test_journal.py::test_a_damaged_journal_is_a_clear_error_and_left_alone",
    ),
    Local(
        "a reply in the journal damaged",
        "the run ends; the message names the row",
        "5",
        "test_journal.py::test_a_damaged_reply_is_a_clear_error",
    ),
    Local(
        "clock jump",
        "nothing: durations and waits do not follow the clock",
        "0",
        "faults/test_local_faults.py::test_a_clock_that_jumps_changes_nothing",
    ),
    Local(
        "Ctrl-C",
        "calls in flight are waited for and kept; the same command goes on",
        "130",
        "cli/test_main.py::test_ctrl_c_in_a_real_process",
    ),
    Local(
        "SIGTERM",
        "the process ends at once; the same command goes on and repeats no call",
        "143",
        "faults/test_local_faults.py::test_sigterm_loses_nothing_that_was_answered",
    ),
    Local(
        "kill -9",
        "the same command goes on and repeats no call that was answered",
        "137",
        "test_kill.py::test_a_fit_killed_at_fifty_random_moments_repeats_nothing_and_ends_the_same",
    ),
    Local(
        "a process is forked while a model is open",
        "it opens connections of its own, so that no reply reaches the other process; a budget is counted in each",
        "",
        "test_forks.py::test_a_forked_process_asks_on_connections_of_its_own",
    ),
    Local(
        "a process is forked while a journal is open",
        "each opens it again, and what either pays for is kept",
        "",
        "test_forks.py::test_what_a_forked_process_pays_for_is_kept_though_its_parent_closes_the_journal",
    ),
    Local(
        "out of memory in a worker",
        "the item is unscored with this reason",
        "7",
        "faults/test_local_faults.py::test_out_of_memory_in_a_worker_is_one_unscored_item",
    ),
    Local(
        "out of memory at five items in a row",
        "the run ends; the journal keeps what was paid for",
        "4",
        "faults/test_local_faults.py::test_out_of_memory_five_times_in_a_row_stops_the_run",
    ),
    Local(
        "out of memory everywhere",
        "the run ends; the journal keeps what was paid for",
        "4",
        "faults/test_local_faults.py::test_out_of_memory_everywhere_stops_the_run",
    ),
)

SECURITY = (
    Local(
        "a key, in any message of the endpoint, of any status",
        "blanked",
        "",
        "security/test_secrets.py::test_no_secret_in_what_a_failed_run_leaves",
    ),
    Local(
        "keys and tokens in the environment, in what a run leaves",
        "found in no file and no line",
        "",
        "security/test_secrets.py::test_no_secret_in_what_a_good_run_leaves",
    ),
    Local("keys, in a traceback", "not there", "", "security/test_secrets.py::test_no_secret_in_a_traceback"),
    Local(
        "a user name, password or query in an address",
        "refused, nothing is sent, and not repeated",
        "4",
        "security/test_secrets.py::test_a_password_in_an_address_is_refused_and_not_repeated",
    ),
    Local(
        "a password in the address of a proxy",
        "in no message",
        "4",
        "security/test_secrets.py::test_a_proxy_that_is_not_there_is_told_without_its_password",
    ),
    Local(
        "headers of a `dspy.LM` of one's own",
        "in nothing",
        "",
        "security/test_secrets.py::test_the_headers_of_a_model_of_ones_own_are_in_nothing",
    ),
    Local(
        "credentials anywhere within the settings of a `dspy.LM`",
        "sent, but in no journal and no message",
        "",
        "lm/test_connection.py::test_credentials_within_settings_of_a_dspy_lm_are_sent_and_kept_nowhere",
    ),
    Local(
        "a program with names that are paths or code, huge numbers, deep nesting, 100,000 criteria or fields, another "
        "version, commands or escape sequences in field names, YAML tags, a pickle",
        "refused with what is wrong, in bounded time",
        "5",
        "security/test_hostile_programs.py::test_a_hostile_program_is_refused",
    ),
    Local(
        "a program with a text of 100 MB",
        "refused by its size, unread",
        "5",
        "security/test_hostile_programs.py::test_a_string_of_100_mb_is_refused_by_its_size_unread",
    ),
    Local(
        "a program with a report that no fit wrote, in `show`",
        "refused with what is wrong",
        "5",
        "security/test_hostile_programs.py::test_a_report_that_is_none_is_said_to_be_damaged",
    ),
    Local(
        "a program whose model is another file",
        "refused, the file is not shown",
        "4",
        "security/test_hostile_programs.py::test_a_program_cannot_have_another_file_opened_as_its_model",
    ),
    Local(
        "an item's row nested more than 100 deep",
        "the item is unscored with this reason; the others are scored",
        "7",
        "data/test_files.py::test_a_damaged_row_comes_in_its_place_and_the_rest_follows",
    ),
    Local(
        "a formula in what a model says, in CSV or TSV",
        "gets an apostrophe, at the beginning and behind what a spreadsheet of another language takes for a separator",
        "",
        "security/test_outputs.py::test_formulas_of_the_model_do_not_run_and_a_spreadsheets_cells_stay_as_they_are",
    ),
    Local(
        "a formula in an item's own columns or their names, in CSV or TSV",
        "from CSV or TSV it is written as it was, and so stays one; from another format it gets a leading apostrophe, "
        "which is taken off where the file is read again",
        "",
        "security/test_outputs.py::test_what_was_no_spreadsheet_becomes_none_that_runs_and_is_read_again_as_it_was",
    ),
    Local(
        "a formula in any other table (`compare`, `agreement`)",
        "gets a leading apostrophe",
        "",
        "security/test_outputs.py::test_a_table_of_ours_holds_no_formula",
    ),
    Local(
        "escape sequences, in names, texts and messages",
        "shown as `\\x1b`, never sent to the terminal",
        "",
        "security/test_outputs.py::test_a_message_cannot_drive_the_terminal",
    ),
    Local(
        "the same in a program that is shown",
        "shown as `\\x1b`, never sent to the terminal",
        "",
        "security/test_hostile_programs.py::test_nothing_in_a_program_that_is_shown_drives_the_terminal",
    ),
    Local(
        "the same, and other characters that drive a terminal, in JSON on standard output",
        "escaped as `\\u009b`: the value is the same",
        "",
        "security/test_outputs.py::test_json_that_is_printed_cannot_drive_the_terminal_and_says_the_same",
    ),
)
