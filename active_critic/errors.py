"""Every error the package raises on purpose.

    ActiveCriticError
    ├── DataError            examples that cannot be used: which file, row, column, and what to do
    ├── ProtocolError        a saved program that is damaged, too new or not a program
    ├── FitError             a fit that cannot be carried out on these examples with this model
    ├── JournalError         the journal cannot be opened, read or written
    ├── OutputError          a result file cannot be written (disk full, read-only, no such folder)
    ├── MissingExtra         an optional dependency is not installed
    └── ModelError           the language model could not be reached or used
        ├── UnknownModel         no such model, here or at the endpoint, or no endpoint at the address
        ├── AuthenticationFailed the key is missing, wrong or not allowed to do this
        ├── EndpointDown         nothing answers, the connection broke or the server failed
        ├── RateLimited          the provider asks to slow down
        ├── BillingStopped       the account is out of credit
        ├── ContextOverflow      the prompt does not fit the model's context window
        ├── RequestRefused       the endpoint rejects the request itself
        ├── DownloadFailed       weights could not be fetched or do not have the expected checksum
        ├── BudgetSpent          what was allowed for a piece of work (calls, tokens, money, time) is spent
        └── UnreadableReply      the model answered, but not in the form it was asked for

Catch ``ActiveCriticError`` to catch all of them::

    try:
        critic = active_critic.fit(examples, lm="local")
    except active_critic.ActiveCriticError as error:
        sys.exit(str(error))

Messages name what was wrong, where, and the remedy. None of them carries a key or a header.
"""

from __future__ import annotations

from pathlib import PurePath


class ActiveCriticError(Exception):
    """The root of every error raised on purpose by this package."""


class ActiveCriticWarning(UserWarning):
    """Something the user should know but that does not stop the work."""


class DataError(ActiveCriticError):
    """Examples that cannot be used as they are.

    Attributes:
        path: The file the problem is in, or None when the examples came from memory.
        row: The 1-based row (record) in that file, header not counted (in a spreadsheet, row 1 stands
            below it, in row 2), or None.
        column: The column (field) concerned, or None.
    """

    def __init__(
        self,
        message: str,
        *,
        path: str | None = None,
        row: int | None = None,
        column: str | None = None,
    ) -> None:
        where = ", ".join(
            part
            for part in (
                path or "",
                f"row {row}" if row is not None else "",
                f"column {column!r}" if column is not None else "",
            )
            if part
        )
        super().__init__(f"{where}: {message}" if where else message)
        self.path = path
        self.row = row
        self.column = column

    @property
    def by_name(self) -> str:
        """The message with the name of the file alone: for what is passed on, which need not tell the folder."""
        said = str(self)
        if not self.path or not said.startswith(self.path):
            return said
        return PurePath(self.path).name + said.removeprefix(self.path)


class ProtocolError(ActiveCriticError):
    """A saved program that is damaged, written by a newer version, or not a program at all."""


class FitError(ActiveCriticError):
    """A fit that cannot be carried out on these examples with this model."""


class JournalError(ActiveCriticError):
    """The journal cannot be opened, read or written."""


class OutputError(ActiveCriticError):
    """A result could not be written; what had been written before it is kept."""


class MissingExtra(ActiveCriticError):
    """An optional dependency is not installed; the message names the extra to install."""


class ModelError(ActiveCriticError):
    """The language model could not be reached or used.

    Attributes:
        retry_after: Seconds the endpoint asked to wait, or None.
        usage: What the attempts that came to this cost (a ``records.Usage``), where that is known.
        sent: Whether a request was sent that came to this.
        may_be_billed: Whether the provider may have answered it all the same, so that it may be on the bill: it took
            too long, the connection broke after it was sent, or what came cannot be read.
    """

    retryable = False
    sent = False
    may_be_billed = False
    usage: object | None = None

    def __init__(self, message: str, *, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class UnknownModel(ModelError):
    """No such model, here or at the endpoint, or no endpoint at the address that was given (404)."""


class AuthenticationFailed(ModelError):
    """The key is missing, wrong, or not allowed to do this."""


class EndpointDown(ModelError):
    """Nothing answers, the connection broke, it timed out, or the server failed (5xx)."""

    retryable = True


class RateLimited(ModelError):
    """The provider asks to slow down (429)."""

    retryable = True


class BillingStopped(ModelError):
    """The account is out of credit; more calls would fail the same way."""


class ContextOverflow(ModelError):
    """The prompt does not fit the model's context window."""


class RequestRefused(ModelError):
    """The endpoint rejects the request itself (an unsupported parameter, a malformed schema)."""


class DownloadFailed(ModelError):
    """Weights could not be fetched, or do not have the expected checksum."""


class BudgetSpent(ModelError):
    """What was allowed for a piece of work (calls, tokens, money, time) is spent; nothing was sent."""


class UnreadableReply(ModelError):
    """The model answered, but not in the form it was asked for.

    Attributes:
        reply: What it answered.
        asked_again: Whether it was asked twice, the second time in stricter words.
    """

    asked_again = False

    def __init__(self, message: str, *, reply: str = "") -> None:  # a default, so that it can be unpickled
        super().__init__(message)
        self.reply = reply
