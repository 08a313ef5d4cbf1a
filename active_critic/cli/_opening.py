"""The model of a verb: opened with the journal as its memory, or refused where none is asked."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from active_critic.cli._common import Session, say, show_notes
from active_critic.cli._interrupts import INTERRUPTED, Interrupts
from active_critic.cli._outputs import journal_file
from active_critic.errors import DataError, UnknownModel

if TYPE_CHECKING:
    from active_critic.lm import LanguageModel
    from active_critic.protocols import Provenance


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
    requests: int | None = None,
    estimate: bool = False,
    quiet: bool = False,
) -> None:
    """Refuse options that say which model is asked, where none is, and say which others are not used.

    Args:
        what: What asks no model.
        lm: The model that was given, or None.
        options: As for :func:`opened`, and so the rest.
        journal: Where replies were to be kept.
        budget: What was to be spent at most.
        requests: How many different requests were to be made at most.
        estimate: Whether it was to be told what the model would take.
        quiet: Say nothing.

    Raises:
        typer.BadParameter: A model, how it is reached, a budget, or ``--estimate`` is given.
    """
    refused = {"--budget": budget, "--requests": requests, "--lm": lm}
    refused |= {"--api-base": options["api_base"], "--api-key-env": options["api_key_env"]}
    refused |= {"--estimate": estimate}
    for option in (option for option, value in refused.items() if value):
        raise typer.BadParameter(f"{option} has no meaning for {what}, which asks no model")
    unused = {"--journal": journal, "--context": options["context"]}
    unused |= {"--strict": options["strict"], "--workers": options["workers"]}
    unused |= {"--timeout": options["timeout"]}
    if names := [option for option, value in unused.items() if value]:
        show_notes([f"{' and '.join(names)}: not used by {what}, which asks no model"], quiet=quiet)


def opened_for(
    session: Session, fitted_with: Provenance, lm: str | None, *, estimate: bool = False, **how: Any
) -> AbstractContextManager[LanguageModel | None]:
    """The model that a program asks, opened: the one that is named, else that of its fit; None where it asks none.

    Args:
        session: The run that this belongs to.
        fitted_with: Where the program comes from.
        lm: The name of another one, or None.
        estimate: Whether it will be asked nothing.
        how: As for :func:`opened`.

    Raises:
        typer.BadParameter: A model or a budget is given, and no model is asked.
    """
    from active_critic.evaluators.origins import NO_MODEL

    if fitted_with.model == NO_MODEL:
        refuse_model("this program", lm, **how)
        return nullcontext()
    name, decides = lm or fitted_with.model, None if lm else fitted_with
    return opened(session, name, fitted_with=decides, estimate=estimate, **how)


def scoring(
    program: Path, lm: str | None, api_base: str | None, api_key_env: str | None, *, passed_on: bool = False
) -> str:
    """The command that scores with a program just fitted: it says again what a program does not keep.

    Args:
        program: Where it is.
        lm: The name of the model, and the rest how it was reached; None where none was asked.
        api_base: Its address.
        api_key_env: The variable with the key.
        passed_on: Tell no folder and no address, for somebody else who gets the program.
    """
    from active_critic.lm.model_names import names_a_place

    model = [lm] if lm and names_a_place(lm, api_base) else []
    if passed_on:
        program, api_base = Path(program.name), api_base and "URL"
        model = ["MODEL" if "://" in name else re.split(r"[/\\]", name)[-1] for name in model]
    said = ["active-critic", "score", str(program), "ITEMS"]
    said += ["--lm", *model] if model else []
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
    estimate: bool = False,
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
        estimate: Whether it will be asked nothing: a journal that is not there yet is then not begun.
        quiet: Say nothing.

    Raises:
        typer.BadParameter: The budget cannot be read.
        JournalError: The journal cannot be opened.
        ModelError: The model cannot be opened.
    """
    from active_critic.evaluators.origins import check_address
    from active_critic.journal import Journal
    from active_critic.lm import Budget, open_lm
    from active_critic.lm.model_names import check_name

    try:
        allowed = Budget.parse(budget) if budget else None
    except DataError as problem:
        raise typer.BadParameter(f"--budget: {problem}") from None
    memory = None
    if (kept_in := journal_file(journal)) is not None:
        session.journal = kept_in
        memory = None if estimate and not kept_in.exists() else Journal(kept_in)
    session.opened = True
    try:
        if fitted_with is not None:
            check_address(fitted_with, options.get("api_base"))
        if session.opener is None:
            check_name(name, *map(options.get, ("api_base", "api_key_env", "workers")))
            _fetch_weights(name, options.get("api_base"), quiet=quiet)
        with _patient(session):
            session.model = model = (session.opener or open_lm)(name, **options)
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
            session.added = memory.added
            memory.close()


def _fetch_weights(name: str, api_base: str | None, *, quiet: bool) -> None:
    from active_critic.cli._progress import pull_with_progress
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
def _patient(session: Session) -> Iterator[None]:
    """The first Ctrl-C says what is waited for, the second ends the process at once and says how to go on."""
    import os
    import signal
    import threading

    from active_critic.cli._failures import stopped
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
        # Written as it is: another thread may hold the terminal.
        sys.stderr.write(f"{stopped(session)}\n")
        sys.stderr.flush()
        os._exit(INTERRUPTED)

    signal.signal(signal.SIGINT, stop)
    try:
        yield
    finally:
        if asked:
            stop_all()
        signal.signal(signal.SIGINT, before)
