"""What the verbs share: talking on standard error, files in and out, the model opened with the journal as memory."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from active_critic.cli._interrupts import Interrupts
from active_critic.cli._streams import let_go_of_stderr

if TYPE_CHECKING:
    from rich.console import Console

    from active_critic.examples import Examples
    from active_critic.lm import LanguageModel
    from active_critic.protocols import Provenance


UNSCORED = 7
"""The exit code where some items have no score."""
BELOW = 8
"""The exit code where all items have one, and their mean is below what ``--fail-under`` asks for."""


@dataclass
class Session:
    """One run of the command line.

    Attributes:
        opener: What opens the language model; None: ``active_critic.lm.open_lm``, after the weights were fetched.
        opened: Whether the journal was opened, so that calls may have been paid for.
        journal: The journal's path, or None without one.
        interrupts: Whether Ctrl-C was pressed.
    """

    opener: Callable[..., Any] | None = None
    opened: bool = False
    journal: Path | None = None
    interrupts: Interrupts = field(default_factory=Interrupts)


def console(*, stderr: bool) -> Console:
    """A console that prints texts as they are: no markup, no highlighting, no emoji codes."""
    from rich.console import Console

    class Plain(Console):
        def on_broken_pipe(self) -> None:
            raise BrokenPipeError  # rich would end with exit code 1

        def print(self, *what: Any, **how: Any) -> None:
            try:
                super().print(*what, **how)
            except BrokenPipeError:
                raise
            except OSError:  # such as a full disk: what is said beside the results must not cost these
                if not stderr:
                    raise
                let_go_of_stderr()

    return Plain(stderr=stderr, markup=False, highlight=False, emoji=False)


def say(message: str, *, style: str = "", wrap: bool = True, quiet: bool = False) -> None:
    """Print a message on standard error, with ``wrap`` wrapped on a terminal; nothing in it can drive the terminal."""
    if quiet:
        return
    from rich.text import Text

    from active_critic.report import plain

    out = console(stderr=True)
    out.print(Text(plain(message, lines=True), style=style), soft_wrap=not (wrap and out.is_terminal))


def print_whole(text: str) -> None:
    """Print lines on standard output that are not broken where the terminal ends: commands are copied from there."""
    from rich.text import Text

    from active_critic.report import plain

    console(stderr=False).print(Text(plain(text, lines=True)), soft_wrap=True)


def show_notes(notes: Iterable[str], *, quiet: bool) -> None:
    """Print notes on standard error, each once."""
    for note in dict.fromkeys(notes):
        say(f"note: {note}", quiet=quiet)


def source_note(program: Provenance, fields: Mapping[str, str]) -> list[str]:
    """What to say where texts have a source and the examples of a fit had none, or the reverse."""
    said = program.unlike_source("source" in fields)
    remedy = "--fields source=NAME says where it is"
    if "source" in fields:
        remedy = f"fit again on examples with theirs, or leave out the column {fields['source']!r}"
    return [f"texts are {said}; {remedy}"] if said else []


def as_read(data: Examples) -> dict[str, Any]:
    """How tables are to be written for whoever wrote the examples, as arguments of ``RecordWriter``."""
    from active_critic.delimited import is_delimited

    return {"decimal_comma": data.decimal_comma, "bom": data.bom, "heads": not is_delimited(data.path)}


def refuse_same(output: Path | None, *others: Path | None) -> None:
    """Refuse to write over what is read, or over another output.

    Raises:
        typer.BadParameter: Two paths are the same file.
    """
    from active_critic.paths import behind_links

    for other in others:
        there = at_home(other)  # as it is read
        if output is not None and there is not None and behind_links(output) == behind_links(there):
            raise typer.BadParameter(f"{output} would be written over; name another file for the output")


def refuse_program(*outputs: Path | None) -> None:
    """Refuse to write something else over a program, which may have cost a night.

    Raises:
        typer.BadParameter: One of these files is a program.
    """
    for output in outputs:
        if output is not None and output.is_file() and _is_program(output):
            raise typer.BadParameter(f"{output} is a program and would be lost; name another file for the output")


def refuse_clashes(
    *, outputs: Iterable[Path | None], inputs: Iterable[Path | None] = (), journal: str | None = None
) -> None:
    """Refuse outputs that would be written over what is read, over the journal, over each other or over a program.

    Args:
        outputs: Files to write, programs aside; None for one that is not asked for.
        inputs: Files that are read, and programs that are written.
        journal: The ``--journal``.

    Raises:
        typer.BadParameter: One of the outputs would be.
    """
    written, read = [*outputs], [*inputs, journal_file(journal)]
    for place, output in enumerate(written):
        refuse_same(output, *read, *written[place + 1 :])
    refuse_program(*written)


def _is_program(path: Path) -> bool:
    """Whether a file is a program, of this format version or another.

    Raises:
        OSError: It cannot be read.
    """
    import json

    from active_critic.store import LARGEST

    try:
        document = json.loads(path.read_bytes()) if path.stat().st_size <= LARGEST else None
    except (ValueError, RecursionError):
        return False
    return isinstance(document, dict) and "format_version" in document


def journal_file(journal: str | None) -> Path | None:
    """The file that ``--journal`` names, or that is the default without it; None where nothing is kept."""
    from active_critic.paths import default_journal

    if not journal:
        return default_journal()
    return None if journal.strip().lower() == "none" else at_home(Path(journal))


def at_home(path: Path | None) -> Path | None:
    """A path with the user's folder in place of ``~``, which shells leave as it is in ``--out=~/judge.json``."""
    from active_critic.paths import at_home as expanded

    return None if path is None else expanded(path)


def print_json(document: Any) -> None:
    """Print one JSON document on standard output, in UTF-8 whatever the terminal's encoding."""
    from active_critic.writing import json_line

    sys.stdout.flush()
    sys.stdout.buffer.write(json_line(document))
    sys.stdout.buffer.flush()


def check_writable(out: Path) -> bool:
    """Make sure that the program can be written before anything is paid for; whether one is there already.

    Raises:
        OutputError: The folder cannot be written, or the file is there and no program.
    """
    from active_critic.errors import OutputError

    if out.is_dir():
        raise OutputError(f"{out} is a folder; name a file in it")
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        _try_folder(out)
        if not out.exists() or not out.stat().st_size:
            return False
        there = _is_program(out)
    except OSError as problem:
        raise OutputError(f"{out}: the program cannot be written there ({problem.strerror or problem})") from None
    if not there:
        raise OutputError(f"{out} is there and is no program; name another file, or remove it")
    return True


def _try_folder(path: Path) -> None:
    """Make sure that a file can be written where a path leads.

    Raises:
        OSError: It cannot.
    """
    import tempfile

    from active_critic.paths import end_of

    with tempfile.TemporaryFile(dir=end_of(path).parent):
        pass


@contextmanager
def text_file(path: Path) -> Iterator[list[str]]:
    """A list whose texts are in this file when the block ends well; that they can be is found when it begins.

    Raises:
        OutputError: The file cannot be written.
    """
    from active_critic.paths import write_whole

    with _writing(path):
        _try_folder(path)
    texts: list[str] = []
    yield texts
    with _writing(path):
        write_whole(path, "".join(texts).encode())


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    from active_critic.errors import OutputError

    try:
        yield
    except OSError as problem:
        raise OutputError(f"cannot write {path}: {problem.strerror or problem}") from problem


def model_options(
    api_base: str | None,
    api_key_env: str | None,
    context: int | None,
    strict: bool,
    workers: int | None,
    timeout: float | None,
) -> dict[str, Any]:
    """The options that say how a language model is opened, as arguments of ``active_critic.lm.open_lm``."""
    return {
        "api_base": api_base,
        "api_key_env": api_key_env,
        "context": context,
        "strict": strict,
        "workers": workers,
        "timeout": timeout,
    }


def beside(model: LanguageModel | None, session: Session) -> str:
    """Which model works, and where its replies are kept."""
    return f"with {model.name}; journal: {session.journal or 'none'}" if model else "without a model"


def refuse_model(
    what: str,
    lm: str | None,
    *,
    options: Mapping[str, Any],
    journal: str | None = None,
    budget: list[str] | None = None,
    quiet: bool = False,
) -> None:
    """Refuse options that say which model is asked, where none is, and say which others are not used.

    Args:
        what: What asks no model.
        lm: The model that was given, or None.
        options: As for :func:`opened`, and so the rest.
        journal: Where replies were to be kept.
        budget: What was to be spent at most.
        quiet: Say nothing.

    Raises:
        typer.BadParameter: A model, how it is reached, or a budget is given.
    """
    refused = {"--budget": budget, "--lm": lm}
    refused |= {"--api-base": options["api_base"], "--api-key-env": options["api_key_env"]}
    for option in (option for option, value in refused.items() if value):
        raise typer.BadParameter(f"{option} has no meaning for {what}, which asks no model")
    unused = {"--journal": journal, "--context": options["context"]}
    unused |= {"--strict": options["strict"], "--workers": options["workers"]}
    unused |= {"--timeout": options["timeout"]}
    if names := [option for option, value in unused.items() if value]:
        show_notes([f"{' and '.join(names)}: not used by {what}, which asks no model"], quiet=quiet)


def opened_for(
    session: Session, fitted_with: Provenance, lm: str | None, **how: Any
) -> AbstractContextManager[LanguageModel | None]:
    """The model that a program asks, opened: the one that is named, else that of its fit; None where it asks none.

    Args:
        session: The run that this belongs to.
        fitted_with: Where the program comes from.
        lm: The name of another one, or None.
        how: As for :func:`opened`.

    Raises:
        typer.BadParameter: A model or a budget is given, and no model is asked.
    """
    from active_critic.evaluators.origins import NO_MODEL

    if fitted_with.model == NO_MODEL:
        refuse_model("this program", lm, **how)
        return nullcontext()
    return opened(session, lm or fitted_with.model, fitted_with=None if lm else fitted_with, **how)


def scoring(program: Path, lm: str | None, api_base: str | None, api_key_env: str | None) -> str:
    """The command that scores with a program just fitted: it says again what a program does not keep."""
    from active_critic.lm.opening import names_a_place

    said = ["active-critic", "score", str(program), "ITEMS"]
    said += ["--lm", lm] if lm and names_a_place(lm, api_base) else []
    said += ["--api-base", api_base] if api_base else []
    said += ["--api-key-env", api_key_env] if api_key_env else []
    return shlex.join(said)


@contextmanager
def opened(
    session: Session,
    name: str,
    *,
    options: Mapping[str, Any],
    journal: str | None = None,
    budget: list[str] | None = None,
    fitted_with: Provenance | None = None,
    quiet: bool = False,
) -> Iterator[LanguageModel]:
    """Open a language model with the journal as its memory; both are closed at the end.

    Weights that are not here are fetched first, with a progress bar. A first Ctrl-C waits for the calls in flight, so
    that they are kept; a second one does not.

    Args:
        session: The run that this belongs to.
        name: The model's name.
        options: Further arguments of ``active_critic.lm.open_lm``.
        journal: The journal's path, ``"none"``, or None for the default.
        budget: What may be spent from when the model is open, as ``active_critic.lm.Budget.parse`` reads it.
        fitted_with: Where a program comes from when that, and no option, decides which model is opened.
        quiet: Say nothing.

    Raises:
        typer.BadParameter: The budget cannot be read.
        JournalError: The journal cannot be opened.
        ModelError: The model cannot be opened.
    """
    from active_critic.errors import DataError, UnknownModel
    from active_critic.evaluators.origins import check_address
    from active_critic.journal import Journal
    from active_critic.lm import Budget, open_lm
    from active_critic.lm.opening import check_name

    try:
        allowed = Budget.parse(budget) if budget else None
    except DataError as problem:
        raise typer.BadParameter(f"--budget: {problem}") from None
    memory = None
    if (kept_in := journal_file(journal)) is not None:
        memory = Journal(kept_in)
        session.journal = memory.path
    session.opened = True
    try:
        if fitted_with is not None:
            check_address(fitted_with, options.get("api_base"))
        if session.opener is None:
            check_name(name, *map(options.get, ("api_base", "api_key_env", "workers")))
            _fetch_weights(name, options.get("api_base"), quiet=quiet)
        with _patient():
            model = (session.opener or open_lm)(name, **options)
            with model, model.remembering(memory):
                model.budget = allowed
                yield model
    except UnknownModel as problem:
        if fitted_with is not None and not fitted_with.own_address:
            problem.add_note(
                f"The program was fitted with {fitted_with.model}. If that was at an address or in a GGUF file of "
                "your own, say so: programs do not keep it. Use --api-base URL or --lm FILE.gguf, or another model."
            )
        raise
    finally:
        if memory is not None:
            memory.close()


def _fetch_weights(name: str, api_base: str | None, *, quiet: bool) -> None:
    from active_critic.cli.lm import pull_with_progress
    from active_critic.lm.catalogue import find
    from active_critic.lm.weights import cache_folder, is_pulled, means_path

    if api_base is not None or means_path(name):
        return
    model = find(name)
    if not is_pulled(model):
        say(
            f"{model.title} is not here yet: {model.bytes / 1e6:,.0f} MB ({model.licence}) are fetched into "
            f"{cache_folder()}, once; that is some {max(1, round(model.bytes / 60e7))} minutes at 10 MB/s",
            quiet=quiet,
        )
        pull_with_progress(model, quiet=quiet)


@contextmanager
def _patient() -> Iterator[None]:
    """The first Ctrl-C says what is waited for, the second ends the process at once."""
    import os
    import signal
    import threading

    from active_critic.lm.stopping import stop_all

    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not isinstance(before, Interrupts):
        yield
        return
    asked = 0

    def stop(*_: object) -> None:
        nonlocal asked
        asked += 1
        if asked == 1:
            if sys.stderr.isatty():
                sys.stderr.write("\n")  # the terminal has put ^C after the progress bar
            say("stopping: the calls in flight are waited for, so that they are kept; Ctrl-C again stops at once")
            before()
        if sys.stderr.isatty():
            sys.stderr.write("\x1b[?25h")  # the progress bar had hidden the cursor
        sys.stderr.write("stopped\n")
        sys.stderr.flush()
        os._exit(130)

    signal.signal(signal.SIGINT, stop)
    try:
        yield
    finally:
        if asked:
            stop_all()
        signal.signal(signal.SIGINT, before)
